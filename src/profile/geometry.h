/* The caches of a machine record as the cache model wants them. */
#ifndef RL_PROFILE_GEOMETRY_H
#define RL_PROFILE_GEOMETRY_H

#include "decode/cache_model.h"

#include <roofline/machine.h>

/**
 * @param machine  its levels L1, L2, … in any order; DRAM is not among them.
 * @return RL_OK; RL_ENODATA if it has no L1 of known size, with the reason.
 *
 * What a record leaves open is taken as usual: 8 ways for L1, 16 further out; levels shared by more
 * threads than a core has are shared. The last cache of AMD's processors is a victim cache.
 */
enum rl_status geometry_of(const struct rl_machine *machine, struct rl_cache_geometry *ret,
                           struct rl_error *err);

#endif
