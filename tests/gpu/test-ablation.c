/* Leaving operations out in turn, on a driver that only counts: every kind that the program has is tried,
 * directly launched, and nothing of the device is held afterwards. */

#include "engine/command/ablation.h"
#include "kernels/contract/cubins.h"
#include "tests/gpu/fake-cuda.h"
#include "tests/gpu/gpu-core.h"

static const SundogReplayOptions options = {
    .pool_pages = 64, .sequence_pages = 4, .host_set = -1, .weights_seed = 1};

static void
open_core(GpuCore *gpu, const char *target)
{
    g_autofree char *path = g_build_filename(g_getenv("SUNDOG_SOURCE"), "tests", "prepare", "tiny",
                                             "q8_0-head-128.gguf", NULL);
    gpu_core_open(gpu, path, target, SUNDOG_ACTIVATIONS_F32, &options);
}

static void
test_gpu(void)
{
    g_autoptr(GError) error = NULL;
    SundogAblation ablation;
    GpuCore gpu;
    fake_cuda_begin();
    open_core(&gpu, GPU_TARGET);
    unsigned n_pieces = fake_cuda_get_n_pieces();
    unsigned n_launches = fake_cuda_get_count(FAKE_CUDA_launch);
    g_assert_true(sundog_ablation_measure(gpu.core, &ablation, &error));
    g_assert_no_error(error);
    g_assert_cmpuint(ablation.n_calls[SUNDOG_OP_ATTENTION], >, 0);
    g_assert_cmpuint(ablation.n_calls[SUNDOG_OP_SAMPLE], ==, 0);
    g_assert_cmpuint(fake_cuda_get_count(FAKE_CUDA_launch), >, n_launches);
    g_assert_cmpuint(fake_cuda_get_n_pieces(), ==, n_pieces);
    gpu_core_close(&gpu);
    fake_cuda_end();
}

static void
test_host(void)
{
    g_autoptr(GError) error = NULL;
    SundogAblation ablation;
    GpuCore host;
    open_core(&host, SUNDOG_CORE_TARGET_HOST);
    g_assert_false(sundog_ablation_measure(host.core, &ablation, &error));
    g_assert_error(error, SUNDOG_REPLAY_ERROR, SUNDOG_REPLAY_ERROR_DEVICE);
    gpu_core_close(&host);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ablation/host", test_host);
    if (sundog_cubin_find(GPU_TARGET, "step") != NULL)
        g_test_add_func("/ablation/gpu", test_gpu);
    return g_test_run();
}
