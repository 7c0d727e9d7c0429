/* What the engine's decoder promises beyond agreement with Zydis: it reads no byte it was not
 * offered, and says of an instruction what only the engine asks. */
#include "count/engine/decode.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#define PC 0x7F0000001000u

static struct rle_insn insn;

static enum rle_status decode(const char *bytes, unsigned n)
{
    return rle_decode((const uint8_t *)bytes, n, PC, &insn);
}
#define DECODE(bytes) decode(bytes, sizeof(bytes) - 1)

/* Bytes at the end of a page that nothing follows: an access beyond kills the test. */
static uint8_t *last_bytes_of_a_page(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *map = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(map, MAP_FAILED);
    assert_int_equal(mprotect(map + page, page, PROT_NONE), 0);
    return map + page;
}

static void no_byte_beyond_the_offer_is_read(void **state)
{
    uint8_t *end = last_bytes_of_a_page();
    uint64_t seed = 0x243F6A8885A308D3;
    (void)state;
    for (unsigned i = 0; i < 300000; i++) {
        uint8_t code[16];
        for (unsigned k = 0; k < 2; k++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            memcpy(code + 8 * k, &seed, 8);
        }
        static const uint8_t starts[] = {0x62, 0xC4, 0xC5, 0x8F, 0x0F, 0x66, 0xF2, 0x48};
        if (i & 1)
            code[0] = starts[code[15] & 7];
        struct rle_insn whole;
        rle_decode(code, RLE_INSN_MAX, PC, &whole);
        for (unsigned n = 0; n <= RLE_INSN_MAX; n++) {
            memcpy(end - n, code, n);
            rle_decode(end - n, n, PC, &insn);
            assert_true(insn.length <= n);
            if (whole.length && n < whole.length)
                assert_int_equal(insn.status, RLE_TRUNCATED);
            if (whole.length && n >= whole.length)
                assert_memory_equal(&insn, &whole, sizeof(insn));
        }
    }
}

static void instructions_longer_than_15_bytes_do_not_exist(void **state)
{
    (void)state;
    /* mov eax,[rip+disp32] takes six bytes: nine prefixes fit, ten do not */
    uint8_t code[32];
    memset(code, 0x2E, sizeof(code));
    memcpy(code + 9, "\x8B\x05\x01\x02\x03\x04", 6);
    assert_int_equal(rle_decode(code, sizeof(code), PC, &insn), RLE_OK);
    assert_int_equal(insn.length, 15);
    memset(code, 0x2E, sizeof(code));
    memcpy(code + 10, "\x8B\x05\x01\x02\x03\x04", 6);
    assert_int_equal(rle_decode(code, sizeof(code), PC, &insn), RLE_TOO_LONG);
    assert_int_equal(insn.length, 0);
    memset(code, 0x66, sizeof(code)); /* nothing but prefixes */
    assert_int_equal(rle_decode(code, sizeof(code), PC, &insn), RLE_TOO_LONG);
}

static void what_is_not_understood_says_so(void **state)
{
    (void)state;
    assert_int_equal(DECODE("\xD5\x10\x01\xC0"), RLE_UNSUPPORTED);         /* REX2 */
    assert_int_equal(DECODE("\x62\xF4\x7C\x08\x01\xC0"), RLE_UNSUPPORTED); /* EVEX map 4 */
    assert_int_equal(DECODE("\x62\xF1\x78\x08\x58\xC0"), RLE_UNSUPPORTED); /* MVEX */
    assert_int_equal(insn.length, 0);
    assert_int_equal(insn.reg_read, 0xFFFF);
    assert_int_equal(insn.reg_kill | insn.flag_kill, 0);
    assert_int_equal(DECODE("\x06"), RLE_INVALID);                 /* push es */
    assert_int_equal(DECODE("\xF0\x01\xC8"), RLE_INVALID);         /* lock add eax,ecx */
    assert_int_equal(DECODE("\x66\xC5\xF8\x58\xC1"), RLE_INVALID); /* 66 before VEX */
    assert_int_equal(DECODE("\x0F\x01\xD1"), RLE_OPAQUE);          /* xsetbv */
    assert_int_equal(insn.length, 3);
    assert_int_equal(insn.reg_read, 0xFFFF);
}

static void near_branches_with_66_are_left_alone(void **state)
{
    (void)state;
    assert_int_equal(DECODE("\x66\xE9\x01\x02\x03\x04"), RLE_UNSUPPORTED);
    assert_int_equal(DECODE("\x66\xC3"), RLE_UNSUPPORTED);
    /* REX.W overrides it: the call of thread-local storage */
    assert_int_equal(DECODE("\x66\x48\xE8\x01\x02\x03\x04"), RLE_OK);
    assert_int_equal(insn.target, PC + 7 + 0x04030201);
    assert_int_equal(DECODE("\xF2\xE9\x01\x02\x03\x04"), RLE_OK); /* bnd */
}

static void rip_relative_operands_with_67_are_left_alone(void **state)
{
    (void)state;
    assert_int_equal(DECODE("\x67\x8B\x05\x01\x02\x03\x04"), RLE_UNSUPPORTED);
    assert_int_equal(DECODE("\x8B\x05\x01\x02\x03\xF4"), RLE_OK);
    assert_int_equal(insn.mem[0].base, RLE_REG_RIP);
    assert_int_equal(insn.mem[0].disp, (int64_t)PC + 6 + (int32_t)0xF4030201);
    assert_int_equal(insn.rip_at, 2);
}

static void indirect_branches_name_register_or_memory(void **state)
{
    (void)state;
    assert_int_equal(DECODE("\x41\xFF\xD3"), RLE_OK); /* call r11 */
    assert_int_equal(insn.kind, RLE_CALL_IND);
    assert_int_equal(insn.branch_reg, RLE_R11);
    assert_int_equal(insn.n_mem, 1);
    assert_int_equal(DECODE("\xFF\x25\x10\x00\x00\x00"), RLE_OK); /* jmp [rip+16] */
    assert_int_equal(insn.kind, RLE_JMP_IND);
    assert_int_equal(insn.branch_reg, RLE_REG_NONE);
    assert_int_equal(insn.mem[0].disp, PC + 22);
    assert_int_equal(DECODE("\xFF\x54\x24\x08"), RLE_OK); /* call [rsp+8]: read before the push */
    assert_int_equal(insn.n_mem, 2);
    assert_int_equal(insn.mem[0].disp, 8);
    assert_int_equal(insn.mem[1].disp, -8);
    assert_int_equal(insn.mem[1].access, RLE_WRITE);
}

static void stack_operands_are_relative_to_the_old_rsp(void **state)
{
    (void)state;
    assert_int_equal(DECODE("\x8F\x44\x24\x08"), RLE_OK); /* pop [rsp+8] */
    assert_int_equal(insn.mem[0].disp, 16);
    assert_int_equal(insn.mem[1].disp, 0);
    assert_int_equal(DECODE("\xFF\x74\x24\x08"), RLE_OK); /* push [rsp+8] */
    assert_int_equal(insn.mem[0].disp, 8);
    assert_int_equal(insn.mem[1].disp, -8);
    assert_int_equal(DECODE("\xC8\x10\x00\x00"), RLE_OK);     /* enter 16,0 */
    assert_int_equal(DECODE("\xC8\x10\x00\x01"), RLE_OPAQUE); /* nested: copies frame pointers */
    assert_int_equal(DECODE("\xC2\x08\x00"), RLE_OK);
    assert_int_equal(insn.imm, 8);
}

static void hints_access_no_memory(void **state)
{
    (void)state;
    assert_int_equal(DECODE("\x0F\x1F\x84\x00\x78\x56\x34\x12"), RLE_OK); /* nop */
    assert_int_equal(insn.n_mem, 0);
    assert_true(insn.attrs & RLE_A_AGEN);
    assert_int_equal(insn.reg_read, 0);
    assert_int_equal(DECODE("\x0F\x18\x08"), RLE_OK); /* prefetcht0 [rax] */
    assert_int_equal(insn.n_mem, 0);
    assert_true(insn.attrs & RLE_A_PREFETCH);
    assert_int_equal(DECODE("\x0F\xAE\x38"), RLE_OK); /* clflush [rax] */
    assert_int_equal(insn.n_mem, 0);
    assert_int_equal(insn.reg_read, 1 << RLE_RAX);
    assert_int_equal(DECODE("\xF3\x0F\x1E\xFA"), RLE_OK); /* endbr64 */
    assert_int_equal(insn.reg_read | insn.reg_write | insn.n_mem, 0);
}

static void strings_say_how_they_repeat(void **state)
{
    (void)state;
    assert_int_equal(DECODE("\xF3\x48\xA5"), RLE_OK); /* rep movsq */
    assert_true(insn.attrs & RLE_A_REP);
    assert_false(insn.attrs & RLE_A_SCAN);
    assert_int_equal(insn.n_mem, 2);
    assert_int_equal(insn.mem[0].base, RLE_RSI);
    assert_int_equal(insn.mem[0].access, RLE_READ);
    assert_int_equal(insn.mem[1].base, RLE_RDI);
    assert_int_equal(insn.mem[1].access, RLE_WRITE);
    assert_int_equal(insn.mem[1].size, 8);
    assert_int_equal(insn.mem[1].form, RLE_MEM_STRING);
    assert_int_equal(insn.flag_read, RLE_DF);
    assert_int_equal(DECODE("\xF2\xAE"), RLE_OK); /* repne scasb */
    assert_true(insn.attrs & RLE_A_SCAN);
    assert_int_equal(insn.flag_kill, 0);
}

static void gathers_and_scatters_say_their_shape(void **state)
{
    (void)state;
    /* vgatherqpd zmm1{k2}, [rax+zmm3*8+0x10]: disp8 counts elements */
    assert_int_equal(DECODE("\x62\xF2\xFD\x4A\x93\x4C\xD8\x02"), RLE_OK);
    assert_int_equal(insn.mem[0].form, RLE_MEM_GATHER);
    assert_int_equal(insn.mem[0].count, 8);
    assert_int_equal(insn.mem[0].elem, 8);
    assert_int_equal(insn.mem[0].index_size, 8);
    assert_int_equal(insn.mem[0].index, 3);
    assert_int_equal(insn.mem[0].mask, 2);
    assert_int_equal(insn.mem[0].size, 64);
    assert_int_equal(insn.mem[0].disp, 16);
    assert_true(insn.attrs & RLE_A_OPMASK);
    /* vgatherdpd ymm1, [rax+xmm3*8], ymm4: four elements by 32-bit indices */
    assert_int_equal(DECODE("\xC4\xE2\xDD\x92\x0C\xD8"), RLE_OK);
    assert_int_equal(insn.mem[0].count, 4);
    assert_int_equal(insn.mem[0].index_size, 4);
    assert_int_equal(insn.mem[0].mask, 4);
    assert_false(insn.attrs & RLE_A_OPMASK);
    /* vpgatherqd xmm1, [rax+xmm3*8], xmm4: two elements of four bytes */
    assert_int_equal(DECODE("\xC4\xE2\x59\x91\x0C\xD8"), RLE_OK);
    assert_int_equal(insn.mem[0].count, 2);
    assert_int_equal(insn.mem[0].size, 8);
    /* vpscatterdd [rax+zmm3*4]{k1}, zmm2 */
    assert_int_equal(DECODE("\x62\xF2\x7D\x49\xA0\x14\x98"), RLE_OK);
    assert_int_equal(insn.mem[0].access, RLE_WRITE);
    assert_int_equal(insn.mem[0].count, 16);
}

static void masks_and_broadcasts_say_what_they_touch(void **state)
{
    (void)state;
    /* vaddpd zmm1{k1}, zmm2, [rax+0x40] */
    assert_int_equal(DECODE("\x62\xF1\xED\x49\x58\x48\x01"), RLE_OK);
    assert_int_equal(insn.mem[0].size, 64);
    assert_int_equal(insn.mem[0].disp, 64);
    assert_int_equal(insn.mem[0].mask, 1);
    assert_int_equal(insn.mem[0].elem, 8);
    /* vaddpd zmm1, zmm2, [rax+8]{1to8} */
    assert_int_equal(DECODE("\x62\xF1\xED\x58\x58\x48\x01"), RLE_OK);
    assert_int_equal(insn.mem[0].size, 8);
    assert_int_equal(insn.mem[0].disp, 8);
    /* vcompressps [rax+4]{k3}, zmm1 */
    assert_int_equal(DECODE("\x62\xF2\x7D\x4B\x8A\x48\x01"), RLE_OK);
    assert_int_equal(insn.mem[0].form, RLE_MEM_PACKED);
    assert_int_equal(insn.mem[0].elem, 4);
    assert_int_equal(insn.mem[0].disp, 4);
    assert_int_equal(insn.mem[0].access, RLE_WRITE);
    /* vmaskmovpd [rax], ymm2, ymm1 */
    assert_int_equal(DECODE("\xC4\xE2\x6D\x2F\x08"), RLE_OK);
    assert_int_equal(insn.mem[0].form, RLE_MEM_VMASK);
    assert_int_equal(insn.mem[0].mask, 2);
    assert_int_equal(insn.mem[0].elem, 8);
    /* maskmovdqu xmm1, xmm2 */
    assert_int_equal(DECODE("\x66\x0F\xF7\xCA"), RLE_OK);
    assert_int_equal(insn.mem[0].base, RLE_RDI);
    assert_int_equal(insn.mem[0].mask, 2);
    assert_int_equal(insn.mem[0].elem, 1);
    assert_true(insn.attrs & RLE_A_NT);
}

static void odd_operands_are_marked(void **state)
{
    (void)state;
    assert_int_equal(DECODE("\x48\x0F\xAB\x08"), RLE_OK); /* bts [rax],rcx */
    assert_int_equal(insn.mem[0].form, RLE_MEM_BIT);
    assert_int_equal(insn.mem[0].mask, RLE_RCX);
    assert_int_equal(DECODE("\x48\x0F\xBA\x28\x05"), RLE_OK); /* bts [rax],5 */
    assert_int_equal(insn.mem[0].form, RLE_MEM_PLAIN);
    assert_int_equal(DECODE("\xD7"), RLE_OK); /* xlat */
    assert_int_equal(insn.mem[0].form, RLE_MEM_XLAT);
    assert_int_equal(DECODE("\x0F\xAE\x20"), RLE_OK); /* xsave [rax] */
    assert_int_equal(insn.mem[0].form, RLE_MEM_XSAVE);
    assert_int_equal(insn.mem[0].size, 0);
    assert_true(insn.attrs & RLE_A_XSTATE);
    assert_int_equal(DECODE("\x0F\x01\xFC"), RLE_OK); /* clzero */
    assert_int_equal(insn.mem[0].form, RLE_MEM_LINE);
    assert_int_equal(DECODE("\xC4\xE2\x7B\x4B\x04\x08"), RLE_OK); /* tileloadd tmm0,[rax+rcx] */
    assert_int_equal(insn.mem[0].form, RLE_MEM_TILE);
    assert_int_equal(DECODE("\xA1\x01\x02\x03\x04\x05\x06\x07\x08"), RLE_OK);
    assert_int_equal(insn.mem[0].disp, 0x0807060504030201);
    assert_int_equal(insn.mem[0].base, RLE_REG_NONE);
    assert_int_equal(DECODE("\x66\x0F\xE7\x08"), RLE_OK); /* movntdq */
    assert_true(insn.attrs & RLE_A_NT);
    assert_int_equal(DECODE("\xF0\x48\x0F\xC7\x08"), RLE_OK); /* lock cmpxchg16b [rax] */
    assert_true(insn.attrs & RLE_A_LOCK);
    assert_int_equal(insn.mem[0].size, 16);
    assert_int_equal(DECODE("\xF3\x0F\xAE\xC8"), RLE_OK); /* rdgsbase eax */
    assert_true(insn.attrs & RLE_A_GS);
    assert_int_equal(DECODE("\x8E\xE8"), RLE_OK); /* mov gs,eax */
    assert_true(insn.attrs & RLE_A_GS);
    assert_int_equal(DECODE("\x65\x48\x8B\x04\x25\x08\x00\x00\x00"), RLE_OK); /* mov rax,gs:[8] */
    assert_int_equal(insn.mem[0].segment, RLE_SEG_GS);
}

static void instructions_younger_than_zydis_are_known(void **state)
{
    static const struct {
        const char *bytes;
        uint8_t length, size, access;
    } cases[] = {
        {"\xC4\xE2\x6F\x50\x08", 5, 32, RLE_READ},                /* vpdpbssd ymm1,ymm2,[rax] */
        {"\xC4\xE2\x6A\x51\x08", 5, 16, RLE_READ},                /* vpdpbsuds xmm1,xmm2,[rax] */
        {"\xC4\xE2\xED\xB4\x08", 5, 32, RLE_READ},                /* vpmadd52luq ymm1,ymm2,[rax] */
        {"\xC4\xE2\x7E\xB1\x08", 5, 2, RLE_READ},                 /* vbcstnebf162ps ymm1,[rax] */
        {"\xC4\xE2\x7C\xB0\x08", 5, 32, RLE_READ},                /* vcvtneoph2ps ymm1,[rax] */
        {"\xC4\xE2\x7E\x72\x08", 5, 32, RLE_READ},                /* vcvtneps2bf16 xmm1,[rax] */
        {"\xC4\xE2\x69\xE6\x08", 5, 4, RLE_READ | RLE_WRITE},     /* cmpbexadd [rax],ecx,edx */
        {"\xC4\xE2\xE9\xEF\x08", 5, 8, RLE_READ | RLE_WRITE},     /* cmpnlexadd [rax],rcx,rdx */
        {"\x66\x48\x0F\x38\xFC\x08", 6, 8, RLE_READ | RLE_WRITE}, /* aand [rax],rcx */
        {"\xC4\xE2\x63\x5C\xCA", 5, 0, 0},                        /* tdpfp16ps tmm1,tmm2,tmm3 */
        {"\xC4\xE2\x6B\xDA\x08", 5, 16, RLE_READ},                /* vsm4rnds4 xmm1,xmm2,[rax] */
        {"\xC4\xE3\x69\xDE\x08\x07", 6, 16, RLE_READ},            /* vsm3rnds2 xmm1,xmm2,[rax],7 */
    };
    (void)state;
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(decode(cases[i].bytes, cases[i].length), RLE_OK);
        assert_int_equal(insn.length, cases[i].length);
        assert_int_equal(insn.n_mem, cases[i].access != 0);
        assert_int_equal(insn.mem[0].size, cases[i].size);
        assert_int_equal(insn.mem[0].access, cases[i].access);
    }
    DECODE("\xC4\xE2\x69\xE6\x08"); /* cmpbexadd [rax],ecx,edx */
    assert_int_equal(insn.reg_read, 1 << RLE_RAX | 1 << RLE_RCX | 1 << RLE_RDX);
    assert_int_equal(insn.reg_write, 1 << RLE_RCX);
    assert_int_equal(insn.flag_kill, RLE_ARITH_FLAGS);
}

static void state_that_an_instruction_touches_is_named(void **state)
{
    (void)state;
    assert_int_equal(DECODE("\xD9\xE8"), RLE_OK); /* fld1 */
    assert_true(insn.attrs & RLE_A_X87);
    assert_int_equal(DECODE("\x0F\xEF\xC1"), RLE_OK); /* pxor mm0,mm1 */
    assert_true(insn.attrs & RLE_A_X87);
    assert_int_equal(DECODE("\xC5\xF8\x77"), RLE_OK); /* vzeroupper */
    assert_true(insn.attrs & RLE_A_VEC);
    assert_int_equal(DECODE("\xC5\xF8\x92\xC8"), RLE_OK); /* kmovw k1,eax */
    assert_true(insn.attrs & RLE_A_OPMASK);
    assert_int_equal(DECODE("\x89\xC8"), RLE_OK);
    assert_int_equal(insn.attrs, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_byte_beyond_the_offer_is_read),
        cmocka_unit_test(instructions_longer_than_15_bytes_do_not_exist),
        cmocka_unit_test(what_is_not_understood_says_so),
        cmocka_unit_test(near_branches_with_66_are_left_alone),
        cmocka_unit_test(rip_relative_operands_with_67_are_left_alone),
        cmocka_unit_test(indirect_branches_name_register_or_memory),
        cmocka_unit_test(stack_operands_are_relative_to_the_old_rsp),
        cmocka_unit_test(hints_access_no_memory),
        cmocka_unit_test(strings_say_how_they_repeat),
        cmocka_unit_test(gathers_and_scatters_say_their_shape),
        cmocka_unit_test(masks_and_broadcasts_say_what_they_touch),
        cmocka_unit_test(odd_operands_are_marked),
        cmocka_unit_test(instructions_younger_than_zydis_are_known),
        cmocka_unit_test(state_that_an_instruction_touches_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
