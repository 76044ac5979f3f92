/*
 * Attention of any heads, alone, by attend.cu and flash.cu on a GPU, and on the host: ragged rows of several sequences, edges of pages,
 * windows and chunks, caches that go on, parts by several blocks. Pages lie in any order; all that nothing may
 * read holds NaN.
 *
 * Bound. Both sides take the same queries, keys and values in bf16 and round weights to bf16, each by another
 * greatest score: to the nearest, by at most 2^-9 of a weight. Values here have independent signs, so that the
 * errors' sum grows as the result does, and each rounding stays 2^-9 of it. With the result's own, on a GPU:
 * 3 2^-9. Sums in float32 add four orders less.
 */

#include "kernels/contract/attention.h"
#include "kernels/contract/math.h"
#include "kernels/host/kernels.h"
#include "tests/gpu/product-runner.h"
#include "tests/kernels/random.h"

#include <math.h>
#include <string.h>

#define BOUND (3.0 / 512)
#define MAX_PARTS 10
#define QUERY_SIZE 6 /* makes weights of all sizes */

static ProductRunner runner;

typedef struct {
    int head_dim, n_heads, n_kv_heads;
    int window, chunk;
    float softcap;
    bool has_sinks, both_ways, is_q8, is_alone;
} Case;

static const Case cases[] = {
    {64, 4, 4, 0, 0, 0, 0, 0, 0, 0},     {64, 16, 2, 128, 0, 0, 1, 0, 0, 0},
    {80, 6, 2, 0, 0, 0, 0, 0, 0, 0},     {96, 5, 1, 0, 100, 0, 0, 0, 0, 0},
    {128, 7, 1, 5, 0, 0, 0, 0, 0, 0},    {128, 8, 8, 0, 0, 30, 0, 0, 0, 1},
    {192, 6, 2, 70, 0, 0, 0, 0, 0, 0},   {256, 4, 1, 512, 0, 0, 0, 0, 0, 0},
    {256, 8, 4, 0, 0, 50, 0, 0, 0, 0},   {512, 8, 1, 0, 0, 0, 0, 0, 0, 0},
    {512, 6, 2, 64, 0, 0, 1, 0, 0, 0},   {288, 40, 1, 0, 0, 0, 0, 0, 0, 0},
    {576, 20, 1, 0, 0, 0, 0, 0, 0, 0},   {36, 4, 2, 0, 64, 0, 0, 0, 0, 0},
    {8, 3, 1, 0, 0, 0, 1, 0, 0, 0},      {64, 12, 12, 0, 0, 0, 0, 1, 0, 0},
    {64, 12, 12, 65, 0, 0, 0, 1, 0, 0},  {256, 3, 1, 257, 0, 0, 0, 1, 0, 0},
    {64, 8, 2, 0, 0, 0, 0, 0, 1, 0},     {100, 4, 2, 40, 0, 0, 0, 0, 1, 0},
    {256, 4, 1, 0, 0, 0, 1, 0, 1, 0},    {64, 4, 2, 100, 0, 0, 0, 0, 0, 0},
    {128, 4, 2, 1000, 0, 0, 0, 0, 0, 0}, {256, 4, 2, 130, 0, 0, 0, 0, 0, 0},
    {256, 6, 2, 0, 0, 0, 0, 0, 0, 0},
};

/* A sequence's rows, and where they begin. */
typedef struct {
    int start;
    int n_rows;
} Part;

typedef struct {
    const char *name;
    bool is_many; /* blocks of many pairs */
    int n_splits;
    Part parts[MAX_PARTS]; /* ends with one of no rows */
} Mix;

static const Mix mixes[] = {
    {"prompts", true, 1, {{0, 300}, {0, 64}, {0, 1}, {0, 33}}},
    {"chunks", false, 2, {{63, 1}, {64, 65}, {100, 33}, {1000, 7}, {0, 31}}},
    {"long", true, 3, {{2000, 40}, {1000, 2}}},
    {"one", false, 1, {{0, 1}, {1, 1}, {62, 1}, {63, 1}, {64, 1}, {511, 1}, {512, 1}, {1027, 1}}},
    {"split", false, 5, {{0, 1}, {130, 1}, {4095, 1}, {575, 1}}},
    {"most", false, SUNDOG_CUDA_ATTEND_SPLITS, {{2500, 1}, {64, 1}}},
};

/* All that one call takes, on the host. */
typedef struct {
    const Case *test;
    const Mix *mix;
    int n_sequences, n_rows, sequence_pages, n_pages, n_columns;
    size_t part_bytes; /* of a page's keys of a group */
    int32_t first_row[MAX_PARTS + 1], start[MAX_PARTS];
    int32_t *table, *tiles;
    int64_t n_tiles; /* the head row included */
    float *qkv, *sinks, *o;
    uint8_t *keys, *values;
} Problem;

static bool
is_latent(const Case *test)
{
    return test->head_dim == SUNDOG_CUDA_ATTEND_LATENT;
}

static float
random_float(TestRandom *random, float low, float high)
{
    return low + (high - low) * ((float)(test_random_u32(random) >> 8) * 0x1p-24f);
}

static uint16_t
random_bf16(TestRandom *random)
{
    return sundog_f32_to_bf16(random_float(random, -1, 1));
}

/* Writes element d of a position of a group's part, [C, 64] of keys or [64, C] of values. */
static void
set_element(const Problem *problem, uint8_t *part, int at, int position, int d, TestRandom *random)
{
    int head_dim = problem->test->head_dim;
    if (!problem->test->is_q8) {
        ((uint16_t *)part)[at] = random_bf16(random);
        return;
    }
    float *scales = (float *)(part + head_dim * SUNDOG_PAGE_TOKENS);
    ((int8_t *)part)[at] = (int8_t)test_random_int(random, -127, 127);
    if (d % SUNDOG_Q8_BLOCK == 0)
        scales[d / SUNDOG_Q8_BLOCK * SUNDOG_PAGE_TOKENS + position] =
            random_float(random, 0.2, 1) / 127;
}

static void
fill_position(const Problem *problem, int page, int slot, TestRandom *random)
{
    const Case *test = problem->test;
    for (int group = 0; group < test->n_kv_heads; group++) {
        size_t part = (size_t)(page * test->n_kv_heads + group) * problem->part_bytes;
        uint8_t *keys = problem->keys + part, *values = problem->values + part;
        for (int d = 0; d < test->head_dim; d++) {
            int key_at = d * SUNDOG_PAGE_TOKENS + slot, value_at = slot * test->head_dim + d;
            set_element(problem, keys, key_at, slot, d, random);
            if (is_latent(test))
                ((uint16_t *)values)[value_at] = ((uint16_t *)keys)[key_at];
            else
                set_element(problem, values, value_at, slot, d, random);
        }
    }
}

/* Pages in any order; those before a window of the first row are null. */
static void
fill_pages(Problem *problem, TestRandom *random)
{
    const Case *test = problem->test;
    g_autofree int32_t *free_pages = g_new(int32_t, problem->n_pages);
    int n_free = 0;
    for (int page = 1; page < problem->n_pages; page++)
        free_pages[n_free++] = page;
    for (int s = 0; s < problem->n_sequences; s++) {
        int end = problem->start[s] + problem->mix->parts[s].n_rows;
        int begin = test->window > 0 ? MAX(problem->start[s] + 1 - test->window, 0) : 0;
        for (int index = begin / SUNDOG_PAGE_TOKENS; index * SUNDOG_PAGE_TOKENS < end; index++) {
            int which = (int)test_random_int(random, 0, n_free - 1), page = free_pages[which];
            free_pages[which] = free_pages[--n_free];
            problem->table[s * problem->sequence_pages + index] = page;
            int first = index * SUNDOG_PAGE_TOKENS;
            for (int slot = 0; slot < MIN(end - first, SUNDOG_PAGE_TOKENS); slot++)
                fill_position(problem, page, slot, random);
        }
    }
}

static void
count_rows(Problem *problem)
{
    int n_pages = 1;
    for (const Part *part = problem->mix->parts; part->n_rows > 0; part++) {
        int s = problem->n_sequences++, end = part->start + part->n_rows;
        problem->start[s] = part->start;
        problem->n_rows += part->n_rows;
        problem->first_row[s + 1] = problem->n_rows;
        int pages = (end + SUNDOG_PAGE_TOKENS - 1) / SUNDOG_PAGE_TOKENS;
        problem->sequence_pages = MAX(problem->sequence_pages, pages);
        n_pages += pages;
    }
    problem->n_pages = n_pages + 1;
}

static void
plan(Problem *problem)
{
    problem->n_tiles = 2 + problem->n_rows / SUNDOG_ATTENTION_TILE_ROWS + problem->n_sequences;
    problem->tiles = g_new0(int32_t, problem->n_tiles * 4);
    SundogArgument arguments[3] = {
        {.data = problem->first_row, .shape = {problem->n_sequences + 1, 1, 1, 1}},
        {.data = problem->start, .shape = {problem->n_sequences, 1, 1, 1}},
        {.data = problem->tiles, .shape = {problem->n_tiles, 4, 1, 1}}};
    SundogCall call = {arguments, NULL, 0, 1};
    sundog_host_kernel(SUNDOG_OP_PLAN_ATTENTION, SUNDOG_HOST_PLAIN)(&call);
}

static void
problem_init(Problem *problem, const Case *test, const Mix *mix, TestRandom *random)
{
    *problem = (Problem){.test = test, .mix = mix};
    SundogDtype dtype = test->is_q8 ? SUNDOG_DTYPE_Q8 : SUNDOG_DTYPE_BF16;
    count_rows(problem);
    problem->n_columns =
        (test->n_heads + (test->is_alone ? 0 : 2 * test->n_kv_heads)) * test->head_dim;
    problem->part_bytes =
        sundog_page_part_bytes(dtype, test->is_q8 ? 1 : 2, (uint64_t)test->head_dim);
    size_t n_bytes = problem->part_bytes * (size_t)(problem->n_pages * test->n_kv_heads);
    problem->keys = g_malloc(n_bytes);
    problem->values = g_malloc(n_bytes);
    memset(problem->keys, 0xff, n_bytes);
    memset(problem->values, 0xff, n_bytes);
    problem->table = g_new0(int32_t, problem->n_sequences * problem->sequence_pages);
    fill_pages(problem, random);
    plan(problem);
    problem->qkv = g_new(float, problem->n_rows * problem->n_columns);
    for (int i = 0; i < problem->n_rows * problem->n_columns; i++)
        problem->qkv[i] = i % problem->n_columns < test->n_heads * test->head_dim
                              ? random_float(random, -QUERY_SIZE, QUERY_SIZE)
                              : NAN;
    problem->sinks = g_new(float, test->n_heads);
    for (int i = 0; i < test->n_heads; i++)
        problem->sinks[i] = random_float(random, -2, 8);
    problem->o = g_new(float, problem->n_rows * test->n_heads * test->head_dim);
}

static void
problem_clear(Problem *problem)
{
    g_free(problem->keys);
    g_free(problem->values);
    g_free(problem->table);
    g_free(problem->tiles);
    g_free(problem->qkv);
    g_free(problem->sinks);
    g_free(problem->o);
}

static float
get_scale(const Case *test)
{
    return 1 / sqrtf((float)test->head_dim);
}

static void
run_host(const Problem *problem)
{
    const Case *test = problem->test;
    size_t n_workspace = sundog_attention_workspace_bytes(test->head_dim);
    g_autofree uint8_t *workspace = g_malloc(n_workspace);
    SundogDtype dtype = test->is_q8 ? SUNDOG_DTYPE_Q8 : SUNDOG_DTYPE_BF16;
    SundogArgument arguments[9] = {
        {.data = problem->qkv, .shape = {problem->n_rows, problem->n_columns, 1, 1}},
        {0},
        {.data = problem->table, .shape = {problem->n_sequences, problem->sequence_pages, 1, 1}},
        {.data = problem->tiles, .shape = {problem->n_tiles, 4, 1, 1}},
        {.data = problem->keys,
         .dtype = dtype,
         .shape = {problem->n_pages, test->n_kv_heads, test->head_dim, SUNDOG_PAGE_TOKENS}},
        {.data = problem->values,
         .dtype = dtype,
         .shape = {problem->n_pages, test->n_kv_heads, SUNDOG_PAGE_TOKENS, test->head_dim}},
        {.data = problem->o,
         .dtype = SUNDOG_DTYPE_F32,
         .shape = {problem->n_rows, test->n_heads * test->head_dim, 1, 1}},
        {.data = workspace, .dtype = SUNDOG_DTYPE_U8, .shape = {1, (int64_t)n_workspace, 1, 1}},
        {.data = test->has_sinks ? problem->sinks : NULL,
         .dtype = SUNDOG_DTYPE_F32,
         .shape = {1, test->n_heads, 1, 1}}};
    SundogParameter parameters[SUNDOG_MAX_PARAMETERS] = {
        {.i = test->n_heads},   {.i = test->n_kv_heads}, {.i = test->head_dim},
        {.f = get_scale(test)}, {.i = test->window},     {.f = test->softcap},
        {.i = test->chunk},     {.i = test->both_ways}};
    SundogCall call = {arguments, parameters, 0, 1};
    sundog_host_kernel(SUNDOG_OP_ATTENTION, sundog_host_detect())(&call);
}

/* Device memory of one call, given back together. */
typedef struct {
    CUdeviceptr data[8];
    int n;
} Memory;

static void *
upload(Memory *memory, const void *from, size_t n_bytes)
{
    CUdeviceptr data = product_runner_allocate(&runner, n_bytes);
    if (from != NULL)
        product_runner_write(&runner, data, from, n_bytes);
    else
        product_runner_poison(&runner, data, n_bytes);
    memory->data[memory->n++] = data;
    return (void *)(uintptr_t)data;
}

static int
find_size(int head_dim)
{
    static const int sizes[] = {
#define X(size, few, many) size,
        SUNDOG_CUDA_ATTEND_SIZES(X)
#undef X
    };
    int i = 0;
    while (sizes[i] < head_dim)
        i++;
    return sizes[i];
}

static int
find_pairs(int size, bool is_many)
{
    static const int sizes[][3] = {
#define X(size, few, many) {size, few, many},
        SUNDOG_CUDA_ATTEND_SIZES(X)
#undef X
    };
    int i = 0;
    while (sizes[i][0] < size)
        i++;
    return sizes[i][is_many ? 2 : 1];
}

static void
launch(const Problem *problem, SundogCudaAttend *attend)
{
    const Case *test = problem->test;
    int size = find_size(test->head_dim), pairs = find_pairs(size, problem->mix->is_many);
    int n_pairs = SUNDOG_ATTENTION_TILE_ROWS * (test->n_heads / test->n_kv_heads);
    g_autofree char *entry = g_strdup_printf("sundog_attend_%d_%d", size, pairs);
    const unsigned grid[3] = {(unsigned)problem->n_tiles - 1,
                              (unsigned)(test->n_kv_heads * ((n_pairs + pairs - 1) / pairs)),
                              (unsigned)problem->mix->n_splits};
    product_runner_call_grid(&runner, "attend", entry, grid,
                             (unsigned)SUNDOG_CUDA_ATTEND_THREADS(pairs),
                             (unsigned)SUNDOG_CUDA_ATTEND_SHARED_BYTES(size, pairs), attend);
}

/* What the kernels of flash.cu know. */
static bool
suits_flash(const Case *test)
{
    return (test->head_dim == 64 || test->head_dim == 128 || test->head_dim == 256) &&
           test->chunk == 0 && test->softcap == 0 && !test->has_sinks && !test->both_ways &&
           !test->is_q8 && !test->is_alone;
}

/* Pages of keys or values as rows of so many elements, in boxes of 64 of them and so many rows. */
static SundogCudaTensorMap
describe(const Problem *problem, const void *pages, int row, int box_rows)
{
    SundogCudaTensorMap map;
    g_autoptr(GError) error = NULL;
    const uint64_t sizes[2] = {(uint64_t)row,
                               (uint64_t)problem->n_pages * (uint64_t)problem->test->n_kv_heads *
                                   (uint64_t)(problem->test->head_dim * SUNDOG_PAGE_TOKENS / row)};
    const uint64_t strides[1] = {sizes[0] * 2};
    const uint32_t box[2] = {64, (uint32_t)box_rows}, steps[2] = {1, 1};
    sundog_cuda_succeeded(runner.driver,
                          runner.driver->tensor_map_encode(&map, SUNDOG_CUDA_MAP_BF16, 2,
                                                           (void *)pages, sizes, strides, box,
                                                           steps, 0, SUNDOG_CUDA_MAP_SWIZZLE_128B,
                                                           SUNDOG_CUDA_MAP_PROMOTE_256B, 0),
                          "describing pages", &error);
    g_assert_no_error(error);
    return map;
}

static void
launch_flash(const Problem *problem, const SundogCudaAttend *attend)
{
    const Case *test = problem->test;
    int n_pairs = SUNDOG_ATTENTION_TILE_ROWS * (test->n_heads / test->n_kv_heads);
    SundogCudaFlash flash = {
        .k = describe(problem, attend->k_pages, SUNDOG_PAGE_TOKENS, test->head_dim),
        .v = describe(problem, attend->v_pages, test->head_dim, SUNDOG_PAGE_TOKENS),
        .attention = {.qkv = (void *)attend->qkv,
                      .page_table = attend->page_table,
                      .tiles = attend->tiles,
                      .o = attend->o,
                      .n_heads = test->n_heads,
                      .n_kv_heads = test->n_kv_heads,
                      .head_dim = test->head_dim,
                      .sequence_pages = problem->sequence_pages,
                      .n_splits = 1,
                      .scale = attend->scale},
        .window = test->window};
    g_autofree char *entry = g_strdup_printf("sundog_flash_%d", test->head_dim);
    const unsigned grid[3] = {
        (unsigned)problem->n_tiles - 1,
        (unsigned)(test->n_kv_heads *
                   ((n_pairs + SUNDOG_CUDA_FLASH_PAIRS - 1) / SUNDOG_CUDA_FLASH_PAIRS)),
        1};
    product_runner_call_grid(&runner, "flash", entry, grid, SUNDOG_CUDA_FLASH_THREADS,
                             (unsigned)SUNDOG_CUDA_FLASH_SHARED_BYTES(test->head_dim), &flash);
}

/* The result in bf16, of two launches: the counters are as they were after the first. */
static uint16_t *
run_device(const Problem *problem, bool by_flash)
{
    const Case *test = problem->test;
    Memory memory = {0};
    size_t n_pages = problem->part_bytes * (size_t)(problem->n_pages * test->n_kv_heads);
    size_t n_places = (size_t)(problem->n_rows * test->n_heads);
    size_t n_results = n_places * (size_t)test->head_dim * 2;
    g_autofree uint32_t *counters = g_new0(uint32_t, 1 << 16);
    SundogCudaAttend attend = {
        .n_columns = problem->n_columns,
        .n_heads = test->n_heads,
        .n_kv_heads = test->n_kv_heads,
        .head_dim = test->head_dim,
        .sequence_pages = problem->sequence_pages,
        .window = test->window,
        .chunk = test->chunk,
        .both_ways = test->both_ways,
        .are_q8 = test->is_q8,
        .n_splits = problem->mix->n_splits,
        .scale = get_scale(test),
        .softcap = test->softcap,
        .qkv = upload(&memory, problem->qkv,
                      (size_t)(problem->n_rows * problem->n_columns) * sizeof(float)),
        .page_table = upload(&memory, problem->table,
                             (size_t)(problem->n_sequences * problem->sequence_pages) * 4),
        .tiles = upload(&memory, problem->tiles, (size_t)problem->n_tiles * 16),
        .k_pages = upload(&memory, problem->keys, n_pages),
        .v_pages = is_latent(test) ? NULL : upload(&memory, problem->values, n_pages),
        .sinks = test->has_sinks
                     ? upload(&memory, problem->sinks, (size_t)test->n_heads * sizeof(float))
                     : NULL};
    Memory own = {0};
    attend.parts = upload(&own, NULL,
                          n_places * (size_t)attend.n_splits *
                              SUNDOG_CUDA_PART_FLOATS((size_t)test->head_dim) * sizeof(float));
    attend.counters = upload(&own, counters, (1 << 16) * sizeof(uint32_t));
    attend.o = upload(&own, NULL, n_results);
    for (int i = 0; i < 2; i++) {
        product_runner_poison(&runner, own.data[2], n_results);
        if (by_flash)
            launch_flash(problem, &attend);
        else
            launch(problem, &attend);
    }
    uint16_t *results = g_malloc(n_results);
    product_runner_read(&runner, results, own.data[2], n_results);
    for (int i = 0; i < memory.n; i++)
        product_runner_free(&runner, memory.data[i]);
    for (int i = 0; i < own.n; i++)
        product_runner_free(&runner, own.data[i]);
    return results;
}

/* The greatest relative error of a row and a head; NaN where there is one. */
static double
compare(const Problem *problem, const uint16_t *found)
{
    int head_dim = problem->test->head_dim;
    double greatest = 0;
    for (int place = 0; place < problem->n_rows * problem->test->n_heads; place++) {
        double difference = 0, length = 0;
        for (int d = 0; d < head_dim; d++) {
            double expected = problem->o[place * head_dim + d];
            double delta = (double)sundog_bf16_to_f32(found[place * head_dim + d]) - expected;
            difference += delta * delta;
            length += expected * expected;
        }
        double error = sqrt(difference / length);
        if (!(error <= greatest))
            greatest = error;
        if (isnan(greatest))
            break;
    }
    return greatest;
}

static void
check(const Problem *problem, bool by_flash)
{
    g_autofree uint16_t *found = run_device(problem, by_flash);
    double error = compare(problem, found);
    g_test_message("%s%s: %.2g, at most %.2g", problem->mix->name, by_flash ? " by flash" : "",
                   error, BOUND);
    g_assert_true(error <= BOUND);
}

static void
test_case(gconstpointer data)
{
    const Case *test = data;
    TestRandom random = {(uint64_t)g_test_rand_int()};
    for (size_t i = 0; i < G_N_ELEMENTS(mixes); i++) {
        Problem problem;
        problem_init(&problem, test, &mixes[i], &random);
        run_host(&problem);
        check(&problem, false);
        if (suits_flash(test) && mixes[i].n_splits <= 3)
            check(&problem, true);
        problem_clear(&problem);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    if (!product_runner_init(&runner))
        return 0;
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *path = g_strdup_printf("/attend/%d/%zu", cases[i].head_dim, i);
        g_test_add_data_func(path, &cases[i], test_case);
    }
    int status = g_test_run();
    product_runner_clear(&runner);
    return status;
}
