#pragma once

/*
 * Who guesses the next tokens of requests, so that one step can check several of them (Leviathan et al.
 * 2023). A guess costs the time to make it and a row of the step; it counts only where it is the very
 * token that the step samples, so what comes out does not depend on who guessed or whether.
 *
 * A drafter fills the head of its own struct. One thread, between steps.
 */

#include "engine/schedule/step-batch.h"

typedef struct SundogDrafter SundogDrafter;

struct SundogDrafter {
    /* The request is new. NULL: nothing to do, as for all below. */
    void (*begin)(SundogDrafter *drafter, SundogRequest *request);
    /* Whether there may be guesses for the request; cheap. */
    bool (*find)(SundogDrafter *drafter, SundogRequest *request);
    /* For requests [n_requests], of which each wants n_wanted: writes up to as many guesses behind the
     * request's tokens, and how many in n_drafts. Never NULL. */
    void (*draft)(SundogDrafter *drafter, SundogRequest *const *requests, uint32_t n_requests);
    /* A step has run, and its requests have its tokens; none of them has ended yet. */
    void (*follow)(SundogDrafter *drafter, const SundogStepBatch *step);
    /* The first guess of a request for which find() was true, where it costs nothing to know. */
    bool (*peek)(SundogDrafter *drafter, const SundogRequest *request, uint32_t *token);
    /* The request gives its pages up, and may come back. */
    void (*rest)(SundogDrafter *drafter, SundogRequest *request);
    /* The request ends. */
    void (*end)(SundogDrafter *drafter, SundogRequest *request);
    void (*free)(SundogDrafter *drafter);
    double token_us; /* to make one guess, as measured; 0: nothing, or not yet known */
};

/* Guesses from the request's own tokens: ngrams.h. */
SundogDrafter *sundog_ngram_drafter_new(void);
void sundog_drafter_free(SundogDrafter *drafter);
