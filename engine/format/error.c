/* The error domain of the format house, and what stands in its texts. */

#include "engine/format/error.h"

#include <string.h>

/* The macro makes a string of its first argument, which clang-format would space out. */
/* clang-format off */
G_DEFINE_QUARK(sundog-format-error-quark, sundog_format_error)
/* clang-format on */

#define MAX_QUOTED_BYTES 64

bool
sundog_error_set(GError **error, GQuark domain, int code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *text = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    g_set_error_literal(error, domain, code, text);
    return false;
}

char *
sundog_format_quote(const char *text, const char *missing)
{
    if (text == NULL)
        return g_strdup(missing);
    g_autofree char *cut = g_strndup(text, MAX_QUOTED_BYTES);
    g_autofree char *escaped = g_strescape(cut, NULL);
    return g_strdup_printf("\"%s\"%s", escaped, strlen(text) > MAX_QUOTED_BYTES ? "…" : "");
}
