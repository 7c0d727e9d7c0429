/* Intel ITT: a small static part in the program loads the library that INTEL_LIBITTNOTIFY64 names
 * and lets its __itt_api_init fill a table of function pointers; a library without one is given no
 * tasks. Domains and names are structures that both sides read. */
#include "region/region.h"
#include "sample/preload/markers.h"

#include <pthread.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

struct itt_id {
    unsigned long long word[3];
};

struct itt_name {
    const char *ascii;
    const void *wide;
    int extra1;
    void *extra2;
    struct itt_name *next;
};

struct itt_domain {
    volatile int flags; /**< non-zero: enabled */
    const char *ascii;
    const void *wide;
    int extra1;
    void *extra2;
    struct itt_domain *next;
};

/* What a name was given, a name or a domain: always the same, for programs ask again and again. */
struct made {
    char *name;
    void *object;
};

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct made *)a)->name, ((const struct made *)b)->name);
}

static void *make_domain(const char *name)
{
    struct itt_domain *domain = calloc(1, sizeof *domain);
    if (domain) {
        domain->flags = 1;
        domain->ascii = name;
    }
    return domain;
}

static void *make_name(const char *name)
{
    struct itt_name *handle = calloc(1, sizeof *handle);
    if (handle)
        handle->ascii = name;
    return handle;
}

/* NULL without memory. */
static void *made_for(const char *name, void **all, void *(*make)(const char *name))
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    struct made wanted = {.name = (char *)(name ? name : "")};
    void *object = NULL;
    pthread_mutex_lock(&lock);
    struct made **node = tfind(&wanted, all, by_name);
    if (node) {
        object = (*node)->object;
    } else {
        struct made *made = calloc(1, sizeof *made);
        if (made && (made->name = strdup(wanted.name)) && (made->object = make(made->name)) &&
            tsearch(made, all, by_name)) {
            object = made->object;
        } else if (made) {
            free(made->object);
            free(made->name);
            free(made);
        }
    }
    pthread_mutex_unlock(&lock);
    return object;
}

EXPORT struct itt_domain *__itt_domain_create(const char *name);
EXPORT struct itt_domain *__itt_domain_create(const char *name)
{
    static void *domains;
    return made_for(name, &domains, make_domain);
}

EXPORT struct itt_name *__itt_string_handle_create(const char *name);
EXPORT struct itt_name *__itt_string_handle_create(const char *name)
{
    static void *names;
    return made_for(name, &names, make_name);
}

EXPORT void __itt_task_begin(const struct itt_domain *domain, struct itt_id task,
                             struct itt_id parent, const struct itt_name *name);
EXPORT void __itt_task_begin(const struct itt_domain *domain, struct itt_id task,
                             struct itt_id parent, const struct itt_name *name)
{
    (void)domain, (void)task, (void)parent;
    marker_push(name ? name->ascii : NULL);
}

EXPORT void __itt_task_end(const struct itt_domain *domain);
EXPORT void __itt_task_end(const struct itt_domain *domain)
{
    (void)domain;
    region_end_innermost();
}

/* What lies between a resume and the next pause is one region. */
static const char collected[] = "(collected)";

EXPORT void __itt_resume(void);
EXPORT void __itt_resume(void)
{
    roofline_region_begin(collected);
}

EXPORT void __itt_pause(void);
EXPORT void __itt_pause(void)
{
    roofline_region_end(collected);
}

/* ---- the table ---- */

struct itt_api {
    const char *name;
    void **function;
    void *initial;
    void *none; /**< what to call where nothing is wanted; NULL: nothing */
    int group;
};

/** The head of the static part's own record, the same since its version 3. */
struct itt_global {
    unsigned char magic[8];
    unsigned long version_major, version_minor, version_build;
    volatile long initialized, mutex_initialized, counter;
    pthread_mutex_t mutex;
    void *library;
    void *error_handler;
    const char **library_path;
    struct itt_api *api; /**< up to one without a name */
};

static const struct {
    const char *name;
    void (*function)(void);
} wanted[] = {
    {"__itt_domain_create", (void (*)(void))__itt_domain_create},
    {"__itt_domain_createA", (void (*)(void))__itt_domain_create},
    {"__itt_pause", (void (*)(void))__itt_pause},
    {"__itt_resume", (void (*)(void))__itt_resume},
    {"__itt_string_handle_create", (void (*)(void))__itt_string_handle_create},
    {"__itt_string_handle_createA", (void (*)(void))__itt_string_handle_create},
    {"__itt_task_begin", (void (*)(void))__itt_task_begin},
    {"__itt_task_end", (void (*)(void))__itt_task_end},
};

static void *wanted_for(const struct itt_api *api)
{
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (!strcmp(wanted[i].name, api->name))
            return (void *)wanted[i].function;
    return api->none;
}

EXPORT void __itt_api_init(struct itt_global *global, int groups);
EXPORT void __itt_api_init(struct itt_global *global, int groups)
{
    const unsigned long oldest_known = 3;
    (void)groups;
    if (!global || global->version_major < oldest_known)
        return;
    for (struct itt_api *api = global->api; api && api->name; api++)
        *api->function = wanted_for(api);
}
