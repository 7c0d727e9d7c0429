/* Loops as nested strongly connected regions.
 *
 * A region's entries are its nodes with a predecessor outside. One entry: a natural loop, whose
 * header it is. Several: irreducible, kept as one loop. Cutting the edges into the entries and
 * looking again inside gives the inner loops. */
#include "base/error.h"
#include "decode/flow_internal.h"

#include <stdlib.h>
#include <string.h>

/* Deeper nests than this are not code that anyone wrote; it bounds the time on hostile input. */
#define DEEPEST_NEST 64

struct loop_finder {
    struct flow_graph *graph;
    uint32_t *loop;    /* [n] innermost loop found so far, or RL_FLOW_NO_LOOP */
    bool *is_entry;    /* [n] node is an entry of loop[node], which is then its final loop */
    uint32_t *members; /* [n] nodes, those of one loop together (a permutation) */
    uint32_t *number;  /* [n] depth-first numbers of the current search, 0: not visited */
    uint32_t *low;     /* [n] */
    bool *on_stack;    /* [n] */
    uint32_t *stack;   /* [n] Tarjan's stack */
    uint32_t *path;    /* [n] nodes being visited … */
    uint32_t *next;    /* [n] … and the edge each goes on with */
    uint32_t *found;   /* [n] members of the regions found by the current search */
    uint32_t counter;
    struct span {
        uint32_t begin, n;
    } * spans; /* [loops_capacity] of `members`, by loop */
    size_t loops_capacity;
};

/* Edges into the entries of the loop that is being split are cut. */
static bool is_cut(const struct loop_finder *f, uint32_t node, uint32_t parent)
{
    return parent != RL_FLOW_NO_LOOP && f->is_entry[node];
}

/* Whether the edge still counts inside loop `parent`. */
static bool is_inside(const struct loop_finder *f, const struct flow_edge *edge, uint32_t parent)
{
    return f->loop[edge->to] == parent && f->loop[edge->from] == parent &&
           !is_cut(f, edge->to, parent);
}

static bool has_self_edge(const struct loop_finder *f, uint32_t node)
{
    const struct flow_graph *g = f->graph;
    for (uint32_t e = g->out_begin[node]; e < g->out_begin[node + 1]; e++)
        if (g->edges[e].to == node)
            return true;
    return false;
}

static enum rl_status new_loop(struct loop_finder *f, uint32_t parent, uint32_t begin, uint32_t n,
                               struct rl_error *err)
{
    struct rl_flow *flow = f->graph->flow;
    if (flow->n_loops == f->loops_capacity) {
        size_t capacity = f->loops_capacity ? 2 * f->loops_capacity : 16;
        struct rl_flow_loop *loops = realloc(flow->loops, capacity * sizeof *loops);
        if (loops)
            flow->loops = loops;
        struct span *spans = loops ? realloc(f->spans, capacity * sizeof *spans) : NULL;
        if (!spans)
            return rl_fail(err, RL_ENOMEM, "no memory for %zu loops", capacity);
        f->spans = spans;
        f->loops_capacity = capacity;
    }
    uint32_t depth = parent == RL_FLOW_NO_LOOP ? 1 : flow->loops[parent].depth + 1;
    f->spans[flow->n_loops] = (struct span){begin, n};
    flow->loops[flow->n_loops++] =
        (struct rl_flow_loop){.parent = parent, .depth = depth, .innermost = true};
    if (parent != RL_FLOW_NO_LOOP)
        flow->loops[parent].innermost = false;
    return RL_OK;
}

/* The region on top of Tarjan's stack, down to `root`, is complete. Members of real loops are
 * collected in `found`; they are given their loop only when the search of the parent is over. */
static uint32_t pop_region(struct loop_finder *f, uint32_t root, uint32_t parent, uint32_t *n_stack,
                           uint32_t *n_found)
{
    uint32_t begin = *n_found, node;
    do {
        node = f->stack[--*n_stack];
        f->on_stack[node] = false;
        f->found[(*n_found)++] = node;
    } while (node != root);
    uint32_t n = *n_found - begin;
    if (n == 1 && (is_cut(f, root, parent) || !has_self_edge(f, root))) {
        *n_found = begin;
        return 0;
    }
    return n;
}

static void visit(struct loop_finder *f, uint32_t node, uint32_t *n_stack)
{
    f->number[node] = f->low[node] = ++f->counter;
    f->stack[(*n_stack)++] = node;
    f->on_stack[node] = true;
    f->next[node] = f->graph->out_begin[node];
}

/* Depth-first search from `root` within `parent`; its new loops go to flow->loops. */
static enum rl_status search(struct loop_finder *f, uint32_t root, uint32_t parent,
                             uint32_t *n_found, struct rl_error *err)
{
    const struct flow_graph *g = f->graph;
    uint32_t n_stack = 0, n_path = 0;
    visit(f, root, &n_stack);
    f->path[n_path++] = root;
    while (n_path) {
        uint32_t node = f->path[n_path - 1];
        if (f->next[node] < g->out_begin[node + 1]) {
            const struct flow_edge *edge = &g->edges[f->next[node]++];
            if (!is_inside(f, edge, parent))
                continue;
            if (!f->number[edge->to]) {
                visit(f, edge->to, &n_stack);
                f->path[n_path++] = edge->to;
            } else if (f->on_stack[edge->to] && f->number[edge->to] < f->low[node]) {
                f->low[node] = f->number[edge->to];
            }
            continue;
        }
        n_path--;
        if (n_path && f->low[node] < f->low[f->path[n_path - 1]])
            f->low[f->path[n_path - 1]] = f->low[node];
        if (f->low[node] == f->number[node]) {
            uint32_t begin = *n_found;
            uint32_t n = pop_region(f, node, parent, &n_stack, n_found);
            if (n)
                RL_TRY(new_loop(f, parent, begin, n, err));
        }
    }
    return RL_OK;
}

static bool enters(const struct loop_finder *f, uint32_t node)
{
    const struct flow_graph *g = f->graph;
    if (g->may_enter[node])
        return true;
    for (uint32_t k = g->in_begin[node]; k < g->in_begin[node + 1]; k++)
        if (f->loop[g->edges[g->in_edges[k]].from] != f->loop[node])
            return true;
    return false;
}

/* Nodes [begin, begin + n) of `members` are loop `parent`, or everything: find the loops in it. */
static enum rl_status split(struct loop_finder *f, uint32_t parent, uint32_t begin, uint32_t n,
                            struct rl_error *err)
{
    struct rl_flow *flow = f->graph->flow;
    uint32_t n_found = 0;
    size_t first = flow->n_loops;
    for (uint32_t i = begin; i < begin + n; i++)
        f->number[f->members[i]] = 0;
    f->counter = 0;
    for (uint32_t i = begin; i < begin + n; i++)
        if (!f->number[f->members[i]])
            RL_TRY(search(f, f->members[i], parent, &n_found, err));
    /* The members of each new loop move to the front of the parent's span. */
    for (size_t l = first; l < flow->n_loops; l++) {
        for (uint32_t i = 0; i < f->spans[l].n; i++)
            f->loop[f->found[f->spans[l].begin + i]] = (uint32_t)l;
        f->spans[l].begin += begin;
    }
    uint32_t front = n_found;
    for (uint32_t i = begin; i < begin + n; i++)
        if (f->loop[f->members[i]] == parent)
            f->found[front++] = f->members[i];
    memcpy(f->members + begin, f->found, n * sizeof *f->members);
    for (uint32_t i = begin; i < begin + n_found; i++)
        f->is_entry[f->members[i]] = enters(f, f->members[i]);
    return RL_OK;
}

static bool contains(const struct rl_flow *flow, uint32_t outer, uint32_t inner)
{
    while (inner != RL_FLOW_NO_LOOP && inner > outer)
        inner = flow->loops[inner].parent;
    return inner == outer;
}

static void add_extent(const struct rl_flow *flow, uint32_t node, struct rl_flow_loop *loop)
{
    const struct rl_flow_node *n = &flow->nodes[node];
    const struct rl_flow_insn *last = &flow->insns[n->first + n->n - 1];
    uint64_t begin = flow->insns[n->first].offset, end = last->offset + last->insn.length;
    loop->n_insn += n->n;
    if (begin < loop->begin)
        loop->begin = begin;
    if (end > loop->end)
        loop->end = end;
}

/* Add what comes in at entry `node` of loop `l` from outside, and the times the body ran from
 * there: each execution of the entry, but for those that only test and leave. */
static void add_entry(const struct loop_finder *f, uint32_t l, uint32_t node,
                      struct rl_flow_loop *loop)
{
    const struct flow_graph *g = f->graph;
    uint64_t from_outside, leaving = 0;
    loop->entries_known &= flow_entered(g, node, &from_outside);
    loop->entries += from_outside;
    for (uint32_t k = g->in_begin[node]; k < g->in_begin[node + 1]; k++) {
        const struct flow_edge *edge = &g->edges[g->in_edges[k]];
        if (contains(g->flow, l, f->loop[edge->from]))
            continue;
        loop->entries_known &= edge->known;
        loop->entries += edge->taken;
    }
    if (!has_self_edge(f, node)) {
        for (uint32_t e = g->out_begin[node]; e < g->out_begin[node + 1]; e++) {
            if (contains(g->flow, l, f->loop[g->edges[e].to]))
                continue;
            loop->iterations_known &= g->edges[e].known;
            leaving += g->edges[e].taken;
        }
    }
    loop->iterations += g->count[node] > leaving ? g->count[node] - leaving : 0;
}

/* Entries, iterations and extent of loop `l`; needs the final `loop` of every node. */
static void describe(const struct loop_finder *f, uint32_t l)
{
    struct rl_flow *flow = f->graph->flow;
    struct rl_flow_loop *loop = &flow->loops[l];
    const struct span *span = &f->spans[l];
    uint32_t n_entries = 0;
    loop->begin = loop->header = UINT64_MAX;
    loop->entries_known = loop->iterations_known = true;
    for (uint32_t i = span->begin; i < span->begin + span->n; i++) {
        uint32_t node = f->members[i];
        if (node < flow->n_nodes)
            add_extent(flow, node, loop);
        if (f->loop[node] != l || !f->is_entry[node])
            continue;
        n_entries++;
        add_entry(f, l, node, loop);
        if (node < flow->n_nodes && flow->insns[flow->nodes[node].first].offset < loop->header)
            loop->header = flow->insns[flow->nodes[node].first].offset;
    }
    loop->irreducible = n_entries > 1;
    if (loop->header == UINT64_MAX) /* entered by inferred jumps only */
        loop->header = loop->begin;
}

static enum rl_status allocate(struct loop_finder *f, struct rl_error *err)
{
    size_t n = f->graph->n;
    uint32_t **arrays[] = {&f->loop,  &f->members, &f->number, &f->low,
                           &f->stack, &f->path,    &f->next,   &f->found};
    bool failed = false;
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
        failed |= !(*arrays[i] = calloc(n, sizeof **arrays[i]));
    f->is_entry = calloc(n, sizeof *f->is_entry);
    f->on_stack = calloc(n, sizeof *f->on_stack);
    if (failed || !f->is_entry || !f->on_stack)
        return rl_fail(err, RL_ENOMEM, "no memory for %zu blocks", n);
    for (uint32_t i = 0; i < n; i++) {
        f->loop[i] = RL_FLOW_NO_LOOP;
        f->members[i] = i;
    }
    return RL_OK;
}

static void release(struct loop_finder *f)
{
    free(f->loop);
    free(f->members);
    free(f->number);
    free(f->low);
    free(f->stack);
    free(f->path);
    free(f->next);
    free(f->found);
    free(f->is_entry);
    free(f->on_stack);
    free(f->spans);
}

enum rl_status flow_find_loops(struct flow_graph *graph, struct rl_error *err)
{
    struct rl_flow *flow = graph->flow;
    struct loop_finder f = {.graph = graph};
    enum rl_status status = allocate(&f, err);
    if (!status)
        status = split(&f, RL_FLOW_NO_LOOP, 0, graph->n, err);
    for (uint32_t l = 0; l < flow->n_loops && !status; l++)
        if (flow->loops[l].depth < DEEPEST_NEST)
            status = split(&f, l, f.spans[l].begin, f.spans[l].n, err);
    for (uint32_t l = 0; l < flow->n_loops && !status; l++)
        describe(&f, l);
    for (uint32_t node = 0; node < flow->n_nodes && !status; node++)
        flow->nodes[node].loop = f.loop[node];
    release(&f);
    return status;
}
