/* Filters on single values: text, numbers, JSON. */

#include "engine/format/json.h"
#include "engine/text/template/text.h"

#include <math.h>
#include <string.h>

/* The value as a string that keeps its markup: markupsafe's soft_str(). */
static SundogValue
soft_string(SundogRender *render, SundogValue value)
{
    return value.kind == SUNDOG_VALUE_STRING
               ? value
               : sundog_value_string(sundog_value_print(render, value));
}

static SundogValue
keep_markup(SundogRender *render, SundogValue from, const SundogString *string)
{
    return sundog_value_string(sundog_string_with_markup(render, string, from.string->markup));
}

/* A filter that is a method of strings by the same name. */
static SundogValue
apply_method(SundogRender *render, SundogValue self, const SundogArguments *arguments,
             const char *method)
{
    SundogValue text = soft_string(render, self);
    bool is_unsafe;
    return sundog_template_find_method(text, method, &is_unsafe)(render, text, arguments);
}

#define METHOD_FILTER(name, method)                                          \
    static SundogValue filter_##name(SundogRender *render, SundogValue self, \
                                     const SundogArguments *arguments)       \
    {                                                                        \
        return apply_method(render, self, arguments, method);                \
    }
METHOD_FILTER(capitalize, "capitalize")
METHOD_FILTER(lower, "lower")
METHOD_FILTER(trim, "strip")
METHOD_FILTER(upper, "upper")
#undef METHOD_FILTER

static SundogValue
filter_abs(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    if (!sundog_value_is_number(self)) {
        if (sundog_value_require(render, self))
            sundog_render_fail(render, SUNDOG_TEMPLATE_ERROR_RENDER,
                               "bad operand type for abs(): '%s'", sundog_value_type_name(self));
        return SUNDOG_NONE;
    }
    bool negative = sundog_value_as_double(self) < 0;
    return negative ? sundog_template_negate(render, self) : self;
}

static SundogValue
filter_center(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    SundogValue width;
    if (!sundog_arguments_bind(render, arguments, "center", "| width", &width))
        return SUNDOG_NONE;
    if (width.kind == SUNDOG_VALUE_MISSING)
        width = sundog_value_integer(80);
    return apply_method(render, self, &(SundogArguments){.positional = &width, .n_positional = 1},
                        "center");
}

static SundogValue
filter_default(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    SundogValue given[2];
    if (!sundog_arguments_bind(render, arguments, "default", "| default_value boolean", given))
        return SUNDOG_NONE;
    bool replaced = self.kind == SUNDOG_VALUE_UNDEFINED ||
                    (sundog_value_is_true(given[1]) && !sundog_value_is_true(self));
    if (!replaced)
        return self;
    return given[0].kind == SUNDOG_VALUE_MISSING ? sundog_value_literal(render, "") : given[0];
}

static SundogValue
filter_escape(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    return sundog_value_string(sundog_string_escape(render, soft_string(render, self).string));
}

static SundogValue
filter_forceescape(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    return sundog_value_string(sundog_string_escape(render, sundog_value_print(render, self)));
}

static SundogValue
filter_safe(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    return sundog_value_string(
        sundog_string_with_markup(render, soft_string(render, self).string, true));
}

static SundogValue
filter_string(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    return soft_string(render, self);
}

static SundogValue
filter_format(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    SundogValue values;
    if (arguments->n_named > 0) {
        SundogDict *dict = sundog_dict_new(render);
        for (size_t i = 0; i < arguments->n_named; i++)
            sundog_dict_set(render, dict, sundog_value_literal(render, arguments->names[i]),
                            arguments->named[i]);
        values = (SundogValue){.kind = SUNDOG_VALUE_DICT, .dict = dict};
    } else {
        SundogList *tuple = sundog_list_new(render, SUNDOG_LIST_TUPLE);
        for (size_t i = 0; i < arguments->n_positional; i++)
            sundog_list_append(render, tuple, arguments->positional[i]);
        values = sundog_value_list(tuple);
    }
    return sundog_template_percent(render, soft_string(render, self).string, values);
}

static SundogValue
filter_replace(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    SundogValue given[3];
    if (!sundog_arguments_bind(render, arguments, "replace", "old new | count", given))
        return SUNDOG_NONE;
    int64_t count = given[2].kind == SUNDOG_VALUE_NONE
                        ? -1
                        : sundog_argument_integer(render, given[2], -1, "replace");
    return sundog_value_string(sundog_text_replace(render, sundog_value_print(render, self),
                                                   sundog_value_print(render, given[0]),
                                                   sundog_value_print(render, given[1]), count));
}

/* Words begin after white space and after - ( { [ <, which is not what str.title() thinks. */
static SundogValue
filter_title(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    SundogValue text = soft_string(render, self);
    SundogStringBuilder builder;
    sundog_string_builder_init(&builder, render);
    const char *bytes = sundog_string_text(render, text.string);
    bool begins_word = true;
    for (size_t i = 0; i < text.string->n_bytes && !sundog_render_failed(render);) {
        size_t next = (size_t)(g_utf8_next_char(bytes + i) - bytes);
        const SundogString *c = sundog_string_slice(render, text.string, i, next);
        sundog_string_builder_append_string(
            &builder, sundog_text_change_case(render, c,
                                              begins_word ? SUNDOG_CASE_UPPER : SUNDOG_CASE_LOWER));
        gunichar character = g_utf8_get_char(bytes + i);
        begins_word = sundog_char_is_space(character) ||
                      (character < 0x80 && strchr("-({[<", (int)character) != NULL);
        i = next;
    }
    return keep_markup(render, text, sundog_string_builder_finish(&builder));
}

static const SundogString *
indentation(SundogRender *render, SundogValue width)
{
    if (width.kind == SUNDOG_VALUE_STRING)
        return width.string;
    int64_t n = sundog_argument_integer(render, width, 4, "indent");
    return sundog_string_repeat(render, sundog_string_literal(render, " "), n);
}

static SundogValue
filter_indent(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    SundogValue given[3];
    if (!sundog_arguments_bind(render, arguments, "indent", "| width first blank", given))
        return SUNDOG_NONE;
    const SundogString *text = sundog_argument_string(render, self, "indent");
    const SundogString *indent = indentation(render, given[0]);
    bool blank = sundog_value_is_true(given[2]);
    /* As the original: a newline is added so that a last empty line counts as one. */
    const SundogString *newline = sundog_string_literal(render, "\n");
    SundogList *lines = sundog_text_split_lines(
        render,
        sundog_string_concat(render, sundog_string_with_markup(render, text, false), newline),
        false);
    SundogStringBuilder builder;
    sundog_string_builder_init(&builder, render);
    if (sundog_value_is_true(given[1]))
        sundog_string_builder_append_string(&builder, indent);
    for (size_t i = 0; i < lines->n_items && !sundog_render_failed(render); i++) {
        const SundogString *line = lines->items[i].string;
        if (i > 0)
            sundog_string_builder_append_string(&builder, newline);
        if (i > 0 && (line->n_bytes > 0 || blank))
            sundog_string_builder_append_string(&builder, indent);
        sundog_string_builder_append_string(&builder, line);
    }
    const SundogString *result = sundog_string_builder_finish(&builder);
    return sundog_value_string(sundog_string_with_markup(render, result, text->markup));
}

static SundogValue
filter_truncate(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    SundogValue given[4];
    if (!sundog_arguments_bind(render, arguments, "truncate", "| length killwords end leeway",
                               given))
        return SUNDOG_NONE;
    const SundogString *text = sundog_argument_string(render, self, "truncate");
    const SundogString *end = sundog_argument_optional_string(render, given[2], "truncate");
    int64_t length = sundog_argument_integer(render, given[0], 255, "truncate");
    int64_t leeway = sundog_argument_integer(render, given[3], 5, "truncate");
    if (end == NULL)
        end = sundog_string_literal(render, "...");
    int64_t kept = length - (int64_t)end->n_chars;
    if (kept < 0 || leeway < 0)
        sundog_render_fail(render, SUNDOG_TEMPLATE_ERROR_RENDER,
                           "truncate() needs a length of at least its end's");
    if (sundog_render_failed(render) || (int64_t)text->n_chars - leeway <= length)
        return self;
    const SundogString *head =
        sundog_string_slice(render, text, 0, sundog_string_offset(render, text, (size_t)kept));
    gssize space = sundog_value_is_true(given[1])
                       ? -1
                       : sundog_string_find(render, head, sundog_string_literal(render, " "), 0,
                                            head->n_bytes, true);
    if (space >= 0)
        head = sundog_string_slice(render, head, 0, (size_t)space);
    return sundog_value_string(sundog_string_concat(render, head, end));
}

static SundogValue
filter_urlencode(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    const SundogString *text = sundog_value_print(render, self);
    SundogStringBuilder builder;
    sundog_string_builder_init(&builder, render);
    const unsigned char *bytes = (const unsigned char *)sundog_string_text(render, text);
    for (size_t i = 0; i < text->n_bytes && !sundog_render_failed(render); i++) {
        char escaped[8];
        bool plain = g_ascii_isalnum(bytes[i]) || strchr("_.-~/", bytes[i]) != NULL;
        int n =
            g_snprintf(escaped, sizeof escaped, plain && bytes[i] != 0 ? "%c" : "%%%02X", bytes[i]);
        sundog_string_builder_append(&builder, escaped, (size_t)n, false);
    }
    return sundog_value_string(sundog_string_builder_finish(&builder));
}

static SundogValue
filter_wordcount(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    const SundogString *text = sundog_value_print(render, self);
    SundogStringCursor cursor;
    sundog_string_cursor_init(&cursor, render, text);
    gunichar c;
    bool trusted, in_word = false;
    int64_t n = 0;
    while (sundog_string_cursor_next(&cursor, &c, &trusted)) {
        bool is_word = c == '_' || g_unichar_isalnum(c);
        n += is_word && !in_word;
        in_word = is_word;
    }
    return sundog_value_integer(n);
}

/* A whole number in text as int() takes it: white space around, a sign, digits of the base. */
static bool
parse_integer(const char *text, unsigned base, int64_t *value)
{
    g_autofree char *stripped = g_strstrip(g_strdup(text));
    const char *digits = stripped + (*stripped == '+');
    if (!g_ascii_isalnum(digits[*digits == '-']))
        return false;
    bool prefixed = (base == 16 && g_ascii_strncasecmp(digits, "0x", 2) == 0) ||
                    (base == 8 && g_ascii_strncasecmp(digits, "0o", 2) == 0) ||
                    (base == 2 && g_ascii_strncasecmp(digits, "0b", 2) == 0);
    return base >= 2 && base <= 36 &&
           g_ascii_string_to_signed(digits + (prefixed ? 2 : 0), base, G_MININT64, G_MAXINT64,
                                    value, NULL);
}

static bool
parse_float(const char *text, double *value)
{
    g_autofree char *stripped = g_strstrip(g_strdup(text));
    char *end;
    *value = g_ascii_strtod(stripped, &end);
    /* strtod() knows hexadecimal, float() does not. */
    return end > stripped && *end == '\0' && strpbrk(stripped, "xX") == NULL;
}

static bool
as_float(SundogRender *render, SundogValue value, double *number)
{
    if (sundog_value_is_number(value)) {
        *number = sundog_value_as_double(value);
        return true;
    }
    return value.kind == SUNDOG_VALUE_STRING &&
           parse_float(sundog_string_text(render, value.string), number);
}

static SundogValue
filter_int(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    SundogValue given[2];
    if (!sundog_arguments_bind(render, arguments, "int", "| default base", given) ||
        !sundog_value_require(render, self))
        return SUNDOG_NONE;
    unsigned base = (unsigned)sundog_argument_integer(render, given[1], 10, "int");
    int64_t integer;
    double number;
    if (self.kind == SUNDOG_VALUE_STRING &&
        parse_integer(sundog_string_text(render, self.string), base, &integer))
        return sundog_value_integer(integer);
    if (self.kind == SUNDOG_VALUE_INTEGER || self.kind == SUNDOG_VALUE_BOOLEAN)
        return sundog_value_integer(sundog_value_as_integer(self));
    if (as_float(render, self, &number) && fabs(number) < 9e18)
        return sundog_value_integer((int64_t)number);
    return given[0].kind == SUNDOG_VALUE_MISSING ? sundog_value_integer(0) : given[0];
}

static SundogValue
filter_float(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    SundogValue fallback;
    double number;
    if (!sundog_arguments_bind(render, arguments, "float", "| default", &fallback) ||
        !sundog_value_require(render, self))
        return SUNDOG_NONE;
    if (as_float(render, self, &number))
        return sundog_value_float(number);
    return fallback.kind == SUNDOG_VALUE_MISSING ? sundog_value_float(0) : fallback;
}

/* To even at ties, on the decimal digits as Python rounds: through the exact decimal form. */
static double
round_common(double number, int precision)
{
    char text[512], format[16];
    if (precision < 0) {
        double scale = pow(10, -precision);
        return nearbyint(number / scale) * scale;
    }
    g_snprintf(format, sizeof format, "%%.%df", MIN(precision, 100));
    return g_ascii_strtod(g_ascii_formatd(text, sizeof text, format, number), NULL);
}

static SundogValue
filter_round(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    SundogValue given[2];
    if (!sundog_arguments_bind(render, arguments, "round", "| precision method", given) ||
        !sundog_value_require(render, self))
        return SUNDOG_NONE;
    int64_t asked = sundog_argument_integer(render, given[0], 0, "round");
    int precision = (int)CLAMP(asked, -300, 300);
    const SundogString *method = sundog_argument_optional_string(render, given[1], "round");
    bool ceiling = method != NULL && sundog_string_is(render, method, "ceil");
    bool floored = method != NULL && sundog_string_is(render, method, "floor");
    if (!sundog_value_is_number(self) ||
        (method != NULL && !ceiling && !floored && !sundog_string_is(render, method, "common"))) {
        sundog_render_fail(render, SUNDOG_TEMPLATE_ERROR_RENDER,
                           "round takes a number and common, ceil or floor");
        return SUNDOG_NONE;
    }
    double number = sundog_value_as_double(self);
    double scale = pow(10, precision);
    if (ceiling || floored)
        return sundog_value_float((ceiling ? ceil(number * scale) : floor(number * scale)) / scale);
    if (self.kind != SUNDOG_VALUE_FLOAT && precision >= 0)
        return sundog_value_integer(sundog_value_as_integer(self));
    double rounded = round_common(number, precision);
    return self.kind == SUNDOG_VALUE_FLOAT ? sundog_value_float(rounded)
                                           : sundog_value_integer((int64_t)rounded);
}

/* separators=(item, key), with json.dumps()'s defaults. */
static bool
set_separators(SundogRender *render, SundogValue given, SundogJsonStyle *style)
{
    bool one_line = style->indent == NULL;
    style->item_separator = sundog_string_literal(render, one_line ? ", " : ",");
    style->key_separator = sundog_string_literal(render, ": ");
    if (given.kind == SUNDOG_VALUE_MISSING || given.kind == SUNDOG_VALUE_NONE)
        return true;
    if (given.kind != SUNDOG_VALUE_LIST || given.list->n_items != 2) {
        sundog_render_fail(render, SUNDOG_TEMPLATE_ERROR_RENDER,
                           "tojson() separators must be a pair of strings");
        return false;
    }
    style->item_separator = sundog_argument_string(render, given.list->items[0], "tojson");
    style->key_separator = sundog_argument_string(render, given.list->items[1], "tojson");
    return !sundog_render_failed(render);
}

static SundogValue
filter_tojson(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    SundogValue given[4];
    if (!sundog_arguments_bind(render, arguments, "tojson",
                               "| ensure_ascii indent separators sort_keys", given))
        return SUNDOG_NONE;
    SundogJsonStyle style = {
        .ensure_ascii = sundog_value_is_true(given[0]),
        .sort_keys = sundog_value_is_true(given[3]),
    };
    if (given[1].kind != SUNDOG_VALUE_MISSING && given[1].kind != SUNDOG_VALUE_NONE)
        style.indent = indentation(render, given[1]);
    if (!set_separators(render, given[2], &style))
        return SUNDOG_NONE;
    return sundog_value_string(sundog_value_to_json(render, self, &style));
}

/* Not one of jinja2's, but some published templates read their tool calls with it. */
static SundogValue
filter_from_json(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    const SundogString *text = sundog_argument_string(render, self, "from_json");
    if (sundog_render_failed(render))
        return SUNDOG_NONE;
    g_autoptr(GError) error = NULL;
    g_autoptr(JsonNode) node =
        sundog_json_parse(sundog_string_text(render, text), text->n_bytes, &error);
    if (node == NULL) {
        sundog_render_fail(render, SUNDOG_TEMPLATE_ERROR_RENDER, "from_json: %s", error->message);
        return SUNDOG_NONE;
    }
    return sundog_value_from_json(render, node, sundog_string_is_trusted(render, text));
}

static const SundogCallableRow filters[] = {
    {"abs", filter_abs},
    {"capitalize", filter_capitalize},
    {"center", filter_center},
    {"d", filter_default},
    {"default", filter_default},
    {"e", filter_escape},
    {"escape", filter_escape},
    {"float", filter_float},
    {"forceescape", filter_forceescape},
    {"format", filter_format},
    {"from_json", filter_from_json},
    {"indent", filter_indent},
    {"int", filter_int},
    {"lower", filter_lower},
    {"replace", filter_replace},
    {"round", filter_round},
    {"safe", filter_safe},
    {"string", filter_string},
    {"title", filter_title},
    {"tojson", filter_tojson},
    {"trim", filter_trim},
    {"truncate", filter_truncate},
    {"upper", filter_upper},
    {"urlencode", filter_urlencode},
    {"wordcount", filter_wordcount},
};

SundogCallable
sundog_template_find_filter(const char *name)
{
    SundogCallable call = sundog_callable_find(filters, G_N_ELEMENTS(filters), name);
    return call != NULL ? call : sundog_template_find_sequence_filter(name);
}
