#pragma once

/*
 * The form of quantized panels, as layout.h describes them: one description a layout, from which packing,
 * the plain kernels and the fast ones all find their way. Where the layout is a constant, the compiler
 * folds the description away.
 *
 * A block of a panel is a header, then for each 32 columns the lines of their values:
 *   header  16 d for each group of columns with one, the same of m, 16 bytes for each group with a scale
 *           of its own, the same for its minimum
 *   lines   64 bytes for each bit of a value: first those of the high bits, then those of the low bits
 */

#include "kernels/contract/layout.h"

#define SUNDOG_PANEL_BLOCK 32 /* columns of one block of activations */
#define SUNDOG_PANEL_GROUPS 8 /* of four columns, a 4-byte word a row */
#define SUNDOG_PANEL_LINE 64  /* bytes of one group of all rows */

/* What multiplies d and m of a whole block in the groups of columns that it has. */
typedef enum {
    SUNDOG_SUBSCALES_NONE,
    SUNDOG_SUBSCALES_UNSIGNED, /* a byte for d, and a byte for m */
    SUNDOG_SUBSCALES_SIGNED,   /* a signed byte for d */
    SUNDOG_SUBSCALES_NIBBLES,  /* one byte, its low half for d and its high half for m */
} SundogSubscales;

typedef struct {
    int block;         /* columns of a block; 0 where the layout is not a quantized panel */
    int scale_columns; /* columns that share a scale: 32 or 16 */
    int low_bits;      /* of a stored value */
    int high_bits;     /* above them */
    int zero;          /* what a stored value, or its entry in the codebook, has too much */
    bool has_minima;
    bool is_bf16; /* d, else f16 */
    SundogSubscales subscales;
    const uint8_t *codebook; /* of 16 entries, or NULL where values are stored as they are */
} SundogPanelForm;

/* IQ4_NL's and IQ4_XS's values, + 128. Source: ggml-common.h, kvalues_iq4nl. */
static const uint8_t sundog_iq4_codebook[16] = {1,   24,  45,  63,  79,  93,  106, 118,
                                                129, 141, 153, 166, 181, 197, 217, 241};
/* Twice FP4's values (E2M1 of the OCP microscaling formats), + 12. */
static const uint8_t sundog_fp4_codebook[16] = {12, 13, 14, 15, 16, 18, 20, 24,
                                                12, 11, 10, 9,  8,  6,  4,  0};

static inline SundogPanelForm
sundog_panel_form(SundogLayout layout)
{
    SundogPanelForm form = {.block = 64, .scale_columns = 32, .low_bits = 4};
    switch (layout) {
    case SUNDOG_LAYOUT_PANEL16_Q4_0:
        form.zero = 8;
        break;
    case SUNDOG_LAYOUT_PANEL16_Q4_1:
        form.block = 32;
        form.has_minima = true;
        break;
    case SUNDOG_LAYOUT_PANEL16_Q5_0:
        form.high_bits = 1;
        form.zero = 16;
        break;
    case SUNDOG_LAYOUT_PANEL16_Q5_1:
        form.block = 32;
        form.high_bits = 1;
        form.has_minima = true;
        break;
    case SUNDOG_LAYOUT_PANEL16_Q8_0:
        form.low_bits = 8;
        form.zero = 128;
        break;
    case SUNDOG_LAYOUT_PANEL16_Q2_K:
        form.block = 256;
        form.scale_columns = 16;
        form.low_bits = 2;
        form.has_minima = true;
        form.subscales = SUNDOG_SUBSCALES_NIBBLES;
        break;
    case SUNDOG_LAYOUT_PANEL16_Q3_K:
        form.block = 256;
        form.scale_columns = 16;
        form.low_bits = 2;
        form.high_bits = 1;
        form.zero = 4;
        form.subscales = SUNDOG_SUBSCALES_SIGNED;
        break;
    case SUNDOG_LAYOUT_PANEL16_Q4_K:
        form.block = 256;
        form.has_minima = true;
        form.subscales = SUNDOG_SUBSCALES_UNSIGNED;
        break;
    case SUNDOG_LAYOUT_PANEL16_Q5_K:
        form.block = 256;
        form.high_bits = 1;
        form.has_minima = true;
        form.subscales = SUNDOG_SUBSCALES_UNSIGNED;
        break;
    case SUNDOG_LAYOUT_PANEL16_Q6_K:
        form.block = 256;
        form.scale_columns = 16;
        form.high_bits = 2;
        form.zero = 32;
        form.subscales = SUNDOG_SUBSCALES_SIGNED;
        break;
    case SUNDOG_LAYOUT_PANEL16_IQ4_NL:
        form.zero = 128;
        form.codebook = sundog_iq4_codebook;
        break;
    case SUNDOG_LAYOUT_PANEL16_IQ4_XS:
        form.block = 256;
        form.zero = 128;
        form.subscales = SUNDOG_SUBSCALES_SIGNED;
        form.codebook = sundog_iq4_codebook;
        break;
    case SUNDOG_LAYOUT_PANEL16_MXFP4:
        form.zero = 12;
        form.is_bf16 = true;
        form.codebook = sundog_fp4_codebook;
        break;
    default:
        form.block = 0;
        break;
    }
    return form;
}

/* How many d a row has in a block. */
static inline int
sundog_panel_n_d(const SundogPanelForm *form)
{
    return form->subscales == SUNDOG_SUBSCALES_NONE ? form->block / form->scale_columns : 1;
}

static inline int
sundog_panel_n_scales(const SundogPanelForm *form)
{
    return form->block / form->scale_columns;
}

/* Where the parts of a block begin, in bytes. */

static inline int
sundog_panel_m_at(const SundogPanelForm *form)
{
    return 2 * SUNDOG_PANEL_ROWS * sundog_panel_n_d(form);
}

static inline int
sundog_panel_subscales_at(const SundogPanelForm *form)
{
    return sundog_panel_m_at(form) * (form->has_minima ? 2 : 1);
}

static inline int
sundog_panel_subminima_at(const SundogPanelForm *form)
{
    return sundog_panel_subscales_at(form) + SUNDOG_PANEL_ROWS * sundog_panel_n_scales(form);
}

static inline int
sundog_panel_values_at(const SundogPanelForm *form)
{
    int n = form->subscales == SUNDOG_SUBSCALES_NONE       ? 0
            : form->subscales == SUNDOG_SUBSCALES_UNSIGNED ? 2
                                                           : 1;
    return sundog_panel_subscales_at(form) + n * SUNDOG_PANEL_ROWS * sundog_panel_n_scales(form);
}

/* Bytes of the lines of 32 columns. */
static inline int
sundog_panel_lines_bytes(const SundogPanelForm *form)
{
    return SUNDOG_PANEL_LINE * (form->high_bits + form->low_bits);
}

static inline int
sundog_panel_block_bytes(const SundogPanelForm *form)
{
    return sundog_panel_values_at(form) +
           form->block / SUNDOG_PANEL_BLOCK * sundog_panel_lines_bytes(form);
}

/* The block that holds column k, and the lines of its 32 columns. */

static inline const uint8_t *
sundog_panel_block(const SundogPanelForm *form, const uint8_t *panel, int64_t k)
{
    return panel + k / form->block * sundog_panel_block_bytes(form);
}

static inline const uint8_t *
sundog_panel_lines(const SundogPanelForm *form, const uint8_t *block, int64_t k)
{
    return block + sundog_panel_values_at(form) +
           k % form->block / SUNDOG_PANEL_BLOCK * sundog_panel_lines_bytes(form);
}
