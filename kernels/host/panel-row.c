/* Rows of quantized panels, four columns at a time: a panel holds a row in words of four bytes. */

#include "kernels/host/panel-row.h"

#include "kernels/contract/math.h"

#define ROWS SUNDOG_PANEL_ROWS
#define BLOCK SUNDOG_PANEL_BLOCK
#define LINE SUNDOG_PANEL_LINE

/* The low `bits` of each of four bytes. */
static uint32_t
mask_of(int bits)
{
    return 0x01010101u * ((1u << bits) - 1);
}

/* Bits [shift, shift + bits) of 32 columns into as many lines, a word each. */
static void
put_lines(const uint8_t *q, int shift, int bits, uint8_t *lines)
{
    int n_groups = 8 / bits;
    for (int line = 0; line < bits; line++) {
        uint32_t word = 0, four;
        for (int i = 0; i < n_groups; i++) {
            memcpy(&four, q + 4 * (line * n_groups + i), 4);
            word |= (four >> shift & mask_of(bits)) << (bits * i);
        }
        memcpy(lines + line * LINE, &word, 4);
    }
}

/* The reverse; adds to q. */
static void
get_lines(const uint8_t *lines, int shift, int bits, uint8_t *q)
{
    int n_groups = 8 / bits;
    for (int line = 0; line < bits; line++) {
        uint32_t word, four;
        memcpy(&word, lines + line * LINE, 4);
        for (int i = 0; i < n_groups; i++) {
            uint8_t *to = q + 4 * (line * n_groups + i);
            memcpy(&four, to, 4);
            four |= (word >> (bits * i) & mask_of(bits)) << shift;
            memcpy(to, &four, 4);
        }
    }
}

static void
put_values(const SundogPanelForm *form, const uint8_t *q, uint8_t *lines)
{
    if (form->high_bits > 0)
        put_lines(q, form->low_bits, form->high_bits, lines);
    put_lines(q, 0, form->low_bits, lines + form->high_bits * LINE);
}

static void
get_values(const SundogPanelForm *form, const uint8_t *lines, uint8_t *q)
{
    memset(q, 0, BLOCK);
    if (form->high_bits > 0)
        get_lines(lines, form->low_bits, form->high_bits, q);
    get_lines(lines + form->high_bits * LINE, 0, form->low_bits, q);
}

/* Which of a block's d belongs to column k. */
static int64_t
index_of_d(const SundogPanelForm *form, int64_t k)
{
    return form->subscales == SUNDOG_SUBSCALES_NONE ? k % form->block / form->scale_columns : 0;
}

void
sundog_panel_put(const SundogPanelForm *form, uint8_t *panel, int64_t r, int64_t k, int n_columns,
                 const SundogRowBlock *block)
{
    uint8_t *to = (uint8_t *)sundog_panel_block(form, panel, k);
    uint8_t *scales = to + sundog_panel_subscales_at(form) + r;
    uint8_t *minima = to + sundog_panel_subminima_at(form) + r;
    memcpy(to + 2 * (ROWS * index_of_d(form, k) + r), &block->d, 2);
    if (form->has_minima)
        memcpy(to + sundog_panel_m_at(form) + 2 * r, &block->m, 2);
    for (int i = 0; form->subscales != SUNDOG_SUBSCALES_NONE && i < sundog_panel_n_scales(form);
         i++) {
        scales[ROWS * i] = block->scales[i];
        if (form->subscales == SUNDOG_SUBSCALES_UNSIGNED)
            minima[ROWS * i] = block->minima[i];
    }
    for (int i = 0; i < n_columns; i += BLOCK)
        put_values(form, block->q + i, (uint8_t *)sundog_panel_lines(form, to, k + i) + 4 * r);
}

void
sundog_panel_get(const SundogPanelForm *form, const uint8_t *panel, int64_t r, int64_t k,
                 int n_columns, SundogRowBlock *block)
{
    const uint8_t *from = sundog_panel_block(form, panel, k);
    const uint8_t *scales = from + sundog_panel_subscales_at(form) + r;
    const uint8_t *minima = from + sundog_panel_subminima_at(form) + r;
    memcpy(&block->d, from + 2 * (ROWS * index_of_d(form, k) + r), 2);
    if (form->has_minima)
        memcpy(&block->m, from + sundog_panel_m_at(form) + 2 * r, 2);
    for (int i = 0; form->subscales != SUNDOG_SUBSCALES_NONE && i < sundog_panel_n_scales(form);
         i++) {
        block->scales[i] = scales[ROWS * i];
        if (form->subscales == SUNDOG_SUBSCALES_UNSIGNED)
            block->minima[i] = minima[ROWS * i];
    }
    for (int i = 0; i < n_columns; i += BLOCK)
        get_values(form, sundog_panel_lines(form, from, k + i) + 4 * r, block->q + i);
}

static float
half_at(const uint8_t *bytes, bool is_bf16)
{
    uint16_t bits;
    memcpy(&bits, bytes, sizeof bits);
    return is_bf16 ? sundog_bf16_to_f32(bits) : sundog_f16_to_f32(bits);
}

/* d and m of one group of columns; products of a half and a small integer are exact. */
static void
take_scale(const SundogPanelForm *form, const uint8_t *block, int64_t r, int64_t k, float *scale,
           float *minimum)
{
    int64_t group = k % form->block / form->scale_columns * ROWS + r;
    const uint8_t *scales = block + sundog_panel_subscales_at(form) + group;
    *scale = half_at(block + 2 * (ROWS * index_of_d(form, k) + r), form->is_bf16);
    *minimum = form->has_minima ? half_at(block + sundog_panel_m_at(form) + 2 * r, false) : 0;
    switch (form->subscales) {
    case SUNDOG_SUBSCALES_NONE:
        break;
    case SUNDOG_SUBSCALES_UNSIGNED:
        *scale *= (float)*scales;
        *minimum *= -(float)block[sundog_panel_subminima_at(form) + group];
        break;
    case SUNDOG_SUBSCALES_SIGNED:
        *scale *= (float)(int8_t)*scales;
        break;
    case SUNDOG_SUBSCALES_NIBBLES:
        *scale *= (float)(*scales & 15);
        *minimum *= -(float)(*scales >> 4);
        break;
    }
}

void
sundog_panel_take(const SundogPanelForm *form, const uint8_t *panel, int64_t r, int64_t k,
                  SundogRowValues *values)
{
    const uint8_t *block = sundog_panel_block(form, panel, k);
    uint8_t q[BLOCK];
    get_values(form, sundog_panel_lines(form, block, k) + 4 * r, q);
    for (int i = 0; i < BLOCK; i++)
        values->q[i] = (form->codebook != NULL ? form->codebook[q[i]] : q[i]) - form->zero;
    for (int i = 0; i < 2; i++)
        take_scale(form, block, r, k + i * (BLOCK / 2), &values->scales[i], &values->minima[i]);
}
