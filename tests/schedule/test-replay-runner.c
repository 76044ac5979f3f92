/*
 * Scheduler and replay together in one process, with all memory that nobody has written poisoned: a
 * page that is read before it is written, or past what was copied, gives a token that is not finite.
 * And steps of any size give the same tokens.
 */

#include "engine/schedule/replay-runner.h"
#include "engine/schedule/scheduler.h"
#include "tests/schedule/answers.h"
#include "tests/schedule/engine-client.h"
#include <string.h>

#define N_PROMPT 150
#define N_TOKENS 12
#define PAGES_A_SEQUENCE 4

static const char *model;
static uint32_t prompt[N_PROMPT];

typedef struct {
    SundogKeyring *keyring;
    SundogCore *core;
    SundogReplay *replay;
    SundogReplayRunner *runner;
    GByteArray *outbox;
    SundogScheduler *scheduler;
    Answers *answers;
    uint64_t last_id;
} Engine;

static Engine
start(int64_t max_tokens, int64_t pool_pages)
{
    Engine engine = {0};
    g_autoptr(GError) error = NULL;
    const char *core = engine_client_get_core(model);
    engine.keyring = sundog_keyring_open(engine_client_get_keys(), &error);
    g_assert_no_error(error);
    engine.core = sundog_core_open(core, engine.keyring, &error);
    g_assert_no_error(error);
    SundogReplayOptions options = {.n_threads = 2,
                                   .pool_pages = pool_pages,
                                   .sequence_pages = PAGES_A_SEQUENCE,
                                   .max_tokens = max_tokens,
                                   .host_set = -1,
                                   .poison = true};
    engine.replay = sundog_replay_open(engine.core, &options, &error);
    g_assert_no_error(error);
    engine.runner = sundog_replay_runner_new(engine.replay, engine.core, &error);
    g_assert_no_error(error);
    g_assert_true(sundog_replay_runner_warm(engine.runner, &error));
    engine.outbox = g_byte_array_new();
    engine.answers = answers_new();
    engine.scheduler = sundog_scheduler_new(
        &(SundogSchedulerOptions){.context_length = PAGES_A_SEQUENCE * 64, .max_kept_pages = -1},
        sundog_replay_runner_get(engine.runner), engine.outbox);
    return engine;
}

static void
stop(Engine *engine)
{
    sundog_scheduler_free(engine->scheduler);
    sundog_replay_runner_free(engine->runner);
    sundog_replay_close(engine->replay);
    sundog_core_free(engine->core);
    sundog_keyring_free(engine->keyring);
    answers_free(engine->answers);
    g_byte_array_unref(engine->outbox);
}

static SundogSubmit
make_request(const uint32_t *tokens, uint32_t n_tokens, uint64_t seed)
{
    return (SundogSubmit){.prompt = tokens,
                          .n_prompt = n_tokens,
                          .max_tokens = N_TOKENS,
                          .temperature = 1.5,
                          .top_p = 0.95,
                          .repetition_penalty = 1.2,
                          .seed = seed};
}

static Answer *
submit(Engine *engine, SundogSubmit request)
{
    request.id = ++engine->last_id;
    Answer *answer = answers_expect(engine->answers, request.id, 0);
    sundog_scheduler_submit(engine->scheduler, &request, g_get_monotonic_time());
    return answer;
}

static void
run(Engine *engine)
{
    while (sundog_scheduler_has_work(engine->scheduler)) {
        sundog_scheduler_step(engine->scheduler);
        answers_take_bytes(engine->answers, engine->outbox);
    }
}

static void
check_equal(const Answer *answer, const Answer *expected)
{
    g_assert_true(answer->ended && !answer->faulted);
    g_assert_cmpuint(answer->tokens->len, ==, N_TOKENS);
    g_assert_cmpmem(answer->tokens->data, answer->tokens->len * 4, expected->tokens->data,
                    expected->tokens->len * 4);
}

/* Each prompt finds a part of the one before, ends within a copied page, and equals its own miss. */
static void
test_copied_pages(void)
{
    Engine engine = start(0, 60);
    submit(&engine, make_request(prompt, N_PROMPT, 0));
    run(&engine);
    for (uint32_t split = 3; split < N_PROMPT; split += 7) {
        uint32_t tokens[N_PROMPT];
        memcpy(tokens, prompt, sizeof tokens);
        tokens[split] = (tokens[split] + 1) % 30;
        SundogSubmit request = make_request(tokens, N_PROMPT, split);
        Answer *hit = submit(&engine, request);
        run(&engine);
        request.flags = SUNDOG_SUBMIT_NO_PREFIX;
        Answer *miss = submit(&engine, request);
        run(&engine);
        g_assert_cmpuint(miss->finish.n_cached, ==, 0);
        g_assert_cmpuint(hit->finish.n_cached, >=, split);
        check_equal(hit, miss);
    }
    stop(&engine);
}

/* Steps of 1, 5 and as many rows as there are, pages in plenty or so few that requests give way. */
static void
test_any_step(void)
{
    static const struct {
        int64_t max_tokens, pool_pages;
    } cases[] = {{0, 60}, {1, 60}, {5, 60}, {0, 6}, {5, 7}};
    Engine plain = start(0, 60);
    Answer *expected[8];
    for (uint32_t i = 0; i < G_N_ELEMENTS(expected); i++) {
        expected[i] = submit(&plain, make_request(prompt + i, 20 + i * 17, i));
        run(&plain);
    }
    for (size_t c = 0; c < G_N_ELEMENTS(cases); c++) {
        Engine engine = start(cases[c].max_tokens, cases[c].pool_pages);
        Answer *answers[G_N_ELEMENTS(expected)];
        for (uint32_t i = 0; i < G_N_ELEMENTS(expected); i++)
            answers[i] = submit(&engine, make_request(prompt + i, 20 + i * 17, i));
        run(&engine);
        for (uint32_t i = 0; i < G_N_ELEMENTS(expected); i++)
            check_equal(answers[i], expected[i]);
        stop(&engine);
    }
    stop(&plain);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_assert_cmpint(argc, ==, 2);
    model = argv[1];
    for (uint32_t i = 0; i < N_PROMPT; i++)
        prompt[i] = (i * 7919 + i * i + 3) % 30;
    g_test_add_func("/replay-runner/copied-pages", test_copied_pages);
    g_test_add_func("/replay-runner/any-step", test_any_step);
    return g_test_run();
}
