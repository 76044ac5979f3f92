/*
 * Times of whole steps on a GPU, random weights: bench-cuda [8b|1b] [bf16|q8_0|q4_1]
 * [LAYERS [BANDWIDTH [int8|exact|alike]]]. Prints what was moved, how long it took, and the share of the read bandwidth given, in TB/s.
 */

#include "engine/core/step.h"
#include "engine/format/gguf.h"
#include "kernels/contract/sample.h"
#include "tests/gpu/gpu-core.h"

#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>

#define CONTEXT 1024
#define PAGES (CONTEXT / 64 + 1)
/* How long what is timed runs at least, and at most how many steps of it. */
#define LEAST_US 50000
#define MAX_STEPS 48
#define MAX_BATCH 256

static double
run_steps(GpuCore *gpu, const SundogShape *shape, int n, bool samples)
{
    g_autoptr(GError) error = NULL;
    int32_t word;
    gint64 start = g_get_monotonic_time();
    for (int i = 0; i < n; i++) {
        sundog_replay_run(gpu->replay, SUNDOG_PROGRAM_FORWARD, shape, &error);
        g_assert_no_error(error);
        if (samples)
            sundog_replay_run(gpu->replay, SUNDOG_PROGRAM_SAMPLE, shape, &error);
        g_assert_no_error(error);
    }
    sundog_replay_read(gpu->replay, "logits", &word, sizeof word, &error);
    g_assert_no_error(error);
    return (double)(g_get_monotonic_time() - start) / n;
}

/* Steps that take long enough to be timed, of which two are run before. */
static double
time_steps(GpuCore *gpu, const SundogShape *shape, bool samples)
{
    double once = run_steps(gpu, shape, 2, samples);
    return run_steps(gpu, shape, CLAMP((int)(LEAST_US / once), 3, MAX_STEPS), samples);
}

/* What a step is faster by without each kind of operation. */
static void
print_parts(GpuCore *gpu, const SundogShape *shape)
{
    static const SundogOperationKind kinds[] = {SUNDOG_OP_RMS_NORM,     SUNDOG_OP_LINEAR_QKV,
                                                SUNDOG_OP_ROPE_CACHE,   SUNDOG_OP_ATTENTION,
                                                SUNDOG_OP_LINEAR_GATED, SUNDOG_OP_LINEAR};
    sundog_replay_leave_out(gpu->replay, (uint64_t)1 << SUNDOG_OP_QUANTIZE);
    double whole = time_steps(gpu, shape, false);
    g_print("      directly %.1f us;", whole);
    for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
        sundog_replay_leave_out(gpu->replay, (uint64_t)1 << kinds[i]);
        g_print(" %s %.1f", sundog_operations[kinds[i]].name,
                whole - time_steps(gpu, shape, false));
    }
    sundog_replay_leave_out(gpu->replay, 0);
    g_print("\n");
}

static void
print_batch(GpuCore *gpu, int batch, double bandwidth)
{
    static int32_t tokens[MAX_BATCH], rows[MAX_BATCH];
    GpuPart parts[MAX_BATCH];
    const SundogCoreInfo *info = sundog_core_get_info(gpu->core);
    for (int i = 0; i < batch; i++) {
        tokens[i] = (i * 7919 + 13) % (int)gpu->n_vocabulary;
        rows[i] = i;
        parts[i] = (GpuPart){1 + i * PAGES, CONTEXT, 1, &tokens[i]};
    }
    SundogShape shape = gpu_core_fill(gpu, parts, batch, rows, batch);
    SundogSampling *sampling = sundog_replay_get_buffer(gpu->replay, "sampling");
    int32_t *history = sundog_replay_get_buffer(gpu->replay, "history");
    for (int i = 0; i < batch; i++) {
        sampling[i] = (SundogSampling){.top_p = 1, .repetition_penalty = 1};
        history[i] = -1;
    }
    double forward = time_steps(gpu, &shape, false);
    double whole = time_steps(gpu, &shape, true);
    /* One row of the embedding is read, not the table; the cache is read up to the context. */
    double bytes =
        (double)info->weight_bytes - (double)sundog_core_get_weight(gpu->core, 0)->n_bytes +
        (double)batch * CONTEXT / 64 * (double)sundog_core_get_cache(gpu->core)->page_bytes;
    g_print("%5d %10.1f us forward %6.2f GB %6.3f TB/s %5.1f %%   %10.1f us with sampling %8.0f "
            "tokens/s\n",
            batch, forward, bytes / 1e9, bytes / forward / 1e6,
            100 * bytes / forward / 1e6 / bandwidth, whole, batch * 1e6 / whole);
    if (batch == 1 || batch == 8 || batch >= 64)
        print_parts(gpu, &shape);
}

static void
print_prefill(GpuCore *gpu, int n_tokens)
{
    g_autofree int32_t *tokens = g_new(int32_t, n_tokens);
    for (int i = 0; i < n_tokens; i++)
        tokens[i] = (i * 7919 + 13) % (int)gpu->n_vocabulary;
    const GpuPart part = {1, 0, n_tokens, tokens};
    int32_t row = n_tokens - 1;
    SundogShape shape = gpu_core_fill(gpu, &part, 1, &row, 1);
    double us = time_steps(gpu, &shape, false);
    g_print("prefill %5d %10.1f us %10.0f tokens/s\n", n_tokens, us, n_tokens * 1e6 / us);
    print_parts(gpu, &shape);
}

int
main(int argc, char **argv)
{
    static const int batches[] = {1, 4, 8, 16, 32, 64, 128, 256};
    const char *size = argc > 1 ? argv[1] : "8b", *type = argc > 2 ? argv[2] : "bf16";
    double bandwidth = argc > 4 ? atof(argv[4]) : 4.65;
    GpuShape shape = {32, 4096, 14336, 32, 8, 128, 128256, SUNDOG_GGUF_BF16};
    if (strcmp(size, "1b") == 0)
        shape = (GpuShape){16, 2048, 8192, 32, 8, 64, 128256, SUNDOG_GGUF_BF16};
    if (strcmp(type, "q4_1") == 0)
        shape.type = SUNDOG_GGUF_Q4_1;
    if (strcmp(type, "q8_0") == 0)
        shape.type = SUNDOG_GGUF_Q8_0;
    if (argc > 3)
        shape.n_layers = (uint32_t)atoi(argv[3]);
    g_autofree char *folder = g_dir_make_tmp("sundog-bench.XXXXXX", NULL);
    g_autofree char *path = gpu_shape_write(&shape, folder);
    const SundogReplayOptions options = {.pool_pages = MAX_BATCH * PAGES + 1,
                                         .sequence_pages = 2 * PAGES,
                                         .host_set = -1,
                                         .weights_seed = 1,
                                         .is_alike = argc > 5 && strcmp(argv[5], "alike") == 0};
    GpuCore gpu;
    gint64 start = g_get_monotonic_time();
    bool is_exact = argc > 5 && strcmp(argv[5], "exact") == 0;
    gpu_core_open(&gpu, path, GPU_TARGET,
                  is_exact ? SUNDOG_ACTIVATIONS_F32 : SUNDOG_ACTIVATIONS_INT8, &options);
    g_print("# %s %s, %u layers, context %d, prepared and opened in %.1f s\n", size, type,
            shape.n_layers, CONTEXT, (double)(g_get_monotonic_time() - start) / 1e6);
    for (size_t i = 0; i < G_N_ELEMENTS(batches); i++)
        print_batch(&gpu, batches[i], bandwidth);
    print_prefill(&gpu, 512);
    print_prefill(&gpu, 2048);
    gpu_core_close(&gpu);
    g_unlink(path);
    g_rmdir(folder);
    return 0;
}
