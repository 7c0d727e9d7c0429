/* Putting a report where the user wants it: the terminal, a pipe or a file. */
#ifndef RL_CLI_SHOW_H
#define RL_CLI_SHOW_H

#include "render/render.h"

/**
 * What standard output can show: size, colour and character set of the terminal.
 * @param path   where the output will go; NULL or "-": standard output.
 * @param ascii  plain ASCII even where Unicode would do.
 */
struct rl_render_options rl_show_options(const char *path, bool ascii);

/**
 * Render and write; a file is replaced only once the new content is complete.
 * @param path  NULL or "-": standard output.
 * @return RL_OK; RL_EINVAL for binary output to a terminal; as rl_render_file.
 */
enum rl_status rl_show(const struct rl_renderer *renderer, const struct rl_report *report,
                       const struct rl_render_options *options, const char *path,
                       struct rl_error *err);

#endif
