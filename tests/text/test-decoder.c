/* The incremental decoder: characters and stop strings across any borders of tokens. */

#include "engine/text/decoder.h"
#include "tests/text/vocabularies.h"

#include <string.h>

#define REPLACEMENT "\xEF\xBF\xBD"
#define FAMILY "👩‍👩‍👧"

/* What an answer must become. */
typedef struct {
    const char *bytes; /* as the model says them */
    const char *const *stops;
    bool whole;
    const char *text;
    const char *stop;
} Answer;

static void
assert_whole_characters(const GString *text)
{
    g_assert_true(g_utf8_validate_len(text->str, text->len, NULL));
}

/* A tokenizer whose token i is pieces[i]. */
static SundogTokenizer *
new_tokenizer_of_pieces(char **pieces)
{
    SundogVocabulary *vocabulary = sundog_vocabulary_new();
    vocabulary->kind = SUNDOG_TOKENIZER_BPE;
    vocabulary->pre_tokenizer = g_strdup("gpt-2");
    vocabulary->n_tokens = g_strv_length(pieces);
    vocabulary->tokens = g_new0(SundogToken, vocabulary->n_tokens);
    for (uint32_t i = 0; i < vocabulary->n_tokens; i++)
        vocabulary->tokens[i] = (SundogToken){
            .text = g_string_chunk_insert(vocabulary->strings, pieces[i]),
            .length = (uint32_t)strlen(pieces[i]),
            .kind = SUNDOG_TOKEN_USER_DEFINED,
        };
    g_autoptr(GError) error = NULL;
    SundogTokenizer *tokenizer = sundog_tokenizer_new(vocabulary, &error);
    g_assert_no_error(error);
    return tokenizer;
}

/* Of the pieces that were fed: those that lie in the text that is shown, and at a stop, in whose place
 * nothing is shown, also the one that it begins in. */
static size_t
count_shown(char **pieces, uint32_t n_fed, size_t n_shown_bytes, bool stopped)
{
    size_t n = 0, begin = 0;
    for (; n < n_fed; n++) {
        size_t end = begin + strlen(pieces[n]);
        if (stopped ? begin >= n_shown_bytes : end > n_shown_bytes)
            break;
        begin = end;
    }
    return n;
}

static void
check_pieces(char **pieces, const Answer *answer)
{
    bool is_text = g_str_has_prefix(answer->bytes, answer->text);
    uint32_t n_fed = 0;
    g_autoptr(SundogTokenizer) tokenizer = new_tokenizer_of_pieces(pieces);
    g_autoptr(SundogDecoder) decoder = sundog_decoder_new(tokenizer, answer->stops);
    g_autoptr(GString) text = g_string_new(NULL);
    bool goes_on = true;
    for (uint32_t i = 0; pieces[i] != NULL; i++) {
        gsize before = text->len;
        bool went_on = goes_on;
        goes_on = sundog_decoder_feed(decoder, i, text);
        assert_whole_characters(text);
        g_assert_true(went_on || (!goes_on && text->len == before));
        g_assert_true(g_str_has_prefix(answer->text, text->str));
        n_fed += went_on;
        if (is_text)
            g_assert_cmpuint(sundog_decoder_get_n_shown(decoder), ==,
                             count_shown(pieces, n_fed, text->len, !goes_on));
    }
    sundog_decoder_finish(decoder, answer->whole, text);
    g_assert_cmpstr(text->str, ==, answer->text);
    g_assert_cmpuint(sundog_decoder_get_n_shown(decoder), ==,
                     goes_on ? n_fed : count_shown(pieces, n_fed, text->len, true));
    g_assert_cmpstr(sundog_decoder_get_stop(decoder), ==, answer->stop);
    g_assert_true(goes_on == (answer->stop == NULL));
}

/* Bit i of cuts says whether a piece ends after byte i. */
static char **
dup_pieces(const char *bytes, uint32_t cuts)
{
    g_autoptr(GPtrArray) pieces = g_ptr_array_new();
    size_t begin = 0;
    for (size_t i = 0; bytes[i] != '\0'; i++)
        if ((cuts >> (i % 32) & 1) != 0 || bytes[i + 1] == '\0') {
            g_ptr_array_add(pieces, g_strndup(bytes + begin, i + 1 - begin));
            begin = i + 1;
        }
    g_ptr_array_add(pieces, NULL);
    return (char **)g_ptr_array_steal(pieces, NULL);
}

/* Every way to cut short answers, and many ways to cut long ones, gives the same text. */
static void
check_all_cuts(const Answer *answer)
{
    size_t n_bytes = strlen(answer->bytes);
    uint32_t n_ways = n_bytes <= 12 ? (uint32_t)1 << (n_bytes - 1) : 4096;
    g_autoptr(GRand) random = g_rand_new_with_seed(11);
    for (uint32_t i = 0; i < n_ways; i++) {
        uint32_t cuts = n_bytes <= 12 || i == 0 ? i : g_rand_int(random);
        g_auto(GStrv) pieces = dup_pieces(answer->bytes, i == 1 ? UINT32_MAX : cuts);
        check_pieces(pieces, answer);
    }
}

static void
test_characters(void)
{
    static const Answer answers[] = {
        {" 北京, ď " FAMILY, NULL, true, " 北京, ď " FAMILY, NULL},
        {"  x", NULL, true, "  x", NULL},
        {FAMILY, NULL, false, FAMILY, NULL},
        /* Cut off in a character, by its length or by the model's own end. */
        {"a\xE4\xBD", NULL, false, "a", NULL},
        {"a\xE4\xBD", NULL, true, "a" REPLACEMENT, NULL},
        {"a\xF0\x9F\x91", NULL, true, "a" REPLACEMENT, NULL},
        /* Bytes that can be no UTF-8: one U+FFFD for each longest beginning, as Unicode advises. */
        {"a\xFF"
         "b",
         NULL, true, "a" REPLACEMENT "b", NULL},
        {"\xE4\xBD"
         "a",
         NULL, true, REPLACEMENT "a", NULL},
        {"\xF0\x9F\xE5\x8C\x97", NULL, true, REPLACEMENT "北", NULL},
        {"\xC0\xAF\xED\xA0\x80", NULL, true,
         REPLACEMENT REPLACEMENT REPLACEMENT REPLACEMENT REPLACEMENT, NULL},
        {"\x97\xE5\x8C\x97", NULL, true, REPLACEMENT "北", NULL},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(answers); i++)
        check_all_cuts(&answers[i]);
}

static void
test_stops(void)
{
    static const char *const letters[] = {"DEFGHIJ", NULL};
    static const char *const twice[] = {"aab", NULL};
    static const char *const nested[] = {"abcd", "bc", NULL};
    static const char *const same_end[] = {"c", "bc", "abc", NULL};
    static const char *const overlapping[] = {"abcx", "bcd", NULL};
    static const char *const han[] = {"京", NULL};
    static const char *const broken[] = {"\xAC", NULL};
    static const char *const odd[] = {"", "\n\n", NULL};
    static const Answer answers[] = {
        {"ABCDEFGHIJK", letters, true, "ABC", "DEFGHIJ"},
        {"ABCDEFGHIXJ", letters, true, "ABCDEFGHIXJ", NULL},
        {"ABCDEFGHI", letters, true, "ABCDEFGHI", NULL},
        {"DEFGHIJ", letters, true, "", "DEFGHIJ"},
        {"DEFDEFGHIJ", letters, true, "DEF", "DEFGHIJ"},
        {"aaaab", twice, true, "aa", "aab"},
        {"aaab", twice, true, "a", "aab"},
        {"xabcd", nested, true, "xa", "bc"},
        {"xabc", same_end, true, "x", "abc"},
        {"abcd", overlapping, true, "a", "bcd"},
        {"abcx", overlapping, true, "", "abcx"},
        {"北京!", han, true, "北", "京"},
        {"北交", han, true, "北交", NULL},
        {"北\xE4\xBA", han, false, "北", NULL},
        {"a€b", broken, true, "a", "\xAC"},
        {"a\n\nb", odd, true, "a", "\n\n"},
        {"a\n", odd, true, "a\n", NULL},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(answers); i++)
        check_all_cuts(&answers[i]);
}

/* The pieces of the report: nothing of a stop string is ever shown. */
static void
test_stop_over_tokens(void)
{
    static const char *const stops[] = {"DEFGHIJ", NULL};
    const char *pieces[] = {"ABC", "D", "EF", "G", "HI", "J", NULL};
    const char *shown[] = {"ABC", "ABC", "ABC", "ABC", "ABC", "ABC"};
    g_autoptr(SundogTokenizer) tokenizer = new_tokenizer_of_pieces((char **)pieces);
    g_autoptr(SundogDecoder) decoder = sundog_decoder_new(tokenizer, stops);
    g_autoptr(GString) text = g_string_new(NULL);
    for (uint32_t i = 0; i < 6; i++) {
        g_assert_true(sundog_decoder_feed(decoder, i, text) == (i < 5));
        g_assert_cmpstr(text->str, ==, shown[i]);
    }
    g_assert_false(sundog_decoder_feed(decoder, 0, text));
    sundog_decoder_finish(decoder, true, text);
    g_assert_cmpstr(text->str, ==, "ABC");
}

/* What cannot begin a stop string any more is shown at once, and no more than a stop is held. */
static void
test_holds_no_longer_than_needed(void)
{
    static const char *const stops[] = {"<end>", NULL};
    const char *pieces[] = {"a", "<e", "x<", "b", "<", "<", NULL};
    const char *shown[] = {"a", "a", "a<ex", "a<ex<b", "a<ex<b", "a<ex<b<"};
    g_autoptr(SundogTokenizer) tokenizer = new_tokenizer_of_pieces((char **)pieces);
    g_autoptr(SundogDecoder) decoder = sundog_decoder_new(tokenizer, stops);
    g_autoptr(GString) text = g_string_new(NULL);
    for (uint32_t i = 0; i < 6; i++) {
        g_assert_true(sundog_decoder_feed(decoder, i, text));
        g_assert_cmpstr(text->str, ==, shown[i]);
    }
    sundog_decoder_finish(decoder, false, text);
    g_assert_cmpstr(text->str, ==, "a<ex<b<<");
}

static void
test_control_tokens_are_silent(void)
{
    g_autoptr(SundogTokenizer) tokenizer = sundog_tokenizer_new(test_new_vocabulary("gpt-2"), NULL);
    g_autoptr(SundogDecoder) decoder = sundog_decoder_new(tokenizer, NULL);
    g_autoptr(GString) text = g_string_new(NULL);
    g_assert_true(sundog_decoder_feed(decoder, test_find(tokenizer, "Ġhello"), text));
    g_assert_true(sundog_decoder_feed(decoder, test_find(tokenizer, "<|end|>"), text));
    g_assert_true(sundog_decoder_feed(decoder, UINT32_MAX, text));
    g_assert_true(sundog_decoder_feed(decoder, 0, text)); /* the NUL byte */
    sundog_decoder_finish(decoder, true, text);
    g_assert_cmpmem(text->str, text->len, " hello\0", 7);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/decoder/characters", test_characters);
    g_test_add_func("/decoder/stops", test_stops);
    g_test_add_func("/decoder/stop-over-tokens", test_stop_over_tokens);
    g_test_add_func("/decoder/holds-no-longer-than-needed", test_holds_no_longer_than_needed);
    g_test_add_func("/decoder/control-tokens-are-silent", test_control_tokens_are_silent);
    return g_test_run();
}
