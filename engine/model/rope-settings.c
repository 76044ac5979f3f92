/* The settings of the rotary embedding. Source of the keys: GGUF's specification and llama.cpp. */

#include "engine/model/rope-settings.h"

#include "engine/format/error.h"

#include <math.h>

#define MAX_HEAD_DIM 1024
#define MAX_BASE 1e12
#define MAX_FACTOR 65536
#define MAX_ORIGINAL_CONTEXT (1u << 27)

static SundogRopeScaling
read_scaling_type(SundogKeys *keys)
{
    g_autofree char *key = sundog_keys_dup_name(keys, "rope.scaling.type");
    const char *type = sundog_source_get_text(keys->source, "rope.scaling.type");
    /* Files older than the key tell linear scaling by its factor alone. */
    if (type == NULL && !sundog_keys_has(keys, "rope.scaling.type"))
        return sundog_keys_has(keys, "rope.scale_linear") ? SUNDOG_ROPE_SCALING_LINEAR
                                                          : SUNDOG_ROPE_SCALING_NONE;
    if (g_strcmp0(type, "none") == 0)
        return SUNDOG_ROPE_SCALING_NONE;
    if (g_strcmp0(type, "linear") == 0)
        return SUNDOG_ROPE_SCALING_LINEAR;
    if (g_strcmp0(type, "yarn") == 0)
        return SUNDOG_ROPE_SCALING_YARN;
    g_autofree char *shown = sundog_format_quote(type, "not a text");
    sundog_keys_fail(keys, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                     "%s is %s, known are: none, linear, yarn", key, shown);
    return SUNDOG_ROPE_SCALING_NONE;
}

static void
read_scaling(SundogKeys *keys, SundogRope *rope, uint32_t context_length)
{
    rope->scaling = read_scaling_type(keys);
    rope->factor = 1;
    if (rope->scaling == SUNDOG_ROPE_SCALING_LINEAR && sundog_keys_has(keys, "rope.scale_linear"))
        rope->factor = sundog_keys_read_positive(keys, "rope.scale_linear", MAX_FACTOR);
    else if (rope->scaling != SUNDOG_ROPE_SCALING_NONE)
        rope->factor = sundog_keys_read_positive(keys, "rope.scaling.factor", MAX_FACTOR);
    rope->original_context = sundog_keys_read_count_or(keys, "rope.scaling.original_context_length",
                                                       MAX_ORIGINAL_CONTEXT, context_length);
    rope->magnitude = sundog_keys_read_optional(keys, "rope.scaling.attn_factor", MAX_FACTOR);
    /* The paper's values for Llama. */
    rope->yarn_fast =
        sundog_keys_read_positive_or(keys, "rope.scaling.yarn_beta_fast", MAX_FACTOR, 32);
    rope->yarn_slow =
        sundog_keys_read_positive_or(keys, "rope.scaling.yarn_beta_slow", MAX_FACTOR, 1);
}

static uint32_t
read_n_dims(SundogKeys *keys, uint32_t head_dim)
{
    uint32_t n_dims =
        sundog_keys_read_count_or(keys, "rope.dimension_count", MAX_HEAD_DIM, head_dim);
    g_autofree char *key = sundog_keys_dup_name(keys, "rope.dimension_count");
    if (n_dims > head_dim || n_dims % 2 != 0)
        sundog_keys_fail(keys, SUNDOG_FORMAT_ERROR_INVALID,
                         "%s is %u, expected an even number up to %u, a head's dimensions", key,
                         n_dims, head_dim);
    return n_dims;
}

/* Converters of such families put the rows of a whole head into the order of neighbours, whatever part of
 * it is rotated, and which part that was the file does not tell (Bamba). */
static void
check_pairs(SundogKeys *keys, const SundogRope *rope, uint32_t head_dim)
{
    g_autofree char *key = sundog_keys_dup_name(keys, "rope.dimension_count");
    if (rope->n_dims < head_dim)
        sundog_keys_fail(
            keys, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
            "%s is %u of %u: a GGUF file of a state space model that rotates a part of its "
            "heads has their rows in a wrong order; use its folder of safetensors files",
            key, rope->n_dims, head_dim);
}

/* Layers with a window see few positions, all of them near: no family scales their rotation. */
static SundogRope
read_window_rope(SundogKeys *keys, const SundogFamily *family, const SundogRope *rope)
{
    SundogRope window_rope = *rope;
    double base = family->window_rope_base != 0 ? family->window_rope_base : rope->base;
    window_rope.base = sundog_keys_read_positive_or(keys, "rope.freq_base_swa", MAX_BASE, base);
    if (family->window_period != 0 && !family->scales_window_rope) {
        window_rope.scaling = SUNDOG_ROPE_SCALING_NONE;
        window_rope.factor = 1;
        window_rope.magnitude = 0;
    }
    return window_rope;
}

/* YaRN's magnitude over what a multiplier of its logarithm makes of it: 1 where that is 1. */
static void
divide_magnitude(SundogKeys *keys, SundogRope *rope)
{
    double multiplier =
        sundog_keys_read_optional(keys, "rope.scaling.yarn_log_multiplier", MAX_FACTOR);
    double growth = 0.1 * log(MAX(rope->factor, 1));
    if (rope->scaling == SUNDOG_ROPE_SCALING_YARN && rope->magnitude == 0 && multiplier != 0)
        rope->magnitude = (growth + 1) / (multiplier * growth + 1);
}

void
sundog_rope_settings_read(SundogKeys *keys, const SundogFamily *family,
                          SundogModelDimensions *dimensions)
{
    SundogRope *rope = &dimensions->rope;
    rope->n_dims = read_n_dims(keys, dimensions->head_dim);
    rope->interleaved =
        family->pairs == SUNDOG_PAIRS_NEIGHBOURS ||
        (family->pairs == SUNDOG_PAIRS_NEIGHBOURS_IN_GGUF && sundog_source_is_gguf(keys->source));
    if (family->has_state_spaces && sundog_source_is_gguf(keys->source) && rope->interleaved)
        check_pairs(keys, rope, dimensions->head_dim);
    rope->base = sundog_keys_read_positive_or(keys, "rope.freq_base", MAX_BASE, 10000);
    read_scaling(keys, rope, dimensions->context_length);
    rope->yarn_is_exact = family->yarn_is_exact;
    if (family->divides_magnitude)
        divide_magnitude(keys, rope);
    dimensions->window_rope = read_window_rope(keys, family, rope);
    if (family->layers_differ)
        dimensions->window_rope.n_dims =
            sundog_keys_read_count_or(keys, "rope.dimension_count_swa", rope->n_dims, rope->n_dims);
}
