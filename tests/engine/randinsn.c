/* Runs sequences of random instructions and prints a digest of all that they did to the machine:
 * general registers, flags, x87, vector and mask registers, memory, stack.
 *
 * Run natively and under the counting engine with the same arguments, it must print the same.
 *
 *     engine-randinsn [--seed N] [--sequences N] [--length N] [--each] [--show N] [--rwx]
 *
 * --each prints a digest a sequence, --show disassembles one instead of running it, --rwx keeps the
 * code writable while it runs (otherwise each batch is made executable and read-only before). */
#include "support/random_insns.h"

#include <Zydis/Zydis.h>
#include <cpuid.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { XSAVE_BYTES = 8192, GPRS = 16, RSP_REG = 4, FIRST_RSP = 0x8000, STACK_SEEN = 0x800 };
/* x87, SSE, AVX, masks and both halves of ZMM: other state is not touched by sequences. */
enum { STATES = 0xE7, STATUS_FLAGS = 0xCD5 };

struct machine {
    _Alignas(64) uint8_t xsave[XSAVE_BYTES];
    uint64_t gpr[GPRS];
    uint64_t flags;
};

/* Shared with the assembly below, which has no registers of its own. */
struct machine *randinsn_machine;
uint64_t randinsn_entry, randinsn_rsp, randinsn_rdi, randinsn_states;

/* Loads the machine, jumps to the sequence, stores the machine at its end. */
void randinsn_enter(void);
void randinsn_exit(void);
__asm__(".text\n"
        ".globl randinsn_enter, randinsn_exit\n"
        "randinsn_enter:\n"
        "  push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15\n"
        "  mov %rsp, randinsn_rsp(%rip)\n"
        "  mov randinsn_machine(%rip), %rdi\n"
        "  mov randinsn_states(%rip), %eax\n"
        "  xor %edx, %edx\n"
        "  xrstor64 (%rdi)\n"
        "  mov 8192+0x20(%rdi), %rsp\n"
        "  push 8192+0x80(%rdi)\n"
        "  popfq\n"
        "  mov 8192+0x00(%rdi), %rax; mov 8192+0x08(%rdi), %rcx\n"
        "  mov 8192+0x10(%rdi), %rdx; mov 8192+0x18(%rdi), %rbx\n"
        "  mov 8192+0x28(%rdi), %rbp; mov 8192+0x30(%rdi), %rsi\n"
        "  mov 8192+0x40(%rdi), %r8;  mov 8192+0x48(%rdi), %r9\n"
        "  mov 8192+0x50(%rdi), %r10; mov 8192+0x58(%rdi), %r11\n"
        "  mov 8192+0x60(%rdi), %r12; mov 8192+0x68(%rdi), %r13\n"
        "  mov 8192+0x70(%rdi), %r14; mov 8192+0x78(%rdi), %r15\n"
        "  mov 8192+0x38(%rdi), %rdi\n"
        "  jmp *randinsn_entry(%rip)\n"
        "randinsn_exit:\n"
        "  mov %rdi, randinsn_rdi(%rip)\n"
        "  mov randinsn_machine(%rip), %rdi\n"
        "  mov %rax, 8192+0x00(%rdi); mov %rcx, 8192+0x08(%rdi)\n"
        "  mov %rdx, 8192+0x10(%rdi); mov %rbx, 8192+0x18(%rdi)\n"
        "  mov %rsp, 8192+0x20(%rdi)\n"
        "  mov %rbp, 8192+0x28(%rdi); mov %rsi, 8192+0x30(%rdi)\n"
        "  mov %r8,  8192+0x40(%rdi); mov %r9,  8192+0x48(%rdi)\n"
        "  mov %r10, 8192+0x50(%rdi); mov %r11, 8192+0x58(%rdi)\n"
        "  mov %r12, 8192+0x60(%rdi); mov %r13, 8192+0x68(%rdi)\n"
        "  mov %r14, 8192+0x70(%rdi); mov %r15, 8192+0x78(%rdi)\n"
        "  mov randinsn_rdi(%rip), %rax\n"
        "  mov %rax, 8192+0x38(%rdi)\n"
        "  mov randinsn_rsp(%rip), %rsp\n"
        "  pushfq\n"
        "  pop 8192+0x80(%rdi)\n"
        "  mov randinsn_states(%rip), %eax\n"
        "  xor %edx, %edx\n"
        "  xsave64 (%rdi)\n"
        "  fninit\n"
        "  cld\n"
        "  pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx\n"
        "  ret\n");

struct options {
    uint64_t seed, sequences, show;
    unsigned length;
    bool each, rwx, shows;
};

static uint32_t available_states(void)
{
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c >> 27 & 1)) {
        fprintf(stderr, "engine-randinsn: this machine has no xsave\n");
        exit(77);
    }
    __asm__("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
    return a & STATES;
}

/* Values that meet carries, signs, small shifts and real numbers. */
static uint64_t any_value(struct random_source *source)
{
    uint64_t value = random_next(source), kind = random_next(source) >> 40;
    double real = (double)(int64_t)(value >> 40) / 64.0;
    switch (kind % 6) {
    case 0:
        return value & 0xFF;
    case 1:
        return (uint64_t) - (int64_t)(value & 0xFFFF);
    case 2:
        memcpy(&value, &real, sizeof(value));
        return value;
    case 3:
        return (uint64_t)1 << (value & 63);
    default:
        return value;
    }
}

static void fill(struct random_source *source, void *at, size_t bytes)
{
    for (size_t i = 0; i + 8 <= bytes; i += 8) {
        uint64_t value = any_value(source);
        memcpy((uint8_t *)at + i, &value, 8);
    }
}

/* A random machine: the layout of the xsave area is the standard one, with offsets by CPUID. */
static void randomise(struct machine *m, struct random_source *source)
{
    static const uint16_t fcw = 0x037F;
    memset(m, 0, sizeof(*m));
    fill(source, m->gpr, sizeof(m->gpr));
    m->gpr[RSP_REG] = RANDOM_STACK + FIRST_RSP;
    m->flags = 0x202 | (random_next(source) >> 20 & 0x8D5);
    memcpy(m->xsave, &fcw, sizeof(fcw));
    uint32_t mxcsr = 0x1F80 | (random_next(source) >> 20 & 0x6000);
    memcpy(m->xsave + 24, &mxcsr, sizeof(mxcsr));
    fill(source, m->xsave + 160, 256); /* xmm */
    for (unsigned state = 2; state < 8; state++) {
        unsigned size, offset, c, d;
        if (!(randinsn_states >> state & 1))
            continue;
        __cpuid_count(0xD, state, size, offset, c, d);
        fill(source, m->xsave + offset, size);
    }
    memcpy(m->xsave + 512, &randinsn_states, 8);
}

static uint64_t digest_of(uint64_t digest, const void *bytes, size_t n)
{
    for (size_t i = 0; i + 8 <= n; i += 8) {
        uint64_t word;
        memcpy(&word, (const uint8_t *)bytes + i, 8);
        digest = (digest ^ word) * UINT64_C(0x9E3779B97F4A7C15);
        digest ^= digest >> 29;
    }
    return digest;
}

/* The last instruction's addresses in the x87 state, and what xsave leaves undefined, are blanked.
 */
static uint64_t digest_machine(uint64_t digest, struct machine *m)
{
    memset(m->xsave + 6, 0, 18);
    memset(m->xsave + 28, 0, 4);
    memset(m->xsave + 416, 0, 96);
    memset(m->xsave + 512, 0, 64); /* which states are in use is the processor's own affair */
    m->flags &= STATUS_FLAGS;
    digest = digest_of(digest, m->xsave, XSAVE_BYTES);
    digest = digest_of(digest, m->gpr, sizeof(m->gpr) + sizeof(m->flags));
    digest = digest_of(digest, (const void *)RANDOM_SCRATCH, RANDOM_SCRATCH_BYTES);
    return digest_of(digest, (const void *)(RANDOM_STACK + FIRST_RSP - STACK_SEEN), 2 * STACK_SEEN);
}

static void map_at(uint64_t address, size_t bytes)
{
    void *map = mmap((void *)(uintptr_t)address, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (map != (void *)(uintptr_t)address) {
        fprintf(stderr, "engine-randinsn: address 0x%" PRIx64 " is taken\n", address);
        exit(77);
    }
}

static void protect_code(int protection)
{
    if (mprotect((void *)RANDOM_CODE, RANDOM_CODE_BYTES, protection) != 0) {
        perror("engine-randinsn: mprotect");
        exit(1);
    }
}

static void show(const uint8_t *from, const uint8_t *end)
{
    ZydisDisassembledInstruction insn;
    while (from < end && ZYAN_SUCCESS(ZydisDisassembleIntel(ZYDIS_MACHINE_MODE_LONG_64,
                                                            (uintptr_t)from, from, 15, &insn))) {
        printf("%p  %s\n", (const void *)from, insn.text);
        from += insn.info.length;
    }
}

/* Writes sequences until the code area is full or enough; returns their number. */
static unsigned write_batch(struct random_insns *code, const struct options *o, uint64_t left,
                            const uint8_t **entries, unsigned max)
{
    unsigned n = 0;
    while (n < max && n < left) {
        entries[n] = random_insns_sequence(code, o->length);
        if (!entries[n])
            break;
        n++;
    }
    return n;
}

static uint64_t run(const struct options *o)
{
    enum { BATCH = 4096 };
    static struct machine machine;
    static const uint8_t *entries[BATCH + 1];
    struct random_source values = {o->seed ^ UINT64_C(0xD1B54A32D192ED03)};
    uint64_t digest = 0, done = 0;
    randinsn_machine = &machine;
    for (uint64_t batch = 0; done < o->sequences; batch++) {
        struct random_insns code;
        protect_code(PROT_READ | PROT_WRITE | (o->rwx ? PROT_EXEC : 0));
        fill(&values, (void *)RANDOM_SCRATCH, RANDOM_SCRATCH_BYTES);
        random_insns_begin(&code, o->seed + batch * UINT64_C(0x2545F4914F6CDD1D));
        *(uint64_t *)RANDOM_EXIT_SLOT = (uintptr_t)randinsn_exit;
        unsigned n = write_batch(&code, o, o->sequences - done, entries, BATCH);
        entries[n] = code.at;
        if (!o->rwx)
            protect_code(PROT_READ | PROT_EXEC);
        for (unsigned i = 0; i < n; i++, done++) {
            if (o->shows && done == o->show)
                show(entries[i], entries[i + 1]);
            randomise(&machine, &values);
            randinsn_entry = (uintptr_t)entries[i];
            randinsn_enter();
            digest = digest_machine(digest, &machine);
            if (o->each)
                printf("%" PRIu64 " %016" PRIx64 "\n", done, digest);
        }
    }
    return digest;
}

static struct options parse(int argc, char **argv)
{
    static const struct option names[] = {{"seed", required_argument, NULL, 's'},
                                          {"sequences", required_argument, NULL, 'n'},
                                          {"length", required_argument, NULL, 'l'},
                                          {"each", no_argument, NULL, 'e'},
                                          {"show", required_argument, NULL, 'S'},
                                          {"rwx", no_argument, NULL, 'w'},
                                          {NULL, 0, NULL, 0}};
    struct options o = {.seed = 1, .sequences = 1000, .length = 20};
    for (int c; (c = getopt_long(argc, argv, "", names, NULL)) != -1;) {
        uint64_t value = optarg ? strtoull(optarg, NULL, 0) : 0;
        switch (c) {
        case 's':
            o.seed = value;
            break;
        case 'n':
            o.sequences = value;
            break;
        case 'l':
            o.length = (unsigned)value;
            break;
        case 'e':
            o.each = true;
            break;
        case 'S':
            o.show = value;
            o.shows = true;
            break;
        case 'w':
            o.rwx = true;
            break;
        default:
            exit(2);
        }
    }
    return o;
}

int main(int argc, char **argv)
{
    struct options o = parse(argc, argv);
    randinsn_states = available_states();
    map_at(RANDOM_SCRATCH, RANDOM_SCRATCH_BYTES);
    map_at(RANDOM_STACK, RANDOM_STACK_BYTES);
    map_at(RANDOM_CODE, RANDOM_CODE_BYTES);
    map_at(RANDOM_SLOTS, RANDOM_SLOTS_BYTES);
    uint64_t digest = run(&o);
    printf("seed 0x%" PRIx64 " sequences %" PRIu64 " length %u digest %016" PRIx64 "\n", o.seed,
           o.sequences, o.length, digest);
    return 0;
}
