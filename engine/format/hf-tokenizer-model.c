/*
 * The tokens of tokenizer.json. Spellings are made those of GGUF: a WordPiece that begins a word has
 * U+2581 in front, and the others lose their "##".
 */

#include "engine/format/error.h"
#include "engine/format/hf-tokenizer-private.h"
#include "engine/format/json-members.h"

#include <math.h>
#include <string.h>

/* Ids may leave gaps, but no more than a file that is not hostile would. */
#define MAX_GAPS 65536
#define SPACE_SIGN "\xE2\x96\x81"

static bool
set_invalid(GError **error, const char *what)
{
    g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID, "tokenizer.json: %s",
                what);
    return false;
}

/* Room for a token with this id; tokens between are unused and match nothing. */
static bool
reserve(SundogVocabulary *vocabulary, uint32_t id, uint64_t n_entries, GError **error)
{
    if (id >= n_entries + MAX_GAPS) {
        g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID,
                    "tokenizer.json: a token has id %u, though there are %" G_GUINT64_FORMAT, id,
                    n_entries);
        return false;
    }
    if (id < vocabulary->n_tokens)
        return true;
    vocabulary->tokens = g_renew(SundogToken, vocabulary->tokens, (size_t)id + 1);
    for (uint32_t i = vocabulary->n_tokens; i <= id; i++)
        vocabulary->tokens[i] = (SundogToken){.text = "", .kind = SUNDOG_TOKEN_UNUSED};
    vocabulary->n_tokens = id + 1;
    return true;
}

/* "<0x0A>" */
static bool
is_byte(const char *text)
{
    return strlen(text) == 6 && memcmp(text, "<0x", 3) == 0 && g_ascii_isxdigit(text[3]) &&
           g_ascii_isxdigit(text[4]) && text[5] == '>';
}

static char *
dup_spelling(const SundogVocabulary *vocabulary, const char *text)
{
    if (vocabulary->kind != SUNDOG_TOKENIZER_WORD_PIECE)
        return g_strdup(text);
    return g_str_has_prefix(text, "##") ? g_strdup(text + 2) : g_strconcat(SPACE_SIGN, text, NULL);
}

static void
set_token(SundogVocabulary *vocabulary, uint32_t id, const char *text, SundogTokenKind kind)
{
    SundogToken *token = &vocabulary->tokens[id];
    token->text = sundog_hf_insert(vocabulary, text);
    token->length = (uint32_t)strlen(text);
    token->kind = kind;
}

/* The largest id of the table, which lists texts and ids in turn. */
static bool
find_largest(JsonArray *entries, uint32_t *largest, GError **error)
{
    *largest = 0;
    for (guint i = 0; i < json_array_get_length(entries); i += 2) {
        uint32_t id;
        if (sundog_json_get_text(json_array_get_element(entries, i)) == NULL ||
            !sundog_hf_get_number(json_array_get_element(entries, i + 1), SUNDOG_TOKEN_NONE, &id))
            return set_invalid(error, "model.vocab holds what is no id");
        *largest = MAX(*largest, id);
    }
    return true;
}

static bool
read_table(SundogVocabulary *vocabulary, JsonObject *model, bool bytes, GError **error)
{
    JsonArray *entries = sundog_json_get_array(model, "vocab");
    guint n_entries = entries != NULL ? json_array_get_length(entries) / 2 : 0;
    uint32_t largest;
    if (n_entries == 0 || json_array_get_length(entries) % 2 != 0)
        return set_invalid(error, "model.vocab has no tokens");
    if (!find_largest(entries, &largest, error) || !reserve(vocabulary, largest, n_entries, error))
        return false;
    for (guint i = 0; i < n_entries; i++) {
        const char *text = json_array_get_string_element(entries, 2 * i);
        g_autofree char *spelling = dup_spelling(vocabulary, text);
        set_token(vocabulary, (uint32_t)json_array_get_int_element(entries, 2 * i + 1), spelling,
                  bytes && is_byte(text) ? SUNDOG_TOKEN_BYTE : SUNDOG_TOKEN_NORMAL);
    }
    return true;
}

/* "left right", or the two in an array; a space within becomes the sign for one. */
static char *
dup_merge(JsonNode *node)
{
    const char *whole = sundog_json_get_text(node);
    if (whole != NULL)
        return g_strdup(whole);
    JsonArray *pair = JSON_NODE_HOLDS_ARRAY(node) ? json_node_get_array(node) : NULL;
    if (pair == NULL || json_array_get_length(pair) != 2)
        return NULL;
    g_autoptr(GString) merge = g_string_new(NULL);
    for (guint i = 0; i < 2; i++) {
        const char *part = sundog_json_get_text(json_array_get_element(pair, i));
        if (part == NULL)
            return NULL;
        g_autoptr(GString) text = g_string_new(part);
        g_string_replace(text, " ", SPACE_SIGN, 0);
        g_string_append_printf(merge, "%s%s", i == 0 ? "" : " ", text->str);
    }
    return g_string_free(g_steal_pointer(&merge), FALSE);
}

static bool
read_merges(SundogVocabulary *vocabulary, JsonObject *model, GError **error)
{
    JsonArray *merges = sundog_json_get_array(model, "merges");
    if (merges == NULL)
        return set_invalid(error, "model.merges is missing");
    guint n_merges = json_array_get_length(merges);
    vocabulary->merges = g_new0(const char *, n_merges);
    for (guint i = 0; i < n_merges; i++) {
        g_autofree char *merge = dup_merge(json_array_get_element(merges, i));
        if (merge == NULL || strchr(merge, ' ') == NULL)
            return set_invalid(error, "model.merges holds what is no merge");
        vocabulary->merges[vocabulary->n_merges++] = sundog_hf_insert(vocabulary, merge);
    }
    return true;
}

/* Whether merging is of the plain kind, whatever the file names that goes beyond. */
static bool
check_bpe(JsonObject *model, GError **error)
{
    const char *prefix = sundog_json_get_string(model, "continuing_subword_prefix", "");
    const char *suffix = sundog_json_get_string(model, "end_of_word_suffix", "");
    if (prefix[0] != '\0')
        return sundog_hf_refuse("model.continuing_subword_prefix", prefix, error);
    if (suffix[0] != '\0')
        return sundog_hf_refuse("model.end_of_word_suffix", suffix, error);
    return true;
}

static bool
read_bpe(SundogVocabulary *vocabulary, JsonObject *model, GError **error)
{
    bool bytes = sundog_json_get_bool(model, "byte_fallback", false);
    vocabulary->kind = SUNDOG_TOKENIZER_BPE;
    if (!check_bpe(model, error) || !read_table(vocabulary, model, bytes, error) ||
        !read_merges(vocabulary, model, error))
        return false;
    vocabulary->ignore_merges = sundog_json_get_bool(model, "ignore_merges", false);
    vocabulary->unknown =
        sundog_hf_find(vocabulary, sundog_json_get_string(model, "unk_token", NULL));
    return true;
}

static bool
read_word_piece(SundogVocabulary *vocabulary, JsonObject *model, GError **error)
{
    const char *prefix = sundog_json_get_string(model, "continuing_subword_prefix", "##");
    JsonNode *longest = json_object_get_member(model, "max_input_chars_per_word");
    uint32_t n_longest = 100;
    vocabulary->kind = SUNDOG_TOKENIZER_WORD_PIECE;
    if (strcmp(prefix, "##") != 0)
        return sundog_hf_refuse("model.continuing_subword_prefix", prefix, error);
    if (longest != NULL &&
        (!sundog_hf_get_number(longest, UINT32_MAX, &n_longest) || n_longest != 100))
        return sundog_hf_refuse("model.max_input_chars_per_word", "another number than 100", error);
    if (!read_table(vocabulary, model, false, error))
        return false;
    g_autofree char *unknown =
        g_strconcat(SPACE_SIGN, sundog_json_get_string(model, "unk_token", "[UNK]"), NULL);
    vocabulary->unknown = sundog_hf_find(vocabulary, unknown);
    return true;
}

/* [text, score] */
static bool
read_piece(SundogVocabulary *vocabulary, uint32_t id, JsonNode *node, bool bytes)
{
    JsonArray *pair = JSON_NODE_HOLDS_ARRAY(node) ? json_node_get_array(node) : NULL;
    if (pair == NULL || json_array_get_length(pair) != 2)
        return false;
    const char *spelling = sundog_json_get_text(json_array_get_element(pair, 0));
    JsonNode *score = json_array_get_element(pair, 1);
    if (spelling == NULL || !JSON_NODE_HOLDS_VALUE(score) ||
        json_node_get_value_type(score) == G_TYPE_STRING)
        return false;
    set_token(vocabulary, id, spelling,
              bytes && is_byte(spelling) ? SUNDOG_TOKEN_BYTE : SUNDOG_TOKEN_NORMAL);
    vocabulary->tokens[id].score = (float)json_node_get_double(score);
    return isfinite(vocabulary->tokens[id].score);
}

static bool
read_unigram(SundogVocabulary *vocabulary, JsonObject *model, GError **error)
{
    JsonArray *pieces = sundog_json_get_array(model, "vocab");
    guint n_pieces = pieces != NULL ? json_array_get_length(pieces) : 0;
    bool bytes = sundog_json_get_bool(model, "byte_fallback", false);
    vocabulary->kind = SUNDOG_TOKENIZER_UNIGRAM;
    if (n_pieces == 0)
        return set_invalid(error, "model.vocab has no pieces");
    if (!reserve(vocabulary, n_pieces - 1, n_pieces, error))
        return false;
    for (guint i = 0; i < n_pieces; i++)
        if (!read_piece(vocabulary, i, json_array_get_element(pieces, i), bytes))
            return set_invalid(error, "model.vocab holds what is no piece with a score");
    if (sundog_json_has(model, "unk_id") &&
        !sundog_hf_get_number(json_object_get_member(model, "unk_id"), n_pieces,
                              &vocabulary->unknown))
        return set_invalid(error, "model.unk_id is no piece's number");
    if (vocabulary->unknown != SUNDOG_TOKEN_NONE)
        vocabulary->tokens[vocabulary->unknown].kind = SUNDOG_TOKEN_UNKNOWN;
    return true;
}

static bool
read_added_token(SundogVocabulary *vocabulary, uint32_t id, JsonObject *added, uint64_t n_entries,
                 GError **error)
{
    const char *text = sundog_json_get_string(added, "content", NULL);
    if (text == NULL)
        return set_invalid(error, "added_tokens holds what is no token");
    if (sundog_json_get_bool(added, "single_word", false))
        return sundog_hf_refuse("added_tokens: single_word", text, error);
    if (!reserve(vocabulary, id, n_entries, error))
        return false;
    bool special = sundog_json_get_bool(added, "special", false);
    set_token(vocabulary, id, text, special ? SUNDOG_TOKEN_CONTROL : SUNDOG_TOKEN_USER_DEFINED);
    vocabulary->tokens[id].strip_left = sundog_json_get_bool(added, "lstrip", false);
    vocabulary->tokens[id].strip_right = sundog_json_get_bool(added, "rstrip", false);
    return true;
}

static bool
read_added_tokens(SundogVocabulary *vocabulary, JsonObject *root, GError **error)
{
    JsonArray *tokens = sundog_json_get_array(root, "added_tokens");
    guint n_added = tokens != NULL ? json_array_get_length(tokens) : 0;
    uint64_t n_entries = (uint64_t)vocabulary->n_tokens + n_added;
    for (guint i = 0; i < n_added; i++) {
        JsonObject *added = sundog_json_get_element(tokens, i);
        uint32_t id;
        if (added == NULL ||
            !sundog_hf_get_number(json_object_get_member(added, "id"), SUNDOG_TOKEN_NONE, &id))
            return set_invalid(error, "added_tokens holds what is no token");
        if (!read_added_token(vocabulary, id, added, n_entries, error))
            return false;
    }
    return true;
}

bool
sundog_hf_read_added_by_id(SundogVocabulary *vocabulary, JsonObject *config, GError **error)
{
    JsonObject *tokens = sundog_json_get_object(config, "added_tokens_decoder");
    g_autoptr(GList) ids = tokens != NULL ? json_object_get_members(tokens) : NULL;
    uint64_t n_entries = (uint64_t)vocabulary->n_tokens + g_list_length(ids);
    for (GList *l = ids; l != NULL; l = l->next) {
        guint64 id;
        JsonObject *added = sundog_json_get_object(tokens, l->data);
        if (added == NULL || !g_ascii_string_to_unsigned(l->data, 10, 0, UINT32_MAX - 1, &id, NULL))
            return set_invalid(error, "added_tokens_decoder holds what is no token");
        if (!read_added_token(vocabulary, (uint32_t)id, added, n_entries, error))
            return false;
    }
    return true;
}

bool
sundog_hf_read_model(SundogVocabulary *vocabulary, JsonObject *root, GError **error)
{
    JsonObject *model = sundog_json_get_object(root, "model");
    /* Early files of BPE do not say what they are. */
    const char *usual = sundog_json_get_array(model, "merges") != NULL ? "BPE" : NULL;
    const char *type = sundog_json_get_string(model, "type", usual);
    bool read;
    if (g_strcmp0(type, "BPE") == 0)
        read = read_bpe(vocabulary, model, error);
    else if (g_strcmp0(type, "Unigram") == 0)
        read = read_unigram(vocabulary, model, error);
    else if (g_strcmp0(type, "WordPiece") == 0)
        read = read_word_piece(vocabulary, model, error);
    else
        read = sundog_hf_refuse("model.type", type, error);
    return read && read_added_tokens(vocabulary, root, error);
}
