/* Names of Qwen3-Next and Qwen 3.5, most of whose layers are gated delta nets. Source: transformers'
 * modelling files. */

#include "engine/model/hf-config.h"
#include "engine/model/hf-family.h"

#include "engine/format/error.h"
#include "engine/format/json-members.h"

#define MAX_INNER (1u << 20)

/* clang-format off */
#define DELTA_ROWS                                                                                               \
    {"model.norm.weight",                               "output_norm.weight", SUNDOG_HF_PLUS_ONE},             \
    {"model.layers.%u.input_layernorm.weight",          "blk.%u.attn_norm.weight", SUNDOG_HF_PLUS_ONE},        \
    {"model.layers.%u.post_attention_layernorm.weight", "blk.%u.post_attention_norm.weight", SUNDOG_HF_PLUS_ONE}, \
    {"model.layers.%u.self_attn.q_norm.weight",         "blk.%u.attn_q_norm.weight", SUNDOG_HF_PLUS_ONE},      \
    {"model.layers.%u.self_attn.k_norm.weight",         "blk.%u.attn_k_norm.weight", SUNDOG_HF_PLUS_ONE},      \
    {"model.layers.%u.enorm.weight",                    "blk.%u.nextn.enorm.weight", SUNDOG_HF_PLUS_ONE},      \
    {"model.layers.%u.hnorm.weight",                    "blk.%u.nextn.hnorm.weight", SUNDOG_HF_PLUS_ONE},      \
    {"model.layers.%u.shared_head.norm.weight",         "blk.%u.nextn.shared_head_norm.weight", SUNDOG_HF_PLUS_ONE}, \
    {"model.layers.%u.linear_attn.conv1d.weight",       "blk.%u.ssm_conv1d.weight", SUNDOG_HF_CHANNELS},       \
    {"model.layers.%u.linear_attn.dt_bias",             "blk.%u.ssm_dt.bias", SUNDOG_HF_WHOLE},                \
    {"model.layers.%u.linear_attn.A_log",               "blk.%u.ssm_a", SUNDOG_HF_MINUS_EXP},                  \
    {"model.layers.%u.linear_attn.norm.weight",         "blk.%u.ssm_norm.weight", SUNDOG_HF_WHOLE},            \
    {"model.layers.%u.linear_attn.out_proj.weight",     "blk.%u.ssm_out.weight", SUNDOG_HF_WHOLE}

const SundogHfTensor sundog_hf_qwen3_next_tensors[] = {
    DELTA_ROWS,
    {"model.layers.%u.linear_attn.in_proj_qkvz.weight", "blk.%u.attn_qkv.weight", SUNDOG_HF_THREE_PARTS},
    {"model.layers.%u.linear_attn.in_proj_qkvz.weight", "blk.%u.attn_gate.weight", SUNDOG_HF_FOURTH_PARTS},
    {"model.layers.%u.linear_attn.in_proj_ba.weight",   "blk.%u.ssm_ba.weight", SUNDOG_HF_WHOLE},
    {NULL, NULL, SUNDOG_HF_WHOLE},
};

/* Experts are published as joined matrices, and saved as single ones. */
const SundogHfTensor sundog_hf_qwen3_5_tensors[] = {
    DELTA_ROWS,
    {"model.layers.%u.linear_attn.in_proj_qkv.weight", "blk.%u.attn_qkv.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.linear_attn.in_proj_z.weight",   "blk.%u.attn_gate.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.linear_attn.in_proj_b.weight",   "blk.%u.ssm_beta.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.linear_attn.in_proj_a.weight",   "blk.%u.ssm_alpha.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.mlp.experts.gate_up_proj",       "blk.%u.ffn_gate_exps.weight", SUNDOG_HF_FIRST_HALF},
    {"model.layers.%u.mlp.experts.gate_up_proj",       "blk.%u.ffn_up_exps.weight", SUNDOG_HF_SECOND_HALF},
    {"model.layers.%u.mlp.experts.down_proj",          "blk.%u.ffn_down_exps.weight", SUNDOG_HF_WHOLE},
    {NULL, NULL, SUNDOG_HF_WHOLE},
};

const SundogHfKey sundog_hf_qwen3_next_keys[] = {
    {"linear_conv_kernel_dim",  "ssm.conv_kernel"},
    {"linear_key_head_dim",     "ssm.state_size"},
    {"linear_num_key_heads",    "ssm.group_count"},
    {"linear_num_value_heads",  "ssm.time_step_rank"},
    {"full_attention_interval", "full_attention_interval"},
    {NULL, NULL},
};
/* clang-format on */

void
sundog_hf_qwen3_next_read(SundogSource *source, JsonObject *config)
{
    double size = sundog_json_get_number(config, "linear_num_value_heads", 0) *
                  sundog_json_get_number(config, "linear_value_head_dim", 0);
    g_autoptr(JsonNode) in_turn = json_node_init_boolean(json_node_alloc(), false);
    if (size >= 1 && size <= MAX_INNER)
        sundog_source_set_uint(source, "ssm.inner_size", "config.json: linear_num_value_heads",
                               (uint64_t)size);
    sundog_source_set(source, "ssm.tiles_key_heads", "config.json: linear_num_value_heads",
                      in_turn);
    /* Models with experts alone need not say how large an MLP would be. */
    if (!sundog_source_has(source, "feed_forward_length") &&
        sundog_json_has(config, "moe_intermediate_size"))
        sundog_source_set(source, "feed_forward_length", "config.json: moe_intermediate_size",
                          json_object_get_member(config, "moe_intermediate_size"));
}

/* A key head's query and key, then the values and gates of its share of value heads. */
bool
sundog_hf_qwen3_next_groups(JsonObject *config, SundogHfGroups *groups, GError **error)
{
    uint64_t n_keys, n_values, key_dim, value_dim;
    if (!sundog_hf_config_get_size(config, "linear_num_key_heads", &n_keys, error) ||
        !sundog_hf_config_get_size(config, "linear_num_value_heads", &n_values, error) ||
        !sundog_hf_config_get_size(config, "linear_key_head_dim", &key_dim, error) ||
        !sundog_hf_config_get_size(config, "linear_value_head_dim", &value_dim, error))
        return false;
    uint64_t share = n_values / n_keys * value_dim;
    *groups = (SundogHfGroups){.n_groups = n_keys, .parts = {key_dim, key_dim, share, share}};
    return n_values % n_keys == 0 ||
           sundog_error_set(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID,
                            "config.json: linear_num_value_heads is %" G_GUINT64_FORMAT
                            ", expected a multiple of linear_num_key_heads, %" G_GUINT64_FORMAT,
                            n_values, n_keys);
}
