/* Sequences on top of pool and tree. */

#include "engine/cache/cache-private.h"
#include <string.h>

static uint32_t
pages_for(const SundogCache *cache, uint32_t n_tokens)
{
    uint32_t page_tokens = cache->options.page_tokens;
    return n_tokens / page_tokens + (n_tokens % page_tokens != 0);
}

static int64_t
n_available(const SundogCache *cache)
{
    return (int64_t)sundog_page_pool_get_n_free(cache->pool) +
           sundog_prefix_tree_get_n_unpinned(cache->tree);
}

/* A free page, if need be by evicting one; SUNDOG_NULL_PAGE where all are in use. */
static int32_t
lease(SundogCache *cache)
{
    if (sundog_page_pool_get_n_free(cache->pool) == 0 && !sundog_prefix_tree_evict(cache->tree))
        return SUNDOG_NULL_PAGE;
    return sundog_page_pool_lease(cache->pool);
}

int32_t
sundog_cache_last_shared(const SundogSequenceState *state)
{
    return state->n_shared > 0 ? state->pages[state->n_shared - 1] : SUNDOG_NULL_PAGE;
}

static void
pin_prefix(SundogCache *cache, SundogSequenceState *state, uint32_t n_pages)
{
    for (uint32_t i = 0; i < n_pages; i++)
        sundog_prefix_tree_pin(cache->tree, state->pages[i]);
    state->n_pages = state->n_shared = n_pages;
    state->n_valid = n_pages * cache->options.page_tokens;
}

/* A page of which only the beginning fits is copied: the sequence goes on writing in the copy. */
static void
copy_tail(SundogCache *cache, SundogSequenceState *state, const SundogPrefixMatch *match)
{
    if (match->n_tail == 0)
        return;
    sundog_prefix_tree_pin(cache->tree, match->tail); /* lest the lease evict it */
    int32_t page = lease(cache);
    if (page != SUNDOG_NULL_PAGE) {
        sundog_cache_copy_page(cache, match->tail, page);
        state->pages[state->n_pages++] = page;
        state->n_valid += match->n_tail;
        sundog_cache_hold_windows(cache, state, state->n_valid);
    }
    sundog_prefix_tree_unpin(cache->tree, match->tail);
}

/* Whether the pages still to be leased can be had once the matched ones are pinned. */
static bool
can_open(const SundogCache *cache, const SundogSequenceState *state, const SundogPrefixMatch *match,
         uint32_t n_reserve)
{
    int64_t n_left = n_available(cache);
    for (uint32_t i = 0; i < match->n_pages; i++)
        n_left -= !sundog_prefix_tree_is_pinned(cache->tree, state->pages[i]);
    return (int64_t)pages_for(cache, n_reserve) - match->n_pages <= n_left;
}

SundogCache *
sundog_cache_new(const SundogCacheOptions *options)
{
    g_return_val_if_fail(options->state.copy && options->page_tokens > 0, NULL);
    SundogCache *cache = g_new0(SundogCache, 1);
    cache->options = *options;
    cache->pool = sundog_page_pool_new(options->n_pages, options->n_windows);
    int32_t max_kept = options->max_kept_pages < 0 ? options->n_pages : options->max_kept_pages;
    cache->tree = sundog_prefix_tree_new(cache->pool, options->page_tokens, max_kept);
    if (options->n_states > 1) {
        cache->states = sundog_state_pool_new(options->n_states,
                                              options->sequence_pages * options->page_tokens);
    }
    sundog_cache_init_windows(cache);
    return cache;
}

void
sundog_cache_free(SundogCache *cache)
{
    if (cache) {
        sundog_state_pool_free(cache->states);
        sundog_prefix_tree_free(cache->tree);
        sundog_page_pool_free(cache->pool);
        g_free(cache);
    }
}

/* Where the tail's page could not be copied, recurrent state is ahead of the pages and windows are not whole:
 * the sequence begins anew. */
static void
begin_anew(SundogCache *cache, SundogSequenceState *state)
{
    for (uint32_t i = state->n_shared; i-- > 0;)
        sundog_prefix_tree_unpin(cache->tree, state->pages[i]);
    state->n_pages = state->n_shared = state->n_valid = 0;
    sundog_cache_begin_windows(cache, state, 0);
}

bool
sundog_cache_open_sequence(SundogCache *cache, SundogSequenceState *state, const uint32_t *tokens,
                           uint32_t n_tokens, uint32_t n_reserve, bool keeps)
{
    g_assert(n_tokens > 0 && n_reserve >= n_tokens);
    g_assert(pages_for(cache, n_reserve) <= cache->options.sequence_pages);
    SundogPrefixMatch match = {.tail = SUNDOG_NULL_PAGE};
    int32_t kept = SUNDOG_NULL_STATE;
    *state = (SundogSequenceState){.pages = state->pages, .n_prompt = n_tokens, .keeps = keeps};
    if (keeps)
        match = sundog_cache_find_prefix(cache, state, tokens, n_tokens, &kept);
    sundog_cache_match_windows(cache, state->pages, &match);
    if (!can_open(cache, state, &match, n_reserve) ||
        !sundog_cache_promise_windows(cache, state, pages_for(cache, n_reserve)) ||
        !sundog_cache_lease_slot(cache, state, kept))
        return false;
    uint32_t n_matched = match.n_pages * cache->options.page_tokens + match.n_tail;
    pin_prefix(cache, state, match.n_pages);
    sundog_cache_begin_windows(cache, state, n_matched);
    copy_tail(cache, state, &match);
    if ((cache->states || cache->windows) && state->n_valid != n_matched)
        begin_anew(cache, state);
    if (sundog_cache_reserve(cache, state, n_reserve))
        return true;
    /* Only one that began anew needs more than was counted on: pages that it had shared are others'. */
    g_assert(state->n_pages == 0);
    sundog_cache_close_sequence(cache, state, tokens, SUNDOG_CLOSE_DISCARD);
    return false;
}

bool
sundog_cache_reserve(SundogCache *cache, SundogSequenceState *state, uint32_t n_tokens)
{
    uint32_t n_wanted = pages_for(cache, n_tokens);
    g_assert(n_wanted <= cache->options.sequence_pages);
    if ((int64_t)n_wanted - state->n_pages > n_available(cache) ||
        !sundog_cache_promise_windows(cache, state, n_wanted))
        return false;
    while (state->n_pages < n_wanted) {
        int32_t page = lease(cache);
        g_assert(page != SUNDOG_NULL_PAGE);
        state->pages[state->n_pages++] = page;
    }
    return true;
}

/* The sequence's first page that is its own, full now, becomes one that others may share. */
static void
share_page(SundogCache *cache, SundogSequenceState *state, const uint32_t *tokens)
{
    int32_t parent = sundog_cache_last_shared(state);
    int32_t *page = &state->pages[state->n_shared];
    *page =
        sundog_prefix_tree_insert(cache->tree, parent, tokens, cache->options.page_tokens, *page);
    sundog_prefix_tree_pin(cache->tree, *page);
    state->n_shared++;
    if (cache->options.recorder)
        sundog_page_recorder_note(cache->options.recorder, parent, *page, tokens);
}

void
sundog_cache_advance(SundogCache *cache, SundogSequenceState *state, const uint32_t *tokens,
                     uint32_t n_valid)
{
    uint32_t page_tokens = cache->options.page_tokens;
    g_assert(n_valid >= state->n_shared * page_tokens && n_valid <= state->n_pages * page_tokens);
    state->n_valid = sundog_cache_settle(cache, state, n_valid);
    while (state->keeps && state->n_shared < state->n_valid / page_tokens)
        share_page(cache, state, tokens + (size_t)state->n_shared * page_tokens);
    sundog_cache_slide_windows(cache, state);
    sundog_cache_take_checkpoint(cache, state, tokens);
}

void
sundog_cache_extend(SundogCache *cache, SundogSequenceState *state, uint32_t n_valid)
{
    g_assert(n_valid >= state->n_valid && n_valid <= state->n_pages * cache->options.page_tokens);
    state->n_valid = n_valid;
}

bool
sundog_cache_restore(SundogCache *cache, SundogSequenceState *state, const uint32_t *tokens,
                     uint32_t n_tokens)
{
    SundogPageRecorder *recorder = cache->options.recorder;
    uint32_t n_after = (state->n_shared + 1) * cache->options.page_tokens;
    if (recorder == NULL || !state->keeps || n_after >= n_tokens)
        return false;
    if (cache->states != NULL)
        return sundog_cache_restore_recurrent(cache, state, tokens, n_tokens);
    /* What this page holds already is a part of what the record brings. */
    const uint32_t *page_tokens = tokens + n_after - cache->options.page_tokens;
    int32_t page = state->pages[state->n_shared];
    sundog_cache_hold_windows(cache, state, n_after);
    if (!sundog_page_recorder_restore(recorder, cache->windows, sundog_cache_last_shared(state),
                                      page, page_tokens))
        return false;
    sundog_cache_advance(cache, state, tokens, n_after);
    return true;
}

bool
sundog_cache_has_chores(const SundogCache *cache)
{
    return cache->options.recorder && sundog_page_recorder_has_work(cache->options.recorder);
}

void
sundog_cache_do_chore(SundogCache *cache)
{
    sundog_page_recorder_work(cache->options.recorder, cache->tree, cache->windows, cache->states);
}

/* Leaves the last page, which is not full, in the tree. */
static void
keep_tail(SundogCache *cache, SundogSequenceState *state, const uint32_t *tokens)
{
    uint32_t page_tokens = cache->options.page_tokens;
    uint32_t n_tail = state->n_valid % page_tokens;
    if (state->keeps && n_tail > 0) {
        sundog_prefix_tree_insert(cache->tree, sundog_cache_last_shared(state),
                                  tokens + (size_t)state->n_shared * page_tokens, n_tail,
                                  state->pages[state->n_shared]);
        state->pages[state->n_shared] = SUNDOG_NULL_PAGE;
    }
}

void
sundog_cache_share_tail(SundogCache *cache, const SundogSequenceState *state,
                        const uint32_t *tokens)
{
    uint32_t page_tokens = cache->options.page_tokens;
    uint32_t n_tail = state->n_valid % page_tokens;
    if (!state->keeps || cache->states || n_tail == 0 ||
        sundog_page_pool_get_n_free(cache->pool) == 0)
        return;
    int32_t page = sundog_page_pool_lease(cache->pool);
    sundog_cache_copy_page(cache, state->pages[state->n_shared], page);
    sundog_prefix_tree_insert(cache->tree, sundog_cache_last_shared(state),
                              tokens + (size_t)state->n_shared * page_tokens, n_tail, page);
}

void
sundog_cache_close_sequence(SundogCache *cache, SundogSequenceState *state, const uint32_t *tokens,
                            SundogClose how)
{
    sundog_cache_close_windows(cache, state);
    if (how == SUNDOG_CLOSE_KEEP)
        keep_tail(cache, state, tokens);
    for (uint32_t i = state->n_pages; i-- > state->n_shared;)
        if (state->pages[i] != SUNDOG_NULL_PAGE)
            sundog_page_pool_release(cache->pool, state->pages[i]);
    for (uint32_t i = state->n_shared; i-- > 0;) {
        sundog_prefix_tree_unpin(cache->tree, state->pages[i]);
        if (how == SUNDOG_CLOSE_DISCARD)
            sundog_prefix_tree_forget(cache->tree, state->pages[i]);
    }
    sundog_prefix_tree_trim(cache->tree);
    sundog_cache_close_slot(cache, state, tokens, how);
    *state = (SundogSequenceState){.pages = state->pages};
}

int32_t
sundog_cache_get_n_used(const SundogCache *cache)
{
    return (int32_t)(sundog_page_pool_get_n_pages(cache->pool) - n_available(cache));
}

int32_t
sundog_cache_get_n_kept(const SundogCache *cache)
{
    return sundog_prefix_tree_get_n_unpinned(cache->tree);
}

int32_t
sundog_cache_get_n_pages(const SundogCache *cache)
{
    return sundog_page_pool_get_n_pages(cache->pool);
}
