/* The descriptors that render.c lists, one or two a file. */
#ifndef RL_RENDER_RENDERERS_H
#define RL_RENDER_RENDERERS_H

#include "render/render.h"

extern const struct rl_renderer rl_renderer_chart;
extern const struct rl_renderer rl_renderer_csv;
extern const struct rl_renderer rl_renderer_json;
extern const struct rl_renderer rl_renderer_pdf;
extern const struct rl_renderer rl_renderer_png;
extern const struct rl_renderer rl_renderer_svg;
extern const struct rl_renderer rl_renderer_table;
extern const struct rl_renderer rl_renderer_text;

/** Probe of a renderer that needs nothing this build may lack. */
bool rl_renderer_always(char *why, size_t n);

/** The chart in characters, as `chart` writes it; `text` puts it above the table. */
enum rl_status rl_write_chart(const struct rl_report *report,
                              const struct rl_render_options *options, FILE *out,
                              struct rl_error *err);

#endif
