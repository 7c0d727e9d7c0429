/* The report for scripts: roofline-report/1. Absent means unknown; never NaN, Infinity or a 0 that
 * stands for "not measured". */
#include "base/error.h"
#include "base/utf8.h"
#include "render/renderers.h"
#include "render/roofs.h"
#include "render/text.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Members are added through these; a failed allocation leaves the member out and is found by the
 * caller through json_dumps failing or the object being NULL. */
static void put_number(json_t *object, const char *key, double value)
{
    if (isfinite(value))
        json_object_set_new(object, key, json_real(value));
}

static void put_positive(json_t *object, const char *key, double value)
{
    if (value > 0)
        put_number(object, key, value);
}

static void put_value(json_t *object, const char *key, struct rl_value value)
{
    if (rl_known(value))
        put_number(object, key, value.value);
}

static json_t *string(const char *text)
{
    json_t *json = json_string(text);
    char *spelled = json ? NULL : rl_utf8_spelled(text);
    if (spelled)
        json = json_string(spelled);
    free(spelled);
    return json;
}

static void put_string(json_t *object, const char *key, const char *text)
{
    if (text && *text)
        json_object_set_new(object, key, string(text));
}

static void put_object(json_t *object, const char *key, json_t *member)
{
    if (json_object_size(member) || json_array_size(member))
        json_object_set_new(object, key, member);
    else
        json_decref(member);
}

static unsigned threads_of(const struct rl_report *report)
{
    return report->threads ? report->threads : 1;
}

/* ---- machine ---- */

static json_t *peaks(const struct rl_report *report)
{
    json_t *object = json_object();
    for (int p = 0; p < RL_INT8; p++) {
        double scale = 1;
        const struct rl_compute_ceiling *c =
            rl_roofs_peak(report->machine, (enum rl_precision)p, threads_of(report), &scale);
        if (c)
            put_positive(object, rl_precision_name((enum rl_precision)p), c->rate.value * scale);
    }
    return object;
}

static json_t *bandwidths(const struct rl_report *report)
{
    json_t *object = json_object();
    for (size_t i = 0; i < report->machine->n_memory; i++) {
        const char *level = report->machine->memory[i].level;
        double scale = 1;
        const struct rl_memory_ceiling *m =
            json_object_get(object, level)
                ? NULL
                : rl_bandwidth(report->machine, level, NULL, threads_of(report), &scale);
        if (m)
            put_positive(object, level, m->rate.value * scale);
    }
    return object;
}

static json_t *ridges(json_t *peak, json_t *bandwidth)
{
    json_t *object = json_object();
    const char *precision, *level;
    json_t *p, *b;
    json_object_foreach(peak, precision, p)
    {
        json_t *row = json_object();
        json_object_foreach(bandwidth, level, b)
        {
            put_positive(row, level, json_real_value(p) / json_real_value(b));
        }
        put_object(object, precision, row);
    }
    return object;
}

static void add_roof(json_t *array, const struct shown_roof *shown, const char *unit)
{
    json_t *roof = json_object();
    json_t *rate = json_object();
    put_string(roof, "id", shown->id);
    put_string(roof, "unit", unit);
    put_positive(rate, "value", shown->rate.value);
    put_string(rate, "source",
               rl_source_name(shown->scaled ? RL_SOURCE_MODELLED : shown->rate.source));
    put_positive(rate, "spread", shown->rate.spread);
    put_object(roof, "rate", rate);
    if (shown->contended)
        json_object_set_new(roof, "contended", json_true());
    json_array_append_new(array, roof);
}

/* The ceilings behind the plain figures, with their provenance. */
static json_t *roofs(const struct rl_report *report, json_t *bandwidth)
{
    json_t *array = json_array();
    double scale = 1;
    for (int p = 0; p < RL_INT8; p++) {
        const struct rl_compute_ceiling *c =
            rl_roofs_peak(report->machine, (enum rl_precision)p, threads_of(report), &scale);
        struct shown_roof shown = c ? rl_roofs_show_compute(c, scale) : (struct shown_roof){0};
        if (c)
            add_roof(array, &shown, c->unit);
    }
    const char *level;
    json_t *value;
    json_object_foreach(bandwidth, level, value)
    {
        const struct rl_memory_ceiling *m =
            rl_bandwidth(report->machine, level, NULL, threads_of(report), &scale);
        struct shown_roof shown = m ? rl_roofs_show_memory(m, scale) : (struct shown_roof){0};
        if (m)
            add_roof(array, &shown, "B/s");
    }
    return array;
}

static json_t *machine(const struct rl_report *report)
{
    json_t *object = json_object();
    json_t *peak = peaks(report);
    json_t *bandwidth = bandwidths(report);
    put_string(object, "name", report->machine->name);
    put_string(object, "key", report->machine->key);
    put_string(object, "date", report->machine->environment.date);
    json_object_set_new(object, "threads", json_integer(threads_of(report)));
    json_t *ridge = ridges(peak, bandwidth);
    json_t *roof = roofs(report, bandwidth);
    put_object(object, "peak_flop_per_s", peak);
    put_object(object, "bytes_per_s", bandwidth);
    put_object(object, "ridge", ridge);
    put_object(object, "roofs", roof);
    return object;
}

/* ---- program ---- */

static json_t *program(const struct rl_profile *profile)
{
    json_t *object = json_object();
    json_t *command = json_array();
    for (size_t i = 0; i < profile->n_command; i++)
        json_array_append_new(command, string(profile->command[i]));
    put_string(object, "name", profile->name);
    put_object(object, "command", command);
    put_value(object, "elapsed_s", profile->elapsed_s);
    put_value(object, "cpu_s", profile->cpu_s);
    put_value(object, "threads", profile->threads);
    put_string(object, "date", profile->date);
    return object;
}

/* ---- kernels ---- */

static const struct rl_resource *resource_of(const struct rl_placement *place, const char *level)
{
    for (unsigned i = 0; i < place->n_resource; i++) {
        if (place->resource[i].is_memory && strcmp(place->resource[i].level, level) == 0)
            return &place->resource[i];
    }
    return NULL;
}

static json_t *levels(const struct rl_row *row)
{
    const struct rl_kernel *k = row->kernel;
    json_t *object = json_object();
    for (size_t i = 0; i < k->n_traffic; i++) {
        const struct rl_traffic *t = &k->traffic[i];
        json_t *level = json_object();
        if (!k->is_mix)
            put_value(level, "bytes", t->bytes);
        put_positive(level, "ai", rl_intensity(k, t->level));
        if (!k->is_mix && rl_known(t->bytes) && rl_known(k->time_s) && k->time_s.value > 0)
            put_number(level, "bytes_per_s", t->bytes.value / k->time_s.value);
        const struct rl_resource *r = resource_of(&row->place, t->level);
        if (r) {
            put_positive(level, "roof_bytes_per_s", r->ceiling_rate);
            put_positive(level, "utilization", r->utilization);
            put_string(level, "ceiling", r->ceiling);
        }
        put_object(object, t->level, level);
    }
    return object;
}

static json_t *sources(const struct rl_kernel *k)
{
    json_t *object = json_object();
    json_t *bytes = json_object();
    struct rl_value flop = rl_kernel_flop(k);
    if (rl_known(flop))
        put_string(object, "flop", rl_source_name(flop.source));
    for (size_t i = 0; i < k->n_traffic; i++) {
        if (rl_known(k->traffic[i].bytes))
            put_string(bytes, k->traffic[i].level, rl_source_name(k->traffic[i].bytes.source));
    }
    put_object(object, "bytes", bytes);
    if (rl_known(k->time_s))
        put_string(object, "time", rl_source_name(k->time_s.source));
    if (rl_known(k->total_time_s))
        put_string(object, "total_time", rl_source_name(k->total_time_s.source));
    if (rl_known(k->total_flop))
        put_string(object, "total_flop", rl_source_name(k->total_flop.source));
    return object;
}

static json_t *missing(const struct rl_missing_list *list)
{
    json_t *array = json_array();
    for (size_t i = 0; i < list->n; i++) {
        json_t *entry = json_object();
        put_string(entry, "what", list->item[i].what);
        put_string(entry, "why", list->item[i].why);
        json_array_append_new(array, entry);
    }
    return array;
}

static json_t *advice(const struct rl_row *row)
{
    json_t *array = json_array();
    for (size_t i = 0; i < row->n_advice; i++) {
        json_t *entry = json_object();
        put_string(entry, "id", row->advice[i].id);
        put_string(entry, "text", row->advice[i].text);
        put_positive(entry, "gain", row->advice[i].gain);
        json_array_append_new(array, entry);
    }
    return array;
}

static void put_work(json_t *object, const struct rl_kernel *k)
{
    if (k->is_mix) { /* amounts mean nothing */
        json_object_set_new(object, "mix", json_true());
        return;
    }
    json_t *by_precision = json_object();
    for (int p = 0; p < RL_INT8; p++)
        put_value(by_precision, rl_precision_name((enum rl_precision)p),
                  rl_kernel_flop_of(k, (enum rl_precision)p));
    put_value(object, "flop", rl_kernel_flop(k));
    put_object(object, "flop_by_precision", by_precision);
    put_value(object, "iop", rl_kernel_iop(k));
}

static json_t *kernel(const struct rl_row *row)
{
    const struct rl_kernel *k = row->kernel;
    const struct rl_placement *place = &row->place;
    json_t *object = json_object();
    json_object_set_new(object, "name", string(k->name));
    put_string(object, "kind", rl_kind_name(k->kind));
    put_string(object, "profile", rl_kernel_parameter(k, RL_PARAMETER_PROFILE));
    put_string(object, "file", k->file);
    if (k->line)
        json_object_set_new(object, "line", json_integer(k->line));
    put_value(object, "calls", k->calls);
    put_value(object, "time_s", k->time_s);
    put_positive(object, "time_share", row->time_share);
    put_value(object, "total_time_s", k->total_time_s);
    put_value(object, "total_flop", k->total_flop);
    put_value(object, "threads", k->threads);
    put_work(object, k);
    put_positive(object, "flop_per_s", place->flop_per_s);
    put_object(object, "levels", levels(row));
    put_positive(object, "roof_flop_per_s", place->roof_flop_per_s);
    put_positive(object, "attained", place->attained);
    put_positive(object, "headroom", place->headroom);
    put_string(object, "bound", *place->bound ? place->bound : rl_verdict_name(place->verdict));
    put_string(object, "why", place->why);
    put_object(object, "source", sources(k));
    put_object(object, "missing", missing(&k->missing));
    put_object(object, "advice", advice(row));
    return object;
}

static json_t *notes(const struct rl_profile *profile)
{
    json_t *array = json_array();
    for (size_t i = 0; i < profile->n_note; i++)
        json_array_append_new(array, string(profile->note[i]));
    return array;
}

static json_t *document(const struct rl_report *report)
{
    json_t *root = json_object();
    json_object_set_new(root, "schema", json_string("roofline-report/1"));
    json_object_set_new(
        root, "model",
        json_string(report->model == RL_CHART_CACHE_AWARE ? "cache-aware" : "hierarchical"));
    json_object_set_new(root, "machine", machine(report));
    if (report->profile)
        put_object(root, "program", program(report->profile));
    json_t *kernels = json_array();
    for (size_t i = 0; i < report->n_row; i++)
        json_array_append_new(kernels, kernel(&report->row[i]));
    json_object_set_new(root, "kernels", kernels);
    put_object(root, "missing", missing(&report->missing));
    if (report->profile)
        put_object(root, "notes", notes(report->profile));
    return root;
}

static enum rl_status render_json(const struct rl_report *report,
                                  const struct rl_render_options *options, FILE *out,
                                  struct rl_error *err)
{
    (void)options;
    json_t *root = document(report);
    char *text = root ? json_dumps(root, JSON_INDENT(1) | JSON_REAL_PRECISION(12)) : NULL;
    json_decref(root);
    if (!text)
        return rl_fail(err, RL_ENOMEM, "no memory for the report");
    fputs(text, out);
    fputc('\n', out);
    free(text);
    return RL_OK;
}

const struct rl_renderer rl_renderer_json = {
    .name = "json",
    .summary = "everything, for scripts (roofline-report/1)",
    .extension = "json",
    .probe = rl_renderer_always,
    .render = render_json,
};
