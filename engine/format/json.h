#pragma once

/* JSON from outside: size, nesting and syntax are judged before json-glib builds anything, since it
 * recurses without a bound. Used by the manifest, the catalogue, the configuration and HTTP bodies. */

#include <json-glib/json-glib.h>
#include <stdbool.h>
#include <stddef.h>

#define SUNDOG_JSON_MAX_DEPTH 64

/* Parses text (need not end in NUL). The error text gives line and column, both from 1. The root may
 * be any value. Ownership of the node goes to the caller (json_node_unref). */
JsonNode *sundog_json_parse(const char *text, size_t n_bytes, GError **error);

/* Prints a node in one line, or indented where pretty; owned by the caller. */
char *sundog_json_print(JsonNode *node, bool pretty);
