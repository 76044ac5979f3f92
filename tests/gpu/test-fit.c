/*
 * Fits of cores for a GPU: which sizes are worth a graph, on times that are made up; measuring itself, and a card's
 * ceilings, on a driver that only counts; and what is kept of a fit, as the words that an engine is started with.
 */

#include "engine/library/fit-file.h"
#include "engine/library/paths.h"
#include "engine/prepare/fit.h"
#include "engine/replay/cuda-ceilings.h"
#include "kernels/contract/cubins.h"
#include "tests/gpu/fake-cuda.h"
#include "tests/gpu/gpu-core.h"

#include <string.h>

static const SundogReplayOptions options = {
    .pool_pages = 64, .sequence_pages = 4, .host_set = -1, .weights_seed = 1};

static void
check_ladder(const double *us, uint32_t n, const int32_t *expected, uint32_t n_expected)
{
    SundogFit fit = {.n_rungs = n};
    int32_t ladder[SUNDOG_REPLAY_MAX_RUNGS];
    for (uint32_t i = 0; i < n; i++)
        fit.rungs[i] = (SundogFitRung){.n_sequences = 1 + (int32_t)i, .us = us[i]};
    sundog_fit_choose(&fit);
    g_assert_cmpuint(sundog_fit_get_ladder(&fit, ladder), ==, n_expected);
    for (uint32_t i = 0; i < n_expected; i++)
        g_assert_cmpint(ladder[i], ==, expected[i]);
}

/* One that is slower than a larger one, or hardly faster, is left out: its steps run as the larger. */
static void
test_choose(void)
{
    check_ladder((const double[]){10, 20, 30, 40}, 4, (const int32_t[]){1, 2, 3, 4}, 4);
    check_ladder((const double[]){10, 10, 10, 10}, 4, (const int32_t[]){4}, 1);
    check_ladder((const double[]){10, 50, 30, 40}, 4, (const int32_t[]){1, 3, 4}, 3);
    check_ladder((const double[]){39, 39.5, 39.9, 40}, 4, (const int32_t[]){1, 4}, 2);
    check_ladder((const double[]){70, 60, 50, 40}, 4, (const int32_t[]){4}, 1);
    check_ladder((const double[]){5}, 1, (const int32_t[]){1}, 1);
}

static void
open_core(GpuCore *gpu)
{
    g_autofree char *path = g_build_filename(g_getenv("SUNDOG_SOURCE"), "tests", "prepare", "tiny",
                                             "q8_0-head-128.gguf", NULL);
    gpu_core_open(gpu, path, GPU_TARGET, SUNDOG_ACTIVATIONS_F32, &options);
}

static void
check_measured(GpuCore *gpu, bool is_alike)
{
    g_autoptr(GError) error = NULL;
    SundogFit fit;
    int32_t ladder[SUNDOG_REPLAY_MAX_RUNGS];
    const SundogFitOptions how = {.is_alike = is_alike};
    unsigned n_pieces = fake_cuda_get_n_pieces();
    sundog_fit_measure(gpu->core, &how, &fit, &error);
    g_assert_no_error(error);
    g_assert_cmpint(fit.rungs[0].n_sequences, ==, 1);
    g_assert_cmpint(fit.rungs[fit.n_rungs - 1].n_sequences, ==, 256);
    for (uint32_t i = 1; i < fit.n_rungs; i++)
        g_assert_cmpint(fit.rungs[i].n_sequences, >, fit.rungs[i - 1].n_sequences);
    for (uint32_t i = 0; i < fit.n_rungs; i++)
        g_assert_cmpfloat(fit.rungs[i].us, >=, 0);
    g_assert_true(fit.rungs[fit.n_rungs - 1].is_kept);
    g_assert_cmpint(fit.is_alike, ==, is_alike);
    uint32_t n = sundog_fit_get_ladder(&fit, ladder);
    g_assert_cmpuint(fake_cuda_get_n_pieces(), ==, n_pieces);

    /* It is what a replay takes. */
    SundogReplayOptions fitted = options;
    fitted.ladder = ladder;
    fitted.n_rungs = n;
    fitted.is_alike = is_alike;
    unsigned n_graphs = fake_cuda_get_count(FAKE_CUDA_graph_instantiate);
    g_autoptr(SundogReplay) replay = sundog_replay_open(gpu->core, &fitted, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(fake_cuda_get_count(FAKE_CUDA_graph_instantiate) - n_graphs, ==, 2 * n);
}

static void
test_measure(void)
{
    GpuCore gpu;
    fake_cuda_begin();
    open_core(&gpu);
    check_measured(&gpu, false);
    check_measured(&gpu, true);
    gpu_core_close(&gpu);
    g_assert_cmpuint(fake_cuda_get_n_pieces(), ==, 0);
    fake_cuda_end();
}

static void
test_cancelled(void)
{
    GpuCore gpu;
    SundogFit fit;
    g_autoptr(GError) error = NULL;
    g_autoptr(GCancellable) cancellable = g_cancellable_new();
    fake_cuda_begin();
    open_core(&gpu);
    g_cancellable_cancel(cancellable);
    g_assert_false(sundog_fit_measure(gpu.core, &(SundogFitOptions){.cancellable = cancellable},
                                      &fit, &error));
    g_assert_error(error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
    gpu_core_close(&gpu);
    g_assert_cmpuint(fake_cuda_get_n_pieces(), ==, 0);
    fake_cuda_end();
}

/* Any call that fails ends the measuring, with nothing left behind. */
static void
test_ceilings(void)
{
    static const int asked[] = {FAKE_CUDA_device_get,      FAKE_CUDA_context_retain,
                                FAKE_CUDA_module_load,     FAKE_CUDA_module_function,
                                FAKE_CUDA_stream_create,   FAKE_CUDA_memory_allocate,
                                FAKE_CUDA_memory_set,      FAKE_CUDA_launch,
                                FAKE_CUDA_graph_create,    FAKE_CUDA_graph_add_kernel,
                                FAKE_CUDA_graph_add_edges, FAKE_CUDA_graph_instantiate,
                                FAKE_CUDA_graph_launch,    FAKE_CUDA_stream_synchronize};
    SundogCudaCeilings ceilings;
    g_autoptr(GError) error = NULL;
    fake_cuda_begin();
    fake_cuda_set_free_bytes(1 << 20);
    sundog_cuda_ceilings_measure(&ceilings, &error);
    g_assert_no_error(error);
    g_assert_cmpfloat(ceilings.read_bytes_per_second, >, 0);
    for (size_t i = 0; i < G_N_ELEMENTS(asked); i++) {
        g_autoptr(GError) problem = NULL;
        fake_cuda_fail(asked[i]);
        g_assert_false(sundog_cuda_ceilings_measure(&ceilings, &problem));
        g_assert_nonnull(strstr(problem->message, "made to fail"));
        g_assert_cmpuint(fake_cuda_get_n_pieces(), ==, 0);
    }
    g_assert_cmpuint(fake_cuda_get_count(FAKE_CUDA_context_retain), ==,
                     fake_cuda_get_count(FAKE_CUDA_context_release) + 1);
    fake_cuda_end();
}

static void
test_file(void)
{
    static const SundogFitFileRung rungs[] = {{1, 10, true}, {2, 20, false}, {4, 19, true}};
    g_autoptr(GError) error = NULL;
    SundogFitFileGpu gpu = {.is_alike = true,
                            .n_context = 1024,
                            .rungs = rungs,
                            .n_rungs = G_N_ELEMENTS(rungs),
                            .prompt_tokens = 1024,
                            .prompt_us = 100};
    const SundogFitFile fit = {.core = "small", .created = "today", .device = "gpu", .gpu = &gpu};
    g_auto(GStrv) before = sundog_fit_file_dup_arguments("small", "today");
    g_assert_cmpuint(g_strv_length(before), ==, 0);
    sundog_fit_file_write(&fit, &error);
    g_assert_no_error(error);
    g_auto(GStrv) words = sundog_fit_file_dup_arguments("small", "today");
    g_autofree char *line = g_strjoinv(" ", words);
    g_assert_cmpstr(line, ==, "--ladder 1,4 --alike");
    g_auto(GStrv) others = sundog_fit_file_dup_arguments("small", "yesterday");
    g_assert_cmpuint(g_strv_length(others), ==, 0);
}

/* Damaged files choose nothing. */
static void
test_damaged(void)
{
    static const char *const damaged[] = {
        "",
        "[]",
        "{",
        "{\"version\": 1, \"created\": \"\", \"gpu\": 7}",
        "{\"version\": 1, \"created\": \"\", \"gpu\": {\"rungs\": [7, {\"sequences\": 1}]}}",
        "{\"version\": 1, \"created\": \"\", \"gpu\": {\"rungs\": [{\"sequences\": 2, \"kept\": "
        "true},"
        "{\"sequences\": 1, \"kept\": true}], \"deterministic\": \"yes\"}}",
        "{\"version\": 1, \"created\": \"\", \"gpu\": {\"rungs\": [{\"sequences\": 1e300}]}}"};
    g_autofree char *path =
        g_build_filename(sundog_paths_get_cache(), "fits", "damaged.json", NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(damaged); i++) {
        g_autoptr(GError) error = NULL;
        g_file_set_contents(path, damaged[i], -1, &error);
        g_assert_no_error(error);
        g_auto(GStrv) words = sundog_fit_file_dup_arguments("damaged", NULL);
        g_assert_cmpuint(g_strv_length(words), ==, 0);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/fit/choose", test_choose);
    g_test_add_func("/fit/file", test_file);
    g_test_add_func("/fit/damaged", test_damaged);
    if (sundog_cubin_find(GPU_TARGET, "measure") != NULL) {
        g_test_add_func("/fit/measure", test_measure);
        g_test_add_func("/fit/cancelled", test_cancelled);
        g_test_add_func("/fit/ceilings", test_ceilings);
    }
    return g_test_run();
}
