/* Events that users name, counted for a program as a whole.
 *
 * Names are encoded by libpfm4, which is loaded when one is given and is needed for nothing else.
 * Counts are shown as they are: nothing is derived from them, and no self-test says that they count
 * right. Each event stands alone, so the kernel may let them take turns: one that was not on a
 * counter all the time has no value. */
#ifndef RL_COUNT_PERF_EVENT_NAMED_H
#define RL_COUNT_PERF_EVENT_NAMED_H

#include "count/perf_event/counter.h"

struct rl_named_event {
    char name[96];       /**< as given */
    uint64_t value;      /**< of the program, its threads and children; 0 unless `why` is fine */
    enum rl_pmu_why why; /**< RL_PMU_UNTESTED: not run yet; RL_PMU_FINE; or why not */
};

struct rl_named_events;

/**
 * Encode names and see whether they can be opened.
 *
 * @param name   [n] as libpfm4 writes them: "FP_ARITH:SCALAR_DOUBLE", "perf::PAGE-FAULTS:u".
 * Without a level of privilege after the name, the kernel is left out.
 * @param cpu    who the processor is: events of its cores are refused where that is contradicted.
 * @param calls  NULL: the system's; borrowed.
 * @param ret    release with rl_named_events_free; written on RL_OK only.
 * @return RL_OK; RL_EINVAL for a name that is not known here, with near ones; RL_EUNAVAIL without
 *         libpfm4, where the kernel refuses the event, or where it belongs to a core that this is
 *         not, with the reason; RL_ENOMEM.
 */
enum rl_status rl_named_events_new(const char *const *name, size_t n, const struct rl_cpu *cpu,
                                   const struct rl_pmu_calls *calls, struct rl_named_events **ret,
                                   struct rl_error *err);
/** NULL is fine. */
void rl_named_events_free(struct rl_named_events *events);

/** Count a process from its exec on, with all its threads and children.
 * @return RL_OK also where events could not be opened: see `why`. */
enum rl_status rl_named_events_start(struct rl_named_events *events, pid_t pid,
                                     struct rl_error *err);

/** Read and close. May be called after the program's end. */
void rl_named_events_stop(struct rl_named_events *events);

/** [*ret_n] in the order of their names; valid until free. */
const struct rl_named_event *rl_named_events_list(const struct rl_named_events *events,
                                                  size_t *ret_n);

#endif
