/* The region library: runs inside the user's program, alone (libroofline-region) or within the
 * preloaded object. It is off, for good, unless the environment names a directory at first use. */
#include "region/region.h"
#include "region/counting.h"
#include "region/mark.h"
#include "region/wire.h"

#include <roofline/region.h>

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT      __attribute__((visibility("default")))
#define STACK_DEPTH 128
#define CACHE_SIZE  64u

enum state { STATE_UNKNOWN, STATE_OFF, STATE_ON };

struct frame {
    struct region_slot *slot;
    uint64_t begun_ns, nested_ns;
};

struct cached {
    const char *name;
    uint32_t entry;
};

/** What a thread remembers; freed with it. */
struct thread_state {
    uint32_t generation; /**< file its slots are in */
    int32_t tid;
    uint32_t depth;
    struct region_thread_counting *counting; /**< NULL: nothing is counted */
    struct frame stack[STACK_DEPTH];
    struct cached cache[CACHE_SIZE];
    uint32_t slot_of_entry[REGION_MAX]; /**< index + 1; 0 none yet */
};

static int state = STATE_UNKNOWN;
static uint32_t generation;
static struct region_file *file;
static uint32_t main_depth;         /* regions that the main thread is in */
static struct region_count *counts; /**< [REGION_SLOT_MAX] in the file; NULL: none are wanted */
static size_t file_size;
static struct region_plan plan;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t key;
static __thread struct thread_state *self __attribute__((tls_model("initial-exec")));

/* Room is taken at once: a full disk must show here and not as a signal in the program. */
static struct region_file *make_file(const char *directory, size_t size)
{
    char path[4096];
    struct rlimit limit;
    uint64_t start_ns = region_now_ns();
    int n = snprintf(path, sizeof path, "%s/" REGION_FILE_PREFIX "%d.%llu", directory,
                     (int)getpid(), (unsigned long long)start_ns);
    if (n < 0 || n >= (int)sizeof path)
        return NULL;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < size)
        return NULL;
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return NULL;
    struct region_file *made = MAP_FAILED;
    if (posix_fallocate(fd, 0, (off_t)size) == 0)
        made = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (made == MAP_FAILED)
        return NULL;
    made->head.pid = (int32_t)getpid();
    made->head.start_ns = start_ns;
    made->head.version = REGION_VERSION;
    __atomic_store_n(&made->head.magic, REGION_MAGIC, __ATOMIC_RELEASE);
    return made;
}

static void start(void)
{
    const char *directory = getenv(REGION_DIR_VARIABLE);
    if (file)
        munmap(file, file_size);
    file = NULL;
    counts = NULL;
    if (directory && *directory) {
        enum region_counting counting = region_plan_load(directory, &plan);
        bool counted = counting == REGION_COUNTING_ON;
        file_size = counted ? sizeof(struct region_counted_file) : sizeof(struct region_file);
        file = make_file(directory, file_size);
        if (file)
            file->head.counting = counting;
        if (file && counted) {
            file->head.n_event = plan.n_event;
            counts = ((struct region_counted_file *)file)->count;
        }
    }
    generation++;
    main_depth = 0;
    __atomic_store_n(&state, file ? STATE_ON : STATE_OFF, __ATOMIC_RELEASE);
}

/* A forked child writes to a file of its own. */
static void after_fork(void)
{
    pthread_mutex_init(&lock, NULL);
    if (state == STATE_ON)
        start();
}

static void forget_thread(void *ending);

static void first_use(void)
{
    static bool is_set_up;
    pthread_mutex_lock(&lock);
    if (state == STATE_UNKNOWN) {
        start();
        if (state == STATE_ON && !is_set_up) {
            is_set_up = true;
            pthread_key_create(&key, forget_thread);
            pthread_atfork(NULL, NULL, after_fork);
        }
    }
    pthread_mutex_unlock(&lock);
}

static struct thread_state *this_thread(void)
{
    if (self && self->generation == generation)
        return self;
    if (!self) {
        self = malloc(sizeof *self);
        if (!self)
            return NULL;
        self->counting = NULL;
        pthread_setspecific(key, self);
    }
    region_counting_free(self->counting);
    memset(self, 0, sizeof *self);
    self->generation = generation;
    self->tid = (int32_t)syscall(SYS_gettid);
    if (counts)
        self->counting = region_counting_new(&plan, &region_system_calls, STACK_DEPTH);
    return self;
}

static uint32_t find_entry(const char *name)
{
    uint32_t n = file->head.n_entry < REGION_MAX ? file->head.n_entry : REGION_MAX;
    for (uint32_t i = 0; i < n; i++) {
        if (!strncmp(file->entry[i].name, name, REGION_NAME_LEN - 1))
            return i;
    }
    if (n == REGION_MAX) {
        file->head.n_entry = REGION_MAX + 1;
        return REGION_MAX;
    }
    strncpy(file->entry[n].name, name, REGION_NAME_LEN - 1);
    file->entry[n].stride = 1;
    __atomic_store_n(&file->head.n_entry, n + 1, __ATOMIC_RELEASE);
    return n;
}

/* Names are looked up by their address first, but a caller may have put another text there. */
static uint32_t entry_of(struct thread_state *thread, const char *name)
{
    struct cached *cached = &thread->cache[((uintptr_t)name >> 3) % CACHE_SIZE];
    if (cached->name == name &&
        !strncmp(file->entry[cached->entry].name, name, REGION_NAME_LEN - 1))
        return cached->entry;
    pthread_mutex_lock(&lock);
    uint32_t entry = find_entry(name);
    pthread_mutex_unlock(&lock);
    if (entry < REGION_MAX)
        *cached = (struct cached){name, entry};
    return entry;
}

static struct region_slot *slot_of(struct thread_state *thread, uint32_t entry)
{
    if (entry >= REGION_MAX)
        return NULL;
    if (!thread->slot_of_entry[entry]) {
        uint32_t at = __atomic_fetch_add(&file->head.n_slot, 1, __ATOMIC_RELAXED);
        if (at >= REGION_SLOT_MAX) {
            __atomic_store_n(&file->head.n_slot, REGION_SLOT_MAX + 1, __ATOMIC_RELAXED);
            return NULL;
        }
        file->slot[at].entry = entry;
        file->slot[at].tid = thread->tid;
        thread->slot_of_entry[entry] = at + 1;
    }
    return &file->slot[thread->slot_of_entry[entry] - 1];
}

static bool is_main(const struct thread_state *thread)
{
    return thread->tid == file->head.pid;
}

/* Of the region with most spans every other one goes. Only the main thread comes here. */
static void thin_spans(void)
{
    uint32_t n_of[REGION_MAX] = {0};
    uint32_t most = 0, kept = 0, seen = 0;
    for (uint32_t i = 0; i < file->head.n_span; i++) {
        uint32_t entry = file->span[i].entry;
        if (++n_of[entry] > n_of[most])
            most = entry;
    }
    for (uint32_t i = 0; i < file->head.n_span; i++) {
        if (file->span[i].entry != most || seen++ % 2)
            file->span[kept++] = file->span[i];
    }
    file->entry[most].stride *= 2;
    file->head.n_span = kept;
}

static void keep_span(const struct region_slot *slot, uint64_t end_ns)
{
    if (slot->calls % file->entry[slot->entry].stride)
        return;
    if (file->head.n_span == REGION_SPAN_MAX)
        thin_spans();
    file->span[file->head.n_span] = (struct region_span){slot->begun_ns, end_ns, slot->entry, 0};
    __atomic_store_n(&file->head.n_span, file->head.n_span + 1, __ATOMIC_RELEASE);
}

static void note_depth(const struct thread_state *thread)
{
    if (is_main(thread))
        __atomic_store_n(&main_depth, thread->depth, __ATOMIC_RELAXED);
}

static void begin(const char *name)
{
    struct thread_state *thread = this_thread();
    if (!thread || thread->depth == STACK_DEPTH)
        return;
    struct region_slot *slot = slot_of(thread, entry_of(thread, name));
    if (!slot)
        return;
    struct frame *frame = &thread->stack[thread->depth++];
    *frame = (struct frame){slot, 0, 0};
    struct region_entry *entry = &file->entry[slot->entry];
    bool is_outermost = slot->depth++ == 0;
    note_depth(thread);
    if (thread->depth == 1 && !is_main(thread) && !__atomic_load_n(&main_depth, __ATOMIC_RELAXED))
        slot->n_apart++;
    bool is_first = is_outermost && __atomic_fetch_add(&entry->n_active, 1, __ATOMIC_ACQ_REL) == 0;
    uint64_t t = region_now_ns();
    if (is_outermost)
        slot->begun_ns = t;
    if (is_first)
        __atomic_store_n(&entry->since_ns, t, __ATOMIC_RELEASE);
    frame->begun_ns = t;
    if (is_outermost && thread->counting)
        region_counting_begin(thread->counting, thread->depth - 1, t);
}

static void end_frame(struct thread_state *thread, uint32_t at, uint64_t t)
{
    struct frame frame = thread->stack[at];
    struct region_slot *slot = frame.slot;
    struct region_entry *entry = &file->entry[slot->entry];
    uint64_t took = t - frame.begun_ns;
    slot->calls++;
    slot->self_ns += took > frame.nested_ns ? took - frame.nested_ns : 0;
    if (at)
        thread->stack[at - 1].nested_ns += took;
    if (--slot->depth == 0) {
        slot->time_ns += t - slot->begun_ns;
        if (is_main(thread))
            keep_span(slot, t);
        if (thread->counting)
            region_counting_end(thread->counting, at, t, &counts[slot - file->slot]);
        uint64_t since_ns = __atomic_load_n(&entry->since_ns, __ATOMIC_ACQUIRE);
        if (__atomic_fetch_sub(&entry->n_active, 1, __ATOMIC_ACQ_REL) == 1 && t > since_ns)
            __atomic_fetch_add(&entry->wall_ns, t - since_ns, __ATOMIC_RELAXED);
    }
    thread->depth--;
    for (uint32_t i = at; i < thread->depth; i++)
        thread->stack[i] = thread->stack[i + 1];
    note_depth(thread);
    if (thread->counting)
        region_counting_close_gap(thread->counting, at, thread->depth);
}

/* A thread that ends inside regions, cancelled or not, ends them: nobody else can. */
static void forget_thread(void *ending)
{
    struct thread_state *thread = ending;
    if (thread->depth && thread->generation == generation && state == STATE_ON) {
        if (thread->counting)
            region_counting_read(thread->counting);
        uint64_t t = region_now_ns();
        while (thread->depth)
            end_frame(thread, thread->depth - 1, t);
    }
    region_counting_free(thread->counting);
    free(thread);
    self = NULL;
}

/* Ends the innermost open region of that name: regions may overlap instead of nesting. */
static void end(const char *name)
{
    if (self && self->counting && self->generation == generation)
        region_counting_read(self->counting);
    uint64_t t = region_now_ns();
    struct thread_state *thread = this_thread();
    if (!thread)
        return;
    uint32_t entry = name ? entry_of(thread, name) : REGION_MAX;
    for (uint32_t i = thread->depth; i-- > 0;) {
        if (!name || thread->stack[i].slot->entry == entry) {
            end_frame(thread, i, t);
            return;
        }
    }
    __atomic_fetch_add(&file->head.n_mismatched, 1, __ATOMIC_RELAXED);
}

static bool is_on(void)
{
    int seen = __atomic_load_n(&state, __ATOMIC_ACQUIRE);
    if (__builtin_expect(seen == STATE_OFF, 1))
        return false;
    if (seen == STATE_UNKNOWN)
        first_use();
    return state == STATE_ON;
}

EXPORT void roofline_region_begin(const char *name)
{
    REGION_MARK(REGION_MARK_BEGIN, name);
    if (is_on() && name)
        begin(name);
}

EXPORT void roofline_region_end(const char *name)
{
    REGION_MARK(REGION_MARK_END, name);
    if (is_on() && name)
        end(name);
}

void region_end_innermost(void)
{
    REGION_MARK(REGION_MARK_END_INNERMOST, NULL);
    if (is_on())
        end(NULL);
}
