#include "sample/marked.h"
#include "base/error.h"
#include "base/file.h"
#include "sample/preload.h"

#include <stdio.h>
#include <stdlib.h>

struct rl_marked {
    struct preload *preload;
};

static enum rl_status write_plan(const struct preload *preload, const struct region_plan *plan,
                                 struct rl_error *err)
{
    char path[512];
    snprintf(path, sizeof path, "%s/" REGION_PLAN_FILE, preload_folder(preload));
    return rl_file_write(path, plan, sizeof *plan, err);
}

enum rl_status rl_marked_new(const char *markers, const char *scratch_dir, const char *const *envp,
                             const struct region_plan *plan, struct rl_marked **ret,
                             struct rl_error *err)
{
    const struct rl_sample_options how = {
        .preload = markers, .regions = true, .scratch_dir = scratch_dir};
    struct rl_marked *marked = calloc(1, sizeof *marked);
    if (!marked)
        return rl_fail(err, RL_ENOMEM, "out of memory for a run with regions");
    enum rl_status status = preload_new(&how, false, 0, envp, &marked->preload, err);
    if (status == RL_OK)
        status = write_plan(marked->preload, plan, err);
    if (status != RL_OK) {
        rl_marked_free(marked);
        return status;
    }
    *ret = marked;
    return RL_OK;
}

const char *const *rl_marked_environment(const struct rl_marked *marked)
{
    return preload_environment(marked->preload);
}

enum rl_status rl_marked_files(const struct rl_marked *marked,
                               enum rl_status (*each)(void *context, const void *data, size_t n,
                                                      struct rl_error *err),
                               void *context, struct rl_error *err)
{
    return preload_region_files(marked->preload, sizeof(struct region_counted_file), each, context,
                                err);
}

void rl_marked_free(struct rl_marked *marked)
{
    if (!marked)
        return;
    preload_free(marked->preload);
    free(marked);
}
