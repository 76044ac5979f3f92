/* State spaces: against double; a row at a time and all at once; all sets against the plain kernels, bit
 * for bit. */

#include "kernels/contract/recurrent.h"
#include "tests/kernels/call.h"
#include <glib.h>
#include <math.h>

#define N_SLOTS 4

enum { XBC, DT, DECAY, STEP, SKIP, FIRST_ROW, START, SLOT, STATE, Y };

typedef struct {
    int64_t n_groups, n_heads, n_keys, n_values;
    int64_t n_rows[2]; /* of two sequences, in slots 2 and 1 */
} Space;

static int64_t
count_columns(const Space *space)
{
    return space->n_heads * space->n_values + 2 * space->n_groups * space->n_keys;
}

static void
make_call(TestCall *call, const Space *space, TestRandom *random)
{
    int64_t n_rows = space->n_rows[0] + space->n_rows[1];
    test_call_init(call, SUNDOG_OP_STATE_SPACE);
    test_call_add_floats(call, n_rows, count_columns(space), random);
    test_call_add_floats(call, n_rows, space->n_heads, random);
    for (int i = 0; i < 3; i++)
        test_call_add_floats(call, 1, space->n_heads, random);
    float *decay = call->arguments[DECAY].data;
    for (int64_t h = 0; h < space->n_heads; h++)
        decay[h] = -fabsf(decay[h]);
    int32_t *first_row = test_call_add(call, SUNDOG_DTYPE_I32, 3, 1);
    first_row[1] = (int32_t)space->n_rows[0];
    first_row[2] = (int32_t)n_rows;
    test_call_add(call, SUNDOG_DTYPE_I32, 2, 1);
    memcpy(test_call_add(call, SUNDOG_DTYPE_I32, 2, 1), (int32_t[]){2, 1}, 8);
    float *state =
        test_call_add_4d(call, SUNDOG_DTYPE_F32,
                         (int64_t[4]){N_SLOTS, space->n_heads, space->n_keys, space->n_values});
    test_random_floats(random, state, N_SLOTS * space->n_heads * space->n_keys * space->n_values);
    test_call_add(call, SUNDOG_DTYPE_F32, n_rows, space->n_heads * space->n_values);
    call->parameters[0].i = space->n_groups;
    call->parameters[1].i = space->n_keys;
    call->parameters[2].i = space->n_values;
}

static float
get(const TestCall *call, int argument, int64_t index)
{
    return ((const float *)call->arguments[argument].data)[index];
}

/* One head's rows of a sequence in double, from an empty state. */
static void
follow(const TestCall *call, const Space *space, int64_t head, int64_t first, int64_t n_rows,
       double *results)
{
    int64_t n = space->n_keys, m = space->n_values;
    int64_t group = head / (space->n_heads / space->n_groups);
    g_autofree double *state = g_new0(double, n *m);
    for (int64_t row = first; row < first + n_rows; row++) {
        int64_t at = row * count_columns(space);
        int64_t b = at + space->n_heads * m + group * n, c = b + space->n_groups * n;
        double step =
            log1p(exp((double)get(call, DT, row * space->n_heads + head) + get(call, STEP, head)));
        double decay = exp(get(call, DECAY, head) * step);
        for (int64_t j = 0; j < m; j++) {
            double x = get(call, XBC, at + head * m + j), sum = get(call, SKIP, head) * x;
            for (int64_t i = 0; i < n; i++) {
                state[i * m + j] = state[i * m + j] * decay + get(call, XBC, b + i) * step * x;
                sum += state[i * m + j] * get(call, XBC, c + i);
            }
            results[(row * space->n_heads + head) * m + j] = sum;
        }
    }
}

static void
test_is_right(void)
{
    TestRandom random = {51};
    for (int i = 0; i < 30; i++) {
        Space space = {.n_groups = test_random_int(&random, 1, 3),
                       .n_keys = test_random_int(&random, 1, 40),
                       .n_values = test_random_int(&random, 1, 150),
                       .n_rows = {test_random_int(&random, 1, 6), test_random_int(&random, 1, 6)}};
        space.n_heads = space.n_groups * test_random_int(&random, 1, 3);
        int64_t n = (space.n_rows[0] + space.n_rows[1]) * space.n_heads * space.n_values;
        TestCall call;
        make_call(&call, &space, &random);
        test_call_check_all_sets(&call);
        g_autofree double *truth = g_new0(double, n);
        for (int64_t head = 0; head < space.n_heads; head++) {
            follow(&call, &space, head, 0, space.n_rows[0], truth);
            follow(&call, &space, head, space.n_rows[0], space.n_rows[1], truth);
        }
        g_assert_cmpfloat(test_relative_error(call.arguments[Y].data, truth, n), <, 1e-5);
        test_call_clear(&call);
    }
}

/* The second of two halves of a sequence, going on from the state that the first has left. */
static void
run_rows(const TestCall *call, int64_t first, int64_t n_rows)
{
    SundogArgument arguments[10];
    int32_t first_row[] = {0, (int32_t)n_rows}, start = (int32_t)first, slot = 2;
    memcpy(arguments, call->arguments, sizeof arguments);
    static const int by_row[] = {XBC, DT, Y};
    for (size_t i = 0; i < G_N_ELEMENTS(by_row); i++) {
        SundogArgument *argument = &arguments[by_row[i]];
        argument->data = (float *)argument->data + first * argument->shape[1];
        argument->shape[0] = n_rows;
    }
    arguments[FIRST_ROW].data = first_row;
    arguments[FIRST_ROW].shape[0] = 2;
    arguments[START].data = &start;
    arguments[SLOT].data = &slot;
    arguments[START].shape[0] = arguments[SLOT].shape[0] = 1;
    const SundogCall cut = {.arguments = arguments, .parameters = call->parameters, .n_threads = 1};
    sundog_host_kernel(call->kind, sundog_host_detect())(&cut);
}

static void
test_cuts(void)
{
    TestRandom random = {52};
    const Space space = {
        .n_groups = 2, .n_heads = 4, .n_keys = 16, .n_values = 72, .n_rows = {9, 1}};
    TestCall call;
    make_call(&call, &space, &random);
    test_call_run(&call, SUNDOG_HOST_PLAIN, 1, false);
    g_autofree uint8_t *y = g_memdup2(call.arguments[Y].data, call.n_bytes[Y]);
    g_autofree uint8_t *state = g_memdup2(call.arguments[STATE].data, call.n_bytes[STATE]);
    for (int64_t cut = 1; cut < 9; cut++) {
        run_rows(&call, 0, cut);
        run_rows(&call, cut, 9 - cut);
        g_assert_cmpmem(call.arguments[Y].data, call.n_bytes[Y], y, call.n_bytes[Y]);
        g_assert_cmpmem(call.arguments[STATE].data, call.n_bytes[STATE], state,
                        call.n_bytes[STATE]);
    }
    test_call_clear(&call);
}

/* Rows of the null slot come to zero, and what lies there is kept. */
static void
test_null_slot(void)
{
    TestRandom random = {53};
    const Space space = {.n_groups = 1, .n_heads = 2, .n_keys = 4, .n_values = 6, .n_rows = {3, 1}};
    TestCall call;
    make_call(&call, &space, &random);
    ((int32_t *)call.arguments[SLOT].data)[0] = 0;
    g_autofree uint8_t *before = g_memdup2(call.arguments[STATE].data, 2 * 4 * 6 * sizeof(float));
    test_call_check_all_sets(&call);
    for (int64_t k = 0; k < 3 * 2 * 6; k++)
        g_assert_cmpfloat(get(&call, Y, k), ==, 0);
    g_assert_cmpmem(call.arguments[STATE].data, 2 * 4 * 6 * sizeof(float), before,
                    2 * 4 * 6 * sizeof(float));
    test_call_clear(&call);
}

int
main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/kernels/state-space/is-right", test_is_right);
    g_test_add_func("/kernels/state-space/cuts", test_cuts);
    g_test_add_func("/kernels/state-space/null-slot", test_null_slot);
    return g_test_run();
}
