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

#include "kernels/cuda/barrier.cuh"
#include "kernels/cuda/weight.cuh"
#include "kernels/cuda/wgmma.cuh"

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
    static_assert(stages >= 3 &&
                      sundog_cuda_has_group_tile(GATED_, TOKENS_, BY_COLUMNS_, BY_BLOCKS_),
                  "");
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

/* A rows' scale and minimum for the two groups of a chunk, as unpack_pair() needs them. */
struct RowScales {
    float d[2];
    float m[2];
};

template <int LAYOUT>
INLINE RowScales
load_row_scales(const char *block, int row)
{
    RowScales scales = {};
    if constexpr (LAYOUT == SUNDOG_LAYOUT_TILE16_Q4_1) {
        uint2 words = *(const uint2 *)(block + 512 + row * 8);
#pragma unroll
        for (int i = 0; i < 2; i++) {
            float2 pair = half2_to_float2(i == 0 ? words.x : words.y);
            scales.d[i] = pair.x;
            /* The values come 128 too large. */
            scales.m[i] = fmaf(-128.0f, pair.x, pair.y);
        }
    } else if constexpr (LAYOUT == SUNDOG_LAYOUT_TILE16_Q8_0) {
        float2 pair = half2_to_float2(*(const uint32_t *)(block + 1024 + row * 4));
        scales.d[0] = pair.x;
        scales.d[1] = pair.y;
    }
    return scales;
}

/* Two values of a row that lie side by side, of which the bits below `shift` are none: two times four bits,
 * 16 apart, or two bytes. */
template <int LAYOUT>
INLINE uint32_t
unpack_pair(uint32_t word, int shift, float d, float m)
{
    if constexpr (LAYOUT == SUNDOG_LAYOUT_TILE16_Q4_1) {
        uint32_t pair;
        /* 128 + q is a bf16 whose low bits are q, and a bf16 is the upper half of a float. */
        asm("lop3.b32 %0, %1, 0x000F000F, 0x43004300, 0xEA;" : "=r"(pair) : "r"(word >> shift));
        return pack_bf16(fmaf(d, __uint_as_float(pair << 16), m),
                         fmaf(d, __uint_as_float(pair & 0xffff0000), m));
    } else {
        uint32_t biased = word ^ 0x80808080;
        int low = 0x7540 + shift / 8;
        /* The byte is the low bits of a float between 2^23 and 2^24. */
        return pack_bf16((__uint_as_float(__byte_perm(biased, 0x4b000000, low)) - 8388736.0f) * d,
                         (__uint_as_float(__byte_perm(biased, 0x4b000000, low + 1)) - 8388736.0f) *
                             d);
    }
}

/* The A operand of a chunk's four steps from bf16. With gated ones rows below 8 are gate's and the rest
 * up's: of each panel those of the warp's half. */
template <class G>
INLINE void
load_plain(uint32_t (&a)[16], const char *slot, int half)
{
    const char *own = slot + threadIdx.x % 32 * 16;
#pragma unroll
    for (int step = 0; step < 4; step++) {
        uint4 first = *(const uint4 *)(own + step * 512);
        if constexpr (G::gated) {
            uint4 second = *(const uint4 *)(own + G::panel_bytes + step * 512);
            a[step * 4] = half == 0 ? first.x : first.y;
            a[step * 4 + 1] = half == 0 ? second.x : second.y;
            a[step * 4 + 2] = half == 0 ? first.z : first.w;
            a[step * 4 + 3] = half == 0 ? second.z : second.w;
        } else {
            a[step * 4] = first.x;
            a[step * 4 + 1] = first.y;
            a[step * 4 + 2] = first.z;
            a[step * 4 + 3] = first.w;
        }
    }
}

/* The same from quantized weights. Register i of a step has its row's values from source i mod 2. */
template <class G>
INLINE void
load_quantized(uint32_t (&a)[16], const char *slot, int half)
{
    constexpr bool has_nibbles = G::layout == SUNDOG_LAYOUT_TILE16_Q4_1;
    constexpr int bits = has_nibbles ? 4 : 16, n_words = has_nibbles ? 4 : 8;
    const char *second = G::gated ? slot + G::panel_bytes : slot;
    int lane = threadIdx.x % 32, row = lane / 4 + (G::gated ? half * 8 : 0);
    uint32_t words[G::n_matrices][n_words];
#pragma unroll
    for (int s = 0; s < G::n_matrices; s++)
#pragma unroll
        for (int i = 0; i < n_words; i += 4) {
            uint4 four = *(const uint4 *)((s == 0 ? slot : second) + i / 4 * 512 + lane * 16);
            words[s][i] = four.x;
            words[s][i + 1] = four.y;
            words[s][i + 2] = four.z;
            words[s][i + 3] = four.w;
        }
    if constexpr (G::gated)
#pragma unroll
        for (int s = 0; s < 2; s++)
#pragma unroll
            for (int i = 0; i < n_words; i++)
                words[s][i] >>= half * bits;
    const RowScales scales[2] = {load_row_scales<G::layout>(slot, row),
                                 load_row_scales<G::layout>(second, G::gated ? row : row + 8)};
#pragma unroll
    for (int step = 0; step < 4; step++)
#pragma unroll
        for (int i = 0; i < 4; i++) {
            int s = i % 2, own = G::gated ? s : 0, shift = G::gated ? 0 : s * bits;
            /* Both halves of k are in one word of nibbles, and in two words of bytes. */
            uint32_t word = has_nibbles ? words[own][step] : words[own][step * 2 + i / 2];
            a[step * 4 + i] = unpack_pair<G::layout>(word, shift + (has_nibbles ? i / 2 * 8 : 0),
                                                     scales[s].d[step / 2], scales[s].m[step / 2]);
        }
}

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

/* Columns of results that lie side by side in a panel: where they are in y, and how many there are. */
struct Columns {
    size_t at;
    int n;
};

template <class G>
INLINE Columns
find_columns(const SundogCudaLinear &p, int panel, int row, int n)
{
    Columns columns = {};
    int which = G::gated ? 0 : find_matrix(p, panel);
    row += panel * 16;
    columns.at = row;
    for (int w = 0; w < which; w++)
        columns.at += p.n_rows[w];
    columns.n = min(max(p.n_rows[which] - row, 0), n);
    return columns;
}

template <class G>
INLINE float
find_bias(const SundogCudaLinear &p, int panel, int row)
{
    int which = find_matrix(p, panel);
    row += panel * 16;
    return row < p.n_rows[which] && p.bias[which] != nullptr ? ((const float *)p.bias[which])[row]
                                                             : 0.0f;
}

/* Whether four columns can be read and written at once. */
INLINE bool
are_aligned(const SundogCudaLinear &p, const Columns &columns)
{
    return columns.n == 4 && (columns.at | p.y_stride) % 4 == 0;
}

/* Four columns of the residual from element `at` on; zeros where there is none. */
INLINE float4
load_residual(const SundogCudaLinear &p, const Columns &columns, size_t at, bool is_there)
{
    float v[4] = {};
    const float *from = (const float *)p.residual + at;
    if (p.residual == nullptr || !is_there)
        return make_float4(0, 0, 0, 0);
    if (are_aligned(p, columns))
        return __ldcg((const float4 *)from);
#pragma unroll
    for (int i = 0; i < 4; i++)
        if (i < columns.n)
            v[i] = __ldcg(from + i);
    return make_float4(v[0], v[1], v[2], v[3]);
}

INLINE void
store_columns(const SundogCudaLinear &p, const Columns &columns, size_t at, float4 value)
{
    float *to = (float *)p.y + at;
    const float v[4] = {value.x, value.y, value.z, value.w};
    if (are_aligned(p, columns)) {
        *(float4 *)to = value;
        return;
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
        if (i < columns.n)
            to[i] = v[i];
}

/* Results in float32 through shared memory, so that a token's 64 columns leave together; what is read of the
 * residual comes a round before it is needed. */
template <class G>
INLINE void
store_plain(const SundogCudaLinear &p, const Warp &warp, char *own_room, int first_panel,
            int first_token, const float (&y)[G::tokens / 2])
{
    constexpr int at_once = G::tokens < 32 ? G::tokens : 32, n_quads = at_once / 8;
    int thread = threadIdx.x % 128, lane = thread % 32, own_panel = thread / 32;
    int column = thread % 16 * 4, token = first_token + thread / 16;
    Columns columns = find_columns<G>(p, first_panel + column / 16, column % 16, 4);
    const float bias[2] = {find_bias<G>(p, first_panel + own_panel, lane / 4),
                           find_bias<G>(p, first_panel + own_panel, lane / 4 + 8)};
    char *own = own_room + lane % 4 * 2 * STORE_STRIDE + (own_panel * 16 + lane / 4) * 4;
    const char *out = own_room + thread / 16 * STORE_STRIDE + column * 4;
    float4 next[n_quads];
    /* Of the quad that is stored, and so far beyond it the one whose residual is asked for. */
    size_t at = (size_t)token * p.y_stride + columns.at;
    int step = 8 * p.y_stride, ahead = at_once * p.y_stride, n_left = p.n_tokens - token;
#pragma unroll
    for (int q = 0; q < n_quads; q++)
        next[q] = load_residual(p, columns, at + q * step, q * 8 < n_left);
#pragma unroll
    for (int base = 0; base < G::tokens; base += at_once) {
#pragma unroll
        for (int i = 0; i < at_once / 2; i++)
            *(float *)(own + (i / 4 * 8 + i % 2) * STORE_STRIDE + i % 4 / 2 * 32) =
                y[base / 2 + i] + bias[i % 4 / 2];
        sync_threads(STORE_BARRIER + warp.row_group, 128);
#pragma unroll
        for (int q = 0; q < n_quads; q++, at += step) {
            float4 v = *(const float4 *)(out + q * 8 * STORE_STRIDE), r = next[q];
            if (base + q * 8 < n_left)
                store_columns(p, columns, at,
                              make_float4(v.x + r.x, v.y + r.y, v.z + r.z, v.w + r.w));
            if (base + at_once < G::tokens)
                next[q] = load_residual(p, columns, at + ahead, base + at_once + q * 8 < n_left);
        }
        sync_threads(STORE_BARRIER + warp.row_group, 128);
    }
}

INLINE void
store_halves(const SundogCudaLinear &p, const Columns &columns, int token, uint4 value)
{
    uint16_t *to = (uint16_t *)p.y + (size_t)token * p.y_stride + columns.at;
    const uint32_t words[4] = {value.x, value.y, value.z, value.w};
    if (token >= p.n_tokens)
        return;
    if (columns.n == 8 && (columns.at | p.y_stride) % 8 == 0) {
        *(uint4 *)to = value;
        return;
    }
#pragma unroll
    for (int i = 0; i < 8; i++)
        if (i < columns.n)
            to[i] = (uint16_t)(words[i / 2] >> i % 2 * 16);
}

/* Gate and up of 32 columns to bf16 in the same way: neighbours exchange a token each, so that each has two
 * columns of one. */
template <class G>
INLINE void
store_gated(const SundogCudaLinear &p, const Warp &warp, char *own_room, int first_panel,
            int first_token, const float (&y)[G::tokens / 2])
{
    constexpr int at_once = G::tokens < 32 ? G::tokens : 32, stride = 80;
    int thread = threadIdx.x % 128, lane = thread % 32;
    int column = thread % 4 * 8, token = first_token + thread / 4;
    bool is_odd = lane / 4 % 2 == 1;
    Columns columns = find_columns<G>(p, first_panel + column / 16, column % 16, 8);
    char *own = own_room + (lane % 4 * 2 + is_odd) * stride +
                (thread / 64 * 16 + warp.half * 8 + lane / 8 * 2) * 2;
#pragma unroll
    for (int base = 0; base < G::tokens; base += at_once) {
#pragma unroll
        for (int n = 0; n < at_once / 8; n++) {
            float values[2];
#pragma unroll
            for (int i = 0; i < 2; i++) {
                float gate = y[base / 2 + n * 4 + i];
                values[i] = gate / (1.0f + __expf(-gate)) * y[base / 2 + n * 4 + 2 + i];
            }
            float others = __shfl_xor_sync(~0u, is_odd ? values[0] : values[1], 4);
            *(uint32_t *)(own + n * 8 * stride) =
                is_odd ? pack_bf16(others, values[1]) : pack_bf16(values[0], others);
        }
        sync_threads(STORE_BARRIER + warp.row_group, 128);
        if (thread / 4 < at_once)
            store_halves(p, columns, token + base,
                         *(const uint4 *)(own_room + thread / 4 * stride + column * 2));
        sync_threads(STORE_BARRIER + warp.row_group, 128);
    }
}

/* What the first phase does with a tile's sums. */
template <class G>
INLINE void
store_tile(const SundogCudaLinear &p, const GroupRoom &room, const Warp &warp, char *own_room,
           int tile, const float (&y)[G::tokens / 2])
{
    int first_panel = tile / room.n_token_tiles * G::row_panels +
                      warp.row_group * (G::row_panels / G::plan.n_row_groups);
    int first_token = tile % room.n_token_tiles * G::tokens;
    if constexpr (G::gated)
        store_gated<G>(p, warp, own_room, first_panel, first_token, y);
    else
        store_plain<G>(p, warp, own_room, first_panel, first_token, y);
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
