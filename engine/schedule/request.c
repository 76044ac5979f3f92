/* A request's tokens and sampling. */

#include "engine/schedule/request.h"
#include <string.h>

static SundogSampling
get_sampling(const SundogSubmit *submit)
{
    return (SundogSampling){
        .seed = submit->seed,
        .temperature = (float)submit->temperature,
        .top_p = (float)submit->top_p,
        .min_p = (float)submit->min_p,
        .repetition_penalty = (float)submit->repetition_penalty,
        .presence_penalty = (float)submit->presence_penalty,
        .frequency_penalty = (float)submit->frequency_penalty,
        .typical_p = (float)submit->typical_p,
        .top_n_sigma = (float)submit->top_n_sigma,
        .xtc_probability = (float)submit->xtc_probability,
        .xtc_threshold = (float)submit->xtc_threshold,
        .top_k = submit->top_k,
        .n_scores = submit->n_scores,
    };
}

SundogRequest *
sundog_request_new(const SundogSubmit *submit, uint32_t n_limit, uint32_t sequence_pages)
{
    SundogRequest *request = g_new0(SundogRequest, 1);
    request->id = submit->id;
    request->n_prompt = submit->n_prompt;
    request->n_tokens = submit->n_prompt + submit->n_produced;
    request->n_limit = n_limit;
    request->tokens = g_new(uint32_t, n_limit);
    memcpy(request->tokens, submit->prompt, submit->n_prompt * sizeof *request->tokens);
    if (submit->n_produced > 0) {
        memcpy(request->tokens + submit->n_prompt, submit->produced,
               submit->n_produced * sizeof *request->tokens);
    }
    request->ends = g_memdup2(submit->ends, submit->n_ends * sizeof *request->ends);
    request->n_ends = submit->n_ends;
    request->sampling = get_sampling(submit);
    request->n_biases = submit->n_biases;
    request->biases = g_new(SundogBias, submit->n_biases);
    for (uint32_t i = 0; i < submit->n_biases; i++) {
        request->biases[i] =
            (SundogBias){(int32_t)submit->biases[i].token, (float)submit->biases[i].amount};
    }
    sundog_dry_init(&request->dry, &submit->dry, n_limit);
    request->follows = submit->follows;
    request->n_scores = submit->n_scores;
    request->n_scored = 1;
    request->n_to_score = submit->flags & SUNDOG_SUBMIT_SCORE_PROMPT ? submit->n_prompt : 0;
    request->penalty_window = submit->penalty_window;
    request->penalizes = submit->repetition_penalty != 1 || submit->presence_penalty != 0 ||
                         submit->frequency_penalty != 0;
    request->keeps = !(submit->flags & SUNDOG_SUBMIT_NO_PREFIX);
    request->drafts = !(submit->flags & SUNDOG_SUBMIT_NO_DRAFTS) && request->n_tokens < n_limit;
    request->state.pages = g_new0(int32_t, sequence_pages);
    return request;
}

void
sundog_request_free(SundogRequest *request)
{
    if (request) {
        g_free(request->tokens);
        g_free(request->ends);
        g_free(request->biases);
        sundog_match_clear(&request->match);
        g_free(request->state.pages);
        sundog_dry_clear(&request->dry);
        g_free(request);
    }
}

uint32_t
sundog_request_get_n_left(const SundogRequest *request)
{
    return request->n_tokens - request->state.n_valid;
}

uint32_t
sundog_request_get_n_reusable(const SundogRequest *request)
{
    bool scores = request->n_scored < request->n_to_score;
    return scores ? MIN(request->n_tokens, request->n_scored) : request->n_tokens;
}

uint32_t
sundog_request_get_first_given(const SundogRequest *request)
{
    return MAX(request->state.n_valid, request->n_scored - 1);
}

uint32_t
sundog_request_count_given(const SundogRequest *request, uint32_t n_rows)
{
    uint32_t first = sundog_request_get_first_given(request);
    uint32_t end = MIN(request->state.n_valid + n_rows + 1, request->n_to_score);
    return end > first + 1 ? end - first - 1 : 0;
}

bool
sundog_request_is_end(const SundogRequest *request, uint32_t token)
{
    for (uint32_t i = 0; i < request->n_ends; i++)
        if (request->ends[i] == token)
            return true;
    return false;
}

uint32_t
sundog_request_get_n_history(const SundogRequest *request, uint32_t n_tokens, uint32_t width)
{
    if (!request->penalizes)
        return 0;
    /* Only repetition is held against what the prompt says. */
    bool reads_prompt = request->sampling.repetition_penalty != 1;
    uint32_t n_wanted = reads_prompt ? n_tokens : n_tokens - request->n_prompt;
    if (request->penalty_window > 0)
        n_wanted = MIN(n_wanted, request->penalty_window);
    return MIN(n_wanted, width);
}

void
sundog_request_fill_sampling(const SundogRequest *request, uint32_t n_tokens,
                             SundogSampling *sampling, int32_t *history, uint32_t width)
{
    uint32_t n_history = sundog_request_get_n_history(request, n_tokens, width);
    *sampling = request->sampling;
    sampling->position = n_tokens;
    sampling->n_history = n_history;
    sampling->n_answered = MIN(n_history, n_tokens - request->n_prompt);
    memcpy(history, request->tokens + n_tokens - n_history, n_history * sizeof *history);
    memset(history + n_history, 0xff, (width - n_history) * sizeof *history);
}

void
sundog_request_fill_given(const SundogRequest *request, uint32_t index, SundogSampling *sampling,
                          int32_t *history, uint32_t width)
{
    *sampling = (SundogSampling){.top_p = 1,
                                 .repetition_penalty = 1,
                                 .n_scores = request->n_scores,
                                 .given = request->tokens[index] + 1};
    memset(history, 0xff, width * sizeof *history);
}

SundogFinish
sundog_request_get_finish(const SundogRequest *request, SundogFinishReason reason, uint64_t step,
                          int64_t now_us)
{
    int64_t started_us = request->started_us ? request->started_us : now_us;
    int64_t first_us = request->first_us ? request->first_us : now_us;
    int64_t last_us = request->last_us ? request->last_us : first_us;
    return (SundogFinish){
        .id = request->id,
        .reason = reason,
        .n_prompt = request->n_prompt,
        .n_cached = request->n_cached,
        .n_produced = request->n_tokens - request->n_prompt,
        .queue_us = (uint64_t)(started_us - request->arrived_us),
        .prefill_us = request->started_us ? (uint64_t)(first_us - started_us) : 0,
        .decode_us = (uint64_t)(last_us - first_us),
        .step = step,
    };
}
