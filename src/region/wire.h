/* The files by which the recorder and the region library inside a program speak with each other.
 *
 * One a process holds the times of its regions, and what hardware counters counted in them where
 * that was asked for. It is written in place by the program's threads, through a shared mapping, so
 * that a process that is killed loses nothing but the regions it was in. Read by src/sample and
 * src/count when the program has ended. The plan goes the other way: which events to count. */
#ifndef RL_REGION_WIRE_H
#define RL_REGION_WIRE_H

#include <stdint.h>

/** Environment variable that names the directory of these files; unset: regions are off. */
#define REGION_DIR_VARIABLE "ROOFLINE_REGION_DIR"
/** File names are this, the process id, a dot, and the start time. */
#define REGION_FILE_PREFIX "region."
/** What to count, in the same directory; no such file: nothing. */
#define REGION_PLAN_FILE "counters"

#define REGION_MAGIC      0x4E475252u /* "RRGN" */
#define REGION_PLAN_MAGIC 0x4C505252u /* "RRPL" */
/** Of both: a program may be linked with an older library than the recorder expects. */
#define REGION_VERSION   3u
#define REGION_NAME_LEN  96
#define REGION_MAX       1024u
#define REGION_SLOT_MAX  8192u
#define REGION_SPAN_MAX  16384u
#define REGION_EVENT_MAX 24u
#define REGION_GROUP_MAX 2u /* kinds of core */
#define REGION_SCOPES    2u

/** Whose work counts in a region. */
enum region_scope {
    /** Each thread's own in the regions it opens. */
    REGION_SCOPE_THREAD = 0,
    /** That of all threads in the regions that the first thread opens. */
    REGION_SCOPE_PROCESS = 1,
};

struct region_event {
    uint32_t type;  /**< of perf_event_attr, as are the next two */
    uint32_t group; /**< < REGION_GROUP_MAX: those of one group are counted together */
    uint64_t config, config1;
};

/** What is to be counted in a run. */
struct region_plan {
    uint32_t magic, version;
    uint32_t scope;
    uint32_t n_event; /**< 1 to REGION_EVENT_MAX */
    struct region_event event[REGION_EVENT_MAX];
};

/** What became of the plan in a process. */
enum region_counting {
    REGION_COUNTING_OFF = 0, /**< there was none */
    REGION_COUNTING_ON,      /**< `count` follows */
    REGION_COUNTING_FOREIGN, /**< it was of another version */
};

struct region_head {
    uint32_t magic, version;
    int32_t pid;
    uint32_t n_entry;      /**< entries in use; may run past REGION_MAX: the rest was dropped */
    uint32_t n_slot;       /**< likewise */
    uint32_t n_mismatched; /**< ends without a begin */
    uint32_t n_span;
    uint32_t unused;
    uint64_t start_ns; /**< CLOCK_MONOTONIC when the file was made */
    uint32_t counting; /**< enum region_counting */
    uint32_t n_event;  /**< of the plan */
};

/** One region over all threads of the process. */
struct region_entry {
    char name[REGION_NAME_LEN];
    uint64_t n_active; /**< threads in it */
    uint64_t since_ns; /**< when the first of them entered */
    uint64_t wall_ns;  /**< time with at least one thread in it, up to the last time none was */
    uint64_t stride;   /**< of the main thread's stays in it, one in so many is kept as a span */
};

/** One region in one thread. */
struct region_slot {
    uint32_t entry;
    int32_t tid;
    uint64_t calls;   /**< ended ones */
    uint64_t time_ns; /**< inclusive, recursion once */
    uint64_t self_ns; /**< without nested regions */
    uint64_t depth;   /**< begun and not yet ended */
    uint64_t begun_ns;
    uint64_t n_apart; /**< times begun in no other region, and with the main thread in none */
};

/** When the main thread was in a region: threads that are in none work for it then. */
struct region_span {
    uint64_t begin_ns, end_ns; /**< CLOCK_MONOTONIC */
    uint32_t entry;
    uint32_t unused;
};

struct region_file {
    struct region_head head;
    struct region_entry entry[REGION_MAX];
    struct region_slot slot[REGION_SLOT_MAX];
    struct region_span span[REGION_SPAN_MAX];
};

/** What was counted in the region of the slot of the same index: inclusive, recursion once. */
struct region_count {
    uint64_t n_counted; /**< times it was begun and ended with both readings taken */
    uint64_t n_missed;  /**< times a reading failed */
    uint64_t time_ns;   /**< in it, as in the slot, of the times counted */
    uint64_t read_ns;   /**< of that, spent on reading counters, those of nested regions too */
    uint64_t enabled_ns[REGION_GROUP_MAX]; /**< over all threads counted */
    uint64_t running_ns[REGION_GROUP_MAX]; /**< less: not counted all of the time */
    uint64_t value[REGION_EVENT_MAX];
    uint16_t error[REGION_EVENT_MAX]; /**< errno of an event that could not be opened; else 0 */
};

/** The file where regions are counted. */
struct region_counted_file {
    struct region_file times;
    struct region_count count[REGION_SLOT_MAX];
};

#endif
