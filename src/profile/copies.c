#include "profile/copies.h"

#include "base/array.h"
#include "base/child.h"
#include "base/error.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

enum rl_status copies_find(const struct rl_samples *samples, size_t n_samples, struct copies *ret,
                           struct rl_error *err)
{
    struct copies copies = {0};
    for (size_t r = 0; r < n_samples; r++) {
        for (size_t i = 0; i < samples[r].n_module; i++) {
            const struct rl_sample_module *m = &samples[r].module[i];
            if (!m->held_plus_one)
                continue;
            struct rl_symbol_copy *room = rl_array_append(&copies.of, &copies.n, sizeof *room);
            if (!room) {
                copies_release(&copies);
                return rl_fail(err, RL_ENOMEM, "out of memory for modules");
            }
            *room =
                (struct rl_symbol_copy){m->path, m->build_id, m->n_build_id, m->held_plus_one - 1};
        }
    }
    *ret = copies;
    return RL_OK;
}

enum rl_status copies_hold(struct copies *copies, const char *name, const char *const *envp,
                           struct rl_error *err)
{
    char path[PATH_MAX];
    struct rl_error why;
    int fd = rl_child_find(name, envp, path, &why) == RL_OK
                 ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
                 : -1;
    char *real = fd < 0 ? NULL : realpath(path, NULL);
    struct rl_symbol_copy *room =
        real ? rl_array_append(&copies->of, &copies->n, sizeof *room) : NULL;
    if (room) {
        *room = (struct rl_symbol_copy){.path = real, .fd = fd};
        copies->own_path = real;
        copies->own_fd = fd;
        return RL_OK;
    }
    if (fd >= 0)
        close(fd);
    enum rl_status status = real ? rl_fail(err, RL_ENOMEM, "out of memory for modules") : RL_OK;
    free(real);
    return status;
}

void copies_release(struct copies *copies)
{
    if (copies->own_path)
        close(copies->own_fd);
    free(copies->own_path);
    free(copies->of);
    *copies = (struct copies){0};
}

struct rl_symbols_options copies_options(const struct copies *copies)
{
    return (struct rl_symbols_options){.copy = copies->of, .n_copy = copies->n};
}
