#pragma once

/*
 * JSON Schema as a constraint: every value that the rule takes is valid. Not every valid value is
 * taken: an object's members come in the schema's order, further ones (where `additionalProperties`
 * says so itself) behind them, numbers and indentations have bounded lengths. Unknown keywords are
 * annotations; a known one that cannot be enforced is refused by its name and place, never left out.
 *
 * `oneOf` is taken where its alternatives are seen to exclude each other; `pattern` as pattern.h says;
 * of `format`, those of schema-string.c are enforced and others are annotations. `$ref` leads to any
 * place of the same document.
 * Source: JSON Schema 2020-12, and draft 7's names for what it renamed. One thread.
 */

#include "engine/text/constraint/json-grammar.h"

#include <json-glib/json-glib.h>

/* The rule of a schema's values, in json's builder. False with an error of the grammar's domain. */
bool sundog_schema_add(SundogJsonGrammar *json, JsonNode *schema, uint32_t *rule, GError **error);
