/* A scheduler over the fake model. */

#include "tests/schedule/fake-engine.h"

static FakeEngine
start(const FakeModelOptions *options, FakeModel *small, SundogPageRecorder *draft_recorder)
{
    FakeEngine engine = {.model = fake_model_new(options),
                         .small = small,
                         .draft_recorder = draft_recorder,
                         .outbox = g_byte_array_new(),
                         .answers = answers_new()};
    if (small)
        small->large = engine.model;
    engine.scheduler = sundog_scheduler_new(
        &(SundogSchedulerOptions){.context_length = options->sequence_pages * options->page_tokens,
                                  .max_kept_pages = -1,
                                  .draft_runner = small ? &small->runner : NULL,
                                  .draft_recorder = draft_recorder,
                                  .clock = fake_model_clock,
                                  .clock_data = engine.model},
        &engine.model->runner, engine.outbox);
    return engine;
}

FakeEngine
fake_engine_start(const FakeModelOptions *options)
{
    return start(options, NULL, NULL);
}

FakeEngine
fake_engine_start_drafting(const FakeModelOptions *options, const FakeModelOptions *small,
                           uint32_t errs)
{
    FakeModel *model = fake_model_new(small);
    model->errs = errs;
    return start(options, model, NULL);
}

FakeEngine
fake_engine_start_recording(const FakeModelOptions *options, const FakeModelOptions *small,
                            const char *folder)
{
    FakeModel *model = fake_model_new(small);
    g_autoptr(GError) error = NULL;
    SundogPageRecorderOptions recorder = {.store =
                                              sundog_record_store_open(folder, 1 << 24, &error),
                                          .n_pages = model->runner.pool_pages,
                                          .page_tokens = model->runner.page_tokens,
                                          .state = model->runner.state};
    g_assert_no_error(error);
    return start(options, model, sundog_page_recorder_new(&recorder));
}

void
fake_engine_stop(FakeEngine *engine)
{
    SundogStatistics statistics;
    sundog_scheduler_get_statistics(engine->scheduler, &statistics);
    g_assert_cmpuint(statistics.n_cached_tokens, <=, statistics.n_prompt_tokens);
    if (!sundog_scheduler_has_work(engine->scheduler)) {
        g_assert_cmpuint(statistics.n_pages_used, ==, 0);
        g_assert_cmpuint(statistics.n_running + statistics.n_queued, ==, 0);
    }
    sundog_scheduler_free(engine->scheduler);
    sundog_page_recorder_free(engine->draft_recorder);
    fake_model_free(engine->model);
    fake_model_free(engine->small);
    answers_free(engine->answers);
    g_byte_array_unref(engine->outbox);
}

Answer *
fake_engine_submit(FakeEngine *engine, const SundogSubmit *request)
{
    Answer *answer = answers_expect(engine->answers, request->id, request->n_produced);
    sundog_scheduler_submit(engine->scheduler, request, engine->model->now_us);
    answers_take_bytes(engine->answers, engine->outbox);
    return answer;
}

void
fake_engine_cancel(FakeEngine *engine, uint64_t id)
{
    sundog_scheduler_cancel(engine->scheduler, id);
    answers_take_bytes(engine->answers, engine->outbox);
}

void
fake_engine_step(FakeEngine *engine)
{
    sundog_scheduler_step(engine->scheduler);
    answers_take_bytes(engine->answers, engine->outbox);
}

void
fake_engine_run(FakeEngine *engine)
{
    for (uint32_t n_steps = 0; sundog_scheduler_has_work(engine->scheduler); n_steps++) {
        fake_engine_step(engine);
        g_assert_cmpuint(n_steps, <, 200000);
    }
}

uint32_t *
fake_engine_make_prompt(uint32_t seed, uint32_t n_tokens)
{
    uint32_t *tokens = g_new(uint32_t, MAX(n_tokens, 1));
    for (uint32_t i = 0; i < n_tokens; i++)
        tokens[i] = (seed * 7919 + i * 104729 + i * i) % FAKE_POISON;
    return tokens;
}
