/* Showing a report: one descriptor per output format.
 *
 * A renderer turns a struct rl_report into bytes; it neither reads files nor measures anything.
 * The chart formats (chart, svg, png, pdf) paint the same layout. Numbers are written with a dot
 * whatever the locale. */
#ifndef ROOFLINE_RENDER_H
#define ROOFLINE_RENDER_H

#include <roofline/report.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

enum rl_theme { RL_THEME_LIGHT = 0, RL_THEME_DARK };

/** What the reader's device can do. All-zero is valid: light, plain ASCII, no colour. */
struct rl_render_options {
    unsigned width;      /**< svg: px; png: pixels; pdf: points; chart, table, text: columns; 0: the
                            format's own default */
    unsigned height;     /**< likewise; chart and text: rows of the chart */
    enum rl_theme theme; /**< svg, png, pdf */
    bool unicode;        /**< chart, table, text: the device shows UTF-8; false: plain ASCII */
    bool colour;         /**< chart, table, text: ANSI colours */
    const char *program; /**< "roofline 0.1.0", for the caption; NULL: what the records say */
};

/** One output format. */
struct rl_renderer {
    const char *name;      /**< word after -f */
    const char *summary;   /**< one line for --help */
    const char *extension; /**< file name ending that implies it, without the dot; NULL: none */
    bool binary;           /**< not to be written to a terminal */
    bool cells;            /**< width and height count characters */

    /** @return true if it works here; else false and the reason in why[n]. */
    bool (*probe)(char *why, size_t n);

    /**
     * Write the whole document to `out`.
     *
     * @return RL_OK; RL_EINVAL for a size it cannot draw in; RL_ENODATA if the report holds
     *         nothing to show; RL_EUNAVAIL; RL_ENOMEM. Errors of `out` are the caller's to check.
     */
    enum rl_status (*render)(const struct rl_report *report,
                             const struct rl_render_options *options, FILE *out,
                             struct rl_error *err);
};

/** All renderers, sorted by name. @param ret_n their number. */
const struct rl_renderer *const *rl_renderers(size_t *ret_n);

/** Renderer called `name`; NULL if there is none. */
const struct rl_renderer *rl_renderer_find(const char *name);

/** Renderer that the ending of a file name implies; NULL if it implies none. */
const struct rl_renderer *rl_renderer_for_file(const char *path);

/**
 * Render into memory.
 *
 * @param options   NULL for the defaults.
 * @param ret_data  [ret_size + 1], NUL-terminated, freed by the caller; written on RL_OK only.
 */
enum rl_status rl_render(const struct rl_renderer *renderer, const struct rl_report *report,
                         const struct rl_render_options *options, char **ret_data, size_t *ret_size,
                         struct rl_error *err);

/**
 * Render into a file, which appears or is replaced only once it is complete.
 * @param path  NULL or "-": standard output.
 * @return as rl_render; RL_ESYS when it cannot be written.
 */
enum rl_status rl_render_file(const struct rl_renderer *renderer, const struct rl_report *report,
                              const struct rl_render_options *options, const char *path,
                              struct rl_error *err);

#ifdef __cplusplus
}
#endif

#endif
