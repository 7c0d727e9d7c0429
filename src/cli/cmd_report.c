/* roofline report: a profile under its machine's roof, as text, data or picture. */
#include "base/array.h"
#include "base/error.h"
#include "base/file.h"
#include "base/unit.h"
#include "cli/options.h"
#include "cli/show.h"
#include "cli/store.h"

#include <roofline/format.h>
#include <roofline/report.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct request {
    const char *format, *output, *machine, *model, *theme, *size, *select;
    uint64_t threads;
    double min_share; /* percent */
    bool ascii, total;
    const struct rl_renderer *renderer;
    struct rl_render_options show;
    struct rl_report_options report;
};

struct records {
    struct rl_machine machine;
    struct rl_profile profile;
    bool has_machine, has_profile;
    const char *first; /**< path of the first profile, until there is another */
};

/* ---- options ---- */

static enum rl_status parse_size(struct request *r, struct rl_error *err)
{
    enum { MOST = 16384 };
    const char *x = r->size ? strchr(r->size, 'x') : NULL;
    uint64_t width, height;
    if (!r->size)
        return RL_OK;
    if (!x)
        return rl_fail(err, RL_EINVAL, "--size is WIDTHxHEIGHT, for instance 1200x800, not '%s'",
                       r->size);
    char text[32];
    snprintf(text, sizeof text, "%.*s", (int)(x - r->size), r->size);
    RL_TRY(rl_parse_uint(text, "--size", 1, MOST, &width, err));
    RL_TRY(rl_parse_uint(x + 1, "--size", 1, MOST, &height, err));
    r->show.width = (unsigned)width;
    r->show.height = (unsigned)height;
    return RL_OK;
}

static enum rl_status choose_format(struct request *r, struct rl_error *err)
{
    const char *name = r->format ? r->format : "text";
    r->renderer = r->format || !r->output ? NULL : rl_renderer_for_file(r->output);
    if (!r->renderer)
        r->renderer = rl_renderer_find(name);
    if (r->renderer)
        return RL_OK;
    char known[256] = "";
    size_t n;
    const struct rl_renderer *const *all = rl_renderers(&n);
    for (size_t i = 0; i < n; i++) {
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", used ? ", " : "", all[i]->name);
    }
    return rl_fail(err, RL_EINVAL, "unknown format '%s'; there are %s", name, known);
}

/* Position of a word in a list; RL_EINVAL names the choices. */
static enum rl_status choose_word(const char *option, const char *word, const char *first,
                                  const char *second, bool *ret_second, struct rl_error *err)
{
    if (word && strcmp(word, first) != 0 && strcmp(word, second) != 0)
        return rl_fail(err, RL_EINVAL, "--%s is %s or %s, not '%s'", option, first, second, word);
    *ret_second = word && strcmp(word, second) == 0;
    return RL_OK;
}

static enum rl_status complete(struct request *r, struct rl_error *err)
{
    bool dark, cache_aware;
    RL_TRY(choose_format(r, err));
    r->show = rl_show_options(r->output, r->ascii);
    if (!r->renderer->cells)
        r->show.width = r->show.height = 0;
    RL_TRY(parse_size(r, err));
    RL_TRY(choose_word("theme", r->theme, "light", "dark", &dark, err));
    RL_TRY(choose_word("model", r->model, "hierarchical", "cache-aware", &cache_aware, err));
    r->show.theme = dark ? RL_THEME_DARK : RL_THEME_LIGHT;
    r->report = (struct rl_report_options){
        .model = cache_aware ? RL_CHART_CACHE_AWARE : RL_CHART_HIERARCHICAL,
        .threads = (unsigned)r->threads,
        .select = r->select,
        .min_time_share = r->min_share / 100,
        .totals = r->total,
    };
    return RL_OK;
}

/* ---- records ---- */

/* What tells a profile from others: its file's name without the usual ending. NULL without memory.
 */
static char *label_of(const char *path)
{
    static const char *const endings[] = {".json", ".roofline"};
    char *label = strdup(rl_base_name(path));
    for (size_t i = 0; label && i < RL_COUNT(endings); i++) {
        size_t n = strlen(label), end = strlen(endings[i]);
        if (n > end && !strcmp(label + n - end, endings[i]))
            label[n - end] = '\0';
    }
    return label;
}

static bool is_label_of(const char *label, const struct rl_profile *profile)
{
    for (size_t i = 0; i < profile->n_kernel; i++) {
        const char *its = rl_kernel_parameter(&profile->kernel[i], RL_PARAMETER_PROFILE);
        if (its && !strcmp(its, label))
            return true;
    }
    return false;
}

static enum rl_status label_kernels(struct rl_profile *profile, const char *label,
                                    struct rl_error *err)
{
    for (size_t i = 0; i < profile->n_kernel; i++)
        RL_TRY(rl_kernel_set_parameter(&profile->kernel[i], RL_PARAMETER_PROFILE, label, err));
    return RL_OK;
}

/* Where another profile's file has that name too, in a folder of its own, the path tells. */
static enum rl_status label_further(struct records *records, struct rl_profile *further,
                                    const char *path, struct rl_error *err)
{
    char *first = records->first ? label_of(records->first) : NULL;
    char *label = label_of(path);
    enum rl_status status = RL_OK;
    if (!label || (records->first && !first))
        status = rl_fail(err, RL_ENOMEM, "no memory for a file name");
    bool alike = status == RL_OK && first && !strcmp(first, label);
    if (status == RL_OK && first)
        status = label_kernels(&records->profile, alike ? records->first : first, err);
    alike = alike || (status == RL_OK && is_label_of(label, &records->profile));
    if (status == RL_OK)
        status = label_kernels(further, alike ? path : label, err);
    free(first);
    free(label);
    records->first = NULL;
    return status;
}

static bool has_note(const struct rl_profile *profile, const char *note)
{
    for (size_t i = 0; i < profile->n_note; i++)
        if (!strcmp(profile->note[i], note))
            return true;
    return false;
}

/* Move the kernels of a further profile to the first one. */
static enum rl_status append_profile(struct rl_profile *to, struct rl_profile *from,
                                     struct rl_error *err)
{
    for (size_t i = 0; i < from->n_kernel; i++) {
        struct rl_kernel *slot = rl_array_append(&to->kernel, &to->n_kernel, sizeof *slot);
        if (!slot)
            return rl_fail(err, RL_ENOMEM, "no memory for the kernels of a further profile");
        *slot = from->kernel[i];
        from->kernel[i] = (struct rl_kernel){0};
    }
    for (size_t i = 0; i < from->missing.n; i++)
        RL_TRY(rl_missing_add(&to->missing, from->missing.item[i].what, from->missing.item[i].why,
                              err));
    for (size_t i = 0; i < from->n_note; i++)
        if (!has_note(to, from->note[i]))
            RL_TRY(rl_profile_note(to, err, "%s", from->note[i]));
    to->elapsed_s = rl_value_add(to->elapsed_s, from->elapsed_s);
    to->cpu_s = rl_value_add(to->cpu_s, from->cpu_s);
    const char *a = to->machine_key, *b = from->machine_key;
    if (a && b && strcmp(a, b) != 0)
        rl_warn("the profiles were taken on different machines; all are compared with one roof");
    return RL_OK;
}

static enum rl_status add_profile(struct records *records, const char *path, struct rl_error *err)
{
    if (!records->has_profile) {
        RL_TRY(rl_profile_read(path, &records->profile, err));
        records->has_profile = true;
        records->first = path;
        return RL_OK;
    }
    struct rl_profile further = {0};
    RL_TRY(rl_profile_read(path, &further, err));
    enum rl_status status = label_further(records, &further, path, err);
    if (status == RL_OK)
        status = append_profile(&records->profile, &further, err);
    rl_profile_release(&further);
    return status;
}

static enum rl_status add_machine(struct records *records, const char *path, struct rl_error *err)
{
    if (records->has_machine)
        return rl_fail(err, RL_EINVAL, "%s: a second machine record; one roof at a time", path);
    RL_TRY(rl_machine_read(path, &records->machine, err));
    records->has_machine = true;
    return RL_OK;
}

static enum rl_status add_file(struct records *records, const char *path, struct rl_error *err)
{
    enum rl_record_kind kind = RL_RECORD_PROFILE;
    if (strcmp(path, "-") != 0)
        RL_TRY(rl_record_kind(path, &kind, err));
    switch (kind) {
    case RL_RECORD_MACHINE:
        return add_machine(records, path, err);
    case RL_RECORD_PROFILE:
        return add_profile(records, path, err);
    default:
        return rl_fail(err, RL_EDATA, "%s: is a report already; give the profile it was made from",
                       path);
    }
}

/* The roof of the machine that the profile names, from the cache of measured machines. */
static enum rl_status find_machine(struct records *records, struct rl_error *err)
{
    const char *key = records->profile.machine_key;
    const char *name = records->profile.machine_name;
    if (!key || !*key || strchr(key, '/'))
        return rl_fail(err, RL_ENODATA,
                       "the profile does not say which machine it was taken on: give its record "
                       "with --machine FILE");
    enum rl_status status = rl_store_load(key, &records->machine, err);
    if (status == RL_ENODATA)
        return rl_fail(err, RL_ENODATA,
                       "no machine record for %s: run 'roofline measure' there, or give one with "
                       "--machine FILE",
                       name && *name ? name : key);
    records->has_machine = status == RL_OK;
    return status;
}

static enum rl_status load(struct records *records, const struct request *r,
                           const struct rl_arguments *args, struct rl_error *err)
{
    if (r->machine)
        RL_TRY(add_machine(records, r->machine, err));
    for (int i = 0; i < args->n; i++)
        RL_TRY(add_file(records, args->item[i], err));
    if (!records->has_machine)
        RL_TRY(find_machine(records, err));
    const char *a = records->profile.machine_key, *b = records->machine.key;
    if (records->has_profile && a && b && strcmp(a, b) != 0)
        rl_warn("the profile was taken on %s, the roof is that of %s (machines %s and %s)",
                records->profile.machine_name ? records->profile.machine_name : "a machine",
                records->machine.name ? records->machine.name : "a machine", a, b);
    return RL_OK;
}

static enum rl_status build_and_show(const struct request *r, const struct records *records,
                                     struct rl_error *err)
{
    struct rl_report report = {0};
    const struct rl_profile *profile = records->has_profile ? &records->profile : NULL;
    RL_TRY(rl_report_build(&records->machine, profile, &r->report, &report, err));
    if (profile && profile->n_kernel && report.n_row == 0)
        rl_warn("none of the %zu kernels is selected", profile->n_kernel);
    enum rl_status status = rl_show(r->renderer, &report, &r->show, r->output, err);
    rl_report_release(&report);
    return status;
}

static int run(const struct rl_command *self, int argc, char **argv)
{
    struct request r = {0};
    const struct rl_option options[] = {
        {RL_OPT_STRING, "format", 'f', "FORMAT",
         "text, chart, table, json, csv, svg, png or pdf (default: by FILE's ending, else text)",
         &r.format, 0, 0},
        {RL_OPT_STRING, "output", 'o', "FILE", "write there (default: standard output)", &r.output,
         0, 0},
        {RL_OPT_STRING, "machine", 'm', "FILE",
         "machine record for the roof (default: the cached one of the profile's machine)",
         &r.machine, 0, 0},
        {RL_OPT_STRING, "model", 0, "MODEL", "hierarchical (default) or cache-aware", &r.model, 0,
         0},
        {RL_OPT_UINT, "threads", 't', "N", "draw the roof of N threads (default: the profile's)",
         &r.threads, 1, 65536},
        {RL_OPT_STRING, "select", 's', "GLOB", "only kernels whose name matches", &r.select, 0, 0},
        {RL_OPT_DOUBLE, "min-share", 0, "PERCENT", "only kernels with at least this share of time",
         &r.min_share, 0, 100},
        {RL_OPT_FLAG, "total", 0, NULL, "time and FLOP of functions with all that they call",
         &r.total, 0, 0},
        {RL_OPT_STRING, "theme", 0, "THEME", "light (default) or dark; svg, png, pdf", &r.theme, 0,
         0},
        {RL_OPT_STRING, "size", 0, "WxH", "size in pixels, points or characters", &r.size, 0, 0},
        {RL_OPT_FLAG, "ascii", 0, NULL, "no characters beyond ASCII in chart, table and text",
         &r.ascii, 0, 0},
    };
    struct rl_arguments args =
        rl_options_parse(self, options, RL_COUNT(options), argc, argv, false);
    if (args.done)
        return args.exit_code;
    if (args.n == 0 && !r.machine)
        return rl_usage_error(self, "no FILE given");
    struct rl_error err = {0};
    struct records records = {0};
    enum rl_status status = complete(&r, &err);
    if (status == RL_OK)
        status = load(&records, &r, &args, &err);
    if (status == RL_OK)
        status = build_and_show(&r, &records, &err);
    rl_profile_release(&records.profile);
    rl_machine_release(&records.machine);
    return status == RL_OK ? RL_EXIT_DONE : rl_report_error(&err);
}

const struct rl_command rl_cmd_report = {
    .name = "report",
    .summary = "show a profile under its machine's roof: text, picture or data",
    .synopsis = "[OPTIONS] FILE...",
    .run = run,
};
