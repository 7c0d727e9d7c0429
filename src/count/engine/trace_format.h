/* The channel by which traced threads hand memory accesses to the traffic model: one shared memory
 * file, made by the roofline process and inherited by the program, its children and what they exec.
 *
 *     header | process areas: the sites of one process | slots: control area and ring of one thread
 *
 * A *site* is what translated code knows beforehand of one or several accesses by the same address
 * registers: sizes, kinds, instructions. A *record* in a ring is then just a site and an address.
 *
 * Each ring has one writer and one reader. The writer stores a record, then moves its cursor, which
 * lies in shared memory: a thread killed at any point leaves only whole records. Every
 * RLE_TRACE_CHUNK bytes it looks whether the reader has made room, and waits for it if not; when
 * the reader shows no sign of life for long it stops tracing, counts what is lost and runs on.
 *
 * The reader chooses at any time which lines are recorded (struct rle_trace_slot.wanted);
 * translated code looks there before each record. Within a thread records are in program order;
 * between threads the order is that in which the reader empties the rings, a few chunks at a time.
 *
 * Marked regions are not in the records: each slot has a queue that says from which byte of the
 * ring on its thread is in which region. So a thread may be told its region by another one.
 *
 * Used by the engine, which has no libc, and by count/traffic.c; everything here is inline. */
#ifndef RL_COUNT_ENGINE_TRACE_FORMAT_H
#define RL_COUNT_ENGINE_TRACE_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** To be raised with every change of this file that the other end must know of: of a structure, or
 * of who writes what. An engine refuses a reader of another version. */
#define RLE_TRACE_MAGIC 0x36454341525452ull /* "RTRACE6" */
#define RLE_TRACE_PAGE  4096u

/** Most processes at a time, sites in one, and threads at a time. */
#define RLE_TRACE_PROCESSES 1024u
#define RLE_TRACE_SITES     (1u << 20)
#define RLE_TRACE_SLOTS     4096u

/** Bytes of a ring, and of the pieces in which room is made. Rings are aligned to a chunk in the
 * writer's memory, so that a limit reached exactly shows in the low 16 bits of the cursor. */
#define RLE_TRACE_RING  (1u << 20)
#define RLE_TRACE_CHUNK (1u << 16)

/** The control area of a slot; translated code reaches it through the thread segment. */
#define RLE_TRACE_AREA 0x10000u

/** Bytes of the header. */
#define RLE_TRACE_HEADER 0x8000u

#define RLE_TRACE_PROCESS_BYTES                                                                    \
    (RLE_TRACE_PAGE + (uint64_t)RLE_TRACE_SITES * sizeof(struct rle_trace_site))
#define RLE_TRACE_SLOT_BYTES (RLE_TRACE_AREA + (uint64_t)RLE_TRACE_RING)

/* ---- sites ---- */

enum rle_trace_kind {
    RLE_TRACE_LOAD = 0,
    RLE_TRACE_STORE = 1,
    RLE_TRACE_UPDATE = 2,   /**< load and store of the same bytes */
    RLE_TRACE_NT_STORE = 3, /**< non-temporal */
};

enum rle_trace_site_flag {
    RLE_TRACE_MORE = 1,    /**< the next site belongs to the same records */
    RLE_TRACE_COUNTED = 2, /**< a record's `count` says how many elements of `size` bytes follow
                              each other from its address on */
};

/** One access; several, linked by RLE_TRACE_MORE, for accesses that one record stands for. */
struct rle_trace_site {
    uint32_t block; /**< index in the result's BLOCKS */
    int32_t offset; /**< of the access from the record's address, bytes */
    uint32_t size;  /**< bytes */
    uint16_t insn;  /**< index of the instruction within its block */
    uint8_t kind;   /**< enum rle_trace_kind */
    uint8_t flags;  /**< enum rle_trace_site_flag */
};

struct rle_trace_record {
    uint64_t address;
    uint32_t site;  /**< index of its first site */
    uint32_t count; /**< for RLE_TRACE_COUNTED; otherwise undefined */
};

/* ---- regions ---- */

/** Most regions of a process, and changes of region of a thread that may wait for the reader. */
#define RLE_TRACE_REGIONS 4096u
#define RLE_TRACE_CHANGES 1024u

/** From the record at `position` on, counted as rle_trace_head does, the thread is in `region`. */
struct rle_trace_change {
    uint64_t position;
    uint32_t region; /**< index in the result's REGIONS + 1; 0: outside every region */
    uint32_t pad;
};

/* ---- layout ---- */

/** States of process areas and slots; the writer takes a free one, the reader frees it. */
enum rle_trace_state {
    RLE_TRACE_FREE = 0,
    RLE_TRACE_TAKEN = 1, /**< by a writer that still prepares it */
    RLE_TRACE_IN_USE = 2,
    RLE_TRACE_ENDED = 3, /**< the writer writes no more */
};

struct rle_trace_header {
    uint64_t magic;
    uint64_t bytes;       /**< of the whole file */
    uint32_t full;        /**< 1: every line is wanted and `wanted` is not looked at */
    uint32_t n_apart;     /**< lines whose numbers differ modulo this share no set at any level; a
                             power of two, at most RLE_TRACE_CLASSES */
    uint32_t n_ways;      /**< of a set of the first level: accesses to so many lines in turn, at
                             most, find them there again */
    uint32_t closed;      /**< 1: the reader has ended in order; nobody reads any more */
    uint64_t heartbeat;   /**< grows while the reader lives */
    uint64_t classes;     /**< what a new slot is to record: see rle_trace_want */
    uint32_t centre;      /**< class from which translated code reckons: see rle_trace_slot.mask */
    uint32_t n_processes; /**< process areas ever taken: no higher one has been */
    uint32_t n_slots;     /**< slots likewise */
    uint32_t process_state[RLE_TRACE_PROCESSES]; /**< enum rle_trace_state */
    uint32_t slot_state[RLE_TRACE_SLOTS];
};

/** First page of a process area; its sites follow on the next one. */
struct rle_trace_process {
    int32_t pid;       /**< of the writer */
    uint32_t sequence; /**< as in the result file's name */
    uint32_t n_sites;  /**< valid sites; grows, release order. Site 0 is never used */
    uint32_t pad;
    uint64_t skipped;  /**< accesses in the code that are not traced, because of their form … */
    uint64_t overflow; /**< … or because sites ran out */
};

/** Widths of access for which tables exist: all bytes within 8, 16, 32, 64 or 128 of the first. */
enum { RLE_TRACE_WIDTHS = 5, RLE_TRACE_WIDTH_LEAST = 8 };
/** Entries of a table: one for every 16 bytes of a page. */
enum { RLE_TRACE_GRAIN_SHIFT = 4, RLE_TRACE_GRAINS = 256, RLE_TRACE_GRAINS_PER_LINE = 4 };
enum { RLE_TRACE_LINE_SHIFT = 6, RLE_TRACE_LINE = 1 << RLE_TRACE_LINE_SHIFT };
/** Lines that the tables tell apart: numbers modulo so many. */
enum { RLE_TRACE_CLASSES = RLE_TRACE_GRAINS / RLE_TRACE_GRAINS_PER_LINE };

/** The widest cluster of accesses one record can stand for. */
enum { RLE_TRACE_WIDTH_MAX = 128 };

/** Reaches: how many lines accesses of some width touch at most, two or three, and the widths. */
enum { RLE_TRACE_REACHES = 2 };
enum { RLE_TRACE_NARROW_MAX = RLE_TRACE_LINE + 1 };

static inline unsigned rle_trace_reach(unsigned width)
{
    return width > RLE_TRACE_NARROW_MAX;
}

/** Control area of a slot. `cursor` is the address the next record goes to, in the writer's memory,
 * where the ring begins at `ring`. */
struct rle_trace_slot {
    /* Written by translated code. */
    uint64_t cursor;
    uint64_t limit; /**< where the cursor must stop for rle_trace_make_room */
    /* Apart from the cursor, whose cache line the reader takes away each time it looks. */
    _Alignas(64) uint64_t staged[4]; /**< arguments of a call into the engine */
    uint64_t spill[2];
    uint8_t vector[2][64]; /**< index vector and mask of a gather */
    /* By line number modulo n_apart, the address of the line touched last, and the same again if
     * its being written to was recorded. Accesses that would repeat it need no record: nothing has
     * touched its sets since, so that it is the most recent one of each that holds it. 0: none. */
    uint64_t recent[RLE_TRACE_CLASSES];
    uint64_t soiled[RLE_TRACE_CLASSES];
    /* Written by the engine. */
    _Alignas(64) uint64_t ring;
    uint64_t wraps;   /**< times the cursor went back to `ring`; stored after the cursor */
    uint64_t lost;    /**< records overwritten because nobody read */
    uint32_t process; /**< index of its process area */
    uint32_t thread;  /**< engine's slot number of the thread */
    uint32_t deaf;    /**< 1: the reader is gone, records are thrown away */
    uint32_t paused;  /**< 1: the thread is where nothing is to be recorded */
    uint64_t waits;   /**< times the ring, or the queue of changes, was full */
    uint32_t region;  /**< of the latest change */
    uint32_t changes; /**< queued since the slot was taken */
    /* Written by the reader. */
    _Alignas(64) uint64_t tail; /**< bytes read since the slot was taken */
    uint32_t room;              /**< futex word: changes when `tail` or `changes_seen` does */
    uint32_t changes_seen;
    uint32_t stale;                /**< 1: masks in the code are to follow the header's `classes` */
    _Alignas(64) uint64_t classes; /**< wanted exactly, one bit each */
    /* Two tests whether an access may touch a line to be recorded; either may say yes too often,
     * never too seldom. With x the address of its last byte less RLE_TRACE_LINE * centre, by reach:
     * only if (x & mask) is 0 and (x & within) less than RLE_TRACE_LINE - 1 + width. Loops hold
     * masks of their own, changed by the engine when it finds `stale`. */
    uint32_t mask[RLE_TRACE_REACHES];
    uint32_t within[RLE_TRACE_REACHES];
    /* By width and by the grain of a page that holds the first byte: only if not 0. */
    uint8_t wanted[RLE_TRACE_WIDTHS][RLE_TRACE_GRAINS];
    /* How far it is from a byte to behind the end of the next wanted line, the byte's own included:
     * less than 0, and no farther than RLE_TRACE_CLASSES lines, where all is the same again. By the
     * number of its line modulo RLE_TRACE_CLASSES, for the line's first byte … */
    int16_t until[RLE_TRACE_CLASSES];
    /* … and for address a: (int32_t)(a - RLE_TRACE_LINE * (centre + 1)) | beyond. This says -1 of
     * all where more is wanted than the centre, and lines at the same distance from each other. */
    int32_t beyond;
    /* Written by the engine, a ring. */
    struct rle_trace_change change[RLE_TRACE_CHANGES];
};

_Static_assert(sizeof(struct rle_trace_site) == 16, "format");
_Static_assert(sizeof(struct rle_trace_record) == 16, "format");
_Static_assert(sizeof(struct rle_trace_header) <= RLE_TRACE_HEADER, "format");
_Static_assert(sizeof(struct rle_trace_slot) <= RLE_TRACE_AREA, "format");
_Static_assert(RLE_TRACE_RING % RLE_TRACE_CHUNK == 0, "format");

/** Offsets in the file. */
static inline uint64_t rle_trace_process_offset(uint32_t process)
{
    return RLE_TRACE_HEADER + (uint64_t)process * RLE_TRACE_PROCESS_BYTES;
}

static inline uint64_t rle_trace_slot_offset(uint32_t slot)
{
    uint64_t first = rle_trace_process_offset(RLE_TRACE_PROCESSES);
    first = (first + RLE_TRACE_CHUNK - 1) / RLE_TRACE_CHUNK * RLE_TRACE_CHUNK;
    return first + (uint64_t)slot * RLE_TRACE_SLOT_BYTES;
}

static inline uint64_t rle_trace_file_bytes(void)
{
    return rle_trace_slot_offset(RLE_TRACE_SLOTS);
}

/* ---- taking and giving back ---- */

/**
 * Take a free process area or slot.
 *
 * @param states  header->process_state or header->slot_state.
 * @param n       how many there are.
 * @param used    header->n_processes or header->n_slots.
 * @return its index; n if none is free. The caller fills it, then sets its state to IN_USE.
 */
static inline uint32_t rle_trace_take(uint32_t *states, uint32_t n, uint32_t *used)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t state = RLE_TRACE_FREE;
        if (!__atomic_compare_exchange_n(&states[i], &state, RLE_TRACE_TAKEN, false,
                                         __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            continue;
        uint32_t most = __atomic_load_n(used, __ATOMIC_RELAXED);
        while (most <= i && !__atomic_compare_exchange_n(used, &most, i + 1, false,
                                                         __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            ;
        return i;
    }
    return n;
}

/** Forget which lines a slot's thread touched last: the next access to each is recorded. */
static inline void rle_trace_forget(struct rle_trace_slot *slot)
{
    for (unsigned i = 0; i < RLE_TRACE_CLASSES; i++)
        slot->recent[i] = slot->soiled[i] = 0;
}

/** The same for the line that holds an address. */
static inline void rle_trace_forget_line(struct rle_trace_slot *slot, uint32_t n_apart,
                                         uint64_t address)
{
    uint64_t i = address / RLE_TRACE_LINE % n_apart;
    slot->recent[i] = slot->soiled[i] = 0;
}

static inline void rle_trace_set_state(uint32_t *state, enum rle_trace_state value)
{
    __atomic_store_n(state, value, __ATOMIC_RELEASE);
}

/** Begin to write to a slot just taken, whose ring is mapped at `ring`, aligned to a chunk. What
 * the reader wants is kept. */
static inline void rle_trace_begin(struct rle_trace_slot *slot, uint64_t ring)
{
    __atomic_store_n(&slot->wraps, 0, __ATOMIC_RELAXED);
    slot->ring = ring;
    slot->limit = ring + RLE_TRACE_CHUNK;
    slot->lost = 0;
    slot->deaf = 0;
    slot->waits = 0;
    slot->region = 0;
    slot->changes = 0;
    slot->changes_seen = 0;
    __atomic_store_n(&slot->cursor, ring, __ATOMIC_RELEASE);
}

/* ---- the writer ---- */

/** Bytes written since the slot was taken. */
static inline uint64_t rle_trace_head(const struct rle_trace_slot *slot)
{
    for (;;) {
        uint64_t wraps = __atomic_load_n(&slot->wraps, __ATOMIC_ACQUIRE);
        uint64_t cursor = __atomic_load_n(&slot->cursor, __ATOMIC_ACQUIRE);
        if (__atomic_load_n(&slot->wraps, __ATOMIC_ACQUIRE) == wraps)
            return wraps * RLE_TRACE_RING + (cursor - slot->ring);
    }
}

/** What to do when the cursor has reached the limit. */
enum rle_trace_full {
    RLE_TRACE_GO_ON, /**< there is room */
    RLE_TRACE_WAIT,  /**< none: wait until `room` changes from the value given, then ask again */
};

/**
 * The cursor stands at the limit or less than a chunk beyond: move the limit if the reader has
 * emptied what comes next.
 *
 * @param ret_room  for RLE_TRACE_WAIT, the value of `room` to wait on.
 */
static inline enum rle_trace_full rle_trace_make_room(struct rle_trace_slot *slot,
                                                      uint32_t *ret_room)
{
    *ret_room = __atomic_load_n(&slot->room, __ATOMIC_ACQUIRE);
    uint64_t cursor = slot->cursor;
    uint64_t begun =
        slot->wraps * RLE_TRACE_RING + (cursor - slot->ring) / RLE_TRACE_CHUNK * RLE_TRACE_CHUNK;
    uint64_t tail = __atomic_load_n(&slot->tail, __ATOMIC_ACQUIRE);
    if (begun + 2 * RLE_TRACE_CHUNK - tail > RLE_TRACE_RING)
        return RLE_TRACE_WAIT;
    if (cursor >= slot->ring + RLE_TRACE_RING) {
        cursor -= RLE_TRACE_RING;
        __atomic_store_n(&slot->cursor, cursor, __ATOMIC_RELEASE);
        __atomic_store_n(&slot->wraps, slot->wraps + 1, __ATOMIC_RELEASE);
    }
    slot->limit = cursor / RLE_TRACE_CHUNK * RLE_TRACE_CHUNK + RLE_TRACE_CHUNK;
    return RLE_TRACE_GO_ON;
}

/** Nobody reads: throw away what was written since the ring began, and begin again. */
static inline void rle_trace_drop(struct rle_trace_slot *slot)
{
    slot->lost += (slot->cursor - slot->ring) / sizeof(struct rle_trace_record);
    slot->limit = slot->ring + RLE_TRACE_CHUNK;
    __atomic_store_n(&slot->cursor, slot->ring, __ATOMIC_RELEASE);
}

/** Write one record from C. Returns true if the cursor has then reached the limit, where
 * rle_trace_make_room must be called before the next record. */
static inline bool rle_trace_write(struct rle_trace_slot *slot, uint64_t address, uint32_t site,
                                   uint32_t count)
{
    struct rle_trace_record *record = (struct rle_trace_record *)slot->cursor; /* NOLINT */
    record->address = address;
    record->site = site;
    record->count = count;
    __atomic_store_n(&slot->cursor, slot->cursor + sizeof *record, __ATOMIC_RELEASE);
    return slot->cursor >= slot->limit;
}

/**
 * Note that the slot's thread is in another region from its next record on. Not only that thread
 * may do so, but one at a time.
 *
 * @return false if the queue is full: wait until `room` changes from the value it had before.
 */
static inline bool rle_trace_change_region(struct rle_trace_slot *slot, uint32_t region)
{
    uint32_t n = slot->changes;
    if (n - __atomic_load_n(&slot->changes_seen, __ATOMIC_ACQUIRE) >= RLE_TRACE_CHANGES)
        return false;
    slot->change[n % RLE_TRACE_CHANGES] =
        (struct rle_trace_change){.position = rle_trace_head(slot), .region = region};
    slot->region = region;
    __atomic_store_n(&slot->changes, n + 1, __ATOMIC_RELEASE);
    return true;
}

/* ---- the reader ---- */

/**
 * Records that can be read now in one piece.
 *
 * @param ring        the ring, as mapped by the reader.
 * @param from        bytes looked at since the slot was taken: at least what was released.
 * @param ret_n       their number; 0: none at the moment.
 * @return the first of them; valid until rle_trace_release.
 */
static inline const struct rle_trace_record *
rle_trace_peek(const struct rle_trace_slot *slot, const void *ring, uint64_t from, uint64_t *ret_n)
{
    uint64_t head = rle_trace_head(slot);
    uint64_t at = from % RLE_TRACE_RING;
    uint64_t bytes = head > from ? head - from : 0;
    if (bytes > RLE_TRACE_RING - at)
        bytes = RLE_TRACE_RING - at;
    *ret_n = bytes / sizeof(struct rle_trace_record);
    return (const struct rle_trace_record *)((const char *)ring + at);
}

/** Give `n` records back to the writer. Returns true if it is to be woken on `room`, in case it
 * waits: not for every chunk, or writer and reader would take turns chunk by chunk. */
static inline bool rle_trace_release(struct rle_trace_slot *slot, uint64_t n)
{
    uint64_t before = slot->tail;
    uint64_t after = before + n * sizeof(struct rle_trace_record);
    __atomic_store_n(&slot->tail, after, __ATOMIC_RELEASE);
    if (before / (RLE_TRACE_RING / 2) == after / (RLE_TRACE_RING / 2))
        return false;
    __atomic_add_fetch(&slot->room, 1, __ATOMIC_ACQ_REL);
    return true;
}

/** The next change of region not yet seen, of those made before the records that rle_trace_peek
 * showed last; NULL: none. */
static inline const struct rle_trace_change *
rle_trace_next_change(const struct rle_trace_slot *slot)
{
    uint32_t seen = slot->changes_seen;
    return __atomic_load_n(&slot->changes, __ATOMIC_ACQUIRE) == seen
               ? NULL
               : &slot->change[seen % RLE_TRACE_CHANGES];
}

/** Done with that change. Returns true if the writer is to be woken, as rle_trace_release. */
static inline bool rle_trace_see_change(struct rle_trace_slot *slot)
{
    uint32_t seen = slot->changes_seen + 1;
    __atomic_store_n(&slot->changes_seen, seen, __ATOMIC_RELEASE);
    if (seen % (RLE_TRACE_CHANGES / 2) != 0)
        return false;
    __atomic_add_fetch(&slot->room, 1, __ATOMIC_ACQ_REL);
    return true;
}

/** Is any line wanted between two bytes of a page, the last one perhaps beyond it? */
static inline uint8_t rle_trace_any(uint64_t classes, unsigned first, unsigned last)
{
    uint8_t any = 0;
    for (unsigned line = first / RLE_TRACE_LINE; line <= last / RLE_TRACE_LINE; line++)
        any |= classes >> line % RLE_TRACE_CLASSES & 1;
    return any;
}

/** The two masks that struct rle_trace_slot describes. */
struct rle_trace_mask {
    uint32_t mask;
    uint32_t within;
};

/* A wanted class that lies d lines behind the centre is touched by accesses whose last byte lies d
 * to d + 1 (or d + 2) lines behind it. The mask keeps those bits of the line that are 0 in all of
 * these. If all d are multiples of two (or four), lines from each on have the low bits to
 * themselves, and say by them how far behind it an access ends. */
static inline struct rle_trace_mask rle_trace_mask_for(uint64_t classes, uint32_t centre,
                                                       unsigned reach)
{
    unsigned low = 2u << reach; /* lines: a power of two above those that are touched */
    unsigned used = low - 1;
    unsigned all = 0;
    for (unsigned d = 0; d < RLE_TRACE_CLASSES; d++) {
        if (!(classes >> (d + centre) % RLE_TRACE_CLASSES & 1))
            continue;
        all |= d;
        for (unsigned line = d; line <= d + 1 + reach; line++)
            used |= line;
    }
    struct rle_trace_mask m = {.mask = (~used & (RLE_TRACE_CLASSES - 1u)) << RLE_TRACE_LINE_SHIFT,
                               .within = (all % low == 0 ? low : 1) * RLE_TRACE_LINE - 1};
    return m;
}

static inline void rle_trace_set_masks(struct rle_trace_slot *slot, uint64_t classes,
                                       uint32_t centre)
{
    for (unsigned reach = 0; reach < RLE_TRACE_REACHES; reach++) {
        struct rle_trace_mask m = rle_trace_mask_for(classes, centre, reach);
        __atomic_store_n(&slot->mask[reach], m.mask, __ATOMIC_RELAXED);
        __atomic_store_n(&slot->within[reach], m.within, __ATOMIC_RELAXED);
    }
}

/* Are lines wanted that are so many apart, the centre among them, and no others? */
static inline bool rle_trace_is_period(uint64_t classes, uint32_t centre, unsigned lines)
{
    for (unsigned i = 0; i < RLE_TRACE_CLASSES; i++)
        if ((classes >> i & 1) != ((i - centre) % lines == 0))
            return false;
    return true;
}

static inline void rle_trace_set_distances(struct rle_trace_slot *slot, uint64_t classes,
                                           uint32_t centre)
{
    unsigned lines = 0;
    for (unsigned i = 2 * RLE_TRACE_CLASSES; i-- > 0;) {
        bool known = classes >> i % RLE_TRACE_CLASSES & 1;
        lines = known ? 1 : lines < RLE_TRACE_CLASSES ? lines + 1 : lines;
        if (i < RLE_TRACE_CLASSES)
            __atomic_store_n(&slot->until[i], (int16_t) - (int)(lines * RLE_TRACE_LINE),
                             __ATOMIC_RELAXED);
    }
    int32_t beyond = classes ? -1 : -(int32_t)(RLE_TRACE_CLASSES * RLE_TRACE_LINE);
    for (unsigned period = RLE_TRACE_CLASSES; period > 1; period /= 2)
        if (rle_trace_is_period(classes, centre, period))
            beyond = -(int32_t)(period * RLE_TRACE_LINE);
    __atomic_store_n(&slot->beyond, beyond, __ATOMIC_RELAXED);
}

static inline void rle_trace_set_wanted(struct rle_trace_slot *slot, uint64_t classes,
                                        uint32_t centre)
{
    __atomic_store_n(&slot->classes, classes, __ATOMIC_RELAXED);
    rle_trace_set_distances(slot, classes, centre);
    rle_trace_set_masks(slot, classes, centre);
    for (unsigned w = 0; w < RLE_TRACE_WIDTHS; w++) {
        unsigned reach = (RLE_TRACE_WIDTH_LEAST << w) - 1;
        for (unsigned grain = 0; grain < RLE_TRACE_GRAINS; grain++) {
            unsigned at = grain << RLE_TRACE_GRAIN_SHIFT;
            unsigned end = at + (1u << RLE_TRACE_GRAIN_SHIFT) - 1 + reach;
            __atomic_store_n(&slot->wanted[w][grain], rle_trace_any(classes, at, end),
                             __ATOMIC_RELAXED);
        }
    }
}

/**
 * Say which lines a thread shall record: those whose number modulo RLE_TRACE_CLASSES has its bit
 * set; none while it is paused. May be called at any time; records already in the ring were chosen
 * before. Reader and writer may do so at once: who comes last sees what the other changed.
 *
 * @param centre  the header's.
 */
static inline void rle_trace_want(struct rle_trace_slot *slot, uint64_t classes, uint32_t centre)
{
    uint32_t paused;
    do {
        paused = __atomic_load_n(&slot->paused, __ATOMIC_SEQ_CST);
        rle_trace_set_wanted(slot, paused ? 0 : classes, centre);
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
    } while (__atomic_load_n(&slot->paused, __ATOMIC_SEQ_CST) != paused);
}

#endif
