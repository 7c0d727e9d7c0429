/* A running process, its threads stopped one after the other, and let go again.
 *
 * Whatever is done to it can be interrupted by the death of this process at any time: then the
 * kernel lets every thread go, and each of them must find itself in a state from which it goes on
 * as if nothing had happened. Hence calls are made by code that restores the registers itself. */
#ifndef RL_COUNT_ENGINE_LAUNCH_TARGET_H
#define RL_COUNT_ENGINE_LAUNCH_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#include "count/engine/control.h"
#include "count/engine/launch/process.h"
#include "count/engine/launch/remote.h"

/** A thread that was asked to stop. */
struct tracee {
    pid_t tid;
    bool stopped;
    struct user_regs_struct regs; /**< as it stopped */
    bool native;                  /**< it is not under the engine, and is to be taken … */
    bool redirected;              /**< … and has been: nothing of its state is to be repaired */
};

struct target {
    struct remote remote; /**< first; calls are made by the first thread */
    pid_t pid;
    struct tracee *thread; /**< [n_threads] those that are stopped */
    size_t n_threads;
    uint64_t cave; /**< where code may be put that does not belong to the program; 0: not looked
                        for yet */
    const struct image *image;
    uint64_t base;          /**< of the engine in it; 0: it has none */
    char why[REASON_BYTES]; /**< of the latest failure: a clause about the process */
    bool may_pass;          /**< what failed may be otherwise soon, once all are let go */
};

/** Look for the engine in the process. @return false if it cannot be read. */
bool target_open(struct target *target, pid_t pid, const struct image *image);
/** Let all threads go that are stopped, and free. */
void target_close(struct target *target);

/** Sleep between looks at something. */
void target_pause(void);

uint64_t target_control(const struct target *target);
/** Copy the control structure from it; parts of it to it. */
bool target_read_control(struct target *target, struct rle_control *ret_control);
bool target_write_control(struct target *target, size_t offset, const void *from, size_t bytes);
bool target_state(struct target *target, uint32_t *ret_state);

/**
 * Calls that end with EINTR when their thread is stopped, though no handler ran: is this one that
 * waits without limit? Those are made again. For others that is what the kernel promises
 * (signal(7)), and how much of their time was left is not known.
 */
bool target_waits_without_limit(const struct user_regs_struct *regs);

/**
 * Stop all threads, also those that begin meanwhile. A signal that arrives at one first is
 * delivered.
 *
 * @param inside  those that are in a system call which returns to this address are left alone; 0:
 *                none is.
 * @return false, with `why`, if one does not stop or may not be traced; others may be stopped.
 */
bool target_stop_all(struct target *target, uint64_t inside);

/** The same for those that are there now. */
bool target_stop_some(struct target *target, uint64_t inside);

/** Let a thread go on. */
void target_let_go(const struct tracee *tracee);

/** Let all go on. */
void target_release(struct target *target);

/** Map the engine, and so many slots, if there is not enough of them yet. All threads are stopped.
 */
bool target_equip(struct target *target, struct rle_control *control, size_t n_slots);

#endif
