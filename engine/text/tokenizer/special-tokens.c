/*
 * A sorted array walked like a trie: all tokens that agree with the first bytes of a text are
 * neighbours, and each further byte narrows their range by a binary search.
 */

#include "engine/text/tokenizer/special-tokens.h"

#include "engine/format/error.h"

#include <string.h>

#define LONGEST_BYTES 1024

typedef struct {
    const char *text;
    uint32_t n_bytes;
    uint32_t token;
    bool control;
} Special;

struct SundogSpecialTokens {
    Special *specials; /* [n_specials] sorted by text, a prefix before what it begins */
    uint32_t n_specials;
    uint32_t first[257]; /* specials[first[b]] to specials[first[b + 1]] begin with byte b */
};

static bool
is_control(SundogTokenKind kind)
{
    return kind == SUNDOG_TOKEN_CONTROL || kind == SUNDOG_TOKEN_UNKNOWN;
}

/* Tokens with the same text are ordered by id, so that the first is found. */
static int
compare_specials(const void *a, const void *b)
{
    const Special *left = a;
    const Special *right = b;
    int order = memcmp(left->text, right->text, MIN(left->n_bytes, right->n_bytes));
    if (order != 0)
        return order;
    if (left->n_bytes != right->n_bytes)
        return left->n_bytes < right->n_bytes ? -1 : 1;
    return left->token < right->token ? -1 : 1;
}

static bool
collect(const SundogVocabulary *vocabulary, GArray *specials, GError **error)
{
    for (uint32_t i = 0; i < vocabulary->n_tokens; i++) {
        const SundogToken *token = &vocabulary->tokens[i];
        bool control = is_control(token->kind);
        if ((!control && token->kind != SUNDOG_TOKEN_USER_DEFINED) || token->length == 0)
            continue;
        if (token->length > LONGEST_BYTES) {
            g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                        "special token %u has %u bytes, more than %d", i, token->length,
                        LONGEST_BYTES);
            return false;
        }
        Special special = {token->text, token->length, i, control};
        g_array_append_val(specials, special);
    }
    return true;
}

SundogSpecialTokens *
sundog_special_tokens_new(const SundogVocabulary *vocabulary, GError **error)
{
    g_autoptr(GArray) found = g_array_new(FALSE, FALSE, sizeof(Special));
    if (!collect(vocabulary, found, error))
        return NULL;
    SundogSpecialTokens *specials = g_new0(SundogSpecialTokens, 1);
    specials->n_specials = found->len;
    specials->specials = (Special *)(void *)g_array_steal(found, NULL);
    if (specials->n_specials != 0)
        qsort(specials->specials, specials->n_specials, sizeof(Special), compare_specials);
    for (uint32_t i = 0; i < specials->n_specials; i++)
        specials->first[(uint8_t)specials->specials[i].text[0] + 1]++;
    for (size_t byte = 0; byte < 256; byte++)
        specials->first[byte + 1] += specials->first[byte];
    return specials;
}

void
sundog_special_tokens_free(SundogSpecialTokens *specials)
{
    if (specials == NULL)
        return;
    g_free(specials->specials);
    g_free(specials);
}

bool
sundog_special_tokens_may_begin(const SundogSpecialTokens *specials, uint8_t byte)
{
    return specials->first[byte] != specials->first[byte + 1];
}

/* The first of specials[low] to specials[high] whose byte at depth is at least value; all of them agree
 * before depth and are longer than it. */
static uint32_t
lower_bound(const Special *specials, uint32_t low, uint32_t high, size_t depth, uint32_t value)
{
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if ((uint8_t)specials[middle].text[depth] < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The tokens of the range with exactly depth bytes stand first in it. Takes them out of the range, and
 * returns the first that may stand here, or SUNDOG_TOKEN_NONE. */
static uint32_t
take_whole(const Special *specials, uint32_t *low, uint32_t high, size_t depth, bool trusted)
{
    uint32_t taken = SUNDOG_TOKEN_NONE;
    for (; *low < high && specials[*low].n_bytes == depth; (*low)++)
        if (taken == SUNDOG_TOKEN_NONE && (trusted || !specials[*low].control))
            taken = specials[*low].token;
    return taken;
}

uint32_t
sundog_special_tokens_match(const SundogSpecialTokens *specials, const char *text, size_t n_bytes,
                            size_t n_trusted, size_t *n_matched)
{
    uint32_t longest = SUNDOG_TOKEN_NONE;
    uint32_t low = 0;
    uint32_t high = specials->n_specials;
    for (size_t depth = 0; depth < n_bytes && low < high; depth++) {
        uint8_t byte = (uint8_t)text[depth];
        if (depth == 0) {
            low = specials->first[byte];
            high = specials->first[byte + 1];
        } else {
            low = lower_bound(specials->specials, low, high, depth, byte);
            high = lower_bound(specials->specials, low, high, depth, byte + 1u);
        }
        uint32_t whole =
            take_whole(specials->specials, &low, high, depth + 1, depth + 1 <= n_trusted);
        if (whole != SUNDOG_TOKEN_NONE) {
            longest = whole;
            *n_matched = depth + 1;
        }
    }
    return longest;
}

uint32_t
sundog_special_tokens_find(const SundogSpecialTokens *specials, const char *text, size_t n_bytes)
{
    size_t n_matched = 0;
    uint32_t token = sundog_special_tokens_match(specials, text, n_bytes, n_bytes, &n_matched);
    return n_matched == n_bytes ? token : SUNDOG_TOKEN_NONE;
}
