/* One function a kind of constraint. */

#include "engine/text/constraint/constraint.h"

#include "engine/text/constraint/gbnf.h"
#include "engine/text/constraint/pattern.h"
#include "engine/text/constraint/schema.h"

SundogAutomaton *
sundog_constraint_new_schema(JsonNode *schema, GError **error)
{
    g_autoptr(SundogAutomatonBuilder) builder = sundog_automaton_builder_new();
    SundogJsonGrammar json;
    uint32_t rule;
    sundog_json_grammar_init(&json, builder);
    if (!sundog_schema_add(&json, schema, &rule, error))
        return NULL;
    return sundog_automaton_builder_finish(builder, rule, error);
}

SundogAutomaton *
sundog_constraint_new_json_object(void)
{
    g_autoptr(SundogAutomatonBuilder) builder = sundog_automaton_builder_new();
    SundogJsonGrammar json;
    sundog_json_grammar_init(&json, builder);
    return sundog_automaton_builder_finish(builder, sundog_json_grammar_get_object(&json), NULL);
}

SundogAutomaton *
sundog_constraint_new_pattern(const char *pattern, GError **error)
{
    g_autoptr(SundogGrammarNode) tree = sundog_pattern_parse(pattern, false, error);
    if (tree == NULL)
        return NULL;
    g_autoptr(SundogAutomatonBuilder) builder = sundog_automaton_builder_new();
    uint32_t start = sundog_automaton_builder_add_state(builder);
    uint32_t end =
        sundog_grammar_node_emit(tree, builder, sundog_automaton_builder_add_characters, start);
    sundog_automaton_builder_accept(builder, end);
    return sundog_automaton_builder_finish(builder, start, error);
}

SundogAutomaton *
sundog_constraint_new_choice(const char *const *texts, size_t n_texts, GError **error)
{
    g_autoptr(SundogAutomatonBuilder) builder = sundog_automaton_builder_new();
    uint32_t start = sundog_automaton_builder_add_state(builder);
    uint32_t end = sundog_automaton_builder_add_choice(builder, start, texts, n_texts);
    sundog_automaton_builder_accept(builder, end);
    return sundog_automaton_builder_finish(builder, start, error);
}

SundogAutomaton *
sundog_constraint_new_gbnf(const char *grammar, GError **error)
{
    g_autoptr(SundogAutomatonBuilder) builder = sundog_automaton_builder_new();
    uint32_t root;
    if (!sundog_gbnf_add(builder, grammar, &root, error))
        return NULL;
    return sundog_automaton_builder_finish(builder, root, error);
}
