#include "profile/sums.h"

#include "base/array.h"
#include "base/error.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t add(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t times(uint64_t a, uint64_t b)
{
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

/* Which function a special operation computes, by mnemonic: the first that is contained. */
static const struct {
    const char *mnemonic, *name;
} functions[] = {
    {"", ""},          {"rsqrt", "rsqrt"},    {"rcp", "rcp"},    {"rsqit1", "rsqrt"},
    {"rcpit", "rcp"},  {"cpit1", "rcp"},      {"exp2", "exp2"},  {"f2xm1", "exp2"},
    {"fyl2x", "log2"}, {"fsincos", "sincos"}, {"fsin", "sin"},   {"fcos", "cos"},
    {"fptan", "tan"},  {"fpatan", "atan"},    {"fprem", "fmod"},
};

static uint8_t function_of(const struct rl_insn *insn)
{
    if (insn->class != RL_INSN_FP_SPECIAL)
        return 0;
    for (uint8_t i = 1; i < sizeof functions / sizeof functions[0]; i++)
        if (strstr(insn->mnemonic, functions[i].mnemonic))
            return i;
    return 0;
}

/* The record's class of a decoded operation; false for what the record does not hold. */
static bool record_class(enum rl_insn_class class, enum rl_op_class *ret_op)
{
    switch (class) {
    case RL_INSN_FP_ADD:
    case RL_INSN_INT_ADD:
        *ret_op = RL_OP_ADD;
        return true;
    case RL_INSN_FP_MUL:
    case RL_INSN_INT_MUL:
        *ret_op = RL_OP_MUL;
        return true;
    case RL_INSN_FP_FMA:
    case RL_INSN_INT_MAC:
        *ret_op = RL_OP_FMA;
        return true;
    case RL_INSN_FP_DIV:
    case RL_INSN_INT_DIV:
        *ret_op = RL_OP_DIV;
        return true;
    case RL_INSN_FP_SQRT:
        *ret_op = RL_OP_SQRT;
        return true;
    case RL_INSN_FP_SPECIAL:
        *ret_op = RL_OP_SPECIAL;
        return true;
    case RL_INSN_FP_MINMAX:
    case RL_INSN_FP_COMPARE:
    case RL_INSN_FP_CONVERT:
    case RL_INSN_FP_ROUND:
    case RL_INSN_FP_LOGIC:
    case RL_INSN_INT_OTHER:
        *ret_op = RL_OP_OTHER;
        return true;
    default:
        return false;
    }
}

static bool add_row(struct sums *sums, struct sums_row row)
{
    for (size_t i = 0; i < sums->n_row; i++) {
        struct sums_row *known = &sums->row[i];
        if (known->precision == row.precision && known->op == row.op && known->isa == row.isa &&
            known->function == row.function) {
            known->count = add(known->count, row.count);
            return true;
        }
    }
    struct sums_row *room = rl_array_append(&sums->row, &sums->n_row, sizeof row);
    if (room)
        *room = row;
    return room != NULL;
}

bool sums_add(struct sums *sums, const struct rl_insn *insn, uint64_t executions)
{
    if (!executions)
        return true;
    if (!insn->length) {
        sums->undecodable = add(sums->undecodable, executions);
        return true;
    }
    uint64_t flop = times(rl_insn_flop(insn), executions);
    sums->insns = add(sums->insns, executions);
    sums->flop = add(sums->flop, flop);
    if (insn->flags & RL_INSN_MASKED)
        sums->masked_flop = add(sums->masked_flop, flop);
    if (insn->flags & RL_INSN_TILE)
        sums->tile_ops = add(sums->tile_ops, executions);
    if ((insn->flags & RL_INSN_REPEATED) && insn->accesses) {
        sums->repeated = add(sums->repeated, executions);
    } else {
        uint64_t stored = times(insn->store_bytes, executions);
        sums->load_bytes = add(sums->load_bytes, times(insn->load_bytes, executions));
        sums->store_bytes = add(sums->store_bytes, stored);
        if (insn->flags & RL_INSN_NONTEMPORAL)
            sums->nontemporal_bytes = add(sums->nontemporal_bytes, stored);
    }
    for (unsigned i = 0; i < insn->n_op; i++) {
        enum rl_op_class op;
        if (record_class(insn->op[i].class, &op) &&
            !add_row(sums, (struct sums_row){.precision = insn->op[i].precision,
                                             .op = (uint8_t)op,
                                             .isa = insn->isa,
                                             .function = function_of(insn),
                                             .count = times(insn->op[i].count, executions)}))
            return false;
    }
    return true;
}

bool sums_merge(struct sums *sums, const struct sums *more)
{
    sums->insns = add(sums->insns, more->insns);
    sums->load_bytes = add(sums->load_bytes, more->load_bytes);
    sums->store_bytes = add(sums->store_bytes, more->store_bytes);
    sums->nontemporal_bytes = add(sums->nontemporal_bytes, more->nontemporal_bytes);
    sums->flop = add(sums->flop, more->flop);
    sums->masked_flop = add(sums->masked_flop, more->masked_flop);
    sums->tile_ops = add(sums->tile_ops, more->tile_ops);
    sums->repeated = add(sums->repeated, more->repeated);
    sums->undecodable = add(sums->undecodable, more->undecodable);
    for (size_t i = 0; i < more->n_row; i++)
        if (!add_row(sums, more->row[i]))
            return false;
    return true;
}

void sums_add_repeats(struct sums *sums, const struct rl_insn *insn, uint64_t executions,
                      uint64_t repetitions)
{
    sums->repeated -= executions < sums->repeated ? executions : sums->repeated;
    sums->load_bytes = add(sums->load_bytes, times(insn->load_bytes, repetitions));
    sums->store_bytes = add(sums->store_bytes, times(insn->store_bytes, repetitions));
}

bool sums_add_code(struct sums *sums, const uint8_t *code, uint32_t size, uint64_t executions)
{
    for (uint32_t done = 0; done < size;) {
        struct rl_insn insn;
        bool ok = rl_insn_decode(code + done, size - done, &insn);
        if (!sums_add(sums, &insn, executions))
            return false;
        if (!ok)
            break;
        done += insn.length;
    }
    return true;
}

void sums_release(struct sums *sums)
{
    free(sums->row);
    *sums = (struct sums){0};
}

static struct rl_value counted(uint64_t value)
{
    return rl_value((double)value, RL_SOURCE_COUNTED, 0);
}

static enum rl_status fill_bytes(const struct sums *sums, struct rl_kernel *kernel,
                                 struct rl_error *err)
{
    struct rl_traffic *l1;
    kernel->load_bytes = counted(sums->load_bytes);
    kernel->store_bytes = counted(sums->store_bytes);
    kernel->nontemporal_bytes = counted(sums->nontemporal_bytes);
    RL_TRY(rl_kernel_traffic(kernel, "L1", &l1, err));
    l1->read = kernel->load_bytes;
    l1->write = kernel->store_bytes;
    l1->bytes = counted(add(sums->load_bytes, sums->store_bytes));
    if (!sums->repeated)
        return RL_OK;
    char why[160];
    snprintf(why, sizeof why,
             "what repeated string instructions moved, executed %" PRIu64 " time%s, is not in it",
             sums->repeated, sums->repeated == 1 ? "" : "s");
    return rl_missing_add(&kernel->missing, "bytes", why, err);
}

static enum rl_status fill_parameters(const struct sums *sums, struct rl_kernel *kernel,
                                      struct rl_error *err)
{
    char text[64];
    snprintf(text, sizeof text, "%" PRIu64, sums->insns);
    RL_TRY(rl_kernel_set_parameter(kernel, "instructions", text, err));
    if (sums->masked_flop) {
        snprintf(text, sizeof text, "%.3g", (double)sums->masked_flop / (double)sums->flop);
        RL_TRY(rl_kernel_set_parameter(kernel, "masked_flop_share", text, err));
    }
    if (sums->undecodable) {
        char why[160];
        snprintf(why, sizeof why, "code that could not be decoded was executed %" PRIu64 " time%s",
                 sums->undecodable, sums->undecodable == 1 ? "" : "s");
        RL_TRY(rl_missing_add(&kernel->missing, "flop", why, err));
    }
    return RL_OK;
}

enum rl_status sums_fill(const struct sums *sums, struct rl_kernel *kernel, struct rl_error *err)
{
    bool any_float = false, any_integer = false;
    for (size_t i = 0; i < sums->n_row; i++) {
        const struct sums_row *row = &sums->row[i];
        struct rl_op_count ops = {
            .precision = row->precision, .op = row->op, .count = counted(row->count)};
        snprintf(ops.isa, sizeof ops.isa, "%s", rl_insn_isa_name(row->isa));
        snprintf(ops.func, sizeof ops.func, "%s", functions[row->function].name);
        RL_TRY(rl_kernel_add_ops(kernel, &ops, err));
        any_float |= rl_precision_is_float(ops.precision);
        any_integer |= !rl_precision_is_float(ops.precision);
    }
    /* That there were none is knowledge too. */
    if (!any_float)
        kernel->flop = counted(0);
    if (!any_integer)
        kernel->iop = counted(0);
    RL_TRY(fill_bytes(sums, kernel, err));
    return fill_parameters(sums, kernel, err);
}
