/*
 * Times of attention of any heads by attend.cu, and of prompts by flash.cu too: decoding beside the time that its keys and values take at the read limit,
 * and prompts in operations a second. bench-attend [TB/s]. Pages are taken in turn from several pools, so that
 * they come from memory and not from the cache; a launch takes the host about 4 us, the least that is seen.
 */

#include "kernels/contract/attention.h"
#include "tests/gpu/product-runner.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_US 20000
#define POOL_BYTES (256 << 20)

typedef struct {
    const char *name;
    int head_dim, n_heads, n_kv_heads, window, n_sequences, context, n_rows;
    int splits[6];
} Shape;

/* n_rows: the last of each sequence's context. */
static const Shape shapes[] = {
    {"Gemma 3 1B", 256, 4, 1, 0, 1, 8192, 1, {1, 8, 16, 32}},
    {"Gemma 3 1B", 256, 4, 1, 512, 1, 8192, 1, {1, 4, 9}},
    {"Gemma 3 12B", 256, 16, 8, 0, 1, 8192, 1, {8, 16, 32}},
    {"Gemma 3 12B", 256, 16, 8, 1024, 1, 8192, 1, {1, 4, 8, 16}},
    {"Gemma 3 12B", 256, 16, 8, 0, 8, 8192, 1, {1, 2, 4, 8}},
    {"heads of 512", 512, 8, 1, 0, 1, 8192, 1, {8, 16, 32}},
    {"heads of 128", 128, 32, 8, 0, 1, 8192, 1, {8, 16, 32}},
    {"latents", 576, 128, 1, 0, 1, 4096, 1, {8, 16, 32}},
    {"latents", 576, 16, 1, 0, 1, 4096, 1, {8, 16, 32}},
    {"latents", 576, 128, 1, 0, 8, 4096, 1, {1, 4, 8}},
    {"Gemma 3 1B", 256, 4, 1, 0, 1, 2048, 2048, {1}},
    {"Gemma 3 12B", 256, 16, 8, 0, 1, 2048, 2048, {1}},
    {"Gemma 3 12B", 256, 16, 8, 1024, 1, 8192, 2048, {1}},
    {"heads of 128", 128, 32, 8, 0, 1, 2048, 2048, {1}},
    {"latents", 576, 128, 1, 0, 1, 2048, 512, {1}},
};

typedef struct {
    ProductRunner runner;
    CUdeviceptr pools; /* keys, then values, of each pool */
    size_t n_bytes;
    double limit;
} Bench;

static const struct {
    int head_dim, few, many;
} sizes[] = {
#define X(head_dim, few, many) {head_dim, few, many},
    SUNDOG_CUDA_ATTEND_SIZES(X)
#undef X
};

static CUdeviceptr
upload(Bench *bench, const void *data, size_t n_bytes)
{
    CUdeviceptr to = product_runner_allocate(&bench->runner, n_bytes);
    product_runner_write(&bench->runner, to, data, n_bytes);
    return to;
}

static int
count_pages(const Shape *shape)
{
    return (shape->context + SUNDOG_PAGE_TOKENS - 1) / SUNDOG_PAGE_TOKENS;
}

static CUdeviceptr
make_table(Bench *bench, const Shape *shape)
{
    int n = shape->n_sequences * count_pages(shape);
    g_autofree int32_t *table = g_new(int32_t, n);
    for (int i = 0; i < n; i++)
        table[i] = 1 + (int)((uint64_t)i * 7919 % (uint64_t)n);
    return upload(bench, table, (size_t)n * sizeof *table);
}

static CUdeviceptr
make_tiles(Bench *bench, const Shape *shape, int *n_tiles)
{
    int32_t tiles[512][4] = {{0}};
    *n_tiles = 0;
    for (int s = 0; s < shape->n_sequences; s++)
        for (int row = 0; row < shape->n_rows; row += SUNDOG_ATTENTION_TILE_ROWS) {
            int32_t *tile = tiles[++*n_tiles];
            tile[0] = s;
            tile[1] = s * shape->n_rows + row;
            tile[2] = MIN(SUNDOG_ATTENTION_TILE_ROWS, shape->n_rows - row);
            tile[3] = shape->context - shape->n_rows + row;
        }
    tiles[0][0] = *n_tiles;
    return upload(bench, tiles, sizeof tiles);
}

/* What a row at this position sees. */
static int
count_seen(const Shape *shape, int position)
{
    return shape->window > 0 ? MIN(shape->window, position + 1) : position + 1;
}

static void
report(const Bench *bench, const Shape *shape, int n_splits, double us)
{
    double n_seen = 0;
    for (int row = 0; row < shape->n_rows; row++)
        n_seen += count_seen(shape, shape->context - shape->n_rows + row);
    n_seen *= shape->n_sequences;
    if (shape->n_rows > 1) {
        g_print("  %.0f us %.0f TF\n", us,
                4 * n_seen * shape->n_heads * shape->head_dim / us / 1e6);
        return;
    }
    int n_parts = shape->head_dim == SUNDOG_CUDA_ATTEND_LATENT ? 1 : 2;
    double n_bytes = n_seen * shape->n_kv_heads * shape->head_dim * 2 * n_parts;
    g_print("  %d: %.1f us (%.1f by bytes)", n_splits, us, n_bytes / bench->limit / 1e6);
}

/* Pages as rows of so many elements, in boxes of 64 of them and so many rows. */
static SundogCudaTensorMap
describe(Bench *bench, CUdeviceptr pages, size_t n_bytes, int row, int box_rows)
{
    SundogCudaTensorMap map;
    g_autoptr(GError) error = NULL;
    const uint64_t extents[2] = {(uint64_t)row, n_bytes / 2 / (uint64_t)row};
    const uint64_t strides[1] = {extents[0] * 2};
    const uint32_t box[2] = {64, (uint32_t)box_rows}, steps[2] = {1, 1};
    const SundogCudaDriver *driver = bench->runner.driver;
    sundog_cuda_succeeded(driver,
                          driver->tensor_map_encode(&map, SUNDOG_CUDA_MAP_BF16, 2,
                                                    (void *)(uintptr_t)pages, extents, strides, box,
                                                    steps, 0, SUNDOG_CUDA_MAP_SWIZZLE_128B,
                                                    SUNDOG_CUDA_MAP_PROMOTE_256B, 0),
                          "describing pages", &error);
    g_assert_no_error(error);
    return map;
}

/* Of prompts, over the first pool. */
static double
time_flash(Bench *bench, const Shape *shape, const SundogCudaAttend *attend, int n_tiles)
{
    int n_pairs = SUNDOG_ATTENTION_TILE_ROWS * (shape->n_heads / shape->n_kv_heads), n = 0;
    int64_t n_pages = 1 + (int64_t)shape->n_sequences * count_pages(shape);
    size_t pool = (size_t)(n_pages * shape->n_kv_heads * shape->head_dim * SUNDOG_PAGE_TOKENS * 2);
    SundogCudaFlash flash = {
        .k = describe(bench, bench->pools, pool, SUNDOG_PAGE_TOKENS, shape->head_dim),
        .v = describe(bench, bench->pools + pool, pool, shape->head_dim, SUNDOG_PAGE_TOKENS),
        .attention = {.qkv = (void *)attend->qkv,
                      .page_table = attend->page_table,
                      .tiles = attend->tiles,
                      .o = attend->o,
                      .n_heads = shape->n_heads,
                      .n_kv_heads = shape->n_kv_heads,
                      .head_dim = shape->head_dim,
                      .sequence_pages = attend->sequence_pages,
                      .n_splits = 1,
                      .scale = attend->scale},
        .window = shape->window};
    g_autofree char *entry = g_strdup_printf("sundog_flash_%d", shape->head_dim);
    const unsigned grid[3] = {
        (unsigned)n_tiles,
        (unsigned)(shape->n_kv_heads *
                   ((n_pairs + SUNDOG_CUDA_FLASH_PAIRS - 1) / SUNDOG_CUDA_FLASH_PAIRS)),
        1};
    gint64 start = 0;
    for (int round = 0; n == 0 || g_get_monotonic_time() - start < LEAST_US; round++) {
        if (round == 1)
            start = g_get_monotonic_time();
        for (int c = 0; c < 16; c++)
            product_runner_call_grid(
                &bench->runner, "flash", entry, grid, SUNDOG_CUDA_FLASH_THREADS,
                (unsigned)SUNDOG_CUDA_FLASH_SHARED_BYTES(shape->head_dim), &flash);
        product_runner_wait(&bench->runner);
        n += round >= 1 ? 16 : 0;
    }
    return (double)(g_get_monotonic_time() - start) / n;
}

static double
time_launches(Bench *bench, const Shape *shape, SundogCudaAttend *attend, int n_tiles)
{
    int i = 0, n = 0, per_group = shape->n_heads / shape->n_kv_heads;
    while (sizes[i].head_dim < shape->head_dim)
        i++;
    int n_pairs = MIN(shape->n_rows, SUNDOG_ATTENTION_TILE_ROWS) * per_group;
    int pairs = n_pairs <= sizes[i].few ? sizes[i].few : sizes[i].many;
    g_autofree char *entry = g_strdup_printf("sundog_attend_%d_%d", sizes[i].head_dim, pairs);
    const unsigned grid[3] = {(unsigned)n_tiles,
                              (unsigned)(shape->n_kv_heads * ((n_pairs + pairs - 1) / pairs)),
                              (unsigned)attend->n_splits};
    int64_t n_pages = 1 + (int64_t)shape->n_sequences * count_pages(shape);
    size_t pool = (size_t)(n_pages * shape->n_kv_heads * shape->head_dim * SUNDOG_PAGE_TOKENS * 2);
    int n_pools = (int)(bench->n_bytes / (2 * pool));
    gint64 start = 0;
    for (int round = 0; n == 0 || g_get_monotonic_time() - start < LEAST_US; round++) {
        if (round == 1) {
            product_runner_wait(&bench->runner);
            start = g_get_monotonic_time();
        }
        for (int c = 0; c < 32; c++) {
            CUdeviceptr keys = bench->pools + (size_t)(c % n_pools) * 2 * pool;
            attend->k_pages = (void *)(uintptr_t)keys;
            attend->v_pages = (void *)(uintptr_t)(keys + pool);
            product_runner_call_grid(
                &bench->runner, "attend", entry, grid, (unsigned)SUNDOG_CUDA_ATTEND_THREADS(pairs),
                (unsigned)SUNDOG_CUDA_ATTEND_SHARED_BYTES(sizes[i].head_dim, pairs), attend);
        }
        if (round >= 1) {
            product_runner_wait(&bench->runner);
            n += 32;
        }
    }
    return (double)(g_get_monotonic_time() - start) / n;
}

static void
bench_shape(Bench *bench, const Shape *shape)
{
    int n_tiles;
    int64_t n_rows = (int64_t)shape->n_sequences * shape->n_rows;
    size_t n_o = (size_t)(n_rows * shape->n_heads * shape->head_dim) * 2;
    size_t n_qkv =
        (size_t)(n_rows * (shape->n_heads + 2 * shape->n_kv_heads) * shape->head_dim) * 4;
    g_autofree float *qkv = g_malloc(n_qkv);
    for (size_t i = 0; i < n_qkv / 4; i++)
        qkv[i] = (float)g_random_double_range(-1, 1);
    CUdeviceptr rows = upload(bench, qkv, n_qkv), table = make_table(bench, shape);
    CUdeviceptr tiles = make_tiles(bench, shape, &n_tiles);
    CUdeviceptr o = product_runner_allocate(&bench->runner, n_o);
    CUdeviceptr parts = product_runner_allocate(
        &bench->runner, n_o * 2 * SUNDOG_CUDA_ATTEND_SPLITS + (size_t)n_rows * 65536);
    g_autofree uint32_t *zeros = g_new0(uint32_t, 1 << 16);
    CUdeviceptr counters = upload(bench, zeros, 4 << 16);
    g_print("%-12s %d x %d rows, %d of context, window %d:", shape->name, shape->n_sequences,
            shape->n_rows, shape->context, shape->window);
    for (const int *n_splits = shape->splits; *n_splits > 0; n_splits++) {
        SundogCudaAttend attend = {.qkv = (void *)(uintptr_t)rows,
                                   .page_table = (void *)(uintptr_t)table,
                                   .tiles = (void *)(uintptr_t)tiles,
                                   .o = (void *)(uintptr_t)o,
                                   .parts = (void *)(uintptr_t)parts,
                                   .counters = (void *)(uintptr_t)counters,
                                   .n_columns =
                                       (shape->n_heads + 2 * shape->n_kv_heads) * shape->head_dim,
                                   .n_heads = shape->n_heads,
                                   .n_kv_heads = shape->n_kv_heads,
                                   .head_dim = shape->head_dim,
                                   .sequence_pages = count_pages(shape),
                                   .window = shape->window,
                                   .n_splits = *n_splits,
                                   .scale = 1 / sqrtf((float)shape->head_dim)};
        report(bench, shape, *n_splits, time_launches(bench, shape, &attend, n_tiles));
        if (shape->n_rows > 1 && shape->head_dim <= 256) {
            g_print("  by flash:");
            report(bench, shape, 1, time_flash(bench, shape, &attend, n_tiles));
        }
    }
    if (shape->n_rows == 1)
        g_print("\n");
    const CUdeviceptr all[] = {rows, table, tiles, o, parts, counters};
    for (size_t i = 0; i < G_N_ELEMENTS(all); i++)
        product_runner_free(&bench->runner, all[i]);
}

int
main(int argc, char **argv)
{
    Bench bench = {.limit = argc > 1 ? g_ascii_strtod(argv[1], NULL) : 4.65,
                   .n_bytes = (size_t)6 * POOL_BYTES};
    if (!product_runner_init(&bench.runner))
        return 0;
    bench.pools = product_runner_allocate(&bench.runner, bench.n_bytes);
    product_runner_fill(&bench.runner, bench.pools, bench.n_bytes, SUNDOG_LAYOUT_TILE16_BF16, 1);
    for (size_t i = 0; i < G_N_ELEMENTS(shapes); i++)
        bench_shape(&bench, &shapes[i]);
    product_runner_clear(&bench.runner);
    return 0;
}
