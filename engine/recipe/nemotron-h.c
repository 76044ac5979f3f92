/* The forward passes of hybrids that are not Llama's layer with another mixer: Nemotron-H, whose layers are
 * one half each, and Falcon-H1, whose layers have two mixers. */

#include "engine/recipe/components.h"
#include "engine/recipe/families.h"

static bool
has_tensor(const SundogBuilder *builder, SundogTensorRole role)
{
    return sundog_model_get_tensor(builder->model, role, builder->layer) != NULL;
}

static SundogBufferId
emit_half(SundogBuilder *builder, SundogBufferId x)
{
    if (sundog_builder_layer(builder)->is_recurrent)
        return sundog_component_state_space(builder, x);
    if (has_tensor(builder, SUNDOG_TENSOR_ROUTER))
        return sundog_component_experts(builder, x, SUNDOG_GATE_RELU);
    if (has_tensor(builder, SUNDOG_TENSOR_MLP_UP))
        return sundog_component_plain_mlp(builder, x, SUNDOG_GATE_RELU);
    return sundog_component_attention(builder, x, SUNDOG_QK_NORM_NONE);
}

void
sundog_nemotron_h_emit(SundogBuilder *builder)
{
    SundogBufferId x = sundog_component_embedding(builder);
    for (builder->layer = 0; builder->layer < builder->dimensions->n_layers; builder->layer++) {
        SundogBufferId y = sundog_component_norm(builder, x, SUNDOG_TENSOR_ATTENTION_NORM, "norm");
        x = sundog_component_residual(builder, x, emit_half(builder, y), "sum");
    }
    sundog_component_head(builder, x);
}

static SundogBufferId
emit_falcon_layer(SundogBuilder *builder, SundogBufferId x)
{
    SundogBufferId norm =
        sundog_component_norm(builder, x, SUNDOG_TENSOR_ATTENTION_NORM, "attention.norm");
    const SundogFactors *factors = &builder->dimensions->factors;
    uint32_t size = builder->dimensions->hidden_size;
    SundogBufferId y =
        sundog_component_scale(builder, norm, factors->attention_in, "attention.in", size);
    y = sundog_component_attention(builder, y, SUNDOG_QK_NORM_NONE);
    y = sundog_component_scale(builder, y, factors->attention_out, "attention.scaled", size);
    x = sundog_component_residual(builder, x, y, "attention.sum");
    y = sundog_component_state_space(builder, norm);
    y = sundog_component_scale(builder, y, factors->space_out, "space.scaled", size);
    x = sundog_component_residual(builder, x, y, "space.sum");
    y = sundog_component_norm(builder, x, SUNDOG_TENSOR_MLP_NORM, "mlp.norm");
    y = sundog_component_gated_mlp(builder, y, SUNDOG_GATE_SILU);
    y = sundog_component_scale(builder, y, factors->mlp_out, "mlp.scaled", size);
    return sundog_component_residual(builder, x, y, "mlp.sum");
}

void
sundog_falcon_h1_emit(SundogBuilder *builder)
{
    SundogBufferId x = sundog_component_embedding(builder);
    for (builder->layer = 0; builder->layer < builder->dimensions->n_layers; builder->layer++)
        x = emit_falcon_layer(builder, x);
    sundog_component_head(builder, x);
}
