#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "count/engine/launch/attach.h"
#include "count/engine/thread_block.h"

enum {
    SIGSET_BYTES = 8,
    ROUNDS = 20000, /* of waiting, 0.2 ms each */
    IDLE_LOOKS = 1,
    KICK_SHARE = 3, /* kicking all takes at most 1 part in so many of the time */
};

/** Until who has not left is kicked again, at least. */
#define KICK_PAUSE_NS 10000000u

static bool fail(struct target *t, const char *why)
{
    snprintf(t->why, sizeof(t->why), "%s", why);
    return false;
}

/* What cannot be read counts as `otherwise`. */
static bool is_set(struct target *t, uint64_t at, bool otherwise)
{
    uint32_t word;
    return remote_read(t->pid, at, &word, sizeof(word)) ? word != 0 : otherwise;
}

static bool is_leaving(struct target *t)
{
    uint32_t state;
    return target_state(t, &state) && state == RLE_PRESENCE_LEAVING;
}

/* A thread that just begins or ends has the segment of another one, or of one that follows it. It
 * leaves, or is gone, without being asked, and must not be: nobody waits for it, and the program's
 * handlers may be back before the signal is there. */
static bool has_block(struct target *t, const struct tracee *tracee,
                      const struct rle_control *control)
{
    int32_t tid;
    return tracee->regs.gs_base &&
           remote_read(t->pid, tracee->regs.gs_base + control->tid_at, &tid, sizeof(tid)) &&
           tid == process_inner_tid(t->pid, tracee->tid);
}

/* Queue the signal by which the engine is made to look. Only the thread itself changes what is
 * asked of its block, and it is stopped: while it has not parked the engine's handlers stay
 * installed. The program's own could not cope with the signal. */
static void kick(struct target *t, const struct tracee *tracee, const struct rle_control *control)
{
    uint64_t block = tracee->regs.gs_base, mask, trap = 1ull << (SIGTRAP - 1);
    if (!has_block(t, tracee, control) || !is_set(t, block + control->in_use_at, false) ||
        is_set(t, block + RLE_TB_PARKED, true) || is_set(t, block + RLE_TB_IN_SYSCALL, true) ||
        is_set(t, block + control->waits_at, true) || !is_leaving(t) ||
        ptrace(PTRACE_GETSIGMASK, tracee->tid, SIGSET_BYTES, &mask) < 0)
        return;
    siginfo_t info = {.si_signo = SIGTRAP, .si_code = SI_QUEUE};
    info.si_errno = RLE_KICK_ERRNO;
    info.si_pid = getpid();
    info.si_uid = getuid();
    info.si_value.sival_ptr = (void *)mask;
    uint64_t open = mask & ~trap;
    if (syscall(SYS_rt_tgsigqueueinfo, t->pid, tracee->tid, SIGTRAP, &info) == 0)
        ptrace(PTRACE_SETSIGMASK, tracee->tid, SIGSET_BYTES, &open);
}

/* @return how many threads are not in a system call of the program's, -1 if that cannot be told. */
static long kick_all(struct target *t, const struct rle_control *control)
{
    long n = target_stop_some(t, control->syscall_end) ? (long)t->n_threads : -1;
    for (long i = 0; i < n; i++)
        kick(t, &t->thread[i], control);
    target_release(t);
    return n;
}

static bool ask_to_leave(struct target *t)
{
    uint32_t leaving = RLE_PRESENCE_LEAVING, detaching = 1;
    return target_write_control(t, offsetof(struct rle_control, state), &leaving,
                                sizeof(leaving)) &&
           target_write_control(t, offsetof(struct rle_control, detaching), &detaching,
                                sizeof(detaching));
}

static bool is_over(uint32_t state)
{
    return state == RLE_PRESENCE_OUT || state == RLE_PRESENCE_ABORTED ||
           state == RLE_PRESENCE_FIXED;
}

/* Threads that were redirected, by a launcher that died perhaps, will be in, or give up. */
static bool are_coming(struct target *t)
{
    uint32_t expected = 0;
    return remote_read(t->pid, target_control(t) + offsetof(struct rle_control, expected),
                       &expected, sizeof(expected)) &&
           expected > 0;
}

/* Nobody is there to leave. Who comes out of a system call will find the request. */
static bool is_idle(struct target *t, uint32_t state, const struct rle_control *control, int *idle)
{
    long n = state == RLE_PRESENCE_LEAVING ? kick_all(t, control) : 0;
    bool busy = state == RLE_PRESENCE_OPENING || state == RLE_PRESENCE_CLOSING ||
                (state == RLE_PRESENCE_GATHERING && are_coming(t));
    *idle = n == 0 && !busy ? *idle + 1 : 0;
    return n >= 0 && *idle > IDLE_LOOKS;
}

static bool leave(struct target *t, const struct rle_control *control)
{
    uint32_t state;
    int idle = 0;
    uint64_t next_kick_ns = 0;
    t->why[0] = '\0';
    for (int i = 0; i < ROUNDS; i++) {
        if (!target_state(t, &state))
            return false;
        if (is_over(state))
            return true;
        if (state == RLE_PRESENCE_IN && !ask_to_leave(t))
            return false;
        if (state == RLE_PRESENCE_IN)
            state = RLE_PRESENCE_LEAVING;
        uint64_t begin_ns = monotonic_ns();
        if (begin_ns >= next_kick_ns) {
            if (is_idle(t, state, control, &idle))
                return true;
            uint64_t pause_ns = KICK_SHARE * (monotonic_ns() - begin_ns);
            next_kick_ns = begin_ns + (pause_ns > KICK_PAUSE_NS ? pause_ns : KICK_PAUSE_NS);
        }
        if (t->why[0] && !t->may_pass)
            return false;
        target_pause();
    }
    return fail(t, "a thread of it does not leave the engine");
}

bool detach(pid_t pid, const struct image *image, char *why)
{
    struct target t;
    struct rle_control control;
    uint32_t unwanted = 0;
    bool done = target_open(&t, pid, image);
    if (done && (!t.base || !target_read_control(&t, &control)))
        done = fail(&t, "the engine is not in it");
    else if (done && control.state == RLE_PRESENCE_FIXED)
        done = fail(&t, "it is counted since its start, and stays so");
    if (done)
        done = target_write_control(&t, offsetof(struct rle_control, wanted), &unwanted,
                                    sizeof(unwanted)) &&
               leave(&t, &control);
    target_close(&t);
    memcpy(why, t.why, REASON_BYTES);
    return done;
}

bool engine_went_with_program(pid_t pid, const struct image *image)
{
    struct target t;
    bool is_gone = target_open(&t, pid, image) && !t.base;
    target_close(&t);
    return is_gone;
}
