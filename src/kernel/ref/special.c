/* Special functions one element at a time. */
#include "kernel/ref/ref_internal.h"

#define SUFFIX fp64_c
#define VECTOR double
#include "kernel/special_loop.inc"

#define SUFFIX fp32_c
#define VECTOR float
#include "kernel/special_loop.inc"
