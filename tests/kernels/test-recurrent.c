/* Operations with recurrent state: against double, whatever the cuts into steps; all sets against the plain
 * kernels, bit for bit. */

#include "kernels/contract/recurrent.h"
#include "tests/kernels/call.h"
#include <glib.h>
#include <math.h>

#define N_SLOTS 4

/* Two sequences of a step: rows of the first, then of the second, in slots 2 and 1. */
typedef struct {
    int64_t n_rows[2];
    int32_t start[2];
} Step;

static void
add_step(TestCall *call, const Step *step)
{
    int32_t *first_row = test_call_add(call, SUNDOG_DTYPE_I32, 3, 1);
    first_row[1] = (int32_t)step->n_rows[0];
    first_row[2] = (int32_t)(step->n_rows[0] + step->n_rows[1]);
    int32_t *start = test_call_add(call, SUNDOG_DTYPE_I32, 2, 1);
    int32_t *slot = test_call_add(call, SUNDOG_DTYPE_I32, 2, 1);
    for (int s = 0; s < 2; s++) {
        start[s] = step->start[s];
        slot[s] = 2 - s;
    }
}

static void
test_short_conv(void)
{
    TestRandom random = {31};
    for (int i = 0; i < 60; i++) {
        int64_t width = test_random_int(&random, 2, 5), n = test_random_int(&random, 1, 150);
        Step step = {{test_random_int(&random, 1, 6), test_random_int(&random, 1, 6)},
                     {0, (int32_t)test_random_int(&random, 0, 1) * 9}};
        int64_t n_rows = step.n_rows[0] + step.n_rows[1];
        bool silu = test_random_int(&random, 0, 1) == 1;
        TestCall call;
        test_call_init(&call, SUNDOG_OP_SHORT_CONV);
        test_call_add_floats(&call, n_rows, n, &random);
        test_call_add_floats(&call, 1, n * width, &random);
        if (test_random_int(&random, 0, 1) == 1)
            test_call_add_floats(&call, 1, n, &random);
        else
            test_call_add_absent(&call);
        add_step(&call, &step);
        float *state =
            test_call_add_4d(&call, SUNDOG_DTYPE_F32, (int64_t[4]){N_SLOTS, width - 1, n, 1});
        test_random_floats(&random, state, N_SLOTS * (width - 1) * n);
        g_autofree float *before = g_memdup2(state, call.n_bytes[6]);
        const float *y = test_call_add(&call, SUNDOG_DTYPE_F32, n_rows, n);
        call.parameters[0].i = width;
        call.parameters[1].i = silu;
        test_call_check_all_sets(&call);
        const float *x = call.arguments[0].data, *weight = call.arguments[1].data;
        const float *bias = call.arguments[2].data;
        for (int64_t row = 0; row < n_rows; row++)
            for (int64_t c = 0; c < n; c++) {
                int s = row >= step.n_rows[0];
                int64_t first = s ? step.n_rows[0] : 0;
                double sum = bias != NULL ? bias[c] : 0;
                for (int64_t j = 0; j < width; j++) {
                    int64_t from = row - first - width + 1 + j;
                    double input = from >= 0 ? x[(first + from) * n + c]
                                   : step.start[s] == 0
                                       ? 0
                                       : before[((2 - s) * (width - 1) + width - 1 + from) * n + c];
                    sum += weight[c * width + j] * input;
                }
                if (silu)
                    sum = sum / (1 + exp(-sum));
                g_assert_cmpfloat(fabs(y[row * n + c] - sum), <, 1e-5);
            }
        test_call_clear(&call);
    }
}

/* One head's rule in double, over rows of a sequence from an empty state. */
typedef struct {
    int64_t n_key_heads, n_heads, n_keys, n_values;
    bool is_tiled;
} Delta;

static void
follow(const TestCall *call, const Delta *delta, int64_t head, int64_t first, int64_t n_rows,
       double *results)
{
    int64_t n = delta->n_keys, m = delta->n_values, width = call->arguments[0].shape[1];
    int64_t key_head =
        delta->is_tiled ? head % delta->n_key_heads : head / (delta->n_heads / delta->n_key_heads);
    g_autofree double *state = g_new0(double, n *m);
    for (int64_t row = first; row < first + n_rows; row++) {
        const float *q = (const float *)call->arguments[0].data + row * width + key_head * n;
        const float *k = q + delta->n_key_heads * n;
        const float *v = (const float *)call->arguments[0].data + row * width +
                         2 * delta->n_key_heads * n + head * m;
        double beta =
            1 / (1 + exp(-((const float *)call->arguments[1].data)[row * delta->n_heads + head]));
        double alpha = ((const float *)call->arguments[2].data)[row * delta->n_heads + head] +
                       ((const float *)call->arguments[4].data)[head];
        double g = exp(((const float *)call->arguments[3].data)[head] * log1p(exp(alpha)));
        double q_sum = 1e-6, k_sum = 1e-6;
        for (int64_t i = 0; i < n; i++) {
            q_sum += q[i] * q[i];
            k_sum += k[i] * k[i];
        }
        for (int64_t j = 0; j < m; j++) {
            double memory = 0, sum = 0;
            for (int64_t i = 0; i < n; i++) {
                state[i * m + j] *= g;
                memory += state[i * m + j] * k[i] / sqrt(k_sum);
            }
            for (int64_t i = 0; i < n; i++) {
                state[i * m + j] += k[i] / sqrt(k_sum) * (v[j] - memory) * beta;
                sum += state[i * m + j] * q[i] / sqrt(q_sum) / sqrt((double)n);
            }
            results[(row * delta->n_heads + head) * m + j] = sum;
        }
    }
}

static void
make_delta(TestCall *call, const Delta *delta, const Step *step, TestRandom *random)
{
    int64_t n_rows = step->n_rows[0] + step->n_rows[1];
    test_call_init(call, SUNDOG_OP_GATED_DELTA);
    test_call_add_floats(call, n_rows,
                         2 * delta->n_key_heads * delta->n_keys + delta->n_heads * delta->n_values,
                         random);
    test_call_add_floats(call, n_rows, delta->n_heads, random);
    test_call_add_floats(call, n_rows, delta->n_heads, random);
    test_call_add_floats(call, 1, delta->n_heads, random);
    test_call_add_floats(call, 1, delta->n_heads, random);
    float *decay = call->arguments[3].data;
    for (int64_t h = 0; h < delta->n_heads; h++)
        decay[h] = -fabsf(decay[h]);
    add_step(call, step);
    float *state =
        test_call_add_4d(call, SUNDOG_DTYPE_F32,
                         (int64_t[4]){N_SLOTS, delta->n_heads, delta->n_keys, delta->n_values});
    test_random_floats(random, state, N_SLOTS * delta->n_heads * delta->n_keys * delta->n_values);
    test_call_add(call, SUNDOG_DTYPE_F32, n_rows, delta->n_heads * delta->n_values);
    call->parameters[0].i = delta->n_key_heads;
    call->parameters[1].i = delta->n_keys;
    call->parameters[2].i = delta->n_values;
    call->parameters[3].i = delta->is_tiled;
}

static void
test_gated_delta(void)
{
    TestRandom random = {32};
    for (int i = 0; i < 40; i++) {
        Delta delta = {.n_key_heads = test_random_int(&random, 1, 3),
                       .n_keys = test_random_int(&random, 1, 40),
                       .n_values = test_random_int(&random, 1, 40),
                       .is_tiled = test_random_int(&random, 0, 1) == 1};
        delta.n_heads = delta.n_key_heads * test_random_int(&random, 1, 3);
        Step step = {{test_random_int(&random, 1, 6), test_random_int(&random, 1, 6)}, {0, 0}};
        int64_t n_rows = step.n_rows[0] + step.n_rows[1];
        int64_t n = n_rows * delta.n_heads * delta.n_values;
        TestCall call;
        make_delta(&call, &delta, &step, &random);
        test_call_check_all_sets(&call);
        g_autofree double *truth = g_new0(double, n);
        for (int64_t head = 0; head < delta.n_heads; head++) {
            follow(&call, &delta, head, 0, step.n_rows[0], truth);
            follow(&call, &delta, head, step.n_rows[0], step.n_rows[1], truth);
        }
        g_assert_cmpfloat(test_relative_error(call.arguments[9].data, truth, n), <, 1e-5);
        test_call_clear(&call);
    }
}

/* A row at a time leaves the state, and gives the results, of all rows at once. */
static void
test_cuts(void)
{
    TestRandom random = {33};
    const Delta delta = {.n_key_heads = 2, .n_heads = 4, .n_keys = 16, .n_values = 24};
    const Step whole = {{5, 3}, {0, 0}};
    TestCall call;
    make_delta(&call, &delta, &whole, &random);
    test_call_run(&call, SUNDOG_HOST_PLAIN, 1, false);
    size_t y_bytes = call.n_bytes[9] / 8, state_bytes = call.n_bytes[8];
    g_autofree uint8_t *y = g_memdup2(call.arguments[9].data, call.n_bytes[9]);
    g_autofree float *state = g_memdup2(call.arguments[8].data, state_bytes);
    for (int64_t row = 0; row < 8; row++) {
        SundogArgument arguments[10];
        int32_t first_row[] = {0, 1}, start = (int32_t)(row < 5 ? row : row - 5);
        int32_t slot = row < 5 ? 2 : 1;
        memcpy(arguments, call.arguments, sizeof arguments);
        for (int a = 0; a < 3; a++) {
            arguments[a].data = (float *)arguments[a].data + row * arguments[a].shape[1];
            arguments[a].shape[0] = 1;
        }
        void *const inputs[] = {first_row, &start, &slot};
        for (int a = 0; a < 3; a++) {
            arguments[5 + a].data = inputs[a];
            arguments[5 + a].shape[0] = a == 0 ? 2 : 1;
        }
        arguments[9].data = (uint8_t *)arguments[9].data + (size_t)row * y_bytes;
        arguments[9].shape[0] = 1;
        const SundogCall one = {
            .arguments = arguments, .parameters = call.parameters, .n_threads = 1};
        sundog_host_kernel(call.kind, sundog_host_detect())(&one);
    }
    g_assert_cmpmem(call.arguments[9].data, call.n_bytes[9], y, call.n_bytes[9]);
    g_assert_cmpmem(call.arguments[8].data, state_bytes, state, state_bytes);
    test_call_clear(&call);
}

static void
test_functions(void)
{
    for (double x = -60; x < 60; x += 0.0371) {
        g_assert_cmpfloat(fabs(sundog_softplus((float)x) / log1p(exp((float)x)) - 1), <, 1e-6);
        double value = exp(x);
        g_assert_cmpfloat(fabs(sundog_log((float)value) - log((float)value)), <,
                          4e-7 * (1 + fabs(x)));
    }
}

static void
test_rows(void)
{
    TestRandom random = {34};
    for (int i = 0; i < 30; i++) {
        int64_t n_rows = test_random_int(&random, 1, 5), n_groups = test_random_int(&random, 1, 4);
        int64_t stride = test_random_int(&random, 1, 30);
        int64_t offset = test_random_int(&random, 0, stride - 1);
        int64_t size = test_random_int(&random, 1, stride - offset);
        TestCall take, mul, norm;
        test_call_init(&take, SUNDOG_OP_TAKE);
        test_call_add_floats(&take, n_rows, n_groups * stride, &random);
        const float *y = test_call_add(&take, SUNDOG_DTYPE_F32, n_rows, n_groups * size);
        const SundogParameter parameters[] = {{.i = stride}, {.i = offset}, {.i = size}};
        memcpy(take.parameters, parameters, sizeof parameters);
        test_call_check_all_sets(&take);
        for (int64_t j = 0; j < n_rows * n_groups * size; j++)
            g_assert_cmpfloat(
                y[j], ==,
                ((const float *)take.arguments[0].data)[j / size * stride + offset + j % size]);
        test_call_clear(&take);

        test_call_init(&mul, SUNDOG_OP_MUL);
        bool by_row = i % 2 == 0;
        test_call_add_floats(&mul, n_rows, stride, &random);
        test_call_add_floats(&mul, n_rows, by_row ? 1 : stride, &random);
        y = test_call_add(&mul, SUNDOG_DTYPE_F32, n_rows, stride);
        test_call_check_all_sets(&mul);
        for (int64_t j = 0; j < n_rows * stride; j++)
            g_assert_cmpfloat(y[j], ==,
                              ((const float *)mul.arguments[0].data)[j] *
                                  ((const float *)mul.arguments[1].data)[by_row ? j / stride : j]);
        test_call_clear(&mul);

        test_call_init(&norm, SUNDOG_OP_GATED_NORM);
        test_call_add_floats(&norm, n_rows, n_groups * stride, &random);
        test_call_add_floats(&norm, 1, stride, &random);
        test_call_add_floats(&norm, n_rows, n_groups * stride, &random);
        y = test_call_add(&norm, SUNDOG_DTYPE_F32, n_rows, n_groups * stride);
        norm.parameters[0].f = 1e-5;
        test_call_check_all_sets(&norm);
        const float *x = norm.arguments[0].data, *gate = norm.arguments[2].data;
        for (int64_t j = 0; j < n_rows * n_groups * stride; j++) {
            double sum = 0;
            for (int64_t c = 0; c < stride; c++)
                sum += (double)x[j / stride * stride + c] * x[j / stride * stride + c];
            double value = x[j] / sqrt(sum / (double)stride + 1e-5) *
                           ((const float *)norm.arguments[1].data)[j % stride] *
                           (gate[j] / (1 + exp(-(double)gate[j])));
            g_assert_cmpfloat(fabs(y[j] - value), <, 1e-5);
        }
        test_call_clear(&norm);
    }
}

int
main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/kernels/recurrent/short-conv", test_short_conv);
    g_test_add_func("/kernels/recurrent/gated-delta", test_gated_delta);
    g_test_add_func("/kernels/recurrent/cuts", test_cuts);
    g_test_add_func("/kernels/recurrent/functions", test_functions);
    g_test_add_func("/kernels/recurrent/rows", test_rows);
    return g_test_run();
}
