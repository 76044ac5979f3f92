/* The vocabulary of a core: what is read can be written, and is then the same. */

#include "engine/format/vocabulary.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);
void fuzz_make_seeds(void (*add)(const void *data, size_t n_bytes));

static GBytes *
write_vocabulary(const SundogVocabulary *vocabulary)
{
    SundogWriter writer;
    sundog_writer_init(&writer);
    sundog_vocabulary_write(vocabulary, &writer);
    return sundog_writer_steal(&writer);
}

void
fuzz_make_seeds(void (*add)(const void *data, size_t n_bytes))
{
    static const char *const texts[] = {"a", "b", "\xc4\xa0", "ab", "<|end|>"};
    g_autoptr(SundogVocabulary) vocabulary = sundog_vocabulary_new();
    vocabulary->pre_tokenizer = g_strdup("gpt-2");
    vocabulary->tokens = g_new0(SundogToken, G_N_ELEMENTS(texts));
    for (; vocabulary->n_tokens < G_N_ELEMENTS(texts); vocabulary->n_tokens++) {
        vocabulary->tokens[vocabulary->n_tokens] = (SundogToken){
            .text = g_string_chunk_insert(vocabulary->strings, texts[vocabulary->n_tokens]),
            .length = (uint32_t)strlen(texts[vocabulary->n_tokens]),
            .kind = SUNDOG_TOKEN_NORMAL,
        };
    }
    vocabulary->merges = g_new0(const char *, 1);
    vocabulary->merges[vocabulary->n_merges++] = g_string_chunk_insert(vocabulary->strings, "a b");
    vocabulary->tokens[4].strip_right = true;
    vocabulary->expressions = g_new0(const char *, 1);
    vocabulary->expressions[vocabulary->n_expressions++] =
        g_string_chunk_insert(vocabulary->strings, "a+");
    vocabulary->character_map = g_memdup2("\0\0\0\0\0", 5);
    vocabulary->n_character_map_bytes = 5;
    sundog_vocabulary_add_end(vocabulary, 4);
    g_autoptr(GBytes) bytes = write_vocabulary(vocabulary);
    add(g_bytes_get_data(bytes, NULL), g_bytes_get_size(bytes));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    SundogReader reader;
    g_autoptr(GError) error = NULL;
    sundog_reader_init(&reader, data, n_bytes, "vocabulary");
    g_autoptr(SundogVocabulary) vocabulary = sundog_vocabulary_read(&reader);
    size_t n_read = reader.pos;
    g_assert_true(sundog_reader_finish(&reader, &error) == (vocabulary != NULL));
    if (vocabulary == NULL)
        return 0;
    g_autoptr(GBytes) written = write_vocabulary(vocabulary);
    g_assert_cmpmem(g_bytes_get_data(written, NULL), g_bytes_get_size(written), data, n_read);
    return 0;
}
