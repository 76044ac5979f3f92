/* Methods that ask something about a string. */

#include "engine/text/template/method.h"
#include "engine/text/template/text.h"
#include <string.h>

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

bool
sundog_string_matches_at_edge(SundogRender *render, const SundogString *string,
                              const SundogString *affix, size_t from, size_t to, bool at_end)
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
        return sundog_value_boolean(
            within && sundog_string_matches_at_edge(render, self.string, affix, from, to, at_end));
    }
    bool found = false;
    for (size_t i = 0; i < given[0].list->n_items && within && !found; i++)
        found = sundog_string_matches_at_edge(
            render, self.string, sundog_argument_string(render, given[0].list->items[i], name),
            from, to, at_end);
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

static const SundogCallableRow rows[] = {
    {"count", method_count},       {"endswith", method_endswith}, {"find", method_find},
    {"index", method_index},       {"isalnum", method_isalnum},   {"isalpha", method_isalpha},
    {"isdecimal", method_isdigit}, {"isdigit", method_isdigit},   {"islower", method_islower},
    {"isnumeric", method_isdigit}, {"isspace", method_isspace},   {"isupper", method_isupper},
    {"rfind", method_rfind},       {"rindex", method_rindex},     {"startswith", method_startswith},
};

SundogCallable
sundog_string_query_find(const char *name)
{
    return sundog_callable_find(rows, G_N_ELEMENTS(rows), name);
}
