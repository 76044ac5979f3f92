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
    {"sliding_window",          "attention.sliding_window"},
    {"num_local_experts",       "expert_count"},
    {"num_experts",             "expert_count"},
    {"n_routed_experts",        "expert_count"},
    {"num_experts_per_tok",     "expert_used_count"},
    {"moe_intermediate_size",   "expert_feed_forward_length"},
    {NULL, NULL},
};

const SundogHfTensor sundog_hf_common_tensors[] = {
    {"model.embed_tokens.weight",                       "token_embd.weight"},
    {"model.norm.weight",                               "output_norm.weight"},
    {"lm_head.weight",                                  "output.weight"},
    {"model.layers.%u.input_layernorm.weight",          "blk.%u.attn_norm.weight"},
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
    {"model.layers.%u.mlp.gate_proj.weight",            "blk.%u.ffn_gate.weight"},
    {"model.layers.%u.mlp.up_proj.weight",              "blk.%u.ffn_up.weight"},
    {"model.layers.%u.mlp.down_proj.weight",            "blk.%u.ffn_down.weight"},
    {"model.layers.%u.mlp.gate.weight",                 "blk.%u.ffn_gate_inp.weight"},
    {"model.layers.%u.mlp.experts.%e.gate_proj.weight", "blk.%u.ffn_gate_exps.weight"},
    {"model.layers.%u.mlp.experts.%e.up_proj.weight",   "blk.%u.ffn_up_exps.weight"},
    {"model.layers.%u.mlp.experts.%e.down_proj.weight", "blk.%u.ffn_down_exps.weight"},
    {"model.layers.%u.self_attn.rotary_emb.inv_freq",   NULL},
    {NULL, NULL},
};

static const SundogHfFamily families[] = {
    {"LlamaForCausalLM", "llama", "silu", NULL, NULL},
    {"Qwen2ForCausalLM", "qwen2", "silu", NULL, NULL},
};
/* clang-format on */

const SundogHfFamily *
sundog_hf_family_find(const char *class_name)
{
    for (size_t i = 0; i < G_N_ELEMENTS(families); i++) {
        if (strcmp(families[i].class_name, class_name) == 0)
            return &families[i];
    }
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
