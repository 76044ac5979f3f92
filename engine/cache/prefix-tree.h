#pragma once

/*
 * What the cache remembers: a tree whose nodes are pages and the tokens they hold. A path from the
 * root spells the tokens of a prefix. Only full pages have children; a page that is not full is a
 * leaf, and is reused by copying it, so that no page in the tree is ever written again.
 *
 * A node is named by its page, SUNDOG_NULL_PAGE is the root. Running sequences pin the full pages of
 * their path; who pins a node pins its ancestors. Pages that nobody pins are the cache's to evict,
 * least recently used first and children before parents. All memory is taken in new(). One thread.
 */

#include "engine/cache/page-pool.h"

typedef struct SundogPrefixTree SundogPrefixTree;

/* The longest prefix found: whole pages, and then n_tail tokens more within page `tail`. */
typedef struct {
    uint32_t n_pages;
    uint32_t n_tail;
    int32_t tail; /* SUNDOG_NULL_PAGE where n_tail is 0 */
} SundogPrefixMatch;

/* The tree takes pages from the pool's lessees and gives them back to it. */
SundogPrefixTree *sundog_prefix_tree_new(SundogPagePool *pool, uint32_t page_tokens,
                                         int32_t max_unpinned);
void sundog_prefix_tree_free(SundogPrefixTree *tree);

/* Token-exact longest common prefix. Writes the whole pages to pages [n_tokens / page_tokens];
 * pins nothing. */
SundogPrefixMatch sundog_prefix_tree_match(const SundogPrefixTree *tree, const uint32_t *tokens,
                                           uint32_t n_tokens, int32_t *pages);

/* Hands a leased page with its n_tokens (1 to page_tokens) to the tree, below `parent`. Returns the
 * page that holds these tokens from now on: this one, or one that was there before, in which case
 * this one goes back to the pool. Where one that is not full holds the beginning, it is dropped. */
int32_t sundog_prefix_tree_insert(SundogPrefixTree *tree, int32_t parent, const uint32_t *tokens,
                                  uint32_t n_tokens, int32_t page);

/* Pin from the root downwards, unpin from the deepest upwards. */
void sundog_prefix_tree_pin(SundogPrefixTree *tree, int32_t page);
void sundog_prefix_tree_unpin(SundogPrefixTree *tree, int32_t page);

/* Gives an unpinned page without children back to the pool, for state that is no good; leaves others. */
void sundog_prefix_tree_forget(SundogPrefixTree *tree, int32_t page);

/* Evicts until at most max_unpinned pages are kept. */
void sundog_prefix_tree_trim(SundogPrefixTree *tree);

/* Gives the page that was unpinned longest ago back to the pool; false where all are pinned. */
bool sundog_prefix_tree_evict(SundogPrefixTree *tree);

/* The tokens [page_tokens] of a page that stands in the tree and is full, borrowed; else NULL. */
const uint32_t *sundog_prefix_tree_get_full(const SundogPrefixTree *tree, int32_t page);
bool sundog_prefix_tree_is_pinned(const SundogPrefixTree *tree, int32_t page);
int32_t sundog_prefix_tree_get_n_unpinned(const SundogPrefixTree *tree);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogPrefixTree, sundog_prefix_tree_free)
