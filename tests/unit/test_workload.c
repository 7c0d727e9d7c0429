/* Every workload computes what its reference computes, for every variant, precision and instruction
 * set, at sizes around the edges of blocks; and counts what it executes. */
#include "cpu/cpu.h"
#include "workload/bench.h"
#include "workload/workload.h"

#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* A machine with 32 KiB of L1, 512 KiB of L2 and 8 MiB of L3. */
static struct rl_level levels[] = {
    {.name = "L1", .size_bytes = 32 << 10, .shared_by = 1, .count = 4},
    {.name = "L2", .size_bytes = 512 << 10, .shared_by = 1, .count = 4},
    {.name = "L3", .size_bytes = 8 << 20, .shared_by = 4, .count = 1},
};
static const struct rl_machine machine = {.topology = {.levels = levels, .n_levels = 3}};

static unsigned usable_isas(void)
{
    struct rl_cpu cpu;
    unsigned mask = 1u << RL_WORK_BASE;
    if (rl_cpu_detect(NULL, &cpu, NULL) != RL_OK)
        return mask;
    if (rl_cpu_usable(&cpu, RL_ISA_AVX2) && rl_cpu_usable(&cpu, RL_ISA_FMA))
        mask |= 1u << RL_WORK_AVX2;
    if (rl_cpu_usable(&cpu, RL_ISA_AVX512))
        mask |= 1u << RL_WORK_AVX512;
    return mask;
}

static struct rl_work_env test_env(void)
{
    return (struct rl_work_env){.isa_mask = usable_isas(), .machine = &machine};
}

static void set(struct rl_work_config *config, const char *key, const char *value)
{
    struct rl_error err = {0};
    if (rl_work_config_set(config, key, value, &err) != RL_OK)
        fail_msg("%s=%s: %s", key, value, err.text);
}

/* "n=3 m=5" */
static void set_all(struct rl_work_config *config, const char *settings)
{
    static char words[512]; /* texts are borrowed until the next call */
    snprintf(words, sizeof words, "%s", settings);
    char *rest = words;
    for (char *word; (word = strtok_r(rest, " ", &rest));) {
        char *value = strchr(word, '=');
        assert_non_null(value);
        *value = '\0';
        set(config, word, value + 1);
    }
}

/* Threads are expensive under sanitizers: one team a size for all tests. */
enum { MOST_THREADS = 4 };
static struct rl_team *teams[MOST_THREADS + 1];

static struct rl_team *team_of(unsigned threads)
{
    static const int unpinned[MOST_THREADS] = {-1, -1, -1, -1};
    assert_in_range(threads, 1, MOST_THREADS);
    if (!teams[threads])
        assert_int_equal(rl_team_new(unpinned, threads, &teams[threads], NULL), RL_OK);
    return teams[threads];
}

static int free_teams(void **state)
{
    (void)state;
    for (unsigned i = 0; i <= MOST_THREADS; i++)
        rl_team_free(teams[i]);
    return 0;
}

static void verify(const struct rl_work_config *config, const char *settings)
{
    struct rl_error err = {0};
    struct rl_work work;
    bool own = config->workload->variant[config->variant].own_threads;
    struct rl_team *team = NULL;
    static const int unpinned = -1;
    enum rl_status status = rl_work_open(&work, config, &err);
    if (status == RL_EUNAVAIL) {
        rl_work_release(&work);
        return;
    }
    if (own) /* a library's own threads end with the thread that called it */
        assert_int_equal(rl_team_new(&unpinned, 1, &team, NULL), RL_OK);
    else
        team = team_of(config->threads);
    if (status == RL_OK)
        status = rl_work_setup(&work, team, &err);
    if (status == RL_OK)
        status = rl_work_verify(&work, team, &err);
    if (status != RL_OK) {
        char title[64];
        rl_work_title(config, title, sizeof title);
        fail_msg("%s %s isa=%s threads=%u: %s", title, settings, rl_work_isa_name(config->isa),
                 config->threads, err.text);
    }
    rl_work_release(&work);
    if (own)
        rl_team_free(team);
}

/* All variants x precisions x instruction sets x threads of one family at one setting. */
static void verify_all(const char *name, const char *settings, unsigned threads)
{
    const struct rl_workload *workload = rl_workload_find(name);
    assert_non_null(workload);
    struct rl_work_env env = test_env();
    struct rl_work_config config;
    for (unsigned v = 0; v < workload->n_variant; v++)
        for (unsigned p = 0; p < workload->n_precision; p++)
            for (unsigned isa = 0; isa < RL_WORK_ISA_COUNT; isa++) {
                if (!(env.isa_mask & (1u << isa)) || (isa && !workload->variant[v].vectorised))
                    continue;
                rl_work_config_init(&config, workload, &env);
                config.variant = v;
                config.precision = workload->precision[p];
                config.isa = (enum rl_work_isa)isa;
                config.threads = threads;
                set_all(&config, settings);
                verify(&config, settings);
            }
}

static const char *const gemm_sizes[] = {
    "n=1",  "n=1 m=1 k=7",     "n=2 m=3 k=1",      "n=31 m=13 k=5",  "n=33 m=12 k=16",
    "n=64", "n=65 m=67 k=129", "n=97 m=301 k=513", "n=700 m=5 k=600"};

static void every_gemm_multiplies(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof gemm_sizes / sizeof gemm_sizes[0]; i++)
        for (unsigned threads = 1; threads <= 4; threads += 1 + (threads == 2))
            verify_all("gemm", gemm_sizes[i], threads);
}

static void every_stream_streams(void **state)
{
    (void)state;
    static const char *const sizes[] = {"n=1", "n=7", "n=64", "n=1023", "n=4097", "n=30001"};
    static const char *const names[] = {"axpy", "copy", "dot", "triad"};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (size_t j = 0; j < sizeof names / sizeof names[0]; j++) {
            verify_all(names[j], sizes[i], 1);
            verify_all(names[j], sizes[i], 3);
        }
}

static void every_stencil_sweeps(void **state)
{
    (void)state;
    static const char *const sizes[] = {"shape=2d5 n=1",   "shape=2d5 n=9",  "shape=2d5 n=67",
                                        "shape=2d5 n=128", "shape=3d7 n=1",  "shape=3d7 n=5",
                                        "shape=3d7 n=33",  "shape=3d7 n=64", "shape=2d5 n=2000"};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        verify_all("stencil", sizes[i], 1);
        verify_all("stencil", sizes[i], 3);
    }
}

static void every_spmv_multiplies(void **state)
{
    (void)state;
    static const char *const sizes[] = {"pattern=laplace5 n=1",
                                        "pattern=laplace5 n=50",
                                        "pattern=laplace7 n=9",
                                        "pattern=laplace27 n=8",
                                        "pattern=random n=1",
                                        "pattern=random n=777 sigma=1",
                                        "pattern=random n=300 row-entries=45",
                                        "pattern=laplace27 n=7 sigma=100000"};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        verify_all("spmv", sizes[i], 1);
        verify_all("spmv", sizes[i], 3);
    }
}

static void every_spmv_reads_files(void **state)
{
    (void)state;
    static const char *const files[] = {"matrix=general.mtx", "matrix=pattern.mtx",
                                        "matrix=skew.mtx", "matrix=array.mtx"};
    int before = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    /* Named from their folder: settings are split at blanks, which its path may have. */
    assert_int_equal(chdir(SOURCE_DIR "/tests/fuzz/seeds/mtx"), 0);
    for (size_t i = 0; i < 4; i++)
        verify_all("spmv", files[i], 2);
    assert_int_equal(fchdir(before), 0);
    close(before);
}

static void every_conv2d_convolves(void **state)
{
    (void)state;
    static const char *const shapes[] = {
        "c=1 h=3 w=3 padding=0",
        "c=3 k=7 h=9 w=17",
        "n=2 c=4 k=16 h=10 w=33 padding=0",
        "c=8 k=13 h=12 w=40 stride=2",
        "c=5 k=4 h=15 w=19 dilation=2 padding=2",
        "c=6 k=12 h=8 w=70 groups=3",
        "n=2 c=9 k=9 h=11 w=31 groups=9",
        "c=4 k=8 h=9 w=9 groups=4 r=1 s=5 padding=2 stride=3",
        "c=16 k=30 h=6 w=6 r=1 s=1 padding=0",
        "n=2 c=140 k=80 h=9 w=33 stride=2 dilation=2 padding=2 groups=2",
    };
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        verify_all("conv2d", shapes[i], 1);
        verify_all("conv2d", shapes[i], 3);
    }
}

static void every_exp_maps(void **state)
{
    (void)state;
    static const char *const sizes[] = {"n=1", "n=7", "n=16", "n=1000"};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        verify_all("exp", sizes[i], 2);
}

/* Account one configuration. Release the kernel afterwards. */
static void account(const char *name, const char *settings, unsigned threads,
                    struct rl_kernel *ret_kernel)
{
    static struct rl_work_env env;
    env = test_env();
    struct rl_error err = {0};
    struct rl_work_config config;
    struct rl_work work;
    rl_work_config_init(&config, rl_workload_find(name), &env);
    config.threads = threads;
    set_all(&config, settings);
    memset(ret_kernel, 0, sizeof *ret_kernel);
    if (rl_work_open(&work, &config, &err) != RL_OK ||
        rl_work_account(&work, ret_kernel, &err) != RL_OK)
        fail_msg("%s %s: %s", name, settings, err.text);
    rl_work_release(&work);
}

static double ops_of(const struct rl_kernel *kernel, enum rl_op_class op)
{
    double sum = 0;
    for (size_t i = 0; i < kernel->n_ops; i++)
        if (kernel->ops[i].op == op)
            sum += kernel->ops[i].count.value;
    return sum;
}

static double bytes_of(const struct rl_kernel *kernel, const char *level)
{
    const struct rl_traffic *t = rl_kernel_find_traffic(kernel, level);
    return t && rl_known(t->bytes) ? t->bytes.value : -1;
}

static void naive_gemm_counts_two_loads_a_multiply_and_an_add_a_step(void **state)
{
    (void)state;
    struct rl_kernel k;
    account("gemm", "variant=naive n=10 m=20 k=30", 1, &k);
    assert_true(ops_of(&k, RL_OP_MUL) == 6000);
    assert_true(ops_of(&k, RL_OP_ADD) == 6000);
    assert_true(rl_kernel_flop(&k).value == 12000);
    assert_true(k.load_bytes.value == 6000 * 16);
    assert_true(k.store_bytes.value == 200 * 8);
    rl_kernel_release(&k);
}

/* 100 x 100 x 100 with SSE2 tiles of 4 x 4: 25 x 25 tiles of 16 x 100 multiply-adds = 1e6, no
 * padding. */
static void packed_gemm_counts_whole_tiles(void **state)
{
    (void)state;
    struct rl_kernel k;
    account("gemm", "isa=sse2 n=100", 1, &k);
    assert_true(ops_of(&k, RL_OP_MUL) + ops_of(&k, RL_OP_FMA) == 1e6);
    assert_true(k.useful_flop.value == 2e6);
    rl_kernel_release(&k);
    /* 101 rows take 26 tiles of 4, 101 columns too: 104 x 104 x 101. */
    account("gemm", "isa=sse2 n=101", 1, &k);
    assert_true(ops_of(&k, RL_OP_MUL) + ops_of(&k, RL_OP_FMA) == 104.0 * 104 * 101);
    assert_true(k.useful_flop.value == 2.0 * 101 * 101 * 101);
    rl_kernel_release(&k);
}

static void intensity_of_gemm_grows_with_its_size(void **state)
{
    (void)state;
    struct rl_kernel k;
    double last = 0;
    static const char *const sizes[] = {"n=2048", "n=4096", "n=8192"};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        account("gemm", sizes[i], 1, &k);
        double bytes = bytes_of(&k, "DRAM");
        assert_true(bytes > 0);
        double ai = k.useful_flop.value / bytes;
        assert_true(ai > last);
        last = ai;
        rl_kernel_release(&k);
    }
}

/* Triad moves 24 bytes an element, 32 with the lines of `a` that are read to be overwritten. */
static void triad_tells_write_allocate_apart(void **state)
{
    (void)state;
    struct rl_kernel k;
    account("triad", "n=4000000", 1, &k);
    const struct rl_traffic *dram = rl_kernel_find_traffic(&k, "DRAM");
    assert_non_null(dram);
    assert_true(dram->bytes.value == 32 * 4e6);
    assert_true(dram->write_allocate.value == 8 * 4e6);
    assert_true(dram->compulsory.value == 24 * 4e6);
    assert_true(bytes_of(&k, "L1") == 24 * 4e6);
    assert_true(rl_kernel_flop(&k).value == 8e6);
    rl_kernel_release(&k);
    account("triad", "n=4000000 variant=nontemporal", 1, &k);
    assert_true(bytes_of(&k, "DRAM") == 24 * 4e6);
    assert_true(k.nontemporal_bytes.value == 8 * 4e6);
    rl_kernel_release(&k);
}

/* 8000 x 3 x 8 B = 188 KiB: misses a 32 KiB L1, stays in a 512 KiB L2. */
static void a_set_that_fits_a_cache_moves_nothing_behind_it(void **state)
{
    (void)state;
    struct rl_kernel k;
    account("triad", "n=8000", 1, &k);
    assert_true(bytes_of(&k, "L2") == 32 * 8000);
    assert_true(bytes_of(&k, "L3") == 0);
    assert_true(bytes_of(&k, "DRAM") == 0);
    rl_kernel_release(&k);
}

/* 22000 x 3 x 8 B = 516 KiB against 512 KiB. */
static void a_set_as_large_as_a_cache_is_not_guessed(void **state)
{
    (void)state;
    struct rl_kernel k;
    account("triad", "n=22000", 1, &k);
    assert_true(bytes_of(&k, "L3") < 0);
    assert_true(bytes_of(&k, "DRAM") == 0);
    bool said = false;
    for (size_t i = 0; i < k.missing.n; i++)
        said |= !strcmp(k.missing.item[i].what, "bytes.L3") && k.missing.item[i].why[0];
    assert_true(said);
    rl_kernel_release(&k);
}

/* 4000 x 4000 points of 8 bytes: 3 rows and one of output are 125 KiB, too much for the L1 of 32
 * KiB and little for the L2: behind the L1 three rows are read a point, behind the L2 one. */
static void a_stencil_reads_a_point_once_where_its_rows_fit(void **state)
{
    (void)state;
    struct rl_kernel k;
    account("stencil", "shape=2d5 n=4000 variant=vectorised", 1, &k);
    double points = 4000.0 * 4000;
    assert_true(rl_kernel_flop(&k).value == 6 * points);
    assert_true(bytes_of(&k, "L1") == 6 * 8 * points);
    assert_true(bytes_of(&k, "L2") == 5 * 8 * points);
    assert_true(bytes_of(&k, "L3") == 3 * 8 * points);
    assert_true(bytes_of(&k, "DRAM") == 3 * 8 * points);
    rl_kernel_release(&k);
    account("stencil", "shape=3d7 n=300", 1, &k);
    assert_true(rl_kernel_flop(&k).value == 8 * 300.0 * 300 * 300);
    rl_kernel_release(&k);
}

/* 5-point Laplacian of 1000 x 1000: 5e6 - 4e3 entries of 8 + 4 bytes, 4 bytes a row, x once, y once
 * with its write-allocate. 2000 rows of 84 bytes are 168 KiB: they stay in the L2 of 512 KiB. */
static void spmv_moves_its_matrix_once(void **state)
{
    (void)state;
    struct rl_kernel k;
    account("spmv", "pattern=laplace5 n=1000 variant=naive", 1, &k);
    double nnz = 5e6 - 4e3, rows = 1e6;
    assert_true(rl_kernel_flop(&k).value == 2 * nnz);
    assert_true(bytes_of(&k, "L1") == nnz * 20 + rows * 4 + rows * 8);
    assert_true(bytes_of(&k, "L3") == nnz * 12 + rows * 4 + rows * 8 + 2 * rows * 8);
    assert_true(bytes_of(&k, "DRAM") == nnz * 12 + rows * 4 + rows * 8 + 2 * rows * 8);
    rl_kernel_release(&k);
}

static void spmv_tells_padding_from_useful_work(void **state)
{
    (void)state;
    struct rl_kernel k;
    account("spmv", "pattern=laplace27 n=9 variant=sell sigma=1", 1, &k);
    double nnz = 25.0 * 25 * 25;
    assert_true(k.useful_flop.value == 2 * nnz);
    assert_true(rl_kernel_flop(&k).value > 2 * nnz);
    rl_kernel_release(&k);
}

/* 2 x 3 images and filters: 1 x 8 x (10 x 12) outputs of 4 x 3 x 3 taps, 2 FLOP each. */
static void conv2d_counts_flop_and_shows_multiply_accumulates(void **state)
{
    (void)state;
    struct rl_kernel k;
    const double macs = 8.0 * 10 * 12 * 4 * 3 * 3;
    account("conv2d", "c=4 k=8 h=10 w=12 variant=naive", 1, &k);
    assert_true(rl_kernel_flop(&k).value == 2 * macs);
    assert_true(k.useful_flop.value == 2 * macs);
    assert_true(bytes_of(&k, "L1") == (2 * macs + 8 * 10 * 12) * 4);
    rl_kernel_release(&k);
    /* A row: 36 taps load 8 weights, an offset for 4 tiles, 16 inputs; its sums move 3 times. */
    account("conv2d", "c=4 k=8 h=10 w=16 isa=sse2", 1, &k);
    assert_true(rl_kernel_flop(&k).value == k.useful_flop.value);
    assert_true(bytes_of(&k, "L1") == 10 * 4 * (36.0 * (4 * (8 + 2) + 16) + 3.0 * 16 * 8));
    rl_kernel_release(&k);
}

/* The L3 is 8 MiB: input and output of 8 times that stream. */
static void a_convolution_without_a_number_of_images_exceeds_the_caches(void **state)
{
    (void)state;
    struct rl_kernel k;
    account("conv2d", "n=0 c=256 h=112 w=112 groups=256", 1, &k);
    double last = 8 << 20, image = 256.0 * 4 * (114 * 114 + 112 * 112);
    assert_true(k.working_set_bytes.value >= 8 * last);
    assert_true(k.working_set_bytes.value < 8 * last + 2 * image);
    rl_kernel_release(&k);
}

static void impossible_convolutions_are_refused(void **state)
{
    (void)state;
    static const char *const shapes[] = {"c=6 groups=4", "h=2 padding=0", "c=4 k=6 groups=4"};
    struct rl_work_env env = test_env();
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        struct rl_work_config config;
        struct rl_work work;
        struct rl_error err = {0};
        rl_work_config_init(&config, rl_workload_find("conv2d"), &env);
        set_all(&config, shapes[i]);
        assert_int_equal(rl_work_open(&work, &config, &err), RL_EINVAL);
        rl_work_release(&work);
    }
}

static void exp_counts_special_functions_not_flop(void **state)
{
    (void)state;
    struct rl_kernel k;
    account("exp", "variant=libm n=1000", 2, &k);
    assert_true(ops_of(&k, RL_OP_SPECIAL) == 2000);
    assert_string_equal(k.ops[0].func, "exp");
    assert_true(rl_kernel_flop(&k).value == 0);
    rl_kernel_release(&k);
}

static void copy_counts_no_operations(void **state)
{
    (void)state;
    struct rl_kernel k;
    account("copy", "n=1000", 1, &k);
    assert_int_equal(k.n_ops, 0);
    assert_true(rl_known(k.flop) && k.flop.value == 0);
    rl_kernel_release(&k);
}

static void a_wrong_setting_is_named_with_what_would_do(void **state)
{
    (void)state;
    struct rl_work_env env = test_env();
    struct rl_work_config config;
    struct rl_error err = {0};
    rl_work_config_init(&config, rl_workload_find("gemm"), &env);
    static const struct {
        const char *key, *value, *text;
    } bad[] = {{"n", "0", "from 1 to"},           {"n", "-1", "whole number"},
               {"n", "1e3", "whole number"},      {"n", "99999999999999999999", "whole number"},
               {"n", "2Gi", "from 1 to"},         {"variant", "fast", "naive, tiled"},
               {"precision", "fp16", "fp64"},     {"isa", "mmx", "avx2"},
               {"size", "3", "it knows: variant"}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(rl_work_config_set(&config, bad[i].key, bad[i].value, &err), RL_EINVAL);
        if (!strstr(err.text, bad[i].text))
            fail_msg("%s=%s says: %s", bad[i].key, bad[i].value, err.text);
    }
    set(&config, "n", "2Ki");
    assert_int_equal(rl_work_number(&config, "n"), 2048);
    set(&config, "n", "64k");
    assert_int_equal(rl_work_number(&config, "n"), 64000);
}

static void more_memory_than_there_is_is_refused_before_it_is_touched(void **state)
{
    (void)state;
    struct rl_work_env env = test_env();
    env.memory_bytes = 1 << 20;
    struct rl_work_config config;
    struct rl_work work;
    struct rl_error err = {0};
    rl_work_config_init(&config, rl_workload_find("gemm"), &env);
    set(&config, "n", "1000000");
    assert_int_equal(rl_work_open(&work, &config, &err), RL_OK);
    assert_int_equal(rl_work_setup(&work, NULL, &err), RL_ENOMEM);
    assert_non_null(strstr(err.text, "needs 21.8 TiB of memory, 1 MiB are available"));
    rl_work_release(&work);
}

static void a_missing_blas_is_unavailable_by_name(void **state)
{
    (void)state;
    struct rl_work_env env = test_env();
    env.blas = "/nowhere/libnone.so";
    struct rl_work_config config;
    struct rl_work work;
    struct rl_error err = {0};
    rl_work_config_init(&config, rl_workload_find("gemm"), &env);
    set(&config, "variant", "blas");
    assert_int_equal(rl_work_open(&work, &config, &err), RL_EUNAVAIL);
    assert_non_null(strstr(err.text, "libnone.so"));
    rl_work_release(&work);
}

static void workloads_are_sorted_and_complete(void **state)
{
    (void)state;
    for (unsigned i = 0; i < rl_n_workloads; i++) {
        const struct rl_workload *w = rl_workloads[i];
        assert_true(i == 0 || strcmp(rl_workloads[i - 1]->name, w->name) < 0);
        assert_true(w->summary && w->tolerance && w->n_variant && w->n_precision);
        assert_true(w->n_option <= RL_WORKLOAD_OPTIONS);
        assert_true(w->prepare && w->memory && w->account && w->allocate && w->fill && w->run &&
                    w->check && w->release);
        assert_ptr_equal(rl_workload_find(w->name), w);
    }
    assert_null(rl_workload_find("gem"));
}

/* The check sees results that were never computed. */
static void a_check_fails_without_a_run(void **state)
{
    (void)state;
    static const struct {
        const char *name, *setting;
    } small[] = {{"axpy", "n=100"}, {"conv2d", "c=2 h=5 w=5"}, {"copy", "n=100"},
                 {"dot", "n=100"},  {"exp", "n=100"},          {"gemm", "n=20"},
                 {"spmv", "n=5"},   {"stencil", "n=9"},        {"triad", "n=100"}};
    struct rl_work_env env = test_env();
    assert_int_equal(sizeof small / sizeof small[0], rl_n_workloads);
    for (size_t i = 0; i < sizeof small / sizeof small[0]; i++) {
        const struct rl_workload *workload = rl_workload_find(small[i].name);
        struct rl_work_config config;
        struct rl_work work;
        struct rl_error err = {0};
        rl_work_config_init(&config, workload, &env);
        config.variant = 0;
        for (unsigned v = 0; v < workload->n_variant; v++)
            if (!workload->variant[v].vectorised && !workload->variant[v].own_threads)
                config.variant = v; /* one that runs anywhere */
        set_all(&config, small[i].setting);
        assert_int_equal(rl_work_open(&work, &config, &err), RL_OK);
        assert_int_equal(rl_work_setup(&work, NULL, &err), RL_OK);
        if (workload->check(work.state, &err) != RL_EDATA)
            fail_msg("%s accepts what it did not compute", small[i].name);
        assert_int_equal(rl_work_verify(&work, NULL, &err), RL_OK);
        rl_work_release(&work);
    }
}

/* As large as the options allow: refused for want of memory or as too large, never computed. */
static void absurd_sizes_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *name, *setting;
    } huge[] = {{"conv2d", "n=1048576 c=1048576 h=1048576 w=1048576"},
                {"conv2d", "c=1048576 h=1048576 w=1048576 r=1024 s=1024 variant=im2col"},
                {"exp", "n=4294967296"},
                {"gemm", "n=1048576"},
                {"gemm", "n=1048576 variant=naive precision=fp32"},
                {"spmv", "pattern=laplace27 n=2147483647"},
                {"spmv", "pattern=random n=2147483647 row-entries=2"},
                {"stencil", "shape=2d5 n=1048576"},
                {"stencil", "shape=3d7 n=1048576"},
                {"triad", "n=1099511627776"}};
    struct rl_work_env env = test_env();
    env.memory_bytes = 1 << 30;
    for (size_t i = 0; i < sizeof huge / sizeof huge[0]; i++) {
        struct rl_work_config config;
        struct rl_work work;
        struct rl_error err = {0};
        rl_work_config_init(&config, rl_workload_find(huge[i].name), &env);
        set_all(&config, huge[i].setting);
        enum rl_status status = rl_work_open(&work, &config, &err);
        if (status == RL_OK)
            status = rl_work_setup(&work, NULL, &err);
        if ((status != RL_ENOMEM && status != RL_EINVAL) || !err.text[0])
            fail_msg("%s %s: status %d, %s", huge[i].name, huge[i].setting, status, err.text);
        rl_work_release(&work);
    }
}

static void standard_cases_configure(void **state)
{
    (void)state;
    struct rl_work_env env = test_env();
    for (unsigned i = 0; i < rl_n_bench_standard; i++) {
        struct rl_work_config config;
        struct rl_error err = {0};
        if (rl_bench_configure(&rl_bench_standard[i], &env, &config, &err) != RL_OK)
            fail_msg("case %u: %s", i, err.text);
    }
}

static void a_bench_fills_a_row(void **state)
{
    (void)state;
    struct rl_work_env env = test_env();
    struct rl_work_config config;
    struct rl_profile profile = {0};
    struct rl_error err = {0};
    static const int cpus[2] = {-1, -1};
    struct rl_bench_how how = {.cpu = cpus, .sampling = rl_sampling_default()};
    how.sampling.budget_s = 0.02;
    rl_work_config_init(&config, rl_workload_find("gemm"), &env);
    config.threads = 2;
    set(&config, "n", "64");
    if (rl_bench_run(&config, &how, &profile, &err) != RL_OK)
        fail_msg("%s", err.text);
    assert_int_equal(profile.n_kernel, 1);
    const struct rl_kernel *k = &profile.kernel[0];
    assert_string_equal(k->name, "gemm/vectorised fp64 n=64");
    assert_true(rl_known(k->time_s) && k->time_s.value > 0);
    assert_true(rl_kernel_flop(k).value >= k->useful_flop.value);
    rl_profile_release(&profile);
}

static void a_bench_says_when_its_calls_were_disturbed(void **state)
{
    (void)state;
    struct rl_work_env env = test_env();
    struct rl_work_config config;
    struct rl_profile profile = {0};
    static const int unpinned = -1;
    struct rl_bench_how how = {.cpu = &unpinned, .sampling = rl_sampling_default()};
    how.sampling.budget_s = 0.01;
    how.sampling.probe = true;
    how.sampling.nop_per_cycle = 1e6; /* no core is ever undisturbed */
    rl_work_config_init(&config, rl_workload_find("triad"), &env);
    set(&config, "n", "1000");
    assert_int_equal(rl_bench_run(&config, &how, &profile, NULL), RL_OK);
    assert_true(rl_bench_is_disturbed(&profile.kernel[0]));
    assert_true(rl_known(profile.kernel[0].time_s));
    rl_profile_release(&profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_gemm_multiplies),
        cmocka_unit_test(every_stream_streams),
        cmocka_unit_test(every_stencil_sweeps),
        cmocka_unit_test(every_spmv_multiplies),
        cmocka_unit_test(every_spmv_reads_files),
        cmocka_unit_test(spmv_moves_its_matrix_once),
        cmocka_unit_test(spmv_tells_padding_from_useful_work),
        cmocka_unit_test(every_conv2d_convolves),
        cmocka_unit_test(a_convolution_without_a_number_of_images_exceeds_the_caches),
        cmocka_unit_test(conv2d_counts_flop_and_shows_multiply_accumulates),
        cmocka_unit_test(impossible_convolutions_are_refused),
        cmocka_unit_test(every_exp_maps),
        cmocka_unit_test(a_stencil_reads_a_point_once_where_its_rows_fit),
        cmocka_unit_test(exp_counts_special_functions_not_flop),
        cmocka_unit_test(naive_gemm_counts_two_loads_a_multiply_and_an_add_a_step),
        cmocka_unit_test(packed_gemm_counts_whole_tiles),
        cmocka_unit_test(intensity_of_gemm_grows_with_its_size),
        cmocka_unit_test(triad_tells_write_allocate_apart),
        cmocka_unit_test(a_set_that_fits_a_cache_moves_nothing_behind_it),
        cmocka_unit_test(a_set_as_large_as_a_cache_is_not_guessed),
        cmocka_unit_test(copy_counts_no_operations),
        cmocka_unit_test(a_wrong_setting_is_named_with_what_would_do),
        cmocka_unit_test(more_memory_than_there_is_is_refused_before_it_is_touched),
        cmocka_unit_test(a_missing_blas_is_unavailable_by_name),
        cmocka_unit_test(workloads_are_sorted_and_complete),
        cmocka_unit_test(a_check_fails_without_a_run),
        cmocka_unit_test(absurd_sizes_are_refused),
        cmocka_unit_test(standard_cases_configure),
        cmocka_unit_test(a_bench_fills_a_row),
        cmocka_unit_test(a_bench_says_when_its_calls_were_disturbed),
    };
    return cmocka_run_group_tests(tests, NULL, free_teams);
}
