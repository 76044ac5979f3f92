/* A vocabulary's bytes in one array. */

#include "engine/text/tokenizer/token-bytes.h"

#include "engine/wire/automaton.h"

SundogTokenBytes *
sundog_token_bytes_new(const SundogTokenizer *tokenizer)
{
    static const uint8_t control = SUNDOG_AUTOMATON_CONTROL_BYTE;
    const SundogVocabulary *vocabulary = sundog_tokenizer_get_vocabulary(tokenizer);
    SundogTokenBytes *tokens = g_new0(SundogTokenBytes, 1);
    tokens->n_tokens = vocabulary->n_tokens;
    tokens->ends = g_new(uint32_t, vocabulary->n_tokens);
    tokens->bytes = g_byte_array_new();
    for (uint32_t i = 0; i < vocabulary->n_tokens; i++) {
        SundogTokenKind kind = vocabulary->tokens[i].kind;
        if (kind == SUNDOG_TOKEN_CONTROL)
            g_byte_array_append(tokens->bytes, &control, 1);
        if (kind != SUNDOG_TOKEN_UNKNOWN && kind != SUNDOG_TOKEN_UNUSED)
            sundog_tokenizer_append_bytes(tokenizer, i, true, tokens->bytes);
        tokens->ends[i] = tokens->bytes->len;
    }
    return tokens;
}

void
sundog_token_bytes_free(SundogTokenBytes *tokens)
{
    if (tokens == NULL)
        return;
    g_free(tokens->ends);
    g_byte_array_unref(tokens->bytes);
    g_free(tokens);
}
