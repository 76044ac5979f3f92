#pragma once

/*
 * Which two neighbouring symbols merge, how early, and into what. Borrows nothing. Immutable after new;
 * safe to share between threads.
 */

#include "engine/text/tokenizer/symbols.h"

typedef struct SundogMergeTable SundogMergeTable;

typedef struct {
    uint32_t left;
    uint32_t right;
    uint32_t rank; /* lower merges first */
    uint32_t merged;
} SundogMerge;

#define SUNDOG_MERGE_LAST_RANK (UINT32_MAX - 1)

/* The vocabulary's list. Leaves out a merge whose parts or result text may not become: a control
 * token, or no token. Of two merges of the same pair the first stays. */
SundogMergeTable *sundog_merge_table_new(const SundogVocabulary *vocabulary,
                                         const SundogTokenTable *tokens, SundogSpelling spelling);
/* Two symbols merge wherever their texts are a token's together, of up to 1,024 bytes, the higher its
 * score the earlier. */
SundogMergeTable *sundog_merge_table_new_from_scores(const SundogVocabulary *vocabulary,
                                                     const SundogTokenTable *tokens,
                                                     const SundogSymbols *symbols);
void sundog_merge_table_free(SundogMergeTable *table);

/* NULL where the two do not merge. */
const SundogMerge *sundog_merge_table_find(const SundogMergeTable *table, uint32_t left,
                                           uint32_t right);
