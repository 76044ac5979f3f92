/*
 * One text, three cuts: special tokens are taken out, what lies between is cut into words, and each
 * word is merged into tokens.
 */

#include "engine/text/tokenizer.h"

#include "engine/format/error.h"
#include "engine/text/byte-bpe.h"
#include "engine/text/byte-letters.h"
#include "engine/text/pre-tokenizer.h"
#include "engine/text/special-tokens.h"
#include "engine/text/token-table.h"

struct SundogTokenizer {
    SundogVocabulary *vocabulary;
    SundogTokenTable *table;
    SundogSpecialTokens *specials;
    SundogPreTokenizer *pre_tokenizer;
    SundogByteBpe *bpe;
};

/* Spans as one text, and how far trust reaches from each of their bytes. */
typedef struct {
    const SundogTextSpan *spans;
    size_t n_spans;
    size_t next; /* the span after the run */
    size_t end;  /* where the run of spans of one kind ends in the text */
    bool trusted;
} TrustWalk;

SundogTokenizer *
sundog_tokenizer_new(SundogVocabulary *vocabulary, GError **error)
{
    g_autoptr(SundogTokenizer) tokenizer = g_new0(SundogTokenizer, 1);
    tokenizer->vocabulary = vocabulary;
    if (vocabulary->kind != SUNDOG_TOKENIZER_BPE) {
        g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                    "tokenizer kind %d is not known; byte-level BPE is %d", vocabulary->kind,
                    SUNDOG_TOKENIZER_BPE);
        return NULL;
    }
    tokenizer->pre_tokenizer = sundog_pre_tokenizer_new(vocabulary->pre_tokenizer, error);
    if (tokenizer->pre_tokenizer == NULL)
        return NULL;
    tokenizer->specials = sundog_special_tokens_new(vocabulary, error);
    if (tokenizer->specials == NULL)
        return NULL;
    bool ignore_merges = vocabulary->ignore_merges ||
                         sundog_pre_tokenizer_get_ignore_merges(tokenizer->pre_tokenizer);
    tokenizer->table = sundog_token_table_new(vocabulary);
    tokenizer->bpe = sundog_byte_bpe_new(vocabulary, tokenizer->table, ignore_merges);
    return g_steal_pointer(&tokenizer);
}

void
sundog_tokenizer_free(SundogTokenizer *tokenizer)
{
    if (tokenizer == NULL)
        return;
    sundog_byte_bpe_free(tokenizer->bpe);
    sundog_pre_tokenizer_free(tokenizer->pre_tokenizer);
    sundog_special_tokens_free(tokenizer->specials);
    sundog_token_table_free(tokenizer->table);
    sundog_vocabulary_free(tokenizer->vocabulary);
    g_free(tokenizer);
}

const SundogVocabulary *
sundog_tokenizer_get_vocabulary(const SundogTokenizer *tokenizer)
{
    return tokenizer->vocabulary;
}

static void
encode_words(const SundogTokenizer *tokenizer, const char *text, size_t n_bytes, GArray *tokens)
{
    if (n_bytes == 0)
        return;
    g_auto(SundogWords) words = {0};
    sundog_words_init(&words, tokenizer->pre_tokenizer, text, n_bytes);
    const char *word;
    size_t n_word_bytes;
    while (sundog_words_next(&words, &word, &n_word_bytes))
        sundog_byte_bpe_encode(tokenizer->bpe, word, n_word_bytes, tokens);
}

/* How many bytes from pos on are trusted, over all neighbouring trusted spans. pos only grows. */
static size_t
trusted_from(TrustWalk *walk, size_t pos)
{
    while (walk->next < walk->n_spans &&
           (pos >= walk->end || walk->spans[walk->next].trusted == walk->trusted ||
            walk->spans[walk->next].n_bytes == 0)) {
        const SundogTextSpan *span = &walk->spans[walk->next++];
        if (span->n_bytes != 0)
            walk->trusted = span->trusted;
        walk->end += span->n_bytes;
    }
    return walk->trusted ? walk->end - pos : 0;
}

static void
encode_joined(const SundogTokenizer *tokenizer, const char *text, size_t n_bytes, TrustWalk *walk,
              GArray *tokens)
{
    size_t begin = 0; /* of the words not yet encoded */
    for (size_t pos = 0; pos < n_bytes;) {
        if (!sundog_special_tokens_may_begin(tokenizer->specials, (uint8_t)text[pos])) {
            pos++;
            continue;
        }
        size_t n_matched = 0;
        uint32_t special = sundog_special_tokens_match(
            tokenizer->specials, text + pos, n_bytes - pos, trusted_from(walk, pos), &n_matched);
        if (special == SUNDOG_TOKEN_NONE) {
            pos++;
            continue;
        }
        encode_words(tokenizer, text + begin, pos - begin, tokens);
        g_array_append_val(tokens, special);
        pos += n_matched;
        begin = pos;
    }
    encode_words(tokenizer, text + begin, n_bytes - begin, tokens);
}

static void
append_if_any(GArray *tokens, uint32_t token)
{
    if (token != SUNDOG_TOKEN_NONE)
        g_array_append_val(tokens, token);
}

void
sundog_tokenizer_encode_spans(const SundogTokenizer *tokenizer, const SundogTextSpan *spans,
                              size_t n_spans, SundogTokenizeFlags flags, GArray *tokens)
{
    const SundogVocabulary *vocabulary = tokenizer->vocabulary;
    bool add = (flags & SUNDOG_TOKENIZE_ADD) != 0;
    TrustWalk walk = {.spans = spans, .n_spans = n_spans};
    if (add && vocabulary->add_bos)
        append_if_any(tokens, vocabulary->bos);
    if (n_spans == 1) {
        encode_joined(tokenizer, spans[0].text, spans[0].n_bytes, &walk, tokens);
    } else {
        g_autoptr(GString) joined = g_string_new(NULL);
        for (size_t i = 0; i < n_spans; i++)
            g_string_append_len(joined, spans[i].text, (gssize)spans[i].n_bytes);
        encode_joined(tokenizer, joined->str, joined->len, &walk, tokens);
    }
    if (add && vocabulary->add_eos)
        append_if_any(tokens, vocabulary->eos);
}

void
sundog_tokenizer_encode(const SundogTokenizer *tokenizer, const char *text, size_t n_bytes,
                        SundogTokenizeFlags flags, GArray *tokens)
{
    SundogTextSpan span = {text, n_bytes, (flags & SUNDOG_TOKENIZE_SPECIAL) != 0};
    sundog_tokenizer_encode_spans(tokenizer, &span, 1, flags, tokens);
}

/* Tokens that are no part of what a model says. */
static bool
is_silent(SundogTokenKind kind)
{
    return kind == SUNDOG_TOKEN_CONTROL || kind == SUNDOG_TOKEN_UNKNOWN ||
           kind == SUNDOG_TOKEN_UNUSED;
}

bool
sundog_tokenizer_append_bytes(const SundogTokenizer *tokenizer, uint32_t token, bool special,
                              GByteArray *bytes)
{
    if (token >= tokenizer->vocabulary->n_tokens)
        return false;
    if (!special && is_silent(tokenizer->vocabulary->tokens[token].kind))
        return true;
    size_t n_bytes;
    const char *text = sundog_token_table_get(tokenizer->table, token, &n_bytes);
    g_byte_array_append(bytes, (const uint8_t *)text, (guint)n_bytes);
    return true;
}

bool
sundog_tokenizer_is_end(const SundogTokenizer *tokenizer, uint32_t token)
{
    const SundogVocabulary *vocabulary = tokenizer->vocabulary;
    for (uint32_t i = 0; i < vocabulary->n_ends; i++)
        if (vocabulary->ends[i] == token)
            return true;
    return false;
}

uint32_t
sundog_tokenizer_find(const SundogTokenizer *tokenizer, const char *text, size_t n_bytes)
{
    uint32_t special = sundog_special_tokens_find(tokenizer->specials, text, n_bytes);
    if (special != SUNDOG_TOKEN_NONE || n_bytes == 0)
        return special;
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    if (!sundog_byte_letters_append(text, n_bytes, bytes))
        return SUNDOG_TOKEN_NONE;
    return sundog_token_table_find(tokenizer->table, (const char *)bytes->data, bytes->len);
}
