#include "workload/onednn.h"

#include "base/error.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What we need of dnnl_types.h; these numbers are the same in versions 2 and 3. */
enum {
    ENGINE_CPU = 1,
    STREAM_DEFAULT = 1,
    F32 = 3,
    TAG_ANY = 1,
    FORWARD_INFERENCE = 96,
    CONVOLUTION_AUTO = 3,
    QUERY_IMPL = 8,
    QUERY_SRC = 129,
    QUERY_WEIGHTS = 131,
    QUERY_DST = 133,
    QUERY_SCRATCHPAD = 136,
    SCRATCHPAD_BY_USER = 1,
    ARG_SRC = 1,
    ARG_DST = 17,
    ARG_WEIGHTS = 33,
    ARG_SCRATCHPAD = 80,
    MOST_DIMS = 12,
};

/* Room for version 2's descriptors, which are plain structs of up to some kilobytes; version 3
 * keeps a handle. A memory descriptor is always passed by a pointer, so both look alike to a
 * caller. */
enum { DESCRIPTOR_BYTES = 4096, OPERATION_BYTES = 16384 };

typedef int64_t dims[MOST_DIMS];

struct version {
    int major, minor, patch;
};

struct argument {
    int arg;
    void *memory;
};

struct api {
    const struct version *(*version)(void);
    int (*engine_create)(void **, int, size_t);
    int (*engine_destroy)(void *);
    int (*stream_create)(void **, void *, unsigned);
    int (*stream_destroy)(void *);
    int (*stream_wait)(void *);
    int (*memory_create)(void **, const void *, void *, void *);
    int (*memory_destroy)(void *);
    int (*primitive_create)(void **, const void *);
    int (*primitive_destroy)(void *);
    int (*primitive_desc_destroy)(void *);
    int (*primitive_execute)(void *, void *, int, const struct argument *);
    const void *(*query_md)(const void *, int, int);
    int (*query)(const void *, int, int, void *);
    int (*attr_create)(void **);
    int (*attr_destroy)(void *);
    int (*attr_scratchpad)(void *, int);
    int (*reorder_create)(void **, const void *, void *, const void *, void *, const void *);
    /* version 2 */
    int (*md_init)(void *, int, const int64_t *, int, int);
    int (*md_init_strides)(void *, int, const int64_t *, int, const int64_t *);
    int (*convolution_init)(void *, int, int, const void *, const void *, const void *,
                            const void *, const int64_t *, const int64_t *, const int64_t *,
                            const int64_t *);
    int (*primitive_desc_create)(void **, const void *, const void *, void *, const void *);
    /* version 3 */
    int (*md_create)(void **, int, const int64_t *, int, int);
    int (*md_create_strides)(void **, int, const int64_t *, int, const int64_t *);
    int (*md_destroy)(void *);
    int (*convolution_create)(void **, void *, int, int, const void *, const void *, const void *,
                              const void *, const int64_t *, const int64_t *, const int64_t *,
                              const int64_t *, const void *);
    void (*set_threads)(int); /* of the OpenMP runtime it was built with; NULL otherwise */
};

#define SYMBOL(name, member, need)                                                                 \
    {                                                                                              \
        "dnnl_" name, offsetof(struct api, member), need                                           \
    }

/* `need`: 0 always, else the major version that has it. */
static const struct {
    const char *name;
    size_t offset;
    int need;
} symbols[] = {
    SYMBOL("version", version, 0),
    SYMBOL("engine_create", engine_create, 0),
    SYMBOL("engine_destroy", engine_destroy, 0),
    SYMBOL("stream_create", stream_create, 0),
    SYMBOL("stream_destroy", stream_destroy, 0),
    SYMBOL("stream_wait", stream_wait, 0),
    SYMBOL("memory_create", memory_create, 0),
    SYMBOL("memory_destroy", memory_destroy, 0),
    SYMBOL("primitive_create", primitive_create, 0),
    SYMBOL("primitive_destroy", primitive_destroy, 0),
    SYMBOL("primitive_desc_destroy", primitive_desc_destroy, 0),
    SYMBOL("primitive_execute", primitive_execute, 0),
    SYMBOL("primitive_desc_query_md", query_md, 0),
    SYMBOL("primitive_desc_query", query, 0),
    SYMBOL("primitive_attr_create", attr_create, 0),
    SYMBOL("primitive_attr_destroy", attr_destroy, 0),
    SYMBOL("primitive_attr_set_scratchpad_mode", attr_scratchpad, 0),
    SYMBOL("reorder_primitive_desc_create", reorder_create, 0),
    SYMBOL("memory_desc_init_by_tag", md_init, 2),
    SYMBOL("memory_desc_init_by_strides", md_init_strides, 2),
    SYMBOL("dilated_convolution_forward_desc_init", convolution_init, 2),
    SYMBOL("primitive_desc_create", primitive_desc_create, 2),
    SYMBOL("memory_desc_create_with_tag", md_create, 3),
    SYMBOL("memory_desc_create_with_strides", md_create_strides, 3),
    SYMBOL("memory_desc_destroy", md_destroy, 3),
    SYMBOL("convolution_forward_primitive_desc_create", convolution_create, 3),
};

static const char *const library_names[] = {"libdnnl.so.3", "libdnnl.so.2"};

/* The scratchpad is ours: the library's own belongs to the thread that creates the convolution,
 * which is not the one that runs it. */
enum { X, W, Y, SCRATCHPAD, ARRAYS, CALLERS = SCRATCHPAD };

/* One array: as the caller has it, and as the library wants it. */
struct array {
    void *plain_md, *plain, *own;
};

struct rl_onednn {
    struct api api;
    unsigned threads;
    int major;
    bool packed; /* x and w are in the library's layout */
    void *engine, *stream, *attr, *convolution_desc, *convolution;
    struct array array[ARRAYS];
    char description[128];
};

static bool load_api(struct api *api)
{
    void *handle = NULL;
    for (size_t i = 0; i < sizeof library_names / sizeof library_names[0] && !handle; i++)
        handle = dlopen(library_names[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!handle)
        return false;
    memset(api, 0, sizeof *api);
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
        void *symbol = dlsym(handle, symbols[i].name);
        memcpy((char *)api + symbols[i].offset, &symbol, sizeof symbol);
    }
    void *setter = dlsym(handle, "omp_set_num_threads");
    memcpy(&api->set_threads, &setter, sizeof setter);
    dlclose(handle);
    int major = api->version ? api->version()->major : 0;
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
        void *symbol;
        memcpy(&symbol, (char *)api + symbols[i].offset, sizeof symbol);
        if (!symbol && (symbols[i].need == 0 || symbols[i].need == major))
            return false;
    }
    return major == 2 || major == 3;
}

enum rl_status rl_onednn_probe(struct rl_error *err)
{
    struct api api;
    if (load_api(&api))
        return RL_OK;
    return rl_fail(err, RL_EUNAVAIL,
                   "oneDNN was not found (tried libdnnl.so.3 and libdnnl.so.2); install libdnnl3 "
                   "or libdnnl2");
}

/* A memory descriptor for `n` dimensions: plain without gaps, or in any layout the library likes.
 */
static void *describe(const struct rl_onednn *o, int n, const int64_t *size, bool plain)
{
    dims stride;
    int64_t next = 1;
    for (int d = n - 1; d >= 0; next *= size[d--])
        stride[d] = next;
    void *md = NULL;
    if (o->major == 3) {
        int failed = plain ? o->api.md_create_strides(&md, n, size, F32, stride)
                           : o->api.md_create(&md, n, size, F32, TAG_ANY);
        return failed ? NULL : md;
    }
    md = calloc(1, DESCRIPTOR_BYTES);
    int failed = !md     ? 1
                 : plain ? o->api.md_init_strides(md, n, size, F32, stride)
                         : o->api.md_init(md, n, size, F32, TAG_ANY);
    if (!failed)
        return md;
    free(md);
    return NULL;
}

static void forget(const struct rl_onednn *o, void *md)
{
    if (o->major == 3 && md)
        o->api.md_destroy(md);
    else
        free(md);
}

/* Sizes of x, w and y; grouped weights have one dimension more. */
static int sizes_of(const struct rl_onednn_shape *p, int array, int64_t *size)
{
    const dims x = {p->n, p->c, p->h, p->w}, y = {p->n, p->k, p->oh, p->ow};
    const dims w = {p->k, p->c, p->r, p->s};
    const dims grouped = {p->groups, p->k / p->groups, p->c / p->groups, p->r, p->s};
    const int64_t *from = array == X ? x : array == Y ? y : p->groups > 1 ? grouped : w;
    memcpy(size, from, sizeof(dims));
    return array == W && p->groups > 1 ? 5 : 4;
}

static bool create_convolution(struct rl_onednn *o, const struct rl_onednn_shape *p,
                               void *const md[CALLERS])
{
    const dims stride = {p->stride, p->stride}, none = {0};
    const dims dilate = {p->dilation - 1, p->dilation - 1};
    if (o->major == 3)
        return o->api.convolution_create(&o->convolution_desc, o->engine, FORWARD_INFERENCE,
                                         CONVOLUTION_AUTO, md[X], md[W], NULL, md[Y], stride,
                                         dilate, none, none, o->attr) == 0;
    void *operation = calloc(1, OPERATION_BYTES);
    bool ok = operation &&
              o->api.convolution_init(operation, FORWARD_INFERENCE, CONVOLUTION_AUTO, md[X], md[W],
                                      NULL, md[Y], stride, dilate, none, none) == 0 &&
              o->api.primitive_desc_create(&o->convolution_desc, operation, o->attr, o->engine,
                                           NULL) == 0;
    free(operation);
    return ok;
}

static bool choose(struct rl_onednn *o, const struct rl_onednn_shape *p)
{
    void *md[CALLERS];
    bool ok = o->api.attr_create(&o->attr) == 0 &&
              o->api.attr_scratchpad(o->attr, SCRATCHPAD_BY_USER) == 0;
    for (int i = 0; i < CALLERS; i++) {
        int64_t size[MOST_DIMS];
        int n = sizes_of(p, i, size);
        md[i] = describe(o, n, size, false);
        o->array[i].plain_md = describe(o, n, size, true);
        ok = ok && md[i] && o->array[i].plain_md;
    }
    ok = ok && create_convolution(o, p, md) &&
         o->api.primitive_create(&o->convolution, o->convolution_desc) == 0;
    for (int i = 0; i < CALLERS; i++)
        forget(o, md[i]);
    return ok;
}

static void set_threads(const struct rl_onednn *o)
{
    if (o->api.set_threads)
        o->api.set_threads((int)o->threads);
}

static void describe_library(struct rl_onednn *o)
{
    const struct version *v = o->api.version();
    const char *implementation = NULL;
    if (o->api.query(o->convolution_desc, QUERY_IMPL, 0, &implementation) != 0 || !implementation)
        implementation = "unknown implementation";
    snprintf(o->description, sizeof o->description, "oneDNN %d.%d.%d, %s", v->major, v->minor,
             v->patch, implementation);
}

enum rl_status rl_onednn_open(const struct rl_onednn_shape *shape, unsigned threads,
                              struct rl_onednn **ret_onednn, struct rl_error *err)
{
    RL_TRY(rl_onednn_probe(err));
    struct rl_onednn *o = calloc(1, sizeof *o);
    if (!o)
        return rl_fail(err, RL_ENOMEM, "no memory for oneDNN");
    load_api(&o->api);
    o->threads = threads;
    o->major = o->api.version()->major;
    set_threads(o);
    if ((threads > 1 && !o->api.set_threads) ||
        o->api.engine_create(&o->engine, ENGINE_CPU, 0) != 0 ||
        o->api.stream_create(&o->stream, o->engine, STREAM_DEFAULT) != 0 || !choose(o, shape)) {
        rl_onednn_close(o);
        return rl_fail(err, RL_EUNAVAIL,
                       "this oneDNN has no fp32 convolution for the shape and %u thread(s)",
                       threads);
    }
    describe_library(o);
    *ret_onednn = o;
    return RL_OK;
}

enum rl_status rl_onednn_bind(struct rl_onednn *o, void *x, void *w, void *y, struct rl_error *err)
{
    static const int query[ARRAYS] = {QUERY_SRC, QUERY_WEIGHTS, QUERY_DST, QUERY_SCRATCHPAD};
    void *const plain[CALLERS] = {x, w, y}, *const library_allocates = (void *)SIZE_MAX;
    for (int i = 0; i < ARRAYS; i++) {
        struct array *a = &o->array[i];
        const void *own = o->api.query_md(o->convolution_desc, query[i], 0);
        if (!own ||
            (i < CALLERS &&
             o->api.memory_create(&a->plain, a->plain_md, o->engine, plain[i]) != 0) ||
            o->api.memory_create(&a->own, own, o->engine, library_allocates) != 0)
            return rl_fail(err, RL_ENOMEM, "oneDNN cannot allocate its arrays");
    }
    return RL_OK;
}

/* Copy between layouts; false leaves the destination as it was, which the check then finds. */
static bool reorder(struct rl_onednn *o, const void *from_md, void *from, const void *to_md,
                    void *to)
{
    void *desc = NULL, *primitive = NULL;
    const struct argument arg[] = {{ARG_SRC, from}, {ARG_DST, to}};
    bool ok = o->api.reorder_create(&desc, from_md, o->engine, to_md, o->engine, NULL) == 0 &&
              o->api.primitive_create(&primitive, desc) == 0 &&
              o->api.primitive_execute(primitive, o->stream, 2, arg) == 0 &&
              o->api.stream_wait(o->stream) == 0;
    if (primitive)
        o->api.primitive_destroy(primitive);
    if (desc)
        o->api.primitive_desc_destroy(desc);
    return ok;
}

void rl_onednn_run(struct rl_onednn *o)
{
    set_threads(o);
    if (!o->packed) {
        static const int query[] = {QUERY_SRC, QUERY_WEIGHTS};
        for (int i = X; i <= W; i++)
            reorder(o, o->array[i].plain_md, o->array[i].plain,
                    o->api.query_md(o->convolution_desc, query[i], 0), o->array[i].own);
        o->packed = true;
    }
    const struct argument arg[] = {{ARG_SRC, o->array[X].own},
                                   {ARG_WEIGHTS, o->array[W].own},
                                   {ARG_DST, o->array[Y].own},
                                   {ARG_SCRATCHPAD, o->array[SCRATCHPAD].own}};
    o->api.primitive_execute(o->convolution, o->stream, sizeof arg / sizeof arg[0], arg);
    o->api.stream_wait(o->stream);
}

void rl_onednn_fetch(struct rl_onednn *o)
{
    reorder(o, o->api.query_md(o->convolution_desc, QUERY_DST, 0), o->array[Y].own,
            o->array[Y].plain_md, o->array[Y].plain);
}

const char *rl_onednn_description(const struct rl_onednn *o)
{
    return o->description;
}

void rl_onednn_close(struct rl_onednn *o)
{
    if (!o)
        return;
    for (int i = 0; i < ARRAYS; i++) {
        if (o->array[i].plain)
            o->api.memory_destroy(o->array[i].plain);
        if (o->array[i].own)
            o->api.memory_destroy(o->array[i].own);
        forget(o, o->array[i].plain_md);
    }
    if (o->convolution)
        o->api.primitive_destroy(o->convolution);
    if (o->convolution_desc)
        o->api.primitive_desc_destroy(o->convolution_desc);
    if (o->attr)
        o->api.attr_destroy(o->attr);
    if (o->stream)
        o->api.stream_destroy(o->stream);
    if (o->engine)
        o->api.engine_destroy(o->engine);
    free(o);
}
