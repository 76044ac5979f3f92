/* How tokenizer.json has text normalized and cut, as far as vocabularies can say it. */

#include "engine/format/error.h"
#include "engine/format/hf-tokenizer-private.h"

#include <string.h>

#define SPACE_SIGN "\xE2\x96\x81"

/* GPT-2's expression, which the byte-level pre-tokenizer cuts by unless told otherwise. */
#define GPT2 "'(?:[sdmt]|ll|ve|re)| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"
/* ASCII's signs and Unicode's punctuation. */
#define SIGN "[!-/:-@\\[-`{-~\\p{P}]"
/* Words that begin with a space, on text whose signs for a space are spaces. */
#define SPACED_WORDS " [^ ]*|[^ ]+"

typedef struct {
    SundogVocabulary *vocabulary;
    GPtrArray *expressions; /* of const char *, owned by the vocabulary */
    bool byte_level;
    bool spaced; /* Spaces are written as U+2581. */
} Cutting;

typedef bool (*ReadPart)(Cutting *cutting, JsonObject *part, const char *type, GError **error);

/* A part, or each part of a sequence in its order. */
static bool
read_parts(Cutting *cutting, JsonObject *part, const char *list, ReadPart read, GError **error)
{
    const char *type = sundog_json_get_string(part, "type", NULL);
    if (part == NULL)
        return true;
    if (g_strcmp0(type, "Sequence") != 0)
        return read(cutting, part, type, error);
    JsonArray *parts = sundog_json_get_array(part, list);
    for (guint i = 0; parts != NULL && i < json_array_get_length(parts); i++) {
        JsonObject *each = sundog_json_get_element(parts, i);
        if (!read(cutting, each, sundog_json_get_string(each, "type", NULL), error))
            return false;
    }
    return true;
}

/* A pattern's text: is_expression says of which of its two kinds it is. */
static const char *
get_pattern(JsonObject *part, bool *is_expression)
{
    JsonObject *pattern = sundog_json_get_object(part, "pattern");
    const char *expression = sundog_json_get_string(pattern, "Regex", NULL);
    *is_expression = expression != NULL;
    return *is_expression ? expression : sundog_json_get_string(pattern, "String", NULL);
}

/* Of all replacements, those that spaces need: written as U+2581, or several as one. */
static bool
read_replacement(Cutting *cutting, JsonObject *part, GError **error)
{
    bool is_expression;
    const char *pattern = get_pattern(part, &is_expression);
    const char *content = sundog_json_get_string(part, "content", NULL);
    bool unigram = cutting->vocabulary->kind == SUNDOG_TOKENIZER_UNIGRAM;
    if (!is_expression && g_strcmp0(pattern, " ") == 0 && g_strcmp0(content, SPACE_SIGN) == 0) {
        cutting->spaced = true;
        return true;
    }
    if (is_expression && unigram && strcmp(pattern, " {2,}") == 0 &&
        (g_strcmp0(content, " ") == 0 || g_strcmp0(content, SPACE_SIGN) == 0)) {
        cutting->vocabulary->merge_spaces = true;
        return true;
    }
    return sundog_hf_refuse("normalizer: the pattern of Replace", pattern, error);
}

static bool
read_character_map(Cutting *cutting, JsonObject *part, GError **error)
{
    const char *text = sundog_json_get_string(part, "precompiled_charsmap", NULL);
    SundogVocabulary *vocabulary = cutting->vocabulary;
    if (vocabulary->kind != SUNDOG_TOKENIZER_UNIGRAM || vocabulary->character_map != NULL)
        return sundog_hf_refuse("normalizer", "Precompiled", error);
    if (text == NULL || text[0] == '\0')
        return true;
    gsize n_bytes;
    vocabulary->character_map = g_base64_decode(text, &n_bytes);
    vocabulary->n_character_map_bytes = (uint32_t)n_bytes;
    return true;
}

static bool
read_bert_normalizer(Cutting *cutting, JsonObject *part, GError **error)
{
    SundogVocabulary *vocabulary = cutting->vocabulary;
    if (vocabulary->kind != SUNDOG_TOKENIZER_WORD_PIECE ||
        !sundog_json_get_bool(part, "clean_text", true) ||
        !sundog_json_get_bool(part, "handle_chinese_chars", true))
        return sundog_hf_refuse("normalizer", "BertNormalizer of another kind", error);
    vocabulary->lowercase = sundog_json_get_bool(part, "lowercase", true);
    vocabulary->strip_accents = sundog_json_get_bool(part, "strip_accents", vocabulary->lowercase);
    return true;
}

static bool
read_normalizer(Cutting *cutting, JsonObject *part, const char *type, GError **error)
{
    SundogVocabulary *vocabulary = cutting->vocabulary;
    if (g_strcmp0(type, "NFC") == 0 && vocabulary->kind == SUNDOG_TOKENIZER_BPE) {
        vocabulary->compose = true;
        return true;
    }
    if (g_strcmp0(type, "Replace") == 0)
        return read_replacement(cutting, part, error);
    if (g_strcmp0(type, "Precompiled") == 0)
        return read_character_map(cutting, part, error);
    if (g_strcmp0(type, "BertNormalizer") == 0)
        return read_bert_normalizer(cutting, part, error);
    if (g_strcmp0(type, "Prepend") == 0 &&
        g_strcmp0(sundog_json_get_string(part, "prepend", NULL), SPACE_SIGN) == 0) {
        vocabulary->add_space_prefix = true;
        return true;
    }
    return sundog_hf_refuse("normalizer", type, error);
}

static void
add_expression(Cutting *cutting, const char *expression)
{
    const char *owned = sundog_hf_insert(cutting->vocabulary, expression);
    g_ptr_array_add(cutting->expressions, (void *)owned);
}

/* A text as an expression that matches just it. */
static char *
dup_quoted(const char *text)
{
    GString *quoted = g_string_new(NULL);
    for (; *text != '\0'; text++) {
        if (g_ascii_ispunct(*text))
            g_string_append_c(quoted, '\\');
        g_string_append_c(quoted, *text);
    }
    return g_string_free(quoted, FALSE);
}

/* What lies between the matches of an inverted one that is removed is the matches of the other. */
static bool
read_split(Cutting *cutting, JsonObject *part, GError **error)
{
    bool is_expression;
    const char *pattern = get_pattern(part, &is_expression);
    const char *behaviour = sundog_json_get_string(part, "behavior", NULL);
    bool invert = sundog_json_get_bool(part, "invert", false);
    bool isolated = g_strcmp0(behaviour, "Isolated") == 0 && !invert;
    bool inverted = g_strcmp0(behaviour, "Removed") == 0 && invert;
    /* On text whose spaces were written otherwise there is nothing to split at one. */
    if (cutting->spaced && !is_expression && g_strcmp0(pattern, " ") == 0)
        return true;
    if (pattern == NULL || pattern[0] == '\0')
        return sundog_hf_refuse("pre_tokenizer: the pattern of Split", pattern, error);
    if (!isolated && !inverted)
        return sundog_hf_refuse("pre_tokenizer: the behavior of Split", behaviour, error);
    g_autofree char *quoted = is_expression ? NULL : dup_quoted(pattern);
    add_expression(cutting, is_expression ? pattern : quoted);
    return true;
}

static bool
read_punctuation(Cutting *cutting, JsonObject *part, GError **error)
{
    const char *behaviour = sundog_json_get_string(part, "behavior", "Isolated");
    if (strcmp(behaviour, "Isolated") != 0 && strcmp(behaviour, "Contiguous") != 0)
        return sundog_hf_refuse("pre_tokenizer: the behavior of Punctuation", behaviour, error);
    add_expression(cutting, strcmp(behaviour, "Isolated") == 0 ? SIGN : SIGN "+");
    return true;
}

static bool
read_metaspace(Cutting *cutting, JsonObject *part, GError **error)
{
    SundogVocabulary *vocabulary = cutting->vocabulary;
    const char *sign = sundog_json_get_string(part, "replacement", SPACE_SIGN);
    bool add = sundog_json_get_bool(part, "add_prefix_space", true);
    const char *scheme = sundog_json_get_string(part, "prepend_scheme", add ? "always" : "never");
    if (strcmp(sign, SPACE_SIGN) != 0)
        return sundog_hf_refuse("pre_tokenizer: the replacement of Metaspace", sign, error);
    if (!g_strv_contains((const char *const[]){"always", "first", "never", NULL}, scheme))
        return sundog_hf_refuse("pre_tokenizer: the prepend_scheme of Metaspace", scheme, error);
    cutting->spaced = true;
    vocabulary->add_space_prefix = strcmp(scheme, "never") != 0;
    vocabulary->add_space_once = strcmp(scheme, "first") == 0;
    vocabulary->add_space_unless = true;
    if (sundog_json_get_bool(part, "split", true) && vocabulary->kind == SUNDOG_TOKENIZER_BPE)
        add_expression(cutting, SPACED_WORDS);
    return true;
}

static bool
read_byte_level(Cutting *cutting, JsonObject *part)
{
    cutting->byte_level = true;
    if (sundog_json_get_bool(part, "add_prefix_space", true))
        cutting->vocabulary->add_space_prefix = cutting->vocabulary->add_space_unless = true;
    if (sundog_json_get_bool(part, "use_regex", true))
        add_expression(cutting, GPT2);
    return true;
}

static bool
read_bpe_cutter(Cutting *cutting, JsonObject *part, const char *type, GError **error)
{
    if (g_strcmp0(type, "ByteLevel") == 0)
        return read_byte_level(cutting, part);
    if (g_strcmp0(type, "Split") == 0)
        return read_split(cutting, part, error);
    if (g_strcmp0(type, "Metaspace") == 0)
        return read_metaspace(cutting, part, error);
    if (g_strcmp0(type, "Punctuation") == 0)
        return read_punctuation(cutting, part, error);
    if (g_strcmp0(type, "Digits") != 0)
        return sundog_hf_refuse("pre_tokenizer", type, error);
    add_expression(cutting,
                   sundog_json_get_bool(part, "individual_digits", false) ? "\\p{N}" : "\\p{N}+");
    return true;
}

static bool
read_unigram_cutter(Cutting *cutting, JsonObject *part, const char *type, GError **error)
{
    if (g_strcmp0(type, "Metaspace") == 0)
        return read_metaspace(cutting, part, error);
    if (g_strcmp0(type, "WhitespaceSplit") != 0)
        return sundog_hf_refuse("pre_tokenizer", type, error);
    cutting->vocabulary->merge_spaces = true;
    return true;
}

static bool
read_cutter(Cutting *cutting, JsonObject *part, const char *type, GError **error)
{
    switch (cutting->vocabulary->kind) {
    case SUNDOG_TOKENIZER_UNIGRAM:
        return read_unigram_cutter(cutting, part, type, error);
    case SUNDOG_TOKENIZER_WORD_PIECE:
        return g_strcmp0(type, "BertPreTokenizer") == 0 ||
               sundog_hf_refuse("pre_tokenizer", type, error);
    default:
        return read_bpe_cutter(cutting, part, type, error);
    }
}

/* Parts that a kind of vocabulary cannot be without. */
static bool
check(const Cutting *cutting, JsonObject *root, GError **error)
{
    JsonObject *normalizer = sundog_json_get_object(root, "normalizer");
    JsonObject *pre_tokenizer = sundog_json_get_object(root, "pre_tokenizer");
    SundogTokenizerKind kind = cutting->vocabulary->kind;
    if (kind == SUNDOG_TOKENIZER_WORD_PIECE && normalizer == NULL)
        return sundog_hf_refuse("normalizer", NULL, error);
    if (kind == SUNDOG_TOKENIZER_WORD_PIECE && pre_tokenizer == NULL)
        return sundog_hf_refuse("pre_tokenizer", NULL, error);
    if ((kind == SUNDOG_TOKENIZER_UNIGRAM && !cutting->spaced) ||
        (kind == SUNDOG_TOKENIZER_BPE && !cutting->spaced && !cutting->byte_level))
        return sundog_hf_refuse("pre_tokenizer",
                                sundog_json_get_string(pre_tokenizer, "type", NULL), error);
    if (cutting->spaced && cutting->byte_level)
        return sundog_hf_refuse("pre_tokenizer", "ByteLevel on text with U+2581", error);
    return true;
}

bool
sundog_hf_read_cutting(SundogVocabulary *vocabulary, JsonObject *root, GError **error)
{
    g_autoptr(GPtrArray) expressions = g_ptr_array_new();
    Cutting cutting = {.vocabulary = vocabulary, .expressions = expressions};
    if (!read_parts(&cutting, sundog_json_get_object(root, "normalizer"), "normalizers",
                    read_normalizer, error) ||
        !read_parts(&cutting, sundog_json_get_object(root, "pre_tokenizer"), "pretokenizers",
                    read_cutter, error) ||
        !check(&cutting, root, error))
        return false;
    if (vocabulary->kind == SUNDOG_TOKENIZER_BPE && cutting.spaced)
        vocabulary->kind = SUNDOG_TOKENIZER_CHARACTER_BPE;
    /* Where spaces are merged, those in front are gone before one is added. */
    vocabulary->add_space_unless = vocabulary->add_space_unless && !vocabulary->merge_spaces;
    vocabulary->n_expressions = expressions->len;
    vocabulary->expressions = (const char **)g_ptr_array_steal(expressions, NULL);
    return true;
}
