#pragma once

/*
 * One request from SUBMIT to FINISH: its tokens, how to sample, and its state in the cache. All memory
 * it can ever need is taken in new(). Owned by the scheduler.
 */

#include "engine/cache/cache.h"
#include "engine/schedule/dry.h"
#include "engine/schedule/matcher.h"
#include "engine/schedule/ngrams.h"
#include "engine/wire/messages.h"
#include "kernels/contract/sample.h"

/* A list of end tokens longer than this is no list of end tokens. */
#define SUNDOG_REQUEST_MAX_ENDS 256

#define SUNDOG_MAX_DRAFTERS 3

typedef struct {
    uint64_t id;
    uint64_t arrival; /* counts SUBMITs: the order of admission, and of who gives way */

    uint32_t *tokens; /* [n_limit] prompt, then what was produced, then the step's drafts */
    uint32_t n_tokens;
    uint32_t n_prompt;
    uint32_t n_limit; /* where max_tokens or the context ends it */
    uint32_t *ends;   /* [n_ends] */
    uint32_t n_ends;
    SundogSampling sampling; /* without position and n_history */
    SundogBias *biases;      /* [n_biases] */
    uint32_t n_biases;
    SundogDryState dry;
    uint64_t follows;    /* id of an older request with the same prompt, or 0 */
    bool leads;          /* others follow it */
    uint32_t n_scores;   /* entries told of each token; 0: none */
    uint32_t n_scored;   /* leading tokens whose scores were told; all where none are wanted */
    uint32_t n_to_score; /* leading tokens that are to be scored as they stand: the prompt's */
    SundogMatch match;   /* of its constraint; without a matcher where it has none */
    bool is_stuck;       /* no token is allowed, or the constraint cannot be followed */
    uint32_t penalty_window;
    bool penalizes;
    bool keeps; /* takes part in reuse */
    bool drafts;

    SundogSequenceState state;
    uint32_t n_cached; /* prompt tokens found when first admitted */
    bool admitted;     /* was in a step before */
    bool restores;     /* records may have more of it */
    bool sampled;      /* has produced a token in this engine */

    /* Where it drafts: what each drafter keeps of it, and the share of its guesses lately that were right. */
    SundogNgrams ngrams;
    struct SundogShadow *shadow;
    struct SundogHeadState *head;
    double shares[SUNDOG_MAX_DRAFTERS];

    /* In the step that is being packed or runs. */
    uint32_t n_rows;    /* tokens of it in the step, drafts included; 0: not in it */
    uint32_t drafter;   /* who guesses for it */
    uint32_t n_wanted;  /* guesses that were asked for */
    uint32_t n_drafts;  /* guessed tokens behind its own */
    uint32_t logit_row; /* of its last token, those of the drafts follow; or UINT32_MAX */
    uint32_t n_given;   /* rows of logits that only score the tokens after them */
    uint32_t given_row; /* the first of these */

    int64_t arrived_us;
    int64_t started_us; /* of its first step */
    int64_t first_us;   /* when its first token came */
    int64_t last_us;
} SundogRequest;

/* Copies what the submit borrows. The submit is checked (see the scheduler); n_limit tokens at most,
 * sequence_pages wide. */
SundogRequest *sundog_request_new(const SundogSubmit *submit, uint32_t n_limit,
                                  uint32_t sequence_pages);
void sundog_request_free(SundogRequest *request);

/* Tokens that must still run before the next can be sampled: 1 while decoding. */
uint32_t sundog_request_get_n_left(const SundogRequest *request);
/* Of how many leading tokens all but the last may come from the cache. What is kept of a prefix is its state and
 * no logits: the token before one that is still to be scored must run. */
uint32_t sundog_request_get_n_reusable(const SundogRequest *request);
/* How many of its next n_rows tokens need a row of logits for the score of the token after them, and the
 * index of the first that does. */
uint32_t sundog_request_count_given(const SundogRequest *request, uint32_t n_rows);
uint32_t sundog_request_get_first_given(const SundogRequest *request);
bool sundog_request_is_end(const SundogRequest *request, uint32_t token);
/* How many tokens the penalties look at, at most `width`, once n_tokens are there. */
uint32_t sundog_request_get_n_history(const SundogRequest *request, uint32_t n_tokens,
                                      uint32_t width);
/* Fills the row of the sample program for the token after n_tokens; history [width] where width is at
 * least get_n_history(). */
void sundog_request_fill_sampling(const SundogRequest *request, uint32_t n_tokens,
                                  SundogSampling *sampling, int32_t *history, uint32_t width);
/* Fills the row that scores tokens[index]. */
void sundog_request_fill_given(const SundogRequest *request, uint32_t index,
                               SundogSampling *sampling, int32_t *history, uint32_t width);
/* The message of its end, at a time and in a step. */
SundogFinish sundog_request_get_finish(const SundogRequest *request, SundogFinishReason reason,
                                       uint64_t step, int64_t now_us);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogRequest, sundog_request_free)
