/* Byte-level BPE: words by the pre-tokenizer's expressions, each merged on its own. */

#include "engine/text/tokenizer/bpe.h"
#include "engine/text/tokenizer/pre-tokenizer.h"
#include "engine/text/tokenizer/tokenizer-kinds.h"
#include "engine/text/utf8.h"

typedef struct {
    SundogPreTokenizer *pre_tokenizer;
    SundogBpe *bpe;
    bool add_space;
    bool compose;
} ByteBpe;

static void
free_state(void *state)
{
    ByteBpe *byte_bpe = state;
    if (byte_bpe == NULL)
        return;
    sundog_bpe_free(byte_bpe->bpe);
    sundog_pre_tokenizer_free(byte_bpe->pre_tokenizer);
    g_free(byte_bpe);
}

static void *
new_state(const SundogVocabulary *vocabulary, const SundogTokenTable *table, GError **error)
{
    SundogPreTokenizer *pre_tokenizer = sundog_pre_tokenizer_new_for(vocabulary, error);
    if (pre_tokenizer == NULL)
        return NULL;
    ByteBpe *byte_bpe = g_new0(ByteBpe, 1);
    byte_bpe->pre_tokenizer = pre_tokenizer;
    bool ignore_merges =
        vocabulary->ignore_merges || sundog_pre_tokenizer_get_ignore_merges(pre_tokenizer);
    byte_bpe->bpe = sundog_bpe_new(vocabulary, table, ignore_merges);
    byte_bpe->add_space = vocabulary->add_space_prefix;
    byte_bpe->compose = vocabulary->compose;
    return byte_bpe;
}

static void
encode_words(const ByteBpe *byte_bpe, const char *text, size_t n_bytes, GArray *tokens)
{
    g_auto(SundogWords) words = {0};
    sundog_words_init(&words, byte_bpe->pre_tokenizer, text, n_bytes);
    const char *word;
    size_t n_word_bytes;
    while (sundog_words_next(&words, &word, &n_word_bytes))
        sundog_bpe_encode(byte_bpe->bpe, word, n_word_bytes, tokens);
}

static void
encode_spaced(const ByteBpe *byte_bpe, const char *text, size_t n_bytes, bool add_space,
              GArray *tokens)
{
    if (!add_space || !byte_bpe->add_space) {
        encode_words(byte_bpe, text, n_bytes, tokens);
        return;
    }
    g_autoptr(GString) spaced = g_string_new(" ");
    g_string_append_len(spaced, text, (gssize)n_bytes);
    encode_words(byte_bpe, spaced->str, spaced->len, tokens);
}

static void
encode(const void *state, const char *text, size_t n_bytes, bool add_space, GArray *tokens)
{
    const ByteBpe *byte_bpe = state;
    g_autoptr(GString) composed = byte_bpe->compose ? sundog_utf8_compose(text, n_bytes) : NULL;
    if (composed != NULL)
        encode_spaced(byte_bpe, composed->str, composed->len, add_space, tokens);
    else
        encode_spaced(byte_bpe, text, n_bytes, add_space, tokens);
}

const SundogTokenizerWay sundog_byte_bpe_way = {
    .new_state = new_state, .free_state = free_state, .encode = encode};
