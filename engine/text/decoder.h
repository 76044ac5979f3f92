#pragma once

/*
 * Tokens to text as they come: never splits a character, holds back what may begin a stop string, and
 * gives the same text whatever the pieces. Bytes that can be no UTF-8 become U+FFFD only when the next
 * bytes prove it, or at the end. One a request; not thread-safe.
 */

#include "engine/text/tokenizer/tokenizer.h"

typedef struct SundogDecoder SundogDecoder;

/* stops: NULL-terminated list of non-empty strings, or NULL; copied. */
SundogDecoder *sundog_decoder_new(const SundogTokenizer *tokenizer, const char *const *stops);
void sundog_decoder_free(SundogDecoder *decoder);

/* Says, before the first token, that the tokens are a whole text and no continuation: the space that
 * encoding added to its beginning is left out. An answer goes on from its prompt, where every space is
 * the model's own. */
void sundog_decoder_begin_text(SundogDecoder *decoder);

/* Control tokens whose spelling is shown like any text; the others are left out. Borrowed. */
void sundog_decoder_show(SundogDecoder *decoder, const uint32_t *tokens, size_t n_tokens);

/* Feeds one token and appends what may be shown now. Returns false once a stop string was met: the
 * text before it has been given, nothing more will be. */
bool sundog_decoder_feed(SundogDecoder *decoder, uint32_t token, GString *text);
/* The end: appends what was held back (an incomplete character becomes U+FFFD only if `whole`, else it
 * is dropped, as when an answer ends by its length). */
void sundog_decoder_finish(SundogDecoder *decoder, bool whole, GString *text);
/* How many of the tokens that were fed have all their text shown; of those that share a character none has
 * before the last. At the end, all that are no part of what was cut off: where a stop string was met, the
 * tokens of which text stands before it. */
size_t sundog_decoder_get_n_shown(const SundogDecoder *decoder);
/* The stop string that was met, or NULL. */
const char *sundog_decoder_get_stop(const SundogDecoder *decoder);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogDecoder, sundog_decoder_free)
