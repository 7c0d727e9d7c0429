/* Call sites while it is found out where they led: calls.c, and calls_first.c for what is known of
 * pointers. */
#ifndef RL_PROFILE_CALLS_INTERNAL_H
#define RL_PROFILE_CALLS_INTERNAL_H

#include "profile/calls.h"

enum site_kind {
    SITE_DIRECT,      /* to `target` */
    SITE_CONDITIONAL, /* to `target`, sometimes */
    SITE_IMPORT,      /* to the function called `import` */
    SITE_POINTER,     /* to who knows where */
};

struct call_site {
    uint64_t calls;  /* times executed, until it is known where they led */
    uint64_t behind; /* offset of the instruction behind it, in its module */
    uint64_t target;
    const char *import;
    uint32_t caller; /* unit */
    uint32_t module; /* of the caller */
    uint32_t lands;  /* named pointers: the module it leads to */
    uint8_t kind;
};

struct call_stub {
    uint32_t module;
    uint64_t offset; /* of its jump */
    const char *import;
};

struct resolver {
    struct calls *calls;
    const struct code *code;
    struct rl_tally *tally;
    uint64_t *entries; /* [n_function] entries whose caller is not known yet */
};

/** Calls of a site led to a function: fewer are left to explain on both sides. */
enum rl_status calls_add_call(struct resolver *r, struct call_site *site, uint32_t callee,
                              uint64_t calls, bool is_exact, struct rl_error *err);

/**
 * Functions that were called through pointers: by whom first is known. What no other call explains
 * is taken for calls of that site, as many as it made: an estimate.
 */
enum rl_status calls_resolve_first(struct resolver *r, struct rl_error *err);

#endif
