/* Command-line options as a typed table, bound to variables.
 *
 * Help, errors and parsing all come from the table, so that they cannot drift apart. Long options
 * everywhere, GNU conventions; --help and -q/--quiet are added to every command. */
#ifndef RL_CLI_OPTIONS_H
#define RL_CLI_OPTIONS_H

#include "cli/command.h"

#include <stdint.h>

enum rl_option_type {
    RL_OPT_FLAG,   /**< bool *: set to true */
    RL_OPT_STRING, /**< const char ** */
    RL_OPT_UINT,   /**< uint64_t *, within [min, max] (max 0: no limit) */
    RL_OPT_DOUBLE, /**< double *, within [min, max] (both 0: no limit) */
    RL_OPT_SIZE,   /**< uint64_t *, bytes, at least min, suffixes allowed */
    RL_OPT_LIST,   /**< struct rl_string_list *: may be repeated */
};

struct rl_string_list {
    const char **item; /**< borrowed from argv; the array is freed by rl_options_release */
    size_t n;
};

struct rl_option {
    enum rl_option_type type;
    const char *name; /**< without dashes */
    char letter;      /**< 0: none */
    const char *arg;  /**< argument label for the help, e.g. "FILE"; NULL for flags */
    const char *help; /**< one line */
    void *value;      /**< where the result goes; keeps its default when the option is absent */
    double min, max;
};

struct rl_arguments {
    char **item; /**< positional arguments; borrowed from argv */
    int n;
    bool done; /**< help was printed (exit 0) or the usage was wrong: return `exit_code` now */
    int exit_code;
};

/**
 * Parse argv by the table.
 *
 * @param stop_at_command  true: the first positional argument ends the options (record, run).
 * @return the positional arguments; check `.done` first.
 */
struct rl_arguments rl_options_parse(const struct rl_command *command,
                                     const struct rl_option *options, size_t n_options, int argc,
                                     char **argv, bool stop_at_command);

/** Print "roofline <command>: <message>", a hint at --help, and return RL_EXIT_USAGE. */
int rl_usage_error(const struct rl_command *command, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

void rl_string_list_release(struct rl_string_list *list);

#define RL_COUNT(array) (sizeof(array) / sizeof((array)[0]))

#endif
