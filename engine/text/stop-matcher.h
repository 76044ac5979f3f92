#pragma once

/*
 * Finds the first of several stop strings in text that comes in pieces, whatever the pieces. The stop
 * that is complete first is met; of those complete at the same byte, the longest.
 * Source: Knuth, Morris and Pratt 1977, one automaton a stop. One thread.
 */

#include <stdbool.h>
#include <stddef.h>

typedef struct SundogStopMatcher SundogStopMatcher;

/* stops: NULL-terminated, copied; empty strings are left out. NULL means none. */
SundogStopMatcher *sundog_stop_matcher_new(const char *const *stops);
void sundog_stop_matcher_free(SundogStopMatcher *matcher);

/* Takes one byte. Returns the stop that it completes, owned by the matcher, or NULL. */
const char *sundog_stop_matcher_feed(SundogStopMatcher *matcher, char byte);
/* How many of the bytes fed last may be the beginning of a stop. */
size_t sundog_stop_matcher_get_n_held(const SundogStopMatcher *matcher);
