/* Operations with recurrent state: recurrent.h. short_conv has the host's bits. Of the others, a block keeps
 * some values of one head's state in registers and takes the rows of a sequence one after the other; sums over
 * keys are split in sixteen parts, which are added up last, so that they do not wait for each other. */

#include "kernels/cuda/device.cuh"

#include "kernels/contract/recurrent.h"
#include "kernels/contract/sigmoid-mul.h"

#define LANE ((int)threadIdx.x % 32)
#define WARP ((int)threadIdx.x / 32)

/* What one sequence of the step goes on from. */
struct Sequence {
    int first_row;
    int n_rows;
    float *state; /* its slot; NULL for the null one */
    bool is_empty;
};

INLINE Sequence
find_sequence(const SundogCudaSlots &p, int s, size_t slot_size)
{
    int slot = __ldcg((const int32_t *)p.state_slot + s);
    int first_row = __ldcg((const int32_t *)p.first_row + s);
    bool has_slot = slot > SUNDOG_NULL_STATE_SLOT && slot < p.n_slots;
    return {first_row, __ldcg((const int32_t *)p.first_row + s + 1) - first_row,
            has_slot ? (float *)p.state + slot * slot_size : NULL,
            !has_slot || __ldcg((const int32_t *)p.start_position + s) == 0};
}

/* short_conv */

/* One channel of one sequence. */
struct Channel {
    const SundogCudaShortConv &p;
    const Sequence &sequence;
    int channel;
};

/* The input of a row of the sequence, which may lie before this step. */
INLINE float
load_input(const Channel &c, int row)
{
    if (row >= 0)
        return __ldcg((const float *)c.p.x + (size_t)(c.sequence.first_row + row) * c.p.n_channels +
                      c.channel);
    if (c.sequence.is_empty)
        return 0;
    return c.sequence.state[(size_t)(c.p.width - 1 + row) * c.p.n_channels + c.channel];
}

INLINE void
convolve_row(const Channel &c, int row)
{
    const SundogCudaShortConv &p = c.p;
    const float *weight = (const float *)p.weight + (size_t)c.channel * p.width;
    float y = p.bias != NULL ? ((const float *)p.bias)[c.channel] : 0.0f;
    for (int j = 0; j < p.width; j++)
        y = fmaf(weight[j], load_input(c, row - p.width + 1 + j), y);
    if (p.silu)
        y = y / (1.0f + sundog_exp(-y));
    ((float *)p.y)[(size_t)(c.sequence.first_row + row) * p.n_channels + c.channel] = y;
}

/* Rising, so that what is moved down has not been written over. */
INLINE void
keep_inputs(const Channel &c)
{
    for (int i = 0; i < c.p.width - 1; i++)
        c.sequence.state[(size_t)i * c.p.n_channels + c.channel] =
            load_input(c, c.sequence.n_rows - c.p.width + 1 + i);
}

/* The last sequence that begins at a row or before it; each warp finds it for itself. */
INLINE int
find_sequence_of(const SundogCudaSlots &p, int row)
{
    int n_before = 0;
    for (int base = 0; base < p.n_sequences; base += 32) {
        int s = base + LANE;
        bool is_before = s < p.n_sequences && __ldcg((const int32_t *)p.first_row + s) <= row;
        n_before += __popc(__ballot_sync(~0u, is_before));
    }
    return n_before - 1;
}

/* A block has some rows of the step and some channels. A sequence's first rows, which read its state, are taken
 * where the first of them lies, so that the same thread can write it afterwards. */
SUNDOG_ENTRY
__launch_bounds__(SUNDOG_CUDA_ROW_THREADS)
    sundog_short_conv(const __grid_constant__ SundogCudaShortConv p)
{
    int channel = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    int begin = (int)blockIdx.y * SUNDOG_CUDA_CONV_ROWS, end = begin + SUNDOG_CUDA_CONV_ROWS;
    start_dependents();
    wait_for_predecessor();
    int s = max(find_sequence_of(p.slots, begin), 0);
    for (; s < p.slots.n_sequences && channel < p.n_channels; s++) {
        const Sequence sequence = find_sequence(p.slots, s, (size_t)(p.width - 1) * p.n_channels);
        const Channel c = {p, sequence, channel};
        int first = begin - sequence.first_row,
            last = min(end - sequence.first_row, sequence.n_rows);
        if (last <= 0 && sequence.first_row >= end)
            return;
        bool has_start = sequence.n_rows > 0 && first <= 0 && sequence.first_row < end;
        int from = has_start ? 0 : max(first, p.width - 1);
        int to = has_start ? max(last, min(p.width - 1, sequence.n_rows)) : last;
        for (int row = from; row < to; row++)
            convolve_row(c, row);
        if (has_start && sequence.state != NULL)
            keep_inputs(c);
    }
}

/* gated_delta, state_space */

/* Rows that are made ready at once, and warps that take them in; as many make ready those that follow. */
#define STAGE_ROWS 8
#define TAKERS (SUNDOG_CUDA_STATE_COLUMNS / 8)
#define WARPS (SUNDOG_CUDA_STATE_THREADS / 32)

/* Rows of one head: two vectors of 16 N keys, zeros past the last, and some values. */
template <int N> struct Stage {
    float a[STAGE_ROWS][16 * N]; /* k' of the delta rule, b times the step of a state space */
    float b[STAGE_ROWS][16 * N]; /* q', c */
    float values[STAGE_ROWS][SUNDOG_CUDA_STATE_COLUMNS];
    float decay[STAGE_ROWS];
    float factor[STAGE_ROWS]; /* b of the delta rule, skip */
};

/* Where a head's parts lie in a row. */
struct Head {
    int head;
    int a, b, values;
};

/* y[i] = x[i] * factor, with zeros up to n_all. */
INLINE void
scale_keys(const float *x, int n, int n_all, float factor, float *y)
{
    for (int i = LANE; i < n_all; i += 32)
        y[i] = i < n ? __ldcg(x + i) * factor : 0;
}

/* Of a warp's lanes, in the order of rms-norm.h. */
INLINE float
sum_squares(const float *x, int n)
{
    float sum = 0;
    for (int i = LANE; i < n; i += 32) {
        float value = __ldcg(x + i);
        sum = fmaf(value, value, sum);
    }
    return warp_sum(sum);
}

INLINE float
load_scalar(const void *values, size_t at)
{
    return __ldcg((const float *)values + at);
}

struct DeltaRule {
    INLINE Head
    find_head(const SundogCudaHeadState &p, int head)
    {
        int key_head = p.is_tiled ? head % p.n_groups : head / (p.n_heads / p.n_groups);
        return {head, (p.n_groups + key_head) * p.n_keys, key_head * p.n_keys,
                2 * p.n_groups * p.n_keys + head * p.n_values};
    }

    template <int N>
    INLINE void
    make_ready(const SundogCudaHeadState &p, const Head &h, const float *row, size_t at,
               Stage<N> &stage, int r)
    {
        const float *k = row + h.a, *q = row + h.b;
        float k_factor = 1.0f / sqrtf(sum_squares(k, p.n_keys) + SUNDOG_DELTA_EPSILON);
        float q_factor = 1.0f / sqrtf(sum_squares(q, p.n_keys) + SUNDOG_DELTA_EPSILON);
        scale_keys(k, p.n_keys, 16 * N, k_factor, stage.a[r]);
        scale_keys(q, p.n_keys, 16 * N, q_factor * (1.0f / sqrtf((float)p.n_keys)), stage.b[r]);
        if (LANE == 0) {
            float alpha = load_scalar(p.gate, at) + load_scalar(p.step, h.head);
            stage.decay[r] = sundog_exp(load_scalar(p.decay, h.head) * sundog_softplus(alpha));
            stage.factor[r] = sundog_sigmoid(load_scalar(p.beta, at));
        }
    }

    template <int N>
    INLINE float
    take(float (&s)[N][4], const Stage<N> &stage, int r, int column, int part)
    {
        const float4 *k = (const float4 *)stage.a[r] + part, *q = (const float4 *)stage.b[r] + part;
        float decay = stage.decay[r], m[4] = {}, y[4] = {};
#pragma unroll
        for (int n = 0; n < N; n++) {
            const float4 keys = k[n * 4];
            const float key[4] = {keys.x, keys.y, keys.z, keys.w};
#pragma unroll
            for (int e = 0; e < 4; e++) {
                s[n][e] *= decay;
                m[e] = fmaf(s[n][e], key[e], m[e]);
            }
        }
        float found = add_parts(m);
        float delta = (stage.values[r][column] - found) * stage.factor[r];
#pragma unroll
        for (int n = 0; n < N; n++) {
            const float4 keys = k[n * 4], queries = q[n * 4];
            const float key[4] = {keys.x, keys.y, keys.z, keys.w};
            const float query[4] = {queries.x, queries.y, queries.z, queries.w};
#pragma unroll
            for (int e = 0; e < 4; e++) {
                s[n][e] = fmaf(key[e], delta, s[n][e]);
                y[e] = fmaf(s[n][e], query[e], y[e]);
            }
        }
        return add_parts(y);
    }

    /* Of four lanes, each with four. */
    INLINE float
    add_parts(const float (&parts)[4])
    {
        float sum = (parts[0] + parts[1]) + (parts[2] + parts[3]);
        sum += __shfl_xor_sync(~0u, sum, 8);
        return sum + __shfl_xor_sync(~0u, sum, 16);
    }
};

struct StateSpace {
    INLINE Head
    find_head(const SundogCudaHeadState &p, int head)
    {
        int b = p.n_heads * p.n_values + head / (p.n_heads / p.n_groups) * p.n_keys;
        return {head, b, b + p.n_groups * p.n_keys, head * p.n_values};
    }

    template <int N>
    INLINE void
    make_ready(const SundogCudaHeadState &p, const Head &h, const float *row, size_t at,
               Stage<N> &stage, int r)
    {
        float step = sundog_softplus(load_scalar(p.gate, at) + load_scalar(p.step, h.head));
        scale_keys(row + h.a, p.n_keys, 16 * N, step, stage.a[r]);
        scale_keys(row + h.b, p.n_keys, 16 * N, 1.0f, stage.b[r]);
        if (LANE == 0) {
            stage.decay[r] = sundog_exp(load_scalar(p.decay, h.head) * step);
            stage.factor[r] = load_scalar(p.skip, h.head);
        }
    }

    template <int N>
    INLINE float
    take(float (&s)[N][4], const Stage<N> &stage, int r, int column, int part)
    {
        const float4 *b = (const float4 *)stage.a[r] + part, *c = (const float4 *)stage.b[r] + part;
        float decay = stage.decay[r], x = stage.values[r][column], y[4] = {};
#pragma unroll
        for (int n = 0; n < N; n++) {
            const float4 ins = b[n * 4], outs = c[n * 4];
            const float in[4] = {ins.x, ins.y, ins.z, ins.w};
            const float out[4] = {outs.x, outs.y, outs.z, outs.w};
#pragma unroll
            for (int e = 0; e < 4; e++) {
                s[n][e] = fmaf(in[e], x, s[n][e] * decay);
                y[e] = fmaf(s[n][e], out[e], y[e]);
            }
        }
        return DeltaRule::add_parts(y) + stage.factor[r] * x;
    }
};

/* Rows [first, first + n) of the step; of the warps from `warp` on, each makes some ready. */
template <class Rule, int N>
INLINE void
make_stage(const SundogCudaHeadState &p, const Head &head, int first, int n, Stage<N> &stage,
           int warp)
{
    int column = (int)blockIdx.y * SUNDOG_CUDA_STATE_COLUMNS + LANE;
    for (int r = WARP - warp; r < n; r += WARPS - warp) {
        const float *row = (const float *)p.rows + (size_t)(first + r) * p.n_columns;
        Rule::template make_ready<N>(p, head, row, (size_t)(first + r) * p.n_heads + head.head,
                                     stage, r);
        stage.values[r][LANE] = column < p.n_values ? __ldcg(row + head.values + column) : 0;
    }
}

/* The state that a lane holds: keys 16 n + 4 part + e of one value. */
template <int N>
INLINE void
load_state(const SundogCudaHeadState &p, const float *state, bool is_there, int part,
           float (&s)[N][4])
{
#pragma unroll
    for (int n = 0; n < N; n++)
#pragma unroll
        for (int e = 0; e < 4; e++) {
            int i = n * 16 + part * 4 + e;
            s[n][e] = is_there && i < p.n_keys ? __ldcg(state + (size_t)i * p.n_values) : 0;
        }
}

template <int N>
INLINE void
store_state(const SundogCudaHeadState &p, float *state, int part, const float (&s)[N][4])
{
#pragma unroll
    for (int n = 0; n < N; n++)
#pragma unroll
        for (int e = 0; e < 4; e++) {
            int i = n * 16 + part * 4 + e;
            if (i < p.n_keys)
                state[(size_t)i * p.n_values] = s[n][e];
        }
}

/* Nobody reads what the null slot's rows come to. */
INLINE void
clear_rows(const SundogCudaHeadState &p, const Sequence &sequence, int head)
{
    int column = (int)blockIdx.y * SUNDOG_CUDA_STATE_COLUMNS + LANE;
    for (int row = WARP; row < sequence.n_rows && column < p.n_values; row += WARPS)
        ((float *)
             p.y)[((size_t)(sequence.first_row + row) * p.n_heads + head) * p.n_values + column] =
            0;
}

/* A block has a head, some of its values and a sequence. Some warps take rows in while the others make the next
 * ones ready. */
template <class Rule, int N>
INLINE void
run_heads(const SundogCudaHeadState &p)
{
    __shared__ __align__(16) Stage<N> stages[2];
    start_dependents();
    wait_for_predecessor();
    const Head head = Rule::find_head(p, (int)blockIdx.x);
    size_t head_size = (size_t)p.n_keys * p.n_values;
    const Sequence sequence = find_sequence(p.slots, (int)blockIdx.z, p.n_heads * head_size);
    if (sequence.n_rows == 0)
        return;
    if (sequence.state == NULL) {
        clear_rows(p, sequence, head.head);
        return;
    }
    int own = WARP % TAKERS * 8 + LANE % 8, part = LANE / 8;
    int column = (int)blockIdx.y * SUNDOG_CUDA_STATE_COLUMNS + own;
    bool takes = WARP < TAKERS, is_there = takes && column < p.n_values;
    float *state = sequence.state + head.head * head_size + column;
    float s[N][4];
    load_state<N>(p, state, is_there && !sequence.is_empty, part, s);
    make_stage<Rule, N>(p, head, sequence.first_row, min(STAGE_ROWS, sequence.n_rows), stages[0],
                        0);
    __syncthreads();
    for (int done = 0, turn = 0; done < sequence.n_rows; done += STAGE_ROWS, turn ^= 1) {
        int first = sequence.first_row + done, left = sequence.n_rows - done;
        if (!takes)
            make_stage<Rule, N>(p, head, first + STAGE_ROWS, min(STAGE_ROWS, left - STAGE_ROWS),
                                stages[turn ^ 1], TAKERS);
        for (int r = 0; takes && r < min(STAGE_ROWS, left); r++) {
            float y = Rule::template take<N>(s, stages[turn], r, own, part);
            if (is_there && part == 0)
                ((float *)
                     p.y)[((size_t)(first + r) * p.n_heads + head.head) * p.n_values + column] = y;
        }
        __syncthreads();
    }
    if (is_there)
        store_state<N>(p, state, part, s);
}

#define ENTRIES(n_keys)                                                             \
    SUNDOG_ENTRY __launch_bounds__(SUNDOG_CUDA_STATE_THREADS, n_keys > 128 ? 1 : 2) \
        sundog_gated_delta_##n_keys(const __grid_constant__ SundogCudaHeadState p)  \
    {                                                                               \
        run_heads<DeltaRule, n_keys / 16>(p);                                       \
    }                                                                               \
    SUNDOG_ENTRY __launch_bounds__(SUNDOG_CUDA_STATE_THREADS, n_keys > 128 ? 1 : 2) \
        sundog_state_space_##n_keys(const __grid_constant__ SundogCudaHeadState p)  \
    {                                                                               \
        run_heads<StateSpace, n_keys / 16>(p);                                      \
    }

ENTRIES(16)
ENTRIES(32)
ENTRIES(64)
ENTRIES(128)
ENTRIES(256)
