/* One cache set as a list of its lines, most recent first, so that LRU needs no ages: a hit at
 * place p moves p entries, and most hits are at place 0. An entry is a 30-bit line number and two
 * bits of state, which lets one vector compare cover four ways. Private to the cache model. */
#ifndef RL_DECODE_CACHE_SET_INTERNAL_H
#define RL_DECODE_CACHE_SET_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
#endif

enum {
    DIRTY = 1,                /* must be written to memory one day */
    WRITTEN = 2,              /* and was written since a victim level handed it inward */
    STORED = DIRTY | WRITTEN, /* both: what a store makes of an entry */
    STATE_BITS = 2,
};
#define EMPTY     UINT32_MAX /* an entry without a line */
#define NOT_FOUND UINT32_MAX

/* A set is aligned to its stride, 4, 8, 16 or 32 entries, and EMPTY beyond its ways. */

#if defined(__AVX2__)
typedef __m256i eight;

static inline eight eight_load(const uint32_t *at)
{
    return _mm256_load_si256((const __m256i *)(const void *)at);
}

static inline void eight_store(uint32_t *at, eight value)
{
    _mm256_store_si256((__m256i *)(void *)at, value);
}

static inline uint32_t eight_equal(eight entries, uint32_t wanted)
{
    eight all = _mm256_or_si256(entries, _mm256_set1_epi32(STORED));
    eight equal = _mm256_cmpeq_epi32(all, _mm256_set1_epi32((int)wanted));
    return (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(equal));
}

/* The last entry of `before`, then `entries` but the last. */
static inline eight eight_down(eight before, eight entries)
{
    return _mm256_alignr_epi8(entries, _mm256_permute2x128_si256(before, entries, 0x21), 12);
}

/* `entries` but the first, then the first of `after`. */
static inline eight eight_up(eight entries, eight after)
{
    return _mm256_alignr_epi8(_mm256_permute2x128_si256(entries, after, 0x21), entries, 4);
}

/* Places first .. first+7: those up to `at` from `yes`, the others from `no`. */
static inline eight eight_choose(int first, uint32_t at, eight yes, eight no)
{
    eight place = _mm256_setr_epi32(first, first + 1, first + 2, first + 3, first + 4, first + 5,
                                    first + 6, first + 7);
    return _mm256_blendv_epi8(yes, no, _mm256_cmpgt_epi32(place, _mm256_set1_epi32((int)at)));
}
#endif

/* Place of a line, or NOT_FOUND. */
static inline uint32_t set_find(const uint32_t *set, uint32_t stride, uint32_t line)
{
    uint32_t wanted = line << STATE_BITS | STORED;
#if defined(__AVX512F__) && defined(__AVX512VL__)
    if (stride == 16) {
        __m512i all = _mm512_or_si512(_mm512_load_si512(set), _mm512_set1_epi32(STORED));
        uint32_t equal = _mm512_cmpeq_epi32_mask(all, _mm512_set1_epi32((int)wanted));
        return equal ? (uint32_t)__builtin_ctz(equal) : NOT_FOUND;
    }
    if (stride == 8) {
        __m256i all = _mm256_or_si256(_mm256_load_si256((const __m256i *)(const void *)set),
                                      _mm256_set1_epi32(STORED));
        uint32_t equal = _mm256_cmpeq_epi32_mask(all, _mm256_set1_epi32((int)wanted));
        return equal ? (uint32_t)__builtin_ctz(equal) : NOT_FOUND;
    }
#elif defined(__AVX2__)
    if (stride == 8 || stride == 16) {
        uint32_t equal = eight_equal(eight_load(set), wanted);
        if (stride == 16)
            equal |= eight_equal(eight_load(set + 8), wanted) << 8;
        return equal ? (uint32_t)__builtin_ctz(equal) : NOT_FOUND;
    }
#endif
#if defined(__SSE2__)
    const __m128i key = _mm_set1_epi32((int)wanted);
    const __m128i stored = _mm_set1_epi32(STORED);
    for (uint32_t i = 0; i < stride; i += 4) {
        __m128i four =
            _mm_or_si128(_mm_load_si128((const __m128i *)(const void *)(set + i)), stored);
        int equal = _mm_movemask_ps(_mm_castsi128_ps(_mm_cmpeq_epi32(four, key)));
        if (equal)
            return i + (uint32_t)__builtin_ctz((unsigned)equal);
    }
#else
    for (uint32_t i = 0; i < stride; i++)
        if ((set[i] | STORED) == wanted)
            return i;
#endif
    return NOT_FOUND;
}

/* Move entries 0 .. n-1 one place down, overwriting entry n. */
static inline void set_shift(uint32_t *set, uint32_t n)
{
#ifdef __SSE2__
    for (; n >= 4; n -= 4) {
        __m128i four = _mm_loadu_si128((const __m128i *)(const void *)(set + n - 4));
        _mm_storeu_si128((__m128i *)(void *)(set + n - 3), four);
    }
#endif
    for (; n > 0; n--)
        set[n] = set[n - 1];
}

/* Make the entry at place `at` the most recent, with the given value. Entries before it move down
 * one place; without a branch where one vector holds the set. */
static inline void set_promote(uint32_t *set, uint32_t stride, uint32_t at, uint32_t entry)
{
#if defined(__AVX512F__) && defined(__AVX512VL__)
    if (stride == 16) {
        __m512i all = _mm512_load_si512(set);
        __m512i down = _mm512_alignr_epi32(all, _mm512_set1_epi32((int)entry), 15);
        __mmask16 moved = (__mmask16)((2u << at) - 1);
        _mm512_store_si512(set, _mm512_mask_mov_epi32(all, moved, down));
        return;
    }
    if (stride == 8) {
        __m256i all = _mm256_load_si256((const __m256i *)(const void *)set);
        __m256i down = _mm256_alignr_epi32(all, _mm256_set1_epi32((int)entry), 7);
        __mmask8 moved = (__mmask8)((2u << at) - 1);
        _mm256_store_si256((__m256i *)(void *)set, _mm256_mask_mov_epi32(all, moved, down));
        return;
    }
#elif defined(__AVX2__)
    if (stride == 8 || stride == 16) {
        eight low = eight_load(set);
        if (stride == 16) {
            eight high = eight_load(set + 8);
            eight_store(set + 8, eight_choose(8, at, eight_down(low, high), high));
        }
        eight down = eight_down(_mm256_set1_epi32((int)entry), low);
        eight_store(set, eight_choose(0, at, down, low));
        return;
    }
#endif
    (void)stride;
    set_shift(set, at);
    set[0] = entry;
}

#if defined(__AVX2__)
/* Where each entry of a set comes from when the one at a place becomes the most recent. */
#define FROM(at, i)   ((i) == 0 ? (at) : (i) <= (at) ? (i)-1 : (i))
#define FROM_4(at, i) FROM(at, i), FROM(at, (i) + 1), FROM(at, (i) + 2), FROM(at, (i) + 3)
#define FROM_8(at)                                                                                 \
    {                                                                                              \
        FROM_4(at, 0), FROM_4(at, 4)                                                               \
    }
#define FROM_16(at)                                                                                \
    {                                                                                              \
        FROM_4(at, 0), FROM_4(at, 4), FROM_4(at, 8), FROM_4(at, 12)                                \
    }

static const _Alignas(32) uint32_t order_of_8[8][8] = {
    FROM_8(0), FROM_8(1), FROM_8(2), FROM_8(3), FROM_8(4), FROM_8(5), FROM_8(6), FROM_8(7),
};
#endif
#if defined(__AVX512F__) && defined(__AVX512VL__)
static const _Alignas(64) uint32_t order_of_16[16][16] = {
    FROM_16(0),  FROM_16(1),  FROM_16(2),  FROM_16(3),  FROM_16(4),  FROM_16(5),
    FROM_16(6),  FROM_16(7),  FROM_16(8),  FROM_16(9),  FROM_16(10), FROM_16(11),
    FROM_16(12), FROM_16(13), FROM_16(14), FROM_16(15),
};
#endif

/* Find a line and make its entry the most recent, with `state` added: in one go where one vector
 * holds the set. False if it is not there. */
static inline bool set_touch(uint32_t *set, uint32_t stride, uint32_t line, uint32_t state)
{
#if defined(__AVX512F__) && defined(__AVX512VL__)
    if (stride == 16) {
        __m512i all = _mm512_load_si512(set);
        __m512i soiled = _mm512_or_si512(all, _mm512_set1_epi32(STORED));
        uint32_t equal =
            _mm512_cmpeq_epi32_mask(soiled, _mm512_set1_epi32((int)(line << STATE_BITS | STORED)));
        if (!equal)
            return false;
        __m512i order = _mm512_load_si512(order_of_16[__builtin_ctz(equal)]);
        __m512i first = _mm512_zextsi128_si512(_mm_cvtsi32_si128((int)state));
        _mm512_store_si512(set, _mm512_or_si512(_mm512_permutexvar_epi32(order, all), first));
        return true;
    }
#endif
#if defined(__AVX2__)
    if (stride == 8) {
        eight all = eight_load(set);
        uint32_t equal = eight_equal(all, line << STATE_BITS | STORED);
        if (!equal)
            return false;
        eight order = eight_load(order_of_8[__builtin_ctz(equal)]);
        eight first = _mm256_zextsi128_si256(_mm_cvtsi32_si128((int)state));
        eight_store(set, _mm256_or_si256(_mm256_permutevar8x32_epi32(all, order), first));
        return true;
    }
#endif
    uint32_t at = set_find(set, stride, line);
    if (at == NOT_FOUND)
        return false;
    set_promote(set, stride, at, set[at] | state);
    return true;
}

/* A new most recent entry; returns the least recent one, which leaves. */
static inline uint32_t set_insert(uint32_t *set, uint32_t ways, uint32_t stride, uint32_t entry)
{
    uint32_t victim = set[ways - 1];
    set_promote(set, stride, ways - 1, entry);
    return victim;
}

/* What set_touch does, and where the line is not there, set_insert: one look at the set. Returns
 * whether it was there; if not, *ret_gone is the entry that leaves. */
static inline bool set_enter(uint32_t *set, uint32_t ways, uint32_t stride, uint32_t line,
                             uint32_t state, uint32_t *ret_gone)
{
#if defined(__AVX512F__) && defined(__AVX512VL__)
    if (stride == 16) {
        __m512i all = _mm512_load_si512(set);
        __m512i wanted = _mm512_set1_epi32((int)(line << STATE_BITS | STORED));
        __m512i soiled = _mm512_or_si512(all, _mm512_set1_epi32(STORED));
        uint32_t equal = _mm512_cmpeq_epi32_mask(soiled, wanted);
        if (equal) {
            __m512i order = _mm512_load_si512(order_of_16[__builtin_ctz(equal)]);
            __m512i first = _mm512_zextsi128_si512(_mm_cvtsi32_si128((int)state));
            _mm512_store_si512(set, _mm512_or_si512(_mm512_permutexvar_epi32(order, all), first));
            return true;
        }
        *ret_gone = set[ways - 1];
        __m512i entry = _mm512_set1_epi32((int)(line << STATE_BITS | state));
        __mmask16 moved = (__mmask16)((2u << (ways - 1)) - 1);
        _mm512_store_si512(set, _mm512_mask_alignr_epi32(all, moved, all, entry, 15));
        return false;
    }
#endif
    if (set_touch(set, stride, line, state))
        return true;
    *ret_gone = set_insert(set, ways, stride, line << STATE_BITS | state);
    return false;
}

/* Remove the entry at place `at`. */
static inline void set_drop(uint32_t *set, uint32_t ways, uint32_t stride, uint32_t at)
{
#if defined(__AVX512F__) && defined(__AVX512VL__)
    if (stride == 16) {
        __m512i all = _mm512_load_si512(set);
        __m512i up = _mm512_alignr_epi32(_mm512_set1_epi32((int)EMPTY), all, 1);
        _mm512_store_si512(set, _mm512_mask_mov_epi32(up, (__mmask16)((1u << at) - 1), all));
        return;
    }
#elif defined(__AVX2__)
    if (stride == 16) {
        eight low = eight_load(set);
        eight high = eight_load(set + 8);
        eight after = _mm256_set1_epi32((int)EMPTY);
        eight_store(set, eight_choose(1, at, low, eight_up(low, high)));
        eight_store(set + 8, eight_choose(9, at, high, eight_up(high, after)));
        return;
    }
#endif
    (void)stride;
    memmove(set + at, set + at + 1, (ways - 1 - at) * sizeof *set);
    set[ways - 1] = EMPTY;
}

/* Take a line out. False if it is not there; else *ret_dirty is DIRTY if it was. */
static inline bool set_take(uint32_t *set, uint32_t ways, uint32_t stride, uint32_t line,
                            uint32_t *ret_dirty)
{
#if defined(__AVX512F__) && defined(__AVX512VL__)
    if (stride == 16) {
        __m512i all = _mm512_load_si512(set);
        __m512i stored = _mm512_set1_epi32(STORED);
        __mmask16 equal = _mm512_cmpeq_epi32_mask(
            _mm512_or_si512(all, stored), _mm512_set1_epi32((int)(line << STATE_BITS | STORED)));
        if (!equal)
            return false;
        *ret_dirty = _mm512_mask_test_epi32_mask(equal, all, _mm512_set1_epi32(DIRTY)) ? DIRTY : 0;
        _mm512_store_si512(
            set, _mm512_mask_compress_epi32(_mm512_set1_epi32((int)EMPTY), (__mmask16)~equal, all));
        return true;
    }
#endif
    uint32_t at = set_find(set, stride, line);
    if (at == NOT_FOUND)
        return false;
    *ret_dirty = set[at] & DIRTY;
    set_drop(set, ways, stride, at);
    return true;
}

#endif
