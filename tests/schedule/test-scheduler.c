/* The token engine over the fake model: whatever runs beside, each request gets its own tokens. */

#include "engine/schedule/request.h"
#include "tests/schedule/fake-engine.h"
#include <malloc.h>
#include <string.h>

#define CONTEXT 512

static const FakeModelOptions plain = {.page_tokens = 64,
                                       .pool_pages = 200,
                                       .sequence_pages = CONTEXT / 64,
                                       .max_tokens = 128,
                                       .max_sequences = 8,
                                       .history = 32,
                                       .max_drafts = 7};

static SundogSubmit
request_of(uint64_t id, const uint32_t *prompt, uint32_t n_prompt, uint32_t max_tokens)
{
    return (SundogSubmit){.id = id,
                          .prompt = prompt,
                          .n_prompt = n_prompt,
                          .max_tokens = max_tokens,
                          .top_p = 1,
                          .repetition_penalty = 1};
}

/* What must come for a request, from index `from` on, if nothing ends it early. */
static void
check_tokens(const FakeEngine *engine, const SundogSubmit *request, const Answer *answer)
{
    g_autofree uint32_t *tokens =
        g_new(uint32_t, request->n_prompt + answer->n_resumed + answer->tokens->len);
    memcpy(tokens, request->prompt, request->n_prompt * sizeof *tokens);
    if (request->n_produced > 0)
        memcpy(tokens + request->n_prompt, request->produced, request->n_produced * 4);
    uint32_t n_tokens = request->n_prompt + request->n_produced;
    for (guint i = 0; i < answer->tokens->len; i++) {
        uint32_t expected =
            fake_model_next(request, tokens, n_tokens, engine->model->runner.max.history);
        g_assert_cmpuint(g_array_index(answer->tokens, uint32_t, i), ==, expected);
        tokens[n_tokens++] = expected;
    }
}

static void
check_full(const FakeEngine *engine, const SundogSubmit *request, const Answer *answer)
{
    g_assert_true(answer->ended);
    g_assert_false(answer->faulted);
    g_assert_cmpint(answer->finish.reason, ==, SUNDOG_FINISH_LENGTH);
    g_assert_cmpuint(answer->finish.n_produced, ==, request->max_tokens);
    g_assert_cmpuint(answer->finish.n_prompt, ==, request->n_prompt);
    g_assert_cmpuint(answer->n_prefilled, ==, request->n_prompt);
    check_tokens(engine, request, answer);
}

static void
test_one(void)
{
    FakeEngine engine = fake_engine_start(&plain);
    g_autofree uint32_t *prompt = fake_engine_make_prompt(1, 100);
    SundogSubmit request = request_of(1, prompt, 100, 20);
    Answer *answer = fake_engine_submit(&engine, &request);
    fake_engine_run(&engine);
    check_full(&engine, &request, answer);
    g_assert_cmpuint(answer->finish.n_cached, ==, 0);
    SundogStatistics statistics;
    sundog_scheduler_get_statistics(engine.scheduler, &statistics);
    g_assert_cmpuint(statistics.n_prompt_tokens, ==, 100);
    g_assert_cmpuint(statistics.n_produced_tokens, ==, 20);
    g_assert_cmpuint(statistics.n_finished, ==, 1);
    g_assert_cmpuint(statistics.n_steps, ==, engine.model->n_steps);
    g_assert_cmpuint(statistics.n_pages_cached, ==, 2);
    fake_engine_stop(&engine);
}

/* T5: any of the ends ends it, whichever the vocabulary calls its own. */
static void
test_end_token(void)
{
    FakeEngine engine = fake_engine_start(&plain);
    g_autofree uint32_t *prompt = fake_engine_make_prompt(2, 10);
    SundogSubmit request = request_of(1, prompt, 10, 20);
    Answer *whole = fake_engine_submit(&engine, &request);
    fake_engine_run(&engine);
    uint32_t end = g_array_index(whole->tokens, uint32_t, 5);
    uint32_t n_before = 0; /* it may come before its sixth place too */
    while (g_array_index(whole->tokens, uint32_t, n_before) != end)
        n_before++;
    const uint32_t ends[] = {FAKE_VOCABULARY + 5, end};
    SundogSubmit again = request_of(2, prompt, 10, 20);
    again.ends = ends;
    again.n_ends = 2;
    Answer *answer = fake_engine_submit(&engine, &again);
    fake_engine_run(&engine);
    g_assert_cmpint(answer->finish.reason, ==, SUNDOG_FINISH_STOP);
    g_assert_cmpuint(answer->tokens->len, ==, n_before); /* the end token is not sent */
    check_tokens(&engine, &again, answer);
    fake_engine_stop(&engine);
}

/* Many at once, of all sizes, with every kind of sampling: more than there are rows or slots. */
static void
run_many(const FakeModelOptions *options, uint32_t n_requests, uint32_t max_prompt,
         uint32_t max_tokens)
{
    FakeEngine engine = fake_engine_start(options);
    g_autoptr(GRand) random = g_rand_new_with_seed(n_requests);
    g_autofree SundogSubmit *requests = g_new0(SundogSubmit, n_requests);
    for (uint32_t i = 0; i < n_requests; i++) {
        uint32_t n_prompt = 1 + g_rand_int(random) % max_prompt;
        /* Every second shares a beginning with others. */
        uint32_t *prompt = fake_engine_make_prompt(i % 2 ? i : 0, n_prompt);
        requests[i] = request_of(i + 1, prompt, n_prompt, 1 + g_rand_int(random) % max_tokens);
        requests[i].seed = i % 5;
        requests[i].temperature = i % 3;
        requests[i].top_k = i % 5 == 4 ? FAKE_REPEATS : (int32_t)(i % 4);
        requests[i].presence_penalty = i % 3 == 1;
        requests[i].repetition_penalty = i % 4 == 1 ? 1.5 : 1;
        requests[i].penalty_window = i % 7 * 10;
        requests[i].flags = i % 6 == 0 ? SUNDOG_SUBMIT_NO_PREFIX : 0;
        fake_engine_submit(&engine, &requests[i]);
        if (i % 3 == 0)
            fake_engine_step(&engine);
    }
    fake_engine_run(&engine);
    for (uint32_t i = 0; i < n_requests; i++) {
        check_full(&engine, &requests[i], answers_get(engine.answers, i + 1));
        g_free((uint32_t *)requests[i].prompt);
    }
    fake_engine_stop(&engine);
}

static void
test_many(void)
{
    run_many(&plain, 60, 300, 60);
}

/* The pool holds little more than the longest sequence: pages run out all the time. */
static void
test_pages_run_out(void)
{
    FakeModelOptions options = plain;
    options.page_tokens = 4;
    options.sequence_pages = 32;
    options.pool_pages = 34;
    run_many(&options, 80, 60, 60);
    options.pool_pages = 60;
    run_many(&options, 80, 60, 60);
}

static void
test_narrow_steps(void)
{
    FakeModelOptions options = plain;
    options.page_tokens = 4;
    options.sequence_pages = 32;
    options.max_tokens = 3;
    options.max_sequences = 3;
    run_many(&options, 30, 60, 60);
}

/* Hit equals miss at every split of a 300-token prompt, and the count is told (K3, S3). */
static void
test_every_split(void)
{
    g_autofree uint32_t *prompt = fake_engine_make_prompt(3, 300);
    for (uint32_t split = 1; split <= 300; split++) {
        FakeEngine engine = fake_engine_start(&plain);
        SundogSubmit first = request_of(1, prompt, split, 1);
        fake_engine_submit(&engine, &first);
        fake_engine_run(&engine);
        SundogSubmit second = request_of(2, prompt, 300, 3);
        Answer *answer = fake_engine_submit(&engine, &second);
        fake_engine_run(&engine);
        check_full(&engine, &second, answer);
        g_assert_cmpuint(answer->finish.n_cached, ==, MIN(split, 299));
        g_assert_cmpuint(answer->n_cached, ==, MIN(split, 299));
        fake_engine_stop(&engine);
    }
}

/* K4: the next turn finds prompt and answer of the one before. */
static void
test_turns(void)
{
    FakeEngine engine = fake_engine_start(&plain);
    g_autoptr(GArray) talk = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    g_autofree uint32_t *words = fake_engine_make_prompt(4, 30);
    for (uint64_t turn = 1; turn <= 6; turn++) {
        uint32_t n_known = talk->len;
        g_array_append_vals(talk, words, 30);
        SundogSubmit request = request_of(turn, (uint32_t *)talk->data, talk->len, 40);
        Answer *answer = fake_engine_submit(&engine, &request);
        fake_engine_run(&engine);
        check_full(&engine, &request, answer);
        /* All but the last produced token, which never ran. */
        g_assert_cmpuint(answer->finish.n_cached, ==, n_known > 0 ? n_known - 1 : 0);
        g_array_append_vals(talk, answer->tokens->data, answer->tokens->len);
    }
    fake_engine_stop(&engine);
}

static void
test_cancel(void)
{
    FakeModelOptions options = plain;
    options.max_sequences = 2;
    FakeEngine engine = fake_engine_start(&options);
    g_autofree uint32_t *prompt = fake_engine_make_prompt(5, 400);
    SundogSubmit decoding = request_of(1, prompt, 5, 100);
    SundogSubmit prefilling = request_of(2, prompt + 5, 395, 100);
    SundogSubmit queued = request_of(3, prompt + 9, 10, 4);
    SundogSubmit other = request_of(4, prompt + 11, 10, 4);
    Answer *first = fake_engine_submit(&engine, &decoding);
    fake_engine_step(&engine);
    fake_engine_step(&engine);
    Answer *second = fake_engine_submit(&engine, &prefilling);
    Answer *third = fake_engine_submit(&engine, &queued);
    Answer *fourth = fake_engine_submit(&engine, &other);
    fake_engine_step(&engine);
    g_assert_true(second->n_prefilled > 0 && second->n_prefilled < 395);
    g_assert_false(third->admitted);

    fake_engine_cancel(&engine, 3); /* in the queue */
    g_assert_true(third->ended);
    g_assert_cmpint(third->finish.reason, ==, SUNDOG_FINISH_CANCELLED);
    fake_engine_cancel(&engine, 2); /* in prefill */
    g_assert_true(second->ended);
    g_assert_cmpuint(second->tokens->len, ==, 0);
    fake_engine_cancel(&engine, 1); /* in decode: what came before was right */
    g_assert_cmpint(first->finish.reason, ==, SUNDOG_FINISH_CANCELLED);
    check_tokens(&engine, &decoding, first);
    fake_engine_cancel(&engine, 1); /* ended: nothing */
    fake_engine_cancel(&engine, 99);
    fake_engine_run(&engine);
    check_full(&engine, &other, fourth); /* nobody else's business */
    fake_engine_stop(&engine);
}

/* Cancelled in the middle of prefill, then the same prompt: as if it had never been (H6). */
static void
test_cancel_then_same(void)
{
    g_autofree uint32_t *prompt = fake_engine_make_prompt(6, 400);
    for (uint32_t n_steps = 1; n_steps < 5; n_steps++) {
        FakeEngine engine = fake_engine_start(&plain);
        SundogSubmit request = request_of(1, prompt, 400, 10);
        Answer *cancelled = fake_engine_submit(&engine, &request);
        for (uint32_t i = 0; i < n_steps; i++)
            fake_engine_step(&engine);
        uint32_t n_done = cancelled->n_prefilled;
        fake_engine_cancel(&engine, 1);
        request.id = 2;
        Answer *answer = fake_engine_submit(&engine, &request);
        fake_engine_run(&engine);
        check_full(&engine, &request, answer);
        g_assert_cmpuint(answer->finish.n_cached, ==, MIN(n_done, 399));
        fake_engine_stop(&engine);
    }
}

/* A context's end ends the answer, whatever max_tokens says (K9). */
static void
test_context_end(void)
{
    FakeModelOptions options = plain;
    options.sequence_pages = 1; /* a context of 64 */
    FakeEngine engine = fake_engine_start(&options);
    g_assert_cmpuint(sundog_scheduler_get_context_length(engine.scheduler), ==, 64);
    g_autofree uint32_t *prompt = fake_engine_make_prompt(7, 100);
    SundogSubmit request = request_of(1, prompt, 10, UINT32_MAX);
    Answer *answer = fake_engine_submit(&engine, &request);
    SundogSubmit last = request_of(2, prompt, 63, 10);
    Answer *last_answer = fake_engine_submit(&engine, &last);
    SundogSubmit full = request_of(3, prompt, 64, 10);
    Answer *full_answer = fake_engine_submit(&engine, &full);
    SundogSubmit over = request_of(4, prompt, 100, 10);
    Answer *over_answer = fake_engine_submit(&engine, &over);
    fake_engine_run(&engine);
    g_assert_cmpuint(answer->tokens->len, ==, 54);
    g_assert_cmpint(answer->finish.reason, ==, SUNDOG_FINISH_LENGTH);
    check_tokens(&engine, &request, answer);
    g_assert_cmpuint(last_answer->tokens->len, ==, 1);
    g_assert_true(full_answer->faulted && over_answer->faulted);
    g_assert_cmpint(over_answer->fault, ==, SUNDOG_FAULT_CONTEXT_LENGTH);
    fake_engine_stop(&engine);
}

/* A pool smaller than the context bounds it, so that one sequence alone always gets through. */
static void
test_small_pool(void)
{
    FakeModelOptions options = plain;
    options.pool_pages = 3;
    FakeEngine engine = fake_engine_start(&options);
    g_assert_cmpuint(sundog_scheduler_get_context_length(engine.scheduler), ==, 128);
    g_autofree uint32_t *prompt = fake_engine_make_prompt(8, 100);
    SundogSubmit a = request_of(1, prompt, 100, 1000);
    SundogSubmit b = request_of(2, prompt + 1, 90, 1000);
    Answer *first = fake_engine_submit(&engine, &a);
    Answer *second = fake_engine_submit(&engine, &b);
    fake_engine_run(&engine);
    g_assert_cmpuint(first->tokens->len, ==, 28);
    g_assert_cmpuint(second->tokens->len, ==, 38);
    check_tokens(&engine, &a, first);
    check_tokens(&engine, &b, second);
    fake_engine_stop(&engine);
}

/* Ends exactly at, before and after the borders of pages, a shorter one after each (G14). */
static void
test_page_borders(void)
{
    static const uint32_t lengths[] = {63, 64, 65, 127, 128, 129, 191, 192, 193};
    FakeEngine engine = fake_engine_start(&plain);
    uint64_t id = 0;
    for (uint32_t n_prompt = 1; n_prompt < 131; n_prompt += 43) {
        for (size_t i = 0; i < G_N_ELEMENTS(lengths); i++) {
            if (lengths[i] <= n_prompt)
                continue;
            g_autofree uint32_t *prompt = fake_engine_make_prompt((uint32_t)++id, n_prompt);
            SundogSubmit request = request_of(id, prompt, n_prompt, lengths[i] - n_prompt);
            Answer *answer = fake_engine_submit(&engine, &request);
            fake_engine_run(&engine);
            check_full(&engine, &request, answer);
            SundogSubmit brief = request_of(++id, prompt, 1, 1);
            Answer *brief_answer = fake_engine_submit(&engine, &brief);
            fake_engine_run(&engine);
            check_full(&engine, &brief, brief_answer);
        }
    }
    fake_engine_stop(&engine);
}

/* An engine died after n tokens: another goes on with the very tokens that would have come. */
static void
test_resubmitted(void)
{
    g_autofree uint32_t *prompt = fake_engine_make_prompt(9, 60);
    SundogSubmit whole = request_of(1, prompt, 60, 20);
    whole.seed = 77;
    whole.temperature = 1;
    whole.frequency_penalty = 1;
    whole.penalty_window = 30;
    FakeEngine engine = fake_engine_start(&plain);
    Answer *answer = fake_engine_submit(&engine, &whole);
    fake_engine_run(&engine);
    check_full(&engine, &whole, answer);
    for (uint32_t n = 1; n < 20; n++) {
        FakeEngine next = fake_engine_start(&plain);
        SundogSubmit rest = whole;
        rest.produced = (uint32_t *)answer->tokens->data;
        rest.n_produced = n;
        Answer *rest_answer = fake_engine_submit(&next, &rest);
        fake_engine_run(&next);
        g_assert_cmpmem(rest_answer->tokens->data, rest_answer->tokens->len * 4,
                        answer->tokens->data + n * 4, (20 - n) * 4);
        fake_engine_stop(&next);
    }
    fake_engine_stop(&engine);
}

/* S7 */
static void
test_not_finite(void)
{
    FakeEngine engine = fake_engine_start(&plain);
    g_autofree uint32_t *prompt = fake_engine_make_prompt(10, 200);
    SundogSubmit good = request_of(1, prompt, 20, 30);
    Answer *good_answer = fake_engine_submit(&engine, &good);
    g_autofree uint32_t *poisoned = fake_engine_make_prompt(11, 200);
    poisoned[150] = FAKE_POISON;
    SundogSubmit bad = request_of(2, poisoned, 200, 30);
    Answer *bad_answer = fake_engine_submit(&engine, &bad);
    fake_engine_run(&engine);
    g_assert_true(bad_answer->faulted);
    g_assert_cmpint(bad_answer->fault, ==, SUNDOG_FAULT_NOT_FINITE);
    g_assert_cmpuint(bad_answer->tokens->len, ==, 0);
    check_full(&engine, &good, good_answer);
    SundogSubmit near_it = request_of(3, poisoned, 140, 5); /* nothing of it was kept */
    Answer *near_answer = fake_engine_submit(&engine, &near_it);
    fake_engine_run(&engine);
    g_assert_cmpuint(near_answer->finish.n_cached, ==, 0);
    check_full(&engine, &near_it, near_answer);
    fake_engine_stop(&engine);
}

static void
test_step_fails(void)
{
    FakeEngine engine = fake_engine_start(&plain);
    g_autofree uint32_t *prompt = fake_engine_make_prompt(12, 200);
    prompt[199] = FAKE_FAILURE;
    SundogSubmit bad = request_of(1, prompt, 200, 5);
    Answer *bad_answer = fake_engine_submit(&engine, &bad);
    fake_engine_run(&engine);
    g_assert_true(bad_answer->faulted);
    g_assert_cmpint(bad_answer->fault, ==, SUNDOG_FAULT_INTERNAL);
    SundogSubmit good = request_of(2, prompt, 199, 5);
    Answer *good_answer = fake_engine_submit(&engine, &good);
    fake_engine_run(&engine);
    check_full(&engine, &good, good_answer);
    fake_engine_stop(&engine);
}

static void
test_bad_requests(void)
{
    FakeEngine engine = fake_engine_start(&plain);
    const uint32_t prompt[] = {1, 2, FAKE_VOCABULARY};
    const uint32_t many[SUNDOG_REQUEST_MAX_ENDS + 1] = {0};
    SundogSubmit token = request_of(1, prompt, 3, 5);
    g_assert_cmpint(fake_engine_submit(&engine, &token)->fault, ==, SUNDOG_FAULT_BAD_REQUEST);
    SundogSubmit produced = request_of(2, prompt, 2, 5);
    produced.produced = prompt + 2;
    produced.n_produced = 1;
    g_assert_true(fake_engine_submit(&engine, &produced)->faulted);
    SundogSubmit ends = request_of(3, prompt, 2, 5);
    ends.ends = many;
    ends.n_ends = G_N_ELEMENTS(many);
    g_assert_true(fake_engine_submit(&engine, &ends)->faulted);
    /* The same id twice: the first goes on. */
    SundogSubmit twice = request_of(4, prompt, 2, 5);
    Answer *answer = fake_engine_submit(&engine, &twice);
    sundog_scheduler_submit(engine.scheduler, &twice, 0);
    fake_engine_run(&engine);
    check_full(&engine, &twice, answer);
    /* Resubmitted when the context was full already. */
    g_autofree uint32_t *long_prompt = fake_engine_make_prompt(1, CONTEXT);
    SundogSubmit full = request_of(5, long_prompt, CONTEXT - 2, 50);
    full.produced = long_prompt;
    full.n_produced = 2;
    g_assert_cmpint(fake_engine_submit(&engine, &full)->finish.reason, ==, SUNDOG_FINISH_LENGTH);
    fake_engine_stop(&engine);
}

/* A long prompt beside a decoding request: each step still brings the latter a token. */
static void
test_decoding_goes_first(void)
{
    FakeEngine engine = fake_engine_start(&plain);
    g_autofree uint32_t *prompt = fake_engine_make_prompt(13, 500);
    SundogSubmit decoding = request_of(1, prompt, 5, 100);
    Answer *answer = fake_engine_submit(&engine, &decoding);
    fake_engine_step(&engine);
    SundogSubmit second = request_of(2, prompt + 1, 490, 2);
    SundogSubmit third = request_of(3, prompt + 2, 490, 2);
    Answer *older = fake_engine_submit(&engine, &second);
    Answer *younger = fake_engine_submit(&engine, &third);
    while (!younger->ended) {
        guint n_before = answer->tokens->len;
        fake_engine_step(&engine);
        g_assert_true(answer->tokens->len == n_before + 1 || answer->ended);
        g_assert_true(older->n_prefilled == 490 || younger->n_prefilled == 0);
    }
    fake_engine_run(&engine);
    fake_engine_stop(&engine);
}

/* Thousands of requests, some cancelled: what is in use at the end is what was at the start (G9). */
/* A prompt as the repeating answers go on. */
static uint32_t *
make_cycle(uint32_t n_tokens)
{
    uint32_t *tokens = g_new(uint32_t, n_tokens);
    for (uint32_t i = 0; i < n_tokens; i++)
        tokens[i] = i % FAKE_REPEATS;
    return tokens;
}

static void
test_drafts(void)
{
    FakeEngine engine = fake_engine_start(&plain);
    g_autofree uint32_t *prompt = make_cycle(40);
    SundogSubmit request = request_of(1, prompt, 40, 300);
    request.top_k = FAKE_REPEATS;
    Answer *answer = fake_engine_submit(&engine, &request);
    fake_engine_run(&engine);
    check_full(&engine, &request, answer);
    SundogStatistics statistics;
    sundog_scheduler_get_statistics(engine.scheduler, &statistics);
    g_assert_cmpuint(statistics.n_accepted_tokens, >, 150);
    g_assert_cmpuint(statistics.n_accepted_tokens, <, statistics.n_drafted_tokens);
    g_assert_cmpuint(statistics.n_steps, ==, 1 + 299 - statistics.n_accepted_tokens);
    uint64_t n_with_drafts = statistics.n_steps;

    request.id = 2;
    request.flags = SUNDOG_SUBMIT_NO_DRAFTS | SUNDOG_SUBMIT_NO_PREFIX;
    answer = fake_engine_submit(&engine, &request);
    fake_engine_run(&engine);
    check_full(&engine, &request, answer);
    sundog_scheduler_get_statistics(engine.scheduler, &statistics);
    g_assert_cmpuint(statistics.n_steps - n_with_drafts, ==, 300);
    fake_engine_stop(&engine);
}

/* Recurrent state that took a wrong guess in is given up, and what was right runs again. */
static void
test_recurrent_drafts(void)
{
    FakeModelOptions options = plain;
    options.pool_states = 6;
    FakeEngine engine = fake_engine_start(&options);
    g_autofree uint32_t *prompt = make_cycle(40);
    SundogSubmit requests[3];
    Answer *answers[3];
    for (uint32_t i = 0; i < 3; i++) {
        requests[i] = request_of(i + 1, prompt, 40 - i, 300);
        requests[i].top_k = FAKE_REPEATS;
        answers[i] = fake_engine_submit(&engine, &requests[i]);
    }
    fake_engine_run(&engine);
    for (uint32_t i = 0; i < 3; i++)
        check_full(&engine, &requests[i], answers[i]);
    SundogStatistics statistics;
    sundog_scheduler_get_statistics(engine.scheduler, &statistics);
    g_assert_cmpuint(statistics.n_accepted_tokens, >, 300);
    g_assert_cmpuint(statistics.n_accepted_tokens, <, statistics.n_drafted_tokens);
    g_assert_cmpuint(statistics.n_steps, <, 200);
    fake_engine_stop(&engine);
}

/* An end among the drafts ends the answer, though what was guessed behind it is right too. */
static void
test_end_among_drafts(void)
{
    FakeEngine engine = fake_engine_start(&plain);
    g_autofree uint32_t *prompt = make_cycle(40);
    const uint32_t ends[] = {(40 + 9) % FAKE_REPEATS};
    SundogSubmit request = request_of(1, prompt, 40, 300);
    request.top_k = FAKE_REPEATS;
    request.ends = ends;
    request.n_ends = 1;
    Answer *answer = fake_engine_submit(&engine, &request);
    fake_engine_run(&engine);
    g_assert_cmpint(answer->finish.reason, ==, SUNDOG_FINISH_STOP);
    g_assert_cmpuint(answer->tokens->len, ==, 9);
    check_tokens(&engine, &request, answer);
    SundogStatistics statistics;
    sundog_scheduler_get_statistics(engine.scheduler, &statistics);
    g_assert_cmpuint(statistics.n_accepted_tokens, >, 0);
    fake_engine_stop(&engine);
}

/* Answers that never repeat: guesses from a prompt that misleads are soon given up. */
static void
test_wrong_drafts(void)
{
    FakeEngine engine = fake_engine_start(&plain);
    g_autofree uint32_t *prompt = fake_engine_make_prompt(9, 30);
    g_autoptr(GArray) told = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    SundogSubmit request = request_of(1, prompt, 30, 300);
    Answer *answer = fake_engine_submit(&engine, &request);
    fake_engine_run(&engine);
    /* Each three tokens of the answer stand in the new prompt, with another behind them. */
    for (guint i = 0; i + 3 < answer->tokens->len && told->len < 190; i++) {
        uint32_t wrong = FAKE_VOCABULARY - 1;
        g_array_append_vals(told, &g_array_index(answer->tokens, uint32_t, i), 3);
        g_array_append_val(told, wrong);
    }
    SundogSubmit misled = request_of(2, (uint32_t *)told->data, told->len, 300);
    Answer *second = fake_engine_submit(&engine, &misled);
    fake_engine_run(&engine);
    check_full(&engine, &misled, second);
    SundogStatistics statistics;
    sundog_scheduler_get_statistics(engine.scheduler, &statistics);
    g_assert_cmpuint(statistics.n_accepted_tokens, ==, 0);
    g_assert_cmpuint(statistics.n_drafted_tokens, <, 30);
    fake_engine_stop(&engine);
}

static void
test_memory_flat(void)
{
    FakeEngine engine = fake_engine_start(&plain);
    size_t n_bytes = 0;
    for (uint64_t id = 1; id <= 12000; id++) {
        g_autofree uint32_t *prompt = fake_engine_make_prompt((uint32_t)id, 1 + id % 90);
        SundogSubmit request = request_of(id, prompt, 1 + id % 90, 1 + id % 5);
        fake_engine_submit(&engine, &request);
        if (id % 7 == 0)
            fake_engine_cancel(&engine, id);
        fake_engine_run(&engine);
        g_hash_table_remove(engine.answers->table, &id);
        if (id == 1000)
            n_bytes = mallinfo2().uordblks;
    }
    g_test_message("%zu bytes in use, %zu at the start", mallinfo2().uordblks, n_bytes);
    /* What malloc keeps at hand for each size counts as in use: up to a quarter of a megabyte. */
    g_assert_cmpuint(mallinfo2().uordblks, <, n_bytes + 400000);
    fake_engine_stop(&engine);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/scheduler/one", test_one);
    g_test_add_func("/scheduler/end-token", test_end_token);
    g_test_add_func("/scheduler/many", test_many);
    g_test_add_func("/scheduler/pages-run-out", test_pages_run_out);
    g_test_add_func("/scheduler/narrow-steps", test_narrow_steps);
    g_test_add_func("/scheduler/every-split", test_every_split);
    g_test_add_func("/scheduler/turns", test_turns);
    g_test_add_func("/scheduler/cancel", test_cancel);
    g_test_add_func("/scheduler/cancel-then-same", test_cancel_then_same);
    g_test_add_func("/scheduler/context-end", test_context_end);
    g_test_add_func("/scheduler/small-pool", test_small_pool);
    g_test_add_func("/scheduler/page-borders", test_page_borders);
    g_test_add_func("/scheduler/resubmitted", test_resubmitted);
    g_test_add_func("/scheduler/not-finite", test_not_finite);
    g_test_add_func("/scheduler/step-fails", test_step_fails);
    g_test_add_func("/scheduler/bad-requests", test_bad_requests);
    g_test_add_func("/scheduler/decoding-goes-first", test_decoding_goes_first);
    g_test_add_func("/scheduler/drafts", test_drafts);
    g_test_add_func("/scheduler/recurrent-drafts", test_recurrent_drafts);
    g_test_add_func("/scheduler/end-among-drafts", test_end_among_drafts);
    g_test_add_func("/scheduler/wrong-drafts", test_wrong_drafts);
    g_test_add_func("/scheduler/memory-flat", test_memory_flat);
    return g_test_run();
}
