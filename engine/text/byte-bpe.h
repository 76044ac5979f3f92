#pragma once

/*
 * Byte-level BPE over one word: neighbours are joined, best merge first, until none is left.
 * Source: Sennrich, Haddow and Birch 2016, on bytes as GPT-2 has it.
 *
 * Borrows the token table. Its answers never change after new; safe to share between threads.
 */

#include "engine/text/token-table.h"

typedef struct SundogByteBpe SundogByteBpe;

/* ignore_merges: a word that is a token is that token, whatever the merges would make of it. */
SundogByteBpe *sundog_byte_bpe_new(const SundogVocabulary *vocabulary,
                                   const SundogTokenTable *table, bool ignore_merges);
void sundog_byte_bpe_free(SundogByteBpe *bpe);

/* Appends the word's tokens (GArray of uint32_t). A byte that the vocabulary has no token for is left
 * out before merging, as in the tokenizers that such vocabularies come from. Takes n log n time; words
 * beyond 1 MiB are merged a MiB at a time, which bounds the memory. */
void sundog_byte_bpe_encode(const SundogByteBpe *bpe, const char *word, size_t n_bytes,
                            GArray *tokens);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogByteBpe, sundog_byte_bpe_free)
