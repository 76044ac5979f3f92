#pragma once

/*
 * Keeps pages of the tree as prefix records, and brings them back. Pages are noted as they join the
 * tree, which costs a hash each; they are written one at a time, when the caller has nothing better to
 * do. Short sequences are not kept: to compute them again is cheaper than to find them. Recurrent state is a
 * record of its own, without tokens, whose parent is the last page that it has taken in.
 *
 * Records lie in memory of the host's while their pages stand in the tree, and in files; there is no tier
 * between, since the host's pages are where it would be.
 *
 * All memory is taken in new(). One thread, between steps.
 */

#include "engine/cache/prefix-tree.h"
#include "engine/cache/record-store.h"
#include "engine/cache/state-access.h"
#include "engine/cache/state-pool.h"

typedef struct {
    SundogRecordStore *store; /* taken over */
    uint8_t key[SUNDOG_RECORD_HASH_BYTES];
    int32_t n_pages; /* of the pool, the null page included */
    uint32_t page_tokens;
    int32_t n_states; /* slots of recurrent state, the null one included; up to 1: there is none */
    SundogStateAccess state; /* read and written */
} SundogPageRecorderOptions;

typedef struct SundogPageRecorder SundogPageRecorder;

SundogPageRecorder *sundog_page_recorder_new(const SundogPageRecorderOptions *options);
void sundog_page_recorder_free(SundogPageRecorder *recorder);

/* A full page with tokens [page_tokens] stands in the tree below `parent`, which was noted before or is
 * the root. */
void sundog_page_recorder_note(SundogPageRecorder *recorder, int32_t parent, int32_t page,
                               const uint32_t *tokens);
/* Fills a leased page, and its window where there are windows, which then is held, with what a record says of
 * tokens [page_tokens] after `parent`; false where there is none, and the page's content means nothing. */
bool sundog_page_recorder_restore(SundogPageRecorder *recorder, const SundogWindowPages *windows,
                                  int32_t parent, int32_t page, const uint32_t *tokens);

/* A kept slot holds the state after `page`, which was noted, and all before it; the null page: it holds
 * none that a record can name. To be told of each slot as it is kept. */
void sundog_page_recorder_note_state(SundogPageRecorder *recorder, int32_t page, int32_t slot);
/* How many pages of tokens [n_pages, page_tokens] after `parent` lie before the last of them that has a
 * record of its state, that one included; 0 where none has. */
uint32_t sundog_page_recorder_find_state(const SundogPageRecorder *recorder, int32_t parent,
                                         const uint32_t *tokens, uint32_t n_pages);
/* Fills a leased slot with the state after `page`, which was noted or restored. */
bool sundog_page_recorder_restore_state(SundogPageRecorder *recorder, int32_t page, int32_t slot);

/* Writes a page at once, where it waits to be written and still stands in the tree. */
void sundog_page_recorder_save(SundogPageRecorder *recorder, const SundogPrefixTree *tree,
                               const SundogWindowPages *windows, int32_t page);
/* Whether pages or states wait to be written, and writes one that still stands in the tree, with its window,
 * or is kept. windows and states may be NULL. */
bool sundog_page_recorder_has_work(const SundogPageRecorder *recorder);
void sundog_page_recorder_work(SundogPageRecorder *recorder, const SundogPrefixTree *tree,
                               const SundogWindowPages *windows, const SundogStatePool *states);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogPageRecorder, sundog_page_recorder_free)
