/* The code sequences for control transfers whose target is known only at run time.
 *
 * The sequence takes the low 16 bits of the target as index into a table of code addresses (two
 * tables: returns, and everything else) and jumps there *unverified*; the fragment found compares
 * the target with its own program address and goes to a miss entry of dispatch.S if they differ.
 * The tables are shared by all threads and lie below 2 GiB, so that their address is a
 * displacement.
 *
 * A return takes its entry by a `ret` with the stack pointer in the table, so that the processor
 * predicts it from the call that was executed for it (rle_emit_call); nothing but the program's own
 * return addresses is ever on its stack while it may look.
 *
 * On arrival: the program's rcx is in SPILL0. Returns: rcx is what the program's rsp was before it;
 * the target is where that points. Else: the target is in TARGET. */
#ifndef RL_COUNT_ENGINE_BRANCH_H
#define RL_COUNT_ENGINE_BRANCH_H

#include <stdbool.h>
#include <stdint.h>

#include "count/engine/emit.h"
#include "count/engine/translate.h"

/** Map the tables, every entry leading to the miss entries. @return false if nothing is free below
 * 2 GiB. */
bool rle_branch_tables_init(void);

/** Do they lie in part within [low, high)? Needs no lock. */
bool rle_branch_tables_overlap(uint64_t low, uint64_t high);

/** Let the table entry for target `pc` lead to cache address `at`. */
void rle_branch_table_set(uint64_t pc, enum rle_via via, uint64_t at);

/** May the entry for `pc` be taken: is it unused? */
bool rle_branch_table_free(uint64_t pc, enum rle_via via);

/** If the entry for `pc` leads to `at`, let it lead nowhere. */
void rle_branch_table_clear(uint64_t pc, enum rle_via via, uint64_t at);

/** From now on there may be several threads: calls no longer write to their entries, which all
 * threads share. While no thread is in the cache, under the engine's lock. */
void rle_branch_stop_writers(void);

/** push constant `value` (a return address), flags untouched. */
void rle_emit_push(struct rle_emit *e, uint64_t value);

/**
 * A call but for the jump to its target, which comes next: the program's stack then holds `behind`,
 * and the processor's return stack the landing, a place behind the call instruction that verifies a
 * return to `behind` and goes on there.
 *
 * @return the landing; 0 if calls are not executed as such.
 */
uint64_t rle_emit_call(struct rle_emit *e, uint64_t behind);

/** Where, in the sequence with this landing, the stack pointer is still one word too low. */
uint64_t rle_call_restores_at(uint64_t landing);

/** A return. */
void rle_emit_return(struct rle_emit *e, const struct rle_insn *insn);
/** An indirect jump or call. @return the call's landing or 0. */
uint64_t rle_emit_indirect(struct rle_emit *e, const struct rle_insn *insn);

/**
 * Compare and fall through to the fragment for `pc` behind it, rcx restored.
 *
 * Flags are kept, also for a target that shares the table entry and turns out not to be this one.
 * The low 16 bits agree, being the index; the next 32, all that an address has, are subtracted by
 * lea.
 */
void rle_emit_verify(struct rle_emit *e, uint64_t pc, enum rle_via via);

/** The same instruction at another place. */
void rle_emit_copy(struct rle_emit *e, const struct rle_insn *insn);

#endif
