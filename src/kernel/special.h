/* Special functions as kernels: one library routine applied to an array.
 *
 * The routines are not ours and not linked: the caller finds them at run time and says which one to
 * call. What is here calls scalar and vector routines the way their ABI wants it. */
#ifndef RL_KERNEL_SPECIAL_H
#define RL_KERNEL_SPECIAL_H

#include "kernel/kernel.h"

#include <stdbool.h>

/** One routine of one library. Routines of equal op, precision and library are variants. */
struct rl_special {
    const char *op; /**< exp log sin pow */
    enum rl_precision precision;
    const char *library;  /**< word of the ceiling's `isa`: libm libmvec sleef */
    const char *soname;   /**< what to load */
    const char *symbol;   /**< what to look up in it */
    enum rl_isa isa;      /**< must be usable */
    unsigned lanes;       /**< elements a call */
    const char *accuracy; /**< what the library promises: "1 ULP" */
    /** y[i] = f(x[i]) or f(x[i], z[i]): args->a = y, args->b = x, args->c = z, args->bytes of each
     * a multiple of 64, args->loops passes. `routine` is the symbol's address. */
    void (*run)(void (*routine)(void), const struct rl_kernel_args *args);
};

/** All routines this build can call, variants together. Static; never NULL. */
const struct rl_special *rl_specials(size_t *ret_n);

#endif
