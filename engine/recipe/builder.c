/* A forward program under construction. */

#include "engine/recipe/builder.h"

#include "engine/core/step.h"
#include "engine/format/error.h"
#include "engine/recipe/components.h"
#include "engine/recipe/rope.h"
#include "kernels/contract/attention.h"
#include "kernels/contract/linear.h"

#include <math.h>
#include <string.h>

SundogExpression
sundog_builder_constant(SundogBuilder *builder, int64_t value)
{
    return sundog_expression_constant(sundog_program_edit_expressions(builder->program), value);
}

SundogExpression
sundog_builder_variable(SundogBuilder *builder, SundogVariable variable)
{
    return sundog_expression_variable(sundog_program_edit_expressions(builder->program), variable);
}

static SundogExpression
add_expressions(SundogBuilder *builder, SundogExpression left, SundogExpression right)
{
    return sundog_expression_binary(sundog_program_edit_expressions(builder->program),
                                    SUNDOG_EXPRESSION_ADD, left, right);
}

SundogBufferId
sundog_builder_buffer(SundogBuilder *builder, const char *name, SundogBufferRole role,
                      SundogDtype dtype, uint32_t rank, const SundogExpression *shape)
{
    SundogBuffer buffer = {.name = name, .role = role, .dtype = dtype, .rank = rank};
    memcpy(buffer.shape, shape, rank * sizeof(*shape));
    return sundog_program_add_buffer(builder->program, &buffer);
}

SundogBufferId
sundog_builder_temporary(SundogBuilder *builder, const char *name, int64_t n_columns)
{
    g_autofree char *full = g_strdup_printf("%u.%s", builder->layer, name);
    const SundogExpression shape[] = {builder->n_rows, sundog_builder_constant(builder, n_columns)};
    return sundog_builder_buffer(builder, full, SUNDOG_BUFFER_TEMPORARY, SUNDOG_DTYPE_F32, 2,
                                 shape);
}

static SundogBufferId
add_weight(SundogBuilder *builder, const char *name, int64_t n_rows, int64_t n_columns)
{
    const SundogExpression shape[] = {sundog_builder_constant(builder, n_rows),
                                      sundog_builder_constant(builder, n_columns)};
    SundogBufferId known = sundog_program_find_buffer(builder->program, name);
    /* A tied head names the embedding again. */
    return known != SUNDOG_BUFFER_NONE ? known
                                       : sundog_builder_buffer(builder, name, SUNDOG_BUFFER_WEIGHT,
                                                               SUNDOG_DTYPE_WEIGHT, 2, shape);
}

const SundogLayer *
sundog_builder_layer(const SundogBuilder *builder)
{
    return &builder->dimensions->layers[builder->layer];
}

static const SundogTensor *
find_tensor(SundogBuilder *builder, SundogTensorRole role)
{
    const SundogTensor *tensor = sundog_model_get_tensor(builder->model, role, builder->layer);
    if (tensor != NULL)
        g_hash_table_add(builder->used, (gpointer)tensor->name);
    return tensor;
}

const SundogTensor *
sundog_builder_tensor(SundogBuilder *builder, SundogTensorRole role)
{
    const SundogTensor *tensor = find_tensor(builder, role);
    if (tensor != NULL || builder->error != NULL)
        return tensor;
    g_autofree char *name = sundog_model_dup_tensor_name(role, builder->layer);
    g_set_error(&builder->error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID,
                "the tensor %s is missing", name);
    return NULL;
}

void
sundog_builder_ignore(SundogBuilder *builder, SundogTensorRole role)
{
    find_tensor(builder, role);
}

static SundogBufferId
add_tensor(SundogBuilder *builder, const SundogTensor *tensor)
{
    return tensor != NULL ? add_weight(builder, tensor->name, (int64_t)tensor->n_rows,
                                       (int64_t)tensor->n_columns)
                          : SUNDOG_BUFFER_NONE;
}

SundogBufferId
sundog_builder_weight(SundogBuilder *builder, SundogTensorRole role)
{
    return add_tensor(builder, sundog_builder_tensor(builder, role));
}

SundogBufferId
sundog_builder_optional_weight(SundogBuilder *builder, SundogTensorRole role)
{
    return add_tensor(builder, find_tensor(builder, role));
}

void
sundog_builder_emit_list(SundogBuilder *builder, SundogOperationKind kind,
                         const SundogBufferId *arguments, size_t n_arguments,
                         const SundogParameter *parameters)
{
    SundogOperation operation;
    memset(&operation, 0, sizeof(operation));
    g_assert(n_arguments == sundog_operation_n_arguments(kind));
    operation.kind = kind;
    for (size_t i = 0; i < SUNDOG_MAX_ARGUMENTS; i++)
        operation.arguments[i] = i < n_arguments ? arguments[i] : SUNDOG_BUFFER_NONE;
    if (parameters != NULL)
        memcpy(operation.parameters, parameters,
               sundog_operation_n_parameters(kind) * sizeof(*parameters));
    sundog_program_add_operation(builder->program, &operation);
}

static SundogBufferId
add_input(SundogBuilder *builder, const char *name, SundogVariable first)
{
    const SundogExpression shape[] = {sundog_builder_variable(builder, first)};
    return sundog_builder_buffer(builder, name, SUNDOG_BUFFER_INPUT, SUNDOG_DTYPE_I32, 1, shape);
}

SundogBufferId
sundog_builder_state_slot(SundogBuilder *builder)
{
    SundogBufferId known = sundog_program_find_buffer(builder->program, "state_slot");
    return known != SUNDOG_BUFFER_NONE
               ? known
               : add_input(builder, "state_slot", SUNDOG_VARIABLE_SEQUENCES);
}

static void
add_inputs(SundogBuilder *builder)
{
    const SundogExpression pages[] = {
        sundog_builder_variable(builder, SUNDOG_VARIABLE_SEQUENCES),
        sundog_builder_variable(builder, SUNDOG_VARIABLE_SEQUENCE_PAGES)};
    builder->tokens = add_input(builder, "tokens", SUNDOG_VARIABLE_TOKENS);
    builder->positions = add_input(builder, "positions", SUNDOG_VARIABLE_TOKENS);
    builder->token_sequence = add_input(builder, "token_sequence", SUNDOG_VARIABLE_TOKENS);
    builder->page_table = sundog_builder_buffer(builder, "page_table", SUNDOG_BUFFER_INPUT,
                                                SUNDOG_DTYPE_I32, 2, pages);
    builder->window_table = SUNDOG_BUFFER_NONE;
    if (builder->options->bounds.values[SUNDOG_VARIABLE_WINDOW_PAGES] > 1)
        builder->window_table = sundog_builder_buffer(builder, "window_table", SUNDOG_BUFFER_INPUT,
                                                      SUNDOG_DTYPE_I32, 2, pages);
    builder->logit_rows = builder->token_types = SUNDOG_BUFFER_NONE;
    if (builder->dimensions->pooled.purpose == SUNDOG_PURPOSE_GENERATE)
        builder->logit_rows = add_input(builder, "logit_rows", SUNDOG_VARIABLE_LOGIT_ROWS);
    if (builder->dimensions->pooled.n_token_types > 0)
        builder->token_types = add_input(builder, "token_types", SUNDOG_VARIABLE_TOKENS);
}

SundogBufferId
sundog_builder_row(SundogBuilder *builder, const char *name, float *values, uint32_t n_values)
{
    SundogRecipeConstant *constant = g_new0(SundogRecipeConstant, 1);
    *constant =
        (SundogRecipeConstant){.name = g_strdup(name), .values = values, .n_values = n_values};
    g_ptr_array_add(builder->constants, constant);
    return add_weight(builder, name, 1, n_values);
}

static bool
has_layer_with(const SundogBuilder *builder, const SundogRope *rope)
{
    for (uint32_t i = 0; i < builder->dimensions->n_layers; i++)
        if (builder->dimensions->layers[i].rope == rope)
            return true;
    return false;
}

/* Frequencies as a constant of the recipe; nothing where no layer rotates so. */
static void
add_rope(SundogBuilder *builder, SundogBuilderRope *to, const SundogRope *rope, const char *name,
         const SundogTensor *factors)
{
    uint32_t n = rope->n_dims / 2;
    if (builder->error != NULL || !has_layer_with(builder, rope))
        return;
    float *frequencies = sundog_rope_dup_inverse_frequencies(rope, factors, &builder->error);
    if (frequencies == NULL)
        return;
    *to = (SundogBuilderRope){.rope = rope,
                              .inverse_frequencies =
                                  sundog_builder_row(builder, name, frequencies, n),
                              .magnitude = sundog_rope_get_magnitude(rope)};
}

/* Divisors of the frequencies, where the model has them. LongRoPE (Ding et al. 2024) has some for
 * contexts that it was trained for at first and others for longer ones; which ones hold for a core is
 * the same for all of its requests, since what is cached has been rotated by them. */
static const SundogTensor *
find_factors(SundogBuilder *builder)
{
    const SundogTensor *plain = find_tensor(builder, SUNDOG_TENSOR_ROPE_FACTORS);
    const SundogTensor *of_long = find_tensor(builder, SUNDOG_TENSOR_ROPE_LONG_FACTORS);
    const SundogTensor *of_short = find_tensor(builder, SUNDOG_TENSOR_ROPE_SHORT_FACTORS);
    if (of_long == NULL && of_short == NULL)
        return plain;
    if (of_long == NULL || of_short == NULL)
        g_set_error(&builder->error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID,
                    "the model has one of %s and %s, expected both", "rope_factors_long.weight",
                    "rope_factors_short.weight");
    return builder->options->context_length > builder->dimensions->rope.original_context ? of_long
                                                                                         : of_short;
}

static void
add_ropes(SundogBuilder *builder)
{
    const SundogModelDimensions *dimensions = builder->dimensions;
    const SundogTensor *factors = find_factors(builder);
    add_rope(builder, &builder->ropes[0], &dimensions->rope, "rope.inverse_frequencies", factors);
    add_rope(builder, &builder->ropes[1], &dimensions->window_rope,
             "rope.window.inverse_frequencies", NULL);
}

const SundogBuilderRope *
sundog_builder_rope(const SundogBuilder *builder)
{
    const SundogRope *rope = sundog_builder_layer(builder)->rope;
    for (size_t i = 0; rope != NULL && i < SUNDOG_BUILDER_ROPES; i++)
        if (builder->ropes[i].rope == rope)
            return &builder->ropes[i];
    return NULL;
}

/* Nothing where the context ends before the scale first changes. */
static void
add_query_scales(SundogBuilder *builder)
{
    double beta = builder->dimensions->query_scale_beta;
    uint32_t period = builder->dimensions->query_scale_period;
    uint32_t offset = builder->dimensions->query_scale_offset;
    uint32_t n = (builder->options->context_length + offset + period - 1) / period;
    builder->query_scales = SUNDOG_BUFFER_NONE;
    if (beta == 0 || n < 2)
        return;
    float *scales = g_new(float, n);
    for (uint32_t i = 0; i < n; i++)
        scales[i] = (float)(1 + beta * log1p(i));
    builder->query_scales = sundog_builder_row(builder, "attention.query_scales", scales, n);
}

/* Which rows belong together is the same for all layers: planned once, at the head of the step. */
static void
add_attention_plan(SundogBuilder *builder)
{
    SundogExpressionPool *pool = sundog_program_edit_expressions(builder->program);
    SundogExpression sequences = sundog_builder_variable(builder, SUNDOG_VARIABLE_SEQUENCES);
    SundogExpression one = sundog_builder_constant(builder, 1);
    SundogExpression full =
        sundog_expression_binary(pool, SUNDOG_EXPRESSION_CEIL_DIV, builder->n_rows,
                                 sundog_builder_constant(builder, SUNDOG_ATTENTION_TILE_ROWS));
    const SundogExpression tiles[] = {
        add_expressions(builder, add_expressions(builder, full, sequences), one),
        sundog_builder_constant(builder, 4)};
    const SundogExpression first_rows[] = {add_expressions(builder, sequences, one)};
    builder->first_row = sundog_builder_buffer(builder, "first_row", SUNDOG_BUFFER_INPUT,
                                               SUNDOG_DTYPE_I32, 1, first_rows);
    builder->start_position = add_input(builder, "start_position", SUNDOG_VARIABLE_SEQUENCES);
    const SundogParameter parameters[] = {{.i = builder->dimensions->n_heads},
                                          {.i = builder->dimensions->n_kv_heads}};
    builder->attention_tiles = sundog_builder_buffer(
        builder, "attention_tiles", SUNDOG_BUFFER_TEMPORARY, SUNDOG_DTYPE_I32, 2, tiles);
    sundog_builder_emit_with(builder, SUNDOG_OP_PLAN_ATTENTION, parameters, builder->first_row,
                             builder->start_position, builder->attention_tiles);
}

static void
add_workspace(SundogBuilder *builder)
{
    const SundogModelDimensions *dimensions = builder->dimensions;
    uint32_t n_columns = MAX(MAX(dimensions->hidden_size, dimensions->mlp_size),
                             dimensions->n_heads * dimensions->head_dim);
    if (builder->options->drafts)
        n_columns = MAX(n_columns, 2 * dimensions->hidden_size);
    n_columns = MAX(n_columns, MAX(dimensions->laurel_rank, dimensions->layer_input_size));
    n_columns = MAX(n_columns, MAX(dimensions->experts.size, dimensions->experts.shared_size));
    n_columns =
        MAX(n_columns, dimensions->recurrent.n_value_heads * dimensions->recurrent.value_dim);
    size_t n_bytes = MAX(sundog_linear_workspace_bytes(n_columns),
                         sundog_attention_workspace_bytes(dimensions->head_dim));
    n_bytes = MAX(n_bytes, sundog_component_experts_workspace_bytes(dimensions));
    const SundogExpression shape[] = {sundog_builder_variable(builder, SUNDOG_VARIABLE_UNITS),
                                      sundog_builder_constant(builder, (int64_t)n_bytes)};
    builder->workspace = sundog_builder_buffer(builder, "workspace", SUNDOG_BUFFER_TEMPORARY,
                                               SUNDOG_DTYPE_U8, 2, shape);
}

static void
free_constant(gpointer data)
{
    SundogRecipeConstant *constant = data;
    g_free(constant->name);
    g_free(constant->values);
    g_free(constant);
}

void
sundog_builder_init(SundogBuilder *builder, const SundogModel *model,
                    const SundogRecipeOptions *options)
{
    *builder = (SundogBuilder){
        .model = model,
        .dimensions = sundog_model_get_dimensions(model),
        .options = options,
        .program = sundog_program_new(SUNDOG_PROGRAM_FORWARD),
        .constants = g_ptr_array_new_with_free_func(free_constant),
        .used = g_hash_table_new(g_str_hash, g_str_equal),
    };
    sundog_program_set_bounds(builder->program, &options->bounds);
    bool keeps_state = builder->dimensions->pooled.purpose == SUNDOG_PURPOSE_GENERATE;
    sundog_program_set_use(builder->program,
                           &(SundogProgramUse){.starts_empty = true, .commits_state = keeps_state});
    builder->n_rows = sundog_builder_variable(builder, SUNDOG_VARIABLE_TOKENS);
    add_inputs(builder);
    add_ropes(builder);
    add_query_scales(builder);
    add_attention_plan(builder);
    add_workspace(builder);
}

/* What the recipe has no place for would be left out of the results in silence. */
void
sundog_builder_refuse_unused(SundogBuilder *builder)
{
    for (int role = 0; role < SUNDOG_N_TENSOR_ROLES; role++) {
        for (uint32_t layer = 0; layer < builder->dimensions->n_layers; layer++) {
            const SundogTensor *tensor =
                sundog_model_get_tensor(builder->model, (SundogTensorRole)role, layer);
            if (builder->error != NULL || tensor == NULL ||
                g_hash_table_contains(builder->used, tensor->name))
                continue;
            g_set_error(&builder->error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                        "the tensor %s has no place in a %s model as it is known here",
                        tensor->name, builder->dimensions->architecture);
        }
    }
}

bool
sundog_builder_finish(SundogBuilder *builder, SundogRecipeForward *forward, GError **error)
{
    *forward = (SundogRecipeForward){
        .program = g_steal_pointer(&builder->program),
        .constants = g_steal_pointer(&builder->constants),
        .n_caches = builder->n_caches,
    };
    g_clear_pointer(&builder->used, g_hash_table_unref);
    if (builder->error == NULL)
        return true;
    g_propagate_error(error, g_steal_pointer(&builder->error));
    return false;
}
