#pragma once

/*
 * What each token of a vocabulary stands for in bytes, and the way back from bytes to the token.
 * Only tokens that text may become are found: a control token has bytes, but no bytes lead to it, so
 * whatever is built on this table cannot make one by accident.
 *
 * Borrows the vocabulary. Immutable after new; safe to share between threads.
 */

#include "engine/text/tokenizer/spelling.h"

typedef struct SundogTokenTable SundogTokenTable;

SundogTokenTable *sundog_token_table_new(const SundogVocabulary *vocabulary,
                                         SundogSpelling spelling);
void sundog_token_table_free(SundogTokenTable *table);

/* A token's bytes, borrowed; token < n_tokens. */
const char *sundog_token_table_get(const SundogTokenTable *table, uint32_t token, size_t *n_bytes);
/* The normal token that spells exactly these bytes, or SUNDOG_TOKEN_NONE. */
uint32_t sundog_token_table_find(const SundogTokenTable *table, const char *bytes, size_t n_bytes);
/* The same by the token's own text. */
uint32_t sundog_token_table_find_spelled(const SundogTokenTable *table, const char *text,
                                         size_t n_bytes);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogTokenTable, sundog_token_table_free)
