/* References, and several schemas for one value made one. */

#include "engine/text/constraint/schema-private.h"

#include "engine/format/json-members.h"
#include "engine/format/json.h"

#include <math.h>
#include <string.h>

#define MAX_DEPTH 64

/* What a value can violate. All else is an annotation, or a place where schemas are kept. */
static const char *const conditions[] = {
    SUNDOG_SCHEMA_EXCLUDED,
    SUNDOG_SCHEMA_UNLIKE,
    "$ref",
    "additionalProperties",
    "allOf",
    "anyOf",
    "const",
    "contains",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "if",
    "items",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "not",
    "oneOf",
    "pattern",
    "patternProperties",
    "prefixItems",
    "properties",
    "propertyNames",
    "required",
    "type",
    "unevaluatedItems",
    "unevaluatedProperties",
    "uniqueItems",
};

static bool
is_condition(const char *key)
{
    for (size_t i = 0; i < G_N_ELEMENTS(conditions); i++)
        if (strcmp(conditions[i], key) == 0)
            return true;
    return false;
}

bool
sundog_schema_has_others(JsonObject *schema, const char *key)
{
    JsonObjectIter iter;
    const char *name;
    json_object_iter_init(&iter, schema);
    while (json_object_iter_next(&iter, &name, NULL))
        if (strcmp(name, key) != 0 && is_condition(name))
            return true;
    return false;
}

/* References */

static JsonNode *
step_into(JsonNode *node, const char *key)
{
    if (JSON_NODE_HOLDS_OBJECT(node))
        return json_object_get_member(json_node_get_object(node), key);
    if (!JSON_NODE_HOLDS_ARRAY(node) || !g_ascii_isdigit(*key))
        return NULL;
    char *end;
    guint64 index = g_ascii_strtoull(key, &end, 10);
    JsonArray *array = json_node_get_array(node);
    return *end == '\0' && index < json_array_get_length(array)
               ? json_array_get_element(array, (guint)index)
               : NULL;
}

/* One part of a pointer without its escapes; owned by the caller, NULL where they are none. */
static char *
unescape(const char *part)
{
    g_autofree char *plain = g_uri_unescape_string(part, NULL);
    if (plain == NULL)
        return NULL;
    GString *text = g_string_new(plain);
    g_string_replace(text, "~1", "/", 0);
    g_string_replace(text, "~0", "~", 0);
    return g_string_free(text, FALSE);
}

JsonNode *
sundog_schema_find(SundogSchemaCompiler *compiler, const char *reference)
{
    JsonNode *node = compiler->root;
    if (strcmp(reference, "#") != 0 && !g_str_has_prefix(reference, "#/")) {
        sundog_schema_refuse(compiler, "$ref", "“%.64s” leads out of this document", reference);
        return NULL;
    }
    g_auto(GStrv) parts = g_strsplit(reference, "/", 0);
    for (char **part = parts + 1; *part != NULL && node != NULL; part++) {
        g_autofree char *key = unescape(*part);
        node = key != NULL ? step_into(node, key) : NULL;
    }
    if (node == NULL)
        sundog_schema_refuse(compiler, "$ref", "there is nothing at “%.64s”", reference);
    return node;
}

/* Sameness */

static bool
is_number(JsonNode *node)
{
    GType type = json_node_get_value_type(node);
    return JSON_NODE_HOLDS_VALUE(node) && (type == G_TYPE_INT64 || type == G_TYPE_DOUBLE);
}

static bool
are_same_objects(JsonObject *first, JsonObject *second)
{
    JsonObjectIter iter;
    const char *key;
    JsonNode *member;
    if (json_object_get_size(first) != json_object_get_size(second))
        return false;
    json_object_iter_init(&iter, first);
    while (json_object_iter_next(&iter, &key, &member)) {
        JsonNode *other = json_object_get_member(second, key);
        if (other == NULL || !sundog_schema_is_same(member, other))
            return false;
    }
    return true;
}

bool
sundog_schema_is_same(JsonNode *first, JsonNode *second)
{
    if (is_number(first) && is_number(second))
        return json_node_get_double(first) == json_node_get_double(second);
    if (json_node_get_node_type(first) != json_node_get_node_type(second))
        return false;
    if (JSON_NODE_HOLDS_OBJECT(first))
        return are_same_objects(json_node_get_object(first), json_node_get_object(second));
    if (!JSON_NODE_HOLDS_ARRAY(first))
        return json_node_equal(first, second);
    JsonArray *left = json_node_get_array(first), *right = json_node_get_array(second);
    guint n = json_array_get_length(left);
    bool same = n == json_array_get_length(right);
    for (guint i = 0; i < n && same; i++)
        same = sundog_schema_is_same(json_array_get_element(left, i),
                                     json_array_get_element(right, i));
    return same;
}

/* Merging: what is left when both have a keyword */

static JsonNode *
new_list_node(JsonArray *list)
{
    JsonNode *node = json_node_new(JSON_NODE_ARRAY);
    json_node_take_array(node, list);
    return node;
}

bool
sundog_schema_holds(JsonArray *list, JsonNode *value)
{
    for (guint i = 0; list != NULL && i < json_array_get_length(list); i++)
        if (sundog_schema_is_same(json_array_get_element(list, i), value))
            return true;
    return false;
}

/* A name or a list of names as a list. */
static JsonArray *
dup_list(JsonNode *node)
{
    if (JSON_NODE_HOLDS_ARRAY(node))
        return json_array_ref(json_node_get_array(node));
    JsonArray *list = json_array_new();
    json_array_add_element(list, json_node_ref(node));
    return list;
}

static bool
has_text(JsonArray *list, const char *text)
{
    for (guint i = 0; i < json_array_get_length(list); i++) {
        JsonNode *node = json_array_get_element(list, i);
        if (json_node_get_value_type(node) == G_TYPE_STRING &&
            strcmp(json_node_get_string(node), text) == 0)
            return true;
    }
    return false;
}

/* Types and values that both allow; `integer` is within `number`. */
static JsonNode *
intersect(JsonNode *first, JsonNode *second)
{
    g_autoptr(JsonArray) left = dup_list(first);
    g_autoptr(JsonArray) right = dup_list(second);
    JsonArray *both = json_array_new();
    for (guint i = 0; i < json_array_get_length(left); i++)
        if (sundog_schema_holds(right, json_array_get_element(left, i)))
            json_array_add_element(both, json_node_ref(json_array_get_element(left, i)));
    bool integer = (has_text(left, "integer") && has_text(right, "number")) ||
                   (has_text(left, "number") && has_text(right, "integer"));
    if (integer && !has_text(both, "integer") && !has_text(both, "number"))
        json_array_add_string_element(both, "integer");
    return new_list_node(both);
}

static JsonNode *
unite(JsonNode *first, JsonNode *second)
{
    g_autoptr(JsonArray) left = dup_list(first);
    g_autoptr(JsonArray) right = dup_list(second);
    JsonArray *all = json_array_new();
    for (guint i = 0; i < json_array_get_length(left); i++)
        json_array_add_element(all, json_node_ref(json_array_get_element(left, i)));
    for (guint i = 0; i < json_array_get_length(right); i++)
        if (!sundog_schema_holds(left, json_array_get_element(right, i)))
            json_array_add_element(all, json_node_ref(json_array_get_element(right, i)));
    return new_list_node(all);
}

/* {keyword: [first, second]} */
static JsonNode *
new_pair(const char *keyword, JsonNode *first, JsonNode *second)
{
    JsonArray *list = json_array_new();
    json_array_add_element(list, json_node_ref(first));
    json_array_add_element(list, json_node_ref(second));
    JsonObject *object = json_object_new();
    json_object_set_array_member(object, keyword, list);
    JsonNode *node = json_node_new(JSON_NODE_OBJECT);
    json_node_take_object(node, object);
    return node;
}

JsonNode *
sundog_schema_require_both(JsonNode *first, JsonNode *second)
{
    return new_pair("allOf", first, second);
}

static JsonNode *
merge_each(JsonNode *first, JsonNode *second, JsonNode *(*merge)(JsonNode *, JsonNode *))
{
    JsonObject *both = json_object_new();
    JsonNode *const nodes[] = {first, second};
    for (size_t i = 0; i < G_N_ELEMENTS(nodes); i++) {
        JsonObjectIter iter;
        const char *key;
        JsonNode *member;
        json_object_iter_init_ordered(&iter, json_node_get_object(nodes[i]));
        while (json_object_iter_next_ordered(&iter, &key, &member)) {
            JsonNode *known = json_object_get_member(both, key);
            json_object_set_member(both, key,
                                   known != NULL ? merge(known, member) : json_node_ref(member));
        }
    }
    JsonNode *node = json_node_new(JSON_NODE_OBJECT);
    json_node_take_object(node, both);
    return node;
}

/* Names that are required beside one, or a schema. */
static JsonNode *
merge_dependent(JsonNode *first, JsonNode *second)
{
    return JSON_NODE_HOLDS_ARRAY(first) && JSON_NODE_HOLDS_ARRAY(second)
               ? unite(first, second)
               : sundog_schema_require_both(first, second);
}

/* For `not`: a schema of what either is. */
static JsonNode *
refuse_either(JsonNode *first, JsonNode *second)
{
    return new_pair("anyOf", first, second);
}

/* Of numbers above 0 with few digits; NULL for others. */
static JsonNode *
find_common_multiple(JsonNode *first, JsonNode *second)
{
    const double unit = 1e6;
    double values[] = {json_node_get_double(first) * unit, json_node_get_double(second) * unit};
    int64_t left = 0, right = 0, a = 0;
    for (size_t i = 0; i < G_N_ELEMENTS(values); i++)
        if (values[i] < 1 || values[i] > 1e12 || fabs(values[i] - round(values[i])) > 1e-6)
            return NULL;
    a = left = (int64_t)round(values[0]);
    right = (int64_t)round(values[1]);
    double product = round(values[1]);
    while (right != 0) {
        int64_t rest = left % right;
        left = right;
        right = rest;
    }
    double multiple = (double)(a / left) * product / unit;
    return json_node_init_double(json_node_alloc(), multiple);
}

static bool
is_one_of(const char *key, const char *const *keys)
{
    for (; *keys != NULL; keys++)
        if (strcmp(*keys, key) == 0)
            return true;
    return false;
}

/* The keyword's value where both have one, owned by the caller; NULL where that is not known. */
static JsonNode *
combine(const char *key, JsonNode *first, JsonNode *second)
{
    static const char *const least[] = {"minimum",  "exclusiveMinimum", "minLength",
                                        "minItems", "minProperties",    NULL};
    static const char *const most[] = {"maximum",  "exclusiveMaximum", "maxLength",
                                       "maxItems", "maxProperties",    NULL};
    /* Each of one value or of all values of a kind. */
    static const char *const nested[] = {"items", "propertyNames", "additionalProperties",
                                         "unevaluatedProperties", NULL};
    static const char *const lists[] = {
        "allOf", "format", "pattern", "required", SUNDOG_SCHEMA_EXCLUDED, SUNDOG_SCHEMA_UNLIKE,
        NULL};
    static const char *const by_name[] = {"dependencies", "dependentRequired", "dependentSchemas",
                                          NULL};
    bool numbers = is_number(first) && is_number(second);
    if (strcmp(key, "uniqueItems") == 0 && json_node_get_value_type(first) == G_TYPE_BOOLEAN)
        return json_node_ref(json_node_get_boolean(first) ? first : second);
    if (sundog_schema_is_same(first, second))
        return json_node_ref(first);
    if (numbers && (is_one_of(key, least) || is_one_of(key, most))) {
        bool takes_first = json_node_get_double(first) > json_node_get_double(second);
        return json_node_ref(takes_first == is_one_of(key, least) ? first : second);
    }
    if (strcmp(key, "type") == 0 || strcmp(key, "enum") == 0)
        return intersect(first, second);
    if (strcmp(key, "properties") == 0 && JSON_NODE_HOLDS_OBJECT(first) &&
        JSON_NODE_HOLDS_OBJECT(second))
        return merge_each(first, second, sundog_schema_require_both);
    if (strcmp(key, "patternProperties") == 0 && JSON_NODE_HOLDS_OBJECT(first) &&
        JSON_NODE_HOLDS_OBJECT(second))
        return merge_each(first, second, sundog_schema_require_both);
    if (is_one_of(key, lists))
        return unite(first, second);
    if (is_one_of(key, by_name) && JSON_NODE_HOLDS_OBJECT(first) && JSON_NODE_HOLDS_OBJECT(second))
        return merge_each(first, second, merge_dependent);
    if (strcmp(key, "multipleOf") == 0 && numbers)
        return find_common_multiple(first, second);
    if (strcmp(key, "not") == 0)
        return refuse_either(first, second);
    return is_one_of(key, nested) ? sundog_schema_require_both(first, second) : NULL;
}

/* What one schema says of members that it does not name, said of those that the other names. */
static bool
hold_others(SundogSchemaCompiler *compiler, JsonObject *schema, JsonObject *naming)
{
    /* All members are looked at where schemas are combined; within one of them only its own. */
    schema = sundog_schema_copy_without(compiler, schema, "unevaluatedProperties", "");
    JsonObject *own = sundog_json_get_object(schema, "properties");
    JsonObject *named = sundog_json_get_object(naming, "properties");
    g_autoptr(GList) names = named != NULL ? json_object_get_members(named) : NULL;
    JsonObject *held = NULL;
    for (GList *name = names; name != NULL; name = name->next) {
        if (own != NULL && json_object_has_member(own, name->data))
            continue;
        JsonNode *others = sundog_schema_hold_member(compiler, schema, name->data, NULL);
        if (others == NULL)
            return false;
        if (others == compiler->any)
            continue;
        if (held == NULL) {
            held = json_object_new();
            sundog_json_copy_members(named, held);
            json_object_set_object_member(naming, "properties", held);
        }
        JsonNode *both =
            sundog_schema_require_both(json_object_get_member(held, name->data), others);
        json_object_set_member(held, name->data, both);
    }
    return true;
}

/* Conditions that two schemas may both have, and of which one can be looked at only after the other. */
static const struct {
    const char *key;
    const char *with[2]; /* what it means nothing without */
} deferred[] = {
    {"anyOf", {NULL}},
    {"oneOf", {NULL}},
    {"if", {"then", "else"}},
    {"contains", {"minContains", "maxContains"}},
};

/* Puts the condition off: into `allOf`, where it stays until the first one is resolved. False where it is
 * none of these. */
static bool
defer(JsonObject *into, JsonObject *from, const char *key)
{
    for (size_t i = 0; i < G_N_ELEMENTS(deferred); i++) {
        if (strcmp(deferred[i].key, key) != 0)
            continue;
        JsonObject *later = json_object_new();
        const char *const keys[] = {key, deferred[i].with[0], deferred[i].with[1]};
        for (size_t k = 0; k < G_N_ELEMENTS(keys); k++)
            if (keys[k] != NULL && json_object_has_member(from, keys[k]))
                json_object_set_member(later, keys[k], json_object_dup_member(from, keys[k]));
        JsonArray *list = json_array_new();
        json_array_add_object_element(list, later);
        g_autoptr(JsonNode) node = new_list_node(list);
        JsonNode *before = json_object_get_member(into, "allOf");
        sundog_json_set_member(into, "allOf",
                               before != NULL ? unite(before, node) : json_node_ref(node));
        return true;
    }
    return false;
}

/* Whether the key only belongs to one of `from` that stands in `into` already. */
static bool
is_deferred_with(JsonObject *into, JsonObject *from, const char *key)
{
    for (size_t i = 0; i < G_N_ELEMENTS(deferred); i++)
        if (is_one_of(key,
                      (const char *const[]){deferred[i].with[0] ? deferred[i].with[0] : "",
                                            deferred[i].with[1] ? deferred[i].with[1] : "", NULL}))
            return json_object_has_member(into, deferred[i].key) ||
                   !json_object_has_member(from, deferred[i].key);
    return false;
}

static bool
merge_member(SundogSchemaCompiler *compiler, JsonObject *into, JsonObject *from, const char *key,
             JsonNode *member)
{
    JsonNode *known = json_object_get_member(into, key);
    if (known == NULL || !is_condition(key)) {
        sundog_json_set_member(into, key, json_node_ref(member));
        return true;
    }
    JsonNode *both = combine(key, known, member);
    if (both != NULL) {
        sundog_json_set_member(into, key, both);
        return true;
    }
    if (defer(into, from, key))
        return true;
    if (strcmp(key, "const") == 0)
        sundog_schema_contradict(compiler, key, "combined schemas differ in it");
    else
        sundog_schema_refuse(compiler, key, "combined schemas differ in it");
    return false;
}

/* `from` is not kept. */
static bool
merge_into(SundogSchemaCompiler *compiler, JsonObject *into, JsonObject *given)
{
    g_autoptr(JsonObject) from = json_object_new();
    sundog_json_copy_members(given, from);
    JsonNode *unevaluated = json_object_get_member(from, "unevaluatedProperties");
    if (unevaluated != NULL && !json_object_has_member(from, "additionalProperties"))
        json_object_set_member(from, "additionalProperties", json_node_ref(unevaluated));
    json_object_remove_member(from, "unevaluatedProperties");
    if (!hold_others(compiler, into, from) || !hold_others(compiler, from, into))
        return false;
    /* What belongs to another member goes along while that is not there yet. */
    g_autoptr(JsonObject) before = json_object_new();
    sundog_json_copy_members(into, before);
    JsonObjectIter iter;
    const char *key;
    JsonNode *member;
    json_object_iter_init_ordered(&iter, from);
    while (json_object_iter_next_ordered(&iter, &key, &member))
        if (!is_deferred_with(before, from, key) &&
            !merge_member(compiler, into, from, key, member))
            return false;
    return true;
}

JsonObject *
sundog_schema_copy_without(SundogSchemaCompiler *compiler, JsonObject *schema, const char *first,
                           const char *second)
{
    JsonObject *copy = json_object_new();
    JsonObjectIter iter;
    const char *key;
    JsonNode *member;
    json_object_iter_init_ordered(&iter, schema);
    while (json_object_iter_next_ordered(&iter, &key, &member))
        if (strcmp(key, first) != 0 && strcmp(key, second) != 0)
            json_object_set_member(copy, key, json_node_ref(member));
    g_ptr_array_add(compiler->made, copy);
    return copy;
}

JsonNode *
sundog_schema_keep(SundogSchemaCompiler *compiler, JsonNode *node)
{
    JsonObject *holder = json_object_new();
    json_object_set_member(holder, "", node);
    g_ptr_array_add(compiler->made, holder);
    return node;
}

static bool
merge_all_of(SundogSchemaCompiler *compiler, JsonObject *into, JsonNode *node)
{
    if (!JSON_NODE_HOLDS_ARRAY(node)) {
        sundog_schema_refuse(compiler, "allOf", "a list of schemas is expected");
        return false;
    }
    JsonArray *list = json_node_get_array(node);
    for (guint i = 0; i < json_array_get_length(list); i++) {
        JsonObject *flat = sundog_schema_flatten(compiler, json_array_get_element(list, i));
        if (flat == NULL || !merge_into(compiler, into, flat))
            return false;
    }
    return true;
}

static JsonObject *
flatten_object(SundogSchemaCompiler *compiler, JsonObject *schema)
{
    JsonNode *reference = json_object_get_member(schema, "$ref");
    JsonNode *all = json_object_get_member(schema, "allOf");
    if (reference == NULL && all == NULL)
        return schema;
    JsonObject *merged = sundog_schema_copy_without(compiler, schema, "$ref", "allOf");
    if (reference != NULL) {
        JsonNode *target = json_node_get_value_type(reference) == G_TYPE_STRING
                               ? sundog_schema_find(compiler, json_node_get_string(reference))
                               : NULL;
        if (target == NULL) {
            sundog_schema_refuse(compiler, "$ref", "a text is expected");
            return NULL;
        }
        JsonObject *flat = sundog_schema_flatten(compiler, target);
        if (flat == NULL || !merge_into(compiler, merged, flat))
            return NULL;
    }
    return all == NULL || merge_all_of(compiler, merged, all) ? merged : NULL;
}

JsonObject *
sundog_schema_flatten(SundogSchemaCompiler *compiler, JsonNode *schema)
{
    if (json_node_get_value_type(schema) == G_TYPE_BOOLEAN && json_node_get_boolean(schema)) {
        JsonObject *any = json_object_new();
        g_ptr_array_add(compiler->made, any);
        return any;
    }
    if (!JSON_NODE_HOLDS_OBJECT(schema)) {
        bool is_false = json_node_get_value_type(schema) == G_TYPE_BOOLEAN;
        if (is_false)
            sundog_schema_contradict(compiler, "schema", "false allows no value");
        else
            sundog_schema_refuse(compiler, "schema", "an object is expected");
        return NULL;
    }
    if (compiler->depth >= MAX_DEPTH) {
        sundog_schema_refuse(compiler, "$ref", "schemas refer to each other without end");
        return NULL;
    }
    compiler->depth++;
    JsonObject *flat = flatten_object(compiler, json_node_get_object(schema));
    compiler->depth--;
    return flat;
}

JsonObject *
sundog_schema_merge(SundogSchemaCompiler *compiler, JsonObject *first, const char *skip,
                    JsonNode *second)
{
    JsonObject *merged = sundog_schema_copy_without(compiler, first, skip, skip);
    JsonObject *flat = sundog_schema_flatten(compiler, second);
    return flat != NULL && merge_into(compiler, merged, flat) ? merged : NULL;
}
