#pragma once

/*
 * A model whose next token is a hash of its sequence, computed through the page table as a real one's
 * state is: each slot of a page holds its token and the hash of the slot before with it. Every step
 * checks the whole chain of each sequence, so that a wrong page, a wrong chunk or a stale entry shows
 * at once; and fake_model_next() tells from the tokens alone what must come out. With slots of recurrent
 * state, that is the hash itself, which a step must find after exactly the tokens before it. Pages of windows hold
 * the same as the others, and what a row's window spans must be there.
 */

#include "engine/schedule/step-runner.h"
#include "engine/wire/messages.h"

#define FAKE_VOCABULARY 1000
/* A prompt with this token gives logits that are not finite, one with the other makes a step fail. */
#define FAKE_POISON 666
#define FAKE_FAILURE 667
/* A request with this top_k gets an answer that mostly repeats itself, so that drafts are right. */
#define FAKE_REPEATS 11

typedef struct FakeModel {
    SundogStepRunner runner;
    struct FakeSlot *slots; /* [pool_pages, page_tokens] */
    struct FakeSlot
        *windows;     /* [window_pages, page_tokens] the same again, of a layer with a window */
    uint64_t *states; /* [pool_states] */
    uint64_t *logits; /* [logit_rows] hash of each row's sequence */
    int32_t *drawn;   /* what sampling gave, and `out` has once its end was asked for */
    int32_t *out;
    SundogScore *scores; /* [logit_rows, SUNDOG_MAX_SCORES] */
    uint32_t n_steps;
    uint32_t n_rows_ahead;    /* rows, of all steps, whose token the scheduler did not know */
    uint32_t n_prefill_rows;  /* of the last step */
    uint32_t n_decoding_rows; /* of the last step */
    bool checks;              /* off only to measure the scheduler alone */
    int64_t now_us;           /* a step takes 1,000 us and 50 for each row past its first */
    struct FakeModel *large;  /* it drafts for: then a step takes 60 us of that model's time */
    uint32_t errs;            /* each so many positions it gives another token; 0: never */
} FakeModel;

typedef struct {
    uint32_t page_tokens;
    int32_t pool_pages;
    uint32_t sequence_pages;
    uint32_t max_tokens;
    uint32_t max_sequences;
    uint32_t history;
    uint32_t max_drafts;
    int32_t pool_states;  /* up to 1: nothing is recurrent */
    int32_t window_pages; /* up to 1: no layer has a window */
    uint32_t window_tokens;
    bool is_device; /* steps may begin before the tokens of the last are known */
} FakeModelOptions;

FakeModel *fake_model_new(const FakeModelOptions *options);
void fake_model_free(FakeModel *model);

/* The model's own clock, for a scheduler's options. */
int64_t fake_model_clock(void *model);

/* The token after tokens [n_tokens] of a request, as a model would sample it. */
uint32_t fake_model_next(const SundogSubmit *submit, const uint32_t *tokens, uint32_t n_tokens,
                         uint32_t history);

/* The log probability of a token after tokens [n_tokens]. Rivals are the tokens that follow by number. */
double fake_model_score(const uint32_t *tokens, uint32_t n_tokens, uint32_t token);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(FakeModel, fake_model_free)
