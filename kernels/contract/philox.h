#pragma once

/* The counter-based random numbers of sampling: Philox4x32-10 (Salmon et al., SC 2011). */

#include "kernels/contract/types.h"

#define SUNDOG_PHILOX_MULTIPLIER_0 0xd2511f53u
#define SUNDOG_PHILOX_MULTIPLIER_1 0xcd9e8d57u
#define SUNDOG_PHILOX_WEYL_0 0x9e3779b9u
#define SUNDOG_PHILOX_WEYL_1 0xbb67ae85u
#define SUNDOG_PHILOX_ROUNDS 10

/* A uniform number in [0, 1) for a seed and position. */
SUNDOG_SHARED double
sundog_sample_uniform(uint64_t seed, uint64_t position)
{
    uint32_t c[4] = {(uint32_t)position, (uint32_t)(position >> 32), 0, 0};
    uint32_t key0 = (uint32_t)seed, key1 = (uint32_t)(seed >> 32);
    for (int round = 0; round < SUNDOG_PHILOX_ROUNDS; round++) {
        uint64_t a = (uint64_t)SUNDOG_PHILOX_MULTIPLIER_0 * c[0];
        uint64_t b = (uint64_t)SUNDOG_PHILOX_MULTIPLIER_1 * c[2];
        uint32_t c1 = c[1], c3 = c[3];
        c[0] = (uint32_t)(b >> 32) ^ c1 ^ key0;
        c[1] = (uint32_t)b;
        c[2] = (uint32_t)(a >> 32) ^ c3 ^ key1;
        c[3] = (uint32_t)a;
        key0 += SUNDOG_PHILOX_WEYL_0;
        key1 += SUNDOG_PHILOX_WEYL_1;
    }
    uint64_t bits = (uint64_t)c[1] << 32 | c[0];
    return (double)(bits >> 11) * 0x1p-53;
}
