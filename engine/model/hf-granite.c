/* Names of Granite's models, and of others with state spaces. Source: transformers' modelling files. */

#include "engine/model/hf-family.h"

#include <glib.h>

/* clang-format off */
#define GRANITE_EXPERT_ROWS                                                                                             \
    {"model.layers.%u.block_sparse_moe.router.layer.weight",  "blk.%u.ffn_gate_inp.weight", SUNDOG_HF_WHOLE},       \
    {"model.layers.%u.block_sparse_moe.input_linear.weight",  "blk.%u.ffn_gate_exps.weight", SUNDOG_HF_FIRST_HALF}, \
    {"model.layers.%u.block_sparse_moe.input_linear.weight",  "blk.%u.ffn_up_exps.weight", SUNDOG_HF_SECOND_HALF},  \
    {"model.layers.%u.block_sparse_moe.output_linear.weight", "blk.%u.ffn_down_exps.weight", SUNDOG_HF_WHOLE}

const SundogHfTensor sundog_hf_granite_moe_tensors[] = {
    GRANITE_EXPERT_ROWS,
    {NULL, NULL, SUNDOG_HF_WHOLE},
};

#define STATE_SPACE_ROWS(module)                                               \
    STATE_SPACE_ROWS_WITH(module, SUNDOG_HF_CHANNELS)

#define STATE_SPACE_ROWS_WITH(module, channels)                                      \
    {module ".in_proj.weight", "blk.%u.ssm_in.weight", SUNDOG_HF_WHOLE},             \
    {module ".conv1d.weight", "blk.%u.ssm_conv1d.weight", channels},                 \
    {module ".conv1d.bias", "blk.%u.ssm_conv1d.bias", SUNDOG_HF_WHOLE},              \
    {module ".dt_bias", "blk.%u.ssm_dt.bias", SUNDOG_HF_WHOLE},                      \
    {module ".A_log", "blk.%u.ssm_a", SUNDOG_HF_MINUS_EXP},                          \
    {module ".D", "blk.%u.ssm_d", SUNDOG_HF_WHOLE},                                  \
    {module ".norm.weight", "blk.%u.ssm_norm.weight", SUNDOG_HF_WHOLE},             \
    {module ".out_proj.weight", "blk.%u.ssm_out.weight", SUNDOG_HF_WHOLE}

const SundogHfTensor sundog_hf_granite_hybrid_tensors[] = {
    STATE_SPACE_ROWS("model.layers.%u.mamba"),
    GRANITE_EXPERT_ROWS,
    {"model.layers.%u.shared_mlp.input_linear.weight",  "blk.%u.ffn_gate_shexp.weight", SUNDOG_HF_FIRST_HALF},
    {"model.layers.%u.shared_mlp.input_linear.weight",  "blk.%u.ffn_up_shexp.weight", SUNDOG_HF_SECOND_HALF},
    {"model.layers.%u.shared_mlp.output_linear.weight", "blk.%u.ffn_down_shexp.weight", SUNDOG_HF_WHOLE},
    {NULL, NULL, SUNDOG_HF_WHOLE},
};

#define BAMBA_ROWS                                                                                       \
    {"model.final_layernorm.weight",                 "output_norm.weight", SUNDOG_HF_WHOLE},           \
    {"model.layers.%u.pre_ff_layernorm.weight",       "blk.%u.ffn_norm.weight", SUNDOG_HF_WHOLE},       \
    {"model.layers.%u.feed_forward.gate_proj.weight", "blk.%u.ffn_gate.weight", SUNDOG_HF_WHOLE},       \
    {"model.layers.%u.feed_forward.up_proj.weight",   "blk.%u.ffn_up.weight", SUNDOG_HF_WHOLE},         \
    {"model.layers.%u.feed_forward.down_proj.weight", "blk.%u.ffn_down.weight", SUNDOG_HF_WHOLE}

const SundogHfTensor sundog_hf_bamba_tensors[] = {
    STATE_SPACE_ROWS("model.layers.%u.mamba"),
    BAMBA_ROWS,
    {NULL, NULL, SUNDOG_HF_WHOLE},
};

/* What is convolved is scaled first; the convolution's weights are instead, of which there are few. */
const SundogHfTensor sundog_hf_falcon_h1_tensors[] = {
    STATE_SPACE_ROWS_WITH("model.layers.%u.mamba", SUNDOG_HF_SCALED_CHANNELS),
    BAMBA_ROWS,
    {NULL, NULL, SUNDOG_HF_WHOLE},
};

const SundogHfTensor sundog_hf_nemotron_h_tensors[] = {
    {"backbone.embeddings.weight",                           "token_embd.weight", SUNDOG_HF_WHOLE},
    {"backbone.norm_f.weight",                               "output_norm.weight", SUNDOG_HF_WHOLE},
    {"backbone.layers.%u.norm.weight",                       "blk.%u.attn_norm.weight", SUNDOG_HF_WHOLE},
    STATE_SPACE_ROWS("backbone.layers.%u.mixer"),
    {"backbone.layers.%u.mixer.q_proj.weight",               "blk.%u.attn_q.weight", SUNDOG_HF_WHOLE},
    {"backbone.layers.%u.mixer.k_proj.weight",               "blk.%u.attn_k.weight", SUNDOG_HF_WHOLE},
    {"backbone.layers.%u.mixer.v_proj.weight",               "blk.%u.attn_v.weight", SUNDOG_HF_WHOLE},
    {"backbone.layers.%u.mixer.o_proj.weight",               "blk.%u.attn_output.weight", SUNDOG_HF_WHOLE},
    {"backbone.layers.%u.mixer.up_proj.weight",              "blk.%u.ffn_up.weight", SUNDOG_HF_WHOLE},
    {"backbone.layers.%u.mixer.down_proj.weight",            "blk.%u.ffn_down.weight", SUNDOG_HF_WHOLE},
    {"backbone.layers.%u.mixer.gate.weight",                 "blk.%u.ffn_gate_inp.weight", SUNDOG_HF_WHOLE},
    {"backbone.layers.%u.mixer.gate.e_score_correction_bias", "blk.%u.exp_probs_b.bias", SUNDOG_HF_WHOLE},
    {"backbone.layers.%u.mixer.experts.%e.up_proj.weight",   "blk.%u.ffn_up_exps.weight", SUNDOG_HF_WHOLE},
    {"backbone.layers.%u.mixer.experts.%e.down_proj.weight", "blk.%u.ffn_down_exps.weight", SUNDOG_HF_WHOLE},
    {"backbone.layers.%u.mixer.shared_experts.up_proj.weight",   "blk.%u.ffn_up_shexp.weight", SUNDOG_HF_WHOLE},
    {"backbone.layers.%u.mixer.shared_experts.down_proj.weight", "blk.%u.ffn_down_shexp.weight", SUNDOG_HF_WHOLE},
    {NULL, NULL, SUNDOG_HF_WHOLE},
};

const SundogHfKey sundog_hf_granite_keys[] = {
    {"attention_multiplier", "attention.scale"},
    {"embedding_multiplier", "embedding_scale"},
    {"residual_multiplier",  "residual_scale"},
    {"logits_scaling",       "logit_scale"},
    {NULL, NULL},
};

#define STATE_SPACE_KEYS                  \
    {"mamba_d_conv", "ssm.conv_kernel"},    \
    {"mamba_d_state", "ssm.state_size"},    \
    {"mamba_n_groups", "ssm.group_count"},  \
    {"mamba_n_heads", "ssm.time_step_rank"}

const SundogHfKey sundog_hf_granite_hybrid_keys[] = {
    STATE_SPACE_KEYS,
    {"attention_multiplier",     "attention.scale"},
    {"embedding_multiplier",     "embedding_scale"},
    {"residual_multiplier",      "residual_scale"},
    {"logits_scaling",           "logit_scale"},
    {"shared_intermediate_size", "expert_shared_feed_forward_length"},
    {NULL, NULL},
};

const SundogHfKey sundog_hf_falcon_h1_keys[] = {
    STATE_SPACE_KEYS,
    {"attention_in_multiplier",  "attention.input_factor"},
    {"attention_out_multiplier", "attention.output_factor"},
    {"ssm_out_multiplier",       "ssm.output_factor"},
    {"embedding_multiplier",     "embedding_scale"},
    {"lm_head_multiplier",       "logit_scale"},
    {NULL, NULL},
};

const SundogHfKey sundog_hf_mamba2_keys[] = {
    {"conv_kernel",        "ssm.conv_kernel"},
    {"state_size",         "ssm.state_size"},
    {"n_groups",           "ssm.group_count"},
    {"num_heads",          "ssm.time_step_rank"},
    {"layer_norm_epsilon", "attention.layer_norm_rms_epsilon"},
    {NULL, NULL},
};

const SundogHfKey sundog_hf_nemotron_h_keys[] = {
    {"conv_kernel",     "ssm.conv_kernel"},
    {"ssm_state_size",  "ssm.state_size"},
    {"n_groups",        "ssm.group_count"},
    {"mamba_num_heads", "ssm.time_step_rank"},
    {"moe_shared_expert_intermediate_size", "expert_shared_feed_forward_length"},
    {NULL, NULL},
};
/* clang-format on */
