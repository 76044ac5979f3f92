#pragma once

/* For tests: a scheduler over the fake model, and what it answered. */

#include "engine/schedule/scheduler.h"
#include "tests/schedule/answers.h"
#include "tests/schedule/fake-model.h"

typedef struct {
    FakeModel *model;
    FakeModel *small; /* that drafts for it, or NULL */
    SundogPageRecorder *draft_recorder;
    SundogScheduler *scheduler;
    GByteArray *outbox;
    Answers *answers;
} FakeEngine;

/* Its context is as long as a sequence's pages. */
FakeEngine fake_engine_start(const FakeModelOptions *options);
/* With a small model that drafts, and errs each so many positions; 0: never. */
FakeEngine fake_engine_start_drafting(const FakeModelOptions *options,
                                      const FakeModelOptions *small, uint32_t errs);
/* With one that keeps records in a folder. */
FakeEngine fake_engine_start_recording(const FakeModelOptions *options,
                                       const FakeModelOptions *small, const char *folder);
/* Where nothing is left to do, nothing is held. */
void fake_engine_stop(FakeEngine *engine);

Answer *fake_engine_submit(FakeEngine *engine, const SundogSubmit *request);
void fake_engine_cancel(FakeEngine *engine, uint64_t id);
void fake_engine_step(FakeEngine *engine);
/* Until nothing is left to do. */
void fake_engine_run(FakeEngine *engine);

/* Tokens of a sequence that the seed chooses; owned by the caller. */
uint32_t *fake_engine_make_prompt(uint32_t seed, uint32_t n_tokens);
