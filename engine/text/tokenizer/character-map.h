#pragma once

/*
 * SentencePiece's precompiled normalization: sequences of characters and what takes their place, found
 * by longest match in a double array. The map is foreign: every index is checked.
 * Source: sentencepiece, src/normalizer.cc (EncodePrecompiledCharsMap); Darts-clone for the array.
 *
 * Borrows its bytes. Immutable after init; safe to share between threads.
 */

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    const uint8_t *units; /* [n_units] of 4 bytes, little-endian; NULL where nothing is replaced */
    size_t n_units;
    const char *texts; /* [n_text_bytes] ended by NUL, each replacement too */
    size_t n_text_bytes;
} SundogCharacterMap;

/* n_bytes may be 0: then the map replaces nothing. */
bool sundog_character_map_init(SundogCharacterMap *map, const uint8_t *bytes, size_t n_bytes,
                               GError **error);
/* What stands for the beginning of the text, borrowed, and how much of the text that is; the text is
 * n_bytes > 0 of any bytes. A byte that is no character is replaced by U+FFFD. */
const char *sundog_character_map_take(const SundogCharacterMap *map, const char *text,
                                      size_t n_bytes, size_t *n_taken, size_t *n_given);
