#include <math.h>
#include <roofline/profile.h>
#include <roofline/value.h>
#include <string.h>

static const char *const source_names[RL_SOURCE_COUNT] = {
    [RL_SOURCE_NONE] = "none",           [RL_SOURCE_MEASURED] = "measured",
    [RL_SOURCE_COUNTED] = "counted",     [RL_SOURCE_SAMPLED] = "sampled",
    [RL_SOURCE_SIMULATED] = "simulated", [RL_SOURCE_MODELLED] = "modelled",
    [RL_SOURCE_SPECIFIED] = "specified", [RL_SOURCE_IMPORTED] = "imported",
    [RL_SOURCE_DECLARED] = "declared",
};

static const char *const precision_names[RL_PRECISION_COUNT] = {
    [RL_FP64] = "fp64",   [RL_FP32] = "fp32",   [RL_TF32] = "tf32",   [RL_FP16] = "fp16",
    [RL_BF16] = "bf16",   [RL_FP8] = "fp8",     [RL_X87] = "x87",     [RL_INT8] = "int8",
    [RL_INT16] = "int16", [RL_INT32] = "int32", [RL_INT64] = "int64",
};

/* Index of `name` in names[0..n), or -1. */
static int find_name(const char *const *names, int n, const char *name)
{
    for (int i = 0; name && i < n; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return -1;
}

const char *rl_source_name(enum rl_source source)
{
    return (unsigned)source < RL_SOURCE_COUNT ? source_names[source] : "none";
}

enum rl_source rl_source_from_name(const char *name)
{
    int i = find_name(source_names, RL_SOURCE_COUNT, name);
    return i < 0 ? RL_SOURCE_NONE : (enum rl_source)i;
}

const char *rl_precision_name(enum rl_precision precision)
{
    return (unsigned)precision < RL_PRECISION_COUNT ? precision_names[precision] : NULL;
}

bool rl_precision_from_name(const char *name, enum rl_precision *ret_precision)
{
    int i = find_name(precision_names, RL_PRECISION_COUNT, name);
    if (i >= 0)
        *ret_precision = (enum rl_precision)i;
    return i >= 0;
}

static const char *const kind_names[RL_KIND_COUNT] = {
    [RL_KIND_FUNCTION] = "function", [RL_KIND_LOOP] = "loop",   [RL_KIND_REGION] = "region",
    [RL_KIND_PROGRAM] = "program",   [RL_KIND_BENCH] = "bench", [RL_KIND_MODEL] = "model",
    [RL_KIND_IMPORTED] = "imported",
};

const char *rl_kind_name(enum rl_kernel_kind kind)
{
    return (unsigned)kind < RL_KIND_COUNT ? kind_names[kind] : NULL;
}

bool rl_kind_from_name(const char *name, enum rl_kernel_kind *ret_kind)
{
    int i = find_name(kind_names, RL_KIND_COUNT, name);
    if (i >= 0)
        *ret_kind = (enum rl_kernel_kind)i;
    return i >= 0;
}

static const char *const op_names[RL_OP_CLASS_COUNT] = {
    [RL_OP_ADD] = "add",     [RL_OP_MUL] = "mul",   [RL_OP_FMA] = "fma",
    [RL_OP_DIV] = "div",     [RL_OP_SQRT] = "sqrt", [RL_OP_SPECIAL] = "special",
    [RL_OP_OTHER] = "other",
};

const char *rl_op_class_name(enum rl_op_class op)
{
    return (unsigned)op < RL_OP_CLASS_COUNT ? op_names[op] : NULL;
}

bool rl_op_class_from_name(const char *name, enum rl_op_class *ret_op)
{
    int i = find_name(op_names, RL_OP_CLASS_COUNT, name);
    if (i >= 0)
        *ret_op = (enum rl_op_class)i;
    return i >= 0;
}

unsigned rl_op_class_weight(enum rl_op_class op)
{
    switch (op) {
    case RL_OP_FMA:
        return 2;
    case RL_OP_SPECIAL:
    case RL_OP_OTHER:
        return 0;
    default:
        return 1;
    }
}

struct rl_value rl_value_add(struct rl_value a, struct rl_value b)
{
    if (!rl_known(a) || !rl_known(b))
        return rl_value(0, RL_SOURCE_NONE, 0);
    double sum = a.value + b.value;
    double error = hypot(a.value * a.spread, b.value * b.spread);
    enum rl_source source = a.source > b.source ? a.source : b.source;
    return rl_value(sum, source, sum != 0 ? error / fabs(sum) : 0);
}
