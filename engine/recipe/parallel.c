/* The forward pass of families whose attention and MLP take the same norm and are added together: Cohere's
 * and Phi-2's. */

#include "engine/recipe/components.h"
#include "engine/recipe/families.h"

typedef SundogBufferId (*EmitMlp)(SundogBuilder *builder, SundogBufferId x);

static SundogBufferId
emit_layer(SundogBuilder *builder, SundogBufferId x, EmitMlp emit_mlp)
{
    SundogBufferId norm = sundog_component_norm(builder, x, SUNDOG_TENSOR_ATTENTION_NORM, "norm");
    SundogBufferId y = sundog_component_attention(builder, norm, SUNDOG_QK_NORM_NONE);
    x = sundog_component_residual(builder, x, y, "attention.sum");
    return sundog_component_residual(builder, x, emit_mlp(builder, norm), "mlp.sum");
}

static void
emit(SundogBuilder *builder, EmitMlp emit_mlp)
{
    SundogBufferId x = sundog_component_embedding(builder);
    for (builder->layer = 0; builder->layer < builder->dimensions->n_layers; builder->layer++)
        x = emit_layer(builder, x, emit_mlp);
    sundog_component_head(builder, x);
}

static SundogBufferId
emit_gated(SundogBuilder *builder, SundogBufferId x)
{
    return sundog_component_gated_mlp(builder, x, SUNDOG_GATE_SILU);
}

static SundogBufferId
emit_plain(SundogBuilder *builder, SundogBufferId x)
{
    return sundog_component_plain_mlp(builder, x, SUNDOG_GATE_GELU_TANH);
}

void
sundog_cohere2_emit(SundogBuilder *builder)
{
    emit(builder, emit_gated);
}

void
sundog_phi2_emit(SundogBuilder *builder)
{
    emit(builder, emit_plain);
}
