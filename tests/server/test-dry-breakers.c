/* Texts that break DRY's runs, as the tokens of a vocabulary. */

#include "engine/server/dry-breakers.h"

#include "tests/text/vocabularies.h"
#include <string.h>

/* The bytes of tokens; owned by the caller. */
static char *
dup_text(const SundogTokenizer *tokenizer, const uint32_t *tokens, uint32_t n_tokens)
{
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    for (uint32_t i = 0; i < n_tokens; i++)
        sundog_tokenizer_append_bytes(tokenizer, tokens[i], false, bytes);
    return g_strndup(bytes->len ? (const char *)bytes->data : "", bytes->len);
}

/* "head,head>tail head>tail": every breaker as texts, "␣" for a space. Owned by the caller. */
static char *
dup_found(const SundogTokenizer *tokenizer, const char *const *texts)
{
    g_autoptr(GArray) words = sundog_dry_breakers_find(tokenizer, texts);
    const uint32_t *at = (const uint32_t *)(const void *)words->data, *end = at + words->len;
    g_autoptr(GString) found = g_string_new(NULL);
    while (at < end) {
        uint32_t n_heads = at[0], n_tail = at[1 + n_heads];
        g_autofree char *tail = dup_text(tokenizer, at + n_heads + 2, n_tail);
        g_string_append(found, found->len ? "|" : "");
        for (uint32_t i = 0; i < n_heads; i++) {
            g_autofree char *head = dup_text(tokenizer, at + 1 + i, 1);
            g_string_append_printf(found, "%s%s", i > 0 ? "," : "", head);
        }
        g_string_append_printf(found, ">%s", tail);
        at += n_heads + n_tail + 2;
        g_assert_true(at <= end);
    }
    return g_strdup(found->str);
}

static void
check(const SundogTokenizer *tokenizer, const char *text, const char *other, const char *wanted)
{
    const char *const texts[] = {text, other, NULL};
    g_autofree char *found = dup_found(tokenizer, texts);
    g_assert_cmpstr(found, ==, wanted);
}

static void
test_merges(void)
{
    g_autoptr(SundogTokenizer) tokenizer = sundog_tokenizer_new(test_new_vocabulary("gpt-2"), NULL);
    const char *const none[] = {NULL};
    g_autofree char *nothing = dup_found(tokenizer, none);
    g_assert_cmpstr(nothing, ==, "");
    check(tokenizer, "\n", NULL, "\n>");
    check(tokenizer, "hell", NULL, "hell,hello, hello>|h, h>ell|he>ll");
    /* What holds one whole begins no other. */
    check(tokenizer, "llo", "h", "h,he,hell,hello, h, hello,<think>>|l,ll>lo|ll>o");
    /* A character that a token cuts is not looked for. */
    check(tokenizer, "北!", NULL, "北>!");
}

/* A vocabulary that puts a space before what begins writes the rest of a text without. */
static void
test_pieces(void)
{
    g_autoptr(SundogTokenizer) tokenizer =
        sundog_tokenizer_new(test_new_pieces(SUNDOG_TOKENIZER_SCORED_BPE), NULL);
    const char *const texts[] = {"ohe", NULL};
    g_autofree char *found = dup_found(tokenizer, texts);
    g_test_message("%s", found);
    g_assert_nonnull(strstr(found, "hello"));
    g_assert_true(g_str_has_suffix(found, ">he"));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/dry-breakers/merges", test_merges);
    g_test_add_func("/dry-breakers/pieces", test_pieces);
    return g_test_run();
}
