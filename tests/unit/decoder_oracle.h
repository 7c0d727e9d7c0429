/* The engine's decoder held against Zydis, for one instruction. */
#ifndef RL_TESTS_DECODER_ORACLE_H
#define RL_TESTS_DECODER_ORACLE_H

#include <stdbool.h>
#include <stdint.h>

/**
 * Decode with both and compare.
 *
 * @param code  [15] bytes.
 * @return NULL where they agree, else what differs.
 *
 * Agreement is: equal length, branch kind and target, equal memory operands; register and flag
 * reads hold those of Zydis, full overwrites are among Zydis's sure ones, and neither is more
 * cautious than the reasons listed in decoder_oracle.c call for. What Zydis refuses must
 * be refused, and the other way round, but for the exceptions listed in decoder_oracle.c.
 */
const char *decoder_oracle_differs(const uint8_t *code);

/** Zydis's text of the instruction ("invalid" if none), for messages; a static buffer. */
const char *decoder_oracle_text(const uint8_t *code);

#endif
