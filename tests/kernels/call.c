/* Calls of single operations for tests. */

#include "tests/kernels/call.h"
#include "kernels/contract/activation.h"
#include "kernels/contract/math.h"
#include "kernels/contract/paged-cache.h"
#include <glib.h>
#include <stdlib.h>

#define POISON 0xff

void
test_call_init(TestCall *call, SundogOperationKind kind)
{
    memset(call, 0, sizeof *call);
    call->kind = kind;
}

void
test_call_clear(TestCall *call)
{
    for (uint32_t i = 0; i < call->n_arguments; i++) {
        bool shared = false;
        for (uint32_t j = 0; j < i; j++)
            shared |= call->arguments[j].data == call->arguments[i].data;
        if (!shared)
            free(call->arguments[i].data);
        free(call->initial[i]);
        free(call->expected[i]);
    }
}

static SundogAccess
access_of(const TestCall *call, uint32_t i)
{
    return sundog_operations[call->kind].arguments[i].access & ~(unsigned)SUNDOG_ACCESS_OPTIONAL;
}

static void *
append(TestCall *call, const SundogArgument *argument, size_t n_bytes)
{
    uint32_t i = call->n_arguments++;
    call->arguments[i] = *argument;
    call->n_bytes[i] = n_bytes;
    g_assert_true(posix_memalign(&call->arguments[i].data, 64, MAX(n_bytes, 1)) == 0);
    memset(call->arguments[i].data, 0, n_bytes);
    return call->arguments[i].data;
}

void *
test_call_add_4d(TestCall *call, SundogDtype dtype, const int64_t shape[4])
{
    SundogArgument argument = {.dtype = dtype};
    memcpy(argument.shape, shape, sizeof argument.shape);
    size_t n_bytes = sundog_dtype_bytes(dtype);
    for (int i = 0; i < 4; i++)
        n_bytes *= (size_t)shape[i];
    if (dtype == SUNDOG_DTYPE_A8)
        n_bytes = (size_t)shape[0] * sundog_activation_tile_bytes(shape[1]);
    if (dtype == SUNDOG_DTYPE_Q8)
        n_bytes = (size_t)(shape[0] * shape[1]) *
                  sundog_page_part_bytes(dtype, 1, (uint64_t)(shape[2] * shape[3] / 64));
    return append(call, &argument, n_bytes);
}

void *
test_call_add(TestCall *call, SundogDtype dtype, int64_t rows, int64_t columns)
{
    return test_call_add_4d(call, dtype, (int64_t[4]){rows, columns, 1, 1});
}

void
test_call_add_floats(TestCall *call, int64_t rows, int64_t columns, TestRandom *random)
{
    test_random_floats(random, test_call_add(call, SUNDOG_DTYPE_F32, rows, columns),
                       rows * columns);
}

void
test_call_add_absent(TestCall *call)
{
    call->n_arguments++;
}

/* GGUF's encodings: columns and bytes of a block, where its halves lie and what they are divided by so
 * that values are about 1 in magnitude. */
static const struct {
    int columns, bytes, d, m;
    float divisor;
} encodings[] = {
    [SUNDOG_LAYOUT_PANEL16_Q4_0] = {32, 18, 0, -1, 8},
    [SUNDOG_LAYOUT_PANEL16_Q4_1] = {32, 20, 0, 2, 8},
    [SUNDOG_LAYOUT_PANEL16_Q5_0] = {32, 22, 0, -1, 16},
    [SUNDOG_LAYOUT_PANEL16_Q5_1] = {32, 24, 0, 2, 16},
    [SUNDOG_LAYOUT_PANEL16_Q8_0] = {32, 34, 0, -1, 64},
    [SUNDOG_LAYOUT_PANEL16_Q2_K] = {256, 84, 80, 82, 20},
    [SUNDOG_LAYOUT_PANEL16_Q3_K] = {256, 110, 108, -1, 100},
    [SUNDOG_LAYOUT_PANEL16_Q4_K] = {256, 144, 0, 2, 400},
    [SUNDOG_LAYOUT_PANEL16_Q5_K] = {256, 176, 0, 2, 800},
    [SUNDOG_LAYOUT_PANEL16_Q6_K] = {256, 210, 208, -1, 2000},
    [SUNDOG_LAYOUT_PANEL16_IQ4_NL] = {32, 18, 0, -1, 64},
    [SUNDOG_LAYOUT_PANEL16_IQ4_XS] = {256, 136, 0, -1, 1000},
    [SUNDOG_LAYOUT_PANEL16_MXFP4] = {32, 17, -1, -1, 1},
    [SUNDOG_LAYOUT_TILE16_Q4_1] = {32, 20, 0, 2, 8},
    [SUNDOG_LAYOUT_TILE16_Q8_0] = {32, 34, 0, -1, 64},
    [SUNDOG_LAYOUT_PANEL16_F8] = {64, 68, -1, -1, 1},
    [SUNDOG_LAYOUT_TILE16_F8] = {64, 68, -1, -1, 1},
};

static bool
is_encoded(SundogLayout layout)
{
    return (size_t)layout < G_N_ELEMENTS(encodings) && encodings[layout].columns != 0;
}

static void
put_half(uint8_t *block, int at, float value)
{
    uint16_t half = sundog_f32_to_f16(value);
    if (at >= 0)
        memcpy(block + at, &half, 2);
}

/* GGUF rows of random values: bytes as they come, scales small halves. */
static void
fill_gguf_row(SundogLayout layout, uint8_t *row, int64_t n_columns, TestRandom *random)
{
    for (int64_t k = 0; k < n_columns && !is_encoded(layout); k++) {
        float value = test_random_float(random);
        uint32_t bits = sundog_float_bits(value);
        uint16_t half = sundog_f32_to_f16(value);
        if (layout == SUNDOG_LAYOUT_PANEL16_F32 || layout == SUNDOG_LAYOUT_DENSE_F32)
            memcpy(row + 4 * k, &bits, 4);
        else if (layout == SUNDOG_LAYOUT_PANEL16_F16)
            memcpy(row + 2 * k, &half, 2);
        else if (layout == SUNDOG_LAYOUT_PANEL16_BF16 || layout == SUNDOG_LAYOUT_TILE16_BF16)
            memcpy(row + 2 * k, (uint8_t *)&bits + 2, 2);
    }
    for (int64_t block = 0; is_encoded(layout) && block < n_columns / encodings[layout].columns;
         block++) {
        uint8_t *at = row + block * encodings[layout].bytes;
        for (int i = 0; i < encodings[layout].bytes; i++)
            at[i] = (uint8_t)test_random_u32(random);
        put_half(at, encodings[layout].d, test_random_float(random) / encodings[layout].divisor);
        put_half(at, encodings[layout].m, test_random_float(random) / 8);
        if (layout == SUNDOG_LAYOUT_PANEL16_MXFP4)
            at[0] = (uint8_t)test_random_int(random, 117, 127);
        if (layout == SUNDOG_LAYOUT_PANEL16_F8 || layout == SUNDOG_LAYOUT_TILE16_F8) {
            float d = test_random_float(random) / 64;
            memcpy(at, &d, sizeof d);
        }
    }
}

static int64_t
gguf_row_bytes(SundogLayout layout, int64_t n_columns)
{
    if (is_encoded(layout))
        return n_columns / encodings[layout].columns * encodings[layout].bytes;
    return n_columns *
           (layout == SUNDOG_LAYOUT_PANEL16_F32 || layout == SUNDOG_LAYOUT_DENSE_F32 ? 4 : 2);
}

void
test_call_add_weight(TestCall *call, SundogLayout layout, int64_t n_rows, int64_t n_columns,
                     TestRandom *random)
{
    SundogArgument argument = {
        .dtype = SUNDOG_DTYPE_WEIGHT, .layout = layout, .shape = {n_rows, n_columns, 1, 1}};
    uint8_t *matrix = append(call, &argument, sundog_layout_bytes(layout, n_rows, n_columns));
    int64_t row_bytes = gguf_row_bytes(layout, n_columns);
    int64_t step = layout == SUNDOG_LAYOUT_DENSE_F32 ? 1 : SUNDOG_PANEL_ROWS;
    g_autofree uint8_t *rows = g_malloc0((size_t)(row_bytes * step));
    for (int64_t first = 0; first < n_rows; first += step) {
        int64_t here = MIN(step, n_rows - first);
        for (int64_t r = 0; r < here; r++)
            fill_gguf_row(layout, rows + r * row_bytes, n_columns, random);
        sundog_layout_pack_panel(layout, rows, here, n_columns, matrix);
        matrix += sundog_layout_panel_bytes(layout, n_columns);
    }
}

void
test_call_add_a8(TestCall *call, int64_t n_tokens, int64_t n_columns, TestRandom *random)
{
    TestCall quantize;
    test_call_init(&quantize, SUNDOG_OP_QUANTIZE);
    test_call_add_floats(&quantize, n_tokens, n_columns, random);
    int64_t n_tiles = (n_tokens + SUNDOG_TILE_TOKENS - 1) / SUNDOG_TILE_TOKENS;
    test_call_add(&quantize, SUNDOG_DTYPE_A8, n_tiles, n_columns);
    test_call_run(&quantize, SUNDOG_HOST_PLAIN, 1, false);
    void *tiles = test_call_add(call, SUNDOG_DTYPE_A8, n_tiles, n_columns);
    memcpy(tiles, quantize.arguments[1].data, quantize.n_bytes[1]);
    test_call_clear(&quantize);
}

void
test_call_alias(TestCall *call, uint32_t to, uint32_t from)
{
    free(call->arguments[to].data);
    call->arguments[to].data = call->arguments[from].data;
}

/* What was there when the call was first run, for arguments that kernels change. */
static void
restore(TestCall *call, uint32_t i)
{
    void *data = call->arguments[i].data;
    if (call->initial[i] == NULL) {
        call->initial[i] = malloc(MAX(call->n_bytes[i], 1));
        memcpy(call->initial[i], data, call->n_bytes[i]);
    }
    memcpy(data, call->initial[i], call->n_bytes[i]);
}

void
test_call_run(TestCall *call, SundogHostSet set, uint32_t n_threads, bool backwards)
{
    for (uint32_t i = 0; i < call->n_arguments; i++) {
        if (call->arguments[i].data == NULL)
            continue;
        if (access_of(call, i) == SUNDOG_ACCESS_WRITE ||
            access_of(call, i) == SUNDOG_ACCESS_WORKSPACE)
            memset(call->arguments[i].data, POISON, call->n_bytes[i]);
    }
    for (uint32_t i = 0; i < call->n_arguments; i++)
        if (call->arguments[i].data != NULL && (access_of(call, i) == SUNDOG_ACCESS_READ ||
                                                access_of(call, i) == SUNDOG_ACCESS_UPDATE))
            restore(call, i);
    SundogKernel kernel = sundog_host_kernel(call->kind, set);
    for (uint32_t i = 0; i < n_threads; i++) {
        SundogCall one = {.arguments = call->arguments,
                          .parameters = call->parameters,
                          .thread = backwards ? n_threads - 1 - i : i,
                          .n_threads = n_threads};
        kernel(&one);
    }
}

static bool
is_result(const TestCall *call, uint32_t i)
{
    return call->arguments[i].data != NULL && (access_of(call, i) == SUNDOG_ACCESS_WRITE ||
                                               access_of(call, i) == SUNDOG_ACCESS_UPDATE);
}

static void
compare(const TestCall *call, SundogHostSet set, uint32_t n_threads)
{
    for (uint32_t i = 0; i < call->n_arguments; i++) {
        if (!is_result(call, i))
            continue;
        const uint8_t *got = call->arguments[i].data, *expected = call->expected[i];
        size_t at = 0;
        while (at < call->n_bytes[i] && got[at] == expected[at])
            at++;
        if (at < call->n_bytes[i])
            g_error("%s, set %s, %u threads: argument %s differs from the plain kernel's at byte "
                    "%zu of %zu (shape %d x %d)",
                    sundog_operations[call->kind].name, sundog_host_set_name(set), n_threads,
                    sundog_operations[call->kind].arguments[i].name, at, call->n_bytes[i],
                    (int)call->arguments[i].shape[0], (int)call->arguments[i].shape[1]);
    }
}

void
test_call_check_all_sets(TestCall *call)
{
    static const uint32_t threads[] = {1, 2, 3, 7};
    test_call_run(call, SUNDOG_HOST_PLAIN, 1, false);
    for (uint32_t i = 0; i < call->n_arguments; i++) {
        if (!is_result(call, i))
            continue;
        call->expected[i] = malloc(MAX(call->n_bytes[i], 1));
        memcpy(call->expected[i], call->arguments[i].data, call->n_bytes[i]);
    }
    for (int set = SUNDOG_HOST_PLAIN; set < SUNDOG_N_HOST_SETS; set++)
        for (size_t i = 0; sundog_host_supports(set) && i < G_N_ELEMENTS(threads); i++) {
            test_call_run(call, set, threads[i], i % 2 == 1);
            compare(call, set, threads[i]);
        }
}

double
test_relative_error(const float *a, const double *b, int64_t n)
{
    double difference = 0, norm = 0;
    for (int64_t i = 0; i < n; i++) {
        difference += (a[i] - b[i]) * (a[i] - b[i]);
        norm += b[i] * b[i];
    }
    return sqrt(difference / (norm > 0 ? norm : 1));
}
