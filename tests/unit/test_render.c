/* What the formats promise: well-formed documents, honest numbers, harmless text. */
#include "../support/cmocka_all.h"
#include "../support/json_schema.h"

#include "analysis/advice.h"
#include "render/render.h"
#include "render/text.h"
#include "report_fixture.h"

#include <locale.h>

static char *render(const char *format, const struct rl_report *report,
                    const struct rl_render_options *options, size_t *ret_size)
{
    char *data = NULL;
    size_t size = 0;
    struct rl_error err = {0};
    const struct rl_renderer *renderer = rl_renderer_find(format);
    assert_non_null(renderer);
    if (rl_render(renderer, report, options, &data, &size, &err) != RL_OK)
        fail_msg("%s: %s", format, err.text);
    if (ret_size)
        *ret_size = size;
    return data;
}

static void renderers_are_sorted_complete_and_available(void **state)
{
    (void)state;
    size_t n;
    const struct rl_renderer *const *all = rl_renderers(&n);
    assert_true(n >= 8);
    for (size_t i = 0; i < n; i++) {
        char why[64];
        assert_true(!i || strcmp(all[i - 1]->name, all[i]->name) < 0);
        assert_non_null(all[i]->summary);
        assert_true(all[i]->probe(why, sizeof why));
        assert_ptr_equal(rl_renderer_find(all[i]->name), all[i]);
    }
    assert_null(rl_renderer_find("gif"));
    assert_string_equal(rl_renderer_for_file("a.b/roof.SVG")->name, "svg");
    assert_null(rl_renderer_for_file("dir.svg/roof"));
    assert_null(rl_renderer_for_file("roof"));
}

/* ---- json ---- */

static json_t *parse(const char *text)
{
    json_error_t err;
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &err);
    if (!root)
        fail_msg("no JSON: line %d: %s", err.line, err.text);
    return root;
}

static void json_follows_its_schema(void **state)
{
    (void)state;
    json_t *schema = json_load_file(SOURCE_DIR "/data/schema/report.schema.json", 0, NULL);
    assert_non_null(schema);
    struct fixture f;
    fixture_everyday(&f);
    rl_missing_add(&f.report.missing, "loops", "not analysed", NULL);
    rl_profile_note(&f.profile, NULL, "counted on one thread");
    char *text = render("json", &f.report, NULL, NULL);
    json_t *root = parse(text);
    char why[512];
    if (!schema_holds(schema, schema, root, "report", why, sizeof why))
        fail_msg("%s", why);
    assert_int_equal(json_array_size(json_object_get(root, "kernels")), 8);
    json_decref(root);
    json_decref(schema);
    free(text);
    fixture_release(&f);
}

static const json_t *kernel_named(const json_t *root, const char *name)
{
    size_t i;
    json_t *k;
    json_array_foreach(json_object_get(root, "kernels"), i, k)
    {
        if (strcmp(json_string_value(json_object_get(k, "name")), name) == 0)
            return k;
    }
    fail_msg("no kernel %s", name);
    return NULL;
}

static void json_tells_zero_from_unknown(void **state)
{
    (void)state;
    struct fixture f = {0};
    fixture_machine(&f);
    fixture_kernel(&f, "copy", 0, (double[]){1e9, 1e9, 1e9, 1e9}, 1);
    fixture_kernel(&f, "mystery", -1, (double[]){0, 0, 0, 1e9}, 1);
    fixture_kernel(&f, "untimed", 1e9, (double[]){1e9, 0, 0, 1e9}, 0);
    fixture_place(&f);
    char *text = render("json", &f.report, NULL, NULL);
    json_t *root = parse(text);
    const json_t *copy = kernel_named(root, "copy");
    assert_true(json_number_value(json_object_get(copy, "flop")) == 0);
    assert_non_null(json_object_get(copy, "flop"));
    assert_null(json_object_get(copy, "flop_per_s"));
    const json_t *mystery = kernel_named(root, "mystery");
    assert_null(json_object_get(mystery, "flop"));
    assert_string_equal(json_string_value(json_object_get(mystery, "bound")), "unknown");
    assert_non_null(json_object_get(mystery, "why"));
    const json_t *untimed = kernel_named(root, "untimed");
    assert_null(json_object_get(untimed, "time_s"));
    assert_null(json_object_get(untimed, "attained"));
    assert_null(json_object_get(json_object_get(untimed, "levels"), "L2"));
    json_decref(root);
    free(text);
    fixture_release(&f);
}

static void what_was_counted_in_bursts_has_intensity_and_no_amounts(void **state)
{
    (void)state;
    struct fixture f = {0};
    fixture_machine(&f);
    struct rl_kernel *k = fixture_kernel(&f, "triad", 2e9, (double[]){24e9, 0, 0, 0}, 1);
    k->is_mix = true;
    fixture_place(&f);
    char *text = render("json", &f.report, NULL, NULL);
    json_t *root = parse(text);
    const json_t *triad = kernel_named(root, "triad");
    const json_t *level = json_object_get(json_object_get(triad, "levels"), "L1");
    static const char *const absent[] = {"flop",       "flop_by_precision", "iop",
                                         "flop_per_s", "attained",          "headroom"};
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
        assert_null(json_object_get(triad, absent[i]));
    assert_true(json_is_true(json_object_get(triad, "mix")));
    assert_non_null(json_object_get(triad, "time_s"));
    assert_null(json_object_get(level, "bytes"));
    assert_null(json_object_get(level, "bytes_per_s"));
    assert_true(fabs(json_number_value(json_object_get(level, "ai")) - 1. / 12) < 1e-12);
    json_decref(root);
    free(text);
    text = render("csv", &f.report, NULL, NULL);
    assert_null(strstr(text, "2000000000"));
    assert_null(strstr(text, "24000000000"));
    assert_non_null(strstr(text, "0.0833"));
    free(text);
    fixture_release(&f);
}

static void no_format_writes_nan_or_infinity(void **state)
{
    (void)state;
    static const char *const formats[] = {"json", "csv", "table", "svg"};
    struct fixture f;
    fixture_everyday(&f);
    f.report.row[0].place.headroom = INFINITY;
    f.report.row[0].place.attained = NAN;
    f.report.row[1].time_share = NAN;
    f.report.row[2].place.flop_per_s = INFINITY;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        char *text = render(formats[i], &f.report, NULL, NULL);
        assert_null(strcasestr(text, "nan"));
        assert_null(strcasestr(text, "infinity"));
        assert_null(strstr(text, "inf "));
        free(text);
    }
    fixture_release(&f);
}

static void numbers_have_a_dot_whatever_the_locale(void **state)
{
    (void)state;
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "nl_NL.UTF-8"};
    locale_t comma = (locale_t)0;
    for (size_t i = 0; i < sizeof names / sizeof *names && !comma; i++)
        comma = newlocale(LC_ALL_MASK, names[i], (locale_t)0);
    if (!comma) {
        print_message("skipped: no locale with decimal commas is installed\n");
        skip();
    }
    struct fixture f;
    fixture_everyday(&f);
    static const char *const formats[] = {"json", "csv", "svg", "table", "chart"};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        char *plain = render(formats[i], &f.report, NULL, NULL);
        locale_t before = uselocale(comma);
        char *local = render(formats[i], &f.report, NULL, NULL);
        uselocale(before);
        assert_string_equal(plain, local);
        free(plain);
        free(local);
    }
    freelocale(comma);
    fixture_release(&f);
}

/* ---- csv ---- */

static size_t count_fields(const char *line, size_t length)
{
    size_t n = 1;
    bool quoted = false;
    for (size_t i = 0; i < length; i++) {
        quoted ^= line[i] == '"';
        n += line[i] == ',' && !quoted;
    }
    return n;
}

static void csv_has_as_many_fields_on_every_line(void **state)
{
    (void)state;
    struct fixture f = {0};
    fixture_machine(&f);
    fixture_kernel(&f, "f(int, \"x\")\nnext", 1e9, (double[]){1e9, 1e9, 1e9, 1e9}, 1);
    fixture_kernel(&f, "=HYPERLINK(\"x\")", 1e9, (double[]){0, 0, 0, 0}, 1);
    fixture_place(&f);
    char *text = render("csv", &f.report, NULL, NULL);
    size_t lines = 0;
    size_t fields = count_fields(text, strcspn(text, "\n"));
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1, lines++)
        assert_int_equal(count_fields(line, strcspn(line, "\n")), fields);
    assert_int_equal(lines, 1 + 4 + 1);
    assert_null(strstr(text, "\n="));
    free(text);
    fixture_release(&f);
}

/* ---- pictures ---- */

/* Tags match, attributes are quoted, no stray special characters. */
static void check_xml(const char *text)
{
    char open[64][32];
    int depth = 0;
    const char *at = strstr(text, "<svg");
    assert_non_null(at);
    for (; *at; at++) {
        if (*at == '&')
            assert_true(!strncmp(at, "&amp;", 5) || !strncmp(at, "&lt;", 4) ||
                        !strncmp(at, "&gt;", 4) || !strncmp(at, "&quot;", 6));
        assert_true((unsigned char)*at >= 0x20 || *at == '\n');
        if (*at != '<')
            continue;
        const char *end = strchr(at, '>');
        assert_non_null(end);
        bool closing = at[1] == '/';
        bool empty = end[-1] == '/';
        char name[32] = {0};
        snprintf(name, sizeof name, "%.*s", (int)strcspn(at + 1 + closing, " />"),
                 at + 1 + closing);
        if (closing) {
            assert_true(depth > 0);
            assert_string_equal(open[--depth], name);
        } else if (!empty) {
            assert_true(depth < 64);
            strcpy(open[depth++], name);
        }
        at = end;
    }
    assert_int_equal(depth, 0);
}

static size_t count_of(const char *text, const char *what)
{
    size_t n = 0;
    for (const char *at = strstr(text, what); at; at = strstr(at + 1, what))
        n++;
    return n;
}

static void svg_is_well_formed_with_real_text_and_tooltips(void **state)
{
    (void)state;
    struct fixture f;
    fixture_everyday(&f);
    rl_string_set(&f.profile.kernel[0].name, "a<b>(\"x\" & y)", NULL);
    char *text = render("svg", &f.report, NULL, NULL);
    check_xml(text);
    assert_non_null(strstr(text, ">a&lt;b&gt;(&quot;x&quot; &amp; y) 91 %</text>"));
    assert_non_null(strstr(text, ">DRAM 40.0 GB/s</text>"));
    assert_non_null(strstr(text, ">Performance [GFLOP/s]</text>"));
    assert_non_null(strstr(text, ">Arithmetic intensity [FLOP/byte]</text>"));
    assert_non_null(strstr(text, "<title>triad: 2.35 GFLOP/s, 0.0625 FLOP/byte at DRAM, 94 % of "
                                 "roof, memory:DRAM</title>"));
    /* one point a level for each of six kernels, each with a tooltip, and the picture's own */
    assert_int_equal(count_of(text, "<title>"), 6 * 4 + 1);
    free(text);
    fixture_release(&f);
}

static void themes_differ_in_colour_only(void **state)
{
    (void)state;
    struct fixture f;
    fixture_everyday(&f);
    char *light = render("svg", &f.report, NULL, NULL);
    char *dark =
        render("svg", &f.report, &(struct rl_render_options){.theme = RL_THEME_DARK}, NULL);
    assert_string_not_equal(light, dark);
    assert_int_equal(strlen(light), strlen(dark));
    assert_non_null(strstr(light, "fill=\"#ffffff\""));
    assert_null(strstr(dark, "fill=\"#ffffff\""));
    free(light);
    free(dark);
    fixture_release(&f);
}

static unsigned big_endian(const char *at)
{
    const unsigned char *u = (const unsigned char *)at;
    return (unsigned)u[0] << 24 | (unsigned)u[1] << 16 | (unsigned)u[2] << 8 | u[3];
}

static void png_has_exactly_the_size_asked_for(void **state)
{
    (void)state;
    static const unsigned sizes[][4] = {
        {0, 0, 1920, 1280}, {800, 600, 800, 600}, {2400, 1600, 2400, 1600}, {333, 1001, 333, 1001}};
    struct fixture f;
    fixture_everyday(&f);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct rl_render_options options = {.width = sizes[i][0], .height = sizes[i][1]};
        size_t size;
        char *data = render("png", &f.report, &options, &size);
        assert_true(size > 5000);
        assert_memory_equal(data, "\x89PNG\r\n\x1a\n", 8);
        assert_int_equal(big_endian(data + 16), sizes[i][2]);
        assert_int_equal(big_endian(data + 20), sizes[i][3]);
        free(data);
    }
    fixture_release(&f);
}

static void the_same_report_gives_the_same_bytes(void **state)
{
    (void)state;
    size_t n;
    const struct rl_renderer *const *all = rl_renderers(&n);
    struct fixture f;
    fixture_everyday(&f);
    for (size_t i = 0; i < n; i++) {
        size_t a_size, b_size;
        char *a = render(all[i]->name, &f.report, NULL, &a_size);
        char *b = render(all[i]->name, &f.report, NULL, &b_size);
        assert_int_equal(a_size, b_size);
        assert_memory_equal(a, b, a_size);
        free(a);
        free(b);
    }
    fixture_release(&f);
}

static void pdf_is_a_pdf(void **state)
{
    (void)state;
    struct fixture f;
    fixture_everyday(&f);
    size_t size;
    char *data = render("pdf", &f.report, NULL, &size);
    assert_true(size > 2000);
    assert_memory_equal(data, "%PDF-", 5);
    assert_non_null(memmem(data + size - 10, 10, "%%EOF", 5));
    free(data);
    fixture_release(&f);
}

static void absurd_sizes_are_refused(void **state)
{
    (void)state;
    static const char *const formats[] = {"svg", "png", "pdf"};
    struct fixture f;
    fixture_everyday(&f);
    for (size_t i = 0; i < 3; i++) {
        struct rl_render_options small = {.width = 50, .height = 50};
        struct rl_render_options large = {.width = 1000000, .height = 1000000};
        char *data;
        size_t size;
        const struct rl_renderer *r = rl_renderer_find(formats[i]);
        assert_int_equal(rl_render(r, &f.report, &small, &data, &size, NULL), RL_EINVAL);
        assert_int_equal(rl_render(r, &f.report, &large, &data, &size, NULL), RL_EINVAL);
    }
    fixture_release(&f);
}

/* ---- terminal ---- */

static void check_lines(const char *text, unsigned columns, bool ascii)
{
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1) {
        char copy[4096];
        snprintf(copy, sizeof copy, "%.*s", (int)strcspn(line, "\n"), line);
        if (rl_text_columns(copy) > columns)
            fail_msg("wider than %u columns: %s", columns, copy);
        for (const char *c = copy; *c; c++)
            assert_true((unsigned char)*c >= 0x20 && (!ascii || (unsigned char)*c < 0x7f));
    }
}

static void terminal_output_keeps_to_its_width_and_characters(void **state)
{
    (void)state;
    static const char *const formats[] = {"chart", "table", "text"};
    static const unsigned widths[] = {80, 100, 120, 200};
    struct fixture f;
    fixture_everyday(&f);
    rl_string_set(&f.profile.kernel[1].name, "spmv \xe6\xa0\xb8\xe5\xbf\x83 \033[31m\x07 e\xcc\x81",
                  NULL);
    for (size_t i = 0; i < 3; i++) {
        for (size_t j = 0; j < 4; j++) {
            for (int unicode = 0; unicode < 2; unicode++) {
                struct rl_render_options options = {.width = widths[j], .unicode = unicode};
                char *text = render(formats[i], &f.report, &options, NULL);
                check_lines(text, widths[j], !unicode);
                free(text);
            }
        }
    }
    fixture_release(&f);
}

static void colour_comes_only_when_told_and_ends_with_the_line(void **state)
{
    (void)state;
    struct fixture f;
    fixture_everyday(&f);
    struct rl_render_options options = {.unicode = true, .colour = true};
    char *text = render("chart", &f.report, &options, NULL);
    assert_non_null(strstr(text, "\033["));
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1) {
        const char *last = NULL;
        for (const char *c = line; *c != '\n'; c++)
            last = *c == '\033' ? c : last;
        if (last)
            assert_memory_equal(last, "\033[0", 3);
        if (last && last[3] != 'm')
            fail_msg("attributes run over the end of a line");
    }
    free(text);
    fixture_release(&f);
}

static void table_shows_unknown_as_dash_with_a_reason(void **state)
{
    (void)state;
    struct fixture f = {0};
    fixture_machine(&f);
    for (int i = 0; i < 5; i++) {
        char name[16];
        snprintf(name, sizeof name, "mystery%d", i);
        fixture_kernel(&f, name, -1, (double[]){0, 0, 0, 0}, 1);
        rl_missing_add(&f.profile.kernel[i].missing, "flop", "no hardware counters", NULL);
    }
    fixture_place(&f);
    struct rl_render_options options = {.unicode = true};
    char *text = render("table", &f.report, &options, NULL);
    assert_non_null(strstr(text, " – "));
    assert_non_null(strstr(text, "flop: no hardware counters (mystery0, mystery1, mystery2 and 2 "
                                 "more)\n"));
    assert_null(strstr(text, " 0 "));
    free(text);
    fixture_release(&f);
}

static void reasons_that_differ_in_numbers_are_told_once(void **state)
{
    (void)state;
    struct fixture f = {0};
    fixture_machine(&f);
    static const char *const why[] = {"703 moves are not in it", "5 moves are not in it",
                                      "5 jumps are not in it"};
    for (int i = 0; i < 3; i++) {
        char name[16];
        snprintf(name, sizeof name, "copy%d", i);
        fixture_kernel(&f, name, -1, (double[]){0, 0, 0, 0}, 1);
        rl_missing_add(&f.profile.kernel[i].missing, "bytes", why[i], NULL);
    }
    fixture_place(&f);
    char *text = render("table", &f.report, NULL, NULL);
    assert_non_null(strstr(text, "bytes: 703 moves are not in it (copy0, copy1)\n"));
    assert_non_null(strstr(text, "bytes: 5 jumps are not in it (copy2)\n"));
    free(text);
    fixture_release(&f);
}

static void advice_that_differs_in_numbers_is_told_once(void **state)
{
    (void)state;
    struct fixture f = {0};
    fixture_machine(&f);
    static const char *const told[] = {"reaches 34.1 % of L3", "reaches 7 % of L3",
                                       "reaches 34.1 % of L2"};
    for (int i = 0; i < 3; i++) {
        char name[16];
        snprintf(name, sizeof name, "sweep%d", i);
        fixture_kernel(&f, name, 1e9, (double[]){4e9, 3e9, 2e9, 1e9}, 1);
    }
    fixture_place(&f);
    for (size_t i = 0; i < 3; i++)
        fixture_advise(&f, i, "memory.pattern", told[i], i == 1 ? 2 : 0);
    char *text = render("table", &f.report, NULL, NULL);
    assert_non_null(strstr(text, "sweep0: reaches 34.1 % of L3; likewise sweep1 (up to 2x"));
    assert_non_null(strstr(text, "sweep2: reaches 34.1 % of L2\n")); /* another level */
    free(text);
    fixture_release(&f);
}

static void kernels_without_verdict_are_named_together(void **state)
{
    (void)state;
    struct fixture f = {0};
    fixture_machine(&f);
    for (int i = 0; i < 5; i++) {
        char name[16];
        snprintf(name, sizeof name, "brief%d", i);
        fixture_kernel(&f, name, 1e9, (double[]){4e9, 3e9, 2e9, 1e9}, -1);
    }
    fixture_place(&f);
    for (size_t i = 0; i < f.report.n_row; i++)
        assert_int_equal(rl_advise(&f.machine, &f.report.row[i], NULL), RL_OK);
    char *text = render("table", &f.report, NULL, NULL);
    assert_non_null(strstr(text, "the time is not known (brief0, brief1, brief2 and 2 more)\n"));
    assert_null(strstr(text, "cannot be judged"));
    free(text);
    fixture_release(&f);
}

static void loops_are_told_from_functions_and_counted_once(void **state)
{
    (void)state;
    struct fixture f = {0};
    fixture_machine(&f);
    const double bytes[] = {4e9, 3e9, 2e9, 1e9};
    for (int i = 0; i < 40; i++)
        fixture_kernel(&f, i % 2 ? "solve+0x40" : "solve", 1e9, bytes, 1);
    for (int i = 1; i < 40; i += 2) {
        f.profile.kernel[i].kind = RL_KIND_LOOP;
        f.profile.kernel[i].group = strdup("solve");
    }
    fixture_place(&f);
    for (size_t i = 0; i < f.report.n_row; i++)
        f.report.row[i].time_share = 0.02;
    char *text = render("table", &f.report, NULL, NULL);
    assert_non_null(strstr(text, " > solve+0x40 "));
    assert_null(strstr(text, "> solve "));
    assert_non_null(strstr(text, "> loop: its time is also in its function's."));
    assert_non_null(strstr(text, "other: 10 kernels, 10 % of time"));
    free(text);
    rl_string_set(&f.profile.kernel[1].name, "solve:7#2", NULL);
    text = render("table", &f.report, NULL, NULL);
    assert_non_null(strstr(text, "in its function's; #2: the second loop of that line."));
    free(text);
    fixture_release(&f);
}

static void a_blank_name_is_seen_to_be_one(void **state)
{
    (void)state;
    struct fixture f = {0};
    fixture_machine(&f);
    fixture_kernel(&f, "", 1e9, (double[]){4e9, 3e9, 2e9, 1e9}, 0.05);
    fixture_kernel(&f, "\t", 1e9, (double[]){4e9, 3e9, 2e9, 1e9}, 0.05);
    fixture_place(&f);
    char *text = render("table", &f.report, NULL, NULL);
    assert_non_null(strstr(text, "\n1 \"\" "));
    assert_non_null(strstr(text, "\n2 \" \" "));
    free(text);
    text = render("json", &f.report, NULL, NULL);
    assert_non_null(strstr(text, "\"name\": \"\""));
    free(text);
    fixture_release(&f);
}

static void a_long_name_of_a_machine_is_wrapped(void **state)
{
    (void)state;
    struct fixture f;
    fixture_everyday(&f);
    rl_string_set(&f.machine.name,
                  "Some Processor of a Maker who Likes Long Names (R) Edition 2026, two sockets of "
                  "64 cores each, in a virtual machine",
                  NULL);
    struct rl_render_options options = {.width = 80, .unicode = true};
    char *text = render("table", &f.report, &options, NULL);
    check_lines(text, 80, false);
    free(text);
    fixture_release(&f);
}

static void rows_of_different_thread_counts_are_told_apart(void **state)
{
    (void)state;
    struct fixture f = {0};
    fixture_machine(&f);
    for (int i = 1; i <= 2; i++)
        fixture_kernel(&f, "gemm", 1e9, (double[]){4e9, 3e9, 2e9, 1e9}, 1)->threads.value = i;
    fixture_place(&f);
    static const char *const formats[] = {"table", "svg"};
    for (int i = 0; i < 2; i++) {
        char *text = render(formats[i], &f.report, NULL, NULL);
        assert_non_null(strstr(text, "gemm @1"));
        assert_non_null(strstr(text, "gemm @2"));
        free(text);
    }
    fixture_release(&f);
}

/* Two profiles, as of ranks: what tells their kernels apart stays whole, whatever a name is cut to.
 */
static void a_long_name_is_cut_and_not_the_profile_it_is_of(void **state)
{
    (void)state;
    struct fixture f = {0};
    fixture_machine(&f);
    static const char *const profiles[] = {"rank0laplace5", "rank1laplace5"};
    for (int i = 0; i < 2; i++) {
        struct rl_kernel *k =
            fixture_kernel(&f, "void solver::apply<double, 3>(grid<double, 3> const&, mask const&)",
                           1e9, (double[]){4e9, 3e9, 2e9, 1e9}, 1);
        rl_kernel_set_parameter(k, RL_PARAMETER_PROFILE, profiles[i], NULL);
    }
    fixture_place(&f);
    char *text = render("table", &f.report, NULL, NULL);
    assert_non_null(strstr(text, " [rank0laplace5]"));
    assert_non_null(strstr(text, " [rank1laplace5]"));
    assert_null(strstr(text, "mask const&)"));
    free(text);
    fixture_release(&f);
}

static void table_of_thousands_counts_the_rest(void **state)
{
    (void)state;
    struct fixture f = {0};
    fixture_machine(&f);
    for (int i = 0; i < 5000; i++)
        fixture_kernel(&f, "k", 1e9, (double[]){4e9, 3e9, 2e9, 1e9}, 1);
    fixture_place(&f);
    char *text = render("table", &f.report, NULL, NULL);
    assert_non_null(strstr(text, "other: 4970 kernels, 99 % of time"));
    free(text);
    text = render("chart", &f.report, NULL, NULL);
    assert_non_null(strstr(text, "other: 4800 kernels, 96 % of time"));
    free(text);
    fixture_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(renderers_are_sorted_complete_and_available),
        cmocka_unit_test(json_follows_its_schema),
        cmocka_unit_test(json_tells_zero_from_unknown),
        cmocka_unit_test(what_was_counted_in_bursts_has_intensity_and_no_amounts),
        cmocka_unit_test(no_format_writes_nan_or_infinity),
        cmocka_unit_test(numbers_have_a_dot_whatever_the_locale),
        cmocka_unit_test(csv_has_as_many_fields_on_every_line),
        cmocka_unit_test(svg_is_well_formed_with_real_text_and_tooltips),
        cmocka_unit_test(themes_differ_in_colour_only),
        cmocka_unit_test(png_has_exactly_the_size_asked_for),
        cmocka_unit_test(the_same_report_gives_the_same_bytes),
        cmocka_unit_test(pdf_is_a_pdf),
        cmocka_unit_test(absurd_sizes_are_refused),
        cmocka_unit_test(terminal_output_keeps_to_its_width_and_characters),
        cmocka_unit_test(colour_comes_only_when_told_and_ends_with_the_line),
        cmocka_unit_test(table_shows_unknown_as_dash_with_a_reason),
        cmocka_unit_test(reasons_that_differ_in_numbers_are_told_once),
        cmocka_unit_test(advice_that_differs_in_numbers_is_told_once),
        cmocka_unit_test(kernels_without_verdict_are_named_together),
        cmocka_unit_test(loops_are_told_from_functions_and_counted_once),
        cmocka_unit_test(a_blank_name_is_seen_to_be_one),
        cmocka_unit_test(a_long_name_of_a_machine_is_wrapped),
        cmocka_unit_test(rows_of_different_thread_counts_are_told_apart),
        cmocka_unit_test(a_long_name_is_cut_and_not_the_profile_it_is_of),
        cmocka_unit_test(table_of_thousands_counts_the_rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
