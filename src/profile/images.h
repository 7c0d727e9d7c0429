/* One row for each program that ran, where a job runs several. */
#ifndef RL_PROFILE_IMAGES_H
#define RL_PROFILE_IMAGES_H

#include "profile/tally.h"
#include "sample/sample.h"

/** A program: what it is called by those who timed and those who counted it. */
struct image {
    const char *path; /**< borrowed */
    double cpu_s;     /**< of all native runs together */
    size_t n_process; /**< process images counted; if none, those of the first native run */
    const struct rl_kernel *counted; /**< NULL: not counted, or not apart from the others */
};

struct images {
    struct image *of; /**< [n] those that were timed first */
    size_t n;
    size_t n_timed;
};

/**
 * The programs of some native runs and a counting run.
 * @param ret  release with images_release; borrows from the other parameters.
 */
enum rl_status images_find(const struct rl_samples *samples, size_t n_samples,
                           const struct rl_tally *tally, struct images *ret, struct rl_error *err);

/**
 * The program that took the most time of those that are known not to have been counted: programs
 * were, and each of them is one that was timed. Else they may be the same by other names.
 *
 * @param ret_cpu_s  of all such programs together.
 * @return NULL: there is none.
 */
const struct image *images_uncounted(const struct images *images, double *ret_cpu_s);

/** @param ret_group  [samples->n_bucket] index in `images` of the program of each bucket. */
void images_group(const struct images *images, const struct rl_samples *samples,
                  uint32_t *ret_group);

void images_release(struct images *images);

/** Path without folders. */
const char *image_name(const struct image *image);

#endif
