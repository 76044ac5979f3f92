/*
 * Panels taken apart, for products with many tokens: bytes with their scales for a8 activations, values for
 * floats. One version of each function for each quantized layout, made from one text.
 */

#include "kernels/host/f8.h"
#include "kernels/host/half.h"
#include "kernels/host/linear-tiles.h"
#include "kernels/host/lines.h"

#define ROWS SUNDOG_PANEL_ROWS
#define UNIT SUNDOG_UNIT_ROWS
#define GROUPS SUNDOG_PANEL_GROUPS
#define BLOCK SUNDOG_PANEL_BLOCK
#define WORD 4 /* bytes of a row in a line */

/* Scales and minima of 32 columns, to where this panel's sixteen rows stand. */
SUNDOG_INLINE void
unpack_scales(const SundogPanelForm *form, const uint8_t *block, int64_t k, float *scales,
              float *minima)
{
    for (int i = 0; i < sundog_lines_n_scales(form); i++) {
        int64_t column = k + i * form->scale_columns;
        sundog_vector_store(scales + i * UNIT, sundog_lines_scale(form, block, column));
        if (form->has_minima)
            sundog_vector_store(minima + i * UNIT, sundog_lines_minimum(form, block, column));
    }
}

SUNDOG_INLINE void
unpack_panel(const SundogPanelForm *form, const SundogUnpacked *to, int half, const uint8_t *panel)
{
    uint8_t *bytes = to->bytes + half * ROWS * WORD;
    float *scales = to->scales + half * ROWS, *minima = to->minima + half * ROWS;
    for (int64_t k = 0; k < to->n_columns; k += BLOCK) {
        const uint8_t *block = sundog_panel_block(form, panel, k);
        const uint8_t *lines = sundog_panel_lines(form, block, k);
        sundog_lines_prefetch(form, panel, k);
        unpack_scales(form, block, k, scales, minima);
#pragma GCC unroll 8
        for (int group = 0; group < GROUPS; group++)
            for (int row = 0; row < ROWS; row += SUNDOG_BYTE_ROWS)
                sundog_bytes_store(bytes + (group * UNIT + row) * WORD,
                                   sundog_lines_group(form, lines + row * WORD, group));
        bytes += GROUPS * UNIT * WORD;
        scales += sundog_lines_n_scales(form) * UNIT;
        minima += sundog_lines_n_scales(form) * UNIT;
    }
}

/* Four columns of a group that was stored as bytes, sixteen rows. */
SUNDOG_INLINE void
dequantize_group(const SundogPanelForm *form, const uint32_t *words, SundogVector scale,
                 SundogVector minimum, float *values)
{
    for (int i = 0; i < 4; i++) {
        float q[ROWS];
        for (int r = 0; r < ROWS; r++)
            q[r] = (float)((int32_t)(words[r] >> (8 * i) & 255) - form->zero);
        SundogVector v = sundog_vector_load(q);
        v = form->has_minima ? sundog_vector_fma(scale, v, minimum) : sundog_vector_mul(scale, v);
        sundog_vector_store(values + i * UNIT, v);
    }
}

SUNDOG_INLINE void
dequantize_panel(const SundogPanelForm *form, const uint8_t *panel, SundogRange columns,
                 float *values)
{
    for (int64_t k = columns.begin; k < columns.end; k += BLOCK) {
        const uint8_t *block = sundog_panel_block(form, panel, k);
        const uint8_t *lines = sundog_panel_lines(form, block, k);
        sundog_lines_prefetch(form, panel, k);
#pragma GCC unroll 8
        for (int group = 0; group < GROUPS; group++) {
            uint32_t words[ROWS];
            int64_t column = k + group * 4 / form->scale_columns * form->scale_columns;
            for (int row = 0; row < ROWS; row += SUNDOG_BYTE_ROWS)
                sundog_bytes_store(words + row,
                                   sundog_lines_group(form, lines + row * WORD, group));
            SundogVector minimum =
                form->has_minima ? sundog_lines_minimum(form, block, column) : sundog_vector_set(0);
            dequantize_group(form, words, sundog_lines_scale(form, block, column), minimum,
                             values + (k - columns.begin + 4 * group) * UNIT);
        }
    }
}

#define X(name)                                                                             \
    static void unpack_##name(const SundogUnpacked *to, int half, const uint8_t *panel)     \
    {                                                                                       \
        const SundogPanelForm form = sundog_panel_form(SUNDOG_LAYOUT_PANEL16_##name);       \
        unpack_panel(&form, to, half, panel);                                               \
    }                                                                                       \
                                                                                            \
    static void dequantize_##name(const uint8_t *panel, SundogRange columns, float *values) \
    {                                                                                       \
        const SundogPanelForm form = sundog_panel_form(SUNDOG_LAYOUT_PANEL16_##name);       \
        dequantize_panel(&form, panel, columns, values);                                    \
    }
SUNDOG_QUANTIZED_PANELS(X)
#undef X

void
SUNDOG_KERNEL(unpack_panel)(const SundogUnpacked *to, int half, const uint8_t *panel)
{
    switch (to->layout) {
#define X(name)                         \
    case SUNDOG_LAYOUT_PANEL16_##name:  \
        unpack_##name(to, half, panel); \
        break;
        SUNDOG_QUANTIZED_PANELS(X)
#undef X
    default:
        break;
    }
}

static void
scale_f8_panel(const uint8_t *panel, SundogRange columns, float *values)
{
    for (int64_t k = columns.begin; k < columns.end; k++, values += UNIT) {
        const uint8_t *block = sundog_f8_block(panel, k);
        SundogVector codes = sundog_vector_load_e4m3(sundog_f8_codes(block, k));
        sundog_vector_store(values,
                            sundog_vector_mul(sundog_vector_load((const float *)block), codes));
    }
}

static void
widen_panel(SundogLayout layout, const uint8_t *panel, SundogRange columns, float *values)
{
    if (layout == SUNDOG_LAYOUT_PANEL16_F8) {
        scale_f8_panel(panel, columns, values);
        return;
    }
    for (int64_t k = columns.begin; k < columns.end; k++, values += UNIT) {
        if (layout == SUNDOG_LAYOUT_PANEL16_F32)
            memcpy(values, panel + k * ROWS * 4, ROWS * 4);
        else if (layout == SUNDOG_LAYOUT_PANEL16_F16)
            sundog_load_halves(values, (const uint16_t *)panel + k * ROWS, ROWS);
        else
            sundog_vector_store(values,
                                sundog_vector_load_bf16((const uint16_t *)panel + k * ROWS));
    }
}

void
SUNDOG_KERNEL(dequantize_panel)(const SundogUnpacked *to, int half, const uint8_t *panel,
                                SundogRange columns)
{
    float *values = to->values + half * ROWS;
    switch (to->layout) {
#define X(name)                                    \
    case SUNDOG_LAYOUT_PANEL16_##name:             \
        dequantize_##name(panel, columns, values); \
        break;
        SUNDOG_QUANTIZED_PANELS(X)
#undef X
    default:
        widen_panel(to->layout, panel, columns, values);
        break;
    }
}
