/* What the x86-64 kernel puts on the stack for a signal, and its view of actions; the C library's
 * types differ from the kernel's and are not used here. */
#ifndef RL_COUNT_ENGINE_SIGNAL_ABI_H
#define RL_COUNT_ENGINE_SIGNAL_ABI_H

#include <stddef.h>
#include <stdint.h>

#define RLE_SIGNALS          64
#define RLE_SIGSET_BYTES     8
#define RLE_SIGNAL_BIT(n)    (1ul << ((n)-1))
#define RLE_SIGINFO_BYTES    128
#define RLE_SIG_DFL          0ul
#define RLE_SIG_IGN          1ul
#define RLE_SA_NOCLDSTOP     0x00000001ul
#define RLE_SA_NOCLDWAIT     0x00000002ul
#define RLE_SA_SIGINFO       0x00000004ul
#define RLE_SA_RESTORER      0x04000000ul
#define RLE_SA_ONSTACK       0x08000000ul
#define RLE_SA_RESTART       0x10000000ul
#define RLE_SA_NODEFER       0x40000000ul
#define RLE_SA_RESETHAND     0x80000000ul
#define RLE_SA_KNOWN         0xDC000807ul /* all there are: the kernel clears others */
#define RLE_SS_ONSTACK       1
#define RLE_SS_DISABLE       2
#define RLE_SS_AUTODISARM    (1 << 31)
#define RLE_TRAP_FLAG        0x100ul
#define RLE_DIRECTION_FLAG   0x400ul
#define RLE_ALIGNMENT_FLAG   0x40000ul
#define RLE_FLAGS_AT_HANDLER 0x202ul

struct rle_action {
    uint64_t handler;
    uint64_t flags;
    uint64_t restorer;
    uint64_t mask;
};

struct rle_actions {
    struct rle_action of[RLE_SIGNALS + 1];
};

struct rle_altstack {
    uint64_t sp;
    int32_t flags;
    int32_t pad;
    uint64_t size;
};

/** Index into rle_ucontext.greg of the registers that have no hardware number. */
enum { RLE_GREG_RIP = 16, RLE_GREG_FLAGS = 17 };

struct rle_ucontext {
    uint64_t flags;
    uint64_t link;
    struct rle_altstack stack;
    uint64_t greg[23]; /* r8..r15 rdi rsi rbp rbx rdx rax rcx rsp rip flags … */
    uint64_t xstate;   /* address, 0: none */
    uint64_t reserved[8];
    uint64_t mask;
};
_Static_assert(sizeof(struct rle_ucontext) == 304, "kernel ABI");

/** The frame as the handler finds it; the x87/SSE/extended state lies above, 64-byte aligned. */
struct rle_signal_frame {
    uint64_t restorer;
    struct rle_ucontext uc;
    uint8_t info[RLE_SIGINFO_BYTES];
};
_Static_assert(sizeof(struct rle_signal_frame) == 440, "kernel ABI");

/* Offsets within siginfo. */
enum { RLE_SI_CODE = 8, RLE_SI_ADDR = 16 };

/* The legacy 512 bytes of an extended state end with software bytes that tell its whole size. */
enum {
    RLE_XSTATE_LEGACY_BYTES = 512,
    RLE_XSTATE_MAGIC_AT = 464,
    RLE_XSTATE_SIZE_AT = 468,
};
#define RLE_XSTATE_MAGIC 0x46505853u

#endif
