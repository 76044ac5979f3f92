#pragma once

/*
 * BPE over one word: neighbours are joined, best merge first, until none is left.
 * Source: Sennrich, Haddow and Birch 2016; on bytes as GPT-2 has it, on characters as SentencePiece.
 *
 * Borrows the token table. Its answers never change after new; safe to share between threads.
 */

#include "engine/text/tokenizer/token-table.h"

typedef struct SundogBpe SundogBpe;

/* Of bytes or characters, by a list of merges or by scores, as the vocabulary's kind is.
 * ignore_merges: a word that is a token is that token, whatever the merges would make of it. */
SundogBpe *sundog_bpe_new(const SundogVocabulary *vocabulary, const SundogTokenTable *table,
                          bool ignore_merges);
void sundog_bpe_free(SundogBpe *bpe);

/* Appends the word's tokens (GArray of uint32_t). On bytes, one that the vocabulary has no token
 * for is left out before merging, as in the tokenizers that such vocabularies come from. Takes n log n time; words
 * beyond 1 MiB are merged a MiB at a time, which bounds the memory. */
void sundog_bpe_encode(const SundogBpe *bpe, const char *word, size_t n_bytes, GArray *tokens);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogBpe, sundog_bpe_free)
