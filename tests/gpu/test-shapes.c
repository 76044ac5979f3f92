/*
 * Small models of random weights in each layout, heads of 128, on the GPU against the host: prompts over
 * several pages in chunks of every kind of launch. The bound is derived as in test-cuda.c, for two layers
 * and twelve roundings a layer, since weights may be rounded to bf16 as well: sqrt(12 * 2) * 1.1e-3 =
 * 5.4e-3, twice that allowed for the worst row. Rounding to bytes costs 5e-3 of a vector's length where the
 * largest of 32 values is about 2.2 times as large as most; four such a layer and one for the logits:
 * sqrt(9) * 5e-3 = 1.5e-2, and twice that again.
 */

#include "engine/core/step.h"
#include "engine/format/gguf.h"
#include "engine/replay/cuda-driver.h"
#include "kernels/contract/cubins.h"
#include "tests/gpu/gpu-core.h"

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#define BOUND 1.1e-2
#define ROUNDED_BOUND 3e-2
#define N_TOKENS 700
/* Last rows of a prompt that are compared. */
#define N_ROWS 24

static int32_t tokens[N_TOKENS];

/* The logits of the prompt's last rows. */
static float *
run_prompt(GpuCore *core, int32_t first_page, int32_t chunk)
{
    float *logits = g_new(float, (size_t)N_ROWS * core->n_vocabulary);
    int32_t n_done = 0;
    for (int32_t start = 0; start < N_TOKENS; start += chunk) {
        int32_t n = MIN(chunk, N_TOKENS - start), rows[N_ROWS], n_rows = 0;
        for (int32_t i = 0; i < n; i++)
            if (start + i >= N_TOKENS - N_ROWS)
                rows[n_rows++] = i;
        const GpuPart part = {first_page, start, n, tokens + start};
        g_autofree float *here = gpu_core_step(core, &part, 1, rows, n_rows);
        memcpy(logits + (size_t)n_done * core->n_vocabulary, here,
               (size_t)n_rows * core->n_vocabulary * sizeof(float));
        n_done += n_rows;
    }
    g_assert_cmpint(n_done, ==, N_ROWS);
    return logits;
}

static double
find_error(const float *a, const float *b, uint32_t n)
{
    double largest = 0;
    for (int row = 0; row < N_ROWS; row++) {
        double difference = 0, length = 0;
        for (size_t i = (size_t)row * n; i < (size_t)(row + 1) * n; i++) {
            difference += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
            length += (double)b[i] * b[i];
        }
        double error = sqrt(difference / length);
        largest = isfinite(error) ? MAX(largest, error) : INFINITY;
    }
    return largest;
}

static const SundogReplayOptions options = {
    .pool_pages = 64, .sequence_pages = 16, .host_set = -1, .poison = true};

static void
check_chunks(const char *path, SundogActivations activations, const int32_t *chunks, size_t n,
             const float *expected, const char *name)
{
    GpuCore gpu;
    bool is_rounded = activations == SUNDOG_ACTIVATIONS_INT8;
    gpu_core_open(&gpu, path, GPU_TARGET, activations, &options);
    for (size_t i = 0; i < n; i++) {
        g_autofree float *logits = run_prompt(&gpu, 1 + 16 * (int32_t)(i % 2), chunks[i]);
        double found = find_error(logits, expected, gpu.n_vocabulary);
        g_print("# %s%s, chunks of %d: %.2e\n", name, is_rounded ? " by bytes" : "", chunks[i],
                found);
        g_assert_cmpfloat(found, <, is_rounded ? ROUNDED_BOUND : BOUND);
    }
    gpu_core_close(&gpu);
}

static void
check_shape(const GpuShape *shape, const char *name)
{
    static const int32_t chunks[] = {700, 512, 300, 129, 65, 40, 32, 16, 7};
    static const int32_t few[] = {8, 5, 3, 1};
    g_autoptr(GError) error = NULL;
    g_autofree char *folder = g_dir_make_tmp("sundog-shape.XXXXXX", &error);
    g_assert_no_error(error);
    g_autofree char *path = gpu_shape_write_random(shape, folder);
    GpuCore host;
    gpu_core_open(&host, path, SUNDOG_CORE_TARGET_HOST, SUNDOG_ACTIVATIONS_F32, &options);
    g_autofree float *expected = run_prompt(&host, 1, 256);
    check_chunks(path, SUNDOG_ACTIVATIONS_F32, chunks, G_N_ELEMENTS(chunks), expected, name);
    if (shape->type != SUNDOG_GGUF_BF16)
        check_chunks(path, SUNDOG_ACTIVATIONS_INT8, few, G_N_ELEMENTS(few), expected, name);
    gpu_core_close(&host);
    g_unlink(path);
    g_rmdir(folder);
}

static void
test_layouts(void)
{
    static const struct {
        uint32_t type;
        const char *name;
    } types[] = {
        {SUNDOG_GGUF_BF16, "bf16"}, {SUNDOG_GGUF_Q8_0, "q8_0"}, {SUNDOG_GGUF_Q4_1, "q4_1"}};
    for (size_t i = 0; i < G_N_ELEMENTS(types); i++) {
        const GpuShape shape = {2, 1024, 1408, 8, 2, 128, 1000, types[i].type};
        check_shape(&shape, types[i].name);
    }
}

/* Columns that fill no stage of the ring, nor whole slots of it. */
static void
test_narrow(void)
{
    const GpuShape q8_0 = {3, 576, 1536, 9, 3, 64, 1000, SUNDOG_GGUF_Q8_0};
    const GpuShape q4_1 = {3, 320, 832, 5, 1, 64, 1000, SUNDOG_GGUF_Q4_1};
    check_shape(&q8_0, "narrow q8_0");
    check_shape(&q4_1, "narrow q4_1");
}

/* Groups of one and of eight heads: one pair of warpgroups has half its rows, another needs two blocks. */
static void
test_groups(void)
{
    const GpuShape one = {2, 512, 704, 4, 4, 128, 1000, SUNDOG_GGUF_BF16};
    const GpuShape eight = {2, 512, 704, 8, 1, 64, 1000, SUNDOG_GGUF_BF16};
    check_shape(&one, "groups of one");
    check_shape(&eight, "groups of eight");
}

int
main(int argc, char **argv)
{
    g_autoptr(GError) error = NULL;
    g_test_init(&argc, &argv, NULL);
    if (sundog_cuda_driver_get(&error) == NULL || sundog_cubin_find(GPU_TARGET, "flash") == NULL) {
        g_print("1..0 # SKIP %s\n",
                error != NULL ? error->message : "built without kernels for " GPU_TARGET);
        return 0;
    }
    for (int32_t i = 0; i < N_TOKENS; i++)
        tokens[i] = (i * 7919 + 13) % 1000;
    g_test_add_func("/shapes/layouts", test_layouts);
    g_test_add_func("/shapes/narrow", test_narrow);
    g_test_add_func("/shapes/groups", test_groups);
    return g_test_run();
}
