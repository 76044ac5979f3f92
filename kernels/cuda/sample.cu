/* Sampling with a block a row: for many rows, and for all on targets without clusters. */

#include "kernels/contract/cuda.h"

#define THREADS SUNDOG_CUDA_SAMPLE_THREADS

#include "kernels/cuda/sample-draw.cuh"

SUNDOG_ENTRY
__launch_bounds__(THREADS, 1) sundog_sample(const __grid_constant__ SundogCudaSample p)
{
    __shared__ Room room;
    sample<1>(p, room);
}
