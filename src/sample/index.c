#include "sample/index.h"

#include <stdlib.h>

#define FIRST_CAPACITY 64

static void place(struct index_slot *slot, size_t capacity, struct index_slot entry)
{
    size_t i = entry.hash & (capacity - 1);
    while (slot[i].position != INDEX_NONE)
        i = (i + 1) & (capacity - 1);
    slot[i] = entry;
}

static bool grow(struct index_table *table)
{
    size_t capacity = table->capacity ? table->capacity * 2 : FIRST_CAPACITY;
    struct index_slot *slot = malloc(capacity * sizeof *slot);
    if (!slot)
        return false;
    for (size_t i = 0; i < capacity; i++)
        slot[i].position = INDEX_NONE;
    for (size_t i = 0; i < table->capacity; i++) {
        if (table->slot[i].position != INDEX_NONE)
            place(slot, capacity, table->slot[i]);
    }
    free(table->slot);
    table->slot = slot;
    table->capacity = capacity;
    return true;
}

uint32_t index_find(const struct index_table *table, uint64_t hash, index_equal *equal,
                    const void *context, const void *key)
{
    if (!table->capacity)
        return INDEX_NONE;
    for (size_t i = hash & (table->capacity - 1); table->slot[i].position != INDEX_NONE;
         i = (i + 1) & (table->capacity - 1)) {
        if (table->slot[i].hash == hash && equal(context, table->slot[i].position, key))
            return table->slot[i].position;
    }
    return INDEX_NONE;
}

bool index_add(struct index_table *table, uint64_t hash, uint32_t position)
{
    if ((table->n + 1) * 2 > table->capacity && !grow(table))
        return false;
    place(table->slot, table->capacity, (struct index_slot){hash, position});
    table->n++;
    return true;
}

void index_release(struct index_table *table)
{
    free(table->slot);
    *table = (struct index_table){0};
}
