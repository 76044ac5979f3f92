/* The pass that gives a fused program the types of the CUDA kernels. */

#include "kernels/contract/cuda.h"
#include "engine/prepare/lower-elements.h"
#include "engine/prepare/lower-products.h"
#include "engine/prepare/lower.h"
#include "engine/prepare/passes.h"

enum { ROPE_K_PAGES = 5, ROPE_V_PAGES, ATTENTION_O = 6, ATTENTION_WORKSPACE };

/* Room for the parts of all blocks: heads of a group, their values, greatest and sum in float32. */
static void
enlarge_workspace(SundogProgram *program, const SundogOperation *attention)
{
    int64_t per_group = attention->parameters[0].i / attention->parameters[1].i;
    int64_t part_bytes =
        SUNDOG_CUDA_PART_FLOATS(attention->parameters[2].i) * (int64_t)sizeof(float);
    SundogBufferId id = attention->arguments[ATTENTION_WORKSPACE];
    SundogExpressionPool *pool = sundog_program_edit_expressions(program);
    SundogExpression needed =
        sundog_expression_constant(pool, SUNDOG_LOWER_ATTENTION_BLOCKS * per_group * part_bytes);
    sundog_program_set_buffer_dimension(
        program, id, 1,
        sundog_expression_binary(pool, SUNDOG_EXPRESSION_MAX,
                                 sundog_program_get_buffer(program, id)->shape[1], needed));
}

/* What is added as it is, and stays float32: of products all but their first argument, and terms of sums. */
static void
keep_terms(const SundogOperation *operation, bool *is_rounded)
{
    bool is_sum = operation->kind == SUNDOG_OP_ADD;
    for (int a = is_sum ? 0 : 1; a < SUNDOG_MAX_ARGUMENTS; a++)
        if ((is_sum || sundog_lower_is_product(operation->kind)) &&
            operation->arguments[a] != SUNDOG_BUFFER_NONE)
            is_rounded[operation->arguments[a]] = false;
}

/* What products read, of one matrix or of experts, their first argument, and nothing else adds. */
static bool *
find_product_inputs(const SundogProgram *program)
{
    bool *is_input = g_new0(bool, sundog_program_get_n_buffers(program) + 1);
    uint32_t n = sundog_program_get_n_operations(program);
    for (uint32_t i = 0; i < n; i++) {
        const SundogOperation *operation = sundog_program_get_operation(program, i);
        if (sundog_lower_is_product(operation->kind) || operation->kind == SUNDOG_OP_GATHER_EXPERTS)
            is_input[operation->arguments[0]] = true;
    }
    for (uint32_t i = 0; i < n; i++)
        keep_terms(sundog_program_get_operation(program, i), is_input);
    return is_input;
}

/* The buffer that the operation writes, without having read it. */
static SundogBufferId
find_result(const SundogOperation *operation)
{
    const SundogArgumentInfo *arguments = sundog_operations[operation->kind].arguments;
    SundogBufferId result = SUNDOG_BUFFER_NONE;
    for (int i = 0; arguments[i].name != NULL; i++)
        if ((arguments[i].access & SUNDOG_ACCESS_UPDATE) == SUNDOG_ACCESS_WRITE)
            result = operation->arguments[i];
    return result;
}

/* A buffer like another, in bf16. */
static SundogBufferId
add_rounded(SundogProgram *program, SundogBufferId id, uint32_t index)
{
    g_autofree char *name =
        g_strdup_printf("%s.rounded.%u", sundog_program_get_buffer(program, id)->name, index);
    SundogBuffer rounded = *sundog_program_get_buffer(program, id);
    rounded.name = name;
    rounded.role = SUNDOG_BUFFER_TEMPORARY;
    rounded.dtype = SUNDOG_DTYPE_BF16;
    return sundog_program_add_buffer(program, &rounded);
}

/* Products of float32, such as those of a residual stream that no norm comes before, get it rounded. */
static void
round_inputs(SundogProgram *program)
{
    uint32_t n = sundog_program_get_n_operations(program), n_made = 0;
    g_autofree SundogOperation *operations = g_new(SundogOperation, 2 * n + 1);
    for (uint32_t i = 0; i < n; i++) {
        SundogOperation operation = *sundog_program_get_operation(program, i);
        SundogBufferId x = operation.arguments[0];
        if (sundog_lower_is_product(operation.kind) &&
            sundog_program_get_buffer(program, x)->dtype == SUNDOG_DTYPE_F32) {
            operation.arguments[0] = add_rounded(program, x, i);
            SundogOperation scale = {.kind = SUNDOG_OP_SCALE, .parameters = {{.f = 1}}};
            for (int a = 0; a < SUNDOG_MAX_ARGUMENTS; a++)
                scale.arguments[a] = SUNDOG_BUFFER_NONE;
            scale.arguments[0] = x;
            scale.arguments[1] = operation.arguments[0];
            operations[n_made++] = scale;
        }
        operations[n_made++] = operation;
    }
    sundog_program_set_operations(program, operations, n_made);
}

void
sundog_pass_cuda(SundogProgram *program)
{
    g_autofree bool *is_product_input = find_product_inputs(program);
    for (uint32_t i = 0; i < sundog_program_get_n_operations(program); i++) {
        const SundogOperation *operation = sundog_program_get_operation(program, i);
        bool chooses =
            operation->kind == SUNDOG_OP_RMS_NORM || sundog_lower_is_elements(operation->kind);
        SundogBufferId result = find_result(operation);
        if (chooses && result != SUNDOG_BUFFER_NONE && is_product_input[result])
            sundog_program_set_buffer_dtype(program, result, SUNDOG_DTYPE_BF16);
        if (operation->kind == SUNDOG_OP_LINEAR_GATED ||
            operation->kind == SUNDOG_OP_GATHER_EXPERTS ||
            operation->kind == SUNDOG_OP_LINEAR_GATED_EXPERTS)
            sundog_program_set_buffer_dtype(program, result, SUNDOG_DTYPE_BF16);
        if (operation->kind == SUNDOG_OP_ROPE_PAGES)
            for (int a = ROPE_K_PAGES; a <= ROPE_V_PAGES; a++)
                sundog_program_set_buffer_dtype(program, operation->arguments[a],
                                                SUNDOG_DTYPE_BF16);
        if (operation->kind == SUNDOG_OP_ATTENTION) {
            sundog_program_set_buffer_dtype(program, operation->arguments[ATTENTION_O],
                                            SUNDOG_DTYPE_BF16);
            enlarge_workspace(program, operation);
        }
    }
    round_inputs(program);
}
