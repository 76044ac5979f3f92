/* Tiny random models, against transformers on the same weights: every family, layout, head size, rotary
 * scaling, bias and head that the recipes know. Each file of numbers in the folder is one model. */

#include "tests/prepare/core-runner.h"
#include "tests/prepare/fixture.h"

#include <string.h>

typedef struct {
    CoreRunner runner;
    Fixture fixture;
    int32_t *positions; /* [fixture.n_logit_rows] */
} Tiny;

static void
tiny_init_with(Tiny *tiny, const char *name, SundogActivations activations,
               void (*open)(CoreRunner *runner, const char *model, SundogActivations activations,
                            unsigned n_threads))
{
    int32_t n;
    g_autofree char *json = g_strdup_printf("tiny/%s.json", name);
    /* A folder of that name, or a file. */
    g_autofree char *model =
        g_strdup_printf(g_str_has_prefix(name, "hf-") ? "tiny/%s" : "tiny/%s.gguf", name);
    g_autofree char *path = fixture_dup_path(model);
    g_autoptr(JsonNode) root = fixture_load(json);
    fixture_init(&tiny->fixture, json_node_get_object(root));
    tiny->positions = fixture_dup_numbers(json_node_get_object(root), "positions", &n);
    g_assert_cmpint(n, ==, tiny->fixture.n_logit_rows);
    open(&tiny->runner, path, activations, 2);
    g_assert_cmpuint(tiny->runner.n_vocabulary, ==, tiny->fixture.n_logit_columns);
}

static void
tiny_init(Tiny *tiny, const char *name, SundogActivations activations)
{
    tiny_init_with(tiny, name, activations, core_runner_open);
}

static void
tiny_clear(Tiny *tiny)
{
    core_runner_close(&tiny->runner);
    fixture_clear(&tiny->fixture);
    g_free(tiny->positions);
}

static double
largest_error(const Tiny *tiny, const float *logits)
{
    size_t n = tiny->runner.n_vocabulary;
    double largest = 0;
    for (int32_t i = 0; i < tiny->fixture.n_logit_rows; i++)
        largest = MAX(largest, relative_error(logits + (size_t)tiny->positions[i] * n,
                                              tiny->fixture.logits + (size_t)i * n, n));
    return largest;
}

/* Float activations differ from transformers by the order of accumulation alone. */
static void
test_float(gconstpointer name)
{
    Tiny tiny;
    tiny_init(&tiny, name, SUNDOG_ACTIVATIONS_F32);
    const Fixture *fixture = &tiny.fixture;
    g_autofree float *logits =
        core_runner_prefill(&tiny.runner, fixture->tokens, fixture->n_tokens, 64);
    size_t n = tiny.runner.n_vocabulary;
    double error = largest_error(&tiny, logits);
    g_test_message("%s: largest relative error %.2e", (const char *)name, error);
    g_assert_cmpfloat(error, <, 2e-5);
    const float *last = logits + (size_t)(fixture->n_tokens - 1) * n;
    g_autofree float *next = g_new(float, n);
    for (int32_t i = 0; i < fixture->n_greedy; i++) {
        int32_t token = core_runner_best(&tiny.runner, last);
        const RunnerPart part = {
            .start = fixture->n_tokens + i, .n_tokens = 1, .tokens = &token, .logits = next};
        g_assert_cmpint(token, ==, fixture->greedy[i]);
        core_runner_step(&tiny.runner, &part, 1);
        g_assert_cmpint(core_runner_sample(&tiny.runner), ==, core_runner_best(&tiny.runner, next));
        last = next;
    }
    tiny_clear(&tiny);
}

static bool
is_quantized(const char *name)
{
    static const char *const others[] = {"mixed", "hf-gpt-oss", "hf-llama-gptq"};
    bool is_other = false;
    for (size_t i = 0; i < G_N_ELEMENTS(others); i++)
        is_other = is_other || strcmp(name, others[i]) == 0;
    return is_other || g_str_has_prefix(name, "q");
}

/* Random weights have no structure that hides the rounding of activations to 8 bits, so this bound is
 * wide; models of floats do not quantize activations and stay close. */
static void
test_quantized(gconstpointer name)
{
    Tiny tiny;
    tiny_init(&tiny, name, SUNDOG_ACTIVATIONS_INT8);
    g_autofree float *logits =
        core_runner_prefill(&tiny.runner, tiny.fixture.tokens, tiny.fixture.n_tokens, 64);
    double error = largest_error(&tiny, logits);
    g_test_message("largest relative error %.2e", error);
    g_assert_cmpfloat(error, <, is_quantized(name) ? 0.12 : 1e-2);
    tiny_clear(&tiny);
}

static void
assert_same(const float *a, const float *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (memcmp(a + i, b + i, sizeof(float)) != 0)
            g_error("value %zu is %.9g and %.9g", i, a[i], b[i]);
}

static void
check_chunks(Tiny *tiny, const float *expected)
{
    static const int32_t chunks[] = {1, 5, 6, 7, 16, 63};
    const Fixture *fixture = &tiny->fixture;
    for (size_t i = 0; i < G_N_ELEMENTS(chunks); i++) {
        g_autofree float *logits =
            core_runner_prefill(&tiny->runner, fixture->tokens, fixture->n_tokens, chunks[i]);
        assert_same(logits, expected, (size_t)fixture->n_tokens * tiny->runner.n_vocabulary);
    }
}

/* Sequence 0's tokens one a step, beside prefill of others of changing size, in changing order. */
static void
check_company(Tiny *tiny, const float *expected)
{
    const Fixture *fixture = &tiny->fixture;
    size_t n = tiny->runner.n_vocabulary;
    g_autofree float *own = g_new(float, n);
    g_autofree float *others = g_new(float, 64 * n);
    for (int32_t i = 0; i < fixture->n_tokens; i++) {
        RunnerPart parts[3] = {
            {.sequence = 1, .n_tokens = 1 + i % 7, .tokens = fixture->tokens, .logits = others},
            {.sequence = 2, .n_tokens = 1 + i % 3, .tokens = fixture->tokens + 20},
            {.sequence = 3, .n_tokens = 1 + i % 17, .tokens = fixture->tokens + 5}};
        parts[i % 3] = (RunnerPart){
            .sequence = 0, .start = i, .n_tokens = 1, .tokens = fixture->tokens + i, .logits = own};
        core_runner_step(&tiny->runner, parts, 3);
        assert_same(own, expected + (size_t)i * n, n);
    }
}

/* Recurrent state is good for the tokens that it has taken in and no others. */
static bool
has_states(const Tiny *tiny)
{
    return sundog_core_get_cache(tiny->runner.core)->state_bytes > 0;
}

/* Another sequence goes on from the first page of sequence 0, which is full and shared. */
static void
check_prefix(Tiny *tiny, const float *expected)
{
    const Fixture *fixture = &tiny->fixture;
    size_t n = tiny->runner.n_vocabulary;
    int32_t n_left = MIN(fixture->n_tokens - 64, 60);
    int32_t n_before = has_states(tiny) ? 64 : fixture->n_tokens;
    g_autofree float *whole = core_runner_prefill(&tiny->runner, fixture->tokens, n_before, 64);
    g_autofree float *logits = g_new(float, (size_t)n_left *n);
    tiny->runner.pages[1][0] = tiny->runner.pages[0][0];
    if (has_states(tiny))
        sundog_replay_copy_state(tiny->runner.replay, SUNDOG_STATE_SLOTS, 1,
                                 2); /* sequence 0's slot to sequence 1's */
    const RunnerPart part = {.sequence = 1,
                             .start = 64,
                             .n_tokens = n_left,
                             .tokens = fixture->tokens + 64,
                             .logits = logits};
    core_runner_step(&tiny->runner, &part, 1);
    assert_same(logits, expected + 64 * n, (size_t)n_left * n);
}

/* Tokens that are taken back leave nothing behind: others come in their place, then they come again. */
static void
check_rollback(Tiny *tiny, const float *expected)
{
    const Fixture *fixture = &tiny->fixture;
    size_t n = tiny->runner.n_vocabulary;
    g_autofree float *logits = g_new(float, 30 * n);
    RunnerPart part = {.start = 40, .n_tokens = 30, .logits = logits};
    part.tokens = fixture->tokens;
    core_runner_step(&tiny->runner, &part, 1);
    part.tokens = fixture->tokens + part.start;
    core_runner_step(&tiny->runner, &part, 1);
    assert_same(logits, expected + 40 * n, 30 * n);
}

static void
check_invariance(const char *name, SundogActivations activations)
{
    Tiny tiny;
    tiny_init(&tiny, name, activations);
    g_autofree float *expected =
        core_runner_prefill(&tiny.runner, tiny.fixture.tokens, tiny.fixture.n_tokens, 64);
    if (!has_states(&tiny))
        check_rollback(&tiny, expected);
    check_chunks(&tiny, expected);
    /* Of a model of floats, what is new with the second kind of activations is the cache's type alone. */
    if (activations == SUNDOG_ACTIVATIONS_F32 || is_quantized(name))
        check_company(&tiny, expected);
    check_prefix(&tiny, expected);
    tiny_clear(&tiny);
}

static void
test_invariance(gconstpointer name)
{
    check_invariance(name, SUNDOG_ACTIVATIONS_F32);
    check_invariance(name, SUNDOG_ACTIVATIONS_INT8);
}

/* Keys and values in 8 bits: heads of several sizes, windows, sinks, a latent, and state spaces beside. */
static void
test_narrow(gconstpointer name)
{
    Tiny tiny;
    tiny_init_with(&tiny, name, SUNDOG_ACTIVATIONS_F32, core_runner_open_narrow);
    g_autofree float *logits =
        core_runner_prefill(&tiny.runner, tiny.fixture.tokens, tiny.fixture.n_tokens, 64);
    double error = largest_error(&tiny, logits);
    g_test_message("largest relative error %.2e", error);
    g_assert_cmpfloat(error, <, 0.06); /* random weights hide no rounding */
    g_assert_cmpfloat(error, >, 1e-6); /* they are in 8 bits */
    check_chunks(&tiny, logits);
    check_company(&tiny, logits);
    check_prefix(&tiny, logits);
    tiny_clear(&tiny);
}

static void
add_test(const char *what, const char *name, GTestDataFunc test)
{
    g_autofree char *path = g_strdup_printf("/tiny/%s/%s", name, what);
    g_test_add_data_func(path, name, test);
}

static int
compare_names(gconstpointer a, gconstpointer b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The models' names in order. */
static GPtrArray *
list_names(void)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *path = fixture_dup_path("tiny");
    g_autoptr(GDir) folder = g_dir_open(path, 0, &error);
    GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
    const char *name;
    g_assert_no_error(error);
    while ((name = g_dir_read_name(folder)) != NULL)
        if (g_str_has_suffix(name, ".json"))
            g_ptr_array_add(names, g_strndup(name, strlen(name) - strlen(".json")));
    g_ptr_array_sort(names, compare_names);
    return names;
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    static const char *const narrow[] = {"deepseek2", "falcon-h1", "gemma3",
                                         "gpt-oss",   "llama4",    "q4_1-gqa-yarn"};
    g_autoptr(GPtrArray) names = list_names();
    for (size_t i = 0; i < G_N_ELEMENTS(narrow); i++)
        add_test("narrow", narrow[i], test_narrow);
    for (guint i = 0; i < names->len; i++) {
        add_test("float", names->pdata[i], test_float);
        add_test("quantized", names->pdata[i], test_quantized);
        add_test("invariance", names->pdata[i], test_invariance);
    }
    return g_test_run();
}
