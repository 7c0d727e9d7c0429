#include "count/engine/recheck.h"

#include "count/engine/link.h"
#include "count/engine/maps.h"
#include "count/engine/result.h"

/* Of what a fragment looks like behind its exits, too, its translation depends; hence code that is
 * no file's is not compared but given up: neighbours may have changed. */
static bool block_is_valid(const struct rle_result_block *block)
{
    const struct rle_region *region = rle_region_at(block->address);
    if (!region || !region->readable || region->writable || region->module == RLE_NONE ||
        region->module != block->module || block->code == RLE_NONE)
        return false;
    const struct rle_result_module *module = rle_result_record(RLE_SECTION_MODULES, region->module);
    if (!module->inode || block->address + block->code_bytes > module->address + module->length)
        return false;
    const uint8_t *then = rle_result_record(RLE_SECTION_CODE, block->code);
    const uint8_t *now = (const uint8_t *)block->address;
    for (unsigned i = 0; i < block->code_bytes; i++)
        if (then[i] != now[i])
            return false;
    return true;
}

static bool is_valid(const struct rle_fragment *fragment)
{
    if (fragment->record == RLE_NONE)
        return false;
    const struct rle_result_fragment *record =
        rle_result_record(RLE_SECTION_FRAGMENTS, fragment->record);
    for (uint32_t b = 0; b < record->n_blocks; b++)
        if (!block_is_valid(rle_result_record(RLE_SECTION_BLOCKS, record->first_block + b)))
            return false;
    return true;
}

bool rle_recheck(void)
{
    rle_regions_forget(); /* mappings may have changed */
    for (uint32_t i = 1; i < rle_fragments_used(); i++) {
        struct rle_fragment *fragment = rle_fragment(i);
        if (fragment->negated_pc && !is_valid(fragment) && !rle_fragment_bury(fragment))
            return false;
    }
    return true;
}
