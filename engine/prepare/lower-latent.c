/* From what attention over latents adds to launches. */

#include "engine/prepare/lower-latent.h"

#include "kernels/contract/layout.h"

enum { HEADS_A, HEADS_W, HEADS_Y };
enum { Q, ABSORBED, LATENT, WEIGHT, QKV };

/* Columns are read by pairs. */
static void
check_heads(SundogLowering *lowering, const SundogCudaLinearHeads *heads)
{
    if (heads->n_columns % 2 != 0 || heads->head_stride % 2 != 0 || heads->offset % 2 != 0)
        sundog_lowering_fail(lowering,
                             "products by heads of %d columns from %d on of %d, not all even, have "
                             "no CUDA kernel",
                             heads->n_columns, heads->offset, heads->head_stride);
}

void
sundog_lower_linear_heads(SundogLowering *lowering, uint32_t index,
                          const SundogOperation *operation)
{
    SundogDraft draft;
    const SundogBufferId *a = operation->arguments;
    bool is_few = lowering->kind->max_tokens <= SUNDOG_CUDA_HEADS_FEW;
    int32_t n_heads = (int32_t)operation->parameters[0].i;
    sundog_draft_begin(lowering, &draft, index, 1, "latent", sizeof(SundogCudaLinearHeads));
    SundogCudaLinearHeads *heads = &draft.parameters.linear_heads;
    *heads = (SundogCudaLinearHeads){
        .a_is_bf16 = sundog_lowering_get_buffer(lowering, a[HEADS_A])->dtype == SUNDOG_DTYPE_BF16,
        .a_stride = (int32_t)sundog_lowering_get_columns(lowering, a[HEADS_A]),
        .offset = (int32_t)operation->parameters[1].i,
        .n_columns = (int32_t)sundog_lowering_get_columns(lowering, a[HEADS_W]),
        .n_rows = (int32_t)sundog_lowering_get_rows(lowering, a[HEADS_W])};
    heads->head_stride = heads->a_stride / n_heads;
    heads->head_rows = heads->n_rows / n_heads;
    check_heads(lowering, heads);
    SUNDOG_DRAFT_READ(SundogCudaLinearHeads, a, a[HEADS_A]);
    SUNDOG_DRAFT_READ(SundogCudaLinearHeads, w, a[HEADS_W]);
    SUNDOG_DRAFT_WRITE(SundogCudaLinearHeads, y, a[HEADS_Y]);
    SundogExpression n_tokens = sundog_lowering_variable(lowering, SUNDOG_VARIABLE_TOKENS);
    SUNDOG_DRAFT_VALUE(SundogCudaLinearHeads, n_tokens, n_tokens);
    draft.launch.n_threads = SUNDOG_CUDA_HEADS_THREADS;
    draft.launch.grid[0] = sundog_lowering_constant(lowering, heads->n_rows / SUNDOG_PANEL_ROWS);
    draft.launch.grid[1] =
        sundog_lowering_binary(lowering, SUNDOG_EXPRESSION_CEIL_DIV, n_tokens,
                               sundog_lowering_constant(lowering, is_few ? SUNDOG_CUDA_HEADS_FEW
                                                                         : SUNDOG_CUDA_HEADS_MANY));
    g_autofree char *entry = g_strdup_printf(
        "sundog_heads_%s_%s", sundog_lowering_get_layout_suffix(lowering, a[HEADS_W]),
        is_few ? "few" : "many");
    sundog_draft_finish(lowering, &draft, entry);
}

void
sundog_lower_latent_qkv(SundogLowering *lowering, uint32_t index, const SundogOperation *operation)
{
    SundogDraft draft;
    const SundogBufferId *a = operation->arguments;
    const SundogParameter *p = operation->parameters;
    sundog_draft_begin(lowering, &draft, index, 1, "latent", sizeof(SundogCudaLatentQkv));
    draft.parameters.latent_qkv = (SundogCudaLatentQkv){
        .n_heads = (int32_t)p[0].i,
        .head_dim = (int32_t)p[2].i,
        .rope_dims = (int32_t)p[3].i,
        .query_columns = (int32_t)(sundog_lowering_get_columns(lowering, a[Q]) / p[0].i),
        .epsilon = (float)p[4].f};
    SUNDOG_DRAFT_READ(SundogCudaLatentQkv, q, a[Q]);
    SUNDOG_DRAFT_READ(SundogCudaLatentQkv, absorbed, a[ABSORBED]);
    SUNDOG_DRAFT_READ(SundogCudaLatentQkv, latent, a[LATENT]);
    SUNDOG_DRAFT_READ(SundogCudaLatentQkv, weight, a[WEIGHT]);
    SUNDOG_DRAFT_WRITE(SundogCudaLatentQkv, qkv, a[QKV]);
    draft.launch.grid[0] = sundog_lowering_variable(lowering, SUNDOG_VARIABLE_TOKENS);
    sundog_draft_finish(lowering, &draft, "sundog_latent_qkv");
}

bool
sundog_lower_attends_latents(const SundogLowering *lowering, const SundogOperation *attention)
{
    for (uint32_t i = 0; i < sundog_program_get_n_operations(lowering->program); i++) {
        const SundogOperation *operation = sundog_program_get_operation(lowering->program, i);
        if (operation->kind == SUNDOG_OP_LATENT_QKV &&
            operation->arguments[QKV] == attention->arguments[0])
            return true;
    }
    return false;
}
