/* What the interfaces of other tools have in common, inside the preloaded object. */
#ifndef RL_SAMPLE_PRELOAD_MARKERS_H
#define RL_SAMPLE_PRELOAD_MARKERS_H

#include <roofline/region.h>
#include <stddef.h>
#include <stdint.h>

/** NVTX's nvtxEventAttributes_t, versions 2 and 3. */
struct nvtx_attributes {
    uint16_t version, size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type;
    int32_t reserved;
    uint64_t payload;
    int32_t message_type; /**< NVTX_MESSAGE_… */
    union {
        const char *ascii;
        const wchar_t *wide;
        const char *registered; /**< what the registering function returned */
    } message;
};

enum { NVTX_MESSAGE_ASCII = 1, NVTX_MESSAGE_WIDE = 2, NVTX_MESSAGE_REGISTERED = 3 };

/** Begin a region that the innermost end will end. @param name  NULL: it has none. */
static inline void marker_push(const char *name)
{
    roofline_region_begin(name ? name : "(unnamed)");
}

#endif
