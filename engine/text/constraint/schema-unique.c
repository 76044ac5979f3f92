/* Arrays with uniqueItems, where the values that items may have can be listed. */

#include "engine/text/constraint/schema-private.h"

#include <string.h>

/* In any order up to so many values, beyond that in the order of the list. */
#define MAX_UNORDERED 8

/* A rule for each value; the caller's, NULL where they cannot be listed. */
static GArray *
add_value_rules(SundogSchemaCompiler *compiler, JsonNode *schema)
{
    JsonObject *flat = schema != NULL ? sundog_schema_flatten(compiler, schema) : NULL;
    g_autoptr(GPtrArray) texts = flat != NULL ? sundog_schema_list_values(compiler, flat) : NULL;
    if (texts == NULL)
        return NULL;
    GArray *rules = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    for (guint i = 0; i < texts->len; i++) {
        uint32_t rule = sundog_automaton_builder_add_state(compiler->builder);
        uint32_t end = sundog_automaton_builder_add_text(compiler->builder, rule, texts->pdata[i],
                                                         strlen(texts->pdata[i]));
        sundog_automaton_builder_accept(compiler->builder, end);
        g_array_append_val(rules, rule);
    }
    return rules;
}

static uint32_t
add_one_value(SundogSchemaCompiler *compiler, uint32_t from, bool is_first, uint32_t rule)
{
    if (!is_first)
        from = sundog_json_grammar_add_mark(compiler->json, from, ',');
    return sundog_automaton_builder_add_call(compiler->builder, from, rule);
}

/* States by the set of values that were written. */
static void
add_sets(SundogSchemaCompiler *compiler, const SundogSchemaItems *items, const GArray *rules,
         uint32_t from, uint32_t close)
{
    SundogAutomatonBuilder *builder = compiler->builder;
    g_autofree uint32_t *states = g_new(uint32_t, (size_t)1 << rules->len);
    for (uint32_t set = 0; set < 1u << rules->len; set++)
        states[set] = set == 0 ? from : sundog_automaton_builder_add_state(builder);
    for (uint32_t set = 0; set < 1u << rules->len; set++) {
        uint32_t n = (uint32_t)__builtin_popcount(set);
        if (n >= items->least)
            sundog_automaton_builder_add_empty(builder, states[set], close);
        for (guint i = 0; i < rules->len && n < items->most; i++)
            if (!(set & 1u << i))
                sundog_automaton_builder_add_empty(
                    builder,
                    add_one_value(compiler, states[set], n == 0, g_array_index(rules, uint32_t, i)),
                    states[set | 1u << i]);
    }
}

/* States by how many values were passed and how many of them written. */
static void
add_ordered(SundogSchemaCompiler *compiler, const SundogSchemaItems *items, const GArray *rules,
            uint32_t from, uint32_t close)
{
    SundogAutomatonBuilder *builder = compiler->builder;
    uint32_t n_most = MIN(items->most, rules->len);
    g_autofree uint32_t *states = g_new(uint32_t, n_most + 1);
    memset(states, 0xFF, (n_most + 1) * sizeof *states);
    states[0] = from;
    for (guint i = 0; i < rules->len; i++)
        for (uint32_t n = MIN(i + 1, n_most); n-- > 0;) {
            if (states[n] == SUNDOG_SCHEMA_FAILED)
                continue;
            uint32_t to = sundog_automaton_builder_add_state(builder);
            sundog_automaton_builder_add_empty(
                builder,
                add_one_value(compiler, states[n], n == 0, g_array_index(rules, uint32_t, i)), to);
            if (states[n + 1] != SUNDOG_SCHEMA_FAILED)
                sundog_automaton_builder_add_empty(builder, states[n + 1], to);
            states[n + 1] = to;
        }
    for (uint32_t n = items->least; n <= n_most; n++)
        if (states[n] != SUNDOG_SCHEMA_FAILED)
            sundog_automaton_builder_add_empty(builder, states[n], close);
}

bool
sundog_schema_add_unique(SundogSchemaCompiler *compiler, const SundogSchemaItems *items,
                         uint32_t from, uint32_t close)
{
    if (items->most <= 1)
        return sundog_schema_add_items(compiler, items, from, close);
    g_autoptr(GArray) rules = items->places == NULL ? add_value_rules(compiler, items->rest) : NULL;
    if (rules == NULL) {
        sundog_schema_refuse(compiler, "uniqueItems",
                             "it can be enforced only for items of an enum or of few integers, or "
                             "for one at most: leave it out");
        return false;
    }
    if (rules->len < items->least) {
        sundog_schema_contradict(compiler, "minItems", "there are not so many values");
        return false;
    }
    (rules->len <= MAX_UNORDERED ? add_sets : add_ordered)(compiler, items, rules, from, close);
    return true;
}
