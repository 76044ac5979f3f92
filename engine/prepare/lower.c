/*
 * From operations to launches. A variant of the list is one walk over the program, in which a few
 * patterns join neighbours into one launch:
 *   rms_norm, product        few tokens: each block of the product norms x for itself
 *   linear, rms_norm, linear_gated, linear, rms_norm, linear_qkv
 *                            few tokens, quantized: all that is between two attentions
 *   rope_cache, attention    one row a sequence: attention rotates and stores what it attends with
 */

#include "engine/prepare/lower.h"

#include "engine/format/error.h"
#include "engine/prepare/lower-attention.h"
#include "engine/prepare/lower-chain.h"
#include "engine/prepare/lower-draft.h"
#include "engine/prepare/lower-elements.h"
#include "engine/prepare/lower-experts.h"
#include "engine/prepare/lower-latent.h"
#include "engine/prepare/lower-products.h"
#include "engine/prepare/lower-recurrent.h"
#include "kernels/contract/cubins.h"
#include "kernels/contract/paged-cache.h"
#include "kernels/contract/sample.h"

#include <stdlib.h>
#include <string.h>

const char *const sundog_lower_modules[] = {
    "attend",  "attention", "chain",  "cluster",   "decode", "elements",  "expert-tiles",
    "experts", "flash",     "latent", "linear",    "pool",   "recurrent", "rope-cache",
    "rows",    "sample",    "step",   "warpgroup", "wide",   NULL};

#define NO_TOKENS_LIMIT INT32_MAX
/* Rows up to which clusters are faster than a block a row, however they are sampled. */
#define FEW_SAMPLED_ROWS 16
enum { ROPE_DIMS = 3 };

static const SundogLoweringKind kinds[] = {
    {1, 1, true, false},
    {2, 2, true, false},
    {3, SUNDOG_LOWERING_FEW_TOKENS, true, false},
    {2, SUNDOG_LOWERING_FEW_TOKENS, false, false},
#define BOTH(min_tokens, max_tokens) \
    {min_tokens, max_tokens, true, false}, {min_tokens, max_tokens, false, false},
    BOTH(SUNDOG_LOWERING_FEW_TOKENS + 1, 8) BOTH(9, 16) BOTH(17, 32) BOTH(33, 64) BOTH(65, 128)
        BOTH(129, 256) BOTH(257, 512) BOTH(513, 1024) BOTH(1025, NO_TOKENS_LIMIT)
#undef BOTH
            {1, 8, false, true},
    {9, 16, false, true},
    {17, 32, false, true},
    {33, NO_TOKENS_LIMIT, false, true},
};

/* Kinds of operations whose kernels can be alike. The others' sums follow from how a sequence was cut into steps. */
static bool
can_be_alike(const SundogProgram *program)
{
    static const SundogOperationKind known[] = {
        SUNDOG_OP_EMBED,     SUNDOG_OP_RMS_NORM,    SUNDOG_OP_PLAN_ATTENTION, SUNDOG_OP_ROPE_CACHE,
        SUNDOG_OP_ATTENTION, SUNDOG_OP_GATHER_ROWS, SUNDOG_OP_SAMPLE};
    for (uint32_t i = 0; i < sundog_program_get_n_operations(program); i++) {
        SundogOperationKind kind = sundog_program_get_operation(program, i)->kind;
        bool is_known = sundog_lower_is_product(kind) || sundog_lower_is_elements(kind) ||
                        sundog_lower_is_experts(kind);
        for (size_t k = 0; k < G_N_ELEMENTS(known); k++)
            is_known = is_known || known[k] == kind;
        if (!is_known)
            return false;
    }
    return true;
}

static void
lower_embed(SundogLowering *lowering, uint32_t index, const SundogOperation *operation)
{
    SundogDraft draft;
    sundog_draft_begin(lowering, &draft, index, 1, "rows", sizeof(SundogCudaEmbed));
    SundogBufferId table = operation->arguments[1];
    g_autofree char *entry =
        g_strconcat("sundog_embed_", sundog_lowering_get_layout_suffix(lowering, table), NULL);
    SundogExpression n = sundog_lowering_get_buffer(lowering, operation->arguments[2])->shape[0];
    draft.parameters.embed =
        (SundogCudaEmbed){.n_columns = (int32_t)sundog_lowering_get_columns(lowering, table),
                          .n_vocabulary = (int32_t)sundog_lowering_get_rows(lowering, table),
                          .scale = (float)operation->parameters[0].f};
    SUNDOG_DRAFT_READ(SundogCudaEmbed, tokens, operation->arguments[0]);
    SUNDOG_DRAFT_READ(SundogCudaEmbed, table, table);
    SUNDOG_DRAFT_WRITE(SundogCudaEmbed, x, operation->arguments[2]);
    SUNDOG_DRAFT_VALUE(SundogCudaEmbed, n_tokens, n);
    draft.launch.grid[0] = n;
    sundog_draft_finish(lowering, &draft, entry);
}

static void
lower_rms_norm(SundogLowering *lowering, uint32_t index, const SundogOperation *operation)
{
    SundogDraft draft;
    sundog_draft_begin(lowering, &draft, index, 1, "rows", sizeof(SundogCudaRmsNorm));
    const SundogBuffer *y = sundog_lowering_get_buffer(lowering, operation->arguments[2]);
    draft.parameters.rms_norm = (SundogCudaRmsNorm){
        .n_columns = (int32_t)sundog_lowering_get_columns(lowering, operation->arguments[2]),
        .y_is_bf16 = y->dtype == SUNDOG_DTYPE_BF16,
        .epsilon = (float)operation->parameters[0].f};
    SUNDOG_DRAFT_READ(SundogCudaRmsNorm, x, operation->arguments[0]);
    SUNDOG_DRAFT_READ(SundogCudaRmsNorm, weight, operation->arguments[1]);
    SUNDOG_DRAFT_WRITE(SundogCudaRmsNorm, y, operation->arguments[2]);
    SUNDOG_DRAFT_VALUE(SundogCudaRmsNorm, n_tokens, y->shape[0]);
    draft.launch.grid[0] = y->shape[0];
    sundog_draft_finish(lowering, &draft, "sundog_rms_norm");
}

static void
lower_gather_rows(SundogLowering *lowering, uint32_t index, const SundogOperation *operation)
{
    SundogDraft draft;
    sundog_draft_begin(lowering, &draft, index, 1, "rows", sizeof(SundogCudaGatherRows));
    SundogExpression n = sundog_lowering_get_buffer(lowering, operation->arguments[2])->shape[0];
    draft.parameters.gather_rows.n_columns =
        (int32_t)sundog_lowering_get_columns(lowering, operation->arguments[2]);
    SUNDOG_DRAFT_READ(SundogCudaGatherRows, x, operation->arguments[0]);
    SUNDOG_DRAFT_READ(SundogCudaGatherRows, rows, operation->arguments[1]);
    SUNDOG_DRAFT_WRITE(SundogCudaGatherRows, y, operation->arguments[2]);
    SUNDOG_DRAFT_VALUE(SundogCudaGatherRows, n_rows, n);
    SUNDOG_DRAFT_VALUE(SundogCudaGatherRows, n_from,
                       sundog_lowering_get_buffer(lowering, operation->arguments[0])->shape[0]);
    draft.launch.grid[0] = n;
    sundog_draft_finish(lowering, &draft, "sundog_gather_rows");
}

static void
lower_pool(SundogLowering *lowering, uint32_t index, const SundogOperation *operation)
{
    SundogDraft draft;
    const SundogBufferId *a = operation->arguments;
    sundog_draft_begin(lowering, &draft, index, 1, "pool", sizeof(SundogCudaPool));
    int64_t n_columns = sundog_lowering_get_columns(lowering, a[2]);
    draft.parameters.pool = (SundogCudaPool){.n_columns = (int32_t)n_columns,
                                             .pooling = (int32_t)operation->parameters[0].i};
    SUNDOG_DRAFT_READ(SundogCudaPool, x, a[0]);
    SUNDOG_DRAFT_READ(SundogCudaPool, first_row, a[1]);
    SUNDOG_DRAFT_WRITE(SundogCudaPool, y, a[2]);
    SUNDOG_DRAFT_VALUE(SundogCudaPool, n_tokens,
                       sundog_lowering_get_buffer(lowering, a[0])->shape[0]);
    draft.launch.grid[0] = sundog_lowering_get_buffer(lowering, a[2])->shape[0];
    draft.launch.grid[1] = sundog_lowering_constant(
        lowering, (n_columns + SUNDOG_CUDA_ROW_THREADS - 1) / SUNDOG_CUDA_ROW_THREADS);
    sundog_draft_finish(lowering, &draft, "sundog_pool");
}

static void
lower_sample(SundogLowering *lowering, uint32_t index, const SundogOperation *operation)
{
    SundogDraft draft;
    const SundogBufferId *a = operation->arguments;
    const SundogShape *bounds = sundog_program_get_bounds(lowering->program);
    bool is_shared = lowering->waits && lowering->kind->max_tokens <= FEW_SAMPLED_ROWS;
    sundog_draft_begin(lowering, &draft, index, 1, is_shared ? "cluster" : "sample",
                       sizeof(SundogCudaSample));
    draft.parameters.sample.n_vocabulary = (int32_t)sundog_lowering_get_columns(lowering, a[0]);
    sundog_draft_add_buffer(lowering, &draft, offsetof(SundogCudaSample, logits), a[0],
                            SUNDOG_ACCESS_UPDATE);
    SUNDOG_DRAFT_READ(SundogCudaSample, sampling, a[1]);
    SUNDOG_DRAFT_READ(SundogCudaSample, history, a[2]);
    SUNDOG_DRAFT_READ(SundogCudaSample, mask, a[3]);
    SUNDOG_DRAFT_READ(SundogCudaSample, bias, a[4]);
    SUNDOG_DRAFT_WRITE(SundogCudaSample, token, a[5]);
    SUNDOG_DRAFT_WRITE(SundogCudaSample, scores, a[7]);
    sundog_draft_add_field(lowering, &draft, SUNDOG_FIELD_RING, offsetof(SundogCudaSample, ring));
    sundog_draft_add_field(lowering, &draft, SUNDOG_FIELD_STEP, offsetof(SundogCudaSample, step));
    SUNDOG_DRAFT_VALUE(SundogCudaSample, n_rows,
                       sundog_lowering_variable(lowering, SUNDOG_VARIABLE_LOGIT_ROWS));
    SUNDOG_DRAFT_VALUE(SundogCudaSample, history_stride,
                       sundog_lowering_variable(lowering, SUNDOG_VARIABLE_HISTORY));
    SUNDOG_DRAFT_VALUE(SundogCudaSample, mask_stride,
                       sundog_lowering_variable(lowering, SUNDOG_VARIABLE_MASK));
    SUNDOG_DRAFT_VALUE(SundogCudaSample, bias_stride,
                       sundog_lowering_variable(lowering, SUNDOG_VARIABLE_BIAS));
    draft.launch.grid[0] = sundog_lowering_binary(
        lowering, SUNDOG_EXPRESSION_MUL,
        sundog_lowering_variable(lowering, SUNDOG_VARIABLE_LOGIT_ROWS),
        sundog_lowering_constant(lowering, is_shared ? SUNDOG_CUDA_CLUSTER_BLOCKS : 1));
    draft.launch.n_threads = is_shared ? SUNDOG_CUDA_CLUSTER_THREADS : SUNDOG_CUDA_SAMPLE_THREADS;
    draft.launch.n_shared_bytes = SUNDOG_CUDA_SAMPLE_SHARED_BYTES(
        bounds->values[SUNDOG_VARIABLE_HISTORY], bounds->values[SUNDOG_VARIABLE_BIAS]);
    sundog_draft_finish(lowering, &draft, is_shared ? "sundog_sample_cluster" : "sundog_sample");
}

/* The product that alone takes this norm's result and comes right after it, or NULL. */
static const SundogOperation *
fusible_product(const SundogLowering *lowering, uint32_t index)
{
    const SundogOperation *norm = sundog_program_get_operation(lowering->program, index);
    if (!sundog_lowering_is_for_few(lowering) ||
        index + 1 == sundog_program_get_n_operations(lowering->program))
        return NULL;
    const SundogOperation *next = sundog_program_get_operation(lowering->program, index + 1);
    return sundog_lower_is_product(next->kind) && !sundog_lower_is_narrow(lowering, next) &&
                   next->arguments[0] == norm->arguments[2] &&
                   lowering->lifetimes[norm->arguments[2]].last == index + 1
               ? next
               : NULL;
}

/* Lowers what begins at an operation; returns how many operations that was. */
static uint32_t
lower_next(SundogLowering *lowering, uint32_t index)
{
    const SundogOperation *operation = sundog_program_get_operation(lowering->program, index);
    const SundogOperation *next = index + 1 < sundog_program_get_n_operations(lowering->program)
                                      ? sundog_program_get_operation(lowering->program, index + 1)
                                      : NULL;
    uint32_t n_chained = sundog_lower_chain(lowering, index);
    if (n_chained > 0)
        return n_chained;
    switch (operation->kind) {
    case SUNDOG_OP_EMBED:
        lower_embed(lowering, index, operation);
        return 1;
    case SUNDOG_OP_PLAN_ATTENTION:
        sundog_lower_plan_attention(lowering, index, operation);
        return 1;
    case SUNDOG_OP_LINEAR_HEADS:
        sundog_lower_linear_heads(lowering, index, operation);
        return 1;
    case SUNDOG_OP_LATENT_QKV:
        sundog_lower_latent_qkv(lowering, index, operation);
        return 1;
    case SUNDOG_OP_GATHER_ROWS:
        lower_gather_rows(lowering, index, operation);
        return 1;
    case SUNDOG_OP_POOL:
        lower_pool(lowering, index, operation);
        return 1;
    case SUNDOG_OP_SAMPLE:
        lower_sample(lowering, index, operation);
        return 1;
    case SUNDOG_OP_RMS_NORM: {
        const SundogOperation *fusible = fusible_product(lowering, index);
        if (fusible == NULL) {
            lower_rms_norm(lowering, index, operation);
            return 1;
        }
        sundog_lower_product(lowering, index, operation, fusible);
        return 2;
    }
    case SUNDOG_OP_ROPE_PAGES:
        sundog_lower_rope_cache(lowering, index, operation);
        return 1;
    case SUNDOG_OP_ROPE_CACHE:
        if (!lowering->kind->one_row || next == NULL || next->kind != SUNDOG_OP_ATTENTION ||
            operation->parameters[ROPE_DIMS].i == 0 || !sundog_lower_knows_heads(lowering, next)) {
            sundog_lower_rope_cache(lowering, index, operation);
            return 1;
        }
        sundog_lower_attention(lowering, index, operation, next);
        return 2;
    case SUNDOG_OP_ATTENTION:
        sundog_lower_attention(lowering, index, NULL, operation);
        return 1;
    default:
        if (sundog_lower_is_product(operation->kind))
            sundog_lower_product(lowering, index, NULL, operation);
        else if (sundog_lower_is_elements(operation->kind))
            sundog_lower_elements(lowering, index, operation);
        else if (sundog_lower_is_experts(operation->kind))
            sundog_lower_experts(lowering, index, operation);
        else if (sundog_lower_is_recurrent(operation->kind))
            sundog_lower_recurrent(lowering, index, operation);
        else
            sundog_lowering_fail(lowering, "the operation %s has no CUDA kernel",
                                 sundog_operations[operation->kind].name);
        return 1;
    }
}

static void
lower_variant(SundogLowering *lowering)
{
    int64_t most = sundog_program_get_bounds(lowering->program)->values[SUNDOG_VARIABLE_TOKENS];
    const SundogLoweringKind *kind = lowering->kind;
    if (kind->min_tokens > most || (kind->is_alike && !can_be_alike(lowering->program)))
        return;
    sundog_launch_list_add_variant(lowering->list, kind->min_tokens, MIN(kind->max_tokens, most),
                                   kind->is_alike  ? SUNDOG_STEPS_ALIKE
                                   : kind->one_row ? SUNDOG_STEPS_ONE_ROW
                                                   : SUNDOG_STEPS_MIXED);
    uint32_t index = 0;
    while (index < sundog_program_get_n_operations(lowering->program) && !lowering->failed)
        index += lower_next(lowering, index);
}

static bool
add_modules(SundogLowering *lowering, const char *target)
{
    for (int i = 0; sundog_lower_modules[i] != NULL; i++) {
        const SundogCubin *cubin = sundog_cubin_find(target, sundog_lower_modules[i]);
        uint8_t sha256[32];
        size_t n_bytes = sizeof sha256;
        if (cubin == NULL) {
            sundog_lowering_fail(lowering, "this build carries no kernels for the target \"%s\"",
                                 target);
            return false;
        }
        g_autoptr(GChecksum) checksum = g_checksum_new(G_CHECKSUM_SHA256);
        g_checksum_update(checksum, cubin->data, (gssize)cubin->n_bytes);
        g_checksum_get_digest(checksum, sha256, &n_bytes);
        sundog_launch_list_add_module(lowering->list, cubin->name, sha256);
    }
    return true;
}

bool
sundog_lower_is_target(const char *target)
{
    return g_str_has_prefix(target, "sm_") && g_ascii_isdigit(target[3]);
}

SundogLaunchList *
sundog_lower(const SundogProgram *program, const char *target, bool rounds, GError **error)
{
    g_autofree SundogLifetime *lifetimes = sundog_program_dup_lifetimes(program);
    g_autoptr(SundogLaunchList) list = sundog_launch_list_new(program);
    SundogLowering lowering = {.program = program,
                               .list = list,
                               .lifetimes = lifetimes,
                               /* What waits by itself came with compute capability 9.0. */
                               .waits = atoi(target + 3) >= 90,
                               .has_warpgroups = strcmp(target, "sm_90a") == 0,
                               .rounds = rounds,
                               .error = error};
    if (!add_modules(&lowering, target))
        return NULL;
    for (size_t i = 0; i < G_N_ELEMENTS(kinds) && !lowering.failed; i++) {
        lowering.kind = &kinds[i];
        lower_variant(&lowering);
    }
    return lowering.failed ? NULL : g_steal_pointer(&list);
}
