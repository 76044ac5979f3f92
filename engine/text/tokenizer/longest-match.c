/* RWKV's way: from the left, always the longest token. */

#include "engine/text/tokenizer/token-trie.h"
#include "engine/text/tokenizer/tokenizer-kinds.h"

typedef struct {
    SundogTokenTrie *trie;
    uint32_t unknown;
} LongestMatch;

static void
free_state(void *state)
{
    LongestMatch *longest_match = state;
    if (longest_match == NULL)
        return;
    sundog_token_trie_free(longest_match->trie);
    g_free(longest_match);
}

static void *
new_state(const SundogVocabulary *vocabulary, const SundogTokenTable *table, GError **error)
{
    SundogTokenTrie *trie = sundog_token_trie_new(vocabulary, table, error);
    if (trie == NULL)
        return NULL;
    LongestMatch *longest_match = g_new0(LongestMatch, 1);
    longest_match->trie = trie;
    longest_match->unknown = vocabulary->unknown;
    return longest_match;
}

static void
encode(const void *state, const char *text, size_t n_bytes, bool add_space, GArray *tokens)
{
    (void)add_space;
    const LongestMatch *longest_match = state;
    for (size_t pos = 0, length; pos < n_bytes; pos += length) {
        length = 1;
        uint32_t token =
            sundog_token_trie_longest(longest_match->trie, text + pos, n_bytes - pos, &length);
        if (token == SUNDOG_TOKEN_NONE)
            token = longest_match->unknown;
        if (token != SUNDOG_TOKEN_NONE)
            g_array_append_val(tokens, token);
    }
}

const SundogTokenizerWay sundog_longest_match_way = {
    .new_state = new_state, .free_state = free_state, .encode = encode};
