/* Whether alternatives exclude each other: by their types, their values, or a property's values. */

#include "engine/text/constraint/schema-private.h"

#include "engine/format/json-members.h"
#include <string.h>

static bool
has_type(JsonNode *types, const char *name)
{
    if (JSON_NODE_HOLDS_ARRAY(types)) {
        JsonArray *list = json_node_get_array(types);
        for (guint i = 0; i < json_array_get_length(list); i++)
            if (has_type(json_array_get_element(list, i), name))
                return true;
        return false;
    }
    return json_node_get_value_type(types) == G_TYPE_STRING &&
           strcmp(json_node_get_string(types), name) == 0;
}

static bool
have_no_common_type(JsonNode *first, JsonNode *second)
{
    static const char *const names[] = {"object", "array", "string", "boolean", "null"};
    if (first == NULL || second == NULL)
        return false;
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
        if (has_type(first, names[i]) && has_type(second, names[i]))
            return false;
    bool is_first_number = has_type(first, "number") || has_type(first, "integer");
    return !(is_first_number && (has_type(second, "number") || has_type(second, "integer")));
}

JsonArray *
sundog_schema_dup_values(JsonObject *schema)
{
    JsonNode *constant = json_object_get_member(schema, "const");
    JsonArray *values = sundog_json_get_array(schema, "enum");
    if (values != NULL || constant == NULL)
        return values != NULL ? json_array_ref(values) : NULL;
    JsonArray *one = json_array_new();
    json_array_add_element(one, json_node_ref(constant));
    return one;
}

/* The types of a schema, named or those of its values; owned by the caller, or NULL. */
static JsonNode *
dup_types(JsonObject *schema)
{
    JsonNode *named = json_object_get_member(schema, "type");
    g_autoptr(JsonArray) values = sundog_schema_dup_values(schema);
    if (named != NULL || values == NULL)
        return named != NULL ? json_node_ref(named) : NULL;
    JsonArray *types = json_array_new();
    for (guint i = 0; i < json_array_get_length(values); i++)
        json_array_add_string_element(types,
                                      sundog_schema_get_type(json_array_get_element(values, i)));
    JsonNode *node = json_node_new(JSON_NODE_ARRAY);
    json_node_take_array(node, types);
    return node;
}

static bool
have_no_common_value(JsonObject *first, JsonObject *second)
{
    g_autoptr(JsonArray) left = sundog_schema_dup_values(first);
    g_autoptr(JsonArray) right = sundog_schema_dup_values(second);
    if (left == NULL || right == NULL)
        return false;
    for (guint i = 0; i < json_array_get_length(left); i++)
        for (guint j = 0; j < json_array_get_length(right); j++)
            if (sundog_schema_is_same(json_array_get_element(left, i),
                                      json_array_get_element(right, j)))
                return false;
    return true;
}

static bool
is_required(JsonObject *schema, const char *name)
{
    JsonNode *node = json_object_get_member(schema, "required");
    return node != NULL && has_type(node, name);
}

static JsonObject *
get_properties(JsonObject *schema)
{
    JsonNode *node = json_object_get_member(schema, "properties");
    return node != NULL && JSON_NODE_HOLDS_OBJECT(node) ? json_node_get_object(node) : NULL;
}

/* Both require a property whose values exclude each other: what a discriminator is. */
static bool
differ_in_property(SundogSchemaCompiler *compiler, JsonObject *first, JsonObject *second)
{
    JsonObject *left = get_properties(first), *right = get_properties(second);
    JsonObjectIter iter;
    const char *name;
    JsonNode *member;
    if (left == NULL || right == NULL || !json_object_has_member(first, "type") ||
        !json_object_has_member(second, "type"))
        return false;
    json_object_iter_init(&iter, left);
    while (json_object_iter_next(&iter, &name, &member)) {
        JsonNode *other = json_object_get_member(right, name);
        if (other == NULL || !is_required(first, name) || !is_required(second, name))
            continue;
        JsonObject *a = sundog_schema_flatten(compiler, member);
        JsonObject *b = a != NULL ? sundog_schema_flatten(compiler, other) : NULL;
        if (b != NULL && have_no_common_value(a, b))
            return true;
    }
    return false;
}

bool
sundog_schema_excludes(SundogSchemaCompiler *compiler, JsonNode *first, JsonNode *second)
{
    JsonObject *left = sundog_schema_flatten(compiler, first);
    JsonObject *right = left != NULL ? sundog_schema_flatten(compiler, second) : NULL;
    g_autoptr(JsonNode) left_types = right != NULL ? dup_types(left) : NULL;
    g_autoptr(JsonNode) right_types = right != NULL ? dup_types(right) : NULL;
    return right != NULL &&
           (have_no_common_type(left_types, right_types) || have_no_common_value(left, right) ||
            differ_in_property(compiler, left, right));
}
