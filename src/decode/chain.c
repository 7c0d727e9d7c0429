#include "decode/chain.h"

#include "base/error.h"

#include <Zydis/Zydis.h>
#include <stdlib.h>
#include <string.h>

#define MOST_INSNS 4096
#define MOST_EDGES 12 /* values an instruction can read */
#define MOST_SLOTS 32 /* stack slots followed in one loop */
#define NO_INSN    UINT32_MAX

/* Places a value can be in. */
enum {
    PLACE_GENERAL = 0,
    PLACE_VECTOR = 16,
    PLACE_FLAGS = 48,
    PLACE_SLOT = 49,
    PLACES = PLACE_SLOT + MOST_SLOTS,
    NO_PLACE = PLACES
};

/* What one instruction of the loop does with places. */
struct step {
    uint32_t insn; /* index in the flow */
    uint8_t n_read, n_write;
    uint8_t read[MOST_EDGES];
    bool is_address[MOST_EDGES]; /* read to form the address of a load */
    uint8_t write[MOST_EDGES];
    bool loads;
    bool clobbers; /* a call: general registers hold something else afterwards */
};

/* A value made by `from` is read by `to`. */
struct edge {
    uint32_t to;
    uint32_t next; /* of the same maker, or NO_INSN */
    bool is_address;
};

struct loop_body {
    struct step *step; /* [n] in the order of the code */
    uint32_t n;
    int64_t slot[MOST_SLOTS]; /* displacement x 2 + (base is rbp) */
    unsigned n_slots;
    struct edge *edge; /* [n_edges] */
    uint32_t n_edges;
    uint32_t *first; /* [n] first edge of a maker */
    uint32_t *stack; /* [n] of the search */
    bool *reached;   /* [n] */
};

static unsigned place_of_register(ZydisRegister reg)
{
    ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
    ZydisRegisterClass class = ZydisRegisterGetClass(whole);
    int id = ZydisRegisterGetId(whole);
    if (id < 0)
        return NO_PLACE;
    if (class == ZYDIS_REGCLASS_GPR64)
        return PLACE_GENERAL + ((unsigned)id & 15);
    if (class == ZYDIS_REGCLASS_ZMM)
        return PLACE_VECTOR + ((unsigned)id & 31);
    return NO_PLACE;
}

static void add_read(struct step *step, unsigned place, bool is_address)
{
    if (place == NO_PLACE || step->n_read == MOST_EDGES)
        return;
    step->is_address[step->n_read] = is_address;
    step->read[step->n_read++] = (uint8_t)place;
}

static void add_write(struct step *step, unsigned place)
{
    if (place != NO_PLACE && step->n_write < MOST_EDGES)
        step->write[step->n_write++] = (uint8_t)place;
}

/* [rbp - 8] and the like hold variables of unoptimised code: places of their own. */
static unsigned slot_place(struct loop_body *body, const ZydisDecodedOperand *op)
{
    bool on_frame = op->mem.base == ZYDIS_REGISTER_RBP;
    if ((!on_frame && op->mem.base != ZYDIS_REGISTER_RSP) || op->mem.index != ZYDIS_REGISTER_NONE ||
        op->mem.segment == ZYDIS_REGISTER_FS)
        return NO_PLACE;
    int64_t key = op->mem.disp.value * 2 + on_frame;
    for (unsigned i = 0; i < body->n_slots; i++)
        if (body->slot[i] == key)
            return PLACE_SLOT + i;
    if (body->n_slots == MOST_SLOTS)
        return NO_PLACE;
    body->slot[body->n_slots] = key;
    return PLACE_SLOT + body->n_slots++;
}

static void add_memory(struct loop_body *body, struct step *step, const ZydisDecodedOperand *op)
{
    bool reads = op->actions & ZYDIS_OPERAND_ACTION_MASK_READ;
    bool writes = op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;
    bool is_address = op->mem.type == ZYDIS_MEMOP_TYPE_AGEN; /* lea only computes */
    unsigned slot = is_address ? NO_PLACE : slot_place(body, op);
    if (slot != NO_PLACE) {
        if (reads)
            add_read(step, slot, false);
        if (writes)
            add_write(step, slot);
        return;
    }
    step->loads |= reads && !is_address;
    /* Addresses of stores lead nowhere. */
    if (reads || is_address) {
        add_read(step, place_of_register(op->mem.base), !is_address);
        add_read(step, place_of_register(op->mem.index), !is_address);
    }
}

/* xor eax, eax: the result does not depend on what was there. */
static bool is_zeroing(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *ops)
{
    switch (insn->mnemonic) {
    case ZYDIS_MNEMONIC_XOR:
    case ZYDIS_MNEMONIC_SUB:
    case ZYDIS_MNEMONIC_PXOR:
    case ZYDIS_MNEMONIC_XORPS:
    case ZYDIS_MNEMONIC_XORPD:
        return ops[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
               ops[1].type == ZYDIS_OPERAND_TYPE_REGISTER && ops[0].reg.value == ops[1].reg.value;
    default:
        return false;
    }
}

static bool is_control(const ZydisDecodedOperand *op)
{
    return op->type == ZYDIS_OPERAND_TYPE_REGISTER &&
           (op->reg.value == ZYDIS_REGISTER_RIP || op->reg.value == ZYDIS_REGISTER_RSP);
}

static void describe(struct loop_body *body, const struct rl_flow_insn *from, uint32_t index)
{
    struct step *step = &body->step[body->n++];
    ZydisDecoder decoder;
    ZydisDecodedInstruction insn;
    ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
    *step = (struct step){.insn = index};
    if (!ZYAN_SUCCESS(
            ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) ||
        !ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, from->code, from->insn.length, &insn, ops)))
        return;
    step->clobbers = from->insn.class == RL_INSN_CALL;
    bool zeroing = is_zeroing(&insn, ops);
    for (unsigned i = 0; i < insn.operand_count; i++) {
        const ZydisDecodedOperand *op = &ops[i];
        if (op->type == ZYDIS_OPERAND_TYPE_MEMORY) {
            add_memory(body, step, op);
        } else if (op->type == ZYDIS_OPERAND_TYPE_REGISTER && !is_control(op)) {
            if ((op->actions & ZYDIS_OPERAND_ACTION_MASK_READ) && !zeroing)
                add_read(step, place_of_register(op->reg.value), false);
            if (op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
                add_write(step, place_of_register(op->reg.value));
        }
    }
    if (insn.cpu_flags && insn.cpu_flags->tested)
        add_read(step, PLACE_FLAGS, false);
    if (insn.cpu_flags && (insn.cpu_flags->modified | insn.cpu_flags->set_0 |
                           insn.cpu_flags->set_1 | insn.cpu_flags->undefined))
        add_write(step, PLACE_FLAGS);
}

/* Who made the value in each place, as of the current instruction. */
static void run_step(const struct loop_body *body, uint32_t i, uint32_t *maker)
{
    const struct step *step = &body->step[i];
    for (unsigned k = 0; k < step->n_write; k++)
        maker[step->write[k]] = i;
    if (step->clobbers)
        for (unsigned p = PLACE_GENERAL; p < PLACE_FLAGS; p++)
            maker[p] = NO_INSN;
}

static void link_values(struct loop_body *body)
{
    uint32_t maker[PLACES];
    for (unsigned p = 0; p < PLACES; p++)
        maker[p] = NO_INSN;
    for (uint32_t i = 0; i < body->n; i++) {
        body->first[i] = NO_INSN;
        run_step(body, i, maker); /* what the round before leaves behind */
    }
    body->n_edges = 0;
    for (uint32_t i = 0; i < body->n; i++) {
        const struct step *step = &body->step[i];
        for (unsigned k = 0; k < step->n_read; k++) {
            uint32_t from = maker[step->read[k]];
            if (from == NO_INSN)
                continue;
            body->edge[body->n_edges] = (struct edge){i, body->first[from], step->is_address[k]};
            body->first[from] = body->n_edges++;
        }
        run_step(body, i, maker);
    }
}

/* Does what instruction `load` makes come back to it as an address? */
static bool is_chained(struct loop_body *body, uint32_t load)
{
    uint32_t n = 0;
    memset(body->reached, 0, body->n * sizeof *body->reached);
    body->stack[n++] = load;
    body->reached[load] = true;
    while (n) {
        uint32_t at = body->stack[--n];
        for (uint32_t e = body->first[at]; e != NO_INSN; e = body->edge[e].next) {
            const struct edge *edge = &body->edge[e];
            if (edge->to == load && edge->is_address)
                return true;
            if (!body->reached[edge->to])
                body->stack[n++] = edge->to;
            body->reached[edge->to] = true;
        }
    }
    return false;
}

static bool contains(const struct rl_flow *flow, uint32_t outer, uint32_t inner)
{
    while (inner != RL_FLOW_NO_LOOP && inner > outer)
        inner = flow->loops[inner].parent;
    return inner == outer;
}

/* Instructions of the loop and of those inside it, ascending; false if there are too many. */
static bool collect(const struct rl_flow *flow, uint32_t l, struct loop_body *body)
{
    body->n = body->n_slots = 0;
    if (flow->loops[l].n_insn > MOST_INSNS)
        return false;
    size_t low = 0, high = flow->n_insns;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (flow->insns[middle].offset < flow->loops[l].begin)
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t i = low; i < flow->n_insns; i++) {
        const struct rl_flow_insn *insn = &flow->insns[i];
        if (insn->offset >= flow->loops[l].end)
            break;
        if (!contains(flow, l, insn->loop))
            continue;
        if (body->n == MOST_INSNS)
            return false;
        describe(body, insn, (uint32_t)i);
    }
    return true;
}

static uint64_t count_chained(const struct rl_flow *flow, uint32_t l, struct loop_body *body)
{
    uint64_t sum = 0;
    if (!collect(flow, l, body))
        return 0;
    link_values(body);
    for (uint32_t i = 0; i < body->n; i++) {
        const struct rl_flow_insn *insn = &flow->insns[body->step[i].insn];
        if (body->step[i].loads && insn->loop == l && is_chained(body, i))
            sum += insn->executions;
    }
    return sum;
}

enum rl_status rl_chain_loads(const struct rl_flow *flow, uint64_t *ret_loads, struct rl_error *err)
{
    if (!flow->n_loops)
        return RL_OK;
    size_t n = flow->n_insns < MOST_INSNS ? flow->n_insns : MOST_INSNS;
    struct loop_body body = {.step = calloc(n, sizeof *body.step),
                             .edge = calloc(n * MOST_EDGES, sizeof *body.edge),
                             .first = calloc(n, sizeof *body.first),
                             .stack = calloc(n, sizeof *body.stack),
                             .reached = calloc(n, sizeof *body.reached)};
    bool ready = body.step && body.edge && body.first && body.stack && body.reached;
    for (uint32_t l = 0; ready && l < flow->n_loops; l++)
        ret_loads[l] = count_chained(flow, l, &body);
    free(body.step);
    free(body.edge);
    free(body.first);
    free(body.stack);
    free(body.reached);
    return ready ? RL_OK : rl_fail(err, RL_ENOMEM, "no memory for %zu instructions", n);
}
