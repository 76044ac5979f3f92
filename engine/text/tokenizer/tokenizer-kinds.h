#pragma once

/* What turns text without special tokens into tokens: one way for each kind of vocabulary. */

#include "engine/text/tokenizer/token-table.h"

typedef struct {
    /* What the way needs beside vocabulary and table, which it borrows. */
    void *(*new_state)(const SundogVocabulary *vocabulary, const SundogTokenTable *table,
                       GError **error);
    void (*free_state)(void *state); /* takes NULL */
    /* Appends the tokens (GArray of uint32_t) of n_bytes > 0 of any bytes, which begin the text or
     * follow a special token. add_space: where the vocabulary adds a space to a text, it does so here.
     * Safe from several threads at once. */
    void (*encode)(const void *state, const char *text, size_t n_bytes, bool add_space,
                   GArray *tokens);
} SundogTokenizerWay;

extern const SundogTokenizerWay sundog_byte_bpe_way;
extern const SundogTokenizerWay sundog_character_bpe_way; /* by merges or by scores */
extern const SundogTokenizerWay sundog_unigram_way;
extern const SundogTokenizerWay sundog_word_piece_way;
extern const SundogTokenizerWay sundog_longest_match_way;
