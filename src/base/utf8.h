/* UTF-8, as far as names from programs need it: those may be of any bytes. */
#ifndef RL_BASE_UTF8_H
#define RL_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/** The first character of a NUL-terminated text. @return its bytes; 0 if it is none, and `ret_code`
 * is as it was. */
unsigned rl_utf8_decode(const char *text, uint32_t *ret_code);

/** A copy whose bytes that are no UTF-8 are spelled \xNN. @return owned; NULL without memory. */
char *rl_utf8_spelled(const char *text);

#endif
