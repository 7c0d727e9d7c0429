#include "count/engine/liveness.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    STACK_NEAR = 4096, /* below rsp: further down is a deliberate probe of the guard page */
    FORKS_MAX = 2,     /* conditional branches followed both ways, nested */
};

static struct rle_live live_union(struct rle_live a, struct rle_live b)
{
    return (struct rle_live){a.regs | b.regs, a.flags | b.flags};
}

static bool near_stack(const struct rle_mem *mem)
{
    return mem->base == RLE_RSP && mem->index == RLE_REG_NONE && mem->disp > -STACK_NEAR;
}

static bool may_fault(const struct rle_insn *insn)
{
    for (unsigned i = 0; i < insn->n_mem; i++)
        if (!near_stack(&insn->mem[i]))
            return true;
    return insn->attrs & RLE_A_DIVIDE;
}

/* Whether control surely goes on with the next instruction of the run. */
static bool stays(unsigned kind)
{
    return kind == RLE_PLAIN || kind == RLE_JMP || kind == RLE_CALL;
}

/* Whether what its other way out needs is the caller's to say. */
static bool has_side(unsigned kind)
{
    return kind == RLE_JCC || kind == RLE_LOOP || kind == RLE_XBEGIN || kind == RLE_RET;
}

/* What is needed before an instruction, from what is needed behind it. */
static struct rle_live step_back(const struct rle_insn *insn, struct rle_live behind,
                                 struct rle_live fault)
{
    struct rle_live before = {(behind.regs & ~insn->reg_kill) | insn->reg_read,
                              (behind.flags & ~insn->flag_kill) | insn->flag_read};
    return may_fault(insn) ? live_union(before, fault) : before;
}

void rle_liveness(const struct rle_insn *insns, unsigned n, const struct rle_live_outside *outside,
                  struct rle_point *points)
{
    struct rle_live live = outside->end;
    for (unsigned i = n; i-- > 0;) {
        const struct rle_insn *insn = &insns[i];
        if (insn->status != RLE_OK || !(stays(insn->kind) || has_side(insn->kind)))
            live = RLE_LIVE_ALL;
        else if (has_side(insn->kind))
            live = outside->side ? live_union(live, outside->side[i]) : RLE_LIVE_ALL;
        live = step_back(insn, live, outside->fault);
        points[i].dead_regs = ~live.regs & ~(1u << RLE_RSP);
        points[i].dead_flags = ~live.flags & RLE_ARITH_FLAGS;
    }
}

/* One look ahead: what is found needed, what is still open, and the instructions left to spend. */
struct search {
    const struct rle_code *code;
    unsigned budget;
};

static bool decode_at(struct search *search, uint64_t pc, struct rle_insn *insn)
{
    uint64_t offset = pc - search->code->pc;
    if (search->budget == 0 || offset >= search->code->size)
        return false;
    search->budget--;
    uint64_t left = search->code->size - offset;
    unsigned n = left < RLE_INSN_MAX ? (unsigned)left : RLE_INSN_MAX;
    return rle_decode(search->code->bytes + offset, n, pc, insn) == RLE_OK;
}

/* What of `open` is needed by the code at `pc`. */
static struct rle_live needed_of(struct search *search, uint64_t pc, struct rle_live open,
                                 unsigned forks)
{
    struct rle_live needed = {0, 0};
    struct rle_insn insn;
    while (open.regs || open.flags) {
        if (!decode_at(search, pc, &insn))
            return live_union(needed, open);
        needed.regs |= insn.reg_read & open.regs;
        needed.flags |= insn.flag_read & open.flags;
        if (may_fault(&insn)) /* as rle_live_outside says: registers, not flags */
            needed.regs |= open.regs;
        open.regs &= ~(insn.reg_kill | needed.regs);
        open.flags &= ~(insn.flag_kill | needed.flags);
        bool fork = insn.kind == RLE_JCC || insn.kind == RLE_LOOP;
        if (!stays(insn.kind) && !(fork && forks < FORKS_MAX))
            return live_union(needed, open);
        if (fork) {
            struct rle_live taken = needed_of(search, insn.target, open, forks + 1);
            needed = live_union(needed, taken);
            open.regs &= ~taken.regs;
            open.flags &= ~taken.flags;
        }
        pc = insn.kind == RLE_JMP || insn.kind == RLE_CALL ? insn.target : pc + insn.length;
    }
    return needed;
}

struct rle_live rle_live_at(const struct rle_code *code, uint64_t pc, unsigned budget)
{
    struct search search = {code, budget};
    return needed_of(&search, pc, RLE_LIVE_ALL, 0);
}

struct rle_place rle_place_counter(const struct rle_point *points, unsigned first, unsigned end,
                                   uint16_t avoid)
{
    struct rle_place place = {first, RLE_PLACE_SPILL, RLE_REG_NONE};
    for (unsigned i = first; i < end; i++) {
        unsigned dead = points[i].dead_regs & ~avoid;
        if ((points[i].dead_flags & RLE_INC_FLAGS) == RLE_INC_FLAGS)
            return (struct rle_place){i, RLE_PLACE_INC, RLE_REG_NONE};
        if (dead && place.how == RLE_PLACE_SPILL)
            place = (struct rle_place){i, RLE_PLACE_REG, __builtin_ctz(dead)};
    }
    return place;
}
