/* Calls: arguments gathered and bound, macros run. */

#include "engine/text/template/evaluate.h"

#include <string.h>

#define MAX_PARAMETERS 8u

SundogValue
sundog_template_new_function(SundogRender *render, const SundogFunction *function)
{
    SundogFunction *copy = sundog_render_take(render, sizeof *copy);
    *copy = *function;
    return (SundogValue){.kind = SUNDOG_VALUE_FUNCTION, .function = copy};
}

SundogCallable
sundog_callable_find(const SundogCallableRow *rows, size_t n_rows, const char *name)
{
    size_t low = 0, high = n_rows;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(rows[middle].name, name);
        if (order == 0)
            return rows[middle].call;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

typedef struct {
    SundogRender *render;
    SundogList *positional;
    GPtrArray *names;
    SundogList *named;
} Gathering;

static void
gather_star(Gathering *gathering, const SundogNode *node)
{
    SundogValue value = sundog_template_evaluate(gathering->render, node);
    const SundogList *items = sundog_value_iterate(gathering->render, value);
    for (size_t i = 0; items != NULL && i < items->n_items; i++)
        sundog_list_append(gathering->render, gathering->positional, items->items[i]);
}

static void
gather_star_star(Gathering *gathering, const SundogNode *node)
{
    SundogValue value = sundog_template_evaluate(gathering->render, node);
    if (value.kind != SUNDOG_VALUE_DICT) {
        sundog_render_fail(gathering->render, SUNDOG_TEMPLATE_ERROR_RENDER,
                           "argument after ** must be a mapping, not %s",
                           sundog_value_type_name(value));
        return;
    }
    for (size_t i = 0; i < value.dict->n_entries; i++) {
        const SundogDictEntry *entry = &value.dict->entries[i];
        if (entry->key.kind != SUNDOG_VALUE_STRING) {
            sundog_render_fail(gathering->render, SUNDOG_TEMPLATE_ERROR_RENDER,
                               "keywords must be strings");
            return;
        }
        g_ptr_array_add(gathering->names,
                        (gpointer)sundog_string_text(gathering->render, entry->key.string));
        sundog_list_append(gathering->render, gathering->named, entry->value);
    }
}

static void
gather(Gathering *gathering, const SundogNodeArguments *nodes)
{
    SundogRender *render = gathering->render;
    for (size_t i = 0; i < nodes->positional.n; i++)
        sundog_list_append(render, gathering->positional,
                           sundog_template_evaluate(render, nodes->positional.nodes[i]));
    if (nodes->star != NULL)
        gather_star(gathering, nodes->star);
    for (size_t i = 0; i < nodes->named.n; i++) {
        g_ptr_array_add(gathering->names, (gpointer)nodes->names[i]);
        sundog_list_append(render, gathering->named,
                           sundog_template_evaluate(render, nodes->named.nodes[i]));
    }
    if (nodes->star_star != NULL)
        gather_star_star(gathering, nodes->star_star);
}

SundogArguments
sundog_template_collect(SundogRender *render, const SundogNodeArguments *nodes,
                        const char *extra_name, SundogValue extra)
{
    if (nodes == NULL && extra_name == NULL)
        return (SundogArguments){0};
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    Gathering gathering = {render, sundog_list_new(render, SUNDOG_LIST_LIST), names,
                           sundog_list_new(render, SUNDOG_LIST_LIST)};
    if (nodes != NULL)
        gather(&gathering, nodes);
    if (extra_name != NULL) {
        g_ptr_array_add(names, (gpointer)extra_name);
        sundog_list_append(render, gathering.named, extra);
    }
    const char **kept = sundog_render_take_array(render, const char *, names->len);
    if (names->len > 0)
        memcpy(kept, names->pdata, names->len * sizeof *kept);
    return (SundogArguments){
        .positional = gathering.positional->items,
        .n_positional = gathering.positional->n_items,
        .names = kept,
        .named = gathering.named->items,
        .n_named = MIN(gathering.named->n_items, names->len),
    };
}

/* The names of a signature, and how many of them must be given. */
static size_t
split_signature(const char *signature, char names[MAX_PARAMETERS][24], size_t *n_required)
{
    size_t n = 0;
    bool has_bar = false;
    while (*signature != '\0') {
        size_t length = strcspn(signature, " ");
        if (*signature == '|') {
            *n_required = n;
            has_bar = true;
        } else if (length > 0) {
            g_assert(n < MAX_PARAMETERS && length < sizeof names[0]);
            memcpy(names[n], signature, length);
            names[n++][length] = '\0';
        }
        signature += length + (signature[length] == ' ');
    }
    if (!has_bar)
        *n_required = n;
    return n;
}

static bool
bind_named(SundogRender *render, const SundogArguments *arguments, const char *function,
           char names[MAX_PARAMETERS][24], size_t n, SundogValue *out)
{
    for (size_t i = 0; i < arguments->n_named; i++) {
        size_t j = 0;
        while (j < n && strcmp(names[j], arguments->names[i]) != 0)
            j++;
        if (j == n || out[j].kind != SUNDOG_VALUE_MISSING) {
            sundog_render_fail(render, SUNDOG_TEMPLATE_ERROR_RENDER,
                               j == n ? "%s() got an unexpected keyword argument '%s'"
                                      : "%s() got multiple values for argument '%s'",
                               function, arguments->names[i]);
            return false;
        }
        out[j] = arguments->named[i];
    }
    return true;
}

bool
sundog_arguments_bind(SundogRender *render, const SundogArguments *arguments, const char *function,
                      const char *signature, SundogValue *out)
{
    char names[MAX_PARAMETERS][24];
    size_t n_required;
    size_t n = split_signature(signature, names, &n_required);
    for (size_t i = 0; i < n; i++)
        out[i] = SUNDOG_MISSING;
    if (arguments->n_positional > n) {
        sundog_render_fail(render, SUNDOG_TEMPLATE_ERROR_RENDER,
                           "%s() takes at most %zu arguments (%zu given)", function, n,
                           arguments->n_positional);
        return false;
    }
    for (size_t i = 0; i < arguments->n_positional; i++)
        out[i] = arguments->positional[i];
    if (!bind_named(render, arguments, function, names, n, out))
        return false;
    for (size_t i = 0; i < n_required; i++) {
        if (out[i].kind != SUNDOG_VALUE_MISSING)
            continue;
        sundog_render_fail(render, SUNDOG_TEMPLATE_ERROR_RENDER,
                           "%s() missing a required argument: '%s'", function, names[i]);
        return false;
    }
    return !sundog_render_failed(render);
}

/* One call of a macro: which of the named arguments are taken. */
typedef struct {
    SundogRender *render;
    const SundogFunction *function;
    const SundogArguments *arguments;
    bool *taken;
} MacroCall;

static SundogValue
take_named(MacroCall *call, const char *name)
{
    for (size_t i = 0; i < call->arguments->n_named; i++) {
        if (!call->taken[i] && strcmp(call->arguments->names[i], name) == 0) {
            call->taken[i] = true;
            return call->arguments->named[i];
        }
    }
    return SUNDOG_MISSING;
}

static SundogValue
default_of(MacroCall *call, size_t index)
{
    const SundogNode *macro = call->function->macro;
    size_t first_default = macro->items.n - macro->others.n;
    if (index >= first_default)
        return sundog_template_evaluate(call->render, macro->others.nodes[index - first_default]);
    return sundog_value_undefined(call->render, "parameter '%s' was not provided",
                                  macro->items.nodes[index]->name);
}

/* Parameters in order, so that a default may look at those before it. The present scope is the
 * macro's. */
static bool
bind_parameters(MacroCall *call)
{
    SundogRender *render = call->render;
    const SundogNode *macro = call->function->macro;
    bool has_caller = false;
    for (size_t i = 0; i < macro->items.n && !sundog_render_failed(render); i++) {
        const char *name = macro->items.nodes[i]->name;
        has_caller |= strcmp(name, "caller") == 0;
        SundogValue value = i < call->arguments->n_positional ? call->arguments->positional[i]
                                                              : take_named(call, name);
        if (value.kind == SUNDOG_VALUE_MISSING)
            value = default_of(call, i);
        sundog_scope_set(render, render->scope, name, value);
    }
    return has_caller;
}

static void
set_implicit(MacroCall *call, unsigned use, SundogValue value)
{
    sundog_scope_set(call->render, call->render->scope, call->function->macro->implicit[use],
                     value);
}

static void
bind_caller(MacroCall *call)
{
    SundogValue caller = take_named(call, "caller");
    if (caller.kind == SUNDOG_VALUE_MISSING)
        caller = sundog_value_undefined(call->render, "No caller defined");
    set_implicit(call, SUNDOG_IMPLICIT_CALLER, caller);
}

static void
bind_kwargs(MacroCall *call)
{
    SundogDict *kwargs = sundog_dict_new(call->render);
    for (size_t i = 0; i < call->arguments->n_named; i++)
        if (!call->taken[i])
            sundog_dict_set(call->render, kwargs,
                            sundog_value_literal(call->render, call->arguments->names[i]),
                            call->arguments->named[i]);
    set_implicit(call, SUNDOG_IMPLICIT_KWARGS,
                 (SundogValue){.kind = SUNDOG_VALUE_DICT, .dict = kwargs});
}

static void
bind_varargs(MacroCall *call)
{
    SundogList *varargs = sundog_list_new(call->render, SUNDOG_LIST_TUPLE);
    for (size_t i = call->function->macro->items.n; i < call->arguments->n_positional; i++)
        sundog_list_append(call->render, varargs, call->arguments->positional[i]);
    set_implicit(call, SUNDOG_IMPLICIT_VARARGS, sundog_value_list(varargs));
}

static void
refuse_rest(MacroCall *call)
{
    const SundogNode *macro = call->function->macro;
    for (size_t i = 0; i < call->arguments->n_named; i++)
        if (!call->taken[i] && macro->implicit[SUNDOG_IMPLICIT_KWARGS] == NULL)
            sundog_render_fail(call->render, SUNDOG_TEMPLATE_ERROR_RENDER,
                               "macro '%s' takes no keyword argument '%s'", macro->name,
                               call->arguments->names[i]);
    if (call->arguments->n_positional > macro->items.n &&
        macro->implicit[SUNDOG_IMPLICIT_VARARGS] == NULL)
        sundog_render_fail(call->render, SUNDOG_TEMPLATE_ERROR_RENDER,
                           "macro '%s' takes not more than %zu argument(s)", macro->name,
                           macro->items.n);
}

static SundogValue
call_macro(SundogRender *render, const SundogFunction *function, const SundogArguments *arguments)
{
    bool *taken = sundog_render_take(render, arguments->n_named);
    MacroCall call = {render, function, arguments, taken};
    const char *const *uses = function->macro->implicit;
    SundogScope *outer = render->scope;
    render->scope = sundog_scope_new(render, function->scope);
    bool has_caller = bind_parameters(&call);
    if (uses[SUNDOG_IMPLICIT_CALLER] != NULL && !has_caller)
        bind_caller(&call);
    if (uses[SUNDOG_IMPLICIT_KWARGS] != NULL)
        bind_kwargs(&call);
    if (uses[SUNDOG_IMPLICIT_VARARGS] != NULL)
        bind_varargs(&call);
    refuse_rest(&call);
    SundogScope *scope = render->scope;
    render->scope = outer;
    if (sundog_render_failed(render))
        return SUNDOG_NONE;
    return sundog_value_string(sundog_template_capture(render, function->macro->c, scope));
}

SundogValue
sundog_template_call(SundogRender *render, SundogValue callee, const SundogArguments *arguments)
{
    SundogValue result = SUNDOG_NONE;
    if (!sundog_value_require(render, callee) || sundog_render_failed(render))
        return result;
    if (callee.kind == SUNDOG_VALUE_LOOP) {
        SundogValue iterable;
        if (sundog_arguments_bind(render, arguments, "loop", "iterable", &iterable))
            result = sundog_loop_recurse(render, callee.loop, iterable);
    } else if (callee.kind != SUNDOG_VALUE_FUNCTION) {
        sundog_render_fail(render, SUNDOG_TEMPLATE_ERROR_RENDER, "'%s' object is not callable",
                           sundog_value_type_name(callee));
    } else if (sundog_render_enter(render)) {
        result = callee.function->call != NULL
                     ? callee.function->call(render, callee.function->self, arguments)
                     : call_macro(render, callee.function, arguments);
        sundog_render_leave(render);
    } else {
        sundog_render_leave(render);
    }
    return result;
}
