/*
 * Models: what a good file gives, and files that are sound GGUF but no sound model (report A10):
 * zeros and maxima in every number, tensors of other shapes, vocabularies of other sizes.
 */

#include "engine/format/error.h"
#include "engine/model/model.h"
#include "tests/model/model-fixture.h"

#include <math.h>
#include <string.h>
#include <time.h>

static SundogModel *
open_built(GgufBuilder *builder)
{
    g_autoptr(GBytes) bytes = gguf_builder_build(builder);
    g_autoptr(GError) error = NULL;
    SundogModel *model = sundog_model_new_from_bytes(bytes, "folder/tiny-file.gguf", &error);
    g_assert_no_error(error);
    gguf_builder_clear(builder);
    return model;
}

static void
expect_error(GgufBuilder *builder, int code, const char *text)
{
    g_autoptr(GBytes) bytes = gguf_builder_build(builder);
    g_autoptr(GError) error = NULL;
    clock_t begin = clock();
    if (sundog_model_new_from_bytes(bytes, "tiny.gguf", &error) != NULL)
        g_error("no error, expected \"%s\"", text);
    g_assert_cmpint(clock() - begin, <, CLOCKS_PER_SEC);
    g_assert_error(error, SUNDOG_FORMAT_ERROR, code);
    if (strstr(error->message, text) == NULL)
        g_error("\"%s\" not in \"%s\"", text, error->message);
    gguf_builder_clear(builder);
}

static void
expect_invalid(GgufBuilder *builder, const char *text)
{
    expect_error(builder, SUNDOG_FORMAT_ERROR_INVALID, text);
}

static void
expect_unsupported(GgufBuilder *builder, const char *text)
{
    expect_error(builder, SUNDOG_FORMAT_ERROR_UNSUPPORTED, text);
}

static void
test_good(void)
{
    GgufBuilder builder;
    model_fixture_build(&builder);
    g_autoptr(SundogModel) model = open_built(&builder);
    const SundogModelDimensions *dimensions = sundog_model_get_dimensions(model);
    g_assert_cmpstr(dimensions->architecture, ==, "llama");
    g_assert_cmpstr(dimensions->name, ==, "Tiny");
    g_assert_null(dimensions->licence);
    g_assert_cmpuint(dimensions->n_vocabulary, ==, 32);
    g_assert_cmpuint(dimensions->head_dim, ==, 16);
    g_assert_true(dimensions->rope.interleaved);
    g_assert_cmpint(dimensions->rope.scaling, ==, SUNDOG_ROPE_SCALING_NONE);
    /* embedding, norms, q and o, k and v, and the three of the MLP */
    g_assert_cmpuint(dimensions->n_parameters, ==,
                     32 * 64 + 5 * 64 + 2 * (2 * 64 * 64 + 2 * 64 * 32 + 3 * 64 * 128));
    g_assert_cmpstr(sundog_model_get_chat_template(model), ==, "{{ messages }}");
    g_assert_cmpstr(sundog_model_get_path(model), ==, "folder/tiny-file.gguf");
}

static void
test_tensors(void)
{
    GgufBuilder builder;
    model_fixture_build(&builder);
    g_autoptr(SundogModel) model = open_built(&builder);
    const SundogTensor *key = sundog_model_get_tensor(model, SUNDOG_TENSOR_ATTENTION_K, 1);
    g_assert_cmpstr(key->name, ==, "blk.1.attn_k.weight");
    g_assert_cmpuint(key->n_rows, ==, 32);
    g_assert_cmpuint(key->n_columns, ==, 64);
    g_assert_cmpuint(key->n_bytes, ==, 32 * 64 / 32 * 20);
    const SundogTensor *norm = sundog_model_get_tensor(model, SUNDOG_TENSOR_OUTPUT_NORM, 77);
    g_assert_cmpuint(norm->n_rows, ==, 1);
    g_assert_null(sundog_model_get_tensor(model, SUNDOG_TENSOR_OUTPUT, 0));
    g_assert_null(sundog_model_get_tensor(model, SUNDOG_TENSOR_ATTENTION_K, 2));
    g_assert_null(sundog_model_get_tensor(model, SUNDOG_TENSOR_ATTENTION_Q_BIAS, 0));
    g_assert_null(sundog_model_get_tensor(model, SUNDOG_N_TENSOR_ROLES, 0));
}

static void
test_defaults(void)
{
    GgufBuilder builder;
    model_fixture_build(&builder);
    gguf_builder_remove(&builder, "general.name");
    gguf_builder_remove(&builder, "llama.rope.dimension_count");
    gguf_builder_remove(&builder, "llama.rope.freq_base");
    gguf_builder_remove(&builder, "llama.vocab_size");
    gguf_builder_remove(&builder, "tokenizer.chat_template");
    gguf_builder_set_string(&builder, "general.license", "mit");
    g_autoptr(SundogModel) model = open_built(&builder);
    const SundogModelDimensions *dimensions = sundog_model_get_dimensions(model);
    g_assert_cmpstr(dimensions->name, ==, "tiny-file");
    g_assert_cmpstr(dimensions->licence, ==, "mit");
    g_assert_cmpuint(dimensions->rope.n_dims, ==, 16);
    g_assert_cmpfloat(dimensions->rope.base, ==, 10000);
    g_assert_null(sundog_model_get_chat_template(model));
}

static void
test_labels(void)
{
    /* Names that would steer a terminal, or fill a window, are not taken over. */
    g_autofree char *long_name = g_strnfill(10000, 'x');
    const char *const names[] = {"\x1b]0;title\a", "two\nlines", "", "\xff", long_name};
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        GgufBuilder builder;
        model_fixture_build(&builder);
        gguf_builder_set_string(&builder, "general.name", names[i]);
        gguf_builder_set_string(&builder, "general.license", names[i]);
        g_autoptr(SundogModel) model = open_built(&builder);
        g_assert_cmpstr(sundog_model_get_dimensions(model)->name, ==, "tiny-file");
        g_assert_null(sundog_model_get_dimensions(model)->licence);
    }
}

static void
test_sha256(void)
{
    GgufBuilder builder;
    model_fixture_build(&builder);
    g_autoptr(GBytes) bytes = gguf_builder_build(&builder);
    g_autofree char *expected = g_compute_checksum_for_bytes(G_CHECKSUM_SHA256, bytes);
    g_autoptr(SundogModel) model = open_built(&builder);
    const char *first = sundog_model_get_sha256(model, NULL, NULL);
    g_assert_cmpstr(first, ==, expected);
    g_assert_true(first == sundog_model_get_sha256(model, NULL, NULL));
}

/* --- Numbers ------------------------------------------------------------------------------------ */

static const char *const counts[] = {
    "llama.block_count",          "llama.context_length",
    "llama.embedding_length",     "llama.feed_forward_length",
    "llama.attention.head_count", "llama.attention.head_count_kv",
    "llama.attention.key_length", "llama.attention.value_length",
    "llama.rope.dimension_count", "llama.rope.scaling.original_context_length",
};

static void
test_counts(void)
{
    static const uint64_t values[] = {0, INT32_MAX, UINT32_MAX, UINT64_C(1) << 32, UINT64_MAX};
    for (size_t i = 0; i < G_N_ELEMENTS(counts); i++) {
        for (size_t j = 0; j < G_N_ELEMENTS(values); j++) {
            GgufBuilder builder;
            g_autofree char *text = g_strdup_printf(
                "%s is %" G_GUINT64_FORMAT ", expected a number from 1 to ", counts[i], values[j]);
            model_fixture_build(&builder);
            gguf_builder_set_u64(&builder, counts[i], values[j]);
            expect_invalid(&builder, text);
        }
    }
}

static void
test_count_types(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(counts); i++) {
        static const int32_t list[] = {4, 4};
        GgufBuilder builder;
        g_autofree char *text = g_strdup_printf("%s is not a whole number", counts[i]);
        model_fixture_build(&builder);
        gguf_builder_set_f32(&builder, counts[i], 4);
        expect_invalid(&builder, text);
        model_fixture_build(&builder);
        gguf_builder_set_i32s(&builder, counts[i], list, 2);
        expect_invalid(&builder, text);
    }
}

static void
test_missing_counts(void)
{
    static const char *const keys[] = {
        "llama.block_count",          "llama.context_length",
        "llama.embedding_length",     "llama.feed_forward_length",
        "llama.attention.head_count", "llama.attention.layer_norm_rms_epsilon"};
    for (size_t i = 0; i < G_N_ELEMENTS(keys); i++) {
        GgufBuilder builder;
        g_autofree char *text = g_strdup_printf("%s is missing", keys[i]);
        model_fixture_build(&builder);
        gguf_builder_remove(&builder, keys[i]);
        expect_invalid(&builder, text);
    }
}

static void
test_reals(void)
{
    static const char *const keys[] = {"llama.attention.layer_norm_rms_epsilon",
                                       "llama.rope.freq_base", "llama.rope.scaling.factor"};
    static const float values[] = {0, -1, G_MAXFLOAT, INFINITY, -INFINITY, NAN};
    for (size_t i = 0; i < G_N_ELEMENTS(keys); i++) {
        for (size_t j = 0; j < G_N_ELEMENTS(values); j++) {
            GgufBuilder builder;
            g_autofree char *text = g_strdup_printf("%s is ", keys[i]);
            model_fixture_build(&builder);
            gguf_builder_set_string(&builder, "llama.rope.scaling.type", "linear");
            gguf_builder_set_f32(&builder, keys[i], values[j]);
            expect_invalid(&builder, text);
        }
    }
}

static void
test_heads(void)
{
    static const struct {
        uint32_t n_heads, n_kv_heads, key_length, rope_dims;
        const char *text;
    } cases[] = {
        {3, 1, 0, 0,
         "embedding_length is 64, expected a multiple of llama.attention.head_count, 3"},
        {4, 3, 0, 0, "head_count is 4, expected a multiple of llama.attention.head_count_kv, 3"},
        {2, 4, 0, 0, "head_count is 2, expected a multiple of llama.attention.head_count_kv, 4"},
        {64, 2, 0, 0, "has 1 dimensions, expected an even number from 2 to 1024"},
        {4, 2, 15, 0, "value_length is 16, expected that of the keys, 15"},
        {4, 2, 0, 18, "dimension_count is 18, expected an even number up to 16"},
        {4, 2, 0, 3, "dimension_count is 3, expected an even number up to 16"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        GgufBuilder builder;
        model_fixture_build(&builder);
        gguf_builder_set_u32(&builder, "llama.attention.head_count", cases[i].n_heads);
        gguf_builder_set_u32(&builder, "llama.attention.head_count_kv", cases[i].n_kv_heads);
        if (cases[i].key_length != 0) {
            gguf_builder_set_u32(&builder, "llama.attention.key_length", cases[i].key_length);
            gguf_builder_set_u32(&builder, "llama.attention.value_length", 16);
        }
        if (cases[i].rope_dims != 0)
            gguf_builder_set_u32(&builder, "llama.rope.dimension_count", cases[i].rope_dims);
        int code = cases[i].key_length != 0 ? SUNDOG_FORMAT_ERROR_UNSUPPORTED
                                            : SUNDOG_FORMAT_ERROR_INVALID;
        expect_error(&builder, code, cases[i].text);
    }
}

static void
test_unknown_settings(void)
{
    GgufBuilder builder;
    model_fixture_build(&builder);
    gguf_builder_set_string(&builder, "general.architecture", "gpt\x1b[2J-neox");
    expect_unsupported(&builder, "general.architecture is \"gpt\\033[2J-neox\", known are: ");
    model_fixture_build(&builder);
    gguf_builder_remove(&builder, "general.architecture");
    expect_unsupported(&builder, "general.architecture is missing");
    model_fixture_build(&builder);
    gguf_builder_set_bool(&builder, "llama.attention.causal", 0);
    expect_unsupported(&builder, "llama.attention.causal is false");
    model_fixture_build(&builder);
    gguf_builder_set_string(&builder, "llama.rope.scaling.type", "longrope");
    expect_unsupported(&builder, "llama.rope.scaling.type is \"longrope\"");
}

/* A file whose rows cannot be put right is refused, and not answered from. */
static void
test_part_of_rows(void)
{
    static const char key[] = "granitehybrid.rope.dimension_count";
    g_autofree char *path =
        g_build_filename(g_getenv("SUNDOG_SOURCE"), "tests/prepare/tiny/granitehybrid.gguf", NULL);
    g_autofree char *file = NULL;
    gsize n_bytes = 0;
    g_assert_true(g_file_get_contents(path, &file, &n_bytes, NULL));
    char *found = memmem(file, n_bytes, key, strlen(key));
    g_assert_nonnull(found);
    uint32_t *n_dims = (uint32_t *)(void *)(found + strlen(key) + sizeof(uint32_t));
    uint32_t part = 2;
    memcpy(n_dims, &part, sizeof part);
    g_autoptr(GBytes) bytes = g_bytes_new(file, n_bytes);
    g_autoptr(GError) error = NULL;
    g_assert_null(sundog_model_new_from_bytes(bytes, "bamba.gguf", &error));
    g_assert_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_UNSUPPORTED);
    g_assert_nonnull(strstr(error->message, "in a wrong order"));
}

/* Numbers of a mixture that do not go together, or that the tensors do not bear out. */
static void
test_experts(void)
{
    static const struct {
        uint32_t n_used, n_groups, n_groups_used, size;
        const char *text;
        int code;
    } cases[] = {
        {0, 1, 1, 64, "llama.expert_used_count is 0, expected a number from 1"},
        {9, 1, 1, 64, "a token uses 9 of 8 experts"},
        {2, 3, 1, 64,
         "llama.expert_count is 8, expected a multiple of llama.expert_group_count, 3"},
        {3, 4, 1, 64, "a token uses 3 of 8 experts in 1 of 4 groups"},
        {2, 4, 5, 64, "a token uses 2 of 8 experts in 5 of 4 groups"},
        {2, 1, 1, 40, "experts are of 40 by 64 features, expected multiples of 16",
         SUNDOG_FORMAT_ERROR_UNSUPPORTED},
    };
    GgufBuilder builder;
    model_fixture_build(&builder);
    gguf_builder_set_u32(&builder, "llama.expert_count", 8);
    expect_invalid(&builder, "llama.expert_used_count is missing");
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        model_fixture_build(&builder);
        gguf_builder_set_u32(&builder, "llama.expert_count", 8);
        gguf_builder_set_u32(&builder, "llama.expert_used_count", cases[i].n_used);
        gguf_builder_set_u32(&builder, "llama.expert_group_count", cases[i].n_groups);
        gguf_builder_set_u32(&builder, "llama.expert_group_used_count", cases[i].n_groups_used);
        gguf_builder_set_u32(&builder, "llama.expert_feed_forward_length", cases[i].size);
        expect_error(&builder, cases[i].code != 0 ? cases[i].code : SUNDOG_FORMAT_ERROR_INVALID,
                     cases[i].text);
    }
}

/* Layers behind the model's own that guess tokens ahead are left out, and nothing else is. */
static void
test_draft_layers(void)
{
    GgufBuilder builder;
    model_fixture_build(&builder);
    gguf_builder_set_u32(&builder, "llama.block_count", 3);
    gguf_builder_set_u32(&builder, "llama.nextn_predict_layers", 1);
    gguf_builder_add_tensor(&builder, "blk.2.nextn.eh_proj.weight", SUNDOG_GGUF_F32, 8, 1, 32);
    g_autoptr(SundogModel) model = open_built(&builder);
    g_assert_cmpuint(sundog_model_get_dimensions(model)->n_layers, ==, 2);

    model_fixture_build(&builder);
    gguf_builder_set_u32(&builder, "llama.block_count", 3);
    gguf_builder_set_u32(&builder, "llama.nextn_predict_layers", 1);
    gguf_builder_add_tensor(&builder, "blk.3.attn_norm.weight", SUNDOG_GGUF_F32, 64, 1, 256);
    expect_unsupported(&builder, "the tensor blk.3.attn_norm.weight has no role");

    model_fixture_build(&builder);
    gguf_builder_set_u32(&builder, "llama.nextn_predict_layers", 2);
    expect_invalid(&builder, "llama.nextn_predict_layers is 2, expected a number from 1 to 1");

    model_fixture_build(&builder);
    gguf_builder_set_f32(&builder, "llama.attention.clamp_kqv", 8);
    expect_unsupported(&builder, "llama.attention.clamp_kqv is a setting that is not known");
}

static void
test_scaling(void)
{
    GgufBuilder builder;
    model_fixture_build(&builder);
    gguf_builder_set_string(&builder, "llama.rope.scaling.type", "yarn");
    gguf_builder_set_f32(&builder, "llama.rope.scaling.factor", 4);
    gguf_builder_set_u32(&builder, "llama.rope.scaling.original_context_length", 64);
    g_autoptr(SundogModel) yarn = open_built(&builder);
    g_assert_cmpint(sundog_model_get_dimensions(yarn)->rope.scaling, ==, SUNDOG_ROPE_SCALING_YARN);
    g_assert_cmpfloat(sundog_model_get_dimensions(yarn)->rope.factor, ==, 4);
    g_assert_cmpuint(sundog_model_get_dimensions(yarn)->rope.original_context, ==, 64);

    model_fixture_build(&builder);
    gguf_builder_set_f32(&builder, "llama.rope.scale_linear", 2);
    g_autoptr(SundogModel) linear = open_built(&builder);
    g_assert_cmpint(sundog_model_get_dimensions(linear)->rope.scaling, ==,
                    SUNDOG_ROPE_SCALING_LINEAR);
    g_assert_cmpfloat(sundog_model_get_dimensions(linear)->rope.factor, ==, 2);

    model_fixture_build(&builder);
    gguf_builder_add_tensor(&builder, "rope_freqs.weight", SUNDOG_GGUF_F32, 8, 1, 32);
    g_autoptr(SundogModel) factors = open_built(&builder);
    g_assert_cmpint(sundog_model_get_dimensions(factors)->rope.scaling, ==,
                    SUNDOG_ROPE_SCALING_LLAMA3);

    model_fixture_build(&builder);
    gguf_builder_set_f32(&builder, "llama.rope.scaling.attn_factor", 1.5f);
    gguf_builder_set_f32(&builder, "llama.rope.scaling.yarn_beta_fast", 16);
    g_autoptr(SundogModel) settings = open_built(&builder);
    g_assert_cmpfloat(sundog_model_get_dimensions(settings)->rope.magnitude, ==, 1.5);
    g_assert_cmpfloat(sundog_model_get_dimensions(settings)->rope.yarn_fast, ==, 16);
    g_assert_cmpfloat(sundog_model_get_dimensions(settings)->rope.yarn_slow, ==, 1);
}

/* Which layers of a model have a window, as a text of digits. */
static void
expect_windows(GgufBuilder *builder, const char *expected)
{
    g_autoptr(SundogModel) model = open_built(builder);
    const SundogModelDimensions *dimensions = sundog_model_get_dimensions(model);
    for (uint32_t i = 0; i < dimensions->n_layers; i++) {
        const SundogLayer *layer = &dimensions->layers[i];
        g_assert_cmpuint(layer->window, ==, expected[i] == '1' ? 100 : 0);
        g_assert_true(layer->rope == &dimensions->rope);
    }
}

static void
test_window(void)
{
    static const int32_t pattern[] = {0, 1};
    GgufBuilder builder;
    model_fixture_build(&builder);
    gguf_builder_set_u32(&builder, "llama.attention.sliding_window", 100);
    expect_windows(&builder, "11");
    model_fixture_build(&builder);
    gguf_builder_set_u32(&builder, "llama.attention.sliding_window", 256);
    expect_windows(&builder, "00");
    model_fixture_build(&builder);
    gguf_builder_set_u32(&builder, "llama.attention.sliding_window", 100);
    gguf_builder_set_u32(&builder, "llama.attention.sliding_window_pattern", 2);
    expect_windows(&builder, "10");
    model_fixture_build(&builder);
    gguf_builder_set_u32(&builder, "llama.attention.sliding_window", 100);
    gguf_builder_set_i32s(&builder, "llama.attention.sliding_window_pattern", pattern, 2);
    expect_windows(&builder, "01");
    model_fixture_build(&builder);
    gguf_builder_set_u32(&builder, "llama.attention.sliding_window", 100);
    gguf_builder_set_f32(&builder, "llama.rope.freq_base_swa", 500);
    g_autoptr(SundogModel) model = open_built(&builder);
    const SundogModelDimensions *dimensions = sundog_model_get_dimensions(model);
    g_assert_true(dimensions->layers[1].rope == &dimensions->window_rope);
    g_assert_cmpfloat(dimensions->window_rope.base, ==, 500);
    model_fixture_build(&builder);
    gguf_builder_set_i32s(&builder, "llama.attention.sliding_window_pattern", pattern, 1);
    expect_invalid(&builder, "sliding_window_pattern tells of 1 layers, expected 2");
}

static void
test_scales(void)
{
    GgufBuilder builder;
    model_fixture_build(&builder);
    g_autoptr(SundogModel) plain = open_built(&builder);
    const SundogModelDimensions *dimensions = sundog_model_get_dimensions(plain);
    g_assert_cmpfloat(dimensions->attention_scale, ==, 0.25);
    g_assert_cmpfloat(dimensions->embedding_scale, ==, 1);
    g_assert_cmpfloat(dimensions->logit_softcap, ==, 0);
    model_fixture_build(&builder);
    gguf_builder_set_f32(&builder, "llama.attention.scale", 0.5f);
    gguf_builder_set_f32(&builder, "llama.embedding_scale", 12);
    gguf_builder_set_f32(&builder, "llama.final_logit_softcapping", 30);
    gguf_builder_set_f32(&builder, "llama.attn_logit_softcapping", 0);
    g_autoptr(SundogModel) scaled = open_built(&builder);
    dimensions = sundog_model_get_dimensions(scaled);
    g_assert_cmpfloat(dimensions->attention_scale, ==, 0.5);
    g_assert_cmpfloat(dimensions->embedding_scale, ==, 12);
    g_assert_cmpfloat(dimensions->logit_softcap, ==, 30);
    g_assert_cmpfloat(dimensions->attention_softcap, ==, 0);
    model_fixture_build(&builder);
    gguf_builder_set_f32(&builder, "llama.residual_scale", -1);
    expect_invalid(&builder, "llama.residual_scale is -1, expected a number above 0");
}

/* --- Tensors ------------------------------------------------------------------------------------ */

/* The name of each tensor of the small model. */
static GPtrArray *
dup_tensor_names(void)
{
    GgufBuilder builder;
    GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
    model_fixture_build(&builder);
    for (guint i = 0; i < builder.tensors->len; i++)
        g_ptr_array_add(names, g_strdup(((GgufBuilderTensor *)builder.tensors->pdata[i])->name));
    gguf_builder_clear(&builder);
    return names;
}

static void
test_each_tensor_of_another_shape(void)
{
    g_autoptr(GPtrArray) names = dup_tensor_names();
    for (guint i = 0; i < names->len; i++) {
        for (int dimension = 0; dimension < 4; dimension++) {
            GgufBuilder builder;
            g_autofree char *text =
                g_strdup_printf("tensor %s has the shape [", (char *)names->pdata[i]);
            model_fixture_build(&builder);
            GgufBuilderTensor *tensor = gguf_builder_get_tensor(&builder, names->pdata[i]);
            tensor->rank = 4;
            tensor->shape[dimension] *= 2;
            tensor->n_bytes *= 2;
            expect_invalid(&builder, text);
        }
    }
}

static void
test_each_tensor_of_another_type(void)
{
    static const uint32_t types[] = {4, 99, UINT32_MAX, SUNDOG_GGUF_I32};
    g_autoptr(GPtrArray) names = dup_tensor_names();
    for (guint i = 0; i < names->len; i++) {
        for (size_t j = 0; j < G_N_ELEMENTS(types); j++) {
            GgufBuilder builder;
            g_autofree char *text = g_strdup_printf("tensor %s is of ", (char *)names->pdata[i]);
            model_fixture_build(&builder);
            GgufBuilderTensor *tensor = gguf_builder_get_tensor(&builder, names->pdata[i]);
            tensor->type = types[j];
            tensor->n_bytes = tensor->shape[0] * tensor->shape[1] * 4;
            expect_unsupported(&builder, text);
        }
    }
}

static void
test_quantized_vector(void)
{
    GgufBuilder builder;
    model_fixture_build(&builder);
    GgufBuilderTensor *norm = gguf_builder_get_tensor(&builder, "output_norm.weight");
    norm->type = SUNDOG_GGUF_Q8_0;
    expect_unsupported(&builder, "output_norm.weight is of Q8_0, expected F32, F16 or BF16");
}

static void
test_unclaimed_tensor(void)
{
    static const char *const names[] = {"blk.0.attn_mystery.weight", "blk.0.attn_mystery.bias",
                                        "blk.2.attn_norm.weight", "something"};
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        GgufBuilder builder;
        g_autofree char *text = g_strdup_printf("the tensor %s has no role", names[i]);
        model_fixture_build(&builder);
        gguf_builder_add_tensor(&builder, names[i], SUNDOG_GGUF_F32, 64, 1, 256);
        expect_unsupported(&builder, text);
    }
}

static void
test_biases(void)
{
    GgufBuilder builder;
    model_fixture_build(&builder);
    gguf_builder_add_tensor(&builder, "blk.1.attn_k.bias", SUNDOG_GGUF_F32, 32, 1, 128);
    gguf_builder_add_tensor(&builder, "output.weight", SUNDOG_GGUF_Q8_0, 64, 32, 64 * 34);
    g_autoptr(SundogModel) model = open_built(&builder);
    g_assert_nonnull(sundog_model_get_tensor(model, SUNDOG_TENSOR_ATTENTION_K_BIAS, 1));
    g_assert_null(sundog_model_get_tensor(model, SUNDOG_TENSOR_ATTENTION_K_BIAS, 0));
    g_assert_cmpuint(sundog_model_get_tensor(model, SUNDOG_TENSOR_OUTPUT, 0)->n_rows, ==, 32);
}

static void
test_truncated(void)
{
    GgufBuilder builder;
    model_fixture_build(&builder);
    g_autoptr(GBytes) whole = gguf_builder_build(&builder);
    for (size_t n = 0; n < g_bytes_get_size(whole); n += 64) {
        g_autoptr(GBytes) cut = g_bytes_new(g_bytes_get_data(whole, NULL), n);
        g_autoptr(GError) error = NULL;
        g_assert_null(sundog_model_new_from_bytes(cut, "tiny.gguf", &error));
        g_assert_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_TRUNCATED);
    }
    gguf_builder_clear(&builder);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/model/good", test_good);
    g_test_add_func("/model/tensors", test_tensors);
    g_test_add_func("/model/defaults", test_defaults);
    g_test_add_func("/model/labels", test_labels);
    g_test_add_func("/model/sha256", test_sha256);
    g_test_add_func("/model/counts", test_counts);
    g_test_add_func("/model/count-types", test_count_types);
    g_test_add_func("/model/missing-counts", test_missing_counts);
    g_test_add_func("/model/reals", test_reals);
    g_test_add_func("/model/heads", test_heads);
    g_test_add_func("/model/unknown-settings", test_unknown_settings);
    g_test_add_func("/model/part-of-rows", test_part_of_rows);
    g_test_add_func("/model/experts", test_experts);
    g_test_add_func("/model/draft-layers", test_draft_layers);
    g_test_add_func("/model/scaling", test_scaling);
    g_test_add_func("/model/window", test_window);
    g_test_add_func("/model/scales", test_scales);
    g_test_add_func("/model/each-tensor-of-another-shape", test_each_tensor_of_another_shape);
    g_test_add_func("/model/each-tensor-of-another-type", test_each_tensor_of_another_type);
    g_test_add_func("/model/quantized-vector", test_quantized_vector);
    g_test_add_func("/model/unclaimed-tensor", test_unclaimed_tensor);
    g_test_add_func("/model/biases", test_biases);
    g_test_add_func("/model/truncated", test_truncated);
    return g_test_run();
}
