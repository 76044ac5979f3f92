/* The numbers of layers with recurrent state. Source of the keys: GGUF's specification and llama.cpp, which
 * name those of linear attention after state space models. */

#include "engine/model/recurrent-dimensions.h"

#include "engine/format/error.h"

#define MAX_WIDTH 64
#define MAX_HEADS 1024
#define MAX_DIM 256
#define MAX_INNER (1u << 20)
#define MAX_LAYERS 1024
#define ATTENTION_INTERVAL 4
#define RECURRENT_LAYERS "attention.recurrent_layers"
#define KV_HEADS "attention.head_count_kv"
#define MLP_SIZES "feed_forward_length"

/* Of the delta rule, and of state spaces, whose groups take the place of key heads. */
static void
read_heads(SundogModelDimensions *dimensions, SundogKeys *keys)
{
    SundogRecurrentDimensions *recurrent = &dimensions->recurrent;
    recurrent->conv_width = sundog_keys_read_count(keys, "ssm.conv_kernel", MAX_WIDTH);
    recurrent->key_dim = sundog_keys_read_count(keys, "ssm.state_size", MAX_DIM);
    recurrent->n_key_heads = sundog_keys_read_count(keys, "ssm.group_count", MAX_HEADS);
    recurrent->n_value_heads = sundog_keys_read_count(keys, "ssm.time_step_rank", MAX_HEADS);
    uint32_t n_values = sundog_keys_read_count(keys, "ssm.inner_size", MAX_INNER);
    recurrent->value_dim = n_values / recurrent->n_value_heads;
    if (n_values % recurrent->n_value_heads != 0 || recurrent->value_dim > MAX_DIM)
        sundog_keys_fail(
            keys, SUNDOG_FORMAT_ERROR_INVALID,
            "layers with a state have %u values for %u heads, expected equal parts of at "
            "most %d",
            n_values, recurrent->n_value_heads, MAX_DIM);
    if (recurrent->n_value_heads % recurrent->n_key_heads != 0)
        sundog_keys_fail_multiple(keys, "ssm.time_step_rank", recurrent->n_value_heads,
                                  "ssm.group_count", recurrent->n_key_heads);
    if (recurrent->conv_width < 2)
        sundog_keys_fail(keys, SUNDOG_FORMAT_ERROR_INVALID,
                         "a convolution sees %u input, expected at least 2", recurrent->conv_width);
}

void
sundog_recurrent_dimensions_read(SundogModelDimensions *dimensions, const SundogFamily *family,
                                 SundogKeys *keys)
{
    SundogRecurrentDimensions *recurrent = &dimensions->recurrent;
    dimensions->gates_attention = family->gates_attention;
    recurrent->is_tiled =
        sundog_keys_read_bool_or(keys, "ssm.tiles_key_heads", family->tiles_key_heads);
    recurrent->is_state_space = family->has_state_spaces;
    recurrent->norms_before_gate = sundog_keys_read_bool_or(keys, "ssm.norm_before_gate", false);
    if (family->has_delta_layers || family->has_state_spaces) {
        read_heads(dimensions, keys);
    } else if (family->has_conv_layers) {
        uint32_t width = sundog_keys_read_count(keys, "shortconv.l_cache", MAX_WIDTH);
        recurrent->conv_width = MAX(width, 2);
    }
}

bool
sundog_recurrent_layer(const SundogModelDimensions *dimensions, SundogKeys *keys, uint32_t layer)
{
    double value = 0;
    if (dimensions->recurrent.conv_width == 0)
        return false;
    uint32_t interval =
        sundog_keys_read_count_or(keys, "full_attention_interval", MAX_LAYERS, ATTENTION_INTERVAL);
    if (sundog_source_get_array_number(keys->source, RECURRENT_LAYERS, layer, &value))
        return value != 0;
    /* Layers without heads of keys attend to nothing; in families whose layers are one thing each, those
     * with a size of an MLP are that. */
    if (sundog_source_get_array_number(keys->source, KV_HEADS, layer, &value))
        return value == 0 &&
               !(sundog_source_get_array_number(keys->source, MLP_SIZES, layer, &value) &&
                 value != 0);
    return (layer + 1) % interval != 0;
}
