#include "workload/blas.h"

#include "base/error.h"
#include "base/library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* Searched in this order; fastest first. */
static const char *const names[] = {"libmkl_rt.so.2",   "libmkl_rt.so",  "libopenblas.so.0",
                                    "libopenblas.so",   "libblis.so.4",  "libblis-mt.so.4",
                                    "libarmpl_lp64.so", "libcblas.so.3", "libblas.so.3"};

/* How the libraries let a program choose the number of threads. */
static const char *const thread_setters[] = {"openblas_set_num_threads", "MKL_Set_Num_Threads",
                                             "bli_thread_set_num_threads"};

enum { ROW_MAJOR = 101, NO_TRANSPOSE = 111 };

/* dlsym gives an object pointer; ISO C has no cast to a function. */
static void find_symbol(void *handle, const char *name, void *ret_function)
{
    void *symbol = dlsym(handle, name);
    memcpy(ret_function, &symbol, sizeof symbol);
}

static enum rl_status load_named(struct rl_blas *blas, const char *name, struct rl_error *err)
{
    memset(blas, 0, sizeof *blas);
    if (!*name)
        return rl_fail(err, RL_EINVAL, "--blas: the name of the library is empty");
    RL_TRY(rl_library_check(name, err));
    /* Never unloaded: some libraries leave threads and exit handlers behind. */
    blas->handle = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!blas->handle) {
        const char *why = dlerror();
        return rl_fail(err, RL_EUNAVAIL, "cannot load the BLAS library: %s", why ? why : name);
    }
    find_symbol(blas->handle, "cblas_dgemm", &blas->dgemm);
    find_symbol(blas->handle, "cblas_sgemm", &blas->sgemm);
    if (blas->dgemm && blas->sgemm) {
        snprintf(blas->description, sizeof blas->description, "%s", name);
        return RL_OK;
    }
    rl_blas_close(blas);
    return rl_fail(err, RL_EUNAVAIL, "%s has no cblas_dgemm and cblas_sgemm: it is not a CBLAS",
                   name);
}

static enum rl_status load_any(struct rl_blas *blas, const char *path, struct rl_error *err)
{
    if (path)
        return load_named(blas, path, err);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (load_named(blas, names[i], NULL) == RL_OK)
            return RL_OK;
    return rl_fail(err, RL_EUNAVAIL,
                   "no CBLAS library found (tried MKL, OpenBLAS, BLIS, ArmPL, reference); install "
                   "libopenblas0 or name one with --blas PATH");
}

static void describe(struct rl_blas *blas)
{
    char *(*config)(void) = NULL;
    find_symbol(blas->handle, "openblas_get_config", &config);
    size_t used = strlen(blas->description);
    if (config && used < sizeof blas->description)
        snprintf(blas->description + used, sizeof blas->description - used, " (%s)", config());
}

enum rl_status rl_blas_probe(const char *path, struct rl_error *err)
{
    struct rl_blas blas;
    RL_TRY(load_any(&blas, path, err));
    rl_blas_close(&blas);
    return RL_OK;
}

enum rl_status rl_blas_open(struct rl_blas *blas, const char *path, unsigned threads,
                            struct rl_error *err)
{
    RL_TRY(load_any(blas, path, err));
    void (*set_threads)(int) = NULL;
    for (size_t i = 0; i < sizeof thread_setters / sizeof thread_setters[0] && !set_threads; i++)
        find_symbol(blas->handle, thread_setters[i], &set_threads);
    if (set_threads) {
        set_threads((int)threads);
    } else if (threads > 1) {
        rl_fail(err, RL_EUNAVAIL,
                "%s offers no way to choose %u threads; use --threads 1 or another library",
                blas->description, threads);
        rl_blas_close(blas);
        return RL_EUNAVAIL;
    }
    describe(blas);
    return RL_OK;
}

void rl_blas_gemm(const struct rl_blas *blas, enum rl_precision precision, size_t m, size_t n,
                  size_t k, const void *a, const void *b, void *c)
{
    if (precision == RL_FP64)
        blas->dgemm(ROW_MAJOR, NO_TRANSPOSE, NO_TRANSPOSE, (int)m, (int)n, (int)k, 1.0, a, (int)k,
                    b, (int)n, 0.0, c, (int)n);
    else
        blas->sgemm(ROW_MAJOR, NO_TRANSPOSE, NO_TRANSPOSE, (int)m, (int)n, (int)k, 1.0F, a, (int)k,
                    b, (int)n, 0.0F, c, (int)n);
}

void rl_blas_close(struct rl_blas *blas)
{
    if (blas->handle)
        dlclose(blas->handle);
    memset(blas, 0, sizeof *blas);
}
