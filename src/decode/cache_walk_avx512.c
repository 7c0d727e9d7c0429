/* The walk with one vector instruction a set; compiled for AVX-512 F and VL, chosen at run time. */
#ifdef __x86_64__
#include "decode/cache_walk_run_internal.h"

const struct cache_walk rl_cache_walk_avx512 = CACHE_WALK;
#else
typedef int empty_translation_unit;
#endif
