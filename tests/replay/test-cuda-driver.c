/* Replay's declarations of the CUDA driver's interface against the driver's own header. */

#include "engine/replay/cuda-driver.h"
#include "kernels/contract/cuda.h"
#include "tests/replay/cuda-layout.h"

#include <string.h>

static const CudaLayout own_layout[] = {
    {"kernel node", sizeof(SundogCudaKernelNode)},
    {"node shared", offsetof(SundogCudaKernelNode, sharedMemBytes)},
    {"node parameters", offsetof(SundogCudaKernelNode, kernelParams)},
    {"edge", sizeof(SundogCudaEdgeData)},
    {"edge type", offsetof(SundogCudaEdgeData, type)},
    {"launch", sizeof(SundogCudaLaunchConfig)},
    {"launch stream", offsetof(SundogCudaLaunchConfig, hStream)},
    {"launch attributes", offsetof(SundogCudaLaunchConfig, attrs)},
    {"attribute", sizeof(SundogCudaLaunchAttribute)},
    {"attribute value", offsetof(SundogCudaLaunchAttribute, value)},
    {"multiprocessors", SUNDOG_CUDA_ATTRIBUTE_MULTIPROCESSORS},
    {"major", SUNDOG_CUDA_ATTRIBUTE_MAJOR},
    {"minor", SUNDOG_CUDA_ATTRIBUTE_MINOR},
    {"dynamic shared", SUNDOG_CUDA_FUNCTION_MAX_DYNAMIC_SHARED},
    {"carve-out", SUNDOG_CUDA_FUNCTION_SHARED_CARVEOUT},
    {"programmatic launch", SUNDOG_CUDA_LAUNCH_PROGRAMMATIC},
    {"programmatic edge", SUNDOG_CUDA_EDGE_PROGRAMMATIC},
    {"programmatic port", SUNDOG_CUDA_PORT_PROGRAMMATIC},
    {"stream", SUNDOG_CUDA_STREAM_NON_BLOCKING},
    {"event", SUNDOG_CUDA_EVENT_NO_TIMING},
    {"mapped", SUNDOG_CUDA_HOST_PORTABLE_MAPPED},
    {"not ready", SUNDOG_CUDA_NOT_READY},
    {"tensor map", sizeof(SundogCudaTensorMap)},
    {"map of bf16", SUNDOG_CUDA_MAP_BF16},
    {"map's exchange of pieces", SUNDOG_CUDA_MAP_SWIZZLE_128B},
    {"map's reads", SUNDOG_CUDA_MAP_PROMOTE_256B},
};

static void
test_layout(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(own_layout); i++) {
        g_assert_cmpstr(own_layout[i].what, ==, cuda_header_layout[i].what);
        if (own_layout[i].value != cuda_header_layout[i].value)
            g_error("%s: %zu, the header says %zu", own_layout[i].what, own_layout[i].value,
                    cuda_header_layout[i].value);
    }
    g_assert_null(cuda_header_layout[G_N_ELEMENTS(own_layout)].what);
}

/* Where there is no driver, the error says what to do; where there is one, it opens. */
static void
test_open(void)
{
    g_autoptr(GError) error = NULL;
    if (sundog_cuda_driver_get(&error) == NULL)
        g_assert_nonnull(strstr(error->message, "NVIDIA driver"));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/cuda-driver/layout", test_layout);
    g_test_add_func("/cuda-driver/open", test_open);
    return g_test_run();
}
