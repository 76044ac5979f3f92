/* Trees and the states they become. */

#include "engine/text/constraint/grammar-tree.h"

/* Up to so many copies of one character are written out; more are counted by the engine. */
#define MAX_COPIES 8

SundogGrammarNode *
sundog_grammar_node_new(SundogGrammarKind kind)
{
    SundogGrammarNode *node = g_new0(SundogGrammarNode, 1);
    node->kind = kind;
    node->children = g_ptr_array_new_with_free_func((GDestroyNotify)sundog_grammar_node_free);
    return node;
}

void
sundog_grammar_node_free(SundogGrammarNode *node)
{
    if (node == NULL)
        return;
    g_clear_pointer(&node->set, g_array_unref);
    g_ptr_array_unref(node->children);
    g_free(node->text);
    g_free(node);
}

void
sundog_grammar_node_add(SundogGrammarNode *node, SundogGrammarNode *child)
{
    g_ptr_array_add(node->children, child);
}

static const SundogGrammarNode *
child_of(const SundogGrammarNode *node, guint index)
{
    return g_ptr_array_index(node->children, index);
}

static uint32_t
emit_set(const GArray *set, SundogAutomatonBuilder *builder, SundogGrammarEncode encode,
         uint32_t from)
{
    uint32_t to = sundog_automaton_builder_add_state(builder);
    for (guint i = 0; i < set->len; i++) {
        SundogCharacterRange range = g_array_index(set, SundogCharacterRange, i);
        encode(builder, from, range.low, range.high, to);
    }
    return to;
}

static uint32_t
emit_text(const char *text, SundogAutomatonBuilder *builder, SundogGrammarEncode encode,
          uint32_t from)
{
    for (; *text != '\0'; text = g_utf8_next_char(text)) {
        uint32_t character = g_utf8_get_char(text);
        uint32_t to = sundog_automaton_builder_add_state(builder);
        encode(builder, from, character, character, to);
        from = to;
    }
    return from;
}

static uint32_t
emit_choice(const SundogGrammarNode *node, SundogAutomatonBuilder *builder,
            SundogGrammarEncode encode, uint32_t from)
{
    uint32_t to = sundog_automaton_builder_add_state(builder);
    for (guint i = 0; i < node->children->len; i++) {
        uint32_t end = sundog_grammar_node_emit(child_of(node, i), builder, encode, from);
        sundog_automaton_builder_add_empty(builder, end, to);
    }
    return to;
}

/* The child any number of times, by its own states; where `once`, at least once. */
static uint32_t
emit_loop(const SundogGrammarNode *child, SundogAutomatonBuilder *builder,
          SundogGrammarEncode encode, uint32_t from, bool once)
{
    uint32_t loop = sundog_automaton_builder_add_state(builder);
    sundog_automaton_builder_add_empty(builder, from, loop);
    uint32_t end = sundog_grammar_node_emit(child, builder, encode, loop);
    sundog_automaton_builder_add_empty(builder, end, loop);
    return once ? end : loop;
}

static uint32_t
emit_copies(const SundogGrammarNode *node, SundogAutomatonBuilder *builder,
            SundogGrammarEncode encode, uint32_t from)
{
    const SundogGrammarNode *child = child_of(node, 0);
    for (uint32_t i = 0; i < node->least; i++)
        from = sundog_grammar_node_emit(child, builder, encode, from);
    if (node->most == SUNDOG_AUTOMATON_UNBOUNDED)
        return emit_loop(child, builder, encode, from, false);
    uint32_t to = sundog_automaton_builder_add_state(builder);
    for (uint32_t i = node->least; i < node->most; i++) {
        sundog_automaton_builder_add_empty(builder, from, to);
        from = sundog_grammar_node_emit(child, builder, encode, from);
    }
    sundog_automaton_builder_add_empty(builder, from, to);
    return to;
}

static uint32_t
emit_counted(const SundogGrammarNode *node, SundogAutomatonBuilder *builder,
             SundogGrammarEncode encode, uint32_t from)
{
    uint32_t rule = sundog_automaton_builder_add_state(builder);
    uint32_t end = sundog_grammar_node_emit(child_of(node, 0), builder, encode, rule);
    sundog_automaton_builder_accept(builder, end);
    return sundog_automaton_builder_add_repeat(builder, from, rule, node->least, node->most);
}

/* Whatever is not small is written once: repetitions of repetitions would grow without measure. */
static uint32_t
emit_repeat(const SundogGrammarNode *node, SundogAutomatonBuilder *builder,
            SundogGrammarEncode encode, uint32_t from)
{
    SundogGrammarKind kind = child_of(node, 0)->kind;
    bool is_small = kind == SUNDOG_GRAMMAR_SET || kind == SUNDOG_GRAMMAR_RULE;
    bool is_open = node->most == SUNDOG_AUTOMATON_UNBOUNDED;
    if (node->most == 0)
        return from;
    if (is_open && node->least <= 1)
        return emit_loop(child_of(node, 0), builder, encode, from, node->least == 1);
    if (node->most == 1 || (is_small && (is_open ? node->least : node->most) <= MAX_COPIES))
        return emit_copies(node, builder, encode, from);
    return emit_counted(node, builder, encode, from);
}

uint32_t
sundog_grammar_node_emit(const SundogGrammarNode *node, SundogAutomatonBuilder *builder,
                         SundogGrammarEncode encode, uint32_t from)
{
    if (sundog_automaton_builder_is_full(builder))
        return from;
    switch (node->kind) {
    case SUNDOG_GRAMMAR_SET:
        return emit_set(node->set, builder, encode, from);
    case SUNDOG_GRAMMAR_TEXT:
        return emit_text(node->text, builder, encode, from);
    case SUNDOG_GRAMMAR_CHOICE:
        return emit_choice(node, builder, encode, from);
    case SUNDOG_GRAMMAR_REPEAT:
        return emit_repeat(node, builder, encode, from);
    case SUNDOG_GRAMMAR_RULE:
        return sundog_automaton_builder_add_call(builder, from, node->rule);
    case SUNDOG_GRAMMAR_SEQUENCE:
        break;
    }
    for (guint i = 0; i < node->children->len; i++)
        from = sundog_grammar_node_emit(child_of(node, i), builder, encode, from);
    return from;
}

static uint32_t
times(uint32_t a, uint32_t b)
{
    return (uint32_t)MIN((uint64_t)a * b, (uint64_t)SUNDOG_AUTOMATON_UNBOUNDED);
}

static uint32_t
plus(uint32_t a, uint32_t b)
{
    return (uint32_t)MIN((uint64_t)a + b, (uint64_t)SUNDOG_AUTOMATON_UNBOUNDED);
}

void
sundog_grammar_node_measure(const SundogGrammarNode *node, uint32_t *least, uint32_t *most)
{
    bool chooses = node->kind == SUNDOG_GRAMMAR_CHOICE;
    *least = *most = 0;
    if (node->kind == SUNDOG_GRAMMAR_SET)
        *least = *most = 1;
    else if (node->kind == SUNDOG_GRAMMAR_TEXT)
        *least = *most = (uint32_t)g_utf8_strlen(node->text, -1);
    for (guint i = 0; i < node->children->len; i++) {
        uint32_t child_least, child_most;
        sundog_grammar_node_measure(child_of(node, i), &child_least, &child_most);
        *least = !chooses ? plus(*least, child_least)
                 : i > 0  ? MIN(*least, child_least)
                          : child_least;
        *most = chooses ? MAX(*most, child_most) : plus(*most, child_most);
    }
    if (node->kind == SUNDOG_GRAMMAR_REPEAT) {
        *least = times(*least, node->least);
        *most = times(*most, node->most);
    }
}
