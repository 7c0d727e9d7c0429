/* Dead registers and flags, and places for counters, on short sequences written out as bytes. */
#include "count/engine/liveness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define PC 0x1000u

enum { MAX = 32, RAX = 1 << RLE_RAX, RCX = 1 << RLE_RCX, RDX = 1 << RLE_RDX, RBX = 1 << RLE_RBX };

static struct rle_insn insns[MAX];
static struct rle_point points[MAX];

/* Decodes the bytes as a run and finds its points; returns the number of instructions. */
static unsigned run_outside(const struct rle_live_outside *outside, const char *bytes, unsigned n)
{
    unsigned count = 0;
    for (unsigned at = 0; at < n; count++) {
        assert_true(count < MAX);
        rle_decode((const uint8_t *)bytes + at, n - at, PC + at, &insns[count]);
        assert_true(insns[count].length > 0);
        at += insns[count].length;
    }
    rle_liveness(insns, count, outside, points);
    return count;
}

static unsigned run_of(const char *bytes, unsigned n)
{
    return run_outside(&RLE_LIVE_OUTSIDE_DEFAULT, bytes, n);
}
#define RUN(bytes) run_of(bytes, sizeof(bytes) - 1)

static void nothing_is_dead_at_the_end(void **state)
{
    (void)state;
    RUN("\x90\x90"); /* nop; nop */
    assert_int_equal(points[1].dead_regs, 0);
    assert_int_equal(points[1].dead_flags, 0);
}

static void a_register_is_dead_up_to_its_overwriting(void **state)
{
    (void)state;
    RUN("\x48\x01\xCA\x48\x89\xD0\x90"); /* add rdx,rcx; mov rax,rdx; nop */
    assert_int_equal(points[0].dead_regs, RAX);
    assert_int_equal(points[1].dead_regs, RAX);
    assert_int_equal(points[2].dead_regs, 0);
}

static void a_register_that_is_read_first_is_not_dead(void **state)
{
    (void)state;
    RUN("\x48\x01\xC2\x48\x89\xD0"); /* add rdx,rax; mov rax,rdx */
    assert_int_equal(points[0].dead_regs & RAX, 0);
    assert_int_equal(points[1].dead_regs & RAX, RAX);
}

static void partial_and_conditional_writes_kill_nothing(void **state)
{
    (void)state;
    RUN("\xB0\x01"); /* mov al,1 */
    assert_int_equal(points[0].dead_regs, 0);
    RUN("\x66\xB8\x01\x00"); /* mov ax,1 */
    assert_int_equal(points[0].dead_regs, 0);
    RUN("\x48\x0F\x44\xC1"); /* cmove rax,rcx */
    assert_int_equal(points[0].dead_regs, 0);
    RUN("\x0F\xBC\xC1"); /* bsf eax,ecx */
    assert_int_equal(points[0].dead_regs, 0);
    RUN("\xB8\x01\x00\x00\x00"); /* mov eax,1 clears the upper half too */
    assert_int_equal(points[0].dead_regs, RAX);
}

static void clearing_by_xor_needs_no_old_value(void **state)
{
    (void)state;
    RUN("\x31\xC0"); /* xor eax,eax */
    assert_int_equal(points[0].dead_regs, RAX);
    assert_int_equal(points[0].dead_flags, RLE_ARITH_FLAGS);
    RUN("\x31\xC8"); /* xor eax,ecx */
    assert_int_equal(points[0].dead_regs, 0);
}

static void rsp_is_never_dead(void **state)
{
    (void)state;
    RUN("\x48\x89\xEC"); /* mov rsp,rbp */
    assert_int_equal(points[0].dead_regs, 0);
}

static void flags_are_dead_before_cmp_but_for_readers(void **state)
{
    (void)state;
    RUN("\x48\x8D\x40\x01\x48\x39\xC8\x75\x10"); /* lea rax,[rax+1]; cmp rax,rcx; jne */
    assert_int_equal(points[0].dead_flags, RLE_ARITH_FLAGS);
    assert_int_equal(points[1].dead_flags, RLE_ARITH_FLAGS);
    assert_int_equal(points[2].dead_flags, 0);
    RUN("\x48\x11\xCA\x48\x39\xC8"); /* adc rdx,rcx; cmp rax,rcx */
    assert_int_equal(points[0].dead_flags, RLE_ARITH_FLAGS & ~RLE_CF);
}

static void inc_leaves_carry_alive(void **state)
{
    (void)state;
    RUN("\xFF\xC0"); /* inc eax */
    assert_int_equal(points[0].dead_flags, RLE_ARITH_FLAGS & ~RLE_CF);
    assert_int_equal(rle_place_counter(points, 0, 1, 0).how, RLE_PLACE_INC);
}

static void shifts_by_cl_or_nothing_kill_no_flag(void **state)
{
    (void)state;
    RUN("\xD3\xE0"); /* shl eax,cl */
    assert_int_equal(points[0].dead_flags, 0);
    RUN("\xC1\xE0\x20"); /* shl eax,32: a count of 0 */
    assert_int_equal(points[0].dead_flags, 0);
    RUN("\xC1\xE0\x03"); /* shl eax,3: OF and AF are undefined */
    assert_int_equal(points[0].dead_flags, RLE_CF | RLE_PF | RLE_ZF | RLE_SF);
    RUN("\xD1\xE0"); /* shl eax,1 */
    assert_int_equal(points[0].dead_flags, RLE_ARITH_FLAGS & ~RLE_AF);
}

static void repeated_compares_may_leave_flags(void **state)
{
    (void)state;
    RUN("\xF3\xA6"); /* repe cmpsb */
    assert_int_equal(points[0].dead_flags, 0);
    RUN("\xA6"); /* cmpsb */
    assert_int_equal(points[0].dead_flags, RLE_ARITH_FLAGS);
}

static void everything_is_needed_at_a_side_exit(void **state)
{
    (void)state;
    RUN("\x75\x05\xB8\x01\x00\x00\x00\x39\xC8"); /* jne; mov eax,1; cmp eax,ecx */
    assert_int_equal(points[0].dead_regs, 0);
    assert_int_equal(points[0].dead_flags, 0);
    assert_int_equal(points[1].dead_regs, RAX);
    assert_int_equal(points[1].dead_flags, RLE_ARITH_FLAGS);
}

static void what_a_side_exit_needs_can_be_told(void **state)
{
    struct rle_live side[3] = {{RCX, RLE_ZF}, {0, 0}, {0, 0}};
    struct rle_live_outside outside = RLE_LIVE_OUTSIDE_DEFAULT;
    (void)state;
    outside.side = side;
    static const char bytes[] = "\x75\x05\xB8\x01\x00\x00\x00\x39\xC8";
    run_outside(&outside, bytes, sizeof(bytes) - 1);
    assert_int_equal(points[0].dead_regs, RAX);
    assert_int_equal(points[0].dead_flags, RLE_ARITH_FLAGS & ~RLE_ZF);
}

static void runs_go_on_through_jumps_and_calls(void **state)
{
    (void)state;
    /* call; jmp; mov eax,1; cmp eax,ecx */
    RUN("\xE8\x00\x00\x00\x00\xEB\x00\xB8\x01\x00\x00\x00\x39\xC8");
    assert_int_equal(points[0].dead_regs, RAX);
    assert_int_equal(points[0].dead_flags, RLE_ARITH_FLAGS);
}

static void system_calls_and_indirect_branches_need_everything(void **state)
{
    (void)state;
    RUN("\x0F\x05\xB8\x01\x00\x00\x00\x39\xC8"); /* syscall; mov eax,1; cmp */
    assert_int_equal(points[0].dead_regs, 0);
    assert_int_equal(points[0].dead_flags, 0);
    RUN("\xFF\xE1\xB8\x01\x00\x00\x00\x39\xC8"); /* jmp rcx; … */
    assert_int_equal(points[0].dead_regs, 0);
    assert_int_equal(points[0].dead_flags, 0);
    RUN("\x0F\x0B\xB8\x01\x00\x00\x00\x39\xC8"); /* ud2; … */
    assert_int_equal(points[0].dead_regs, 0);
    RUN("\x0F\x01\xD1\xB8\x01\x00\x00\x00\x39\xC8"); /* xsetbv, opaque; … */
    assert_int_equal(points[0].dead_regs, 0);
    RUN("\xC3\xB8\x01\x00\x00\x00"); /* inlined ret that does not return as expected */
    assert_int_equal(points[0].dead_regs, 0);
}

static void a_fault_handler_needs_registers_not_flags(void **state)
{
    (void)state;
    RUN("\x48\x8B\x0A\x31\xC0"); /* mov rcx,[rdx]; xor eax,eax */
    assert_int_equal(points[0].dead_regs, 0);
    assert_int_equal(points[0].dead_flags, RLE_ARITH_FLAGS);
    assert_int_equal(points[1].dead_regs, RAX);
    RUN("\xF7\xF3\x31\xC9"); /* div ebx; xor ecx,ecx */
    assert_int_equal(points[0].dead_regs, 0);
    RUN("\x48\x8B\x4C\x24\x08\x31\xC0"); /* mov rcx,[rsp+8] */
    assert_int_equal(points[0].dead_regs, RAX | RCX);
    RUN("\x89\x8C\x24\x00\x00\xFF\xFF\x31\xC0"); /* mov [rsp-65536],ecx: a stack probe */
    assert_int_equal(points[0].dead_regs, 0);
    struct rle_live_outside trusting = RLE_LIVE_OUTSIDE_DEFAULT;
    trusting.fault.regs = 0;
    run_outside(&trusting, "\x48\x8B\x0A\x31\xC0", 5);
    assert_int_equal(points[0].dead_regs, RAX | RCX);
}

static void counters_go_where_they_are_cheap(void **state)
{
    (void)state;
    RUN("\x0F\x92\xC1\x48\x89\xD0\x48\x39\xC8"); /* setb cl; mov rax,rdx; cmp rax,rcx */
    struct rle_place place = rle_place_counter(points, 0, 3, 0);
    assert_int_equal(place.how, RLE_PLACE_INC); /* CF is alive, inc does not mind */
    assert_int_equal(place.at, 0);
    RUN("\x0F\x94\xC1\x48\x89\xD0"); /* sete cl; mov rax,rdx */
    place = rle_place_counter(points, 0, 2, 0);
    assert_int_equal(place.how, RLE_PLACE_REG);
    assert_int_equal(place.at, 0);
    assert_int_equal(place.reg, RLE_RAX);
    place = rle_place_counter(points, 0, 2, RAX);
    assert_int_equal(place.how, RLE_PLACE_SPILL);
    assert_int_equal(place.at, 0);
    RUN("\x0F\x94\xC1\x31\xDB"); /* sete cl; xor ebx,ebx: behind sete the flags are dead */
    place = rle_place_counter(points, 0, 2, 0);
    assert_int_equal(place.how, RLE_PLACE_INC);
    assert_int_equal(place.at, 1);
    place = rle_place_counter(points, 0, 1, 0);
    assert_int_equal(place.how, RLE_PLACE_REG);
    assert_int_equal(place.reg, RLE_RBX);
}

static struct rle_live needed_at(const char *bytes, unsigned n, unsigned budget)
{
    struct rle_code code = {(const uint8_t *)bytes, PC, n};
    return rle_live_at(&code, PC, budget);
}
#define NEEDED(bytes, budget) needed_at(bytes, sizeof(bytes) - 1, budget)

static void looking_ahead_decides_flags(void **state)
{
    (void)state;
    assert_int_equal(NEEDED("\x89\xC8\x39\xC8\xC3", 8).flags, RLE_DF); /* mov; cmp; ret */
    assert_int_equal(NEEDED("\x89\xC8\x39\xC8\xC3", 1).flags, RLE_ARITH_FLAGS | RLE_DF);
    assert_int_equal(NEEDED("\xEB\x02\x75\x00\x39\xC8", 8).flags, RLE_DF); /* jmp over the jne */
    assert_int_equal(NEEDED("\x72\x02\x39\xC8\x39\xC8", 8).flags, RLE_DF | RLE_CF);
    /* taken: nothing known; so all but what the branch reads stays open */
    assert_int_equal(NEEDED("\x72\x70\x39\xC8", 8).flags, RLE_ARITH_FLAGS | RLE_DF);
}

static void looking_ahead_ends_in_loops_and_at_the_code_end(void **state)
{
    (void)state;
    assert_int_equal(NEEDED("\xEB\xFE", 100).flags, RLE_ARITH_FLAGS | RLE_DF);
    assert_int_equal(NEEDED("\x0F", 8).flags, RLE_ARITH_FLAGS | RLE_DF);
    assert_int_equal(NEEDED("\x89\xC8", 8).regs & RAX, 0);
    assert_int_equal(NEEDED("\x89\xC8", 8).regs & RCX, RCX);
    /* a load may fault before eax is overwritten */
    assert_int_equal(NEEDED("\x8B\x0A\x31\xC0", 8).regs & RAX, RAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_dead_at_the_end),
        cmocka_unit_test(a_register_is_dead_up_to_its_overwriting),
        cmocka_unit_test(a_register_that_is_read_first_is_not_dead),
        cmocka_unit_test(partial_and_conditional_writes_kill_nothing),
        cmocka_unit_test(clearing_by_xor_needs_no_old_value),
        cmocka_unit_test(rsp_is_never_dead),
        cmocka_unit_test(flags_are_dead_before_cmp_but_for_readers),
        cmocka_unit_test(inc_leaves_carry_alive),
        cmocka_unit_test(shifts_by_cl_or_nothing_kill_no_flag),
        cmocka_unit_test(repeated_compares_may_leave_flags),
        cmocka_unit_test(everything_is_needed_at_a_side_exit),
        cmocka_unit_test(what_a_side_exit_needs_can_be_told),
        cmocka_unit_test(runs_go_on_through_jumps_and_calls),
        cmocka_unit_test(system_calls_and_indirect_branches_need_everything),
        cmocka_unit_test(a_fault_handler_needs_registers_not_flags),
        cmocka_unit_test(counters_go_where_they_are_cheap),
        cmocka_unit_test(looking_ahead_decides_flags),
        cmocka_unit_test(looking_ahead_ends_in_loops_and_at_the_code_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
