/* Pairs of tokens in one open-addressed table, two thirds full at most. */

#include "engine/text/merge-table.h"

#include "engine/text/byte-letters.h"

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

/* "left right"; no byte letter is a space. bytes is scratch: the left part's, then the right one's. */
static void
add(SundogMergeTable *table, const SundogTokenTable *tokens, const char *text, uint32_t rank,
    GByteArray *bytes)
{
    const char *space = strchr(text, ' ');
    g_byte_array_set_size(bytes, 0);
    if (space == NULL || !sundog_byte_letters_append(text, (size_t)(space - text), bytes))
        return;
    size_t n_left = bytes->len;
    if (!sundog_byte_letters_append(space + 1, strlen(space + 1), bytes))
        return;
    const char *both = (const char *)bytes->data;
    uint32_t left = sundog_token_table_find(tokens, both, n_left);
    uint32_t right = sundog_token_table_find(tokens, both + n_left, bytes->len - n_left);
    uint32_t merged = sundog_token_table_find(tokens, both, bytes->len);
    if (left == SUNDOG_TOKEN_NONE || right == SUNDOG_TOKEN_NONE || merged == SUNDOG_TOKEN_NONE)
        return;
    SundogMerge *merge = probe(table, left, right);
    if (merge->left == SUNDOG_TOKEN_NONE)
        *merge = (SundogMerge){left, right, rank, merged};
}

SundogMergeTable *
sundog_merge_table_new(const SundogVocabulary *vocabulary, const SundogTokenTable *tokens)
{
    SundogMergeTable *table = g_new0(SundogMergeTable, 1);
    uint64_t n_entries = 16;
    while (n_entries < (uint64_t)vocabulary->n_merges * 3 / 2)
        n_entries *= 2;
    table->merges = g_new(SundogMerge, n_entries);
    memset(table->merges, 0xFF, n_entries * sizeof table->merges[0]);
    table->mask = (uint32_t)(n_entries - 1);
    g_autoptr(GByteArray) scratch = g_byte_array_new();
    for (uint32_t i = 0; i < vocabulary->n_merges; i++)
        add(table, tokens, vocabulary->merges[i], i, scratch);
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
