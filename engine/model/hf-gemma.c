/* Gemma's names. Source: transformers' modelling files. */

#include "engine/model/hf-family.h"

#include <glib.h>

/* clang-format off */
/* What Gemma's norms and MLP are called, and that their weights are one less than what they do. */
const SundogHfTensor sundog_hf_gemma_tensors[] = {
    {"model.norm.weight",                               "output_norm.weight",     SUNDOG_HF_PLUS_ONE},
    {"model.layers.%u.input_layernorm.weight",          "blk.%u.attn_norm.weight", SUNDOG_HF_PLUS_ONE},
    {"model.layers.%u.post_attention_layernorm.weight", "blk.%u.ffn_norm.weight", SUNDOG_HF_PLUS_ONE},
    {NULL, NULL, SUNDOG_HF_WHOLE},
};

const SundogHfTensor sundog_hf_gemma2_tensors[] = {
    {"model.norm.weight",                                 "output_norm.weight", SUNDOG_HF_PLUS_ONE},
    {"model.layers.%u.input_layernorm.weight",            "blk.%u.attn_norm.weight", SUNDOG_HF_PLUS_ONE},
    {"model.layers.%u.post_attention_layernorm.weight",   "blk.%u.post_attention_norm.weight", SUNDOG_HF_PLUS_ONE},
    {"model.layers.%u.pre_feedforward_layernorm.weight",  "blk.%u.ffn_norm.weight", SUNDOG_HF_PLUS_ONE},
    {"model.layers.%u.post_feedforward_layernorm.weight", "blk.%u.post_ffw_norm.weight", SUNDOG_HF_PLUS_ONE},
    {"model.layers.%u.self_attn.q_norm.weight",           "blk.%u.attn_q_norm.weight", SUNDOG_HF_PLUS_ONE},
    {"model.layers.%u.self_attn.k_norm.weight",           "blk.%u.attn_k_norm.weight", SUNDOG_HF_PLUS_ONE},
    {NULL, NULL, SUNDOG_HF_WHOLE},
};

const SundogHfTensor sundog_hf_gemma4_tensors[] = {
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

const SundogHfTensor sundog_hf_gemma3n_tensors[] = {
    {"model.embed_tokens_per_layer.weight",               "per_layer_token_embd.weight", SUNDOG_HF_PADDED_ROWS},
    {"model.per_layer_model_projection.weight",           "per_layer_model_proj.weight", SUNDOG_HF_WHOLE},
    {"model.per_layer_projection_norm.weight",            "per_layer_proj_norm.weight", SUNDOG_HF_WHOLE},
    {"model.altup_projections.%e.weight",                 "altup_proj.weight", SUNDOG_HF_WHOLE},
    {"model.altup_unembed_projections.%e.weight",         "altup_unembd_proj.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.altup.correct_output_scale",        "blk.%u.altup_correct_scale.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.altup.correction_coefs.weight",     "blk.%u.altup_correct_coef.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.altup.prediction_coefs.weight",     "blk.%u.altup_predict_coef.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.altup.modality_router.weight",      "blk.%u.altup_router.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.altup.router_norm.weight",          "blk.%u.altup_router_norm.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.laurel.linear_left.weight",         "blk.%u.laurel_l.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.laurel.linear_right.weight",        "blk.%u.laurel_r.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.laurel.post_laurel_norm.weight",    "blk.%u.laurel_post_norm.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.post_attention_layernorm.weight",   "blk.%u.post_attention_norm.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.pre_feedforward_layernorm.weight",  "blk.%u.ffn_norm.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.post_feedforward_layernorm.weight", "blk.%u.post_ffw_norm.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.per_layer_input_gate.weight",       "blk.%u.inp_gate.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.per_layer_projection.weight",       "blk.%u.proj.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.post_per_layer_input_norm.weight",  "blk.%u.post_norm.weight", SUNDOG_HF_WHOLE},
    {NULL, NULL, SUNDOG_HF_WHOLE},
};

const SundogHfKey sundog_hf_gemma_keys[] = {
    {"attn_logit_softcapping",  "attn_logit_softcapping"},
    {"final_logit_softcapping", "final_logit_softcapping"},
    {NULL, NULL},
};

const SundogHfKey sundog_hf_gemma3n_keys[] = {
    {"final_logit_softcapping",     "final_logit_softcapping"},
    {"hidden_size_per_layer_input", "embedding_length_per_layer_input"},
    {"num_kv_shared_layers",        "attention.shared_kv_layers"},
    {"altup_num_inputs",            "altup.num_inputs"},
    {"altup_active_idx",            "altup.active_idx"},
    {"laurel_rank",                 "laurel.rank"},
    {NULL, NULL},
};

const SundogHfKey sundog_hf_gemma4_keys[] = {
    {"final_logit_softcapping",     "final_logit_softcapping"},
    {"hidden_size_per_layer_input", "embedding_length_per_layer_input"},
    {"num_kv_shared_layers",        "attention.shared_kv_layers"},
    {"top_k_experts",               "expert_used_count"},
    {NULL, NULL},
};
/* clang-format on */

const char sundog_hf_gemma3_defaults[] =
    "{\"vocab_size\":262208,\"num_attention_heads\":8,\"num_key_value_heads\":4,\"head_dim\":256,"
    "\"max_position_embeddings\":131072,\"rms_norm_eps\":1e-6,\"query_pre_attn_scalar\":256,"
    "\"sliding_window\":4096,\"rope_theta\":1000000.0}";
