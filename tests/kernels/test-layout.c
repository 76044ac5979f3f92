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
    {0, SUNDOG_LAYOUT_PANEL16_F32, 1, 4},    {1, SUNDOG_LAYOUT_PANEL16_F16, 1, 2},
    {3, SUNDOG_LAYOUT_PANEL16_Q4_1, 32, 20}, {8, SUNDOG_LAYOUT_PANEL16_Q8_0, 32, 34},
    {30, SUNDOG_LAYOUT_PANEL16_BF16, 1, 2},  {3, SUNDOG_LAYOUT_TILE16_Q4_1, 32, 20},
    {8, SUNDOG_LAYOUT_TILE16_Q8_0, 32, 34},  {30, SUNDOG_LAYOUT_TILE16_BF16, 1, 2},
};

static float
half_at(const uint8_t *bytes)
{
    uint16_t half;
    memcpy(&half, bytes, sizeof half);
    return sundog_f16_to_f32(half);
}

/* One value of GGUF's row encoding, written down again from the format's description. */
static float
gguf_value(uint32_t type, const uint8_t *row, int64_t k)
{
    const uint8_t *block;
    uint32_t bits = 0;
    switch (type) {
    case 0:
        memcpy(&bits, row + 4 * k, 4);
        return sundog_float_from_bits(bits);
    case 1:
        return half_at(row + 2 * k);
    case 30:
        memcpy((uint8_t *)&bits + 2, row + 2 * k, 2);
        return sundog_float_from_bits(bits);
    case 3:
        block = row + k / 32 * 20;
        int q = k % 32 < 16 ? block[4 + k % 32] & 15 : block[4 + k % 32 - 16] >> 4;
        return fmaf(half_at(block), (float)q, half_at(block + 2));
    default:
        block = row + k / 32 * 34;
        return half_at(block) * (float)(int8_t)block[2 + k % 32];
    }
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
        for (int64_t k = 0; k < n_columns; k++) {
            float expected = gguf_value(encoding->gguf_type, rows + r * row_bytes, k);
            if (isnan(expected))
                g_assert_true(isnan(values[k]));
            else
                g_assert_cmpmem(&values[k], 4, &expected, 4);
        }
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
    g_assert_cmpint(sundog_layout_for_gguf_type(12), ==, 0);
}

int
main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/kernels/layout/round-trip", test_round_trip);
    g_test_add_func("/kernels/layout/padding-is-zero", test_padding_is_zero);
    g_test_add_func("/kernels/layout/fits", test_fits);
    return g_test_run();
}
