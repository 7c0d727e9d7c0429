/* A number that says where it comes from.
 *
 * All-zero means "unknown": a value is known only when it has a source, so that a forgotten or
 * failed measurement can never pass for 0. */
#ifndef ROOFLINE_VALUE_H
#define ROOFLINE_VALUE_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Provenance of a value, from nothing at all to what the user said. */
enum rl_source {
    RL_SOURCE_NONE = 0,  /**< unknown */
    RL_SOURCE_MEASURED,  /**< timed or read from a hardware counter on this machine */
    RL_SOURCE_COUNTED,   /**< executed instructions counted exactly */
    RL_SOURCE_SAMPLED,   /**< estimated from samples */
    RL_SOURCE_SIMULATED, /**< from a cache model fed with the program's addresses */
    RL_SOURCE_MODELLED,  /**< from an analytic formula */
    RL_SOURCE_SPECIFIED, /**< from a datasheet or manual */
    RL_SOURCE_IMPORTED,  /**< from another tool's output */
    RL_SOURCE_DECLARED,  /**< given by the user */
    RL_SOURCE_COUNT
};

/** One number in SI base units (the field that holds it names the unit). */
struct rl_value {
    double value;
    enum rl_source source; /**< RL_SOURCE_NONE: `value` means nothing */
    double spread;         /**< relative half-width of a 95 % interval; 0 when not known */
};

/** Lower-case word used in records ("measured", …); "none" for RL_SOURCE_NONE. */
const char *rl_source_name(enum rl_source source);

/** Inverse of rl_source_name; RL_SOURCE_NONE for an unknown word. */
enum rl_source rl_source_from_name(const char *name);

static inline bool rl_known(struct rl_value v)
{
    return v.source != RL_SOURCE_NONE;
}

static inline struct rl_value rl_value(double value, enum rl_source source, double spread)
{
    struct rl_value v;
    v.value = value;
    v.source = source;
    v.spread = spread;
    return v;
}

/** Number formats that records tell apart. */
enum rl_precision {
    RL_FP64 = 0,
    RL_FP32,
    RL_TF32,
    RL_FP16,
    RL_BF16,
    RL_FP8,
    RL_X87, /**< 80-bit x87 */
    RL_INT8,
    RL_INT16,
    RL_INT32,
    RL_INT64,
    RL_PRECISION_COUNT
};

/** "fp64", "int8", …; NULL outside the enumeration. */
const char *rl_precision_name(enum rl_precision precision);

/** @return true and writes `ret_precision` if `name` is one of the names above. */
bool rl_precision_from_name(const char *name, enum rl_precision *ret_precision);

static inline bool rl_precision_is_float(enum rl_precision precision)
{
    return precision < RL_INT8;
}

#ifdef __cplusplus
}
#endif

#endif
