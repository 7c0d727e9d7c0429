/* The reviewed tables of data/events, which are built in: cores, their events, the order in which
 * these are counted, and encodings that must not be used. */
#ifndef RL_COUNT_PERF_EVENT_TABLE_H
#define RL_COUNT_PERF_EVENT_TABLE_H

#include "count/perf_event/metric.h"

#include <roofline/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Which counters can hold an event. */
enum rl_pmu_place {
    RL_PMU_PLACE_ANY = 0,
    RL_PMU_PLACE_LOW,   /**< counters 0 to 3 */
    RL_PMU_PLACE_PAIR,  /**< two neighbouring counters */
    RL_PMU_PLACE_FIXED, /**< one of its own, beside the general ones */
};

enum rl_pmu_certainty {
    RL_PMU_VENDOR = 0,  /**< in the maker's list */
    RL_PMU_DERIVED,     /**< put together from the maker's list */
    RL_PMU_SECOND_HAND, /**< in another tool's list */
    RL_PMU_UNVERIFIED,  /**< general knowledge */
    RL_PMU_NONE,        /**< there is none: `note` says so */
};

struct rl_pmu_event {
    size_t metric;     /**< index in rl_pmu_metric */
    const char *pmu;   /**< "core", or a folder of /sys/bus/event_source/devices, maybe with * */
    bool has_config;   /**< else `sysfs` is the only way */
    uint64_t config;   /**< of perf_event_attr */
    uint64_t config1;  /**< 0: none; else an offcore register is needed */
    const char *sysfs; /**< name in its folder events/; NULL: none */
    double weight;     /**< of one count */
    bool per_vector;   /**< weight x length of an SVE vector / 128 bit */
    enum rl_pmu_place place;
    bool is_system; /**< counts everybody on the machine */
    enum rl_pmu_certainty certainty;
    const char *event;   /**< as libpfm4 calls it; NULL: it does not know it */
    const char *libpfm4; /**< "4.13", "newer" or NULL */
    const char *source;
    const char *note; /**< NULL: none */
};

/** What the FLOP events of a core count, as a set. */
enum rl_pmu_flop_rule {
    RL_PMU_EXECUTED = 1,    /**< replays count again: an upper bound */
    RL_PMU_SPECULATIVE = 2, /**< wrong paths count too */
    RL_PMU_MASKED = 4,      /**< lanes that are switched off count */
    RL_PMU_MINMAX = 8,      /**< min, max and reciprocal estimates count */
    RL_PMU_UNWEIGHTED = 16, /**< the weight of an fma is not documented */
    RL_PMU_NO_FLOP = 32,    /**< there is no FLOP event */
};

struct rl_pmu_core {
    const char *name; /**< "skylake-sp" */
    const char *maker;
    const char *ids;
    char kind;             /**< 'P' or 'E' of a hybrid processor; '-' */
    unsigned counters;     /**< general ones of a thread alone on its core; 0: not used */
    unsigned counters_smt; /**< with a sibling */
    const char *plan;      /**< NULL: nothing is counted */
    unsigned flop;         /**< set of enum rl_pmu_flop_rule */
    bool has_victim_l3;
    struct rl_pmu_event *event;
    size_t n_event;
};

struct rl_pmu_order {
    const char *plan;
    const char *detail;  /**< "quick" or "full" */
    const char *metrics; /**< in order; name* for all that begin so */
};

/** An encoding that looks right and is not. */
struct rl_pmu_ban {
    const char *core; /**< maybe with * */
    const char *pmu;
    uint64_t config, mask;
    const char *metric; /**< maybe with * */
    const char *reason;
};

/** All-zero is valid and empty. Strings are the table's. */
struct rl_pmu_table {
    struct rl_pmu_core *core;
    size_t n_core;
    struct rl_pmu_order *order;
    size_t n_order;
    struct rl_pmu_ban *ban;
    size_t n_ban;
    char *text[4];
};

/** Texts of the four data files. */
struct rl_pmu_texts {
    const char *cores, *events, *plans, *never;
};

/** Load what was built in. @return RL_OK or RL_ENOMEM; release with rl_pmu_table_release. */
enum rl_status rl_pmu_table_load(struct rl_pmu_table *ret_table, struct rl_error *err);

/** The same from given texts. @return RL_OK; RL_EDATA naming file, line and fault; RL_ENOMEM. */
enum rl_status rl_pmu_table_parse(const struct rl_pmu_texts *texts, struct rl_pmu_table *ret_table,
                                  struct rl_error *err);
void rl_pmu_table_release(struct rl_pmu_table *table);

/** Core by name; NULL. */
const struct rl_pmu_core *rl_pmu_core_find(const struct rl_pmu_table *table, const char *name);

/**
 * Cores of a processor: one, or two of a hybrid, P before E.
 * @param maker    "intel", "amd", "arm".
 * @param family   CPUID family, or MIDR_EL1 implementer.
 * @param model    CPUID model, or MIDR_EL1 part.
 * @param ret_core [2], filled from the front; borrowed.
 * @return number found.
 */
size_t rl_pmu_core_identify(const struct rl_pmu_table *table, const char *maker, unsigned family,
                            unsigned model, unsigned stepping,
                            const struct rl_pmu_core *ret_core[2]);

/** Order of a core and detail; NULL. */
const struct rl_pmu_order *rl_pmu_order_find(const struct rl_pmu_table *table,
                                             const struct rl_pmu_core *core, const char *detail);

/** The ban that an event of this core falls under; NULL: none. */
const struct rl_pmu_ban *rl_pmu_ban_find(const struct rl_pmu_table *table,
                                         const struct rl_pmu_core *core,
                                         const struct rl_pmu_event *event);

/** Does `pattern` (a word, or a word with one * in it) fit `text`? */
bool rl_pmu_fits(const char *pattern, const char *text);

/** "vendor", "derived", … */
const char *rl_pmu_certainty_name(enum rl_pmu_certainty certainty);

#endif
