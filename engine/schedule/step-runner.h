#pragma once

/*
 * What the scheduler needs of whoever runs a step: the inputs to fill, two programs to run, and a page
 * to copy. replay-runner.h makes one of a replay; a test makes one of a fake model.
 */

#include "engine/cache/cache.h"
#include "kernels/contract/sample.h"
#include <gio/gio.h>

/* Guesses that a step checks of one sequence: they rarely hold for longer. */
#define SUNDOG_MAX_DRAFTS 15

/* How large one step is. Page table, history, masks and biases are packed to their width of this step. */
typedef struct {
    uint32_t n_tokens;
    uint32_t n_sequences;
    uint32_t n_logit_rows;
    uint32_t sequence_pages; /* width of page_table */
    uint32_t history;        /* width of history */
    uint32_t mask;           /* words of a row of masks, 1 where no row has one */
    uint32_t bias;           /* words of a row of biases */
} SundogStepSize;

typedef struct {
    SundogStepSize max;
    uint32_t n_vocabulary;
    uint32_t page_tokens;
    int32_t pool_pages;   /* the null page included */
    int32_t window_pages; /* the same of windows, of window_tokens tokens; 1: there are none */
    uint32_t window_tokens;
    int32_t pool_states; /* slots of recurrent state, the null one included; 1: there is none */
    uint32_t
        max_drafts; /* rows that a step may take back of a sequence; 0 where its state or the bits
                            of its tokens do not allow that */

    /* Inputs of the forward program, as engine/core/step.h says; large enough for `max`. */
    int32_t *tokens;
    int32_t *positions;
    int32_t *token_sequence;
    int32_t *first_row;
    int32_t *start_position;
    int32_t *page_table;   /* [n_sequences, sequence_pages] */
    int32_t *window_table; /* the same of windows; NULL where there are none */
    int32_t *logit_rows;
    int32_t *state_slot; /* [n_sequences]; NULL where there is no recurrent state */
    /* Of a core that gives vectors or scores, where everything is NULL from logit_rows to scores: the type
     * of each row's token, or NULL, and what the forward program gives, [n_sequences, n_outputs]. */
    int32_t *token_types;
    const float *result;
    uint32_t n_outputs; /* 0: of a core for text */
    uint32_t n_token_types;
    /* Inputs and output of the sample program. */
    SundogSampling *sampling; /* [n_logit_rows] */
    int32_t *history;         /* [n_logit_rows, history], -1 past a row's end */
    int32_t *mask;            /* [n_logit_rows, mask] bits of the tokens that may be chosen */
    int32_t *bias;            /* [n_logit_rows, bias] of SundogBias */
    const int32_t *token;     /* [n_logit_rows], -1 where the row's logits are not finite */
    /* [n_logit_rows, SUNDOG_MAX_SCORES]; NULL where the program has none, which is an older core's. */
    const SundogScore *scores;

    /* Where the core guesses tokens: inputs and output of its program, as step.h says; else NULL. */
    float *hidden;             /* [n_tokens, n_hidden] output of forward() too */
    const float *draft_hidden; /* [n_logit_rows, n_hidden] */
    uint32_t n_hidden;

    /* False where the step could not run; an error says why, and the state of its sequences is lost. */
    /* The sample program's inputs may be filled until sample() is called: on a device, forward() has then
     * only begun. */
    bool (*forward)(void *data, const SundogStepSize *size, GError **error);
    bool (*sample)(void *data, const SundogStepSize *size, GError **error);
    /* Behind forward(): gives logits that may be sampled. NULL where the core guesses nothing. */
    bool (*draft)(void *data, const SundogStepSize *size, GError **error);
    /* sample() in two, so that the next step can begin between them: until end_sample() the tokens stay on the
     * device, where forward() finds them: a row of `tokens` that is -1 - r stands for the token of the begun
     * sampling's row r. NULL where a step has run when forward() returns. */
    bool (*begin_sample)(void *data, const SundogStepSize *size, GError **error);
    bool (*end_sample)(void *data, GError **error);
    void *data; /* of the functions above */
    SundogStateAccess state;
} SundogStepRunner;

/* A cache for the sequences of a runner's steps; max_kept_pages and recorder as cache.h says. */
SundogCache *sundog_step_runner_make_cache(const SundogStepRunner *runner, int32_t max_kept_pages,
                                           SundogPageRecorder *recorder);
