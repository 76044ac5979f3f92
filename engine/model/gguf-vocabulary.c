/*
 * A vocabulary from GGUF's metadata. What ends a generation is the union of every source in the file
 * (its end-of-sequence, -turn and -message ids, and control tokens spelled as such), since files that
 * name only one of them are common and a model that writes another then runs to the limit.
 */

#include "engine/model/gguf-vocabulary.h"

#include "engine/format/error.h"
#include <string.h>

#define PREFIX "tokenizer.ggml."

static const char *const end_spellings[] = {
    "<|im_end|>",    "<|eot_id|>",
    "<|eom_id|>",    "<|end_of_text|>",
    "<|endoftext|>", "<|end|>",
    "<|return|>",    "<|call|>",
    "<end_of_turn>", "<end_of_utterance>",
    "<|turn_end|>",  "<|end_of_turn|>",
    "<eos>",         "</s>",
    "<EOT>",
};

/* Llama 3's files began to tell about BOS only later. */
static const char *const llama3_names[] = {"llama-bpe", "llama3", "llama-v3"};

static bool
is_in(const char *const *list, size_t n, const char *text)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(list[i], text) == 0)
            return true;
    }
    return false;
}

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
    sundog_gguf_get_array_number(gguf, PREFIX "token_type", id, &kind);
    if (!(kind >= SUNDOG_TOKEN_NORMAL && kind <= SUNDOG_TOKEN_BYTE)) {
        g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID,
                    PREFIX "token_type: token %u is of type %g, expected 1 to %d", id, kind,
                    SUNDOG_TOKEN_BYTE);
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
    token->text = insert_text(vocabulary, gguf, PREFIX "tokens", id, &n_bytes, error);
    if (token->text == NULL)
        return false;
    token->length = (uint32_t)n_bytes;
    double score = 0;
    sundog_gguf_get_array_number(gguf, PREFIX "scores", id, &score);
    token->score = (float)score;
    return read_kind(token, gguf, id, error);
}

static bool
read_tokens(SundogVocabulary *vocabulary, const SundogGguf *gguf, GError **error)
{
    uint64_t n_tokens = sundog_gguf_get_array_length(gguf, PREFIX "tokens");
    if (n_tokens < 1 || n_tokens >= SUNDOG_TOKEN_NONE) {
        g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID,
                    PREFIX "tokens has %" G_GUINT64_FORMAT " elements, expected 1 to 2^32 - 2",
                    n_tokens);
        return false;
    }
    vocabulary->n_tokens = (uint32_t)n_tokens;
    vocabulary->tokens = g_new0(SundogToken, n_tokens);
    if (!check_parallel_array(vocabulary, gguf, PREFIX "token_type", error) ||
        !check_parallel_array(vocabulary, gguf, PREFIX "scores", error))
        return false;
    for (uint32_t id = 0; id < vocabulary->n_tokens; id++) {
        if (!read_token(vocabulary, gguf, id, error))
            return false;
    }
    return true;
}

/* A merge names two tokens; byte-level spelling has no space of its own, so one divides them. */
static bool
is_merge(const char *text, size_t n_bytes)
{
    const char *space = n_bytes > 2 ? memchr(text + 1, ' ', n_bytes - 2) : NULL;
    return space != NULL;
}

static bool
read_merges(SundogVocabulary *vocabulary, const SundogGguf *gguf, GError **error)
{
    uint64_t n_merges = sundog_gguf_get_array_length(gguf, PREFIX "merges");
    if (n_merges >= SUNDOG_TOKEN_NONE || !sundog_gguf_has(gguf, PREFIX "merges")) {
        g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID,
                    PREFIX "merges has %" G_GUINT64_FORMAT " elements, expected at most 2^32 - 2",
                    n_merges);
        return false;
    }
    vocabulary->merges = g_new0(const char *, n_merges);
    for (; vocabulary->n_merges < n_merges; vocabulary->n_merges++) {
        size_t n_bytes;
        const char *text =
            insert_text(vocabulary, gguf, PREFIX "merges", vocabulary->n_merges, &n_bytes, error);
        if (text == NULL)
            return false;
        if (!is_merge(text, n_bytes)) {
            g_autofree char *shown = sundog_format_quote(text, "");
            g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID,
                        PREFIX "merges: element %u is %s, expected two tokens and a space",
                        vocabulary->n_merges, shown);
            return false;
        }
        vocabulary->merges[vocabulary->n_merges] = text;
    }
    return true;
}

/* An optional id; SUNDOG_TOKEN_NONE where it is missing. */
static bool
read_id(const SundogVocabulary *vocabulary, const SundogGguf *gguf, const char *key, uint32_t *id,
        GError **error)
{
    uint64_t value = 0;
    *id = SUNDOG_TOKEN_NONE;
    if (!sundog_gguf_has(gguf, key))
        return true;
    if (!sundog_gguf_get_uint(gguf, key, &value) || value >= vocabulary->n_tokens) {
        g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID,
                    "%s is %" G_GUINT64_FORMAT ", expected a token's number below %u", key, value,
                    vocabulary->n_tokens);
        return false;
    }
    *id = (uint32_t)value;
    return true;
}

static bool
read_ids(SundogVocabulary *vocabulary, const SundogGguf *gguf, GError **error)
{
    uint32_t eot, eom;
    if (!read_id(vocabulary, gguf, PREFIX "bos_token_id", &vocabulary->bos, error) ||
        !read_id(vocabulary, gguf, PREFIX "eos_token_id", &vocabulary->eos, error) ||
        !read_id(vocabulary, gguf, PREFIX "unknown_token_id", &vocabulary->unknown, error) ||
        !read_id(vocabulary, gguf, PREFIX "padding_token_id", &vocabulary->padding, error) ||
        !read_id(vocabulary, gguf, PREFIX "eot_token_id", &eot, error) ||
        !read_id(vocabulary, gguf, PREFIX "eom_token_id", &eom, error))
        return false;
    sundog_vocabulary_add_end(vocabulary, vocabulary->eos);
    sundog_vocabulary_add_end(vocabulary, eot);
    sundog_vocabulary_add_end(vocabulary, eom);
    for (uint32_t id = 0; id < vocabulary->n_tokens; id++) {
        const SundogToken *token = &vocabulary->tokens[id];
        if (token->kind == SUNDOG_TOKEN_CONTROL &&
            is_in(end_spellings, G_N_ELEMENTS(end_spellings), token->text))
            sundog_vocabulary_add_end(vocabulary, id);
    }
    return true;
}

static void
read_flags(SundogVocabulary *vocabulary, const SundogGguf *gguf)
{
    bool is_llama3 = is_in(llama3_names, G_N_ELEMENTS(llama3_names), vocabulary->pre_tokenizer);
    vocabulary->add_bos = is_llama3;
    sundog_gguf_get_bool(gguf, PREFIX "add_bos_token", &vocabulary->add_bos);
    sundog_gguf_get_bool(gguf, PREFIX "add_eos_token", &vocabulary->add_eos);
    sundog_gguf_get_bool(gguf, PREFIX "add_space_prefix", &vocabulary->add_space_prefix);
    vocabulary->add_bos = vocabulary->add_bos && vocabulary->bos != SUNDOG_TOKEN_NONE;
    vocabulary->add_eos = vocabulary->add_eos && vocabulary->eos != SUNDOG_TOKEN_NONE;
}

/* "default" is GGUF's word for a file that does not say; the text house decides what it means. */
static bool
read_kinds(SundogVocabulary *vocabulary, const SundogGguf *gguf, GError **error)
{
    const char *kind = sundog_gguf_get_string(gguf, PREFIX "model", NULL);
    if (g_strcmp0(kind, "gpt2") != 0) {
        g_autofree char *shown = sundog_format_quote(kind, "missing");
        g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                    PREFIX "model is %s, known are: \"gpt2\"", shown);
        return false;
    }
    const char *name = sundog_gguf_get_string(gguf, PREFIX "pre", NULL);
    if (name != NULL && !g_utf8_validate(name, -1, NULL)) {
        g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID,
                    PREFIX "pre is not UTF-8");
        return false;
    }
    vocabulary->pre_tokenizer = g_strdup(name != NULL ? name : "default");
    return true;
}

SundogVocabulary *
sundog_gguf_dup_vocabulary(const SundogGguf *gguf, GError **error)
{
    g_autoptr(SundogVocabulary) vocabulary = sundog_vocabulary_new();
    if (!read_kinds(vocabulary, gguf, error) || !read_tokens(vocabulary, gguf, error) ||
        !read_merges(vocabulary, gguf, error) || !read_ids(vocabulary, gguf, error))
        return NULL;
    read_flags(vocabulary, gguf);
    return g_steal_pointer(&vocabulary);
}
