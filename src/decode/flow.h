/* Executed blocks of one function -> its control flow: instructions with their executions, loops
 * with nesting, entries and iterations.
 *
 * Loops are found from the code bytes alone, so that they exist in stripped programs too. They are
 * the nested strongly connected regions of the flow graph: natural loops where the graph is
 * reducible; where a region can be entered at several places (goto into a loop, some optimised
 * state machines) the region is one loop, marked `irreducible`.
 * Pure data in, data out: no files, no clock. */
#ifndef RL_DECODE_FLOW_H
#define RL_DECODE_FLOW_H

#include "decode/insn.h"

#include <roofline/error.h>

/** Straight-line code that was executed `executions` times from its first to its last byte.
 * Blocks may overlap and repeat: executions of an instruction are the sum over blocks. */
struct rl_flow_block {
    uint64_t offset;     /**< of the first instruction, in the module (any one address space) */
    const uint8_t *code; /**< [size] whole instructions */
    size_t size;
    uint64_t executions;
    bool has_next;    /**< how the block was left is known in part: … */
    uint64_t next;    /**< … of its executions, those that went on at this offset … */
    uint64_t to_next; /**< … were so many */
};

#define RL_FLOW_NO_LOOP UINT32_MAX

struct rl_flow_insn {
    uint64_t offset;
    uint64_t executions;
    const uint8_t *code; /**< [insn.length], borrowed from the block that brought it */
    struct rl_insn insn; /**< length 0: undecodable, stands for the rest of its block */
    uint32_t node;       /**< basic block, index in the flow's `nodes` */
    uint32_t loop;       /**< innermost loop, index in `loops`, or RL_FLOW_NO_LOOP */
};

/** A basic block: instructions [first, first + n) that execute together. */
struct rl_flow_node {
    uint32_t first;
    uint32_t n;
    uint32_t loop; /**< innermost loop or RL_FLOW_NO_LOOP */
};

struct rl_flow_loop {
    uint64_t header;    /**< offset of the instruction where it is entered (lowest, if several) */
    uint64_t begin;     /**< lowest offset of its code … */
    uint64_t end;       /**< … and one past the highest; other code may lie between */
    uint32_t parent;    /**< enclosing loop, always a lower index, or RL_FLOW_NO_LOOP */
    uint32_t depth;     /**< 1 outermost */
    uint32_t n_insn;    /**< instructions in it, inner loops included */
    bool innermost;     /**< no loop inside */
    bool irreducible;   /**< entered at several places; the figures below are sums over them */
    bool entries_known; /**< whether `entries` follows from the executions */
    bool iterations_known; /**< whether `iterations` does */
    uint64_t entries;      /**< times control came in from outside */
    uint64_t iterations;   /**< times the body ran; tests that only leave are not counted */
};

struct rl_flow {
    struct rl_flow_insn *insns; /**< [n_insns] ascending by offset */
    size_t n_insns;
    struct rl_flow_node *nodes; /**< [n_nodes] ascending by offset */
    size_t n_nodes;
    struct rl_flow_loop *loops; /**< [n_loops] a loop after the one that encloses it */
    size_t n_loops;
    uint64_t entered;     /**< executions of the entry that come from outside, i.e. calls */
    bool entered_known;   /**< whether they follow from the block executions */
    bool has_indirect;    /**< has jumps whose targets were inferred (switch tables) */
    uint64_t undecodable; /**< executions of blocks that hold bytes nothing is known of */
};

/**
 * Build the flow of one function.
 *
 * @param blocks    [n_blocks] in any order; borrowed. `code` must outlive ret_flow.
 * @param n_blocks  0 gives an empty flow.
 * @param entry     offset of the function's first instruction; need not be among the blocks.
 * @param ret_flow  released by the caller with rl_flow_release; written on RL_OK only.
 * @return RL_OK; RL_ENOMEM; RL_EDATA when there are more than 2^31 instructions.
 *
 * Bytes that do not decode end their block. Time O(n log n + depth x n).
 */
enum rl_status rl_flow_build(const struct rl_flow_block *blocks, size_t n_blocks, uint64_t entry,
                             struct rl_flow *ret_flow, struct rl_error *err);

/** Index of the instruction at `offset`; n_insns if none begins there. O(log n). */
size_t rl_flow_find(const struct rl_flow *flow, uint64_t offset);

void rl_flow_release(struct rl_flow *flow);

#endif
