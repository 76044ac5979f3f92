/* Settings and tensors of encoders, and of classes that score. Source of the names: transformers' modelling
 * files, and for Nomic BERT the files that its makers published before. */

#include "engine/model/hf-family.h"

#include "engine/format/json-members.h"

#include <string.h>

#define PADDING_POSITIONS 2

/* GGUF's numbers of pooling; the last is that of models that score. */
enum { POOLING_MEAN = 1, POOLING_FIRST = 2, POOLING_RANK = 4 };

/* clang-format off */
const SundogHfKey sundog_hf_bert_keys[] = {
    {"layer_norm_eps", "attention.layer_norm_epsilon"},
    {NULL, NULL},
};

const SundogHfKey sundog_hf_modern_bert_keys[] = {
    {"norm_eps",          "attention.layer_norm_epsilon"},
    {"local_attention",   "attention.sliding_window"},
    {"global_rope_theta", "rope.freq_base"},
    {"local_rope_theta",  "rope.freq_base_swa"},
    {NULL, NULL},
};

const SundogHfKey sundog_hf_nomic_bert_keys[] = {
    {"layer_norm_eps",     "attention.layer_norm_epsilon"},
    {"layer_norm_epsilon", "attention.layer_norm_epsilon"},
    {"n_embd",             "embedding_length"},
    {"n_layer",            "block_count"},
    {"n_head",             "attention.head_count"},
    {"n_inner",            "feed_forward_length"},
    {"n_positions",        "context_length"},
    {"rotary_emb_base",    "rope.freq_base"},
    {NULL, NULL},
};

#define EMBEDDINGS \
    {"embeddings.word_embeddings.weight",       "token_embd.weight",      SUNDOG_HF_WHOLE}, \
    {"embeddings.token_type_embeddings.weight", "token_types.weight",     SUNDOG_HF_WHOLE}, \
    {"embeddings.LayerNorm.weight",             "token_embd_norm.weight", SUNDOG_HF_WHOLE}, \
    {"embeddings.LayerNorm.bias",               "token_embd_norm.bias",   SUNDOG_HF_WHOLE}, \
    {"embeddings.position_ids",                 NULL,                     SUNDOG_HF_WHOLE}, \
    {"embeddings.token_type_ids",               NULL,                     SUNDOG_HF_WHOLE}

#define BERT_LAYERS \
    {"encoder.layer.%u.attention.self.query.weight",       "blk.%u.attn_q.weight",            SUNDOG_HF_WHOLE}, \
    {"encoder.layer.%u.attention.self.query.bias",         "blk.%u.attn_q.bias",              SUNDOG_HF_WHOLE}, \
    {"encoder.layer.%u.attention.self.key.weight",         "blk.%u.attn_k.weight",            SUNDOG_HF_WHOLE}, \
    {"encoder.layer.%u.attention.self.key.bias",           "blk.%u.attn_k.bias",              SUNDOG_HF_WHOLE}, \
    {"encoder.layer.%u.attention.self.value.weight",       "blk.%u.attn_v.weight",            SUNDOG_HF_WHOLE}, \
    {"encoder.layer.%u.attention.self.value.bias",         "blk.%u.attn_v.bias",              SUNDOG_HF_WHOLE}, \
    {"encoder.layer.%u.attention.output.dense.weight",     "blk.%u.attn_output.weight",       SUNDOG_HF_WHOLE}, \
    {"encoder.layer.%u.attention.output.dense.bias",       "blk.%u.attn_output.bias",         SUNDOG_HF_WHOLE}, \
    {"encoder.layer.%u.attention.output.LayerNorm.weight", "blk.%u.attn_output_norm.weight",  SUNDOG_HF_WHOLE}, \
    {"encoder.layer.%u.attention.output.LayerNorm.bias",   "blk.%u.attn_output_norm.bias",    SUNDOG_HF_WHOLE}, \
    {"encoder.layer.%u.intermediate.dense.weight",         "blk.%u.ffn_up.weight",            SUNDOG_HF_WHOLE}, \
    {"encoder.layer.%u.intermediate.dense.bias",           "blk.%u.ffn_up.bias",              SUNDOG_HF_WHOLE}, \
    {"encoder.layer.%u.output.dense.weight",               "blk.%u.ffn_down.weight",          SUNDOG_HF_WHOLE}, \
    {"encoder.layer.%u.output.dense.bias",                 "blk.%u.ffn_down.bias",            SUNDOG_HF_WHOLE}, \
    {"encoder.layer.%u.output.LayerNorm.weight",           "blk.%u.layer_output_norm.weight", SUNDOG_HF_WHOLE}, \
    {"encoder.layer.%u.output.LayerNorm.bias",             "blk.%u.layer_output_norm.bias",   SUNDOG_HF_WHOLE}

/* A dense layer that was trained for another task than embedding, which reads rows before it. */
#define NO_POOLER \
    {"pooler.dense.weight", NULL, SUNDOG_HF_WHOLE}, \
    {"pooler.dense.bias",   NULL, SUNDOG_HF_WHOLE}

const SundogHfTensor sundog_hf_bert_tensors[] = {
    EMBEDDINGS, BERT_LAYERS, NO_POOLER,
    {"embeddings.position_embeddings.weight", "position_embd.weight", SUNDOG_HF_WHOLE},
    {NULL, NULL, SUNDOG_HF_WHOLE},
};

const SundogHfTensor sundog_hf_bert_class_tensors[] = {
    EMBEDDINGS, BERT_LAYERS,
    {"embeddings.position_embeddings.weight", "position_embd.weight", SUNDOG_HF_WHOLE},
    {"pooler.dense.weight", "cls.weight",        SUNDOG_HF_WHOLE},
    {"pooler.dense.bias",   "cls.bias",          SUNDOG_HF_WHOLE},
    {"classifier.weight",   "cls.output.weight", SUNDOG_HF_WHOLE},
    {"classifier.bias",     "cls.output.bias",   SUNDOG_HF_WHOLE},
    {NULL, NULL, SUNDOG_HF_WHOLE},
};

const SundogHfTensor sundog_hf_roberta_tensors[] = {
    EMBEDDINGS, BERT_LAYERS, NO_POOLER,
    {"embeddings.position_embeddings.weight", "position_embd.weight", SUNDOG_HF_FROM_THIRD},
    {"classifier.dense.weight",    "cls.weight",        SUNDOG_HF_WHOLE},
    {"classifier.dense.bias",      "cls.bias",          SUNDOG_HF_WHOLE},
    {"classifier.out_proj.weight", "cls.output.weight", SUNDOG_HF_WHOLE},
    {"classifier.out_proj.bias",   "cls.output.bias",   SUNDOG_HF_WHOLE},
    {NULL, NULL, SUNDOG_HF_WHOLE},
};

const SundogHfTensor sundog_hf_modern_bert_tensors[] = {
    {"model.embeddings.tok_embeddings.weight",  "token_embd.weight",         SUNDOG_HF_WHOLE},
    {"model.embeddings.norm.weight",            "token_embd_norm.weight",    SUNDOG_HF_WHOLE},
    {"model.final_norm.weight",                 "output_norm.weight",        SUNDOG_HF_WHOLE},
    {"model.layers.%u.attn_norm.weight",        "blk.%u.attn_norm.weight",   SUNDOG_HF_WHOLE},
    {"model.layers.%u.attn.Wqkv.weight",        "blk.%u.attn_qkv.weight",    SUNDOG_HF_WHOLE},
    {"model.layers.%u.attn.Wo.weight",          "blk.%u.attn_output.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.mlp_norm.weight",         "blk.%u.ffn_norm.weight",    SUNDOG_HF_WHOLE},
    {"model.layers.%u.mlp.Wi.weight",           "blk.%u.ffn_up.weight",      SUNDOG_HF_WHOLE},
    {"model.layers.%u.mlp.Wo.weight",           "blk.%u.ffn_down.weight",    SUNDOG_HF_WHOLE},
    {"head.dense.weight",                       "cls.weight",                SUNDOG_HF_WHOLE},
    {"head.norm.weight",                        "cls.norm.weight",           SUNDOG_HF_WHOLE},
    {"classifier.weight",                       "cls.output.weight",         SUNDOG_HF_WHOLE},
    {"classifier.bias",                         "cls.output.bias",           SUNDOG_HF_WHOLE},
    {NULL, NULL, SUNDOG_HF_WHOLE},
};

const SundogHfTensor sundog_hf_nomic_bert_tensors[] = {
    EMBEDDINGS, NO_POOLER,
    {"emb_ln.weight",                                "token_embd_norm.weight",          SUNDOG_HF_WHOLE},
    {"emb_ln.bias",                                  "token_embd_norm.bias",            SUNDOG_HF_WHOLE},
    {"encoder.layers.%u.attn.Wqkv.weight",           "blk.%u.attn_qkv.weight",          SUNDOG_HF_WHOLE},
    {"encoder.layers.%u.attn.out_proj.weight",       "blk.%u.attn_output.weight",       SUNDOG_HF_WHOLE},
    {"encoder.layers.%u.mlp.fc11.weight",            "blk.%u.ffn_up.weight",            SUNDOG_HF_WHOLE},
    {"encoder.layers.%u.mlp.fc12.weight",            "blk.%u.ffn_gate.weight",          SUNDOG_HF_WHOLE},
    {"encoder.layers.%u.mlp.fc2.weight",             "blk.%u.ffn_down.weight",          SUNDOG_HF_WHOLE},
    {"encoder.layers.%u.norm1.weight",               "blk.%u.attn_output_norm.weight",  SUNDOG_HF_WHOLE},
    {"encoder.layers.%u.norm1.bias",                 "blk.%u.attn_output_norm.bias",    SUNDOG_HF_WHOLE},
    {"encoder.layers.%u.norm2.weight",               "blk.%u.layer_output_norm.weight", SUNDOG_HF_WHOLE},
    {"encoder.layers.%u.norm2.bias",                 "blk.%u.layer_output_norm.bias",   SUNDOG_HF_WHOLE},
    {"model.layers.%u.post_attention_layernorm.weight", "blk.%u.attn_output_norm.weight",  SUNDOG_HF_WHOLE},
    {"model.layers.%u.post_attention_layernorm.bias",   "blk.%u.attn_output_norm.bias",    SUNDOG_HF_WHOLE},
    {"model.layers.%u.post_mlp_layernorm.weight",       "blk.%u.layer_output_norm.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.post_mlp_layernorm.bias",         "blk.%u.layer_output_norm.bias",   SUNDOG_HF_WHOLE},
    {NULL, NULL, SUNDOG_HF_WHOLE},
};

const SundogHfTensor sundog_hf_qwen3_class_tensors[] = {
    {"score.weight", "cls.output.weight", SUNDOG_HF_WHOLE},
    {NULL, NULL, SUNDOG_HF_WHOLE},
};
/* clang-format on */

void
sundog_hf_roberta_read(SundogSource *source, JsonObject *config)
{
    double n_positions = sundog_json_get_number(config, "max_position_embeddings", 0);
    if (n_positions > PADDING_POSITIONS && n_positions <= UINT32_MAX)
        sundog_source_set_uint(source, "context_length", "config.json: max_position_embeddings",
                               (uint64_t)n_positions - PADDING_POSITIONS);
}

void
sundog_hf_class_read(SundogSource *source, JsonObject *config)
{
    (void)config;
    sundog_source_set_uint(source, "pooling_type", "config.json: architectures", POOLING_RANK);
}

void
sundog_hf_roberta_class_read(SundogSource *source, JsonObject *config)
{
    sundog_hf_roberta_read(source, config);
    sundog_hf_class_read(source, config);
}

void
sundog_hf_modern_bert_class_read(SundogSource *source, JsonObject *config)
{
    bool is_mean = strcmp(sundog_json_get_string(config, "classifier_pooling", "cls"), "mean") == 0;
    sundog_source_set_uint(source, "classifier.pooling_type", "config.json: classifier_pooling",
                           is_mean ? POOLING_MEAN : POOLING_FIRST);
    sundog_hf_class_read(source, config);
}
