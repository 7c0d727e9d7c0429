#include "render/render.h"

#include "base/error.h"
#include "base/file.h"
#include "render/renderers.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

static const struct rl_renderer *const renderers[] = {
    &rl_renderer_chart, &rl_renderer_csv, &rl_renderer_json,  &rl_renderer_pdf,
    &rl_renderer_png,   &rl_renderer_svg, &rl_renderer_table, &rl_renderer_text,
};

enum { N_RENDERERS = sizeof renderers / sizeof *renderers };

bool rl_renderer_always(char *why, size_t n)
{
    if (n)
        *why = 0;
    return true;
}

const struct rl_renderer *const *rl_renderers(size_t *ret_n)
{
    *ret_n = N_RENDERERS;
    return renderers;
}

const struct rl_renderer *rl_renderer_find(const char *name)
{
    for (size_t i = 0; i < N_RENDERERS; i++) {
        if (strcmp(renderers[i]->name, name) == 0)
            return renderers[i];
    }
    return NULL;
}

const struct rl_renderer *rl_renderer_for_file(const char *path)
{
    const char *dot = strrchr(path, '.');
    if (!dot || strchr(dot, '/'))
        return NULL;
    for (size_t i = 0; i < N_RENDERERS; i++) {
        if (renderers[i]->extension && strcasecmp(renderers[i]->extension, dot + 1) == 0)
            return renderers[i];
    }
    return NULL;
}

enum rl_status rl_render(const struct rl_renderer *renderer, const struct rl_report *report,
                         const struct rl_render_options *options, char **ret_data, size_t *ret_size,
                         struct rl_error *err)
{
    static const struct rl_render_options defaults = {0};
    char why[256];
    if (!renderer->probe(why, sizeof why))
        return rl_fail(err, RL_EUNAVAIL, "format %s is not available: %s", renderer->name, why);
    /* Documents use a dot; the caller's locale may not. Only this thread is switched. */
    locale_t plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    if (plain == (locale_t)0)
        return rl_fail(err, RL_ENOMEM, "no memory to render");
    char *data = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&data, &size);
    if (!out) {
        freelocale(plain);
        return rl_fail(err, RL_ENOMEM, "no memory to render");
    }
    locale_t before = uselocale(plain);
    enum rl_status status = renderer->render(report, options ? options : &defaults, out, err);
    uselocale(before);
    freelocale(plain);
    bool broken = ferror(out) != 0;
    broken |= fclose(out) != 0;
    if (status == RL_OK && broken)
        status = rl_fail(err, RL_ENOMEM, "no memory to render");
    if (status != RL_OK) {
        free(data);
        return status;
    }
    *ret_data = data;
    *ret_size = size;
    return RL_OK;
}

enum rl_status rl_render_file(const struct rl_renderer *renderer, const struct rl_report *report,
                              const struct rl_render_options *options, const char *path,
                              struct rl_error *err)
{
    char *data;
    size_t size;
    RL_TRY(rl_render(renderer, report, options, &data, &size, err));
    enum rl_status status = rl_file_write(path ? path : "-", data, size, err);
    free(data);
    return status;
}
