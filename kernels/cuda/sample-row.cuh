#pragma once

/*
 * One row that a block samples, or the blocks of a cluster together, and the passes over it that scores and filters
 * share: what kernels/host/sampler.h is to the host. Weights are computed anew in each pass over the logits, which lie
 * in the L2; what a filter keeps is found digit by digit over a histogram of keys, so nothing is sorted and
 * no workspace is needed. Digits are of the distance from the least key that is left, and as soon as few tokens
 * are left these alone are looked at: additions to the same bin wait for each other, and keys that lie near
 * each other, as most do, have their highest bits in common. Integer sums do not depend on their order, and
 * sums of doubles go by lanes.
 */

#include "kernels/contract/keys.h"
#include "kernels/contract/philox.h"
#include "kernels/contract/sample.h"
#include "kernels/cuda/device.cuh"

#define LANES SUNDOG_SAMPLE_LANES
#define WARPS (THREADS / 32)
#define DIGIT_BITS 11
#define N_BINS (1 << DIGIT_BITS)
/* Tokens that are kept apart. */
#define N_FEW 4096
/* Logits of a thread on their way at once. */
#define N_AHEAD 4
#define N_AT_ONCE 8
/* Of the vocabulary, for the draw. */
#define N_STRETCHES 2048

static_assert(LANES % THREADS == 0, "a thread has the same lanes in all sums");

typedef unsigned long long Sum;

/* What a row is sampled by. In shared memory: it is looked at now and then. */
struct Source {
    const SundogSampling *o;
    const int32_t *history;
    const int32_t *mask;
    const SundogBias *biases;
    SundogScore *scores;
    int window;
    int n_mask;   /* words */
    int n_biases; /* room for */
    int n_scores; /* wanted */
};

struct Row {
    float *logits;
    int n;
    const Source *by;
    int n_blocks; /* that share it; all of them pass the same barriers */
    int rank;     /* of this one */
    int best_token;
    float best;
    float temperature;
    mutable int turn; /* of what blocks tell each other */
};

/* What the filters so far have left. In shared memory, since threads have too few registers for it too. */
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
    Source source;
    Kept kept;
    uint32_t bins[2][N_BINS]; /* lower and upper halves */
    Sum warps[WARPS];
    Sum told[2]; /* to the other blocks, in turn */
    union {
        double lanes[LANES];
        Sum stretches[N_STRETCHES];
        int few[N_FEW]; /* tokens */
    };
    int n_few; /* past N_FEW: there were more than that */
    Sum wanted;
    uint64_t found[SUNDOG_MAX_SCORES];
    uint64_t rivals[SUNDOG_MAX_SCORES];
    int n_found;
    int n_rivals;
    int digit;
    int token;
};

/* By one thread, when no other looks at it. */
template <class Set>
INLINE void
change(Set set)
{
    __syncthreads();
    if (threadIdx.x == 0)
        set();
    __syncthreads();
}

INLINE Kept &
keep_all(Room &room)
{
    Kept &kept = room.kept;
    change([&] {
        kept = Kept{.cut = 0,
                    .least = 0,
                    .least_logit = -INFINITY,
                    .typical_cut = 0,
                    .mean = 0,
                    .worst = ~0ull,
                    .rival = INT64_MAX};
    });
    return kept;
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

INLINE int
first_token(const Row &row)
{
    return row.rank * THREADS + (int)threadIdx.x;
}

/* Each token of the row by one thread; the next logits are on their way. */
template <class Visit>
INLINE void
visit_tokens(const Row &row, Visit visit)
{
    float logits[N_AHEAD];
    int token = first_token(row), step = row.n_blocks * THREADS;
#pragma unroll
    for (int i = 0; i < N_AHEAD; i++)
        if (token + i * step < row.n)
            logits[i] = __ldcg(row.logits + token + i * step);
#pragma unroll 1
    for (; token < row.n; token += step) {
        float logit = logits[0];
#pragma unroll
        for (int i = 1; i < N_AHEAD; i++)
            logits[i - 1] = logits[i];
        if (token + N_AHEAD * step < row.n)
            logits[N_AHEAD - 1] = __ldcg(row.logits + token + N_AHEAD * step);
        visit(token, logit);
    }
}

/* The same for little work, of which several fit the registers at once. */
template <class Visit>
INLINE void
skim_tokens(const Row &row, Visit visit)
{
    int token = first_token(row), step = row.n_blocks * THREADS;
#pragma unroll 1
    for (; token + (N_AT_ONCE - 1) * step < row.n; token += N_AT_ONCE * step) {
        float logits[N_AT_ONCE];
#pragma unroll
        for (int i = 0; i < N_AT_ONCE; i++)
            logits[i] = __ldcg(row.logits + token + i * step);
#pragma unroll
        for (int i = 0; i < N_AT_ONCE; i++)
            visit(token + i * step, logits[i]);
    }
#pragma unroll 1
    for (; token < row.n; token += step)
        visit(token, __ldcg(row.logits + token));
}

/* The weight of a token, 0 where a filter leaves it out. */
INLINE int64_t
find_weight(const Row &row, const Kept &kept, int token, float logit)
{
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

/* All threads of all blocks of the row. What was written before is seen after it. */
INLINE void
sync_row(const Row &row)
{
    if (row.n_blocks == 1) {
        __syncthreads();
        return;
    }
#if __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.arrive.release;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
#endif
}

/* What is in another block's room where `value` is in this one's. */
template <class T>
INLINE T
read_from(const Row &row, const T &value, int rank)
{
    const T *other = &value;
#if __CUDA_ARCH__ >= 900
    if (row.n_blocks > 1)
        asm volatile("mapa.u64 %0, %1, %2;" : "=l"(other) : "l"(&value), "r"(rank));
#endif
    return *(const volatile T *)other;
}

template <class T>
INLINE void
write_to(const Row &row, T &place, T value, int rank)
{
    T *other = &place;
#if __CUDA_ARCH__ >= 900
    if (row.n_blocks > 1)
        asm volatile("mapa.u64 %0, %1, %2;" : "=l"(other) : "l"(&place), "r"(rank));
#endif
    *(volatile T *)other = value;
}

/* One value of each block. */
template <class Fold>
INLINE Sum
fold_blocks(const Row &row, Sum own, Room &room, Fold fold)
{
    Sum all = own;
    if (row.n_blocks == 1)
        return own;
    /* The other place may still be read. */
    row.turn ^= 1;
    if (threadIdx.x == 0)
        room.told[row.turn] = own;
    sync_row(row);
    for (int r = 1; r < row.n_blocks; r++)
        all = fold(all, read_from(row, room.told[row.turn], (row.rank + r) % row.n_blocks));
    return all;
}

/* The sum by lanes of what `find` gives for each token, which every block of the row makes for itself. */
template <class Find>
INLINE double
sum_lanes(const Row &row, Room &room, Find find)
{
#pragma unroll 1
    for (int lane = threadIdx.x; lane < LANES; lane += THREADS) {
        double own = 0;
        for (int token = lane; token < row.n; token += LANES)
            own += find(token, __ldcg(row.logits + token));
        room.lanes[lane] = own;
    }
    __syncthreads();
    for (int half = LANES / 2; half > 0; half /= 2) {
        for (int i = threadIdx.x; i < half; i += THREADS)
            room.lanes[i] += room.lanes[i + half];
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

INLINE Sum
row_total(const Row &row, Sum own, Room &room)
{
    return fold_blocks(
        row, block_total(own, room), room, [](Sum a, Sum b) { return a + b; });
}

INLINE uint64_t
row_least(const Row &row, uint64_t own, Room &room)
{
    return fold_blocks(
        row, block_least(own, room), room, [](Sum a, Sum b) { return min(a, b); });
}

/* False where the row holds NaN, plus infinity, or nothing finite. */
INLINE bool
find_best(Row &row, Room &room)
{
    uint64_t best = 0;
    skim_tokens(row, [&](int i, float logit) {
        int order = sundog_score_order(logit);
        bool is_good = order >= SUNDOG_ORDER_MINUS_INFINITY && order < SUNDOG_ORDER_INFINITY;
        best = max((Sum)best, is_good ? (Sum)sundog_order_key(order, i) : ~0ull);
    });
    best = ~row_least(row, ~best, room);
    int order = sundog_key_order(best);
    row.best = __uint_as_float((uint32_t)order ^ ((uint32_t)(order >> 31) >> 1));
    row.best_token = (int)sundog_key_index(best);
    return best != ~0ull && order > SUNDOG_ORDER_MINUS_INFINITY;
}

INLINE Sum
total_weight(const Row &row, const Kept &kept, Room &room)
{
    Sum sum = 0;
    for (int i = first_token(row); i < row.n; i += row.n_blocks * THREADS)
        sum += (Sum)find_weight(row, kept, i, __ldcg(row.logits + i));
    return row_total(row, sum, room);
}

INLINE Sum
scan_warp(Sum sum)
{
    for (int distance = 1; distance < 32; distance *= 2) {
        Sum below = __shfl_up_sync(~0u, sum, distance);
        sum += (int)threadIdx.x % 32 >= distance ? below : 0;
    }
    return sum;
}

/* Cuts: the least key of the shortest run of the greatest keys whose weights reach what is wanted. */

/* The cut is one of these keys, which are to have so much. */
struct Span {
    uint64_t low, high;
    Sum wanted;
};

/* A digit of the keys of a span, counted from its least. */
INLINE int
find_shift(const Span &span)
{
    return max(64 - DIGIT_BITS - __clzll((long long)(span.high - span.low)), 0);
}

/* In two words, whose additions are single instructions. */
INLINE void
add_to_bin(Room &room, int bin, Sum weight)
{
    uint32_t low = (uint32_t)weight, high = (uint32_t)(weight >> 32);
    uint32_t sum = atomicAdd(&room.bins[0][bin], low) + low;
    high += sum < low;
    if (high != 0)
        atomicAdd(&room.bins[1][bin], high);
}

INLINE Sum
read_bin(const Row &row, const Room &room, int bin)
{
    Sum sum = 0;
    for (int r = 0; r < row.n_blocks; r++)
        sum +=
            (Sum)read_from(row, room.bins[1][bin], r) << 32 | read_from(row, room.bins[0][bin], r);
    return sum;
}

/* Of what each block gives, the sum over those before this one. */
INLINE Sum
sum_before(const Row &row, Sum own, Room &room)
{
    Sum sum = 0;
    if (row.n_blocks == 1)
        return 0;
    row.turn ^= 1;
    if (threadIdx.x == 0)
        room.told[row.turn] = own;
    sync_row(row);
    for (int r = 0; r < row.rank; r++)
        sum += read_from(row, room.told[row.turn], r);
    return sum;
}

/* The bin that the cut is in, from the greatest down; and what of the wanted is left for it. Each block looks
 * through its share of the bins, and whose the bin is tells all. */
INLINE void
find_bin(const Row &row, const Span &span, Room &room)
{
    int share = N_BINS / row.n_blocks, n = (share + THREADS - 1) / THREADS;
    int first = N_BINS - 1 - row.rank * share - (int)threadIdx.x * n;
    Sum own = 0, all = 0;
    for (int i = 0; i < n && (int)threadIdx.x * n < share; i++)
        own += read_bin(row, room, first - i);
    Sum before = scan_warp(own) - own;
    if (threadIdx.x % 32 == 31)
        room.warps[threadIdx.x / 32] = before + own;
    __syncthreads();
    for (int w = 0; w < (int)threadIdx.x / 32; w++)
        before += room.warps[w];
    for (int w = 0; w < WARPS && row.n_blocks > 1; w++)
        all += room.warps[w];
    before += sum_before(row, all, room);
    if (before < span.wanted && span.wanted <= before + own) {
        Sum left = span.wanted - before;
        while (n > 1 && read_bin(row, room, first) < left)
            left -= read_bin(row, room, first--);
        for (int r = 0; r < row.n_blocks; r++) {
            write_to(row, room.digit, first, r);
            write_to(row, room.wanted, left, r);
        }
    }
    sync_row(row);
}

/* Leaves one digit's keys of the span. `visit` calls what it is given with keys and functions that weigh. */
template <class Visit>
INLINE void
narrow(const Row &row, Span &span, Room &room, Visit visit)
{
    int shift = find_shift(span);
#pragma unroll 1
    for (int i = threadIdx.x; i < N_BINS; i += THREADS)
        room.bins[0][i] = room.bins[1][i] = 0;
    if (threadIdx.x == 0)
        room.digit = 0;
    __syncthreads();
    visit([&](uint64_t key, auto weigh) {
        if (key < span.low || key > span.high)
            return;
        Sum weight = weigh();
        if (weight > 0)
            add_to_bin(room, (int)(key - span.low >> shift), weight);
    });
    sync_row(row);
    find_bin(row, span, room);
    span.low += (uint64_t)room.digit << shift;
    span.high = min((Sum)span.high, (Sum)(span.low + (((uint64_t)1 << shift) - 1)));
    span.wanted = room.wanted;
    __syncthreads();
}

/* Draws the span together around the keys in it that have weight, and keeps their tokens apart where they are
 * few. */
template <class Key, class Weight>
INLINE bool
gather(const Row &row, Span &span, Room &room, Key find_key, Weight weigh)
{
    uint64_t least = ~0ull, greatest = 0;
    if (threadIdx.x == 0)
        room.n_few = 0;
    __syncthreads();
    visit_tokens(row, [&](int i, float logit) {
        uint64_t key = find_key(i, logit);
        if (key < span.low || key > span.high || weigh(i, logit) == 0)
            return;
        least = min((Sum)least, (Sum)key);
        greatest = max((Sum)greatest, (Sum)key);
        int at = *(volatile int *)&room.n_few < N_FEW ? atomicAdd(&room.n_few, 1) : N_FEW;
        if (at < N_FEW)
            room.few[at] = i;
        else
            room.n_few = N_FEW + 1;
    });
    span.low = row_least(row, least, room);
    bool are_few = room.n_few <= N_FEW;
    span.high = ~row_least(row, ~greatest, room);
    return row_least(row, are_few, room) != 0;
}

/* `find_key` and `weigh` take a token and its logit. */
template <class Key, class Weight>
INLINE uint64_t
find_cut(const Row &row, Span span, Key find_key, Weight weigh, Room &room)
{
    bool are_few = gather(row, span, room, find_key, weigh);
    while (span.low < span.high) {
        narrow(row, span, room, [&](auto add) {
            auto visit = [&](int i, float logit) {
                add(find_key(i, logit), [&] { return weigh(i, logit); });
            };
            if (!are_few)
                visit_tokens(row, visit);
#pragma unroll 1
            for (int i = threadIdx.x; are_few && i < room.n_few; i += THREADS)
                visit(room.few[i], __ldcg(row.logits + room.few[i]));
        });
        if (!are_few && span.low < span.high)
            are_few = gather(row, span, room, find_key, weigh);
    }
    return span.high;
}

/* A key that k tokens reach at least, and few more: the k-th greatest of the threads' own best. */
INLINE uint64_t
find_bound(const Row &row, int k, Room &room)
{
    uint64_t best = 0;
    if (k > THREADS)
        return 0;
    skim_tokens(
        row, [&](int i, float logit) { best = max((Sum)best, (Sum)sundog_score_key(logit, i)); });
    Span span = {0, ~0ull, (Sum)k};
    while (span.low < span.high)
        narrow(row, span, room, [&](auto add) { add(best, [] { return (Sum)1; }); });
    return span.high;
}

/* The key of the k-th best token, 0 where that leaves nothing out. */
INLINE uint64_t
find_top_k(const Row &row, int k, Room &room)
{
    if (k <= 0 || k >= row.n)
        return 0;
    Span span = {find_bound(row, k, room), ~0ull, (Sum)k};
    return find_cut(
        row, span, [](int i, float logit) { return sundog_score_key(logit, i); },
        [](int, float) { return (Sum)1; }, room);
}
