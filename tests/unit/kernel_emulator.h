/* A tiny emulator for the inner loops of kernels: decodes with Zydis, repeats the arithmetic in
 * plain C on a register image, and counts operations and bytes as it goes. */
#ifndef TESTS_UNIT_KERNEL_EMULATOR_H
#define TESTS_UNIT_KERNEL_EMULATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { EMU_REGISTERS = 32, EMU_REGISTER_BYTES = 64, EMU_BASES = 16, EMU_MOST_ACCESSES = 512 };
enum { EMU_TILES = 8, EMU_TILE_ROWS = 16 };

struct emu_access {
    unsigned base;  /* general register number */
    int64_t offset; /* from it */
    unsigned bytes;
    bool store;
    bool streaming;
};

/* What one iteration of an inner loop does. */
struct emu_counts {
    unsigned instructions; /* arithmetic on vectors or chains of general registers */
    double work;           /* FLOP, integer operations or elements */
    unsigned tile_products;
    unsigned unknown; /* instructions the emulator does not know */
    char first_unknown[64];
    struct emu_access access[EMU_MOST_ACCESSES];
    unsigned n_access;
    unsigned prefetches;
    int64_t step[EMU_BASES]; /* what the loop adds to each general register */
};

struct emu_image {
    unsigned char v[EMU_REGISTERS][EMU_REGISTER_BYTES];
    uint32_t r[EMU_BASES];
};

typedef unsigned char emu_tile[EMU_TILE_ROWS][EMU_REGISTER_BYTES];
enum emu_tile_type { EMU_TILE_INT8, EMU_TILE_BF16, EMU_TILE_FP16 };

/* Decode the innermost loop of the function at `code` and count. False: no loop, or undecodable. */
bool emu_count(const void *code, struct emu_counts *ret_counts);

/* c += a * b, as the tile instructions have it: int8 into int32, the others into fp32. Apart from
 * the decoder, which may be too old to know them all. */
void emu_tile_product(enum emu_tile_type type, emu_tile c, emu_tile a, emu_tile b);

/* Execute the arithmetic of that loop `iterations` times. False if something is not known. */
bool emu_run(const void *code, unsigned iterations, struct emu_image *image);

#endif
