/* JSON strings. */

#include "engine/server/json-text.h"

#include <string.h>

static void
append_escape(GString *json, unsigned char byte)
{
    switch (byte) {
    /* A NUL is no text, and parsers written in C refuse it or cut the string there. */
    case 0:
        g_string_append(json, "\xef\xbf\xbd");
        break;
    case '"':
        g_string_append(json, "\\\"");
        break;
    case '\\':
        g_string_append(json, "\\\\");
        break;
    case '\n':
        g_string_append(json, "\\n");
        break;
    case '\r':
        g_string_append(json, "\\r");
        break;
    case '\t':
        g_string_append(json, "\\t");
        break;
    default:
        g_string_append_printf(json, "\\u%04x", byte);
    }
}

void
sundog_json_text_append_n(GString *json, const char *text, size_t n_bytes)
{
    g_string_append_c(json, '"');
    size_t start = 0;
    for (size_t i = 0; i < n_bytes; i++) {
        unsigned char byte = (unsigned char)text[i];
        if (byte >= 0x20 && byte != '"' && byte != '\\' && byte != 0x7f)
            continue;
        g_string_append_len(json, text + start, (gssize)(i - start));
        append_escape(json, byte);
        start = i + 1;
    }
    g_string_append_len(json, text + start, (gssize)(n_bytes - start));
    g_string_append_c(json, '"');
}

void
sundog_json_text_append(GString *json, const char *text)
{
    sundog_json_text_append_n(json, text, strlen(text));
}
