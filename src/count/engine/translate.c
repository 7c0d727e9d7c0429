#include "count/engine/translate.h"

#include "count/engine/branch.h"
#include "count/engine/engine.h"
#include "count/engine/maps.h"
#include "count/engine/result.h"
#include "count/engine/superblock.h"
#include "count/engine/verify_source.h"

enum {
    ENTRY_ALIGN = 16,
    LOOP_ALIGN = 16,
    LINE_BYTES = 64,  /* of code, as processors fetch and keep it */
    COUNT_BYTES = 13, /* of the head counter's code in a loop */
    JUMP_BYTES = 5,   /* what giving up a fragment overwrites */
    COUNTER_BYTES = 8,
    INT3 = 0xCC,
    OP_MOV_EAX = 0xB8,
    CONDITION_MASK = 0xF,
    LOOP_BYTES = 2, /* loop and jrcxz without prefix: opcode, rel8 */
};

/* incrementing leaves the carry flag alone */
#define INC_FLAGS (RLE_ARITH_FLAGS & ~RLE_CF)

/* How the head is counted. */
enum head_way {
    HEAD_NONE,     /* not at all */
    HEAD_LOOP_REG, /* in a register, stored once an iteration */
    HEAD_INC,      /* where flags are dead */
    HEAD_DEAD_REG, /* through a dead register */
    HEAD_SPILL,    /* through a spilled register */
};

/* The translation under way. */
struct work {
    struct rle_plan *plan;
    struct rle_emit *e;
    struct rle_fragment *fragment;
    const struct rle_instrument *instrument;
    uint32_t exit_counter[RLE_SB_INSNS_MAX];   /* by instruction; 0: none */
    uint32_t repeat_counter[RLE_SB_INSNS_MAX]; /* likewise */
    enum head_way head_way;
    unsigned head_at; /* instruction in front of which the head is counted */
    unsigned head_reg;
    uint64_t loop_head; /* cache address of the back edge's target; 0: no loop */
};

static struct rle_plan plan_memory;

static uint32_t counter_disp(uint32_t counter)
{
    return RLE_TB_COUNTERS + counter * COUNTER_BYTES;
}

static uint32_t resident_disp(unsigned r)
{
    return RLE_TB_RESIDENT0 + r * (RLE_TB_RESIDENT1 - RLE_TB_RESIDENT0);
}

/* ---- records ----------------------------------------------------------------------------------
 */

static bool is_side_exit(const struct rle_plan *plan, unsigned i)
{
    return plan->role[i] == RLE_ROLE_EXIT || plan->role[i] == RLE_ROLE_INLINED_RETURN;
}

static uint64_t block_bytes(const struct rle_plan *plan, const struct rle_superblock_block *b)
{
    const struct rle_insn *last = &plan->insns[b->first + b->count - 1];
    return last->pc + last->length - plan->insns[b->first].pc;
}

static void record_block(struct work *w, struct rle_superblock_block *b)
{
    const struct rle_plan *plan = w->plan;
    const struct rle_insn *first = &plan->insns[b->first];
    unsigned last = b->first + b->count - 1u;
    uint64_t bytes = block_bytes(plan, b);
    const struct rle_region *region = rle_region_at(first->pc);
    struct rle_result_block *record = rle_result_append(RLE_SECTION_BLOCKS);
    record->address = first->pc;
    record->module = region ? region->module : RLE_NONE;
    record->code = rle_result_add_code((const uint8_t *)first->pc, (uint32_t)bytes);
    record->code_bytes = (uint16_t)bytes;
    record->n_insns = b->count;
    record->exit_counter = RLE_NONE;
    if (is_side_exit(plan, last) && w->head_way != HEAD_NONE) {
        record->exit_counter = rle_result_new_counter();
        w->exit_counter[last] = record->exit_counter;
    }
    b->record = rle_result_commit(RLE_SECTION_BLOCKS);
}

/* What a comparing or scanning one repeats is only known behind it: it may end early. */
static bool counts_repeats(const struct rle_insn *insn)
{
    return insn->attrs & RLE_A_REP && insn->mem[0].form == RLE_MEM_STRING &&
           !(insn->attrs & (RLE_A_SCAN | RLE_A_ADDR32));
}

/* Without room the executions alone are counted. */
static void record_repeats(struct work *w, uint32_t fragment)
{
    for (unsigned i = 0; i < w->plan->sb.n_insns; i++) {
        if (w->head_way == HEAD_NONE || !counts_repeats(&w->plan->insns[i]) ||
            !rle_result_room(RLE_SECTION_CORRECTIONS) || rle_result_counters_left() <= 1)
            continue;
        struct rle_result_correction *r = rle_result_append(RLE_SECTION_CORRECTIONS);
        w->repeat_counter[i] = rle_result_new_counter();
        *r = (struct rle_result_correction){fragment, i, w->repeat_counter[i],
                                            RLE_CORRECTION_REPEATS};
        rle_result_commit(RLE_SECTION_CORRECTIONS);
    }
}

/* Is there room for all a superblock may need? */
static bool has_room(const struct rle_plan *plan)
{
    return rle_result_room(RLE_SECTION_FRAGMENTS) > 0 &&
           rle_result_room(RLE_SECTION_BLOCKS) >= plan->sb.n_blocks &&
           rle_result_room(RLE_SECTION_CODE) >= plan->sb.n_insns * (uint32_t)RLE_INSN_MAX &&
           rle_result_counters_left() > plan->sb.n_blocks;
}

static void record(struct work *w)
{
    struct rle_plan *plan = w->plan;
    w->fragment->record = RLE_NONE;
    plan->sb.fragment = RLE_NONE;
    w->head_way = HEAD_NONE;
    for (unsigned i = 0; i < plan->sb.n_insns; i++)
        w->exit_counter[i] = w->repeat_counter[i] = 0;
    rle_result_count_translated(plan->sb.n_insns);
    if (!has_room(plan)) {
        rle_result_uncounted(RLE_UNCOUNTED_CAPACITY, "the result file is full");
        return;
    }
    if (rle_engine.options.mode != RLE_MODE_TRANSLATE)
        w->head_way = HEAD_SPILL; /* for now: counted somehow */
    struct rle_result_fragment *r = rle_result_append(RLE_SECTION_FRAGMENTS);
    r->first_block = rle_result_used(RLE_SECTION_BLOCKS);
    r->n_blocks = plan->sb.n_blocks;
    r->n_insns = plan->sb.n_insns;
    r->head_counter = w->head_way == HEAD_NONE ? RLE_NONE : rle_result_new_counter();
    for (unsigned b = 0; b < plan->sb.n_blocks; b++)
        record_block(w, &plan->blocks[b]);
    w->fragment->head_counter = r->head_counter;
    w->fragment->record = rle_result_commit(RLE_SECTION_FRAGMENTS);
    plan->sb.fragment = w->fragment->record;
    record_repeats(w, w->fragment->record);
}

/* ---- choosing registers and the place of the head counter -------------------------------------
 */

static unsigned highest(uint16_t set)
{
    return 31u - (unsigned)__builtin_clz(set);
}

static void choose_resident(struct work *w, uint16_t *free_regs)
{
    struct rle_superblock *sb = &w->plan->sb;
    unsigned wanted = w->instrument->plan ? w->instrument->plan(sb) : 0;
    sb->n_resident = 0;
    sb->held_regs = 0;
    while (sb->n_resident < wanted && *free_regs) {
        unsigned reg = highest(*free_regs);
        *free_regs &= (uint16_t) ~(1u << reg);
        sb->held_regs |= (uint16_t)(1u << reg);
        sb->resident[sb->n_resident++] = (uint8_t)reg;
    }
    w->fragment->n_resident = sb->n_resident;
    for (unsigned r = 0; r < sb->n_resident; r++)
        w->fragment->resident[r] = sb->resident[r];
}

/* In the first block, which runs whenever the fragment is entered. */
static void choose_head_place(struct work *w)
{
    const struct rle_plan *plan = w->plan;
    unsigned n = plan->blocks[0].count;
    w->head_at = 0;
    for (unsigned i = 0; i < n; i++)
        if ((plan->points[i].dead_flags & INC_FLAGS) == INC_FLAGS) {
            w->head_way = HEAD_INC;
            w->head_at = i;
            return;
        }
    for (unsigned i = 0; i < n; i++) {
        uint16_t dead = plan->points[i].dead_regs & (uint16_t)~plan->sb.held_regs;
        if (dead) {
            w->head_way = HEAD_DEAD_REG;
            w->head_at = i;
            w->head_reg = highest(dead);
            return;
        }
    }
    w->head_way = HEAD_SPILL;
}

static void choose(struct work *w)
{
    uint16_t free_regs = w->plan->sb.untouched_regs;
    choose_resident(w, &free_regs);
    w->head_at = 0;
    if (w->head_way != HEAD_NONE) {
        if (w->plan->sb.loops && free_regs) {
            w->head_way = HEAD_LOOP_REG;
            w->fragment->loop_reg = (uint8_t)highest(free_regs);
            w->plan->sb.held_regs |= (uint16_t)(1u << w->fragment->loop_reg);
        } else {
            choose_head_place(w);
        }
    }
    w->fragment->counted_from = (uint16_t)w->head_at;
}

/* ---- counters ---------------------------------------------------------------------------------
 */

static void count_through(struct rle_emit *e, unsigned reg, uint32_t counter)
{
    rle_emit_load_tb(e, reg, counter_disp(counter));
    rle_emit_lea(e, reg, reg, RLE_REG_NONE, 0, 1);
    rle_emit_store_tb(e, reg, counter_disp(counter));
}

static void count_spilling(struct rle_emit *e, uint32_t counter)
{
    rle_emit_store_tb(e, RLE_RAX, RLE_TB_SPILL2);
    count_through(e, RLE_RAX, counter);
    rle_emit_load_tb(e, RLE_RAX, RLE_TB_SPILL2);
}

static void count_head(const struct work *w)
{
    uint32_t counter = w->fragment->head_counter;
    if (w->head_way == HEAD_INC)
        rle_emit_inc_tb(w->e, counter_disp(counter));
    else if (w->head_way == HEAD_DEAD_REG)
        count_through(w->e, w->head_reg, counter);
    else if (w->head_way == HEAD_SPILL)
        count_spilling(w->e, counter);
}

static void count_exit(const struct work *w, unsigned i, uint64_t target)
{
    if (!w->exit_counter[i])
        return;
    struct rle_point dead = target ? rle_dead_at(target) : (struct rle_point){0, 0};
    if ((dead.dead_flags & INC_FLAGS) == INC_FLAGS)
        rle_emit_inc_tb(w->e, counter_disp(w->exit_counter[i]));
    else
        count_spilling(w->e, w->exit_counter[i]);
}

/* Add rcx, the repetitions to come, without touching flags. */
static void count_repeats(struct rle_emit *e, uint32_t counter)
{
    rle_emit_store_tb(e, RLE_RAX, RLE_TB_SPILL2);
    rle_emit_load_tb(e, RLE_RAX, counter_disp(counter));
    rle_emit_lea(e, RLE_RAX, RLE_RAX, RLE_RCX, 1, 0);
    rle_emit_store_tb(e, RLE_RAX, counter_disp(counter));
    rle_emit_load_tb(e, RLE_RAX, RLE_TB_SPILL2);
}

/* ---- entry and exits --------------------------------------------------------------------------
 */

static void align(struct rle_emit *e, unsigned to)
{
    static const uint8_t nop9[] = {0x66, 0x0F, 0x1F, 0x84, 0, 0, 0, 0, 0};
    static const uint8_t nop4[] = {0x0F, 0x1F, 0x40, 0};
    for (;;) {
        unsigned missing = (unsigned)(-rle_emit_address(e) & (to - 1));
        if (missing == 0)
            return;
        if (missing >= sizeof(nop9))
            rle_emit_bytes(e, nop9, sizeof(nop9));
        else if (missing >= sizeof(nop4))
            rle_emit_bytes(e, nop4, sizeof(nop4));
        else
            rle_emit_1(e, 0x90);
    }
}

static void pad(struct rle_emit *e, unsigned to)
{
    while (rle_emit_address(e) & (to - 1))
        rle_emit_1(e, INT3);
}

/* The verifying entry directly in front of the fragment, which must be aligned: emit it twice, the
 * first time to learn its length. */
static void emit_front(struct work *w, enum rle_via via)
{
    struct rle_emit *e = w->e;
    pad(e, ENTRY_ALIGN);
    if (via == RLE_VIA_LINK)
        return;
    struct rle_emit start = *e;
    rle_emit_verify(e, w->plan->pc, via);
    unsigned length = (unsigned)(e->at - start.at);
    *e = start;
    for (unsigned n = -length & (ENTRY_ALIGN - 1); n > 0; n--)
        rle_emit_1(e, INT3);
    *(via == RLE_VIA_RETURN ? &w->fragment->via_return : &w->fragment->via_jump) =
        rle_emit_address(e);
    rle_emit_verify(e, w->plan->pc, via);
}

/* Does the fragment's code begin with an instruction long enough to be overwritten by a jump? */
static bool begins_long(const struct work *w)
{
    const struct rle_plan *plan = w->plan;
    bool ours = w->head_way == HEAD_LOOP_REG || plan->sb.n_resident || plan->writable ||
                (w->head_way != HEAD_NONE && w->head_at == 0);
    return ours || (!w->instrument->before && plan->role[0] == RLE_ROLE_COPY &&
                    plan->insns[0].length >= JUMP_BYTES);
}

static unsigned lines(uint64_t at, unsigned bytes)
{
    return (unsigned)(at % LINE_BYTES + bytes + LINE_BYTES - 1) / LINE_BYTES;
}

/* A short loop that reaches into one line more than it has to takes a cycle more each time round
 * (Zen 3: a product of matrices 1.5 times as long, for its loop of six instructions). */
static unsigned loop_alignment(const struct work *w)
{
    uint64_t at = (rle_emit_address(w->e) + LOOP_ALIGN - 1) & -(uint64_t)LOOP_ALIGN;
    unsigned bytes = w->head_way == HEAD_LOOP_REG ? COUNT_BYTES : 0;
    for (unsigned i = 0; i < w->plan->sb.n_insns; i++)
        bytes += w->plan->insns[i].length;
    return lines(at, bytes) > lines(0, bytes) ? LINE_BYTES : LOOP_ALIGN;
}

static void emit_entry(struct work *w)
{
    static const uint8_t nop5[JUMP_BYTES] = {0x0F, 0x1F, 0x44, 0, 0};
    struct rle_emit *e = w->e;
    const struct rle_superblock *sb = &w->plan->sb;
    w->fragment->entry = rle_emit_address(e);
    if (!begins_long(w))
        rle_emit_bytes(e, nop5, sizeof(nop5));
    if (w->plan->writable)
        rle_emit_verify_source(e, w->plan, rle_fragment_index(w->fragment));
    if (w->head_way == HEAD_LOOP_REG) {
        rle_emit_store_tb(e, w->fragment->loop_reg, RLE_TB_LOOP_SAVE);
        rle_emit_load_tb(e, w->fragment->loop_reg, counter_disp(w->fragment->head_counter));
    }
    for (unsigned r = 0; r < sb->n_resident; r++)
        rle_emit_store_tb(e, sb->resident[r], resident_disp(r));
    if (w->instrument->enter)
        w->instrument->enter(e, sb);
    w->loop_head = 0;
    if (!sb->loops)
        return;
    align(e, loop_alignment(w));
    w->loop_head = rle_emit_address(e);
    if (w->head_way == HEAD_LOOP_REG) {
        unsigned reg = w->fragment->loop_reg;
        rle_emit_lea(e, reg, reg, RLE_REG_NONE, 0, 1);
        rle_emit_store_tb(e, reg, counter_disp(w->fragment->head_counter));
    }
}

/* Give registers back in front of an exit. */
static void emit_leave(struct work *w)
{
    const struct rle_superblock *sb = &w->plan->sb;
    if (w->instrument->leave)
        w->instrument->leave(w->e, sb);
    if (w->head_way == HEAD_LOOP_REG)
        rle_emit_load_tb(w->e, w->fragment->loop_reg, RLE_TB_LOOP_SAVE);
    for (unsigned r = 0; r < sb->n_resident; r++)
        rle_emit_load_tb(w->e, sb->resident[r], resident_disp(r));
}

static bool leave_is_empty(const struct work *w)
{
    return !w->instrument->leave && w->head_way != HEAD_LOOP_REG && !w->plan->sb.n_resident;
}

/* jmp to the fragment of `pc`, or to our own loop head. */
static void emit_goto(struct work *w, uint64_t pc)
{
    if (pc == w->plan->pc && w->loop_head) {
        rle_emit_patch(w->e, rle_emit_jmp(w->e), w->loop_head);
        return;
    }
    emit_leave(w);
    rle_link(w->e, rle_emit_jmp(w->e), pc);
}

/* The conditional part; returns what has to lead to the taken side. */
static rle_fixup emit_condition(struct work *w, const struct rle_insn *insn)
{
    struct rle_emit *e = w->e;
    if (insn->kind == RLE_JCC)
        return rle_emit_jcc(e, insn->opcode & CONDITION_MASK);
    /* loop, jrcxz reach only 127 bytes: over a jump that skips the long one */
    static const uint8_t skip[] = {0xEB, 0};
    rle_emit_bytes(e, (const uint8_t *)insn->pc, insn->length - 1u);
    rle_emit_1(e, sizeof(skip));
    rle_emit_bytes(e, skip, sizeof(skip));
    uint8_t *distance = e->at;
    rle_fixup taken = rle_emit_jmp(e);
    distance[-1] = (uint8_t)(e->at - distance);
    return taken;
}

static void emit_conditional(struct work *w, unsigned i)
{
    const struct rle_insn *insn = &w->plan->insns[i];
    struct rle_emit *e = w->e;
    bool to_own_head = insn->target == w->plan->pc && w->loop_head;
    rle_fixup taken = emit_condition(w, insn);
    if (!w->exit_counter[i] && to_own_head) {
        rle_emit_patch(e, taken, w->loop_head);
        return;
    }
    if (!w->exit_counter[i] && leave_is_empty(w)) {
        rle_link(e, taken, insn->target);
        return;
    }
    rle_emit_cold(e, true);
    rle_emit_here(e, taken);
    count_exit(w, i, insn->target);
    emit_goto(w, insn->target);
    rle_emit_cold(e, false);
}

static void emit_inlined_return(struct work *w, unsigned i)
{
    static const uint8_t cmp_rcx_top[] = {0x48, 0x3B, 0x0C, 0x24}; /* [rsp] */
    struct rle_emit *e = w->e;
    rle_emit_store_tb(e, RLE_RCX, RLE_TB_SPILL0);
    rle_emit_lea_address(e, RLE_RCX, w->plan->expected[i]);
    rle_emit_bytes(e, cmp_rcx_top, sizeof(cmp_rcx_top));
    rle_fixup elsewhere = rle_emit_jcc(e, RLE_CC_NE);
    rle_emit_cold(e, true);
    rle_emit_here(e, elsewhere);
    rle_emit_load_tb(e, RLE_RCX, RLE_TB_SPILL0);
    count_exit(w, i, 0);
    emit_leave(w);
    rle_emit_return(e, &w->plan->insns[i]);
    rle_emit_cold(e, false);
    rle_emit_load_tb(e, RLE_RCX, RLE_TB_SPILL0);
    rle_emit_lea(e, RLE_RSP, RLE_RSP, RLE_REG_NONE, 0, sizeof(uint64_t));
}

/* One to the next instruction only asks where it is: nothing will return. */
static void emit_call(struct work *w, const struct rle_insn *insn)
{
    uint64_t behind = insn->pc + insn->length;
    if (insn->target == behind) {
        rle_emit_push(w->e, behind);
    } else {
        w->fragment->behind = behind;
        w->fragment->landing = rle_emit_call(w->e, behind);
    }
    rle_link(w->e, rle_emit_jmp(w->e), insn->target);
}

/* popf, unless it sets the trap flag: the program is to trap after each of its own instructions,
 * not of ours. Other flags may be changed before, for it replaces them. */
static void emit_pop_flags(struct work *w, unsigned i)
{
    static const uint8_t test_trap_flag[] = {0xF6, 0x44, 0x24, 1, RLE_TRAP_FLAG >> 8};
    const struct rle_insn *insn = &w->plan->insns[i];
    struct rle_emit *e = w->e;
    rle_emit_bytes(e, test_trap_flag, sizeof(test_trap_flag));
    rle_fixup traps = rle_emit_jcc(e, RLE_CC_NE);
    rle_emit_cold(e, true);
    rle_emit_here(e, traps);
    emit_leave(w);
    rle_emit_stub(e, RLE_STUB_TRAPS, insn->pc, rle_fragment_index(w->fragment), i);
    rle_emit_cold(e, false);
    rle_emit_copy(e, insn);
}

/* The last instruction, of a kind that leaves by itself. */
static void emit_last(struct work *w, unsigned i)
{
    static const uint8_t ud2[] = {0x0F, 0x0B}, hlt[] = {0xF4};
    const struct rle_insn *insn = &w->plan->insns[i];
    struct rle_emit *e = w->e;
    uint32_t fragment = rle_fragment_index(w->fragment);
    if (insn->kind == RLE_JCC || insn->kind == RLE_LOOP) {
        emit_conditional(w, i);
        return;
    }
    if (rle_pops_flags(insn)) {
        emit_pop_flags(w, i);
        return;
    }
    emit_leave(w);
    if (w->plan->mark) {
        rle_emit_mark_stub(e, w->plan->mark, insn->pc + insn->length);
        return;
    }
    switch (insn->kind) {
    case RLE_CALL:
        emit_call(w, insn);
        break;
    case RLE_RET:
        rle_emit_return(e, insn);
        break;
    case RLE_JMP_IND:
    case RLE_CALL_IND:
        w->fragment->behind = insn->pc + insn->length;
        w->fragment->landing = rle_emit_indirect(e, insn);
        break;
    case RLE_SYSCALL:
        rle_emit_stub(e, RLE_STUB_SYSCALL, insn->pc + insn->length, fragment, i);
        break;
    case RLE_XBEGIN: /* a transaction that always aborts, for no particular reason */
        if (!rle_engine.has_rtm) {
            rle_emit_bytes(e, ud2, sizeof(ud2));
            break;
        }
        rle_emit_1(e, OP_MOV_EAX);
        rle_emit_4(e, 0);
        rle_link(e, rle_emit_jmp(e), insn->target);
        break;
    case RLE_INT:
    case RLE_TRAP:
        rle_emit_copy(e, insn);
        break;
    default:
        if (insn->status == RLE_INVALID)
            rle_emit_bytes(e, ud2, sizeof(ud2));
        else if (insn->status == RLE_TOO_LONG)
            rle_emit_bytes(e, hlt, sizeof(hlt)); /* #GP too */
        else
            rle_emit_stub(e, RLE_STUB_UNSUPPORTED, insn->pc, fragment, i);
        break;
    }
}

/* ---- the whole --------------------------------------------------------------------------------
 */

static bool is_translatable(const struct rle_insn *insn)
{
    return insn->length != 0 && insn->status != RLE_UNSUPPORTED;
}

static void emit_insn(struct work *w, unsigned i)
{
    const struct rle_insn *insn = &w->plan->insns[i];
    struct rle_placed_insn *placed = rle_placed(w->fragment->first_insn + i);
    uint64_t entry = w->fragment->entry;
    placed->from_pc = (int32_t)(insn->pc - w->plan->pc);
    placed->before = (uint16_t)(rle_emit_address(w->e) - entry);
    if (w->head_way > HEAD_LOOP_REG && i == w->head_at)
        count_head(w);
    if (w->repeat_counter[i])
        count_repeats(w->e, w->repeat_counter[i]);
    if (w->instrument->before && is_translatable(insn)) {
        w->instrument->before(w->e, &w->plan->sb, i);
        rle_point_release(w->e);
    }
    placed->at = (uint16_t)(rle_emit_address(w->e) - entry);
    switch (w->plan->role[i]) {
    case RLE_ROLE_COPY:
        rle_emit_copy(w->e, insn);
        break;
    case RLE_ROLE_EXIT:
        emit_conditional(w, i);
        break;
    case RLE_ROLE_FOLLOWED:
        break;
    case RLE_ROLE_INLINED_CALL:
        rle_emit_push(w->e, insn->pc + insn->length);
        break;
    case RLE_ROLE_INLINED_RETURN:
        emit_inlined_return(w, i);
        break;
    default:
        emit_last(w, i);
        break;
    }
}

static void emit(struct work *w, enum rle_via via)
{
    emit_front(w, via);
    struct rle_arena *arena = rle_arena_of(rle_emit_address(w->e));
    rle_arena_add(arena, rle_fragment_index(w->fragment));
    emit_entry(w);
    for (unsigned i = 0; i < w->plan->sb.n_insns; i++)
        emit_insn(w, i);
    if (w->plan->next)
        emit_goto(w, w->plan->next);
    while (rle_emit_address(w->e) - w->fragment->entry < sizeof(uint64_t))
        rle_emit_1(w->e, INT3); /* the fragment's own bytes alone may be overwritten */
    w->fragment->end = rle_emit_address(w->e);
}

struct rle_fragment *rle_translate(uint64_t pc, enum rle_via via)
{
    struct rle_plan *plan = &plan_memory;
    const struct rle_instrument *instrument = rle_engine.instrument;
    rle_plan_superblock(pc, rle_engine.options.max_blocks, instrument->loops_apart, plan);
    if (plan->sb.n_insns == 0)
        return NULL;
    struct work w = {.plan = plan, .instrument = instrument};
    w.fragment = rle_fragment_new(pc, plan->sb.n_insns);
    if (!w.fragment)
        rle_die("too many fragments", pc);
    w.fragment->checked = plan->writable;
    record(&w);
    choose(&w);
    w.e = &rle_arena_near(pc)->emit;
    emit(&w, via);
    for (unsigned b = 0; b < plan->sb.n_blocks; b++) {
        uint64_t low = plan->insns[plan->blocks[b].first].pc;
        rle_fragment_covers(w.fragment, low, low + block_bytes(plan, &plan->blocks[b]));
    }
    rle_fragment_publish(w.fragment);
    return w.fragment;
}

uint64_t rle_verifying_entry(struct rle_fragment *fragment, enum rle_via via)
{
    uint64_t *entry = via == RLE_VIA_RETURN ? &fragment->via_return : &fragment->via_jump;
    if (*entry)
        return *entry;
    struct rle_arena *arena = rle_arena_near(fragment->pc);
    if (!arena)
        return 0;
    struct rle_emit *e = &arena->emit;
    if (!rle_reaches(rle_emit_address(e), fragment->entry))
        return 0;
    pad(e, ENTRY_ALIGN);
    *entry = rle_emit_address(e);
    rle_emit_verify(e, fragment->pc, via);
    rle_emit_patch(e, rle_emit_jmp(e), fragment->entry);
    return *entry;
}
