/* Operations on rows, on a GPU and by the host's plain kernels: float32 results have the same bits, bf16 ones
 * those of the host's results rounded; inputs may be either. */

#include "kernels/contract/gate.h"
#include "kernels/contract/math.h"
#include "kernels/host/kernels.h"
#include "tests/gpu/product-runner.h"
#include <string.h>

#define N_TOKENS 37
#define MAX_ARGUMENTS 4

static ProductRunner runner;

/* Of each argument: its columns, 0 where it is absent; rows are the step's, but those of weights. */
typedef struct {
    SundogOperationKind kind;
    int columns[MAX_ARGUMENTS];
    int64_t integers[5];
    double number;
} Case;

static const Case cases[] = {
    {SUNDOG_OP_SCALE, {1000, 1000}, {0}, 0.37},
    {SUNDOG_OP_SOFTCAP, {1000, 1000}, {0}, 3},
    {SUNDOG_OP_ADD, {1000, 1000, 1000}, {0}, 0},
    {SUNDOG_OP_SUBTRACT, {1000, 1000, 1000}, {0}, 0},
    {SUNDOG_OP_MUL, {1000, 1000, 1000}, {0}, 0},
    {SUNDOG_OP_MUL, {1000, 1, 1000}, {0}, 0},
    {SUNDOG_OP_SCALE_COLUMNS, {1000, 1000, 1000}, {0}, 0},
    {SUNDOG_OP_SIGMOID_MUL, {1000, 1000, 1000}, {0}, 0},
    {SUNDOG_OP_SIGMOID_MUL, {1, 1000, 1000}, {0}, 0},
    {SUNDOG_OP_GATE, {999, 999, 999}, {SUNDOG_GATE_SILU}, 0},
    {SUNDOG_OP_GATE, {999, 0, 999}, {SUNDOG_GATE_SILU}, 0},
    {SUNDOG_OP_GATE, {999, 999, 999}, {SUNDOG_GATE_GELU_TANH}, 0},
    {SUNDOG_OP_GATE, {999, 999, 999}, {SUNDOG_GATE_CLAMPED}, 0},
    {SUNDOG_OP_GATE, {999, 999, 999}, {SUNDOG_GATE_RELU}, 0},
    {SUNDOG_OP_GATE, {999, 999, 999}, {SUNDOG_GATE_GELU}, 0},
    {SUNDOG_OP_GATE, {999, 0, 999}, {SUNDOG_GATE_TANH}, 0},
    {SUNDOG_OP_JOIN, {500, 120, 130, 750}, {0}, 0},
    {SUNDOG_OP_TAKE, {960, 480}, {96, 20, 48}, 0},
    {SUNDOG_OP_SCALE_QUERIES, {768, 1, 20}, {8, 2, 64, 7, 3}, 0},
    {SUNDOG_OP_ROPE, {768, 1, 24}, {12, 64, 48, 0}, 1.1},
    {SUNDOG_OP_ROPE, {768, 1, 32}, {12, 64, 64, 1}, 1},
    {SUNDOG_OP_HEAD_NORM, {960, 96, 96, 0}, {6, 2, 96}, 1e-6},
    {SUNDOG_OP_HEAD_NORM, {320, 40, 40, 40}, {4, 2, 40}, 1e-5},
    {SUNDOG_OP_GROUP_NORM, {1024, 1024, 1024}, {8}, 1e-5},
    {SUNDOG_OP_GATED_NORM, {1024, 64, 1024, 1024}, {0}, 1e-6},
    {SUNDOG_OP_MIX, {1024, 16, 1024, 1024}, {4, 4}, 0},
    {SUNDOG_OP_MIX, {768, 3, 0, 256}, {3, 1}, 0},
    {SUNDOG_OP_MATCH_NORM, {1000, 250, 1000}, {0}, 1e-5},
    {SUNDOG_OP_MATCH_NORM, {300, 100, 300}, {0}, 2.5},
    {SUNDOG_OP_SPARSIFY, {1000, 1000}, {0}, 1.6},
    {SUNDOG_OP_LAYER_NORM, {1000, 1000, 1000, 1000}, {0}, 1e-5},
    {SUNDOG_OP_LAYER_NORM, {1000, 1000, 0, 1000}, {0}, 1e-5},
};

static bool
is_weight(const char *name)
{
    static const char *const names[] = {
        "weight", "bias", "q_weight", "k_weight", "v_weight", "scales", "inverse_frequencies",
        NULL};
    return g_strv_contains(names, name);
}

static int64_t
count_rows(const SundogArgumentInfo *argument)
{
    return is_weight(argument->name) ? 1 : N_TOKENS;
}

/* What both sides take; positions are integers, all else random values that bf16 holds. */
static void *
make_argument(const Case *test, int i, GRand *random)
{
    const SundogArgumentInfo *argument = &sundog_operations[test->kind].arguments[i];
    int64_t n = count_rows(argument) * test->columns[i];
    float *values = g_new(float, n);
    for (int64_t k = 0; k < n; k++) {
        int32_t position = g_rand_int_range(random, 0, 4000);
        float value = (float)g_rand_double_range(random, -3, 3);
        value = sundog_bf16_to_f32(sundog_f32_to_bf16(value));
        if (g_str_equal(argument->name, "positions"))
            memcpy(&values[k], &position, sizeof position);
        else
            values[k] = value;
    }
    return values;
}

static SundogAccess
get_access(const Case *test, int i)
{
    return sundog_operations[test->kind].arguments[i].access & SUNDOG_ACCESS_UPDATE;
}

static int
count_arguments(const Case *test)
{
    return (int)sundog_operation_n_arguments(test->kind);
}

static void
run_host(const Case *test, float *const *values)
{
    SundogArgument arguments[MAX_ARGUMENTS] = {0};
    SundogParameter parameters[SUNDOG_MAX_PARAMETERS] = {0};
    const SundogOperationInfo *info = &sundog_operations[test->kind];
    for (int i = 0; i < count_arguments(test); i++)
        if (test->columns[i] > 0)
            arguments[i] = (SundogArgument){
                .data = values[i],
                .dtype = SUNDOG_DTYPE_F32,
                .shape = {count_rows(&info->arguments[i]), test->columns[i], 1, 1}};
    for (int i = 0, n = 0; info->parameters[i].name != NULL; i++)
        if (info->parameters[i].is_float)
            parameters[i].f = test->number;
        else
            parameters[i].i = test->integers[n++];
    SundogCall call = {arguments, parameters, 0, 1};
    sundog_host_kernel(test->kind, SUNDOG_HOST_PLAIN)(&call);
}

static CUdeviceptr
upload(const float *values, int64_t n, bool is_bf16)
{
    CUdeviceptr data = product_runner_allocate(&runner, (size_t)n * sizeof(float));
    g_autofree uint16_t *halves = g_new(uint16_t, n);
    for (int64_t k = 0; is_bf16 && k < n; k++)
        halves[k] = sundog_f32_to_bf16(values[k]);
    product_runner_write(&runner, data, is_bf16 ? (const void *)halves : values,
                         (size_t)n * (is_bf16 ? 2 : 4));
    return data;
}

static bool
may_be_bf16(const SundogArgumentInfo *argument)
{
    return !is_weight(argument->name) && !g_str_equal(argument->name, "positions");
}

/* Fills the parameters as lowering does; returns where the result lies. */
static CUdeviceptr
place_arguments(const Case *test, float *const *values, bool is_bf16, SundogCudaElements *elements)
{
    CUdeviceptr result = 0;
    const SundogArgumentInfo *arguments = sundog_operations[test->kind].arguments;
    for (int i = 0, n = 0; i < count_arguments(test); i++) {
        bool is_input = get_access(test, i) == SUNDOG_ACCESS_READ;
        int64_t n_values = count_rows(&arguments[i]) * test->columns[i];
        bool is_half = is_bf16 && is_input && may_be_bf16(&arguments[i]);
        CUdeviceptr data = n_values > 0 ? upload(values[i], n_values, is_half) : 0;
        if (is_input) {
            elements->x[n] = (const void *)(uintptr_t)data;
            elements->is_bf16[n] = is_half;
            elements->columns[n++] = test->columns[i];
            continue;
        }
        if (get_access(test, i) == SUNDOG_ACCESS_WRITE)
            product_runner_poison(&runner, data, (size_t)n_values * sizeof(float));
        elements->y_is_bf16 = is_bf16 && get_access(test, i) == SUNDOG_ACCESS_WRITE;
        elements->y = (void *)(uintptr_t)data;
        elements->y_columns = test->columns[i];
        result = data;
    }
    return result;
}

static void
compare(const Case *test, const float *expected, const void *found, int64_t n, bool is_bf16)
{
    int64_t n_different = 0;
    for (int64_t k = 0; k < n; k++)
        n_different += is_bf16 ? ((const uint16_t *)found)[k] != sundog_f32_to_bf16(expected[k])
                               : memcmp((const float *)found + k, &expected[k], sizeof(float)) != 0;
    if (n_different > 0)
        g_test_message("%s: %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT " differ",
                       sundog_operations[test->kind].name, n_different, n);
    g_assert_cmpint(n_different, ==, 0);
}

static void
check(const Case *test, bool is_bf16, GRand *random)
{
    const SundogArgumentInfo *arguments = sundog_operations[test->kind].arguments;
    SundogCudaElements elements = {.number = (float)test->number};
    float *values[MAX_ARGUMENTS] = {0};
    for (int i = 0; i < count_arguments(test); i++)
        values[i] = make_argument(test, i, random);
    for (int i = 0; i < SUNDOG_CUDA_ELEMENT_INTEGERS; i++)
        elements.integers[i] = (int32_t)test->integers[i];
    CUdeviceptr result = place_arguments(test, values, is_bf16, &elements);
    g_autofree char *entry = g_strconcat("sundog_", sundog_operations[test->kind].name, NULL);
    product_runner_call(&runner, "elements", entry, N_TOKENS, SUNDOG_CUDA_ROW_THREADS, 0,
                        &elements);
    run_host(test, values);
    for (int i = 0; i < count_arguments(test); i++) {
        if (get_access(test, i) == SUNDOG_ACCESS_READ)
            continue;
        int64_t n = count_rows(&arguments[i]) * test->columns[i];
        g_autofree void *found = g_malloc((size_t)n * sizeof(float));
        product_runner_read(&runner, found, result, (size_t)n * (elements.y_is_bf16 ? 2 : 4));
        compare(test, values[i], found, n, elements.y_is_bf16);
    }
    for (int i = 0; i < count_arguments(test); i++)
        g_free(values[i]);
}

static void
test_case(gconstpointer data)
{
    g_autoptr(GRand) random = g_rand_new();
    for (int is_bf16 = 0; is_bf16 < 2; is_bf16++)
        check(data, is_bf16, random);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    if (!product_runner_init(&runner))
        return 0;
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *path =
            g_strdup_printf("/elements/%s/%zu", sundog_operations[cases[i].kind].name, i);
        g_test_add_data_func(path, &cases[i], test_case);
    }
    int status = g_test_run();
    product_runner_clear(&runner);
    return status;
}
