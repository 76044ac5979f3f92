/* pool: pool.h. A block has a stretch of columns of one sequence, a thread a column, so that sums have the
 * contract's order. */

#include "kernels/contract/pool.h"
#include "kernels/cuda/device.cuh"

SUNDOG_ENTRY
sundog_pool(const __grid_constant__ SundogCudaPool p)
{
    start_dependents();
    wait_for_predecessor();
    const int32_t *rows = (const int32_t *)p.first_row + blockIdx.x;
    int begin = __ldcg(rows), end = __ldcg(rows + 1);
    int k = blockIdx.y * blockDim.x + threadIdx.x;
    const float *x = (const float *)p.x + k;
    bool is_there = begin >= 0 && begin < end && end <= p.n_tokens;
    float value = NAN;
    if (k >= p.n_columns)
        return;
    if (is_there && p.pooling == SUNDOG_POOL_MEAN) {
        value = 0;
        for (int row = begin; row < end; row++)
            value += __ldcg(x + (size_t)row * p.n_columns);
        value *= 1.0f / (float)(end - begin);
    } else if (is_there) {
        int row = p.pooling == SUNDOG_POOL_FIRST ? begin : end - 1;
        value = __ldcg(x + (size_t)row * p.n_columns);
    }
    ((float *)p.y)[(size_t)blockIdx.x * p.n_columns + k] = value;
}
