/* Runs a program under the engine with the traffic model and prints what moved between levels.
 *
 *   engine-traffic [OPTION…] ENGINE PREFIX COMMAND…
 *
 * Options: full; workers=N; fixed=N; rotating=N; exact=RECORDS; step=MICROSECONDS; seed=N;
 * foreign (a channel of another version, which the engine has to refuse); fsgsbase=0 (options.h);
 * levels=SETSxWAYS,SETSxWAYS,… (default 64x8,1024x8,32768x16; the last one is shared);
 * object=SUFFIX (functions of that module, and only it counts for "level" lines).
 * Result files are PREFIX.PID.SEQ. The command's output goes to standard error.
 *
 * Output: "status N", "level L BYTES ERROR READS ALLOCATES WRITEBACKS NT" (bytes),
 * "function NAME L1 L2 L3 E1 E2 E3", "moved NAME READS ALLOCATES WRITEBACKS …" (of a function,
 * lines, by level), "region NAME L1 L2 L3 E1 E2 E3" (itself; "-": outside),
 * "records N", "lost N", "skipped N", "waits N", "processes N", "threads N", "sampled N",
 * "classes N", "malformed N", "unfinished N" (processes killed or lost), "wall SECONDS", "model-cpu
 * SECONDS", "program-cpu SECONDS". */
#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "count/engine/options.h"
#include "count/engine/result_format.h"
#include "count/traffic.h"
#include "timing/clock.h"

enum { FUNCTIONS_MAX = 20000, REGIONS_MAX = 64 };

struct function {
    uint64_t low, high;
    const char *name;
    struct rl_cache_flow *sum;
};

static struct rl_traffic_options options;
static bool foreign, without_fsgsbase;
static const char *object;
static struct function functions[FUNCTIONS_MAX];
static size_t n_functions;
static struct function regions[REGIONS_MAX]; /* by name */
static size_t n_regions;
static unsigned n_unfinished; /* process images that did not end in order */

static void fail(const char *what)
{
    perror(what);
    exit(125);
}

static const char *map_file(const char *path)
{
    struct stat status;
    int fd = open(path, O_RDONLY);
    if (fd < 0 || fstat(fd, &status) < 0)
        return NULL;
    void *at = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    return at == MAP_FAILED ? NULL : at;
}

static void read_levels(const char *text)
{
    struct rl_cache_geometry *g = &options.geometry;
    g->n_levels = 0;
    while (*text && g->n_levels < RL_CACHE_LEVELS_MAX) {
        char *end;
        struct rl_cache_level *level = &g->level[g->n_levels++];
        *level = (struct rl_cache_level){0};
        level->sets = (uint32_t)strtoul(text, &end, 10);
        level->ways = (uint32_t)strtoul(end + (*end == 'x'), &end, 10);
        if (*end == 'v' || *end == 'i')
            level->policy = *end++ == 'v' ? RL_CACHE_VICTIM : RL_CACHE_INCLUSIVE;
        text = end + (*end == ',');
    }
    if (g->n_levels > 1)
        g->level[g->n_levels - 1].shared = true;
}

static int read_options(int argc, char **argv)
{
    int i = 1;
    rl_traffic_options_default(&options);
    read_levels("64x8,1024x8,32768x16");
    for (; i < argc && argv[i][0] != '/' && argv[i][0] != '.'; i++) {
        const char *value = strchr(argv[i], '=');
        value = value ? value + 1 : "";
        if (!strcmp(argv[i], "full"))
            options.sampling.full = true;
        else if (!strncmp(argv[i], "workers=", 8))
            options.n_workers = (uint32_t)atoi(value);
        else if (!strncmp(argv[i], "fixed=", 6))
            options.sampling.n_fixed = (uint32_t)atoi(value);
        else if (!strncmp(argv[i], "rotating=", 9))
            options.sampling.n_rotating = (uint32_t)atoi(value);
        else if (!strncmp(argv[i], "lasting=", 8))
            options.sampling.n_lasting = (uint32_t)atoi(value);
        else if (!strncmp(argv[i], "exact=", 6))
            options.exact_records = strtoull(value, NULL, 10);
        else if (!strncmp(argv[i], "step=", 5))
            options.step_s = atof(value) * 1e-6;
        else if (!strncmp(argv[i], "seed=", 5))
            options.sampling.seed = strtoull(value, NULL, 10);
        else if (!strcmp(argv[i], "foreign"))
            foreign = true;
        else if (!strcmp(argv[i], "fsgsbase=0"))
            without_fsgsbase = true;
        else if (!strncmp(argv[i], "levels=", 7))
            read_levels(value);
        else if (!strncmp(argv[i], "object=", 7))
            object = value;
    }
    return i;
}

static void read_functions(const char *path)
{
    const char *elf = map_file(path);
    const Elf64_Ehdr *eh = (const void *)elf;
    const Elf64_Shdr *sections = elf ? (const void *)(elf + eh->e_shoff) : NULL;
    for (unsigned i = 0; elf && i < eh->e_shnum; i++) {
        if (sections[i].sh_type != SHT_SYMTAB && sections[i].sh_type != SHT_DYNSYM)
            continue;
        const Elf64_Sym *sym = (const void *)(elf + sections[i].sh_offset);
        const char *names = elf + sections[sections[i].sh_link].sh_offset;
        for (size_t k = 0; k < sections[i].sh_size / sizeof(*sym); k++) {
            if (ELF64_ST_TYPE(sym[k].st_info) != STT_FUNC || !sym[k].st_size ||
                sym[k].st_shndx >= eh->e_shnum || n_functions == FUNCTIONS_MAX)
                continue;
            const Elf64_Shdr *in = &sections[sym[k].st_shndx];
            uint64_t at = sym[k].st_value - in->sh_addr + in->sh_offset;
            functions[n_functions++] =
                (struct function){at, at + sym[k].st_size, names + sym[k].st_name, NULL};
        }
    }
}

/* The result file of the process last asked for. */
static const char *result_of(const char *prefix, int32_t pid, uint32_t sequence)
{
    static int32_t last_pid;
    static uint32_t last_sequence;
    static const char *last;
    char path[4096];
    if (last && pid == last_pid && sequence == last_sequence)
        return last;
    snprintf(path, sizeof path, "%s.%d.%u", prefix, pid, sequence);
    last_pid = pid;
    last_sequence = sequence;
    last = map_file(path);
    const struct rle_result_header *header = (const void *)last;
    n_unfinished += !header || header->state == RLE_STATE_RUNNING;
    return last;
}

static const void *record(const char *file, enum rle_section_id id, uint32_t index)
{
    const struct rle_result_section *s =
        &((const struct rle_result_header *)(const void *)file)->sections[id];
    return file + s->offset + (uint64_t)index * s->stride;
}

static void add_to_function(const struct rl_simulation *traffic, uint64_t offset,
                            const struct rl_cache_flow *account)
{
    for (size_t i = 0; i < n_functions; i++) {
        struct function *f = &functions[i];
        if (offset < f->low || offset >= f->high)
            continue;
        if (!f->sum)
            f->sum = calloc(rl_traffic_flows(traffic), sizeof *f->sum);
        rl_traffic_add(traffic, f->sum, account);
        return;
    }
}

static void add_to_region(const struct rl_simulation *traffic, const char *file,
                          const struct rl_traffic_row *row)
{
    const char *name = "-";
    size_t i = 0;
    if (row->region) {
        const struct rle_result_region *r = record(file, RLE_SECTION_REGIONS, row->region - 1);
        name = record(file, RLE_SECTION_STRINGS, r->name);
    }
    while (i < n_regions && strcmp(regions[i].name, name) != 0)
        i++;
    if (i == REGIONS_MAX)
        return;
    if (i == n_regions)
        regions[n_regions++] = (struct function){
            .name = name, .sum = calloc(rl_traffic_flows(traffic), sizeof(struct rl_cache_flow))};
    rl_traffic_add(traffic, regions[i].sum, row->account);
}

static struct rl_cache_flow *sum_rows(const struct rl_simulation *traffic, const char *prefix)
{
    size_t n;
    const struct rl_traffic_row *row = rl_traffic_rows(traffic, &n);
    struct rl_cache_flow *sum = calloc(rl_traffic_flows(traffic), sizeof *sum);
    for (size_t i = 0; i < n; i++) {
        const char *file = result_of(prefix, row[i].pid, row[i].sequence);
        const struct rle_result_block *block =
            file ? record(file, RLE_SECTION_BLOCKS, row[i].block) : NULL;
        if (object && (!block || block->module == RLE_NONE))
            continue;
        if (object) {
            const struct rle_result_module *m = record(file, RLE_SECTION_MODULES, block->module);
            const char *path = record(file, RLE_SECTION_STRINGS, m->path);
            size_t have = strlen(path);
            size_t want = strlen(object);
            if (have < want || strcmp(path + have - want, object) != 0)
                continue;
            if (n_functions == 0)
                read_functions(path);
            add_to_function(traffic, block->address - m->address + m->file_offset, row[i].account);
        }
        rl_traffic_add(traffic, sum, row[i].account);
        if (file)
            add_to_region(traffic, file, &row[i]);
    }
    return sum;
}

/* A program and an engine that were not built together. */
static void make_foreign(int channel)
{
    struct rle_trace_header *header =
        mmap(NULL, RLE_TRACE_HEADER, PROT_READ | PROT_WRITE, MAP_SHARED, channel, 0);
    if (header == MAP_FAILED)
        fail("the channel");
    header->magic++;
    munmap(header, RLE_TRACE_HEADER);
}

static int run(char **argv, const char *engine, const char *prefix, int channel)
{
    struct rle_options for_engine;
    char text[2 * RLE_OUTPUT_MAX];
    rle_options_default(&for_engine);
    for_engine.mode = options.sampling.full ? RLE_MODE_FULL : RLE_MODE_TRAFFIC;
    for_engine.fsgsbase = !without_fsgsbase;
    for_engine.reader = (uint32_t)getpid();
    for_engine.channel = (uint32_t)channel;
    snprintf(for_engine.output, sizeof for_engine.output, "%s", prefix);
    if (!rle_options_format(&for_engine, text, sizeof text))
        fail("options");
    pid_t pid = fork();
    if (pid < 0)
        fail("fork");
    if (pid == 0) {
        dup2(STDERR_FILENO, STDOUT_FILENO);
        setenv("LD_PRELOAD", engine, 1);
        setenv(RLE_OPTIONS_ENV, text, 1);
        execvp(argv[0], argv);
        _exit(127);
    }
    int status;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void print_sum(const struct rl_simulation *traffic, const char *kind,
                      const struct function *f)
{
    struct rl_traffic_value v[RL_CACHE_LEVELS_MAX];
    if (!f->sum)
        return;
    printf("%s %s", kind, f->name);
    for (uint32_t level = 0; level < options.geometry.n_levels; level++) {
        rl_traffic_estimate(traffic, f->sum, level, &v[level]);
        printf(" %.0f", v[level].bytes);
    }
    for (uint32_t level = 0; level < options.geometry.n_levels; level++)
        printf(" %.0f", v[level].error_bytes);
    putchar('\n');
}

static void print_moved(const struct rl_simulation *traffic, const struct function *f)
{
    if (!f->sum)
        return;
    printf("moved %s", f->name);
    for (uint32_t level = 0; level < options.geometry.n_levels; level++) {
        struct rl_traffic_value v;
        rl_traffic_estimate(traffic, f->sum, level, &v);
        printf(" %.0f %.0f %.0f", v.read_bytes / RL_CACHE_LINE_BYTES,
               v.allocate_bytes / RL_CACHE_LINE_BYTES, v.writeback_bytes / RL_CACHE_LINE_BYTES);
    }
    putchar('\n');
}

static void print_values(const struct rl_simulation *traffic, const struct rl_cache_flow *sum)
{
    for (uint32_t level = 0; level < options.geometry.n_levels; level++) {
        struct rl_traffic_value v;
        rl_traffic_estimate(traffic, sum, level, &v);
        printf("level %u %.0f %.0f %.0f %.0f %.0f %.0f\n", level + 1, v.bytes, v.error_bytes,
               v.read_bytes, v.allocate_bytes, v.writeback_bytes, v.nt_bytes);
    }
    for (size_t i = 0; i < n_functions; i++)
        print_sum(traffic, "function", &functions[i]);
    for (size_t i = 0; i < n_functions; i++)
        print_moved(traffic, &functions[i]);
    for (size_t i = 0; i < n_regions; i++)
        print_sum(traffic, "region", &regions[i]);
}

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + 1e-6 * (double)t.tv_usec;
}

int main(int argc, char **argv)
{
    struct rl_error err = {0};
    struct rl_simulation *traffic = NULL;
    int first = read_options(argc, argv);
    if (argc < first + 3)
        return 2;
    if (rl_traffic_new(&options, &traffic, &err) != RL_OK ||
        rl_traffic_start(traffic, &err) != RL_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 125;
    }
    if (foreign)
        make_foreign(rl_traffic_descriptor(traffic));
    double begin_s = rl_now_s();
    int status =
        run(argv + first + 2, argv[first], argv[first + 1], rl_traffic_descriptor(traffic));
    if (rl_traffic_stop(traffic, &err) != RL_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 125;
    }
    double wall_s = rl_now_s() - begin_s;
    struct rusage own, children;
    getrusage(RUSAGE_SELF, &own);
    getrusage(RUSAGE_CHILDREN, &children);
    struct rl_cache_flow *sum = sum_rows(traffic, argv[first + 1]);
    struct rl_traffic_summary summary;
    rl_traffic_summarise(traffic, &summary);
    printf("status %d\n", status);
    print_values(traffic, sum);
    printf("records %" PRIu64 "\nlost %" PRIu64 "\nskipped %" PRIu64 "\nwaits %" PRIu64
           "\nprocesses %u\nthreads %u\nsampled %d\nclasses %u\nmalformed %" PRIu64
           "\nunfinished %u\n",
           summary.records, summary.channel.lost, summary.channel.skipped, summary.channel.waits,
           summary.channel.processes, summary.channel.threads, summary.sampled, summary.followed,
           summary.malformed, n_unfinished);
    printf("wall %.3f\nmodel-cpu %.3f\nprogram-cpu %.3f\n", wall_s,
           seconds(own.ru_utime) + seconds(own.ru_stime),
           seconds(children.ru_utime) + seconds(children.ru_stime));
    free(sum);
    for (size_t i = 0; i < n_functions; i++)
        free(functions[i].sum);
    for (size_t i = 0; i < n_regions; i++)
        free(regions[i].sum);
    rl_traffic_free(traffic);
    return 0;
}
