/*
 * Steps that begin before the tokens of the one before them are known to the host: on a device, which takes
 * them where they were sampled, it need not wait between two steps. The host learns of an end one step late; the
 * row that ran in vain writes behind the end of its sequence, where nothing is valid, and before any step that is
 * given its pages later.
 */

#include "engine/schedule/scheduler-private.h"

/* Prompts that go on or wait to begin would have to wait a step longer. State that is not addressed by position
 * cannot be taken back. */
static bool
may_begin(const SundogScheduler *scheduler)
{
    const SundogStepRunner *runner = scheduler->runner;
    bool waits = scheduler->waiting.length > 0 && scheduler->n_running < runner->max.n_sequences;
    if (runner->max_drafts > 0 || runner->state_slot || waits ||
        scheduler->batch->n_requests < scheduler->n_running)
        return false;
    for (uint32_t i = 0; i < scheduler->n_running; i++) {
        const SundogRequest *request = scheduler->running[i];
        if (request->logit_row == UINT32_MAX || request->n_drafts > 0 || request->restores)
            return false;
    }
    return true;
}

/* Those that are full with the token that is being sampled end; all others need room for one more. */
static bool
add_requests(SundogScheduler *scheduler)
{
    for (uint32_t i = 0; i < scheduler->n_running; i++) {
        SundogRequest *request = scheduler->running[i];
        if (request->n_tokens + 1 >= request->n_limit)
            continue;
        if (!sundog_cache_reserve(scheduler->cache, &request->state, request->n_tokens + 1))
            return false;
        sundog_step_batch_add_next(scheduler->next, request);
    }
    return scheduler->next->n_requests > 0;
}

void
sundog_scheduler_begin_next(SundogScheduler *scheduler)
{
    g_autoptr(GError) error = NULL;
    scheduler->next_failed = false;
    if (!may_begin(scheduler))
        return;
    sundog_step_batch_begin(scheduler->next);
    if (!add_requests(scheduler)) {
        scheduler->next->n_requests = 0;
        return;
    }
    sundog_step_batch_finish_next(scheduler->next);
    scheduler->next_failed =
        !scheduler->runner->forward(scheduler->runner->data, &scheduler->next->size, &error);
    if (scheduler->next_failed)
        g_printerr("sundog-engine: a step could not begin: %s\n", error->message);
}

bool
sundog_scheduler_join_next(SundogScheduler *scheduler)
{
    SundogStepBatch *batch = scheduler->batch;
    if (scheduler->next->n_requests == 0)
        return false;
    scheduler->batch = scheduler->next;
    scheduler->next = batch;
    batch->n_requests = 0;
    return sundog_step_batch_join(scheduler->batch);
}
