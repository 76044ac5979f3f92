#pragma once

/*
 * What merging begins with: a word's bytes or characters, as numbers. A symbol below the number of
 * tokens is that token; those above are characters that are no token, but part of one.
 *
 * Borrows vocabulary and token table. Immutable after new; safe to share between threads.
 */

#include "engine/text/tokenizer/token-table.h"

typedef struct SundogSymbols SundogSymbols;

/* A symbol a byte; a byte that is no token has none. */
SundogSymbols *sundog_symbols_new_of_bytes(const SundogVocabulary *vocabulary,
                                           const SundogTokenTable *table);
/* A symbol a character; what is no character, and characters that no token holds, are the byte tokens
 * of their bytes, or the unknown token where the vocabulary has none. */
SundogSymbols *sundog_symbols_new_of_characters(const SundogVocabulary *vocabulary,
                                                const SundogTokenTable *table);
void sundog_symbols_free(SundogSymbols *symbols);

/* Writes the word's symbols, at most one a byte; returns how many. */
size_t sundog_symbols_split(const SundogSymbols *symbols, const char *word, size_t n_bytes,
                            uint32_t *split);
/* The symbol that has exactly this text, or SUNDOG_TOKEN_NONE. */
uint32_t sundog_symbols_find(const SundogSymbols *symbols, const char *text, size_t n_bytes);
/* Appends what is left after merging (GArray of uint32_t), as tokens. Neighbouring unknown tokens
 * become one. */
void sundog_symbols_append(const SundogSymbols *symbols, const uint32_t *left, size_t n_left,
                           GArray *tokens);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogSymbols, sundog_symbols_free)
