/*
 * Packing of weights into the host's layouts and back. Integer work on bytes: the same for every
 * instruction set, fast enough as plain loops over 16 rows.
 */

#include "kernels/contract/layout.h"
#include "kernels/contract/math.h"
#include "kernels/host/panels.h"
#include "kernels/host/tile.h"

#define GGUF_F32 0
#define GGUF_F16 1
#define GGUF_Q4_1 3
#define GGUF_Q8_0 8
#define GGUF_BF16 30

#define BLOCK SUNDOG_PANEL_BLOCK
#define Q4_1_ROW_BLOCK 20 /* d f16, m f16, 16 bytes: low nibbles are columns 0 to 15 */
#define Q8_0_ROW_BLOCK 34 /* d f16, 32 signed bytes */
#define ROWS SUNDOG_PANEL_ROWS

static size_t
round_up(size_t value, size_t multiple)
{
    return (value + multiple - 1) / multiple * multiple;
}

static size_t
element_bytes(SundogLayout layout)
{
    return layout == SUNDOG_LAYOUT_PANEL16_F32 || layout == SUNDOG_LAYOUT_DENSE_F32 ? 4 : 2;
}

SundogLayout
sundog_layout_for_gguf_type(uint32_t gguf_type)
{
    switch (gguf_type) {
    case GGUF_F32:
        return SUNDOG_LAYOUT_PANEL16_F32;
    case GGUF_F16:
        return SUNDOG_LAYOUT_PANEL16_F16;
    case GGUF_Q4_1:
        return SUNDOG_LAYOUT_PANEL16_Q4_1;
    case GGUF_Q8_0:
        return SUNDOG_LAYOUT_PANEL16_Q8_0;
    case GGUF_BF16:
        return SUNDOG_LAYOUT_PANEL16_BF16;
    default:
        return 0;
    }
}

SundogLayout
sundog_layout_for_cuda(uint32_t gguf_type)
{
    switch (gguf_type) {
    case GGUF_Q4_1:
        return SUNDOG_LAYOUT_TILE16_Q4_1;
    case GGUF_Q8_0:
        return SUNDOG_LAYOUT_TILE16_Q8_0;
    case GGUF_BF16:
        return SUNDOG_LAYOUT_TILE16_BF16;
    default:
        return 0;
    }
}

bool
sundog_layout_is_tile(SundogLayout layout)
{
    return layout == SUNDOG_LAYOUT_TILE16_BF16 || layout == SUNDOG_LAYOUT_TILE16_Q4_1 ||
           layout == SUNDOG_LAYOUT_TILE16_Q8_0;
}

bool
sundog_layout_fits(SundogLayout layout, int64_t n_columns)
{
    bool blocks = layout == SUNDOG_LAYOUT_PANEL16_Q4_1 || layout == SUNDOG_LAYOUT_PANEL16_Q8_0 ||
                  layout == SUNDOG_LAYOUT_TILE16_Q4_1 || layout == SUNDOG_LAYOUT_TILE16_Q8_0;
    return n_columns > 0 && (!blocks || n_columns % BLOCK == 0);
}

size_t
sundog_layout_panel_bytes(SundogLayout layout, int64_t n_columns)
{
    size_t blocks = (size_t)n_columns / BLOCK;
    switch (layout) {
    case SUNDOG_LAYOUT_DENSE_F32:
        return (size_t)n_columns * 4;
    case SUNDOG_LAYOUT_PANEL16_F32:
    case SUNDOG_LAYOUT_PANEL16_F16:
    case SUNDOG_LAYOUT_PANEL16_BF16:
        return round_up((size_t)n_columns * ROWS * element_bytes(layout), 64);
    case SUNDOG_LAYOUT_PANEL16_Q4_1:
        return blocks * SUNDOG_Q4_1_BLOCK_BYTES;
    case SUNDOG_LAYOUT_PANEL16_Q8_0:
        return (blocks + 1) / 2 * SUNDOG_Q8_0_PAIR_BYTES;
    case SUNDOG_LAYOUT_TILE16_BF16:
    case SUNDOG_LAYOUT_TILE16_Q4_1:
    case SUNDOG_LAYOUT_TILE16_Q8_0:
        return sundog_tile_panel_bytes(layout, n_columns);
    }
    return 0;
}

size_t
sundog_layout_bytes(SundogLayout layout, int64_t n_rows, int64_t n_columns)
{
    size_t panel = sundog_layout_panel_bytes(layout, n_columns);
    if (layout == SUNDOG_LAYOUT_DENSE_F32)
        return round_up(panel * (size_t)n_rows, 64);
    return panel * (((size_t)n_rows + ROWS - 1) / ROWS);
}

/* One block of 32 columns of one row: 16 bytes of nibbles, in GGUF's order and in the panel's. Byte
 * 4 r + i of 64-byte line j holds columns 8 j + i (low) and 8 j + 4 + i (high). */
static void
pack_q4_1_block(const uint8_t *row, size_t r, uint8_t *block)
{
    memcpy(block + 2 * r, row, 2);
    memcpy(block + 2 * ROWS + 2 * r, row + 2, 2);
    const uint8_t *nibbles = row + 4;
    uint8_t *lines = block + 4 * ROWS + 4 * r;
    for (size_t i = 0; i < 4; i++) {
        lines[i] = (nibbles[i] & 15) | (nibbles[i + 4] & 15) << 4;
        lines[64 + i] = (nibbles[i + 8] & 15) | (nibbles[i + 12] & 15) << 4;
        lines[128 + i] = nibbles[i] >> 4 | (nibbles[i + 4] & 0xf0);
        lines[192 + i] = nibbles[i + 8] >> 4 | (nibbles[i + 12] & 0xf0);
    }
}

static void
unpack_q4_1_block(const uint8_t *block, size_t r, uint8_t *row)
{
    memcpy(row, block + 2 * r, 2);
    memcpy(row + 2, block + 2 * ROWS + 2 * r, 2);
    const uint8_t *lines = block + 4 * ROWS + 4 * r;
    uint8_t *nibbles = row + 4;
    for (size_t i = 0; i < 4; i++) {
        nibbles[i] = (lines[i] & 15) | (lines[128 + i] & 15) << 4;
        nibbles[i + 4] = lines[i] >> 4 | (lines[128 + i] & 0xf0);
        nibbles[i + 8] = (lines[64 + i] & 15) | (lines[192 + i] & 15) << 4;
        nibbles[i + 12] = lines[64 + i] >> 4 | (lines[192 + i] & 0xf0);
    }
}

/* Moves four values of a row at a time and changes signed to stored form or back: + 128 either way. */
static void
copy_q8_0_block(uint8_t *row, uint8_t *lines, bool pack)
{
    for (size_t group = 0; group < 8; group++) {
        uint32_t four;
        uint8_t *dense = row + 4 * group, *line = lines + 64 * group;
        memcpy(&four, pack ? dense : line, 4);
        four ^= 0x80808080;
        memcpy(pack ? line : dense, &four, 4);
    }
}

static void
pack_quantized(SundogLayout layout, const uint8_t *rows, int64_t n_rows, size_t blocks,
               uint8_t *panel)
{
    bool q4 = layout == SUNDOG_LAYOUT_PANEL16_Q4_1;
    size_t row_block = q4 ? Q4_1_ROW_BLOCK : Q8_0_ROW_BLOCK;
    for (size_t r = 0; r < (size_t)n_rows; r++) {
        const uint8_t *row = rows + r * blocks * row_block;
        for (size_t b = 0; b < blocks; b++, row += row_block) {
            if (q4) {
                pack_q4_1_block(row, r, panel + b * SUNDOG_Q4_1_BLOCK_BYTES);
                continue;
            }
            memcpy((uint8_t *)sundog_q8_0_scales(panel, (int64_t)b) + 2 * r, row, 2);
            copy_q8_0_block((uint8_t *)row + 2,
                            (uint8_t *)sundog_q8_0_values(panel, (int64_t)b) + 4 * r, true);
        }
    }
}

static void
unpack_quantized(SundogLayout layout, const uint8_t *panel, int64_t n_rows, size_t blocks,
                 uint8_t *rows)
{
    bool q4 = layout == SUNDOG_LAYOUT_PANEL16_Q4_1;
    size_t row_block = q4 ? Q4_1_ROW_BLOCK : Q8_0_ROW_BLOCK;
    for (size_t r = 0; r < (size_t)n_rows; r++) {
        uint8_t *row = rows + r * blocks * row_block;
        for (size_t b = 0; b < blocks; b++, row += row_block) {
            if (q4) {
                unpack_q4_1_block(panel + b * SUNDOG_Q4_1_BLOCK_BYTES, r, row);
                continue;
            }
            memcpy(row, sundog_q8_0_scales(panel, (int64_t)b) + 2 * r, 2);
            copy_q8_0_block(row + 2, (uint8_t *)sundog_q8_0_values(panel, (int64_t)b) + 4 * r,
                            false);
        }
    }
}

void
sundog_layout_pack_panel(SundogLayout layout, const uint8_t *rows, int64_t n_rows,
                         int64_t n_columns, uint8_t *panel)
{
    size_t columns = (size_t)n_columns, bytes = element_bytes(layout);
    if (layout == SUNDOG_LAYOUT_DENSE_F32) {
        memcpy(panel, rows, columns * 4 * (size_t)n_rows);
        return;
    }
    memset(panel, 0, sundog_layout_panel_bytes(layout, n_columns));
    if (sundog_layout_is_tile(layout)) {
        sundog_tile_copy_rows(layout, (uint8_t *)rows, n_rows, n_columns, panel, true);
        return;
    }
    if (layout == SUNDOG_LAYOUT_PANEL16_Q4_1 || layout == SUNDOG_LAYOUT_PANEL16_Q8_0) {
        pack_quantized(layout, rows, n_rows, columns / BLOCK, panel);
        return;
    }
    for (size_t r = 0; r < (size_t)n_rows; r++)
        for (size_t k = 0; k < columns; k++)
            memcpy(panel + (k * ROWS + r) * bytes, rows + (r * columns + k) * bytes, bytes);
}

void
sundog_layout_unpack_panel(SundogLayout layout, const uint8_t *panel, int64_t n_rows,
                           int64_t n_columns, uint8_t *rows)
{
    size_t columns = (size_t)n_columns, bytes = element_bytes(layout);
    if (layout == SUNDOG_LAYOUT_DENSE_F32) {
        memcpy(rows, panel, columns * 4 * (size_t)n_rows);
        return;
    }
    if (sundog_layout_is_tile(layout)) {
        sundog_tile_copy_rows(layout, rows, n_rows, n_columns, (uint8_t *)panel, false);
        return;
    }
    if (layout == SUNDOG_LAYOUT_PANEL16_Q4_1 || layout == SUNDOG_LAYOUT_PANEL16_Q8_0) {
        unpack_quantized(layout, panel, n_rows, columns / BLOCK, rows);
        return;
    }
    for (size_t r = 0; r < (size_t)n_rows; r++)
        for (size_t k = 0; k < columns; k++)
            memcpy(rows + (r * columns + k) * bytes, panel + (k * ROWS + r) * bytes, bytes);
}

static float
f16_at(const uint8_t *bytes)
{
    uint16_t half;
    memcpy(&half, bytes, sizeof half);
    return sundog_f16_to_f32(half);
}

static void
dequantize_q4_1_block(const uint8_t *block, size_t r, float *values)
{
    float d = f16_at(block + 2 * r), m = f16_at(block + 2 * ROWS + 2 * r);
    for (size_t k = 0; k < BLOCK; k++) {
        uint8_t byte = block[4 * ROWS + 64 * (k / 8) + 4 * r + k % 4];
        int q = k % 8 < 4 ? byte & 15 : byte >> 4;
        values[k] = fmaf(d, (float)q, m);
    }
}

static void
dequantize_q8_0_block(const uint8_t *panel, size_t block, size_t r, float *values)
{
    float d = f16_at(sundog_q8_0_scales(panel, (int64_t)block) + 2 * r);
    const uint8_t *lines = sundog_q8_0_values(panel, (int64_t)block) + 4 * r;
    for (size_t k = 0; k < BLOCK; k++)
        values[k] = d * (float)(lines[64 * (k / 4) + k % 4] - 128);
}

static float
float_value(SundogLayout layout, const uint8_t *panel, size_t r, size_t k)
{
    const uint8_t *at = panel + (k * ROWS + r) * element_bytes(layout);
    if (layout == SUNDOG_LAYOUT_PANEL16_F16)
        return f16_at(at);
    uint32_t bits = 0;
    if (layout == SUNDOG_LAYOUT_PANEL16_BF16)
        memcpy((uint8_t *)&bits + 2, at, 2);
    else
        memcpy(&bits, at, 4);
    return sundog_float_from_bits(bits);
}

void
sundog_layout_dequantize_row(SundogLayout layout, const uint8_t *matrix, int64_t row,
                             int64_t n_columns, float *values)
{
    size_t panel_bytes = sundog_layout_panel_bytes(layout, n_columns);
    if (layout == SUNDOG_LAYOUT_DENSE_F32) {
        memcpy(values, matrix + (size_t)row * panel_bytes, panel_bytes);
        return;
    }
    const uint8_t *panel = matrix + (size_t)(row / ROWS) * panel_bytes;
    size_t r = (size_t)(row % ROWS), columns = (size_t)n_columns;
    if (sundog_layout_is_tile(layout)) {
        sundog_tile_dequantize_row(layout, panel, row % ROWS, n_columns, values);
        return;
    }
    if (layout == SUNDOG_LAYOUT_PANEL16_Q4_1)
        for (size_t b = 0; b < columns / BLOCK; b++)
            dequantize_q4_1_block(panel + b * SUNDOG_Q4_1_BLOCK_BYTES, r, values + b * BLOCK);
    else if (layout == SUNDOG_LAYOUT_PANEL16_Q8_0)
        for (size_t b = 0; b < columns / BLOCK; b++)
            dequantize_q8_0_block(panel, b, r, values + b * BLOCK);
    else
        for (size_t k = 0; k < columns; k++)
            values[k] = float_value(layout, panel, r, k);
}
