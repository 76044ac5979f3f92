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

/* Of a step's rows of one request: up to where the cache wants to take a checkpoint. */
static uint32_t
count_to_checkpoint(const SundogScheduler *scheduler, const SundogRequest *request)
{
    return sundog_cache_get_checkpoint(scheduler->cache, &request->state) - request->state.n_valid;
}

/* One that waits for its next token alone. Where recurrent state was taken back, the drafts that were right
 * run again before it. */
static bool
is_decoding(const SundogScheduler *scheduler, const SundogRequest *request)
{
    uint32_t n_left = sundog_request_get_n_left(request);
    return n_left == 1 || (request->sampled && n_left <= 1 + scheduler->runner->max_drafts);
}

uint32_t
sundog_scheduler_count_decoding(const SundogScheduler *scheduler)
{
    uint32_t n_decoding = 0;
    for (uint32_t i = 0; i < scheduler->n_running; i++)
        n_decoding += is_decoding(scheduler, scheduler->running[i]);
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
    uint32_t n_left = sundog_request_get_n_left(request);
    uint32_t n_border = count_to_checkpoint(scheduler, request);
    n_most = MIN(n_most, n_border - MIN(n_border, n_left));
    uint32_t n_drafts = sundog_step_budget_get_n_drafts(&scheduler->budget, n_decoding,
                                                        request->draft.share, n_most);
    if (!sundog_cache_reserve(scheduler->cache, &request->state, request->n_tokens + n_drafts))
        return 0;
    sundog_draft_write(&request->draft, request->tokens, request->n_tokens, n_drafts);
    n_drafts = sundog_constraints_count_allowed(request, n_drafts);
    return n_drafts > 0 && sundog_cache_guess(scheduler->cache, &request->state) ? n_drafts : 0;
}

uint32_t
sundog_scheduler_pack_decoding(SundogScheduler *scheduler, uint32_t n_decoding)
{
    /* A row for each that runs: prompts that end in this step have one too. */
    const SundogStepSize *max = &scheduler->runner->max;
    uint32_t n_spare = MIN(max->n_logit_rows, max->n_tokens) - scheduler->n_running;
    uint32_t n_extra = 0;
    for (uint32_t i = 0; i < scheduler->n_running; i++) {
        SundogRequest *request = scheduler->running[i];
        if (is_decoding(scheduler, request)) {
            uint32_t n_rows = MIN(sundog_request_get_n_left(request), 1 + n_spare - n_extra);
            uint32_t n_drafts = 0;
            n_extra += n_rows - 1;
            if (n_rows == sundog_request_get_n_left(request))
                n_drafts = draft_tokens(scheduler, request, n_decoding, n_spare - n_extra);
            pack_request(scheduler, request, n_rows, n_drafts);
            n_extra += n_drafts;
        }
    }
    return n_extra;
}

/* Rows of logits that nobody needs in this step: each that runs and is not yet in it keeps one. */
static uint32_t
count_spare_rows(const SundogScheduler *scheduler)
{
    const SundogStepSize *size = &scheduler->batch->size;
    uint32_t n_outside = scheduler->n_running - size->n_sequences;
    return scheduler->runner->max.n_logit_rows - size->n_logit_rows - n_outside;
}

/* Tokens of its prompt for this step, at most n_most: where they are scored, as many as there are rows of
 * logits for, and one always. */
static uint32_t
count_prefill_rows(const SundogScheduler *scheduler, const SundogRequest *request, uint32_t n_most)
{
    uint32_t n_rows = MIN(sundog_request_get_n_left(request), n_most);
    n_rows = MIN(n_rows, count_to_checkpoint(scheduler, request));
    if (request->n_to_score == 0)
        return n_rows;
    uint32_t n_unscored = sundog_request_get_first_given(request) - request->state.n_valid;
    return MIN(n_rows, n_unscored + 1 + count_spare_rows(scheduler));
}

uint32_t
sundog_scheduler_pack_prefill(SundogScheduler *scheduler)
{
    uint32_t n_before = scheduler->batch->size.n_tokens;
    uint32_t n_free = sundog_step_budget_get(&scheduler->budget, n_before);
    for (uint32_t i = 0; i < scheduler->n_running && n_free > 0; i++) {
        SundogRequest *request = scheduler->running[i];
        if (!is_decoding(scheduler, request) && !request->restores) {
            uint32_t n_rows = count_prefill_rows(scheduler, request, n_free);
            pack_request(scheduler, request, n_rows, 0);
            n_free -= n_rows;
        }
    }
    return scheduler->batch->size.n_tokens - n_before;
}
