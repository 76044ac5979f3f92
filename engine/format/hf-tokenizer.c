/* The file as a whole, and the members that its parts are read by. */

#include "engine/format/hf-tokenizer.h"

#include "engine/format/error.h"
#include "engine/format/hf-tokenizer-private.h"
#include "engine/format/json.h"

#include <math.h>
#include <string.h>

bool
sundog_hf_get_number(JsonNode *node, uint32_t limit, uint32_t *number)
{
    if (node == NULL || !JSON_NODE_HOLDS_VALUE(node) ||
        json_node_get_value_type(node) != G_TYPE_INT64)
        return false;
    gint64 value = json_node_get_int(node);
    *number = (uint32_t)value;
    return value >= 0 && value < limit;
}

bool
sundog_hf_refuse(const char *part, const char *type, GError **error)
{
    g_autofree char *shown = sundog_format_quote(type, "missing");
    g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                "tokenizer.json: %s is %s, which is not known", part, shown);
    return false;
}

const char *
sundog_hf_insert(SundogVocabulary *vocabulary, const char *text)
{
    return g_string_chunk_insert(vocabulary->strings, text);
}

uint32_t
sundog_hf_find(const SundogVocabulary *vocabulary, const char *text)
{
    for (uint32_t i = 0; text != NULL && i < vocabulary->n_tokens; i++)
        if (vocabulary->tokens[i].length != 0 && strcmp(vocabulary->tokens[i].text, text) == 0)
            return i;
    return SUNDOG_TOKEN_NONE;
}

/* The object that a file holds; node owns it. */
static JsonObject *
parse(const char *json, size_t n_bytes, const char *file, JsonNode **node, GError **error)
{
    *node = sundog_json_parse_large(json, n_bytes, error);
    if (*node == NULL) {
        g_prefix_error(error, "%s: ", file);
        return NULL;
    }
    if (JSON_NODE_HOLDS_OBJECT(*node))
        return json_node_get_object(*node);
    g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID, "%s is no object", file);
    return NULL;
}

SundogVocabulary *
sundog_hf_tokenizer_read(const char *json, size_t n_bytes, GError **error)
{
    g_autoptr(JsonNode) node = NULL;
    g_autofree char *flat = sundog_hf_dup_flat(json, n_bytes);
    JsonObject *root = parse(flat, n_bytes, "tokenizer.json", &node, error);
    g_autoptr(SundogVocabulary) vocabulary = sundog_vocabulary_new();
    vocabulary->pre_tokenizer = g_strdup("");
    if (root == NULL || !sundog_hf_read_model(vocabulary, root, error) ||
        !sundog_hf_read_cutting(vocabulary, root, error) ||
        !sundog_hf_read_ends_of_text(vocabulary, root, error))
        return NULL;
    sundog_vocabulary_add_ends_by_spelling(vocabulary);
    return g_steal_pointer(&vocabulary);
}

/* A token's name: a text, or an object that holds it. */
static uint32_t
find_named(const SundogVocabulary *vocabulary, JsonObject *config, const char *name)
{
    const char *text = sundog_json_get_string(config, name, NULL);
    if (text == NULL)
        text = sundog_json_get_string(sundog_json_get_object(config, name), "content", NULL);
    return sundog_hf_find(vocabulary, text);
}

static void
set_named(const SundogVocabulary *vocabulary, JsonObject *config, const char *name, uint32_t *token)
{
    uint32_t found = find_named(vocabulary, config, name);
    if (found != SUNDOG_TOKEN_NONE)
        *token = found;
}

bool
sundog_hf_tokenizer_read_config(SundogVocabulary *vocabulary, const char *json, size_t n_bytes,
                                GError **error)
{
    g_autoptr(JsonNode) node = NULL;
    JsonObject *config = parse(json, n_bytes, "tokenizer_config.json", &node, error);
    if (config == NULL)
        return false;
    set_named(vocabulary, config, "bos_token", &vocabulary->bos);
    set_named(vocabulary, config, "eos_token", &vocabulary->eos);
    set_named(vocabulary, config, "pad_token", &vocabulary->padding);
    vocabulary->add_bos = sundog_json_get_bool(config, "add_bos_token", vocabulary->add_bos) &&
                          vocabulary->bos != SUNDOG_TOKEN_NONE;
    vocabulary->add_eos = sundog_json_get_bool(config, "add_eos_token", vocabulary->add_eos) &&
                          vocabulary->eos != SUNDOG_TOKEN_NONE;
    sundog_vocabulary_add_end(vocabulary, vocabulary->eos);
    return true;
}

bool
sundog_hf_tokenizer_read_additions(SundogVocabulary *vocabulary, const char *json, size_t n_bytes,
                                   GError **error)
{
    g_autoptr(JsonNode) node = NULL;
    JsonObject *config = parse(json, n_bytes, "tokenizer_config.json", &node, error);
    if (config == NULL || !sundog_hf_read_added_by_id(vocabulary, config, error))
        return false;
    vocabulary->add_space_prefix =
        sundog_json_get_bool(config, "add_prefix_space", vocabulary->add_space_prefix);
    vocabulary->add_space_once = !sundog_json_get_bool(config, "legacy", false);
    sundog_vocabulary_add_ends_by_spelling(vocabulary);
    return true;
}

static bool
add_end(SundogVocabulary *vocabulary, JsonNode *node, GError **error)
{
    uint32_t token;
    if (JSON_NODE_HOLDS_NULL(node))
        return true;
    if (!sundog_hf_get_number(node, vocabulary->n_tokens, &token)) {
        g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID,
                    "eos_token_id is no token's number below %u", vocabulary->n_tokens);
        return false;
    }
    sundog_vocabulary_add_end(vocabulary, token);
    return true;
}

bool
sundog_hf_tokenizer_read_ends(SundogVocabulary *vocabulary, const char *json, size_t n_bytes,
                              GError **error)
{
    g_autoptr(JsonNode) node = NULL;
    JsonObject *config = parse(json, n_bytes, "generation_config.json", &node, error);
    if (config == NULL)
        return false;
    JsonArray *several = sundog_json_get_array(config, "eos_token_id");
    if (several == NULL && !json_object_has_member(config, "eos_token_id"))
        return true;
    if (several == NULL)
        return add_end(vocabulary, json_object_get_member(config, "eos_token_id"), error);
    for (guint i = 0; i < json_array_get_length(several); i++)
        if (!add_end(vocabulary, json_array_get_element(several, i), error))
            return false;
    return true;
}
