/* A program marked for six interfaces, as their own headers do it; exits 0 if each call came back
 * from the real library as it should. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
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

/* What the static part of ITT does. */
struct itt_id {
    unsigned long long word[3];
};

static void itt(void)
{
    const char *path = getenv("INTEL_LIBITTNOTIFY64");
    void *library = path ? dlopen(path, RTLD_LAZY) : NULL;
    void *(*domain_create)(const char *);
    void *(*name_create)(const char *);
    void (*begin)(const void *, struct itt_id, struct itt_id, const void *);
    void (*end)(const void *);
    *(void **)&domain_create = symbol(library, "__itt_domain_create");
    *(void **)&name_create = symbol(library, "__itt_string_handle_create");
    *(void **)&begin = symbol(library, "__itt_task_begin");
    *(void **)&end = symbol(library, "__itt_task_end");
    if (failures)
        return;
    void *domain = domain_create("domain");
    struct itt_id none = {{0, 0, 0}};
    begin(domain, none, none, name_create("itt"));
    work();
    end(domain);
}

/* What the headers of NVTX 3 do. */
typedef void (*function)(void);
static int (*push)(const char *);
static int (*pop)(void);
#define N_TABLE 16
static function *table[N_TABLE + 1];

static int get_functions(int module, function ***ret_table, unsigned *ret_size)
{
    table[9] = (function *)&push;
    table[11] = (function *)&pop;
    static function push_ex;
    table[8] = &push_ex;
    *ret_table = table;
    *ret_size = N_TABLE;
    return module == 1;
}

static const void *get_export(uint32_t id)
{
    static const struct {
        size_t size;
        int (*table)(int, function ***, unsigned *);
    } callbacks = {sizeof callbacks, get_functions};
    return id == 1 ? &callbacks : NULL;
}

static void nvtx3(void)
{
    const char *path = getenv("NVTX_INJECTION64_PATH");
    void *library = path ? dlopen(path, RTLD_LAZY) : NULL;
    int (*init)(const void *(*)(uint32_t));
    *(void **)&init = symbol(library, "InitializeInjectionNvtx2");
    if (failures || init(get_export) != 1 || !push || !pop) {
        failures++;
        return;
    }
    push("nvtx3");
    work();
    pop();
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
