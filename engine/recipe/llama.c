/* The forward pass of Llama and of those that differ from it in settings or by norms of heads. */

#include "engine/recipe/components.h"
#include "engine/recipe/families.h"

/* What the families of this file differ in, beside their settings. */
typedef struct {
    SundogQkNorm qk_norm;
    bool is_latent;     /* attention over latents */
    bool has_plain_mlp; /* without a gate */
    SundogTensorRole mlp_norm;
    SundogGate gate;
} Style;

/* What mixes the tokens of a layer. */
static SundogBufferId
emit_mixer(SundogBuilder *builder, SundogBufferId x, const Style *style)
{
    if (style->is_latent)
        return sundog_component_latent_attention(builder, x);
    if (!sundog_builder_layer(builder)->is_recurrent)
        return sundog_component_attention(builder, x, style->qk_norm);
    if (builder->dimensions->recurrent.is_state_space)
        return sundog_component_state_space(builder, x);
    return builder->dimensions->recurrent.n_value_heads > 0
               ? sundog_component_gated_delta(builder, x)
               : sundog_component_short_conv(builder, x);
}

static SundogBufferId
emit_layer(SundogBuilder *builder, SundogBufferId x, const Style *style)
{
    SundogBufferId y =
        sundog_component_norm(builder, x, SUNDOG_TENSOR_ATTENTION_NORM, "attention.norm");
    y = emit_mixer(builder, y, style);
    x = sundog_component_residual(builder, x, y, "attention.sum");
    y = sundog_component_norm(builder, x, style->mlp_norm, "mlp.norm");
    y = style->has_plain_mlp ? sundog_component_plain_mlp(builder, y, style->gate)
                             : sundog_component_feed_forward(builder, y, style->gate);
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

/* The layer that guesses, between what makes its input and the head. */
static void
emit_draft(SundogBuilder *builder, const Style *style)
{
    SundogBufferId x = sundog_component_draft_input(builder);
    sundog_component_draft_head(builder, emit_layer(builder, x, style));
}

void
sundog_llama_emit(SundogBuilder *builder)
{
    emit(builder, &(Style){.mlp_norm = SUNDOG_TENSOR_MLP_NORM});
}

void
sundog_llama4_emit(SundogBuilder *builder)
{
    Style style = {.mlp_norm = SUNDOG_TENSOR_MLP_NORM};
    if (builder->dimensions->norms_plainly)
        style.qk_norm = SUNDOG_QK_NORM_ROTATED;
    emit(builder, &style);
}

void
sundog_seed_oss_emit(SundogBuilder *builder)
{
    emit(builder, &(Style){.mlp_norm = SUNDOG_TENSOR_ATTENTION_POST_NORM});
}

void
sundog_hunyuan_emit(SundogBuilder *builder)
{
    emit(builder,
         &(Style){.qk_norm = SUNDOG_QK_NORM_AFTER_ROPE, .mlp_norm = SUNDOG_TENSOR_MLP_NORM});
}

void
sundog_starcoder2_emit(SundogBuilder *builder)
{
    emit(builder, &(Style){.mlp_norm = SUNDOG_TENSOR_MLP_NORM,
                           .gate = SUNDOG_GATE_GELU_TANH,
                           .has_plain_mlp = true});
}

void
sundog_qwen3_emit(SundogBuilder *builder)
{
    emit(builder, &(Style){.qk_norm = SUNDOG_QK_NORM_HEADS, .mlp_norm = SUNDOG_TENSOR_MLP_NORM});
}

void
sundog_olmoe_emit(SundogBuilder *builder)
{
    emit(builder, &(Style){.qk_norm = SUNDOG_QK_NORM_ROWS, .mlp_norm = SUNDOG_TENSOR_MLP_NORM});
}

void
sundog_gemma_emit(SundogBuilder *builder)
{
    emit(builder, &(Style){.mlp_norm = SUNDOG_TENSOR_MLP_NORM, .gate = SUNDOG_GATE_GELU_TANH});
}

static Style
find_glm4_moe_style(const SundogBuilder *builder)
{
    Style style = {.mlp_norm = SUNDOG_TENSOR_ATTENTION_POST_NORM};
    /* The larger of the sizes norms heads, the smaller does not. */
    if (sundog_model_get_tensor(builder->model, SUNDOG_TENSOR_ATTENTION_Q_NORM, 0) != NULL)
        style.qk_norm = SUNDOG_QK_NORM_HEADS;
    return style;
}

void
sundog_glm4_moe_emit(SundogBuilder *builder)
{
    const Style style = find_glm4_moe_style(builder);
    emit(builder, &style);
}

void
sundog_glm4_moe_emit_draft(SundogBuilder *builder)
{
    const Style style = find_glm4_moe_style(builder);
    emit_draft(builder, &style);
}

void
sundog_gpt_oss_emit(SundogBuilder *builder)
{
    emit(builder,
         &(Style){.mlp_norm = SUNDOG_TENSOR_ATTENTION_POST_NORM, .gate = SUNDOG_GATE_CLAMPED});
}

static const Style deepseek2_style = {.is_latent = true, .mlp_norm = SUNDOG_TENSOR_MLP_NORM};

void
sundog_deepseek2_emit(SundogBuilder *builder)
{
    emit(builder, &deepseek2_style);
}

void
sundog_deepseek2_emit_draft(SundogBuilder *builder)
{
    emit_draft(builder, &deepseek2_style);
}

static const Style qwen3_next_style = {.qk_norm = SUNDOG_QK_NORM_HEADS,
                                       .mlp_norm = SUNDOG_TENSOR_ATTENTION_POST_NORM};

void
sundog_qwen3_next_emit(SundogBuilder *builder)
{
    emit(builder, &qwen3_next_style);
}

void
sundog_qwen3_next_emit_draft(SundogBuilder *builder)
{
    emit_draft(builder, &qwen3_next_style);
}
