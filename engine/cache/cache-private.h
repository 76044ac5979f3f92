#pragma once

/* The cache's own struct, and what windows and recurrent state add to each of its functions. Within this
 * house. */

#include "engine/cache/cache.h"

struct SundogCache {
    SundogCacheOptions options;
    SundogPagePool *pool;
    SundogPrefixTree *tree;
    SundogWindowPages *windows; /* the pool's; NULL where there are none */
    int64_t n_promised;         /* pages of windows, to all that run */
    int64_t n_promises;         /* the most that can be promised: the others are for steps */
    SundogStatePool *states;    /* NULL where nothing is recurrent */
};

/* The last page of the sequence that stands in the tree. */
int32_t sundog_cache_last_shared(const SundogSequenceState *state);

/* windows.c; each does nothing where windows have no pages of their own. */
void sundog_cache_init_windows(SundogCache *cache);
/* Shortens a match to where a whole window is. */
void sundog_cache_match_windows(const SundogCache *cache, const int32_t *pages,
                                SundogPrefixMatch *match);
/* Promises a sequence what it may hold with n_pages pages; false where that cannot be. */
bool sundog_cache_promise_windows(SundogCache *cache, SundogSequenceState *state, uint32_t n_pages);
/* Holds the windows that a sequence begins with: its valid pages, of n_matched tokens that it will have. */
void sundog_cache_begin_windows(SundogCache *cache, SundogSequenceState *state, uint32_t n_matched);
/* Copies a page that is full in part, with its window where it has one. */
void sundog_cache_copy_page(SundogCache *cache, int32_t from, int32_t to);
/* Lets go of what the next token does not see, for good. */
void sundog_cache_slide_windows(SundogCache *cache, SundogSequenceState *state);
/* Lets go of all, and of the promise. */
void sundog_cache_close_windows(SundogCache *cache, SundogSequenceState *state);

/* recurrent.c; each does nothing where nothing is recurrent. The longest beginning of the tokens of which
 * pages and, where there is one, the state are kept. A state whose pages are gone is of no use any more. */
SundogPrefixMatch sundog_cache_find_prefix(SundogCache *cache, SundogSequenceState *state,
                                           const uint32_t *tokens, uint32_t n_tokens,
                                           int32_t *kept);
/* Gives the sequence a slot of its own, with the kept state in it. False where none can be had. */
bool sundog_cache_lease_slot(SundogCache *cache, SundogSequenceState *state, int32_t kept);
/* Ends what guess() began. Returns how many tokens are valid, of the n_valid that proved right. */
uint32_t sundog_cache_settle(SundogCache *cache, SundogSequenceState *state, uint32_t n_valid);
/* Keeps a copy of the state after n_valid tokens where that is a checkpoint. */
void sundog_cache_take_checkpoint(SundogCache *cache, const SundogSequenceState *state,
                                  const uint32_t *tokens);
/* As restore, a page or the state behind the last of them at a time. */
bool sundog_cache_restore_recurrent(SundogCache *cache, SundogSequenceState *state,
                                    const uint32_t *tokens, uint32_t n_tokens);
void sundog_cache_close_slot(SundogCache *cache, const SundogSequenceState *state,
                             const uint32_t *tokens, SundogClose how);
