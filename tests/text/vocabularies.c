#include "tests/text/vocabularies.h"

#include "engine/model/gguf-vocabulary.h"

#include <string.h>

char *
test_fetch(const char *what)
{
    const char *source = g_getenv("SUNDOG_SOURCE");
    g_autofree char *script = g_build_filename(source != NULL ? source : ".", "tests/fetch", NULL);
    const char *command[] = {script, what, NULL};
    g_autofree char *path = NULL;
    g_autofree char *problem = NULL;
    g_autoptr(GError) error = NULL;
    int status = 0;
    if (g_spawn_sync(NULL, (char **)command, NULL, G_SPAWN_DEFAULT, NULL, NULL, &path, &problem,
                     &status, &error) &&
        g_spawn_check_wait_status(status, &error))
        return g_strdup(g_strchomp(path));
    g_autofree char *reason = g_strdup_printf("%s could not be fetched: %s", what,
                                              problem != NULL ? problem : "no script");
    g_test_skip(g_strdelimit(reason, "\n", ' '));
    return NULL;
}

SundogTokenizer *
test_open_tokenizer(const char *gguf_path, GError **error)
{
    g_autoptr(SundogGguf) gguf = sundog_gguf_open(gguf_path, error);
    if (gguf == NULL)
        return NULL;
    SundogVocabulary *vocabulary = sundog_gguf_dup_vocabulary(gguf, error);
    return vocabulary != NULL ? sundog_tokenizer_new(vocabulary, error) : NULL;
}

static void
add_token(GArray *tokens, GStringChunk *strings, const char *text, SundogTokenKind kind)
{
    SundogToken token = {g_string_chunk_insert(strings, text), (uint32_t)strlen(text), kind, 0};
    g_array_append_val(tokens, token);
}

static bool
prints(unsigned byte)
{
    return (byte > 0x20 && byte < 0x7F) || (byte > 0xA0 && byte != 0xAD);
}

static void
add_bytes(GArray *tokens, GStringChunk *strings)
{
    unsigned n_lettered = 0;
    for (unsigned byte = 0; byte < 256; byte++) {
        char letter[8] = {0};
        g_unichar_to_utf8(prints(byte) ? byte : 0x100 + n_lettered++, letter);
        add_token(tokens, strings, letter, SUNDOG_TOKEN_NORMAL);
    }
}

static void
add_merge(GPtrArray *merges, GArray *tokens, GStringChunk *strings, const char *merge)
{
    g_auto(GStrv) parts = g_strsplit(merge, " ", 2);
    g_autofree char *merged = g_strconcat(parts[0], parts[1], NULL);
    add_token(tokens, strings, merged, SUNDOG_TOKEN_NORMAL);
    g_ptr_array_add(merges, g_string_chunk_insert(strings, merge));
}

SundogVocabulary *
test_new_vocabulary(const char *pre_tokenizer)
{
    /* 北 is E5 8C 97, which is spelled å, Į and Ĺ; a space is Ġ. */
    static const char *const merges[] = {
        "h e",
        "l l",
        "he ll",
        "hell o",
        "\xC4\xA0 h",
        "\xC4\xA0 hello",
        "\xC3\xA5 \xC4\xAE",
        "\xC3\xA5\xC4\xAE \xC4\xB9",
    };
    SundogVocabulary *vocabulary = sundog_vocabulary_new();
    g_autoptr(GArray) tokens = g_array_new(FALSE, FALSE, sizeof(SundogToken));
    g_autoptr(GPtrArray) made = g_ptr_array_new();
    add_bytes(tokens, vocabulary->strings);
    for (size_t i = 0; i < G_N_ELEMENTS(merges); i++)
        add_merge(made, tokens, vocabulary->strings, merges[i]);
    vocabulary->bos = tokens->len;
    add_token(tokens, vocabulary->strings, "<|begin|>", SUNDOG_TOKEN_CONTROL);
    vocabulary->eos = tokens->len;
    add_token(tokens, vocabulary->strings, "<|end|>", SUNDOG_TOKEN_CONTROL);
    add_token(tokens, vocabulary->strings, "<|end|>|", SUNDOG_TOKEN_CONTROL);
    add_token(tokens, vocabulary->strings, "<think>", SUNDOG_TOKEN_USER_DEFINED);
    add_token(tokens, vocabulary->strings, "[PAD]", SUNDOG_TOKEN_UNUSED);
    vocabulary->kind = SUNDOG_TOKENIZER_BPE;
    vocabulary->pre_tokenizer = g_strdup(pre_tokenizer);
    vocabulary->n_tokens = tokens->len;
    vocabulary->tokens = g_memdup2(tokens->data, tokens->len * sizeof(SundogToken));
    vocabulary->n_merges = made->len;
    vocabulary->merges = g_memdup2(made->pdata, made->len * sizeof(char *));
    vocabulary->unknown = vocabulary->padding = SUNDOG_TOKEN_NONE;
    sundog_vocabulary_add_end(vocabulary, vocabulary->eos);
    return vocabulary;
}

static void
add_byte_tokens(GArray *tokens, GStringChunk *strings, SundogTokenizerKind kind)
{
    for (unsigned byte = 0; kind != SUNDOG_TOKENIZER_WORD_PIECE && byte < 256; byte++) {
        bool escaped = kind == SUNDOG_TOKENIZER_LONGEST;
        g_autofree char *text = g_strdup_printf(escaped ? "\\x%02x" : "<0x%02X>", byte);
        add_token(tokens, strings, text, escaped ? SUNDOG_TOKEN_NORMAL : SUNDOG_TOKEN_BYTE);
    }
}

static void
add_pieces(GArray *tokens, GStringChunk *strings)
{
    static const struct {
        const char *text;
        float score;
    } pieces[] = {
        {"\xE2\x96\x81", -3},      {"h", -5}, {"he", -2}, {"ll", -4}, {"hell", -6}, {"hello", -7},
        {"\xE2\x96\x81hello", -8}, {"北", -9}};
    for (size_t i = 0; i < G_N_ELEMENTS(pieces); i++) {
        add_token(tokens, strings, pieces[i].text, SUNDOG_TOKEN_NORMAL);
        g_array_index(tokens, SundogToken, tokens->len - 1).score = pieces[i].score;
    }
}

SundogVocabulary *
test_new_pieces(SundogTokenizerKind kind)
{
    SundogVocabulary *vocabulary = sundog_vocabulary_new();
    g_autoptr(GArray) tokens = g_array_new(FALSE, FALSE, sizeof(SundogToken));
    vocabulary->kind = kind;
    vocabulary->pre_tokenizer = g_strdup("");
    add_token(tokens, vocabulary->strings, "<unk>", SUNDOG_TOKEN_UNKNOWN);
    add_token(tokens, vocabulary->strings, "<s>", SUNDOG_TOKEN_CONTROL);
    add_token(tokens, vocabulary->strings, "</s>", SUNDOG_TOKEN_CONTROL);
    add_byte_tokens(tokens, vocabulary->strings, kind);
    add_pieces(tokens, vocabulary->strings);
    add_token(tokens, vocabulary->strings, "<think>", SUNDOG_TOKEN_USER_DEFINED);
    vocabulary->unknown = 0;
    vocabulary->bos = 1;
    vocabulary->eos = 2;
    vocabulary->n_tokens = tokens->len;
    vocabulary->tokens = g_memdup2(tokens->data, tokens->len * sizeof(SundogToken));
    sundog_vocabulary_add_end(vocabulary, vocabulary->eos);
    return vocabulary;
}

uint32_t
test_find(const SundogTokenizer *tokenizer, const char *spelling)
{
    uint32_t token = sundog_tokenizer_find(tokenizer, spelling, strlen(spelling));
    g_assert_cmpuint(token, !=, SUNDOG_TOKEN_NONE);
    return token;
}

GArray *
test_encode(const SundogTokenizer *tokenizer, const char *text, size_t n_bytes,
            SundogTokenizeFlags flags)
{
    GArray *tokens = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    sundog_tokenizer_encode(tokenizer, text, n_bytes, flags, tokens);
    return tokens;
}

char *
test_dup_ids(const GArray *tokens)
{
    GString *text = g_string_new(NULL);
    for (guint i = 0; i < tokens->len; i++)
        g_string_append_printf(text, "%s%u", i == 0 ? "" : " ", g_array_index(tokens, uint32_t, i));
    return g_string_free(text, FALSE);
}
