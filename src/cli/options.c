#include "cli/options.h"

#include "base/array.h"
#include "base/error.h"
#include "base/unit.h"

#include <float.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_OPTIONS = 64, FIRST_VALUE = 256, HELP_COLUMN = 28 };

int rl_usage_error(const struct rl_command *command, const char *fmt, ...)
{
    va_list args;
    fprintf(stderr, "roofline %s: ", command->name);
    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
    fprintf(stderr, "\nTry 'roofline %s --help'.\n", command->name);
    return RL_EXIT_USAGE;
}

void rl_string_list_release(struct rl_string_list *list)
{
    free(list->item);
    *list = (struct rl_string_list){0};
}

static void print_option(const struct rl_option *o)
{
    char left[80];
    int n = snprintf(left, sizeof left, "  %c%c%s--%s%s%s", o->letter ? '-' : ' ',
                     o->letter ? o->letter : ' ', o->letter ? ", " : "  ", o->name,
                     o->arg ? " " : "", o->arg ? o->arg : "");
    if (n >= HELP_COLUMN)
        printf("%s\n%*s%s\n", left, HELP_COLUMN, "", o->help);
    else
        printf("%-*s%s\n", HELP_COLUMN, left, o->help);
}

static bool quiet_flag;

static const struct rl_option common_options[] = {
    {.type = RL_OPT_FLAG, .name = "help", .letter = 'h', .help = "show this help"},
    {.type = RL_OPT_FLAG,
     .name = "quiet",
     .letter = 'q',
     .help = "no progress and no notes; errors are still shown",
     .value = &quiet_flag},
};
enum { N_COMMON = sizeof common_options / sizeof common_options[0], HELP_INDEX = 0 };

static void print_help(const struct rl_command *command, const struct rl_option *options, size_t n)
{
    printf("usage: roofline %s %s\n\n%s\n\noptions:\n", command->name, command->synopsis,
           command->summary);
    for (size_t i = 0; i < n; i++)
        print_option(&options[i]);
    for (size_t i = 0; i < N_COMMON; i++)
        print_option(&common_options[i]);
    if (!command->hidden) /* those have no page */
        printf("\n'man roofline-%s' has the details.\n", command->name);
}

static enum rl_status store(const struct rl_option *o, const char *text, struct rl_error *err)
{
    char what[64];
    snprintf(what, sizeof what, "--%s", o->name);
    switch (o->type) {
    case RL_OPT_FLAG:
        *(bool *)o->value = true;
        return RL_OK;
    case RL_OPT_STRING:
        *(const char **)o->value = text;
        return RL_OK;
    case RL_OPT_UINT:
        return rl_parse_uint(text, what, (uint64_t)o->min,
                             o->max > 0 ? (uint64_t)o->max : UINT64_MAX, o->value, err);
    case RL_OPT_DOUBLE:
        if (o->min == 0 && o->max == 0)
            return rl_parse_double(text, what, -DBL_MAX, DBL_MAX, o->value, err);
        return rl_parse_double(text, what, o->min, o->max, o->value, err);
    case RL_OPT_SIZE:
        RL_TRY(rl_parse_size(text, o->value, err));
        if (*(uint64_t *)o->value < (uint64_t)o->min)
            return rl_fail(err, RL_EINVAL, "%s: %s is too little", what, text);
        return RL_OK;
    case RL_OPT_LIST: {
        struct rl_string_list *list = o->value;
        const char **slot = rl_array_append(&list->item, &list->n, sizeof *slot);
        if (!slot)
            return RL_ENOMEM;
        *slot = text;
        return RL_OK;
    }
    }
    return RL_EINVAL;
}

/* The table and the common options as getopt_long wants them. */
struct getopt_tables {
    struct option longs[MAX_OPTIONS + 1];
    char shorts[2 * MAX_OPTIONS + 2];
    const struct rl_option *row[MAX_OPTIONS];
    size_t n;
};

static void add_rows(struct getopt_tables *t, const struct rl_option *options, size_t n)
{
    for (size_t i = 0; i < n && t->n < MAX_OPTIONS; i++, t->n++) {
        t->row[t->n] = &options[i];
        t->longs[t->n] =
            (struct option){options[i].name, options[i].arg != NULL, NULL, FIRST_VALUE + (int)t->n};
        if (options[i].letter) {
            size_t len = strlen(t->shorts);
            t->shorts[len] = options[i].letter;
            if (options[i].arg)
                t->shorts[len + 1] = ':';
        }
    }
}

static const struct rl_option *row_of(const struct getopt_tables *t, int c)
{
    if (c >= FIRST_VALUE)
        return t->row[c - FIRST_VALUE];
    for (size_t i = 0; i < t->n; i++)
        if (t->row[i]->letter == c)
            return t->row[i];
    return NULL;
}

struct rl_arguments rl_options_parse(const struct rl_command *command,
                                     const struct rl_option *options, size_t n_options, int argc,
                                     char **argv, bool stop_at_command)
{
    struct getopt_tables t = {.shorts = ""};
    t.shorts[0] = stop_at_command ? '+' : ':';
    t.shorts[1] = stop_at_command ? ':' : '\0';
    add_rows(&t, options, n_options);
    add_rows(&t, common_options, N_COMMON);
    optind = 0;
    opterr = 0;
    for (;;) {
        int at = optind ? optind : 1;
        int c = getopt_long(argc, argv, t.shorts, t.longs, NULL);
        if (c == -1)
            break;
        /* Positional arguments before it are permuted behind it, so argv[at] need not be it. */
        const char *word = optind > at ? argv[optind - 1] : argv[at];
        if (c == '?')
            return (struct rl_arguments){
                .done = true, .exit_code = rl_usage_error(command, "unknown option '%s'", word)};
        if (c == ':')
            return (struct rl_arguments){
                .done = true,
                .exit_code = rl_usage_error(command, "option '%s' needs an argument", word)};
        const struct rl_option *row = row_of(&t, c);
        if (row == &common_options[HELP_INDEX]) {
            print_help(command, options, n_options);
            return (struct rl_arguments){.done = true, .exit_code = RL_EXIT_DONE};
        }
        struct rl_error err = {0};
        if (store(row, optarg, &err) != RL_OK)
            return (struct rl_arguments){.done = true,
                                         .exit_code = rl_usage_error(command, "%s", err.text)};
    }
    rl_set_quiet(quiet_flag);
    return (struct rl_arguments){.item = argv + optind, .n = argc - optind};
}
