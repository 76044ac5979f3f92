/* The starter model and Gemma 3 against transformers, and the starter model's
 * quantized activations against its float ones. */

#include "tests/prepare/core-runner.h"
#include "tests/prepare/fixture.h"

#include <math.h>
#include <string.h>

#define CHUNK 64

/* Of quantized activations, over the fixture's prompts and their greedy tokens. */
#define MEAN_BOUND 0.007
#define P99_BOUND 0.04
#define ALIKE_BOUND 0.96

typedef struct {
    JsonNode *root;
    int32_t *entries; /* [n_entries] of the vocabulary whose logits the fixture holds */
    int32_t n_entries;
} Reference;

/* A model among the cached files, and its fixture. */
typedef struct {
    const char *file;
    const char *fixture;
    guint n_prompts;
} Real;

static const Real starter = {"smollm2.gguf", "reference/smollm2.json", 5};
static const Real gemma3 = {"gemma3-270m.gguf", "reference/gemma3.json", 2};

static char *
dup_model_path(const Real *real)
{
    const char *cache = g_getenv("SUNDOG_TEST_CACHE");
    g_autofree char *path = g_build_filename(cache != NULL ? cache : ".", real->file, NULL);
    return g_file_test(path, G_FILE_TEST_EXISTS) ? g_steal_pointer(&path) : NULL;
}

static bool
open_or_skip(CoreRunner *runner, const Real *real, SundogActivations activations)
{
    g_autofree char *path = dup_model_path(real);
    if (path == NULL) {
        g_autofree char *reason =
            g_strdup_printf("%s is not in the cache of test files", real->file);
        g_test_skip(reason);
        return false;
    }
    core_runner_open(runner, path, activations, 2);
    return true;
}

static void
reference_init(Reference *reference, const Real *real)
{
    reference->root = fixture_load(real->fixture);
    reference->entries = fixture_dup_numbers(json_node_get_object(reference->root), "entries",
                                             &reference->n_entries);
}

static void
reference_clear(Reference *reference)
{
    json_node_unref(reference->root);
    g_free(reference->entries);
}

static JsonArray *
get_prompts(const Reference *reference)
{
    return json_object_get_array_member(json_node_get_object(reference->root), "prompts");
}

/* The error over the entries that the fixture holds, which lie evenly over the vocabulary: for every
 * entry, make-reference.py compares. */
static double
sampled_error(const Reference *reference, const float *logits, const float *expected)
{
    g_autofree float *sampled = g_new(float, reference->n_entries);
    for (int32_t i = 0; i < reference->n_entries; i++)
        sampled[i] = logits[reference->entries[i]];
    return relative_error(sampled, expected, (size_t)reference->n_entries);
}

static void
check_greedy(CoreRunner *runner, const Fixture *fixture, int32_t first)
{
    g_autofree float *logits = g_new(float, runner->n_vocabulary);
    int32_t token = first;
    for (int32_t i = 0; i < fixture->n_greedy; i++) {
        const RunnerPart part = {
            .start = fixture->n_tokens + i, .n_tokens = 1, .tokens = &token, .logits = logits};
        g_assert_cmpint(token, ==, fixture->greedy[i]);
        core_runner_step(runner, &part, 1);
        token = core_runner_best(runner, logits);
    }
}

static double
check_prompt(CoreRunner *runner, const Reference *reference, JsonObject *prompt)
{
    Fixture fixture;
    double largest = 0;
    fixture_init(&fixture, prompt);
    g_autofree float *logits = core_runner_prefill(runner, fixture.tokens, fixture.n_tokens, CHUNK);
    g_assert_cmpint(fixture.n_logit_rows, ==, fixture.n_tokens);
    for (int32_t i = 0; i < fixture.n_tokens; i++)
        largest = MAX(largest, sampled_error(reference, logits + (size_t)i * runner->n_vocabulary,
                                             fixture.logits + i * fixture.n_logit_columns));
    check_greedy(
        runner, &fixture,
        core_runner_best(runner, logits + (size_t)(fixture.n_tokens - 1) * runner->n_vocabulary));
    fixture_clear(&fixture);
    return largest;
}

static void
test_transformers(gconstpointer data)
{
    const Real *real = data;
    CoreRunner runner;
    Reference reference;
    double largest = 0;
    if (!open_or_skip(&runner, real, SUNDOG_ACTIVATIONS_F32))
        return;
    reference_init(&reference, real);
    JsonArray *prompts = get_prompts(&reference);
    g_assert_cmpuint(json_array_get_length(prompts), ==, real->n_prompts);
    for (guint i = 0; i < json_array_get_length(prompts); i++)
        largest = MAX(largest,
                      check_prompt(&runner, &reference, json_array_get_object_element(prompts, i)));
    g_test_message("largest relative error of a position's logits: %.2e", largest);
    /* The promise is 1e-3; the order of accumulation alone makes a hundredth of that. */
    g_assert_cmpfloat(largest, <, 1e-4);
    reference_clear(&reference);
    core_runner_close(&runner);
}

/* Kullback-Leibler divergence in nats of the distribution of b from that of a. */
static double
divergence(const float *a, const float *b, uint32_t n)
{
    double best_a = a[0], best_b = b[0], sum_a = 0, sum_b = 0, sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        best_a = MAX(best_a, a[i]);
        best_b = MAX(best_b, b[i]);
    }
    for (uint32_t i = 0; i < n; i++) {
        sum_a += exp(a[i] - best_a);
        sum_b += exp(b[i] - best_b);
    }
    for (uint32_t i = 0; i < n; i++) {
        double log_a = a[i] - best_a - log(sum_a);
        sum += exp(log_a) * (log_a - (b[i] - best_b - log(sum_b)));
    }
    return sum;
}

typedef struct {
    GArray *divergences; /* of double */
    uint32_t n_alike;
} Comparison;

/* Over the prompt and the greedy tokens after it, which both see alike. */
static void
compare_prompt(CoreRunner *exact, CoreRunner *quantized, JsonObject *prompt, Comparison *comparison)
{
    Fixture fixture;
    fixture_init(&fixture, prompt);
    int32_t n = fixture.n_tokens + fixture.n_greedy;
    g_autofree int32_t *tokens = g_new(int32_t, n);
    memcpy(tokens, fixture.tokens, (size_t)fixture.n_tokens * sizeof(int32_t));
    memcpy(tokens + fixture.n_tokens, fixture.greedy, (size_t)fixture.n_greedy * sizeof(int32_t));
    g_autofree float *a = core_runner_prefill(exact, tokens, n, CHUNK);
    g_autofree float *b = core_runner_prefill(quantized, tokens, n, CHUNK);
    for (int32_t i = 0; i < n; i++) {
        size_t at = (size_t)i * exact->n_vocabulary;
        double value = divergence(a + at, b + at, exact->n_vocabulary);
        g_array_append_val(comparison->divergences, value);
        comparison->n_alike +=
            core_runner_best(exact, a + at) == core_runner_best(quantized, b + at);
    }
    fixture_clear(&fixture);
}

static int
compare_doubles(const void *a, const void *b)
{
    double left = *(const double *)a;
    double right = *(const double *)b;
    return (left > right) - (left < right);
}

/* Bounds are twice what is measured, so that a kernel that loses precision is seen. */
static void
check_comparison(const Comparison *comparison)
{
    GArray *values = comparison->divergences;
    double mean = 0;
    g_array_sort(values, compare_doubles);
    for (guint i = 0; i < values->len; i++)
        mean += g_array_index(values, double, i) / values->len;
    double p99 = g_array_index(values, double, values->len * 99 / 100);
    double alike = (double)comparison->n_alike / values->len;
    g_test_message("%u positions: mean divergence %.2e nats, p99 %.2e, best token alike %.1f %%",
                   values->len, mean, p99, 100 * alike);
    g_assert_cmpfloat(mean, <, MEAN_BOUND);
    g_assert_cmpfloat(p99, <, P99_BOUND);
    g_assert_cmpfloat(alike, >, ALIKE_BOUND);
}

static void
test_quantized(void)
{
    CoreRunner exact;
    CoreRunner quantized;
    Reference reference;
    if (!open_or_skip(&exact, &starter, SUNDOG_ACTIVATIONS_F32) ||
        !open_or_skip(&quantized, &starter, SUNDOG_ACTIVATIONS_INT8))
        return;
    reference_init(&reference, &starter);
    Comparison comparison = {.divergences = g_array_new(FALSE, FALSE, sizeof(double))};
    JsonArray *prompts = get_prompts(&reference);
    for (guint i = 0; i < json_array_get_length(prompts); i++)
        compare_prompt(&exact, &quantized, json_array_get_object_element(prompts, i), &comparison);
    check_comparison(&comparison);
    g_array_unref(comparison.divergences);
    reference_clear(&reference);
    core_runner_close(&quantized);
    core_runner_close(&exact);
}

/* A real model's chunks, company and threads: every case is covered on tiny models; here at its size. */
static void
check_invariance(SundogActivations activations)
{
    CoreRunner runner;
    Reference reference;
    Fixture fixture;
    if (!open_or_skip(&runner, &starter, activations))
        return;
    reference_init(&reference, &starter);
    fixture_init(&fixture, json_array_get_object_element(get_prompts(&reference), 3));
    size_t n = runner.n_vocabulary;
    int32_t last = fixture.n_tokens - 1;
    g_autofree float *expected =
        core_runner_prefill(&runner, fixture.tokens, fixture.n_tokens, CHUNK);
    g_autofree float *chunked = core_runner_prefill(&runner, fixture.tokens, fixture.n_tokens, 23);
    g_assert_cmpmem(chunked, (size_t)fixture.n_tokens * n * sizeof(float), expected,
                    (size_t)fixture.n_tokens * n * sizeof(float));
    g_autofree float *own = g_new(float, n);
    const RunnerPart parts[] = {{.sequence = 2, .n_tokens = 17, .tokens = fixture.tokens + 3},
                                {.sequence = 0,
                                 .start = last,
                                 .n_tokens = 1,
                                 .tokens = fixture.tokens + last,
                                 .logits = own},
                                {.sequence = 1, .n_tokens = 5, .tokens = fixture.tokens}};
    core_runner_step(&runner, parts, G_N_ELEMENTS(parts));
    g_assert_cmpmem(own, n * sizeof(float), expected + (size_t)last * n, n * sizeof(float));
    fixture_clear(&fixture);
    reference_clear(&reference);
    core_runner_close(&runner);
}

static void
test_invariance(void)
{
    check_invariance(SUNDOG_ACTIVATIONS_F32);
    check_invariance(SUNDOG_ACTIVATIONS_INT8);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_data_func("/smollm2/transformers", &starter, test_transformers);
    g_test_add_data_func("/gemma3/transformers", &gemma3, test_transformers);
    g_test_add_func("/smollm2/quantized", test_quantized);
    g_test_add_func("/smollm2/invariance", test_invariance);
    return g_test_run();
}
