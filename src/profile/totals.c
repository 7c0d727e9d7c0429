#include "profile/totals.h"

#include "base/error.h"

#include <stdlib.h>

/* Parts below this are no part: of a total, or of everything. */
#define NEGLIGIBLE 0.01

/* With more functions than this that matter and were called nobody knows whence, nothing is known
 * of those that called nobody knows whom. */
#define MOST_UNKNOWN 256

#define NONE UINT32_MAX

/** Functions that call each other in a circle are one node. Callees have lower numbers. */
struct node {
    double self, total;
    double reach;           /* no less than all that can be called from it, itself included */
    double entries;         /* calls from other nodes, and from nobody knows where */
    double unknown_callers; /* of `entries` */
    double leak;            /* calls to nobody knows where, by it or what it calls, or more */
    double shared;          /* of `total`, at most so much is shared with others */
    uint32_t above;         /* the nearest node through which all calls of it come; n: none */
    uint32_t depth;         /* in the tree that `above` makes */
    uint32_t n_entry;       /* functions of it that others call */
    uint32_t n_member;
    bool is_root;
};

struct graph {
    const struct rl_tally *tally;
    size_t n_function, n;   /* functions; nodes */
    uint32_t *begin;        /* [n_function + 1] calls by caller … */
    uint32_t *call;         /* … indices in tally->call */
    uint32_t *node_of;      /* [n_function] */
    uint32_t *member_begin; /* [n + 1] functions by node … */
    uint32_t *member;       /* … */
    struct node *node;      /* [n + 1] the last is above all others */
    bool *is_entry;         /* [n_function] called from outside its node */
    double all;
};

static enum rl_status no_memory(struct rl_error *err)
{
    return rl_fail(err, RL_ENOMEM, "out of memory for the call graph");
}

static void release(struct graph *g)
{
    free(g->begin);
    free(g->call);
    free(g->node_of);
    free(g->member_begin);
    free(g->member);
    free(g->node);
    free(g->is_entry);
}

/* Positions of keys below n, in stable order: the keys' own is `begin`. */
static void sort_by(const uint32_t *key, size_t stride, size_t n_key, size_t n, uint32_t *begin,
                    uint32_t *position)
{
    for (size_t i = 0; i < n_key; i++)
        begin[key[i * stride] + 1]++;
    for (size_t i = 0; i < n; i++)
        begin[i + 1] += begin[i];
    for (size_t i = n_key; i-- > 0;)
        position[--begin[key[i * stride] + 1]] = (uint32_t)i;
    /* Each begin[i + 1] is now where key i begins. */
    for (size_t i = 0; i < n; i++)
        begin[i] = begin[i + 1];
    begin[n] = (uint32_t)n_key;
}

/* --- circles: Tarjan's strongly connected components, without recursion --- */

struct walk {
    uint32_t *order, *low; /* [n] of discovery, 0: not yet; lowest reachable */
    uint32_t *open, n_open;
    uint32_t *path, n_path, *at; /* functions on the way down, and the call each stands at */
    uint32_t n_seen;
};

static void enter(struct walk *w, const struct graph *g, uint32_t f)
{
    w->order[f] = w->low[f] = ++w->n_seen;
    w->open[w->n_open++] = f;
    w->at[f] = g->begin[f];
    w->path[w->n_path++] = f;
}

static void leave(struct walk *w, struct graph *g, uint32_t f)
{
    w->n_path--;
    if (w->n_path) {
        uint32_t caller = w->path[w->n_path - 1];
        w->low[caller] = w->low[f] < w->low[caller] ? w->low[f] : w->low[caller];
    }
    if (w->low[f] != w->order[f])
        return;
    uint32_t member;
    do {
        member = w->open[--w->n_open];
        g->node_of[member] = (uint32_t)g->n;
    } while (member != f);
    g->n++;
}

static void follow(struct walk *w, struct graph *g, uint32_t from)
{
    enter(w, g, from);
    while (w->n_path) {
        uint32_t f = w->path[w->n_path - 1];
        if (w->at[f] == g->begin[f + 1]) {
            leave(w, g, f);
            continue;
        }
        uint32_t callee = g->tally->call[g->call[w->at[f]++]].callee;
        if (!w->order[callee])
            enter(w, g, callee);
        else if (g->node_of[callee] == NONE && w->order[callee] < w->low[f])
            w->low[f] = w->order[callee];
    }
}

static enum rl_status find_circles(struct graph *g, struct rl_error *err)
{
    enum { ARRAYS = 5 };
    size_t n = g->n_function;
    uint32_t *room = calloc(ARRAYS * n + 1, sizeof *room);
    if (!room)
        return no_memory(err);
    struct walk w = {.order = room,
                     .low = room + n,
                     .open = room + 2 * n,
                     .path = room + 3 * n,
                     .at = room + 4 * n};
    for (uint32_t i = 0; i < n; i++)
        g->node_of[i] = NONE;
    for (uint32_t i = 0; i < n; i++)
        if (!w.order[i])
            follow(&w, g, i);
    free(room);
    return RL_OK;
}

static enum rl_status build(struct graph *g, struct rl_error *err)
{
    const struct rl_tally *t = g->tally;
    size_t n = g->n_function;
    g->begin = calloc(n + 2, sizeof *g->begin);
    g->call = calloc(t->n_call + 1, sizeof *g->call);
    g->node_of = calloc(n + 1, sizeof *g->node_of);
    g->member = calloc(n + 1, sizeof *g->member);
    g->is_entry = calloc(n + 1, sizeof *g->is_entry);
    if (!g->begin || !g->call || !g->node_of || !g->member || !g->is_entry)
        return no_memory(err);
    if (t->n_call)
        sort_by(&t->call[0].caller, sizeof t->call[0] / sizeof(uint32_t), t->n_call, n, g->begin,
                g->call);
    RL_TRY(find_circles(g, err));
    g->member_begin = calloc(g->n + 2, sizeof *g->member_begin);
    g->node = calloc(g->n + 1, sizeof *g->node);
    if (!g->member_begin || !g->node)
        return no_memory(err);
    sort_by(g->node_of, 1, n, g->n, g->member_begin, g->member);
    return RL_OK;
}

/* --- walking nodes --- */

/** What a function is told of each call that leaves its node. */
typedef void visit_call(struct graph *g, uint32_t from, uint32_t to,
                        const struct rl_tally_call *call);

static void visit_calls(struct graph *g, uint32_t from, visit_call *visit)
{
    for (uint32_t m = g->member_begin[from]; m < g->member_begin[from + 1]; m++) {
        uint32_t f = g->member[m];
        for (uint32_t i = g->begin[f]; i < g->begin[f + 1]; i++) {
            const struct rl_tally_call *call = &g->tally->call[g->call[i]];
            if (g->node_of[call->callee] != from)
                visit(g, from, g->node_of[call->callee], call);
        }
    }
}

static void count_entry(struct graph *g, uint32_t from, uint32_t to,
                        const struct rl_tally_call *call)
{
    (void)from;
    g->node[to].entries += call->calls;
    g->node[to].is_root |= !call->is_exact;
}

static void find_entries(struct graph *g)
{
    for (size_t i = 0; i < g->tally->n_call; i++) {
        const struct rl_tally_call *call = &g->tally->call[i];
        g->is_entry[call->callee] |= g->node_of[call->caller] != g->node_of[call->callee];
    }
    for (size_t i = 0; i < g->n_function; i++)
        g->is_entry[i] |= g->tally->unit[i].unknown_callers > 0;
}

static void fill_nodes(struct graph *g, const double *self)
{
    find_entries(g);
    for (uint32_t i = 0; i < g->n_function; i++) {
        const struct rl_tally_unit *unit = &g->tally->unit[i];
        struct node *node = &g->node[g->node_of[i]];
        node->self += self[i];
        node->entries += unit->unknown_callers;
        node->unknown_callers += unit->unknown_callers;
        node->leak += unit->unknown_callees;
        node->n_entry += g->is_entry[i];
        node->n_member++;
        g->all += self[i];
    }
    for (uint32_t i = 0; i < g->n; i++)
        visit_calls(g, i, count_entry);
    for (uint32_t i = 0; i < g->n; i++)
        g->node[i].is_root |= g->node[i].unknown_callers > 0 || !(g->node[i].entries > 0);
}

/* A callee's figures are complete before its callers ask for them. */
static void add_callee(struct graph *g, uint32_t from, uint32_t to,
                       const struct rl_tally_call *call)
{
    struct node *a = &g->node[from];
    const struct node *b = &g->node[to];
    a->total += b->total * call->calls / b->entries;
    a->reach += b->reach;
    a->leak += b->leak;
}

static void sum_up(struct graph *g)
{
    for (uint32_t i = 0; i < g->n; i++) {
        struct node *node = &g->node[i];
        node->total = node->reach = node->self;
        visit_calls(g, i, add_callee);
        node->reach = node->reach < g->all ? node->reach : g->all;
    }
}

/* --- what is shared: calls that lead out of what only comes through a node --- */

static uint32_t meet(const struct graph *g, uint32_t a, uint32_t b)
{
    while (a != b) {
        if (g->node[a].depth < g->node[b].depth)
            b = g->node[b].above;
        else
            a = g->node[a].above;
    }
    return a;
}

static void come_from(struct graph *g, uint32_t from, uint32_t to, const struct rl_tally_call *call)
{
    (void)call;
    struct node *node = &g->node[to];
    node->above = node->above == NONE ? from : meet(g, node->above, from);
}

static void find_above(struct graph *g)
{
    for (uint32_t i = 0; i < g->n; i++)
        g->node[i].above = g->node[i].is_root ? (uint32_t)g->n : NONE;
    g->node[g->n].above = (uint32_t)g->n;
    for (uint32_t i = (uint32_t)g->n; i-- > 0;) {
        g->node[i].depth = g->node[g->node[i].above].depth + 1;
        visit_calls(g, i, come_from);
    }
}

/* The call leaves the tree below `from`, and below all that is above it up to where `to` hangs. */
static void lead_out(struct graph *g, uint32_t from, uint32_t to, const struct rl_tally_call *call)
{
    (void)call;
    uint32_t above = g->node[to].above;
    if (above == from)
        return;
    g->node[from].shared += g->node[to].reach;
    g->node[above].shared -= g->node[to].reach;
}

static void find_shared(struct graph *g)
{
    for (uint32_t i = 0; i < g->n; i++)
        visit_calls(g, i, lead_out);
    for (uint32_t i = 0; i < g->n; i++)
        if (g->node[i].above != g->n)
            g->node[g->node[i].above].shared += g->node[i].shared;
}

/* --- what may have been called through pointers --- */

static void mark_reached(struct graph *g, uint32_t from, uint32_t to,
                         const struct rl_tally_call *call)
{
    (void)call;
    g->node[to].depth |= g->node[from].depth;
}

/* Of `node`, the part that was entered nobody knows whence, if `calls` of these are in question. */
static double part_of(const struct node *node, double calls)
{
    double share = calls < node->unknown_callers ? calls : node->unknown_callers;
    return node->entries > 0 ? node->total * share / node->entries : 0;
}

/* Nodes that may have called `lost`: it is not what called them, and they made enough calls. The
 * depths of the tree are not needed any more: they mark what `lost` can call. */
static void doubt_callers(struct graph *g, uint32_t lost, bool *is_doubtful)
{
    for (uint32_t i = 0; i < g->n; i++)
        g->node[i].depth = i == lost;
    for (uint32_t i = lost + 1; i-- > 0;)
        if (g->node[i].depth)
            visit_calls(g, i, mark_reached);
    for (uint32_t i = 0; i < g->n; i++)
        is_doubtful[i] |= !g->node[i].depth &&
                          part_of(&g->node[lost], g->node[i].leak) > NEGLIGIBLE * g->node[i].total;
}

static void find_doubtful(struct graph *g, bool *is_doubtful)
{
    size_t n_lost = 0;
    for (uint32_t i = 0; i < g->n && n_lost <= MOST_UNKNOWN; i++)
        if (part_of(&g->node[i], g->node[i].entries) > NEGLIGIBLE * g->all &&
            n_lost++ < MOST_UNKNOWN)
            doubt_callers(g, i, is_doubtful);
    for (uint32_t i = 0; n_lost > MOST_UNKNOWN && i < g->n; i++)
        is_doubtful[i] |= g->node[i].leak > 0;
}

static enum rl_status sum(struct graph *g, const double *self, struct totals_sum *ret_sum,
                          struct rl_error *err)
{
    RL_TRY(build(g, err));
    fill_nodes(g, self);
    bool *is_doubtful = calloc(g->n + 1, sizeof *is_doubtful);
    if (!is_doubtful)
        return no_memory(err);
    sum_up(g);
    find_above(g);
    find_shared(g);
    find_doubtful(g, is_doubtful);
    for (size_t i = 0; i < g->n_function; i++) {
        const struct node *node = &g->node[g->node_of[i]];
        bool is_one = node->n_member == 1 || (node->n_entry == 1 && g->is_entry[i]);
        ret_sum[i] = (struct totals_sum){
            .value = node->total,
            .is_known = !is_doubtful[g->node_of[i]],
            .is_exact = is_one && node->shared <= NEGLIGIBLE * node->total,
        };
    }
    free(is_doubtful);
    return RL_OK;
}

enum rl_status totals_sum(const struct rl_tally *tally, const double *self,
                          struct totals_sum *ret_sum, struct rl_error *err)
{
    struct graph g = {.tally = tally, .n_function = tally->n_function};
    enum rl_status status = sum(&g, self, ret_sum, err);
    release(&g);
    return status;
}

static enum rl_status set_totals(struct rl_tally *tally, const struct totals_sum *sum,
                                 struct rl_error *err)
{
    for (size_t i = 0; i < tally->n_function; i++) {
        struct rl_kernel *kernel = &tally->unit[i].kernel;
        if (sum[i].is_known)
            kernel->total_flop =
                rl_value(sum[i].value, sum[i].is_exact ? RL_SOURCE_COUNTED : RL_SOURCE_MODELLED, 0);
        else
            RL_TRY(rl_missing_add(&kernel->missing, "total", RL_TALLY_WHY_NO_TOTAL, err));
    }
    return RL_OK;
}

enum rl_status totals_fill_flop(struct rl_tally *tally, struct rl_error *err)
{
    double *self = calloc(tally->n_function + 1, sizeof *self);
    struct totals_sum *sum = calloc(tally->n_function + 1, sizeof *sum);
    enum rl_status status = self && sum ? RL_OK : no_memory(err);
    for (size_t i = 0; !status && i < tally->n_function; i++)
        self[i] = rl_kernel_flop(&tally->unit[i].kernel).value;
    if (!status)
        status = totals_sum(tally, self, sum, err);
    if (!status)
        status = set_totals(tally, sum, err);
    free(self);
    free(sum);
    return status;
}
