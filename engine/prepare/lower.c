/*
 * From operations to launches. A variant of the list is one walk over the program, in which a few
 * patterns join neighbours into one launch:
 *   rms_norm, product        few tokens: each block of the product norms x for itself
 *   rope_cache, attention    one row a sequence: attention rotates and stores what it attends with
 */

#include "engine/prepare/lower.h"

#include "engine/format/error.h"
#include "kernels/contract/attention.h"
#include "kernels/contract/cubins.h"
#include "kernels/contract/cuda.h"
#include "kernels/contract/gate.h"
#include "kernels/contract/layout.h"
#include "kernels/contract/paged-cache.h"
#include "kernels/contract/sample.h"

#include <stdlib.h>
#include <string.h>

const char *const sundog_lower_modules[] = {"attention", "linear", "rows", "sample",
                                            "step",      "wide",   NULL};

/* Blocks that attention of one row is cut into, so that each multiprocessor has about one. */
#define ATTENTION_BLOCKS SUNDOG_LOWER_ATTENTION_BLOCKS
#define MAX_SPLITS 16
#define MAX_FIELDS 24
/* Tokens up to which a product holds x in shared memory. */
#define FEW_TOKENS 4
#define NO_TOKENS_LIMIT INT32_MAX

typedef struct {
    int64_t min_tokens;
    int64_t max_tokens;
    bool one_row;
    const char *products; /* suffix of the entries */
    int64_t tile_tokens;  /* of a block of products; 0: all */
} Kind;

static const Kind kinds[] = {
    {1, 1, true, "few", 0},
    {2, 2, true, "few", 0},
    {3, FEW_TOKENS, true, "few", 0},
    {2, FEW_TOKENS, false, "few", 0},
    {FEW_TOKENS + 1, 8, true, "8", 8},
    {FEW_TOKENS + 1, 8, false, "8", 8},
    {9, 16, true, "16", 16},
    {9, 16, false, "16", 16},
    {17, 32, true, "32", 32},
    {17, 32, false, "32", 32},
    {33, 256, true, "64", 64},
    {33, 256, false, "64", 64},
    {257, NO_TOKENS_LIMIT, true, "128", 128},
    {257, NO_TOKENS_LIMIT, false, "128", 128},
};

typedef struct {
    const SundogProgram *program;
    SundogLaunchList *list;
    const SundogLifetime *lifetimes; /* by operations */
    const Kind *kind;
    bool waits;
    GError **error;
    bool failed;
} Lowering;

/* One launch under construction: its parameters, and what replay fills in. */
typedef struct {
    SundogLaunch launch;
    union {
        SundogCudaLinear linear;
        SundogCudaEmbed embed;
        SundogCudaRmsNorm rms_norm;
        SundogCudaGatherRows gather_rows;
        SundogCudaPlanAttention plan_attention;
        SundogCudaAttention attention;
        SundogCudaSample sample;
    } parameters;
    SundogLaunchField fields[MAX_FIELDS];
} Draft;

static void G_GNUC_PRINTF(2, 3) fail(Lowering *lowering, const char *format, ...)
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

static SundogExpressionPool *
pool_of(const Lowering *lowering)
{
    return sundog_launch_list_edit_expressions(lowering->list);
}

static SundogExpression
constant(const Lowering *lowering, int64_t value)
{
    return sundog_expression_constant(pool_of(lowering), value);
}

static SundogExpression
variable(const Lowering *lowering, SundogVariable which)
{
    return sundog_expression_variable(pool_of(lowering), which);
}

static SundogExpression
binary(const Lowering *lowering, SundogExpressionKind kind, SundogExpression left,
       SundogExpression right)
{
    return sundog_expression_binary(pool_of(lowering), kind, left, right);
}

static const SundogBuffer *
buffer_of(const Lowering *lowering, SundogBufferId id)
{
    return sundog_program_get_buffer(lowering->program, id);
}

static int64_t
columns_of(const Lowering *lowering, SundogBufferId id)
{
    const SundogBuffer *buffer = buffer_of(lowering, id);
    int64_t value = 0;
    sundog_expression_get_constant(pool_of(lowering), buffer->shape[buffer->rank - 1], &value);
    return value;
}

static int64_t
rows_of(const Lowering *lowering, SundogBufferId id)
{
    int64_t value = 0;
    sundog_expression_get_constant(pool_of(lowering), buffer_of(lowering, id)->shape[0], &value);
    return value;
}

static void
begin(const Lowering *lowering, Draft *draft, uint32_t first, uint32_t n, const char *module,
      size_t n_parameter_bytes)
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
        draft->launch.grid[d] = constant(lowering, 1);
}

static SundogLaunchField *
add_field(const Lowering *lowering, Draft *draft, SundogFieldKind kind, size_t at)
{
    g_assert(draft->launch.n_fields < MAX_FIELDS);
    SundogLaunchField *field = &draft->fields[draft->launch.n_fields++];
    *field = (SundogLaunchField){.kind = kind,
                                 .at = (uint32_t)at,
                                 .buffer = SUNDOG_BUFFER_NONE,
                                 .access = SUNDOG_ACCESS_READ,
                                 .n_bytes = constant(lowering, 0),
                                 .value = constant(lowering, 0)};
    return field;
}

/* A whole buffer; an absent one leaves a null pointer. */
static void
add_buffer(const Lowering *lowering, Draft *draft, size_t at, SundogBufferId id,
           SundogAccess access)
{
    if (id == SUNDOG_BUFFER_NONE)
        return;
    SundogLaunchField *field = add_field(lowering, draft, SUNDOG_FIELD_BUFFER, at);
    field->buffer = id;
    field->access = access;
    field->all_bytes = true;
}

static void
add_value(const Lowering *lowering, Draft *draft, size_t at, SundogExpression value)
{
    add_field(lowering, draft, SUNDOG_FIELD_EXPRESSION, at)->value = value;
}

#define READ(type, name, id) \
    add_buffer(lowering, &draft, offsetof(type, name), id, SUNDOG_ACCESS_READ)
#define WRITE(type, name, id) \
    add_buffer(lowering, &draft, offsetof(type, name), id, SUNDOG_ACCESS_WRITE)
#define VALUE(type, name, expression) add_value(lowering, &draft, offsetof(type, name), expression)

static void
finish(Lowering *lowering, Draft *draft, const char *entry)
{
    draft->launch.entry = entry;
    if (!lowering->failed)
        sundog_launch_list_add_launch(lowering->list, &draft->launch, &draft->parameters,
                                      draft->fields);
}

/* "bf16" of tile16-bf16: what entries are named after. */
static const char *
layout_suffix(Lowering *lowering, SundogBufferId id)
{
    SundogLayout layout = buffer_of(lowering, id)->layout;
    if (!sundog_layout_is_tile(layout))
        fail(lowering, "weight \"%s\" lies in %s, which no CUDA kernel reads",
             buffer_of(lowering, id)->name, sundog_layout_name(layout));
    const char *name = sundog_layout_name(layout);
    return strchr(name, '-') + 1;
}

static void
lower_embed(Lowering *lowering, uint32_t index, const SundogOperation *operation)
{
    Draft draft;
    begin(lowering, &draft, index, 1, "rows", sizeof(SundogCudaEmbed));
    SundogBufferId table = operation->arguments[1];
    g_autofree char *entry = g_strconcat("sundog_embed_", layout_suffix(lowering, table), NULL);
    SundogExpression n = buffer_of(lowering, operation->arguments[2])->shape[0];
    draft.parameters.embed = (SundogCudaEmbed){.n_columns = (int32_t)columns_of(lowering, table),
                                               .n_vocabulary = (int32_t)rows_of(lowering, table),
                                               .scale = (float)operation->parameters[0].f};
    READ(SundogCudaEmbed, tokens, operation->arguments[0]);
    READ(SundogCudaEmbed, table, table);
    WRITE(SundogCudaEmbed, x, operation->arguments[2]);
    VALUE(SundogCudaEmbed, n_tokens, n);
    draft.launch.grid[0] = n;
    finish(lowering, &draft, entry);
}

static void
lower_rms_norm(Lowering *lowering, uint32_t index, const SundogOperation *operation)
{
    Draft draft;
    begin(lowering, &draft, index, 1, "rows", sizeof(SundogCudaRmsNorm));
    const SundogBuffer *y = buffer_of(lowering, operation->arguments[2]);
    draft.parameters.rms_norm =
        (SundogCudaRmsNorm){.n_columns = (int32_t)columns_of(lowering, operation->arguments[2]),
                            .y_is_bf16 = y->dtype == SUNDOG_DTYPE_BF16,
                            .epsilon = (float)operation->parameters[0].f};
    READ(SundogCudaRmsNorm, x, operation->arguments[0]);
    READ(SundogCudaRmsNorm, weight, operation->arguments[1]);
    WRITE(SundogCudaRmsNorm, y, operation->arguments[2]);
    VALUE(SundogCudaRmsNorm, n_tokens, y->shape[0]);
    draft.launch.grid[0] = y->shape[0];
    finish(lowering, &draft, "sundog_rms_norm");
}

static void
lower_gather_rows(Lowering *lowering, uint32_t index, const SundogOperation *operation)
{
    Draft draft;
    begin(lowering, &draft, index, 1, "rows", sizeof(SundogCudaGatherRows));
    SundogExpression n = buffer_of(lowering, operation->arguments[2])->shape[0];
    draft.parameters.gather_rows.n_columns = (int32_t)columns_of(lowering, operation->arguments[2]);
    READ(SundogCudaGatherRows, x, operation->arguments[0]);
    READ(SundogCudaGatherRows, rows, operation->arguments[1]);
    WRITE(SundogCudaGatherRows, y, operation->arguments[2]);
    VALUE(SundogCudaGatherRows, n_rows, n);
    VALUE(SundogCudaGatherRows, n_from, buffer_of(lowering, operation->arguments[0])->shape[0]);
    draft.launch.grid[0] = n;
    finish(lowering, &draft, "sundog_gather_rows");
}

static void
lower_plan_attention(Lowering *lowering, uint32_t index, const SundogOperation *operation)
{
    Draft draft;
    begin(lowering, &draft, index, 1, "step", sizeof(SundogCudaPlanAttention));
    SundogBufferId tiles = operation->arguments[2];
    /* One less than the tiles' rows, the first of which is the head: the sum is built anew. */
    SundogExpression n_tiles = binary(lowering, SUNDOG_EXPRESSION_ADD,
                                      binary(lowering, SUNDOG_EXPRESSION_CEIL_DIV,
                                             variable(lowering, SUNDOG_VARIABLE_TOKENS),
                                             constant(lowering, SUNDOG_ATTENTION_TILE_ROWS)),
                                      variable(lowering, SUNDOG_VARIABLE_SEQUENCES));
    READ(SundogCudaPlanAttention, first_row, operation->arguments[0]);
    READ(SundogCudaPlanAttention, start_position, operation->arguments[1]);
    WRITE(SundogCudaPlanAttention, tiles, tiles);
    VALUE(SundogCudaPlanAttention, n_sequences, variable(lowering, SUNDOG_VARIABLE_SEQUENCES));
    VALUE(SundogCudaPlanAttention, n_tiles, n_tiles);
    draft.launch.n_threads = 32;
    finish(lowering, &draft, "sundog_plan_attention");
}

/* The products of one operation: where x comes from, its matrices and its results. */
typedef struct {
    uint32_t first;
    uint32_t n_operations;
    const SundogOperation *norm; /* before it, or NULL */
    SundogBufferId x;
    SundogBufferId w[3];
    SundogBufferId bias[3];
    SundogBufferId residual;
    SundogBufferId y;
    bool is_gated;
} Product;

static int64_t
panels_of(const Lowering *lowering, SundogBufferId w)
{
    return w == SUNDOG_BUFFER_NONE
               ? 0
               : (rows_of(lowering, w) + SUNDOG_PANEL_ROWS - 1) / SUNDOG_PANEL_ROWS;
}

/* Of the product of few tokens, as linear.cuh lays it out. */
static int64_t
few_bytes(const Lowering *lowering, const Product *product, int64_t n_slots)
{
    int64_t columns = (columns_of(lowering, product->w[0]) + 63) / 64 * 64;
    int64_t n_tokens = lowering->kind->max_tokens;
    return SUNDOG_CUDA_LINEAR_WARPS * (n_slots * SUNDOG_CUDA_SLOT_BYTES + 32) + 128 +
           2 * SUNDOG_CUDA_LINEAR_WARPS * (product->is_gated ? 2 : 1) * n_tokens *
               SUNDOG_PANEL_ROWS * 4 +
           n_tokens * (columns * 2 + 64 + columns / 32 * 4);
}

/* Three slots where two such blocks share a multiprocessor, or where one fills it anyway; the block is
 * padded to half a multiprocessor, so that each place that falls free takes exactly one block. */
static void
choose_ring(Lowering *lowering, const Product *product, Draft *draft)
{
    int64_t n_slots = 3;
    if (few_bytes(lowering, product, n_slots) > SUNDOG_CUDA_HALF_SHARED_BYTES &&
        few_bytes(lowering, product, 2) <= SUNDOG_CUDA_HALF_SHARED_BYTES)
        n_slots = 2;
    if (few_bytes(lowering, product, n_slots) > SUNDOG_CUDA_MAX_SHARED_BYTES)
        n_slots = 2;
    int64_t n_bytes = few_bytes(lowering, product, n_slots);
    if (n_bytes > SUNDOG_CUDA_MAX_SHARED_BYTES)
        fail(lowering, "a product of %" G_GINT64_FORMAT " columns does not fit a multiprocessor",
             columns_of(lowering, product->w[0]));
    draft->parameters.linear.n_slots = (int32_t)n_slots;
    draft->launch.n_shared_bytes = (uint32_t)MAX(n_bytes, SUNDOG_CUDA_HALF_SHARED_BYTES);
}

/* A tile of SUNDOG_CUDA_WIDE_TILES. */
typedef struct {
    int64_t tokens, by_panels, by_columns, by_tokens, groups, chunk, stages;
} WideTile;

/* Grid and shared memory of the product for more tokens, as wide.cuh lays it out. */
static void
choose_tile(Lowering *lowering, const Product *product, int64_t n_units, Draft *draft)
{
    static const WideTile tiles[] = {
#define X(...) {__VA_ARGS__},
        SUNDOG_CUDA_WIDE_TILES(X)
#undef X
    };
    const WideTile *tile = tiles;
    while (tile->tokens != lowering->kind->tile_tokens)
        tile++;
    SundogLayout layout = buffer_of(lowering, product->w[0])->layout;
    int64_t n_panels = tile->by_panels * (product->is_gated || tile->by_columns == 1 ? 2 : 1);
    int64_t row_panels = product->is_gated ? tile->by_panels : n_panels;
    int64_t stage = n_panels * (tile->chunk / sundog_tile_block_columns(layout)) *
                        (int64_t)sundog_tile_block_bytes(layout) +
                    tile->tokens * tile->chunk * 2;
    int64_t sums = tile->by_columns * n_panels * tile->tokens * SUNDOG_PANEL_ROWS * 4;
    draft->launch.n_shared_bytes = (uint32_t)MAX(tile->stages * ((stage + 127) / 128 * 128), sums);
    draft->launch.grid[0] = constant(lowering, (n_units + row_panels - 1) / row_panels);
    draft->launch.grid[1] =
        binary(lowering, SUNDOG_EXPRESSION_CEIL_DIV, buffer_of(lowering, product->y)->shape[0],
               constant(lowering, tile->tokens));
    if (columns_of(lowering, product->w[0]) % 8 != 0)
        fail(lowering, "weight \"%s\" has %" G_GINT64_FORMAT " columns, not a multiple of 8",
             buffer_of(lowering, product->w[0])->name, columns_of(lowering, product->w[0]));
}

static void
add_product_source(Lowering *lowering, const Product *product, Draft *to)
{
    Draft *draft_pointer = to;
    SundogCudaLinear *linear = &to->parameters.linear;
    size_t at = offsetof(SundogCudaLinear, x);
    if (product->norm != NULL) {
        linear->source = SUNDOG_CUDA_X_NORM;
        linear->epsilon = (float)product->norm->parameters[0].f;
        add_buffer(lowering, draft_pointer, at, product->norm->arguments[0], SUNDOG_ACCESS_READ);
        add_buffer(lowering, draft_pointer, offsetof(SundogCudaLinear, norm_weight),
                   product->norm->arguments[1], SUNDOG_ACCESS_READ);
    } else {
        add_buffer(lowering, draft_pointer, at, product->x, SUNDOG_ACCESS_READ);
    }
}

static void
lower_product(Lowering *lowering, const Product *product)
{
    Draft draft;
    int64_t n_units = 0;
    const SundogBuffer *y = buffer_of(lowering, product->y);
    begin(lowering, &draft, product->first, product->n_operations,
          lowering->kind->tile_tokens > 0 ? "wide" : "linear", sizeof(SundogCudaLinear));
    g_autofree char *entry =
        g_strdup_printf("sundog_%s_%s_%s", product->is_gated ? "gated" : "linear",
                        layout_suffix(lowering, product->w[0]), lowering->kind->products);
    SundogCudaLinear *linear = &draft.parameters.linear;
    *linear = (SundogCudaLinear){.n_columns = (int32_t)columns_of(lowering, product->w[0]),
                                 .y_stride = (int32_t)columns_of(lowering, product->y),
                                 .y_is_bf16 = y->dtype == SUNDOG_DTYPE_BF16};
    add_product_source(lowering, product, &draft);
    for (int i = 0; i < 3; i++) {
        size_t step = (size_t)i * sizeof(void *);
        add_buffer(lowering, &draft, offsetof(SundogCudaLinear, w) + step, product->w[i],
                   SUNDOG_ACCESS_READ);
        add_buffer(lowering, &draft, offsetof(SundogCudaLinear, bias) + step, product->bias[i],
                   SUNDOG_ACCESS_READ);
        if (product->w[i] == SUNDOG_BUFFER_NONE)
            continue;
        linear->n_rows[i] = (int32_t)rows_of(lowering, product->w[i]);
        n_units = product->is_gated ? panels_of(lowering, product->w[0])
                                    : n_units + panels_of(lowering, product->w[i]);
        if (buffer_of(lowering, product->w[i])->layout !=
            buffer_of(lowering, product->w[0])->layout)
            fail(lowering, "weights \"%s\" and \"%s\" of one product lie differently",
                 buffer_of(lowering, product->w[i])->name,
                 buffer_of(lowering, product->w[0])->name);
    }
    READ(SundogCudaLinear, residual, product->residual);
    WRITE(SundogCudaLinear, y, product->y);
    VALUE(SundogCudaLinear, n_tokens, y->shape[0]);
    draft.launch.n_threads = SUNDOG_CUDA_LINEAR_THREADS;
    if (lowering->kind->tile_tokens > 0) {
        choose_tile(lowering, product, n_units, &draft);
    } else {
        choose_ring(lowering, product, &draft);
        draft.launch.grid[0] = binary(lowering, SUNDOG_EXPRESSION_MIN,
                                      variable(lowering, SUNDOG_VARIABLE_MULTIPROCESSORS),
                                      constant(lowering, n_units));
    }
    finish(lowering, &draft, entry);
}

static Product
product_of(const SundogOperation *operation)
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

static bool
is_product(SundogOperationKind kind)
{
    return kind == SUNDOG_OP_LINEAR || kind == SUNDOG_OP_LINEAR_QKV ||
           kind == SUNDOG_OP_LINEAR_GATED;
}

/* The product that alone takes this norm's result and comes right after it, or NULL. */
static const SundogOperation *
fusible_product(const Lowering *lowering, uint32_t index)
{
    const SundogOperation *norm = sundog_program_get_operation(lowering->program, index);
    if (lowering->kind->tile_tokens > 0 ||
        index + 1 == sundog_program_get_n_operations(lowering->program))
        return NULL;
    const SundogOperation *next = sundog_program_get_operation(lowering->program, index + 1);
    return is_product(next->kind) && next->arguments[0] == norm->arguments[2] &&
                   lowering->lifetimes[norm->arguments[2]].last == index + 1
               ? next
               : NULL;
}

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

static void
lower_rope_cache(Lowering *lowering, uint32_t index, const SundogOperation *operation)
{
    Draft draft;
    const SundogBufferId *a = operation->arguments;
    begin(lowering, &draft, index, 1, "attention", sizeof(SundogCudaAttention));
    set_attention(&draft.parameters.attention, operation, NULL);
    add_buffer(lowering, &draft, offsetof(SundogCudaAttention, qkv), a[0], SUNDOG_ACCESS_UPDATE);
    READ(SundogCudaAttention, positions, a[1]);
    READ(SundogCudaAttention, token_sequence, a[2]);
    READ(SundogCudaAttention, page_table, a[3]);
    READ(SundogCudaAttention, inverse_frequencies, a[4]);
    add_buffer(lowering, &draft, offsetof(SundogCudaAttention, k_pages), a[5],
               SUNDOG_ACCESS_UPDATE);
    add_buffer(lowering, &draft, offsetof(SundogCudaAttention, v_pages), a[6],
               SUNDOG_ACCESS_UPDATE);
    VALUE(SundogCudaAttention, sequence_pages, variable(lowering, SUNDOG_VARIABLE_SEQUENCE_PAGES));
    VALUE(SundogCudaAttention, n_tokens, variable(lowering, SUNDOG_VARIABLE_TOKENS));
    draft.launch.grid[0] = variable(lowering, SUNDOG_VARIABLE_TOKENS);
    finish(lowering, &draft, "sundog_rope_cache");
}

static int64_t
choose_splits(const Lowering *lowering, int64_t n_kv_heads)
{
    if (!lowering->kind->one_row)
        return 1;
    /* Few rows come among products of which two share a multiprocessor with each other, so attention has
     * one place on each; more rows have the multiprocessors to themselves. */
    int64_t n_blocks = lowering->kind->tile_tokens == 0 ? ATTENTION_BLOCKS / 2 : ATTENTION_BLOCKS;
    return CLAMP(n_blocks / (lowering->kind->max_tokens * n_kv_heads), 1, MAX_SPLITS);
}

/* The result, and where several blocks share a row, room for what each leaves for the last. */
static void
add_attention_result(Lowering *lowering, Draft *to, const SundogOperation *operation)
{
    SundogCudaAttention *attention = &to->parameters.attention;
    add_buffer(lowering, to, offsetof(SundogCudaAttention, o), operation->arguments[6],
               SUNDOG_ACCESS_WRITE);
    if (attention->n_splits == 1)
        return;
    SundogLaunchField *field =
        add_field(lowering, to, SUNDOG_FIELD_BUFFER, offsetof(SundogCudaAttention, parts));
    field->buffer = operation->arguments[7];
    field->access = SUNDOG_ACCESS_WRITE;
    field->n_bytes =
        binary(lowering, SUNDOG_EXPRESSION_MUL, variable(lowering, SUNDOG_VARIABLE_TOKENS),
               constant(lowering, (int64_t)attention->n_heads * attention->n_splits *
                                      (attention->head_dim + 2) * 4));
    add_field(lowering, to, SUNDOG_FIELD_STEP, offsetof(SundogCudaAttention, counters));
}

static void
lower_attention(Lowering *lowering, uint32_t index, const SundogOperation *rope,
                const SundogOperation *operation)
{
    Draft draft;
    const SundogBufferId *a = operation->arguments;
    begin(lowering, &draft, index, rope != NULL ? 2 : 1, "attention", sizeof(SundogCudaAttention));
    SundogCudaAttention *attention = &draft.parameters.attention;
    set_attention(attention, rope, operation);
    attention->n_splits = (int32_t)choose_splits(lowering, attention->n_kv_heads);
    attention->rotates = rope != NULL;
    if (operation->parameters[4].i > 0 || operation->parameters[5].f > 0 ||
        a[8] != SUNDOG_BUFFER_NONE)
        fail(lowering, "attention with a %s has no CUDA kernel",
             operation->parameters[4].i > 0   ? "window"
             : operation->parameters[5].f > 0 ? "soft cap"
                                              : "sink");
    if (attention->head_dim != 64 && attention->head_dim != 128)
        fail(lowering, "attention over heads of %d has no CUDA kernel; known are 64 and 128",
             attention->head_dim);
    g_autofree char *entry = g_strdup_printf("sundog_attention_%d", attention->head_dim);
    READ(SundogCudaAttention, qkv, a[0]);
    READ(SundogCudaAttention, page_table, a[2]);
    READ(SundogCudaAttention, tiles, a[3]);
    SundogAccess pages = rope != NULL ? SUNDOG_ACCESS_UPDATE : SUNDOG_ACCESS_READ;
    add_buffer(lowering, &draft, offsetof(SundogCudaAttention, k_pages), a[4], pages);
    add_buffer(lowering, &draft, offsetof(SundogCudaAttention, v_pages), a[5], pages);
    if (rope != NULL)
        READ(SundogCudaAttention, inverse_frequencies, rope->arguments[4]);
    add_attention_result(lowering, &draft, operation);
    VALUE(SundogCudaAttention, sequence_pages, variable(lowering, SUNDOG_VARIABLE_SEQUENCE_PAGES));
    int64_t per_group = attention->n_heads / attention->n_kv_heads;
    SundogExpression tiles =
        binary(lowering, SUNDOG_EXPRESSION_CEIL_DIV, variable(lowering, SUNDOG_VARIABLE_TOKENS),
               constant(lowering, SUNDOG_ATTENTION_TILE_ROWS));
    draft.launch.grid[0] = lowering->kind->one_row
                               ? variable(lowering, SUNDOG_VARIABLE_TOKENS)
                               : binary(lowering, SUNDOG_EXPRESSION_ADD, tiles,
                                        variable(lowering, SUNDOG_VARIABLE_SEQUENCES));
    /* Four warps of 16 pairs of a row and a head. */
    int64_t rows = lowering->kind->one_row ? 1 : SUNDOG_ATTENTION_TILE_ROWS;
    draft.launch.grid[1] =
        constant(lowering, attention->n_kv_heads * ((rows * per_group + 63) / 64));
    draft.launch.grid[2] = constant(lowering, attention->n_splits);
    draft.launch.n_threads = SUNDOG_CUDA_ATTENTION_THREADS;
    draft.launch.n_shared_bytes =
        (uint32_t)(attention->head_dim * SUNDOG_PAGE_TOKENS * 4 * SUNDOG_CUDA_ATTENTION_PAGES);
    /* Among products of half a multiprocessor each, as choose_ring() says. */
    if (lowering->kind->tile_tokens == 0)
        draft.launch.n_shared_bytes = SUNDOG_CUDA_HALF_SHARED_BYTES - SUNDOG_CUDA_STATIC_BYTES;
    finish(lowering, &draft, entry);
}

static void
lower_sample(Lowering *lowering, uint32_t index, const SundogOperation *operation)
{
    Draft draft;
    const SundogBufferId *a = operation->arguments;
    begin(lowering, &draft, index, 1, "sample", sizeof(SundogCudaSample));
    draft.parameters.sample.n_vocabulary = (int32_t)columns_of(lowering, a[0]);
    add_buffer(lowering, &draft, offsetof(SundogCudaSample, logits), a[0], SUNDOG_ACCESS_UPDATE);
    READ(SundogCudaSample, sampling, a[1]);
    READ(SundogCudaSample, history, a[2]);
    WRITE(SundogCudaSample, token, a[3]);
    add_field(lowering, &draft, SUNDOG_FIELD_RING, offsetof(SundogCudaSample, ring));
    add_field(lowering, &draft, SUNDOG_FIELD_STEP, offsetof(SundogCudaSample, step));
    VALUE(SundogCudaSample, n_rows, variable(lowering, SUNDOG_VARIABLE_LOGIT_ROWS));
    VALUE(SundogCudaSample, history_stride, variable(lowering, SUNDOG_VARIABLE_HISTORY));
    draft.launch.grid[0] = variable(lowering, SUNDOG_VARIABLE_LOGIT_ROWS);
    draft.launch.n_threads = SUNDOG_CUDA_SAMPLE_THREADS;
    finish(lowering, &draft, "sundog_sample");
}

/* Lowers what begins at an operation; returns how many operations that was. */
static uint32_t
lower_next(Lowering *lowering, uint32_t index)
{
    const SundogOperation *operation = sundog_program_get_operation(lowering->program, index);
    const SundogOperation *next = index + 1 < sundog_program_get_n_operations(lowering->program)
                                      ? sundog_program_get_operation(lowering->program, index + 1)
                                      : NULL;
    if (operation->kind == SUNDOG_OP_ROPE_CACHE && operation->parameters[3].i == 0)
        fail(lowering, "attention without rotary embedding has no CUDA kernel");
    if (operation->kind == SUNDOG_OP_LINEAR_GATED && operation->parameters[0].i != SUNDOG_GATE_SILU)
        fail(lowering, "linear_gated with another function than silu has no CUDA kernel");
    switch (operation->kind) {
    case SUNDOG_OP_EMBED:
        lower_embed(lowering, index, operation);
        return 1;
    case SUNDOG_OP_PLAN_ATTENTION:
        lower_plan_attention(lowering, index, operation);
        return 1;
    case SUNDOG_OP_GATHER_ROWS:
        lower_gather_rows(lowering, index, operation);
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
        Product product = product_of(fusible);
        product.first = index;
        product.n_operations = 2;
        product.norm = operation;
        lower_product(lowering, &product);
        return 2;
    }
    case SUNDOG_OP_ROPE_CACHE:
        if (!lowering->kind->one_row || next == NULL || next->kind != SUNDOG_OP_ATTENTION) {
            lower_rope_cache(lowering, index, operation);
            return 1;
        }
        lower_attention(lowering, index, operation, next);
        return 2;
    case SUNDOG_OP_ATTENTION:
        lower_attention(lowering, index, NULL, operation);
        return 1;
    default:
        if (!is_product(operation->kind)) {
            fail(lowering, "the operation %s has no CUDA kernel",
                 sundog_operations[operation->kind].name);
            return 1;
        }
        Product product = product_of(operation);
        product.first = index;
        product.n_operations = 1;
        lower_product(lowering, &product);
        return 1;
    }
}

static void
lower_variant(Lowering *lowering)
{
    int64_t most = sundog_program_get_bounds(lowering->program)->values[SUNDOG_VARIABLE_TOKENS];
    if (lowering->kind->min_tokens > most)
        return;
    sundog_launch_list_add_variant(lowering->list, lowering->kind->min_tokens,
                                   MIN(lowering->kind->max_tokens, most), lowering->kind->one_row);
    uint32_t index = 0;
    while (index < sundog_program_get_n_operations(lowering->program) && !lowering->failed)
        index += lower_next(lowering, index);
}

static bool
add_modules(Lowering *lowering, const char *target)
{
    for (int i = 0; sundog_lower_modules[i] != NULL; i++) {
        const SundogCubin *cubin = sundog_cubin_find(target, sundog_lower_modules[i]);
        uint8_t sha256[32];
        size_t n_bytes = sizeof sha256;
        if (cubin == NULL) {
            fail(lowering, "this build carries no kernels for the target \"%s\"", target);
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
sundog_lower(const SundogProgram *program, const char *target, GError **error)
{
    g_autofree SundogLifetime *lifetimes = sundog_program_dup_lifetimes(program);
    g_autoptr(SundogLaunchList) list = sundog_launch_list_new(program);
    Lowering lowering = {.program = program,
                         .list = list,
                         .lifetimes = lifetimes,
                         /* What waits by itself came with compute capability 9.0. */
                         .waits = atoi(target + 3) >= 90,
                         .error = error};
    if (!add_modules(&lowering, target))
        return NULL;
    for (size_t i = 0; i < G_N_ELEMENTS(kinds) && !lowering.failed; i++) {
        lowering.kind = &kinds[i];
        lower_variant(&lowering);
    }
    return lowering.failed ? NULL : g_steal_pointer(&list);
}
