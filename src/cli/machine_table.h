/* A machine record as text: what it is, its ceilings in a table, what is missing. */
#ifndef RL_CLI_MACHINE_TABLE_H
#define RL_CLI_MACHINE_TABLE_H

#include <roofline/machine.h>
#include <stdbool.h>
#include <stdio.h>

/** Print identity, levels, ceilings (one row each, one column group a thread count) and latencies.
 * @param columns  width to fit into by leaving out, in this order, the end of the winning variant's
 * name, the figures per cycle and the spreads; 0: no limit.
 * @param all  every instruction set, and what is not available with its reason; false: the fastest
 *             instruction set for each operation. */
void rl_machine_table_print(FILE *out, const struct rl_machine *machine, bool all,
                            unsigned columns);

/** Only the lines about the machine itself. */
void rl_machine_table_head(FILE *out, const struct rl_machine *machine);

#endif
