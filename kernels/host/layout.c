/*
 * Packing of weights into the host's layouts and back. Integer work on bytes: the same for every
 * instruction set, fast enough as plain loops over 16 rows.
 */

#include "kernels/contract/layout.h"
#include "kernels/contract/math.h"
#include "kernels/host/f8.h"
#include "kernels/host/panel-row.h"
#include "kernels/host/tile.h"

/* GGUF's numbers of types and layout.h's own, and where the host keeps tensors of each.
 * X(number of the type, host's layout, CUDA's layout or 0) */
#define GGUF_TYPES(X)                                            \
    X(0, SUNDOG_LAYOUT_PANEL16_F32, 0)                           \
    X(1, SUNDOG_LAYOUT_PANEL16_F16, 0)                           \
    X(2, SUNDOG_LAYOUT_PANEL16_Q4_0, 0)                          \
    X(3, SUNDOG_LAYOUT_PANEL16_Q4_1, SUNDOG_LAYOUT_TILE16_Q4_1)  \
    X(6, SUNDOG_LAYOUT_PANEL16_Q5_0, 0)                          \
    X(7, SUNDOG_LAYOUT_PANEL16_Q5_1, 0)                          \
    X(8, SUNDOG_LAYOUT_PANEL16_Q8_0, SUNDOG_LAYOUT_TILE16_Q8_0)  \
    X(10, SUNDOG_LAYOUT_PANEL16_Q2_K, 0)                         \
    X(11, SUNDOG_LAYOUT_PANEL16_Q3_K, 0)                         \
    X(12, SUNDOG_LAYOUT_PANEL16_Q4_K, 0)                         \
    X(13, SUNDOG_LAYOUT_PANEL16_Q5_K, 0)                         \
    X(14, SUNDOG_LAYOUT_PANEL16_Q6_K, 0)                         \
    X(20, SUNDOG_LAYOUT_PANEL16_IQ4_NL, 0)                       \
    X(23, SUNDOG_LAYOUT_PANEL16_IQ4_XS, 0)                       \
    X(30, SUNDOG_LAYOUT_PANEL16_BF16, SUNDOG_LAYOUT_TILE16_BF16) \
    X(39, SUNDOG_LAYOUT_PANEL16_MXFP4, 0)                        \
    X(SUNDOG_TYPE_F8, SUNDOG_LAYOUT_PANEL16_F8, SUNDOG_LAYOUT_TILE16_F8)

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
#define X(number, host, cuda) \
    case number:              \
        return host;
        GGUF_TYPES(X)
#undef X
    }
    return 0;
}

SundogLayout
sundog_layout_for_cuda(uint32_t gguf_type)
{
    switch (gguf_type) {
#define X(number, host, cuda) \
    case number:              \
        return cuda;
        GGUF_TYPES(X)
#undef X
    }
    return 0;
}

bool
sundog_layout_is_tile(SundogLayout layout)
{
    return layout == SUNDOG_LAYOUT_TILE16_BF16 || layout == SUNDOG_LAYOUT_TILE16_Q4_1 ||
           layout == SUNDOG_LAYOUT_TILE16_Q8_0 || layout == SUNDOG_LAYOUT_TILE16_F8;
}

/* Values that share a block of the encoding; 1 for floats. */
static int
block_values(SundogLayout layout)
{
    switch (layout) {
#define X(name, number, values, text) \
    case SUNDOG_LAYOUT_##name:        \
        return values;
        SUNDOG_LAYOUTS(X)
#undef X
    }
    return 1;
}

static bool
is_quantized_panel(SundogLayout layout)
{
    return sundog_panel_form(layout).block != 0;
}

bool
sundog_layout_fits(SundogLayout layout, int64_t n_columns)
{
    return n_columns > 0 && n_columns % block_values(layout) == 0;
}

size_t
sundog_layout_panel_bytes(SundogLayout layout, int64_t n_columns)
{
    SundogPanelForm form = sundog_panel_form(layout);
    if (form.block != 0)
        return round_up((size_t)((n_columns + form.block - 1) / form.block) *
                            (size_t)sundog_panel_block_bytes(&form),
                        64);
    if (sundog_layout_is_tile(layout))
        return sundog_tile_panel_bytes(layout, n_columns);
    if (layout == SUNDOG_LAYOUT_PANEL16_F8)
        return (size_t)(n_columns / SUNDOG_F8_COLUMNS) * SUNDOG_F8_BLOCK;
    size_t bytes = (size_t)n_columns * element_bytes(layout);
    return layout == SUNDOG_LAYOUT_DENSE_F32 ? bytes : round_up(bytes * ROWS, 64);
}

size_t
sundog_layout_bytes(SundogLayout layout, int64_t n_rows, int64_t n_columns)
{
    size_t panel = sundog_layout_panel_bytes(layout, n_columns);
    if (layout == SUNDOG_LAYOUT_DENSE_F32)
        return round_up(panel * (size_t)n_rows, 64);
    return panel * (((size_t)n_rows + ROWS - 1) / ROWS);
}

/* Rows of a quantized panel to GGUF's encoding, or back. */
static void
copy_quantized(SundogLayout layout, uint8_t *rows, int64_t n_rows, int64_t n_columns,
               uint8_t *panel, bool pack)
{
    SundogPanelForm form = sundog_panel_form(layout);
    int n_values = block_values(layout);
    size_t n_bytes = sundog_gguf_block_bytes(layout);
    SundogRowBlock block;
    for (int64_t r = 0; r < n_rows; r++)
        for (int64_t k = 0; k < n_columns; k += n_values, rows += n_bytes)
            if (pack) {
                sundog_gguf_block_read(layout, rows, &block);
                sundog_panel_put(&form, panel, r, k, n_values, &block);
            } else {
                sundog_panel_get(&form, panel, r, k, n_values, &block);
                sundog_gguf_block_write(layout, &block, rows);
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
    if (is_quantized_panel(layout)) {
        copy_quantized(layout, (uint8_t *)rows, n_rows, n_columns, panel, true);
        return;
    }
    if (layout == SUNDOG_LAYOUT_PANEL16_F8) {
        sundog_f8_copy_rows((uint8_t *)rows, n_rows, n_columns, panel, true);
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
    if (is_quantized_panel(layout)) {
        copy_quantized(layout, rows, n_rows, n_columns, (uint8_t *)panel, false);
        return;
    }
    if (layout == SUNDOG_LAYOUT_PANEL16_F8) {
        sundog_f8_copy_rows(rows, n_rows, n_columns, (uint8_t *)panel, false);
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

/* Without minima the product stands alone, since adding zero would change the sign of -0. */
static void
dequantize_quantized(SundogLayout layout, const uint8_t *panel, int64_t r, int64_t n_columns,
                     float *values)
{
    SundogPanelForm form = sundog_panel_form(layout);
    SundogRowValues row;
    for (int64_t k = 0; k < n_columns; k += SUNDOG_PANEL_BLOCK) {
        sundog_panel_take(&form, panel, r, k, &row);
        for (int i = 0; i < SUNDOG_PANEL_BLOCK; i++) {
            float scale = row.scales[i / 16], q = (float)row.q[i];
            values[k + i] = form.has_minima ? fmaf(scale, q, row.minima[i / 16]) : scale * q;
        }
    }
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
    if (is_quantized_panel(layout))
        dequantize_quantized(layout, panel, row % ROWS, n_columns, values);
    else if (layout == SUNDOG_LAYOUT_PANEL16_F8)
        sundog_f8_dequantize_row(panel, row % ROWS, n_columns, values);
    else
        for (size_t k = 0; k < columns; k++)
            values[k] = float_value(layout, panel, r, k);
}
