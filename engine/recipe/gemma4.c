/* The forward pass of Gemma 4. The smaller sizes give each layer an input of its own beside the stream: an
 * embedding of the token for that layer, to which a projection of the first embedding is added. */

#include "engine/format/error.h"
#include "engine/model/floats.h"
#include "engine/recipe/components.h"
#include "engine/recipe/families.h"

#include <math.h>

/* The inputs of all layers side by side, [n_rows, n_layers * layer_input_size]. */
static SundogBufferId
emit_layer_inputs(SundogBuilder *builder, SundogBufferId x)
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

/* x + norm(W_p (gelu(W_g x) * the layer's input)). */
static SundogBufferId
emit_layer_input(SundogBuilder *builder, SundogBufferId x, SundogBufferId inputs)
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
    y = sundog_component_norm(builder, y, SUNDOG_TENSOR_LAYER_INPUT_NORM, "input.norm");
    return sundog_component_residual(builder, x, y, "input.sum");
}

/* One number, which the whole stream is multiplied by. */
static SundogBufferId
emit_layer_scale(SundogBuilder *builder, SundogBufferId x)
{
    if (sundog_model_get_tensor(builder->model, SUNDOG_TENSOR_LAYER_SCALE, builder->layer) == NULL)
        return x;
    const SundogTensor *tensor = sundog_builder_tensor(builder, SUNDOG_TENSOR_LAYER_SCALE);
    uint8_t bytes[sizeof(float)];
    double factor = sundog_float_get(tensor->type, sundog_tensor_get_rows(tensor, 0, 1, bytes), 0);
    if (isfinite(factor) && factor > 0)
        return sundog_component_scale(builder, x, factor, "scaled",
                                      builder->dimensions->hidden_size);
    if (builder->error == NULL)
        g_set_error(&builder->error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                    "the tensor %s is %g, expected a number above 0", tensor->name, factor);
    return x;
}

static SundogBufferId
emit_layer(SundogBuilder *builder, SundogBufferId x, SundogBufferId inputs)
{
    SundogBufferId y =
        sundog_component_norm(builder, x, SUNDOG_TENSOR_ATTENTION_NORM, "attention.norm");
    y = sundog_component_attention(builder, y, SUNDOG_QK_NORM_HEADS_AND_VALUES);
    y = sundog_component_norm(builder, y, SUNDOG_TENSOR_ATTENTION_POST_NORM, "attention.post_norm");
    x = sundog_component_residual(builder, x, y, "attention.sum");
    y = sundog_component_norm(builder, x, SUNDOG_TENSOR_MLP_NORM, "mlp.norm");
    y = sundog_component_gated_mlp(builder, y, SUNDOG_GATE_GELU_TANH);
    y = sundog_component_norm(builder, y, SUNDOG_TENSOR_MLP_POST_NORM, "mlp.post_norm");
    x = sundog_component_residual(builder, x, y, "mlp.sum");
    if (inputs != SUNDOG_BUFFER_NONE)
        x = emit_layer_input(builder, x, inputs);
    return emit_layer_scale(builder, x);
}

void
sundog_gemma4_emit(SundogBuilder *builder)
{
    SundogBufferId inputs = SUNDOG_BUFFER_NONE;
    SundogBufferId x = sundog_component_embedding(builder);
    if (builder->dimensions->layer_input_size > 0)
        inputs = emit_layer_inputs(builder, x);
    for (builder->layer = 0; builder->layer < builder->dimensions->n_layers; builder->layer++)
        x = emit_layer(builder, x, inputs);
    sundog_component_head(builder, x);
}
