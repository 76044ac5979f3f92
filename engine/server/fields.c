/* Reading fields. */

#include "engine/server/fields.h"

#include <math.h>

static const SundogFieldRow rows[] = {
#define X(name, key, type, lowest, highest, fallback, meaning) \
    {key, SUNDOG_FIELD_TYPE_##type, lowest, highest, fallback, meaning},
    SUNDOG_FIELDS(X)
#undef X
};

const SundogFieldRow *
sundog_field_get_row(SundogField field)
{
    return &rows[field];
}

JsonNode *
sundog_field_get(JsonObject *object, const char *key)
{
    JsonNode *node = json_object_get_member(object, key);
    return node && !JSON_NODE_HOLDS_NULL(node) ? node : NULL;
}

static bool
wrong_type(SundogApiError **error, const char *key, const char *wanted)
{
    return sundog_api_error_set(error, SUNDOG_API_ERROR_WRONG_TYPE, key, key, wanted, NULL);
}

static bool
out_of_range(SundogApiError **error, const char *key, double value, double lowest, double highest)
{
    char texts[3][G_ASCII_DTOSTR_BUF_SIZE];
    g_ascii_formatd(texts[0], sizeof texts[0], "%.6g", value);
    g_ascii_formatd(texts[1], sizeof texts[1], "%.12g", lowest);
    g_ascii_formatd(texts[2], sizeof texts[2], "%.12g", highest);
    return sundog_api_error_set(error, SUNDOG_API_ERROR_OUT_OF_RANGE, key, key, texts[0], texts[1],
                                texts[2], NULL);
}

bool
sundog_field_get_number(JsonObject *object, const char *key, double lowest, double highest,
                        double *value, SundogApiError **error)
{
    JsonNode *node = sundog_field_get(object, key);
    if (!node)
        return true;
    GType type = json_node_get_value_type(node);
    if (type != G_TYPE_INT64 && type != G_TYPE_DOUBLE)
        return wrong_type(error, key, "a number");
    double found = json_node_get_double(node);
    if (!isfinite(found) || found < lowest || found > highest)
        return out_of_range(error, key, found, lowest, highest);
    *value = found;
    return true;
}

bool
sundog_field_get_integer(JsonObject *object, const char *key, int64_t lowest, int64_t highest,
                         int64_t *value, SundogApiError **error)
{
    JsonNode *node = sundog_field_get(object, key);
    if (!node)
        return true;
    GType type = json_node_get_value_type(node);
    double found = type == G_TYPE_DOUBLE ? json_node_get_double(node) : 0;
    /* Some clients write 16.0 for 16. */
    if (type != G_TYPE_INT64 && !(type == G_TYPE_DOUBLE && found == trunc(found)))
        return wrong_type(error, key, "a whole number");
    if (type == G_TYPE_DOUBLE && fabs(found) >= 0x1p63)
        return out_of_range(error, key, found, (double)lowest, (double)highest);
    int64_t whole = type == G_TYPE_DOUBLE ? (int64_t)found : json_node_get_int(node);
    if (whole < lowest || whole > highest)
        return out_of_range(error, key, (double)whole, (double)lowest, (double)highest);
    *value = whole;
    return true;
}

bool
sundog_field_get_boolean(JsonObject *object, const char *key, bool *value, SundogApiError **error)
{
    JsonNode *node = sundog_field_get(object, key);
    if (!node)
        return true;
    if (json_node_get_value_type(node) != G_TYPE_BOOLEAN)
        return wrong_type(error, key, "true or false");
    *value = json_node_get_boolean(node);
    return true;
}

bool
sundog_field_get_text(JsonObject *object, const char *key, const char **value,
                      SundogApiError **error)
{
    JsonNode *node = sundog_field_get(object, key);
    if (!node)
        return true;
    if (json_node_get_value_type(node) != G_TYPE_STRING)
        return wrong_type(error, key, "a text");
    *value = json_node_get_string(node);
    return true;
}

bool
sundog_field_get_array(JsonObject *object, const char *key, JsonArray **value,
                       SundogApiError **error)
{
    JsonNode *node = sundog_field_get(object, key);
    if (!node)
        return true;
    if (!JSON_NODE_HOLDS_ARRAY(node))
        return wrong_type(error, key, "a list");
    *value = json_node_get_array(node);
    return true;
}

bool
sundog_field_get_object(JsonObject *object, const char *key, JsonObject **value,
                        SundogApiError **error)
{
    JsonNode *node = sundog_field_get(object, key);
    if (!node)
        return true;
    if (!JSON_NODE_HOLDS_OBJECT(node))
        return wrong_type(error, key, "an object");
    *value = json_node_get_object(node);
    return true;
}

/* Declared fields */

static bool
has_default(JsonObject *object, const SundogFieldRow *row)
{
    return !isnan(row->fallback) && !sundog_field_get(object, row->key);
}

bool
sundog_field_read_number(JsonObject *object, SundogField field, double *value,
                         SundogApiError **error)
{
    const SundogFieldRow *row = &rows[field];
    if (has_default(object, row))
        *value = row->fallback;
    return sundog_field_get_number(object, row->key, row->lowest, row->highest, value, error);
}

bool
sundog_field_read_integer(JsonObject *object, SundogField field, int64_t *value,
                          SundogApiError **error)
{
    const SundogFieldRow *row = &rows[field];
    if (has_default(object, row))
        *value = (int64_t)row->fallback;
    return sundog_field_get_integer(object, row->key, (int64_t)row->lowest, (int64_t)row->highest,
                                    value, error);
}

bool
sundog_field_read_boolean(JsonObject *object, SundogField field, bool *value,
                          SundogApiError **error)
{
    const SundogFieldRow *row = &rows[field];
    if (has_default(object, row))
        *value = row->fallback != 0;
    return sundog_field_get_boolean(object, row->key, value, error);
}

bool
sundog_field_read_text(JsonObject *object, SundogField field, const char **value,
                       SundogApiError **error)
{
    return sundog_field_get_text(object, rows[field].key, value, error);
}

bool
sundog_field_read_array(JsonObject *object, SundogField field, JsonArray **value,
                        SundogApiError **error)
{
    return sundog_field_get_array(object, rows[field].key, value, error);
}

bool
sundog_field_read_object(JsonObject *object, SundogField field, JsonObject **value,
                         SundogApiError **error)
{
    return sundog_field_get_object(object, rows[field].key, value, error);
}
