/*
 * Every kernel of products for few tokens and by warpgroups against sums in double precision of the very
 * same values, rounded as the kernel's class says,
 * so that what is left are the roundings of float32 sums: at most 2^-24 each, of K terms whose running
 * sums are about as large as the result, 1e-5 for what is tried here.
 */

#include "tests/gpu/product-runner.h"

#include "engine/format/gguf.h"

#include <math.h>
#include <string.h>

#define BOUND 1e-5
/* Gated results are rounded to bf16. */
#define GATED_BOUND 4e-3
#define MAX_TOKENS 300

/* Sizes: an odd chunk, a part of a chunk, panels that are not full, fewer chunks than warpgroups. */
typedef struct {
    int n_columns;
    int n_rows[3];
} Size;

static const Size plain_sizes[] = {
    {64, {40, 0, 0}}, {576, {200, 72, 40}}, {416, {130, 0, 0}}, {1472, {24, 16, 16}}};
static const Size gated_sizes[] = {{64, {24, 24, 0}}, {576, {200, 200, 0}}, {416, {70, 70, 0}}};
static const int few_counts[] = {1, 2, 3, 5, 8};
static const int token_counts[] = {1, 7, 8, 9, 33, 64, 65, 129, 257, MAX_TOKENS};

static ProductRunner runner;

static float
random_float(GRand *random)
{
    return (float)g_rand_double_range(random, -1, 1);
}

static uint16_t
to_bf16(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static float
from_bf16(uint16_t value)
{
    float result;
    uint32_t bits = (uint32_t)value << 16;
    memcpy(&result, &bits, sizeof result);
    return result;
}

static uint16_t
to_half(float value)
{
    _Float16 half = (_Float16)value;
    uint16_t bits;
    memcpy(&bits, &half, sizeof bits);
    return bits;
}

/* A row as GGUF has it. */
static void
fill_row(GRand *random, SundogLayout layout, uint8_t *row, int n_columns)
{
    for (int k = 0; layout == SUNDOG_LAYOUT_TILE16_F8 && k < n_columns; k++) {
        float scale = random_float(random) / 64;
        uint8_t *block = row + k / SUNDOG_F8_COLUMNS * SUNDOG_F8_BYTES;
        if (k % SUNDOG_F8_COLUMNS == 0)
            memcpy(block, &scale, sizeof scale);
        block[sizeof scale + (size_t)k % SUNDOG_F8_COLUMNS] = (uint8_t)g_rand_int(random);
    }
    for (int k = 0; layout != SUNDOG_LAYOUT_TILE16_F8 && k < n_columns; k += 32) {
        uint16_t d = to_half(random_float(random) / 16), m = to_half(random_float(random));
        switch (layout) {
        case SUNDOG_LAYOUT_TILE16_BF16:
            for (int i = 0; i < 32; i++)
                ((uint16_t *)row)[k + i] = to_bf16(random_float(random));
            break;
        case SUNDOG_LAYOUT_TILE16_Q4_1:
            memcpy(row + k / 32 * 20, &d, 2);
            memcpy(row + k / 32 * 20 + 2, &m, 2);
            for (int i = 0; i < 16; i++)
                row[k / 32 * 20 + 4 + i] = (uint8_t)g_rand_int(random);
            break;
        default:
            memcpy(row + k / 32 * 34, &d, 2);
            for (int i = 0; i < 32; i++)
                row[k / 32 * 34 + 2 + i] = (uint8_t)g_rand_int(random);
        }
    }
}

static size_t
row_bytes(SundogLayout layout, int n_columns)
{
    return layout == SUNDOG_LAYOUT_TILE16_BF16   ? (size_t)n_columns * 2
           : layout == SUNDOG_LAYOUT_TILE16_Q4_1 ? (size_t)n_columns / 32 * 20
           : layout == SUNDOG_LAYOUT_TILE16_F8
               ? (size_t)n_columns / SUNDOG_F8_COLUMNS * SUNDOG_F8_BYTES
               : (size_t)n_columns / 32 * 34;
}

/* One matrix: packed on the device, and its values as the kernels of a class round them. */
typedef struct {
    CUdeviceptr data;
    float *values; /* [n_rows, n_columns] */
} Matrix;

static Matrix
make_matrix(GRand *random, SundogLayout layout, ProductClass class, int n_rows, int n_columns)
{
    Matrix matrix = {.values = g_new(float, (size_t)n_rows *n_columns)};
    size_t stride = row_bytes(layout, n_columns), n_bytes;
    g_autofree uint8_t *rows = g_malloc0(stride * SUNDOG_PANEL_ROWS);
    n_bytes = sundog_layout_bytes(layout, n_rows, n_columns);
    g_autofree uint8_t *packed = g_malloc0(n_bytes);
    for (int first = 0; first < n_rows; first += SUNDOG_PANEL_ROWS) {
        int n = MIN(n_rows - first, SUNDOG_PANEL_ROWS);
        for (int r = 0; r < n; r++)
            fill_row(random, layout, rows + r * stride, n_columns);
        sundog_layout_pack_panel(layout, rows, n, n_columns,
                                 packed + (size_t)first / SUNDOG_PANEL_ROWS *
                                              sundog_layout_panel_bytes(layout, n_columns));
    }
    for (int r = 0; r < n_rows; r++) {
        float *row = matrix.values + (size_t)r * n_columns;
        sundog_layout_dequantize_row(layout, packed, r, n_columns, row);
        for (int k = 0; k < n_columns && class == PRODUCT_GROUPS; k++)
            row[k] = from_bf16(to_bf16(row[k]));
    }
    matrix.data = product_runner_allocate(&runner, n_bytes);
    product_runner_write(&runner, matrix.data, packed, n_bytes);
    return matrix;
}

typedef struct {
    Size size;
    SundogLayout layout;
    ProductClass class;
    bool is_gated;
    int n_outputs; /* of a token */
    Matrix matrices[3];
    CUdeviceptr x, bias, residual, y;
    double *expected; /* [MAX_TOKENS, n_outputs] without the residual */
    float *residuals;
} Case;

static double
multiply(const float *w, const float *x, int n)
{
    double sum = 0;
    for (int k = 0; k < n; k++)
        sum += (double)w[k] * x[k];
    return sum;
}

/* Columns of results one matrix after the other; a bias of its own for each. */
static void
compute(Case *c, const float *x, const float *bias)
{
    for (int t = 0; t < MAX_TOKENS; t++) {
        int column = 0, k = c->size.n_columns;
        for (int m = 0; m < (c->is_gated ? 1 : 3); m++)
            for (int r = 0; r < c->size.n_rows[m]; r++, column++) {
                double value =
                    multiply(c->matrices[m].values + (size_t)r * k, x + (size_t)t * k, k);
                if (c->is_gated)
                    value *= multiply(c->matrices[1].values + (size_t)r * k, x + (size_t)t * k, k) /
                             (1 + exp(-value));
                else
                    value += bias[column];
                c->expected[(size_t)t * c->n_outputs + column] = value;
            }
    }
}

/* As rounded.cuh does. */
static void
round_groups(float *x, size_t n)
{
    for (size_t first = 0; first < n; first += 32) {
        float most = 0;
        for (size_t i = first; i < first + 32; i++)
            most = MAX(most, fabsf(x[i]));
        float factor = most > 0 ? 127.0f / most : 0, scale = most / 127.0f;
        for (size_t i = first; i < first + 32; i++)
            x[i] = scale * rintf(x[i] * factor);
    }
}

static CUdeviceptr
upload(const void *data, size_t n_bytes)
{
    CUdeviceptr to = product_runner_allocate(&runner, n_bytes);
    product_runner_write(&runner, to, data, n_bytes);
    return to;
}

static void
case_init(Case *c, const Size *size, SundogLayout layout, ProductClass class, bool is_gated)
{
    GRand *random = g_rand_new_with_seed(7);
    *c = (Case){.size = *size, .layout = layout, .class = class, .is_gated = is_gated};
    size_t n_x = (size_t)MAX_TOKENS * size->n_columns;
    g_autofree float *x = g_new(float, n_x), *bias = NULL;
    g_autofree uint16_t *rounded = g_new(uint16_t, n_x);
    for (int m = 0; m < 3; m++) {
        if (size->n_rows[m] > 0)
            c->matrices[m] = make_matrix(random, layout, class, size->n_rows[m], size->n_columns);
        if (!is_gated || m == 0)
            c->n_outputs += size->n_rows[m];
    }
    for (size_t i = 0; i < n_x; i++) {
        rounded[i] = to_bf16(random_float(random));
        x[i] = from_bf16(rounded[i]);
    }
    if (class == PRODUCT_ROUNDED)
        round_groups(x, n_x);
    size_t n_y = (size_t)MAX_TOKENS * (size_t)c->n_outputs;
    bias = g_new(float, c->n_outputs);
    c->residuals = g_new(float, n_y);
    c->expected = g_new(double, n_y);
    for (int i = 0; i < c->n_outputs; i++)
        bias[i] = random_float(random);
    for (size_t i = 0; i < n_y; i++)
        c->residuals[i] = random_float(random);
    compute(c, x, bias);
    c->x = upload(rounded, n_x * 2);
    c->bias = upload(bias, (size_t)c->n_outputs * 4);
    c->residual = upload(c->residuals, n_y * 4);
    c->y = product_runner_allocate(&runner, n_y * 4);
    g_rand_free(random);
}

static void
case_clear(Case *c)
{
    const CUdeviceptr pieces[] = {c->x,
                                  c->bias,
                                  c->residual,
                                  c->y,
                                  c->matrices[0].data,
                                  c->matrices[1].data,
                                  c->matrices[2].data};
    for (size_t i = 0; i < G_N_ELEMENTS(pieces); i++)
        if (pieces[i] != 0)
            runner.driver->memory_free(pieces[i]);
    for (int m = 0; m < 3; m++)
        g_free(c->matrices[m].values);
    g_free(c->residuals);
    g_free(c->expected);
}

static void
run(const Case *c, SundogCudaGroupTile tile, int n_tokens, float *y)
{
    Product product = {
        .layout = c->layout, .is_gated = c->is_gated, .class = c->class, .tile = tile};
    SundogCudaLinear *linear = &product.linear;
    int column = 0;
    size_t n_all = (size_t)MAX_TOKENS * (size_t)c->n_outputs;
    *linear = (SundogCudaLinear){.x = (void *)(uintptr_t)c->x,
                                 .y = (void *)(uintptr_t)c->y,
                                 .n_tokens = n_tokens,
                                 .n_columns = c->size.n_columns,
                                 .y_stride = c->n_outputs,
                                 .y_is_bf16 = c->is_gated};
    for (int m = 0; m < 3; m++) {
        linear->w[m] = (void *)(uintptr_t)c->matrices[m].data;
        linear->n_rows[m] = c->size.n_rows[m];
        if (!c->is_gated && c->size.n_rows[m] > 0)
            linear->bias[m] = (void *)(uintptr_t)(c->bias + (size_t)column * 4);
        column += c->size.n_rows[m];
    }
    /* Every other time the residual is what is written over. */
    bool in_place = n_tokens % 2 == 0;
    product_runner_poison(&runner, c->y, n_all * 4);
    if (!c->is_gated && in_place)
        product_runner_write(&runner, c->y, c->residuals,
                             (size_t)n_tokens * (size_t)c->n_outputs * 4);
    if (!c->is_gated)
        linear->residual = (void *)(uintptr_t)(in_place ? c->y : c->residual);
    product_runner_launch(&runner, &product);
    product_runner_read(&runner, y, c->y, n_all * 4);
}

static double
find_error(const Case *c, int n_tokens, const float *y)
{
    double largest = 0;
    for (int t = 0; t < n_tokens; t++) {
        double difference = 0, length = 0;
        for (int i = 0; i < c->n_outputs; i++) {
            size_t at = (size_t)t * (size_t)c->n_outputs + (size_t)i;
            double expected = c->expected[at] + (c->is_gated ? 0 : c->residuals[at]);
            double got = c->is_gated ? from_bf16(((const uint16_t *)y)[at]) : y[at];
            difference += (got - expected) * (got - expected);
            length += expected * expected;
        }
        double error = sqrt(difference / length);
        largest = isfinite(error) ? MAX(largest, error) : INFINITY;
    }
    return largest;
}

/* Past the last token nothing is written: what was poisoned is still so. */
static void
check_rest(const Case *c, int n_tokens, const float *y)
{
    size_t element = c->is_gated ? 2 : 4, row = (size_t)c->n_outputs * element;
    const uint8_t *bytes = (const uint8_t *)y;
    for (size_t i = (size_t)n_tokens * row; i < MAX_TOKENS * row; i++)
        g_assert_cmpint(bytes[i], ==, 0xff);
}

static double
check_tile(const Case *c, SundogCudaGroupTile tile)
{
    static const char *const classes[] = {"few", "rounded", "warpgroups"};
    bool is_few = c->class != PRODUCT_GROUPS;
    const int *counts = is_few ? few_counts : token_counts;
    size_t n_counts = c->class == PRODUCT_ROUNDED ? 1
                      : is_few                    ? G_N_ELEMENTS(few_counts)
                                                  : G_N_ELEMENTS(token_counts);
    double largest = 0;
    g_autofree float *y = g_new(float, (size_t)MAX_TOKENS *(size_t)c->n_outputs);
    for (size_t i = 0; i < n_counts; i++) {
        run(c, tile, counts[i], y);
        double error = find_error(c, counts[i], y);
        if (!(error < (c->is_gated ? GATED_BOUND : BOUND)))
            g_error("%s %s %s %dx%dx%d, %d columns, %d tokens: %.2e", sundog_layout_name(c->layout),
                    c->is_gated ? "gated" : "plain", classes[c->class], tile.tokens,
                    tile.by_columns, tile.by_blocks, c->size.n_columns, counts[i], error);
        check_rest(c, counts[i], y);
        largest = MAX(largest, error);
    }
    return largest;
}

static double
check_case(const Case *c)
{
    double largest = 0;
    if (c->class != PRODUCT_GROUPS)
        return check_tile(c, (SundogCudaGroupTile){0});
    for (const SundogCudaGroupTile *tile = product_tiles; tile->tokens > 0; tile++)
        if (!c->is_gated || tile->has_gated)
            largest = MAX(largest, check_tile(c, *tile));
    return largest;
}

static void
check_sizes(SundogLayout layout, ProductClass class, const Size *sizes, size_t n_sizes,
            bool is_gated)
{
    double largest = 0;
    for (size_t s = 0; s < n_sizes; s++) {
        Case c;
        Size size = sizes[s];
        if (layout == SUNDOG_LAYOUT_TILE16_F8) /* has whole blocks alone */
            size.n_columns =
                (size.n_columns + SUNDOG_F8_COLUMNS - 1) / SUNDOG_F8_COLUMNS * SUNDOG_F8_COLUMNS;
        case_init(&c, &size, layout, class, is_gated);
        largest = MAX(largest, check_case(&c));
        case_clear(&c);
    }
    g_print("# %s %s: %.2e\n", sundog_layout_name(layout), is_gated ? "gated" : "plain", largest);
}

static void
test_layout(gconstpointer data)
{
    SundogLayout layout = (SundogLayout)GPOINTER_TO_INT(data);
    for (int class = PRODUCT_FEW; class <= PRODUCT_GROUPS; class ++) {
        if (class == PRODUCT_ROUNDED &&
            (layout == SUNDOG_LAYOUT_TILE16_BF16 || layout == SUNDOG_LAYOUT_TILE16_F8))
            continue;
        check_sizes(layout, (ProductClass) class, plain_sizes, G_N_ELEMENTS(plain_sizes), false);
        check_sizes(layout, (ProductClass) class, gated_sizes, G_N_ELEMENTS(gated_sizes), true);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    if (!product_runner_init(&runner))
        return 0;
    static const SundogLayout layouts[] = {SUNDOG_LAYOUT_TILE16_BF16, SUNDOG_LAYOUT_TILE16_Q8_0,
                                           SUNDOG_LAYOUT_TILE16_Q4_1, SUNDOG_LAYOUT_TILE16_F8};
    for (size_t i = 0; i < G_N_ELEMENTS(layouts); i++) {
        g_autofree char *path = g_strdup_printf("/products/%s", sundog_layout_name(layouts[i]));
        g_test_add_data_func(path, GINT_TO_POINTER(layouts[i]), test_layout);
    }
    int status = g_test_run();
    product_runner_clear(&runner);
    return status;
}
