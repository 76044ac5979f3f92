/* Expressions of a template: values from nodes. */

#include "engine/text/template/evaluate.h"

#include <string.h>

SundogScope *
sundog_scope_new(SundogRender *render, SundogScope *parent)
{
    SundogScope *scope = sundog_render_take(render, sizeof *scope);
    scope->parent = parent;
    return scope;
}

static SundogScopeEntry *
scope_find(const SundogScope *scope, const char *name)
{
    for (size_t i = 0; i < scope->n_entries; i++)
        if (scope->entries[i].name == name)
            return &scope->entries[i];
    return NULL;
}

void
sundog_scope_set(SundogRender *render, SundogScope *scope, const char *name, SundogValue value)
{
    SundogScopeEntry *known = scope_find(scope, name);
    if (known != NULL) {
        known->value = value;
        return;
    }
    if (scope->n_entries == scope->capacity) {
        scope->capacity = MAX(4, scope->capacity * 2);
        SundogScopeEntry *entries =
            sundog_render_take_array(render, SundogScopeEntry, scope->capacity);
        if (scope->n_entries > 0)
            memcpy(entries, scope->entries, scope->n_entries * sizeof *entries);
        scope->entries = entries;
    }
    scope->entries[scope->n_entries++] = (SundogScopeEntry){name, value};
}

SundogValue
sundog_template_lookup(SundogRender *render, const char *name)
{
    for (const SundogScope *scope = render->scope; scope != NULL; scope = scope->parent) {
        const SundogScopeEntry *entry = scope_find(scope, name);
        if (entry != NULL)
            return entry->value;
    }
    const SundogValue *variable = sundog_dict_get_text(render, render->variables, name);
    if (variable != NULL)
        return *variable;
    SundogCallable global = sundog_template_find_global(name);
    if (global != NULL)
        return sundog_template_new_function(render,
                                            &(SundogFunction){.name = name, .call = global});
    return sundog_value_undefined(render, "'%s' is undefined", name);
}

static void
assign_tuple(SundogRender *render, const SundogNode *target, SundogValue value)
{
    if (!sundog_value_require(render, value))
        return;
    const SundogList *items = sundog_value_iterate(render, value);
    if (items == NULL)
        return;
    if (items->n_items != target->items.n) {
        sundog_render_fail(render, SUNDOG_TEMPLATE_ERROR_RENDER,
                           "line %u: expected %zu values to unpack, got %zu", target->line,
                           target->items.n, items->n_items);
        return;
    }
    for (size_t i = 0; i < items->n_items; i++)
        sundog_template_assign(render, target->items.nodes[i], items->items[i]);
}

static void
assign_attribute(SundogRender *render, const SundogNode *target, SundogValue value)
{
    SundogValue object = sundog_template_lookup(render, target->name);
    const char *name = sundog_string_text(render, target->value.string);
    if (object.kind != SUNDOG_VALUE_NAMESPACE)
        sundog_render_fail(render, SUNDOG_TEMPLATE_ERROR_RENDER,
                           "line %u: cannot assign attribute on non-namespace object",
                           target->line);
    else if (name[0] == '_')
        sundog_render_fail(render, SUNDOG_TEMPLATE_ERROR_RENDER,
                           "line %u: a namespace's attribute may not begin with '_': '%s'",
                           target->line, name);
    else
        sundog_dict_set(render, object.dict, target->value, value);
}

void
sundog_template_assign(SundogRender *render, const SundogNode *target, SundogValue value)
{
    if (sundog_render_failed(render))
        return;
    if (target->kind == SUNDOG_NODE_NAME)
        sundog_scope_set(render, render->scope, target->name, value);
    else if (target->kind == SUNDOG_NODE_TUPLE)
        assign_tuple(render, target, value);
    else
        assign_attribute(render, target, value);
}

static SundogValue
evaluate_items(SundogRender *render, const SundogNode *node, SundogListFlavor flavor)
{
    SundogList *list = sundog_list_new(render, flavor);
    for (size_t i = 0; i < node->items.n && !sundog_render_failed(render); i++)
        sundog_list_append(render, list, sundog_template_evaluate(render, node->items.nodes[i]));
    return sundog_value_list(list);
}

static SundogValue
evaluate_dict(SundogRender *render, const SundogNode *node)
{
    SundogDict *dict = sundog_dict_new(render);
    for (size_t i = 0; i < node->items.n && !sundog_render_failed(render); i++) {
        SundogValue key = sundog_template_evaluate(render, node->items.nodes[i]);
        SundogValue value = sundog_template_evaluate(render, node->others.nodes[i]);
        sundog_dict_set(render, dict, key, value);
    }
    return (SundogValue){.kind = SUNDOG_VALUE_DICT, .dict = dict};
}

static SundogValue
evaluate_concat(SundogRender *render, const SundogNode *node)
{
    const SundogString *text = sundog_string_literal(render, "");
    for (size_t i = 0; i < node->items.n && !sundog_render_failed(render); i++) {
        SundogValue part = sundog_template_evaluate(render, node->items.nodes[i]);
        text = sundog_string_concat(render, text, sundog_value_print(render, part));
    }
    return sundog_value_string(text);
}

static SundogValue
evaluate_compare(SundogRender *render, const SundogNode *node)
{
    SundogValue left = sundog_template_evaluate(render, node->a);
    bool holds = true;
    for (size_t i = 0; i < node->items.n && holds && !sundog_render_failed(render); i++) {
        const SundogNode *operand = node->items.nodes[i];
        SundogValue right = sundog_template_evaluate(render, operand->a);
        if (sundog_render_failed(render))
            break;
        holds = sundog_template_compare(render, operand->operation, left, right);
        left = right;
    }
    return sundog_value_boolean(holds);
}

static SundogValue
evaluate_condition(SundogRender *render, const SundogNode *node)
{
    bool holds = sundog_value_is_true(sundog_template_evaluate(render, node->a));
    if (holds || node->c != NULL)
        return sundog_template_evaluate(render, holds ? node->b : node->c);
    return sundog_value_undefined(render,
                                  "the inline if-expression on line %u evaluated to false and no "
                                  "else section was defined.",
                                  node->line);
}

static SundogValue
evaluate_optional(SundogRender *render, const SundogNode *node)
{
    return node != NULL ? sundog_template_evaluate(render, node) : SUNDOG_NONE;
}

static SundogValue
evaluate_slice(SundogRender *render, const SundogNode *node)
{
    SundogValue object = sundog_template_evaluate(render, node->a);
    SundogValue start = evaluate_optional(render, node->b);
    SundogValue stop = evaluate_optional(render, node->c);
    SundogValue step = evaluate_optional(render, node->d);
    if (!sundog_value_require(render, object))
        return SUNDOG_NONE;
    return sundog_template_slice(render, object, start, stop, step);
}

static SundogValue
evaluate_call(SundogRender *render, const SundogNode *node)
{
    SundogValue callee = sundog_template_evaluate(render, node->a);
    SundogArguments arguments =
        sundog_template_collect(render, node->arguments, NULL, SUNDOG_MISSING);
    return sundog_template_call(render, callee, &arguments);
}

SundogValue
sundog_template_apply_filter(SundogRender *render, const SundogNode *filter, SundogValue base)
{
    SundogValue value = base;
    if (filter->a != NULL)
        value = filter->a->kind == SUNDOG_NODE_FILTER
                    ? sundog_template_apply_filter(render, filter->a, base)
                    : sundog_template_evaluate(render, filter->a);
    SundogCallable call = sundog_template_find_filter(filter->name);
    if (call == NULL)
        sundog_render_fail(render, SUNDOG_TEMPLATE_ERROR_RENDER, "line %u: no filter named '%s'",
                           filter->line, filter->name);
    SundogArguments arguments =
        sundog_template_collect(render, filter->arguments, NULL, SUNDOG_MISSING);
    return sundog_render_failed(render) ? SUNDOG_NONE : call(render, value, &arguments);
}

static SundogValue
evaluate_test(SundogRender *render, const SundogNode *node)
{
    SundogValue value = sundog_template_evaluate(render, node->a);
    SundogCallable call = sundog_template_find_test(node->name);
    if (call == NULL)
        sundog_render_fail(render, SUNDOG_TEMPLATE_ERROR_RENDER, "line %u: no test named '%s'",
                           node->line, node->name);
    SundogArguments arguments =
        sundog_template_collect(render, node->arguments, NULL, SUNDOG_MISSING);
    return sundog_render_failed(render) ? SUNDOG_NONE : call(render, value, &arguments);
}

static SundogValue
evaluate_subscript(SundogRender *render, const SundogNode *node)
{
    SundogValue object = sundog_template_evaluate(render, node->a);
    SundogValue key = sundog_template_evaluate(render, node->b);
    return sundog_render_failed(render) ? SUNDOG_NONE
                                        : sundog_template_get_item(render, object, key);
}

static SundogValue
evaluate_attribute(SundogRender *render, const SundogNode *node)
{
    SundogValue object = sundog_template_evaluate(render, node->a);
    return sundog_render_failed(render)
               ? SUNDOG_NONE
               : sundog_template_get_attribute(render, object, node->value.string);
}

static SundogValue
evaluate_binary(SundogRender *render, const SundogNode *node)
{
    SundogValue a = sundog_template_evaluate(render, node->a);
    SundogValue b = sundog_template_evaluate(render, node->b);
    return sundog_render_failed(render) ? SUNDOG_NONE
                                        : sundog_template_binary(render, node->operation, a, b);
}

/* `and` and `or` give one of their operands, as in Python. */
static SundogValue
evaluate_logic(SundogRender *render, const SundogNode *node)
{
    SundogValue left = sundog_template_evaluate(render, node->a);
    bool decided = sundog_value_is_true(left) == (node->kind == SUNDOG_NODE_OR);
    return decided ? left : sundog_template_evaluate(render, node->b);
}

static SundogValue
evaluate_negate(SundogRender *render, const SundogNode *node)
{
    SundogValue value = sundog_template_evaluate(render, node->a);
    if (node->kind == SUNDOG_NODE_NEGATE)
        return sundog_template_negate(render, value);
    if (sundog_value_require(render, value) && !sundog_value_is_number(value))
        sundog_render_fail(render, SUNDOG_TEMPLATE_ERROR_RENDER,
                           "bad operand type for unary +: '%s'", sundog_value_type_name(value));
    return value;
}

static SundogValue
evaluate_node(SundogRender *render, const SundogNode *node)
{
    switch (node->kind) {
    case SUNDOG_NODE_CONSTANT:
        return node->value;
    case SUNDOG_NODE_NAME:
        return sundog_template_lookup(render, node->name);
    case SUNDOG_NODE_LIST:
        return evaluate_items(render, node, SUNDOG_LIST_LIST);
    case SUNDOG_NODE_TUPLE:
        return evaluate_items(render, node, SUNDOG_LIST_TUPLE);
    case SUNDOG_NODE_DICT:
        return evaluate_dict(render, node);
    case SUNDOG_NODE_ATTRIBUTE:
        return evaluate_attribute(render, node);
    case SUNDOG_NODE_SUBSCRIPT:
        return evaluate_subscript(render, node);
    case SUNDOG_NODE_SLICE:
        return evaluate_slice(render, node);
    case SUNDOG_NODE_CALL:
        return evaluate_call(render, node);
    case SUNDOG_NODE_FILTER:
        return sundog_template_apply_filter(render, node, SUNDOG_NONE);
    case SUNDOG_NODE_TEST:
        return evaluate_test(render, node);
    case SUNDOG_NODE_NOT:
        return sundog_value_boolean(
            !sundog_value_is_true(sundog_template_evaluate(render, node->a)));
    case SUNDOG_NODE_NEGATE:
    case SUNDOG_NODE_POSITIVE:
        return evaluate_negate(render, node);
    case SUNDOG_NODE_AND:
    case SUNDOG_NODE_OR:
        return evaluate_logic(render, node);
    case SUNDOG_NODE_CONDITION:
        return evaluate_condition(render, node);
    case SUNDOG_NODE_CONCAT:
        return evaluate_concat(render, node);
    case SUNDOG_NODE_BINARY:
        return evaluate_binary(render, node);
    case SUNDOG_NODE_COMPARE:
        return evaluate_compare(render, node);
    default:
        g_assert_not_reached();
    }
}

SundogValue
sundog_template_evaluate(SundogRender *render, const SundogNode *node)
{
    SundogValue value = SUNDOG_NONE;
    if (sundog_render_enter(render))
        value = evaluate_node(render, node);
    sundog_render_leave(render);
    return value;
}
