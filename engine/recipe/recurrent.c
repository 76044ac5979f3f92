/* Layers with state of fixed size: short convolutions, linear attention by the gated delta rule, and state
 * spaces. */

#include "engine/recipe/components.h"

static SundogBufferId
add_state(SundogBuilder *builder, const char *kind, uint32_t rank, const int64_t *sizes)
{
    g_autofree char *name = g_strdup_printf("state.%u.%s", builder->layer, kind);
    SundogExpression shape[4] = {sundog_builder_variable(builder, SUNDOG_VARIABLE_POOL_STATES)};
    for (uint32_t i = 0; i < rank; i++)
        shape[1 + i] = sundog_builder_constant(builder, sizes[i]);
    return sundog_builder_buffer(builder, name, SUNDOG_BUFFER_STATE, SUNDOG_DTYPE_F32, 1 + rank,
                                 shape);
}

static SundogBufferId
emit_conv(SundogBuilder *builder, SundogBufferId x, SundogTensorRole role, int64_t n_channels,
          bool silu)
{
    uint32_t width = builder->dimensions->recurrent.conv_width;
    const int64_t sizes[] = {width - 1, n_channels};
    const SundogParameter parameters[] = {{.i = width}, {.i = silu}};
    SundogBufferId state = add_state(builder, "conv", 2, sizes);
    SundogBufferId y = sundog_builder_temporary(builder, "conv", n_channels);
    sundog_builder_emit_with(
        builder, SUNDOG_OP_SHORT_CONV, parameters, x, sundog_builder_weight(builder, role),
        sundog_builder_optional_weight(builder, SUNDOG_TENSOR_STATE_CONV_BIAS), builder->first_row,
        builder->start_position, sundog_builder_state_slot(builder), state, y);
    return y;
}

static SundogBufferId
multiply(SundogBuilder *builder, SundogBufferId a, SundogBufferId b, const char *name)
{
    SundogBufferId y = sundog_builder_temporary(builder, name, builder->dimensions->hidden_size);
    sundog_builder_emit(builder, SUNDOG_OP_MUL, a, b, y);
    return y;
}

SundogBufferId
sundog_component_short_conv(SundogBuilder *builder, SundogBufferId x)
{
    int64_t n = builder->dimensions->hidden_size;
    SundogBufferId parts =
        sundog_component_linear(builder, x, SUNDOG_TENSOR_CONV_IN, "conv.parts", 3 * n);
    SundogBufferId b = sundog_component_take(builder, parts, "conv.b", 3 * n, 0, n, 1);
    SundogBufferId c = sundog_component_take(builder, parts, "conv.c", 3 * n, n, n, 1);
    SundogBufferId h = sundog_component_take(builder, parts, "conv.h", 3 * n, 2 * n, n, 1);
    SundogBufferId product = multiply(builder, b, h, "conv.in");
    SundogBufferId seen = emit_conv(builder, product, SUNDOG_TENSOR_CONV_WEIGHT, n, false);
    SundogBufferId out = multiply(builder, c, seen, "conv.out");
    return sundog_component_linear(builder, out, SUNDOG_TENSOR_CONV_OUT, "conv.down", n);
}

/* --- The gated delta rule ----------------------------------------------------------------------- */

/* The gates of all value heads. Files hold both in one matrix, those of each key head's value heads
 * together, or each in one of its own. */
static void
emit_gates(SundogBuilder *builder, SundogBufferId x, SundogBufferId *beta, SundogBufferId *alpha)
{
    const SundogRecurrentDimensions *recurrent = &builder->dimensions->recurrent;
    int64_t n = recurrent->n_value_heads, n_groups = recurrent->n_key_heads, share = n / n_groups;
    if (sundog_model_get_tensor(builder->model, SUNDOG_TENSOR_DELTA_BETA_ALPHA, builder->layer) ==
        NULL) {
        *beta = sundog_component_linear(builder, x, SUNDOG_TENSOR_DELTA_BETA, "delta.beta", n);
        *alpha = sundog_component_linear(builder, x, SUNDOG_TENSOR_DELTA_ALPHA, "delta.alpha", n);
        return;
    }
    SundogBufferId both =
        sundog_component_linear(builder, x, SUNDOG_TENSOR_DELTA_BETA_ALPHA, "delta.gates", 2 * n);
    *beta = sundog_component_take(builder, both, "delta.beta", 2 * share, 0, share, n_groups);
    *alpha = sundog_component_take(builder, both, "delta.alpha", 2 * share, share, share, n_groups);
}

static SundogBufferId
emit_delta(SundogBuilder *builder, SundogBufferId x, SundogBufferId qkv)
{
    const SundogRecurrentDimensions *recurrent = &builder->dimensions->recurrent;
    const int64_t sizes[] = {recurrent->n_value_heads, recurrent->key_dim, recurrent->value_dim};
    const SundogParameter parameters[] = {{.i = recurrent->n_key_heads},
                                          {.i = recurrent->key_dim},
                                          {.i = recurrent->value_dim},
                                          {.i = recurrent->is_tiled}};
    SundogBufferId beta, alpha;
    emit_gates(builder, x, &beta, &alpha);
    SundogBufferId state = add_state(builder, "delta", 3, sizes);
    SundogBufferId y = sundog_builder_temporary(
        builder, "delta.o", (int64_t)recurrent->n_value_heads * recurrent->value_dim);
    sundog_builder_emit_with(builder, SUNDOG_OP_GATED_DELTA, parameters, qkv, beta, alpha,
                             sundog_builder_weight(builder, SUNDOG_TENSOR_STATE_DECAY),
                             sundog_builder_weight(builder, SUNDOG_TENSOR_STATE_STEP),
                             builder->first_row, builder->start_position,
                             sundog_builder_state_slot(builder), state, y);
    return y;
}

SundogBufferId
sundog_component_gated_delta(SundogBuilder *builder, SundogBufferId x)
{
    const SundogRecurrentDimensions *recurrent = &builder->dimensions->recurrent;
    int64_t n_keys = (int64_t)recurrent->n_key_heads * recurrent->key_dim;
    int64_t n_values = (int64_t)recurrent->n_value_heads * recurrent->value_dim;
    const SundogParameter epsilon = {.f = builder->dimensions->norm_epsilon};
    SundogBufferId qkv = sundog_component_linear(builder, x, SUNDOG_TENSOR_DELTA_QKV, "delta.qkv",
                                                 2 * n_keys + n_values);
    SundogBufferId seen =
        emit_conv(builder, qkv, SUNDOG_TENSOR_STATE_CONV, 2 * n_keys + n_values, true);
    SundogBufferId o = emit_delta(builder, x, seen);
    SundogBufferId gate =
        sundog_component_linear(builder, x, SUNDOG_TENSOR_DELTA_GATE, "delta.gate", n_values);
    SundogBufferId norm = sundog_builder_temporary(builder, "delta.norm", n_values);
    sundog_builder_emit_with(builder, SUNDOG_OP_GATED_NORM, &epsilon, o,
                             sundog_builder_weight(builder, SUNDOG_TENSOR_STATE_NORM), gate, norm);
    return sundog_component_linear(builder, norm, SUNDOG_TENSOR_STATE_OUT, "delta.out",
                                   builder->dimensions->hidden_size);
}

/* --- State spaces ------------------------------------------------------------------------------- */

static SundogBufferId
emit_scan(SundogBuilder *builder, SundogBufferId xbc, SundogBufferId dt)
{
    const SundogRecurrentDimensions *recurrent = &builder->dimensions->recurrent;
    const int64_t sizes[] = {recurrent->n_value_heads, recurrent->key_dim, recurrent->value_dim};
    const SundogParameter parameters[] = {
        {.i = recurrent->n_key_heads}, {.i = recurrent->key_dim}, {.i = recurrent->value_dim}};
    SundogBufferId state = add_state(builder, "space", 3, sizes);
    SundogBufferId y = sundog_builder_temporary(
        builder, "space.y", (int64_t)recurrent->n_value_heads * recurrent->value_dim);
    sundog_builder_emit_with(builder, SUNDOG_OP_STATE_SPACE, parameters, xbc, dt,
                             sundog_builder_weight(builder, SUNDOG_TENSOR_STATE_DECAY),
                             sundog_builder_weight(builder, SUNDOG_TENSOR_STATE_STEP),
                             sundog_builder_weight(builder, SUNDOG_TENSOR_STATE_SKIP),
                             builder->first_row, builder->start_position,
                             sundog_builder_state_slot(builder), state, y);
    return y;
}

/* The norm of each group, where the model has one. */
static SundogBufferId
emit_group_norm(SundogBuilder *builder, SundogBufferId y, int64_t n_columns)
{
    const SundogParameter parameters[] = {{.i = builder->dimensions->recurrent.n_key_heads},
                                          {.f = builder->dimensions->norm_epsilon}};
    SundogBufferId weight = sundog_builder_optional_weight(builder, SUNDOG_TENSOR_STATE_NORM);
    if (weight == SUNDOG_BUFFER_NONE)
        return y;
    SundogBufferId norm = sundog_builder_temporary(builder, "space.norm", n_columns);
    sundog_builder_emit_with(builder, SUNDOG_OP_GROUP_NORM, parameters, y, weight, norm);
    return norm;
}

/* silu(gate) y, normed before or after. */
static SundogBufferId
emit_gated(SundogBuilder *builder, SundogBufferId gate, SundogBufferId y, int64_t n_columns)
{
    const SundogParameter function = {.i = SUNDOG_GATE_SILU};
    bool norms_before = builder->dimensions->recurrent.norms_before_gate;
    if (norms_before)
        y = emit_group_norm(builder, y, n_columns);
    SundogBufferId gated = sundog_builder_temporary(builder, "space.gated", n_columns);
    sundog_builder_emit_with(builder, SUNDOG_OP_GATE, &function, gate, y, gated);
    return norms_before ? gated : emit_group_norm(builder, gated, n_columns);
}

SundogBufferId
sundog_component_state_space(SundogBuilder *builder, SundogBufferId x)
{
    const SundogRecurrentDimensions *recurrent = &builder->dimensions->recurrent;
    int64_t n_heads = recurrent->n_value_heads, n_values = n_heads * recurrent->value_dim;
    int64_t n_seen = n_values + 2 * (int64_t)recurrent->n_key_heads * recurrent->key_dim;
    int64_t n = n_values + n_seen + n_heads;
    SundogBufferId parts =
        sundog_component_linear(builder, x, SUNDOG_TENSOR_STATE_IN, "space.parts", n);
    SundogBufferId gate = sundog_component_take(builder, parts, "space.gate", n, 0, n_values, 1);
    SundogBufferId xbc = sundog_component_take(builder, parts, "space.in", n, n_values, n_seen, 1);
    SundogBufferId dt =
        sundog_component_take(builder, parts, "space.dt", n, n_values + n_seen, n_heads, 1);
    gate = sundog_component_scale(builder, gate, builder->dimensions->factors.space_gate,
                                  "space.gate.scaled", n_values);
    dt = sundog_component_scale(builder, dt, builder->dimensions->factors.space_step,
                                "space.dt.scaled", n_heads);
    SundogBufferId seen = emit_conv(builder, xbc, SUNDOG_TENSOR_STATE_CONV, n_seen, true);
    SundogBufferId y = emit_gated(builder, gate, emit_scan(builder, seen, dt), n_values);
    return sundog_component_linear(builder, y, SUNDOG_TENSOR_STATE_OUT, "space.out",
                                   builder->dimensions->hidden_size);
}
