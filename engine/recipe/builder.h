#pragma once

/*
 * What components build with: a forward program under construction, the buffers that every layer
 * shares, and short forms for adding buffers and operations. Within this house; one thread.
 *
 * init, then components in order of the forward pass, then finish into a SundogRecipeForward. Components
 * report no failures: the first one is kept, and finish returns it.
 */

#include "engine/recipe/recipe.h"

#define SUNDOG_BUILDER_ROPES 2

/* A rotary embedding and its frequencies, which a layer may name. */
typedef struct {
    const SundogRope *rope;
    SundogBufferId inverse_frequencies;
    double magnitude;
} SundogBuilderRope;

struct SundogBuilder {
    const SundogModel *model;
    const SundogModelDimensions *dimensions;
    const SundogRecipeOptions *options;
    SundogProgram *program;
    GPtrArray *constants; /* of SundogRecipeConstant */
    GHashTable *used; /* names of the tensors that have been asked for, borrowed from the model */
    GError *error;    /* the first failure */
    uint32_t n_caches;
    uint32_t layer; /* that new buffers are named after */

    SundogExpression n_rows; /* of the buffers that components add: tokens, then rows with logits */
    SundogBufferId tokens;
    SundogBufferId positions;
    SundogBufferId token_sequence;
    SundogBufferId page_table;
    SundogBufferId window_table; /* NONE where no layer's window has pages of its own */
    SundogBufferId logit_rows;   /* of models that write text */
    SundogBufferId token_types;  /* NONE where the model has none */
    SundogBufferId first_row;
    SundogBufferId start_position;
    SundogBufferId attention_tiles;
    SundogBufferId workspace; /* one for all operations: its content lives in none but one */
    SundogBuilderRope ropes[SUNDOG_BUILDER_ROPES];
    SundogBufferId query_scales; /* by position; NONE where queries are not scaled so */
};

/* Adds the step's inputs, rotary frequencies, the plan of attention and the workspace. To be finished
 * also on failure. */
void sundog_builder_init(SundogBuilder *builder, const SundogModel *model,
                         const SundogRecipeOptions *options);
/* Fails where the model has a tensor that nothing has asked for. */
void sundog_builder_refuse_unused(SundogBuilder *builder);
bool sundog_builder_finish(SundogBuilder *builder, SundogRecipeForward *forward, GError **error);

SundogExpression sundog_builder_constant(SundogBuilder *builder, int64_t value);
SundogExpression sundog_builder_variable(SundogBuilder *builder, SundogVariable variable);

/* A temporary [n_rows, n_columns] f32, named after the layer. */
SundogBufferId sundog_builder_temporary(SundogBuilder *builder, const char *name,
                                        int64_t n_columns);
/* The facts of the present layer. */
const SundogLayer *sundog_builder_layer(const SundogBuilder *builder);
/* The tensor of a role in the present layer; NULL and a failure where the model has none. */
const SundogTensor *sundog_builder_tensor(SundogBuilder *builder, SundogTensorRole role);
/* The same as a weight. */
SundogBufferId sundog_builder_weight(SundogBuilder *builder, SundogTensorRole role);
/* Leaves out a tensor that files hold and that the family's own code does not read. */
void sundog_builder_ignore(SundogBuilder *builder, SundogTensorRole role);
/* SUNDOG_BUFFER_NONE where the model has none. */
SundogBufferId sundog_builder_optional_weight(SundogBuilder *builder, SundogTensorRole role);
/* A weight of one row that the recipe computes; takes the values. */
SundogBufferId sundog_builder_row(SundogBuilder *builder, const char *name, float *values,
                                  uint32_t n_values);
/* The rotary embedding of the present layer; NULL where it rotates nothing. */
const SundogBuilderRope *sundog_builder_rope(const SundogBuilder *builder);
/* Where a sequence's recurrent state lies: an input that is added when it is first asked for. */
SundogBufferId sundog_builder_state_slot(SundogBuilder *builder);
/* Any buffer; sizes beyond the rank are ignored. */
SundogBufferId sundog_builder_buffer(SundogBuilder *builder, const char *name,
                                     SundogBufferRole role, SundogDtype dtype, uint32_t rank,
                                     const SundogExpression *shape);

/* Appends an operation with its arguments in the order of the table. */
#define sundog_builder_emit(builder, kind, ...)               \
    sundog_builder_emit_list(                                 \
        builder, kind, (const SundogBufferId[]){__VA_ARGS__}, \
        sizeof((const SundogBufferId[]){__VA_ARGS__}) / sizeof(SundogBufferId), NULL)
/* The same with parameters, an array in the order of the table. */
#define sundog_builder_emit_with(builder, kind, parameters, ...) \
    sundog_builder_emit_list(                                    \
        builder, kind, (const SundogBufferId[]){__VA_ARGS__},    \
        sizeof((const SundogBufferId[]){__VA_ARGS__}) / sizeof(SundogBufferId), parameters)
void sundog_builder_emit_list(SundogBuilder *builder, SundogOperationKind kind,
                              const SundogBufferId *arguments, size_t n_arguments,
                              const SundogParameter *parameters);
