/* The walk for any processor; SSE2 where the compiler targets x86-64. */
#include "decode/cache_walk_run_internal.h"

const struct cache_walk rl_cache_walk_plain = CACHE_WALK;
