/* The walk with one or two vector instructions a set; compiled for AVX2, chosen at run time. */
#ifdef __x86_64__
#include "decode/cache_walk_run_internal.h"

const struct cache_walk rl_cache_walk_avx2 = CACHE_WALK;
#else
typedef int empty_translation_unit;
#endif
