/* From rows to results: vectors of texts, and scores of pairs of texts. */

#include "engine/recipe/components.h"
#include "kernels/contract/pool.h"

/* The buffer of a part of the head; the last one's is the output. */
static SundogBufferId
add_rows(SundogBuilder *builder, const char *name, int64_t n_columns, bool is_last)
{
    const SundogExpression shape[] = {builder->n_rows, sundog_builder_constant(builder, n_columns)};
    return is_last ? sundog_builder_buffer(builder, "result", SUNDOG_BUFFER_OUTPUT,
                                           SUNDOG_DTYPE_F32, 2, shape)
                   : sundog_builder_temporary(builder, name, n_columns);
}

static SundogBufferId
emit_pool(SundogBuilder *builder, SundogBufferId x, bool is_last)
{
    static const SundogPool pools[] = {[SUNDOG_POOLING_MEAN] = SUNDOG_POOL_MEAN,
                                       [SUNDOG_POOLING_FIRST] = SUNDOG_POOL_FIRST,
                                       [SUNDOG_POOLING_LAST] = SUNDOG_POOL_LAST};
    const SundogParameter pooling = {.i = pools[builder->dimensions->pooled.pooling]};
    builder->n_rows = sundog_builder_variable(builder, SUNDOG_VARIABLE_SEQUENCES);
    SundogBufferId y = add_rows(builder, "head.pooled", builder->dimensions->hidden_size, is_last);
    sundog_builder_emit_with(builder, SUNDOG_OP_POOL, &pooling, x, builder->first_row, y);
    return y;
}

static SundogBufferId
emit_linear(SundogBuilder *builder, SundogBufferId x, SundogTensorRole role, SundogTensorRole bias,
            SundogBufferId y)
{
    SundogBufferId weight = sundog_builder_weight(builder, role);
    SundogBufferId added = sundog_builder_optional_weight(builder, bias);
    sundog_builder_emit(builder, SUNDOG_OP_LINEAR, x, weight, added, SUNDOG_BUFFER_NONE, y,
                        builder->workspace);
    return y;
}

static bool
has(const SundogBuilder *builder, SundogTensorRole role)
{
    return sundog_model_get_tensor(builder->model, role, 0) != NULL;
}

/* The two products of EmbeddingGemma, with nothing between. */
static void
emit_dense(SundogBuilder *builder, SundogBufferId x)
{
    const SundogPooledDimensions *pooled = &builder->dimensions->pooled;
    SundogBufferId up = add_rows(builder, "head.dense", pooled->dense_size, false);
    emit_linear(builder, x, SUNDOG_TENSOR_POOLED_DENSE_UP, SUNDOG_TENSOR_NONE, up);
    SundogBufferId down = add_rows(builder, "head.down", pooled->n_outputs, true);
    emit_linear(builder, up, SUNDOG_TENSOR_POOLED_DENSE_DOWN, SUNDOG_TENSOR_NONE, down);
}

/* A dense layer, where there is one, and the scores. ModernBERT's is normed. */
static void
emit_classifier(SundogBuilder *builder, SundogBufferId x)
{
    const SundogModelDimensions *dimensions = builder->dimensions;
    bool is_normed = has(builder, SUNDOG_TENSOR_CLASS_NORM);
    const SundogParameter curve = {.i = is_normed ? SUNDOG_GATE_GELU : SUNDOG_GATE_TANH};
    if (has(builder, SUNDOG_TENSOR_CLASS_DENSE)) {
        SundogBufferId dense = add_rows(builder, "head.dense", dimensions->hidden_size, false);
        SundogBufferId y = add_rows(builder, "head.activated", dimensions->hidden_size, false);
        emit_linear(builder, x, SUNDOG_TENSOR_CLASS_DENSE, SUNDOG_TENSOR_CLASS_DENSE_BIAS, dense);
        sundog_builder_emit_with(builder, SUNDOG_OP_GATE, &curve, dense, SUNDOG_BUFFER_NONE, y);
        x = y;
    }
    if (is_normed)
        x = sundog_component_layer_norm(builder, x, SUNDOG_TENSOR_CLASS_NORM, SUNDOG_TENSOR_NONE,
                                        "head.classifier_norm");
    SundogBufferId scores = add_rows(builder, "head.scores", dimensions->pooled.n_outputs, true);
    emit_linear(builder, x, SUNDOG_TENSOR_CLASS_OUTPUT, SUNDOG_TENSOR_CLASS_OUTPUT_BIAS, scores);
}

void
sundog_component_result(SundogBuilder *builder, SundogBufferId x)
{
    const SundogPooledDimensions *pooled = &builder->dimensions->pooled;
    bool is_plain = pooled->purpose == SUNDOG_PURPOSE_EMBED && pooled->dense_size == 0;
    SundogBufferId y = emit_pool(builder, x, is_plain);
    /* A head over the vocabulary may lie in the file all the same. */
    sundog_builder_ignore(builder, SUNDOG_TENSOR_OUTPUT);
    if (pooled->purpose == SUNDOG_PURPOSE_RERANK)
        emit_classifier(builder, y);
    else if (pooled->dense_size > 0)
        emit_dense(builder, y);
}
