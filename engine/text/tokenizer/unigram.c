/*
 * SentencePiece's unigram model: of all ways to cut a text in pieces, that whose scores add up highest,
 * found from the left by Viterbi's method.
 * Source: Kudo 2018; sentencepiece, src/unigram_model.cc and src/normalizer.cc.
 */

#include "engine/text/tokenizer/character-map.h"
#include "engine/text/tokenizer/space-cuts.h"
#include "engine/text/tokenizer/token-trie.h"
#include "engine/text/tokenizer/tokenizer-kinds.h"
#include "engine/text/utf8.h"

#include <math.h>
#include <string.h>

/* How much worse than the worst piece a character is that is none. */
#define UNKNOWN_PENALTY 10.0
/* A word beyond this is cut, which bounds the memory. */
#define LONGEST_WORD_BYTES ((size_t)1 << 20)
#define SPACE_SIGN "\xE2\x96\x81"

typedef struct {
    const SundogVocabulary *vocabulary;
    SundogTokenTrie *trie;
    SundogCharacterMap map;
    SundogSpaceCuts cuts;
    uint32_t bytes[256]; /* the byte tokens */
    bool has_bytes;      /* all of them */
    double unknown_score;
} Unigram;

/* The best way to the end of a piece. */
typedef struct {
    double score;
    uint32_t token; /* SUNDOG_TOKEN_NONE: a character that is no piece */
    uint32_t begin; /* of the piece */
} Best;

static void
free_state(void *state)
{
    Unigram *unigram = state;
    if (unigram == NULL)
        return;
    sundog_token_trie_free(unigram->trie);
    g_free(unigram);
}

static void
find_bytes(Unigram *unigram, const SundogTokenTable *table)
{
    memset(unigram->bytes, 0xFF, sizeof unigram->bytes);
    for (uint32_t i = 0; i < unigram->vocabulary->n_tokens; i++) {
        size_t n_bytes;
        const char *bytes = sundog_token_table_get(table, i, &n_bytes);
        if (unigram->vocabulary->tokens[i].kind == SUNDOG_TOKEN_BYTE && n_bytes == 1)
            unigram->bytes[(uint8_t)bytes[0]] = i;
    }
    unigram->has_bytes = true;
    for (size_t i = 0; i < 256; i++)
        unigram->has_bytes = unigram->has_bytes && unigram->bytes[i] != SUNDOG_TOKEN_NONE;
}

static double
worst_score(const SundogVocabulary *vocabulary)
{
    double worst = 0;
    bool any = false;
    for (uint32_t i = 0; i < vocabulary->n_tokens; i++) {
        double score = vocabulary->tokens[i].score;
        if (vocabulary->tokens[i].kind == SUNDOG_TOKEN_NORMAL && (!any || score < worst)) {
            worst = score;
            any = true;
        }
    }
    return worst;
}

static void *
new_state(const SundogVocabulary *vocabulary, const SundogTokenTable *table, GError **error)
{
    SundogCharacterMap map;
    if (!sundog_character_map_init(&map, vocabulary->character_map,
                                   vocabulary->n_character_map_bytes, error))
        return NULL;
    SundogTokenTrie *trie = sundog_token_trie_new(vocabulary, table, error);
    if (trie == NULL)
        return NULL;
    Unigram *unigram = g_new0(Unigram, 1);
    unigram->vocabulary = vocabulary;
    unigram->map = map;
    unigram->trie = trie;
    unigram->unknown_score = worst_score(vocabulary) - UNKNOWN_PENALTY;
    sundog_space_cuts_init(&unigram->cuts, vocabulary, table);
    find_bytes(unigram, table);
    return unigram;
}

static void
append_unknown(const Unigram *unigram, const char *text, size_t n_bytes, GArray *tokens)
{
    uint32_t unknown = unigram->vocabulary->unknown;
    for (size_t i = 0; unigram->has_bytes && i < n_bytes; i++)
        g_array_append_val(tokens, unigram->bytes[(uint8_t)text[i]]);
    if (unigram->has_bytes || unknown == SUNDOG_TOKEN_NONE)
        return;
    if (tokens->len == 0 || g_array_index(tokens, uint32_t, tokens->len - 1) != unknown)
        g_array_append_val(tokens, unknown);
}

static void
improve(Best *best, double score, uint32_t token, size_t begin)
{
    if (score > best->score)
        *best = (Best){score, token, (uint32_t)begin};
}

/* Tries every piece that begins at pos, where a character of this length stands. */
static void
extend(const Unigram *unigram, const char *word, size_t n_bytes, size_t pos, size_t length,
       Best *best)
{
    double score = best[pos].score;
    bool is_piece = false;
    uint32_t node = SUNDOG_TOKEN_TRIE_ROOT;
    for (size_t end = pos; end < n_bytes;) {
        node = sundog_token_trie_step(unigram->trie, node, (uint8_t)word[end++]);
        if (node == SUNDOG_TOKEN_TRIE_NONE)
            break;
        uint32_t token = sundog_token_trie_get_token(unigram->trie, node);
        if (token == SUNDOG_TOKEN_NONE)
            continue;
        improve(&best[end], score + unigram->vocabulary->tokens[token].score, token, pos);
        is_piece = is_piece || end == pos + length;
    }
    if (!is_piece)
        improve(&best[pos + length], score + unigram->unknown_score, SUNDOG_TOKEN_NONE, pos);
}

/* Turns the links, which lead back from the end, so that each leads to the end of the piece that
 * begins there, and appends the pieces. */
static void
append_best(const Unigram *unigram, const char *word, size_t n_bytes, Best *best, GArray *tokens)
{
    size_t end = n_bytes;
    uint32_t token = best[end].token;
    uint32_t begin = best[end].begin;
    for (bool more = true; more;) {
        Best before = best[begin];
        best[begin].token = token;
        best[begin].begin = (uint32_t)end;
        more = begin != 0;
        end = begin;
        token = before.token;
        begin = before.begin;
    }
    for (size_t pos = 0; pos < n_bytes; pos = best[pos].begin)
        if (best[pos].token == SUNDOG_TOKEN_NONE)
            append_unknown(unigram, word + pos, best[pos].begin - pos, tokens);
        else
            g_array_append_val(tokens, best[pos].token);
}

/* Scores that are no numbers would leave an end unreached; all are below this one then. */
static void
encode_word(const Unigram *unigram, const char *word, size_t n_bytes, GArray *best, GArray *tokens)
{
    g_array_set_size(best, (guint)n_bytes + 1);
    Best *ways = (Best *)(void *)best->data;
    for (size_t i = 0; i <= n_bytes; i++)
        ways[i] = (Best){-INFINITY, SUNDOG_TOKEN_NONE, 0};
    ways[0].score = 0;
    for (size_t pos = 0, length; pos < n_bytes; pos += length) {
        SundogUtf8State state;
        length = sundog_utf8_scan(word + pos, n_bytes - pos, &state);
        if (ways[pos].score > -INFINITY)
            extend(unigram, word, n_bytes, pos, length, ways);
    }
    if (ways[n_bytes].score > -INFINITY)
        append_best(unigram, word, n_bytes, ways, tokens);
    else
        append_unknown(unigram, word, n_bytes, tokens);
}

static size_t
next_word(const Unigram *unigram, const char *text, size_t n_bytes)
{
    size_t length = sundog_space_cuts_next(&unigram->cuts, text, n_bytes);
    if (length <= LONGEST_WORD_BYTES)
        return length;
    for (length = LONGEST_WORD_BYTES; ((uint8_t)text[length] & 0xC0) == 0x80; length--)
        ;
    return length;
}

/* Appends what stands for a part of the text; spaces that are to be merged with one before are left
 * out. */
static void
append_normal(GString *out, const char *given, size_t n_given, bool merge)
{
    while (merge && n_given != 0 && *given == ' ' &&
           (out->len == 0 || out->str[out->len - 1] == ' ')) {
        given++;
        n_given--;
    }
    g_string_append_len(out, given, (gssize)n_given);
}

/* Spaces are merged before others are added and before the sign for one is read as one. */
static GString *
dup_normal(const Unigram *unigram, const char *text, size_t n_bytes, bool add_space)
{
    const SundogVocabulary *vocabulary = unigram->vocabulary;
    g_autoptr(GString) out = g_string_sized_new(n_bytes + 2);
    size_t n_taken, n_given;
    for (size_t pos = 0; pos < n_bytes; pos += n_taken) {
        const char *given =
            sundog_character_map_take(&unigram->map, text + pos, n_bytes - pos, &n_taken, &n_given);
        append_normal(out, given, n_given, vocabulary->merge_spaces);
    }
    while (vocabulary->merge_spaces && out->len != 0 && out->str[out->len - 1] == ' ')
        g_string_truncate(out, out->len - 1);
    if (out->len == 0)
        return g_steal_pointer(&out);
    if (vocabulary->add_space_suffix)
        g_string_append_c(out, ' ');
    GString *prepared =
        sundog_space_cuts_prepare(out->str, out->len, add_space && vocabulary->add_space_prefix);
    return prepared != NULL ? prepared : g_steal_pointer(&out);
}

static void
encode(const void *state, const char *text, size_t n_bytes, bool add_space, GArray *tokens)
{
    const Unigram *unigram = state;
    g_autoptr(GString) normal = dup_normal(unigram, text, n_bytes, add_space);
    g_autoptr(GArray) best = g_array_new(FALSE, FALSE, sizeof(Best));
    for (size_t pos = 0, length; pos < normal->len; pos += length) {
        length = next_word(unigram, normal->str + pos, normal->len - pos);
        encode_word(unigram, normal->str + pos, length, best, tokens);
    }
}

const SundogTokenizerWay sundog_unigram_way = {
    .new_state = new_state, .free_state = free_state, .encode = encode};
