/* Signals, as the program must see them: delivered between two of its own instructions, with its
 * own register values, on its own stacks, in the kernel's order.
 *
 * The kernel delivers to the engine's handler, on the engine's signal stack. In translated code at
 * an instruction boundary the program's frame is built at once. Between boundaries the trap flag
 * steps to the next one. In the engine itself the signal is kept, all others blocked, and delivered
 * when the thread would next enter the cache. So at most one is ever kept. */
#ifndef RL_COUNT_ENGINE_SIGNALS_H
#define RL_COUNT_ENGINE_SIGNALS_H

#include <stdbool.h>
#include <stdint.h>

#include "count/engine/thread.h"

/** Signals the engine needs for itself whatever the program does with them. */
#define RLE_OWN_SIGNALS         (RLE_SIGNAL_BIT(SIGSEGV) | RLE_SIGNAL_BIT(SIGBUS) | RLE_SIGNAL_BIT(SIGTRAP))
#define RLE_SYNCHRONOUS_SIGNALS (RLE_OWN_SIGNALS | RLE_SIGNAL_BIT(SIGILL) | RLE_SIGNAL_BIT(SIGFPE))
#define RLE_ALL_SIGNALS         (~0ul)

/** Block all signals of the calling thread. A signal may have become pending just before.
 * @return what was blocked before, for rle_restore_signals(). */
uint64_t rle_block_signals(void);
void rle_restore_signals(uint64_t mask);

/** Read the dispositions the program inherited and install the engine's own handlers. */
void rle_signals_init(void);

/** The kernel's side of an action of the program: the engine's handler where the program has one.
 */
void rle_install_action(int signal, const struct rle_action *action);

/** Give the kernel the program's own actions and signal stack, for running natively. */
void rle_uninstall_signals(struct rle_thread *thread);

/** The same of the process, while every thread waits in the engine. */
void rle_uninstall_actions(void);

/** Build the frame of the pending signal on the program's stack; the program then continues, from
 * reg[] and next_pc, in its handler. Nothing may be pending behind it but what arrives meanwhile.
 */
void rle_deliver_pending(struct rle_thread *thread);

/** The pending signal arrived during a callout: arrange to step to the next boundary. */
void rle_step_to_boundary(struct rle_thread *thread);

/** The handler, called by dispatch.S. @return 0: go back to what was interrupted; 1: the program
 * continues from reg[] and next_pc. */
int rle_signal(int signal, uint8_t *info, struct rle_ucontext *uc);

/* frame.c */

/** Registers of the interrupted code into reg[] and rflags. */
void rle_registers_from(struct rle_thread *thread, const struct rle_ucontext *uc);
void rle_registers_to(const struct rle_thread *thread, struct rle_ucontext *uc);

/**
 * Put a signal frame on the program's stack (or its signal stack) and let reg[], next_pc and the
 * kernel's signal mask be those at the entry of its handler.
 *
 * @param source  signal, siginfo, the kernel's ucontext, and the program's mask.
 * @param xstate  its extended state, source->xstate_bytes long.
 * @return false if it does not fit there: nothing has happened then.
 */
bool rle_push_frame(struct rle_thread *thread, const struct rle_pending *source,
                    const uint8_t *xstate);

/** Copy what the kernel said into `pending`; its extended state stays where it is.
 * @return address of the extended state. */
const uint8_t *rle_pending_from(struct rle_pending *pending, int signal, const uint8_t *info,
                                const struct rle_ucontext *uc);

/** Does a stack pointer lie on the program's signal stack? */
bool rle_on_altstack(const struct rle_thread *thread, uint64_t sp);

#endif
