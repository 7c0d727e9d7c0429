/* roofline machines: the machine records kept here, as a list or one in full. */
#include "cli/machine_table.h"
#include "cli/options.h"
#include "cli/store.h"

#include "base/array.h"
#include "base/error.h"
#include "base/unit.h"
#include "format/format.h"
#include "render/text.h"

#include <dirent.h>
#include <roofline/model.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Keys of the records kept, sorted. */
struct keys {
    char **key;
    size_t n;
};

static void keys_release(struct keys *keys)
{
    for (size_t i = 0; i < keys->n; i++)
        free(keys->key[i]);
    free(keys->key);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static enum rl_status add_key(struct keys *keys, const char *file, struct rl_error *err)
{
    size_t n = strlen(file);
    if (n <= 5 || strcmp(file + n - 5, ".json") != 0 || file[0] == '.')
        return RL_OK;
    char **slot = rl_array_append(&keys->key, &keys->n, sizeof *slot);
    if (!slot || !(*slot = strndup(file, n - 5)))
        return rl_fail(err, RL_ENOMEM, "no memory for the list of records");
    return RL_OK;
}

/* A folder that is not there holds no records. */
static enum rl_status list_keys(struct keys *keys, struct rl_error *err)
{
    char *folder;
    RL_TRY(rl_store_folder(&folder, err));
    DIR *dir = opendir(folder);
    free(folder);
    if (!dir)
        return RL_OK;
    enum rl_status status = RL_OK;
    for (struct dirent *entry; status == RL_OK && (entry = readdir(dir));)
        status = add_key(keys, entry->d_name, err);
    closedir(dir);
    if (keys->n)
        qsort(keys->key, keys->n, sizeof *keys->key, by_text);
    return status;
}

static void print_row(const char *key, const struct rl_machine *m)
{
    char peak[32] = "–";
    char bandwidth[32] = "–";
    char date[sizeof "2026-01-31"];
    char name[RL_TEXT_LEN];
    unsigned cores = m->topology.usable_cores ? m->topology.usable_cores : 1;
    const struct rl_compute_ceiling *c = rl_peak(m, RL_FP64, "fma", NULL, cores, NULL);
    if (!c)
        c = rl_peak(m, RL_FP64, NULL, NULL, cores, NULL);
    const struct rl_memory_ceiling *b = rl_bandwidth(m, "DRAM", NULL, cores, NULL);
    if (c)
        rl_format_si(peak, sizeof peak, c->rate.value, c->unit);
    if (b)
        rl_format_si(bandwidth, sizeof bandwidth, b->rate.value, "B/s");
    rl_text_clean(date, sizeof date, m->environment.date, true);
    rl_text_clean(name, sizeof name, m->name, true);
    printf("%-19s %-10s %7u %11s %10s  %s\n", key, date,
           c   ? c->threads
           : b ? b->threads
               : 0,
           peak, bandwidth, name);
}

static enum rl_status print_list(const struct keys *keys)
{
    if (keys->n == 0) {
        rl_say("no machine has been measured yet; 'roofline measure' does");
        return RL_OK;
    }
    printf("%-19s %-10s %7s %11s %10s  %s\n", "id", "measured", "threads", "fp64", "DRAM",
           "machine");
    for (size_t i = 0; i < keys->n; i++) {
        struct rl_machine machine = {0};
        struct rl_error err = {0};
        if (rl_store_load(keys->key[i], &machine, &err) == RL_OK)
            print_row(keys->key[i], &machine);
        else
            rl_warn("%s", err.text);
        rl_machine_release(&machine);
    }
    return RL_OK;
}

/* A whole key or the beginning of exactly one. */
static enum rl_status find_key(const struct keys *keys, const char *id, const char **ret_key,
                               struct rl_error *err)
{
    const char *found = NULL;
    for (size_t i = 0; i < keys->n; i++) {
        if (strncmp(keys->key[i], id, strlen(id)) != 0)
            continue;
        if (strlen(keys->key[i]) == strlen(id)) {
            *ret_key = keys->key[i];
            return RL_OK;
        }
        if (found)
            return rl_fail(err, RL_EINVAL, "\"%s\" fits several records; write more of the id", id);
        found = keys->key[i];
    }
    if (!found)
        return rl_fail(err, RL_ENODATA, "no record \"%s\"; 'roofline machines' lists what there is",
                       id);
    *ret_key = found;
    return RL_OK;
}

static enum rl_status show(const struct keys *keys, const char *id, struct rl_error *err)
{
    struct rl_machine machine = {0};
    const char *key = NULL;
    if (strchr(id, '/') || strstr(id, ".json")) {
        RL_TRY(rl_machine_read(id, &machine, err));
    } else {
        RL_TRY(find_key(keys, id, &key, err));
        RL_TRY(rl_store_load(key, &machine, err));
    }
    rl_machine_table_print(stdout, &machine, true, rl_table_columns());
    rl_machine_release(&machine);
    return RL_OK;
}

static int run(const struct rl_command *self, int argc, char **argv)
{
    struct rl_arguments args = rl_options_parse(self, NULL, 0, argc, argv, false);
    struct rl_error err = {0};
    struct keys keys = {0};
    if (args.done)
        return args.exit_code;
    if (args.n > 1)
        return rl_usage_error(self, "takes one id, but got '%s' too", args.item[1]);
    enum rl_status status = list_keys(&keys, &err);
    if (status == RL_OK)
        status = args.n ? show(&keys, args.item[0], &err) : print_list(&keys);
    keys_release(&keys);
    return status == RL_OK ? RL_EXIT_DONE : rl_report_error(&err);
}

const struct rl_command rl_cmd_machines = {
    .name = "machines",
    .summary = "list machine records and show one",
    .synopsis = "[ID|FILE] [-q]",
    .run = run,
};
