/* Convolution by oneDNN, loaded at run time (versions 2 and 3). Weights and activations are brought
 * into the layout the library prefers before anything is timed. */
#ifndef RL_WORKLOAD_ONEDNN_H
#define RL_WORKLOAD_ONEDNN_H

#include <roofline/error.h>
#include <stdint.h>

struct rl_onednn;

/** The input is already padded: h and w include the padding. */
struct rl_onednn_shape {
    int64_t n, c, h, w, k, r, s, oh, ow, stride, dilation, groups;
};

/** @return RL_OK, or RL_EUNAVAIL with the names tried and how to get one. */
enum rl_status rl_onednn_probe(struct rl_error *err);

/**
 * Load the library and choose its implementation for a shape, to run on `threads` threads.
 * @param ret_onednn  close with rl_onednn_close.
 * @return RL_OK; RL_EUNAVAIL; RL_ENOMEM.
 */
enum rl_status rl_onednn_open(const struct rl_onednn_shape *shape, unsigned threads,
                              struct rl_onednn **ret_onednn, struct rl_error *err);

/** Borrow plain arrays x[n][c][h][w], w[k][c / groups][r][s], y[n][k][oh][ow], fp32, and allocate
 * the library's own copies. x and w are read by the first rl_onednn_run. */
enum rl_status rl_onednn_bind(struct rl_onednn *onednn, void *x, void *w, void *y,
                              struct rl_error *err);

/** One convolution on the library's copies. */
void rl_onednn_run(struct rl_onednn *onednn);

/** Bring the result back into y. */
void rl_onednn_fetch(struct rl_onednn *onednn);

/** "oneDNN 2.6.3, jit:avx512_core" */
const char *rl_onednn_description(const struct rl_onednn *onednn);

/** NULL is fine. */
void rl_onednn_close(struct rl_onednn *onednn);

#endif
