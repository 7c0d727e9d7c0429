#include "cli/counters.h"
#include "cli/command.h"
#include "cli/lock.h"
#include "cli/store.h"

#include "base/error.h"
#include "base/file.h"
#include "count/perf_event/why.h"
#include "topology/topology.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define MAX_KEPT        (UINT64_C(1) << 20)
#define MAX_TEST_MEMORY (UINT64_C(4) << 30)

/* A metric may fail because the machine was busy: a test with a failure is believed for a day. */
#define FAILURE_KEPT_S (24 * 3600)
/* A self-test takes some seconds; another's is waited for so long, in steps. */
#define LOCK_WAIT_S  30
#define LOCK_STEP_NS (200 * 1000 * 1000L)

enum rl_status rl_counters_open(const struct rl_pmu_options *how, struct rl_counters *ret,
                                struct rl_error *err)
{
    struct rl_pmu_options here = rl_pmu_options_default(&ret->cpu);
    *ret = (struct rl_counters){0};
    if (!how)
        RL_TRY(rl_cpu_detect(NULL, &ret->cpu, err));
    RL_TRY(rl_pmu_new(how ? how : &here, &ret->pmu, err));
    return rl_pmu_probe(ret->pmu, err);
}

void rl_counters_close(struct rl_counters *counters)
{
    rl_pmu_free(counters->pmu);
    counters->pmu = NULL;
}

static bool is_stale(const char *path, const char *text)
{
    struct stat info;
    char failed[32];
    snprintf(failed, sizeof failed, "\t%s\t", rl_pmu_why_name(RL_PMU_WRONG));
    return strstr(text, failed) &&
           (stat(path, &info) != 0 || time(NULL) - info.st_mtime > FAILURE_KEPT_S);
}

static enum rl_status load(struct rl_counters *counters, const char *key, struct rl_error *err)
{
    char *path;
    char *text;
    RL_TRY(rl_store_counters_path(key, &path, err));
    enum rl_status status = rl_file_read(path, MAX_KEPT, &text, NULL, err);
    if (status == RL_OK && is_stale(path, text))
        status = rl_fail(err, RL_ENODATA, "the self-test of counters that is kept failed long ago");
    else if (status == RL_OK)
        status = rl_pmu_self_test_load(counters->pmu, text, err);
    else
        text = NULL;
    free(path);
    free(text);
    return status;
}

static enum rl_status write_to(const struct rl_counters *counters, const char *path,
                               struct rl_error *err)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    if (!stream)
        return rl_fail(err, RL_ENOMEM, "no memory for the self-test of counters");
    enum rl_status status = rl_pmu_self_test_save(counters->pmu, stream, err);
    if (fclose(stream) != 0 && status == RL_OK)
        status = rl_fail(err, RL_ENOMEM, "no memory for the self-test of counters");
    /* A test that came to nothing, because others had the counters, is no result. */
    if (status == RL_OK && strstr(text, "\nverdict\t"))
        status = rl_file_write(path, text, size, err);
    free(text);
    return status;
}

static enum rl_status save(const struct rl_counters *counters, const char *key,
                           struct rl_error *err)
{
    char *folder;
    char *path = NULL;
    RL_TRY(rl_store_folder(&folder, err));
    enum rl_status status = rl_mkdirs(folder, err);
    free(folder);
    if (status == RL_OK)
        status = rl_store_counters_path(key, &path, err);
    if (status == RL_OK)
        status = write_to(counters, path, err);
    free(path);
    return status;
}

/* @return false where the caches are not known: traffic is not tested then. */
static bool sizes_of(const struct rl_machine *machine, struct rl_pmu_sizes *ret)
{
    const struct rl_level *l1 = rl_machine_level(machine, "L1");
    const struct rl_level *l2 = rl_machine_level(machine, "L2");
    const struct rl_level *l3 = rl_machine_level(machine, "L3");
    uint64_t memory = rl_memory_available(NULL) / 4;
    if (!l1 || !l2 || !l1->size_bytes || !l2->size_bytes)
        return false;
    *ret =
        (struct rl_pmu_sizes){.l1_bytes = l1->size_bytes,
                              .l2_bytes = l2->size_bytes,
                              .memory_bytes = memory < MAX_TEST_MEMORY ? memory : MAX_TEST_MEMORY};
    if (l3) {
        ret->l3_bytes = l3->size_bytes;
        ret->llc_bytes = l3->size_bytes * (l3->count ? l3->count : 1);
    }
    return true;
}

/* Two tests, or a test and a measurement, would disturb each other. */
static enum rl_status lock(struct rl_lock *ret, struct rl_error *err)
{
    const struct timespec step = {.tv_nsec = LOCK_STEP_NS};
    const unsigned steps = LOCK_WAIT_S * (1000000000L / LOCK_STEP_NS);
    enum rl_status status = rl_lock_take(ret, err);
    for (unsigned i = 0; status == RL_EUNAVAIL && i < steps; i++) {
        nanosleep(&step, NULL);
        status = rl_lock_take(ret, err);
    }
    return status;
}

static enum rl_status test(struct rl_counters *counters, const struct rl_machine *machine,
                           struct rl_error *err)
{
    struct rl_error kept = {0};
    struct rl_pmu_sizes sizes;
    rl_say("hardware counters are tested first; what is found is kept");
    RL_TRY(rl_pmu_self_test(counters->pmu, sizes_of(machine, &sizes) ? &sizes : NULL, err));
    if (machine->key && save(counters, machine->key, &kept) != RL_OK)
        rl_warn("the self-test of hardware counters is not kept: %s", kept.text);
    return RL_OK;
}

enum rl_status rl_counters_test(struct rl_counters *counters, const struct rl_machine *machine,
                                bool anew, struct rl_error *err)
{
    struct rl_lock held = {0};
    if (!anew && machine->key && load(counters, machine->key, NULL) == RL_OK)
        return RL_OK;
    RL_TRY(lock(&held, err));
    enum rl_status status = RL_OK;
    /* Another process may have tested them meanwhile. */
    if (anew || !machine->key || load(counters, machine->key, NULL) != RL_OK)
        status = test(counters, machine, err);
    rl_lock_release(&held);
    return status;
}

bool rl_counters_demanded(enum rl_profile_count count, enum rl_profile_traffic traffic)
{
    return count == RL_COUNT_PMU || traffic == RL_TRAFFIC_PMU;
}

/* What is asked for must have passed; beside the engine anything that has is welcome. */
static enum rl_status check(const struct rl_counters *counters,
                            const struct rl_profile_options *options, struct rl_error *err)
{
    if (options->count == RL_COUNT_PMU)
        return rl_pmu_check(counters->pmu, RL_PMU_FLOP, err);
    if (options->traffic == RL_TRAFFIC_PMU)
        return rl_pmu_check(counters->pmu, RL_PMU_BYTES, err);
    return rl_pmu_check(counters->pmu, RL_PMU_BYTES, NULL) == RL_OK
               ? RL_OK
               : rl_pmu_check(counters->pmu, RL_PMU_FLOP, err);
}

static void say(const struct rl_profile_options *options, unsigned n_passes)
{
    const char *regions =
        options->regions && !options->single_pass ? ", and marked regions in as many" : "";
    unsigned n = options->single_pass ? 1 : n_passes;
    if (options->count == RL_COUNT_PMU)
        rl_say("hardware counters count the program in %u run%s, all of it together%s: functions "
               "are told apart by --count engine only",
               n, n == 1 ? "" : "s", regions);
    else if (options->traffic == RL_TRAFFIC_PMU)
        rl_say("traffic of the program is counted by hardware counters in %u further run%s%s",
               n_passes, n_passes == 1 ? "" : "s", regions);
    else
        rl_say("the engine counts functions; hardware counters count the program as a whole in "
               "one further run%s",
               regions);
}

enum rl_status rl_counters_for(const struct rl_profile_options *options,
                               const struct rl_machine *machine, struct rl_counters *ret,
                               struct rl_error *err)
{
    static const struct rl_machine unknown = {0};
    struct rl_error why = {0};
    bool demanded = rl_counters_demanded(options->count, options->traffic);
    *ret = (struct rl_counters){0};
    if (!demanded && (options->count != RL_COUNT_AUTO || options->single_pass || options->n_replay))
        return RL_OK;
    enum rl_status status = rl_counters_open(NULL, ret, &why);
    if (status == RL_OK)
        status = rl_counters_test(ret, machine ? machine : &unknown, false, &why);
    if (status == RL_OK)
        status = check(ret, options, &why);
    if (status == RL_OK) {
        say(options, rl_pmu_passes(ret->pmu));
        return RL_OK;
    }
    rl_counters_close(ret);
    if (demanded)
        return rl_fail(err, status, "%s", why.text);
    const char *enable = strstr(why.text, "; to enable:");
    rl_say("only the engine counts: %.*s",
           (int)(enable ? (size_t)(enable - why.text) : strlen(why.text)), why.text);
    return RL_OK;
}
