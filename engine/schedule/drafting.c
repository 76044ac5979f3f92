/* Shares of right guesses, and what follows from them. */

#include "engine/schedule/drafting.h"

#define FIRST_SHARE 0.5
/* Of the newest guess: more makes the number of guesses waver, less is slow to give up (the simulator of
 * tests/schedule judged it). */
#define WEIGHT 0.05
/* Of a step without guesses: a drafter that was given up is tried again after some hundreds of tokens. */
#define FORGETTING (1.0 / 512)

struct SundogDrafting {
    SundogDrafter *drafters[SUNDOG_MAX_DRAFTERS];
    uint32_t n_drafters;
    SundogRequest **requests[SUNDOG_MAX_DRAFTERS]; /* [max_requests] that asked for guesses */
    uint32_t n_requests[SUNDOG_MAX_DRAFTERS];
    uint32_t max_requests;
};

SundogDrafting *
sundog_drafting_new(uint32_t max_requests)
{
    SundogDrafting *drafting = g_new0(SundogDrafting, 1);
    drafting->max_requests = max_requests;
    return drafting;
}

void
sundog_drafting_free(SundogDrafting *drafting)
{
    if (!drafting)
        return;
    for (uint32_t i = 0; i < drafting->n_drafters; i++) {
        sundog_drafter_free(drafting->drafters[i]);
        g_free(drafting->requests[i]);
    }
    g_free(drafting);
}

void
sundog_drafting_add(SundogDrafting *drafting, SundogDrafter *drafter)
{
    g_assert(drafting->n_drafters < SUNDOG_MAX_DRAFTERS);
    drafting->requests[drafting->n_drafters] = g_new0(SundogRequest *, drafting->max_requests);
    drafting->drafters[drafting->n_drafters++] = drafter;
}

void
sundog_drafting_begin(SundogDrafting *drafting, SundogRequest *request)
{
    for (uint32_t i = 0; i < drafting->n_drafters && request->drafts; i++) {
        SundogDrafter *drafter = drafting->drafters[i];
        request->shares[i] = FIRST_SHARE;
        if (drafter->begin)
            drafter->begin(drafter, request);
    }
}

void
sundog_drafting_rest(SundogDrafting *drafting, SundogRequest *request)
{
    for (uint32_t i = 0; i < drafting->n_drafters && request->drafts; i++) {
        SundogDrafter *drafter = drafting->drafters[i];
        if (drafter->rest)
            drafter->rest(drafter, request);
    }
}

void
sundog_drafting_end(SundogDrafting *drafting, SundogRequest *request)
{
    for (uint32_t i = 0; i < drafting->n_drafters && request->drafts; i++) {
        SundogDrafter *drafter = drafting->drafters[i];
        if (drafter->end)
            drafter->end(drafter, request);
    }
}

uint32_t
sundog_drafting_ask(SundogDrafting *drafting, SundogRequest *request,
                    const SundogStepBudget *budget, uint32_t n_decoding, uint32_t n_most)
{
    double best = 0;
    request->n_wanted = request->n_drafts = 0;
    for (uint32_t i = 0; i < drafting->n_drafters && request->drafts; i++) {
        SundogDrafter *drafter = drafting->drafters[i];
        if (drafter->find && !drafter->find(drafter, request))
            continue;
        SundogDraftWorth worth = {.share = request->shares[i], .make_us = drafter->token_us};
        uint32_t n = sundog_step_budget_get_n_drafts(budget, n_decoding, &worth, n_most);
        double rate = sundog_step_budget_get_rate(budget, n_decoding, &worth, n);
        if (n > 0 && rate > best) {
            best = rate;
            request->n_wanted = n;
            request->drafter = i;
        }
    }
    uint32_t at = request->drafter;
    if (request->n_wanted > 0)
        drafting->requests[at][drafting->n_requests[at]++] = request;
    return request->n_wanted;
}

void
sundog_drafting_make(SundogDrafting *drafting)
{
    for (uint32_t i = 0; i < drafting->n_drafters; i++) {
        SundogDrafter *drafter = drafting->drafters[i];
        if (drafting->n_requests[i] > 0)
            drafter->draft(drafter, drafting->requests[i], drafting->n_requests[i]);
        drafting->n_requests[i] = 0;
    }
}

void
sundog_drafting_follow(SundogDrafting *drafting, const SundogStepBatch *step)
{
    for (uint32_t i = 0; i < drafting->n_drafters; i++)
        if (drafting->drafters[i]->follow)
            drafting->drafters[i]->follow(drafting->drafters[i], step);
}

static void
learn_share(double *share, uint32_t n_tried, uint32_t n_right)
{
    for (uint32_t i = 0; i < n_right; i++)
        *share += WEIGHT * (1 - *share);
    if (n_right < n_tried)
        *share -= WEIGHT * *share;
}

void
sundog_drafting_learn(SundogDrafting *drafting, SundogRequest *request, uint32_t token,
                      uint32_t n_right)
{
    for (uint32_t i = 0; i < drafting->n_drafters; i++) {
        SundogDrafter *drafter = drafting->drafters[i];
        double *share = &request->shares[i];
        uint32_t guess;
        if (request->n_drafts > 0 && request->drafter == i)
            learn_share(share, request->n_drafts, n_right);
        else if (!drafter->peek)
            *share += FORGETTING * (FIRST_SHARE - *share);
        else if (drafter->peek(drafter, request, &guess))
            learn_share(share, 1, guess == token);
    }
}
