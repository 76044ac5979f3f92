#pragma once

/*
 * Finding a cut among sampling candidates without sorting them: quickselect (Hoare 1961) over
 * keys.h's, all different.
 */

#include "kernels/contract/keys.h"

/* Moves keys greater than keys[n / 2] to the front, then that key; returns how many are greater. */
static inline int64_t
sundog_partition_keys(uint64_t *keys, int64_t n)
{
    uint64_t pivot = keys[n / 2];
    keys[n / 2] = keys[n - 1];
    int64_t greater = 0;
    for (int64_t i = 0; i < n - 1; i++) {
        uint64_t key = keys[i];
        keys[i] = keys[greater];
        keys[greater] = key;
        greater += key > pivot;
    }
    keys[n - 1] = keys[greater];
    keys[greater] = pivot;
    return greater;
}

/* The least key of the shortest run of the greatest keys whose weights reach `wanted`; the weight of
 * a key is weights[token], or 1 where weights is NULL. All together must reach it. Permutes keys. */
static inline uint64_t
sundog_select_cut(uint64_t *keys, int64_t n, const int64_t *weights, int64_t wanted)
{
    while (n > 1) {
        int64_t greater = sundog_partition_keys(keys, n), sum = greater;
        if (weights != NULL) {
            sum = 0;
            for (int64_t i = 0; i < greater; i++)
                sum += weights[sundog_key_index(keys[i])];
        }
        int64_t pivot = weights == NULL ? 1 : weights[sundog_key_index(keys[greater])];
        if (wanted <= sum) {
            n = greater;
        } else if (wanted <= sum + pivot || greater + 1 == n) {
            return keys[greater];
        } else {
            wanted -= sum + pivot;
            keys += greater + 1;
            n -= greater + 1;
        }
    }
    return keys[0];
}
