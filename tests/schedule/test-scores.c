/*
 * Scores over the fake model: each token's is of the tokens before it, whatever runs beside, however
 * prompts are cut into chunks, and whoever gives way; and requests that follow one another share a prompt.
 */

#include "tests/schedule/fake-engine.h"
#include <string.h>

#define CONTEXT 256
#define N_REQUESTS 9

static const FakeModelOptions plain = {.page_tokens = 16,
                                       .pool_pages = 200,
                                       .sequence_pages = CONTEXT / 16,
                                       .max_tokens = 64,
                                       .max_sequences = 8,
                                       .history = 32,
                                       .max_drafts = 5};

static SundogSubmit
request_of(uint64_t id, const uint32_t *prompt, uint32_t n_prompt, uint32_t max_tokens)
{
    return (SundogSubmit){.id = id,
                          .prompt = prompt,
                          .n_prompt = n_prompt,
                          .max_tokens = max_tokens,
                          .temperature = 1,
                          .seed = id,
                          .top_p = 1,
                          .top_k = id % 2 ? FAKE_REPEATS : 0,
                          .repetition_penalty = 1,
                          .n_scores = 1 + id % 4};
}

/* Those of all tokens from `first` on are there, each of what stood before it. */
static void
check_scores(const SundogSubmit *request, const Answer *answer, uint32_t first)
{
    uint32_t n_tokens = request->n_prompt + answer->tokens->len;
    g_autofree uint32_t *tokens = g_new(uint32_t, n_tokens);
    g_assert_true(answer->ended && !answer->faulted);
    g_assert_cmpuint(answer->tokens->len, ==, request->max_tokens);
    memcpy(tokens, request->prompt, request->n_prompt * sizeof *tokens);
    if (answer->tokens->len > 0)
        memcpy(tokens + request->n_prompt, answer->tokens->data, answer->tokens->len * 4);
    g_assert_cmpuint(answer->n_scores, ==, request->n_scores);
    g_assert_cmpuint(answer->first_scored, ==, first);
    g_assert_cmpuint(answer->scores->len, ==, (n_tokens - first) * request->n_scores);
    for (guint i = 0; i < answer->scores->len; i++) {
        const SundogTokenScore *score = &g_array_index(answer->scores, SundogTokenScore, i);
        uint32_t position = first + i / request->n_scores;
        uint32_t token = (tokens[position] + i % request->n_scores) % FAKE_VOCABULARY;
        g_assert_cmpuint(score->token, ==, token);
        g_assert_cmpfloat(score->log_probability, ==, fake_model_score(tokens, position, token));
    }
}

/* Some score their prompts, some only what is drawn; every third goes on from the same beginning. */
static void
run_many(int32_t pool_pages, int32_t pool_states)
{
    FakeModelOptions options = plain;
    options.pool_pages = pool_pages;
    options.pool_states = pool_states;
    FakeEngine engine = fake_engine_start(&options);
    SundogSubmit requests[N_REQUESTS];
    Answer *answers[N_REQUESTS];
    for (uint32_t i = 0; i < N_REQUESTS; i++) {
        uint32_t n_prompt = 1 + i * 17;
        requests[i] = request_of(i + 1, fake_engine_make_prompt(i % 3, n_prompt), n_prompt, 20 + i);
        if (i % 2 == 0)
            requests[i].flags = SUNDOG_SUBMIT_SCORE_PROMPT;
        answers[i] = fake_engine_submit(&engine, &requests[i]);
        if (i % 2 == 0)
            fake_engine_step(&engine);
    }
    fake_engine_run(&engine);
    for (uint32_t i = 0; i < N_REQUESTS; i++) {
        check_scores(&requests[i], answers[i], i % 2 == 0 ? 1 : requests[i].n_prompt);
        g_free((uint32_t *)requests[i].prompt);
    }
    fake_engine_stop(&engine);
}

static void
test_company(void)
{
    run_many(200, 1);
    run_many(200, 6);
}

/* Pages run out, and those that give them up begin again. */
static void
test_pressure(void)
{
    run_many(22, 1);
    run_many(22, 6);
}

/* The prompt alone, even one that fills the context, and one whose prefix is known already. */
static void
test_prompt_alone(void)
{
    FakeEngine engine = fake_engine_start(&plain);
    g_autofree uint32_t *prompt = fake_engine_make_prompt(4, CONTEXT);
    SundogSubmit first = request_of(1, prompt, 200, 5);
    fake_engine_submit(&engine, &first);
    fake_engine_run(&engine);
    const uint32_t lengths[] = {1, 2, 16, 17, 200, CONTEXT};
    for (uint32_t i = 0; i < G_N_ELEMENTS(lengths); i++) {
        SundogSubmit request = request_of(i + 2, prompt, lengths[i], 0);
        request.flags = SUNDOG_SUBMIT_SCORE_PROMPT;
        Answer *answer = fake_engine_submit(&engine, &request);
        fake_engine_run(&engine);
        g_assert_cmpint(answer->finish.reason, ==, SUNDOG_FINISH_LENGTH);
        g_assert_cmpuint(answer->finish.n_produced, ==, 0);
        if (lengths[i] > 1)
            check_scores(&request, answer, 1);
    }
    /* With an answer there must be room for one. */
    SundogSubmit full = request_of(20, prompt, CONTEXT, 1);
    Answer *refused = fake_engine_submit(&engine, &full);
    g_assert_true(refused->faulted && refused->fault == SUNDOG_FAULT_CONTEXT_LENGTH);
    fake_engine_stop(&engine);
}

/* What a scored prompt computes serves those that come after it, and its own other choices; one that is to be
 * scored computes what it has no scores of. */
static void
test_prefix(void)
{
    FakeEngine engine = fake_engine_start(&plain);
    g_autofree uint32_t *prompt = fake_engine_make_prompt(6, 100);
    SundogSubmit scored = request_of(1, prompt, 100, 3), plain_one = request_of(3, prompt, 100, 3);
    SundogSubmit choice = request_of(2, prompt, 100, 3), again = request_of(4, prompt, 100, 0);
    SundogSubmit bare = request_of(5, prompt, 100, 0);
    scored.flags = again.flags = SUNDOG_SUBMIT_SCORE_PROMPT;
    choice.follows = 1;
    Answer *first = fake_engine_submit(&engine, &scored);
    Answer *second = fake_engine_submit(&engine, &choice);
    fake_engine_run(&engine);
    Answer *third = fake_engine_submit(&engine, &plain_one);
    fake_engine_run(&engine);
    Answer *fourth = fake_engine_submit(&engine, &again);
    Answer *fifth = fake_engine_submit(&engine, &bare);
    fake_engine_run(&engine);
    check_scores(&scored, first, 1);
    check_scores(&choice, second, 100);
    check_scores(&plain_one, third, 100);
    check_scores(&again, fourth, 1);
    g_assert_cmpuint(first->finish.n_cached, ==, 0);
    g_assert_cmpuint(second->finish.n_cached, >=, 96);
    g_assert_cmpuint(third->finish.n_cached, >=, 96);
    g_assert_cmpuint(fourth->finish.n_cached, ==, 0);
    /* Told without scores, the prompt alone needs no step. */
    g_assert_cmpint(fifth->finish.reason, ==, SUNDOG_FINISH_LENGTH);
    g_assert_cmpuint(fifth->n_scores, ==, 0);
    fake_engine_stop(&engine);
}

static void
test_not_finite(void)
{
    FakeEngine engine = fake_engine_start(&plain);
    g_autofree uint32_t *prompt = fake_engine_make_prompt(5, 40);
    prompt[20] = FAKE_POISON;
    SundogSubmit request = request_of(1, prompt, 40, 0);
    request.flags = SUNDOG_SUBMIT_SCORE_PROMPT;
    Answer *answer = fake_engine_submit(&engine, &request);
    fake_engine_run(&engine);
    g_assert_true(answer->faulted && answer->fault == SUNDOG_FAULT_NOT_FINITE);
    fake_engine_stop(&engine);
}

/* A program without scores refuses what it would have to leave out. */
static void
test_without_scores(void)
{
    FakeEngine engine = fake_engine_start(&plain);
    const uint32_t prompt[] = {1, 2, 3};
    engine.model->runner.scores = NULL;
    for (uint64_t id = 1; id <= 5; id++) {
        SundogSubmit request = request_of(id, prompt, 3, 4);
        request.n_scores = id == 1;
        request.typical_p = id == 2 ? 0.5 : id == 5 ? 1 : 0;
        request.top_n_sigma = id == 3;
        request.xtc_probability = id == 4;
        Answer *answer = fake_engine_submit(&engine, &request);
        fake_engine_run(&engine);
        g_assert_cmpint(answer->faulted, ==, id < 5);
        g_assert_cmpint(answer->fault, ==, id < 5 ? SUNDOG_FAULT_UNSUPPORTED : 0);
    }
    fake_engine_stop(&engine);
}

/* Followers wait for the prompt, and compute no more of it than its last token. */
static void
test_followers(void)
{
    FakeEngine engine = fake_engine_start(&plain);
    g_autofree uint32_t *prompt = fake_engine_make_prompt(6, 150);
    SundogSubmit requests[4];
    Answer *answers[4];
    for (uint32_t i = 0; i < 4; i++) {
        requests[i] = request_of(i + 1, prompt, 150, 10);
        requests[i].follows = i > 0 ? 1 : 0;
        answers[i] = fake_engine_submit(&engine, &requests[i]);
    }
    fake_engine_run(&engine);
    for (uint32_t i = 0; i < 4; i++) {
        check_scores(&requests[i], answers[i], 150);
        g_assert_cmpuint(answers[i]->finish.n_cached, ==, i > 0 ? 149 : 0);
    }
    fake_engine_stop(&engine);
}

/* Whoever the followed one is, and whatever becomes of it, they get their turn. */
static void
test_followers_go_on(void)
{
    FakeEngine engine = fake_engine_start(&plain);
    g_autofree uint32_t *prompt = fake_engine_make_prompt(7, 200);
    SundogSubmit leader = request_of(5, prompt, 200, 10), follower = request_of(6, prompt, 200, 10);
    SundogSubmit of_itself = request_of(7, prompt, 200, 10),
                 of_nobody = request_of(8, prompt, 9, 3);
    SundogSubmit of_younger = request_of(9, prompt, 200, 10),
                 younger = request_of(10, prompt, 9, 3);
    follower.follows = 5;
    of_itself.follows = 7;
    of_nobody.follows = 999;
    of_younger.follows = 10;
    younger.follows = 9;
    Answer *cancelled = fake_engine_submit(&engine, &leader);
    const SundogSubmit *const others[] = {&follower, &of_itself, &of_nobody, &of_younger, &younger};
    Answer *answers[G_N_ELEMENTS(others)];
    for (size_t i = 0; i < G_N_ELEMENTS(others); i++)
        answers[i] = fake_engine_submit(&engine, others[i]);
    fake_engine_step(&engine);
    fake_engine_cancel(&engine, 5);
    fake_engine_run(&engine);
    g_assert_cmpint(cancelled->finish.reason, ==, SUNDOG_FINISH_CANCELLED);
    for (size_t i = 0; i < G_N_ELEMENTS(others); i++)
        check_scores(others[i], answers[i], others[i]->n_prompt);
    fake_engine_stop(&engine);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/scores/company", test_company);
    g_test_add_func("/scores/prefix", test_prefix);
    g_test_add_func("/scores/pressure", test_pressure);
    g_test_add_func("/scores/prompt-alone", test_prompt_alone);
    g_test_add_func("/scores/not-finite", test_not_finite);
    g_test_add_func("/scores/without-scores", test_without_scores);
    g_test_add_func("/scores/followers", test_followers);
    g_test_add_func("/scores/followers-go-on", test_followers_go_on);
    return g_test_run();
}
