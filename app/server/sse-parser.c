/* Lines first, then fields: a line is complete once its end has been seen. */

#include "app/server/sse-parser.h"
#include <string.h>

struct SundogSseParser {
    SundogSseHandler handler;
    GString *line;
    GString *data;
    char *name;
    bool has_data;
    bool after_cr;   /* a \n that follows belongs to the line end already seen */
    bool first_line; /* may begin with a byte order mark */
    bool failed;
};

SundogSseParser *
sundog_sse_parser_new(const SundogSseHandler *handler)
{
    SundogSseParser *parser = g_new0(SundogSseParser, 1);
    parser->handler = *handler;
    parser->line = g_string_new(NULL);
    parser->data = g_string_new(NULL);
    parser->first_line = true;
    return parser;
}

void
sundog_sse_parser_free(SundogSseParser *parser)
{
    if (!parser)
        return;
    g_string_free(parser->line, TRUE);
    g_string_free(parser->data, TRUE);
    g_free(parser->name);
    g_free(parser);
}

static void
dispatch(SundogSseParser *parser)
{
    if (parser->has_data) {
        g_autofree char *data = g_utf8_make_valid(parser->data->str, parser->data->len);
        parser->handler.event(parser->name ? parser->name : "message", data,
                              parser->handler.user_data);
    }
    g_string_truncate(parser->data, 0);
    g_clear_pointer(&parser->name, g_free);
    parser->has_data = false;
}

static void
take_field(SundogSseParser *parser, const char *field, size_t n_field, const char *value)
{
    if (n_field == 4 && memcmp(field, "data", 4) == 0) {
        if (parser->has_data)
            g_string_append_c(parser->data, '\n');
        g_string_append(parser->data, value);
        parser->has_data = true;
    } else if (n_field == 5 && memcmp(field, "event", 5) == 0) {
        g_free(parser->name);
        parser->name = g_utf8_make_valid(value, -1);
    }
}

static void
take_line(SundogSseParser *parser)
{
    const char *line = parser->line->str;
    if (parser->first_line && g_str_has_prefix(line, "\xef\xbb\xbf"))
        line += 3;
    parser->first_line = false;
    const char *colon = strchr(line, ':');
    const char *value = colon ? colon + 1 + (colon[1] == ' ') : "";
    if (!*line)
        dispatch(parser);
    else if (colon == line) {
        g_autofree char *text = g_utf8_make_valid(value, -1);
        if (parser->handler.comment)
            parser->handler.comment(text, parser->handler.user_data);
    } else
        take_field(parser, line, colon ? (size_t)(colon - line) : strlen(line), value);
    g_string_truncate(parser->line, 0);
}

static size_t
find_line_end(const char *bytes, size_t n_bytes)
{
    size_t i = 0;
    while (i < n_bytes && bytes[i] != '\n' && bytes[i] != '\r')
        i++;
    return i;
}

bool
sundog_sse_parser_feed(SundogSseParser *parser, const char *bytes, size_t n_bytes)
{
    while (n_bytes > 0 && !parser->failed) {
        if (parser->after_cr && *bytes == '\n') {
            bytes++;
            n_bytes--;
        }
        parser->after_cr = false;
        size_t n = find_line_end(bytes, n_bytes);
        if (parser->line->len + parser->data->len + n > SUNDOG_SSE_MAX_EVENT_BYTES) {
            parser->failed = true;
            break;
        }
        g_string_append_len(parser->line, bytes, n);
        if (n == n_bytes)
            break;
        parser->after_cr = bytes[n] == '\r';
        take_line(parser);
        bytes += n + 1;
        n_bytes -= n + 1;
    }
    return !parser->failed;
}
