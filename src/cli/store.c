#include "cli/store.h"

#include "base/error.h"
#include "base/file.h"
#include "format/format.h"
#include "topology/topology.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum rl_status rl_store_folder(char **ret_path, struct rl_error *err)
{
    const char *data = getenv("XDG_DATA_HOME");
    const char *home = getenv("HOME");
    int n;
    if (data && *data == '/')
        n = asprintf(ret_path, "%s/roofline", data);
    else if (home && *home)
        n = asprintf(ret_path, "%s/.local/share/roofline", home);
    else
        return rl_fail(err, RL_ESYS,
                       "no folder for machine records: neither XDG_DATA_HOME nor HOME is set; "
                       "set one, or name a record's file");
    return n < 0 ? rl_fail(err, RL_ENOMEM, "no memory for a file name") : RL_OK;
}

static enum rl_status path_of(const char *key, const char *suffix, char **ret_path,
                              struct rl_error *err)
{
    char *folder;
    RL_TRY(rl_store_folder(&folder, err));
    int n = asprintf(ret_path, "%s/%s.%s", folder, key, suffix);
    free(folder);
    return n < 0 ? rl_fail(err, RL_ENOMEM, "no memory for a file name") : RL_OK;
}

enum rl_status rl_store_path(const char *key, char **ret_path, struct rl_error *err)
{
    return path_of(key, "json", ret_path, err);
}

enum rl_status rl_store_counters_path(const char *key, char **ret_path, struct rl_error *err)
{
    return path_of(key, "counters", ret_path, err);
}

enum rl_status rl_store_load(const char *key, struct rl_machine *ret_machine, struct rl_error *err)
{
    char *path;
    RL_TRY(rl_store_path(key, &path, err));
    enum rl_status status = access(path, F_OK) == 0
                                ? rl_machine_read(path, ret_machine, err)
                                : rl_fail(err, RL_ENODATA,
                                          "this machine has not been measured yet: run 'roofline "
                                          "measure'");
    free(path);
    return status;
}

static bool is_better_whole(const struct rl_machine *part, const struct rl_machine *machine,
                            const struct rl_machine *best)
{
    return machine->key && rl_machine_is_part(part, machine) &&
           machine->topology.usable_cores > best->topology.usable_cores;
}

/* Files that cannot be read are none of this command's business. */
static void consider(const char *folder, const char *file, const struct rl_machine *part,
                     struct rl_machine *best)
{
    char *path = NULL;
    struct rl_machine machine = {0};
    const char *dot = strrchr(file, '.');
    if (!dot || strcmp(dot, ".json") != 0 || *file == '.' ||
        asprintf(&path, "%s/%s", folder, file) < 0)
        return;
    if (rl_machine_read(path, &machine, NULL) == RL_OK && is_better_whole(part, &machine, best)) {
        rl_machine_release(best);
        *best = machine;
        machine = (struct rl_machine){0};
    }
    rl_machine_release(&machine);
    free(path);
}

enum rl_status rl_store_load_whole(const struct rl_machine *part, struct rl_machine *ret_machine,
                                   struct rl_error *err)
{
    char *folder;
    struct rl_machine best = {0};
    RL_TRY(rl_store_folder(&folder, err));
    DIR *dir = opendir(folder);
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        consider(folder, entry->d_name, part, &best);
    if (dir)
        closedir(dir);
    free(folder);
    if (!best.key)
        return rl_fail(err, RL_ENODATA, "no record of a machine that this is a part of");
    *ret_machine = best;
    return RL_OK;
}

enum rl_status rl_store_save(const struct rl_machine *machine, struct rl_error *err)
{
    char *folder;
    char *path = NULL;
    RL_TRY(rl_store_folder(&folder, err));
    enum rl_status status = rl_mkdirs(folder, err);
    free(folder);
    if (status == RL_OK)
        status = rl_store_path(machine->key, &path, err);
    if (status == RL_OK)
        status = rl_machine_write(path, machine, err);
    free(path);
    return status;
}
