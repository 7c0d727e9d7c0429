/* Why something cannot be counted: every cause its own sentence and, where there is one, the line
 * that mends it. */
#ifndef RL_COUNT_PERF_EVENT_WHY_H
#define RL_COUNT_PERF_EVENT_WHY_H

#include "count/perf_event/host.h"

#include <stddef.h>

enum rl_pmu_why {
    RL_PMU_FINE = 0,
    /* The machine. */
    RL_PMU_UNKNOWN_CORE, /**< not in data/events */
    RL_PMU_CONTRADICTED, /**< CPUID names a core that this is not */
    RL_PMU_NO_PLAN,      /**< known, and nothing can be counted */
    RL_PMU_NO_PMU,       /**< the kernel offers no counters of the cores */
    RL_PMU_NO_CALL,      /**< ENOSYS: no perf_event_open */
    RL_PMU_PARANOID,     /**< EACCES or EPERM at paranoid 3 and more */
    RL_PMU_POLICY,       /**< EACCES although paranoid would allow it */
    RL_PMU_SYSTEM_ONLY,  /**< EACCES for an event that counts everybody */
    RL_PMU_SECCOMP,      /**< EPERM although paranoid would allow it */
    /* One event or group. */
    RL_PMU_NO_ROW,         /**< the core has no such event */
    RL_PMU_BANNED,         /**< data/events/never.tsv */
    RL_PMU_FORMAT,         /**< the kernel has no field for some of its bits */
    RL_PMU_NOT_PLANNED,    /**< not in the runs that were asked for */
    RL_PMU_NO_EVENT,       /**< ENOENT */
    RL_PMU_NO_REGISTER,    /**< ENXIO */
    RL_PMU_BAD_GROUP,      /**< EINVAL */
    RL_PMU_NO_DEVICE,      /**< ENODEV */
    RL_PMU_NO_MODE,        /**< EOPNOTSUPP */
    RL_PMU_BUSY,           /**< EBUSY */
    RL_PMU_FILES,          /**< EMFILE */
    RL_PMU_FILES_ALL,      /**< ENFILE */
    RL_PMU_GONE,           /**< ESRCH */
    RL_PMU_OTHER_KERNEL,   /**< E2BIG */
    RL_PMU_NO_MEMORY,      /**< ENOMEM */
    RL_PMU_UNREST,         /**< EAGAIN, of regions: threads kept beginning meanwhile */
    RL_PMU_SYSTEM_REFUSED, /**< any other errno */
    /* What was read. */
    RL_PMU_SHORT_READ, /**< fewer bytes than the group has */
    RL_PMU_NEVER_ON,   /**< never enabled: the program did not start */
    RL_PMU_NEVER_RAN,  /**< enabled, but never on a counter */
    RL_PMU_SHARED,     /**< on a counter for part of the time only */
    RL_PMU_ZERO,       /**< nothing at all was counted */
    RL_PMU_OTHER_CORE, /**< the program also ran on cores that cannot count it */
    /* Of regions. */
    RL_PMU_SHORT,         /**< reading the counters takes too much of its time */
    RL_PMU_OTHER_THREADS, /**< opened by threads whose work was not counted */
    /* Trust. */
    RL_PMU_UNTESTED, /**< no self-test has shown that it counts right */
    RL_PMU_WRONG,    /**< the self-test has shown that it does not */
    RL_PMU_BOUND,    /**< known to count too much or too little */
    RL_PMU_WHY_COUNT
};

/** A word for records and tests: "paranoid", "no-register", … */
const char *rl_pmu_why_name(enum rl_pmu_why why);
/** Inverse; RL_PMU_WHY_COUNT for an unknown word. */
enum rl_pmu_why rl_pmu_why_find(const char *name);

/**
 * Sentence for people, without a full stop.
 * @param host    its paranoid level is named; may be NULL.
 * @param detail  put in where the sentence has room for one; may be NULL.
 * @return buffer.
 */
const char *rl_pmu_why_text(enum rl_pmu_why why, const struct rl_pmu_host *host, const char *detail,
                            char *buffer, size_t size);

/** One line to type or to do; "" if there is nothing. */
const char *rl_pmu_why_enable(enum rl_pmu_why why);

/** What a failed perf_event_open means here. @param is_system  the event counts everybody. */
enum rl_pmu_why rl_pmu_why_from_errno(int error, const struct rl_pmu_host *host, bool is_system);

#endif
