#pragma once

/* Where the parts of a quantized panel lie, as layout.h describes them. */

#include "kernels/contract/layout.h"

#define SUNDOG_PANEL_BLOCK 32 /* columns that share a scale */
#define SUNDOG_PANEL_GROUPS 8 /* of four columns, a 4-byte word a row */
#define SUNDOG_PANEL_LINE 64  /* bytes of one group of all rows */
#define SUNDOG_Q4_1_BLOCK_BYTES 320
#define SUNDOG_Q8_0_PAIR_BYTES 1088
#define SUNDOG_Q8_0_ZERO 128 /* what is added to a value before it is stored */

/* 16 scales as halves. */
static inline const uint8_t *
sundog_q4_1_scales(const uint8_t *panel, int64_t block)
{
    return panel + block * SUNDOG_Q4_1_BLOCK_BYTES;
}

/* 16 minima as halves. */
static inline const uint8_t *
sundog_q4_1_minima(const uint8_t *panel, int64_t block)
{
    return sundog_q4_1_scales(panel, block) + 2 * SUNDOG_PANEL_ROWS;
}

/* Four lines of nibbles, two groups each. */
static inline const uint8_t *
sundog_q4_1_values(const uint8_t *panel, int64_t block)
{
    return sundog_q4_1_scales(panel, block) + 4 * SUNDOG_PANEL_ROWS;
}

/* 16 scales as halves; those of a pair of blocks stand together. */
static inline const uint8_t *
sundog_q8_0_scales(const uint8_t *panel, int64_t block)
{
    return panel + block / 2 * SUNDOG_Q8_0_PAIR_BYTES + block % 2 * (2 * SUNDOG_PANEL_ROWS);
}

/* Eight lines of bytes. */
static inline const uint8_t *
sundog_q8_0_values(const uint8_t *panel, int64_t block)
{
    return panel + block / 2 * SUNDOG_Q8_0_PAIR_BYTES + 4 * SUNDOG_PANEL_ROWS +
           block % 2 * (SUNDOG_PANEL_GROUPS * SUNDOG_PANEL_LINE);
}
