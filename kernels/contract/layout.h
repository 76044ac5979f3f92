#pragma once

/*
 * Layouts of weights.
 *
 * For the host: one copy for decoding and prefill, little-endian, the same on every
 * processor. A panel is 16 rows and all columns, contiguous, one sequential stream with the scales
 * inline; panels follow one another; missing rows of the last panel are zero. Within 64 bytes of
 * quantized values, byte 4 r + i is row r, column 4 g + i of group g.
 *
 * A quantized panel is a run of blocks, each a header and then, for every 32 columns, 64 bytes for each
 * bit of a stored value, the lines. Bits of four columns of a row lie in its word of a line: 4-bit lines
 * hold two groups of four columns, the first in the low nibbles; 2-bit lines four groups and 1-bit lines
 * eight, from the lowest bits up. High bits come before low bits.
 *
 *                    columns  header, 16 rows of each                             lines     bytes  value
 *   panel16-q4_0        64    2 d                                               2 x 4         576  d (q - 8)
 *   panel16-q4_1        32    d | m                                             4             320  d q + m
 *   panel16-q5_0        64    2 d                                               2 x (1 + 4)   704  d (q - 16)
 *   panel16-q5_1        32    d | m                                             1 + 4         384  d q + m
 *   panel16-q8_0        64    2 d                                               2 x 8        1088  d (q - 128)
 *   panel16-q2_k       256    d | m | 16 x (s, n: a nibble each)                8 x 2        1344  d s q - m n
 *   panel16-q3_k       256    d | 16 x s, signed byte                           8 x (1 + 2)  1824  d s (q - 4)
 *   panel16-q4_k       256    d | m | 8 x s, byte | 8 x n, byte                 8 x 4        2368  d s q - m n
 *   panel16-q5_k       256    d | m | 8 x s, byte | 8 x n, byte                 8 x (1 + 4)  2880  d s q - m n
 *   panel16-q6_k       256    d | 16 x s, signed byte                           8 x (2 + 4)  3360  d s (q - 32)
 *   panel16-iq4_nl      64    2 d                                               2 x 4         576  d c[q]
 *   panel16-iq4_xs     256    d | 8 x s, signed byte                            8 x 4        2208  d s c[q]
 *   panel16-mxfp4       64    2 d, bf16                                         2 x 4         576  d f[q]
 *
 * d and m are f16. s and n belong to 32 columns where there are 8, to 16 where there are 16. c and f are
 * the codebooks of panels.h. A last block of 64 may be half padding; a panel's bytes are rounded up to 64.
 *
 *   panel16-f32, -f16, -bf16: for each column, 16 values of the 16 rows
 *   panel16-f8, a block of 64 columns: 16 d f32 | for each column, 16 codes of the 16 rows     = 1088 bytes
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
 *   tile16-f8, a block of 64 columns: as tile16-q8_0 has bytes, codes | 16 rows x d f32        = 1088 bytes
 *
 * Dequantized values in float32: D and M are d s and -m n, both exact, or d and m; the value is
 * fma(D, q, M), or D * q without minima, where q is the exact integer. Float layouts: the value itself, of
 * f8 d times that of its code, math.h's e4m3.
 *
 * GGUF has no f8: its rows are blocks of 64 columns, d f32 and 64 codes, of type SUNDOG_TYPE_F8 here.
 *
 * Packing never changes a value: unpack(pack(rows)) gives the same bytes. No thread of its own;
 * panels may be packed in parallel.
 */

#include "kernels/contract/types.h"

#define SUNDOG_PANEL_ROWS 16

/* Beside GGUF's numbers of types. */
#define SUNDOG_TYPE_F8 0x53440008u
#define SUNDOG_F8_COLUMNS 64
#define SUNDOG_F8_BYTES 68

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
