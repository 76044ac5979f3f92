#pragma once

/*
 * The pieces that families share, each emitting its operations in float32, unfused. x and what is
 * returned are buffers [builder->n_rows, hidden_size] f32. Within this house.
 */

#include "engine/recipe/builder.h"

/* The rows of the token embedding. */
SundogBufferId sundog_component_embedding(SundogBuilder *builder);
/* Root mean square norm (Zhang and Sennrich 2019) with the weight of that role. */
SundogBufferId sundog_component_norm(SundogBuilder *builder, SundogBufferId x,
                                     SundogTensorRole role, const char *name);
/* x + W_o attention(W_q, W_k, W_v of norm(x)): grouped queries, rotary, causal, paged cache. */
SundogBufferId sundog_component_attention(SundogBuilder *builder, SundogBufferId x);
/* x + W_down (silu(W_gate n) * W_up n), n = norm(x) (Shazeer 2020). */
SundogBufferId sundog_component_gated_mlp(SundogBuilder *builder, SundogBufferId x);
/* norm, then the head over the vocabulary, of the rows whose logits are wanted: output "logits". The
 * head is the embedding where the model has none of its own. */
void sundog_component_head(SundogBuilder *builder, SundogBufferId x);
