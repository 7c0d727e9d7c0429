#include "profile/agree.h"
#include "base/child.h"
#include "base/error.h"

#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Native runs that differ by more than this are no repetition of each other. */
#define MAX_TIME_RATIO 1.5

/* Outputs that differ by no more than this, times and addresses in them for instance, are alike. */
#define MAX_OUTPUT_BYTES 4096
#define MAX_OUTPUT_PART  10

/* What threads do may depend on who comes first: calls that differ by no more are alike. */
#define MAX_CALLS_PART 0.02

/* What seems to run for a fixed time: this long at least, not asleep nearly all of it, and in
 * the counted run as long again but for these parts; with a timer start-up, which takes longer when
 * it is counted, comes on top. */
#define MIN_DURATION_S   0.5
#define MIN_BUSY         0.1
#define ALIKE_WITH_TIMER 0.1
#define START_UP_S       0.25
#define ALIKE_WITH_CLOCK 0.02
/* Who times parts of a program looks at the clock some times, who waits for a time many times. */
#define MANY_LOOKS 100

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
    bool is_alike = !counting->interrupted_by && ends_alike &&
                    writes_alike(timed->written_bytes, counting->written_bytes);
    if (counting->interrupted_by)
        RL_TRY(rl_profile_note(profile, err,
                               "the counted run was interrupted after %.3g s: operations and bytes "
                               "are those of until then",
                               counting->elapsed_s));
    else
        RL_TRY(agree_check_end(timed->wait_status, counting->wait_status, "the counted run",
                               profile, err));
    if (!counting->interrupted_by && ends_alike && !is_alike)
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

/* Times a program called functions of these names, in whatever library. */
static double calls_of(const struct rl_tally *tally, const char *const *name)
{
    double sum = 0;
    for (size_t i = 0; i < tally->n_function; i++) {
        const struct rl_kernel *kernel = &tally->unit[i].kernel;
        const char *plain = kernel->name + strspn(kernel->name, "_");
        plain += strncmp(plain, "GI_", 3) ? 0 : 3 + strspn(plain + 3, "_");
        for (const char *const *n = name; *n; n++)
            sum += strcmp(plain, *n) || !rl_known(kernel->calls) ? 0 : kernel->calls.value;
    }
    return sum;
}

enum rl_status agree_check_duration(const struct rl_samples *timed, double counted_s,
                                    const struct rl_tally *tally, struct rl_profile *profile,
                                    struct rl_error *err)
{
    static const char *const timers[] = {"alarm",           "setitimer",       "timer_settime",
                                         "timer_settime64", "timerfd_settime", NULL};
    static const char *const clocks[] = {"vdso_clock_gettime", "vdso_gettimeofday", "vdso_time",
                                         "clock_gettime",      "gettimeofday",      NULL};
    double native_s = timed->elapsed_s;
    double difference_s = fabs(counted_s - native_s);
    bool is_busy = timed->user_s + timed->system_s >= MIN_BUSY * native_s;
    if (native_s < MIN_DURATION_S || !is_busy ||
        difference_s > ALIKE_WITH_TIMER * native_s + START_UP_S)
        return RL_OK;
    double looks = calls_of(tally, clocks);
    bool has_timer = calls_of(tally, timers) > 0;
    bool looks_often = looks >= MANY_LOOKS && difference_s <= ALIKE_WITH_CLOCK * native_s;
    if (!has_timer && !looks_often)
        return RL_OK;
    char why[512];
    snprintf(why, sizeof why,
             "the program took %.3g s by itself and %.3g s while it was counted, which slows "
             "programs down, and it %s: it seems to run for a fixed time and to get less done when "
             "it is counted. Rates and parts of a roof are too low by as much. Give it a fixed "
             "number of iterations, or take counts and time from one run with --single-pass",
             native_s, counted_s, has_timer ? "sets timers" : "keeps looking at the clock");
    return rl_missing_add(&profile->missing, "rate", why, err);
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

static double calls_timed(const struct rl_samples *timed, const char *name)
{
    double sum = 0;
    for (size_t i = 0; i < timed->n_region; i++)
        if (!strcmp(timed->region[i].name, name))
            sum += (double)(timed->region[i].calls + timed->region[i].unended);
    return sum;
}

enum rl_status agree_check_regions(const struct rl_samples *timed, const struct rl_tally *tally,
                                   struct rl_profile *profile, struct rl_error *err)
{
    for (size_t i = 0; i < tally->n_region; i++) {
        const struct rl_tally_region *region = &tally->region[i];
        double first = calls_timed(timed, region->name);
        double other = rl_known(region->kernel.calls) ? region->kernel.calls.value : 0;
        if (!(first > 0) || !(other > 0) ||
            fabs(first - other) <= MAX_CALLS_PART * fmax(first, other))
            continue;
        RL_TRY(rl_profile_note(profile, err,
                               "the program behaves differently from run to run: it entered region "
                               "%s %.0f times in the first run and %.0f times in the counted run, "
                               "so rates and percentages of a roof, which join the two, are wrong",
                               region->name, first, other));
    }
    return RL_OK;
}

bool agree_input_is_spent(int fd)
{
    struct stat st;
    struct pollfd end = {.fd = fd, .events = POLLIN};
    int n = 0;
    return fstat(fd, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)) &&
           poll(&end, 1, 0) == 1 && ioctl(fd, FIONREAD, &n) == 0 && n == 0;
}

enum rl_status agree_note_input(struct rl_profile *profile, struct rl_error *err)
{
    return rl_profile_note(profile, err,
                           "standard input was a pipe and came to its end in the first run: the "
                           "counted run could read nothing of it. Where the program reads it, give "
                           "it as a file, which is read again in every run, or use --single-pass");
}

enum rl_status agree_note_terminal(int fd, struct rl_profile *profile, struct rl_error *err)
{
    if (!isatty(fd))
        return RL_OK;
    return rl_profile_note(profile, err,
                           "standard input was a terminal, of which only the first run could read: "
                           "--single-pass records a program that waits for its user");
}
