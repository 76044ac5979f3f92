/* The forward pass of Gemma 4. */

#include "engine/format/error.h"
#include "engine/model/floats.h"
#include "engine/recipe/components.h"
#include "engine/recipe/families.h"

#include <math.h>

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

/* What the experts make of the stream. Their router sees it normed and scaled by its own. */
static SundogBufferId
emit_experts(SundogBuilder *builder, SundogBufferId x)
{
    uint32_t hidden_size = builder->dimensions->hidden_size;
    SundogBufferId seen =
        sundog_component_norm(builder, x, SUNDOG_TENSOR_ROUTER_NORM, "router.norm");
    seen = sundog_component_scale(builder, seen, 1 / sqrt(hidden_size), "router.in", hidden_size);
    SundogBufferId y = sundog_component_norm(builder, x, SUNDOG_TENSOR_MLP_NORM_2, "experts.norm");
    y = sundog_component_routed_experts(builder, seen, y, SUNDOG_GATE_GELU_TANH);
    return sundog_component_norm(builder, y, SUNDOG_TENSOR_MLP_POST_NORM_2, "experts.post_norm");
}

/* The MLP, and where the layer has experts, theirs beside it. */
static SundogBufferId
emit_feed_forward(SundogBuilder *builder, SundogBufferId x)
{
    SundogBufferId y = sundog_component_norm(builder, x, SUNDOG_TENSOR_MLP_NORM, "mlp.norm");
    y = sundog_component_gated_mlp(builder, y, SUNDOG_GATE_GELU_TANH);
    if (!sundog_model_has_experts(builder->dimensions, builder->layer))
        return y;
    y = sundog_component_norm(builder, y, SUNDOG_TENSOR_MLP_POST_NORM_1, "mlp.own_norm");
    SundogBufferId sum =
        sundog_builder_temporary(builder, "mlp.both", builder->dimensions->hidden_size);
    sundog_builder_emit(builder, SUNDOG_OP_ADD, y, emit_experts(builder, x), sum);
    return sum;
}

static SundogBufferId
emit_layer(SundogBuilder *builder, SundogBufferId x, SundogBufferId inputs)
{
    SundogBufferId y =
        sundog_component_norm(builder, x, SUNDOG_TENSOR_ATTENTION_NORM, "attention.norm");
    y = sundog_component_attention(builder, y, SUNDOG_QK_NORM_HEADS_AND_VALUES);
    y = sundog_component_norm(builder, y, SUNDOG_TENSOR_ATTENTION_POST_NORM, "attention.post_norm");
    x = sundog_component_residual(builder, x, y, "attention.sum");
    y = emit_feed_forward(builder, x);
    y = sundog_component_norm(builder, y, SUNDOG_TENSOR_MLP_POST_NORM, "mlp.post_norm");
    x = sundog_component_residual(builder, x, y, "mlp.sum");
    if (inputs != SUNDOG_BUFFER_NONE)
        x = sundog_component_residual(builder, x, sundog_component_layer_input(builder, x, inputs),
                                      "input.sum");
    return emit_layer_scale(builder, x);
}

void
sundog_gemma4_emit(SundogBuilder *builder)
{
    SundogBufferId inputs = SUNDOG_BUFFER_NONE;
    SundogBufferId x = sundog_component_embedding(builder);
    if (builder->dimensions->layer_input_size > 0)
        inputs = sundog_component_layer_inputs(builder, x);
    for (builder->layer = 0; builder->layer < builder->dimensions->n_layers; builder->layer++)
        x = emit_layer(builder, x, inputs);
    sundog_component_head(builder, x);
}
