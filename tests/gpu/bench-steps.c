/*
 * What lies between two decoding steps on a GPU, random weights of a 1B's shape: 10,000 steps whose tokens
 * the host reads, each begun when the last was read, or while it was being sampled; beside them steps whose
 * tokens nobody reads, which the device runs back to back. Device memory must stay as it was.
 */

#include "engine/core/step.h"
#include "engine/format/gguf.h"
#include "engine/replay/cuda-device.h"
#include "kernels/contract/sample.h"
#include "tests/gpu/gpu-core.h"

#include <glib/gstdio.h>

#define N_STEPS 10000
#define CONTEXT 1024
#define PAGES (CONTEXT / 64 + 1)
#define MAX_BATCH 64

typedef enum { READ_BEFORE, READ_AHEAD, READ_NEVER } Way;

static GpuCore gpu;

static SundogShape
fill(int batch, int32_t token)
{
    static int32_t tokens[MAX_BATCH], rows[MAX_BATCH];
    GpuPart parts[MAX_BATCH];
    for (int i = 0; i < batch; i++) {
        tokens[i] = token < 0 ? -1 - i : token;
        rows[i] = i;
        parts[i] = (GpuPart){1 + i * PAGES, CONTEXT, 1, &tokens[i]};
    }
    return gpu_core_fill(&gpu, parts, batch, rows, batch);
}

static void
begin(const SundogShape *shape, bool samples)
{
    g_autoptr(GError) error = NULL;
    bool ok = samples ? sundog_replay_begin_sample(gpu.replay, shape, &error)
                      : sundog_replay_run(gpu.replay, SUNDOG_PROGRAM_FORWARD, shape, &error);
    g_assert_no_error(error);
    g_assert_true(ok);
}

static void
read_tokens(void)
{
    g_autoptr(GError) error = NULL;
    sundog_replay_end_sample(gpu.replay, &error);
    g_assert_no_error(error);
}

static double
time_steps(int batch, Way way, int n_steps)
{
    SundogSampling *sampling = sundog_replay_get_buffer(gpu.replay, "sampling");
    for (int i = 0; i < batch; i++)
        sampling[i] = (SundogSampling){.top_p = 1, .repetition_penalty = 1};
    SundogShape shape = fill(batch, 1);
    begin(&shape, false);
    gint64 start_us = g_get_monotonic_time();
    for (int i = 0; i < n_steps; i++) {
        begin(&shape, true);
        if (way == READ_BEFORE)
            read_tokens();
        shape = fill(batch, way == READ_BEFORE ? 1 : -1);
        begin(&shape, false);
        if (way == READ_AHEAD)
            read_tokens();
    }
    begin(&shape, true);
    read_tokens();
    return (double)(g_get_monotonic_time() - start_us) / n_steps;
}

static uint64_t
find_free_bytes(void)
{
    SundogCudaCard card;
    g_autoptr(GError) error = NULL;
    sundog_cuda_card_find(&card, &error);
    g_assert_no_error(error);
    return card.free_bytes;
}

int
main(void)
{
    static const int batches[] = {1, 8, MAX_BATCH};
    const GpuShape shape = {16, 2048, 8192, 32, 8, 64, 128256, SUNDOG_GGUF_BF16};
    g_autofree char *folder = g_dir_make_tmp("sundog-bench.XXXXXX", NULL);
    g_autofree char *path = gpu_shape_write(&shape, folder);
    const SundogReplayOptions options = {.pool_pages = MAX_BATCH * PAGES + 1,
                                         .sequence_pages = 2 * PAGES,
                                         .host_set = -1,
                                         .weights_seed = 1};
    gpu_core_open(&gpu, path, GPU_TARGET, SUNDOG_ACTIVATIONS_F32, &options);
    time_steps(1, READ_AHEAD, 100);
    uint64_t before = find_free_bytes();
    for (size_t i = 0; i < G_N_ELEMENTS(batches); i++) {
        int n = N_STEPS / (batches[i] > 1 ? 10 : 1);
        double alone = time_steps(batches[i], READ_NEVER, N_STEPS / 10);
        double ahead = time_steps(batches[i], READ_AHEAD, n);
        double waits = time_steps(batches[i], READ_BEFORE, N_STEPS / 10);
        g_print(
            "batch %3d, %5d steps: %8.2f us back to back, %8.2f (+%.2f) begun ahead, %8.2f (+%.2f) "
            "begun after\n",
            batches[i], n, alone, ahead, ahead - alone, waits, waits - alone);
    }
    g_print("device memory taken meanwhile: %" G_GINT64_FORMAT " bytes\n",
            (gint64)(before - find_free_bytes()));
    gpu_core_close(&gpu);
    g_unlink(path);
    g_rmdir(folder);
    return 0;
}
