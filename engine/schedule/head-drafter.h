#pragma once

/*
 * Drafts by a model's own layer that guesses (step.h, "draft"): behind each step it runs on the step's rows, whose
 * next tokens are known by then, so that its keys and values stand in the requests' own pages, and are shared, kept
 * and brought back with them. Then a guess is a row of one layer and the head, and the next one follows from what
 * the layer itself gave.
 *
 * The last row of a page has seen the first token of the next one. Where a page is shared by texts that part there,
 * that row is of one of them: guesses behind it may be worse, and no more than that.
 */

#include "engine/schedule/drafter.h"
#include "engine/schedule/step-runner.h"

typedef struct {
    const SundogStepRunner *runner; /* borrowed; one that can draft, without windows */
    SundogCache *cache;             /* of its sequences, borrowed */
    int64_t (*clock)(void *data);   /* in microseconds */
    void *clock_data;
} SundogHeadDrafterOptions;

SundogDrafter *sundog_head_drafter_new(const SundogHeadDrafterOptions *options);
