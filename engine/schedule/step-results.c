/* What came of a step. */

#include "engine/schedule/scheduler-private.h"

void
sundog_scheduler_fail_step(SundogScheduler *scheduler, const char *text)
{
    for (uint32_t i = 0; i < scheduler->batch->n_requests; i++) {
        SundogRequest *request = scheduler->batch->requests[i];
        sundog_outbox_fault(scheduler->outbox, request->id, SUNDOG_FAULT_INTERNAL, text);
        sundog_scheduler_end_request(scheduler, request, SUNDOG_CLOSE_DISCARD);
    }
}

static void
append_token(SundogScheduler *scheduler, SundogRequest *request, uint32_t token)
{
    request->last_us = sundog_scheduler_now_us(scheduler);
    request->first_us = request->first_us ? request->first_us : request->last_us;
    request->sampled = true;
    sundog_outbox_token(scheduler->outbox, request, token);
    request->tokens[request->n_tokens++] = token;
    scheduler->statistics.n_produced_tokens++;
}

/* How many of its drafts are the tokens that were sampled, each after the one before; an end is not
 * counted, since nothing comes after it. */
static uint32_t
count_right(const SundogScheduler *scheduler, const SundogRequest *request)
{
    const int32_t *sampled = scheduler->runner->token + request->logit_row;
    const uint32_t *drafts = request->tokens + request->n_tokens;
    uint32_t n_right = 0;
    while (n_right < request->n_drafts && sampled[n_right] == (int32_t)drafts[n_right] &&
           !sundog_request_is_end(request, drafts[n_right]))
        n_right++;
    return n_right;
}

/* Leaves the request only the drafts that proved right. Returns how many others there were. */
static uint32_t
judge_drafts(SundogScheduler *scheduler, SundogRequest *request)
{
    if (request->logit_row == UINT32_MAX || !request->drafts)
        return 0;
    uint32_t n_right = count_right(scheduler, request);
    sundog_drafting_learn(scheduler->drafting, request,
                          (uint32_t)scheduler->runner->token[request->logit_row], n_right);
    scheduler->statistics.n_drafted_tokens += request->n_drafts;
    scheduler->statistics.n_accepted_tokens += n_right;
    uint32_t n_wrong = request->n_drafts - n_right;
    request->n_drafts = n_right;
    return n_wrong;
}

/* What a request's rows of the step say: more to come, or one of the ends. */
typedef enum { ROW_GOES_ON, ROW_STOPS, ROW_IS_FULL, ROW_IS_STUCK, ROW_IS_NOT_FINITE } RowEnd;

static RowEnd
take_token(SundogScheduler *scheduler, SundogRequest *request, int32_t token)
{
    if (token < 0 || (uint32_t)token >= scheduler->runner->n_vocabulary)
        return ROW_IS_NOT_FINITE;
    if (sundog_request_is_end(request, (uint32_t)token))
        return ROW_STOPS;
    append_token(scheduler, request, (uint32_t)token);
    if (sundog_constraints_is_complete(request))
        return ROW_STOPS;
    return request->n_tokens == request->n_limit ? ROW_IS_FULL : ROW_GOES_ON;
}

/* The tokens of its own row and of the drafts that were right, up to an end. */
static RowEnd
draw_tokens(SundogScheduler *scheduler, SundogRequest *request)
{
    RowEnd end = ROW_GOES_ON;
    if (request->logit_row == UINT32_MAX)
        return end;
    if (request->is_stuck)
        return ROW_IS_STUCK;
    if (request->n_tokens == request->n_limit) /* the prompt alone was to be scored */
        return ROW_IS_FULL;
    for (uint32_t i = 0; i <= request->n_drafts && end == ROW_GOES_ON; i++)
        end = take_token(scheduler, request, scheduler->runner->token[request->logit_row + i]);
    return end;
}

static void
send_scores(SundogScheduler *scheduler, const SundogRequest *request, uint32_t position,
            uint32_t first_row, uint32_t n_rows)
{
    if (request->n_scores > 0 && n_rows > 0)
        sundog_outbox_scores(scheduler->outbox, request, position,
                             scheduler->runner->scores + (size_t)first_row * SUNDOG_MAX_SCORES,
                             n_rows);
}

static RowEnd
take_tokens(SundogScheduler *scheduler, SundogRequest *request)
{
    uint32_t n_before = request->n_tokens;
    RowEnd end = draw_tokens(scheduler, request);
    send_scores(scheduler, request, n_before, request->logit_row, request->n_tokens - n_before);
    return end;
}

/* The scores of prompt tokens, before the state says that their rows have run. False where the logits of
 * one are not finite. */
static bool
take_given(SundogScheduler *scheduler, SundogRequest *request)
{
    uint32_t first = sundog_request_get_first_given(request);
    for (uint32_t i = 0; i < request->n_given; i++)
        if (scheduler->runner->token[request->given_row + i] < 0)
            return false;
    send_scores(scheduler, request, first + 1, request->given_row, request->n_given);
    request->n_scored = request->n_given > 0 ? first + 1 + request->n_given : request->n_scored;
    return true;
}

static void
end_row(SundogScheduler *scheduler, SundogRequest *request, RowEnd end)
{
    switch (end) {
    case ROW_GOES_ON:
        break;
    case ROW_STOPS:
        sundog_scheduler_send_finish(scheduler, request, SUNDOG_FINISH_STOP);
        sundog_scheduler_end_request(scheduler, request, SUNDOG_CLOSE_KEEP);
        break;
    case ROW_IS_FULL:
        sundog_scheduler_send_finish(scheduler, request, SUNDOG_FINISH_LENGTH);
        sundog_scheduler_end_request(scheduler, request, SUNDOG_CLOSE_KEEP);
        break;
    case ROW_IS_STUCK:
        sundog_outbox_fault(scheduler->outbox, request->id, SUNDOG_FAULT_CONSTRAINT,
                            "the constraint leaves no token of this vocabulary, or is too "
                            "ambiguous to be followed: make it simpler");
        sundog_scheduler_end_request(scheduler, request, SUNDOG_CLOSE_KEEP);
        break;
    case ROW_IS_NOT_FINITE:
        sundog_outbox_fault(scheduler->outbox, request->id, SUNDOG_FAULT_NOT_FINITE,
                            "the model's output for this request is not a number");
        sundog_scheduler_end_request(scheduler, request, SUNDOG_CLOSE_DISCARD);
        break;
    }
}

/* State becomes valid first: whatever follows may close the sequence. */
static void
advance_request(SundogScheduler *scheduler, SundogRequest *request, uint32_t n_wrong)
{
    uint32_t n_written = request->state.n_valid + request->n_rows;
    if (n_wrong > 0)
        sundog_cache_extend(scheduler->cache, &request->state, n_written);
    sundog_cache_advance(scheduler->cache, &request->state, request->tokens, n_written - n_wrong);
    if (!request->sampled)
        sundog_outbox_prefill(scheduler->outbox, request);
    if (request->leads && request->state.n_valid == request->n_prompt)
        sundog_cache_share_tail(scheduler->cache, &request->state, request->tokens);
}

void
sundog_scheduler_take_results(SundogScheduler *scheduler)
{
    uint32_t n_requests = scheduler->batch->n_requests;
    g_autofree RowEnd *ends = g_new(RowEnd, n_requests);
    for (uint32_t i = 0; i < n_requests; i++) {
        SundogRequest *request = scheduler->batch->requests[i];
        uint32_t n_wrong = judge_drafts(scheduler, request);
        bool finite = take_given(scheduler, request);
        advance_request(scheduler, request, n_wrong);
        ends[i] = finite ? take_tokens(scheduler, request) : ROW_IS_NOT_FINITE;
    }
    sundog_drafting_follow(scheduler->drafting, scheduler->batch);
    sundog_outbox_end_step(scheduler->outbox, scheduler->statistics.n_steps);
    for (uint32_t i = 0; i < n_requests; i++)
        end_row(scheduler, scheduler->batch->requests[i], ends[i]);
}
