/* The command table and what every command gets.
 *
 * To add a command: write src/cli/cmd_<name>.c ending in a `const struct rl_command rl_cmd_<name>`,
 * list it in commands.c (sorted), and add docs/man/roofline-<name>.1 and the completion line; the
 * test `docs` names what was forgotten. Only this module prints, reads the environment and exits.
 */
#ifndef RL_CLI_COMMAND_H
#define RL_CLI_COMMAND_H

#include <roofline/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/** Exit codes of the program (design: 125 stands for our own failure in `record` and `run`). */
enum rl_exit {
    RL_EXIT_DONE = 0,
    RL_EXIT_FAILED = 1,
    RL_EXIT_USAGE = 2,
    RL_EXIT_UNAVAILABLE = 3,
    RL_EXIT_UNJUDGED = 4,
    RL_EXIT_WRAPPER = 125,
    RL_EXIT_INTERRUPTED = 130,
};

struct rl_command {
    const char *name;
    const char *summary;  /**< one line, lower case, no full stop */
    const char *synopsis; /**< arguments after "roofline <name> " */
    bool hidden;          /**< not listed in the help */
    bool wraps;           /**< passes a program's status on: its own failures have another */
    /** argv[0] is the command's name. Returns an rl_exit (or the profiled program's status). */
    int (*run)(const struct rl_command *self, int argc, char **argv);
};

/** All commands, sorted by name. */
extern const struct rl_command *const rl_commands[];
extern const size_t rl_n_commands;

const struct rl_command *rl_command_find(const char *name);

/**
 * Print a line, on a terminal broken at blanks to its width; elsewhere scripts find it in one
 * piece.
 * @param head    printed first, as it is.
 * @param indent  columns before further lines.
 */
void rl_put_wrapped(FILE *out, const char *head, unsigned indent, const char *text);

/** Print "roofline: <text>" to stderr and return the exit code that belongs to err->status. */
int rl_report_error(const struct rl_error *err);

/** Print "roofline: warning: …" to stderr unless -q was given. */
void rl_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/** Print a line of chatter to stderr unless -q was given. */
void rl_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/** Set by -q / --quiet of any command. */
void rl_set_quiet(bool quiet);
bool rl_is_quiet(void);

/** Colour wanted on this stream: a terminal, NO_COLOR unset, TERM not dumb. */
bool rl_use_colour(int fd);

/** Terminal size of standard output (COLUMNS/LINES as fallback, then 80x24). */
void rl_terminal_size(unsigned *ret_columns, unsigned *ret_rows);

/** Columns that a table on standard output has to fit into; 0 where it is no terminal. */
unsigned rl_table_columns(void);

/** Columns of the terminal that standard error is; 0 where it is none or does not say. */
unsigned rl_error_columns(void);

/** Install handlers so that SIGINT, SIGTERM and SIGHUP set a flag instead of ending the process;
 * one that is ignored (nohup, a background job of a script) stays so, for a program run from here
 * too. */
void rl_catch_interrupts(void);
/** From here on there is nothing to save: should one of these signals arrive and nobody look at the
 * flag within a second, the process ends, out of whatever call it is in; false: no longer. */
void rl_end_when_interrupted(bool yes);
/** True once one of them arrived after rl_catch_interrupts; usable as a cancel callback. */
bool rl_interrupted(void *unused);

#endif
