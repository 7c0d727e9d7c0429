#include "count/engine/superblock.h"

#include "count/engine/arena.h"
#include "count/engine/link.h"
#include "count/engine/sys.h"
#include "region/mark.h"

enum {
    BRANCH_INSNS_MAX = 120, /* beyond so many instructions, end at the next branch */
    LOOK_AHEAD_INSNS = 12,
    MEMO_BITS = 14,
    MEMOS = 1 << MEMO_BITS,
    INLINE_INSNS_MAX = 30, /* a callee that returns within so many instructions is inlined */
};

/** Data at most so far from code is in reach of wherever that is translated to. */
#define ALWAYS_IN_REACH (512ul << 20)

/* Answers of rle_dead_at, valid while no mapping changes. */
struct memo {
    uint64_t pc;
    uint32_t generation;
    struct rle_point point;
};

static struct memo memos[MEMOS];

/* The builder's own state. */
struct build {
    struct rle_plan *plan;
    unsigned max_blocks;
    bool loops_apart;
    uint64_t returns_to; /* from the call inlined now; 0: none */
    unsigned block_start;
    uint64_t pc; /* next instruction */
};

/* Decode at `pc`, reading no further than the mapping goes. False if it is not executable. */
static bool decode_at(uint64_t pc, struct rle_insn *insn, bool *ret_writable)
{
    const struct rle_region *region = rle_region_at(pc);
    if (!region || !region->readable)
        return false;
    *ret_writable = region->writable;
    uint64_t room = region->high - pc;
    enum rle_status status = rle_decode(
        (const uint8_t *)pc, room < RLE_INSN_MAX ? (unsigned)room : RLE_INSN_MAX, pc, insn);
    if (status == RLE_TRUNCATED) { /* it may go on in the next mapping */
        region = rle_region_at(pc + room);
        if (region && region->readable)
            status = rle_decode((const uint8_t *)pc, RLE_INSN_MAX, pc, insn);
        return region || rle_regions_unknown(); /* else it faults half-way */
    }
    return true;
}

/* Its RIP-relative operand may be too far from any place for translated code. */
static bool is_out_of_reach(const struct rle_insn *insn)
{
    uint64_t target = (uint64_t)insn->mem[0].disp;
    uint64_t far = target > insn->pc ? target - insn->pc : insn->pc - target;
    return insn->rip_at && far > ALWAYS_IN_REACH && !rle_arena_reaches(insn->pc, target);
}

static bool uses_gs(const struct rle_insn *insn)
{
    if (insn->attrs & RLE_A_GS)
        return true;
    for (unsigned m = 0; m < insn->n_mem; m++)
        if (insn->mem[m].segment == RLE_SEG_GS)
            return true;
    return false;
}

/* Nothing that can be copied or emulated. */
static bool is_unsupported(const struct rle_insn *insn)
{
    enum { VECTOR_INT80 = 0x80 };
    return insn->status == RLE_UNSUPPORTED || insn->kind == RLE_FAR || uses_gs(insn) ||
           is_out_of_reach(insn) || (insn->kind == RLE_INT && insn->imm == VECTOR_INT80);
}

/* A region mark (region/mark.h), or 0. */
static uint32_t mark_of(const struct rle_insn *insn)
{
    uint32_t word[2];
    if (insn->length != sizeof(word) || !(insn->attrs & RLE_A_AGEN))
        return 0;
    __builtin_memcpy(word, (const void *)insn->pc, sizeof(word));
    bool is_mark = word[0] == REGION_MARK_OPCODE &&
                   (word[1] == REGION_MARK_BEGIN || word[1] == REGION_MARK_END ||
                    word[1] == REGION_MARK_END_INNERMOST);
    return is_mark ? word[1] : 0;
}

bool rle_pops_flags(const struct rle_insn *insn)
{
    return insn->kind == RLE_PLAIN && insn->n_mem && (insn->flag_kill & RLE_DF);
}

static void end_block(struct build *b)
{
    struct rle_superblock *sb = &b->plan->sb;
    struct rle_superblock_block *block = &b->plan->blocks[sb->n_blocks++];
    block->first = (uint16_t)b->block_start;
    block->count = (uint16_t)(sb->n_insns - b->block_start);
    b->block_start = sb->n_insns;
}

static bool is_block_start(const struct build *b, uint64_t pc)
{
    const struct rle_plan *plan = b->plan;
    for (unsigned i = 0; i < plan->sb.n_blocks; i++)
        if (plan->insns[plan->blocks[i].first].pc == pc)
            return true;
    return pc == plan->pc;
}

/* May it replace the return address? Checking an inlined return changes flags, which must not
 * matter on the path that returns elsewhere. */
static bool stores_by_stack_pointer(const struct rle_insn *insn)
{
    for (unsigned m = 0; m < insn->n_mem; m++)
        if ((insn->mem[m].access & RLE_WRITE) && insn->mem[m].base == RLE_RSP &&
            !(insn->reg_write & 1u << RLE_RSP))
            return true;
    return false;
}

/* Instructions of a callee that does nothing but return soon: no calls, no other way out; else 0.
 */
static unsigned small_callee(uint64_t pc)
{
    struct rle_insn insn;
    bool writable;
    for (unsigned n = 1; n <= INLINE_INSNS_MAX; n++) {
        if (!decode_at(pc, &insn, &writable) || writable || insn.length == 0 ||
            is_unsupported(&insn) || mark_of(&insn) || stores_by_stack_pointer(&insn))
            return 0;
        if (insn.kind == RLE_RET && insn.imm == 0)
            return n;
        if (insn.kind != RLE_PLAIN)
            return 0;
        pc += insn.length;
    }
    return 0;
}

static bool may_grow(const struct build *b)
{
    return b->plan->sb.n_blocks < b->max_blocks && b->plan->sb.n_insns <= BRANCH_INSNS_MAX;
}

/* A branch back to the midst of what has been planned, to an instruction of its own block: leave
 * the loop to a superblock that begins with it. */
static bool cut_loop(struct build *b, uint64_t target)
{
    struct rle_plan *plan = b->plan;
    struct rle_superblock *sb = &plan->sb;
    unsigned first = plan->blocks[sb->n_blocks - 1].first;
    unsigned head = first;
    while (head < sb->n_insns && plan->insns[head].pc != target)
        head++;
    if (head == 0 || head == sb->n_insns ||
        (head == first && plan->role[head - 1] >= RLE_ROLE_INLINED_RETURN))
        return false;
    sb->n_insns = (uint16_t)head;
    plan->blocks[sb->n_blocks - 1].count = (uint16_t)(head - first);
    if (head == first)
        sb->n_blocks--;
    if (plan->role[head - 1] == RLE_ROLE_EXIT)
        plan->role[head - 1] = RLE_ROLE_LAST;
    b->block_start = head;
    plan->next = target;
    return true;
}

/* A conditional branch: go on behind it unless it closes a loop. */
static bool add_conditional(struct build *b, const struct rle_insn *insn, unsigned i)
{
    uint64_t behind = insn->pc + insn->length;
    b->pc = behind;
    b->plan->next = behind;
    if (insn->target <= insn->pc || behind == b->plan->pc || !may_grow(b)) {
        b->plan->role[i] = RLE_ROLE_LAST;
        if (b->loops_apart)
            cut_loop(b, insn->target);
        return false;
    }
    b->plan->role[i] = RLE_ROLE_EXIT;
    return true;
}

static bool add_jump(struct build *b, const struct rle_insn *insn, unsigned i)
{
    b->plan->role[i] = RLE_ROLE_FOLLOWED;
    b->plan->next = insn->target;
    b->pc = insn->target;
    return may_grow(b) && b->max_blocks > 1 && !is_block_start(b, insn->target) &&
           !rle_fragment_find(insn->target);
}

/* Its return is checked by a comparison, which changes flags. */
static bool may_compare(uint64_t pc)
{
    return (rle_dead_at(pc).dead_flags & RLE_ARITH_FLAGS) == RLE_ARITH_FLAGS;
}

/* Only what is sure to come back is inlined: a return executed for a call that was not would leave
 * the processor's return stack one off, and all callers' returns would be mispredicted. */
static bool add_call(struct build *b, const struct rle_insn *insn, unsigned i)
{
    const unsigned its_blocks = 2;
    uint64_t behind = insn->pc + insn->length;
    unsigned n = small_callee(insn->target);
    if (n == 0 || b->plan->sb.n_insns + n > BRANCH_INSNS_MAX ||
        b->plan->sb.n_blocks + its_blocks > b->max_blocks || insn->target == behind ||
        behind == b->plan->pc || is_block_start(b, insn->target) || !may_compare(behind))
        return false;
    b->returns_to = behind;
    b->plan->role[i] = RLE_ROLE_INLINED_CALL;
    b->pc = insn->target;
    return true;
}

static bool add_return(struct build *b, unsigned i)
{
    if (!b->returns_to)
        return false;
    b->plan->role[i] = RLE_ROLE_INLINED_RETURN;
    b->plan->expected[i] = b->returns_to;
    b->pc = b->returns_to;
    b->returns_to = 0;
    return true;
}

/* Add the instruction at b->pc. False when the superblock ends with (or before) it. */
static bool add_insn(struct build *b)
{
    struct rle_plan *plan = b->plan;
    unsigned i = plan->sb.n_insns;
    struct rle_insn *insn = &plan->insns[i];
    bool writable = false;
    bool mapped = decode_at(b->pc, insn, &writable);
    int64_t distance = (int64_t)(b->pc - plan->pc);
    if (!mapped || distance != (int32_t)distance || is_unsupported(insn) || insn->length == 0 ||
        writable != plan->writable) {
        plan->next = b->pc;
        if (i > 0 || !mapped) /* if control really gets there: a superblock of its own */
            return false;
        plan->sb.n_insns = 1;
        plan->role[0] = RLE_ROLE_LAST;
        plan->next = 0;
        return false;
    }
    plan->sb.n_insns++;
    plan->role[i] = RLE_ROLE_COPY;
    plan->next = 0;
    plan->mark = insn->kind == RLE_PLAIN ? mark_of(insn) : 0;
    if (plan->mark) {
        plan->role[i] = RLE_ROLE_LAST;
        return false;
    }
    if (insn->kind == RLE_PLAIN && !rle_pops_flags(insn)) {
        b->pc += insn->length;
        plan->next = b->pc;
        return b->pc != plan->pc && plan->sb.n_insns < RLE_SB_INSNS_MAX;
    }
    bool goes_on = false;
    plan->role[i] = RLE_ROLE_LAST;
    end_block(b);
    switch (insn->kind) {
    case RLE_JCC:
    case RLE_LOOP:
        return add_conditional(b, insn, i);
    case RLE_JMP:
        return add_jump(b, insn, i);
    case RLE_CALL:
        goes_on = add_call(b, insn, i);
        break;
    case RLE_RET:
        goes_on = add_return(b, i);
        break;
    case RLE_PLAIN:
    case RLE_INT:
        plan->next = insn->pc + insn->length;
        break;
    default:
        break;
    }
    return goes_on;
}

struct rle_point rle_dead_at(uint64_t pc)
{
    struct memo *memo = &memos[(pc ^ pc >> MEMO_BITS) & (MEMOS - 1)];
    uint32_t generation = rle_regions_generation();
    if (memo->pc == pc && memo->generation == generation)
        return memo->point;
    const struct rle_region *region = rle_region_at(pc);
    struct rle_point point = {0, 0};
    if (region && region->readable && !region->writable) {
        const struct rle_code code = {(const uint8_t *)region->low, region->low,
                                      region->high - region->low};
        struct rle_live live = rle_live_at(&code, pc, LOOK_AHEAD_INSNS);
        point.dead_regs = (uint16_t)~live.regs;
        point.dead_flags = (uint16_t)(RLE_ARITH_FLAGS & ~live.flags);
    }
    *memo = (struct memo){pc, generation, point};
    return point;
}

static uint16_t untouched_by(const struct rle_plan *plan)
{
    uint16_t touched = 1u << RLE_RSP;
    for (unsigned i = 0; i < plan->sb.n_insns; i++) {
        touched |= plan->insns[i].reg_read | plan->insns[i].reg_write;
        if (plan->insns[i].kind == RLE_SYSCALL || plan->insns[i].status != RLE_OK)
            touched = 0xFFFF;
        if (plan->role[i] >= RLE_ROLE_INLINED_RETURN)
            touched |= 1u << RLE_RCX; /* used by branch sequences */
    }
    return (uint16_t)~touched;
}

static bool closes_loop(const struct rle_plan *plan)
{
    if (plan->writable)
        return false;
    for (unsigned i = 0; i < plan->sb.n_insns; i++) {
        unsigned kind = plan->insns[i].kind;
        if ((kind == RLE_JCC || kind == RLE_LOOP) && plan->insns[i].target == plan->pc)
            return true;
    }
    return plan->next == plan->pc;
}

static struct rle_live live_at(uint64_t pc)
{
    struct rle_point dead = rle_dead_at(pc);
    return (struct rle_live){(uint16_t)~dead.dead_regs,
                             (uint16_t)(RLE_LIVE_ALL.flags & ~dead.dead_flags)};
}

static void find_dead(struct rle_plan *plan)
{
    struct rle_live side[RLE_SB_INSNS_MAX];
    struct rle_live_outside outside = RLE_LIVE_OUTSIDE_DEFAULT;
    for (unsigned i = 0; i < plan->sb.n_insns; i++) {
        unsigned kind = plan->insns[i].kind;
        side[i] = RLE_LIVE_ALL;
        if (kind == RLE_JCC || kind == RLE_LOOP)
            side[i] = live_at(plan->insns[i].target);
    }
    outside.side = side;
    if (plan->next)
        outside.end = live_at(plan->next);
    rle_liveness(plan->insns, plan->sb.n_insns, &outside, plan->points);
}

void rle_plan_superblock(uint64_t pc, unsigned max_blocks, bool loops_apart, struct rle_plan *plan)
{
    const struct rle_region *region = rle_region_at(pc);
    plan->pc = pc;
    plan->sb = (struct rle_superblock){
        .insns = plan->insns, .points = plan->points, .blocks = plan->blocks};
    plan->writable = region && region->writable;
    plan->next = 0;
    plan->mark = 0;
    struct build b = {.plan = plan,
                      .max_blocks = plan->writable ? 1 : max_blocks,
                      .loops_apart = loops_apart,
                      .pc = pc};
    while (add_insn(&b))
        ;
    if (b.block_start < plan->sb.n_insns)
        end_block(&b);
    if (plan->sb.n_insns == 0)
        return;
    plan->sb.untouched_regs = untouched_by(plan);
    plan->sb.loops = closes_loop(plan);
    find_dead(plan);
}
