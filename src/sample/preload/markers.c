/* Regions of programs that were marked for other tools, timed without a change to them.
 *
 * Two families. Interfaces that a program calls by symbol (LIKWID, PAPI high-level, Caliper, NVTX
 * 2) are stood in front of: the call is noted and goes on to the real library where there is one.
 * Interfaces that load a tool by an environment variable (Intel ITT, NVTX 3) find it here. */
#include "region/region.h"

#include <dlfcn.h>
#include <roofline/region.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

/* The real function behind this one, if the program has its library loaded. */
#define NEXT(type, name) ((type)next_of(#name))

static void *next_of(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

/* One call by name that begins or ends a region and returns what the real one returns, else 0. */
#define MARKER(symbol, action)                                                                     \
    EXPORT int symbol(const char *name);                                                           \
    EXPORT int symbol(const char *name)                                                            \
    {                                                                                              \
        int (*next)(const char *) = NEXT(int (*)(const char *), symbol);                           \
        action(name);                                                                              \
        return next ? next(name) : 0;                                                              \
    }

/* LIKWID marker API, PAPI high-level API, Caliper C API. */
MARKER(likwid_markerStartRegion, roofline_region_begin)
MARKER(likwid_markerStopRegion, roofline_region_end)
MARKER(PAPI_hl_region_begin, roofline_region_begin)
MARKER(PAPI_hl_region_end, roofline_region_end)
MARKER(cali_begin_region, roofline_region_begin)
MARKER(cali_end_region, roofline_region_end)
MARKER(cali_begin_phase, roofline_region_begin)
MARKER(cali_end_phase, roofline_region_end)
MARKER(cali_begin_comm_region, roofline_region_begin)
MARKER(cali_end_comm_region, roofline_region_end)

/* NVTX 2: the library libnvToolsExt. Pushes and pops pair up within a thread. */

struct nvtx_attributes {
    uint16_t version, size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type;
    int32_t reserved;
    uint64_t payload;
    int32_t message_type; /**< 1: bytes */
    union {
        const char *ascii;
        const void *other;
    } message;
};

#define NVTX_MESSAGE_ASCII 1

static int push(const char *name)
{
    roofline_region_begin(name ? name : "(unnamed)");
    return 0;
}

static int push_ex(const struct nvtx_attributes *a)
{
    return push(a && a->message_type == NVTX_MESSAGE_ASCII ? a->message.ascii : NULL);
}

static int pop(void)
{
    region_end_innermost();
    return 0;
}

EXPORT int nvtxRangePushA(const char *name);
EXPORT int nvtxRangePushA(const char *name)
{
    int (*next)(const char *) = NEXT(int (*)(const char *), nvtxRangePushA);
    push(name);
    return next ? next(name) : 0;
}

EXPORT int nvtxRangePushEx(const struct nvtx_attributes *a);
EXPORT int nvtxRangePushEx(const struct nvtx_attributes *a)
{
    int (*next)(const struct nvtx_attributes *) =
        NEXT(int (*)(const struct nvtx_attributes *), nvtxRangePushEx);
    push_ex(a);
    return next ? next(a) : 0;
}

EXPORT int nvtxRangePop(void);
EXPORT int nvtxRangePop(void)
{
    int (*next)(void) = NEXT(int (*)(void), nvtxRangePop);
    pop();
    return next ? next() : 0;
}

/* NVTX 3 is all in its headers, which load the library that NVTX_INJECTION64_PATH names and let it
 * fill tables of function pointers. */

enum { NVTX_TABLE_CALLBACKS = 1, NVTX_MODULE_CORE = 1, NVTX_MODULE_CORE2 = 5 };
enum { NVTX_PUSH_EX = 8, NVTX_PUSH_A = 9, NVTX_POP = 11 };

typedef void (*function)(void);

struct nvtx_callbacks {
    size_t size;
    int (*table)(int module, function ***ret_table, unsigned *ret_size);
};

EXPORT int InitializeInjectionNvtx2(const void *(*get_table)(uint32_t id));
EXPORT int InitializeInjectionNvtx2(const void *(*get_table)(uint32_t id))
{
    const struct nvtx_callbacks *callbacks = get_table(NVTX_TABLE_CALLBACKS);
    function **table = NULL;
    unsigned n = 0;
    if (!callbacks || !callbacks->table || !callbacks->table(NVTX_MODULE_CORE, &table, &n) ||
        n <= NVTX_POP)
        return 0;
    *table[NVTX_PUSH_A] = (function)push;
    *table[NVTX_PUSH_EX] = (function)push_ex;
    *table[NVTX_POP] = (function)pop;
    return 1;
}

/* Intel ITT: a small static part in the program loads the library that INTEL_LIBITTNOTIFY64 names
 * and binds what it finds there. Domains and names are structures that both sides read. */

struct itt_id {
    unsigned long long word[3];
};

struct itt_name {
    const char *ascii;
    const void *wide;
    int extra1;
    void *extra2;
    struct itt_name *next;
};

struct itt_domain {
    volatile int flags; /**< non-zero: enabled */
    const char *ascii;
    const void *wide;
    int extra1;
    void *extra2;
    struct itt_domain *next;
};

EXPORT struct itt_domain *__itt_domain_create(const char *name);
EXPORT struct itt_domain *__itt_domain_create(const char *name)
{
    struct itt_domain *domain = calloc(1, sizeof *domain);
    if (domain) {
        domain->flags = 1;
        domain->ascii = strdup(name ? name : "");
    }
    return domain;
}

EXPORT struct itt_name *__itt_string_handle_create(const char *name);
EXPORT struct itt_name *__itt_string_handle_create(const char *name)
{
    struct itt_name *handle = calloc(1, sizeof *handle);
    if (handle)
        handle->ascii = strdup(name ? name : "");
    return handle;
}

EXPORT void __itt_task_begin(const struct itt_domain *domain, struct itt_id task,
                             struct itt_id parent, const struct itt_name *name);
EXPORT void __itt_task_begin(const struct itt_domain *domain, struct itt_id task,
                             struct itt_id parent, const struct itt_name *name)
{
    (void)domain, (void)task, (void)parent;
    push(name ? name->ascii : NULL);
}

EXPORT void __itt_task_end(const struct itt_domain *domain);
EXPORT void __itt_task_end(const struct itt_domain *domain)
{
    (void)domain;
    pop();
}

/* What lies between a resume and the next pause is one region. */
static const char collected[] = "(collected)";

EXPORT void __itt_resume(void);
EXPORT void __itt_resume(void)
{
    roofline_region_begin(collected);
}

EXPORT void __itt_pause(void);
EXPORT void __itt_pause(void)
{
    roofline_region_end(collected);
}
