/* A machine record as text: what it is, its ceilings in a table, what is missing. */
#ifndef RL_CLI_MACHINE_TABLE_H
#define RL_CLI_MACHINE_TABLE_H

#include <roofline/machine.h>
#include <stdbool.h>
#include <stdio.h>

/** Print identity, levels, ceilings (one row each, one column group a thread count) and latencies.
 * @param all  every instruction set, and what is not available with its reason; false: the fastest
 *             instruction set for each operation. */
void rl_machine_table_print(FILE *out, const struct rl_machine *machine, bool all);

/** Only the lines about the machine itself. */
void rl_machine_table_head(FILE *out, const struct rl_machine *machine);

#endif
