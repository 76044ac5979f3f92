#pragma once

/*
 * Ordinary tokens by their first bytes: at one place of a text, all tokens that begin there are found
 * in one walk.
 *
 * Immutable after new; borrows nothing. Safe to share between threads.
 */

#include "engine/text/tokenizer/token-table.h"

typedef struct SundogTokenTrie SundogTokenTrie;

#define SUNDOG_TOKEN_TRIE_ROOT 0
#define SUNDOG_TOKEN_TRIE_NONE UINT32_MAX

/* Of all normal tokens. Of two with the same bytes the first is found. Fails where the tokens have more
 * than 2^25 different beginnings, a hundred times what large vocabularies have. */
SundogTokenTrie *sundog_token_trie_new(const SundogVocabulary *vocabulary,
                                       const SundogTokenTable *table, GError **error);
void sundog_token_trie_free(SundogTokenTrie *trie);

/* The node that this byte leads to, or SUNDOG_TOKEN_TRIE_NONE. */
uint32_t sundog_token_trie_step(const SundogTokenTrie *trie, uint32_t node, uint8_t byte);
/* The token that ends at the node, or SUNDOG_TOKEN_NONE. */
uint32_t sundog_token_trie_get_token(const SundogTokenTrie *trie, uint32_t node);
/* The longest token that the text begins with and its length, or SUNDOG_TOKEN_NONE. */
uint32_t sundog_token_trie_longest(const SundogTokenTrie *trie, const char *text, size_t n_bytes,
                                   size_t *length);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogTokenTrie, sundog_token_trie_free)
