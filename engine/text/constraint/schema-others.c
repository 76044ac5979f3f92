/*
 * Members of objects that are not named: those whose keys fit an expression of `patternProperties`, and
 * those whose keys fit none. A key that several expressions fit, whose value would be held to them all, is
 * not written.
 */

#include "engine/text/constraint/schema-private.h"

#include "engine/text/constraint/pattern.h"

/* An expression of patternProperties: the keys that fit it. */
typedef struct {
    SundogTextSet *keys;
    JsonNode *values;
} Pattern;

static void
clear_pattern(void *data)
{
    sundog_text_set_free(((Pattern *)data)->keys);
}

static void
clear_others(void *data)
{
    sundog_text_set_free(((SundogSchemaOthers *)data)->keys);
}

static SundogTextSet *
refuse(SundogSchemaCompiler *compiler, const char *keyword, const GError *reason)
{
    sundog_schema_refuse(compiler, keyword, "%s", reason->message);
    return NULL;
}

static SundogTextSet *
find_keys(SundogSchemaCompiler *compiler, const char *pattern)
{
    g_autoptr(GError) reason = NULL;
    g_autoptr(SundogGrammarNode) tree = sundog_pattern_parse(pattern, true, &reason);
    SundogTextSet *keys = tree != NULL ? sundog_text_set_new_of_tree(tree, &reason) : NULL;
    return keys != NULL ? keys : refuse(compiler, "patternProperties", reason);
}

/* A GArray of Pattern, the caller's; NULL with an error. */
static GArray *
read_patterns(SundogSchemaCompiler *compiler, JsonObject *schema)
{
    g_autoptr(GArray) patterns = g_array_new(FALSE, FALSE, sizeof(Pattern));
    JsonNode *node = json_object_get_member(schema, "patternProperties");
    JsonObjectIter iter;
    const char *expression;
    Pattern pattern;
    g_array_set_clear_func(patterns, clear_pattern);
    if (node == NULL)
        return g_steal_pointer(&patterns);
    if (!JSON_NODE_HOLDS_OBJECT(node)) {
        sundog_schema_refuse(compiler, "patternProperties", "an object is expected");
        return NULL;
    }
    json_object_iter_init_ordered(&iter, json_node_get_object(node));
    while (json_object_iter_next_ordered(&iter, &expression, &pattern.values)) {
        pattern.keys = find_keys(compiler, expression);
        if (pattern.keys == NULL)
            return NULL;
        g_array_append_val(patterns, pattern);
    }
    return g_steal_pointer(&patterns);
}

static bool
is_boolean(JsonNode *node, bool value)
{
    return node != NULL && json_node_get_value_type(node) == G_TYPE_BOOLEAN &&
           json_node_get_boolean(node) == value;
}

/* What is said of members that neither a name nor an expression stands for; NULL where nothing is. */
static JsonNode *
get_rest(JsonObject *schema)
{
    JsonNode *rest = json_object_get_member(schema, "additionalProperties");
    /* All that is evaluated stands in this one object by now. */
    return rest != NULL ? rest : json_object_get_member(schema, "unevaluatedProperties");
}

/* The keys that propertyNames allows, or all; NULL with an error. */
static SundogTextSet *
find_allowed(SundogSchemaCompiler *compiler, JsonObject *schema)
{
    JsonNode *names = json_object_get_member(schema, "propertyNames");
    g_autoptr(GError) reason = NULL;
    if (names == NULL) {
        SundogTextSet *all = sundog_text_set_new_of_lengths(0, SUNDOG_AUTOMATON_UNBOUNDED, &reason);
        return all != NULL ? all : refuse(compiler, "propertyNames", reason);
    }
    JsonObject *flat = sundog_schema_flatten(compiler, names);
    return flat != NULL ? sundog_schema_find_texts(compiler, flat) : NULL;
}

/* Takes the set; all keys of it that fit no expression but the one of this number. */
static SundogTextSet *
leave_to(SundogTextSet *keys, const GArray *patterns, guint own, GError **error)
{
    for (guint i = 0; i < patterns->len && keys != NULL; i++) {
        if (i == own)
            continue;
        SundogTextSet *rest =
            sundog_text_set_subtract(keys, g_array_index(patterns, Pattern, i).keys, error);
        sundog_text_set_free(keys);
        keys = rest;
    }
    return keys;
}

/* Members that fit one expression alone; or none, where `own` is their number. */
static bool
add_others(SundogSchemaCompiler *compiler, GArray *others, const SundogTextSet *free_keys,
           const GArray *patterns, guint own, JsonNode *values)
{
    g_autoptr(GError) reason = NULL;
    bool is_pattern = own < patterns->len;
    SundogTextSet *fitting =
        is_pattern ? g_array_index(patterns, Pattern, own).keys : (SundogTextSet *)free_keys;
    SundogTextSet *keys = sundog_text_set_intersect(free_keys, fitting, &reason);
    keys = leave_to(keys, patterns, own, &reason);
    SundogSchemaOthers added = {keys, values,
                                is_pattern ? "patternProperties" : "additionalProperties"};
    if (keys == NULL) {
        refuse(compiler, added.place, reason);
        return false;
    }
    if (sundog_text_set_is_empty(keys))
        sundog_text_set_free(keys);
    else
        g_array_append_val(others, added);
    return true;
}

GArray *
sundog_schema_read_others(SundogSchemaCompiler *compiler, JsonObject *schema,
                          const GPtrArray *names)
{
    g_autoptr(GError) reason = NULL;
    g_autoptr(GArray) others = g_array_new(FALSE, FALSE, sizeof(SundogSchemaOthers));
    g_autoptr(GArray) patterns = read_patterns(compiler, schema);
    g_autoptr(SundogTextSet) allowed = patterns ? find_allowed(compiler, schema) : NULL;
    g_array_set_clear_func(others, clear_others);
    if (allowed == NULL)
        return NULL;
    g_autoptr(SundogTextSet) named =
        sundog_text_set_new_of_texts((const char *const *)names->pdata, names->len, &reason);
    g_autoptr(SundogTextSet) free_keys =
        named != NULL ? sundog_text_set_subtract(allowed, named, &reason) : NULL;
    if (free_keys == NULL) {
        refuse(compiler, "properties", reason);
        return NULL;
    }
    for (guint i = 0; i < patterns->len; i++)
        if (!is_boolean(g_array_index(patterns, Pattern, i).values, false) &&
            !add_others(compiler, others, free_keys, patterns, i,
                        g_array_index(patterns, Pattern, i).values))
            return NULL;
    /* Where members are named and nothing is said of others, a model is asked for those alone. */
    JsonNode *rest = get_rest(schema);
    bool names_some =
        names->len > 0 || patterns->len > 0 || json_object_has_member(schema, "properties");
    bool has_rest = rest != NULL ? !is_boolean(rest, false) : !names_some;
    if (has_rest && !add_others(compiler, others, free_keys, patterns, patterns->len,
                                rest != NULL ? rest : compiler->any))
        return NULL;
    return g_steal_pointer(&others);
}

JsonNode *
sundog_schema_hold_member(SundogSchemaCompiler *compiler, JsonObject *schema, const char *name,
                          JsonNode *own)
{
    JsonNode *held = own;
    bool fits = false;
    g_autoptr(SundogTextSet) allowed = find_allowed(compiler, schema);
    g_autoptr(GArray) patterns = allowed ? read_patterns(compiler, schema) : NULL;
    if (patterns == NULL)
        return NULL;
    for (guint i = 0; i < patterns->len; i++) {
        const Pattern *pattern = &g_array_index(patterns, Pattern, i);
        if (!sundog_text_set_has(pattern->keys, name))
            continue;
        fits = true;
        held = held == NULL ? pattern->values
                            : sundog_schema_keep(compiler,
                                                 sundog_schema_require_both(held, pattern->values));
    }
    if (!sundog_text_set_has(allowed, name))
        return sundog_schema_keep(compiler, json_node_init_boolean(json_node_alloc(), false));
    if (own == NULL && !fits)
        held = get_rest(schema);
    return held != NULL ? held : compiler->any;
}
