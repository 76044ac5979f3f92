/* Products of experts that have many rows, on a GPU: each tile is near what the kernel for an entry at a time
 * computes, of work lists with experts of no row, of one, and of more than a tile holds. With -m perf, times of
 * both. */

#include "kernels/contract/experts.h"
#include "kernels/contract/gate.h"
#include "kernels/contract/math.h"
#include "kernels/host/kernels.h"
#include "tests/gpu/product-runner.h"
#include <math.h>
#include <string.h>

/* Two orders of float32 sums; results of gate and up are rounded to bf16 besides. */
#define BOUND 1e-5
#define GATED_BOUND 4e-3
#define N_TIMED 10

static ProductRunner runner;
static GRand *random_numbers;

typedef struct {
    SundogLayout layout;
    int n_tokens, n_experts, n_used, n_columns, n_rows;
    double skew; /* 1: all experts alike; more: the first ones have most */
} Case;

static const SundogLayout layouts[] = {SUNDOG_LAYOUT_TILE16_BF16, SUNDOG_LAYOUT_TILE16_Q8_0,
                                       SUNDOG_LAYOUT_TILE16_Q4_1, SUNDOG_LAYOUT_TILE16_F8};
static const SundogCudaWideTile tiles[] = {SUNDOG_CUDA_WIDE_TILES(SUNDOG_CUDA_WIDE_TILE)};
#define X(tokens) tokens,
static const int tile_tokens[] = {SUNDOG_CUDA_EXPERT_TILES(X)};
#undef X

/* A work list of random choices, and products of both kinds with it. */
typedef struct {
    Case test;
    int n_choices;
    int n_entries;
    int32_t *choices;
    SundogCudaExpertLinear linear;
    CUdeviceptr y;
    size_t y_bytes;
} World;

static void *
pointer(CUdeviceptr data)
{
    return (void *)(uintptr_t)data;
}

static CUdeviceptr
address(const void *data)
{
    return (CUdeviceptr)(uintptr_t)data;
}

static void *
upload(const void *bytes, size_t n_bytes)
{
    CUdeviceptr data = product_runner_allocate(&runner, n_bytes);
    product_runner_write(&runner, data, bytes, n_bytes);
    return pointer(data);
}

/* The host's list. */
static void *
plan(World *world)
{
    const Case *test = &world->test;
    size_t n_bytes = (size_t)world->n_entries * SUNDOG_WORK_FIELDS * sizeof(int32_t);
    g_autofree int32_t *work = g_malloc(n_bytes);
    g_autofree uint8_t *workspace = g_malloc(sundog_plan_experts_workspace_bytes(test->n_experts));
    for (int i = 0; i < world->n_choices; i++)
        world->choices[i] =
            (int32_t)(pow(g_rand_double(random_numbers), test->skew) * test->n_experts);
    const SundogArgument arguments[] = {
        {.data = world->choices, .shape = {test->n_tokens, test->n_used, 1, 1}},
        {.data = work, .shape = {world->n_entries, SUNDOG_WORK_FIELDS, 1, 1}},
        {.data = workspace, .shape = {1, 1, 1, 1}}};
    const SundogParameter parameter = {.i = test->n_experts};
    SundogCall call = {arguments, &parameter, 0, 1};
    sundog_host_kernel(SUNDOG_OP_PLAN_EXPERTS, SUNDOG_HOST_PLAIN)(&call);
    return upload(work, n_bytes);
}

static void *
make_halves(size_t n)
{
    g_autofree uint16_t *halves = g_new(uint16_t, n);
    for (size_t i = 0; i < n; i++)
        halves[i] = sundog_f32_to_bf16((float)g_rand_double_range(random_numbers, -2, 2));
    return upload(halves, n * sizeof *halves);
}

static void *
make_floats(size_t n)
{
    g_autofree float *values = g_new(float, n);
    for (size_t i = 0; i < n; i++)
        values[i] = (float)g_rand_double_range(random_numbers, -1, 1);
    return upload(values, n * sizeof *values);
}

static void
world_init(World *world, const Case *test)
{
    int n = test->n_tokens * test->n_used;
    *world = (World){.test = *test,
                     .n_choices = n,
                     .n_entries = (n + SUNDOG_TILE_TOKENS - 1) / SUNDOG_TILE_TOKENS +
                                  MIN(n, test->n_experts),
                     .choices = g_new(int32_t, n)};
    int64_t weight_rows = (int64_t)test->n_experts * test->n_rows;
    size_t w_bytes = sundog_layout_bytes(test->layout, weight_rows, test->n_columns);
    size_t places = (size_t)world->n_entries * SUNDOG_TILE_TOKENS;
    world->linear = (SundogCudaExpertLinear){.a = make_halves(places * (size_t)test->n_columns),
                                             .work = plan(world),
                                             .n_columns = test->n_columns,
                                             .n_rows = test->n_rows,
                                             .function = SUNDOG_GATE_SILU,
                                             .n_entries = world->n_entries};
    for (int m = 0; m < 2; m++) {
        CUdeviceptr w = product_runner_allocate(&runner, w_bytes);
        product_runner_fill(&runner, w, w_bytes, test->layout, 0.05f);
        world->linear.w[m] = pointer(w);
        world->linear.bias[m] = make_floats((size_t)weight_rows);
    }
    world->y_bytes = places * (size_t)test->n_rows * sizeof(float);
    world->y = product_runner_allocate(&runner, world->y_bytes);
}

static void
world_clear(World *world)
{
    product_runner_wait(&runner);
    product_runner_free(&runner, address(world->linear.a));
    product_runner_free(&runner, address(world->linear.work));
    for (int m = 0; m < 2; m++) {
        product_runner_free(&runner, address(world->linear.w[m]));
        product_runner_free(&runner, address(world->linear.bias[m]));
    }
    product_runner_free(&runner, world->y);
    g_free(world->choices);
}

static unsigned
divide(int n, int by)
{
    return (unsigned)((n + by - 1) / by);
}

/* A tile, or NULL: an entry at a time. */
static void
launch(World *world, const SundogCudaWideTile *tile, bool is_gated)
{
    const Case *test = &world->test;
    const char *layout = strchr(sundog_layout_name(test->layout), '-') + 1;
    const char *kind = is_gated ? "gated_experts" : "experts";
    int n_panels = test->n_rows / SUNDOG_PANEL_ROWS;
    world->linear.y = pointer(world->y);
    if (tile == NULL) {
        g_autofree char *entry = g_strdup_printf("sundog_%s_%s", kind, layout);
        const unsigned grid[] = {(unsigned)n_panels, (unsigned)world->n_entries, 1};
        product_runner_call_grid(&runner, "experts", entry, grid, SUNDOG_CUDA_EXPERT_THREADS, 0,
                                 &world->linear);
        return;
    }
    g_autofree char *entry = g_strdup_printf("sundog_%s_%s_%d", kind, layout, tile->tokens);
    const unsigned grid[] = {divide(n_panels, sundog_cuda_wide_row_panels(tile, is_gated)),
                             divide(world->n_entries, SUNDOG_CUDA_TILE_ENTRIES(tile->tokens)),
                             SUNDOG_CUDA_EXPERT_SHARES};
    product_runner_call_grid(
        &runner, "expert-tiles", entry, grid, SUNDOG_CUDA_LINEAR_THREADS,
        sundog_cuda_wide_shared_bytes(tile, is_gated, (int)sundog_tile_block_columns(test->layout),
                                      (int)sundog_tile_block_bytes(test->layout)),
        &world->linear);
}

/* Results as floats, what was not written as NaN; free it. */
static float *
run(World *world, const SundogCudaWideTile *tile, bool is_gated, size_t *n)
{
    *n = world->y_bytes / sizeof(float);
    float *values = g_new(float, *n);
    product_runner_poison(&runner, world->y, world->y_bytes);
    launch(world, tile, is_gated);
    product_runner_read(&runner, values, world->y, world->y_bytes);
    if (!is_gated)
        return values;
    g_autofree uint16_t *halves = g_memdup2(values, *n * sizeof *halves);
    for (size_t i = 0; i < *n; i++)
        values[i] = sundog_bf16_to_f32(halves[i]);
    return values;
}

static void
compare(World *world, const SundogCudaWideTile *tile, bool is_gated)
{
    size_t n, n_written = 0;
    double difference = 0, length = 0;
    g_autofree float *expected = run(world, NULL, is_gated, &n);
    g_autofree float *found = run(world, tile, is_gated, &n);
    for (size_t i = 0; i < n; i++) {
        g_assert_cmpint(isnan(found[i]), ==, isnan(expected[i]));
        if (isnan(expected[i]))
            continue;
        n_written++;
        difference += pow((double)found[i] - (double)expected[i], 2);
        length += pow((double)expected[i], 2);
    }
    double error = sqrt(difference / length);
    g_test_message("%d tokens, %s: %.1e", tile->tokens, is_gated ? "gated" : "plain", error);
    g_assert_cmpuint(n_written, ==, (size_t)world->n_choices * (size_t)world->test.n_rows);
    g_assert_true(error < (is_gated ? GATED_BOUND : BOUND));
}

static double
find_us(World *world, const SundogCudaWideTile *tile, bool is_gated)
{
    launch(world, tile, is_gated);
    product_runner_wait(&runner);
    int64_t begin = g_get_monotonic_time();
    for (int i = 0; i < N_TIMED; i++)
        launch(world, tile, is_gated);
    product_runner_wait(&runner);
    return (double)(g_get_monotonic_time() - begin) / N_TIMED;
}

/* Calls a function with the world for each tile that experts have. */
static void
each_tile(World *world, void (*function)(World *world, const SundogCudaWideTile *tile, bool gated))
{
    for (size_t i = 0; i < G_N_ELEMENTS(tile_tokens); i++)
        for (size_t t = 0; t < G_N_ELEMENTS(tiles); t++)
            for (int gated = 0; gated < 2 && tiles[t].tokens == tile_tokens[i]; gated++)
                function(world, &tiles[t], gated);
}

static void
test_tiles(gconstpointer data)
{
    const Case shapes[] = {
        {0, 90, 5, 3, 776, 160, 1}, {0, 400, 7, 2, 64, 48, 3}, {0, 1, 4, 2, 256, 144, 1}};
    for (size_t i = 0; i < G_N_ELEMENTS(shapes); i++) {
        World world;
        Case test = shapes[i];
        test.layout = (SundogLayout)GPOINTER_TO_INT(data);
        world_init(&world, &test);
        each_tile(&world, compare);
        world_clear(&world);
    }
}

static void
print_time(World *world, const SundogCudaWideTile *tile, bool is_gated)
{
    double flops =
        2.0 * world->n_choices * world->test.n_rows * world->test.n_columns * (is_gated ? 2 : 1);
    double one = find_us(world, NULL, is_gated), many = find_us(world, tile, is_gated);
    g_test_message("%d tokens, tile %d, %s, %s: %.0f us an entry at a time, %.0f by tiles, "
                   "%.0f TFLOP/s",
                   world->test.n_tokens, tile->tokens, sundog_layout_name(world->test.layout),
                   is_gated ? "gated" : "plain", one, many, flops / many * 1e-6);
}

/* As Qwen3-30B-A3B has them. */
static void
test_times(gconstpointer data)
{
    static const int n_tokens[] = {128, 512, 2048};
    for (size_t i = 0; i < G_N_ELEMENTS(n_tokens); i++) {
        World world;
        const Case test = {(SundogLayout)GPOINTER_TO_INT(data), n_tokens[i], 128, 8, 2048, 768, 1};
        world_init(&world, &test);
        each_tile(&world, print_time);
        world_clear(&world);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    if (!product_runner_init(&runner))
        return 0;
    random_numbers = g_rand_new();
    for (size_t i = 0; i < G_N_ELEMENTS(layouts); i++) {
        const char *name = sundog_layout_name(layouts[i]);
        g_autofree char *path = g_strdup_printf("/expert-tiles/%s", name);
        g_autofree char *times = g_strdup_printf("/expert-times/%s", name);
        g_test_add_data_func(path, GINT_TO_POINTER(layouts[i]), test_tiles);
        if (g_test_perf())
            g_test_add_data_func(times, GINT_TO_POINTER(layouts[i]), test_times);
    }
    int status = g_test_run();
    g_rand_free(random_numbers);
    product_runner_clear(&runner);
    return status;
}
