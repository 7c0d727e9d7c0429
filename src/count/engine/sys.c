#include "count/engine/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "count/engine/result.h"

/** From so many bytes on string instructions pay: they take a while to begin. */
enum { WORTH_STARTING = 192 };

enum { OWN_FAILURE = 125, MESSAGE_MAX = 256, STDERR = 2 };

/* Below what the kernel places high (libraries, stacks; a TiB of chance), and where the memory
 * and thread sanitizers expect a program to have memory. */
#define FAR_BEGIN 0x7E8000000000ul
#define FAR_BYTES (384ul << 30)
#define FAR_ALIGN (1ul << 20)

/* The compiler may emit calls to these two for plain assignments. */
void *memset(void *to, int value, size_t n);
void *memcpy(void *restrict to, const void *restrict from, size_t n);

__attribute__((visibility("hidden"))) void *memset(void *to, int value, size_t n)
{
    void *at = to;
    uint64_t word = (uint8_t)value * 0x0101010101010101ul;
    for (; n < WORTH_STARTING && n >= sizeof(word); n -= sizeof(word)) {
        __builtin_memcpy(at, &word, sizeof(word));
        at = (uint8_t *)at + sizeof(word);
    }
    __asm__ volatile("rep stosb" : "+D"(at), "+c"(n) : "a"(value) : "memory");
    return to;
}

__attribute__((visibility("hidden"))) void *memcpy(void *restrict to, const void *restrict from,
                                                   size_t n)
{
    rle_copy(to, from, n);
    return to;
}

void rle_copy(void *to, const void *from, size_t bytes)
{
    if (bytes < WORTH_STARTING) {
        uint8_t *t = to;
        const uint8_t *f = from;
        for (; bytes >= sizeof(uint64_t); bytes -= sizeof(uint64_t)) {
            uint64_t word;
            __builtin_memcpy(&word, f, sizeof(word));
            __builtin_memcpy(t, &word, sizeof(word));
            f += sizeof(word);
            t += sizeof(word);
        }
        while (bytes-- > 0)
            *t++ = *f++;
        return;
    }
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes)::"memory");
}

bool rle_equal(const char *a, const char *b)
{
    while (*a && *a == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

size_t rle_length(const char *text)
{
    size_t n = 0;
    while (text[n])
        n++;
    return n;
}

static uint64_t far_used;

uint64_t rle_far_from_code(size_t bytes)
{
    uint64_t room = (bytes + FAR_ALIGN - 1) / FAR_ALIGN * FAR_ALIGN;
    return FAR_BEGIN + __atomic_fetch_add(&far_used, room, __ATOMIC_RELAXED) % FAR_BYTES;
}

bool rle_far_overlaps(uint64_t low, uint64_t high)
{
    uint64_t used = __atomic_load_n(&far_used, __ATOMIC_RELAXED);
    return low < FAR_BEGIN + (used < FAR_BYTES ? used : FAR_BYTES) && high > FAR_BEGIN;
}

void *rle_map(size_t bytes)
{
    uint64_t hint = bytes >= FAR_ALIGN ? rle_far_from_code(bytes) : 0;
    long at = rle_sys6(SYS_mmap, (long)hint, (long)bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return rle_is_error(at) ? NULL : (void *)at;
}

long rle_open(const char *path, int flags, int mode)
{
    enum { SPARE = 1024 };
    long fd = rle_sys4(SYS_openat, AT_FDCWD, (long)path, flags | O_CLOEXEC, mode);
    uint64_t limit[2];
    if (fd != -EMFILE || rle_is_error(rle_sys4(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, (long)limit)))
        return fd;
    uint64_t more[2] = {limit[0] + SPARE, limit[1]};
    if (more[0] > more[1]) /* which only privileged processes may do */
        more[1] = more[0];
    if (rle_is_error(rle_sys4(SYS_prlimit64, 0, RLIMIT_NOFILE, (long)more, 0)))
        return fd;
    fd = rle_sys4(SYS_openat, AT_FDCWD, (long)path, flags | O_CLOEXEC, mode);
    rle_sys4(SYS_prlimit64, 0, RLIMIT_NOFILE, (long)limit, 0);
    return fd;
}

long rle_read_file(const char *path, char *buffer, size_t size)
{
    long fd = rle_open(path, O_RDONLY, 0);
    if (rle_is_error(fd))
        return fd;
    size_t n = 0;
    while (n < size) {
        long got = rle_sys3(SYS_read, fd, (long)(buffer + n), (long)(size - n));
        if (got == -EINTR)
            continue;
        if (got <= 0)
            break;
        n += (size_t)got;
    }
    rle_sys3(SYS_close, fd, 0, 0);
    return (long)n;
}

uint64_t rle_now_ns(int clock)
{
    enum { NS_PER_S = 1000000000 };
    uint64_t time[2] = {0, 0};
    rle_sys3(SYS_clock_gettime, clock, (long)time, 0);
    return time[0] * NS_PER_S + time[1];
}

void rle_lock(struct rle_lock *lock)
{
    uint32_t seen = 0;
    if (__atomic_compare_exchange_n(&lock->word, &seen, 1, false, __ATOMIC_ACQUIRE,
                                    __ATOMIC_RELAXED))
        return;
    while (__atomic_exchange_n(&lock->word, 2, __ATOMIC_ACQUIRE) != 0)
        rle_sys4(SYS_futex, (long)&lock->word, FUTEX_WAIT_PRIVATE, 2, 0);
}

void rle_unlock(struct rle_lock *lock)
{
    if (__atomic_exchange_n(&lock->word, 0, __ATOMIC_RELEASE) == 2)
        rle_sys4(SYS_futex, (long)&lock->word, FUTEX_WAKE_PRIVATE, 1, 0);
}

void rle_text_add(struct rle_text *text, const char *word)
{
    while (*word && text->length + 1 < text->size)
        text->to[text->length++] = *word++;
    text->to[text->length] = '\0';
}

static void add_in_base(struct rle_text *text, uint64_t value, unsigned base)
{
    enum { DIGITS_MAX = 20 };
    char digits[DIGITS_MAX + 1];
    unsigned at = DIGITS_MAX;
    digits[at] = '\0';
    do {
        digits[--at] = "0123456789abcdef"[value % base];
        value /= base;
    } while (value);
    rle_text_add(text, digits + at);
}

void rle_text_add_number(struct rle_text *text, uint64_t value)
{
    add_in_base(text, value, 10);
}

void rle_text_add_hex(struct rle_text *text, uint64_t value)
{
    rle_text_add(text, "0x");
    add_in_base(text, value, 16);
}

void rle_complain(const char *what)
{
    char buffer[MESSAGE_MAX];
    struct rle_text text = {buffer, sizeof(buffer), 0};
    rle_text_add(&text, "roofline-engine: ");
    rle_text_add(&text, what);
    rle_text_add(&text, "; running uncounted\n");
    rle_sys3(SYS_write, STDERR, (long)buffer, (long)text.length);
}

_Noreturn void rle_die(const char *what, uint64_t value)
{
    char buffer[MESSAGE_MAX];
    struct rle_text text = {buffer, sizeof(buffer), 0};
    rle_text_add(&text, "roofline-engine: ");
    rle_text_add(&text, what);
    rle_text_add(&text, " (");
    rle_text_add_hex(&text, value);
    rle_text_add(&text, ")\n");
    rle_result_fail(buffer);
    rle_sys3(SYS_write, STDERR, (long)buffer, (long)text.length);
    for (;;)
        rle_sys3(SYS_exit_group, OWN_FAILURE, 0, 0);
}
