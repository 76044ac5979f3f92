/* The table of families, and the names of those that differ in few. Source of the names: transformers'
 * modelling files. */

#include "engine/model/hf-family.h"

#include "engine/format/json-members.h"

#include <glib.h>
#include <string.h>

/* clang-format off */
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

static const SundogHfTensor phi_moe_tensors[] = {
    {"lm_head.bias", "output.bias", SUNDOG_HF_WHOLE},
    {NULL, NULL, SUNDOG_HF_WHOLE},
};

static const SundogHfTensor seed_oss_tensors[] = {
    {"model.layers.%u.post_attention_layernorm.weight", "blk.%u.post_attention_norm.weight", SUNDOG_HF_WHOLE},
    {NULL, NULL, SUNDOG_HF_WHOLE},
};

static const SundogHfTensor phi2_tensors[] = {
    {"model.final_layernorm.weight",          "output_norm.weight", SUNDOG_HF_WHOLE},
    {"model.final_layernorm.bias",            "output_norm.bias", SUNDOG_HF_WHOLE},
    {"lm_head.bias",                          "output.bias", SUNDOG_HF_WHOLE},
    {"model.layers.%u.self_attn.dense.weight", "blk.%u.attn_output.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.self_attn.dense.bias",  "blk.%u.attn_output.bias", SUNDOG_HF_WHOLE},
    {"model.layers.%u.mlp.fc1.weight",        "blk.%u.ffn_up.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.mlp.fc1.bias",          "blk.%u.ffn_up.bias", SUNDOG_HF_WHOLE},
    {"model.layers.%u.mlp.fc2.weight",        "blk.%u.ffn_down.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.mlp.fc2.bias",          "blk.%u.ffn_down.bias", SUNDOG_HF_WHOLE},
    {NULL, NULL, SUNDOG_HF_WHOLE},
};

static const SundogHfTensor hunyuan_tensors[] = {
    {"model.layers.%u.self_attn.query_layernorm.weight",   "blk.%u.attn_q_norm.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.self_attn.key_layernorm.weight",     "blk.%u.attn_k_norm.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.mlp.gate.wg.weight",                 "blk.%u.ffn_gate_inp.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.mlp.shared_mlp.gate_proj.weight",    "blk.%u.ffn_gate_shexp.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.mlp.shared_mlp.up_proj.weight",      "blk.%u.ffn_up_shexp.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.mlp.shared_mlp.down_proj.weight",    "blk.%u.ffn_down_shexp.weight", SUNDOG_HF_WHOLE},
    {NULL, NULL, SUNDOG_HF_WHOLE},
};

static const SundogHfTensor ernie_moe_tensors[] = {
    {"model.layers.%u.mlp.moe_statics.e_score_correction_bias", "blk.%u.exp_probs_b.bias", SUNDOG_HF_WHOLE},
    {NULL, NULL, SUNDOG_HF_WHOLE},
};

static const SundogHfTensor qwen3_vl_moe_tensors[] = {
    {"model.layers.%u.mlp.experts.gate_up_proj", "blk.%u.ffn_gate_exps.weight", SUNDOG_HF_FIRST_OUTPUTS},
    {"model.layers.%u.mlp.experts.gate_up_proj", "blk.%u.ffn_up_exps.weight", SUNDOG_HF_LAST_OUTPUTS},
    {"model.layers.%u.mlp.experts.down_proj",    "blk.%u.ffn_down_exps.weight", SUNDOG_HF_OUTPUTS},
    {NULL, NULL, SUNDOG_HF_WHOLE},
};

static const SundogHfTensor starcoder2_tensors[] = {
    {"model.layers.%u.mlp.c_fc.weight",   "blk.%u.ffn_up.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.mlp.c_fc.bias",     "blk.%u.ffn_up.bias", SUNDOG_HF_WHOLE},
    {"model.layers.%u.mlp.c_proj.weight", "blk.%u.ffn_down.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.mlp.c_proj.bias",   "blk.%u.ffn_down.bias", SUNDOG_HF_WHOLE},
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

static const SundogHfKey cohere_keys[] = {
    {"logit_scale", "logit_scale"},
    {NULL, NULL},
};

/* Experts are as large as the MLP would be. */
static const SundogHfKey hunyuan_moe_keys[] = {
    {"moe_topk",          "expert_used_count"},
    {"intermediate_size", "expert_feed_forward_length"},
    {"intermediate_size", "feed_forward_length"},
    {"intermediate_size", "expert_shared_feed_forward_length"},
    {NULL, NULL},
};

static const SundogHfKey ernie_moe_keys[] = {
    {"moe_num_experts",        "expert_count"},
    {"moe_k",                  "expert_used_count"},
    {"moe_num_shared_experts", "expert_shared_count"},
    {"moe_layer_start_index",  "leading_dense_block_count"},
    {"moe_layer_interval",     "interleave_moe_layer_step"},
    {NULL, NULL},
};

static const SundogHfKey minimax_keys[] = {
    {"rotary_dim", "rope.dimension_count"},
    {NULL, NULL},
};

static const SundogHfKey ministral3_keys[] = {
    {"rope_parameters.llama_4_scaling_beta", "attention.temperature_scale"},
    {NULL, NULL},
};

/* A choice's weight counts what is nearer than twice the noise of training. */
static void
read_phi_moe(SundogSource *source, JsonObject *config)
{
    sundog_source_set_float(source, "expert_margin", "config.json: router_jitter_noise",
                            2 * sundog_json_get_number(config, "router_jitter_noise", 0.01));
}

static const SundogHfFamily families[] = {
    {"BambaForCausalLM", "granitehybrid", "silu", sundog_hf_granite_hybrid_keys, sundog_hf_bamba_tensors, sundog_hf_granite_hybrid_read},
    {"BertForSequenceClassification", "bert", "gelu", sundog_hf_bert_keys, sundog_hf_bert_class_tensors, sundog_hf_class_read},
    {"BertModel", "bert", "gelu", sundog_hf_bert_keys, sundog_hf_bert_tensors},
    {"Cohere2ForCausalLM", "cohere2", "silu", cohere_keys, NULL},
    {"CohereForCausalLM", "command-r", "silu", cohere_keys, NULL},
    {"DeepseekV2ForCausalLM", "deepseek2", "silu", NULL, sundog_hf_deepseek_tensors},
    {"DeepseekV3ForCausalLM", "deepseek2", "silu", NULL, sundog_hf_deepseek_tensors},
    {"DeepseekV32ForCausalLM", "deepseek32", "silu", NULL, sundog_hf_deepseek_tensors},
    {"Dots1ForCausalLM", "dots1", "silu", NULL, NULL},
    {"Ernie4_5ForCausalLM", "ernie4_5", "silu", NULL, NULL},
    {"Ernie4_5_MoeForCausalLM", "ernie4_5-moe", "silu", ernie_moe_keys, ernie_moe_tensors},
    {"Exaone4ForCausalLM", "exaone4", "silu", NULL, olmo2_tensors},
    {"FalconForCausalLM", "falcon", "gelu", sundog_hf_falcon_keys, sundog_hf_falcon_tensors, sundog_hf_falcon_read, NULL, sundog_hf_falcon_groups},
    {"FalconH1ForCausalLM", "falcon-h1", "silu", sundog_hf_falcon_h1_keys, sundog_hf_falcon_h1_tensors, sundog_hf_falcon_h1_read, NULL, sundog_hf_falcon_h1_groups},
    {"GPTNeoXForCausalLM", "gptneox", "gelu", sundog_hf_gpt_neox_keys, sundog_hf_gpt_neox_tensors, sundog_hf_gpt_neox_read, NULL, sundog_hf_gpt_neox_groups},
    {"Gemma2ForCausalLM", "gemma2", "gelu_pytorch_tanh", sundog_hf_gemma_keys, sundog_hf_gemma2_tensors},
    {"Gemma3ForCausalLM", "gemma3", "gelu_pytorch_tanh", sundog_hf_gemma_keys, sundog_hf_gemma2_tensors},
    {"Gemma3ForConditionalGeneration", "gemma3", "gelu_pytorch_tanh", sundog_hf_gemma_keys, sundog_hf_gemma2_tensors, NULL, sundog_hf_gemma3_defaults},
    {"Gemma3TextModel", "gemma-embedding", "gelu_pytorch_tanh", NULL, sundog_hf_gemma2_tensors},
    {"Gemma3nForCausalLM", "gemma3n", "gelu_pytorch_tanh", sundog_hf_gemma3n_keys, sundog_hf_gemma3n_tensors, sundog_hf_gemma3n_read, NULL, sundog_hf_gemma3n_groups},
    {"Gemma3nForConditionalGeneration", "gemma3n", "gelu_pytorch_tanh", sundog_hf_gemma3n_keys, sundog_hf_gemma3n_tensors, sundog_hf_gemma3n_read, NULL, sundog_hf_gemma3n_groups},
    {"Gemma4ForCausalLM", "gemma4", "gelu_pytorch_tanh", sundog_hf_gemma4_keys, sundog_hf_gemma4_tensors, sundog_hf_gemma4_read},
    {"Gemma4ForConditionalGeneration", "gemma4", "gelu_pytorch_tanh", sundog_hf_gemma4_keys, sundog_hf_gemma4_tensors, sundog_hf_gemma4_read},
    {"GemmaForCausalLM", "gemma", "gelu_pytorch_tanh", NULL, sundog_hf_gemma_tensors},
    {"Glm4ForCausalLM", "glm4", "silu", NULL, glm4_tensors},
    {"Glm4MoeForCausalLM", "glm4moe", "silu", NULL, glm4_moe_tensors},
    {"Glm4MoeLiteForCausalLM", "deepseek2", "silu", NULL, sundog_hf_deepseek_tensors},
    {"GlmMoeDsaForCausalLM", "glm-dsa", "silu", NULL, sundog_hf_deepseek_tensors},
    {"GptOssForCausalLM", "gpt-oss", "silu", NULL, gpt_oss_tensors},
    {"GraniteForCausalLM", "granite", "silu", sundog_hf_granite_keys, NULL},
    {"GraniteMoeHybridForCausalLM", "granitehybrid", "silu", sundog_hf_granite_hybrid_keys, sundog_hf_granite_hybrid_tensors, sundog_hf_granite_hybrid_read},
    {"GraniteMoeForCausalLM", "granitemoe", "silu", sundog_hf_granite_keys, sundog_hf_granite_moe_tensors},
    {"HunYuanDenseV1ForCausalLM", "hunyuan-dense", "silu", NULL, hunyuan_tensors},
    {"HunYuanMoEV1ForCausalLM", "hunyuan-moe", "silu", hunyuan_moe_keys, hunyuan_tensors},
    {"Lfm2ForCausalLM", "lfm2", "silu", sundog_hf_lfm2_keys, sundog_hf_lfm2_tensors, sundog_hf_lfm2_read},
    {"Lfm2MoeForCausalLM", "lfm2moe", "silu", sundog_hf_lfm2_keys, sundog_hf_lfm2_tensors},
    {"Llama4ForCausalLM", "llama4", "silu", sundog_hf_llama4_keys, sundog_hf_llama4_tensors, sundog_hf_llama4_read},
    {"Llama4ForConditionalGeneration", "llama4", "silu", sundog_hf_llama4_keys, sundog_hf_llama4_tensors, sundog_hf_llama4_read},
    {"LlamaForCausalLM", "llama", "silu", NULL, NULL},
    {"Mamba2ForCausalLM", "mamba2", "silu", sundog_hf_mamba2_keys, sundog_hf_nemotron_h_tensors, sundog_hf_mamba2_read},
    {"MiniMaxM2ForCausalLM", "minimax-m2", "silu", minimax_keys, NULL},
    {"Ministral3ForCausalLM", "mistral3", "silu", ministral3_keys, NULL},
    {"Mistral3ForConditionalGeneration", "mistral3", "silu", ministral3_keys, NULL},
    {"MistralForCausalLM", "llama", "silu", NULL, NULL},
    {"MixtralForCausalLM", "llama", "silu", NULL, NULL},
    {"ModernBertForSequenceClassification", "modern-bert", "gelu", sundog_hf_modern_bert_keys, sundog_hf_modern_bert_tensors, sundog_hf_modern_bert_class_read},
    {"ModernBertModel", "modern-bert", "gelu", sundog_hf_modern_bert_keys, sundog_hf_modern_bert_tensors},
    {"NemotronHForCausalLM", "nemotron_h_moe", "silu", sundog_hf_nemotron_h_keys, sundog_hf_nemotron_h_tensors, sundog_hf_nemotron_h_read},
    {"NomicBertModel", "nomic-bert", "silu", sundog_hf_nomic_bert_keys, sundog_hf_nomic_bert_tensors},
    {"Olmo2ForCausalLM", "olmo2", "silu", NULL, olmo2_tensors},
    {"Olmo3ForCausalLM", "olmo2", "silu", NULL, olmo2_tensors},
    {"OlmoeForCausalLM", "olmoe", "silu", NULL, NULL},
    {"PhiForCausalLM", "phi2", "gelu_new", NULL, phi2_tensors},
    {"Phi3ForCausalLM", "phi3", "silu", NULL, phi3_tensors},
    {"PhiMoEForCausalLM", "phimoe", "silu", NULL, phi_moe_tensors, read_phi_moe},
    {"PhimoeForCausalLM", "phimoe", "silu", NULL, phi_moe_tensors, read_phi_moe},
    {"Qwen2_5_VLForConditionalGeneration", "qwen2vl", "silu", NULL, NULL},
    {"Qwen2ForCausalLM", "qwen2", "silu", NULL, NULL},
    {"Qwen2MoeForCausalLM", "qwen2moe", "silu", NULL, NULL},
    {"Qwen2VLForConditionalGeneration", "qwen2vl", "silu", NULL, NULL},
    {"Qwen3ForCausalLM", "qwen3", "silu", NULL, NULL},
    {"Qwen3ForSequenceClassification", "qwen3", "silu", NULL, sundog_hf_qwen3_class_tensors, sundog_hf_class_read},
    {"Qwen3Model", "qwen3", "silu", NULL, NULL},
    {"Qwen3MoeForCausalLM", "qwen3moe", "silu", NULL, NULL},
    {"Qwen3NextForCausalLM", "qwen3next", "silu", sundog_hf_qwen3_next_keys, sundog_hf_qwen3_next_tensors, sundog_hf_qwen3_next_read, NULL, sundog_hf_qwen3_next_groups, true},
    {"Qwen3VLForConditionalGeneration", "qwen3vl", "silu", NULL, NULL},
    {"Qwen3VLMoeForConditionalGeneration", "qwen3vlmoe", "silu", NULL, qwen3_vl_moe_tensors},
    {"Qwen3_5ForCausalLM", "qwen35", "silu", sundog_hf_qwen3_next_keys, sundog_hf_qwen3_5_tensors, sundog_hf_qwen3_next_read, NULL, NULL, true},
    {"Qwen3_5ForConditionalGeneration", "qwen35", "silu", sundog_hf_qwen3_next_keys, sundog_hf_qwen3_5_tensors, sundog_hf_qwen3_next_read, NULL, NULL, true},
    {"Qwen3_5MoeForCausalLM", "qwen35moe", "silu", sundog_hf_qwen3_next_keys, sundog_hf_qwen3_5_tensors, sundog_hf_qwen3_next_read, NULL, NULL, true},
    {"Qwen3_5MoeForConditionalGeneration", "qwen35moe", "silu", sundog_hf_qwen3_next_keys, sundog_hf_qwen3_5_tensors, sundog_hf_qwen3_next_read, NULL, NULL, true},
    {"RWForCausalLM", "falcon", "gelu", sundog_hf_falcon_keys, sundog_hf_falcon_tensors, sundog_hf_falcon_read, NULL, sundog_hf_falcon_groups},
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
