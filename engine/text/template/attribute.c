/* object.name, object[key] and slices, by the sandbox's rules. */

#include "engine/text/template/evaluate.h"

#include <string.h>

static SundogValue
no_attribute(SundogRender *render, SundogValue object, const char *name)
{
    return sundog_value_undefined(
        render, "'%s object' has no attribute '%s'",
        object.kind == SUNDOG_VALUE_NONE ? "None" : sundog_value_type_name(object), name);
}

static SundogValue
no_element(SundogRender *render, SundogValue object, SundogValue key)
{
    if (key.kind == SUNDOG_VALUE_STRING)
        return no_attribute(render, object, sundog_string_text(render, key.string));
    g_autofree char *repr = sundog_value_dup_repr(render, key);
    return sundog_value_undefined(render, "%s object has no element %s",
                                  sundog_value_type_name(object), repr);
}

/* An attribute that Python's type itself has: a method, or what the sandbox hides. MISSING where the
 * type has none of that name. */
static SundogValue
type_attribute(SundogRender *render, SundogValue object, const char *name)
{
    bool is_unsafe = false;
    SundogCallable method = sundog_template_find_method(object, name, &is_unsafe);
    if (is_unsafe)
        return sundog_value_undefined(render, "access to attribute '%s' of '%s' object is unsafe.",
                                      name, sundog_value_type_name(object));
    if (method == NULL)
        return SUNDOG_MISSING;
    return sundog_template_new_function(
        render, &(SundogFunction){.name = name, .call = method, .self = object});
}

static SundogValue
namespace_attribute(SundogRender *render, SundogValue object, const SundogString *name)
{
    SundogValue *value = sundog_dict_get(render, object.dict, sundog_value_string(name));
    return value != NULL
               ? *value
               : sundog_value_undefined(render, "'Namespace object' has no attribute '%s'",
                                        sundog_string_text(render, name));
}

static SundogValue
macro_attribute(SundogRender *render, SundogValue object, const char *name)
{
    const SundogFunction *function = object.function;
    if (function->macro != NULL && strcmp(name, "name") == 0)
        return sundog_value_literal(render, function->name);
    return no_attribute(render, object, name);
}

SundogValue
sundog_template_get_attribute(SundogRender *render, SundogValue object, const SundogString *name)
{
    if (!sundog_value_require(render, object))
        return SUNDOG_NONE;
    const char *text = sundog_string_text(render, name);
    if (object.kind == SUNDOG_VALUE_NAMESPACE)
        return namespace_attribute(render, object, name);
    if (object.kind == SUNDOG_VALUE_LOOP)
        return sundog_loop_get_attribute(render, object.loop, text);
    if (object.kind == SUNDOG_VALUE_FUNCTION)
        return macro_attribute(render, object, text);
    SundogValue attribute = type_attribute(render, object, text);
    if (attribute.kind != SUNDOG_VALUE_MISSING)
        return attribute;
    SundogValue *member = object.kind == SUNDOG_VALUE_DICT
                              ? sundog_dict_get(render, object.dict, sundog_value_string(name))
                              : NULL;
    return member != NULL ? *member : no_attribute(render, object, text);
}

static bool
resolve_index(SundogValue key, size_t length, size_t *index)
{
    if (key.kind != SUNDOG_VALUE_INTEGER && key.kind != SUNDOG_VALUE_BOOLEAN)
        return false;
    int64_t i = sundog_value_as_integer(key);
    if (i < 0)
        i += (int64_t)length;
    *index = (size_t)i;
    return i >= 0 && i < (int64_t)length;
}

static bool
is_hashable(SundogValue value)
{
    if (value.kind == SUNDOG_VALUE_LIST && value.list->flavor == SUNDOG_LIST_TUPLE) {
        for (size_t i = 0; i < value.list->n_items; i++)
            if (value.list->items[i].kind == SUNDOG_VALUE_LIST ||
                value.list->items[i].kind == SUNDOG_VALUE_DICT)
                return false;
        return true;
    }
    return value.kind != SUNDOG_VALUE_LIST && value.kind != SUNDOG_VALUE_DICT;
}

static const SundogString *
character_at(SundogRender *render, const SundogString *string, size_t index)
{
    size_t from = sundog_string_offset(render, string, index);
    const char *text = sundog_string_text(render, string);
    return sundog_string_slice(render, string, from,
                               (size_t)(g_utf8_next_char(text + from) - text));
}

/* What subscripting alone finds, or MISSING. */
static SundogValue
find_item(SundogRender *render, SundogValue object, SundogValue key)
{
    size_t index;
    if (object.kind == SUNDOG_VALUE_DICT && is_hashable(key)) {
        SundogValue *value = sundog_dict_get(render, object.dict, key);
        return value != NULL ? *value : SUNDOG_MISSING;
    }
    if (object.kind == SUNDOG_VALUE_STRING && resolve_index(key, object.string->n_chars, &index))
        return sundog_value_string(character_at(render, object.string, index));
    if (object.kind == SUNDOG_VALUE_LIST && object.list->flavor <= SUNDOG_LIST_RANGE &&
        resolve_index(key, object.list->n_items, &index))
        return object.list->items[index];
    return SUNDOG_MISSING;
}

SundogValue
sundog_template_get_item(SundogRender *render, SundogValue object, SundogValue key)
{
    if (!sundog_value_require(render, object))
        return SUNDOG_NONE;
    SundogValue item = find_item(render, object, key);
    if (item.kind != SUNDOG_VALUE_MISSING)
        return item;
    if (key.kind == SUNDOG_VALUE_STRING)
        return sundog_template_get_attribute(render, object, key.string);
    return no_element(render, object, key);
}

/* Python's slice.indices(): bounds clamped to what exists, for a step of either sign. */
static bool
clamp_bound(SundogRender *render, SundogValue bound, int64_t length, int64_t step, int64_t fallback,
            int64_t *out)
{
    *out = fallback;
    if (bound.kind == SUNDOG_VALUE_NONE)
        return true;
    if (bound.kind != SUNDOG_VALUE_INTEGER && bound.kind != SUNDOG_VALUE_BOOLEAN) {
        if (sundog_value_require(render, bound))
            sundog_render_fail(render, SUNDOG_TEMPLATE_ERROR_RENDER,
                               "slice indices must be integers or None, not %s",
                               sundog_value_type_name(bound));
        return false;
    }
    int64_t value = sundog_value_as_integer(bound);
    if (value < 0)
        value += length;
    *out = step > 0 ? CLAMP(value, 0, length) : CLAMP(value, -1, length - 1);
    return true;
}

typedef struct {
    int64_t start;
    int64_t stop;
    int64_t step;
} Slice;

static bool
resolve_slice(SundogRender *render, SundogValue start, SundogValue stop, SundogValue step,
              int64_t length, Slice *slice)
{
    slice->step = step.kind == SUNDOG_VALUE_INTEGER ? step.integer : 1;
    if (slice->step == 0 || (step.kind != SUNDOG_VALUE_NONE && step.kind != SUNDOG_VALUE_INTEGER)) {
        sundog_render_fail(render, SUNDOG_TEMPLATE_ERROR_RENDER,
                           "slice step must be an integer other than zero");
        return false;
    }
    /* A step longer than the whole takes one item, and then the sums below cannot overflow. */
    slice->step = CLAMP(slice->step, -length - 1, length + 1);
    bool forward = slice->step > 0;
    return clamp_bound(render, start, length, slice->step, forward ? 0 : length - 1,
                       &slice->start) &&
           clamp_bound(render, stop, length, slice->step, forward ? length : -1, &slice->stop);
}

static bool
slice_goes_on(const Slice *slice, int64_t i)
{
    return slice->step > 0 ? i < slice->stop : i > slice->stop;
}

static SundogValue
slice_string(SundogRender *render, const SundogString *string, const Slice *slice)
{
    if (slice->step == 1) {
        size_t from = sundog_string_offset(render, string, (size_t)slice->start);
        size_t to = sundog_string_offset(render, string, (size_t)slice->stop);
        return sundog_value_string(sundog_string_slice(render, string, from, to));
    }
    SundogList *characters = sundog_value_iterate(render, sundog_value_string(string));
    SundogStringBuilder builder;
    sundog_string_builder_init(&builder, render);
    for (int64_t i = slice->start; slice_goes_on(slice, i) && !sundog_render_failed(render);
         i += slice->step)
        sundog_string_builder_append_string(&builder, characters->items[i].string);
    return sundog_value_string(
        sundog_string_with_markup(render, sundog_string_builder_finish(&builder), string->markup));
}

static SundogValue
slice_list(SundogRender *render, const SundogList *list, const Slice *slice)
{
    SundogList *result = sundog_list_new(render, list->flavor);
    for (int64_t i = slice->start; slice_goes_on(slice, i) && !sundog_render_failed(render);
         i += slice->step)
        sundog_list_append(render, result, list->items[i]);
    return sundog_value_list(result);
}

SundogValue
sundog_template_slice(SundogRender *render, SundogValue object, SundogValue start, SundogValue stop,
                      SundogValue step)
{
    bool is_list = object.kind == SUNDOG_VALUE_LIST && object.list->flavor <= SUNDOG_LIST_RANGE;
    Slice slice;
    if (!is_list && object.kind != SUNDOG_VALUE_STRING)
        sundog_render_fail(render, SUNDOG_TEMPLATE_ERROR_RENDER, "'%s' object cannot be sliced",
                           sundog_value_type_name(object));
    if (sundog_render_failed(render) ||
        !resolve_slice(render, start, stop, step, sundog_value_length(object), &slice))
        return SUNDOG_NONE;
    return is_list ? slice_list(render, object.list, &slice)
                   : slice_string(render, object.string, &slice);
}

static SundogValue
path_step(SundogRender *render, SundogValue object, const char *part)
{
    bool is_number = *part != '\0' && part[strspn(part, "0123456789")] == '\0';
    SundogValue key = is_number ? sundog_value_integer(g_ascii_strtoll(part, NULL, 10))
                                : sundog_value_literal(render, part);
    return sundog_template_get_item(render, object, key);
}

SundogValue
sundog_template_get_path(SundogRender *render, SundogValue object, SundogValue path,
                         SundogValue fallback)
{
    bool has_fallback = fallback.kind != SUNDOG_VALUE_MISSING && fallback.kind != SUNDOG_VALUE_NONE;
    if (path.kind == SUNDOG_VALUE_NONE || path.kind == SUNDOG_VALUE_MISSING)
        return object;
    g_auto(GStrv) parts = path.kind == SUNDOG_VALUE_STRING
                              ? g_strsplit(sundog_string_text(render, path.string), ".", -1)
                              : NULL;
    if (parts == NULL)
        object = sundog_template_get_item(render, object, path);
    for (char **part = parts; part != NULL && *part != NULL && !sundog_render_failed(render);
         part++) {
        object = path_step(render, object, *part);
        if (object.kind == SUNDOG_VALUE_UNDEFINED && has_fallback)
            object = fallback;
    }
    return object;
}
