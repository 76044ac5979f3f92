#pragma once

/*
 * What sizes a buffer, a grid or a loop: constants, variables of the step and constants of the device,
 * combined by a closed set of operations, so that every size can be bounded before anything runs.
 * Expressions are interned in a program's pool and named by index; equal ones have equal indices.
 */

#include "engine/format/reader.h"
#include "engine/format/writer.h"

/* Variables of a step. X(NAME, text) */
#define SUNDOG_VARIABLES(X)                                                                       \
    X(TOKENS, "tokens")                 /* packed rows of the step */                             \
    X(SEQUENCES, "sequences")           /* sequences that have rows in the step */                \
    X(LOGIT_ROWS, "logit_rows")         /* rows whose logits are wanted */                        \
    X(SEQUENCE_PAGES, "sequence_pages") /* width of the page table */                             \
    X(POOL_PAGES, "pool_pages")         /* pages of the paged pool, the null page included */     \
    X(WINDOW_PAGES, "window_pages")     /* the same of layers with a window; 1: all are in one */ \
    X(POOL_STATES, "pool_states")       /* slots of recurrent state, the null one included */     \
    X(HISTORY, "history")               /* tokens that penalties look at */                       \
    X(MASK, "mask")                     /* words of a row's token mask */                         \
    X(BIAS, "bias")                     /* words of a row's biases */                             \
    X(UNITS, "units")                   /* device constant: threads of the host's pool */         \
    X(MULTIPROCESSORS, "multiprocessors") /* device constant of a GPU */

typedef enum {
#define X(name, text) SUNDOG_VARIABLE_##name,
    SUNDOG_VARIABLES(X)
#undef X
        SUNDOG_N_VARIABLES
} SundogVariable;

/* Values or upper bounds of all variables: a shape. */
typedef struct {
    int64_t values[SUNDOG_N_VARIABLES];
} SundogShape;

typedef enum {
    SUNDOG_EXPRESSION_CONSTANT = 1,
    SUNDOG_EXPRESSION_VARIABLE,
    SUNDOG_EXPRESSION_ADD,
    SUNDOG_EXPRESSION_MUL,
    SUNDOG_EXPRESSION_CEIL_DIV,
    SUNDOG_EXPRESSION_MIN,
    SUNDOG_EXPRESSION_MAX,
} SundogExpressionKind;

typedef uint32_t SundogExpression; /* index into the pool */

/* How many nodes one expression may have when written out: evaluation walks it without a table. */
#define SUNDOG_EXPRESSION_MAX_NODES 64

typedef struct SundogExpressionPool SundogExpressionPool;

SundogExpressionPool *sundog_expression_pool_new(void);
/* The same expressions with the same indices, to add to without touching the original. */
SundogExpressionPool *sundog_expression_pool_copy(const SundogExpressionPool *pool);
void sundog_expression_pool_free(SundogExpressionPool *pool);

/* value is at least 0. */
SundogExpression sundog_expression_constant(SundogExpressionPool *pool, int64_t value);
SundogExpression sundog_expression_variable(SundogExpressionPool *pool, SundogVariable variable);
/* Folds constants, and puts them to the right where the order does not matter. */
SundogExpression sundog_expression_binary(SundogExpressionPool *pool, SundogExpressionKind kind,
                                          SundogExpression left, SundogExpression right);
/* True, and the value, where the expression is a constant. */
bool sundog_expression_get_constant(const SundogExpressionPool *pool, SundogExpression expression,
                                    int64_t *value);
/* Saturates at INT64_MAX; all kinds are monotonic, so the value at the bounds is the upper bound
 * (a ceil_div's right side must be a constant). */
int64_t sundog_expression_evaluate(const SundogExpressionPool *pool, SundogExpression expression,
                                   const SundogShape *shape);
/* "6 * ceil_div(tokens, 6)"; owned by the caller. */
char *sundog_expression_print(const SundogExpressionPool *pool, SundogExpression expression);

uint32_t sundog_expression_pool_get_n(const SundogExpressionPool *pool);
/* The binary form is described above the reader in expression.c. */
void sundog_expression_pool_write(const SundogExpressionPool *pool, SundogWriter *writer);
/* NULL where the reader failed. */
SundogExpressionPool *sundog_expression_pool_read(SundogReader *reader);

const char *sundog_variable_name(SundogVariable variable);
/* SUNDOG_N_VARIABLES where there is none of that name. */
SundogVariable sundog_variable_find(const char *name);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogExpressionPool, sundog_expression_pool_free)
