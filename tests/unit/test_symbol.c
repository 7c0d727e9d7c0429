/* Names for addresses: symbols, lines, inlined calls, separate debug files, maps; broken files. */
#include "symbol/symbol.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../support/cmocka_all.h"

/* --- the code under the magnifier: this program's own --- */

static inline __attribute__((always_inline)) double inner_square(double x)
{
    return x * x + 1.0;
}

__attribute__((noinline)) double outer_sum(double a, double b);
double outer_sum(double a, double b)
{
    double sum = 0;
    for (int i = 0; i < 3; i++)
        sum += inner_square(a + i) * b;
    return sum;
}
static const unsigned line_of_outer_sum = __LINE__ - 6; /* of its brace, as compilers say */

struct self {
    uint64_t offset; /* of outer_sum in this file */
    char folder[32], path[64], command[512];
};

static int find_own_code(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size;
    uintptr_t address = (uintptr_t)outer_sum;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
        uintptr_t begin = info->dlpi_addr + ph->p_vaddr;
        if (ph->p_type == PT_LOAD && address >= begin && address < begin + ph->p_memsz) {
            *(uint64_t *)data = ph->p_offset + (address - begin);
            return 1;
        }
    }
    return 0;
}

static int set_up(void **state)
{
    static struct self self;
    ssize_t n = readlink("/proc/self/exe", self.path, sizeof self.path - 1);
    (void)n;
    strcpy(self.folder, "/tmp/rl_symbol_XXXXXX");
    if (!dl_iterate_phdr(find_own_code, &self.offset) || !mkdtemp(self.folder))
        return -1;
    *state = &self;
    return 0;
}

static int tear_down(void **state)
{
    struct self *self = *state;
    snprintf(self->command, sizeof self->command, "rm -rf %s", self->folder);
    return system(self->command);
}

/* Run a command in the scratch folder, with $SELF naming this program; skip without its tools. */
static void need(struct self *self, const char *command)
{
    snprintf(self->command, sizeof self->command,
             "cd %s && SELF=/proc/%d/exe && { %s; } > log 2>&1", self->folder, (int)getpid(),
             command);
    if (system(self->command)) {
        print_message("not possible here: %s\n", command);
        skip();
    }
}

static struct rl_symbols *new_symbols(const struct self *self)
{
    struct rl_symbols *symbols;
    char debug_dir[64];
    snprintf(debug_dir, sizeof debug_dir, "%s/debug", self->folder);
    const struct rl_symbols_options options = {.debug_dir = debug_dir, .map_dir = self->folder};
    assert_int_equal(rl_symbols_new(&options, &symbols, NULL), RL_OK);
    return symbols;
}

static struct rl_symbol_module *open_in_folder(struct rl_symbols *symbols, const struct self *self,
                                               const char *name)
{
    char path[96];
    struct rl_symbol_module *module;
    snprintf(path, sizeof path, "%s/%s", self->folder, name);
    assert_int_equal(rl_symbols_open(symbols, path, NULL, 0, &module, NULL), RL_OK);
    return module;
}

static struct rl_function function_at(struct rl_symbol_module *module, uint64_t offset)
{
    struct rl_function function = {0};
    rl_symbol_function(module, offset, &function);
    assert_non_null(function.name);
    return function;
}

static void a_function_has_its_name_bounds_and_line(void **state)
{
    struct self *self = *state;
    struct rl_symbols *symbols = new_symbols(self);
    struct rl_symbol_module *module;
    assert_int_equal(rl_symbols_open(symbols, "/proc/self/exe", NULL, 0, &module, NULL), RL_OK);
    assert_null(rl_symbol_module_problem(module));
    struct rl_function function = function_at(module, self->offset);
    assert_string_equal(function.name, "outer_sum");
    assert_int_equal(function.begin, self->offset);
    assert_true(function.end > function.begin + 8);
    assert_int_equal(function.origin, RL_FUNCTION_SYMBOL);
    assert_string_equal(function_at(module, function.end - 1).name, "outer_sum");
    assert_string_not_equal(function_at(module, function.end).name, "outer_sum");
    struct rl_source_line line;
    if (!rl_symbol_line(module, self->offset, &line))
        fail_msg("no line: was this test built without -g?");
    assert_non_null(strstr(line.file, "tests/unit/test_symbol.c"));
    assert_int_equal(line.file[0], '/');
    assert_in_range(line.line, line_of_outer_sum, line_of_outer_sum + 5); /* optimisers move it */
    rl_symbols_free(symbols);
}

/* The C library is asked where it has this function; the dynamic linker knows as well. */
static void an_exported_function_is_found_by_name(void **state)
{
    struct self *self = *state;
    struct rl_symbol_module *module;
    struct rl_symbol_export export[4];
    Dl_info info;
    void *function = dlsym(RTLD_DEFAULT, "qsort");
    if (!dladdr(function, &info) || !strstr(info.dli_fname, "libc"))
        skip();
    struct rl_symbols *symbols = new_symbols(self);
    assert_int_equal(rl_symbols_open(symbols, info.dli_fname, NULL, 0, &module, NULL), RL_OK);
    assert_int_equal(rl_symbol_find_exports(module, "qsort", export, 4), 1);
    uint64_t at = (uint64_t)((const char *)function - (const char *)info.dli_fbase);
    assert_int_equal(rl_symbol_address(module, export[0].offset), at);
    assert_false(export[0].is_chosen);
    assert_int_equal(rl_symbol_find_exports(module, "no_such_function", export, 4), 0);
    assert_null(rl_symbol_import(module, at));
    rl_symbols_free(symbols);
}

static void a_function_is_declared_where_the_source_says(void **state)
{
    struct self *self = *state;
    struct rl_symbols *symbols = new_symbols(self);
    struct rl_symbol_module *module;
    assert_int_equal(rl_symbols_open(symbols, "/proc/self/exe", NULL, 0, &module, NULL), RL_OK);
    struct rl_source_line line;
    for (unsigned i = 0; i < 30; i += 10) {
        assert_true(rl_symbol_declaration(module, self->offset + i, &line));
        assert_non_null(strstr(line.file, "test_symbol.c"));
        /* The definition, or the prototype above it. */
        assert_in_range(line.line, line_of_outer_sum - 2, line_of_outer_sum - 1);
    }
    assert_false(rl_symbol_declaration(module, 0, &line));
    rl_symbols_free(symbols);
}

static unsigned find_inlined(struct rl_symbol_module *module, uint64_t begin, uint64_t end)
{
    unsigned n = 0;
    for (uint64_t at = begin; at < end; at++) {
        struct rl_inline_call calls[4];
        if (rl_symbol_inlined(module, at, calls, 4) != 1)
            continue;
        assert_string_equal(calls[0].name, "inner_square");
        assert_non_null(strstr(calls[0].caller.file, "test_symbol.c"));
        assert_int_equal(calls[0].caller.line, line_of_outer_sum + 3);
        n++;
    }
    return n;
}

static void inlined_calls_name_callee_and_call_site(void **state)
{
    struct self *self = *state;
    struct rl_symbols *symbols = new_symbols(self);
    struct rl_symbol_module *module;
    assert_int_equal(rl_symbols_open(symbols, "/proc/self/exe", NULL, 0, &module, NULL), RL_OK);
    struct rl_function function = function_at(module, self->offset);
    struct rl_inline_call call;
    assert_int_equal(rl_symbol_inlined(module, function.begin, &call, 1), 0);
    assert_true(find_inlined(module, function.begin, function.end) > 0);
    assert_int_equal(rl_symbol_inlined(module, function.begin, &call, 0), 0);
    rl_symbols_free(symbols);
}

/* As clang leaves it. */
static void lines_and_inlined_calls_need_no_table_of_address_ranges(void **state)
{
    struct self *self = *state;
    need(self, "objcopy --remove-section .debug_aranges $SELF bare");
    struct rl_symbols *symbols = new_symbols(self);
    struct rl_symbol_module *module = open_in_folder(symbols, self, "bare");
    struct rl_function function = function_at(module, self->offset);
    struct rl_source_line line;
    assert_true(rl_symbol_line(module, self->offset, &line));
    assert_non_null(strstr(line.file, "tests/unit/test_symbol.c"));
    assert_in_range(line.line, line_of_outer_sum, line_of_outer_sum + 5);
    assert_true(find_inlined(module, function.begin, function.end) > 0);
    assert_false(rl_symbol_line(module, 0, &line));
    rl_symbols_free(symbols);
}

static void stripped_code_keeps_its_bounds(void **state)
{
    struct self *self = *state;
    need(self, "strip -o stripped $SELF");
    struct rl_symbols *symbols = new_symbols(self);
    struct rl_symbol_module *module = open_in_folder(symbols, self, "stripped");
    assert_non_null(strstr(rl_symbol_module_problem(module), "stripped"));
    struct rl_function function = function_at(module, self->offset + 5);
    char expected[64];
    snprintf(expected, sizeof expected, "stripped+0x%llx",
             (unsigned long long)rl_symbol_address(module, self->offset));
    assert_string_equal(function.name, expected);
    assert_int_equal(function.origin, RL_FUNCTION_UNWIND);
    assert_int_equal(function.begin, self->offset);
    assert_true(function.end > function.begin + 8);
    rl_symbols_free(symbols);
}

static void debug_files_are_found_by_build_id(void **state)
{
    struct self *self = *state;
    need(self, "strip -o by_id $SELF && id=$(readelf -n $SELF | sed -n 's/.*Build ID: //p') && "
               "test -n \"$id\" && mkdir -p debug/.build-id/$(echo $id | cut -c1-2) && "
               "objcopy --only-keep-debug $SELF "
               "debug/.build-id/$(echo $id | cut -c1-2)/$(echo $id | cut -c3-).debug");
    struct rl_symbols *symbols = new_symbols(self);
    struct rl_symbol_module *module = open_in_folder(symbols, self, "by_id");
    struct rl_function function = function_at(module, self->offset);
    assert_string_equal(function.name, "outer_sum");
    assert_int_equal(function.begin, self->offset);
    struct rl_source_line line;
    assert_true(rl_symbol_line(module, self->offset, &line));
    assert_in_range(line.line, line_of_outer_sum, line_of_outer_sum + 5); /* optimisers move it */
    assert_true(find_inlined(module, function.begin, function.end) > 0);
    rl_symbols_free(symbols);
    need(self, "rm -r debug");
}

static void debug_links_are_followed_and_their_checksum_is_checked(void **state)
{
    struct self *self = *state;
    need(self, "mkdir -p .debug && objcopy --only-keep-debug $SELF .debug/linked.debug && "
               "objcopy --strip-all --remove-section=.note.gnu.build-id "
               "--add-gnu-debuglink=.debug/linked.debug $SELF linked");
    struct rl_symbols *symbols = new_symbols(self);
    assert_string_equal(function_at(open_in_folder(symbols, self, "linked"), self->offset).name,
                        "outer_sum");
    rl_symbols_free(symbols);
    need(self, "echo >> .debug/linked.debug");
    symbols = new_symbols(self);
    assert_string_not_equal(function_at(open_in_folder(symbols, self, "linked"), self->offset).name,
                            "outer_sum");
    rl_symbols_free(symbols);
}

static void a_file_that_changed_since_it_ran_is_not_used(void **state)
{
    struct self *self = *state;
    struct rl_symbols *symbols = new_symbols(self);
    struct rl_symbol_module *module, *again;
    static const uint8_t other[20] = {1, 2, 3};
    need(self, "readelf -n $SELF | grep -q 'Build ID'");
    assert_int_equal(rl_symbols_open(symbols, "/proc/self/exe", other, 20, &module, NULL), RL_OK);
    assert_non_null(strstr(rl_symbol_module_problem(module), "changed"));
    assert_string_not_equal(function_at(module, self->offset).name, "outer_sum");
    assert_int_equal(rl_symbols_open(symbols, "/proc/self/exe", other, 20, &again, NULL), RL_OK);
    assert_ptr_equal(module, again);
    rl_symbols_free(symbols);
}

static const char split_source[] =
    "printf '%s\\n' 'static inline __attribute__((always_inline)) int in(int x)' "
    "'{ return x * 3; }' 'int out(int x)' '{' 'return in(x) + 1;' '}' "
    "'int main(void) { return out(2); }' > s.c";

/* Where `out` begins in the program `name`: in small PIEs offset is address. */
static uint64_t address_of_out(struct self *self, const char *name)
{
    char command[160], path[96];
    unsigned long long address;
    snprintf(command, sizeof command, "nm %s | sed -n 's/ T out$//p' > address && test -s address",
             name);
    need(self, command);
    snprintf(path, sizeof path, "%s/address", self->folder);
    FILE *file = fopen(path, "r");
    assert_int_equal(fscanf(file, "%llx", &address), 1);
    fclose(file);
    return address;
}

/* Bytes of `out` that belong to the inlined `in`. */
static unsigned count_inlined(struct rl_symbol_module *module, uint64_t address)
{
    struct rl_function function = function_at(module, address);
    unsigned inlined = 0;
    for (uint64_t at = function.begin; at < function.end; at++) {
        struct rl_inline_call call;
        if (rl_symbol_inlined(module, at, &call, 1)) {
            assert_string_equal(call.name, "in");
            assert_int_equal(call.caller.line, 5);
            inlined++;
        }
    }
    return inlined;
}

static void lines_come_from_split_debug_information(void **state)
{
    struct self *self = *state;
    need(self, split_source);
    need(self, "cc -g -gsplit-dwarf -o split s.c && ls *.dwo");
    uint64_t address = address_of_out(self, "split");
    struct rl_symbols *symbols = new_symbols(self);
    struct rl_symbol_module *module = open_in_folder(symbols, self, "split");
    struct rl_source_line line;
    assert_true(rl_symbol_line(module, address, &line));
    assert_int_equal(line.line, 4);
    assert_true(count_inlined(module, address) > 0);
    rl_symbols_free(symbols);
    need(self, "rm *.dwo"); /* lost: lines are in the program itself */
    symbols = new_symbols(self);
    module = open_in_folder(symbols, self, "split");
    assert_true(rl_symbol_line(module, address, &line));
    assert_int_equal(line.line, 4);
    assert_null(rl_symbol_module_lacks(module)); /* nothing was asked for that is lost */
    assert_int_equal(count_inlined(module, address), 0);
    assert_non_null(strstr(rl_symbol_module_lacks(module), "(.dwo) is not where it was compiled"));
    rl_symbols_free(symbols);
}

/* libdw reads packages from 0.191 on: before, no inlined calls, and functions are placed where
 * their first instruction is. What lacks is said. */
static void check_package(struct self *self, const char *make)
{
    need(self, split_source);
    need(self, make);
    need(self, "test -s packed.dwp && rm *.dwo");
    uint64_t address = address_of_out(self, "packed");
    struct rl_symbols *symbols = new_symbols(self);
    struct rl_symbol_module *module = open_in_folder(symbols, self, "packed");
    struct rl_source_line line;
    assert_string_equal(function_at(module, address).name, "out");
    assert_true(rl_symbol_line(module, address, &line));
    assert_int_equal(line.line, 4);
    bool declared = rl_symbol_declaration(module, address, &line);
    assert_true(!declared || line.line == 3);
    assert_int_equal(count_inlined(module, address) > 0, declared);
    const char *lacks = rl_symbol_module_lacks(module);
    assert_int_equal(lacks == NULL, declared);
    assert_true(!lacks || strstr(lacks, "package (.dwp), which libdw reads from 0.191"));
    rl_symbols_free(symbols);
}

static void lines_do_not_need_a_package_of_split_information(void **state)
{
    check_package(*state,
                  "cc -g -gdwarf-4 -gsplit-dwarf -o packed s.c && timeout 20 dwp -e packed");
}

/* Not every dwp packs it. */
static void nor_one_of_dwarf_5(void **state)
{
    check_package(*state, "cc -g -gdwarf-5 -gsplit-dwarf -o packed s.c && "
                          "timeout 20 llvm-dwp -e packed -o packed.dwp");
}

static void jit_maps_name_generated_code(void **state)
{
    struct self *self = *state;
    need(self, "printf '1000 20 first\\n1020 10 second function\\nnonsense\\n2000 0 empty\\n"
               "1000 18 recompiled\\nffffffffffffffff 10 overflow\\n' > perf-77.map");
    struct rl_symbols *symbols = new_symbols(self);
    struct rl_symbol_module *module, *none;
    assert_int_equal(rl_symbols_open_jit(symbols, 77, &module, NULL), RL_OK);
    assert_null(rl_symbol_module_problem(module));
    assert_string_equal(function_at(module, 0x1008).name, "recompiled");
    assert_int_equal(function_at(module, 0x1008).origin, RL_FUNCTION_JIT);
    assert_int_equal(function_at(module, 0x1008).end, 0x1018);
    assert_string_equal(function_at(module, 0x102f).name, "second function");
    assert_int_equal(function_at(module, 0x1030).origin, RL_FUNCTION_UNKNOWN);
    assert_string_equal(rl_symbol_module_name(module), "[jit]");
    assert_int_equal(rl_symbols_open_jit(symbols, 78, &none, NULL), RL_OK);
    assert_non_null(rl_symbol_module_problem(none));
    assert_non_null(strstr(function_at(none, 0x1000).name, "[jit]+0x"));
    rl_symbols_free(symbols);
}

/* Anybody may have put them there; a pipe that nobody writes to would be waited for for ever. */
static void what_is_no_map_is_not_read(void **state)
{
    struct self *self = *state;
    need(self, "mkfifo perf-81.map && mkdir perf-82.map && ln -s /dev/zero perf-83.map && "
               "truncate -s 1T perf-84.map");
    static const char *const problems[] = {"no regular file", "no regular file", "no regular file",
                                           "larger than 512 MiB"};
    struct rl_symbols *symbols = new_symbols(self);
    for (int i = 0; i < 4; i++) {
        struct rl_symbol_module *module;
        assert_int_equal(rl_symbols_open_jit(symbols, 81 + i, &module, NULL), RL_OK);
        assert_non_null(strstr(rl_symbol_module_problem(module), problems[i]));
    }
    rl_symbols_free(symbols);
}

static void the_kernels_own_object_has_names(void **state)
{
    struct self *self = *state;
    struct rl_symbols *symbols = new_symbols(self);
    struct rl_symbol_module *module;
    assert_int_equal(rl_symbols_open(symbols, "[vdso]", NULL, 0, &module, NULL), RL_OK);
    if (rl_symbol_module_problem(module))
        skip();
    unsigned found = 0;
    for (uint64_t at = 0; at < 0x4000; at += 16)
        found += strstr(function_at(module, at).name, "clock_gettime") != NULL;
    assert_true(found > 0);
    rl_symbols_free(symbols);
}

static void library_functions_are_named_by_their_exported_name(void **state)
{
    struct self *self = *state;
    struct rl_symbols *symbols = new_symbols(self);
    struct rl_symbol_module *module;
    assert_int_equal(
        rl_symbols_open(symbols, "/lib/x86_64-linux-gnu/libm.so.6", NULL, 0, &module, NULL), RL_OK);
    if (rl_symbol_module_problem(module))
        skip();
    unsigned named = 0, inner = 0;
    for (uint64_t at = 0x10000; at < 0x80000; at += 64) {
        struct rl_function function = function_at(module, at);
        assert_true(function.origin == RL_FUNCTION_UNKNOWN || function.begin <= at);
        assert_true(function.end > at);
        named += function.origin == RL_FUNCTION_SYMBOL;
        inner += function.origin == RL_FUNCTION_UNWIND;
    }
    assert_true(named > 100);
    assert_true(inner > 10); /* internal functions of a stripped library have bounds at least */
    rl_symbols_free(symbols);
}

static void stubs_to_other_modules_are_one_function(void **state)
{
    struct self *self = *state;
    struct rl_symbols *symbols = new_symbols(self);
    struct rl_symbol_module *module;
    need(self, "readelf -S $SELF | grep -q ' [.]plt '");
    assert_int_equal(rl_symbols_open(symbols, "/proc/self/exe", NULL, 0, &module, NULL), RL_OK);
    unsigned found = 0;
    for (uint64_t at = 0; at < 0x200000; at += 16)
        found += !strcmp(function_at(module, at).name, "[plt]");
    assert_true(found > 2);
    rl_symbols_free(symbols);
}

static void unreadable_modules_still_answer(void **state)
{
    struct self *self = *state;
    need(self, "mkfifo pipe && echo text > text && : > empty && mkdir folder && "
               "head -c 3000 $SELF > cut && head -c 40 $SELF > header && "
               "echo 'int x;' | cc -c -x c - -o object.o");
    static const char *const names[] = {"pipe",   "text", "empty",    "folder",
                                        "header", "cut",  "object.o", "missing"};
    struct rl_symbols *symbols = new_symbols(self);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct rl_symbol_module *module = open_in_folder(symbols, self, names[i]);
        if (!rl_symbol_module_problem(module))
            fail_msg("%s: said to be fine", names[i]);
        struct rl_function function = function_at(module, 0x123);
        assert_non_null(strstr(function.name, names[i]));
        assert_true(function.begin <= 0x123 && function.end > 0x123);
        struct rl_source_line line;
        struct rl_inline_call call;
        assert_false(rl_symbol_line(module, 0x123, &line));
        assert_int_equal(rl_symbol_inlined(module, 0x123, &call, 1), 0);
    }
    rl_symbols_free(symbols);
}

/* Damage a small program in many ways: answers may be wrong, nothing may break. */
static void damaged_files_do_no_harm(void **state)
{
    struct self *self = *state;
    need(self, "printf 'int twice(int x) { return 2 * x; }\\nint main(void) { return twice(1); "
               "}\\n' > d.c && cc -g -o whole d.c");
    char path[96];
    static uint8_t file[65536], damaged[65536];
    snprintf(path, sizeof path, "%s/whole", self->folder);
    FILE *in = fopen(path, "rb");
    size_t size = fread(file, 1, sizeof file, in);
    fclose(in);
    assert_true(size > 1000 && size < sizeof file);
    uint64_t seed = 42;
    for (unsigned round = 0; round < 400; round++) {
        memcpy(damaged, file, size);
        for (unsigned k = 0; k < 1 + round % 20; k++) {
            seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
            size_t at = (seed >> 20) % (round & 1 ? size : 1200);
            damaged[at] = round & 2 ? (uint8_t)(seed >> 50) : 0xff;
        }
        snprintf(path, sizeof path, "%s/damaged", self->folder);
        FILE *out = fopen(path, "wb");
        fwrite(damaged, 1, round % 10 ? size : seed % size, out);
        fclose(out);
        struct rl_symbols *symbols = new_symbols(self);
        struct rl_symbol_module *module = open_in_folder(symbols, self, "damaged");
        for (uint64_t at = 0x1000; at < 0x1200; at += 16) {
            struct rl_inline_call calls[2];
            struct rl_source_line line;
            function_at(module, at);
            rl_symbol_line(module, at, &line);
            rl_symbol_inlined(module, at, calls, 2);
        }
        rl_symbols_free(symbols);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_function_has_its_name_bounds_and_line),
        cmocka_unit_test(an_exported_function_is_found_by_name),
        cmocka_unit_test(a_function_is_declared_where_the_source_says),
        cmocka_unit_test(inlined_calls_name_callee_and_call_site),
        cmocka_unit_test(lines_and_inlined_calls_need_no_table_of_address_ranges),
        cmocka_unit_test(stripped_code_keeps_its_bounds),
        cmocka_unit_test(debug_files_are_found_by_build_id),
        cmocka_unit_test(debug_links_are_followed_and_their_checksum_is_checked),
        cmocka_unit_test(a_file_that_changed_since_it_ran_is_not_used),
        cmocka_unit_test(lines_come_from_split_debug_information),
        cmocka_unit_test(lines_do_not_need_a_package_of_split_information),
        cmocka_unit_test(nor_one_of_dwarf_5),
        cmocka_unit_test(jit_maps_name_generated_code),
        cmocka_unit_test(what_is_no_map_is_not_read),
        cmocka_unit_test(the_kernels_own_object_has_names),
        cmocka_unit_test(library_functions_are_named_by_their_exported_name),
        cmocka_unit_test(stubs_to_other_modules_are_one_function),
        cmocka_unit_test(unreadable_modules_still_answer),
        cmocka_unit_test(damaged_files_do_no_harm),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
