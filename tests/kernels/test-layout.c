/* Layouts of weights: packing and unpacking gives the same bytes, and the values that GGUF means. */

#include "kernels/contract/math.h"
#include "tests/kernels/random.h"
#include <glib.h>

typedef struct {
    uint32_t gguf_type;
    SundogLayout layout;
    int64_t block;
    int64_t block_bytes;
} Encoding;

static const Encoding encodings[] = {
    {0, SUNDOG_LAYOUT_PANEL16_F32, 1, 4},
    {1, SUNDOG_LAYOUT_PANEL16_F16, 1, 2},
    {30, SUNDOG_LAYOUT_PANEL16_BF16, 1, 2},
    {30, SUNDOG_LAYOUT_TILE16_BF16, 1, 2},
    {2, SUNDOG_LAYOUT_PANEL16_Q4_0, 32, 18},
    {3, SUNDOG_LAYOUT_PANEL16_Q4_1, 32, 20},
    {6, SUNDOG_LAYOUT_PANEL16_Q5_0, 32, 22},
    {7, SUNDOG_LAYOUT_PANEL16_Q5_1, 32, 24},
    {8, SUNDOG_LAYOUT_PANEL16_Q8_0, 32, 34},
    {3, SUNDOG_LAYOUT_TILE16_Q4_1, 32, 20},
    {8, SUNDOG_LAYOUT_TILE16_Q8_0, 32, 34},
    {10, SUNDOG_LAYOUT_PANEL16_Q2_K, 256, 84},
    {11, SUNDOG_LAYOUT_PANEL16_Q3_K, 256, 110},
    {12, SUNDOG_LAYOUT_PANEL16_Q4_K, 256, 144},
    {13, SUNDOG_LAYOUT_PANEL16_Q5_K, 256, 176},
    {14, SUNDOG_LAYOUT_PANEL16_Q6_K, 256, 210},
    {20, SUNDOG_LAYOUT_PANEL16_IQ4_NL, 32, 18},
    {23, SUNDOG_LAYOUT_PANEL16_IQ4_XS, 256, 136},
    {39, SUNDOG_LAYOUT_PANEL16_MXFP4, 32, 17},
    {SUNDOG_TYPE_F8, SUNDOG_LAYOUT_PANEL16_F8, 64, 68},
    {SUNDOG_TYPE_F8, SUNDOG_LAYOUT_TILE16_F8, 64, 68},
};

static float
float_value(uint32_t type, const uint8_t *row, int64_t k)
{
    uint32_t bits = 0;
    uint16_t half;
    if (type == 0) {
        memcpy(&bits, row + 4 * k, 4);
        return sundog_float_from_bits(bits);
    }
    memcpy(&half, row + 2 * k, 2);
    return type == 1 ? sundog_f16_to_f32(half) : sundog_bf16_to_f32(half);
}

/* Equal bits, or both NaN. */
static void
check_value(float value, float expected)
{
    if (isnan(expected))
        g_assert_true(isnan(value));
    else
        g_assert_cmpmem(&value, 4, &expected, 4);
}

static void
check_matrix(const Encoding *encoding, int64_t n_rows, int64_t n_columns, TestRandom *random)
{
    int64_t row_bytes = n_columns / encoding->block * encoding->block_bytes;
    size_t panel_bytes = sundog_layout_panel_bytes(encoding->layout, n_columns);
    g_autofree uint8_t *rows = g_malloc(row_bytes * n_rows);
    g_autofree uint8_t *back = g_malloc(row_bytes * n_rows);
    g_autofree float *values = g_new(float, n_columns);
    size_t n_bytes = sundog_layout_bytes(encoding->layout, n_rows, n_columns);
    g_autofree uint8_t *matrix = g_malloc(n_bytes);
    for (int64_t i = 0; i < row_bytes * n_rows; i++)
        rows[i] = (uint8_t)test_random_u32(random);
    memset(matrix, 0xff, n_bytes);
    for (int64_t r = 0; r < n_rows; r += 16)
        sundog_layout_pack_panel(encoding->layout, rows + r * row_bytes, MIN(16, n_rows - r),
                                 n_columns, matrix + r / 16 * panel_bytes);
    for (int64_t r = 0; r < n_rows; r += 16)
        sundog_layout_unpack_panel(encoding->layout, matrix + r / 16 * panel_bytes,
                                   MIN(16, n_rows - r), n_columns, back + r * row_bytes);
    g_assert_cmpmem(rows, row_bytes * n_rows, back, row_bytes * n_rows);
    g_assert_cmpuint(n_bytes % 64, ==, 0);
    for (int64_t r = 0; r < n_rows; r++) {
        sundog_layout_dequantize_row(encoding->layout, matrix, r, n_columns, values);
        for (int64_t k = 0; k < n_columns && encoding->block == 1; k++)
            check_value(values[k], float_value(encoding->gguf_type, rows + r * row_bytes, k));
    }
}

static void
test_round_trip(void)
{
    TestRandom random = {1};
    for (size_t i = 0; i < G_N_ELEMENTS(encodings); i++) {
        uint32_t type = encodings[i].gguf_type;
        g_assert_cmpint(sundog_layout_is_tile(encodings[i].layout)
                            ? sundog_layout_for_cuda(type)
                            : sundog_layout_for_gguf_type(type),
                        ==, encodings[i].layout);
        for (int64_t n_rows = 1; n_rows <= 49; n_rows += 4)
            for (int64_t n_blocks = 1; n_blocks <= 5; n_blocks++)
                check_matrix(&encodings[i], n_rows, n_blocks * encodings[i].block, &random);
    }
}

/* One type of values.bin: rows as their own panel, whose other rows are zero. */
static void
check_golden_type(const uint32_t *head, SundogLayout layout, const uint8_t *rows,
                  const float *expected)
{
    int64_t n_rows = head[1], n_columns = head[2];
    g_autofree uint8_t *panel = g_malloc(sundog_layout_panel_bytes(layout, n_columns));
    g_autofree float *values = g_new(float, n_columns);
    sundog_layout_pack_panel(layout, rows, n_rows, n_columns, panel);
    for (int64_t r = 0; r < n_rows; r++) {
        sundog_layout_dequantize_row(layout, panel, r, n_columns, values);
        for (int64_t k = 0; k < n_columns; k++)
            check_value(values[k], expected[r * n_columns + k]);
    }
}

/* Values that the Python package gguf gives, see gguf-values/make.py. */
static void
test_golden_values(void)
{
    g_autofree char *path =
        g_build_filename(g_getenv("SUNDOG_SOURCE"), "tests/kernels/gguf-values/values.bin", NULL);
    g_autofree char *file = NULL;
    gsize n_bytes, at = 0;
    int n_types = 0;
    g_assert_true(g_file_get_contents(path, &file, &n_bytes, NULL));
    for (; at < n_bytes; n_types++) {
        uint32_t head[4]; /* type, rows, columns, bytes a row */
        memcpy(head, file + at, sizeof head);
        const uint8_t *rows = (const uint8_t *)file + at + sizeof head;
        gsize value_bytes = (gsize)head[1] * head[2] * sizeof(float);
        g_autofree float *expected = g_memdup2(rows + head[1] * head[3], value_bytes);
        check_golden_type(head, sundog_layout_for_gguf_type(head[0]), rows, expected);
        if (sundog_layout_for_cuda(head[0]) != 0)
            check_golden_type(head, sundog_layout_for_cuda(head[0]), rows, expected);
        at += sizeof head + head[1] * head[3] + value_bytes;
    }
    g_assert_cmpuint(at, ==, n_bytes);
    g_assert_cmpint(n_types, ==, 13);
}

/* Rows of a last, partial panel that are not there must be zero, or they would add NaN to sums. */
static void
test_padding_is_zero(void)
{
    uint8_t rows[2 * 34], panel[1088], zero[1088] = {0};
    memset(rows, 0xff, sizeof rows);
    memset(panel, 0xff, sizeof panel);
    sundog_layout_pack_panel(SUNDOG_LAYOUT_PANEL16_Q8_0, rows, 2, 32, panel);
    g_assert_cmpmem(panel + 4, 60, zero, 60);
    g_assert_cmpmem(panel + 64 + 8, 56, zero, 56);
    g_assert_cmpmem(panel + 64 + 512, 512, zero, 512);
}

static void
test_fits(void)
{
    g_assert_true(sundog_layout_fits(SUNDOG_LAYOUT_PANEL16_Q4_1, 576));
    g_assert_false(sundog_layout_fits(SUNDOG_LAYOUT_PANEL16_Q4_1, 570));
    g_assert_false(sundog_layout_fits(SUNDOG_LAYOUT_PANEL16_Q8_0, 0));
    g_assert_true(sundog_layout_fits(SUNDOG_LAYOUT_PANEL16_F16, 7));
    g_assert_true(sundog_layout_fits(SUNDOG_LAYOUT_PANEL16_Q6_K, 2048));
    g_assert_false(sundog_layout_fits(SUNDOG_LAYOUT_PANEL16_Q6_K, 896));
    g_assert_cmpint(sundog_layout_for_gguf_type(16), ==, 0);
}

int
main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/kernels/layout/round-trip", test_round_trip);
    g_test_add_func("/kernels/layout/golden-values", test_golden_values);
    g_test_add_func("/kernels/layout/padding-is-zero", test_padding_is_zero);
    g_test_add_func("/kernels/layout/fits", test_fits);
    return g_test_run();
}
