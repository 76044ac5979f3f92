#pragma once

/*
 * HTTP to the server: calls that take and give JSON, and event streams. Knows one server at a time
 * (address and key), which the supervisor sets; calls made while there is none fail as UNREACHABLE.
 *
 * Main thread. Reading from a stream ranks below drawing, so that a flood of events cannot hold up a
 * frame.
 */

#include "app/server/sse-parser.h"
#include <gio/gio.h>
#include <json-glib/json-glib.h>
#include <stdbool.h>

#define SUNDOG_CLIENT_ERROR (sundog_client_error_quark())
typedef enum {
    SUNDOG_CLIENT_ERROR_UNREACHABLE, /* No server, or it does not answer: wait for the supervisor. */
    SUNDOG_CLIENT_ERROR_BROKEN,      /* The stream ended before its end: the server went away. */
    SUNDOG_CLIENT_ERROR_BUSY,        /* The server is loading or stopping (503): try again. */
    SUNDOG_CLIENT_ERROR_REFUSED,     /* The server's own error; the text is the server's. */
    SUNDOG_CLIENT_ERROR_PROTOCOL,    /* The answer could not be understood. */
} SundogClientError;
GQuark sundog_client_error_quark(void);

#define SUNDOG_TYPE_CLIENT (sundog_client_get_type())
G_DECLARE_FINAL_TYPE(SundogClient, sundog_client, SUNDOG, CLIENT, GObject)

SundogClient *sundog_client_new(void);
/* "http://127.0.0.1:7410" and the API key or NULL; address NULL while there is no server. */
void sundog_client_set_server(SundogClient *client, const char *address, const char *key);
/* Both are NULL where there is none; borrowed. */
const char *sundog_client_get_address(SundogClient *client);
const char *sundog_client_get_key(SundogClient *client);

/* `path` begins with '/'; `body` may be NULL and is not consumed. */
void sundog_client_call_async(SundogClient *client, const char *method, const char *path,
                              JsonNode *body, GCancellable *cancellable,
                              GAsyncReadyCallback callback, gpointer user_data);
/* The answer's JSON, owned by the caller (json_node_unref). */
JsonNode *sundog_client_call_finish(SundogClient *client, GAsyncResult *result, GError **error);

/* Runs an event stream to its end; the handler is called on the way, never after the callback. */
void sundog_client_stream_async(SundogClient *client, const char *method, const char *path,
                                JsonNode *body, const SundogSseHandler *handler,
                                GCancellable *cancellable, GAsyncReadyCallback callback,
                                gpointer user_data);
/* True where the server ended the stream in order. */
bool sundog_client_stream_finish(SundogClient *client, GAsyncResult *result, GError **error);
