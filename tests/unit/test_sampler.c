/* The sampler against programs that time themselves. Shares, never absolute times, are asserted. */
#include "sample/cost.h"
#include "sample/sample.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SHARES  BINARY_DIR "/tests/programs/shares"
#define PRELOAD BINARY_DIR "/src/sample/librooflinesample.so"
/* A share may miss the truth by this, beside so many standard deviations of sampling itself. */
#define BIAS       0.01
#define DEVIATIONS 4
/* Half a second at the least rate there is has twice as many. */
#define LEAST_SAMPLES 60
/* A program that gets less than this of one CPU cannot be looked at when it would be time. */
#define LEAST_CPUS 0.6
/* The kernel runs the clocks of CPU time at the processor's own pace, and sets that of the wall
 * right by no more than this part. */
#define CLOCKS_APART 1e-3

extern char **environ;

static struct rl_samples sample_so(const char *const *argv, const struct rl_sample_options *how)
{
    struct rl_samples samples = {0};
    struct rl_error err = {0};
    if (rl_sample_run(argv, (const char *const *)environ, how, &samples, &err) != RL_OK)
        fail_msg("%s", err.text);
    return samples;
}

static struct rl_samples sample(const char *const *argv, enum rl_sample_method method, bool regions)
{
    struct rl_sample_options how = {.method = method, .preload = PRELOAD, .regions = regions};
    return sample_so(argv, &how);
}

static void skip_without(enum rl_sample_method method)
{
    struct rl_error err = {0};
    if (rl_sample_probe(method, PRELOAD, &err) != RL_OK) {
        print_message("skipped: %s\n", err.text);
        skip();
    }
}

#define N_FUNCTIONS 3

struct truth {
    char name[N_FUNCTIONS][16];
    uint64_t start[N_FUNCTIONS], end[N_FUNCTIONS];
    double cpu_s[N_FUNCTIONS], wall_s[N_FUNCTIONS], total_s;
    unsigned n_processes;
};

static struct truth read_truth(const char *path)
{
    struct truth truth = {0};
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    char name[16];
    uint64_t start, end;
    double cpu_s, wall_s;
    for (unsigned n = 0; fscanf(file, "%15s %" SCNu64 " %" SCNu64 " %lf %lf", name, &start, &end,
                                &cpu_s, &wall_s) == 5;
         n++) {
        unsigned i = n % N_FUNCTIONS;
        memcpy(truth.name[i], name, sizeof name);
        truth.start[i] = start;
        truth.end[i] = end;
        truth.cpu_s[i] += cpu_s;
        truth.wall_s[i] += wall_s;
        truth.total_s += cpu_s;
        truth.n_processes = n / N_FUNCTIONS + 1;
    }
    fclose(file);
    unlink(path);
    return truth;
}

/* The groups of the three functions. */
static void group(const struct rl_samples *s, const struct truth *truth,
                  struct rl_sample_time time[N_FUNCTIONS])
{
    struct rl_error err = {0};
    uint32_t *groups = calloc(s->n_bucket + 1, sizeof *groups);
    assert_non_null(groups);
    for (size_t i = 0; i < s->n_bucket; i++) {
        groups[i] = RL_SAMPLE_NO_GROUP;
        const char *path = s->module[s->bucket[i].module].path;
        for (uint32_t k = 0; k < N_FUNCTIONS; k++) {
            if (strstr(path, "/shares") && s->bucket[i].offset >= truth->start[k] &&
                s->bucket[i].offset < truth->end[k])
                groups[i] = k;
        }
    }
    if (rl_samples_group(s, groups, N_FUNCTIONS, time, &err) != RL_OK)
        fail_msg("%s", err.text);
    free(groups);
}

/* How many samples of like weight would tell as much: on a busy machine weights are very unlike,
 * for what a thread does between two of its turns on a CPU may all be one sample's. */
static double like_samples(const struct rl_samples *s)
{
    double sum = 0;
    double squares = 0;
    for (size_t i = 0; i < s->n_point; i++) {
        sum += s->point[i].ticks;
        squares += (double)s->point[i].ticks * s->point[i].ticks;
    }
    return squares > 0 ? sum * sum / squares : 1;
}

/* The samples are released where nothing can be told. */
static void skip_where_busy(struct rl_samples *s, double cpu_s)
{
    if (cpu_s >= LEAST_CPUS * s->elapsed_s)
        return;
    print_message("skipped: the machine is so busy that the program had %.2f CPUs\n",
                  cpu_s / s->elapsed_s);
    rl_samples_release(s);
    skip();
}

static void assert_shares(struct rl_samples *s, const struct truth *truth)
{
    struct rl_sample_time time[N_FUNCTIONS];
    group(s, truth, time);
    skip_where_busy(s, truth->total_s);
    uint64_t n_samples = time[0].n_samples + time[1].n_samples + time[2].n_samples;
    assert_true(n_samples > LEAST_SAMPLES);
    for (int i = 0; i < N_FUNCTIONS; i++) {
        double is = time[i].cpu_s / s->sampled_s;
        double should = truth->cpu_s[i] / truth->total_s;
        print_message("%s: %.4f, truth %.4f, threads %.2f\n", truth->name[i], is, should,
                      time[i].threads);
        double deviation = sqrt(should * (1 - should) / like_samples(s));
        if (fabs(is - should) > BIAS + DEVIATIONS * deviation)
            fail_msg("%s: share %.4f, truth %.4f", truth->name[i], is, should);
    }
}

struct run {
    struct rl_samples samples;
    struct truth truth;
};

static struct run run_shares_so(const struct rl_sample_options *how, const char *a, const char *b)
{
    char out[] = "/tmp/roofline-test-XXXXXX";
    int fd = mkstemp(out);
    assert_true(fd >= 0);
    close(fd);
    const char *argv[] = {SHARES, out, a, b, NULL};
    struct run run = {.samples = sample_so(argv, how)};
    assert_true(WIFEXITED(run.samples.wait_status));
    assert_int_equal(WEXITSTATUS(run.samples.wait_status), 0);
    run.truth = read_truth(out);
    return run;
}

static struct run run_shares(enum rl_sample_method method, bool regions, const char *a,
                             const char *b)
{
    struct rl_sample_options how = {.method = method, .preload = PRELOAD, .regions = regions};
    return run_shares_so(&how, a, b);
}

static const enum rl_sample_method methods[] = {RL_SAMPLE_PERF, RL_SAMPLE_TIMER};

static enum rl_sample_method method_of(void **state)
{
    return *(const enum rl_sample_method *)*state;
}

static void shares_of_one_thread_are_true(void **state)
{
    skip_without(method_of(state));
    struct run run = run_shares(method_of(state), false, NULL, NULL);
    assert_int_equal(run.samples.method, method_of(state));
    assert_shares(&run.samples, &run.truth);
    assert_int_equal(run.samples.n_process, 1);
    assert_true(run.samples.sampled_s > 0.9 * run.truth.total_s);
    assert_true(run.samples.sampled_s < 1.1 * run.truth.total_s);
    rl_samples_release(&run.samples);
}

/* Turns begin every second period of sampling by the same clock: at unchanging intervals samples
 * would fall on the same two places of each. With intervals that change 5 times a second a share
 * varies three times as much as by independent samples; with too few turns by itself it is right.
 */
static void a_program_in_step_with_the_samples_has_true_shares(void **state)
{
    (void)state;
    enum { RATE_HZ = 2000 };
    struct rl_sample_options how = {
        .method = method_of(state), .preload = PRELOAD, .rate_hz = RATE_HZ};
    struct rl_sample_time time[N_FUNCTIONS];
    skip_without(how.method);
    struct run run = run_shares_so(&how, "-m2500", "-g1000");
    group(&run.samples, &run.truth, time);
    /* On a busy machine it is in step with nothing. What it waits is no function's time. */
    skip_where_busy(&run.samples, run.samples.sampled_s);
    double all_s = time[0].cpu_s + time[1].cpu_s + time[2].cpu_s;
    uint64_t n = time[0].n_samples + time[1].n_samples + time[2].n_samples;
    assert_true(n > 100);
    double like = like_samples(&run.samples) * (double)n / (double)run.samples.n_point;
    for (int i = 0; i < N_FUNCTIONS; i++) {
        double is = time[i].cpu_s / all_s;
        double should = run.truth.cpu_s[i] / run.truth.total_s;
        print_message("%s: %.4f, truth %.4f\n", run.truth.name[i], is, should);
        if (fabs(is - should) > BIAS + 9 * sqrt(should * (1 - should) / like))
            fail_msg("%s: share %.4f, truth %.4f", run.truth.name[i], is, should);
    }
    rl_samples_release(&run.samples);
}

static void what_a_sample_costs_is_measured(void **state)
{
    skip_without(method_of(state));
    struct run run = run_shares(method_of(state), false, NULL, NULL);
    if (run.samples.sample_cost_s <= 0) /* it had no CPU while it watched itself, or it is wrong */
        skip_where_busy(&run.samples, run.truth.total_s);
    assert_true(run.samples.sample_cost_s > 0);
    rl_samples_release(&run.samples);
}

/* As long as no rate is demanded. */
static void samples_take_little_of_the_time(void **state)
{
    skip_without(method_of(state));
    struct run run = run_shares(method_of(state), false, NULL, NULL);
    uint64_t n = 0;
    for (size_t i = 0; i < run.samples.n_bucket; i++)
        n += run.samples.bucket[i].n_samples;
    /* Periods are drawn from three quarters of the mean on, and a short run has few of them. */
    const double least_period = 0.7;
    if (run.samples.rate_hz > cost_rate_hz(1)) /* else even the least takes too much */
        assert_true(least_period * (double)n * run.samples.sample_cost_s <
                    COST_PART * run.samples.sampled_s);
    rl_samples_release(&run.samples);
}

static void shares_of_four_threads_are_true(void **state)
{
    skip_without(method_of(state));
    struct run run = run_shares(method_of(state), false, "-t", "4");
    assert_shares(&run.samples, &run.truth);
    /* Whatever the period of each: clocks of threads that take turns are swapped by the kernel. */
    print_message("sampled %.3f of %.3f s\n", run.samples.sampled_s, run.truth.total_s);
    assert_true(run.samples.sampled_s > 0.9 * run.truth.total_s);
    assert_true(run.samples.sampled_s < 1.1 * run.truth.total_s);
    unsigned busy = 0;
    for (size_t i = 0; i < run.samples.n_thread; i++)
        busy += run.samples.thread[i].cpu_s > 0.1 * run.samples.sampled_s;
    assert_int_equal(busy, 4);
    rl_samples_release(&run.samples);
}

/* Where it waits, and when it is woken, are always the same places of its code. */
static void shares_of_a_thread_that_sleeps_are_true(void **state)
{
    skip_without(method_of(state));
    struct run run = run_shares(method_of(state), false, "-m1000", "-w100");
    assert_shares(&run.samples, &run.truth);
    rl_samples_release(&run.samples);
}

static void children_are_followed(void **state)
{
    skip_without(method_of(state));
    struct run run = run_shares(method_of(state), false, "-f", "3");
    assert_int_equal(run.truth.n_processes, 4);
    assert_int_equal(run.samples.n_process, 4);
    assert_shares(&run.samples, &run.truth);
    for (size_t i = 1; i < run.samples.n_process; i++) {
        assert_int_equal(run.samples.process[i].parent_pid, run.samples.process[0].pid);
        assert_non_null(strstr(run.samples.process[i].command, "shares"));
    }
    rl_samples_release(&run.samples);
}

static void an_exec_starts_a_new_image(void **state)
{
    skip_without(method_of(state));
    struct run run = run_shares(method_of(state), false, "-e", NULL);
    assert_int_equal(run.samples.n_process, 2);
    assert_int_equal(run.samples.process[0].pid, run.samples.process[1].pid);
    assert_true(run.samples.process[1].was_execed);
    assert_shares(&run.samples, &run.truth);
    rl_samples_release(&run.samples);
}

static void modules_are_identified(void **state)
{
    skip_without(method_of(state));
    struct run run = run_shares(method_of(state), false, "-m", "100");
    bool found = false;
    for (size_t i = 0; i < run.samples.n_module; i++) {
        const struct rl_sample_module *m = &run.samples.module[i];
        if (m->kind == RL_SAMPLE_FILE && !strcmp(m->path, SHARES)) {
            found = true;
            assert_true(m->n_build_id > 0);
            assert_true(m->inode && m->size_bytes && m->mtime_ns);
        }
    }
    assert_true(found);
    rl_samples_release(&run.samples);
}

static void regions_are_timed(void **state)
{
    skip_without(method_of(state));
    struct run run = run_shares(method_of(state), true, "-r", NULL);
    double total_s = 0;
    double time_s[N_FUNCTIONS] = {0};
    for (size_t i = 0; i < run.samples.n_region; i++) {
        const struct rl_sample_region *region = &run.samples.region[i];
        for (int k = 0; k < N_FUNCTIONS; k++)
            time_s[k] += strcmp(region->name, run.truth.name[k]) ? 0 : region->time_s;
        assert_true(region->calls > 1);
        assert_int_equal(region->unended, 0);
        total_s += region->time_s;
    }
    assert_int_equal(run.samples.n_region, N_FUNCTIONS);
    assert_int_equal(run.samples.n_region_wall, N_FUNCTIONS);
    /* Between what the program's own clocks say: the CPU's inside, the wall's around it. */
    for (int k = 0; k < N_FUNCTIONS; k++) {
        print_message("%s: %.6f s, CPU %.6f s, wall %.6f s\n", run.truth.name[k], time_s[k],
                      run.truth.cpu_s[k], run.truth.wall_s[k]);
        assert_true(time_s[k] >= (1 - CLOCKS_APART) * run.truth.cpu_s[k]);
        assert_true(time_s[k] <= run.truth.wall_s[k]);
    }
    assert_true(total_s <= run.samples.elapsed_s);
    rl_samples_release(&run.samples);
}

static void the_status_is_the_programs_own(void **state)
{
    skip_without(method_of(state));
    const char *exits[] = {"/bin/sh", "-c", "exit 3", NULL};
    struct rl_samples s = sample(exits, method_of(state), false);
    assert_true(WIFEXITED(s.wait_status) && WEXITSTATUS(s.wait_status) == 3);
    rl_samples_release(&s);
    const char *dies[] = {"/bin/sh", "-c", "kill -SEGV $$", NULL};
    s = sample(dies, method_of(state), false);
    assert_true(WIFSIGNALED(s.wait_status) && WTERMSIG(s.wait_status) == SIGSEGV);
    rl_samples_release(&s);
}

static void a_short_program_is_fine(void **state)
{
    skip_without(method_of(state));
    const char *argv[] = {"true", NULL};
    struct rl_samples s = sample(argv, method_of(state), true);
    assert_int_equal(s.wait_status, 0);
    assert_true(s.elapsed_s > 0);
    rl_samples_release(&s);
}

static void sleep_is_not_cut_short(void **state)
{
    skip_without(method_of(state));
    const char *argv[] = {"sleep", "0.3", NULL};
    struct rl_samples s = sample(argv, method_of(state), false);
    assert_int_equal(s.wait_status, 0);
    assert_true(s.elapsed_s >= 0.3);
    rl_samples_release(&s);
}

/* Let perf_event_open fail as a container's seccomp profile does, in this process and its children.
 */
static bool refuse_perf(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* Runs `auto` where perf is refused; 0: as it should be, 77: no seccomp, else what failed. */
static int run_without_perf(const char *preload, const char *scratch_dir,
                            enum rl_sample_method expected)
{
    struct rl_samples s = {0};
    struct rl_error err = {0};
    const char *argv[] = {SHARES, "/dev/null", "-m", "200", NULL};
    struct rl_sample_options o = {.preload = preload, .scratch_dir = scratch_dir, .regions = true};
    if (!refuse_perf())
        return 77;
    if (rl_sample_run(argv, (const char *const *)environ, &o, &s, &err) != RL_OK)
        return 1;
    bool said = s.n_note && strstr(s.note[0], "refused");
    int result = s.method != expected ? 2 : !said ? 3 : s.wait_status ? 4 : 0;
    if (expected == RL_SAMPLE_TIMER && s.sampled_s < 0.1)
        result = 5;
    rl_samples_release(&s);
    struct rl_error why = {0};
    o.method = RL_SAMPLE_PERF;
    if (rl_sample_run(argv, (const char *const *)environ, &o, &s, &why) != RL_EUNAVAIL)
        result = 6;
    return result;
}

static void expect_without_perf(const char *preload, const char *scratch_dir,
                                enum rl_sample_method expected)
{
    int status;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(run_without_perf(preload, scratch_dir, expected));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        skip();
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void refused_perf_falls_back_and_says_so(void **state)
{
    (void)state;
    expect_without_perf(PRELOAD, NULL, RL_SAMPLE_TIMER);
    expect_without_perf(NULL, NULL, RL_SAMPLE_NONE);
    expect_without_perf(PRELOAD, "/no/such/folder", RL_SAMPLE_NONE);
}

/* A child that does some work, which ends with it. */
static pid_t begin(void (*work)(const void *argument), const void *argument)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        work(argument);
        _exit(0);
    }
    return pid;
}

/* Sample a child for a while, then end it. */
static struct rl_samples attach(pid_t pid, double duration_s, const struct rl_sample_options *how)
{
    struct rl_samples s = {0};
    struct rl_error err = {0};
    enum rl_status status = rl_sample_attach(pid, duration_s, how, &s, &err);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    if (status != RL_OK)
        fail_msg("%s", err.text);
    return s;
}

static void become(const void *argv)
{
    execv(SHARES, (char *const *)argv);
    _exit(1);
}

static void a_running_process_is_sampled(void **state)
{
    (void)state;
    skip_without(RL_SAMPLE_PERF);
    static const char *const argv[] = {SHARES, "-t", "2", "-m", "3000", "/dev/null", NULL};
    pid_t pid = begin(become, argv);
    usleep(50000);
    struct rl_samples s = attach(pid, 1, NULL);
    double own_s = 0;
    for (size_t i = 0; i < s.n_bucket; i++)
        own_s += strstr(s.module[s.bucket[i].module].path, "/shares") ? s.bucket[i].cpu_s : 0;
    assert_true(s.n_thread >= 2);
    assert_true(own_s > 0.9 * s.sampled_s && own_s > 0);
    assert_string_equal(s.process[0].command, SHARES);
    rl_samples_release(&s);
    assert_int_equal(rl_sample_attach(999999999, 1, NULL, &s, NULL), RL_ESYS);
}

static void end_soon(const void *nothing)
{
    (void)nothing;
    usleep(300000);
}

/* Its parent, this process, asks for its status only afterwards. */
static void a_process_has_ended_when_nobody_asked_how(void **state)
{
    (void)state;
    skip_without(RL_SAMPLE_PERF);
    struct rl_samples s = attach(begin(end_soon, NULL), 60, NULL);
    assert_true(s.elapsed_s < 30);
    rl_samples_release(&s);
}

static void *work_for_ever(void *nothing)
{
    for (;;)
        getppid();
    return nothing;
}

static void leave_a_thread(const void *nothing)
{
    pthread_t thread;
    (void)nothing;
    if (pthread_create(&thread, NULL, work_for_ever, NULL) != 0)
        _exit(1);
    pthread_exit(NULL);
}

static void a_process_without_its_main_thread_is_sampled(void **state)
{
    (void)state;
    skip_without(RL_SAMPLE_PERF);
    bool found = false;
    pid_t pid = begin(leave_a_thread, NULL);
    usleep(50000);
    struct rl_samples s = attach(pid, 1, NULL);
    for (size_t i = 0; i < s.n_bucket; i++)
        found |= s.module[s.bucket[i].module].kind == RL_SAMPLE_FILE;
    assert_true(found);
    assert_non_null(strstr(s.process[0].command, "test_sampler"));
    rl_samples_release(&s);
}

static void *stay(void *lock)
{
    pthread_mutex_lock(lock);
    pthread_mutex_unlock(lock);
    return NULL;
}

static int32_t another_thread(void)
{
    int32_t found = 0;
    DIR *dir = opendir("/proc/self/task");
    assert_non_null(dir);
    for (struct dirent *e; (e = readdir(dir));) {
        long tid = strtol(e->d_name, NULL, 10);
        found = tid > 0 && tid != getpid() ? (int32_t)tid : found;
    }
    closedir(dir);
    return found;
}

static void a_thread_is_no_process(void **state)
{
    (void)state;
    skip_without(RL_SAMPLE_PERF);
    struct rl_samples s = {0};
    struct rl_error err = {0};
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_t thread;
    char wanted[96];
    pthread_mutex_lock(&lock);
    assert_int_equal(pthread_create(&thread, NULL, stay, &lock), 0);
    int32_t tid = another_thread();
    enum rl_status status = rl_sample_attach(tid, 0.1, NULL, &s, &err);
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
    assert_int_equal(status, RL_EINVAL);
    snprintf(wanted, sizeof wanted, "%d is a thread of process %d: name the process", (int)tid,
             (int)getpid());
    assert_string_equal(err.text, wanted);
}

enum { INTERLUDES = 2, INTERLUDE_US = 150000 };

static bool interlude(void *context)
{
    usleep(INTERLUDE_US);
    return ++*(int *)context < INTERLUDES;
}

static double monotonic_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void call_for_ever(const void *nothing)
{
    (void)nothing;
    work_for_ever(NULL);
}

static void the_time_of_interludes_is_in_no_result(void **state)
{
    (void)state;
    skip_without(RL_SAMPLE_PERF);
    int n = 0;
    struct rl_sample_options how = {.method = RL_SAMPLE_PERF,
                                    .interlude = interlude,
                                    .interlude_every_s = 0.1,
                                    .progress_context = &n};
    pid_t pid = begin(call_for_ever, NULL);
    double begin_s = monotonic_s();
    struct rl_samples s = attach(pid, 1.2, &how);
    double spent_s = monotonic_s() - begin_s;
    assert_in_range(n, 1, INTERLUDES); /* it said that the second was the last; a busy machine may
                                          find time for one only */
    assert_true(s.elapsed_s > 0);
    assert_true(s.elapsed_s <= spent_s - n * INTERLUDE_US * 1e-6);
    assert_true(s.sampled_s <= 1.01 * s.elapsed_s);
    rl_samples_release(&s);
}

static void expect_refusal(const char *program, const char *why)
{
    const char *argv[] = {program, NULL};
    struct rl_samples s = {0};
    struct rl_error err = {0};
    enum rl_status status = rl_sample_run(argv, (const char *const *)environ, NULL, &s, &err);
    assert_int_equal(status, RL_ESYS);
    if (!strstr(err.text, why))
        fail_msg("'%s' does not say '%s'", err.text, why);
}

static void what_cannot_run_is_named(void **state)
{
    (void)state;
    expect_refusal("/no/such/program", "no such program");
    expect_refusal("no-such-program-in-path", "no such program");
    expect_refusal("/etc/passwd", "not executable");
    expect_refusal("/tmp", "directory");
    char elf[] = "/tmp/roofline-test-XXXXXX";
    int fd = mkstemp(elf);
    assert_true(fd >= 0 && write(fd, "\177ELF\2\1\1 of no machine at all", 25) == 25);
    fchmod(fd, 0755);
    close(fd);
    expect_refusal(elf, "not a program this machine can run");
    unlink(elf);
}

#define BOTH(test)                                                                                 \
    {#test " (perf)", test, NULL, NULL, (void *)&methods[0]},                                      \
    {                                                                                              \
#test " (timer)", test, NULL, NULL, (void *)&methods[1]                                    \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(shares_of_one_thread_are_true),
        BOTH(a_program_in_step_with_the_samples_has_true_shares),
        BOTH(what_a_sample_costs_is_measured),
        BOTH(samples_take_little_of_the_time),
        BOTH(shares_of_four_threads_are_true),
        BOTH(shares_of_a_thread_that_sleeps_are_true),
        BOTH(children_are_followed),
        BOTH(an_exec_starts_a_new_image),
        BOTH(modules_are_identified),
        BOTH(regions_are_timed),
        BOTH(the_status_is_the_programs_own),
        BOTH(a_short_program_is_fine),
        BOTH(sleep_is_not_cut_short),
        cmocka_unit_test(refused_perf_falls_back_and_says_so),
        cmocka_unit_test(a_running_process_is_sampled),
        cmocka_unit_test(a_process_without_its_main_thread_is_sampled),
        cmocka_unit_test(a_process_has_ended_when_nobody_asked_how),
        cmocka_unit_test(a_thread_is_no_process),
        cmocka_unit_test(the_time_of_interludes_is_in_no_result),
        cmocka_unit_test(what_cannot_run_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
