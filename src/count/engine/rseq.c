#include "count/engine/rseq.h"

#include <errno.h>
#include <stdint.h>

#include "count/engine/sys.h"

enum {
    AREA_ALIGN = 32,
    SEARCH_BYTES = 4096, /* to both sides of the thread pointer */
    FLAG_UNREGISTER = 1,
    NEVER_REGISTERED = -2, /* cpu_id, as the C library leaves it when the kernel refuses */
    LIBRARY_SIGNATURE = 0x53053053,
};

/* The start of struct rseq. */
struct area {
    uint32_t cpu_id_start;
    int32_t cpu_id;
    uint64_t critical_section;
};

static bool unregister(uint64_t at)
{
    static const unsigned sizes[] = {32, 64};
    for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        if (!rle_sys4(SYS_rseq, (long)at, sizes[i], FLAG_UNREGISTER, LIBRARY_SIGNATURE))
            return true;
    return false;
}

static void mark_unregistered(uint64_t at)
{
    struct area *area = (struct area *)at;
    area->cpu_id_start = 0;
    area->critical_section = 0;
    area->cpu_id = NEVER_REGISTERED;
}

/* The kernel compares the address with the registered one, so trying addresses is harmless. */
bool rle_rseq_withdraw(void)
{
    uint64_t thread_pointer;
    __asm__("mov %%fs:0, %0" : "=r"(thread_pointer));
    uint64_t first = (thread_pointer - SEARCH_BYTES) & ~(uint64_t)(AREA_ALIGN - 1);
    for (uint64_t at = first; at < first + 2 * SEARCH_BYTES; at += AREA_ALIGN) {
        if (!unregister(at))
            continue;
        mark_unregistered(at);
        return true;
    }
    return false;
}

void rle_rseq_take(const struct rle_rseq *rseq)
{
    if (rseq->area &&
        !rle_sys4(SYS_rseq, (long)rseq->area, rseq->bytes, FLAG_UNREGISTER, rseq->signature))
        mark_unregistered(rseq->area);
}

void rle_rseq_return(const struct rle_rseq *rseq)
{
    if (rseq->area)
        rle_sys4(SYS_rseq, (long)rseq->area, rseq->bytes, 0, rseq->signature);
}

long rle_rseq_defer(struct rle_rseq *rseq, const long *args)
{
    enum { AREA, BYTES, FLAGS, SIGNATURE };
    struct rle_rseq asked = {(uint64_t)args[AREA], (uint32_t)args[BYTES],
                             (uint32_t)args[SIGNATURE]};
    bool same = rseq->area == asked.area && rseq->bytes == asked.bytes;
    if (args[FLAGS] & FLAG_UNREGISTER) {
        if (!same || !asked.area)
            return -EINVAL;
        *rseq = (struct rle_rseq){0};
        return 0;
    }
    if (args[FLAGS] || !asked.area || asked.area % AREA_ALIGN || asked.bytes < AREA_ALIGN)
        return -EINVAL;
    if (rseq->area)
        return same ? -EBUSY : -EINVAL;
    *rseq = asked;
    mark_unregistered(asked.area);
    return 0;
}
