/* Between the checker of Matrix Market files and what uses its findings. */
#ifndef RL_WORKLOAD_MTX_INTERNAL_H
#define RL_WORKLOAD_MTX_INTERNAL_H

#include <roofline/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum rl_mtx_field { RL_MTX_REAL, RL_MTX_INTEGER, RL_MTX_PATTERN };
enum rl_mtx_symmetry { RL_MTX_GENERAL, RL_MTX_SYMMETRIC, RL_MTX_SKEW };

/** What the header and the size line say. */
struct rl_mtx_header {
    bool array;
    enum rl_mtx_field field;
    enum rl_mtx_symmetry symmetry;
    uint64_t rows, columns;
    uint64_t stored; /**< entries that follow */
};

/**
 * Check a whole file, line by line.
 * @return RL_OK: CHOLMOD may read it. RL_EDATA with "name: line n: …".
 */
enum rl_status rl_mtx_check(const char *text, size_t size, const char *name,
                            struct rl_mtx_header *ret_header, struct rl_error *err);

extern const char *const rl_mtx_fields[];
extern const char *const rl_mtx_symmetries[];

#endif
