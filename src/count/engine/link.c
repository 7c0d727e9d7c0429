#include "count/engine/link.h"

#include "count/engine/branch.h"
#include "count/engine/engine.h"
#include "count/engine/sys.h"

enum {
    FRAGMENTS_MAX = 4 << 20,
    INSNS_MAX = 64 << 20,
    STUBS_MAX = 16 << 20,
    COVERS_MAX = 16 << 20,
    HASH_BITS = 23, /* twice the fragments */
    PAGE_HASH_BITS = 18,
    PAGE_BITS = 12,
    OP_JMP = 0xE9,
    EXIT_BYTES = 24, /* at most, of an exit through a stub */
    STUB_ROOM = 64,
};

#define PAGE_HASH_MASK ((1u << PAGE_HASH_BITS) - 1)

/* A fragment has code on a page. */
struct cover {
    uint64_t page;
    uint32_t fragment;
    uint32_t next; /* with the same hash; 0: none */
};

static struct {
    struct rle_fragment *fragments; /* from 1 */
    struct rle_placed_insn *insns;
    struct rle_stub *stubs;
    struct cover *covers; /* from 1 */
    uint32_t *by_pc;      /* open addressing; 0: empty */
    uint32_t *by_page;    /* heads of cover chains */
    uint32_t hash_mask;
    uint32_t n_fragments, n_insns, n_stubs, n_covers;
} table;

static uint32_t capacity(uint32_t most)
{
    return most >> rle_engine.shrink;
}

bool rle_links_init(void)
{
    table.fragments = rle_map(sizeof(*table.fragments) * capacity(FRAGMENTS_MAX));
    table.insns = rle_map(sizeof(*table.insns) * capacity(INSNS_MAX));
    table.stubs = rle_map(sizeof(*table.stubs) * capacity(STUBS_MAX));
    table.covers = rle_map(sizeof(*table.covers) * capacity(COVERS_MAX));
    table.by_pc = rle_map(sizeof(*table.by_pc) * capacity(1u << HASH_BITS));
    table.hash_mask = capacity(1u << HASH_BITS) - 1;
    table.by_page = rle_map(sizeof(*table.by_page) << PAGE_HASH_BITS);
    table.n_fragments = table.n_covers = 1;
    return table.fragments && table.insns && table.stubs && table.covers && table.by_pc &&
           table.by_page;
}

bool rle_links_have_room(void)
{
    enum { MORE_THAN_ONE_NEEDS = 4096 };
    return capacity(FRAGMENTS_MAX) - table.n_fragments > MORE_THAN_ONE_NEEDS &&
           capacity(INSNS_MAX) - table.n_insns > MORE_THAN_ONE_NEEDS &&
           capacity(STUBS_MAX) - table.n_stubs > MORE_THAN_ONE_NEEDS &&
           capacity(COVERS_MAX) - table.n_covers > MORE_THAN_ONE_NEEDS;
}

struct rle_fragment *rle_fragment(uint32_t index)
{
    return &table.fragments[index];
}

uint32_t rle_fragments_used(void)
{
    return table.n_fragments;
}

uint32_t rle_fragment_index(const struct rle_fragment *fragment)
{
    return (uint32_t)(fragment - table.fragments);
}

struct rle_placed_insn *rle_placed(uint32_t index)
{
    return &table.insns[index];
}

uint64_t rle_placed_pc(const struct rle_fragment *fragment, unsigned insn)
{
    return fragment->pc + (uint64_t)(int64_t)table.insns[fragment->first_insn + insn].from_pc;
}

const struct rle_stub *rle_stub(uint32_t index)
{
    return &table.stubs[index];
}

/* Neighbouring code has neighbouring slots, so that few pages of the table are touched. */
static uint32_t hash_of(uint64_t pc)
{
    return (uint32_t)(pc >> 3 ^ pc >> (HASH_BITS + 3)) & table.hash_mask;
}

struct rle_fragment *rle_fragment_find(uint64_t pc)
{
    for (uint32_t h = hash_of(pc); table.by_pc[h]; h = (h + 1) & table.hash_mask) {
        struct rle_fragment *f = &table.fragments[table.by_pc[h]];
        if (f->pc == pc && f->negated_pc)
            return f;
    }
    return NULL;
}

struct rle_fragment *rle_fragment_new(uint64_t pc, unsigned n_insns)
{
    if (table.n_fragments == capacity(FRAGMENTS_MAX) ||
        capacity(INSNS_MAX) - table.n_insns < n_insns)
        return NULL;
    struct rle_fragment *f = &table.fragments[table.n_fragments++];
    f->pc = pc;
    f->first_insn = table.n_insns;
    f->n_insns = (uint16_t)n_insns;
    f->loop_reg = RLE_NO_REG;
    f->record = RLE_NONE;
    table.n_insns += n_insns;
    return f;
}

void rle_fragment_publish(struct rle_fragment *fragment)
{
    uint32_t h = hash_of(fragment->pc);
    while (table.by_pc[h] && table.fragments[table.by_pc[h]].pc != fragment->pc)
        h = (h + 1) & table.hash_mask;
    table.by_pc[h] = rle_fragment_index(fragment); /* a dead predecessor gives way */
    fragment->negated_pc = -fragment->pc;
}

static uint32_t page_hash(uint64_t page)
{
    return (uint32_t)(page ^ page >> PAGE_HASH_BITS) & PAGE_HASH_MASK;
}

void rle_fragment_covers(const struct rle_fragment *fragment, uint64_t low, uint64_t high)
{
    uint32_t index = rle_fragment_index(fragment);
    for (uint64_t page = low >> PAGE_BITS; page <= (high - 1) >> PAGE_BITS; page++) {
        uint32_t *head = &table.by_page[page_hash(page)];
        if (*head && table.covers[*head].page == page && table.covers[*head].fragment == index)
            continue;
        if (table.n_covers == capacity(COVERS_MAX))
            rle_die("too much code", table.n_covers);
        table.covers[table.n_covers] = (struct cover){page, index, *head};
        *head = table.n_covers++;
    }
}

static uint32_t new_stub(enum rle_stub_kind kind, uint64_t pc, uint64_t site, uint32_t fragment,
                         unsigned insn)
{
    if (table.n_stubs == capacity(STUBS_MAX))
        rle_die("too many exits", table.n_stubs);
    table.stubs[table.n_stubs] =
        (struct rle_stub){pc, site, fragment, (uint16_t)insn, (uint8_t)kind};
    return table.n_stubs++;
}

static void emit_exit(struct rle_emit *e, uint32_t stub)
{
    rle_emit_store_tb_imm32(e, RLE_TB_STUB, stub);
    rle_emit_jmp_tb(e, RLE_TB_EXIT);
}

void rle_emit_stub(struct rle_emit *e, enum rle_stub_kind kind, uint64_t pc, uint32_t fragment,
                   unsigned insn)
{
    emit_exit(e, new_stub(kind, pc, 0, fragment, insn));
}

void rle_emit_mark_stub(struct rle_emit *e, uint32_t mark, uint64_t pc)
{
    emit_exit(e, new_stub(RLE_STUB_MARK, pc, mark, 0, 0));
}

bool rle_reaches(uint64_t site, uint64_t address)
{
    enum { ROUGHLY = 256 };
    int64_t low = (int64_t)(address - site - ROUGHLY), high = (int64_t)(address - site + ROUGHLY);
    return low == (int32_t)low && high == (int32_t)high;
}

void rle_link(struct rle_emit *e, rle_fixup site, uint64_t pc)
{
    uint64_t at = (uint64_t)site + (uint64_t)e->to_exec;
    const struct rle_fragment *f = rle_fragment_find(pc);
    if (f && rle_reaches(at, f->entry)) {
        rle_emit_patch(e, site, f->entry);
        return;
    }
    bool cold = e->cold;
    rle_emit_cold(e, true);
    rle_emit_here(e, site);
    emit_exit(e, new_stub(RLE_STUB_LINK, pc, at, 0, 0));
    rle_emit_cold(e, cold);
}

void rle_relink(const struct rle_stub *stub, const struct rle_fragment *fragment)
{
    if (stub->kind != RLE_STUB_LINK || !rle_reaches(stub->site, fragment->entry))
        return;
    uint32_t *at = (uint32_t *)(void *)rle_arena_writable(stub->site);
    __atomic_store_n(at, (uint32_t)(fragment->entry - stub->site - sizeof(uint32_t)),
                     __ATOMIC_RELAXED);
}

/* Replace the code at 8-byte aligned cache address `at`, whose first instruction is at least five
 * bytes long, by a jump, in one store. */
static void redirect(uint64_t at, uint64_t to)
{
    enum { JUMP_BYTES = 5, BYTE_BITS = 8 };
    uint64_t *word = (uint64_t *)(void *)rle_arena_writable(at);
    uint64_t keep = *word & ~0ul << JUMP_BYTES * BYTE_BITS;
    uint64_t d = (uint32_t)(to - at - JUMP_BYTES);
    __atomic_store_n(word, keep | d << BYTE_BITS | OP_JMP, __ATOMIC_RELEASE);
}

static bool has_room_for_stub(const struct rle_arena *arena)
{
    return arena->emit.constant - arena->emit.other >= STUB_ROOM;
}

static void forget(struct rle_fragment *fragment)
{
    rle_branch_table_clear(fragment->pc, RLE_VIA_RETURN, fragment->via_return);
    rle_branch_table_clear(fragment->pc, RLE_VIA_JUMP, fragment->via_jump);
    if (fragment->landing)
        rle_branch_table_clear(fragment->behind, RLE_VIA_RETURN, fragment->landing);
}

bool rle_fragment_bury(struct rle_fragment *fragment)
{
    struct rle_arena *arena = rle_arena_of(fragment->entry);
    if (!rle_links_have_room())
        return false;
    if (fragment->end - fragment->entry < EXIT_BYTES) {
        if (has_room_for_stub(arena))
            rle_fragment_kill(fragment);
        return !fragment->negated_pc;
    }
    struct rle_emit e = arena->emit;
    e.at = rle_arena_writable(fragment->entry);
    rle_emit_stub(&e, RLE_STUB_DEAD, fragment->pc, rle_fragment_index(fragment), 0);
    fragment->negated_pc = 0;
    forget(fragment);
    return true;
}

void rle_fragment_kill(struct rle_fragment *fragment)
{
    if (!fragment->negated_pc)
        return;
    fragment->negated_pc = 0;
    struct rle_arena *arena = rle_arena_of(fragment->entry);
    if (!has_room_for_stub(arena))
        rle_die("no room to give up a fragment", fragment->pc);
    struct rle_emit *e = &arena->emit;
    rle_emit_cold(e, true);
    uint64_t stub = rle_emit_address(e);
    rle_emit_stub(e, RLE_STUB_DEAD, fragment->pc, rle_fragment_index(fragment), 0);
    rle_emit_cold(e, false);
    redirect(fragment->entry, stub);
    forget(fragment);
}

void rle_fragments_kill_all(void)
{
    for (uint32_t i = 1; i < table.n_fragments && rle_links_have_room(); i++)
        if (table.fragments[i].negated_pc &&
            has_room_for_stub(rle_arena_of(table.fragments[i].entry)))
            rle_fragment_kill(&table.fragments[i]);
}

static void invalidate_page(uint64_t page)
{
    uint32_t *link = &table.by_page[page_hash(page)];
    while (*link) {
        struct cover *cover = &table.covers[*link];
        if (cover->page != page) {
            link = &cover->next;
            continue;
        }
        rle_fragment_kill(&table.fragments[cover->fragment]);
        *link = cover->next;
    }
}

void rle_invalidate(uint64_t low, uint64_t high)
{
    rle_lock(&rle_engine.lock);
    if (high > low && (high - low) >> PAGE_BITS > table.n_covers) {
        for (uint32_t i = 1; i < table.n_covers; i++)
            if (table.covers[i].page >= low >> PAGE_BITS &&
                table.covers[i].page <= (high - 1) >> PAGE_BITS)
                rle_fragment_kill(&table.fragments[table.covers[i].fragment]);
    } else if (high > low) {
        for (uint64_t page = low >> PAGE_BITS; page <= (high - 1) >> PAGE_BITS; page++)
            invalidate_page(page);
    }
    rle_unlock(&rle_engine.lock);
}
