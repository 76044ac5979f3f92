/* Each of these operations is one launch of the entry of its name, with a block a row: what it reads in the
 * order of its arguments, the one buffer that it writes, and its parameters. */

#include "engine/prepare/lower-elements.h"

bool
sundog_lower_is_elements(SundogOperationKind kind)
{
    switch (kind) {
    case SUNDOG_OP_SCALE:
    case SUNDOG_OP_SOFTCAP:
    case SUNDOG_OP_ADD:
    case SUNDOG_OP_SUBTRACT:
    case SUNDOG_OP_MUL:
    case SUNDOG_OP_SCALE_COLUMNS:
    case SUNDOG_OP_SIGMOID_MUL:
    case SUNDOG_OP_GATE:
    case SUNDOG_OP_JOIN:
    case SUNDOG_OP_TAKE:
    case SUNDOG_OP_SCALE_QUERIES:
    case SUNDOG_OP_ROPE:
    case SUNDOG_OP_HEAD_NORM:
    case SUNDOG_OP_GROUP_NORM:
    case SUNDOG_OP_GATED_NORM:
    case SUNDOG_OP_LAYER_NORM:
    case SUNDOG_OP_MIX:
    case SUNDOG_OP_MATCH_NORM:
    case SUNDOG_OP_SPARSIFY:
        return true;
    default:
        return false;
    }
}

static void
add_input(SundogLowering *lowering, SundogDraft *draft, int input, SundogBufferId id)
{
    SundogCudaElements *elements = &draft->parameters.elements;
    size_t at = offsetof(SundogCudaElements, x) + (size_t)input * sizeof(void *);
    sundog_draft_add_buffer(lowering, draft, at, id, SUNDOG_ACCESS_READ);
    if (id == SUNDOG_BUFFER_NONE)
        return;
    elements->columns[input] = (int32_t)sundog_lowering_get_columns(lowering, id);
    elements->is_bf16[input] = sundog_lowering_get_buffer(lowering, id)->dtype == SUNDOG_DTYPE_BF16;
}

static void
add_output(SundogLowering *lowering, SundogDraft *draft, SundogBufferId id, SundogAccess access)
{
    SundogCudaElements *elements = &draft->parameters.elements;
    const SundogBuffer *y = sundog_lowering_get_buffer(lowering, id);
    sundog_draft_add_buffer(lowering, draft, offsetof(SundogCudaElements, y), id, access);
    elements->y_columns = (int32_t)sundog_lowering_get_columns(lowering, id);
    elements->y_is_bf16 = y->dtype == SUNDOG_DTYPE_BF16;
    draft->launch.grid[0] = y->shape[0];
    if (access == SUNDOG_ACCESS_UPDATE && elements->y_is_bf16)
        sundog_lowering_fail(
            lowering, "\"%s\" is changed in place as bf16, which no CUDA kernel does", y->name);
}

static void
set_parameters(SundogCudaElements *elements, const SundogOperation *operation)
{
    const SundogParameterInfo *parameters = sundog_operations[operation->kind].parameters;
    int n_integers = 0;
    for (int i = 0; parameters[i].name != NULL; i++)
        if (parameters[i].is_float)
            elements->number = (float)operation->parameters[i].f;
        else
            elements->integers[n_integers++] = (int32_t)operation->parameters[i].i;
}

void
sundog_lower_elements(SundogLowering *lowering, uint32_t index, const SundogOperation *operation)
{
    SundogDraft draft;
    const SundogOperationInfo *info = &sundog_operations[operation->kind];
    int n_inputs = 0;
    sundog_draft_begin(lowering, &draft, index, 1, "elements", sizeof(SundogCudaElements));
    set_parameters(&draft.parameters.elements, operation);
    for (int i = 0; info->arguments[i].name != NULL; i++) {
        SundogAccess access = info->arguments[i].access & SUNDOG_ACCESS_UPDATE;
        if (access == SUNDOG_ACCESS_READ)
            add_input(lowering, &draft, n_inputs++, operation->arguments[i]);
        else
            add_output(lowering, &draft, operation->arguments[i], access);
    }
    g_autofree char *entry = g_strconcat("sundog_", info->name, NULL);
    sundog_draft_finish(lowering, &draft, entry);
}
