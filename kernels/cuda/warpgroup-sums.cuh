#pragma once

/* Sums of the same rows and tokens over other columns: from the warpgroups of a block, and from the other
 * block of a cluster, always added in the same order. */

#include "kernels/cuda/warpgroup-room.cuh"

INLINE void
sync_threads(int barrier, int n_threads)
{
    asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(n_threads) : "memory");
}

INLINE void
arrive_threads(int barrier, int n_threads)
{
    asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "r"(n_threads) : "memory");
}

/* The sums of the other phases to the first, which adds them in order. The room is the first one's until it
 * has stored the tile. */
template <class G>
INLINE void
exchange_sums(const Warp &warp, char *own_room, bool is_first_tile, float (&y)[G::tokens / 2])
{
    constexpr int n_values = G::tokens / 2;
    float *sums = (float *)own_room + threadIdx.x % 128;
    if (warp.phase > 0) {
        if (!is_first_tile)
            sync_threads(ROOM_BARRIER + warp.row_group, G::by_columns * 128);
#pragma unroll
        for (int i = 0; i < n_values; i++)
            sums[((warp.phase - 1) * n_values + i) * 128] = y[i];
        arrive_threads(SUMS_BARRIER + warp.row_group, G::by_columns * 128);
        return;
    }
    sync_threads(SUMS_BARRIER + warp.row_group, G::by_columns * 128);
#pragma unroll
    for (int phase = 1; phase < G::by_columns; phase++)
#pragma unroll
        for (int i = 0; i < n_values; i++)
            y[i] += sums[((phase - 1) * n_values + i) * 128];
    sync_threads(STORE_BARRIER + warp.row_group, 128);
}

/* Of another block of the cluster: where an address of this one's is there. */
INLINE uint32_t
find_in_block(uint32_t address, int rank)
{
    uint32_t other;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(other) : "r"(address), "r"(rank));
    return other;
}

INLINE void
arrive_in_block(uint32_t barrier, int rank)
{
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(
                     find_in_block(barrier, rank))
                 : "memory");
}

INLINE void
wait_for_block(uint32_t barrier, uint32_t parity)
{
    uint32_t done = 0;
    while (done == 0)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, "
                     "[%1], %2; selp.u32 %0, 1, 0, p; }"
                     : "=r"(done)
                     : "r"(barrier), "r"(parity)
                     : "memory");
}

/* All threads of all blocks of the cluster. */
template <class G>
INLINE void
sync_blocks()
{
    if constexpr (G::by_blocks > 1) {
        asm volatile("barrier.cluster.arrive.release;" ::: "memory");
        asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
    }
}

/* The second block's sums to the first, which adds them to its own. `n_done` tiles were exchanged before. */
template <class G>
INLINE void
exchange_between_blocks(const GroupRoom &room, const Warp &warp, int n_done,
                        float (&y)[G::tokens / 2])
{
    float *others =
        (float *)(room.others + warp.row_group * G::plan.block_bytes) + threadIdx.x % 128;
    if (room.rank > 0) {
        uint32_t to = find_in_block(shared_address(others), 0);
        if (n_done > 0)
            wait_for_block(room.free, (n_done - 1) & 1);
#pragma unroll
        for (int i = 0; i < G::tokens / 2; i++)
            asm volatile("st.shared::cluster.f32 [%0], %1;" ::"r"(to + i * 512), "f"(y[i])
                         : "memory");
        arrive_in_block(room.there, 0);
        return;
    }
    wait_for_block(room.there, n_done & 1);
#pragma unroll
    for (int i = 0; i < G::tokens / 2; i++)
        y[i] += others[i * 128];
    arrive_in_block(room.free, 1);
}
