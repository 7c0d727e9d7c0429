/* What a program tells the checking script: lines "expect …" on standard error, to be found
 * literally in the output of `counts` for that program. Standard output is what must not change. */
#ifndef RL_TESTS_ENGINE_EXPECT_H
#define RL_TESTS_ENGINE_EXPECT_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>

static inline void expect_mnemonic(const char *name, uint64_t executions)
{
    fprintf(stderr, "expect mnemonic %s %" PRIu64 "\n", name, executions);
}

/* `n` times each of two instructions that appear nowhere else in the test programs, in a tight
 * loop; the loop is short enough for its counter to live in a register. */
static inline void loop_fmul_like(uint64_t n)
{
    if (n)
        __asm__ volatile("1: pmaddwd %%xmm1, %%xmm0\n\t"
                         "psadbw %%xmm1, %%xmm0\n\t"
                         "dec %0\n\t"
                         "jnz 1b"
                         : "+r"(n)
                         :
                         : "xmm0", "xmm1", "cc");
}

#endif
