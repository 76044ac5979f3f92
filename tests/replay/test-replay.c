/* Replay of a tiny core: every set of kernels and number of threads gives the same bits, pages are
 * copied whole, sampling runs on the logits, and what is out of bounds is refused by name. */

#include "engine/core/step.h"
#include "kernels/contract/sample.h"
#include "tests/prepare/core-runner.h"
#include <string.h>
#include <unistd.h>

#define N_TOKENS 70

static char *
dup_model_path(void)
{
    return g_build_filename(g_getenv("SUNDOG_SOURCE"), "tests", "prepare", "tiny",
                            "q4_1-gqa-yarn.gguf", NULL);
}

static void
open_runner(CoreRunner *runner)
{
    g_autofree char *path = dup_model_path();
    core_runner_open(runner, path, SUNDOG_ACTIVATIONS_INT8, 2);
}

/* Opens the runner's core once more in place of its replay. */
static void
reopen(CoreRunner *runner, unsigned n_threads, int host_set)
{
    g_autoptr(GError) error = NULL;
    const SundogReplayOptions options = {.n_threads = n_threads,
                                         .pool_pages = RUNNER_SEQUENCES * RUNNER_PAGES + 1,
                                         .host_set = host_set,
                                         .poison = true};
    g_clear_pointer(&runner->replay, sundog_replay_close);
    runner->replay = sundog_replay_open(runner->core, &options, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(sundog_replay_get_n_threads(runner->replay), ==, n_threads);
}

static void
fill_tokens(const CoreRunner *runner, int32_t *tokens, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        tokens[i] = (i * 31 + 7) % (int32_t)runner->n_vocabulary;
}

/* A ragged step beside a prefill, then one token of each: shapes change every time. */
static float *
run_steps(CoreRunner *runner, size_t *n_floats)
{
    int32_t tokens[N_TOKENS];
    size_t v = runner->n_vocabulary;
    *n_floats = 5 * v;
    float *logits = g_new(float, *n_floats);
    fill_tokens(runner, tokens, N_TOKENS);
    const RunnerPart prompt = {.n_tokens = 13, .tokens = tokens};
    const RunnerPart mixed[] = {
        {.start = 13, .n_tokens = 1, .tokens = tokens + 13, .logits = logits},
        {.sequence = 2, .n_tokens = 20, .tokens = tokens + 30}};
    const RunnerPart last[] = {
        {.sequence = 2, .start = 20, .n_tokens = 3, .tokens = tokens + 50, .logits = logits + v},
        {.start = 14, .n_tokens = 1, .tokens = tokens + 14, .logits = logits + 4 * v}};
    core_runner_step(runner, &prompt, 1);
    core_runner_step(runner, mixed, 2);
    core_runner_step(runner, last, 2);
    return logits;
}

static void
test_same_bits(void)
{
    CoreRunner runner;
    open_runner(&runner);
    g_autofree float *expected = NULL;
    for (int set = SUNDOG_HOST_PLAIN; set < SUNDOG_N_HOST_SETS; set++)
        for (unsigned n_threads = 1; sundog_host_supports(set) && n_threads <= 3; n_threads++) {
            size_t n;
            reopen(&runner, n_threads, set);
            g_autofree float *logits = run_steps(&runner, &n);
            if (expected == NULL)
                expected = g_memdup2(logits, n * sizeof(float));
            g_assert_cmpmem(logits, n * sizeof(float), expected, n * sizeof(float));
        }
    core_runner_close(&runner);
}

/* A sequence that goes on in a copy of its page gives what it gives in the page itself. */
static void
test_copy_page(void)
{
    CoreRunner runner;
    int32_t tokens[N_TOKENS];
    open_runner(&runner);
    fill_tokens(&runner, tokens, N_TOKENS);
    size_t n_bytes = runner.n_vocabulary * sizeof(float);
    g_autofree float *first = g_malloc(n_bytes), *second = g_malloc(n_bytes);
    const RunnerPart prompt = {.n_tokens = 9, .tokens = tokens};
    core_runner_step(&runner, &prompt, 1);
    sundog_replay_copy_state(runner.replay, SUNDOG_STATE_PAGES, runner.pages[0][0],
                             runner.pages[3][0]);
    const RunnerPart parts[] = {
        {.start = 9, .n_tokens = 1, .tokens = tokens + 9, .logits = first},
        {.sequence = 3, .start = 9, .n_tokens = 1, .tokens = tokens + 9, .logits = second}};
    core_runner_step(&runner, parts, 2);
    g_assert_cmpmem(first, n_bytes, second, n_bytes);
    core_runner_close(&runner);
}

static void
test_sample(void)
{
    CoreRunner runner;
    g_autoptr(GError) error = NULL;
    int32_t tokens[N_TOKENS];
    open_runner(&runner);
    fill_tokens(&runner, tokens, N_TOKENS);
    g_autofree float *logits = g_new(float, runner.n_vocabulary);
    const RunnerPart prompt = {.n_tokens = 1, .tokens = tokens, .logits = logits};
    core_runner_step(&runner, &prompt, 1);
    SundogSampling *sampling = sundog_replay_get_buffer(runner.replay, "sampling");
    *sampling = (SundogSampling){.top_p = 1, .repetition_penalty = 1};
    SundogShape shape = *sundog_replay_get_bounds(runner.replay);
    shape.values[SUNDOG_VARIABLE_LOGIT_ROWS] = 1;
    sundog_replay_run(runner.replay, SUNDOG_PROGRAM_SAMPLE, &shape, &error);
    g_assert_no_error(error);
    g_assert_cmpint(*(int32_t *)sundog_replay_get_buffer(runner.replay, "token"), ==,
                    core_runner_best(&runner, logits));
    core_runner_close(&runner);
}

static void
assert_refused(SundogCore *core, const SundogReplayOptions *options, const char *word)
{
    g_autoptr(GError) error = NULL;
    g_assert_null(sundog_replay_open(core, options, &error));
    g_assert_error(error, SUNDOG_REPLAY_ERROR, SUNDOG_REPLAY_ERROR_BOUNDS);
    g_assert_nonnull(strstr(error->message, word));
}

static void
test_open_refuses(void)
{
    CoreRunner runner;
    open_runner(&runner);
    SundogShape bounds = *sundog_replay_get_bounds(runner.replay);
    assert_refused(runner.core, &(SundogReplayOptions){.n_threads = 100000, .host_set = -1},
                   "units");
    assert_refused(runner.core,
                   &(SundogReplayOptions){.max_tokens = bounds.values[SUNDOG_VARIABLE_TOKENS] + 1,
                                          .host_set = -1},
                   "tokens");
    assert_refused(runner.core, &(SundogReplayOptions){.host_set = SUNDOG_N_HOST_SETS}, "kernels");
    core_runner_close(&runner);
}

static void
test_run_refuses(void)
{
    CoreRunner runner;
    g_autoptr(GError) error = NULL;
    open_runner(&runner);
    SundogShape shape = *sundog_replay_get_bounds(runner.replay);
    g_assert_false(sundog_replay_run(runner.replay, "backward", &shape, &error));
    g_assert_error(error, SUNDOG_REPLAY_ERROR, SUNDOG_REPLAY_ERROR_PROGRAM);
    g_clear_error(&error);
    shape.values[SUNDOG_VARIABLE_TOKENS]++;
    g_assert_false(sundog_replay_run(runner.replay, SUNDOG_PROGRAM_FORWARD, &shape, &error));
    g_assert_error(error, SUNDOG_REPLAY_ERROR, SUNDOG_REPLAY_ERROR_BOUNDS);
    g_clear_error(&error);
    shape.values[SUNDOG_VARIABLE_TOKENS] = 0;
    g_assert_false(sundog_replay_run(runner.replay, SUNDOG_PROGRAM_FORWARD, &shape, &error));
    g_assert_null(sundog_replay_get_buffer(runner.replay, "nothing of that name"));
    core_runner_close(&runner);
}

/* The weights are read a second time when a replay is opened; a file cut short meanwhile is told. */
static void
test_cut_weights(void)
{
    CoreRunner runner;
    g_autoptr(GError) error = NULL;
    const SundogReplayOptions options = {.pool_pages = 2, .host_set = -1};
    open_runner(&runner);
    g_autofree char *path = g_build_filename(runner.folder, "core", SUNDOG_CORE_WEIGHTS, NULL);
    g_assert_cmpint(truncate(path, 100), ==, 0);
    g_assert_null(sundog_replay_open(runner.core, &options, &error));
    g_assert_nonnull(error);
    g_assert_nonnull(strstr(error->message, SUNDOG_CORE_WEIGHTS));
    core_runner_close(&runner);
}

int
main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/replay/same-bits", test_same_bits);
    g_test_add_func("/replay/copy-page", test_copy_page);
    g_test_add_func("/replay/sample", test_sample);
    g_test_add_func("/replay/open-refuses", test_open_refuses);
    g_test_add_func("/replay/run-refuses", test_run_refuses);
    g_test_add_func("/replay/cut-weights", test_cut_weights);
    return g_test_run();
}
