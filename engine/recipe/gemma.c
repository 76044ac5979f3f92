/* The forward pass of Gemma 3. */

#include "engine/recipe/components.h"
#include "engine/recipe/families.h"

static SundogBufferId
emit_layer(SundogBuilder *builder, SundogBufferId x, SundogQkNorm qk_norm)
{
    SundogBufferId y =
        sundog_component_norm(builder, x, SUNDOG_TENSOR_ATTENTION_NORM, "attention.norm");
    y = sundog_component_attention(builder, y, qk_norm);
    y = sundog_component_norm(builder, y, SUNDOG_TENSOR_ATTENTION_POST_NORM, "attention.post_norm");
    x = sundog_component_residual(builder, x, y, "attention.sum");
    y = sundog_component_norm(builder, x, SUNDOG_TENSOR_MLP_NORM, "mlp.norm");
    y = sundog_component_gated_mlp(builder, y, SUNDOG_GATE_GELU_TANH);
    y = sundog_component_norm(builder, y, SUNDOG_TENSOR_MLP_POST_NORM, "mlp.post_norm");
    return sundog_component_residual(builder, x, y, "mlp.sum");
}

void
sundog_gemma3_emit(SundogBuilder *builder)
{
    SundogBufferId x = sundog_component_embedding(builder);
    for (builder->layer = 0; builder->layer < builder->dimensions->n_layers; builder->layer++)
        x = emit_layer(builder, x, SUNDOG_QK_NORM_HEADS);
    sundog_component_head(builder, x);
}
