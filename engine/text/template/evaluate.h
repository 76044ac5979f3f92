#pragma once

/*
 * Evaluates a template's tree within a rendering. Expressions are in evaluate.c, statements in
 * statement.c, calls and binding of arguments in call.c; the rest are tables of Python's and jinja2's
 * functions. Errors are sticky in the rendering.
 */

#include "engine/text/template/print.h"
#include "engine/text/template/tree.h"

/* Arguments as a call gives them. */
typedef struct {
    const SundogValue *positional;
    size_t n_positional;
    const char *const *names;
    const SundogValue *named;
    size_t n_named;
} SundogArguments;

/* A function of the interpreter; self is the value that a method, filter or test is applied to. */
typedef SundogValue (*SundogCallable)(SundogRender *render, SundogValue self,
                                      const SundogArguments *arguments);

struct SundogFunction {
    const char *name;
    SundogCallable call; /* NULL for a macro */
    SundogValue self;
    const SundogNode *macro;
    SundogScope *scope; /* where the macro was defined */
};

/* Names of one block; a name not found here is looked up in the parent, then in the variables. */
typedef struct {
    const char *name; /* interned */
    SundogValue value;
} SundogScopeEntry;

struct SundogScope {
    SundogScope *parent;
    SundogScopeEntry *entries;
    size_t n_entries;
    size_t capacity;
};

SundogScope *sundog_scope_new(SundogRender *render, SundogScope *parent);
void sundog_scope_set(SundogRender *render, SundogScope *scope, const char *name,
                      SundogValue value);

typedef enum {
    SUNDOG_FLOW_NEXT,
    SUNDOG_FLOW_BREAK,
    SUNDOG_FLOW_CONTINUE,
} SundogFlow;

/* Statements write to render->output. node may be NULL. */
SundogFlow sundog_template_execute(SundogRender *render, const SundogNode *node);
/* A body's output as a string, in the given scope. */
const SundogString *sundog_template_capture(SundogRender *render, const SundogNode *body,
                                            SundogScope *scope);
SundogValue sundog_template_evaluate(SundogRender *render, const SundogNode *node);
/* A filter whose innermost value is `base` (filter and set blocks). */
SundogValue sundog_template_apply_filter(SundogRender *render, const SundogNode *filter,
                                         SundogValue base);
/* Assigns to a name, a tuple of targets or a namespace's attribute, in the present scope. */
void sundog_template_assign(SundogRender *render, const SundogNode *target, SundogValue value);
SundogValue sundog_template_lookup(SundogRender *render, const char *name);

/* call.c */
SundogValue sundog_template_call(SundogRender *render, SundogValue callee,
                                 const SundogArguments *arguments);
SundogValue sundog_template_new_function(SundogRender *render, const SundogFunction *function);
/* Evaluates a node's arguments; nodes may be NULL. extra_name: one more named argument, or NULL. */
SundogArguments sundog_template_collect(SundogRender *render, const SundogNodeArguments *nodes,
                                        const char *extra_name, SundogValue extra);
/* Sets out[i] for each parameter of `signature`, "old new | count": those before the bar must be
 * given, others are MISSING where they are not. False with an error that names the function. */
bool sundog_arguments_bind(SundogRender *render, const SundogArguments *arguments,
                           const char *function, const char *signature, SundogValue *out);

/* global.c: a function or NULL */
SundogCallable sundog_template_find_global(const char *name);

/* attribute.c */
SundogValue sundog_template_get_attribute(SundogRender *render, SundogValue object,
                                          const SundogString *name);
SundogValue sundog_template_get_item(SundogRender *render, SundogValue object, SundogValue key);
SundogValue sundog_template_slice(SundogRender *render, SundogValue object, SundogValue start,
                                  SundogValue stop, SundogValue step);
/* "a.b.0" as map, sort and others take it; fallback stands in for what is undefined on the way, unless
 * it is MISSING or None. */
SundogValue sundog_template_get_path(SundogRender *render, SundogValue object, SundogValue path,
                                     SundogValue fallback);

/* loop.c */
SundogFlow sundog_template_run_loop(SundogRender *render, const SundogNode *node);
SundogValue sundog_loop_get_attribute(SundogRender *render, SundogLoop *loop, const char *name);
SundogValue sundog_loop_recurse(SundogRender *render, SundogLoop *loop, SundogValue iterable);

/* operator.c */
SundogValue sundog_template_binary(SundogRender *render, int operation, SundogValue a,
                                   SundogValue b);
bool sundog_template_compare(SundogRender *render, int operation, SundogValue a, SundogValue b);
bool sundog_template_contains(SundogRender *render, SundogValue container, SundogValue item);
SundogValue sundog_template_negate(SundogRender *render, SundogValue value);
/* False, with the undefined's own error, for an undefined value. */
bool sundog_value_require(SundogRender *render, SundogValue value);

/* Tables, each sorted by name: NULL where there is none. A method that would change its object, which
 * the sandbox forbids, sets *is_unsafe. */
SundogCallable sundog_template_find_method(SundogValue object, const char *name, bool *is_unsafe);
SundogCallable sundog_template_find_filter(const char *name);
SundogCallable sundog_template_find_text_filter(const char *name);
SundogCallable sundog_template_find_sequence_filter(const char *name);
SundogCallable sundog_template_find_test(const char *name);

/* One row of such a table. */
typedef struct {
    const char *name;
    SundogCallable call;
} SundogCallableRow;

SundogCallable sundog_callable_find(const SundogCallableRow *rows, size_t n_rows, const char *name);

/* format.c: `format % value` and format.format(…). */
SundogValue sundog_template_percent(SundogRender *render, const SundogString *format,
                                    SundogValue value);
SundogValue sundog_template_format(SundogRender *render, const SundogString *format,
                                   const SundogArguments *arguments);
