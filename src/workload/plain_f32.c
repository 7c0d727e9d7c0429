/* fp32. */
#define REAL  float
#define TABLE rl_plain_f32
#include "workload/plain/table.inc"
