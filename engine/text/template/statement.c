/* Statements of a template: output and scopes. */

#include "engine/text/template/evaluate.h"

static SundogFlow
execute_body(SundogRender *render, const SundogNode *node)
{
    for (size_t i = 0; i < node->items.n && !sundog_render_failed(render); i++) {
        SundogFlow flow = sundog_template_execute(render, node->items.nodes[i]);
        if (flow != SUNDOG_FLOW_NEXT)
            return flow;
    }
    return SUNDOG_FLOW_NEXT;
}

static SundogFlow
execute_if(SundogRender *render, const SundogNode *node)
{
    for (size_t i = 0; i + 1 < node->items.n && !sundog_render_failed(render); i += 2)
        if (sundog_value_is_true(sundog_template_evaluate(render, node->items.nodes[i])))
            return sundog_template_execute(render, node->items.nodes[i + 1]);
    return sundog_template_execute(render, node->a);
}

static SundogFlow
execute_in_scope(SundogRender *render, const SundogNode *body, SundogScope *scope)
{
    SundogScope *outer = render->scope;
    render->scope = scope;
    SundogFlow flow = sundog_template_execute(render, body);
    render->scope = outer;
    return flow;
}

const SundogString *
sundog_template_capture(SundogRender *render, const SundogNode *body, SundogScope *scope)
{
    SundogStringBuilder builder;
    sundog_string_builder_init(&builder, render);
    SundogStringBuilder *outer = render->output;
    render->output = &builder;
    execute_in_scope(render, body, scope);
    render->output = outer;
    return sundog_string_builder_finish(&builder);
}

static SundogValue
capture_block(SundogRender *render, const SundogNode *node)
{
    SundogScope *scope = sundog_scope_new(render, render->scope);
    SundogValue value = sundog_value_string(sundog_template_capture(render, node->c, scope));
    return node->b != NULL && !sundog_render_failed(render)
               ? sundog_template_apply_filter(render, node->b, value)
               : value;
}

static void
output_value(SundogRender *render, SundogValue value)
{
    if (!sundog_render_failed(render))
        sundog_string_builder_append_string(render->output, sundog_value_print(render, value));
}

static void
define_macro(SundogRender *render, const SundogNode *node)
{
    SundogFunction function = {.name = node->name, .macro = node, .scope = render->scope};
    sundog_scope_set(render, render->scope, node->name,
                     sundog_template_new_function(render, &function));
}

static void
execute_call_block(SundogRender *render, const SundogNode *node)
{
    SundogValue caller = sundog_template_new_function(
        render, &(SundogFunction){.name = "caller", .macro = node->b, .scope = render->scope});
    SundogValue callee = sundog_template_evaluate(render, node->a->a);
    SundogArguments arguments =
        sundog_template_collect(render, node->a->arguments, "caller", caller);
    output_value(render, sundog_template_call(render, callee, &arguments));
}

static SundogFlow
execute_with(SundogRender *render, const SundogNode *node)
{
    SundogScope *outer = render->scope;
    SundogScope *scope = sundog_scope_new(render, outer);
    for (size_t i = 0; i < node->items.n && !sundog_render_failed(render); i++) {
        SundogValue value = sundog_template_evaluate(render, node->others.nodes[i]);
        render->scope = scope;
        sundog_template_assign(render, node->items.nodes[i], value);
        render->scope = outer;
    }
    return execute_in_scope(render, node->c, scope);
}

static SundogFlow
execute_node(SundogRender *render, const SundogNode *node)
{
    switch (node->kind) {
    case SUNDOG_NODE_BODY:
        return execute_body(render, node);
    case SUNDOG_NODE_DATA:
        sundog_string_builder_append_string(render->output, node->value.string);
        return SUNDOG_FLOW_NEXT;
    case SUNDOG_NODE_OUTPUT:
        output_value(render, sundog_template_evaluate(render, node->a));
        return SUNDOG_FLOW_NEXT;
    case SUNDOG_NODE_IF:
        return execute_if(render, node);
    case SUNDOG_NODE_FOR:
        return sundog_template_run_loop(render, node);
    case SUNDOG_NODE_SET:
        sundog_template_assign(render, node->a, sundog_template_evaluate(render, node->b));
        return SUNDOG_FLOW_NEXT;
    case SUNDOG_NODE_SET_BLOCK:
        sundog_template_assign(render, node->a, capture_block(render, node));
        return SUNDOG_FLOW_NEXT;
    case SUNDOG_NODE_FILTER_BLOCK:
        output_value(render, capture_block(render, node));
        return SUNDOG_FLOW_NEXT;
    case SUNDOG_NODE_MACRO:
        define_macro(render, node);
        return SUNDOG_FLOW_NEXT;
    case SUNDOG_NODE_CALL_BLOCK:
        execute_call_block(render, node);
        return SUNDOG_FLOW_NEXT;
    case SUNDOG_NODE_WITH:
        return execute_with(render, node);
    case SUNDOG_NODE_SCOPE:
        return execute_in_scope(render, node->c, sundog_scope_new(render, render->scope));
    case SUNDOG_NODE_BREAK:
        return SUNDOG_FLOW_BREAK;
    case SUNDOG_NODE_CONTINUE:
        return SUNDOG_FLOW_CONTINUE;
    default:
        g_assert_not_reached();
    }
}

SundogFlow
sundog_template_execute(SundogRender *render, const SundogNode *node)
{
    SundogFlow flow = SUNDOG_FLOW_NEXT;
    if (sundog_render_enter(render) && node != NULL)
        flow = execute_node(render, node);
    sundog_render_leave(render);
    return flow;
}
