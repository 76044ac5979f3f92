/* attention.h for heads of any size, with windows, chunks, soft caps and sinks: a block a row and a head, whose
 * warps share out the pages and merge what each has found in the order of warps. A page's scores are two
 * positions a lane, its values a lane's share of the head. The kernels of attention.cu and flash.cu, for the
 * sizes that they know, are faster. */

#include "kernels/cuda/device.cuh"

#include "kernels/contract/attention.h"
#include "kernels/contract/math.h"

#include <float.h>

#define PAGE SUNDOG_PAGE_TOKENS
#define WARPS (SUNDOG_CUDA_ATTEND_THREADS / 32)
#define LANE ((int)threadIdx.x % 32)
#define WARP ((int)threadIdx.x / 32)

/* A row and a head: what it sees, and where its group's pages lie. */
struct Task {
    int sequence, row, position, head;
    int begin; /* the first position that it sees */
};

/* What has been found in some pages: the greatest score, and sums of weights and values by it. */
template <int SHARE> struct Found {
    float greatest, sum, values[SHARE];
};

INLINE bool
find_task(const SundogCudaAttend &p, Task *task)
{
    const int32_t *tile = (const int32_t *)p.tiles + (blockIdx.x + 1) * 4;
    if ((int)blockIdx.y >= __ldcg(tile + 2))
        return false;
    task->sequence = __ldcg(tile);
    task->row = __ldcg(tile + 1) + blockIdx.y;
    task->position = __ldcg(tile + 3) + blockIdx.y;
    task->head = blockIdx.z;
    task->begin = p.window > 0 ? max(task->position - p.window + 1, 0) : 0;
    if (p.chunk > 0)
        task->begin = max(task->begin, task->position / p.chunk * p.chunk);
    return true;
}

INLINE float
warp_max(float value)
{
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2)
        value = fmaxf(value, __shfl_xor_sync(~0u, value, distance));
    return value;
}

/* Of positions 2 lane and the next of a page, whose keys lie dimension by dimension. */
INLINE float2
find_scores(const SundogCudaAttend &p, const float *q, const uint16_t *keys)
{
    float2 scores = make_float2(0, 0);
#pragma unroll 8
    for (int d = 0; d < p.head_dim; d++) {
        uint32_t pair = __ldcg((const uint32_t *)(keys + d * PAGE) + LANE);
        scores.x = fmaf(q[d], from_bf16((uint16_t)pair), scores.x);
        scores.y = fmaf(q[d], from_bf16((uint16_t)(pair >> 16)), scores.y);
    }
    if (p.softcap > 0) {
        scores.x = p.softcap * sundog_tanh(scores.x / p.softcap);
        scores.y = p.softcap * sundog_tanh(scores.y / p.softcap);
    }
    return scores;
}

template <int SHARE>
INLINE void
attend_page(const SundogCudaAttend &p, const Task &task, const float *q, int index,
            Found<SHARE> &found)
{
    int page =
        __ldcg((const int32_t *)p.page_table + (size_t)task.sequence * p.sequence_pages + index);
    int group = task.head / (p.n_heads / p.n_kv_heads), first = index * PAGE;
    size_t base = ((size_t)page * p.n_kv_heads + group) * p.head_dim * PAGE;
    const uint16_t *values = (const uint16_t *)p.v_pages + base;
    int begin = max(task.begin - first, 0), end = min(task.position - first + 1, PAGE);
    float2 scores = find_scores(p, q, (const uint16_t *)p.k_pages + base);
    bool sees_x = LANE * 2 >= begin && LANE * 2 < end;
    bool sees_y = LANE * 2 + 1 >= begin && LANE * 2 + 1 < end;
    float greatest = warp_max(fmaxf(sees_x ? scores.x : -INFINITY, sees_y ? scores.y : -INFINITY));
    greatest = fmaxf(greatest, found.greatest);
    float before = sundog_exp(found.greatest - greatest);
    float x = sees_x ? sundog_exp(scores.x - greatest) : 0.0f;
    float y = sees_y ? sundog_exp(scores.y - greatest) : 0.0f;
    found.greatest = greatest;
    found.sum = found.sum * before + warp_sum(x + y);
#pragma unroll
    for (int i = 0; i < SHARE; i++)
        found.values[i] *= before;
    for (int n = begin; n < end; n++) {
        float weight = __shfl_sync(~0u, n % 2 == 0 ? x : y, n / 2);
#pragma unroll
        for (int i = 0; i < SHARE; i++) {
            int d = LANE + i * 32;
            if (d < p.head_dim)
                found.values[i] =
                    fmaf(weight, from_bf16(__ldcg(values + n * p.head_dim + d)), found.values[i]);
        }
    }
}

/* Of a head of at most 32 SHARE dimensions. */
template <int SHARE>
INLINE void
run_attend(const SundogCudaAttend &p)
{
    __shared__ float q[SHARE * 32], parts[WARPS][SHARE * 32], greatest[WARPS], sums[WARPS];
    Task task;
    Found<SHARE> found = {-FLT_MAX, 0, {}};
    start_dependents();
    wait_for_predecessor();
    if (!find_task(p, &task))
        return;
    const float *row = (const float *)p.qkv + (size_t)task.row * p.n_columns;
    for (int d = threadIdx.x; d < p.head_dim; d += blockDim.x)
        q[d] = __ldcg(row + task.head * p.head_dim + d) * p.scale;
    __syncthreads();
    for (int index = task.begin / PAGE + WARP; index <= task.position / PAGE; index += WARPS)
        attend_page<SHARE>(p, task, q, index, found);
#pragma unroll
    for (int i = 0; i < SHARE; i++)
        parts[WARP][LANE + i * 32] = found.values[i];
    if (LANE == 0) {
        greatest[WARP] = found.greatest;
        sums[WARP] = found.sum;
    }
    __syncthreads();
    float sink = p.sinks != NULL ? ((const float *)p.sinks)[task.head] : -FLT_MAX, most = sink;
    for (int warp = 0; warp < WARPS; warp++)
        most = fmaxf(most, greatest[warp]);
    float sum = p.sinks != NULL ? sundog_exp(sink - most) : 0.0f;
    for (int warp = 0; warp < WARPS; warp++)
        sum = fmaf(sums[warp], sundog_exp(greatest[warp] - most), sum);
    uint16_t *o = (uint16_t *)p.o + ((size_t)task.row * p.n_heads + task.head) * p.head_dim;
    for (int d = threadIdx.x; d < p.head_dim; d += blockDim.x) {
        float value = 0;
        for (int warp = 0; warp < WARPS; warp++)
            value = fmaf(parts[warp][d], sundog_exp(greatest[warp] - most), value);
        o[d] = to_bf16(value * (1.0f / sum));
    }
}

#define ENTRY(share)                                                      \
    SUNDOG_ENTRY __launch_bounds__(SUNDOG_CUDA_ATTEND_THREADS)            \
        sundog_attend_##share(const __grid_constant__ SundogCudaAttend p) \
    {                                                                     \
        run_attend<share>(p);                                             \
    }

ENTRY(2)
ENTRY(4)
ENTRY(8)
ENTRY(16)
