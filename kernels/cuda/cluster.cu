/* Sampling with a cluster of blocks a row: for few rows, which leave multiprocessors free. */

#include "kernels/contract/cuda.h"

#define THREADS SUNDOG_CUDA_CLUSTER_THREADS

#include "kernels/cuda/sample-draw.cuh"

#if __CUDA_ARCH__ >= 900
SUNDOG_ENTRY
__cluster_dims__(SUNDOG_CUDA_CLUSTER_BLOCKS, 1, 1) __launch_bounds__(THREADS, 1)
    sundog_sample_cluster(const __grid_constant__ SundogCudaSample p)
{
    __shared__ Room room;
    sample<SUNDOG_CUDA_CLUSTER_BLOCKS>(p, room);
}
#endif
