#pragma once

/*
 * Regular expressions as constraints: what ECMAScript and Python have in common, without what no
 * automaton can do. Lazy and greedy quantifiers are the same here; look-around, back-references, word
 * borders and Unicode properties are refused by name. Letters of classes (\d, \w, \s) are ASCII's.
 * Source: ECMA-262, 22.2, as JSON Schema recommends for `pattern`.
 */

#include "engine/text/constraint/grammar-tree.h"

/* Longer ones are refused. */
#define SUNDOG_PATTERN_MAX_BYTES 8192

/* The tree of all texts that match as a whole; where `search`, of all that hold a match, so that only
 * ^ and $ tie it to the ends. NULL with an error of the grammar's domain. */
SundogGrammarNode *sundog_pattern_parse(const char *pattern, bool search, GError **error);
