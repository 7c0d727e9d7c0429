/* Regions of programs that were marked for other tools, timed without a change to them.
 *
 * Here stand interfaces that a program calls by symbol (LIKWID, PAPI high-level, Caliper, NVTX 2):
 * the call is noted and goes on to the real library where there is one. What the real library does
 * is kept out of the region: it is called before one begins and after one has ended. */
#include "sample/preload/markers.h"
#include "region/region.h"

#include <dlfcn.h>
#include <roofline/region.h>
#include <stddef.h>

#define EXPORT __attribute__((visibility("default")))

static char absent;

/* The real function behind this one, if the program has its library loaded. Looked for once. */
static void *next_of(void **known, const char *name)
{
    void *next = __atomic_load_n(known, __ATOMIC_RELAXED);
    if (!next) {
        next = dlsym(RTLD_NEXT, name);
        next = next ? next : &absent;
        __atomic_store_n(known, next, __ATOMIC_RELAXED);
    }
    return next == &absent ? NULL : next;
}

/* A call by name that begins or ends a region and returns what the real one returns, else 0. */
#define MARKER_BEGIN(symbol)                                                                       \
    EXPORT int symbol(const char *name);                                                           \
    EXPORT int symbol(const char *name)                                                            \
    {                                                                                              \
        static void *known;                                                                        \
        int (*next)(const char *) = (int (*)(const char *))next_of(&known, #symbol);               \
        int result = next ? next(name) : 0;                                                        \
        roofline_region_begin(name);                                                               \
        return result;                                                                             \
    }

#define MARKER_END(symbol)                                                                         \
    EXPORT int symbol(const char *name);                                                           \
    EXPORT int symbol(const char *name)                                                            \
    {                                                                                              \
        static void *known;                                                                        \
        roofline_region_end(name);                                                                 \
        int (*next)(const char *) = (int (*)(const char *))next_of(&known, #symbol);               \
        return next ? next(name) : 0;                                                              \
    }

/* LIKWID marker API, PAPI high-level API, Caliper C API. */
MARKER_BEGIN(likwid_markerStartRegion)
MARKER_END(likwid_markerStopRegion)
MARKER_BEGIN(PAPI_hl_region_begin)
MARKER_END(PAPI_hl_region_end)
MARKER_BEGIN(cali_begin_region)
MARKER_END(cali_end_region)
MARKER_BEGIN(cali_begin_phase)
MARKER_END(cali_end_phase)
MARKER_BEGIN(cali_begin_comm_region)
MARKER_END(cali_end_comm_region)

/* NVTX 2: the library libnvToolsExt. Pushes and pops pair up within a thread. */

EXPORT int nvtxRangePushA(const char *name);
EXPORT int nvtxRangePushA(const char *name)
{
    static void *known;
    int (*next)(const char *) = (int (*)(const char *))next_of(&known, "nvtxRangePushA");
    int result = next ? next(name) : 0;
    marker_push(name);
    return result;
}

EXPORT int nvtxRangePushEx(const struct nvtx_attributes *a);
EXPORT int nvtxRangePushEx(const struct nvtx_attributes *a)
{
    static void *known;
    int (*next)(const struct nvtx_attributes *) =
        (int (*)(const struct nvtx_attributes *))next_of(&known, "nvtxRangePushEx");
    int result = next ? next(a) : 0;
    marker_push(a && a->message_type == NVTX_MESSAGE_ASCII ? a->message.ascii : NULL);
    return result;
}

EXPORT int nvtxRangePop(void);
EXPORT int nvtxRangePop(void)
{
    static void *known;
    region_end_innermost();
    int (*next)(void) = (int (*)(void))next_of(&known, "nvtxRangePop");
    return next ? next() : 0;
}
