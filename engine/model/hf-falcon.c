/* Falcon's and GPT-NeoX's names, and their one matrix of queries, keys and values, which lies by heads.
 * Source: transformers' modelling files. */

#include "engine/model/hf-config.h"
#include "engine/model/hf-family.h"

#include "engine/format/error.h"
#include "engine/format/json-members.h"

#define USUAL_CONTEXT 2048 /* which Falcon's first files do not say */

/* clang-format off */
#define FUSED_ROWS(module)                                                                      \
    {module ".query_key_value.weight", "blk.%u.attn_q.weight", SUNDOG_HF_FIRST_PARTS},        \
    {module ".query_key_value.weight", "blk.%u.attn_k.weight", SUNDOG_HF_SECOND_PARTS},       \
    {module ".query_key_value.weight", "blk.%u.attn_v.weight", SUNDOG_HF_THIRD_PARTS},        \
    {module ".query_key_value.bias",   "blk.%u.attn_q.bias", SUNDOG_HF_FIRST_PARTS},          \
    {module ".query_key_value.bias",   "blk.%u.attn_k.bias", SUNDOG_HF_SECOND_PARTS},         \
    {module ".query_key_value.bias",   "blk.%u.attn_v.bias", SUNDOG_HF_THIRD_PARTS},          \
    {module ".dense.weight",           "blk.%u.attn_output.weight", SUNDOG_HF_WHOLE},         \
    {module ".dense.bias",             "blk.%u.attn_output.bias", SUNDOG_HF_WHOLE}

#define MLP_ROWS(module)                                                            \
    {module ".dense_h_to_4h.weight", "blk.%u.ffn_up.weight", SUNDOG_HF_WHOLE},    \
    {module ".dense_h_to_4h.bias",   "blk.%u.ffn_up.bias", SUNDOG_HF_WHOLE},      \
    {module ".dense_4h_to_h.weight", "blk.%u.ffn_down.weight", SUNDOG_HF_WHOLE},  \
    {module ".dense_4h_to_h.bias",   "blk.%u.ffn_down.bias", SUNDOG_HF_WHOLE}

const SundogHfTensor sundog_hf_falcon_tensors[] = {
    {"transformer.word_embeddings.weight",       "token_embd.weight", SUNDOG_HF_WHOLE},
    {"transformer.ln_f.weight",                  "output_norm.weight", SUNDOG_HF_WHOLE},
    {"transformer.ln_f.bias",                    "output_norm.bias", SUNDOG_HF_WHOLE},
    {"transformer.h.%u.input_layernorm.weight",  "blk.%u.attn_norm.weight", SUNDOG_HF_WHOLE},
    {"transformer.h.%u.input_layernorm.bias",    "blk.%u.attn_norm.bias", SUNDOG_HF_WHOLE},
    {"transformer.h.%u.ln_mlp.weight",           "blk.%u.attn_norm.weight", SUNDOG_HF_WHOLE},
    {"transformer.h.%u.ln_mlp.bias",             "blk.%u.attn_norm.bias", SUNDOG_HF_WHOLE},
    {"transformer.h.%u.ln_attn.weight",          "blk.%u.attn_norm_2.weight", SUNDOG_HF_WHOLE},
    {"transformer.h.%u.ln_attn.bias",            "blk.%u.attn_norm_2.bias", SUNDOG_HF_WHOLE},
    FUSED_ROWS("transformer.h.%u.self_attention"),
    MLP_ROWS("transformer.h.%u.mlp"),
    {NULL, NULL, SUNDOG_HF_WHOLE},
};

/* Older files keep masks and frequencies too. */
const SundogHfTensor sundog_hf_gpt_neox_tensors[] = {
    {"gpt_neox.embed_in.weight",                           "token_embd.weight", SUNDOG_HF_WHOLE},
    {"gpt_neox.final_layer_norm.weight",                   "output_norm.weight", SUNDOG_HF_WHOLE},
    {"gpt_neox.final_layer_norm.bias",                     "output_norm.bias", SUNDOG_HF_WHOLE},
    {"embed_out.weight",                                   "output.weight", SUNDOG_HF_WHOLE},
    {"gpt_neox.layers.%u.input_layernorm.weight",          "blk.%u.attn_norm.weight", SUNDOG_HF_WHOLE},
    {"gpt_neox.layers.%u.input_layernorm.bias",            "blk.%u.attn_norm.bias", SUNDOG_HF_WHOLE},
    {"gpt_neox.layers.%u.post_attention_layernorm.weight", "blk.%u.ffn_norm.weight", SUNDOG_HF_WHOLE},
    {"gpt_neox.layers.%u.post_attention_layernorm.bias",   "blk.%u.ffn_norm.bias", SUNDOG_HF_WHOLE},
    {"gpt_neox.layers.%u.attention.bias",                  NULL, SUNDOG_HF_WHOLE},
    {"gpt_neox.layers.%u.attention.masked_bias",           NULL, SUNDOG_HF_WHOLE},
    {"gpt_neox.layers.%u.attention.rotary_emb.inv_freq",   NULL, SUNDOG_HF_WHOLE},
    FUSED_ROWS("gpt_neox.layers.%u.attention"),
    MLP_ROWS("gpt_neox.layers.%u.mlp"),
    {NULL, NULL, SUNDOG_HF_WHOLE},
};

/* The second name of each is that of Falcon's first files. */
const SundogHfKey sundog_hf_falcon_keys[] = {
    {"num_attention_heads", "attention.head_count"},
    {"n_head",              "attention.head_count"},
    {"num_hidden_layers",   "block_count"},
    {"n_layer",             "block_count"},
    {NULL, NULL},
};

const SundogHfKey sundog_hf_gpt_neox_keys[] = {
    {"use_parallel_residual", "use_parallel_residual"},
    {"rotary_emb_base",       "rope.freq_base"},
    {NULL, NULL},
};
/* clang-format on */

static bool
get_n_heads(JsonObject *config, uint64_t *n_heads, GError **error)
{
    bool is_first = !sundog_json_has(config, "num_attention_heads");
    return sundog_hf_config_get_size(config, is_first ? "n_head" : "num_attention_heads", n_heads,
                                     error);
}

/* Larger models share a key among a few heads, smaller ones among all. */
static bool
get_n_keys(JsonObject *config, uint64_t n_heads, uint64_t *n_keys, GError **error)
{
    bool is_first = !sundog_json_has(config, "num_kv_heads");
    *n_keys = sundog_json_get_bool(config, "multi_query", true) ? 1 : n_heads;
    return !sundog_json_get_bool(config, "new_decoder_architecture", false) ||
           sundog_hf_config_get_size(config, is_first ? "n_head_kv" : "num_kv_heads", n_keys,
                                     error);
}

void
sundog_hf_falcon_read(SundogSource *source, JsonObject *config)
{
    uint64_t n_heads, n_keys, hidden_size, mlp_size;
    if (!sundog_source_has(source, "context_length") &&
        !sundog_json_has(config, "max_position_embeddings"))
        sundog_source_set_uint(source, "context_length", "config.json: max_position_embeddings",
                               USUAL_CONTEXT);
    if (get_n_heads(config, &n_heads, NULL) && get_n_keys(config, n_heads, &n_keys, NULL))
        sundog_source_set_uint(source, "attention.head_count_kv", "config.json: num_kv_heads",
                               n_keys);
    if (!sundog_hf_config_get_size(config, "ffn_hidden_size", &mlp_size, NULL)) {
        sundog_hf_config_get_size(config, "hidden_size", &hidden_size, NULL);
        mlp_size = 4 * hidden_size;
    }
    sundog_source_set_uint(source, "feed_forward_length", "config.json: ffn_hidden_size", mlp_size);
}

/* A quarter of each head is rotated where a file does not say. */
void
sundog_hf_gpt_neox_read(SundogSource *source, JsonObject *config)
{
    uint64_t n_heads, hidden_size;
    JsonObject *rope = sundog_json_get_object(config, "rope_parameters");
    double share = sundog_json_get_number(rope, "partial_rotary_factor",
                                          sundog_json_get_number(config, "rotary_pct", 0.25));
    if (sundog_hf_config_get_size(config, "num_attention_heads", &n_heads, NULL) &&
        sundog_hf_config_get_size(config, "hidden_size", &hidden_size, NULL) && share > 0 &&
        share <= 1)
        sundog_source_set_uint(source, "rope.dimension_count", "config.json: rotary_pct",
                               (uint64_t)(share * (double)(hidden_size / n_heads)));
}

/* A key's queries, itself, and its value. */
static bool
set_groups(JsonObject *config, uint64_t n_heads, uint64_t n_keys, SundogHfGroups *groups,
           GError **error)
{
    uint64_t hidden_size;
    if (!sundog_hf_config_get_size(config, "hidden_size", &hidden_size, error))
        return false;
    uint64_t head_dim = hidden_size / n_heads;
    *groups = (SundogHfGroups){.n_groups = n_keys,
                               .parts = {n_heads / n_keys * head_dim, head_dim, head_dim}};
    return (hidden_size % n_heads == 0 && n_heads % n_keys == 0) ||
           sundog_error_set(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID,
                            "config.json: %" G_GUINT64_FORMAT " features for %" G_GUINT64_FORMAT
                            " heads with %" G_GUINT64_FORMAT
                            " keys, expected a multiple of the next each",
                            hidden_size, n_heads, n_keys);
}

bool
sundog_hf_falcon_groups(JsonObject *config, SundogHfGroups *groups, GError **error)
{
    uint64_t n_heads, n_keys;
    return get_n_heads(config, &n_heads, error) && get_n_keys(config, n_heads, &n_keys, error) &&
           set_groups(config, n_heads, n_keys, groups, error);
}

bool
sundog_hf_gpt_neox_groups(JsonObject *config, SundogHfGroups *groups, GError **error)
{
    uint64_t n_heads;
    return sundog_hf_config_get_size(config, "num_attention_heads", &n_heads, error) &&
           set_groups(config, n_heads, n_heads, groups, error);
}
