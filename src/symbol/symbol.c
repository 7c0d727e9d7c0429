#include "symbol/symbol.h"

#include "base/array.h"
#include "base/error.h"
#include "base/file.h"
#include "symbol/debug_file.h"
#include "symbol/demangle.h"
#include "symbol/functions.h"
#include "symbol/imports.h"
#include "symbol/object.h"
#include "symbol/perf_map.h"

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define LARGEST_MAP   ((size_t)512 << 20)
#define MOST_BUILD_ID 64

/* A name made on demand (module+offset, demangled callee), kept for the caller. */
struct made_name {
    char *text;
    uint64_t key; /* offset for gaps; 0 otherwise */
    const char *linkage;
};

struct rl_symbol_module {
    struct rl_symbols *symbols;
    char *path;
    uint8_t build_id[MOST_BUILD_ID];
    size_t build_id_size;
    pid_t jit_pid; /* 0: a file */
    struct object *object;
    struct function_table functions;
    struct import_table imports; /* read when first asked for */
    struct made_name *made;
    size_t n_made;
    char problem[128];
    char lacks[160];
};

struct rl_symbols {
    char *debug_dir, *map_dir;
    bool keep_mangled;
    const struct rl_symbol_copy *copy;
    size_t n_copy;
    struct rl_demangler demangler;
    struct rl_symbol_module **modules;
    size_t n_modules;
};

enum rl_status rl_symbols_new(const struct rl_symbols_options *options,
                              struct rl_symbols **ret_symbols, struct rl_error *err)
{
    struct rl_symbols *symbols = calloc(1, sizeof *symbols);
    if (symbols) {
        symbols->debug_dir =
            strdup(options && options->debug_dir ? options->debug_dir : "/usr/lib/debug");
        symbols->map_dir = strdup(options && options->map_dir ? options->map_dir : "/tmp");
    }
    if (!symbols || !symbols->debug_dir || !symbols->map_dir) {
        rl_symbols_free(symbols);
        return rl_fail(err, RL_ENOMEM, "no memory for symbols");
    }
    symbols->keep_mangled = options && options->keep_mangled;
    symbols->copy = options ? options->copy : NULL;
    symbols->n_copy = options ? options->n_copy : 0;
    if (!symbols->keep_mangled)
        rl_demangler_init(&symbols->demangler);
    *ret_symbols = symbols;
    return RL_OK;
}

static void free_module(struct rl_symbol_module *module)
{
    if (!module)
        return;
    for (size_t i = 0; i < module->n_made; i++)
        free(module->made[i].text);
    free(module->made);
    function_table_release(&module->functions);
    import_table_release(&module->imports);
    object_close(module->object);
    free(module->path);
    free(module);
}

void rl_symbols_free(struct rl_symbols *symbols)
{
    if (!symbols)
        return;
    for (size_t i = 0; i < symbols->n_modules; i++)
        free_module(symbols->modules[i]);
    free(symbols->modules);
    rl_demangler_release(&symbols->demangler);
    free(symbols->debug_dir);
    free(symbols->map_dir);
    free(symbols);
}

/* The kernel's own shared object, as a file, so that it is read like any other. */
static int open_vdso(void)
{
    uintptr_t at = getauxval(AT_SYSINFO_EHDR);
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)at;
    if (!at)
        return -1;
    size_t size = header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;
    int fd = memfd_create("vdso", MFD_CLOEXEC);
    if (fd >= 0 && write(fd, header, size) != (ssize_t)size) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static const struct rl_symbol_copy *find_copy(const struct rl_symbol_module *module)
{
    const struct rl_symbols *symbols = module->symbols;
    size_t size = module->build_id_size;
    for (size_t i = 0; i < symbols->n_copy; i++) {
        const struct rl_symbol_copy *copy = &symbols->copy[i];
        bool same = size && copy->n_build_id ? copy->n_build_id == size &&
                                                   !memcmp(copy->build_id, module->build_id, size)
                                             : !strcmp(copy->path, module->path);
        if (same)
            return copy;
    }
    return NULL;
}

static int open_file(const struct rl_symbol_module *module)
{
    char name[64];
    const struct rl_symbol_copy *copy = find_copy(module);
    if (copy)
        snprintf(name, sizeof name, "/proc/self/fd/%d", copy->fd);
    return regular_file_open(copy ? name : module->path);
}

static void load_file(struct rl_symbol_module *module)
{
    const char *problem = NULL;
    bool vdso = !strcmp(module->path, "[vdso]");
    int fd = vdso ? open_vdso() : open_file(module);
    if (fd < 0) {
        snprintf(module->problem, sizeof module->problem, "%s", strerror(errno));
        return;
    }
    module->object = object_open(module->path, fd, module->symbols->debug_dir, module->build_id,
                                 module->build_id_size, &problem);
    if (module->object && !object_functions(module->object, &module->functions))
        problem = "no symbol table: stripped";
    if (problem)
        snprintf(module->problem, sizeof module->problem, "%s", problem);
}

/* Whoever may write to that folder can put anything there: a pipe, a device, a file of terabytes.
 */
static int open_map(const char *path, struct rl_error *err)
{
    struct stat info;
    int fd = regular_file_open(path);
    if (fd < 0 && errno == EINVAL)
        rl_fail(err, RL_EDATA, "%s: no regular file", path);
    else if (fd < 0)
        rl_fail_errno(err, "%s", path);
    if (fd < 0)
        return -1;
    if (!fstat(fd, &info) && (uint64_t)info.st_size <= LARGEST_MAP)
        return fd;
    rl_fail(err, RL_EDATA, "%s: larger than %zu MiB", path, LARGEST_MAP >> 20);
    close(fd);
    return -1;
}

static void load_jit(struct rl_symbol_module *module)
{
    char *text, name[64];
    struct rl_error err = {0};
    int fd = open_map(module->path, &err);
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    if (fd >= 0 && rl_file_read(name, LARGEST_MAP, &text, NULL, &err) == RL_OK) {
        if (!perf_map_parse(text, &module->functions))
            snprintf(err.text, sizeof err.text, "no memory for the map");
        free(text);
    }
    if (fd >= 0)
        close(fd);
    snprintf(module->problem, sizeof module->problem, "%.*s", (int)sizeof module->problem - 1,
             err.text);
}

/* Takes `path`. */
static enum rl_status add_module(struct rl_symbols *symbols, char *path, pid_t jit_pid,
                                 const uint8_t *build_id, size_t build_id_size,
                                 struct rl_symbol_module **ret_module, struct rl_error *err)
{
    struct rl_symbol_module *module = calloc(1, sizeof *module);
    struct rl_symbol_module **room =
        module ? rl_array_append(&symbols->modules, &symbols->n_modules, sizeof module) : NULL;
    if (!path || !room) {
        free(path);
        free(module);
        return rl_fail(err, RL_ENOMEM, "no memory for a module's symbols");
    }
    *room = module;
    module->symbols = symbols;
    module->path = path;
    module->jit_pid = jit_pid;
    if (build_id_size && build_id_size <= MOST_BUILD_ID) {
        memcpy(module->build_id, build_id, build_id_size);
        module->build_id_size = build_id_size;
    }
    if (jit_pid)
        load_jit(module);
    else
        load_file(module);
    *ret_module = module;
    return RL_OK;
}

enum rl_status rl_symbols_open(struct rl_symbols *symbols, const char *path,
                               const uint8_t *build_id, size_t build_id_size,
                               struct rl_symbol_module **ret_module, struct rl_error *err)
{
    for (size_t i = 0; i < symbols->n_modules; i++) {
        struct rl_symbol_module *module = symbols->modules[i];
        if (!module->jit_pid && !strcmp(module->path, path) &&
            module->build_id_size == build_id_size &&
            (!build_id_size || !memcmp(module->build_id, build_id, build_id_size))) {
            *ret_module = module;
            return RL_OK;
        }
    }
    return add_module(symbols, strdup(path), 0, build_id, build_id_size, ret_module, err);
}

enum rl_status rl_symbols_open_jit(struct rl_symbols *symbols, pid_t pid,
                                   struct rl_symbol_module **ret_module, struct rl_error *err)
{
    char *path = NULL;
    for (size_t i = 0; i < symbols->n_modules; i++)
        if (symbols->modules[i]->jit_pid == pid) {
            *ret_module = symbols->modules[i];
            return RL_OK;
        }
    if (asprintf(&path, "%s/perf-%d.map", symbols->map_dir, (int)pid) < 0)
        path = NULL;
    return add_module(symbols, path, pid, NULL, 0, ret_module, err);
}

const char *rl_symbol_module_problem(const struct rl_symbol_module *module)
{
    return module->problem[0] ? module->problem : NULL;
}

const char *rl_symbol_module_lacks(struct rl_symbol_module *module)
{
    char package[PATH_MAX];
    if (!module->object || !object_lacks_split(module->object))
        return NULL;
    int n = snprintf(package, sizeof package, "%s.dwp", module->path);
    if (n > 0 && n < (int)sizeof package && !access(package, R_OK))
        snprintf(module->lacks, sizeof module->lacks,
                 "its split debug information is in a package (.dwp), which libdw reads from 0.191 "
                 "on, and this is %s",
                 object_reader_version());
    else
        snprintf(module->lacks, sizeof module->lacks,
                 "its split debug information (.dwo) is not where it was compiled");
    return module->lacks;
}

const char *rl_symbol_module_name(const struct rl_symbol_module *module)
{
    return module->jit_pid ? "[jit]" : rl_base_name(module->path);
}

static char *offset_name(const struct rl_symbol_module *module, uint64_t address)
{
    char *text;
    int n =
        asprintf(&text, "%s+0x%llx", rl_symbol_module_name(module), (unsigned long long)address);
    return n < 0 ? NULL : text;
}

static char *readable(const struct rl_symbols *symbols, const char *linkage)
{
    return symbols->keep_mangled ? strdup(linkage) : rl_demangle(&symbols->demangler, linkage);
}

static const char *find_made(const struct rl_symbol_module *module, uint64_t key,
                             const char *linkage)
{
    for (size_t i = module->n_made; i-- > 0;)
        if (module->made[i].key == key && module->made[i].linkage == linkage)
            return module->made[i].text;
    return NULL;
}

/* Takes `text`, which may be NULL for want of memory. @return it, or NULL. */
static const char *keep_made(struct rl_symbol_module *module, uint64_t key, const char *linkage,
                             char *text)
{
    struct made_name *made =
        text ? rl_array_append(&module->made, &module->n_made, sizeof *made) : NULL;
    if (!made) {
        free(text);
        return NULL;
    }
    *made = (struct made_name){text, key, linkage};
    return text;
}

/* A name that belongs to no row of the function table; found again by `key` and `linkage`. */
static const char *made_name(struct rl_symbol_module *module, uint64_t key, const char *linkage)
{
    const char *known = find_made(module, key, linkage);
    if (known)
        return known;
    char *text = linkage ? readable(module->symbols, linkage) : offset_name(module, key);
    known = keep_made(module, key, linkage, text);
    if (known)
        return known;
    return linkage ? linkage : rl_symbol_module_name(module);
}

/* No code is at the last address: a key that names of addresses do not have. */
#define KEY_WITHOUT_VERSION UINT64_MAX

static const char *without_version(struct rl_symbol_module *module, const char *linkage,
                                   const char *version)
{
    const char *known = find_made(module, KEY_WITHOUT_VERSION, linkage);
    if (!known)
        known = keep_made(module, KEY_WITHOUT_VERSION, linkage,
                          strndup(linkage, (size_t)(version - linkage)));
    return known ? known : linkage;
}

/* The module's own address of a file offset; JIT offsets are addresses already. */
static uint64_t to_address(const struct rl_symbol_module *module, uint64_t offset)
{
    uint64_t address = offset;
    if (module->object)
        object_address(module->object, offset, &address);
    return address;
}

uint64_t rl_symbol_address(const struct rl_symbol_module *module, uint64_t offset)
{
    return to_address(module, offset);
}

static const struct import_table *need_imports(struct rl_symbol_module *module)
{
    if (module->object && !module->imports.is_read)
        import_table_read(object_elf(module->object), &module->imports);
    return &module->imports;
}

/* A function with versions, of the module's own, is known by what chooses between them. */
static const char *chosen_name(struct rl_symbol_module *module, uint64_t chooser)
{
    uint64_t gap_begin, gap_end;
    const struct function_row *row =
        function_table_find(&module->functions, chooser, &gap_begin, &gap_end);
    bool is_named = row && row->begin == chooser && row->linkage;
    if (!is_named)
        return made_name(module, chooser, NULL);
    const char *version = strchr(row->linkage, '@');
    return version ? without_version(module, row->linkage, version) : row->linkage;
}

const char *rl_symbol_import(struct rl_symbol_module *module, uint64_t slot_address)
{
    const struct import_row *row = import_table_at(need_imports(module), slot_address);
    if (!row)
        return NULL;
    return row->name ? row->name : chosen_name(module, row->chooser);
}

size_t rl_symbol_find_exports(struct rl_symbol_module *module, const char *name,
                              struct rl_symbol_export *ret_exports, size_t capacity)
{
    size_t n_row, n = 0;
    const struct export_row *row = import_table_exports(need_imports(module), name, &n_row);
    for (size_t i = 0; i < n_row && n < capacity; i++) {
        struct rl_symbol_export found = {.is_chosen = row[i].is_chosen};
        if (object_offset(module->object, row[i].address, &found.offset))
            ret_exports[n++] = found;
    }
    return n;
}

static const char *row_name(struct rl_symbol_module *module, struct function_row *row)
{
    if (!row->name)
        row->name = row->linkage ? readable(module->symbols, row->linkage)
                                 : offset_name(module, row->begin);
    if (row->name)
        return row->name;
    return row->linkage ? row->linkage : rl_symbol_module_name(module);
}

void rl_symbol_function(struct rl_symbol_module *module, uint64_t offset,
                        struct rl_function *ret_function)
{
    uint64_t address = to_address(module, offset), shift = address - offset;
    uint64_t gap_begin, gap_end;
    struct function_row *row =
        function_table_find(&module->functions, address, &gap_begin, &gap_end);
    if (row) {
        *ret_function = (struct rl_function){.name = row_name(module, row),
                                             .linkage_name = row->linkage,
                                             .begin = row->begin - shift,
                                             .end = row->end - shift,
                                             .origin = row->origin};
        return;
    }
    /* Bounds in file offsets; a gap that begins before the segment begins at offset 0 at least. */
    uint64_t begin = gap_begin > shift ? gap_begin - shift : 0;
    uint64_t end = gap_end == UINT64_MAX ? gap_end : gap_end - shift;
    *ret_function = (struct rl_function){.name = made_name(module, shift + begin, NULL),
                                         .begin = begin,
                                         .end = end,
                                         .origin = RL_FUNCTION_UNKNOWN};
}

bool rl_symbol_line(struct rl_symbol_module *module, uint64_t offset, struct rl_source_line *ret)
{
    *ret = (struct rl_source_line){0};
    return module->object && object_line(module->object, to_address(module, offset), ret);
}

bool rl_symbol_declaration(struct rl_symbol_module *module, uint64_t offset,
                           struct rl_source_line *ret)
{
    *ret = (struct rl_source_line){0};
    return module->object && object_declaration(module->object, to_address(module, offset), ret);
}

size_t rl_symbol_inlined(struct rl_symbol_module *module, uint64_t offset,
                         struct rl_inline_call *ret_calls, size_t capacity)
{
    if (!module->object)
        return 0;
    size_t n = object_inlined(module->object, to_address(module, offset), ret_calls, capacity);
    for (size_t i = 0; i < n; i++)
        ret_calls[i].name = made_name(module, 0, ret_calls[i].name);
    return n;
}
