/* Operations of experts on a GPU: routes, work lists and sums have the bits of the host's plain kernels, and
 * products are near those in double precision. */

#include "kernels/contract/experts.h"
#include "kernels/contract/gate.h"
#include "kernels/contract/math.h"
#include "kernels/host/kernels.h"
#include "tests/gpu/product-runner.h"
#include <math.h>
#include <string.h>

#define MAX_ARGUMENTS 8
/* Of a product in bf16, whose result is rounded too. */
#define BOUND 6e-3

static ProductRunner runner;
static GRand *random_numbers;

typedef struct {
    int n_tokens, n_experts, n_used;
    bool is_sigmoid, has_bias, has_scales, renormalizes;
    float margin;
    int n_groups, n_groups_used, group_best;
} Mixture;

static const Mixture mixtures[] = {
    {.n_tokens = 1,
     .n_experts = 8,
     .n_used = 2,
     .renormalizes = true,
     .n_groups = 1,
     .n_groups_used = 1},
    {.n_tokens = 37,
     .n_experts = 128,
     .n_used = 8,
     .renormalizes = true,
     .n_groups = 1,
     .n_groups_used = 1},
    {.n_tokens = 200,
     .n_experts = 60,
     .n_used = 4,
     .has_scales = true,
     .n_groups = 1,
     .n_groups_used = 1},
    {.n_tokens = 65,
     .n_experts = 256,
     .n_used = 8,
     .is_sigmoid = true,
     .has_bias = true,
     .renormalizes = true,
     .n_groups = 8,
     .n_groups_used = 4,
     .group_best = 2},
    {.n_tokens = 33,
     .n_experts = 16,
     .n_used = 2,
     .margin = 0.32f,
     .n_groups = 1,
     .n_groups_used = 1},
    {.n_tokens = 512,
     .n_experts = 512,
     .n_used = 10,
     .renormalizes = true,
     .n_groups = 1,
     .n_groups_used = 1},
};

static int
count_choices(const Mixture *mixture)
{
    return mixture->n_tokens * mixture->n_used;
}

static int
count_entries(const Mixture *mixture)
{
    int n = count_choices(mixture);
    return (n + SUNDOG_TILE_TOKENS - 1) / SUNDOG_TILE_TOKENS + MIN(n, mixture->n_experts);
}

/* Values that bf16 holds. */
static float *
make_floats(int64_t n)
{
    float *values = g_new(float, n);
    for (int64_t i = 0; i < n; i++)
        values[i] = sundog_bf16_to_f32(
            sundog_f32_to_bf16((float)g_rand_double_range(random_numbers, -2, 2)));
    return values;
}

static CUdeviceptr
upload(const void *bytes, size_t n_bytes)
{
    CUdeviceptr data = product_runner_allocate(&runner, n_bytes);
    product_runner_write(&runner, data, bytes, n_bytes);
    return data;
}

static CUdeviceptr
make_poisoned(size_t n_bytes)
{
    CUdeviceptr data = product_runner_allocate(&runner, n_bytes);
    product_runner_poison(&runner, data, n_bytes);
    return data;
}

static void
assert_same(CUdeviceptr found, const void *expected, size_t n_bytes)
{
    g_autofree void *bytes = g_malloc(n_bytes);
    product_runner_read(&runner, bytes, found, n_bytes);
    g_assert_cmpmem(bytes, n_bytes, expected, n_bytes);
}

static void *
pointer(CUdeviceptr data)
{
    return (void *)(uintptr_t)data;
}

static void
run_host(SundogOperationKind kind, const SundogArgument *arguments,
         const SundogParameter *parameters)
{
    SundogCall call = {arguments, parameters, 0, 1};
    sundog_host_kernel(kind, SUNDOG_HOST_PLAIN)(&call);
}

static SundogArgument
describe(void *data, int64_t n_rows, int64_t n_columns)
{
    return (SundogArgument){
        .data = data, .dtype = SUNDOG_DTYPE_F32, .shape = {n_rows, n_columns, 1, 1}};
}

/* On both sides; returns the choices, [T U]. */
static int32_t *
check_route(const Mixture *mixture)
{
    int n_experts = mixture->n_experts, n_choices = count_choices(mixture);
    size_t n_logits = (size_t)mixture->n_tokens * (size_t)n_experts;
    g_autofree float *logits = make_floats((int64_t)n_logits);
    g_autofree float *bias = mixture->has_bias ? make_floats(n_experts) : NULL;
    g_autofree float *scales = mixture->has_scales ? make_floats(n_experts) : NULL;
    g_autofree float *weights = g_new(float, n_choices);
    g_autofree uint8_t *workspace = g_malloc(sundog_route_workspace_bytes(n_experts));
    int32_t *choices = g_new(int32_t, n_choices);
    const SundogArgument arguments[] = {describe(logits, mixture->n_tokens, n_experts),
                                        describe(bias, 1, n_experts),
                                        describe(choices, mixture->n_tokens, mixture->n_used),
                                        describe(weights, mixture->n_tokens, mixture->n_used),
                                        describe(workspace, 1, 1),
                                        describe(scales, 1, n_experts)};
    const SundogParameter parameters[] = {{.i = mixture->is_sigmoid},    {.i = mixture->n_groups},
                                          {.i = mixture->n_groups_used}, {.i = mixture->group_best},
                                          {.i = mixture->renormalizes},  {.f = 1.5},
                                          {.f = mixture->margin}};
    SundogCudaRoute route = {
        .logits = pointer(upload(logits, n_logits * sizeof(float))),
        .bias = bias ? pointer(upload(bias, (size_t)n_experts * sizeof(float))) : NULL,
        .scales = scales ? pointer(upload(scales, (size_t)n_experts * sizeof(float))) : NULL,
        .choices = pointer(make_poisoned((size_t)n_choices * sizeof(int32_t))),
        .weights = pointer(make_poisoned((size_t)n_choices * sizeof(float))),
        .n_experts = n_experts,
        .n_used = mixture->n_used,
        .is_sigmoid = mixture->is_sigmoid,
        .n_groups = mixture->n_groups,
        .n_groups_used = mixture->n_groups_used,
        .group_best = mixture->group_best,
        .renormalizes = mixture->renormalizes,
        .scale = 1.5f,
        .margin = mixture->margin};
    run_host(SUNDOG_OP_ROUTE, arguments, parameters);
    product_runner_call(&runner, "experts", "sundog_route", (unsigned)mixture->n_tokens, 32, 0,
                        &route);
    assert_same((uintptr_t)route.choices, choices, (size_t)n_choices * sizeof(int32_t));
    assert_same((uintptr_t)route.weights, weights, (size_t)n_choices * sizeof(float));
    return choices;
}

/* Some choices are padding. Returns the list, [W, 8]. */
static int32_t *
check_plan(const Mixture *mixture, int32_t *choices)
{
    int n_choices = count_choices(mixture), n_entries = count_entries(mixture);
    size_t n_bytes = (size_t)n_entries * SUNDOG_WORK_FIELDS * sizeof(int32_t);
    int32_t *work = g_malloc(n_bytes);
    g_autofree uint8_t *workspace =
        g_malloc(sundog_plan_experts_workspace_bytes(mixture->n_experts));
    for (int i = 3; i < n_choices; i += 11)
        choices[i] = -1;
    const SundogArgument arguments[] = {describe(choices, mixture->n_tokens, mixture->n_used),
                                        describe(work, n_entries, SUNDOG_WORK_FIELDS),
                                        describe(workspace, 1, 1)};
    const SundogParameter parameter = {.i = mixture->n_experts};
    SundogCudaPlanExperts plan = {.choices =
                                      pointer(upload(choices, (size_t)n_choices * sizeof(int32_t))),
                                  .work = pointer(make_poisoned(n_bytes)),
                                  .n_choices = n_choices,
                                  .n_entries = n_entries,
                                  .n_experts = mixture->n_experts};
    run_host(SUNDOG_OP_PLAN_EXPERTS, arguments, &parameter);
    product_runner_call(&runner, "experts", "sundog_plan_experts", 1, SUNDOG_CUDA_MAX_EXPERTS, 0,
                        &plan);
    assert_same((uintptr_t)plan.work, work, n_bytes);
    return work;
}

static void
check_combine(const Mixture *mixture, bool has_residual)
{
    enum { COLUMNS = 200 };
    int n_choices = count_choices(mixture), n_values = mixture->n_tokens * COLUMNS;
    g_autofree float *x = make_floats((int64_t)n_choices * COLUMNS);
    g_autofree float *weights = make_floats(n_choices);
    g_autofree float *residual = has_residual ? make_floats(n_values) : NULL;
    g_autofree float *y = g_new(float, n_values);
    const SundogArgument arguments[] = {
        describe(x, n_choices, COLUMNS), describe(weights, mixture->n_tokens, mixture->n_used),
        describe(residual, mixture->n_tokens, COLUMNS), describe(y, mixture->n_tokens, COLUMNS)};
    SundogCudaCombineExperts combine = {
        .x = pointer(upload(x, (size_t)n_choices * COLUMNS * sizeof(float))),
        .weights = pointer(upload(weights, (size_t)n_choices * sizeof(float))),
        .residual =
            has_residual ? pointer(upload(residual, (size_t)n_values * sizeof(float))) : NULL,
        .y = pointer(make_poisoned((size_t)n_values * sizeof(float))),
        .n_columns = COLUMNS,
        .n_used = mixture->n_used};
    run_host(SUNDOG_OP_COMBINE_EXPERTS, arguments, NULL);
    product_runner_call(&runner, "experts", "sundog_combine_experts", (unsigned)mixture->n_tokens,
                        256, 0, &combine);
    assert_same((uintptr_t)combine.y, y, (size_t)n_values * sizeof(float));
}

static void
test_choice(gconstpointer data)
{
    g_autofree int32_t *choices = check_route(data);
    g_autofree int32_t *work = check_plan(data, choices);
    check_combine(data, false);
    check_combine(data, true);
}

/* Products */

#define N_EXPERTS 3
#define N_ROWS 48 /* of an expert */
#define N_ENTRIES 4
#define N_CHOICES (N_ENTRIES * SUNDOG_TILE_TOKENS)

/* Entries of 6, 1, 0 and 4 rows; choices in an order of their own. */
static const int32_t work[N_ENTRIES][SUNDOG_WORK_FIELDS] = {{2, 6, 5, 3, 9, 1, 0, 12},
                                                            {0, 1, 4, -1, -1, -1, -1, -1},
                                                            {0, 0, -1, -1, -1, -1, -1, -1},
                                                            {1, 4, 2, 7, 8, 20, -1, -1}};

typedef struct {
    SundogLayout layout;
    int n_columns;
    float *a;       /* [6 W, K] that bf16 holds */
    float *bias[2]; /* [X N] */
    uint8_t *w[2];  /* in tiles */
    SundogCudaExpertLinear linear;
} Products;

static void
products_init(Products *products, SundogLayout layout, int n_columns)
{
    size_t n_bytes = sundog_layout_bytes(layout, (int64_t)N_EXPERTS * N_ROWS, n_columns);
    size_t n_a = (size_t)N_CHOICES * (size_t)n_columns;
    *products =
        (Products){.layout = layout, .n_columns = n_columns, .a = make_floats((int64_t)n_a)};
    g_autofree uint16_t *halves = g_new(uint16_t, n_a);
    for (size_t i = 0; i < n_a; i++)
        halves[i] = sundog_f32_to_bf16(products->a[i]);
    products->linear = (SundogCudaExpertLinear){.a = pointer(upload(halves, n_a * 2)),
                                                .work = pointer(upload(work, sizeof work)),
                                                .n_columns = n_columns,
                                                .n_rows = N_ROWS,
                                                .function = SUNDOG_GATE_CLAMPED};
    for (int m = 0; m < 2; m++) {
        CUdeviceptr w = product_runner_allocate(&runner, n_bytes);
        product_runner_fill(&runner, w, n_bytes, layout, 0.05f);
        products->w[m] = g_malloc(n_bytes);
        product_runner_read(&runner, products->w[m], w, n_bytes);
        products->bias[m] = make_floats(N_EXPERTS * N_ROWS);
        products->linear.w[m] = pointer(w);
        products->linear.bias[m] =
            pointer(upload(products->bias[m], N_EXPERTS * N_ROWS * sizeof(float)));
    }
}

static void
products_clear(Products *products)
{
    g_free(products->a);
    for (int m = 0; m < 2; m++) {
        g_free(products->w[m]);
        g_free(products->bias[m]);
    }
}

static double
multiply(const Products *products, int m, int entry, int place, int row)
{
    int weight_row = work[entry][SUNDOG_WORK_EXPERT] * N_ROWS + row;
    g_autofree float *w = g_new(float, products->n_columns);
    const float *a = products->a + ((size_t)entry * SUNDOG_TILE_TOKENS + (size_t)place) *
                                       (size_t)products->n_columns;
    double sum = (double)products->bias[m][weight_row];
    sundog_layout_dequantize_row(products->layout, products->w[m], weight_row, products->n_columns,
                                 w);
    for (int k = 0; k < products->n_columns; k++)
        sum += (double)w[k] * (double)a[k];
    return sum;
}

/* A launch an entry, since the runner's grids have one dimension. */
static void
launch_entries(const Products *products, const char *kind, CUdeviceptr y, size_t entry_bytes)
{
    g_autofree char *entry_name = g_strdup_printf(
        "sundog_%s_%s", kind, strchr(sundog_layout_name(products->layout), '-') + 1);
    for (int entry = 0; entry < N_ENTRIES; entry++) {
        SundogCudaExpertLinear linear = products->linear;
        linear.a = (const uint16_t *)linear.a +
                   (size_t)entry * SUNDOG_TILE_TOKENS * (size_t)products->n_columns;
        linear.work = (const int32_t *)linear.work + entry * SUNDOG_WORK_FIELDS;
        linear.y = pointer(y + (CUdeviceptr)entry * entry_bytes);
        product_runner_call(&runner, "experts", entry_name, N_ROWS / SUNDOG_PANEL_ROWS,
                            SUNDOG_CUDA_EXPERT_THREADS, 0, &linear);
        product_runner_wait(&runner);
    }
}

typedef struct {
    double difference, norm;
} Error;

static void
error_add(Error *error, double expected, double found)
{
    error->difference += (expected - found) * (expected - found);
    error->norm += expected * expected;
}

static void
check_plain(const Products *products)
{
    Error error = {0};
    float y[N_CHOICES][N_ROWS];
    CUdeviceptr data = make_poisoned(sizeof y);
    launch_entries(products, "experts", data, 0);
    product_runner_read(&runner, y, data, sizeof y);
    for (int entry = 0; entry < N_ENTRIES; entry++)
        for (int n = 0; n < work[entry][SUNDOG_WORK_ROWS]; n++)
            for (int row = 0; row < N_ROWS; row++)
                error_add(&error, multiply(products, 0, entry, n, row),
                          (double)y[work[entry][SUNDOG_WORK_CHOICES + n]][row]);
    g_test_message("%s: %.1e", sundog_layout_name(products->layout),
                   sqrt(error.difference / error.norm));
    g_assert_cmpfloat(sqrt(error.difference / error.norm), <, 1e-5);
}

static void
check_gated(const Products *products)
{
    Error error = {0};
    uint16_t y[N_CHOICES][N_ROWS];
    CUdeviceptr data = make_poisoned(sizeof y);
    launch_entries(products, "gated_experts", data, sizeof y / N_ENTRIES);
    product_runner_read(&runner, y, data, sizeof y);
    for (int entry = 0; entry < N_ENTRIES; entry++)
        for (int n = 0; n < work[entry][SUNDOG_WORK_ROWS]; n++)
            for (int row = 0; row < N_ROWS; row++)
                error_add(&error,
                          (double)sundog_clamped((float)multiply(products, 0, entry, n, row),
                                                 (float)multiply(products, 1, entry, n, row)),
                          (double)sundog_bf16_to_f32(y[entry * SUNDOG_TILE_TOKENS + n][row]));
    g_test_message("%s, gated: %.1e", sundog_layout_name(products->layout),
                   sqrt(error.difference / error.norm));
    g_assert_cmpfloat(sqrt(error.difference / error.norm), <, BOUND);
}

static void
test_products(gconstpointer data)
{
    static const int n_columns[] = {64, 776, 2048};
    for (size_t i = 0; i < G_N_ELEMENTS(n_columns); i++) {
        Products products;
        products_init(&products, (SundogLayout)GPOINTER_TO_INT(data), n_columns[i]);
        check_plain(&products);
        check_gated(&products);
        products_clear(&products);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    if (!product_runner_init(&runner))
        return 0;
    random_numbers = g_rand_new();
    for (size_t i = 0; i < G_N_ELEMENTS(mixtures); i++) {
        g_autofree char *path = g_strdup_printf("/experts/choice/%zu", i);
        g_test_add_data_func(path, &mixtures[i], test_choice);
    }
    static const SundogLayout layouts[] = {SUNDOG_LAYOUT_TILE16_BF16, SUNDOG_LAYOUT_TILE16_Q8_0,
                                           SUNDOG_LAYOUT_TILE16_Q4_1, SUNDOG_LAYOUT_TILE16_F8};
    for (size_t i = 0; i < G_N_ELEMENTS(layouts); i++) {
        g_autofree char *path =
            g_strdup_printf("/experts/products/%s", sundog_layout_name(layouts[i]));
        g_test_add_data_func(path, GINT_TO_POINTER(layouts[i]), test_products);
    }
    int status = g_test_run();
    g_rand_free(random_numbers);
    product_runner_clear(&runner);
    return status;
}
