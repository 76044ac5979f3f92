/*
 * How long a core of Llama-3.1-8B's shape, 16 GB in bf16, takes from the page cache to a GPU that can run
 * it: bench-load [LAYERS]. The folder for temporary files must have room for it. Prints the rate of the
 * weights alone, what comes after them (graphs), and the first token.
 */

#include "engine/core/step.h"
#include "engine/format/gguf.h"
#include "kernels/contract/sample.h"
#include "tests/gpu/gpu-core.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <stdlib.h>
#include <unistd.h>

#define N_WRITERS 8
#define PIECE_BYTES ((uint64_t)16 << 20)
#define N_RUNS 3

typedef struct {
    int file;
    uint64_t n_bytes;
    uint64_t begin; /* of this writer's first piece */
} Writer;

typedef struct {
    gint64 first_us; /* weights are being read */
    gint64 last_us;  /* all have been */
} Times;

static gpointer
write_pieces(gpointer data)
{
    const Writer *writer = data;
    g_autofree uint8_t *piece = g_malloc(PIECE_BYTES);
    for (uint64_t i = 0; i < PIECE_BYTES; i++)
        piece[i] = (uint8_t)(i * 167 >> 3) & 0x3f;
    for (uint64_t at = writer->begin; at < writer->n_bytes; at += N_WRITERS * PIECE_BYTES) {
        size_t n = MIN(PIECE_BYTES, writer->n_bytes - at);
        g_assert_cmpint(pwrite(writer->file, piece, n, (off_t)at), ==, (ssize_t)n);
    }
    return NULL;
}

/* The hole becomes pages that are there. */
static void
fill_weights(const GpuCore *gpu)
{
    g_autofree char *path = g_build_filename(gpu->folder, "core", SUNDOG_CORE_WEIGHTS, NULL);
    Writer writers[N_WRITERS];
    GThread *threads[N_WRITERS];
    int file = g_open(path, O_WRONLY, 0);
    g_assert_cmpint(file, >=, 0);
    for (int i = 0; i < N_WRITERS; i++) {
        writers[i] = (Writer){file, sundog_core_get_info(gpu->core)->weight_bytes,
                              (uint64_t)i * PIECE_BYTES};
        threads[i] = g_thread_new("writer", write_pieces, &writers[i]);
    }
    for (int i = 0; i < N_WRITERS; i++)
        g_thread_join(threads[i]);
    close(file);
}

static void
note_progress(double fraction, void *data)
{
    Times *times = data;
    times->last_us = g_get_monotonic_time();
    if (times->first_us == 0)
        times->first_us = times->last_us;
}

static void
run_one_token(GpuCore *gpu)
{
    g_autoptr(GError) error = NULL;
    static const int32_t token = 1;
    const GpuPart part = {1, 0, 1, &token};
    const int32_t row = 0;
    SundogShape shape = gpu_core_fill(gpu, &part, 1, &row, 1);
    SundogSampling *sampling = sundog_replay_get_buffer(gpu->replay, "sampling");
    sampling[0] = (SundogSampling){.top_p = 1, .repetition_penalty = 1};
    sundog_replay_run(gpu->replay, SUNDOG_PROGRAM_FORWARD, &shape, &error);
    g_assert_no_error(error);
    sundog_replay_run(gpu->replay, SUNDOG_PROGRAM_SAMPLE, &shape, &error);
    g_assert_no_error(error);
}

static void
time_opening(GpuCore *gpu, SundogReplayOptions options)
{
    g_autoptr(GError) error = NULL;
    Times times = {0};
    double n_bytes = (double)sundog_core_get_info(gpu->core)->weight_bytes;
    options.weights_seed = 0;
    options.progress = note_progress;
    options.data = &times;
    gint64 start_us = g_get_monotonic_time();
    gpu->replay = sundog_replay_open(gpu->core, &options, &error);
    g_assert_no_error(error);
    gint64 opened_us = g_get_monotonic_time();
    run_one_token(gpu);
    g_print(
        "before weights %6.1f ms; weights %7.1f ms, %4.1f GB/s; after them %6.1f ms; first token "
        "%6.1f ms; in all %7.1f ms\n",
        (double)(times.first_us - start_us) / 1e3, (double)(times.last_us - times.first_us) / 1e3,
        n_bytes / (double)(times.last_us - times.first_us) / 1e3,
        (double)(opened_us - times.last_us) / 1e3,
        (double)(g_get_monotonic_time() - opened_us) / 1e3,
        (double)(g_get_monotonic_time() - start_us) / 1e3);
}

int
main(int argc, char **argv)
{
    GpuShape shape = {32, 4096, 14336, 32, 8, 128, 128256, SUNDOG_GGUF_BF16};
    if (argc > 1)
        shape.n_layers = (uint32_t)atoi(argv[1]);
    g_autofree char *folder = g_dir_make_tmp("sundog-bench.XXXXXX", NULL);
    g_autofree char *path = gpu_shape_write(&shape, folder);
    const SundogReplayOptions options = {
        .pool_pages = 256, .sequence_pages = 32, .host_set = -1, .weights_seed = 1};
    GpuCore gpu;
    gpu_core_open(&gpu, path, GPU_TARGET, SUNDOG_ACTIVATIONS_F32, &options);
    fill_weights(&gpu);
    for (int i = 0; i < N_RUNS; i++) {
        g_clear_pointer(&gpu.replay, sundog_replay_close);
        time_opening(&gpu, options);
    }
    gpu_core_close(&gpu);
    g_unlink(path);
    g_rmdir(folder);
    return 0;
}
