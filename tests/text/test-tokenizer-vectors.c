/*
 * The vectors that come with llama.cpp's source: a vocabulary, texts, and the tokens they must become.
 * Its own tests/test-tokenizer-0.cpp makes no special tokens of the texts and adds none; nor does this.
 */

#include "tests/text/vocabularies.h"

#include <string.h>

#define SEPARATOR "\n__ggml_vocab_test__\n"

/* What the vectors hold today; fewer would mean that some stopped being run. */
#define N_VOCABULARIES_AT_LEAST 11

static void
check_vectors(const SundogTokenizer *tokenizer, const char *input, const char *output)
{
    g_auto(GStrv) texts = g_strsplit(input, SEPARATOR, -1);
    g_auto(GStrv) lines = g_strsplit(output, "\n", -1);
    g_assert_cmpuint(g_strv_length(texts), >, 20);
    g_assert_cmpuint(g_strv_length(texts), <=, g_strv_length(lines));
    for (size_t i = 0; texts[i] != NULL; i++) {
        g_autoptr(GArray) tokens =
            test_encode(tokenizer, texts[i], strlen(texts[i]), SUNDOG_TOKENIZE_PLAIN);
        g_autofree char *ids = test_dup_ids(tokens);
        g_assert_cmpstr(ids, ==, g_strstrip(lines[i]));
    }
}

/* Whether the vocabulary was one of those supported. */
static bool
check_vocabulary(const char *gguf_path)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *name = g_path_get_basename(gguf_path);
    g_autofree char *input_path = g_strconcat(gguf_path, ".inp", NULL);
    g_autofree char *output_path = g_strconcat(gguf_path, ".out", NULL);
    g_autofree char *input = NULL;
    g_autofree char *output = NULL;
    g_autoptr(SundogTokenizer) tokenizer = test_open_tokenizer(gguf_path, &error);
    if (tokenizer == NULL) {
        g_test_message("%s is left out: %s", name, error->message);
        return false;
    }
    if (!g_file_get_contents(input_path, &input, NULL, NULL)) {
        g_test_message("%s is left out: it has no vectors", name);
        return false;
    }
    g_assert_true(g_file_get_contents(output_path, &output, NULL, NULL));
    check_vectors(tokenizer, input, output);
    g_test_message("%s: all vectors are met", name);
    return true;
}

static void
test_vectors(void)
{
    g_autofree char *source = test_fetch("llama-cpp-source");
    if (source == NULL)
        return;
    g_autofree char *models = g_build_filename(source, "models", NULL);
    g_autoptr(GDir) folder = g_dir_open(models, 0, NULL);
    g_assert_nonnull(folder);
    unsigned n_checked = 0;
    for (const char *name; (name = g_dir_read_name(folder)) != NULL;) {
        g_autofree char *path = g_build_filename(models, name, NULL);
        if (g_str_has_prefix(name, "ggml-vocab-") && g_str_has_suffix(name, ".gguf"))
            n_checked += check_vocabulary(path) ? 1 : 0;
    }
    g_assert_cmpuint(n_checked, >=, N_VOCABULARIES_AT_LEAST);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/tokenizer/vectors", test_vectors);
    return g_test_run();
}
