/* Hardware counters of a machine of our making: a Skylake client whose kernel is a stand-in. */
#ifndef TESTS_SUPPORT_PMU_STAND_IN_H
#define TESTS_SUPPORT_PMU_STAND_IN_H

#include "count/perf_event/pmu.h"

#include <roofline/profile.h>

/** What each event of a program counts. */
#define PMU_STAND_IN_EACH UINT64_C(1000000)

/** What the stand-in has been asked for, and how it behaves; all-zero at first. */
struct pmu_stand_in {
    int n_events;   /**< opened in the last group */
    int n_read;     /**< readings so far */
    bool runs_away; /**< counts that much at each reading */
};
extern struct pmu_stand_in pmu_stand_in;

/** For rl_pmu_new; valid for ever. */
struct rl_pmu_options pmu_stand_in_options(void);

/** Counters all of whose metrics have passed their self-test; the stand-in starts anew. */
struct rl_pmu *pmu_stand_in_believed(void);

/** Whether some note of the profile contains that. */
bool profile_has_note(const struct rl_profile *profile, const char *part);

/** Why something is missing, or NULL if it is not said to be. */
const char *why_missing(const struct rl_missing_list *list, const char *what);

#endif
