/* All code that was counted, of all processes: one list of pieces by module and offset, cut at
 * function bounds. Addresses that mean nothing in another process become module and offset. */
#ifndef RL_PROFILE_CODE_H
#define RL_PROFILE_CODE_H

#include "count/result.h"
#include "profile/sums.h"
#include "profile/tally.h"
#include "symbol/symbol.h"

/** Executions of straight-line code within one function. */
struct code_piece {
    uint32_t module; /* index in the tally */
    uint32_t result; /* which result, and … */
    uint32_t source; /* … which of its pieces */
    uint32_t skip;   /* bytes of that piece before this one */
    uint64_t begin;  /* of the function it is part of */
    uint64_t offset;
    uint32_t size;
    bool is_last; /* last part of its piece: what is said of the next place holds for it */
};

/** Where functions begin, as far as calls tell: for code that no table knows. */
struct code_starts {
    uint64_t *at; /* [n] ascending */
    size_t n;
};

#define CODE_NAME_MAX 256

struct code {
    struct rl_result *result; /* [n_result] */
    size_t n_result;
    struct rl_symbols *symbols;
    struct rl_symbol_module **module; /* [tally->n_module] */
    size_t n_module;
    struct code_starts *starts; /* [n_module] */
    uint32_t *image;            /* [n_result] index in tally->image; NULL: not known */
    uint32_t **map;             /* [n_result] modules of that result, as indices in the tally */
    struct code_piece *piece;   /* [n_piece] ascending by module, function, offset */
    size_t n_piece;
};

/**
 * Read results and sort their code; adds modules and notes to `tally`.
 * @param only  as in struct rl_tally_options: executions are those in these regions.
 * @param options  as rl_symbols_new.
 * @param ret  released with code_release, on failure too.
 */
enum rl_status code_load(const char *const *file, size_t n_file, const char *only,
                         const struct rl_symbols_options *options, struct rl_tally *tally,
                         struct code *ret, struct rl_error *err);
void code_release(struct code *code);

/** Index in the tally of the module that holds a piece of a result. */
uint32_t code_module(const struct code *code, uint32_t result, size_t piece);

/** As rl_symbol_function; where tables say nothing, functions begin where calls lead to.
 * @param name  [CODE_NAME_MAX] `ret->name` may point there. */
void code_function(const struct code *code, uint32_t module, uint64_t offset, char *name,
                   struct rl_function *ret);

/** Sum all code of a result.
 * @param executions, times  [n_pieces], [n_repeats]; NULL: the result's own. @return false without
 *                           memory. */
bool code_sum_result(const struct rl_result *result, const uint64_t *executions,
                     const uint64_t *times, struct sums *sums);

/** The first repeat of a piece or behind it. O(log n). */
size_t code_first_repeat(const struct rl_result *result, size_t piece);

/** A sentence for the reader of the profile. */
enum rl_status tally_note(struct rl_tally *tally, struct rl_error *err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
