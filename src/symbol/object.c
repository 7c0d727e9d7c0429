#include "symbol/object.h"

#include "symbol/debug_file.h"
#include "symbol/unit_index.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <gelf.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_SEGMENTS 16

struct segment {
    uint64_t offset, address, size;
};

struct object {
    Dwfl *dwfl;
    Dwfl_Module *module;
    struct debug_search search;
    GElf_Addr bias; /* dwfl's addresses minus the file's */
    struct segment segments[MOST_SEGMENTS];
    unsigned n_segments;
    uint64_t unwind_header; /* address of .eh_frame_hdr, 0: none */
    void *files;            /* tsearch tree of struct file_name */
    bool lacks_split;       /* a unit's full tree was asked for and is not to be had */
    struct unit_index units;
};

static int find_debuginfo(Dwfl_Module *module, void **user, const char *name, Dwarf_Addr base,
                          const char *file, const char *link, GElf_Word crc, char **ret_path)
{
    (void)name;
    (void)base;
    const unsigned char *id = NULL;
    GElf_Addr at;
    const struct debug_search *search = *user;
    const char *main_file = NULL, *debug_file = NULL;
    if (!search)
        return -1;
    int n = dwfl_module_build_id(module, &id, &at);
    dwfl_module_info(module, NULL, NULL, NULL, NULL, NULL, &main_file, &debug_file);
    if (!file) /* a supplementary file named by the debug file */
        return debug_file_open_alternate(search, debug_file ? debug_file : main_file, link,
                                         ret_path);
    return debug_file_open(search, file, id, n > 0 ? (size_t)n : 0, link, crc, ret_path);
}

static const Dwfl_Callbacks callbacks = {
    .find_elf = dwfl_build_id_find_elf, /* never asked: the file is given */
    .find_debuginfo = find_debuginfo,
    .section_address = dwfl_offline_section_address,
};

static void read_segments(struct object *object, Elf *elf)
{
    size_t n = 0;
    if (elf_getphdrnum(elf, &n))
        return;
    for (size_t i = 0; i < n && i < 4096; i++) {
        GElf_Phdr ph;
        if (!gelf_getphdr(elf, (int)i, &ph))
            continue;
        if (ph.p_type == PT_LOAD && (ph.p_flags & PF_X) && object->n_segments < MOST_SEGMENTS &&
            ph.p_filesz <= INT64_MAX && ph.p_offset <= INT64_MAX && ph.p_vaddr <= INT64_MAX)
            object->segments[object->n_segments++] =
                (struct segment){ph.p_offset, ph.p_vaddr, ph.p_filesz};
        if (ph.p_type == PT_GNU_EH_FRAME)
            object->unwind_header = ph.p_vaddr;
    }
}

static bool is_usable(Elf *elf)
{
    GElf_Ehdr header;
    return elf && elf_kind(elf) == ELF_K_ELF && gelf_getehdr(elf, &header) &&
           (header.e_type == ET_EXEC || header.e_type == ET_DYN);
}

static bool has_build_id(Dwfl_Module *module, const uint8_t *id, size_t size)
{
    const unsigned char *bits = NULL;
    GElf_Addr at;
    int n = dwfl_module_build_id(module, &bits, &at);
    return n <= 0 || ((size_t)n == size && !memcmp(bits, id, size));
}

struct object *object_open(const char *path, int fd, const char *debug_dir, const uint8_t *build_id,
                           size_t build_id_size, const char **ret_problem)
{
    struct object *object = calloc(1, sizeof *object);
    GElf_Addr bias = 0;
    void **user = NULL;
    Elf *elf = NULL;
    *ret_problem = "not an executable or library";
    if (!object || !(object->dwfl = dwfl_begin(&callbacks))) {
        close(fd);
        free(object);
        return NULL;
    }
    object->search.debug_dir = debug_dir;
    dwfl_report_begin(object->dwfl);
    object->module = dwfl_report_offline(object->dwfl, path, path, fd);
    if (!object->module) /* on success the file is libdwfl's */
        close(fd);
    dwfl_report_end(object->dwfl, NULL, NULL);
    if (object->module) {
        dwfl_module_info(object->module, &user, NULL, NULL, NULL, NULL, NULL, NULL);
        *user = &object->search;
        elf = dwfl_module_getelf(object->module, &bias);
    }
    if (!is_usable(elf)) {
        object_close(object);
        return NULL;
    }
    object->bias = bias;
    read_segments(object, elf);
    *ret_problem = NULL;
    if (build_id_size && !has_build_id(object->module, build_id, build_id_size)) {
        *ret_problem = "the file has changed since it ran";
        object_close(object);
        return NULL;
    }
    return object;
}

struct Elf *object_elf(struct object *object)
{
    GElf_Addr bias;
    return dwfl_module_getelf(object->module, &bias);
}

struct file_name {
    const char *recorded;  /* libdw's pointer: the key */
    const char *directory; /* likewise */
    char *path;
};

static void free_file_name(void *node)
{
    struct file_name *file = node;
    free(file->path);
    free(file);
}

void object_close(struct object *object)
{
    if (!object)
        return;
    tdestroy(object->files, free_file_name);
    unit_index_release(&object->units);
    dwfl_end(object->dwfl);
    free(object);
}

bool object_address(const struct object *object, uint64_t offset, uint64_t *ret_address)
{
    for (unsigned i = 0; i < object->n_segments; i++) {
        const struct segment *s = &object->segments[i];
        if (offset >= s->offset && offset - s->offset < s->size) {
            *ret_address = s->address + (offset - s->offset);
            return true;
        }
    }
    return false;
}

bool object_offset(const struct object *object, uint64_t address, uint64_t *ret_offset)
{
    for (unsigned i = 0; i < object->n_segments; i++) {
        const struct segment *s = &object->segments[i];
        if (address >= s->address && address - s->address < s->size) {
            *ret_offset = s->offset + (address - s->address);
            return true;
        }
    }
    return false;
}

/* Among the names of one address: exported before local, plain before underscored, current
 * before superseded. */
static uint8_t rank_of(const char *name, const GElf_Sym *symbol)
{
    unsigned rank = GELF_ST_BIND(symbol->st_info) == STB_LOCAL ? 16 : 0;
    if (GELF_ST_TYPE(symbol->st_info) == STT_NOTYPE)
        rank += 64;
    if (strchr(name, '@') && !strstr(name, "@@")) /* kept for old programs only */
        rank += 32;
    return (uint8_t)(rank + strspn(name, "_") % 8);
}

/* Labels without a type may stand for data that shares a segment with code. */
static bool is_in_code_section(Elf *elf, GElf_Word section)
{
    GElf_Shdr header;
    Elf_Scn *scn = elf ? elf_getscn(elf, section) : NULL;
    return scn && gelf_getshdr(scn, &header) && (header.sh_flags & SHF_EXECINSTR);
}

static bool is_code(const struct object *object, const GElf_Sym *symbol, const char *name,
                    uint64_t address)
{
    uint64_t offset;
    unsigned type = GELF_ST_TYPE(symbol->st_info);
    if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx == SHN_ABS || !name || !*name)
        return false;
    if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
        return false;
    if (type == STT_NOTYPE && (name[0] == '.' || name[0] == '$'))
        return false; /* assembler labels and mapping symbols */
    return object_offset(object, address, &offset);
}

static bool add_symbols(struct object *object, struct function_table *table)
{
    bool any = false;
    int n = dwfl_module_getsymtab(object->module);
    for (int i = 1; i < n; i++) {
        GElf_Sym symbol;
        GElf_Addr address;
        GElf_Word section;
        Elf *elf = NULL;
        const char *name =
            dwfl_module_getsym_info(object->module, i, &symbol, &address, &section, &elf, NULL);
        address -= object->bias;
        if (!is_code(object, &symbol, name, address) ||
            (GELF_ST_TYPE(symbol.st_info) == STT_NOTYPE && !is_in_code_section(elf, section)))
            continue;
        uint64_t size = symbol.st_size <= INT64_MAX ? symbol.st_size : 0;
        any |= GELF_ST_TYPE(symbol.st_info) == STT_FUNC;
        if (!function_table_add(table, (struct function_row){.begin = address,
                                                             .end = address + size,
                                                             .linkage = name,
                                                             .origin = RL_FUNCTION_SYMBOL,
                                                             .rank = rank_of(name, &symbol)}))
            break;
    }
    return any;
}

/* Stubs that jump to other modules have no symbols; together they are one function. */
static void add_stub_sections(struct object *object, struct function_table *table)
{
    GElf_Addr bias;
    size_t names;
    Elf *elf = dwfl_module_getelf(object->module, &bias);
    Elf_Scn *section = NULL;
    if (!elf || elf_getshdrstrndx(elf, &names))
        return;
    while ((section = elf_nextscn(elf, section))) {
        GElf_Shdr header;
        uint64_t offset;
        const char *name =
            gelf_getshdr(section, &header) ? elf_strptr(elf, names, header.sh_name) : NULL;
        if (!name || strncmp(name, ".plt", 4) != 0 || !(header.sh_flags & SHF_EXECINSTR) ||
            header.sh_size > UINT32_MAX || !object_offset(object, header.sh_addr, &offset))
            continue;
        if (!function_table_add(table, (struct function_row){.begin = header.sh_addr,
                                                             .end = header.sh_addr + header.sh_size,
                                                             .linkage = RL_SYMBOL_STUBS,
                                                             .origin = RL_FUNCTION_SYMBOL}))
            return;
    }
}

/* --- unwind tables: .eh_frame_hdr is a sorted table of function starts --- */

#define PE_DATAREL_SDATA4 0x3b
#define PE_PCREL_SDATA4   0x1b
#define PE_UDATA4         0x03

/* `size` bytes at an address of the file, or NULL. */
static const uint8_t *bytes_at(Elf *elf, uint64_t address, size_t size, size_t *ret_left)
{
    size_t n = 0, file_size = 0;
    const char *raw = elf_rawfile(elf, &file_size);
    if (!raw || elf_getphdrnum(elf, &n))
        return NULL;
    for (size_t i = 0; i < n && i < 4096; i++) {
        GElf_Phdr ph;
        if (!gelf_getphdr(elf, (int)i, &ph) || ph.p_type != PT_LOAD || address < ph.p_vaddr)
            continue;
        uint64_t in = address - ph.p_vaddr;
        if (in >= ph.p_filesz || ph.p_offset > file_size || ph.p_filesz > file_size - ph.p_offset)
            continue;
        *ret_left = (size_t)(ph.p_filesz - in);
        return *ret_left >= size ? (const uint8_t *)raw + ph.p_offset + in : NULL;
    }
    return NULL;
}

static int32_t read_i32(const uint8_t *at)
{
    int32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

/* Bytes of code an entry of .eh_frame covers, in the form every x86-64 compiler writes; else 0. */
static uint64_t entry_range(Elf *elf, uint64_t entry, uint64_t begin)
{
    size_t left;
    const uint8_t *at = bytes_at(elf, entry, 16, &left);
    if (!at || read_i32(at) <= 8)
        return 0;
    uint64_t stated = entry + 8 + (uint64_t)(int64_t)read_i32(at + 8);
    int32_t range = read_i32(at + 12);
    return stated == begin && range > 0 ? (uint64_t)range : 0;
}

static void add_unwind_entries(struct object *object, struct function_table *table)
{
    GElf_Addr bias;
    Elf *elf = dwfl_module_getelf(object->module, &bias);
    uint64_t header = object->unwind_header, offset;
    size_t left;
    const uint8_t *at = header && elf ? bytes_at(elf, header, 12, &left) : NULL;
    if (!at || at[0] != 1 || at[1] != PE_PCREL_SDATA4 || at[2] != PE_UDATA4 ||
        at[3] != PE_DATAREL_SDATA4)
        return;
    uint32_t n = (uint32_t)read_i32(at + 8);
    if (n > (left - 12) / 8)
        return;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t begin = header + (uint64_t)(int64_t)read_i32(at + 12 + 8 * (size_t)i);
        uint64_t entry = header + (uint64_t)(int64_t)read_i32(at + 16 + 8 * (size_t)i);
        if (!object_offset(object, begin, &offset))
            continue;
        if (!function_table_add(table,
                                (struct function_row){.begin = begin,
                                                      .end = begin + entry_range(elf, entry, begin),
                                                      .origin = RL_FUNCTION_UNWIND,
                                                      .rank = UINT8_MAX}))
            return;
    }
}

bool object_functions(struct object *object, struct function_table *table)
{
    uint64_t limit = 0;
    bool any = add_symbols(object, table);
    add_stub_sections(object, table);
    add_unwind_entries(object, table);
    for (unsigned i = 0; i < object->n_segments; i++)
        if (object->segments[i].address + object->segments[i].size > limit)
            limit = object->segments[i].address + object->segments[i].size;
    function_table_seal(table, limit);
    return any;
}

/* --- lines and inlined calls --- */

static int compare_file_names(const void *a, const void *b)
{
    const struct file_name *x = a, *y = b;
    if (x->recorded != y->recorded)
        return x->recorded < y->recorded ? -1 : 1;
    return (x->directory > y->directory) - (x->directory < y->directory);
}

/* A path made absolute by the compiler's directory, kept for the object's life. */
static const char *full_path(struct object *object, const char *recorded, const char *directory)
{
    if (!recorded || recorded[0] == '/' || !directory)
        return recorded;
    struct file_name key = {recorded, directory, NULL};
    struct file_name **found = tfind(&key, &object->files, compare_file_names);
    if (found)
        return (*found)->path;
    struct file_name *file = malloc(sizeof *file);
    if (!file)
        return recorded;
    *file = key;
    if (asprintf(&file->path, "%s/%s", directory, recorded) < 0) {
        free(file);
        return recorded;
    }
    if (!tsearch(file, &object->files, compare_file_names)) {
        free_file_name(file);
        return recorded;
    }
    return file->path;
}

bool object_line(struct object *object, uint64_t address, struct rl_source_line *ret)
{
    Dwarf_Addr bias = 0;
    Dwarf_Die *unit =
        unit_index_find(&object->units, object->module, address + object->bias, &bias);
    Dwarf_Line *row = unit ? dwarf_getsrc_die(unit, address + object->bias - bias) : NULL;
    const char *file = row ? dwarf_linesrc(row, NULL, NULL) : NULL;
    int line = 0;
    Dwarf_Attribute attribute;
    if (!file || dwarf_lineno(row, &line) || line <= 0)
        return false;
    ret->file =
        full_path(object, file, dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attribute)));
    ret->line = (unsigned)line;
    return true;
}

/* The unit's full tree: in split DWARF it is in another file. */
static Dwarf_Die *full_unit(struct object *object, Dwarf_Die *unit, Dwarf_Die *storage)
{
    uint8_t type = 0;
    if (dwarf_cu_info(unit->cu, NULL, &type, NULL, storage, NULL, NULL, NULL))
        return unit;
    if (type != DW_UT_skeleton)
        return unit;
    object->lacks_split |= !storage->addr;
    return storage->addr ? storage : unit;
}

const char *object_reader_version(void)
{
    return dwfl_version(NULL);
}

bool object_lacks_split(const struct object *object)
{
    return object->lacks_split;
}

static const char *die_name(Dwarf_Die *die)
{
    Dwarf_Attribute attribute;
    const char *name = NULL;
    if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) ||
        dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute))
        name = dwarf_formstring(&attribute);
    return name ? name : dwarf_diename(die);
}

/* A place that two attributes of `die` name: the number of a line and of a file of `unit`. */
static struct rl_source_line attribute_line(struct object *object, Dwarf_Die *unit, Dwarf_Die *die,
                                            unsigned file_name, unsigned line_name)
{
    struct rl_source_line site = {0};
    Dwarf_Attribute attribute;
    Dwarf_Word line = 0, index = 0;
    Dwarf_Files *files;
    size_t n;
    if (dwarf_formudata(dwarf_attr_integrate(die, line_name, &attribute), &line) == 0)
        site.line = (unsigned)line;
    if (dwarf_formudata(dwarf_attr_integrate(die, file_name, &attribute), &index) == 0 &&
        dwarf_getsrcfiles(unit, &files, &n) == 0 && index < n) {
        const char *directory = dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attribute));
        site.file = full_path(object, dwarf_filesrc(files, index, NULL, NULL), directory);
    }
    return site;
}

/* Scopes of an address from the innermost outwards, along the concrete tree; to be freed. */
static int find_scopes(struct object *object, uint64_t address, Dwarf_Die *storage,
                       Dwarf_Die **ret_unit, Dwarf_Die **ret_scopes)
{
    Dwarf_Addr bias = 0;
    Dwarf_Die *skeleton =
        unit_index_find(&object->units, object->module, address + object->bias, &bias);
    Dwarf_Die *inner = NULL;
    if (!skeleton)
        return 0;
    *ret_unit = full_unit(object, skeleton, storage);
    if (dwarf_getscopes(*ret_unit, address + object->bias - bias, &inner) <= 0)
        return 0;
    int n = dwarf_getscopes_die(&inner[0], ret_scopes);
    free(inner);
    return n;
}

bool object_declaration(struct object *object, uint64_t address, struct rl_source_line *ret)
{
    Dwarf_Die storage, *unit, *scopes = NULL;
    bool found = false;
    int n = find_scopes(object, address, &storage, &unit, &scopes);
    for (int i = 0; i < n && !found; i++) {
        if (dwarf_tag(&scopes[i]) != DW_TAG_subprogram)
            continue;
        *ret = attribute_line(object, unit, &scopes[i], DW_AT_decl_file, DW_AT_decl_line);
        found = ret->file && ret->line;
    }
    free(scopes);
    return found;
}

size_t object_inlined(struct object *object, uint64_t address, struct rl_inline_call *ret_calls,
                      size_t capacity)
{
    Dwarf_Die storage, *unit, *scopes = NULL;
    size_t n = 0;
    int n_scopes = find_scopes(object, address, &storage, &unit, &scopes);
    for (int i = 0; i < n_scopes && n < capacity; i++) {
        int tag = dwarf_tag(&scopes[i]);
        if (tag == DW_TAG_subprogram)
            break;
        if (tag != DW_TAG_inlined_subroutine)
            continue;
        const char *name = die_name(&scopes[i]);
        ret_calls[n++] = (struct rl_inline_call){
            name ? name : "?",
            attribute_line(object, unit, &scopes[i], DW_AT_call_file, DW_AT_call_line)};
    }
    free(scopes);
    return n;
}
