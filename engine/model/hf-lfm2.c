/* LFM2's names, and its config.json, which gives the size of MLPs before it is fitted. Source: transformers'
 * modelling files. */

#include "engine/model/hf-family.h"

#include "engine/format/json-members.h"

#include <math.h>

#define MAX_FEATURES (1u << 20)

/* clang-format off */
const SundogHfTensor sundog_hf_lfm2_tensors[] = {
    {"model.embedding_norm.weight",                       "token_embd_norm.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.operator_norm.weight",              "blk.%u.attn_norm.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.ffn_norm.weight",                   "blk.%u.ffn_norm.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.conv.in_proj.weight",               "blk.%u.shortconv.in_proj.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.conv.conv.weight",                  "blk.%u.shortconv.conv.weight", SUNDOG_HF_CHANNELS},
    {"model.layers.%u.conv.out_proj.weight",              "blk.%u.shortconv.out_proj.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.self_attn.out_proj.weight",         "blk.%u.attn_output.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.self_attn.q_layernorm.weight",      "blk.%u.attn_q_norm.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.self_attn.k_layernorm.weight",      "blk.%u.attn_k_norm.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.feed_forward.w1.weight",            "blk.%u.ffn_gate.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.feed_forward.w3.weight",            "blk.%u.ffn_up.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.feed_forward.w2.weight",            "blk.%u.ffn_down.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.feed_forward.gate.weight",          "blk.%u.ffn_gate_inp.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.feed_forward.expert_bias",          "blk.%u.exp_probs_b.bias", SUNDOG_HF_WHOLE},
    {"model.layers.%u.feed_forward.experts.%e.w1.weight", "blk.%u.ffn_gate_exps.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.feed_forward.experts.%e.w3.weight", "blk.%u.ffn_up_exps.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.feed_forward.experts.%e.w2.weight", "blk.%u.ffn_down_exps.weight", SUNDOG_HF_WHOLE},
    {NULL, NULL, SUNDOG_HF_WHOLE},
};

const SundogHfKey sundog_hf_lfm2_keys[] = {
    {"norm_eps",         "attention.layer_norm_rms_epsilon"},
    {"conv_L_cache",     "shortconv.l_cache"},
    {"num_dense_layers", "leading_dense_block_count"},
    {NULL, NULL},
};
/* clang-format on */

void
sundog_hf_lfm2_read(SundogSource *source, JsonObject *config)
{
    double given = sundog_json_get_number(config, "intermediate_size", 0);
    double size = floor(sundog_json_get_number(config, "block_ff_dim", given));
    double multiple = floor(sundog_json_get_number(config, "block_multiple_of", 256));
    /* Two thirds, times a factor, up to a multiple. */
    if (sundog_json_get_bool(config, "block_auto_adjust_ff_dim", true) && multiple >= 1) {
        size = floor(2 * size / 3);
        size = floor(sundog_json_get_number(config, "block_ffn_dim_multiplier", 1) * size);
        size = multiple * ceil(size / multiple);
    }
    if (size >= 1 && size <= MAX_FEATURES)
        sundog_source_set_uint(source, "feed_forward_length", "config.json: block_ff_dim",
                               (uint64_t)size);
}
