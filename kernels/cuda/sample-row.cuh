#pragma once

/*
 * One row that a block samples, and the passes over it that scores and filters share: what
 * kernels/host/sampler.h is to the host. Weights are computed anew in each pass over the logits, which lie
 * in the L2; what a filter keeps is found digit by digit over a histogram of keys, so nothing is sorted and
 * no workspace is needed. Integer sums do not depend on their order, and sums of doubles go by lanes.
 */

#include "kernels/contract/keys.h"
#include "kernels/contract/philox.h"
#include "kernels/contract/sample.h"
#include "kernels/cuda/device.cuh"

#define THREADS SUNDOG_CUDA_SAMPLE_THREADS
#define WARPS (THREADS / 32)
#define DIGIT_BITS 8
#define N_BINS (1 << DIGIT_BITS)
/* Of the vocabulary, for the draw. */
#define N_STRETCHES (2 * THREADS)

static_assert(THREADS == SUNDOG_SAMPLE_LANES, "a thread sums what sample.h gives to a lane");

typedef unsigned long long Sum;

struct Row {
    float *logits;
    int n;
    const SundogSampling *o;
    const int32_t *history;
    const int32_t *mask;
    const SundogBias *biases;
    SundogScore *scores;
    int window;
    int n_mask;   /* words */
    int n_biases; /* room for */
    int n_scores; /* wanted */
    float best;
    float temperature;
};

/* What the filters so far have left. */
struct Kept {
    uint64_t cut;         /* least key of top-k, later of top-p */
    int64_t least;        /* weight for min-p */
    double least_logit;   /* for top-n-sigma */
    uint64_t typical_cut; /* least key by distance from the mean */
    double mean;
    uint64_t worst; /* of xtc's rivals: those with greater keys are out */
    int64_t rival;  /* least weight of one */
};

struct Room {
    Sum bins[N_BINS];
    Sum warps[WARPS];
    union {
        double lanes[THREADS];
        Sum stretches[N_STRETCHES];
    };
    Sum wanted;
    uint64_t found[SUNDOG_MAX_SCORES];
    int n_found;
    int extremes[2];
    int digit;
    int token;
};

INLINE Kept
keep_all()
{
    return Kept{.cut = 0,
                .least = 0,
                .least_logit = -INFINITY,
                .typical_cut = 0,
                .mean = 0,
                .worst = ~0ull,
                .rival = INT64_MAX};
}

INLINE float
find_scaled(const Row &row, float logit)
{
    return (logit - row.best) / row.temperature;
}

/* Orders tokens by how near their information is to the mean, the nearest greatest. */
INLINE uint64_t
make_typical_key(const Row &row, double mean, float logit, int token)
{
    return sundog_score_key(-(float)fabs((double)find_scaled(row, logit) - mean), token);
}

/* The weight of a token, 0 where a filter leaves it out. */
INLINE int64_t
find_weight(const Row &row, const Kept &kept, int token)
{
    float logit = __ldcg(row.logits + token);
    uint64_t key = sundog_score_key(logit, token);
    if (key < kept.cut || (double)logit < kept.least_logit)
        return 0;
    int64_t weight = (int64_t)(sundog_exp(find_scaled(row, logit)) * SUNDOG_WEIGHT_ONE);
    if (weight < kept.least || (weight >= kept.rival && key > kept.worst))
        return 0;
    if (kept.typical_cut != 0 && make_typical_key(row, kept.mean, logit, token) < kept.typical_cut)
        return 0;
    return weight;
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

/* The sum of the lanes, each thread's own, folded. */
INLINE double
fold_lanes(double own, Room &room)
{
    room.lanes[threadIdx.x] = own;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if ((int)threadIdx.x < half)
            room.lanes[threadIdx.x] += room.lanes[threadIdx.x + half];
        __syncthreads();
    }
    double sum = room.lanes[0];
    __syncthreads();
    return sum;
}

INLINE uint64_t
block_least(uint64_t value, Room &room)
{
    for (int distance = 16; distance > 0; distance /= 2)
        value = min((Sum)value, __shfl_xor_sync(~0u, (Sum)value, distance));
    if (threadIdx.x % 32 == 0)
        room.warps[threadIdx.x / 32] = value;
    __syncthreads();
    for (int i = 0; i < WARPS; i++)
        value = min((Sum)value, room.warps[i]);
    __syncthreads();
    return value;
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
        int order = sundog_score_order(__ldcg(row.logits + i));
        greatest = max(greatest, order);
        least = min(least, order);
    }
    atomicMax(&room.extremes[0], __reduce_max_sync(~0u, greatest));
    atomicMin(&room.extremes[1], __reduce_min_sync(~0u, least));
    __syncthreads();
    greatest = room.extremes[0];
    least = room.extremes[1];
    row.best = __uint_as_float((uint32_t)greatest ^ ((uint32_t)(greatest >> 31) >> 1));
    return least >= SUNDOG_ORDER_MINUS_INFINITY && greatest < SUNDOG_ORDER_INFINITY &&
           greatest > SUNDOG_ORDER_MINUS_INFINITY;
}

INLINE Sum
total_weight(const Row &row, const Kept &kept, Room &room)
{
    Sum sum = 0;
    for (int i = threadIdx.x; i < row.n; i += THREADS)
        sum += (Sum)find_weight(row, kept, i);
    return block_total(sum, room);
}

/* The least key of the shortest run of the greatest keys whose weights reach
 * `wanted`: by all threads, digit by digit from the top. */
template <class Key, class Weight>
INLINE uint64_t
find_cut(int n, Sum wanted, Key find_key, Weight weigh, Room &room)
{
    uint64_t prefix = 0;
    for (int shift = 64 - DIGIT_BITS; shift >= 0; shift -= DIGIT_BITS) {
        for (int i = threadIdx.x; i < N_BINS; i += THREADS)
            room.bins[i] = 0;
        __syncthreads();
        for (int i = threadIdx.x; i < n; i += THREADS) {
            uint64_t key = find_key(i);
            bool here = shift == 64 - DIGIT_BITS || key >> (shift + DIGIT_BITS) == prefix;
            if (!here)
                continue;
            Sum weight = weigh(i);
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

/* A key that k tokens reach at least, and few more: the k-th greatest of the threads' own best. */
INLINE uint64_t
find_bound(const Row &row, int k, Room &room)
{
    uint64_t best = 0;
    if (k > THREADS)
        return 0;
    for (int i = threadIdx.x; i < row.n; i += THREADS)
        best = max((Sum)best, (Sum)sundog_score_key(__ldcg(row.logits + i), i));
    return find_cut(
        THREADS, (Sum)k, [&](int) { return best; }, [](int) { return (Sum)1; }, room);
}

/* The key of the k-th best token, 0 where that leaves nothing out. What is below the bound is not counted:
 * additions to the same bin wait for each other. */
INLINE uint64_t
find_top_k(const Row &row, int k, Room &room)
{
    if (k <= 0 || k >= row.n)
        return 0;
    uint64_t bound = find_bound(row, k, room);
    auto find_key = [&](int i) { return sundog_score_key(__ldcg(row.logits + i), i); };
    return find_cut(
        row.n, (Sum)k, find_key, [&](int i) { return (Sum)(find_key(i) >= bound); }, room);
}
