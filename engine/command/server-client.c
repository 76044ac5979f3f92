/* Questions to a running server. */

#include "engine/command/server-client.h"

#include "engine/format/json.h"
#include "engine/library/server-file.h"
#include <libsoup/soup.h>
#include <string.h>

#define TIMEOUT_SECONDS 15

JsonObject *
sundog_server_client_find(GError **error)
{
    JsonObject *server = sundog_server_file_read();
    if (server == NULL)
        g_set_error_literal(error, G_IO_ERROR, G_IO_ERROR_NOT_FOUND,
                            "no server runs: `sundog serve` starts one");
    return server;
}

static bool
add_key(JsonObject *server, SoupMessage *message, GError **error)
{
    const char *file = json_object_get_string_member_with_default(server, "key_file", NULL);
    if (file == NULL)
        return true;
    g_autofree char *key = NULL;
    if (!g_file_get_contents(file, &key, NULL, error))
        return false;
    g_autofree char *value = g_strconcat("Bearer ", g_strstrip(key), NULL);
    soup_message_headers_replace(soup_message_get_request_headers(message), "Authorization", value);
    return true;
}

static void
add_body(SoupMessage *message, JsonObject *body)
{
    if (body == NULL)
        return;
    g_autoptr(JsonNode) node = json_node_init_object(json_node_alloc(), body);
    char *text = sundog_json_print(node, false);
    g_autoptr(GBytes) bytes = g_bytes_new_take(text, strlen(text));
    soup_message_set_request_body_from_bytes(message, "application/json", bytes);
}

/* The root object, or the text of the server's own error. */
static JsonObject *
read_answer(SoupMessage *message, GBytes *bytes, GError **error)
{
    g_autoptr(JsonNode) root =
        sundog_json_parse(g_bytes_get_data(bytes, NULL), g_bytes_get_size(bytes), error);
    if (root == NULL)
        return NULL;
    JsonObject *object = JSON_NODE_HOLDS_OBJECT(root) ? json_node_get_object(root) : NULL;
    if (object != NULL && soup_message_get_status(message) < 400)
        return json_object_ref(object);
    JsonNode *failure = object != NULL ? json_object_get_member(object, "error") : NULL;
    const char *text = failure != NULL && JSON_NODE_HOLDS_OBJECT(failure)
                           ? json_object_get_string_member_with_default(
                                 json_node_get_object(failure), "message", NULL)
                           : NULL;
    g_set_error(error, G_IO_ERROR, G_IO_ERROR_FAILED, "the server answered %u: %s",
                soup_message_get_status(message), text != NULL ? text : "no reason given");
    return NULL;
}

JsonObject *
sundog_server_client_ask(JsonObject *server, const char *method, const char *path, JsonObject *body,
                         GError **error)
{
    g_autofree char *uri =
        g_strdup_printf("http://%s:%d%s", json_object_get_string_member(server, "address"),
                        (int)json_object_get_int_member(server, "port"), path);
    g_autoptr(SoupMessage) message = soup_message_new(method, uri);
    if (message == NULL) {
        g_set_error(error, G_IO_ERROR, G_IO_ERROR_INVALID_DATA, "%s is no address", uri);
        return NULL;
    }
    if (!add_key(server, message, error))
        return NULL;
    add_body(message, body);
    g_autoptr(SoupSession) session =
        soup_session_new_with_options("timeout", TIMEOUT_SECONDS, "proxy-resolver", NULL, NULL);
    g_autoptr(GBytes) bytes = soup_session_send_and_read(session, message, NULL, error);
    return bytes != NULL ? read_answer(message, bytes, error) : NULL;
}
