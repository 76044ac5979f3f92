#pragma once

/*
 * Server-sent events out of a byte stream that is cut anywhere (WHATWG HTML, "Server-sent events").
 * Lines end in \n, \r\n or \r; several data lines are joined by \n; comments are handed out since
 * this server reports progress in them; fields it does not know are ignored. An event is bounded.
 *
 * Order: new, feed as bytes come, free. Callbacks run inside feed; they must not free the parser.
 */

#include <glib.h>
#include <stdbool.h>

#define SUNDOG_SSE_MAX_EVENT_BYTES (8 * 1024 * 1024)

typedef struct {
    /* `name` is "message" where the event has none. Both are valid UTF-8 and borrowed. */
    void (*event)(const char *name, const char *data, gpointer user_data);
    void (*comment)(const char *text, gpointer user_data); /* may be NULL */
    gpointer user_data;
} SundogSseHandler;

typedef struct SundogSseParser SundogSseParser;

SundogSseParser *sundog_sse_parser_new(const SundogSseHandler *handler);
void sundog_sse_parser_free(SundogSseParser *parser);
/* False once an event outgrew its bound: the stream is not to be believed any further. */
bool sundog_sse_parser_feed(SundogSseParser *parser, const char *bytes, size_t n_bytes);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogSseParser, sundog_sse_parser_free)
