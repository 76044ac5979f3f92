/* Settings out of config.json. */

#include "engine/model/hf-config.h"

#include "engine/format/error.h"
#include "engine/format/json-members.h"
#include "engine/format/json.h"
#include "engine/model/families.h"
#include "engine/model/hf-layers.h"
#include "engine/model/hf-rope.h"

#include <math.h>
#include <string.h>

#define MAX_SIZE (1 << 22) /* of a vocabulary, which is the largest */

JsonObject *
sundog_hf_config_get_text(JsonObject *config)
{
    JsonObject *text = sundog_json_get_object(config, "text_config");
    return text != NULL ? text : config;
}

static const char *
get_class(JsonObject *config)
{
    JsonArray *classes = sundog_json_get_array(config, "architectures");
    if (classes == NULL || json_array_get_length(classes) == 0)
        return NULL;
    return sundog_json_get_text(json_array_get_element(classes, 0));
}

const SundogHfFamily *
sundog_hf_config_find_family(JsonObject *config, GError **error)
{
    const char *class_name = get_class(config);
    const SundogHfFamily *family = class_name != NULL ? sundog_hf_family_find(class_name) : NULL;
    if (family != NULL)
        return family;
    g_autofree char *shown = sundog_format_quote(class_name, "missing");
    g_autofree char *known = sundog_hf_family_dup_known();
    g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                "config.json: architectures is %s, known are: %s", shown, known);
    return NULL;
}

/* The value at a place such as "rope_parameters.factor"; NULL where it is missing or null. */
static JsonNode *
find_node(JsonObject *object, const char *place)
{
    g_auto(GStrv) parts = g_strsplit(place, ".", -1);
    JsonNode *node = NULL;
    for (size_t i = 0; parts[i] != NULL; i++) {
        node = object != NULL ? json_object_get_member(object, parts[i]) : NULL;
        object = node != NULL && JSON_NODE_HOLDS_OBJECT(node) ? json_node_get_object(node) : NULL;
    }
    return node != NULL && !JSON_NODE_HOLDS_NULL(node) ? node : NULL;
}

static void
read_keys(SundogSource *source, const SundogHfKey *keys, JsonObject *config)
{
    for (; keys != NULL && keys->own != NULL; keys++) {
        JsonNode *node = find_node(config, keys->own);
        g_autofree char *own_name = g_strconcat("config.json: ", keys->own, NULL);
        if (node != NULL && !sundog_source_has(source, keys->name))
            sundog_source_set(source, keys->name, own_name, node);
    }
}

/* Gemma's text model looks both ways where it was made to embed, and says so. */
static void
read_direction(SundogSource *source, JsonObject *config)
{
    const char *name = "use_bidirectional_attention";
    g_autoptr(JsonNode) causal = json_node_init_boolean(json_node_alloc(), false);
    if (sundog_json_get_bool(config, name, false))
        sundog_source_set(source, "attention.causal", "config.json: use_bidirectional_attention",
                          causal);
}

/* Gemma scales queries by the inverse root of a number instead of giving the scale; its later ones go on stating the
 * number, and scale nothing. */
static void
read_query_scale(SundogSource *source, const SundogHfFamily *family, JsonObject *config)
{
    double scalar;
    const SundogFamily *facts = sundog_family_find(family->architecture);
    if ((facts == NULL || !facts->unscaled_queries) &&
        sundog_json_get_double(config, "query_pre_attn_scalar", &scalar) && scalar > 0)
        sundog_source_set_float(source, "attention.scale", "config.json: query_pre_attn_scalar",
                                1 / sqrt(scalar));
}

static bool
check_activation(const SundogHfFamily *family, JsonObject *config, GError **error)
{
    static const char *const names[] = {"hidden_act", "hidden_activation"};
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        if (!sundog_json_has(config, names[i]))
            continue;
        const char *text = sundog_json_get_string(config, names[i], NULL);
        if (g_strcmp0(text, family->activation) == 0)
            continue;
        g_autofree char *shown = sundog_format_quote(text, "no text");
        g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                    "config.json: %s is %s, expected \"%s\"", names[i], shown, family->activation);
        return false;
    }
    return true;
}

/* Settings that no name of GGUF's stands for, and what each must be where it is there: anything else makes
 * a model compute something that is not known here. */
static const struct {
    const char *name;
    const char *expected; /* JSON */
} neutral[] = {
    {"alibi", "false"},
    {"activation", "\"gelu\""},
    {"parallel_attn", "true"},
    {"clip_qkv", "null"},
    {"decoder_sparse_step", "1"},
    {"mlp_only_layers", "[]"},
    {"mamba_hidden_act", "\"silu\""},
    {"mlp_hidden_act", "\"relu2\""},
    {"moe_layer_freq", "1"},
    {"swiglu_alpha", "1.702"},
    {"swiglu_limit", "7.0"},
    {"norm_bias", "false"},
    {"qkv_proj_bias", "false"},
    {"mlp_fc1_bias", "false"},
    {"prenorm", "false"},
    {"classifier_activation", "\"gelu\""},
    {"is_decoder", "false"},
};

static bool
check_neutral(JsonObject *config, GError **error)
{
    for (size_t i = 0; i < G_N_ELEMENTS(neutral); i++) {
        JsonNode *node = find_node(config, neutral[i].name);
        g_autoptr(JsonNode) expected = json_from_string(neutral[i].expected, NULL);
        double number;
        bool is_number = sundog_json_get_double(config, neutral[i].name, &number);
        if (node == NULL || json_node_equal(node, expected) ||
            (is_number && number == g_ascii_strtod(neutral[i].expected, NULL)))
            continue;
        g_autofree char *found = sundog_json_print(node, false);
        g_autofree char *shown = sundog_format_quote(found, NULL);
        return sundog_error_set(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                                "config.json: %s is %s, expected %s", neutral[i].name, shown,
                                neutral[i].expected);
    }
    return true;
}

static void
take_missing(JsonObject *defaults, const char *name, JsonNode *value, gpointer data)
{
    JsonObject *text = data;
    if (!sundog_json_has(text, name))
        json_object_set_member(text, name, json_node_copy(value));
}

/* The text model's settings with those that the file leaves out; the caller unrefs it. */
static JsonObject *
dup_completed(const SundogHfFamily *family, JsonObject *text)
{
    JsonObject *completed = json_object_new();
    json_object_foreach_member(text, take_missing, completed);
    if (family->defaults != NULL) {
        g_autoptr(JsonNode) defaults = json_from_string(family->defaults, NULL);
        json_object_foreach_member(json_node_get_object(defaults), take_missing, completed);
    }
    return completed;
}

bool
sundog_hf_config_read(SundogSource *source, const SundogHfFamily *family, JsonObject *config,
                      GError **error)
{
    g_autoptr(JsonObject) text = dup_completed(family, sundog_hf_config_get_text(config));
    read_keys(source, family->keys, text);
    read_keys(source, sundog_hf_common_keys, text);
    if (family->read != NULL)
        family->read(source, text);
    read_query_scale(source, family, text);
    read_direction(source, text);
    /* A window that is named may be switched off. */
    if (!sundog_json_get_bool(text, "use_sliding_window", true))
        sundog_source_unset(source, "attention.sliding_window");
    return check_activation(family, text, error) && check_neutral(text, error) &&
           sundog_hf_layers_read(source, text, error) && sundog_hf_rope_read(source, text, error);
}

bool
sundog_hf_config_get_size(JsonObject *config, const char *name, uint64_t *size, GError **error)
{
    double number = sundog_json_get_number(config, name, 0);
    *size = number >= 1 && number <= MAX_SIZE && number == floor(number) ? (uint64_t)number : 0;
    return *size > 0 || sundog_error_set(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID,
                                         "config.json: %s is %g, expected a number from 1 to %d",
                                         name, number, MAX_SIZE);
}
