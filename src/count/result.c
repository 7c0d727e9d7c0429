#include "count/result.h"

#include "base/error.h"
#include "count/result_view_internal.h"
#include "decode/insn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Counter sums of one region, or of everything. */
struct sums {
    uint64_t *all;     /* [n] over all threads and regions */
    uint64_t **region; /* [n_regions][n] or NULL for a region without extents */
    size_t n, n_regions;
};

struct reader {
    struct result_view view;
    struct rl_result *result;
    struct sums sums;
    size_t pieces_capacity, repeats_capacity;
};

static uint64_t add_saturating(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t subtract_saturating(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

/* The first thing that is wrong is the one worth telling. */
static void complain(struct rl_result *result, const char *text)
{
    if (!result->problem[0])
        snprintf(result->problem, sizeof result->problem, "%s", text);
}

static enum rl_status no_memory(struct rl_error *err)
{
    return rl_fail(err, RL_ENOMEM, "no memory for a result of the counting engine");
}

/* Modulo 2^64: what moved to a region is taken off elsewhere. */
static void add_counters(uint64_t *sum, const uint8_t *counters, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t value;
        memcpy(&value, counters + i * sizeof value, sizeof value);
        sum[i] += value;
    }
}

static enum rl_status sum_counters(struct reader *r, struct rl_error *err)
{
    struct sums *s = &r->sums;
    struct rle_result_extent extent;
    s->n_regions = r->result->n_regions;
    s->region = calloc(s->n_regions + 1, sizeof *s->region);
    if (!s->region)
        return no_memory(err);
    for (size_t i = 0; result_view_record(&r->view, RLE_SECTION_EXTENTS, i, &extent, sizeof extent);
         i++) {
        const uint8_t *counters = result_view_counters(&r->view, &extent);
        if (!counters || extent.region > s->n_regions) {
            complain(r->result, "counters of a thread lie outside the file");
            continue;
        }
        s->n = r->view.header.n_counters;
        if (!s->all && !(s->all = calloc(s->n + 1, sizeof *s->all)))
            return no_memory(err);
        add_counters(s->all, counters, s->n);
        if (!extent.region)
            continue;
        uint64_t **region = &s->region[extent.region - 1];
        if (!*region && !(*region = calloc(s->n + 1, sizeof **region)))
            return no_memory(err);
        add_counters(*region, counters, s->n);
    }
    return RL_OK;
}

/* Of region `k` - 1, or of everything for k = 0. */
static uint64_t counter(const struct sums *sums, size_t k, uint32_t index)
{
    const uint64_t *of = k ? sums->region[k - 1] : sums->all;
    return of && index < sums->n ? of[index] : 0;
}

static enum rl_status grow_pieces(struct reader *r, struct rl_error *err)
{
    struct rl_result *result = r->result;
    if (result->n_pieces < r->pieces_capacity)
        return RL_OK;
    size_t capacity = r->pieces_capacity ? 2 * r->pieces_capacity : 1024;
    struct rl_result_piece *pieces = realloc(result->pieces, capacity * sizeof *pieces);
    if (!pieces)
        return no_memory(err);
    result->pieces = pieces;
    for (size_t i = 0; i < result->n_regions; i++) {
        uint64_t *of = result->regions[i].executions;
        if (!r->sums.region[i])
            continue;
        if (!(of = realloc(of, capacity * sizeof *of)))
            return no_memory(err);
        result->regions[i].executions = of;
    }
    r->pieces_capacity = capacity;
    return RL_OK;
}

/* Corrections of one fragment, ascending by instruction. */
struct corrections {
    const struct rle_result_correction *at;
    size_t n;
};

/* Where control stands in a fragment: what is left of the head count, for each region. */
struct fragment_walk {
    struct rle_result_fragment fragment;
    struct corrections corrections, repeats;
    uint64_t *left; /* [1 + n_regions] executions of the next instruction */
    uint32_t insn;  /* index in the fragment */
    size_t applied; /* corrections before `insn` */
};

static void leave(const struct reader *r, struct fragment_walk *walk, uint32_t index)
{
    if (index == RLE_NONE)
        return;
    for (size_t k = 0; k <= r->sums.n_regions; k++)
        walk->left[k] = subtract_saturating(walk->left[k], counter(&r->sums, k, index));
}

/* The offset by which code is known: in its file, or its address. */
static uint64_t offset_of(const struct rl_result *result, uint32_t module, uint64_t address)
{
    if (module == RL_RESULT_NO_MODULE || result->modules[module].is_generated)
        return address;
    const struct rl_result_module *m = &result->modules[module];
    return address - m->address + m->file_offset;
}

static enum rl_status add_piece(struct reader *r, const struct fragment_walk *walk,
                                struct rl_result_piece piece, struct rl_error *err)
{
    struct rl_result *result = r->result;
    RL_TRY(grow_pieces(r, err));
    piece.executions = walk->left[0];
    piece.offset = offset_of(result, piece.module, piece.address);
    for (size_t k = 0; k < result->n_regions; k++)
        if (result->regions[k].executions)
            result->regions[k].executions[result->n_pieces] = walk->left[k + 1];
    result->pieces[result->n_pieces++] = piece;
    return RL_OK;
}

/* Apply the corrections that stand before instruction walk->insn. */
static bool apply_corrections(const struct reader *r, struct fragment_walk *walk)
{
    bool any = false;
    while (walk->applied < walk->corrections.n &&
           walk->corrections.at[walk->applied].insn <= walk->insn) {
        leave(r, walk, walk->corrections.at[walk->applied++].counter);
        any = true;
    }
    return any;
}

static bool has_correction_inside(const struct fragment_walk *walk, uint32_t n_insns)
{
    return walk->applied < walk->corrections.n &&
           walk->corrections.at[walk->applied].insn < walk->insn + n_insns;
}

/* A block with corrections inside is cut where they apply. */
static enum rl_status add_block(struct reader *r, struct fragment_walk *walk, uint32_t index,
                                const struct rle_result_block *block, struct rl_error *err)
{
    const uint8_t *code = result_view_code(&r->view, block->code, block->code_bytes);
    if (!code || (block->module != RLE_NONE && block->module >= r->result->n_modules)) {
        complain(r->result, "a block refers to code or a module that is not in the file");
        walk->insn += block->n_insns;
        return RL_OK;
    }
    struct rl_result_piece piece = {.module = block->module == RLE_NONE ? RL_RESULT_NO_MODULE
                                                                        : block->module,
                                    .block = index,
                                    .address = block->address,
                                    .code = code,
                                    .size = block->code_bytes};
    apply_corrections(r, walk);
    if (!has_correction_inside(walk, block->n_insns)) {
        walk->insn += block->n_insns;
        return add_piece(r, walk, piece, err);
    }
    uint32_t done = 0, begin = 0;
    for (uint32_t i = 0; i < block->n_insns && done < block->code_bytes; i++, walk->insn++) {
        struct rl_insn insn;
        if (i && walk->applied < walk->corrections.n &&
            walk->corrections.at[walk->applied].insn <= walk->insn) {
            piece.size = done - begin;
            RL_TRY(add_piece(r, walk, piece, err));
            apply_corrections(r, walk);
            piece.address += done - begin;
            piece.code += done - begin;
            piece.first = i;
            begin = done;
        }
        if (!rl_insn_decode(code + done, block->code_bytes - done, &insn))
            break;
        done += insn.length;
    }
    piece.size = block->code_bytes - begin;
    return add_piece(r, walk, piece, err);
}

/* Bytes of a piece before its instruction `n`; its size if it has no such instruction. */
static uint32_t bytes_before(const struct rl_result_piece *piece, uint32_t n)
{
    uint32_t done = 0;
    struct rl_insn insn;
    while (n-- && done < piece->size &&
           rl_insn_decode(piece->code + done, piece->size - done, &insn))
        done += insn.length;
    return done;
}

/** A block and its pieces. */
struct placed_block {
    size_t first_piece;
    uint32_t first, n_insns; /* index in the fragment of its first instruction */
};

/* The piece that holds an instruction of a fragment, and how far in; false if it is not in the
 * block. */
static bool find_piece(const struct rl_result *result, const struct placed_block *block,
                       uint32_t insn, uint32_t *ret_piece, uint32_t *ret_skip)
{
    size_t p = block->first_piece;
    if (insn < block->first || insn - block->first >= block->n_insns || p == result->n_pieces)
        return false;
    insn -= block->first;
    while (p + 1 < result->n_pieces && result->pieces[p + 1].first <= insn)
        p++;
    *ret_piece = (uint32_t)p;
    *ret_skip = bytes_before(&result->pieces[p], insn - result->pieces[p].first);
    return true;
}

static void add_repeats(struct reader *r, const struct fragment_walk *walk,
                        const struct placed_block *block)
{
    struct rl_result *result = r->result;
    for (size_t i = 0; i < walk->repeats.n && result->n_repeats < r->repeats_capacity; i++) {
        const struct rle_result_correction *from = &walk->repeats.at[i];
        struct rl_result_repeat repeat = {.times = counter(&r->sums, 0, from->counter)};
        if (!find_piece(result, block, from->insn, &repeat.piece, &repeat.skip))
            continue;
        result->repeats[result->n_repeats] = repeat;
        for (size_t k = 0; k < result->n_regions; k++)
            if (result->regions[k].times)
                result->regions[k].times[result->n_repeats] =
                    counter(&r->sums, k + 1, from->counter);
        result->n_repeats++;
    }
}

/* Blocks of a fragment follow each other: what is left after the exits went on at the next one. */
static void set_next(struct reader *r, size_t last_piece, const struct rle_result_block *next,
                     uint64_t went_on)
{
    struct rl_result_piece *piece = &r->result->pieces[last_piece];
    if (next->module != RLE_NONE && next->module >= r->result->n_modules)
        return;
    piece->has_next = true;
    piece->next = offset_of(
        r->result, next->module == RLE_NONE ? RL_RESULT_NO_MODULE : next->module, next->address);
    piece->to_next = went_on;
}

static enum rl_status add_fragment(struct reader *r, struct fragment_walk *walk,
                                   struct rl_error *err)
{
    const struct rle_result_fragment *f = &walk->fragment;
    struct rl_result *result = r->result;
    if (f->head_counter == RLE_NONE) {
        result->uncounted_blocks += f->n_blocks;
        return RL_OK;
    }
    for (size_t k = 0; k <= r->sums.n_regions; k++)
        walk->left[k] = counter(&r->sums, k, f->head_counter);
    walk->insn = 0;
    walk->applied = 0;
    for (uint32_t i = 0; i < f->n_blocks; i++) {
        struct rle_result_block block, next;
        size_t before = result->n_pieces;
        if (!result_view_record(&r->view, RLE_SECTION_BLOCKS, f->first_block + (size_t)i, &block,
                                sizeof block)) {
            complain(result, "a fragment refers to blocks that are not in the file");
            break;
        }
        struct placed_block placed = {before, walk->insn, block.n_insns};
        RL_TRY(add_block(r, walk, f->first_block + i, &block, err));
        add_repeats(r, walk, &placed);
        leave(r, walk, block.exit_counter);
        if (i + 1 < f->n_blocks && result->n_pieces > before &&
            result_view_record(&r->view, RLE_SECTION_BLOCKS, f->first_block + (size_t)i + 1, &next,
                               sizeof next))
            set_next(r, result->n_pieces - 1, &next, walk->left[0]);
    }
    return RL_OK;
}

static int compare_corrections(const void *a, const void *b)
{
    const struct rle_result_correction *x = a, *y = b;
    if (x->fragment != y->fragment)
        return x->fragment < y->fragment ? -1 : 1;
    return (x->insn > y->insn) - (x->insn < y->insn);
}

/** Corrections of one kind, ascending, and how far they were handed out. */
struct correction_list {
    struct rle_result_correction *of; /* [n] */
    size_t n, at;
};

static enum rl_status load_corrections(const struct reader *r, enum rle_correction_kind kind,
                                       struct correction_list *ret, struct rl_error *err)
{
    size_t n = result_view_used(&r->view, RLE_SECTION_CORRECTIONS);
    ret->of = calloc(n + 1, sizeof *ret->of);
    if (!ret->of)
        return no_memory(err);
    for (size_t i = 0; i < n; i++)
        if (result_view_record(&r->view, RLE_SECTION_CORRECTIONS, i, &ret->of[ret->n],
                               sizeof *ret->of) &&
            ret->of[ret->n].kind == kind)
            ret->n++;
    if (ret->n)
        qsort(ret->of, ret->n, sizeof *ret->of, compare_corrections);
    return RL_OK;
}

/* Those of fragment `i`; fragments are asked for in order. */
static struct corrections take_corrections(struct correction_list *list, size_t i)
{
    while (list->at < list->n && list->of[list->at].fragment < i)
        list->at++;
    struct corrections taken = {list->of + list->at, 0};
    for (; list->at < list->n && list->of[list->at].fragment == i; list->at++)
        taken.n++;
    return taken;
}

/** All of them, by kind. */
struct correction_lists {
    struct correction_list left, repeats, firsts;
};

static enum rl_status load_all_corrections(struct reader *r, struct correction_lists *ret,
                                           struct rl_error *err)
{
    struct rl_result *result = r->result;
    RL_TRY(load_corrections(r, RLE_CORRECTION_LEFT, &ret->left, err));
    RL_TRY(load_corrections(r, RLE_CORRECTION_REPEATS, &ret->repeats, err));
    RL_TRY(load_corrections(r, RLE_CORRECTION_FIRST_CALL, &ret->firsts, err));
    size_t n = r->repeats_capacity = ret->repeats.n;
    result->repeats = calloc(n + 1, sizeof *result->repeats);
    result->first_calls = calloc(ret->firsts.n + 1, sizeof *result->first_calls);
    if (!result->repeats || !result->first_calls)
        return no_memory(err);
    for (size_t i = 0; i < ret->firsts.n; i++) {
        uint32_t at = ret->firsts.of[i].counter;
        result->first_calls[result->n_first_calls++] = (struct rl_result_first_call){
            counter(&r->sums, 0, at), counter(&r->sums, 0, at < UINT32_MAX ? at + 1 : at)};
    }
    for (size_t k = 0; n && k < result->n_regions; k++)
        if (r->sums.region[k] && !(result->regions[k].times = calloc(n, sizeof(uint64_t))))
            return no_memory(err);
    return RL_OK;
}

static enum rl_status walk_fragments(struct reader *r, struct correction_lists *lists,
                                     struct rl_error *err)
{
    uint64_t blocks_left = result_view_used(&r->view, RLE_SECTION_BLOCKS);
    struct fragment_walk walk = {.left = calloc(r->sums.n_regions + 1, sizeof *walk.left)};
    enum rl_status status = walk.left ? RL_OK : no_memory(err);
    for (size_t i = 0; !status && result_view_record(&r->view, RLE_SECTION_FRAGMENTS, i,
                                                     &walk.fragment, sizeof walk.fragment);
         i++) {
        /* Each block belongs to one fragment; a file that says otherwise would take for ever. */
        if (walk.fragment.n_blocks > blocks_left) {
            complain(r->result, "fragments have more blocks than the file");
            break;
        }
        blocks_left -= walk.fragment.n_blocks;
        walk.corrections = take_corrections(&lists->left, i);
        walk.repeats = take_corrections(&lists->repeats, i);
        status = add_fragment(r, &walk, err);
    }
    free(walk.left);
    return status;
}

static enum rl_status add_fragments(struct reader *r, struct rl_error *err)
{
    struct correction_lists lists = {0};
    enum rl_status status = load_all_corrections(r, &lists, err);
    if (!status)
        status = walk_fragments(r, &lists, err);
    free(lists.left.of);
    free(lists.repeats.of);
    free(lists.firsts.of);
    return status;
}

/* Memory of no file, or of one that exists only for making code in it. */
static bool is_generated(const char *path)
{
    return !path[0] || !strncmp(path, "/memfd:", 7) || !strncmp(path, "/dev/zero", 9) ||
           (path[0] == '[' && strcmp(path, "[vdso]") != 0);
}

static enum rl_status add_modules(struct reader *r, struct rl_error *err)
{
    struct rl_result *result = r->result;
    struct rle_result_module m;
    size_t n = result_view_used(&r->view, RLE_SECTION_MODULES);
    if (!(result->modules = calloc(n + 1, sizeof *result->modules)))
        return no_memory(err);
    const struct rle_result_section *s = &r->view.header.sections[RLE_SECTION_MODULES];
    for (size_t i = 0; result_view_record(&r->view, RLE_SECTION_MODULES, i, &m, sizeof m); i++) {
        const char *path = result_view_string(&r->view, m.path);
        result->modules[result->n_modules++] = (struct rl_result_module){
            .path = path,
            .build_id = r->view.data + s->offset + i * s->stride +
                        offsetof(struct rle_result_module, build_id),
            .build_id_size = m.build_id_bytes <= sizeof m.build_id ? m.build_id_bytes : 0,
            .address = m.address,
            .length = m.length,
            .file_offset = m.file_offset,
            .is_generated = is_generated(path),
        };
    }
    return RL_OK;
}

static enum rl_status add_regions(struct reader *r, struct rl_error *err)
{
    struct rl_result *result = r->result;
    struct rle_result_region region;
    size_t n = result_view_used(&r->view, RLE_SECTION_REGIONS);
    if (!(result->regions = calloc(n + 1, sizeof *result->regions)))
        return no_memory(err);
    for (size_t i = 0; result_view_record(&r->view, RLE_SECTION_REGIONS, i, &region, sizeof region);
         i++) {
        bool sane = region.parent < i; /* a region is made after the one around it */
        if (!sane && region.parent != RLE_NONE)
            complain(result, "a region lies in one that comes after it");
        result->regions[result->n_regions++] =
            (struct rl_result_region){.name = result_view_string(&r->view, region.name),
                                      .parent = sane ? region.parent : UINT32_MAX,
                                      .entries = region.entries};
    }
    return RL_OK;
}

static enum rl_status add_uncounted(struct reader *r, struct rl_error *err)
{
    struct rl_result *result = r->result;
    struct rle_result_uncounted u;
    size_t n = result_view_used(&r->view, RLE_SECTION_UNCOUNTED);
    if (!(result->uncounted = calloc(n + 1, sizeof *result->uncounted)))
        return no_memory(err);
    for (size_t i = 0; result_view_record(&r->view, RLE_SECTION_UNCOUNTED, i, &u, sizeof u); i++) {
        if (!u.events)
            continue;
        result->uncounted[result->n_uncounted++] = (struct rl_result_uncounted){
            .reason = u.reason,
            .detail = u.detail ? result_view_string(&r->view, u.detail) : "",
            .begin_ns = u.begin_ns,
            .end_ns = u.end_ns,
            .events = u.events};
    }
    return RL_OK;
}

static void set_process(struct reader *r)
{
    const struct rle_result_header *h = &r->view.header;
    const struct rle_result_section *strings = &h->sections[RLE_SECTION_STRINGS];
    struct rl_result *result = r->result;
    struct rle_result_thread thread;
    result->pid = h->pid;
    result->parent_pid = h->ppid;
    result->sequence = h->sequence;
    result->state = h->state;
    result->exit_status = h->exit_status;
    result->mode = h->mode;
    result->start_ns = h->start_ns;
    result->translated_insns = h->translated_insns;
    result->end_ns = h->end_ns;
    result->message = (const char *)r->view.data + offsetof(struct rle_result_header, message);
    if (!memchr(result->message, '\0', sizeof h->message))
        result->message = "";
    result->arguments = "";
    if (h->argv_bytes && h->argv_offset <= strings->used &&
        h->argv_bytes <= strings->used - h->argv_offset &&
        !r->view.data[strings->offset + h->argv_offset + h->argv_bytes - 1]) {
        result->arguments = (const char *)r->view.data + strings->offset + h->argv_offset;
        result->arguments_size = h->argv_bytes;
    }
    for (size_t i = 0; result_view_record(&r->view, RLE_SECTION_THREADS, i, &thread, sizeof thread);
         i++)
        result->n_threads = add_saturating(result->n_threads, thread.n_threads);
}

static enum rl_status read_all(struct reader *r, struct rl_error *err)
{
    set_process(r);
    RL_TRY(add_modules(r, err));
    RL_TRY(add_regions(r, err));
    RL_TRY(add_uncounted(r, err));
    RL_TRY(sum_counters(r, err));
    return add_fragments(r, err);
}

/* Takes `data` (mapped, size bytes) into the result on success. */
static enum rl_status interpret(uint8_t *data, size_t size, const char *name,
                                struct rl_result *ret_result, struct rl_error *err)
{
    struct rl_result result = {0};
    struct reader r = {.result = &result};
    RL_TRY(result_view_open(data, size, name, &r.view, err));
    enum rl_status status = read_all(&r, err);
    for (size_t i = 0; r.sums.region && i < r.sums.n_regions; i++)
        free(r.sums.region[i]);
    free(r.sums.region);
    free(r.sums.all);
    if (status) {
        rl_result_release(&result);
        return status;
    }
    result.storage = data;
    result.storage_size = size;
    *ret_result = result;
    return RL_OK;
}

enum rl_status rl_result_read(const char *path, struct rl_result *ret_result, struct rl_error *err)
{
    uint8_t *data;
    size_t size;
    RL_TRY(result_load(path, &data, &size, err));
    enum rl_status status = interpret(data, size, path, ret_result, err);
    if (status)
        munmap(data, size);
    return status;
}

enum rl_status rl_result_parse(const uint8_t *data, size_t size, const char *name,
                               struct rl_result *ret_result, struct rl_error *err)
{
    size_t room = size ? size : 1;
    void *copy = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (copy == MAP_FAILED)
        return no_memory(err);
    if (size)
        memcpy(copy, data, size);
    enum rl_status status = interpret(copy, size, name, ret_result, err);
    if (status)
        munmap(copy, room);
    return status;
}

static void free_region(struct rl_result_region *region)
{
    free(region->executions);
    free(region->times);
}

void rl_result_release(struct rl_result *result)
{
    for (size_t i = 0; i < result->n_regions; i++)
        free_region(&result->regions[i]);
    free(result->repeats);
    free(result->first_calls);
    free(result->modules);
    free(result->pieces);
    free(result->regions);
    free(result->uncounted);
    if (result->storage)
        munmap(result->storage, result->storage_size);
    *result = (struct rl_result){0};
}
