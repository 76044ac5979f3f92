#pragma once

/*
 * What linear-tiles.c asks of an instruction set: integer products of 32 rows of a quantized weight and
 * one a8 tile of 6 tokens. Rows are taken out of their panels once and then meet every tile; where a
 * call has few tiles, a set may go straight over the panel instead.
 *
 * Results are out[token][row], SUNDOG_UNIT_ROWS floats a token.
 */

#include "kernels/contract/activation.h"
#include "kernels/host/kernel.h"

#define SUNDOG_UNIT_ROWS 32

/* 32 rows taken apart, in a thread's workspace: blocks of 32 columns, each with
 *   bytes [8 groups][2 panels][16 rows][4]
 *   scales [n][2 panels][16]   minima [n][2 panels][16]    n = 2 where 16 columns share a scale, else 1
 * or, for float activations, values [K][32]. */
typedef struct {
    SundogLayout layout;
    int64_t n_columns;
    uint8_t *bytes;
    float *scales;
    float *minima;
    float *values;
} SundogUnpacked;

/* One a8 tile by its parts. */
typedef struct {
    const int8_t *bytes;  /* [KB][8][6][4] */
    const float *scales;  /* [KB][6] */
    const float *sums;    /* [KB][6] */
    const int32_t *isums; /* [KB][2][6] */
} SundogTile;

/* out[token][0 to 31] for n_tokens of the tile, 1 to 6, from two panels; where both are the same, the
 * second half means nothing. */
void SUNDOG_KERNEL(direct_product)(SundogLayout layout, const uint8_t *const panels[2],
                                   int64_t n_columns, const SundogTile *tile, int n_tokens,
                                   float *out);
/* Takes one quantized panel apart into half 0 or 1 of the 32 rows. */
void SUNDOG_KERNEL(unpack_panel)(const SundogUnpacked *to, int half, const uint8_t *panel);
/* The same as floats, of any panel: values [columns][32] of a range of its columns, whole blocks of 32
 * where it is quantized. */
void SUNDOG_KERNEL(dequantize_panel)(const SundogUnpacked *to, int half, const uint8_t *panel,
                                     SundogRange columns);
/* out[token][0 to 31] for the tile's first n_tokens at least. */
void SUNDOG_KERNEL(tile_product)(const SundogUnpacked *weight, const SundogTile *tile, int n_tokens,
                                 float *out);
