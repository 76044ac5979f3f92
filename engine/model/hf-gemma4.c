/* Gemma 4's config.json gives sizes for layers with a window, and others for those without. */

#include "engine/model/hf-family.h"

#include "engine/format/json-members.h"

static uint64_t
get_size(JsonObject *object, const char *name, uint64_t fallback)
{
    double size;
    return sundog_json_get_double(object, name, &size) && size >= 0 && size <= UINT32_MAX
               ? (uint64_t)size
               : fallback;
}

/* A size of layers without a window: in an object for each of them, or by a name of its own. */
static uint64_t
get_full_size(JsonObject *config, const char *name, const char *full_name, uint64_t fallback)
{
    JsonObject *layers = sundog_json_get_object(config, "per_layer_config");
    g_autoptr(GList) members = layers != NULL ? json_object_get_members(layers) : NULL;
    for (GList *l = members; l != NULL; l = l->next) {
        JsonObject *layer = sundog_json_get_object(layers, l->data);
        if (layer != NULL && sundog_json_has(layer, name))
            return get_size(layer, name, fallback);
    }
    return get_size(config, full_name, fallback);
}

static void
set_list(SundogSource *source, const char *name, const char *own_name, JsonArray *list)
{
    g_autoptr(JsonNode) node = json_node_init_array(json_node_alloc(), list);
    sundog_source_set(source, name, own_name, node);
}

static void
set_heads(SundogSource *source, JsonObject *config)
{
    uint64_t head_dim = get_size(config, "head_dim", 256);
    uint64_t full = get_full_size(config, "head_dim", "global_head_dim", 512);
    const char *own_name = "config.json: head_dim";
    sundog_source_set_uint(source, "attention.key_length", own_name, full);
    sundog_source_set_uint(source, "attention.value_length", own_name, full);
    sundog_source_set_uint(source, "rope.dimension_count", own_name, full);
    sundog_source_set_uint(source, "attention.key_length_swa", own_name, head_dim);
    sundog_source_set_uint(source, "attention.value_length_swa", own_name, head_dim);
    sundog_source_set_uint(source, "rope.dimension_count_swa", own_name, head_dim);
}

static void
set_lists(SundogSource *source, JsonObject *config)
{
    JsonArray *kinds = sundog_json_get_array(config, "layer_types");
    guint n_layers = kinds != NULL ? json_array_get_length(kinds) : 0;
    uint64_t n_shared = get_size(config, "num_kv_shared_layers", 0);
    uint64_t mlp_size = get_size(config, "intermediate_size", 0);
    uint64_t n_kv = get_size(config, "num_key_value_heads", 0);
    uint64_t n_full_kv =
        get_full_size(config, "num_key_value_heads", "num_global_key_value_heads", n_kv);
    bool doubles = sundog_json_get_bool(config, "use_double_wide_mlp", false);
    g_autoptr(JsonArray) mlp_sizes = json_array_new();
    g_autoptr(JsonArray) kv_heads = json_array_new();
    for (guint i = 0; i < n_layers; i++) {
        JsonNode *kind = json_array_get_element(kinds, i);
        bool is_full = JSON_NODE_HOLDS_VALUE(kind) &&
                       g_strcmp0(json_node_get_string(kind), "full_attention") == 0;
        bool is_wide = doubles && i + n_shared >= n_layers;
        json_array_add_int_element(mlp_sizes, (gint64)(is_wide ? 2 * mlp_size : mlp_size));
        json_array_add_int_element(kv_heads, (gint64)(is_full ? n_full_kv : n_kv));
    }
    if (n_layers == 0)
        return;
    set_list(source, "feed_forward_length", "config.json: intermediate_size", mlp_sizes);
    set_list(source, "attention.head_count_kv", "config.json: num_key_value_heads", kv_heads);
}

void
sundog_hf_gemma4_read(SundogSource *source, JsonObject *config)
{
    set_heads(source, config);
    set_lists(source, config);
}
