/* The engine's instruction decoder proved against Zydis: every opcode of every map with the
 * prefixes and operand forms that matter, then random bytes.
 *
 * ROOFLINE_DECODER_FULL=1 sweeps every ModRM byte and control bit; ROOFLINE_DECODER_RANDOM=N tries
 * N million random instructions; ROOFLINE_DECODER_SEED sets their seed. The default is a sample of
 * both that runs in seconds; sanitizers, which look for other faults, get a quarter of it. */
#include "count/engine/decode.h"
#include "decoder_oracle.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#ifdef __SANITIZE_ADDRESS__
#define THIN 4u
#else
#define THIN 1u
#endif
#define RANDOM_DEFAULT (2000000u / THIN)
#define SEED_DEFAULT   UINT64_C(0x9E3779B97F4A7C15)
#define SHOWN_MAX      20

static unsigned long n_checked, n_different;

static void check(const uint8_t *code)
{
    const char *what = decoder_oracle_differs(code);
    n_checked++;
    if (!what)
        return;
    if (n_different++ >= SHOWN_MAX)
        return;
    fprintf(stderr, "%s:", what);
    for (int i = 0; i < RLE_INSN_MAX; i++)
        fprintf(stderr, " %02x", code[i]);
    fprintf(stderr, "  %s\n", decoder_oracle_text(code));
}

static void start(void)
{
    n_checked = n_different = 0;
}

static void finish(const char *what)
{
    fprintf(stderr, "%s: %lu encodings, %lu differ\n", what, n_checked, n_different);
    assert_int_equal(n_different, 0);
}

static bool full(void)
{
    const char *value = getenv("ROOFLINE_DECODER_FULL");
    return value && value[0] == '1';
}

/* Displacement and immediate bytes: small, large and negative ones. */
static void fill(uint8_t *code, unsigned at)
{
    static const uint8_t pattern[RLE_INSN_MAX] = {0x81, 0x02, 0xF3, 0x14, 0x85, 0x36, 0xE7, 0x18,
                                                  0x09, 0xFA, 0x2B, 0x9C, 0x4D, 0x5E, 0x6F};
    for (unsigned i = at; i < RLE_INSN_MAX; i++)
        code[i] = pattern[i];
}

/* `code` holds `at` bytes up to and with the opcode: adds the operand forms. The sample keeps, of
 * each mod, every reg and three rm; the full sweep has all ModRM bytes and the SIB bytes that
 * differ in kind. */
static void sweep_operands(uint8_t *code, unsigned at)
{
    static const uint8_t sibs[] = {0x20, 0x25, 0x65, 0xAC, 0xE1, 0x8D, 0xFB};
    bool all = full();
    for (unsigned modrm = 0; modrm < 256; modrm++) {
        unsigned rm = modrm & 7, mod = modrm >> 6;
        if (!all && ((rm != 1 && rm != 4 && rm != 5) || (modrm >> 3) % THIN))
            continue;
        fill(code, at);
        code[at] = modrm;
        if (mod == 3 || rm != 4) {
            check(code);
            continue;
        }
        for (unsigned i = 0; i < sizeof(sibs); i++) {
            if (!all && i % 3)
                continue;
            code[at + 1] = sibs[i];
            check(code);
        }
    }
}

static void every_legacy_opcode_agrees(void **state)
{
    static const struct {
        uint8_t n, bytes[4];
    } prefixes[] = {{0, {0}},          {1, {0x66}},       {1, {0xF3}},       {1, {0xF2}},
                    {2, {0x66, 0xF3}}, {2, {0xF2, 0x66}}, {2, {0xF2, 0xF3}}, {1, {0xF0}},
                    {1, {0x67}},       {2, {0x64, 0x67}}, {1, {0x2E}},       {2, {0x65, 0x66}}},
      rexes[] = {{0, {0}},    {1, {0x40}}, {1, {0x48}}, {1, {0x41}},
                 {1, {0x46}}, {1, {0x4F}}, {1, {0x44}}, {2, {0x48, 0x41}}},
      escapes[] = {{0, {0}}, {1, {0x0F}}, {2, {0x0F, 0x38}}, {2, {0x0F, 0x3A}}};
    (void)state;
    start();
    for (unsigned m = 0; m < 4; m++)
        for (unsigned p = 0; p < sizeof(prefixes) / sizeof(prefixes[0]); p++)
            for (unsigned r = 0; r < sizeof(rexes) / sizeof(rexes[0]); r++)
                for (unsigned opcode = 0; opcode < 256; opcode++) {
                    uint8_t code[RLE_INSN_MAX];
                    unsigned at = 0;
                    memcpy(code + at, prefixes[p].bytes, prefixes[p].n);
                    at += prefixes[p].n;
                    memcpy(code + at, rexes[r].bytes, rexes[r].n);
                    at += rexes[r].n;
                    memcpy(code + at, escapes[m].bytes, escapes[m].n);
                    at += escapes[m].n;
                    code[at++] = opcode;
                    sweep_operands(code, at);
                }
    finish("legacy");
}

static void every_3dnow_suffix_agrees(void **state)
{
    (void)state;
    start();
    for (unsigned suffix = 0; suffix < 256; suffix++) {
        uint8_t code[RLE_INSN_MAX] = {0x0F, 0x0F, 0xC1, suffix};
        check(code);
        uint8_t memory[RLE_INSN_MAX] = {0x0F, 0x0F, 0x44, 0x88, 0x10, suffix};
        check(memory);
    }
    finish("3DNow!");
}

/* VEX with C4 and XOP: every map number, so that maps without instructions are refused. */
static void sweep_vex(uint8_t first, unsigned map_first, unsigned map_end)
{
    static const uint8_t vvvvs[] = {0x78, 0x00, 0x38, 0x50};
    for (unsigned map = map_first; map < map_end; map++)
        for (unsigned opcode = 0; opcode < 256; opcode++)
            for (unsigned w_l_pp = 0; w_l_pp < 16; w_l_pp++)
                for (unsigned v = 0; v < (full() ? 4 : 2); v++)
                    for (unsigned rxb = 0; rxb < 8; rxb += full() ? 1 : 7) {
                        uint8_t code[RLE_INSN_MAX] = {first, rxb << 5 | map};
                        code[2] = (w_l_pp & 8) << 4 | vvvvs[v] | (w_l_pp & 7);
                        code[3] = opcode;
                        sweep_operands(code, 4);
                    }
}

static void every_vex_opcode_agrees(void **state)
{
    (void)state;
    start();
    sweep_vex(0xC4, 1, 4);
    finish("VEX");
}

static void every_xop_opcode_agrees(void **state)
{
    (void)state;
    start();
    sweep_vex(0x8F, 8, 11);
    finish("XOP");
}

static void two_byte_vex_agrees(void **state)
{
    (void)state;
    start();
    for (unsigned p = 0; p < 256; p++)
        for (unsigned opcode = 0; opcode < 256; opcode++) {
            uint8_t code[RLE_INSN_MAX] = {0xC5, p, opcode};
            if (full() || (p >> 3 & 15) == 15 || (p >> 3 & 15) == 3)
                sweep_operands(code, 3);
        }
    finish("two-byte VEX");
}

static void maps_without_instructions_are_refused(void **state)
{
    (void)state;
    start();
    for (unsigned map = 0; map < 32; map++)
        for (unsigned opcode = 0; opcode < 256; opcode++) {
            uint8_t vex[RLE_INSN_MAX] = {0xC4, 0xE0 | map, 0x7D, opcode, 0xC1};
            check(vex);
            uint8_t xop[RLE_INSN_MAX] = {0x8F, 0xE0 | map, 0x7D, opcode, 0xC1};
            check(xop);
        }
    finish("other maps");
}

static void sweep_evex_controls(uint8_t *code)
{
    /* z, b, V', aaa: unmasked, broadcast, masked, zeroed, high vvvv, zeroed without mask */
    static const uint8_t controls[] = {0x08, 0x18, 0x0B, 0x8B, 0x9B, 0x00, 0x88, 0x12};
    static const uint8_t vvvvs[] = {0x78, 0x30};
    for (unsigned c = 0; c < (full() ? 8 : 4); c++)
        for (unsigned length = 0; length < 4; length++)
            for (unsigned v = 0; v < 2; v++) {
                /* The sample: high vvvv without mask, masks with the shortest and longest vector.
                 */
                if (!full() && ((v && c) || (c > 1 && length % 2)))
                    continue;
                code[2] = (code[2] & 0x87) | vvvvs[v];
                code[3] = controls[c] | length << 5;
                sweep_operands(code, 6 - 1);
            }
}

static void every_evex_opcode_agrees(void **state)
{
    static const uint8_t extensions[] = {0xF0, 0x00, 0xE0, 0x60};
    (void)state;
    start();
    for (unsigned map = 0; map < 8; map++)
        for (unsigned opcode = 0; opcode < 256; opcode++)
            for (unsigned w_pp = 0; w_pp < 8; w_pp++)
                for (unsigned x = 0; x < (full() ? 4 : 1); x++) {
                    uint8_t code[RLE_INSN_MAX] = {0x62, extensions[x] | map};
                    code[2] = (w_pp & 4) << 5 | 4 | (w_pp & 3);
                    code[4] = opcode;
                    sweep_evex_controls(code);
                }
    finish("EVEX");
}

static uint64_t next_random(uint64_t *seed)
{
    uint64_t x = *seed;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return *seed = x;
}

/* Random bytes behind a random choice of prefixes and escape, so that every map is met often. */
static void random_instruction(uint64_t *seed, uint8_t *code)
{
    static const uint8_t prefixes[] = {0x66, 0xF2, 0xF3, 0xF0, 0x67, 0x64, 0x65, 0x2E, 0x3E};
    uint64_t bytes[2] = {next_random(seed), next_random(seed)}, pick = next_random(seed);
    unsigned at = 0, shape = pick & 15;
    memcpy(code, bytes, RLE_INSN_MAX);
    for (unsigned n = (pick >> 4) & 7; n > 4; n--) {
        code[at++] = prefixes[(pick >> 8) % sizeof(prefixes)];
        pick = pick >> 3 ^ next_random(seed);
    }
    if (shape < 2)
        return; /* plain bytes behind prefixes */
    if (shape >= 12) {
        code[at] = shape == 12 ? 0xC5 : 0x62;
        if (shape > 12)
            code[at + 2] |= 4;
    } else if (shape >= 9) {
        code[at] = shape == 11 ? 0x8F : 0xC4;
        code[at + 1] = (code[at + 1] & 0xE0) | ((shape == 11 ? 8 : 1) + (pick >> 16) % 3);
    } else {
        if (pick >> 20 & 1)
            code[at++] = 0x40 | (pick >> 21 & 15);
        if (shape > 3)
            code[at++] = 0x0F;
        if (shape > 6)
            code[at++] = shape == 7 ? 0x38 : 0x3A;
    }
    if ((pick >> 32 & 1) && shape >= 9)
        code[at + (shape == 12 ? 1 : 2)] |= 0x78; /* vvvv not used */
}

static uint64_t number_from(const char *variable, uint64_t otherwise)
{
    const char *value = getenv(variable);
    return value ? strtoull(value, NULL, 0) : otherwise;
}

static void random_bytes_agree(void **state)
{
    uint64_t seed = number_from("ROOFLINE_DECODER_SEED", SEED_DEFAULT);
    uint64_t n = number_from("ROOFLINE_DECODER_RANDOM", 0) * 1000000;
    (void)state;
    fprintf(stderr, "random: seed 0x%" PRIx64 "\n", seed);
    start();
    for (uint64_t i = 0; i < (n ? n : RANDOM_DEFAULT); i++) {
        uint8_t code[RLE_INSN_MAX + 1];
        random_instruction(&seed, code);
        check(code);
    }
    finish("random");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_legacy_opcode_agrees),
        cmocka_unit_test(every_3dnow_suffix_agrees),
        cmocka_unit_test(two_byte_vex_agrees),
        cmocka_unit_test(every_vex_opcode_agrees),
        cmocka_unit_test(every_xop_opcode_agrees),
        cmocka_unit_test(maps_without_instructions_are_refused),
        cmocka_unit_test(every_evex_opcode_agrees),
        cmocka_unit_test(random_bytes_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
