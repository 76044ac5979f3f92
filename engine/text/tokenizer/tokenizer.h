#pragma once

/*
 * Text to tokens and back, for every kind of vocabulary. Special tokens are made only where the
 * caller says that the text is the template's own: a message's text never becomes a control token.
 *
 * Immutable after new; safe to share between threads.
 */

#include "engine/format/vocabulary.h"

typedef struct SundogTokenizer SundogTokenizer;

typedef enum {
    SUNDOG_TOKENIZE_PLAIN = 0,
    SUNDOG_TOKENIZE_SPECIAL = 1, /* control tokens' texts become those tokens */
    SUNDOG_TOKENIZE_ADD = 2,     /* add BOS and EOS as the vocabulary says */
} SundogTokenizeFlags;

/* A stretch of text and whether it is the template's own. */
typedef struct {
    const char *text;
    size_t n_bytes;
    bool trusted;
} SundogTextSpan;

/* Takes the vocabulary, also where it fails. An unknown pre-tokenizer is an error that names it and
 * what is known. */
SundogTokenizer *sundog_tokenizer_new(SundogVocabulary *vocabulary, GError **error);
void sundog_tokenizer_free(SundogTokenizer *tokenizer);
const SundogVocabulary *sundog_tokenizer_get_vocabulary(const SundogTokenizer *tokenizer);

/* Appends to tokens (GArray of uint32_t). Any bytes are taken, also invalid UTF-8. What the
 * vocabulary has no token for becomes its unknown token, and none in byte-level vocabularies. */
void sundog_tokenizer_encode(const SundogTokenizer *tokenizer, const char *text, size_t n_bytes,
                             SundogTokenizeFlags flags, GArray *tokens);
/* The spans joined as one text: their borders change no token, except that a control token is made
 * only where all of its text is trusted. Of the flags only ADD is looked at. */
void sundog_tokenizer_encode_spans(const SundogTokenizer *tokenizer, const SundogTextSpan *spans,
                                   size_t n_spans, SundogTokenizeFlags flags, GArray *tokens);
/* Appends one token's bytes; those of control, unknown and unused tokens only where special is set.
 * False for an id outside the vocabulary. */
bool sundog_tokenizer_append_bytes(const SundogTokenizer *tokenizer, uint32_t token, bool special,
                                   GByteArray *bytes);
bool sundog_tokenizer_is_end(const SundogTokenizer *tokenizer, uint32_t token);
/* The token whose own spelling this is, or SUNDOG_TOKEN_NONE. */
uint32_t sundog_tokenizer_find(const SundogTokenizer *tokenizer, const char *text, size_t n_bytes);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogTokenizer, sundog_tokenizer_free)
