/* The rows of the decode_*.def files, laid out one after the other, and the slots that find them.
 *
 * Everything is constant and holds no address, so that the engine needs no relocation. Each .def
 * file is read three times: as the members of one structure (which gives every opcode its place),
 * as their contents, and as slots made of those places. */
#include "count/engine/decode_rows.h"

#include <stddef.h>

#define MEMBER(map, first) op_##map##_##first
#define ROW(key, what, attr)                                                                       \
    {                                                                                              \
        KEY_FILL(key), (uint32_t)(attr), (what)                                                    \
    }
#define N_ROWS(...) (sizeof((const struct row[]){__VA_ARGS__}) / sizeof(struct row))

struct rows {
#define OP(map, first, last, modrm, ...) struct row MEMBER(map, first)[N_ROWS(__VA_ARGS__)];
#include "count/engine/decode_0f.def"
#include "count/engine/decode_evex.def"
#include "count/engine/decode_onebyte.def"
#include "count/engine/decode_vex.def"
#include "count/engine/decode_xop.def"
#undef OP
};

const struct rows rle_rows = {
#define OP(map, first, last, modrm, ...) .MEMBER(map, first) = {__VA_ARGS__},
#include "count/engine/decode_0f.def"
#include "count/engine/decode_evex.def"
#include "count/engine/decode_onebyte.def"
#include "count/engine/decode_vex.def"
#include "count/engine/decode_xop.def"
#undef OP
};

const struct slot rle_slots[N_MAPS][256] = {
#define OP(map, first, last, modrm, ...)                                                           \
    [map][first... last] = {offsetof(struct rows, MEMBER(map, first)) / sizeof(struct row),        \
                            N_ROWS(__VA_ARGS__), modrm},
#include "count/engine/decode_0f.def"
#include "count/engine/decode_evex.def"
#include "count/engine/decode_onebyte.def"
#include "count/engine/decode_vex.def"
#include "count/engine/decode_xop.def"
#undef OP
};

_Static_assert(sizeof(struct rows) / sizeof(struct row) <= UINT16_MAX, "slots count in 16 bits");
