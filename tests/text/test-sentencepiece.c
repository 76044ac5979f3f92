/* Vocabularies of SentencePiece's own file against the tokens that it makes itself
 * (tests/fixtures/tokenizer/make-sentencepiece.py), and what is refused. */

#include "engine/format/error.h"
#include "engine/format/hf-tokenizer.h"
#include "engine/format/sentencepiece.h"
#include "tests/text/vocabularies.h"

#include <json-glib/json-glib.h>
#include <string.h>

static char *
dup_file(const char *name, const char *end, size_t *n_bytes)
{
    const char *source = g_getenv("SUNDOG_SOURCE");
    g_autofree char *file = g_strconcat("sentencepiece-", name, end, NULL);
    g_autofree char *path =
        g_build_filename(source != NULL ? source : ".", "tests/fixtures/tokenizer", file, NULL);
    g_autoptr(GError) error = NULL;
    char *text = NULL;
    g_file_get_contents(path, &text, n_bytes, &error);
    g_assert_no_error(error);
    return text;
}

static SundogVocabulary *
read_vocabulary(const char *name)
{
    size_t n_bytes;
    g_autofree char *data = dup_file(name, ".model", &n_bytes);
    g_autoptr(GError) error = NULL;
    SundogVocabulary *vocabulary =
        sundog_sentencepiece_read((const uint8_t *)data, n_bytes, &error);
    g_assert_no_error(error);
    return vocabulary;
}

static void
assert_tokens(const SundogTokenizer *tokenizer, const char *line)
{
    g_autoptr(JsonNode) node = json_from_string(line, NULL);
    JsonArray *pair = json_node_get_array(node);
    const char *text = json_array_get_string_element(pair, 0);
    JsonArray *ids = json_array_get_array_element(pair, 1);
    g_autoptr(GArray) tokens = test_encode(tokenizer, text, strlen(text), SUNDOG_TOKENIZE_PLAIN);
    g_autofree char *found = test_dup_ids(tokens);
    g_autoptr(GString) expected = g_string_new(NULL);
    for (guint i = 0; i < json_array_get_length(ids); i++)
        g_string_append_printf(expected, "%s%d", i > 0 ? " " : "",
                               (int)json_array_get_int_element(ids, i));
    if (strcmp(found, expected->str) != 0)
        g_error("%s: found %s", line, found);
}

static void
test_golden(gconstpointer name)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(SundogTokenizer) tokenizer = sundog_tokenizer_new(read_vocabulary(name), &error);
    g_assert_no_error(error);
    size_t n_bytes;
    g_autofree char *text = dup_file(name, ".jsonl", &n_bytes);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    g_assert_cmpuint(g_strv_length(lines), >, 100);
    for (size_t i = 0; lines[i] != NULL && lines[i][0] != '\0'; i++)
        assert_tokens(tokenizer, lines[i]);
}

/* tokenizer_config.json tells of tokens that the file has not. */
static void
test_additions(void)
{
    g_autoptr(SundogVocabulary) vocabulary = read_vocabulary("bpe");
    uint32_t n_tokens = vocabulary->n_tokens;
    g_autoptr(GError) error = NULL;
    g_autofree char *config = g_strdup_printf(
        "{\"legacy\": true, \"added_tokens_decoder\": {\"%u\": {\"content\": \"<|im_end|>\", "
        "\"special\": true}, \"1\": {\"content\": \"<s>\", \"special\": true}}}",
        n_tokens);
    g_assert_true(sundog_hf_tokenizer_read_additions(vocabulary, config, strlen(config), &error));
    g_assert_no_error(error);
    g_assert_cmpuint(vocabulary->n_tokens, ==, n_tokens + 1);
    g_assert_cmpstr(vocabulary->tokens[n_tokens].text, ==, "<|im_end|>");
    g_assert_cmpint(vocabulary->tokens[n_tokens].kind, ==, SUNDOG_TOKEN_CONTROL);
    g_assert_true(vocabulary->add_bos && !vocabulary->add_eos && !vocabulary->add_space_once);
    g_assert_cmpuint(vocabulary->ends[vocabulary->n_ends - 1], ==, n_tokens);
    /* A number far beyond the others is no token's. */
    config = (g_free(config), g_strdup("{\"added_tokens_decoder\": {\"4000000000\": "
                                       "{\"content\": \"x\"}}}"));
    g_assert_false(sundog_hf_tokenizer_read_additions(vocabulary, config, strlen(config), &error));
    g_assert_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID);
}

/* Messages by hand: a piece "a", then what a trainer or a normalizer says. */
static void
test_refused(void)
{
    static const struct {
        const char *bytes;
        size_t n_bytes;
        const char *reason;
    } cases[] = {
        {"", 0, "no pieces"},
        {"\x0a\x03\x0a\x01", 4, "tokenizer.model"},    /* shorter than it says */
        {"\x0a\x03\x0a\x01\xff", 5, "not UTF-8"},      /* a piece */
        {"\x0a\x05\x0a\x01\x61\x18\x07", 7, "kind 7"}, /* of a piece */
        {"\x0a\x03\x0a\x01\x61\x12\x02\x18\x03", 9, "model_type is 3"},
        {"\x0a\x03\x0a\x01\x61\x12\x02\x18\x02\x1a\x03\x12\x01\x00", 14, "normalizes text"},
        {"\x0a\x03\x0a\x01\x61\x1a\x02\x28\x00", 9, "normalizes text"}, /* spaces stay */
        {"\x0f", 1, "unknown kind 7"},
        {"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12, "64 bits"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(SundogVocabulary) vocabulary =
            sundog_sentencepiece_read((const uint8_t *)cases[i].bytes, cases[i].n_bytes, &error);
        g_assert_null(vocabulary);
        g_assert_nonnull(error);
        if (strstr(error->message, cases[i].reason) == NULL)
            g_error("case %zu: %s", i, error->message);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_data_func("/sentencepiece/bpe", "bpe", test_golden);
    g_test_add_data_func("/sentencepiece/bpe-spaces", "bpe-spaces", test_golden);
    g_test_add_data_func("/sentencepiece/unigram", "unigram", test_golden);
    g_test_add_data_func("/sentencepiece/unigram-bytes", "unigram-bytes", test_golden);
    g_test_add_func("/sentencepiece/additions", test_additions);
    g_test_add_func("/sentencepiece/refused", test_refused);
    return g_test_run();
}
