#include "count/engine/arena.h"

#include <errno.h>
#include <linux/futex.h>
#include <linux/memfd.h>
#include <sys/mman.h>
#include <time.h>

#include "count/engine/engine.h"
#include "count/engine/maps.h"
#include "count/engine/result_format.h"
#include "count/engine/sys.h"

enum { ARENAS_MAX = 1024, FRAGMENT_BYTES_MIN = 16 };

#define ARENA_BYTES (64ul << 20 >> rle_engine.shrink)
#define HOT_BYTES   (ARENA_BYTES / 2)
/** Farthest an arena may be from code: leaves 0.6 GiB for operands beyond that. */
#define REACH 0x58000000ul
/** Longest that a parent waits for its child, which may be stopped or killed before it has a copy.
 */
#define PATIENCE_NS 1000000000ul
/** Operands of code below can be addressed absolutely, so that its arena may be anywhere. */
#define LOW (2ul << 30)
#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

static struct {
    struct rle_arena arena[ARENAS_MAX];
    uint32_t used;
    bool dual;        /* this system maps nothing writable and executable at once */
    uint32_t *copied; /* shared with the child of a fork: set once it has memory of its own */
} arenas;

static long map_fixed(uint64_t at, int protection, int flags, int fd)
{
    return rle_sys6(SYS_mmap, (long)at, ARENA_BYTES, protection, flags, fd, 0);
}

/* Memory that can be mapped twice: its descriptor, or a negated error number. */
static long new_memory(void)
{
    long fd = rle_sys3(SYS_memfd_create, (long)"roofline-engine", MFD_CLOEXEC, 0);
    if (rle_is_error(fd))
        return fd;
    long error = rle_sys3(SYS_ftruncate, fd, ARENA_BYTES, 0);
    if (!error)
        return fd;
    rle_sys3(SYS_close, fd, 0, 0);
    return error;
}

/* NULL if that cannot be done. */
static uint8_t *map_writable(long fd)
{
    long at = map_fixed(0, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, (int)fd);
    return rle_is_error(at) ? NULL : (uint8_t *)at;
}

static bool map_executable(uint64_t at, int fixed, long fd)
{
    return map_fixed(at, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_NORESERVE | fixed, (int)fd) ==
           (long)at;
}

/* The same memory twice: writable anywhere, executable at `at`. Returns the write address, NULL if
 * there is none. */
static uint8_t *map_dual(uint64_t at)
{
    long fd = new_memory();
    if (rle_is_error(fd))
        return NULL;
    uint8_t *write = map_writable(fd);
    if (write && !map_executable(at, MAP_FIXED_NOREPLACE, fd)) {
        rle_sys3(SYS_munmap, (long)write, ARENA_BYTES, 0);
        write = NULL;
    }
    rle_sys3(SYS_close, fd, 0, 0);
    return write;
}

static uint8_t *map_code(uint64_t at)
{
    if (!arenas.dual) {
        long run = map_fixed(at, PROT_READ | PROT_WRITE | PROT_EXEC,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1);
        if (run == (long)at)
            return (uint8_t *)at;
        if (run != -EACCES && run != -EPERM)
            return NULL;
        arenas.dual = true;
    }
    return map_dual(at);
}

/* A new arena within `reach` of `pc`; NULL if there is no hole, or no memory. */
static struct rle_arena *new_arena(uint64_t pc, uint64_t reach)
{
    uint64_t at = arenas.used < ARENAS_MAX ? rle_find_hole(pc, ARENA_BYTES, reach) : 0;
    if (!at)
        return NULL;
    struct rle_arena *a = &arenas.arena[arenas.used];
    uint8_t *write = map_code(at);
    if (!write)
        return NULL;
    a->start = at;
    a->end = at + ARENA_BYTES;
    a->to_exec = (int64_t)(at - (uint64_t)write);
    a->hot_end = write + HOT_BYTES;
    a->emit = (struct rle_emit){.at = write,
                                .other = write + HOT_BYTES,
                                .to_exec = a->to_exec,
                                .constant = write + ARENA_BYTES};
    a->entries = rle_map(HOT_BYTES / FRAGMENT_BYTES_MIN * sizeof(*a->entries));
    if (!a->entries)
        rle_die("no memory for the fragment index", 0);
    __atomic_store_n(&arenas.used, arenas.used + 1, __ATOMIC_RELEASE);
    return a;
}

static bool has_room(const struct rle_arena *a)
{
    return a->hot_end - a->emit.at >= (int64_t)RLE_ARENA_ROOM &&
           a->emit.constant - a->emit.other >= (int64_t)RLE_ARENA_ROOM;
}

static struct rle_arena *old_arena(uint64_t pc, uint64_t reach)
{
    for (uint32_t i = arenas.used; i-- > 0;) {
        struct rle_arena *a = &arenas.arena[i];
        uint64_t far = a->start > pc ? a->end - pc : pc - a->start;
        if (far < reach && has_room(a))
            return a;
    }
    return NULL;
}

struct rle_arena *rle_arena_near(uint64_t pc)
{
    struct rle_arena *a = old_arena(pc, REACH);
    if (!a)
        a = new_arena(pc, REACH);
    if (!a && pc < LOW)
        a = old_arena(pc, ~0ul);
    if (!a && pc < LOW)
        a = new_arena(pc, ~0ul);
    return a;
}

bool rle_arena_reaches(uint64_t pc, uint64_t address)
{
    if (address < LOW)
        return true;
    const struct rle_arena *a = rle_arena_near(pc);
    if (!a)
        return false;
    uint64_t far = address > a->start ? address - a->start : a->end - address;
    return far < LOW - RLE_ARENA_ROOM;
}

struct rle_arena *rle_arena_of(uint64_t at)
{
    uint32_t n = __atomic_load_n(&arenas.used, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < n; i++)
        if (at >= arenas.arena[i].start && at < arenas.arena[i].end)
            return &arenas.arena[i];
    return NULL;
}

bool rle_arenas_overlap(uint64_t low, uint64_t high)
{
    uint32_t n = __atomic_load_n(&arenas.used, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < n; i++)
        if (low < arenas.arena[i].end && high > arenas.arena[i].start)
            return true;
    return false;
}

void rle_arena_add(struct rle_arena *arena, uint32_t fragment)
{
    arena->entries[arena->n_entries].offset =
        (uint32_t)(rle_emit_address(&arena->emit) - arena->start);
    arena->entries[arena->n_entries].fragment = fragment;
    __atomic_store_n(&arena->n_entries, arena->n_entries + 1, __ATOMIC_RELEASE);
}

uint32_t rle_arena_fragment(const struct rle_arena *arena, uint64_t at)
{
    uint32_t low = 0, high = __atomic_load_n(&arena->n_entries, __ATOMIC_ACQUIRE);
    uint32_t offset = (uint32_t)(at - arena->start);
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (arena->entries[middle].offset <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? arena->entries[low - 1].fragment : RLE_NONE;
}

uint8_t *rle_arena_writable(uint64_t at)
{
    const struct rle_arena *a = rle_arena_of(at);
    return (uint8_t *)(at - (uint64_t)(a ? a->to_exec : 0));
}

void rle_arenas_before_fork(void)
{
    if (!arenas.dual)
        return;
    if (!arenas.copied) {
        long page = rle_sys6(SYS_mmap, 0, RLE_PAGE, PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (rle_is_error(page))
            return;
        arenas.copied = (uint32_t *)page;
    }
    *arenas.copied = 0;
}

static void forget_child(void)
{
    rle_sys3(SYS_munmap, (long)arenas.copied, RLE_PAGE, 0);
    arenas.copied = NULL;
}

void rle_arenas_await_child(void)
{
    enum { WAIT_NS = 10000000 };
    uint64_t time[2] = {0, WAIT_NS};
    if (!arenas.dual)
        return;
    uint64_t give_up_ns = rle_now_ns(CLOCK_MONOTONIC) + PATIENCE_NS;
    while (arenas.copied && !__atomic_load_n(arenas.copied, __ATOMIC_ACQUIRE)) {
        if (rle_now_ns(CLOCK_MONOTONIC) >= give_up_ns)
            forget_child(); /* what it still says is not to be taken for the next one's */
        else
            rle_sys4(SYS_futex, (long)arenas.copied, FUTEX_WAIT, 0, (long)time);
    }
    if (!arenas.copied)
        rle_arenas_make_private(); /* leaving the child what there was */
}

void rle_arenas_tell_parent(void)
{
    if (!arenas.copied)
        return;
    __atomic_store_n(arenas.copied, 1, __ATOMIC_RELEASE);
    rle_sys4(SYS_futex, (long)arenas.copied, FUTEX_WAKE, 1, 0);
    forget_child();
}

/* Other threads may be executing it: at no moment may anything else be seen there. The write
 * address stays, as the cursors hold it. */
static bool make_private(const struct rle_arena *a)
{
    uint8_t *shared = (uint8_t *)(a->start - (uint64_t)a->to_exec);
    uint64_t hot = (uint64_t)(a->emit.at - shared);
    uint64_t cold = (uint64_t)(a->emit.other - shared) - HOT_BYTES;
    uint64_t constants = ARENA_BYTES - (uint64_t)(a->emit.constant - shared);
    long fd = new_memory();
    uint8_t *own = rle_is_error(fd) ? NULL : map_writable(fd);
    bool done = own != NULL;
    if (done) {
        rle_copy(own, shared, hot);
        rle_copy(own + HOT_BYTES, shared + HOT_BYTES, cold);
        rle_copy(own + ARENA_BYTES - constants, a->emit.constant, constants);
        done = map_executable(a->start, MAP_FIXED, fd);
        if (done)
            rle_sys6(SYS_mremap, (long)own, ARENA_BYTES, ARENA_BYTES, MREMAP_MAYMOVE | MREMAP_FIXED,
                     (long)shared, 0);
        else
            rle_sys3(SYS_munmap, (long)own, ARENA_BYTES, 0);
    }
    if (!rle_is_error(fd))
        rle_sys3(SYS_close, fd, 0, 0);
    return done;
}

bool rle_arenas_make_private(void)
{
    for (uint32_t i = 0; arenas.dual && i < arenas.used; i++)
        if (arenas.arena[i].to_exec && !make_private(&arenas.arena[i]))
            return false;
    return true;
}
