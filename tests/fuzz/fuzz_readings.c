#include "count/perf_event/counts.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct rl_pmu_value *v)
{
    if (rl_known(v->value) && (!isfinite(v->value.value) || v->value.value < 0))
        abort();
    if (!rl_known(v->value) && v->why == RL_PMU_FINE)
        abort(); /* nothing, and no reason */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct rl_pmu_table table;
    struct rl_pmu_readings readings;
    struct rl_pmu_trust trust;
    struct rl_pmu_counts counts;
    struct rl_error err = {0};
    char *text = malloc(size + 1);
    if (!text || (!table.n_core && rl_pmu_table_load(&table, &err) != RL_OK))
        abort();
    memcpy(text, data, size);
    text[size] = '\0';
    if (rl_pmu_readings_parse(text, "fuzz", &table, &readings, &err) == RL_OK) {
        for (size_t i = 0; i < 2 * RL_PMU_METRICS; i++)
            trust.verdict[i / RL_PMU_METRICS][i % RL_PMU_METRICS] =
                (struct rl_pmu_verdict){RL_PMU_FINE, 1};
        rl_pmu_counts_compute(&readings, &trust, NULL, &counts);
        check(&counts.flop);
        check(&counts.instructions);
        for (size_t i = 0; i < RL_PMU_LEVELS; i++)
            check(&counts.level[i].total);
        check(&counts.system_dram.total);
        rl_pmu_readings_release(&readings);
    } else if (!err.text[0]) {
        abort(); /* a refusal without a reason */
    }
    free(text);
    return 0;
}
