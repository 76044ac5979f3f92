#pragma once

/*
 * Keeps pages of the tree as prefix records, and brings them back. Pages are noted as they join the
 * tree, which costs a hash each; they are written one at a time, when the caller has nothing better to
 * do. Short sequences are not kept: to compute them again is cheaper than to find them.
 *
 * All memory is taken in new(). One thread, between steps.
 */

#include "engine/cache/prefix-tree.h"
#include "engine/cache/record-store.h"

typedef struct {
    SundogRecordStore *store; /* taken over */
    uint8_t key[SUNDOG_RECORD_HASH_BYTES];
    int32_t n_pages; /* of the pool, the null page included */
    uint32_t page_tokens;
    size_t page_bytes; /* of all layers */
    /* Between a page and bytes [page_bytes]. */
    void (*read_page)(int32_t page, void *bytes, void *data);
    void (*write_page)(int32_t page, const void *bytes, void *data);
    void *data;
} SundogPageRecorderOptions;

typedef struct SundogPageRecorder SundogPageRecorder;

SundogPageRecorder *sundog_page_recorder_new(const SundogPageRecorderOptions *options);
void sundog_page_recorder_free(SundogPageRecorder *recorder);

/* A full page with tokens [page_tokens] stands in the tree below `parent`, which was noted before or is
 * the root. */
void sundog_page_recorder_note(SundogPageRecorder *recorder, int32_t parent, int32_t page,
                               const uint32_t *tokens);
/* Fills a leased page with what a record says of tokens [page_tokens] after `parent`; false where there
 * is none, and the page's content means nothing. */
bool sundog_page_recorder_restore(SundogPageRecorder *recorder, int32_t parent, int32_t page,
                                  const uint32_t *tokens);

/* Whether pages wait to be written, and writes one that still stands in the tree. */
bool sundog_page_recorder_has_work(const SundogPageRecorder *recorder);
void sundog_page_recorder_work(SundogPageRecorder *recorder, const SundogPrefixTree *tree);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogPageRecorder, sundog_page_recorder_free)
