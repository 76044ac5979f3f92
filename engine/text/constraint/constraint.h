#pragma once

/*
 * What an answer may be, compiled for the engine: a schema, any JSON object, a regular expression, one
 * of several texts, or a grammar. Compiling is bounded in time and size. Errors are of the grammar's
 * domain (automaton-builder.h) and say what cannot be enforced. Any thread.
 */

#include "engine/wire/automaton.h"

#include <json-glib/json-glib.h>

SundogAutomaton *sundog_constraint_new_schema(JsonNode *schema, GError **error);
SundogAutomaton *sundog_constraint_new_json_object(void);
/* The whole answer matches the expression. */
SundogAutomaton *sundog_constraint_new_pattern(const char *pattern, GError **error);
SundogAutomaton *sundog_constraint_new_choice(const char *const *texts, size_t n_texts,
                                              GError **error);
SundogAutomaton *sundog_constraint_new_gbnf(const char *grammar, GError **error);
