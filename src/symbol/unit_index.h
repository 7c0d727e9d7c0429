/* Which compilation unit covers an address, from the units' own ranges. libdw looks in
 * .debug_aranges alone, a section that clang does not write. */
#ifndef RL_SYMBOL_UNIT_INDEX_H
#define RL_SYMBOL_UNIT_INDEX_H

#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stddef.h>

struct unit_range {
    Dwarf_Addr begin, end; /* libdwfl's addresses */
    Dwarf_Die unit;
};

struct unit_index {
    struct unit_range *ranges; /* ascending by begin once built */
    size_t n;
    bool is_built;
};

/**
 * The unit of a place in a module.
 *
 * @param index    all-zero at first; filled when .debug_aranges does not have the address.
 * @param address  libdwfl's address.
 * @param ret_bias libdwfl's addresses minus the unit's.
 * @return the unit, valid as long as index and module; NULL if none covers it.
 */
Dwarf_Die *unit_index_find(struct unit_index *index, Dwfl_Module *module, Dwarf_Addr address,
                           Dwarf_Addr *ret_bias);

void unit_index_release(struct unit_index *index);

#endif
