/* Methods that make other strings of a string. */

#include "engine/text/template/method.h"
#include "engine/text/template/text.h"

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

static SundogValue
remove_affix(SundogRender *render, SundogValue self, const SundogArguments *arguments,
             const char *name, bool at_end)
{
    SundogValue given;
    if (!sundog_arguments_bind(render, arguments, name, "affix", &given))
        return SUNDOG_NONE;
    const SundogString *affix = sundog_argument_string(render, given, name);
    size_t n = self.string->n_bytes;
    if (!sundog_string_matches_at_edge(render, self.string, affix, 0, n, at_end))
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
method_format(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    return sundog_template_format(render, self.string, arguments);
}

static const SundogCallableRow rows[] = {
    {"capitalize", method_capitalize},
    {"casefold", method_lower},
    {"center", method_center},
    {"format", method_format},
    {"join", method_join},
    {"ljust", method_ljust},
    {"lower", method_lower},
    {"lstrip", method_lstrip},
    {"partition", method_partition},
    {"removeprefix", method_removeprefix},
    {"removesuffix", method_removesuffix},
    {"replace", method_replace},
    {"rjust", method_rjust},
    {"rpartition", method_rpartition},
    {"rsplit", method_rsplit},
    {"rstrip", method_rstrip},
    {"split", method_split},
    {"splitlines", method_splitlines},
    {"strip", method_strip},
    {"swapcase", method_swapcase},
    {"title", method_title},
    {"upper", method_upper},
    {"zfill", method_zfill},
};

SundogCallable
sundog_string_method_find(const char *name)
{
    return sundog_callable_find(rows, G_N_ELEMENTS(rows), name);
}
