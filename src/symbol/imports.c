#include "symbol/imports.h"

#include "base/array.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>

void import_table_release(struct import_table *table)
{
    free(table->import);
    free(table->export);
    *table = (struct import_table){0};
}

/* --- reading --- */

/** A section of entries, with the symbols and names they refer to. */
struct entries {
    Elf *elf;
    Elf_Data *data;
    Elf_Data *symbols; /* relocations: of the section they are linked to */
    size_t strings;    /* section with names */
    size_t n;
};

static bool open_entries(Elf *elf, const GElf_Shdr *header, Elf_Scn *section, struct entries *ret)
{
    GElf_Shdr linked;
    Elf_Scn *link = elf_getscn(elf, header->sh_link);
    *ret = (struct entries){.elf = elf, .data = elf_getdata(section, NULL)};
    if (!ret->data || !header->sh_entsize)
        return false;
    ret->n = ret->data->d_size / header->sh_entsize;
    ret->strings = header->sh_link;
    if (header->sh_type == SHT_RELA && link && gelf_getshdr(link, &linked)) {
        ret->symbols = elf_getdata(link, NULL);
        ret->strings = linked.sh_link;
    }
    return true;
}

static void read_import(const struct entries *from, int i, struct import_table *table)
{
    GElf_Rela rela;
    GElf_Sym symbol;
    struct import_row row = {0};
    if (!gelf_getrela(from->data, i, &rela))
        return;
    row.slot = rela.r_offset;
    switch (GELF_R_TYPE(rela.r_info)) {
    case R_X86_64_JUMP_SLOT:
    case R_X86_64_GLOB_DAT:
        if (from->symbols && gelf_getsym(from->symbols, (int)GELF_R_SYM(rela.r_info), &symbol))
            row.name = elf_strptr(from->elf, from->strings, symbol.st_name);
        if (!row.name || !*row.name)
            return;
        break;
    case R_X86_64_IRELATIVE:
        row.chooser = (uint64_t)rela.r_addend;
        break;
    default:
        return;
    }
    struct import_row *room = rl_array_append(&table->import, &table->n_import, sizeof row);
    if (room)
        *room = row;
}

static void read_export(const struct entries *from, int i, struct import_table *table)
{
    GElf_Sym symbol;
    if (!gelf_getsym(from->data, i, &symbol) || symbol.st_shndx == SHN_UNDEF)
        return;
    unsigned type = GELF_ST_TYPE(symbol.st_info);
    const char *name = elf_strptr(from->elf, from->strings, symbol.st_name);
    if ((type != STT_FUNC && type != STT_GNU_IFUNC) || !name || !*name)
        return;
    struct export_row *room =
        rl_array_append(&table->export, &table->n_export, sizeof *table->export);
    if (room)
        *room = (struct export_row){name, symbol.st_value, type == STT_GNU_IFUNC};
}

static int compare_imports(const void *a, const void *b)
{
    const struct import_row *x = a, *y = b;
    return (x->slot > y->slot) - (x->slot < y->slot);
}

static int compare_exports(const void *a, const void *b)
{
    const struct export_row *x = a, *y = b;
    return strcmp(x->name, y->name);
}

void import_table_read(struct Elf *elf, struct import_table *ret_table)
{
    Elf_Scn *section = NULL;
    struct import_table table = {.is_read = true};
    while (elf && (section = elf_nextscn(elf, section))) {
        GElf_Shdr header;
        struct entries entries;
        if (!gelf_getshdr(section, &header) ||
            (header.sh_type != SHT_RELA && header.sh_type != SHT_DYNSYM) ||
            !open_entries(elf, &header, section, &entries))
            continue;
        for (size_t i = 0; i < entries.n && i < INT32_MAX; i++)
            (header.sh_type == SHT_RELA ? read_import : read_export)(&entries, (int)i, &table);
    }
    if (table.n_import)
        qsort(table.import, table.n_import, sizeof *table.import, compare_imports);
    if (table.n_export)
        qsort(table.export, table.n_export, sizeof *table.export, compare_exports);
    *ret_table = table;
}

/* --- asking --- */

const struct import_row *import_table_at(const struct import_table *table, uint64_t slot)
{
    struct import_row key = {.slot = slot};
    return table->n_import
               ? bsearch(&key, table->import, table->n_import, sizeof key, compare_imports)
               : NULL;
}

const struct export_row *import_table_exports(const struct import_table *table, const char *name,
                                              size_t *ret_n)
{
    struct export_row key = {.name = name};
    const struct export_row *first =
        table->n_export ? bsearch(&key, table->export, table->n_export, sizeof key, compare_exports)
                        : NULL;
    const struct export_row *end = first;
    while (first && first > table->export && !strcmp(first[-1].name, name))
        first--;
    while (end && end < table->export + table->n_export && !strcmp(end->name, name))
        end++;
    *ret_n = (size_t)(end - first);
    return first;
}
