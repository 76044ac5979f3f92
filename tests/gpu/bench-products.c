/*
 * Times of the products by warpgroups in every tile, for the four products of a layer of 8B parameters:
 * bench-products [bf16|q8_0|q4_1] [TOKENS …]. Weights are taken in turn from several copies, so that they
 * come from memory and not from the cache.
 */

#include "tests/gpu/product-runner.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define N_COPIES 4
#define LEAST_US 3000

static const struct {
    const char *name;
    bool is_gated;
    int n_columns, n_rows;
} shapes[] = {{"qkv", false, 4096, 6144},
              {"o", false, 4096, 4096},
              {"gate/up", true, 4096, 14336},
              {"down", false, 14336, 4096}};

static double
time_product(ProductRunner *runner, Product *product, const CUdeviceptr *weights, size_t n_bytes)
{
    int n = 0;
    gint64 start = 0;
    /* The first rounds are not timed. */
    for (int round = 0; n == 0 || g_get_monotonic_time() - start < LEAST_US; round++) {
        if (round == 2) {
            product_runner_wait(runner);
            start = g_get_monotonic_time();
        }
        for (int c = 0; c < N_COPIES; c++) {
            product->linear.w[0] = (void *)(uintptr_t)weights[c];
            product->linear.w[1] = (void *)(uintptr_t)(weights[c] + n_bytes);
            product_runner_launch(runner, product);
        }
        if (round >= 2) {
            product_runner_wait(runner);
            n += N_COPIES;
        }
    }
    return (double)(g_get_monotonic_time() - start) / n;
}

static void
bench_shape(ProductRunner *runner, size_t s, SundogLayout layout, int n_tokens)
{
    int n_columns = shapes[s].n_columns, n_rows = shapes[s].n_rows;
    int n_matrices = shapes[s].is_gated ? 2 : 1;
    size_t n_bytes = sundog_layout_bytes(layout, n_rows, n_columns);
    size_t n_x = (size_t)n_tokens * (size_t)n_columns * 2;
    size_t n_y = (size_t)n_tokens * (size_t)n_rows * 4;
    CUdeviceptr weights[N_COPIES], x = product_runner_allocate(runner, n_x);
    CUdeviceptr y = product_runner_allocate(runner, n_y);
    for (int c = 0; c < N_COPIES; c++) {
        weights[c] = product_runner_allocate(runner, n_bytes * (size_t)n_matrices);
        product_runner_fill(runner, weights[c], n_bytes * (size_t)n_matrices, layout,
                            sqrtf(3.0f / (float)n_columns));
    }
    product_runner_fill(runner, x, n_x, SUNDOG_LAYOUT_TILE16_BF16, 1);
    double flops = 2.0 * n_tokens * n_columns * (double)n_rows * n_matrices;
    g_print("%-8s %5d:", shapes[s].name, n_tokens);
    for (const SundogCudaGroupTile *tile = product_tiles; tile->tokens > 0; tile++) {
        Product product = {.layout = layout,
                           .class = PRODUCT_GROUPS,
                           .is_gated = shapes[s].is_gated,
                           .tile = *tile,
                           .linear = {.x = (void *)(uintptr_t)x,
                                      .y = (void *)(uintptr_t)y,
                                      .residual = shapes[s].is_gated ? NULL : (void *)(uintptr_t)y,
                                      .n_tokens = n_tokens,
                                      .n_columns = n_columns,
                                      .n_rows = {n_rows, shapes[s].is_gated ? n_rows : 0, 0},
                                      .y_stride = n_rows,
                                      .y_is_bf16 = shapes[s].is_gated}};
        if ((product.is_gated && !tile->has_gated) || tile->tokens >= 4 * n_tokens ||
            tile->tokens * 32 <= n_tokens)
            continue;
        double us = time_product(runner, &product, weights, n_bytes);
        g_print("  %dx%dx%d %.1f us %.0f TF %.2f TB/s", tile->tokens, tile->by_columns,
                tile->by_blocks, us, flops / us / 1e6, (double)n_bytes * n_matrices / us / 1e6);
    }
    g_print("\n");
    for (int c = 0; c < N_COPIES; c++)
        runner->driver->memory_free(weights[c]);
    runner->driver->memory_free(x);
    runner->driver->memory_free(y);
}

int
main(int argc, char **argv)
{
    ProductRunner runner;
    const char *type = argc > 1 ? argv[1] : "bf16";
    SundogLayout layout = strcmp(type, "q4_1") == 0   ? SUNDOG_LAYOUT_TILE16_Q4_1
                          : strcmp(type, "q8_0") == 0 ? SUNDOG_LAYOUT_TILE16_Q8_0
                                                      : SUNDOG_LAYOUT_TILE16_BF16;
    if (!product_runner_init(&runner))
        return 0;
    g_print("# %s\n", sundog_layout_name(layout));
    for (int i = 2; i < argc; i++)
        for (size_t s = 0; s < G_N_ELEMENTS(shapes); s++)
            bench_shape(&runner, s, layout, atoi(argv[i]));
    product_runner_clear(&runner);
    return 0;
}
