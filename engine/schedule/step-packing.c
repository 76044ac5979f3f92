/* What goes into a step. */

#include "engine/schedule/scheduler-private.h"

/* Of its first step: what was found of its prompt by then need not run. Counted here and not as it is
 * opened, since it may have to give its pages up again before it is in a step. */
static void
admit_request(SundogScheduler *scheduler, SundogRequest *request)
{
    request->admitted = true;
    request->started_us = sundog_scheduler_now_us(scheduler);
    request->n_cached = MIN(request->state.n_valid, request->n_prompt);
    scheduler->statistics.n_cached_tokens += request->n_cached;
    scheduler->statistics.n_prompt_tokens += request->n_prompt;
    sundog_outbox_admitted(scheduler->outbox, request);
}

static void
pack_request(SundogScheduler *scheduler, SundogRequest *request, uint32_t n_rows, uint32_t n_drafts)
{
    sundog_step_batch_add(scheduler->batch, request, n_rows, n_drafts);
    if (!request->admitted)
        admit_request(scheduler, request);
}

static bool
is_decoding(const SundogRequest *request)
{
    return sundog_request_get_n_left(request) == 1;
}

uint32_t
sundog_scheduler_count_decoding(const SundogScheduler *scheduler)
{
    uint32_t n_decoding = 0;
    for (uint32_t i = 0; i < scheduler->n_running; i++)
        n_decoding += is_decoding(scheduler->running[i]);
    return n_decoding;
}

/* Guesses behind the request's tokens, as many as pay; n_most by the step's own bounds. Pages for them
 * are taken where they are free for the asking: no one gives way for a guess. */
static uint32_t
draft_tokens(SundogScheduler *scheduler, SundogRequest *request, uint32_t n_decoding,
             uint32_t n_most)
{
    if (!request->drafts || scheduler->runner->max_drafts == 0 ||
        !sundog_draft_find(&request->draft, request->tokens, request->n_tokens))
        return 0;
    n_most = MIN(n_most, scheduler->runner->max_drafts);
    n_most = MIN(n_most, request->n_limit - request->n_tokens - 1);
    uint32_t n_drafts = sundog_step_budget_get_n_drafts(&scheduler->budget, n_decoding,
                                                        request->draft.share, n_most);
    if (!sundog_cache_reserve(scheduler->cache, &request->state, request->n_tokens + n_drafts))
        return 0;
    sundog_draft_write(&request->draft, request->tokens, request->n_tokens, n_drafts);
    return sundog_constraints_count_allowed(request, n_drafts);
}

uint32_t
sundog_scheduler_pack_decoding(SundogScheduler *scheduler, uint32_t n_decoding)
{
    /* A row for each that runs: prompts that end in this step have one too. */
    const SundogStepSize *max = &scheduler->runner->max;
    uint32_t n_spare = MIN(max->n_logit_rows, max->n_tokens) - scheduler->n_running;
    uint32_t n_drafts = 0;
    for (uint32_t i = 0; i < scheduler->n_running; i++) {
        SundogRequest *request = scheduler->running[i];
        if (is_decoding(request)) {
            uint32_t n = draft_tokens(scheduler, request, n_decoding, n_spare - n_drafts);
            pack_request(scheduler, request, 1, n);
            n_drafts += n;
        }
    }
    return n_drafts;
}

uint32_t
sundog_scheduler_pack_prefill(SundogScheduler *scheduler)
{
    uint32_t n_before = scheduler->batch->size.n_tokens;
    uint32_t n_free = sundog_step_budget_get(&scheduler->budget, n_before);
    for (uint32_t i = 0; i < scheduler->n_running && n_free > 0; i++) {
        uint32_t n_left = sundog_request_get_n_left(scheduler->running[i]);
        if (n_left > 1 && !scheduler->running[i]->restores) {
            uint32_t n_rows = MIN(n_left, n_free);
            pack_request(scheduler, scheduler->running[i], n_rows, 0);
            n_free -= n_rows;
        }
    }
    return scheduler->batch->size.n_tokens - n_before;
}
