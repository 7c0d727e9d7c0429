#include "sample/sample.h"
#include "base/array.h"
#include "base/child.h"
#include "base/error.h"
#include "sample/buildid.h"
#include "sample/collect.h"
#include "sample/concurrency.h"
#include "sample/cost.h"
#include "sample/now.h"
#include "sample/perf.h"
#include "sample/preload.h"
#include "sample/scale.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <roofline/machine.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_RATE_HZ 100000
/* From this part of the time on a reader is told that times were scaled. */
#define TELL_SCALE 0.05
/* Rings are read, and progress is told, this often. */
#define ROUND_MS 200

static const char *const method_names[] = {"auto", "perf", "timer", "none"};

const char *rl_sample_method_name(enum rl_sample_method method)
{
    return (unsigned)method <= RL_SAMPLE_NONE ? method_names[method] : NULL;
}

bool rl_sample_method_from_name(const char *name, enum rl_sample_method *ret_method)
{
    for (int i = 0; i <= RL_SAMPLE_NONE; i++) {
        if (!strcmp(name, method_names[i])) {
            *ret_method = (enum rl_sample_method)i;
            return true;
        }
    }
    return false;
}

enum rl_status rl_sample_probe(enum rl_sample_method method, const char *preload,
                               struct rl_error *err)
{
    if (method == RL_SAMPLE_PERF)
        return perf_probe(err);
    if (method == RL_SAMPLE_TIMER)
        return preload_probe(preload, err);
    return RL_OK;
}

void rl_samples_release(struct rl_samples *s)
{
    for (size_t i = 0; i < s->n_module; i++)
        module_release(&s->module[i]);
    for (size_t i = 0; i < s->n_process; i++)
        free(s->process[i].command);
    for (size_t i = 0; i < s->n_region; i++)
        free(s->region[i].name);
    for (size_t i = 0; i < s->n_region_wall; i++)
        free(s->region_wall[i].name);
    for (size_t i = 0; i < s->n_note; i++)
        free(s->note[i]);
    free(s->module);
    free(s->process);
    free(s->thread);
    free(s->bucket);
    free(s->point);
    free(s->region);
    free(s->region_wall);
    free(s->region_span);
    free(s->note);
    *s = (struct rl_samples){0};
}

static enum rl_status add_note(struct rl_samples *samples, struct rl_error *err, const char *fmt,
                               ...) __attribute__((format(printf, 3, 4)));

static enum rl_status add_note(struct rl_samples *samples, struct rl_error *err, const char *fmt,
                               ...)
{
    va_list args;
    char *text = NULL;
    va_start(args, fmt);
    int n = vasprintf(&text, fmt, args);
    va_end(args);
    char **slot = n < 0 ? NULL : rl_array_append(&samples->note, &samples->n_note, sizeof *slot);
    if (!slot) {
        if (n >= 0)
            free(text);
        return rl_fail(err, RL_ENOMEM, "out of memory for samples");
    }
    *slot = text;
    return RL_OK;
}

/** One run in progress. */
struct run {
    const struct rl_sample_options *options;
    struct rl_samples samples;
    struct collector *collector;
    struct perf *perf;
    struct preload *preload;
    uint64_t start_ns;
};

static void run_release(struct run *run)
{
    perf_free(run->perf);
    preload_free(run->preload);
    collector_free(run->collector);
    rl_samples_release(&run->samples);
}

static void choose_rate(struct run *run, enum rl_sample_method method)
{
    unsigned rate_hz = run->options->rate_hz;
    double cost_s = method == RL_SAMPLE_TIMER  ? cost_of_timers()
                    : method == RL_SAMPLE_PERF ? cost_of_perf()
                                               : 0;
    if (!rate_hz)
        rate_hz = cost_rate_hz(cost_s);
    /* Signals disturb programs more than perf does, so there are no more where they cost little. */
    if (!run->options->rate_hz && method == RL_SAMPLE_TIMER && rate_hz > RL_SAMPLE_USUAL_TIMER_HZ)
        rate_hz = RL_SAMPLE_USUAL_TIMER_HZ;
    run->samples.method = method;
    run->samples.rate_hz = rate_hz;
    run->samples.rate_was_asked = run->options->rate_hz != 0;
    run->samples.sample_cost_s = cost_s;
}

/* `auto` goes from perf to timers to none, and says so; a demanded method fails instead. */
static enum rl_status choose_method(struct run *run, struct rl_error *err)
{
    const struct rl_sample_options *o = run->options;
    struct rl_error why_perf = {0};
    struct rl_error why_timer = {0};
    if (o->rate_hz > MAX_RATE_HZ)
        return rl_fail(err, RL_EINVAL, "%u samples a second; at most %u", o->rate_hz, MAX_RATE_HZ);
    if (o->method != RL_SAMPLE_AUTO) {
        choose_rate(run, o->method);
        return rl_sample_probe(o->method, o->preload, err);
    }
    choose_rate(run, RL_SAMPLE_PERF);
    if (perf_probe(&why_perf) == RL_OK)
        return RL_OK;
    if (preload_probe(o->preload, &why_timer) == RL_OK) {
        choose_rate(run, RL_SAMPLE_TIMER);
        return add_note(&run->samples, err, "%s; sampled by timers in the program instead",
                        why_perf.text);
    }
    choose_rate(run, RL_SAMPLE_NONE);
    return add_note(&run->samples, err, "%s; %s: time is known for the program as a whole only",
                    why_perf.text, why_timer.text);
}

static enum rl_status watch(struct run *run, struct rl_child *child, struct rl_error *err)
{
    bool ended = false;
    int number = 0;
    while (!ended) {
        size_t n_fds = 0;
        struct pollfd *fds = run->perf ? perf_fds(run->perf, &n_fds) : NULL;
        RL_TRY(rl_child_wait(child, fds, n_fds, ROUND_MS, &ended, &number, err));
        if (number)
            run->samples.interrupted_by = number;
        if (run->perf) {
            perf_drop_ended(run->perf);
            RL_TRY(perf_drain(run->perf, run->collector, false, err));
        }
        if (run->options->progress)
            run->options->progress(run->options->progress_context,
                                   (double)(now_ns() - run->start_ns) * 1e-9);
    }
    run->samples.elapsed_s = (double)(now_ns() - run->start_ns) * 1e-9;
    return RL_OK;
}

static enum rl_status note_doubts(struct run *run, struct rl_error *err)
{
    struct rl_samples *s = &run->samples;
    uint64_t throttled = run->perf ? perf_throttled(run->perf) : 0;
    if (s->n_lost)
        RL_TRY(add_note(s, err, "%llu samples were lost", (unsigned long long)s->n_lost));
    unsigned refused = run->preload ? preload_refused(run->preload) : 0;
    if (refused)
        RL_TRY(add_note(s, err,
                        "%u %s could not be sampled: the system refused a timer; either none were "
                        "left, and `ulimit -i` allows more, or a sandbox forbids timer_create",
                        refused, refused == 1 ? "thread" : "threads"));
    if (throttled)
        RL_TRY(add_note(s, err, "the kernel held sampling back %llu times",
                        (unsigned long long)throttled));
    if (s->method != RL_SAMPLE_NONE && !s->n_bucket && s->user_s > 0.05) {
        const char *why = s->method == RL_SAMPLE_PERF
                              ? "it may be set-user-ID or not readable by this user"
                              : "it may be statically linked or set-user-ID";
        RL_TRY(add_note(s, err, "the program could not be sampled: %s", why));
    }
    return RL_OK;
}

/* A timer's sample stands for all of the thread's time since the one before. */
static enum rl_status scale(struct run *run, struct rl_error *err)
{
    struct rl_samples *s = &run->samples;
    double factor = s->method == RL_SAMPLE_PERF ? samples_scale(s) : 1;
    double missed = 1 - 1 / factor;
    bool is_explained = s->n_lost || (run->perf && perf_throttled(run->perf));
    if (missed < TELL_SCALE)
        return RL_OK;
    return add_note(s, err,
                    "perf missed %.0f %% of the time in user code%s: times are scaled to the "
                    "%.2f s that the kernel counted",
                    100 * missed,
                    is_explained ? "" : ", as it does where a host takes processors from its guest",
                    s->user_s);
}

static enum rl_status conclude(struct run *run, struct rl_error *err)
{
    struct rl_samples *s = &run->samples;
    uint64_t end_ns = now_ns();
    if (run->perf) {
        RL_TRY(perf_drain(run->perf, run->collector, true, err));
        s->n_lost += perf_lost(run->perf);
    }
    if (run->preload)
        RL_TRY(preload_read(run->preload, s, run->collector, run->start_ns, err));
    /* Only perf tells of ends; what has none yet was still running. */
    for (size_t i = 1; run->perf && i < s->n_process; i++)
        s->children_left |= s->process[i].end_s < 0 && s->process[i].pid != s->process[0].pid;
    struct collector *collector = run->collector;
    run->collector = NULL;
    RL_TRY(collector_finish(collector, end_ns, err));
    RL_TRY(concurrency_of_regions(s, err));
    RL_TRY(scale(run, err));
    return note_doubts(run, err);
}

static enum rl_status run_child(struct run *run, struct rl_child *child, struct rl_error *err)
{
    if (run->samples.method == RL_SAMPLE_PERF)
        RL_TRY(perf_open(child->pid, NULL, 0, run->samples.rate_hz, &run->perf, err));
    RL_TRY(collector_new(&run->samples, NS_PER_S / run->samples.rate_hz, 0, &run->collector, err));
    RL_TRY(collect_process(run->collector, child->pid, (int32_t)getpid(), 0, err));
    run->start_ns = now_ns();
    collector_start(run->collector, run->start_ns);
    RL_TRY(rl_child_release(child, err));
    collector_hold_program(run->collector, child->pid);
    return watch(run, child, err);
}

static enum rl_status start_and_watch(struct run *run, const char *const *argv,
                                      const char *const *envp, struct rl_error *err)
{
    struct rl_child child;
    struct rl_child_end end = {0};
    RL_TRY(rl_child_start(argv, envp, run->options->discard_output, &child, err));
    enum rl_status status = run_child(run, &child, err);
    /* Whatever failed here must not leave the program unwatched: it is ended. */
    enum rl_status finish = rl_child_finish(&child, status == RL_OK ? &end : NULL, err);
    RL_TRY(status);
    RL_TRY(finish);
    run->samples.wait_status = end.wait_status;
    run->samples.user_s = end.user_s;
    run->samples.system_s = end.system_s;
    run->samples.max_rss_bytes = end.max_rss_bytes;
    if (run->samples.method != RL_SAMPLE_TIMER)
        run->samples.written_bytes = end.written_bytes;
    return conclude(run, err);
}

/* The preloaded object and its scratch files. Without a place for these, a program can still be
 * sampled by perf, or at least timed; only timers that were demanded need them. */
static enum rl_status prepare_preload(struct run *run, const char *const *envp,
                                      struct rl_error *err)
{
    struct rl_error why = {0};
    bool timers = run->samples.method == RL_SAMPLE_TIMER;
    if (!timers && !run->options->regions)
        return RL_OK;
    enum rl_status status =
        preload_new(run->options, timers, run->samples.rate_hz, envp, &run->preload, &why);
    if (status == RL_OK)
        return RL_OK;
    if (run->options->method == RL_SAMPLE_TIMER || status == RL_ENOMEM)
        return rl_fail(err, status, "%s", why.text);
    if (timers)
        choose_rate(run, RL_SAMPLE_NONE);
    return add_note(&run->samples, err, "%s: %s", why.text,
                    timers ? "time is known for the program as a whole only"
                           : "regions are not timed");
}

enum rl_status rl_sample_run(const char *const *argv, const char *const *envp,
                             const struct rl_sample_options *options, struct rl_samples *ret,
                             struct rl_error *err)
{
    static const struct rl_sample_options defaults;
    struct run run = {.options = options ? options : &defaults};
    enum rl_status status = choose_method(&run, err);
    if (status == RL_OK)
        status = prepare_preload(&run, envp, err);
    if (status == RL_OK)
        status =
            start_and_watch(&run, argv, run.preload ? preload_environment(run.preload) : envp, err);
    if (status == RL_OK) {
        *ret = run.samples;
        run.samples = (struct rl_samples){0};
    }
    run_release(&run);
    return status;
}

/* Attaching */

/* A thread has a folder in /proc too, and can be counted as if it were a process. */
static enum rl_status refuse_thread(int32_t pid, struct rl_error *err)
{
    char name[64], line[128];
    long leader = pid;
    snprintf(name, sizeof name, "/proc/%d/status", (int)pid);
    FILE *file = fopen(name, "re");
    while (file && fgets(line, sizeof line, file) && sscanf(line, "Tgid: %ld", &leader) != 1)
        ;
    if (file)
        fclose(file);
    return leader == pid
               ? RL_OK
               : rl_fail(err, RL_EINVAL, "%d is a thread of process %ld: name the process",
                         (int)pid, leader);
}

static enum rl_status list_threads(int32_t pid, pid_t **ret_thread, size_t *ret_n,
                                   struct rl_error *err)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *dir = opendir(path);
    if (!dir)
        return rl_fail(err, RL_ESYS, "there is no process %d", (int)pid);
    for (struct dirent *e; (e = readdir(dir));) {
        long tid = strtol(e->d_name, NULL, 10);
        pid_t *slot = tid > 0 ? rl_array_append(ret_thread, ret_n, sizeof **ret_thread) : NULL;
        if (slot)
            *slot = (pid_t)tid;
    }
    closedir(dir);
    return *ret_n ? RL_OK : rl_fail(err, RL_ESYS, "there is no process %d", (int)pid);
}

/* Set by nothing but the caller's SIGINT and SIGTERM, which are read and not delivered. */
static int open_signals(sigset_t *ret_old)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, ret_old);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static bool took_signal(int fd, struct rl_samples *samples)
{
    struct signalfd_siginfo info;
    if (read(fd, &info, sizeof info) != (ssize_t)sizeof info)
        return false;
    samples->interrupted_by = (int)info.ssi_signo;
    return true;
}

/* Readable when the last thread has ended, though its parent may not have asked for its status yet.
 * Kernels before Linux 5.3 have no such thing: -1. */
static int open_process(int32_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

static bool is_running(int32_t pid, int process_fd)
{
    struct pollfd fd = {.fd = process_fd, .events = POLLIN};
    return kill(pid, 0) == 0 && (process_fd < 0 || poll(&fd, 1, 0) == 0);
}

/* Time in which nothing was sampled, and when it is next to be so. */
struct interludes {
    double sum_s, next_s;
    bool over;
};

/* Mappings that were made meanwhile are not in the ring. */
static enum rl_status have_interlude(struct run *run, int32_t pid, double elapsed_s,
                                     struct interludes *interludes, struct rl_error *err)
{
    const struct rl_sample_options *o = run->options;
    if (!o->interlude || interludes->over || elapsed_s < interludes->next_s)
        return RL_OK;
    uint64_t begin_ns = now_ns();
    perf_disable(run->perf);
    interludes->over = !o->interlude(o->progress_context);
    if (kill(pid, 0) == 0) {
        RL_TRY(perf_drain(run->perf, run->collector, false, err));
        RL_TRY(collect_live_maps(run->collector, pid, err));
        RL_TRY(perf_enable(run->perf, err));
    }
    interludes->sum_s += (double)(now_ns() - begin_ns) * 1e-9;
    interludes->next_s = (double)(now_ns() - run->start_ns) * 1e-9 + o->interlude_every_s;
    return RL_OK;
}

static enum rl_status watch_attached(struct run *run, int32_t pid, double duration_s,
                                     struct rl_error *err)
{
    sigset_t old;
    int signal_fd = open_signals(&old);
    int process_fd = open_process(pid);
    struct interludes interludes = {.next_s = run->options->interlude_every_s};
    double elapsed_s = 0;
    enum rl_status status = RL_OK;
    while (status == RL_OK && elapsed_s < duration_s && is_running(pid, process_fd) &&
           !took_signal(signal_fd, &run->samples)) {
        double left_ms = (duration_s - elapsed_s) * 1e3;
        struct pollfd fd[] = {{.fd = signal_fd, .events = POLLIN},
                              {.fd = process_fd, .events = POLLIN}};
        poll(fd, sizeof fd / sizeof *fd, left_ms < ROUND_MS ? (int)left_ms + 1 : ROUND_MS);
        status = perf_drain(run->perf, run->collector, false, err);
        if (status == RL_OK)
            status = have_interlude(run, pid, elapsed_s, &interludes, err);
        elapsed_s = (double)(now_ns() - run->start_ns) * 1e-9;
        if (run->options->progress)
            run->options->progress(run->options->progress_context, elapsed_s);
    }
    run->samples.elapsed_s = elapsed_s - interludes.sum_s;
    if (signal_fd >= 0)
        close(signal_fd);
    if (process_fd >= 0)
        close(process_fd);
    sigprocmask(SIG_SETMASK, &old, NULL);
    return status;
}

static enum rl_status attach(struct run *run, int32_t pid, double duration_s, struct rl_error *err)
{
    pid_t *thread = NULL;
    size_t n_thread = 0;
    enum rl_status status = refuse_thread(pid, err);
    if (status == RL_OK)
        status = list_threads(pid, &thread, &n_thread, err);
    choose_rate(run, RL_SAMPLE_PERF);
    if (status == RL_OK && kill(pid, 0) != 0 && errno == EPERM)
        status = rl_fail(err, RL_EUNAVAIL,
                         "process %d belongs to another user; sample it as that user or as root",
                         (int)pid);
    if (status == RL_OK)
        status = perf_open(pid, thread, n_thread, run->samples.rate_hz, &run->perf, err);
    free(thread);
    RL_TRY(status);
    RL_TRY(collector_new(&run->samples, NS_PER_S / run->samples.rate_hz, 0, &run->collector, err));
    run->start_ns = now_ns();
    collector_start(run->collector, run->start_ns);
    RL_TRY(collect_process(run->collector, pid, 0, 0, err));
    RL_TRY(collect_exec(run->collector, pid, 0, "process", err));
    RL_TRY(collect_live_maps(run->collector, pid, err));
    RL_TRY(perf_enable(run->perf, err));
    RL_TRY(watch_attached(run, pid, duration_s, err));
    return conclude(run, err);
}

enum rl_status rl_sample_attach(int32_t pid, double duration_s,
                                const struct rl_sample_options *options, struct rl_samples *ret,
                                struct rl_error *err)
{
    static const struct rl_sample_options defaults;
    struct run run = {.options = options ? options : &defaults};
    if (duration_s <= 0)
        return rl_fail(err, RL_EINVAL, "a duration of %g s", duration_s);
    enum rl_status status = attach(&run, pid, duration_s, err);
    if (status == RL_OK) {
        *ret = run.samples;
        run.samples = (struct rl_samples){0};
    }
    run_release(&run);
    return status;
}
