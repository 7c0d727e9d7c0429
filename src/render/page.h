/* A page of text for people, of limited width and character set: what table.c and words.c share. */
#ifndef RL_RENDER_PAGE_H
#define RL_RENDER_PAGE_H

#include "render/render.h"
#include "render/text.h"

struct page {
    const struct rl_report *report;
    FILE *out;
    bool unicode, colour;
    unsigned width; /**< columns */
};

/** What stands for an unknown value. */
const char *rl_page_absent(const struct page *page);

/** Cleaned text without a line end. */
void rl_page_put(const struct page *page, const char *text);

/** Bold on or off, where the device has colours. */
void rl_page_bold(const struct page *page, bool on);

/** Text broken at spaces; `used` columns of the first line are taken, further lines indented. */
void rl_page_wrap(const struct page *page, unsigned used, unsigned indent, const char *text);

/** One reason a line why values are missing. @param gap  [n_row] rows with a dash in the table. */
void rl_page_reasons(const struct page *page, const bool *gap, size_t n_row);

/** One line an advice. */
void rl_page_advice(const struct page *page, size_t n_row);

/** The profile's notes. */
void rl_page_notes(const struct page *page);

#endif
