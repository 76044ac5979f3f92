/* Embedding, norm, MLPs and residual. */

#include "engine/recipe/components.h"

SundogBufferId
sundog_component_embedding(SundogBuilder *builder)
{
    const SundogParameter scale = {.f = builder->dimensions->embedding_scale};
    SundogBufferId table = sundog_builder_weight(builder, SUNDOG_TENSOR_TOKEN_EMBEDDING);
    SundogBufferId x =
        sundog_builder_temporary(builder, "embedding", builder->dimensions->hidden_size);
    sundog_builder_emit_with(builder, SUNDOG_OP_EMBED, &scale, builder->tokens, table, x);
    return x;
}

/* The role of the bias of a norm that takes the mean off. */
static SundogTensorRole
find_norm_bias(SundogTensorRole role)
{
    static const SundogTensorRole biases[][2] = {
        {SUNDOG_TENSOR_ATTENTION_NORM, SUNDOG_TENSOR_ATTENTION_NORM_BIAS},
        {SUNDOG_TENSOR_ATTENTION_OWN_NORM, SUNDOG_TENSOR_ATTENTION_OWN_NORM_BIAS},
        {SUNDOG_TENSOR_MLP_NORM, SUNDOG_TENSOR_MLP_NORM_BIAS},
        {SUNDOG_TENSOR_OUTPUT_NORM, SUNDOG_TENSOR_OUTPUT_NORM_BIAS}};
    for (size_t i = 0; i < G_N_ELEMENTS(biases); i++)
        if (biases[i][0] == role)
            return biases[i][1];
    return SUNDOG_TENSOR_NONE;
}

SundogBufferId
sundog_component_norm(SundogBuilder *builder, SundogBufferId x, SundogTensorRole role,
                      const char *name)
{
    if (builder->dimensions->norms_take_mean)
        return sundog_component_layer_norm(builder, x, role, find_norm_bias(role), name);
    const SundogParameter epsilon = {.f = builder->dimensions->norm_epsilon};
    SundogBufferId weight = sundog_builder_weight(builder, role);
    SundogBufferId y = sundog_builder_temporary(builder, name, builder->dimensions->hidden_size);
    sundog_builder_emit_with(builder, SUNDOG_OP_RMS_NORM, &epsilon, x, weight, y);
    return y;
}

SundogBufferId
sundog_component_biased_linear(SundogBuilder *builder, SundogBufferId x, SundogTensorRole role,
                               SundogTensorRole bias, const char *name, int64_t n_columns)
{
    SundogBufferId weight = sundog_builder_weight(builder, role);
    SundogBufferId added = sundog_builder_optional_weight(builder, bias);
    SundogBufferId y = sundog_builder_temporary(builder, name, n_columns);
    sundog_builder_emit(builder, SUNDOG_OP_LINEAR, x, weight, added, SUNDOG_BUFFER_NONE, y,
                        builder->workspace);
    return y;
}

SundogBufferId
sundog_component_linear(SundogBuilder *builder, SundogBufferId x, SundogTensorRole role,
                        const char *name, int64_t n_columns)
{
    return sundog_component_biased_linear(builder, x, role, SUNDOG_TENSOR_NONE, name, n_columns);
}

SundogBufferId
sundog_component_take(SundogBuilder *builder, SundogBufferId x, const char *name, int64_t stride,
                      int64_t offset, int64_t size, int64_t n_groups)
{
    const SundogParameter parameters[] = {{.i = stride}, {.i = offset}, {.i = size}};
    SundogBufferId y = sundog_builder_temporary(builder, name, n_groups * size);
    sundog_builder_emit_with(builder, SUNDOG_OP_TAKE, parameters, x, y);
    return y;
}

/* The gates with all but the greatest cut off, in layers that are sparse. */
static SundogBufferId
emit_sparsity(SundogBuilder *builder, SundogBufferId gate, uint32_t mlp_size)
{
    const SundogParameter multiplier = {.f = sundog_builder_layer(builder)->sparsity};
    if (multiplier.f == 0)
        return gate;
    SundogBufferId y = sundog_builder_temporary(builder, "mlp.gate.sparse", mlp_size);
    sundog_builder_emit_with(builder, SUNDOG_OP_SPARSIFY, &multiplier, gate, y);
    return y;
}

SundogBufferId
sundog_component_gated_mlp(SundogBuilder *builder, SundogBufferId x, SundogGate function)
{
    const SundogParameter parameter = {.i = function};
    uint32_t mlp_size = sundog_builder_layer(builder)->mlp_size;
    SundogBufferId gate =
        sundog_component_linear(builder, x, SUNDOG_TENSOR_MLP_GATE, "mlp.gate", mlp_size);
    gate = emit_sparsity(builder, gate, mlp_size);
    gate = sundog_component_scale(builder, gate, builder->dimensions->factors.mlp_gate,
                                  "mlp.gate.scaled", mlp_size);
    SundogBufferId up =
        sundog_component_linear(builder, x, SUNDOG_TENSOR_MLP_UP, "mlp.up", mlp_size);
    SundogBufferId hidden = sundog_builder_temporary(builder, "mlp.hidden", mlp_size);
    sundog_builder_emit_with(builder, SUNDOG_OP_GATE, &parameter, gate, up, hidden);
    return sundog_component_linear(builder, hidden, SUNDOG_TENSOR_MLP_DOWN, "mlp.down",
                                   builder->dimensions->hidden_size);
}

SundogBufferId
sundog_component_plain_mlp(SundogBuilder *builder, SundogBufferId x, SundogGate function)
{
    const SundogParameter parameter = {.i = function};
    uint32_t mlp_size = sundog_builder_layer(builder)->mlp_size;
    SundogBufferId up = sundog_component_biased_linear(
        builder, x, SUNDOG_TENSOR_MLP_UP, SUNDOG_TENSOR_MLP_UP_BIAS, "mlp.up", mlp_size);
    SundogBufferId hidden = sundog_builder_temporary(builder, "mlp.hidden", mlp_size);
    sundog_builder_emit_with(builder, SUNDOG_OP_GATE, &parameter, up,
                             function == SUNDOG_GATE_RELU ? up : SUNDOG_BUFFER_NONE, hidden);
    return sundog_component_biased_linear(builder, hidden, SUNDOG_TENSOR_MLP_DOWN,
                                          SUNDOG_TENSOR_MLP_DOWN_BIAS, "mlp.down",
                                          builder->dimensions->hidden_size);
}

SundogBufferId
sundog_component_scale(SundogBuilder *builder, SundogBufferId x, double factor, const char *name,
                       int64_t n_columns)
{
    const SundogParameter parameter = {.f = factor};
    if (factor == 1)
        return x;
    SundogBufferId y = sundog_builder_temporary(builder, name, n_columns);
    sundog_builder_emit_with(builder, SUNDOG_OP_SCALE, &parameter, x, y);
    return y;
}

SundogBufferId
sundog_component_residual(SundogBuilder *builder, SundogBufferId x, SundogBufferId y,
                          const char *name)
{
    uint32_t hidden_size = builder->dimensions->hidden_size;
    g_autofree char *scaled_name = g_strconcat(name, ".scaled", NULL);
    SundogBufferId scaled = sundog_component_scale(builder, y, builder->dimensions->residual_scale,
                                                   scaled_name, hidden_size);
    SundogBufferId sum = sundog_builder_temporary(builder, name, hidden_size);
    sundog_builder_emit(builder, SUNDOG_OP_ADD, scaled, x, sum);
    return sum;
}

SundogBufferId
sundog_component_feed_forward(SundogBuilder *builder, SundogBufferId x, SundogGate function)
{
    return sundog_model_has_experts(builder->dimensions, builder->layer)
               ? sundog_component_experts(builder, x, function)
               : sundog_component_gated_mlp(builder, x, function);
}

SundogBufferId
sundog_component_layer_norm(SundogBuilder *builder, SundogBufferId x, SundogTensorRole role,
                            SundogTensorRole bias, const char *name)
{
    const SundogParameter epsilon = {.f = builder->dimensions->norm_epsilon};
    SundogBufferId weight = sundog_builder_weight(builder, role);
    SundogBufferId added = sundog_builder_optional_weight(builder, bias);
    SundogBufferId y = sundog_builder_temporary(builder, name, builder->dimensions->hidden_size);
    sundog_builder_emit_with(builder, SUNDOG_OP_LAYER_NORM, &epsilon, x, weight, added, y);
    return y;
}
