/* The arrays of a vocabulary: texts, kinds and scores of its tokens, merges, and the character map. */

#include "engine/model/gguf-tokens.h"

#include "engine/format/error.h"

#include <string.h>

/* Element `index` of an array of texts, owned by the vocabulary. */
static const char *
insert_text(SundogVocabulary *vocabulary, const SundogGguf *gguf, const char *key, uint64_t index,
            size_t *n_bytes, GError **error)
{
    const char *text = sundog_gguf_get_array_string(gguf, key, index, n_bytes);
    if (text != NULL && *n_bytes <= G_MAXINT32 && g_utf8_validate_len(text, *n_bytes, NULL))
        return g_string_chunk_insert_len(vocabulary->strings, text, (gssize)*n_bytes);
    g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID,
                "%s: element %" G_GUINT64_FORMAT " is %s, expected UTF-8 without NUL", key, index,
                text != NULL ? "not valid" : "not a text");
    return NULL;
}

/* The length of an array of one element a token; 0 where it is missing, which is allowed. */
static bool
check_parallel_array(const SundogVocabulary *vocabulary, const SundogGguf *gguf, const char *key,
                     GError **error)
{
    uint64_t length = sundog_gguf_get_array_length(gguf, key);
    double first;
    if (!sundog_gguf_has(gguf, key))
        return true;
    if (length == vocabulary->n_tokens && sundog_gguf_get_array_number(gguf, key, 0, &first))
        return true;
    g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID,
                "%s has %" G_GUINT64_FORMAT " elements, expected %u numbers, one a token", key,
                length, vocabulary->n_tokens);
    return false;
}

static bool
read_kind(SundogToken *token, const SundogGguf *gguf, uint32_t id, GError **error)
{
    double kind = SUNDOG_TOKEN_NORMAL;
    sundog_gguf_get_array_number(gguf, SUNDOG_GGUF_TOKENIZER "token_type", id, &kind);
    if (!(kind >= SUNDOG_TOKEN_NORMAL && kind <= SUNDOG_TOKEN_BYTE)) {
        g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID,
                    SUNDOG_GGUF_TOKENIZER "token_type: token %u is of type %g, expected 1 to %d",
                    id, kind, SUNDOG_TOKEN_BYTE);
        return false;
    }
    token->kind = (SundogTokenKind)kind;
    return true;
}

static bool
read_token(SundogVocabulary *vocabulary, const SundogGguf *gguf, uint32_t id, GError **error)
{
    SundogToken *token = &vocabulary->tokens[id];
    size_t n_bytes;
    token->text =
        insert_text(vocabulary, gguf, SUNDOG_GGUF_TOKENIZER "tokens", id, &n_bytes, error);
    if (token->text == NULL)
        return false;
    token->length = (uint32_t)n_bytes;
    double score = 0;
    sundog_gguf_get_array_number(gguf, SUNDOG_GGUF_TOKENIZER "scores", id, &score);
    token->score = (float)score;
    return read_kind(token, gguf, id, error);
}

bool
sundog_gguf_read_tokens(SundogVocabulary *vocabulary, const SundogGguf *gguf, GError **error)
{
    uint64_t n_tokens = sundog_gguf_get_array_length(gguf, SUNDOG_GGUF_TOKENIZER "tokens");
    if (n_tokens < 1 || n_tokens >= SUNDOG_TOKEN_NONE) {
        g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID,
                    SUNDOG_GGUF_TOKENIZER "tokens has %" G_GUINT64_FORMAT
                                          " elements, expected 1 to 2^32 - 2",
                    n_tokens);
        return false;
    }
    vocabulary->n_tokens = (uint32_t)n_tokens;
    vocabulary->tokens = g_new0(SundogToken, n_tokens);
    if (!check_parallel_array(vocabulary, gguf, SUNDOG_GGUF_TOKENIZER "token_type", error) ||
        !check_parallel_array(vocabulary, gguf, SUNDOG_GGUF_TOKENIZER "scores", error))
        return false;
    for (uint32_t id = 0; id < vocabulary->n_tokens; id++)
        if (!read_token(vocabulary, gguf, id, error))
            return false;
    return true;
}

/* A merge names two tokens; byte-level spelling has no space of its own, so one divides them. */
static bool
is_merge(const char *text, size_t n_bytes)
{
    const char *space = n_bytes > 2 ? memchr(text + 1, ' ', n_bytes - 2) : NULL;
    return space != NULL;
}

bool
sundog_gguf_read_merges(SundogVocabulary *vocabulary, const SundogGguf *gguf, GError **error)
{
    uint64_t n_merges = sundog_gguf_get_array_length(gguf, SUNDOG_GGUF_TOKENIZER "merges");
    if (n_merges >= SUNDOG_TOKEN_NONE || !sundog_gguf_has(gguf, SUNDOG_GGUF_TOKENIZER "merges")) {
        g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID,
                    SUNDOG_GGUF_TOKENIZER "merges has %" G_GUINT64_FORMAT
                                          " elements, expected at most 2^32 - 2",
                    n_merges);
        return false;
    }
    vocabulary->merges = g_new0(const char *, n_merges);
    for (; vocabulary->n_merges < n_merges; vocabulary->n_merges++) {
        size_t n_bytes;
        const char *text = insert_text(vocabulary, gguf, SUNDOG_GGUF_TOKENIZER "merges",
                                       vocabulary->n_merges, &n_bytes, error);
        if (text == NULL)
            return false;
        if (!is_merge(text, n_bytes)) {
            g_autofree char *shown = sundog_format_quote(text, "");
            g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID,
                        SUNDOG_GGUF_TOKENIZER
                        "merges: element %u is %s, expected two tokens and a space",
                        vocabulary->n_merges, shown);
            return false;
        }
        vocabulary->merges[vocabulary->n_merges] = text;
    }
    return true;
}

bool
sundog_gguf_read_character_map(SundogVocabulary *vocabulary, const SundogGguf *gguf, GError **error)
{
    const char *key = SUNDOG_GGUF_TOKENIZER "precompiled_charsmap";
    uint64_t n_bytes = sundog_gguf_get_array_length(gguf, key);
    if (n_bytes == 0)
        return true;
    if (n_bytes > G_MAXINT32) {
        g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID,
                    "%s has %" G_GUINT64_FORMAT " bytes, expected fewer than 2^31", key, n_bytes);
        return false;
    }
    vocabulary->character_map = g_malloc(n_bytes);
    vocabulary->n_character_map_bytes = (uint32_t)n_bytes;
    for (uint64_t i = 0; i < n_bytes; i++) {
        double byte = 0;
        if (!sundog_gguf_get_array_number(gguf, key, i, &byte) || byte < -128 || byte > 255) {
            g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID,
                        "%s: element %" G_GUINT64_FORMAT " is %g, expected a byte", key, i, byte);
            return false;
        }
        vocabulary->character_map[i] = (uint8_t)(int)byte;
    }
    return true;
}
