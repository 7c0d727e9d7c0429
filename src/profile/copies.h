/* The files that ran, as far as they are held: names are read from these, not from what lies at
 * their paths by now. */
#ifndef RL_PROFILE_COPIES_H
#define RL_PROFILE_COPIES_H

#include "sample/sample.h"
#include "symbol/symbol.h"

/** All-zero is valid and empty. */
struct copies {
    struct rl_symbol_copy *of; /**< [n] */
    size_t n;
    char *own_path; /**< of the one that is held here; NULL: none */
    int own_fd;
};

/** @param samples  [n_samples] borrowed as long as `ret`.
 *  @return RL_OK: end with copies_release; RL_ENOMEM. */
enum rl_status copies_find(const struct rl_samples *samples, size_t n_samples, struct copies *ret,
                           struct rl_error *err);
/** Hold the file that a name of a program stands for, before it runs; RL_OK where there is none.
 * @param envp  as rl_child_find. */
enum rl_status copies_hold(struct copies *copies, const char *name, const char *const *envp,
                           struct rl_error *err);
void copies_release(struct copies *copies);

/** For symbols read with these; the rest is as customary. */
struct rl_symbols_options copies_options(const struct copies *copies);

#endif
