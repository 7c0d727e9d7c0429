/* The flow graph while it is built: flow.c makes nodes and edges, flow_counts.c finds out how often
 * each edge is taken, flow_loops.c finds the loops. */
#ifndef RL_DECODE_FLOW_INTERNAL_H
#define RL_DECODE_FLOW_INTERNAL_H

#include "decode/flow.h"

struct flow_edge {
    uint32_t from, to;
    uint64_t taken; /* meaningful when `known` */
    bool known;
};

/* Node n_nodes, if `has_hub`, is a pseudo-block that all indirect jumps lead to and that leads to
 * all their inferred targets. */
struct flow_graph {
    struct rl_flow *flow;
    uint32_t n; /* nodes, the hub included */
    bool has_hub;
    struct flow_edge *edges; /* ascending by from, to; no duplicates */
    size_t n_edges, edges_capacity;
    uint32_t *out_begin; /* [n + 1] edges of node i: out_begin[i] .. out_begin[i + 1] */
    uint32_t *in_begin;  /* [n + 1] likewise in `in_edges` */
    uint32_t *in_edges;  /* [n_edges] indices of edges, by target */
    uint64_t *count;     /* [n] executions of the node */
    bool *may_enter;     /* [n] control may come from outside the function */
    bool *may_leave;     /* [n] control may go outside the function */
    uint32_t entry;      /* node of the function's entry, or the first */
};

/* Solve the flow equations: what comes in is what the block executes is what goes out. */
enum rl_status flow_solve(struct flow_graph *graph, struct rl_error *err);

/* Executions that enter node i from outside the function; false if they do not follow. */
bool flow_entered(const struct flow_graph *graph, uint32_t node, uint64_t *ret_times);

/* Fill flow->loops and the `loop` of nodes. */
enum rl_status flow_find_loops(struct flow_graph *graph, struct rl_error *err);

#endif
