/* Linker names -> names people wrote: C++ (by the C++ runtime's own demangler, when that library is
 * there), Rust (both schemes), Fortran module procedures. Everything else, Go and C included, is
 * returned as it is. */
#ifndef RL_SYMBOL_DEMANGLE_H
#define RL_SYMBOL_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>

/** Loaded once, kept by the caller. All-zero: C++ names stay mangled. */
struct rl_demangler {
    void *library;
    char *(*cxx)(const char *, char *, size_t *, int *); /* __cxa_demangle; NULL: not there */
};

/** Find the C++ runtime; quiet when there is none. */
void rl_demangler_init(struct rl_demangler *demangler);
void rl_demangler_release(struct rl_demangler *demangler);

/** @return a string to free, or NULL without memory. Any input is allowed. */
char *rl_demangle(const struct rl_demangler *demangler, const char *name);

/** Rust's v0 scheme (_R…): @return a string to free, or NULL when `name` is not of that scheme. */
char *rl_demangle_rust_v0(const char *name);

#endif
