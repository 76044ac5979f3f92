/* From products to launches. */

#include "engine/prepare/lower-products.h"

#include "kernels/contract/gate.h"
#include "kernels/contract/layout.h"

/* Multiprocessors that tiles are chosen for; the grid follows the machine's own. */
#define MULTIPROCESSORS 132
/* Tokens up to which a product that finds its x made holds it in shared memory. */
#define FEW_TOKENS_WITHOUT_NORM 8
/* Rows with logits in a step of many tokens, which are prompts' last ones. */
#define USUAL_LOGIT_ROWS 64

/* The products of one operation: where x comes from, its matrices and its results. */
typedef struct {
    const SundogOperation *norm; /* before it, or NULL */
    SundogBufferId x;
    SundogBufferId w[3];
    SundogBufferId bias[3];
    SundogBufferId residual;
    SundogBufferId y;
    bool is_gated;
    bool starts_late;    /* as sundog_lowering_attends_next() says */
    bool is_rounded;     /* x, to bytes */
    SundogLayout layout; /* of all its matrices */
    int64_t n_columns;
    int64_t n_panels; /* of results: gate's alone where it is gated */
} Product;

bool
sundog_lower_is_product(SundogOperationKind kind)
{
    return kind == SUNDOG_OP_LINEAR || kind == SUNDOG_OP_LINEAR_QKV ||
           kind == SUNDOG_OP_LINEAR_GATED;
}

bool
sundog_lower_is_narrow(const SundogLowering *lowering, const SundogOperation *operation)
{
    return sundog_lowering_get_columns(lowering, operation->arguments[1]) % 8 != 0;
}

static Product
name_buffers(const SundogOperation *operation)
{
    const SundogBufferId none = SUNDOG_BUFFER_NONE, *a = operation->arguments;
    switch (operation->kind) {
    case SUNDOG_OP_LINEAR_QKV:
        return (Product){.x = a[0],
                         .w = {a[1], a[2], a[3]},
                         .bias = {a[4], a[5], a[6]},
                         .residual = none,
                         .y = a[7]};
    case SUNDOG_OP_LINEAR_GATED:
        return (Product){.x = a[0],
                         .w = {a[1], a[2], none},
                         .bias = {none, none, none},
                         .residual = none,
                         .y = a[3],
                         .is_gated = true};
    default:
        return (Product){.x = a[0],
                         .w = {a[1], none, none},
                         .bias = {a[2], none, none},
                         .residual = a[3],
                         .y = a[4]};
    }
}

/* What the kernels do not do is refused here, by name. */
static void
check_product(SundogLowering *lowering, const Product *product, const SundogOperation *operation)
{
    if (product->is_gated && operation->parameters[0].i != SUNDOG_GATE_SILU)
        sundog_lowering_fail(lowering,
                             "linear_gated with another function than silu has no CUDA kernel");
    if (product->norm == NULL &&
        sundog_lowering_get_buffer(lowering, product->x)->dtype != SUNDOG_DTYPE_BF16)
        sundog_lowering_fail(lowering, "a product of \"%s\", which is not bf16, has no CUDA kernel",
                             sundog_lowering_get_buffer(lowering, product->x)->name);
    for (int i = 0; i < 3; i++) {
        if (product->w[i] == SUNDOG_BUFFER_NONE)
            continue;
        const SundogBuffer *w = sundog_lowering_get_buffer(lowering, product->w[i]);
        if (w->layout != product->layout)
            sundog_lowering_fail(
                lowering, "weights \"%s\" and \"%s\" of one product lie differently", w->name,
                sundog_lowering_get_buffer(lowering, product->w[0])->name);
    }
}

static int64_t
count_panels(const SundogLowering *lowering, SundogBufferId w)
{
    return w == SUNDOG_BUFFER_NONE
               ? 0
               : (sundog_lowering_get_rows(lowering, w) + SUNDOG_PANEL_ROWS - 1) /
                     SUNDOG_PANEL_ROWS;
}

static Product
find_product(const SundogLowering *lowering, const SundogOperation *norm,
             const SundogOperation *operation)
{
    Product product = name_buffers(operation);
    product.norm = norm;
    product.layout = sundog_lowering_get_buffer(lowering, product.w[0])->layout;
    product.n_columns = sundog_lowering_get_columns(lowering, product.w[0]);
    for (int i = 0; i < (product.is_gated ? 1 : 3); i++)
        product.n_panels += count_panels(lowering, product.w[i]);
    return product;
}

/* The parameters that all kernels share, `base` bytes into the launch's. */
static void
set_parameters(SundogLowering *lowering, const Product *product, SundogDraft *draft, size_t base,
               SundogCudaLinear *to)
{
    const SundogBuffer *y = sundog_lowering_get_buffer(lowering, product->y);
    *to = (SundogCudaLinear){.n_columns = (int32_t)product->n_columns,
                             .y_stride = (int32_t)sundog_lowering_get_columns(lowering, product->y),
                             .y_is_bf16 = y->dtype == SUNDOG_DTYPE_BF16,
                             .starts_late = product->starts_late};
    for (int i = 0; i < 3; i++) {
        size_t step = base + (size_t)i * sizeof(void *);
        if (product->w[i] == SUNDOG_BUFFER_NONE)
            continue;
        to->n_rows[i] = (int32_t)sundog_lowering_get_rows(lowering, product->w[i]);
        sundog_draft_add_buffer(lowering, draft, offsetof(SundogCudaLinear, w) + step,
                                product->w[i], SUNDOG_ACCESS_READ);
        sundog_draft_add_buffer(lowering, draft, offsetof(SundogCudaLinear, bias) + step,
                                product->bias[i], SUNDOG_ACCESS_READ);
    }
    sundog_draft_add_buffer(lowering, draft, base + offsetof(SundogCudaLinear, residual),
                            product->residual, SUNDOG_ACCESS_READ);
    sundog_draft_add_buffer(lowering, draft, base + offsetof(SundogCudaLinear, y), product->y,
                            SUNDOG_ACCESS_WRITE);
    sundog_draft_add_value(lowering, draft, base + offsetof(SundogCudaLinear, n_tokens),
                           y->shape[0]);
}

static void
finish_product(SundogLowering *lowering, const Product *product, SundogDraft *draft,
               const char *suffix)
{
    g_autofree char *entry =
        g_strdup_printf("sundog_%s_%s_%s", product->is_gated ? "gated" : "linear",
                        sundog_lowering_get_layout_suffix(lowering, product->w[0]), suffix);
    sundog_draft_finish(lowering, draft, entry);
}

/* One block a multiprocessor, or fewer. */
static SundogExpression
limit_grid(const SundogLowering *lowering, SundogExpression n_tasks)
{
    return sundog_lowering_binary(
        lowering, SUNDOG_EXPRESSION_MIN,
        sundog_lowering_variable(lowering, SUNDOG_VARIABLE_MULTIPROCESSORS), n_tasks);
}

static SundogExpression
divide_tokens(const SundogLowering *lowering, const Product *product, int64_t n_tokens)
{
    return sundog_lowering_binary(lowering, SUNDOG_EXPRESSION_CEIL_DIV,
                                  sundog_lowering_get_buffer(lowering, product->y)->shape[0],
                                  sundog_lowering_constant(lowering, n_tokens));
}

/* Few tokens */

/* Of one token's x in shared memory, and of its scales or sums. */
static int64_t
count_token_bytes(const Product *product)
{
    int64_t columns = (product->n_columns + 63) / 64 * 64;
    return product->is_rounded ? (columns + 127) / 128 * 128 + 64 + columns / 32 * 8 + 16
                               : columns * 2 + 64 + columns / 32 * 4;
}

/* Shared memory as linear.cuh lays it out. */
static int64_t
count_few_bytes(const SundogLowering *lowering, const Product *product, int64_t n_slots)
{
    int64_t n_tokens = lowering->kind->max_tokens;
    return SUNDOG_CUDA_LINEAR_WARPS * (n_slots * SUNDOG_CUDA_SLOT_BYTES + 32) + 128 +
           2 * SUNDOG_CUDA_LINEAR_WARPS * (product->is_gated ? 2 : 1) * n_tokens *
               SUNDOG_PANEL_ROWS * 4 +
           n_tokens * count_token_bytes(product);
}

/* True where blocks of attention share multiprocessors with the product's: it is right before or right behind. */
static bool
is_beside_attention(const SundogLowering *lowering, uint32_t index, const Product *product)
{
    return product->starts_late ||
           (index > 0 && sundog_program_get_operation(lowering->program, index - 1)->kind ==
                             SUNDOG_OP_ATTENTION);
}

/* Beside attention, which has the other half of a multiprocessor, three slots or two; else four, so that more is
 * on its way while x is made. Two products' blocks never share a multiprocessor: then a block that began late
 * would be late with all of its rows, and the next product's ring would slow it down. */
static void
choose_ring(SundogLowering *lowering, uint32_t index, const Product *product, SundogDraft *draft)
{
    bool is_half = is_beside_attention(lowering, index, product);
    int64_t n_slots = is_half ? 3 : 4;
    if (is_half && count_few_bytes(lowering, product, 3) > SUNDOG_CUDA_HALF_SHARED_BYTES &&
        count_few_bytes(lowering, product, 2) <= SUNDOG_CUDA_HALF_SHARED_BYTES)
        n_slots = 2;
    while (n_slots > 2 &&
           count_few_bytes(lowering, product, n_slots) > SUNDOG_CUDA_MAX_SHARED_BYTES)
        n_slots--;
    int64_t n_bytes = count_few_bytes(lowering, product, n_slots);
    if (n_bytes > SUNDOG_CUDA_MAX_SHARED_BYTES)
        sundog_lowering_fail(
            lowering, "a product of %" G_GINT64_FORMAT " columns does not fit a multiprocessor",
            product->n_columns);
    draft->parameters.linear.n_slots = (int32_t)n_slots;
    draft->launch.n_shared_bytes = (uint32_t)MAX(n_bytes, SUNDOG_CUDA_HALF_SHARED_BYTES);
}

static void
add_source(SundogLowering *lowering, const Product *product, SundogDraft *draft)
{
    SundogCudaLinear *linear = &draft->parameters.linear;
    size_t at = offsetof(SundogCudaLinear, x);
    if (product->norm == NULL) {
        sundog_draft_add_buffer(lowering, draft, at, product->x, SUNDOG_ACCESS_READ);
        return;
    }
    linear->source = SUNDOG_CUDA_X_NORM;
    linear->epsilon = (float)product->norm->parameters[0].f;
    sundog_draft_add_buffer(lowering, draft, at, product->norm->arguments[0], SUNDOG_ACCESS_READ);
    sundog_draft_add_buffer(lowering, draft, offsetof(SundogCudaLinear, norm_weight),
                            product->norm->arguments[1], SUNDOG_ACCESS_READ);
}

/* With so many tokens quantized gate and up, which are the most to unpack, are still faster so; their x is
 * there already, since making it in every block would take longer than reading it. */
static bool
suits_few(const SundogLowering *lowering, const Product *product)
{
    return sundog_lowering_is_for_few(lowering) ||
           (!lowering->kind->is_alike && lowering->kind->max_tokens <= FEW_TOKENS_WITHOUT_NORM &&
            product->is_gated && product->layout != SUNDOG_LAYOUT_TILE16_BF16 &&
            count_few_bytes(lowering, product, 3) <= SUNDOG_CUDA_MAX_SHARED_BYTES);
}

static void
lower_few(SundogLowering *lowering, uint32_t index, const Product *product)
{
    SundogDraft draft;
    sundog_draft_begin(lowering, &draft, index, product->norm != NULL ? 2 : 1, "linear",
                       sizeof(SundogCudaLinear));
    set_parameters(lowering, product, &draft, 0, &draft.parameters.linear);
    add_source(lowering, product, &draft);
    choose_ring(lowering, index, product, &draft);
    draft.launch.n_threads = SUNDOG_CUDA_LINEAR_THREADS;
    draft.launch.grid[0] =
        limit_grid(lowering, sundog_lowering_constant(lowering, product->n_panels));
    bool is_one = lowering->kind->max_tokens == 1 &&
                  (product->is_rounded || product->layout == SUNDOG_LAYOUT_TILE16_Q8_0);
    g_autofree char *suffix =
        g_strconcat(is_one ? "one" : "few", product->is_rounded ? "_rounded" : NULL, NULL);
    finish_product(lowering, product, &draft, suffix);
}

/* Any tokens, where a row of x is not in whole 16 bytes */

static void
lower_narrow(SundogLowering *lowering, uint32_t index, const Product *product)
{
    SundogDraft draft;
    sundog_draft_begin(lowering, &draft, index, 1, "rows", sizeof(SundogCudaLinear));
    set_parameters(lowering, product, &draft, 0, &draft.parameters.linear);
    add_source(lowering, product, &draft);
    draft.launch.grid[0] = sundog_lowering_get_buffer(lowering, product->y)->shape[0];
    finish_product(lowering, product, &draft, "narrow");
}

/* More tokens, any target */

static const SundogCudaWideTile *
choose_wide_tile(const SundogLowering *lowering)
{
    static const SundogCudaWideTile tiles[] = {SUNDOG_CUDA_WIDE_TILES(SUNDOG_CUDA_WIDE_TILE)};
    /* The largest tile pays only where there are many of it, and adds up in another order. */
    int64_t n_tokens = lowering->kind->max_tokens;
    bool is_limited = n_tokens <= 256 || lowering->kind->is_alike;
    size_t last = is_limited ? G_N_ELEMENTS(tiles) - 2 : G_N_ELEMENTS(tiles) - 1, i = 0;
    while (i < last && tiles[i].tokens < n_tokens)
        i++;
    return &tiles[i];
}

static void
lower_wide(SundogLowering *lowering, uint32_t index, const Product *product)
{
    SundogDraft draft;
    const SundogCudaWideTile *tile = choose_wide_tile(lowering);
    int64_t row_panels = sundog_cuda_wide_row_panels(tile, product->is_gated);
    g_autofree char *suffix = g_strdup_printf("%d", tile->tokens);
    sundog_draft_begin(lowering, &draft, index, 1, "wide", sizeof(SundogCudaLinear));
    set_parameters(lowering, product, &draft, 0, &draft.parameters.linear);
    add_source(lowering, product, &draft);
    draft.launch.n_threads = SUNDOG_CUDA_LINEAR_THREADS;
    draft.launch.n_shared_bytes = sundog_cuda_wide_shared_bytes(
        tile, product->is_gated, (int)sundog_tile_block_columns(product->layout),
        (int)sundog_tile_block_bytes(product->layout));
    draft.launch.grid[0] =
        sundog_lowering_constant(lowering, (product->n_panels + row_panels - 1) / row_panels);
    draft.launch.grid[1] = divide_tokens(lowering, product, tile->tokens);
    finish_product(lowering, product, &draft, suffix);
}

/* More tokens by warpgroups */

static SundogCudaGroupPlan
plan_group(const Product *product, const SundogCudaGroupTile *tile)
{
    int64_t n_blocks = SUNDOG_CUDA_GROUP_CHUNK / sundog_tile_block_columns(product->layout);
    return sundog_cuda_plan_group(
        product->is_gated, tile->tokens, tile->by_columns, tile->by_blocks,
        (int)(n_blocks * (int64_t)sundog_tile_block_bytes(product->layout)));
}

static int64_t
count_row_tiles(const Product *product, const SundogCudaGroupTile *tile)
{
    int64_t row_panels = plan_group(product, tile).row_panels;
    return (product->n_panels + row_panels - 1) / row_panels;
}

/* Nanoseconds that each of two and of four warpgroups takes for a chunk, as measured on an H200 with weights
 * in bf16 and quantized. Four have half of the time of a multiprocessor that two have. */
static int64_t
find_chunk_ns(const Product *product, const SundogCudaGroupTile *tile)
{
    static const struct {
        int tokens, plain[2], quantized[2];
    } measured[] = {{8, {300, 590}, {470, 740}},  {16, {300, 620}, {475, 765}},
                    {32, {310, 640}, {480, 810}}, {64, {355, 750}, {505, 930}},
                    {128, {490, 0}, {590, 0}},    {256, {700, 0}, {810, 0}}};
    size_t i = 0;
    while (measured[i].tokens != tile->tokens)
        i++;
    bool is_four = plan_group(product, tile).n_groups == 4;
    return product->layout == SUNDOG_LAYOUT_TILE16_BF16 ? measured[i].plain[is_four]
                                                        : measured[i].quantized[is_four];
}

/* Nanoseconds of the whole product, in waves of tiles over the multiprocessors; storing a tile and filling
 * the pipeline again takes 2000, and 30 a token; blocks wait for each other for about 1500. */
static int64_t
estimate_ns(const Product *product, const SundogCudaGroupTile *tile, int64_t n_tokens)
{
    int64_t n_tiles =
        count_row_tiles(product, tile) * ((n_tokens + tile->tokens - 1) / tile->tokens);
    int64_t n_waves = (n_tiles * tile->by_blocks + MULTIPROCESSORS - 1) / MULTIPROCESSORS;
    int64_t n_chunks =
        product->n_columns / SUNDOG_CUDA_GROUP_CHUNK / (tile->by_columns * tile->by_blocks);
    int64_t between = 2000 + 30 * tile->tokens + (tile->by_blocks > 1 ? 1500 : 0);
    return n_waves * (n_chunks * find_chunk_ns(product, tile) + between);
}

/* Of the same sums, whatever the tokens: those that fill most multiprocessors when these are few. */
static bool
is_of_class(const Product *product, const SundogCudaGroupTile *tile)
{
    return tile->by_columns == 2 && tile->by_blocks == (product->is_gated ? 1 : 2);
}

static const SundogCudaGroupTile *
choose_group_tile(const SundogLowering *lowering, const Product *product)
{
    static const SundogCudaGroupTile tiles[] = {SUNDOG_CUDA_GROUP_TILES(SUNDOG_CUDA_GROUP_TILE)};
    const SundogExpressionPool *pool = sundog_launch_list_get_expressions(lowering->list);
    SundogShape shape = *sundog_program_get_bounds(lowering->program);
    int64_t most = MIN(lowering->kind->max_tokens, shape.values[SUNDOG_VARIABLE_TOKENS]);
    shape.values[SUNDOG_VARIABLE_TOKENS] = most;
    shape.values[SUNDOG_VARIABLE_LOGIT_ROWS] =
        lowering->kind->one_row ? most : MIN(most, USUAL_LOGIT_ROWS);
    int64_t n_tokens = sundog_expression_evaluate(
        pool, sundog_lowering_get_buffer(lowering, product->y)->shape[0], &shape);
    const SundogCudaGroupTile *best = NULL;
    for (size_t i = 0; i < G_N_ELEMENTS(tiles); i++) {
        if ((product->is_gated && !tiles[i].has_gated) ||
            (lowering->kind->is_alike && !is_of_class(product, &tiles[i])))
            continue;
        if (best == NULL ||
            estimate_ns(product, &tiles[i], n_tokens) < estimate_ns(product, best, n_tokens))
            best = &tiles[i];
    }
    return best;
}

/* The kernel stores gated results as bf16, two at a time, and all others as float32. */
static bool
suits_groups(const SundogLowering *lowering, const Product *product)
{
    SundogDtype y = sundog_lowering_get_buffer(lowering, product->y)->dtype;
    bool is_even = sundog_lowering_get_columns(lowering, product->y) % 2 == 0;
    return lowering->has_warpgroups &&
           (product->is_gated ? y == SUNDOG_DTYPE_BF16 && is_even : y == SUNDOG_DTYPE_F32);
}

/* As many clusters as there is room for, or fewer. */
static SundogExpression
count_group_blocks(const SundogLowering *lowering, const Product *product,
                   const SundogCudaGroupTile *tile)
{
    SundogExpression n_tiles = sundog_lowering_binary(
        lowering, SUNDOG_EXPRESSION_MUL, divide_tokens(lowering, product, tile->tokens),
        sundog_lowering_constant(lowering, count_row_tiles(product, tile)));
    if (tile->by_blocks == 1)
        return limit_grid(lowering, n_tiles);
    SundogExpression by_blocks = sundog_lowering_constant(lowering, tile->by_blocks);
    SundogExpression n_places = sundog_lowering_binary(
        lowering, SUNDOG_EXPRESSION_CEIL_DIV,
        sundog_lowering_variable(lowering, SUNDOG_VARIABLE_MULTIPROCESSORS), by_blocks);
    return sundog_lowering_binary(
        lowering, SUNDOG_EXPRESSION_MUL, by_blocks,
        sundog_lowering_binary(lowering, SUNDOG_EXPRESSION_MIN, n_places, n_tiles));
}

static void
lower_groups(SundogLowering *lowering, uint32_t index, const Product *product)
{
    SundogDraft draft;
    const SundogCudaGroupTile *tile = choose_group_tile(lowering, product);
    SundogCudaGroupPlan plan = plan_group(product, tile);
    g_autofree char *suffix =
        g_strdup_printf("%dx%dx%d", tile->tokens, tile->by_columns, tile->by_blocks);
    sundog_draft_begin(lowering, &draft, index, 1, "warpgroup", sizeof(SundogCudaGroupLinear));
    set_parameters(lowering, product, &draft, offsetof(SundogCudaGroupLinear, product),
                   &draft.parameters.group_linear.product);
    sundog_draft_add_map(lowering, &draft, offsetof(SundogCudaGroupLinear, x), product->x,
                         tile->tokens);
    draft.launch.n_threads = (uint32_t)plan.n_threads;
    draft.launch.n_shared_bytes = (uint32_t)plan.shared_bytes;
    draft.launch.grid[0] = count_group_blocks(lowering, product, tile);
    finish_product(lowering, product, &draft, suffix);
}

void
sundog_lower_product(SundogLowering *lowering, uint32_t index, const SundogOperation *norm,
                     const SundogOperation *operation)
{
    Product product = find_product(lowering, norm, operation);
    product.is_rounded = lowering->rounds && lowering->kind->max_tokens == 1 &&
                         (product.layout == SUNDOG_LAYOUT_TILE16_Q8_0 ||
                          product.layout == SUNDOG_LAYOUT_TILE16_Q4_1);
    product.starts_late = sundog_lowering_attends_next(lowering, index + (norm != NULL));
    check_product(lowering, &product, operation);
    if (lowering->failed)
        return;
    if (sundog_lower_is_narrow(lowering, operation))
        lower_narrow(lowering, index, &product);
    else if (suits_few(lowering, &product))
        lower_few(lowering, index, &product);
    else if (suits_groups(lowering, &product))
        lower_groups(lowering, index, &product);
    else
        lower_wide(lowering, index, &product);
}
