/* Operations and bytes of a set of instructions, weighted by their executions. */
#ifndef RL_PROFILE_SUMS_H
#define RL_PROFILE_SUMS_H

#include "decode/insn.h"

#include <roofline/profile.h>

struct sums_row {
    uint8_t precision; /* enum rl_precision */
    uint8_t op;        /* enum rl_op_class */
    uint8_t isa;       /* enum rl_insn_isa */
    uint8_t function;  /* of special operations; see sums.c */
    uint64_t count;
};

/** All-zero is valid and empty. Sums saturate rather than wrap. */
struct sums {
    struct sums_row *row; /* [n_row] each combination once */
    size_t n_row;
    uint64_t insns;
    uint64_t load_bytes, store_bytes, nontemporal_bytes;
    uint64_t flop;
    uint64_t masked_flop; /* of `flop`, those under a mask */
    uint64_t tile_ops;    /* operations on AMX tiles, taken as full */
    uint64_t repeated;    /* executions of string instructions, whose bytes are not known */
    uint64_t undecodable; /* executions of instructions nothing is known of */
};

/** @return false without memory. */
bool sums_add(struct sums *sums, const struct rl_insn *insn, uint64_t executions);
/** A string instruction that sums_add was given: of its executions, `executions` together did so
 * many repetitions. */
void sums_add_repeats(struct sums *sums, const struct rl_insn *insn, uint64_t executions,
                      uint64_t repetitions);
/** Straight-line code: what cannot be decoded stands for the rest of it. */
bool sums_add_code(struct sums *sums, const uint8_t *code, uint32_t size, uint64_t executions);
bool sums_merge(struct sums *sums, const struct sums *more);
void sums_release(struct sums *sums);

/** Write operations, bytes and L1 traffic as counted values, and what is missing from them. */
enum rl_status sums_fill(const struct sums *sums, struct rl_kernel *kernel, struct rl_error *err);

#endif
