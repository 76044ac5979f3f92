#pragma once

/*
 * Guesses of what comes next in a sequence, taken from the sequence itself: where its last tokens
 * stood before, and what followed them there ("prompt lookup"; Saxena 2023, after Leviathan et al.
 * 2023). Good where an answer quotes: code that is edited, text that is summed up, lists.
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
} SundogNgrams;

/* For a sequence of at most n_limit tokens. */
void sundog_ngrams_init(SundogNgrams *ngrams, uint32_t n_limit);
void sundog_ngrams_clear(SundogNgrams *ngrams);

/* Looks for a guess after tokens [n_tokens]; false where there is none. */
bool sundog_ngrams_find(SundogNgrams *ngrams, const uint32_t *tokens, uint32_t n_tokens);
/* Writes the guess's first n_drafts tokens behind tokens [n_tokens], in the same memory. */
void sundog_ngrams_write(const SundogNgrams *ngrams, uint32_t *tokens, uint32_t n_tokens,
                         uint32_t n_drafts);
