/* Published limits of processor cores, from data/catalog/microarchitectures.tsv, which is built in.
 *
 * A value comes with its certainty and source and is only ever a yardstick beside a measurement,
 * never a substitute for one. */
#ifndef RL_CATALOG_CATALOG_H
#define RL_CATALOG_CATALOG_H

#include "cpu/cpu.h"

#include <roofline/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum rl_certainty {
    RL_CERTAIN_VERIFIED = 0, /**< a second source agrees */
    RL_CERTAIN_SINGLE,       /**< one source */
    RL_CERTAIN_DERIVED,      /**< from pipe counts or widths */
    RL_CERTAIN_UNVERIFIED,
    RL_CERTAIN_MEMORY, /**< nobody looked it up */
    RL_CERTAIN_COUNT
};

/** "verified", "single source", "derived", "unverified", "from memory". */
const char *rl_certainty_name(enum rl_certainty certainty);

/** One value of one core. Strings are borrowed from the catalogue. */
struct rl_spec {
    const char *metric; /**< e.g. "fp64_fma_flop"; see the head of the data file */
    double value;       /**< 0 for the rows that list identifiers or features */
    const char *text;   /**< the value as written */
    const char *unit;
    enum rl_certainty certainty;
    const char *source;
    const char *note;
};

struct rl_core {
    const char *name; /**< "amd-zen5" */
    struct rl_spec *spec;
    size_t n_spec;
    uint64_t features; /**< as of rl_cpu: all that any model of it offers; 0 not known */
};

/** All-zero is valid and empty. */
struct rl_catalog {
    struct rl_core *core;
    size_t n_core;
    char *text; /**< owns every string */
};

/** Load what was built in. @return RL_OK or RL_ENOMEM. Release with rl_catalog_release. */
enum rl_status rl_catalog_load(struct rl_catalog *ret_catalog, struct rl_error *err);

/**
 * Parse catalogue text.
 *
 * @param text      [n_text] tab-separated; '#' starts a comment line, the first other line is the
 *                  head; rows of a core stand together.
 * @param name      of the file, for messages.
 * @return RL_OK; RL_EDATA naming file, line and fault; RL_ENOMEM.
 */
enum rl_status rl_catalog_parse(const char *text, size_t n_text, const char *name,
                                struct rl_catalog *ret_catalog, struct rl_error *err);
void rl_catalog_release(struct rl_catalog *catalog);

/** Core by name; NULL if there is none. */
const struct rl_core *rl_catalog_core(const struct rl_catalog *catalog, const char *name);

/**
 * Core of an x86 processor.
 *
 * @param vendor     CPUID vendor string.
 * @param core_type  CPUID leaf 0x1A type: 0x40 P core, 0x20 E core, 0 not a hybrid. Decides where
 *                   both kinds of a hybrid processor share family and model.
 * @return borrowed; NULL if the catalogue does not know it.
 */
const struct rl_core *rl_catalog_x86(const struct rl_catalog *catalog, const char *vendor,
                                     unsigned family, unsigned model, unsigned stepping,
                                     unsigned core_type);

/** Core of an Arm processor, by MIDR_EL1; NULL if the catalogue does not know it. */
const struct rl_core *rl_catalog_arm(const struct rl_catalog *catalog, unsigned implementer,
                                     unsigned part);

/** Core that a processor says it is; NULL if the catalogue does not know it. */
const struct rl_core *rl_catalog_find(const struct rl_catalog *catalog, const struct rl_cpu *cpu);

/** Which core a processor is, as far as what it says of itself holds together. */
struct rl_identity {
    const struct rl_core *core; /**< whose limits apply, borrowed; NULL: none known */
    const char *name;           /**< of the core, borrowed; NULL: unknown, or one of several */
    bool is_contradicted;       /**< it offers instructions that the core it names never had */
    char note[480];             /**< one sentence: what contradicts what, and what it is taken for
                                     instead; "" if nothing does */
    struct rl_core *shared;     /**< owned: what the cores it may be have in common */
};

/**
 * Find the core of a processor and check it against the features it offers.
 *
 * Fewer features than the core has are no contradiction: hypervisors mask some. More are: the core
 * is then looked for among those of the same maker that have them all, of which the sizes of caches
 * may leave fewer. Of several, `core` has the values on which all agree.
 *
 * @param catalog  must outlive the identity.
 * @return RL_OK or RL_ENOMEM. Release with rl_identity_release.
 */
enum rl_status rl_catalog_identify(const struct rl_catalog *catalog, const struct rl_cpu *cpu,
                                   struct rl_identity *ret_identity, struct rl_error *err);
void rl_identity_release(struct rl_identity *identity);

/** A value of a core; NULL if core is NULL or does not have it. */
const struct rl_spec *rl_core_spec(const struct rl_core *core, const char *metric);

/** The number, or 0 if there is none. */
double rl_core_value(const struct rl_core *core, const char *metric);

#endif
