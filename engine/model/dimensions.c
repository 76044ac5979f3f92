/* A model's numbers. The limits are some way beyond any published model and low enough that products
 * of any three of them fit in 64 bits. Source of the keys: GGUF's specification. */

#include "engine/model/dimensions.h"

#include "engine/format/error.h"
#include "engine/model/expert-dimensions.h"
#include "engine/model/families.h"
#include "engine/model/keys.h"
#include "engine/model/latent-dimensions.h"
#include "engine/model/layers.h"
#include "engine/model/pooled-dimensions.h"
#include "engine/model/recurrent-dimensions.h"
#include "engine/model/rope-settings.h"

#include <math.h>
#include <string.h>

#define MAX_LAYERS 1024
#define MAX_FEATURES (1u << 20)
#define MAX_HEADS 4096
#define MAX_HEAD_DIM 1024
#define MAX_CONTEXT (1u << 27)
#define MAX_SCALE 1e6

static const SundogFamily *
find_family(SundogKeys *keys)
{
    const char *name = sundog_source_get_architecture(keys->source);
    const SundogFamily *family = sundog_family_find(name);
    g_autofree char *shown = sundog_format_quote(name, "missing");
    g_autofree char *known = sundog_family_dup_names();
    if (family == NULL)
        sundog_keys_fail(keys, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                         "general.architecture is %s, known are: %s", shown, known);
    return family;
}

/* What nothing has asked about might change what the model computes. The vocabulary's size is compared
 * later, as the sizes of tensors are, and the others do not: notes of how the file was made, names, sections
 * of positions, which are all alike where there is nothing but text, and layers that take in what was seen. */
static void
refuse_unknown_settings(SundogKeys *keys)
{
    static const char *const harmless[] = {"vocab_size",
                                           "tensor_data_layout",
                                           "rope.scaling.finetuned",
                                           "rope.dimension_sections",
                                           "n_deepstack_layers",
                                           "dense_2_feat_in",
                                           "dense_2_feat_out",
                                           "dense_3_feat_in",
                                           "dense_3_feat_out",
                                           "classifier.output_labels"};
    for (size_t i = 0; i < G_N_ELEMENTS(harmless); i++)
        sundog_keys_has(keys, harmless[i]);
    g_autofree char *name = sundog_source_dup_unasked(keys->source);
    if (name != NULL)
        sundog_keys_fail(keys, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                         "%s is a setting that is not known here", name);
}

/* Functions of MLPs are families' own, and files that name one name that. */
static void
check_activation(SundogKeys *keys)
{
    const char *text = sundog_source_get_text(keys->source, "hidden_activation");
    g_autofree char *shown = sundog_format_quote(text, "missing");
    if (text != NULL && strcmp(text, "gelu") != 0)
        sundog_keys_fail(keys, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                         "hidden_activation is %s, expected \"gelu\"", shown);
}

/* A model that attends to the tokens which an indexer chooses attends to all while they are no more than
 * it chooses: its context ends there, and the indexer's numbers do not matter. */
static void
read_choice_of_tokens(SundogKeys *keys, SundogModelDimensions *dimensions)
{
    static const char *const others[] = {"attention.indexer.head_count",
                                         "attention.indexer.key_length", "attention.indexer.types"};
    for (size_t i = 0; i < G_N_ELEMENTS(others); i++)
        sundog_keys_has(keys, others[i]);
    dimensions->chosen_tokens =
        sundog_keys_read_number_or(keys, "attention.indexer.top_k", MAX_CONTEXT, 0);
    if (dimensions->chosen_tokens > 0)
        dimensions->context_length = MIN(dimensions->context_length, dimensions->chosen_tokens);
}

/* A window or a chunk that holds the whole context hides nothing. */
static void
read_window(SundogKeys *keys, const SundogFamily *family, SundogModelDimensions *dimensions)
{
    uint64_t window = 0;
    bool is_off =
        sundog_source_get_uint(keys->source, "attention.sliding_window", &window) && window == 0;
    dimensions->context_length = sundog_keys_read_count(keys, "context_length", MAX_CONTEXT);
    read_choice_of_tokens(keys, dimensions);
    if (window < dimensions->context_length)
        dimensions->window =
            (uint32_t)(family->halves_window && window > 0 ? window / 2 + 1 : window);
    uint32_t chunk = sundog_keys_read_number_or(keys, "attention.chunk_size", MAX_CONTEXT,
                                                is_off ? 0 : family->chunk);
    if (chunk < dimensions->context_length)
        dimensions->chunk = chunk;
    uint32_t n_positions = dimensions->pooled.n_positions;
    if (family->learns_positions && dimensions->context_length > n_positions)
        sundog_keys_fail(keys, SUNDOG_FORMAT_ERROR_INVALID,
                         "there are vectors for %u positions, expected %u, the context's",
                         n_positions, dimensions->context_length);
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
    /* Of attention over latents a part of the key is the value. */
    if (value_dim != dimensions->head_dim && !sundog_keys_has(keys, "attention.kv_lora_rank"))
        sundog_keys_fail(keys, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                         "%s is %u, expected that of the keys, %u", key, value_dim,
                         dimensions->head_dim);
    if (dimensions->head_dim < 2 || dimensions->head_dim > MAX_HEAD_DIM ||
        dimensions->head_dim % 2 != 0)
        sundog_keys_fail(keys, SUNDOG_FORMAT_ERROR_INVALID,
                         "a head has %u dimensions, expected an even number from 2 to %d",
                         dimensions->head_dim, MAX_HEAD_DIM);
}

/* Files of models that attend to nothing say that they have no heads and no MLP. */
static void
set_no_heads(SundogKeys *keys, SundogModelDimensions *dimensions)
{
    static const char *const none[] = {"attention.head_count", "attention.head_count_kv",
                                       "feed_forward_length"};
    for (size_t i = 0; i < G_N_ELEMENTS(none); i++)
        sundog_keys_has(keys, none[i]);
    dimensions->n_heads = dimensions->n_kv_heads = 1;
    dimensions->head_dim = 2;
}

static void
read_heads(SundogKeys *keys, const SundogFamily *family, SundogModelDimensions *dimensions)
{
    if (family->never_attends) {
        set_no_heads(keys, dimensions);
        return;
    }
    dimensions->n_heads = sundog_keys_read_count(keys, "attention.head_count", MAX_HEADS);
    dimensions->n_kv_heads = dimensions->n_heads;
    if (sundog_keys_has(keys, "attention.head_count_kv"))
        dimensions->n_kv_heads = sundog_layers_read_greatest(
            keys, family, "attention.head_count_kv", dimensions->n_layers, MAX_HEADS);
    if (dimensions->n_heads % dimensions->n_kv_heads != 0)
        sundog_keys_fail_multiple(keys, "attention.head_count", dimensions->n_heads,
                                  "attention.head_count_kv", dimensions->n_kv_heads);
    read_head_dim(keys, dimensions);
}

static void
read_sizes(SundogKeys *keys, const SundogFamily *family, SundogModelDimensions *dimensions)
{
    uint32_t n_blocks = sundog_keys_read_count(keys, "block_count", MAX_LAYERS);
    dimensions->n_draft_layers =
        sundog_keys_read_number_or(keys, "nextn_predict_layers", n_blocks - 1, 0);
    dimensions->n_layers = n_blocks - dimensions->n_draft_layers;
    dimensions->hidden_size = sundog_keys_read_count(keys, "embedding_length", MAX_FEATURES);
    dimensions->mlp_size = family->never_attends
                               ? dimensions->hidden_size
                               : sundog_layers_read_greatest(keys, family, "feed_forward_length",
                                                             dimensions->n_layers, MAX_FEATURES);
    dimensions->layer_input_size = sundog_keys_read_number_or(
        keys, "embedding_length_per_layer_input", MAX_FEATURES / MAX_LAYERS, 0);
    /* Some files of root mean square norms say it under both names. */
    dimensions->norms_take_mean =
        family->takes_mean || (!sundog_keys_has(keys, "attention.layer_norm_rms_epsilon") &&
                               sundog_keys_has(keys, "attention.layer_norm_epsilon"));
    dimensions->norm_epsilon =
        sundog_keys_has(keys, "attention.layer_norm_epsilon")
            ? sundog_keys_read_positive_or(
                  keys, "attention.layer_norm_rms_epsilon", 1,
                  sundog_keys_read_positive(keys, "attention.layer_norm_epsilon", 1))
            : sundog_keys_read_positive(keys, "attention.layer_norm_rms_epsilon", 1);
}

static void
read_scales(SundogKeys *keys, const SundogFamily *family, SundogModelDimensions *dimensions)
{
    double head = dimensions->head_dim;
    double hidden = dimensions->hidden_size;
    if (family->layers_of_wide_scale == dimensions->n_layers)
        head = hidden / dimensions->n_heads;
    if (family->unscaled_queries)
        head = 1;
    dimensions->attention_scale =
        sundog_keys_read_positive_or(keys, "attention.scale", MAX_SCALE, 1 / sqrt(head));
    dimensions->embedding_scale = sundog_keys_read_positive_or(
        keys, "embedding_scale", MAX_SCALE, family->scales_embedding ? sqrt(hidden) : 1);
    dimensions->residual_scale = sundog_keys_read_positive_or(keys, "residual_scale", MAX_SCALE, 1);
    dimensions->logit_scale = sundog_keys_read_positive_or(keys, "logit_scale", MAX_SCALE, 1);
    if (family->divides_logits)
        dimensions->logit_scale = 1 / dimensions->logit_scale;
    dimensions->attention_softcap =
        sundog_keys_read_optional(keys, "attn_logit_softcapping", MAX_SCALE);
    dimensions->logit_softcap =
        sundog_keys_read_optional(keys, "final_logit_softcapping", MAX_SCALE);
}

/* Files in which weights have them multiplied in say nothing of them. */
static void
read_factors(SundogKeys *keys, SundogModelDimensions *dimensions)
{
    SundogFactors *factors = &dimensions->factors;
    const struct {
        const char *name;
        double *value;
    } all[] = {{"attention.input_factor", &factors->attention_in},
               {"attention.output_factor", &factors->attention_out},
               {"ssm.gate_factor", &factors->space_gate},
               {"ssm.step_factor", &factors->space_step},
               {"ssm.output_factor", &factors->space_out},
               {"feed_forward_gate_factor", &factors->mlp_gate},
               {"feed_forward_output_factor", &factors->mlp_out}};
    for (size_t i = 0; i < G_N_ELEMENTS(all); i++)
        *all[i].value = sundog_keys_read_positive_or(keys, all[i].name, MAX_SCALE, 1);
}

#define MAX_STREAMS 16

/* The first stream is the one that layers work on. */
static void
read_streams(SundogKeys *keys, const SundogFamily *family, SundogModelDimensions *dimensions)
{
    dimensions->n_streams = sundog_keys_read_number_or(keys, "altup.num_inputs", MAX_STREAMS, 0);
    dimensions->laurel_rank =
        sundog_keys_read_number_or(keys, "laurel.rank", MAX_FEATURES, family->laurel_rank);
    sundog_keys_read_number_or(keys, "altup.active_idx", 0, 0);
    if (family->laurel_rank != 0 && dimensions->n_streams != 4)
        sundog_keys_fail(keys, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                         "the model has %u streams, expected 4", dimensions->n_streams);
}

static void
read_query_scales(SundogKeys *keys, const SundogFamily *family, SundogModelDimensions *dimensions)
{
    bool is_said = sundog_keys_has(keys, "attention.temperature_scale");
    dimensions->query_scale_beta =
        is_said ? sundog_keys_read_optional(keys, "attention.temperature_scale", MAX_SCALE)
                : family->query_scale_beta;
    dimensions->query_scale_period = sundog_keys_read_count_or(
        keys, "attention.temperature_length", MAX_CONTEXT,
        family->query_scale_period != 0 ? family->query_scale_period
                                        : dimensions->rope.original_context);
    dimensions->scales_unrotated = family->query_scale_beta != 0;
    dimensions->query_scale_offset = dimensions->scales_unrotated ? 1 : 0;
}

/* Llama 4's larger size, told by the number of its experts, norms nothing; files need not say so. */
static void
read_plain_norm(SundogKeys *keys, const SundogFamily *family, SundogModelDimensions *dimensions)
{
    if (family->weighs_inputs)
        dimensions->norms_plainly = sundog_keys_read_bool_or(keys, "attention.norms_heads",
                                                             dimensions->experts.n_experts != 128);
}

static void
read_all(SundogKeys *keys, const SundogFamily *family, SundogModelDimensions *dimensions)
{
    dimensions->architecture = family->name;
    dimensions->norms_whole_rows = family->norms_whole_rows;
    dimensions->sums_in_turn = !sundog_keys_read_bool_or(keys, "use_parallel_residual", true);
    read_sizes(keys, family, dimensions);
    check_activation(keys);
    sundog_pooled_dimensions_read(dimensions, family, keys);
    sundog_expert_dimensions_read(dimensions, family, keys);
    read_window(keys, family, dimensions);
    read_heads(keys, family, dimensions);
    read_scales(keys, family, dimensions);
    read_factors(keys, dimensions);
    read_streams(keys, family, dimensions);
    sundog_rope_settings_read(keys, family, dimensions);
    read_query_scales(keys, family, dimensions);
    read_plain_norm(keys, family, dimensions);
    sundog_latent_dimensions_read(dimensions, keys);
    sundog_recurrent_dimensions_read(dimensions, family, keys);
    if (keys->error == NULL)
        sundog_layers_read(keys, family, dimensions);
    refuse_unknown_settings(keys);
}

bool
sundog_dimensions_read(SundogModelDimensions *dimensions, const SundogSource *source,
                       const char *fallback_name, GError **error)
{
    SundogKeys keys = {.source = source};
    *dimensions = (SundogModelDimensions){0};
    const SundogFamily *family = find_family(&keys);
    if (family != NULL) {
        const char *name = sundog_source_get_title(source);
        dimensions->name = name != NULL ? name : fallback_name;
        dimensions->licence = sundog_source_get_licence(source);
        read_all(&keys, family, dimensions);
    }
    if (keys.error != NULL)
        g_propagate_error(error, keys.error);
    return keys.error == NULL;
}

void
sundog_dimensions_clear(SundogModelDimensions *dimensions)
{
    g_clear_pointer(&dimensions->layers, g_free);
}
