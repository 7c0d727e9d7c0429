/* The engine's only way to the kernel, and the memory helpers a compiler expects to find.
 * Raw system calls: no errno, results in [-4095, -1] are negated error numbers. */
#ifndef RL_COUNT_ENGINE_SYS_H
#define RL_COUNT_ENGINE_SYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#define RLE_PAGE 4096ul

static inline long rle_sys6(long nr, long a, long b, long c, long d, long e, long f)
{
    long ret;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(ret)
                     : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return ret;
}

static inline long rle_sys3(long nr, long a, long b, long c)
{
    return rle_sys6(nr, a, b, c, 0, 0, 0);
}

static inline long rle_sys4(long nr, long a, long b, long c, long d)
{
    return rle_sys6(nr, a, b, c, d, 0, 0);
}

static inline bool rle_is_error(long result)
{
    return (unsigned long)result >= -4095ul;
}

/** Where `bytes` of address space may be asked for (as a hint, not MAP_FIXED) such that the
 * neighbourhood of code, where the kernel puts what has no address, stays free for translations. */
uint64_t rle_far_from_code(size_t bytes);

/** May anything that was asked for there lie in part within [low, high)? Needs no lock. */
bool rle_far_overlaps(uint64_t low, uint64_t high);

/** Private zeroed memory, not charged until touched; NULL if there is none. */
void *rle_map(size_t bytes);

/**
 * openat(2) for a moment, closed across exec. Where the program holds as many descriptors as it may
 * the limit is raised for the time of the call, as far as the process may; the caller holds the
 * engine's lock, which keeps the program's own changes of limits apart.
 */
long rle_open(const char *path, int flags, int mode);

/** Whole of a (pseudo) file, by rle_open, read, close.
 * @return bytes read, at most `size`; negated error number if it cannot be opened. */
long rle_read_file(const char *path, char *buffer, size_t size);

uint64_t rle_now_ns(int clock);

void rle_copy(void *to, const void *from, size_t bytes);
bool rle_equal(const char *a, const char *b);
size_t rle_length(const char *text);

/** Copy between the engine and memory named by the program, which may be unmapped.
 * @return 0, or the negated error number EFAULT: then part of it may have been copied. */
long rle_copy_guarded(void *to, const void *from, size_t bytes);

/** A mutex whose holder never sleeps for long: waiters sleep in the kernel. */
struct rle_lock {
    uint32_t word; /* 0 free, 1 held, 2 held and waited for */
};
void rle_lock(struct rle_lock *lock);
void rle_unlock(struct rle_lock *lock);

/** Text assembled in a caller's buffer; truncated where it does not fit, always terminated. */
struct rle_text {
    char *to;
    size_t size;
    size_t length;
};
void rle_text_add(struct rle_text *text, const char *word);
void rle_text_add_number(struct rle_text *text, uint64_t value);
void rle_text_add_hex(struct rle_text *text, uint64_t value);

/** Say on standard error what keeps the process from being counted. */
void rle_complain(const char *what);

/**
 * Give up: record why in the result file, say it on standard error, end the process with status
 * 125. For broken invariants and for what cannot be run at all; see rle_detach for what can.
 */
_Noreturn void rle_die(const char *what, uint64_t value);

#endif
