/* Loads that wait for the load of the round before are told from those that do not. */
#include "decode/chain.h"

#include <string.h>

#include "../support/cmocka_all.h"

#define LOOP(name, body)                                                                           \
    __asm__(".text\n" #name "_begin:\n" body "\n" #name "_end:\n");                                \
    extern const uint8_t name##_begin[] __asm__(#name "_begin");                                   \
    extern const uint8_t name##_end[] __asm__(#name "_end")

/* list = list->next */
LOOP(list, "1: movq 8(%rdi), %rdi\n"
           "testq %rdi, %rdi\n"
           "jne 1b");
/* sum += list->value; list = list->next */
LOOP(list_sum, "1: addq (%rdi), %rax\n"
               "movq 8(%rdi), %rdi\n"
               "testq %rdi, %rdi\n"
               "jne 1b");
/* i = next[i] */
LOOP(indices, "1: movslq (%rsi,%rax,4), %rax\n"
              "decq %rcx\n"
              "jne 1b");
/* i = next[i] + 1, through another register and arithmetic */
LOOP(indirect, "1: movl (%rsi,%rax,4), %edx\n"
               "leal 1(%rdx), %eax\n"
               "andl $255, %eax\n"
               "decq %rcx\n"
               "jne 1b");
/* the same as unoptimised code has it: the pointer lives on the stack */
LOOP(unoptimised, "1: movq -8(%rbp), %rax\n"
                  "movq 8(%rax), %rax\n"
                  "movq %rax, -8(%rbp)\n"
                  "cmpq $0, -8(%rbp)\n"
                  "jne 1b");
/* binary search without branches: comparison, flags, conditional move */
LOOP(search, "1: shrq %rcx\n"
             "leaq (%rax,%rcx), %rdx\n"
             "cmpq %rsi, (%rdi,%rdx,8)\n"
             "cmovbq %rdx, %rax\n"
             "testq %rcx, %rcx\n"
             "jne 1b");
/* sum += a[i] */
LOOP(array, "1: addsd (%rdi), %xmm0\n"
            "addq $8, %rdi\n"
            "cmpq %rsi, %rdi\n"
            "jne 1b");
/* sum += value[k] * x[column[k]]: dependent on another load, but not from round to round */
LOOP(sparse, "1: movslq (%rsi,%rcx,4), %rax\n"
             "movsd (%rdx,%rax,8), %xmm1\n"
             "mulsd (%rdi,%rcx,8), %xmm1\n"
             "addsd %xmm1, %xmm0\n"
             "incq %rcx\n"
             "cmpq %r8, %rcx\n"
             "jne 1b");
/* the register that is loaded is used for something else, then made afresh */
LOOP(reuse, "1: movq (%rdi,%rax,8), %rax\n"
            "addq %rax, %rdx\n"
            "xorl %eax, %eax\n"
            "addq %rcx, %rax\n"
            "incq %rcx\n"
            "cmpq %r8, %rcx\n"
            "jne 1b");
/* accumulation in a register by loads: the sum is carried, the address is not */
LOOP(accumulate, "1: addq (%rdi,%rcx,8), %rax\n"
                 "incq %rcx\n"
                 "cmpq %r8, %rcx\n"
                 "jne 1b");
/* outer list, inner array: only the outer load is chained */
LOOP(nested, "1: movq 8(%rdi), %rsi\n"
             "movl $4, %ecx\n"
             "2: addq (%rsi,%rcx,8), %rax\n"
             "decq %rcx\n"
             "jne 2b\n"
             "movq (%rdi), %rdi\n"
             "testq %rdi, %rdi\n"
             "jne 1b");

static void analyse(const uint8_t *begin, const uint8_t *end, uint64_t executions, uint64_t *ret)
{
    struct rl_flow flow;
    const struct rl_flow_block block = {
        .offset = 0x1000, .code = begin, .size = (size_t)(end - begin), .executions = executions};
    assert_int_equal(rl_flow_build(&block, 1, 0x1000, &flow, NULL), RL_OK);
    assert_true(flow.n_loops == 1 || flow.n_loops == 2);
    assert_int_equal(rl_chain_loads(&flow, ret, NULL), RL_OK);
    rl_flow_release(&flow);
}

#define CHECK(name, loads)                                                                         \
    do {                                                                                           \
        uint64_t found[2] = {0};                                                                   \
        analyse(name##_begin, name##_end, 100, found);                                             \
        if (found[0] != (loads))                                                                   \
            fail_msg(#name ": %d dependent loads, not %d", (int)found[0], (int)(loads));           \
    } while (0)

static void lists_and_index_chains_are_dependent(void **state)
{
    (void)state;
    CHECK(list, 100);
    CHECK(list_sum, 100);
    CHECK(indices, 100);
    CHECK(indirect, 100);
    CHECK(unoptimised, 100);
    CHECK(search, 100);
}

static void arrays_and_sparse_rows_are_not(void **state)
{
    (void)state;
    CHECK(array, 0);
    CHECK(sparse, 0);
    CHECK(reuse, 0);
    CHECK(accumulate, 0);
}

static void each_loop_has_its_own(void **state)
{
    (void)state;
    uint64_t found[2] = {0};
    analyse(nested_begin, nested_end, 50, found);
    assert_int_equal(found[0], 50);
    assert_int_equal(found[1], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_and_index_chains_are_dependent),
        cmocka_unit_test(arrays_and_sparse_rows_are_not),
        cmocka_unit_test(each_loop_has_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
