/* What the convolution loops of kernels.h and plain.h work on. */
#ifndef RL_WORKLOAD_CONV_ROW_H
#define RL_WORKLOAD_CONV_ROW_H

#include <stdbool.h>
#include <stddef.h>

#define RL_CONV_FEW  4 /**< filters of the smaller register tile */
#define RL_CONV_WIDE 4 /**< vectors of outputs of the tile with one filter */

/** Rows of outputs of a convolution, one after the other, each for some filters. Strides are in
 * elements. */
struct rl_conv_row {
    const void *x;                  /**< first tap of the first output, first channel */
    size_t channels, height, width; /**< taps of a filter */
    size_t x_channel, x_row, x_tap; /**< from a channel, tap row or tap to the next */
    size_t x_step;                  /**< from an output's taps to the next output's */
    const void *w;                  /**< [filters][channels][height][width] */
    size_t filters;
    void *y;         /**< first output of the first filter */
    size_t y_filter; /**< from a filter's outputs to the next one's */
    size_t outputs;  /**< a row */
    size_t rows;
    size_t x_next; /**< from a row's taps to the next row's */
};

#define RL_CONV_FILTER_VECTORS 2  /**< vectors of filters summed together */
#define RL_CONV_MOST_COLUMNS   14 /**< most outputs summed together, on any instruction set */

/** One row of outputs for one or RL_CONV_FILTER_VECTORS vectors of filters, some taps of each. */
struct rl_conv_sums {
    const void *x;        /**< first output's first tap */
    size_t x_step;        /**< from an output's taps to the next output's, in elements */
    const size_t *offset; /**< [taps] from x, in elements */
    size_t taps;
    const void *w;    /**< [taps][vectors * lanes] */
    unsigned vectors; /**< 1 or RL_CONV_FILTER_VECTORS */
    void *sum;        /**< [outputs][vectors * lanes] */
    size_t outputs;
    bool add; /**< to what the sums already are */
};

#endif
