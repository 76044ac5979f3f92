#pragma once

/*
 * The tokens that are found in text before it is cut into words: control tokens, only where the caller
 * trusts the text, and user-defined ones everywhere. At each place the longest is taken.
 *
 * Borrows the vocabulary. Immutable after new; safe to share between threads.
 */

#include "engine/format/vocabulary.h"

typedef struct SundogSpecialTokens SundogSpecialTokens;

/* Fails where such a token is longer than 1,024 bytes: each place of a text may be compared with it. */
SundogSpecialTokens *sundog_special_tokens_new(const SundogVocabulary *vocabulary, GError **error);
void sundog_special_tokens_free(SundogSpecialTokens *specials);

/* The longest token at the beginning of the text, or SUNDOG_TOKEN_NONE: a user-defined one within
 * n_bytes, a control token within the first n_trusted of them. */
uint32_t sundog_special_tokens_match(const SundogSpecialTokens *specials, const char *text,
                                     size_t n_bytes, size_t n_trusted, size_t *n_matched);
/* Whether some token begins with this byte. */
bool sundog_special_tokens_may_begin(const SundogSpecialTokens *specials, uint8_t byte);
/* The token with exactly this text, or SUNDOG_TOKEN_NONE. */
uint32_t sundog_special_tokens_find(const SundogSpecialTokens *specials, const char *text,
                                    size_t n_bytes);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogSpecialTokens, sundog_special_tokens_free)
