#pragma once

/*
 * Layouts of weights.
 *
 * For the host: one copy for decoding and prefill, little-endian, the same on every
 * processor. A panel is 16 rows and all columns, contiguous, one sequential stream with the scales
 * inline; panels follow one another; missing rows of the last panel are zero. Within 64 bytes of
 * quantized values, byte 4 r + i is row r, column 4 g + i; nibbles: low is group 2 j, high 2 j + 1.
 *
 *   panel16-q4_1, a block of 32 columns: 16 d f16 | 16 m f16 | 4 x 64 bytes of nibbles   = 320 bytes
 *   panel16-q8_0, a block of 64 columns: 32 d f16 (16 of the first 32 columns, then 16 of the second)
 *                 | 16 x 64 bytes, stored + 128 = 1088 bytes; an odd last block of 32 is half padding
 *   panel16-f32, -f16, -bf16: for each column, 16 values of the 16 rows
 *   dense-f32: rows one after the other
 *
 * For CUDA: a panel is again 16 rows and all columns in one sequential stream, cut into blocks in which
 * every lane of a warp finds its own share of the A operand of mma.m16n8k16 (and of one warp's quarter
 * of wgmma's) side by side. Lane 4 g + t holds of each step of 16 columns, in register i, row
 * g + 8 (i mod 2), columns 8 (i / 2) + 2 t and the next. Columns past the last are zero.
 *
 *   tile16-bf16, a block of 16 columns: 32 lanes x 4 registers of two bf16                  = 512 bytes
 *   tile16-q8_0, a block of 64 columns: 2 x 32 lanes x (2 steps x 4 registers x 2 signed bytes)
 *                | 16 rows x 2 d f16, one of each 32 columns                               = 1088 bytes
 *   tile16-q4_1, a block of 64 columns: 32 lanes x 4 steps of a word: register i is bits 4 i to 4 i + 3
 *                of its low half for the even column, of its high half for the odd one
 *                | 16 rows x 2 x (d f16, m f16)                                             = 640 bytes
 *
 * Dequantized values in float32: q4_1 fma(d, q, m); q8_0 d * q; float layouts the value itself.
 *
 * Packing never changes a value: unpack(pack(rows)) gives the same bytes. No thread of its own;
 * panels may be packed in parallel.
 */

#include "kernels/contract/types.h"

#define SUNDOG_PANEL_ROWS 16

/* Which layout the host kernels take for tensor data of this GGUF type; 0 where there is none. */
SundogLayout sundog_layout_for_gguf_type(uint32_t gguf_type);
/* The same for the CUDA kernels. */
SundogLayout sundog_layout_for_cuda(uint32_t gguf_type);
/* True for the layouts of CUDA kernels. */
bool sundog_layout_is_tile(SundogLayout layout);
/* Columns of one block of a tile layout, and its bytes. */
int64_t sundog_tile_block_columns(SundogLayout layout);
size_t sundog_tile_block_bytes(SundogLayout layout);

/* Bytes of a whole matrix in a layout; a multiple of 64. */
size_t sundog_layout_bytes(SundogLayout layout, int64_t n_rows, int64_t n_columns);
/* Bytes of one panel (of one row for dense layouts). */
size_t sundog_layout_panel_bytes(SundogLayout layout, int64_t n_columns);
/* True where the layout can hold rows of so many columns. */
bool sundog_layout_fits(SundogLayout layout, int64_t n_columns);

/* Packs rows [0, n_rows) of one panel, n_rows at most 16, from GGUF's row encoding. */
void sundog_layout_pack_panel(SundogLayout layout, const uint8_t *rows, int64_t n_rows,
                              int64_t n_columns, uint8_t *panel);
/* The reverse, to GGUF's row encoding. */
void sundog_layout_unpack_panel(SundogLayout layout, const uint8_t *panel, int64_t n_rows,
                                int64_t n_columns, uint8_t *rows);
/* One row of the whole matrix as float32: [n_columns]. */
void sundog_layout_dequantize_row(SundogLayout layout, const uint8_t *matrix, int64_t row,
                                  int64_t n_columns, float *values);
