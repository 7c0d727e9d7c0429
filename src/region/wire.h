/* The file in which one process leaves the times of its regions.
 *
 * Written in place by the program's threads, through a shared mapping, so that a process that is
 * killed loses nothing but the regions it was in. Read by src/sample when the program has ended. */
#ifndef RL_REGION_WIRE_H
#define RL_REGION_WIRE_H

#include <stdint.h>

/** Environment variable that names the directory of these files; unset: regions are off. */
#define REGION_DIR_VARIABLE "ROOFLINE_REGION_DIR"
/** File names are this, the process id, a dot, and the start time. */
#define REGION_FILE_PREFIX "region."

#define REGION_MAGIC    0x4E475252u /* "RRGN" */
#define REGION_VERSION  2u
#define REGION_NAME_LEN 96
#define REGION_MAX      1024u
#define REGION_SLOT_MAX 8192u
#define REGION_SPAN_MAX 16384u

struct region_head {
    uint32_t magic, version;
    int32_t pid;
    uint32_t n_entry;      /**< entries in use; may run past REGION_MAX: the rest was dropped */
    uint32_t n_slot;       /**< likewise */
    uint32_t n_mismatched; /**< ends without a begin */
    uint32_t n_span;
    uint32_t unused;
    uint64_t start_ns; /**< CLOCK_MONOTONIC when the file was made */
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

#endif
