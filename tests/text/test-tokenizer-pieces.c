/* Vocabularies of pieces, made by hand: each kind's way, byte tokens, and the space at the beginning. */

#include "engine/text/decoder.h"
#include "tests/text/vocabularies.h"

#include <string.h>

static SundogTokenizer *
new_tokenizer(SundogVocabulary *vocabulary)
{
    g_autoptr(GError) error = NULL;
    SundogTokenizer *tokenizer = sundog_tokenizer_new(vocabulary, &error);
    g_assert_no_error(error);
    return tokenizer;
}

/* The tokens' own texts, divided by bars. */
static void
assert_texts(const SundogTokenizer *tokenizer, const char *text, SundogTokenizeFlags flags,
             const char *expected)
{
    const SundogVocabulary *vocabulary = sundog_tokenizer_get_vocabulary(tokenizer);
    g_autoptr(GArray) tokens = test_encode(tokenizer, text, strlen(text), flags);
    g_autoptr(GString) texts = g_string_new(NULL);
    for (guint i = 0; i < tokens->len; i++)
        g_string_append_printf(texts, "%s%s", i == 0 ? "" : "|",
                               vocabulary->tokens[g_array_index(tokens, uint32_t, i)].text);
    g_assert_cmpstr(texts->str, ==, expected);
}

static void
test_scores(void)
{
    g_autoptr(SundogTokenizer) tokenizer =
        new_tokenizer(test_new_pieces(SUNDOG_TOKENIZER_SCORED_BPE));
    assert_texts(tokenizer, "hello hello", SUNDOG_TOKENIZE_PLAIN, "hello|▁hello");
    /* "he" has the best score, and the characters of "ll" and "hello" are no tokens themselves. */
    assert_texts(tokenizer, "hehell", SUNDOG_TOKENIZE_PLAIN, "he|hell");
    assert_texts(tokenizer, "lo", SUNDOG_TOKENIZE_PLAIN, "<0x6C>|<0x6F>");
    assert_texts(tokenizer, "▁hello", SUNDOG_TOKENIZE_PLAIN, "▁hello");
    assert_texts(tokenizer, "北é\xFF", SUNDOG_TOKENIZE_PLAIN, "北|<0xC3>|<0xA9>|<0xFF>");
    assert_texts(tokenizer, "<s>he", SUNDOG_TOKENIZE_SPECIAL, "<s>|he");
    assert_texts(tokenizer, "<s>", SUNDOG_TOKENIZE_PLAIN, "<0x3C>|<0x73>|<0x3E>");
}

static void
test_without_byte_tokens(void)
{
    SundogVocabulary *vocabulary = test_new_pieces(SUNDOG_TOKENIZER_SCORED_BPE);
    for (uint32_t i = 0; i < vocabulary->n_tokens; i++)
        if (vocabulary->tokens[i].kind == SUNDOG_TOKEN_BYTE)
            vocabulary->tokens[i].kind = SUNDOG_TOKEN_UNUSED;
    g_autoptr(SundogTokenizer) tokenizer = new_tokenizer(vocabulary);
    assert_texts(tokenizer, "lohexyz é", SUNDOG_TOKENIZE_PLAIN, "<unk>|he|<unk>|▁|<unk>");
}

static void
test_space_in_front(void)
{
    SundogVocabulary *vocabulary = test_new_pieces(SUNDOG_TOKENIZER_SCORED_BPE);
    vocabulary->add_space_prefix = true;
    g_autoptr(SundogTokenizer) tokenizer = new_tokenizer(vocabulary);
    assert_texts(tokenizer, "", SUNDOG_TOKENIZE_PLAIN, "");
    assert_texts(tokenizer, "hello", SUNDOG_TOKENIZE_PLAIN, "▁hello");
    assert_texts(tokenizer, " hello", SUNDOG_TOKENIZE_PLAIN, "▁|▁hello");
    assert_texts(tokenizer, "<s>hello", SUNDOG_TOKENIZE_SPECIAL, "<s>|▁hello");
    assert_texts(tokenizer, "he<s>hello", SUNDOG_TOKENIZE_SPECIAL, "▁|he|<s>|▁hello");
    vocabulary->add_space_unless = true;
    assert_texts(tokenizer, " hello", SUNDOG_TOKENIZE_PLAIN, "▁hello");
    assert_texts(tokenizer, "▁hello", SUNDOG_TOKENIZE_PLAIN, "▁hello");
    vocabulary->add_space_once = true;
    assert_texts(tokenizer, "he<s>hello", SUNDOG_TOKENIZE_SPECIAL, "▁|he|<s>|hello");
}

static void
test_stripped_spaces(void)
{
    SundogVocabulary *vocabulary = test_new_pieces(SUNDOG_TOKENIZER_SCORED_BPE);
    vocabulary->tokens[1].strip_right = true;
    vocabulary->tokens[2].strip_left = true;
    g_autoptr(SundogTokenizer) tokenizer = new_tokenizer(vocabulary);
    assert_texts(tokenizer, "he <s> \n\xE3\x80\x80hello", SUNDOG_TOKENIZE_SPECIAL,
                 "he|▁|<s>|hello");
    assert_texts(tokenizer, "he\xC2\x85 \t</s> hello", SUNDOG_TOKENIZE_SPECIAL, "he|</s>|▁hello");
    assert_texts(tokenizer, "\n</s>", SUNDOG_TOKENIZE_SPECIAL, "</s>");
}

/* The scores of "h" and "ell" as bytes would be worse than that of "hell". */
static void
test_unigram(void)
{
    SundogVocabulary *vocabulary = test_new_pieces(SUNDOG_TOKENIZER_UNIGRAM);
    vocabulary->add_space_prefix = vocabulary->merge_spaces = true;
    g_autoptr(SundogTokenizer) tokenizer = new_tokenizer(vocabulary);
    assert_texts(tokenizer, "  hello   hell ", SUNDOG_TOKENIZE_PLAIN, "▁hello|▁|hell");
    assert_texts(tokenizer, "heh", SUNDOG_TOKENIZE_PLAIN, "▁|he|h");
    assert_texts(tokenizer, "é", SUNDOG_TOKENIZE_PLAIN, "▁|<0xC3>|<0xA9>");
    assert_texts(tokenizer, "   ", SUNDOG_TOKENIZE_PLAIN, "");
    /* What is no character is U+FFFD. */
    assert_texts(tokenizer, "\xFF", SUNDOG_TOKENIZE_PLAIN, "▁|<0xEF>|<0xBF>|<0xBD>");
}

static void
test_word_piece(void)
{
    SundogVocabulary *vocabulary = test_new_pieces(SUNDOG_TOKENIZER_WORD_PIECE);
    vocabulary->lowercase = vocabulary->strip_accents = true;
    g_autoptr(SundogTokenizer) tokenizer = new_tokenizer(vocabulary);
    assert_texts(tokenizer, "HÉLLO\thello", SUNDOG_TOKENIZE_PLAIN, "▁hello|▁hello");
    assert_texts(tokenizer, "hello\xE2\x80\x8Bhe", SUNDOG_TOKENIZE_PLAIN, "▁hello|he");
    assert_texts(tokenizer, "hello!x", SUNDOG_TOKENIZE_PLAIN, "▁hello|<unk>|<unk>");
    g_autofree char *longest = g_strnfill(101, 'h');
    assert_texts(tokenizer, longest, SUNDOG_TOKENIZE_PLAIN, "<unk>");
}

static void
test_longest_match(void)
{
    g_autoptr(SundogTokenizer) tokenizer = new_tokenizer(test_new_pieces(SUNDOG_TOKENIZER_LONGEST));
    assert_texts(tokenizer, "hellohe", SUNDOG_TOKENIZE_PLAIN, "hello|he");
    assert_texts(tokenizer, "\xFF\n", SUNDOG_TOKENIZE_PLAIN, "\\xff|\\x0a");
}

/* A text of many characters without spaces is merged in the same way as a short one. */
static void
test_long_words(void)
{
    static const SundogTokenizerKind kinds[] = {SUNDOG_TOKENIZER_SCORED_BPE,
                                                SUNDOG_TOKENIZER_UNIGRAM, SUNDOG_TOKENIZER_LONGEST};
    g_autoptr(GString) text = g_string_new(NULL);
    for (size_t i = 0; i < 300000; i++)
        g_string_append(text, "hello北");
    for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
        g_autoptr(SundogTokenizer) tokenizer = new_tokenizer(test_new_pieces(kinds[i]));
        g_autoptr(GArray) tokens =
            test_encode(tokenizer, text->str, text->len, SUNDOG_TOKENIZE_PLAIN);
        g_assert_cmpuint(tokens->len, >=, 600000);
        g_assert_cmpuint(tokens->len, <, 600020);
    }
}

static char *
dup_decoded(const SundogTokenizer *tokenizer, const GArray *tokens, bool begins)
{
    g_autoptr(SundogDecoder) decoder = sundog_decoder_new(tokenizer, NULL);
    GString *text = g_string_new(NULL);
    if (begins)
        sundog_decoder_begin_text(decoder);
    for (guint i = 0; i < tokens->len; i++)
        sundog_decoder_feed(decoder, g_array_index(tokens, uint32_t, i), text);
    sundog_decoder_finish(decoder, true, text);
    return g_string_free(text, FALSE);
}

/* A whole text comes back as it was; in an answer every space is the model's (T8). */
static void
test_decoded_spaces(void)
{
    static const char *const texts[] = {"hello", " hello", "  é 北 hello", "", " "};
    SundogVocabulary *vocabulary = test_new_pieces(SUNDOG_TOKENIZER_SCORED_BPE);
    vocabulary->add_space_prefix = true;
    g_autoptr(SundogTokenizer) tokenizer = new_tokenizer(vocabulary);
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
        g_autoptr(GArray) tokens =
            test_encode(tokenizer, texts[i], strlen(texts[i]), SUNDOG_TOKENIZE_ADD);
        g_autofree char *whole = dup_decoded(tokenizer, tokens, true);
        g_autofree char *answer = dup_decoded(tokenizer, tokens, false);
        g_assert_cmpstr(whole, ==, texts[i]);
        g_assert_true(texts[i][0] == '\0' || (answer[0] == ' ' && strcmp(answer + 1, whole) == 0));
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/tokenizer-pieces/scores", test_scores);
    g_test_add_func("/tokenizer-pieces/without-byte-tokens", test_without_byte_tokens);
    g_test_add_func("/tokenizer-pieces/space-in-front", test_space_in_front);
    g_test_add_func("/tokenizer-pieces/stripped-spaces", test_stripped_spaces);
    g_test_add_func("/tokenizer-pieces/unigram", test_unigram);
    g_test_add_func("/tokenizer-pieces/word-piece", test_word_piece);
    g_test_add_func("/tokenizer-pieces/longest-match", test_longest_match);
    g_test_add_func("/tokenizer-pieces/long-words", test_long_words);
    g_test_add_func("/tokenizer-pieces/decoded-spaces", test_decoded_spaces);
    return g_test_run();
}
