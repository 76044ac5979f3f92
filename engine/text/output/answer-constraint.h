#pragma once

/*
 * What a request asks of its answer's form, as one automaton: reasoning as the model writes it, then
 * JSON, a grammar's text or calls of tools in the core's syntax. Any thread.
 */

#include "engine/text/constraint/constraint.h"
#include "engine/text/output/output-syntax.h"

typedef struct {
    const SundogTokenizer *tokenizer;
    const SundogOutputSyntax *syntax; /* or NULL */
    bool begins_reasoning;            /* the prompt has left it open */
    bool reasons;                     /* reasoning may stand before the answer */
    /* One of these, or none. */
    bool is_json; /* any object */
    JsonNode *schema;
    const char *grammar;
    const char *pattern;
    const char *const *choices; /* NULL-terminated */
    /* Calls, one at least; beside one of the above, they or that. */
    bool calls;
    JsonArray *tools;
    const char *tool_name; /* the one that must be called; NULL: any */
    bool is_parallel;      /* any number of calls */
} SundogAnswerConstraint;

/* NULL with an error of the grammar's domain that says what cannot be enforced. */
SundogAutomaton *sundog_answer_constraint_new(const SundogAnswerConstraint *wanted, GError **error);
