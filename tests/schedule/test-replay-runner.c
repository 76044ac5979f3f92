/*
 * Scheduler and replay together in one process, with all memory that nobody has written poisoned: a
 * page that is read before it is written, or past what was copied, gives a token that is not finite.
 * And the guarantee of the host: a request gives the same tokens with the same scores, bit for bit, in any
 * company, in steps of any size, cached or not, with drafts or without; and they follow the model's
 * probabilities. Where layers' windows have pages of their own, there are as few of those as can be.
 */

#include "engine/core/step.h"
#include "engine/schedule/replay-runner.h"
#include "engine/schedule/scheduler.h"
#include "tests/schedule/answers.h"
#include "tests/schedule/engine-client.h"
#include <math.h>
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

/* A clock that counts its readings: how much is drafted then does not depend on the machine's speed. */
static int64_t
count_time(void *data)
{
    static int64_t now_us;
    return now_us += 100;
}

/* For steps of so many tokens and two sequences; 0 where there are none. */
static int64_t
count_windows(const SundogCore *core, int64_t max_tokens, int64_t pool_pages)
{
    const SundogCoreCache *cache = sundog_core_get_cache(core);
    const SundogShape *bounds =
        sundog_program_get_bounds(sundog_core_get_program(core, SUNDOG_PROGRAM_FORWARD));
    if (max_tokens == 0)
        max_tokens = bounds->values[SUNDOG_VARIABLE_TOKENS];
    return cache->window_bytes == 0
               ? 0
               : MIN(2 + (max_tokens + 63) / 64 + 2 * cache->window_pages, pool_pages);
}

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
                                   .window_pages =
                                       count_windows(engine.core, max_tokens, pool_pages),
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
        &(SundogSchedulerOptions){
            .context_length = PAGES_A_SEQUENCE * 64, .max_kept_pages = -1, .clock = count_time},
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
                          .xtc_probability = 0.5,
                          .xtc_threshold = 0.05,
                          .dry = {.multiplier = 0.5, .base = 1.5, .window = UINT32_MAX},
                          .n_scores = 4,
                          .seed = seed};
}

static Answer *
submit(Engine *engine, SundogSubmit request)
{
    request.id = ++engine->last_id;
    Answer *answer = answers_expect(engine->answers, request.id, 0);
    sundog_scheduler_submit(engine->scheduler, &request, count_time(NULL));
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
    const GArray *scores = answer->scores;
    g_assert_cmpuint(scores->len, ==, N_TOKENS * 4);
    for (guint i = 0; i < scores->len; i++) {
        const SundogTokenScore *score = &g_array_index(scores, SundogTokenScore, i);
        const SundogTokenScore *other = &g_array_index(expected->scores, SundogTokenScore, i);
        g_assert_cmpuint(score->token, ==, other->token);
        g_assert_cmpfloat(score->log_probability, ==, other->log_probability);
    }
}

/* Each prompt finds a part of the one before, ends within a copied page, and equals its own miss. */
static void
test_copied_pages(void)
{
    Engine engine = start(0, 60);
    bool has_windows = sundog_core_get_cache(engine.core)->window_bytes > 0;
    uint32_t n_hits = 0;
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
        if (!has_windows)
            g_assert_cmpuint(hit->finish.n_cached, >=, split);
        n_hits += hit->finish.n_cached >= MIN(split, 64);
        check_equal(hit, miss);
    }
    g_test_message("%u of %u", n_hits, N_PROMPT / 7);
    g_assert_cmpuint(n_hits, >, N_PROMPT / 14);
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

/* What a prompt is scored with is what it was drawn with, whoever reads or draws beside. */
static void
test_scored_prompts(void)
{
    Engine engine = start(0, 60);
    Answer *drawn = submit(&engine, make_request(prompt, 70, 3));
    run(&engine);
    uint32_t tokens[70 + N_TOKENS];
    memcpy(tokens, prompt, 70 * sizeof *tokens);
    memcpy(tokens + 70, drawn->tokens->data, N_TOKENS * sizeof *tokens);
    SundogSubmit request = make_request(tokens, G_N_ELEMENTS(tokens), 0);
    request.flags = SUNDOG_SUBMIT_SCORE_PROMPT;
    request.max_tokens = 0;
    Answer *scored[3];
    for (uint32_t i = 0; i < G_N_ELEMENTS(scored); i++) {
        submit(&engine, make_request(prompt + i, 60, i));
        scored[i] = submit(&engine, request);
    }
    run(&engine);
    for (uint32_t i = 0; i < G_N_ELEMENTS(scored); i++) {
        const GArray *scores = scored[i]->scores;
        g_assert_true(scored[i]->ended && !scored[i]->faulted);
        g_assert_cmpuint(scores->len, ==, (G_N_ELEMENTS(tokens) - 1) * 4);
        for (guint k = 0; k < N_TOKENS * 4; k++) {
            const SundogTokenScore *score = &g_array_index(drawn->scores, SundogTokenScore, k);
            const SundogTokenScore *other = &g_array_index(scores, SundogTokenScore, 69 * 4 + k);
            g_assert_cmpuint(score->token, ==, other->token);
            g_assert_cmpfloat(score->log_probability, ==, other->log_probability);
        }
    }
    stop(&engine);
}

#define N_SEEDS 600

/* Tokens drawn with many seeds, against the probabilities that their scores tell: Pearson's chi-square
 * over the likeliest tokens and the rest. The seeds are fixed, and so is what comes; 1 in 10,000 such lists
 * of seeds would give more than 52.4 with 20 degrees of freedom. */
static void
check_distribution(const GArray *first, const uint32_t n_drawn[SUNDOG_WIRE_MAX_SCORES])
{
    double chi_square = 0, rest = 1;
    for (guint i = 1; i < SUNDOG_WIRE_MAX_SCORES; i++) {
        double p = exp(g_array_index(first, SundogTokenScore, i).log_probability);
        chi_square += pow(n_drawn[i] - N_SEEDS * p, 2) / (N_SEEDS * p);
        rest -= p;
    }
    chi_square += pow(n_drawn[0] - N_SEEDS * rest, 2) / (N_SEEDS * rest);
    g_test_message("chi-square %g", chi_square);
    g_assert_cmpfloat(chi_square, <, 52.4);
    g_assert_cmpfloat(chi_square, >, 2); /* and they are drawn, not dealt out */
}

static SundogSubmit
plain_request(const uint32_t *tokens, uint32_t n_tokens, uint64_t seed)
{
    return (SundogSubmit){.prompt = tokens,
                          .n_prompt = n_tokens,
                          .max_tokens = 1,
                          .temperature = 1,
                          .top_p = 1,
                          .repetition_penalty = 1,
                          .n_scores = SUNDOG_WIRE_MAX_SCORES,
                          .seed = seed};
}

static void
test_distribution(void)
{
    uint32_t n_drawn[SUNDOG_WIRE_MAX_SCORES] = {0};
    Engine engine = start(0, 60);
    Answer *first = NULL;
    for (uint32_t seed = 0; seed < N_SEEDS; seed++) {
        Answer *answer = submit(&engine, plain_request(prompt, 40, seed));
        run(&engine);
        first = first ? first : answer;
        uint32_t token = g_array_index(answer->tokens, uint32_t, 0), rank = 1;
        while (rank < SUNDOG_WIRE_MAX_SCORES &&
               g_array_index(first->scores, SundogTokenScore, rank).token != token)
            rank++;
        n_drawn[rank % SUNDOG_WIRE_MAX_SCORES]++;
    }
    check_distribution(first->scores, n_drawn);
    stop(&engine);
}

/* Drafts change no token, for any seed: so they leave the distribution what it is. */
static void
test_drafts(void)
{
    /* The cycle is made likely, so that guesses are right now and then. */
    static const SundogTokenBias biases[] = {{3, 4}, {4, 4}, {5, 4}, {6, 4}};
    uint32_t cycle[40];
    Engine engine = start(0, 60);
    for (uint32_t i = 0; i < G_N_ELEMENTS(cycle); i++)
        cycle[i] = 3 + i % 4;
    for (uint32_t seed = 0; seed < 60; seed++) {
        SundogSubmit request = plain_request(cycle, G_N_ELEMENTS(cycle), seed);
        request.max_tokens = 16;
        request.biases = biases;
        request.n_biases = G_N_ELEMENTS(biases);
        Answer *drafted = submit(&engine, request);
        request.flags = SUNDOG_SUBMIT_NO_DRAFTS;
        Answer *plain = submit(&engine, request);
        run(&engine);
        g_assert_cmpmem(drafted->tokens->data, drafted->tokens->len * 4, plain->tokens->data,
                        plain->tokens->len * 4);
    }
    SundogStatistics statistics;
    sundog_scheduler_get_statistics(engine.scheduler, &statistics);
    g_test_message("%" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT, statistics.n_accepted_tokens,
                   statistics.n_drafted_tokens);
    g_assert_cmpuint(statistics.n_accepted_tokens, >, 5);
    g_assert_cmpuint(statistics.n_accepted_tokens, <, statistics.n_drafted_tokens);
    stop(&engine);
}

/* Where a model's own layer guesses: it is right now and then in texts in which n-grams find nothing, and changes
 * no token, alone and beside others. */
static void
test_own_drafts(void)
{
    Engine engine = start(0, 60);
    g_assert_nonnull(sundog_replay_runner_get(engine.runner)->draft);
    for (uint32_t i = 0; i < 24; i++) {
        uint32_t n_beside = i % 3;
        SundogSubmit request = plain_request(prompt + i, 50 + 3 * i, i);
        request.max_tokens = 40;
        Answer *drafted = submit(&engine, request);
        for (uint32_t k = 0; k < n_beside; k++)
            submit(&engine, plain_request(prompt + k, 60 + i, k));
        run(&engine);
        request.flags = SUNDOG_SUBMIT_NO_DRAFTS | SUNDOG_SUBMIT_NO_PREFIX;
        Answer *plain = submit(&engine, request);
        run(&engine);
        g_assert_true(drafted->ended && !drafted->faulted);
        g_assert_cmpmem(drafted->tokens->data, drafted->tokens->len * 4, plain->tokens->data,
                        plain->tokens->len * 4);
    }
    SundogStatistics statistics;
    sundog_scheduler_get_statistics(engine.scheduler, &statistics);
    g_test_message("%" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT, statistics.n_accepted_tokens,
                   statistics.n_drafted_tokens);
    g_assert_cmpuint(statistics.n_accepted_tokens, >, 60);
    stop(&engine);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_assert_cmpint(argc, >=, 2);
    model = argv[1];
    for (uint32_t i = 0; i < N_PROMPT; i++)
        prompt[i] = (i * 7919 + i * i + 3) % 30;
    g_test_add_func("/replay-runner/any-step", test_any_step);
    if (argc > 2 && strcmp(argv[2], "guesses") == 0) {
        g_test_add_func("/replay-runner/own-drafts", test_own_drafts);
        return g_test_run();
    }
    g_test_add_func("/replay-runner/copied-pages", test_copied_pages);
    g_test_add_func("/replay-runner/scored-prompts", test_scored_prompts);
    if (argc == 2)
        g_test_add_func("/replay-runner/distribution", test_distribution);
    g_test_add_func("/replay-runner/drafts", test_drafts);
    return g_test_run();
}
