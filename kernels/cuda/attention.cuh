#pragma once

/* What the kernels of attention and of rope_cache share: angles, where pages are, which work a block has. */

#include "kernels/contract/attention.h"
#include "kernels/contract/math.h"
#include "kernels/cuda/device.cuh"

#define PAGE SUNDOG_PAGE_TOKENS

template <class Parameters>
INLINE int
find_page(const Parameters &p, int sequence, int index)
{
    return __ldcg((const int32_t *)p.page_table + (size_t)sequence * p.sequence_pages + index);
}

/* Sine and cosine of pair i at a position, times the magnitude. */
template <class Parameters>
INLINE void
find_angle(const Parameters &p, int position, int i, float *sine, float *cosine)
{
    sundog_sin_cos((float)position * ((const float *)p.inverse_frequencies)[i], sine, cosine);
    *sine *= p.magnitude;
    *cosine *= p.magnitude;
}

/* One block's work: pairs of a row of the tile and a head of the group. */
struct Task {
    int sequence, first_row, n_rows, position; /* the tile */
    int group, per_group;
    int first_page, end_page;
    int n_pairs;
    int first_pair; /* of this block */
    int last;       /* the tile's last position */
};

/* The block's tile is `index` in the list; its group and its pairs come from blockIdx.y, its pages from
 * blockIdx.z. False where it has none. */
INLINE bool
find_task(const SundogCudaAttention &p, int index, int block_pairs, Task &task)
{
    int n_tiles = __ldcg((const int32_t *)p.tiles);
    task = {};
    if (index < 0 || index >= n_tiles)
        return false;
    int4 tile = __ldcg((const int4 *)p.tiles + 1 + index);
    task.sequence = tile.x;
    task.first_row = tile.y;
    task.n_rows = tile.z;
    task.position = tile.w;
    task.per_group = p.n_heads / p.n_kv_heads;
    task.group = blockIdx.y % p.n_kv_heads;
    task.n_pairs = task.n_rows * task.per_group;
    task.first_pair = blockIdx.y / p.n_kv_heads * block_pairs;
    task.last = task.position + task.n_rows - 1;
    int n_pages = task.last / PAGE + 1;
    /* The last stretch, which the new row comes to, is one of the shortest. */
    task.first_page = (n_pages * (int)blockIdx.z + p.n_splits - 1) / p.n_splits;
    task.end_page = (n_pages * ((int)blockIdx.z + 1) + p.n_splits - 1) / p.n_splits;
    return task.first_pair < task.n_pairs;
}
