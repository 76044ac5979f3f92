/* SentencePiece's file out of any bytes: an error, or a vocabulary that texts can be cut with. */

#include "engine/format/sentencepiece.h"
#include "tests/text/vocabularies.h"

#include <string.h>

void fuzz_make_seeds(void (*add)(const void *data, size_t n_bytes));

/* Three pieces, the first unknown and the last a byte, then a trainer and a normalizer. */
void
fuzz_make_seeds(void (*add)(const void *data, size_t n_bytes))
{
    static const char bpe[] =
        "\x0a\x05\x0a\x01u\x18\x02\x0a\x0a\x0a\x03\xe2\x96\x81\x15\x00\x00\x80"
        "\xbf\x0a\x0a\x0a\x06<0x41>\x18\x06\x12\x04\x18\x02\x98\x02\x01\x1a"
        "\x04\x18\x01\x20\x00";
    static const char unigram[] = "\x0a\x05\x0a\x01u\x18\x02\x0a\x08\x0a\x01"
                                  "a\x15\x00\x00\x80\xbf\x12\x02\x18\x01\x1a\x04\x18\x01\x20\x01";
    add(bpe, sizeof(bpe) - 1);
    add(unigram, sizeof(unigram) - 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    static const char text[] = "ab a \xE2\x96\x81"
                               "A12\n \xFF\xC3\xA9";
    g_autoptr(GError) error = NULL;
    SundogVocabulary *vocabulary = sundog_sentencepiece_read(data, n_bytes, &error);
    g_assert_true((vocabulary == NULL) == (error != NULL));
    if (vocabulary == NULL) {
        g_assert_true(g_utf8_validate(error->message, -1, NULL));
        return 0;
    }
    g_autoptr(SundogTokenizer) tokenizer = sundog_tokenizer_new(vocabulary, &error);
    g_assert_true((tokenizer == NULL) == (error != NULL));
    if (tokenizer == NULL)
        return 0;
    g_autoptr(GArray) tokens = test_encode(tokenizer, text, strlen(text), SUNDOG_TOKENIZE_ADD);
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    for (guint i = 0; i < tokens->len; i++)
        g_assert_true(sundog_tokenizer_append_bytes(tokenizer, g_array_index(tokens, uint32_t, i),
                                                    true, bytes));
    return 0;
}
