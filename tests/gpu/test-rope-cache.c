/* Rotating and storing keys and values, on a GPU and by the host's plain kernel: the same bits, in pages of bf16
 * and in bytes with their scales. Rows without a sequence or a page store nothing. */

#include "kernels/contract/math.h"
#include "kernels/contract/paged-cache.h"
#include "kernels/host/kernels.h"
#include "tests/gpu/product-runner.h"
#include "tests/kernels/random.h"

#include <math.h>
#include <string.h>

#define N_ROWS 40
#define N_SEQUENCES 3
#define SEQUENCE_PAGES 4
#define N_PAGES 9

static ProductRunner runner;

typedef struct {
    int n_heads, n_kv_heads, head_dim, rope_dims;
    bool interleaved, is_q8;
    float magnitude;
} Case;

static const Case cases[] = {
    {8, 2, 64, 64, false, false, 1},   {4, 4, 96, 32, false, false, 1.2f},
    {3, 1, 576, 64, true, false, 1},   {4, 1, 256, 256, false, true, 1},
    {6, 3, 100, 20, true, true, 0.7f}, {2, 2, 40, 0, false, true, 1},
};

/* Inputs, and what both sides make of them. */
typedef struct {
    const Case *test;
    int n_columns;
    size_t pool_bytes; /* of keys, and of values */
    int32_t positions[N_ROWS], sequences[N_ROWS];
    int32_t table[N_SEQUENCES][SEQUENCE_PAGES];
    float *frequencies, *qkv;
    uint8_t *keys, *values;
} Problem;

/* No two rows have one position of one sequence. */
static void
place_rows(Problem *problem, TestRandom *random)
{
    for (int i = 0; i < N_ROWS; i++) {
        problem->sequences[i] = i % N_SEQUENCES;
        problem->positions[i] = (int32_t)(i / N_SEQUENCES * 17 + test_random_int(random, 0, 16));
    }
    for (int i = 0; i < N_SEQUENCES * SEQUENCE_PAGES; i++)
        problem->table[i / SEQUENCE_PAGES][i % SEQUENCE_PAGES] = i < N_PAGES ? i : SUNDOG_NULL_PAGE;
}

/* Among the values are tiny ones, zeros, and some that are not finite. */
static void
problem_init(Problem *problem, const Case *test, TestRandom *random)
{
    SundogDtype dtype = test->is_q8 ? SUNDOG_DTYPE_Q8 : SUNDOG_DTYPE_BF16;
    *problem = (Problem){.test = test,
                         .n_columns = (test->n_heads + 2 * test->n_kv_heads) * test->head_dim};
    place_rows(problem, random);
    problem->pool_bytes =
        sundog_page_part_bytes(dtype, test->is_q8 ? 1 : 2, (uint64_t)test->head_dim) *
        (size_t)(test->n_kv_heads * N_PAGES);
    problem->frequencies = g_new(float, test->rope_dims / 2 + 1);
    for (int i = 0; i < test->rope_dims / 2; i++)
        problem->frequencies[i] = powf(10000, -2 * (float)i / (float)test->rope_dims);
    problem->qkv = g_new(float, N_ROWS * problem->n_columns);
    test_random_floats(random, problem->qkv, N_ROWS * problem->n_columns);
    for (int i = 0; i < problem->n_columns; i++) {
        problem->qkv[3 * problem->n_columns + i] *= 0x1p-35f;
        problem->qkv[5 * problem->n_columns + i] = 0;
    }
    if (test->is_q8)
        problem->qkv[8 * problem->n_columns - 1] = INFINITY;
    problem->keys = g_malloc(problem->pool_bytes);
    problem->values = g_malloc(problem->pool_bytes);
    memset(problem->keys, 0x55, problem->pool_bytes);
    memset(problem->values, 0x55, problem->pool_bytes);
}

static void
problem_clear(Problem *problem)
{
    g_free(problem->frequencies);
    g_free(problem->qkv);
    g_free(problem->keys);
    g_free(problem->values);
}

static void
run_host(Problem *problem)
{
    const Case *test = problem->test;
    SundogDtype dtype = test->is_q8 ? SUNDOG_DTYPE_Q8 : SUNDOG_DTYPE_BF16;
    SundogArgument arguments[] = {
        {.data = problem->qkv, .shape = {N_ROWS, problem->n_columns, 1, 1}},
        {.data = problem->positions, .shape = {N_ROWS, 1, 1, 1}},
        {.data = problem->sequences, .shape = {N_ROWS, 1, 1, 1}},
        {.data = problem->table, .shape = {N_SEQUENCES, SEQUENCE_PAGES, 1, 1}},
        {.data = problem->frequencies, .shape = {1, test->rope_dims / 2, 1, 1}},
        {.data = problem->keys,
         .dtype = dtype,
         .shape = {N_PAGES, test->n_kv_heads, test->head_dim, SUNDOG_PAGE_TOKENS}},
        {.data = problem->values,
         .dtype = dtype,
         .shape = {N_PAGES, test->n_kv_heads, SUNDOG_PAGE_TOKENS, test->head_dim}}};
    SundogParameter parameters[SUNDOG_MAX_PARAMETERS] = {
        {.i = test->n_heads},   {.i = test->n_kv_heads},  {.i = test->head_dim},
        {.i = test->rope_dims}, {.i = test->interleaved}, {.f = test->magnitude}};
    SundogCall call = {arguments, parameters, 0, 1};
    sundog_host_kernel(SUNDOG_OP_ROPE_CACHE, SUNDOG_HOST_PLAIN)(&call);
}

static CUdeviceptr
upload(const void *from, size_t n_bytes)
{
    CUdeviceptr to = product_runner_allocate(&runner, n_bytes);
    product_runner_write(&runner, to, from, n_bytes);
    return to;
}

static void
download(void *to, CUdeviceptr from, size_t n_bytes)
{
    product_runner_read(&runner, to, from, n_bytes);
    product_runner_free(&runner, from);
}

/* In place; as lowering fills the parameters. */
static void
run_device(Problem *problem)
{
    const Case *test = problem->test;
    size_t n_qkv = (size_t)(N_ROWS * problem->n_columns) * sizeof(float);
    CUdeviceptr qkv = upload(problem->qkv, n_qkv);
    CUdeviceptr keys = upload(problem->keys, problem->pool_bytes);
    CUdeviceptr values = upload(problem->values, problem->pool_bytes);
    CUdeviceptr positions = upload(problem->positions, sizeof problem->positions);
    CUdeviceptr sequences = upload(problem->sequences, sizeof problem->sequences);
    CUdeviceptr table = upload(problem->table, sizeof problem->table);
    CUdeviceptr frequencies =
        upload(problem->frequencies, (size_t)(test->rope_dims / 2 + 1) * sizeof(float));
    SundogCudaRopeCache rope = {.qkv = (void *)(uintptr_t)qkv,
                                .positions = (void *)(uintptr_t)positions,
                                .token_sequence = (void *)(uintptr_t)sequences,
                                .page_table = (void *)(uintptr_t)table,
                                .inverse_frequencies = (void *)(uintptr_t)frequencies,
                                .k_pages = (void *)(uintptr_t)keys,
                                .v_pages = (void *)(uintptr_t)values,
                                .n_heads = test->n_heads,
                                .n_kv_heads = test->n_kv_heads,
                                .head_dim = test->head_dim,
                                .rope_dims = test->rope_dims,
                                .interleaved = test->interleaved,
                                .sequence_pages = SEQUENCE_PAGES,
                                .are_q8 = test->is_q8,
                                .magnitude = test->magnitude};
    product_runner_call(&runner, "rope-cache", "sundog_rope_cache", N_ROWS, SUNDOG_CUDA_ROW_THREADS,
                        0, &rope);
    download(problem->qkv, qkv, n_qkv);
    download(problem->keys, keys, problem->pool_bytes);
    download(problem->values, values, problem->pool_bytes);
    product_runner_free(&runner, positions);
    product_runner_free(&runner, sequences);
    product_runner_free(&runner, table);
    product_runner_free(&runner, frequencies);
}

/* Where the host's factors have zeros for what is tiny, these pages have it rounded. */
static void
clear_tiny(const Problem *problem, uint8_t *pages)
{
    uint16_t *values = (uint16_t *)pages;
    for (size_t i = 0; !problem->test->is_q8 && i < problem->pool_bytes / 2; i++)
        values[i] = sundog_f32_to_bf16_factor(sundog_bf16_to_f32(values[i]));
}

static void
test_case(gconstpointer data)
{
    TestRandom random = {(uint64_t)g_test_rand_int()}, same = random;
    Problem host, device;
    problem_init(&host, data, &random);
    problem_init(&device, data, &same);
    run_host(&host);
    run_device(&device);
    uint8_t *const pages[] = {host.keys, device.keys, host.values, device.values};
    for (size_t i = 0; i < G_N_ELEMENTS(pages); i++)
        clear_tiny(&host, pages[i]);
    size_t n_qkv = (size_t)(N_ROWS * host.n_columns) * sizeof(float);
    g_assert_cmpmem(host.qkv, n_qkv, device.qkv, n_qkv);
    g_assert_cmpmem(host.keys, host.pool_bytes, device.keys, device.pool_bytes);
    g_assert_cmpmem(host.values, host.pool_bytes, device.values, device.pool_bytes);
    problem_clear(&host);
    problem_clear(&device);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    if (!product_runner_init(&runner))
        return 0;
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *path = g_strdup_printf("/rope-cache/%d/%zu", cases[i].head_dim, i);
        g_test_add_data_func(path, &cases[i], test_case);
    }
    int status = g_test_run();
    product_runner_clear(&runner);
    return status;
}
