#include "count/engine/result.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/vfs.h>
#include <time.h>

#include "count/engine/engine.h"

enum {
    PATH_BYTES = RLE_OUTPUT_MAX + 64,
    SEQUENCE_MAX = 100000,
    FILE_MODE = 0600,
    SPACE_BYTES = 1 << 20,
};

#define MIB (1ul << 20)

struct shape {
    uint32_t stride;
    uint32_t capacity;
};

static const struct shape shapes[RLE_N_SECTIONS] = {
    [RLE_SECTION_MODULES] = {sizeof(struct rle_result_module), 1u << 16},
    [RLE_SECTION_FRAGMENTS] = {sizeof(struct rle_result_fragment), 4u << 20},
    [RLE_SECTION_BLOCKS] = {sizeof(struct rle_result_block), 8u << 20},
    [RLE_SECTION_CODE] = {1, 512u << 20},
    [RLE_SECTION_CORRECTIONS] = {sizeof(struct rle_result_correction), 1u << 20},
    [RLE_SECTION_THREADS] = {sizeof(struct rle_result_thread), RLE_THREADS_MAX},
    [RLE_SECTION_EXTENTS] = {sizeof(struct rle_result_extent), 1u << 16},
    [RLE_SECTION_UNCOUNTED] = {sizeof(struct rle_result_uncounted), 1u << 10},
    [RLE_SECTION_REGIONS] = {sizeof(struct rle_result_region), 1u << 16},
    [RLE_SECTION_STRINGS] = {1, 16u << 20},
};
enum { COUNTERS = 8 << 20 };

struct result {
    struct rle_result_header *header; /* also the start of the mapping; NULL: no file */
    uint64_t table_bytes;             /* header and sections; counters follow in the file */
    char path[PATH_BYTES];
};

static struct result result;

static uint64_t page_up(uint64_t bytes)
{
    return (bytes + RLE_PAGE - 1) & ~(RLE_PAGE - 1);
}

static void lay_out(struct rle_result_header *h)
{
    uint64_t offset = page_up(sizeof(*h));
    for (unsigned i = 0; i < RLE_N_SECTIONS; i++) {
        struct rle_result_section *s = &h->sections[i];
        s->stride = shapes[i].stride;
        s->capacity = shapes[i].capacity >> rle_engine.shrink;
        s->offset = offset;
        offset += page_up((uint64_t)s->stride * s->capacity);
    }
    h->counter_capacity = COUNTERS >> rle_engine.shrink;
    result.table_bytes = offset;
}

/* Create PREFIX.PID.SEQ. The descriptor stays open until the mappings are made. */
static long create(const char *prefix, int pid, uint32_t *ret_sequence)
{
    for (uint32_t sequence = 0; sequence < SEQUENCE_MAX; sequence++) {
        struct rle_text path = {result.path, sizeof(result.path), 0};
        rle_text_add(&path, prefix);
        rle_text_add(&path, ".");
        rle_text_add_number(&path, (uint64_t)pid);
        rle_text_add(&path, ".");
        rle_text_add_number(&path, sequence);
        long fd = rle_open(result.path, O_RDWR | O_CREAT | O_EXCL, FILE_MODE);
        if (fd == -EEXIST)
            continue;
        *ret_sequence = sequence;
        return fd;
    }
    return -EEXIST;
}

struct limit {
    uint64_t soft, hard;
};

/* Set the file's size, unless the process may not: trying would raise SIGXFSZ. The limit concerns
 * the size, not stores through the mapping, so it is raised for this one call, as far as the
 * process may. The engine's lock keeps the program's own changes of limits apart. */
static long grow(int fd, uint64_t bytes)
{
    struct limit limit = {~0ul, ~0ul};
    rle_sys4(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, (long)&limit);
    if (limit.soft >= bytes)
        return rle_sys3(SYS_ftruncate, fd, (long)bytes, 0);
    struct limit enough = {bytes, limit.hard > bytes ? limit.hard : bytes};
    if (rle_is_error(rle_sys4(SYS_prlimit64, 0, RLIMIT_FSIZE, (long)&enough, 0)))
        return -EFBIG;
    long error = rle_sys3(SYS_ftruncate, fd, (long)bytes, 0);
    rle_sys4(SYS_prlimit64, 0, RLIMIT_FSIZE, (long)&limit, 0);
    return error;
}

/* Holes are filled as they are written to; begin only where that has a chance. */
static bool has_space(int fd)
{
    struct statfs fs;
    return rle_sys3(SYS_fstatfs, fd, (long)&fs, 0) ||
           (uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize >= SPACE_BYTES;
}

static long map_tables(int fd, uint64_t bytes)
{
    long error = has_space(fd) ? grow(fd, bytes) : -ENOSPC;
    if (rle_is_error(error))
        return error;
    return rle_sys6(SYS_mmap, (long)rle_far_from_code(bytes), (long)bytes, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_NORESERVE, fd, 0);
}

static void begin(struct rle_result_header *h, uint32_t mode, int pid, uint32_t sequence)
{
    rle_copy(h->magic, RLE_RESULT_MAGIC, sizeof(h->magic));
    h->header_bytes = sizeof(*h);
    h->isa = RLE_ISA_X86_64;
    h->mode = mode;
    h->pid = pid;
    h->ppid = (int32_t)rle_sys3(SYS_getppid, 0, 0, 0);
    h->sequence = sequence;
    h->state = RLE_STATE_RUNNING;
    h->start_ns = rle_now_ns(CLOCK_MONOTONIC);
    h->start_realtime_ns = rle_now_ns(CLOCK_REALTIME);
    __atomic_store_n(&h->version, RLE_RESULT_VERSION, __ATOMIC_RELEASE);
}

long rle_result_open(const char *prefix, uint32_t mode)
{
    struct rle_result_header first = {0};
    int pid = (int)rle_sys3(SYS_getpid, 0, 0, 0);
    uint32_t sequence;
    long fd = create(prefix, pid, &sequence);
    if (rle_is_error(fd))
        return fd;
    lay_out(&first);
    long at = map_tables((int)fd, result.table_bytes);
    if (rle_is_error(at)) {
        rle_sys3(SYS_close, fd, 0, 0);
        rle_sys3(SYS_unlink, (long)result.path, 0, 0);
        return at;
    }
    result.header = (struct rle_result_header *)at;
    *result.header = first;
    result.header->n_counters = 1;
    begin(result.header, mode, pid, sequence);
    rle_result_add_string("");
    rle_sys3(SYS_close, fd, 0, 0);
    return 0;
}

static void copy_used(const struct rle_result_header *from, enum rle_section_id id)
{
    const struct rle_result_section *s = &from->sections[id];
    rle_copy((char *)result.header + s->offset, (const char *)from + s->offset,
             (uint64_t)s->stride * s->used);
}

/* A file for the child, mapped. With it, or without, `header` leads to new memory. */
static long open_for_child(const char *prefix, int pid, uint32_t *ret_sequence)
{
    long fd = create(prefix, pid, ret_sequence);
    if (rle_is_error(fd))
        return fd;
    long at = map_tables((int)fd, result.table_bytes);
    rle_sys3(SYS_close, fd, 0, 0);
    if (!rle_is_error(at))
        result.header = (struct rle_result_header *)at;
    else
        rle_sys3(SYS_unlink, (long)result.path, 0, 0);
    return rle_is_error(at) ? at : 0;
}

/* The first state that is not RUNNING stays. */
static void end_of(struct rle_result_header *h, enum rle_process_state state, const char *message)
{
    uint32_t running = RLE_STATE_RUNNING;
    if (!h || !__atomic_compare_exchange_n(&h->state, &running, state, false, __ATOMIC_ACQ_REL,
                                           __ATOMIC_RELAXED))
        return;
    struct rle_text text = {h->message, sizeof(h->message), 0};
    if (*message)
        rle_text_add(&text, message);
    h->end_ns = rle_now_ns(CLOCK_MONOTONIC);
}

/* The tables of `from`, in new memory, and counts at zero. */
static void begin_with_tables_of(const struct rle_result_header *from, uint32_t mode, int pid,
                                 uint32_t sequence)
{
    static const enum rle_section_id inherited[] = {
        RLE_SECTION_MODULES,     RLE_SECTION_FRAGMENTS, RLE_SECTION_BLOCKS, RLE_SECTION_CODE,
        RLE_SECTION_CORRECTIONS, RLE_SECTION_REGIONS,   RLE_SECTION_STRINGS};
    struct rle_result_header *h = result.header;
    *h = *from;
    for (unsigned i = 0; i < sizeof(inherited) / sizeof(inherited[0]); i++)
        copy_used(from, inherited[i]);
    h->sections[RLE_SECTION_THREADS].used = 0;
    h->sections[RLE_SECTION_EXTENTS].used = 0;
    h->sections[RLE_SECTION_UNCOUNTED].used = 0;
    h->exit_status = 0;
    h->end_ns = 0;
    h->message[0] = '\0';
    begin(h, mode, pid, sequence);
}

bool rle_result_is_open(void)
{
    return result.header != NULL;
}

long rle_result_after_fork(const char *prefix)
{
    int pid = (int)rle_sys3(SYS_getpid, 0, 0, 0);
    struct rle_result_header *parent = result.header;
    uint32_t sequence = 0;
    long error = prefix ? open_for_child(prefix, pid, &sequence) : -ENOENT;
    if (error) {
        result.path[0] = '\0';
        result.header = rle_map(result.table_bytes);
    }
    if (!result.header)
        return -ENOMEM;
    begin_with_tables_of(parent, parent->mode, pid, sequence);
    rle_sys3(SYS_munmap, (long)parent, (long)result.table_bytes, 0);
    return error;
}

long rle_result_renew(const char *prefix, uint32_t mode)
{
    int pid = (int)rle_sys3(SYS_getpid, 0, 0, 0);
    struct rle_result_header *before = result.header;
    uint32_t sequence;
    long error = open_for_child(prefix, pid, &sequence);
    if (error)
        return error;
    begin_with_tables_of(before, mode, pid, sequence);
    end_of(before, RLE_STATE_DETACHED, "another counts it now");
    rle_sys3(SYS_munmap, (long)before, (long)result.table_bytes, 0);
    return 0;
}

static uint32_t add_bytes(enum rle_section_id section, const void *bytes, uint32_t n)
{
    struct rle_result_section *s = &result.header->sections[section];
    uint32_t offset = s->used;
    if (s->capacity - offset < n)
        return RLE_NONE;
    rle_copy((char *)result.header + s->offset + offset, bytes, n);
    __atomic_store_n(&s->used, offset + n, __ATOMIC_RELEASE);
    return offset;
}

void rle_result_set_argv(const char *const *argv)
{
    struct rle_result_header *h = result.header;
    for (unsigned i = 0; argv[i]; i++) {
        uint32_t at = rle_result_add_string(argv[i]);
        if (at == RLE_NONE)
            break;
        if (i == 0)
            h->argv_offset = at;
        h->argv_bytes = h->sections[RLE_SECTION_STRINGS].used - h->argv_offset;
    }
}

void rle_result_set_arguments(const char *arguments, uint32_t bytes)
{
    struct rle_result_header *h = result.header;
    uint32_t at = add_bytes(RLE_SECTION_STRINGS, arguments, bytes);
    h->argv_offset = at == RLE_NONE ? 0 : at;
    h->argv_bytes = at == RLE_NONE ? 0 : bytes;
}

uint32_t rle_result_new_counter(void)
{
    struct rle_result_header *h = result.header;
    if (h->n_counters == h->counter_capacity)
        return RLE_NONE;
    uint32_t counter = h->n_counters;
    __atomic_store_n(&h->n_counters, counter + 1, __ATOMIC_RELEASE);
    return counter;
}

uint32_t rle_result_counters_left(void)
{
    return result.header->counter_capacity - result.header->n_counters;
}

uint64_t rle_result_counter_bytes(void)
{
    return page_up((uint64_t)(COUNTERS >> rle_engine.shrink) * sizeof(uint64_t));
}

uint32_t rle_result_n_counters(void)
{
    return result.header->n_counters;
}

long rle_result_map_extent(uint32_t slot, uint32_t region, uint64_t address)
{
    uint64_t bytes = rle_result_counter_bytes();
    uint64_t offset = result.table_bytes + rle_result_used(RLE_SECTION_EXTENTS) * bytes;
    long fd = rle_open(result.path, O_RDWR, 0);
    if (rle_is_error(fd))
        return fd;
    struct rle_result_extent *extent = rle_result_append(RLE_SECTION_EXTENTS);
    long error = extent ? grow((int)fd, offset + bytes) : -ENOSPC;
    if (!rle_is_error(error))
        error = rle_sys6(SYS_mmap, (long)address, (long)bytes, PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_NORESERVE | MAP_FIXED, fd, (long)offset);
    rle_sys3(SYS_close, fd, 0, 0);
    if (rle_is_error(error))
        return error;
    extent->offset = offset;
    extent->thread = slot;
    extent->region = region;
    rle_result_commit(RLE_SECTION_EXTENTS);
    return 0;
}

void *rle_result_record(enum rle_section_id section, uint32_t index)
{
    const struct rle_result_section *s = &result.header->sections[section];
    return (char *)result.header + s->offset + (uint64_t)index * s->stride;
}

void *rle_result_append(enum rle_section_id section)
{
    const struct rle_result_section *s = &result.header->sections[section];
    return s->used < s->capacity ? rle_result_record(section, s->used) : NULL;
}

uint32_t rle_result_commit(enum rle_section_id section)
{
    struct rle_result_section *s = &result.header->sections[section];
    uint32_t index = s->used;
    __atomic_store_n(&s->used, index + 1, __ATOMIC_RELEASE);
    return index;
}

uint32_t rle_result_used(enum rle_section_id section)
{
    return result.header->sections[section].used;
}

uint32_t rle_result_room(enum rle_section_id section)
{
    const struct rle_result_section *s = &result.header->sections[section];
    return s->capacity - s->used;
}

uint32_t rle_result_add_code(const uint8_t *bytes, uint32_t n)
{
    return add_bytes(RLE_SECTION_CODE, bytes, n);
}

uint32_t rle_result_add_string(const char *text)
{
    return add_bytes(RLE_SECTION_STRINGS, text, (uint32_t)rle_length(text) + 1);
}

uint32_t rle_result_sequence(void)
{
    return result.header->sequence;
}

void rle_result_count_translated(uint32_t insns)
{
    result.header->translated_insns += insns;
}

/* Without merging: each stretch of time has an entry, as long as there is room. */
static struct rle_result_uncounted *add_uncounted(enum rle_uncounted_reason reason,
                                                  const char *detail)
{
    struct rle_result_uncounted *entry = rle_result_append(RLE_SECTION_UNCOUNTED);
    if (!entry)
        return NULL;
    uint32_t text = detail ? rle_result_add_string(detail) : 0;
    *entry = (struct rle_result_uncounted){.reason = reason,
                                           .detail = text == RLE_NONE ? 0 : text,
                                           .begin_ns = rle_now_ns(CLOCK_MONOTONIC),
                                           .events = 1};
    rle_result_commit(RLE_SECTION_UNCOUNTED);
    return entry;
}

static struct rle_result_uncounted *find_uncounted(enum rle_uncounted_reason reason,
                                                   const char *detail)
{
    for (uint32_t i = 0; result.header && i < rle_result_used(RLE_SECTION_UNCOUNTED); i++) {
        struct rle_result_uncounted *entry = rle_result_record(RLE_SECTION_UNCOUNTED, i);
        const char *text = (const char *)result.header +
                           result.header->sections[RLE_SECTION_STRINGS].offset + entry->detail;
        if (entry->reason == (uint32_t)reason &&
            (reason != RLE_UNCOUNTED_CHILD || rle_equal(text, detail)))
            return entry;
    }
    return NULL;
}

void rle_result_uncounted(enum rle_uncounted_reason reason, const char *detail)
{
    struct rle_result_uncounted *entry = find_uncounted(reason, detail);
    if (entry && !entry->events) /* undone: it begins only now */
        entry->begin_ns = rle_now_ns(CLOCK_MONOTONIC);
    if (entry)
        entry->events++;
    else if (result.header)
        add_uncounted(reason, detail);
}

void rle_result_uncounted_undo(enum rle_uncounted_reason reason, const char *detail)
{
    struct rle_result_uncounted *entry = find_uncounted(reason, detail);
    if (entry && entry->events)
        entry->events--;
}

bool rle_result_holds(uint64_t address)
{
    uint64_t start = (uint64_t)result.header;
    return result.header && address >= start && address < start + result.table_bytes;
}

bool rle_result_replace_page(uint64_t address)
{
    uint64_t page = address & -RLE_PAGE;
    if (rle_is_error(rle_sys6(SYS_mmap, (long)page, RLE_PAGE, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0)))
        return false;
    struct rle_text text = {result.header->message, sizeof(result.header->message), 0};
    rle_text_add(&text, RLE_COUNTS_LOST ": no space left where the result file is");
    return true;
}

void rle_result_say(const char *message)
{
    struct rle_result_header *h = result.header;
    if (!h || h->message[0])
        return;
    struct rle_text text = {h->message, sizeof(h->message), 0};
    rle_text_add(&text, message);
}

static void end(enum rle_process_state state, const char *message)
{
    end_of(result.header, state, message);
}

/* The last entry, if the program is running uncounted since then. */
static struct rle_result_uncounted *open_pause(void)
{
    uint32_t n = rle_result_used(RLE_SECTION_UNCOUNTED);
    struct rle_result_uncounted *entry = n ? rle_result_record(RLE_SECTION_UNCOUNTED, n - 1) : NULL;
    return entry && entry->reason == RLE_UNCOUNTED_PAUSED && !entry->end_ns ? entry : NULL;
}

void rle_result_pause(const char *why)
{
    end(RLE_STATE_DETACHED, why);
    add_uncounted(RLE_UNCOUNTED_PAUSED, NULL);
}

void rle_result_resume(void)
{
    struct rle_result_header *h = result.header;
    struct rle_result_uncounted *pause = open_pause();
    if (pause)
        pause->end_ns = rle_now_ns(CLOCK_MONOTONIC);
    h->end_ns = 0;
    h->message[0] = '\0';
    __atomic_store_n(&h->state, RLE_STATE_RUNNING, __ATOMIC_RELEASE);
}

void rle_result_before(uint64_t since_ns)
{
    struct rle_result_uncounted *entry = add_uncounted(RLE_UNCOUNTED_BEFORE, NULL);
    if (!entry)
        return;
    entry->end_ns = entry->begin_ns;
    entry->begin_ns = since_ns;
}

void rle_result_exit(int status)
{
    if (result.header && result.header->state == RLE_STATE_RUNNING)
        result.header->exit_status = status;
    end(RLE_STATE_EXITED, "");
}

void rle_result_exec(bool undo)
{
    if (!undo) {
        end(RLE_STATE_EXECED, "");
    } else if (result.header && result.header->state == RLE_STATE_EXECED) {
        result.header->end_ns = 0;
        result.header->state = RLE_STATE_RUNNING;
    }
}

void rle_result_detach(const char *why)
{
    end(RLE_STATE_DETACHED, why);
}

void rle_result_fail(const char *why)
{
    end(RLE_STATE_FAILED, why);
}
