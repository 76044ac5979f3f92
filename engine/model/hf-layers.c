/* Kinds of layers. Source of the names: transformers' configurations. */

#include "engine/model/hf-layers.h"

#include "engine/format/error.h"
#include "engine/format/json-members.h"

#include <string.h>

#define MAX_LAYERS 1024

/* What a layer's kind says of it. */
static const struct {
    const char *name;
    bool has_window;
    bool is_recurrent;
} known_kinds[] = {
    {.name = "full_attention"},
    {.name = "attention"},
    {.name = "indexed_attention"}, /* full up to as many tokens as are chosen, and no longer here */
    {.name = "sliding_attention", .has_window = true},
    {.name = "chunked_attention", .has_window = true},
    {.name = "conv", .is_recurrent = true},
    {.name = "linear_attention", .is_recurrent = true},
    {.name = "mamba", .is_recurrent = true},
};

/* Its place in the table, or -1 and an error. */
static int
find_kind(const char *name, guint layer, GError **error)
{
    for (size_t i = 0; i < G_N_ELEMENTS(known_kinds); i++)
        if (g_strcmp0(name, known_kinds[i].name) == 0)
            return (int)i;
    g_autoptr(GString) known = g_string_new(NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(known_kinds); i++)
        g_string_append_printf(known, "%s%s", i > 0 ? ", " : "", known_kinds[i].name);
    g_autofree char *shown = sundog_format_quote(name, "no text");
    g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                "config.json: layer_types names %s for layer %u, known are: %s", shown, layer,
                known->str);
    return -1;
}

static void
set_truths(SundogSource *source, const char *name, JsonArray *truths)
{
    g_autoptr(JsonNode) node = json_node_init_array(json_node_alloc(), truths);
    sundog_source_set(source, name, "config.json: layer_types", node);
}

static bool
read_kinds(SundogSource *source, JsonObject *config, GError **error)
{
    JsonArray *kinds = sundog_json_get_array(config, "layer_types");
    g_autoptr(JsonArray) windows = json_array_new();
    g_autoptr(JsonArray) recurrent = json_array_new();
    bool has_recurrent = false;
    if (kinds == NULL)
        return true;
    for (guint i = 0; i < json_array_get_length(kinds); i++) {
        int kind = find_kind(sundog_json_get_text(json_array_get_element(kinds, i)), i, error);
        if (kind < 0)
            return false;
        json_array_add_boolean_element(windows, known_kinds[kind].has_window);
        json_array_add_boolean_element(recurrent, known_kinds[kind].is_recurrent);
        has_recurrent = has_recurrent || known_kinds[kind].is_recurrent;
    }
    set_truths(source, "attention.sliding_window_pattern", windows);
    if (has_recurrent)
        set_truths(source, "attention.recurrent_layers", recurrent);
    return true;
}

/* Qwen2's files before layer_types: a window in the layers from that number on. */
static void
read_window_begin(SundogSource *source, JsonObject *config)
{
    double n_layers = sundog_json_get_number(config, "num_hidden_layers", 0);
    double n_full = sundog_json_get_number(config, "max_window_layers", 0);
    if (sundog_json_has(config, "layer_types") || !sundog_json_has(config, "max_window_layers") ||
        !sundog_json_get_bool(config, "use_sliding_window", false) || !(n_layers <= MAX_LAYERS))
        return;
    g_autoptr(JsonArray) windows = json_array_new();
    for (uint32_t i = 0; i < n_layers; i++)
        json_array_add_boolean_element(windows, i >= n_full);
    g_autoptr(JsonNode) node = json_node_init_array(json_node_alloc(), windows);
    sundog_source_set(source, "attention.sliding_window_pattern", "config.json: max_window_layers",
                      node);
}

bool
sundog_hf_layers_read(SundogSource *source, JsonObject *config, GError **error)
{
    JsonNode *rope = sundog_json_has(config, "no_rope_layers")
                         ? json_object_get_member(config, "no_rope_layers")
                         : NULL;
    /* 1 where a layer rotates, whatever the name says. */
    if (rope != NULL && JSON_NODE_HOLDS_ARRAY(rope))
        sundog_source_set(source, "attention.rope_pattern", "config.json: no_rope_layers", rope);
    read_window_begin(source, config);
    return read_kinds(source, config, error);
}
