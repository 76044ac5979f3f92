/* Tiny random models that give vectors or scores, against transformers on the same weights: all texts of a
 * fixture in one step and one after the other. Each file of numbers in the folder is one model. */

#include "engine/prepare/pair-template.h"
#include "engine/prepare/verify.h"
#include "tests/prepare/core-runner.h"
#include "tests/prepare/fixture.h"

#include <string.h>

#define MAX_TEXTS RUNNER_SEQUENCES

typedef struct {
    int32_t *tokens; /* [n] */
    int32_t *types;
    int32_t n;
    const float *expected; /* [n_outputs] */
} Text;

typedef struct {
    CoreRunner runner;
    Text texts[MAX_TEXTS];
    uint32_t n_texts;
    uint32_t n_outputs;
    float *expected;
} Pooled;

static void
read_texts(Pooled *pooled, JsonArray *texts)
{
    pooled->n_texts = json_array_get_length(texts);
    g_assert_cmpuint(pooled->n_texts, <=, MAX_TEXTS);
    pooled->expected = g_new(float, pooled->n_texts * pooled->n_outputs);
    for (guint i = 0; i < pooled->n_texts; i++) {
        JsonObject *object = json_array_get_object_element(texts, i);
        JsonArray *result = json_object_get_array_member(object, "result");
        Text *text = &pooled->texts[i];
        text->tokens = fixture_dup_numbers(object, "tokens", &text->n);
        text->types = fixture_dup_numbers(object, "types", &text->n);
        text->expected = pooled->expected + i * pooled->n_outputs;
        g_assert_cmpuint(json_array_get_length(result), ==, pooled->n_outputs);
        for (guint k = 0; k < pooled->n_outputs; k++)
            pooled->expected[i * pooled->n_outputs + k] =
                (float)json_array_get_double_element(result, k);
    }
}

static void
pooled_init(Pooled *pooled, const char *name, SundogActivations activations)
{
    g_autofree char *json = g_strdup_printf("pooled/%s.json", name);
    g_autofree char *model =
        g_strdup_printf(g_str_has_prefix(name, "hf-") ? "pooled/%s" : "pooled/%s.gguf", name);
    g_autofree char *path = fixture_dup_path(model);
    g_autoptr(JsonNode) root = fixture_load(json);
    *pooled = (Pooled){0};
    core_runner_open(&pooled->runner, path, activations, 2);
    const SundogCoreInfo *info = sundog_core_get_info(pooled->runner.core);
    bool scores = strstr(name, "scores") != NULL;
    g_assert_cmpint(info->purpose, ==, scores ? SUNDOG_CORE_RERANKS : SUNDOG_CORE_EMBEDS);
    g_assert_cmpuint(sundog_core_get_cache(pooled->runner.core)->page_bytes, ==, 0);
    pooled->n_outputs = info->n_outputs;
    read_texts(pooled, json_object_get_array_member(json_node_get_object(root), "texts"));
}

static void
pooled_clear(Pooled *pooled)
{
    core_runner_close(&pooled->runner);
    for (uint32_t i = 0; i < pooled->n_texts; i++) {
        g_free(pooled->texts[i].tokens);
        g_free(pooled->texts[i].types);
    }
    g_free(pooled->expected);
}

/* Texts [begin, end) in one step; their results in the replay's own buffer. */
static const float *
run_texts(Pooled *pooled, uint32_t begin, uint32_t end)
{
    RunnerPart parts[MAX_TEXTS] = {0};
    int32_t *types = sundog_replay_get_buffer(pooled->runner.replay, "token_types");
    int32_t row = 0;
    for (uint32_t i = begin; i < end; i++) {
        const Text *text = &pooled->texts[i];
        parts[i - begin] = (RunnerPart){.sequence = i, .n_tokens = text->n, .tokens = text->tokens};
        for (int32_t t = 0; types != NULL && t < text->n; t++)
            types[row + t] = text->types[t];
        row += text->n;
    }
    core_runner_step(&pooled->runner, parts, end - begin);
    return sundog_replay_get_buffer(pooled->runner.replay, "result");
}

/* Pages of one step are numbered from 1 on, in any order. */
static void
number_pages(Pooled *pooled)
{
    int32_t next = 0;
    for (uint32_t i = 0; i < pooled->n_texts; i++)
        for (int32_t p = 0; p * 64 < pooled->texts[i].n; p++)
            pooled->runner.pages[i][p] = ++next;
}

/* A text's page numbers where it is alone in its step. */
static void
number_pages_alone(Pooled *pooled, uint32_t text)
{
    for (int32_t p = 0; p * 64 < pooled->texts[text].n; p++)
        pooled->runner.pages[text][p] = p + 1;
}

/* Company changes no bit. */
static void
check_alone(Pooled *pooled, const float *together)
{
    size_t n_bytes = pooled->n_outputs * sizeof(float);
    g_autofree float *kept = g_memdup2(together, pooled->n_texts * n_bytes);
    for (uint32_t i = 0; i < pooled->n_texts; i++) {
        number_pages_alone(pooled, i);
        const float *alone = run_texts(pooled, i, i + 1);
        g_assert_cmpmem(alone, n_bytes, kept + i * pooled->n_outputs, n_bytes);
    }
}

static void
check(const char *name, SundogActivations activations, double bound)
{
    Pooled pooled;
    double largest = 0;
    pooled_init(&pooled, name, activations);
    number_pages(&pooled);
    const float *results = run_texts(&pooled, 0, pooled.n_texts);
    for (uint32_t i = 0; i < pooled.n_texts; i++)
        largest = MAX(largest, relative_error(results + i * pooled.n_outputs,
                                              pooled.texts[i].expected, pooled.n_outputs));
    g_test_message("%s: largest relative error %.2e", name, largest);
    g_assert_cmpfloat(largest, <, bound);
    check_alone(&pooled, results);
    pooled_clear(&pooled);
}

static void
test_float(gconstpointer name)
{
    check(name, SUNDOG_ACTIVATIONS_F32, 2e-5);
}

/* A text a position; of floats the fused program has the bits of the other. */
static void
test_verify(gconstpointer name)
{
    Pooled pooled;
    g_auto(SundogVerifyReport) report = {0};
    g_autoptr(GError) error = NULL;
    pooled_init(&pooled, name, SUNDOG_ACTIVATIONS_F32);
    const SundogVerifyOptions options = {.n_threads = 1};
    g_assert_true(sundog_verify(pooled.runner.core, &options, &report, &error));
    g_assert_no_error(error);
    g_assert_cmpstr(report.problems, ==, NULL);
    g_assert_false(report.has_distributions);
    g_assert_cmpuint(report.n_positions, >, 1);
    g_assert_cmpfloat(report.largest_error, ==, 0);
    pooled_clear(&pooled);
}

static void
assert_pair_template(const char *name, const char *begin, const char *end)
{
    g_autofree char *path = fixture_dup_path(name);
    g_autoptr(GError) error = NULL;
    g_autoptr(SundogModel) model = sundog_model_open(path, &error);
    g_assert_no_error(error);
    g_autofree char *text = sundog_pair_template_dup(model);
    if (begin == NULL) {
        g_assert_null(text);
        return;
    }
    g_assert_true(g_str_has_prefix(text, begin));
    g_assert_true(g_str_has_suffix(text, end));
}

/* Of a chat template that knows a query and a document; the makers' where there is none. */
static void
test_pair_template(void)
{
    assert_pair_template("pooled/hf-qwen3-logit-scores", "<query>{query}", "<document>{document}!");
    assert_pair_template("pooled/hf-qwen3-scores", "<|im_start|>system\n", "</think>\n\n");
    assert_pair_template("pooled/hf-bert-scores", NULL, NULL);
}

/* Weights of floats do not quantize activations. */
static void
test_default(gconstpointer name)
{
    check(name, SUNDOG_ACTIVATIONS_INT8, 2e-5);
}

int
main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, NULL);
    g_autofree char *folder = fixture_dup_path("pooled");
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    g_assert_nonnull(dir);
    for (const char *file; (file = g_dir_read_name(dir)) != NULL;)
        if (g_str_has_suffix(file, ".json"))
            g_ptr_array_add(names, g_strndup(file, strlen(file) - strlen(".json")));
    g_assert_cmpuint(names->len, >, 0);
    for (guint i = 0; i < names->len; i++) {
        const char *name = names->pdata[i];
        g_autofree char *with_float = g_strdup_printf("/pooled/float/%s", name);
        g_autofree char *usual = g_strdup_printf("/pooled/default/%s", name);
        g_test_add_data_func(with_float, name, test_float);
        g_test_add_data_func(usual, name, test_default);
    }
    g_test_add_func("/pooled/pair-template", test_pair_template);
    g_test_add_data_func("/pooled/verify/bert", "bert", test_verify);
    g_test_add_data_func("/pooled/verify/scores", "hf-modern-bert-scores", test_verify);
    return g_test_run();
}
