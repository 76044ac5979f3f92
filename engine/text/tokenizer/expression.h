#pragma once

/*
 * One expression that text is cut by, in the notation of tokenizer.json files, which is Oniguruma's:
 * white space is Unicode's, `$` stands before each line's end, digits and words are any script's.
 *
 * Immutable after new; safe to share between threads, each with its own match data.
 */

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct SundogExpression SundogExpression;
/* Where a search notes what it found: one a thread. */
typedef struct SundogExpressionMatch SundogExpressionMatch;

typedef enum {
    SUNDOG_EXPRESSION_TOTAL = 1,  /* It matches at every character: looked for nowhere else. */
    SUNDOG_EXPRESSION_FOREIGN = 2 /* Out of a file: its searches are bounded, as it may backtrack
                                   * without end. */
} SundogExpressionFlags;

/* NULL with an error that names what of the notation is not known. */
SundogExpression *sundog_expression_new(const char *text, SundogExpressionFlags flags,
                                        GError **error);
void sundog_expression_free(SundogExpression *expression);

SundogExpressionMatch *sundog_expression_match_new(void);
void sundog_expression_match_free(SundogExpressionMatch *match);

/* The first match from pos on in n_bytes of valid UTF-8. It may be empty, but not at pos. False where
 * there is none, also where the search met a bound. */
bool sundog_expression_find(const SundogExpression *expression, SundogExpressionMatch *match,
                            const char *text, size_t n_bytes, size_t pos, size_t *begin,
                            size_t *end);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogExpression, sundog_expression_free)
