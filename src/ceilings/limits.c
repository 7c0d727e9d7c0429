/* What a core can do by its documents, scaled to the width at hand. Pure. */
#include "ceilings/ceilings_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { FP64_BITS = 64, FMA_FLOP = 2, NARROW_BITS = 256 };

static void note(struct rl_limit *limit, const struct rl_spec *spec, const char *how)
{
    snprintf(limit->note, sizeof limit->note, "%s%s; %s", rl_certainty_name(spec->certainty), how,
             spec->source);
}

/* Bits one FMA pipe works on in a cycle: narrower instructions use a part of it, wider ones take
 * several cycles. */
static double pipe_bits(const struct rl_core *core)
{
    double fma = rl_core_value(core, "fp64_fma_flop");
    double pipes = rl_core_value(core, "fma_pipes");
    return pipes > 0 ? FP64_BITS * fma / (FMA_FLOP * pipes) : rl_core_value(core, "vector_bits");
}

static double width_share(const struct rl_core *core, unsigned bits)
{
    double full = pipe_bits(core);
    return full > 0 && bits < full ? bits / full : 1;
}

/* Some cores with 512-bit units have a pipe more for narrower instructions: a row "..._256" is what
 * they do at 256 bits. */
static const struct rl_spec *spec_for(const struct rl_core *core, const char *metric, unsigned bits)
{
    char narrow[48];
    const struct rl_spec *spec = NULL;
    snprintf(narrow, sizeof narrow, "%s_256", metric);
    if (bits <= NARROW_BITS)
        spec = rl_core_spec(core, narrow);
    return spec ? spec : rl_core_spec(core, metric);
}

/* What instructions of so many bits reach of the value of a row. */
static double share_of(const struct rl_core *core, const struct rl_spec *spec, unsigned bits)
{
    bool is_narrow = strstr(spec->metric, "_256") != NULL;
    return is_narrow ? (double)bits / NARROW_BITS : width_share(core, bits);
}

static double lane_factor(enum rl_precision precision)
{
    switch (precision) {
    case RL_FP32:
        return 2;
    case RL_FP16:
        return 4;
    default:
        return 1;
    }
}

/* Scalar instructions work on one lane of a pipe. */
static unsigned effective_bits(enum rl_precision precision, const char *width, unsigned bits)
{
    if (strcmp(width, "scalar") != 0)
        return bits;
    return precision == RL_FP32 ? 32 : FP64_BITS;
}

static struct rl_limit scaled(const struct rl_core *core, const char *metric, double factor,
                              unsigned bits)
{
    struct rl_limit limit = {0};
    const struct rl_spec *spec = spec_for(core, metric, bits);
    if (!spec)
        return limit;
    double share = share_of(core, spec, bits);
    limit.value = spec->value * factor * share;
    note(&limit, spec, share < 1 ? ", scaled to the width" : "");
    return limit;
}

/* Additions and multiplications one to one: each kind has its pipes, and together they have the
 * FMA pipes plus the extra addition pipes. */
static struct rl_limit add_mul_limit(const struct rl_core *core, double factor, unsigned bits)
{
    struct rl_limit limit = {0};
    const struct rl_spec *both = spec_for(core, "fma_plus_add_flop", bits);
    double share = width_share(core, bits);
    double add = share * rl_core_value(core, "fp64_add_flop");
    double mul = share * rl_core_value(core, "fp64_mul_flop");
    double fma = share * rl_core_value(core, "fp64_fma_flop");
    if (!both || add <= 0 || mul <= 0)
        return limit;
    double slots = fma / FMA_FLOP + (both->value * share_of(core, both, bits) - fma);
    double value = 2 * add < 2 * mul ? 2 * add : 2 * mul;
    value = slots < value ? slots : value;
    limit.value = value * factor;
    snprintf(limit.note, sizeof limit.note, "derived from the pipes of add, mul and fma; %s",
             both->source);
    return limit;
}

/* FLOP a cycle of so many FMA for each addition, at the full width: the FMA pipes, the addition
 * pipes and all of them together each bound it. */
static double mix_flop(double fma, double add, double both, double fma_per_add)
{
    double fma_slots = fma / FMA_FLOP;
    double slots = fma_slots + (both - fma);
    double cycles = fma_per_add / fma_slots;
    cycles = 1 / add > cycles ? 1 / add : cycles;
    cycles = (fma_per_add + 1) / slots > cycles ? (fma_per_add + 1) / slots : cycles;
    return (FMA_FLOP * fma_per_add + 1) / cycles;
}

/* The kernels mix one to one and two to one. Where additions have no pipes of their own that is
 * less than FMA alone, which the row of the catalogue counts as a mix, too. */
static struct rl_limit fma_add_limit(const struct rl_core *core, double factor, unsigned bits)
{
    struct rl_limit limit = scaled(core, "fma_plus_add_flop", factor, bits);
    const struct rl_spec *both = spec_for(core, "fma_plus_add_flop", bits);
    double measured = rl_core_value(core, "fma_plus_add_flop_measured");
    double add = width_share(core, bits) * rl_core_value(core, "fp64_add_flop");
    double fma = width_share(core, bits) * rl_core_value(core, "fp64_fma_flop");
    if (limit.value > 0 && add > 0 && fma > 0) {
        double one = mix_flop(fma, add, limit.value / factor, 1);
        double two = mix_flop(fma, add, limit.value / factor, 2);
        double best = factor * (one > two ? one : two);
        limit.value = best < limit.value ? best : limit.value;
    }
    if (limit.value > 0 && measured > 0 && measured < both->value && width_share(core, bits) >= 1)
        limit.reachable = factor * measured < limit.value ? factor * measured : 0;
    return limit;
}

/* Cycles of one vector instruction at the full width. */
static struct rl_limit divider_limit(const struct rl_core *core, const char *metric, unsigned bits)
{
    struct rl_limit limit = {0};
    const struct rl_spec *spec = rl_core_spec(core, metric);
    if (!spec || bits != rl_core_value(core, "vector_bits"))
        return limit;
    limit.value = bits / FP64_BITS / spec->value;
    note(&limit, spec, "");
    return limit;
}

static struct rl_limit dot_limit(const struct rl_core *core, enum rl_precision precision,
                                 const char *width, unsigned bits)
{
    struct rl_limit none = {0};
    bool tile = strcmp(width, "amx") == 0;
    bool vnni = strstr(width, "vnni") != NULL;
    double share = rl_core_value(core, "vector_bits");
    const char *metric = NULL;
    if (precision == RL_INT8)
        metric = tile ? "amx_int8_op" : vnni ? "int8_dot_op" : NULL;
    else if (precision == RL_BF16)
        metric = tile ? "amx_bf16_flop" : "bf16_dot_flop";
    else if (precision == RL_FP16 && tile)
        metric = "amx_fp16_flop";
    if (!metric)
        return none;
    return scaled(core, metric, 1, tile ? (unsigned)share : bits);
}

struct rl_limit rl_compute_limit(const struct rl_core *core, enum rl_precision precision,
                                 const char *op, const char *width, unsigned bits)
{
    struct rl_limit none = {0};
    if (!core)
        return none;
    if (strcmp(width, "c") == 0) /* the compiler chooses: what the core can do at its full width */
        bits = (unsigned)rl_core_value(core, "vector_bits");
    unsigned effective = effective_bits(precision, width, bits);
    if (strcmp(op, "dot") == 0)
        return dot_limit(core, precision, width, bits);
    if (precision == RL_FP16)
        return strcmp(op, "fma") == 0 ? scaled(core, "fp16_fma_flop", 1, effective) : none;
    if (precision != RL_FP64 && precision != RL_FP32)
        return none;
    double factor = lane_factor(precision);
    if (strcmp(op, "fma") == 0)
        return scaled(core, precision == RL_FP64 ? "fp64_fma_flop" : "fp32_fma_flop", 1, effective);
    if (strcmp(op, "add") == 0)
        return scaled(core, "fp64_add_flop", factor, effective);
    if (strcmp(op, "mul") == 0)
        return scaled(core, "fp64_mul_flop", factor, effective);
    if (strcmp(op, "add+mul") == 0)
        return add_mul_limit(core, factor, effective);
    if (strcmp(op, "fma+add") == 0)
        return fma_add_limit(core, factor, effective);
    if (precision == RL_FP64 && strcmp(op, "div") == 0)
        return divider_limit(core, "div_fp64_vec_cycles", bits);
    if (precision == RL_FP64 && strcmp(op, "sqrt") == 0)
        return divider_limit(core, "sqrt_fp64_vec_cycles", bits);
    return none;
}

/* Two loads for a store, or one for one, under three limits: loads, stores, and both together. */
static struct rl_limit l1_limit(const struct rl_core *core, enum rl_pattern pattern)
{
    struct rl_limit limit = {0};
    const struct rl_spec *load = rl_core_spec(core, "l1_load_bytes");
    const struct rl_spec *store = rl_core_spec(core, "l1_store_bytes");
    const struct rl_spec *both = rl_core_spec(core, "l1_load_store_bytes");
    double loads = rl_pattern_loads(pattern);
    double stores = rl_pattern_stores(pattern);
    const struct rl_spec *from = stores == 0 ? load : loads == 0 ? store : both;
    if (!load || !store || !from)
        return limit;
    double cycles = loads / load->value; /* for one byte of each array */
    cycles = stores / store->value > cycles ? stores / store->value : cycles;
    if (loads > 0 && stores > 0 && (loads + stores) / both->value > cycles)
        cycles = (loads + stores) / both->value;
    limit.value = (loads + stores) / cycles;
    double triad = rl_core_value(core, "l1_triad_bytes_measured");
    if (pattern == RL_TRIAD && triad > 0 && triad < limit.value)
        limit.reachable = triad;
    note(&limit, from, loads > 0 && stores > 0 ? ", for this mix" : "");
    return limit;
}

struct rl_limit rl_memory_limit(const struct rl_core *core, const char *level,
                                enum rl_pattern pattern)
{
    struct rl_limit limit = {0};
    if (!core || pattern >= RL_NT_STORE)
        return limit;
    if (strcmp(level, "L1") == 0)
        return l1_limit(core, pattern);
    if (pattern != RL_LOAD)
        return limit;
    bool l2 = strcmp(level, "L2") == 0;
    if (!l2 && strcmp(level, "L3") != 0)
        return limit;
    const struct rl_spec *spec =
        rl_core_spec(core, l2 ? "l2_to_l1_bytes" : "l3_to_l2_bytes_per_core");
    double measured =
        rl_core_value(core, l2 ? "l2_to_l1_bytes_measured" : "l3_to_l2_bytes_per_core_measured");
    if (!spec)
        return limit;
    limit.value = spec->value;
    limit.reachable = measured > 0 && measured < spec->value ? measured : 0;
    note(&limit, spec, "");
    return limit;
}

bool rl_is_above_limit(double per_cycle, double limit_per_cycle)
{
    const double tolerance = 1.05;
    return limit_per_cycle > 0 && per_cycle > tolerance * limit_per_cycle;
}

bool rl_limit_is_met(const struct rl_limit *limit, double per_cycle, unsigned clean)
{
    enum { LEAST_CLEAN = 3 };
    const double width = 0.01;
    return clean >= LEAST_CLEAN && limit->value > 0 &&
           fabs(per_cycle - limit->value) <= width * limit->value;
}

bool rl_rival_is_unsure(const struct rl_timing *rival, bool quiet, double work, double winner)
{
    enum { ENOUGH_CLEAN = 50 };
    const double width = 0.01;
    if (!rival->disturbed)
        return false;
    return !quiet || rival->clean < ENOUGH_CLEAN ||
           rival->best_per_cycle * work > (1 + width) * winner;
}

/* Cores that lower their clock for wide vectors do so by up to a sixth; pipes that the catalogue
 * does not know of make a quarter and more. */
static const double most_clock_step = 1.2;

void rl_limit_check(struct rl_limit *limit, const char *id, double per_cycle, bool disturbed,
                    struct rl_exceeded *exceeded)
{
    char source[RL_NOTE_LEN];
    if (!rl_is_above_limit(per_cycle, limit->value))
        return;
    double times = per_cycle / limit->value;
    bool evident = !disturbed && times > most_clock_step;
    if (evident) {
        if (exceeded->n++ == 0 || times > exceeded->per_cycle / exceeded->limit) {
            snprintf(exceeded->id, sizeof exceeded->id, "%s", id);
            exceeded->per_cycle = per_cycle;
            exceeded->limit = limit->value;
        }
    }
    snprintf(source, sizeof source, "%s", limit->note);
    snprintf(limit->note, sizeof limit->note, "left out, as %s: %.4g a cycle; %.*s",
             evident ? "it was exceeded" : "the clock beside the samples cannot be right",
             limit->value, RL_NOTE_LEN / 2, source);
    limit->value = 0;
    limit->reachable = 0;
}

bool rl_exceeded_text(const struct rl_exceeded *exceeded, const char *core, char *buffer,
                      size_t size)
{
    char others[64] = "";
    if (exceeded->n == 0)
        return false;
    if (exceeded->n > 1)
        snprintf(others, sizeof others, ", and %u other %s above %s limit", exceeded->n - 1,
                 exceeded->n == 2 ? "ceiling came out" : "ceilings came out",
                 exceeded->n == 2 ? "its" : "their");
    snprintf(buffer, size,
             "%s came out at %.4g a cycle where %s is said to do %.4g%s: these are no limits of "
             "this core and are left out; if it is not that core at all, the others are wrong, too",
             exceeded->id, exceeded->per_cycle, core ? core : "the core it was taken for",
             exceeded->limit, others);
    return true;
}
