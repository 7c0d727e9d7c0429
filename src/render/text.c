#include "render/text.h"
#include "base/utf8.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */

/* Characters that move the cursor, reorder what follows or may not stand in XML. */
static bool is_hostile(uint32_t c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x200b && c <= 0x200f) ||
           (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || c == 0xfeff ||
           (c & 0xfffe) == 0xfffe;
}

static const char *spelled(uint32_t c)
{
    static const struct {
        uint32_t code;
        const char *ascii;
    } table[] = {
        {0xb5, "u"},    {0xb7, "-"},   {0xb9, "^1"},   {0xb2, "^2"},   {0xb3, "^3"},
        {0xd7, "x"},    {0x3bc, "u"},  {0x3c3, "s"},   {0x2013, "-"},  {0x2014, "-"},
        {0x2018, "'"},  {0x2019, "'"}, {0x201c, "\""}, {0x201d, "\""}, {0x2026, "..."},
        {0x2192, "->"}, {0x2248, "~"}, {0x2264, "<="}, {0x2265, ">="}, {0x25cf, "*"},
        {0xa0, " "},    {0x202f, " "}, {0x207b, "-"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (table[i].code == c)
            return table[i].ascii;
    }
    return "?";
}

void rl_text_clean(char *dst, size_t n, const char *src, bool unicode)
{
    size_t used = 0;
    for (const char *s = src ? src : ""; *s;) {
        uint32_t code = 0;
        unsigned length = rl_utf8_decode(s, &code);
        char plain[5] = {0};
        const char *out = plain;
        if (length == 0 || is_hostile(code))
            out = code == '\n' || code == '\t' ? " " : unicode ? replacement : "?";
        else if (length > 1 && !unicode)
            out = spelled(code);
        else
            memcpy(plain, s, length);
        size_t size = strlen(out);
        if (used + size + 1 > n)
            break;
        memcpy(dst + used, out, size);
        used += size;
        s += length ? length : 1;
    }
    if (n)
        dst[used] = 0;
}

bool rl_report_is_mixed(const struct rl_report *report)
{
    for (size_t i = 1; i < report->n_row; i++) {
        if (report->row[i].place.threads != report->row[0].place.threads)
            return true;
    }
    return false;
}

/* A program may be called like one of its functions or regions. */
static bool has_namesake(const struct rl_report *report, const struct rl_row *row)
{
    for (size_t i = 0; i < report->n_row; i++) {
        const struct rl_kernel *other = report->row[i].kernel;
        if (other->kind != RL_KIND_PROGRAM && !strcmp(other->name, row->kernel->name))
            return true;
    }
    return false;
}

/* Ranks, or runs before and after, have kernels of the same name. @return NULL: no need to tell. */
static const char *profile_of(const struct rl_report *report, const struct rl_row *row)
{
    const char *own = rl_kernel_parameter(row->kernel, RL_PARAMETER_PROFILE);
    for (size_t i = 0; own && i < report->n_row; i++) {
        const struct rl_kernel *other = report->row[i].kernel;
        const char *its = rl_kernel_parameter(other, RL_PARAMETER_PROFILE);
        if (its && strcmp(its, own) != 0 && strcmp(other->name, row->kernel->name) == 0)
            return own;
    }
    return NULL;
}

enum {
    PROFILE_MOST = 64, /* bytes of a profile's name; the end tells them apart */
    LABEL_LEN = sizeof " (program) [] @4294967295" + PROFILE_MOST,
    QUOTES = 2,
    LEAST_NAME = 4, /* columns of a kernel's name that still tell something beside its label */
};

/* What stands behind a kernel's name to tell it from others of that name; may be empty. */
static void label_of(const struct rl_report *report, const struct rl_row *row, char dst[LABEL_LEN],
                     bool unicode)
{
    size_t used = 0;
    dst[0] = '\0';
    /* One program of several has a module. */
    if (row->kernel->kind == RL_KIND_PROGRAM && (row->kernel->module || has_namesake(report, row)))
        used += (size_t)snprintf(dst, LABEL_LEN, " (program)");
    const char *profile = profile_of(report, row);
    if (profile) {
        char clean[PROFILE_MOST];
        size_t n = strlen(profile);
        rl_text_clean(clean, sizeof clean, profile + (n < sizeof clean ? 0 : n - sizeof clean + 1),
                      unicode);
        used += (size_t)snprintf(dst + used, LABEL_LEN - used, " [%s]", clean);
    }
    if (rl_report_is_mixed(report))
        snprintf(dst + used, LABEL_LEN - used, " @%u", row->place.threads);
}

static void quote_blank(char name[RL_TEXT_LEN - LABEL_LEN])
{
    size_t n = strlen(name);
    if (strspn(name, " ") < n)
        return;
    memmove(name + 1, name, n);
    name[0] = name[n + 1] = '"';
    name[n + QUOTES] = '\0';
}

void rl_row_name(const struct rl_report *report, const struct rl_row *row, unsigned columns,
                 char dst[RL_TEXT_LEN], bool unicode)
{
    char label[LABEL_LEN];
    label_of(report, row, label, unicode);
    rl_text_clean(dst, RL_TEXT_LEN - LABEL_LEN - QUOTES, row->kernel->name, unicode);
    quote_blank(dst); /* nobody would see that it has a name */
    unsigned beside = rl_text_columns(label);
    bool has_room = columns >= beside + LEAST_NAME;
    if (columns && has_room)
        rl_text_elide(dst, RL_TEXT_LEN - LABEL_LEN, columns - beside, unicode);
    strcat(dst, label);
    if (columns && !has_room)
        rl_text_elide(dst, RL_TEXT_LEN, columns, unicode);
}

static unsigned columns_of(uint32_t c)
{
    if ((c >= 0x300 && c <= 0x36f) || (c >= 0xfe00 && c <= 0xfe0f) || (c >= 0x20d0 && c <= 0x20f0))
        return 0;
    bool wide = (c >= 0x1100 && c <= 0x115f) || (c >= 0x2e80 && c <= 0xa4cf) ||
                (c >= 0xac00 && c <= 0xd7a3) || (c >= 0xf900 && c <= 0xfaff) ||
                (c >= 0xfe30 && c <= 0xfe6f) || (c >= 0xff00 && c <= 0xff60) ||
                (c >= 0xffe0 && c <= 0xffe6) || (c >= 0x1f300 && c <= 0x1faff) ||
                (c >= 0x20000 && c <= 0x3fffd);
    return wide ? 2 : 1;
}

unsigned rl_text_next(const char *text, unsigned *ret_columns)
{
    uint32_t code = '?';
    unsigned length = rl_utf8_decode(text, &code);
    *ret_columns = columns_of(code);
    return length ? length : 1;
}

unsigned rl_text_columns(const char *text)
{
    unsigned columns = 0;
    while (*text) {
        unsigned width;
        text += rl_text_next(text, &width);
        columns += width;
    }
    return columns;
}

/* Bytes of the longest prefix of at most `columns`. */
static size_t prefix_bytes(const char *text, unsigned columns)
{
    const char *s = text;
    while (*s) {
        unsigned width;
        unsigned length = rl_text_next(s, &width);
        if (width > columns)
            break;
        columns -= width;
        s += length;
    }
    return (size_t)(s - text);
}

void rl_text_elide(char *text, size_t n, unsigned columns, bool unicode)
{
    const char *dots = unicode ? "…" : "..";
    unsigned total = rl_text_columns(text);
    unsigned room = rl_text_columns(dots);
    if (total <= columns)
        return;
    if (columns <= room + 1) {
        text[prefix_bytes(text, columns)] = 0;
        return;
    }
    /* The tail of a mangled or templated name tells more than its middle, the head most. */
    unsigned head = (columns - room) * 2 / 3;
    unsigned tail = columns - room - head;
    size_t head_bytes = prefix_bytes(text, head);
    size_t tail_at = prefix_bytes(text, total - tail);
    if (rl_text_columns(text + tail_at) > tail)
        tail_at += prefix_bytes(text + tail_at, 2);
    char out[RL_TEXT_LEN * 2];
    snprintf(out, sizeof out, "%.*s%s%s", (int)head_bytes, text, dots, text + tail_at);
    if (strlen(out) < n)
        memcpy(text, out, strlen(out) + 1);
    else
        text[prefix_bytes(text, columns)] = 0;
}

void rl_text_number(char *dst, size_t n, double value)
{
    double size = fabs(value);
    if (!isfinite(value) || (size != 0 && (size < 1e-4 || size >= 1e6))) {
        snprintf(dst, n, "%.3g", value);
        return;
    }
    if (size >= 999.5 || size == 0) {
        snprintf(dst, n, "%.0f", value);
        return;
    }
    int whole = size >= 99.95 ? 3 : size >= 9.995 ? 2 : 1;
    int decimals = 3 - whole;
    if (size < 0.9995)
        decimals = 2 - (int)floor(log10(size * 1.0005));
    snprintf(dst, n, "%.*f", decimals, value);
}

void rl_text_share(char *dst, size_t n, double share)
{
    double percent = share * 100;
    if (percent >= 1e6)
        snprintf(dst, n, "%.3g", percent);
    else if (percent >= 9.95 || percent == 0)
        snprintf(dst, n, "%.0f", percent);
    else if (percent >= 0.05)
        snprintf(dst, n, "%.1f", percent);
    else
        snprintf(dst, n, "<0.1");
}

void rl_text_percent(char *dst, size_t n, double share)
{
    char text[32];
    rl_text_share(text, sizeof text, share);
    snprintf(dst, n, "%s %%", text);
}
