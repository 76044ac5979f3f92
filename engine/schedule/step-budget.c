/* Three running averages and what follows from them. */

#include "engine/schedule/step-budget.h"
#include <glib.h>

/* Bounds how long a cancel or a new request waits for the step that runs. */
#define ALONE_US 250e3
/* Weights are read once a step: below this, a chunk costs nearly as much as a larger one. */
#define LEAST_TOKENS 16
/* Fewer prompt tokens than this measure the weights' traffic rather than themselves. */
#define LEAST_MEASURED 8
#define WEIGHT 0.25 /* of the newest step */

void
sundog_step_budget_init(SundogStepBudget *budget, uint32_t max_tokens, uint32_t gap_us)
{
    *budget = (SundogStepBudget){.max_tokens = max_tokens, .gap_us = gap_us};
}

uint32_t
sundog_step_budget_get(const SundogStepBudget *budget, uint32_t n_decoding)
{
    uint32_t n_free = budget->max_tokens - MIN(n_decoding, budget->max_tokens);
    if (budget->token_us <= 0)
        return MIN(n_free, 4 * LEAST_TOKENS); /* a first, small step to measure */
    double target_us = n_decoding > 0 ? budget->gap_us - budget->decode_us : ALONE_US;
    double n_tokens = CLAMP(target_us / budget->token_us, LEAST_TOKENS, budget->max_tokens);
    return MIN(n_free, (uint32_t)n_tokens);
}

static void
average(double *mean, double value)
{
    *mean = *mean > 0 ? *mean + WEIGHT * (value - *mean) : value;
}

uint32_t
sundog_step_budget_get_n_drafts(const SundogStepBudget *budget, uint32_t n_decoding,
                                const SundogDraftWorth *worth, uint32_t n_most)
{
    if (budget->decode_us <= 0)
        return 0;
    if (budget->draft_us <= 0)
        return MIN(n_most, 1); /* one, to measure */
    double n_tokens = n_decoding;
    double step_us = budget->decode_us;
    double gain = worth->share, cost_us = budget->draft_us + worth->make_us;
    uint32_t n_drafts = 0;
    while (n_drafts < n_most && gain * step_us > n_tokens * cost_us) {
        n_tokens += gain;
        step_us += cost_us;
        gain *= worth->share;
        n_drafts++;
    }
    return n_drafts;
}

double
sundog_step_budget_get_rate(const SundogStepBudget *budget, uint32_t n_decoding,
                            const SundogDraftWorth *worth, uint32_t n_drafts)
{
    double n_tokens = n_decoding, gain = 1;
    double step_us = budget->decode_us + n_drafts * (budget->draft_us + worth->make_us);
    for (uint32_t i = 0; i < n_drafts; i++)
        n_tokens += gain *= worth->share;
    return step_us > 0 ? n_tokens / step_us : 0;
}

void
sundog_step_budget_learn(SundogStepBudget *budget, uint32_t n_decoding, uint32_t n_drafts,
                         uint32_t n_prefill, int64_t step_us)
{
    if (n_prefill == 0 && n_drafts == 0) {
        average(&budget->decode_us, (double)step_us);
    } else if (n_prefill == 0) {
        average(&budget->draft_us, MAX((double)step_us - budget->decode_us, 1) / n_drafts);
    } else if (n_prefill >= LEAST_MEASURED) {
        double decode_us = n_decoding > 0 ? budget->decode_us + n_drafts * budget->draft_us : 0;
        average(&budget->token_us, MAX((double)step_us - decode_us, 1) / n_prefill);
    }
}
