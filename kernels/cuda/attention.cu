/*
 * attention of attention.h, class "chunks of 16", which may rotate and store as rope-cache.h says. A block of four warps
 * takes one tile of rows, one group of heads and a share of the pages; pages come through a ring.
 * Up to 16 pairs of a row and a head fit one fragment: then the warps share each page's positions and
 * merge at the end; with more, each warp has 16 pairs of its own.
 */

#include "kernels/cuda/attention-page.cuh"

#define THREADS SUNDOG_CUDA_ATTENTION_THREADS
#define CHUNK 16
#define BLOCK_PAIRS 64

/* Element d of a head after rotation; `head` holds it unrotated, `angles` sine and cosine of each pair
 * at its position. */
INLINE float
rotated(const SundogCudaAttention &p, const float *head, const float2 *angles, int d)
{
    if (d >= p.rope_dims)
        return __ldcg(head + d);
    int half = p.rope_dims / 2;
    int pair = p.interleaved ? d / 2 : d % half;
    bool is_low = p.interleaved ? d % 2 == 0 : d < half;
    float x = __ldcg(head + (p.interleaved ? pair * 2 : pair));
    float y = __ldcg(head + (p.interleaved ? pair * 2 + 1 : pair + half));
    float sine = angles[pair].x, cosine = angles[pair].y;
    return is_low ? fmaf(x, cosine, -(y * sine)) : fmaf(y, cosine, x * sine);
}

/* A warp's 16 pairs and their results so far. Rows g and g + 8 of the fragments. */
template <int C> struct State {
    uint32_t q[C / 16][4];
    float o[C / 8][4];
    float greatest[2], sum[2];
    int limit[2]; /* position of the pair's row; -1 where there is no pair */
};

/* The new row's key and value, which are not in the page yet, over what was loaded of it; and into
 * the page, for the steps to come. */
template <int C>
INLINE void
add_new_row(const SundogCudaAttention &p, const Task &task, const float2 *angles, char *page_data,
            uint32_t page)
{
    int slot = task.position % PAGE, to = find_page(p, task.sequence, task.position / PAGE);
    const float *row =
        (const float *)p.qkv + (size_t)task.first_row * (p.n_heads + 2 * p.n_kv_heads) * C;
    const float *key = row + (p.n_heads + task.group) * C, *value = key + p.n_kv_heads * C;
    size_t base = ((size_t)to * p.n_kv_heads + task.group) * C * PAGE;
    for (int d = threadIdx.x; d < C; d += THREADS) {
        uint16_t k = to_bf16(rotated(p, key, angles, d)), v = to_bf16(__ldcg(value + d));
        uint32_t at = key_address<C>(page, d, slot / 8) + slot % 8 * 2 - page;
        *(uint16_t *)(page_data + at) = k;
        at = value_address<C>(page, slot, d / 8) + d % 8 * 2 - page;
        *(uint16_t *)(page_data + at) = v;
        if (to != SUNDOG_NULL_PAGE) {
            ((uint16_t *)p.k_pages)[base + d * PAGE + slot] = k;
            ((uint16_t *)p.v_pages)[base + slot * C + d] = v;
        }
    }
}

/* The queries of the block's pairs, rotated where that is asked for, scaled, bf16, zero past the last:
 * [n, C], each row 16 bytes longer so that eight rows lie in different banks. A thread has two dimensions
 * of several pairs on their way at once. */
template <int C>
INLINE void
stage_queries(const SundogCudaAttention &p, const Task &task, const float2 *angles, int n,
              uint16_t *queries)
{
    constexpr int at_once = 4, step = THREADS / (C / 2);
    int i = threadIdx.x % (C / 2);
    int2 d = find_dimensions(p, i);
    bool turns = p.rotates && i < p.rope_dims / 2;
    for (int first = threadIdx.x / (C / 2); first < n; first += at_once * step) {
        float2 v[at_once];
#pragma unroll
        for (int j = 0; j < at_once; j++) {
            int pair = task.first_pair + first + j * step;
            int row = task.first_row + pair / task.per_group;
            int head = task.group * task.per_group + pair % task.per_group;
            const float *query =
                (const float *)p.qkv + ((size_t)row * (p.n_heads + 2 * p.n_kv_heads) + head) * C;
            v[j] = make_float2(0, 0);
            if (pair < task.n_pairs)
                v[j] = make_float2(__ldcg(query + d.x), __ldcg(query + d.y));
        }
#pragma unroll
        for (int j = 0; j < at_once; j++) {
            uint16_t *to = queries + (first + j * step) * (C + 8);
            float x = v[j].x, y = v[j].y;
            if (turns) {
                float sine = angles[i].x, cosine = angles[i].y;
                x = fmaf(v[j].x, cosine, -(v[j].y * sine));
                y = fmaf(v[j].y, cosine, v[j].x * sine);
            }
            if (first + j * step < n) {
                to[d.x] = to_bf16(x * p.scale);
                to[d.y] = to_bf16(y * p.scale);
            }
        }
    }
}

template <int C>
INLINE void
init_state(const Task &task, const uint16_t *queries, State<C> &state, int first)
{
    int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
#pragma unroll
    for (int i = 0; i < 2; i++) {
        int pair = task.first_pair + first + g + 8 * i;
        const uint16_t *query = queries + (first + g + 8 * i) * (C + 8);
        state.limit[i] = pair < task.n_pairs ? task.position + pair / task.per_group : -1;
        state.greatest[i] = -INFINITY;
        state.sum[i] = 0;
#pragma unroll
        for (int step = 0; step < C / 16; step++) {
            state.q[step][i] = *(const uint32_t *)(query + step * 16 + t * 2);
            state.q[step][i + 2] = *(const uint32_t *)(query + step * 16 + t * 2 + 8);
        }
    }
#pragma unroll
    for (int i = 0; i < C / 8; i++)
        state.o[i][0] = state.o[i][1] = state.o[i][2] = state.o[i][3] = 0;
}

/* Scores of 16 positions from `first` in the page: two fragments of 8. */
template <int C>
INLINE void
score_chunk(const State<C> &state, uint32_t page, int first, float (&s)[2][4])
{
    int lane = threadIdx.x % 32;
#pragma unroll
    for (int step = 0; step < C / 16; step++) {
        uint32_t b[4];
        int d = step * 16 + lane % 16;
        load_transposed(b, key_address<C>(page, d, first / 8 + lane / 16));
        multiply_add(s[0], state.q[step], b[0], b[1]);
        multiply_add(s[1], state.q[step], b[2], b[3]);
    }
}

/* Scores to weights in place; takes the running results to the new greatest. */
template <int C>
INLINE void
weigh_chunk(State<C> &state, int position, float (&s)[2][4])
{
    int t = threadIdx.x % 4;
#pragma unroll
    for (int i = 0; i < 2; i++) {
        float greatest = state.greatest[i];
#pragma unroll
        for (int j = 0; j < 4; j++) {
            float &score = s[j / 2][i * 2 + j % 2];
            if (position + j / 2 * 8 + t * 2 + j % 2 > state.limit[i])
                score = -INFINITY;
            greatest = fmaxf(greatest, score);
        }
        greatest = quad_max(greatest);
        float safe = greatest == -INFINITY ? 0 : greatest, sum = 0;
        float factor = __expf(state.greatest[i] - safe);
#pragma unroll
        for (int j = 0; j < 4; j++) {
            float &score = s[j / 2][i * 2 + j % 2];
            score = __expf(score - safe);
            sum += score;
        }
        state.sum[i] = fmaf(state.sum[i], factor, quad_sum(sum));
        state.greatest[i] = greatest;
#pragma unroll
        for (int n = 0; n < C / 8; n++) {
            state.o[n][i * 2] *= factor;
            state.o[n][i * 2 + 1] *= factor;
        }
    }
}

template <int C>
INLINE void
attend_chunk(State<C> &state, uint32_t page, int page_position, int first)
{
    float s[2][4] = {};
    int lane = threadIdx.x % 32;
    score_chunk<C>(state, page, first, s);
    weigh_chunk<C>(state, page_position + first, s);
    const uint32_t weights[4] = {pack_bf16(s[0][0], s[0][1]), pack_bf16(s[0][2], s[0][3]),
                                 pack_bf16(s[1][0], s[1][1]), pack_bf16(s[1][2], s[1][3])};
#pragma unroll
    for (int n = 0; n < C / 16; n++) {
        uint32_t b[4];
        load_transposed(b, value_address<C>(page, first + lane % 16, n * 2 + lane / 16));
        multiply_add(state.o[n * 2], weights, b[0], b[1]);
        multiply_add(state.o[n * 2 + 1], weights, b[2], b[3]);
    }
}

/* Four warps' results over the same pairs into the first one's, through shared memory that held pages. */
template <int C>
INLINE void
merge_warps(State<C> &state, float *room)
{
    constexpr int row_floats = C + 2;
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 2; i++) {
        float *row = room + (warp * 16 + g + 8 * i) * row_floats;
#pragma unroll
        for (int n = 0; n < C / 8; n++)
            *(float2 *)(row + n * 8 + t * 2) =
                make_float2(state.o[n][i * 2], state.o[n][i * 2 + 1]);
        if (t == 0)
            *(float2 *)(row + C) = make_float2(state.greatest[i], state.sum[i]);
    }
    __syncthreads();
}

/* Where one pair's result goes: whole, or as a part. */
template <int C>
INLINE void
store_pair(const SundogCudaAttention &p, const Task &task, int pair, int d, float2 o,
           float greatest, float sum)
{
    int row = task.first_row + pair / task.per_group;
    int head = task.group * task.per_group + pair % task.per_group;
    size_t at = (size_t)row * p.n_heads + head;
    if (p.n_splits == 1) {
        float inverse = 1.0f / sum;
        *(uint32_t *)((uint16_t *)p.o + at * C + d) = pack_bf16(o.x * inverse, o.y * inverse);
        return;
    }
    float *part = (float *)p.parts + (at * p.n_splits + blockIdx.z) * SUNDOG_CUDA_PART_FLOATS(C);
    *(float2 *)(part + d) = o;
    if (d == 0)
        *(float2 *)(part + C) = make_float2(greatest, sum);
}

template <int C>
INLINE void
store_merged(const SundogCudaAttention &p, const Task &task, const float *room)
{
    for (int i = threadIdx.x; i < task.n_pairs * (C / 2); i += THREADS) {
        int pair = i / (C / 2), d = i % (C / 2) * 2;
        float greatest = -INFINITY, sum = 0;
        float2 o = make_float2(0, 0);
        for (int w = 0; w < 4; w++)
            greatest = fmaxf(greatest, room[(w * 16 + pair) * (C + 2) + C]);
        float safe = greatest == -INFINITY ? 0 : greatest;
        for (int w = 0; w < 4; w++) {
            const float *row = room + (w * 16 + pair) * (C + 2);
            float factor = __expf(row[C] - safe);
            sum = fmaf(row[C + 1], factor, sum);
            o.x = fmaf(row[d], factor, o.x);
            o.y = fmaf(row[d + 1], factor, o.y);
        }
        store_pair<C>(p, task, pair, d, o, greatest, sum);
    }
}

template <int C>
INLINE void
store_own(const SundogCudaAttention &p, const Task &task, const State<C> &state, int first_pair)
{
    int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
#pragma unroll
    for (int i = 0; i < 2; i++) {
        int pair = first_pair + g + 8 * i;
        if (pair >= task.n_pairs)
            continue;
#pragma unroll
        for (int n = 0; n < C / 8; n++)
            store_pair<C>(p, task, pair, n * 8 + t * 2,
                          make_float2(state.o[n][i * 2], state.o[n][i * 2 + 1]), state.greatest[i],
                          state.sum[i]);
    }
}

/* Four dimensions of one head, all parts asked for at once. */
template <int C>
INLINE void
merge_parts(const SundogCudaAttention &p, const Task &task, int pair, int d)
{
    constexpr int most = SUNDOG_CUDA_ATTENTION_SPLITS, part_floats = SUNDOG_CUDA_PART_FLOATS(C);
    size_t at = (size_t)task.first_row * p.n_heads + task.group * task.per_group + pair;
    const float *parts = (const float *)p.parts + at * p.n_splits * part_floats;
    float2 states[most];
    float4 values[most];
    float greatest = -INFINITY, sum = 0, o[4] = {};
#pragma unroll
    for (int s = 0; s < most; s++) {
        states[s] = make_float2(-INFINITY, 0);
        values[s] = make_float4(0, 0, 0, 0);
        if (s < p.n_splits) {
            states[s] = __ldcg((const float2 *)(parts + s * part_floats + C));
            values[s] = __ldcg((const float4 *)(parts + s * part_floats + d));
        }
    }
#pragma unroll
    for (int s = 0; s < most; s++)
        greatest = fmaxf(greatest, states[s].x);
#pragma unroll
    for (int s = 0; s < most; s++) {
        float factor = __expf(states[s].x - greatest);
        sum = fmaf(states[s].y, factor, sum);
        o[0] = fmaf(values[s].x, factor, o[0]);
        o[1] = fmaf(values[s].y, factor, o[1]);
        o[2] = fmaf(values[s].z, factor, o[2]);
        o[3] = fmaf(values[s].w, factor, o[3]);
    }
    float inverse = 1.0f / sum;
    *(uint2 *)((uint16_t *)p.o + at * C + d) = make_uint2(
        pack_bf16(o[0] * inverse, o[1] * inverse), pack_bf16(o[2] * inverse, o[3] * inverse));
}

/* The last block of one row and group merges what all have left, in the order of the splits. */
template <int C>
INLINE void
merge_splits(const SundogCudaAttention &p, const Task &task, int *room)
{
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
        *room =
            (int)atomicInc((unsigned *)p.counters + 16 + task.first_row * p.n_kv_heads + task.group,
                           p.n_splits - 1);
    __syncthreads();
    if (*room != p.n_splits - 1)
        return;
    __threadfence();
    for (int i = threadIdx.x; i < task.n_pairs * (C / 4); i += THREADS)
        merge_parts<C>(p, task, i / (C / 4), i % (C / 4) * 4);
}

/* Begins to load the next page of the block's share, and asks for the number of the one after it, so
 * that no load waits for a number. Commits a group in any case. */
template <int C, int STAGES>
INLINE void
load_next(const SundogCudaAttention &p, const Task &task, int &index, int &page, uint32_t pages)
{
    constexpr int page_bytes = C * PAGE * 4;
    if (index < task.end_page) {
        load_page<C, THREADS>(p, task, index, page,
                              pages + (index - task.first_page) % STAGES * page_bytes);
        if (++index < task.end_page)
            page = find_page(p, task.sequence, index);
    }
    commit_copies();
}

template <int C, int STAGES>
INLINE void
run_attention(const SundogCudaAttention &p)
{
    extern __shared__ __align__(128) char shared[];
    constexpr int page_bytes = C * PAGE * 4;
    __shared__ float2 angles[C / 2];
    __shared__ int room;
    Task task;
    State<C> state;
    start_dependents();
    if (!p.reads_early)
        wait_for_predecessor();
    bool has_task = find_task(p, blockIdx.x, BLOCK_PAIRS, task);
    int warp = threadIdx.x / 32;
    bool shares = task.n_pairs <= 16;
    uint32_t pages = shared_address(shared);
    /* Where the last page of the ring goes only after they have been taken to registers. */
    uint16_t *queries = (uint16_t *)(shared + (STAGES - 1) * page_bytes);
    int next = task.first_page, page_number = 0;
    if (has_task && next < task.end_page)
        page_number = find_page(p, task.sequence, next);
    for (int i = 0; has_task && i < STAGES - 1; i++)
        load_next<C, STAGES>(p, task, next, page_number, pages);
    if (has_task && p.rotates) {
        for (int i = threadIdx.x; i < p.rope_dims / 2; i += THREADS)
            find_angle(p, task.position, i, &angles[i].x, &angles[i].y);
        __syncthreads();
    }
    if (p.reads_early)
        wait_for_predecessor();
    if (!has_task)
        return;
    stage_queries<C>(p, task, angles, shares ? 16 : 64, queries);
    __syncthreads();
    init_state<C>(task, queries, state, shares ? 0 : warp * 16);
    for (int index = task.first_page; index < task.end_page; index++) {
        int turn = (index - task.first_page) % STAGES;
        uint32_t page = pages + turn * page_bytes;
        wait_for_copies<STAGES - 2>();
        /* Also: all have read the page whose place is filled next. */
        __syncthreads();
        load_next<C, STAGES>(p, task, next, page_number, pages);
        if (p.rotates && index == task.position / PAGE) {
            add_new_row<C>(p, task, angles, shared + turn * page_bytes, page);
            __syncthreads();
        }
        int first = shares ? warp * CHUNK : 0, end = shares ? first + CHUNK : PAGE;
        for (; first < end && index * PAGE + first <= task.last; first += CHUNK)
            attend_chunk<C>(state, page, index * PAGE, first);
    }
    wait_for_copies<0>();
    if (!shares) {
        store_own<C>(p, task, state, task.first_pair + warp * 16);
        return;
    }
    merge_warps<C>(state, (float *)shared);
    store_merged<C>(p, task, (const float *)shared);
    if (p.n_splits > 1)
        merge_splits<C>(p, task, &room);
}

#define ENTRY(head_dim)                                                                   \
    SUNDOG_ENTRY __launch_bounds__(THREADS, 2)                                            \
        sundog_attention_##head_dim(const __grid_constant__ SundogCudaAttention p)        \
    {                                                                                     \
        run_attention<head_dim, SUNDOG_CUDA_ATTENTION_PAGES>(p);                          \
    }                                                                                     \
    SUNDOG_ENTRY __launch_bounds__(THREADS, 3)                                            \
        sundog_attention_##head_dim##_many(const __grid_constant__ SundogCudaAttention p) \
    {                                                                                     \
        run_attention<head_dim, SUNDOG_CUDA_ATTENTION_MANY_PAGES>(p);                     \
    }

ENTRY(64)
ENTRY(128)
