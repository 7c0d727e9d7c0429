/* Text for people: cleaning foreign names, shortening, numbers with three digits. */
#ifndef RL_RENDER_TEXT_H
#define RL_RENDER_TEXT_H

#include <roofline/report.h>
#include <stdbool.h>
#include <stddef.h>

/** Longest text any renderer shows on one line, terminating NUL included. */
enum { RL_TEXT_LEN = 512 };

/**
 * Copy `src` so that it can be shown anywhere: control characters, direction overrides and invalid
 * UTF-8 become a replacement mark, so a hostile name cannot steer a terminal or break a document.
 *
 * @param dst      [n]; cut at a character boundary.
 * @param src      NULL counts as empty.
 * @param unicode  false: the usual symbols are spelled in ASCII (">=", "x", "-"), others become
 * '?'.
 */
void rl_text_clean(char *dst, size_t n, const char *src, bool unicode);

/** Terminal columns of a cleaned text: wide characters count 2, combining ones 0. */
unsigned rl_text_columns(const char *text);

/** Whether a report holds rows of different thread counts. */
bool rl_report_is_mixed(const struct rl_report *report);

/** Name of a row as shown: with "@threads" where the report holds rows of different thread counts,
 * and with the profile it is of in brackets where another one has a row of that name.
 *
 * @param columns  it is shortened to so many, in the middle of the kernel's name as long as what
 *                 stands behind leaves any of it; 0: not at all.
 */
void rl_row_name(const struct rl_report *report, const struct rl_row *row, unsigned columns,
                 char dst[RL_TEXT_LEN], bool unicode);

/** First character of a cleaned text that is not empty. @return its bytes. */
unsigned rl_text_next(const char *text, unsigned *ret_columns);

/**
 * Shorten a cleaned text to at most `columns` by an ellipsis in its middle.
 * @param text  [n], changed in place.
 */
void rl_text_elide(char *text, size_t n, unsigned columns, bool unicode);

/** Three significant digits: "98.2", "40.0", "0.0417", "1230", "1.2e-07"; zero is "0". */
void rl_text_number(char *dst, size_t n, double value);

/** A share in percent with at most one decimal: 0.873 gives "87", 0.042 "4.2", 1e-6 "<0.1", 2e5
 * "2e+07". */
void rl_text_share(char *dst, size_t n, double share);

/** The same with its unit: "87 %". */
void rl_text_percent(char *dst, size_t n, double share);

#endif
