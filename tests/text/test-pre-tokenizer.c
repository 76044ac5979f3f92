/* The words that each pre-tokenizer cuts text into, as its published expression has it. */

#include "engine/text/pre-tokenizer.h"

#include <string.h>

static SundogPreTokenizer *
new_pre_tokenizer(const char *name)
{
    g_autoptr(GError) error = NULL;
    SundogPreTokenizer *pre_tokenizer = sundog_pre_tokenizer_new(name, &error);
    g_assert_no_error(error);
    return pre_tokenizer;
}

/* The words with a bar after each. */
static char *
dup_words(const char *name, const char *text, size_t n_bytes)
{
    g_autoptr(SundogPreTokenizer) pre_tokenizer = new_pre_tokenizer(name);
    g_auto(SundogWords) words = {0};
    GString *joined = g_string_new(NULL);
    const char *word;
    size_t n_word_bytes;
    sundog_words_init(&words, pre_tokenizer, text, n_bytes);
    while (sundog_words_next(&words, &word, &n_word_bytes)) {
        g_assert_cmpuint(n_word_bytes, >, 0);
        g_string_append_len(joined, word, (gssize)n_word_bytes);
        g_string_append_c(joined, '|');
    }
    return g_string_free(joined, FALSE);
}

static void
test_words(void)
{
    static const struct {
        const char *name;
        const char *text;
        const char *words;
    } cases[] = {
        {"gpt-2", "Hello,  world! don't 1234 5", "Hello|,| | world|!| don|'t| 1234| 5|"},
        {"gpt-2", "a\n\n  b  ", "a|\n\n | b|  |"},
        {"gpt-2", "DON'T é\xCC\x81", "DON|'|T| é|\xCC\x81|"},
        {"smollm", "a  12 b   3", "a|  |1|2| b|   |3|"},
        {"smollm", "don't\n 4", "don|'t|\n |4|"},
        {"llama-bpe", "DON'T 12345\n\n x", "DON|'T| |123|45|\n\n| x|"},
        {"llama-bpe", "(hello) !!\r\n\tx", "(hello|)| !!\r\n|\tx|"},
        {"llama3", "1234", "123|4|"},
        {"qwen2", "12 it's'LL", "1|2| it|'s|'LL|"},
        {"qwen2", "e\xCC\x81x", "e|\xCC\x81x|"},
        {"qwen35", "e\xCC\x81x", "e\xCC\x81x|"},
        /* U+017F folds to s; U+0085 and U+3000 are white space, U+180E is not. */
        {"qwen2", "it'\xC5\xBF", "it|'\xC5\xBF|"},
        {"gpt-2", "a\xC2\x85\xE3\x80\x80", "a|\xC2\x85\xE3\x80\x80|"},
        {"gpt-2", " \xE1\xA0\x8E", " \xE1\xA0\x8E|"},
        /* What is no UTF-8 stands alone, and what it cuts off is still taken. */
        {"gpt-2", "a\xFF\xFE b \xE5\x8C", "a|\xFF\xFE| b| |\xE5\x8C|"},
        {"qwen2", "\xED\xA0\x80\xC0\xAF", "\xED\xA0\x80\xC0\xAF|"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *words = dup_words(cases[i].name, cases[i].text, strlen(cases[i].text));
        g_assert_cmpstr(words, ==, cases[i].words);
    }
}

static void
test_nul_is_a_character(void)
{
    g_autofree char *words = dup_words("gpt-2", "a\0\0b", 4);
    g_assert_cmpmem(words, 7, "a|\0\0|b|", 7);
}

static size_t
count_words(const SundogPreTokenizer *pre_tokenizer, const GString *text)
{
    g_auto(SundogWords) words = {0};
    const char *word;
    size_t n_bytes;
    size_t n_words = 0;
    sundog_words_init(&words, pre_tokenizer, text->str, text->len);
    while (sundog_words_next(&words, &word, &n_bytes))
        n_words++;
    return n_words;
}

/* No limit of PCRE2's is met: long runs are cut as short ones are. */
static void
test_long_runs(void)
{
    static const char *const names[] = {"gpt-2", "smollm", "llama-bpe", "qwen2", "qwen35"};
    static const struct {
        const char *pattern;
        const char *end;
        size_t n_words[5];
    } cases[] = {
        {"a", "", {1, 1, 1, 1, 1}},    {" ", "x", {2, 2, 2, 2, 2}},
        {"北", ".", {2, 2, 2, 2, 2}},  {"!", "\n", {2, 2, 1, 1, 1}},
        {" \n", "x", {3, 3, 2, 2, 2}}, {"\xE3\x80\x80", "x", {3, 3, 2, 2, 2}},
        {" a", "", {0, 0, 0, 0, 0}},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GString) text = g_string_new(NULL);
        const size_t n_patterns = 400000;
        for (size_t j = 0; j < n_patterns; j++)
            g_string_append(text, cases[i].pattern);
        g_string_append(text, cases[i].end);
        for (size_t j = 0; j < G_N_ELEMENTS(names); j++) {
            g_autoptr(SundogPreTokenizer) pre_tokenizer = new_pre_tokenizer(names[j]);
            size_t n_expected = cases[i].n_words[j] != 0 ? cases[i].n_words[j] : n_patterns;
            g_assert_cmpuint(count_words(pre_tokenizer, text), ==, n_expected);
        }
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/pre-tokenizer/words", test_words);
    g_test_add_func("/pre-tokenizer/nul-is-a-character", test_nul_is_a_character);
    g_test_add_func("/pre-tokenizer/long-runs", test_long_runs);
    return g_test_run();
}
