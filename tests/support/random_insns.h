/* Sequences of random valid x86-64 instructions that are safe to run: for comparing a machine with
 * something that claims to behave like it.
 *
 * Instructions are drawn as bytes and kept if Zydis decodes them, this CPU has them (CPUID), and
 * they are harmless: no system state, no rounding or exception control, nothing whose result
 * depends on time, CPU number or code address other than by return addresses. Memory operands are
 * led into a scratch area by instructions put in front of them, RIP-relative ones by their
 * displacement. Between them stand forward branches, loops, direct and indirect calls, pushes and
 * pops. Everything lies at fixed addresses, so that runs of the same seed can be compared. */
#ifndef TESTS_SUPPORT_RANDOM_INSNS_H
#define TESTS_SUPPORT_RANDOM_INSNS_H

#include <stddef.h>
#include <stdint.h>

/* Fixed addresses, low so that 32-bit addressing works too. */
#define RANDOM_SCRATCH       UINT64_C(0x20000000)
#define RANDOM_SCRATCH_BYTES 0x10000u
#define RANDOM_STACK         UINT64_C(0x20100000)
#define RANDOM_STACK_BYTES   0x10000u
#define RANDOM_CODE          UINT64_C(0x20200000)
#define RANDOM_CODE_BYTES    0x400000u

/* Loop counters and branch targets; the first slot holds the address that sequences end at. */
#define RANDOM_SLOTS       UINT64_C(0x20800000)
#define RANDOM_SLOTS_BYTES 0x100000u
#define RANDOM_EXIT_SLOT   RANDOM_SLOTS

/* Bytes above the initial rsp that sequences may use. */
#define RANDOM_FRAME_BYTES 1024u

struct random_source {
    uint64_t state; /* not 0 */
};

uint64_t random_next(struct random_source *source);

struct random_insns {
    struct random_source source;
    uint8_t *at; /* write cursor; code runs where it is written */
    uint8_t *end;
    uint64_t leaf[4]; /* functions that blocks call */
    unsigned n_leaf;
    unsigned slots_used; /* 8-byte slots taken */
    unsigned guarded;    /* bytes above rsp that hold return addresses or pushed values */
    unsigned depth;      /* nesting of templates */
};

/**
 * Fill the first scratch page (vector indices, not written by sequences) and write leaf functions.
 * The areas are mapped writable.
 *
 * @param code  written in full; code goes to RANDOM_CODE.
 * @param seed  any.
 */
void random_insns_begin(struct random_insns *code, uint64_t seed);

/**
 * Write one sequence of about `n` instructions; it ends with a jump through RANDOM_EXIT_SLOT.
 *
 * @return its entry, or NULL when the code area is full.
 */
const uint8_t *random_insns_sequence(struct random_insns *code, unsigned n);

#endif
