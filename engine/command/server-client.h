#pragma once

/* A running server, found by its file and asked over HTTP like by any other client. Main thread. */

#include <json-glib/json-glib.h>

/* The published server.json, or NULL with an error that says how to start one; owned by the caller. */
JsonObject *sundog_server_client_find(GError **error);
/* One request of the running server; body may be NULL. The answer's root object, owned by the caller.
 * An error of the server comes with its own text. */
JsonObject *sundog_server_client_ask(JsonObject *server, const char *method, const char *path,
                                     JsonObject *body, GError **error);
