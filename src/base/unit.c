#include "base/unit.h"

#include "base/error.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Digits after the point that leave three significant ones, for 1 <= value < 1000. */
static int decimals(double value)
{
    if (value < 9.995)
        return 2;
    return value < 99.95 ? 1 : 0;
}

char *rl_format_si(char *buf, size_t size, double value, const char *unit)
{
    static const char *const prefix[] = {"n", "µ", "m", "", "k", "M", "G", "T", "P", "E"};
    enum { NO_PREFIX = 3, LAST = 9 };
    if (!isfinite(value)) {
        snprintf(buf, size, "–");
        return buf;
    }
    int i = NO_PREFIX;
    double scaled = fabs(value);
    while (scaled >= 999.5 && i < LAST) {
        scaled /= 1000;
        i++;
    }
    while (scaled != 0 && scaled < 0.9995 && i > 0) {
        scaled *= 1000;
        i--;
    }
    snprintf(buf, size, "%s%.*f %s%s", value < 0 ? "-" : "", scaled == 0 ? 0 : decimals(scaled),
             scaled, prefix[i], unit);
    return buf;
}

char *rl_format_size(char *buf, size_t size, uint64_t bytes)
{
    static const char *const unit[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    int i = 0;
    double scaled = (double)bytes;
    while (scaled >= 1024 && i < 6) {
        scaled /= 1024;
        i++;
    }
    bool whole = scaled == floor(scaled) || i == 0;
    snprintf(buf, size, "%.*f %s", whole ? 0 : scaled < 10 ? 2 : 1, scaled, unit[i]);
    return buf;
}

char *rl_format_time(char *buf, size_t size, double time_s)
{
    if (isfinite(time_s) && fabs(time_s) >= 999.5) {
        snprintf(buf, size, "%.0f s", time_s);
        return buf;
    }
    return rl_format_si(buf, size, time_s, "s");
}

struct suffix {
    const char *text;
    double factor;
};

static const struct suffix suffixes[] = {
    {"", 1},         {"B", 1},      {"K", 0x1p10},   {"k", 0x1p10}, {"KiB", 0x1p10}, {"M", 0x1p20},
    {"MiB", 0x1p20}, {"G", 0x1p30}, {"GiB", 0x1p30}, {"T", 0x1p40}, {"TiB", 0x1p40}, {"kB", 1e3},
    {"KB", 1e3},     {"MB", 1e6},   {"GB", 1e9},     {"TB", 1e12},
};

/* strtod that always takes a dot. */
static double parse_c_locale(const char *text, char **end)
{
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    double value = c ? strtod_l(text, end, c) : strtod(text, end);
    if (c)
        freelocale(c);
    return value;
}

enum rl_status rl_parse_size(const char *text, uint64_t *ret_bytes, struct rl_error *err)
{
    char *end;
    double value = parse_c_locale(text, &end);
    while (*end == ' ')
        end++;
    for (size_t i = 0; end != text && i < sizeof suffixes / sizeof suffixes[0]; i++) {
        if (strcmp(end, suffixes[i].text) != 0)
            continue;
        double bytes = value * suffixes[i].factor;
        if (!(bytes >= 0 && bytes < 0x1p63))
            break;
        *ret_bytes = (uint64_t)bytes;
        return RL_OK;
    }
    return rl_fail(err, RL_EINVAL, "\"%s\" is no size; write for instance 4096, 48KiB, 2MiB or 1GB",
                   text);
}

enum rl_status rl_parse_double(const char *text, const char *what, double min, double max,
                               double *ret_value, struct rl_error *err)
{
    char *end;
    double value = parse_c_locale(text, &end);
    if (end == text || *end)
        return rl_fail(err, RL_EINVAL, "%s: \"%s\" is no number", what, text);
    if (!(value >= min && value <= max))
        return rl_fail(err, RL_EINVAL, "%s: %s is outside %g to %g", what, text, min, max);
    *ret_value = value;
    return RL_OK;
}

enum rl_status rl_parse_uint(const char *text, const char *what, uint64_t min, uint64_t max,
                             uint64_t *ret_value, struct rl_error *err)
{
    char *end;
    errno = 0;
    uint64_t value = strtoull(text, &end, 10);
    if (end == text || *end || !isdigit((unsigned char)text[0]))
        return rl_fail(err, RL_EINVAL, "%s: \"%s\" is no whole number", what, text);
    if (errno == ERANGE || value < min || value > max)
        return rl_fail(err, RL_EINVAL, "%s: %s is outside %" PRIu64 " to %" PRIu64, what, text, min,
                       max);
    *ret_value = value;
    return RL_OK;
}
