/* libsoup calls as GTasks. */

#include "app/server/client.h"
#include "engine/format/json-members.h"
#include "engine/format/json.h"
#include <libsoup/soup.h>
#include <string.h>

/* Above idle work, below GDK_PRIORITY_REDRAW (120): see the header. */
#define STREAM_PRIORITY (G_PRIORITY_HIGH_IDLE + 50)
#define READ_BYTES 32768
/* Chats, the event stream and calls at once; libsoup's own bound of two would make them wait. */
#define MAX_CONNECTIONS 64

struct _SundogClient {
    GObject parent_instance;
    SoupSession *session;
    char *address;
    char *key;
};

typedef struct {
    SoupMessage *message;
    SundogSseParser *parser;
    GInputStream *stream;
} Stream;

G_DEFINE_QUARK(sundog - client - error - quark, sundog_client_error)
G_DEFINE_FINAL_TYPE(SundogClient, sundog_client, G_TYPE_OBJECT)

static void
sundog_client_finalize(GObject *object)
{
    SundogClient *self = SUNDOG_CLIENT(object);
    g_object_unref(self->session);
    g_free(self->address);
    g_free(self->key);
    G_OBJECT_CLASS(sundog_client_parent_class)->finalize(object);
}

static void
sundog_client_class_init(SundogClientClass *class)
{
    G_OBJECT_CLASS(class)->finalize = sundog_client_finalize;
}

static void
sundog_client_init(SundogClient *self)
{
    /* No proxy is asked for loopback, and no time bound cuts a long answer short. */
    self->session = soup_session_new_with_options(
        "max-conns", MAX_CONNECTIONS, "max-conns-per-host", MAX_CONNECTIONS, "timeout", 0u,
        "idle-timeout", 30u, "proxy-resolver", NULL, "user-agent", "sundog-desktop/" SUNDOG_VERSION,
        NULL);
}

SundogClient *
sundog_client_new(void)
{
    return g_object_new(SUNDOG_TYPE_CLIENT, NULL);
}

void
sundog_client_set_server(SundogClient *client, const char *address, const char *key)
{
    g_free(client->address);
    g_free(client->key);
    client->address = g_strdup(address);
    client->key = g_strdup(key);
}

const char *
sundog_client_get_address(SundogClient *client)
{
    return client->address;
}

const char *
sundog_client_get_key(SundogClient *client)
{
    return client->key;
}

static SoupMessage *
make_message(SundogClient *client, const char *method, const char *path, JsonNode *body,
             GError **error)
{
    g_autofree char *url = client->address ? g_strconcat(client->address, path, NULL) : NULL;
    SoupMessage *message = url ? soup_message_new(method, url) : NULL;
    if (!message) {
        g_set_error_literal(error, SUNDOG_CLIENT_ERROR, SUNDOG_CLIENT_ERROR_UNREACHABLE,
                            "there is no server");
        return NULL;
    }
    if (client->key) {
        g_autofree char *bearer = g_strconcat("Bearer ", client->key, NULL);
        soup_message_headers_replace(soup_message_get_request_headers(message), "Authorization",
                                     bearer);
    }
    if (body) {
        char *text = sundog_json_print(body, false);
        g_autoptr(GBytes) bytes = g_bytes_new_take(text, strlen(text));
        soup_message_set_request_body_from_bytes(message, "application/json", bytes);
    }
    return message;
}

/* What the transport says, told apart from a person's cancel. */
static void
return_transport_error(GTask *task, GError *error, SundogClientError code)
{
    if (g_error_matches(error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
        g_task_return_error(task, g_error_copy(error));
    else
        g_task_return_new_error(task, SUNDOG_CLIENT_ERROR, code, "%s", error->message);
}

/* The text of an {"error": {"message"}} body, or NULL; owned by the caller. */
static char *
dup_error_text(JsonNode *root)
{
    if (!root || !JSON_NODE_HOLDS_OBJECT(root))
        return NULL;
    JsonObject *object = json_node_get_object(root);
    const char *plain = sundog_json_get_string(object, "error", NULL);
    JsonObject *error = sundog_json_get_object(object, "error");
    return g_strdup(plain ? plain
                          : sundog_json_get_string(error ? error : object, "message", NULL));
}

static void
return_status_error(GTask *task, SoupMessage *message, GBytes *body)
{
    unsigned status = soup_message_get_status(message);
    gsize n_bytes = 0;
    const char *text = body ? g_bytes_get_data(body, &n_bytes) : NULL;
    g_autoptr(JsonNode) root = n_bytes > 0 ? sundog_json_parse(text, n_bytes, NULL) : NULL;
    g_autofree char *said = dup_error_text(root);
    g_task_return_new_error(task, SUNDOG_CLIENT_ERROR,
                            status == SOUP_STATUS_SERVICE_UNAVAILABLE ? SUNDOG_CLIENT_ERROR_BUSY
                                                                      : SUNDOG_CLIENT_ERROR_REFUSED,
                            "%s", said ? said : soup_message_get_reason_phrase(message));
}

static void
on_body(GObject *session, GAsyncResult *result, gpointer user_data)
{
    g_autoptr(GTask) task = user_data;
    g_autoptr(GError) error = NULL;
    g_autoptr(GBytes) body =
        soup_session_send_and_read_finish(SOUP_SESSION(session), result, &error);
    SoupMessage *message = soup_session_get_async_result_message(SOUP_SESSION(session), result);
    if (!body) {
        return_transport_error(task, error, SUNDOG_CLIENT_ERROR_UNREACHABLE);
        return;
    }
    if (!SOUP_STATUS_IS_SUCCESSFUL(soup_message_get_status(message))) {
        return_status_error(task, message, body);
        return;
    }
    gsize n_bytes;
    const char *text = g_bytes_get_data(body, &n_bytes);
    JsonNode *root = sundog_json_parse(text, n_bytes, &error);
    if (root)
        g_task_return_pointer(task, root, (GDestroyNotify)json_node_unref);
    else
        g_task_return_new_error(task, SUNDOG_CLIENT_ERROR, SUNDOG_CLIENT_ERROR_PROTOCOL, "%s",
                                error->message);
}

void
sundog_client_call_async(SundogClient *client, const char *method, const char *path, JsonNode *body,
                         GCancellable *cancellable, GAsyncReadyCallback callback,
                         gpointer user_data)
{
    GTask *task = g_task_new(client, cancellable, callback, user_data);
    GError *error = NULL;
    g_autoptr(SoupMessage) message = make_message(client, method, path, body, &error);
    if (!message) {
        g_task_return_error(task, error);
        g_object_unref(task);
        return;
    }
    soup_session_send_and_read_async(client->session, message, G_PRIORITY_DEFAULT, cancellable,
                                     on_body, task);
}

JsonNode *
sundog_client_call_finish(SundogClient *client, GAsyncResult *result, GError **error)
{
    return g_task_propagate_pointer(G_TASK(result), error);
}

static void
stream_free(gpointer data)
{
    Stream *stream = data;
    g_object_unref(stream->message);
    sundog_sse_parser_free(stream->parser);
    g_clear_object(&stream->stream);
    g_free(stream);
}

static void
on_stream_bytes(GObject *source, GAsyncResult *result, gpointer user_data)
{
    g_autoptr(GTask) task = user_data;
    Stream *stream = g_task_get_task_data(task);
    g_autoptr(GError) error = NULL;
    g_autoptr(GBytes) bytes =
        g_input_stream_read_bytes_finish(G_INPUT_STREAM(source), result, &error);
    if (!bytes) {
        return_transport_error(task, error, SUNDOG_CLIENT_ERROR_BROKEN);
        return;
    }
    gsize n_bytes;
    const char *data = g_bytes_get_data(bytes, &n_bytes);
    if (n_bytes == 0)
        g_task_return_boolean(task, TRUE);
    else if (g_task_return_error_if_cancelled(task))
        return;
    else if (!sundog_sse_parser_feed(stream->parser, data, n_bytes))
        g_task_return_new_error(task, SUNDOG_CLIENT_ERROR, SUNDOG_CLIENT_ERROR_PROTOCOL,
                                "an event was larger than %d bytes", SUNDOG_SSE_MAX_EVENT_BYTES);
    else
        g_input_stream_read_bytes_async(stream->stream, READ_BYTES, STREAM_PRIORITY,
                                        g_task_get_cancellable(task), on_stream_bytes,
                                        g_object_ref(task));
}

static void
on_error_body(GObject *source, GAsyncResult *result, gpointer user_data)
{
    g_autoptr(GTask) task = user_data;
    Stream *stream = g_task_get_task_data(task);
    g_autoptr(GBytes) body = g_input_stream_read_bytes_finish(G_INPUT_STREAM(source), result, NULL);
    return_status_error(task, stream->message, body);
}

static void
on_stream_open(GObject *session, GAsyncResult *result, gpointer user_data)
{
    g_autoptr(GTask) task = user_data;
    Stream *stream = g_task_get_task_data(task);
    g_autoptr(GError) error = NULL;
    stream->stream = soup_session_send_finish(SOUP_SESSION(session), result, &error);
    if (!stream->stream) {
        return_transport_error(task, error, SUNDOG_CLIENT_ERROR_UNREACHABLE);
        return;
    }
    bool refused = !SOUP_STATUS_IS_SUCCESSFUL(soup_message_get_status(stream->message));
    g_input_stream_read_bytes_async(stream->stream, READ_BYTES, STREAM_PRIORITY,
                                    g_task_get_cancellable(task),
                                    refused ? on_error_body : on_stream_bytes, g_object_ref(task));
}

void
sundog_client_stream_async(SundogClient *client, const char *method, const char *path,
                           JsonNode *body, const SundogSseHandler *handler,
                           GCancellable *cancellable, GAsyncReadyCallback callback,
                           gpointer user_data)
{
    GTask *task = g_task_new(client, cancellable, callback, user_data);
    GError *error = NULL;
    SoupMessage *message = make_message(client, method, path, body, &error);
    if (!message) {
        g_task_return_error(task, error);
        g_object_unref(task);
        return;
    }
    Stream *stream = g_new0(Stream, 1);
    stream->message = message;
    stream->parser = sundog_sse_parser_new(handler);
    g_task_set_task_data(task, stream, stream_free);
    soup_session_send_async(client->session, message, STREAM_PRIORITY, cancellable, on_stream_open,
                            task);
}

bool
sundog_client_stream_finish(SundogClient *client, GAsyncResult *result, GError **error)
{
    return g_task_propagate_boolean(G_TASK(result), error);
}
