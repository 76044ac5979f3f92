/* The forward pass of Llama and of those that differ from it in settings or by norms of heads. */

#include "engine/recipe/components.h"
#include "engine/recipe/families.h"

static SundogBufferId
emit_layer(SundogBuilder *builder, SundogBufferId x, SundogQkNorm qk_norm)
{
    SundogBufferId y =
        sundog_component_norm(builder, x, SUNDOG_TENSOR_ATTENTION_NORM, "attention.norm");
    y = sundog_component_attention(builder, y, qk_norm);
    x = sundog_component_residual(builder, x, y, "attention.sum");
    y = sundog_component_norm(builder, x, SUNDOG_TENSOR_MLP_NORM, "mlp.norm");
    y = sundog_component_feed_forward(builder, y, SUNDOG_GATE_SILU);
    return sundog_component_residual(builder, x, y, "mlp.sum");
}

static void
emit(SundogBuilder *builder, SundogQkNorm qk_norm)
{
    SundogBufferId x = sundog_component_embedding(builder);
    for (builder->layer = 0; builder->layer < builder->dimensions->n_layers; builder->layer++)
        x = emit_layer(builder, x, qk_norm);
    sundog_component_head(builder, x);
}

void
sundog_llama_emit(SundogBuilder *builder)
{
    emit(builder, SUNDOG_QK_NORM_NONE);
}

void
sundog_qwen3_emit(SundogBuilder *builder)
{
    emit(builder, SUNDOG_QK_NORM_HEADS);
}
