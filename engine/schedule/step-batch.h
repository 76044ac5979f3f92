#pragma once

/*
 * The requests of one step, packed into the runner's inputs. Begin, add each request once with its
 * rows, finish; then run. Or, for a step that begins before the tokens of the one before it are known: begin, add
 * each request that goes on, finish the forward program's inputs alone; once the tokens are known, join; then
 * sample. All memory is taken in new(). Every entry that a step of this size reads is
 * written anew, so that nothing of an earlier step is left in it.
 */

#include "engine/schedule/request.h"
#include "engine/schedule/step-runner.h"

typedef struct {
    const SundogStepRunner *runner;
    SundogCache *cache; /* borrowed */
    SundogStepSize size;
    SundogRequest **requests; /* [n_requests] in their order in the step; borrowed */
    uint32_t n_requests;      /* fewer than sequences once some of those that went on have ended */
} SundogStepBatch;

/* Of sequences of a cache, which holds their windows' pages for each step. */
SundogStepBatch *sundog_step_batch_new(const SundogStepRunner *runner, SundogCache *cache);
void sundog_step_batch_free(SundogStepBatch *batch);

void sundog_step_batch_begin(SundogStepBatch *batch);
/* Adds the next n_rows tokens that have not run, then n_drafts that stand behind them; pages for them
 * must be reserved. Those that score the token after them get a row of logits; where they reach the end
 * of the tokens, so do the last and each draft. */
void sundog_step_batch_add(SundogStepBatch *batch, SundogRequest *request, uint32_t n_rows,
                           uint32_t n_drafts);
void sundog_step_batch_finish(SundogStepBatch *batch);

/* Adds the row of the token that is being sampled for a request of the step before, whose rows are still in the
 * request. */
void sundog_step_batch_add_next(SundogStepBatch *batch, SundogRequest *request);
void sundog_step_batch_finish_next(SundogStepBatch *batch);
/* The request has ended: what its row gives is of no use. */
void sundog_step_batch_forget(SundogStepBatch *batch, const SundogRequest *request);
/* The rows of this step become their requests', and the sample program's inputs are filled, but for masks and
 * biases. False where no request is left. */
bool sundog_step_batch_join(SundogStepBatch *batch);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogStepBatch, sundog_step_batch_free)
