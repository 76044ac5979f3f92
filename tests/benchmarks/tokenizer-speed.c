/*
 * How fast text becomes tokens: tokenizer-speed MODEL.gguf TEXT ROUNDS. Prints a line a round, "bytes
 * tokens seconds", the first with the words not yet known.
 */

#include "engine/model/gguf-vocabulary.h"
#include "engine/text/tokenizer/tokenizer.h"

static SundogTokenizer *
open_tokenizer(const char *path, GError **error)
{
    g_autoptr(SundogGguf) gguf = sundog_gguf_open(path, error);
    SundogVocabulary *vocabulary = gguf != NULL ? sundog_gguf_dup_vocabulary(gguf, error) : NULL;
    return vocabulary != NULL ? sundog_tokenizer_new(vocabulary, error) : NULL;
}

static void
run_round(const SundogTokenizer *tokenizer, const char *text, size_t n_bytes)
{
    g_autoptr(GArray) tokens = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    gint64 begin_us = g_get_monotonic_time();
    sundog_tokenizer_encode(tokenizer, text, n_bytes, SUNDOG_TOKENIZE_PLAIN, tokens);
    double seconds = (double)(g_get_monotonic_time() - begin_us) / G_USEC_PER_SEC;
    g_print("%zu %u %.6f\n", n_bytes, tokens->len, seconds);
}

int
main(int argc, char **argv)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *text = NULL;
    gsize n_bytes = 0;
    if (argc != 4) {
        g_printerr("usage: %s MODEL.gguf TEXT ROUNDS\n", argv[0]);
        return 2;
    }
    g_autoptr(SundogTokenizer) tokenizer = open_tokenizer(argv[1], &error);
    if (tokenizer == NULL || !g_file_get_contents(argv[2], &text, &n_bytes, &error)) {
        g_printerr("%s\n", error->message);
        return 1;
    }
    for (gint64 rounds = g_ascii_strtoll(argv[3], NULL, 10); rounds > 0; rounds--)
        run_round(tokenizer, text, n_bytes);
    return 0;
}
