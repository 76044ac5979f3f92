/*
 * attention of attention.h for many rows, by warpgroups (sm_90a; after Shah et al. 2024). A block takes 128
 * pairs of a row and a head of one group, 64 a warpgroup, and walks the pages from the last position down,
 * two at a time, so that what is masked comes first; of heads of 256 one at a time, whose queries lie in shared
 * memory. One thread brings keys and values in boxes. Scores of the next pages and results of those before are
 * multiplied at once. With a window, what comes last is masked too.
 *
 * Numeric class "128 positions", or "64": as "chunks of 16", merged from the last position down.
 */

#include "kernels/contract/cuda.h"

#if defined(__CUDA_ARCH_FEAT_SM90_ALL) || !defined(__CUDA_ARCH__)

#include "kernels/cuda/attention.cuh"
#include "kernels/cuda/barrier.cuh"
#include "kernels/cuda/wgmma.cuh"

#define POSITIONS(C) SUNDOG_CUDA_FLASH_POSITIONS(C)
#define STAGES SUNDOG_CUDA_FLASH_STAGES
#define PAGES_AT_ONCE(C) (POSITIONS(C) / PAGE)
#define MULTIPLIERS 256
#define GROUP_PAIRS 64
#define QUERIES_ARE_SHARED(C) SUNDOG_CUDA_FLASH_SHARES_QUERIES(C)
#define LOG2_E 1.4426950408889634f
#define GROUP_BARRIER 1

/* A ring of keys or of values: shared addresses. */
struct FlashRing {
    uint32_t full, empty, data;
};

struct FlashRooms {
    FlashRing keys, values;
    char *value_data;
    uint32_t queries; /* of this warpgroup, [C / 64][64 pairs][64] */
};

/* Which of the pages the block walks, as many as come at once; and from where on rows see them. */
struct FlashWalk {
    int first; /* the first such stretch of pages */
    int n_rounds;
    int begin; /* the first position that any row sees */
};

template <int C>
INLINE FlashRooms
find_rooms(char *shared)
{
    FlashRooms rooms;
    constexpr int stage_bytes = POSITIONS(C) * C * 2;
    uint32_t base = shared_address(shared), data = (base + 2047) & ~1023u;
    rooms.keys = {base, base + 8 * STAGES, data};
    rooms.values = {base + 16 * STAGES, base + 24 * STAGES, data + STAGES * stage_bytes};
    rooms.value_data = shared + (rooms.values.data - base);
    rooms.queries =
        rooms.values.data + STAGES * stage_bytes + threadIdx.x / 128 * GROUP_PAIRS * C * 2;
    return rooms;
}

INLINE FlashWalk
find_walk(const SundogCudaFlash &p, const Task &task, int positions)
{
    int row = task.position + task.first_pair / task.per_group;
    FlashWalk walk;
    walk.begin = p.window > 0 ? max(row + 1 - p.window, 0) : 0;
    walk.first = walk.begin / positions;
    walk.n_rounds = task.last / positions + 1 - walk.first;
    return walk;
}

/* Where a round's positions begin. */
INLINE int
find_position(const FlashWalk &walk, int round, int positions)
{
    return (walk.first + walk.n_rounds - 1 - round) * positions;
}

/* One of the pages of a round, or its neighbour where that is not seen. */
INLINE int
find_seen_page(const SundogCudaFlash &p, const Task &task, const FlashWalk &walk, int index)
{
    index = min(max(index, walk.begin / PAGE), task.last / PAGE);
    return find_page(p.attention, task.sequence, index);
}

/* Keys of a page lie [C][64], one page after the other; values [64 of C][128 or 64 positions][64]. */
template <int C>
INLINE void
copy_keys(const SundogCudaFlash &p, const Task &task, const FlashWalk &walk, uint32_t to,
          uint32_t full, int first_page)
{
    barrier_expect(full, POSITIONS(C) * C * 2);
    for (int i = 0; i < PAGES_AT_ONCE(C); i++) {
        int page = find_seen_page(p, task, walk, first_page + i);
        copy_box(to + i * C * PAGE * 2, &p.k, 0, (page * p.attention.n_kv_heads + task.group) * C,
                 full);
    }
}

template <int C>
INLINE void
copy_values(const SundogCudaFlash &p, const Task &task, const FlashWalk &walk, uint32_t to,
            uint32_t full, int first_page)
{
    barrier_expect(full, POSITIONS(C) * C * 2);
    for (int i = 0; i < PAGES_AT_ONCE(C); i++) {
        int page = find_seen_page(p, task, walk, first_page + i);
        for (int d = 0; d < C; d += 64)
            copy_box(to + d / 64 * POSITIONS(C) * 128 + i * PAGE * 128, &p.v, d,
                     (page * p.attention.n_kv_heads + task.group) * PAGE, full);
    }
}

/* The thread that copies: keys a round ahead of values. */
template <int C>
INLINE void
copy_pages(const SundogCudaFlash &p, const Task &task, const FlashRooms &rooms,
           const FlashWalk &walk)
{
    constexpr int stage_bytes = POSITIONS(C) * C * 2;
    for (int round = 0; round <= walk.n_rounds; round++) {
        int stage = round % STAGES, before = (round + STAGES - 1) % STAGES;
        if (round < walk.n_rounds) {
            barrier_wait(rooms.keys.empty + stage * 8, (round / STAGES & 1) ^ 1);
            copy_keys<C>(p, task, walk, rooms.keys.data + stage * stage_bytes,
                         rooms.keys.full + stage * 8,
                         find_position(walk, round, POSITIONS(C)) / PAGE);
        }
        if (round > 0) {
            barrier_wait(rooms.values.empty + before * 8, ((round - 1) / STAGES & 1) ^ 1);
            copy_values<C>(p, task, walk, rooms.values.data + before * stage_bytes,
                           rooms.values.full + before * 8,
                           find_position(walk, round - 1, POSITIONS(C)) / PAGE);
        }
    }
}

/* A warp's 16 pairs: rows g and g + 8 of the fragments. */
template <int C> struct FlashState {
    uint32_t q[QUERIES_ARE_SHARED(C) ? 1 : C / 16][4];
    float o[C / 2];
    float s[POSITIONS(C) / 2];
    uint32_t weights[POSITIONS(C) / 16][4];
    float greatest[2], sum[2], factor[2];
    int limit[2]; /* position of the pair's row; -1 where there is no pair */
    int begin[2]; /* the first that it sees */
};

/* A pair's query, [C]. */
template <int C>
INLINE const float *
find_query(const SundogCudaAttention &p, const Task &task, int pair)
{
    bool is_there = pair < task.n_pairs;
    int row = task.first_row + (is_there ? pair / task.per_group : 0);
    int head = task.group * task.per_group + (is_there ? pair % task.per_group : 0);
    return (const float *)p.qkv + ((size_t)row * (p.n_heads + 2 * p.n_kv_heads) + head) * C;
}

/* Queries, scaled and rounded to bf16, straight to the A operand. */
template <int C>
INLINE void
load_queries(const SundogCudaAttention &p, const Task &task, FlashState<C> &state)
{
    int lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < 2; i++) {
        int pair = task.first_pair + threadIdx.x / 32 * 16 + lane / 4 + 8 * i;
        const float *query = find_query<C>(p, task, pair) + lane % 4 * 2;
#pragma unroll
        for (int step = 0; step < C / 16; step++)
#pragma unroll
            for (int half = 0; half < 2; half++) {
                float2 v = __ldcg((const float2 *)(query + step * 16 + half * 8));
                state.q[step][half * 2 + i] = pack_bf16(v.x * p.scale, v.y * p.scale);
            }
    }
}

/* The threads of a warpgroup, and what they wrote to shared memory for its products. */
INLINE void
join_group()
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    asm volatile("bar.sync %0, 128;" ::"r"(GROUP_BARRIER + threadIdx.x / 128) : "memory");
}

/* The same to shared memory, by eights of dimensions. */
template <int C>
INLINE void
stage_queries(const SundogCudaAttention &p, const Task &task, char *to)
{
#pragma unroll 4
    for (int i = threadIdx.x % 128; i < GROUP_PAIRS * (C / 8); i += 128) {
        int pair = i / (C / 8), piece = i % (C / 8);
        const float *query =
            find_query<C>(p, task, task.first_pair + threadIdx.x / 128 * GROUP_PAIRS + pair) +
            piece * 8;
        float4 a = __ldcg((const float4 *)query), b = __ldcg((const float4 *)query + 1);
        *(uint4 *)(to + piece / 8 * GROUP_PAIRS * 128 + pair * 128 +
                   ((piece % 8 ^ pair % 8) << 4)) =
            make_uint4(
                pack_bf16(a.x * p.scale, a.y * p.scale), pack_bf16(a.z * p.scale, a.w * p.scale),
                pack_bf16(b.x * p.scale, b.y * p.scale), pack_bf16(b.z * p.scale, b.w * p.scale));
    }
    join_group();
}

template <int C>
INLINE void
init_state(const SundogCudaFlash &p, const Task &task, FlashState<C> &state)
{
#pragma unroll
    for (int i = 0; i < 2; i++) {
        int pair = task.first_pair + threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4 + 8 * i;
        state.limit[i] = pair < task.n_pairs ? task.position + pair / task.per_group : -1;
        state.begin[i] = p.window > 0 ? state.limit[i] + 1 - p.window : 0;
        state.greatest[i] = -INFINITY;
        state.sum[i] = 0;
    }
}

template <int C>
INLINE void
score(FlashState<C> &state, const FlashRooms &rooms, int round)
{
    int stage = round % STAGES;
    barrier_wait(rooms.keys.full + stage * 8, round / STAGES & 1);
    uint64_t keys = describe_columns(rooms.keys.data + stage * POSITIONS(C) * C * 2, C * PAGE * 2);
    begin_products();
#pragma unroll
    for (int step = 0; step < C / 16; step++)
        if constexpr (QUERIES_ARE_SHARED(C))
            multiply_shared_columns(
                state.s, describe_rows(rooms.queries + step / 4 * GROUP_PAIRS * 128) + step % 4 * 2,
                keys + step * 128, step > 0);
        else
            multiply_columns<POSITIONS(C)>(state.s, state.q[step], keys + step * 128, step > 0);
    commit_products();
}

/* Rows of values that no row of the tile sees, in the rounds that have them: there may be anything, and nothing
 * times NaN is NaN. Each warpgroup clears them for itself. */
template <int C>
INLINE void
clear_values(char *values, int begin, int end)
{
    for (int i = threadIdx.x % 128; i < (end - begin) * (C / 8); i += 128) {
        int row = begin + i / (C / 8), piece = i % (C / 8);
        *(uint4 *)(values + piece / 8 * POSITIONS(C) * 128 + row * 128 + piece % 8 * 16) =
            make_uint4(0, 0, 0, 0);
    }
    join_group();
}

template <int C>
INLINE void
add_values(FlashState<C> &state, const FlashRooms &rooms, const Task &task, const FlashWalk &walk,
           int round)
{
    constexpr int stage_bytes = POSITIONS(C) * C * 2;
    int stage = round % STAGES, first = find_position(walk, round, POSITIONS(C));
    char *data = rooms.value_data + stage * stage_bytes;
    barrier_wait(rooms.values.full + stage * 8, round / STAGES & 1);
    if (first + POSITIONS(C) > task.last + 1)
        clear_values<C>(data, task.last + 1 - first, POSITIONS(C));
    if (first < walk.begin)
        clear_values<C>(data, 0, walk.begin - first);
    uint64_t values = describe_columns(rooms.values.data + stage * stage_bytes, POSITIONS(C) * 128);
    begin_products();
#pragma unroll
    for (int step = 0; step < POSITIONS(C) / 16; step++)
        multiply_columns<C>(state.o, state.weights[step], values + step * 128,
                            round > 0 || step > 0);
    commit_products();
}

INLINE float
quad_max(float value)
{
    value = fmaxf(value, __shfl_xor_sync(~0u, value, 1));
    return fmaxf(value, __shfl_xor_sync(~0u, value, 2));
}

INLINE float
exp2_fast(float value)
{
    float result;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(value));
    return result;
}

/* Scores to weights in place. `factor` is what earlier results are to be multiplied by. */
template <int C>
INLINE void
weigh(FlashState<C> &state, int first_position)
{
    int t = threadIdx.x % 4 * 2;
    if (first_position + POSITIONS(C) - 1 > min(state.limit[0], state.limit[1]) ||
        first_position < max(state.begin[0], state.begin[1])) {
#pragma unroll
        for (int i = 0; i < POSITIONS(C) / 2; i++) {
            int position = first_position + i / 4 * 8 + t + i % 2;
            if (position > state.limit[i % 4 / 2] || position < state.begin[i % 4 / 2])
                state.s[i] = -INFINITY;
        }
    }
#pragma unroll
    for (int i = 0; i < 2; i++) {
        float greatest = state.greatest[i], sum = 0;
#pragma unroll
        for (int j = 0; j < POSITIONS(C) / 2; j += 4)
            greatest = fmaxf(greatest, fmaxf(state.s[j + i * 2], state.s[j + i * 2 + 1]));
        greatest = quad_max(greatest);
        float zero = greatest == -INFINITY ? 0 : greatest * LOG2_E;
        state.factor[i] = exp2_fast(fmaf(state.greatest[i], LOG2_E, -zero));
        state.greatest[i] = greatest;
#pragma unroll
        for (int j = 0; j < POSITIONS(C) / 2; j += 4)
#pragma unroll
            for (int k = 0; k < 2; k++) {
                float &weight = state.s[j + i * 2 + k];
                weight = exp2_fast(fmaf(weight, LOG2_E, -zero));
                sum += weight;
            }
        state.sum[i] = fmaf(state.sum[i], state.factor[i], sum);
    }
}

template <int C>
INLINE void
scale_results(FlashState<C> &state)
{
#pragma unroll
    for (int i = 0; i < C / 2; i++)
        state.o[i] *= state.factor[i % 4 / 2];
}

/* Scores as they lie are the A operand of what follows. */
template <int C>
INLINE void
pack_weights(FlashState<C> &state)
{
#pragma unroll
    for (int step = 0; step < POSITIONS(C) / 16; step++)
#pragma unroll
        for (int i = 0; i < 4; i++)
            state.weights[step][i] =
                pack_bf16(state.s[step * 8 + i * 2], state.s[step * 8 + i * 2 + 1]);
}

INLINE void
release(uint32_t empty, int round)
{
    if (threadIdx.x % 32 == 0)
        barrier_arrive(empty + round % STAGES * 8);
}

template <int C>
INLINE void
store_results(const SundogCudaAttention &p, const Task &task, FlashState<C> &state)
{
    int lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < 2; i++) {
        float sum = state.sum[i] + __shfl_xor_sync(~0u, state.sum[i], 1);
        sum += __shfl_xor_sync(~0u, sum, 2);
        int pair = task.first_pair + threadIdx.x / 32 * 16 + lane / 4 + 8 * i;
        if (pair >= task.n_pairs)
            continue;
        int row = task.first_row + pair / task.per_group;
        int head = task.group * task.per_group + pair % task.per_group;
        uint16_t *to = (uint16_t *)p.o + ((size_t)row * p.n_heads + head) * C + lane % 4 * 2;
        float inverse = 1.0f / sum;
#pragma unroll
        for (int n = 0; n < C / 8; n++)
            *(uint32_t *)(to + n * 8) =
                pack_bf16(state.o[n * 4 + i * 2] * inverse, state.o[n * 4 + i * 2 + 1] * inverse);
    }
}

template <int C>
INLINE void
attend(const SundogCudaFlash &p, const Task &task, const FlashRooms &rooms, const FlashWalk &walk,
       char *queries)
{
    FlashState<C> state;
    init_state<C>(p, task, state);
    if constexpr (QUERIES_ARE_SHARED(C))
        stage_queries<C>(p.attention, task, queries);
    else
        load_queries<C>(p.attention, task, state);
    score<C>(state, rooms, 0);
    wait_for_products<0>();
    settle_sums(state.s);
    release(rooms.keys.empty, 0);
    weigh<C>(state, find_position(walk, 0, POSITIONS(C)));
    pack_weights<C>(state);
#pragma unroll 1
    for (int round = 1; round < walk.n_rounds; round++) {
        score<C>(state, rooms, round);
        add_values<C>(state, rooms, task, walk, round - 1);
        wait_for_products<1>();
        settle_sums(state.s);
        release(rooms.keys.empty, round);
        weigh<C>(state, find_position(walk, round, POSITIONS(C)));
        wait_for_products<0>();
        settle_sums(state.o);
        release(rooms.values.empty, round - 1);
        scale_results<C>(state);
        pack_weights<C>(state);
    }
    add_values<C>(state, rooms, task, walk, walk.n_rounds - 1);
    wait_for_products<0>();
    settle_sums(state.o);
    store_results<C>(p.attention, task, state);
}

/* A warpgroup that no pairs are left for lets go of what comes. */
INLINE void
pass_by(const FlashRooms &rooms, const FlashWalk &walk)
{
    for (int round = 0; round < walk.n_rounds; round++) {
        barrier_wait(rooms.keys.full + round % STAGES * 8, round / STAGES & 1);
        release(rooms.keys.empty, round);
        barrier_wait(rooms.values.full + round % STAGES * 8, round / STAGES & 1);
        release(rooms.values.empty, round);
    }
}

template <int C>
INLINE void
run_flash(const SundogCudaFlash &p)
{
    extern __shared__ __align__(128) char shared[];
    FlashRooms rooms = find_rooms<C>(shared);
    Task task;
    start_dependents();
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++) {
            barrier_init(rooms.keys.full + i * 8, 1);
            barrier_init(rooms.values.full + i * 8, 1);
            barrier_init(rooms.keys.empty + i * 8, MULTIPLIERS / 32);
            barrier_init(rooms.values.empty + i * 8, MULTIPLIERS / 32);
        }
        barrier_publish();
    }
    __syncthreads();
    wait_for_predecessor();
    /* Later tiles of a prompt see more positions, so they come first. */
    if (!find_task(p.attention, __ldcg((const int32_t *)p.attention.tiles) - 1 - (int)blockIdx.x,
                   SUNDOG_CUDA_FLASH_PAIRS, task))
        return;
    FlashWalk walk = find_walk(p, task, POSITIONS(C));
    if (threadIdx.x < MULTIPLIERS) {
        take_registers<240>();
        if (task.first_pair + (int)threadIdx.x / 128 * GROUP_PAIRS < task.n_pairs)
            attend<C>(p, task, rooms, walk, shared + (rooms.queries - shared_address(shared)));
        else
            pass_by(rooms, walk);
    } else {
        keep_registers<24>();
        if (threadIdx.x == MULTIPLIERS)
            copy_pages<C>(p, task, rooms, walk);
    }
}

SUNDOG_ENTRY
__launch_bounds__(SUNDOG_CUDA_FLASH_THREADS, 1)
    sundog_flash_64(const __grid_constant__ SundogCudaFlash p)
{
    run_flash<64>(p);
}

SUNDOG_ENTRY
__launch_bounds__(SUNDOG_CUDA_FLASH_THREADS, 1)
    sundog_flash_128(const __grid_constant__ SundogCudaFlash p)
{
    run_flash<128>(p);
}

SUNDOG_ENTRY
__launch_bounds__(SUNDOG_CUDA_FLASH_THREADS, 1)
    sundog_flash_256(const __grid_constant__ SundogCudaFlash p)
{
    run_flash<256>(p);
}

#endif
