/* From operations of attention to launches. */

#include "engine/prepare/lower-attention.h"

#include "engine/prepare/lower-latent.h"
#include "engine/prepare/lower.h"
#include "kernels/contract/attention.h"

/* Blocks of attention of few rows: about one a multiprocessor; of some: about two. */
#define FEW_BLOCKS 128
#define SOME_BLOCKS SUNDOG_LOWER_ATTENTION_BLOCKS
/* Rows from which on blocks are so many that three small ones share a multiprocessor better than two. */
#define MANY_ROWS 65
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
    attention->n_heads = (int32_t)operation->parameters[0].i;
    attention->n_kv_heads = (int32_t)operation->parameters[1].i;
    attention->head_dim = (int32_t)operation->parameters[2].i;
    attention->scale = (float)operation->parameters[3].f;
}

static int64_t
choose_splits(const SundogLowering *lowering, int64_t n_kv_heads)
{
    if (!lowering->kind->one_row)
        return 1;
    /* Few rows come among products of which two share a multiprocessor with each other, so attention has
     * one place on each; more rows have the multiprocessors to themselves. */
    int64_t n_blocks = sundog_lowering_is_for_few(lowering) ? FEW_BLOCKS : SOME_BLOCKS;
    return CLAMP(n_blocks / (lowering->kind->max_tokens * n_kv_heads), 1,
                 SUNDOG_CUDA_ATTENTION_SPLITS);
}

/* Where parameters name the room for parts, and the counters of those that are there. */
typedef struct {
    size_t parts;
    size_t counters;
} PartPlaces;

/* Room for what each block leaves for the last: so many floats a token, of the workspace. */
static void
add_parts(SundogLowering *lowering, SundogDraft *to, const SundogOperation *operation,
          PartPlaces places, int64_t token_floats)
{
    SundogLaunchField *field =
        sundog_draft_add_field(lowering, to, SUNDOG_FIELD_BUFFER, places.parts);
    field->buffer = operation->arguments[7];
    field->access = SUNDOG_ACCESS_WRITE;
    field->n_bytes = sundog_lowering_binary(
        lowering, SUNDOG_EXPRESSION_MUL, sundog_lowering_variable(lowering, SUNDOG_VARIABLE_TOKENS),
        sundog_lowering_constant(lowering, token_floats * (int64_t)sizeof(float)));
    sundog_draft_add_field(lowering, to, SUNDOG_FIELD_STEP, places.counters);
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
    add_parts(
        lowering, to, operation,
        (PartPlaces){offsetof(SundogCudaAttention, parts), offsetof(SundogCudaAttention, counters)},
        (int64_t)attention->n_heads * attention->n_splits *
            SUNDOG_CUDA_PART_FLOATS(attention->head_dim));
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

static bool
are_q8(const SundogLowering *lowering, SundogBufferId pages)
{
    return sundog_lowering_get_buffer(lowering, pages)->dtype == SUNDOG_DTYPE_Q8;
}

void
sundog_lower_rope_cache(SundogLowering *lowering, uint32_t index, const SundogOperation *operation)
{
    SundogDraft draft;
    const SundogBufferId *a = operation->arguments;
    const SundogParameter *p = operation->parameters;
    SundogAccess pages =
        operation->kind == SUNDOG_OP_ROPE_PAGES ? SUNDOG_ACCESS_WRITE : SUNDOG_ACCESS_UPDATE;
    sundog_draft_begin(lowering, &draft, index, 1, "rope-cache", sizeof(SundogCudaRopeCache));
    draft.parameters.rope_cache = (SundogCudaRopeCache){.n_heads = (int32_t)p[0].i,
                                                        .n_kv_heads = (int32_t)p[1].i,
                                                        .head_dim = (int32_t)p[2].i,
                                                        .rope_dims = (int32_t)p[3].i,
                                                        .interleaved = (int32_t)p[4].i,
                                                        .are_q8 = are_q8(lowering, a[5]),
                                                        .magnitude = (float)p[5].f};
    sundog_draft_add_buffer(lowering, &draft, offsetof(SundogCudaRopeCache, qkv), a[0],
                            SUNDOG_ACCESS_UPDATE);
    SUNDOG_DRAFT_READ(SundogCudaRopeCache, positions, a[1]);
    SUNDOG_DRAFT_READ(SundogCudaRopeCache, token_sequence, a[2]);
    SUNDOG_DRAFT_READ(SundogCudaRopeCache, page_table, a[3]);
    SUNDOG_DRAFT_READ(SundogCudaRopeCache, inverse_frequencies, a[4]);
    sundog_draft_add_buffer(lowering, &draft, offsetof(SundogCudaRopeCache, k_pages), a[5], pages);
    sundog_draft_add_buffer(lowering, &draft, offsetof(SundogCudaRopeCache, v_pages), a[6], pages);
    SUNDOG_DRAFT_VALUE(SundogCudaRopeCache, sequence_pages,
                       sundog_lowering_variable(lowering, SUNDOG_VARIABLE_SEQUENCE_PAGES));
    draft.launch.grid[0] = sundog_lowering_variable(lowering, SUNDOG_VARIABLE_TOKENS);
    sundog_draft_finish(lowering, &draft, "sundog_rope_cache");
}

/* Places of attention's parameters and arguments. */
enum { HEAD_DIM = 2, SCALE, WINDOW, SOFTCAP, CHUNK, BOTH_WAYS };
enum { SINKS = 8 };

/* What no kernel does is refused by name. */
static void
check_attention(SundogLowering *lowering, const SundogOperation *operation)
{
    int64_t head_dim = operation->parameters[HEAD_DIM].i;
    bool is_latent =
        head_dim == SUNDOG_CUDA_ATTEND_LATENT && sundog_lower_attends_latents(lowering, operation);
    if ((head_dim > SUNDOG_CUDA_ATTEND_MAX_DIM && !is_latent) || head_dim % 2 != 0)
        sundog_lowering_fail(lowering,
                             "attention over heads of %" G_GINT64_FORMAT
                             " has no CUDA kernel; they are even and at most %d",
                             head_dim, SUNDOG_CUDA_ATTEND_MAX_DIM);
    SundogDtype pages = sundog_lowering_get_buffer(lowering, operation->arguments[4])->dtype;
    if (pages != SUNDOG_DTYPE_BF16 && pages != SUNDOG_DTYPE_Q8)
        sundog_lowering_fail(lowering, "attention over pages of %s has no CUDA kernel",
                             sundog_dtype_name(pages));
}

/* Queries beside their keys and values, pages of bf16, and nothing that scores or views add but a window. */
static bool
is_plain(const SundogLowering *lowering, const SundogOperation *operation)
{
    const SundogParameter *p = operation->parameters;
    int64_t n_heads = p[0].i + 2 * p[1].i;
    return sundog_lowering_get_columns(lowering, operation->arguments[0]) ==
               n_heads * p[HEAD_DIM].i &&
           p[CHUNK].i == 0 && p[BOTH_WAYS].i == 0 && !(p[SOFTCAP].f > 0) &&
           !are_q8(lowering, operation->arguments[4]) &&
           operation->arguments[SINKS] == SUNDOG_BUFFER_NONE;
}

bool
sundog_lower_knows_heads(const SundogLowering *lowering, const SundogOperation *operation)
{
    const SundogParameter *p = operation->parameters;
    return (p[HEAD_DIM].i == 64 || p[HEAD_DIM].i == 128) && p[WINDOW].i == 0 &&
           is_plain(lowering, operation);
}

/* Tiles of all sequences, as many as there can be. */
static SundogExpression
count_tiles(const SundogLowering *lowering)
{
    return sundog_lowering_binary(
        lowering, SUNDOG_EXPRESSION_ADD,
        sundog_lowering_binary(lowering, SUNDOG_EXPRESSION_CEIL_DIV,
                               sundog_lowering_variable(lowering, SUNDOG_VARIABLE_TOKENS),
                               sundog_lowering_constant(lowering, SUNDOG_ATTENTION_TILE_ROWS)),
        sundog_lowering_variable(lowering, SUNDOG_VARIABLE_SEQUENCES));
}

/* Blocks that share a group's pairs of a tile. */
static SundogExpression
count_pair_blocks(const SundogLowering *lowering, const SundogCudaAttention *attention,
                  int64_t n_rows, int64_t block_pairs)
{
    int64_t n_pairs = n_rows * (attention->n_heads / attention->n_kv_heads);
    return sundog_lowering_constant(lowering, attention->n_kv_heads *
                                                  ((n_pairs + block_pairs - 1) / block_pairs));
}

/* Prompts, whose tiles give both warpgroups of a block pairs, or one, where otherwise attend.cu has them. In steps
 * that are all alike, all that attention.cu knows too. */
static bool
suits_flash(const SundogLowering *lowering, const SundogOperation *operation)
{
    int64_t per_group = operation->parameters[0].i / operation->parameters[1].i;
    int64_t head_dim = operation->parameters[HEAD_DIM].i;
    bool is_known = sundog_lower_knows_heads(lowering, operation);
    int64_t least = is_known ? SUNDOG_CUDA_FLASH_PAIRS / 2 + 1 : SUNDOG_CUDA_FLASH_PAIRS / 2;
    if (lowering->kind->is_alike || !lowering->has_warpgroups)
        return lowering->has_warpgroups && is_known;
    return !lowering->kind->one_row && is_plain(lowering, operation) &&
           (head_dim == 64 || head_dim == 128 || head_dim == 256) &&
           lowering->kind->max_tokens > SUNDOG_ATTENTION_TILE_ROWS &&
           SUNDOG_ATTENTION_TILE_ROWS * per_group >= least;
}

static void
lower_flash(SundogLowering *lowering, uint32_t index, const SundogOperation *operation)
{
    SundogDraft draft;
    const SundogBufferId *a = operation->arguments;
    size_t base = offsetof(SundogCudaFlash, attention);
    sundog_draft_begin(lowering, &draft, index, 1, "flash", sizeof(SundogCudaFlash));
    SundogCudaAttention *attention = &draft.parameters.flash.attention;
    set_attention(attention, NULL, operation);
    attention->n_splits = 1;
    draft.parameters.flash.window = (int32_t)operation->parameters[WINDOW].i;
    sundog_draft_add_map(lowering, &draft, offsetof(SundogCudaFlash, k), a[4], attention->head_dim);
    sundog_draft_add_map(lowering, &draft, offsetof(SundogCudaFlash, v), a[5], SUNDOG_PAGE_TOKENS);
    sundog_draft_add_buffer(lowering, &draft, base + offsetof(SundogCudaAttention, qkv), a[0],
                            SUNDOG_ACCESS_READ);
    sundog_draft_add_buffer(lowering, &draft, base + offsetof(SundogCudaAttention, page_table),
                            a[2], SUNDOG_ACCESS_READ);
    sundog_draft_add_buffer(lowering, &draft, base + offsetof(SundogCudaAttention, tiles), a[3],
                            SUNDOG_ACCESS_READ);
    sundog_draft_add_buffer(lowering, &draft, base + offsetof(SundogCudaAttention, o), a[6],
                            SUNDOG_ACCESS_WRITE);
    sundog_draft_add_value(lowering, &draft, base + offsetof(SundogCudaAttention, sequence_pages),
                           sundog_lowering_variable(lowering, SUNDOG_VARIABLE_SEQUENCE_PAGES));
    draft.launch.grid[0] = count_tiles(lowering);
    draft.launch.grid[1] =
        count_pair_blocks(lowering, attention, SUNDOG_ATTENTION_TILE_ROWS, SUNDOG_CUDA_FLASH_PAIRS);
    draft.launch.n_threads = SUNDOG_CUDA_FLASH_THREADS;
    draft.launch.n_shared_bytes = (uint32_t)SUNDOG_CUDA_FLASH_SHARED_BYTES(attention->head_dim);
    g_autofree char *entry = g_strdup_printf("sundog_flash_%d", attention->head_dim);
    sundog_draft_finish(lowering, &draft, entry);
}

/* What attention over pages reads, and of one row a sequence stores. */
static void
begin_pages(SundogLowering *lowering, SundogDraft *draft, uint32_t index, const char *module,
            const SundogOperation *rope, const SundogOperation *operation)
{
    const SundogBufferId *a = operation->arguments;
    SundogAccess access = rope != NULL ? SUNDOG_ACCESS_UPDATE : SUNDOG_ACCESS_READ;
    sundog_draft_begin(lowering, draft, index, rope != NULL ? 2 : 1, module,
                       sizeof(SundogCudaAttention));
    SundogCudaAttention *attention = &draft->parameters.attention;
    set_attention(attention, rope, operation);
    attention->rotates = rope != NULL;
    attention->reads_early =
        rope != NULL && index > 0 && sundog_lowering_attends_next(lowering, index - 1);
    sundog_draft_add_buffer(lowering, draft, offsetof(SundogCudaAttention, qkv), a[0],
                            SUNDOG_ACCESS_READ);
    sundog_draft_add_buffer(lowering, draft, offsetof(SundogCudaAttention, page_table), a[2],
                            SUNDOG_ACCESS_READ);
    sundog_draft_add_buffer(lowering, draft, offsetof(SundogCudaAttention, tiles), a[3],
                            SUNDOG_ACCESS_READ);
    sundog_draft_add_buffer(lowering, draft, offsetof(SundogCudaAttention, k_pages), a[4], access);
    sundog_draft_add_buffer(lowering, draft, offsetof(SundogCudaAttention, v_pages), a[5], access);
    if (rope != NULL)
        sundog_draft_add_buffer(lowering, draft, offsetof(SundogCudaAttention, inverse_frequencies),
                                rope->arguments[4], SUNDOG_ACCESS_READ);
    sundog_draft_add_value(lowering, draft, offsetof(SundogCudaAttention, sequence_pages),
                           sundog_lowering_variable(lowering, SUNDOG_VARIABLE_SEQUENCE_PAGES));
}

/* Blocks of a cluster: a power of two, with which the clusters of all rows and groups have about one a
 * multiprocessor. */
static int64_t
choose_cluster(const SundogLowering *lowering, int64_t n_kv_heads)
{
    int64_t n = SUNDOG_CUDA_DECODE_SPLITS;
    while (n > 1 && n * lowering->kind->max_tokens * n_kv_heads > FEW_BLOCKS)
        n /= 2;
    return n;
}

/* Few rows of one a sequence. What waits by itself has clusters too. */
static bool
suits_decode(const SundogLowering *lowering, const SundogOperation *rope,
             const SundogOperation *operation)
{
    int64_t per_group = operation->parameters[0].i / operation->parameters[1].i;
    return lowering->waits && lowering->kind->one_row && rope != NULL &&
           per_group <= SUNDOG_CUDA_DECODE_PAIRS &&
           choose_cluster(lowering, operation->parameters[1].i) > 1;
}

static void
lower_decode(SundogLowering *lowering, uint32_t index, const SundogOperation *rope,
             const SundogOperation *operation)
{
    SundogDraft draft;
    begin_pages(lowering, &draft, index, "decode", rope, operation);
    SundogCudaAttention *attention = &draft.parameters.attention;
    attention->n_splits = (int32_t)choose_cluster(lowering, attention->n_kv_heads);
    SUNDOG_DRAFT_WRITE(SundogCudaAttention, o, operation->arguments[6]);
    draft.launch.grid[0] = sundog_lowering_variable(lowering, SUNDOG_VARIABLE_TOKENS);
    draft.launch.grid[1] = sundog_lowering_constant(lowering, attention->n_kv_heads);
    draft.launch.grid[2] = sundog_lowering_constant(lowering, attention->n_splits);
    draft.launch.n_threads = SUNDOG_CUDA_DECODE_THREADS;
    /* Beside a product of half a multiprocessor, as lower-products.c says. */
    draft.launch.n_shared_bytes = SUNDOG_CUDA_HALF_SHARED_BYTES - SUNDOG_CUDA_STATIC_BYTES;
    g_autofree char *entry =
        g_strdup_printf("sundog_decode_%d_by_%d", attention->head_dim, attention->n_splits);
    sundog_draft_finish(lowering, &draft, entry);
}

static void
lower_pages(SundogLowering *lowering, uint32_t index, const SundogOperation *rope,
            const SundogOperation *operation)
{
    SundogDraft draft;
    begin_pages(lowering, &draft, index, "attention", rope, operation);
    SundogCudaAttention *attention = &draft.parameters.attention;
    attention->n_splits = (int32_t)choose_splits(lowering, attention->n_kv_heads);
    add_attention_result(lowering, &draft, operation);
    draft.launch.grid[0] = lowering->kind->one_row
                               ? sundog_lowering_variable(lowering, SUNDOG_VARIABLE_TOKENS)
                               : count_tiles(lowering);
    draft.launch.grid[1] = count_pair_blocks(
        lowering, attention, lowering->kind->one_row ? 1 : SUNDOG_ATTENTION_TILE_ROWS, BLOCK_PAIRS);
    draft.launch.grid[2] = sundog_lowering_constant(lowering, attention->n_splits);
    draft.launch.n_threads = SUNDOG_CUDA_ATTENTION_THREADS;
    bool is_many = lowering->kind->min_tokens >= MANY_ROWS;
    int64_t n_pages = is_many ? SUNDOG_CUDA_ATTENTION_MANY_PAGES : SUNDOG_CUDA_ATTENTION_PAGES;
    draft.launch.n_shared_bytes =
        (uint32_t)(attention->head_dim * SUNDOG_PAGE_TOKENS * 4 * n_pages);
    /* Among products of half a multiprocessor each, as lower-products.c says. */
    if (sundog_lowering_is_for_few(lowering))
        draft.launch.n_shared_bytes = SUNDOG_CUDA_HALF_SHARED_BYTES - SUNDOG_CUDA_STATIC_BYTES;
    g_autofree char *entry =
        g_strdup_printf("sundog_attention_%d%s", attention->head_dim, is_many ? "_many" : "");
    sundog_draft_finish(lowering, &draft, entry);
}

/* A size of attend.cu's kernels, and pairs of a block with few and with many. */
typedef struct {
    int64_t head_dim;
    int64_t few;
    int64_t many;
} AttendSize;

static const AttendSize attend_sizes[] = {
#define X(head_dim, few, many) {head_dim, few, many},
    SUNDOG_CUDA_ATTEND_SIZES(X)
#undef X
};

static const AttendSize *
find_attend_size(int64_t head_dim)
{
    const AttendSize *size = attend_sizes;
    while (size->head_dim < head_dim)
        size++;
    return size;
}

/* As many blocks as a GPU holds, but none without a page where windows leave few. */
static int64_t
choose_attend_splits(const SundogLowering *lowering, const SundogOperation *operation)
{
    const SundogParameter *p = operation->parameters;
    int64_t span = p[CHUNK].i > 0 ? p[CHUNK].i : p[WINDOW].i;
    /* Where a row's pages are split follows from the last row of its tile. */
    if (lowering->kind->is_alike)
        return 1;
    int64_t n_pages =
        sundog_program_get_bounds(lowering->program)->values[SUNDOG_VARIABLE_SEQUENCE_PAGES];
    if (span > 0)
        n_pages = MIN(n_pages, (span + SUNDOG_PAGE_TOKENS - 2) / SUNDOG_PAGE_TOKENS + 1);
    /* Latents leave parts so large that merging more of them costs more than it saves. */
    int64_t most = p[HEAD_DIM].i == SUNDOG_CUDA_ATTEND_LATENT ? SUNDOG_CUDA_ATTEND_SPLITS / 2
                                                              : SUNDOG_CUDA_ATTEND_SPLITS;
    return CLAMP(SOME_BLOCKS / (lowering->kind->max_tokens * p[1].i), 1, MIN(n_pages, most));
}

static void
add_attend_result(SundogLowering *lowering, SundogDraft *to, const SundogOperation *operation)
{
    SundogCudaAttend *attend = &to->parameters.attend;
    sundog_draft_add_buffer(lowering, to, offsetof(SundogCudaAttend, o), operation->arguments[6],
                            SUNDOG_ACCESS_WRITE);
    if (attend->n_splits > 1)
        add_parts(
            lowering, to, operation,
            (PartPlaces){offsetof(SundogCudaAttend, parts), offsetof(SundogCudaAttend, counters)},
            (int64_t)attend->n_heads * attend->n_splits *
                SUNDOG_CUDA_PART_FLOATS(attend->head_dim));
}

/* Any heads. */
static void
lower_attend(SundogLowering *lowering, uint32_t index, const SundogOperation *operation)
{
    SundogDraft draft;
    const SundogBufferId *a = operation->arguments;
    const SundogParameter *p = operation->parameters;
    const AttendSize *size = find_attend_size(p[HEAD_DIM].i);
    int64_t n_rows = lowering->kind->one_row ? 1 : SUNDOG_ATTENTION_TILE_ROWS;
    int64_t most = lowering->kind->is_alike ? n_rows : lowering->kind->max_tokens;
    int64_t n_pairs = MIN(n_rows, most) * (p[0].i / p[1].i);
    int64_t block_pairs = n_pairs <= size->few ? size->few : size->many;
    sundog_draft_begin(lowering, &draft, index, 1, "attend", sizeof(SundogCudaAttend));
    draft.parameters.attend =
        (SundogCudaAttend){.n_columns = (int32_t)sundog_lowering_get_columns(lowering, a[0]),
                           .n_heads = (int32_t)p[0].i,
                           .n_kv_heads = (int32_t)p[1].i,
                           .head_dim = (int32_t)p[HEAD_DIM].i,
                           .window = (int32_t)p[WINDOW].i,
                           .chunk = (int32_t)p[CHUNK].i,
                           .both_ways = (int32_t)p[BOTH_WAYS].i,
                           .are_q8 = are_q8(lowering, a[4]),
                           .n_splits = (int32_t)choose_attend_splits(lowering, operation),
                           .scale = (float)p[SCALE].f,
                           .softcap = (float)p[SOFTCAP].f};
    SUNDOG_DRAFT_READ(SundogCudaAttend, qkv, a[0]);
    SUNDOG_DRAFT_READ(SundogCudaAttend, page_table, a[2]);
    SUNDOG_DRAFT_READ(SundogCudaAttend, tiles, a[3]);
    SUNDOG_DRAFT_READ(SundogCudaAttend, k_pages, a[4]);
    SUNDOG_DRAFT_READ(SundogCudaAttend, v_pages, a[5]);
    SUNDOG_DRAFT_READ(SundogCudaAttend, sinks, a[SINKS]);
    add_attend_result(lowering, &draft, operation);
    SUNDOG_DRAFT_VALUE(SundogCudaAttend, sequence_pages,
                       sundog_lowering_variable(lowering, SUNDOG_VARIABLE_SEQUENCE_PAGES));
    draft.launch.grid[0] = lowering->kind->one_row
                               ? sundog_lowering_variable(lowering, SUNDOG_VARIABLE_TOKENS)
                               : count_tiles(lowering);
    draft.launch.grid[1] =
        sundog_lowering_constant(lowering, p[1].i * ((n_pairs + block_pairs - 1) / block_pairs));
    draft.launch.grid[2] = sundog_lowering_constant(lowering, draft.parameters.attend.n_splits);
    draft.launch.n_threads = (uint32_t)SUNDOG_CUDA_ATTEND_THREADS(block_pairs);
    draft.launch.n_shared_bytes =
        (uint32_t)SUNDOG_CUDA_ATTEND_SHARED_BYTES(size->head_dim, block_pairs);
    g_autofree char *entry =
        g_strdup_printf("sundog_attend_%d_%d", (int)size->head_dim, (int)block_pairs);
    sundog_draft_finish(lowering, &draft, entry);
}

void
sundog_lower_attention(SundogLowering *lowering, uint32_t index, const SundogOperation *rope,
                       const SundogOperation *operation)
{
    check_attention(lowering, operation);
    if (lowering->failed)
        return;
    if (suits_flash(lowering, operation))
        lower_flash(lowering, index, operation);
    else if (lowering->kind->is_alike || !sundog_lower_knows_heads(lowering, operation))
        lower_attend(lowering, index, operation);
    else if (suits_decode(lowering, rope, operation))
        lower_decode(lowering, index, rope, operation);
    else
        lower_pages(lowering, index, rope, operation);
}
