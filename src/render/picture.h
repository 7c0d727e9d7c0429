/* Measuring type and choosing a picture's size; what svg.c and cairo.c share. */
#ifndef RL_RENDER_PICTURE_H
#define RL_RENDER_PICTURE_H

#include "render/render.h"
#include "render/scene.h"

struct typesetter;

/** Probe of every picture: is there a font? */
bool rl_typesetter_probe(char *why, size_t n);

/** @return NULL without memory. */
struct typesetter *rl_typesetter_new(void);
void rl_typesetter_free(struct typesetter *typesetter);

/** As rl_canvas.text_size wants it; `typesetter` is a struct typesetter *. */
struct rl_extent rl_typesetter_size(void *typesetter, enum rl_font font, const char *text);

/** Default size of a picture, canvas units. */
enum { RL_PICTURE_WIDTH = 960, RL_PICTURE_HEIGHT = 640, RL_PICTURE_MAX = 16384 };

/**
 * Lay a report out for a picture of the wanted size.
 * @param scale  pixels a canvas unit.
 */
enum rl_status rl_picture_build(const struct rl_report *report,
                                const struct rl_render_options *options, double scale,
                                struct rl_scene *ret_scene, struct rl_error *err);

#endif
