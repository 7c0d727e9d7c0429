#include "count/engine/confine.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "count/engine/sys.h"

enum {
    NO_FILE = -1,
    SET_USER_DISPATCH = 59, /* PR_SET_SYSCALL_USER_DISPATCH, which older headers lack */
};

struct machine {
    const struct seccomp_data *data;
    uint32_t a, x;
    uint32_t memory[BPF_MEMWORDS];
};

/* What it does at any time, to translate code it meets for the first time, for signals, and at the
 * end. */
static const struct {
    long nr;
    uint64_t args[6];
} own_calls[] = {
    {SYS_openat, {(uint64_t)AT_FDCWD, 0, O_RDONLY | O_CLOEXEC}},
    {SYS_read, {0}},
    {SYS_close, {0}},
    {SYS_mmap,
     {0, RLE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, (uint64_t)NO_FILE}},
    {SYS_mmap,
     {0, RLE_PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
      (uint64_t)NO_FILE}},
    {SYS_rt_sigprocmask, {0}},
    {SYS_clock_gettime, {0}},
};

static uint32_t load(const struct machine *m, uint32_t at)
{
    uint32_t word = 0;
    if (at <= sizeof(*m->data) - sizeof(word))
        rle_copy(&word, (const char *)m->data + at, sizeof(word));
    return word;
}

static uint32_t compute(uint16_t operation, uint32_t a, uint32_t b)
{
    enum { BITS = 32 };
    switch (operation) {
    case BPF_ADD:
        return a + b;
    case BPF_SUB:
        return a - b;
    case BPF_MUL:
        return a * b;
    case BPF_DIV:
        return b ? a / b : 0;
    case BPF_OR:
        return a | b;
    case BPF_AND:
        return a & b;
    case BPF_XOR:
        return a ^ b;
    case BPF_LSH:
        return b < BITS ? a << b : 0;
    case BPF_RSH:
        return b < BITS ? a >> b : 0;
    case BPF_NEG:
        return -a;
    default:
        return a;
    }
}

static bool holds(uint16_t condition, uint32_t a, uint32_t b)
{
    switch (condition) {
    case BPF_JEQ:
        return a == b;
    case BPF_JGT:
        return a > b;
    case BPF_JGE:
        return a >= b;
    default:
        return (a & b) != 0;
    }
}

/* Everything but jumps and the end. */
static void step(struct machine *m, const struct sock_filter *f)
{
    uint32_t b = BPF_SRC(f->code) == BPF_X ? m->x : f->k;
    uint32_t *word = &m->memory[f->k % BPF_MEMWORDS];
    switch (BPF_CLASS(f->code)) {
    case BPF_LD:
    case BPF_LDX: {
        uint32_t *to = BPF_CLASS(f->code) == BPF_LD ? &m->a : &m->x;
        *to = BPF_MODE(f->code) == BPF_ABS   ? load(m, f->k)
              : BPF_MODE(f->code) == BPF_MEM ? *word
              : BPF_MODE(f->code) == BPF_LEN ? (uint32_t)sizeof(*m->data)
                                             : f->k;
        break;
    }
    case BPF_ST:
        *word = m->a;
        break;
    case BPF_STX:
        *word = m->x;
        break;
    case BPF_ALU:
        m->a = compute(BPF_OP(f->code), m->a, b);
        break;
    case BPF_MISC:
        if (BPF_MISCOP(f->code) == BPF_TAX)
            m->x = m->a;
        else
            m->a = m->x;
        break;
    default:
        break;
    }
}

/* What the filter answers; it has no loops. */
static uint32_t answer(const struct sock_filter *filter, unsigned n,
                       const struct seccomp_data *data)
{
    struct machine m = {.data = data};
    for (uint64_t at = 0; at < n; at++) {
        const struct sock_filter *f = &filter[at];
        if (BPF_CLASS(f->code) == BPF_RET)
            return BPF_RVAL(f->code) == BPF_A ? m.a : f->k;
        if (BPF_CLASS(f->code) != BPF_JMP)
            step(&m, f);
        else if (BPF_OP(f->code) == BPF_JA)
            at += f->k;
        else
            at +=
                holds(BPF_OP(f->code), m.a, BPF_SRC(f->code) == BPF_X ? m.x : f->k) ? f->jt : f->jf;
    }
    return SECCOMP_RET_ALLOW;
}

/* Does a system call end more than that call, as by killing the process or raising a signal? Of a
 * filter that the kernel would not accept the answer does not matter. */
static bool filter_kills(const struct sock_filter *filter, unsigned n, long nr,
                         const uint64_t args[6])
{
    struct seccomp_data data = {.nr = (int)nr, .arch = AUDIT_ARCH_X86_64};
    rle_copy(data.args, args, sizeof(data.args));
    switch (answer(filter, n, &data) & SECCOMP_RET_ACTION_FULL) {
    case SECCOMP_RET_ALLOW:
    case SECCOMP_RET_LOG:
    case SECCOMP_RET_ERRNO: /* which the engine can live with, or says that it cannot */
        return false;
    default:
        return true;
    }
}

static bool kills_own_calls(const struct sock_fprog *program)
{
    size_t bytes = program->len * sizeof(struct sock_filter);
    struct sock_filter *filter = bytes ? rle_map(bytes) : NULL;
    bool kills = false;
    if (filter && !rle_copy_guarded(filter, program->filter, bytes))
        for (unsigned i = 0; i < sizeof(own_calls) / sizeof(own_calls[0]); i++)
            kills = kills || filter_kills(filter, program->len, own_calls[i].nr, own_calls[i].args);
    if (filter)
        rle_sys3(SYS_munmap, (long)filter, (long)bytes, 0);
    return kills;
}

const char *rle_confine_reason(long nr, const long *args)
{
    struct sock_fprog program;
    bool by_prctl = nr == SYS_prctl;
    if (by_prctl && args[0] == SET_USER_DISPATCH && args[1])
        return "the program handles its own system calls (syscall user dispatch), which the "
               "engine's cannot be told from";
    if (by_prctl && args[0] != PR_SET_SECCOMP)
        return NULL;
    bool is_filter = by_prctl ? args[1] == SECCOMP_MODE_FILTER : args[0] == SECCOMP_SET_MODE_FILTER;
    /* by seccomp() with anything else it fails: libseccomp asks so what there is */
    bool is_strict = by_prctl ? args[1] == SECCOMP_MODE_STRICT
                              : args[0] == SECCOMP_SET_MODE_STRICT && !args[1] && !args[2];
    if (is_strict ||
        (is_filter && !rle_copy_guarded(&program, (const void *)args[2], sizeof(program)) &&
         kills_own_calls(&program)))
        return "the program confines itself (seccomp) to system calls without which the engine "
               "cannot be";
    return NULL;
}
