#pragma once

/* The cache's own struct, and what recurrent state adds to each of its functions. Within this house. */

#include "engine/cache/cache.h"

struct SundogCache {
    SundogCacheOptions options;
    SundogPagePool *pool;
    SundogPrefixTree *tree;
    SundogStatePool *states; /* NULL where nothing is recurrent */
};

/* The last page of the sequence that stands in the tree. */
int32_t sundog_cache_last_shared(const SundogSequenceState *state);

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
