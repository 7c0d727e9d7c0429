/* Hardware counters for a whole program: what `roofline record --count pmu` calls.
 *
 *     struct rl_pmu *pmu;
 *     RL_TRY(rl_pmu_new(&options, &pmu, err));
 *     status = rl_pmu_probe(pmu, err);                     // available, or why not
 *     status = rl_pmu_self_test_load(pmu, cached, err);    // else rl_pmu_self_test and _save
 *     for (unsigned i = 0; i < rl_pmu_passes(pmu); i++) {
 *         rl_child_start(…);                               // waits before its exec
 *         rl_pmu_start(pmu, i, child.pid, err);
 *         rl_child_release(…), rl_child_wait(…);
 *         rl_pmu_stop(pmu, err);                           // before or after it is reaped
 *     }
 *     rl_pmu_counts(pmu, &counts);                         // then rl_pmu_counts_fill and _note
 *
 * Counts are of the program with all threads and children, from its exec on, without the kernel.
 * Functions are not told apart: that is the engine's work, and this is the check on it. Marked
 * regions are counted in runs of their own, without rl_pmu_start: two groups of the same events on
 * one thread would share its counters. The program's region library follows a plan file
 * (rl_pmu_region_plan) and leaves files that are added here. Not thread-safe. */
#ifndef RL_COUNT_PERF_EVENT_PMU_H
#define RL_COUNT_PERF_EVENT_PMU_H

#include "count/perf_event/counts.h"
#include "count/perf_event/regional.h"
#include "count/perf_event/selftest.h"

#include <stdio.h>

struct rl_pmu_options {
    const struct rl_cpu *cpu;         /**< of this machine */
    struct rl_pmu_plan_options plan;  /**< what to count, in how many runs */
    const char *root;                 /**< in front of /sys and /proc; NULL: this machine */
    const struct rl_pmu_calls *calls; /**< NULL: the system's */
};

/** Full detail, any number of runs, memory controllers where allowed. @param cpu  borrowed. */
struct rl_pmu_options rl_pmu_options_default(const struct rl_cpu *cpu);

struct rl_pmu;

/** Look at the machine and plan. @return RL_OK also where nothing can be counted; RL_ENOMEM. */
enum rl_status rl_pmu_new(const struct rl_pmu_options *options, struct rl_pmu **ret,
                          struct rl_error *err);
/** NULL is fine. */
void rl_pmu_free(struct rl_pmu *pmu);

/** Can anything be counted? Opens the first run's events on the calling thread.
 * @return RL_OK; RL_EUNAVAIL with the reason and, where there is one, the line that mends it. */
enum rl_status rl_pmu_probe(struct rl_pmu *pmu, struct rl_error *err);

/** Count known work and decide what to believe.
 * @param sizes  NULL: FLOP only, traffic stays untested. */
enum rl_status rl_pmu_self_test(struct rl_pmu *pmu, const struct rl_pmu_sizes *sizes,
                                struct rl_error *err);

/** Write what the self-test found, with what it holds for: CPU, microcode, kernel, hypervisor. */
enum rl_status rl_pmu_self_test_save(const struct rl_pmu *pmu, FILE *stream, struct rl_error *err);

/** Take over a result that was saved.
 * @return RL_OK; RL_ENODATA if it is of another machine, kernel or plan; RL_EDATA if damaged. */
enum rl_status rl_pmu_self_test_load(struct rl_pmu *pmu, const char *text, struct rl_error *err);

/** Has a self-test run, here or in what was loaded? */
bool rl_pmu_is_tested(const struct rl_pmu *pmu);

/** Did anything of this kind that is counted here pass the self-test?
 * @param kind  RL_PMU_FLOP or RL_PMU_BYTES.
 * @return RL_OK; RL_EUNAVAIL with what the self-test found. */
enum rl_status rl_pmu_check(const struct rl_pmu *pmu, enum rl_pmu_kind kind, struct rl_error *err);

/** Runs of the program that the plan needs; 0 where nothing can be counted. */
unsigned rl_pmu_passes(const struct rl_pmu *pmu);

/** What a run counts, for progress: "fp64 FLOP; L2, L3 and DRAM traffic". */
const char *rl_pmu_pass_title(const struct rl_pmu *pmu, unsigned pass, char *buffer, size_t size);

/**
 * Count a process from its exec on.
 * @param pid  a child that waits before its exec.
 * @return RL_OK also where single events could not be opened; RL_EINVAL out of range or already
 *         started; RL_ENOMEM.
 */
enum rl_status rl_pmu_start(struct rl_pmu *pmu, unsigned pass, pid_t pid, struct rl_error *err);

/** Read and close. A pass may be run again: values become means with a spread. */
enum rl_status rl_pmu_stop(struct rl_pmu *pmu, struct rl_error *err);

/** What all runs so far amount to. */
void rl_pmu_counts(const struct rl_pmu *pmu, struct rl_pmu_counts *ret);

/** Raw readings, e.g. to keep by rl_pmu_readings_write. Valid until the next stop or free. */
const struct rl_pmu_readings *rl_pmu_readings(const struct rl_pmu *pmu);

/** What a program's region library is to count in a run of this pass.
 * @return as rl_pmu_regions_encode. */
enum rl_status rl_pmu_region_plan(const struct rl_pmu *pmu, unsigned pass, enum region_scope scope,
                                  struct region_plan *ret, struct rl_error *err);

/** A file that a process left in such a run. @return as rl_pmu_regions_add. */
enum rl_status rl_pmu_region_add(struct rl_pmu *pmu, const struct rl_pmu_region_file *file,
                                 struct rl_error *err);

/** Regions counted in a scope, judged. Valid until the next file or free. */
const struct rl_pmu_regions *rl_pmu_regions_counted(struct rl_pmu *pmu, enum region_scope scope);

/** What the readings of a region amount to; its own `why` is the caller's to look at. */
void rl_pmu_region_counts(const struct rl_pmu *pmu, const struct rl_pmu_region *region,
                          struct rl_pmu_counts *ret);

/** One line of `roofline doctor`. */
struct rl_pmu_line {
    bool works;
    char name[24];
    char text[256];
    char enable[96]; /**< "" nothing to do */
};

/**
 * What works of FLOP, traffic and memory controllers, and why not.
 * @param ret  [n_max]; 4 are enough.
 * @return number of lines.
 */
size_t rl_pmu_doctor(struct rl_pmu *pmu, struct rl_pmu_line *ret, size_t n_max);

#endif
