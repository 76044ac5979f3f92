/* Norms of groups and norms that take the mean off: against double, and all sets bit for bit. */

#include "tests/kernels/call.h"
#include <glib.h>
#include <math.h>

#define EPSILON 1e-5

static void
test_group_norm(void)
{
    TestRandom random = {41};
    for (int i = 0; i < 30; i++) {
        int64_t n_rows = test_random_int(&random, 1, 5), n_groups = test_random_int(&random, 1, 4);
        int64_t size = test_random_int(&random, 1, 99), n = n_groups * size;
        TestCall call;
        test_call_init(&call, SUNDOG_OP_GROUP_NORM);
        test_call_add_floats(&call, n_rows, n, &random);
        test_call_add_floats(&call, 1, n, &random);
        const float *y = test_call_add(&call, SUNDOG_DTYPE_F32, n_rows, n);
        call.parameters[0].i = n_groups;
        call.parameters[1].f = EPSILON;
        test_call_check_all_sets(&call);
        const float *x = call.arguments[0].data, *weight = call.arguments[1].data;
        g_autofree double *truth = g_new(double, n_rows *n);
        for (int64_t k = 0; k < n_rows * n; k++) {
            double sum = 0;
            for (int64_t j = 0; j < size; j++)
                sum += pow(x[k / size * size + j], 2);
            truth[k] = x[k] / sqrt(sum / (double)size + EPSILON) * weight[k % n];
        }
        g_assert_cmpfloat(test_relative_error(y, truth, n_rows * n), <, 3e-7);
        test_call_clear(&call);
    }
}

static void
test_layer_norm(void)
{
    TestRandom random = {42};
    for (int i = 0; i < 30; i++) {
        int64_t n_rows = test_random_int(&random, 1, 5), n = test_random_int(&random, 2, 300);
        TestCall call;
        test_call_init(&call, SUNDOG_OP_LAYER_NORM);
        float *x = test_call_add(&call, SUNDOG_DTYPE_F32, n_rows, n);
        test_random_floats(&random, x, n_rows * n);
        for (int64_t k = 0; k < n_rows * n; k++)
            x[k] += 3; /* a mean to take off */
        test_call_add_floats(&call, 1, n, &random);
        if (i % 2 == 0)
            test_call_add_floats(&call, 1, n, &random);
        else
            test_call_add_absent(&call);
        const float *y = test_call_add(&call, SUNDOG_DTYPE_F32, n_rows, n);
        call.parameters[0].f = EPSILON;
        test_call_check_all_sets(&call);
        const float *weight = call.arguments[1].data, *bias = call.arguments[2].data;
        for (int64_t row = 0; row < n_rows; row++) {
            g_autofree double *truth = g_new(double, n);
            double mean = 0, sum = 0;
            for (int64_t k = 0; k < n; k++)
                mean += x[row * n + k] / (double)n;
            for (int64_t k = 0; k < n; k++)
                sum += pow(x[row * n + k] - mean, 2);
            for (int64_t k = 0; k < n; k++)
                truth[k] = (x[row * n + k] - mean) / sqrt(sum / (double)n + EPSILON) * weight[k] +
                           (bias != NULL ? bias[k] : 0);
            g_assert_cmpfloat(test_relative_error(y + row * n, truth, n), <, 2e-6);
        }
        test_call_clear(&call);
    }
}

int
main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/kernels/norm/groups", test_group_norm);
    g_test_add_func("/kernels/norm/layers", test_layer_norm);
    return g_test_run();
}
