#include "count/engine/overwrites.h"

#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "count/engine/dispatch.h"
#include "count/engine/engine.h"
#include "count/engine/link.h"
#include "count/engine/maps.h"

enum {
    PATH_MAX_BYTES = 4096,
    LINK_MAX_BYTES = 64, /* of "/proc/<pid>/task/<tid>/mem" */
    OPENAT2 = 437,       /* SYS_openat2, which older headers lack */
    ADVICE_DONTNEED_LOCKED = 24,
    ADVICE_GUARD_INSTALL = 102,
};

/* Has the program a file by which a process's memory is written to? */
static bool has_memory_file;

/* Does a path end in the component "mem"? It is `n` bytes long. */
static bool names_memory(const char *path, unsigned n)
{
    return n >= 3 && path[n - 3] == 'm' && path[n - 2] == 'e' && path[n - 1] == 'm' &&
           (n == 3 || path[n - 4] == '/');
}

/* Of a path of the program's, which may be unmapped from any byte on, the end alone counts. */
static bool opens_memory(const char *path)
{
    char end[4] = {0};
    for (unsigned n = 0; n < PATH_MAX_BYTES; n++) {
        char c;
        if (rle_copy_guarded(&c, path + n, 1))
            return false;
        if (!c)
            return n < sizeof(end) ? names_memory(end + sizeof(end) - n, n)
                                   : names_memory(end, sizeof(end));
        for (unsigned i = 0; i + 1 < sizeof(end); i++)
            end[i] = end[i + 1];
        end[sizeof(end) - 1] = c;
    }
    return false;
}

static long open_file(struct rle_thread *thread, long nr, long *args)
{
    (void)thread;
    const char *path = (const char *)args[nr == SYS_open ? 0 : 1];
    uint64_t flags = (uint64_t)args[nr == SYS_open ? 1 : 2]; /* of openat2: where they are */
    if (nr == OPENAT2 && rle_copy_guarded(&flags, (const void *)flags, sizeof(flags)))
        flags = O_RDONLY;
    if ((flags & O_ACCMODE) != O_RDONLY && opens_memory(path))
        __atomic_store_n(&has_memory_file, true, __ATOMIC_RELAXED);
    return rle_program_syscall(nr, args);
}

static bool is_memory_file(long fd)
{
    char name[sizeof("/proc/thread-self/fd/") + 20], to[LINK_MAX_BYTES];
    struct rle_text text = {.to = name, .size = sizeof(name)};
    rle_text_add(&text, "/proc/thread-self/fd/");
    rle_text_add_number(&text, (uint64_t)fd);
    long n = rle_sys4(SYS_readlinkat, AT_FDCWD, (long)name, (long)to, sizeof(to));
    return n > 0 && names_memory(to, (unsigned)n);
}

/* write, writev, pwrite64, pwritev, pwritev2: the file's positions are addresses, perhaps ours. */
static long write_file(struct rle_thread *thread, long nr, long *args)
{
    (void)thread;
    long fd = args[0], at = args[3];
    bool moves = nr == SYS_write || nr == SYS_writev || (nr == SYS_pwritev2 && at == -1);
    bool matters = __atomic_load_n(&has_memory_file, __ATOMIC_RELAXED) && is_memory_file(fd);
    long written = rle_program_syscall(nr, args);
    if (!matters || written <= 0)
        return written;
    uint64_t low =
        moves ? (uint64_t)(rle_sys3(SYS_lseek, fd, 0, SEEK_CUR) - written) : (uint64_t)at;
    rle_invalidate(low, low + (uint64_t)written);
    return written;
}

/* process_vm_writev (pid, here, n, there, n, flags), whosever memory it is. */
static long write_process(struct rle_thread *thread, long nr, long *args)
{
    (void)thread;
    long written = rle_program_syscall(nr, args);
    const struct iovec *there = (const struct iovec *)args[3];
    for (long i = 0; written > 0 && i < args[4]; i++) {
        struct iovec piece;
        if (rle_copy_guarded(&piece, &there[i], sizeof(piece)))
            break;
        rle_invalidate((uint64_t)piece.iov_base, (uint64_t)piece.iov_base + piece.iov_len);
    }
    return written;
}

static long advise(struct rle_thread *thread, long nr, long *args)
{
    (void)thread;
    long result = rle_program_syscall(nr, args);
    switch (args[2]) {
    case MADV_DONTNEED:
    case MADV_FREE:
    case MADV_REMOVE:
    case ADVICE_DONTNEED_LOCKED:
    case ADVICE_GUARD_INSTALL:
        rle_invalidate((uint64_t)args[0], (uint64_t)(args[0] + args[1]));
        break;
    default:
        break;
    }
    return result;
}

/* Shrinking unmaps, and growing again brings zeros. */
static long move_break(struct rle_thread *thread, long nr, long *args)
{
    (void)thread;
    uint64_t before = args[0] ? (uint64_t)rle_sys3(SYS_brk, 0, 0, 0) : 0;
    long result = rle_program_syscall(nr, args);
    uint64_t after = (uint64_t)result;
    if (rle_is_error(result) || after == before || !args[0])
        return result;
    rle_lock(&rle_engine.lock);
    rle_regions_forget();
    rle_unlock(&rle_engine.lock);
    if (after < before)
        rle_invalidate(after, before);
    return result;
}

rle_syscall_handler *rle_overwriting(long nr)
{
    switch (nr) {
    case SYS_open:
    case SYS_openat:
    case OPENAT2:
        return open_file;
    case SYS_write:
    case SYS_writev:
    case SYS_pwrite64:
    case SYS_pwritev:
    case SYS_pwritev2:
        return write_file;
    case SYS_process_vm_writev:
        return write_process;
    case SYS_madvise:
        return advise;
    case SYS_brk:
        return move_break;
    default:
        return NULL;
    }
}
