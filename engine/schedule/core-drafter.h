#pragma once

/*
 * Drafts by a small core of the same vocabulary, which runs ahead of the large one. Its sequences follow
 * the requests' tokens in a cache of its own: what they lack comes from records or runs first, no more of it between two steps
 * than their time allows; then a step of its own a guess, for all requests at once.
 *
 * It samples as the request does, with the random numbers of the token's own position and under its
 * constraint, so that a guess is as likely to be the token sampled as the two cores are alike.
 */

#include "engine/schedule/drafter.h"
#include "engine/schedule/step-runner.h"

typedef struct {
    const SundogStepRunner *runner; /* of the small core, borrowed */
    SundogPageRecorder *recorder;   /* of its pages, borrowed, or NULL */
    uint32_t n_vocabulary;          /* of the large one */
    uint32_t gap_us;                /* what running prompts may take between two steps */
    int64_t (*clock)(void *data);   /* in microseconds */
    void *clock_data;
} SundogCoreDrafterOptions;

SundogDrafter *sundog_core_drafter_new(const SundogCoreDrafterOptions *options);
/* As of a cache: whether records wait to be written, and writes one. Of a drafter that new() gave. */
bool sundog_core_drafter_has_chores(const SundogDrafter *drafter);
void sundog_core_drafter_do_chore(SundogDrafter *drafter);
/* Tokens that need not run, since records had them. */
uint64_t sundog_core_drafter_get_n_restored(const SundogDrafter *drafter);
