/*
 * rope_cache and attention of one row a sequence and up to eight heads a group: rope-cache.h and attention.h,
 * class "chunks of 16". The blocks that share a row and a group are a cluster: each takes a stretch of the
 * pages, and sends of its result to each of the others what that one merges, so that nothing passes through
 * memory and nobody is polled. Pages are on their way before the row's queries are there; its own key and value
 * come over what was loaded of the last page.
 *
 * A block's two teams of four warps take pages in turn, each warp 16 positions of a page. Pages lie in a
 * ring; the team that has read one fills its place.
 */

#include "kernels/cuda/attention-page.cuh"
#include "kernels/cuda/barrier.cuh"

/* Older targets have no clusters, and their launch lists none of this. */
#if __CUDA_ARCH__ >= 900

#define TEAM_THREADS 128
#define TEAMS 2
#define WARPS (TEAMS * TEAM_THREADS / 32)
#define THREADS (TEAMS * TEAM_THREADS)
#define PAIRS SUNDOG_CUDA_DECODE_PAIRS
static_assert(THREADS == SUNDOG_CUDA_DECODE_THREADS, "");

/* What a block has beside its pages. */
template <int C> struct DecodeHead {
    uint64_t full[SUNDOG_CUDA_DECODE_STAGES(C)];
    uint64_t received;
    float2 states[SUNDOG_CUDA_DECODE_SPLITS][PAIRS]; /* each block's greatest scores and sums */
    float parts[PAIRS * C];                          /* [splits][what this block merges] */
    uint16_t queries[PAIRS][C + 8]; /* bf16, scaled: eight rows lie in different banks */
};
static_assert(sizeof(DecodeHead<64>) <= SUNDOG_CUDA_DECODE_HEAD_BYTES, "");
static_assert(sizeof(DecodeHead<128>) <= SUNDOG_CUDA_DECODE_HEAD_BYTES, "");

/* A warp's results so far: lane 4 g + t has of heads 2 t and 2 t + 1 dimensions g and g + 8 of every 16, and the
 * sums of its own positions, g and g + 8 of every chunk. */
template <int C> struct DecodeState {
    float o[C / 16][4];
    float greatest[2], sum[2];
};

/* What a thread turns of queries and of the new key: two dimensions, and the angle of their pair; and the page
 * where the new row goes. */
struct Turn {
    int2 d;
    bool turns;
    float sine, cosine;
    int page;
};

/* That this block has begun, and its barriers are there. */
INLINE void
arrive_at_cluster()
{
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}

INLINE void
wait_for_cluster()
{
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

INLINE uint32_t
find_there(const void *here, int block)
{
    uint32_t there;
    asm("mapa.shared::cluster.u32 %0, %1, %2;"
        : "=r"(there)
        : "r"(shared_address(here)), "r"(block));
    return there;
}

/* Into another block's shared memory, where this block has `to`, and counted by its barrier. */
INLINE void
send(const void *to, const uint64_t *barrier, int block, float2 v)
{
    asm volatile(
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.f32 [%0], {%1, %2}, [%3];" ::"r"(
            find_there(to, block)),
        "f"(v.x), "f"(v.y), "r"(find_there(barrier, block))
        : "memory");
}

/* 8 x 8 values of 16 bits, a row for four lanes, transposed. */
INLINE uint32_t
transpose(uint32_t values)
{
    uint32_t transposed;
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(transposed) : "r"(values));
    return transposed;
}

/* Over lanes of the same heads. */
INLINE float
column_max(float value)
{
#pragma unroll
    for (int distance = 4; distance < 32; distance *= 2)
        value = fmaxf(value, __shfl_xor_sync(~0u, value, distance));
    return value;
}

INLINE float
column_sum(float value)
{
#pragma unroll
    for (int distance = 4; distance < 32; distance *= 2)
        value += __shfl_xor_sync(~0u, value, distance);
    return value;
}

INLINE void
wait_for_team()
{
    if (threadIdx.x < TEAM_THREADS)
        asm volatile("bar.sync 1, %0;" ::"n"(TEAM_THREADS) : "memory");
    else
        asm volatile("bar.sync 2, %0;" ::"n"(TEAM_THREADS) : "memory");
}

/* The barrier completes when all that the team has begun to copy is there. */
INLINE void
arrive_with_copies(uint32_t barrier)
{
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(barrier) : "memory");
}

template <int C>
INLINE uint32_t
find_place(uint32_t pages, const Task &task, int index)
{
    return pages + (index - task.first_page) % SUNDOG_CUDA_DECODE_STAGES(C) * (C * PAGE * 4);
}

template <int C>
INLINE uint32_t
find_full(const DecodeHead<C> *head, const Task &task, int index)
{
    return shared_address(head->full + (index - task.first_page) % SUNDOG_CUDA_DECODE_STAGES(C));
}

/* By a team. */
template <int C>
INLINE void
begin_page(const SundogCudaAttention &p, const Task &task, const DecodeHead<C> *head,
           uint32_t pages, int index)
{
    if (index >= task.end_page)
        return;
    load_page<C, TEAM_THREADS>(p, task, index, find_page(p, task.sequence, index),
                               find_place<C>(pages, task, index));
    arrive_with_copies(find_full<C>(head, task, index));
}

template <int C>
INLINE Turn
find_turn(const SundogCudaAttention &p, const Task &task)
{
    int i = threadIdx.x % (C / 2);
    Turn turn = {find_dimensions(p, i), i < p.rope_dims / 2, 0, 1,
                 find_page(p, task.sequence, task.position / PAGE)};
    if (turn.turns)
        find_angle(p, task.position, i, &turn.sine, &turn.cosine);
    return turn;
}

/* True where the row's own position is among the block's. */
INLINE bool
has_row(const Task &task)
{
    int page = task.position / PAGE;
    return page >= task.first_page && page < task.end_page;
}

INLINE float2
load_pair(const float *head, const Turn &turn)
{
    return make_float2(__ldcg(head + turn.d.x), __ldcg(head + turn.d.y));
}

INLINE float2
turned(float2 v, const Turn &turn)
{
    if (!turn.turns)
        return v;
    return make_float2(fmaf(v.x, turn.cosine, -(v.y * turn.sine)),
                       fmaf(v.y, turn.cosine, v.x * turn.sine));
}

/* Queries as bf16 in shared memory, zero past the last head; returns what this thread has of the new row: two
 * dimensions of its key or of its value. All loads are on their way at once. */
template <int C>
INLINE float2
stage_row(const SundogCudaAttention &p, const Task &task, const Turn &turn, DecodeHead<C> *head)
{
    constexpr int at_once = PAIRS * (C / 2) / THREADS, step = PAIRS / at_once;
    const float *row =
        (const float *)p.qkv + (size_t)task.first_row * (p.n_heads + 2 * p.n_kv_heads) * C;
    int first = threadIdx.x / (C / 2), team_thread = threadIdx.x % TEAM_THREADS;
    float2 q[at_once], added = make_float2(0, 0);
#pragma unroll
    for (int i = 0; i < at_once; i++) {
        int pair = first + i * step;
        q[i] = make_float2(0, 0);
        if (pair < task.per_group)
            q[i] = load_pair(row + (task.group * task.per_group + pair) * C, turn);
    }
    if (team_thread < C && has_row(task)) {
        int at = p.n_heads + task.group + (team_thread < C / 2 ? 0 : p.n_kv_heads);
        added = load_pair(row + (size_t)at * C, turn);
    }
#pragma unroll
    for (int i = 0; i < at_once; i++) {
        float2 v = turned(q[i], turn);
        head->queries[first + i * step][turn.d.x] = to_bf16(v.x * p.scale);
        head->queries[first + i * step][turn.d.y] = to_bf16(v.y * p.scale);
    }
    return team_thread < C / 2 ? turned(added, turn) : added;
}

/* The new row's key and value over what was loaded of its page, and into the cache; by a team. */
template <int C>
INLINE void
add_row(const SundogCudaAttention &p, const Task &task, const Turn &turn, float2 added, char *place)
{
    int thread = threadIdx.x % TEAM_THREADS, slot = task.position % PAGE;
    size_t base = ((size_t)turn.page * p.n_kv_heads + task.group) * C * PAGE;
    const int d[2] = {turn.d.x, turn.d.y};
    const uint16_t v[2] = {to_bf16(added.x), to_bf16(added.y)};
    bool is_key = thread < C / 2;
#pragma unroll
    for (int i = 0; i < 2 && thread < C; i++) {
        uint32_t at = is_key ? key_address<C>(0, d[i], slot / 8) + slot % 8 * 2
                             : value_address<C>(0, slot, d[i] / 8) + d[i] % 8 * 2;
        *(uint16_t *)(place + at) = v[i];
        if (turn.page == SUNDOG_NULL_PAGE)
            continue;
        if (is_key)
            ((uint16_t *)p.k_pages)[base + d[i] * PAGE + slot] = v[i];
        else
            ((uint16_t *)p.v_pages)[base + slot * C + d[i]] = v[i];
    }
    wait_for_team();
}

template <int C>
INLINE void
init_state(DecodeState<C> &state)
{
    state.greatest[0] = state.greatest[1] = -INFINITY;
    state.sum[0] = state.sum[1] = 0;
#pragma unroll
    for (int i = 0; i < C / 16; i++)
        state.o[i][0] = state.o[i][1] = state.o[i][2] = state.o[i][3] = 0;
}

/* Scores of 16 positions, two chains of sums: positions g and g + 8 of heads 2 t and 2 t + 1. */
template <int C>
INLINE void
score_positions(const DecodeHead<C> *head, uint32_t page, int first, float (&s)[4])
{
    int lane = threadIdx.x % 32;
    const uint16_t *query = head->queries[lane / 4] + lane % 4 * 2;
    float chains[2][4] = {};
#pragma unroll
    for (int step = 0; step < C / 16; step++) {
        uint32_t k[4];
        load_transposed(k, key_address<C>(page, step * 16 + lane % 16, first / 8 + lane / 16));
        const uint32_t a[4] = {k[0], k[2], k[1], k[3]};
        multiply_add(chains[step % 2], a, *(const uint32_t *)(query + step * 16),
                     *(const uint32_t *)(query + step * 16 + 8));
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
        s[i] = chains[0][i] + chains[1][i];
}

/* Scores to weights in place; takes the running results to the new greatest. */
template <int C>
INLINE void
weigh_positions(DecodeState<C> &state, int n_valid, float (&s)[4])
{
    int g = threadIdx.x % 32 / 4;
    float factor[2];
#pragma unroll
    for (int i = 0; i < 2; i++) {
        s[i] = g < n_valid ? s[i] : -INFINITY;
        s[i + 2] = g + 8 < n_valid ? s[i + 2] : -INFINITY;
        float greatest = fmaxf(state.greatest[i], column_max(fmaxf(s[i], s[i + 2])));
        factor[i] = __expf(state.greatest[i] - greatest);
        s[i] = __expf(s[i] - greatest);
        s[i + 2] = __expf(s[i + 2] - greatest);
        state.sum[i] = fmaf(state.sum[i], factor[i], s[i] + s[i + 2]);
        state.greatest[i] = greatest;
    }
#pragma unroll
    for (int n = 0; n < C / 16; n++) {
#pragma unroll
        for (int i = 0; i < 4; i++)
            state.o[n][i] *= factor[i % 2];
    }
}

/* 16 positions from `first` in the page, of which the first `n_valid` count, at least one. */
template <int C>
INLINE void
attend_positions(DecodeState<C> &state, const DecodeHead<C> *head, uint32_t page, int first,
                 int n_valid)
{
    float s[4];
    int lane = threadIdx.x % 32;
    score_positions<C>(head, page, first, s);
    weigh_positions<C>(state, n_valid, s);
    uint32_t low = transpose(pack_bf16(s[0], s[1])), high = transpose(pack_bf16(s[2], s[3]));
#pragma unroll
    for (int n = 0; n < C / 16; n++) {
        uint32_t v[4];
        load_transposed(v, value_address<C>(page, first + lane % 16, n * 2 + lane / 16));
        const uint32_t a[4] = {v[0], v[2], v[1], v[3]};
        multiply_add(state.o[n], a, low, high);
    }
}

/* This team's pages of the block's. */
template <int C>
INLINE void
attend_pages(const SundogCudaAttention &p, const Task &task, const Turn &turn, float2 added,
             const DecodeHead<C> *head, char *pages, DecodeState<C> &state)
{
    constexpr int stages = SUNDOG_CUDA_DECODE_STAGES(C);
    int first = threadIdx.x % TEAM_THREADS / 32 * 16;
#pragma unroll 1
    for (int index = task.first_page + threadIdx.x / TEAM_THREADS; index < task.end_page;
         index += TEAMS) {
        uint32_t place = find_place<C>(shared_address(pages), task, index);
        barrier_wait(find_full<C>(head, task, index), (index - task.first_page) / stages % 2);
        if (index == task.position / PAGE)
            add_row<C>(p, task, turn, added, pages + (place - shared_address(pages)));
        int n_valid = task.position + 1 - index * PAGE - first;
        if (n_valid > 0)
            attend_positions<C>(state, head, place, first, n_valid);
        if (index + stages < task.end_page) {
            wait_for_team();
            begin_page<C>(p, task, head, shared_address(pages), index + stages);
        }
    }
}

/* Results of parts, each with its greatest score and sum, in their order. */
template <int N>
INLINE float2
merge(const float2 (&o)[N], const float2 (&states)[N], float2 *state)
{
    float greatest = -INFINITY, sum = 0;
    float2 merged = make_float2(0, 0);
#pragma unroll
    for (int i = 0; i < N; i++)
        greatest = fmaxf(greatest, states[i].x);
    float safe = greatest == -INFINITY ? 0 : greatest;
#pragma unroll
    for (int i = 0; i < N; i++) {
        float factor = __expf(states[i].x - safe);
        sum = fmaf(states[i].y, factor, sum);
        merged.x = fmaf(o[i].x, factor, merged.x);
        merged.y = fmaf(o[i].y, factor, merged.y);
    }
    *state = make_float2(greatest, sum);
    return merged;
}

/* The warps' results into room that held pages: [warps][pairs][C + 4], so that lanes store in different banks. */
template <int C>
INLINE void
keep_state(const Task &task, const DecodeState<C> &state, float *room)
{
    int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 2; i++) {
        float *to = room + (threadIdx.x / 32 * PAIRS + t * 2 + i) * (C + 4);
        float sum = column_sum(state.sum[i]);
        if (t * 2 + i >= task.per_group)
            continue;
#pragma unroll
        for (int n = 0; n < C / 16; n++) {
            to[n * 16 + g] = state.o[n][i];
            to[n * 16 + g + 8] = state.o[n][i + 2];
        }
        if (g == 0)
            *(float2 *)(to + C) = make_float2(state.greatest[i], sum);
    }
    __syncthreads();
}

/* The block's result, to each block of the cluster what it merges. */
template <int C, int SPLITS>
INLINE void
send_parts(const Task &task, const float *room, DecodeHead<C> *head)
{
    int own = task.per_group * C / SPLITS;
#pragma unroll 1
    for (int at = threadIdx.x * 2; at < task.per_group * C; at += THREADS * 2) {
        float2 o[WARPS], states[WARPS], state;
        int pair = at / C, d = at % C;
#pragma unroll
        for (int w = 0; w < WARPS; w++) {
            const float *from = room + (w * PAIRS + pair) * (C + 4);
            o[w] = *(const float2 *)(from + d);
            states[w] = *(const float2 *)(from + C);
        }
        float2 merged = merge<WARPS>(o, states, &state);
        send(&head->parts[blockIdx.z * own + at % own], &head->received, at / own, merged);
        if (d / 2 < SPLITS)
            send(&head->states[blockIdx.z][pair], &head->received, d / 2, state);
    }
}

template <int C, int SPLITS>
INLINE void
store_own(const SundogCudaAttention &p, const Task &task, const DecodeHead<C> *head)
{
    int own = task.per_group * C / SPLITS;
    for (int i = threadIdx.x * 2; i < own; i += THREADS * 2) {
        float2 o[SPLITS], states[SPLITS], state;
        int at = blockIdx.z * own + i;
#pragma unroll
        for (int s = 0; s < SPLITS; s++) {
            o[s] = *(const float2 *)&head->parts[s * own + i];
            states[s] = head->states[s][at / C];
        }
        float2 merged = merge<SPLITS>(o, states, &state);
        float inverse = 1.0f / state.y;
        size_t to = ((size_t)task.first_row * p.n_heads + task.group * task.per_group) * C + at;
        *(uint32_t *)((uint16_t *)p.o + to) = pack_bf16(merged.x * inverse, merged.y * inverse);
    }
}

template <int C, int SPLITS>
INLINE void
run_decode(const SundogCudaAttention &p)
{
    extern __shared__ __align__(128) char shared[];
    constexpr int stages = SUNDOG_CUDA_DECODE_STAGES(C);
    DecodeHead<C> *head = (DecodeHead<C> *)(shared + stages * C * PAGE * 4);
    int team = threadIdx.x / TEAM_THREADS;
    Task task;
    start_dependents();
    if (threadIdx.x == 0) {
        for (int i = 0; i < stages; i++)
            barrier_init(shared_address(head->full + i), TEAM_THREADS);
        barrier_init(shared_address(&head->received), 1);
        barrier_publish();
    }
    if (!p.reads_early)
        wait_for_predecessor();
    bool has_task = find_task(p, blockIdx.x, PAIRS, task);
    __syncthreads();
    if (!has_task) {
        if (p.reads_early)
            wait_for_predecessor();
        return;
    }
    arrive_at_cluster();
    if (threadIdx.x == 0)
        barrier_expect(shared_address(&head->received),
                       SPLITS * (uint32_t)(task.per_group * (C / SPLITS * 4 + 8)));
#pragma unroll 1
    for (int i = team; i < stages; i += TEAMS)
        begin_page<C>(p, task, head, shared_address(shared), task.first_page + i);
    Turn turn = find_turn<C>(p, task);
    if (p.reads_early)
        wait_for_predecessor();
    float2 added = stage_row<C>(p, task, turn, head);
    __syncthreads();
    DecodeState<C> state;
    init_state<C>(state);
    attend_pages<C>(p, task, turn, added, head, shared, state);
    keep_state<C>(task, state, (float *)shared);
    /* All blocks of the cluster have begun. */
    wait_for_cluster();
    send_parts<C, SPLITS>(task, (const float *)shared, head);
    barrier_wait(shared_address(&head->received), 0);
    store_own<C, SPLITS>(p, task, head);
}

#define ENTRY(head_dim, splits)                                                               \
    SUNDOG_ENTRY __cluster_dims__(1, 1, splits) __launch_bounds__(THREADS, 2)                 \
        sundog_decode_##head_dim##_by_##splits(const __grid_constant__ SundogCudaAttention p) \
    {                                                                                         \
        run_decode<head_dim, splits>(p);                                                      \
    }

ENTRY(64, 2)
ENTRY(64, 4)
ENTRY(64, 8)
ENTRY(128, 2)
ENTRY(128, 4)
ENTRY(128, 8)

#endif
