#include "sample/perf.h"
#include "base/array.h"
#include "base/error.h"
#include "sample/now.h"
#include "sample/ring.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Half a MiB of data and the head page are what an unprivileged user may lock for each CPU. */
#define RING_BYTES_MOST  ((size_t)512 << 10)
#define RING_BYTES_LEAST ((size_t)32 << 10)
/* Changing the period interrupts the program once an event: not sooner than so long for each so
 * many. Of few events it changes with every round of reading, which are rarer. */
#define CHANGE_NS     100000000u
#define CHANGE_EVENTS 64

struct perf {
    struct pollfd *fd; /**< [n_fd] one an event; those with a ring come first */
    size_t n_fd;
    struct ring *ring; /**< [n_ring] one a CPU */
    size_t n_ring;
    size_t ring_bytes;
    uint8_t *scratch;
    struct event_list list;
    uint64_t round_ns; /**< when the last round of reading began */
    struct rlimit old_limit;
    bool limit_raised;
    uint64_t change_ns; /**< when the period is to change */
};

/* Rings are read in rounds, and hold the samples of several: a wake-up takes the program's CPU.
 * There is one when a ring is half full, however large it could be made. */
static struct perf_event_attr make_attr(uint64_t period_ns, bool on_exec)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof attr,
        .config = PERF_COUNT_SW_CPU_CLOCK,
        .sample_period = period_ns,
        .sample_type = RING_SAMPLE_TYPE,
        .disabled = 1,
        .inherit = 1,
        .exclude_kernel = 1,
        .exclude_hv = 1,
        .mmap = 1,
        .mmap2 = 1,
        .comm = 1,
        .comm_exec = 1,
        .task = 1,
        .sample_id_all = 1,
        .enable_on_exec = on_exec,
        .use_clockid = 1,
        .clockid = CLOCK_MONOTONIC,
        .watermark = 1,
        .wakeup_watermark = 0, /* half of the ring */
    };
    return attr;
}

static int open_event(struct perf_event_attr *attr, pid_t pid, int cpu)
{
    return (int)syscall(SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

/* A number behind a word at the beginning of a line of a file, or of the file for an empty word. */
static bool find_number(const char *path, const char *word, int *ret)
{
    char line[256];
    bool found = false;
    FILE *file = fopen(path, "re");
    while (file && !found && fgets(line, sizeof line, file))
        found = !strncmp(line, word, strlen(word)) && sscanf(line + strlen(word), "%d", ret) == 1;
    if (file)
        fclose(file);
    return found;
}

/* A filter of system calls answers before anything else is looked at, and never with EACCES, which
 * is the kernel's own word for its paranoid level, for a security module's veto and for a process
 * that is not to be looked at. */
enum rl_status perf_refused(const struct perf_refusal *why, struct rl_error *err)
{
    const char *error = strerror(why->error);
    bool is_veto = why->error == EACCES || why->error == EPERM;
    bool is_strict = why->has_paranoid && why->paranoid > 2;
    if (why->error == EPERM && why->is_filtered)
        return rl_fail(err, RL_EUNAVAIL,
                       "sampling by perf_event is refused (%s) by a seccomp filter, probably a "
                       "container's; a profile that allows perf_event_open enables it%s",
                       error,
                       is_strict ? ", with kernel.perf_event_paranoid at 2 or less as well" : "");
    if (is_veto && is_strict)
        return rl_fail(err, RL_EUNAVAIL,
                       "sampling by perf_event is refused: kernel.perf_event_paranoid is %d; "
                       "`sysctl kernel.perf_event_paranoid=2` enables it",
                       why->paranoid);
    if (why->error == EACCES && why->is_foreign)
        return rl_fail(err, RL_EUNAVAIL,
                       "sampling by perf_event is refused (%s): the process is another user's, or "
                       "protects itself; as that user, or as root, it may be permitted",
                       error);
    if (is_veto)
        return rl_fail(err, RL_EUNAVAIL,
                       "sampling by perf_event is refused (%s), probably by a security module such "
                       "as SELinux; its policy must permit perf_event for this user",
                       error);
    if (why->error == ENOSYS || why->error == ENOENT || why->error == EOPNOTSUPP)
        return rl_fail(err, RL_EUNAVAIL, "this kernel offers no software clock event (%s)", error);
    return rl_fail(err, RL_EUNAVAIL, "perf_event_open: %s", error);
}

static enum rl_status fail_open(struct rl_error *err, int error, bool is_foreign)
{
    struct perf_refusal why = {.error = error, .is_foreign = is_foreign};
    int mode = 0;
    why.has_paranoid = find_number("/proc/sys/kernel/perf_event_paranoid", "", &why.paranoid);
    why.is_filtered = find_number("/proc/self/status", "Seccomp:", &mode) && mode;
    return perf_refused(&why, err);
}

enum rl_status perf_probe(struct rl_error *err)
{
    struct perf_event_attr attr = make_attr(NS_PER_S, false);
    int fd = open_event(&attr, 0, -1);
    if (fd < 0)
        return fail_open(err, errno, false);
    close(fd);
    return RL_OK;
}

/* One event a thread and CPU may need more descriptors than a shell grants; the program was forked
 * before and keeps its own limit. */
static bool raise_limit(struct perf *perf)
{
    struct rlimit limit;
    if (perf->limit_raised || getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return false;
    perf->old_limit = limit;
    limit.rlim_cur = limit.rlim_max;
    perf->limit_raised = setrlimit(RLIMIT_NOFILE, &limit) == 0;
    return perf->limit_raised;
}

static enum rl_status map_ring(struct perf *perf, int fd, struct rl_error *err)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *base = MAP_FAILED;
    for (; perf->ring_bytes >= RING_BYTES_LEAST; perf->ring_bytes /= 2) {
        base = mmap(NULL, page + perf->ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (base != MAP_FAILED || (errno != EPERM && errno != ENOMEM))
            break;
    }
    if (base == MAP_FAILED)
        return rl_fail(err, RL_EUNAVAIL,
                       "no memory may be locked for samples (%s); raise `ulimit -l` or "
                       "kernel.perf_event_mlock_kb",
                       strerror(errno));
    struct ring *ring = rl_array_append(&perf->ring, &perf->n_ring, sizeof *ring);
    if (!ring) {
        munmap(base, page + perf->ring_bytes);
        return rl_fail(err, RL_ENOMEM, "out of memory for samples");
    }
    *ring = (struct ring){base, perf->ring_bytes};
    return RL_OK;
}

/* All events of one CPU write to the ring of the first, `*ring_fd`, which is -1 until it is open.
 * A CPU that is absent or a thread that is gone is passed over. */
static enum rl_status open_one(struct perf *perf, struct perf_event_attr *attr, pid_t tid, int cpu,
                               int *ring_fd, struct rl_error *err)
{
    bool is_running = !attr->enable_on_exec;
    int fd = open_event(attr, tid, cpu);
    if (fd < 0 && (errno == EMFILE) && raise_limit(perf))
        fd = open_event(attr, tid, cpu);
    if (fd < 0)
        return errno == ENODEV || errno == ESRCH || (errno == EINVAL && perf->n_ring)
                   ? RL_OK
                   : fail_open(err, errno, is_running);
    struct pollfd *slot = rl_array_append(&perf->fd, &perf->n_fd, sizeof *slot);
    if (!slot) {
        close(fd);
        return rl_fail(err, RL_ENOMEM, "out of memory for samples");
    }
    *slot = (struct pollfd){.fd = fd, .events = POLLIN};
    uint64_t number;
    if (ioctl(fd, PERF_EVENT_IOC_ID, &number) != 0)
        return rl_fail_errno(err, "cannot ask for the number of an event");
    if (!period_open(&perf->list.periods, number))
        return rl_fail(err, RL_ENOMEM, "out of memory for samples");
    if (*ring_fd < 0) {
        *ring_fd = fd;
        return map_ring(perf, fd, err);
    }
    if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, *ring_fd) != 0)
        return rl_fail_errno(err, "cannot share a ring buffer");
    return RL_OK;
}

static enum rl_status open_all(struct perf *perf, const pid_t *thread, size_t n_thread,
                               struct perf_event_attr *attr, struct rl_error *err)
{
    long n_cpu = sysconf(_SC_NPROCESSORS_CONF);
    for (int cpu = 0; cpu < n_cpu; cpu++) {
        int ring_fd = -1;
        for (size_t i = 0; i < n_thread; i++)
            RL_TRY(open_one(perf, attr, thread[i], cpu, &ring_fd, err));
    }
    if (!perf->n_ring)
        return rl_fail(err, RL_EUNAVAIL, "no CPU to sample on");
    perf->scratch = malloc(RING_BYTES_MOST);
    return perf->scratch ? RL_OK : rl_fail(err, RL_ENOMEM, "out of memory for samples");
}

enum rl_status perf_open(pid_t pid, const pid_t *threads, size_t n_thread, unsigned rate_hz,
                         struct perf **ret, struct rl_error *err)
{
    struct perf *perf = calloc(1, sizeof *perf);
    if (!perf)
        return rl_fail(err, RL_ENOMEM, "out of memory for samples");
    perf->ring_bytes = RING_BYTES_MOST;
    struct periods *periods = &perf->list.periods;
    periods->nominal_ns = NS_PER_S / rate_hz;
    periods->random = now_ns() | 1;
    struct perf_event_attr attr = make_attr(period_draw(periods), !threads);
    if (!period_change(periods, 0, attr.sample_period)) {
        perf_free(perf);
        return rl_fail(err, RL_ENOMEM, "out of memory for samples");
    }
    enum rl_status status = threads ? open_all(perf, threads, n_thread, &attr, err)
                                    : open_all(perf, &pid, 1, &attr, err);
    if (status != RL_OK) {
        perf_free(perf);
        return status;
    }
    *ret = perf;
    return RL_OK;
}

enum rl_status perf_enable(struct perf *perf, struct rl_error *err)
{
    for (size_t i = 0; i < perf->n_fd; i++) {
        if (ioctl(perf->fd[i].fd, PERF_EVENT_IOC_ENABLE, 0) != 0)
            return rl_fail_errno(err, "cannot start sampling");
    }
    return RL_OK;
}

void perf_disable(struct perf *perf)
{
    for (size_t i = 0; i < perf->n_fd; i++)
        ioctl(perf->fd[i].fd, PERF_EVENT_IOC_DISABLE, 0);
}

struct pollfd *perf_fds(struct perf *perf, size_t *ret_n)
{
    *ret_n = perf->n_fd;
    return perf->fd;
}

/* An event that counts starts anew with its new period; what had gone by of the old one is lost,
 * half of it on average. */
static bool change_period(struct perf *perf)
{
    uint64_t period_ns = period_draw(&perf->list.periods);
    for (size_t i = 0; i < perf->n_fd; i++)
        ioctl(perf->fd[i].fd, PERF_EVENT_IOC_PERIOD, &period_ns);
    uint64_t time_ns = now_ns();
    perf->change_ns = time_ns + CHANGE_NS * (1 + perf->n_fd / CHANGE_EVENTS);
    return period_change(&perf->list.periods, time_ns, period_ns);
}

/* Records of different CPUs arrive out of order, but whatever a round leaves behind is younger than
 * that round's beginning. So events up to the beginning of the previous round are complete. */
enum rl_status perf_drain(struct perf *perf, struct collector *collector, bool is_last,
                          struct rl_error *err)
{
    struct event_list *list = &perf->list;
    uint64_t complete_ns = is_last ? UINT64_MAX : perf->round_ns;
    perf->round_ns = now_ns();
    if (!is_last && perf->round_ns >= perf->change_ns && !change_period(perf))
        return rl_fail(err, RL_ENOMEM, "out of memory for samples");
    for (size_t i = 0; i < perf->n_ring; i++)
        RL_TRY(ring_drain(&perf->ring[i], perf->scratch, list, err));
    return event_hand_on(list, collector, complete_ns, err);
}

uint64_t perf_lost(const struct perf *perf)
{
    return perf->list.n_lost;
}

uint64_t perf_throttled(const struct perf *perf)
{
    return perf->list.n_throttled;
}

void perf_drop_ended(struct perf *perf)
{
    for (size_t i = 0; i < perf->n_fd; i++) {
        if (perf->fd[i].fd >= 0 && perf->fd[i].revents & (POLLHUP | POLLERR | POLLNVAL))
            perf->fd[i].fd = ~perf->fd[i].fd;
    }
}

void perf_free(struct perf *perf)
{
    if (!perf)
        return;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t i = 0; i < perf->n_ring; i++)
        munmap(perf->ring[i].page, page + perf->ring[i].size);
    for (size_t i = 0; i < perf->n_fd; i++)
        close(perf->fd[i].fd < 0 ? ~perf->fd[i].fd : perf->fd[i].fd);
    if (perf->limit_raised)
        setrlimit(RLIMIT_NOFILE, &perf->old_limit);
    event_list_release(&perf->list);
    free(perf->scratch);
    free(perf->fd);
    free(perf->ring);
    free(perf);
}
