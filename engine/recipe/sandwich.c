/* The forward pass of families that norm what each half of a layer adds: Gemma 2 and 3 and GLM-4, which
 * norm what it takes as well, and OLMo 2 and EXAONE 4, which do not. */

#include "engine/recipe/components.h"
#include "engine/recipe/families.h"

typedef struct {
    bool norms_before;
    SundogQkNorm qk_norm;
    SundogGate gate;
} Style;

static SundogBufferId
norm_before(SundogBuilder *builder, SundogBufferId x, const Style *style, SundogTensorRole role,
            const char *name)
{
    return style->norms_before ? sundog_component_norm(builder, x, role, name) : x;
}

static SundogBufferId
emit_layer(SundogBuilder *builder, SundogBufferId x, const Style *style)
{
    SundogBufferId y =
        norm_before(builder, x, style, SUNDOG_TENSOR_ATTENTION_NORM, "attention.norm");
    y = sundog_component_attention(builder, y, style->qk_norm);
    y = sundog_component_norm(builder, y, SUNDOG_TENSOR_ATTENTION_POST_NORM, "attention.post_norm");
    x = sundog_component_residual(builder, x, y, "attention.sum");
    y = norm_before(builder, x, style, SUNDOG_TENSOR_MLP_NORM, "mlp.norm");
    y = sundog_component_gated_mlp(builder, y, style->gate);
    y = sundog_component_norm(builder, y, SUNDOG_TENSOR_MLP_POST_NORM, "mlp.post_norm");
    return sundog_component_residual(builder, x, y, "mlp.sum");
}

static void
emit(SundogBuilder *builder, const Style *style)
{
    SundogBufferId x = sundog_component_embedding(builder);
    for (builder->layer = 0; builder->layer < builder->dimensions->n_layers; builder->layer++)
        x = emit_layer(builder, x, style);
    sundog_component_head(builder, x);
}

void
sundog_gemma2_emit(SundogBuilder *builder)
{
    emit(builder, &(Style){.norms_before = true, .gate = SUNDOG_GATE_GELU_TANH});
}

void
sundog_gemma3_emit(SundogBuilder *builder)
{
    emit(builder, &(Style){.norms_before = true,
                           .qk_norm = SUNDOG_QK_NORM_HEADS,
                           .gate = SUNDOG_GATE_GELU_TANH});
}

void
sundog_exaone4_emit(SundogBuilder *builder)
{
    emit(builder, &(Style){.qk_norm = SUNDOG_QK_NORM_HEADS});
}

void
sundog_glm4_emit(SundogBuilder *builder)
{
    emit(builder, &(Style){.norms_before = true});
}

void
sundog_olmo2_emit(SundogBuilder *builder)
{
    emit(builder, &(Style){.qk_norm = SUNDOG_QK_NORM_ROWS});
}
