/*
 * BPE of characters, as SentencePiece trains it: the whole text is one word to it. Merging short words
 * takes less time, so that it is cut wherever no token could reach over.
 */

#include "engine/text/tokenizer/bpe.h"
#include "engine/text/tokenizer/pre-tokenizer.h"
#include "engine/text/tokenizer/space-cuts.h"
#include "engine/text/tokenizer/tokenizer-kinds.h"
#include "engine/text/utf8.h"

typedef struct {
    SundogPreTokenizer *pre_tokenizer; /* NULL where scores decide */
    SundogBpe *bpe;
    SundogSpaceCuts cuts;
    bool add_space;
    bool compose;
} CharacterBpe;

static void
free_state(void *state)
{
    CharacterBpe *character_bpe = state;
    if (character_bpe == NULL)
        return;
    sundog_bpe_free(character_bpe->bpe);
    sundog_pre_tokenizer_free(character_bpe->pre_tokenizer);
    g_free(character_bpe);
}

static void *
new_state(const SundogVocabulary *vocabulary, const SundogTokenTable *table, GError **error)
{
    CharacterBpe *character_bpe = g_new0(CharacterBpe, 1);
    if (vocabulary->kind == SUNDOG_TOKENIZER_CHARACTER_BPE) {
        character_bpe->pre_tokenizer = sundog_pre_tokenizer_new_for(vocabulary, error);
        if (character_bpe->pre_tokenizer == NULL) {
            free_state(character_bpe);
            return NULL;
        }
    }
    character_bpe->bpe = sundog_bpe_new(vocabulary, table, vocabulary->ignore_merges);
    sundog_space_cuts_init(&character_bpe->cuts, vocabulary, table);
    character_bpe->add_space = vocabulary->add_space_prefix;
    character_bpe->compose = vocabulary->compose;
    return character_bpe;
}

static void
encode_cut(const CharacterBpe *character_bpe, const char *text, size_t n_bytes, GArray *tokens)
{
    for (size_t length; n_bytes != 0; text += length, n_bytes -= length) {
        length = sundog_space_cuts_next(&character_bpe->cuts, text, n_bytes);
        sundog_bpe_encode(character_bpe->bpe, text, length, tokens);
    }
}

static void
encode_words(const CharacterBpe *character_bpe, const char *text, size_t n_bytes, GArray *tokens)
{
    if (character_bpe->pre_tokenizer == NULL) {
        encode_cut(character_bpe, text, n_bytes, tokens);
        return;
    }
    g_auto(SundogWords) words = {0};
    sundog_words_init(&words, character_bpe->pre_tokenizer, text, n_bytes);
    const char *word;
    size_t n_word_bytes;
    while (sundog_words_next(&words, &word, &n_word_bytes))
        encode_cut(character_bpe, word, n_word_bytes, tokens);
}

static void
encode(const void *state, const char *text, size_t n_bytes, bool add_space, GArray *tokens)
{
    const CharacterBpe *character_bpe = state;
    g_autoptr(GString) composed =
        character_bpe->compose ? sundog_utf8_compose(text, n_bytes) : NULL;
    if (composed != NULL) {
        text = composed->str;
        n_bytes = composed->len;
    }
    g_autoptr(GString) prepared =
        sundog_space_cuts_prepare(text, n_bytes, add_space && character_bpe->add_space);
    if (prepared != NULL)
        encode_words(character_bpe, prepared->str, prepared->len, tokens);
    else
        encode_words(character_bpe, text, n_bytes, tokens);
}

const SundogTokenizerWay sundog_character_bpe_way = {
    .new_state = new_state, .free_state = free_state, .encode = encode};
