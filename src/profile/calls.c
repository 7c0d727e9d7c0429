#include "profile/calls_internal.h"

#include "base/array.h"
#include "base/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A stub's jump lies this close behind its first byte: there is a landing pad between at most. */
#define STUB_BYTES 16

static enum rl_status no_memory(struct rl_error *err)
{
    return rl_fail(err, RL_ENOMEM, "out of memory for calls");
}

void calls_release(struct calls *calls)
{
    free(calls->site);
    free(calls->stub);
    *calls = (struct calls){0};
}

/* --- gathering --- */

static const char *import_of(const struct code *code, uint32_t module,
                             const struct rl_flow_insn *insn)
{
    struct rl_symbol_module *symbols = code->module[module];
    if (!(insn->insn.flags & RL_INSN_HAS_SLOT))
        return NULL;
    return rl_symbol_import(symbols,
                            rl_symbol_address(symbols, insn->offset) + (uint64_t)insn->insn.target);
}

static enum rl_status add_stub(struct calls *calls, uint32_t module,
                               const struct rl_flow_insn *insn, const char *import,
                               struct rl_error *err)
{
    struct call_stub *stub = rl_array_append(&calls->stub, &calls->n_stub, sizeof *stub);
    if (!stub)
        return no_memory(err);
    *stub = (struct call_stub){module, insn->offset, import};
    return RL_OK;
}

/* @return whether the instruction may lead out of the function, and how. A jump through a pointer
 * that is not in a slot is more often a switch than a call, and is left alone. */
static bool describe_site(const struct rl_function *symbol, const struct rl_flow_insn *at,
                          const char *import, struct call_site *ret)
{
    const struct rl_insn *insn = &at->insn;
    bool is_call = insn->class == RL_INSN_CALL && !(insn->flags & RL_INSN_RETURN);
    *ret = (struct call_site){
        .calls = at->executions, .behind = at->offset + insn->length, .import = import};
    if (insn->flags & RL_INSN_HAS_TARGET) {
        ret->target = at->offset + (uint64_t)insn->target;
        bool is_inside = ret->target >= symbol->begin && ret->target < symbol->end;
        ret->kind = insn->flags & RL_INSN_CONDITIONAL ? SITE_CONDITIONAL : SITE_DIRECT;
        return is_call || (insn->class == RL_INSN_BRANCH && !is_inside);
    }
    ret->kind = import ? SITE_IMPORT : SITE_POINTER;
    return (insn->flags & RL_INSN_INDIRECT) && (is_call || import);
}

enum rl_status calls_add(struct calls *calls, const struct code *code, uint32_t module,
                         uint32_t unit, const struct rl_function *symbol,
                         const struct rl_flow *flow, struct rl_error *err)
{
    bool is_stubs = symbol->linkage_name && !strcmp(symbol->linkage_name, RL_SYMBOL_STUBS);
    for (size_t i = 0; i < flow->n_insns; i++) {
        const struct rl_flow_insn *insn = &flow->insns[i];
        const char *import = import_of(code, module, insn);
        struct call_site site;
        if (is_stubs && import)
            RL_TRY(add_stub(calls, module, insn, import, err));
        if (is_stubs || !insn->executions || !describe_site(symbol, insn, import, &site))
            continue;
        struct call_site *room = rl_array_append(&calls->site, &calls->n_site, sizeof *room);
        if (!room)
            return no_memory(err);
        site.caller = unit;
        site.module = module;
        *room = site;
    }
    return RL_OK;
}

/* --- where they led --- */

enum rl_status calls_add_call(struct resolver *r, struct call_site *site, uint32_t callee,
                              uint64_t calls, bool is_exact, struct rl_error *err)
{
    struct rl_tally_call *call = rl_array_append(&r->tally->call, &r->tally->n_call, sizeof *call);
    if (!call)
        return no_memory(err);
    *call = (struct rl_tally_call){site->caller, callee, (double)calls, is_exact};
    r->entries[callee] -= calls < r->entries[callee] ? calls : r->entries[callee];
    site->calls -= calls < site->calls ? calls : site->calls;
    return RL_OK;
}

static const char *stub_at(const struct calls *calls, uint32_t module, uint64_t target)
{
    size_t low = 0, high = calls->n_stub;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct call_stub *stub = &calls->stub[middle];
        if (stub->module < module || (stub->module == module && stub->offset < target))
            low = middle + 1;
        else
            high = middle;
    }
    const struct call_stub *stub = &calls->stub[low];
    bool found =
        low < calls->n_stub && stub->module == module && stub->offset - target < STUB_BYTES;
    return found ? stub->import : NULL;
}

static enum rl_status resolve_direct(struct resolver *r, struct call_site *site,
                                     struct rl_error *err)
{
    uint32_t callee, loop;
    site->import = stub_at(r->calls, site->module, site->target);
    if (site->import) {
        site->kind = SITE_IMPORT;
        return RL_OK;
    }
    rl_tally_find(r->tally, site->module, site->target, &callee, &loop);
    return callee == RL_TALLY_NONE ? RL_OK
                                   : calls_add_call(r, site, callee, site->calls, true, err);
}

/* Of a function with versions the C library calls the one it chose "__NAME_VERSION". */
static uint32_t find_version(const struct rl_tally *tally, uint32_t module, const char *name)
{
    uint32_t found = RL_TALLY_NONE;
    name += strspn(name, "_");
    size_t n = strlen(name);
    for (uint32_t i = 0; i < tally->n_function; i++) {
        const char *other = tally->unit[i].kernel.name;
        if (tally->unit[i].module != module || strncmp(other, "__", 2) != 0 ||
            strncmp(other + 2, name, n) != 0 || other[2 + n] != '_')
            continue;
        if (found != RL_TALLY_NONE)
            return RL_TALLY_NONE;
        found = i;
    }
    return found;
}

/** Where a name leads. */
struct landing {
    uint32_t module;   /* that offers it */
    uint32_t function; /* unit; RL_TALLY_NONE: one of that module's */
};

/* Of the functions that a module offers by a name, one for each version of it, the one that ran. */
static uint32_t find_export(const struct resolver *r, uint32_t module,
                            const struct rl_symbol_export *export, size_t n, const char *name)
{
    uint32_t found = RL_TALLY_NONE;
    for (size_t i = 0; i < n; i++) {
        uint32_t function, loop;
        if (export[i].is_chosen)
            function = find_version(r->tally, module, name);
        else
            rl_tally_find(r->tally, module, export[i].offset, &function, &loop);
        if (function != RL_TALLY_NONE && found != RL_TALLY_NONE && function != found)
            return RL_TALLY_NONE;
        found = function == RL_TALLY_NONE ? found : function;
    }
    return found;
}

/* What no module offers is called in the module itself. */
static struct landing find_landing(const struct resolver *r, const struct call_site *site)
{
    enum { MOST_VERSIONS = 8 };
    struct rl_symbol_export export[MOST_VERSIONS];
    for (uint32_t m = 0; m < r->tally->n_module; m++) {
        size_t n =
            r->tally->module[m].pid
                ? 0
                : rl_symbol_find_exports(r->code->module[m], site->import, export, MOST_VERSIONS);
        if (n)
            return (struct landing){m, find_export(r, m, export, n, site->import)};
    }
    return (struct landing){site->module, find_version(r->tally, site->module, site->import)};
}

static int compare_imports(const void *a, const void *b)
{
    const struct call_site *const *x = a, *const *y = b;
    int order = strcmp((*x)->import, (*y)->import);
    return order ? order : ((*x)->module > (*y)->module) - ((*x)->module < (*y)->module);
}

/* Sites of one name in one module lead to one place. Where that is not clear they are matched
 * together, by how often. */
static enum rl_status resolve_name(struct resolver *r, struct call_site **site, size_t n,
                                   struct rl_error *err)
{
    struct landing landing = find_landing(r, site[0]);
    for (size_t i = 0; i < n; i++) {
        site[i]->kind = SITE_POINTER;
        site[i]->lands = landing.module;
        if (landing.function != RL_TALLY_NONE)
            RL_TRY(calls_add_call(r, site[i], landing.function, site[i]->calls, true, err));
    }
    return RL_OK;
}

static enum rl_status resolve_imports(struct resolver *r, struct rl_error *err)
{
    size_t n = 0;
    struct call_site **import = calloc(r->calls->n_site + 1, sizeof *import);
    if (!import)
        return no_memory(err);
    for (size_t i = 0; i < r->calls->n_site; i++)
        if (r->calls->site[i].kind == SITE_IMPORT)
            import[n++] = &r->calls->site[i];
    qsort(import, n, sizeof *import, compare_imports);
    enum rl_status status = RL_OK;
    for (size_t i = 0, same; i < n && !status; i += same) {
        for (same = 1; i + same < n && !strcmp(import[i]->import, import[i + same]->import) &&
                       import[i]->module == import[i + same]->module;)
            same++;
        status = resolve_name(r, import + i, same, err);
    }
    free(import);
    return status;
}

/* Conditional jumps out of a function: all entries of their target that nothing else explains. */
static enum rl_status resolve_conditional(struct resolver *r, struct rl_error *err)
{
    for (size_t i = 0; i < r->calls->n_site; i++) {
        struct call_site *site = &r->calls->site[i];
        uint32_t callee, loop;
        if (site->kind != SITE_CONDITIONAL)
            continue;
        rl_tally_find(r->tally, site->module, site->target, &callee, &loop);
        uint64_t calls = callee == RL_TALLY_NONE ? 0 : r->entries[callee];
        if (calls)
            RL_TRY(calls_add_call(r, site, callee, calls < site->calls ? calls : site->calls, false,
                                  err));
    }
    return RL_OK;
}

/* Bodies of OpenMP constructs are functions of their own, "FUNCTION._omp_fn.N" or
 * "FUNCTION.omp_outlined": the runtime calls them, on behalf of that function. */
static enum rl_status resolve_outlined(struct resolver *r, struct rl_error *err)
{
    static const char *const infixes[] = {"._omp_fn.", ".omp_outlined"};
    for (uint32_t body = 0; body < r->tally->n_function; body++) {
        const struct rl_tally_unit *unit = &r->tally->unit[body];
        const char *end = strstr(unit->kernel.name, infixes[0]);
        end = end ? end : strstr(unit->kernel.name, infixes[1]);
        size_t n = end ? (size_t)(end - unit->kernel.name) : 0;
        for (uint32_t i = 0; n && r->entries[body] && i < r->tally->n_function; i++) {
            const struct rl_tally_unit *other = &r->tally->unit[i];
            struct call_site site = {.caller = i, .calls = r->entries[body]};
            if (other->module == unit->module &&
                !strncmp(other->kernel.name, unit->kernel.name, n) && !other->kernel.name[n])
                RL_TRY(calls_add_call(r, &site, body, site.calls, true, err));
        }
    }
    return RL_OK;
}

/* --- pointers: by how often --- */

/* Calls that others may have made as well: few enough to say who did, or at least who did most. */
#define EXACT_PART 0.01
#define MOST_PART  0.5

/** Sites that lead to the same place, or one that leads to any. */
struct group {
    struct call_site **site;
    size_t n;
    uint64_t calls;  /* not known yet where to */
    uint32_t module; /* RL_TALLY_NONE: anywhere */
};

struct groups {
    struct group *of; /* [n] descending by calls, as they were at first */
    size_t n;
    double *sum; /* [n_module + 1] calls by module; the last anywhere */
};

/* Of one name first, which then lie together; the others are on their own. */
static int compare_pointers(const void *a, const void *b)
{
    const struct call_site *const *x = a, *const *y = b;
    const char *p = (*x)->import ? (*x)->import : "", *q = (*y)->import ? (*y)->import : "";
    int order = strcmp(p, q);
    return order ? order : (*x > *y) - (*x < *y);
}

static bool same_group(const struct call_site *a, const struct call_site *b)
{
    return a->import && b->import && !strcmp(a->import, b->import) && a->lands == b->lands;
}

static int compare_groups(const void *a, const void *b)
{
    const struct group *x = a, *y = b;
    if (x->calls != y->calls)
        return x->calls < y->calls ? 1 : -1;
    return (x->site > y->site) - (x->site < y->site);
}

static void group_pointers(const struct resolver *r, struct call_site **site, size_t n,
                           struct groups *ret)
{
    qsort(site, n, sizeof *site, compare_pointers);
    for (size_t i = 0; i < n; i += ret->of[ret->n++].n) {
        struct group *g = &ret->of[ret->n];
        *g = (struct group){.site = site + i,
                            .module = site[i]->import ? site[i]->lands : RL_TALLY_NONE};
        do
            g->calls += site[i + g->n++]->calls;
        while (i + g->n < n && same_group(site[i], site[i + g->n]));
        ret->sum[g->module == RL_TALLY_NONE ? r->tally->n_module : g->module] += (double)g->calls;
    }
    qsort(ret->of, ret->n, sizeof *ret->of, compare_groups);
}

/* The only group that made enough calls, or NULL. */
static struct group *find_caller(const struct groups *groups, uint32_t module, uint64_t entries)
{
    struct group *found = NULL;
    for (size_t i = 0; i < groups->n && groups->of[i].n; i++) {
        struct group *g = &groups->of[i];
        if (g->calls < entries || (g->module != RL_TALLY_NONE && g->module != module))
            continue;
        if (found)
            return NULL;
        found = g;
    }
    return found;
}

static enum rl_status take_calls(struct resolver *r, struct groups *groups, struct group *from,
                                 uint32_t callee, bool is_exact, struct rl_error *err)
{
    uint64_t left = r->entries[callee];
    groups->sum[from->module == RL_TALLY_NONE ? r->tally->n_module : from->module] -= (double)left;
    from->calls -= left;
    for (size_t i = 0; i < from->n && left; i++) {
        uint64_t calls = from->site[i]->calls < left ? from->site[i]->calls : left;
        left -= calls;
        if (calls)
            RL_TRY(calls_add_call(r, from->site[i], callee, calls, is_exact, err));
    }
    return RL_OK;
}

static int compare_entries(const void *a, const void *b, void *context)
{
    const struct resolver *r = context;
    uint64_t x = r->entries[*(const uint32_t *)a], y = r->entries[*(const uint32_t *)b];
    return (x < y) - (x > y);
}

/* From the function entered most often to the least: who else could have called it so often? */
static enum rl_status match_groups(struct resolver *r, struct groups *groups, uint32_t *order,
                                   struct rl_error *err)
{
    size_t n = 0;
    for (uint32_t i = 0; i < r->tally->n_function; i++)
        if (r->entries[i])
            order[n++] = i;
    qsort_r(order, n, sizeof *order, compare_entries, r);
    for (size_t i = 0; i < n; i++) {
        uint32_t module = r->tally->unit[order[i]].module;
        double entries = (double)r->entries[order[i]];
        struct group *caller = find_caller(groups, module, r->entries[order[i]]);
        double others = groups->sum[module] + groups->sum[r->tally->n_module] -
                        (caller ? (double)caller->calls : 0);
        if (caller && others <= MOST_PART * entries)
            RL_TRY(take_calls(r, groups, caller, order[i], others <= EXACT_PART * entries, err));
    }
    return RL_OK;
}

static enum rl_status resolve_pointers(struct resolver *r, struct rl_error *err)
{
    size_t n = 0, n_site = r->calls->n_site;
    struct call_site **site = calloc(n_site + 1, sizeof *site);
    uint32_t *order = calloc(r->tally->n_function + 1, sizeof *order);
    struct groups groups = {.of = calloc(n_site + 1, sizeof *groups.of),
                            .sum = calloc(r->tally->n_module + 1, sizeof *groups.sum)};
    enum rl_status status = site && groups.of && groups.sum && order ? RL_OK : no_memory(err);
    for (size_t i = 0; i < n_site && !status; i++)
        if (r->calls->site[i].kind == SITE_POINTER && r->calls->site[i].calls)
            site[n++] = &r->calls->site[i];
    if (!status) {
        group_pointers(r, site, n, &groups);
        status = match_groups(r, &groups, order, err);
    }
    if (!status)
        status = calls_resolve_first(r, err);
    for (size_t i = 0; i < n && !status; i++)
        r->tally->unit[site[i]->caller].unknown_callees += (double)site[i]->calls;
    free(site);
    free(groups.of);
    free(groups.sum);
    free(order);
    return status;
}

static enum rl_status resolve(struct resolver *r, struct rl_error *err)
{
    for (size_t i = 0; i < r->calls->n_site; i++)
        if (r->calls->site[i].kind == SITE_DIRECT)
            RL_TRY(resolve_direct(r, &r->calls->site[i], err));
    RL_TRY(resolve_imports(r, err));
    RL_TRY(resolve_conditional(r, err));
    RL_TRY(resolve_outlined(r, err));
    RL_TRY(resolve_pointers(r, err));
    for (size_t i = 0; i < r->tally->n_function; i++)
        r->tally->unit[i].unknown_callers = (double)r->entries[i];
    return RL_OK;
}

/* Who calls a stub calls what it leads to. */
static uint32_t find_stubs(const struct rl_tally *tally, const struct call_stub *stub)
{
    uint32_t function, loop;
    rl_tally_find(tally, stub->module, stub->offset, &function, &loop);
    return function;
}

enum rl_status calls_resolve(struct calls *calls, const struct code *code, struct rl_tally *tally,
                             struct rl_error *err)
{
    struct resolver r = {calls, code, tally, calloc(tally->n_function + 1, sizeof *r.entries)};
    if (!r.entries)
        return no_memory(err);
    for (size_t i = 0; i < tally->n_function; i++)
        if (rl_known(tally->unit[i].kernel.calls))
            r.entries[i] = (uint64_t)tally->unit[i].kernel.calls.value;
    for (size_t i = 0; i < calls->n_stub; i++)
        if (find_stubs(tally, &calls->stub[i]) != RL_TALLY_NONE)
            r.entries[find_stubs(tally, &calls->stub[i])] = 0;
    enum rl_status status = resolve(&r, err);
    free(r.entries);
    return status;
}
