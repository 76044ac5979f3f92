/* What differs from layer to layer. Source of the keys: GGUF's specification and llama.cpp. */

#include "engine/model/layers.h"

#include "engine/format/error.h"
#include "engine/model/recurrent-dimensions.h"

#include <math.h>

#define MAX_LAYERS 1024
#define WINDOW_PATTERN "attention.sliding_window_pattern"
#define SPARSITY "activation_sparsity_scale"
#define MAX_SPARSITY 100
#define ROPE_PATTERN "attention.rope_pattern"

/* Which layers have a window: a truth a layer, or a period after which one sees everything. */
static bool
layer_has_window(const SundogKeys *keys, const SundogFamily *family, uint32_t layer,
                 uint32_t period)
{
    double truth = 0;
    if (sundog_source_get_array_number(keys->source, WINDOW_PATTERN, layer, &truth))
        return truth != 0;
    return period == 0 || layer % period != (family->sees_all_first ? 0 : period - 1);
}

/* Which layers rotate: a truth a layer, or a period after which one does not. */
static bool
layer_has_rope(const SundogKeys *keys, uint32_t layer, uint32_t period)
{
    double truth = 0;
    if (sundog_source_get_array_number(keys->source, ROPE_PATTERN, layer, &truth))
        return truth != 0;
    return period == 0 || layer % period != period - 1;
}

/* A pattern tells of every layer, where it is there. */
static void
check_pattern(SundogKeys *keys, const char *name, uint32_t n_layers)
{
    uint64_t n = sundog_source_get_array_length(keys->source, name);
    g_autofree char *key = sundog_keys_dup_name(keys, name);
    if (n > 0 && n < n_layers)
        sundog_keys_fail(keys, SUNDOG_FORMAT_ERROR_INVALID,
                         "%s tells of %" G_GUINT64_FORMAT " layers, expected %u", key, n, n_layers);
}

static bool
rotates_alike(const SundogRope *a, const SundogRope *b)
{
    return a->base == b->base && a->scaling == b->scaling && a->factor == b->factor &&
           a->magnitude == b->magnitude;
}

/* A number that is the same for all layers, or one of a list. */
static uint32_t
read_of_layer(SundogKeys *keys, const char *name, uint32_t layer, uint32_t max, uint32_t fallback)
{
    double number = 0;
    if (sundog_source_get_array_length(keys->source, name) == 0)
        return sundog_keys_read_count_or(keys, name, max, fallback);
    g_autofree char *key = sundog_keys_dup_name(keys, name);
    if (sundog_source_get_array_number(keys->source, name, layer, &number) && number >= 1 &&
        number <= max && number == floor(number))
        return (uint32_t)number;
    sundog_keys_fail(keys, SUNDOG_FORMAT_ERROR_INVALID,
                     "%s is %g for layer %u, expected a number from 1 to %u", key, number, layer,
                     max);
    return 1;
}

/* One number, or one a layer, where layers without such a part have none and all others the same. */
static uint32_t
read_of_others(SundogKeys *keys, const char *name, uint32_t max)
{
    uint64_t n = sundog_source_get_array_length(keys->source, name);
    g_autofree char *key = sundog_keys_dup_name(keys, name);
    double most = 0;
    double value;
    if (n == 0)
        return sundog_keys_read_count(keys, name, max);
    for (uint64_t i = 0; i < n; i++) {
        if (!sundog_source_get_array_number(keys->source, name, i, &value) || value == 0)
            continue;
        if (value < 1 || value > max || value != floor(value) || (most != 0 && most != value))
            sundog_keys_fail(keys, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                             "%s differs from layer to layer: %g and %g", key, most, value);
        else
            most = value;
    }
    return most != 0 && keys->error == NULL ? (uint32_t)most : 1;
}

uint32_t
sundog_layers_read_greatest(SundogKeys *keys, const SundogFamily *family, const char *name,
                            uint32_t n_layers, uint32_t max)
{
    uint32_t greatest = 1;
    if (family->has_conv_layers || family->has_state_spaces)
        return read_of_others(keys, name, max);
    if (!family->layers_differ)
        return sundog_keys_read_count(keys, name, max);
    for (uint32_t i = 0; i < n_layers && keys->error == NULL; i++) {
        uint32_t value = read_of_layer(keys, name, i, max, max);
        greatest = MAX(greatest, value);
    }
    return greatest;
}

/* Sizes that may differ, and whose keys and values a layer attends to: those near the end may share the
 * last ones of a layer of their kind. */
static void
read_sizes(SundogKeys *keys, SundogModelDimensions *dimensions)
{
    uint32_t n_shared =
        sundog_keys_read_number_or(keys, "attention.shared_kv_layers", dimensions->n_layers - 1, 0);
    uint32_t window_head = sundog_keys_read_count_or(keys, "attention.key_length_swa",
                                                     dimensions->head_dim, dimensions->head_dim);
    uint32_t window_value = sundog_keys_read_count_or(keys, "attention.value_length_swa",
                                                      dimensions->head_dim, window_head);
    if (window_head != window_value || window_head % 2 != 0)
        sundog_keys_fail(keys, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                         "heads of layers with a window have keys of %u and values of %u "
                         "dimensions, expected one even number",
                         window_head, window_value);
    for (uint32_t i = 0; i < dimensions->n_layers; i++) {
        SundogLayer *layer = &dimensions->layers[i];
        layer->n_kv_heads = read_of_layer(keys, "attention.head_count_kv", i,
                                          dimensions->n_kv_heads, dimensions->n_kv_heads);
        layer->mlp_size = read_of_layer(keys, "feed_forward_length", i, dimensions->mlp_size,
                                        dimensions->mlp_size);
        layer->head_dim = layer->window != 0 ? window_head : dimensions->head_dim;
        layer->kv_layer = i;
        for (uint32_t k = dimensions->n_layers - n_shared;
             i >= dimensions->n_layers - n_shared && k-- > 0;) {
            const SundogLayer *other = &dimensions->layers[k];
            if ((other->window != 0) != (layer->window != 0))
                continue;
            layer->kv_layer = k;
            layer->n_kv_heads = other->n_kv_heads;
            break;
        }
        if (dimensions->n_heads % layer->n_kv_heads != 0)
            sundog_keys_fail(keys, SUNDOG_FORMAT_ERROR_INVALID,
                             "layer %u has %u heads, expected a multiple of its %u of keys", i,
                             dimensions->n_heads, layer->n_kv_heads);
    }
}

/* A layer whose number is none above 0 cuts nothing off. */
static void
read_sparsity(SundogKeys *keys, SundogModelDimensions *dimensions)
{
    double value;
    for (uint32_t i = 0; i < dimensions->n_layers; i++)
        if (sundog_source_get_array_number(keys->source, SPARSITY, i, &value) && value > 0 &&
            value <= MAX_SPARSITY)
            dimensions->layers[i].sparsity = value;
}

void
sundog_layers_read(SundogKeys *keys, const SundogFamily *family, SundogModelDimensions *dimensions)
{
    uint32_t period = family->window_period;
    check_pattern(keys, WINDOW_PATTERN, dimensions->n_layers);
    check_pattern(keys, ROPE_PATTERN, dimensions->n_layers);
    if (sundog_source_get_array_length(keys->source, WINDOW_PATTERN) == 0)
        period = sundog_keys_read_count_or(keys, WINDOW_PATTERN, MAX_LAYERS, period);
    bool rotates = !family->learns_positions &&
                   (!family->finetuned_is_rope ||
                    sundog_keys_read_bool_or(keys, "rope.scaling.finetuned", true));
    bool is_alike = rotates_alike(&dimensions->rope, &dimensions->window_rope);
    bool has_windows = sundog_keys_has(keys, "attention.sliding_window");
    uint32_t n_layers = dimensions->n_layers + dimensions->n_draft_layers;
    dimensions->layers = g_new0(SundogLayer, n_layers);
    for (uint32_t i = 0; i < dimensions->n_layers; i++) {
        SundogLayer *layer = &dimensions->layers[i];
        layer->is_recurrent = family->attends_beside || family->never_attends ||
                              sundog_recurrent_layer(dimensions, keys, i);
        bool has_window = layer_has_window(keys, family, i, period);
        if (has_window) {
            layer->window = dimensions->window;
            layer->chunk = dimensions->chunk;
        }
        if (family->rotates_windows && has_windows && !has_window)
            continue;
        if (rotates && layer_has_rope(keys, i, family->rope_period))
            layer->rope =
                layer->window != 0 && !is_alike ? &dimensions->window_rope : &dimensions->rope;
    }
    /* Those that draft attend to everything. */
    for (uint32_t i = dimensions->n_layers; i < n_layers && rotates; i++)
        dimensions->layers[i].rope = &dimensions->rope;
    for (uint32_t i = 0; i < n_layers; i++) {
        SundogLayer *layer = &dimensions->layers[i];
        layer->n_kv_heads = dimensions->n_kv_heads;
        layer->head_dim = dimensions->head_dim;
        layer->mlp_size = dimensions->mlp_size;
        layer->kv_layer = i;
    }
    if (sundog_keys_has(keys, SPARSITY))
        read_sparsity(keys, dimensions);
    if (family->layers_differ)
        read_sizes(keys, dimensions);
}
