/* Recipes: the table, rotary frequencies in closed form, and the programs as they are emitted. */

#include "engine/format/error.h"
#include "engine/recipe/recipe.h"
#include "engine/recipe/rope.h"
#include "tests/model/model-fixture.h"

#include <math.h>
#include <string.h>

static SundogRope
make_rope(SundogRopeScaling scaling, double factor)
{
    return (SundogRope){.n_dims = 64,
                        .base = 10000,
                        .scaling = scaling,
                        .factor = factor,
                        .original_context = 2048,
                        .yarn_fast = 32,
                        .yarn_slow = 1};
}

static double
plain_frequency(int i)
{
    return pow(10000, -2.0 * i / 64);
}

static void
test_plain_rope(void)
{
    SundogRope rope = make_rope(SUNDOG_ROPE_SCALING_NONE, 1);
    g_autofree float *frequencies = sundog_rope_dup_inverse_frequencies(&rope, NULL, NULL);
    for (int i = 0; i < 32; i++)
        g_assert_cmpfloat(frequencies[i], ==, (float)plain_frequency(i));
    g_assert_cmpfloat(sundog_rope_get_magnitude(&rope), ==, 1);
}

static void
test_linear_rope(void)
{
    SundogRope rope = make_rope(SUNDOG_ROPE_SCALING_LINEAR, 4);
    g_autofree float *frequencies = sundog_rope_dup_inverse_frequencies(&rope, NULL, NULL);
    for (int i = 0; i < 32; i++)
        g_assert_cmpfloat(frequencies[i], ==, (float)(plain_frequency(i) / 4));
}

/* Factors divide, in whichever type of floats the file has them. */
static void
test_factors(void)
{
    float values[32];
    uint16_t halves[32];
    SundogRope rope = make_rope(SUNDOG_ROPE_SCALING_LLAMA3, 1);
    for (int i = 0; i < 32; i++) {
        values[i] = i < 16 ? 1 : 8;
        halves[i] = i < 16 ? 0x3c00 : 0x4800; /* 1 and 8 */
    }
    const SundogTensor tensors[] = {
        {.type = SUNDOG_GGUF_F32,
         .n_rows = 1,
         .n_columns = 32,
         .n_bytes = sizeof values,
         .data = (const uint8_t *)values},
        {.type = SUNDOG_GGUF_F16,
         .n_rows = 1,
         .n_columns = 32,
         .n_bytes = sizeof halves,
         .data = (const uint8_t *)halves},
    };
    for (size_t t = 0; t < G_N_ELEMENTS(tensors); t++) {
        g_autofree float *frequencies =
            sundog_rope_dup_inverse_frequencies(&rope, &tensors[t], NULL);
        for (int i = 0; i < 32; i++)
            g_assert_cmpfloat(frequencies[i], ==, (float)(plain_frequency(i) / values[i]));
    }
}

/* Fast pairs stay, slow pairs are interpolated, those between lie between, in order. */
static void
test_yarn(void)
{
    SundogRope rope = make_rope(SUNDOG_ROPE_SCALING_YARN, 8);
    g_autofree float *frequencies = sundog_rope_dup_inverse_frequencies(&rope, NULL, NULL);
    g_assert_cmpfloat(frequencies[0], ==, (float)plain_frequency(0));
    g_assert_cmpfloat_with_epsilon(frequencies[31], plain_frequency(31) / 8, 1e-9);
    for (int i = 0; i < 32; i++) {
        double share = frequencies[i] / plain_frequency(i);
        g_assert_cmpfloat(share, <=, 1 + 1e-6);
        g_assert_cmpfloat(share, >=, 1.0 / 8 - 1e-6);
        g_assert_true(i == 0 || share <= frequencies[i - 1] / plain_frequency(i - 1) + 1e-6);
    }
    g_assert_cmpfloat_with_epsilon(sundog_rope_get_magnitude(&rope), 0.1 * log(8) + 1, 1e-12);
    rope.magnitude = 1.25;
    g_assert_cmpfloat(sundog_rope_get_magnitude(&rope), ==, 1.25);
}

/* Frequencies that a damaged or hostile file could ask for. */
static void
test_hostile_rope(void)
{
    static const float factors[] = {0, -1, NAN, INFINITY};
    for (size_t i = 0; i < G_N_ELEMENTS(factors); i++) {
        float values[32];
        g_autoptr(GError) error = NULL;
        SundogRope rope = make_rope(SUNDOG_ROPE_SCALING_LLAMA3, 1);
        const SundogTensor tensor = {.type = SUNDOG_GGUF_F32,
                                     .n_rows = 1,
                                     .n_columns = 32,
                                     .n_bytes = sizeof values,
                                     .data = (const uint8_t *)values};
        for (int v = 0; v < 32; v++)
            values[v] = v == 17 ? factors[i] : 1;
        g_assert_null(sundog_rope_dup_inverse_frequencies(&rope, &tensor, &error));
        g_assert_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID);
        g_assert_nonnull(strstr(error->message, "pair 17"));
    }
    g_autoptr(GError) error = NULL;
    SundogRope flat = make_rope(SUNDOG_ROPE_SCALING_YARN, 4);
    flat.base = 1; /* every pair turns alike, all of them fast */
    g_autofree float *frequencies = sundog_rope_dup_inverse_frequencies(&flat, NULL, &error);
    g_assert_no_error(error);
    for (int i = 0; i < 32; i++)
        g_assert_cmpfloat(frequencies[i], ==, 1);
}

static void
test_unknown(void)
{
    g_autoptr(GError) error = NULL;
    g_assert_nonnull(sundog_recipe_find("llama", NULL));
    g_assert_nonnull(sundog_recipe_find("qwen2", NULL));
    g_assert_null(sundog_recipe_find("mammoth", &error));
    g_assert_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_UNSUPPORTED);
    g_assert_nonnull(strstr(error->message, "\"mammoth\""));
    g_assert_nonnull(strstr(error->message, ", llama, "));
}

static SundogShape
small_bounds(void)
{
    SundogShape bounds;
    for (int i = 0; i < SUNDOG_N_VARIABLES; i++)
        bounds.values[i] = 4;
    return bounds;
}

static void
test_sample(void)
{
    g_autoptr(GError) error = NULL;
    SundogShape bounds = small_bounds();
    g_autoptr(SundogProgram) program = sundog_recipe_build_sample(1000, &bounds);
    sundog_program_check(program, &error);
    g_assert_no_error(error);
}

static void
build_forward(const char *name, SundogDtype cache_dtype, SundogRecipeForward *forward)
{
    g_autoptr(GError) error = NULL;
    const SundogRecipeOptions options = {.cache_dtype = cache_dtype, .bounds = small_bounds()};
    g_autofree char *path =
        g_build_filename(g_getenv("SUNDOG_SOURCE"), "tests", "prepare", "tiny", name, NULL);
    g_autoptr(SundogModel) model = sundog_model_open(path, &error);
    g_assert_no_error(error);
    const SundogRecipe *recipe =
        sundog_recipe_find(sundog_model_get_dimensions(model)->architecture, &error);
    g_assert_no_error(error);
    sundog_recipe_build_forward(recipe, model, &options, forward, &error);
    g_assert_no_error(error);
}

/* The only thing missing in a recipe's program are the layouts, which are prepare's to give. */
static void
test_forward(void)
{
    g_autoptr(GError) error = NULL;
    g_auto(SundogRecipeForward) forward = {0};
    build_forward("bf16-bias-linear.gguf", SUNDOG_DTYPE_F16, &forward);
    g_assert_null(sundog_recipe_forward_find(&forward, "key_factors.0"));
    SundogProgram *program = forward.program;
    g_assert_false(sundog_program_check(program, NULL));
    for (SundogBufferId id = 0; id < sundog_program_get_n_buffers(program); id++) {
        const SundogBuffer *buffer = sundog_program_get_buffer(program, id);
        bool dense = g_str_has_suffix(buffer->name, ".bias") ||
                     strstr(buffer->name, "norm.weight") != NULL ||
                     g_str_has_prefix(buffer->name, "rope.");
        if (buffer->role == SUNDOG_BUFFER_WEIGHT)
            sundog_program_set_buffer_layout(
                program, id, dense ? SUNDOG_LAYOUT_DENSE_F32 : SUNDOG_LAYOUT_PANEL16_BF16);
    }
    sundog_program_check(program, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(forward.n_caches, ==, 2);
    g_assert_nonnull(sundog_recipe_forward_find(&forward, "rope.inverse_frequencies"));
    g_assert_null(sundog_recipe_forward_find(&forward, "token_embd.weight"));
    g_assert_cmpuint(sundog_program_find_buffer(program, "blk.1.attn_k.bias"), !=,
                     SUNDOG_BUFFER_NONE);
}

/* For a cache in 8 bits: powers of two that products of queries and keys do not see, one for both halves of a
 * pair, and none for values. The model has 3 heads with keys of their own, of 32 dimensions. */
static void
test_key_factors(void)
{
    enum { HEADS = 3, SIZE = 32 };
    g_auto(SundogRecipeForward) forward = {0};
    build_forward("q8_0-bias.gguf", SUNDOG_DTYPE_Q8, &forward);
    const SundogRecipeConstant *row = sundog_recipe_forward_find(&forward, "key_factors.0");
    g_assert_nonnull(row);
    g_assert_cmpuint(row->n_values, ==, 3 * HEADS * SIZE);
    uint32_t n_greater = 0;
    for (uint32_t i = 0; i < HEADS * SIZE; i++) {
        float factor = row->values[i];
        uint32_t partner = i % SIZE < SIZE / 2 ? i + SIZE / 2 : i - SIZE / 2;
        g_assert_cmpfloat(factor, >=, 1);
        g_assert_cmpfloat(log2f(factor), ==, roundf(log2f(factor)));
        g_assert_cmpfloat(factor, ==, row->values[partner]);
        g_assert_cmpfloat(factor * row->values[HEADS * SIZE + i], ==, 1);
        g_assert_cmpfloat(row->values[2 * HEADS * SIZE + i], ==, 1);
        n_greater += factor > 1;
    }
    g_assert_cmpuint(n_greater, >, 0);
    g_assert_cmpuint(n_greater, <, HEADS * SIZE);
}

/* A head of its own and a tied one. */
static void
test_heads(void)
{
    g_auto(SundogRecipeForward) own = {0};
    g_auto(SundogRecipeForward) tied = {0};
    build_forward("f16-gqa-llama3.gguf", SUNDOG_DTYPE_F16, &own);
    build_forward("f32-mha.gguf", SUNDOG_DTYPE_F16, &tied);
    g_assert_cmpuint(sundog_program_find_buffer(own.program, "output.weight"), !=,
                     SUNDOG_BUFFER_NONE);
    g_assert_cmpuint(sundog_program_find_buffer(tied.program, "output.weight"), ==,
                     SUNDOG_BUFFER_NONE);
}

/* The recipe's judgement of a changed small model. */
static void
expect_refused(GgufBuilder *builder, int code, const char *text)
{
    g_autoptr(GError) error = NULL;
    g_auto(SundogRecipeForward) forward = {0};
    const SundogRecipeOptions options = {.cache_dtype = SUNDOG_DTYPE_F16, .bounds = small_bounds()};
    g_autoptr(GBytes) bytes = gguf_builder_build(builder);
    g_autoptr(SundogModel) model = sundog_model_new_from_bytes(bytes, "tiny.gguf", &error);
    g_assert_no_error(error);
    g_assert_false(sundog_recipe_build_forward(sundog_recipe_find("llama", NULL), model, &options,
                                               &forward, &error));
    g_assert_error(error, SUNDOG_FORMAT_ERROR, code);
    if (strstr(error->message, text) == NULL)
        g_error("\"%s\" not in \"%s\"", text, error->message);
    gguf_builder_clear(builder);
}

static void
test_each_tensor_missing(void)
{
    guint n = 1;
    for (guint i = 0; i < n; i++) {
        GgufBuilder builder;
        model_fixture_build(&builder);
        n = builder.tensors->len;
        g_autofree char *name = g_strdup(((GgufBuilderTensor *)builder.tensors->pdata[i])->name);
        g_autofree char *text = g_strdup_printf("the tensor %s is missing", name);
        gguf_builder_remove_tensor(&builder, name);
        expect_refused(&builder, SUNDOG_FORMAT_ERROR_INVALID, text);
    }
}

/* Tensors of another family, which would be left out of the results. */
static void
test_tensor_without_place(void)
{
    GgufBuilder builder;
    model_fixture_build(&builder);
    gguf_builder_add_tensor(&builder, "blk.1.attn_q_norm.weight", SUNDOG_GGUF_F32, 16, 1, 64);
    expect_refused(&builder, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                   "the tensor blk.1.attn_q_norm.weight has no place in a llama model");
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/recipe/plain-rope", test_plain_rope);
    g_test_add_func("/recipe/linear-rope", test_linear_rope);
    g_test_add_func("/recipe/factors", test_factors);
    g_test_add_func("/recipe/yarn", test_yarn);
    g_test_add_func("/recipe/hostile-rope", test_hostile_rope);
    g_test_add_func("/recipe/unknown", test_unknown);
    g_test_add_func("/recipe/sample", test_sample);
    g_test_add_func("/recipe/forward", test_forward);
    g_test_add_func("/recipe/key-factors", test_key_factors);
    g_test_add_func("/recipe/heads", test_heads);
    g_test_add_func("/recipe/each-tensor-missing", test_each_tensor_missing);
    g_test_add_func("/recipe/tensor-without-place", test_tensor_without_place);
    return g_test_run();
}
