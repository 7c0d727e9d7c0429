/* Random instruction sequences, run from random register states: prints a digest of all registers,
 * flags, vectors and memory after each group. Natively and translated it must be the same.
 *
 *   random_code SEED SEQUENCES */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "expect.h"

enum { CODE_BYTES = 1 << 16, DATA_BYTES = 4096, LENGTH = 40, GROUP = 200, RUNS = 3 };

static uint64_t state;

static uint32_t random32(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 16);
}

static unsigned below(unsigned n)
{
    return random32() % n;
}

/* r15 points into data, rsp is the stack, r14 is the loop counter of the frame around. */
static unsigned any_register(void)
{
    unsigned r = below(14);
    return r == 4 ? 0 : r;
}

static unsigned char *code, *at;

static void put(const char *bytes, unsigned n)
{
    memcpy(at, bytes, n);
    at += n;
}

static void byte(unsigned b)
{
    *at++ = (unsigned char)b;
}

static void word32(uint32_t w)
{
    memcpy(at, &w, 4);
    at += 4;
}

/* opcode with ModRM: register form, or [r15 + disp8]. */
static void modrm(unsigned prefix, int wide, const char *opcode, unsigned n, int memory)
{
    unsigned reg = any_register(), rm = memory ? 15 : any_register();
    if (prefix)
        byte(prefix);
    byte(0x40 | (wide ? 8 : 0) | (reg >> 3 << 2) | rm >> 3);
    put(opcode, n);
    if (memory) {
        byte(0x40 | (reg & 7) << 3 | 7);
        byte(below(14) * 8);
    } else {
        byte(0xC0 | (reg & 7) << 3 | (rm & 7));
    }
}

static void group(unsigned opcode, unsigned extension, int wide)
{
    unsigned rm = any_register();
    byte(0x40 | (wide ? 8 : 0) | rm >> 3);
    byte(opcode);
    byte(0xC0 | extension << 3 | (rm & 7));
}

/* The forms of integer instructions; integer_operation draws one of them. */

static const unsigned char alu[] = {0x01, 0x03, 0x09, 0x0B, 0x11, 0x13, 0x19, 0x1B, 0x21, 0x23,
                                    0x29, 0x2B, 0x31, 0x33, 0x39, 0x3B, 0x85, 0x87, 0x89, 0x8B};

static void two_operands(void)
{
    char opcode[] = {(char)alu[below(sizeof(alu))]};
    modrm(below(6) ? 0 : 0x66, (int)below(2), opcode, 1, (int)below(2));
}

static void byte_operands(void)
{
    char opcode[] = {(char)(alu[below(16)] & 0xFE)};
    modrm(0, 0, opcode, 1, (int)below(2));
}

static void by_condition(void) /* cmov, setcc */
{
    char opcode[] = {0x0F, (char)((below(2) ? 0x40 : 0x90) | below(16))};
    modrm(0, 1, opcode, 2, (int)below(2));
}

static void shift(void) /* by a constant, by cl */
{
    if (below(2)) {
        group(0xC1, below(8), (int)below(2));
        byte(random32());
    } else {
        group(0xD3, below(8), (int)below(2));
    }
}

static void with_constant(void)
{
    if (below(2)) {
        group(0x83, below(8), 1);
        byte(random32());
    } else {
        group(0x81, below(8), 1);
        word32(random32());
    }
}

static void one_operand(void) /* test, not, neg, mul, imul */
{
    group(0xF7, 2 + below(4), (int)below(2));
}

static void by_one(void) /* inc, dec */
{
    group(0xFF, below(2), (int)below(2));
}

static void two_byte_opcode(void) /* imul, movzx, movsx, bsf, bsr, bt…, xadd, cmpxchg */
{
    static const unsigned char second[] = {0xAF, 0xB6, 0xB7, 0xBE, 0xBF, 0xBC, 0xBD,
                                           0xA3, 0xAB, 0xB3, 0xBB, 0xC1, 0xB1};
    char opcode[] = {0x0F, (char)second[below(sizeof(second))]};
    int memory = (unsigned char)opcode[1] == 0xAF || (unsigned char)opcode[1] >= 0xC0;
    modrm(0, 1, opcode, 2, memory && (int)below(2));
}

static void address(void) /* lea with an index */
{
    unsigned reg = any_register(), base = any_register(), index = any_register();
    byte(0x48 | reg >> 3 << 2 | index >> 3 << 1 | base >> 3);
    byte(0x8D);
    byte(0x44 | (reg & 7) << 3);
    byte(below(4) << 6 | (index & 7) << 3 | (base & 7));
    byte(random32());
}

static void stack(void)
{
    unsigned a = any_register(), b = any_register();
    if (a >= 8)
        byte(0x41);
    byte(0x50 | (a & 7));
    byte(0x9C);
    put("\x81\x24\x24\xd5\x08\x00\x00", 7); /* and dword [rsp], arithmetic flags */
    put("\x9D", 1);
    if (b >= 8)
        byte(0x41);
    byte(0x58 | (b & 7));
}

static void flags_only(void)
{
    static const unsigned char one[] = {0xF8, 0xF9, 0xF5, 0x9F, 0x9E, 0x98, 0x99};
    byte(one[below(sizeof(one))]);
}

static void rip_relative_load(void)
{
    unsigned reg = any_register();
    byte(0x48 | reg >> 3 << 2);
    byte(0x8B);
    byte(0x05 | (reg & 7) << 3);
    word32((uint32_t)(code - (at + 4)));
}

static void one_register(void) /* bswap, mov with a constant */
{
    unsigned r = any_register();
    byte(0x48 | r >> 3);
    if (below(2)) {
        byte(0x0F);
        byte(0xC8 | (r & 7));
    } else {
        byte(0xC7);
        byte(0xC0 | (r & 7));
        word32(random32());
    }
}

static void integer_operation(void)
{
    static void (*const forms[16])(void) = {
        two_operands, two_operands,  two_operands,      two_operands, byte_operands,   by_condition,
        shift,        with_constant, one_operand,       by_one,       two_byte_opcode, address,
        stack,        flags_only,    rip_relative_load, one_register,
    };
    forms[below(16)]();
}

/* SSE on xmm0..15: integer, so that NaN payloads do not matter. */
static void vector_operation(void)
{
    static const unsigned char integer[] = {0xFC, 0xFD, 0xFE, 0xD4, 0xF8, 0xF9, 0xFA, 0xFB, 0xDB,
                                            0xEB, 0xEF, 0xDF, 0xD5, 0xE5, 0xF4, 0x74, 0x75, 0x76,
                                            0x64, 0x65, 0x66, 0x60, 0x61, 0x62, 0x6F, 0x7F};
    unsigned reg = below(16), rm = below(16), opcode = integer[below(sizeof(integer))];
    int memory = below(3) == 0;
    byte(0x66);
    byte(0x40 | reg >> 3 << 2 | (memory ? 1 : rm >> 3));
    byte(0x0F);
    byte(opcode);
    if (memory) {
        byte(0x40 | (reg & 7) << 3 | 7);
        byte(below(7) * 16);
    } else {
        byte(0xC0 | (reg & 7) << 3 | (rm & 7));
    }
}

static void operation(void)
{
    if (below(5) == 0)
        vector_operation();
    else
        integer_operation();
}

/* A forward branch over a few operations; a call of a tiny function; a short loop. */
static void control(void)
{
    unsigned char *fix;
    switch (below(5)) {
    case 0:
    case 1:
        byte(0x70 | below(16));
        byte(0);
        fix = at;
        for (unsigned n = below(4); n > 0; n--)
            operation();
        fix[-1] = (unsigned char)(at - fix);
        break;
    case 2: /* call over a jump: call f; jmp behind; f: …; ret */
        byte(0xE8);
        word32(2);
        byte(0xEB);
        byte(0);
        fix = at;
        for (unsigned n = below(3); n > 0; n--)
            operation();
        byte(0xC3);
        fix[-1] = (unsigned char)(at - fix);
        break;
    case 3: /* indirect jump to what follows, through the stack and through a register */
        if (below(2)) {
            put("\x48\x8D\x05\x02\x00\x00\x00\xFF\xE0", 9); /* lea rax,[rip+2]; jmp rax */
        } else {
            put("\x48\x8D\x05\x02\x00\x00\x00\x50\xC3", 9); /* lea rax,[rip+2]; push rax; ret */
        }
        break;
    default: /* mov ecx, n; l: …; loop l */
        byte(0xB9);
        word32(1 + below(5));
        fix = at;
        vector_operation();
        if (below(2)) {
            put("\xFF\xC9", 2); /* dec ecx; jnz */
            byte(0x75);
        } else {
            byte(0xE2);
        }
        byte(0);
        at[-1] = (unsigned char)(fix - at);
        break;
    }
}

struct machine {
    uint64_t reg[16]; /* rax rcx rdx rbx - rbp rsi rdi r8..r13 - flags */
    unsigned char vector[16][16];
};

/* Load everything from rdi, run the sequence, store everything. */
static void frame(void)
{
    put("\x53\x55\x41\x54\x41\x55\x41\x56\x41\x57", 10); /* push rbx rbp r12-r15 */
    put("\x49\x89\xF7", 3);                              /* mov r15, rsi */
    put("\x57", 1);                                      /* push rdi */
    for (unsigned x = 0; x < 16; x++) {                  /* movdqu xmm, [rdi+disp32] */
        byte(0xF3);
        byte(0x40 | x >> 3 << 2);
        put("\x0F\x6F", 2);
        byte(0x87 | (x & 7) << 3);
        word32(128 + 16 * x);
    }
    for (unsigned r = 0; r < 14; r++) {
        if (r == 4 || r == 7)
            continue;
        byte(0x48 | r >> 3 << 2);
        byte(0x8B);
        byte(0x47 | (r & 7) << 3);
        byte(8 * r);
    }
    put("\xFF\x77\x78\x9D", 4); /* push [rdi+120]; popf */
    put("\x48\x8B\x7F\x38", 4); /* mov rdi, [rdi+56] */
    for (unsigned i = 0; i < LENGTH; i++) {
        if (below(4))
            operation();
        else
            control();
    }
    put("\x48\x87\x3C\x24", 4); /* xchg rdi, [rsp] */
    put("\x9C\x8F\x47\x78", 4); /* pushf; pop [rdi+120] */
    for (unsigned r = 0; r < 14; r++) {
        if (r == 4 || r == 7)
            continue;
        byte(0x48 | r >> 3 << 2);
        byte(0x89);
        byte(0x47 | (r & 7) << 3);
        byte(8 * r);
    }
    put("\x58\x48\x89\x47\x38", 5); /* pop rax; mov [rdi+56], rax */
    for (unsigned x = 0; x < 16; x++) {
        byte(0xF3);
        byte(0x40 | x >> 3 << 2);
        put("\x0F\x7F", 2);
        byte(0x87 | (x & 7) << 3);
        word32(128 + 16 * x);
    }
    put("\x41\x5F\x41\x5E\x41\x5D\x41\x5C\x5D\x5B\xC3", 11);
}

static uint64_t digest(uint64_t hash, const void *bytes, size_t n)
{
    for (const unsigned char *p = bytes; n-- > 0; p++)
        hash = (hash ^ *p) * 0x100000001B3;
    return hash;
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
    unsigned sequences = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 0) : 1000;
    enum { ARITHMETIC = 0xCD5 & ~0x400 };
    static struct machine m;
    static _Alignas(64) unsigned char data[DATA_BYTES];
    uint64_t hash = 0xCBF29CE484222325;
    state = seed * 0x9E3779B97F4A7C15 + 1;
    code = mmap((void *)0x500000000, CODE_BYTES, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    for (unsigned s = 0; s < sequences; s++) {
        mprotect(code, CODE_BYTES, PROT_READ | PROT_WRITE);
        at = code;
        word32(random32()); /* what rip-relative loads read */
        word32(random32());
        unsigned char *entry = at;
        frame();
        mprotect(code, CODE_BYTES, PROT_READ | PROT_EXEC);
        for (size_t i = 0; i < sizeof(m); i++)
            ((unsigned char *)&m)[i] = (unsigned char)random32();
        for (size_t i = 0; i < 256; i++)
            data[i] = (unsigned char)random32();
        m.reg[15] = 0x202 | (random32() & 0x8D5);
        void (*run)(struct machine *, void *);
        memcpy(&run, &entry, sizeof(run));
        for (int r = 0; r < RUNS; r++) {
            run(&m, data + 64);
            m.reg[15] = 0x202 | (m.reg[15] & 0x8D5);
            hash = digest(hash, &m, sizeof(m));
            hash = digest(hash, data, 512);
        }
        if (s % GROUP == GROUP - 1)
            printf("%u %016llx\n", s + 1, (unsigned long long)hash);
    }
    printf("seed %llu: %016llx\n", (unsigned long long)seed, (unsigned long long)hash);
    return 0;
}
