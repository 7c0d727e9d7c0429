#include "profile/agree.h"
#include "base/child.h"
#include "base/error.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* Native runs that differ by more than this are no repetition of each other. */
#define MAX_TIME_RATIO 1.5

/* Outputs that differ by no more than this, times and addresses in them for instance, are alike. */
#define MAX_OUTPUT_BYTES 4096
#define MAX_OUTPUT_PART  10

static void describe(int wait_status, char *text, size_t n)
{
    if (WIFSIGNALED(wait_status))
        snprintf(text, n, "signal %d (%s)", WTERMSIG(wait_status),
                 strsignal(WTERMSIG(wait_status)));
    else
        snprintf(text, n, "exit status %d", WEXITSTATUS(wait_status));
}

enum rl_status agree_check_end(int first, int other, const char *which, struct rl_profile *profile,
                               struct rl_error *err)
{
    char a[64], b[64];
    if (first == other)
        return RL_OK;
    describe(first, a, sizeof a);
    describe(other, b, sizeof b);
    return rl_profile_note(profile, err,
                           "the program behaves differently from run to run: it ended with %s in "
                           "the first run and with %s in %s",
                           a, b, which);
}

static bool has_changed(const struct rl_sample_module *module)
{
    struct stat st;
    if (module->kind != RL_SAMPLE_FILE || !module->mtime_ns || stat(module->path, &st) != 0)
        return false;
    return st.st_ino != module->inode || (uint64_t)st.st_size != module->size_bytes ||
           (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec != module->mtime_ns;
}

static enum rl_status check_files(const struct rl_samples *samples, struct rl_profile *profile,
                                  struct rl_error *err)
{
    for (size_t i = 0; i < samples->n_module; i++) {
        if (has_changed(&samples->module[i]))
            RL_TRY(rl_profile_note(profile, err,
                                   "%s changed while it was profiled: its counts and times may "
                                   "belong to different code",
                                   samples->module[i].path));
    }
    return RL_OK;
}

/* A program may write more to a terminal than to the null device, so only much more or less tells.
 */
static bool writes_alike(uint64_t a, uint64_t b)
{
    uint64_t more = a > b ? a : b, less = a > b ? b : a;
    return !less || more - less <= MAX_OUTPUT_BYTES || more - less <= more / MAX_OUTPUT_PART;
}

/* Counts of a run that went another way are kept, for they may be all there is. */
static enum rl_status check_counted(const struct rl_samples *timed, const struct counting *counting,
                                    struct rl_profile *profile, struct rl_error *err)
{
    bool ends_alike = timed->wait_status == counting->wait_status;
    bool is_alike = ends_alike && writes_alike(timed->written_bytes, counting->written_bytes);
    RL_TRY(agree_check_end(timed->wait_status, counting->wait_status, "the counted run", profile,
                           err));
    if (ends_alike && !is_alike)
        RL_TRY(rl_profile_note(profile, err,
                               "the program behaves differently from run to run: it wrote %" PRIu64
                               " bytes in the first run and %" PRIu64 " in the counted run",
                               timed->written_bytes, counting->written_bytes));
    if (is_alike)
        return RL_OK;
    return rl_profile_note(profile, err,
                           "operations, bytes, calls and intensities are those of the counted run, "
                           "times and threads those of the first: rates and percentages of a roof, "
                           "which join the two, may be wrong for every kernel");
}

enum rl_status agree_check(const struct rl_samples *samples, size_t n_samples,
                           const struct counting *counting, struct rl_profile *profile,
                           struct rl_error *err)
{
    double least = samples[0].elapsed_s;
    double most = least;
    for (size_t r = 1; r < n_samples; r++) {
        char which[32];
        snprintf(which, sizeof which, "run %zu", r + 1);
        RL_TRY(
            agree_check_end(samples[0].wait_status, samples[r].wait_status, which, profile, err));
        least = samples[r].elapsed_s < least ? samples[r].elapsed_s : least;
        most = samples[r].elapsed_s > most ? samples[r].elapsed_s : most;
    }
    if (most > MAX_TIME_RATIO * least)
        RL_TRY(rl_profile_note(profile, err,
                               "the runs took between %.3g s and %.3g s: times are uncertain",
                               least, most));
    if (counting)
        RL_TRY(check_counted(&samples[0], counting, profile, err));
    return check_files(&samples[0], profile, err);
}
