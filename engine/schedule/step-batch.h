#pragma once

/*
 * The requests of one step, packed into the runner's inputs. Begin, add each request once with its
 * rows, finish; then run. All memory is taken in new(). Every entry that a step of this size reads is
 * written anew, so that nothing of an earlier step is left in it.
 */

#include "engine/schedule/request.h"
#include "engine/schedule/step-runner.h"

typedef struct {
    const SundogStepRunner *runner;
    SundogCache *cache; /* borrowed */
    SundogStepSize size;
    SundogRequest **requests; /* [size.n_sequences] in their order in the step; borrowed */
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

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogStepBatch, sundog_step_batch_free)
