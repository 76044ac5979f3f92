/* DeepSeek's tensors and settings. Source: transformers' DeepseekV2 and DeepseekV3, and llama.cpp's converter. */

#include "engine/model/hf-latent.h"
#include "engine/model/hf-config.h"
#include "engine/model/hf-family.h"

#include "engine/format/error.h"
#include "engine/format/json-members.h"

#include <string.h>

/* GGUF's expert_gating_func. */
#define GATING_SOFTMAX 1
#define GATING_SIGMOID 2

/* clang-format off */
const SundogHfTensor sundog_hf_deepseek_tensors[] = {
    {"model.layers.%u.self_attn.q_a_proj.weight",           "blk.%u.attn_q_a.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.self_attn.q_a_layernorm.weight",      "blk.%u.attn_q_a_norm.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.self_attn.q_b_proj.weight",           "blk.%u.attn_q_b.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.self_attn.kv_a_proj_with_mqa.weight", "blk.%u.attn_kv_a_mqa.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.self_attn.kv_a_layernorm.weight",     "blk.%u.attn_kv_a_norm.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.self_attn.kv_b_proj.weight",          "blk.%u.attn_k_b.weight", SUNDOG_HF_KEYS_OF_HEADS},
    {"model.layers.%u.self_attn.kv_b_proj.weight",          "blk.%u.attn_v_b.weight", SUNDOG_HF_VALUES_OF_HEADS},
    {"model.layers.%u.self_attn.indexer.wq_b.weight",         NULL, SUNDOG_HF_WHOLE},
    {"model.layers.%u.self_attn.indexer.wk.weight",           NULL, SUNDOG_HF_WHOLE},
    {"model.layers.%u.self_attn.indexer.k_norm.weight",       NULL, SUNDOG_HF_WHOLE},
    {"model.layers.%u.self_attn.indexer.k_norm.bias",         NULL, SUNDOG_HF_WHOLE},
    {"model.layers.%u.self_attn.indexer.weights_proj.weight", NULL, SUNDOG_HF_WHOLE},
    {NULL, NULL, SUNDOG_HF_WHOLE},
};
/* clang-format on */

/* The later versions choose by sigmoid, whether or not they say so. */
static void
read_choice(SundogSource *source, JsonObject *config)
{
    bool is_later = strcmp(sundog_json_get_string(config, "model_type", ""), "deepseek_v2") != 0;
    const char *usual = is_later ? "sigmoid" : "softmax";
    const char *scoring = sundog_json_get_string(config, "scoring_func", usual);
    sundog_source_set_uint(source, "expert_gating_func", "config.json: scoring_func",
                           strcmp(scoring, "sigmoid") == 0 ? GATING_SIGMOID : GATING_SOFTMAX);
    if (strcmp(sundog_json_get_string(config, "topk_method", ""), "greedy") == 0) {
        sundog_source_unset(source, "expert_group_count");
        sundog_source_unset(source, "expert_group_used_count");
    }
}

/* With YaRN, scores grow by the square of the magnitude that mscale_all_dim gives; cosine and sine keep
 * theirs only where both multipliers are the same. */
static bool
read_growth(SundogSource *source, JsonObject *config, GError **error)
{
    JsonObject *scaling = sundog_json_get_object(config, "rope_parameters");
    if (scaling == NULL)
        scaling = sundog_json_get_object(config, "rope_scaling");
    double by = sundog_json_get_number(scaling, "mscale_all_dim", 0);
    if (by == 0)
        return true;
    if (sundog_json_get_number(scaling, "mscale", 0) != by)
        return sundog_error_set(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                                "config.json: mscale and mscale_all_dim differ, which is not "
                                "known here");
    sundog_source_set_float(source, "rope.scaling.yarn_log_multiplier",
                            "config.json: mscale_all_dim", 0.1 * by);
    return true;
}

bool
sundog_hf_latent_read(SundogSource *source, JsonObject *config, SundogHfGroups *groups,
                      GError **error)
{
    uint64_t kv_rank, n_rope, n_plain, n_values, n_heads;
    if (!sundog_json_has(config, "kv_lora_rank"))
        return true;
    if (!sundog_hf_config_get_size(config, "kv_lora_rank", &kv_rank, error) ||
        !sundog_hf_config_get_size(config, "qk_rope_head_dim", &n_rope, error) ||
        !sundog_hf_config_get_size(config, "qk_nope_head_dim", &n_plain, error) ||
        !sundog_hf_config_get_size(config, "v_head_dim", &n_values, error) ||
        !sundog_hf_config_get_size(config, "num_attention_heads", &n_heads, error))
        return false;
    *groups = (SundogHfGroups){.n_groups = n_heads, .parts = {n_plain, n_values}};
    sundog_source_set_uint(source, "attention.key_length", "config.json: kv_lora_rank",
                           kv_rank + n_rope);
    sundog_source_set_uint(source, "attention.value_length", "config.json: kv_lora_rank", kv_rank);
    sundog_source_set_uint(source, "attention.key_length_mla", "config.json: qk_nope_head_dim",
                           n_plain + n_rope);
    sundog_source_set_uint(source, "attention.value_length_mla", "config.json: v_head_dim",
                           n_values);
    sundog_source_set_uint(source, "attention.head_count_kv", "config.json: kv_lora_rank", 1);
    sundog_source_set_uint(source, "rope.dimension_count", "config.json: qk_rope_head_dim", n_rope);
    read_choice(source, config);
    return read_growth(source, config, error);
}
