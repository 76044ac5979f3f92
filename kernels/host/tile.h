#pragma once

/* The tile layouts of layout.h, for the table in layout.c. Within this house. */

#include "kernels/contract/layout.h"

size_t sundog_tile_panel_bytes(SundogLayout layout, int64_t n_columns);
/* Copies rows of GGUF's encoding [n_rows, n_columns] into a zeroed panel, or back. */
void sundog_tile_copy_rows(SundogLayout layout, uint8_t *rows, int64_t n_rows, int64_t n_columns,
                           uint8_t *panel, bool pack);
void sundog_tile_dequantize_row(SundogLayout layout, const uint8_t *panel, int64_t row,
                                int64_t n_columns, float *values);
