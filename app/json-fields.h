#pragma once

/* Members of a JSON object that came from outside: a member that is missing, null or of another type
 * reads as the value given for it. Objects may be NULL. Any thread. */

#include <json-glib/json-glib.h>
#include <stdbool.h>
#include <stdint.h>

/* Borrowed. */
const char *sundog_json_get_string(JsonObject *object, const char *name, const char *otherwise);
double sundog_json_get_number(JsonObject *object, const char *name, double otherwise);
bool sundog_json_get_bool(JsonObject *object, const char *name, bool otherwise);
JsonObject *sundog_json_get_object(JsonObject *object, const char *name);
JsonArray *sundog_json_get_array(JsonObject *object, const char *name);
/* The object at an index, or NULL where it is none. */
JsonObject *sundog_json_get_element(JsonArray *array, unsigned index);
