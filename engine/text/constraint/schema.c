/* Schemas: which kind one is, and the kinds that are not a type's own. */

#include "engine/text/constraint/schema-private.h"

#include "engine/format/json-members.h"
#include "engine/format/json.h"

#include <string.h>

#define MAX_DEPTH 64
#define MAX_SCHEMAS 20000

G_GNUC_PRINTF(4, 0)
static uint32_t
fail(SundogSchemaCompiler *compiler, const char *keyword, bool is_contradiction, const char *format,
     va_list arguments)
{
    if (*compiler->error != NULL)
        return SUNDOG_SCHEMA_FAILED;
    g_autofree char *reason = g_strdup_vprintf(format, arguments);
    g_set_error(compiler->error, SUNDOG_GRAMMAR_ERROR, SUNDOG_GRAMMAR_ERROR_UNSUPPORTED,
                "“%s” at %s: %s", keyword, compiler->path->str, reason);
    compiler->is_contradiction = is_contradiction;
    return SUNDOG_SCHEMA_FAILED;
}

uint32_t
sundog_schema_refuse(SundogSchemaCompiler *compiler, const char *keyword, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    uint32_t failed = fail(compiler, keyword, false, format, arguments);
    va_end(arguments);
    return failed;
}

uint32_t
sundog_schema_contradict(SundogSchemaCompiler *compiler, const char *keyword, const char *format,
                         ...)
{
    va_list arguments;
    va_start(arguments, format);
    uint32_t failed = fail(compiler, keyword, true, format, arguments);
    va_end(arguments);
    return failed;
}

bool
sundog_schema_forgive(SundogSchemaCompiler *compiler)
{
    bool is_forgiven = *compiler->error != NULL && compiler->is_contradiction;
    if (is_forgiven)
        g_clear_error(compiler->error);
    return is_forgiven;
}

bool
sundog_schema_get_count(SundogSchemaCompiler *compiler, JsonObject *schema, const char *keyword,
                        uint32_t otherwise, uint32_t *count)
{
    JsonNode *node = json_object_get_member(schema, keyword);
    *count = otherwise;
    if (node == NULL)
        return true;
    GType type = json_node_get_value_type(node);
    double value = type == G_TYPE_INT64 || type == G_TYPE_DOUBLE ? json_node_get_double(node) : -1;
    if (value < 0 || value != (double)(uint64_t)value) {
        sundog_schema_refuse(compiler, keyword, "a count of 0 or more is expected");
        return false;
    }
    *count = (uint32_t)MIN(value, (double)(SUNDOG_AUTOMATON_UNBOUNDED - 1));
    return true;
}

uint32_t
sundog_schema_add_value_at(SundogSchemaCompiler *compiler, JsonNode *schema, const char *key,
                           uint32_t from)
{
    gsize n_path = compiler->path->len;
    g_string_append_printf(compiler->path, "/%s", key);
    uint32_t to = sundog_schema_add_value(compiler, schema, from);
    g_string_truncate(compiler->path, n_path);
    return to;
}

/* $ref: a rule, so that schemas may hold themselves */

static uint32_t
add_reference(SundogSchemaCompiler *compiler, const char *reference, uint32_t from)
{
    JsonNode *target = sundog_schema_find(compiler, reference);
    if (target == NULL)
        return SUNDOG_SCHEMA_FAILED;
    uint32_t rule = GPOINTER_TO_UINT(g_hash_table_lookup(compiler->rules, target));
    if (rule == 0) {
        rule = sundog_automaton_builder_add_state(compiler->builder) + 1;
        g_hash_table_insert(compiler->rules, target, GUINT_TO_POINTER(rule));
        g_autofree char *path = g_strdup(compiler->path->str);
        g_string_assign(compiler->path, reference);
        uint32_t end = sundog_schema_add_value(compiler, target, rule - 1);
        g_string_assign(compiler->path, path);
        if (end == SUNDOG_SCHEMA_FAILED)
            return SUNDOG_SCHEMA_FAILED;
        sundog_automaton_builder_accept(compiler->builder, end);
    }
    return sundog_automaton_builder_add_call(compiler->builder, from, rule - 1);
}

/* anyOf and oneOf */

/* The schema with another one beside it, which may be all there is. */
static uint32_t
add_alternative(SundogSchemaCompiler *compiler, JsonObject *schema, JsonNode *alternative,
                uint32_t from)
{
    if (!sundog_schema_has_others(schema, ""))
        return sundog_schema_add_value(compiler, alternative, from);
    JsonObject *merged = sundog_schema_merge(compiler, schema, "", alternative);
    if (merged == NULL)
        return SUNDOG_SCHEMA_FAILED;
    g_autoptr(JsonNode) node = json_node_new(JSON_NODE_OBJECT);
    json_node_set_object(node, merged);
    return sundog_schema_add_value(compiler, node, from);
}

/* Any of the alternatives beside the schema; those that leave no value are left out. */
static uint32_t
add_each(SundogSchemaCompiler *compiler, JsonObject *schema, const char *keyword,
         const GPtrArray *alternatives, uint32_t from)
{
    uint32_t to = sundog_automaton_builder_add_state(compiler->builder);
    gsize n_path = compiler->path->len;
    guint n_added = 0;
    for (guint i = 0; i < alternatives->len; i++) {
        if (keyword != NULL)
            g_string_append_printf(compiler->path, "/%s/%u", keyword, i);
        uint32_t begin = sundog_automaton_builder_add_state(compiler->builder);
        uint32_t end = add_alternative(compiler, schema, alternatives->pdata[i], begin);
        g_string_truncate(compiler->path, n_path);
        bool is_last_hope = n_added == 0 && i + 1 == alternatives->len;
        if (end == SUNDOG_SCHEMA_FAILED && (is_last_hope || !sundog_schema_forgive(compiler)))
            return end;
        if (end == SUNDOG_SCHEMA_FAILED)
            continue;
        n_added++;
        sundog_automaton_builder_add_empty(compiler->builder, from, begin);
        sundog_automaton_builder_add_empty(compiler->builder, end, to);
    }
    return to;
}

/* Of oneOf: the alternative and, where it is not seen to exclude the others, not these. */
static JsonNode *
exclude_others(SundogSchemaCompiler *compiler, JsonArray *list, guint index)
{
    JsonNode *own = json_array_get_element(list, index);
    JsonArray *others = json_array_new();
    for (guint i = 0; i < json_array_get_length(list); i++)
        if (i != index && !sundog_schema_excludes(compiler, own, json_array_get_element(list, i)) &&
            !sundog_schema_forgive(compiler))
            json_array_add_element(others, json_node_ref(json_array_get_element(list, i)));
    if (json_array_get_length(others) == 0) {
        json_array_unref(others);
        return own;
    }
    JsonObject *any = json_object_new(), *refused = json_object_new();
    json_object_set_array_member(any, "anyOf", others);
    json_object_set_object_member(refused, "not", any);
    g_autoptr(JsonNode) node = json_node_new(JSON_NODE_OBJECT);
    json_node_take_object(node, refused);
    return sundog_schema_keep(compiler, sundog_schema_require_both(own, node));
}

static uint32_t
add_alternatives(SundogSchemaCompiler *compiler, JsonObject *schema, const char *keyword,
                 uint32_t from)
{
    JsonNode *node = json_object_get_member(schema, keyword);
    JsonArray *list = JSON_NODE_HOLDS_ARRAY(node) ? json_node_get_array(node) : NULL;
    g_autoptr(GPtrArray) alternatives = g_ptr_array_new();
    if (list == NULL || json_array_get_length(list) == 0)
        return sundog_schema_refuse(compiler, keyword, "a list of schemas is expected");
    for (guint i = 0; i < json_array_get_length(list); i++) {
        JsonNode *one = strcmp(keyword, "oneOf") == 0 ? exclude_others(compiler, list, i)
                                                      : json_array_get_element(list, i);
        if (*compiler->error != NULL)
            return SUNDOG_SCHEMA_FAILED;
        g_ptr_array_add(alternatives, one);
    }
    return add_each(compiler, sundog_schema_copy_without(compiler, schema, keyword, ""), keyword,
                    alternatives, from);
}

/* Types */

/* Of the words those that are not excluded. */
static uint32_t
add_words(SundogSchemaCompiler *compiler, JsonObject *schema, const char *const *words,
          uint32_t from)
{
    JsonArray *excluded = sundog_json_get_array(schema, SUNDOG_SCHEMA_EXCLUDED);
    const char *left[2];
    size_t n_left = 0;
    for (; *words != NULL; words++) {
        g_autoptr(JsonNode) value = sundog_json_parse(*words, strlen(*words), NULL);
        if (!sundog_schema_holds(excluded, value))
            left[n_left++] = sundog_json_grammar_get_word(compiler->json, *words);
    }
    return n_left > 0 ? sundog_automaton_builder_add_choice(compiler->builder, from, left, n_left)
                      : sundog_schema_contradict(compiler, "not", "no value is left");
}

/* Whether values of a type that has too many for them to be left out one by one are excluded. */
static bool
excludes_some(JsonObject *schema, const char *type)
{
    JsonArray *excluded = sundog_json_get_array(schema, SUNDOG_SCHEMA_EXCLUDED);
    JsonNode *named = json_object_get_member(schema, "type");
    for (guint i = 0; excluded != NULL && i < json_array_get_length(excluded); i++) {
        const char *found = sundog_schema_get_type(json_array_get_element(excluded, i));
        if (strcmp(found, type) == 0 ||
            (strcmp(type, "number") == 0 && strcmp(found, "integer") == 0 && named != NULL))
            return true;
    }
    return false;
}

static uint32_t
add_type(SundogSchemaCompiler *compiler, JsonObject *schema, const char *type, uint32_t from)
{
    static const char *const booleans[] = {"true", "false", NULL}, *const nothing[] = {"null",
                                                                                       NULL};
    static const char *const counted[] = {"object", "array", "integer", "number"};
    for (size_t i = 0; i < G_N_ELEMENTS(counted); i++)
        if (strcmp(type, counted[i]) == 0 && excludes_some(schema, type))
            return sundog_schema_refuse(compiler, "not",
                                        "single values of the type %s cannot be left out", type);
    if (strcmp(type, "object") == 0)
        return sundog_schema_add_object(compiler, schema, from);
    if (strcmp(type, "array") == 0)
        return sundog_schema_add_array(compiler, schema, from);
    if (strcmp(type, "string") == 0)
        return sundog_schema_add_string(compiler, schema, from);
    if (strcmp(type, "integer") == 0 || strcmp(type, "number") == 0)
        return sundog_schema_add_number(compiler, schema, *type == 'i', from);
    if (strcmp(type, "boolean") == 0)
        return add_words(compiler, schema, booleans, from);
    if (strcmp(type, "null") == 0)
        return add_words(compiler, schema, nothing, from);
    return sundog_schema_refuse(compiler, "type", "“%.32s” is no type", type);
}

static void
add_meant_types(JsonObject *schema, GPtrArray *types)
{
    JsonObjectIter iter;
    const char *keyword;
    json_object_iter_init_ordered(&iter, schema);
    while (json_object_iter_next_ordered(&iter, &keyword, NULL)) {
        const char *type = sundog_schema_get_meant_type(keyword);
        if (type != NULL && !g_ptr_array_find_with_equal_func(types, type, g_str_equal, NULL))
            g_ptr_array_add(types, (char *)type);
    }
}

static bool
add_named_type(SundogSchemaCompiler *compiler, JsonNode *node, GPtrArray *types)
{
    if (json_node_get_value_type(node) != G_TYPE_STRING) {
        sundog_schema_refuse(compiler, "type", "a name or a list of names is expected");
        return false;
    }
    g_ptr_array_add(types, (char *)json_node_get_string(node));
    return true;
}

static bool
find_types(SundogSchemaCompiler *compiler, JsonObject *schema, GPtrArray *types)
{
    JsonNode *node = json_object_get_member(schema, "type");
    if (node == NULL) {
        add_meant_types(schema, types);
        return true;
    }
    if (!JSON_NODE_HOLDS_ARRAY(node))
        return add_named_type(compiler, node, types);
    JsonArray *list = json_node_get_array(node);
    for (guint i = 0; i < json_array_get_length(list); i++)
        if (!add_named_type(compiler, json_array_get_element(list, i), types))
            return false;
    if (types->len == 0)
        sundog_schema_contradict(compiler, "type", "the list is empty");
    return types->len > 0;
}

static uint32_t
add_typed(SundogSchemaCompiler *compiler, JsonObject *schema, uint32_t from)
{
    g_autoptr(GPtrArray) types = g_ptr_array_new();
    bool is_narrowed = json_object_has_member(schema, SUNDOG_SCHEMA_EXCLUDED);
    static const char *const all_types[] = {"object", "array",   "string",
                                            "number", "boolean", "null"};
    if (!find_types(compiler, schema, types))
        return SUNDOG_SCHEMA_FAILED;
    for (size_t i = 0; types->len == 0 && is_narrowed && i < G_N_ELEMENTS(all_types); i++)
        if (!excludes_some(schema, all_types[i]) || strcmp(all_types[i], "string") == 0)
            g_ptr_array_add(types, (char *)all_types[i]);
    if (types->len == 0)
        return sundog_automaton_builder_add_call(compiler->builder, from,
                                                 sundog_json_grammar_get_value(compiler->json));
    if (types->len == 1)
        return add_type(compiler, schema, types->pdata[0], from);
    uint32_t to = sundog_automaton_builder_add_state(compiler->builder);
    for (guint i = 0; i < types->len; i++) {
        uint32_t begin = sundog_automaton_builder_add_state(compiler->builder);
        uint32_t end = add_type(compiler, schema, types->pdata[i], begin);
        if (end == SUNDOG_SCHEMA_FAILED)
            return end;
        sundog_automaton_builder_add_empty(compiler->builder, from, begin);
        sundog_automaton_builder_add_empty(compiler->builder, end, to);
    }
    return to;
}

/* Known to JSON Schema, and not enforced here whatever their value; where it is this one, they say
 * nothing. */
static const struct {
    const char *keyword;
    const char *harmless;
} unsupported[] = {
    {"unevaluatedItems", "true"},
    {"$dynamicRef", ""},
    {"$recursiveRef", ""},
};

static bool
is_supported(SundogSchemaCompiler *compiler, JsonObject *schema)
{
    for (size_t i = 0; i < G_N_ELEMENTS(unsupported); i++) {
        JsonNode *node = json_object_get_member(schema, unsupported[i].keyword);
        g_autofree char *text = node != NULL ? sundog_json_print(node, false) : NULL;
        if (text != NULL && strcmp(text, unsupported[i].harmless) != 0) {
            sundog_schema_refuse(compiler, unsupported[i].keyword,
                                 "this keyword cannot be enforced by this server: leave it out");
            return false;
        }
    }
    return true;
}

static uint32_t
add_flat(SundogSchemaCompiler *compiler, JsonObject *schema, uint32_t from)
{
    g_autoptr(GPtrArray) alternatives = g_ptr_array_new();
    JsonObject *rest;
    if (!is_supported(compiler, schema) ||
        !sundog_schema_split(compiler, schema, &rest, alternatives))
        return SUNDOG_SCHEMA_FAILED;
    if (rest != NULL)
        return add_each(compiler, rest, NULL, alternatives, from);
    if (json_object_has_member(schema, "anyOf"))
        return add_alternatives(compiler, schema, "anyOf", from);
    if (json_object_has_member(schema, "oneOf"))
        return add_alternatives(compiler, schema, "oneOf", from);
    if (json_object_has_member(schema, "enum") || json_object_has_member(schema, "const"))
        return sundog_schema_add_listed(compiler, schema, from);
    if (json_object_has_member(schema, "allOf"))
        return sundog_schema_refuse(compiler, "allOf", "combined schemas differ in it");
    return add_typed(compiler, schema, from);
}

/* A schema that is a reference and nothing else. */
static const char *
get_plain_reference(JsonNode *schema)
{
    JsonObject *object = JSON_NODE_HOLDS_OBJECT(schema) ? json_node_get_object(schema) : NULL;
    JsonNode *node = object != NULL ? json_object_get_member(object, "$ref") : NULL;
    if (node == NULL || json_node_get_value_type(node) != G_TYPE_STRING ||
        sundog_schema_has_others(object, "$ref"))
        return NULL;
    return json_node_get_string(node);
}

uint32_t
sundog_schema_add_value(SundogSchemaCompiler *compiler, JsonNode *schema, uint32_t from)
{
    if (compiler->depth >= MAX_DEPTH || ++compiler->n_schemas > MAX_SCHEMAS)
        return sundog_schema_refuse(compiler, "$ref",
                                    "schemas are nested deeper than %d or are more than %d",
                                    MAX_DEPTH, MAX_SCHEMAS);
    const char *reference = get_plain_reference(schema);
    uint32_t to;
    compiler->depth++;
    if (reference != NULL) {
        to = add_reference(compiler, reference, from);
    } else {
        JsonObject *flat = sundog_schema_flatten(compiler, schema);
        to = flat != NULL ? add_flat(compiler, flat, from) : SUNDOG_SCHEMA_FAILED;
    }
    compiler->depth--;
    return to;
}

bool
sundog_schema_add(SundogJsonGrammar *json, JsonNode *schema, uint32_t *rule, GError **error)
{
    g_autoptr(GHashTable) rules = g_hash_table_new(NULL, NULL);
    g_autoptr(GPtrArray) made = g_ptr_array_new_with_free_func((GDestroyNotify)json_object_unref);
    g_autoptr(GString) path = g_string_new("#");
    g_autoptr(JsonNode) any = json_node_init_boolean(json_node_alloc(), TRUE);
    GError *problem = NULL;
    SundogSchemaCompiler compiler = {.json = json,
                                     .builder = json->builder,
                                     .root = schema,
                                     .rules = rules,
                                     .any = any,
                                     .made = made,
                                     .path = path,
                                     .error = &problem};
    *rule = sundog_automaton_builder_add_state(json->builder);
    uint32_t end = sundog_schema_add_value(&compiler, schema, *rule);
    if (end != SUNDOG_SCHEMA_FAILED)
        sundog_automaton_builder_accept(json->builder, end);
    else
        g_propagate_error(error, problem);
    return end != SUNDOG_SCHEMA_FAILED;
}
