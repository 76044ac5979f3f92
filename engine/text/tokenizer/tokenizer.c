/*
 * Special tokens are taken out of a text, and what lies between becomes tokens in the way of the
 * vocabulary's kind.
 */

#include "engine/text/tokenizer/tokenizer.h"

#include "engine/format/error.h"
#include "engine/text/tokenizer/pre-tokenizer-kinds.h"
#include "engine/text/tokenizer/special-tokens.h"
#include "engine/text/tokenizer/tokenizer-kinds.h"
#include "engine/text/utf8.h"

#include <string.h>

/* How vocabularies of pieces write a space. */
#define SPACE_SIGN "\xE2\x96\x81"

struct SundogTokenizer {
    SundogVocabulary *vocabulary;
    SundogTokenTable *table;
    SundogSpecialTokens *specials;
    const SundogTokenizerWay *way;
    void *state; /* the way's */
};

/* Spans as one text, and how far trust reaches from each of their bytes. */
typedef struct {
    const SundogTextSpan *spans;
    size_t n_spans;
    size_t next; /* the span after the run */
    size_t end;  /* where the run of spans of one kind ends in the text */
    bool trusted;
} TrustWalk;

static const SundogTokenizerWay *
find_way(SundogTokenizerKind kind)
{
    switch (kind) {
    case SUNDOG_TOKENIZER_BPE:
        return &sundog_byte_bpe_way;
    case SUNDOG_TOKENIZER_SCORED_BPE:
    case SUNDOG_TOKENIZER_CHARACTER_BPE:
        return &sundog_character_bpe_way;
    case SUNDOG_TOKENIZER_UNIGRAM:
        return &sundog_unigram_way;
    case SUNDOG_TOKENIZER_WORD_PIECE:
        return &sundog_word_piece_way;
    case SUNDOG_TOKENIZER_LONGEST:
        return &sundog_longest_match_way;
    }
    return NULL;
}

/* GGUF files call some vocabularies of characters byte-level and only the pre-tokenizer's name tells
 * them apart. */
static void
correct_kind(SundogVocabulary *vocabulary)
{
    const char *name = vocabulary->pre_tokenizer;
    if (vocabulary->kind != SUNDOG_TOKENIZER_BPE || name == NULL)
        return;
    const SundogPreTokenizerKind *kind = sundog_pre_tokenizer_kind_find(name);
    if (kind != NULL && kind->characters)
        vocabulary->kind = SUNDOG_TOKENIZER_CHARACTER_BPE;
}

SundogTokenizer *
sundog_tokenizer_new(SundogVocabulary *vocabulary, GError **error)
{
    g_autoptr(SundogTokenizer) tokenizer = g_new0(SundogTokenizer, 1);
    tokenizer->vocabulary = vocabulary;
    correct_kind(vocabulary);
    tokenizer->way = find_way(vocabulary->kind);
    if (tokenizer->way == NULL) {
        g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                    "tokenizer kind %d is not known", vocabulary->kind);
        return NULL;
    }
    tokenizer->specials = sundog_special_tokens_new(vocabulary, error);
    if (tokenizer->specials == NULL)
        return NULL;
    tokenizer->table = sundog_token_table_new(vocabulary, sundog_spelling_of(vocabulary->kind));
    tokenizer->state = tokenizer->way->new_state(vocabulary, tokenizer->table, error);
    return tokenizer->state != NULL ? g_steal_pointer(&tokenizer) : NULL;
}

void
sundog_tokenizer_free(SundogTokenizer *tokenizer)
{
    if (tokenizer == NULL)
        return;
    if (tokenizer->way != NULL)
        tokenizer->way->free_state(tokenizer->state);
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

/* Whether a space is added to a stretch of text, where the vocabulary adds any. */
static bool
adds_space(const SundogVocabulary *vocabulary, const char *text, size_t n_bytes, bool begins)
{
    if (!begins && vocabulary->add_space_once)
        return false;
    return !vocabulary->add_space_unless ||
           (text[0] != ' ' &&
            (n_bytes < strlen(SPACE_SIGN) || memcmp(text, SPACE_SIGN, strlen(SPACE_SIGN)) != 0));
}

static void
encode_plain(const SundogTokenizer *tokenizer, const char *text, size_t n_bytes, bool begins,
             GArray *tokens)
{
    if (n_bytes == 0)
        return;
    bool add_space = adds_space(tokenizer->vocabulary, text, n_bytes, begins);
    tokenizer->way->encode(tokenizer->state, text, n_bytes, add_space, tokens);
}

/* How much of the text is left before white space at its end. */
static size_t
strip_end(const char *text, size_t n_bytes)
{
    for (size_t length = n_bytes; length > 0; n_bytes = length) {
        uint32_t character;
        do
            length--;
        while (length > 0 && ((uint8_t)text[length] & 0xC0) == 0x80);
        if (sundog_utf8_decode(text + length, n_bytes - length, &character) != n_bytes - length ||
            !sundog_utf8_is_space(character))
            break;
    }
    return n_bytes;
}

/* How much white space the text begins with. */
static size_t
space_prefix(const char *text, size_t n_bytes)
{
    size_t pos = 0;
    for (size_t length; pos < n_bytes; pos += length) {
        uint32_t character;
        length = sundog_utf8_decode(text + pos, n_bytes - pos, &character);
        if (length == 0 || !sundog_utf8_is_space(character))
            break;
    }
    return pos;
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
        const SundogToken *token = &tokenizer->vocabulary->tokens[special];
        size_t n_before = pos - begin;
        encode_plain(tokenizer, text + begin,
                     token->strip_left ? strip_end(text + begin, n_before) : n_before, begin == 0,
                     tokens);
        g_array_append_val(tokens, special);
        pos += n_matched;
        if (token->strip_right)
            pos += space_prefix(text + pos, n_bytes - pos);
        begin = pos;
    }
    encode_plain(tokenizer, text + begin, n_bytes - begin, begin == 0, tokens);
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
    return sundog_token_table_find_spelled(tokenizer->table, text, n_bytes);
}
