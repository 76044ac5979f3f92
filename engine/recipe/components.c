/* Embedding, norm, gated MLP and head. Attention has a file of its own. */

#include "engine/recipe/components.h"
#include "kernels/contract/gate.h"

SundogBufferId
sundog_component_embedding(SundogBuilder *builder)
{
    const SundogParameter scale = {.f = 1};
    SundogBufferId table = sundog_builder_weight(builder, SUNDOG_TENSOR_TOKEN_EMBEDDING);
    SundogBufferId x =
        sundog_builder_temporary(builder, "embedding", builder->dimensions->hidden_size);
    sundog_builder_emit_with(builder, SUNDOG_OP_EMBED, &scale, builder->tokens, table, x);
    return x;
}

SundogBufferId
sundog_component_norm(SundogBuilder *builder, SundogBufferId x, SundogTensorRole role,
                      const char *name)
{
    const SundogParameter epsilon = {.f = builder->dimensions->norm_epsilon};
    SundogBufferId weight = sundog_builder_weight(builder, role);
    SundogBufferId y = sundog_builder_temporary(builder, name, builder->dimensions->hidden_size);
    sundog_builder_emit_with(builder, SUNDOG_OP_RMS_NORM, &epsilon, x, weight, y);
    return y;
}

static SundogBufferId
linear(SundogBuilder *builder, SundogBufferId x, SundogTensorRole role, const char *name,
       int64_t n_columns)
{
    SundogBufferId weight = sundog_builder_weight(builder, role);
    SundogBufferId y = sundog_builder_temporary(builder, name, n_columns);
    sundog_builder_emit(builder, SUNDOG_OP_LINEAR, x, weight, SUNDOG_BUFFER_NONE,
                        SUNDOG_BUFFER_NONE, y, builder->workspace);
    return y;
}

SundogBufferId
sundog_component_gated_mlp(SundogBuilder *builder, SundogBufferId x)
{
    uint32_t mlp_size = builder->dimensions->mlp_size;
    uint32_t hidden_size = builder->dimensions->hidden_size;
    SundogBufferId norm = sundog_component_norm(builder, x, SUNDOG_TENSOR_MLP_NORM, "mlp.norm");
    SundogBufferId gate = linear(builder, norm, SUNDOG_TENSOR_MLP_GATE, "mlp.gate", mlp_size);
    SundogBufferId up = linear(builder, norm, SUNDOG_TENSOR_MLP_UP, "mlp.up", mlp_size);
    SundogBufferId hidden = sundog_builder_temporary(builder, "mlp.hidden", mlp_size);
    const SundogParameter function = {.i = SUNDOG_GATE_SILU};
    sundog_builder_emit_with(builder, SUNDOG_OP_GATE, &function, gate, up, hidden);
    SundogBufferId down = linear(builder, hidden, SUNDOG_TENSOR_MLP_DOWN, "mlp.down", hidden_size);
    SundogBufferId y = sundog_builder_temporary(builder, "mlp.sum", hidden_size);
    sundog_builder_emit(builder, SUNDOG_OP_ADD, down, x, y);
    return y;
}

void
sundog_component_head(SundogBuilder *builder, SundogBufferId x)
{
    const SundogModelDimensions *dimensions = builder->dimensions;
    bool is_tied = sundog_model_get_tensor(builder->model, SUNDOG_TENSOR_OUTPUT, 0) == NULL;
    builder->n_rows = sundog_builder_variable(builder, SUNDOG_VARIABLE_LOGIT_ROWS);
    SundogBufferId rows = sundog_builder_temporary(builder, "head.rows", dimensions->hidden_size);
    sundog_builder_emit(builder, SUNDOG_OP_GATHER_ROWS, x, builder->logit_rows, rows);
    SundogBufferId norm =
        sundog_component_norm(builder, rows, SUNDOG_TENSOR_OUTPUT_NORM, "head.norm");
    SundogBufferId weight = sundog_builder_weight(builder, is_tied ? SUNDOG_TENSOR_TOKEN_EMBEDDING
                                                                   : SUNDOG_TENSOR_OUTPUT);
    const SundogExpression shape[] = {builder->n_rows,
                                      sundog_builder_constant(builder, dimensions->n_vocabulary)};
    SundogBufferId logits =
        sundog_builder_buffer(builder, "logits", SUNDOG_BUFFER_OUTPUT, SUNDOG_DTYPE_F32, 2, shape);
    sundog_builder_emit(builder, SUNDOG_OP_LINEAR, norm, weight, SUNDOG_BUFFER_NONE,
                        SUNDOG_BUFFER_NONE, logits, builder->workspace);
}
