/* json-glib's own getters print criticals where a type is not the expected one; these do not. */

#include "app/json-fields.h"

static JsonNode *
get_member(JsonObject *object, const char *name, JsonNodeType type)
{
    JsonNode *node = object ? json_object_get_member(object, name) : NULL;
    return node && json_node_get_node_type(node) == type ? node : NULL;
}

const char *
sundog_json_get_string(JsonObject *object, const char *name, const char *otherwise)
{
    JsonNode *node = get_member(object, name, JSON_NODE_VALUE);
    return node && json_node_get_value_type(node) == G_TYPE_STRING ? json_node_get_string(node)
                                                                   : otherwise;
}

double
sundog_json_get_number(JsonObject *object, const char *name, double otherwise)
{
    JsonNode *node = get_member(object, name, JSON_NODE_VALUE);
    GType type = node ? json_node_get_value_type(node) : G_TYPE_NONE;
    return type == G_TYPE_INT64 || type == G_TYPE_DOUBLE ? json_node_get_double(node) : otherwise;
}

bool
sundog_json_get_bool(JsonObject *object, const char *name, bool otherwise)
{
    JsonNode *node = get_member(object, name, JSON_NODE_VALUE);
    return node && json_node_get_value_type(node) == G_TYPE_BOOLEAN ? json_node_get_boolean(node)
                                                                    : otherwise;
}

JsonObject *
sundog_json_get_object(JsonObject *object, const char *name)
{
    JsonNode *node = get_member(object, name, JSON_NODE_OBJECT);
    return node ? json_node_get_object(node) : NULL;
}

JsonArray *
sundog_json_get_array(JsonObject *object, const char *name)
{
    JsonNode *node = get_member(object, name, JSON_NODE_ARRAY);
    return node ? json_node_get_array(node) : NULL;
}

JsonObject *
sundog_json_get_element(JsonArray *array, unsigned index)
{
    if (!array || index >= json_array_get_length(array))
        return NULL;
    JsonNode *node = json_array_get_element(array, index);
    return JSON_NODE_HOLDS_OBJECT(node) ? json_node_get_object(node) : NULL;
}
