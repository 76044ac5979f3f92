#pragma once

/*
 * What components build with: a forward program under construction, the buffers that every layer
 * shares, and short forms for adding buffers and operations. Within this house; one thread.
 *
 * init, then components in order of the forward pass, then steal into a SundogRecipeForward.
 */

#include "engine/recipe/recipe.h"

typedef struct {
    const SundogModel *model;
    const SundogModelDimensions *dimensions;
    const SundogRecipeOptions *options;
    SundogProgram *program;
    GPtrArray *constants; /* of SundogRecipeConstant */
    uint32_t n_caches;
    uint32_t layer; /* that new buffers are named after */

    SundogExpression n_rows; /* of the buffers that components add: tokens, then rows with logits */
    SundogBufferId tokens;
    SundogBufferId positions;
    SundogBufferId token_sequence;
    SundogBufferId page_table;
    SundogBufferId logit_rows;
    SundogBufferId inverse_frequencies;
    SundogBufferId attention_tiles;
    SundogBufferId workspace; /* one for all operations: its content lives in none but one */
    double rope_magnitude;
} SundogBuilder;

/* Adds the step's inputs, rotary frequencies, the plan of attention and the workspace. To be stolen from
 * also on failure. */
bool sundog_builder_init(SundogBuilder *builder, const SundogModel *model,
                         const SundogRecipeOptions *options, GError **error);
void sundog_builder_steal(SundogBuilder *builder, SundogRecipeForward *forward);

SundogExpression sundog_builder_constant(SundogBuilder *builder, int64_t value);
SundogExpression sundog_builder_variable(SundogBuilder *builder, SundogVariable variable);

/* A temporary [n_rows, n_columns] f32, named after the layer. */
SundogBufferId sundog_builder_temporary(SundogBuilder *builder, const char *name,
                                        int64_t n_columns);
/* The weight of a role in the present layer; SUNDOG_BUFFER_NONE where the model has none. */
SundogBufferId sundog_builder_weight(SundogBuilder *builder, SundogTensorRole role);
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
