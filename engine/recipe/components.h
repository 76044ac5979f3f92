#pragma once

/*
 * The pieces that families share, each emitting its operations in float32, unfused. x and what is
 * returned are buffers [builder->n_rows, hidden_size] f32 where nothing else is said. Scales and soft
 * caps are the model's dimensions'. Within this house.
 */

#include "engine/recipe/builder.h"
#include "kernels/contract/gate.h"

/* What is normed between the projections of queries and keys and their rotation. */
typedef enum {
    SUNDOG_QK_NORM_NONE,
    SUNDOG_QK_NORM_HEADS, /* each head by itself, with one weight for all */
    SUNDOG_QK_NORM_ROWS,  /* all heads together */
    /* Each head of queries, keys and values, the latter without weight; keys before their norm are the
     * values where the model has no projection for these. Layers may attend to what others cached. */
    SUNDOG_QK_NORM_HEADS_AND_VALUES,
    /* Each head in layers that rotate, without weight. Its makers norm what has been rotated, which is as
     * long as before. */
    SUNDOG_QK_NORM_ROTATED,
    SUNDOG_QK_NORM_AFTER_ROPE, /* each head, with one weight for all, after their rotation */
} SundogQkNorm;

/* The rows of the token embedding. */
SundogBufferId sundog_component_embedding(SundogBuilder *builder);
/* Root mean square norm (Zhang and Sennrich 2019) with the weight of that role, or layer norm (Ba et al.
 * 2016) where the model takes the mean off. */
SundogBufferId sundog_component_norm(SundogBuilder *builder, SundogBufferId x,
                                     SundogTensorRole role, const char *name);
/* The product with the weight of a role: [n_rows, n_columns]. */
SundogBufferId sundog_component_linear(SundogBuilder *builder, SundogBufferId x,
                                       SundogTensorRole role, const char *name, int64_t n_columns);
/* The same plus a bias, where the model has it. */
SundogBufferId sundog_component_biased_linear(SundogBuilder *builder, SundogBufferId x,
                                              SundogTensorRole role, SundogTensorRole bias,
                                              const char *name, int64_t n_columns);
/* W_o attention(W_q x, W_k x, W_v x): grouped queries, causal, paged cache; window and rotary embedding
 * are the layer's. */
SundogBufferId sundog_component_attention(SundogBuilder *builder, SundogBufferId x,
                                          SundogQkNorm norm);
/* Attention alone, of queries, keys and values side by side [n_rows, (n_heads + 2 n_kv_heads) head_dim],
 * which it rotates and whose keys and values it caches: [n_rows, n_heads head_dim]. */
SundogBufferId sundog_component_attend(SundogBuilder *builder, SundogBufferId qkv);
/* The same queries, keys and values where the cache is as exact for all dimensions; for one in 8 bits, with factors
 * between queries and keys that leave their products as they are. Before they are rotated. */
SundogBufferId sundog_component_even_keys(SundogBuilder *builder, SundogBufferId qkv);
/* Attention over latents, with the projections of keys and values absorbed (DeepSeek-AI 2024). */
SundogBufferId sundog_component_latent_attention(SundogBuilder *builder, SundogBufferId x);
/* The short convolution of LFM2, W_out (c * conv(b * h)) with b, c, h = W_in x; the present layer is
 * recurrent. */
SundogBufferId sundog_component_short_conv(SundogBuilder *builder, SundogBufferId x);
/* Linear attention by the gated delta rule (Yang et al. 2024), behind a short convolution; the present
 * layer is recurrent. */
SundogBufferId sundog_component_gated_delta(SundogBuilder *builder, SundogBufferId x);
/* A state space (Dao and Gu 2024), behind a short convolution and before a gate; the present layer is
 * recurrent. */
SundogBufferId sundog_component_state_space(SundogBuilder *builder, SundogBufferId x);
/* Columns [offset, offset + size) of each of n_groups groups of `stride`: [n_rows, n_groups size]. */
SundogBufferId sundog_component_take(SundogBuilder *builder, SundogBufferId x, const char *name,
                                     int64_t stride, int64_t offset, int64_t size,
                                     int64_t n_groups);
/* W_down (f(W_gate x) * W_up x) (Shazeer 2020). */
SundogBufferId sundog_component_gated_mlp(SundogBuilder *builder, SundogBufferId x,
                                          SundogGate function);
/* W_down f(W_up x), each with a bias where the model has one; the relu is squared (So et al. 2021). */
SundogBufferId sundog_component_plain_mlp(SundogBuilder *builder, SundogBufferId x,
                                          SundogGate function);
/* The mixture of experts of x; the present layer has one. */
SundogBufferId sundog_component_experts(SundogBuilder *builder, SundogBufferId x,
                                        SundogGate function);
/* The same where the router sees something else. */
SundogBufferId sundog_component_routed_experts(SundogBuilder *builder, SundogBufferId seen,
                                               SundogBufferId x, SundogGate function);
/* The inputs that all layers have beside the stream, side by side [n_rows, n_layers layer_input_size], and
 * what the present layer makes of x and its own: norm(W_p (gelu(W_g x) * input)). */
SundogBufferId sundog_component_layer_inputs(SundogBuilder *builder, SundogBufferId x);
SundogBufferId sundog_component_layer_input(SundogBuilder *builder, SundogBufferId x,
                                            SundogBufferId inputs);
/* Bytes of workspace a unit that its choice needs. */
size_t sundog_component_experts_workspace_bytes(const SundogModelDimensions *dimensions);
/* The layer's mixture of experts, or the gated MLP where it has none. */
SundogBufferId sundog_component_feed_forward(SundogBuilder *builder, SundogBufferId x,
                                             SundogGate function);
/* norm of rows about their mean (Ba et al. 2016), with a bias where the model has one. */
SundogBufferId sundog_component_layer_norm(SundogBuilder *builder, SundogBufferId x,
                                           SundogTensorRole role, SundogTensorRole bias,
                                           const char *name);
/* The rows that stand for whole texts, and what a model makes of them: output "result" [sequences,
 * n_outputs]. */
void sundog_component_result(SundogBuilder *builder, SundogBufferId x);
/* x [n_rows, n_columns] times a factor; x itself where that is 1. */
SundogBufferId sundog_component_scale(SundogBuilder *builder, SundogBufferId x, double factor,
                                      const char *name, int64_t n_columns);
/* x + y, y scaled where the model says so. */
SundogBufferId sundog_component_residual(SundogBuilder *builder, SundogBufferId x, SundogBufferId y,
                                         const char *name);
/* What a layer that guesses takes in: of the token after a row, and what the step gave for the row, W [norm; norm]
 * (DeepSeek-AI 2024); and its norm and head, of the rows whose logits are wanted: outputs "draft_hidden" and
 * "logits". The present layer is that one. */
SundogBufferId sundog_component_draft_input(SundogBuilder *builder);
void sundog_component_draft_head(SundogBuilder *builder, SundogBufferId x);
/* norm, then the head over the vocabulary, of the rows whose logits are wanted: output "logits". The
 * head is the embedding where the model has none of its own. Of models that do not write text: norm,
 * then the result. */
void sundog_component_head(SundogBuilder *builder, SundogBufferId x);
