/* The report: records and model joined into verdicts and advice, ready to be shown.
 *
 * rl_report_build (analysis) fills it; renderers and the JSON writer only read it. It borrows the
 * machine and the profile: keep them alive. */
#ifndef ROOFLINE_REPORT_H
#define ROOFLINE_REPORT_H

#include <roofline/error.h>
#include <roofline/machine.h>
#include <roofline/model.h>
#include <roofline/profile.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/** One finding: what to try next, with its evidence. */
struct rl_advice {
    char id[RL_WORD_LEN +
            RL_WORD_LEN]; /**< rule, e.g. "memory.reuse"; documented in docs/advice.md */
    char *text;           /**< one sentence, evidence included */
    double gain;          /**< factor on this kernel's time if it worked fully; 0 unknown */
};

struct rl_row {
    const struct rl_kernel *kernel; /**< borrowed */
    struct rl_placement place;
    double time_share;       /**< of the profile's elapsed or summed time; 0 unknown */
    double total_time_share; /**< of the same, with callees; 0 unknown */
    struct rl_advice *advice;
    size_t n_advice;
};

enum rl_chart_model { RL_CHART_HIERARCHICAL = 0, RL_CHART_CACHE_AWARE };

struct rl_report {
    const struct rl_machine *machine; /**< borrowed */
    const struct rl_profile *profile; /**< borrowed; NULL: machine only */
    enum rl_chart_model model;
    unsigned threads;   /**< thread count of the roof drawn */
    bool totals;        /**< figures with callees are to be shown too */
    struct rl_row *row; /**< sorted by time, longest first; with totals by total time */
    size_t n_row;
    struct rl_missing_list missing;
};

struct rl_report_options {
    enum rl_chart_model model;
    unsigned threads;      /**< roof to draw; 0: the profile's, else the most measured */
    const char *select;    /**< glob on kernel names; NULL: all */
    double min_time_share; /**< rows below it are left out; 0: none */
    bool totals; /**< figures with callees, and rows for functions that do little but call */
    struct rl_thresholds thresholds; /**< all-zero: defaults */
};

/**
 * Join a machine and a profile.
 *
 * @param machine     borrowed by the report.
 * @param profile     borrowed; NULL gives a report of the roof alone.
 * @param options     NULL for the defaults.
 * @param ret_report  release with rl_report_release.
 * @return RL_OK; RL_ENODATA if the machine has no ceilings at all; RL_EINVAL; RL_ENOMEM.
 */
enum rl_status rl_report_build(const struct rl_machine *machine, const struct rl_profile *profile,
                               const struct rl_report_options *options,
                               struct rl_report *ret_report, struct rl_error *err);
void rl_report_release(struct rl_report *report);

#ifdef __cplusplus
}
#endif

#endif
