#include "count/engine/launch/process.h"

#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

enum { PATH_BYTES = 64, STATUS_BYTES = 8192, LINE_BYTES = 4608 };

#define NS_PER_S 1000000000ull

/* Contents of /proc/PID/NAME, terminated. @return bytes, negative if it cannot be read. */
static ssize_t read_proc(pid_t pid, const char *name, char *to, size_t size)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    size_t n = 0;
    for (ssize_t got; n < size - 1 && (got = read(fd, to + n, size - 1 - n)) > 0;)
        n += (size_t)got;
    close(fd);
    to[n] = '\0';
    return (ssize_t)n;
}

/* The text behind "\nNAME:" and white space; NULL if there is no such line. */
static const char *field(const char *status, const char *name)
{
    char wanted[PATH_BYTES];
    snprintf(wanted, sizeof(wanted), "\n%s:", name);
    const char *at = strstr(status, wanted);
    if (!at)
        return NULL;
    at += strlen(wanted);
    return at + strspn(at, " \t");
}

static long number(const char *status, const char *name)
{
    const char *at = field(status, name);
    return at ? strtol(at, NULL, 10) : 0;
}

static bool is_elf64_x86(pid_t pid)
{
    char path[PATH_BYTES];
    Elf64_Ehdr head;
    snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return true; /* not ours to see: tracing it will say so */
    bool is = read(fd, &head, sizeof(head)) == (ssize_t)sizeof(head) &&
              memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 && head.e_ident[EI_CLASS] == ELFCLASS64 &&
              head.e_machine == EM_X86_64;
    close(fd);
    return is;
}

bool process_can_be_counted(pid_t pid, char *why)
{
    char status[STATUS_BYTES];
    if (read_proc(pid, "status", status, sizeof(status)) <= 0) {
        snprintf(why, REASON_BYTES, "there is no such process");
        return false;
    }
    const char *state = field(status, "State"), *features = field(status, "x86_Thread_features");
    long tracer = number(status, "TracerPid");
    if (tracer && tracer != getpid())
        snprintf(why, REASON_BYTES, "it is being traced already, by process %ld", tracer);
    else if (state && *state == 'Z' && number(status, "Threads") > 1)
        snprintf(why, REASON_BYTES,
                 "its main thread has ended, and the engine enters a program by that");
    else if (state && (*state == 'Z' || *state == 'X'))
        snprintf(why, REASON_BYTES, "it has ended");
    else if (state && (*state == 'T' || (*state == 't' && !tracer)))
        snprintf(why, REASON_BYTES, "it is stopped; continue it first (SIGCONT)");
    else if (number(status, "Seccomp"))
        snprintf(why, REASON_BYTES,
                 "a seccomp filter decides on its system calls, and could end it for the engine's");
    else if (features && strncmp(features, "shstk", strlen("shstk")) == 0)
        snprintf(why, REASON_BYTES, "it uses a shadow stack");
    else if (!is_elf64_x86(pid))
        snprintf(why, REASON_BYTES, "it is no 64-bit x86 program");
    else
        return true;
    return false;
}

size_t process_threads(pid_t pid, pid_t **ret_tids)
{
    char path[PATH_BYTES];
    size_t n = 0, room = 0;
    pid_t *tids = NULL;
    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    DIR *dir = opendir(path);
    for (struct dirent *e; dir && (e = readdir(dir));) {
        long tid = strtol(e->d_name, NULL, 10);
        if (tid <= 0)
            continue;
        if (n == room) {
            room = room ? 2 * room : 64;
            pid_t *more = realloc(tids, room * sizeof(*tids));
            if (!more) {
                n = 0;
                break;
            }
            tids = more;
        }
        tids[n++] = (pid_t)tid;
    }
    if (dir)
        closedir(dir);
    *ret_tids = tids;
    return n;
}

static bool read_thread(pid_t pid, pid_t tid, char status[STATUS_BYTES])
{
    char name[PATH_BYTES];
    snprintf(name, sizeof(name), "task/%d/status", (int)tid);
    return read_proc(pid, name, status, STATUS_BYTES) > 0;
}

bool process_has_ended(pid_t pid, pid_t tid)
{
    char status[STATUS_BYTES];
    if (!read_thread(pid, tid, status))
        return true;
    const char *state = field(status, "State");
    return state && (*state == 'Z' || *state == 'X');
}

bool process_sleeps_deeply(pid_t pid, pid_t tid)
{
    char status[STATUS_BYTES];
    const char *state = read_thread(pid, tid, status) ? field(status, "State") : NULL;
    return state && *state == 'D';
}

bool process_is_ours(pid_t pid, pid_t tid)
{
    char status[STATUS_BYTES];
    return read_thread(pid, tid, status) && number(status, "TracerPid") == getpid();
}

pid_t process_inner_tid(pid_t pid, pid_t tid)
{
    char status[STATUS_BYTES];
    const char *at = read_thread(pid, tid, status) ? field(status, "NSpid") : NULL;
    pid_t inner = tid;
    for (char *end; at && *at && *at != '\n'; at = end + strspn(end, "\t ")) {
        long number = strtol(at, &end, 10);
        if (end == at)
            break;
        inner = (pid_t)number;
    }
    return inner;
}

bool process_waits_at(pid_t pid, pid_t tid, uint64_t address)
{
    char name[PATH_BYTES], text[LINE_BYTES];
    snprintf(name, sizeof(name), "task/%d/syscall", (int)tid);
    if (read_proc(pid, name, text, sizeof(text)) <= 0)
        return false;
    const char *last = strrchr(text, ' ');
    return last && text[0] != 'r' && strtoull(last, NULL, 16) == address;
}

static uint64_t time_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

uint64_t monotonic_ns(void)
{
    return time_ns(CLOCK_MONOTONIC);
}

/* A number of /proc/PID/stat, counted from 1. @return 0 if it cannot be read. */
static uint64_t stat_number(pid_t pid, int field)
{
    enum { STATE = 3 }; /* the name before it, in parentheses, may hold blanks */
    char text[LINE_BYTES];
    if (read_proc(pid, "stat", text, sizeof(text)) <= 0)
        return 0;
    const char *at = strrchr(text, ')');
    for (int i = STATE - 1; at && i < field; i++)
        at = strchr(at + 1, ' ');
    return at ? strtoull(at, NULL, 10) : 0;
}

uint64_t process_start_ns(pid_t pid)
{
    enum { START_TIME = 22 };
    uint64_t ticks = stat_number(pid, START_TIME);
    if (!ticks)
        return monotonic_ns();
    uint64_t since_boot = ticks * (NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK));
    uint64_t slept = time_ns(CLOCK_BOOTTIME) - monotonic_ns();
    return since_boot > slept ? since_boot - slept : 0;
}

uint64_t process_stack_start(pid_t pid)
{
    enum { START_STACK = 28 };
    return stat_number(pid, START_STACK);
}

size_t process_arguments(pid_t pid, char *to, size_t size)
{
    ssize_t n = read_proc(pid, "cmdline", to, size);
    return n > 0 ? (size_t)n : 0;
}

uint64_t process_locked_bytes(pid_t pid)
{
    enum { KIB = 1024 };
    char status[STATUS_BYTES];
    return read_proc(pid, "status", status, sizeof(status)) > 0
               ? (uint64_t)number(status, "VmLck") * KIB
               : 0;
}

bool process_mappings(pid_t pid, bool (*see)(void *context, const struct process_mapping *mapping),
                      void *context)
{
    char path[PATH_BYTES], line[LINE_BYTES];
    bool done = false;
    snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
    FILE *maps = fopen(path, "re");
    while (maps && !done && fgets(line, sizeof(line), maps)) {
        struct process_mapping m;
        unsigned major_number, minor_number;
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64, &m.low, &m.high,
                   m.flags, &m.offset, &major_number, &minor_number, &m.inode) != 7)
            continue;
        m.device = makedev(major_number, minor_number);
        done = see(context, &m);
    }
    if (maps)
        fclose(maps);
    return done;
}
