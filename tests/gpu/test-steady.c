/*
 * The replayer for GPUs without one, on a driver that only counts: once a core is open, steps take no
 * memory, load and capture nothing and wait for no stream; and a driver that fails at any call while the
 * core is opened gives an error and leaves nothing behind.
 */

#include "engine/core/step.h"
#include "engine/prepare/verify.h"
#include "engine/replay/cuda-device.h"
#include "kernels/contract/cubins.h"
#include "kernels/contract/sample.h"
#include "tests/gpu/fake-cuda.h"
#include "tests/gpu/gpu-core.h"

#include <string.h>

#define N_STEPS 10000
#define MAX_BATCH 12
#define PROMPT_EVERY 50

static const SundogReplayOptions options = {
    .pool_pages = 64, .sequence_pages = 4, .host_set = -1, .weights_seed = 1};

static char *
dup_model_path(void)
{
    return g_build_filename(g_getenv("SUNDOG_SOURCE"), "tests", "prepare", "tiny",
                            "q8_0-head-128.gguf", NULL);
}

/* Decoding steps of changing sizes, between them prompts, which are launched directly. */
static void
run_step(GpuCore *gpu, int index)
{
    static const int32_t tokens[64] = {1, 2, 3};
    int32_t rows[MAX_BATCH];
    GpuPart parts[MAX_BATCH];
    int n = index % MAX_BATCH + 1;
    g_autoptr(GError) error = NULL;
    SundogSampling *sampling = sundog_replay_get_buffer(gpu->replay, "sampling");
    int32_t *history = sundog_replay_get_buffer(gpu->replay, "history");
    for (int i = 0; i < n; i++) {
        parts[i] = (GpuPart){1 + i * 2, index % 64, 1, tokens};
        rows[i] = i;
        sampling[i] = (SundogSampling){.top_p = 1, .repetition_penalty = 1};
        history[i] = -1;
    }
    if (index % PROMPT_EVERY == 0) {
        parts[0].n_tokens = G_N_ELEMENTS(tokens);
        rows[0] = G_N_ELEMENTS(tokens) - 1;
        n = 1;
    }
    SundogShape shape = gpu_core_fill(gpu, parts, n, rows, n);
    sundog_replay_run(gpu->replay, SUNDOG_PROGRAM_FORWARD, &shape, &error);
    g_assert_no_error(error);
    sundog_replay_run(gpu->replay, SUNDOG_PROGRAM_SAMPLE, &shape, &error);
    g_assert_no_error(error);
    for (int i = 0; i < n; i++)
        g_assert_cmpint(((int32_t *)sundog_replay_get_buffer(gpu->replay, "token"))[i], ==,
                        FAKE_CUDA_TOKEN);
}

/* A sequence whose every step begins before the token of the last is known. */
static void
run_ahead(GpuCore *gpu)
{
    g_autoptr(GError) error = NULL;
    int32_t token = 1, row = 0;
    SundogSampling *sampling = sundog_replay_get_buffer(gpu->replay, "sampling");
    GpuPart part = {1, 0, 1, &token};
    SundogShape shape = gpu_core_fill(gpu, &part, 1, &row, 1);
    sundog_replay_run(gpu->replay, SUNDOG_PROGRAM_FORWARD, &shape, &error);
    g_assert_no_error(error);
    for (part.start = 1; part.start < 64; part.start++) {
        sampling[0] = (SundogSampling){.top_p = 1, .repetition_penalty = 1};
        sundog_replay_begin_sample(gpu->replay, &shape, &error);
        g_assert_no_error(error);
        token = -1;
        shape = gpu_core_fill(gpu, &part, 1, &row, 1);
        sundog_replay_run(gpu->replay, SUNDOG_PROGRAM_FORWARD, &shape, &error);
        g_assert_no_error(error);
        sundog_replay_end_sample(gpu->replay, &error);
        g_assert_no_error(error);
        g_assert_cmpint(*(int32_t *)sundog_replay_get_buffer(gpu->replay, "token"), ==,
                        FAKE_CUDA_TOKEN);
    }
}

static void
test_steps(void)
{
    static const int allowed[] = {FAKE_CUDA_context_set, FAKE_CUDA_graph_launch, FAKE_CUDA_launch,
                                  FAKE_CUDA_tensor_map_encode, FAKE_CUDA_stream_query};
    unsigned before[FAKE_CUDA_N_FUNCTIONS];
    g_autofree char *path = dup_model_path();
    GpuCore gpu;
    fake_cuda_begin();
    gpu_core_open(&gpu, path, GPU_TARGET, SUNDOG_ACTIVATIONS_F32, &options);
    for (int f = 0; f < FAKE_CUDA_N_FUNCTIONS; f++)
        before[f] = fake_cuda_get_count(f);
    for (int i = 0; i < N_STEPS; i++)
        run_step(&gpu, i);
    unsigned n_graphs =
        fake_cuda_get_count(FAKE_CUDA_graph_launch) - before[FAKE_CUDA_graph_launch];
    run_ahead(&gpu);
    for (int f = 0; f < FAKE_CUDA_N_FUNCTIONS; f++) {
        bool is_allowed = false;
        for (size_t a = 0; a < G_N_ELEMENTS(allowed); a++)
            is_allowed = is_allowed || allowed[a] == f;
        if (!is_allowed && fake_cuda_get_count(f) != before[f])
            g_error("%s was called %u times in %d steps", fake_cuda_names[f],
                    fake_cuda_get_count(f) - before[f], N_STEPS);
    }
    /* A graph for each decoding step and each sampling, and nothing launched beside prompts. */
    g_assert_cmpuint(n_graphs, ==, 2 * N_STEPS - N_STEPS / PROMPT_EVERY);
    gpu_core_close(&gpu);
    g_assert_cmpuint(fake_cuda_get_n_pieces(), ==, 0);
    fake_cuda_end();
}

/* Functions whose failure opening may survive, since nothing depends on them there. */
static bool
is_ignored(int function)
{
    static const int ignored[] = {FAKE_CUDA_device_name, FAKE_CUDA_memory_free, FAKE_CUDA_host_free,
                                  FAKE_CUDA_error_string, FAKE_CUDA_graph_destroy};
    for (size_t i = 0; i < G_N_ELEMENTS(ignored); i++)
        if (ignored[i] == function)
            return true;
    return false;
}

static void
test_failures(void)
{
    g_autofree char *path = dup_model_path();
    unsigned called[FAKE_CUDA_N_FUNCTIONS];
    GpuCore gpu;
    fake_cuda_begin();
    gpu_core_open(&gpu, path, GPU_TARGET, SUNDOG_ACTIVATIONS_F32, &options);
    for (int f = 0; f < FAKE_CUDA_N_FUNCTIONS; f++)
        called[f] = fake_cuda_get_count(f);
    for (int f = 0; f < FAKE_CUDA_N_FUNCTIONS; f++) {
        g_autoptr(GError) error = NULL;
        if (called[f] == 0 || is_ignored(f))
            continue;
        unsigned n_pieces = fake_cuda_get_n_pieces();
        fake_cuda_fail(f);
        SundogReplay *replay = sundog_replay_open(gpu.core, &options, &error);
        if (replay != NULL)
            g_error("opened although %s failed", fake_cuda_names[f]);
        g_assert_nonnull(strstr(error->message, "made to fail"));
        g_assert_cmpuint(fake_cuda_get_n_pieces(), ==, n_pieces);
    }
    fake_cuda_fail(-1);
    gpu_core_close(&gpu);
    fake_cuda_end();
}

/* What doctor tells of a card; a driver that fails says how. */
static void
test_card(void)
{
    static const int asked[] = {FAKE_CUDA_driver_version, FAKE_CUDA_device_count,
                                FAKE_CUDA_device_get,     FAKE_CUDA_device_attribute,
                                FAKE_CUDA_context_retain, FAKE_CUDA_context_set,
                                FAKE_CUDA_memory_info};
    SundogCudaCard card;
    g_autoptr(GError) error = NULL;
    fake_cuda_begin();
    sundog_cuda_card_find(&card, &error);
    g_assert_no_error(error);
    g_assert_cmpstr(card.target, ==, GPU_TARGET);
    g_assert_cmpint(card.major * 10 + card.minor, ==, 90);
    g_assert_cmpuint(card.free_bytes, >, 0);
    for (size_t i = 0; i < G_N_ELEMENTS(asked); i++) {
        g_autoptr(GError) problem = NULL;
        fake_cuda_fail(asked[i]);
        g_assert_false(sundog_cuda_card_find(&card, &problem));
        g_assert_nonnull(strstr(problem->message, "made to fail"));
    }
    g_assert_cmpuint(fake_cuda_get_count(FAKE_CUDA_context_retain), ==,
                     fake_cuda_get_count(FAKE_CUDA_context_release) + 1);
    fake_cuda_end();
}

/* A GPU whose results are all alike is found out; verifying itself goes through. One of the models gives vectors,
 * and does not sample. */
static void
test_verify(gconstpointer name)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *path =
        g_build_filename(g_getenv("SUNDOG_SOURCE"), "tests", "prepare", name, NULL);
    g_auto(SundogVerifyReport) report;
    SundogReplayOptions own = options;
    GpuCore gpu;
    own.sequence_pages = 1;
    fake_cuda_begin();
    gpu_core_open(&gpu, path, GPU_TARGET, SUNDOG_ACTIVATIONS_F32, &own);
    sundog_verify(gpu.core, &(SundogVerifyOptions){.n_threads = 0}, &report, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(report.n_positions, >, 0);
    gpu_core_close(&gpu);
    g_assert_cmpuint(fake_cuda_get_n_pieces(), ==, 0);
    fake_cuda_end();
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    if (sundog_cubin_find(GPU_TARGET, "step") == NULL) {
        g_print("1..0 # SKIP built without kernels for " GPU_TARGET "\n");
        return 0;
    }
    g_test_add_func("/steady/steps", test_steps);
    g_test_add_func("/steady/failures", test_failures);
    g_test_add_func("/steady/card", test_card);
    g_test_add_data_func("/steady/verify/text", "tiny/q8_0-head-128.gguf", test_verify);
    g_test_add_data_func("/steady/verify/vectors", "pooled/bert.gguf", test_verify);
    return g_test_run();
}
