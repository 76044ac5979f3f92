#pragma once

/*
 * Which drafter guesses for which request, and how many tokens: as many as bring more tokens a
 * microsecond than a step without them, by what guesses cost and by how often they were right lately. So
 * drafting stops by itself where it does not pay, and begins again where it does: what costs nothing
 * to guess is judged whether or not a step tried it, the rest is tried again after a while.
 *
 * One thread, between steps.
 */

#include "engine/schedule/drafter.h"
#include "engine/schedule/step-budget.h"

typedef struct SundogDrafting SundogDrafting;

/* At most max_requests in a step. */
SundogDrafting *sundog_drafting_new(uint32_t max_requests);
void sundog_drafting_free(SundogDrafting *drafting);

/* Takes the drafter over; at most SUNDOG_MAX_DRAFTERS. */
void sundog_drafting_add(SundogDrafting *drafting, SundogDrafter *drafter);

void sundog_drafting_begin(SundogDrafting *drafting, SundogRequest *request);
void sundog_drafting_rest(SundogDrafting *drafting, SundogRequest *request);
void sundog_drafting_end(SundogDrafting *drafting, SundogRequest *request);

/* For each step: how many guesses the request may have, at most n_most, beside n_decoding requests in all;
 * then those of all that were asked for are made. */
uint32_t sundog_drafting_ask(SundogDrafting *drafting, SundogRequest *request,
                             const SundogStepBudget *budget, uint32_t n_decoding, uint32_t n_most);
void sundog_drafting_make(SundogDrafting *drafting);

/* For each step that has run, before a request of it ends. */
void sundog_drafting_follow(SundogDrafting *drafting, const SundogStepBatch *step);
/* What the step said: the request's next token, before it is appended, and how many of its drafts were
 * right. */
void sundog_drafting_learn(SundogDrafting *drafting, SundogRequest *request, uint32_t token,
                           uint32_t n_right);
