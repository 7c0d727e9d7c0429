/* Which accesses share a record. Accesses of one block through the same unchanged registers, near
 * each other, cost one test and one record; the test goes where flags are dead, if such a place
 * exists before the registers change. */
#include "count/engine/engine.h"
#include "count/engine/trace.h"

enum {
    OP_PUSH_FIRST = 0x50, /* to 57: push r64, 58 to 5F: pop r64 */
    OP_POP_FIRST = 0x58,
    OP_POP_LAST = 0x5F,
    MOVED_TO_ONE_PLACE_MAX = 3, /* each place has few scratch registers */
};
#define NO_MEMBER       UINT16_MAX
#define ALL_DEAD(point) (((point).dead_flags & RLE_ARITH_FLAGS) == RLE_ARITH_FLAGS)

struct member {
    int64_t disp;
    struct rle_trace_site site;
    uint16_t next;
};

/* A cluster while its block is gone through. */
struct open_cluster {
    int64_t high;
    int64_t moved; /* how far its base has moved by known steps since the first access */
    uint16_t first_insn;
    uint16_t head, tail; /* members */
    uint8_t n;
    bool closed;
};

static struct {
    const struct rle_superblock *sb;
    struct rle_trace_plan *plan;
    bool in_order;
    unsigned first; /* clusters of the present block begin here */
    struct open_cluster open[RLE_TRACE_CLUSTERS_MAX];
    struct member member[RLE_TRACE_CLUSTERS_MAX];
    unsigned n_members;
} work;

static uint16_t bit(unsigned reg)
{
    return reg < 16 ? (uint16_t)(1u << reg) : 0;
}

static uint16_t registers_of(const struct rle_trace_cluster *c)
{
    return bit(c->base) | bit(c->index);
}

static uint8_t kind_of(const struct rle_insn *insn, const struct rle_mem *m)
{
    if (!(m->access & RLE_WRITE))
        return RLE_TRACE_LOAD;
    if (insn->attrs & RLE_A_NT)
        return RLE_TRACE_NT_STORE;
    return m->access & RLE_READ ? RLE_TRACE_UPDATE : RLE_TRACE_STORE;
}

/* Handled by a call into the engine instead (trace_emit.c). */
static bool needs_call(const struct rle_insn *insn, const struct rle_mem *m)
{
    return m->form == RLE_MEM_GATHER || (m->form == RLE_MEM_STRING && insn->attrs & RLE_A_REP);
}

static bool is_traceable(const struct rle_insn *insn, const struct rle_mem *m)
{
    bool has_base = m->base != RLE_REG_NONE && m->base != RLE_REG_RIP;
    bool has_index = m->index != RLE_REG_NONE;
    if (m->size == 0 || m->segment == RLE_SEG_GS || m->form == RLE_MEM_XLAT)
        return false;
    if (insn->attrs & RLE_A_ADDR32 && (has_base || has_index))
        return false;
    if (m->segment == RLE_SEG_FS && has_base && has_index)
        return false;
    return !(has_base || has_index || m->segment == RLE_SEG_FS) || m->disp == (int32_t)m->disp;
}

static bool matches(const struct rle_trace_cluster *c, const struct rle_mem *m)
{
    uint8_t base = m->base == RLE_REG_RIP ? RLE_REG_NONE : m->base;
    return c->base == base && c->index == m->index &&
           (c->index == RLE_REG_NONE || c->scale == m->scale) &&
           c->thread_local_segment == (m->segment == RLE_SEG_FS);
}

static bool add_to(unsigned k, int64_t disp, struct rle_trace_site site)
{
    struct rle_trace_cluster *c = &work.plan->cluster[k];
    struct open_cluster *o = &work.open[k];
    int64_t low = disp < c->low ? disp : c->low;
    int64_t high = disp + site.size > o->high ? disp + site.size : o->high;
    int64_t most = work.in_order ? RLE_TRACE_LINE : RLE_TRACE_WIDTH_MAX;
    if (o->n == RLE_TRACE_LINKED_MAX || (o->n > 0 && high - low > most))
        return false;
    struct member *m = &work.member[work.n_members];
    *m = (struct member){disp, site, NO_MEMBER};
    if (o->n == 0)
        o->head = (uint16_t)work.n_members;
    else
        work.member[o->tail].next = (uint16_t)work.n_members;
    o->tail = (uint16_t)work.n_members++;
    o->n++;
    c->low = low;
    o->high = high;
    return true;
}

static void note_kind(unsigned k, const struct rle_insn *insn, uint8_t kind)
{
    struct rle_trace_cluster *c = &work.plan->cluster[k];
    c->writes |= kind != RLE_TRACE_LOAD;
    c->always |= kind == RLE_TRACE_NT_STORE || insn->attrs & RLE_A_LOCK;
}

static void add_access(unsigned i, const struct rle_superblock_block *block,
                       const struct rle_insn *insn, const struct rle_mem *m)
{
    struct rle_trace_plan *plan = work.plan;
    struct rle_trace_site site = {.block = block->record,
                                  .size = m->size,
                                  .insn = (uint16_t)(i - block->first),
                                  .kind = kind_of(insn, m)};
    unsigned from = work.in_order && plan->n > work.first ? plan->n - 1 : work.first;
    for (unsigned k = from; k < plan->n; k++)
        if (!work.open[k].closed && matches(&plan->cluster[k], m) &&
            add_to(k, m->disp + work.open[k].moved, site)) {
            note_kind(k, insn, site.kind);
            return;
        }
    unsigned k = plan->n++;
    plan->cluster[k] = (struct rle_trace_cluster){
        .low = m->disp,
        .base = m->base == RLE_REG_RIP ? RLE_REG_NONE : m->base,
        .index = m->index,
        .scale = m->scale,
        .thread_local_segment = m->segment == RLE_SEG_FS,
    };
    work.open[k] = (struct open_cluster){.first_insn = (uint16_t)i, .high = m->disp};
    add_to(k, m->disp, site);
    note_kind(k, insn, site.kind);
}

/* The known step by which a plain push or pop moves rsp; 0 for all else. */
static int64_t stack_step(const struct rle_insn *insn)
{
    if (insn->length != insn->opcode_at + 1 || insn->opcode_at > 1 || insn->modrm_at ||
        insn->n_mem != 1 || insn->mem[0].base != RLE_RSP || insn->mem[0].size != sizeof(uint64_t))
        return 0;
    if (insn->opcode >= OP_PUSH_FIRST && insn->opcode < OP_POP_FIRST)
        return -(int64_t)sizeof(uint64_t);
    bool pops_itself =
        insn->reg_kill & bit(RLE_RSP) && insn->opcode == OP_POP_FIRST + RLE_RSP && !(insn->rex & 1);
    if (insn->opcode >= OP_POP_FIRST && insn->opcode <= OP_POP_LAST && !pops_itself)
        return sizeof(uint64_t);
    return 0;
}

/* What an instruction does to the registers of clusters that are still open. */
static void pass(const struct rle_insn *insn)
{
    int64_t step = stack_step(insn);
    for (unsigned k = work.first; k < work.plan->n; k++) {
        uint16_t changed = insn->reg_write & registers_of(&work.plan->cluster[k]);
        if (step != 0 && changed == bit(RLE_RSP))
            work.open[k].moved += step;
        else if (changed)
            work.open[k].closed = true;
    }
}

static unsigned moved_to(unsigned at)
{
    unsigned n = 0;
    for (unsigned k = work.first; k < work.plan->n; k++)
        n += work.plan->cluster[k].at == at;
    return n;
}

static bool is_good_place(unsigned at)
{
    return ALL_DEAD(work.sb->points[at]) && moved_to(at) < MOVED_TO_ONE_PLACE_MAX;
}

/* May a record be written on the other side of this instruction? */
static bool can_pass(const struct rle_insn *insn, uint16_t regs)
{
    return !(insn->reg_write & regs) && !(work.in_order && insn->n_mem > 0);
}

/* The nearest place with dead flags that sees the registers as the first access does; in order, not
 * before that of the cluster before. */
static unsigned place_for(unsigned k, const struct rle_superblock_block *block)
{
    const struct rle_superblock *sb = work.sb;
    unsigned here = work.open[k].first_insn;
    uint16_t regs = registers_of(&work.plan->cluster[k]);
    if (is_good_place(here))
        return here;
    bool is_next = work.in_order && k > work.first;
    unsigned least = is_next ? work.plan->cluster[k - 1].at : block->first;
    for (unsigned at = here; at > least && can_pass(&sb->insns[at - 1], regs);)
        if (is_good_place(--at))
            return at;
    unsigned end = block->first + block->count;
    for (unsigned at = here; at + 1 < end && can_pass(&sb->insns[at], regs);)
        if (is_good_place(++at))
            return at;
    return here;
}

/* Where within a cluster its stores lie. */
static void find_stores(struct rle_trace_cluster *c, const struct rle_trace_site sites[],
                        unsigned n)
{
    c->stores_begin = UINT16_MAX;
    c->stores_end = 0;
    for (unsigned i = 0; i < n; i++) {
        uint32_t begin = (uint32_t)sites[i].offset;
        uint32_t end = begin + sites[i].size;
        if (sites[i].kind == RLE_TRACE_LOAD)
            continue;
        if (begin < c->stores_begin)
            c->stores_begin = (uint16_t)begin;
        if (end > c->stores_end)
            c->stores_end = (uint16_t)end;
    }
}

static void close_block(const struct rle_superblock_block *block)
{
    struct rle_trace_site sites[RLE_TRACE_LINKED_MAX];
    for (unsigned k = work.first; k < work.plan->n; k++) {
        struct rle_trace_cluster *c = &work.plan->cluster[k];
        unsigned n = 0;
        for (uint16_t m = work.open[k].head; m != NO_MEMBER; m = work.member[m].next) {
            sites[n] = work.member[m].site;
            sites[n++].offset = (int32_t)(work.member[m].disp - c->low);
        }
        find_stores(c, sites, n);
        c->site = rle_trace_add_sites(sites, n);
        c->joined = n > 1;
        c->width = (uint16_t)(work.open[k].high - c->low);
        c->at = UINT16_MAX; /* not yet placed: does not count in moved_to */
    }
    for (unsigned k = work.first; k < work.plan->n; k++)
        work.plan->cluster[k].at = (uint16_t)place_for(k, block);
    work.first = work.plan->n;
}

static void sort_by_place(struct rle_trace_plan *plan)
{
    for (unsigned k = 1; k < plan->n; k++) {
        struct rle_trace_cluster c = plan->cluster[k];
        unsigned j = k;
        for (; j > 0 && plan->cluster[j - 1].at > c.at; j--)
            plan->cluster[j] = plan->cluster[j - 1];
        plan->cluster[j] = c;
    }
}

void rle_trace_plan_clusters(const struct rle_superblock *sb, bool in_order,
                             struct rle_trace_plan *plan)
{
    plan->n = 0;
    work.sb = sb;
    work.plan = plan;
    work.in_order = in_order;
    work.first = 0;
    work.n_members = 0;
    for (unsigned b = 0; b < sb->n_blocks; b++) {
        const struct rle_superblock_block *block = &sb->blocks[b];
        for (unsigned i = block->first; i < (unsigned)block->first + block->count; i++) {
            const struct rle_insn *insn = &sb->insns[i];
            for (unsigned m = 0; m < insn->n_mem && m < RLE_MEM_MAX; m++) {
                if (needs_call(insn, &insn->mem[m]))
                    continue;
                if (is_traceable(insn, &insn->mem[m]))
                    add_access(i, block, insn, &insn->mem[m]);
                else
                    rle_trace_skip();
            }
            pass(insn);
        }
        close_block(block);
    }
    sort_by_place(plan);
}
