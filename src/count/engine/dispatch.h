/* The borders of translated code (dispatch.S) and what C does there. Addresses that are only
 * compared or stored are declared as functions without arguments. */
#ifndef RL_COUNT_ENGINE_DISPATCH_H
#define RL_COUNT_ENGINE_DISPATCH_H

#include <stdint.h>

#include "count/engine/thread.h"

#pragma GCC visibility push(hidden)

/** Registers, in an order that suits rle_return_natively. */
struct rle_native_state {
    uint64_t reg[16]; /**< by hardware number; that of rsp is not used */
    uint64_t pc;
    uint64_t cs; /**< RLE_USER_CS */
    uint64_t rflags;
    uint64_t sp;
    uint64_t ss; /**< RLE_USER_SS */
};
enum { RLE_USER_CS = 0x33, RLE_USER_SS = 0x2B };

/** rle_program_syscall: a signal came first; the call did not take place. */
#define RLE_RESTART (-512l)

/* Entered from the cache by jumps. */
void rle_exit(void);
void rle_return_unknown(void);
void rle_return_miss(void);
void rle_jump_miss(void);
void rle_callout(void);

/* Places a signal may interrupt (signal.c). */
void rle_continue(void);
void rle_miss_begin(void);
void rle_miss_end(void);
void rle_resume_begin(void);
void rle_resume_end(void);
void rle_callout_resume_begin(void);
void rle_callout_resume_end(void);
void rle_syscall_begin(void);
void rle_syscall_at(void);
void rle_syscall_end(void);
void rle_syscall_restart(void);
void rle_attach_entry(void);
void rle_guarded_at(void);
void rle_guarded_fail(void);

/* Called by C. */
long rle_program_syscall(long nr, const long *args);
long rle_clone(long nr, const long *args, struct rle_thread *child);
void rle_signal_entry(void);
void rle_after_sigreturn(void);
_Noreturn void rle_sigreturn(uint64_t frame);
void rle_sigreturn_fails(void);
_Noreturn void rle_thread_exit(int status, uint32_t *in_use);
_Noreturn void rle_go_native(void);
_Noreturn void rle_return_natively(const struct rle_native_state *state);

/* C called by dispatch.S on the engine's stack. Each leaves in thread->target the cache address to
 * go on at, and in thread->next_pc the program address that belongs to it. */
void rle_dispatch_stub(struct rle_thread *thread);
void rle_dispatch_return(struct rle_thread *thread);
void rle_dispatch_jump(struct rle_thread *thread);
/** Go on at thread->next_pc, delivering a pending signal first. */
void rle_dispatch_next(struct rle_thread *thread);
/** Run the instrumentation's callout; goes on at thread->resume. */
void rle_dispatch_callout(struct rle_thread *thread);

/**
 * Leave translation for good, as soon as every thread comes by; the caller's thread at once if it
 * goes on to rle_dispatch_next.
 *
 * @param why  recorded in the result file.
 */
void rle_detach(const char *why);

/** Of programs that set the trap flag. */
extern const char rle_why_traps[] __attribute__((visibility("hidden")));

/** The same without a word in the result file. */
void rle_go_uncounted(void);

#pragma GCC visibility pop

#endif
