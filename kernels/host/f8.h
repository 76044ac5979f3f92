#pragma once

/* Panels of f8, as layout.h describes them: blocks of 64 columns, sixteen d and then sixteen codes a column. */

#include "kernels/contract/layout.h"

#define SUNDOG_F8_HEADER (4 * SUNDOG_PANEL_ROWS)
#define SUNDOG_F8_BLOCK (SUNDOG_F8_HEADER + SUNDOG_F8_COLUMNS * SUNDOG_PANEL_ROWS)

/* The block that holds column k. */
static inline const uint8_t *
sundog_f8_block(const uint8_t *panel, int64_t k)
{
    return panel + k / SUNDOG_F8_COLUMNS * SUNDOG_F8_BLOCK;
}

/* Its codes of column k, sixteen rows. */
static inline const uint8_t *
sundog_f8_codes(const uint8_t *block, int64_t k)
{
    return block + SUNDOG_F8_HEADER + k % SUNDOG_F8_COLUMNS * SUNDOG_PANEL_ROWS;
}

/* Rows of f8 [n_rows, n_columns] into a panel, or back. */
void sundog_f8_copy_rows(uint8_t *rows, int64_t n_rows, int64_t n_columns, uint8_t *panel,
                         bool pack);
void sundog_f8_dequantize_row(const uint8_t *panel, int64_t row, int64_t n_columns, float *values);
