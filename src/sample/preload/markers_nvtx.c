/* NVTX 3 is all in its headers, which load the library that NVTX_INJECTION64_PATH names and let it
 * fill tables of function pointers. Ranges become regions, whatever their domain. */
#include "region/region.h"
#include "sample/preload/markers.h"

#include <pthread.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum { NVTX_TABLE_CALLBACKS = 1, NVTX_MODULE_CORE = 1, NVTX_MODULE_CORE2 = 5 };

/* Places in the table of the first module, and of the second, which knows domains. */
enum {
    NVTX_START_EX = 4,
    NVTX_START_A = 5,
    NVTX_START_W = 6,
    NVTX_END = 7,
    NVTX_PUSH_EX = 8,
    NVTX_PUSH_A = 9,
    NVTX_PUSH_W = 10,
    NVTX_POP = 11,
};
enum {
    NVTX_DOMAIN_START_EX = 2,
    NVTX_DOMAIN_END = 3,
    NVTX_DOMAIN_PUSH_EX = 4,
    NVTX_DOMAIN_POP = 5,
    NVTX_DOMAIN_STRING_A = 10,
    NVTX_DOMAIN_STRING_W = 11,
};

/* Names are told apart by fewer bytes (roofline/region.h). */
enum { NAME_BYTES = 128, UTF8_MOST = 4 };

typedef void (*function)(void);

struct nvtx_callbacks {
    size_t size;
    int (*table)(int module, function ***ret_table, unsigned *ret_size);
};

/* ---- names ---- */

static size_t put_utf8(char *to, uint32_t c)
{
    if (c < 0x80) {
        to[0] = (char)c;
        return 1;
    }
    size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = n; i-- > 1; c >>= 6)
        to[i] = (char)(0x80 | (c & 0x3F));
    to[0] = (char)((0xF0 << (UTF8_MOST - n)) | c);
    return n;
}

/* The text of a wide name, cut to what tells regions apart; NULL for NULL. */
static const char *from_wide(const wchar_t *wide, char buffer[NAME_BYTES])
{
    size_t n = 0;
    if (!wide)
        return NULL;
    for (; *wide && n + UTF8_MOST < NAME_BYTES; wide++)
        n += put_utf8(buffer + n, (uint32_t)*wide);
    buffer[n] = '\0';
    return buffer;
}

static const char *name_of(const struct nvtx_attributes *a, char buffer[NAME_BYTES])
{
    if (!a)
        return NULL;
    switch (a->message_type) {
    case NVTX_MESSAGE_ASCII:
        return a->message.ascii;
    case NVTX_MESSAGE_WIDE:
        return from_wide(a->message.wide, buffer);
    case NVTX_MESSAGE_REGISTERED:
        return a->message.registered;
    default:
        return NULL;
    }
}

static int by_text(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* One lasting copy of each name that a program registers. NULL without memory. */
static const char *lasting(const char *name)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static void *names;
    const char *found = NULL;
    if (!name)
        return NULL;
    pthread_mutex_lock(&lock);
    void *node = tfind(name, &names, by_text);
    char *copy = node ? NULL : strdup(name);
    if (copy) {
        node = tsearch(copy, &names, by_text);
        if (!node)
            free(copy);
    }
    if (node)
        found = *(const char **)node;
    pthread_mutex_unlock(&lock);
    return found;
}

/* ---- ranges that nest within a thread ---- */

static int push_a(const char *name)
{
    marker_push(name);
    return 0;
}

static int push_w(const wchar_t *name)
{
    char buffer[NAME_BYTES];
    return push_a(from_wide(name, buffer));
}

static int push_ex(const struct nvtx_attributes *a)
{
    char buffer[NAME_BYTES];
    return push_a(name_of(a, buffer));
}

static int pop(void)
{
    region_end_innermost();
    return 0;
}

static int domain_push_ex(void *domain, const struct nvtx_attributes *a)
{
    (void)domain;
    return push_ex(a);
}

static int domain_pop(void *domain)
{
    (void)domain;
    return pop();
}

/* ---- ranges that are ended by what their start returned ---- */

/* What was started and not ended yet. Programs number them in their names: none is kept longer. */
struct range {
    uint64_t id;
    char name[NAME_BYTES];
};

static pthread_mutex_t ranges_lock = PTHREAD_MUTEX_INITIALIZER;
static void *ranges;

static int by_id(const void *a, const void *b)
{
    uint64_t x = ((const struct range *)a)->id, y = ((const struct range *)b)->id;
    return x < y ? -1 : x > y;
}

/* @return 0, which no range has, without memory. */
static uint64_t add_range(const char *name)
{
    static uint64_t last_id;
    struct range *range = calloc(1, sizeof *range);
    if (!range)
        return 0;
    strncpy(range->name, name, sizeof range->name - 1);
    pthread_mutex_lock(&ranges_lock);
    range->id = ++last_id;
    void *node = tsearch(range, &ranges, by_id);
    pthread_mutex_unlock(&ranges_lock);
    uint64_t id = node ? range->id : 0;
    if (!node)
        free(range);
    return id;
}

/* NULL for an id that was never given out or is ended already; else the caller's to free. */
static struct range *take_range(uint64_t id)
{
    struct range wanted = {.id = id};
    struct range *range = NULL;
    pthread_mutex_lock(&ranges_lock);
    void *node = tfind(&wanted, &ranges, by_id);
    if (node) {
        range = *(struct range **)node;
        tdelete(range, &ranges, by_id);
    }
    pthread_mutex_unlock(&ranges_lock);
    return range;
}

static uint64_t start_a(const char *name)
{
    const char *shown = name ? name : "(unnamed)";
    uint64_t id = add_range(shown);
    if (id)
        roofline_region_begin(shown);
    return id;
}

static uint64_t start_w(const wchar_t *name)
{
    char buffer[NAME_BYTES];
    return start_a(from_wide(name, buffer));
}

static uint64_t start_ex(const struct nvtx_attributes *a)
{
    char buffer[NAME_BYTES];
    return start_a(name_of(a, buffer));
}

static void end(uint64_t id)
{
    struct range *range = take_range(id);
    if (range)
        roofline_region_end(range->name);
    free(range);
}

static uint64_t domain_start_ex(void *domain, const struct nvtx_attributes *a)
{
    (void)domain;
    return start_ex(a);
}

static void domain_end(void *domain, uint64_t id)
{
    (void)domain;
    end(id);
}

/* ---- registered strings ---- */

static const char *string_a(void *domain, const char *name)
{
    (void)domain;
    return lasting(name);
}

static const char *string_w(void *domain, const wchar_t *name)
{
    char buffer[NAME_BYTES];
    return string_a(domain, from_wide(name, buffer));
}

static void fill_core(function **table)
{
    *table[NVTX_START_EX] = (function)start_ex;
    *table[NVTX_START_A] = (function)start_a;
    *table[NVTX_START_W] = (function)start_w;
    *table[NVTX_END] = (function)end;
    *table[NVTX_PUSH_EX] = (function)push_ex;
    *table[NVTX_PUSH_A] = (function)push_a;
    *table[NVTX_PUSH_W] = (function)push_w;
    *table[NVTX_POP] = (function)pop;
}

static void fill_domains(function **table)
{
    *table[NVTX_DOMAIN_START_EX] = (function)domain_start_ex;
    *table[NVTX_DOMAIN_END] = (function)domain_end;
    *table[NVTX_DOMAIN_PUSH_EX] = (function)domain_push_ex;
    *table[NVTX_DOMAIN_POP] = (function)domain_pop;
    *table[NVTX_DOMAIN_STRING_A] = (function)string_a;
    *table[NVTX_DOMAIN_STRING_W] = (function)string_w;
}

EXPORT int InitializeInjectionNvtx2(const void *(*get_table)(uint32_t id));
EXPORT int InitializeInjectionNvtx2(const void *(*get_table)(uint32_t id))
{
    const struct nvtx_callbacks *callbacks = get_table(NVTX_TABLE_CALLBACKS);
    function **table = NULL;
    unsigned n = 0;
    if (!callbacks || !callbacks->table || !callbacks->table(NVTX_MODULE_CORE, &table, &n) ||
        n <= NVTX_POP)
        return 0;
    fill_core(table);
    if (callbacks->table(NVTX_MODULE_CORE2, &table, &n) && n > NVTX_DOMAIN_STRING_W)
        fill_domains(table);
    return 1;
}
