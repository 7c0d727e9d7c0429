/* A program marked for six interfaces, as their own headers do it; exits 0 if each call came back
 * from the real library as it should. */
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int likwid_markerStartRegion(const char *name);
int likwid_markerStopRegion(const char *name);
int PAPI_hl_region_begin(const char *name);
int PAPI_hl_region_end(const char *name);
void cali_begin_region(const char *name);
void cali_end_region(const char *name);
int nvtxRangePushA(const char *name);
int nvtxRangePop(void);

#define PASSED_ON 123

static int failures;

static void expect(int is)
{
    failures += is != PASSED_ON;
}

static void work(void)
{
    struct timespec ms = {0, 1000000};
    nanosleep(&ms, NULL);
}

static void *symbol(void *library, const char *name)
{
    void *found = library ? dlsym(library, name) : NULL;
    failures += !found;
    return found;
}

/* What the static part of ITT does: a library without __itt_api_init gets the calls of old groups
 * only, without tasks; one with it fills the table, and puts what it does not want to nothing. */
struct itt_id {
    unsigned long long word[3];
};

struct itt_api {
    const char *name;
    void **function;
    void *initial, *none;
    int group;
};

static void unexpected(void)
{
    failures++;
}

static void *domain_create = (void *)unexpected, *name_create = (void *)unexpected,
            *task_begin = (void *)unexpected, *task_end = (void *)unexpected,
            *frame_begin = (void *)unexpected;

static struct itt_api itt_apis[] = {
    {"__itt_domain_create", &domain_create, NULL, NULL, 0},
    {"__itt_frame_begin_v3", &frame_begin, NULL, NULL, 0},
    {"__itt_string_handle_create", &name_create, NULL, NULL, 0},
    {"__itt_task_begin", &task_begin, NULL, NULL, 0},
    {"__itt_task_end", &task_end, NULL, NULL, 0},
    {NULL, NULL, NULL, NULL, 0},
};

static struct {
    unsigned char magic[8];
    unsigned long major, minor, build;
    volatile long initialized, mutex_initialized, counter;
    pthread_mutex_t mutex;
    void *library, *error_handler;
    const char **library_path;
    struct itt_api *api;
    void *next;
} itt_global = {.magic = {0xED, 0xAB, 0xAB, 0xEC, 0x0D, 0xEE, 0xDA, 0x30},
                .major = 3,
                .mutex = PTHREAD_MUTEX_INITIALIZER,
                .api = itt_apis};

static void itt(void)
{
    const char *path = getenv("INTEL_LIBITTNOTIFY64");
    void *library = path ? dlopen(path, RTLD_LAZY) : NULL;
    void (*init)(void *, int);
    *(void **)&init = symbol(library, "__itt_api_init");
    if (failures)
        return;
    init(&itt_global, -1);
    failures += frame_begin != NULL;
    struct itt_id none = {{0, 0, 0}};
    void *domain = ((void *(*)(const char *))domain_create)("domain");
    void *name = ((void *(*)(const char *))name_create)("itt");
    failures += ((void *(*)(const char *))name_create)("itt") != name;
    failures += ((void *(*)(const char *))name_create)("another") == name;
    ((void (*)(const void *, struct itt_id, struct itt_id, const void *))task_begin)(domain, none,
                                                                                     none, name);
    work();
    ((void (*)(const void *))task_end)(domain);
}

/* What the headers of NVTX 3 do: one table of functions without domains, one with. */
typedef void (*function)(void);
#define N_TABLE 17

struct nvtx_attributes {
    uint16_t version, size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type, reserved;
    uint64_t payload;
    int32_t message_type;
    const void *message;
};

static function core[N_TABLE], domains[N_TABLE];
static function *core_table[N_TABLE], *domain_table[N_TABLE];

static int get_functions(int module, function ***ret_table, unsigned *ret_size)
{
    enum { CORE = 1, CORE2 = 5 };
    for (int i = 0; i < N_TABLE; i++) {
        core_table[i] = &core[i];
        domain_table[i] = &domains[i];
    }
    *ret_table = module == CORE ? core_table : domain_table;
    *ret_size = N_TABLE - 1;
    return module == CORE || module == CORE2;
}

static const void *get_export(uint32_t id)
{
    static const struct {
        size_t size;
        int (*table)(int, function ***, unsigned *);
    } callbacks = {sizeof callbacks, get_functions};
    return id == 1 ? &callbacks : NULL;
}

static void nvtx3_push(function push, const void *name)
{
    ((int (*)(const void *))push)(name);
    work();
    ((int (*)(void))core[11])();
}

/* In a domain, with a text, a wide text and a registered one (types 1 to 3). */
static void nvtx3_domain(int32_t type, const void *message)
{
    struct nvtx_attributes a = {.version = 3, .message_type = type, .message = message};
    ((int (*)(void *, const void *))domains[4])(NULL, &a);
    work();
    ((int (*)(void *))domains[5])(NULL);
}

/* Of ranges that are over nothing is kept, however many names they had. These differ where regions
 * are not told apart any more, so they are one region. What never began may end. */
static void nvtx3_many(void)
{
    enum { RANGES = 1000, SAME = 120 };
    char name[SAME + 32];
    size_t before = mallinfo2().uordblks;
    for (int i = 0; i < RANGES; i++) {
        snprintf(name, sizeof name, "%0*d", SAME, 0);
        snprintf(name + SAME, sizeof name - SAME, "%d", i);
        ((void (*)(uint64_t))core[7])(((uint64_t(*)(const char *))core[5])(name));
    }
    ((void (*)(uint64_t))core[7])(UINT64_MAX);
    failures += mallinfo2().uordblks - before > RANGES;
}

static void nvtx3(void)
{
    const char *path = getenv("NVTX_INJECTION64_PATH");
    void *library = path ? dlopen(path, RTLD_LAZY) : NULL;
    int (*init)(const void *(*)(uint32_t));
    *(void **)&init = symbol(library, "InitializeInjectionNvtx2");
    if (failures || init(get_export) != 1 || !core[9] || !domains[10]) {
        failures++;
        return;
    }
    nvtx3_push(core[9], "nvtx3");
    nvtx3_push(core[10], L"nvtx3 wide \u03b1\u20ac\U0001F600");
    nvtx3_domain(1, "nvtx3 domain");
    nvtx3_domain(2, L"nvtx3 domain wide");
    nvtx3_domain(3, ((void *(*)(void *, const char *))domains[10])(NULL, "nvtx3 registered"));
    uint64_t first = ((uint64_t(*)(const char *))core[5])("nvtx3 first");
    uint64_t second = ((uint64_t(*)(const char *))core[5])("nvtx3 second");
    ((void (*)(uint64_t))core[7])(first);
    work();
    ((void (*)(uint64_t))core[7])(second);
    nvtx3_many();
}

int main(void)
{
    expect(likwid_markerStartRegion("likwid"));
    work();
    expect(PAPI_hl_region_begin("papi"));
    work();
    expect(PAPI_hl_region_end("papi"));
    expect(likwid_markerStopRegion("likwid"));
    cali_begin_region("caliper");
    work();
    cali_end_region("caliper");
    expect(nvtxRangePushA("nvtx2"));
    expect(nvtxRangePushA("inner"));
    work();
    expect(nvtxRangePop());
    expect(nvtxRangePop());
    itt();
    nvtx3();
    return failures;
}
