/* From records in a channel to bytes per instruction: writers of several threads and processes,
 * full rings, writers that are killed, readers that stop, nonsense in the rings. The writers here
 * do what the engine does, by the same header. */
#include "count/traffic.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { MIB = 1 << 20 };

/* ---- a writer ---- */

struct writer {
    struct rle_trace_header *header;
    struct rle_trace_process *process;
    struct rle_trace_site *sites;
    uint32_t process_index;
    struct rle_trace_slot *slot;
    uint32_t slot_index;
    uint64_t classes; /* recorded ones, looked up in `wanted` */
};

static void *map(int fd, uint64_t offset, uint64_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);
    return at == MAP_FAILED ? NULL : at;
}

static void open_process(struct writer *w, int fd, uint32_t sequence)
{
    w->header = map(fd, 0, RLE_TRACE_HEADER);
    w->process_index =
        rle_trace_take(w->header->process_state, RLE_TRACE_PROCESSES, &w->header->n_processes);
    w->process = map(fd, rle_trace_process_offset(w->process_index), RLE_TRACE_PROCESS_BYTES);
    w->sites = (struct rle_trace_site *)((char *)w->process + RLE_TRACE_PAGE);
    w->process->pid = getpid();
    w->process->sequence = sequence;
    /* Site 1: a load of 8 bytes; 2 and 3: load and store of one cluster; 4: a string store. */
    w->sites[1] = (struct rle_trace_site){.block = 7, .size = 8, .insn = 3};
    w->sites[2] =
        (struct rle_trace_site){.block = 8, .size = 8, .insn = 0, .flags = RLE_TRACE_MORE};
    w->sites[3] = (struct rle_trace_site){
        .block = 8, .offset = 64, .size = 8, .insn = 1, .kind = RLE_TRACE_STORE};
    w->sites[4] = (struct rle_trace_site){
        .block = 9, .size = 4, .insn = 2, .kind = RLE_TRACE_STORE, .flags = RLE_TRACE_COUNTED};
    w->sites[5] = (struct rle_trace_site){.block = 7, .size = 16, .insn = 3};
    __atomic_store_n(&w->process->n_sites, 6, __ATOMIC_RELEASE);
    rle_trace_set_state(&w->header->process_state[w->process_index], RLE_TRACE_IN_USE);
}

static void open_thread(struct writer *w, int fd)
{
    w->slot_index = rle_trace_take(w->header->slot_state, RLE_TRACE_SLOTS, &w->header->n_slots);
    uint64_t offset = rle_trace_slot_offset(w->slot_index);
    /* One mapping for both, so that the ring is aligned to a chunk as an engine's must be. */
    char *space =
        mmap(NULL, 2 * MIB + RLE_TRACE_CHUNK, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *at = space + (RLE_TRACE_CHUNK - (uintptr_t)space % RLE_TRACE_CHUNK) % RLE_TRACE_CHUNK;
    w->slot = mmap(at, RLE_TRACE_SLOT_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
                   (off_t)offset);
    w->slot->process = w->process_index;
    rle_trace_want(w->slot, w->header->classes, w->header->centre);
    rle_trace_begin(w->slot, (uint64_t)at + RLE_TRACE_AREA);
    rle_trace_set_state(&w->header->slot_state[w->slot_index], RLE_TRACE_IN_USE);
}

static void close_thread(struct writer *w)
{
    rle_trace_set_state(&w->header->slot_state[w->slot_index], RLE_TRACE_ENDED);
}

static void close_process(struct writer *w)
{
    rle_trace_set_state(&w->header->process_state[w->process_index], RLE_TRACE_ENDED);
}

static void put(struct writer *w, uint64_t address, uint32_t site, uint32_t count)
{
    if (!rle_trace_write(w->slot, address, site, count))
        return;
    uint32_t room;
    while (rle_trace_make_room(w->slot, &room) == RLE_TRACE_WAIT) {
        if (__atomic_load_n(&w->header->closed, __ATOMIC_ACQUIRE)) {
            rle_trace_drop(w->slot);
            return;
        }
        usleep(50);
    }
}

static bool wanted(const struct writer *w, uint64_t address)
{
    return w->header->full || w->slot->wanted[0][address >> 4 & 255];
}

/* ---- readers ---- */

static const struct rl_cache_geometry machine = {
    3, {{64, 8, false, 0}, {512, 8, false, 0}, {2048, 16, true, 0}}};

static struct rl_simulation *begin(bool full, uint32_t n_workers)
{
    struct rl_traffic_options options;
    struct rl_simulation *traffic = NULL;
    rl_traffic_options_default(&options);
    options.geometry = machine;
    options.sampling.full = full;
    options.n_workers = n_workers;
    options.exact_records = 50000;
    assert_int_equal(rl_traffic_new(&options, &traffic, NULL), RL_OK);
    assert_int_equal(rl_traffic_start(traffic, NULL), RL_OK);
    return traffic;
}

static double bytes_of(const struct rl_simulation *traffic, const struct rl_traffic_row *row,
                       uint32_t level)
{
    struct rl_traffic_value value;
    rl_traffic_estimate(traffic, row->account, level, &value);
    return value.bytes;
}

static uint64_t rng_state = 88172645463325252u;

static uint64_t rng(void)
{
    rng_state ^= rng_state << 13;
    rng_state ^= rng_state >> 7;
    rng_state ^= rng_state << 17;
    return rng_state;
}

/* ---- promises ---- */

static void every_record_reaches_its_instruction(void **state)
{
    (void)state;
    struct rl_simulation *traffic = begin(true, 1);
    struct writer w = {0};
    open_process(&w, rl_traffic_descriptor(traffic), 2);
    open_thread(&w, rl_traffic_descriptor(traffic));
    for (uint64_t i = 0; i < 1000; i++) {
        put(&w, MIB + 64 * i, 1, 0);       /* 1000 lines read */
        put(&w, 16 * MIB + 128 * i, 2, 0); /* 1000 read, 1000 written */
    }
    put(&w, 32 * MIB, 4, 160);           /* 640 bytes: 10 lines written */
    put(&w, MIB + 64 * 1000 + 56, 5, 0); /* the same instruction, two lines more */
    close_thread(&w);
    close_process(&w);
    assert_int_equal(rl_traffic_stop(traffic, NULL), RL_OK);
    size_t n;
    const struct rl_traffic_row *row = rl_traffic_rows(traffic, &n);
    assert_int_equal(n, 4);
    const uint32_t block[] = {7, 8, 8, 9};
    const uint32_t insn[] = {3, 0, 1, 2};
    const double bytes[] = {64 * 1002, 64 * 1000, 64 * 1000, 640};
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(row[i].pid, getpid());
        assert_int_equal(row[i].sequence, 2);
        assert_int_equal(row[i].block, block[i]);
        assert_int_equal(row[i].insn, insn[i]);
        assert_true(row[i].account[2].reads * 64 == (insn[i] % 3 == 0 ? bytes[i] : 0));
        assert_true(row[i].account[2].allocates * 64 == (insn[i] % 3 == 0 ? 0 : bytes[i]));
    }
    assert_true(bytes_of(traffic, &row[0], 2) == bytes[0]);
    struct rl_traffic_summary summary;
    rl_traffic_summarise(traffic, &summary);
    assert_int_equal(summary.records, 2002);
    assert_int_equal(summary.channel.lost, 0);
    assert_int_equal(summary.channel.threads, 1);
    assert_false(summary.sampled);
    rl_traffic_free(traffic);
}

static void *write_stream(void *argument)
{
    struct writer *w = argument;
    for (uint64_t i = 0; i < 200000; i++) /* 3 MiB of records through a ring of 1 */
        put(w, (1 + w->slot_index) * 64 * (uint64_t)MIB + 64 * i, 1, 0);
    close_thread(w);
    return NULL;
}

static void several_threads_fill_their_rings_many_times(void **state)
{
    (void)state;
    for (uint32_t n_workers = 1; n_workers <= 3; n_workers += 2) {
        struct rl_simulation *traffic = begin(true, n_workers);
        struct writer w[3] = {0};
        pthread_t thread[3];
        open_process(&w[0], rl_traffic_descriptor(traffic), 0);
        for (int i = 0; i < 3; i++) {
            w[i] = w[0];
            open_thread(&w[i], rl_traffic_descriptor(traffic));
            pthread_create(&thread[i], NULL, write_stream, &w[i]);
        }
        for (int i = 0; i < 3; i++)
            pthread_join(thread[i], NULL);
        close_process(&w[0]);
        assert_int_equal(rl_traffic_stop(traffic, NULL), RL_OK);
        size_t n;
        const struct rl_traffic_row *row = rl_traffic_rows(traffic, &n);
        assert_int_equal(n, 1);
        assert_true(bytes_of(traffic, row, 2) == 64.0 * 600000);
        rl_traffic_free(traffic);
    }
}

static void change_region(struct writer *w, uint32_t region)
{
    while (!rle_trace_change_region(w->slot, region))
        usleep(50);
}

struct mixed {
    struct writer writer;
    uint64_t first_line; /* of 16 that no other thread uses, and of those 32, 64, … behind them */
    uint64_t random;
};

/* More than a ring holds, of all kinds, in three regions: lines used again, some soon, some late,
 * and now and then what names no site. */
static void *write_mixed(void *argument)
{
    struct mixed *m = argument;
    struct writer *w = &m->writer;
    for (unsigned i = 0; i < 150000; i++) {
        m->random = m->random * 6364136223846793005u + 1442695040888963407u;
        uint64_t r = m->random >> 33;
        uint64_t spread = r % 4 == 0 ? 4096 : 64; /* 2048 lines or 32 */
        uint64_t line = (r >> 8) % (spread / 2);
        uint64_t address = 64 * (MIB + line / 16 * 32 + m->first_line + line % 16);
        uint32_t kind = (uint32_t)(r >> 3) % 16;
        if (i % 1000 == 0)
            change_region(w, (uint32_t)r % 3);
        if (kind == 0)
            put(w, address, 4, 1 + r % 16); /* a string within the line */
        else if (kind == 1)
            put(w, address, 6, 0); /* no site */
        else if (kind < 5 && line % 16 < 15)
            put(w, address, 2, 0); /* to the next line, too */
        else
            put(w, address + r % 48, kind < 9 ? 5 : 1, 0);
    }
    close_thread(w);
    return NULL;
}

/* Two threads at once, whose lines never share a set, so that it does not matter who is first. */
static struct rl_simulation *run_mixed(uint32_t n_workers)
{
    struct rl_simulation *traffic = begin(true, n_workers);
    int fd = rl_traffic_descriptor(traffic);
    struct mixed m[2] = {{.first_line = 0, .random = 4711}, {.first_line = 16, .random = 42}};
    pthread_t thread[2];
    open_process(&m[0].writer, fd, 0);
    m[1].writer = m[0].writer;
    for (int i = 0; i < 2; i++) /* the slots in this order, for the cores */
        open_thread(&m[i].writer, fd);
    for (int i = 0; i < 2; i++)
        pthread_create(&thread[i], NULL, write_mixed, &m[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    close_process(&m[0].writer);
    assert_int_equal(rl_traffic_stop(traffic, NULL), RL_OK);
    return traffic;
}

static void workers_together_equal_one(void **state)
{
    (void)state;
    struct rl_simulation *one = run_mixed(1);
    struct rl_traffic_summary of_one;
    rl_traffic_summarise(one, &of_one);
    size_t n_one;
    const struct rl_traffic_row *row_one = rl_traffic_rows(one, &n_one);
    assert_int_equal(n_one, 4 * 3); /* instructions in regions */
    for (uint32_t n_workers = 2; n_workers <= 16; n_workers += n_workers < 4 ? 1 : 4) {
        struct rl_simulation *many = run_mixed(n_workers);
        struct rl_traffic_summary of_many;
        rl_traffic_summarise(many, &of_many);
        assert_int_equal(of_many.records, of_one.records);
        assert_int_equal(of_many.malformed, of_one.malformed);
        assert_true(of_many.malformed > 0);
        size_t n;
        const struct rl_traffic_row *row = rl_traffic_rows(many, &n);
        assert_int_equal(n, n_one);
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(row[i].block, row_one[i].block);
            assert_int_equal(row[i].insn, row_one[i].insn);
            assert_int_equal(row[i].region, row_one[i].region);
            assert_memory_equal(row[i].account, row_one[i].account,
                                rl_traffic_flows(many) * sizeof *row->account);
        }
        rl_traffic_free(many);
    }
    rl_traffic_free(one);
}

static void lines_count_in_the_region_they_were_moved_in(void **state)
{
    (void)state;
    for (uint32_t n_workers = 1; n_workers <= 3; n_workers += 2) {
        struct rl_simulation *traffic = begin(true, n_workers);
        struct writer w[2] = {0};
        open_process(&w[0], rl_traffic_descriptor(traffic), 0);
        w[1] = w[0];
        open_thread(&w[0], rl_traffic_descriptor(traffic));
        open_thread(&w[1], rl_traffic_descriptor(traffic));
        put(&w[0], 16 * MIB, 1, 0);
        for (uint64_t i = 0; i < 3000; i++) { /* more changes than can wait */
            change_region(&w[0], 7);
            change_region(&w[0], i % 2 ? 5 : 6); /* nothing was moved in 7 */
            put(&w[0], MIB + 64 * i, 1, 0);
            put(&w[1], 32 * MIB + 64 * i, 1, 0);
            if (i == 999)
                change_region(&w[1], 5); /* one thread tells another */
        }
        change_region(&w[0], 0);
        put(&w[0], 17 * MIB, 1, 0);
        change_region(&w[0], RLE_TRACE_REGIONS); /* nonsense: outside */
        put(&w[0], 18 * MIB, 1, 0);
        close_thread(&w[0]);
        close_thread(&w[1]);
        close_process(&w[0]);
        assert_int_equal(rl_traffic_stop(traffic, NULL), RL_OK);
        size_t n;
        const struct rl_traffic_row *row = rl_traffic_rows(traffic, &n);
        assert_int_equal(n, 3);
        const uint32_t region[] = {0, 5, 6};
        const double lines[] = {3 + 1000, 1500 + 2000, 1500};
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(row[i].region, region[i]);
            for (uint32_t level = 0; level < 3; level++)
                assert_true(bytes_of(traffic, &row[i], level) == 64 * lines[i]);
        }
        rl_traffic_free(traffic);
    }
}

static void a_killed_writer_loses_nothing_it_wrote_with(uint32_t n_workers)
{
    struct rl_simulation *traffic = begin(true, n_workers);
    int fd = rl_traffic_descriptor(traffic);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct writer w = {0};
        open_process(&w, fd, 0);
        open_thread(&w, fd);
        for (uint64_t i = 0; i < 5000; i++)
            put(&w, MIB + 64 * i, 1, 0);
        raise(SIGKILL);
    }
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(rl_traffic_stop(traffic, NULL), RL_OK);
    size_t n;
    const struct rl_traffic_row *row = rl_traffic_rows(traffic, &n);
    assert_int_equal(n, 1);
    assert_int_equal(row->pid, pid);
    assert_true(bytes_of(traffic, row, 2) == 64 * 5000);
    rl_traffic_free(traffic);
}

static void a_killed_writer_loses_nothing_it_wrote(void **state)
{
    (void)state;
    a_killed_writer_loses_nothing_it_wrote_with(1);
    a_killed_writer_loses_nothing_it_wrote_with(3);
}

static void slots_of_processes_that_died_are_used_again_with(uint32_t n_workers)
{
    struct rl_simulation *traffic = begin(true, n_workers);
    int fd = rl_traffic_descriptor(traffic);
    for (int i = 0; i < 40; i++) {
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            struct writer w = {0};
            open_process(&w, fd, 0);
            open_thread(&w, fd);
            put(&w, MIB, 1, 0);
            raise(SIGKILL);
        }
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        if (i % 10 == 9)
            usleep(120000);
    }
    struct rle_trace_header *header = map(fd, 0, RLE_TRACE_HEADER);
    assert_true(header->n_slots < 40);
    assert_true(header->n_processes < 40);
    munmap(header, RLE_TRACE_HEADER);
    assert_int_equal(rl_traffic_stop(traffic, NULL), RL_OK);
    size_t n;
    rl_traffic_rows(traffic, &n);
    assert_int_equal(n, 40);
    rl_traffic_free(traffic);
}

static void slots_of_processes_that_died_are_used_again(void **state)
{
    (void)state;
    slots_of_processes_that_died_are_used_again_with(1);
    slots_of_processes_that_died_are_used_again_with(3);
}

static void a_writer_outlives_its_reader_with(uint32_t n_workers)
{
    struct rl_simulation *traffic = begin(true, n_workers);
    struct writer w = {0};
    open_process(&w, rl_traffic_descriptor(traffic), 0);
    open_thread(&w, rl_traffic_descriptor(traffic));
    put(&w, MIB, 1, 0);
    assert_int_equal(rl_traffic_stop(traffic, NULL), RL_OK);
    rl_traffic_free(traffic);
    for (uint64_t i = 0; i < 300000; i++) /* more than the ring holds: it must not wait for ever */
        put(&w, MIB + 64 * i, 1, 0);
    assert_true(w.slot->lost > 0);
}

static void a_writer_outlives_its_reader(void **state)
{
    (void)state;
    a_writer_outlives_its_reader_with(1);
    a_writer_outlives_its_reader_with(3);
}

static void nonsense_in_a_ring_is_counted_and_survived_with(uint32_t n_workers)
{
    struct rl_simulation *traffic = begin(true, n_workers);
    struct writer w = {0};
    open_process(&w, rl_traffic_descriptor(traffic), 0);
    w.sites[5].flags = RLE_TRACE_MORE; /* points beyond the last site */
    open_thread(&w, rl_traffic_descriptor(traffic));
    put(&w, MIB, 0, 0);
    put(&w, MIB, 6, 0);
    put(&w, MIB, UINT32_MAX, 0);
    put(&w, UINT64_MAX - 3, 1, 0);
    put(&w, MIB, 5, 0);
    close_thread(&w);
    close_process(&w);
    assert_int_equal(rl_traffic_stop(traffic, NULL), RL_OK);
    struct rl_traffic_summary summary;
    rl_traffic_summarise(traffic, &summary);
    assert_int_equal(summary.malformed, 3);
    rl_traffic_free(traffic);
}

static void nonsense_in_a_ring_is_counted_and_survived(void **state)
{
    (void)state;
    nonsense_in_a_ring_is_counted_and_survived_with(1);
    nonsense_in_a_ring_is_counted_and_survived_with(3);
}

static void a_sampled_run_states_an_error_that_holds(void **state)
{
    (void)state;
    struct rl_simulation *traffic = begin(false, 1);
    struct writer w = {0};
    open_process(&w, rl_traffic_descriptor(traffic), 0);
    open_thread(&w, rl_traffic_descriptor(traffic));
    enum { LINES = 4000000 };
    uint64_t recorded = 0;
    for (uint64_t i = 0; i < LINES; i++) {
        uint64_t address = 16 * (uint64_t)MIB + 64 * i;
        if (wanted(&w, address)) {
            put(&w, address, 1, 0);
            recorded++;
        }
    }
    close_thread(&w);
    close_process(&w);
    assert_int_equal(rl_traffic_stop(traffic, NULL), RL_OK);
    struct rl_traffic_summary summary;
    rl_traffic_summarise(traffic, &summary);
    assert_true(summary.sampled);
    assert_true(recorded < LINES);
    size_t n;
    const struct rl_traffic_row *row = rl_traffic_rows(traffic, &n);
    assert_int_equal(n, 1);
    for (uint32_t level = 1; level < 3; level++) {
        struct rl_traffic_value value;
        rl_traffic_estimate(traffic, row->account, level, &value);
        double off = fabs(value.bytes - 64.0 * LINES);
        assert_true(off <= value.error_bytes);
        assert_true(off <= 0.001 * 64.0 * LINES); /* all classes are alike here */
    }
    rl_traffic_free(traffic);
}

static void options_no_model_can_have_are_refused(void **state)
{
    (void)state;
    struct rl_traffic_options options;
    struct rl_simulation *traffic = NULL;
    struct rl_error err = {0};
    rl_traffic_options_default(&options);
    assert_int_equal(rl_traffic_new(&options, &traffic, &err), RL_EINVAL); /* no geometry */
    options.geometry = machine;
    options.n_workers = 17;
    assert_int_equal(rl_traffic_new(&options, &traffic, &err), RL_EINVAL);
    options.n_workers = 1;
    options.step_s = 0;
    assert_int_equal(rl_traffic_new(&options, &traffic, &err), RL_EINVAL);
    assert_null(traffic);
}

static bool touches_wanted(uint64_t classes, uint64_t address, unsigned width)
{
    for (uint64_t line = address / 64; line <= (address + width - 1) / 64; line++)
        if (classes >> line % 64 & 1)
            return true;
    return false;
}

static void masks_and_tables_never_miss_a_wanted_line(void **state)
{
    (void)state;
    static struct rle_trace_slot slot;
    static const unsigned widths[] = {1, 8, 31, 32, 64, 65, 66, 96, 128};
    for (unsigned n = 0; n < 300; n++) {
        uint32_t centre = (uint32_t)(rng() % 64);
        uint64_t classes = n % 3 == 0   ? 1ull << centre
                           : n % 3 == 1 ? 1ull << rng() % 64
                                        : rng() & rng() & rng();
        rle_trace_want(&slot, classes, centre);
        for (unsigned i = 0; i < 4096 * 9; i++) {
            unsigned width = widths[i / 4096];
            uint64_t address = 0x7f0000000000 + i % 4096;
            uint32_t x = (uint32_t)(address + width - 1 - RLE_TRACE_LINE * centre);
            unsigned reach = rle_trace_reach(width);
            bool by_mask =
                !(x & slot.mask[reach]) && (x & slot.within[reach]) < RLE_TRACE_LINE - 1 + width;
            bool by_distance =
                (x & (slot.mask[reach] | slot.within[reach])) < RLE_TRACE_LINE - 1 + width;
            bool wanted_indeed = touches_wanted(classes, address, width);
            assert_true(by_mask == by_distance);
            if (wanted_indeed)
                assert_true(by_mask);
            if (n % 3 == 0) /* the centre alone: nothing else comes through */
                assert_true(by_mask == wanted_indeed);
        }
    }
}

/* From an address to behind the next wanted line, its own included; the number is negative. */
static int distance_by_lines(uint64_t classes, uint64_t address)
{
    uint64_t line = address / 64;
    for (unsigned i = 0; i < 63 && !(classes >> line % 64 & 1); i++)
        line++;
    return (int)(int64_t)(address - 64 * (line + 1));
}

static void distances_lead_to_the_next_wanted_line(void **state)
{
    (void)state;
    static struct rle_trace_slot slot;
    static const uint64_t halves = 1ull << 32 | 1, quarters = 0x0001000100010001;
    for (unsigned n = 0; n < 400; n++) {
        uint32_t centre = (uint32_t)(rng() % 64);
        uint64_t classes = n % 4 == 0   ? 1ull << centre
                           : n % 4 == 1 ? halves << centre % 32
                           : n % 4 == 2 ? quarters << centre % 16
                                        : rng() & rng() & rng();
        bool by_centre = n % 4 < 3;
        rle_trace_want(&slot, classes, centre);
        for (uint64_t address = 0x7f0000000000; address < 0x7f0000002000; address += 7) {
            int expected = distance_by_lines(classes, address);
            int32_t x = (int32_t)(uint32_t)(address - RLE_TRACE_LINE * (centre + 1)) | slot.beyond;
            assert_int_equal(slot.until[address / 64 % 64] + (int)(address % 64), expected);
            assert_int_equal(x, by_centre ? expected : -1);
        }
    }
    rle_trace_want(&slot, 0, 5);
    assert_int_equal(slot.beyond, -4096); /* nothing is wanted: look as seldom as can be */
    assert_int_equal(slot.until[7], -4096);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_record_reaches_its_instruction),
        cmocka_unit_test(several_threads_fill_their_rings_many_times),
        cmocka_unit_test(workers_together_equal_one),
        cmocka_unit_test(lines_count_in_the_region_they_were_moved_in),
        cmocka_unit_test(a_killed_writer_loses_nothing_it_wrote),
        cmocka_unit_test(slots_of_processes_that_died_are_used_again),
        cmocka_unit_test(a_writer_outlives_its_reader),
        cmocka_unit_test(nonsense_in_a_ring_is_counted_and_survived),
        cmocka_unit_test(a_sampled_run_states_an_error_that_holds),
        cmocka_unit_test(options_no_model_can_have_are_refused),
        cmocka_unit_test(masks_and_tables_never_miss_a_wanted_line),
        cmocka_unit_test(distances_lead_to_the_next_wanted_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
