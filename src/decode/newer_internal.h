/* Instructions that appeared after the decoding library's release, so that a program compiled for
 * this year's processors is not silently short of operations. Used by insn.c only, when the library
 * has given up. */
#ifndef RL_DECODE_NEWER_INTERNAL_H
#define RL_DECODE_NEWER_INTERNAL_H

#include "decode/insn.h"

/** As rl_insn_decode, for the instructions of the table in newer.c; leaves `insn` alone otherwise.
 */
bool newer_decode(const uint8_t *code, size_t size, struct rl_insn *insn);

#endif
