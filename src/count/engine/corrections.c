#include "count/engine/corrections.h"

#include "count/engine/engine.h"
#include "count/engine/result.h"

enum { HASH_BITS = 21 };
#define HASH_MASK ((1u << HASH_BITS) - 1)

static uint32_t *index_of; /* open addressing: number of the correction + 1 */

bool rle_corrections_init(void)
{
    index_of = rle_map(sizeof(*index_of) << HASH_BITS);
    return index_of != NULL;
}

void rle_count(struct rle_thread *thread, uint32_t counter)
{
    if (counter != RLE_NONE)
        ((uint64_t *)((char *)thread + RLE_TB_COUNTERS))[counter]++;
}

static uint32_t find(uint32_t fragment, unsigned insn, uint32_t *ret_slot)
{
    uint32_t h = (fragment * 31u + insn) & HASH_MASK;
    for (; index_of[h]; h = (h + 1) & HASH_MASK) {
        const struct rle_result_correction *c =
            rle_result_record(RLE_SECTION_CORRECTIONS, index_of[h] - 1);
        if (c->fragment == fragment && c->insn == insn)
            return c->counter;
    }
    *ret_slot = h;
    return RLE_NONE;
}

void rle_correct(struct rle_thread *thread, uint32_t fragment, unsigned insn)
{
    if (fragment == RLE_NONE || rle_engine.options.mode == RLE_MODE_TRANSLATE)
        return;
    uint32_t slot = 0;
    rle_lock(&rle_engine.lock);
    uint32_t counter = find(fragment, insn, &slot);
    if (counter == RLE_NONE) {
        struct rle_result_correction *c = rle_result_append(RLE_SECTION_CORRECTIONS);
        counter = c ? rle_result_new_counter() : RLE_NONE;
        if (counter == RLE_NONE) {
            rle_result_uncounted(RLE_UNCOUNTED_CAPACITY, "too many places interrupted by signals");
        } else {
            *c = (struct rle_result_correction){fragment, insn, counter, 0};
            index_of[slot] = rle_result_commit(RLE_SECTION_CORRECTIONS) + 1;
        }
    }
    rle_unlock(&rle_engine.lock);
    rle_count(thread, counter);
}
