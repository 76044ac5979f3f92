#pragma once

/* Steps that verify runs: texts as tokens, and the step's inputs filled for stretches of sequences.
 * Within this house. */

#include "engine/prepare/verify.h"

/* Pages of each sequence; a text is cut to what they hold. */
#define SUNDOG_VERIFY_PAGES 1

/* A stretch of one sequence in a step; every row's logits are wanted. */
typedef struct {
    uint32_t sequence; /* its pages are 1 + sequence × SUNDOG_VERIFY_PAGES and on */
    int32_t start;
    int32_t n_tokens;
    const int32_t *tokens;
} SundogVerifyPart;

/* The buffer of that name; `of` is an interpreter or a replay. */
typedef void *(*SundogVerifyBuffer)(void *of, const char *name);

/* Writes the step's inputs; sets the variables of `shape` that the step decides. */
void sundog_verify_fill(SundogVerifyBuffer get, void *of, const SundogVerifyPart *parts,
                        uint32_t n_parts, SundogShape *shape);

/* Several texts in the core's own tokens: of GArray of int32_t, each of 2 to SUNDOG_VERIFY_MAX_TOKENS. */
#define SUNDOG_VERIFY_MAX_TOKENS 48
GPtrArray *sundog_verify_dup_prompts(const SundogCore *core, GError **error);
