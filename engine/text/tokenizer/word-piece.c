/*
 * BERT's WordPiece: text is cut at white space and signs, and each word into the longest pieces from
 * the left; a word that cannot be cut so is unknown as a whole.
 * Source: Devlin et al. 2019; the normalization is that of BertNormalizer in tokenizers.
 */

#include "engine/text/tokenizer/token-trie.h"
#include "engine/text/tokenizer/tokenizer-kinds.h"
#include "engine/text/utf8.h"

/* Longer words are unknown, whatever they are made of. */
#define LONGEST_WORD_CHARACTERS 100
/* How many characters one may be decomposed into. */
#define N_DECOMPOSED 18

typedef struct {
    SundogTokenTrie *trie;
    uint32_t unknown;
    bool lowercase;
    bool strip_accents;
} WordPiece;

/* The word that is being read: a space, which stands before a word's first piece, and its text. */
typedef struct {
    const WordPiece *word_piece;
    GString *word;
    size_t n_characters;
    GArray *tokens;
} Walk;

static void
free_state(void *state)
{
    WordPiece *word_piece = state;
    if (word_piece == NULL)
        return;
    sundog_token_trie_free(word_piece->trie);
    g_free(word_piece);
}

static void *
new_state(const SundogVocabulary *vocabulary, const SundogTokenTable *table, GError **error)
{
    SundogTokenTrie *trie = sundog_token_trie_new(vocabulary, table, error);
    if (trie == NULL)
        return NULL;
    WordPiece *word_piece = g_new0(WordPiece, 1);
    word_piece->trie = trie;
    word_piece->unknown = vocabulary->unknown;
    word_piece->lowercase = vocabulary->lowercase;
    word_piece->strip_accents = vocabulary->strip_accents;
    return word_piece;
}

/* The blocks of Chinese characters, whose every character is a word; one of them begins later than
 * Unicode has it, as it does where such vocabularies come from. */
static bool
is_chinese(uint32_t character)
{
    static const struct {
        uint32_t first;
        uint32_t last;
    } blocks[] = {
        {0x4E00, 0x9FFF},   {0x3400, 0x4DBF},   {0x20000, 0x2A6DF}, {0x2A700, 0x2B73F},
        {0x2B740, 0x2B81F}, {0x2B920, 0x2CEAF}, {0xF900, 0xFAFF},   {0x2F800, 0x2FA1F},
    };
    for (size_t i = 0; character >= 0x3400 && i < G_N_ELEMENTS(blocks); i++)
        if (character >= blocks[i].first && character <= blocks[i].last)
            return true;
    return false;
}

/* ASCII's signs, and Unicode's punctuation, but not its other symbols. */
static bool
is_sign(uint32_t character)
{
    if (character < 0x80)
        return g_ascii_ispunct(character);
    switch (g_unichar_type(character)) {
    case G_UNICODE_CONNECT_PUNCTUATION:
    case G_UNICODE_DASH_PUNCTUATION:
    case G_UNICODE_CLOSE_PUNCTUATION:
    case G_UNICODE_FINAL_PUNCTUATION:
    case G_UNICODE_INITIAL_PUNCTUATION:
    case G_UNICODE_OTHER_PUNCTUATION:
    case G_UNICODE_OPEN_PUNCTUATION:
        return true;
    default:
        return false;
    }
}

/* Characters that BERT does not see. */
static bool
is_dropped(uint32_t character)
{
    if (character < 0x80)
        return (character < 0x20 && character != '\t' && character != '\n' && character != '\r') ||
               character == 0x7F;
    GUnicodeType type = g_unichar_type(character);
    return character == 0xFFFD || type == G_UNICODE_CONTROL || type == G_UNICODE_FORMAT ||
           type == G_UNICODE_PRIVATE_USE || type == G_UNICODE_SURROGATE;
}

/* The word's pieces, or the unknown token. */
static void
append_pieces(Walk *walk)
{
    const WordPiece *word_piece = walk->word_piece;
    const GString *word = walk->word;
    guint before = walk->tokens->len;
    size_t pos = 0;
    for (size_t length; walk->n_characters <= LONGEST_WORD_CHARACTERS && pos < word->len;
         pos += length) {
        uint32_t token =
            sundog_token_trie_longest(word_piece->trie, word->str + pos, word->len - pos, &length);
        if (token == SUNDOG_TOKEN_NONE)
            break;
        g_array_append_val(walk->tokens, token);
    }
    if (pos == word->len)
        return;
    g_array_set_size(walk->tokens, before);
    if (word_piece->unknown != SUNDOG_TOKEN_NONE)
        g_array_append_val(walk->tokens, word_piece->unknown);
}

static void
end_word(Walk *walk)
{
    if (walk->n_characters != 0)
        append_pieces(walk);
    g_string_assign(walk->word, " ");
    walk->n_characters = 0;
}

/* A word that is too long is unknown: its further characters need no room. */
static void
add_letter(Walk *walk, uint32_t character)
{
    if (++walk->n_characters <= LONGEST_WORD_CHARACTERS)
        g_string_append_unichar(walk->word, character);
}

static void
add_character(Walk *walk, uint32_t character)
{
    if (!is_sign(character)) {
        add_letter(walk, character);
        return;
    }
    end_word(walk);
    add_letter(walk, character);
    end_word(walk);
}

/* The one character whose small letter is two. */
#define DOTTED_I 0x130

static void
add_lowered(Walk *walk, uint32_t character)
{
    if (walk->word_piece->lowercase && character == DOTTED_I) {
        add_character(walk, 'i');
        add_character(walk, 0x307);
    } else {
        add_character(walk, walk->word_piece->lowercase ? g_unichar_tolower(character) : character);
    }
}

static void
add_stripped(Walk *walk, uint32_t character)
{
    gunichar parts[N_DECOMPOSED];
    if (!walk->word_piece->strip_accents || character < 0x80) {
        add_lowered(walk, character);
        return;
    }
    size_t n = g_unichar_fully_decompose(character, FALSE, parts, N_DECOMPOSED);
    for (size_t i = 0; i < MIN(n, N_DECOMPOSED); i++)
        if (g_unichar_type(parts[i]) != G_UNICODE_NON_SPACING_MARK)
            add_lowered(walk, parts[i]);
}

static void
read_character(Walk *walk, uint32_t character)
{
    if (is_dropped(character))
        return;
    if (sundog_utf8_is_space(character)) {
        end_word(walk);
        return;
    }
    bool chinese = is_chinese(character);
    if (chinese)
        end_word(walk);
    add_stripped(walk, character);
    if (chinese)
        end_word(walk);
}

static void
encode(const void *state, const char *text, size_t n_bytes, bool add_space, GArray *tokens)
{
    (void)add_space;
    g_autoptr(GString) word = g_string_new(" ");
    Walk walk = {.word_piece = state, .word = word, .tokens = tokens};
    size_t length;
    for (size_t pos = 0; pos < n_bytes; pos += MAX(length, 1)) {
        uint32_t character = 0;
        length = sundog_utf8_decode(text + pos, n_bytes - pos, &character);
        if (length != 0)
            read_character(&walk, character);
    }
    end_word(&walk);
}

const SundogTokenizerWay sundog_word_piece_way = {
    .new_state = new_state, .free_state = free_state, .encode = encode};
