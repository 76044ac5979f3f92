#pragma once

/* Fields of a request's object, checked for type and range. null counts as absent. Each returns false
 * where the field is wrong, with the error saying what it must be, and leaves the value as it is where
 * the field is absent; but where a declared field has a default, the value becomes that. */

#include "engine/server/api-error.h"
#include "engine/server/field-table.h"
#include <json-glib/json-glib.h>
#include <stdint.h>

/* Declared fields, of the type of their row. */
bool sundog_field_read_number(JsonObject *object, SundogField field, double *value,
                              SundogApiError **error);
bool sundog_field_read_integer(JsonObject *object, SundogField field, int64_t *value,
                               SundogApiError **error);
bool sundog_field_read_boolean(JsonObject *object, SundogField field, bool *value,
                               SundogApiError **error);
/* Borrowed from the object. */
bool sundog_field_read_text(JsonObject *object, SundogField field, const char **value,
                            SundogApiError **error);
bool sundog_field_read_array(JsonObject *object, SundogField field, JsonArray **value,
                             SundogApiError **error);
bool sundog_field_read_object(JsonObject *object, SundogField field, JsonObject **value,
                              SundogApiError **error);

/* Members of what stands in a field, by their key. */
bool sundog_field_get_number(JsonObject *object, const char *key, double lowest, double highest,
                             double *value, SundogApiError **error);
bool sundog_field_get_integer(JsonObject *object, const char *key, int64_t lowest, int64_t highest,
                              int64_t *value, SundogApiError **error);
bool sundog_field_get_boolean(JsonObject *object, const char *key, bool *value,
                              SundogApiError **error);
/* Borrowed from the object. */
bool sundog_field_get_text(JsonObject *object, const char *key, const char **value,
                           SundogApiError **error);
bool sundog_field_get_array(JsonObject *object, const char *key, JsonArray **value,
                            SundogApiError **error);
bool sundog_field_get_object(JsonObject *object, const char *key, JsonObject **value,
                             SundogApiError **error);
/* The member, or NULL where it is absent or null. */
JsonNode *sundog_field_get(JsonObject *object, const char *key);
