/* The pass that decides how each weight lies in the core. */

#include "engine/format/error.h"
#include "engine/prepare/convert.h"
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

/* What a weight is used for, as far as it decides how exact it must stay. */
typedef struct {
    bool *is_matrix;
    bool *is_router; /* chooses experts: a choice is all or nothing, and the matrix small */
    int64_t n_vocabulary;
} Uses;

static int64_t
count_rows(const SundogProgram *program, SundogBufferId id)
{
    int64_t n_rows = 0;
    sundog_expression_get_constant(sundog_program_get_expressions(program),
                                   sundog_program_get_buffer(program, id)->shape[0], &n_rows);
    return n_rows;
}

/* Marks the weights whose products are a router's logits. */
static void
mark_routers(const SundogProgram *program, Uses *uses)
{
    enum { LINEAR_W = 1, LINEAR_Y = 4, ROUTE_LOGITS = 0 };
    uint32_t n = sundog_program_get_n_operations(program);
    g_autofree bool *is_logits = g_new0(bool, sundog_program_get_n_buffers(program) + 1);
    for (uint32_t i = 0; i < n; i++) {
        const SundogOperation *operation = sundog_program_get_operation(program, i);
        if (operation->kind == SUNDOG_OP_ROUTE)
            is_logits[operation->arguments[ROUTE_LOGITS]] = true;
    }
    for (uint32_t i = 0; i < n; i++) {
        const SundogOperation *operation = sundog_program_get_operation(program, i);
        if (operation->kind == SUNDOG_OP_LINEAR && is_logits[operation->arguments[LINEAR_Y]])
            uses->is_router[operation->arguments[LINEAR_W]] = true;
    }
}

static void
uses_init(Uses *uses, const SundogProgram *program)
{
    enum { EMBED_TABLE = 1 };
    *uses = (Uses){.is_matrix = find_matrices(program),
                   .is_router = g_new0(bool, sundog_program_get_n_buffers(program) + 1)};
    for (uint32_t i = 0; i < sundog_program_get_n_operations(program); i++) {
        const SundogOperation *operation = sundog_program_get_operation(program, i);
        if (operation->kind == SUNDOG_OP_EMBED)
            uses->n_vocabulary = count_rows(program, operation->arguments[EMBED_TABLE]);
    }
    mark_routers(program, uses);
}

static void
uses_clear(Uses *uses)
{
    g_free(uses->is_matrix);
    g_free(uses->is_router);
}

/* The type in which the core keeps a matrix. */
static uint32_t
find_type(const SundogProgram *program, SundogBufferId id, const SundogTensor *tensor,
          const Uses *uses, SundogWeights weights)
{
    if (weights == SUNDOG_WEIGHTS_KEEP || uses->is_router[id])
        return tensor->type;
    bool is_table = count_rows(program, id) == uses->n_vocabulary;
    if (is_table)
        weights = weights == SUNDOG_WEIGHTS_F8 ? SUNDOG_WEIGHTS_KEEP : SUNDOG_WEIGHTS_Q8;
    return sundog_quantized_type(tensor, weights);
}

static SundogLayout
matrix_layout(const SundogTensor *tensor, uint32_t type, bool is_for_cuda, GError **error)
{
    SundogLayout layout =
        is_for_cuda ? sundog_layout_for_cuda(type) : sundog_layout_for_gguf_type(type);
    if (layout == 0)
        g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                    "tensor \"%s\" is of type %s, for which there are no kernels here; use a file "
                    "with Q4_0 to Q8_0, Q2_K to Q6_K, IQ4_NL, IQ4_XS, MXFP4, F16, BF16 or F32",
                    tensor->name, sundog_gguf_type_name(tensor->type));
    else if (!sundog_layout_fits(layout, (int64_t)tensor->n_columns))
        g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                    "tensor \"%s\" has %" G_GUINT64_FORMAT " columns, which %s cannot hold",
                    tensor->name, tensor->n_columns, sundog_layout_name(layout));
    else
        return layout;
    return (SundogLayout)0;
}

static bool
lay_out(SundogProgram *program, GHashTable *tensors, const Uses *uses, SundogWeights weights,
        bool is_for_cuda, GError **error)
{
    for (SundogBufferId id = 0; id < sundog_program_get_n_buffers(program); id++) {
        const SundogBuffer *buffer = sundog_program_get_buffer(program, id);
        SundogLayout layout = SUNDOG_LAYOUT_DENSE_F32;
        if (buffer->role != SUNDOG_BUFFER_WEIGHT)
            continue;
        if (uses->is_matrix[id]) {
            const SundogTensor *tensor = g_hash_table_lookup(tensors, buffer->name);
            uint32_t type = find_type(program, id, tensor, uses, weights);
            layout = matrix_layout(tensor, is_for_cuda ? sundog_cuda_type(type) : type, is_for_cuda,
                                   error);
        }
        if (layout == 0)
            return false;
        sundog_program_set_buffer_layout(program, id, layout);
    }
    return true;
}

bool
sundog_pass_layouts(SundogProgram *program, GHashTable *tensors, SundogWeights weights,
                    bool is_for_cuda, GError **error)
{
    Uses uses;
    uses_init(&uses, program);
    bool ok = lay_out(program, tensors, &uses, weights, is_for_cuda, error);
    uses_clear(&uses);
    return ok;
}
