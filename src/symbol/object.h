/* One ELF file with its debug information, behind libdwfl. Addresses here are the file's own
 * (those objdump shows); symbol.c converts from file offsets. */
#ifndef RL_SYMBOL_OBJECT_H
#define RL_SYMBOL_OBJECT_H

#include "symbol/functions.h"
#include "symbol/symbol.h"

struct object;

/**
 * @param fd            an open regular file; the object takes it, on failure too.
 * @param debug_dir     e.g. /usr/lib/debug; borrowed for the object's life.
 * @param ret_problem   static text; set when the result is NULL or incomplete, else NULL.
 * @return NULL when it is no ELF file that can be used.
 */
struct object *object_open(const char *path, int fd, const char *debug_dir, const uint8_t *build_id,
                           size_t build_id_size, const char **ret_problem);
void object_close(struct object *object);

/** The address of a file offset in an executable segment; false when there is none. */
bool object_address(const struct object *object, uint64_t offset, uint64_t *ret_address);
/** The reverse. */
bool object_offset(const struct object *object, uint64_t address, uint64_t *ret_offset);

/** Fill `table` from symbol tables and unwind tables. @return whether there was any symbol table
 * with functions. Strings are borrowed from the object. */
bool object_functions(struct object *object, struct function_table *table);

/** The file itself, as libelf knows it; `ret_elf` is the object's. */
struct Elf;
struct Elf *object_elf(struct object *object);

bool object_line(struct object *object, uint64_t address, struct rl_source_line *ret);
bool object_declaration(struct object *object, uint64_t address, struct rl_source_line *ret);
/** Was split debug information needed so far that could not be read? */
bool object_lacks_split(const struct object *object);
/** The version of libdw in use, "0.188". */
const char *object_reader_version(void);
/** Names in `ret_calls` are linkage names where they are known. */
size_t object_inlined(struct object *object, uint64_t address, struct rl_inline_call *ret_calls,
                      size_t capacity);

#endif
