#pragma once

/*
 * The products of linear.h by warpgroups (sm_90a). A block takes tiles of rows of the weights and of
 * tokens in turn. One thread brings x in boxes through a ring that all share; each warp brings the
 * weights of its own panel, or with gated ones of a pair of panels with its partner in the other
 * warpgroup, through a ring of its own, makes of them the tensor cores' A operand in registers, and
 * multiplies that with x where it lies. Both rings run on over the end of a tile, so that the next one's
 * copies are under way while results are stored.
 *
 * Numeric class "warpgroups": weights are dequantized in float32 and rounded once to bf16, products are
 * summed in float32 by the tensor cores in rising order of k; where a tile is split by columns, chunks of 64
 * that are taken in turn are summed apart, then added, then what other blocks have.
 */

#include "kernels/cuda/warpgroup-operand.cuh"
#include "kernels/cuda/warpgroup-store.cuh"
#include "kernels/cuda/wgmma.cuh"

template <class G>
INLINE void
take_weights(const SundogCudaLinear &p, const GroupRoom &room, const Warp &warp, Loader &loader,
             int &slot, uint32_t (&a)[16])
{
    wait_for_copies<G::stages - 2>();
    /* What others have copied is there, and all have read what is written over next. */
    if constexpr (G::gated)
        asm volatile("bar.sync %0, 64;" ::"r"(warp.pair_barrier) : "memory");
    else
        __syncwarp();
    load_next<G>(p, room, warp, loader);
    const char *from = warp.slots + slot * G::slot_bytes;
    if constexpr (G::layout == SUNDOG_LAYOUT_TILE16_BF16)
        load_plain<G>(a, from, warp.half);
    else
        load_quantized<G>(a, from, warp.half);
    slot = slot + 1 == G::stages ? 0 : slot + 1;
}

/* A place in the ring of x. */
struct Stage {
    int index;
    uint32_t parity;
};

/* `chunk` counts over all tiles of a block. */
template <class G>
INLINE Stage
find_stage(uint32_t chunk)
{
    return {(int)(chunk % G::x_stages), chunk / G::x_stages & 1};
}

template <class G>
INLINE void
next_stage(Stage &stage, int step)
{
    stage.index += step;
    if (stage.index >= G::x_stages) {
        stage.index -= G::x_stages;
        stage.parity ^= 1;
    }
}

/* Begins the products of one chunk. */
template <class G>
INLINE void
multiply_chunk(const GroupRoom &room, float (&y)[G::tokens / 2], const uint32_t (&a)[16],
               const Stage &stage, bool is_first)
{
    barrier_wait(room.full + stage.index * 8, stage.parity);
    uint64_t x = describe_rows(room.x + stage.index * G::x_bytes);
    begin_products();
#pragma unroll
    for (int step = 0; step < 4; step++)
        multiply_rows<G::tokens>(y, a + step * 4, x + step * 2, step > 0 || !is_first);
    commit_products();
}

INLINE void
release_x(const GroupRoom &room, int stage)
{
    if (threadIdx.x % 32 == 0)
        barrier_arrive(room.empty + stage * 8);
}

/* All chunks of one tile that are this warp's; `first` counts chunks over all tiles. */
template <class G>
INLINE void
multiply_tile(const SundogCudaLinear &p, const GroupRoom &room, const Warp &warp, Loader &loader,
              int &slot, uint32_t first, float (&y)[G::tokens / 2])
{
    int n = (room.end - room.begin - warp.phase + G::by_columns - 1) / G::by_columns, before = 0;
    if constexpr (G::by_columns * G::by_blocks > 1)
        if (n <= 0) {
#pragma unroll
            for (int i = 0; i < G::tokens / 2; i++)
                y[i] = 0;
            return;
        }
    uint32_t even[16], odd[16];
    Stage stage = find_stage<G>(first + warp.phase);
    take_weights<G>(p, room, warp, loader, slot, even);
    /* Two operands in turn: one is made while the tensor cores work with the other. */
    bool is_first = true;
#pragma unroll 1
    while (n > 0) {
        multiply_chunk<G>(room, y, even, stage, is_first);
        wait_for_products<1>();
        if (!is_first)
            release_x(room, before);
        if (n > 1) {
            take_weights<G>(p, room, warp, loader, slot, odd);
            before = stage.index;
            next_stage<G>(stage, G::by_columns);
            multiply_chunk<G>(room, y, odd, stage, false);
            wait_for_products<1>();
            release_x(room, before);
        }
        if (n > 2) {
            take_weights<G>(p, room, warp, loader, slot, even);
            before = stage.index;
            next_stage<G>(stage, G::by_columns);
        }
        is_first = false;
        n -= 2;
    }
    wait_for_products<0>();
    settle_sums(y);
    release_x(room, stage.index);
}

/* The thread that copies x. */
template <class G>
INLINE void
copy_x(const SundogCudaGroupLinear &p, const GroupRoom &room)
{
    uint32_t chunk = 0;
    for (int tile = room.first_tile; tile < room.n_tiles; tile += room.tile_step)
        for (int k = room.begin; k < room.end; k++, chunk++) {
            uint32_t stage = chunk % G::x_stages, full = room.full + stage * 8;
            barrier_wait(room.empty + stage * 8, (chunk / G::x_stages & 1) ^ 1);
            barrier_expect(full, G::x_bytes);
            copy_box(room.x + stage * G::x_bytes, &p.x, k * CHUNK,
                     tile % room.n_token_tiles * G::tokens, full);
        }
}

template <class G>
INLINE void
multiply(const SundogCudaLinear &p, const GroupRoom &room)
{
    Warp warp = find_warp<G>(room);
    char *own_room = room.rooms + warp.row_group * G::plan.room_bytes;
    Loader loader;
    int slot = 0;
    begin_loading<G>(p, room, warp, loader);
    for (int i = 0; i < G::stages - 1; i++)
        load_next<G>(p, room, warp, loader);
    wait_for_predecessor();
    int n_done = 0;
    for (int tile = room.first_tile; tile < room.n_tiles; tile += room.tile_step, n_done++) {
        float y[G::tokens / 2];
        multiply_tile<G>(p, room, warp, loader, slot, n_done * (room.end - room.begin), y);
        if constexpr (G::by_columns > 1)
            exchange_sums<G>(warp, own_room, n_done == 0, y);
        if (warp.phase > 0)
            continue;
        if constexpr (G::by_blocks > 1)
            exchange_between_blocks<G>(room, warp, n_done, y);
        if (room.rank == 0)
            store_tile<G>(p, room, warp, own_room, tile, y);
        if constexpr (G::by_columns > 1)
            arrive_threads(ROOM_BARRIER + warp.row_group, G::by_columns * 128);
    }
    wait_for_copies<0>();
}

template <class G>
INLINE void
run_group(const SundogCudaGroupLinear &p)
{
    extern __shared__ __align__(128) char shared[];
    GroupRoom room = find_room<G>(p.product, shared);
    if (!p.product.starts_late)
        start_dependents();
    if (threadIdx.x == 0) {
        for (int i = 0; i < G::x_stages; i++) {
            barrier_init(room.full + i * 8, 1);
            barrier_init(room.empty + i * 8, G::plan.n_row_groups * 4);
        }
        barrier_init(room.there, G::plan.n_row_groups * 128);
        barrier_init(room.free, G::plan.n_row_groups * 128);
        barrier_publish();
    }
    __syncthreads();
    sync_blocks<G>();
    if (threadIdx.x < G::plan.n_groups * 128) {
        take_registers<G::registers>();
        multiply<G>(p.product, room);
        /* What others write to and arrive at stays there until they have. */
        sync_blocks<G>();
    } else {
        keep_registers<G::copy_registers>();
        wait_for_predecessor();
        if (p.product.starts_late)
            start_dependents();
        if (threadIdx.x == G::plan.n_groups * 128)
            copy_x<G>(p, room);
        sync_blocks<G>();
    }
}
