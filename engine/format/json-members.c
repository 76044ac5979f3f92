/* json-glib's own getters print criticals where a type is not the expected one; these do not. */

#include "engine/format/json-members.h"

const char *
sundog_json_get_text(JsonNode *node)
{
    bool is_text = node != NULL && JSON_NODE_HOLDS_VALUE(node) &&
                   json_node_get_value_type(node) == G_TYPE_STRING;
    return is_text ? json_node_get_string(node) : NULL;
}

const char *
sundog_json_get_string(JsonObject *object, const char *name, const char *usual)
{
    const char *text =
        sundog_json_get_text(object != NULL ? json_object_get_member(object, name) : NULL);
    return text != NULL ? text : usual;
}

bool
sundog_json_get_bool(JsonObject *object, const char *name, bool usual)
{
    JsonNode *node = object != NULL ? json_object_get_member(object, name) : NULL;
    bool is_bool = node != NULL && JSON_NODE_HOLDS_VALUE(node) &&
                   json_node_get_value_type(node) == G_TYPE_BOOLEAN;
    return is_bool ? json_node_get_boolean(node) : usual;
}

JsonObject *
sundog_json_get_object(JsonObject *object, const char *name)
{
    JsonNode *node = object != NULL ? json_object_get_member(object, name) : NULL;
    return node != NULL && JSON_NODE_HOLDS_OBJECT(node) ? json_node_get_object(node) : NULL;
}

JsonArray *
sundog_json_get_array(JsonObject *object, const char *name)
{
    JsonNode *node = object != NULL ? json_object_get_member(object, name) : NULL;
    return node != NULL && JSON_NODE_HOLDS_ARRAY(node) ? json_node_get_array(node) : NULL;
}

JsonObject *
sundog_json_get_element(JsonArray *array, guint index)
{
    if (array == NULL || index >= json_array_get_length(array))
        return NULL;
    JsonNode *node = json_array_get_element(array, index);
    return JSON_NODE_HOLDS_OBJECT(node) ? json_node_get_object(node) : NULL;
}

bool
sundog_json_has(JsonObject *object, const char *name)
{
    JsonNode *node = object != NULL ? json_object_get_member(object, name) : NULL;
    return node != NULL && !JSON_NODE_HOLDS_NULL(node);
}

bool
sundog_json_get_double(JsonObject *object, const char *name, double *number)
{
    JsonNode *node = object != NULL ? json_object_get_member(object, name) : NULL;
    GType type = node != NULL && JSON_NODE_HOLDS_VALUE(node) ? json_node_get_value_type(node)
                                                             : G_TYPE_INVALID;
    if (type != G_TYPE_INT64 && type != G_TYPE_DOUBLE)
        return false;
    *number = json_node_get_double(node);
    return true;
}

double
sundog_json_get_number(JsonObject *object, const char *name, double usual)
{
    sundog_json_get_double(object, name, &usual);
    return usual;
}

void
sundog_json_set_member(JsonObject *object, const char *name, JsonNode *node)
{
    if (json_object_get_member(object, name) == node)
        json_node_unref(node);
    else
        json_object_set_member(object, name, node);
}

void
sundog_json_copy_members(JsonObject *from, JsonObject *to)
{
    JsonObjectIter iter;
    const char *name;
    JsonNode *member;
    json_object_iter_init_ordered(&iter, from);
    while (json_object_iter_next_ordered(&iter, &name, &member))
        sundog_json_set_member(to, name, json_node_ref(member));
}
