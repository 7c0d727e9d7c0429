#include "sample/preload/log.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MAX_RANGES     512u
#define LOOK_AGAIN_NS  50000000u
#define DIRECTORY_SIZE 256
#define PATH_SIZE      (DIRECTORY_SIZE + 96)

struct range {
    uint64_t start, end;
};

/** Executable ranges as of the last look; two of them, so that readers never see a half. */
struct ranges {
    uint32_t n;
    struct range range[MAX_RANGES];
};

static char directory[DIRECTORY_SIZE];
static struct ranges ranges[2];
static unsigned present;
static char busy;
static uint64_t looked_ns;
static char text[8192];

uint64_t log_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

bool log_open(const char *path)
{
    size_t n = strlen(path);
    if (n + 1 > sizeof directory)
        return false;
    memcpy(directory, path, n + 1);
    __atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
    looked_ns = 0;
    ranges[present].n = 0;
    return true;
}

/* Texts are put together by hand: stdio is not for signal handlers. */
static char *put_text(char *to, const char *from)
{
    while (*from)
        *to++ = *from++;
    *to = 0;
    return to;
}

static char *put_number(char *to, uint64_t value)
{
    char digits[24];
    char *at = digits + sizeof digits;
    *--at = 0;
    do {
        *--at = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    return put_text(to, at);
}

static char *put_field(char *to, uint64_t value)
{
    to = put_number(to, value);
    return put_text(to, ".");
}

static int make_file(const char *path)
{
    return (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
}

void log_image(bool was_execed, uint64_t time_ns)
{
    char path[PATH_SIZE], line[1024];
    char *at = put_text(put_text(path, directory), "/" TIMER_IMAGE_PREFIX);
    put_number(put_field(at, (uint64_t)getpid()), time_ns);
    int fd = make_file(path);
    if (fd < 0)
        return;
    at = put_number(line, (uint64_t)getppid());
    at = put_text(at, was_execed ? " exec " : " fork ");
    ssize_t n = readlink("/proc/self/exe", at, sizeof line - 64);
    at += n > 0 ? n : 0;
    syscall(SYS_write, fd, line, (size_t)(at - line));
    syscall(SYS_close, fd);
}

void log_refused(void)
{
    char path[PATH_SIZE];
    char *at = put_text(put_text(path, directory), "/" TIMER_REFUSED_PREFIX);
    put_number(put_field(at, (uint64_t)getpid()), log_now_ns());
    int fd = make_file(path);
    if (fd >= 0)
        syscall(SYS_close, fd);
}

/* A line of the maps file as its characters come: START-END PERMS … */
struct parser {
    struct range range;
    unsigned field; /**< 0 start, 1 end, 2 permissions, 3 the rest */
    unsigned column;
    bool is_code;
};

static void parse(struct parser *p, char c, struct ranges *into)
{
    if (c == '\n') {
        if (p->is_code && into->n < MAX_RANGES)
            into->range[into->n++] = p->range;
        *p = (struct parser){0};
        return;
    }
    unsigned digit = c >= '0' && c <= '9' ? (unsigned)(c - '0') : (unsigned)(c - 'a' + 10);
    switch (p->field) {
    case 0:
        if (c == '-')
            p->field = 1;
        else
            p->range.start = p->range.start << 4 | digit;
        break;
    case 1:
        if (c == ' ')
            p->field = 2;
        else
            p->range.end = p->range.end << 4 | digit;
        break;
    case 2:
        p->is_code |= p->column++ == 2 && c == 'x';
        if (c == ' ')
            p->field = 3;
        break;
    default:
        break;
    }
}

static void copy_maps(uint64_t time_ns)
{
    char path[PATH_SIZE];
    struct parser parser = {0};
    struct ranges *into = &ranges[!present];
    char *at = put_text(put_text(path, directory), "/" TIMER_MAPS_PREFIX);
    put_number(put_field(at, (uint64_t)getpid()), time_ns);
    int in = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (in < 0)
        return;
    int out = make_file(path);
    long n;
    into->n = 0;
    while ((n = syscall(SYS_read, in, text, sizeof text)) > 0) {
        for (long i = 0; i < n; i++)
            parse(&parser, text[i], into);
        if (out >= 0)
            syscall(SYS_write, out, text, (size_t)n);
    }
    if (out >= 0)
        syscall(SYS_close, out);
    syscall(SYS_close, in);
    __atomic_store_n(&present, !present, __ATOMIC_RELEASE);
}

static bool is_known(uint64_t ip)
{
    const struct ranges *now = &ranges[__atomic_load_n(&present, __ATOMIC_ACQUIRE)];
    for (uint32_t i = 0; i < now->n; i++) {
        if (ip - now->range[i].start < now->range[i].end - now->range[i].start)
            return true;
    }
    return false;
}

void log_mapping(uint64_t ip)
{
    if (is_known(ip) || __atomic_test_and_set(&busy, __ATOMIC_ACQUIRE))
        return;
    uint64_t now = log_now_ns();
    if (!looked_ns || now - looked_ns > LOOK_AGAIN_NS) {
        looked_ns = now;
        copy_maps(now);
    }
    __atomic_clear(&busy, __ATOMIC_RELEASE);
}

/* Room is taken at once, so that a full disk shows here and not as SIGBUS in the program. */
struct timer_chunk *log_chunk(uint32_t bytes, int32_t pid, int32_t tid, uint32_t *ret_room)
{
    char path[PATH_SIZE];
    struct rlimit limit;
    char *at = put_text(put_text(path, directory), "/" TIMER_SAMPLES_PREFIX);
    at = put_field(put_field(at, (uint64_t)pid), (uint64_t)tid);
    put_number(at, log_now_ns());
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < bytes)
        return NULL;
    int fd = make_file(path);
    if (fd < 0)
        return NULL;
    struct timer_chunk *chunk = MAP_FAILED;
    if (syscall(SYS_fallocate, fd, 0, 0L, (long)bytes) == 0)
        chunk = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    syscall(SYS_close, fd);
    if (chunk == MAP_FAILED)
        return NULL;
    chunk->magic = TIMER_MAGIC;
    chunk->version = TIMER_VERSION;
    chunk->pid = pid;
    chunk->tid = tid;
    *ret_room = (uint32_t)((bytes - sizeof *chunk) / sizeof chunk->sample[0]);
    return chunk;
}

void log_close_chunk(struct timer_chunk *chunk, uint32_t bytes)
{
    if (chunk)
        munmap(chunk, bytes);
}
