/* Pages of windows in a sequence's life: what it begins with, holds, and lets go of. */

#include "engine/cache/cache-private.h"

/* Pages that are held while they are copied, beside those promised. */
#define COPIES 1

/* What waits for a quiet moment to be recorded does not survive without its window. */
static void
record_evicted(int32_t page, void *data)
{
    SundogCache *cache = data;
    sundog_page_recorder_save(cache->options.recorder, cache->tree, cache->windows, page);
}

void
sundog_cache_init_windows(SundogCache *cache)
{
    const SundogCacheOptions *options = &cache->options;
    cache->windows = sundog_page_pool_get_windows(cache->pool);
    if (cache->windows == NULL)
        return;
    g_assert(options->window_tokens > 0 && options->n_states <= 1);
    if (options->recorder)
        sundog_window_pages_watch(cache->windows, record_evicted, cache);
    uint32_t n_step_pages =
        (options->step_tokens + options->page_tokens - 1) / options->page_tokens;
    /* Where every page can have its own there is no need to count. */
    cache->n_promises = options->n_windows >= options->n_pages
                            ? INT64_MAX
                            : (int64_t)options->n_windows - 1 - n_step_pages - COPIES;
    g_assert(cache->n_promises >=
             sundog_window_held_pages(options->window_tokens, options->page_tokens));
}

/* The first page that a token after n_tokens others sees. */
static uint32_t
first_seen(const SundogCache *cache, uint32_t n_tokens)
{
    const SundogCacheOptions *options = &cache->options;
    uint32_t n_before = options->window_tokens - 1;
    return (n_tokens - MIN(n_tokens, n_before)) / options->page_tokens;
}

void
sundog_cache_match_windows(const SundogCache *cache, const int32_t *pages, SundogPrefixMatch *match)
{
    uint32_t page_tokens = cache->options.page_tokens;
    uint32_t n_matched = match->n_pages * page_tokens + match->n_tail, n_whole = n_matched;
    if (cache->windows == NULL)
        return;
    /* From the end: a page without its window ends all that it is seen from. */
    for (uint32_t at = match->n_pages + (match->n_tail > 0); at > first_seen(cache, n_whole);
         at--) {
        int32_t page = at > match->n_pages ? match->tail : pages[at - 1];
        if (sundog_window_pages_get(cache->windows, page) == SUNDOG_NULL_PAGE)
            n_whole = (at - 1) * page_tokens;
    }
    if (n_whole < n_matched)
        *match = (SundogPrefixMatch){.n_pages = n_whole / page_tokens, .tail = SUNDOG_NULL_PAGE};
}

bool
sundog_cache_promise_windows(SundogCache *cache, SundogSequenceState *state, uint32_t n_pages)
{
    if (cache->windows == NULL)
        return true;
    uint32_t n_most =
        sundog_window_held_pages(cache->options.window_tokens, cache->options.page_tokens);
    uint32_t n_wanted = MAX(state->n_promised, MIN(n_pages, n_most));
    int64_t n_more = (int64_t)n_wanted - state->n_promised;
    if (n_more > cache->n_promises - cache->n_promised)
        return false;
    cache->n_promised += n_more;
    state->n_promised = n_wanted;
    return true;
}

static void
let_go_of_all(SundogCache *cache, SundogSequenceState *state)
{
    while (state->first_window < state->end_window)
        sundog_window_pages_let_go(cache->windows, state->pages[state->first_window++]);
}

void
sundog_cache_begin_windows(SundogCache *cache, SundogSequenceState *state, uint32_t n_matched)
{
    if (cache->windows == NULL)
        return;
    let_go_of_all(cache, state);
    state->first_window = state->end_window = first_seen(cache, n_matched);
    sundog_cache_hold_windows(cache, state, state->n_valid);
}

void
sundog_cache_copy_page(SundogCache *cache, int32_t from, int32_t to)
{
    const SundogStateAccess *state = &cache->options.state;
    state->copy(SUNDOG_STATE_PAGES, from, to, state->data);
    if (cache->windows == NULL || sundog_window_pages_get(cache->windows, from) == SUNDOG_NULL_PAGE)
        return;
    sundog_window_pages_hold(cache->windows, from); /* lest the other take it */
    sundog_window_pages_hold(cache->windows, to);
    state->copy(SUNDOG_STATE_WINDOWS, sundog_window_pages_get(cache->windows, from),
                sundog_window_pages_get(cache->windows, to), state->data);
    sundog_window_pages_let_go(cache->windows, to);
    sundog_window_pages_let_go(cache->windows, from);
}

void
sundog_cache_hold_windows(SundogCache *cache, SundogSequenceState *state, uint32_t n_tokens)
{
    uint32_t page_tokens = cache->options.page_tokens;
    uint32_t n_pages = (n_tokens + page_tokens - 1) / page_tokens;
    g_assert(n_pages <= state->n_pages);
    while (cache->windows && state->end_window < n_pages)
        sundog_window_pages_hold(cache->windows, state->pages[state->end_window++]);
}

void
sundog_cache_fill_windows(const SundogCache *cache, const SundogSequenceState *state, int32_t *row,
                          uint32_t width)
{
    for (uint32_t i = 0; i < width; i++) {
        bool is_held = i >= state->first_window && i < state->end_window;
        row[i] =
            is_held ? sundog_window_pages_get(cache->windows, state->pages[i]) : SUNDOG_NULL_PAGE;
    }
}

void
sundog_cache_slide_windows(SundogCache *cache, SundogSequenceState *state)
{
    uint32_t first = first_seen(cache, state->n_valid);
    while (cache->windows && state->first_window < MIN(first, state->end_window))
        sundog_window_pages_let_go(cache->windows, state->pages[state->first_window++]);
}

void
sundog_cache_close_windows(SundogCache *cache, SundogSequenceState *state)
{
    let_go_of_all(cache, state);
    cache->n_promised -= state->n_promised;
    state->n_promised = 0;
}
