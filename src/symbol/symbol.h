/* Code addresses -> names: function, source file and line, inlined calls, from files on disk.
 *
 * Works offline, from module path and file offset, the pair that samplers and counters record: no
 * live process is needed. Sources, best first: ELF symbol tables (of the file or of its separate
 * debug file, found by build id, debug link or compressed mini-debuginfo), unwind tables (function
 * bounds of stripped code), maps written by just-in-time compilers. What has no name is
 * `module+0x1234`, with bounds where they are known. Names are demangled: C++, Rust, Fortran
 * modules. Lines and inlined calls come from DWARF, split or not; where split files were packed
 * (.dwp) lines need nothing, and inlined calls libdw 0.191: what lacks is told.
 *
 * This is the only module that knows libelf and libdw. Files are untrusted: a broken one yields
 * fewer names, never a failure of the caller. Not thread-safe: one `rl_symbols` a thread. */
#ifndef RL_SYMBOL_SYMBOL_H
#define RL_SYMBOL_SYMBOL_H

#include <roofline/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/** A file that may no longer be where it was when it ran. */
struct rl_symbol_copy {
    const char *path; /**< as code names it */
    const uint8_t *build_id;
    size_t n_build_id; /**< 0: not known */
    int fd;            /**< the file; read by opening it again */
};

/** Where debug files and maps are looked for. All-zero: the customary places. */
struct rl_symbols_options {
    const char *debug_dir; /**< NULL: /usr/lib/debug */
    const char *map_dir;   /**< NULL: /tmp; perf-PID.map files */
    bool keep_mangled;     /**< leave names as the linker knows them */
    /** [n_copy] taken instead of the file at a path, where path and build id fit, or the build id
     * alone: a program may have unpacked itself somewhere else. Borrowed as long as the symbols. */
    const struct rl_symbol_copy *copy;
    size_t n_copy;
};

struct rl_symbols;       /**< everything opened so far */
struct rl_symbol_module; /**< one executable, library or map; lives as long as its rl_symbols */

/** How far a function's name and bounds can be trusted. */
enum rl_function_origin {
    RL_FUNCTION_SYMBOL,  /**< symbol table: name and size */
    RL_FUNCTION_UNWIND,  /**< unwind table: bounds only, name is module+offset */
    RL_FUNCTION_JIT,     /**< map of a just-in-time compiler */
    RL_FUNCTION_UNKNOWN, /**< nothing: bounds are the gap between known functions */
};

/** Linkage name of the stubs that jump to other modules, all of one module together. */
#define RL_SYMBOL_STUBS "[plt]"

struct rl_function {
    const char *name;         /**< readable; never NULL; owned by the rl_symbols */
    const char *linkage_name; /**< as in the symbol table; NULL when there is none */
    uint64_t begin;           /**< file offsets (JIT: addresses) of its code: [begin, end) */
    uint64_t end;
    enum rl_function_origin origin;
};

struct rl_source_line {
    const char *file; /**< absolute where the compiler recorded it so; NULL unknown */
    unsigned line;    /**< 0 unknown */
};

/** One call that was inlined at an address: the callee's name and where it was called from. */
struct rl_inline_call {
    const char *name;
    struct rl_source_line caller;
};

/**
 * @param options      NULL for the customary places; strings are copied.
 * @param ret_symbols  freed with rl_symbols_free.
 * @return RL_OK or RL_ENOMEM.
 */
enum rl_status rl_symbols_new(const struct rl_symbols_options *options,
                              struct rl_symbols **ret_symbols, struct rl_error *err);

void rl_symbols_free(struct rl_symbols *symbols);

/**
 * The module at `path`, opened on first use and kept.
 *
 * @param path      as the kernel shows it; "[vdso]" is this machine's; anything unreadable gives a
 *                  module without names.
 * @param build_id  [build_id_size] of the file that ran; size 0: not known. A file with another one
 *                  is not used: its names would be wrong.
 * @return RL_OK; RL_ENOMEM. An unreadable or changed file is RL_OK: see rl_symbol_module_problem.
 */
enum rl_status rl_symbols_open(struct rl_symbols *symbols, const char *path,
                               const uint8_t *build_id, size_t build_id_size,
                               struct rl_symbol_module **ret_module, struct rl_error *err);

/** The code that process `pid` made at run time, as its /tmp/perf-PID.map tells; offsets are then
 * addresses. A missing map is RL_OK, without names. */
enum rl_status rl_symbols_open_jit(struct rl_symbols *symbols, pid_t pid,
                                   struct rl_symbol_module **ret_module, struct rl_error *err);

/** Why a module has no or only some names ("no such file", "changed since it ran", "stripped");
 * NULL when all is well. */
const char *rl_symbol_module_problem(const struct rl_symbol_module *module);

/**
 * What was asked of a module so far and is not to be had: split debug information whose files are
 * gone, or packed where libdw cannot read that.
 * @return a sentence without a full stop; NULL when nothing lacks. Valid as long as the module.
 */
const char *rl_symbol_module_lacks(struct rl_symbol_module *module);

/** File name without folders. */
const char *rl_symbol_module_name(const struct rl_symbol_module *module);

/** The function that holds a file offset. Never fails: at worst `module+0xoffset`. O(log n). */
void rl_symbol_function(struct rl_symbol_module *module, uint64_t offset,
                        struct rl_function *ret_function);

/** The source line of a file offset. @return whether one is known. */
bool rl_symbol_line(struct rl_symbol_module *module, uint64_t offset, struct rl_source_line *ret);

/** Where the function that holds a file offset is declared in the source: what people mean by its
 * place, also when its first instruction belongs to something inlined. Slower than rl_symbol_line.
 * @return whether it is known. */
bool rl_symbol_declaration(struct rl_symbol_module *module, uint64_t offset,
                           struct rl_source_line *ret);

/**
 * The calls inlined at a file offset, innermost first.
 *
 * @param ret_calls  [capacity]
 * @return how many were written; 0 when there are none or no debug information.
 */
size_t rl_symbol_inlined(struct rl_symbol_module *module, uint64_t offset,
                         struct rl_inline_call *ret_calls, size_t capacity);

/**
 * The function that the dynamic linker stores the address of in a slot of the module's own data.
 *
 * @param slot_address  as rl_symbol_address counts: of the pointer that a stub jumps through.
 * @return its linkage name, without a version, or some other name for it within the module; NULL
 *         when the slot is for none that is known.
 */
const char *rl_symbol_import(struct rl_symbol_module *module, uint64_t slot_address);

/** A function that a module offers to others. */
struct rl_symbol_export {
    uint64_t offset; /**< file offset of its code … */
    bool is_chosen;  /**< … or of the code that chooses between versions of it at start */
};

/** The functions that a module offers by one linkage name: more than one where old programs get an
 * old version. @return how many were written to `ret_exports` [capacity]. O(log n). */
size_t rl_symbol_find_exports(struct rl_symbol_module *module, const char *name,
                              struct rl_symbol_export *ret_exports, size_t capacity);

/** The address objdump shows for a file offset; the offset itself when no segment holds it. */
uint64_t rl_symbol_address(const struct rl_symbol_module *module, uint64_t offset);

#endif
