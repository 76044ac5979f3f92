/*
 * Any bytes, as a message of any kind of vocabulary and pre-tokenizer: where the kind loses nothing they
 * come back whole from their tokens; they hold no control token, do not depend on how the text is cut
 * into spans, and the decoder makes UTF-8 of them.
 */

#include "engine/text/decoder.h"
#include "engine/text/tokenizer/pre-tokenizer-kinds.h"
#include "tests/text/vocabularies.h"

#include <string.h>

const char *const fuzz_seeds[] = {
    "hello hello <|end|> <think>\n\n 123 don't",
    "北京 e\xCC\x81 \xC2\x85\xE3\x80\x80 👩‍👩‍👧",
    "<|begin|><|end|>|<|end|>",
    "\xFF\xFE\xED\xA0\x80 \xF0\x9F\x91",
    "\xE2\x96\x81hello  \xE2\x96\x81 HELLÖ ıİ ﬁ <think> hello",
    "hellohellohellohellohellohellohellohello hell",
    NULL,
};

/* Two of pieces share a kind, the second of which reads a space at the text's beginning. */
static const SundogTokenizerKind kinds[] = {
    SUNDOG_TOKENIZER_SCORED_BPE, SUNDOG_TOKENIZER_SCORED_BPE, SUNDOG_TOKENIZER_CHARACTER_BPE,
    SUNDOG_TOKENIZER_UNIGRAM,    SUNDOG_TOKENIZER_WORD_PIECE, SUNDOG_TOKENIZER_LONGEST,
};

static GPtrArray *tokenizers; /* of SundogTokenizer */

static void
add_tokenizer(SundogVocabulary *vocabulary)
{
    g_autoptr(GError) error = NULL;
    SundogTokenizer *tokenizer = sundog_tokenizer_new(vocabulary, &error);
    g_assert_no_error(error);
    g_ptr_array_add(tokenizers, tokenizer);
}

static void
make_tokenizers(void)
{
    if (tokenizers != NULL)
        return;
    tokenizers = g_ptr_array_new();
    g_autofree char *all = sundog_pre_tokenizer_kind_dup_names();
    g_auto(GStrv) names = g_strsplit(all, " ", -1);
    for (size_t i = 0; names[i] != NULL; i++)
        if (!sundog_pre_tokenizer_kind_find(names[i])->characters)
            add_tokenizer(test_new_vocabulary(names[i]));
    for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
        SundogVocabulary *vocabulary = test_new_pieces(kinds[i]);
        vocabulary->add_space_prefix = i == 1;
        vocabulary->merge_spaces = vocabulary->lowercase = vocabulary->strip_accents = true;
        add_tokenizer(vocabulary);
    }
}

/* Whether tokens hold all that the text held. */
static bool
loses_nothing(const SundogTokenizer *tokenizer, const void *data, size_t n_bytes)
{
    const SundogVocabulary *vocabulary = sundog_tokenizer_get_vocabulary(tokenizer);
    switch (vocabulary->kind) {
    case SUNDOG_TOKENIZER_UNIGRAM:
    case SUNDOG_TOKENIZER_WORD_PIECE:
        return false;
    case SUNDOG_TOKENIZER_SCORED_BPE:
    case SUNDOG_TOKENIZER_CHARACTER_BPE:
        return !vocabulary->add_space_prefix && memmem(data, n_bytes, "\xE2\x96\x81", 3) == NULL;
    default:
        return true;
    }
}

static void
check_kinds(const SundogTokenizer *tokenizer, const GArray *tokens)
{
    const SundogVocabulary *vocabulary = sundog_tokenizer_get_vocabulary(tokenizer);
    for (guint i = 0; i < tokens->len; i++) {
        uint32_t token = g_array_index(tokens, uint32_t, i);
        g_assert(token < vocabulary->n_tokens);
        g_assert(vocabulary->tokens[token].kind != SUNDOG_TOKEN_CONTROL);
    }
}

static void
check_bytes(const SundogTokenizer *tokenizer, const GArray *tokens, const void *data,
            size_t n_bytes)
{
    g_autoptr(GByteArray) back = g_byte_array_new();
    for (guint i = 0; i < tokens->len; i++) {
        uint32_t token = g_array_index(tokens, uint32_t, i);
        g_assert(sundog_tokenizer_append_bytes(tokenizer, token, false, back));
    }
    g_assert(back->len == n_bytes && (n_bytes == 0 || memcmp(back->data, data, n_bytes) == 0));
}

static void
check_spans(const SundogTokenizer *tokenizer, const GArray *tokens, const char *text,
            size_t n_bytes, size_t cut)
{
    SundogTextSpan spans[] = {{text, cut, false}, {text + cut, n_bytes - cut, false}};
    g_autoptr(GArray) cut_tokens = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    sundog_tokenizer_encode_spans(tokenizer, spans, 2, SUNDOG_TOKENIZE_PLAIN, cut_tokens);
    g_assert(cut_tokens->len == tokens->len);
    g_assert(tokens->len == 0 || memcmp(cut_tokens->data, tokens->data, tokens->len * 4) == 0);
}

/* The shown text together with what the stop string took. */
static void
check_decoder(const SundogTokenizer *tokenizer, const GArray *tokens, bool whole)
{
    static const char *const stops[] = {"hell ", "lo<", "\xE5\x8C", NULL};
    g_autoptr(SundogDecoder) decoder = sundog_decoder_new(tokenizer, stops);
    g_autoptr(GString) text = g_string_new(NULL);
    for (guint i = 0; i < tokens->len; i++)
        if (!sundog_decoder_feed(decoder, g_array_index(tokens, uint32_t, i), text))
            break;
    sundog_decoder_finish(decoder, whole, text);
    for (const char *rest = text->str; rest < text->str + text->len; rest += strlen(rest) + 1)
        g_assert(g_utf8_validate(rest, -1, NULL));
    for (size_t i = 0; i + 1 < G_N_ELEMENTS(stops); i++)
        g_assert(memmem(text->str, text->len, stops[i], strlen(stops[i])) == NULL ||
                 !g_utf8_validate(stops[i], -1, NULL));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    if (n_bytes == 0)
        return 0;
    make_tokenizers();
    const SundogTokenizer *tokenizer = tokenizers->pdata[data[0] % tokenizers->len];
    const char *text = (const char *)data;
    g_autoptr(GArray) tokens = test_encode(tokenizer, text, n_bytes, SUNDOG_TOKENIZE_PLAIN);
    check_kinds(tokenizer, tokens);
    if (loses_nothing(tokenizer, data, n_bytes))
        check_bytes(tokenizer, tokens, data, n_bytes);
    check_spans(tokenizer, tokens, text, n_bytes, data[n_bytes - 1] * n_bytes / 256);
    check_decoder(tokenizer, tokens, n_bytes % 2 == 0);
    g_autoptr(GArray) special = test_encode(tokenizer, text, n_bytes, SUNDOG_TOKENIZE_SPECIAL);
    check_decoder(tokenizer, special, true);
    return 0;
}
