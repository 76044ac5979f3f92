/* The tags that block.c writes, one by one, and the least escaping that keeps text what it is. */

#include "app/markdown/inline-markdown.h"
#include "app/markdown/markup.h"
#include <string.h>

typedef struct {
    GString *out;
    GString *code; /* of the open code span, else NULL */
    GString *link; /* the plain text of the open link, else NULL */
    char *url;
    size_t link_start; /* where its text begins in `out` */
} Inline;

static bool
is_alnum(char c)
{
    return g_ascii_isalnum(c) || (unsigned char)c >= 0x80;
}

static bool
is_space(char c)
{
    return c == '\0' || c == ' ' || c == '\n' || c == '\t';
}

/* A list item, heading, quote or underline can only begin a line. */
static bool
begins_block(const char *line, const char *p)
{
    if (!line)
        return false;
    if (g_ascii_isdigit(*line) && (*p == '.' || *p == ')')) {
        const char *digits = line;
        while (g_ascii_isdigit(*digits))
            digits++;
        return digits == p && is_space(p[1]);
    }
    if (p != line)
        return false;
    return *p == '>' || *p == '=' || (*p == '#' && (p[1] == '#' || is_space(p[1]))) ||
           ((*p == '-' || *p == '+') && (p[1] == *p || is_space(p[1])));
}

/* `line` is where p's line begins, or NULL where something else begins it; before is '\0' at its begin. */
static bool
needs_escape(const char *line, char before, const char *p)
{
    char after = p[1];
    switch (*p) {
    case '\\':
        return g_ascii_ispunct(after);
    case '`':
    case '~':
        return true;
    case '*':
        return before == '\0' || !is_space(before) || !is_space(after);
    case '_':
        return !is_alnum(before) || !is_alnum(after);
    case ']':
        return after == '(' || after == '[' || after == ':';
    case '<':
        return g_ascii_isalpha(after) || after == '/' || after == '!' || after == '?';
    case '&':
        return g_ascii_isalnum(after) || after == '#';
    default:
        return begins_block(line, p);
    }
}

static void
append_escaped(GString *out, const char *text)
{
    char before = out->len > 0 && out->str[out->len - 1] != '\n' ? out->str[out->len - 1] : '\0';
    const char *line = before == '\0' ? text : NULL;
    for (const char *p = text; *p; p++) {
        if (needs_escape(line, before, p))
            g_string_append_c(out, '\\');
        g_string_append_c(out, *p);
        before = *p == '\n' ? '\0' : *p;
        if (*p == '\n')
            line = p + 1;
    }
}

static size_t
count_longest_run(const char *text, char c)
{
    size_t longest = 0;
    for (size_t n = 0; *text; text++) {
        n = *text == c ? n + 1 : 0;
        longest = MAX(longest, n);
    }
    return longest;
}

static void
append_code(GString *out, const char *code)
{
    g_autofree char *ticks = g_strnfill(count_longest_run(code, '`') + 1, '`');
    size_t n = strlen(code);
    bool padded = n > 0 && (code[0] == '`' || code[n - 1] == '`');
    const char *pad = padded ? " " : "";
    g_string_append_printf(out, "%s%s%s%s%s", ticks, pad, code, pad, ticks);
}

/* An address that stands for itself is written as one. */
static void
end_link(Inline *self)
{
    if (!self->url) {
        g_string_free(g_steal_pointer(&self->link), TRUE);
        return;
    }
    bool mail = g_str_has_prefix(self->url, "mailto:");
    if (strcmp(self->link->str, self->url + (mail ? strlen("mailto:") : 0)) == 0) {
        g_string_truncate(self->out, self->link_start);
        g_string_append_printf(self->out, "<%s>", self->link->str);
    } else {
        bool bare = !strpbrk(self->url, " ()<>");
        g_string_insert_c(self->out, self->link_start, '[');
        g_string_append_printf(self->out, bare ? "](%s)" : "](<%s>)", self->url);
    }
    g_string_free(g_steal_pointer(&self->link), TRUE);
    g_clear_pointer(&self->url, g_free);
}

static const char *
get_delimiter(const char *element)
{
    return strcmp(element, "b") == 0   ? "**"
           : strcmp(element, "i") == 0 ? "*"
           : strcmp(element, "s") == 0 ? "~~"
                                       : "";
}

static void
on_start(GMarkupParseContext *context, const char *element, const char **names, const char **values,
         gpointer user_data, GError **error)
{
    Inline *self = user_data;
    if (strcmp(element, "span") == 0 && !self->code)
        self->code = g_string_new(NULL);
    if (strcmp(element, "a") == 0 && !self->link) {
        self->link = g_string_new(NULL);
        self->link_start = self->out->len;
        for (unsigned i = 0; names[i]; i++)
            if (strcmp(names[i], "href") == 0 && !self->url)
                self->url = g_strdup(values[i]);
    }
    g_string_append(self->out, get_delimiter(element));
}

static void
on_end(GMarkupParseContext *context, const char *element, gpointer user_data, GError **error)
{
    Inline *self = user_data;
    if (strcmp(element, "span") == 0 && self->code) {
        append_code(self->out, self->code->str);
        g_string_free(g_steal_pointer(&self->code), TRUE);
    }
    if (strcmp(element, "a") == 0 && self->link)
        end_link(self);
    g_string_append(self->out, get_delimiter(element));
}

static void
on_text(GMarkupParseContext *context, const char *text, size_t n_bytes, gpointer user_data,
        GError **error)
{
    Inline *self = user_data;
    if (self->link)
        g_string_append_len(self->link, text, n_bytes);
    if (self->code) {
        g_string_append_len(self->code, text, n_bytes);
        return;
    }
    g_autofree char *piece = g_strndup(text, n_bytes);
    append_escaped(self->out, piece);
}

char *
sundog_inline_markdown_dup(const char *markup)
{
    static const GMarkupParser parser = {
        .start_element = on_start, .end_element = on_end, .text = on_text};
    Inline self = {.out = g_string_new(NULL)};
    bool parsed = sundog_markup_parse(markup, &parser, &self);
    if (self.code)
        g_string_free(self.code, TRUE);
    if (self.link)
        g_string_free(self.link, TRUE);
    g_free(self.url);
    char *text = g_string_free(self.out, FALSE);
    if (parsed)
        return text;
    g_free(text);
    return g_strdup(markup);
}
