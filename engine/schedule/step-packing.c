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

/* How many guesses the request may have behind its tokens, n_most by the step's own bounds. Pages for them
 * are taken where they are free for the asking: no one gives way for a guess. */
static uint32_t
count_drafts(const SundogScheduler *scheduler, const SundogRequest *request, uint32_t n_most)
{
    uint32_t n_left = sundog_request_get_n_left(request);
    uint32_t n_border = count_to_checkpoint(scheduler, request);
    n_most = MIN(n_most, scheduler->runner->max_drafts);
    n_most = MIN(n_most, request->n_limit - request->n_tokens - 1);
    return MIN(n_most, n_border - MIN(n_border, n_left));
}

/* Returns how many rows that adds to one for each request. */
static uint32_t
ask_for_drafts(SundogScheduler *scheduler, uint32_t n_decoding)
{
    /* A row for each that runs: prompts that end in this step have one too. */
    const SundogStepSize *max = &scheduler->runner->max;
    uint32_t n_spare = MIN(max->n_logit_rows, max->n_tokens) - scheduler->n_running;
    uint32_t n_extra = 0;
    for (uint32_t i = 0; i < scheduler->n_running; i++) {
        SundogRequest *request = scheduler->running[i];
        if (!is_decoding(scheduler, request))
            continue;
        uint32_t n_left = sundog_request_get_n_left(request);
        request->n_rows = MIN(n_left, 1 + n_spare - n_extra);
        n_extra += request->n_rows - 1;
        uint32_t n_most =
            n_left == request->n_rows ? count_drafts(scheduler, request, n_spare - n_extra) : 0;
        n_extra += sundog_drafting_ask(scheduler->drafting, request, &scheduler->budget, n_decoding,
                                       n_most);
    }
    return n_extra;
}

/* Of the guesses that were made, those that the step can check. */
static uint32_t
count_checked(SundogScheduler *scheduler, SundogRequest *request)
{
    uint32_t n_drafts = sundog_constraints_count_allowed(request, request->n_drafts);
    return n_drafts > 0 &&
                   sundog_cache_reserve(scheduler->cache, &request->state,
                                        request->n_tokens + n_drafts) &&
                   sundog_cache_guess(scheduler->cache, &request->state)
               ? n_drafts
               : 0;
}

uint32_t
sundog_scheduler_pack_decoding(SundogScheduler *scheduler, uint32_t n_decoding)
{
    uint32_t n_extra = ask_for_drafts(scheduler, n_decoding);
    int64_t start_us = sundog_scheduler_now_us(scheduler);
    sundog_drafting_make(scheduler->drafting);
    scheduler->making_us = sundog_scheduler_now_us(scheduler) - start_us;
    for (uint32_t i = 0; i < scheduler->n_running; i++) {
        SundogRequest *request = scheduler->running[i];
        if (is_decoding(scheduler, request)) {
            uint32_t n_drafts = count_checked(scheduler, request);
            n_extra -= request->n_wanted - n_drafts;
            pack_request(scheduler, request, request->n_rows, n_drafts);
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
