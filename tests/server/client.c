/* The tests' HTTP client. */

#include "tests/server/client.h"

#include "engine/format/json.h"
#include <string.h>

static GSocketConnection *
connect_to(uint16_t port)
{
    g_autoptr(GSocketClient) client = g_socket_client_new();
    g_autoptr(GInetAddress) loopback = g_inet_address_new_loopback(G_SOCKET_FAMILY_IPV4);
    g_autoptr(GSocketAddress) address = g_inet_socket_address_new(loopback, port);
    g_autoptr(GError) error = NULL;
    g_socket_client_set_enable_proxy(client, false);
    g_socket_client_set_timeout(client, 60);
    GSocketConnection *connection =
        g_socket_client_connect(client, G_SOCKET_CONNECTABLE(address), NULL, &error);
    g_assert_no_error(error);
    return connection;
}

static void
write_bytes(GSocketConnection *connection, const char *bytes, size_t n_bytes)
{
    /* A server that refuses a body closes before it is all written, as it may. */
    g_output_stream_write_all(g_io_stream_get_output_stream(G_IO_STREAM(connection)), bytes,
                              n_bytes, NULL, NULL, NULL);
}

static GString *
make_request(uint16_t port, const char *method, const char *path, const char *headers,
             const char *body)
{
    GString *request = g_string_new(NULL);
    g_string_printf(request, "%s %s HTTP/1.1\r\n", method, path);
    if (!headers || !strstr(headers, "Host:"))
        g_string_append_printf(request, "Host: localhost:%u\r\n", port);
    if (headers)
        g_string_append(request, headers);
    if (body && (!headers || !strstr(headers, "Content-Type:")))
        g_string_append(request, "Content-Type: application/json\r\n");
    if (body)
        g_string_append_printf(request, "Content-Length: %zu\r\n", strlen(body));
    g_string_append_printf(request, "Connection: close\r\n\r\n%s", body ? body : "");
    return request;
}

static char *
read_head(GDataInputStream *input)
{
    GString *head = g_string_new(NULL);
    for (;;) {
        g_autofree char *line = g_data_input_stream_read_line(input, NULL, NULL, NULL);
        if (!line || !*line)
            return g_string_free(head, false);
        g_string_append_printf(head, "%s\n", line);
    }
}

static GDataInputStream *
make_input(GSocketConnection *connection)
{
    GDataInputStream *input =
        g_data_input_stream_new(g_io_stream_get_input_stream(G_IO_STREAM(connection)));
    g_data_input_stream_set_newline_type(input, G_DATA_STREAM_NEWLINE_TYPE_CR_LF);
    return input;
}

static unsigned
status_of(const char *head)
{
    return g_str_has_prefix(head, "HTTP/1.")
               ? (unsigned)g_ascii_strtoull(head + strlen("HTTP/1.1 "), NULL, 10)
               : 0;
}

/* One chunk, or what there is where the body has none; NULL at the end. */
static char *
read_chunk(GDataInputStream *input, bool is_chunked, size_t *n_bytes)
{
    size_t wanted = 65536;
    if (is_chunked) {
        g_autofree char *line = g_data_input_stream_read_line(input, NULL, NULL, NULL);
        wanted = line ? (size_t)g_ascii_strtoull(line, NULL, 16) : 0;
        if (!wanted)
            return NULL;
    }
    char *bytes = g_malloc(wanted + 2);
    if (is_chunked) {
        g_input_stream_read_all(G_INPUT_STREAM(input), bytes, wanted + 2, n_bytes, NULL, NULL);
        *n_bytes = MIN(*n_bytes, wanted);
    } else {
        gssize n = g_input_stream_read(G_INPUT_STREAM(input), bytes, wanted, NULL, NULL);
        *n_bytes = n > 0 ? (size_t)n : 0;
    }
    if (*n_bytes)
        return bytes;
    g_free(bytes);
    return NULL;
}

static Reply *
read_reply(GSocketConnection *connection)
{
    g_autoptr(GDataInputStream) input = make_input(connection);
    Reply *reply = g_new0(Reply, 1);
    reply->head = read_head(input);
    reply->status = status_of(reply->head);
    bool is_chunked = strstr(reply->head, "chunked") != NULL;
    GString *body = g_string_new(NULL);
    size_t n_bytes;
    char *chunk;
    while ((chunk = read_chunk(input, is_chunked, &n_bytes))) {
        g_string_append_len(body, chunk, (gssize)n_bytes);
        g_free(chunk);
    }
    reply->n_bytes = body->len;
    reply->body = g_string_free(body, false);
    return reply;
}

Reply *
client_send_raw(uint16_t port, const char *bytes, size_t n_bytes)
{
    g_autoptr(GSocketConnection) connection = connect_to(port);
    write_bytes(connection, bytes, n_bytes);
    return read_reply(connection);
}

Reply *
client_send(uint16_t port, const char *method, const char *path, const char *headers,
            const char *body)
{
    g_autoptr(GString) request = make_request(port, method, path, headers, body);
    return client_send_raw(port, request->str, request->len);
}

Reply *
client_get(uint16_t port, const char *path)
{
    return client_send(port, "GET", path, NULL, NULL);
}

Reply *
client_post(uint16_t port, const char *path, const char *body)
{
    return client_send(port, "POST", path, NULL, body);
}

void
reply_free(Reply *reply)
{
    if (!reply)
        return;
    g_free(reply->head);
    g_free(reply->body);
    g_free(reply);
}

JsonObject *
reply_get_object(const Reply *reply)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(JsonNode) node = sundog_json_parse(reply->body, reply->n_bytes, &error);
    if (error)
        g_test_message("%s: %s", error->message, reply->body);
    g_assert_no_error(error);
    g_assert_true(JSON_NODE_HOLDS_OBJECT(node));
    return json_node_dup_object(node);
}

JsonObject *
client_post_for_object(uint16_t port, const char *path, const char *body)
{
    g_autoptr(Reply) reply = client_post(port, path, body);
    if (reply->status != 200)
        g_test_message("%s", reply->body);
    g_assert_cmpuint(reply->status, ==, 200);
    return reply_get_object(reply);
}

const char *
reply_get_error(const Reply *reply, JsonObject **error)
{
    JsonObject *object = reply_get_object(reply);
    g_assert_true(json_object_has_member(object, "error"));
    *error = json_object_ref(json_object_get_object_member(object, "error"));
    json_object_unref(object);
    g_assert_true(json_object_has_member(*error, "param"));
    g_assert_nonnull(json_object_get_string_member(*error, "message"));
    g_assert_nonnull(json_object_get_string_member(*error, "type"));
    return json_object_get_string_member(*error, "code");
}

void
reply_assert_error(Reply *reply, unsigned status, const char *code, const char *param)
{
    JsonObject *error = NULL;
    if (reply->status != status)
        g_test_message("%s%s", reply->head, reply->body);
    g_assert_cmpuint(reply->status, ==, status);
    g_assert_cmpstr(reply_get_error(reply, &error), ==, code);
    if (param)
        g_assert_cmpstr(json_object_get_string_member(error, "param"), ==, param);
    json_object_unref(error);
    reply_free(reply);
}

/* Streams */

Stream *
stream_open_with(uint16_t port, const char *path, const char *headers, const char *body)
{
    Stream *stream = g_new0(Stream, 1);
    g_autoptr(GString) request = make_request(port, body ? "POST" : "GET", path, headers, body);
    stream->connection = connect_to(port);
    stream->opened_us = g_get_monotonic_time();
    write_bytes(stream->connection, request->str, request->len);
    stream->input = make_input(stream->connection);
    stream->head = read_head(stream->input);
    stream->status = status_of(stream->head);
    stream->is_chunked = strstr(stream->head, "chunked") != NULL;
    stream->text = g_string_new(NULL);
    return stream;
}

Stream *
stream_open(uint16_t port, const char *path, const char *body)
{
    return stream_open_with(port, path, NULL, body);
}

static char *
event_of(const char *block)
{
    if (block[0] == ':')
        return g_strdup(block);
    const char *data = strstr(block, "data: ");
    g_assert_nonnull(data);
    return g_strdup(data + strlen("data: "));
}

/* What comes before the mark, which is passed. */
static char *
read_until(Stream *stream, const char *mark)
{
    char *end;
    while (!(end = strstr(stream->text->str, mark))) {
        size_t n_bytes = 0;
        g_autofree char *chunk = read_chunk(stream->input, stream->is_chunked, &n_bytes);
        if (!chunk)
            return NULL;
        g_string_append_len(stream->text, chunk, (gssize)n_bytes);
    }
    gssize n_bytes = end - stream->text->str;
    char *text = g_strndup(stream->text->str, (gsize)n_bytes);
    g_string_erase(stream->text, 0, n_bytes + (gssize)strlen(mark));
    return text;
}

char *
stream_next(Stream *stream)
{
    g_autofree char *block = read_until(stream, "\n\n");
    return block ? event_of(block) : NULL;
}

char *
stream_next_line(Stream *stream)
{
    return read_until(stream, "\n");
}

void
stream_close(Stream *stream)
{
    if (!stream)
        return;
    g_io_stream_close(G_IO_STREAM(stream->connection), NULL, NULL);
    g_object_unref(stream->input);
    g_object_unref(stream->connection);
    g_free(stream->head);
    g_string_free(stream->text, true);
    g_free(stream);
}

/* Chats */

/* Members that stand in each chunk, and do not change. */
static void
check_constant(JsonObject *chunk, JsonObject *first)
{
    const char *const texts[] = {"id", "object", "model", "system_fingerprint"};
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++)
        g_assert_cmpstr(json_object_get_string_member(chunk, texts[i]), ==,
                        json_object_get_string_member(first, texts[i]));
    g_assert_cmpstr(json_object_get_string_member(chunk, "object"), ==, "chat.completion.chunk");
    g_assert_cmpint(json_object_get_int_member(chunk, "created"), ==,
                    json_object_get_int_member(first, "created"));
    g_assert_true(json_object_has_member(chunk, "choices"));
}

static void
read_choice(Chat *chat, JsonObject *choice, const Stream *stream)
{
    g_assert_null(chat->finish_reason);
    g_assert_cmpint(json_object_get_int_member(choice, "index"), ==, 0);
    JsonObject *delta = json_object_get_object_member(choice, "delta");
    if (chat->n_deltas++ == 0)
        g_assert_cmpstr(json_object_get_string_member(delta, "role"), ==, "assistant");
    else
        g_assert_false(json_object_has_member(delta, "role"));
    const char *text = json_object_get_string_member_with_default(delta, "content", "");
    g_string_append(chat->text, text);
    if (*text && !chat->first_us)
        chat->first_us = g_get_monotonic_time() - stream->opened_us;
    if (*text)
        chat->last_us = g_get_monotonic_time() - stream->opened_us;
    if (!json_object_get_null_member(choice, "finish_reason"))
        chat->finish_reason = g_strdup(json_object_get_string_member(choice, "finish_reason"));
}

static void
read_object(Chat *chat, JsonObject *chunk, JsonObject **first, const Stream *stream)
{
    if (!*first)
        *first = json_object_ref(chunk);
    check_constant(chunk, *first);
    g_assert_null(chat->usage);
    JsonArray *choices = json_object_get_array_member(chunk, "choices");
    if (json_object_has_member(chunk, "usage")) {
        g_assert_cmpuint(json_array_get_length(choices), ==, 0);
        g_assert_nonnull(chat->finish_reason);
        chat->usage = json_object_ref(json_object_get_object_member(chunk, "usage"));
        return;
    }
    g_assert_cmpuint(json_array_get_length(choices), ==, 1);
    read_choice(chat, json_array_get_object_element(choices, 0), stream);
    g_assert_cmpint(chat->finish_reason != NULL, ==, json_object_has_member(chunk, "sundog"));
    if (chat->finish_reason)
        chat->measured = json_object_ref(json_object_get_object_member(chunk, "sundog"));
}

static void
read_data(Chat *chat, const char *data, JsonObject **first, const Stream *stream)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(JsonNode) node = sundog_json_parse(data, strlen(data), &error);
    if (error)
        g_test_message("%s", data);
    g_assert_no_error(error);
    g_assert_true(JSON_NODE_HOLDS_OBJECT(node));
    JsonObject *chunk = json_node_get_object(node);
    if (json_object_has_member(chunk, "error")) {
        g_assert_null(chat->error);
        chat->error = g_strdup(data);
    } else {
        read_object(chat, chunk, first, stream);
    }
}

Chat *
chat_read(Stream *stream)
{
    Chat *chat = g_new0(Chat, 1);
    JsonObject *first = NULL;
    char *event;
    chat->text = g_string_new(NULL);
    if (stream->status != 200)
        g_test_message("%s", stream->head);
    g_assert_cmpuint(stream->status, ==, 200);
    g_assert_nonnull(strstr(stream->head, "text/event-stream"));
    while ((event = stream_next(stream))) {
        g_assert_false(chat->is_done);
        if (event[0] == ':')
            chat->n_comments++;
        else if (strcmp(event, "[DONE]") == 0)
            chat->is_done = true;
        else
            read_data(chat, event, &first, stream);
        g_free(event);
    }
    g_clear_pointer(&first, json_object_unref);
    return chat;
}

void
chat_free(Chat *chat)
{
    if (!chat)
        return;
    g_string_free(chat->text, true);
    g_free(chat->finish_reason);
    g_free(chat->error);
    g_clear_pointer(&chat->usage, json_object_unref);
    g_clear_pointer(&chat->measured, json_object_unref);
    g_free(chat);
}
