/* The file that a program's region library leaves, of any content: the program may have written
 * over it. The bytes given lie in its head, its first entries, slots, spans and counts. */
#include "count/perf_event/counts.h"
#include "count/perf_event/regional.h"
#include "sample/regions.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The rest is cleared: the file is large and stays 0 elsewhere. */
static void take(void *to, size_t most, const uint8_t **data, size_t *size)
{
    size_t n = *size < most ? *size : most;
    memcpy(to, *data, n);
    memset((char *)to + n, 0, most - n);
    *data += n;
    *size -= n;
}

static void check(const struct rl_pmu_regions *regions, const struct rl_pmu_plan *plan)
{
    struct rl_pmu_trust trust;
    struct rl_pmu_counts counts;
    rl_pmu_trust_init(&trust);
    for (size_t i = 0; i < regions->n_region; i++) {
        const struct rl_pmu_region *region = &regions->region[i];
        if (!region->name || !isfinite(region->coverage) || region->why >= RL_PMU_WHY_COUNT)
            abort();
        for (size_t m = 0; m < RL_PMU_METRICS; m++)
            trust.verdict[0][m] = (struct rl_pmu_verdict){RL_PMU_FINE, 1};
        rl_pmu_counts_compute(&region->readings, &trust, plan, &counts);
        if (rl_known(counts.flop.value) &&
            (!isfinite(counts.flop.value.value) || counts.flop.value.value < 0))
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct region_counted_file file;
    static struct rl_pmu_table table;
    static struct rl_pmu_plan plan;
    struct rl_pmu_host host = {.has_paranoid = true};
    struct rl_pmu_slot slot = {.cpu = -1};
    struct rl_pmu_pass pass = {&slot, 1};
    struct rl_pmu_regions regions = {0};
    struct rl_samples samples = {0};
    if (!table.n_core && rl_pmu_table_load(&table, NULL) != RL_OK)
        abort();
    plan = (struct rl_pmu_plan){
        .core = {rl_pmu_core_find(&table, "broadwell")}, .n_core = 1, .pass = &pass, .n_pass = 1};
    slot.event = &plan.core[0]->event[0];
    take(&file.times.head, sizeof file.times.head, &data, &size);
    take(file.times.entry, 4 * sizeof *file.times.entry, &data, &size);
    take(file.times.slot, 8 * sizeof *file.times.slot, &data, &size);
    take(file.times.span, 4 * sizeof *file.times.span, &data, &size);
    take(file.count, 8 * sizeof *file.count, &data, &size);
    const struct rl_pmu_region_file whole = {&file, sizeof file, REGION_SCOPE_PROCESS, 0};
    const struct rl_pmu_region_file cut = {&file, size % sizeof file, REGION_SCOPE_THREAD, 0};
    if (rl_pmu_regions_add(&whole, &plan, &host, &regions, NULL) != RL_OK ||
        rl_pmu_regions_add(&cut, &plan, &host, &regions, NULL) != RL_OK ||
        regions_read(&file, sizeof file, 0, &samples, NULL) != RL_OK)
        abort();
    rl_pmu_regions_judge(&regions);
    check(&regions, &plan);
    rl_pmu_regions_release(&regions);
    rl_samples_release(&samples);
    return 0;
}
