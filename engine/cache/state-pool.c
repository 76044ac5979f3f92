/* Slots and what they are kept for. */

#include "engine/cache/state-pool.h"
#include <string.h>

typedef enum { SLOT_IS_FREE, SLOT_IS_LEASED, SLOT_IS_KEPT } SlotUse;

typedef struct {
    SlotUse use;
    uint32_t n_tokens; /* of a kept one */
    uint64_t used;     /* when a kept one was last of use */
} Slot;

struct SundogStatePool {
    int32_t n_slots;
    uint32_t max_tokens;
    uint64_t clock;
    Slot *slots;      /* [n_slots] */
    uint32_t *tokens; /* [n_slots, max_tokens] of kept ones */
};

static uint32_t *
get_tokens(const SundogStatePool *pool, int32_t slot)
{
    return pool->tokens + (size_t)slot * pool->max_tokens;
}

SundogStatePool *
sundog_state_pool_new(int32_t n_slots, uint32_t max_tokens)
{
    SundogStatePool *pool = g_new0(SundogStatePool, 1);
    pool->n_slots = n_slots;
    pool->max_tokens = max_tokens;
    pool->slots = g_new0(Slot, n_slots);
    pool->tokens = g_new0(uint32_t, (size_t)n_slots * max_tokens);
    return pool;
}

void
sundog_state_pool_free(SundogStatePool *pool)
{
    if (pool) {
        g_free(pool->slots);
        g_free(pool->tokens);
        g_free(pool);
    }
}

int32_t
sundog_state_pool_lease(SundogStatePool *pool, int32_t keep)
{
    int32_t found = SUNDOG_NULL_STATE;
    for (int32_t slot = 1; slot < pool->n_slots; slot++) {
        const Slot *at = &pool->slots[slot];
        if (at->use == SLOT_IS_FREE) {
            found = slot;
            break;
        }
        if (at->use == SLOT_IS_KEPT && slot != keep &&
            (found == SUNDOG_NULL_STATE || at->used < pool->slots[found].used))
            found = slot;
    }
    if (found != SUNDOG_NULL_STATE)
        pool->slots[found].use = SLOT_IS_LEASED;
    return found;
}

void
sundog_state_pool_release(SundogStatePool *pool, int32_t slot)
{
    g_assert(pool->slots[slot].use == SLOT_IS_LEASED);
    pool->slots[slot].use = SLOT_IS_FREE;
}

void
sundog_state_pool_keep(SundogStatePool *pool, int32_t slot, const uint32_t *tokens,
                       uint32_t n_tokens)
{
    uint32_t n_same;
    int32_t same = sundog_state_pool_find(pool, tokens, n_tokens, n_tokens + 1, &n_same);
    g_assert(pool->slots[slot].use == SLOT_IS_LEASED && n_tokens <= pool->max_tokens);
    if (same != SUNDOG_NULL_STATE && n_same == n_tokens)
        sundog_state_pool_drop(pool, same);
    memcpy(get_tokens(pool, slot), tokens, n_tokens * sizeof *tokens);
    pool->slots[slot] = (Slot){.use = SLOT_IS_KEPT, .n_tokens = n_tokens, .used = ++pool->clock};
}

void
sundog_state_pool_take(SundogStatePool *pool, int32_t slot)
{
    g_assert(pool->slots[slot].use == SLOT_IS_KEPT);
    pool->slots[slot].use = SLOT_IS_LEASED;
}

void
sundog_state_pool_drop(SundogStatePool *pool, int32_t slot)
{
    g_assert(pool->slots[slot].use == SLOT_IS_KEPT);
    pool->slots[slot].use = SLOT_IS_FREE;
}

bool
sundog_state_pool_is_kept(const SundogStatePool *pool, int32_t slot)
{
    return pool->slots[slot].use == SLOT_IS_KEPT;
}

int32_t
sundog_state_pool_find(SundogStatePool *pool, const uint32_t *tokens, uint32_t n_tokens,
                       uint32_t below, uint32_t *n_kept)
{
    int32_t found = SUNDOG_NULL_STATE;
    *n_kept = 0;
    for (int32_t slot = 1; slot < pool->n_slots; slot++) {
        const Slot *at = &pool->slots[slot];
        if (at->use == SLOT_IS_KEPT && at->n_tokens > *n_kept && at->n_tokens < below &&
            at->n_tokens <= n_tokens &&
            memcmp(get_tokens(pool, slot), tokens, at->n_tokens * sizeof *tokens) == 0) {
            found = slot;
            *n_kept = at->n_tokens;
        }
    }
    if (found != SUNDOG_NULL_STATE)
        pool->slots[found].used = ++pool->clock;
    return found;
}
