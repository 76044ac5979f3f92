/* The state of sequences on a GPU, on a driver that only copies: pieces that are copied, read and written in
 * another place keep their bytes in every layer, and one that cannot be is told. */

#include "kernels/contract/cubins.h"
#include "tests/gpu/fake-cuda.h"
#include "tests/gpu/gpu-core.h"

#include <string.h>

typedef struct {
    const char *model;
    SundogStateKind kind;
} Case;

static const Case cases[] = {
    {"q8_0-head-128.gguf", SUNDOG_STATE_PAGES},
    {"lfm2.gguf", SUNDOG_STATE_PAGES},
    {"lfm2.gguf", SUNDOG_STATE_SLOTS},
    {"nemotron_h.gguf", SUNDOG_STATE_SLOTS},
};

static const SundogReplayOptions options = {.pool_pages = 8,
                                            .pool_states = 8,
                                            .sequence_pages = 4,
                                            .host_set = -1,
                                            .poison = true,
                                            .weights_seed = 1};

static uint8_t *
make_bytes(size_t n)
{
    uint8_t *bytes = g_malloc(n);
    for (size_t i = 0; i < n; i++)
        bytes[i] = (uint8_t)g_test_rand_int();
    return bytes;
}

static void
check_copies(SundogReplay *replay, SundogStateKind kind)
{
    size_t n = sundog_replay_get_state_bytes(replay, kind);
    g_assert_cmpuint(n, >, 0);
    g_autofree uint8_t *one = make_bytes(n), *other = make_bytes(n), *found = make_bytes(n);
    g_assert_true(sundog_replay_write_state(replay, kind, 1, one));
    g_assert_true(sundog_replay_write_state(replay, kind, 7, other));
    sundog_replay_copy_state(replay, kind, 1, 2);
    g_assert_true(sundog_replay_write_state(replay, kind, 1, other));
    g_assert_true(sundog_replay_read_state(replay, kind, 2, found));
    g_assert_cmpmem(found, n, one, n);
    g_assert_true(sundog_replay_read_state(replay, kind, 7, found));
    g_assert_cmpmem(found, n, other, n);
}

static void
check_failures(SundogReplay *replay, SundogStateKind kind)
{
    static const int reading[] = {FAKE_CUDA_copy_to_host, FAKE_CUDA_stream_synchronize};
    static const int writing[] = {FAKE_CUDA_copy_to_device, FAKE_CUDA_stream_synchronize};
    g_autofree uint8_t *bytes = make_bytes(sundog_replay_get_state_bytes(replay, kind));
    for (int i = 0; i < 2; i++) {
        fake_cuda_fail(reading[i]);
        g_assert_false(sundog_replay_read_state(replay, kind, 1, bytes));
        fake_cuda_fail(writing[i]);
        g_assert_false(sundog_replay_write_state(replay, kind, 1, bytes));
    }
    fake_cuda_fail(-1);
}

static void
test_case(gconstpointer data)
{
    const Case *test = data;
    g_autofree char *path =
        g_build_filename(g_getenv("SUNDOG_SOURCE"), "tests", "prepare", "tiny", test->model, NULL);
    GpuCore gpu;
    fake_cuda_begin();
    gpu_core_open(&gpu, path, GPU_TARGET, SUNDOG_ACTIVATIONS_F32, &options);
    check_copies(gpu.replay, test->kind);
    check_failures(gpu.replay, test->kind);
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
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *path = g_strdup_printf("/gpu-state/%zu/%s", i, cases[i].model);
        g_test_add_data_func(path, &cases[i], test_case);
    }
    return g_test_run();
}
