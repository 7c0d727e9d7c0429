/* fp64. */
#define REAL  double
#define TABLE rl_plain_f64
#include "workload/plain/table.inc"
