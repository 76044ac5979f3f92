/* Joins what the texts of a folder say about tokens, and fits the number of tokens to the model's. */

#include "engine/model/hf-vocabulary.h"

#include "engine/format/error.h"
#include "engine/format/hf-tokenizer.h"
#include "engine/format/sentencepiece.h"

/* Far beyond any model's. */
#define MAX_TOKENS (1u << 24)

typedef bool (*Read)(SundogVocabulary *vocabulary, const char *json, size_t n_bytes,
                     GError **error);

static bool
read_with(SundogVocabulary *vocabulary, GBytes *file, Read read, GError **error)
{
    size_t n_bytes;
    if (file == NULL)
        return true;
    const char *text = g_bytes_get_data(file, &n_bytes);
    return read(vocabulary, text, n_bytes, error);
}

static void
add_unused(SundogVocabulary *vocabulary, uint32_t n_tokens)
{
    vocabulary->tokens = g_renew(SundogToken, vocabulary->tokens, n_tokens);
    for (uint32_t i = vocabulary->n_tokens; i < n_tokens; i++)
        vocabulary->tokens[i] = (SundogToken){.text = "", .kind = SUNDOG_TOKEN_UNUSED};
    vocabulary->n_tokens = n_tokens;
}

static void
forget(uint32_t *token, uint32_t n_tokens)
{
    if (*token >= n_tokens)
        *token = SUNDOG_TOKEN_NONE;
}

/* A token that no merge and no score needs may go. */
static bool
cut(SundogVocabulary *vocabulary, uint32_t n_tokens, GError **error)
{
    for (uint32_t i = n_tokens; i < vocabulary->n_tokens; i++) {
        SundogTokenKind kind = vocabulary->tokens[i].kind;
        if (kind == SUNDOG_TOKEN_NORMAL || kind == SUNDOG_TOKEN_BYTE) {
            g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID,
                        "the tokenizer has a token %u, though config.json has vocab_size %u", i,
                        n_tokens);
            return false;
        }
    }
    vocabulary->n_tokens = n_tokens;
    forget(&vocabulary->bos, n_tokens);
    forget(&vocabulary->eos, n_tokens);
    forget(&vocabulary->unknown, n_tokens);
    forget(&vocabulary->padding, n_tokens);
    uint32_t n_ends = 0;
    for (uint32_t i = 0; i < vocabulary->n_ends; i++)
        if (vocabulary->ends[i] < n_tokens)
            vocabulary->ends[n_ends++] = vocabulary->ends[i];
    vocabulary->n_ends = n_ends;
    vocabulary->add_bos = vocabulary->add_bos && vocabulary->bos != SUNDOG_TOKEN_NONE;
    vocabulary->add_eos = vocabulary->add_eos && vocabulary->eos != SUNDOG_TOKEN_NONE;
    return true;
}

static bool
fit(SundogVocabulary *vocabulary, double n_rows, GError **error)
{
    /* What is no number of tokens at all, the dimensions' reader refuses with the setting's name. */
    if (!(n_rows >= 1 && n_rows <= MAX_TOKENS))
        return true;
    if (n_rows < vocabulary->n_tokens)
        return cut(vocabulary, (uint32_t)n_rows, error);
    if (n_rows > vocabulary->n_tokens)
        add_unused(vocabulary, (uint32_t)n_rows);
    return true;
}

/* Of tokenizer.json, or of tokenizer.model and what is said beside it. */
static SundogVocabulary *
read_tokenizer(const SundogHfVocabularyFiles *files, GError **error)
{
    size_t n_bytes;
    if (files->tokenizer != NULL) {
        const char *text = g_bytes_get_data(files->tokenizer, &n_bytes);
        return sundog_hf_tokenizer_read(text, n_bytes, error);
    }
    const uint8_t *data = g_bytes_get_data(files->pieces, &n_bytes);
    g_autoptr(SundogVocabulary) vocabulary = sundog_sentencepiece_read(data, n_bytes, error);
    return vocabulary != NULL && read_with(vocabulary, files->tokenizer_config,
                                           sundog_hf_tokenizer_read_additions, error)
               ? g_steal_pointer(&vocabulary)
               : NULL;
}

SundogVocabulary *
sundog_hf_vocabulary_read(const SundogHfVocabularyFiles *files, double n_rows, GError **error)
{
    g_autoptr(SundogVocabulary) vocabulary = read_tokenizer(files, error);
    if (vocabulary == NULL ||
        !read_with(vocabulary, files->tokenizer_config, sundog_hf_tokenizer_read_config, error) ||
        !fit(vocabulary, n_rows, error) ||
        !read_with(vocabulary, files->generation_config, sundog_hf_tokenizer_read_ends, error) ||
        !read_with(vocabulary, files->config, sundog_hf_tokenizer_read_ends, error))
        return NULL;
    return g_steal_pointer(&vocabulary);
}
