/* One launch an operation: a block a token, an entry of the work list, 16 rows of a weight and an entry, or a
 * tile of both. */

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

/* Rows of an expert from which on tiles pay, and those from which on the largest does, as measured on an H200. */
#define TILES_PAY_ROWS 20
#define LARGEST_PAYS_ROWS 100

/* Rows that each expert has in a step as large as the variant allows, were they alike for all. */
static int64_t
estimate_rows(const SundogLowering *lowering, SundogBufferId work, int64_t n_experts)
{
    SundogShape shape = *sundog_program_get_bounds(lowering->program);
    shape.values[SUNDOG_VARIABLE_TOKENS] =
        MIN(lowering->kind->max_tokens, shape.values[SUNDOG_VARIABLE_TOKENS]);
    int64_t n_entries = sundog_expression_evaluate(
        sundog_launch_list_get_expressions(lowering->list), get_rows(lowering, work), &shape);
    /* As experts.h counts them: full ones, and one more for each expert. */
    return (n_entries - n_experts) * SUNDOG_TILE_TOKENS / n_experts;
}

/* The tile for a variant; NULL where an entry at a time does as well. Quantized gate and up are unpacked at once,
 * which leaves registers for few rows. */
static const SundogCudaWideTile *
choose_tile(const SundogLowering *lowering, const SundogOperation *operation, SundogBufferId work)
{
    static const SundogCudaWideTile tiles[] = {SUNDOG_CUDA_WIDE_TILES(SUNDOG_CUDA_WIDE_TILE)};
    bool is_quantized = sundog_lowering_get_buffer(lowering, operation->arguments[1])->layout !=
                        SUNDOG_LAYOUT_TILE16_BF16;
    bool is_gated = operation->kind == SUNDOG_OP_LINEAR_GATED_EXPERTS;
    int64_t n_rows = estimate_rows(lowering, work, operation->parameters[0].i);
    int wanted = is_gated && is_quantized ? 32 : n_rows < LARGEST_PAYS_ROWS ? 64 : 128;
    size_t found = 0;
    if (n_rows < TILES_PAY_ROWS)
        return NULL;
    while (tiles[found].tokens != wanted)
        found++;
    return &tiles[found];
}

/* Blocks for an entry each, or for the tiles that begin in a stretch of the work list. */
static void
set_grid(SundogLowering *lowering, SundogDraft *draft, const SundogCudaWideTile *tile,
         bool is_gated, SundogLayout layout, SundogExpression n_entries)
{
    int32_t n_panels = draft->parameters.expert_linear.n_rows / SUNDOG_PANEL_ROWS;
    if (tile == NULL) {
        draft->launch.n_threads = SUNDOG_CUDA_EXPERT_THREADS;
        draft->launch.grid[0] = sundog_lowering_constant(lowering, n_panels);
        draft->launch.grid[1] = n_entries;
        return;
    }
    int row_panels = sundog_cuda_wide_row_panels(tile, is_gated);
    draft->launch.module = "expert-tiles";
    draft->launch.n_threads = SUNDOG_CUDA_LINEAR_THREADS;
    draft->launch.n_shared_bytes =
        sundog_cuda_wide_shared_bytes(tile, is_gated, (int)sundog_tile_block_columns(layout),
                                      (int)sundog_tile_block_bytes(layout));
    draft->launch.grid[0] =
        sundog_lowering_constant(lowering, (n_panels + row_panels - 1) / row_panels);
    draft->launch.grid[1] = sundog_lowering_binary(
        lowering, SUNDOG_EXPRESSION_CEIL_DIV, n_entries,
        sundog_lowering_constant(lowering, SUNDOG_CUDA_TILE_ENTRIES(tile->tokens)));
    draft->launch.grid[2] = sundog_lowering_constant(lowering, SUNDOG_CUDA_EXPERT_SHARES);
}

static void
lower_product(SundogLowering *lowering, uint32_t index, const SundogOperation *operation,
              const ExpertProduct *product)
{
    SundogDraft draft;
    const SundogBufferId *a = operation->arguments;
    const SundogCudaWideTile *tile = choose_tile(lowering, operation, a[product->work]);
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
    SUNDOG_DRAFT_VALUE(SundogCudaExpertLinear, n_entries, get_rows(lowering, a[product->work]));
    set_grid(lowering, &draft, tile, product->n_matrices == 2,
             sundog_lowering_get_buffer(lowering, a[1])->layout,
             get_rows(lowering, a[product->work]));
    if (linear->n_columns % 8 != 0)
        sundog_lowering_fail(lowering, "experts of %d columns, not a multiple of 8",
                             linear->n_columns);
    g_autofree char *entry =
        g_strconcat(product->entry, sundog_lowering_get_layout_suffix(lowering, a[1]), NULL);
    if (tile != NULL) {
        g_autofree char *of_entries = g_steal_pointer(&entry);
        entry = g_strdup_printf("%s_%d", of_entries, tile->tokens);
    }
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
