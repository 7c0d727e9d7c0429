/* One instruction in, the operations and bytes of one execution out: by the rules of decode/insn.h.
 * The cases stand in tests/fixture/decode/instructions.txt. */
#include "decode/insn.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define CASES SOURCE_DIR "/tests/fixture/decode/instructions.txt"

struct insn_case {
    unsigned line;
    uint8_t code[16];
    size_t size;
    char assembly[96], ops[64], isa[16], flags[64];
    unsigned flop, iop, loads, stores;
};

static size_t from_hex(const char *hex, uint8_t *code)
{
    size_t n = 0;
    unsigned byte;
    while (n < 15 && sscanf(hex + 2 * n, "%2x", &byte) == 1)
        code[n++] = (uint8_t)byte;
    return n;
}

/* The next "; "-separated field of a line. */
static const char *field(char **line)
{
    char *start = strsep(line, ";");
    return start ? start + strspn(start, " ") : "";
}

static bool read_case(FILE *file, struct insn_case *ret_case)
{
    char line[256];
    static unsigned number;
    while (fgets(line, sizeof line, file)) {
        number++;
        line[strcspn(line, "\n")] = '\0';
        if (!line[0] || line[0] == '#')
            continue;
        char *rest = line;
        *ret_case = (struct insn_case){.line = number};
        ret_case->size = from_hex(field(&rest), ret_case->code);
        snprintf(ret_case->assembly, sizeof ret_case->assembly, "%s", field(&rest));
        snprintf(ret_case->ops, sizeof ret_case->ops, "%s", field(&rest));
        if (sscanf(field(&rest), "%u %u %u %u", &ret_case->flop, &ret_case->iop, &ret_case->loads,
                   &ret_case->stores) != 4)
            fail_msg("%s:%u: four numbers expected", CASES, number);
        snprintf(ret_case->isa, sizeof ret_case->isa, "%s", field(&rest));
        snprintf(ret_case->flags, sizeof ret_case->flags, "%s", field(&rest));
        return true;
    }
    number = 0;
    return false;
}

static void ops_text(const struct rl_insn *insn, char *ret_text, size_t capacity)
{
    size_t at = 0;
    for (unsigned i = 0; i < insn->n_op; i++)
        at += (size_t)snprintf(ret_text + at, capacity - at, "%s%s:%sx%u", i ? "+" : "",
                               rl_insn_class_name(insn->op[i].class),
                               rl_precision_name(insn->op[i].precision), insn->op[i].count);
    if (!insn->n_op)
        snprintf(ret_text, capacity, "none");
}

static void flags_text(uint32_t flags, char *ret_text, size_t capacity)
{
    static const struct {
        uint32_t flag;
        const char *name;
    } names[] = {
        {RL_INSN_EVEX, "evex"},         {RL_INSN_NONTEMPORAL, "nontemporal"},
        {RL_INSN_GATHER, "gather"},     {RL_INSN_SCATTER, "scatter"},
        {RL_INSN_TILE, "tile"},         {RL_INSN_LOCKED, "locked"},
        {RL_INSN_REPEATED, "repeated"}, {RL_INSN_STATE, "state"},
        {RL_INSN_INDIRECT, "indirect"}, {RL_INSN_CONDITIONAL, "conditional"},
        {RL_INSN_RETURN, "return"},     {RL_INSN_ENDS_FLOW, "ends"},
        {RL_INSN_HAS_TARGET, "target"}, {RL_INSN_MASKED, "masked"},
        {RL_INSN_HAS_SLOT, "slot"},
    };
    size_t at = 0;
    ret_text[0] = '\0';
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (flags & names[i].flag)
            at += (size_t)snprintf(ret_text + at, capacity - at, "%s%s", at ? " " : "",
                                   names[i].name);
}

static unsigned differences(const struct insn_case *c, const struct rl_insn *insn)
{
    char ops[64], flags[128];
    ops_text(insn, ops, sizeof ops);
    flags_text(insn->flags, flags, sizeof flags);
    if (insn->length == c->size && !strcmp(ops, c->ops) && !strcmp(flags, c->flags) &&
        !strcmp(rl_insn_isa_name(insn->isa), c->isa) && rl_insn_flop(insn) == c->flop &&
        rl_insn_iop(insn) == c->iop && insn->load_bytes == c->loads &&
        insn->store_bytes == c->stores)
        return 0;
    print_error("line %u: %s\n  expected %s; %u %u %u %u; %s; %s (%zu bytes)\n"
                "  found    %s; %u %u %u %u; %s; %s (%u bytes)\n",
                c->line, c->assembly, c->ops, c->flop, c->iop, c->loads, c->stores, c->isa,
                c->flags, c->size, ops, rl_insn_flop(insn), rl_insn_iop(insn), insn->load_bytes,
                insn->store_bytes, rl_insn_isa_name(insn->isa), flags, insn->length);
    return 1;
}

static void every_instruction_does_what_its_line_says(void **state)
{
    (void)state;
    FILE *file = fopen(CASES, "r");
    assert_non_null(file);
    struct insn_case c;
    unsigned n = 0, wrong = 0;
    while (read_case(file, &c)) {
        struct rl_insn insn;
        assert_true(rl_insn_decode(c.code, c.size, &insn));
        wrong += differences(&c, &insn);
        n++;
    }
    fclose(file);
    assert_int_equal(wrong, 0);
    assert_true(n >= 400);
}

static void the_assembler_agrees_with_the_bytes(void **state)
{
    (void)state;
    if (system("as --version > /dev/null 2>&1") || system("objcopy --version > /dev/null 2>&1"))
        skip();
    char source[] = "/tmp/rl_insn_XXXXXX", command[256], binary[64];
    int fd = mkstemp(source);
    assert_true(fd >= 0);
    FILE *out = fdopen(fd, "w"), *file = fopen(CASES, "r");
    assert_non_null(out);
    assert_non_null(file);
    struct insn_case c;
    fputs(".intel_syntax noprefix\n", out);
    while (read_case(file, &c))
        fprintf(out, "%s\n", c.assembly);
    fclose(out);
    snprintf(binary, sizeof binary, "%s.bin", source);
    snprintf(command, sizeof command,
             "as %s -o %s.o 2> /dev/null && objcopy -O binary -j .text %s.o %s", source, source,
             source, binary);
    int status = system(command);
    snprintf(command, sizeof command, "%s.o", source);
    unlink(command);
    unlink(source);
    if (status) { /* an assembler older than the newest instructions */
        fclose(file);
        skip();
    }
    FILE *made = fopen(binary, "rb");
    unlink(binary);
    assert_non_null(made);
    rewind(file);
    while (read_case(file, &c)) {
        uint8_t code[16];
        assert_int_equal(fread(code, 1, c.size, made), c.size);
        if (memcmp(code, c.code, c.size))
            fail_msg("line %u: the bytes of \"%s\" are not the assembler's", c.line, c.assembly);
    }
    fclose(made);
    fclose(file);
}

static void relative_branches_carry_their_target(void **state)
{
    (void)state;
    struct rl_insn insn;
    static const uint8_t jne_back[] = {0x75, 0xf0}, jmp_ahead[] = {0xe9, 0x00, 0x01, 0x00, 0x00},
                         call[] = {0xe8, 0xfb, 0xff, 0xff, 0xff}, jrcxz[] = {0xe3, 0x02};
    assert_true(rl_insn_decode(jne_back, sizeof jne_back, &insn));
    assert_int_equal(insn.target, -14);
    assert_int_equal(insn.class, RL_INSN_BRANCH);
    assert_int_equal(insn.flags, RL_INSN_HAS_TARGET | RL_INSN_CONDITIONAL);
    assert_true(rl_insn_decode(jmp_ahead, sizeof jmp_ahead, &insn));
    assert_int_equal(insn.target, 0x105);
    assert_int_equal(insn.flags, RL_INSN_HAS_TARGET | RL_INSN_ENDS_FLOW);
    assert_true(rl_insn_decode(call, sizeof call, &insn));
    assert_int_equal(insn.target, 0);
    assert_int_equal(insn.class, RL_INSN_CALL);
    assert_int_equal(insn.flags, RL_INSN_HAS_TARGET);
    assert_int_equal(insn.store_bytes, 8);
    assert_true(rl_insn_decode(jrcxz, sizeof jrcxz, &insn));
    assert_int_equal(insn.flags, RL_INSN_HAS_TARGET | RL_INSN_CONDITIONAL);
}

/* Bytes by hand from Intel's instruction-set extensions reference: no assembler here knows them. */
static void instructions_newer_than_the_library_are_counted(void **state)
{
    (void)state;
    static const struct {
        uint8_t code[8];
        uint8_t size;
        const char *mnemonic, *ops;
        unsigned flop, iop, loads;
    } cases[] = {
        {{0xc4, 0xe2, 0x6f, 0x50, 0xcb}, 5, "vpdpbssd", "int-mac:int8x32", 0, 64, 0},
        {{0xc4, 0xe2, 0x6b, 0x50, 0x08}, 5, "vpdpbssd", "int-mac:int8x16", 0, 32, 16},
        {{0xc4, 0xe2, 0x6c, 0xd2, 0x48, 0x10}, 6, "vpdpwuud", "int-mac:int16x16", 0, 32, 32},
        {{0xc4, 0xe2, 0xed, 0xb4, 0xcb}, 5, "vpmadd52luq", "int-mac:int64x4", 0, 8, 0},
        {{0xc4, 0xe2, 0x6b, 0x5c, 0xcb}, 5, "tdpfp16ps", "fma:fp16x8192", 16384, 0, 0},
        {{0xc4, 0xe2, 0x7e, 0xb1, 0x08}, 5, "vbcstnebf162ps", "convert:bf16x8", 0, 0, 2},
        {{0xc4, 0xe2, 0x7e, 0x72, 0xca}, 5, "vcvtneps2bf16", "convert:bf16x8", 0, 0, 0},
        {{0xc4, 0xe2, 0xf1, 0xe3, 0x04, 0x24}, 6, "cmpccxadd", "int-add:int64x1", 0, 1, 8},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rl_insn insn;
        char ops[64];
        assert_true(rl_insn_decode(cases[i].code, cases[i].size, &insn));
        ops_text(&insn, ops, sizeof ops);
        assert_string_equal(insn.mnemonic, cases[i].mnemonic);
        assert_string_equal(ops, cases[i].ops);
        assert_int_equal(insn.length, cases[i].size);
        assert_int_equal(rl_insn_flop(&insn), cases[i].flop);
        assert_int_equal(rl_insn_iop(&insn), cases[i].iop);
        assert_int_equal(insn.load_bytes, cases[i].loads);
        for (size_t cut = 0; cut < cases[i].size; cut++)
            assert_false(rl_insn_decode(cases[i].code, cut, &insn));
    }
}

static void what_cannot_be_decoded_is_unknown_not_zero_length_code(void **state)
{
    (void)state;
    static const uint8_t bad[] = {0x06}, cut[] = {0xf2, 0x0f};
    struct rl_insn insn;
    assert_false(rl_insn_decode(bad, sizeof bad, &insn));
    assert_int_equal(insn.class, RL_INSN_UNKNOWN);
    assert_int_equal(insn.length, 0);
    assert_string_equal(insn.mnemonic, "(bad)");
    assert_false(rl_insn_decode(cut, sizeof cut, &insn));
    assert_false(rl_insn_decode(cut, 0, &insn));
}

static void random_bytes_never_trip_the_decoder(void **state)
{
    (void)state;
    uint64_t seed = 88172645463325252u;
    for (unsigned i = 0; i < 200000; i++) {
        uint8_t code[16];
        for (unsigned k = 0; k < sizeof code; k++) {
            seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
            code[k] = (uint8_t)(seed >> 32);
        }
        if (i & 1)
            code[0] = i & 2 ? 0xc4 : 0x62;
        struct rl_insn insn;
        bool good = rl_insn_decode(code, seed % 16, &insn);
        assert_int_equal(good, insn.length != 0);
        assert_true(insn.length <= seed % 16);
        assert_true(insn.n_op <= 2);
        assert_non_null(insn.mnemonic);
    }
}

static void assembly_is_readable(void **state)
{
    (void)state;
    char text[96];
    static const uint8_t add[] = {0xf2, 0x0f, 0x58, 0xca}, jne[] = {0x75, 0xf0};
    rl_insn_format(add, sizeof add, 0, text, sizeof text);
    assert_string_equal(text, "addsd xmm1, xmm2");
    rl_insn_format(jne, sizeof jne, 0x401020, text, sizeof text);
    assert_string_equal(text, "jnz 0x0000000000401012");
    rl_insn_format(add, 1, 0, text, sizeof text);
    assert_string_equal(text, "(bad)");
}

static void names_cover_every_value(void **state)
{
    (void)state;
    for (int i = 0; i < RL_INSN_CLASSES; i++)
        assert_non_null(rl_insn_class_name((enum rl_insn_class)i));
    for (int i = 0; i < RL_PRECISION_COUNT; i++)
        assert_non_null(rl_precision_name((enum rl_precision)i));
    for (int i = 0; i < RL_INSN_ISAS; i++)
        assert_non_null(rl_insn_isa_name((enum rl_insn_isa)i));
    assert_string_equal(rl_insn_class_name(RL_INSN_CLASSES), "?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_instruction_does_what_its_line_says),
        cmocka_unit_test(the_assembler_agrees_with_the_bytes),
        cmocka_unit_test(relative_branches_carry_their_target),
        cmocka_unit_test(instructions_newer_than_the_library_are_counted),
        cmocka_unit_test(what_cannot_be_decoded_is_unknown_not_zero_length_code),
        cmocka_unit_test(random_bytes_never_trip_the_decoder),
        cmocka_unit_test(assembly_is_readable),
        cmocka_unit_test(names_cover_every_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
