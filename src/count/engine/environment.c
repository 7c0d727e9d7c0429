#include "count/engine/environment.h"

#include <elf.h>
#include <errno.h>
#include <sys/mman.h>

#include "count/engine/engine.h"

enum {
    VARIABLES_MAX = 1 << 20,
    TEXT_BYTES = RLE_OUTPUT_MAX + RLE_OPTIONS_TEXT_MAX,
    PRELOAD_MAX = 64 << 10,
    OWN_VARIABLES_MAX = 3,
};

#define PRELOAD "LD_PRELOAD="
#define OPTIONS RLE_OPTIONS_ENV "="
/** Keeps the number of own variables even where the program has a LD_PRELOAD of its own. */
#define PADDING RLE_OPTIONS_ENV "_PAD="

static const char *after(const char *text, const char *word)
{
    while (*word)
        if (*text++ != *word++)
            return NULL;
    return text;
}

/* The engine is the first word of LD_PRELOAD. Note its path; return the rest, "" if there is none.
 */
static char *split_preload(char *value)
{
    struct rle_text path = {rle_engine.object_path, sizeof(rle_engine.object_path), 0};
    char letter[2] = "";
    while (*value && *value != ':' && *value != ' ') {
        letter[0] = *value++;
        rle_text_add(&path, letter);
    }
    while (*value == ':' || *value == ' ')
        value++;
    return value;
}

/* Shift what is left down over `removed` pointers, and fill a hole of two with an entry of the
 * auxiliary vector, which begins behind the pointers. */
static void close_gap(char **envp, unsigned n, unsigned removed)
{
    char **end = envp + n - removed;
    *end = NULL;
    if (removed == 2) {
        Elf64_auxv_t *hole = (Elf64_auxv_t *)(end + 1);
        hole->a_type = AT_IGNORE;
        hole->a_un.a_val = 0;
    }
}

const char *rle_environment_clean(char **envp)
{
    const char *options = NULL;
    for (unsigned i = 0; envp[i] && !options; i++)
        options = after(envp[i], OPTIONS);
    if (!options)
        return NULL;
    unsigned n = 0, removed = 0;
    for (; envp[n]; n++) {
        char *entry = envp[n];
        bool own = after(entry, OPTIONS) || after(entry, PADDING);
        if (after(entry, PRELOAD)) {
            char *rest = split_preload(entry + sizeof(PRELOAD) - 1);
            own = !*rest;
            if (!own) { /* the engine's path was longer than this */
                entry = rest - (sizeof(PRELOAD) - 1);
                rle_copy(entry, PRELOAD, sizeof(PRELOAD) - 1);
            }
        }
        removed += own;
        if (!own)
            envp[n - removed] = entry;
    }
    close_gap(envp, n, removed);
    return options;
}

static long count_variables(const char *const *envp, uint64_t *ret_n)
{
    *ret_n = 0;
    if (!envp)
        return 0;
    for (uint64_t n = 0; n < VARIABLES_MAX; n++) {
        const char *entry;
        if (rle_copy_guarded(&entry, envp + n, sizeof(entry)))
            return -EFAULT;
        if (!entry) {
            *ret_n = n;
            return 0;
        }
    }
    return -E2BIG;
}

/* Is `entry`, in the program's memory, the variable LD_PRELOAD? */
static bool is_preload(const char *entry)
{
    char name[sizeof(PRELOAD) - 1];
    if (rle_copy_guarded(name, entry, sizeof(name)))
        return false;
    for (unsigned i = 0; i < sizeof(name); i++)
        if (name[i] != PRELOAD[i])
            return false;
    return true;
}

long rle_environment_for_exec(const char *const *envp, struct rle_environment *ret)
{
    uint64_t n;
    long error = count_variables(envp, &n);
    if (error)
        return error;
    size_t table = (n + OWN_VARIABLES_MAX + 1) * sizeof(char *);
    size_t bytes = table + 2 * (size_t)TEXT_BYTES + PRELOAD_MAX;
    char *memory = rle_map(bytes);
    if (!memory)
        return -ENOMEM;
    *ret = (struct rle_environment){(const char **)memory, memory, bytes};
    const char *theirs = NULL;
    uint64_t kept = 0;
    for (uint64_t i = 0; i < n; i++) {
        if (is_preload(envp[i])) /* of several the loader takes the last */
            theirs = envp[i] + sizeof(PRELOAD) - 1;
        else
            ret->pointers[kept++] = envp[i];
    }
    char *own = memory + table;
    struct rle_text options = {own, TEXT_BYTES, 0};
    rle_text_add(&options, OPTIONS);
    rle_options_format(&rle_engine.options, own + options.length, TEXT_BYTES - options.length);
    struct rle_text preload = {own + TEXT_BYTES, TEXT_BYTES + PRELOAD_MAX, 0};
    rle_text_add(&preload, PRELOAD);
    rle_text_add(&preload, rle_engine.object_path);
    if (theirs && *theirs) {
        rle_text_add(&preload, ":");
        rle_text_add(&preload, theirs);
        ret->pointers[kept++] = PADDING;
    }
    ret->pointers[kept++] = own;
    ret->pointers[kept++] = own + TEXT_BYTES;
    ret->pointers[kept] = NULL;
    return 0;
}

void rle_environment_release(struct rle_environment *environment)
{
    if (environment->memory)
        rle_sys3(SYS_munmap, (long)environment->memory, (long)environment->bytes, 0);
}
