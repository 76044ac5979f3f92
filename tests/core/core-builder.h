#pragma once

/*
 * For tests: the smallest core that opens, in parts that a test may change before it is written. Its
 * forward program embeds tokens, gathers rows and multiplies them with the same table.
 */

#include "engine/core/core.h"

#define BUILDER_HIDDEN 32
#define BUILDER_VOCABULARY 40

typedef struct {
    SundogProgram *forward;
    SundogProgram *sample;
    JsonObject *manifest;
    GByteArray *weights;
    char *folder; /* a temporary one, where keys and core lie */
} CoreBuilder;

void core_builder_init(CoreBuilder *builder);
void core_builder_clear(CoreBuilder *builder);

/* Writes and signs the package and opens it as a core; NULL and the error of opening. */
SundogCore *core_builder_open(CoreBuilder *builder, GError **error);

/* A program "forward" as in the core; planned. */
SundogProgram *core_builder_new_forward(void);
/* Places all temporaries one after the other. */
void core_builder_plan(SundogProgram *program);
/* Adds a temporary [tokens, n_columns] f32. */
SundogBufferId core_builder_add_temporary(SundogProgram *program, const char *name,
                                          int64_t n_columns);
/* Adds a matrix of zeros in panels of f32. */
SundogBufferId core_builder_add_matrix(SundogProgram *program, const char *name, int64_t n_rows,
                                       int64_t n_columns);
/* Appends an operation with its arguments, ending with -1. */
void core_builder_add_operation(SundogProgram *program, SundogOperationKind kind, ...);
