/* rope_cache, plan_attention and attention over pages: against double, and all sets bit for bit. */

#include "kernels/contract/attention.h"
#include "kernels/contract/math.h"
#include "tests/kernels/call.h"
#include <glib.h>

#define MAX_THREADS 7
#define MAX_SEQUENCES 5

/* A step of several sequences over a pool of pages. */
typedef struct {
    int64_t n_heads, n_kv_heads, head_dim;
    SundogDtype dtype;
    int64_t window; /* 0 where there is none */
    int64_t chunk;
    double softcap; /* 0 where there is none */
    bool has_sinks;
    bool both_ways;
    int64_t n_sequences, n_rows, n_pages, sequence_pages;
    int32_t first_row[MAX_SEQUENCES + 1];
    int32_t start[MAX_SEQUENCES];
    int32_t *page_table; /* [n_sequences, sequence_pages] */
    int32_t *positions;
    int32_t *token_sequence;
} Step;

static void
step_clear(Step *step)
{
    g_free(step->page_table);
    g_free(step->positions);
    g_free(step->token_sequence);
}

/* Pages are handed out in a scattered order, as a pool does; the null page never. */
static Step
random_step(TestRandom *random, int64_t max_start, int64_t max_rows)
{
    static const int64_t dims[] = {16, 32, 64, 80, 96, 128, 256};
    Step step = {.head_dim = dims[test_random_int(random, 0, G_N_ELEMENTS(dims) - 1)],
                 .n_kv_heads = test_random_int(random, 1, 3),
                 .n_sequences = test_random_int(random, 1, MAX_SEQUENCES)};
    step.n_heads = step.n_kv_heads * test_random_int(random, 1, 5);
    static const SundogDtype dtypes[] = {SUNDOG_DTYPE_BF16, SUNDOG_DTYPE_BF16, SUNDOG_DTYPE_F16,
                                         SUNDOG_DTYPE_F32,  SUNDOG_DTYPE_Q8,   SUNDOG_DTYPE_Q8};
    step.dtype = dtypes[test_random_int(random, 0, G_N_ELEMENTS(dtypes) - 1)];
    static const int64_t windows[] = {0, 0, 1, 5, 63, 64, 65, 130, 1000};
    step.window = windows[test_random_int(random, 0, G_N_ELEMENTS(windows) - 1)];
    if (step.window > 1 && test_random_int(random, 0, 2) == 0)
        step.chunk = step.window;
    step.softcap = test_random_int(random, 0, 2) == 0 ? 7.5 : 0;
    step.has_sinks = test_random_int(random, 0, 2) == 0;
    step.both_ways = step.chunk == 0 && test_random_int(random, 0, 2) == 0;
    for (int64_t s = 0; s < step.n_sequences; s++) {
        step.start[s] = (int32_t)test_random_int(random, 0, max_start);
        step.first_row[s + 1] = step.first_row[s] + (int32_t)test_random_int(random, 1, max_rows);
    }
    step.n_rows = step.first_row[step.n_sequences];
    step.sequence_pages = (max_start + max_rows) / 64 + 1;
    step.n_pages = 1 + step.n_sequences * step.sequence_pages;
    step.page_table = g_new0(int32_t, step.n_sequences * step.sequence_pages);
    step.positions = g_new(int32_t, step.n_rows);
    step.token_sequence = g_new(int32_t, step.n_rows);
    for (int64_t i = 0; i < step.n_sequences * step.sequence_pages; i++)
        step.page_table[i] = (int32_t)(1 + i * 7919 % (step.n_pages - 1));
    if ((step.n_pages - 1) % 7919 == 0)
        g_assert_not_reached();
    for (int64_t s = 0; s < step.n_sequences; s++)
        for (int32_t row = step.first_row[s]; row < step.first_row[s + 1]; row++) {
            step.positions[row] = step.start[s] + row - step.first_row[s];
            step.token_sequence[row] = (int32_t)s;
        }
    return step;
}

/* The first position that a row at `position` may see. */
static int64_t
window_begin(const Step *step, int64_t position)
{
    if (step->chunk > 0)
        return position / step->chunk * step->chunk;
    return step->window == 0 ? 0 : MAX(position + 1 - step->window, 0);
}

/* The position past the last that a row may see. */
static int64_t
window_end(const Step *step, int64_t row)
{
    int64_t position = step->positions[row], s = step->token_sequence[row];
    int64_t length = step->start[s] + step->first_row[s + 1] - step->first_row[s];
    if (!step->both_ways)
        return position + 1;
    return step->window == 0 ? length : MIN(length, position + step->window);
}

static int64_t
row_floats(const Step *step)
{
    return (step->n_heads + 2 * step->n_kv_heads) * step->head_dim;
}

static void
add_copy(TestCall *call, SundogDtype dtype, int64_t rows, int64_t columns, const void *from)
{
    void *to = test_call_add(call, dtype, rows, columns);
    memcpy(to, from, call->n_bytes[call->n_arguments - 1]);
}

static uint8_t *
find_part(const SundogArgument *pages, int64_t part)
{
    uint64_t c = (uint64_t)(pages->shape[2] * pages->shape[3] / 64);
    return (uint8_t *)pages->data + (uint64_t)part * sundog_page_part_bytes(SUNDOG_DTYPE_Q8, 1, c);
}

/* A random byte of q8, and the scale of its position, which the last to be written decides. */
static void
fill_byte(const SundogArgument *pages, int64_t at, int64_t slot, int64_t d, TestRandom *random)
{
    int64_t size = pages->shape[2] * pages->shape[3];
    uint8_t *part = find_part(pages, at / size);
    float scale = (2 + test_random_float(random)) / 127;
    part[at % size] = (uint8_t)test_random_int(random, -127, 127);
    memcpy(part + size + (d / 32 * 64 + slot) * (int64_t)sizeof scale, &scale, sizeof scale);
}

/* Random elements; slots that no row of the step may read are NaN, and so are pages before the window. */
static void
add_pages(TestCall *call, const Step *step, bool keys, TestRandom *random)
{
    int64_t g = step->n_kv_heads, c = step->head_dim;
    int64_t shape[4] = {step->n_pages, g, keys ? c : 64, keys ? 64 : c};
    uint8_t *pages = test_call_add_4d(call, step->dtype, shape);
    size_t bytes = sundog_dtype_bytes(step->dtype);
    memset(pages, 0xff, call->n_bytes[call->n_arguments - 1]);
    for (int64_t s = 0; s < step->n_sequences; s++) {
        int32_t n = step->start[s] + step->first_row[s + 1] - step->first_row[s];
        for (int64_t p = window_begin(step, step->start[s]) / 64 * 64; p < n; p++)
            for (int64_t i = 0; i < g * c; i++) {
                int64_t page = step->page_table[s * step->sequence_pages + p / 64];
                int64_t group = page * g + i / c, d = i % c, slot = p % 64;
                int64_t at = keys ? (group * c + d) * 64 + slot : (group * 64 + slot) * c + d;
                if (step->dtype == SUNDOG_DTYPE_Q8) {
                    fill_byte(&call->arguments[call->n_arguments - 1], at, slot, d, random);
                    continue;
                }
                float value = 3 * test_random_float(random);
                uint16_t half = step->dtype == SUNDOG_DTYPE_F16 ? sundog_f32_to_f16(value)
                                                                : sundog_f32_to_bf16_factor(value);
                memcpy(pages + (size_t)at * bytes,
                       step->dtype == SUNDOG_DTYPE_F32 ? (void *)&value : (void *)&half, bytes);
            }
    }
}

static void
init_attention(TestCall *call, const Step *step, bool a8, TestRandom *random)
{
    TestCall plan;
    int64_t max_tiles = sundog_attention_max_tiles(step->n_rows, step->n_sequences);
    test_call_init(&plan, SUNDOG_OP_PLAN_ATTENTION);
    add_copy(&plan, SUNDOG_DTYPE_I32, step->n_sequences + 1, 1, step->first_row);
    add_copy(&plan, SUNDOG_DTYPE_I32, step->n_sequences, 1, step->start);
    test_call_add(&plan, SUNDOG_DTYPE_I32, max_tiles, 4);
    test_call_check_all_sets(&plan);

    int64_t n = step->n_heads * step->head_dim;
    test_call_init(call, SUNDOG_OP_ATTENTION);
    test_call_add_floats(call, step->n_rows, row_floats(step), random);
    add_copy(call, SUNDOG_DTYPE_I32, step->n_rows, 1, step->positions);
    add_copy(call, SUNDOG_DTYPE_I32, step->n_sequences, step->sequence_pages, step->page_table);
    add_copy(call, SUNDOG_DTYPE_I32, max_tiles, 4, plan.arguments[2].data);
    add_pages(call, step, true, random);
    add_pages(call, step, false, random);
    if (a8)
        test_call_add(call, SUNDOG_DTYPE_A8, (step->n_rows + 5) / 6, n);
    else
        test_call_add(call, SUNDOG_DTYPE_F32, step->n_rows, n);
    test_call_add(call, SUNDOG_DTYPE_U8, MAX_THREADS,
                  (int64_t)sundog_attention_workspace_bytes(step->head_dim));
    call->parameters[0].i = step->n_heads;
    call->parameters[1].i = step->n_kv_heads;
    call->parameters[2].i = step->head_dim;
    if (step->has_sinks)
        test_call_add_floats(call, 1, step->n_heads, random);
    else
        test_call_add_absent(call);
    call->parameters[3].f = 1 / sqrt((double)step->head_dim);
    call->parameters[4].i = step->window;
    call->parameters[5].f = step->softcap;
    call->parameters[6].i = step->chunk;
    call->parameters[7].i = step->both_ways;
    test_call_clear(&plan);
}

static void
test_sets_agree(void)
{
    TestRandom random = {6};
    for (int i = 0; i < 60; i++) {
        int64_t max_start = i % 3 == 0 ? 0 : 150, max_rows = i % 4 == 0 ? 1 : 40;
        Step step = random_step(&random, max_start, max_rows);
        TestCall call;
        bool a8 = step.head_dim % 32 == 0 && test_random_int(&random, 0, 1) == 1;
        init_attention(&call, &step, a8, &random);
        test_call_check_all_sets(&call);
        test_call_clear(&call);
        step_clear(&step);
    }
}

/* Keys where a position's numbers lie apart. */
static double
page_element(const SundogArgument *pages, int64_t at, bool keys)
{
    int64_t size = pages->shape[2] * pages->shape[3];
    if (pages->dtype == SUNDOG_DTYPE_Q8) {
        const uint8_t *part = find_part(pages, at / size);
        int64_t slot = keys ? at % 64 : at % size / pages->shape[3];
        int64_t d = keys ? at % size / 64 : at % pages->shape[3];
        return ((const float *)(part + size))[d / 32 * 64 + slot] *
               ((const int8_t *)part)[at % size];
    }
    if (pages->dtype == SUNDOG_DTYPE_F32)
        return ((float *)pages->data)[at];
    uint16_t half = ((uint16_t *)pages->data)[at];
    return pages->dtype == SUNDOG_DTYPE_F16 ? sundog_f16_to_f32(half) : sundog_bf16_to_f32(half);
}

/* Softmax over all positions at once, in double. */
static void
attend_in_double(const TestCall *call, const Step *step, int64_t row, int64_t head, double *result)
{
    int64_t c = step->head_dim, g = step->n_kv_heads, group = head / (step->n_heads / g);
    int32_t position = step->positions[row];
    const float *q = (float *)call->arguments[0].data + row * row_floats(step) + head * c;
    int32_t end = (int32_t)window_end(step, row);
    g_autofree double *weights = g_new0(double, end);
    double greatest = -INFINITY, sum = 0;
    const int32_t *table = step->page_table + step->token_sequence[row] * step->sequence_pages;
    int32_t begin = (int32_t)window_begin(step, position);
    for (int32_t p = begin; p < end; p++) {
        for (int64_t d = 0; d < c; d++)
            weights[p] += q[d] * call->parameters[3].f *
                          page_element(&call->arguments[4],
                                       ((table[p / 64] * g + group) * c + d) * 64 + p % 64, true);
        if (step->softcap > 0)
            weights[p] = step->softcap * tanh(weights[p] / step->softcap);
        greatest = MAX(greatest, weights[p]);
    }
    if (step->has_sinks)
        sum = exp(((float *)call->arguments[8].data)[head] - greatest);
    for (int32_t p = begin; p < end; p++)
        sum += weights[p] = exp(weights[p] - greatest);
    for (int64_t d = 0; d < c; d++) {
        result[d] = 0;
        for (int32_t p = begin; p < end; p++)
            result[d] += weights[p] / sum *
                         page_element(&call->arguments[5],
                                      ((table[p / 64] * g + group) * 64 + p % 64) * c + d, false);
    }
}

static void
test_plain_is_right(void)
{
    TestRandom random = {7};
    for (int i = 0; i < 15; i++) {
        Step step = random_step(&random, 200, 20);
        TestCall call;
        init_attention(&call, &step, false, &random);
        test_call_run(&call, SUNDOG_HOST_PLAIN, 2, false);
        double truth[256];
        for (int64_t row = 0; row < step.n_rows; row++)
            for (int64_t head = 0; head < step.n_heads; head++) {
                attend_in_double(&call, &step, row, head, truth);
                const float *o =
                    (float *)call.arguments[6].data + (row * step.n_heads + head) * step.head_dim;
                /* Up to 220 weights of float32, or of 8 bits and met by queries of 8 bits. */
                g_assert_cmpfloat(
                    test_relative_error(o, truth, step.head_dim), <,
                    step.dtype == SUNDOG_DTYPE_BF16 || step.dtype == SUNDOG_DTYPE_Q8 ? 5e-3 : 5e-6);
            }
        test_call_clear(&call);
        step_clear(&step);
    }
}

/* A key that is not a number spoils the rows that see it, in every set, and no others. */
static void
test_not_finite_spreads(void)
{
    TestRandom random = {25};
    for (int i = 0; i < 30; i++) {
        Step step = random_step(&random, 0, 30);
        TestCall call;
        init_attention(&call, &step, false, &random);
        int32_t spoilt = MIN(7, step.first_row[1] - 1);
        int64_t at = (step.page_table[0] * step.n_kv_heads * step.head_dim + 3) * 64 + spoilt;
        size_t bytes = sundog_dtype_bytes(step.dtype);
        uint8_t *to = (uint8_t *)call.arguments[4].data + (size_t)at * bytes;
        if (step.dtype == SUNDOG_DTYPE_Q8) {
            bytes = sizeof(float);
            to = find_part(&call.arguments[4], step.page_table[0] * step.n_kv_heads) +
                 step.head_dim * 64 + spoilt * (int64_t)bytes;
        }
        memset(to, 0xff, bytes);
        for (int set = 0; set < SUNDOG_N_HOST_SETS; set++) {
            if (!sundog_host_supports(set))
                continue;
            test_call_run(&call, (SundogHostSet)set, 2, false);
            for (int64_t row = 0; row < step.n_rows; row++) {
                float *o = (float *)call.arguments[6].data + row * step.n_heads * step.head_dim;
                int32_t position = step.positions[row];
                bool sees = row < step.first_row[1] && window_end(&step, row) > spoilt &&
                            window_begin(&step, position) <= spoilt;
                for (int64_t d = 0; d < step.head_dim; d++)
                    g_assert_true(isnan(o[d]) == sees);
            }
        }
        test_call_clear(&call);
        step_clear(&step);
    }
}

static void
init_rope_cache(TestCall *call, const Step *step, int64_t rope_dims, TestRandom *random)
{
    test_call_init(call, SUNDOG_OP_ROPE_CACHE);
    test_call_add_floats(call, step->n_rows, row_floats(step), random);
    add_copy(call, SUNDOG_DTYPE_I32, step->n_rows, 1, step->positions);
    add_copy(call, SUNDOG_DTYPE_I32, step->n_rows, 1, step->token_sequence);
    add_copy(call, SUNDOG_DTYPE_I32, step->n_sequences, step->sequence_pages, step->page_table);
    float *frequencies = NULL;
    if (rope_dims > 0)
        frequencies = test_call_add(call, SUNDOG_DTYPE_F32, 1, rope_dims / 2);
    else
        test_call_add_absent(call);
    for (int64_t i = 0; i < rope_dims / 2; i++)
        frequencies[i] = (float)pow(10000, -2.0 * (double)i / (double)rope_dims);
    add_pages(call, step, true, random);
    add_pages(call, step, false, random);
    call->parameters[0].i = step->n_heads;
    call->parameters[1].i = step->n_kv_heads;
    call->parameters[2].i = step->head_dim;
    call->parameters[3].i = rope_dims;
    call->parameters[4].i = test_random_int(random, 0, 1);
    call->parameters[5].f = test_random_int(random, 0, 1) ? 1.0 : 1.19;
}

/* Rows of the null page may not write it: several threads would. */
static void
test_rope_sets_agree(void)
{
    TestRandom random = {8};
    for (int i = 0; i < 60; i++) {
        Step step = random_step(&random, 200, i % 3 == 0 ? 1 : 90);
        if (i % 5 == 0)
            for (int64_t p = 0; p < step.sequence_pages; p++)
                step.page_table[p] = SUNDOG_NULL_PAGE;
        TestCall call;
        init_rope_cache(&call, &step, i % 7 == 0 ? 0 : step.head_dim / (i % 2 + 1), &random);
        test_call_check_all_sets(&call);
        test_call_clear(&call);
        step_clear(&step);
    }
}

static void
check_rotation(const TestCall *call, const float *before, const float *after, int32_t position)
{
    int64_t half = call->parameters[3].i / 2;
    bool interleaved = call->parameters[4].i != 0;
    for (int64_t i = 0; i < half; i++) {
        int64_t low = interleaved ? 2 * i : i, high = interleaved ? 2 * i + 1 : i + half;
        double angle = (float)position * ((float *)call->arguments[4].data)[i];
        double c = cos(angle) * call->parameters[5].f, s = sin(angle) * call->parameters[5].f;
        g_assert_cmpfloat(fabs(after[low] - (before[low] * c - before[high] * s)), <, 1e-6);
        g_assert_cmpfloat(fabs(after[high] - (before[high] * c + before[low] * s)), <, 1e-6);
    }
    for (int64_t d = 2 * half; d < call->parameters[2].i; d++)
        g_assert_cmpfloat(after[d], ==, before[d]);
}

static void
test_rope_is_right(void)
{
    TestRandom random = {9};
    for (int i = 0; i < 20; i++) {
        Step step = random_step(&random, 200, 30);
        TestCall call;
        init_rope_cache(&call, &step, step.head_dim, &random);
        test_call_run(&call, SUNDOG_HOST_PLAIN, 2, false);
        int64_t g = step.n_kv_heads, c = step.head_dim, h = step.n_heads;
        for (int64_t row = 0; row < step.n_rows; row++) {
            const float *before = (float *)call.initial[0] + row * row_floats(&step);
            const float *after = (float *)call.arguments[0].data + row * row_floats(&step);
            int32_t p = step.positions[row];
            int64_t page = step.page_table[step.token_sequence[row] * step.sequence_pages + p / 64];
            for (int64_t head = 0; head < h + g; head++)
                check_rotation(&call, before + head * c, after + head * c, p);
            for (int64_t j = 0; j < g * c; j++) {
                double key =
                    page_element(&call.arguments[5], (page * g * c + j) * 64 + p % 64, true);
                double value = page_element(&call.arguments[6],
                                            ((page * g + j / c) * 64 + p % 64) * c + j % c, false);
                double most = step.dtype == SUNDOG_DTYPE_BF16 ? 0x1p-8
                              : step.dtype == SUNDOG_DTYPE_Q8 ? 0.51 * 1.7 / 127
                                                              : 1e-3;
                g_assert_cmpfloat(fabs(key - after[h * c + j]), <=, most);
                g_assert_cmpfloat(fabs(value - after[(h + g) * c + j]), <=, most);
            }
        }
        test_call_clear(&call);
        step_clear(&step);
    }
}

/* Queries rotated alone are those that rope_cache rotates beside their keys. */
static void
test_rope_alone(void)
{
    TestRandom random = {21};
    for (int i = 0; i < 20; i++) {
        Step step = random_step(&random, 200, 30);
        int64_t n = step.n_heads * step.head_dim;
        TestCall both, alone;
        init_rope_cache(&both, &step, step.head_dim / (i % 2 + 1), &random);
        test_call_init(&alone, SUNDOG_OP_ROPE);
        float *x = test_call_add(&alone, SUNDOG_DTYPE_F32, step.n_rows, n);
        for (int64_t row = 0; row < step.n_rows; row++)
            memcpy(x + row * n, (float *)both.arguments[0].data + row * row_floats(&step),
                   (size_t)n * sizeof(float));
        add_copy(&alone, SUNDOG_DTYPE_I32, step.n_rows, 1, step.positions);
        add_copy(&alone, SUNDOG_DTYPE_F32, 1, both.arguments[4].shape[1], both.arguments[4].data);
        alone.parameters[0].i = step.n_heads;
        alone.parameters[1].i = step.head_dim;
        for (int p = 2; p < 5; p++)
            alone.parameters[p] = both.parameters[p + 1];
        test_call_check_all_sets(&alone);
        test_call_run(&both, SUNDOG_HOST_PLAIN, 1, false);
        for (int64_t row = 0; row < step.n_rows; row++)
            g_assert_cmpmem(x + row * n, n * sizeof(float),
                            (float *)both.arguments[0].data + row * row_floats(&step),
                            n * sizeof(float));
        test_call_clear(&alone);
        test_call_clear(&both);
        step_clear(&step);
    }
}

/* Pages of one step, in a scattered order: what rope_cache writes into pages of zeros. */
static void
test_rope_pages(void)
{
    TestRandom random = {22};
    for (int i = 0; i < 12; i++) {
        Step step = random_step(&random, 0, i % 3 == 0 ? 5 : 150);
        TestCall pages, cache;
        step.dtype = SUNDOG_DTYPE_F32;
        int32_t n_used = 0;
        for (int64_t s = 0; s < step.n_sequences; s++)
            for (int64_t p = 0; p < (step.first_row[s + 1] - step.first_row[s] + 63) / 64; p++)
                step.page_table[s * step.sequence_pages + p] = ++n_used;
        for (int64_t p = 0; p < step.n_sequences * step.sequence_pages && i % 2 == 0; p++)
            step.page_table[p] = n_used + 1 - MIN(step.page_table[p], n_used);
        step.n_pages = (step.n_rows + 63) / 64 + step.n_sequences + 1;
        init_rope_cache(&cache, &step, step.head_dim, &random);
        pages = cache;
        pages.kind = SUNDOG_OP_ROPE_PAGES;
        test_call_check_all_sets(&pages);
        cache = pages;
        cache.kind = SUNDOG_OP_ROPE_CACHE;
        for (int a = 5; a <= 6; a++)
            memset(cache.arguments[a].data, 0, cache.n_bytes[a]);
        g_autofree void *keys = g_memdup2(pages.expected[5], pages.n_bytes[5]);
        g_autofree void *values = g_memdup2(pages.expected[6], pages.n_bytes[6]);
        test_call_run(&cache, SUNDOG_HOST_PLAIN, 2, false);
        g_assert_cmpmem(keys, pages.n_bytes[5], cache.arguments[5].data, pages.n_bytes[5]);
        g_assert_cmpmem(values, pages.n_bytes[6], cache.arguments[6].data, pages.n_bytes[6]);
        test_call_clear(&cache);
        step_clear(&step);
    }
}

int
main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/kernels/rope-cache/is-right", test_rope_is_right);
    g_test_add_func("/kernels/rope-cache/sets-agree", test_rope_sets_agree);
    g_test_add_func("/kernels/rope/is-rope-cache-alone", test_rope_alone);
    g_test_add_func("/kernels/rope-pages/is-rope-cache-into-zeros", test_rope_pages);
    g_test_add_func("/kernels/attention/plain-is-right", test_plain_is_right);
    g_test_add_func("/kernels/attention/sets-agree", test_sets_agree);
    g_test_add_func("/kernels/attention/not-finite-spreads", test_not_finite_spreads);
    return g_test_run();
}
