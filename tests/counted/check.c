/* Runs a program under the counting engine and compares the FLOP of its functions with what the
 * program itself says they are: lines "function<tab>precision<tab>FLOP" on its standard output.
 * The precision "total" stands for all FLOP of a function and what it called, "estimate" likewise,
 * "load" and "store" for its bytes, of which none may be missing. The function "*" stands for all
 * code of the program's own file; other functions are left out for programs whose name ends in
 * "stripped".
 *
 * usage: check ENGINE LAUNCHER|- PROGRAM [ARGUMENT…]
 * LAUNCHER puts the engine into programs without a dynamic loader; "-": it is preloaded.
 * Status 77: cannot run here, with the reason. */
#include "profile/tally.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_FILES = 64, CANNOT = 77 };

static char folder[] = "/tmp/rl_counted_XXXXXX";
static char *files[MOST_FILES];
static size_t n_files;
static char engine_link[64]; /* empty: none */

/* LD_PRELOAD is split at blanks and colons: there, the engine goes by a link. */
static const char *plain(const char *engine)
{
    if (!strpbrk(engine, ": "))
        return engine;
    snprintf(engine_link, sizeof engine_link, "%s/engine.so", folder);
    return symlink(engine, engine_link) == 0 ? engine_link : engine;
}

static void become(const char *engine, const char *launcher, char **argv)
{
    char options[128];
    snprintf(options, sizeof options, "mode=count,output=%s/result", folder);
    if (strcmp(launcher, "-") == 0) {
        setenv("ROOFLINE_ENGINE", options, 1);
        setenv("LD_PRELOAD", engine, 1);
        execv(argv[0], argv);
    } else {
        execl(launcher, launcher, engine, options, argv[0], argv[0], (char *)NULL);
    }
    _exit(127);
}

/* Run under the engine, standard output to `output`. */
static int run(const char *engine, const char *launcher, char **argv, const char *output)
{
    pid_t child = fork();
    if (child == 0) {
        if (!freopen(output, "w", stdout))
            _exit(126);
        become(engine, launcher, argv);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void find_results(void)
{
    DIR *dir = opendir(folder);
    for (struct dirent *entry; dir && n_files < MOST_FILES && (entry = readdir(dir));)
        if (!strncmp(entry->d_name, "result.", 7) &&
            asprintf(&files[n_files], "%s/%s", folder, entry->d_name) > 0)
            n_files++;
    if (dir)
        closedir(dir);
}

static bool is_own(const struct rl_tally *tally, const struct rl_tally_unit *unit,
                   const char *program)
{
    return !strcmp(tally->module[unit->module].path, program);
}

static double total_of(const struct rl_tally *tally, const char *function, enum rl_source source)
{
    for (size_t i = 0; i < tally->n_function; i++) {
        const struct rl_kernel *kernel = &tally->unit[i].kernel;
        if (!strcmp(kernel->name, function) && kernel->total_flop.source == source)
            return kernel->total_flop.value;
    }
    return -1;
}

static double bytes_of(const struct rl_tally *tally, const char *function, bool stored)
{
    for (size_t i = 0; i < tally->n_function; i++) {
        const struct rl_kernel *kernel = &tally->unit[i].kernel;
        if (!strcmp(kernel->name, function) && !kernel->missing.n)
            return stored ? kernel->store_bytes.value : kernel->load_bytes.value;
    }
    return -1;
}

static double flop_of(const struct rl_tally *tally, const char *program, const char *function,
                      const char *precision)
{
    enum rl_precision p;
    double sum = -1;
    for (size_t i = 0; rl_precision_from_name(precision, &p) && i < tally->n_function; i++) {
        const struct rl_tally_unit *unit = &tally->unit[i];
        if (strcmp(function, "*") ? strcmp(unit->kernel.name, function)
                                  : !is_own(tally, unit, program))
            continue;
        struct rl_value flop = rl_kernel_flop_of(&unit->kernel, p);
        sum = (sum < 0 ? 0 : sum) + (rl_known(flop) ? flop.value : 0);
    }
    return sum;
}

static double found_of(const struct rl_tally *tally, const char *program, const char *function,
                       const char *precision)
{
    bool stored = !strcmp(precision, "store");
    if (stored || !strcmp(precision, "load"))
        return bytes_of(tally, function, stored);
    if (!strcmp(precision, "estimate"))
        return total_of(tally, function, RL_SOURCE_MODELLED);
    return strcmp(precision, "total") ? flop_of(tally, program, function, precision)
                                      : total_of(tally, function, RL_SOURCE_COUNTED);
}

static int compare(const struct rl_tally *tally, const char *program, const char *output)
{
    char function[128], precision[16];
    double expected;
    unsigned n = 0, wrong = 0;
    size_t length = strlen(program);
    bool stripped = length > 8 && !strcmp(program + length - 8, "stripped");
    FILE *file = fopen(output, "r");
    while (file && fscanf(file, " %127[^\t]\t%15s\t%lf", function, precision, &expected) == 3) {
        if (stripped && strcmp(function, "*") != 0)
            continue;
        double found = found_of(tally, program, function, precision);
        n++;
        if (found != expected) {
            printf("%s: %.0f %s expected, %.0f counted\n", function, expected, precision, found);
            wrong++;
        }
    }
    if (file)
        fclose(file);
    printf("%u figures, %u wrong\n", n, wrong);
    return n && !wrong ? 0 : 1;
}

static void clean_up(const char *output)
{
    for (size_t i = 0; i < n_files; i++) {
        unlink(files[i]);
        free(files[i]);
    }
    unlink(output);
    if (engine_link[0])
        unlink(engine_link);
    rmdir(folder);
}

int main(int argc, char **argv)
{
    struct rl_tally tally;
    struct rl_error err = {0};
    char output[64];
    if (argc < 4 || !mkdtemp(folder))
        return 2;
    snprintf(output, sizeof output, "%s/output", folder);
    int status = run(plain(argv[1]), argv[2], argv + 3, output);
    find_results();
    if (status) {
        printf("the program ended with status %d%s\n", status,
               status == 128 + 4 ? ": this processor lacks what it was built for" : "");
        clean_up(output);
        return status == 128 + 4 ? CANNOT : 1;
    }
    status = 1;
    if (rl_tally_build((const char *const *)files, n_files, NULL, &tally, &err)) {
        printf("%s\n", err.text);
    } else {
        for (size_t i = 0; i < tally.n_note; i++)
            printf("note: %s\n", tally.note[i]);
        status = compare(&tally, argv[3], output);
        rl_tally_release(&tally);
    }
    clean_up(output);
    return status;
}
