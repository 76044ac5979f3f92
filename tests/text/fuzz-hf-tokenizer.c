/* tokenizer.json from outside: what is read can be tokenized with, whatever it holds. */

#include "engine/format/hf-tokenizer.h"
#include "tests/text/vocabularies.h"

#include <string.h>

const char *const fuzz_seeds[] = {
    "{\"added_tokens\":[{\"id\":3,\"content\":\"<e>\",\"special\":true,\"lstrip\":true}],"
    "\"normalizer\":{\"type\":\"NFC\"},\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":["
    "{\"type\":\"Split\",\"pattern\":{\"Regex\":\"\\\\s+(?!\\\\S)|[^a]\"},\"behavior\":"
    "\"Isolated\"},"
    "{\"type\":\"Digits\"},{\"type\":\"ByteLevel\"}]},\"model\":{\"type\":\"BPE\","
    "\"vocab\":{\"a\":0,\"b\":1,\"ab\":2},\"merges\":[\"a b\"]}}",
    "{\"pre_tokenizer\":{\"type\":\"Metaspace\",\"prepend_scheme\":\"first\"},"
    "\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"BAAAAAAAAAAAYQA=\"},"
    "\"model\":{\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":[[\"u\",0],[\"a\",-1.5]]},"
    "\"post_processor\":{\"type\":\"RobertaProcessing\",\"sep\":[\"u\",0],\"cls\":[\"a\",1]}}",
    "{\"normalizer\":{\"type\":\"BertNormalizer\"},\"pre_tokenizer\":{\"type\":"
    "\"BertPreTokenizer\"},"
    "\"model\":{\"type\":\"WordPiece\",\"vocab\":{\"[UNK]\":0,\"a\":1,\"##b\":2}}}",
    "{\"normalizer\":{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},"
    "\"content\":\"\xE2\x96\x81\"},\"model\":{\"byte_fallback\":true,\"vocab\":{\"a\":0,"
    "\"<0x20>\":1,\"aa\":2},\"merges\":[[\"a\",\"a\"]]}}",
    NULL,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    static const char text[] = "ab a \xE2\x96\x81"
                               "b12\n<e> \xFF\xC3\xA9";
    g_autoptr(GError) error = NULL;
    SundogVocabulary *vocabulary = sundog_hf_tokenizer_read((const char *)data, n_bytes, &error);
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
