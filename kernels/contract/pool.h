#pragma once

/*
 * pool: one row of each sequence's rows, x [T, D], first_row [S + 1] i32, y [S, D]. By number:
 *   mean   y[k] = (sum of x[t][k] in rising t, by addition) * (1 / rows), the last two rounded once each
 *   first  the sequence's first row of the step
 *   last   its last
 * A sequence without rows, or whose rows are not all in x, gives a row of NaN. Any split.
 */

#include "kernels/contract/types.h"

/* Numbers in files. X(NAME, number) */
#define SUNDOG_POOLS(X) \
    X(MEAN, 0)          \
    X(FIRST, 1)         \
    X(LAST, 2)

typedef enum {
#define X(name, number) SUNDOG_POOL_##name = number,
    SUNDOG_POOLS(X)
#undef X
        SUNDOG_N_POOLS
} SundogPool;
