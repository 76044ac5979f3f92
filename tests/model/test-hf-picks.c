/* Parts of fused tensors: each against the rows that it must hold. */

#include "engine/model/hf-picks.h"
#include "engine/model/row-readers.h"

#include <glib.h>
#include <string.h>

#define N_COLUMNS 2

/* Two groups of parts of 1, 1 and 2 rows. Row i holds 10 i and 10 i + 1. */
static const SundogHfGroups groups = {.n_groups = 2, .parts = {1, 1, 2}, .factors = {2, 3, 4}};

static SundogSourceTensor
make_tensor(float *values, uint64_t n_columns, uint64_t n_rows)
{
    for (uint64_t i = 0; i < n_columns * n_rows; i++)
        values[i] = (float)(10 * (i / n_columns) + i % n_columns);
    return (SundogSourceTensor){.name = "own",
                                .own_name = "own",
                                .type = SUNDOG_GGUF_F32,
                                .shape = {n_columns, n_rows, 1, 1},
                                .n_bytes = n_columns * n_rows * sizeof(float),
                                .data = (const uint8_t *)values};
}

/* The rows of a part begin with these values. */
static void
assert_pick(SundogHfPick pick, const SundogHfGroups *of, const SundogSourceTensor *found,
            const float *expected, uint64_t n_rows)
{
    const SundogHfTensor row = {.own = "own", .name = "picked", .pick = pick};
    g_autoptr(SundogSource) source = sundog_source_new("llama");
    g_autoptr(GError) error = NULL;
    SundogSourceTensor picked;
    g_assert_true(sundog_hf_pick(source, of, &row, found, &picked, &error));
    g_assert_no_error(error);
    g_assert_cmpuint(picked.shape[1] * picked.shape[2], ==, n_rows);
    g_assert_cmpuint(picked.n_bytes, ==, n_rows * picked.shape[0] * sizeof(float));
    g_autofree float *rows = g_new(float, n_rows *picked.shape[0]);
    sundog_rows_copy(&picked, 0, n_rows, (uint8_t *)rows);
    for (uint64_t i = 0; i < n_rows; i++)
        g_assert_cmpfloat(rows[i * picked.shape[0]], ==, expected[i]);
}

static void
test_parts(void)
{
    float values[8 * N_COLUMNS];
    const SundogSourceTensor matrix = make_tensor(values, N_COLUMNS, 8);
    assert_pick(SUNDOG_HF_FIRST_PARTS, &groups, &matrix, (const float[]){0, 40}, 2);
    assert_pick(SUNDOG_HF_SECOND_PARTS, &groups, &matrix, (const float[]){10, 50}, 2);
    assert_pick(SUNDOG_HF_THIRD_PARTS, &groups, &matrix, (const float[]){20, 30, 60, 70}, 4);
    assert_pick(SUNDOG_HF_THREE_PARTS, &groups, &matrix,
                (const float[]){0, 40, 10, 50, 20, 30, 60, 70}, 8);
}

static void
test_vector(void)
{
    float values[8];
    SundogSourceTensor vector = make_tensor(values, 1, 8);
    vector.shape[0] = 8;
    vector.shape[1] = 1;
    /* All of it is one row, whose values are the part's. */
    assert_pick(SUNDOG_HF_THIRD_PARTS, &groups, &vector, (const float[]){20}, 1);
}

static void
test_padded(void)
{
    static const SundogHfGroups table = {.n_groups = 1, .parts = {3, 2}};
    float values[3 * N_COLUMNS];
    const SundogSourceTensor matrix = make_tensor(values, N_COLUMNS, 3);
    assert_pick(SUNDOG_HF_PADDED_ROWS, &table, &matrix, (const float[]){0, 10, 20, 0, 0}, 5);
}

static void
test_scaled(void)
{
    SundogHfGroups channels = groups;
    float values[4 * N_COLUMNS];
    SundogSourceTensor matrix = make_tensor(values, N_COLUMNS, 4);
    channels.n_groups = 1;
    matrix.shape[1] = 1;
    matrix.shape[2] = 4;
    assert_pick(SUNDOG_HF_SCALED_CHANNELS, &channels, &matrix, (const float[]){0, 30, 80, 120}, 4);
}

/* A tensor whose rows the groups do not make up. */
static void
test_refused(void)
{
    float values[7 * N_COLUMNS];
    const SundogSourceTensor matrix = make_tensor(values, N_COLUMNS, 7);
    for (SundogHfPick pick = SUNDOG_HF_SCALED_CHANNELS; pick <= SUNDOG_HF_THREE_PARTS; pick++) {
        const SundogHfTensor row = {.own = "own", .name = "picked", .pick = pick};
        g_autoptr(SundogSource) source = sundog_source_new("llama");
        g_autoptr(GError) error = NULL;
        SundogSourceTensor picked;
        if (pick == SUNDOG_HF_MINUS_EXP || pick == SUNDOG_HF_FROM_THIRD)
            continue;
        g_assert_false(sundog_hf_pick(source, &groups, &row, &matrix, &picked, &error));
        g_assert_nonnull(strstr(error->message, "cannot hold picked"));
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/hf-picks/parts", test_parts);
    g_test_add_func("/hf-picks/vector", test_vector);
    g_test_add_func("/hf-picks/padded", test_padded);
    g_test_add_func("/hf-picks/scaled", test_scaled);
    g_test_add_func("/hf-picks/refused", test_refused);
    return g_test_run();
}
