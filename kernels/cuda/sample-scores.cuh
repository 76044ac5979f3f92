#pragma once

/* The scores of a row: what the model itself gave to the token and to its rivals. */

#include "kernels/cuda/sample-row.cuh"

/* What a score is made of, as long as the token is not known. */
struct Scale {
    float best;
    double log_sum;
};

INLINE SundogScore
score_token(const Scale &scale, float logit, int token)
{
    double distance = (double)logit - (double)scale.best;
    return SundogScore{token, (float)(distance - scale.log_sum)};
}

/* What all blocks have found, in the first one's room. */
INLINE void
collect_rivals(const Row &row, Room &room)
{
    if (threadIdx.x == 0)
        room.n_rivals = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < SUNDOG_MAX_SCORES * row.n_blocks; i += THREADS) {
        int rank = i / SUNDOG_MAX_SCORES, at = i % SUNDOG_MAX_SCORES;
        if (at < read_from(row, room.n_found, rank))
            room.rivals[atomicAdd(&room.n_rivals, 1)] = read_from(row, room.found[at], rank);
    }
    __syncthreads();
}

/* Those above the cut come in any order; each counts how many are before it. */
INLINE void
score_rivals(const Row &row, const Scale &scale, int n, Room &room)
{
    uint64_t cut = find_top_k(row, n, room);
    if (threadIdx.x == 0)
        room.n_found = 0;
    __syncthreads();
    if (n > 0)
        visit_tokens(row, [&](int i, float logit) {
            uint64_t key = sundog_score_key(logit, i);
            if (key >= cut)
                room.found[atomicAdd(&room.n_found, 1)] = key;
        });
    sync_row(row);
    if (row.rank > 0)
        return;
    collect_rivals(row, room);
    if ((int)threadIdx.x < room.n_rivals) {
        uint64_t key = room.rivals[threadIdx.x];
        int at = 0, token = (int)sundog_key_index(key);
        for (int i = 0; i < room.n_rivals; i++)
            at += room.rivals[i] > key;
        row.by->scores[1 + at] = score_token(scale, __ldcg(row.logits + token), token);
    }
    __syncthreads();
}

/* Of the row as it came. False where its logits are not finite. */
INLINE bool
begin_scores(Row &row, Scale &scale, Room &room)
{
    if (row.by->n_scores == 0)
        return true;
    if (!find_best(row, room))
        return false;
    scale.best = row.best;
    row.temperature = 1;
    Kept &kept = keep_all(room);
    scale.log_sum = log((double)total_weight(row, kept, room) / (double)SUNDOG_WEIGHT_ONE);
    score_rivals(row, scale, min(row.by->n_scores - 1, row.n), room);
    /* The logits may change from here on. */
    sync_row(row);
    return true;
}
