#pragma once

/*
 * How many prompt tokens a step may take, so that it lasts about as long as it should: short beside
 * decoding requests, which wait for it, and bounded when alone, since a cancel waits for it too; and
 * how many drafts pay for the time that they take. Learns from the measured time of the steps. No clock of its own: a test gives it any times.
 */

#include <stdint.h>

typedef struct {
    uint32_t max_tokens; /* of a step */
    uint32_t gap_us;     /* what a step may last beside decoding requests */
    double token_us;     /* of one prompt token, 0: not yet measured */
    double decode_us;    /* of a step without prompt tokens and drafts, 0: not yet measured */
    double draft_us;     /* of one draft, 0: not yet measured */
} SundogStepBudget;

/* What guesses are worth. */
typedef struct {
    double share;   /* the probability that one is right if all before it are */
    double make_us; /* to make one, beside its row of the step */
} SundogDraftWorth;

void sundog_step_budget_init(SundogStepBudget *budget, uint32_t max_tokens, uint32_t gap_us);

/* Drafts of one request that pay in a step of n_decoding requests, at most n_most: those that bring
 * more tokens a microsecond than the step does without them. */
uint32_t sundog_step_budget_get_n_drafts(const SundogStepBudget *budget, uint32_t n_decoding,
                                         const SundogDraftWorth *worth, uint32_t n_most);
/* Tokens a microsecond of such a step with n_drafts of them; 0: not yet measured. */
double sundog_step_budget_get_rate(const SundogStepBudget *budget, uint32_t n_decoding,
                                   const SundogDraftWorth *worth, uint32_t n_drafts);
/* Prompt tokens that the next step may take beside n_decoding rows. */
uint32_t sundog_step_budget_get(const SundogStepBudget *budget, uint32_t n_decoding);

/* A step of that many rows of each kind took so long. */
void sundog_step_budget_learn(SundogStepBudget *budget, uint32_t n_decoding, uint32_t n_drafts,
                              uint32_t n_prefill, int64_t step_us);
