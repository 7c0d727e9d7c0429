/* How a launcher tells the engine what to do: one environment variable, RLE_OPTIONS_ENV, holding
 * "key=value,key=value,…,output=PREFIX" (output last; the rest of the string is the prefix).
 * The engine removes the variable, and itself from LD_PRELOAD, before the program sees them, and
 * puts both back for programs it execs.
 * Shared by the engine (no libc) and by the launcher. */
#ifndef RL_COUNT_ENGINE_OPTIONS_H
#define RL_COUNT_ENGINE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RLE_OPTIONS_ENV "ROOFLINE_ENGINE"

/** The engine's file name, in ${libdir}/roofline/ when installed. */
#define RLE_ENGINE_OBJECT "libroofline-engine.so"

/** The launcher's, beside it; see launch/main.c. */
#define RLE_LAUNCHER "roofline-engine-launch"

/** What a FILE begins with that the launcher is handed open: the descriptor's number follows. It is
 * closed when the program begins. */
#define RLE_LAUNCHER_DESCRIPTOR "descriptor:"

#define RLE_OUTPUT_MAX 512

/** Bytes of the names that `only` may hold. */
#define RLE_ONLY_MAX 256

/** Bytes that rle_options_format may need. */
#define RLE_OPTIONS_TEXT_MAX (RLE_OUTPUT_MAX + 3 * RLE_ONLY_MAX + 256)

enum rle_mode {
    RLE_MODE_COUNT = 0,     /**< exact execution counts; the default */
    RLE_MODE_TRANSLATE = 1, /**< run translated without counting, to measure its cost alone */
    RLE_MODE_TRAFFIC = 2,   /**< count, and feed sampled addresses to the traffic model */
    RLE_MODE_FULL = 3,      /**< count, and feed every address */
    RLE_MODE_MIX = 4,       /**< count in bursts: ratios of what is counted mean something, sums do
                                 not; children run natively */
    RLE_N_MODES,
};

struct rle_options {
    uint32_t mode; /**< enum rle_mode; key `mode`, by name: count translate traffic full mix */
    /** Key `blocks`: most blocks a superblock may hold, 1 .. 32; default 16. */
    uint32_t max_blocks;
    /** Key `follow`: 1 (default) programs started by exec are counted too, 0 they are not. */
    bool follow;
    /** Key `jit`: `count` (default) or `native`: detach when the program runs code from memory that
     * is writable and executable, rather than check that code on each entry. */
    bool jit_native;
    /** Key `fsgsbase`: 0: do without these instructions, as on processors and kernels that lack
     * them; for tests. Default 1: use them where the kernel offers them. */
    bool fsgsbase;
    /** Key `calls`: 0: calls and returns become jumps, as where there is a shadow stack; for tests.
     * Default 1: they are executed as such. */
    bool real_calls;
    /** Key `launch`: 1: programs that are started by exec go through the launcher, so that they are
     * counted from their first instruction. Default 0: only those that preloading does not reach.
     */
    bool launch;
    /** Key `sample`, for RLE_MODE_TRAFFIC: seed of the choice of sampled sets; default 1. */
    uint32_t sample_seed;
    /** Keys `reader` and `channel`, for the traffic modes: the process that reads the channel of
     * trace_format.h, and its descriptor there. Opened through /proc, so nothing is inherited. */
    uint32_t reader;
    uint32_t channel;
    /** Key `only`, for the traffic modes: patterns of region names, with a newline between them;
     * accesses outside these regions are not handed on. Empty: all are. In the variable, commas,
     * newlines and percent signs are written %XX. */
    char only[RLE_ONLY_MAX];
    /** Result files are PREFIX.PID.SEQ, decimal; SEQ counts programs a process runs by exec. */
    char output[RLE_OUTPUT_MAX];
};

/** Defaults, with an empty output prefix. */
void rle_options_default(struct rle_options *options);

/**
 * Read the variable's value.
 *
 * @param text     terminated.
 * @param options  written in full.
 * @return true; false if a key or value is unknown or the prefix is missing or too long.
 */
bool rle_options_parse(const char *text, struct rle_options *options);

/**
 * Write the variable's value, such that rle_options_parse gives the same options.
 *
 * @param options   valid.
 * @param text      [size] written, terminated.
 * @return length without the terminator; 0 if `size` is too small.
 */
size_t rle_options_format(const struct rle_options *options, char *text, size_t size);

/**
 * Is a region among those that `only` names?
 *
 * @param patterns  as in struct rle_options; * stands for anything, ? for one character.
 * @param name      terminated.
 */
bool rle_options_selects(const char *patterns, const char *name);

#endif
