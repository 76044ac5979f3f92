/*
 * attention.h with all that it knows, for heads of any even size: windows, chunks, soft caps, sinks, views both
 * ways, pages of bf16 and of q8. A block takes pairs of a row and a head of one group, and a share of the pages
 * that they see. Four warps have the same 16 pairs: each scores a quarter of a page's positions, their weights
 * meet in shared memory, and each sums a quarter of the values' dimensions. Keys and values come through a ring
 * of slots, by turns. The kernels of attention.cu and flash.cu, for what they know, are faster.
 *
 * Heads of SUNDOG_CUDA_ATTEND_LATENT are latents (latent.h), whose values are their keys: one slot serves both.
 */

#include "kernels/cuda/device.cuh"

#include "kernels/contract/attention.h"
#include "kernels/contract/math.h"

#define PAGE SUNDOG_PAGE_TOKENS
#define SHARERS 4 /* warps with the same pairs */
#define WARP_PAIRS 16
#define POSITIONS (PAGE / SHARERS) /* of a page, of a warp */
#define LANE ((int)threadIdx.x % 32)
#define WARP ((int)threadIdx.x / 32)
#define SHARER (WARP % SHARERS)
#define WEIGHT_STRIDE (PAGE + 8) /* eight rows lie in different banks */

/* One block's work. Positions are those of the sequence. */
struct Task {
    int sequence, group, per_group;
    int first_row, position; /* of the tile */
    int length;              /* of the sequence, where views go both ways */
    int first_pair, n_pairs;
    int end; /* past the last position that any pair sees */
    int first_page, end_page;
};

/* A warp's results: rows g and g + 8 of fragments, a quarter of the dimensions. */
template <int C> struct State {
    float o[C / SHARERS / 8][4];
    float greatest[2], sum[2];
    int begin[2], end[2]; /* positions that the row sees */
};

/* What is known of a kernel: the dimensions that it has room for, its block's pairs, and whether heads have all of
 * those dimensions, in bf16, as most do. */
template <int DIMENSIONS, int BLOCK_PAIRS, bool IS_FULL> struct Plan {
    static constexpr int C = DIMENSIONS, pairs = BLOCK_PAIRS;
    static constexpr int threads = SUNDOG_CUDA_ATTEND_THREADS(pairs);
    static constexpr int n_slots = SUNDOG_CUDA_ATTEND_SLOTS(C, pairs), slot_bytes = C * PAGE * 2;
    static constexpr int query_stride = C + 8;
    static constexpr bool are_latents = C == SUNDOG_CUDA_ATTEND_LATENT, is_full = IS_FULL;
};

/* Shared addresses. */
struct Rooms {
    uint32_t slots, queries, weights;
    float *stats; /* [pairs][SHARERS] */
    uint16_t *query_data, *weight_data;
    char *slot_data;
};

template <class P>
INLINE Rooms
find_rooms(char *shared)
{
    Rooms rooms;
    char *queries = shared + P::n_slots * P::slot_bytes;
    char *weights = queries + P::pairs * P::query_stride * 2;
    rooms.slot_data = shared;
    rooms.slots = shared_address(shared);
    rooms.query_data = (uint16_t *)queries;
    rooms.queries = shared_address(queries);
    rooms.weight_data = (uint16_t *)weights;
    rooms.weights = shared_address(weights);
    rooms.stats = (float *)(weights + P::pairs * WEIGHT_STRIDE * 2);
    return rooms;
}

/* Dimensions of a head. */
template <class P>
INLINE int
find_head_dim(const SundogCudaAttend &p)
{
    return P::is_full ? P::C : p.head_dim;
}

/* The work */

INLINE int
find_begin(const SundogCudaAttend &p, int position)
{
    if (p.chunk > 0)
        return position - position % p.chunk;
    return p.window > 0 ? max(position + 1 - p.window, 0) : 0;
}

INLINE int
find_end(const SundogCudaAttend &p, const Task &task, int position)
{
    if (!p.both_ways)
        return position + 1;
    return p.window > 0 ? min(task.length, position + p.window) : task.length;
}

/* How long the sequence of a tile is: its tiles stand one after the other. For all threads of a block. */
INLINE int
find_length(const SundogCudaAttend &p, int index, int4 tile)
{
    const int4 *tiles = (const int4 *)p.tiles + 1;
    int n_tiles = __ldcg((const int32_t *)p.tiles), last = index, n_same = blockDim.x;
    while (n_same == (int)blockDim.x) {
        int i = last + 1 + threadIdx.x;
        n_same = __syncthreads_count(i < n_tiles && __ldcg(&tiles[i].x) == tile.x);
        last += n_same;
    }
    int4 end = __ldcg(tiles + last);
    return end.w + end.z;
}

/* False where the block has none. */
INLINE bool
find_task(const SundogCudaAttend &p, int block_pairs, Task &task)
{
    int4 tile = __ldcg((const int4 *)p.tiles + 1 + blockIdx.x);
    task.sequence = tile.x;
    task.first_row = tile.y;
    task.position = tile.w;
    task.per_group = p.n_heads / p.n_kv_heads;
    task.group = blockIdx.y % p.n_kv_heads;
    task.first_pair = blockIdx.y / p.n_kv_heads * block_pairs;
    task.n_pairs = min(tile.z * task.per_group - task.first_pair, block_pairs);
    if (task.n_pairs <= 0)
        return false;
    task.length = p.both_ways ? find_length(p, blockIdx.x, tile) : 0;
    int last_pair = task.first_pair + task.n_pairs - 1;
    int begin = find_begin(p, task.position + task.first_pair / task.per_group);
    task.end = find_end(p, task, task.position + last_pair / task.per_group);
    int first_page = begin / PAGE, n_pages = (task.end - 1) / PAGE + 1 - first_page;
    task.first_page = first_page + n_pages * (int)blockIdx.z / p.n_splits;
    task.end_page = first_page + n_pages * ((int)blockIdx.z + 1) / p.n_splits;
    return true;
}

INLINE int
find_row(const Task &task, int pair)
{
    return (task.first_pair + pair) / task.per_group;
}

/* A pair's place among all rows and heads. */
INLINE size_t
find_place(const SundogCudaAttend &p, const Task &task, int pair)
{
    int head = task.group * task.per_group + (task.first_pair + pair) % task.per_group;
    return (size_t)(task.first_row + find_row(task, pair)) * p.n_heads + head;
}

/* Pages to slots: keys [C][64], values [64][C], 16-byte pieces exchanged so that eight rows of one column of
 * pieces lie in different banks. */

INLINE uint32_t
key_offset(int d, int piece)
{
    return d * (PAGE * 2) + ((piece ^ (d & 7)) << 4);
}

template <int C>
INLINE uint32_t
value_offset(int position, int piece)
{
    return position * (C * 2) + ((piece ^ (position & 7)) << 4);
}

/* 16 bytes, of which those past the first n_bytes are zero. */
INLINE void
copy_piece(uint32_t to, const void *from, int n_bytes)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(n_bytes)
                 : "memory");
}

/* Keys past the last position may be anything, and are not looked at; but zero where they are values too. */
template <class P>
INLINE void
copy_keys(uint32_t to, const uint16_t *keys, int head_dim, int n_valid)
{
    /* Whole eights of dimensions from one to the next, so that a thread's pieces are exchanged alike. */
    constexpr int step = P::threads / (PAGE / 8);
    int d = threadIdx.x / (PAGE / 8), piece = threadIdx.x % (PAGE / 8);
    int n_bytes = P::are_latents ? min(max(n_valid - piece * 8, 0), 8) * 2 : 16;
    to += key_offset(d, piece);
    keys += d * PAGE + piece * 8;
    if constexpr (P::is_full) {
#pragma unroll
        for (int i = 0; i < P::C / step; i++)
            copy_piece(to + i * step * PAGE * 2, keys + i * step * PAGE, n_bytes);
    } else {
        for (int i = 0; d + i * step < head_dim; i++)
            copy_piece(to + i * step * PAGE * 2, keys + i * step * PAGE, n_bytes);
    }
}

/* Values past the last position are zero: there may be anything, and nothing times NaN is NaN. */
template <class P>
INLINE void
copy_values(uint32_t to, const uint16_t *values, int head_dim, int n_valid)
{
    constexpr int n_unrolled = P::is_full ? P::C * PAGE / 8 / P::threads : 1;
    int n_pieces = P::is_full ? P::C / 8 : head_dim / 8;
#pragma unroll n_unrolled
    for (int i = threadIdx.x; i < PAGE * n_pieces; i += P::threads) {
        int position = i / n_pieces, piece = i % n_pieces;
        copy_piece(to + value_offset<P::C>(position, piece), values + i * 8,
                   position < n_valid ? 16 : 0);
    }
}

/* Element d of the values at a position, of any size of head. */
template <int C>
INLINE uint16_t *
find_value(char *slot, int position, int d)
{
    return (uint16_t *)(slot + value_offset<C>(position, d / 8)) + d % 8;
}

template <int C>
INLINE void
move_values(char *slot, const uint16_t *values, int head_dim, int n_valid)
{
    for (int i = threadIdx.x; i < PAGE * head_dim; i += blockDim.x) {
        int position = i / head_dim, d = i % head_dim;
        *find_value<C>(slot, position, d) = position < n_valid ? __ldcg(values + i) : 0;
    }
}

/* q8, a byte at a time to bf16: keys and values alike but for where they lie. */
template <int C, bool ARE_KEYS>
INLINE void
widen_part(char *slot, const int8_t *bytes, int head_dim, int n_valid)
{
    const float *scales = (const float *)(bytes + (size_t)head_dim * PAGE);
#pragma unroll 4
    for (int i = threadIdx.x; i < PAGE * head_dim; i += blockDim.x) {
        int position = ARE_KEYS ? i % PAGE : i / head_dim, d = ARE_KEYS ? i / PAGE : i % head_dim;
        float scale = __ldcg(scales + d / SUNDOG_Q8_BLOCK * PAGE + position);
        uint16_t value =
            position < n_valid ? to_bf16((float)__ldcg((const signed char *)bytes + i) * scale) : 0;
        if (ARE_KEYS)
            *((uint16_t *)(slot + key_offset(d, position / 8)) + position % 8) = value;
        else
            *find_value<C>(slot, position, d) = value;
    }
}

/* Begins to bring a page's keys or values. */
template <class P>
INLINE void
load_part(const SundogCudaAttend &p, const Task &task, const Rooms &rooms, int slot, int index,
          int page, bool are_keys)
{
    int n_valid = task.end - index * PAGE, at = slot * P::slot_bytes;
    int head_dim = find_head_dim<P>(p);
    size_t part = (size_t)page * p.n_kv_heads + task.group;
    const char *pages = (const char *)(are_keys ? p.k_pages : p.v_pages);
    if (!P::is_full && p.are_q8) {
        size_t part_bytes = (size_t)PAGE * (head_dim + (head_dim + SUNDOG_Q8_BLOCK - 1) /
                                                           SUNDOG_Q8_BLOCK * sizeof(float));
        const int8_t *bytes = (const int8_t *)pages + part * part_bytes;
        if (are_keys)
            widen_part<P::C, true>(rooms.slot_data + at, bytes, head_dim, n_valid);
        else
            widen_part<P::C, false>(rooms.slot_data + at, bytes, head_dim, n_valid);
        return;
    }
    const uint16_t *elements = (const uint16_t *)pages + part * head_dim * PAGE;
    if (are_keys)
        copy_keys<P>(rooms.slots + at, elements, head_dim, n_valid);
    else if (P::is_full || head_dim % 8 == 0)
        copy_values<P>(rooms.slots + at, elements, head_dim, n_valid);
    else
        move_values<P::C>(rooms.slot_data + at, elements, head_dim, n_valid);
}

/* What goes through the ring: keys and values of each page, or latents. */
struct Stream {
    int next;  /* to be brought */
    int page;  /* whose values are next */
    int ahead; /* the number of the page after it, so that no copy waits for it */
};

INLINE int
find_page(const SundogCudaAttend &p, const Task &task, int index)
{
    return index < task.end_page ? __ldcg((const int32_t *)p.page_table +
                                          (size_t)task.sequence * p.sequence_pages + index)
                                 : SUNDOG_NULL_PAGE;
}

/* Brings what is next, if anything is left; commits a group in any case. */
template <class P>
INLINE void
load_next(const SundogCudaAttend &p, const Task &task, const Rooms &rooms, Stream &stream)
{
    constexpr int a_page = P::are_latents ? 1 : 2;
    int index = task.first_page + stream.next / a_page;
    bool are_keys = stream.next % a_page == 0;
    if (index < task.end_page) {
        if (are_keys) {
            stream.page = stream.ahead;
            stream.ahead = find_page(p, task, index + 1);
        }
        load_part<P>(p, task, rooms, stream.next % P::n_slots, index, stream.page, are_keys);
    }
    stream.next++;
    commit_copies();
}

/* Two dimensions of the block's pairs, in turn; nothing past the last pair and dimension. */
template <class P>
INLINE float2
load_query(const SundogCudaAttend &p, const Task &task, int i)
{
    int pair = i / (P::C / 2), d = i % (P::C / 2) * 2, head_dim = find_head_dim<P>(p);
    if (pair >= task.n_pairs || d >= head_dim)
        return make_float2(0, 0);
    int row = task.first_row + find_row(task, pair);
    int head = task.group * task.per_group + (task.first_pair + pair) % task.per_group;
    return __ldcg(
        (const float2 *)((const float *)p.qkv + (size_t)row * p.n_columns + head * head_dim + d));
}

/* Queries, scaled, in bf16. A thread has several loads on their way at once. */
template <class P>
INLINE void
stage_queries(const SundogCudaAttend &p, const Task &task, const Rooms &rooms)
{
    constexpr int n = P::pairs * P::C / 2, at_once = n / P::threads % 8 == 0 ? 8 : 4;
    for (int first = threadIdx.x; first < n; first += at_once * P::threads) {
        float2 v[at_once];
#pragma unroll
        for (int j = 0; j < at_once; j++)
            v[j] = load_query<P>(p, task, first + j * P::threads);
#pragma unroll
        for (int j = 0; j < at_once; j++) {
            int i = first + j * P::threads, pair = i / (P::C / 2), d = i % (P::C / 2) * 2;
            *(uint32_t *)(rooms.query_data + pair * P::query_stride + d) =
                pack_bf16(v[j].x * p.scale, v[j].y * p.scale);
        }
    }
}

/* Dimensions of keys that fill up a step of products, in the slots that hold keys. */
template <class P>
INLINE void
clear_dimensions(const SundogCudaAttend &p, const Rooms &rooms)
{
    int n = (p.head_dim + 15) / 16 * 16 - p.head_dim;
    for (int slot = 0; slot < P::n_slots; slot++)
        for (int i = threadIdx.x; i < n * PAGE / 2; i += blockDim.x)
            ((uint32_t *)(rooms.slot_data + slot * P::slot_bytes + p.head_dim * PAGE * 2))[i] = 0;
}

template <int C>
INLINE void
init_state(const SundogCudaAttend &p, const Task &task, State<C> &state)
{
    state = {};
#pragma unroll
    for (int i = 0; i < 2; i++) {
        int pair = WARP / SHARERS * WARP_PAIRS + LANE / 4 + 8 * i;
        int position = task.position + find_row(task, pair);
        bool is_there = pair < task.n_pairs;
        state.greatest[i] = -INFINITY;
        state.begin[i] = is_there ? find_begin(p, position) : 0;
        state.end[i] = is_there ? find_end(p, task, position) : 0;
    }
}

/* Four 8 x 8 matrices of 16-bit values from rows in shared memory. */
INLINE void
load_rows(uint32_t (&r)[4], uint32_t address)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(address)
                 : "memory");
}

/* The A operand: 16 rows, columns from `column` on. */
INLINE void
load_operand(uint32_t (&a)[4], uint32_t rows, int stride, int column)
{
    int row = WARP / SHARERS * WARP_PAIRS + LANE % 16;
    load_rows(a, rows + (row * stride + column + LANE / 16 * 8) * 2);
}

/* Products of a step of 16 dimensions with the warp's 16 positions: two fragments of 8. */
template <class P>
INLINE void
score_step(const Rooms &rooms, uint32_t keys, int step, float (&sums)[2][4])
{
    uint32_t a[4], b[4];
    load_operand(a, rooms.queries, P::query_stride, step * 16);
    load_transposed(b,
                    keys + key_offset(step * 16 + LANE % 16, SHARER * (POSITIONS / 8) + LANE / 16));
    multiply_add(sums[0], a, b[0], b[1]);
    multiply_add(sums[1], a, b[2], b[3]);
}

/* Scores. Even and odd steps are summed apart, for their products' latency. */
template <class P>
INLINE void
score(const SundogCudaAttend &p, const Rooms &rooms, uint32_t keys, float (&s)[2][4])
{
    constexpr int n_most =
        P::threads > 256 && P::C >= 256 ? 2 : 4; /* else registers do not suffice */
    constexpr int n_unrolled = !P::is_full ? 1 : P::pairs > WARP_PAIRS ? n_most : 8;
    float sums[2][2][4] = {};
    int n_steps = (find_head_dim<P>(p) + 15) / 16;
#pragma unroll n_unrolled
    for (int step = 0; step + 1 < n_steps; step += 2) {
        score_step<P>(rooms, keys, step, sums[0]);
        score_step<P>(rooms, keys, step + 1, sums[1]);
    }
    if (n_steps % 2 != 0)
        score_step<P>(rooms, keys, n_steps - 1, sums[0]);
#pragma unroll
    for (int i = 0; i < 8; i++) {
        float &sum = s[i / 4][i % 4];
        sum = sums[0][i / 4][i % 4] + sums[1][i / 4][i % 4];
        if (p.softcap > 0)
            sum = p.softcap * sundog_tanh(sum / p.softcap);
    }
}

INLINE float
quad_max(float value)
{
    value = fmaxf(value, __shfl_xor_sync(~0u, value, 1));
    return fmaxf(value, __shfl_xor_sync(~0u, value, 2));
}

INLINE float
quad_sum(float value)
{
    value += __shfl_xor_sync(~0u, value, 1);
    return value + __shfl_xor_sync(~0u, value, 2);
}

/* Puts a value of rows g and g + 8 where the other sharers find it. */
INLINE void
tell_sharers(float *stats, const float (&values)[2])
{
#pragma unroll
    for (int i = 0; i < 2; i++)
        if (LANE % 4 == 0)
            stats[(WARP / SHARERS * WARP_PAIRS + LANE / 4 + 8 * i) * SHARERS + SHARER] = values[i];
}

INLINE float4
ask_sharers(const float *stats, int i)
{
    return *(const float4 *)(stats + (WARP / SHARERS * WARP_PAIRS + LANE / 4 + 8 * i) * SHARERS);
}

/* Takes out what a row does not see, and tells the sharers the greatest. */
template <int C>
INLINE void
mask(const State<C> &state, const Rooms &rooms, int page_position, float (&s)[2][4])
{
    int position = page_position + SHARER * POSITIONS + LANE % 4 * 2;
    float greatest[2] = {-INFINITY, -INFINITY};
#pragma unroll
    for (int i = 0; i < 2; i++) {
#pragma unroll
        for (int j = 0; j < 4; j++) {
            float &value = s[j / 2][i * 2 + j % 2];
            int at = position + j / 2 * 8 + j % 2;
            if (at < state.begin[i] || at >= state.end[i])
                value = -INFINITY;
            greatest[i] = fmaxf(greatest[i], value);
        }
        greatest[i] = quad_max(greatest[i]);
    }
    tell_sharers(rooms.stats, greatest);
}

/* Scores to weights, which all sharers multiply; takes the running results to the new greatest. */
template <int C>
INLINE void
weigh(State<C> &state, const Rooms &rooms, float (&s)[2][4])
{
#pragma unroll
    for (int i = 0; i < 2; i++) {
        float4 found = ask_sharers(rooms.stats, i);
        float greatest = fmaxf(fmaxf(found.x, found.y), fmaxf(found.z, found.w));
        greatest = fmaxf(greatest, state.greatest[i]);
        float safe = greatest == -INFINITY ? 0 : greatest, sum = 0;
        float factor = __expf(state.greatest[i] - safe);
#pragma unroll
        for (int j = 0; j < 4; j++) {
            float &value = s[j / 2][i * 2 + j % 2];
            value = __expf(value - safe);
            sum += value;
        }
        state.sum[i] = fmaf(state.sum[i], factor, sum);
        state.greatest[i] = greatest;
        uint16_t *row = rooms.weight_data +
                        (WARP / SHARERS * WARP_PAIRS + LANE / 4 + 8 * i) * WEIGHT_STRIDE +
                        SHARER * POSITIONS;
#pragma unroll
        for (int n = 0; n < 2; n++)
            *(uint32_t *)(row + n * 8 + LANE % 4 * 2) = pack_bf16(s[n][i * 2], s[n][i * 2 + 1]);
#pragma unroll
        for (int n = 0; n < C / SHARERS / 8; n++) {
            state.o[n][i * 2] *= factor;
            state.o[n][i * 2 + 1] *= factor;
        }
    }
}

/* The B operand of 16 positions and 16 dimensions of the values; of latents, from rows of keys. */
template <class P>
INLINE void
load_values(uint32_t (&b)[4], uint32_t slot, int position, int d)
{
    if constexpr (P::are_latents)
        load_rows(b, slot + key_offset(d + LANE / 16 * 8 + LANE % 8, position / 8 + LANE / 8 % 2));
    else
        load_transposed(b, slot + value_offset<P::C>(position + LANE % 16, d / 8 + LANE / 16));
}

template <class P>
INLINE void
add_values(const SundogCudaAttend &p, State<P::C> &state, const Rooms &rooms, uint32_t values)
{
    constexpr int own = P::C / SHARERS;
    int head_dim = find_head_dim<P>(p);
#pragma unroll
    for (int position = 0; position < PAGE; position += 16) {
        uint32_t weights[4];
        load_operand(weights, rooms.weights, WEIGHT_STRIDE, position);
#pragma unroll
        for (int n = 0; n < own / 16; n++) {
            uint32_t b[4];
            if (SHARER * own + n * 16 >= head_dim)
                break;
            load_values<P>(b, values, position, SHARER * own + n * 16);
            multiply_add(state.o[n * 2], weights, b[0], b[1]);
            multiply_add(state.o[n * 2 + 1], weights, b[2], b[3]);
        }
    }
}

/* Waits for what is next in the ring, and for all threads; then that before it may be written over. */
template <class P>
INLINE void
take_next(const SundogCudaAttend &p, const Task &task, const Rooms &rooms, Stream &stream)
{
    wait_for_copies<P::n_slots - 2>();
    __syncthreads();
    load_next<P>(p, task, rooms, stream);
}

template <class P>
INLINE void
attend_pages(const SundogCudaAttend &p, const Task &task, const Rooms &rooms, Stream &stream,
             State<P::C> &state)
{
    int at = 0;
    for (int index = task.first_page; index < task.end_page; index++) {
        float s[2][4];
        uint32_t keys = rooms.slots + at % P::n_slots * P::slot_bytes, values = keys;
        take_next<P>(p, task, rooms, stream);
        score<P>(p, rooms, keys, s);
        mask(state, rooms, index * PAGE, s);
        __syncthreads();
        weigh(state, rooms, s);
        at++;
        if constexpr (P::are_latents) {
            __syncthreads();
        } else {
            take_next<P>(p, task, rooms, stream);
            values = rooms.slots + at++ % P::n_slots * P::slot_bytes;
        }
        add_values<P>(p, state, rooms, values);
    }
}

/* Results */

/* What a head's sink adds: its share of the sum, and by how much all else shrinks. */
INLINE float
add_sink(const SundogCudaAttend &p, int head, float &greatest, float sum)
{
    if (p.sinks == NULL)
        return sum;
    float sink = ((const float *)p.sinks)[head], merged = fmaxf(sink, greatest);
    sum = fmaf(sum, __expf(greatest - merged), __expf(sink - merged));
    greatest = merged;
    return sum;
}

/* Where two dimensions of one pair go: whole, or as a part. */
INLINE void
store_pair(const SundogCudaAttend &p, size_t place, int d, float2 o, float greatest, float sum)
{
    if (p.n_splits == 1) {
        float most = greatest, whole = add_sink(p, (int)(place % p.n_heads), most, sum);
        float factor = __expf(greatest - most) / whole;
        *(uint32_t *)((uint16_t *)p.o + place * p.head_dim + d) =
            pack_bf16(o.x * factor, o.y * factor);
        return;
    }
    float *part =
        (float *)p.parts + (place * p.n_splits + blockIdx.z) * SUNDOG_CUDA_PART_FLOATS(p.head_dim);
    *(float2 *)(part + d) = o;
    if (d == 0)
        *(float2 *)(part + p.head_dim) = make_float2(greatest, sum);
}

template <int C>
INLINE void
store_results(const SundogCudaAttend &p, const Task &task, const Rooms &rooms,
              const State<C> &state)
{
    const float sums[2] = {quad_sum(state.sum[0]), quad_sum(state.sum[1])};
    __syncthreads();
    tell_sharers(rooms.stats, sums);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 2; i++) {
        int pair = WARP / SHARERS * WARP_PAIRS + LANE / 4 + 8 * i;
        float4 found = ask_sharers(rooms.stats, i);
        float sum = (found.x + found.y) + (found.z + found.w);
        if (pair >= task.n_pairs)
            continue;
        size_t place = find_place(p, task, pair);
#pragma unroll
        for (int n = 0; n < C / SHARERS / 8; n++) {
            int d = SHARER * (C / SHARERS) + n * 8 + LANE % 4 * 2;
            if (d < p.head_dim)
                store_pair(p, place, d, make_float2(state.o[n][i * 2], state.o[n][i * 2 + 1]),
                           state.greatest[i], sum);
        }
    }
}

INLINE float
warp_max(float value)
{
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2)
        value = fmaxf(value, __shfl_xor_sync(~0u, value, distance));
    return value;
}

/* A pair's parts, in the order of splits: by a warp, of which each lane has a part's factor, and two dimensions of
 * each 64. */
template <int C>
INLINE void
merge_parts(const SundogCudaAttend &p, size_t place)
{
    constexpr int at_once = C <= 256 ? 8 : 4;
    int n_floats = SUNDOG_CUDA_PART_FLOATS(p.head_dim);
    const float *parts = (const float *)p.parts + place * p.n_splits * n_floats;
    float2 state = make_float2(-INFINITY, 0), o[C / 64] = {};
    if (LANE < p.n_splits)
        state = __ldcg((const float2 *)(parts + LANE * n_floats + p.head_dim));
    float greatest = warp_max(state.x), most = greatest;
    float own = __expf(state.x - greatest), sum = warp_sum(state.y * own);
    sum = add_sink(p, (int)(place % p.n_heads), most, sum);
    own *= __expf(greatest - most) / sum;
#pragma unroll at_once
    for (int s = 0; s < p.n_splits; s++) {
        float factor = __shfl_sync(~0u, own, s);
#pragma unroll
        for (int i = 0; i < C / 64; i++) {
            int d = i * 64 + LANE * 2;
            float2 part = make_float2(0, 0);
            if (d < p.head_dim)
                part = __ldcg((const float2 *)(parts + s * n_floats + d));
            o[i].x = fmaf(part.x, factor, o[i].x);
            o[i].y = fmaf(part.y, factor, o[i].y);
        }
    }
#pragma unroll
    for (int i = 0; i < C / 64; i++) {
        int d = i * 64 + LANE * 2;
        if (d < p.head_dim)
            *(uint32_t *)((uint16_t *)p.o + place * p.head_dim + d) = pack_bf16(o[i].x, o[i].y);
    }
}

/* The last block of the same pairs merges what all have left. */
template <int C>
INLINE void
merge_splits(const SundogCudaAttend &p, const Task &task)
{
    __shared__ int room;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
        room = (int)atomicInc((unsigned *)p.counters + 16 + blockIdx.x * gridDim.y + blockIdx.y,
                              p.n_splits - 1);
    __syncthreads();
    if (room != p.n_splits - 1)
        return;
    __threadfence();
    for (int pair = WARP; pair < task.n_pairs; pair += blockDim.x / 32)
        merge_parts<C>(p, find_place(p, task, pair));
}

template <class P>
INLINE void
attend(const SundogCudaAttend &p, const Task &task, char *shared)
{
    Rooms rooms = find_rooms<P>(shared);
    State<P::C> state;
    Stream stream = {.next = 0, .page = 0, .ahead = find_page(p, task, task.first_page)};
    if (!P::is_full) {
        clear_dimensions<P>(p, rooms);
        /* Values that are brought below lie where dimensions of keys have been cleared. */
        __syncthreads();
    }
    for (int i = 0; i < P::n_slots - 1; i++)
        load_next<P>(p, task, rooms, stream);
    stage_queries<P>(p, task, rooms);
    init_state(p, task, state);
    attend_pages<P>(p, task, rooms, stream, state);
    store_results(p, task, rooms, state);
    if (p.n_splits > 1)
        merge_splits<P::C>(p, task);
}

template <int C, int PAIRS>
INLINE void
run_attend(const SundogCudaAttend &p)
{
    extern __shared__ __align__(128) char shared[];
    Task task;
    start_dependents();
    wait_for_predecessor();
    if (!find_task(p, PAIRS, task))
        return;
    if (p.head_dim == C && !p.are_q8)
        attend<Plan<C, PAIRS, true>>(p, task, shared);
    else
        attend<Plan<C, PAIRS, false>>(p, task, shared);
}

#define ENTRY(head_dim, pairs)                                                         \
    SUNDOG_ENTRY __launch_bounds__(SUNDOG_CUDA_ATTEND_THREADS(pairs), 1)               \
        sundog_attend_##head_dim##_##pairs(const __grid_constant__ SundogCudaAttend p) \
    {                                                                                  \
        run_attend<head_dim, pairs>(p);                                                \
    }

#define ENTRIES(head_dim, few, many) ENTRY(head_dim, few) ENTRY(head_dim, many)
SUNDOG_CUDA_ATTEND_SIZES(ENTRIES)
