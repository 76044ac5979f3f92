/* The tokenizer over a vocabulary made by hand, where each answer can be told by looking. */

#include "engine/format/error.h"
#include "tests/text/vocabularies.h"

#include <string.h>
#include <time.h>

static SundogTokenizer *
new_tokenizer(const char *pre_tokenizer)
{
    g_autoptr(GError) error = NULL;
    SundogTokenizer *tokenizer = sundog_tokenizer_new(test_new_vocabulary(pre_tokenizer), &error);
    g_assert_no_error(error);
    return tokenizer;
}

static bool
is_control(const SundogTokenizer *tokenizer, uint32_t token)
{
    return sundog_tokenizer_get_vocabulary(tokenizer)->tokens[token].kind == SUNDOG_TOKEN_CONTROL;
}

static void
assert_no_control(const SundogTokenizer *tokenizer, const GArray *tokens)
{
    for (guint i = 0; i < tokens->len; i++)
        g_assert_false(is_control(tokenizer, g_array_index(tokens, uint32_t, i)));
}

/* The tokens' spellings, divided by spaces. */
static char *
dup_spellings(const SundogTokenizer *tokenizer, const GArray *tokens)
{
    const SundogVocabulary *vocabulary = sundog_tokenizer_get_vocabulary(tokenizer);
    g_autoptr(GPtrArray) parts = g_ptr_array_new();
    for (guint i = 0; i < tokens->len; i++)
        g_ptr_array_add(parts, (char *)vocabulary->tokens[g_array_index(tokens, uint32_t, i)].text);
    g_ptr_array_add(parts, NULL);
    return g_strjoinv(" ", (char **)parts->pdata);
}

static void
assert_spellings(const SundogTokenizer *tokenizer, const char *text, SundogTokenizeFlags flags,
                 const char *expected)
{
    g_autoptr(GArray) tokens = test_encode(tokenizer, text, strlen(text), flags);
    g_autofree char *spellings = dup_spellings(tokenizer, tokens);
    g_assert_cmpstr(spellings, ==, expected);
}

static GArray *
encode_spans(const SundogTokenizer *tokenizer, const SundogTextSpan *spans, size_t n_spans)
{
    GArray *tokens = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    sundog_tokenizer_encode_spans(tokenizer, spans, n_spans, SUNDOG_TOKENIZE_PLAIN, tokens);
    return tokens;
}

static void
assert_round_trip(const SundogTokenizer *tokenizer, const void *bytes, size_t n_bytes)
{
    g_autoptr(GArray) tokens = test_encode(tokenizer, bytes, n_bytes, SUNDOG_TOKENIZE_PLAIN);
    g_autoptr(GByteArray) back = g_byte_array_new();
    for (guint i = 0; i < tokens->len; i++)
        g_assert_true(sundog_tokenizer_append_bytes(tokenizer, g_array_index(tokens, uint32_t, i),
                                                    false, back));
    g_assert_cmpmem(back->data, back->len, bytes, n_bytes);
}

static void
test_merges(void)
{
    g_autoptr(SundogTokenizer) tokenizer = new_tokenizer("gpt-2");
    assert_spellings(tokenizer, "", SUNDOG_TOKENIZE_PLAIN, "");
    assert_spellings(tokenizer, "hello hello", SUNDOG_TOKENIZE_PLAIN, "hello Ġhello");
    assert_spellings(tokenizer, "hellhe lll", SUNDOG_TOKENIZE_PLAIN, "hell he Ġ ll l");
    assert_spellings(tokenizer, "北", SUNDOG_TOKENIZE_PLAIN, "åĮĹ");
    assert_spellings(tokenizer, "a\nb", SUNDOG_TOKENIZE_PLAIN, "a Ċ b");
}

/* The same word whether it is short and scanned or long and kept in a heap. */
static void
test_long_word_is_merged_alike(void)
{
    g_autoptr(SundogTokenizer) tokenizer = new_tokenizer("gpt-2");
    g_autoptr(GString) word = g_string_new(NULL);
    g_autoptr(GString) expected = g_string_new("hello");
    for (unsigned i = 0; i < 100; i++)
        g_string_append(word, "hellohellllhe");
    for (unsigned i = 0; i < 100; i++)
        g_string_append_printf(expected, " hell ll he%s", i == 99 ? "" : " hello");
    assert_spellings(tokenizer, word->str, SUNDOG_TOKENIZE_PLAIN, expected->str);
}

static void
test_special_tokens(void)
{
    g_autoptr(SundogTokenizer) tokenizer = new_tokenizer("gpt-2");
    assert_spellings(tokenizer, "a<|end|>b", SUNDOG_TOKENIZE_SPECIAL, "a <|end|> b");
    assert_spellings(tokenizer, "<|end|>||end|>", SUNDOG_TOKENIZE_SPECIAL, "<|end|>| | e n d | >");
    assert_spellings(tokenizer, "<<|begin|><|end", SUNDOG_TOKENIZE_SPECIAL,
                     "< <|begin|> < | e n d");
    assert_spellings(tokenizer, "<|end|>", SUNDOG_TOKENIZE_PLAIN, "< | e n d | >");
    assert_spellings(tokenizer, "he<think>llo", SUNDOG_TOKENIZE_PLAIN, "he <think> ll o");
    assert_spellings(tokenizer, "[PAD]", SUNDOG_TOKENIZE_SPECIAL, "[ P A D ]");
}

static void
test_beginning_and_end(void)
{
    SundogVocabulary *vocabulary = test_new_vocabulary("gpt-2");
    vocabulary->add_bos = true;
    vocabulary->add_eos = true;
    g_autoptr(SundogTokenizer) tokenizer = sundog_tokenizer_new(vocabulary, NULL);
    assert_spellings(tokenizer, "he", SUNDOG_TOKENIZE_ADD, "<|begin|> he <|end|>");
    assert_spellings(tokenizer, "", SUNDOG_TOKENIZE_ADD, "<|begin|> <|end|>");
    assert_spellings(tokenizer, "he", SUNDOG_TOKENIZE_PLAIN, "he");
}

/* A message that spells a control token, alone or with the help of the template around it. */
static void
test_untrusted_text_makes_no_control_token(void)
{
    g_autoptr(SundogTokenizer) tokenizer = new_tokenizer("gpt-2");
    const SundogVocabulary *vocabulary = sundog_tokenizer_get_vocabulary(tokenizer);
    for (uint32_t id = 0; id < vocabulary->n_tokens; id++) {
        const SundogToken *token = &vocabulary->tokens[id];
        if (token->kind != SUNDOG_TOKEN_CONTROL)
            continue;
        for (size_t begin = 0; begin < token->length; begin++)
            for (size_t end = begin + 1; end <= token->length; end++) {
                SundogTextSpan spans[] = {{token->text, begin, true},
                                          {token->text + begin, end - begin, false},
                                          {token->text + end, token->length - end, true}};
                g_autoptr(GArray) tokens = encode_spans(tokenizer, spans, 3);
                bool whole_before = begin == strlen("<|end|>"); /* "<|end|>" itself, trusted */
                if (!whole_before)
                    assert_no_control(tokenizer, tokens);
            }
    }
}

static void
test_trusted_spans_make_control_tokens(void)
{
    g_autoptr(SundogTokenizer) tokenizer = new_tokenizer("gpt-2");
    SundogTextSpan spans[] = {{"", 0, false},       {"<|be", 4, true}, {"", 0, false},
                              {"gin|>he", 7, true}, {"llo", 3, false}, {"<|end|>", 7, true},
                              {"|", 1, false}};
    g_autoptr(GArray) tokens = encode_spans(tokenizer, spans, G_N_ELEMENTS(spans));
    g_autofree char *spellings = dup_spellings(tokenizer, tokens);
    g_assert_cmpstr(spellings, ==, "<|begin|> hello <|end|> |");
}

static void
test_borders_change_nothing(void)
{
    static const char text[] = "hello <think>hello\n\n  hell 北北 123 he's\xFF\xE5\x8C hello";
    g_autoptr(SundogTokenizer) tokenizer = new_tokenizer("qwen2");
    g_autoptr(GArray) whole = test_encode(tokenizer, text, strlen(text), SUNDOG_TOKENIZE_PLAIN);
    for (size_t first = 0; first <= strlen(text); first++)
        for (size_t second = first; second <= strlen(text); second++) {
            SundogTextSpan spans[] = {{text, first, second % 2 == 0},
                                      {text + first, second - first, first % 2 == 0},
                                      {text + second, strlen(text) - second, false}};
            g_autoptr(GArray) tokens = encode_spans(tokenizer, spans, 3);
            g_assert_cmpmem(tokens->data, tokens->len * 4, whole->data, whole->len * 4);
        }
}

/* Neither a merge's result nor a word that is taken whole may be a control token. */
static void
test_control_token_spelled_as_a_word(void)
{
    static const char *const names[] = {"gpt-2", "llama-bpe"};
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        SundogVocabulary *vocabulary = test_new_vocabulary(names[i]);
        for (uint32_t id = 0; id < vocabulary->n_tokens; id++)
            if (strcmp(vocabulary->tokens[id].text, "hello") == 0)
                vocabulary->tokens[id].kind = SUNDOG_TOKEN_CONTROL;
        g_autoptr(SundogTokenizer) tokenizer = sundog_tokenizer_new(vocabulary, NULL);
        assert_spellings(tokenizer, "hello", SUNDOG_TOKENIZE_PLAIN, "hell o");
        assert_spellings(tokenizer, "hello", SUNDOG_TOKENIZE_SPECIAL, "hello");
    }
}

static void
test_ignored_merges(void)
{
    for (unsigned ignore = 0; ignore < 2; ignore++) {
        SundogVocabulary *vocabulary = test_new_vocabulary("gpt-2");
        vocabulary->n_merges = 3; /* up to "hell": no merge makes "hello" */
        vocabulary->ignore_merges = ignore != 0;
        g_autoptr(SundogTokenizer) tokenizer = sundog_tokenizer_new(vocabulary, NULL);
        for (unsigned again = 0; again < 2; again++)
            assert_spellings(tokenizer, "hello", SUNDOG_TOKENIZE_PLAIN,
                             ignore != 0 ? "hello" : "hell o");
    }
}

static void
test_missing_bytes_are_left_out(void)
{
    SundogVocabulary *vocabulary = test_new_vocabulary("gpt-2");
    vocabulary->tokens['e'].kind = SUNDOG_TOKEN_UNUSED;
    g_autoptr(SundogTokenizer) tokenizer = sundog_tokenizer_new(vocabulary, NULL);
    assert_spellings(tokenizer, "ele", SUNDOG_TOKENIZE_PLAIN, "l");
    assert_spellings(tokenizer, "eee lel", SUNDOG_TOKENIZE_PLAIN, "Ġ ll");
    g_autofree char *only_missing = g_strnfill(100, 'e');
    assert_spellings(tokenizer, only_missing, SUNDOG_TOKENIZE_PLAIN, "");
}

static void
test_round_trip(void)
{
    static const char *const names[] = {"gpt-2", "smollm", "llama-bpe", "qwen2", "qwen35"};
    g_autoptr(GRand) random = g_rand_new_with_seed(7);
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autoptr(SundogTokenizer) tokenizer = new_tokenizer(names[i]);
        for (unsigned round = 0; round < 2000; round++) {
            static const char usual[] = "hel \n\xE5\x8C\x97'1";
            uint8_t bytes[64];
            size_t n_bytes = g_rand_int(random) % sizeof bytes;
            for (size_t at = 0; at < n_bytes; at++) {
                uint32_t any = g_rand_int(random);
                bytes[at] = (uint8_t)(g_rand_boolean(random) ? any : (uint8_t)usual[at % 11]);
            }
            assert_round_trip(tokenizer, bytes, n_bytes);
        }
    }
}

/* A megabyte takes some 30 ms; the limit is for sanitizers on a busy machine, and quadratic time would
 * take hours. */
static void
test_long_words_are_fast(void)
{
    static const char *const patterns[] = {
        "a", "l",  " ",  "\n",   "\n ",      " \n",       "hello",  "!",
        "1", "北", "'s", "\xFF", "\xE5\x8C", "e\xCC\x81", "<|end|", "<think"};
    static const char *const names[] = {"gpt-2", "smollm", "llama-bpe", "qwen2", "qwen35"};
    const size_t n_bytes = (1 << 20) + 77;
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autoptr(SundogTokenizer) tokenizer = new_tokenizer(names[i]);
        for (size_t j = 0; j < G_N_ELEMENTS(patterns); j++) {
            g_autofree char *text = g_malloc(n_bytes);
            size_t n_pattern = strlen(patterns[j]);
            for (size_t at = 0; at < n_bytes; at++)
                text[at] = patterns[j][at % n_pattern];
            clock_t begin = clock();
            assert_round_trip(tokenizer, text, n_bytes);
            g_assert_cmpint(clock() - begin, <, 10 * CLOCKS_PER_SEC);
        }
    }
}

static void
test_unknown_pre_tokenizer(void)
{
    g_autoptr(GError) error = NULL;
    g_assert_null(sundog_tokenizer_new(test_new_vocabulary("gpt-5"), &error));
    g_assert_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_UNSUPPORTED);
    g_assert_nonnull(strstr(error->message, "\"gpt-5\""));
    g_assert_nonnull(strstr(error->message, "llama-bpe"));
}

static void
test_overlong_special_token(void)
{
    g_autoptr(GError) error = NULL;
    SundogVocabulary *vocabulary = test_new_vocabulary("gpt-2");
    g_autofree char *text = g_strnfill(1025, 'x');
    vocabulary->tokens[vocabulary->eos].text = text;
    vocabulary->tokens[vocabulary->eos].length = 1025;
    g_assert_null(sundog_tokenizer_new(vocabulary, &error));
    g_assert_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_UNSUPPORTED);
    g_assert_nonnull(strstr(error->message, "1025"));
}

static void
assert_bytes(const SundogTokenizer *tokenizer, const char *spelling, bool special,
             const char *expected)
{
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    uint32_t token = test_find(tokenizer, spelling);
    g_assert_true(sundog_tokenizer_append_bytes(tokenizer, token, special, bytes));
    g_assert_cmpmem(bytes->data, bytes->len, expected, strlen(expected));
}

static void
test_bytes_of_tokens(void)
{
    g_autoptr(SundogTokenizer) tokenizer = new_tokenizer("gpt-2");
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    uint32_t n_tokens = sundog_tokenizer_get_vocabulary(tokenizer)->n_tokens;
    assert_bytes(tokenizer, "Ġhello", false, " hello");
    assert_bytes(tokenizer, "åĮĹ", false, "北");
    assert_bytes(tokenizer, "<think>", false, "<think>");
    assert_bytes(tokenizer, "<|end|>", false, "");
    assert_bytes(tokenizer, "<|end|>", true, "<|end|>");
    g_assert_false(sundog_tokenizer_append_bytes(tokenizer, n_tokens, true, bytes));
    g_assert_false(sundog_tokenizer_append_bytes(tokenizer, SUNDOG_TOKEN_NONE, true, bytes));
    g_assert_cmpuint(bytes->len, ==, 0);
}

static void
test_find_and_ends(void)
{
    g_autoptr(SundogTokenizer) tokenizer = new_tokenizer("gpt-2");
    const SundogVocabulary *vocabulary = sundog_tokenizer_get_vocabulary(tokenizer);
    g_assert_cmpuint(test_find(tokenizer, "<|end|>"), ==, vocabulary->eos);
    g_assert_cmpuint(sundog_tokenizer_find(tokenizer, "", 0), ==, SUNDOG_TOKEN_NONE);
    g_assert_cmpuint(sundog_tokenizer_find(tokenizer, "<|end", 5), ==, SUNDOG_TOKEN_NONE);
    g_assert_cmpuint(sundog_tokenizer_find(tokenizer, " hello", 6), ==, SUNDOG_TOKEN_NONE);
    g_assert_true(sundog_tokenizer_is_end(tokenizer, vocabulary->eos));
    g_assert_false(sundog_tokenizer_is_end(tokenizer, vocabulary->bos));
    g_assert_false(sundog_tokenizer_is_end(tokenizer, SUNDOG_TOKEN_NONE));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/tokenizer/merges", test_merges);
    g_test_add_func("/tokenizer/long-word-is-merged-alike", test_long_word_is_merged_alike);
    g_test_add_func("/tokenizer/special-tokens", test_special_tokens);
    g_test_add_func("/tokenizer/beginning-and-end", test_beginning_and_end);
    g_test_add_func("/tokenizer/untrusted-text-makes-no-control-token",
                    test_untrusted_text_makes_no_control_token);
    g_test_add_func("/tokenizer/trusted-spans-make-control-tokens",
                    test_trusted_spans_make_control_tokens);
    g_test_add_func("/tokenizer/borders-change-nothing", test_borders_change_nothing);
    g_test_add_func("/tokenizer/control-token-spelled-as-a-word",
                    test_control_token_spelled_as_a_word);
    g_test_add_func("/tokenizer/ignored-merges", test_ignored_merges);
    g_test_add_func("/tokenizer/missing-bytes-are-left-out", test_missing_bytes_are_left_out);
    g_test_add_func("/tokenizer/round-trip", test_round_trip);
    g_test_add_func("/tokenizer/long-words-are-fast", test_long_words_are_fast);
    g_test_add_func("/tokenizer/unknown-pre-tokenizer", test_unknown_pre_tokenizer);
    g_test_add_func("/tokenizer/overlong-special-token", test_overlong_special_token);
    g_test_add_func("/tokenizer/bytes-of-tokens", test_bytes_of_tokens);
    g_test_add_func("/tokenizer/find-and-ends", test_find_and_ends);
    return g_test_run();
}
