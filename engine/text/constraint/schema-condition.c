/*
 * Conditions that are choices: `if` is itself with `then`, or not itself with `else`; what depends on a
 * member is so or the member is not there; `not` is that one of the conditions in it does not hold, as far
 * as that can be said as a schema again. Where a part of it cannot, values that only that part would let
 * through are not taken.
 */

#include "engine/text/constraint/schema-private.h"

#include "engine/format/json-members.h"
#include "engine/format/json.h"
#include <string.h>

static const char *const types[] = {"object", "array", "string", "number", "boolean", "null"};

static JsonNode *
node_of(JsonObject *object)
{
    JsonNode *node = json_node_new(JSON_NODE_OBJECT);
    json_node_take_object(node, object);
    return node;
}

static void
add(SundogSchemaCompiler *compiler, GPtrArray *alternatives, JsonNode *node)
{
    g_ptr_array_add(alternatives, sundog_schema_keep(compiler, node));
}

/* {"key": value}, of a type where one is named; takes the value. */
static JsonNode *
schema_of(const char *type, const char *key, JsonNode *value)
{
    JsonObject *object = json_object_new();
    if (type != NULL)
        json_object_set_string_member(object, "type", type);
    json_object_set_member(object, key, value);
    return node_of(object);
}

static JsonNode *
list_of(JsonNode *element)
{
    JsonArray *list = json_array_new();
    json_array_add_element(list, json_node_ref(element));
    JsonNode *node = json_node_new(JSON_NODE_ARRAY);
    json_node_take_array(node, list);
    return node;
}

/* An object with the member held to a schema (taken), or without it where that is NULL. */
static JsonNode *
member_of(const char *name, JsonNode *schema)
{
    bool is_there = schema != NULL;
    JsonObject *properties = json_object_new();
    json_object_set_member(properties, name,
                           is_there ? schema : json_node_init_boolean(json_node_alloc(), false));
    JsonObject *object = json_object_new();
    json_object_set_string_member(object, "type", "object");
    json_object_set_object_member(object, "properties", properties);
    if (is_there) {
        JsonArray *required = json_array_new();
        json_array_add_string_element(required, name);
        json_object_set_array_member(object, "required", required);
    }
    return node_of(object);
}

static bool requires(JsonObject *schema, const char *name)
{
    JsonArray *list = sundog_json_get_array(schema, "required");
    for (guint i = 0; list != NULL && i < json_array_get_length(list); i++) {
        JsonNode *node = json_array_get_element(list, i);
        if (json_node_get_value_type(node) == G_TYPE_STRING &&
            strcmp(json_node_get_string(node), name) == 0)
            return true;
    }
    return false;
}

/* not */

static bool
names_type(JsonNode *named, const char *type)
{
    if (JSON_NODE_HOLDS_ARRAY(named)) {
        JsonArray *list = json_node_get_array(named);
        for (guint i = 0; i < json_array_get_length(list); i++)
            if (names_type(json_array_get_element(list, i), type))
                return true;
        return false;
    }
    return json_node_get_value_type(named) == G_TYPE_STRING &&
           strcmp(json_node_get_string(named), type) == 0;
}

/* All other types; but for numbers that are not whole, which are no type. */
static void
negate_type(SundogSchemaCompiler *compiler, JsonNode *named, GPtrArray *alternatives)
{
    JsonArray *others = json_array_new();
    for (size_t i = 0; i < G_N_ELEMENTS(types); i++)
        if (!names_type(named, types[i]) &&
            !(strcmp(types[i], "number") == 0 && names_type(named, "integer")))
            json_array_add_string_element(others, types[i]);
    JsonNode *node = json_node_new(JSON_NODE_ARRAY);
    json_node_take_array(node, others);
    add(compiler, alternatives, schema_of(NULL, "type", node));
}

static void
negate_required(SundogSchemaCompiler *compiler, JsonNode *names, GPtrArray *alternatives)
{
    JsonArray *list = JSON_NODE_HOLDS_ARRAY(names) ? json_node_get_array(names) : NULL;
    for (guint i = 0; list != NULL && i < json_array_get_length(list); i++) {
        JsonNode *name = json_array_get_element(list, i);
        if (json_node_get_value_type(name) == G_TYPE_STRING)
            add(compiler, alternatives, member_of(json_node_get_string(name), NULL));
    }
}

static void
negate_properties(SundogSchemaCompiler *compiler, JsonNode *node, GPtrArray *alternatives)
{
    JsonObjectIter iter;
    const char *name;
    JsonNode *schema;
    if (!JSON_NODE_HOLDS_OBJECT(node))
        return;
    json_object_iter_init_ordered(&iter, json_node_get_object(node));
    while (json_object_iter_next_ordered(&iter, &name, &schema))
        add(compiler, alternatives, member_of(name, schema_of(NULL, "not", json_node_ref(schema))));
}

/* Bounds: what is on the other side of one. */
static const struct {
    const char *key, *type, *other;
    int step; /* to the next count, or 0 where the other bound leaves out what this takes */
} bounds[] = {
    {"minimum", "number", "exclusiveMaximum", 0}, {"maximum", "number", "exclusiveMinimum", 0},
    {"exclusiveMinimum", "number", "maximum", 0}, {"exclusiveMaximum", "number", "minimum", 0},
    {"minLength", "string", "maxLength", -1},     {"maxLength", "string", "minLength", 1},
    {"minItems", "array", "maxItems", -1},        {"maxItems", "array", "minItems", 1},
};

static bool
negate_bound(SundogSchemaCompiler *compiler, const char *key, JsonNode *value,
             GPtrArray *alternatives)
{
    GType type = json_node_get_value_type(value);
    for (size_t i = 0; i < G_N_ELEMENTS(bounds); i++) {
        if (strcmp(bounds[i].key, key) != 0 || (type != G_TYPE_INT64 && type != G_TYPE_DOUBLE))
            continue;
        if (bounds[i].step == 0)
            add(compiler, alternatives,
                schema_of(bounds[i].type, bounds[i].other, json_node_ref(value)));
        else if (json_node_get_int(value) + bounds[i].step >= 0)
            add(compiler, alternatives,
                schema_of(bounds[i].type, bounds[i].other,
                          json_node_init_int(json_node_alloc(),
                                             json_node_get_int(value) + bounds[i].step)));
        return true;
    }
    return false;
}

/* Values for which this one condition does not hold. False where that cannot be said. */
static bool
negate_condition(SundogSchemaCompiler *compiler, const char *key, JsonNode *value,
                 GPtrArray *alternatives)
{
    if (strcmp(key, "type") == 0)
        negate_type(compiler, value, alternatives);
    else if (strcmp(key, "const") == 0)
        add(compiler, alternatives, schema_of(NULL, SUNDOG_SCHEMA_EXCLUDED, list_of(value)));
    else if (strcmp(key, "enum") == 0 && JSON_NODE_HOLDS_ARRAY(value))
        add(compiler, alternatives, schema_of(NULL, SUNDOG_SCHEMA_EXCLUDED, json_node_ref(value)));
    else if (strcmp(key, "pattern") == 0 && json_node_get_value_type(value) == G_TYPE_STRING)
        add(compiler, alternatives, schema_of("string", SUNDOG_SCHEMA_UNLIKE, list_of(value)));
    else if (strcmp(key, "required") == 0)
        negate_required(compiler, value, alternatives);
    else if (strcmp(key, "properties") == 0)
        negate_properties(compiler, value, alternatives);
    else if (strcmp(key, "not") == 0)
        add(compiler, alternatives, json_node_ref(value));
    else
        return negate_bound(compiler, key, value, alternatives);
    return true;
}

/* Of a list of schemas that are all refused the first one as an object, where an anyOf alone counts as its
 * own list; what is left of the list stays. NULL with an error. */
static JsonObject *
take_first(SundogSchemaCompiler *compiler, GPtrArray *refused)
{
    JsonObject *flat;
    while ((flat = sundog_schema_flatten(compiler, g_ptr_array_steal_index(refused, 0))) != NULL) {
        JsonArray *list = sundog_json_get_array(flat, "anyOf");
        if (list == NULL || json_array_get_length(list) == 0 ||
            sundog_schema_has_others(flat, "anyOf"))
            break;
        for (guint i = json_array_get_length(list); i-- > 0;)
            g_ptr_array_insert(refused, 0, json_array_get_element(list, i));
    }
    return flat;
}

static void
set_refused(JsonObject *schema, const GPtrArray *refused)
{
    JsonArray *list = json_array_new();
    for (guint i = 0; i < refused->len; i++)
        json_array_add_element(list, json_node_ref(refused->pdata[i]));
    JsonNode *node = json_node_new(JSON_NODE_ARRAY);
    json_node_take_array(node, list);
    json_object_set_member(schema, "not", schema_of(NULL, "anyOf", node));
}

static bool
split_not(SundogSchemaCompiler *compiler, JsonObject *schema, JsonObject **rest,
          GPtrArray *alternatives)
{
    g_autoptr(GPtrArray) refused = g_ptr_array_new();
    g_ptr_array_add(refused, json_object_get_member(schema, "not"));
    JsonObject *flat = take_first(compiler, refused);
    *rest = sundog_schema_copy_without(compiler, schema, "not", "");
    if (refused->len > 0)
        set_refused(*rest, refused);
    if (flat == NULL) { /* what no value satisfies refuses none */
        if (sundog_schema_forgive(compiler))
            add(compiler, alternatives, node_of(json_object_new()));
        return *compiler->error == NULL;
    }
    JsonObjectIter iter;
    const char *key;
    JsonNode *value;
    bool is_said = false;
    json_object_iter_init_ordered(&iter, flat);
    while (json_object_iter_next_ordered(&iter, &key, &value))
        is_said |= negate_condition(compiler, key, value, alternatives);
    if (!sundog_schema_has_others(flat, ""))
        sundog_schema_contradict(compiler, "not", "it refuses every value");
    else if (!is_said)
        sundog_schema_refuse(compiler, "not",
                             "what it refuses cannot be turned round by this server: leave it out");
    return *compiler->error == NULL;
}

/* if */

static bool
split_if(SundogSchemaCompiler *compiler, JsonObject *schema, JsonObject **rest,
         GPtrArray *alternatives)
{
    JsonNode *test = json_object_get_member(schema, "if");
    JsonNode *holds = json_object_get_member(schema, "then");
    JsonNode *otherwise = json_object_get_member(schema, "else");
    g_autoptr(JsonNode) contrary = schema_of(NULL, "not", json_node_ref(test));
    *rest = sundog_schema_copy_without(
        compiler, sundog_schema_copy_without(compiler, schema, "if", "then"), "else", "");
    add(compiler, alternatives,
        sundog_schema_require_both(test, holds != NULL ? holds : compiler->any));
    add(compiler, alternatives,
        sundog_schema_require_both(contrary, otherwise != NULL ? otherwise : compiler->any));
    return true;
}

/* dependencies */

/* What is asked for beside the member: names, or a schema. */
static JsonNode *
dependent_of(const char *name, JsonNode *dependent)
{
    if (!JSON_NODE_HOLDS_ARRAY(dependent)) {
        g_autoptr(JsonNode) there =
            member_of(name, json_node_init_boolean(json_node_alloc(), true));
        return sundog_schema_require_both(there, dependent);
    }
    JsonArray *names = json_array_new();
    JsonArray *list = json_node_get_array(dependent);
    json_array_add_string_element(names, name);
    for (guint i = 0; i < json_array_get_length(list); i++)
        json_array_add_element(names, json_node_ref(json_array_get_element(list, i)));
    JsonNode *node = json_node_new(JSON_NODE_ARRAY);
    json_node_take_array(node, names);
    return schema_of("object", "required", node);
}

/* By the first name; the others stay. */
static bool
split_dependencies(SundogSchemaCompiler *compiler, JsonObject *schema, const char *keyword,
                   JsonObject **rest, GPtrArray *alternatives)
{
    JsonObject *names = sundog_json_get_object(schema, keyword);
    JsonObjectIter iter;
    const char *name;
    JsonNode *dependent;
    *rest = sundog_schema_copy_without(compiler, schema, keyword, "");
    if (names == NULL) {
        sundog_schema_refuse(compiler, keyword, "an object is expected");
        return false;
    }
    json_object_iter_init_ordered(&iter, names);
    if (!json_object_iter_next_ordered(&iter, &name, &dependent)) {
        add(compiler, alternatives, node_of(json_object_new()));
        return true;
    }
    if (json_object_get_size(names) > 1)
        json_object_set_object_member(
            *rest, keyword,
            json_object_ref(sundog_schema_copy_without(compiler, names, name, name)));
    if (!requires(schema, name))
        add(compiler, alternatives, member_of(name, NULL));
    add(compiler, alternatives, dependent_of(name, dependent));
    return true;
}

bool
sundog_schema_split(SundogSchemaCompiler *compiler, JsonObject *schema, JsonObject **rest,
                    GPtrArray *alternatives)
{
    static const char *const dependencies[] = {"dependentRequired", "dependentSchemas",
                                               "dependencies"};
    *rest = NULL;
    for (size_t i = 0; i < G_N_ELEMENTS(dependencies); i++)
        if (json_object_has_member(schema, dependencies[i]))
            return split_dependencies(compiler, schema, dependencies[i], rest, alternatives);
    if (json_object_has_member(schema, "if"))
        return split_if(compiler, schema, rest, alternatives);
    return !json_object_has_member(schema, "not") ||
           split_not(compiler, schema, rest, alternatives);
}
