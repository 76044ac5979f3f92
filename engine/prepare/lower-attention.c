/* From operations of attention to launches. */

#include "engine/prepare/lower-attention.h"

#include "engine/prepare/lower.h"
#include "kernels/contract/attention.h"

#define MAX_SPLITS 16
/* Four warps of 16 pairs of a row and a head. */
#define BLOCK_PAIRS 64

static void
set_attention(SundogCudaAttention *attention, const SundogOperation *rope,
              const SundogOperation *operation)
{
    if (rope != NULL) {
        attention->rope_dims = (int32_t)rope->parameters[3].i;
        attention->interleaved = (int32_t)rope->parameters[4].i;
        attention->magnitude = (float)rope->parameters[5].f;
    }
    const SundogParameter *sizes = (operation != NULL ? operation : rope)->parameters;
    attention->n_heads = (int32_t)sizes[0].i;
    attention->n_kv_heads = (int32_t)sizes[1].i;
    attention->head_dim = (int32_t)sizes[2].i;
    attention->scale = operation != NULL ? (float)operation->parameters[3].f : 0;
}

static int64_t
choose_splits(const SundogLowering *lowering, int64_t n_kv_heads)
{
    if (!lowering->kind->one_row)
        return 1;
    /* Few rows come among products of which two share a multiprocessor with each other, so attention has
     * one place on each; more rows have the multiprocessors to themselves. */
    int64_t n_blocks = sundog_lowering_is_for_few(lowering) ? SUNDOG_LOWER_ATTENTION_BLOCKS / 2
                                                            : SUNDOG_LOWER_ATTENTION_BLOCKS;
    return CLAMP(n_blocks / (lowering->kind->max_tokens * n_kv_heads), 1, MAX_SPLITS);
}

/* The result, and where several blocks share a row, room for what each leaves for the last. */
static void
add_attention_result(SundogLowering *lowering, SundogDraft *to, const SundogOperation *operation)
{
    SundogCudaAttention *attention = &to->parameters.attention;
    sundog_draft_add_buffer(lowering, to, offsetof(SundogCudaAttention, o), operation->arguments[6],
                            SUNDOG_ACCESS_WRITE);
    if (attention->n_splits == 1)
        return;
    SundogLaunchField *field = sundog_draft_add_field(lowering, to, SUNDOG_FIELD_BUFFER,
                                                      offsetof(SundogCudaAttention, parts));
    field->buffer = operation->arguments[7];
    field->access = SUNDOG_ACCESS_WRITE;
    field->n_bytes = sundog_lowering_binary(
        lowering, SUNDOG_EXPRESSION_MUL, sundog_lowering_variable(lowering, SUNDOG_VARIABLE_TOKENS),
        sundog_lowering_constant(lowering, (int64_t)attention->n_heads * attention->n_splits *
                                               (attention->head_dim + 2) * 4));
    sundog_draft_add_field(lowering, to, SUNDOG_FIELD_STEP,
                           offsetof(SundogCudaAttention, counters));
}

void
sundog_lower_plan_attention(SundogLowering *lowering, uint32_t index,
                            const SundogOperation *operation)
{
    SundogDraft draft;
    sundog_draft_begin(lowering, &draft, index, 1, "step", sizeof(SundogCudaPlanAttention));
    SundogBufferId tiles = operation->arguments[2];
    /* One less than the tiles' rows, the first of which is the head: the sum is built anew. */
    SundogExpression n_tiles = sundog_lowering_binary(
        lowering, SUNDOG_EXPRESSION_ADD,
        sundog_lowering_binary(lowering, SUNDOG_EXPRESSION_CEIL_DIV,
                               sundog_lowering_variable(lowering, SUNDOG_VARIABLE_TOKENS),
                               sundog_lowering_constant(lowering, SUNDOG_ATTENTION_TILE_ROWS)),
        sundog_lowering_variable(lowering, SUNDOG_VARIABLE_SEQUENCES));
    SUNDOG_DRAFT_READ(SundogCudaPlanAttention, first_row, operation->arguments[0]);
    SUNDOG_DRAFT_READ(SundogCudaPlanAttention, start_position, operation->arguments[1]);
    SUNDOG_DRAFT_WRITE(SundogCudaPlanAttention, tiles, tiles);
    SUNDOG_DRAFT_VALUE(SundogCudaPlanAttention, n_sequences,
                       sundog_lowering_variable(lowering, SUNDOG_VARIABLE_SEQUENCES));
    SUNDOG_DRAFT_VALUE(SundogCudaPlanAttention, n_tiles, n_tiles);
    draft.launch.n_threads = 32;
    sundog_draft_finish(lowering, &draft, "sundog_plan_attention");
}

void
sundog_lower_rope_cache(SundogLowering *lowering, uint32_t index, const SundogOperation *operation)
{
    SundogDraft draft;
    const SundogBufferId *a = operation->arguments;
    sundog_draft_begin(lowering, &draft, index, 1, "attention", sizeof(SundogCudaAttention));
    set_attention(&draft.parameters.attention, operation, NULL);
    sundog_draft_add_buffer(lowering, &draft, offsetof(SundogCudaAttention, qkv), a[0],
                            SUNDOG_ACCESS_UPDATE);
    SUNDOG_DRAFT_READ(SundogCudaAttention, positions, a[1]);
    SUNDOG_DRAFT_READ(SundogCudaAttention, token_sequence, a[2]);
    SUNDOG_DRAFT_READ(SundogCudaAttention, page_table, a[3]);
    SUNDOG_DRAFT_READ(SundogCudaAttention, inverse_frequencies, a[4]);
    sundog_draft_add_buffer(lowering, &draft, offsetof(SundogCudaAttention, k_pages), a[5],
                            SUNDOG_ACCESS_UPDATE);
    sundog_draft_add_buffer(lowering, &draft, offsetof(SundogCudaAttention, v_pages), a[6],
                            SUNDOG_ACCESS_UPDATE);
    SUNDOG_DRAFT_VALUE(SundogCudaAttention, sequence_pages,
                       sundog_lowering_variable(lowering, SUNDOG_VARIABLE_SEQUENCE_PAGES));
    SUNDOG_DRAFT_VALUE(SundogCudaAttention, n_tokens,
                       sundog_lowering_variable(lowering, SUNDOG_VARIABLE_TOKENS));
    draft.launch.grid[0] = sundog_lowering_variable(lowering, SUNDOG_VARIABLE_TOKENS);
    sundog_draft_finish(lowering, &draft, "sundog_rope_cache");
}

void
sundog_lower_attention(SundogLowering *lowering, uint32_t index, const SundogOperation *rope,
                       const SundogOperation *operation)
{
    SundogDraft draft;
    const SundogBufferId *a = operation->arguments;
    sundog_draft_begin(lowering, &draft, index, rope != NULL ? 2 : 1, "attention",
                       sizeof(SundogCudaAttention));
    SundogCudaAttention *attention = &draft.parameters.attention;
    set_attention(attention, rope, operation);
    attention->n_splits = (int32_t)choose_splits(lowering, attention->n_kv_heads);
    attention->rotates = rope != NULL;
    if (operation->parameters[4].i > 0 || operation->parameters[5].f > 0 ||
        a[8] != SUNDOG_BUFFER_NONE)
        sundog_lowering_fail(lowering, "attention with a %s has no CUDA kernel",
                             operation->parameters[4].i > 0   ? "window"
                             : operation->parameters[5].f > 0 ? "soft cap"
                                                              : "sink");
    if (attention->head_dim != 64 && attention->head_dim != 128)
        sundog_lowering_fail(lowering,
                             "attention over heads of %d has no CUDA kernel; known are 64 and 128",
                             attention->head_dim);
    g_autofree char *entry = g_strdup_printf("sundog_attention_%d", attention->head_dim);
    SUNDOG_DRAFT_READ(SundogCudaAttention, qkv, a[0]);
    SUNDOG_DRAFT_READ(SundogCudaAttention, page_table, a[2]);
    SUNDOG_DRAFT_READ(SundogCudaAttention, tiles, a[3]);
    SundogAccess pages = rope != NULL ? SUNDOG_ACCESS_UPDATE : SUNDOG_ACCESS_READ;
    sundog_draft_add_buffer(lowering, &draft, offsetof(SundogCudaAttention, k_pages), a[4], pages);
    sundog_draft_add_buffer(lowering, &draft, offsetof(SundogCudaAttention, v_pages), a[5], pages);
    if (rope != NULL)
        SUNDOG_DRAFT_READ(SundogCudaAttention, inverse_frequencies, rope->arguments[4]);
    add_attention_result(lowering, &draft, operation);
    SUNDOG_DRAFT_VALUE(SundogCudaAttention, sequence_pages,
                       sundog_lowering_variable(lowering, SUNDOG_VARIABLE_SEQUENCE_PAGES));
    int64_t per_group = attention->n_heads / attention->n_kv_heads;
    SundogExpression tiles =
        sundog_lowering_binary(lowering, SUNDOG_EXPRESSION_CEIL_DIV,
                               sundog_lowering_variable(lowering, SUNDOG_VARIABLE_TOKENS),
                               sundog_lowering_constant(lowering, SUNDOG_ATTENTION_TILE_ROWS));
    draft.launch.grid[0] =
        lowering->kind->one_row
            ? sundog_lowering_variable(lowering, SUNDOG_VARIABLE_TOKENS)
            : sundog_lowering_binary(lowering, SUNDOG_EXPRESSION_ADD, tiles,
                                     sundog_lowering_variable(lowering, SUNDOG_VARIABLE_SEQUENCES));
    /* Four warps of 16 pairs of a row and a head. */
    int64_t rows = lowering->kind->one_row ? 1 : SUNDOG_ATTENTION_TILE_ROWS;
    draft.launch.grid[1] =
        sundog_lowering_constant(lowering, attention->n_kv_heads * ((rows * per_group + 63) / 64));
    draft.launch.grid[2] = sundog_lowering_constant(lowering, attention->n_splits);
    draft.launch.n_threads = SUNDOG_CUDA_ATTENTION_THREADS;
    draft.launch.n_shared_bytes =
        (uint32_t)(attention->head_dim * SUNDOG_PAGE_TOKENS * 4 * SUNDOG_CUDA_ATTENTION_PAGES);
    /* Among products of half a multiprocessor each, as choose_ring() says. */
    if (sundog_lowering_is_for_few(lowering))
        draft.launch.n_shared_bytes = SUNDOG_CUDA_HALF_SHARED_BYTES - SUNDOG_CUDA_STATIC_BYTES;
    sundog_draft_finish(lowering, &draft, entry);
}
