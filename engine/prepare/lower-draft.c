/* Launches under construction. */

#include "engine/prepare/lower-draft.h"

#include "engine/format/error.h"
#include "kernels/contract/layout.h"

#include <string.h>

static SundogExpressionPool *
pool_of(const SundogLowering *lowering)
{
    return sundog_launch_list_edit_expressions(lowering->list);
}

void
sundog_lowering_fail(SundogLowering *lowering, const char *format, ...)
{
    if (lowering->failed)
        return;
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *text = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    lowering->failed = true;
    g_set_error(lowering->error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_UNSUPPORTED, "%s", text);
}

bool
sundog_lowering_attends_next(const SundogLowering *lowering, uint32_t index)
{
    static const SundogOperationKind expected[] = {SUNDOG_OP_LINEAR_QKV, SUNDOG_OP_ROPE_CACHE,
                                                   SUNDOG_OP_ATTENTION};
    for (uint32_t i = 0; i < G_N_ELEMENTS(expected); i++)
        if (index + i >= sundog_program_get_n_operations(lowering->program) ||
            sundog_program_get_operation(lowering->program, index + i)->kind != expected[i])
            return false;
    return lowering->kind->one_row;
}

bool
sundog_lowering_is_for_few(const SundogLowering *lowering)
{
    return !lowering->kind->is_alike && lowering->kind->max_tokens <= SUNDOG_LOWERING_FEW_TOKENS;
}

SundogExpression
sundog_lowering_constant(const SundogLowering *lowering, int64_t value)
{
    return sundog_expression_constant(pool_of(lowering), value);
}

SundogExpression
sundog_lowering_variable(const SundogLowering *lowering, SundogVariable which)
{
    return sundog_expression_variable(pool_of(lowering), which);
}

SundogExpression
sundog_lowering_binary(const SundogLowering *lowering, SundogExpressionKind kind,
                       SundogExpression left, SundogExpression right)
{
    return sundog_expression_binary(pool_of(lowering), kind, left, right);
}

const SundogBuffer *
sundog_lowering_get_buffer(const SundogLowering *lowering, SundogBufferId id)
{
    return sundog_program_get_buffer(lowering->program, id);
}

int64_t
sundog_lowering_get_columns(const SundogLowering *lowering, SundogBufferId id)
{
    const SundogBuffer *buffer = sundog_lowering_get_buffer(lowering, id);
    int64_t value = 0;
    sundog_expression_get_constant(pool_of(lowering), buffer->shape[buffer->rank - 1], &value);
    return value;
}

int64_t
sundog_lowering_get_rows(const SundogLowering *lowering, SundogBufferId id)
{
    int64_t value = 0;
    sundog_expression_get_constant(pool_of(lowering),
                                   sundog_lowering_get_buffer(lowering, id)->shape[0], &value);
    return value;
}

void
sundog_draft_begin(const SundogLowering *lowering, SundogDraft *draft, uint32_t first, uint32_t n,
                   const char *module, size_t n_parameter_bytes)
{
    memset(draft, 0, sizeof *draft);
    draft->launch = (SundogLaunch){
        .module = module,
        .first_operation = first,
        .n_operations = n,
        .n_threads = SUNDOG_CUDA_ROW_THREADS,
        .edge = lowering->waits ? SUNDOG_EDGE_PROGRAMMATIC : SUNDOG_EDGE_ORDINARY,
        .waits = lowering->waits,
        .n_parameter_bytes = (uint32_t)n_parameter_bytes,
    };
    for (int d = 0; d < 3; d++)
        draft->launch.grid[d] = sundog_lowering_constant(lowering, 1);
}

SundogLaunchField *
sundog_draft_add_field(const SundogLowering *lowering, SundogDraft *draft, SundogFieldKind kind,
                       size_t at)
{
    g_assert(draft->launch.n_fields < SUNDOG_DRAFT_MAX_FIELDS);
    SundogLaunchField *field = &draft->fields[draft->launch.n_fields++];
    *field = (SundogLaunchField){.kind = kind,
                                 .at = (uint32_t)at,
                                 .buffer = SUNDOG_BUFFER_NONE,
                                 .access = SUNDOG_ACCESS_READ,
                                 .n_bytes = sundog_lowering_constant(lowering, 0),
                                 .value = sundog_lowering_constant(lowering, 0)};
    return field;
}

void
sundog_draft_add_buffer(const SundogLowering *lowering, SundogDraft *draft, size_t at,
                        SundogBufferId id, SundogAccess access)
{
    if (id == SUNDOG_BUFFER_NONE)
        return;
    SundogLaunchField *field = sundog_draft_add_field(lowering, draft, SUNDOG_FIELD_BUFFER, at);
    field->buffer = id;
    field->access = access;
    field->all_bytes = true;
}

void
sundog_draft_add_map(const SundogLowering *lowering, SundogDraft *draft, size_t at,
                     SundogBufferId id, int64_t box_rows)
{
    SundogLaunchField *field = sundog_draft_add_field(lowering, draft, SUNDOG_FIELD_TENSOR_MAP, at);
    field->buffer = id;
    field->all_bytes = true;
    field->value = sundog_lowering_constant(lowering, box_rows);
}

void
sundog_draft_add_value(const SundogLowering *lowering, SundogDraft *draft, size_t at,
                       SundogExpression value)
{
    sundog_draft_add_field(lowering, draft, SUNDOG_FIELD_EXPRESSION, at)->value = value;
}

void
sundog_draft_finish(SundogLowering *lowering, SundogDraft *draft, const char *entry)
{
    draft->launch.entry = entry;
    if (!lowering->failed)
        sundog_launch_list_add_launch(lowering->list, &draft->launch, &draft->parameters,
                                      draft->fields);
}

const char *
sundog_lowering_get_layout_suffix(SundogLowering *lowering, SundogBufferId id)
{
    SundogLayout layout = sundog_lowering_get_buffer(lowering, id)->layout;
    if (!sundog_layout_is_tile(layout))
        sundog_lowering_fail(lowering, "weight \"%s\" lies in %s, which no CUDA kernel reads",
                             sundog_lowering_get_buffer(lowering, id)->name,
                             sundog_layout_name(layout));
    const char *name = sundog_layout_name(layout);
    return strchr(name, '-') + 1;
}
