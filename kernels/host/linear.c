/*
 * linear, linear_qkv and linear_gated as linear.h defines them, a row of the weight at a time: the
 * reference that the versions for an instruction set are compared with.
 */

#include "kernels/contract/linear.h"
#include "kernels/contract/layout.h"
#include "kernels/host/gate.h"
#include "kernels/host/half.h"
#include "kernels/host/kernel.h"
#include "kernels/host/linear-experts.h"
#include "kernels/host/linear-tiles.h"
#include "kernels/host/panel-row.h"
#include "kernels/host/quantize.h"

/* One row of a weight, taken out of its panel into the workspace. */
typedef struct {
    float *values;           /* [K] dequantized, for f32 activations */
    SundogRowValues *blocks; /* [KB] or as integers, for a8 */
    int scale_columns;
    bool has_minima;
} Row;

typedef struct {
    const SundogArgument *a;
    int64_t n_columns;
    int64_t stride; /* from token to token, where a is floats */
    SundogTileLayout tile;
    Row row;
} Linear;

static Linear
linear_from_call(const SundogCall *call, const SundogArgument *a, const SundogArgument *workspace)
{
    int64_t k = a->shape[1];
    Linear linear = {.a = a, .n_columns = k, .stride = k};
    if (a->dtype == SUNDOG_DTYPE_A8)
        linear.tile = sundog_tile_layout(k);
    uint8_t *own =
        (uint8_t *)workspace->data + (size_t)call->thread * sundog_linear_workspace_bytes(k);
    linear.row.values = (float *)own;
    linear.row.blocks = (SundogRowValues *)own;
    return linear;
}

static void
take_row(Linear *linear, const SundogArgument *w, int64_t row)
{
    const uint8_t *panel =
        (const uint8_t *)w->data +
        (size_t)(row / SUNDOG_PANEL_ROWS) * sundog_layout_panel_bytes(w->layout, linear->n_columns);
    SundogPanelForm form = sundog_panel_form(w->layout);
    linear->row.has_minima = form.has_minima;
    linear->row.scale_columns = form.scale_columns;
    if (linear->a->dtype != SUNDOG_DTYPE_A8) {
        sundog_layout_dequantize_row(w->layout, w->data, row, linear->n_columns,
                                     linear->row.values);
        return;
    }
    for (int64_t k = 0; k < linear->n_columns; k += SUNDOG_PANEL_BLOCK)
        sundog_panel_take(&form, panel, row % SUNDOG_PANEL_ROWS, k,
                          &linear->row.blocks[k / SUNDOG_PANEL_BLOCK]);
}

/* One block of activations for one token, by its parts. */
typedef struct {
    const int8_t *bytes; /* groups of four, a tile's six tokens apart */
    const int32_t *isums;
    float scale;
    float sum;
} Activation;

/* Adds columns [first, end) of a block: those that share a scale. */
static float
add_group(const Row *row, int64_t block, int first, int end, const Activation *a, float acc)
{
    const SundogRowValues *values = &row->blocks[block];
    bool whole = end - first == SUNDOG_ACTIVATION_BLOCK;
    int half = first / 16;
    int32_t dot = 0;
    for (int k = first; k < end; k++)
        dot += values->q[k] * a->bytes[k / 4 * 4 * SUNDOG_TILE_TOKENS + k % 4];
    acc = fmaf((float)dot, values->scales[half] * a->scale, acc);
    if (!row->has_minima)
        return acc;
    float sum = whole ? a->sum : a->scale * (float)a->isums[half * SUNDOG_TILE_TOKENS];
    return fmaf(values->minima[half], sum, acc);
}

static float
product_a8(const Linear *linear, int64_t token)
{
    const Row *row = &linear->row;
    const uint8_t *tile = (const uint8_t *)linear->a->data +
                          (size_t)(token / SUNDOG_TILE_TOKENS) * linear->tile.n_bytes;
    int64_t t = token % SUNDOG_TILE_TOKENS;
    float acc = 0;
    for (int64_t block = 0; block < linear->n_columns / SUNDOG_ACTIVATION_BLOCK; block++) {
        int64_t at = block * SUNDOG_TILE_TOKENS + t;
        const Activation a = {
            .bytes = (const int8_t *)tile + SUNDOG_ACTIVATION_BLOCK * (at - t) + 4 * t,
            .isums = (const int32_t *)(tile + linear->tile.isums) + 2 * (at - t) + t,
            .scale = ((const float *)(tile + linear->tile.scales))[at],
            .sum = ((const float *)(tile + linear->tile.sums))[at],
        };
        for (int k = 0; k < SUNDOG_ACTIVATION_BLOCK; k += row->scale_columns)
            acc = add_group(row, block, k, k + row->scale_columns, &a, acc);
    }
    return acc;
}

static float
product(const Linear *linear, int64_t token)
{
    if (linear->a->dtype == SUNDOG_DTYPE_A8)
        return product_a8(linear, token);
    float acc = 0;
    if (linear->a->dtype == SUNDOG_DTYPE_BF16) {
        const uint16_t *half = (const uint16_t *)linear->a->data + token * linear->stride;
        for (int64_t k = 0; k < linear->n_columns; k++)
            acc = fmaf(linear->row.values[k], sundog_bf16_to_f32(half[k]), acc);
        return acc;
    }
    const float *x = (const float *)linear->a->data + token * linear->stride;
    for (int64_t k = 0; k < linear->n_columns; k++)
        acc = fmaf(linear->row.values[k], x[k], acc);
    return acc;
}

/* One weight's rows into columns of y from `column` on. */
static void
multiply(const SundogCall *call, Linear *linear, const SundogArgument *w, const float *bias,
         const float *residual, const SundogArgument *y, int64_t column)
{
    SundogRange range = sundog_split(call, w->shape[0]);
    for (int64_t n = range.begin; n < range.end; n++) {
        take_row(linear, w, n);
        for (int64_t t = 0; t < y->shape[0]; t++) {
            int64_t at = t * y->shape[1] + column + n;
            float value = product(linear, t);
            if (bias != NULL)
                value += bias[n];
            if (residual != NULL)
                value += residual[at];
            ((float *)y->data)[at] = value;
        }
    }
}

void
SUNDOG_KERNEL(LINEAR)(const SundogCall *call)
{
    const SundogArgument *a = call->arguments;
    Linear linear = linear_from_call(call, a, &a[5]);
    multiply(call, &linear, &a[1], a[2].data, a[3].data, &a[4], 0);
}

void
SUNDOG_KERNEL(LINEAR_QKV)(const SundogCall *call)
{
    const SundogArgument *a = call->arguments;
    Linear linear = linear_from_call(call, a, &a[8]);
    int64_t column = 0;
    for (int part = 0; part < 3; part++) {
        multiply(call, &linear, &a[1 + part], a[4 + part].data, NULL, &a[7], column);
        column += a[1 + part].shape[0];
    }
}

/* The two weights of a gated product. */
typedef struct {
    const SundogArgument *gate;
    const SundogArgument *up;
    const float *gate_bias; /* [N] or NULL */
    const float *up_bias;
    int64_t function; /* SundogGate */
} Gated;

static float
biased_product(const Linear *linear, int64_t token, const float *bias, int64_t n)
{
    float value = product(linear, token);
    return bias != NULL ? value + bias[n] : value;
}

/* y[t][n] for 32 columns from n on, or as many as there are. */
static void
gated_block(const Gated *gated, Linear *linear, int64_t first, int64_t token, int64_t n_tokens,
            float (*block)[SUNDOG_ACTIVATION_BLOCK])
{
    int64_t end = sundog_min(first + SUNDOG_ACTIVATION_BLOCK, gated->gate->shape[0]);
    for (int64_t n = first; n < end; n++) {
        take_row(linear, gated->gate, n);
        for (int64_t t = 0; t < n_tokens; t++)
            block[t][n - first] = biased_product(linear, token + t, gated->gate_bias, n);
        take_row(linear, gated->up, n);
        for (int64_t t = 0; t < n_tokens; t++) {
            float *value = &block[t][n - first];
            float up = biased_product(linear, token + t, gated->up_bias, n);
            sundog_gate_run(gated->function, value, &up, value, 1);
        }
    }
}

static void
store_gated_block(const SundogArgument *y, int64_t first, int64_t token, int64_t n_tokens,
                  float (*block)[SUNDOG_ACTIVATION_BLOCK])
{
    int64_t n = sundog_min(SUNDOG_ACTIVATION_BLOCK, y->shape[1] - first);
    if (y->dtype == SUNDOG_DTYPE_BF16) {
        for (int64_t t = 0; t < n_tokens; t++)
            sundog_store_bf16((uint16_t *)y->data + (token + t) * y->shape[1] + first, block[t], n);
        return;
    }
    if (y->dtype != SUNDOG_DTYPE_A8) {
        for (int64_t t = 0; t < n_tokens; t++)
            memcpy((float *)y->data + (token + t) * y->shape[1] + first, block[t],
                   (size_t)n * sizeof(float));
        return;
    }
    SundogTileLayout layout = sundog_tile_layout(y->shape[1]);
    uint8_t *tile = (uint8_t *)y->data + (size_t)(token / SUNDOG_TILE_TOKENS) * layout.n_bytes;
    for (int64_t t = 0; t < n_tokens; t++)
        sundog_quantize_block(block[t], tile, &layout, first / SUNDOG_ACTIVATION_BLOCK, t);
    sundog_quantize_nothing(tile, &layout, first / SUNDOG_ACTIVATION_BLOCK, n_tokens);
    if (first == 0)
        sundog_tile_set_tokens(tile, &layout, n_tokens);
}

void
SUNDOG_KERNEL(LINEAR_GATED)(const SundogCall *call)
{
    const SundogArgument *a = &call->arguments[0], *gate = &call->arguments[1];
    const SundogArgument *y = &call->arguments[3];
    const Gated gated = {
        .gate = gate, .up = &call->arguments[2], .function = call->parameters[0].i};
    Linear linear = linear_from_call(call, a, &call->arguments[4]);
    int64_t n_tokens = sundog_linear_n_tokens(a, y);
    SundogRange range =
        sundog_split(call, sundog_ceil_div(gate->shape[0], SUNDOG_ACTIVATION_BLOCK));
    for (int64_t i = range.begin; i < range.end; i++)
        for (int64_t token = 0; token < n_tokens; token += SUNDOG_TILE_TOKENS) {
            float block[SUNDOG_TILE_TOKENS][SUNDOG_ACTIVATION_BLOCK];
            int64_t here = sundog_min(SUNDOG_TILE_TOKENS, n_tokens - token);
            gated_block(&gated, &linear, i * SUNDOG_ACTIVATION_BLOCK, token, here, block);
            store_gated_block(y, i * SUNDOG_ACTIVATION_BLOCK, token, here, block);
        }
}

/* One unit of one tile of linear_experts. */
static void
multiply_choices(const SundogExpertProduct *product, Linear *linear, int64_t unit, int64_t tile)
{
    const int32_t *entry = product->work->entries + tile * SUNDOG_WORK_FIELDS;
    int64_t n_columns = product->y->shape[1];
    int64_t end = sundog_min((unit + 1) * SUNDOG_UNIT_ROWS, n_columns);
    for (int64_t n = unit * SUNDOG_UNIT_ROWS; n < end; n++) {
        take_row(linear, product->weight, n);
        for (int64_t t = 0; t < entry[SUNDOG_WORK_ROWS]; t++) {
            int64_t row = (product->work->first + tile) * SUNDOG_TILE_TOKENS + t;
            int64_t at = entry[SUNDOG_WORK_CHOICES + t] * n_columns + n;
            ((float *)product->y->data)[at] = biased_product(linear, row, product->bias, n);
        }
    }
}

static void
multiply_gated(const SundogExpertProduct *product, Linear *linear, int64_t unit, int64_t tile)
{
    const Gated gated = {.gate = product->gate,
                         .up = product->weight,
                         .gate_bias = product->gate_bias,
                         .up_bias = product->bias,
                         .function = product->function};
    int64_t first = (product->work->first + tile) * SUNDOG_TILE_TOKENS;
    int64_t n_rows = product->work->entries[tile * SUNDOG_WORK_FIELDS + SUNDOG_WORK_ROWS];
    float block[SUNDOG_TILE_TOKENS][SUNDOG_ACTIVATION_BLOCK];
    gated_block(&gated, linear, unit * SUNDOG_ACTIVATION_BLOCK, first, n_rows, block);
    store_gated_block(product->y, unit * SUNDOG_ACTIVATION_BLOCK, first, n_rows, block);
}

void
SUNDOG_KERNEL(multiply_expert)(const SundogCall *call, const SundogExpertProduct *product,
                               SundogRange pieces)
{
    Linear linear = linear_from_call(call, product->a, product->workspace);
    int64_t n_tiles = product->work->n_tiles;
    for (int64_t piece = pieces.begin; piece < pieces.end; piece++)
        if (product->gate != NULL)
            multiply_gated(product, &linear, piece / n_tiles, piece % n_tiles);
        else
            multiply_choices(product, &linear, piece / n_tiles, piece % n_tiles);
}

void
SUNDOG_KERNEL(LINEAR_HEADS)(const SundogCall *call)
{
    const SundogArgument *a = call->arguments, *w = &a[1], *y = &a[2];
    int64_t n_heads = call->parameters[0].i, n_rows = w->shape[0] / n_heads;
    SundogRange range = sundog_split(call, w->shape[0]);
    SundogArgument part = a[0];
    part.shape[1] = w->shape[1];
    for (int64_t n = range.begin; n < range.end; n++) {
        int64_t first = n / n_rows * (a[0].shape[1] / n_heads) + call->parameters[1].i;
        part.data = (uint8_t *)a[0].data + (size_t)first * sundog_dtype_bytes(a[0].dtype);
        Linear linear = linear_from_call(call, &part, &a[3]);
        linear.stride = a[0].shape[1];
        take_row(&linear, w, n);
        for (int64_t t = 0; t < y->shape[0]; t++)
            ((float *)y->data)[t * y->shape[1] + n] = product(&linear, t);
    }
}
