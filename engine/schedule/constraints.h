#pragma once

/*
 * The constraints of a scheduler's requests: the vocabulary's bytes, the matchers of the automata that
 * were asked for, of which those used last are kept, and the rows of the sample program's mask and
 * biases, to which what a request holds against repetition is added. One thread.
 */

#include "engine/schedule/request.h"
#include "engine/schedule/step-runner.h"

typedef struct SundogConstraints SundogConstraints;

SundogConstraints *sundog_constraints_new(void);
void sundog_constraints_free(SundogConstraints *constraints);

/* Takes the vocabulary of the message; the first counts, since requests may use it. False where it is
 * malformed. */
bool sundog_constraints_set_vocabulary(SundogConstraints *constraints,
                                       const SundogWireVocabulary *vocabulary);
/* The matcher of an automaton's words, a reference for the caller. NULL with an error of the wire's
 * domain where the automaton is malformed or no vocabulary has come. */
SundogMatcher *sundog_constraints_dup_matcher(SundogConstraints *constraints, const uint32_t *words,
                                              uint32_t n_words, GError **error);

/* Fills the masks and biases of the requests' rows, and the widths of both in `size`. A request whose
 * constraint cannot be followed is marked as stuck. */
void sundog_constraints_fill(SundogRequest *const *requests, uint32_t n_requests,
                             SundogStepSize *size, const SundogStepRunner *runner);
/* How many of the request's drafts its constraint allows. */
uint32_t sundog_constraints_count_allowed(SundogRequest *request, uint32_t n_drafts);
/* Whether nothing may follow the request's tokens. */
bool sundog_constraints_is_complete(SundogRequest *request);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogConstraints, sundog_constraints_free)
