#include "symbol/unit_index.h"

#include "base/array.h"

#include <stdlib.h>

/* Without memory the index stays short: the addresses that it lacks have no line. */
static void add_unit(struct unit_index *index, Dwarf_Die *unit, Dwarf_Addr bias)
{
    Dwarf_Addr base, begin, end;
    for (ptrdiff_t at = 0; (at = dwarf_ranges(unit, at, &base, &begin, &end)) > 0;) {
        struct unit_range *range =
            begin < end ? rl_array_append(&index->ranges, &index->n, sizeof *range) : NULL;
        if (range)
            *range = (struct unit_range){begin + bias, end + bias, *unit};
    }
}

static int by_begin(const void *a, const void *b)
{
    const struct unit_range *x = a, *y = b;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

static void build(struct unit_index *index, Dwfl_Module *module)
{
    Dwarf_Addr bias = 0;
    for (Dwarf_Die *unit = NULL; (unit = dwfl_module_nextcu(module, unit, &bias));)
        add_unit(index, unit, bias);
    if (index->n > 1)
        qsort(index->ranges, index->n, sizeof *index->ranges, by_begin);
    index->is_built = true;
}

/* The last range that begins at or below `address`. */
static struct unit_range *search(const struct unit_index *index, Dwarf_Addr address)
{
    size_t low = 0, high = index->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (index->ranges[middle].begin <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? &index->ranges[low - 1] : NULL;
}

Dwarf_Die *unit_index_find(struct unit_index *index, Dwfl_Module *module, Dwarf_Addr address,
                           Dwarf_Addr *ret_bias)
{
    Dwarf_Die *unit = dwfl_module_addrdie(module, address, ret_bias);
    if (unit)
        return unit;
    if (!index->is_built)
        build(index, module);
    struct unit_range *range = search(index, address);
    if (!range || address >= range->end || !dwfl_module_getdwarf(module, ret_bias))
        return NULL;
    return &range->unit;
}

void unit_index_release(struct unit_index *index)
{
    free(index->ranges);
    *index = (struct unit_index){0};
}
