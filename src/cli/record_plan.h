/* What `roofline record` and `roofline run` were asked for, and the profiling that both do. */
#ifndef RL_CLI_RECORD_PLAN_H
#define RL_CLI_RECORD_PLAN_H

#include "cli/options.h"
#include "count/engine/options.h"
#include "profile/profile.h"

struct record_options {
    const char *output; /**< with %r, %h, %p; NULL: named after the program */
    const char *count, *traffic, *sampling;
    const char *include;
    struct rl_string_list only, function, event;
    char only_text[RLE_ONLY_MAX]; /**< all of `only`, as the profile wants them */
    uint64_t rate_hz, repeats;
    bool single_pass;
    bool follow, no_follow;         /**< programs that the program starts; neither given: follow */
    bool functions, loops, regions; /**< none given: all */
    double min_share;               /**< per cent */
    uint64_t pid;                   /**< record: attach; 0: run a command */
    double duration_s;
    struct rl_string_list replay;
    const char *times; /**< profile to take times from, with %r, %h, %p; NULL: none */
};

/** Rows that both commands have; the array is static per call site's options. */
enum { RECORD_ROWS = 18 };
void record_rows(struct record_options *options, struct rl_option rows[RECORD_ROWS]);

struct record_options record_options_default(void);

/** The lists. */
void record_options_release(struct record_options *options);

/** RL_EINVAL if an option's word is none of its choices. */
enum rl_status record_check_words(struct record_options *options, struct rl_error *err);

/** Under a launcher of ranks a program can be started once only: make it so, and say so. */
void record_adapt_to_ranks(struct record_options *options);

/** Say on stderr how often the program is going to be run, if it can be run at all.
 * @return RL_OK; RL_ESYS: no such program, not executable, a directory; RL_EUNAVAIL: hardware
 *         counters are asked for and not to be had. */
enum rl_status record_announce(const struct record_options *options, const char *program,
                               struct rl_error *err);

/**
 * Run and profile the command, and set the record's date, program and rank.
 * @param command  argv of the program, NULL-terminated.
 * @return RL_OK; as rl_profile_run; RL_EINVAL for an unknown word in an option.
 */
enum rl_status record_profile(const struct record_options *options, char **command,
                              struct rl_profile *ret_profile, struct rl_error *err);

/** Profile a running process for a while: `pid` and `duration_s` of the options. */
enum rl_status record_attached(const struct record_options *options, struct rl_profile *ret_profile,
                               struct rl_error *err);

/**
 * The file to write: the pattern with %r (rank), %h (host), %p (process id of this tool) and %%
 * replaced, or PROGRAM.roofline.json, with the rank where there is one.
 * @param program   argv[0] of the command; NULL: "attached".
 * @param ret_path  free() it.
 */
enum rl_status record_output(const struct record_options *options, const char *program,
                             char **ret_path, struct rl_error *err);

/** Can the file be written? Asked before minutes of work. */
enum rl_status record_check_writable(const char *path, struct rl_error *err);

/** Rank of this process among those that a launcher (MPI, Slurm) started; NULL if it is none. */
const char *record_rank(void);

#endif
