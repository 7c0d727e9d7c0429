/* The opcode tables are complete: whatever floating-point instruction the decoding library knows,
 * there is a row for it. A silent zero would be the worst failure of a FLOP counter. */
#include "decode/rule_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { IS_REACHED = 1, IS_FLOAT = 2, HAS_VECTOR = 4 };

/* Of each mnemonic, a few instructions with a memory operand, one behind the other: by vector
 * width, operand width and broadcast. */
#define MOST_SAMPLES 8192
#define FORMS        64

struct sweep {
    ZydisDecoder decoder;
    uint8_t seen[ZYDIS_MNEMONIC_MAX_VALUE + 1];
    bool sampled[ZYDIS_MNEMONIC_MAX_VALUE + 1][FORMS];
    uint8_t samples[15 * MOST_SAMPLES];
    size_t n_bytes, n_samples;
};

/* By what it touches, what it may raise, or what family it belongs to. Each clue alone has gaps:
 * the library types the operands of roundsd as integers, and gives 3DNow! no exception class. */
static bool looks_like_float(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *ops)
{
    switch (insn->meta.category) {
    case ZYDIS_CATEGORY_AVX512_4FMAPS:
    case ZYDIS_CATEGORY_FCMOV:
    case ZYDIS_CATEGORY_FMA4:
    case ZYDIS_CATEGORY_FP16:
    case ZYDIS_CATEGORY_LOGICAL_FP:
    case ZYDIS_CATEGORY_VFMA:
    case ZYDIS_CATEGORY_X87_ALU:
        return true;
    case ZYDIS_CATEGORY_STRINGOP:
        return false;
    default:
        break;
    }
    switch (insn->meta.exception_class) { /* those that can raise SIMD floating-point exceptions */
    case ZYDIS_EXCEPTION_CLASS_SSE2:
    case ZYDIS_EXCEPTION_CLASS_SSE3:
    case ZYDIS_EXCEPTION_CLASS_AVX2:
    case ZYDIS_EXCEPTION_CLASS_AVX3:
    case ZYDIS_EXCEPTION_CLASS_E2:
    case ZYDIS_EXCEPTION_CLASS_E3:
    case ZYDIS_EXCEPTION_CLASS_E3NF:
        return true;
    default:
        break;
    }
    for (unsigned i = 0; i < insn->operand_count; i++)
        if (ops[i].element_type >= ZYDIS_ELEMENT_TYPE_FLOAT16 &&
            ops[i].element_type <= ZYDIS_ELEMENT_TYPE_FLOAT80)
            return true;
    return false;
}

static bool touches_vectors(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *ops)
{
    for (unsigned i = 0; i < insn->operand_count; i++) {
        if (ops[i].type != ZYDIS_OPERAND_TYPE_REGISTER)
            continue;
        ZydisRegisterClass class = ZydisRegisterGetClass(ops[i].reg.value);
        if (class >= ZYDIS_REGCLASS_MMX && class <= ZYDIS_REGCLASS_ZMM)
            return true;
    }
    return false;
}

static void keep_sample(struct sweep *sweep, const uint8_t *code,
                        const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *ops)
{
    bool has_memory = false;
    for (unsigned i = 0; i < insn->operand_count_visible; i++)
        has_memory |= ops[i].type == ZYDIS_OPERAND_TYPE_MEMORY;
    unsigned form = insn->avx.vector_length / 128 * 8 + (insn->avx.broadcast.mode ? 4 : 0) +
                    (insn->operand_width == 64 ? 2 : 0) + (insn->operand_width == 16 ? 1 : 0);
    bool *sampled = &sweep->sampled[insn->mnemonic][form % FORMS];
    if (!has_memory || *sampled || sweep->n_samples == MOST_SAMPLES)
        return;
    *sampled = true;
    memcpy(sweep->samples + sweep->n_bytes, code, insn->length);
    sweep->n_bytes += insn->length;
    sweep->n_samples++;
}

static void look(struct sweep *sweep, const uint8_t *code, size_t size)
{
    ZydisDecodedInstruction insn;
    ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&sweep->decoder, code, size, &insn, ops)))
        return;
    uint8_t *seen = &sweep->seen[insn.mnemonic];
    *seen |= IS_REACHED;
    if (looks_like_float(&insn, ops))
        *seen |= IS_FLOAT;
    if (touches_vectors(&insn, ops))
        *seen |= HAS_VECTOR;
    keep_sample(sweep, code, &insn, ops);
}

/* ModRM with a register operand, or with [rax + 4*xmm5 or rbp]: valid as gather address too. */
static void look_with_operands(struct sweep *sweep, uint8_t *code, size_t at)
{
    for (unsigned reg = 0; reg < 8; reg++) {
        code[at] = (uint8_t)(reg << 3 | 4);
        code[at + 1] = 0xa8;
        look(sweep, code, 15);
        for (unsigned rm = 0; rm < 8; rm++) {
            code[at] = (uint8_t)(0xc0 | reg << 3 | rm);
            code[at + 1] = 0;
            look(sweep, code, 15);
        }
    }
}

static void sweep_legacy(struct sweep *sweep)
{
    static const uint8_t prefixes[] = {0, 0x66, 0xf2, 0xf3};
    for (unsigned i = 0; i < 4 * 4 * 2 * 256; i++) {
        unsigned map = i & 3, prefix = i >> 2 & 3, wide = i >> 4 & 1, opcode = i >> 5;
        uint8_t code[17] = {0};
        size_t n = 0;
        if (prefix)
            code[n++] = prefixes[prefix];
        if (wide)
            code[n++] = 0x48;
        if (map)
            code[n++] = 0x0f;
        if (map > 1)
            code[n++] = map == 2 ? 0x38 : 0x3a;
        code[n++] = (uint8_t)opcode;
        look_with_operands(sweep, code, n);
    }
    for (unsigned suffix = 0; suffix < 256; suffix++) { /* 3DNow! */
        uint8_t code[15] = {0x0f, 0x0f, 0xc1, (uint8_t)suffix};
        look(sweep, code, sizeof code);
    }
}

static void sweep_vex_and_xop(struct sweep *sweep)
{
    for (unsigned i = 0; i < 8 * 4 * 2 * 2 * 2 * 256; i++) {
        unsigned map = i & 7, pp = i >> 3 & 3, w = i >> 5 & 1, l = i >> 6 & 1, v = i >> 7 & 1;
        uint8_t code[17] = {0};
        code[0] = map < 4 ? 0xc4 : 0x8f; /* maps 0-3 VEX, 8-11 XOP */
        code[1] = (uint8_t)(0xe0 | (map < 4 ? map : map + 4));
        code[2] = (uint8_t)(w << 7 | (v ? 0xc : 0xf) << 3 | l << 2 | pp);
        code[3] = (uint8_t)(i >> 8);
        look_with_operands(sweep, code, 4);
    }
}

static void sweep_evex(struct sweep *sweep)
{
    for (unsigned i = 0; i < 8 * 4 * 2 * 4 * 4 * 2 * 256; i++) {
        unsigned map = i & 7, pp = i >> 3 & 3, w = i >> 5 & 1, ll = i >> 6 & 3;
        unsigned masked = i >> 8 & 1, v = i >> 10 & 1;
        if (ll == 3 || i >> 9 & 1)
            continue;
        uint8_t code[17] = {0x62, (uint8_t)(0xf0 | map),
                            (uint8_t)(w << 7 | (v ? 0xc : 0xf) << 3 | 4 | pp),
                            (uint8_t)(ll << 5 | 8 | masked), (uint8_t)(i >> 11)};
        for (unsigned reg = 0; reg < 8; reg++) {
            code[5] = (uint8_t)(reg << 3 | 4);
            code[6] = 0xa8;
            look(sweep, code, 15);
            code[5] = (uint8_t)(0xc2 | reg << 3);
            code[6] = 0;
            look(sweep, code, 15);
        }
    }
}

static int sweep_all_opcodes(void **state)
{
    static struct sweep sweep;
    ZydisDecoderInit(&sweep.decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    sweep_legacy(&sweep);
    sweep_vex_and_xop(&sweep);
    sweep_evex(&sweep);
    *state = &sweep;
    return 0;
}

/* Mnemonics that no 64-bit code of a supported processor can contain: left out of the tables. */
static const char *const unreachable[] = {
    "aaa",
    "aad",
    "aam",
    "aas",
    "arpl",
    "bound",
    "daa",
    "das",
    "into",
    "jcxz",
    "kmov",
    "knot",
    "kortest",
    "lds",
    "les",
    "popa",
    "popad",
    "popfd",
    "pusha",
    "pushad",
    "pushfd",
    "salc",

    "vaddnpd",
    "vaddnps",
    "vaddsetsps",
    "vcvtfxpntdq2ps",
    "vcvtfxpntpd2dq",
    "vcvtfxpntpd2udq",
    "vcvtfxpntps2dq",
    "vcvtfxpntps2udq",
    "vcvtfxpntudq2ps",
    "vexp223ps",
    "vfixupnanpd",
    "vfixupnanps",
    "vfmadd233ps",
    "vgatherpf0hintdpd",
    "vgatherpf0hintdps",
    "vgmaxabsps",
    "vgmaxpd",
    "vgmaxps",
    "vgminpd",
    "vgminps",
    "vloadunpackhd",
    "vloadunpackhpd",
    "vloadunpackhps",
    "vloadunpackhq",
    "vloadunpackld",
    "vloadunpacklpd",
    "vloadunpacklps",
    "vloadunpacklq",
    "vlog2ps",
    "vmovnrapd",
    "vmovnraps",
    "vmovnrngoapd",
    "vmovnrngoaps",
    "vpackstorehd",
    "vpackstorehpd",
    "vpackstorehps",
    "vpackstorehq",
    "vpackstoreld",
    "vpackstorelpd",
    "vpackstorelps",
    "vpackstorelq",
    "vpadcd",
    "vpaddsetcd",
    "vpaddsetsd",
    "vpcmpltd",
    "vpermf32x4",
    "vpmadd231d",
    "vpmadd233d",
    "vpmulhd",
    "vpmulhud",
    "vpsbbd",
    "vpsbbrd",
    "vpsubrd",
    "vpsubrsetbd",
    "vpsubsetbd",
    "vrcp23ps",
    "vrndfxpntpd",
    "vrndfxpntps",
    "vrsqrt23ps",
    "vscaleps",
    "vscatterpf0hintdpd",
    "vscatterpf0hintdps",
    "vsubrpd",
    "vsubrps",
};

static bool is_listed_unreachable(const char *name)
{
    for (size_t i = 0; i < sizeof unreachable / sizeof unreachable[0]; i++)
        if (!strcmp(unreachable[i], name))
            return true;
    return false;
}

static void every_mnemonic_is_swept_or_named_as_out_of_reach(void **state)
{
    const struct sweep *sweep = *state;
    for (int m = 1; m <= ZYDIS_MNEMONIC_MAX_VALUE; m++) {
        const char *name = ZydisMnemonicGetString((ZydisMnemonic)m);
        bool reached = sweep->seen[m] & IS_REACHED;
        if (reached == is_listed_unreachable(name))
            fail_msg("%s: %s", name, reached ? "listed as unreachable but decodes" : "never seen");
    }
}

static void every_floating_point_mnemonic_has_a_row(void **state)
{
    const struct sweep *sweep = *state;
    unsigned n = 0, missing = 0;
    for (int m = 1; m <= ZYDIS_MNEMONIC_MAX_VALUE; m++) {
        if (!(sweep->seen[m] & IS_FLOAT))
            continue;
        n++;
        if (!rule_find((ZydisMnemonic)m)) {
            print_error("%s has no row\n", ZydisMnemonicGetString((ZydisMnemonic)m));
            missing++;
        }
    }
    assert_int_equal(missing, 0);
    assert_true(n > 600);
}

static void every_vector_mnemonic_has_a_row(void **state)
{
    const struct sweep *sweep = *state;
    unsigned missing = 0;
    for (int m = 1; m <= ZYDIS_MNEMONIC_MAX_VALUE; m++) {
        if (!(sweep->seen[m] & HAS_VECTOR) || rule_find((ZydisMnemonic)m))
            continue;
        const char *name = ZydisMnemonicGetString((ZydisMnemonic)m);
        if (strstr(name, "kl") || strstr(name, "encodekey") || strstr(name, "xsave") ||
            strstr(name, "xrstor") || strstr(name, "zero") || !strcmp(name, "loadiwkey"))
            continue; /* whole-state and key instructions: their category says enough */
        print_error("%s has no row\n", name);
        missing++;
    }
    assert_int_equal(missing, 0);
}

static void rows_are_only_of_instructions_that_exist(void **state)
{
    const struct sweep *sweep = *state;
    for (size_t t = 0; t < n_rule_tables; t++)
        for (size_t i = 0; i < rule_tables[t]->n; i++) {
            unsigned m = rule_tables[t]->rows[i].mnemonic;
            if (!(sweep->seen[m] & IS_REACHED))
                fail_msg("%s has a row but no encoding", ZydisMnemonicGetString(m));
        }
}

static void tables_are_sorted_and_disjoint(void **state)
{
    (void)state;
    static uint8_t rows_of[ZYDIS_MNEMONIC_MAX_VALUE + 1];
    for (size_t t = 0; t < n_rule_tables; t++)
        for (size_t i = 0; i < rule_tables[t]->n; i++) {
            const struct rule *row = &rule_tables[t]->rows[i];
            if (i && rule_tables[t]->rows[i - 1].mnemonic >= row->mnemonic)
                fail_msg("%s is out of order", ZydisMnemonicGetString(row->mnemonic));
            if (rows_of[row->mnemonic]++)
                fail_msg("%s has two rows", ZydisMnemonicGetString(row->mnemonic));
            assert_ptr_equal(rule_find(row->mnemonic), row);
        }
}

/* A mnemonic's suffix names its format: a second, independent source for most of the table. */
static void rows_agree_with_the_format_in_the_name(void **state)
{
    (void)state;
    static const struct {
        const char *suffix;
        uint8_t precision, lane_bits;
    } suffixes[] = {{"pd", RL_FP64, 64}, {"ps", RL_FP32, 32}, {"ph", RL_FP16, 16},
                    {"sd", RL_FP64, 0},  {"ss", RL_FP32, 0},  {"sh", RL_FP16, 0}};
    unsigned n = 0;
    for (size_t t = 0; t < n_rule_tables; t++)
        for (size_t i = 0; i < rule_tables[t]->n; i++) {
            const struct rule *row = &rule_tables[t]->rows[i];
            const char *name = ZydisMnemonicGetString(row->mnemonic);
            size_t length = strlen(name);
            if (!rl_insn_class_is_fp(row->class) || strstr(name, "cvt") || strstr(name, "bf16"))
                continue;
            for (size_t s = 0; s < sizeof suffixes / sizeof suffixes[0]; s++)
                if (!strcmp(name + length - 2, suffixes[s].suffix) && row->isa != RL_INSN_ISA_X87) {
                    if (row->op[0].precision != suffixes[s].precision ||
                        row->op[0].lane_bits != suffixes[s].lane_bits)
                        fail_msg("%s contradicts its suffix", name);
                    n++;
                }
        }
    assert_true(n > 300);
}

/* Bytes of one access, as the disassembler's operand says ("QWORD PTR", "DWORD BCST"); 0: none. */
static unsigned stated_size(const char *assembly)
{
    static const struct {
        const char *word;
        unsigned bytes;
    } sizes[] = {{"ZMMWORD", 64}, {"YMMWORD", 32}, {"XMMWORD", 16}, {"OWORD", 16}, {"TBYTE", 10},
                 {"QWORD", 8},    {"FWORD", 6},    {"DWORD", 4},    {"WORD", 2},   {"BYTE", 1}};
    if (!strstr(assembly, " PTR ") && !strstr(assembly, " BCST "))
        return 0;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        if (strstr(assembly, sizes[i].word))
            return sizes[i].bytes;
    return 0;
}

/* Hints and faults access nothing; far pointers are read by system code only, and binutils calls
 * them all six bytes long. */
static bool is_no_plain_access(const struct rl_insn *insn)
{
    return insn->class == RL_INSN_PREFETCH || insn->class == RL_INSN_NOP ||
           insn->class == RL_INSN_CALL || insn->class == RL_INSN_SYSTEM ||
           insn->class == RL_INSN_ADDRESS || insn->class == RL_INSN_BRANCH;
}

/* An independent source for the bytes that some 3000 forms of instructions move. */
static void memory_operands_have_the_size_that_binutils_shows(void **state)
{
    const struct sweep *sweep = *state;
    char path[] = "/tmp/rl_samples_XXXXXX", command[128], line[256];
    int fd = mkstemp(path);
    assert_int_equal(write(fd, sweep->samples, sweep->n_bytes), sweep->n_bytes);
    close(fd);
    snprintf(command, sizeof command,
             "objdump -D -b binary -m i386:x86-64 -M intel %s 2> /dev/null", path);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    unsigned compared = 0, wrong = 0;
    while (fgets(line, sizeof line, pipe)) {
        unsigned long at;
        char *text = strrchr(line, '\t');
        struct rl_insn insn;
        unsigned size = text ? stated_size(text) : 0;
        if (!size || sscanf(line, " %lx:", &at) != 1 || at >= sweep->n_bytes)
            continue;
        assert_true(rl_insn_decode(sweep->samples + at, sweep->n_bytes - at, &insn));
        if (is_no_plain_access(&insn))
            continue;
        unsigned bytes = insn.load_bytes > insn.store_bytes ? insn.load_bytes : insn.store_bytes;
        if (insn.flags & (RL_INSN_GATHER | RL_INSN_SCATTER))
            bytes /= insn.accesses;
        compared++;
        if (bytes != size) {
            print_error("%u bytes, not %u: %s", bytes, size, text);
            wrong++;
        }
    }
    pclose(pipe);
    unlink(path);
    if (!compared)
        skip();
    assert_int_equal(wrong, 0);
    assert_true(compared > 3000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_mnemonic_is_swept_or_named_as_out_of_reach),
        cmocka_unit_test(every_floating_point_mnemonic_has_a_row),
        cmocka_unit_test(every_vector_mnemonic_has_a_row),
        cmocka_unit_test(rows_are_only_of_instructions_that_exist),
        cmocka_unit_test(tables_are_sorted_and_disjoint),
        cmocka_unit_test(rows_agree_with_the_format_in_the_name),
        cmocka_unit_test(memory_operands_have_the_size_that_binutils_shows),
    };
    return cmocka_run_group_tests(tests, sweep_all_opcodes, NULL);
}
