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
 * summed in float32 by the tensor cores in rising order of k; where a tile is split by columns, even and
 * odd chunks of 64 are summed apart, then added.
 */

#include "kernels/cuda/barrier.cuh"
#include "kernels/cuda/weight.cuh"
#include "kernels/cuda/wgmma.cuh"

#define CHUNK SUNDOG_CUDA_GROUP_CHUNK
#define MULTIPLIERS (SUNDOG_CUDA_GROUP_WARPS * 32)
/* Named barriers: of each pair of warps from 1 on, then of the exchange of sums. */
#define PAIR_BARRIER 1
#define SUMS_BARRIER 5
#define ROOM_BARRIER 6

template <int LAYOUT_, bool GATED_, int TOKENS_, int BY_COLUMNS_> struct Group {
    using T = Tile<LAYOUT_>;
    static constexpr int layout = LAYOUT_, tokens = TOKENS_, by_columns = BY_COLUMNS_;
    static constexpr bool gated = GATED_;
    static constexpr int panel_bytes = CHUNK / T::columns * T::bytes;
    /* Panels of results in a tile, and panels that share a ring of weights. */
    static constexpr int row_panels = GATED_ || BY_COLUMNS_ == 2 ? 4 : 8,
                         n_matrices = GATED_ ? 2 : 1;
    static constexpr int stages = SUNDOG_CUDA_GROUP_STAGES(TOKENS_, BY_COLUMNS_, panel_bytes);
    static constexpr int x_stages = stages * BY_COLUMNS_, x_bytes = TOKENS_ * CHUNK * 2;
    static constexpr int n_releases = SUNDOG_CUDA_GROUP_WARPS / BY_COLUMNS_;
    static constexpr int sum_bytes = SUNDOG_CUDA_GROUP_SUM_BYTES(TOKENS_, BY_COLUMNS_);
    static_assert(stages >= 3 && !(GATED_ && BY_COLUMNS_ == 2), "");
};

/* What all tiles of a launch have in common, and where things lie in shared memory. */
struct GroupRoom {
    uint32_t full, empty; /* barriers of the ring of x */
    uint32_t x;
    char *sums;
    char *weights;
    int n_tiles, n_token_tiles, n_chunks;
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
    uint32_t base = shared_address(shared),
             x = (base + SUNDOG_CUDA_GROUP_HEAD_BYTES / 2 + 1023) & ~1023u;
    room.full = base;
    room.empty = base + G::x_stages * 8;
    room.x = x;
    room.sums = shared + (x - base) + G::x_stages * G::x_bytes;
    room.weights = room.sums + G::sum_bytes;
    room.n_token_tiles = (p.n_tokens + G::tokens - 1) / G::tokens;
    room.n_tiles = room.n_token_tiles * ((n_panels + G::row_panels - 1) / G::row_panels);
    room.n_chunks = (p.n_columns + CHUNK - 1) / CHUNK;
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

/* Brings a warp's weights: `stage` counts up over all tiles. */
struct Loader {
    const char *from; /* of the panel that this warp copies; NULL past the last */
    int tile, chunk, slot;
};

/* A warp's place: its panel in the tile, which warpgroup it is of, its first chunk. */
struct Warp {
    int panel, group;
    char *slots;
};

template <class G>
INLINE Warp
find_warp(const GroupRoom &room)
{
    int index = threadIdx.x / 32;
    Warp warp;
    warp.group = index / 4;
    warp.panel = G::gated || G::by_columns == 2 ? index % 4 : index;
    /* Partners share the slots of both. */
    warp.slots = room.weights + (G::gated ? index % 4 * 2 : index) * G::panel_bytes;
    return warp;
}

template <class G>
INLINE void
find_panel(const SundogCudaLinear &p, const GroupRoom &room, const Warp &warp, Loader &loader)
{
    size_t bytes = (size_t)((p.n_columns + G::T::columns - 1) / G::T::columns) * G::T::bytes;
    int index = loader.tile / room.n_token_tiles * G::row_panels + warp.panel;
    int which = G::gated ? warp.group : find_matrix(p, index);
    loader.from =
        index < count_panels(p.n_rows[which]) ? (const char *)p.w[which] + index * bytes : nullptr;
}

template <class G>
INLINE void
begin_loading(const SundogCudaLinear &p, const GroupRoom &room, const Warp &warp, Loader &loader)
{
    loader.tile = blockIdx.x;
    loader.chunk = G::by_columns == 2 ? warp.group : 0;
    loader.slot = 0;
    /* Without a chunk of its own, a warpgroup has nothing to load. */
    if (loader.chunk >= room.n_chunks)
        loader.tile = room.n_tiles;
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
        char *slot = warp.slots + loader.slot * SUNDOG_CUDA_GROUP_WARPS * G::panel_bytes;
        uint32_t to = shared_address(slot) + (G::gated ? warp.group * G::panel_bytes : 0);
        int n_blocks = (p.n_columns + G::T::columns - 1) / G::T::columns;
        int first = loader.chunk * (CHUNK / G::T::columns);
        int n_valid = loader.from == nullptr ? 0 : (n_blocks - first) * G::T::bytes / 16;
        const char *from = loader.from == nullptr ? (const char *)p.w[0]
                                                  : loader.from + (size_t)first * G::T::bytes;
#pragma unroll
        for (int i = threadIdx.x % 32; i < (pieces + 31) / 32 * 32; i += 32)
            if (pieces % 32 == 0 || i < pieces)
                copy_async(to + i * 16, i < n_valid ? from + i * 16 : from, i < n_valid);
        loader.slot = loader.slot + 1 == G::stages ? 0 : loader.slot + 1;
        loader.chunk += G::by_columns;
        if (loader.chunk >= room.n_chunks) {
            loader.chunk = G::by_columns == 2 ? warp.group : 0;
            loader.tile += gridDim.x;
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
 * up's: of each panel the lower eight rows for the first warpgroup, the upper for the second. */
template <class G>
INLINE void
load_plain(uint32_t (&a)[16], const char *slot, int group)
{
    const char *own = slot + threadIdx.x % 32 * 16;
#pragma unroll
    for (int step = 0; step < 4; step++) {
        uint4 first = *(const uint4 *)(own + step * 512);
        if constexpr (G::gated) {
            uint4 second = *(const uint4 *)(own + G::panel_bytes + step * 512);
            a[step * 4] = group == 0 ? first.x : first.y;
            a[step * 4 + 1] = group == 0 ? second.x : second.y;
            a[step * 4 + 2] = group == 0 ? first.z : first.w;
            a[step * 4 + 3] = group == 0 ? second.z : second.w;
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
load_quantized(uint32_t (&a)[16], const char *slot, int group)
{
    constexpr bool has_nibbles = G::layout == SUNDOG_LAYOUT_TILE16_Q4_1;
    constexpr int bits = has_nibbles ? 4 : 16, n_words = has_nibbles ? 4 : 8;
    const char *second = G::gated ? slot + G::panel_bytes : slot;
    int lane = threadIdx.x % 32, row = lane / 4 + (G::gated ? group * 8 : 0);
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
                words[s][i] >>= group * bits;
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
        asm volatile("bar.sync %0, 64;" ::"r"(PAIR_BARRIER + warp.panel) : "memory");
    else
        __syncwarp();
    load_next<G>(p, room, warp, loader);
    const char *from = warp.slots + slot * SUNDOG_CUDA_GROUP_WARPS * G::panel_bytes;
    if constexpr (G::layout == SUNDOG_LAYOUT_TILE16_BF16)
        load_plain<G>(a, from, warp.group);
    else
        load_quantized<G>(a, from, warp.group);
    slot = slot + 1 == G::stages ? 0 : slot + 1;
}

/* The products of one chunk; the chunk before is done when it returns, and its x given back. */
template <class G>
INLINE void
multiply_chunk(const GroupRoom &room, float (&y)[G::tokens / 2], const uint32_t (&a)[16],
               uint32_t chunk, bool is_first)
{
    uint32_t stage = chunk % G::x_stages;
    barrier_wait(room.full + stage * 8, chunk / G::x_stages & 1);
    uint64_t x = describe_rows(room.x + stage * G::x_bytes);
    begin_products();
#pragma unroll
    for (int step = 0; step < 4; step++)
        multiply_rows<G::tokens>(y, a + step * 4, x + step * 2, step > 0 || !is_first);
    commit_products();
}

template <class G>
INLINE void
release_x(const GroupRoom &room, uint32_t chunk)
{
    if (threadIdx.x % 32 == 0)
        barrier_arrive(room.empty + chunk % G::x_stages * 8);
}

/* All chunks of one tile that are this warp's; `first` counts chunks over all tiles. */
template <class G>
INLINE void
multiply_tile(const SundogCudaLinear &p, const GroupRoom &room, const Warp &warp, Loader &loader,
              int &slot, uint32_t first, float (&y)[G::tokens / 2])
{
    int begin = G::by_columns == 2 ? warp.group : 0;
    int n = (room.n_chunks - begin + G::by_columns - 1) / G::by_columns;
    if constexpr (G::by_columns == 2)
        if (n <= 0) {
#pragma unroll
            for (int i = 0; i < G::tokens / 2; i++)
                y[i] = 0;
            return;
        }
    uint32_t chunk = first + begin, even[16], odd[16];
    take_weights<G>(p, room, warp, loader, slot, even);
    /* Two operands in turn: one is made while the tensor cores work with the other. */
    bool is_first = true;
#pragma unroll 1
    while (n > 0) {
        multiply_chunk<G>(room, y, even, chunk, is_first);
        wait_for_products<1>();
        if (!is_first)
            release_x<G>(room, chunk - G::by_columns);
        if (n > 1) {
            take_weights<G>(p, room, warp, loader, slot, odd);
            chunk += G::by_columns;
            multiply_chunk<G>(room, y, odd, chunk, false);
            wait_for_products<1>();
            release_x<G>(room, chunk - G::by_columns);
        }
        if (n > 2) {
            take_weights<G>(p, room, warp, loader, slot, even);
            chunk += G::by_columns;
        }
        is_first = false;
        n -= 2;
    }
    wait_for_products<0>();
    settle_sums(y);
    release_x<G>(room, chunk);
}

/* The second warpgroup's sums to the first, in two steps, so that its room is free again. */
template <class G>
INLINE void
exchange_sums(const GroupRoom &room, const Warp &warp, bool is_first_tile,
              float (&y)[G::tokens / 2])
{
    float *own = (float *)room.sums + threadIdx.x % 128;
    if (warp.group == 1) {
        if (!is_first_tile)
            asm volatile("bar.sync %0, 256;" ::"n"(ROOM_BARRIER) : "memory");
#pragma unroll
        for (int i = 0; i < G::tokens / 2; i++)
            own[i * 128] = y[i];
        asm volatile("bar.arrive %0, 256;" ::"n"(SUMS_BARRIER) : "memory");
        return;
    }
    asm volatile("bar.sync %0, 256;" ::"n"(SUMS_BARRIER) : "memory");
#pragma unroll
    for (int i = 0; i < G::tokens / 2; i++)
        y[i] += own[i * 128];
    asm volatile("bar.arrive %0, 256;" ::"n"(ROOM_BARRIER) : "memory");
}

/* One column of results: where it is in y, and what is added to it. */
struct Column {
    size_t at;
    float bias;
    bool is_there;
};

template <class G>
INLINE Column
find_column(const SundogCudaLinear &p, int panel, int row)
{
    Column column = {};
    int which = G::gated ? 0 : find_matrix(p, panel);
    row += panel * 16;
    column.is_there = row < p.n_rows[which];
    column.at = row;
    for (int w = 0; w < which; w++)
        column.at += p.n_rows[w];
    if (column.is_there && p.bias[which] != nullptr)
        column.bias = ((const float *)p.bias[which])[row];
    return column;
}

/* Two columns of float32, a lane two tokens of each eight: all that is read comes before what is written, since
 * the residual may lie where y does. */
template <class G>
INLINE void
store_plain(const SundogCudaLinear &p, const Column (&columns)[2], int first_token,
            const float (&y)[G::tokens / 2])
{
    constexpr int at_once = G::tokens / 2 < 16 ? G::tokens / 2 : 16;
    int token = first_token + threadIdx.x % 4 * 2;
#pragma unroll
    for (int base = 0; base < G::tokens / 2; base += at_once) {
        float values[at_once];
#pragma unroll
        for (int i = 0; i < at_once; i++) {
            const Column &column = columns[i % 4 / 2];
            int to = token + (base + i) / 4 * 8 + i % 2;
            values[i] = y[base + i] + column.bias;
            if (p.residual != nullptr && column.is_there && to < p.n_tokens)
                values[i] +=
                    __ldcg((const float *)p.residual + (size_t)to * p.y_stride + column.at);
        }
#pragma unroll
        for (int i = 0; i < at_once; i++) {
            const Column &column = columns[i % 4 / 2];
            int to = token + (base + i) / 4 * 8 + i % 2;
            size_t at = (size_t)to * p.y_stride + column.at;
            if (column.is_there && to < p.n_tokens)
                ((float *)p.y)[at] = values[i];
        }
    }
}

/* Gate and up of one column of bf16, a lane two tokens of each eight: neighbours exchange one token each, so that each stores
 * two columns of one. */
template <class G>
INLINE void
store_gated(const SundogCudaLinear &p, const Column &column, int first_token,
            const float (&y)[G::tokens / 2])
{
    bool is_odd = threadIdx.x / 4 % 2 == 1;
    int token = first_token + threadIdx.x % 4 * 2 + is_odd;
#pragma unroll
    for (int n = 0; n < G::tokens / 8; n++) {
        float values[2];
#pragma unroll
        for (int i = 0; i < 2; i++) {
            float gate = y[n * 4 + i];
            values[i] = gate / (1.0f + __expf(-gate)) * y[n * 4 + 2 + i];
        }
        float others = __shfl_xor_sync(~0u, is_odd ? values[0] : values[1], 4);
        float low = is_odd ? others : values[0], high = is_odd ? values[1] : others;
        int to = token + n * 8;
        size_t at = (size_t)to * p.y_stride + column.at - is_odd;
        if (column.is_there && to < p.n_tokens)
            *(uint32_t *)((uint16_t *)p.y + at) = pack_bf16(low, high);
    }
}

template <class G>
INLINE void
store_tile(const SundogCudaLinear &p, const GroupRoom &room, const Warp &warp, int tile,
           const float (&y)[G::tokens / 2])
{
    int panel = tile / room.n_token_tiles * G::row_panels + warp.panel;
    int first_token = tile % room.n_token_tiles * G::tokens, row = threadIdx.x % 32 / 4;
    if constexpr (G::gated) {
        store_gated<G>(p, find_column<G>(p, panel, row + warp.group * 8), first_token, y);
    } else {
        const Column columns[2] = {find_column<G>(p, panel, row),
                                   find_column<G>(p, panel, row + 8)};
        store_plain<G>(p, columns, first_token, y);
    }
}

/* The thread that copies x. */
template <class G>
INLINE void
copy_x(const SundogCudaGroupLinear &p, const GroupRoom &room)
{
    uint32_t chunk = 0;
    for (int tile = blockIdx.x; tile < room.n_tiles; tile += gridDim.x)
        for (int k = 0; k < room.n_chunks; k++, chunk++) {
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
    Loader loader;
    int slot = 0;
    uint32_t first = 0;
    begin_loading<G>(p, room, warp, loader);
    for (int i = 0; i < G::stages - 1; i++)
        load_next<G>(p, room, warp, loader);
    wait_for_predecessor();
    for (int tile = blockIdx.x; tile < room.n_tiles; tile += gridDim.x, first += room.n_chunks) {
        float y[G::tokens / 2];
        multiply_tile<G>(p, room, warp, loader, slot, first, y);
        if constexpr (G::by_columns == 2)
            exchange_sums<G>(room, warp, tile == (int)blockIdx.x, y);
        if (G::by_columns == 1 || warp.group == 0)
            store_tile<G>(p, room, warp, tile, y);
    }
    wait_for_copies<0>();
}

template <class G>
INLINE void
run_group(const SundogCudaGroupLinear &p)
{
    extern __shared__ __align__(128) char shared[];
    GroupRoom room = find_room<G>(p.product, shared);
    start_dependents();
    if (threadIdx.x == 0) {
        for (int i = 0; i < G::x_stages; i++) {
            barrier_init(room.full + i * 8, 1);
            barrier_init(room.empty + i * 8, G::n_releases);
        }
        barrier_publish();
    }
    __syncthreads();
    if (threadIdx.x < MULTIPLIERS) {
        take_registers<232>();
        multiply<G>(p.product, room);
    } else {
        keep_registers<40>();
        wait_for_predecessor();
        if (threadIdx.x == MULTIPLIERS)
            copy_x<G>(p, room);
    }
}
