/* Whether a processor is the core that its family and model name, and which one it is if not.
 *
 * Hypervisors report a model of their choice, so that guests can move between hosts, and mask
 * features that some host lacks. What they cannot do is offer instructions that the core does not
 * execute. */
#include "base/array.h"
#include "base/error.h"
#include "catalog/catalog_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CANDIDATES = 32, DEEPEST = 16, NAMED_FEATURES = 3 };

static enum rl_status resolve(const struct rl_catalog *catalog, const struct rl_core *core,
                              const char *name, int depth, uint64_t *features, struct rl_error *err)
{
    const struct rl_spec *spec = rl_core_spec(core, "features");
    if (depth > DEEPEST)
        return rl_fail(err, RL_EDATA, "%s: features of %s are defined by themselves", name,
                       core->name);
    for (const char *word = spec ? spec->text : ""; *word;) {
        size_t n = strcspn(word, ",");
        uint64_t bit = rl_feature_find(word, n);
        const struct rl_core *other = NULL;
        for (size_t i = 0; i < catalog->n_core && !bit && !other; i++)
            if (strlen(catalog->core[i].name) == n && !strncmp(catalog->core[i].name, word, n))
                other = &catalog->core[i];
        if (!bit && !rl_core_spec(other, "features"))
            return rl_fail(err, RL_EDATA, "%s: \"%.*s\" among the features of %s is unknown", name,
                           (int)n, word, core->name);
        *features |= bit;
        if (other)
            RL_TRY(resolve(catalog, other, name, depth + 1, features, err));
        word += n;
        word += *word == ',';
    }
    return RL_OK;
}

enum rl_status rl_catalog_resolve_features(struct rl_catalog *catalog, const char *name,
                                           struct rl_error *err)
{
    for (size_t i = 0; i < catalog->n_core; i++) {
        struct rl_core *core = &catalog->core[i];
        RL_TRY(resolve(catalog, core, name, 0, &core->features, err));
    }
    return RL_OK;
}

/* Cores that a processor may be. */
struct candidates {
    const struct rl_core *core[MOST_CANDIDATES];
    unsigned n;
    bool by_caches; /* the sizes of its caches left fewer */
};

static bool size_fits(const struct rl_core *core, const char *metric, uint64_t bytes)
{
    double expected = rl_core_value(core, metric);
    return bytes == 0 || expected <= 0 || (double)bytes == expected;
}

/* All sizes together: a hypervisor that makes them up hardly ever meets all of a core's. */
static bool caches_fit(const struct rl_core *core, const struct rl_cpu *cpu)
{
    return cpu->l1d_bytes && cpu->l2_bytes && size_fits(core, "l1i_bytes", cpu->l1i_bytes) &&
           size_fits(core, "l1d_bytes", cpu->l1d_bytes) &&
           size_fits(core, "l2_bytes", cpu->l2_bytes);
}

static struct candidates find_candidates(const struct rl_catalog *catalog, const char *maker,
                                         const struct rl_cpu *cpu)
{
    struct candidates all = {0};
    struct candidates fitting = {.by_caches = true};
    for (size_t i = 0; i < catalog->n_core && all.n < MOST_CANDIDATES; i++) {
        const struct rl_core *core = &catalog->core[i];
        if (strncmp(core->name, maker, strcspn(maker, "-") + 1) != 0 ||
            (cpu->features & ~core->features))
            continue;
        all.core[all.n++] = core;
        if (caches_fit(core, cpu))
            fitting.core[fitting.n++] = core;
    }
    return fitting.n && fitting.n < all.n ? fitting : all;
}

static bool all_have(const struct candidates *c, const struct rl_spec *spec)
{
    for (unsigned k = 1; k < c->n; k++) {
        const struct rl_spec *other = rl_core_spec(c->core[k], spec->metric);
        if (!other || strcmp(other->text, spec->text) != 0)
            return false;
    }
    return true;
}

/* A core with the values that all candidates agree on. */
static enum rl_status share(const struct candidates *c, struct rl_core **ret, struct rl_error *err)
{
    struct rl_core *shared = calloc(1, sizeof *shared);
    bool ok = shared != NULL;
    for (size_t i = 0; ok && i < c->core[0]->n_spec; i++) {
        const struct rl_spec *spec = &c->core[0]->spec[i];
        if (!all_have(c, spec))
            continue;
        struct rl_spec *slot = rl_array_append(&shared->spec, &shared->n_spec, sizeof *slot);
        ok = slot != NULL;
        if (ok)
            *slot = *spec;
    }
    if (!ok) {
        free(shared ? shared->spec : NULL);
        free(shared);
        return rl_fail(err, RL_ENOMEM, "no memory for the catalogue");
    }
    shared->name = "shared";
    *ret = shared;
    return RL_OK;
}

/* Text that grows by pieces and is cut at the end of its buffer. */
struct text {
    char *buffer;
    size_t size, used;
};

static void put(struct text *t, const char *piece)
{
    size_t room = t->size - t->used;
    int n = snprintf(t->buffer + t->used, room, "%s", piece);
    t->used += n > 0 ? ((size_t)n < room ? (size_t)n : room - 1) : 0;
}

/* "amx_tile, amx_int8, amx_bf16 and 6 more" */
static void put_features(struct text *t, uint64_t features)
{
    char more[24];
    unsigned n = 0;
    for (unsigned i = 0; rl_feature_name(i); i++) {
        if (!(features >> i & 1))
            continue;
        if (n++ < NAMED_FEATURES) {
            put(t, n > 1 ? ", " : "");
            put(t, rl_feature_name(i));
        }
    }
    snprintf(more, sizeof more, " and %u more", n - NAMED_FEATURES);
    put(t, n > NAMED_FEATURES ? more : "");
}

static void put_conclusion(struct text *t, const struct candidates *c)
{
    if (!c->n) {
        put(t, "no core in the catalogue has them all, so no theoretical limits are known");
        return;
    }
    put(t, c->by_caches ? "by its features and caches it is " : "by its features it is ");
    for (unsigned i = 0; i < c->n; i++) {
        put(t, i == 0 ? "" : i + 1 < c->n ? ", " : " or ");
        put(t, c->core[i]->name);
    }
    put(t, c->n > 1 ? ", and limits are those on which they agree" : "");
}

enum rl_status rl_catalog_identify(const struct rl_catalog *catalog, const struct rl_cpu *cpu,
                                   struct rl_identity *ret, struct rl_error *err)
{
    struct rl_identity identity = {.core = rl_catalog_find(catalog, cpu)};
    struct text text = {.buffer = identity.note, .size = sizeof identity.note};
    uint64_t known = identity.core ? identity.core->features : 0;
    uint64_t foreign = known ? cpu->features & ~known : 0;
    char model[64];
    if (!foreign) {
        identity.name = identity.core ? identity.core->name : NULL;
        *ret = identity;
        return RL_OK;
    }
    struct candidates c = find_candidates(catalog, identity.core->name, cpu);
    snprintf(model, sizeof model, "CPUID names family %u model %u, ", cpu->family, cpu->model);
    put(&text, model);
    put(&text, identity.core->name);
    put(&text, ", but that core has no ");
    put_features(&text, foreign);
    put(&text, "; ");
    put_conclusion(&text, &c);
    if (c.n > 1)
        RL_TRY(share(&c, &identity.shared, err));
    identity.is_contradicted = true;
    identity.core = c.n > 1 ? identity.shared : c.n ? c.core[0] : NULL;
    identity.name = c.n == 1 ? c.core[0]->name : NULL;
    *ret = identity;
    return RL_OK;
}

void rl_identity_release(struct rl_identity *identity)
{
    if (identity->shared)
        free(identity->shared->spec);
    free(identity->shared);
    *identity = (struct rl_identity){0};
}
