/* A run of a program whose marked regions are counted as a plan says: where the program finds the
 * plan and leaves its counts. It does not start the program, nor know what counts mean. */
#ifndef RL_SAMPLE_MARKED_H
#define RL_SAMPLE_MARKED_H

#include "region/wire.h"

#include <roofline/error.h>
#include <stddef.h>

struct rl_marked;

/**
 * Make room for the files of one run, with the plan in it.
 * @param markers      object to preload, which recognises other tools' markers; NULL: only the
 *                     program's own roofline regions are seen.
 * @param scratch_dir  NULL: chosen among the usual ones.
 * @param envp         the program's environment, copied.
 * @return RL_OK; RL_ESYS or RL_ENOMEM. Free with rl_marked_free, which removes the files.
 */
enum rl_status rl_marked_new(const char *markers, const char *scratch_dir, const char *const *envp,
                             const struct region_plan *plan, struct rl_marked **ret,
                             struct rl_error *err);

/** To start the program with; NULL-terminated, borrowed until rl_marked_free. */
const char *const *rl_marked_environment(const struct rl_marked *marked);

/**
 * After the run: call `each` with the content of every file of regions.
 * @param each  gets [n] bytes of any content, valid during the call.
 * @return what `each` returns first that is not RL_OK; RL_ESYS if the folder cannot be read.
 */
enum rl_status rl_marked_files(const struct rl_marked *marked,
                               enum rl_status (*each)(void *context, const void *data, size_t n,
                                                      struct rl_error *err),
                               void *context, struct rl_error *err);

/** NULL is fine. */
void rl_marked_free(struct rl_marked *marked);

#endif
