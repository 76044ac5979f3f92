/* Methods of strings, lists and dicts. */

#include "engine/text/template/text.h"

#include <string.h>

/* A result keeps the markup of the string it came from, as in markupsafe. */
static SundogValue
like(SundogRender *render, SundogValue self, const SundogString *string)
{
    return sundog_value_string(sundog_string_with_markup(render, string, self.string->markup));
}

static SundogValue
change_case(SundogRender *render, SundogValue self, const SundogArguments *arguments,
            const char *name, SundogCase target)
{
    if (!sundog_arguments_bind(render, arguments, name, "", NULL))
        return SUNDOG_NONE;
    return like(render, self, sundog_text_change_case(render, self.string, target));
}

static SundogValue
method_upper(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    return change_case(render, self, arguments, "upper", SUNDOG_CASE_UPPER);
}

static SundogValue
method_lower(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    return change_case(render, self, arguments, "lower", SUNDOG_CASE_LOWER);
}

static SundogValue
method_capitalize(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    return change_case(render, self, arguments, "capitalize", SUNDOG_CASE_CAPITALIZE);
}

static SundogValue
method_title(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    return change_case(render, self, arguments, "title", SUNDOG_CASE_TITLE);
}

static SundogValue
method_swapcase(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    return change_case(render, self, arguments, "swapcase", SUNDOG_CASE_SWAP);
}

static SundogValue
strip(SundogRender *render, SundogValue self, const SundogArguments *arguments, const char *name,
      unsigned sides)
{
    SundogValue characters;
    if (!sundog_arguments_bind(render, arguments, name, "| chars", &characters))
        return SUNDOG_NONE;
    const SundogString *set = sundog_argument_optional_string(render, characters, name);
    return like(render, self, sundog_text_strip(render, self.string, set, sides));
}

static SundogValue
method_strip(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    return strip(render, self, arguments, "strip", SUNDOG_STRIP_LEFT | SUNDOG_STRIP_RIGHT);
}

static SundogValue
method_lstrip(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    return strip(render, self, arguments, "lstrip", SUNDOG_STRIP_LEFT);
}

static SundogValue
method_rstrip(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    return strip(render, self, arguments, "rstrip", SUNDOG_STRIP_RIGHT);
}

static SundogValue
split(SundogRender *render, SundogValue self, const SundogArguments *arguments, const char *name,
      bool from_right)
{
    SundogValue given[2];
    if (!sundog_arguments_bind(render, arguments, name, "| sep maxsplit", given))
        return SUNDOG_NONE;
    const SundogString *separator = sundog_argument_optional_string(render, given[0], name);
    int64_t max = sundog_argument_integer(render, given[1], -1, name);
    return sundog_value_list(sundog_text_split(render, self.string, separator, max, from_right));
}

static SundogValue
method_split(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    return split(render, self, arguments, "split", false);
}

static SundogValue
method_rsplit(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    return split(render, self, arguments, "rsplit", true);
}

static SundogValue
method_splitlines(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    SundogValue keep;
    if (!sundog_arguments_bind(render, arguments, "splitlines", "| keepends", &keep))
        return SUNDOG_NONE;
    return sundog_value_list(
        sundog_text_split_lines(render, self.string, sundog_value_is_true(keep)));
}

static SundogValue
partition(SundogRender *render, SundogValue self, const SundogArguments *arguments,
          const char *name, bool from_right)
{
    SundogValue given;
    if (!sundog_arguments_bind(render, arguments, name, "sep", &given))
        return SUNDOG_NONE;
    const SundogString *separator = sundog_argument_string(render, given, name);
    SundogList *parts = sundog_text_split(render, self.string, separator, 1, from_right);
    SundogValue empty = sundog_value_literal(render, "");
    SundogList *result = sundog_list_new(render, SUNDOG_LIST_TUPLE);
    bool found = parts->n_items == 2;
    if (sundog_render_failed(render))
        return SUNDOG_NONE;
    SundogValue whole = parts->items[0];
    sundog_list_append(render, result, found || !from_right ? whole : empty);
    sundog_list_append(render, result, found ? sundog_value_string(separator) : empty);
    sundog_list_append(render, result, found ? parts->items[1] : from_right ? whole : empty);
    return sundog_value_list(result);
}

static SundogValue
method_partition(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    return partition(render, self, arguments, "partition", false);
}

static SundogValue
method_rpartition(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    return partition(render, self, arguments, "rpartition", true);
}

static SundogValue
method_replace(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    SundogValue given[3];
    if (!sundog_arguments_bind(render, arguments, "replace", "old new | count", given))
        return SUNDOG_NONE;
    const SundogString *old = sundog_argument_string(render, given[0], "replace");
    const SundogString *replacement = sundog_argument_string(render, given[1], "replace");
    int64_t count = sundog_argument_integer(render, given[2], -1, "replace");
    if (self.string->markup)
        replacement = sundog_string_escape(render, replacement);
    return like(render, self, sundog_text_replace(render, self.string, old, replacement, count));
}

static SundogValue
method_join(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    SundogValue iterable;
    if (!sundog_arguments_bind(render, arguments, "join", "iterable", &iterable))
        return SUNDOG_NONE;
    const SundogList *items = sundog_value_iterate(render, iterable);
    SundogStringBuilder builder;
    sundog_string_builder_init(&builder, render);
    for (size_t i = 0; items != NULL && i < items->n_items && !sundog_render_failed(render); i++) {
        const SundogString *item = sundog_argument_string(render, items->items[i], "join");
        if (i > 0)
            sundog_string_builder_append_string(&builder, self.string);
        sundog_string_builder_append_string(
            &builder, self.string->markup ? sundog_string_escape(render, item) : item);
    }
    return like(render, self, sundog_string_builder_finish(&builder));
}

/* Byte bounds of the optional start and end, which count characters. False where start is past the
 * end: then not even the empty string is found. */
static bool
bounds(SundogRender *render, const SundogString *string, const SundogValue *given, const char *name,
       size_t *from, size_t *to)
{
    int64_t n = (int64_t)string->n_chars;
    int64_t limits[2] = {0, n};
    for (int i = 0; i < 2; i++) {
        if (given[i].kind == SUNDOG_VALUE_NONE)
            continue;
        int64_t value = sundog_argument_integer(render, given[i], limits[i], name);
        limits[i] = value < 0 ? MAX(0, value + n) : value;
    }
    *from = sundog_string_offset(render, string, (size_t)MIN(limits[0], n));
    *to = sundog_string_offset(render, string, (size_t)MIN(limits[1], n));
    return limits[0] <= n && *from <= *to;
}

static bool
matches_at_edge(SundogRender *render, const SundogString *string, const SundogString *affix,
                size_t from, size_t to, bool at_end)
{
    if (affix->n_bytes > to - from)
        return false;
    const char *text = sundog_string_text(render, string);
    return memcmp(text + (at_end ? to - affix->n_bytes : from), sundog_string_text(render, affix),
                  affix->n_bytes) == 0;
}

static SundogValue
has_affix(SundogRender *render, SundogValue self, const SundogArguments *arguments,
          const char *name, bool at_end)
{
    SundogValue given[3];
    size_t from, to;
    if (!sundog_arguments_bind(render, arguments, name, "affix | start end", given))
        return SUNDOG_NONE;
    bool within = bounds(render, self.string, given + 1, name, &from, &to);
    if (given[0].kind != SUNDOG_VALUE_LIST || given[0].list->flavor != SUNDOG_LIST_TUPLE) {
        const SundogString *affix = sundog_argument_string(render, given[0], name);
        return sundog_value_boolean(within &&
                                    matches_at_edge(render, self.string, affix, from, to, at_end));
    }
    bool found = false;
    for (size_t i = 0; i < given[0].list->n_items && within && !found; i++)
        found = matches_at_edge(render, self.string,
                                sundog_argument_string(render, given[0].list->items[i], name), from,
                                to, at_end);
    return sundog_value_boolean(found);
}

static SundogValue
method_startswith(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    return has_affix(render, self, arguments, "startswith", false);
}

static SundogValue
method_endswith(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    return has_affix(render, self, arguments, "endswith", true);
}

static SundogValue
remove_affix(SundogRender *render, SundogValue self, const SundogArguments *arguments,
             const char *name, bool at_end)
{
    SundogValue given;
    if (!sundog_arguments_bind(render, arguments, name, "affix", &given))
        return SUNDOG_NONE;
    const SundogString *affix = sundog_argument_string(render, given, name);
    size_t n = self.string->n_bytes;
    if (!matches_at_edge(render, self.string, affix, 0, n, at_end))
        return self;
    return like(render, self,
                sundog_string_slice(render, self.string, at_end ? 0 : affix->n_bytes,
                                    at_end ? n - affix->n_bytes : n));
}

static SundogValue
method_removeprefix(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    return remove_affix(render, self, arguments, "removeprefix", false);
}

static SundogValue
method_removesuffix(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    return remove_affix(render, self, arguments, "removesuffix", true);
}

/* The character where a substring stands, or -1. */
static int64_t
find(SundogRender *render, SundogValue self, const SundogArguments *arguments, const char *name,
     bool last)
{
    SundogValue given[3];
    size_t from, to;
    if (!sundog_arguments_bind(render, arguments, name, "sub | start end", given))
        return -1;
    const SundogString *needle = sundog_argument_string(render, given[0], name);
    if (!bounds(render, self.string, given + 1, name, &from, &to))
        return -1;
    gssize found = sundog_string_find(render, self.string, needle, from, to, last);
    const char *text = sundog_string_text(render, self.string);
    return found < 0 ? -1 : (int64_t)g_utf8_pointer_to_offset(text, text + found);
}

static SundogValue
method_find(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    return sundog_value_integer(find(render, self, arguments, "find", false));
}

static SundogValue
method_rfind(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    return sundog_value_integer(find(render, self, arguments, "rfind", true));
}

static SundogValue
require_found(SundogRender *render, int64_t position)
{
    if (position < 0)
        sundog_render_fail(render, SUNDOG_TEMPLATE_ERROR_RENDER, "substring not found");
    return sundog_value_integer(position);
}

static SundogValue
method_index(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    return require_found(render, find(render, self, arguments, "index", false));
}

static SundogValue
method_rindex(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    return require_found(render, find(render, self, arguments, "rindex", true));
}

static SundogValue
method_count(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    SundogValue given[3];
    size_t from, to;
    if (!sundog_arguments_bind(render, arguments, "count", "sub | start end", given))
        return SUNDOG_NONE;
    const SundogString *needle = sundog_argument_string(render, given[0], "count");
    if (!bounds(render, self.string, given + 1, "count", &from, &to))
        return sundog_value_integer(0);
    if (needle->n_bytes == 0)
        return sundog_value_integer((int64_t)self.string->n_chars + 1);
    int64_t n = 0;
    for (gssize at; (at = sundog_string_find(render, self.string, needle, from, to, false)) >= 0 &&
                    sundog_render_step(render, 1);
         n++)
        from = (size_t)at + needle->n_bytes;
    return sundog_value_integer(n);
}

static SundogValue
pad(SundogRender *render, SundogValue self, const SundogArguments *arguments, const char *name)
{
    SundogValue given[2];
    if (!sundog_arguments_bind(render, arguments, name, "width | fillchar", given))
        return SUNDOG_NONE;
    int64_t width = sundog_argument_integer(render, given[0], 0, name);
    const SundogString *fill = sundog_argument_optional_string(render, given[1], name);
    int64_t missing = MAX(0, width - (int64_t)self.string->n_chars);
    /* Python's center() puts the odd one to the left where the width is odd. */
    int64_t left = *name == 'r' ? missing : *name == 'l' ? 0 : missing / 2 + (missing & width & 1);
    if (fill == NULL)
        fill = sundog_string_literal(render, " ");
    if (fill->n_chars != 1)
        sundog_render_fail(render, SUNDOG_TEMPLATE_ERROR_RENDER,
                           "the fill character must be exactly one character long");
    return like(render, self, sundog_text_pad(render, self.string, left, missing - left, fill));
}

static SundogValue
method_center(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    return pad(render, self, arguments, "center");
}

static SundogValue
method_ljust(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    return pad(render, self, arguments, "ljust");
}

static SundogValue
method_rjust(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    return pad(render, self, arguments, "rjust");
}

static SundogValue
method_zfill(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    SundogValue given;
    if (!sundog_arguments_bind(render, arguments, "zfill", "width", &given))
        return SUNDOG_NONE;
    int64_t width = sundog_argument_integer(render, given, 0, "zfill");
    int64_t missing = MAX(0, width - (int64_t)self.string->n_chars);
    const char *text = sundog_string_text(render, self.string);
    size_t n_sign = *text == '+' || *text == '-';
    const SundogString *rest =
        sundog_string_slice(render, self.string, n_sign, self.string->n_bytes);
    const SundogString *padded =
        sundog_text_pad(render, rest, missing, 0, sundog_string_literal(render, "0"));
    return like(
        render, self,
        sundog_string_concat(render, sundog_string_slice(render, self.string, 0, n_sign), padded));
}

static SundogValue
all_chars(SundogRender *render, SundogValue self, gboolean (*holds)(gunichar))
{
    const char *text = sundog_string_text(render, self.string);
    const char *end = text + self.string->n_bytes;
    for (const char *at = text; at < end; at = g_utf8_next_char(at))
        if (!holds(g_utf8_get_char(at)))
            return sundog_value_boolean(false);
    return sundog_value_boolean(text < end);
}

static gboolean
char_is_space(gunichar c)
{
    return sundog_char_is_space(c);
}

#define CHAR_TEST(name, holds)                                               \
    static SundogValue method_##name(SundogRender *render, SundogValue self, \
                                     const SundogArguments *arguments)       \
    {                                                                        \
        return all_chars(render, self, holds);                               \
    }
CHAR_TEST(isalnum, g_unichar_isalnum)
CHAR_TEST(isalpha, g_unichar_isalpha)
CHAR_TEST(isdigit, g_unichar_isdigit)
CHAR_TEST(isspace, char_is_space)
#undef CHAR_TEST

/* Whether all letters that have a case have this one, and there is at least one. */
static SundogValue
has_case(SundogRender *render, SundogValue self, gboolean (*wanted)(gunichar),
         gboolean (*unwanted)(gunichar))
{
    const char *text = sundog_string_text(render, self.string);
    const char *end = text + self.string->n_bytes;
    bool found = false;
    for (const char *at = text; at < end; at = g_utf8_next_char(at)) {
        gunichar c = g_utf8_get_char(at);
        if (unwanted(c) || g_unichar_istitle(c))
            return sundog_value_boolean(false);
        found |= wanted(c);
    }
    return sundog_value_boolean(found);
}

static SundogValue
method_islower(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    return has_case(render, self, g_unichar_islower, g_unichar_isupper);
}

static SundogValue
method_isupper(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    return has_case(render, self, g_unichar_isupper, g_unichar_islower);
}

static SundogValue
method_format(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    return sundog_template_format(render, self.string, arguments);
}

static const SundogCallableRow string_methods[] = {
    {"capitalize", method_capitalize},
    {"casefold", method_lower},
    {"center", method_center},
    {"count", method_count},
    {"endswith", method_endswith},
    {"find", method_find},
    {"format", method_format},
    {"index", method_index},
    {"isalnum", method_isalnum},
    {"isalpha", method_isalpha},
    {"isdecimal", method_isdigit},
    {"isdigit", method_isdigit},
    {"islower", method_islower},
    {"isnumeric", method_isdigit},
    {"isspace", method_isspace},
    {"isupper", method_isupper},
    {"join", method_join},
    {"ljust", method_ljust},
    {"lower", method_lower},
    {"lstrip", method_lstrip},
    {"partition", method_partition},
    {"removeprefix", method_removeprefix},
    {"removesuffix", method_removesuffix},
    {"replace", method_replace},
    {"rfind", method_rfind},
    {"rindex", method_rindex},
    {"rjust", method_rjust},
    {"rpartition", method_rpartition},
    {"rsplit", method_rsplit},
    {"rstrip", method_rstrip},
    {"split", method_split},
    {"splitlines", method_splitlines},
    {"startswith", method_startswith},
    {"strip", method_strip},
    {"swapcase", method_swapcase},
    {"title", method_title},
    {"upper", method_upper},
    {"zfill", method_zfill},
};

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

/* Nothing changes a list or dict, so that the thing itself serves as its copy. */
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

static const SundogCallableRow list_methods[] = {
    {"copy", method_copy},
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
static const char *const list_changers[] = {"append", "clear",   "extend", "insert", "pop",
                                            "remove", "reverse", "sort",   NULL};

SundogCallable
sundog_template_find_method(SundogValue object, const char *name, bool *is_unsafe)
{
    bool is_list = object.kind == SUNDOG_VALUE_LIST && object.list->flavor <= SUNDOG_LIST_TUPLE;
    *is_unsafe =
        (object.kind == SUNDOG_VALUE_DICT && is_one_of(name, dict_changers)) ||
        (is_list && object.list->flavor == SUNDOG_LIST_LIST && is_one_of(name, list_changers));
    if (object.kind == SUNDOG_VALUE_STRING)
        return sundog_callable_find(string_methods, G_N_ELEMENTS(string_methods), name);
    if (object.kind == SUNDOG_VALUE_DICT)
        return sundog_callable_find(dict_methods, G_N_ELEMENTS(dict_methods), name);
    return is_list ? sundog_callable_find(list_methods, G_N_ELEMENTS(list_methods), name) : NULL;
}
