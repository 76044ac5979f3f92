/* Recurrent state in a sequence's life: where it begins, its checkpoints, and its way back. */

#include "engine/cache/cache-private.h"

static uint32_t
pages_before(const SundogCache *cache, uint32_t n_tokens)
{
    return n_tokens / cache->options.page_tokens;
}

static void
copy_slot(SundogCache *cache, int32_t from, int32_t to)
{
    const SundogStateAccess *state = &cache->options.state;
    state->copy(SUNDOG_STATE_SLOTS, from, to, state->data);
}

/* Ends a slot's lease with its state kept; on a border of pages a record can follow. */
static void
keep_slot(SundogCache *cache, int32_t slot, const SundogSequenceState *state,
          const uint32_t *tokens)
{
    bool at_border = state->n_valid % cache->options.page_tokens == 0;
    sundog_state_pool_keep(cache->states, slot, tokens, state->n_valid);
    if (cache->options.recorder != NULL) {
        sundog_page_recorder_note_state(
            cache->options.recorder, at_border ? sundog_cache_last_shared(state) : SUNDOG_NULL_PAGE,
            slot);
    }
}

static SundogPrefixMatch
find_state(SundogCache *cache, SundogSequenceState *state, const uint32_t *tokens,
           uint32_t n_tokens, int32_t *kept)
{
    uint32_t n_kept;
    for (;;) {
        int32_t slot = sundog_state_pool_find(cache->states, tokens, n_tokens, n_tokens, &n_kept);
        if (slot == SUNDOG_NULL_STATE)
            return (SundogPrefixMatch){.tail = SUNDOG_NULL_PAGE};
        SundogPrefixMatch match =
            sundog_prefix_tree_match(cache->tree, tokens, n_kept, state->pages);
        if (match.n_pages * cache->options.page_tokens + match.n_tail == n_kept) {
            *kept = slot;
            return match;
        }
        sundog_state_pool_drop(cache->states, slot);
    }
}

SundogPrefixMatch
sundog_cache_find_prefix(SundogCache *cache, SundogSequenceState *state, const uint32_t *tokens,
                         uint32_t n_tokens, int32_t *kept)
{
    SundogPrefixMatch pages =
        sundog_prefix_tree_match(cache->tree, tokens, n_tokens - 1, state->pages);
    *kept = SUNDOG_NULL_STATE;
    if (cache->states == NULL)
        return pages;
    SundogPrefixMatch match = find_state(cache, state, tokens, n_tokens, kept);
    if (pages.n_pages > match.n_pages)
        state->branch = pages.n_pages * cache->options.page_tokens;
    return match;
}

bool
sundog_cache_lease_slot(SundogCache *cache, SundogSequenceState *state, int32_t kept)
{
    if (cache->states == NULL)
        return true;
    state->slot = sundog_state_pool_lease(cache->states, kept);
    if (state->slot != SUNDOG_NULL_STATE && kept != SUNDOG_NULL_STATE) {
        copy_slot(cache, kept, state->slot);
    } else if (kept != SUNDOG_NULL_STATE) {
        sundog_state_pool_take(cache->states, kept);
        state->slot = kept;
    }
    return state->slot != SUNDOG_NULL_STATE;
}

/* Of n_tokens, the most that end on a border of pages and leave one to run. */
static uint32_t
last_border(const SundogCache *cache, uint32_t n_tokens)
{
    return pages_before(cache, n_tokens - 1) * cache->options.page_tokens;
}

uint32_t
sundog_cache_get_checkpoint(const SundogCache *cache, const SundogSequenceState *state)
{
    if (cache->states == NULL || !state->keeps)
        return UINT32_MAX;
    if (state->branch > state->n_valid)
        return state->branch;
    uint32_t border = last_border(cache, state->n_prompt);
    if (border > state->n_valid)
        return border;
    if (state->n_valid < state->n_prompt)
        return UINT32_MAX;
    return (pages_before(cache, state->n_valid) + 1) * cache->options.page_tokens;
}

/* An answer's last border takes the place of the one before. */
static void
drop_border_before(SundogCache *cache, const SundogSequenceState *state, const uint32_t *tokens)
{
    uint32_t n_before = state->n_valid - cache->options.page_tokens, n_kept;
    if (n_before <= state->n_prompt)
        return;
    int32_t slot = sundog_state_pool_find(cache->states, tokens, n_before, n_before + 1, &n_kept);
    if (slot != SUNDOG_NULL_STATE && n_kept == n_before)
        sundog_state_pool_drop(cache->states, slot);
}

void
sundog_cache_take_checkpoint(SundogCache *cache, const SundogSequenceState *state,
                             const uint32_t *tokens)
{
    uint32_t n = state->n_valid, n_prompt = state->n_prompt;
    bool wanted = n > n_prompt ? n % cache->options.page_tokens == 0
                               : n == state->branch || n == last_border(cache, n_prompt);
    if (cache->states == NULL || !state->keeps || n == 0 || !wanted)
        return;
    drop_border_before(cache, state, tokens);
    int32_t slot = sundog_state_pool_lease(cache->states, SUNDOG_NULL_STATE);
    if (slot == SUNDOG_NULL_STATE)
        return;
    copy_slot(cache, state->slot, slot);
    keep_slot(cache, slot, state, tokens);
}

bool
sundog_cache_guess(SundogCache *cache, SundogSequenceState *state)
{
    if (cache->states == NULL || state->safe_slot != SUNDOG_NULL_STATE)
        return true;
    state->safe_slot = sundog_state_pool_lease(cache->states, SUNDOG_NULL_STATE);
    if (state->safe_slot == SUNDOG_NULL_STATE)
        return false;
    copy_slot(cache, state->slot, state->safe_slot);
    state->n_safe = state->n_valid;
    return true;
}

uint32_t
sundog_cache_settle(SundogCache *cache, SundogSequenceState *state, uint32_t n_valid)
{
    if (state->safe_slot == SUNDOG_NULL_STATE)
        return n_valid;
    int32_t done = state->safe_slot;
    if (n_valid < state->n_valid) {
        done = state->slot;
        state->slot = state->safe_slot;
        n_valid = state->n_safe;
    }
    sundog_state_pool_release(cache->states, done);
    state->safe_slot = SUNDOG_NULL_STATE;
    return n_valid;
}

static bool
begin_restoring(SundogCache *cache, SundogSequenceState *state, const uint32_t *tokens,
                uint32_t n_tokens)
{
    uint32_t n_most = pages_before(cache, n_tokens - 1), n_shared = state->n_shared;
    state->n_restoring = n_shared;
    state->n_wanted = n_shared + sundog_page_recorder_find_state(
                                     cache->options.recorder, sundog_cache_last_shared(state),
                                     tokens + (size_t)n_shared * cache->options.page_tokens,
                                     n_most - MIN(n_most, n_shared));
    return state->n_wanted * cache->options.page_tokens > state->n_valid;
}

/* The state may only take in what the pages hold, so nothing is valid before all of them are there. */
bool
sundog_cache_restore_recurrent(SundogCache *cache, SundogSequenceState *state,
                               const uint32_t *tokens, uint32_t n_tokens)
{
    uint32_t page_tokens = cache->options.page_tokens;
    if (state->n_wanted == 0 && !begin_restoring(cache, state, tokens, n_tokens))
        return false;
    uint32_t at = state->n_restoring;
    int32_t parent = at > 0 ? state->pages[at - 1] : SUNDOG_NULL_PAGE;
    if (at < state->n_wanted) {
        state->n_restoring++;
        return sundog_page_recorder_restore(cache->options.recorder, NULL, parent, state->pages[at],
                                            tokens + (size_t)at * page_tokens);
    }
    if (sundog_page_recorder_restore_state(cache->options.recorder, parent, state->slot))
        sundog_cache_advance(cache, state, tokens, at * page_tokens);
    return false;
}

void
sundog_cache_close_slot(SundogCache *cache, const SundogSequenceState *state,
                        const uint32_t *tokens, SundogClose how)
{
    if (cache->states == NULL)
        return;
    if (state->safe_slot != SUNDOG_NULL_STATE)
        sundog_state_pool_release(cache->states, state->safe_slot);
    if (how == SUNDOG_CLOSE_KEEP && state->keeps && state->n_valid > 0)
        keep_slot(cache, state->slot, state, tokens);
    else
        sundog_state_pool_release(cache->states, state->slot);
}
