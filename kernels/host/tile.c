/*
 * Tiles of 16 rows in the order of the tensor cores' fragments. One function says where an element
 * lies; packing, unpacking and dequantizing are loops over it.
 */

#include "kernels/host/tile.h"

#include "kernels/contract/math.h"

#define GROUP 32 /* columns of a scale */
#define ROWS SUNDOG_PANEL_ROWS
#define Q4_1_ROW_BLOCK 20 /* GGUF: d f16, m f16, 16 bytes: low nibbles are columns 0 to 15 */
#define Q8_0_ROW_BLOCK 34 /* GGUF: d f16, 32 signed bytes */
#define Q4_1_VALUES 512   /* bytes of values in a block, before the scales */
#define Q8_0_VALUES 1024

/* Where row r and column k of one step of 16 columns lie among the fragments of mma.m16n8k16. */
typedef struct {
    size_t lane;
    size_t reg;
    size_t half;
} Fragment;

static Fragment
find_fragment(size_t r, size_t k)
{
    return (Fragment){.lane = r % 8 * 4 + k % 8 / 2, .reg = r / 8 + k / 8 * 2, .half = k % 2};
}

int64_t
sundog_tile_block_columns(SundogLayout layout)
{
    return layout == SUNDOG_LAYOUT_TILE16_BF16 ? 16 : 64;
}

size_t
sundog_tile_block_bytes(SundogLayout layout)
{
    switch (layout) {
    case SUNDOG_LAYOUT_TILE16_Q4_1:
        return Q4_1_VALUES + ROWS * 2 * 4;
    case SUNDOG_LAYOUT_TILE16_Q8_0:
        return Q8_0_VALUES + ROWS * 2 * 2;
    case SUNDOG_LAYOUT_TILE16_F8:
        return Q8_0_VALUES + ROWS * 4;
    default:
        return 512;
    }
}

size_t
sundog_tile_panel_bytes(SundogLayout layout, int64_t n_columns)
{
    int64_t columns = sundog_tile_block_columns(layout);
    return (size_t)((n_columns + columns - 1) / columns) * sundog_tile_block_bytes(layout);
}

static uint8_t *
find_block(SundogLayout layout, const uint8_t *panel, size_t k)
{
    return (uint8_t *)panel +
           k / (size_t)sundog_tile_block_columns(layout) * sundog_tile_block_bytes(layout);
}

static uint8_t *
find_bf16(const uint8_t *panel, size_t r, size_t k)
{
    Fragment at = find_fragment(r, k % 16);
    return find_block(SUNDOG_LAYOUT_TILE16_BF16, panel, k) + at.lane * 16 + at.reg * 4 +
           at.half * 2;
}

static uint8_t *
find_byte(const uint8_t *panel, size_t r, size_t k)
{
    Fragment at = find_fragment(r, k % 16);
    return find_block(SUNDOG_LAYOUT_TILE16_Q8_0, panel, k) + k % 64 / 32 * 512 + at.lane * 16 +
           k % 32 / 16 * 8 + at.reg * 2 + at.half;
}

/* The byte that holds a nibble, and how far up in it. */
static uint8_t *
find_nibble(const uint8_t *panel, size_t r, size_t k, unsigned *shift)
{
    Fragment at = find_fragment(r, k % 16);
    *shift = at.reg % 2 * 4;
    return find_block(SUNDOG_LAYOUT_TILE16_Q4_1, panel, k) + at.lane * 16 + k % 64 / 16 * 4 +
           at.half * 2 + at.reg / 2;
}

/* d of a row of f8, whose codes lie as q8_0's bytes do. */
static uint8_t *
find_f8_scale(const uint8_t *panel, size_t r, size_t k)
{
    return find_block(SUNDOG_LAYOUT_TILE16_F8, panel, k) + Q8_0_VALUES + 4 * r;
}

/* d, and m where the layout has minima, of a group of 32 columns. */
static uint8_t *
find_scales(SundogLayout layout, const uint8_t *panel, size_t r, size_t k)
{
    size_t values = layout == SUNDOG_LAYOUT_TILE16_Q4_1 ? Q4_1_VALUES : Q8_0_VALUES;
    size_t bytes = layout == SUNDOG_LAYOUT_TILE16_Q4_1 ? 4 : 2;
    return find_block(layout, panel, k) + values + (r * 2 + k % 64 / GROUP) * bytes;
}

static void
copy(uint8_t *row, uint8_t *tile, size_t n_bytes, bool pack)
{
    memcpy(pack ? tile : row, pack ? row : tile, n_bytes);
}

static void
copy_bf16_row(uint8_t *row, size_t r, size_t n_columns, uint8_t *panel, bool pack)
{
    for (size_t k = 0; k < n_columns; k++)
        copy(row + 2 * k, find_bf16(panel, r, k), 2, pack);
}

static void
copy_q8_0_row(uint8_t *row, size_t r, size_t n_columns, uint8_t *panel, bool pack)
{
    for (size_t k = 0; k < n_columns; k++) {
        uint8_t *block = row + k / GROUP * Q8_0_ROW_BLOCK;
        if (k % GROUP == 0)
            copy(block, find_scales(SUNDOG_LAYOUT_TILE16_Q8_0, panel, r, k), 2, pack);
        copy(block + 2 + k % GROUP, find_byte(panel, r, k), 1, pack);
    }
}

static void
copy_f8_row(uint8_t *row, size_t r, size_t n_columns, uint8_t *panel, bool pack)
{
    for (size_t k = 0; k < n_columns; k++) {
        uint8_t *block = row + k / SUNDOG_F8_COLUMNS * SUNDOG_F8_BYTES;
        if (k % SUNDOG_F8_COLUMNS == 0)
            copy(block, find_f8_scale(panel, r, k), 4, pack);
        copy(block + 4 + k % SUNDOG_F8_COLUMNS, find_byte(panel, r, k), 1, pack);
    }
}

static void
copy_q4_1_row(uint8_t *row, size_t r, size_t n_columns, uint8_t *panel, bool pack)
{
    for (size_t k = 0; k < n_columns; k++) {
        unsigned to, from = k % GROUP / 16 * 4;
        uint8_t *block = row + k / GROUP * Q4_1_ROW_BLOCK;
        uint8_t *byte = find_nibble(panel, r, k, &to), *dense = block + 4 + k % 16;
        if (k % GROUP == 0)
            copy(block, find_scales(SUNDOG_LAYOUT_TILE16_Q4_1, panel, r, k), 4, pack);
        if (!pack && from == 0)
            *dense = 0;
        if (pack)
            *byte |= (uint8_t)((*dense >> from & 15) << to);
        else
            *dense |= (uint8_t)((*byte >> to & 15) << from);
    }
}

void
sundog_tile_copy_rows(SundogLayout layout, uint8_t *rows, int64_t n_rows, int64_t n_columns,
                      uint8_t *panel, bool pack)
{
    size_t n = (size_t)n_columns;
    for (size_t r = 0; r < (size_t)n_rows; r++)
        if (layout == SUNDOG_LAYOUT_TILE16_Q4_1)
            copy_q4_1_row(rows + r * (n / GROUP * Q4_1_ROW_BLOCK), r, n, panel, pack);
        else if (layout == SUNDOG_LAYOUT_TILE16_Q8_0)
            copy_q8_0_row(rows + r * (n / GROUP * Q8_0_ROW_BLOCK), r, n, panel, pack);
        else if (layout == SUNDOG_LAYOUT_TILE16_F8)
            copy_f8_row(rows + r * (n / SUNDOG_F8_COLUMNS * SUNDOG_F8_BYTES), r, n, panel, pack);
        else
            copy_bf16_row(rows + r * n * 2, r, n, panel, pack);
}

static float
half_at(const uint8_t *bytes)
{
    uint16_t half;
    memcpy(&half, bytes, sizeof half);
    return sundog_f16_to_f32(half);
}

static float
tile_value(SundogLayout layout, const uint8_t *panel, size_t r, size_t k)
{
    if (layout == SUNDOG_LAYOUT_TILE16_BF16) {
        uint16_t bits;
        memcpy(&bits, find_bf16(panel, r, k), sizeof bits);
        return sundog_bf16_to_f32(bits);
    }
    if (layout == SUNDOG_LAYOUT_TILE16_F8) {
        float d;
        memcpy(&d, find_f8_scale(panel, r, k), sizeof d);
        return d * sundog_e4m3_to_f32(*find_byte(panel, r, k));
    }
    const uint8_t *scales = find_scales(layout, panel, r, k);
    if (layout == SUNDOG_LAYOUT_TILE16_Q8_0)
        return half_at(scales) * (float)(int8_t)*find_byte(panel, r, k);
    unsigned shift;
    const uint8_t *byte = find_nibble(panel, r, k, &shift);
    int q = *byte >> shift & 15;
    return fmaf(half_at(scales), (float)q, half_at(scales + 2));
}

void
sundog_tile_dequantize_row(SundogLayout layout, const uint8_t *panel, int64_t row,
                           int64_t n_columns, float *values)
{
    for (size_t k = 0; k < (size_t)n_columns; k++)
        values[k] = tile_value(layout, panel, (size_t)row, k);
}
