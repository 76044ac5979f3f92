#pragma once

/*
 * What a model is, whatever file it came from: dimensions, tensors by role, vocabulary, chat template.
 * Opened from a GGUF file, or from a folder as transformers saves models (config.json, tokenizer.json,
 * safetensors). Every number has been range-checked against the others and against the tensors' shapes
 * before this returns.
 *
 * Immutable after open; safe to share between threads.
 */

#include "engine/format/gguf.h"
#include "engine/format/vocabulary.h"
#include "engine/model/tensor.h"
#include <json-glib/json-glib.h>

typedef enum {
    SUNDOG_ROPE_SCALING_NONE,
    SUNDOG_ROPE_SCALING_LINEAR,
    SUNDOG_ROPE_SCALING_LLAMA3, /* as factors of each frequency, in rope_factors */
    SUNDOG_ROPE_SCALING_YARN,
} SundogRopeScaling;

/* Roles of tensors. X(ROLE, GGUF name; %u is the layer). */
#define SUNDOG_TENSOR_ROLES(X)                                   \
    X(TOKEN_EMBEDDING, "token_embd.weight")                      \
    X(OUTPUT_NORM, "output_norm.weight")                         \
    X(OUTPUT_NORM_BIAS, "output_norm.bias")                      \
    X(EMBEDDING_NORM, "token_embd_norm.weight")                  \
    X(EMBEDDING_NORM_BIAS, "token_embd_norm.bias")               \
    X(POSITION_EMBEDDING, "position_embd.weight")                \
    X(TOKEN_TYPES, "token_types.weight")                         \
    X(POOLED_DENSE_UP, "dense_2.weight")                         \
    X(POOLED_DENSE_DOWN, "dense_3.weight")                       \
    X(CLASS_DENSE, "cls.weight")                                 \
    X(CLASS_DENSE_BIAS, "cls.bias")                              \
    X(CLASS_NORM, "cls.norm.weight")                             \
    X(CLASS_OUTPUT, "cls.output.weight")                         \
    X(CLASS_OUTPUT_BIAS, "cls.output.bias")                      \
    X(ALTUP_IN, "altup_proj.weight")                             \
    X(ALTUP_OUT, "altup_unembd_proj.weight")                     \
    X(OUTPUT, "output.weight")                                   \
    X(OUTPUT_BIAS, "output.bias")                                \
    X(ROPE_FACTORS, "rope_freqs.weight")                         \
    X(ROPE_LONG_FACTORS, "rope_factors_long.weight")             \
    X(ROPE_SHORT_FACTORS, "rope_factors_short.weight")           \
    X(LAYER_INPUTS, "per_layer_token_embd.weight")               \
    X(LAYER_INPUTS_PROJECTION, "per_layer_model_proj.weight")    \
    X(LAYER_INPUTS_NORM, "per_layer_proj_norm.weight")           \
    X(ATTENTION_NORM, "blk.%u.attn_norm.weight")                 \
    X(ATTENTION_NORM_BIAS, "blk.%u.attn_norm.bias")              \
    X(ATTENTION_OWN_NORM, "blk.%u.attn_norm_2.weight")           \
    X(ATTENTION_OWN_NORM_BIAS, "blk.%u.attn_norm_2.bias")        \
    X(ATTENTION_Q, "blk.%u.attn_q.weight")                       \
    X(ATTENTION_K, "blk.%u.attn_k.weight")                       \
    X(ATTENTION_V, "blk.%u.attn_v.weight")                       \
    X(ATTENTION_Q_BIAS, "blk.%u.attn_q.bias")                    \
    X(ATTENTION_K_BIAS, "blk.%u.attn_k.bias")                    \
    X(ATTENTION_V_BIAS, "blk.%u.attn_v.bias")                    \
    X(ATTENTION_Q_DOWN, "blk.%u.attn_q_a.weight")                \
    X(ATTENTION_Q_DOWN_NORM, "blk.%u.attn_q_a_norm.weight")      \
    X(ATTENTION_Q_UP, "blk.%u.attn_q_b.weight")                  \
    X(ATTENTION_KV_DOWN, "blk.%u.attn_kv_a_mqa.weight")          \
    X(ATTENTION_KV_DOWN_NORM, "blk.%u.attn_kv_a_norm.weight")    \
    X(ATTENTION_K_UP, "blk.%u.attn_k_b.weight")                  \
    X(ATTENTION_V_UP, "blk.%u.attn_v_b.weight")                  \
    X(ATTENTION_OUTPUT, "blk.%u.attn_output.weight")             \
    X(ATTENTION_OUTPUT_BIAS, "blk.%u.attn_output.bias")          \
    X(ATTENTION_SUM_NORM, "blk.%u.attn_output_norm.weight")      \
    X(ATTENTION_SUM_NORM_BIAS, "blk.%u.attn_output_norm.bias")   \
    X(ATTENTION_SINKS, "blk.%u.attn_sinks.weight")               \
    X(ATTENTION_Q_NORM, "blk.%u.attn_q_norm.weight")             \
    X(ATTENTION_K_NORM, "blk.%u.attn_k_norm.weight")             \
    X(ATTENTION_POST_NORM, "blk.%u.post_attention_norm.weight")  \
    X(CONV_IN, "blk.%u.shortconv.in_proj.weight")                \
    X(CONV_WEIGHT, "blk.%u.shortconv.conv.weight")               \
    X(CONV_OUT, "blk.%u.shortconv.out_proj.weight")              \
    X(DELTA_QKV, "blk.%u.attn_qkv.weight")                       \
    X(DELTA_GATE, "blk.%u.attn_gate.weight")                     \
    X(STATE_IN, "blk.%u.ssm_in.weight")                          \
    X(STATE_CONV, "blk.%u.ssm_conv1d.weight")                    \
    X(STATE_CONV_BIAS, "blk.%u.ssm_conv1d.bias")                 \
    X(DELTA_BETA_ALPHA, "blk.%u.ssm_ba.weight")                  \
    X(DELTA_BETA, "blk.%u.ssm_beta.weight")                      \
    X(DELTA_ALPHA, "blk.%u.ssm_alpha.weight")                    \
    X(STATE_STEP, "blk.%u.ssm_dt.bias")                          \
    X(STATE_DECAY, "blk.%u.ssm_a")                               \
    X(STATE_SKIP, "blk.%u.ssm_d")                                \
    X(STATE_NORM, "blk.%u.ssm_norm.weight")                      \
    X(STATE_OUT, "blk.%u.ssm_out.weight")                        \
    X(MLP_NORM, "blk.%u.ffn_norm.weight")                        \
    X(MLP_NORM_BIAS, "blk.%u.ffn_norm.bias")                     \
    X(MLP_GATE, "blk.%u.ffn_gate.weight")                        \
    X(MLP_UP, "blk.%u.ffn_up.weight")                            \
    X(MLP_DOWN, "blk.%u.ffn_down.weight")                        \
    X(MLP_UP_BIAS, "blk.%u.ffn_up.bias")                         \
    X(MLP_DOWN_BIAS, "blk.%u.ffn_down.bias")                     \
    X(MLP_SUM_NORM, "blk.%u.layer_output_norm.weight")           \
    X(MLP_SUM_NORM_BIAS, "blk.%u.layer_output_norm.bias")        \
    X(MLP_POST_NORM, "blk.%u.post_ffw_norm.weight")              \
    X(MLP_POST_NORM_1, "blk.%u.post_ffw_norm_1.weight")          \
    X(MLP_NORM_2, "blk.%u.pre_ffw_norm_2.weight")                \
    X(MLP_POST_NORM_2, "blk.%u.post_ffw_norm_2.weight")          \
    X(LAYER_INPUT_GATE, "blk.%u.inp_gate.weight")                \
    X(LAYER_INPUT_PROJECTION, "blk.%u.proj.weight")              \
    X(LAYER_INPUT_NORM, "blk.%u.post_norm.weight")               \
    X(ALTUP_PREDICTION, "blk.%u.altup_predict_coef.weight")      \
    X(ALTUP_CORRECTION, "blk.%u.altup_correct_coef.weight")      \
    X(ALTUP_SCALE, "blk.%u.altup_correct_scale.weight")          \
    X(ALTUP_ROUTER, "blk.%u.altup_router.weight")                \
    X(ALTUP_ROUTER_NORM, "blk.%u.altup_router_norm.weight")      \
    X(LAUREL_LEFT, "blk.%u.laurel_l.weight")                     \
    X(LAUREL_RIGHT, "blk.%u.laurel_r.weight")                    \
    X(LAUREL_NORM, "blk.%u.laurel_post_norm.weight")             \
    X(LAYER_SCALE, "blk.%u.layer_output_scale.weight")           \
    X(ROUTER, "blk.%u.ffn_gate_inp.weight")                      \
    X(ROUTER_NORM, "blk.%u.ffn_gate_inp.scale")                  \
    X(ROUTER_BIAS, "blk.%u.ffn_gate_inp.bias")                   \
    X(EXPERT_BIAS, "blk.%u.exp_probs_b.bias")                    \
    X(EXPERT_GATE, "blk.%u.ffn_gate_exps.weight")                \
    X(EXPERT_UP, "blk.%u.ffn_up_exps.weight")                    \
    X(EXPERT_DOWN, "blk.%u.ffn_down_exps.weight")                \
    X(EXPERT_SCALE, "blk.%u.ffn_down_exps.scale")                \
    X(EXPERT_GATE_BIAS, "blk.%u.ffn_gate_exps.bias")             \
    X(EXPERT_UP_BIAS, "blk.%u.ffn_up_exps.bias")                 \
    X(EXPERT_DOWN_BIAS, "blk.%u.ffn_down_exps.bias")             \
    X(SHARED_GATE, "blk.%u.ffn_gate_shexp.weight")               \
    X(SHARED_UP, "blk.%u.ffn_up_shexp.weight")                   \
    X(SHARED_DOWN, "blk.%u.ffn_down_shexp.weight")               \
    X(SHARED_SCALE, "blk.%u.ffn_gate_inp_shexp.weight")          \
    X(DRAFT_PROJECTION, "blk.%u.nextn.eh_proj.weight")           \
    X(DRAFT_TOKEN_NORM, "blk.%u.nextn.enorm.weight")             \
    X(DRAFT_HIDDEN_NORM, "blk.%u.nextn.hnorm.weight")            \
    X(DRAFT_EMBEDDING, "blk.%u.nextn.embed_tokens.weight")       \
    X(DRAFT_OUTPUT_NORM, "blk.%u.nextn.shared_head_norm.weight") \
    X(DRAFT_OUTPUT, "blk.%u.nextn.shared_head_head.weight")

typedef enum {
#define X(role, name) SUNDOG_TENSOR_##role,
    SUNDOG_TENSOR_ROLES(X)
#undef X
        SUNDOG_N_TENSOR_ROLES
} SundogTensorRole;

#define SUNDOG_TENSOR_NONE SUNDOG_N_TENSOR_ROLES /* a role that no tensor has */

/* A rotary position embedding. */
typedef struct {
    uint32_t n_dims;  /* leading dimensions of a head that are rotated */
    bool interleaved; /* pairs (2i, 2i+1), as GGUF's llama; else (i, i + n_dims/2) */
    double base;
    SundogRopeScaling scaling;
    double factor;
    uint32_t original_context;
    double magnitude; /* of cosine and sine; 0 where the scaling's own formula holds */
    double yarn_fast; /* rotations over the original context above which nothing is interpolated */
    double yarn_slow; /* and below which everything is */
    bool yarn_is_exact; /* the bounds between both are not rounded to whole pairs */
} SundogRope;

/* What may differ from layer to layer. */
typedef struct {
    uint32_t window; /* tokens that a token sees, itself included; 0: all */
    uint32_t chunk;  /* tokens from a multiple of it on that see no others; 0: no such limit */
    const SundogRope *rope; /* NULL where nothing is rotated */
    uint32_t n_kv_heads;
    uint32_t head_dim;
    uint32_t mlp_size;
    uint32_t
        kv_layer; /* whose keys and values it attends to: its own, or those of a layer before it */
    /* Deviations above the mean of its row that a gate must be to count; 0: all count. */
    double sparsity;
    bool is_recurrent; /* has state of fixed size, in place of attention or beside it */
} SundogLayer;

/* Attention over latents (DeepSeek-AI 2024): keys and values are projections of a small vector, which is
 * what the cache holds. Then n_kv_heads is 1, and head_dim what is cached of a token. */
typedef struct {
    uint32_t kv_rank;   /* of that vector; 0: attention is over keys and values */
    uint32_t q_rank;    /* of the vector that queries are projected from; 0: there is none */
    uint32_t key_dim;   /* of a head's query and key: a plain part, then rope.n_dims rotated ones */
    uint32_t value_dim; /* of a head's value */
} SundogLatentDimensions;

/* Layers that keep a state of fixed size in place of keys and values: a short convolution alone, or one
 * before linear attention by the gated delta rule or before a state space (Dao and Gu 2024). */
typedef struct {
    uint32_t conv_width; /* inputs that a convolution sees; 0: no layer is such */
    uint32_t
        n_key_heads; /* of the delta rule, or groups of a state space; 0: only the convolution */
    uint32_t n_value_heads; /* a multiple of n_key_heads */
    uint32_t key_dim;
    uint32_t value_dim;
    bool
        is_tiled; /* value head h has key head h modulo n_key_heads; else each has its share in turn */
    bool is_state_space;
    bool norms_before_gate; /* what a state space gives, where it is normed */
} SundogRecurrentDimensions;

/* What a model is made for. */
typedef enum {
    SUNDOG_PURPOSE_GENERATE, /* writes text */
    SUNDOG_PURPOSE_EMBED,    /* gives a vector for a text */
    SUNDOG_PURPOSE_RERANK,   /* scores how well a document answers a query */
} SundogPurpose;

/* Which row stands for a whole text: the mean of all, that of the first token, or of the last. */
typedef enum { SUNDOG_POOLING_MEAN, SUNDOG_POOLING_FIRST, SUNDOG_POOLING_LAST } SundogPooling;

/* What models have that do not write text. */
typedef struct {
    SundogPurpose purpose;
    SundogPooling pooling;  /* where the purpose is not to write text, as all below */
    uint32_t n_positions;   /* that have a learned vector; 0: they have none */
    uint32_t n_token_types; /* 0: there are none */
    uint32_t dense_size;    /* between two products behind pooling; 0: there are none */
    uint32_t n_outputs;     /* of a vector, or scores of which the first is meant */
} SundogPooledDimensions;

/* What Falcon-H1 multiplies values by on their way through a layer; 1 elsewhere. */
typedef struct {
    double attention_in;
    double attention_out;
    double space_gate; /* of a state space: what goes through its gate, */
    double space_step; /* its steps before their bias, */
    double space_out;  /* and what it gives */
    double mlp_gate;   /* before its function */
    double mlp_out;
} SundogFactors;

/* A mixture of experts in place of the MLP. */
typedef struct {
    uint32_t n_experts;      /* 0: every layer has an MLP, and nothing below means anything */
    uint32_t n_used;         /* by each token */
    uint32_t size;           /* hidden features of one expert, a multiple of 16 */
    uint32_t shared_size;    /* of the expert that every token passes through; 0: there is none */
    uint32_t n_dense_layers; /* from the first on, which have an MLP */
    uint32_t period;         /* of layers, all but the last of which have an MLP */
    uint32_t n_groups;       /* of experts; a token's are taken from the best n_groups_used */
    uint32_t n_groups_used;
    uint32_t group_best; /* how many scores a group's own is the sum of */
    bool is_sigmoid;     /* probabilities by sigmoid, else by softmax */
    bool renormalizes;   /* so that the weights of a token's experts add to 1 */
    bool weighs_inputs;  /* weights are factors of what goes into an expert, of which one is used */
    double scale;        /* of the weights */
    /* Above 0: a choice's weight is its share of those that it leaves and whose logits are within it. */
    double margin;
} SundogExpertDimensions;

typedef struct {
    const char *architecture; /* "llama" */
    const char *name;         /* "SmolLM2 135M Instruct"; never NULL */
    const char *licence;      /* SPDX-like, or NULL */
    uint64_t n_parameters;
    uint32_t n_layers;
    /* Behind them in the file: they guess tokens ahead (Gloeckle et al. 2024; DeepSeek-AI 2024). */
    uint32_t n_draft_layers;
    uint32_t n_vocabulary;
    uint32_t hidden_size;
    uint32_t mlp_size; /* where layers differ, this and the next ones are the greatest */
    uint32_t n_heads;
    uint32_t n_kv_heads;
    uint32_t head_dim;
    double norm_epsilon;
    bool is_bidirectional;    /* tokens see those after them too */
    bool norms_whole_rows;    /* queries and keys, over all heads together; else each head */
    double attention_scale;   /* of queries times keys */
    double attention_softcap; /* of scores; 0 where there is none */
    bool norms_take_mean;     /* off first: layer norms in place of root mean square norms */
    bool
        sums_in_turn; /* the MLP sees what attention has added, in a family where both see the same */
    bool norms_plainly; /* heads of queries and keys that are rotated, without weights */
    /* Queries at position p are multiplied by 1 + beta log(1 + floor((p + offset) / period)); 0: not. */
    double query_scale_beta;
    uint32_t query_scale_period;
    uint32_t query_scale_offset;
    bool scales_unrotated; /* only the queries of layers that rotate nothing */
    double embedding_scale;
    SundogFactors factors;
    double residual_scale; /* of what a layer's halves add */
    double logit_scale;    /* that logits are multiplied by */
    double logit_softcap;  /* 0 where there is none */
    uint32_t
        layer_input_size; /* features a token that each layer takes in beside the stream; 0: none */
    uint32_t
        n_streams; /* of the residual, mixed before each layer and corrected after it; 0: one */
    uint32_t laurel_rank; /* of a low-rank product beside attention; 0: there is none */
    SundogExpertDimensions experts;
    SundogLatentDimensions latent;
    SundogRecurrentDimensions recurrent;
    SundogPooledDimensions pooled;
    bool gates_attention;    /* a head's query is followed by a gate of its result */
    uint32_t context_length; /* what it was trained for, in tokens */
    /* That an indexer chooses to be attended to, of which context_length is no more; 0: there is none. */
    uint32_t chosen_tokens;
    SundogRope rope;
    uint32_t window;        /* of the layers that have one, in tokens; 0 where none has */
    uint32_t chunk;         /* the same of chunks */
    SundogRope window_rope; /* of the layers that have a window, where they rotate otherwise */
    SundogLayer *layers;    /* [n_layers + n_draft_layers] owned; they point into this struct */
} SundogModelDimensions;

typedef struct SundogModel SundogModel;

/* Errors are of SUNDOG_FORMAT_ERROR; UNSUPPORTED where the file is sound but not of a kind known here:
 * a tensor or a setting that no role or dimension stands for is refused rather than left out. */
SundogModel *sundog_model_open(const char *path, GError **error);
/* The vocabulary and chat template alone, from a file that need not hold tensors. */
SundogModel *sundog_model_open_vocabulary(const char *path, GError **error);
/* The whole model over a GGUF file in memory, for tests and fuzzing. Takes a reference. */
SundogModel *sundog_model_new_from_bytes(GBytes *bytes, const char *name, GError **error);
void sundog_model_free(SundogModel *model);

/* NULL where only the vocabulary was opened. */
const SundogModelDimensions *sundog_model_get_dimensions(const SundogModel *model);
const SundogVocabulary *sundog_model_get_vocabulary(const SundogModel *model);
/* Jinja source, or NULL where the model has none. */
const char *sundog_model_get_chat_template(const SundogModel *model);
/* What a model that scores was trained to read, with {query} and {document} in the places of both; NULL
 * where those stand alone. */
const char *sundog_model_get_pair_template(const SundogModel *model);
/* What the makers put before a text that is embedded, by name ("query", "document", …); *usual is the name of
 * the one that is meant where none is named, or NULL. NULL where there are none; owned by the caller, which
 * *usual lives in. */
JsonObject *sundog_model_dup_prompts(const SundogModel *model, const char **usual);
/* How the makers advise to sample: of "temperature", "top_k", "top_p" and "min_p" those that the file
 * states within their ranges, or NULL where it states none; owned by the caller. */
JsonObject *sundog_model_dup_sampling(const SundogModel *model);
/* SHA-256 of the file in hex, of a folder that of all its files one after the other (hf-folder.h says in
 * which order); computed at first call, which reads it all; owned by the model. Fails only where it is
 * cancelled. */
const char *sundog_model_get_sha256(SundogModel *model, GCancellable *cancellable, GError **error);
const char *sundog_model_get_path(const SundogModel *model);
/* Of the file, or of all files of the folder that were opened. */
uint64_t sundog_model_get_file_bytes(const SundogModel *model);
/* What GGUF calls the tensor of a role; owned by the caller. */
char *sundog_model_dup_tensor_name(SundogTensorRole role, uint32_t layer);
/* NULL where the model has no such tensor; layer is ignored for roles without one. Which tensors a model
 * must have, and which it may not, is its recipe's to say. */
const SundogTensor *sundog_model_get_tensor(const SundogModel *model, SundogTensorRole role,
                                            uint32_t layer);
/* True where this layer's MLP is a mixture of experts. */
bool sundog_model_has_experts(const SundogModelDimensions *dimensions, uint32_t layer);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogModel, sundog_model_free)
