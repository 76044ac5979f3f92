#pragma once

/*
 * Token masks of an automaton: which tokens may come next, looked for when first asked and kept. What
 * a rule allows until it ends is kept by state, so that the same string or number in another place
 * costs only what follows it.
 *
 * A matcher is shared by all requests with equal automata; a match is one request's place in it. It
 * is brought to a request's tokens whatever they are: so preemption, resubmission and the matcher's own
 * forgetting need nothing else. All on the engine's thread.
 */

#include "engine/schedule/mask-trie.h"
#include "engine/wire/automaton.h"

typedef struct SundogMatcher SundogMatcher;

typedef struct {
    SundogMatcher *matcher;
    uint64_t generation; /* of the matcher's memory */
    uint32_t n_taken;    /* tokens of the answer */
    uint32_t frontier;
} SundogMatch;

/* Takes the automaton; borrows the trie, which must live as long. */
SundogMatcher *sundog_matcher_new(SundogAutomaton *automaton, const SundogMaskTrie *trie);
SundogMatcher *sundog_matcher_ref(SundogMatcher *matcher);
void sundog_matcher_unref(SundogMatcher *matcher);

/* Takes a reference. */
void sundog_match_init(SundogMatch *match, SundogMatcher *matcher);
void sundog_match_clear(SundogMatch *match);
/* Goes on to the answer's n_tokens first tokens, of which n_taken were there before. False where they
 * are not of the automaton. */
bool sundog_match_advance(SundogMatch *match, const uint32_t *tokens, uint32_t n_tokens);
/* A bit a token, SUNDOG_MASK_WORDS(n_tokens) words, borrowed until the next call on the matcher; the
 * tokens that end an answer are not in it. NULL where the automaton is too ambiguous to be followed. */
const uint64_t *sundog_match_get_mask(SundogMatch *match);
/* Words of 64 bits in a mask. */
size_t sundog_match_get_n_words(const SundogMatch *match);
/* Whether the answer may end here, and whether it must. */
bool sundog_match_may_end(const SundogMatch *match);
bool sundog_match_is_complete(const SundogMatch *match);

#define SUNDOG_MASK_WORDS(n_tokens) (((size_t)(n_tokens) + 63) / 64)

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogMatcher, sundog_matcher_unref)
