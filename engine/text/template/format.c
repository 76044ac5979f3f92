/* printf-style formatting and str.format(). */

#include "engine/text/template/evaluate.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MAX_WIDTH 10000

/* One conversion, in either of the two languages. */
typedef struct {
    bool left, center, zero, plus, space, alternate, comma;
    gunichar fill;
    bool escapes; /* the format is markup */
    int width;
    int precision; /* -1: none */
    char type;     /* '\0': the value's own */
} Conversion;

static void
append_padded(SundogStringBuilder *builder, const SundogString *text, const Conversion *conversion)
{
    size_t missing =
        (size_t)conversion->width > text->n_chars ? (size_t)conversion->width - text->n_chars : 0;
    size_t before = conversion->left ? 0 : conversion->center ? missing / 2 : missing;
    for (size_t i = 0; i < before; i++)
        sundog_string_builder_append_char(builder, conversion->fill, true);
    sundog_string_builder_append_string(builder, text);
    for (size_t i = before; i < missing; i++)
        sundog_string_builder_append_char(builder, conversion->fill, true);
}

static void
group_thousands(GString *digits)
{
    gssize n = (gssize)strspn(digits->str, "0123456789");
    for (gssize at = n - 3; at > 0; at -= 3)
        g_string_insert_c(digits, at, ',');
}

static void
append_number(SundogStringBuilder *builder, GString *digits, bool negative,
              const Conversion *conversion)
{
    const char *sign = negative ? "-" : conversion->plus ? "+" : conversion->space ? " " : "";
    if (conversion->comma)
        group_thousands(digits);
    while (conversion->zero && digits->len + strlen(sign) < (size_t)conversion->width)
        g_string_prepend_c(digits, '0');
    g_string_prepend(digits, sign);
    append_padded(builder, sundog_string_new(builder->render, digits->str, digits->len, true),
                  conversion);
}

static void
append_integer(SundogStringBuilder *builder, int64_t value, const Conversion *conversion)
{
    uint64_t magnitude = value < 0 ? -(uint64_t)value : (uint64_t)value;
    g_autoptr(GString) digits = g_string_new(NULL);
    switch (conversion->type) {
    case 'x':
        g_string_printf(
            digits, conversion->alternate ? "0x%" G_GINT64_MODIFIER "x" : "%" G_GINT64_MODIFIER "x",
            magnitude);
        break;
    case 'X':
        g_string_printf(
            digits, conversion->alternate ? "0X%" G_GINT64_MODIFIER "X" : "%" G_GINT64_MODIFIER "X",
            magnitude);
        break;
    case 'o':
        g_string_printf(digits, "%" G_GINT64_MODIFIER "o", magnitude);
        break;
    case 'b':
        for (uint64_t rest = magnitude; rest > 0 || digits->len == 0; rest >>= 1)
            g_string_prepend_c(digits, (char)('0' + (rest & 1)));
        break;
    default:
        g_string_printf(digits, "%" G_GUINT64_FORMAT, magnitude);
    }
    append_number(builder, digits, value < 0, conversion);
}

static void
append_float(SundogStringBuilder *builder, double value, const Conversion *conversion)
{
    g_autoptr(GString) digits = g_string_new(NULL);
    bool percent = conversion->type == '%';
    if (conversion->type == '\0' && conversion->precision < 0) {
        char text[40];
        sundog_float_print(fabs(value), text);
        g_string_append(digits, text);
    } else {
        /* The longest %f of a double has 309 digits before the point. */
        char text[512], format[16];
        int precision = conversion->precision < 0 ? 6 : MIN(conversion->precision, 100);
        snprintf(format, sizeof format, "%%.%d%c", precision,
                 percent                    ? 'f'
                 : conversion->type != '\0' ? conversion->type
                                            : 'g');
        g_string_append(digits, g_ascii_formatd(text, sizeof text, format,
                                                fabs(percent ? value * 100 : value)));
        if (percent)
            g_string_append_c(digits, '%');
    }
    append_number(builder, digits, signbit(value), conversion);
}

static bool
is_integer(SundogValue value)
{
    return value.kind == SUNDOG_VALUE_INTEGER || value.kind == SUNDOG_VALUE_BOOLEAN;
}

static void
fail_conversion(SundogRender *render, char type, SundogValue value)
{
    sundog_render_fail(render, SUNDOG_TEMPLATE_ERROR_RENDER,
                       "format '%c' does not take a value of type %s", type,
                       sundog_value_type_name(value));
}

static const SundogString *
cut(SundogRender *render, const SundogString *text, int precision)
{
    if (precision < 0)
        return text;
    return sundog_string_slice(render, text, 0,
                               sundog_string_offset(render, text, (size_t)precision));
}

static const SundogString *
repr_string(SundogRender *render, SundogValue value)
{
    SundogStringBuilder builder;
    sundog_string_builder_init(&builder, render);
    sundog_value_repr(&builder, value);
    return sundog_string_builder_finish(&builder);
}

/* The conversions of `%`. */
static void
append_percent(SundogStringBuilder *builder, SundogValue value, Conversion *conversion)
{
    SundogRender *render = builder->render;
    char type = conversion->type;
    if (type == 's' || type == 'r' || type == 'a') {
        const SundogString *text =
            type == 's' ? sundog_value_print(render, value) : repr_string(render, value);
        if (conversion->escapes)
            text = sundog_string_escape(render, text);
        append_padded(builder, cut(render, text, conversion->precision), conversion);
    } else if (strchr("diuxXo", type) != NULL && sundog_value_is_number(value)) {
        if (value.kind == SUNDOG_VALUE_FLOAT && !(fabs(value.number) < 9e18))
            fail_conversion(render, type, value);
        else
            append_integer(builder,
                           value.kind == SUNDOG_VALUE_FLOAT ? (int64_t)value.number
                                                            : sundog_value_as_integer(value),
                           conversion);
    } else if (strchr("eEfFgG", type) != NULL && sundog_value_is_number(value)) {
        append_float(builder, sundog_value_as_double(value), conversion);
    } else if (type == 'c' && value.kind == SUNDOG_VALUE_STRING && value.string->n_chars == 1) {
        append_padded(builder, value.string, conversion);
    } else {
        fail_conversion(render, type, value);
    }
}

/* A decimal number at *at, bounded, which moves past it; 0 where none stands there. */
static int
scan_number(const char **at, const char *end)
{
    int number = 0;
    for (; *at < end && g_ascii_isdigit(**at); (*at)++)
        number = MIN(number * 10 + (**at - '0'), MAX_WIDTH);
    return number;
}

static const char *
scan_flags(const char *at, const char *end, Conversion *conversion)
{
    for (; at < end; at++)
        if (*at == '-')
            conversion->left = true;
        else if (*at == '0')
            conversion->zero = true;
        else if (*at == '+')
            conversion->plus = true;
        else if (*at == ' ')
            conversion->space = true;
        else if (*at == '#')
            conversion->alternate = true;
        else
            break;
    return at;
}

/* The values that a format takes in turn, or a mapping that it names keys of. */
typedef struct {
    SundogRender *render;
    SundogValue values;
    const SundogValue *items;
    size_t n_items;
    size_t next;
    bool escapes;
} PercentSource;

static SundogValue
next_value(PercentSource *source)
{
    if (source->next < source->n_items)
        return source->items[source->next++];
    sundog_render_fail(source->render, SUNDOG_TEMPLATE_ERROR_RENDER,
                       "not enough arguments for format string");
    return SUNDOG_NONE;
}

static SundogValue
named_value(PercentSource *source, const char *name, size_t n_bytes)
{
    source->next = source->n_items;
    SundogValue key = sundog_value_string(sundog_string_new(source->render, name, n_bytes, true));
    SundogValue *value = source->values.kind == SUNDOG_VALUE_DICT
                             ? sundog_dict_get(source->render, source->values.dict, key)
                             : NULL;
    if (value != NULL)
        return *value;
    sundog_render_fail(source->render, SUNDOG_TEMPLATE_ERROR_RENDER,
                       "the format's values have no key '%.*s'", (int)n_bytes, name);
    return SUNDOG_NONE;
}

static const char *
convert_percent(SundogStringBuilder *builder, PercentSource *source, const char *at,
                const char *end)
{
    Conversion conversion = {.fill = ' ', .precision = -1, .escapes = source->escapes};
    const char *name = NULL;
    size_t n_name = 0;
    if (at < end && *at == '(') {
        name = at + 1;
        const char *close = memchr(at, ')', (size_t)(end - at));
        n_name = close != NULL ? (size_t)(close - name) : 0;
        at = close != NULL ? close + 1 : end;
    }
    at = scan_flags(at, end, &conversion);
    conversion.width = scan_number(&at, end);
    if (at < end && *at == '.') {
        at++;
        conversion.precision = scan_number(&at, end);
    }
    if (at == end) {
        sundog_render_fail(builder->render, SUNDOG_TEMPLATE_ERROR_RENDER, "incomplete format");
        return end;
    }
    conversion.type = *at;
    SundogValue value = name != NULL ? named_value(source, name, n_name) : next_value(source);
    if (!sundog_render_failed(builder->render))
        append_percent(builder, value, &conversion);
    return at + 1;
}

SundogValue
sundog_template_percent(SundogRender *render, const SundogString *format, SundogValue value)
{
    bool is_tuple = value.kind == SUNDOG_VALUE_LIST && value.list->flavor == SUNDOG_LIST_TUPLE;
    PercentSource source = {render,
                            value,
                            is_tuple ? value.list->items : &value,
                            is_tuple ? value.list->n_items : 1,
                            0,
                            format->markup};
    const char *text = sundog_string_text(render, format);
    const char *end = text + format->n_bytes;
    SundogStringBuilder builder;
    sundog_string_builder_init(&builder, render);
    for (const char *at = text; at < end && !sundog_render_failed(render);) {
        const char *percent = memchr(at, '%', (size_t)(end - at));
        const char *stop = percent != NULL ? percent : end;
        sundog_string_builder_append_slice(&builder, format, (size_t)(at - text),
                                           (size_t)(stop - text));
        at = stop;
        if (at + 1 < end && at[1] == '%') {
            sundog_string_builder_append_slice(&builder, format, (size_t)(at - text),
                                               (size_t)(at - text) + 1);
            at += 2;
        } else if (at < end) {
            at = convert_percent(&builder, &source, at + 1, end);
        }
    }
    if (source.next < source.n_items && value.kind != SUNDOG_VALUE_DICT)
        sundog_render_fail(render, SUNDOG_TEMPLATE_ERROR_RENDER,
                           "not all arguments converted during string formatting");
    return sundog_value_string(
        sundog_string_with_markup(render, sundog_string_builder_finish(&builder), format->markup));
}

/* [[fill]align][sign][#][0][width][,][.precision][type] */
static bool
parse_spec(const char *at, const char *end, Conversion *conversion, bool *has_align)
{
    const char *after_fill = at < end ? g_utf8_next_char(at) : at;
    *has_align = false;
    if (after_fill < end && strchr("<>^=", *after_fill) != NULL) {
        conversion->fill = g_utf8_get_char(at);
        at = after_fill;
    }
    if (at < end && strchr("<>^=", *at) != NULL) {
        *has_align = true;
        conversion->left = *at == '<';
        conversion->center = *at == '^';
        conversion->zero = *at == '=';
        at++;
    }
    for (; at < end && strchr("+- #", *at) != NULL; at++) {
        conversion->plus |= *at == '+';
        conversion->space |= *at == ' ';
        conversion->alternate |= *at == '#';
    }
    if (at < end && *at == '0' && !*has_align) {
        conversion->zero = *has_align = true;
        at++;
    }
    conversion->width = scan_number(&at, end);
    if (at < end && *at == ',') {
        conversion->comma = true;
        at++;
    }
    if (at < end && *at == '.') {
        at++;
        conversion->precision = scan_number(&at, end);
    }
    if (at < end && g_ascii_isprint(*at))
        conversion->type = *at++;
    return at == end;
}

static void
append_formatted(SundogStringBuilder *builder, SundogValue value, const char *spec,
                 const char *spec_end)
{
    SundogRender *render = builder->render;
    Conversion conversion = {.fill = ' ', .precision = -1};
    bool has_align;
    if (!parse_spec(spec, spec_end, &conversion, &has_align)) {
        sundog_render_fail(render, SUNDOG_TEMPLATE_ERROR_RENDER, "invalid format specifier '%.*s'",
                           (int)(spec_end - spec), spec);
        return;
    }
    char type = conversion.type;
    bool is_float = value.kind == SUNDOG_VALUE_FLOAT || (type != '\0' && strchr("eEfFgG%", type));
    if (spec == spec_end || (value.kind == SUNDOG_VALUE_STRING && (type == '\0' || type == 's'))) {
        conversion.left |= !has_align;
        append_padded(builder, cut(render, sundog_value_print(render, value), conversion.precision),
                      &conversion);
    } else if (is_integer(value) && !is_float && (type == '\0' || strchr("dxXobn", type))) {
        append_integer(builder, sundog_value_as_integer(value), &conversion);
    } else if (sundog_value_is_number(value) && is_float &&
               (type == '\0' || strchr("eEfFgG%", type))) {
        append_float(builder, sundog_value_as_double(value), &conversion);
    } else {
        fail_conversion(render, type != '\0' ? type : 's', value);
    }
}

typedef struct {
    SundogRender *render;
    const SundogArguments *arguments;
    size_t next; /* of fields without a number */
} FormatSource;

static SundogValue
format_argument(FormatSource *source, const char *name, size_t n)
{
    const SundogArguments *arguments = source->arguments;
    if (n == 0 || g_ascii_isdigit(*name)) {
        size_t index = n == 0 ? source->next++ : (size_t)g_ascii_strtoull(name, NULL, 10);
        if (index < arguments->n_positional)
            return arguments->positional[index];
    }
    for (size_t i = 0; i < arguments->n_named; i++)
        if (strlen(arguments->names[i]) == n && memcmp(arguments->names[i], name, n) == 0)
            return arguments->named[i];
    sundog_render_fail(source->render, SUNDOG_TEMPLATE_ERROR_RENDER,
                       "format() was given no argument '%.*s'", (int)n, name);
    return SUNDOG_NONE;
}

/* name, then any of .attribute and [key]. */
static SundogValue
format_field(FormatSource *source, const char *at, const char *end)
{
    SundogRender *render = source->render;
    size_t n = 0;
    while (at + n < end && at[n] != '.' && at[n] != '[')
        n++;
    SundogValue value = format_argument(source, at, n);
    for (at += n; at < end && !sundog_render_failed(render); at += n) {
        bool is_key = *at++ == '[';
        n = 0;
        while (at + n < end && (is_key ? at[n] != ']' : at[n] != '.' && at[n] != '['))
            n++;
        const SundogString *name = sundog_string_new(render, at, n, true);
        const char *text = sundog_string_text(render, name);
        bool is_number = n > 0 && text[strspn(text, "0123456789")] == '\0';
        if (!is_key)
            value = sundog_template_get_attribute(render, value, name);
        else
            value = sundog_template_get_item(
                render, value,
                is_number ? sundog_value_integer(g_ascii_strtoll(text, NULL, 10))
                          : sundog_value_string(name));
        n += is_key && at + n < end;
    }
    return value;
}

static void
convert_field(SundogStringBuilder *builder, FormatSource *source, const char *at, const char *end)
{
    const char *colon = memchr(at, ':', (size_t)(end - at));
    const char *field_end = colon != NULL ? colon : end;
    char conversion = '\0';
    if (field_end - at >= 2 && field_end[-2] == '!') {
        conversion = field_end[-1];
        field_end -= 2;
    }
    SundogValue value = format_field(source, at, field_end);
    if (sundog_render_failed(builder->render))
        return;
    if (conversion == 'r')
        value = sundog_value_string(repr_string(builder->render, value));
    else if (conversion == 's')
        value = sundog_value_string(sundog_value_print(builder->render, value));
    append_formatted(builder, value, colon != NULL ? colon + 1 : end, end);
}

/* Doubled braces stand for themselves. */
SundogValue
sundog_template_format(SundogRender *render, const SundogString *format,
                       const SundogArguments *arguments)
{
    FormatSource source = {render, arguments, 0};
    const char *text = sundog_string_text(render, format);
    const char *end = text + format->n_bytes;
    SundogStringBuilder builder;
    sundog_string_builder_init(&builder, render);
    for (const char *at = text; at < end && !sundog_render_failed(render);) {
        size_t n = strcspn(at, "{}");
        n = MIN(n, (size_t)(end - at));
        if (n == 0 && at + 1 < end && at[1] == *at) {
            sundog_string_builder_append_slice(&builder, format, (size_t)(at - text),
                                               (size_t)(at - text) + 1);
            at += 2;
            continue;
        }
        if (n == 0 && *at != '\0') {
            const char *close = *at == '{' ? memchr(at, '}', (size_t)(end - at)) : NULL;
            if (close == NULL)
                sundog_render_fail(render, SUNDOG_TEMPLATE_ERROR_RENDER,
                                   "single '%c' encountered in format string", *at);
            else
                convert_field(&builder, &source, at + 1, close);
            at = close != NULL ? close + 1 : end;
            continue;
        }
        n = MAX(n, 1);
        sundog_string_builder_append_slice(&builder, format, (size_t)(at - text),
                                           (size_t)(at - text) + n);
        at += n;
    }
    return sundog_value_string(
        sundog_string_with_markup(render, sundog_string_builder_finish(&builder), format->markup));
}
