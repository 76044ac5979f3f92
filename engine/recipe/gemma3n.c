/* The forward pass of Gemma 3n. The residual has four streams side by side (AltUp, Baykal et al. 2023): each
 * layer predicts all of them, works on the first, and corrects all by what that has come to. Beside
 * attention stands a product of low rank (LAuReL, Menghani et al. 2024). */

#include "engine/recipe/components.h"
#include "engine/recipe/families.h"

#include <math.h>

#define N_STREAMS 4
/* Of the mean square that a stream is divided by. */
#define LOWEST_SQUARE 1e-5

static SundogBufferId
take_streams(SundogBuilder *builder, SundogBufferId streams, int first, int n, const char *name)
{
    int64_t size = builder->dimensions->hidden_size;
    return sundog_component_take(builder, streams, name, N_STREAMS * size, first * size, n * size,
                                 1);
}

/* One stream, and three that stand together, as four. */
static SundogBufferId
join_streams(SundogBuilder *builder, SundogBufferId first, SundogBufferId others, const char *name)
{
    int64_t size = builder->dimensions->hidden_size;
    g_autofree char *second_name = g_strconcat(name, ".second", NULL);
    g_autofree char *rest_name = g_strconcat(name, ".rest", NULL);
    SundogBufferId second =
        sundog_component_take(builder, others, second_name, 3 * size, 0, size, 1);
    SundogBufferId rest =
        sundog_component_take(builder, others, rest_name, 3 * size, size, 2 * size, 1);
    SundogBufferId streams = sundog_builder_temporary(builder, name, N_STREAMS * size);
    sundog_builder_emit(builder, SUNDOG_OP_JOIN, first, second, rest, streams);
    return streams;
}

static SundogBufferId
binary(SundogBuilder *builder, SundogOperationKind kind, SundogBufferId a, SundogBufferId b,
       const char *name, int64_t n_columns)
{
    SundogBufferId y = sundog_builder_temporary(builder, name, n_columns);
    sundog_builder_emit(builder, kind, a, b, y);
    return y;
}

/* Streams [n_rows, 3 hidden_size] as large as the first. */
static SundogBufferId
match(SundogBuilder *builder, SundogBufferId streams, SundogBufferId first, const char *name)
{
    const SundogParameter floor = {.f = LOWEST_SQUARE};
    SundogBufferId y =
        sundog_builder_temporary(builder, name, 3 * (int64_t)builder->dimensions->hidden_size);
    sundog_builder_emit_with(builder, SUNDOG_OP_MATCH_NORM, &floor, streams, first, y);
    return y;
}

static SundogBufferId
emit_first_streams(SundogBuilder *builder, SundogBufferId x)
{
    SundogBufferId others =
        sundog_component_linear(builder, x, SUNDOG_TENSOR_ALTUP_IN, "streams.in",
                                3 * (int64_t)builder->dimensions->hidden_size);
    return join_streams(builder, x, match(builder, others, x, "streams.matched"), "streams.first");
}

/* The mean of all streams, the further ones projected back first. */
static SundogBufferId
emit_last_stream(SundogBuilder *builder, SundogBufferId streams)
{
    int64_t size = builder->dimensions->hidden_size;
    const SundogParameter parameters[] = {{.i = 3}, {.i = 0}};
    SundogBufferId sum = take_streams(builder, streams, 0, 1, "last.first");
    SundogBufferId others = take_streams(builder, streams, 1, 3, "last.others");
    SundogBufferId projected = sundog_builder_temporary(builder, "last.projected", 3 * size);
    sundog_builder_emit_with(builder, SUNDOG_OP_LINEAR_HEADS, parameters, others,
                             sundog_builder_weight(builder, SUNDOG_TENSOR_ALTUP_OUT), projected,
                             builder->workspace);
    SundogBufferId matched = match(builder, projected, sum, "last.matched");
    for (int i = 0; i < 3; i++) {
        g_autofree char *part_name = g_strdup_printf("last.part.%d", i);
        g_autofree char *sum_name = g_strdup_printf("last.sum.%d", i);
        SundogBufferId part =
            sundog_component_take(builder, matched, part_name, 3 * size, i * size, size, 1);
        sum = binary(builder, SUNDOG_OP_ADD, sum, part, sum_name, size);
    }
    return sundog_component_scale(builder, sum, 1.0 / N_STREAMS, "last", size);
}

/* What the router says of a stream: a number from -1 to 1 for each. */
static SundogBufferId
emit_router(SundogBuilder *builder, SundogBufferId x, const char *what)
{
    uint32_t size = builder->dimensions->hidden_size;
    const SundogParameter limit = {.f = 1};
    g_autofree char *norm = g_strconcat(what, ".router.norm", NULL);
    g_autofree char *in = g_strconcat(what, ".router.in", NULL);
    g_autofree char *out = g_strconcat(what, ".router.out", NULL);
    g_autofree char *bounded = g_strconcat(what, ".router", NULL);
    SundogBufferId y = sundog_component_norm(builder, x, SUNDOG_TENSOR_ALTUP_ROUTER_NORM, norm);
    y = sundog_component_scale(builder, y, 1.0 / size, in, size);
    y = sundog_component_linear(builder, y, SUNDOG_TENSOR_ALTUP_ROUTER, out, N_STREAMS);
    SundogBufferId to = sundog_builder_temporary(builder, bounded, N_STREAMS);
    sundog_builder_emit_with(builder, SUNDOG_OP_SOFTCAP, &limit, y, to);
    return to;
}

static SundogBufferId
mix(SundogBuilder *builder, SundogBufferId x, int n_from, SundogBufferId coefficients,
    SundogBufferId residual, const char *name)
{
    const SundogParameter parameters[] = {{.i = n_from}, {.i = N_STREAMS}};
    SundogBufferId y = sundog_builder_temporary(
        builder, name, N_STREAMS * (int64_t)builder->dimensions->hidden_size);
    sundog_builder_emit_with(builder, SUNDOG_OP_MIX, parameters, x, coefficients, residual, y);
    return y;
}

static SundogBufferId
emit_prediction(SundogBuilder *builder, SundogBufferId streams)
{
    SundogBufferId active = take_streams(builder, streams, 0, 1, "prediction.active");
    SundogBufferId coefficients = sundog_component_linear(
        builder, emit_router(builder, active, "prediction"), SUNDOG_TENSOR_ALTUP_PREDICTION,
        "prediction.coefficients", N_STREAMS * N_STREAMS);
    return mix(builder, streams, N_STREAMS, coefficients, streams, "prediction");
}

/* 1 for each stream, which all corrections' coefficients count from. */
static SundogBufferId
add_ones(SundogBuilder *builder)
{
    SundogBufferId known = sundog_program_find_buffer(builder->program, "altup.ones");
    if (known != SUNDOG_BUFFER_NONE)
        return known;
    float *ones = g_new(float, N_STREAMS);
    for (int i = 0; i < N_STREAMS; i++)
        ones[i] = 1;
    return sundog_builder_row(builder, "altup.ones", ones, N_STREAMS);
}

/* All predicted streams, moved by what the layer has made of the first. */
static SundogBufferId
emit_correction(SundogBuilder *builder, SundogBufferId predicted, SundogBufferId active,
                SundogBufferId x)
{
    SundogBufferId innovation = binary(builder, SUNDOG_OP_SUBTRACT, x, active, "innovation",
                                       builder->dimensions->hidden_size);
    SundogBufferId router = emit_router(builder, x, "correction");
    SundogBufferId coefficients =
        sundog_builder_temporary(builder, "correction.coefficients", N_STREAMS);
    sundog_builder_emit(builder, SUNDOG_OP_LINEAR, router,
                        sundog_builder_weight(builder, SUNDOG_TENSOR_ALTUP_CORRECTION),
                        add_ones(builder), SUNDOG_BUFFER_NONE, coefficients, builder->workspace);
    return mix(builder, innovation, 1, coefficients, predicted, "correction");
}

/* The layer's own input, seen through the first stream and added to the others. */
static SundogBufferId
emit_layer_input(SundogBuilder *builder, SundogBufferId streams, SundogBufferId inputs)
{
    int64_t size = builder->dimensions->hidden_size;
    SundogBufferId first = take_streams(builder, streams, 0, 1, "corrected");
    SundogBufferId scaled = sundog_builder_temporary(builder, "corrected.scaled", size);
    sundog_builder_emit(builder, SUNDOG_OP_SCALE_COLUMNS, first,
                        sundog_builder_weight(builder, SUNDOG_TENSOR_ALTUP_SCALE), scaled);
    SundogBufferId y = sundog_component_layer_input(builder, scaled, inputs);
    SundogBufferId thrice = sundog_builder_temporary(builder, "input.thrice", 3 * size);
    sundog_builder_emit(builder, SUNDOG_OP_JOIN, y, y, y, thrice);
    SundogBufferId others = take_streams(builder, streams, 1, 3, "corrected.others");
    others = binary(builder, SUNDOG_OP_ADD, others, thrice, "input.sum", 3 * size);
    return join_streams(builder, first, others, "streams");
}

static SundogBufferId
emit_laurel(SundogBuilder *builder, SundogBufferId x)
{
    uint32_t size = builder->dimensions->hidden_size;
    SundogBufferId y = sundog_component_linear(builder, x, SUNDOG_TENSOR_LAUREL_LEFT, "laurel.left",
                                               builder->dimensions->laurel_rank);
    y = sundog_component_linear(builder, y, SUNDOG_TENSOR_LAUREL_RIGHT, "laurel.right", size);
    y = sundog_component_norm(builder, y, SUNDOG_TENSOR_LAUREL_NORM, "laurel.norm");
    return binary(builder, SUNDOG_OP_ADD, y, x, "laurel", size);
}

/* What Gemma 4's layer does, with the mean of attention and LAuReL in the place of attention. */
static SundogBufferId
emit_active(SundogBuilder *builder, SundogBufferId active)
{
    uint32_t size = builder->dimensions->hidden_size;
    SundogBufferId norm =
        sundog_component_norm(builder, active, SUNDOG_TENSOR_ATTENTION_NORM, "attention.norm");
    SundogBufferId laurel = emit_laurel(builder, norm);
    SundogBufferId y = sundog_component_attention(builder, norm, SUNDOG_QK_NORM_HEADS_AND_VALUES);
    y = sundog_component_norm(builder, y, SUNDOG_TENSOR_ATTENTION_POST_NORM, "attention.post_norm");
    SundogBufferId x = sundog_component_residual(builder, active, y, "attention.sum");
    x = binary(builder, SUNDOG_OP_ADD, x, laurel, "attention.both", size);
    x = sundog_component_scale(builder, x, sqrt(0.5), "attention.mean", size);
    y = sundog_component_norm(builder, x, SUNDOG_TENSOR_MLP_NORM, "mlp.norm");
    y = sundog_component_gated_mlp(builder, y, SUNDOG_GATE_GELU_TANH);
    y = sundog_component_norm(builder, y, SUNDOG_TENSOR_MLP_POST_NORM, "mlp.post_norm");
    return sundog_component_residual(builder, x, y, "mlp.sum");
}

void
sundog_gemma3n_emit(SundogBuilder *builder)
{
    SundogBufferId x = sundog_component_embedding(builder);
    SundogBufferId inputs = sundog_component_layer_inputs(builder, x);
    SundogBufferId streams = emit_first_streams(builder, x);
    for (builder->layer = 0; builder->layer < builder->dimensions->n_layers; builder->layer++) {
        SundogBufferId predicted = emit_prediction(builder, streams);
        SundogBufferId active = take_streams(builder, predicted, 0, 1, "active");
        SundogBufferId y = emit_active(builder, active);
        streams = emit_correction(builder, predicted, active, y);
        streams = emit_layer_input(builder, streams, inputs);
    }
    sundog_component_head(builder, emit_last_stream(builder, streams));
}
