#pragma once

/*
 * Guesses of what comes next in a sequence, taken from the sequence itself: where its last tokens
 * stood before, and what followed them there ("prompt lookup"; Saxena 2023, after Leviathan et al.
 * 2023). Good where an answer quotes: code that is edited, text that is summed up, lists.
 *
 * Also counts how often such guesses were right, whether or not a step tried them, so that drafting
 * stops by itself where it does not pay and begins again where it does.
 *
 * All memory is taken in init(). One thread.
 */

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    uint32_t *
        ends; /* [n_slots] by hash of some tokens in a row: where the latest of them end; 0: none */
    uint32_t n_slots;   /* a power of two */
    uint32_t n_indexed; /* leading tokens whose ends are in the table */
    uint32_t source;    /* where the guess of the present step continues from; 0: there is none */
    double share;       /* of the guesses lately that were right */
} SundogDraft;

/* For a sequence of at most n_limit tokens. */
void sundog_draft_init(SundogDraft *draft, uint32_t n_limit);
void sundog_draft_clear(SundogDraft *draft);

/* Looks for a guess after tokens [n_tokens]; false where there is none. */
bool sundog_draft_find(SundogDraft *draft, const uint32_t *tokens, uint32_t n_tokens);
/* Writes the guess's first n_drafts tokens behind tokens [n_tokens], in the same memory. */
void sundog_draft_write(const SundogDraft *draft, uint32_t *tokens, uint32_t n_tokens,
                        uint32_t n_drafts);
/* What the step said: the next token of a sequence that had n_tokens, n_tried of whose drafts were
 * in it and n_right of those proved right. */
void sundog_draft_learn(SundogDraft *draft, const uint32_t *tokens, uint32_t n_tokens,
                        uint32_t token, uint32_t n_tried, uint32_t n_right);
