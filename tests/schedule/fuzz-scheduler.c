/*
 * The scheduler under any order of events: bytes become submits, cancels and steps over a pool that is
 * too small. Whatever happens, each request gets its own tokens, ends once, and gives its pages back.
 */

#include "engine/schedule/request.h"
#include "engine/schedule/scheduler.h"
#include "tests/schedule/answers.h"
#include "tests/schedule/fake-model.h"
#include <string.h>

#define PAGE_TOKENS 4
#define SEQUENCE_PAGES 10
#define MAX_REQUESTS 40
#define MAX_TOKENS (PAGE_TOKENS * SEQUENCE_PAGES + 8)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);
void fuzz_make_seeds(void (*add)(const void *data, size_t n_bytes));

typedef struct {
    const uint8_t *data;
    size_t n_left;
    FakeModel *model;
    SundogScheduler *scheduler;
    GByteArray *outbox;
    Answers *answers;
    SundogSubmit requests[MAX_REQUESTS];
    uint32_t tokens[MAX_REQUESTS][MAX_TOKENS];
    uint32_t end;
    uint32_t n_requests;
} World;

static uint32_t
take(World *world, uint32_t limit)
{
    if (world->n_left == 0)
        return 0;
    world->n_left--;
    return *world->data++ % limit;
}

/* Few different tokens, so that beginnings are shared. */
static void
submit(World *world)
{
    if (world->n_requests == MAX_REQUESTS)
        return;
    uint32_t index = world->n_requests++;
    uint32_t n_prompt = 1 + take(world, PAGE_TOKENS * SEQUENCE_PAGES + 2);
    uint32_t kind = take(world, 4);
    for (uint32_t i = 0; i < n_prompt; i++)
        world->tokens[index][i] = i > 7 && i % 5 == 0 ? kind : 1;
    if (take(world, 16) == 15)
        world->tokens[index][n_prompt / 2] = FAKE_POISON;
    if (take(world, 16) == 15)
        world->tokens[index][n_prompt - 1] = FAKE_FAILURE;
    SundogSubmit *request = &world->requests[index];
    *request = (SundogSubmit){.id = index + 1,
                              .prompt = world->tokens[index],
                              .n_prompt = n_prompt,
                              .max_tokens = 1 + take(world, 50),
                              .ends = &world->end,
                              .n_ends = take(world, 2),
                              .temperature = 1,
                              .top_p = 1,
                              .repetition_penalty = take(world, 2) ? 1 : 2,
                              .penalty_window = take(world, 8),
                              .seed = take(world, 4),
                              .top_k = take(world, 2) ? FAKE_REPEATS : 0,
                              .flags = take(world, 4) == 3 ? SUNDOG_SUBMIT_NO_PREFIX : 0,
                              .n_scores = take(world, 3),
                              .follows = take(world, MAX_REQUESTS + 1)};
    if (request->n_scores > 0 && take(world, 2) == 1)
        request->flags |= SUNDOG_SUBMIT_SCORE_PROMPT;
    answers_expect(world->answers, request->id, 0);
    sundog_scheduler_submit(world->scheduler, request, g_get_monotonic_time());
}

static void
act(World *world)
{
    switch (take(world, 4)) {
    case 0:
        submit(world);
        break;
    case 1:
        sundog_scheduler_cancel(world->scheduler, 1 + take(world, MAX_REQUESTS));
        break;
    default:
        sundog_scheduler_step(world->scheduler);
        break;
    }
    answers_take_bytes(world->answers, world->outbox);
}

/* Of the token at each position that was told, after those before it. */
static void
check_scores(const SundogSubmit *request, const Answer *answer, const uint32_t *tokens)
{
    for (guint i = 0; i < answer->scores->len; i++) {
        const SundogTokenScore *score = &g_array_index(answer->scores, SundogTokenScore, i);
        uint32_t position = answer->first_scored + i / request->n_scores;
        uint32_t token = (tokens[position] + i % request->n_scores) % FAKE_VOCABULARY;
        g_assert_cmpuint(score->token, ==, token);
        g_assert_cmpfloat(score->log_probability, ==, fake_model_score(tokens, position, token));
    }
}

static void
check_answer(World *world, uint32_t index)
{
    const SundogSubmit *request = &world->requests[index];
    const Answer *answer = answers_get(world->answers, request->id);
    uint32_t *tokens = world->tokens[index];
    g_assert_true(answer->ended);
    g_assert_true(answer->tokens->len == 0 ||
                  request->n_prompt + answer->tokens->len < PAGE_TOKENS * SEQUENCE_PAGES);
    for (guint i = 0; i < answer->tokens->len; i++) {
        uint32_t n_tokens = request->n_prompt + i;
        uint32_t token = g_array_index(answer->tokens, uint32_t, i);
        g_assert_cmpuint(
            token, ==,
            fake_model_next(request, tokens, n_tokens, world->model->runner.max.history));
        tokens[n_tokens] = token;
    }
    check_scores(request, answer, tokens);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    bool is_device = n_bytes % 4 == 1;
    FakeModelOptions options = {.is_device = is_device,
                                .page_tokens = PAGE_TOKENS,
                                .pool_pages = SEQUENCE_PAGES + 6,
                                .sequence_pages = SEQUENCE_PAGES,
                                .max_tokens = 9,
                                .max_sequences = 4,
                                .history = 6,
                                .max_drafts = is_device ? 0 : 3,
                                .pool_states = !is_device && n_bytes % 3 == 0 ? 5 : 1};
    g_autofree World *world = g_new0(World, 1);
    world->data = data;
    world->n_left = n_bytes;
    world->end = 77;
    world->model = fake_model_new(&options);
    world->outbox = g_byte_array_new();
    world->answers = answers_new();
    world->scheduler = sundog_scheduler_new(
        &(SundogSchedulerOptions){.context_length = PAGE_TOKENS * SEQUENCE_PAGES - 1,
                                  .max_kept_pages = n_bytes % 2 ? -1 : 3,
                                  .clock = fake_model_clock,
                                  .clock_data = world->model},
        &world->model->runner, world->outbox);
    while (world->n_left > 0)
        act(world);
    for (uint32_t n = 0; sundog_scheduler_has_work(world->scheduler); n++) {
        g_assert_cmpuint(n, <, 100000); /* each request ends */
        sundog_scheduler_step(world->scheduler);
        answers_take_bytes(world->answers, world->outbox);
    }
    for (uint32_t i = 0; i < world->n_requests; i++)
        check_answer(world, i);
    SundogStatistics statistics;
    sundog_scheduler_get_statistics(world->scheduler, &statistics);
    g_assert_cmpuint(statistics.n_pages_used, ==, 0);
    sundog_scheduler_free(world->scheduler);
    answers_free(world->answers);
    g_byte_array_unref(world->outbox);
    fake_model_free(world->model);
    return 0;
}

void
fuzz_make_seeds(void (*add)(const void *data, size_t n_bytes))
{
    static const uint8_t many[] = {0, 30, 1,  0, 0, 40, 0, 0, 1, 0, 0, 2, 0,  31, 1,
                                   0, 0,  30, 1, 1, 1,  0, 0, 2, 2, 2, 0, 36, 2,  15,
                                   0, 9,  0,  1, 0, 0,  3, 2, 2, 2, 1, 1, 2,  2,  2,
                                   2, 0,  12, 1, 0, 15, 9, 0, 1, 3, 0, 2, 2,  2};
    static const uint8_t brief[] = {0, 1, 1, 0, 0, 9, 0, 0, 0, 0, 0, 2, 1, 0};
    /* A recurrent sequence begins anew whose prefix is others' too. */
    static const uint8_t anew[] = {44,  148, 0,   49,  10,  44,  44,  236, 236, 236, 236, 236,
                                   236, 236, 236, 236, 236, 236, 236, 236, 236, 236, 236, 236,
                                   236, 236, 236, 236, 236, 236, 236, 236, 236, 236, 236, 236,
                                   236, 236, 236, 236, 236, 236, 236, 255, 0,   0,   0,   0,
                                   0,   0,   0,   37,  255, 255, 255, 17,  0};
    add(many, sizeof many);
    add(anew, sizeof anew);
    add(brief, sizeof brief);
}
