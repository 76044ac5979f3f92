/* The forward pass of families whose attention and MLP see the same and are added together: Cohere's, Phi-2's,
 * Falcon's and GPT-NeoX's. */

#include "engine/recipe/components.h"
#include "engine/recipe/families.h"

/* Which norms attention and MLP see x through, and the MLP itself. */
typedef struct {
    SundogTensorRole attention_norm;
    SundogTensorRole mlp_norm;
    SundogBufferId (*emit_mlp)(SundogBuilder *builder, SundogBufferId x);
} Style;

static SundogBufferId
emit_layer(SundogBuilder *builder, SundogBufferId x, const Style *style)
{
    bool in_turn = builder->dimensions->sums_in_turn;
    SundogBufferId seen = sundog_component_norm(builder, x, style->attention_norm, "norm");
    SundogBufferId y = sundog_component_attention(builder, seen, SUNDOG_QK_NORM_NONE);
    SundogBufferId sum = sundog_component_residual(builder, x, y, "attention.sum");
    if (in_turn || style->mlp_norm != style->attention_norm)
        seen = sundog_component_norm(builder, in_turn ? sum : x, style->mlp_norm, "mlp.norm");
    return sundog_component_residual(builder, sum, style->emit_mlp(builder, seen), "mlp.sum");
}

static void
emit(SundogBuilder *builder, const Style *style)
{
    SundogBufferId x = sundog_component_embedding(builder);
    for (builder->layer = 0; builder->layer < builder->dimensions->n_layers; builder->layer++)
        x = emit_layer(builder, x, style);
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

static SundogBufferId
emit_exact(SundogBuilder *builder, SundogBufferId x)
{
    return sundog_component_plain_mlp(builder, x, SUNDOG_GATE_GELU);
}

void
sundog_cohere2_emit(SundogBuilder *builder)
{
    emit(builder, &(Style){SUNDOG_TENSOR_ATTENTION_NORM, SUNDOG_TENSOR_ATTENTION_NORM, emit_gated});
}

void
sundog_phi2_emit(SundogBuilder *builder)
{
    emit(builder, &(Style){SUNDOG_TENSOR_ATTENTION_NORM, SUNDOG_TENSOR_ATTENTION_NORM, emit_plain});
}

void
sundog_falcon_emit(SundogBuilder *builder)
{
    bool has_own =
        sundog_model_get_tensor(builder->model, SUNDOG_TENSOR_ATTENTION_OWN_NORM, 0) != NULL;
    emit(builder,
         &(Style){has_own ? SUNDOG_TENSOR_ATTENTION_OWN_NORM : SUNDOG_TENSOR_ATTENTION_NORM,
                  SUNDOG_TENSOR_ATTENTION_NORM, emit_exact});
}

void
sundog_gpt_neox_emit(SundogBuilder *builder)
{
    emit(builder, &(Style){SUNDOG_TENSOR_ATTENTION_NORM, SUNDOG_TENSOR_MLP_NORM, emit_exact});
}
