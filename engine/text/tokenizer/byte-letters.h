#pragma once

/*
 * GPT-2's byte letters: how a byte-level vocabulary spells its tokens. A byte that prints stands for
 * itself as a code point; the 68 others are lettered from U+0100 on, in their own order.
 * Source: `bytes_to_unicode` of GPT-2's encoder.py.
 */

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>

/* Appends the bytes that a token's spelling stands for. False, and nothing appended, where a
 * character is no byte letter: such a token's spelling is its own text. */
bool sundog_byte_letters_append(const char *spelling, size_t n_bytes, GByteArray *bytes);
