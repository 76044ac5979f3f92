#pragma once

/*
 * JSON Schema as a constraint: every value that the rule takes is valid. Not every valid value is
 * taken: an object's members come in the schema's order, further ones (where `additionalProperties`
 * says so itself) behind them, numbers and indentations have bounded lengths. Unknown keywords are
 * annotations; a known one that cannot be enforced is refused by its name and place, never left out.
 *
 * What a value must not be (`not`, and with it `if`, and `oneOf` whose alternatives are not seen to exclude
 * each other, and items beyond `maxContains`) is enforced as far as that is a schema again, see
 * schema-condition.c; `uniqueItems` of items that an enum lists or that are few integers; `multipleOf` up to 360 times a power of ten; `pattern` as pattern.h says; of
 * `format`, those of schema-string.c, others being annotations. `$ref` leads to any place of the same
 * document.
 * Source: JSON Schema 2020-12, and draft 7's names for what it renamed. One thread.
 */

#include "engine/text/constraint/json-grammar.h"

#include <json-glib/json-glib.h>

/* The rule of a schema's values, in json's builder. False with an error of the grammar's domain. */
bool sundog_schema_add(SundogJsonGrammar *json, JsonNode *schema, uint32_t *rule, GError **error);
