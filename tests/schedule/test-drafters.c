/*
 * A small core that drafts for a large one, both fake: right, wrong now and then, or always. Whatever it
 * guesses, each request gets the tokens that it gets alone.
 */

#include "tests/schedule/fake-engine.h"
#include <string.h>

#define N_REQUESTS 6
#define PAGE_TOKENS 16
#define SEQUENCE_PAGES 16

static const FakeModelOptions plain = {.page_tokens = PAGE_TOKENS,
                                       .pool_pages = 200,
                                       .sequence_pages = SEQUENCE_PAGES,
                                       .max_tokens = 64,
                                       .max_sequences = 24,
                                       .history = 32,
                                       .max_drafts = SUNDOG_MAX_DRAFTS};

static SundogSubmit
make_request(uint64_t id)
{
    static uint32_t prompt[128];
    for (uint32_t i = 0; i < G_N_ELEMENTS(prompt); i++)
        prompt[i] = (i * 104729 + i * i) % FAKE_POISON;
    return (SundogSubmit){.id = id,
                          .prompt = prompt + id % 3,
                          .n_prompt = 20 + (uint32_t)id % 5 * 20,
                          .max_tokens = 100,
                          .temperature = id % 2,
                          .seed = id,
                          .top_p = 1,
                          .repetition_penalty = id % 4 == 3 ? 1.2 : 1,
                          .penalty_window = id % 8 == 3 ? 10 : 0};
}

static void
check_answer(const FakeEngine *engine, const SundogSubmit *request, const Answer *answer)
{
    uint32_t tokens[PAGE_TOKENS * SEQUENCE_PAGES];
    uint32_t n_tokens = request->n_prompt;
    g_assert_true(answer->ended && !answer->faulted);
    g_assert_cmpuint(answer->tokens->len, ==, request->max_tokens);
    memcpy(tokens, request->prompt, n_tokens * sizeof *tokens);
    for (guint i = 0; i < answer->tokens->len; i++) {
        uint32_t expected =
            fake_model_next(request, tokens, n_tokens, engine->model->runner.max.history);
        g_assert_cmpuint(g_array_index(answer->tokens, uint32_t, i), ==, expected);
        tokens[n_tokens++] = expected;
    }
}

/* All requests, each asked a while after the one before. */
static SundogStatistics
run(FakeEngine *engine)
{
    SundogSubmit requests[N_REQUESTS];
    Answer *answers[N_REQUESTS];
    SundogStatistics statistics;
    for (uint32_t n = 0; n < N_REQUESTS; n++) {
        requests[n] = make_request(n + 1);
        answers[n] = fake_engine_submit(engine, &requests[n]);
        for (uint32_t i = 0; i < 4; i++)
            fake_engine_step(engine);
    }
    fake_engine_run(engine);
    for (uint32_t i = 0; i < N_REQUESTS; i++)
        check_answer(engine, &requests[i], answers[i]);
    sundog_scheduler_get_statistics(engine->scheduler, &statistics);
    g_assert_cmpuint(statistics.n_pages_used, ==, 0);
    return statistics;
}

static void
test_right(void)
{
    FakeEngine engine = fake_engine_start_drafting(&plain, &plain, 0);
    SundogStatistics statistics = run(&engine);
    /* The two are one: all that was guessed came, and a step brings several tokens of each. */
    g_assert_cmpuint(statistics.n_accepted_tokens, ==, statistics.n_drafted_tokens);
    g_assert_cmpuint(statistics.n_accepted_tokens, >, N_REQUESTS * 50);
    fake_engine_stop(&engine);
}

static void
test_wrong_now_and_then(void)
{
    for (uint32_t errs = 2; errs < 12; errs += 3) {
        FakeEngine engine = fake_engine_start_drafting(&plain, &plain, errs);
        SundogStatistics statistics = run(&engine);
        g_assert_cmpuint(statistics.n_accepted_tokens, >, 0);
        g_assert_cmpuint(statistics.n_accepted_tokens, <, statistics.n_drafted_tokens);
        fake_engine_stop(&engine);
    }
}

/* One that is always wrong is given up. */
static void
test_given_up(void)
{
    FakeEngine engine = fake_engine_start_drafting(&plain, &plain, 1);
    SundogStatistics statistics = run(&engine);
    g_assert_cmpuint(statistics.n_accepted_tokens, ==, 0);
    g_assert_cmpuint(statistics.n_drafted_tokens, <, N_REQUESTS * 40);
    fake_engine_stop(&engine);
}

static void
test_recurrent(void)
{
    FakeModelOptions recurrent = plain;
    recurrent.pool_states = 16;
    const FakeModelOptions *pairs[][2] = {
        {&plain, &recurrent}, {&recurrent, &plain}, {&recurrent, &recurrent}};
    for (size_t i = 0; i < G_N_ELEMENTS(pairs); i++) {
        for (uint32_t errs = 0; errs < 8; errs += 3) {
            FakeEngine engine = fake_engine_start_drafting(pairs[i][0], pairs[i][1], errs);
            SundogStatistics statistics = run(&engine);
            g_assert_cmpuint(statistics.n_accepted_tokens, >, 0);
            fake_engine_stop(&engine);
        }
    }
}

/* Neither has room for all: requests give way, and come back with all their tokens. */
static void
test_little_room(void)
{
    FakeModelOptions little = plain, fewer = plain;
    little.pool_pages = 22;
    fewer.pool_pages = 18;
    fewer.max_sequences = 3;
    fewer.max_tokens = 7;
    const FakeModelOptions *pairs[][2] = {{&little, &plain}, {&plain, &fewer}, {&little, &fewer}};
    for (size_t i = 0; i < G_N_ELEMENTS(pairs); i++) {
        FakeEngine engine = fake_engine_start_drafting(pairs[i][0], pairs[i][1], 5);
        SundogStatistics statistics = run(&engine);
        g_assert_cmpuint(statistics.n_drafted_tokens, >, 0);
        fake_engine_stop(&engine);
    }
}

/* A shorter context, fewer tokens: it drafts as far as it can. */
static void
test_smaller(void)
{
    FakeModelOptions brief = plain;
    brief.sequence_pages = 4;
    FakeEngine engine = fake_engine_start_drafting(&plain, &brief, 0);
    SundogStatistics statistics = run(&engine);
    g_assert_cmpuint(statistics.n_drafted_tokens, >, 0);
    fake_engine_stop(&engine);
    engine = fake_engine_start_drafting(&plain, &plain, 0);
    engine.small->runner.n_vocabulary = 600;
    run(&engine);
    fake_engine_stop(&engine);
}

/* Cancelled at any moment, and freed in the midst of it all. */
static void
test_cancelled(void)
{
    FakeEngine engine = fake_engine_start_drafting(&plain, &plain, 4);
    for (uint64_t id = 1; id <= 40; id++) {
        SundogSubmit request = make_request(id);
        fake_engine_submit(&engine, &request);
        for (uint64_t i = 0; i < id % 5; i++)
            fake_engine_step(&engine);
        if (id > 3 && id % 3 == 0)
            fake_engine_cancel(&engine, id - 3);
    }
    fake_engine_stop(&engine);
}

/* K7: what the small core has read outlives it: another one takes it from records, and drafts no worse. */
static void
test_records(void)
{
    g_autofree char *folder = g_build_filename(g_get_user_cache_dir(), "draft-records", NULL);
    SundogStatistics statistics[2];
    for (int i = 0; i < 2; i++) {
        FakeEngine engine = fake_engine_start_recording(&plain, &plain, folder);
        statistics[i] = run(&engine);
        while (sundog_scheduler_has_chores(engine.scheduler))
            sundog_scheduler_do_chore(engine.scheduler);
        fake_engine_stop(&engine);
    }
    g_assert_cmpuint(statistics[0].n_restored_draft_tokens, ==, 0);
    g_assert_cmpuint(statistics[1].n_restored_draft_tokens, >, 0);
    g_assert_cmpuint(statistics[1].n_restored_draft_tokens % PAGE_TOKENS, ==, 0);
    g_assert_cmpuint(statistics[1].n_accepted_tokens, ==, statistics[1].n_drafted_tokens);
    g_assert_cmpuint(statistics[1].n_accepted_tokens, >, N_REQUESTS * 50);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/drafters/right", test_right);
    g_test_add_func("/drafters/wrong-now-and-then", test_wrong_now_and_then);
    g_test_add_func("/drafters/given-up", test_given_up);
    g_test_add_func("/drafters/recurrent", test_recurrent);
    g_test_add_func("/drafters/little-room", test_little_room);
    g_test_add_func("/drafters/records", test_records);
    g_test_add_func("/drafters/smaller", test_smaller);
    g_test_add_func("/drafters/cancelled", test_cancelled);
    return g_test_run();
}
