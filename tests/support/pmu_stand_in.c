#include "pmu_stand_in.h"
#include "cmocka_all.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pmu_stand_in pmu_stand_in;

static int fake_open(void *context, struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd)
{
    (void)context, (void)attr, (void)pid, (void)cpu;
    pmu_stand_in.n_events = group_fd < 0 ? 1 : pmu_stand_in.n_events + 1;
    return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static ssize_t fake_read(void *context, int fd, void *buffer, size_t size)
{
    uint64_t *out = buffer;
    (void)context, (void)fd;
    out[0] = (uint64_t)pmu_stand_in.n_events;
    out[1] = out[2] = 1000 + (uint64_t)pmu_stand_in.n_read++;
    for (size_t i = 3; i < size / sizeof *out; i++)
        out[i] = PMU_STAND_IN_EACH * (pmu_stand_in.runs_away ? (uint64_t)pmu_stand_in.n_read : 1);
    return (ssize_t)size;
}

static const struct rl_pmu_calls calls = {.open = fake_open, .read = fake_read};

/* By name; what it can run is what this processor can. */
static struct rl_cpu skylake;

struct rl_pmu_options pmu_stand_in_options(void)
{
    struct rl_pmu_options options = rl_pmu_options_default(&skylake);
    assert_int_equal(rl_cpu_detect(NULL, &skylake, NULL), RL_OK);
    strcpy(skylake.vendor, "GenuineIntel");
    skylake.family = 6;
    skylake.model = 0x9e;
    skylake.stepping = 9;
    skylake.features = 0; /* what this processor offers does not belong to that name */
    options.root = SOURCE_DIR "/tests/fixture/machine/skylake-client";
    options.calls = &calls;
    options.plan.wants_system = false;
    return options;
}

struct rl_pmu *pmu_stand_in_believed(void)
{
    struct rl_pmu *pmu;
    struct rl_pmu_options options = pmu_stand_in_options();
    char *text = NULL;
    size_t size = 0;
    pmu_stand_in = (struct pmu_stand_in){0};
    assert_int_equal(rl_pmu_new(&options, &pmu, NULL), RL_OK);
    FILE *stream = open_memstream(&text, &size);
    assert_int_equal(rl_pmu_self_test_save(pmu, stream, NULL), RL_OK);
    for (size_t m = 0; m < RL_PMU_METRICS; m++)
        fprintf(stream, "verdict\t0\t%s\tfine\t0x1p+0\n", rl_pmu_metric[m].name);
    fclose(stream);
    assert_int_equal(rl_pmu_self_test_load(pmu, text, NULL), RL_OK);
    free(text);
    return pmu;
}

bool profile_has_note(const struct rl_profile *profile, const char *part)
{
    for (size_t i = 0; i < profile->n_note; i++) {
        if (strstr(profile->note[i], part))
            return true;
    }
    return false;
}

const char *why_missing(const struct rl_missing_list *list, const char *what)
{
    for (size_t i = 0; i < list->n; i++) {
        if (!strcmp(list->item[i].what, what))
            return list->item[i].why;
    }
    return NULL;
}
