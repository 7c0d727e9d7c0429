#include "cli/show.h"

#include "base/error.h"
#include "cli/command.h"

#include <roofline/version.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_stdout(const char *path)
{
    return !path || strcmp(path, "-") == 0;
}

/* The character set of the user's locale, by the same precedence as setlocale(3). */
static bool locale_is_utf8(void)
{
    static const char *const variables[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *value = getenv(variables[i]);
        if (value && *value)
            return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
    }
    return false;
}

struct rl_render_options rl_show_options(const char *path, bool ascii)
{
    enum { MOST_COLUMNS = 140, MOST_ROWS = 32, LEAST_COLUMNS = 60, LEAST_ROWS = 24 };
    struct rl_render_options options = {
        .unicode = !ascii && locale_is_utf8(),
        .program = "roofline " ROOFLINE_VERSION,
    };
    if (!is_stdout(path) || !isatty(STDOUT_FILENO))
        return options;
    options.colour = rl_use_colour(STDOUT_FILENO);
    rl_terminal_size(&options.width, &options.height);
    if (options.width > MOST_COLUMNS)
        options.width = MOST_COLUMNS;
    if (options.width < LEAST_COLUMNS)
        options.width = LEAST_COLUMNS;
    /* A wide window is often low: the chart may take more rows than it has. */
    options.height = options.height > MOST_ROWS    ? MOST_ROWS
                     : options.height < LEAST_ROWS ? LEAST_ROWS
                                                   : options.height;
    return options;
}

enum rl_status rl_show(const struct rl_renderer *renderer, const struct rl_report *report,
                       const struct rl_render_options *options, const char *path,
                       struct rl_error *err)
{
    if (renderer->binary && is_stdout(path) && isatty(STDOUT_FILENO))
        return rl_fail(err, RL_EINVAL, "%s is not for terminals: name a file with -o",
                       renderer->name);
    return rl_render_file(renderer, report, options, path, err);
}
