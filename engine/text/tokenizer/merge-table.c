/* Pairs of tokens in one open-addressed table, two thirds full at most. */

#include "engine/text/tokenizer/merge-table.h"

#include "engine/text/utf8.h"

#include <string.h>

struct SundogMergeTable {
    SundogMerge *merges; /* [mask + 1]; left is SUNDOG_TOKEN_NONE where an entry is free */
    uint32_t mask;
};

/* The entry of the pair, or the free one where it would go. */
static SundogMerge *
probe(const SundogMergeTable *table, uint32_t left, uint32_t right)
{
    uint64_t key = (uint64_t)left << 32 | right;
    uint32_t i = (uint32_t)((key * UINT64_C(0x9E3779B97F4A7C15)) >> 32);
    for (;; i++) {
        SundogMerge *merge = &table->merges[i & table->mask];
        if ((merge->left == left && merge->right == right) || merge->left == SUNDOG_TOKEN_NONE)
            return merge;
    }
}

const SundogMerge *
sundog_merge_table_find(const SundogMergeTable *table, uint32_t left, uint32_t right)
{
    const SundogMerge *merge = probe(table, left, right);
    return merge->left == SUNDOG_TOKEN_NONE ? NULL : merge;
}

/* Of two merges of the same pair the first stays. */
static void
insert(SundogMergeTable *table, const SundogMerge *added)
{
    SundogMerge *merge = probe(table, added->left, added->right);
    if (merge->left == SUNDOG_TOKEN_NONE)
        *merge = *added;
}

/* "left right"; no spelling holds a space. bytes is scratch: the left part's, then the right one's. */
static void
add_listed(SundogMergeTable *table, const SundogTokenTable *tokens, SundogSpelling spelling,
           const char *text, uint32_t rank, GByteArray *bytes)
{
    const char *space = strchr(text, ' ');
    g_byte_array_set_size(bytes, 0);
    if (space == NULL || !sundog_spelling_append(spelling, text, (size_t)(space - text), bytes))
        return;
    size_t n_left = bytes->len;
    if (!sundog_spelling_append(spelling, space + 1, strlen(space + 1), bytes))
        return;
    const char *both = (const char *)bytes->data;
    SundogMerge merge = {
        .left = sundog_token_table_find(tokens, both, n_left),
        .right = sundog_token_table_find(tokens, both + n_left, bytes->len - n_left),
        .rank = rank,
        .merged = sundog_token_table_find(tokens, both, bytes->len),
    };
    if (merge.left != SUNDOG_TOKEN_NONE && merge.right != SUNDOG_TOKEN_NONE &&
        merge.merged != SUNDOG_TOKEN_NONE)
        insert(table, &merge);
}

static SundogMergeTable *
new_empty(uint64_t n_merges)
{
    SundogMergeTable *table = g_new0(SundogMergeTable, 1);
    uint64_t n_entries = 16;
    while (n_entries < n_merges * 3 / 2)
        n_entries *= 2;
    table->merges = g_new(SundogMerge, n_entries);
    memset(table->merges, 0xFF, n_entries * sizeof table->merges[0]);
    table->mask = (uint32_t)(n_entries - 1);
    return table;
}

SundogMergeTable *
sundog_merge_table_new(const SundogVocabulary *vocabulary, const SundogTokenTable *tokens,
                       SundogSpelling spelling)
{
    SundogMergeTable *table = new_empty(vocabulary->n_merges);
    g_autoptr(GByteArray) scratch = g_byte_array_new();
    for (uint32_t i = 0; i < vocabulary->n_merges; i++)
        add_listed(table, tokens, spelling, vocabulary->merges[i], i, scratch);
    return table;
}

/* Higher scores merge first: the bits of a float, ordered as its value is and turned round. */
static uint32_t
rank_of_score(float score)
{
    uint32_t bits;
    memcpy(&bits, &score, sizeof bits);
    uint32_t ordered = bits >> 31 != 0 ? ~bits : bits | UINT32_C(0x80000000);
    return MIN(~ordered, SUNDOG_MERGE_LAST_RANK);
}

/* Longer tokens come of no merge: no vocabulary has them, and each costs the square of its length. */
#define LONGEST_MERGED_BYTES 1024

/* Every way to cut the token in two symbols. */
static void
collect_cuts(const SundogVocabulary *vocabulary, const SundogTokenTable *tokens,
             const SundogSymbols *symbols, uint32_t token, GArray *merges)
{
    size_t n_bytes;
    const char *bytes = sundog_token_table_get(tokens, token, &n_bytes);
    SundogMerge merge = {.rank = rank_of_score(vocabulary->tokens[token].score), .merged = token};
    SundogUtf8State state;
    for (size_t cut = 0; (cut += sundog_utf8_scan(bytes + cut, n_bytes - cut, &state)) < n_bytes;) {
        merge.left = sundog_symbols_find(symbols, bytes, cut);
        if (merge.left == SUNDOG_TOKEN_NONE)
            continue;
        merge.right = sundog_symbols_find(symbols, bytes + cut, n_bytes - cut);
        if (merge.right != SUNDOG_TOKEN_NONE)
            g_array_append_val(merges, merge);
    }
}

SundogMergeTable *
sundog_merge_table_new_from_scores(const SundogVocabulary *vocabulary,
                                   const SundogTokenTable *tokens, const SundogSymbols *symbols)
{
    g_autoptr(GArray) merges = g_array_new(FALSE, FALSE, sizeof(SundogMerge));
    for (uint32_t i = 0; i < vocabulary->n_tokens; i++) {
        size_t n_bytes;
        const char *bytes = sundog_token_table_get(tokens, i, &n_bytes);
        if (n_bytes > 1 && n_bytes <= LONGEST_MERGED_BYTES &&
            sundog_token_table_find(tokens, bytes, n_bytes) == i)
            collect_cuts(vocabulary, tokens, symbols, i, merges);
    }
    SundogMergeTable *table = new_empty(merges->len);
    for (guint i = 0; i < merges->len; i++)
        insert(table, &g_array_index(merges, SundogMerge, i));
    return table;
}

void
sundog_merge_table_free(SundogMergeTable *table)
{
    if (table == NULL)
        return;
    g_free(table->merges);
    g_free(table);
}
