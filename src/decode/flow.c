#include "decode/flow.h"

#include "base/error.h"
#include "decode/flow_internal.h"

#include <stdlib.h>
#include <string.h>

/* An instruction longer than 15 bytes does not exist; blocks are never empty of meaning. */
#define MOST_INSNS ((size_t)1 << 31)

struct insn_list {
    struct rl_flow_insn *at;
    size_t n, capacity;
};

static enum rl_status list_reserve(struct insn_list *list, struct rl_error *err)
{
    if (list->n < list->capacity)
        return RL_OK;
    if (list->n >= MOST_INSNS)
        return rl_fail(err, RL_EDATA, "a function of more than 2^31 instructions");
    size_t capacity = list->capacity ? 2 * list->capacity : 64;
    struct rl_flow_insn *at = realloc(list->at, capacity * sizeof *at);
    if (!at)
        return rl_fail(err, RL_ENOMEM, "no memory for %zu instructions", capacity);
    list->at = at;
    list->capacity = capacity;
    return RL_OK;
}

static enum rl_status decode_block(const struct rl_flow_block *block, struct insn_list *list,
                                   struct rl_error *err)
{
    size_t done = 0;
    while (done < block->size) {
        RL_TRY(list_reserve(list, err));
        struct rl_flow_insn *insn = &list->at[list->n++];
        *insn = (struct rl_flow_insn){.offset = block->offset + done,
                                      .executions = block->executions,
                                      .code = block->code + done,
                                      .loop = RL_FLOW_NO_LOOP};
        if (!rl_insn_decode(block->code + done, block->size - done, &insn->insn))
            break;
        done += insn->insn.length;
    }
    return RL_OK;
}

static int compare_insns(const void *a, const void *b)
{
    const struct rl_flow_insn *x = a, *y = b;
    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    /* The longest reading first, so that a block cut short does not hide what is known. */
    return (x->insn.length < y->insn.length) - (x->insn.length > y->insn.length);
}

static uint64_t add_saturating(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static void merge_equal_offsets(struct insn_list *list)
{
    size_t n = 0;
    for (size_t i = 0; i < list->n; i++) {
        if (n && list->at[n - 1].offset == list->at[i].offset)
            list->at[n - 1].executions =
                add_saturating(list->at[n - 1].executions, list->at[i].executions);
        else
            list->at[n++] = list->at[i];
    }
    list->n = n;
}

size_t rl_flow_find(const struct rl_flow *flow, uint64_t offset)
{
    size_t low = 0, high = flow->n_insns;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (flow->insns[middle].offset < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low < flow->n_insns && flow->insns[low].offset == offset ? low : flow->n_insns;
}

static uint64_t insn_end(const struct rl_flow_insn *insn)
{
    return insn->offset + insn->insn.length;
}

static bool ends_block(const struct rl_insn *insn)
{
    return insn->class == RL_INSN_BRANCH || insn->length == 0 ||
           (insn->flags & (RL_INSN_ENDS_FLOW | RL_INSN_CONDITIONAL)) != 0;
}

static bool is_local_branch(const struct rl_insn *insn)
{
    return (insn->flags & RL_INSN_HAS_TARGET) && insn->class == RL_INSN_BRANCH;
}

static bool mark_leaders(const struct rl_flow *flow, const struct rl_flow_block *blocks,
                         size_t n_blocks, bool **ret_leaders)
{
    bool *leaders = calloc(flow->n_insns + 1, sizeof *leaders);
    if (!leaders)
        return false;
    for (size_t i = 0; i < n_blocks; i++)
        leaders[rl_flow_find(flow, blocks[i].offset)] = true;
    for (size_t i = 0; i < flow->n_insns; i++) {
        const struct rl_flow_insn *insn = &flow->insns[i];
        if (is_local_branch(&insn->insn))
            leaders[rl_flow_find(flow, insn->offset + (uint64_t)insn->insn.target)] = true;
        if (ends_block(&insn->insn) || i + 1 == flow->n_insns ||
            flow->insns[i + 1].offset != insn_end(insn) ||
            flow->insns[i + 1].executions != insn->executions)
            leaders[i + 1] = true;
    }
    leaders[0] = true;
    *ret_leaders = leaders;
    return true;
}

static enum rl_status make_nodes(struct rl_flow *flow, const struct rl_flow_block *blocks,
                                 size_t n_blocks, struct rl_error *err)
{
    bool *leaders;
    if (!mark_leaders(flow, blocks, n_blocks, &leaders))
        return rl_fail(err, RL_ENOMEM, "no memory for %zu instructions", flow->n_insns);
    for (size_t i = 0; i < flow->n_insns; i++)
        flow->n_nodes += leaders[i];
    flow->nodes = calloc(flow->n_nodes + 1, sizeof *flow->nodes);
    if (flow->nodes) {
        uint32_t node = 0;
        for (size_t i = 0; i < flow->n_insns; i++) {
            if (leaders[i])
                flow->nodes[node++] =
                    (struct rl_flow_node){.first = (uint32_t)i, .loop = RL_FLOW_NO_LOOP};
            flow->nodes[node - 1].n++;
            flow->insns[i].node = node - 1;
        }
    }
    free(leaders);
    return flow->nodes ? RL_OK : rl_fail(err, RL_ENOMEM, "no memory for %zu blocks", flow->n_nodes);
}

static enum rl_status add_edge(struct flow_graph *graph, uint32_t from, uint32_t to,
                               struct rl_error *err)
{
    if (graph->n_edges == graph->edges_capacity) {
        size_t capacity = graph->edges_capacity ? 2 * graph->edges_capacity : 64;
        struct flow_edge *edges = realloc(graph->edges, capacity * sizeof *edges);
        if (!edges)
            return rl_fail(err, RL_ENOMEM, "no memory for %zu edges", capacity);
        graph->edges = edges;
        graph->edges_capacity = capacity;
    }
    graph->edges[graph->n_edges++] = (struct flow_edge){.from = from, .to = to};
    return RL_OK;
}

static const struct rl_flow_insn *last_insn(const struct rl_flow *flow, uint32_t node)
{
    return &flow->insns[flow->nodes[node].first + flow->nodes[node].n - 1];
}

static bool is_indirect_jump(const struct rl_insn *insn)
{
    return insn->class == RL_INSN_BRANCH && (insn->flags & RL_INSN_INDIRECT);
}

/* Edges that the code itself states: falling through and direct branches. A branch to code within
 * the function's bounds that was never seen was never taken. */
static enum rl_status add_stated_edges(struct flow_graph *graph, struct rl_error *err)
{
    const struct rl_flow *flow = graph->flow;
    uint64_t begin = flow->insns[0].offset, end = flow->insns[flow->n_insns - 1].offset;
    for (uint32_t node = 0; node < flow->n_nodes; node++) {
        const struct rl_flow_insn *last = last_insn(flow, node);
        const struct rl_insn *insn = &last->insn;
        bool returns = (insn->flags & RL_INSN_ENDS_FLOW) && insn->class != RL_INSN_BRANCH;
        graph->may_leave[node] = returns || is_indirect_jump(insn) || !insn->length;
        if (!(insn->flags & RL_INSN_ENDS_FLOW) && insn->length) {
            size_t next = rl_flow_find(flow, insn_end(last));
            if (next < flow->n_insns)
                RL_TRY(add_edge(graph, node, flow->insns[next].node, err));
            else if (insn->class != RL_INSN_BRANCH)
                graph->may_leave[node] = true; /* a call that does not return, a system call */
        }
        if (is_local_branch(insn)) {
            uint64_t target = last->offset + (uint64_t)insn->target;
            size_t to = rl_flow_find(flow, target);
            if (to < flow->n_insns)
                RL_TRY(add_edge(graph, node, flow->insns[to].node, err));
            else if (target < begin || target > end)
                graph->may_leave[node] = true;
        }
    }
    return RL_OK;
}

/* Most times a node can have been reached along the edges that the code states. */
static enum rl_status stated_inflow(const struct flow_graph *graph, uint64_t **ret_inflow,
                                    struct rl_error *err)
{
    uint64_t *inflow = calloc(graph->n + 1, sizeof *inflow);
    if (!inflow)
        return rl_fail(err, RL_ENOMEM, "no memory for %u blocks", graph->n);
    for (size_t i = 0; i < graph->n_edges; i++) {
        const struct flow_edge *edge = &graph->edges[i];
        inflow[edge->to] = add_saturating(inflow[edge->to], graph->count[edge->from]);
    }
    *ret_inflow = inflow;
    return RL_OK;
}

/* Whether node must have been reached by a jump that states no target. */
static bool needs_more_inflow(const struct flow_graph *graph, const uint64_t *inflow, uint32_t node)
{
    return node != graph->entry && graph->count[node] > inflow[node];
}

/* Do the blocks that follow each indirect jump, up to the next one, account for it? True for switch
 * tables, false for threaded interpreters, where every handler jumps to any other. */
static bool targets_follow_their_jump(const struct flow_graph *graph, const uint64_t *inflow)
{
    const struct rl_flow *flow = graph->flow;
    uint64_t left = 0;
    for (uint32_t node = 0; node < flow->n_nodes; node++) {
        if (needs_more_inflow(graph, inflow, node)) {
            uint64_t need = graph->count[node] - inflow[node];
            if (need > left)
                return false;
            left -= need;
        }
        if (is_indirect_jump(&last_insn(flow, node)->insn))
            left = graph->count[node];
    }
    return true;
}

static enum rl_status add_inferred_edges(struct flow_graph *graph, struct rl_error *err)
{
    const struct rl_flow *flow = graph->flow;
    uint64_t *inflow = NULL;
    RL_TRY(stated_inflow(graph, &inflow, err));
    bool local = targets_follow_their_jump(graph, inflow);
    uint32_t jump = (uint32_t)flow->n_nodes; /* the hub's number */
    enum rl_status status = RL_OK;
    if (!local) {
        graph->has_hub = true;
        graph->n++;
    }
    for (uint32_t node = 0; node < flow->n_nodes && !status; node++) {
        if (needs_more_inflow(graph, inflow, node)) {
            status = add_edge(graph, jump, node, err);
        }
        if (!status && is_indirect_jump(&last_insn(flow, node)->insn)) {
            if (local)
                jump = node;
            else
                status = add_edge(graph, node, jump, err);
            if (!local)
                graph->count[jump] = add_saturating(graph->count[jump], graph->count[node]);
        }
    }
    if (graph->has_hub)
        graph->may_leave[jump] = true;
    free(inflow);
    return status;
}

static int compare_edges(const void *a, const void *b)
{
    const struct flow_edge *x = a, *y = b;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    return (x->to > y->to) - (x->to < y->to);
}

/* Sort, drop duplicates, and index the edges by source and by target. */
static enum rl_status index_edges(struct flow_graph *graph, struct rl_error *err)
{
    size_t n = 0;
    if (graph->n_edges)
        qsort(graph->edges, graph->n_edges, sizeof *graph->edges, compare_edges);
    for (size_t i = 0; i < graph->n_edges; i++)
        if (!n || compare_edges(&graph->edges[n - 1], &graph->edges[i]))
            graph->edges[n++] = graph->edges[i];
    graph->n_edges = n;
    graph->out_begin = calloc(graph->n + 2, sizeof *graph->out_begin);
    graph->in_begin = calloc(graph->n + 2, sizeof *graph->in_begin);
    graph->in_edges = calloc(n + 1, sizeof *graph->in_edges);
    if (!graph->out_begin || !graph->in_begin || !graph->in_edges)
        return rl_fail(err, RL_ENOMEM, "no memory for %zu edges", n);
    for (size_t i = 0; i < n; i++) {
        graph->out_begin[graph->edges[i].from + 1]++;
        graph->in_begin[graph->edges[i].to + 2]++;
    }
    for (uint32_t i = 0; i < graph->n; i++) {
        graph->out_begin[i + 1] += graph->out_begin[i];
        graph->in_begin[i + 2] += graph->in_begin[i + 1];
    }
    for (size_t i = 0; i < n; i++)
        graph->in_edges[graph->in_begin[graph->edges[i].to + 1]++] = (uint32_t)i;
    return RL_OK;
}

/* Index of the node that ends where the block does, or n_nodes. */
static uint32_t node_at_end(const struct rl_flow *flow, const struct rl_flow_block *block)
{
    uint64_t end = block->offset + block->size;
    size_t low = 0, high = flow->n_insns; /* the first instruction at or after `end` */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (flow->insns[middle].offset < end)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low || insn_end(&flow->insns[low - 1]) != end)
        return (uint32_t)flow->n_nodes;
    uint32_t node = flow->insns[low - 1].node;
    return last_insn(flow, node) == &flow->insns[low - 1] ? node : (uint32_t)flow->n_nodes;
}

/* Where the blocks say how all executions of a node were left, its edge is known beforehand. */
static enum rl_status apply_next(struct flow_graph *graph, const struct rl_flow_block *blocks,
                                 size_t n_blocks, struct rl_error *err)
{
    struct {
        uint64_t executions, taken, next;
        bool mixed;
    } *said = calloc(graph->n, sizeof *said);
    if (!said)
        return rl_fail(err, RL_ENOMEM, "no memory for %u blocks", graph->n);
    for (size_t i = 0; i < n_blocks; i++) {
        uint32_t node = node_at_end(graph->flow, &blocks[i]);
        if (!blocks[i].has_next || !blocks[i].executions || node == graph->flow->n_nodes)
            continue;
        said[node].mixed |= said[node].executions && said[node].next != blocks[i].next;
        said[node].next = blocks[i].next;
        said[node].executions = add_saturating(said[node].executions, blocks[i].executions);
        said[node].taken = add_saturating(said[node].taken, blocks[i].to_next);
    }
    for (size_t i = 0; i < graph->n_edges; i++) {
        struct flow_edge *edge = &graph->edges[i];
        if (edge->to >= graph->flow->n_nodes || said[edge->from].mixed ||
            !said[edge->from].executions ||
            said[edge->from].executions != graph->count[edge->from] ||
            graph->flow->insns[graph->flow->nodes[edge->to].first].offset != said[edge->from].next)
            continue;
        edge->known = true;
        edge->taken = said[edge->from].taken;
    }
    free(said);
    return RL_OK;
}

static void reach(const struct flow_graph *graph, uint32_t from, bool *reached, uint32_t *stack)
{
    uint32_t n_stack = 0;
    reached[from] = true;
    stack[n_stack++] = from;
    while (n_stack) {
        uint32_t node = stack[--n_stack];
        for (uint32_t e = graph->out_begin[node]; e < graph->out_begin[node + 1]; e++) {
            uint32_t to = graph->edges[e].to;
            if (!reached[to])
                stack[n_stack++] = to;
            reached[to] = true;
        }
    }
}

/* Everything must be reachable from where control comes in: code that is not (entered by an
 * unwinder, from another part of a split function) is taken as entered at its lowest address. */
static enum rl_status mark_entries(struct flow_graph *graph, struct rl_error *err)
{
    bool *reached = calloc(graph->n, sizeof *reached);
    uint32_t *stack = calloc(graph->n, sizeof *stack);
    if (reached && stack) {
        graph->may_enter[graph->entry] = true;
        for (uint32_t i = 0; i < graph->n; i++)
            if (graph->in_begin[i] == graph->in_begin[i + 1])
                graph->may_enter[i] = true;
        for (uint32_t pass = 0; pass < 2; pass++) {
            for (uint32_t i = 0; i < graph->n; i++) {
                if (reached[i] || (pass == 0 && !graph->may_enter[i]))
                    continue;
                graph->may_enter[i] = true;
                reach(graph, i, reached, stack);
            }
        }
    }
    bool ready = reached && stack;
    free(reached);
    free(stack);
    return ready ? RL_OK : rl_fail(err, RL_ENOMEM, "no memory for %u blocks", graph->n);
}

static enum rl_status make_graph(struct flow_graph *graph, const struct rl_flow_block *blocks,
                                 size_t n_blocks, uint64_t entry, struct rl_error *err)
{
    struct rl_flow *flow = graph->flow;
    size_t room = flow->n_nodes + 2;
    graph->n = (uint32_t)flow->n_nodes;
    graph->count = calloc(room, sizeof *graph->count);
    graph->may_enter = calloc(room, sizeof *graph->may_enter);
    graph->may_leave = calloc(room, sizeof *graph->may_leave);
    if (!graph->count || !graph->may_enter || !graph->may_leave)
        return rl_fail(err, RL_ENOMEM, "no memory for %zu blocks", flow->n_nodes);
    for (uint32_t i = 0; i < graph->n; i++) {
        graph->count[i] = flow->insns[flow->nodes[i].first].executions;
        flow->has_indirect |= is_indirect_jump(&last_insn(flow, i)->insn);
    }
    size_t first = rl_flow_find(flow, entry);
    graph->entry = first < flow->n_insns ? flow->insns[first].node : 0;
    RL_TRY(add_stated_edges(graph, err));
    if (flow->has_indirect)
        RL_TRY(add_inferred_edges(graph, err));
    RL_TRY(index_edges(graph, err));
    RL_TRY(apply_next(graph, blocks, n_blocks, err));
    return mark_entries(graph, err);
}

static void release_graph(struct flow_graph *graph)
{
    free(graph->edges);
    free(graph->out_begin);
    free(graph->in_begin);
    free(graph->in_edges);
    free(graph->count);
    free(graph->may_enter);
    free(graph->may_leave);
}

static enum rl_status analyse(struct rl_flow *flow, const struct rl_flow_block *blocks,
                              size_t n_blocks, uint64_t entry, struct rl_error *err)
{
    struct insn_list list = {0};
    enum rl_status status = RL_OK;
    for (size_t i = 0; i < n_blocks && !status; i++)
        status = decode_block(&blocks[i], &list, err);
    if (list.n)
        qsort(list.at, list.n, sizeof *list.at, compare_insns);
    merge_equal_offsets(&list);
    flow->insns = list.at;
    flow->n_insns = list.n;
    if (status || !list.n)
        return status;
    for (size_t i = 0; i < list.n; i++)
        if (!list.at[i].insn.length)
            flow->undecodable = add_saturating(flow->undecodable, list.at[i].executions);
    RL_TRY(make_nodes(flow, blocks, n_blocks, err));
    struct flow_graph graph = {.flow = flow};
    status = make_graph(&graph, blocks, n_blocks, entry, err);
    if (!status)
        status = flow_solve(&graph, err);
    if (!status)
        status = flow_find_loops(&graph, err);
    if (!status)
        flow->entered_known = flow_entered(&graph, graph.entry, &flow->entered);
    release_graph(&graph);
    for (size_t i = 0; i < flow->n_insns && !status; i++)
        flow->insns[i].loop = flow->nodes[flow->insns[i].node].loop;
    return status;
}

enum rl_status rl_flow_build(const struct rl_flow_block *blocks, size_t n_blocks, uint64_t entry,
                             struct rl_flow *ret_flow, struct rl_error *err)
{
    struct rl_flow flow = {0};
    enum rl_status status = analyse(&flow, blocks, n_blocks, entry, err);
    if (status)
        rl_flow_release(&flow);
    else
        *ret_flow = flow;
    return status;
}

void rl_flow_release(struct rl_flow *flow)
{
    free(flow->insns);
    free(flow->nodes);
    free(flow->loops);
    *flow = (struct rl_flow){0};
}
