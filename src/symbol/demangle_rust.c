/* Rust's v0 mangling (RFC 2603): a prefix notation with back references.
 *
 * Output follows rustc's own alternate form: no crate hashes, no type suffixes on constants. Input
 * is untrusted, so nesting and output are bounded and every read is checked. */
#include "symbol/demangle.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEEPEST     64
#define LONGEST_OUT 16384

struct rust {
    const char *in; /* behind "_R" */
    size_t at, size;
    char *out;
    size_t n;
    unsigned depth;
    unsigned bound_lifetimes;
    bool failed;
    bool silent; /* read, write nothing: impl paths, instantiating crates */
};

static void print_path(struct rust *r, bool in_value);
static void print_type(struct rust *r);
static void print_const(struct rust *r);

static void put(struct rust *r, const char *text, size_t n)
{
    if (r->silent)
        return;
    if (r->n + n >= LONGEST_OUT) {
        r->failed = true;
        return;
    }
    memcpy(r->out + r->n, text, n);
    r->n += n;
}

static void puts_(struct rust *r, const char *text)
{
    put(r, text, strlen(text));
}

static char peek(const struct rust *r)
{
    return r->at < r->size ? r->in[r->at] : '\0';
}

static char take(struct rust *r)
{
    if (r->at >= r->size) {
        r->failed = true;
        return '\0';
    }
    return r->in[r->at++];
}

static bool accept(struct rust *r, char c)
{
    if (peek(r) != c)
        return false;
    r->at++;
    return true;
}

static bool enter(struct rust *r)
{
    if (++r->depth > DEEPEST)
        r->failed = true;
    return !r->failed;
}

/* "_" is 0, "0_" is 1, "Z_" is 62 … */
static uint64_t base62(struct rust *r)
{
    uint64_t value = 0;
    if (accept(r, '_'))
        return 0;
    while (!r->failed) {
        char c = take(r);
        if (c == '_')
            return value + 1;
        unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'z' ? (unsigned)(c - 'a') + 10
                         : c >= 'A' && c <= 'Z' ? (unsigned)(c - 'A') + 36
                                                : 62;
        if (digit == 62 || value > UINT64_MAX / 62 - 62)
            r->failed = true;
        else
            value = value * 62 + digit;
    }
    return 0;
}

static uint64_t optional_base62(struct rust *r, char tag)
{
    return accept(r, tag) ? base62(r) + 1 : 0;
}

/* An identifier: disambiguator, length, bytes. Punycode ("u" before the length) is shown raw. */
static void print_identifier(struct rust *r)
{
    bool punycode = accept(r, 'u');
    size_t length = 0;
    if (!isdigit((unsigned char)peek(r)))
        r->failed = true;
    while (isdigit((unsigned char)peek(r)) && length < r->size)
        length = length * 10 + (size_t)(take(r) - '0');
    accept(r, '_');
    if (r->failed || length > r->size - r->at) {
        r->failed = true;
        return;
    }
    if (punycode)
        puts_(r, "punycode{");
    put(r, r->in + r->at, length);
    if (punycode)
        puts_(r, "}");
    r->at += length;
}

/* Print what an earlier position holds. */
static void print_back_reference(struct rust *r, void (*print)(struct rust *))
{
    size_t start = r->at - 1;
    uint64_t to = base62(r);
    if (r->failed || to >= start) {
        r->failed = true;
        return;
    }
    size_t resume = r->at;
    r->at = (size_t)to;
    if (!r->silent)
        print(r);
    r->at = resume;
}

static void print_lifetime(struct rust *r, uint64_t index)
{
    char name[32] = "'_";
    if (index && index <= r->bound_lifetimes) {
        unsigned depth = r->bound_lifetimes - (unsigned)index;
        if (depth < 26)
            snprintf(name, sizeof name, "'%c", (char)('a' + depth));
        else
            snprintf(name, sizeof name, "'_%u", depth);
    }
    puts_(r, name);
}

static void print_generic_arg(struct rust *r)
{
    if (accept(r, 'L'))
        print_lifetime(r, base62(r));
    else if (accept(r, 'K'))
        print_const(r);
    else
        print_type(r);
}

static void print_generic_args(struct rust *r)
{
    for (unsigned i = 0; !accept(r, 'E') && !r->failed; i++) {
        if (i)
            puts_(r, ", ");
        print_generic_arg(r);
    }
}

static void skip_impl_path(struct rust *r)
{
    bool was_silent = r->silent;
    r->silent = true;
    optional_base62(r, 's');
    print_path(r, false);
    r->silent = was_silent;
}

static void print_nested(struct rust *r, bool in_value)
{
    char space = take(r);
    print_path(r, in_value);
    uint64_t index = optional_base62(r, 's');
    if (isupper((unsigned char)space)) { /* {closure}, {shim}: not names of the program's */
        char number[32];
        puts_(r, "::{");
        if (space == 'C' || space == 'S')
            puts_(r, space == 'C' ? "closure" : "shim");
        else
            put(r, &space, 1);
        if (peek(r) != '0') {
            puts_(r, ":");
            print_identifier(r);
        } else {
            take(r);
        }
        snprintf(number, sizeof number, "#%llu}", (unsigned long long)index);
        puts_(r, number);
        return;
    }
    if (peek(r) == '0') {
        take(r);
        return;
    }
    puts_(r, "::");
    print_identifier(r);
}

static void print_path_plain(struct rust *r)
{
    print_path(r, false);
}

static void print_path_value(struct rust *r)
{
    print_path(r, true);
}

static void print_path(struct rust *r, bool in_value)
{
    if (!enter(r))
        return;
    switch (take(r)) {
    case 'C':
        optional_base62(r, 's');
        print_identifier(r);
        break;
    case 'M':
        skip_impl_path(r);
        puts_(r, "<");
        print_type(r);
        puts_(r, ">");
        break;
    case 'X':
        skip_impl_path(r);
        /* fall through */
    case 'Y':
        puts_(r, "<");
        print_type(r);
        puts_(r, " as ");
        print_path(r, false);
        puts_(r, ">");
        break;
    case 'N':
        print_nested(r, in_value);
        break;
    case 'I':
        print_path(r, in_value);
        puts_(r, in_value ? "::<" : "<");
        print_generic_args(r);
        puts_(r, ">");
        break;
    case 'B':
        print_back_reference(r, in_value ? print_path_value : print_path_plain);
        break;
    default:
        r->failed = true;
    }
    r->depth--;
}

static const char *basic_type(char c)
{
    static const char *const names[26] = {
        ['a' - 'a'] = "i8",    ['b' - 'a'] = "bool", ['c' - 'a'] = "char", ['d' - 'a'] = "f64",
        ['e' - 'a'] = "str",   ['f' - 'a'] = "f32",  ['h' - 'a'] = "u8",   ['i' - 'a'] = "isize",
        ['j' - 'a'] = "usize", ['l' - 'a'] = "i32",  ['m' - 'a'] = "u32",  ['n' - 'a'] = "i128",
        ['o' - 'a'] = "u128",  ['p' - 'a'] = "_",    ['s' - 'a'] = "i16",  ['t' - 'a'] = "u16",
        ['u' - 'a'] = "()",    ['v' - 'a'] = "...",  ['x' - 'a'] = "i64",  ['y' - 'a'] = "u64",
        ['z' - 'a'] = "!",
    };
    return c >= 'a' && c <= 'z' ? names[c - 'a'] : NULL;
}

/* "for<'a, 'b> ", and remember how many lifetimes it binds. */
static unsigned print_binder(struct rust *r)
{
    uint64_t n = optional_base62(r, 'G');
    if (!n || n > 1000)
        return 0;
    puts_(r, "for<");
    for (uint64_t i = 0; i < n; i++) {
        if (i)
            puts_(r, ", ");
        r->bound_lifetimes++;
        print_lifetime(r, 1);
    }
    puts_(r, "> ");
    return (unsigned)n;
}

static void print_function_type(struct rust *r)
{
    unsigned bound = print_binder(r);
    if (accept(r, 'U'))
        puts_(r, "unsafe ");
    if (accept(r, 'K')) {
        puts_(r, "extern \"");
        if (accept(r, 'C'))
            puts_(r, "C");
        else
            print_identifier(r);
        puts_(r, "\" ");
    }
    puts_(r, "fn(");
    print_generic_args(r);
    puts_(r, ")");
    if (!accept(r, 'u')) {
        puts_(r, " -> ");
        print_type(r);
    }
    r->bound_lifetimes -= bound;
}

static void print_dyn(struct rust *r)
{
    puts_(r, "dyn ");
    unsigned bound = print_binder(r);
    for (unsigned i = 0; !accept(r, 'E') && !r->failed; i++) {
        if (i)
            puts_(r, " + ");
        print_path(r, false);
        bool open = false; /* associated types join the trait's own arguments */
        while (accept(r, 'p')) {
            bool joins = !r->silent && r->n && r->out[r->n - 1] == '>';
            if (!open && joins)
                r->n--;
            puts_(r, open || joins ? ", " : "<");
            open = true;
            print_identifier(r);
            puts_(r, " = ");
            print_type(r);
        }
        if (open)
            puts_(r, ">");
    }
    r->bound_lifetimes -= bound;
    if (accept(r, 'L')) {
        uint64_t lifetime = base62(r);
        if (lifetime) {
            puts_(r, " + ");
            print_lifetime(r, lifetime);
        }
    } else {
        r->failed = true;
    }
}

static void print_tuple(struct rust *r)
{
    unsigned n = 0;
    puts_(r, "(");
    for (; !accept(r, 'E') && !r->failed; n++) {
        if (n)
            puts_(r, ", ");
        print_type(r);
    }
    puts_(r, n == 1 ? ",)" : ")");
}

static void print_reference(struct rust *r, const char *mutability)
{
    puts_(r, "&");
    if (accept(r, 'L')) {
        uint64_t lifetime = base62(r);
        if (lifetime) {
            print_lifetime(r, lifetime);
            puts_(r, " ");
        }
    }
    puts_(r, mutability);
    print_type(r);
}

static void print_type(struct rust *r)
{
    if (!enter(r))
        return;
    char tag = take(r);
    const char *basic = basic_type(tag);
    if (basic) {
        puts_(r, basic);
        r->depth--;
        return;
    }
    switch (tag) {
    case 'A':
    case 'S':
        puts_(r, "[");
        print_type(r);
        if (tag == 'A') {
            puts_(r, "; ");
            print_const(r);
        }
        puts_(r, "]");
        break;
    case 'T':
        print_tuple(r);
        break;
    case 'R':
        print_reference(r, "");
        break;
    case 'Q':
        print_reference(r, "mut ");
        break;
    case 'P':
    case 'O':
        puts_(r, tag == 'P' ? "*const " : "*mut ");
        print_type(r);
        break;
    case 'F':
        print_function_type(r);
        break;
    case 'D':
        print_dyn(r);
        break;
    case 'B':
        print_back_reference(r, print_type);
        break;
    default:
        r->at--;
        print_path(r, false);
    }
    r->depth--;
}

static void print_hex_constant(struct rust *r, char type)
{
    char text[64];
    uint64_t value = 0;
    size_t digits = 0;
    bool negative = accept(r, 'n');
    while (isxdigit((unsigned char)peek(r)) && !isupper((unsigned char)peek(r))) {
        char c = take(r);
        value = value * 16 + (uint64_t)(isdigit((unsigned char)c) ? c - '0' : c - 'a' + 10);
        digits++;
    }
    if (!accept(r, '_') || digits > 16) {
        r->failed = true;
        return;
    }
    if (type == 'b')
        snprintf(text, sizeof text, "%s", value ? "true" : "false");
    else if (type == 'c' && value >= 0x20 && value < 0x7f)
        snprintf(text, sizeof text, "'%c'", (char)value);
    else
        snprintf(text, sizeof text, "%s%llu", negative ? "-" : "", (unsigned long long)value);
    puts_(r, text);
}

static void print_const(struct rust *r)
{
    if (!enter(r))
        return;
    char type = take(r);
    if (type == 'p')
        puts_(r, "_");
    else if (type == 'B')
        print_back_reference(r, print_const);
    else if (basic_type(type))
        print_hex_constant(r, type);
    else
        r->failed = true;
    r->depth--;
}

char *rl_demangle_rust_v0(const char *name)
{
    if (strncmp(name, "_R", 2) || !isupper((unsigned char)name[2]))
        return NULL;
    struct rust r = {.in = name + 2, .size = strcspn(name + 2, ".")}; /* ".llvm.123" is no part */
    r.out = malloc(LONGEST_OUT);
    if (!r.out)
        return NULL;
    print_path(&r, true);
    if (!r.failed && r.at < r.size) { /* the crate that instantiated it */
        r.silent = true;
        print_path(&r, false);
    }
    if (r.failed || r.at != r.size) {
        free(r.out);
        return NULL;
    }
    r.out[r.n] = '\0';
    char *fitting = realloc(r.out, r.n + 1);
    return fitting ? fitting : r.out;
}
