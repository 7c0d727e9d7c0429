#include "count/engine/evacuate.h"

#include <signal.h>
#include <time.h>

#include "count/engine/attach.h"
#include "count/engine/dispatch.h"
#include "count/engine/engine.h"
#include "count/engine/link.h"

enum { LOOK_AGAIN_NS = 1000000 };

#define PATIENCE_NS 1000000000ul

static bool has_left(const struct rle_thread *t)
{
    return !__atomic_load_n(&t->in_use, __ATOMIC_ACQUIRE) ||
           __atomic_load_n(&t->parked, __ATOMIC_ACQUIRE) ||
           __atomic_load_n(&t->in_syscall, __ATOMIC_ACQUIRE);
}

/* To those that are in the way: they leave at their next boundary, as if a launcher asked them to.
 * True if there are any. */
static bool kick_others(const struct rle_thread *thread, long pid, bool kick)
{
    uint8_t info[RLE_SIGINFO_BYTES];
    bool any = false;
    rle_kick_make(info);
    for (uint32_t i = 0; i < rle_engine.n_threads; i++) {
        const struct rle_thread *t = rle_engine.threads[i];
        if (t == thread || has_left(t))
            continue;
        any = true;
        if (kick && t->tid)
            rle_sys4(SYS_rt_tgsigqueueinfo, pid, t->tid, SIGTRAP, (long)info);
    }
    return any;
}

void rle_evacuate(const struct rle_thread *thread, const char *why)
{
    uint64_t time[2] = {0, LOOK_AGAIN_NS};
    long pid = rle_sys3(SYS_getpid, 0, 0, 0);
    rle_detach(why);
    rle_lock(&rle_engine.lock);
    rle_fragments_kill_all();
    bool any = kick_others(thread, pid, true);
    rle_unlock(&rle_engine.lock);
    uint64_t give_up_ns = rle_now_ns(CLOCK_MONOTONIC) + PATIENCE_NS;
    while (any && rle_now_ns(CLOCK_MONOTONIC) < give_up_ns) {
        rle_sys3(SYS_nanosleep, (long)time, 0, 0);
        any = kick_others(thread, pid, false);
    }
}
