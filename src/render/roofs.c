#include "render/roofs.h"

#include <math.h>

static bool is_one(double scale)
{
    return fabs(scale - 1) < 1e-9;
}

const struct rl_compute_ceiling *rl_roofs_peak(const struct rl_machine *machine,
                                               enum rl_precision precision, unsigned threads,
                                               double *ret_scale)
{
    const struct rl_compute_ceiling *fma =
        rl_peak(machine, precision, "fma", NULL, threads, ret_scale);
    return fma ? fma : rl_peak(machine, precision, NULL, NULL, threads, ret_scale);
}

struct shown_roof rl_roofs_show_compute(const struct rl_compute_ceiling *ceiling, double scale)
{
    struct shown_roof shown = {ceiling->id, ceiling->rate, !is_one(scale), ceiling->contended};
    shown.rate.value *= scale;
    return shown;
}

struct shown_roof rl_roofs_show_memory(const struct rl_memory_ceiling *ceiling, double scale)
{
    bool same_threads = is_one(scale / rl_moved_per_asked(ceiling));
    struct shown_roof shown = {ceiling->id, ceiling->rate, !same_threads, ceiling->contended};
    shown.rate.value *= scale;
    return shown;
}
