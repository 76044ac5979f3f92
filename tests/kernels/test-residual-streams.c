/* Several streams, sparsity, and what goes by columns: against double, and all sets bit for bit. */

#include "tests/kernels/call.h"
#include <glib.h>
#include <math.h>

#define N_ROUNDS 30

static float
get(const TestCall *call, int argument, int64_t index)
{
    return ((const float *)call->arguments[argument].data)[index];
}

static void
test_mix(void)
{
    TestRandom random = {61};
    for (int i = 0; i < N_ROUNDS; i++) {
        int64_t rows = test_random_int(&random, 1, 5), n = test_random_int(&random, 1, 70);
        int64_t from = test_random_int(&random, 1, 4), to = test_random_int(&random, 1, 4);
        TestCall call;
        test_call_init(&call, SUNDOG_OP_MIX);
        test_call_add_floats(&call, rows, from * n, &random);
        test_call_add_floats(&call, rows, to * from, &random);
        if (i % 2 == 0)
            test_call_add_floats(&call, rows, to * n, &random);
        else
            test_call_add_absent(&call);
        const float *y = test_call_add(&call, SUNDOG_DTYPE_F32, rows, to * n);
        call.parameters[0].i = from;
        call.parameters[1].i = to;
        test_call_check_all_sets(&call);
        for (int64_t k = 0; k < rows * to * n; k++) {
            int64_t row = k / (to * n), stream = k / n % to;
            double sum = i % 2 == 0 ? get(&call, 2, k) : 0;
            for (int64_t p = 0; p < from; p++)
                sum += (double)get(&call, 1, (row * to + stream) * from + p) *
                       get(&call, 0, (row * from + p) * n + k % n);
            g_assert_cmpfloat(fabs(y[k] - sum), <, 1e-5);
        }
        test_call_clear(&call);
    }
}

static double
mean_square(const TestCall *call, int argument, int64_t first, int64_t n)
{
    double sum = 0;
    for (int64_t k = 0; k < n; k++)
        sum += pow(get(call, argument, first + k), 2);
    return sum / (double)n;
}

static void
test_match_norm(void)
{
    TestRandom random = {62};
    for (int i = 0; i < N_ROUNDS; i++) {
        int64_t rows = test_random_int(&random, 1, 4), n = test_random_int(&random, 1, 80);
        int64_t streams = test_random_int(&random, 1, 3);
        double floor = i % 3 == 0 ? 100 : 1e-5; /* the first is above every square */
        TestCall call;
        test_call_init(&call, SUNDOG_OP_MATCH_NORM);
        test_call_add_floats(&call, rows, streams * n, &random);
        test_call_add_floats(&call, rows, n, &random);
        const float *y = test_call_add(&call, SUNDOG_DTYPE_F32, rows, streams * n);
        call.parameters[0].f = floor;
        test_call_check_all_sets(&call);
        for (int64_t k = 0; k < rows * streams * n; k++) {
            double own = mean_square(&call, 0, k / n * n, n);
            double reference = mean_square(&call, 1, k / (streams * n) * n, n);
            double truth = get(&call, 0, k) * sqrt(reference) / sqrt(MAX(own, floor));
            g_assert_cmpfloat(fabs(y[k] - truth), <=, 2e-6 * (1 + fabs(truth)));
        }
        test_call_clear(&call);
    }
}

static void
test_sparsify(void)
{
    TestRandom random = {63};
    for (int i = 0; i < N_ROUNDS; i++) {
        int64_t rows = test_random_int(&random, 1, 4), n = test_random_int(&random, 2, 200);
        TestCall call;
        test_call_init(&call, SUNDOG_OP_SPARSIFY);
        test_call_add_floats(&call, rows, n, &random);
        const float *y = test_call_add(&call, SUNDOG_DTYPE_F32, rows, n);
        call.parameters[0].f = 0.7;
        test_call_check_all_sets(&call);
        for (int64_t row = 0; row < rows; row++) {
            double mean = 0, square = 0;
            for (int64_t k = 0; k < n; k++)
                mean += get(&call, 0, row * n + k) / (double)n;
            for (int64_t k = 0; k < n; k++)
                square += pow(get(&call, 0, row * n + k) - mean, 2) / (double)n;
            for (int64_t k = row * n; k < (row + 1) * n; k++)
                g_assert_cmpfloat(fabs(y[k] - MAX(get(&call, 0, k) - mean - 0.7 * sqrt(square), 0)),
                                  <, 3e-6);
        }
        test_call_clear(&call);
    }
}

static void
test_elements(void)
{
    TestRandom random = {64};
    for (int i = 0; i < N_ROUNDS; i++) {
        int64_t rows = test_random_int(&random, 1, 4), n = test_random_int(&random, 1, 90);
        bool subtracts = i % 2 == 0;
        TestCall call;
        test_call_init(&call, subtracts ? SUNDOG_OP_SUBTRACT : SUNDOG_OP_SCALE_COLUMNS);
        test_call_add_floats(&call, rows, n, &random);
        test_call_add_floats(&call, subtracts ? rows : 1, n, &random);
        const float *y = test_call_add(&call, SUNDOG_DTYPE_F32, rows, n);
        test_call_check_all_sets(&call);
        for (int64_t k = 0; k < rows * n; k++)
            g_assert_cmpfloat(y[k], ==,
                              subtracts ? get(&call, 0, k) - get(&call, 1, k)
                                        : get(&call, 0, k) * get(&call, 1, k % n));
        test_call_clear(&call);
    }
}

int
main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/kernels/streams/mix", test_mix);
    g_test_add_func("/kernels/streams/match-norm", test_match_norm);
    g_test_add_func("/kernels/streams/sparsify", test_sparsify);
    g_test_add_func("/kernels/streams/elements", test_elements);
    return g_test_run();
}
