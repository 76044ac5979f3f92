/* The pass that decides how each weight lies in the core. */

#include "engine/format/error.h"
#include "engine/prepare/passes.h"
#include "kernels/contract/layout.h"

/* True for weights that some operation takes in panels. */
static bool *
find_matrices(const SundogProgram *program)
{
    bool *is_matrix = g_new0(bool, sundog_program_get_n_buffers(program) + 1);
    for (uint32_t i = 0; i < sundog_program_get_n_operations(program); i++) {
        const SundogOperation *operation = sundog_program_get_operation(program, i);
        for (uint32_t a = 0; a < sundog_operation_n_arguments(operation->kind); a++)
            if (operation->arguments[a] != SUNDOG_BUFFER_NONE &&
                sundog_operation_takes_matrix(operation->kind, a))
                is_matrix[operation->arguments[a]] = true;
    }
    return is_matrix;
}

static SundogLayout
matrix_layout(const SundogTensor *tensor, bool is_for_cuda, GError **error)
{
    SundogLayout layout = is_for_cuda ? sundog_layout_for_cuda(tensor->type)
                                      : sundog_layout_for_gguf_type(tensor->type);
    if (layout == 0)
        g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                    "tensor \"%s\" is of type %s, for which there are no kernels here; use a file "
                    "with %s",
                    tensor->name, sundog_gguf_type_name(tensor->type),
                    is_for_cuda ? "Q4_1, Q8_0 or BF16"
                                : "Q4_0 to Q8_0, Q2_K to Q6_K, IQ4_NL, IQ4_XS, MXFP4, F16, BF16 or "
                                  "F32");
    else if (!sundog_layout_fits(layout, (int64_t)tensor->n_columns))
        g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                    "tensor \"%s\" has %" G_GUINT64_FORMAT " columns, which %s cannot hold",
                    tensor->name, tensor->n_columns, sundog_layout_name(layout));
    else
        return layout;
    return (SundogLayout)0;
}

bool
sundog_pass_layouts(SundogProgram *program, GHashTable *tensors, bool is_for_cuda, GError **error)
{
    g_autofree bool *is_matrix = find_matrices(program);
    for (SundogBufferId id = 0; id < sundog_program_get_n_buffers(program); id++) {
        const SundogBuffer *buffer = sundog_program_get_buffer(program, id);
        SundogLayout layout = SUNDOG_LAYOUT_DENSE_F32;
        if (buffer->role != SUNDOG_BUFFER_WEIGHT)
            continue;
        if (is_matrix[id])
            layout = matrix_layout(g_hash_table_lookup(tensors, buffer->name), is_for_cuda, error);
        if (layout == 0)
            return false;
        sundog_program_set_buffer_layout(program, id, layout);
    }
    return true;
}
