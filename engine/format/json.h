#pragma once

/* JSON from outside: size, nesting and syntax are judged before json-glib builds anything, since it
 * recurses without a bound. Used by the manifest, the catalogue, the configuration and HTTP bodies. */

#include <json-glib/json-glib.h>
#include <stdbool.h>
#include <stddef.h>

#define SUNDOG_JSON_MAX_DEPTH 64
/* Of one object: names chosen to collide in json-glib's tables cost the square of their number. */
#define SUNDOG_JSON_MAX_MEMBERS 4096

/* Parses text (need not end in NUL) as RFC 8259 has it; of two equal keys the last counts. Beyond the
 * RFC, numbers that fit neither 64 bits nor a double and the character U+0000 are refused. The error
 * text gives line and column, both from 1. The root may be any value. Ownership of the node goes to
 * the caller (json_node_unref). */
JsonNode *sundog_json_parse(const char *text, size_t n_bytes, GError **error);

/* The same for files that Python wrote: whole numbers that do not fit 64 bits become doubles, and Infinity
 * becomes 1e308. */
JsonNode *sundog_json_parse_large(const char *text, size_t n_bytes, GError **error);

/* One member of an object: its value's text, which is good JSON. False, with the error set, ends the
 * walk. */
typedef bool (*SundogJsonMember)(const char *name, const char *value, size_t n_bytes, void *data,
                                 GError **error);
/* Judges the text as above, which must hold an object, and hands over its members in order, however
 * many: no tree of them is built. Names may repeat. */
bool sundog_json_for_each_member(const char *text, size_t n_bytes, SundogJsonMember take_it,
                                 void *data, GError **error);

/* Prints a node in one line, or indented where pretty; owned by the caller. Members keep their order;
 * numbers read back as they are, and what JSON cannot say (NaN, infinities) becomes null. Use this
 * rather than json_to_string(), which writes 1e+20 as no parser takes it. */
char *sundog_json_print(JsonNode *node, bool pretty);
