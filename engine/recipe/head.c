/* What stands behind the last layer, and before and behind the layer that guesses a token ahead. */

#include "engine/core/step.h"
#include "engine/recipe/components.h"

/* An output [n_rows, n_columns] f32. */
static SundogBufferId
add_output(SundogBuilder *builder, const char *name, int64_t n_columns)
{
    const SundogExpression shape[] = {builder->n_rows, sundog_builder_constant(builder, n_columns)};
    return sundog_builder_buffer(builder, name, SUNDOG_BUFFER_OUTPUT, SUNDOG_DTYPE_F32, 2, shape);
}

/* The product that gives the logits, capped where the model says so. */
static void
emit_logits(SundogBuilder *builder, SundogBufferId x, SundogTensorRole role)
{
    const SundogModelDimensions *dimensions = builder->dimensions;
    const SundogParameter limit = {.f = dimensions->logit_softcap};
    SundogBufferId weight = sundog_builder_weight(builder, role);
    SundogBufferId logits = add_output(builder, "logits", dimensions->n_vocabulary);
    SundogBufferId product = logits;
    if (limit.f > 0)
        product = sundog_builder_temporary(builder, "head.product", dimensions->n_vocabulary);
    sundog_builder_emit(builder, SUNDOG_OP_LINEAR, x, weight,
                        sundog_builder_optional_weight(builder, SUNDOG_TENSOR_OUTPUT_BIAS),
                        SUNDOG_BUFFER_NONE, product, builder->workspace);
    if (limit.f > 0)
        sundog_builder_emit_with(builder, SUNDOG_OP_SOFTCAP, &limit, product, logits);
}

/* The rows whose logits are wanted, from here on the builder's. */
static SundogBufferId
gather_rows(SundogBuilder *builder, SundogBufferId x)
{
    int64_t hidden_size = builder->dimensions->hidden_size;
    builder->n_rows = sundog_builder_variable(builder, SUNDOG_VARIABLE_LOGIT_ROWS);
    SundogBufferId rows = sundog_builder_temporary(builder, "head.rows", hidden_size);
    sundog_builder_emit(builder, SUNDOG_OP_GATHER_ROWS, x, builder->logit_rows, rows);
    return rows;
}

static void
norm_to(SundogBuilder *builder, SundogBufferId x, SundogTensorRole role, SundogBufferId y)
{
    const SundogParameter epsilon = {.f = builder->dimensions->norm_epsilon};
    sundog_builder_emit_with(builder, SUNDOG_OP_RMS_NORM, &epsilon, x,
                             sundog_builder_weight(builder, role), y);
}

/* Rows with logits, normed: some of all that are normed where what guesses needs those. */
static SundogBufferId
norm_rows(SundogBuilder *builder, SundogBufferId x)
{
    if (builder->options->drafts) {
        SundogBufferId hidden =
            add_output(builder, SUNDOG_STEP_HIDDEN, builder->dimensions->hidden_size);
        norm_to(builder, x, SUNDOG_TENSOR_OUTPUT_NORM, hidden);
        return gather_rows(builder, hidden);
    }
    /* LFM2's files name it after the embedding, from which its head is. */
    bool is_embeddings =
        sundog_model_get_tensor(builder->model, SUNDOG_TENSOR_EMBEDDING_NORM, 0) != NULL;
    return sundog_component_norm(
        builder, gather_rows(builder, x),
        is_embeddings ? SUNDOG_TENSOR_EMBEDDING_NORM : SUNDOG_TENSOR_OUTPUT_NORM, "head.norm");
}

/* The head of a role, or where the model has none of its own the one that it shares. */
static SundogTensorRole
find_head(const SundogBuilder *builder, SundogTensorRole own)
{
    if (sundog_model_get_tensor(builder->model, own, builder->layer) != NULL)
        return own;
    return sundog_model_get_tensor(builder->model, SUNDOG_TENSOR_OUTPUT, 0) != NULL
               ? SUNDOG_TENSOR_OUTPUT
               : SUNDOG_TENSOR_TOKEN_EMBEDDING;
}

void
sundog_component_head(SundogBuilder *builder, SundogBufferId x)
{
    if (builder->dimensions->pooled.purpose != SUNDOG_PURPOSE_GENERATE) {
        x = sundog_component_norm(builder, x, SUNDOG_TENSOR_OUTPUT_NORM, "head.norm");
        sundog_component_result(builder, x);
        return;
    }
    SundogBufferId norm = norm_rows(builder, x);
    /* Scaled before the product, which is linear, since there is less to scale. */
    SundogBufferId scaled = sundog_component_scale(builder, norm, builder->dimensions->logit_scale,
                                                   "head.scaled", builder->dimensions->hidden_size);
    emit_logits(builder, scaled, find_head(builder, SUNDOG_TENSOR_OUTPUT));
}

static SundogBufferId
embed_next_tokens(SundogBuilder *builder)
{
    const SundogParameter scale = {.f = builder->dimensions->embedding_scale};
    SundogTensorRole role = SUNDOG_TENSOR_DRAFT_EMBEDDING;
    if (sundog_model_get_tensor(builder->model, role, builder->layer) == NULL)
        role = SUNDOG_TENSOR_TOKEN_EMBEDDING;
    SundogBufferId table = sundog_builder_weight(builder, role);
    SundogBufferId x =
        sundog_builder_temporary(builder, "draft.embedding", builder->dimensions->hidden_size);
    sundog_builder_emit_with(builder, SUNDOG_OP_EMBED, &scale, builder->tokens, table, x);
    return x;
}

SundogBufferId
sundog_component_draft_input(SundogBuilder *builder)
{
    int64_t size = builder->dimensions->hidden_size;
    const SundogExpression shape[] = {builder->n_rows, sundog_builder_constant(builder, size)};
    SundogBufferId hidden = sundog_builder_buffer(builder, SUNDOG_STEP_HIDDEN, SUNDOG_BUFFER_INPUT,
                                                  SUNDOG_DTYPE_F32, 2, shape);
    SundogBufferId token = sundog_component_norm(builder, embed_next_tokens(builder),
                                                 SUNDOG_TENSOR_DRAFT_TOKEN_NORM, "draft.token");
    SundogBufferId row =
        sundog_component_norm(builder, hidden, SUNDOG_TENSOR_DRAFT_HIDDEN_NORM, "draft.hidden");
    /* The operation joins three. */
    SundogBufferId first =
        sundog_component_take(builder, row, "draft.hidden.first", size, 0, size / 2, 1);
    SundogBufferId second = sundog_component_take(builder, row, "draft.hidden.second", size,
                                                  size / 2, size - size / 2, 1);
    SundogBufferId both = sundog_builder_temporary(builder, "draft.both", 2 * size);
    sundog_builder_emit(builder, SUNDOG_OP_JOIN, token, first, second, both);
    return sundog_component_linear(builder, both, SUNDOG_TENSOR_DRAFT_PROJECTION, "draft.input",
                                   size);
}

void
sundog_component_draft_head(SundogBuilder *builder, SundogBufferId x)
{
    SundogTensorRole norm = SUNDOG_TENSOR_DRAFT_OUTPUT_NORM;
    if (sundog_model_get_tensor(builder->model, norm, builder->layer) == NULL)
        norm = SUNDOG_TENSOR_OUTPUT_NORM;
    SundogBufferId rows = gather_rows(builder, x);
    SundogBufferId hidden =
        add_output(builder, SUNDOG_STEP_DRAFT_HIDDEN, builder->dimensions->hidden_size);
    norm_to(builder, rows, norm, hidden);
    SundogBufferId scaled =
        sundog_component_scale(builder, hidden, builder->dimensions->logit_scale, "head.scaled",
                               builder->dimensions->hidden_size);
    emit_logits(builder, scaled, find_head(builder, SUNDOG_TENSOR_DRAFT_OUTPUT));
}
