#pragma once

/* One row of a quantized panel: put in, taken out, and as numbers. */

#include "kernels/host/gguf-block.h"
#include "kernels/host/panels.h"

/* 32 columns of a row as linear.h's numeric class sees them. */
typedef struct {
    int32_t q[SUNDOG_PANEL_BLOCK]; /* exact integers, without their zero point */
    float scales[2];               /* of the first 16 and of the last 16 columns */
    float minima[2];               /* zero where the layout has none */
} SundogRowValues;

/* Puts n_columns, 32 or 256, of row r into a panel of zeros, from column k on. */
void sundog_panel_put(const SundogPanelForm *form, uint8_t *panel, int64_t r, int64_t k,
                      int n_columns, const SundogRowBlock *block);
void sundog_panel_get(const SundogPanelForm *form, const uint8_t *panel, int64_t r, int64_t k,
                      int n_columns, SundogRowBlock *block);

/* The 32 columns from k on, a multiple of 32. */
void sundog_panel_take(const SundogPanelForm *form, const uint8_t *panel, int64_t r, int64_t k,
                       SundogRowValues *values);
