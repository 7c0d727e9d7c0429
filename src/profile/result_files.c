#include "profile/result_files.h"

#include "base/array.h"
#include "base/error.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* By process number, whatever order the folder has. */
static int compare(const void *a, const void *b)
{
    return strverscmp(*(char *const *)a, *(char *const *)b);
}

static enum rl_status add(struct result_files *files, const char *folder, const char *name,
                          struct rl_error *err)
{
    char *path;
    if (asprintf(&path, "%s/%s", folder, name) < 0)
        return rl_fail(err, RL_ENOMEM, "out of memory for the names of results");
    char **slot = rl_array_append(&files->path, &files->n, sizeof *slot);
    if (!slot) {
        free(path);
        return rl_fail(err, RL_ENOMEM, "out of memory for the names of results");
    }
    *slot = path;
    return RL_OK;
}

enum rl_status result_files_find(const char *folder, struct result_files *ret, struct rl_error *err)
{
    struct result_files files = {0};
    enum rl_status status = RL_OK;
    DIR *dir = opendir(folder);
    if (!dir)
        return rl_fail_errno(err, "%s", folder);
    for (struct dirent *e; status == RL_OK && (e = readdir(dir));)
        if (strncmp(e->d_name, RESULT_PREFIX ".", sizeof RESULT_PREFIX) == 0)
            status = add(&files, folder, e->d_name, err);
    closedir(dir);
    if (status != RL_OK) {
        result_files_release(&files);
        return status;
    }
    if (files.n)
        qsort(files.path, files.n, sizeof *files.path, compare);
    *ret = files;
    return RL_OK;
}

void result_files_release(struct result_files *files)
{
    for (size_t i = 0; i < files->n; i++)
        free(files->path[i]);
    free(files->path);
    *files = (struct result_files){0};
}
