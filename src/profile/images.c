#include "profile/images.h"

#include "base/array.h"
#include "base/error.h"
#include "base/file.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint32_t find(const struct images *images, const char *path)
{
    uint32_t i = 0;
    while (i < images->n && strcmp(images->of[i].path, path) != 0)
        i++;
    return i;
}

static enum rl_status need(struct images *images, const char *path, struct image **ret,
                           struct rl_error *err)
{
    uint32_t at = find(images, path);
    if (at == images->n) {
        struct image *room = rl_array_append(&images->of, &images->n, sizeof *room);
        if (!room)
            return rl_fail(err, RL_ENOMEM, "out of memory for programs");
        room->path = path;
    }
    *ret = &images->of[at];
    return RL_OK;
}

static const char *path_of(const struct rl_samples *samples, uint32_t process)
{
    const char *command = samples->process[process].command;
    return command ? command : "";
}

static enum rl_status add_timed(const struct rl_samples *samples, bool is_first,
                                struct images *images, struct rl_error *err)
{
    struct image *image;
    for (uint32_t i = 0; is_first && i < samples->n_process; i++) {
        RL_TRY(need(images, path_of(samples, i), &image, err));
        image->n_process++;
    }
    for (size_t i = 0; i < samples->n_thread; i++) {
        RL_TRY(need(images, path_of(samples, samples->thread[i].process), &image, err));
        image->cpu_s += samples->thread[i].cpu_s;
    }
    return RL_OK;
}

static bool is_counted(const struct rl_tally *tally, const char *path)
{
    size_t i = 0;
    while (i < tally->n_image && strcmp(tally->image[i].path, path) != 0)
        i++;
    return i < tally->n_image;
}

/* What was unpacked into a new folder in each run is one program: the timed one of that name that
 * was counted under no path of its own. */
static struct image *find_moved(struct images *images, const struct rl_tally *tally,
                                const char *path)
{
    const char *name = rl_base_name(path);
    if (find(images, path) < images->n)
        return NULL;
    for (size_t i = 0; i < images->n_timed; i++) {
        struct image *image = &images->of[i];
        if (!image->counted && !strcmp(image_name(image), name) && access(image->path, F_OK) != 0 &&
            !is_counted(tally, image->path))
            return image;
    }
    return NULL;
}

enum rl_status images_find(const struct rl_samples *samples, size_t n_samples,
                           const struct rl_tally *tally, struct images *ret, struct rl_error *err)
{
    struct images images = {0};
    enum rl_status status = RL_OK;
    for (size_t r = 0; r < n_samples && !status; r++)
        status = add_timed(&samples[r], r == 0, &images, err);
    images.n_timed = images.n;
    for (size_t i = 0; tally && i < tally->n_image && !status; i++) {
        struct image *image = find_moved(&images, tally, tally->image[i].path);
        status = image ? RL_OK : need(&images, tally->image[i].path, &image, err);
        if (status)
            break;
        image->n_process = tally->image[i].n_process;
        image->counted = tally->n_image > 1 ? &tally->image[i].kernel : &tally->program;
    }
    if (status)
        images_release(&images);
    else
        *ret = images;
    return status;
}

const struct image *images_uncounted(const struct images *images, double *ret_cpu_s)
{
    const struct image *most = NULL;
    size_t n_counted = 0;
    *ret_cpu_s = 0;
    if (images->n > images->n_timed)
        return NULL;
    for (size_t i = 0; i < images->n; i++) {
        const struct image *image = &images->of[i];
        n_counted += image->counted != NULL;
        if (image->counted || !(image->cpu_s > 0))
            continue;
        *ret_cpu_s += image->cpu_s;
        if (!most || image->cpu_s > most->cpu_s)
            most = image;
    }
    return n_counted ? most : NULL;
}

void images_group(const struct images *images, const struct rl_samples *samples,
                  uint32_t *ret_group)
{
    for (size_t i = 0; i < samples->n_bucket; i++) {
        uint32_t process = samples->thread[samples->bucket[i].thread].process;
        ret_group[i] = find(images, path_of(samples, process));
    }
}

void images_release(struct images *images)
{
    free(images->of);
    *images = (struct images){0};
}

const char *image_name(const struct image *image)
{
    return rl_base_name(image->path);
}
