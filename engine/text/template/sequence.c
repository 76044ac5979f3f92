/* Filters on sequences. */

#include "engine/text/template/text.h"

#include <string.h>

static SundogValue
filter_attr(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    SundogValue name;
    if (!sundog_arguments_bind(render, arguments, "attr", "name", &name))
        return SUNDOG_NONE;
    const SundogString *text = sundog_argument_string(render, name, "attr");
    /* Unlike a dot it never falls back to a dict's key. */
    if (self.kind == SUNDOG_VALUE_DICT) {
        bool is_unsafe;
        if (sundog_template_find_method(self, sundog_string_text(render, text), &is_unsafe) == NULL)
            return sundog_value_undefined(render, "'dict object' has no attribute '%s'",
                                          sundog_string_text(render, text));
    }
    return sundog_template_get_attribute(render, self, text);
}

static SundogValue
new_generator(SundogRender *render, SundogList *list)
{
    list->flavor = SUNDOG_LIST_GENERATOR;
    return sundog_value_list(list);
}

static SundogValue
filter_batch(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    SundogValue given[2];
    if (!sundog_arguments_bind(render, arguments, "batch", "linecount | fill_with", given))
        return SUNDOG_NONE;
    int64_t n = sundog_argument_integer(render, given[0], 1, "batch");
    const SundogList *items = sundog_value_iterate(render, self);
    SundogList *result = sundog_list_new(render, SUNDOG_LIST_LIST);
    SundogList *line = NULL;
    for (size_t i = 0; items != NULL && i < items->n_items && !sundog_render_failed(render); i++) {
        if (line == NULL || (int64_t)line->n_items == n) {
            line = sundog_list_new(render, SUNDOG_LIST_LIST);
            sundog_list_append(render, result, sundog_value_list(line));
        }
        sundog_list_append(render, line, items->items[i]);
    }
    bool fills = given[1].kind != SUNDOG_VALUE_MISSING && given[1].kind != SUNDOG_VALUE_NONE;
    while (fills && line != NULL && (int64_t)line->n_items < n && !sundog_render_failed(render))
        sundog_list_append(render, line, given[1]);
    return new_generator(render, result);
}

static SundogValue
filter_slice(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    SundogValue given[2];
    if (!sundog_arguments_bind(render, arguments, "slice", "slices | fill_with", given))
        return SUNDOG_NONE;
    int64_t n = sundog_argument_integer(render, given[0], 1, "slice");
    const SundogList *items = sundog_value_iterate(render, self);
    if (n <= 0)
        sundog_render_fail(render, SUNDOG_TEMPLATE_ERROR_RENDER,
                           "slice() needs at least one slice");
    SundogList *result = sundog_list_new(render, SUNDOG_LIST_LIST);
    bool fills = given[1].kind != SUNDOG_VALUE_MISSING && given[1].kind != SUNDOG_VALUE_NONE;
    size_t at = 0;
    for (int64_t i = 0; i < n && !sundog_render_failed(render); i++) {
        bool extra = i < (int64_t)items->n_items % n;
        SundogList *part = sundog_list_new(render, SUNDOG_LIST_LIST);
        for (int64_t j = 0; j < (int64_t)items->n_items / n + extra; j++)
            sundog_list_append(render, part, items->items[at++]);
        if (fills && !extra)
            sundog_list_append(render, part, given[1]);
        sundog_list_append(render, result, sundog_value_list(part));
    }
    return new_generator(render, result);
}

static SundogValue
filter_first(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    if (self.kind == SUNDOG_VALUE_LIST && self.list->flavor == SUNDOG_LIST_GENERATOR)
        return self.list->n_given < self.list->n_items
                   ? self.list->items[self.list->n_given++]
                   : sundog_value_undefined(render, "No first item, sequence was empty.");
    const SundogList *items = sundog_value_iterate(render, self);
    if (items == NULL)
        return SUNDOG_NONE;
    return items->n_items > 0
               ? items->items[0]
               : sundog_value_undefined(render, "No first item, sequence was empty.");
}

static SundogValue
filter_last(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    if (self.kind == SUNDOG_VALUE_LIST && self.list->flavor == SUNDOG_LIST_GENERATOR) {
        sundog_render_fail(render, SUNDOG_TEMPLATE_ERROR_RENDER,
                           "'generator' object is not reversible");
        return SUNDOG_NONE;
    }
    const SundogList *items = sundog_value_iterate(render, self);
    if (items == NULL)
        return SUNDOG_NONE;
    return items->n_items > 0 ? items->items[items->n_items - 1]
                              : sundog_value_undefined(render, "No last item, sequence was empty.");
}

static SundogValue
filter_length(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    int64_t length = sundog_value_length(self);
    if (length < 0)
        sundog_render_fail(render, SUNDOG_TEMPLATE_ERROR_RENDER, "object of type '%s' has no len()",
                           sundog_value_type_name(self));
    return sundog_value_integer(length);
}

static SundogValue
filter_list(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    const SundogList *items = sundog_value_iterate(render, self);
    SundogList *list = sundog_list_new(render, SUNDOG_LIST_LIST);
    for (size_t i = 0; items != NULL && i < items->n_items && !sundog_render_failed(render); i++)
        sundog_list_append(render, list, items->items[i]);
    return sundog_value_list(list);
}

static SundogValue
filter_items(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    bool is_unsafe;
    if (self.kind == SUNDOG_VALUE_UNDEFINED)
        return new_generator(render, sundog_list_new(render, SUNDOG_LIST_LIST));
    if (self.kind != SUNDOG_VALUE_DICT) {
        sundog_render_fail(render, SUNDOG_TEMPLATE_ERROR_RENDER,
                           "Can only get item pairs from a mapping.");
        return SUNDOG_NONE;
    }
    SundogValue view =
        sundog_template_find_method(self, "items", &is_unsafe)(render, self, arguments);
    return sundog_render_failed(render) ? view : new_generator(render, view.list);
}

static SundogValue
filter_join(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    SundogValue given[2];
    if (!sundog_arguments_bind(render, arguments, "join", "| d attribute", given))
        return SUNDOG_NONE;
    const SundogString *separator = given[0].kind == SUNDOG_VALUE_MISSING
                                        ? sundog_string_literal(render, "")
                                        : sundog_value_print(render, given[0]);
    const SundogList *items = sundog_value_iterate(render, self);
    SundogStringBuilder builder;
    sundog_string_builder_init(&builder, render);
    for (size_t i = 0; items != NULL && i < items->n_items && !sundog_render_failed(render); i++) {
        if (i > 0)
            sundog_string_builder_append_string(&builder, separator);
        SundogValue item =
            sundog_template_get_path(render, items->items[i], given[1], SUNDOG_MISSING);
        sundog_string_builder_append_string(&builder, sundog_value_print(render, item));
    }
    return sundog_value_string(sundog_string_builder_finish(&builder));
}

/* The arguments after the first n. */
static SundogArguments
drop(const SundogArguments *arguments, size_t n)
{
    SundogArguments rest = *arguments;
    n = MIN(n, rest.n_positional);
    rest.n_positional -= n;
    /* Without arguments there is no array to move in. */
    if (n > 0)
        rest.positional += n;
    return rest;
}

static SundogValue
map_attribute(SundogRender *render, const SundogList *items, SundogValue path, SundogValue fallback)
{
    SundogList *result = sundog_list_new(render, SUNDOG_LIST_LIST);
    for (size_t i = 0; i < items->n_items && !sundog_render_failed(render); i++)
        sundog_list_append(render, result,
                           sundog_template_get_path(render, items->items[i], path, fallback));
    return new_generator(render, result);
}

/* A function that an argument names, for map, select and their like. */
static SundogCallable
find_named(SundogRender *render, const SundogArguments *arguments, size_t index,
           SundogCallable (*find)(const char *), const char *what)
{
    const SundogString *name =
        arguments->n_positional > index
            ? sundog_argument_string(render, arguments->positional[index], what)
            : sundog_string_literal(render, "");
    SundogCallable call = find(sundog_string_text(render, name));
    if (call == NULL)
        sundog_render_fail(render, SUNDOG_TEMPLATE_ERROR_RENDER, "No %s named '%s'.", what,
                           sundog_string_text(render, name));
    return sundog_render_failed(render) ? NULL : call;
}

/* What map, select and their like run over: nothing for a value that counts as false, None too. */
static const SundogList *
iterate_if_true(SundogRender *render, SundogValue value)
{
    return sundog_value_is_true(value) ? sundog_value_iterate(render, value)
                                       : sundog_list_new(render, SUNDOG_LIST_LIST);
}

static SundogValue
filter_map(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    const SundogList *items = iterate_if_true(render, self);
    SundogValue given[2];
    if (items == NULL)
        return SUNDOG_NONE;
    if (arguments->n_positional == 0 && arguments->n_named > 0)
        return sundog_arguments_bind(render, arguments, "map", "attribute | default", given)
                   ? map_attribute(render, items, given[0], given[1])
                   : SUNDOG_NONE;
    SundogCallable call = find_named(render, arguments, 0, sundog_template_find_filter, "filter");
    SundogArguments rest = drop(arguments, 1);
    SundogList *result = sundog_list_new(render, SUNDOG_LIST_LIST);
    for (size_t i = 0; call != NULL && i < items->n_items && !sundog_render_failed(render); i++)
        sundog_list_append(render, result, call(render, items->items[i], &rest));
    return new_generator(render, result);
}

/* Items whose truth, by a test where one is named, is `wanted`; of an attribute where `by_path`. */
static SundogValue
choose(SundogRender *render, SundogValue self, const SundogArguments *arguments, bool by_path,
       bool wanted)
{
    const SundogList *items = iterate_if_true(render, self);
    size_t n_own = by_path ? 1 : 0;
    if (arguments->n_positional < n_own)
        sundog_render_fail(render, SUNDOG_TEMPLATE_ERROR_RENDER,
                           "Missing parameter for attribute name");
    bool has_test = arguments->n_positional > n_own;
    SundogCallable test =
        has_test ? find_named(render, arguments, n_own, sundog_template_find_test, "test") : NULL;
    SundogArguments rest = drop(arguments, n_own + 1);
    SundogList *result = sundog_list_new(render, SUNDOG_LIST_LIST);
    for (size_t i = 0; items != NULL && !sundog_render_failed(render) && i < items->n_items; i++) {
        SundogValue value = items->items[i];
        if (by_path)
            value =
                sundog_template_get_path(render, value, arguments->positional[0], SUNDOG_MISSING);
        if (test != NULL && !sundog_render_failed(render))
            value = test(render, value, &rest);
        if (sundog_value_is_true(value) == wanted)
            sundog_list_append(render, result, items->items[i]);
    }
    return new_generator(render, result);
}

static SundogValue
filter_select(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    return choose(render, self, arguments, false, true);
}

static SundogValue
filter_reject(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    return choose(render, self, arguments, false, false);
}

static SundogValue
filter_selectattr(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    return choose(render, self, arguments, true, true);
}

static SundogValue
filter_rejectattr(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    return choose(render, self, arguments, true, false);
}

static SundogValue
fold_case(SundogRender *render, SundogValue value, bool case_sensitive)
{
    if (case_sensitive || value.kind != SUNDOG_VALUE_STRING)
        return value;
    return sundog_value_string(sundog_text_change_case(render, value.string, SUNDOG_CASE_LOWER));
}

/* An item and what it is ordered by. */
typedef struct {
    SundogValue key;
    SundogValue item;
    size_t index;
} Keyed;

typedef struct {
    SundogRender *render;
    bool reverse;
} Order;

static int
compare_keyed(gconstpointer a, gconstpointer b, gpointer data)
{
    const Order *order = data;
    const Keyed *x = a, *y = b;
    int result = sundog_value_compare(order->render, x->key, y->key, "<");
    if (result != 0)
        return order->reverse ? -result : result;
    return (x->index > y->index) - (x->index < y->index);
}

/* The key of an item by one path, or by several that commas part. */
static SundogValue
sort_key(SundogRender *render, SundogValue item, SundogValue path, bool case_sensitive)
{
    if (path.kind != SUNDOG_VALUE_STRING ||
        strchr(sundog_string_text(render, path.string), ',') == NULL)
        return fold_case(render, sundog_template_get_path(render, item, path, SUNDOG_MISSING),
                         case_sensitive);
    SundogList *paths =
        sundog_text_split(render, path.string, sundog_string_literal(render, ","), -1, false);
    SundogList *keys = sundog_list_new(render, SUNDOG_LIST_LIST);
    for (size_t i = 0; i < paths->n_items && !sundog_render_failed(render); i++)
        sundog_list_append(
            render, keys,
            fold_case(render,
                      sundog_template_get_path(render, item, paths->items[i], SUNDOG_MISSING),
                      case_sensitive));
    return sundog_value_list(keys);
}

static SundogValue
sort_items(SundogRender *render, const SundogList *items, SundogValue path, bool case_sensitive,
           bool reverse)
{
    Keyed *keyed = sundog_render_take_array(render, Keyed, items->n_items);
    for (size_t i = 0; i < items->n_items && !sundog_render_failed(render); i++)
        keyed[i] =
            (Keyed){sort_key(render, items->items[i], path, case_sensitive), items->items[i], i};
    SundogList *result = sundog_list_new(render, SUNDOG_LIST_LIST);
    if (sundog_render_failed(render))
        return sundog_value_list(result);
    Order order = {render, reverse};
    g_qsort_with_data(keyed, (int)items->n_items, sizeof *keyed, compare_keyed, &order);
    for (size_t i = 0; i < items->n_items; i++)
        sundog_list_append(render, result, keyed[i].item);
    return sundog_value_list(result);
}

static SundogValue
filter_sort(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    SundogValue given[3];
    if (!sundog_arguments_bind(render, arguments, "sort", "| reverse case_sensitive attribute",
                               given))
        return SUNDOG_NONE;
    const SundogList *items = sundog_value_iterate(render, self);
    return items == NULL ? SUNDOG_NONE
                         : sort_items(render, items, given[2], sundog_value_is_true(given[1]),
                                      sundog_value_is_true(given[0]));
}

static SundogValue
filter_dictsort(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    SundogValue given[3];
    bool is_unsafe;
    if (!sundog_arguments_bind(render, arguments, "dictsort", "| case_sensitive by reverse",
                               given) ||
        !sundog_value_require(render, self))
        return SUNDOG_NONE;
    const SundogString *by = sundog_argument_optional_string(render, given[1], "dictsort");
    bool by_value = by != NULL && sundog_string_is(render, by, "value");
    if (by != NULL && !by_value && !sundog_string_is(render, by, "key"))
        sundog_render_fail(render, SUNDOG_TEMPLATE_ERROR_RENDER,
                           "You can only sort by either \"key\" or \"value\"");
    if (self.kind != SUNDOG_VALUE_DICT)
        sundog_render_fail(render, SUNDOG_TEMPLATE_ERROR_RENDER,
                           "'%s object' has no attribute 'items'", sundog_value_type_name(self));
    if (sundog_render_failed(render))
        return SUNDOG_NONE;
    SundogValue view =
        sundog_template_find_method(self, "items", &is_unsafe)(render, self, &(SundogArguments){0});
    if (sundog_render_failed(render))
        return SUNDOG_NONE;
    return sort_items(render, view.list, sundog_value_integer(by_value),
                      sundog_value_is_true(given[0]), sundog_value_is_true(given[2]));
}

static SundogValue
filter_unique(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    SundogValue given[2];
    if (!sundog_arguments_bind(render, arguments, "unique", "| case_sensitive attribute", given))
        return SUNDOG_NONE;
    const SundogList *items = sundog_value_iterate(render, self);
    SundogDict *seen = sundog_dict_new(render);
    SundogList *result = sundog_list_new(render, SUNDOG_LIST_LIST);
    for (size_t i = 0; items != NULL && i < items->n_items && !sundog_render_failed(render); i++) {
        SundogValue key = fold_case(
            render, sundog_template_get_path(render, items->items[i], given[1], SUNDOG_MISSING),
            sundog_value_is_true(given[0]));
        if (sundog_dict_get(render, seen, key) == NULL)
            sundog_list_append(render, result, items->items[i]);
        sundog_dict_set(render, seen, key, SUNDOG_NONE);
    }
    return new_generator(render, result);
}

static SundogValue
extreme(SundogRender *render, SundogValue self, const SundogArguments *arguments, int wanted)
{
    SundogValue given[2];
    if (!sundog_arguments_bind(render, arguments, "min or max", "| case_sensitive attribute",
                               given))
        return SUNDOG_NONE;
    const SundogList *items = sundog_value_iterate(render, self);
    bool case_sensitive = sundog_value_is_true(given[0]);
    SundogValue best = SUNDOG_MISSING, best_key = SUNDOG_MISSING;
    for (size_t i = 0; items != NULL && i < items->n_items && !sundog_render_failed(render); i++) {
        SundogValue key = fold_case(
            render, sundog_template_get_path(render, items->items[i], given[1], SUNDOG_MISSING),
            case_sensitive);
        if (i == 0 ||
            sundog_value_compare(render, key, best_key, wanted < 0 ? "<" : ">") == wanted) {
            best = items->items[i];
            best_key = key;
        }
    }
    return best.kind != SUNDOG_VALUE_MISSING
               ? best
               : sundog_value_undefined(render, "No aggregated item, sequence was empty.");
}

static SundogValue
filter_min(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    return extreme(render, self, arguments, -1);
}

static SundogValue
filter_max(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    return extreme(render, self, arguments, 1);
}

static SundogValue
filter_sum(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    SundogValue given[2];
    if (!sundog_arguments_bind(render, arguments, "sum", "| attribute start", given))
        return SUNDOG_NONE;
    SundogValue total = given[1].kind == SUNDOG_VALUE_MISSING ? sundog_value_integer(0) : given[1];
    const SundogList *items = sundog_value_iterate(render, self);
    for (size_t i = 0; items != NULL && i < items->n_items && !sundog_render_failed(render); i++)
        total = sundog_template_binary(
            render, SUNDOG_TOKEN_ADD, total,
            sundog_template_get_path(render, items->items[i], given[0], SUNDOG_MISSING));
    return total;
}

static SundogValue
filter_reverse(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    if (self.kind == SUNDOG_VALUE_STRING)
        return sundog_template_slice(render, self, SUNDOG_NONE, SUNDOG_NONE,
                                     sundog_value_integer(-1));
    const SundogList *items = sundog_value_iterate(render, self);
    SundogList *result = sundog_list_new(render, SUNDOG_LIST_LIST);
    for (size_t i = items != NULL ? items->n_items : 0; i > 0 && !sundog_render_failed(render); i--)
        sundog_list_append(render, result, items->items[i - 1]);
    return new_generator(render, result);
}

static SundogValue
filter_groupby(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    SundogValue given[3];
    if (!sundog_arguments_bind(render, arguments, "groupby", "attribute | default case_sensitive",
                               given))
        return SUNDOG_NONE;
    const SundogList *items = sundog_value_iterate(render, self);
    bool case_sensitive = sundog_value_is_true(given[2]);
    SundogList *result = sundog_list_new(render, SUNDOG_LIST_LIST);
    if (items == NULL)
        return SUNDOG_NONE;
    const SundogList *sorted = sort_items(render, items, given[0], case_sensitive, false).list;
    SundogValue last = SUNDOG_MISSING;
    SundogList *group = NULL;
    for (size_t i = 0; i < sorted->n_items && !sundog_render_failed(render); i++) {
        SundogValue key =
            sundog_template_get_path(render, sorted->items[i], given[0], SUNDOG_MISSING);
        SundogValue folded = fold_case(render, key, case_sensitive);
        if (group == NULL || !sundog_value_equal(render, folded, last)) {
            group = sundog_list_new(render, SUNDOG_LIST_LIST);
            SundogList *pair = sundog_list_new(render, SUNDOG_LIST_TUPLE);
            sundog_list_append(render, pair, key);
            sundog_list_append(render, pair, sundog_value_list(group));
            sundog_list_append(render, result, sundog_value_list(pair));
        }
        sundog_list_append(render, group, sorted->items[i]);
        last = folded;
    }
    return sundog_value_list(result);
}

static const SundogCallableRow sequence_filters[] = {
    {"attr", filter_attr},
    {"batch", filter_batch},
    {"count", filter_length},
    {"dictsort", filter_dictsort},
    {"first", filter_first},
    {"groupby", filter_groupby},
    {"items", filter_items},
    {"join", filter_join},
    {"last", filter_last},
    {"length", filter_length},
    {"list", filter_list},
    {"map", filter_map},
    {"max", filter_max},
    {"min", filter_min},
    {"reject", filter_reject},
    {"rejectattr", filter_rejectattr},
    {"reverse", filter_reverse},
    {"select", filter_select},
    {"selectattr", filter_selectattr},
    {"slice", filter_slice},
    {"sort", filter_sort},
    {"sum", filter_sum},
    {"unique", filter_unique},
};

SundogCallable
sundog_template_find_sequence_filter(const char *name)
{
    return sundog_callable_find(sequence_filters, G_N_ELEMENTS(sequence_filters), name);
}
