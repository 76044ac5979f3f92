/* Norms, quantization and what works on rows: against double, and all sets bit for bit. */

#include "kernels/contract/activation.h"
#include "kernels/contract/gate.h"
#include "kernels/contract/math.h"
#include "kernels/contract/pool.h"
#include "kernels/contract/rms-norm.h"
#include "tests/kernels/call.h"
#include <glib.h>

#define EPSILON 1e-5

static void
init_norm(TestCall *call, SundogOperationKind kind, int64_t rows, int64_t columns,
          TestRandom *random)
{
    test_call_init(call, kind);
    test_call_add_floats(call, rows, columns, random);
    if (kind != SUNDOG_OP_QUANTIZE)
        test_call_add_floats(call, 1, columns, random);
    if (kind == SUNDOG_OP_RMS_NORM)
        test_call_add(call, SUNDOG_DTYPE_F32, rows, columns);
    else
        test_call_add(call, SUNDOG_DTYPE_A8, (rows + 5) / 6, columns);
    call->parameters[0].f = EPSILON;
}

static void
test_norms_agree(void)
{
    static const SundogOperationKind kinds[] = {SUNDOG_OP_RMS_NORM, SUNDOG_OP_QUANTIZE,
                                                SUNDOG_OP_NORM_QUANTIZE};
    TestRandom random = {10};
    for (int64_t rows = 1; rows <= 40; rows++)
        for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
            TestCall call;
            int64_t columns = 32 * test_random_int(&random, 1, 20);
            if (kinds[i] == SUNDOG_OP_RMS_NORM)
                columns -= test_random_int(&random, 0, 31);
            init_norm(&call, kinds[i], rows, columns, &random);
            test_call_check_all_sets(&call);
            test_call_clear(&call);
        }
}

static void
test_norm_is_right(void)
{
    TestRandom random = {11};
    TestCall call;
    init_norm(&call, SUNDOG_OP_RMS_NORM, 5, 333, &random);
    test_call_run(&call, SUNDOG_HOST_PLAIN, 1, false);
    const float *x = call.arguments[0].data, *weight = call.arguments[1].data;
    for (int t = 0; t < 5; t++) {
        double truth[333], sum = 0;
        for (int k = 0; k < 333; k++)
            sum += (double)x[t * 333 + k] * x[t * 333 + k];
        for (int k = 0; k < 333; k++)
            truth[k] = x[t * 333 + k] / sqrt(sum / 333 + EPSILON) * weight[k];
        g_assert_cmpfloat(
            test_relative_error((float *)call.arguments[2].data + t * 333, truth, 333), <, 3e-7);
    }
    test_call_clear(&call);
}

/* The fused operation says that it is the other two, one after the other. */
static void
test_fused_is_equal(void)
{
    TestRandom random = {12};
    for (int64_t rows = 1; rows <= 13; rows += 3) {
        TestCall fused, norm, quantize;
        init_norm(&fused, SUNDOG_OP_NORM_QUANTIZE, rows, 576, &random);
        init_norm(&norm, SUNDOG_OP_RMS_NORM, rows, 576, &random);
        init_norm(&quantize, SUNDOG_OP_QUANTIZE, rows, 576, &random);
        memcpy(norm.arguments[0].data, fused.arguments[0].data, fused.n_bytes[0]);
        memcpy(norm.arguments[1].data, fused.arguments[1].data, fused.n_bytes[1]);
        test_call_run(&fused, sundog_host_detect(), 2, false);
        test_call_run(&norm, sundog_host_detect(), 2, false);
        memcpy(quantize.arguments[0].data, norm.arguments[2].data, norm.n_bytes[2]);
        test_call_run(&quantize, sundog_host_detect(), 2, false);
        g_assert_cmpmem(fused.arguments[2].data, fused.n_bytes[2], quantize.arguments[1].data,
                        quantize.n_bytes[1]);
        test_call_clear(&fused);
        test_call_clear(&norm);
        test_call_clear(&quantize);
    }
}

/* Every part of a tile, from the definition; tiny, huge and absent numbers too. */
static void
test_tile_is_right(void)
{
    TestRandom random = {13};
    TestCall call;
    init_norm(&call, SUNDOG_OP_QUANTIZE, 8, 96, &random);
    float *x = call.arguments[0].data;
    for (int k = 0; k < 32; k++) {
        x[k] = 0;
        x[96 + k] *= 1e-35f;
        x[2 * 96 + k] *= 1e38f;
    }
    test_call_run(&call, sundog_host_detect(), 1, false);
    SundogTileLayout layout = sundog_tile_layout(96);
    for (int t = 0; t < 12; t++) {
        const uint8_t *tile = (uint8_t *)call.arguments[1].data + (size_t)(t / 6) * layout.n_bytes;
        g_assert_cmpint(*(int32_t *)(tile + layout.tokens), ==, t < 6 ? 6 : 2);
        for (int block = 0; block < 3; block++) {
            float scale = ((float *)(tile + layout.scales))[block * 6 + t % 6];
            float sum = ((float *)(tile + layout.sums))[block * 6 + t % 6];
            const int32_t *isums = (int32_t *)(tile + layout.isums) + block * 12 + t % 6;
            int halves[2] = {0};
            float amax = 0;
            for (int k = 0; k < 32; k++) {
                int8_t q = (int8_t)tile[(block * 8 + k / 4) * 24 + t % 6 * 4 + k % 4];
                float value = t < 8 ? x[t * 96 + block * 32 + k] : 0;
                amax = fmaxf(amax, fabsf(value));
                halves[k / 16] += q;
                /* Half a step, and what the rounded scale adds. */
                g_assert_cmpfloat(fabsf((float)q * scale - value), <=,
                                  scale * 0.50002f + 0x1p-100f);
            }
            g_assert_cmpfloat(scale, ==, amax < 0x1p-100f ? 0 : amax / 127);
            g_assert_cmpint(isums[0], ==, halves[0]);
            g_assert_cmpint(isums[6], ==, halves[1]);
            g_assert_cmpfloat(sum, ==, scale * (float)(halves[0] + halves[1]));
        }
    }
    test_call_clear(&call);
}

static double
gate_in_double(SundogGate function, double gate, double up)
{
    double u = sqrt(2 / G_PI) * (gate + 0.044715 * gate * gate * gate);
    switch (function) {
    case SUNDOG_GATE_SILU:
        return gate / (1 + exp(-gate)) * up;
    case SUNDOG_GATE_GELU_TANH:
        return gate * (1 + tanh(u)) / 2 * up;
    case SUNDOG_GATE_RELU:
        return MAX(gate, 0) * up;
    case SUNDOG_GATE_TANH:
        return tanh(gate) * up;
    case SUNDOG_GATE_GELU:
        return gate * (1 + erf(gate / sqrt(2))) / 2 * up;
    default: /* clamped */
        gate = MIN(gate, 7);
        return gate / (1 + exp(-1.702 * gate)) * (CLAMP(up, -7, 7) + 1);
    }
}

static void
test_elementwise(void)
{
    TestRandom random = {14};
    for (int i = 0; i < 80; i++) {
        TestCall call;
        int function = i % (SUNDOG_N_GATES + 1) - 1; /* -1: add */
        bool is_alone = function >= 0 && i % 3 == 0;
        int64_t rows = test_random_int(&random, 1, 9), columns = test_random_int(&random, 1, 99);
        test_call_init(&call, function < 0 ? SUNDOG_OP_ADD : SUNDOG_OP_GATE);
        call.parameters[0].i = function;
        test_call_add_floats(&call, rows, columns, &random);
        if (is_alone)
            test_call_add_absent(&call);
        else
            test_call_add_floats(&call, rows, columns, &random);
        float *y = test_call_add(&call, SUNDOG_DTYPE_F32, rows, columns);
        float *a = call.arguments[0].data, *b = call.arguments[1].data;
        for (int64_t k = 0; function >= 0 && k < rows * columns; k++)
            a[k] *= k % 3 == 0 ? 100 : 5;
        test_call_check_all_sets(&call);
        for (int64_t k = 0; k < rows * columns; k++) {
            double truth = function < 0
                               ? (double)a[k] + b[k]
                               : gate_in_double((SundogGate)function, a[k], is_alone ? 1 : b[k]);
            g_assert_cmpfloat(fabs(y[k] - truth), <=, 1e-6 * (1 + fabs(truth)));
        }
        test_call_clear(&call);
    }
}

static void
test_pool(void)
{
    static const int32_t first_row[] = {0, 1, 4, 4, 9, 10};
    TestRandom random = {25};
    for (int function = 0; function < SUNDOG_N_POOLS; function++) {
        TestCall call;
        test_call_init(&call, SUNDOG_OP_POOL);
        test_call_add_floats(&call, 9, 100, &random);
        memcpy(test_call_add(&call, SUNDOG_DTYPE_I32, 6, 1), first_row, sizeof first_row);
        const float *y = test_call_add(&call, SUNDOG_DTYPE_F32, 5, 100);
        call.parameters[0].i = function;
        test_call_check_all_sets(&call);
        const float *x = call.arguments[0].data;
        for (int k = 0; k < 100; k++) {
            double sum = 0;
            for (int t = 4; t < 9; t++)
                sum += x[t * 100 + k];
            double truth = function == SUNDOG_POOL_MEAN    ? sum / 5
                           : function == SUNDOG_POOL_FIRST ? x[400 + k]
                                                           : x[800 + k];
            g_assert_cmpfloat(fabs(y[300 + k] - truth), <, 1e-6);
            g_assert_cmpfloat(y[k], ==, x[k]);
            /* Without rows, and with one that is outside. */
            g_assert_true(isnan(y[200 + k]) && isnan(y[400 + k]));
        }
        test_call_clear(&call);
    }
}

static void
test_scale_and_softcap(void)
{
    TestRandom random = {17};
    for (int i = 0; i < 40; i++) {
        TestCall call;
        bool cap = i % 2 == 1;
        int64_t rows = test_random_int(&random, 1, 9), columns = test_random_int(&random, 1, 99);
        test_call_init(&call, cap ? SUNDOG_OP_SOFTCAP : SUNDOG_OP_SCALE);
        call.parameters[0].f = 12.5;
        test_call_add_floats(&call, rows, columns, &random);
        float *y = test_call_add(&call, SUNDOG_DTYPE_F32, rows, columns);
        float *x = call.arguments[0].data;
        for (int64_t k = 0; k < rows * columns; k++)
            x[k] *= 20;
        x[0] = INFINITY;
        test_call_check_all_sets(&call);
        g_assert_cmpfloat(y[0], ==, cap ? 12.5 : INFINITY);
        for (int64_t k = 1; k < rows * columns; k++)
            g_assert_cmpfloat(fabs(y[k] - (cap ? 12.5 * tanh(x[k] / 12.5) : x[k] * 12.5)), <=,
                              5e-6 + 1e-7 * fabs((double)y[k]));
        test_call_clear(&call);
    }
}

/* Parts without weight are kept; v's is the same for all of its heads too. */
static void
test_head_norm(void)
{
    TestRandom random = {18};
    for (int i = 0; i < 32; i++) {
        TestCall call;
        int64_t g = test_random_int(&random, 1, 3), h = g * test_random_int(&random, 1, 4);
        int64_t c = 2 * test_random_int(&random, 1, 130), rows = test_random_int(&random, 1, 9);
        int64_t n = (h + 2 * g) * c;
        test_call_init(&call, SUNDOG_OP_HEAD_NORM);
        test_call_add_floats(&call, rows, n, &random);
        for (int part = 0; part < 3; part++)
            if (i >> part & 1)
                test_call_add_floats(&call, 1, c, &random);
            else
                test_call_add_absent(&call);
        call.parameters[0].i = h;
        call.parameters[1].i = g;
        call.parameters[2].i = c;
        call.parameters[3].f = EPSILON;
        test_call_check_all_sets(&call);
        for (int64_t row = 0; row < rows * (h + 2 * g); row++) {
            int64_t head = row % (h + 2 * g);
            const float *before = (float *)call.initial[0] + row * c;
            const float *after = (float *)call.arguments[0].data + row * c;
            const float *weight = call.arguments[head < h ? 1 : head < h + g ? 2 : 3].data;
            double sum = 0, truth[260];
            for (int64_t k = 0; k < c; k++)
                sum += (double)before[k] * before[k];
            for (int64_t k = 0; k < c; k++)
                truth[k] = weight == NULL ? before[k]
                                          : before[k] / sqrt(sum / (double)c + EPSILON) * weight[k];
            g_assert_cmpfloat(test_relative_error(after, truth, c), <,
                              weight == NULL ? 0x1p-99 : 3e-7);
        }
        test_call_clear(&call);
    }
}

static void
test_rows_move(void)
{
    TestRandom random = {15};
    TestCall call;
    test_call_init(&call, SUNDOG_OP_GATHER_ROWS);
    test_call_add_floats(&call, 5, 7, &random);
    memcpy(test_call_add(&call, SUNDOG_DTYPE_I32, 4, 1), (int32_t[]){4, 0, 5, -1}, 16);
    float *y = test_call_add(&call, SUNDOG_DTYPE_F32, 4, 7);
    test_call_check_all_sets(&call);
    const float *x = call.arguments[0].data;
    g_assert_cmpmem(y, 28, x + 28, 28);
    g_assert_cmpmem(y + 7, 28, x, 28);
    g_assert_true(isnan(y[14]) && isnan(y[27]));
    test_call_clear(&call);

    test_call_init(&call, SUNDOG_OP_JOIN);
    for (int i = 0; i < 3; i++)
        test_call_add_floats(&call, 4, 3 + i, &random);
    y = test_call_add(&call, SUNDOG_DTYPE_F32, 4, 12);
    test_call_check_all_sets(&call);
    g_assert_cmpmem(y + 12 + 3, 16, (float *)call.arguments[1].data + 4, 16);
    g_assert_cmpmem(y + 36 + 7, 20, (float *)call.arguments[2].data + 15, 20);
    test_call_clear(&call);
}

static void
test_embed(void)
{
    static const SundogLayout layouts[] = {SUNDOG_LAYOUT_PANEL16_Q8_0, SUNDOG_LAYOUT_PANEL16_Q4_1,
                                           SUNDOG_LAYOUT_PANEL16_F16, SUNDOG_LAYOUT_DENSE_F32};
    TestRandom random = {16};
    for (int i = 0; i < 4; i++) {
        TestCall call;
        test_call_init(&call, SUNDOG_OP_EMBED);
        memcpy(test_call_add(&call, SUNDOG_DTYPE_I32, 5, 1), (int32_t[]){0, 37, 16, -1, 38}, 20);
        test_call_add_weight(&call, layouts[i], 38, 96, &random);
        float *x = test_call_add(&call, SUNDOG_DTYPE_F32, 5, 96), row[96];
        call.parameters[0].f = i % 2 ? 3.5 : 1;
        test_call_check_all_sets(&call);
        sundog_layout_dequantize_row(layouts[i], call.arguments[1].data, 37, 96, row);
        for (int k = 0; k < 96; k++)
            g_assert_cmpfloat(x[96 + k], ==, i % 2 ? row[k] * 3.5f : row[k]);
        g_assert_true(isnan(x[3 * 96]) && isnan(x[5 * 96 - 1]));
        test_call_clear(&call);
    }
}

static void
test_scale_queries(void)
{
    static const int32_t positions[] = {0, 8, 9, 25, 1000};
    static const int expected[] = {0, 0, 1, 2, 2}; /* which of the scales */
    TestRandom random = {19};
    TestCall call;
    test_call_init(&call, SUNDOG_OP_SCALE_QUERIES);
    test_call_add_floats(&call, 5, (4 + 2 * 2) * 6, &random);
    memcpy(test_call_add(&call, SUNDOG_DTYPE_I32, 5, 1), positions, sizeof positions);
    test_call_add_floats(&call, 1, 3, &random);
    call.parameters[0].i = 4;
    call.parameters[1].i = 2;
    call.parameters[2].i = 6;
    call.parameters[3].i = 10;
    call.parameters[4].i = 1;
    test_call_check_all_sets(&call);
    for (int k = 0; k < 5 * 48; k++) {
        float before = ((float *)call.initial[0])[k], after = ((float *)call.arguments[0].data)[k];
        float scale = k % 48 < 24 ? ((float *)call.arguments[2].data)[expected[k / 48]] : 1;
        g_assert_cmpfloat(after, ==, before * scale);
    }
    test_call_clear(&call);
}

int
main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/kernels/norm/is-right", test_norm_is_right);
    g_test_add_func("/kernels/norm/sets-agree", test_norms_agree);
    g_test_add_func("/kernels/norm/fused-is-equal", test_fused_is_equal);
    g_test_add_func("/kernels/quantize/tile-is-right", test_tile_is_right);
    g_test_add_func("/kernels/norm/heads", test_head_norm);
    g_test_add_func("/kernels/rows/elementwise", test_elementwise);
    g_test_add_func("/kernels/rows/scale-and-softcap", test_scale_and_softcap);
    g_test_add_func("/kernels/rows/scale-queries", test_scale_queries);
    g_test_add_func("/kernels/rows/pool", test_pool);
    g_test_add_func("/kernels/rows/move", test_rows_move);
    g_test_add_func("/kernels/rows/embed", test_embed);
    return g_test_run();
}
