/* Reading what the counting engine left: from a result file to executions of pieces of code.
 *
 * The file (engine/result_format.h) codes counts by fragments and exits; here they are executions,
 * piece by piece, over all threads and for each region. The file is not trusted: whatever does not
 * fit is left out and said in `problem`. Knows nothing of functions or operations; used by
 * profile/tally.h. */
#ifndef RL_COUNT_RESULT_H
#define RL_COUNT_RESULT_H

#include <roofline/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RL_RESULT_NO_MODULE UINT32_MAX

struct rl_result_module {
    const char *path; /**< "" for memory of no file */
    const uint8_t *build_id;
    size_t build_id_size; /**< 0: none known */
    uint64_t address;     /**< where it was mapped: [address, address + length) */
    uint64_t length;
    uint64_t file_offset;
    bool is_generated; /**< memory of no lasting file: just-in-time code */
};

/** A run of whole instructions that were executed equally often. */
struct rl_result_piece {
    uint32_t module;  /**< index, or RL_RESULT_NO_MODULE */
    uint32_t block;   /**< index of the block of the file it is part of … */
    uint32_t first;   /**< … and of its first instruction therein */
    uint32_t size;    /**< bytes */
    uint64_t address; /**< as the process saw it */
    uint64_t offset;  /**< in the module's file; = address for generated code or no module */
    const uint8_t *code;
    uint64_t executions; /**< all threads and regions together */
    bool has_next;       /**< `next`, `to_next` say something */
    uint64_t next;       /**< of the executions, those that went on at this offset … */
    uint64_t to_next;    /**< … were so many; the others went elsewhere */
};

/** A repeated string instruction whose repetitions were counted. */
struct rl_result_repeat {
    uint32_t piece; /**< index in rl_result.pieces */
    uint32_t skip;  /**< bytes of the piece before it */
    uint64_t times; /**< repetitions in all executions */
};

/** The first call of a place through a pointer, by addresses as the process saw them. */
struct rl_result_first_call {
    uint64_t behind; /**< of the instruction behind the call; if none is before it, it was a jump */
    uint64_t place;
};

struct rl_result_region {
    const char *name;
    uint32_t parent; /**< index of the enclosing region, or UINT32_MAX */
    uint64_t entries;
    uint64_t *executions; /**< [n_pieces] of rl_result.pieces, inside this region itself (not in
                               regions nested in it); NULL: never entered */
    uint64_t *times;      /**< [n_repeats] of rl_result.repeats, likewise */
};

/** Why something is missing from the counts; values of enum rle_uncounted_reason. */
struct rl_result_uncounted {
    uint32_t reason;
    const char *detail; /**< "" none */
    uint64_t begin_ns;
    uint64_t end_ns; /**< 0: open */
    uint64_t events;
};

/** One process image that was counted. Strings and arrays are its own. */
struct rl_result {
    int32_t pid;
    int32_t parent_pid;
    uint32_t sequence;
    uint32_t state; /**< enum rle_process_state; running, though it is gone: killed by a signal */
    int32_t exit_status;
    uint32_t mode;         /**< enum rle_mode */
    uint64_t start_ns;     /**< CLOCK_MONOTONIC */
    uint64_t end_ns;       /**< 0: running or killed */
    const char *arguments; /**< [arguments_size] terminated strings, one after the other */
    size_t arguments_size;
    const char *message; /**< why it is detached or failed; "" none */
    struct rl_result_module *modules;
    size_t n_modules;
    struct rl_result_piece *pieces;
    size_t n_pieces;
    struct rl_result_repeat *repeats; /**< [n_repeats] ascending by piece */
    size_t n_repeats;
    struct rl_result_first_call *first_calls; /**< [n_first_calls] */
    size_t n_first_calls;
    struct rl_result_region *regions;
    size_t n_regions;
    struct rl_result_uncounted *uncounted;
    size_t n_uncounted;
    uint64_t translated_insns; /**< instructions translated: what start-up cost */
    uint64_t n_threads;        /**< threads that were counted */
    uint64_t uncounted_blocks; /**< blocks of fragments that had no counter */
    char problem[160];         /**< what of the file made no sense; "" nothing */
    void *storage;             /**< bytes that strings and code point into */
    size_t storage_size;
};

/**
 * Read a result file, finished or not.
 *
 * @param ret_result  released with rl_result_release; written on RL_OK only.
 * @return RL_OK; RL_EDATA if it is no result file, or one of another version or instruction set;
 *         RL_ESYS; RL_ENOMEM.
 */
enum rl_status rl_result_read(const char *path, struct rl_result *ret_result, struct rl_error *err);

/**
 * Whether a file is what a process leaves that is killed before the engine wrote the header of its
 * result: empty, or zero where the header begins. Reading it gives RL_EDATA, as anything else does
 * that is no result. False also where the file cannot be read.
 */
bool rl_result_is_blank(const char *path);

/** As rl_result_read, from memory: `data` is copied. `name` is for messages. */
enum rl_status rl_result_parse(const uint8_t *data, size_t size, const char *name,
                               struct rl_result *ret_result, struct rl_error *err);

void rl_result_release(struct rl_result *result);

/**
 * Write a compact copy of a result file: a recorded count, for replaying in tests and for keeping.
 * It is a result file itself, without the room to grow and with threads added up.
 *
 * @return RL_OK; RL_EDATA as rl_result_read, or where the file is damaged; RL_ESYS; RL_ENOMEM.
 */
enum rl_status rl_result_compact(const char *from, const char *to, struct rl_error *err);

#endif
