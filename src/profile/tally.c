#include "profile/tally.h"

#include <stdlib.h>
#include <string.h>

void rl_tally_release(struct rl_tally *tally)
{
    for (size_t i = 0; i < tally->n_module; i++)
        free(tally->module[i].path);
    for (size_t i = 0; i < tally->n_unit; i++)
        rl_kernel_release(&tally->unit[i].kernel);
    for (size_t i = 0; i < tally->n_region; i++) {
        free(tally->region[i].name);
        rl_kernel_release(&tally->region[i].kernel);
    }
    for (size_t i = 0; i < tally->n_image; i++) {
        free(tally->image[i].path);
        rl_kernel_release(&tally->image[i].kernel);
    }
    free(tally->image);
    for (size_t i = 0; i < tally->n_line; i++)
        free(tally->line[i].file);
    free(tally->line);
    free(tally->code);
    free(tally->call);
    for (size_t i = 0; i < tally->n_note; i++)
        free(tally->note[i]);
    rl_kernel_release(&tally->program);
    free(tally->module);
    free(tally->unit);
    free(tally->region);
    free(tally->note);
    *tally = (struct rl_tally){0};
}

uint32_t rl_tally_find_module(const struct rl_tally *tally, const char *path,
                              const uint8_t *build_id, size_t n_build_id)
{
    for (uint32_t i = 0; i < tally->n_module; i++) {
        const struct rl_tally_module *m = &tally->module[i];
        bool both_known = n_build_id && m->n_build_id;
        bool same_id = n_build_id == m->n_build_id &&
                       (!n_build_id || !memcmp(build_id, m->build_id, n_build_id));
        if (!strcmp(m->path, path) && (!both_known || same_id))
            return i;
    }
    for (uint32_t i = 0; n_build_id && i < tally->n_module; i++) {
        const struct rl_tally_module *m = &tally->module[i];
        if (m->n_build_id == n_build_id && !memcmp(build_id, m->build_id, n_build_id))
            return i;
    }
    return RL_TALLY_NONE;
}

/* Loops nest: of those that hold the offset the innermost is the shortest. */
static uint32_t find_loop(const struct rl_tally *tally, uint32_t function, uint64_t offset)
{
    uint32_t best = RL_TALLY_NONE;
    size_t low = tally->n_function;
    size_t high = tally->n_unit;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (tally->unit[middle].function < function)
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t i = low; i < tally->n_unit && tally->unit[i].function == function; i++) {
        const struct rl_tally_unit *loop = &tally->unit[i];
        if (offset < loop->begin || offset >= loop->end)
            continue;
        const struct rl_tally_unit *known = best == RL_TALLY_NONE ? NULL : &tally->unit[best];
        if (!known || loop->end - loop->begin < known->end - known->begin)
            best = (uint32_t)i;
    }
    return best;
}

void rl_tally_find(const struct rl_tally *tally, uint32_t module, uint64_t offset,
                   uint32_t *ret_function, uint32_t *ret_loop)
{
    size_t low = 0;
    size_t high = tally->n_function;
    *ret_function = *ret_loop = RL_TALLY_NONE;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct rl_tally_unit *u = &tally->unit[middle];
        if (u->module < module || (u->module == module && u->begin <= offset))
            low = middle + 1;
        else
            high = middle;
    }
    if (!low)
        return;
    const struct rl_tally_unit *function = &tally->unit[low - 1];
    if (function->module != module || offset < function->begin || offset >= function->end)
        return;
    *ret_function = (uint32_t)(low - 1);
    *ret_loop = find_loop(tally, *ret_function, offset);
}
