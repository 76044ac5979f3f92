#pragma once

/*
 * sample: sample.h, by a block a row, or by the blocks of a cluster. The tokens are the host's: integer sums do not
 * depend on their order, sums of doubles have one that threads can share, and nothing is rounded in between. Who
 * includes this has said how many THREADS a block has.
 */

#include "kernels/cuda/sample-filters.cuh"
#include "kernels/cuda/sample-scores.cuh"

/* Logits as they came of the tokens that biases, then penalties have changed. */
extern __shared__ float raw_logits[];

/* In their order, by one thread: a token may come twice, and sums of floats have an order. */
INLINE void
apply_biases(const Row &row)
{
    int n = min((int)row.by->o->n_bias, row.by->n_biases);
    for (int i = 0; i < n && threadIdx.x == 0; i++) {
        int token = row.by->biases[i].token;
        if (token < 0 || token >= row.n)
            continue;
        raw_logits[i] = row.logits[token];
        row.logits[token] += row.by->biases[i].amount;
    }
    __syncthreads();
}

INLINE void
apply_mask(const Row &row)
{
    if (!row.by->o->masked)
        return;
    for (int i = first_token(row); i < row.n; i += row.n_blocks * THREADS)
        if (i / 32 >= row.by->n_mask || !((uint32_t)row.by->mask[i / 32] >> i % 32 & 1))
            row.logits[i] = __int_as_float(0xff800000);
}

/* Tokens of the history that penalties look at. */
INLINE int
count_penalized(const Row &row)
{
    const SundogSampling *o = row.by->o;
    bool is_off = o->repetition_penalty == 1.0f && o->presence_penalty == 0.0f &&
                  o->frequency_penalty == 0.0f;
    return is_off ? 0 : min((int)o->n_history, row.by->window);
}

/* Each different token of the history once: by the thread that holds its first place. */
INLINE void
apply_penalties(const Row &row)
{
    const SundogSampling *o = row.by->o;
    int n = count_penalized(row);
    if (n == 0)
        return;
    for (int i = threadIdx.x; i < n; i += THREADS) {
        int token = row.by->history[i], count = 0, first_answered = n - min((int)o->n_answered, n);
        bool first = token >= 0 && token < row.n;
        for (int j = 0; j < n && first; j++) {
            bool same = row.by->history[j] == token;
            first = !same || j >= i;
            count += same && j >= first_answered;
        }
        if (!first)
            continue;
        float logit = row.logits[token];
        raw_logits[row.by->n_biases + i] = logit;
        logit = logit > 0 ? logit / o->repetition_penalty : logit * o->repetition_penalty;
        if (count > 0)
            logit -= fmaf((float)count, o->frequency_penalty, o->presence_penalty);
        row.logits[token] = logit;
    }
    __syncthreads();
}

/* What a row is changed by before its draw: by one block, then by all. */
INLINE void
change_logits(const Row &row)
{
    const SundogSampling *o = row.by->o;
    if (o->n_bias == 0 && count_penalized(row) == 0 && !o->masked)
        return;
    if (row.rank == 0) {
        apply_biases(row);
        apply_penalties(row);
    }
    sync_row(row);
    apply_mask(row);
    sync_row(row);
}

/* The block whose room has a stretch. */
INLINE int
find_owner(const Row &row, int stretch)
{
    return stretch / (N_STRETCHES / row.n_blocks);
}

/* Sums of the weights of stretches of tokens, a warp a stretch; as many tokens each as keep the number of
 * stretches within the room. */
INLINE int
sum_stretches(const Row &row, const Kept &kept, Room &room)
{
    int length = (row.n + N_STRETCHES * 32 - 1) / (N_STRETCHES * 32) * 32, lane = threadIdx.x % 32;
    int n = N_STRETCHES / row.n_blocks;
    for (int s = row.rank * n + (int)threadIdx.x / 32; s < (row.rank + 1) * n; s += WARPS) {
        Sum sum = 0;
        for (int i = s * length + lane; i < min((s + 1) * length, row.n); i += 32)
            sum += (Sum)find_weight(row, kept, i, __ldcg(row.logits + i));
        for (int distance = 16; distance > 0; distance /= 2)
            sum += __shfl_xor_sync(~0u, sum, distance);
        if (lane == 0)
            room.stretches[s] = sum;
    }
    sync_row(row);
    return length;
}

/* Leaves in the room the stretch that the share falls into, and what of the share is left there. */
INLINE void
find_stretch(const Row &row, Sum share, Room &room)
{
    int first = threadIdx.x * (N_STRETCHES / THREADS), owner = find_owner(row, first);
    Sum own = 0;
    for (int i = 0; i < N_STRETCHES / THREADS; i++)
        own += read_from(row, room.stretches[first + i], owner);
    Sum before = scan_warp(own);
    if (threadIdx.x % 32 == 31)
        room.warps[threadIdx.x / 32] = before;
    __syncthreads();
    for (int w = 0; w < (int)threadIdx.x / 32; w++)
        before += room.warps[w];
    before -= own;
    if (before <= share && share < before + own) {
        Sum left = share - before;
        while (left >= read_from(row, room.stretches[first], owner))
            left -= read_from(row, room.stretches[first++], owner);
        room.digit = first;
        room.wanted = left;
    }
    __syncthreads();
}

/* The first kept token by id where the running sum exceeds a uniform share; the first block knows it. */
INLINE int
draw(const Row &row, const Kept &kept, Sum total, Room &room)
{
    int64_t share =
        (int64_t)(sundog_sample_uniform(row.by->o->seed, row.by->o->position) * (double)total);
    int length = sum_stretches(row, kept, room);
    if (row.rank > 0)
        return 0;
    find_stretch(row, (Sum)min(share, (int64_t)total - 1), room);
    if (threadIdx.x < 32) {
        Sum left = room.wanted;
        unsigned beyond = 0;
        for (int i = room.digit * length; beyond == 0; i += 32) {
            int token = i + (int)threadIdx.x;
            Sum own =
                token < row.n ? (Sum)find_weight(row, kept, token, __ldcg(row.logits + token)) : 0;
            Sum sum = scan_warp(own);
            beyond = __ballot_sync(~0u, sum > left);
            left -= __shfl_sync(~0u, sum, 31);
            if (beyond != 0 && threadIdx.x == 0)
                room.token = i + __ffs((int)beyond) - 1;
        }
    }
    __syncthreads();
    return room.token;
}

INLINE int
draw_row(Row &row, Room &room)
{
    change_logits(row);
    if (!find_best(row, room))
        return -1;
    row.temperature = row.by->o->temperature;
    if (!(row.temperature > 0))
        return row.best_token;
    Kept &kept = keep_all(room);
    Sum sum = filter(row, kept, room);
    return draw(row, kept, sum, room);
}

/* The logit of a token as it came: that of its first bias, else of its first place in the history, else
 * it has not changed. */
INLINE float
find_raw(const Row &row, int token, bool is_given, Room &room)
{
    int n_biases = is_given ? 0 : min((int)row.by->o->n_bias, row.by->n_biases);
    int n_penalized = is_given ? 0 : count_penalized(row);
    if (threadIdx.x == 0)
        room.digit = INT32_MAX;
    __syncthreads();
    for (int i = threadIdx.x; i < n_biases; i += THREADS)
        if (row.by->biases[i].token == token)
            atomicMin(&room.digit, i);
    for (int i = threadIdx.x; i < n_penalized; i += THREADS)
        if (row.by->history[i] == token)
            atomicMin(&room.digit, row.by->n_biases + i);
    __syncthreads();
    return room.digit == INT32_MAX ? row.logits[token] : raw_logits[room.digit];
}

INLINE int
sample_row(Row &row, Room &room)
{
    Scale scale = {};
    bool is_given = row.by->o->given > 0 && row.by->o->given <= (uint32_t)row.n;
    if (row.by->n_scores > 0 && row.rank == 0 && threadIdx.x < SUNDOG_MAX_SCORES)
        row.by->scores[threadIdx.x] = SundogScore{-1, 0};
    __syncthreads();
    if (!begin_scores(row, scale, room))
        return -1;
    int token = is_given ? (int)(row.by->o->given - 1) : draw_row(row, room);
    if (row.by->n_scores == 0 || token < 0 || row.rank > 0)
        return token;
    float raw = find_raw(row, token, is_given, room);
    if (threadIdx.x == 0)
        row.by->scores[0] = score_token(scale, raw, token);
    return token;
}

INLINE Source
find_source(const SundogCudaSample &p, int r)
{
    Source source;
    source.o = (const SundogSampling *)p.sampling + r;
    source.history = (const int32_t *)p.history + (size_t)r * p.history_stride;
    source.window = p.history_stride;
    source.mask = (const int32_t *)p.mask + (size_t)r * p.mask_stride;
    source.n_mask = p.mask_stride;
    source.biases = (const SundogBias *)((const int32_t *)p.bias + (size_t)r * p.bias_stride);
    source.n_biases = p.bias_stride / SUNDOG_BIAS_WORDS;
    source.scores = (SundogScore *)p.scores + (size_t)r * SUNDOG_MAX_SCORES;
    source.n_scores = min((int)source.o->n_scores, SUNDOG_MAX_SCORES);
    return source;
}

INLINE void
tell_token(const SundogCudaSample &p, int r, int token)
{
    ((int32_t *)p.token)[r] = token;
    if (p.ring != nullptr) {
        uint64_t entry = (uint64_t)((const uint32_t *)p.step)[1] << 32 | (uint32_t)token;
        asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"((uint64_t *)p.ring + r), "l"(entry)
                     : "memory");
    }
}

template <int n_blocks>
INLINE void
sample(const SundogCudaSample &p, Room &room)
{
    start_dependents();
    wait_for_predecessor();
    int r = blockIdx.x / n_blocks;
    if (threadIdx.x == 0)
        room.source = find_source(p, r);
    __syncthreads();
    Row row = {.logits = (float *)p.logits + (size_t)r * p.n_vocabulary,
               .n = p.n_vocabulary,
               .by = &room.source,
               .n_blocks = n_blocks,
               .rank = (int)(blockIdx.x % n_blocks)};
    int token = sample_row(row, room);
    if (row.by->n_scores > 0) { /* the host reads them once it has seen the token */
        __threadfence_system();
        __syncthreads();
    }
    if (row.rank == 0 && threadIdx.x == 0)
        tell_token(p, r, token);
    /* Rooms are there until nobody reads in them. */
    if (n_blocks > 1)
        sync_row(row);
}
