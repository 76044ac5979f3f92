/* As the driver's header says. */

#include "tests/replay/cuda-layout.h"

#include <cuda.h>

const CudaLayout cuda_header_layout[] = {
    {"kernel node", sizeof(CUDA_KERNEL_NODE_PARAMS)},
    {"node shared", offsetof(CUDA_KERNEL_NODE_PARAMS, sharedMemBytes)},
    {"node parameters", offsetof(CUDA_KERNEL_NODE_PARAMS, kernelParams)},
    {"edge", sizeof(CUgraphEdgeData)},
    {"edge type", offsetof(CUgraphEdgeData, type)},
    {"launch", sizeof(CUlaunchConfig)},
    {"launch stream", offsetof(CUlaunchConfig, hStream)},
    {"launch attributes", offsetof(CUlaunchConfig, attrs)},
    {"attribute", sizeof(CUlaunchAttribute)},
    {"attribute value", offsetof(CUlaunchAttribute, value)},
    {"multiprocessors", CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT},
    {"major", CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR},
    {"minor", CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR},
    {"dynamic shared", CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES},
    {"carve-out", CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT},
    {"programmatic launch", CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION},
    {"programmatic edge", CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC},
    {"programmatic port", CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC},
    {"stream", CU_STREAM_NON_BLOCKING},
    {"event", CU_EVENT_DISABLE_TIMING},
    {"mapped", CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP},
    {"not ready", CUDA_ERROR_NOT_READY},
    {"tensor map", sizeof(CUtensorMap)},
    {"map of bf16", CU_TENSOR_MAP_DATA_TYPE_BFLOAT16},
    {"map's exchange of pieces", CU_TENSOR_MAP_SWIZZLE_128B},
    {"map's reads", CU_TENSOR_MAP_L2_PROMOTION_L2_256B},
    {NULL, 0},
};
