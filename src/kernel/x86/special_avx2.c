/* Special functions on 256 bits. */
#include "kernel/x86/x86_internal.h"

typedef double vector_fp64 __attribute__((vector_size(32)));
typedef float vector_fp32 __attribute__((vector_size(32)));

#define SUFFIX fp64_avx2
#define VECTOR vector_fp64
#include "kernel/special_loop.inc"

#define SUFFIX fp32_avx2
#define VECTOR vector_fp32
#include "kernel/special_loop.inc"
