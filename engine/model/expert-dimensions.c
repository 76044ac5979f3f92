/* A mixture's numbers. What a file leaves out is the family's: files of a family whose models all
 * choose alike do not say how. Source of the keys: GGUF's specification. */

#include "engine/model/expert-dimensions.h"

#include "engine/format/error.h"
#include <string.h>

#define MAX_EXPERTS 4096
#define MAX_FEATURES (1u << 20)
#define MAX_SHARED 64
/* Rows of weights are laid out by so many, and an expert begins with such a panel. */
#define EXPERT_ROWS 16
#define MAX_SCALE 1000

/* GGUF's expert_gating_func. The third takes the greatest logits and the softmax of these alone, which
 * is the softmax of all, renormalized. */
enum { GATING_SOFTMAX = 1, GATING_SIGMOID = 2, GATING_SOFTMAX_OF_CHOSEN = 3 };

/* Whether the choice of any layer has a bias. */
static bool
has_bias(const SundogKeys *keys, uint32_t n_layers)
{
    SundogSourceTensor tensor;
    for (uint32_t i = 0; i < n_layers; i++) {
        g_autofree char *name = sundog_model_dup_tensor_name(SUNDOG_TENSOR_EXPERT_BIAS, i);
        if (sundog_source_find_tensor(keys->source, name, &tensor))
            return true;
    }
    return false;
}

static void
read_choice(SundogModelDimensions *dimensions, const SundogFamily *family, SundogKeys *keys)
{
    SundogExpertDimensions *experts = &dimensions->experts;
    bool is_usual = family->experts_by_sigmoid ||
                    (family->bias_means_sigmoid && has_bias(keys, dimensions->n_layers));
    uint32_t gating =
        sundog_keys_read_number_or(keys, "expert_gating_func", GATING_SOFTMAX_OF_CHOSEN,
                                   is_usual ? GATING_SIGMOID : GATING_SOFTMAX);
    experts->is_sigmoid = gating == GATING_SIGMOID;
    experts->renormalizes =
        gating == GATING_SOFTMAX_OF_CHOSEN ||
        sundog_keys_read_bool_or(keys, "expert_weights_norm", family->renormalizes_experts);
    experts->margin = sundog_keys_has(keys, "expert_margin")
                          ? sundog_keys_read_optional(keys, "expert_margin", MAX_SCALE)
                          : family->expert_margin;
    experts->scale = sundog_keys_read_positive_or(keys, "expert_weights_scale", MAX_SCALE, 1);
}

/* Groups that tokens are limited to. How many of a group's scores count is told by the tensors. */
static void
read_groups(SundogModelDimensions *dimensions, SundogKeys *keys)
{
    SundogExpertDimensions *experts = &dimensions->experts;
    experts->n_groups = sundog_keys_read_number_or(keys, "expert_group_count", MAX_EXPERTS, 1);
    experts->n_groups = MAX(experts->n_groups, 1);
    experts->n_groups_used =
        sundog_keys_read_number_or(keys, "expert_group_used_count", MAX_EXPERTS, experts->n_groups);
    experts->n_groups_used = MAX(experts->n_groups_used, 1);
    if (experts->n_experts % experts->n_groups != 0)
        sundog_keys_fail_multiple(keys, "expert_count", experts->n_experts, "expert_group_count",
                                  experts->n_groups);
    if (experts->n_groups_used > experts->n_groups || experts->n_used > experts->n_experts ||
        experts->n_used > experts->n_experts / experts->n_groups * experts->n_groups_used)
        sundog_keys_fail(keys, SUNDOG_FORMAT_ERROR_INVALID,
                         "a token uses %u of %u experts in %u of %u groups, which cannot be",
                         experts->n_used, experts->n_experts, experts->n_groups_used,
                         experts->n_groups);
}

static void
read_sizes(SundogModelDimensions *dimensions, const SundogFamily *family, SundogKeys *keys)
{
    SundogExpertDimensions *experts = &dimensions->experts;
    uint32_t n_shared =
        sundog_keys_read_number_or(keys, "expert_shared_count", MAX_SHARED, family->n_shared);
    experts->n_used = sundog_keys_read_count(keys, "expert_used_count", MAX_EXPERTS);
    experts->size = sundog_keys_read_count_or(keys, "expert_feed_forward_length", MAX_FEATURES,
                                              dimensions->mlp_size);
    if (experts->size % EXPERT_ROWS != 0 || dimensions->hidden_size % EXPERT_ROWS != 0)
        sundog_keys_fail(keys, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                         "experts are of %u by %u features, expected multiples of %d",
                         experts->size, dimensions->hidden_size, EXPERT_ROWS);
    experts->shared_size = sundog_keys_read_number_or(keys, "expert_shared_feed_forward_length",
                                                      MAX_FEATURES, n_shared * experts->size);
    experts->n_dense_layers =
        sundog_keys_read_number_or(keys, "leading_dense_block_count", dimensions->n_layers, 0);
    experts->period =
        sundog_keys_read_count_or(keys, "interleave_moe_layer_step", dimensions->n_layers, 1);
    experts->weighs_inputs = family->weighs_inputs;
    if (experts->weighs_inputs && experts->n_used != 1)
        sundog_keys_fail(keys, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                         "a token uses %u experts that weigh what goes in, expected 1",
                         experts->n_used);
}

void
sundog_expert_dimensions_read(SundogModelDimensions *dimensions, const SundogFamily *family,
                              SundogKeys *keys)
{
    SundogExpertDimensions *experts = &dimensions->experts;
    experts->n_experts = sundog_keys_read_number_or(keys, "expert_count", MAX_EXPERTS, 0);
    if (experts->n_experts == 0)
        return;
    if (!family->has_experts) {
        g_autofree char *key = sundog_keys_dup_name(keys, "expert_count");
        sundog_keys_fail(keys, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                         "%s is %u, expected 0: %s models have no experts here", key,
                         experts->n_experts, dimensions->architecture);
        return;
    }
    read_sizes(dimensions, family, keys);
    read_choice(dimensions, family, keys);
    read_groups(dimensions, keys);
}

bool
sundog_model_has_experts(const SundogModelDimensions *dimensions, uint32_t layer)
{
    const SundogExpertDimensions *experts = &dimensions->experts;
    return experts->n_experts > 0 && layer >= experts->n_dense_layers &&
           (layer + 1) % experts->period == 0;
}
