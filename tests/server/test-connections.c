/* What may happen on a connection: odd bytes, many requests, none, one that is long in the reading. */

#include "tests/server/fixture.h"

#include <string.h>

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
        g_autofree char *closing = g_strconcat(odd[i], NULL);
        g_autoptr(GSocketClient) client = g_socket_client_new();
        g_autoptr(GSocketConnection) connection =
            g_socket_client_connect_to_host(client, "127.0.0.1", port, NULL, NULL);
        g_output_stream_write_all(g_io_stream_get_output_stream(G_IO_STREAM(connection)), closing,
                                  strlen(closing), NULL, NULL, NULL);
        g_usleep(5000);
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
    g_autoptr(GSocketClient) client = g_socket_client_new();
    g_autoptr(GSocketConnection) connection =
        g_socket_client_connect_to_host(client, "127.0.0.1", fixture->harness->port, NULL, NULL);
    g_output_stream_write_all(g_io_stream_get_output_stream(G_IO_STREAM(connection)), requests->str,
                              requests->len, NULL, NULL, NULL);
    g_autofree char *replies = read_to_end(connection);
    g_auto(GStrv) parts = g_strsplit(replies, "HTTP/1.1 ", -1);
    g_assert_cmpuint(g_strv_length(parts), ==, 10);
    for (size_t i = 0; i < 9; i++)
        g_assert_true(g_str_has_prefix(parts[i + 1], i % 3 == 0 ? "200" : "400"));
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
    g_autofree char *body = harness_dup_chat("Hi", "\"stream\":true");
    g_autoptr(Stream) stream = stream_open(harness->port, "/v1/chat/completions", body);
    const char *const beginnings[] = {
        "", "GET /health HT", "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "POST /tokenize HTTP/1.1\r\nHost: localhost\r\n"
        "Content-Type: application/json\r\nContent-Length: 9\r\n\r\n{"};
    g_autoptr(GSocketClient) client = g_socket_client_new();
    GSocketConnection *connections[G_N_ELEMENTS(beginnings)];
    for (size_t i = 0; i < G_N_ELEMENTS(beginnings); i++) {
        connections[i] =
            g_socket_client_connect_to_host(client, "127.0.0.1", harness->port, NULL, NULL);
        g_output_stream_write_all(g_io_stream_get_output_stream(G_IO_STREAM(connections[i])),
                                  beginnings[i], strlen(beginnings[i]), NULL, NULL, NULL);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(beginnings); i++) {
        g_autofree char *reply = read_to_end(connections[i]);
        g_assert_cmpint(g_str_has_prefix(reply, "HTTP/1.1 200"), ==, i == 2);
        g_object_unref(connections[i]);
    }
    harness_open_gate("tiny");
    g_autoptr(Chat) answer = chat_read(stream);
    g_assert_cmpstr(answer->text->str, ==, "H");
}

typedef struct {
    uint16_t port;
    int is_answered; /* atomic */
} LongRequest;

static void *
send_long(void *data)
{
    LongRequest *request = data;
    g_autofree char *text = g_strnfill(12u << 20, 'x');
    g_autofree char *body = harness_dup_chat(text, NULL);
    Reply *reply = client_post(request->port, "/v1/chat/completions", body);
    g_atomic_int_set(&request->is_answered, true);
    return reply;
}

/* The share of a long request's time for which another one waited at most. */
static double
measure_wait(uint16_t port)
{
    LongRequest request = {.port = port};
    int64_t begin = g_get_monotonic_time(), longest = 0;
    GThread *thread = g_thread_new("long", send_long, &request);
    while (!g_atomic_int_get(&request.is_answered)) {
        int64_t before = g_get_monotonic_time();
        g_autoptr(Reply) health = client_get(port, "/health");
        g_assert_cmpuint(health->status, ==, 200);
        int64_t waited = g_get_monotonic_time() - before;
        longest = MAX(longest, waited);
    }
    double share = (double)longest / (double)(g_get_monotonic_time() - begin);
    reply_assert_error(g_thread_join(thread), 400, "context_length_exceeded", "messages");
    return share;
}

/* A prompt of megabytes is encoded beside the main loop: meanwhile others are served. Without that, one
 * of them would wait for about as long as the whole takes, each time; on a busy machine some may. */
static void
test_long_prompt(Fixture *fixture, gconstpointer data)
{
    double share = 1;
    for (int i = 0; i < 8 && share > 2.0 / 3; i++)
        share = measure_wait(fixture->harness->port);
    g_assert_cmpfloat(share, <, 2.0 / 3);
}

/* One whose client leaves while its prompt is encoded takes nothing along. */
static void
test_long_prompt_left(Fixture *fixture, gconstpointer data)
{
    uint16_t port = fixture->harness->port;
    g_autofree char *text = g_strnfill(4u << 20, 'x');
    g_autofree char *body = harness_dup_chat(text, "\"stream\":true");
    g_autofree char *request =
        g_strdup_printf("POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
                        "application/json\r\nContent-Length: %zu\r\n\r\n%s",
                        strlen(body), body);
    g_autoptr(GSocketClient) client = g_socket_client_new();
    g_autoptr(GSocketConnection) connection =
        g_socket_client_connect_to_host(client, "127.0.0.1", port, NULL, NULL);
    g_output_stream_write_all(g_io_stream_get_output_stream(G_IO_STREAM(connection)), request,
                              strlen(request), NULL, NULL, NULL);
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
