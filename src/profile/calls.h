/* Who called whom, and how often: call sites of counted code, and where they led.
 *
 * A call or jump to a fixed place is exact. A stub or pointer that the dynamic linker filled in
 * leads to the function of that name. Of other pointers it is known who called a function first
 * through one: what no other call of that function explains is taken for calls of that site, an
 * estimate; exact where no other pointer was called often enough. What is left stays unknown. */
#ifndef RL_PROFILE_CALLS_H
#define RL_PROFILE_CALLS_H

#include "decode/flow.h"
#include "profile/code.h"
#include "profile/tally.h"

struct call_site;
struct call_stub;

/** Sites while functions are tallied; all-zero is valid and empty. */
struct calls {
    struct call_site *site; /* [n_site] */
    size_t n_site;
    struct call_stub *stub; /* [n_stub] ascending by module and offset, as functions are */
    size_t n_stub;
};

/**
 * Note the calls that leave a function.
 *
 * @param unit    index of the function's unit.
 * @param symbol  of the function.
 */
enum rl_status calls_add(struct calls *calls, const struct code *code, uint32_t module,
                         uint32_t unit, const struct rl_function *symbol,
                         const struct rl_flow *flow, struct rl_error *err);

/** Find where all sites led; fills tally->call and what of its units is unknown. `tally` has all
 * its functions. */
enum rl_status calls_resolve(struct calls *calls, const struct code *code, struct rl_tally *tally,
                             struct rl_error *err);

void calls_release(struct calls *calls);

#endif
