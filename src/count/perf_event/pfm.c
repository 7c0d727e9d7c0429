#include "count/perf_event/pfm.h"

#include "base/error.h"

#include <dlfcn.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SONAME "libpfm.so.4"

/* From perfmon/pfmlib.h and pfmlib_perf_event.h of libpfm4, whose sizes ("ABI0") are fixed for the
 * soname; declared here so that a build needs no libpfm4. */
enum {
    PFM_SUCCESS = 0,
    PFM_ERR_NOTFOUND = -4,
    PFM_PLM3 = 8, /* user level */
    PFM_OS_PERF_EVENT = 1,
    PMU_ID_END = 2048, /* newer libraries have more than our header would say */
};

struct encode_argument {
    struct perf_event_attr *attr;
    char **fstr;
    size_t size;
    int idx, cpu, flags, pad;
};

struct pmu_info {
    const char *name, *desc;
    size_t size;
    int pmu, type, nevents, first_event, max_encoding, num_cntrs, num_fixed_cntrs;
    unsigned is_present : 1, others : 31;
};

struct event_info {
    const char *name, *desc, *equiv;
    size_t size;
    uint64_t code;
    int pmu, dtype, idx, nattrs, reserved;
    unsigned flags;
};

_Static_assert(sizeof(void *) != 8 || sizeof(struct encode_argument) == 40, "ABI0");
_Static_assert(sizeof(void *) != 8 || sizeof(struct pmu_info) == 56, "ABI0");
_Static_assert(sizeof(void *) != 8 || sizeof(struct event_info) == 64, "ABI0");

struct library {
    void *handle;
    int (*initialize)(void);
    const char *(*strerror)(int code);
    int (*encode)(const char *name, int privilege, int os, void *argument);
    int (*pmu_info)(int pmu, struct pmu_info *info);
    int (*event_info)(int event, int os, struct event_info *info);
    int (*next_event)(int event);
};

static enum rl_status load(struct library *ret, struct rl_error *err)
{
    struct library lib = {.handle = dlopen(SONAME, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)};
    const struct {
        const char *name;
        void *function;
    } needed[] = {
        {"pfm_initialize", &lib.initialize},        {"pfm_strerror", &lib.strerror},
        {"pfm_get_os_event_encoding", &lib.encode}, {"pfm_get_pmu_info", &lib.pmu_info},
        {"pfm_get_event_info", &lib.event_info},    {"pfm_get_event_next", &lib.next_event},
    };
    bool complete = lib.handle != NULL;
    for (size_t i = 0; complete && i < sizeof needed / sizeof *needed; i++) {
        void *at = dlsym(lib.handle, needed[i].name);
        memcpy(needed[i].function, &at, sizeof at);
        complete = at != NULL;
    }
    if (!complete)
        return rl_fail(err, RL_EUNAVAIL,
                       "names of events need libpfm4 (" SONAME "), which is not here; to enable: "
                       "sudo apt-get install libpfm4");
    int code = lib.initialize();
    if (code != PFM_SUCCESS)
        return rl_fail(err, RL_EUNAVAIL, "libpfm4: %s", lib.strerror(code));
    *ret = lib;
    return RL_OK;
}

enum rl_status rl_pfm_probe(struct rl_error *err)
{
    struct library lib;
    return load(&lib, err);
}

/* --- near names --- */

enum { MOST_NEAR = 3, LONGEST = 64 };

struct near {
    const char *name[MOST_NEAR];
    size_t distance[MOST_NEAR];
    size_t n;
};

static unsigned lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (unsigned)(c - 'A' + 'a') : (unsigned char)c;
}

/* Letters to insert, leave out or change (Levenshtein). */
static size_t distance(const char *a, const char *b)
{
    size_t row[LONGEST + 1];
    size_t n = strnlen(b, LONGEST);
    for (size_t j = 0; j <= n; j++)
        row[j] = j;
    for (size_t i = 1; a[i - 1] && i <= LONGEST; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            size_t change = diagonal + (lower(a[i - 1]) != lower(b[j - 1]));
            diagonal = row[j];
            row[j] = row[j] < row[j - 1] ? row[j] + 1 : row[j - 1] + 1;
            row[j] = change < row[j] ? change : row[j];
        }
    }
    return row[n];
}

/* A name that holds the other is nearer than one that only looks like it. */
static void consider(struct near *near, const char *wanted, const char *name)
{
    size_t d = strcasestr(name, wanted) ? 0 : distance(wanted, name);
    size_t at = near->n;
    if (d > strlen(wanted) / 2)
        return;
    while (at > 0 && near->distance[at - 1] > d)
        at--;
    if (at == MOST_NEAR)
        return;
    near->n += near->n < MOST_NEAR;
    for (size_t i = near->n - 1; i > at; i--) {
        near->name[i] = near->name[i - 1];
        near->distance[i] = near->distance[i - 1];
    }
    near->name[at] = name;
    near->distance[at] = d;
}

/* Of the PMUs that are here, names like the event part of "pmu::event:mask". */
static void find_near(const struct library *lib, const char *name, struct near *near)
{
    const char *colons = strstr(name, "::");
    char wanted[LONGEST + 1];
    snprintf(wanted, sizeof wanted, "%s", colons ? colons + 2 : name);
    wanted[strcspn(wanted, ":")] = '\0';
    for (int id = 0; id < PMU_ID_END; id++) {
        struct pmu_info pmu = {.size = sizeof pmu};
        if (lib->pmu_info(id, &pmu) != PFM_SUCCESS || !pmu.is_present)
            continue;
        for (int e = pmu.first_event; e >= 0; e = lib->next_event(e)) {
            struct event_info event = {.size = sizeof event};
            if (lib->event_info(e, PFM_OS_PERF_EVENT, &event) == PFM_SUCCESS && event.name)
                consider(near, wanted, event.name);
        }
    }
}

static enum rl_status fail_unknown(const struct library *lib, const char *name,
                                   struct rl_error *err)
{
    struct near near = {0};
    char names[3 * (LONGEST + 2)] = "";
    size_t used = 0;
    find_near(lib, name, &near);
    for (size_t i = 0; i < near.n && used < sizeof names; i++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%.60s", i ? ", " : "",
                                 near.name[i]);
    return rl_fail(err, RL_EINVAL, "%s: libpfm4 knows no such event on this machine%s%s", name,
                   near.n ? "; near it: " : "", names);
}

enum rl_status rl_pfm_encode(const char *name, struct perf_event_attr *ret_attr,
                             struct rl_error *err)
{
    struct library lib;
    struct perf_event_attr attr = {.size = sizeof attr};
    struct encode_argument argument = {.attr = &attr, .size = sizeof argument};
    RL_TRY(load(&lib, err));
    int code = lib.encode(name, PFM_PLM3, PFM_OS_PERF_EVENT, &argument);
    if (code == PFM_ERR_NOTFOUND)
        return fail_unknown(&lib, name, err);
    if (code != PFM_SUCCESS)
        return rl_fail(err, RL_EINVAL, "%s: libpfm4 says: %s", name, lib.strerror(code));
    *ret_attr = attr;
    return RL_OK;
}
