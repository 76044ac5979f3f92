/*
 * The vectors that come with llama.cpp's source: a vocabulary, texts, and the tokens they must become.
 * Its own tests/test-tokenizer-0.cpp makes no special tokens of the texts and adds none; nor does this.
 */

#include "tests/text/vocabularies.h"

#include <string.h>

#define SEPARATOR "\n__ggml_vocab_test__\n"

/* All that have vectors, by name. */
static const char *const names[] = {
    "bert-bge", "command-r", "deepseek-coder", "deepseek-llm", "falcon",
    "gemma-4",  "gpt-2",     "llama-bpe",      "llama-spm",    "mpt",
    "phi-3",    "qwen2",     "qwen35",         "refact",       "starcoder",
};

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

static char *
read_file(const char *folder, const char *name, const char *suffix)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *file = g_strdup_printf("ggml-vocab-%s.gguf%s", name, suffix);
    g_autofree char *path = g_build_filename(folder, "models", file, NULL);
    char *text = NULL;
    g_file_get_contents(path, &text, NULL, &error);
    g_assert_no_error(error);
    return text;
}

static void
test_vocabulary(const void *data)
{
    const char *name = data;
    g_autoptr(GError) error = NULL;
    g_autofree char *source = test_fetch("llama-cpp-source");
    if (source == NULL)
        return;
    g_autofree char *file = g_strdup_printf("ggml-vocab-%s.gguf", name);
    g_autofree char *path = g_build_filename(source, "models", file, NULL);
    g_autofree char *input = read_file(source, name, ".inp");
    g_autofree char *output = read_file(source, name, ".out");
    g_autoptr(SundogTokenizer) tokenizer = test_open_tokenizer(path, &error);
    g_assert_no_error(error);
    check_vectors(tokenizer, input, output);
}

/* A later source may bring vectors for more vocabularies: then they are wanted here too. */
static void
test_none_is_left_out(void)
{
    g_autofree char *source = test_fetch("llama-cpp-source");
    if (source == NULL)
        return;
    g_autofree char *models = g_build_filename(source, "models", NULL);
    g_autoptr(GDir) folder = g_dir_open(models, 0, NULL);
    g_assert_nonnull(folder);
    size_t n_found = 0;
    for (const char *name; (name = g_dir_read_name(folder)) != NULL;)
        n_found += g_str_has_suffix(name, ".gguf.out");
    g_assert_cmpuint(n_found, ==, G_N_ELEMENTS(names));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autofree char *path = g_strconcat("/tokenizer/vectors/", names[i], NULL);
        g_test_add_data_func(path, names[i], test_vocabulary);
    }
    g_test_add_func("/tokenizer/vectors/none-is-left-out", test_none_is_left_out);
    return g_test_run();
}
