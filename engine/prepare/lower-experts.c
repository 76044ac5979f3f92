/* One launch an operation: a block a token, an entry of the work list, or 16 rows of a weight and an entry. */

#include "engine/prepare/lower-experts.h"

#include "kernels/contract/experts.h"
#include "kernels/contract/layout.h"

bool
sundog_lower_is_experts(SundogOperationKind kind)
{
    return kind == SUNDOG_OP_ROUTE || kind == SUNDOG_OP_PLAN_EXPERTS ||
           kind == SUNDOG_OP_GATHER_EXPERTS || kind == SUNDOG_OP_LINEAR_GATED_EXPERTS ||
           kind == SUNDOG_OP_LINEAR_EXPERTS || kind == SUNDOG_OP_COMBINE_EXPERTS;
}

static SundogExpression
get_rows(const SundogLowering *lowering, SundogBufferId id)
{
    return sundog_lowering_get_buffer(lowering, id)->shape[0];
}

static int32_t
get_columns(const SundogLowering *lowering, SundogBufferId id)
{
    return (int32_t)sundog_lowering_get_columns(lowering, id);
}

static void
lower_route(SundogLowering *lowering, uint32_t index, const SundogOperation *operation)
{
    enum { LOGITS, BIAS, CHOICES, WEIGHTS, WORKSPACE, SCALES };
    SundogDraft draft;
    const SundogBufferId *a = operation->arguments;
    const SundogParameter *p = operation->parameters;
    sundog_draft_begin(lowering, &draft, index, 1, "experts", sizeof(SundogCudaRoute));
    draft.parameters.route = (SundogCudaRoute){.n_experts = get_columns(lowering, a[LOGITS]),
                                               .n_used = get_columns(lowering, a[CHOICES]),
                                               .is_sigmoid = (int32_t)p[0].i,
                                               .n_groups = (int32_t)p[1].i,
                                               .n_groups_used = (int32_t)p[2].i,
                                               .group_best = (int32_t)p[3].i,
                                               .renormalizes = (int32_t)p[4].i,
                                               .scale = (float)p[5].f,
                                               .margin = (float)p[6].f};
    SUNDOG_DRAFT_READ(SundogCudaRoute, logits, a[LOGITS]);
    SUNDOG_DRAFT_READ(SundogCudaRoute, bias, a[BIAS]);
    SUNDOG_DRAFT_READ(SundogCudaRoute, scales, a[SCALES]);
    SUNDOG_DRAFT_WRITE(SundogCudaRoute, choices, a[CHOICES]);
    SUNDOG_DRAFT_WRITE(SundogCudaRoute, weights, a[WEIGHTS]);
    draft.launch.grid[0] = get_rows(lowering, a[LOGITS]);
    draft.launch.n_threads = 32;
    if (draft.parameters.route.n_experts > SUNDOG_CUDA_MAX_EXPERTS)
        sundog_lowering_fail(lowering, "more than %d experts have no CUDA kernel",
                             SUNDOG_CUDA_MAX_EXPERTS);
    sundog_draft_finish(lowering, &draft, "sundog_route");
}

static void
lower_plan(SundogLowering *lowering, uint32_t index, const SundogOperation *operation)
{
    SundogDraft draft;
    const SundogBufferId *a = operation->arguments;
    sundog_draft_begin(lowering, &draft, index, 1, "experts", sizeof(SundogCudaPlanExperts));
    draft.parameters.plan_experts.n_experts = (int32_t)operation->parameters[0].i;
    SUNDOG_DRAFT_READ(SundogCudaPlanExperts, choices, a[0]);
    SUNDOG_DRAFT_WRITE(SundogCudaPlanExperts, work, a[1]);
    SundogExpression n_choices =
        sundog_lowering_binary(lowering, SUNDOG_EXPRESSION_MUL, get_rows(lowering, a[0]),
                               sundog_lowering_constant(lowering, get_columns(lowering, a[0])));
    SUNDOG_DRAFT_VALUE(SundogCudaPlanExperts, n_choices, n_choices);
    SUNDOG_DRAFT_VALUE(SundogCudaPlanExperts, n_entries, get_rows(lowering, a[1]));
    draft.launch.n_threads = SUNDOG_CUDA_MAX_EXPERTS;
    sundog_draft_finish(lowering, &draft, "sundog_plan_experts");
}

static void
lower_gather(SundogLowering *lowering, uint32_t index, const SundogOperation *operation)
{
    SundogDraft draft;
    const SundogBufferId *a = operation->arguments;
    const SundogBuffer *x = sundog_lowering_get_buffer(lowering, a[0]);
    sundog_draft_begin(lowering, &draft, index, 1, "experts", sizeof(SundogCudaGatherExperts));
    draft.parameters.gather_experts = (SundogCudaGatherExperts){
        .n_columns = get_columns(lowering, a[0]), .n_used = (int32_t)operation->parameters[0].i};
    SUNDOG_DRAFT_READ(SundogCudaGatherExperts, x, a[0]);
    SUNDOG_DRAFT_READ(SundogCudaGatherExperts, work, a[1]);
    SUNDOG_DRAFT_WRITE(SundogCudaGatherExperts, y, a[2]);
    SUNDOG_DRAFT_VALUE(SundogCudaGatherExperts, n_tokens, x->shape[0]);
    draft.launch.grid[0] = get_rows(lowering, a[1]);
    if (x->dtype != SUNDOG_DTYPE_BF16)
        sundog_lowering_fail(lowering, "experts of \"%s\", which is not bf16, have no CUDA kernel",
                             x->name);
    sundog_draft_finish(lowering, &draft, "sundog_gather_experts");
}

/* Of gate and up, or of one matrix: places of arguments. */
typedef struct {
    const char *entry;
    int n_matrices;
    int bias;
    int work;
    int y;
} ExpertProduct;

static const ExpertProduct gated = {"sundog_gated_experts_", 2, 3, 5, 6};
static const ExpertProduct plain = {"sundog_experts_", 1, 2, 3, 4};

static void
lower_product(SundogLowering *lowering, uint32_t index, const SundogOperation *operation,
              const ExpertProduct *product)
{
    SundogDraft draft;
    const SundogBufferId *a = operation->arguments;
    sundog_draft_begin(lowering, &draft, index, 1, "experts", sizeof(SundogCudaExpertLinear));
    SundogCudaExpertLinear *linear = &draft.parameters.expert_linear;
    *linear = (SundogCudaExpertLinear){
        .n_columns = get_columns(lowering, a[0]),
        .n_rows = get_columns(lowering, a[product->y]),
        .function = product->n_matrices == 2 ? (int32_t)operation->parameters[1].i : 0};
    SUNDOG_DRAFT_READ(SundogCudaExpertLinear, a, a[0]);
    for (int i = 0; i < product->n_matrices; i++) {
        size_t step = (size_t)i * sizeof(void *);
        sundog_draft_add_buffer(lowering, &draft, offsetof(SundogCudaExpertLinear, w) + step,
                                a[1 + i], SUNDOG_ACCESS_READ);
        sundog_draft_add_buffer(lowering, &draft, offsetof(SundogCudaExpertLinear, bias) + step,
                                a[product->bias + i], SUNDOG_ACCESS_READ);
    }
    SUNDOG_DRAFT_READ(SundogCudaExpertLinear, work, a[product->work]);
    SUNDOG_DRAFT_WRITE(SundogCudaExpertLinear, y, a[product->y]);
    draft.launch.n_threads = SUNDOG_CUDA_EXPERT_THREADS;
    draft.launch.grid[0] = sundog_lowering_constant(lowering, linear->n_rows / SUNDOG_PANEL_ROWS);
    draft.launch.grid[1] = get_rows(lowering, a[product->work]);
    if (linear->n_columns % 8 != 0)
        sundog_lowering_fail(lowering, "experts of %d columns, not a multiple of 8",
                             linear->n_columns);
    g_autofree char *entry =
        g_strconcat(product->entry, sundog_lowering_get_layout_suffix(lowering, a[1]), NULL);
    sundog_draft_finish(lowering, &draft, entry);
}

static void
lower_combine(SundogLowering *lowering, uint32_t index, const SundogOperation *operation)
{
    SundogDraft draft;
    const SundogBufferId *a = operation->arguments;
    sundog_draft_begin(lowering, &draft, index, 1, "experts", sizeof(SundogCudaCombineExperts));
    draft.parameters.combine_experts = (SundogCudaCombineExperts){
        .n_columns = get_columns(lowering, a[3]), .n_used = get_columns(lowering, a[1])};
    SUNDOG_DRAFT_READ(SundogCudaCombineExperts, x, a[0]);
    SUNDOG_DRAFT_READ(SundogCudaCombineExperts, weights, a[1]);
    SUNDOG_DRAFT_READ(SundogCudaCombineExperts, residual, a[2]);
    SUNDOG_DRAFT_WRITE(SundogCudaCombineExperts, y, a[3]);
    draft.launch.grid[0] = get_rows(lowering, a[3]);
    sundog_draft_finish(lowering, &draft, "sundog_combine_experts");
}

void
sundog_lower_experts(SundogLowering *lowering, uint32_t index, const SundogOperation *operation)
{
    switch (operation->kind) {
    case SUNDOG_OP_ROUTE:
        lower_route(lowering, index, operation);
        break;
    case SUNDOG_OP_PLAN_EXPERTS:
        lower_plan(lowering, index, operation);
        break;
    case SUNDOG_OP_GATHER_EXPERTS:
        lower_gather(lowering, index, operation);
        break;
    case SUNDOG_OP_COMBINE_EXPERTS:
        lower_combine(lowering, index, operation);
        break;
    default:
        lower_product(lowering, index, operation,
                      operation->kind == SUNDOG_OP_LINEAR_GATED_EXPERTS ? &gated : &plain);
        break;
    }
}
