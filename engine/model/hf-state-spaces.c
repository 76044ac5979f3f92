/* Settings of families with state spaces. Source of the names: transformers' configurations, and those
 * that the makers publish. */

#include "engine/model/hf-config.h"
#include "engine/model/hf-family.h"

#include "engine/format/json-members.h"

#include <math.h>
#include <string.h>

#define RECURRENT_LAYERS "attention.recurrent_layers"
#define MAX_LAYERS 1024
#define MAX_INNER (1u << 20)

/* All values of a state space: its heads times the size of one. */
static void
set_inner_size(SundogSource *source, JsonObject *config, const char *n_heads, const char *head_dim)
{
    double size =
        sundog_json_get_number(config, n_heads, 0) * sundog_json_get_number(config, head_dim, 0);
    if (size >= 1 && size <= MAX_INNER)
        sundog_source_set_uint(source, "ssm.inner_size", "config.json: mamba_n_heads",
                               (uint64_t)size);
}

static void
set_layers(SundogSource *source, const char *own_name, JsonArray *layers)
{
    g_autoptr(JsonNode) node = json_node_init_array(json_node_alloc(), layers);
    sundog_source_set(source, RECURRENT_LAYERS, own_name, node);
}

static bool
names_layer(JsonArray *indices, uint32_t layer)
{
    for (guint i = 0; i < json_array_get_length(indices); i++) {
        JsonNode *index = json_array_get_element(indices, i);
        if (JSON_NODE_HOLDS_VALUE(index) && json_node_get_double(index) == layer)
            return true;
    }
    return false;
}

/* Bamba names the layers that attend. */
static void
read_attending_layers(SundogSource *source, JsonObject *config)
{
    JsonArray *attending = sundog_json_get_array(config, "attn_layer_indices");
    double n_layers = sundog_json_get_number(config, "num_hidden_layers", 0);
    if (attending == NULL || !(n_layers >= 1 && n_layers <= MAX_LAYERS))
        return;
    g_autoptr(JsonArray) layers = json_array_new();
    for (uint32_t i = 0; i < n_layers; i++)
        json_array_add_boolean_element(layers, !names_layer(attending, i));
    set_layers(source, "config.json: attn_layer_indices", layers);
}

void
sundog_hf_granite_hybrid_read(SundogSource *source, JsonObject *config)
{
    set_inner_size(source, config, "mamba_n_heads", "mamba_d_head");
    read_attending_layers(source, config);
    const char *positions = sundog_json_get_string(config, "position_embedding_type", "rope");
    JsonNode *truth = json_node_init_boolean(json_node_alloc(), strcmp(positions, "rope") == 0);
    sundog_source_set(source, "rope.scaling.finetuned", "config.json: position_embedding_type",
                      truth);
    json_node_unref(truth);
    /* Without experts, the expert of all tokens is the MLP. */
    if (sundog_json_get_number(config, "num_local_experts", 0) == 0 &&
        sundog_json_has(config, "shared_intermediate_size"))
        sundog_source_set(source, "feed_forward_length", "config.json: shared_intermediate_size",
                          json_object_get_member(config, "shared_intermediate_size"));
}

/* --- Falcon-H1 ---------------------------------------------------------------------------------- */

/* One of a list of factors, 1 where it is missing. */
static double
get_factor(JsonObject *config, const char *name, guint index)
{
    JsonArray *list = sundog_json_get_array(config, name);
    JsonNode *node = list != NULL && index < json_array_get_length(list)
                         ? json_array_get_element(list, index)
                         : NULL;
    return node != NULL && JSON_NODE_HOLDS_VALUE(node) ? json_node_get_double(node) : 1;
}

/* Of what the projection into a state space gives: gate, what is convolved in three parts, and steps. */
static double
get_space_factor(JsonObject *config, guint part)
{
    return sundog_json_get_number(config, "ssm_in_multiplier", 1) *
           get_factor(config, "ssm_multipliers", part);
}

/* All values of its state spaces. */
static double
get_falcon_inner(JsonObject *config)
{
    double expanded = sundog_json_get_number(config, "mamba_expand", 2) *
                      sundog_json_get_number(config, "hidden_size", 0);
    return sundog_json_get_number(config, "mamba_d_ssm", expanded);
}

void
sundog_hf_falcon_h1_read(SundogSource *source, JsonObject *config)
{
    double inner = get_falcon_inner(config);
    double head_dim = sundog_json_get_number(config, "head_dim", 0);
    double key_factor = sundog_json_get_number(config, "key_multiplier", 1);
    if (inner >= 1 && inner <= MAX_INNER)
        sundog_source_set_uint(source, "ssm.inner_size", "config.json: mamba_d_ssm",
                               (uint64_t)inner);
    if (head_dim > 0)
        sundog_source_set_float(source, "attention.scale", "config.json: key_multiplier",
                                key_factor / sqrt(head_dim));
    g_autoptr(JsonNode) before = json_node_init_boolean(
        json_node_alloc(), sundog_json_get_bool(config, "mamba_norm_before_gate", true));
    sundog_source_set(source, "ssm.norm_before_gate", "config.json: mamba_norm_before_gate",
                      before);
    sundog_source_set_float(source, "ssm.gate_factor", "config.json: ssm_multipliers",
                            get_space_factor(config, 0));
    sundog_source_set_float(source, "ssm.step_factor", "config.json: ssm_multipliers",
                            get_space_factor(config, 4));
    sundog_source_set_float(source, "feed_forward_gate_factor", "config.json: mlp_multipliers",
                            get_factor(config, "mlp_multipliers", 0));
    sundog_source_set_float(source, "feed_forward_output_factor", "config.json: mlp_multipliers",
                            get_factor(config, "mlp_multipliers", 1));
}

/* The channels of a convolution: values, then what goes into the state, then what comes out of it. */
bool
sundog_hf_falcon_h1_groups(JsonObject *config, SundogHfGroups *groups, GError **error)
{
    uint64_t n_groups, state_size;
    double inner = get_falcon_inner(config);
    if (!sundog_hf_config_get_size(config, "mamba_n_groups", &n_groups, error) ||
        !sundog_hf_config_get_size(config, "mamba_d_state", &state_size, error))
        return false;
    uint64_t n_shared = n_groups * state_size;
    uint64_t n_values = inner >= 1 && inner <= MAX_INNER ? (uint64_t)inner : 0;
    *groups = (SundogHfGroups){.n_groups = 1,
                               .parts = {n_values, n_shared, n_shared},
                               .factors = {get_space_factor(config, 1), get_space_factor(config, 2),
                                           get_space_factor(config, 3)}};
    return true;
}

/* --- Mamba-2 ------------------------------------------------------------------------------------ */

/* As long as anybody asks, since the state does not grow; files do not say how long it was trained for. */
#define UNBOUNDED_CONTEXT (1u << 20)

void
sundog_hf_mamba2_read(SundogSource *source, JsonObject *config)
{
    set_inner_size(source, config, "num_heads", "head_dim");
    sundog_source_unset(source, "attention.key_length");
    sundog_source_unset(source, "attention.value_length");
    sundog_source_unset(source, "attention.layer_norm_epsilon");
    sundog_source_set_uint(source, "context_length", "config.json: architectures",
                           UNBOUNDED_CONTEXT);
}

/* --- Nemotron-H --------------------------------------------------------------------------------- */

/* A letter a layer, or a name: M and the names of state spaces are what is sought. */
void
sundog_hf_nemotron_h_read(SundogSource *source, JsonObject *config)
{
    const char *pattern = sundog_json_get_string(config, "hybrid_override_pattern", NULL);
    JsonArray *kinds = sundog_json_get_array(config, "layers_block_type");
    g_autoptr(JsonArray) layers = json_array_new();
    for (; pattern != NULL && *pattern != '\0'; pattern++)
        json_array_add_boolean_element(layers, *pattern == 'M');
    for (guint i = 0; kinds != NULL && json_array_get_length(layers) < MAX_LAYERS &&
                      i < json_array_get_length(kinds);
         i++) {
        JsonNode *node = json_array_get_element(kinds, i);
        const char *kind = JSON_NODE_HOLDS_VALUE(node) ? json_node_get_string(node) : NULL;
        json_array_add_boolean_element(layers, g_strcmp0(kind, "mamba") == 0 ||
                                                   g_strcmp0(kind, "linear_attention") == 0);
    }
    set_inner_size(source, config, "mamba_num_heads", "mamba_head_dim");
    uint64_t n_layers = json_array_get_length(layers);
    if (n_layers == 0)
        return;
    set_layers(source, "config.json: hybrid_override_pattern", layers);
    sundog_source_set_uint(source, "block_count", "config.json: hybrid_override_pattern", n_layers);
}
