/* Operations with recurrent state on a GPU and by the host's plain kernels: a convolution has the same bits. Sums
 * over keys are added up in another order, so results of the others are near; and there, as everywhere, no bit
 * of a row depends on how the rows of its sequence were cut into steps, or on who else is in them. */

#include "kernels/contract/math.h"
#include "kernels/contract/recurrent.h"
#include "kernels/host/kernels.h"
#include "tests/gpu/product-runner.h"
#include <math.h>
#include <string.h>

#define N_SEQUENCES 7
#define N_SLOTS 9
#define MAX_ARGUMENTS 10
/* Another order moves a sum of 256 terms by a few units of the last place of the largest, and what a state
 * has forgotten carries no difference on. */
#define BOUND 2e-5

static ProductRunner runner;
static GRand *random_numbers;

/* Of short_conv: channels in `heads`, its width, silu, and whether it has a bias. */
typedef struct {
    SundogOperationKind kind;
    int heads, groups, keys, values;
    int width;
    bool is_tiled, has_silu, has_bias;
} Case;

static const Case cases[] = {
    {SUNDOG_OP_SHORT_CONV, .heads = 1000, .width = 3},
    {SUNDOG_OP_SHORT_CONV, .heads = 256, .width = 4, .has_silu = true, .has_bias = true},
    {SUNDOG_OP_SHORT_CONV, .heads = 33, .width = 9, .has_bias = true},
    {SUNDOG_OP_GATED_DELTA, .heads = 8, .groups = 4, .keys = 128, .values = 128},
    {SUNDOG_OP_GATED_DELTA, .heads = 6, .groups = 2, .keys = 20, .values = 36, .is_tiled = true},
    {SUNDOG_OP_GATED_DELTA, .heads = 2, .groups = 1, .keys = 256, .values = 64},
    {SUNDOG_OP_GATED_DELTA, .heads = 3, .groups = 3, .keys = 8, .values = 8},
    {SUNDOG_OP_GATED_DELTA, .heads = 2, .groups = 2, .keys = 64, .values = 256},
    {SUNDOG_OP_STATE_SPACE, .heads = 8, .groups = 1, .keys = 128, .values = 64},
    {SUNDOG_OP_STATE_SPACE, .heads = 6, .groups = 3, .keys = 16, .values = 33},
    {SUNDOG_OP_STATE_SPACE, .heads = 4, .groups = 2, .keys = 256, .values = 128},
    {SUNDOG_OP_STATE_SPACE, .heads = 4, .groups = 4, .keys = 31, .values = 8},
};

/* Sequences of a step: one without rows, one in the null slot, most in the midst of their text. */
static const int32_t lengths[N_SEQUENCES] = {1, 17, 0, 70, 2, 16, 33};
static const int32_t starts[N_SEQUENCES] = {5, 0, 9, 64, 0, 7, 300};
static const int32_t slots[N_SEQUENCES] = {3, 8, 4, 1, 2, SUNDOG_NULL_STATE_SLOT, 6};

typedef struct {
    int32_t first_row[N_SEQUENCES + 1];
    int32_t start_position[N_SEQUENCES];
    int32_t slot[N_SEQUENCES];
} Step;

/* Values of one argument; those in `columns` have rows. */
typedef struct {
    float *data;
    int n_columns;
    bool has_rows;
} Values;

typedef struct {
    const Case *test;
    int n_rows;
    int n_inputs;
    Values inputs[5];
    float *state;
    size_t state_size; /* of all slots */
    int y_columns;
} World;

static bool
is_conv(const Case *test)
{
    return test->kind == SUNDOG_OP_SHORT_CONV;
}

static float *
make_floats(size_t n, double low, double high)
{
    float *values = g_new(float, n);
    for (size_t i = 0; i < n; i++)
        values[i] = (float)g_rand_double_range(random_numbers, low, high);
    return values;
}

static void
add_rows(World *world, int n_columns)
{
    world->inputs[world->n_inputs++] =
        (Values){make_floats((size_t)world->n_rows * n_columns, -2, 2), n_columns, true};
}

/* Decays are below zero, as models have them. */
static void
add_weight(World *world, int n, double low, double high)
{
    world->inputs[world->n_inputs++] =
        (Values){n > 0 ? make_floats((size_t)n, low, high) : NULL, n, false};
}

static void
world_init(World *world, const Case *test)
{
    int keys = test->groups * test->keys, values = test->heads * test->values;
    *world = (World){.test = test, .y_columns = is_conv(test) ? test->heads : values};
    for (int s = 0; s < N_SEQUENCES; s++)
        world->n_rows += lengths[s];
    if (is_conv(test)) {
        add_rows(world, test->heads);
        add_weight(world, test->heads * test->width, -1, 1);
        add_weight(world, test->has_bias ? test->heads : 0, -1, 1);
    } else {
        add_rows(world, 2 * keys + values);
        if (test->kind == SUNDOG_OP_GATED_DELTA)
            add_rows(world, test->heads);
        add_rows(world, test->heads);
        add_weight(world, test->heads, -1, -0.01);
        add_weight(world, test->heads, -1, 1);
        if (test->kind == SUNDOG_OP_STATE_SPACE)
            add_weight(world, test->heads, -1, 1);
    }
    world->state_size = (size_t)N_SLOTS * (size_t)test->heads *
                        (size_t)(is_conv(test) ? test->width - 1 : test->keys * test->values);
    world->state = make_floats(world->state_size, -1, 1);
}

static void
world_clear(World *world)
{
    for (int i = 0; i < world->n_inputs; i++)
        g_free(world->inputs[i].data);
    g_free(world->state);
}

static void
run_host(const World *world, Step *step, float *state, float *y)
{
    const Case *test = world->test;
    SundogArgument arguments[MAX_ARGUMENTS] = {0};
    int n = 0;
    for (; n < world->n_inputs; n++)
        arguments[n] = (SundogArgument){.data = world->inputs[n].data,
                                        .shape = {world->inputs[n].has_rows ? world->n_rows : 1,
                                                  world->inputs[n].n_columns, 1, 1}};
    arguments[n++] = (SundogArgument){.data = step->first_row, .shape = {N_SEQUENCES + 1, 1, 1, 1}};
    arguments[n++] =
        (SundogArgument){.data = step->start_position, .shape = {N_SEQUENCES, 1, 1, 1}};
    arguments[n++] = (SundogArgument){.data = step->slot, .shape = {N_SEQUENCES, 1, 1, 1}};
    SundogArgument slots_argument = {.data = state,
                                     .shape = {N_SLOTS, test->heads, test->keys, test->values}};
    if (is_conv(test))
        slots_argument =
            (SundogArgument){.data = state, .shape = {N_SLOTS, test->width - 1, test->heads, 1}};
    arguments[n++] = slots_argument;
    arguments[n++] = (SundogArgument){.data = y, .shape = {world->n_rows, world->y_columns, 1, 1}};
    const SundogParameter of_conv[] = {{.i = test->width}, {.i = test->has_silu}};
    const SundogParameter of_heads[] = {
        {.i = test->groups}, {.i = test->keys}, {.i = test->values}, {.i = test->is_tiled}};
    SundogCall call = {arguments, is_conv(test) ? of_conv : of_heads, 0, 1};
    sundog_host_kernel(test->kind, SUNDOG_HOST_PLAIN)(&call);
}

static void *
pointer(CUdeviceptr data)
{
    return (void *)(uintptr_t)data;
}

static void *
upload(const void *bytes, size_t n_bytes)
{
    if (bytes == NULL)
        return NULL;
    CUdeviceptr data = product_runner_allocate(&runner, n_bytes);
    product_runner_write(&runner, data, bytes, n_bytes);
    return pointer(data);
}

static unsigned
count_blocks(int n, int per_block)
{
    return (unsigned)((n + per_block - 1) / per_block);
}

static void
launch_conv(const World *world, const SundogCudaSlots *slots_of, void *const *inputs, void *y)
{
    const Case *test = world->test;
    SundogCudaShortConv conv = {.slots = *slots_of,
                                .x = inputs[0],
                                .weight = inputs[1],
                                .bias = inputs[2],
                                .y = y,
                                .n_channels = test->heads,
                                .width = test->width,
                                .silu = test->has_silu};
    const unsigned grid[] = {count_blocks(test->heads, SUNDOG_CUDA_ROW_THREADS),
                             count_blocks(world->n_rows, SUNDOG_CUDA_CONV_ROWS), 1};
    product_runner_call_grid(&runner, "recurrent", "sundog_short_conv", grid,
                             SUNDOG_CUDA_ROW_THREADS, 0, &conv);
}

static void
launch_heads(const World *world, const SundogCudaSlots *slots_of, void *const *inputs, void *y)
{
    const Case *test = world->test;
    bool is_delta = test->kind == SUNDOG_OP_GATED_DELTA;
    SundogCudaHeadState heads = {.slots = *slots_of,
                                 .rows = inputs[0],
                                 .beta = is_delta ? inputs[1] : NULL,
                                 .gate = inputs[1 + is_delta],
                                 .decay = inputs[2 + is_delta],
                                 .step = inputs[3 + is_delta],
                                 .skip = is_delta ? NULL : inputs[4],
                                 .y = y,
                                 .n_columns = world->inputs[0].n_columns,
                                 .n_heads = test->heads,
                                 .n_groups = test->groups,
                                 .n_keys = test->keys,
                                 .n_values = test->values,
                                 .is_tiled = test->is_tiled};
    int n_keys = 16;
    while (n_keys < test->keys)
        n_keys *= 2;
    g_autofree char *entry =
        g_strdup_printf("sundog_%s_%d", sundog_operations[test->kind].name, n_keys);
    const unsigned grid[] = {(unsigned)test->heads,
                             count_blocks(test->values, SUNDOG_CUDA_STATE_COLUMNS), N_SEQUENCES};
    product_runner_call_grid(&runner, "recurrent", entry, grid, SUNDOG_CUDA_STATE_THREADS, 0,
                             &heads);
}

/* Rows that are in no sequence of the step stay as they are in y. */
static void
run_gpu(const World *world, const Step *step, float *state, float *y)
{
    void *inputs[5] = {0};
    size_t state_bytes = world->state_size * sizeof(float);
    size_t y_bytes = (size_t)world->n_rows * (size_t)world->y_columns * sizeof(float);
    for (int i = 0; i < world->n_inputs; i++)
        inputs[i] =
            upload(world->inputs[i].data, (size_t)(world->inputs[i].has_rows ? world->n_rows : 1) *
                                              (size_t)world->inputs[i].n_columns * sizeof(float));
    void *to = upload(y, y_bytes);
    const SundogCudaSlots slots_of = {.first_row = upload(step->first_row, sizeof step->first_row),
                                      .start_position =
                                          upload(step->start_position, sizeof step->start_position),
                                      .state_slot = upload(step->slot, sizeof step->slot),
                                      .state = upload(state, state_bytes),
                                      .n_sequences = N_SEQUENCES,
                                      .n_slots = N_SLOTS};
    if (is_conv(world->test))
        launch_conv(world, &slots_of, inputs, to);
    else
        launch_heads(world, &slots_of, inputs, to);
    product_runner_read(&runner, state, (CUdeviceptr)(uintptr_t)slots_of.state, state_bytes);
    product_runner_read(&runner, y, (CUdeviceptr)(uintptr_t)to, y_bytes);
}

static void
step_init(Step *step)
{
    memset(step, 0, sizeof *step);
    for (int s = 0; s < N_SEQUENCES; s++) {
        step->first_row[s + 1] = step->first_row[s] + lengths[s];
        step->start_position[s] = starts[s];
        step->slot[s] = slots[s];
    }
}

static double
row_error(const float *found, const float *expected, size_t n)
{
    double difference = 0, length = 0;
    for (size_t i = 0; i < n; i++) {
        double d = (double)found[i] - expected[i];
        difference += d * d;
        length += (double)expected[i] * expected[i];
    }
    return difference == 0 ? 0 : sqrt(difference / length);
}

static void
compare(const Case *test, const char *what, const float *found, const float *expected,
        size_t n_rows, size_t n_columns)
{
    double worst = 0;
    if (is_conv(test)) {
        g_assert_cmpmem(found, n_rows * n_columns * sizeof(float), expected,
                        n_rows * n_columns * sizeof(float));
        return;
    }
    for (size_t row = 0; row < n_rows; row++) {
        double error = row_error(found + row * n_columns, expected + row * n_columns, n_columns);
        if (!(error <= worst)) /* so that NaN is kept */
            worst = error;
    }
    g_test_message("%s: largest relative error %.2g of %s", sundog_operations[test->kind].name,
                   worst, what);
    g_assert_true(worst <= BOUND);
}

/* The same rows, each sequence's in two steps: as if the second began behind what the first took in. */
static void
check_cut(const World *world, const Step *whole, const float *state, const float *y)
{
    size_t n_y = (size_t)world->n_rows * (size_t)world->y_columns;
    g_autofree float *cut_state = g_memdup2(world->state, world->state_size * sizeof(float));
    g_autofree float *cut_y = g_new0(float, n_y);
    for (int s = 0; s < N_SEQUENCES; s++) {
        /* The null slot keeps nothing from one step to the next. */
        int32_t half = slots[s] != SUNDOG_NULL_STATE_SLOT ? lengths[s] / 3 : 0;
        for (int part = 0; part < 2; part++) {
            Step step = *whole;
            /* The others have no rows, and neither state nor y of theirs changes. */
            for (int i = 0; i <= N_SEQUENCES; i++)
                step.first_row[i] = i <= s ? whole->first_row[s] + part * half
                                           : whole->first_row[s] + (part ? lengths[s] : half);
            step.start_position[s] += part * half;
            run_gpu(world, &step, cut_state, cut_y);
        }
    }
    g_assert_cmpmem(cut_state, world->state_size * sizeof(float), state,
                    world->state_size * sizeof(float));
    g_assert_cmpmem(cut_y, n_y * sizeof(float), y, n_y * sizeof(float));
}

static void
test_case(gconstpointer data)
{
    World world;
    Step step;
    world_init(&world, data);
    step_init(&step);
    size_t n_y = (size_t)world.n_rows * (size_t)world.y_columns;
    g_autofree float *expected_state = g_memdup2(world.state, world.state_size * sizeof(float));
    g_autofree float *state = g_memdup2(world.state, world.state_size * sizeof(float));
    g_autofree float *expected = g_new(float, n_y), *y = g_new(float, n_y);
    memset(y, 0xff, n_y * sizeof(float));
    run_host(&world, &step, expected_state, expected);
    run_gpu(&world, &step, state, y);
    compare(world.test, "rows", y, expected, (size_t)world.n_rows, (size_t)world.y_columns);
    compare(world.test, "states", state, expected_state, N_SLOTS, world.state_size / N_SLOTS);
    check_cut(&world, &step, state, y);
    world_clear(&world);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    if (!product_runner_init(&runner))
        return 0;
    random_numbers = g_rand_new();
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *path =
            g_strdup_printf("/recurrent/%s/%zu", sundog_operations[cases[i].kind].name, i);
        g_test_add_data_func(path, &cases[i], test_case);
    }
    int status = g_test_run();
    g_rand_free(random_numbers);
    product_runner_clear(&runner);
    return status;
}
