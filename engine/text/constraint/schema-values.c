/* enum and const: values that are listed, of which those are left that all else beside the list takes. */

#include "engine/text/constraint/schema-private.h"

#include "engine/format/json-members.h"
#include "engine/format/json.h"
#include <math.h>
#include <string.h>

/* Integers that are listed where a schema leaves no more of them. */
#define MAX_INTEGERS 64
/* Beyond that, doubles leave integers out. */
#define MAX_EXACT 0x1p53

const char *
sundog_schema_get_type(JsonNode *value)
{
    if (JSON_NODE_HOLDS_NULL(value))
        return "null";
    if (JSON_NODE_HOLDS_OBJECT(value))
        return "object";
    if (JSON_NODE_HOLDS_ARRAY(value))
        return "array";
    GType type = json_node_get_value_type(value);
    if (type == G_TYPE_STRING)
        return "string";
    if (type == G_TYPE_BOOLEAN)
        return "boolean";
    double number = json_node_get_double(value);
    return number == (double)(int64_t)CLAMP(number, -9e18, 9e18) ? "integer" : "number";
}

static bool
is_type(JsonNode *types, const char *type)
{
    if (types == NULL)
        return true;
    if (JSON_NODE_HOLDS_ARRAY(types)) {
        JsonArray *list = json_node_get_array(types);
        for (guint i = 0; i < json_array_get_length(list); i++)
            if (is_type(json_array_get_element(list, i), type))
                return true;
        return false;
    }
    const char *name =
        json_node_get_value_type(types) == G_TYPE_STRING ? json_node_get_string(types) : "";
    return strcmp(name, type) == 0 || (strcmp(name, "number") == 0 && strcmp(type, "integer") == 0);
}

/* The types that keywords speak of, where there is no `type`: of all that are valid, the meant ones. */
static const struct {
    const char *keyword;
    const char *type;
} meant[] = {
    {"properties", "object"},
    {"required", "object"},
    {"additionalProperties", "object"},
    {"patternProperties", "object"},
    {"propertyNames", "object"},
    {"minProperties", "object"},
    {"maxProperties", "object"},
    {"items", "array"},
    {"prefixItems", "array"},
    {"minItems", "array"},
    {"maxItems", "array"},
    {"pattern", "string"},
    {"format", "string"},
    {"minLength", "string"},
    {"maxLength", "string"},
    {"minimum", "number"},
    {"maximum", "number"},
    {"exclusiveMinimum", "number"},
    {"exclusiveMaximum", "number"},
    {"multipleOf", "number"},
    {"contains", "array"},
    {"uniqueItems", "array"},
    {"unevaluatedProperties", "object"},
    {SUNDOG_SCHEMA_UNLIKE, "string"},
};

const char *
sundog_schema_get_meant_type(const char *keyword)
{
    for (size_t i = 0; i < G_N_ELEMENTS(meant); i++)
        if (strcmp(meant[i].keyword, keyword) == 0)
            return meant[i].type;
    return NULL;
}

/* Whether the schema speaks of values of a type beside their list. */
static bool
speaks_of(JsonObject *schema, const char *type)
{
    for (size_t i = 0; i < G_N_ELEMENTS(meant); i++)
        if (strcmp(meant[i].type, type) == 0 && json_object_has_member(schema, meant[i].keyword))
            return true;
    return false;
}

/* Conditions on values */

static bool
is_within(JsonObject *schema, double value)
{
    double bound = 0;
    bool is_low_excluded = sundog_json_get_bool(schema, "exclusiveMinimum", false);
    bool is_high_excluded = sundog_json_get_bool(schema, "exclusiveMaximum", false);
    if (sundog_json_get_double(schema, "minimum", &bound) &&
        (value < bound || (value == bound && is_low_excluded)))
        return false;
    if (sundog_json_get_double(schema, "maximum", &bound) &&
        (value > bound || (value == bound && is_high_excluded)))
        return false;
    return !(sundog_json_get_double(schema, "exclusiveMinimum", &bound) && value <= bound) &&
           !(sundog_json_get_double(schema, "exclusiveMaximum", &bound) && value >= bound);
}

static bool
is_number_taken(JsonObject *schema, double value)
{
    double step = 0;
    if (!is_within(schema, value))
        return false;
    if (!sundog_json_get_double(schema, "multipleOf", &step) || step <= 0)
        return true;
    double quotient = value / step; /* of decimals, which doubles are not */
    return fabs(quotient - round(quotient)) <= 1e-9 * MAX(1, fabs(quotient));
}

static bool
is_text_taken(SundogSchemaCompiler *compiler, JsonObject *schema, const char *value)
{
    g_autoptr(SundogTextSet) texts = sundog_schema_find_texts(compiler, schema);
    return texts != NULL && sundog_text_set_has(texts, value);
}

/* Whether the value is left; of what stands beside the list all that speaks of its type is looked at. */
static bool
is_left(SundogSchemaCompiler *compiler, JsonObject *schema, JsonNode *value)
{
    JsonNode *constant = json_object_get_member(schema, "const");
    const char *type = sundog_schema_get_type(value);
    bool is_number = strcmp(type, "integer") == 0 || strcmp(type, "number") == 0;
    if (!is_type(json_object_get_member(schema, "type"), type) ||
        (constant != NULL && !sundog_schema_is_same(constant, value)) ||
        sundog_schema_holds(sundog_json_get_array(schema, SUNDOG_SCHEMA_EXCLUDED), value))
        return false;
    if (!speaks_of(schema, is_number ? "number" : type))
        return true;
    if (strcmp(type, "string") == 0)
        return is_text_taken(compiler, schema, json_node_get_string(value));
    if (is_number)
        return is_number_taken(schema, json_node_get_double(value));
    sundog_schema_refuse(compiler, json_object_has_member(schema, "enum") ? "enum" : "const",
                         "other conditions on a listed %s are not supported: leave them out", type);
    return false;
}

/* Integers between two bounds, where they are few; NULL otherwise. */
static JsonArray *
dup_integers(JsonObject *schema)
{
    double least = sundog_json_get_number(schema, "minimum", -INFINITY);
    double most = sundog_json_get_number(schema, "maximum", INFINITY);
    least = ceil(MAX(least, sundog_json_get_number(schema, "exclusiveMinimum", -INFINITY)));
    most = floor(MIN(most, sundog_json_get_number(schema, "exclusiveMaximum", INFINITY)));
    if (!(most - least < MAX_INTEGERS) || fabs(least) > MAX_EXACT || fabs(most) > MAX_EXACT)
        return NULL;
    JsonArray *values = json_array_new();
    for (double value = least; value <= most; value++)
        json_array_add_int_element(values, (gint64)value);
    return values;
}

/* Values of types that need no list. */
static JsonArray *
dup_all_values(JsonObject *schema)
{
    JsonArray *values = sundog_schema_dup_values(schema);
    const char *type = sundog_json_get_string(schema, "type", "");
    if (values != NULL || (strcmp(type, "boolean") != 0 && strcmp(type, "integer") != 0))
        return values;
    if (strcmp(type, "integer") == 0)
        return dup_integers(schema);
    values = json_array_new();
    json_array_add_boolean_element(values, false);
    json_array_add_boolean_element(values, true);
    return values;
}

GPtrArray *
sundog_schema_list_values(SundogSchemaCompiler *compiler, JsonObject *schema)
{
    g_autoptr(JsonArray) values = dup_all_values(schema);
    g_autoptr(JsonArray) listed = json_array_new();
    g_autoptr(GPtrArray) texts = g_ptr_array_new_with_free_func(g_free);
    if (values == NULL)
        return NULL;
    for (guint i = 0; i < json_array_get_length(values); i++) {
        JsonNode *value = json_array_get_element(values, i);
        if (sundog_schema_holds(listed, value) || !is_left(compiler, schema, value))
            continue;
        json_array_add_element(listed, json_node_ref(value));
        g_autofree char *text = sundog_json_print(value, false);
        bool is_word =
            JSON_NODE_HOLDS_NULL(value) || strcmp(text, "true") == 0 || strcmp(text, "false") == 0;
        g_ptr_array_add(
            texts, g_strdup(is_word ? sundog_json_grammar_get_word(compiler->json, text) : text));
    }
    return *compiler->error == NULL ? g_steal_pointer(&texts) : NULL;
}

uint32_t
sundog_schema_add_listed(SundogSchemaCompiler *compiler, JsonObject *schema, uint32_t from)
{
    JsonNode *values = json_object_get_member(schema, "enum");
    if (values != NULL && !JSON_NODE_HOLDS_ARRAY(values))
        return sundog_schema_refuse(compiler, "enum", "a list is expected");
    g_autoptr(GPtrArray) texts = sundog_schema_list_values(compiler, schema);
    if (texts == NULL)
        return SUNDOG_SCHEMA_FAILED;
    if (texts->len == 0)
        return sundog_schema_contradict(compiler, values != NULL ? "enum" : "const",
                                        "no value is left");
    return sundog_automaton_builder_add_choice(compiler->builder, from,
                                               (const char *const *)texts->pdata, texts->len);
}
