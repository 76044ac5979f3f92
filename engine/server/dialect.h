#pragma once

/*
 * The three families of clients, and what differs between them whatever the endpoint: how an error
 * looks, what a stream is, and what is sent to a client that has heard nothing for a while.
 *
 * X(NAME, content type of streams, a sign of life in them or NULL where it is the endpoint's)
 */

#include "engine/server/api-error.h"
#include <libsoup/soup.h>

#define SUNDOG_DIALECTS(X)                                                           \
    X(OPENAI, "text/event-stream", ": ping\n\n")                                     \
    X(ANTHROPIC, "text/event-stream", "event: ping\ndata: {\"type\": \"ping\"}\n\n") \
    X(OLLAMA, "application/x-ndjson", NULL)

typedef enum {
#define X(name, type, ping) SUNDOG_DIALECT_##name,
    SUNDOG_DIALECTS(X)
#undef X
} SundogDialect;

/* By path, and by the header that Anthropic's clients send everywhere. */
SundogDialect sundog_dialect_of(SoupServerMessage *message);
SundogDialect sundog_dialect_of_path(const char *path);
const char *sundog_dialect_get_stream_type(SundogDialect dialect);
const char *sundog_dialect_get_ping(SundogDialect dialect);
/* The body of an answer that is an error; owned by the caller. */
char *sundog_dialect_print_error(SundogDialect dialect, const SundogApiError *error);
/* What ends a stream with the error; owned by the caller. */
char *sundog_dialect_print_last_event(SundogDialect dialect, const SundogApiError *error);
