/* Fragments (translated superblocks): finding them by program address, joining them, and giving
 * them up when their source changes. The caller holds the engine's lock unless stated.
 *
 * A fragment is never freed: when its source changes its first bytes become a jump to an exit stub,
 * so links and table entries that still lead there stay valid and find its successor. */
#ifndef RL_COUNT_ENGINE_LINK_H
#define RL_COUNT_ENGINE_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "count/engine/arena.h"
#include "count/engine/emit.h"
#include "count/engine/result_format.h"

#define RLE_NO_REG 0xFF

/** dispatch.S reads the first two fields. */
struct rle_fragment {
    uint64_t negated_pc; /**< 0: dead */
    uint64_t entry;      /**< cache address */
    uint64_t pc;         /**< program address of its first instruction */
    uint64_t end;        /**< cache address behind its hot part */
    uint64_t
        via_return;    /**< cache address that verifies a return's target first; 0: not made yet */
    uint64_t via_jump; /**< the same for indirect jumps and calls */
    uint64_t landing;  /**< cache address that its last call returns to; 0: none */
    uint64_t behind;   /**< program address that belongs to it */
    uint32_t record;   /**< index in the result's FRAGMENTS; RLE_NONE if uncounted */
    uint32_t first_insn; /**< index into the instruction table */
    uint32_t head_counter;
    uint16_t n_insns;
    uint16_t counted_from; /**< first instruction in front of which the head is counted already */
    uint8_t loop_reg;      /**< register holding the head counter; RLE_NO_REG: none */
    uint8_t n_resident;
    uint8_t resident[RLE_RESIDENT_MAX];
    bool checked; /**< compares its source on entry */
};

/** Where instruction i of a fragment went. */
struct rle_placed_insn {
    int32_t from_pc; /**< program address, relative to the fragment's */
    uint16_t before; /**< offset from the entry at which everything that belongs to it begins */
    uint16_t at;     /**< offset of the instruction itself, its instrumentation done */
};

/** Why an exit stub leads out of the cache. */
enum rle_stub_kind {
    RLE_STUB_LINK,        /**< to a fragment not known then; `site` can be patched */
    RLE_STUB_SYSCALL,     /**< system call; `pc` is the address behind it */
    RLE_STUB_DEAD,        /**< a dead fragment was entered */
    RLE_STUB_CHANGED,     /**< a fragment found its source changed */
    RLE_STUB_MARK,        /**< a region begins or ends (`site` is the mark); `pc` is behind it */
    RLE_STUB_TRAPS,       /**< popf, at `pc`, is about to set the trap flag */
    RLE_STUB_UNSUPPORTED, /**< an instruction that cannot be translated, at `pc` */
};

struct rle_stub {
    uint64_t pc;   /**< where the program goes on */
    uint64_t site; /**< RLE_STUB_MARK: see there. RLE_STUB_LINK: cache address of the displacement
                      to patch */
    uint32_t fragment;
    uint16_t insn;
    uint8_t kind;
};

/** Allocate the tables. False if there is no memory. */
bool rle_links_init(void);

/** Can one more superblock be translated? */
bool rle_links_have_room(void);

struct rle_fragment *rle_fragment(uint32_t index);
/** Fragments are numbered from 1 to below this. */
uint32_t rle_fragments_used(void);
uint32_t rle_fragment_index(const struct rle_fragment *fragment);
struct rle_placed_insn *rle_placed(uint32_t index);
/** Program address of instruction `insn` of a fragment. */
uint64_t rle_placed_pc(const struct rle_fragment *fragment, unsigned insn);
const struct rle_stub *rle_stub(uint32_t index);

/** The live fragment for program address `pc`; NULL if none. */
struct rle_fragment *rle_fragment_find(uint64_t pc);

/** A new zeroed fragment with room for `n_insns` placed instructions; NULL if tables are full. */
struct rle_fragment *rle_fragment_new(uint64_t pc, unsigned n_insns);

/** Make a fragment findable, and invalidated by changes of [low, high) (call once per block). */
void rle_fragment_publish(struct rle_fragment *fragment);
void rle_fragment_covers(const struct rle_fragment *fragment, uint64_t low, uint64_t high);

/** Let displacement `site` (just emitted) lead to the fragment for `pc`, or to a stub that will
 * find it. */
void rle_link(struct rle_emit *e, rle_fixup site, uint64_t pc);

/** Emit, at the cursor, an exit through a new stub. */
void rle_emit_stub(struct rle_emit *e, enum rle_stub_kind kind, uint64_t pc, uint32_t fragment,
                   unsigned insn);

/** Can a jump near cache address `site` lead to cache address `address`? */
bool rle_reaches(uint64_t site, uint64_t address);

/** The same for RLE_STUB_MARK. */
void rle_emit_mark_stub(struct rle_emit *e, uint32_t mark, uint64_t pc);

/** Patch the link of a stub, if it has one, to its fragment. */
void rle_relink(const struct rle_stub *stub, const struct rle_fragment *fragment);

/** Give up a fragment. */
void rle_fragment_kill(struct rle_fragment *fragment);

/** All of them, as far as there is room. */
void rle_fragments_kill_all(void);

/** The same while no thread is in the cache: then it needs no room in most cases.
 * @return false if there is none. */
bool rle_fragment_bury(struct rle_fragment *fragment);

/** Source at [low, high) changed or went away: give up what was translated from it. Cheap if
 * nothing was. Takes the lock itself. */
void rle_invalidate(uint64_t low, uint64_t high);

#endif
