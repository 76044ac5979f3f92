/*
 * Steps that begin before the tokens of the last are known: the same answers as ever, whatever ends, is
 * cancelled, comes or fails meanwhile.
 */

#include "tests/schedule/fake-engine.h"
#include <string.h>

#define CONTEXT 256
#define PROMPT 40
#define N_REQUESTS 60

static const FakeModelOptions device = {.page_tokens = 16,
                                        .pool_pages = 90,
                                        .sequence_pages = CONTEXT / 16,
                                        .max_tokens = 64,
                                        .max_sequences = 6,
                                        .history = 32,
                                        .is_device = true};

/* As few pages of windows as may be: those of a step, of two sequences, and two. */
static FakeModelOptions
with_windows(void)
{
    FakeModelOptions options = device;
    options.window_tokens = 21;
    options.window_pages =
        2 + 64 / 16 + 2 * (int32_t)sundog_window_held_pages(options.window_tokens, 16);
    return options;
}

static SundogSubmit
request_of(uint64_t id, const uint32_t *prompt, uint32_t max_tokens)
{
    return (SundogSubmit){.id = id,
                          .prompt = prompt,
                          .n_prompt = PROMPT,
                          .max_tokens = max_tokens,
                          .temperature = 1,
                          .seed = id,
                          .top_p = 1,
                          .repetition_penalty = id % 3 == 0 ? 1.5 : 1,
                          .frequency_penalty = id % 3 == 1 ? 0.5 : 0};
}

/* As many tokens as there are, each the one that the model gives after those before it. */
static void
check_tokens(const SundogSubmit *request, const Answer *answer)
{
    uint32_t tokens[CONTEXT], n = request->n_prompt;
    memcpy(tokens, request->prompt, n * sizeof *tokens);
    for (guint i = 0; i < answer->tokens->len; i++, n++) {
        tokens[n] = fake_model_next(request, tokens, n, device.history);
        g_assert_cmpuint(g_array_index(answer->tokens, uint32_t, i), ==, tokens[n]);
    }
}

static void
test_alone(void)
{
    FakeEngine engine = fake_engine_start(&device);
    g_autofree uint32_t *prompt = fake_engine_make_prompt(1, PROMPT);
    SundogSubmit request = request_of(1, prompt, 100);
    Answer *answer = fake_engine_submit(&engine, &request);
    fake_engine_run(&engine);
    g_assert_cmpint(answer->finish.reason, ==, SUNDOG_FINISH_LENGTH);
    g_assert_cmpuint(answer->tokens->len, ==, 100);
    check_tokens(&request, answer);
    /* All but the first, which comes of the prompt; and no step for a token that cannot be. */
    g_assert_cmpuint(engine.model->n_rows_ahead, ==, 99);
    g_assert_cmpuint(engine.model->n_steps, ==, 100);
    fake_engine_stop(&engine);
}

/* The host learns of the end when the step after it runs already. */
static void
test_end(void)
{
    FakeEngine engine = fake_engine_start(&device);
    g_autofree uint32_t *prompt = fake_engine_make_prompt(2, PROMPT);
    SundogSubmit request = request_of(4, prompt, 100);
    Answer *whole = fake_engine_submit(&engine, &request);
    fake_engine_run(&engine);
    uint32_t n_before = 0, end = g_array_index(whole->tokens, uint32_t, 30);
    while (g_array_index(whole->tokens, uint32_t, n_before) != end)
        n_before++;
    request.id = 5;
    request.ends = &end;
    request.n_ends = 1;
    Answer *answer = fake_engine_submit(&engine, &request);
    fake_engine_run(&engine);
    g_assert_cmpint(answer->finish.reason, ==, SUNDOG_FINISH_STOP);
    g_assert_cmpuint(answer->tokens->len, ==, n_before);
    check_tokens(&request, answer);
    /* What ran in vain does not stay: the same again, from what was kept. */
    request.id = 6;
    request.ends = NULL;
    request.n_ends = 0;
    answer = fake_engine_submit(&engine, &request);
    fake_engine_run(&engine);
    g_assert_cmpuint(answer->finish.n_cached, >, 0);
    check_tokens(&request, answer);
    fake_engine_stop(&engine);
}

static void
test_poison_and_failure(void)
{
    FakeEngine engine = fake_engine_start(&device);
    g_autofree uint32_t *good = fake_engine_make_prompt(3, PROMPT);
    g_autofree uint32_t *bad = fake_engine_make_prompt(4, PROMPT);
    SundogSubmit requests[] = {request_of(1, good, 50), request_of(2, bad, 50)};
    bad[PROMPT - 2] = FAKE_POISON;
    Answer *first = fake_engine_submit(&engine, &requests[0]);
    Answer *second = fake_engine_submit(&engine, &requests[1]);
    fake_engine_run(&engine);
    g_assert_cmpint(second->fault, ==, SUNDOG_FAULT_NOT_FINITE);
    g_assert_cmpuint(first->tokens->len, ==, 50);
    check_tokens(&requests[0], first);
    fake_engine_stop(&engine);
}

/* More requests than run at once, in turns; some are cancelled, some end early, pages are short. */
static void
test_company(gconstpointer data)
{
    FakeEngine engine = fake_engine_start(data);
    SundogSubmit requests[N_REQUESTS];
    Answer *answers[N_REQUESTS];
    uint32_t *prompts[N_REQUESTS];
    GRand *random = g_rand_new_with_seed(7);
    const uint32_t ends[] = {3, 77, 500};
    for (uint32_t i = 0; i < N_REQUESTS; i++) {
        prompts[i] = fake_engine_make_prompt(i / 3, PROMPT);
        requests[i] = request_of(i + 1, prompts[i], (uint32_t)g_rand_int_range(random, 1, CONTEXT));
        requests[i].ends = ends;
        requests[i].n_ends = i % 2 ? G_N_ELEMENTS(ends) : 0;
        answers[i] = fake_engine_submit(&engine, &requests[i]);
        for (int n = g_rand_int_range(random, 0, 40); n > 0; n--)
            fake_engine_step(&engine);
        if (i % 5 == 4)
            fake_engine_cancel(&engine, (uint64_t)g_rand_int_range(random, 1, (int)i + 2));
    }
    fake_engine_run(&engine);
    for (uint32_t i = 0; i < N_REQUESTS; i++) {
        g_assert_true(answers[i]->ended);
        g_assert_false(answers[i]->faulted);
        check_tokens(&requests[i], answers[i]);
        g_free(prompts[i]);
    }
    g_assert_cmpuint(engine.model->n_rows_ahead, >, 0);
    g_rand_free(random);
    fake_engine_stop(&engine);
}

int
main(int argc, char **argv)
{
    const FakeModelOptions windows = with_windows();
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ahead/alone", test_alone);
    g_test_add_func("/ahead/end", test_end);
    g_test_add_func("/ahead/poison", test_poison_and_failure);
    g_test_add_data_func("/ahead/company", &device, test_company);
    g_test_add_data_func("/ahead/windows", &windows, test_company);
    return g_test_run();
}
