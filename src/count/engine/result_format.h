/* The result file of one counted process: a sparse file that the engine maps shared and updates in
 * place, so that it may be read while the process runs and loses nothing when it is killed.
 *
 * Everything is little-endian and naturally aligned. The header comes first; it says where each
 * section is. A section is an array of fixed-size records of which the first `used` are valid:
 * a record is complete before `used` covers it (load `used` with acquire order), and never changes
 * afterwards unless its description says so. Unused capacity is a hole in the file.
 *
 * How counts are coded. The engine translates *fragments*: runs of blocks, in the order they
 * execute if no branch is taken out of them. Entering a fragment adds one to its head counter;
 * leaving it behind a block that is not its last adds one to that block's exit counter. Hence, for
 * the fragment's blocks b = first .. first+count-1,
 *
 *     executions(b) = head - sum of exit counters of the earlier blocks of the fragment,
 *
 * and every instruction of a block executes as often as the block, but for the corrections: a
 * correction's counter says how often the fragment was left *before* its instruction `insn`
 * (signals and faults do that): instructions insn, insn+1, ... to the end of the fragment each
 * executed that many times less. Corrections of other kinds say how many repetitions a string
 * instruction did in all its executions (one that a signal interrupts counts anew what was left of
 * it), or who called a place through a pointer first. The same code may belong to several fragments
 * (and fragments to code that was later unloaded or rewritten); totals per instruction are sums
 * over all fragments.
 *
 * Counters live in *extents*, one array of 64-bit counters per thread slot and region; counter i of
 * an extent is at `extent.offset + 8*i`. Sum over extents, modulo 2^64, for totals. Extents of a
 * region hold what was executed inside it but not in a region nested in it; what moves there is
 * taken off in a further extent of region 0, whose counters are thus negative. Sums are right at
 * any time for a process that ended by itself; in one that was killed a region still open counts as
 * outside. */
#ifndef RL_COUNT_ENGINE_RESULT_FORMAT_H
#define RL_COUNT_ENGINE_RESULT_FORMAT_H

#include <stdint.h>

#define RLE_RESULT_MAGIC   "RLENGRES"
#define RLE_RESULT_VERSION 1u

/** Index meaning "none" where a record refers to another; records of kind 0 are real otherwise. */
#define RLE_NONE 0xFFFFFFFFu

/** `isa` values. */
enum rle_isa { RLE_ISA_X86_64 = 1, RLE_ISA_AARCH64 = 2 };

/** `state` of a process. A file that says RUNNING though its process is gone: killed by a signal.
 */
enum rle_process_state {
    RLE_STATE_RUNNING = 1,
    RLE_STATE_EXITED = 2,   /**< by exit, `exit_status` holds the argument */
    RLE_STATE_EXECED = 3,   /**< went on as another program, which has (or refused) its own file */
    RLE_STATE_DETACHED = 4, /**< runs on uncounted from `end_ns`; `message` says why */
    RLE_STATE_FAILED = 5,   /**< the engine gave up and ended the process; `message` says why */
};

/** The sections, in the order of rle_result_header.sections. */
enum rle_section_id {
    RLE_SECTION_MODULES,     /**< struct rle_result_module */
    RLE_SECTION_FRAGMENTS,   /**< struct rle_result_fragment */
    RLE_SECTION_BLOCKS,      /**< struct rle_result_block */
    RLE_SECTION_CODE,        /**< bytes: the instructions of blocks */
    RLE_SECTION_CORRECTIONS, /**< struct rle_result_correction */
    RLE_SECTION_THREADS,     /**< struct rle_result_thread */
    RLE_SECTION_EXTENTS,     /**< struct rle_result_extent */
    RLE_SECTION_UNCOUNTED,   /**< struct rle_result_uncounted */
    RLE_SECTION_REGIONS,     /**< struct rle_result_region */
    RLE_SECTION_STRINGS,     /**< bytes: paths, names, argv */
    RLE_N_SECTIONS,
};

struct rle_result_section {
    uint64_t offset;   /**< in the file, page-aligned */
    uint32_t stride;   /**< bytes a record */
    uint32_t capacity; /**< records that fit */
    uint32_t used;     /**< records that are valid; grows */
    uint32_t pad;
};

struct rle_result_header {
    char magic[8]; /**< RLE_RESULT_MAGIC, no terminator */
    uint32_t version;
    uint32_t header_bytes; /**< sizeof(struct rle_result_header) of the writer */
    uint32_t isa;          /**< enum rle_isa */
    uint32_t mode;         /**< enum rle_mode of options.h */
    int32_t pid;
    int32_t ppid;
    uint32_t sequence; /**< how many programs this pid ran under the engine before (exec) */
    uint32_t state;    /**< enum rle_process_state; changes */
    int32_t exit_status;
    uint32_t n_counters;       /**< counters in use, grows; counter 0 is never used */
    uint32_t counter_capacity; /**< counters an extent can hold */
    uint32_t argv_offset;      /**< in STRINGS: arguments, each with a terminator … */
    uint32_t argv_bytes;       /**< … in so many bytes */
    uint32_t pad;
    uint64_t start_ns; /**< CLOCK_MONOTONIC when counting began */
    uint64_t end_ns;   /**< when it ended; 0 while running or if killed */
    uint64_t start_realtime_ns;
    uint64_t translated_insns; /**< instructions translated, a measure of start-up cost */
    char message[256];         /**< why, for DETACHED and FAILED, or what was lost; else empty */
    struct rle_result_section sections[RLE_N_SECTIONS];
};

/** A mapped file with code, or a stretch of anonymous code (path offset 0: the empty string). */
struct rle_result_module {
    uint64_t address;     /**< of the executable mapping */
    uint64_t length;      /**< bytes */
    uint64_t file_offset; /**< of the mapping's first byte */
    uint64_t inode;
    uint64_t device;
    uint32_t path; /**< offset in STRINGS, terminated; "" for anonymous code, "[vdso]" as shown */
    uint8_t build_id_bytes; /**< 0: none found */
    uint8_t build_id[32];
    uint8_t writable; /**< 1: the mapping was writable too (JIT) */
    uint8_t pad[2];
};

struct rle_result_fragment {
    uint32_t first_block;
    uint32_t n_blocks;
    uint32_t head_counter; /**< RLE_NONE: its executions are not counted */
    uint32_t n_insns;
};

struct rle_result_block {
    uint64_t address; /**< of its first instruction, as the process saw it */
    uint32_t module;  /**< index in MODULES or RLE_NONE; the offset in the file is
                           address - module.address + module.file_offset */
    uint32_t code;    /**< offset in CODE of its instruction bytes, as they were when translated */
    uint32_t
        exit_counter; /**< leaving the fragment behind this block; RLE_NONE: cannot or is last */
    uint16_t code_bytes;
    uint16_t n_insns;
};

/** What a correction's counter counts. */
enum rle_correction_kind {
    RLE_CORRECTION_LEFT = 0,    /**< times the fragment was left before the instruction */
    RLE_CORRECTION_REPEATS = 1, /**< repetitions of the instruction */
    /** No count, and of no fragment: this counter holds the address behind a call through a
     * pointer, the next one where it led, when the place was first gone to through any pointer. */
    RLE_CORRECTION_FIRST_CALL = 2,
};

struct rle_result_correction {
    uint32_t fragment;
    uint32_t insn; /**< index within the fragment, over all its blocks */
    uint32_t counter;
    uint32_t kind; /**< enum rle_correction_kind */
};

/** A slot that serves one thread at a time; threads that come later may reuse it. Changes. */
struct rle_result_thread {
    int32_t tid;        /**< latest thread, as the kernel numbers it */
    uint32_t n_threads; /**< threads the slot has served so far; 1: counts are one thread's */
    uint32_t alive;     /**< 1 while a thread uses it */
    uint32_t vfork;     /**< 1: the latest was a child process sharing the memory until its exec */
    uint64_t start_ns;  /**< of the latest */
    uint64_t end_ns;    /**< of the latest; 0 while alive */
};

struct rle_result_extent {
    uint64_t offset; /**< in the file, of n_counters 64-bit counters */
    uint32_t thread; /**< index in THREADS */
    uint32_t region; /**< index in REGIONS + 1; 0: outside every region */
};

/** How the message of a process begins whose counts were lost. */
#define RLE_COUNTS_LOST "counts were lost"

/** Detail of RLE_UNCOUNTED_CAPACITY where only what is told of regions lacks. */
#define RLE_NO_ROOM_FOR_REGION "no room for the counts of a region"

/** Why some part of the work is missing from the counts. */
enum rle_uncounted_reason {
    RLE_UNCOUNTED_DETACHED = 1, /**< ran natively from begin_ns on */
    RLE_UNCOUNTED_CAPACITY = 2, /**< a table was full: `events` fragments without counters */
    RLE_UNCOUNTED_NATIVE = 3,   /**< code left native on request (JIT) */
    RLE_UNCOUNTED_CHILD = 4,    /**< a program started by exec that could not be followed */
    RLE_UNCOUNTED_RUNTIME = 5,  /**< before take-over: the dynamic loader's own start-up */
    RLE_UNCOUNTED_BEFORE = 6,   /**< from its start until it was attached to */
    RLE_UNCOUNTED_PAUSED = 7,   /**< from when the engine left on request, until it was back */
};

/** `events` and `end_ns` may change; `begin_ns` too, while `events` is 0. */
struct rle_result_uncounted {
    uint32_t reason; /**< enum rle_uncounted_reason */
    uint32_t detail; /**< offset in STRINGS of an explanation, 0: none */
    uint64_t begin_ns;
    uint64_t end_ns; /**< 0: open end */
    uint64_t events; /**< 0: it did not come to it, the entry is void */
};

struct rle_result_region {
    uint32_t name;   /**< offset in STRINGS */
    uint32_t parent; /**< enclosing region, index in REGIONS or RLE_NONE */
    uint64_t entries;
};

#endif
