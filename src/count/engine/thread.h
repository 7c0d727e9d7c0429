/* Thread blocks and slots: one per live thread of the program, reused when threads end.
 *
 * A slot is an index into the result's THREADS and EXTENTS sections; its block (thread_block.h) is
 * mapped once and kept. Slot 0 is the thread that was there at take-over. */
#ifndef RL_COUNT_ENGINE_THREAD_H
#define RL_COUNT_ENGINE_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "count/engine/decode.h"
#include "count/engine/rseq.h"
#include "count/engine/signal_abi.h"
#include "count/engine/thread_block.h"

#define RLE_THREADS_MAX 4096

/** A signal that arrived while the thread was in the engine or inside a translated sequence. From
 * then until its delivery every other signal is blocked, so the kernel queues them and one is
 * enough. */
struct rle_pending {
    int signal;
    bool restart;  /**< the system call it interrupted is to be executed again */
    bool is_fault; /**< of the instruction it interrupted */
    uint64_t mask; /**< the program's signal mask at that time */
    struct rle_ucontext uc;
    uint8_t info[RLE_SIGINFO_BYTES];
    uint32_t xstate_bytes;
};

/** Bits of rle_thread.pending. */
enum {
    RLE_PENDING_SIGNAL = 1, /**< `signal` waits to be delivered */
    RLE_PENDING_KICK = 2,   /**< look again whether to leave */
};

/** All the engine knows of a thread; reg[] and rflags are valid while it is in the engine. */
struct rle_thread {
    struct rle_thread *self;
    uint64_t spill[3];
    uint64_t target;
    uint32_t stub;
    uint32_t pad0;
    uint64_t engine_sp;
    uint64_t resume;
    uint64_t loop_save;
    uint64_t resident[2];
    uint64_t scratch[4];
    uint64_t flags_rax;
    uint64_t entry_exit;
    uint64_t entry_return_miss;
    uint64_t entry_jump_miss;
    uint64_t entry_callout;
    uint32_t pending; /**< RLE_PENDING_…; anything keeps the cache from being entered */
    uint32_t in_syscall;
    uint64_t next_pc;
    uint64_t flags;
    uint32_t parked;
    uint32_t pad1;
    uint64_t pad2[8];
    uint64_t reg[16]; /**< program registers by hardware number while in the engine */
    uint64_t rflags;
    uint64_t pad3[15];
    _Alignas(512) uint32_t slot;
    uint32_t in_use; /**< set under the lock, cleared by the exiting thread itself */
    int32_t tid;     /**< the thread whose block this is, from its beginning to its end; else 0 */
    int32_t
        process; /**< of a process of its own that shares memory and is not waited for; else 0 */
    bool shares_memory;   /**< a vfork child: another process in our memory */
    bool traced;          /**< asked to be debugged: what it execs runs natively */
    bool clears_handlers; /**< begins without the handlers of who created it */
    bool realigns; /**< the flag AC is off until the next boundary, for the engine's own sake */
    bool stepping; /**< trap flag set by us, to reach the next instruction boundary */
    uint8_t *own_stack; /**< the engine's stack … */
    uint8_t *alt_stack; /**< … its signal stack … */
    uint8_t *xstate;    /**< … and the extended state of the pending signal; one mapping */
    struct rle_altstack program_altstack;
    struct rle_actions *actions; /**< the program's view of signal actions, shared like memory */
    uint64_t temporary_mask;     /**< of a system call that waits with another mask */
    bool has_temporary_mask;
    uint64_t syscall_pc;       /**< program address of the system call under way */
    uint32_t syscall_fragment; /**< where it was translated, and its index there */
    uint32_t syscall_insn;
    uint32_t waits;                   /**< enum rle_waits of control.h */
    bool kicked;                      /**< steps to a boundary in order to leave there */
    uint64_t kick_mask;               /**< the signal mask of one that steps for no signal */
    struct rle_rseq rseq;             /**< registration taken from it when it was attached to */
    struct rle_region_state *regions; /**< NULL while the program uses none */
    struct rle_pending signal;
};

_Static_assert(offsetof(struct rle_thread, spill) == RLE_TB_SPILL0, "layout");
_Static_assert(offsetof(struct rle_thread, target) == RLE_TB_TARGET, "layout");
_Static_assert(offsetof(struct rle_thread, stub) == RLE_TB_STUB, "layout");
_Static_assert(offsetof(struct rle_thread, engine_sp) == RLE_TB_ENGINE_SP, "layout");
_Static_assert(offsetof(struct rle_thread, resume) == RLE_TB_RESUME, "layout");
_Static_assert(offsetof(struct rle_thread, loop_save) == RLE_TB_LOOP_SAVE, "layout");
_Static_assert(offsetof(struct rle_thread, resident) == RLE_TB_RESIDENT0, "layout");
_Static_assert(offsetof(struct rle_thread, scratch) == RLE_TB_SCRATCH0, "layout");
_Static_assert(offsetof(struct rle_thread, flags_rax) == RLE_TB_FLAGS, "layout");
_Static_assert(offsetof(struct rle_thread, entry_exit) == RLE_TB_EXIT, "layout");
_Static_assert(offsetof(struct rle_thread, entry_callout) == RLE_TB_CALLOUT, "layout");
_Static_assert(offsetof(struct rle_thread, pending) == RLE_TB_PENDING, "layout");
_Static_assert(offsetof(struct rle_thread, in_syscall) == RLE_TB_IN_SYSCALL, "layout");
_Static_assert(offsetof(struct rle_thread, parked) == RLE_TB_PARKED, "layout");
_Static_assert(offsetof(struct rle_thread, next_pc) == RLE_TB_NEXT_PC, "layout");
_Static_assert(offsetof(struct rle_thread, flags) == RLE_TB_FLAGS2, "layout");
_Static_assert(offsetof(struct rle_thread, reg) == RLE_TB_CONTEXT, "layout");
_Static_assert(offsetof(struct rle_thread, rflags) == RLE_TB_CONTEXT_FLAGS, "layout");
_Static_assert(sizeof(struct rle_thread) <= RLE_TB_INSTRUMENT, "layout");

/** Bytes of the mapping a thread block occupies, counters included. */
size_t rle_thread_block_bytes(void);

/** Bits of the calling thread's `pending`. A signal may set others at any moment, so each change is
 * one step. */
static inline void rle_pending_set(struct rle_thread *thread, uint32_t bits)
{
    __atomic_fetch_or(&thread->pending, bits, __ATOMIC_RELAXED);
}

static inline void rle_pending_clear(struct rle_thread *thread, uint32_t bits)
{
    __atomic_fetch_and(&thread->pending, ~bits, __ATOMIC_RELAXED);
}

/** The calling thread's block; only valid once the gs base is set. */
static inline struct rle_thread *rle_thread_self(void)
{
    struct rle_thread *self;
    __asm__("mov %%gs:0, %0" : "=r"(self));
    return self;
}

/**
 * A block for a new thread, its counters mapped, gs base not yet set. Takes the engine's lock.
 *
 * @param parent  whose signal actions it shares; NULL for the first thread.
 * @return NULL if memory, slots or the result file are exhausted.
 */
struct rle_thread *rle_thread_new(struct rle_thread *parent);

/** The new thread itself, gs base set: its signal stack, its number, the instrumentation. */
void rle_thread_begin(struct rle_thread *thread);

/** Is it the only one left in this process? */
bool rle_thread_is_last(const struct rle_thread *thread);

/** Size of the engine's own signal stacks. */
size_t rle_altstack_bytes(void);

/** The thread is about to end; its slot is free once `in_use` is cleared, which is not done here.
 */
void rle_thread_end(struct rle_thread *thread);

/** A new thread's first C code, called by dispatch.S. */
void rle_thread_start(struct rle_thread *thread);

/** Let gs point to the block, by instruction or by system call. */
void rle_thread_set_segment(struct rle_thread *thread);

/** The child of a fork keeps only the calling thread: others are forgotten. Counters, which now
 * belong to a new result file, are mapped anew. */
void rle_threads_after_fork(struct rle_thread *survivor);

/** The same where the process stays as it is: all slots, used or not, count in a new result file.
 */
void rle_threads_renew(void);

#endif
