/* Products: the plain kernels against double, and all sets against the plain kernels, bit for bit. */

#include "kernels/contract/activation.h"
#include "kernels/contract/gate.h"
#include "kernels/contract/linear.h"
#include "tests/kernels/call.h"
#include <glib.h>
#include <math.h>

#define MAX_THREADS 7

static const struct {
    SundogLayout layout;
    int64_t block; /* columns come in so many */
} layouts[] = {
    {SUNDOG_LAYOUT_PANEL16_F32, 1},      {SUNDOG_LAYOUT_PANEL16_F16, 1},
    {SUNDOG_LAYOUT_PANEL16_BF16, 1},     {SUNDOG_LAYOUT_PANEL16_Q4_0, 32},
    {SUNDOG_LAYOUT_PANEL16_Q4_1, 32},    {SUNDOG_LAYOUT_PANEL16_Q5_0, 32},
    {SUNDOG_LAYOUT_PANEL16_Q5_1, 32},    {SUNDOG_LAYOUT_PANEL16_Q8_0, 32},
    {SUNDOG_LAYOUT_PANEL16_Q2_K, 256},   {SUNDOG_LAYOUT_PANEL16_Q3_K, 256},
    {SUNDOG_LAYOUT_PANEL16_Q4_K, 256},   {SUNDOG_LAYOUT_PANEL16_Q5_K, 256},
    {SUNDOG_LAYOUT_PANEL16_Q6_K, 256},   {SUNDOG_LAYOUT_PANEL16_IQ4_NL, 32},
    {SUNDOG_LAYOUT_PANEL16_IQ4_XS, 256}, {SUNDOG_LAYOUT_PANEL16_MXFP4, 32},
    {SUNDOG_LAYOUT_PANEL16_F8, 64},
};

typedef struct {
    SundogLayout layout;
    bool a8;
    int64_t n_tokens, n_rows, n_columns;
} Shape;

static Shape
random_shape(TestRandom *random, int64_t n_tokens)
{
    size_t i = (size_t)test_random_int(random, 0, G_N_ELEMENTS(layouts) - 1);
    int64_t block = layouts[i].block, most = block == 256 ? 2 : block == 1 ? 150 : 7;
    Shape shape = {.layout = layouts[i].layout,
                   .n_tokens = n_tokens,
                   .n_rows = test_random_int(random, 1, 100),
                   .n_columns = block * test_random_int(random, 1, most)};
    shape.a8 =
        block > 1 && shape.layout != SUNDOG_LAYOUT_PANEL16_F8 && test_random_int(random, 0, 2) > 0;
    return shape;
}

static void
add_activations(TestCall *call, const Shape *shape, TestRandom *random)
{
    if (shape->a8)
        test_call_add_a8(call, shape->n_tokens, shape->n_columns, random);
    else
        test_call_add_floats(call, shape->n_tokens, shape->n_columns, random);
}

static void
add_optional_floats(TestCall *call, int64_t rows, int64_t columns, TestRandom *random)
{
    if (test_random_int(random, 0, 1) == 1)
        test_call_add_floats(call, rows, columns, random);
    else
        test_call_add_absent(call);
}

static void
add_workspace(TestCall *call, int64_t n_columns)
{
    test_call_add(call, SUNDOG_DTYPE_U8, MAX_THREADS,
                  (int64_t)sundog_linear_workspace_bytes(n_columns));
}

static void
check_linear(const Shape *shape, TestRandom *random)
{
    TestCall call;
    test_call_init(&call, SUNDOG_OP_LINEAR);
    add_activations(&call, shape, random);
    test_call_add_weight(&call, shape->layout, shape->n_rows, shape->n_columns, random);
    add_optional_floats(&call, 1, shape->n_rows, random);
    add_optional_floats(&call, shape->n_tokens, shape->n_rows, random);
    test_call_add(&call, SUNDOG_DTYPE_F32, shape->n_tokens, shape->n_rows);
    if (call.arguments[3].data != NULL && test_random_int(random, 0, 1) == 1)
        test_call_alias(&call, 4, 3);
    add_workspace(&call, shape->n_columns);
    test_call_check_all_sets(&call);
    test_call_clear(&call);
}

static void
check_qkv(const Shape *shape, TestRandom *random)
{
    TestCall call;
    test_call_init(&call, SUNDOG_OP_LINEAR_QKV);
    int64_t q = shape->n_rows, kv = test_random_int(random, 1, 50);
    add_activations(&call, shape, random);
    test_call_add_weight(&call, shape->layout, q, shape->n_columns, random);
    test_call_add_weight(&call, shape->layout, kv, shape->n_columns, random);
    test_call_add_weight(&call, shape->layout, kv, shape->n_columns, random);
    add_optional_floats(&call, 1, q, random);
    add_optional_floats(&call, 1, kv, random);
    add_optional_floats(&call, 1, kv, random);
    test_call_add(&call, SUNDOG_DTYPE_F32, shape->n_tokens, q + 2 * kv);
    add_workspace(&call, shape->n_columns);
    test_call_check_all_sets(&call);
    test_call_clear(&call);
}

static void
check_gated(const Shape *shape, TestRandom *random)
{
    TestCall call;
    test_call_init(&call, SUNDOG_OP_LINEAR_GATED);
    bool a8 = shape->a8 && test_random_int(random, 0, 1) == 1;
    int64_t n_rows = a8 ? (shape->n_rows + 31) / 32 * 32 : shape->n_rows;
    add_activations(&call, shape, random);
    test_call_add_weight(&call, shape->layout, n_rows, shape->n_columns, random);
    test_call_add_weight(&call, shape->layout, n_rows, shape->n_columns, random);
    if (a8)
        test_call_add(&call, SUNDOG_DTYPE_A8, (shape->n_tokens + 5) / 6, n_rows);
    else
        test_call_add(&call, SUNDOG_DTYPE_F32, shape->n_tokens, n_rows);
    add_workspace(&call, shape->n_columns);
    call.parameters[0].i = test_random_int(random, 0, SUNDOG_N_GATES - 1);
    test_call_check_all_sets(&call);
    test_call_clear(&call);
}

static void
test_sets_agree(void)
{
    TestRandom random = {2};
    for (int64_t n_tokens = 1; n_tokens <= 40; n_tokens++)
        for (int i = 0; i < 6; i++) {
            Shape shape = random_shape(&random, n_tokens);
            check_linear(&shape, &random);
            check_qkv(&shape, &random);
            check_gated(&shape, &random);
        }
}

/* So many that tokens are cut among threads. */
static void
test_sets_agree_on_many_tokens(void)
{
    TestRandom random = {24};
    for (int64_t n_tokens = 50; n_tokens < 400; n_tokens += 53) {
        Shape shape = random_shape(&random, n_tokens);
        shape.n_rows = MIN(shape.n_rows, 70);
        check_linear(&shape, &random);
        check_qkv(&shape, &random);
        check_gated(&shape, &random);
    }
}

/* The same token alone and among others: the class says equal bits. */
static void
test_company_does_not_matter(void)
{
    TestRandom random = {3};
    for (int i = 0; i < 20; i++) {
        Shape shape = random_shape(&random, 23);
        TestCall call;
        test_call_init(&call, SUNDOG_OP_LINEAR);
        shape.a8 = false;
        add_activations(&call, &shape, &random);
        test_call_add_weight(&call, shape.layout, shape.n_rows, shape.n_columns, &random);
        test_call_add_absent(&call);
        test_call_add_absent(&call);
        float *y = test_call_add(&call, SUNDOG_DTYPE_F32, shape.n_tokens, shape.n_rows);
        add_workspace(&call, shape.n_columns);
        test_call_run(&call, sundog_host_detect(), 2, false);
        size_t row_bytes = (size_t)shape.n_rows * sizeof(float);
        g_autofree float *last = g_memdup2(y + 22 * shape.n_rows, row_bytes);
        call.arguments[0].data = (float *)call.arguments[0].data + 22 * shape.n_columns;
        call.arguments[0].shape[0] = call.arguments[4].shape[0] = 1;
        call.n_bytes[0] = (size_t)shape.n_columns * sizeof(float);
        call.initial[0] = (free(call.initial[0]), NULL);
        test_call_run(&call, sundog_host_detect(), 1, false);
        g_assert_cmpmem(y, row_bytes, last, row_bytes);
        call.arguments[0].data = (float *)call.arguments[0].data - 22 * shape.n_columns;
        test_call_clear(&call);
    }
}

/* Value k of token t as the kernel is given it. */
static double
activation(const TestCall *call, const Shape *shape, int64_t t, int64_t k)
{
    if (!shape->a8)
        return ((const float *)call->arguments[0].data)[t * shape->n_columns + k];
    SundogTileLayout layout = sundog_tile_layout(shape->n_columns);
    const uint8_t *tile =
        (const uint8_t *)call->arguments[0].data + (size_t)(t / 6) * layout.n_bytes;
    int8_t q = (int8_t)tile[k / 4 * 24 + t % 6 * 4 + k % 4];
    return (double)((const float *)(tile + layout.scales))[k / 32 * 6 + t % 6] * q;
}

static void
test_plain_is_right(void)
{
    TestRandom random = {4};
    for (int i = 0; i < 60; i++) {
        Shape shape = random_shape(&random, test_random_int(&random, 1, 13));
        TestCall call;
        test_call_init(&call, SUNDOG_OP_LINEAR);
        add_activations(&call, &shape, &random);
        test_call_add_weight(&call, shape.layout, shape.n_rows, shape.n_columns, &random);
        test_call_add_floats(&call, 1, shape.n_rows, &random);
        test_call_add_floats(&call, shape.n_tokens, shape.n_rows, &random);
        float *y = test_call_add(&call, SUNDOG_DTYPE_F32, shape.n_tokens, shape.n_rows);
        add_workspace(&call, shape.n_columns);
        test_call_run(&call, SUNDOG_HOST_PLAIN, 3, false);
        g_autofree double *truth = g_new0(double, shape.n_tokens *shape.n_rows);
        g_autofree float *row = g_new(float, shape.n_columns);
        for (int64_t n = 0; n < shape.n_rows; n++) {
            sundog_layout_dequantize_row(shape.layout, call.arguments[1].data, n, shape.n_columns,
                                         row);
            for (int64_t t = 0; t < shape.n_tokens; t++) {
                double *at = &truth[t * shape.n_rows + n];
                for (int64_t k = 0; k < shape.n_columns; k++)
                    *at += row[k] * activation(&call, &shape, t, k);
                *at += ((float *)call.arguments[2].data)[n];
                *at += ((float *)call.arguments[3].data)[t * shape.n_rows + n];
            }
        }
        /* Float32 sums of up to 224 products. */
        g_assert_cmpfloat(test_relative_error(y, truth, shape.n_tokens * shape.n_rows), <, 2e-6);
        test_call_clear(&call);
    }
}

/* A NaN or an infinity in a token must reach all of that token's results, and no other's. */
static void
test_not_finite_spreads(void)
{
    TestRandom random = {5};
    TestCall quantize;
    test_call_init(&quantize, SUNDOG_OP_QUANTIZE);
    test_call_add_floats(&quantize, 8, 64, &random);
    test_call_add(&quantize, SUNDOG_DTYPE_A8, 2, 64);
    ((float *)quantize.arguments[0].data)[2 * 64 + 40] = NAN;
    ((float *)quantize.arguments[0].data)[7 * 64 + 3] = -INFINITY;
    test_call_run(&quantize, sundog_host_detect(), 2, false);
    TestCall call;
    test_call_init(&call, SUNDOG_OP_LINEAR);
    void *tiles = test_call_add(&call, SUNDOG_DTYPE_A8, 2, 64);
    memcpy(tiles, quantize.arguments[1].data, quantize.n_bytes[1]);
    test_call_add_weight(&call, SUNDOG_LAYOUT_PANEL16_Q4_1, 40, 64, &random);
    test_call_add_absent(&call);
    test_call_add_absent(&call);
    float *y = test_call_add(&call, SUNDOG_DTYPE_F32, 8, 40);
    add_workspace(&call, 64);
    for (int set = 0; set < SUNDOG_N_HOST_SETS; set++) {
        if (!sundog_host_supports(set))
            continue;
        test_call_run(&call, set, 2, false);
        for (int t = 0; t < 8; t++)
            for (int n = 0; n < 40; n++)
                g_assert_true(isnan(y[t * 40 + n]) == (t == 2 || t == 7));
    }
    test_call_clear(&call);
    test_call_clear(&quantize);
}

int
main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/kernels/linear/plain-is-right", test_plain_is_right);
    g_test_add_func("/kernels/linear/sets-agree", test_sets_agree);
    g_test_add_func("/kernels/linear/sets-agree-on-many-tokens", test_sets_agree_on_many_tokens);
    g_test_add_func("/kernels/linear/company-does-not-matter", test_company_does_not_matter);
    g_test_add_func("/kernels/linear/not-finite-spreads", test_not_finite_spreads);
    return g_test_run();
}
