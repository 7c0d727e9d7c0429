/* Numbers for people: decimal rates, binary sizes, always with their unit. */
#ifndef RL_BASE_UNIT_H
#define RL_BASE_UNIT_H

#include <roofline/error.h>
#include <stddef.h>
#include <stdint.h>

/**
 * Decimal prefix and unit, three significant digits: 1.234e11, "FLOP/s" -> "123 GFLOP/s".
 * @param buf   [size]; always terminated. NAN or infinity prints "–".
 * @return buf
 */
char *rl_format_si(char *buf, size_t size, double value, const char *unit);

/** Binary size: 49152 -> "48 KiB". @return buf */
char *rl_format_size(char *buf, size_t size, uint64_t bytes);

/** A time in the fitting unit: "12.3 ms". @return buf */
char *rl_format_time(char *buf, size_t size, double time_s);

/**
 * Parse a size: digits with an optional suffix B, K/KiB, M/MiB, G/GiB, T/TiB (binary) or kB, MB,
 * GB, TB (decimal). @return RL_OK; RL_EINVAL naming the text.
 */
enum rl_status rl_parse_size(const char *text, uint64_t *ret_bytes, struct rl_error *err);

/**
 * Parse a number with a dot whatever the locale, within [min, max].
 * @param what  option name for the error text.
 */
enum rl_status rl_parse_double(const char *text, const char *what, double min, double max,
                               double *ret_value, struct rl_error *err);
enum rl_status rl_parse_uint(const char *text, const char *what, uint64_t min, uint64_t max,
                             uint64_t *ret_value, struct rl_error *err);

#endif
