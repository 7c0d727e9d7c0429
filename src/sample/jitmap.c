#include "base/array.h"
#include "base/error.h"
#include "sample/sample.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_start(const void *a, const void *b)
{
    const struct rl_jit_symbol *s = a;
    const struct rl_jit_symbol *t = b;
    if (s->start != t->start)
        return s->start < t->start ? -1 : 1;
    return s->line < t->line ? -1 : s->line > t->line;
}

static enum rl_status add_line(struct rl_jit_map *map, char *line, size_t number,
                               struct rl_error *err)
{
    uint64_t start, size;
    int name = 0;
    line[strcspn(line, "\n")] = 0;
    if (sscanf(line, "%" SCNx64 " %" SCNx64 " %n", &start, &size, &name) < 2 || !name ||
        !line[name] || !size)
        return RL_OK;
    struct rl_jit_symbol *symbol = rl_array_append(&map->symbol, &map->n_symbol, sizeof *symbol);
    if (!symbol || !(symbol->name = strdup(line + name)))
        return rl_fail(err, RL_ENOMEM, "out of memory for a JIT map");
    symbol->start = start;
    symbol->size = size;
    symbol->line = number;
    return RL_OK;
}

enum rl_status rl_jit_map_load(const char *path, struct rl_jit_map *ret_map, struct rl_error *err)
{
    struct rl_jit_map map = {0};
    FILE *file = fopen(path, "re");
    if (!file)
        return rl_fail_errno(err, "%s", path);
    char *line = NULL;
    size_t capacity = 0;
    enum rl_status status = RL_OK;
    for (size_t n = 1; status == RL_OK && getline(&line, &capacity, file) > 0; n++)
        status = add_line(&map, line, n, err);
    free(line);
    fclose(file);
    if (status != RL_OK) {
        rl_jit_map_release(&map);
        return status;
    }
    if (map.n_symbol)
        qsort(map.symbol, map.n_symbol, sizeof *map.symbol, by_start);
    *ret_map = map;
    return RL_OK;
}

void rl_jit_map_release(struct rl_jit_map *map)
{
    for (size_t i = 0; i < map->n_symbol; i++)
        free(map->symbol[i].name);
    free(map->symbol);
    *map = (struct rl_jit_map){0};
}

/* Functions may overlap when memory was used again: of those that cover the address the newest. */
const struct rl_jit_symbol *rl_jit_map_find(const struct rl_jit_map *map, uint64_t address)
{
    const struct rl_jit_symbol *best = NULL;
    size_t low = 0;
    size_t high = map->n_symbol;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (map->symbol[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    /* Longer functions that start earlier are rare: look back over a bounded number. */
    for (size_t i = low; i-- > 0 && low - i <= 256;) {
        const struct rl_jit_symbol *s = &map->symbol[i];
        if (address - s->start < s->size && (!best || s->line > best->line))
            best = s;
    }
    return best;
}
