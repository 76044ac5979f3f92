#pragma once

/* Random numbers and weights for the tests of kernels: the same on every run. */

#include "kernels/contract/layout.h"

typedef struct {
    uint64_t state;
} TestRandom;

static inline uint32_t
test_random_u32(TestRandom *random)
{
    random->state = random->state * 6364136223846793005u + 1442695040888963407u;
    uint64_t mixed = (random->state ^ random->state >> 29) * 0xbf58476d1ce4e5b9u;
    return (uint32_t)(mixed >> 32);
}

/* In [low, high]. */
static inline int64_t
test_random_int(TestRandom *random, int64_t low, int64_t high)
{
    return low + (int64_t)(test_random_u32(random) % (uint64_t)(high - low + 1));
}

/* In [-1, 1), denser about zero. */
static inline float
test_random_float(TestRandom *random)
{
    float x = (float)(int32_t)test_random_u32(random) * 0x1p-31f;
    return x * ((float)(test_random_u32(random) >> 8) * 0x1p-24f);
}

static inline void
test_random_floats(TestRandom *random, float *values, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        values[i] = test_random_float(random);
}
