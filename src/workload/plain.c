#include "workload/plain.h"

const struct rl_plain *rl_plain(enum rl_precision precision)
{
    return precision == RL_FP64 ? &rl_plain_f64 : &rl_plain_f32;
}
