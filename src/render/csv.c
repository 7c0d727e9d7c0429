/* One line a kernel and memory level, SI units in the headings; an empty field is unknown. */
#include "render/renderers.h"
#include "render/text.h"

#include <math.h>
#include <string.h>

static void put_text(FILE *out, const char *text)
{
    char clean[RL_TEXT_LEN];
    rl_text_clean(clean, sizeof clean, text, true);
    /* A spreadsheet runs a field that starts like a formula. */
    bool formula = *clean && strchr("=+-@", *clean);
    if (!formula && !strpbrk(clean, ",\"\r\n")) {
        fputs(clean, out);
        return;
    }
    fputs(formula ? "\"'" : "\"", out);
    for (const char *c = clean; *c; c++) {
        if (*c == '"')
            fputc('"', out);
        fputc(*c, out);
    }
    fputc('"', out);
}

static void put_number(FILE *out, bool known, double value)
{
    fputc(',', out);
    if (known && isfinite(value))
        fprintf(out, "%.12g", value);
}

static void put_value(FILE *out, struct rl_value value)
{
    put_number(out, rl_known(value), value.value);
}

static void put_word(FILE *out, const char *word)
{
    fputc(',', out);
    put_text(out, word);
}

static void put_sourced(FILE *out, struct rl_value value)
{
    put_value(out, value);
    put_word(out, rl_known(value) ? rl_source_name(value.source) : "");
}

static const struct rl_resource *resource_of(const struct rl_placement *place, const char *level)
{
    for (unsigned i = 0; i < place->n_resource; i++) {
        if (place->resource[i].is_memory && strcmp(place->resource[i].level, level) == 0)
            return &place->resource[i];
    }
    return NULL;
}

static void put_level(FILE *out, const struct rl_row *row, const struct rl_traffic *t)
{
    const struct rl_kernel *k = row->kernel;
    const struct rl_resource *r = t ? resource_of(&row->place, t->level) : NULL;
    struct rl_value bytes = t && !k->is_mix ? t->bytes : (struct rl_value){0};
    double ai = t ? rl_intensity(k, t->level) : 0;
    bool timed = rl_known(k->time_s) && k->time_s.value > 0;
    put_word(out, t ? t->level : "");
    put_value(out, bytes);
    put_number(out, ai > 0, ai);
    put_number(out, timed && rl_known(bytes), bytes.value / k->time_s.value);
    put_number(out, r != NULL, r ? r->ceiling_rate : 0);
    put_number(out, r && r->utilization > 0, r ? r->utilization : 0);
    put_word(out, t && rl_known(t->bytes) ? rl_source_name(t->bytes.source) : "");
}

static void put_row(FILE *out, const struct rl_row *row, const struct rl_traffic *t)
{
    const struct rl_kernel *k = row->kernel;
    const struct rl_placement *p = &row->place;
    struct rl_value flop = k->is_mix ? (struct rl_value){0} : rl_kernel_flop(k);
    put_text(out, k->name);
    put_word(out, rl_kind_name(k->kind));
    put_value(out, k->time_s);
    put_number(out, row->time_share > 0, row->time_share);
    put_value(out, k->threads);
    put_value(out, flop);
    put_word(out, rl_known(flop) ? rl_source_name(flop.source) : "");
    put_number(out, p->flop_per_s > 0, p->flop_per_s);
    put_level(out, row, t);
    put_number(out, p->roof_flop_per_s > 0, p->roof_flop_per_s);
    put_number(out, p->attained > 0, p->attained);
    put_number(out, p->headroom > 0, p->headroom);
    put_word(out, *p->bound ? p->bound : rl_verdict_name(p->verdict));
    put_sourced(out, k->total_time_s);
    put_sourced(out, k->total_flop);
    put_word(out, rl_kernel_parameter(k, RL_PARAMETER_PROFILE));
    fputc('\n', out);
}

static enum rl_status render_csv(const struct rl_report *report,
                                 const struct rl_render_options *options, FILE *out,
                                 struct rl_error *err)
{
    (void)options;
    (void)err;
    fputs("kernel,kind,time_s,time_share,threads,flop,flop_source,flop_per_s,level,bytes,"
          "ai_flop_per_byte,bytes_per_s,roof_bytes_per_s,utilization,bytes_source,"
          "roof_flop_per_s,attained,headroom,bound,total_time_s,total_time_source,total_flop,"
          "total_flop_source,profile\n",
          out);
    for (size_t i = 0; i < report->n_row; i++) {
        const struct rl_row *row = &report->row[i];
        for (size_t j = 0; j < row->kernel->n_traffic; j++)
            put_row(out, row, &row->kernel->traffic[j]);
        if (row->kernel->n_traffic == 0)
            put_row(out, row, NULL);
    }
    return RL_OK;
}

const struct rl_renderer rl_renderer_csv = {
    .name = "csv",
    .summary = "one line a kernel and memory level",
    .extension = "csv",
    .probe = rl_renderer_always,
    .render = render_csv,
};
