/* Arrays: items in places of their own, then any number of further ones between bounds. */

#include "engine/text/constraint/schema-private.h"

#include "engine/format/json-members.h"

static bool
is_false(JsonNode *node)
{
    return json_node_get_value_type(node) == G_TYPE_BOOLEAN && !json_node_get_boolean(node);
}

static bool
read_items(SundogSchemaCompiler *compiler, JsonObject *schema, SundogSchemaItems *items)
{
    JsonNode *places = json_object_get_member(schema, "prefixItems");
    JsonNode *rest = json_object_get_member(schema, "items");
    if (rest != NULL && JSON_NODE_HOLDS_ARRAY(rest)) { /* draft 7's name for it */
        places = rest;
        rest = json_object_get_member(schema, "additionalItems");
    }
    if (places != NULL && !JSON_NODE_HOLDS_ARRAY(places)) {
        sundog_schema_refuse(compiler, "prefixItems", "a list of schemas is expected");
        return false;
    }
    items->places = places != NULL ? json_node_get_array(places) : NULL;
    items->is_closed = rest != NULL && is_false(rest);
    items->rest = rest;
    return sundog_schema_get_count(compiler, schema, "minItems", 0, &items->least) &&
           sundog_schema_get_count(compiler, schema, "maxItems", SUNDOG_AUTOMATON_UNBOUNDED,
                                   &items->most);
}

/* A comma and an item, as a rule to be counted. */
static uint32_t
add_next_rule(SundogSchemaCompiler *compiler, uint32_t rule)
{
    uint32_t next = sundog_automaton_builder_add_state(compiler->builder);
    uint32_t begin = sundog_json_grammar_add_mark(compiler->json, next, ',');
    sundog_automaton_builder_accept(
        compiler->builder, sundog_automaton_builder_add_call(compiler->builder, begin, rule));
    return next;
}

static uint32_t
add_rest_rule(SundogSchemaCompiler *compiler, JsonNode *schema)
{
    if (schema == NULL)
        return sundog_json_grammar_get_value(compiler->json);
    uint32_t rule = sundog_automaton_builder_add_state(compiler->builder);
    uint32_t end = sundog_schema_add_value_at(compiler, schema, "items", rule);
    if (end == SUNDOG_SCHEMA_FAILED)
        return end;
    sundog_automaton_builder_accept(compiler->builder, end);
    return rule;
}

/* SundogSchemaItems behind n_before others, as many as are still needed and allowed; all lead to `close`. */
static bool
add_rest(SundogSchemaCompiler *compiler, const SundogSchemaItems *items, uint32_t n_before,
         uint32_t from, uint32_t close)
{
    bool is_open = items->most == SUNDOG_AUTOMATON_UNBOUNDED;
    uint32_t least = items->least > n_before ? items->least - n_before : 0;
    uint32_t most = is_open ? items->most : items->most - n_before;
    uint32_t rule = add_rest_rule(compiler, items->rest);
    if (rule == SUNDOG_SCHEMA_FAILED)
        return false;
    uint32_t next = add_next_rule(compiler, rule);
    if (n_before == 0) {
        from = sundog_automaton_builder_add_call(compiler->builder, from, rule);
        least -= least > 0;
        most -= !is_open;
    }
    uint32_t end = sundog_automaton_builder_add_repeat(compiler->builder, from, next, least, most);
    sundog_automaton_builder_add_empty(compiler->builder, end, close);
    return true;
}

bool
sundog_schema_add_items(SundogSchemaCompiler *compiler, const SundogSchemaItems *items,
                        uint32_t from, uint32_t close)
{
    uint32_t n_places = items->places != NULL ? json_array_get_length(items->places) : 0;
    for (uint32_t i = 0; i < n_places && i < items->most; i++) {
        if (i >= items->least)
            sundog_automaton_builder_add_empty(compiler->builder, from, close);
        if (i > 0)
            from = sundog_json_grammar_add_mark(compiler->json, from, ',');
        g_autofree char *key = g_strdup_printf("prefixItems/%u", i);
        from = sundog_schema_add_value_at(compiler, json_array_get_element(items->places, i), key,
                                          from);
        if (from == SUNDOG_SCHEMA_FAILED)
            return false;
    }
    if (n_places >= items->least || items->most <= n_places)
        sundog_automaton_builder_add_empty(compiler->builder, from, close);
    return items->is_closed || items->most <= n_places ||
           add_rest(compiler, items, n_places, from, close);
}

static bool
is_unique(JsonObject *schema)
{
    return sundog_json_get_bool(schema, "uniqueItems", false);
}

uint32_t
sundog_schema_add_array(SundogSchemaCompiler *compiler, JsonObject *schema, uint32_t from)
{
    SundogSchemaItems items = {0};
    if (!read_items(compiler, schema, &items))
        return SUNDOG_SCHEMA_FAILED;
    uint32_t n_places = items.places != NULL ? json_array_get_length(items.places) : 0;
    if (items.least > items.most || (items.is_closed && items.least > n_places))
        return sundog_schema_contradict(compiler, "minItems", "more items are needed than allowed");
    if (is_unique(schema) && json_object_has_member(schema, "contains"))
        return sundog_schema_refuse(compiler, "uniqueItems", "not beside contains");
    SundogAutomatonBuilder *builder = compiler->builder;
    uint32_t open = sundog_automaton_builder_add_text(builder, from, "[", 1);
    uint32_t close = sundog_automaton_builder_add_state(builder);
    uint32_t begin = sundog_automaton_builder_add_call(
        builder, open, sundog_json_grammar_get_space(compiler->json));
    bool is_added = is_unique(schema) ? sundog_schema_add_unique(compiler, &items, begin, close)
                    : json_object_has_member(schema, "contains")
                        ? sundog_schema_add_containing(compiler, schema, &items, begin, close)
                        : sundog_schema_add_items(compiler, &items, begin, close);
    if (!is_added)
        return SUNDOG_SCHEMA_FAILED;
    return sundog_json_grammar_add_close(compiler->json, close, ']');
}
