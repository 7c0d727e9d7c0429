/* System calls of the program. Most go straight to the kernel; these do not: those that create or
 * end threads and processes, that concern signals, that change mappings, and a few that must be
 * refused. See the table at the end of syscalls.c. */
#ifndef RL_COUNT_ENGINE_SYSCALLS_H
#define RL_COUNT_ENGINE_SYSCALLS_H

#include "count/engine/link.h"
#include "count/engine/thread.h"

/** Carry out the call in thread->reg[]; next_pc becomes where the program goes on. */
void rle_emulate_syscall(struct rle_thread *thread, const struct rle_stub *stub);

/** Leave the engine, to go on natively at next_pc. Returns if a signal has to be delivered first,
 * or if it is to stay. */
void rle_leave(struct rle_thread *thread);

/* Result of an emulated call: what the program finds in rax, or RLE_RESTART. Arguments are copies.
 */
typedef long rle_syscall_handler(struct rle_thread *thread, long nr, long *args);

/* process.c */
rle_syscall_handler rle_sys_clone, rle_sys_fork, rle_sys_vfork, rle_sys_execve, rle_sys_exit,
    rle_sys_exit_group;

/* syscalls_signal.c */
rle_syscall_handler rle_sys_sigaction, rle_sys_sigaltstack, rle_sys_sigreturn, rle_sys_sigsuspend,
    rle_sys_wait_masked, rle_sys_request_state;

#endif
