/*
 * sample: sample.h, a block a row. Weights are computed anew in each pass over the logits, which lie in
 * the L2; what top-k and top-p keep is found digit by digit over a histogram of keys, so nothing is
 * sorted and no workspace is needed. Integer sums do not depend on their order: the host's tokens.
 */

#include "kernels/contract/math.h"
#include "kernels/contract/sample.h"
#include "kernels/cuda/device.cuh"

#define THREADS SUNDOG_CUDA_SAMPLE_THREADS
#define WARPS (THREADS / 32)
#define DIGIT_BITS 8
#define N_BINS (1 << DIGIT_BITS)
#define ORDER_INFINITY 0x7f800000
#define ORDER_MINUS_INFINITY (-0x7f800001)

typedef unsigned long long Sum;

struct Row {
    float *logits;
    int n;
    const SundogSampling *o;
    const int32_t *history;
    const int32_t *mask;
    const SundogBias *biases;
    int window;
    int n_mask;   /* words */
    int n_biases; /* room for */
    float best;
    uint64_t cuts[2]; /* least keys that top-k and top-p keep; 0: all */
    int64_t least;    /* weight for min-p */
};

struct Room {
    Sum bins[N_BINS];
    Sum warps[WARPS];
    Sum wanted;
    int extremes[2];
    int digit;
    int token;
};

/* Orders floats as signed integers; -0 and 0 are equal. */
INLINE int32_t
logit_order(float logit)
{
    int32_t bits = __float_as_int(logit + 0.0f);
    return bits ^ (int32_t)((uint32_t)(bits >> 31) >> 1);
}

/* Orders tokens as sample.h says, the best greatest. */
INLINE uint64_t
make_key(float logit, int token)
{
    return (uint64_t)((uint32_t)logit_order(logit) ^ 0x80000000u) << 32 |
           (0xffffffffu - (uint32_t)token);
}

/* The weight of a token, 0 where a cut leaves it out. */
INLINE int64_t
find_weight(const Row &row, int token)
{
    float logit = __ldcg(row.logits + token);
    uint64_t key = make_key(logit, token);
    if (key < row.cuts[0] || key < row.cuts[1])
        return 0;
    float p = sundog_exp((logit - row.best) / row.o->temperature);
    int64_t weight = (int64_t)(p * 0x1p40f);
    return weight >= row.least ? weight : 0;
}

INLINE Sum
block_total(Sum value, Room &room)
{
    for (int distance = 16; distance > 0; distance /= 2)
        value += __shfl_xor_sync(~0u, value, distance);
    if (threadIdx.x % 32 == 0)
        room.warps[threadIdx.x / 32] = value;
    __syncthreads();
    Sum total = 0;
    for (int i = 0; i < WARPS; i++)
        total += room.warps[i];
    __syncthreads();
    return total;
}

/* In their order, by one thread: a token may come twice, and sums of floats have an order. */
INLINE void
apply_biases(const Row &row)
{
    int n = min((int)row.o->n_bias, row.n_biases);
    for (int i = 0; i < n && threadIdx.x == 0; i++)
        if (row.biases[i].token >= 0 && row.biases[i].token < row.n)
            row.logits[row.biases[i].token] += row.biases[i].amount;
    __syncthreads();
}

INLINE void
apply_mask(const Row &row)
{
    if (!row.o->masked)
        return;
    for (int i = threadIdx.x; i < row.n; i += THREADS)
        if (i / 32 >= row.n_mask || !((uint32_t)row.mask[i / 32] >> i % 32 & 1))
            row.logits[i] = __int_as_float(0xff800000);
    __syncthreads();
}

/* Each different token of the history once: by the thread that holds its first place. */
INLINE void
apply_penalties(const Row &row)
{
    const SundogSampling *o = row.o;
    int n = min((int)o->n_history, row.window);
    if (o->repetition_penalty == 1.0f && o->presence_penalty == 0.0f &&
        o->frequency_penalty == 0.0f)
        return;
    for (int i = threadIdx.x; i < n; i += THREADS) {
        int token = row.history[i], count = 0, first_answered = n - min((int)o->n_answered, n);
        bool first = token >= 0 && token < row.n;
        for (int j = 0; j < n && first; j++) {
            bool same = row.history[j] == token;
            first = !same || j >= i;
            count += same && j >= first_answered;
        }
        if (!first)
            continue;
        float logit = row.logits[token];
        logit = logit > 0 ? logit / o->repetition_penalty : logit * o->repetition_penalty;
        if (count > 0)
            logit -= fmaf((float)count, o->frequency_penalty, o->presence_penalty);
        row.logits[token] = logit;
    }
    __syncthreads();
}

/* False where the row holds NaN, plus infinity, or nothing finite. */
INLINE bool
find_best(Row &row, Room &room)
{
    int greatest = INT32_MIN, least = INT32_MAX;
    if (threadIdx.x == 0) {
        room.extremes[0] = INT32_MIN;
        room.extremes[1] = INT32_MAX;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < row.n; i += THREADS) {
        int order = logit_order(__ldcg(row.logits + i));
        greatest = max(greatest, order);
        least = min(least, order);
    }
    atomicMax(&room.extremes[0], __reduce_max_sync(~0u, greatest));
    atomicMin(&room.extremes[1], __reduce_min_sync(~0u, least));
    __syncthreads();
    greatest = room.extremes[0];
    least = room.extremes[1];
    row.best = __uint_as_float((uint32_t)greatest ^ ((uint32_t)(greatest >> 31) >> 1));
    return least >= ORDER_MINUS_INFINITY && greatest < ORDER_INFINITY &&
           greatest > ORDER_MINUS_INFINITY;
}

INLINE int
first_best(const Row &row, Room &room)
{
    if (threadIdx.x == 0)
        room.token = INT32_MAX;
    __syncthreads();
    for (int i = threadIdx.x; i < row.n; i += THREADS)
        if (__ldcg(row.logits + i) == row.best) {
            atomicMin(&room.token, i);
            break;
        }
    __syncthreads();
    return room.token;
}

INLINE Sum
total_weight(const Row &row, Room &room)
{
    Sum sum = 0;
    for (int i = threadIdx.x; i < row.n; i += THREADS)
        sum += (Sum)find_weight(row, i);
    return block_total(sum, room);
}

/* The least key of the shortest run of the greatest keys whose weights (or, counted, number) reach
 * `wanted`. Digit by digit from the top; a bin that holds one key alone ends the search early. */
INLINE uint64_t
find_cut(const Row &row, Sum wanted, bool counts, Room &room)
{
    uint64_t prefix = 0;
    for (int shift = 64 - DIGIT_BITS; shift >= 0; shift -= DIGIT_BITS) {
        for (int i = threadIdx.x; i < N_BINS; i += THREADS)
            room.bins[i] = 0;
        __syncthreads();
        for (int i = threadIdx.x; i < row.n; i += THREADS) {
            uint64_t key = make_key(__ldcg(row.logits + i), i);
            bool here = shift == 64 - DIGIT_BITS || key >> (shift + DIGIT_BITS) == prefix;
            if (!here)
                continue;
            Sum weight = counts ? 1 : (Sum)find_weight(row, i);
            if (weight > 0)
                atomicAdd(&room.bins[key >> shift & (N_BINS - 1)], weight);
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            Sum left = wanted;
            int digit = N_BINS - 1;
            while (digit > 0 && room.bins[digit] < left)
                left -= room.bins[digit--];
            room.digit = digit;
            room.wanted = left;
        }
        __syncthreads();
        prefix = prefix << DIGIT_BITS | (uint64_t)room.digit;
        wanted = room.wanted;
        __syncthreads();
    }
    return prefix;
}

/* sample.h's Philox4x32-10. */
INLINE double
find_uniform(uint64_t seed, uint64_t position)
{
    uint32_t c[4] = {(uint32_t)position, (uint32_t)(position >> 32), 0, 0};
    uint32_t key0 = (uint32_t)seed, key1 = (uint32_t)(seed >> 32);
    for (int round = 0; round < 10; round++) {
        uint32_t high0 = __umulhi(0xd2511f53u, c[0]), low0 = 0xd2511f53u * c[0];
        uint32_t high1 = __umulhi(0xcd9e8d57u, c[2]), low1 = 0xcd9e8d57u * c[2];
        c[0] = high1 ^ c[1] ^ key0;
        c[1] = low1;
        c[2] = high0 ^ c[3] ^ key1;
        c[3] = low0;
        key0 += 0x9e3779b9u;
        key1 += 0xbb67ae85u;
    }
    return (double)(((uint64_t)c[1] << 32 | c[0]) >> 11) * 0x1p-53;
}

/* The first kept token by id where the running sum exceeds a uniform share: threads sum runs of ids,
 * and the one whose run the share falls into walks it. */
INLINE int
draw(const Row &row, Sum total, Room &room)
{
    int64_t share = (int64_t)(find_uniform(row.o->seed, row.o->position) * (double)total);
    share = min(share, (int64_t)total - 1);
    int run = (row.n + THREADS - 1) / THREADS, begin = min((int)threadIdx.x * run, row.n);
    int end = min(begin + run, row.n), lane = threadIdx.x % 32;
    Sum own = 0;
    for (int i = begin; i < end; i++)
        own += (Sum)find_weight(row, i);
    Sum sum = own;
    for (int distance = 1; distance < 32; distance *= 2) {
        Sum below = __shfl_up_sync(~0u, sum, distance);
        sum += lane >= distance ? below : 0;
    }
    if (lane == 31)
        room.warps[threadIdx.x / 32] = sum;
    __syncthreads();
    for (int w = 0; w < (int)threadIdx.x / 32; w++)
        sum += room.warps[w];
    int64_t before = (int64_t)(sum - own);
    if (before <= share && share < before + (int64_t)own) {
        int64_t left = share - before;
        int i = begin;
        for (int64_t w = find_weight(row, i); left >= w; w = find_weight(row, i)) {
            left -= w;
            i++;
        }
        room.token = i;
    }
    __syncthreads();
    return room.token;
}

INLINE int
sample_row(Row &row, Room &room)
{
    const SundogSampling *o = row.o;
    apply_biases(row);
    apply_penalties(row);
    apply_mask(row);
    if (!find_best(row, room))
        return -1;
    if (!(o->temperature > 0))
        return first_best(row, room);
    if (o->top_k > 0 && o->top_k < row.n)
        row.cuts[0] = find_cut(row, (Sum)o->top_k, true, room);
    Sum total = total_weight(row, room);
    double reach = (double)o->top_p * (double)total;
    if (reach < (double)total)
        row.cuts[1] = find_cut(row, reach > 1 ? (Sum)ceil(reach) : 1, false, room);
    row.least = (int64_t)ceil((double)o->min_p * 0x1p40);
    if (row.cuts[1] != 0 || row.least > 0)
        total = total_weight(row, room);
    return draw(row, total, room);
}

SUNDOG_ENTRY
__launch_bounds__(THREADS, 1) sundog_sample(const __grid_constant__ SundogCudaSample p)
{
    __shared__ Room room;
    start_dependents();
    wait_for_predecessor();
    int r = blockIdx.x;
    Row row = {};
    row.logits = (float *)p.logits + (size_t)r * p.n_vocabulary;
    row.n = p.n_vocabulary;
    row.o = (const SundogSampling *)p.sampling + r;
    row.history = (const int32_t *)p.history + (size_t)r * p.history_stride;
    row.window = p.history_stride;
    row.mask = (const int32_t *)p.mask + (size_t)r * p.mask_stride;
    row.n_mask = p.mask_stride;
    row.biases = (const SundogBias *)((const int32_t *)p.bias + (size_t)r * p.bias_stride);
    row.n_biases = p.bias_stride / SUNDOG_BIAS_WORDS;
    int token = sample_row(row, room);
    if (threadIdx.x != 0)
        return;
    ((int32_t *)p.token)[r] = token;
    if (p.ring != nullptr) {
        uint64_t entry = (uint64_t)((const uint32_t *)p.step)[1] << 32 | (uint32_t)token;
        asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"((uint64_t *)p.ring + r), "l"(entry)
                     : "memory");
    }
}
