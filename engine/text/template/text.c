/* Operations on strings that keep the provenance of every character. */

#include "engine/text/template/text.h"

#include <string.h>

const SundogString *
sundog_argument_string(SundogRender *render, SundogValue value, const char *function)
{
    if (value.kind == SUNDOG_VALUE_STRING)
        return value.string;
    if (sundog_value_require(render, value))
        sundog_render_fail(render, SUNDOG_TEMPLATE_ERROR_RENDER,
                           "%s() argument must be str, not %s", function,
                           sundog_value_type_name(value));
    return sundog_string_literal(render, "");
}

const SundogString *
sundog_argument_optional_string(SundogRender *render, SundogValue value, const char *function)
{
    if (value.kind == SUNDOG_VALUE_MISSING || value.kind == SUNDOG_VALUE_NONE)
        return NULL;
    return sundog_argument_string(render, value, function);
}

int64_t
sundog_argument_integer(SundogRender *render, SundogValue value, int64_t fallback,
                        const char *function)
{
    if (value.kind == SUNDOG_VALUE_MISSING)
        return fallback;
    if (value.kind == SUNDOG_VALUE_INTEGER || value.kind == SUNDOG_VALUE_BOOLEAN)
        return sundog_value_as_integer(value);
    if (sundog_value_require(render, value))
        sundog_render_fail(render, SUNDOG_TEMPLATE_ERROR_RENDER,
                           "%s() argument must be an integer, not %s", function,
                           sundog_value_type_name(value));
    return fallback;
}

static bool
is_stripped(const char *at, const char *characters, size_t n_bytes)
{
    if (characters == NULL)
        return sundog_char_is_space(g_utf8_get_char(at));
    size_t n = (size_t)(g_utf8_next_char(at) - at);
    for (size_t i = 0; i < n_bytes;
         i += (size_t)(g_utf8_next_char(characters + i) - (characters + i)))
        if (n_bytes - i >= n && memcmp(characters + i, at, n) == 0)
            return true;
    return false;
}

const SundogString *
sundog_text_strip(SundogRender *render, const SundogString *string, const SundogString *characters,
                  unsigned sides)
{
    const char *text = sundog_string_text(render, string);
    const char *set = characters != NULL ? sundog_string_text(render, characters) : NULL;
    size_t n_set = characters != NULL ? characters->n_bytes : 0;
    const char *from = text;
    const char *to = text + string->n_bytes;
    while ((sides & SUNDOG_STRIP_LEFT) && from < to && is_stripped(from, set, n_set) &&
           sundog_render_step(render, n_set / 64))
        from = g_utf8_next_char(from);
    while ((sides & SUNDOG_STRIP_RIGHT) && from < to && sundog_render_step(render, n_set / 64)) {
        const char *previous = g_utf8_find_prev_char(from, to);
        if (!is_stripped(previous, set, n_set))
            break;
        to = previous;
    }
    return sundog_string_slice(render, string, (size_t)(from - text), (size_t)(to - text));
}

/* Between all characters, and at both ends: what replacing the empty string means. */
static void
replace_nothing(SundogStringBuilder *builder, const SundogString *string,
                const SundogString *replacement, int64_t count)
{
    const char *text = sundog_string_text(builder->render, string);
    size_t at = 0;
    for (; count != 0 && !sundog_render_failed(builder->render); count--) {
        sundog_string_builder_append_string(builder, replacement);
        if (at == string->n_bytes)
            break;
        size_t next = (size_t)(g_utf8_next_char(text + at) - text);
        sundog_string_builder_append_slice(builder, string, at, next);
        at = next;
    }
    sundog_string_builder_append_slice(builder, string, at, string->n_bytes);
}

const SundogString *
sundog_text_replace(SundogRender *render, const SundogString *string, const SundogString *old,
                    const SundogString *replacement, int64_t count)
{
    SundogStringBuilder builder;
    sundog_string_builder_init(&builder, render);
    if (old->n_bytes == 0) {
        replace_nothing(&builder, string, replacement, count);
        return sundog_string_builder_finish(&builder);
    }
    size_t at = 0;
    for (; count != 0 && !sundog_render_failed(render); count--) {
        gssize found = sundog_string_find(render, string, old, at, string->n_bytes, false);
        if (found < 0)
            break;
        sundog_string_builder_append_slice(&builder, string, at, (size_t)found);
        sundog_string_builder_append_string(&builder, replacement);
        at = (size_t)found + old->n_bytes;
        sundog_render_step(render, 1);
    }
    sundog_string_builder_append_slice(&builder, string, at, string->n_bytes);
    return sundog_string_builder_finish(&builder);
}

static void
append_slice(SundogRender *render, SundogList *list, const SundogString *string, size_t from,
             size_t to)
{
    sundog_list_append(render, list,
                       sundog_value_string(sundog_string_slice(render, string, from, to)));
}

static void
reverse(SundogList *list)
{
    for (size_t i = 0; i < list->n_items / 2; i++) {
        SundogValue other = list->items[list->n_items - 1 - i];
        list->items[list->n_items - 1 - i] = list->items[i];
        list->items[i] = other;
    }
}

static SundogList *
split_at(SundogRender *render, const SundogString *string, const SundogString *separator,
         int64_t max, bool from_right)
{
    SundogList *parts = sundog_list_new(render, SUNDOG_LIST_LIST);
    size_t from = 0, to = string->n_bytes;
    for (; max != 0 && !sundog_render_failed(render); max--) {
        gssize found = sundog_string_find(render, string, separator, from, to, from_right);
        if (found < 0)
            break;
        size_t after = (size_t)found + separator->n_bytes;
        if (from_right) {
            append_slice(render, parts, string, after, to);
            to = (size_t)found;
        } else {
            append_slice(render, parts, string, from, (size_t)found);
            from = after;
        }
    }
    append_slice(render, parts, string, from, to);
    if (from_right)
        reverse(parts);
    return parts;
}

static const char *
skip_forward(const char *at, const char *end, bool over_space)
{
    while (at < end && sundog_char_is_space(g_utf8_get_char(at)) == over_space)
        at = g_utf8_next_char(at);
    return at;
}

static const char *
skip_backward(const char *at, const char *start, bool over_space)
{
    while (at > start) {
        const char *previous = g_utf8_find_prev_char(start, at);
        if (sundog_char_is_space(g_utf8_get_char(previous)) != over_space)
            break;
        at = previous;
    }
    return at;
}

static SundogList *
split_words(SundogRender *render, const SundogString *string, int64_t max)
{
    SundogList *parts = sundog_list_new(render, SUNDOG_LIST_LIST);
    const char *text = sundog_string_text(render, string);
    const char *end = text + string->n_bytes;
    for (const char *at = skip_forward(text, end, true); at < end && !sundog_render_failed(render);
         max--) {
        const char *word_end = max == 0 ? end : skip_forward(at, end, false);
        append_slice(render, parts, string, (size_t)(at - text), (size_t)(word_end - text));
        at = max == 0 ? end : skip_forward(word_end, end, true);
    }
    return parts;
}

static SundogList *
split_words_from_right(SundogRender *render, const SundogString *string, int64_t max)
{
    SundogList *parts = sundog_list_new(render, SUNDOG_LIST_LIST);
    const char *text = sundog_string_text(render, string);
    const char *end = text + string->n_bytes;
    for (const char *at = skip_backward(end, text, true);
         at > text && !sundog_render_failed(render); max--) {
        const char *word = max == 0 ? text : skip_backward(at, text, false);
        append_slice(render, parts, string, (size_t)(word - text), (size_t)(at - text));
        at = max == 0 ? text : skip_backward(word, text, true);
    }
    reverse(parts);
    return parts;
}

SundogList *
sundog_text_split(SundogRender *render, const SundogString *string, const SundogString *separator,
                  int64_t max, bool from_right)
{
    if (separator == NULL)
        return from_right ? split_words_from_right(render, string, max)
                          : split_words(render, string, max);
    if (separator->n_bytes > 0)
        return split_at(render, string, separator, max, from_right);
    sundog_render_fail(render, SUNDOG_TEMPLATE_ERROR_RENDER, "empty separator");
    return sundog_list_new(render, SUNDOG_LIST_LIST);
}

/* Python's line boundaries. */
static bool
ends_line(gunichar c)
{
    return (c >= 0x0a && c <= 0x0d) || (c >= 0x1c && c <= 0x1e) || c == 0x85 || c == 0x2028 ||
           c == 0x2029;
}

SundogList *
sundog_text_split_lines(SundogRender *render, const SundogString *string, bool keep_ends)
{
    SundogList *lines = sundog_list_new(render, SUNDOG_LIST_LIST);
    const char *text = sundog_string_text(render, string);
    const char *end = text + string->n_bytes;
    for (const char *at = text; at < end && !sundog_render_failed(render);) {
        const char *line_end = at;
        while (line_end < end && !ends_line(g_utf8_get_char(line_end)))
            line_end = g_utf8_next_char(line_end);
        const char *next = line_end;
        if (next < end)
            next += next[0] == '\r' && next[1] == '\n' ? 2 : g_utf8_next_char(next) - next;
        append_slice(render, lines, string, (size_t)(at - text),
                     (size_t)((keep_ends ? next : line_end) - text));
        at = next;
    }
    return lines;
}

/* Uppercase of one character may be several ("ß" to "SS"), which only whole-string conversion knows. */
static void
append_cased(SundogStringBuilder *builder, gunichar c, bool upper, bool trusted)
{
    if (c < 0x80) {
        sundog_string_builder_append_char(builder,
                                          upper ? (gunichar)g_ascii_toupper((char)c)
                                                : (gunichar)g_ascii_tolower((char)c),
                                          trusted);
        return;
    }
    char bytes[8];
    int n = g_unichar_to_utf8(c, bytes);
    g_autofree char *cased = upper ? g_utf8_strup(bytes, n) : g_utf8_strdown(bytes, n);
    sundog_string_builder_append(builder, cased, strlen(cased), trusted);
}

const SundogString *
sundog_text_change_case(SundogRender *render, const SundogString *string, SundogCase target)
{
    SundogStringBuilder builder;
    sundog_string_builder_init(&builder, render);
    SundogStringCursor cursor;
    sundog_string_cursor_init(&cursor, render, string);
    gunichar c;
    bool trusted;
    bool in_word = false;
    while (sundog_string_cursor_next(&cursor, &c, &trusted) && !sundog_render_failed(render)) {
        bool upper = target == SUNDOG_CASE_UPPER ||
                     (target == SUNDOG_CASE_SWAP && !g_unichar_isupper(c)) ||
                     (target == SUNDOG_CASE_TITLE && !in_word) ||
                     (target == SUNDOG_CASE_CAPITALIZE && builder.n_chars == 0);
        in_word = g_unichar_isalpha(c);
        append_cased(&builder, c, upper, trusted);
    }
    return sundog_string_builder_finish(&builder);
}

const SundogString *
sundog_text_pad(SundogRender *render, const SundogString *string, int64_t left, int64_t right,
                const SundogString *fill)
{
    const SundogString *before = sundog_string_repeat(render, fill, left);
    const SundogString *after = sundog_string_repeat(render, fill, right);
    return sundog_string_concat(render, sundog_string_concat(render, before, string), after);
}
