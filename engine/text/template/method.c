/* Methods of lists and dicts, and of which thing a method is. */

#include "engine/text/template/method.h"

#include <string.h>

static SundogValue
method_get(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    SundogValue given[2];
    if (!sundog_arguments_bind(render, arguments, "get", "key | default", given))
        return SUNDOG_NONE;
    SundogValue *value = sundog_dict_get(render, self.dict, given[0]);
    return value != NULL ? *value : given[1].kind == SUNDOG_VALUE_MISSING ? SUNDOG_NONE : given[1];
}

static SundogValue
dict_view(SundogRender *render, SundogValue self, const SundogArguments *arguments,
          const char *name, SundogListFlavor flavor)
{
    if (!sundog_arguments_bind(render, arguments, name, "", NULL))
        return SUNDOG_NONE;
    SundogList *view = sundog_list_new(render, flavor);
    for (size_t i = 0; i < self.dict->n_entries && !sundog_render_failed(render); i++) {
        const SundogDictEntry *entry = &self.dict->entries[i];
        SundogList *pair = sundog_list_new(render, SUNDOG_LIST_TUPLE);
        if (flavor == SUNDOG_LIST_ITEMS) {
            sundog_list_append(render, pair, entry->key);
            sundog_list_append(render, pair, entry->value);
        }
        sundog_list_append(render, view,
                           flavor == SUNDOG_LIST_ITEMS  ? sundog_value_list(pair)
                           : flavor == SUNDOG_LIST_KEYS ? entry->key
                                                        : entry->value);
    }
    return sundog_value_list(view);
}

static SundogValue
method_items(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    return dict_view(render, self, arguments, "items", SUNDOG_LIST_ITEMS);
}

static SundogValue
method_keys(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    return dict_view(render, self, arguments, "keys", SUNDOG_LIST_KEYS);
}

static SundogValue
method_values(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    return dict_view(render, self, arguments, "values", SUNDOG_LIST_VALUES);
}

/* Nothing changes a dict, so that the thing itself serves as its copy. */
static SundogValue
method_copy(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    return self;
}

static const SundogCallableRow dict_methods[] = {
    {"copy", method_copy}, {"get", method_get},       {"items", method_items},
    {"keys", method_keys}, {"values", method_values},
};

static SundogValue
method_list_count(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    SundogValue sought;
    int64_t n = 0;
    if (sundog_arguments_bind(render, arguments, "count", "value", &sought))
        for (size_t i = 0; i < self.list->n_items && !sundog_render_failed(render); i++)
            n += sundog_value_equal(render, self.list->items[i], sought);
    return sundog_value_integer(n);
}

static SundogValue
method_list_index(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    SundogValue sought;
    if (sundog_arguments_bind(render, arguments, "index", "value", &sought))
        for (size_t i = 0; i < self.list->n_items; i++)
            if (sundog_value_equal(render, self.list->items[i], sought))
                return sundog_value_integer((int64_t)i);
    sundog_render_fail(render, SUNDOG_TEMPLATE_ERROR_RENDER, "the value is not in the list");
    return SUNDOG_NONE;
}

static SundogValue
method_list_copy(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    SundogList *copy = sundog_list_new(render, self.list->flavor);
    for (size_t i = 0; i < self.list->n_items && !sundog_render_failed(render); i++)
        sundog_list_append(render, copy, self.list->items[i]);
    return sundog_value_list(copy);
}

/* The sandbox of transformers refuses what changes a list, and so templates that note the names of calls in
 * one; others take them. Lists and dicts are not appended: one within itself would have no end. */
static SundogValue
method_list_append(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    SundogValue value;
    if (!sundog_arguments_bind(render, arguments, "append", "object", &value))
        return SUNDOG_NONE;
    if (value.kind >= SUNDOG_VALUE_LIST)
        sundog_render_fail(render, SUNDOG_TEMPLATE_ERROR_RENDER,
                           "only texts and numbers can be appended to a list");
    else
        sundog_list_append(render, self.list, value);
    return SUNDOG_NONE;
}

static SundogValue
method_list_pop(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    SundogList *list = self.list;
    SundogValue index;
    if (!sundog_arguments_bind(render, arguments, "pop", "| index", &index))
        return SUNDOG_NONE;
    int64_t n = (int64_t)list->n_items;
    int64_t at = index.kind == SUNDOG_VALUE_INTEGER ? index.integer : -1;
    at += at < 0 ? n : 0;
    if ((index.kind != SUNDOG_VALUE_INTEGER && index.kind != SUNDOG_VALUE_MISSING) || at < 0 ||
        at >= n) {
        sundog_render_fail(render, SUNDOG_TEMPLATE_ERROR_RENDER,
                           "a list of %zu items has none to pop there", list->n_items);
        return SUNDOG_NONE;
    }
    SundogValue value = list->items[at];
    list->n_items--;
    memmove(&list->items[at], &list->items[at + 1],
            (list->n_items - (size_t)at) * sizeof *list->items);
    return value;
}

static const SundogCallableRow list_methods[] = {
    {"append", method_list_append}, {"copy", method_list_copy}, {"count", method_list_count},
    {"index", method_list_index},   {"pop", method_list_pop},
};
/* Which a tuple has too. */
static const SundogCallableRow tuple_methods[] = {
    {"count", method_list_count},
    {"index", method_list_index},
};

static bool
is_one_of(const char *name, const char *const *names)
{
    for (; *names != NULL; names++)
        if (strcmp(name, *names) == 0)
            return true;
    return false;
}

static const char *const dict_changers[] = {"clear",      "pop",    "popitem",
                                            "setdefault", "update", NULL};
static const char *const list_changers[] = {"clear",   "extend", "insert", "remove",
                                            "reverse", "sort",   NULL};

SundogCallable
sundog_template_find_method(SundogValue object, const char *name, bool *is_unsafe)
{
    bool is_list = object.kind == SUNDOG_VALUE_LIST && object.list->flavor <= SUNDOG_LIST_TUPLE;
    *is_unsafe =
        (object.kind == SUNDOG_VALUE_DICT && is_one_of(name, dict_changers)) ||
        (is_list && object.list->flavor == SUNDOG_LIST_LIST && is_one_of(name, list_changers));
    if (object.kind == SUNDOG_VALUE_STRING) {
        SundogCallable method = sundog_string_method_find(name);
        return method != NULL ? method : sundog_string_query_find(name);
    }
    if (object.kind == SUNDOG_VALUE_DICT)
        return sundog_callable_find(dict_methods, G_N_ELEMENTS(dict_methods), name);
    if (!is_list)
        return NULL;
    return object.list->flavor == SUNDOG_LIST_LIST
               ? sundog_callable_find(list_methods, G_N_ELEMENTS(list_methods), name)
               : sundog_callable_find(tuple_methods, G_N_ELEMENTS(tuple_methods), name);
}
