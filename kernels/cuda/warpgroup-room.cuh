#pragma once

/* What a block of the products by warpgroups is made of: its sizes, its shared memory, the places of its
 * warps, and the rings through which these bring their weights. */

#include "kernels/cuda/barrier.cuh"
#include "kernels/cuda/weight.cuh"

#define CHUNK SUNDOG_CUDA_GROUP_CHUNK
#define STORE_STRIDE SUNDOG_CUDA_GROUP_STORE_BYTES
/* Named barriers: of each pair of warps, of the warpgroups with the same rows twice, of a warpgroup. */
#define PAIR_BARRIER 1
#define SUMS_BARRIER 9
#define ROOM_BARRIER 11
#define STORE_BARRIER 13

template <int LAYOUT_, bool GATED_, int TOKENS_, int BY_COLUMNS_, int BY_BLOCKS_> struct Group {
    using T = Tile<LAYOUT_>;
    static constexpr int layout = LAYOUT_, tokens = TOKENS_;
    static constexpr int by_columns = BY_COLUMNS_, by_blocks = BY_BLOCKS_;
    static constexpr bool gated = GATED_;
    static constexpr int panel_bytes = CHUNK / T::columns * T::bytes;
    static constexpr SundogCudaGroupPlan plan =
        sundog_cuda_plan_group(GATED_, TOKENS_, BY_COLUMNS_, BY_BLOCKS_, panel_bytes);
    static constexpr int row_panels = plan.row_panels, n_matrices = GATED_ ? 2 : 1;
    static constexpr int stages = plan.n_stages, slot_bytes = plan.n_groups * 4 * panel_bytes;
    static constexpr int x_stages = stages * BY_COLUMNS_, x_bytes = TOKENS_ * CHUNK * 2;
    /* Registers of a thread that copies and of one that multiplies: all that there are. */
    static constexpr int copy_registers = plan.n_groups == 2 ? 40 : 24;
    static constexpr int registers = plan.n_groups == 2 ? 232 : 112;
    static_assert(stages >= 3 && !(GATED_ && BY_BLOCKS_ > 1), "");
    /* Barriers of the ring of x, and two for the other block, before what may be lost to alignment. */
    static_assert(16 * (x_stages + 1) <= SUNDOG_CUDA_GROUP_HEAD_BYTES / 2, "");
};

/* What all tiles of a launch have in common, and where things lie in shared memory. */
struct GroupRoom {
    uint32_t full, empty; /* barriers of the ring of x */
    uint32_t there, free; /* the other block's sums; the place for them */
    uint32_t x;
    char *rooms;  /* one for each of the row groups */
    char *others; /* likewise */
    char *weights;
    int n_tiles, n_token_tiles;
    int first_tile, tile_step; /* of the cluster */
    int rank;                  /* in it */
    int begin, end;            /* chunks of the block */
};

INLINE int
count_panels(int n_rows)
{
    return (n_rows + 15) / 16;
}

template <class G>
INLINE GroupRoom
find_room(const SundogCudaLinear &p, char *shared)
{
    GroupRoom room;
    int n_panels = 0;
    for (int i = 0; i < (G::gated ? 1 : 3); i++)
        n_panels += count_panels(p.n_rows[i]);
    uint32_t base = shared_address(shared);
    room.full = base;
    room.empty = base + G::x_stages * 8;
    room.there = base + SUNDOG_CUDA_GROUP_HEAD_BYTES / 2 - 16;
    room.free = room.there + 8;
    room.x = (base + SUNDOG_CUDA_GROUP_HEAD_BYTES / 2 + 1023) & ~1023u;
    room.rooms = shared + (room.x - base) + G::x_stages * G::x_bytes;
    room.others = room.rooms + G::plan.n_row_groups * G::plan.room_bytes;
    room.weights = room.others + G::plan.n_row_groups * G::plan.block_bytes;
    room.n_token_tiles = (p.n_tokens + G::tokens - 1) / G::tokens;
    room.n_tiles = room.n_token_tiles * ((n_panels + G::row_panels - 1) / G::row_panels);
    int n_chunks = (p.n_columns + CHUNK - 1) / CHUNK;
    room.rank = blockIdx.x % G::by_blocks;
    room.first_tile = blockIdx.x / G::by_blocks;
    room.tile_step = gridDim.x / G::by_blocks;
    room.begin = n_chunks * room.rank / G::by_blocks;
    room.end = n_chunks * (room.rank + 1) / G::by_blocks;
    return room;
}

/* Which matrix a panel of all of them is of; `index` becomes that among the matrix's own, which is past
 * its last where there is none. */
INLINE int
find_matrix(const SundogCudaLinear &p, int &index)
{
    int which = 0;
    for (; which < 2 && index >= count_panels(p.n_rows[which]); which++)
        index -= count_panels(p.n_rows[which]);
    return which;
}

/* A warp's place: which rows its warpgroup has, which of the chunks; its panel in the tile, and with gated
 * ones which half of its rows. */
struct Warp {
    int row_group, phase, panel, half;
    int pair_barrier;
    char *slots; /* partners share those of both */
};

template <class G>
INLINE Warp
find_warp(const GroupRoom &room)
{
    int index = threadIdx.x / 32, group = index / 4;
    Warp warp;
    warp.row_group = group % G::plan.n_row_groups;
    warp.phase = group / G::plan.n_row_groups;
    warp.half = G::gated ? index % 2 : 0;
    warp.panel = G::gated ? warp.row_group * 2 + index % 4 / 2 : warp.row_group * 4 + index % 4;
    warp.pair_barrier = PAIR_BARRIER + index / 2;
    warp.slots = room.weights + (index - warp.half) * G::panel_bytes;
    return warp;
}

/* Brings a warp's weights: of one panel after the other, all chunks of its warpgroup. */
struct Loader {
    const char *from; /* the next chunk */
    int n_left;       /* pieces of 16 bytes in the panel from there on; none past the last panel */
    int tile, chunk, slot;
};

template <class G>
INLINE void
find_panel(const SundogCudaLinear &p, const GroupRoom &room, const Warp &warp, Loader &loader)
{
    int n_blocks = (p.n_columns + G::T::columns - 1) / G::T::columns;
    int index = loader.tile / room.n_token_tiles * G::row_panels + warp.panel;
    int which = G::gated ? warp.half : find_matrix(p, index);
    bool is_there = index < count_panels(p.n_rows[which]);
    loader.chunk = room.begin + warp.phase;
    loader.from =
        (const char *)p.w[which] +
        (is_there ? (size_t)index * n_blocks * G::T::bytes + loader.chunk * G::panel_bytes : 0);
    loader.n_left = is_there ? (n_blocks * G::T::bytes - loader.chunk * G::panel_bytes) / 16 : 0;
}

template <class G>
INLINE void
begin_loading(const SundogCudaLinear &p, const GroupRoom &room, const Warp &warp, Loader &loader)
{
    loader.slot = 0;
    /* Without a chunk of its own, a warpgroup has nothing to load. */
    loader.tile = room.begin + warp.phase < room.end ? room.first_tile : room.n_tiles;
    if (loader.tile < room.n_tiles)
        find_panel<G>(p, room, warp, loader);
}

/* Begins to copy the next chunk, if there is one; commits a group in any case. */
template <class G>
INLINE void
load_next(const SundogCudaLinear &p, const GroupRoom &room, const Warp &warp, Loader &loader)
{
    if (loader.tile < room.n_tiles) {
        constexpr int pieces = G::panel_bytes / 16;
        uint32_t to = shared_address(warp.slots) + loader.slot * G::slot_bytes;
        if (G::gated)
            to += warp.half * G::panel_bytes;
#pragma unroll
        for (int i = threadIdx.x % 32; i < (pieces + 31) / 32 * 32; i += 32)
            if (pieces % 32 == 0 || i < pieces)
                copy_async(to + i * 16, i < loader.n_left ? loader.from + i * 16 : loader.from,
                           i < loader.n_left);
        loader.slot = loader.slot + 1 == G::stages ? 0 : loader.slot + 1;
        loader.chunk += G::by_columns;
        loader.from += loader.n_left > 0 ? G::by_columns * G::panel_bytes : 0;
        loader.n_left -= G::by_columns * pieces;
        if (loader.chunk >= room.end) {
            loader.tile += room.tile_step;
            if (loader.tile < room.n_tiles)
                find_panel<G>(p, room, warp, loader);
        }
    }
    commit_copies();
}
