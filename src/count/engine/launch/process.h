/* What /proc tells of a process before it is touched: whether it can be attached to at all, and
 * what the engine needs to know of it. */
#ifndef RL_COUNT_ENGINE_LAUNCH_PROCESS_H
#define RL_COUNT_ENGINE_LAUNCH_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/** Most bytes of a reason that these functions write. */
#define REASON_BYTES 256

/**
 * Can it be counted, as far as can be seen from outside?
 *
 * @param why  [REASON_BYTES] the reason against it, as a clause about the process.
 * @return true if nothing speaks against it.
 */
bool process_can_be_counted(pid_t pid, char *why);

/** Its threads, in an array to be freed. @return how many; 0: it is gone, or there is no memory. */
size_t process_threads(pid_t pid, pid_t **ret_tids);

/** Is the thread gone, or about to be reaped? */
bool process_has_ended(pid_t pid, pid_t tid);

/** Is the thread in a sleep that nothing interrupts, as while a child of vfork has not begun? */
bool process_sleeps_deeply(pid_t pid, pid_t tid);

/** Is this process the thread's tracer? */
bool process_is_ours(pid_t pid, pid_t tid);

/** The number by which the thread knows itself, in the innermost namespace it is in. */
pid_t process_inner_tid(pid_t pid, pid_t tid);

/** Is the thread in a system call that returns to `address`? False if it is running, or gone. */
bool process_waits_at(pid_t pid, pid_t tid, uint64_t address);

/** CLOCK_MONOTONIC. */
uint64_t monotonic_ns(void);

/** When it was started, by CLOCK_MONOTONIC. */
uint64_t process_start_ns(pid_t pid);

/** Where its first stack begins, which is another place with every exec (but where addresses are
 * not randomised). 0: not known. */
uint64_t process_stack_start(pid_t pid);

/** Its arguments, each with a terminator. @return bytes. */
size_t process_arguments(pid_t pid, char *to, size_t size);

/** Bytes of memory it has locked. */
uint64_t process_locked_bytes(pid_t pid);

/** A mapping. */
struct process_mapping {
    uint64_t low, high, offset;
    char flags[5];
    uint64_t device, inode;
};

/** Call `see` for every mapping, until it returns true. @return whether it did. */
bool process_mappings(pid_t pid, bool (*see)(void *context, const struct process_mapping *mapping),
                      void *context);

#endif
