/* Attention over latents. A head's projection of keys is absorbed in its query, and its projection of values
 * follows attention, so that the cache holds one latent a token and all heads share it. */

#include "engine/recipe/components.h"

/* Of the norms of latents, whatever a model's other norms have. Source: transformers' DeepseekV2, DeepseekV3 and
 * what is made of them. */
#define EPSILON 1e-6

/* The query of all heads [n_rows, n_heads key_dim], by way of a vector of its own where the model has
 * one. */
static SundogBufferId
emit_queries(SundogBuilder *builder, SundogBufferId x)
{
    const SundogLatentDimensions *latent = &builder->dimensions->latent;
    const SundogParameter epsilon = {.f = EPSILON};
    int64_t n_columns = (int64_t)builder->dimensions->n_heads * latent->key_dim;
    if (latent->q_rank == 0)
        return sundog_component_linear(builder, x, SUNDOG_TENSOR_ATTENTION_Q, "attention.q",
                                       n_columns);
    SundogBufferId down = sundog_component_linear(builder, x, SUNDOG_TENSOR_ATTENTION_Q_DOWN,
                                                  "attention.q.down", latent->q_rank);
    SundogBufferId norm =
        sundog_builder_temporary(builder, "attention.q.down.norm", latent->q_rank);
    sundog_builder_emit_with(builder, SUNDOG_OP_RMS_NORM, &epsilon, down,
                             sundog_builder_weight(builder, SUNDOG_TENSOR_ATTENTION_Q_DOWN_NORM),
                             norm);
    return sundog_component_linear(builder, norm, SUNDOG_TENSOR_ATTENTION_Q_UP, "attention.q",
                                   n_columns);
}

/* A product a head with its columns of x from `offset` on: [n_rows, n_heads n_columns]. */
static SundogBufferId
emit_by_heads(SundogBuilder *builder, SundogBufferId x, SundogTensorRole role, int64_t offset,
              const char *name, int64_t n_columns)
{
    uint32_t n_heads = builder->dimensions->n_heads;
    const SundogParameter parameters[] = {{.i = n_heads}, {.i = offset}};
    SundogBufferId y = sundog_builder_temporary(builder, name, n_heads * n_columns);
    sundog_builder_emit_with(builder, SUNDOG_OP_LINEAR_HEADS, parameters, x,
                             sundog_builder_weight(builder, role), y, builder->workspace);
    return y;
}

static SundogBufferId
emit_qkv(SundogBuilder *builder, SundogBufferId x)
{
    const SundogModelDimensions *dimensions = builder->dimensions;
    SundogBufferId q = emit_queries(builder, x);
    SundogBufferId absorbed = emit_by_heads(builder, q, SUNDOG_TENSOR_ATTENTION_K_UP, 0,
                                            "attention.absorbed", dimensions->latent.kv_rank);
    SundogBufferId latent = sundog_component_linear(builder, x, SUNDOG_TENSOR_ATTENTION_KV_DOWN,
                                                    "attention.latent", dimensions->head_dim);
    SundogBufferId qkv = sundog_builder_temporary(
        builder, "attention.qkv", (int64_t)(dimensions->n_heads + 2) * dimensions->head_dim);
    const SundogParameter parameters[] = {{.i = dimensions->n_heads},
                                          {.i = 1},
                                          {.i = dimensions->head_dim},
                                          {.i = dimensions->rope.n_dims},
                                          {.f = EPSILON}};
    sundog_builder_emit_with(builder, SUNDOG_OP_LATENT_QKV, parameters, q, absorbed, latent,
                             sundog_builder_weight(builder, SUNDOG_TENSOR_ATTENTION_KV_DOWN_NORM),
                             qkv);
    return qkv;
}

SundogBufferId
sundog_component_latent_attention(SundogBuilder *builder, SundogBufferId x)
{
    const SundogModelDimensions *dimensions = builder->dimensions;
    SundogBufferId o = sundog_component_attend(builder, emit_qkv(builder, x));
    SundogBufferId values =
        emit_by_heads(builder, o, SUNDOG_TENSOR_ATTENTION_V_UP, dimensions->rope.n_dims,
                      "attention.values", dimensions->latent.value_dim);
    return sundog_component_linear(builder, values, SUNDOG_TENSOR_ATTENTION_OUTPUT, "attention.out",
                                   dimensions->hidden_size);
}
