#pragma once

/* How vocabularies of each kind spell the bytes of their ordinary tokens. */

#include "engine/format/vocabulary.h"

typedef enum {
    SUNDOG_SPELLING_LETTERS, /* GPT-2's byte letters */
    SUNDOG_SPELLING_SPACES,  /* as itself, but U+2581 is a space */
    SUNDOG_SPELLING_ESCAPES, /* as itself, but \n, \t, \r and \xHH, and \ before other signs */
} SundogSpelling;

SundogSpelling sundog_spelling_of(SundogTokenizerKind kind);

/* Appends the bytes that are spelled. False, and nothing appended, where this is no such spelling: the
 * text is then its own meaning. */
bool sundog_spelling_append(SundogSpelling spelling, const char *text, size_t n_bytes,
                            GByteArray *bytes);
