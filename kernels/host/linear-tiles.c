/*
 * linear, linear_qkv and linear_gated for the sets with vector registers. The work is cut into units of
 * 32 columns of the result; a thread takes a unit's rows out of their panels once and meets them with
 * every tile of 6 tokens. A unit of linear_gated is 32 rows of the gate and 32 of the other matrix, in
 * two tiles of 16 and 16, so that the activation and the quantization of its 32 columns need no other
 * thread.
 *
 * Many tokens are cut among the threads before units are: a thread then reads and writes the rows that it
 * also has in the operations around, which split rows, and another core's cache is not asked for them. To
 * take a panel apart once more for that costs little. Where a call has few units for its threads, tokens
 * are cut as well.
 */

#include "kernels/host/linear-tiles.h"

#include "kernels/contract/layout.h"
#include "kernels/contract/linear.h"
#include "kernels/host/gate.h"
#include "kernels/host/half.h"
#include "kernels/host/linear-experts.h"
#include "kernels/host/panels.h"
#include "kernels/host/quantize-tokens.h"
#include "kernels/host/simd.h"

#define ROWS SUNDOG_PANEL_ROWS
#define LANES SUNDOG_LANES
#define UNIT SUNDOG_UNIT_ROWS
#define TOKENS SUNDOG_TILE_TOKENS
#define MAX_PARTS 3
/* Pieces of work a thread, below which tokens are cut: a piece more or less is then an eighth. */
#define PIECES_A_THREAD 8
#define FEWEST_TILES_A_PIECE 4
/* So many that taking a panel apart for them is a few hundredths of the work. */
#define ENOUGH_TILES 16
/* Up to so many tiles a panel is gone over again from the cache: for 8 tokens a third faster than taking
 * it apart, for 18 equal. */
#define MAX_DIRECT_TILES 3
#define COLUMNS_AT_ONCE 64
#define MIN_SCALE_COLUMNS 16 /* that share a scale, in any layout */

/* One weight of a call and where its columns go. */
typedef struct {
    const SundogArgument *weight;
    const SundogArgument *gate; /* of linear_gated, else NULL */
    bool is_own_gate; /* the weight is its gate too, and is multiplied once; gate is NULL */
    const float *bias;
    const float *gate_bias;
    int64_t column;
    int64_t n_units;
} Part;

typedef struct {
    const SundogArgument *a;
    const SundogArgument *y;
    const float *residual;
    int64_t function;    /* of linear_gated, a SundogGate */
    const int32_t *work; /* of linear_experts: the entries that name the rows of y; else NULL */
    int64_t n_columns;
    int64_t stride; /* from token to token, where a is floats */
    int64_t n_tokens;
    SundogTileLayout tile; /* of a, where it is a8 */
    SundogTileLayout out;  /* of y, where it is a8 */
    Part parts[MAX_PARTS];
    int n_parts;
    SundogUnpacked unpacked[2];
} Job;

/* A result of one tile: products of up to two tiles of 32 rows. */
typedef float Products[2][TOKENS * UNIT];

static void
add_part(Job *job, const SundogArgument *weight, const SundogArgument *gate, const float *bias)
{
    int64_t column = 0;
    if (job->n_parts > 0) {
        const Part *before = &job->parts[job->n_parts - 1];
        column = before->column + before->weight->shape[0];
    }
    bool is_own_gate = gate != NULL && gate->data == weight->data;
    job->parts[job->n_parts++] = (Part){.weight = weight,
                                        .gate = is_own_gate ? NULL : gate,
                                        .is_own_gate = is_own_gate,
                                        .bias = bias,
                                        .column = column,
                                        .n_units = sundog_ceil_div(weight->shape[0], UNIT)};
}

static Job
job_from_call(const SundogCall *call, const SundogArgument *a, const SundogArgument *y,
              const SundogArgument *workspace)
{
    int64_t k = a->shape[1];
    Job job = {
        .a = a, .y = y, .n_columns = k, .stride = k, .n_tokens = sundog_linear_n_tokens(a, y)};
    size_t n_bytes = sundog_linear_workspace_bytes(k);
    uint8_t *own = (uint8_t *)workspace->data + call->thread * n_bytes;
    if (a->dtype == SUNDOG_DTYPE_A8)
        job.tile = sundog_tile_layout(k);
    if (y->dtype == SUNDOG_DTYPE_A8)
        job.out = sundog_tile_layout(y->shape[1]);
    for (int i = 0; i < 2; i++) {
        SundogUnpacked *unpacked = &job.unpacked[i];
        uint8_t *half = own + (size_t)i * (n_bytes / 2);
        unpacked->n_columns = k;
        unpacked->values = (float *)half;
        unpacked->bytes = half;
        unpacked->scales = (float *)(half + k * UNIT);
        unpacked->minima = unpacked->scales + k / MIN_SCALE_COLUMNS * UNIT;
    }
    return job;
}

/* A panel of a weight, or NULL past its end. */
static const uint8_t *
find_panel(const Job *job, const SundogArgument *weight, int64_t panel)
{
    if (panel * ROWS >= weight->shape[0])
        return NULL;
    return (const uint8_t *)weight->data +
           (size_t)panel * sundog_layout_panel_bytes(weight->layout, job->n_columns);
}

/* The two panels of tile `i` of a unit. */
static void
find_panels(const Job *job, const Part *part, int64_t unit, int i, const uint8_t *panels[2])
{
    if (part->gate == NULL) {
        panels[0] = find_panel(job, part->weight, 2 * unit);
        panels[1] = find_panel(job, part->weight, 2 * unit + 1);
    } else {
        panels[0] = find_panel(job, part->gate, 2 * unit + i);
        panels[1] = find_panel(job, part->weight, 2 * unit + i);
    }
}

static SundogTile
find_tile(const Job *job, int64_t index)
{
    const uint8_t *tile = (const uint8_t *)job->a->data + (size_t)index * job->tile.n_bytes;
    return (SundogTile){.bytes = (const int8_t *)tile,
                        .scales = (const float *)(tile + job->tile.scales),
                        .sums = (const float *)(tile + job->tile.sums),
                        .isums = (const int32_t *)(tile + job->tile.isums)};
}

/* Float values of a range of columns; zeros past a weight's last panel. */
static void
dequantize_panel(const SundogUnpacked *to, int half, const uint8_t *panel, SundogRange columns)
{
    if (panel != NULL)
        SUNDOG_KERNEL(dequantize_panel)(to, half, panel, columns);
    else
        for (int64_t k = 0; k < columns.end - columns.begin; k++)
            memset(to->values + k * UNIT + ROWS * half, 0, ROWS * sizeof(float));
}

/* Floats of some tokens, a range of their columns. */
typedef struct {
    const float *x; /* first token, first column of the range */
    int64_t stride;
    int64_t n_columns;
    bool goes_on; /* adds to what the columns before have given */
} Floats;

/* Products of SUNDOG_VECTORS times 16 rows and n tokens of floats. */
SUNDOG_INLINE void
multiply_floats(const float *values, const Floats *a, int64_t token, const int n_tokens, float *out)
{
    const float *x = a->x + token * a->stride;
    SundogVector acc[TOKENS][SUNDOG_VECTORS];
#pragma GCC unroll 6
    for (int t = 0; t < n_tokens; t++)
#pragma GCC unroll 2
        for (int v = 0; v < SUNDOG_VECTORS; v++)
            acc[t][v] = a->goes_on ? sundog_vector_load(out + t * UNIT + SUNDOG_LANES * v)
                                   : sundog_vector_set(0);
    for (int64_t k = 0; k < a->n_columns; k++, values += UNIT) {
        SundogVector w[SUNDOG_VECTORS];
#pragma GCC unroll 2
        for (int v = 0; v < SUNDOG_VECTORS; v++)
            w[v] = sundog_vector_load(values + SUNDOG_LANES * v);
#pragma GCC unroll 6
        for (int t = 0; t < n_tokens; t++) {
            SundogVector value = sundog_vector_set(x[t * a->stride + k]);
#pragma GCC unroll 2
            for (int v = 0; v < SUNDOG_VECTORS; v++)
                acc[t][v] = sundog_vector_fma(w[v], value, acc[t][v]);
        }
    }
#pragma GCC unroll 6
    for (int t = 0; t < n_tokens; t++)
#pragma GCC unroll 2
        for (int v = 0; v < SUNDOG_VECTORS; v++)
            sundog_vector_store(out + t * UNIT + SUNDOG_LANES * v, acc[t][v]);
}

static void
multiply_float_tile(const float *values, const Floats *a, int64_t n_tokens, float *out)
{
    for (int row = 0; row < UNIT; row += SUNDOG_VECTORS * SUNDOG_LANES) {
        if (n_tokens == TOKENS) {
            multiply_floats(values + row, a, 0, TOKENS, out + row);
            continue;
        }
        for (int64_t t = 0; t < n_tokens; t++)
            multiply_floats(values + row, a, t, 1, out + t * UNIT + row);
    }
}

static void
unpack_unit(const Job *job, const Part *part, int64_t unit)
{
    for (int i = 0; i < (part->gate != NULL ? 2 : 1); i++) {
        const uint8_t *panels[2];
        SundogUnpacked to = job->unpacked[i];
        to.layout = part->weight->layout;
        find_panels(job, part, unit, i, panels);
        for (int half = 0; half < 2; half++)
            if (job->a->dtype != SUNDOG_DTYPE_A8)
                dequantize_panel(&to, half, panels[half], (SundogRange){0, to.n_columns});
            else if (panels[half] != NULL)
                SUNDOG_KERNEL(unpack_panel)(&to, half, panels[half]);
    }
}

static void
multiply_unpacked(const Job *job, const Part *part, int64_t tile_index, Products products)
{
    int64_t first = tile_index * TOKENS, here = sundog_min(TOKENS, job->n_tokens - first);
    for (int i = 0; i < (part->gate != NULL ? 2 : 1); i++) {
        SundogUnpacked weight = job->unpacked[i];
        weight.layout = part->weight->layout;
        if (job->a->dtype == SUNDOG_DTYPE_A8) {
            SundogTile tile = find_tile(job, tile_index);
            SUNDOG_KERNEL(tile_product)(&weight, &tile, (int)here, products[i]);
        } else {
            const Floats a = {.x = (const float *)job->a->data + first * job->stride,
                              .stride = job->stride,
                              .n_columns = job->n_columns};
            multiply_float_tile(weight.values, &a, here, products[i]);
        }
    }
}

/* One tile of floats, some columns at a time: their values stay in the first cache, and taking the next
 * apart hides the latency of the one sum that a row has. */
static void
multiply_columns(const Job *job, const Part *part, int64_t unit, Products products)
{
    for (int i = 0; i < (part->gate != NULL ? 2 : 1); i++) {
        const uint8_t *panels[2];
        SundogUnpacked to = job->unpacked[i];
        to.layout = part->weight->layout;
        find_panels(job, part, unit, i, panels);
        for (int64_t k = 0; k < job->n_columns; k += COLUMNS_AT_ONCE) {
            SundogRange columns = {k, sundog_min(k + COLUMNS_AT_ONCE, job->n_columns)};
            const Floats a = {.x = (const float *)job->a->data + k,
                              .stride = job->stride,
                              .n_columns = columns.end - k,
                              .goes_on = k > 0};
            for (int half = 0; half < 2; half++)
                dequantize_panel(&to, half, panels[half], columns);
            multiply_float_tile(to.values, &a, job->n_tokens, products[i]);
        }
    }
}

static void
multiply_direct(const Job *job, const Part *part, int64_t unit, int64_t tile_index,
                Products products)
{
    SundogTile tile = find_tile(job, tile_index);
    int64_t here = sundog_min(TOKENS, job->n_tokens - tile_index * TOKENS);
    for (int i = 0; i < (part->gate != NULL ? 2 : 1); i++) {
        const uint8_t *panels[2];
        find_panels(job, part, unit, i, panels);
        if (panels[0] == NULL)
            continue;
        panels[1] = panels[1] != NULL ? panels[1] : panels[0];
        SUNDOG_KERNEL(direct_product)
        (part->weight->layout, panels, job->n_columns, &tile, (int)here, products[i]);
    }
}

/* The row of y that a row of a tile goes to. */
static int64_t
find_row(const Job *job, int64_t tile_index, int64_t t)
{
    if (job->work == NULL)
        return tile_index * TOKENS + t;
    return job->work[tile_index * SUNDOG_WORK_FIELDS + SUNDOG_WORK_CHOICES + t];
}

/* A whole unit of a row: bias and residual may be NULL. */
static void
store_unit(const float *products, const float *bias, const float *residual, float *to)
{
    for (int r = 0; r < UNIT; r += LANES) {
        SundogVector v = sundog_vector_load(products + r);
        if (bias != NULL)
            v = sundog_vector_add(v, sundog_vector_load(bias + r));
        if (residual != NULL)
            v = sundog_vector_add(v, sundog_vector_load(residual + r));
        sundog_vector_store(to + r, v);
    }
}

static void
store_products(const Job *job, const Part *part, int64_t unit, int64_t tile_index,
               const float *products)
{
    int64_t n = sundog_min(UNIT, part->weight->shape[0] - unit * UNIT);
    int64_t here = sundog_min(TOKENS, job->n_tokens - tile_index * TOKENS);
    const float *bias = part->bias != NULL ? part->bias + unit * UNIT : NULL;
    for (int64_t t = 0; t < here; t++, products += UNIT) {
        int64_t at = find_row(job, tile_index, t) * job->y->shape[1] + part->column + unit * UNIT;
        const float *residual = job->residual != NULL ? job->residual + at : NULL;
        float *to = (float *)job->y->data + at;
        if (n == UNIT) {
            store_unit(products, bias, residual, to);
            continue;
        }
        for (int64_t r = 0; r < n; r++) {
            float value = bias != NULL ? products[r] + bias[r] : products[r];
            to[r] = residual != NULL ? value + residual[r] : value;
        }
    }
}

/* The biases of n rows from `row` on. */
static void
add_gated_biases(const Part *part, int64_t row, int64_t n, float *gate, float *up)
{
    for (int64_t r = 0; r < n && part->gate_bias != NULL; r++)
        gate[r] += part->gate_bias[row + r];
    for (int64_t r = 0; r < n && part->bias != NULL; r++)
        up[r] += part->bias[row + r];
}

/* Where gate and up of one token stand: in both tiles 16 of each, or, of experts without a gate, in the
 * first tile what is both, and in the second its copy. */
static void
gate_token(const Job *job, const Part *part, int64_t row, float *first, float *second,
           float values[UNIT])
{
    int64_t n_rows = job->y->shape[1];
    if (part->is_own_gate) {
        memcpy(second, first, UNIT * sizeof(float));
        add_gated_biases(part, row, sundog_min(UNIT, n_rows - row), first, second);
        sundog_gate_run(job->function, first, second, values, UNIT);
        return;
    }
    float *halves[] = {first, second};
    for (int i = 0; i < 2; i++, row += ROWS, values += ROWS) {
        float *gate = halves[i], *up = gate + ROWS;
        add_gated_biases(part, row, sundog_min(ROWS, n_rows - row), gate, up);
        sundog_gate_run(job->function, gate, up, values, ROWS);
    }
}

static void
store_gated(const Job *job, const Part *part, int64_t unit, int64_t tile_index, Products products)
{
    int64_t first = tile_index * TOKENS, here = sundog_min(TOKENS, job->n_tokens - first);
    int64_t n_rows = job->y->shape[1], n = sundog_min(UNIT, n_rows - unit * UNIT);
    float values[TOKENS][UNIT];
    for (int64_t t = 0; t < here; t++)
        gate_token(job, part, unit * UNIT, products[0] + t * UNIT, products[1] + t * UNIT,
                   values[t]);
    if (job->y->dtype != SUNDOG_DTYPE_A8) {
        for (int64_t t = 0; t < here; t++)
            memcpy((float *)job->y->data + (first + t) * n_rows + unit * UNIT, values[t],
                   (size_t)n * sizeof(float));
        return;
    }
    uint8_t *tile = (uint8_t *)job->y->data + (size_t)tile_index * job->out.n_bytes;
    sundog_quantize_tokens(values[0], UNIT, here, tile, &job->out, unit);
    if (unit == 0)
        sundog_tile_set_tokens(tile, &job->out, here);
}

static void
run_piece(const Job *job, const Part *part, int64_t unit, SundogRange tiles, bool direct)
{
    Products products;
    /* What a missing panel leaves out is never stored, but loops over whole tiles read it. */
    if ((unit + 1) * UNIT > part->weight->shape[0])
        memset(products, 0, sizeof products);
    for (int64_t tile = tiles.begin; tile < tiles.end; tile++) {
        if (direct && job->a->dtype != SUNDOG_DTYPE_A8)
            multiply_columns(job, part, unit, products);
        else if (direct)
            multiply_direct(job, part, unit, tile, products);
        else
            multiply_unpacked(job, part, tile, products);
        if (part->gate != NULL || part->is_own_gate)
            store_gated(job, part, unit, tile, products);
        else
            store_products(job, part, unit, tile, products[0]);
    }
}

/* How many pieces the tokens are cut into. */
static int64_t
count_cuts(const SundogCall *call, int64_t n_units, int64_t n_tiles)
{
    int64_t n_threads = call->n_threads, most = n_tiles / FEWEST_TILES_A_PIECE;
    int64_t wanted = sundog_ceil_div(n_threads * PIECES_A_THREAD, n_units);
    int64_t rows = sundog_min(n_threads, n_tiles / ENOUGH_TILES);
    wanted = sundog_min(wanted > rows ? wanted : rows, most);
    return n_threads == 1 || wanted < 1 ? 1 : wanted;
}

static bool
is_direct(const Job *job, int64_t n_tiles)
{
    if (job->a->dtype != SUNDOG_DTYPE_A8)
        return n_tiles == 1;
    return n_tiles <= MAX_DIRECT_TILES;
}

static void
run_job(const SundogCall *call, const Job *job)
{
    int64_t n_units = 0, n_tiles = sundog_ceil_div(job->n_tokens, TOKENS);
    for (int i = 0; i < job->n_parts; i++)
        n_units += job->parts[i].n_units;
    bool direct = is_direct(job, n_tiles);
    int64_t n_cuts = count_cuts(call, n_units, n_tiles);
    SundogRange pieces = sundog_split(call, n_units * n_cuts);
    for (int64_t piece = pieces.begin; piece < pieces.end && n_tiles > 0; piece++) {
        const Part *part = job->parts;
        int64_t index = piece % n_units, unit = index, cut = piece / n_units;
        for (; unit >= part->n_units; part++)
            unit -= part->n_units;
        if (!direct)
            unpack_unit(job, part, unit);
        SundogRange tiles = {n_tiles * cut / n_cuts, n_tiles * (cut + 1) / n_cuts};
        run_piece(job, part, unit, tiles, direct);
    }
}

/* What only CUDA's programs have: the plain kernels are their reference, and nobody waits for them. */
static bool
is_for_cuda(const SundogArgument *a, const SundogArgument *w, const SundogArgument *y)
{
    return a->dtype == SUNDOG_DTYPE_BF16 || y->dtype == SUNDOG_DTYPE_BF16 ||
           sundog_layout_is_tile(w->layout);
}

void
SUNDOG_KERNEL(LINEAR)(const SundogCall *call)
{
    const SundogArgument *a = call->arguments;
    if (is_for_cuda(a, &a[1], &a[4])) {
        sundog_host_plain_LINEAR(call);
        return;
    }
    Job job = job_from_call(call, a, &a[4], &a[5]);
    job.residual = a[3].data;
    add_part(&job, &a[1], NULL, a[2].data);
    run_job(call, &job);
}

void
SUNDOG_KERNEL(LINEAR_QKV)(const SundogCall *call)
{
    const SundogArgument *a = call->arguments;
    if (is_for_cuda(a, &a[1], &a[7])) {
        sundog_host_plain_LINEAR_QKV(call);
        return;
    }
    Job job = job_from_call(call, a, &a[7], &a[8]);
    for (int i = 0; i < 3; i++)
        add_part(&job, &a[1 + i], NULL, a[4 + i].data);
    run_job(call, &job);
}

void
SUNDOG_KERNEL(LINEAR_GATED)(const SundogCall *call)
{
    const SundogArgument *a = call->arguments;
    if (is_for_cuda(a, &a[1], &a[3])) {
        sundog_host_plain_LINEAR_GATED(call);
        return;
    }
    Job job = job_from_call(call, a, &a[3], &a[4]);
    job.function = call->parameters[0].i;
    add_part(&job, &a[2], &a[1], NULL);
    run_job(call, &job);
}

/* The expert's tiles as if they were a call's only ones. */
static Job
job_for_expert(const SundogCall *call, const SundogExpertProduct *product, SundogArgument *a,
               SundogArgument *y)
{
    const SundogExpertWork *work = product->work;
    bool quantized = a->dtype == SUNDOG_DTYPE_A8;
    size_t row_bytes = sizeof(float) * TOKENS;
    size_t a_bytes = quantized ? sundog_tile_layout(a->shape[1]).n_bytes : a->shape[1] * row_bytes;
    a->data = (uint8_t *)a->data + (size_t)work->first * a_bytes;
    a->shape[0] = quantized ? work->n_tiles : work->n_rows;
    if (product->gate != NULL) {
        quantized = y->dtype == SUNDOG_DTYPE_A8;
        size_t y_bytes =
            quantized ? sundog_tile_layout(y->shape[1]).n_bytes : y->shape[1] * row_bytes;
        y->data = (uint8_t *)y->data + (size_t)work->first * y_bytes;
    }
    Job job = job_from_call(call, a, y, product->workspace);
    job.n_tokens = work->n_rows;
    job.function = product->function;
    job.work = product->gate == NULL ? work->entries : NULL;
    add_part(&job, product->weight, product->gate, product->bias);
    job.parts[0].gate_bias = product->gate_bias;
    return job;
}

void
SUNDOG_KERNEL(multiply_expert)(const SundogCall *call, const SundogExpertProduct *product,
                               SundogRange pieces)
{
    SundogArgument a = *product->a, y = *product->y;
    if (is_for_cuda(&a, product->weight, &y)) {
        sundog_host_plain_multiply_expert(call, product, pieces);
        return;
    }
    Job job = job_for_expert(call, product, &a, &y);
    int64_t n_tiles = product->work->n_tiles, end;
    bool direct = is_direct(&job, n_tiles);
    for (int64_t piece = pieces.begin; piece < pieces.end; piece = end) {
        int64_t unit = piece / n_tiles, first = unit * n_tiles;
        end = sundog_min(pieces.end, first + n_tiles);
        if (!direct)
            unpack_unit(&job, job.parts, unit);
        run_piece(&job, job.parts, unit, (SundogRange){piece - first, end - first}, direct);
    }
}

/* One unit of one head's rows: a product of its own, over its part of every token. */
static void
multiply_head(const SundogCall *call, int64_t head, int64_t unit)
{
    const SundogArgument *a = call->arguments, *y = &a[2];
    int64_t n_heads = call->parameters[0].i, n_rows = a[1].shape[0] / n_heads;
    SundogArgument part = a[0], weight = a[1];
    part.data = (float *)a[0].data + head * (a[0].shape[1] / n_heads) + call->parameters[1].i;
    part.shape[1] = weight.shape[1];
    weight.shape[0] = n_rows;
    weight.data =
        (uint8_t *)weight.data +
        (size_t)(head * n_rows / ROWS) * sundog_layout_panel_bytes(weight.layout, weight.shape[1]);
    Job job = job_from_call(call, &part, y, &a[3]);
    job.stride = a[0].shape[1];
    add_part(&job, &weight, NULL, NULL);
    job.parts[0].column = head * n_rows;
    SundogRange tiles = {0, sundog_ceil_div(job.n_tokens, TOKENS)};
    bool direct = is_direct(&job, tiles.end);
    if (!direct)
        unpack_unit(&job, job.parts, unit);
    run_piece(&job, job.parts, unit, tiles, direct);
}

void
SUNDOG_KERNEL(LINEAR_HEADS)(const SundogCall *call)
{
    const SundogArgument *a = call->arguments;
    if (is_for_cuda(a, &a[1], &a[2])) {
        sundog_host_plain_LINEAR_HEADS(call);
        return;
    }
    int64_t n_heads = call->parameters[0].i;
    int64_t n_units = sundog_ceil_div(a[1].shape[0] / n_heads, UNIT);
    SundogRange pieces = sundog_split(call, n_heads * n_units);
    for (int64_t piece = pieces.begin; piece < pieces.end; piece++)
        multiply_head(call, piece / n_units, piece % n_units);
}
