/* The few ceilings that stand for a machine in pictures and headings. */
#ifndef RL_RENDER_ROOFS_H
#define RL_RENDER_ROOFS_H

#include <roofline/model.h>

/** A ceiling as shown. */
struct shown_roof {
    const char *id;
    struct rl_value rate; /**< scaled to the threads, and to bytes moved for memory */
    bool scaled;          /**< from another thread count */
    bool contended;
};

/** Peak of a precision: fused multiply-add, or the best there is. @return NULL if there is none. */
const struct rl_compute_ceiling *rl_roofs_peak(const struct rl_machine *machine,
                                               enum rl_precision precision, unsigned threads,
                                               double *ret_scale);

/** `ceiling` as shown, with the scale that rl_roofs_peak gave. */
struct shown_roof rl_roofs_show_compute(const struct rl_compute_ceiling *ceiling, double scale);

/** `ceiling` as shown, with the scale that rl_bandwidth gave. */
struct shown_roof rl_roofs_show_memory(const struct rl_memory_ceiling *ceiling, double scale);

#endif
