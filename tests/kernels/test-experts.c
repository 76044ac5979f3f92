/* Mixtures of experts: the choice against double, and every product against that of one row and one
 * expert alone, bit for bit; all sets against the plain kernels. */

#include "kernels/contract/activation.h"
#include "kernels/contract/experts.h"
#include "kernels/contract/linear.h"
#include "tests/kernels/call.h"
#include <glib.h>
#include <math.h>

#define MAX_THREADS 7

enum { SIGMOID, N_GROUPS, N_GROUPS_USED, GROUP_BEST, RENORMALIZE, SCALE, MARGIN };

/* No quotient of two of the logits below lies near it. */
#define WITHIN 0.32

/* A step's worth of routing. */
typedef struct {
    int64_t n_tokens, n_experts, n_used, n_groups, n_groups_used, group_best;
    bool sigmoid, renormalize, with_bias, with_margin;
} Routing;

static Routing
random_routing(TestRandom *random, int64_t n_tokens)
{
    Routing r = {.n_tokens = n_tokens,
                 .n_groups = test_random_int(random, 1, 4),
                 .sigmoid = test_random_int(random, 0, 1) == 1,
                 .renormalize = test_random_int(random, 0, 1) == 1,
                 .with_bias = test_random_int(random, 0, 1) == 1,
                 .with_margin = test_random_int(random, 0, 3) == 0};
    int64_t size = test_random_int(random, 2, 9);
    r.n_experts = r.n_groups * size;
    r.n_groups_used = test_random_int(random, 1, r.n_groups);
    r.group_best = test_random_int(random, 1, 2);
    r.n_used = test_random_int(random, 1, MIN(6, r.n_groups_used * size));
    return r;
}

/* Logits rounded to eighths, so that some are equal. */
static void
make_route(TestCall *call, const Routing *r, TestRandom *random)
{
    test_call_init(call, SUNDOG_OP_ROUTE);
    test_call_add_floats(call, r->n_tokens, r->n_experts, random);
    float *logits = call->arguments[0].data;
    for (int64_t i = 0; i < r->n_tokens * r->n_experts; i++)
        logits[i] = roundf(logits[i] * 32) / 8;
    if (r->with_bias)
        test_call_add_floats(call, 1, r->n_experts, random);
    else
        test_call_add_absent(call);
    test_call_add(call, SUNDOG_DTYPE_I32, r->n_tokens, r->n_used);
    test_call_add(call, SUNDOG_DTYPE_F32, r->n_tokens, r->n_used);
    test_call_add(call, SUNDOG_DTYPE_U8, MAX_THREADS,
                  (int64_t)sundog_route_workspace_bytes(r->n_experts));
    if (r->n_tokens % 2 == 0)
        test_call_add_floats(call, 1, r->n_experts, random);
    else
        test_call_add_absent(call);
    call->parameters[SIGMOID].i = r->sigmoid;
    call->parameters[N_GROUPS].i = r->n_groups;
    call->parameters[N_GROUPS_USED].i = r->n_groups_used;
    call->parameters[GROUP_BEST].i = r->group_best;
    call->parameters[RENORMALIZE].i = r->renormalize;
    call->parameters[SCALE].f = 2.5;
    call->parameters[MARGIN].f = r->with_margin ? WITHIN : 0;
}

/* The best of n scores that is not taken; the first of equals. */
static int64_t
take_best(const double *scores, bool *taken, int64_t n)
{
    int64_t best = -1;
    for (int64_t i = 0; i < n; i++)
        if (!taken[i] && (best < 0 || scores[i] > scores[best]))
            best = i;
    taken[best] = true;
    return best;
}

static void
score_in_double(const TestCall *call, const Routing *r, int64_t t, double *p, double *scores)
{
    const float *logits = (const float *)call->arguments[0].data + t * r->n_experts;
    const float *bias = call->arguments[1].data;
    double sum = 0;
    for (int64_t i = 0; i < r->n_experts; i++)
        sum += exp(logits[i]);
    for (int64_t i = 0; i < r->n_experts; i++) {
        p[i] = r->with_margin ? logits[i]
               : r->sigmoid   ? 1 / (1 + exp(-logits[i]))
                              : exp(logits[i]) / sum;
        scores[i] = p[i] + (bias != NULL ? bias[i] : 0);
    }
}

/* Leaves all groups but the best out of the choice. */
static void
drop_groups(const Routing *r, const double *scores, bool *taken)
{
    int64_t size = r->n_experts / r->n_groups;
    double sums[4] = {0};
    bool is_used[4] = {false};
    for (int64_t g = 0; g < r->n_groups; g++) {
        bool counted[9] = {false};
        for (int64_t n = 0; n < MIN(r->group_best, size); n++)
            sums[g] += scores[g * size + take_best(scores + g * size, counted, size)];
    }
    for (int64_t n = 0; n < r->n_groups_used; n++)
        take_best(sums, is_used, r->n_groups);
    for (int64_t i = 0; i < r->n_experts; i++)
        taken[i] = !is_used[i / size];
}

/* The softmax of a choice among the experts that are left to it and near. */
static double
weigh_by_margin(const Routing *r, const double *logits, const bool *taken, int64_t choice)
{
    double sum = 0;
    for (int64_t i = 0; i < r->n_experts; i++)
        if (!taken[i] &&
            logits[choice] - logits[i] <= WITHIN * fmax(fabs(logits[i]), logits[choice]))
            sum += exp(logits[i] - logits[choice]);
    return 1 / sum;
}

static void
check_token(const TestCall *call, const Routing *r, int64_t t)
{
    const int32_t *choices = (const int32_t *)call->arguments[2].data + t * r->n_used;
    const float *weights = (const float *)call->arguments[3].data + t * r->n_used;
    double p[36], scores[36], own[6], sum = 0;
    bool taken[36] = {false};
    score_in_double(call, r, t, p, scores);
    if (r->n_groups_used < r->n_groups)
        drop_groups(r, scores, taken);
    for (int64_t u = 0; u < r->n_used; u++) {
        bool left[36];
        memcpy(left, taken, sizeof left);
        int64_t best = take_best(scores, taken, r->n_experts);
        g_assert_cmpint(choices[u], >=, 0);
        g_assert_cmpint(choices[u], <, r->n_experts);
        /* Rounding may turn a near tie about. */
        g_assert_cmpfloat(fabs(scores[choices[u]] - scores[best]), <, 1e-6);
        own[u] = r->with_margin ? weigh_by_margin(r, p, left, choices[u]) : p[choices[u]];
        sum += own[u];
    }
    for (int64_t u = 0; u < r->n_used; u++) {
        const float *scales = call->arguments[5].data;
        double weight = 2.5 * own[u] / (r->renormalize ? sum : 1);
        if (scales != NULL)
            weight *= scales[choices[u]];
        g_assert_cmpfloat(fabs(weights[u] - weight), <, 1e-5);
        for (int64_t v = 0; v < u; v++)
            g_assert_cmpint(choices[u], !=, choices[v]);
    }
}

static void
test_route(void)
{
    TestRandom random = {11};
    for (int i = 0; i < 200; i++) {
        Routing r = random_routing(&random, test_random_int(&random, 1, 9));
        TestCall call;
        make_route(&call, &r, &random);
        test_call_check_all_sets(&call);
        for (int64_t t = 0; t < r.n_tokens; t++)
            check_token(&call, &r, t);
        test_call_clear(&call);
    }
}

/* Logits that are no numbers still give experts that are there, each once. */
static void
test_route_without_numbers(void)
{
    TestRandom random = {12};
    Routing r = {.n_tokens = 3,
                 .n_experts = 8,
                 .n_used = 4,
                 .n_groups = 2,
                 .n_groups_used = 1,
                 .group_best = 2};
    TestCall call;
    make_route(&call, &r, &random);
    float *logits = call.arguments[0].data;
    for (int i = 0; i < 8; i++) {
        logits[i] = NAN;
        logits[8 + i] = i % 2 == 0 ? -INFINITY : NAN;
        logits[16 + i] = INFINITY;
    }
    test_call_check_all_sets(&call);
    const int32_t *choices = call.arguments[2].data;
    for (int t = 0; t < 3; t++)
        for (int u = 0; u < 4; u++) {
            g_assert_true(choices[4 * t + u] >= 0 && choices[4 * t + u] < 8);
            for (int v = 0; v < u; v++)
                g_assert_cmpint(choices[4 * t + u], !=, choices[4 * t + v]);
        }
    test_call_clear(&call);
}

static int64_t
count_entries(int64_t n_choices, int64_t n_experts)
{
    return (n_choices + SUNDOG_TILE_TOKENS - 1) / SUNDOG_TILE_TOKENS + MIN(n_choices, n_experts);
}

/* Choices at random, some of them padding; the list is planned from them into a new call. */
static void
plan(TestCall *call, int64_t n_tokens, int64_t n_used, int64_t n_experts, TestRandom *random)
{
    test_call_init(call, SUNDOG_OP_PLAN_EXPERTS);
    int32_t *choices = test_call_add(call, SUNDOG_DTYPE_I32, n_tokens, n_used);
    int64_t most = test_random_int(random, 1, n_experts);
    for (int64_t i = 0; i < n_tokens * n_used; i++)
        choices[i] = (int32_t)test_random_int(random, -1, most - 1);
    test_call_add(call, SUNDOG_DTYPE_I32, count_entries(n_tokens * n_used, n_experts),
                  SUNDOG_WORK_FIELDS);
    test_call_add(call, SUNDOG_DTYPE_U8, MAX_THREADS,
                  (int64_t)sundog_plan_experts_workspace_bytes(n_experts));
    call->parameters[0].i = n_experts;
    test_call_check_all_sets(call);
}

/* Every choice of an expert stands in the list once, in order, in tiles that are full but the last. */
static void
check_list(const TestCall *call)
{
    const int32_t *choices = call->arguments[0].data, *work = call->arguments[1].data;
    int64_t n_choices = call->arguments[0].shape[0] * call->arguments[0].shape[1];
    int64_t n_entries = call->arguments[1].shape[0], n_seen = 0, n_wanted = 0;
    int32_t last_expert = -1, last_choice = -1, last_rows = SUNDOG_TILE_TOKENS;
    for (int64_t i = 0; i < n_choices; i++)
        n_wanted += choices[i] >= 0;
    for (int64_t i = 0; i < n_entries; i++, work += SUNDOG_WORK_FIELDS) {
        int32_t n_rows = work[SUNDOG_WORK_ROWS], expert = work[SUNDOG_WORK_EXPERT];
        if (n_rows > 0 && expert == last_expert)
            g_assert_cmpint(last_rows, ==, SUNDOG_TILE_TOKENS);
        else if (n_rows > 0) {
            g_assert_cmpint(expert, >, last_expert);
            last_choice = -1;
        }
        for (int r = 0; r < SUNDOG_TILE_TOKENS; r++) {
            int32_t choice = work[SUNDOG_WORK_CHOICES + r];
            if (r >= n_rows) {
                g_assert_cmpint(choice, ==, -1);
                continue;
            }
            g_assert_cmpint(choice, >, last_choice);
            g_assert_cmpint(choices[choice], ==, expert);
            last_choice = choice;
            n_seen++;
        }
        last_rows = n_rows;
        last_expert = n_rows > 0 ? expert : last_expert;
    }
    g_assert_cmpint(n_seen, ==, n_wanted);
}

static void
test_plan(void)
{
    TestRandom random = {13};
    for (int i = 0; i < 100; i++) {
        TestCall call;
        plan(&call, test_random_int(&random, 1, 40), test_random_int(&random, 1, 4),
             test_random_int(&random, 1, 9), &random);
        check_list(&call);
        test_call_clear(&call);
    }
}

/* One layer's worth of products. */
typedef struct {
    SundogLayout layout;
    bool a8;
    bool y_a8;
    int64_t n_tokens, n_used, n_experts, n_rows, n_columns;
} Shape;

static Shape
random_shape(TestRandom *random)
{
    static const SundogLayout layouts[] = {
        SUNDOG_LAYOUT_PANEL16_F32,   SUNDOG_LAYOUT_PANEL16_BF16, SUNDOG_LAYOUT_PANEL16_F8,
        SUNDOG_LAYOUT_PANEL16_Q4_0,  SUNDOG_LAYOUT_PANEL16_Q4_1, SUNDOG_LAYOUT_PANEL16_Q5_0,
        SUNDOG_LAYOUT_PANEL16_Q5_1,  SUNDOG_LAYOUT_PANEL16_Q8_0, SUNDOG_LAYOUT_PANEL16_IQ4_NL,
        SUNDOG_LAYOUT_PANEL16_MXFP4, SUNDOG_LAYOUT_PANEL16_Q4_K, SUNDOG_LAYOUT_PANEL16_Q6_K};
    enum { N_FLOATS = 3, FIRST_OF_256 = 10 };
    int layout = (int)test_random_int(random, 0, G_N_ELEMENTS(layouts) - 1);
    Shape shape = {.layout = layouts[layout],
                   .a8 = layout >= N_FLOATS && test_random_int(random, 0, 3) > 0,
                   .n_tokens = test_random_int(random, 1, 60),
                   .n_used = test_random_int(random, 1, 4),
                   .n_experts = test_random_int(random, 1, 5),
                   .n_rows = 16 * test_random_int(random, 1, 5),
                   .n_columns = layout >= FIRST_OF_256 ? 256 : 32 * test_random_int(random, 1, 5)};
    if (shape.layout == SUNDOG_LAYOUT_PANEL16_F8)
        shape.n_columns *= 2;
    shape.y_a8 = shape.a8 && shape.n_rows % 32 == 0 && test_random_int(random, 0, 1) == 1;
    return shape;
}

/* A buffer of gathered rows, with the bytes of another where it is an input. */
static void
add_gathered(TestCall *call, bool a8, int64_t n_entries, int64_t n_columns, const void *bytes)
{
    if (a8)
        test_call_add(call, SUNDOG_DTYPE_A8, n_entries, n_columns);
    else
        test_call_add(call, SUNDOG_DTYPE_F32, SUNDOG_TILE_TOKENS * n_entries, n_columns);
    uint32_t i = call->n_arguments - 1;
    if (bytes != NULL)
        memcpy(call->arguments[i].data, bytes, call->n_bytes[i]);
}

static void
add_copy(TestCall *call, const TestCall *from, uint32_t argument)
{
    const SundogArgument *a = &from->arguments[argument];
    memcpy(test_call_add(call, a->dtype, a->shape[0], a->shape[1]), a->data,
           from->n_bytes[argument]);
}

static void
gather(TestCall *call, const Shape *shape, const TestCall *planned, TestRandom *random)
{
    test_call_init(call, SUNDOG_OP_GATHER_EXPERTS);
    if (shape->a8)
        test_call_add_a8(call, shape->n_tokens, shape->n_columns, random);
    else
        test_call_add_floats(call, shape->n_tokens, shape->n_columns, random);
    add_copy(call, planned, 1);
    add_gathered(call, shape->a8, planned->arguments[1].shape[0], shape->n_columns, NULL);
    call->parameters[0].i = shape->n_used;
    test_call_check_all_sets(call);
}

static void
add_bias(TestCall *call, const Shape *shape, bool with_bias, TestRandom *random)
{
    if (with_bias)
        test_call_add_floats(call, 1, shape->n_experts * shape->n_rows, random);
    else
        test_call_add_absent(call);
}

static void
add_workspace(TestCall *call, const Shape *shape)
{
    test_call_add(call, SUNDOG_DTYPE_U8, MAX_THREADS,
                  (int64_t)sundog_linear_workspace_bytes(shape->n_columns));
}

/* Expert e's rows of a weight or its part of a bias, as a view. */
static void
view(TestCall *call, const TestCall *from, uint32_t argument, const Shape *shape, int64_t expert)
{
    SundogArgument *a = &call->arguments[call->n_arguments++];
    *a = from->arguments[argument];
    bool is_bias = a->dtype == SUNDOG_DTYPE_F32;
    size_t n_bytes = (size_t)shape->n_rows * sizeof(float);
    if (!is_bias)
        n_bytes = sundog_layout_panel_bytes(shape->layout, shape->n_columns) *
                  (size_t)(shape->n_rows / SUNDOG_PANEL_ROWS);
    if (a->data != NULL)
        a->data = (uint8_t *)a->data + (size_t)expert * n_bytes;
    a->shape[is_bias ? 1 : 0] = shape->n_rows;
}

/* Calls a plain product whose arguments are views, which nobody may free or poison. */
static void
run_views(TestCall *call)
{
    const SundogCall one = {
        .arguments = call->arguments, .parameters = call->parameters, .n_threads = 1};
    sundog_host_kernel(call->kind, SUNDOG_HOST_PLAIN)(&one);
}

static SundogArgument
make_argument(SundogDtype dtype, int64_t rows, int64_t columns, void *data)
{
    return (SundogArgument){.data = data, .dtype = dtype, .shape = {rows, columns, 1, 1}};
}

/* Tile `tile` alone through linear: its rows must be those that linear_experts gave the choices. */
static void
check_rows(const TestCall *experts, const Shape *shape, int64_t tile)
{
    const int32_t *entry = (const int32_t *)experts->arguments[3].data + tile * SUNDOG_WORK_FIELDS;
    int64_t n_rows = entry[SUNDOG_WORK_ROWS], n = shape->n_rows;
    g_autofree float *y = g_new0(float, SUNDOG_TILE_TOKENS *n);
    TestCall call;
    if (n_rows == 0)
        return;
    test_call_init(&call, SUNDOG_OP_LINEAR);
    size_t a_bytes = shape->a8 ? sundog_activation_tile_bytes(shape->n_columns)
                               : SUNDOG_TILE_TOKENS * (size_t)shape->n_columns * sizeof(float);
    call.arguments[call.n_arguments++] =
        make_argument(experts->arguments[0].dtype, shape->a8 ? 1 : n_rows, shape->n_columns,
                      (uint8_t *)experts->arguments[0].data + (size_t)tile * a_bytes);
    view(&call, experts, 1, shape, entry[SUNDOG_WORK_EXPERT]);
    view(&call, experts, 2, shape, entry[SUNDOG_WORK_EXPERT]);
    test_call_add_absent(&call);
    call.arguments[call.n_arguments++] = make_argument(SUNDOG_DTYPE_F32, n_rows, n, y);
    call.arguments[call.n_arguments++] = experts->arguments[5];
    run_views(&call);
    for (int64_t r = 0; r < n_rows; r++)
        g_assert_cmpmem((const float *)experts->arguments[4].data +
                            entry[SUNDOG_WORK_CHOICES + r] * n,
                        (size_t)n * sizeof(float), y + r * n, (size_t)n * sizeof(float));
}

static void
check_linear(const Shape *shape, const TestCall *planned, const TestCall *gathered,
             TestRandom *random)
{
    TestCall call;
    test_call_init(&call, SUNDOG_OP_LINEAR_EXPERTS);
    add_gathered(&call, shape->a8, planned->arguments[1].shape[0], shape->n_columns,
                 gathered->arguments[2].data);
    test_call_add_weight(&call, shape->layout, shape->n_experts * shape->n_rows, shape->n_columns,
                         random);
    add_bias(&call, shape, test_random_int(random, 0, 1) == 1, random);
    add_copy(&call, planned, 1);
    test_call_add(&call, SUNDOG_DTYPE_F32, shape->n_tokens * shape->n_used, shape->n_rows);
    add_workspace(&call, shape);
    call.parameters[0].i = shape->n_experts;
    test_call_check_all_sets(&call);
    for (int64_t tile = 0; tile < planned->arguments[1].shape[0]; tile++)
        check_rows(&call, shape, tile);
    test_call_clear(&call);
}

/* Without biases, a tile alone through linear_gated gives the same bytes. */
static void
check_gated_tile(const TestCall *experts, const Shape *shape, int64_t tile)
{
    const int32_t *entry = (const int32_t *)experts->arguments[5].data + tile * SUNDOG_WORK_FIELDS;
    int64_t n_rows = entry[SUNDOG_WORK_ROWS];
    size_t a_bytes = shape->a8 ? sundog_activation_tile_bytes(shape->n_columns)
                               : SUNDOG_TILE_TOKENS * (size_t)shape->n_columns * sizeof(float);
    size_t y_bytes = shape->y_a8 ? sundog_activation_tile_bytes(shape->n_rows)
                                 : SUNDOG_TILE_TOKENS * (size_t)shape->n_rows * sizeof(float);
    size_t n_bytes = shape->y_a8 ? y_bytes : (size_t)(n_rows * shape->n_rows) * sizeof(float);
    g_autofree void *y = g_malloc(y_bytes);
    TestCall call;
    if (n_rows == 0)
        return;
    /* Padding of a tile is not a kernel's to write: as test_call_run() poisons it. */
    memset(y, 0xff, y_bytes);
    test_call_init(&call, SUNDOG_OP_LINEAR_GATED);
    call.arguments[call.n_arguments++] =
        make_argument(experts->arguments[0].dtype, shape->a8 ? 1 : n_rows, shape->n_columns,
                      (uint8_t *)experts->arguments[0].data + (size_t)tile * a_bytes);
    view(&call, experts, 1, shape, entry[SUNDOG_WORK_EXPERT]);
    view(&call, experts, 2, shape, entry[SUNDOG_WORK_EXPERT]);
    call.arguments[call.n_arguments++] =
        make_argument(experts->arguments[6].dtype, shape->y_a8 ? 1 : n_rows, shape->n_rows, y);
    call.arguments[call.n_arguments++] = experts->arguments[7];
    run_views(&call);
    g_assert_cmpmem((const uint8_t *)experts->arguments[6].data + (size_t)tile * y_bytes, n_bytes,
                    y, n_bytes);
}

static void
check_gated(const Shape *shape, const TestCall *planned, const TestCall *gathered,
            TestRandom *random)
{
    bool with_bias = test_random_int(random, 0, 2) == 0;
    int64_t n_entries = planned->arguments[1].shape[0];
    TestCall call;
    test_call_init(&call, SUNDOG_OP_LINEAR_GATED_EXPERTS);
    add_gathered(&call, shape->a8, n_entries, shape->n_columns, gathered->arguments[2].data);
    for (int i = 0; i < 2; i++)
        test_call_add_weight(&call, shape->layout, shape->n_experts * shape->n_rows,
                             shape->n_columns, random);
    if (test_random_int(random, 0, 2) == 0) /* experts without a gate are their own */
        test_call_alias(&call, 2, 1);
    for (int i = 0; i < 2; i++)
        add_bias(&call, shape, with_bias, random);
    add_copy(&call, planned, 1);
    add_gathered(&call, shape->y_a8, n_entries, shape->n_rows, NULL);
    add_workspace(&call, shape);
    call.parameters[0].i = shape->n_experts;
    test_call_check_all_sets(&call);
    for (int64_t tile = 0; tile < n_entries && !with_bias; tile++)
        check_gated_tile(&call, shape, tile);
    test_call_clear(&call);
}

static void
test_products(void)
{
    TestRandom random = {14};
    for (int i = 0; i < 120; i++) {
        Shape shape = random_shape(&random);
        TestCall planned, gathered;
        plan(&planned, shape.n_tokens, shape.n_used, shape.n_experts, &random);
        gather(&gathered, &shape, &planned, &random);
        check_linear(&shape, &planned, &gathered, &random);
        check_gated(&shape, &planned, &gathered, &random);
        test_call_clear(&gathered);
        test_call_clear(&planned);
    }
}

static void
test_combine(void)
{
    TestRandom random = {15};
    for (int i = 0; i < 40; i++) {
        int64_t n_tokens = test_random_int(&random, 1, 5), n_used = test_random_int(&random, 1, 8);
        int64_t n = test_random_int(&random, 1, 2500);
        bool with_residual = test_random_int(&random, 0, 1) == 1;
        TestCall call;
        test_call_init(&call, SUNDOG_OP_COMBINE_EXPERTS);
        test_call_add_floats(&call, n_tokens * n_used, n, &random);
        test_call_add_floats(&call, n_tokens, n_used, &random);
        if (with_residual)
            test_call_add_floats(&call, n_tokens, n, &random);
        else
            test_call_add_absent(&call);
        float *y = test_call_add(&call, SUNDOG_DTYPE_F32, n_tokens, n);
        test_call_check_all_sets(&call);
        const float *x = call.arguments[0].data, *weights = call.arguments[1].data;
        for (int64_t j = 0; j < n_tokens * n; j++) {
            float sum = 0;
            for (int64_t u = 0; u < n_used; u++)
                sum = fmaf(weights[j / n * n_used + u], x[(j / n * n_used + u) * n + j % n], sum);
            if (with_residual)
                sum += ((float *)call.arguments[2].data)[j];
            g_assert_cmpmem(&y[j], sizeof sum, &sum, sizeof sum);
        }
        test_call_clear(&call);
    }
}

static void
test_sigmoid_mul(void)
{
    TestRandom random = {16};
    for (int i = 0; i < 20; i++) {
        int64_t n_rows = test_random_int(&random, 1, 7), n = test_random_int(&random, 1, 90);
        int64_t n_gates = i % 2 == 0 ? 1 : n;
        TestCall call;
        test_call_init(&call, SUNDOG_OP_SIGMOID_MUL);
        test_call_add_floats(&call, n_rows, n_gates, &random);
        test_call_add_floats(&call, n_rows, n, &random);
        float *y = test_call_add(&call, SUNDOG_DTYPE_F32, n_rows, n);
        test_call_check_all_sets(&call);
        const float *gate = call.arguments[0].data, *x = call.arguments[1].data;
        for (int64_t j = 0; j < n_rows * n; j++) {
            double g = gate[n_gates == 1 ? j / n : j];
            g_assert_cmpfloat(fabs(y[j] - x[j] / (1 + exp(-g))), <, 1e-6);
        }
        test_call_clear(&call);
    }
}

int
main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/kernels/experts/route", test_route);
    g_test_add_func("/kernels/experts/route-without-numbers", test_route_without_numbers);
    g_test_add_func("/kernels/experts/plan", test_plan);
    g_test_add_func("/kernels/experts/products", test_products);
    g_test_add_func("/kernels/experts/combine", test_combine);
    g_test_add_func("/kernels/experts/sigmoid-mul", test_sigmoid_mul);
    return g_test_run();
}
