/* The table of families, and what they share. Source of the names: transformers' modelling files. */

#include "engine/model/hf-family.h"

#include <glib.h>
#include <string.h>

/* clang-format off */
const SundogHfKey sundog_hf_common_keys[] = {
    {"vocab_size",              "vocab_size"},
    {"num_hidden_layers",       "block_count"},
    {"hidden_size",             "embedding_length"},
    {"intermediate_size",       "feed_forward_length"},
    {"max_position_embeddings", "context_length"},
    {"num_attention_heads",     "attention.head_count"},
    {"num_key_value_heads",     "attention.head_count_kv"},
    {"head_dim",                "attention.key_length"},
    {"head_dim",                "attention.value_length"},
    {"rms_norm_eps",            "attention.layer_norm_rms_epsilon"},
    {"layer_norm_epsilon",      "attention.layer_norm_epsilon"},
    {"layer_norm_eps",          "attention.layer_norm_epsilon"},
    {"norm_epsilon",            "attention.layer_norm_epsilon"},
    {"sliding_window",          "attention.sliding_window"},
    {"kv_lora_rank",            "attention.kv_lora_rank"},
    {"q_lora_rank",             "attention.q_lora_rank"},
    {"num_local_experts",       "expert_count"},
    {"num_experts",             "expert_count"},
    {"n_routed_experts",        "expert_count"},
    {"num_experts_per_tok",     "expert_used_count"},
    {"moe_intermediate_size",   "expert_feed_forward_length"},
    {"shared_expert_intermediate_size", "expert_shared_feed_forward_length"},
    {"n_shared_experts",        "expert_shared_count"},
    {"norm_topk_prob",          "expert_weights_norm"},
    {"routed_scaling_factor",   "expert_weights_scale"},
    {"n_group",                 "expert_group_count"},
    {"topk_group",              "expert_group_used_count"},
    {"first_k_dense_replace",   "leading_dense_block_count"},
    {NULL, NULL},
};

const SundogHfTensor sundog_hf_common_tensors[] = {
    {"model.embed_tokens.weight",                       "token_embd.weight"},
    {"model.norm.weight",                               "output_norm.weight"},
    {"model.norm.bias",                                 "output_norm.bias"},
    {"lm_head.weight",                                  "output.weight"},
    {"model.layers.%u.input_layernorm.weight",          "blk.%u.attn_norm.weight"},
    {"model.layers.%u.input_layernorm.bias",            "blk.%u.attn_norm.bias"},
    {"model.layers.%u.self_attn.q_proj.weight",         "blk.%u.attn_q.weight"},
    {"model.layers.%u.self_attn.k_proj.weight",         "blk.%u.attn_k.weight"},
    {"model.layers.%u.self_attn.v_proj.weight",         "blk.%u.attn_v.weight"},
    {"model.layers.%u.self_attn.q_proj.bias",           "blk.%u.attn_q.bias"},
    {"model.layers.%u.self_attn.k_proj.bias",           "blk.%u.attn_k.bias"},
    {"model.layers.%u.self_attn.v_proj.bias",           "blk.%u.attn_v.bias"},
    {"model.layers.%u.self_attn.o_proj.weight",         "blk.%u.attn_output.weight"},
    {"model.layers.%u.self_attn.o_proj.bias",           "blk.%u.attn_output.bias"},
    {"model.layers.%u.self_attn.q_norm.weight",         "blk.%u.attn_q_norm.weight"},
    {"model.layers.%u.self_attn.k_norm.weight",         "blk.%u.attn_k_norm.weight"},
    {"model.layers.%u.post_attention_layernorm.weight", "blk.%u.ffn_norm.weight"},
    {"model.layers.%u.post_attention_layernorm.bias",   "blk.%u.ffn_norm.bias"},
    {"model.layers.%u.mlp.gate_proj.weight",            "blk.%u.ffn_gate.weight"},
    {"model.layers.%u.mlp.up_proj.weight",              "blk.%u.ffn_up.weight"},
    {"model.layers.%u.mlp.down_proj.weight",            "blk.%u.ffn_down.weight"},
    {"model.layers.%u.mlp.gate.weight",                 "blk.%u.ffn_gate_inp.weight"},
    {"model.layers.%u.mlp.experts.%e.gate_proj.weight", "blk.%u.ffn_gate_exps.weight"},
    {"model.layers.%u.mlp.experts.%e.up_proj.weight",   "blk.%u.ffn_up_exps.weight"},
    {"model.layers.%u.mlp.experts.%e.down_proj.weight", "blk.%u.ffn_down_exps.weight"},
    {"model.layers.%u.mlp.switch_mlp.gate_proj.weight", "blk.%u.ffn_gate_exps.weight"}, /* MLX joins them */
    {"model.layers.%u.mlp.switch_mlp.up_proj.weight",   "blk.%u.ffn_up_exps.weight"},
    {"model.layers.%u.mlp.switch_mlp.down_proj.weight", "blk.%u.ffn_down_exps.weight"},
    {"model.layers.%u.mlp.gate.e_score_correction_bias", "blk.%u.exp_probs_b.bias"},
    {"model.layers.%u.mlp.shared_expert.gate_proj.weight",  "blk.%u.ffn_gate_shexp.weight"},
    {"model.layers.%u.mlp.shared_expert.up_proj.weight",    "blk.%u.ffn_up_shexp.weight"},
    {"model.layers.%u.mlp.shared_expert.down_proj.weight",  "blk.%u.ffn_down_shexp.weight"},
    {"model.layers.%u.mlp.shared_expert_gate.weight",       "blk.%u.ffn_gate_inp_shexp.weight"},
    {"model.layers.%u.mlp.shared_experts.gate_proj.weight", "blk.%u.ffn_gate_shexp.weight"},
    {"model.layers.%u.mlp.shared_experts.up_proj.weight",   "blk.%u.ffn_up_shexp.weight"},
    {"model.layers.%u.mlp.shared_experts.down_proj.weight", "blk.%u.ffn_down_shexp.weight"},
    {"model.layers.%u.block_sparse_moe.gate.weight",         "blk.%u.ffn_gate_inp.weight"},
    {"model.layers.%u.block_sparse_moe.experts.%e.w1.weight", "blk.%u.ffn_gate_exps.weight"},
    {"model.layers.%u.block_sparse_moe.experts.%e.w3.weight", "blk.%u.ffn_up_exps.weight"},
    {"model.layers.%u.block_sparse_moe.experts.%e.w2.weight", "blk.%u.ffn_down_exps.weight"},
    {"model.layers.%u.block_sparse_moe.e_score_correction_bias", "blk.%u.exp_probs_b.bias"},
    {"model.layers.%u.self_attn.rotary_emb.inv_freq",   NULL},
    {NULL, NULL},
};

/* What Gemma's norms and MLP are called, and that their weights are one less than what they do. */
static const SundogHfTensor gemma_tensors[] = {
    {"model.norm.weight",                               "output_norm.weight",     SUNDOG_HF_PLUS_ONE},
    {"model.layers.%u.input_layernorm.weight",          "blk.%u.attn_norm.weight", SUNDOG_HF_PLUS_ONE},
    {"model.layers.%u.post_attention_layernorm.weight", "blk.%u.ffn_norm.weight", SUNDOG_HF_PLUS_ONE},
    {NULL, NULL, SUNDOG_HF_WHOLE},
};

static const SundogHfTensor gemma2_tensors[] = {
    {"model.norm.weight",                                 "output_norm.weight", SUNDOG_HF_PLUS_ONE},
    {"model.layers.%u.input_layernorm.weight",            "blk.%u.attn_norm.weight", SUNDOG_HF_PLUS_ONE},
    {"model.layers.%u.post_attention_layernorm.weight",   "blk.%u.post_attention_norm.weight", SUNDOG_HF_PLUS_ONE},
    {"model.layers.%u.pre_feedforward_layernorm.weight",  "blk.%u.ffn_norm.weight", SUNDOG_HF_PLUS_ONE},
    {"model.layers.%u.post_feedforward_layernorm.weight", "blk.%u.post_ffw_norm.weight", SUNDOG_HF_PLUS_ONE},
    {"model.layers.%u.self_attn.q_norm.weight",           "blk.%u.attn_q_norm.weight", SUNDOG_HF_PLUS_ONE},
    {"model.layers.%u.self_attn.k_norm.weight",           "blk.%u.attn_k_norm.weight", SUNDOG_HF_PLUS_ONE},
    {NULL, NULL, SUNDOG_HF_WHOLE},
};

static const SundogHfTensor gemma4_tensors[] = {
    {"model.embed_tokens_per_layer.weight",               "per_layer_token_embd.weight", SUNDOG_HF_WHOLE},
    {"model.per_layer_model_projection.weight",           "per_layer_model_proj.weight", SUNDOG_HF_WHOLE},
    {"model.per_layer_projection_norm.weight",            "per_layer_proj_norm.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.post_attention_layernorm.weight",   "blk.%u.post_attention_norm.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.pre_feedforward_layernorm.weight",  "blk.%u.ffn_norm.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.post_feedforward_layernorm.weight", "blk.%u.post_ffw_norm.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.per_layer_input_gate.weight",       "blk.%u.inp_gate.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.per_layer_projection.weight",       "blk.%u.proj.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.post_per_layer_input_norm.weight",  "blk.%u.post_norm.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.layer_scalar",                      "blk.%u.layer_output_scale.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.post_feedforward_layernorm_1.weight", "blk.%u.post_ffw_norm_1.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.pre_feedforward_layernorm_2.weight",  "blk.%u.pre_ffw_norm_2.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.post_feedforward_layernorm_2.weight", "blk.%u.post_ffw_norm_2.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.router.proj.weight",                "blk.%u.ffn_gate_inp.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.router.scale",                      "blk.%u.ffn_gate_inp.scale", SUNDOG_HF_WHOLE},
    {"model.layers.%u.router.per_expert_scale",           "blk.%u.ffn_down_exps.scale", SUNDOG_HF_WHOLE},
    {"model.layers.%u.experts.gate_up_proj",              "blk.%u.ffn_gate_exps.weight", SUNDOG_HF_FIRST_HALF},
    {"model.layers.%u.experts.gate_up_proj",              "blk.%u.ffn_up_exps.weight", SUNDOG_HF_SECOND_HALF},
    {"model.layers.%u.experts.down_proj",                 "blk.%u.ffn_down_exps.weight", SUNDOG_HF_WHOLE},
    {NULL, NULL, SUNDOG_HF_WHOLE},
};

static const SundogHfTensor glm4_tensors[] = {
    {"model.layers.%u.post_self_attn_layernorm.weight", "blk.%u.post_attention_norm.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.post_mlp_layernorm.weight",       "blk.%u.post_ffw_norm.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.mlp.gate_up_proj.weight",         "blk.%u.ffn_up.weight", SUNDOG_HF_WHOLE},
    {NULL, NULL, SUNDOG_HF_WHOLE},
};

static const SundogHfTensor olmo2_tensors[] = {
    {"model.layers.%u.post_attention_layernorm.weight",   "blk.%u.post_attention_norm.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.post_feedforward_layernorm.weight", "blk.%u.post_ffw_norm.weight", SUNDOG_HF_WHOLE},
    {NULL, NULL, SUNDOG_HF_WHOLE},
};

static const SundogHfTensor phi3_tensors[] = {
    {"model.layers.%u.self_attn.qkv_proj.weight", "blk.%u.attn_qkv.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.mlp.gate_up_proj.weight",   "blk.%u.ffn_up.weight", SUNDOG_HF_WHOLE},
    {NULL, NULL, SUNDOG_HF_WHOLE},
};

static const SundogHfTensor lfm2_tensors[] = {
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

static const SundogHfTensor seed_oss_tensors[] = {
    {"model.layers.%u.post_attention_layernorm.weight", "blk.%u.post_attention_norm.weight", SUNDOG_HF_WHOLE},
    {NULL, NULL, SUNDOG_HF_WHOLE},
};

static const SundogHfTensor starcoder2_tensors[] = {
    {"model.layers.%u.mlp.c_fc.weight",   "blk.%u.ffn_up.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.mlp.c_fc.bias",     "blk.%u.ffn_up.bias", SUNDOG_HF_WHOLE},
    {"model.layers.%u.mlp.c_proj.weight", "blk.%u.ffn_down.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.mlp.c_proj.bias",   "blk.%u.ffn_down.bias", SUNDOG_HF_WHOLE},
    {NULL, NULL, SUNDOG_HF_WHOLE},
};

static const SundogHfTensor deepseek_tensors[] = {
    {"model.layers.%u.self_attn.q_a_proj.weight",           "blk.%u.attn_q_a.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.self_attn.q_a_layernorm.weight",      "blk.%u.attn_q_a_norm.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.self_attn.q_b_proj.weight",           "blk.%u.attn_q_b.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.self_attn.kv_a_proj_with_mqa.weight", "blk.%u.attn_kv_a_mqa.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.self_attn.kv_a_layernorm.weight",     "blk.%u.attn_kv_a_norm.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.self_attn.kv_b_proj.weight",          "blk.%u.attn_k_b.weight", SUNDOG_HF_KEYS_OF_HEADS},
    {"model.layers.%u.self_attn.kv_b_proj.weight",          "blk.%u.attn_v_b.weight", SUNDOG_HF_VALUES_OF_HEADS},
    {NULL, NULL, SUNDOG_HF_WHOLE},
};

static const SundogHfTensor glm4_moe_tensors[] = {
    {"model.layers.%u.post_attention_layernorm.weight", "blk.%u.post_attention_norm.weight", SUNDOG_HF_WHOLE},
    {NULL, NULL, SUNDOG_HF_WHOLE},
};

static const SundogHfTensor gpt_oss_tensors[] = {
    {"model.layers.%u.post_attention_layernorm.weight",  "blk.%u.post_attention_norm.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.self_attn.sinks",                  "blk.%u.attn_sinks.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.mlp.router.weight",                "blk.%u.ffn_gate_inp.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.mlp.router.bias",                  "blk.%u.ffn_gate_inp.bias", SUNDOG_HF_WHOLE},
    {"model.layers.%u.mlp.experts.gate_up_proj",         "blk.%u.ffn_gate_exps.weight", SUNDOG_HF_EVEN_OUTPUTS},
    {"model.layers.%u.mlp.experts.gate_up_proj",         "blk.%u.ffn_up_exps.weight", SUNDOG_HF_ODD_OUTPUTS},
    {"model.layers.%u.mlp.experts.gate_up_proj_bias",    "blk.%u.ffn_gate_exps.bias", SUNDOG_HF_EVEN_VALUES},
    {"model.layers.%u.mlp.experts.gate_up_proj_bias",    "blk.%u.ffn_up_exps.bias", SUNDOG_HF_ODD_VALUES},
    {"model.layers.%u.mlp.experts.down_proj",            "blk.%u.ffn_down_exps.weight", SUNDOG_HF_OUTPUTS},
    {"model.layers.%u.mlp.experts.down_proj_bias",       "blk.%u.ffn_down_exps.bias", SUNDOG_HF_WHOLE},
    {NULL, NULL, SUNDOG_HF_WHOLE},
};

static const SundogHfTensor llama4_tensors[] = {
    {"model.layers.%u.feed_forward.gate_proj.weight",       "blk.%u.ffn_gate.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.feed_forward.up_proj.weight",         "blk.%u.ffn_up.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.feed_forward.down_proj.weight",       "blk.%u.ffn_down.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.feed_forward.router.weight",          "blk.%u.ffn_gate_inp.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.feed_forward.experts.gate_up_proj",   "blk.%u.ffn_gate_exps.weight", SUNDOG_HF_FIRST_OUTPUTS},
    {"model.layers.%u.feed_forward.experts.gate_up_proj",   "blk.%u.ffn_up_exps.weight", SUNDOG_HF_LAST_OUTPUTS},
    {"model.layers.%u.feed_forward.experts.down_proj",      "blk.%u.ffn_down_exps.weight", SUNDOG_HF_OUTPUTS},
    {"model.layers.%u.feed_forward.shared_expert.gate_proj.weight", "blk.%u.ffn_gate_shexp.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.feed_forward.shared_expert.up_proj.weight",   "blk.%u.ffn_up_shexp.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.feed_forward.shared_expert.down_proj.weight", "blk.%u.ffn_down_shexp.weight", SUNDOG_HF_WHOLE},
    {NULL, NULL, SUNDOG_HF_WHOLE},
};

#define GRANITE_EXPERT_ROWS                                                                                             \
    {"model.layers.%u.block_sparse_moe.router.layer.weight",  "blk.%u.ffn_gate_inp.weight", SUNDOG_HF_WHOLE},       \
    {"model.layers.%u.block_sparse_moe.input_linear.weight",  "blk.%u.ffn_gate_exps.weight", SUNDOG_HF_FIRST_HALF}, \
    {"model.layers.%u.block_sparse_moe.input_linear.weight",  "blk.%u.ffn_up_exps.weight", SUNDOG_HF_SECOND_HALF},  \
    {"model.layers.%u.block_sparse_moe.output_linear.weight", "blk.%u.ffn_down_exps.weight", SUNDOG_HF_WHOLE}

static const SundogHfTensor granite_moe_tensors[] = {
    GRANITE_EXPERT_ROWS,
    {NULL, NULL, SUNDOG_HF_WHOLE},
};

#define STATE_SPACE_ROWS(module)                                                     \
    {module ".in_proj.weight", "blk.%u.ssm_in.weight", SUNDOG_HF_WHOLE},             \
    {module ".conv1d.weight", "blk.%u.ssm_conv1d.weight", SUNDOG_HF_CHANNELS},       \
    {module ".conv1d.bias", "blk.%u.ssm_conv1d.bias", SUNDOG_HF_WHOLE},              \
    {module ".dt_bias", "blk.%u.ssm_dt.bias", SUNDOG_HF_WHOLE},                      \
    {module ".A_log", "blk.%u.ssm_a", SUNDOG_HF_MINUS_EXP},                          \
    {module ".D", "blk.%u.ssm_d", SUNDOG_HF_WHOLE},                                  \
    {module ".norm.weight", "blk.%u.ssm_norm.weight", SUNDOG_HF_WHOLE},             \
    {module ".out_proj.weight", "blk.%u.ssm_out.weight", SUNDOG_HF_WHOLE}

static const SundogHfTensor granite_hybrid_tensors[] = {
    STATE_SPACE_ROWS("model.layers.%u.mamba"),
    GRANITE_EXPERT_ROWS,
    {"model.layers.%u.shared_mlp.input_linear.weight",  "blk.%u.ffn_gate_shexp.weight", SUNDOG_HF_FIRST_HALF},
    {"model.layers.%u.shared_mlp.input_linear.weight",  "blk.%u.ffn_up_shexp.weight", SUNDOG_HF_SECOND_HALF},
    {"model.layers.%u.shared_mlp.output_linear.weight", "blk.%u.ffn_down_shexp.weight", SUNDOG_HF_WHOLE},
    {NULL, NULL, SUNDOG_HF_WHOLE},
};

static const SundogHfTensor bamba_tensors[] = {
    STATE_SPACE_ROWS("model.layers.%u.mamba"),
    {"model.final_layernorm.weight",                 "output_norm.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.pre_ff_layernorm.weight",       "blk.%u.ffn_norm.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.feed_forward.gate_proj.weight", "blk.%u.ffn_gate.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.feed_forward.up_proj.weight",   "blk.%u.ffn_up.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.feed_forward.down_proj.weight", "blk.%u.ffn_down.weight", SUNDOG_HF_WHOLE},
    {NULL, NULL, SUNDOG_HF_WHOLE},
};

static const SundogHfTensor nemotron_h_tensors[] = {
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

static const SundogHfKey gemma_keys[] = {
    {"attn_logit_softcapping",  "attn_logit_softcapping"},
    {"final_logit_softcapping", "final_logit_softcapping"},
    {NULL, NULL},
};

static const SundogHfKey cohere_keys[] = {
    {"logit_scale", "logit_scale"},
    {NULL, NULL},
};

static const SundogHfKey lfm2_keys[] = {
    {"norm_eps",         "attention.layer_norm_rms_epsilon"},
    {"conv_L_cache",     "shortconv.l_cache"},
    {"num_dense_layers", "leading_dense_block_count"},
    {NULL, NULL},
};

static const SundogHfKey minimax_keys[] = {
    {"rotary_dim", "rope.dimension_count"},
    {NULL, NULL},
};

static const SundogHfKey gemma4_keys[] = {
    {"final_logit_softcapping",     "final_logit_softcapping"},
    {"hidden_size_per_layer_input", "embedding_length_per_layer_input"},
    {"num_kv_shared_layers",        "attention.shared_kv_layers"},
    {"top_k_experts",               "expert_used_count"},
    {NULL, NULL},
};

static const SundogHfKey granite_keys[] = {
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

static const SundogHfKey granite_hybrid_keys[] = {
    STATE_SPACE_KEYS,
    {"attention_multiplier",     "attention.scale"},
    {"embedding_multiplier",     "embedding_scale"},
    {"residual_multiplier",      "residual_scale"},
    {"logits_scaling",           "logit_scale"},
    {"shared_intermediate_size", "expert_shared_feed_forward_length"},
    {NULL, NULL},
};

static const SundogHfKey nemotron_h_keys[] = {
    {"conv_kernel",     "ssm.conv_kernel"},
    {"ssm_state_size",  "ssm.state_size"},
    {"n_groups",        "ssm.group_count"},
    {"mamba_num_heads", "ssm.time_step_rank"},
    {"moe_shared_expert_intermediate_size", "expert_shared_feed_forward_length"},
    {NULL, NULL},
};

static const SundogHfKey llama4_keys[] = {
    {"intermediate_size_mlp",     "feed_forward_length"},
    {"intermediate_size",         "expert_feed_forward_length"},
    {"interleave_moe_layer_step", "interleave_moe_layer_step"},
    {"attention_chunk_size",      "attention.chunk_size"},
    {"use_qk_norm",               "attention.norms_heads"},
    {"attn_scale",                "attention.temperature_scale"},
    {"floor_scale",               "attention.temperature_length"},
    {NULL, NULL},
};

static const SundogHfKey ministral3_keys[] = {
    {"rope_parameters.llama_4_scaling_beta", "attention.temperature_scale"},
    {NULL, NULL},
};

static const char gemma3_defaults[] =
    "{\"vocab_size\":262208,\"num_attention_heads\":8,\"num_key_value_heads\":4,\"head_dim\":256,"
    "\"max_position_embeddings\":131072,\"rms_norm_eps\":1e-6,\"query_pre_attn_scalar\":256,"
    "\"sliding_window\":4096,\"rope_theta\":1000000.0}";

static const SundogHfFamily families[] = {
    {"BambaForCausalLM", "granitehybrid", "silu", granite_hybrid_keys, bamba_tensors, sundog_hf_granite_hybrid_read},
    {"BertForSequenceClassification", "bert", "gelu", sundog_hf_bert_keys, sundog_hf_bert_class_tensors, sundog_hf_class_read},
    {"BertModel", "bert", "gelu", sundog_hf_bert_keys, sundog_hf_bert_tensors},
    {"Cohere2ForCausalLM", "cohere2", "silu", cohere_keys, NULL},
    {"CohereForCausalLM", "command-r", "silu", cohere_keys, NULL},
    {"DeepseekV2ForCausalLM", "deepseek2", "silu", NULL, deepseek_tensors},
    {"DeepseekV3ForCausalLM", "deepseek2", "silu", NULL, deepseek_tensors},
    {"Dots1ForCausalLM", "dots1", "silu", NULL, NULL},
    {"Ernie4_5ForCausalLM", "ernie4_5", "silu", NULL, NULL},
    {"Exaone4ForCausalLM", "exaone4", "silu", NULL, olmo2_tensors},
    {"Gemma2ForCausalLM", "gemma2", "gelu_pytorch_tanh", gemma_keys, gemma2_tensors},
    {"Gemma3ForCausalLM", "gemma3", "gelu_pytorch_tanh", gemma_keys, gemma2_tensors},
    {"Gemma3ForConditionalGeneration", "gemma3", "gelu_pytorch_tanh", gemma_keys, gemma2_tensors, NULL, gemma3_defaults},
    {"Gemma3TextModel", "gemma-embedding", "gelu_pytorch_tanh", NULL, gemma2_tensors},
    {"Gemma4ForCausalLM", "gemma4", "gelu_pytorch_tanh", gemma4_keys, gemma4_tensors, sundog_hf_gemma4_read},
    {"Gemma4ForConditionalGeneration", "gemma4", "gelu_pytorch_tanh", gemma4_keys, gemma4_tensors, sundog_hf_gemma4_read},
    {"GemmaForCausalLM", "gemma", "gelu_pytorch_tanh", NULL, gemma_tensors},
    {"Glm4ForCausalLM", "glm4", "silu", NULL, glm4_tensors},
    {"Glm4MoeForCausalLM", "glm4moe", "silu", NULL, glm4_moe_tensors},
    {"Glm4MoeLiteForCausalLM", "deepseek2", "silu", NULL, deepseek_tensors},
    {"GptOssForCausalLM", "gpt-oss", "silu", NULL, gpt_oss_tensors},
    {"GraniteForCausalLM", "granite", "silu", granite_keys, NULL},
    {"GraniteMoeHybridForCausalLM", "granitehybrid", "silu", granite_hybrid_keys, granite_hybrid_tensors, sundog_hf_granite_hybrid_read},
    {"GraniteMoeForCausalLM", "granitemoe", "silu", granite_keys, granite_moe_tensors},
    {"Lfm2ForCausalLM", "lfm2", "silu", lfm2_keys, lfm2_tensors, sundog_hf_lfm2_read},
    {"Lfm2MoeForCausalLM", "lfm2moe", "silu", lfm2_keys, lfm2_tensors},
    {"Llama4ForCausalLM", "llama4", "silu", llama4_keys, llama4_tensors, sundog_hf_llama4_read},
    {"Llama4ForConditionalGeneration", "llama4", "silu", llama4_keys, llama4_tensors, sundog_hf_llama4_read},
    {"LlamaForCausalLM", "llama", "silu", NULL, NULL},
    {"MiniMaxM2ForCausalLM", "minimax-m2", "silu", minimax_keys, NULL},
    {"Ministral3ForCausalLM", "mistral3", "silu", ministral3_keys, NULL},
    {"Mistral3ForConditionalGeneration", "mistral3", "silu", ministral3_keys, NULL},
    {"MistralForCausalLM", "llama", "silu", NULL, NULL},
    {"MixtralForCausalLM", "llama", "silu", NULL, NULL},
    {"ModernBertForSequenceClassification", "modern-bert", "gelu", sundog_hf_modern_bert_keys, sundog_hf_modern_bert_tensors, sundog_hf_modern_bert_class_read},
    {"ModernBertModel", "modern-bert", "gelu", sundog_hf_modern_bert_keys, sundog_hf_modern_bert_tensors},
    {"NemotronHForCausalLM", "nemotron_h_moe", "silu", nemotron_h_keys, nemotron_h_tensors, sundog_hf_nemotron_h_read},
    {"NomicBertModel", "nomic-bert", "silu", sundog_hf_nomic_bert_keys, sundog_hf_nomic_bert_tensors},
    {"Olmo2ForCausalLM", "olmo2", "silu", NULL, olmo2_tensors},
    {"Olmo3ForCausalLM", "olmo2", "silu", NULL, olmo2_tensors},
    {"OlmoeForCausalLM", "olmoe", "silu", NULL, NULL},
    {"Phi3ForCausalLM", "phi3", "silu", NULL, phi3_tensors},
    {"Qwen2_5_VLForConditionalGeneration", "qwen2vl", "silu", NULL, NULL},
    {"Qwen2ForCausalLM", "qwen2", "silu", NULL, NULL},
    {"Qwen2MoeForCausalLM", "qwen2moe", "silu", NULL, NULL},
    {"Qwen2VLForConditionalGeneration", "qwen2vl", "silu", NULL, NULL},
    {"Qwen3ForCausalLM", "qwen3", "silu", NULL, NULL},
    {"Qwen3ForSequenceClassification", "qwen3", "silu", NULL, sundog_hf_qwen3_class_tensors, sundog_hf_class_read},
    {"Qwen3Model", "qwen3", "silu", NULL, NULL},
    {"Qwen3MoeForCausalLM", "qwen3moe", "silu", NULL, NULL},
    {"Qwen3VLForConditionalGeneration", "qwen3vl", "silu", NULL, NULL},
    {"RobertaModel", "bert", "gelu", sundog_hf_bert_keys, sundog_hf_roberta_tensors, sundog_hf_roberta_read},
    {"SeedOssForCausalLM", "seed_oss", "silu", NULL, seed_oss_tensors},
    {"SmolLM3ForCausalLM", "smollm3", "silu", NULL, NULL},
    {"StableLmForCausalLM", "stablelm", "silu", NULL, NULL},
    {"Starcoder2ForCausalLM", "starcoder2", "gelu_pytorch_tanh", NULL, starcoder2_tensors},
    {"XLMRobertaForSequenceClassification", "bert", "gelu", sundog_hf_bert_keys, sundog_hf_roberta_tensors, sundog_hf_roberta_class_read},
    {"XLMRobertaModel", "bert", "gelu", sundog_hf_bert_keys, sundog_hf_roberta_tensors, sundog_hf_roberta_read},
};
/* clang-format on */

const SundogHfFamily *
sundog_hf_family_find(const char *class_name)
{
    for (size_t i = 0; i < G_N_ELEMENTS(families); i++)
        if (strcmp(families[i].class_name, class_name) == 0)
            return &families[i];
    return NULL;
}

char *
sundog_hf_family_dup_known(void)
{
    g_autoptr(GString) known = g_string_new(NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(families); i++)
        g_string_append_printf(known, "%s%s", i > 0 ? ", " : "", families[i].class_name);
    return g_string_free(g_steal_pointer(&known), FALSE);
}
