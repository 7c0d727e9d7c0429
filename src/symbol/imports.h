/* What a module takes from others and offers to them: slots that the dynamic linker fills in, and
 * exported functions by name. */
#ifndef RL_SYMBOL_IMPORTS_H
#define RL_SYMBOL_IMPORTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct Elf;

/** A pointer to a function in the module's data. */
struct import_row {
    uint64_t slot;    /* its address */
    const char *name; /* of the function; NULL: chosen at start, … */
    uint64_t chooser; /* … by the code at this address */
};

struct export_row {
    const char *name;
    uint64_t address;
    bool is_chosen; /* `address` is of the code that chooses a version at start */
};

/** All-zero is valid and empty. Names are borrowed from the file. */
struct import_table {
    bool is_read;
    struct import_row *import; /* [n_import] ascending by slot */
    size_t n_import;
    struct export_row *export; /* [n_export] ascending by name */
    size_t n_export;
};

/** Read what there is: a damaged file gives less, as does the lack of memory. */
void import_table_read(struct Elf *elf, struct import_table *ret_table);
void import_table_release(struct import_table *table);

/** NULL: none. */
const struct import_row *import_table_at(const struct import_table *table, uint64_t slot);
/** All of a name, [ret_n]. */
const struct export_row *import_table_exports(const struct import_table *table, const char *name,
                                              size_t *ret_n);

#endif
