#pragma once

/*
 * UTF-8 that may be broken or not yet whole. GLib's own functions stop at a NUL byte and do not tell a
 * sequence that is cut off from one that can never be; a tokenizer needs both.
 * Source: The Unicode Standard, table 3-7 and the maximal subparts of section 3.9.
 */

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum {
    SUNDOG_UTF8_WHOLE,      /* A character. */
    SUNDOG_UTF8_INCOMPLETE, /* The beginning of one: more bytes may complete it. */
    SUNDOG_UTF8_INVALID,    /* Bytes that no character begins with: one U+FFFD stands for them. */
} SundogUtf8State;

/* The length of what stands at the beginning of n_bytes > 0, and what it is. */
size_t sundog_utf8_scan(const char *text, size_t n_bytes, SundogUtf8State *state);

/* The length of the leading character and its code point; 0 where there is none. */
size_t sundog_utf8_decode(const char *text, size_t n_bytes, uint32_t *code_point);

/* How many leading bytes are whole characters, and how many are none. */
size_t sundog_utf8_valid_prefix(const char *text, size_t n_bytes);
size_t sundog_utf8_invalid_prefix(const char *text, size_t n_bytes);

/* The text in normalization form C, its bytes that are no characters as they are; owned by the caller.
 * NULL where the text is ASCII and so is its own form. */
GString *sundog_utf8_compose(const char *text, size_t n_bytes);
/* Unicode's White_Space. */
bool sundog_utf8_is_space(uint32_t code_point);
