#pragma once

/*
 * The host kernels behind one table: for each operation the plain reference that defines it, and the
 * fastest version for the instructions of a processor. Chosen once; a test holds them together.
 */

#include "kernels/contract/operations.h"

typedef enum {
    SUNDOG_HOST_PLAIN,
    SUNDOG_HOST_AVX2,        /* with FMA and F16C */
    SUNDOG_HOST_AVX_VNNI,    /* AVX2, and products of bytes in its registers */
    SUNDOG_HOST_AVX512_VNNI, /* F, BW, DQ, VL, VNNI; not every such processor has the one above */
    SUNDOG_HOST_AVX512_BF16, /* and products of pairs of bf16: attention is its own */
    SUNDOG_N_HOST_SETS
} SundogHostSet;

/* Whether this processor and its system run a set; false for a number that names none. */
bool sundog_host_supports(int set);
/* The best set that this processor runs. */
SundogHostSet sundog_host_detect(void);
const char *sundog_host_set_name(SundogHostSet set);
/* The kernel of an operation in a set; a set without one of its own falls to the next lower. */
SundogKernel sundog_host_kernel(SundogOperationKind kind, SundogHostSet set);
