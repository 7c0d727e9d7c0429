/* Writing the result file (result_format.h): creation, tables, counters, and the change of files at
 * fork. The caller holds the engine's lock, except where stated. */
#ifndef RL_COUNT_ENGINE_RESULT_H
#define RL_COUNT_ENGINE_RESULT_H

#include <stdbool.h>
#include <stdint.h>

#include "count/engine/result_format.h"

/**
 * Create the file of this process and map it.
 *
 * @param prefix  the file is PREFIX.PID.SEQ with the first SEQ that does not exist.
 * @param mode    enum rle_mode, for the header.
 * @return 0, or a negated error number with nothing mapped.
 */
long rle_result_open(const char *prefix, uint32_t mode);

/**
 * In the child of a fork: a file of its own, mapped at the same addresses, with the tables (which
 * describe the code the child inherited) copied and every count at zero.
 *
 * @param prefix  NULL: the child is not to have a file.
 * @return 0, or a negated error number; then the child's counts go nowhere (private memory), or
 * there is no memory even for that, and rle_result_is_open() says no.
 */
long rle_result_after_fork(const char *prefix);

/** Where it is not, nothing but what says so may be called of this file. */
bool rle_result_is_open(void);

/**
 * Another file for the same process, with the tables, which describe code that is translated
 * already, and every count at zero. Counters are still to be mapped.
 *
 * @return 0, or a negated error number; then nothing has changed.
 */
long rle_result_renew(const char *prefix, uint32_t mode);

/** Record the program's arguments; the second: `bytes` of terminated strings. */
void rle_result_set_argv(const char *const *argv);
void rle_result_set_arguments(const char *arguments, uint32_t bytes);

/** Number of a new counter, never 0; RLE_NONE if none is left. */
uint32_t rle_result_new_counter(void);

/** How many more there are. */
uint32_t rle_result_counters_left(void);

/** Bytes of the counters of one thread, a multiple of the page size. */
uint64_t rle_result_counter_bytes(void);

/**
 * Map a new extent of counters, all 0, over the memory at `address`.
 *
 * @param region  0, or index of a record of REGIONS + 1.
 * @return 0, or a negated error number.
 */
long rle_result_map_extent(uint32_t slot, uint32_t region, uint64_t address);

/** Counters in use, the unused counter 0 included. */
uint32_t rle_result_n_counters(void);

/** A record appended to a section, zeroed, not yet visible to readers; NULL if the section is full.
 * Its index is the section's `used`. */
void *rle_result_append(enum rle_section_id section);
/** Make the last appended record visible. @return its index. */
uint32_t rle_result_commit(enum rle_section_id section);
/** Number of valid records; room left. */
uint32_t rle_result_used(enum rle_section_id section);
uint32_t rle_result_room(enum rle_section_id section);
void *rle_result_record(enum rle_section_id section, uint32_t index);

/** Bytes appended to CODE or STRINGS (terminator included for text). @return offset, RLE_NONE if
 * full. */
uint32_t rle_result_add_code(const uint8_t *bytes, uint32_t n);
uint32_t rle_result_add_string(const char *text);

void rle_result_count_translated(uint32_t insns);

/** As in the file's name: programs this process ran before. */
uint32_t rle_result_sequence(void);

/** An entry of UNCOUNTED; `events` counts up if the reason is already there and open, for
 * RLE_UNCOUNTED_CHILD with the same detail. */
void rle_result_uncounted(enum rle_uncounted_reason reason, const char *detail);

/** It did not come to it: one event less. Reason and detail are those of a call before. */
void rle_result_uncounted_undo(enum rle_uncounted_reason reason, const char *detail);

/** Does `address` lie in the mapped tables? Needs no lock. */
bool rle_result_holds(uint64_t address);

/**
 * The file system has no room for the page at `address` of tables or counters: private memory takes
 * its place, so that the program runs on, and the loss is noted. Needs no lock.
 *
 * @return false if there is no memory either.
 */
bool rle_result_replace_page(uint64_t address);

/** Something worth knowing that ends nothing: the result's message, unless there is one. */
void rle_result_say(const char *message);

/** From now on to rle_result_resume nothing is counted, as the file says. */
void rle_result_pause(const char *why);
void rle_result_resume(void);

/** The program ran uncounted since `since_ns` (CLOCK_MONOTONIC) until now. */
void rle_result_before(uint64_t since_ns);

/* Ends. Callable without the lock; the first state that is not RUNNING stays, but for exec. */
void rle_result_exit(int status);
void rle_result_exec(bool undo);
void rle_result_detach(const char *why);
void rle_result_fail(const char *why);

#endif
