#pragma once

/*
 * Where a text may be cut before a space because no token reaches over: in most vocabularies of pieces
 * a space only begins one. Words so cut are short, and become the same tokens as the whole text.
 *
 * Immutable after init; safe to share between threads.
 */

#include "engine/text/tokenizer/token-table.h"

typedef struct {
    bool reaches[256]; /* Some token holds this byte before a space. */
} SundogSpaceCuts;

void sundog_space_cuts_init(SundogSpaceCuts *cuts, const SundogVocabulary *vocabulary,
                            const SundogTokenTable *table);
/* The length of the leading word of n_bytes > 0. */
size_t sundog_space_cuts_next(const SundogSpaceCuts *cuts, const char *text, size_t n_bytes);

/* The text as such vocabularies read it: U+2581 is a space, and a space may be added in front. Returns
 * NULL where it is that already; else owned by the caller. */
GString *sundog_space_cuts_prepare(const char *text, size_t n_bytes, bool add_space);
