/* Rows of GGUF's encodings in those that the CUDA kernels take: which values stay, and how far others go. */

#include "engine/format/gguf.h"
#include "engine/prepare/convert.h"
#include "kernels/contract/layout.h"
#include "kernels/contract/math.h"
#include <math.h>
#include <string.h>

#define N 1024
#define N_ROWS 3

typedef struct {
    uint32_t type;
    size_t block_bytes;
    int half_at[2]; /* where scales lie in a block; -1: none */
    uint32_t to;
    double largest_error; /* relative */
} Conversion;

static const Conversion conversions[] = {
    {SUNDOG_GGUF_Q4_0, 18, {0, -1}, SUNDOG_GGUF_Q4_1, 0},
    {SUNDOG_GGUF_Q5_0, 22, {0, -1}, SUNDOG_GGUF_Q8_0, 0},
    {SUNDOG_GGUF_IQ4_NL, 18, {0, -1}, SUNDOG_GGUF_Q8_0, 0},
    {SUNDOG_GGUF_MXFP4, 17, {-1, -1}, SUNDOG_GGUF_Q8_0, 0},
    {SUNDOG_GGUF_Q4_K, 144, {0, 2}, SUNDOG_GGUF_Q4_1, 5e-4},
    {SUNDOG_GGUF_IQ4_XS, 136, {0, -1}, SUNDOG_GGUF_Q8_0, 5e-4},
    {SUNDOG_GGUF_Q5_1, 24, {0, 2}, SUNDOG_GGUF_BF16, 2e-3},
    {SUNDOG_GGUF_Q2_K, 84, {80, 82}, SUNDOG_GGUF_BF16, 2e-3},
    {SUNDOG_GGUF_Q3_K, 110, {108, -1}, SUNDOG_GGUF_BF16, 2e-3},
    {SUNDOG_GGUF_Q5_K, 176, {0, 2}, SUNDOG_GGUF_BF16, 2e-3},
    {SUNDOG_GGUF_Q6_K, 210, {208, -1}, SUNDOG_GGUF_BF16, 2e-3},
};

/* Random blocks, whose scales are of a model's size. */
static void
fill_rows(const Conversion *conversion, uint8_t *rows, size_t n_bytes, GRand *random)
{
    for (size_t i = 0; i < n_bytes; i++)
        rows[i] = (uint8_t)g_rand_int(random);
    for (size_t at = 0; at < n_bytes; at += conversion->block_bytes) {
        if (conversion->type == SUNDOG_GGUF_MXFP4)
            rows[at] = (uint8_t)g_rand_int_range(random, 112, 134);
        for (int i = 0; i < 2; i++) {
            uint16_t half = sundog_f32_to_f16((float)g_rand_double_range(random, 0.001, 0.1));
            if (conversion->half_at[i] >= 0)
                memcpy(rows + at + conversion->half_at[i], &half, sizeof half);
        }
    }
}

/* [n_rows][N] as kernels see it, through a panel of a layout. */
static void
read_values(SundogLayout layout, const uint8_t *rows, float *values)
{
    g_autofree uint8_t *panel = g_malloc0(sundog_layout_bytes(layout, N_ROWS, N));
    sundog_layout_pack_panel(layout, rows, N_ROWS, N, panel);
    for (int r = 0; r < N_ROWS; r++)
        sundog_layout_dequantize_row(layout, panel, r, N, values + r * N);
}

static void
check(const Conversion *conversion, GRand *random)
{
    size_t row_bytes = sundog_gguf_row_bytes(conversion->type, N);
    size_t converted_bytes = sundog_gguf_row_bytes(conversion->to, N);
    g_autofree uint8_t *rows = g_malloc(N_ROWS * row_bytes);
    g_autofree uint8_t *converted = g_malloc(N_ROWS * converted_bytes);
    g_autofree float *values = g_new(float, N_ROWS *N);
    g_autofree float *found = g_new(float, N_ROWS *N);
    SundogQuantizationError error = {0};
    g_assert_cmpuint(sundog_cuda_type(conversion->type), ==, conversion->to);
    g_assert_cmpuint(row_bytes % conversion->block_bytes, ==, 0);
    fill_rows(conversion, rows, N_ROWS * row_bytes, random);
    read_values(sundog_layout_for_gguf_type(conversion->type), rows, values);
    for (int r = 0; r < N_ROWS; r++)
        g_assert_true(sundog_convert_row(conversion->type, rows + (size_t)r * row_bytes,
                                         values + r * N, N, conversion->to,
                                         converted + (size_t)r * converted_bytes, &error));
    read_values(sundog_layout_for_cuda(conversion->to), converted, found);
    double difference = 0, norm = 0;
    for (int i = 0; i < N_ROWS * N; i++) {
        difference += pow((double)values[i] - (double)found[i], 2);
        norm += pow((double)values[i], 2);
    }
    g_test_message("%s to %s: %.1e", sundog_gguf_type_name(conversion->type),
                   sundog_gguf_type_name(conversion->to), sqrt(difference / norm));
    g_assert_cmpfloat(sqrt(difference / norm), <=, conversion->largest_error);
    g_assert_cmpfloat_with_epsilon(error.difference, difference, 1e-9 * norm);
    g_assert_cmpfloat_with_epsilon(error.norm, norm, 1e-9 * norm);
}

static void
test_values(void)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(7);
    for (size_t i = 0; i < G_N_ELEMENTS(conversions); i++)
        check(&conversions[i], random);
}

/* Types that the kernels take stay; floats become bf16; what nobody can read stays as it is. */
static void
test_types(void)
{
    g_assert_cmpuint(sundog_cuda_type(SUNDOG_GGUF_Q4_1), ==, SUNDOG_GGUF_Q4_1);
    g_assert_cmpuint(sundog_cuda_type(SUNDOG_GGUF_Q8_0), ==, SUNDOG_GGUF_Q8_0);
    g_assert_cmpuint(sundog_cuda_type(SUNDOG_GGUF_BF16), ==, SUNDOG_GGUF_BF16);
    g_assert_cmpuint(sundog_cuda_type(SUNDOG_GGUF_F16), ==, SUNDOG_GGUF_BF16);
    g_assert_cmpuint(sundog_cuda_type(SUNDOG_GGUF_F32), ==, SUNDOG_GGUF_BF16);
    g_assert_cmpuint(sundog_cuda_type(16), ==, 16);
}

/* A scale that half precision does not hold is told, not written. */
static void
test_beyond(void)
{
    uint8_t block[17] = {254, 0x77}, converted[34];
    float values[32];
    SundogQuantizationError error = {0};
    for (int i = 0; i < 32; i++)
        values[i] = ldexpf(1, 126);
    g_assert_false(sundog_convert_row(SUNDOG_GGUF_MXFP4, block, values, 32, SUNDOG_GGUF_Q8_0,
                                      converted, &error));
}

int
main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/prepare/convert/values", test_values);
    g_test_add_func("/prepare/convert/types", test_types);
    g_test_add_func("/prepare/convert/beyond", test_beyond);
    return g_test_run();
}
