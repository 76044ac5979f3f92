/* Cutting copies what lies in the stretch; a tag is written with its first text, so that none is empty. */

#include "app/markdown/markup.h"
#include <string.h>

typedef struct {
    GString *out;
    GPtrArray *waiting; /* opening tags without text yet */
    unsigned at;        /* characters passed */
    unsigned start, end;
} Cut;

bool
sundog_markup_parse(const char *markup, const GMarkupParser *parser, gpointer user_data)
{
    GMarkupParseContext *context = g_markup_parse_context_new(parser, 0, user_data, NULL);
    bool parsed = g_markup_parse_context_parse(context, "<" SUNDOG_MARKUP_ROOT ">", -1, NULL) &&
                  g_markup_parse_context_parse(context, markup, -1, NULL) &&
                  g_markup_parse_context_parse(context, "</" SUNDOG_MARKUP_ROOT ">", -1, NULL) &&
                  g_markup_parse_context_end_parse(context, NULL);
    g_markup_parse_context_free(context);
    return parsed;
}

static void
on_start(GMarkupParseContext *context, const char *element, const char **names, const char **values,
         gpointer user_data, GError **error)
{
    Cut *cut = user_data;
    if (strcmp(element, SUNDOG_MARKUP_ROOT) == 0)
        return;
    GString *tag = g_string_new(NULL);
    g_string_append_printf(tag, "<%s", element);
    for (unsigned i = 0; names[i]; i++) {
        g_autofree char *attribute = g_markup_printf_escaped(" %s=\"%s\"", names[i], values[i]);
        g_string_append(tag, attribute);
    }
    g_string_append_c(tag, '>');
    g_ptr_array_add(cut->waiting, g_string_free(tag, FALSE));
}

static void
on_end(GMarkupParseContext *context, const char *element, gpointer user_data, GError **error)
{
    Cut *cut = user_data;
    if (strcmp(element, SUNDOG_MARKUP_ROOT) == 0)
        return;
    if (cut->waiting->len > 0)
        g_ptr_array_set_size(cut->waiting, cut->waiting->len - 1);
    else
        g_string_append_printf(cut->out, "</%s>", element);
}

static void
on_text(GMarkupParseContext *context, const char *text, size_t n_bytes, gpointer user_data,
        GError **error)
{
    Cut *cut = user_data;
    unsigned n = g_utf8_strlen(text, n_bytes), before = cut->at;
    unsigned first = CLAMP(cut->start, before, before + n) - before;
    unsigned last = CLAMP(cut->end, before, before + n) - before;
    cut->at += n;
    if (first >= last)
        return;
    for (unsigned i = 0; i < cut->waiting->len; i++)
        g_string_append(cut->out, cut->waiting->pdata[i]);
    g_ptr_array_set_size(cut->waiting, 0);
    const char *from = g_utf8_offset_to_pointer(text, first);
    g_autofree char *escaped =
        g_markup_escape_text(from, g_utf8_offset_to_pointer(from, last - first) - from);
    g_string_append(cut->out, escaped);
}

char *
sundog_markup_dup_stretch(const char *markup, unsigned start, unsigned end)
{
    static const GMarkupParser parser = {
        .start_element = on_start, .end_element = on_end, .text = on_text};
    g_autoptr(GPtrArray) waiting = g_ptr_array_new_with_free_func(g_free);
    Cut cut = {.out = g_string_new(NULL), .waiting = waiting, .start = start, .end = end};
    bool parsed = sundog_markup_parse(markup, &parser, &cut);
    char *text = g_string_free(cut.out, FALSE);
    if (parsed)
        return text;
    g_free(text);
    return g_strdup(markup);
}
