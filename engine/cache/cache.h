#pragma once

/*
 * The state of all sequences. A sequence opens with the tokens it starts from, and finds the longest
 * prefix of them that is already computed; reserves pages before a step, advances after it, and
 * closes, leaving what it computed for the next one. Everything that belongs to a sequence's state
 * goes through here together; a further cache scheme adds its part to SundogSequenceState and to each
 * of these functions.
 *
 * Recurrent state is good for exactly the tokens that it has taken in, so where there is such state a
 * sequence can only begin where one was kept: at the end of an earlier sequence, and at checkpoints on
 * borders of pages. Those are the last border before the end of a prompt, since a template rarely
 * repeats what stands behind it; where a prompt leaves another that was computed before, since a third is
 * likely to do so too (Pan et al. 2024, "Marconi"); and the last border that the answer has passed.
 *
 * Layers with a window may have pages of their own, fewer than the others. A running sequence holds those of
 * its window, and between open() and close() as many are promised to it as it may ever hold; so none is missing in
 * a step. What fell out of every window is kept as long as there is room, and a sequence can begin only where a whole
 * window is. Where there are such pages, nothing is recurrent.
 *
 * All memory is taken in new(). One thread, between steps: pages move only while no step runs.
 */

#include "engine/cache/page-recorder.h"
#include "engine/cache/state-pool.h"

typedef struct {
    int32_t n_pages; /* of the pool, the null page included */
    uint32_t page_tokens;
    uint32_t sequence_pages; /* the most a sequence may have */
    int32_t max_kept_pages; /* kept for reuse beyond the running sequences; -1: all that are free */
    int32_t n_windows;      /* pages of windows, the null one included; up to 1: there are none */
    uint32_t window_tokens; /* that a token sees of such layers, itself included */
    uint32_t step_tokens;   /* the most of all sequences in one step */
    int32_t n_states; /* slots of recurrent state, the null one included; up to 1: there is none */
    SundogStateAccess state;      /* of which the cache copies alone */
    SundogPageRecorder *recorder; /* borrowed; NULL: what is evicted is gone */
} SundogCacheOptions;

typedef struct SundogCache SundogCache;

/* All fields belong to the cache; pages and n_valid may be read. */
typedef struct {
    int32_t *pages; /* [sequence_pages] its page table, n_pages of it in use; the caller's memory */
    uint32_t n_pages;
    uint32_t n_valid;  /* leading tokens whose state finished steps have written */
    int32_t slot;      /* of its recurrent state, after n_valid tokens */
    int32_t safe_slot; /* of that after n_safe tokens, while those behind may be taken back */
    uint32_t n_safe;
    uint32_t branch;       /* where its prompt leaves pages that were there; 0: nowhere */
    uint32_t n_prompt;     /* the tokens that it was opened with */
    uint32_t n_restoring;  /* pages of a record whose state is still to come */
    uint32_t n_wanted;     /* pages that it will have with that state */
    uint32_t first_window; /* pages [first_window, end_window) hold their windows */
    uint32_t end_window;
    uint32_t n_promised; /* pages of windows that it may hold between steps */
    uint32_t n_shared;   /* leading pages that stand in the tree, pinned, never written again */
    bool keeps;          /* takes part in reuse at all */
} SundogSequenceState;

typedef enum {
    SUNDOG_CLOSE_KEEP,    /* what is valid may be reused */
    SUNDOG_CLOSE_DISCARD, /* what it computed is no good (not finite): others must not meet it */
} SundogClose;

SundogCache *sundog_cache_new(const SundogCacheOptions *options);
void sundog_cache_free(SundogCache *cache);

/* Takes what is known of tokens [n_tokens], at most n_tokens - 1 of them (the last must run, for its
 * logits), and reserves pages for n_reserve tokens. False, with nothing taken, where the pages for
 * that cannot be had now. After it state->n_valid tells how many tokens need not run again. */
bool sundog_cache_open_sequence(SundogCache *cache, SundogSequenceState *state,
                                const uint32_t *tokens, uint32_t n_tokens, uint32_t n_reserve,
                                bool keeps);
/* Brings one more page of tokens [n_tokens] back from a record, as if steps had computed it; again at
 * most n_tokens - 1 tokens become valid. False where there is none. */
bool sundog_cache_restore(SundogCache *cache, SundogSequenceState *state, const uint32_t *tokens,
                          uint32_t n_tokens);
/* Makes room for n_tokens, evicting what nobody uses; false, with nothing taken, where that is not
 * enough. */
bool sundog_cache_reserve(SundogCache *cache, SundogSequenceState *state, uint32_t n_tokens);
/* Before a step that takes the sequence to n_tokens, for which pages are reserved: holds the pages of windows that
 * the step reads and writes. Of all sequences together, steps have at most step_tokens. */
void sundog_cache_hold_windows(SundogCache *cache, SundogSequenceState *state, uint32_t n_tokens);
/* The sequence's row of the table of windows, [width]; null pages where it holds none. */
void sundog_cache_fill_windows(const SundogCache *cache, const SundogSequenceState *state,
                               int32_t *row, uint32_t width);
/* The number of tokens at which a step should end, so that a checkpoint can be taken there; UINT32_MAX
 * where there is none. */
uint32_t sundog_cache_get_checkpoint(const SundogCache *cache, const SundogSequenceState *state);
/* Before steps whose tokens may prove wrong: keeps a copy of the recurrent state. False where there is no
 * slot for it. */
bool sundog_cache_guess(SundogCache *cache, SundogSequenceState *state);
/* After a finished step of guesses: the state of the first n_valid tokens is written, and may be taken
 * back by the next advance. */
void sundog_cache_extend(SundogCache *cache, SundogSequenceState *state, uint32_t n_valid);
/* After a finished step: the state of the first n_valid tokens is written, and what was guessed behind
 * them is taken back. Where there is recurrent state, that leaves no more than there was before
 * the guesses: the tokens that proved right run again. Full pages can be shared from here on; an entry
 * of the page table may change to an equal page that was there before. */
void sundog_cache_advance(SundogCache *cache, SundogSequenceState *state, const uint32_t *tokens,
                          uint32_t n_valid);
/* Leaves a copy of the last page, which is not full, for others that go on from the same tokens while this
 * sequence does; nothing where no page is free. Of pages alone: recurrent state has moved on by then. */
void sundog_cache_share_tail(SundogCache *cache, const SundogSequenceState *state,
                             const uint32_t *tokens);
/* Ends the lease of everything; tokens as in advance. */
void sundog_cache_close_sequence(SundogCache *cache, SundogSequenceState *state,
                                 const uint32_t *tokens, SundogClose how);

/* Whether there are pages to write to records, and writes one. */
bool sundog_cache_has_chores(const SundogCache *cache);
void sundog_cache_do_chore(SundogCache *cache);

/* Pages that running sequences hold, and pages kept for reuse. */
int32_t sundog_cache_get_n_used(const SundogCache *cache);
int32_t sundog_cache_get_n_kept(const SundogCache *cache);
/* The most pages that can ever be leased. */
int32_t sundog_cache_get_n_pages(const SundogCache *cache);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogCache, sundog_cache_free)
