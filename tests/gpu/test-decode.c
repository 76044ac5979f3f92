/*
 * Attention of one row a sequence by clusters, alone, on a GPU and on the host: edges of pages, ragged sequences,
 * pages in any order, heads of both sizes, turned whole and in part. What nothing may read holds NaN. What is
 * stored has the host's bits, and a row's results the same bits in whatever company.
 *
 * Bound. Both sides take the same queries, keys and values in bf16 and round weights to bf16, each by another
 * greatest score, by at most 2^-9 of a weight. Values here have independent signs, so that the errors' sum grows
 * as the result does, and each rounding stays 2^-9 of it. With the result's own, on a GPU: 3 2^-9. Sums in
 * float32 add four orders less.
 */

#include "kernels/contract/attention.h"
#include "kernels/contract/math.h"
#include "kernels/host/kernels.h"
#include "tests/gpu/product-runner.h"
#include "tests/kernels/random.h"

#include <math.h>
#include <string.h>

#define BOUND (3.0 / 512)
#define MAX_ROWS 8
#define QUERY_SIZE 3 /* makes weights of all sizes */
/* A page more than any row has: what lies behind its last in the table is never asked for. */
#define SEQUENCE_PAGES (4200 / SUNDOG_PAGE_TOKENS + 2)

static ProductRunner runner;

typedef struct {
    int n_heads, n_kv_heads, head_dim, rope_dims;
    bool interleaved;
    float magnitude;
} Case;

static const Case cases[] = {
    {32, 8, 128, 128, false, 1}, {32, 8, 64, 64, false, 1},  {14, 2, 64, 64, false, 1.2f},
    {5, 5, 128, 128, true, 1},   {24, 3, 128, 64, false, 1}, {6, 1, 64, 32, true, 1},
    {3, 1, 64, 20, false, 0.7f},
};

/* Positions of the rows, which end with -1. */
static const int mixes[][MAX_ROWS + 1] = {
    {0, -1},
    {1024, -1},
    {0, 1, 15, 16, 62, 63, 64, 65},
    {127, 128, 191, 447, 448, 511, 512, 513},
    {4095, 5, 1023, 1025, 700, 64, 2047, 3000},
};

/* All that one call takes, on the host. */
typedef struct {
    const Case *test;
    int n_rows, n_columns, n_pages;
    size_t pool_elements; /* of keys, and of values */
    int32_t positions[MAX_ROWS], sequences[MAX_ROWS];
    int32_t table[MAX_ROWS][SEQUENCE_PAGES];
    int32_t tiles[MAX_ROWS + 1][4];
    float *frequencies, *qkv, *o;
    uint16_t *keys, *values;
} Problem;

static float
random_float(TestRandom *random, float low, float high)
{
    return low + (high - low) * ((float)(test_random_u32(random) >> 8) * 0x1p-24f);
}

static void
fill_position(Problem *problem, int page, int slot, TestRandom *random)
{
    int c = problem->test->head_dim;
    for (int group = 0; group < problem->test->n_kv_heads; group++) {
        size_t part = (size_t)(page * problem->test->n_kv_heads + group) * (size_t)c * 64;
        for (int d = 0; d < c; d++) {
            problem->keys[part + (size_t)(d * 64 + slot)] =
                sundog_f32_to_bf16(random_float(random, -1, 1));
            problem->values[part + (size_t)(slot * c + d)] =
                sundog_f32_to_bf16(random_float(random, -1, 1));
        }
    }
}

/* Pages of all rows in any order; nothing is at a row's own position, nor behind it. */
static void
fill_pages(Problem *problem, TestRandom *random)
{
    g_autofree int32_t *pages = g_new(int32_t, problem->n_pages);
    for (int i = 1; i < problem->n_pages; i++) {
        int other = (int)test_random_int(random, 1, i);
        pages[i] = i;
        int32_t page = pages[other];
        pages[other] = pages[i];
        pages[i] = page;
    }
    int n_taken = 1;
    for (int row = 0; row < problem->n_rows; row++)
        for (int position = 0; position <= problem->positions[row]; position++) {
            int32_t *page = &problem->table[row][position / 64];
            if (position % 64 == 0)
                *page = pages[n_taken++];
            if (position < problem->positions[row])
                fill_position(problem, *page, position % 64, random);
        }
}

static void
problem_init(Problem *problem, const Case *test, const int *positions, TestRandom *random)
{
    *problem = (Problem){
        .test = test,
        .n_columns = (test->n_heads + 2 * test->n_kv_heads) * test->head_dim,
        .n_pages = 1,
    };
    for (int i = 0; i < MAX_ROWS && positions[i] >= 0; i++) {
        problem->positions[i] = positions[i];
        problem->sequences[i] = i;
        problem->n_pages += positions[i] / 64 + 1;
        problem->n_rows++;
        memcpy(problem->tiles[i + 1], (int32_t[4]){i, i, 1, positions[i]}, sizeof(int32_t[4]));
    }
    problem->tiles[0][0] = problem->n_rows;
    problem->pool_elements =
        (size_t)(problem->n_pages * test->n_kv_heads * test->head_dim * SUNDOG_PAGE_TOKENS);
    problem->keys = g_new(uint16_t, problem->pool_elements);
    problem->values = g_new(uint16_t, problem->pool_elements);
    memset(problem->keys, 0xff, problem->pool_elements * 2);
    memset(problem->values, 0xff, problem->pool_elements * 2);
    fill_pages(problem, random);
    problem->frequencies = g_new(float, test->rope_dims / 2);
    for (int i = 0; i < test->rope_dims / 2; i++)
        problem->frequencies[i] = powf(10000, -2 * (float)i / (float)test->rope_dims);
    problem->qkv = g_new(float, problem->n_rows * problem->n_columns);
    for (int i = 0; i < problem->n_rows * problem->n_columns; i++)
        problem->qkv[i] = random_float(random, -QUERY_SIZE, QUERY_SIZE);
    problem->o = g_new(float, problem->n_rows * test->n_heads * test->head_dim);
}

static void
problem_clear(Problem *problem)
{
    g_free(problem->frequencies);
    g_free(problem->qkv);
    g_free(problem->o);
    g_free(problem->keys);
    g_free(problem->values);
}

static float
get_scale(const Case *test)
{
    return 1 / sqrtf((float)test->head_dim);
}

/* Stores the rows in the host's pages, and leaves its results. */
static void
run_host(Problem *problem)
{
    const Case *test = problem->test;
    size_t n_workspace = sundog_attention_workspace_bytes(test->head_dim);
    g_autofree uint8_t *workspace = g_malloc(n_workspace);
    g_autofree float *qkv = g_memdup2(problem->qkv, (size_t)(problem->n_rows * problem->n_columns) *
                                                        sizeof *problem->qkv);
    const SundogArgument rows = {.data = qkv, .shape = {problem->n_rows, problem->n_columns, 1, 1}};
    const SundogArgument table = {.data = problem->table,
                                  .shape = {problem->n_rows, SEQUENCE_PAGES, 1, 1}};
    const SundogArgument keys = {
        .data = problem->keys,
        .dtype = SUNDOG_DTYPE_BF16,
        .shape = {problem->n_pages, test->n_kv_heads, test->head_dim, SUNDOG_PAGE_TOKENS}};
    const SundogArgument values = {
        .data = problem->values,
        .dtype = SUNDOG_DTYPE_BF16,
        .shape = {problem->n_pages, test->n_kv_heads, SUNDOG_PAGE_TOKENS, test->head_dim}};
    SundogArgument stored[] = {
        rows,
        {.data = problem->positions, .shape = {problem->n_rows, 1, 1, 1}},
        {.data = problem->sequences, .shape = {problem->n_rows, 1, 1, 1}},
        table,
        {.data = problem->frequencies, .shape = {1, test->rope_dims / 2, 1, 1}},
        keys,
        values};
    SundogParameter rope[SUNDOG_MAX_PARAMETERS] = {
        {.i = test->n_heads},   {.i = test->n_kv_heads},  {.i = test->head_dim},
        {.i = test->rope_dims}, {.i = test->interleaved}, {.f = test->magnitude}};
    SundogCall store = {stored, rope, 0, 1};
    sundog_host_kernel(SUNDOG_OP_ROPE_CACHE, SUNDOG_HOST_PLAIN)(&store);
    SundogArgument read[9] = {
        rows,
        {0},
        table,
        {.data = problem->tiles, .shape = {problem->n_rows + 1, 4, 1, 1}},
        keys,
        values,
        {.data = problem->o,
         .dtype = SUNDOG_DTYPE_F32,
         .shape = {problem->n_rows, test->n_heads * test->head_dim, 1, 1}},
        {.data = workspace, .dtype = SUNDOG_DTYPE_U8, .shape = {1, (int64_t)n_workspace, 1, 1}},
        {.dtype = SUNDOG_DTYPE_F32, .shape = {1, test->n_heads, 1, 1}}};
    SundogParameter sizes[SUNDOG_MAX_PARAMETERS] = {{.i = test->n_heads},
                                                    {.i = test->n_kv_heads},
                                                    {.i = test->head_dim},
                                                    {.f = get_scale(test)}};
    SundogCall attend = {read, sizes, 0, 1};
    sundog_host_kernel(SUNDOG_OP_ATTENTION, sundog_host_detect())(&attend);
}

/* Device memory of a problem. */
typedef struct {
    CUdeviceptr qkv, table, tiles, frequencies, keys, values, o;
} Device;

static CUdeviceptr
upload(const void *from, size_t n_bytes)
{
    CUdeviceptr data = product_runner_allocate(&runner, n_bytes);
    product_runner_write(&runner, data, from, n_bytes);
    return data;
}

static size_t
count_results(const Problem *problem)
{
    return (size_t)(problem->n_rows * problem->test->n_heads * problem->test->head_dim);
}

static void
device_init(Device *device, const Problem *problem)
{
    *device = (Device){
        .qkv = upload(problem->qkv, (size_t)(problem->n_rows * problem->n_columns) * sizeof(float)),
        .table = upload(problem->table, sizeof problem->table),
        .tiles = upload(problem->tiles, sizeof problem->tiles),
        .frequencies =
            upload(problem->frequencies, (size_t)(problem->test->rope_dims / 2) * sizeof(float)),
        .keys = upload(problem->keys, problem->pool_elements * 2),
        .values = upload(problem->values, problem->pool_elements * 2),
        .o = product_runner_allocate(&runner, count_results(problem) * 2)};
}

static void
device_clear(Device *device)
{
    const CUdeviceptr data[] = {device->qkv,  device->table,  device->tiles, device->frequencies,
                                device->keys, device->values, device->o};
    for (size_t i = 0; i < G_N_ELEMENTS(data); i++)
        product_runner_free(&runner, data[i]);
}

static void *
pointer(CUdeviceptr data)
{
    return (void *)(uintptr_t)data;
}

/* Results of the first rows alone: bf16 [n_rows, H C]. */
static uint16_t *
run_device(const Problem *problem, const Device *device, int n_rows, int n_splits)
{
    const Case *test = problem->test;
    size_t n_results = count_results(problem) / (size_t)problem->n_rows * (size_t)n_rows;
    SundogCudaAttention attention = {.qkv = pointer(device->qkv),
                                     .page_table = pointer(device->table),
                                     .inverse_frequencies = pointer(device->frequencies),
                                     .tiles = pointer(device->tiles),
                                     .k_pages = pointer(device->keys),
                                     .v_pages = pointer(device->values),
                                     .o = pointer(device->o),
                                     .n_tokens = n_rows,
                                     .n_heads = test->n_heads,
                                     .n_kv_heads = test->n_kv_heads,
                                     .head_dim = test->head_dim,
                                     .rope_dims = test->rope_dims,
                                     .interleaved = test->interleaved,
                                     .sequence_pages = SEQUENCE_PAGES,
                                     .n_splits = n_splits,
                                     .rotates = 1,
                                     .magnitude = test->magnitude,
                                     .scale = get_scale(test)};
    const unsigned grid[3] = {(unsigned)n_rows, (unsigned)test->n_kv_heads, (unsigned)n_splits};
    g_autofree char *entry = g_strdup_printf("sundog_decode_%d_by_%d", test->head_dim, n_splits);
    uint16_t *results = g_new(uint16_t, n_results);
    product_runner_poison(&runner, device->o, n_results * 2);
    product_runner_call_grid(&runner, "decode", entry, grid, SUNDOG_CUDA_DECODE_THREADS,
                             SUNDOG_CUDA_HALF_SHARED_BYTES - SUNDOG_CUDA_STATIC_BYTES, &attention);
    product_runner_read(&runner, results, device->o, n_results * 2);
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
check_pages(CUdeviceptr data, const uint16_t *expected, size_t n_elements)
{
    g_autofree uint16_t *found = g_new(uint16_t, n_elements);
    product_runner_read(&runner, found, data, n_elements * 2);
    g_assert_cmpmem(found, n_elements * 2, expected, n_elements * 2);
}

/* Once in this company, and again with the first row alone. */
static void
check_splits(const Problem *problem, const Device *device, int n_splits)
{
    g_autofree uint16_t *found = run_device(problem, device, problem->n_rows, n_splits);
    g_autofree uint16_t *alone = run_device(problem, device, 1, n_splits);
    size_t row_bytes = (size_t)(problem->test->n_heads * problem->test->head_dim) * 2;
    double error = compare(problem, found);
    g_test_message("%d rows by %d: %.2g, at most %.2g", problem->n_rows, n_splits, error, BOUND);
    g_assert_true(error <= BOUND);
    g_assert_cmpmem(alone, row_bytes, found, row_bytes);
}

static void
test_case(gconstpointer data)
{
    TestRandom random = {(uint64_t)g_test_rand_int()};
    for (size_t i = 0; i < G_N_ELEMENTS(mixes); i++) {
        Problem problem;
        Device device;
        problem_init(&problem, data, mixes[i], &random);
        device_init(&device, &problem);
        run_host(&problem);
        for (int n_splits = 2; n_splits <= SUNDOG_CUDA_DECODE_SPLITS; n_splits *= 2)
            check_splits(&problem, &device, n_splits);
        check_pages(device.keys, problem.keys, problem.pool_elements);
        check_pages(device.values, problem.values, problem.pool_elements);
        device_clear(&device);
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
        g_autofree char *name = g_strdup_printf("/decode/%d-%d-of-%d", cases[i].n_heads,
                                                cases[i].n_kv_heads, cases[i].head_dim);
        g_test_add_data_func(name, &cases[i], test_case);
    }
    int status = g_test_run();
    product_runner_clear(&runner);
    return status;
}
