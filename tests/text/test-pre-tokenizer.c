/* The words that each pre-tokenizer cuts text into, as its published expression has it. */

#include "engine/text/tokenizer/pre-tokenizer.h"

#include <string.h>
#include <time.h>

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
dup_words_of(const SundogPreTokenizer *pre_tokenizer, const char *text, size_t n_bytes)
{
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

static char *
dup_words(const char *name, const char *text, size_t n_bytes)
{
    g_autoptr(SundogPreTokenizer) pre_tokenizer = new_pre_tokenizer(name);
    return dup_words_of(pre_tokenizer, text, n_bytes);
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
        /* Each stage cuts what the last one left. */
        /* Its third stage's set of signs holds ASCII's letters too. */
        {"deepseek-llm", "Hello, w\xC3\xB6rld 123  \n 北京 ",
         "Hello|,| w|\xC3\xB6|rld| |1|2|3|  |\n| |北京| |"},
        {"deepseek-v3", "a 1234 北京, x!\n", "a| |123|4| |北京|,| x|!\n|"},
        {"deepseek-coder", "ab.c 12", "ab|.|c| |1|2|"},
        {"falcon", "a+b 12345 c", "a|+|b| |123|45| c|"},
        {"default", "a+b 12345 c", "a|+|b| |123|45| c|"},
        {"bloom", "a (b) 12", "a| (|b|)| 12|"},
        {"viking", "ab 12", "ab| |1|2|"},
        {"tekken", "HelloWorld ABC don't 12", "Hello|World| ABC| don|'t| |1|2|"},
        {"gpt-4o", "HelloWorld ABC don't 1234", "Hello|World| ABC| don't| |123|4|"},
        {"kimi-k2", "abc北京def 々x〝を", "abc|北京|def| |々|x|〝を|"},
        {"superbpe", "in 1234567 of", "in |1|234|567| of|"},
        {"afmoe", "1234 12345678", "1|234| |12|345|678|"},
        {"tiny_aya", "1234 1234a", "1|234| |123|4|a|"},
        {"jais-2", "a       b", "a|    |  | b|"},
        {"exaone-moe", "a big cat. 12", "a big cat|.| |1|2|"},
        {"youtu", "가나ㄅ…x", "가나|ㄅ|…|x|"},
        {"chameleon", "a  b<sentinel:12>IMGIMGABZ", "a|  |b|<|sentinel|:|1|2|>|IMGIMGABZ|"},
        {"bailingmoe", "a\n\nb", "a|\n\n|b|"},
        {"seed-coder", "a!\n b", "a|!|\n| b|"},
        {"ufakzeka", "it's", "it|'s|"},
        {"laguna", "a \n\n b", "a| |\n\n| b|"},
        {"minicpm5", "a 1234", "a| |123|4|"},
        {"spark2_5", "a!\n12", "a|!|\n|1|2|"},
        {"gemma4", "a b\n\nc", "a b|\n\n|c|"},
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
        if (strcmp(words, cases[i].words) != 0)
            g_error("%s: %s, expected %s", cases[i].name, words, cases[i].words);
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

/* No name's expressions take more than linear time, whatever runs on. */
static void
test_every_name_on_long_runs(void)
{
    static const char *const patterns[] = {"a", "A",  " ",        "1",  "\n",
                                           "!", "北", "\xCC\x81", " a", "1 "};
    g_autofree char *all = sundog_pre_tokenizer_kind_dup_names();
    g_auto(GStrv) names = g_strsplit(all, " ", -1);
    g_assert_cmpuint(g_strv_length(names), >, 80);
    for (size_t i = 0; names[i] != NULL; i++) {
        g_autoptr(SundogPreTokenizer) pre_tokenizer = new_pre_tokenizer(names[i]);
        for (size_t j = 0; j < G_N_ELEMENTS(patterns); j++) {
            g_autoptr(GString) text = g_string_new(NULL);
            while (text->len < 60000)
                g_string_append(text, patterns[j]);
            g_string_append(text, "x");
            clock_t begin = clock();
            g_assert_cmpuint(count_words(pre_tokenizer, text), >=, 1);
            double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
            if (seconds > 1)
                g_error("%s takes %g s over \"%s\"", names[i], seconds, patterns[j]);
        }
    }
}

/* Expressions out of a file: what they cut, and what is refused by name. */
static void
test_expressions(void)
{
    static const char *const good[] = {"\\d+", "[\\s,]", "\\u5317"};
    static const struct {
        const char *expression;
        const char *text;
    } bad[] = {
        {"a(", "before"},
        {"\\pL", "from \"\\\\pL\" on"},
        {"\\p{Latin1}", "before"},
        {"[a&&b]", "from \"&&b]\" on"},
        {"[a[b]]", "from \"[b]]\" on"},
        {"a\\h", "from \"\\\\h\" on"},
        {"[\\S]", "from \"\\\\S]\" on"},
        {"\\u12", "from \"\\\\u12\" on"},
        {"\\", "from \"\\\\\" on"},
    };
    g_autoptr(GError) error = NULL;
    g_autoptr(SundogPreTokenizer) pre_tokenizer =
        sundog_pre_tokenizer_new_from_expressions(good, G_N_ELEMENTS(good), &error);
    g_assert_no_error(error);
    g_autofree char *words = dup_words_of(pre_tokenizer, "ab12,c 北京", strlen("ab12,c 北京"));
    g_assert_cmpstr(words, ==, "ab|12|,|c| |北|京|");
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_assert_null(sundog_pre_tokenizer_new_from_expressions(&bad[i].expression, 1, &error));
        g_assert_nonnull(error);
        if (strstr(error->message, bad[i].text) == NULL)
            g_error("\"%s\" not in \"%s\"", bad[i].text, error->message);
        g_clear_error(&error);
    }
}

/* One that backtracks without end is given up, and the rest of the text is one word. */
static void
test_expression_without_end(void)
{
    static const char *const expressions[] = {"b|(?:a+)+$c|(a|aa)+c"};
    g_autoptr(SundogPreTokenizer) pre_tokenizer =
        sundog_pre_tokenizer_new_from_expressions(expressions, 1, NULL);
    g_autoptr(GString) text = g_string_new("bb");
    for (size_t i = 0; i < 5000; i++)
        g_string_append_c(text, 'a');
    g_assert_cmpuint(count_words(pre_tokenizer, text), ==, 3);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/pre-tokenizer/words", test_words);
    g_test_add_func("/pre-tokenizer/nul-is-a-character", test_nul_is_a_character);
    g_test_add_func("/pre-tokenizer/long-runs", test_long_runs);
    g_test_add_func("/pre-tokenizer/every-name-on-long-runs", test_every_name_on_long_runs);
    g_test_add_func("/pre-tokenizer/expressions", test_expressions);
    g_test_add_func("/pre-tokenizer/expression-without-end", test_expression_without_end);
    return g_test_run();
}
