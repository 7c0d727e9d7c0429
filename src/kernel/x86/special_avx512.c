/* Special functions on 512 bits. */
#include "kernel/x86/x86_internal.h"

typedef double vector_fp64 __attribute__((vector_size(64)));
typedef float vector_fp32 __attribute__((vector_size(64)));

#define SUFFIX fp64_avx512
#define VECTOR vector_fp64
#include "kernel/special_loop.inc"

#define SUFFIX fp32_avx512
#define VECTOR vector_fp32
#include "kernel/special_loop.inc"
