/* A model's numbers. The limits are some way beyond any published model and low enough that products
 * of any three of them fit in 64 bits. Source of the keys: GGUF's specification. */

#include "engine/model/dimensions.h"

#include "engine/format/error.h"
#include "engine/model/expert-dimensions.h"
#include "engine/model/keys.h"
#include <math.h>
#include <string.h>

#define MAX_LAYERS 1024
#define MAX_FEATURES (1u << 20)
#define MAX_HEADS 4096
#define MAX_HEAD_DIM 1024
#define MAX_CONTEXT (1u << 27)

/* Which dimensions of a head are rotated together. GGUF's llama files have the rows of Q and K permuted
 * so that halves became neighbours; other files of the same models do not. */
typedef enum { HALVES, NEIGHBOURS, NEIGHBOURS_IN_GGUF } Pairs;

/* The families whose numbers are read here. */
static const struct {
    const char *name;
    Pairs pairs;
} architectures[] = {{"llama", NEIGHBOURS_IN_GGUF}, {"qwen2", HALVES}, {"qwen2moe", HALVES}};

static void
read_architecture(SundogKeys *keys, SundogModelDimensions *dimensions)
{
    const char *name = sundog_source_get_architecture(keys->source);
    for (size_t i = 0; name != NULL && i < G_N_ELEMENTS(architectures); i++) {
        if (strcmp(name, architectures[i].name) == 0) {
            dimensions->architecture = architectures[i].name;
            dimensions->rope_interleaved = architectures[i].pairs == NEIGHBOURS ||
                                           (architectures[i].pairs == NEIGHBOURS_IN_GGUF &&
                                            sundog_source_is_gguf(keys->source));
            return;
        }
    }
    g_autofree char *shown = sundog_format_quote(name, "missing");
    g_autoptr(GString) known = g_string_new(NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(architectures); i++)
        g_string_append_printf(known, "%s%s", i > 0 ? ", " : "", architectures[i].name);
    sundog_keys_fail(keys, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                     "general.architecture is %s, known are: %s", shown, known->str);
}

/* Settings that change what the model computes and that no dimension stands for. */
static void
refuse_unknown_settings(SundogKeys *keys)
{
    g_autofree char *causal = sundog_keys_dup_name(keys, "attention.causal");
    bool is_causal = true;
    if (sundog_source_get_bool(keys->source, "attention.causal", &is_causal) && !is_causal)
        sundog_keys_fail(keys, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                         "%s is false, expected true: only models that write text are known here",
                         causal);
}

static void
read_context(SundogKeys *keys, SundogModelDimensions *dimensions)
{
    dimensions->context_length = sundog_keys_read_count(keys, "context_length", MAX_CONTEXT);
    /* Inside its window, sliding attention is full attention, which is what recipes build. */
    uint64_t window = 0;
    if (sundog_source_get_uint(keys->source, "attention.sliding_window", &window) && window > 0)
        dimensions->context_length = (uint32_t)MIN(dimensions->context_length, window);
}

static void
read_head_dim(SundogKeys *keys, SundogModelDimensions *dimensions)
{
    if (sundog_keys_has(keys, "attention.key_length")) {
        dimensions->head_dim = sundog_keys_read_count(keys, "attention.key_length", MAX_HEAD_DIM);
    } else {
        dimensions->head_dim = dimensions->hidden_size / dimensions->n_heads;
        if (dimensions->hidden_size % dimensions->n_heads != 0)
            sundog_keys_fail_multiple(keys, "embedding_length", dimensions->hidden_size,
                                      "attention.head_count", dimensions->n_heads);
    }
    uint32_t value_dim = sundog_keys_read_count_or(keys, "attention.value_length", MAX_HEAD_DIM,
                                                   dimensions->head_dim);
    g_autofree char *key = sundog_keys_dup_name(keys, "attention.value_length");
    if (value_dim != dimensions->head_dim)
        sundog_keys_fail(keys, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                         "%s is %u, expected that of the keys, %u", key, value_dim,
                         dimensions->head_dim);
    if (dimensions->head_dim < 2 || dimensions->head_dim > MAX_HEAD_DIM ||
        dimensions->head_dim % 2 != 0)
        sundog_keys_fail(keys, SUNDOG_FORMAT_ERROR_INVALID,
                         "a head has %u dimensions, expected an even number from 2 to %d",
                         dimensions->head_dim, MAX_HEAD_DIM);
}

static void
read_heads(SundogKeys *keys, SundogModelDimensions *dimensions)
{
    dimensions->n_heads = sundog_keys_read_count(keys, "attention.head_count", MAX_HEADS);
    dimensions->n_kv_heads =
        sundog_keys_read_count_or(keys, "attention.head_count_kv", MAX_HEADS, dimensions->n_heads);
    if (dimensions->n_heads % dimensions->n_kv_heads != 0)
        sundog_keys_fail_multiple(keys, "attention.head_count", dimensions->n_heads,
                                  "attention.head_count_kv", dimensions->n_kv_heads);
    read_head_dim(keys, dimensions);
}

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
read_scaling(SundogKeys *keys, SundogModelDimensions *dimensions)
{
    dimensions->rope_scaling = read_scaling_type(keys);
    dimensions->rope_scaling_factor = 1;
    if (dimensions->rope_scaling == SUNDOG_ROPE_SCALING_LINEAR &&
        sundog_keys_has(keys, "rope.scale_linear"))
        dimensions->rope_scaling_factor =
            sundog_keys_read_positive(keys, "rope.scale_linear", 65536);
    else if (dimensions->rope_scaling != SUNDOG_ROPE_SCALING_NONE)
        dimensions->rope_scaling_factor =
            sundog_keys_read_positive(keys, "rope.scaling.factor", 65536);
    dimensions->rope_original_context = sundog_keys_read_count_or(
        keys, "rope.scaling.original_context_length", MAX_CONTEXT, dimensions->context_length);
}

static void
read_rope(SundogKeys *keys, SundogModelDimensions *dimensions)
{
    dimensions->rope_dims =
        sundog_keys_read_count_or(keys, "rope.dimension_count", MAX_HEAD_DIM, dimensions->head_dim);
    g_autofree char *key = sundog_keys_dup_name(keys, "rope.dimension_count");
    if (dimensions->rope_dims > dimensions->head_dim || dimensions->rope_dims % 2 != 0)
        sundog_keys_fail(keys, SUNDOG_FORMAT_ERROR_INVALID,
                         "%s is %u, expected an even number up to %u, a head's dimensions", key,
                         dimensions->rope_dims, dimensions->head_dim);
    dimensions->rope_base = sundog_keys_read_positive_or(keys, "rope.freq_base", 1e12, 10000);
    read_scaling(keys, dimensions);
}

bool
sundog_dimensions_read(SundogModelDimensions *dimensions, const SundogSource *source,
                       const char *fallback_name, GError **error)
{
    SundogKeys keys = {.source = source};
    *dimensions = (SundogModelDimensions){0};
    read_architecture(&keys, dimensions);
    if (keys.error == NULL) {
        refuse_unknown_settings(&keys);
        const char *name = sundog_source_get_title(source);
        dimensions->name = name != NULL ? name : fallback_name;
        dimensions->licence = sundog_source_get_licence(source);
        dimensions->n_layers = sundog_keys_read_count(&keys, "block_count", MAX_LAYERS);
        dimensions->hidden_size = sundog_keys_read_count(&keys, "embedding_length", MAX_FEATURES);
        dimensions->mlp_size = sundog_keys_read_count(&keys, "feed_forward_length", MAX_FEATURES);
        dimensions->norm_epsilon =
            sundog_keys_read_positive(&keys, "attention.layer_norm_rms_epsilon", 1);
        sundog_expert_dimensions_read(dimensions, &keys);
        read_context(&keys, dimensions);
        read_heads(&keys, dimensions);
        read_rope(&keys, dimensions);
    }
    if (keys.error != NULL)
        g_propagate_error(error, keys.error);
    return keys.error == NULL;
}
