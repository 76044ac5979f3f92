#pragma once

/*
 * Operations on strings that methods and filters share: Python's strip, split, replace, case and
 * padding, each keeping the provenance of every character.
 */

#include "engine/text/template/evaluate.h"

typedef enum {
    SUNDOG_STRIP_LEFT = 1,
    SUNDOG_STRIP_RIGHT = 2,
} SundogStripSides;

/* characters NULL: white space. */
const SundogString *sundog_text_strip(SundogRender *render, const SundogString *string,
                                      const SundogString *characters, unsigned sides);
/* count below 0: all. */
const SundogString *sundog_text_replace(SundogRender *render, const SundogString *string,
                                        const SundogString *old, const SundogString *replacement,
                                        int64_t count);
/* separator NULL: runs of white space; max below 0: no limit; from_right counts from the end. */
SundogList *sundog_text_split(SundogRender *render, const SundogString *string,
                              const SundogString *separator, int64_t max, bool from_right);
SundogList *sundog_text_split_lines(SundogRender *render, const SundogString *string,
                                    bool keep_ends);

typedef enum {
    SUNDOG_CASE_UPPER,
    SUNDOG_CASE_LOWER,
    SUNDOG_CASE_CAPITALIZE, /* first letter upper, the rest lower */
    SUNDOG_CASE_TITLE,      /* each word so, words being runs of letters */
    SUNDOG_CASE_SWAP,
} SundogCase;

const SundogString *sundog_text_change_case(SundogRender *render, const SundogString *string,
                                            SundogCase target);
/* Text between `left` and `right` fill characters. */
const SundogString *sundog_text_pad(SundogRender *render, const SundogString *string, int64_t left,
                                    int64_t right, const SundogString *fill);

/* An argument that must be of the kind, or may be absent (NULL, fallback). Errors name `function`. */
const SundogString *sundog_argument_string(SundogRender *render, SundogValue value,
                                           const char *function);
const SundogString *sundog_argument_optional_string(SundogRender *render, SundogValue value,
                                                    const char *function);
int64_t sundog_argument_integer(SundogRender *render, SundogValue value, int64_t fallback,
                                const char *function);
