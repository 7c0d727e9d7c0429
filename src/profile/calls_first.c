#include "profile/calls_internal.h"

#include "base/error.h"

#include <stdlib.h>

/** A function, and the site that called it first through a pointer. */
struct first {
    struct call_site *site;
    uint32_t callee;
};

static enum rl_status no_memory(struct rl_error *err)
{
    return rl_fail(err, RL_ENOMEM, "out of memory for calls through pointers");
}

/* Sites are in the order of their modules and offsets. */
static struct call_site *find_site(const struct calls *calls, uint32_t module, uint64_t behind)
{
    size_t low = 0, high = calls->n_site;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct call_site *site = &calls->site[middle];
        if (site->module < module || (site->module == module && site->behind < behind))
            low = middle + 1;
        else
            high = middle;
    }
    struct call_site *site = &calls->site[low];
    bool found = low < calls->n_site && site->module == module && site->behind == behind;
    return found && site->kind == SITE_POINTER && !site->import ? site : NULL;
}

/* Module and offset of an address of a process; false outside of what is mapped. */
static bool find_offset(const struct resolver *r, uint32_t result, uint64_t address,
                        uint32_t *ret_module, uint64_t *ret_offset)
{
    const struct rl_result *from = &r->code->result[result];
    for (size_t m = 0; m < from->n_modules; m++) {
        const struct rl_result_module *module = &from->modules[m];
        if (address < module->address || address - module->address >= module->length)
            continue;
        *ret_module = r->code->map[result][m];
        *ret_offset =
            module->is_generated ? address : address - module->address + module->file_offset;
        return true;
    }
    return false;
}

static bool find_first(const struct resolver *r, uint32_t result,
                       const struct rl_result_first_call *call, struct first *ret)
{
    uint32_t module, loop;
    uint64_t offset;
    if (!find_offset(r, result, call->behind, &module, &offset) ||
        !(ret->site = find_site(r->calls, module, offset)) ||
        !find_offset(r, result, call->place, &module, &offset))
        return false;
    rl_tally_find(r->tally, module, offset, &ret->callee, &loop);
    return ret->callee != RL_TALLY_NONE && r->tally->unit[ret->callee].begin == offset;
}

static int compare_firsts(const void *a, const void *b, void *context)
{
    const struct resolver *r = context;
    uint64_t x = r->entries[((const struct first *)a)->callee];
    uint64_t y = r->entries[((const struct first *)b)->callee];
    return (x < y) - (x > y);
}

/* Those entered most have the first claim on the calls of a site that led to several. */
static enum rl_status claim(struct resolver *r, struct first *first, size_t n, struct rl_error *err)
{
    if (n)
        qsort_r(first, n, sizeof *first, compare_firsts, r);
    for (size_t i = 0; i < n; i++) {
        uint64_t entries = r->entries[first[i].callee];
        uint64_t calls = entries < first[i].site->calls ? entries : first[i].site->calls;
        if (calls)
            RL_TRY(calls_add_call(r, first[i].site, first[i].callee, calls, false, err));
    }
    return RL_OK;
}

enum rl_status calls_resolve_first(struct resolver *r, struct rl_error *err)
{
    size_t n = 0, most = 0;
    for (uint32_t k = 0; k < r->code->n_result; k++)
        most += r->code->result[k].n_first_calls;
    struct first *first = calloc(most + 1, sizeof *first);
    if (!first)
        return no_memory(err);
    for (uint32_t k = 0; k < r->code->n_result; k++)
        for (size_t i = 0; i < r->code->result[k].n_first_calls; i++)
            n += find_first(r, k, &r->code->result[k].first_calls[i], &first[n]);
    enum rl_status status = claim(r, first, n, err);
    free(first);
    return status;
}
