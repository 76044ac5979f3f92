/*
 * rope_cache and rope_pages: rope-cache.h. Threads split the rows, and the groups of heads only where rows are few: angles
 * are then found once a row, and threads that share rows would fetch each other's lines ahead of themselves.
 * Keys lie transposed in their pages, so rows of consecutive slots are gathered to be written together.
 */

#include "kernels/contract/rope-cache.h"
#include "kernels/host/half.h"
#include "kernels/host/kernel.h"
#include "kernels/host/rotate.h"
#include <math.h>

#define RUN_ROWS 16
#define LEAST_MAGNITUDE 0x1p-33f
#define INFINITY_BITS 0x7f800000

typedef struct {
    float *qkv;
    int64_t row_floats;
    const int32_t *positions;
    const int32_t *token_sequence;
    const int32_t *page_table;
    int64_t sequence_pages;
    SundogRotation rotation;
    uint8_t *k_pages;
    uint8_t *v_pages;
    SundogDtype dtype; /* of the pages */
    int64_t n_heads, n_kv_heads, head_dim;
} RopeCache;

/* Rows of one sequence in consecutive slots of one page. */
typedef struct {
    int64_t first;
    int64_t n;
    int64_t page;
    int64_t slot;
} Run;

static RopeCache
rope_cache_from_call(const SundogCall *call)
{
    const SundogArgument *a = call->arguments;
    const SundogParameter *p = call->parameters;
    return (RopeCache){.qkv = a[0].data,
                       .row_floats = a[0].shape[1],
                       .positions = a[1].data,
                       .token_sequence = a[2].data,
                       .page_table = a[3].data,
                       .sequence_pages = a[3].shape[1],
                       .rotation = {.inverse_frequencies = a[4].data,
                                    .n_dims = p[3].i,
                                    .interleaved = p[4].i != 0,
                                    .magnitude = (float)p[5].f},
                       .k_pages = a[5].data,
                       .v_pages = a[6].data,
                       .dtype = a[5].dtype,
                       .n_heads = p[0].i,
                       .n_kv_heads = p[1].i,
                       .head_dim = p[2].i};
}

/* Groups [groups.begin, groups.end) of one row. */
static void
rotate_row(const RopeCache *rope, int64_t row, SundogRange groups)
{
    float position = (float)rope->positions[row];
    int64_t per_group = rope->n_heads / rope->n_kv_heads, pairs = rope->rotation.n_dims / 2;
    float *heads = rope->qkv + row * rope->row_floats;
    float *keys = heads + rope->n_heads * rope->head_dim;
    SundogAngles angles;
    for (int64_t first = 0; first < pairs; first += SUNDOG_ANGLES) {
        sundog_find_angles(&rope->rotation, position, first, &angles);
        for (int64_t h = groups.begin * per_group; h < groups.end * per_group; h++)
            sundog_rotate(&rope->rotation, heads + h * rope->head_dim, first, &angles);
        for (int64_t g = groups.begin; g < groups.end; g++)
            sundog_rotate(&rope->rotation, keys + g * rope->head_dim, first, &angles);
    }
}

static void
store_elements(const RopeCache *rope, uint8_t *pages, int64_t at, const float *values, int64_t n)
{
    if (rope->dtype == SUNDOG_DTYPE_F16)
        sundog_store_halves((uint16_t *)pages + at, values, n);
    else if (rope->dtype == SUNDOG_DTYPE_BF16)
        sundog_store_factors((uint16_t *)pages + at, values, n);
    else
        memcpy((float *)pages + at, values, (size_t)n * sizeof(float));
}

/* The bytes of a block of a head's numbers, `stride` apart, and its scale. */
static void
store_bytes(const float *row, int64_t n, int8_t *bytes, int64_t stride, float *scale)
{
    int32_t magnitude = 0;
    for (int64_t d = 0; d < n; d++) {
        int32_t bits = (int32_t)(sundog_float_bits(row[d]) & 0x7fffffff);
        magnitude = bits > magnitude ? bits : magnitude;
    }
    float most = sundog_float_from_bits((uint32_t)magnitude);
    bool counts = most >= LEAST_MAGNITUDE && magnitude < INFINITY_BITS;
    float inverse = counts ? 127.0f / most : 0;
    for (int64_t d = 0; d < n; d++)
        bytes[d * stride] = counts ? (int8_t)rintf(row[d] * inverse) : 0;
    *scale = counts ? most / 127.0f : most < LEAST_MAGNITUDE ? 0 : NAN;
}

/* A run in pages of q8. */
static void
store_narrow_run(const RopeCache *rope, const Run *run, int64_t group)
{
    int64_t c = rope->head_dim;
    uint64_t part = (uint64_t)(run->page * rope->n_kv_heads + group) *
                    sundog_page_part_bytes(SUNDOG_DTYPE_Q8, 1, (uint64_t)c);
    const float *keys = rope->qkv + run->first * rope->row_floats + (rope->n_heads + group) * c;
    const float *values = keys + rope->n_kv_heads * c;
    int8_t *k = (int8_t *)rope->k_pages + part, *v = (int8_t *)rope->v_pages + part;
    float *k_scales = (float *)(k + c * SUNDOG_PAGE_TOKENS);
    float *v_scales = (float *)(v + c * SUNDOG_PAGE_TOKENS);
    for (int64_t i = 0; i < run->n; i++) {
        int64_t slot = run->slot + i;
        for (int64_t d = 0; d < c; d += SUNDOG_Q8_BLOCK) {
            int64_t n = sundog_min(SUNDOG_Q8_BLOCK, c - d), at = i * rope->row_floats + d;
            int64_t scale = d / SUNDOG_Q8_BLOCK * SUNDOG_PAGE_TOKENS + slot;
            store_bytes(keys + at, n, k + d * SUNDOG_PAGE_TOKENS + slot, SUNDOG_PAGE_TOKENS,
                        &k_scales[scale]);
            store_bytes(values + at, n, v + slot * c + d, 1, &v_scales[scale]);
        }
    }
}

static void
store_run(const RopeCache *rope, const Run *run, int64_t group)
{
    int64_t c = rope->head_dim;
    int64_t base = (run->page * rope->n_kv_heads + group) * c * SUNDOG_PAGE_TOKENS;
    const float *keys = rope->qkv + run->first * rope->row_floats + (rope->n_heads + group) * c;
    const float *values = keys + rope->n_kv_heads * c;
    for (int64_t d = 0; d < c; d++) {
        float column[RUN_ROWS];
        for (int64_t i = 0; i < run->n; i++)
            column[i] = keys[i * rope->row_floats + d];
        store_elements(rope, rope->k_pages, base + d * SUNDOG_PAGE_TOKENS + run->slot, column,
                       run->n);
    }
    for (int64_t i = 0; i < run->n; i++)
        store_elements(rope, rope->v_pages, base + (run->slot + i) * c,
                       values + i * rope->row_floats, c);
}

/* The longest run from a row on, within [row, end). */
static Run
find_run(const RopeCache *rope, int64_t row, int64_t end)
{
    int32_t position = rope->positions[row], sequence = rope->token_sequence[row];
    Run run = {.first = row, .n = 1, .slot = position % SUNDOG_PAGE_TOKENS};
    run.page = rope->page_table[sequence * rope->sequence_pages + position / SUNDOG_PAGE_TOKENS];
    int64_t most = sundog_min(sundog_min(RUN_ROWS, SUNDOG_PAGE_TOKENS - run.slot), end - row);
    while (run.n < most && rope->token_sequence[row + run.n] == sequence &&
           rope->positions[row + run.n] == position + run.n)
        run.n++;
    return run;
}

/* A single row touches a line of each dimension's keys, which in decoding lie in memory: all are asked
 * for before the rotation needs its time. */
static void
prefetch_keys(const RopeCache *rope, const Run *run, int64_t group)
{
    static const size_t element_bytes[] = {[SUNDOG_DTYPE_F32] = 4,
                                           [SUNDOG_DTYPE_F16] = 2,
                                           [SUNDOG_DTYPE_BF16] = 2,
                                           [SUNDOG_DTYPE_Q8] = 1};
    size_t bytes = element_bytes[rope->dtype];
    uint64_t part = sundog_page_part_bytes(rope->dtype, bytes, (uint64_t)rope->head_dim);
    const uint8_t *keys = rope->k_pages + (uint64_t)(run->page * rope->n_kv_heads + group) * part +
                          (size_t)run->slot * bytes;
    for (int64_t d = 0; d < rope->head_dim; d++)
        __builtin_prefetch(keys + (size_t)d * SUNDOG_PAGE_TOKENS * bytes, 1);
}

static void
rope_cache_rows(const RopeCache *rope, SundogRange groups, SundogRange rows)
{
    for (int64_t row = rows.begin; row < rows.end;) {
        Run run = find_run(rope, row, rows.end);
        for (int64_t g = groups.begin; run.n == 1 && g < groups.end; g++)
            prefetch_keys(rope, &run, g);
        for (int64_t i = 0; i < run.n; i++)
            rotate_row(rope, row + i, groups);
        for (int64_t g = groups.begin; run.page != SUNDOG_NULL_PAGE && g < groups.end; g++)
            (rope->dtype == SUNDOG_DTYPE_Q8 ? store_narrow_run : store_run)(rope, &run, g);
        row += run.n;
    }
}

static void
rope_all(const SundogCall *call, const RopeCache *rope)
{
    int64_t n_rows = call->arguments[0].shape[0];
    if (n_rows > RUN_ROWS * (int64_t)call->n_threads) {
        rope_cache_rows(rope, (SundogRange){0, rope->n_kv_heads}, sundog_split(call, n_rows));
        return;
    }
    SundogRange range = sundog_split(call, rope->n_kv_heads * n_rows);
    for (int64_t i = range.begin, end; i < range.end; i = end) {
        int64_t group = i / n_rows, first = group * n_rows;
        end = sundog_min(range.end, first + n_rows);
        rope_cache_rows(rope, (SundogRange){group, group + 1},
                        (SundogRange){i - first, end - first});
    }
}

void
SUNDOG_KERNEL(ROPE_CACHE)(const SundogCall *call)
{
    RopeCache rope = rope_cache_from_call(call);
    rope_all(call, &rope);
}

/* True where no row of the step comes after this one in its sequence. */
static bool
is_last(const RopeCache *rope, int64_t row, int64_t n_rows)
{
    return row + 1 == n_rows || rope->token_sequence[row + 1] != rope->token_sequence[row];
}

/* Zeros in the slots behind the last position of a sequence. */
static void
clear_tail(const RopeCache *rope, int64_t row, int64_t group)
{
    int64_t c = rope->head_dim, position = rope->positions[row];
    int64_t sequence = rope->token_sequence[row], used = position % SUNDOG_PAGE_TOKENS + 1;
    int64_t page =
        rope->page_table[sequence * rope->sequence_pages + position / SUNDOG_PAGE_TOKENS];
    size_t bytes = sundog_dtype_bytes(rope->dtype);
    size_t base = (size_t)((page * rope->n_kv_heads + group) * c * SUNDOG_PAGE_TOKENS) * bytes;
    uint8_t *keys = rope->k_pages + base, *values = rope->v_pages + base;
    for (int64_t d = 0; d < c; d++)
        memset(keys + (size_t)(d * SUNDOG_PAGE_TOKENS + used) * bytes, 0,
               (size_t)(SUNDOG_PAGE_TOKENS - used) * bytes);
    memset(values + (size_t)(used * c) * bytes, 0,
           (size_t)((SUNDOG_PAGE_TOKENS - used) * c) * bytes);
}

/* The highest page of the step: they are numbered from 1 on. */
static int64_t
count_pages(const RopeCache *rope, int64_t n_rows)
{
    int64_t n = 0;
    for (int64_t row = 0; row < n_rows; row++) {
        if (rope->positions[row] % SUNDOG_PAGE_TOKENS != 0)
            continue;
        int64_t page = rope->page_table[rope->token_sequence[row] * rope->sequence_pages +
                                        rope->positions[row] / SUNDOG_PAGE_TOKENS];
        n = page > n ? page : n;
    }
    return n;
}

static void
clear_page(const RopeCache *rope, int64_t page)
{
    size_t n_bytes = (size_t)(rope->n_kv_heads * rope->head_dim * SUNDOG_PAGE_TOKENS) *
                     sundog_dtype_bytes(rope->dtype);
    memset(rope->k_pages + (size_t)page * n_bytes, 0, n_bytes);
    memset(rope->v_pages + (size_t)page * n_bytes, 0, n_bytes);
}

void
SUNDOG_KERNEL(ROPE_PAGES)(const SundogCall *call)
{
    RopeCache rope = rope_cache_from_call(call);
    int64_t n_rows = call->arguments[0].shape[0], n_all = call->arguments[5].shape[0];
    int64_t n_used = count_pages(&rope, n_rows);
    rope_all(call, &rope);
    SundogRange tails = sundog_split(call, n_rows * rope.n_kv_heads);
    for (int64_t i = tails.begin; i < tails.end; i++)
        if (is_last(&rope, i / rope.n_kv_heads, n_rows))
            clear_tail(&rope, i / rope.n_kv_heads, i % rope.n_kv_heads);
    SundogRange unused = sundog_split(call, n_all - n_used);
    for (int64_t i = unused.begin; i < unused.end; i++)
        clear_page(&rope, i == 0 ? SUNDOG_NULL_PAGE : n_used + i);
}
