#pragma once

/* Members of objects by name and kind, of JSON whose makers promise nothing: a member that is missing or
 * of another kind reads as if it were not there. Every object may be NULL. */

#include <json-glib/json-glib.h>
#include <stdbool.h>

/* The text that a node is; NULL where it is none, as of NULL. */
const char *sundog_json_get_text(JsonNode *node);
/* The value, else the usual one. */
const char *sundog_json_get_string(JsonObject *object, const char *name, const char *usual);
bool sundog_json_get_bool(JsonObject *object, const char *name, bool usual);
double sundog_json_get_number(JsonObject *object, const char *name, double usual);
/* The same where it must be told apart; false, and *number as it was, where there is none. */
bool sundog_json_get_double(JsonObject *object, const char *name, double *number);
/* NULL where there is none. */
JsonObject *sundog_json_get_object(JsonObject *object, const char *name);
JsonArray *sundog_json_get_array(JsonObject *object, const char *name);
/* An element that is an object, or NULL, as for an index behind the end. The array may be NULL. */
JsonObject *sundog_json_get_element(JsonArray *array, guint index);
/* Whether the member is there and not null. */
bool sundog_json_has(JsonObject *object, const char *name);
/* Sets a member and takes the node over, also where it is the very one that is there, whose second
 * reference json_object_set_member() leaves to its caller. */
void sundog_json_set_member(JsonObject *object, const char *name, JsonNode *node);
/* Sets every member of `from` in `to`, in order; values are shared. Neither may be NULL. */
void sundog_json_copy_members(JsonObject *from, JsonObject *to);
