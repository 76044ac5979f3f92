#pragma once

/*
 * A vocabulary as masks see it (the message VOCABULARY): each token's bytes, a control token's spelling
 * behind SUNDOG_AUTOMATON_CONTROL_BYTE, and nothing for those that are never answered. Immutable.
 */

#include "engine/text/tokenizer/tokenizer.h"

typedef struct {
    uint32_t n_tokens;
    uint32_t *ends; /* [n_tokens] of each token's bytes, which follow each other */
    GByteArray *bytes;
} SundogTokenBytes;

SundogTokenBytes *sundog_token_bytes_new(const SundogTokenizer *tokenizer);
void sundog_token_bytes_free(SundogTokenBytes *tokens);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogTokenBytes, sundog_token_bytes_free)
