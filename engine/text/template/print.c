/* Values as text. */

#include "engine/text/template/print.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Digits d.ddd of the shortest form and its decimal exponent. */
static int
shortest_digits(double number, char *digits)
{
    char text[40];
    for (int precision = 0; precision <= 17; precision++) {
        char format[8];
        snprintf(format, sizeof format, "%%.%de", precision);
        g_ascii_formatd(text, sizeof text, format, number);
        if (g_ascii_strtod(text, NULL) == number)
            break;
    }
    char *e = strchr(text, 'e');
    size_t n = 0;
    for (char *c = text; c < e; c++)
        if (g_ascii_isdigit(*c))
            digits[n++] = *c;
    digits[n] = '\0';
    return atoi(e + 1);
}

static void
print_exponent_form(const char *digits, int exponent, char *out)
{
    int n = sprintf(out, "%c", digits[0]);
    if (digits[1] != '\0')
        n += sprintf(out + n, ".%s", digits + 1);
    sprintf(out + n, "e%c%02d", exponent < 0 ? '-' : '+', abs(exponent));
}

static void
print_point_form(const char *digits, int exponent, char *out)
{
    int n_digits = (int)strlen(digits);
    if (exponent < 0)
        sprintf(out, "0.%.*s%s", -exponent - 1, "0000", digits);
    else if (n_digits <= exponent + 1)
        sprintf(out, "%s%.*s.0", digits, exponent + 1 - n_digits, "0000000000000000");
    else
        sprintf(out, "%.*s.%s", exponent + 1, digits, digits + exponent + 1);
}

void
sundog_float_print(double number, char *out)
{
    if (isnan(number) || isinf(number)) {
        strcpy(out, isnan(number) ? "nan" : number < 0 ? "-inf" : "inf");
        return;
    }
    if (signbit(number))
        *out++ = '-';
    char digits[24];
    int exponent = shortest_digits(fabs(number), digits);
    /* Python's repr: exponents from -4 to 15 are written out. */
    if (exponent < -4 || exponent >= 16)
        print_exponent_form(digits, exponent, out);
    else
        print_point_form(digits, exponent, out);
}

/* What Python's str.isprintable() denies is escaped in a repr. */
static bool
is_printable(gunichar c)
{
    if (c < 0x7f)
        return c >= 0x20;
    switch (g_unichar_type(c)) {
    case G_UNICODE_CONTROL:
    case G_UNICODE_FORMAT:
    case G_UNICODE_UNASSIGNED:
    case G_UNICODE_PRIVATE_USE:
    case G_UNICODE_SURROGATE:
    case G_UNICODE_LINE_SEPARATOR:
    case G_UNICODE_PARAGRAPH_SEPARATOR:
    case G_UNICODE_SPACE_SEPARATOR:
        return false;
    default:
        return true;
    }
}

static void append_formatted(SundogStringBuilder *builder, bool trusted, const char *format, ...)
    G_GNUC_PRINTF(3, 4);

static void
append_formatted(SundogStringBuilder *builder, bool trusted, const char *format, ...)
{
    char text[64];
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    sundog_string_builder_append(builder, text, (size_t)n, trusted);
}

static void
repr_char(SundogStringBuilder *builder, gunichar c, char quote, bool trusted)
{
    if (c == '\n')
        append_formatted(builder, trusted, "\\n");
    else if (c == '\r')
        append_formatted(builder, trusted, "\\r");
    else if (c == '\t')
        append_formatted(builder, trusted, "\\t");
    else if (c == '\\' || c == (gunichar)quote)
        append_formatted(builder, trusted, "\\%c", (char)c);
    else if (is_printable(c))
        sundog_string_builder_append_char(builder, c, trusted);
    else
        append_formatted(builder, trusted,
                         c < 0x100     ? "\\x%02x"
                         : c < 0x10000 ? "\\u%04x"
                                       : "\\U%08x",
                         c);
}

static void
repr_string(SundogStringBuilder *builder, const SundogString *string)
{
    const char *text = sundog_string_text(builder->render, string);
    bool has_single = memchr(text, '\'', string->n_bytes) != NULL;
    bool has_double = memchr(text, '"', string->n_bytes) != NULL;
    char quote = has_single && !has_double ? '"' : '\'';
    append_formatted(builder, false, string->markup ? "Markup(%c" : "%c", quote);
    SundogStringCursor cursor;
    sundog_string_cursor_init(&cursor, builder->render, string);
    gunichar c;
    bool trusted;
    while (sundog_string_cursor_next(&cursor, &c, &trusted) &&
           !sundog_render_failed(builder->render))
        repr_char(builder, c, quote, trusted);
    append_formatted(builder, false, string->markup ? "%c)" : "%c", quote);
}

static void
repr_list(SundogStringBuilder *builder, const SundogList *list)
{
    static const char *const opening[] = {
        "[", "(", "range(", "dict_keys([", "dict_values([", "dict_items([", "<generator object>"};
    static const char *const closing[] = {"]", ")", ")", "])", "])", "])", ""};
    append_formatted(builder, false, "%s", opening[list->flavor]);
    if (list->flavor == SUNDOG_LIST_RANGE) {
        int64_t start = list->n_items > 0 ? list->items[0].integer : 0;
        append_formatted(builder, false, "%" G_GINT64_FORMAT ", %" G_GINT64_FORMAT, start,
                         start + (int64_t)list->n_items);
    } else if (list->flavor != SUNDOG_LIST_GENERATOR) {
        for (size_t i = 0; i < list->n_items && !sundog_render_failed(builder->render); i++) {
            append_formatted(builder, false, i > 0 ? ", " : "");
            sundog_value_repr(builder, list->items[i]);
        }
        if (list->flavor == SUNDOG_LIST_TUPLE && list->n_items == 1)
            append_formatted(builder, false, ",");
    }
    append_formatted(builder, false, "%s", closing[list->flavor]);
}

static void
repr_dict(SundogStringBuilder *builder, const SundogDict *dict)
{
    append_formatted(builder, false, "{");
    for (size_t i = 0; i < dict->n_entries && !sundog_render_failed(builder->render); i++) {
        append_formatted(builder, false, i > 0 ? ", " : "");
        sundog_value_repr(builder, dict->entries[i].key);
        append_formatted(builder, false, ": ");
        sundog_value_repr(builder, dict->entries[i].value);
    }
    append_formatted(builder, false, "}");
}

/* Numbers, truth values and None hold no one's text and count as the template's. */
static void
repr_scalar(SundogStringBuilder *builder, SundogValue value)
{
    char number[40];
    switch (value.kind) {
    case SUNDOG_VALUE_NONE:
        sundog_string_builder_append_literal(builder, "None");
        break;
    case SUNDOG_VALUE_BOOLEAN:
        sundog_string_builder_append_literal(builder, value.boolean ? "True" : "False");
        break;
    case SUNDOG_VALUE_INTEGER:
        append_formatted(builder, true, "%" G_GINT64_FORMAT, value.integer);
        break;
    case SUNDOG_VALUE_FLOAT:
        sundog_float_print(value.number, number);
        sundog_string_builder_append_literal(builder, number);
        break;
    case SUNDOG_VALUE_UNDEFINED:
        sundog_string_builder_append_literal(builder, "Undefined");
        break;
    default:
        append_formatted(builder, true, "<%s object>", sundog_value_type_name(value));
    }
}

void
sundog_value_repr(SundogStringBuilder *builder, SundogValue value)
{
    if (sundog_render_enter(builder->render)) {
        if (value.kind == SUNDOG_VALUE_STRING)
            repr_string(builder, value.string);
        else if (value.kind == SUNDOG_VALUE_LIST)
            repr_list(builder, value.list);
        else if (value.kind == SUNDOG_VALUE_DICT)
            repr_dict(builder, value.dict);
        else
            repr_scalar(builder, value);
    }
    sundog_render_leave(builder->render);
}

const SundogString *
sundog_value_print(SundogRender *render, SundogValue value)
{
    if (value.kind == SUNDOG_VALUE_STRING)
        return sundog_string_with_markup(render, value.string, false);
    SundogStringBuilder builder;
    sundog_string_builder_init(&builder, render);
    if (value.kind != SUNDOG_VALUE_UNDEFINED)
        sundog_value_repr(&builder, value);
    return sundog_string_builder_finish(&builder);
}

char *
sundog_value_dup_repr(SundogRender *render, SundogValue value)
{
    SundogStringBuilder builder;
    sundog_string_builder_init(&builder, render);
    sundog_value_repr(&builder, value);
    return g_strdup(sundog_string_text(render, sundog_string_builder_finish(&builder)));
}

static void json_value(SundogStringBuilder *builder, SundogValue value,
                       const SundogJsonStyle *style, unsigned level);

static void
json_char(SundogStringBuilder *builder, gunichar c, bool trusted, bool ensure_ascii)
{
    static const char names[] = "\bb\ff\nn\rr\tt\"\"\\\\";
    const char *name = c != 0 && c < 0x80 ? strchr(names, (int)c) : NULL;
    if (name != NULL && (c < 0x20 || c == '"' || c == '\\'))
        append_formatted(builder, trusted, "\\%c", name[1]);
    else if (c < 0x20 || (ensure_ascii && c > 0x7e && c < 0x10000))
        append_formatted(builder, trusted, "\\u%04x", c);
    else if (ensure_ascii && c >= 0x10000)
        append_formatted(builder, trusted, "\\u%04x\\u%04x", 0xd800 + ((c - 0x10000) >> 10),
                         0xdc00 + ((c - 0x10000) & 0x3ff));
    else
        sundog_string_builder_append_char(builder, c, trusted);
}

static bool
json_is_plain(gunichar c, bool ensure_ascii)
{
    return c >= 0x20 && c != '"' && c != '\\' && !(ensure_ascii && c > 0x7e);
}

/* Stretches that need no escape are copied whole: most of a tool's description is one. */
static void
json_string(SundogStringBuilder *builder, const SundogString *string, bool ensure_ascii)
{
    append_formatted(builder, false, "\"");
    SundogStringCursor cursor;
    sundog_string_cursor_init(&cursor, builder->render, string);
    gunichar c;
    bool trusted;
    size_t copied = 0;
    for (size_t at = 0; sundog_string_cursor_next(&cursor, &c, &trusted); at = cursor.position) {
        if (json_is_plain(c, ensure_ascii))
            continue;
        sundog_string_builder_append_slice(builder, string, copied, at);
        json_char(builder, c, trusted, ensure_ascii);
        copied = cursor.position;
    }
    sundog_string_builder_append_slice(builder, string, copied, string->n_bytes);
    append_formatted(builder, false, "\"");
}

static void
json_break(SundogStringBuilder *builder, const SundogJsonStyle *style, unsigned level)
{
    if (style->indent == NULL)
        return;
    append_formatted(builder, false, "\n");
    const char *indent = sundog_string_text(builder->render, style->indent);
    for (unsigned i = 0; i < level; i++)
        sundog_string_builder_append(builder, indent, style->indent->n_bytes, false);
}

static void
json_punctuation(SundogStringBuilder *builder, const SundogString *text)
{
    sundog_string_builder_append(builder, sundog_string_text(builder->render, text), text->n_bytes,
                                 false);
}

static void
json_list(SundogStringBuilder *builder, const SundogList *list, const SundogJsonStyle *style,
          unsigned level)
{
    append_formatted(builder, false, "[");
    for (size_t i = 0; i < list->n_items && !sundog_render_failed(builder->render); i++) {
        if (i > 0)
            json_punctuation(builder, style->item_separator);
        json_break(builder, style, level + 1);
        json_value(builder, list->items[i], style, level + 1);
    }
    if (list->n_items > 0)
        json_break(builder, style, level);
    append_formatted(builder, false, "]");
}

static void
json_scalar(SundogStringBuilder *builder, SundogValue value)
{
    char number[40];
    switch (value.kind) {
    case SUNDOG_VALUE_NONE:
        append_formatted(builder, false, "null");
        break;
    case SUNDOG_VALUE_BOOLEAN:
        append_formatted(builder, false, value.boolean ? "true" : "false");
        break;
    case SUNDOG_VALUE_INTEGER:
        append_formatted(builder, false, "%" G_GINT64_FORMAT, value.integer);
        break;
    case SUNDOG_VALUE_FLOAT:
        sundog_float_print(value.number, number);
        if (isfinite(value.number))
            append_formatted(builder, false, "%s", number);
        else
            append_formatted(builder, false, "%s",
                             isnan(value.number) ? "NaN"
                             : value.number < 0  ? "-Infinity"
                                                 : "Infinity");
        break;
    default:
        sundog_render_fail(builder->render, SUNDOG_TEMPLATE_ERROR_RENDER,
                           "Object of type %s is not JSON serializable",
                           sundog_value_type_name(value));
    }
}

static void
json_key(SundogStringBuilder *builder, SundogValue key, const SundogJsonStyle *style)
{
    if (key.kind == SUNDOG_VALUE_STRING) {
        json_string(builder, key.string, style->ensure_ascii);
    } else if (key.kind == SUNDOG_VALUE_LIST) {
        sundog_render_fail(builder->render, SUNDOG_TEMPLATE_ERROR_RENDER,
                           "keys must be str, int, float, bool or None, not tuple");
    } else {
        append_formatted(builder, false, "\"");
        json_scalar(builder, key);
        append_formatted(builder, false, "\"");
    }
}

static int
compare_keys(gconstpointer a, gconstpointer b, gpointer render)
{
    return sundog_value_compare(render, ((const SundogDictEntry *)a)->key,
                                ((const SundogDictEntry *)b)->key, "<");
}

static const SundogDictEntry *
sorted_entries(SundogRender *render, const SundogDict *dict)
{
    SundogDictEntry *entries = sundog_render_take_array(render, SundogDictEntry, dict->n_entries);
    if (dict->n_entries > 0)
        memcpy(entries, dict->entries, dict->n_entries * sizeof *entries);
    g_qsort_with_data(entries, (int)dict->n_entries, sizeof *entries, compare_keys, render);
    return entries;
}

static void
json_dict(SundogStringBuilder *builder, const SundogDict *dict, const SundogJsonStyle *style,
          unsigned level)
{
    const SundogDictEntry *entries =
        style->sort_keys ? sorted_entries(builder->render, dict) : dict->entries;
    append_formatted(builder, false, "{");
    for (size_t i = 0; i < dict->n_entries && !sundog_render_failed(builder->render); i++) {
        if (i > 0)
            json_punctuation(builder, style->item_separator);
        json_break(builder, style, level + 1);
        json_key(builder, entries[i].key, style);
        json_punctuation(builder, style->key_separator);
        json_value(builder, entries[i].value, style, level + 1);
    }
    if (dict->n_entries > 0)
        json_break(builder, style, level);
    append_formatted(builder, false, "}");
}

static void
json_value(SundogStringBuilder *builder, SundogValue value, const SundogJsonStyle *style,
           unsigned level)
{
    if (sundog_render_enter(builder->render)) {
        if (value.kind == SUNDOG_VALUE_STRING)
            json_string(builder, value.string, style->ensure_ascii);
        else if (value.kind == SUNDOG_VALUE_LIST && value.list->flavor <= SUNDOG_LIST_TUPLE)
            json_list(builder, value.list, style, level);
        else if (value.kind == SUNDOG_VALUE_DICT)
            json_dict(builder, value.dict, style, level);
        else
            json_scalar(builder, value);
    }
    sundog_render_leave(builder->render);
}

const SundogString *
sundog_value_to_json(SundogRender *render, SundogValue value, const SundogJsonStyle *style)
{
    SundogStringBuilder builder;
    sundog_string_builder_init(&builder, render);
    json_value(&builder, value, style, 0);
    return sundog_string_builder_finish(&builder);
}
