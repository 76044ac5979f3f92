/* An input of its own for each layer beside the stream: an embedding of the token for that layer, to which a
 * projection of the first embedding is added. */

#include "engine/recipe/components.h"

#include <math.h>

SundogBufferId
sundog_component_layer_inputs(SundogBuilder *builder, SundogBufferId x)
{
    const SundogModelDimensions *dimensions = builder->dimensions;
    uint32_t size = dimensions->layer_input_size;
    int64_t n_columns = (int64_t)dimensions->n_layers * size;
    const SundogParameter embedding_scale = {.f = sqrt(size)};
    const SundogParameter norm[] = {
        {.i = dimensions->n_layers}, {.i = 0}, {.i = size}, {.f = dimensions->norm_epsilon}};
    SundogBufferId tokens = sundog_builder_temporary(builder, "inputs.tokens", n_columns);
    sundog_builder_emit_with(builder, SUNDOG_OP_EMBED, &embedding_scale, builder->tokens,
                             sundog_builder_weight(builder, SUNDOG_TENSOR_LAYER_INPUTS), tokens);
    SundogBufferId context = sundog_component_linear(
        builder, x, SUNDOG_TENSOR_LAYER_INPUTS_PROJECTION, "inputs.projected", n_columns);
    context = sundog_component_scale(builder, context, 1 / sqrt(dimensions->hidden_size),
                                     "inputs.context", n_columns);
    sundog_builder_emit_with(builder, SUNDOG_OP_HEAD_NORM, norm, context,
                             sundog_builder_weight(builder, SUNDOG_TENSOR_LAYER_INPUTS_NORM),
                             SUNDOG_BUFFER_NONE, SUNDOG_BUFFER_NONE);
    SundogBufferId sum = sundog_builder_temporary(builder, "inputs.sum", n_columns);
    sundog_builder_emit(builder, SUNDOG_OP_ADD, context, tokens, sum);
    return sundog_component_scale(builder, sum, sqrt(0.5), "inputs", n_columns);
}

SundogBufferId
sundog_component_layer_input(SundogBuilder *builder, SundogBufferId x, SundogBufferId inputs)
{
    uint32_t size = builder->dimensions->layer_input_size;
    const SundogParameter function = {.i = SUNDOG_GATE_GELU_TANH};
    SundogBufferId input = sundog_component_take(builder, inputs, "input",
                                                 (int64_t)builder->dimensions->n_layers * size,
                                                 (int64_t)builder->layer * size, size, 1);
    SundogBufferId gate =
        sundog_component_linear(builder, x, SUNDOG_TENSOR_LAYER_INPUT_GATE, "input.gate", size);
    SundogBufferId gated = sundog_builder_temporary(builder, "input.gated", size);
    sundog_builder_emit_with(builder, SUNDOG_OP_GATE, &function, gate, input, gated);
    SundogBufferId y = sundog_component_linear(builder, gated, SUNDOG_TENSOR_LAYER_INPUT_PROJECTION,
                                               "input.projected", builder->dimensions->hidden_size);
    return sundog_component_norm(builder, y, SUNDOG_TENSOR_LAYER_INPUT_NORM, "input.norm");
}
