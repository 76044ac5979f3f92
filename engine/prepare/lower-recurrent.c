/* One launch an operation: of short_conv a block some channels and rows, of the others a block some values of a
 * head and a sequence. */

#include "engine/prepare/lower-recurrent.h"

#include "kernels/contract/recurrent.h"

/* Where slots begin among the arguments: rows, starts, slots, state. */
typedef enum { CONV_SLOTS = 3, SPACE_SLOTS = 5, DELTA_SLOTS = 5 } SlotsAt;

bool
sundog_lower_is_recurrent(SundogOperationKind kind)
{
    return kind == SUNDOG_OP_SHORT_CONV || kind == SUNDOG_OP_GATED_DELTA ||
           kind == SUNDOG_OP_STATE_SPACE;
}

static int32_t
get_columns(const SundogLowering *lowering, SundogBufferId id)
{
    return (int32_t)sundog_lowering_get_columns(lowering, id);
}

/* The kernels read float32 alone, as dense weights are. */
static void
check_types(SundogLowering *lowering, const SundogOperation *operation, int n_inputs)
{
    for (int i = 0; i < n_inputs; i++) {
        if (operation->arguments[i] == SUNDOG_BUFFER_NONE)
            continue;
        const SundogBuffer *buffer = sundog_lowering_get_buffer(lowering, operation->arguments[i]);
        if (buffer->role != SUNDOG_BUFFER_WEIGHT && buffer->dtype != SUNDOG_DTYPE_F32)
            sundog_lowering_fail(lowering, "%s of \"%s\", which is not f32, has no CUDA kernel",
                                 sundog_operations[operation->kind].name, buffer->name);
    }
}

/* The first field of either struct of parameters, and the launch's number of sequences. */
static void
add_slots(SundogLowering *lowering, SundogDraft *draft, const SundogBufferId *slots)
{
    enum { FIRST_ROW, START_POSITION, STATE_SLOT, STATE };
    sundog_draft_add_buffer(lowering, draft, offsetof(SundogCudaSlots, first_row), slots[FIRST_ROW],
                            SUNDOG_ACCESS_READ);
    sundog_draft_add_buffer(lowering, draft, offsetof(SundogCudaSlots, start_position),
                            slots[START_POSITION], SUNDOG_ACCESS_READ);
    sundog_draft_add_buffer(lowering, draft, offsetof(SundogCudaSlots, state_slot),
                            slots[STATE_SLOT], SUNDOG_ACCESS_READ);
    sundog_draft_add_buffer(lowering, draft, offsetof(SundogCudaSlots, state), slots[STATE],
                            SUNDOG_ACCESS_UPDATE);
    sundog_draft_add_value(lowering, draft, offsetof(SundogCudaSlots, n_sequences),
                           sundog_lowering_variable(lowering, SUNDOG_VARIABLE_SEQUENCES));
    sundog_draft_add_value(lowering, draft, offsetof(SundogCudaSlots, n_slots),
                           sundog_lowering_variable(lowering, SUNDOG_VARIABLE_POOL_STATES));
}

static SundogExpression
count_blocks(const SundogLowering *lowering, int64_t n, int64_t per_block)
{
    return sundog_lowering_constant(lowering, (n + per_block - 1) / per_block);
}

static void
lower_conv(SundogLowering *lowering, uint32_t index, const SundogOperation *operation)
{
    enum { X, WEIGHT, BIAS, Y = CONV_SLOTS + 4 };
    SundogDraft draft;
    const SundogBufferId *a = operation->arguments;
    int32_t n_channels = get_columns(lowering, a[X]);
    sundog_draft_begin(lowering, &draft, index, 1, "recurrent", sizeof(SundogCudaShortConv));
    draft.parameters.short_conv =
        (SundogCudaShortConv){.n_channels = n_channels,
                              .width = (int32_t)operation->parameters[0].i,
                              .silu = operation->parameters[1].i != 0};
    add_slots(lowering, &draft, a + CONV_SLOTS);
    SUNDOG_DRAFT_READ(SundogCudaShortConv, x, a[X]);
    SUNDOG_DRAFT_READ(SundogCudaShortConv, weight, a[WEIGHT]);
    SUNDOG_DRAFT_READ(SundogCudaShortConv, bias, a[BIAS]);
    SUNDOG_DRAFT_WRITE(SundogCudaShortConv, y, a[Y]);
    draft.launch.grid[0] = count_blocks(lowering, n_channels, SUNDOG_CUDA_ROW_THREADS);
    draft.launch.grid[1] = sundog_lowering_binary(
        lowering, SUNDOG_EXPRESSION_CEIL_DIV, sundog_lowering_get_buffer(lowering, a[Y])->shape[0],
        sundog_lowering_constant(lowering, SUNDOG_CUDA_CONV_ROWS));
    check_types(lowering, operation, CONV_SLOTS);
    sundog_draft_finish(lowering, &draft, "sundog_short_conv");
}

/* The kernel for the least number of keys that holds them. */
static void
finish_heads(SundogLowering *lowering, SundogDraft *draft, const SundogOperation *operation)
{
    const SundogCudaHeadState *heads = &draft->parameters.head_state;
    int32_t n_keys = 16;
    while (n_keys < heads->n_keys)
        n_keys *= 2;
    if (n_keys > SUNDOG_DELTA_MAX_DIM)
        sundog_lowering_fail(lowering, "%s of %d keys has no CUDA kernel",
                             sundog_operations[operation->kind].name, heads->n_keys);
    g_autofree char *entry =
        g_strdup_printf("sundog_%s_%d", sundog_operations[operation->kind].name, n_keys);
    draft->launch.n_threads = SUNDOG_CUDA_STATE_THREADS;
    draft->launch.grid[0] = sundog_lowering_constant(lowering, heads->n_heads);
    draft->launch.grid[1] = count_blocks(lowering, heads->n_values, SUNDOG_CUDA_STATE_COLUMNS);
    draft->launch.grid[2] = sundog_lowering_variable(lowering, SUNDOG_VARIABLE_SEQUENCES);
    sundog_draft_finish(lowering, draft, entry);
}

static void
lower_delta(SundogLowering *lowering, uint32_t index, const SundogOperation *operation)
{
    enum { QKV, BETA, ALPHA, DECAY, STEP, Y = DELTA_SLOTS + 4 };
    SundogDraft draft;
    const SundogBufferId *a = operation->arguments;
    const SundogParameter *p = operation->parameters;
    sundog_draft_begin(lowering, &draft, index, 1, "recurrent", sizeof(SundogCudaHeadState));
    draft.parameters.head_state = (SundogCudaHeadState){.n_columns = get_columns(lowering, a[QKV]),
                                                        .n_heads = get_columns(lowering, a[BETA]),
                                                        .n_groups = (int32_t)p[0].i,
                                                        .n_keys = (int32_t)p[1].i,
                                                        .n_values = (int32_t)p[2].i,
                                                        .is_tiled = p[3].i != 0};
    add_slots(lowering, &draft, a + DELTA_SLOTS);
    SUNDOG_DRAFT_READ(SundogCudaHeadState, rows, a[QKV]);
    SUNDOG_DRAFT_READ(SundogCudaHeadState, beta, a[BETA]);
    SUNDOG_DRAFT_READ(SundogCudaHeadState, gate, a[ALPHA]);
    SUNDOG_DRAFT_READ(SundogCudaHeadState, decay, a[DECAY]);
    SUNDOG_DRAFT_READ(SundogCudaHeadState, step, a[STEP]);
    SUNDOG_DRAFT_WRITE(SundogCudaHeadState, y, a[Y]);
    check_types(lowering, operation, DELTA_SLOTS);
    finish_heads(lowering, &draft, operation);
}

static void
lower_space(SundogLowering *lowering, uint32_t index, const SundogOperation *operation)
{
    enum { XBC, DT, DECAY, STEP, SKIP, Y = SPACE_SLOTS + 4 };
    SundogDraft draft;
    const SundogBufferId *a = operation->arguments;
    const SundogParameter *p = operation->parameters;
    sundog_draft_begin(lowering, &draft, index, 1, "recurrent", sizeof(SundogCudaHeadState));
    draft.parameters.head_state = (SundogCudaHeadState){.n_columns = get_columns(lowering, a[XBC]),
                                                        .n_heads = get_columns(lowering, a[DT]),
                                                        .n_groups = (int32_t)p[0].i,
                                                        .n_keys = (int32_t)p[1].i,
                                                        .n_values = (int32_t)p[2].i};
    add_slots(lowering, &draft, a + SPACE_SLOTS);
    SUNDOG_DRAFT_READ(SundogCudaHeadState, rows, a[XBC]);
    SUNDOG_DRAFT_READ(SundogCudaHeadState, gate, a[DT]);
    SUNDOG_DRAFT_READ(SundogCudaHeadState, decay, a[DECAY]);
    SUNDOG_DRAFT_READ(SundogCudaHeadState, step, a[STEP]);
    SUNDOG_DRAFT_READ(SundogCudaHeadState, skip, a[SKIP]);
    SUNDOG_DRAFT_WRITE(SundogCudaHeadState, y, a[Y]);
    check_types(lowering, operation, SPACE_SLOTS);
    finish_heads(lowering, &draft, operation);
}

void
sundog_lower_recurrent(SundogLowering *lowering, uint32_t index, const SundogOperation *operation)
{
    if (operation->kind == SUNDOG_OP_SHORT_CONV)
        lower_conv(lowering, index, operation);
    else if (operation->kind == SUNDOG_OP_GATED_DELTA)
        lower_delta(lowering, index, operation);
    else
        lower_space(lowering, index, operation);
}
