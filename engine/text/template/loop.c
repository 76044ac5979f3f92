/* `for`, and what its body sees as `loop`. */

#include "engine/text/template/evaluate.h"

#include <string.h>

/* Items are fetched one by one and one ahead at most, since the loop's condition may look at what the
 * body has set, as jinja2's does. */
struct SundogLoop {
    const SundogNode *node;
    SundogScope *outer;
    const SundogList *source;
    size_t next; /* in source */
    const SundogNode *condition;
    SundogValue current;
    SundogValue previous;
    SundogValue ahead; /* MISSING where none was fetched */
    SundogValue changed;
    int64_t index0;
    unsigned depth0;
};

static bool
passes(SundogRender *render, const SundogLoop *loop, SundogValue item)
{
    SundogScope *scope = render->scope;
    render->scope = sundog_scope_new(render, loop->outer);
    sundog_template_assign(render, loop->node->a, item);
    bool holds = sundog_value_is_true(sundog_template_evaluate(render, loop->condition));
    render->scope = scope;
    return holds;
}

/* The next item of the source that the condition lets through, or MISSING. */
static SundogValue
fetch(SundogRender *render, SundogLoop *loop)
{
    while (loop->next < loop->source->n_items && sundog_render_step(render, 1)) {
        SundogValue item = loop->source->items[loop->next++];
        if (loop->condition == NULL || passes(render, loop, item))
            return item;
    }
    return SUNDOG_MISSING;
}

static SundogValue
peek(SundogRender *render, SundogLoop *loop)
{
    if (loop->ahead.kind == SUNDOG_VALUE_MISSING)
        loop->ahead = fetch(render, loop);
    return loop->ahead;
}

static bool
advance(SundogRender *render, SundogLoop *loop)
{
    SundogValue item = peek(render, loop);
    if (item.kind == SUNDOG_VALUE_MISSING || sundog_render_failed(render))
        return false;
    loop->ahead = SUNDOG_MISSING;
    loop->previous = loop->current;
    loop->current = item;
    loop->index0++;
    return true;
}

/* The whole length: with a condition, the rest has to be fetched now. */
static int64_t
loop_length(SundogRender *render, SundogLoop *loop)
{
    bool has_ahead = loop->ahead.kind != SUNDOG_VALUE_MISSING;
    if (loop->condition != NULL) {
        SundogList *rest = sundog_list_new(render, SUNDOG_LIST_LIST);
        for (SundogValue item; (item = fetch(render, loop)).kind != SUNDOG_VALUE_MISSING;)
            sundog_list_append(render, rest, item);
        loop->source = rest;
        loop->next = 0;
        loop->condition = NULL;
    }
    return loop->index0 + 1 + has_ahead + (int64_t)(loop->source->n_items - loop->next);
}

static SundogValue
loop_cycle(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    if (arguments->n_positional == 0) {
        sundog_render_fail(render, SUNDOG_TEMPLATE_ERROR_RENDER, "no items for cycling given");
        return SUNDOG_NONE;
    }
    return arguments->positional[(size_t)self.loop->index0 % arguments->n_positional];
}

static SundogValue
loop_changed(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    SundogList *given = sundog_list_new(render, SUNDOG_LIST_TUPLE);
    for (size_t i = 0; i < arguments->n_positional; i++)
        sundog_list_append(render, given, arguments->positional[i]);
    SundogValue value = sundog_value_list(given);
    bool changed = !sundog_value_equal(render, self.loop->changed, value);
    self.loop->changed = value;
    return sundog_value_boolean(changed);
}

static SundogValue
neighbour(SundogRender *render, SundogValue item, const char *reason)
{
    return item.kind == SUNDOG_VALUE_MISSING ? sundog_value_undefined(render, "%s", reason) : item;
}

SundogValue
sundog_loop_get_attribute(SundogRender *render, SundogLoop *loop, const char *name)
{
    SundogValue self = {.kind = SUNDOG_VALUE_LOOP, .loop = loop};
    if (strcmp(name, "index") == 0)
        return sundog_value_integer(loop->index0 + 1);
    if (strcmp(name, "index0") == 0)
        return sundog_value_integer(loop->index0);
    if (strcmp(name, "first") == 0)
        return sundog_value_boolean(loop->index0 == 0);
    if (strcmp(name, "last") == 0)
        return sundog_value_boolean(peek(render, loop).kind == SUNDOG_VALUE_MISSING);
    if (strcmp(name, "length") == 0)
        return sundog_value_integer(loop_length(render, loop));
    if (strcmp(name, "revindex") == 0)
        return sundog_value_integer(loop_length(render, loop) - loop->index0);
    if (strcmp(name, "revindex0") == 0)
        return sundog_value_integer(loop_length(render, loop) - loop->index0 - 1);
    if (strcmp(name, "depth") == 0)
        return sundog_value_integer(loop->depth0 + 1);
    if (strcmp(name, "depth0") == 0)
        return sundog_value_integer(loop->depth0);
    if (strcmp(name, "previtem") == 0)
        return neighbour(render, loop->previous, "there is no previous item");
    if (strcmp(name, "nextitem") == 0)
        return neighbour(render, peek(render, loop), "there is no next item");
    SundogCallable method = strcmp(name, "cycle") == 0     ? loop_cycle
                            : strcmp(name, "changed") == 0 ? loop_changed
                                                           : NULL;
    if (method == NULL)
        return sundog_value_undefined(
            render, "'jinja2.runtime.LoopContext object' has no attribute '%s'", name);
    return sundog_template_new_function(
        render, &(SundogFunction){.name = "loop", .call = method, .self = self});
}

/* Runs the loop's body for every item, then the else body where no round came to its end. */
static SundogFlow
run(SundogRender *render, SundogLoop *loop, const char *loop_name)
{
    SundogScope *outer = render->scope;
    bool completed = false;
    while (advance(render, loop)) {
        render->scope = sundog_scope_new(render, loop->outer);
        sundog_scope_set(render, render->scope, loop_name,
                         (SundogValue){.kind = SUNDOG_VALUE_LOOP, .loop = loop});
        sundog_template_assign(render, loop->node->a, loop->current);
        SundogFlow flow = sundog_template_execute(render, loop->node->d);
        completed |= flow == SUNDOG_FLOW_NEXT;
        if (flow == SUNDOG_FLOW_BREAK)
            break;
    }
    SundogFlow flow = SUNDOG_FLOW_NEXT;
    if (!completed && loop->node->e != NULL) {
        render->scope = sundog_scope_new(render, loop->outer);
        flow = sundog_template_execute(render, loop->node->e);
    }
    render->scope = outer;
    return flow;
}

static SundogLoop *
loop_new(SundogRender *render, const SundogNode *node, SundogScope *outer, SundogValue iterable)
{
    SundogLoop *loop = sundog_render_take(render, sizeof *loop);
    loop->node = node;
    loop->outer = outer;
    loop->condition = node->c;
    loop->source = sundog_value_iterate(render, iterable);
    loop->index0 = -1;
    return loop;
}

SundogFlow
sundog_template_run_loop(SundogRender *render, const SundogNode *node)
{
    SundogValue iterable = sundog_template_evaluate(render, node->b);
    if (sundog_render_failed(render))
        return SUNDOG_FLOW_NEXT;
    SundogLoop *loop = loop_new(render, node, render->scope, iterable);
    return loop->source != NULL ? run(render, loop, node->name) : SUNDOG_FLOW_NEXT;
}

SundogValue
sundog_loop_recurse(SundogRender *render, SundogLoop *loop, SundogValue iterable)
{
    if (!loop->node->flag) {
        sundog_render_fail(render, SUNDOG_TEMPLATE_ERROR_RENDER,
                           "The loop must have the 'recursive' marker to be called recursively.");
        return SUNDOG_NONE;
    }
    SundogLoop *inner = loop_new(render, loop->node, loop->outer, iterable);
    if (inner->source == NULL)
        return SUNDOG_NONE;
    inner->depth0 = loop->depth0 + 1;
    SundogStringBuilder builder;
    sundog_string_builder_init(&builder, render);
    SundogStringBuilder *output = render->output;
    render->output = &builder;
    run(render, inner, loop->node->name);
    render->output = output;
    return sundog_value_string(sundog_string_builder_finish(&builder));
}
