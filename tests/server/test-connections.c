/* What may happen on a connection: odd bytes, many requests, none, one that is long in the reading. */

#include "tests/server/fixture.h"

#include <string.h>

/* At most so much of a long request's work. */
#define MAIN_LOOP_SHARE 0.3

static void
write_all(GSocketConnection *connection, const char *bytes, size_t n_bytes)
{
    /* A server that refuses what it has read closes before all is written, as it may. */
    g_output_stream_write_all(g_io_stream_get_output_stream(G_IO_STREAM(connection)), bytes,
                              n_bytes, NULL, NULL, NULL);
}

static GSocketConnection *
connect_to(uint16_t port)
{
    g_autoptr(GSocketClient) client = g_socket_client_new();
    g_autoptr(GError) error = NULL;
    g_socket_client_set_enable_proxy(client, false);
    GSocketConnection *connection =
        g_socket_client_connect_to_host(client, "127.0.0.1", port, NULL, &error);
    g_assert_no_error(error);
    return connection;
}

static GSocketConnection *
connect_and_write(uint16_t port, const char *text)
{
    GSocketConnection *connection = connect_to(port);
    write_all(connection, text, strlen(text));
    return connection;
}

/* A chat as it goes over the line; owned by the caller. */
static char *
dup_post(const char *text, const char *members)
{
    g_autofree char *body = harness_dup_chat(text, members);
    return g_strdup_printf("POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n"
                           "Content-Type: application/json\r\nConnection: close\r\n"
                           "Content-Length: %zu\r\n\r\n%s",
                           strlen(body), body);
}

static void
test_odd_requests(Fixture *fixture, gconstpointer data)
{
    uint16_t port = fixture->harness->port;
    const char *const odd[] = {"GET\r\n\r\n",
                               "\r\n\r\n",
                               "GET / HTTP/9.9\r\n\r\n",
                               "GET /health HTTP/1.1\r\n\r\n",
                               "\x16\x03\x01\x02\x00\x01\x00\x01",
                               "GET /%zz HTTP/1.1\r\nHost: localhost\r\n\r\n",
                               "GET http://evil.example/ HTTP/1.1\r\nHost: localhost\r\n\r\n",
                               "POST /tokenize HTTP/1.1\r\nHost: localhost\r\n"
                               "Content-Length: 99999999999999999999\r\n\r\n"};
    for (size_t i = 0; i < G_N_ELEMENTS(odd); i++) {
        g_autoptr(GSocketConnection) connection = connect_and_write(port, odd[i]);
        g_io_stream_close(G_IO_STREAM(connection), NULL, NULL);
    }
    g_autoptr(Reply) after = client_get(port, "/health");
    g_assert_cmpuint(after->status, ==, 200);
    g_autoptr(Reply) head = client_send(port, "HEAD", "/health", NULL, NULL);
    g_assert_cmpuint(head->status, ==, 200);
    g_assert_cmpuint(head->n_bytes, ==, 0);
    /* HTTP/1.0 has no chunks: a stream ends with the connection. */
    g_autofree char *body = harness_dup_chat("Hi", "\"stream\":true");
    g_autofree char *old = g_strdup_printf("POST /v1/chat/completions HTTP/1.0\r\n"
                                           "Content-Type: application/json\r\n"
                                           "Content-Length: %zu\r\n\r\n%s",
                                           strlen(body), body);
    g_autoptr(Reply) stream = client_send_raw(port, old, strlen(old));
    g_assert_cmpuint(stream->status, ==, 200);
    g_assert_null(strstr(stream->head, "chunked"));
    g_assert_true(g_str_has_suffix(stream->body, "data: [DONE]\n\n"));
}

/* Everything that comes until the server closes; owned by the caller. */
static char *
read_to_end(GSocketConnection *connection)
{
    GString *text = g_string_new(NULL);
    char buffer[4096];
    GInputStream *input = g_io_stream_get_input_stream(G_IO_STREAM(connection));
    gssize n;
    while ((n = g_input_stream_read(input, buffer, sizeof buffer, NULL, NULL)) > 0)
        g_string_append_len(text, buffer, n);
    return g_string_free(text, FALSE);
}

/* One connection carries any number of requests, whatever became of those before. */
static void
test_kept_connection(Fixture *fixture, gconstpointer data)
{
    g_autoptr(GString) requests = g_string_new(NULL);
    const char *const bodies[] = {"{\"content\":\"Hello\"}", "{\"content\":", "{\"content\":1}"};
    for (size_t i = 0; i < 9; i++) {
        const char *body = bodies[i % G_N_ELEMENTS(bodies)];
        g_string_append_printf(requests,
                               "POST /tokenize HTTP/1.1\r\nHost: localhost\r\n"
                               "Content-Type: application/json\r\nContent-Length: %zu\r\n%s\r\n%s",
                               strlen(body), i == 8 ? "Connection: close\r\n" : "", body);
    }
    g_autoptr(GSocketConnection) connection =
        connect_and_write(fixture->harness->port, requests->str);
    g_autofree char *replies = read_to_end(connection);
    g_auto(GStrv) parts = g_strsplit(replies, "HTTP/1.1 ", -1);
    g_assert_cmpuint(g_strv_length(parts), ==, 10);
    for (size_t i = 0; i < 9; i++)
        g_assert_true(g_str_has_prefix(parts[i + 1], i % 3 == 0 ? "200" : "400"));
}

/* As connect_and_write, for a server that soon closes what is idle: again where this thread had no turn
 * between the two for so long that the connection was taken for one. */
static char *
dup_reply_of_whole_request(uint16_t port)
{
    for (;;) {
        g_autoptr(GSocketConnection) connection =
            connect_and_write(port, "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n");
        char *reply = read_to_end(connection);
        if (*reply)
            return reply;
        g_free(reply);
    }
}

static Stream *
open_stream(uint16_t port)
{
    g_autofree char *body = harness_dup_chat("Hi", "\"stream\":true");
    for (;;) {
        Stream *stream = stream_open(port, "/v1/chat/completions", body);
        if (stream->status)
            return stream;
        stream_close(stream);
    }
}

/* Connections on which nothing goes on are closed; an answer that takes its time is none of these. */
static void
test_idle_connections(void)
{
    harness_make_core("tiny", "{\"requests\":[{\"tokens\":[72],\"gate_at\":0}]}");
    g_autoptr(Harness) harness = harness_start_with(
        &(SundogServerOptions){.core = "tiny", .port = 0, .key = "", .idle_seconds = 1});
    g_assert_no_error(harness->error);
    harness_wait_ready(harness);
    g_autoptr(Stream) stream = open_stream(harness->port);
    const char *const beginnings[] = {
        "", "GET /health HT",
        "POST /tokenize HTTP/1.1\r\nHost: localhost\r\n"
        "Content-Type: application/json\r\nContent-Length: 9\r\n\r\n{"};
    GSocketConnection *connections[G_N_ELEMENTS(beginnings)];
    for (size_t i = 0; i < G_N_ELEMENTS(beginnings); i++)
        connections[i] = connect_and_write(harness->port, beginnings[i]);
    for (size_t i = 0; i < G_N_ELEMENTS(beginnings); i++) {
        g_autofree char *refusal = read_to_end(connections[i]);
        g_assert_false(g_str_has_prefix(refusal, "HTTP/1.1 200"));
        g_object_unref(connections[i]);
    }
    g_autofree char *reply = dup_reply_of_whole_request(harness->port);
    g_assert_true(g_str_has_prefix(reply, "HTTP/1.1 200"));
    harness_open_gate("tiny");
    g_autoptr(Chat) answer = chat_read(stream);
    g_assert_cmpstr(answer->text->str, ==, "H");
}

/* A prompt of megabytes is read and encoded beside the main loop, which meanwhile serves others: its thread
 * has little to do with it. Without the one or the other it would have most of the work, or half of it; on
 * a busy machine as on an idle one. */
static void
test_long_prompt(Fixture *fixture, gconstpointer data)
{
    const Harness *harness = fixture->harness;
    g_autofree char *text = g_strnfill(12u << 20, 'x');
    g_autofree char *body = harness_dup_chat(text, NULL);
    double server_us = harness_get_processor_us(harness->clock);
    double all_us = harness_get_processor_us(CLOCK_PROCESS_CPUTIME_ID);
    reply_assert_error(client_post(harness->port, "/v1/chat/completions", body), 400,
                       "context_length_exceeded", "messages");
    server_us = harness_get_processor_us(harness->clock) - server_us;
    all_us = harness_get_processor_us(CLOCK_PROCESS_CPUTIME_ID) - all_us;
    g_test_message("%.0f of %.0f us were the main loop's", server_us, all_us);
    g_assert_cmpfloat(server_us, <, all_us * MAIN_LOOP_SHARE);
}

/* One whose client leaves while its prompt is encoded takes nothing along. */
static void
test_long_prompt_left(Fixture *fixture, gconstpointer data)
{
    uint16_t port = fixture->harness->port;
    g_autofree char *text = g_strnfill(4u << 20, 'x');
    g_autofree char *request = dup_post(text, "\"stream\":true");
    g_autoptr(GSocketConnection) connection = connect_and_write(port, request);
    g_io_stream_close(G_IO_STREAM(connection), NULL, NULL);
    g_autoptr(Reply) after = client_get(port, "/health");
    g_assert_cmpuint(after->status, ==, 200);
}

int
main(int argc, char **argv)
{
    harness_init(&argc, &argv);
    fixture_add("/connections/odd-requests", test_odd_requests);
    fixture_add("/connections/kept-connection", test_kept_connection);
    g_test_add_func("/connections/idle-connections", test_idle_connections);
    fixture_add("/connections/long-prompt", test_long_prompt);
    fixture_add("/connections/long-prompt-left", test_long_prompt_left);
    return g_test_run();
}
