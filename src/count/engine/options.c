#include "count/engine/options.h"

/* No libc here: the engine links this file too. */

enum { DEFAULT_BLOCKS = 16, MOST_BLOCKS = 32, DECIMAL_DIGITS = 10 };

static const char *const mode_names[RLE_N_MODES] = {"count", "translate", "traffic", "full", "mix"};

void rle_options_default(struct rle_options *options)
{
    options->mode = RLE_MODE_COUNT;
    options->max_blocks = DEFAULT_BLOCKS;
    options->follow = true;
    options->jit_native = false;
    options->fsgsbase = true;
    options->real_calls = true;
    options->launch = false;
    options->sample_seed = 1;
    options->reader = 0;
    options->channel = 0;
    for (unsigned i = 0; i < RLE_ONLY_MAX; i++)
        options->only[i] = '\0';
    for (unsigned i = 0; i < RLE_OUTPUT_MAX; i++)
        options->output[i] = '\0';
}

/* If `text` begins with `word`, the rest of it, else NULL. */
static const char *after(const char *text, const char *word)
{
    while (*word)
        if (*text++ != *word++)
            return NULL;
    return text;
}

/* A decimal number that ends at a comma; false if it is none or exceeds 32 bits. */
static bool read_number(const char *text, uint32_t *ret_value)
{
    uint64_t value = 0;
    if (*text < '0' || *text > '9')
        return false;
    for (; *text >= '0' && *text <= '9'; text++) {
        value = value * 10 + (unsigned)(*text - '0');
        if (value > UINT32_MAX)
            return false;
    }
    *ret_value = (uint32_t)value;
    return *text == ',' || *text == '\0';
}

static bool read_flag(const char *text, bool *ret_flag)
{
    uint32_t value;
    if (!read_number(text, &value) || value > 1)
        return false;
    *ret_flag = value == 1;
    return true;
}

static bool at_end(const char *text)
{
    return text && (*text == ',' || *text == '\0');
}

static bool read_mode(const char *text, uint32_t *ret_mode)
{
    for (uint32_t mode = 0; mode < RLE_N_MODES; mode++)
        if (at_end(after(text, mode_names[mode]))) {
            *ret_mode = mode;
            return true;
        }
    return false;
}

static bool read_output(const char *text, char *output)
{
    size_t n = 0;
    for (; text[n]; n++) {
        if (n == RLE_OUTPUT_MAX - 1)
            return false;
        output[n] = text[n];
    }
    output[n] = '\0';
    return n > 0;
}

static int digit_of(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool read_only(const char *text, char *only)
{
    unsigned n = 0;
    for (; *text && *text != ','; n++) {
        if (n == RLE_ONLY_MAX - 1)
            return false;
        only[n] = *text++;
        if (only[n] != '%')
            continue;
        int high = digit_of(text[0]);
        int low = high < 0 ? -1 : digit_of(text[1]);
        if (low < 0 || high + low == 0)
            return false;
        only[n] = (char)(high * 16 + low);
        text += 2;
    }
    only[n] = '\0';
    return true;
}

static bool read_pair(const char *text, struct rle_options *options)
{
    const char *value;
    if ((value = after(text, "mode=")))
        return read_mode(value, &options->mode);
    if ((value = after(text, "blocks=")))
        return read_number(value, &options->max_blocks) && options->max_blocks >= 1 &&
               options->max_blocks <= MOST_BLOCKS;
    if ((value = after(text, "follow=")))
        return read_flag(value, &options->follow);
    if ((value = after(text, "jit="))) {
        options->jit_native = at_end(after(value, "native"));
        return options->jit_native || at_end(after(value, "count"));
    }
    if ((value = after(text, "fsgsbase=")))
        return read_flag(value, &options->fsgsbase);
    if ((value = after(text, "calls=")))
        return read_flag(value, &options->real_calls);
    if ((value = after(text, "launch=")))
        return read_flag(value, &options->launch);
    if ((value = after(text, "sample=")))
        return read_number(value, &options->sample_seed);
    if ((value = after(text, "reader=")))
        return read_number(value, &options->reader);
    if ((value = after(text, "channel=")))
        return read_number(value, &options->channel);
    if ((value = after(text, "only=")))
        return read_only(value, options->only);
    return false;
}

bool rle_options_parse(const char *text, struct rle_options *options)
{
    rle_options_default(options);
    for (;;) {
        const char *value = after(text, "output=");
        if (value)
            return read_output(value, options->output);
        if (!read_pair(text, options))
            return false;
        while (*text && *text != ',')
            text++;
        if (!*text)
            return false; /* no output */
        text++;
    }
}

struct writer {
    char *text;
    size_t size;
    size_t length; /* may exceed size: then it did not fit */
};

static void put(struct writer *w, const char *text)
{
    for (; *text; text++) {
        if (w->length < w->size)
            w->text[w->length] = *text;
        w->length++;
    }
}

static void put_number(struct writer *w, uint32_t value)
{
    char digits[DECIMAL_DIGITS + 1];
    unsigned at = DECIMAL_DIGITS;
    digits[at] = '\0';
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    put(w, digits + at);
}

static void put_only(struct writer *w, const char *only)
{
    static const char digits[] = "0123456789ABCDEF";
    for (; *only; only++) {
        char plain[] = {*only, '\0'};
        char coded[] = {'%', digits[(unsigned char)*only >> 4], digits[*only & 15], '\0'};
        put(w, *only == ',' || *only == '%' || *only == '\n' ? coded : plain);
    }
}

size_t rle_options_format(const struct rle_options *options, char *text, size_t size)
{
    struct writer w = {text, size, 0};
    put(&w, "mode=");
    put(&w, mode_names[options->mode]);
    put(&w, ",blocks=");
    put_number(&w, options->max_blocks);
    put(&w, options->follow ? ",follow=1" : ",follow=0");
    put(&w, options->jit_native ? ",jit=native" : ",jit=count");
    put(&w, options->fsgsbase ? ",fsgsbase=1" : ",fsgsbase=0");
    put(&w, options->real_calls ? ",calls=1" : ",calls=0");
    put(&w, options->launch ? ",launch=1" : ",launch=0");
    put(&w, ",sample=");
    put_number(&w, options->sample_seed);
    put(&w, ",reader=");
    put_number(&w, options->reader);
    put(&w, ",channel=");
    put_number(&w, options->channel);
    if (options->only[0]) {
        put(&w, ",only=");
        put_only(&w, options->only);
    }
    put(&w, ",output=");
    put(&w, options->output);
    if (w.length >= size)
        return 0;
    text[w.length] = '\0';
    return w.length;
}

/* From the last star on everything may be tried again one character later. */
static bool matches(const char *pattern, const char *end, const char *name)
{
    const char *star = NULL, *retry = NULL;
    while (*name) {
        if (pattern < end && *pattern == '*') {
            star = ++pattern;
            retry = name;
        } else if (pattern < end && (*pattern == '?' || *pattern == *name)) {
            pattern++;
            name++;
        } else if (star) {
            pattern = star;
            name = ++retry;
        } else {
            return false;
        }
    }
    while (pattern < end && *pattern == '*')
        pattern++;
    return pattern == end;
}

bool rle_options_selects(const char *patterns, const char *name)
{
    while (*patterns) {
        const char *end = patterns;
        while (*end && *end != '\n')
            end++;
        if (matches(patterns, end, name))
            return true;
        patterns = *end ? end + 1 : end;
    }
    return false;
}
