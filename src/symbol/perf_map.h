/* Maps that just-in-time compilers write for profilers: lines "START SIZE name", hexadecimal. */
#ifndef RL_SYMBOL_PERF_MAP_H
#define RL_SYMBOL_PERF_MAP_H

#include "symbol/functions.h"

/**
 * Add the functions of a map's text, which is changed; rows own their names. Lines that do not fit
 * are skipped. Code that was compiled later at the same place wins.
 *
 * @return false without memory.
 */
bool perf_map_parse(char *text, struct function_table *table);

#endif
