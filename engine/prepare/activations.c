/* The pass that quantizes activations. */

#include "engine/prepare/passes.h"
#include "kernels/contract/activation.h"

#include <string.h>

enum { LINEAR_A = 0, LINEAR_W = 1 };
enum { GATHER_Y = 2, GATED_EXPERTS_WORK = 5, EXPERTS_WORK = 3 };

/* True where an operation takes its first argument quantized with that weight. */
static bool
goes_quantized(const SundogProgram *program, SundogBufferId id)
{
    int64_t n_columns = 0;
    const SundogBuffer *weight = sundog_program_get_buffer(program, id);
    return sundog_layout_is_quantized(weight->layout) &&
           sundog_expression_get_constant(sundog_program_get_expressions(program), weight->shape[1],
                                          &n_columns) &&
           n_columns % SUNDOG_ACTIVATION_BLOCK == 0;
}

/* Whole rows: products of them, and what gathers rows for experts that take them quantized. */
static bool
wants_quantized(const SundogProgram *program, const SundogOperation *operation)
{
    if (operation->kind == SUNDOG_OP_GATHER_EXPERTS)
        return sundog_program_get_buffer(program, operation->arguments[GATHER_Y])->dtype ==
               SUNDOG_DTYPE_A8;
    return operation->kind == SUNDOG_OP_LINEAR &&
           goes_quantized(program, operation->arguments[LINEAR_W]);
}

/* Gathered rows are quantized where they are made: a tile an entry of the work list. */
static void
quantize_gathered(SundogProgram *program)
{
    for (uint32_t i = 0; i < sundog_program_get_n_operations(program); i++) {
        const SundogOperation *operation = sundog_program_get_operation(program, i);
        bool is_gated = operation->kind == SUNDOG_OP_LINEAR_GATED_EXPERTS;
        if ((!is_gated && operation->kind != SUNDOG_OP_LINEAR_EXPERTS) ||
            !goes_quantized(program, operation->arguments[LINEAR_W]))
            continue;
        SundogBufferId work = operation->arguments[is_gated ? GATED_EXPERTS_WORK : EXPERTS_WORK];
        sundog_program_set_buffer_dtype(program, operation->arguments[LINEAR_A], SUNDOG_DTYPE_A8);
        sundog_program_set_buffer_dimension(program, operation->arguments[LINEAR_A], 0,
                                            sundog_program_get_buffer(program, work)->shape[0]);
    }
}

static SundogBufferId
add_quantized_buffer(SundogProgram *program, SundogBufferId x)
{
    SundogBuffer buffer = *sundog_program_get_buffer(program, x);
    SundogExpressionPool *pool = sundog_program_edit_expressions(program);
    g_autofree char *name = g_strconcat(buffer.name, ".a8", NULL);
    buffer.name = name;
    buffer.dtype = SUNDOG_DTYPE_A8;
    buffer.shape[0] =
        sundog_expression_binary(pool, SUNDOG_EXPRESSION_CEIL_DIV, buffer.shape[0],
                                 sundog_expression_constant(pool, SUNDOG_TILE_TOKENS));
    return sundog_program_add_buffer(program, &buffer);
}

static void
append_quantize(GArray *operations, SundogBufferId x, SundogBufferId a)
{
    SundogOperation operation;
    memset(&operation, 0, sizeof(operation));
    for (int i = 0; i < SUNDOG_MAX_ARGUMENTS; i++)
        operation.arguments[i] = SUNDOG_BUFFER_NONE;
    operation.kind = SUNDOG_OP_QUANTIZE;
    operation.arguments[0] = x;
    operation.arguments[1] = a;
    g_array_append_val(operations, operation);
}

void
sundog_pass_activations(SundogProgram *program)
{
    g_autoptr(GArray) operations = g_array_new(FALSE, FALSE, sizeof(SundogOperation));
    g_autoptr(GHashTable) quantized = g_hash_table_new(NULL, NULL); /* x to its a8, + 1 each */
    quantize_gathered(program);
    for (uint32_t i = 0; i < sundog_program_get_n_operations(program); i++) {
        SundogOperation operation = *sundog_program_get_operation(program, i);
        if (wants_quantized(program, &operation)) {
            SundogBufferId x = operation.arguments[LINEAR_A];
            gpointer known = g_hash_table_lookup(quantized, GUINT_TO_POINTER(x + 1));
            SundogBufferId a =
                known != NULL ? GPOINTER_TO_UINT(known) - 1 : add_quantized_buffer(program, x);
            if (known == NULL)
                append_quantize(operations, x, a);
            g_hash_table_insert(quantized, GUINT_TO_POINTER(x + 1), GUINT_TO_POINTER(a + 1));
            operation.arguments[LINEAR_A] = a;
        }
        g_array_append_val(operations, operation);
    }
    sundog_program_set_operations(program, (const SundogOperation *)operations->data,
                                  operations->len);
}
