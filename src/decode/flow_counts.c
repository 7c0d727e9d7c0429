/* How often each edge is taken, from how often each block is executed.
 *
 * Every block gives two equations: what comes in equals its executions, and so does what goes out.
 * An equation with one unknown left is solved, which may leave others with one; this settles every
 * graph whose ambiguous edges form no cycle. (A remainder loop that may be skipped does form one:
 * then it takes what the blocks say of how they were left.) What stays open is reported as unknown,
 * never guessed. */
#include "base/error.h"
#include "decode/flow_internal.h"

#include <stdlib.h>

/* Equation 2i is what comes into node i, 2i + 1 what leaves it. */
struct solver {
    struct flow_graph *graph;
    uint64_t *rest;     /* [2n] executions not yet explained by known edges */
    uint32_t *unknowns; /* [2n] edges not yet known, plus one if control may cross the function */
    uint32_t *queue;    /* [2n] equations to look at again, a ring */
    bool *queued;       /* [2n] */
    size_t head, length, size;
};

static void push(struct solver *s, uint32_t equation)
{
    if (s->queued[equation])
        return;
    s->queued[equation] = true;
    s->queue[(s->head + s->length++) % s->size] = equation;
}

static uint32_t pop(struct solver *s)
{
    uint32_t equation = s->queue[s->head];
    s->head = (s->head + 1) % s->size;
    s->length--;
    s->queued[equation] = false;
    return equation;
}

static struct flow_edge *edge_of(const struct solver *s, uint32_t equation, uint32_t k)
{
    const struct flow_graph *g = s->graph;
    uint32_t node = equation / 2;
    uint32_t edge = equation & 1 ? g->out_begin[node] + k : g->in_edges[g->in_begin[node] + k];
    return &g->edges[edge];
}

static uint32_t n_edges_of(const struct solver *s, uint32_t equation)
{
    const uint32_t *begin = equation & 1 ? s->graph->out_begin : s->graph->in_begin;
    return begin[equation / 2 + 1] - begin[equation / 2];
}

static void settle(struct solver *s, struct flow_edge *edge, uint64_t taken)
{
    edge->known = true;
    edge->taken = taken;
    uint32_t sides[] = {2 * edge->from + 1, 2 * edge->to};
    for (unsigned i = 0; i < 2; i++) {
        uint64_t *rest = &s->rest[sides[i]];
        *rest -= taken < *rest ? taken : *rest;
        s->unknowns[sides[i]]--;
        push(s, sides[i]);
    }
}

static void look_at(struct solver *s, uint32_t equation)
{
    uint32_t n = n_edges_of(s, equation);
    bool crosses =
        equation & 1 ? s->graph->may_leave[equation / 2] : s->graph->may_enter[equation / 2];
    if (s->rest[equation] && (s->unknowns[equation] != 1 || crosses))
        return;
    for (uint32_t k = 0; k < n; k++) {
        struct flow_edge *edge = edge_of(s, equation, k);
        if (!edge->known)
            settle(s, edge, s->rest[equation]);
    }
}

static void start(struct solver *s)
{
    const struct flow_graph *g = s->graph;
    for (uint32_t node = 0; node < g->n; node++) {
        s->rest[2 * node] = s->rest[2 * node + 1] = g->count[node];
        s->unknowns[2 * node] = n_edges_of(s, 2 * node) + g->may_enter[node];
        s->unknowns[2 * node + 1] = n_edges_of(s, 2 * node + 1) + g->may_leave[node];
        push(s, 2 * node);
        push(s, 2 * node + 1);
    }
    for (size_t i = 0; i < g->n_edges; i++)
        if (g->edges[i].known)
            settle(s, &g->edges[i], g->edges[i].taken);
}

enum rl_status flow_solve(struct flow_graph *graph, struct rl_error *err)
{
    struct solver s = {.graph = graph, .size = 2 * (size_t)graph->n};
    s.rest = calloc(s.size, sizeof *s.rest);
    s.unknowns = calloc(s.size, sizeof *s.unknowns);
    s.queue = calloc(s.size, sizeof *s.queue);
    s.queued = calloc(s.size, sizeof *s.queued);
    bool ready = s.rest && s.unknowns && s.queue && s.queued;
    if (ready) {
        start(&s);
        while (s.length)
            look_at(&s, pop(&s));
    }
    free(s.rest);
    free(s.unknowns);
    free(s.queue);
    free(s.queued);
    return ready ? RL_OK : rl_fail(err, RL_ENOMEM, "no memory for %u blocks", graph->n);
}

bool flow_entered(const struct flow_graph *graph, uint32_t node, uint64_t *ret_times)
{
    uint64_t rest = graph->count[node];
    *ret_times = 0;
    if (!graph->may_enter[node])
        return true;
    for (uint32_t k = graph->in_begin[node]; k < graph->in_begin[node + 1]; k++) {
        const struct flow_edge *edge = &graph->edges[graph->in_edges[k]];
        if (!edge->known)
            return false;
        rest -= edge->taken < rest ? edge->taken : rest;
    }
    *ret_times = rest;
    return true;
}
