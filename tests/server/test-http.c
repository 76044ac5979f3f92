/* What the server says to requests good and bad (reports H8, H9, H27, H28, H44, H47, and the fields). */

#include "engine/server/routes.h"
#include "tests/server/harness.h"

#include <signal.h>
#include <string.h>

static const char *const script = "{\"ready\":{\"n_vocabulary\":259,\"context_length\":64},"
                                  " \"requests\":[{\"tokens\":[72,101,108,108,111]}]}";

typedef struct {
    Harness *harness;
} Fixture;

static void
set_up(Fixture *fixture, gconstpointer data)
{
    harness_make_core("tiny", script);
    fixture->harness = harness_start("tiny");
    harness_wait_ready(fixture->harness);
}

static void
tear_down(Fixture *fixture, gconstpointer data)
{
    harness_stop(fixture->harness);
}

static void
assert_error(Reply *reply, unsigned status, const char *code, const char *param)
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

static void
assert_chat_error(Fixture *fixture, const char *members, const char *code, const char *param)
{
    g_autofree char *body = harness_dup_chat("Hi", members);
    assert_error(client_post(fixture->harness->port, "/v1/chat/completions", body), 400, code,
                 param);
}

/* H8 */
static void
test_paths(Fixture *fixture, gconstpointer data)
{
    uint16_t port = fixture->harness->port;
    assert_error(client_get(port, "/nope"), 404, "not_found", NULL);
    g_autoptr(Reply) root = client_send(port, "HEAD", "/", NULL, NULL);
    g_assert_cmpuint(root->status, ==, 200); /* Ollama's clients look there first */
    assert_error(client_get(port, "/v1/modelsx"), 404, "not_found", NULL);
    assert_error(client_get(port, "/v1/models/"), 404, "not_found", NULL);
    assert_error(client_get(port, "/v1/models/other"), 404, "model_not_found", "model");
    assert_error(client_get(port, "//v1//models"), 404, "not_found", NULL);
    assert_error(client_get(port, "/%2e%2e/etc/passwd"), 404, "not_found", NULL);
    assert_error(client_post(port, "/v1/models", "{}"), 405, "method_not_allowed", NULL);
    g_autoptr(Reply) put = client_send(port, "PUT", "/v1/chat/completions", NULL, "{}");
    g_assert_nonnull(strstr(put->head, "Allow: POST"));
    g_assert_cmpuint(put->status, ==, 405);
    assert_error(client_get(port, "/v1/chat/completions"), 405, "method_not_allowed", NULL);
}

/* H44 */
static void
test_host(Fixture *fixture, gconstpointer data)
{
    uint16_t port = fixture->harness->port;
    const char *const bad[] = {
        "evil.example", "evil.example:7410", "localhost.evil.example", "127.0.0.1.evil.example",
        "192.168.1.5",

        "0.0.0.0"};
    const char *const good[] = {"localhost",    "LOCALHOST:7410", "127.0.0.1",
                                "127.9.9.9:80", "[::1]",          "[::1]:7410"};
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_autofree char *headers = g_strdup_printf("Host: %s\r\n", bad[i]);
        g_test_message("%s", bad[i]);
        assert_error(client_send(port, "GET", "/v1/models", headers, NULL), 403, "host_not_allowed",
                     NULL);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(good); i++) {
        g_autofree char *headers = g_strdup_printf("Host: %s\r\n", good[i]);
        g_autoptr(Reply) reply = client_send(port, "GET", "/v1/models", headers, NULL);
        g_assert_cmpuint(reply->status, ==, 200);
    }
}

static void
test_origin(Fixture *fixture, gconstpointer data)
{
    uint16_t port = fixture->harness->port;
    const char *const bad[] = {"http://evil.example", "null", "http://localhost:3000",
                               "https://app://", ""};
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_autofree char *headers = g_strdup_printf("Origin: %s\r\n", bad[i]);
        assert_error(client_send(port, "GET", "/v1/models", headers, NULL), 403,
                     "origin_not_allowed", NULL);
        assert_error(client_send(port, "POST", "/sundog/v1/stop", headers, NULL), 403,
                     "origin_not_allowed", NULL);
    }
    assert_error(client_send(port, "GET", "/v1/models", "Sec-Fetch-Site: cross-site\r\n", NULL),
                 403, "origin_not_allowed", NULL);
    g_autoptr(Reply) app =
        client_send(port, "GET", "/v1/models", "Origin: vscode-webview://abc\r\n", NULL);
    g_assert_cmpuint(app->status, ==, 200);
    g_assert_nonnull(strstr(app->head, "Access-Control-Allow-Origin: vscode-webview://abc"));
}

/* An origin that the person allowed may also ask before it sends JSON. */
static void
test_allowed_origin(Fixture *fixture, gconstpointer data)
{
    uint16_t port = fixture->harness->port;
    g_autoptr(Reply) set =
        client_send(port, "PATCH", "/sundog/v1/config", NULL,
                    "{\"server.origins\":\"http://a.example, http://b.example\"}");
    g_assert_cmpuint(set->status, ==, 200);
    g_autoptr(Reply) asked = client_send(port, "OPTIONS", "/v1/chat/completions",
                                         "Origin: http://b.example\r\n"
                                         "Access-Control-Request-Method: POST\r\n",
                                         NULL);
    g_assert_cmpuint(asked->status, ==, 204);
    g_assert_nonnull(strstr(asked->head, "Access-Control-Allow-Origin: http://b.example"));
    g_assert_nonnull(strstr(asked->head, "Access-Control-Allow-Methods: POST"));
    assert_error(
        client_send(port, "OPTIONS", "/v1/chat/completions", "Origin: http://c.example\r\n", NULL),
        403, "origin_not_allowed", NULL);
    g_autoptr(Reply) reset =
        client_send(port, "PATCH", "/sundog/v1/config", NULL, "{\"server.origins\":null}");
    g_assert_cmpuint(reset->status, ==, 200);
}

static void
test_content_type(Fixture *fixture, gconstpointer data)
{
    uint16_t port = fixture->harness->port;
    g_autofree char *body = harness_dup_chat("Hi", NULL);
    const char *const bad[] = {"text/plain", "application/x-www-form-urlencoded",
                               "multipart/form-data; boundary=x", "application/jsonx", ""};
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_autofree char *headers = g_strdup_printf("Content-Type: %s\r\n", bad[i]);
        assert_error(client_send(port, "POST", "/v1/chat/completions", headers, body), 415,
                     "unsupported_media_type", NULL);
    }
    g_autoptr(Reply) reply = client_send(port, "POST", "/v1/chat/completions",
                                         "Content-Type: application/json; charset=utf-8\r\n", body);
    g_assert_cmpuint(reply->status, ==, 200);
}

/* H47 */
static void
test_bad_json(Fixture *fixture, gconstpointer data)
{
    uint16_t port = fixture->harness->port;
    JsonObject *error = NULL;
    g_autoptr(Reply) comma = client_post(port, "/v1/chat/completions", "{\n  \"messages\": [],\n}");
    g_assert_cmpuint(comma->status, ==, 400);
    g_assert_cmpstr(reply_get_error(comma, &error), ==, "invalid_json");
    g_test_message("%s", json_object_get_string_member(error, "message"));
    g_assert_nonnull(strstr(json_object_get_string_member(error, "message"), "line 3"));
    json_object_unref(error);
    g_autoptr(GString) deep = g_string_new("{\"messages\":");
    for (int i = 0; i < 10000; i++)
        g_string_append_c(deep, '[');
    assert_error(client_post(port, "/v1/chat/completions", deep->str), 400, "invalid_json", NULL);
    assert_error(client_post(port, "/v1/chat/completions", "[]"), 400, "invalid_type", NULL);
    assert_error(client_post(port, "/v1/chat/completions", "\xff\xfe"), 400, "invalid_json", NULL);
    assert_error(client_post(port, "/v1/chat/completions", "{\"messages\":NaN}"), 400,
                 "invalid_json", NULL);
    assert_error(client_post(port, "/v1/chat/completions", "{}{}"), 400, "invalid_json", NULL);
}

static Reply *
send_head(uint16_t port, const char *head)
{
    return client_send_raw(port, head, strlen(head));
}

static void
test_long_bodies(Fixture *fixture, gconstpointer data)
{
    uint16_t port = fixture->harness->port;
    const char *head = "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n"
                       "Content-Type: application/json\r\nContent-Length: 2147483648\r\n\r\n{";
    /* At once: the two gigabytes never come. */
    assert_error(send_head(port, head), 413, "request_too_large", NULL);
    /* In chunks nobody says how long it will be. */
    g_autoptr(GString) chunks =
        g_string_new("POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n"
                     "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n");
    g_autofree char *spaces = g_strnfill(1 << 20, ' ');
    for (int i = 0; i < 40; i++)
        g_string_append_printf(chunks, "100000\r\n%s\r\n", spaces);
    g_autoptr(Reply) reply = client_send_raw(port, chunks->str, chunks->len);
    if (reply->status) /* the connection may be cut while the client still sends */
        g_assert_cmpuint(reply->status, ==, 413);
    g_autoptr(Reply) after = client_get(port, "/health");
    g_assert_cmpuint(after->status, ==, 200);
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

static void
test_key(void)
{
    harness_make_core("tiny", script);
    g_autoptr(Harness) harness =
        harness_start_with(&(SundogServerOptions){.core = "tiny", .port = 0, .key = "sesame"});
    g_assert_no_error(harness->error);
    harness_wait_ready(harness); /* health needs no key */
    const char *const bad[] = {NULL,
                               "Authorization: Bearer sesam\r\n",
                               "Authorization: Bearer sesames\r\n",
                               "Authorization: sesame\r\n",
                               "x-api-key: Sesame\r\n",
                               "Authorization: Bearer \r\n"};
    const char *const good[] = {"Authorization: Bearer sesame\r\n", "x-api-key: sesame\r\n",
                                "authorization: bearer sesame\r\n"};
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++)
        assert_error(client_send(harness->port, "GET", "/v1/models", bad[i], NULL), 401,
                     "invalid_api_key", NULL);
    assert_error(client_get(harness->port, "/nope"), 401, "invalid_api_key", NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(good); i++) {
        g_autoptr(Reply) reply = client_send(harness->port, "GET", "/v1/models", good[i], NULL);
        g_assert_cmpuint(reply->status, ==, 200);
    }
}

static void
test_plain_chat(Fixture *fixture, gconstpointer data)
{
    g_autofree char *body = harness_dup_chat("Hi", "\"seed\":5,\"temperature\":0");
    g_autoptr(Reply) reply = client_post(fixture->harness->port, "/v1/chat/completions", body);
    g_assert_cmpuint(reply->status, ==, 200);
    g_autoptr(JsonObject) object = reply_get_object(reply);
    g_assert_cmpstr(json_object_get_string_member(object, "object"), ==, "chat.completion");
    g_assert_cmpstr(json_object_get_string_member(object, "model"), ==, "tiny");
    JsonObject *choice =
        json_array_get_object_element(json_object_get_array_member(object, "choices"), 0);
    g_assert_cmpstr(json_object_get_string_member(choice, "finish_reason"), ==, "stop");
    JsonObject *message = json_object_get_object_member(choice, "message");
    g_assert_cmpstr(json_object_get_string_member(message, "content"), ==, "Hello");
    g_assert_cmpstr(json_object_get_string_member(message, "role"), ==, "assistant");
    JsonObject *usage = json_object_get_object_member(object, "usage");
    g_assert_cmpint(json_object_get_int_member(usage, "completion_tokens"), ==, 5);
    g_assert_cmpint(json_object_get_int_member(usage, "total_tokens"), ==,
                    5 + json_object_get_int_member(usage, "prompt_tokens"));
    JsonObject *measured = json_object_get_object_member(object, "sundog");
    g_assert_cmpint(json_object_get_int_member(measured, "seed"), ==, 5); /* S1 */
    g_assert_cmpint(json_object_get_int_member(measured, "context_length"), ==, 64);
    harness_wait_for_log("tiny", "\"seed\":5", 1);
}

/* A prompt of megabytes is encoded beside the main loop: meanwhile others are served. Without that, one
 * of them would wait for about as long as the whole takes. */
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

static void
test_long_prompt(Fixture *fixture, gconstpointer data)
{
    LongRequest request = {.port = fixture->harness->port};
    int64_t begin = g_get_monotonic_time(), longest = 0;
    GThread *thread = g_thread_new("long", send_long, &request);
    while (!g_atomic_int_get(&request.is_answered)) {
        int64_t before = g_get_monotonic_time();
        g_autoptr(Reply) health = client_get(request.port, "/health");
        g_assert_cmpuint(health->status, ==, 200);
        longest = MAX(longest, g_get_monotonic_time() - before);
    }
    int64_t whole = g_get_monotonic_time() - begin;
    g_test_message("%d ms in all, others waited %d ms at most", (int)(whole / 1000),
                   (int)(longest / 1000));
    g_assert_cmpint(longest, <, whole * 2 / 3);
    assert_error(g_thread_join(thread), 400, "context_length_exceeded", "messages");
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

/* Fields that come later are refused by name; the same where they ask for nothing are not. */
static void
test_fields(Fixture *fixture, gconstpointer data)
{
    const struct {
        const char *param, *refused, *taken;
    } later[] = {
        {"logprobs", "true", "false"},
        {"top_logprobs", "3", "0"},
        {"n", "2", "1"},
        {"functions", "[{\"name\":\"f\"}]", "null"},
        {"audio", "{\"voice\":\"x\"}", "null"},
        {"modalities", "[\"audio\"]", "[\"text\"]"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(later); i++) {
        g_autofree char *refused = g_strdup_printf("\"%s\":%s", later[i].param, later[i].refused);
        g_autofree char *taken = g_strdup_printf("\"%s\":%s,\"never_heard_of\":{\"a\":[1]}",
                                                 later[i].param, later[i].taken);
        assert_chat_error(fixture, refused, "unsupported_parameter", later[i].param);
        g_autofree char *body = harness_dup_chat("Hi", taken);
        g_autoptr(Reply) reply = client_post(fixture->harness->port, "/v1/chat/completions", body);
        g_assert_cmpuint(reply->status, ==, 200);
    }
}

static void
test_ranges(Fixture *fixture, gconstpointer data)
{
    const struct {
        const char *members, *code, *param;
    } bad[] = {
        {"\"temperature\":-1", "invalid_value", "temperature"},
        {"\"temperature\":\"hot\"", "invalid_type", "temperature"},
        {"\"temperature\":1e999", "invalid_json", NULL},
        {"\"top_p\":1.5", "invalid_value", "top_p"},
        {"\"top_k\":-2", "invalid_value", "top_k"},
        {"\"top_k\":2.5", "invalid_type", "top_k"},
        {"\"top_k\":1e300", "invalid_value", "top_k"},
        {"\"max_tokens\":0", "invalid_value", "max_tokens"},
        {"\"max_tokens\":-7", "invalid_value", "max_tokens"},
        {"\"max_completion_tokens\":\"9\"", "invalid_type", "max_completion_tokens"},
        {"\"seed\":\"x\"", "invalid_type", "seed"},
        {"\"stop\":5", "invalid_type", "stop"},
        {"\"stop\":[\"a\",5]", "invalid_type", "stop"},
        {"\"stream\":1", "invalid_type", "stream"},
        {"\"stream_options\":5", "invalid_type", "stream_options"},
        {"\"messages\":\"Hi\"", "invalid_type", "messages"},
        {"\"messages\":[]", "missing_required_parameter", "messages"},
        {"\"messages\":null", "missing_required_parameter", "messages"},
        {"\"messages\":[5]", "invalid_messages", "messages"},
        {"\"model\":5", "invalid_type", "model"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_test_message("%s", bad[i].members);
        /* The later of two equal members holds. */
        if (strcmp(bad[i].code, "invalid_json") == 0) {
            g_autofree char *body = harness_dup_chat("Hi", bad[i].members);
            g_autoptr(Reply) reply =
                client_post(fixture->harness->port, "/v1/chat/completions", body);
            g_assert_cmpuint(reply->status, ==, 400);
        } else {
            assert_chat_error(fixture, bad[i].members, bad[i].code, bad[i].param);
        }
    }
    assert_chat_error(fixture, "\"n\":\"1\"", "unsupported_parameter", "n");
}

static void
test_max_tokens(Fixture *fixture, gconstpointer data)
{
    g_autofree char *body = harness_dup_chat("Hi", "\"max_tokens\":40,\"max_completion_tokens\":2");
    g_autoptr(Reply) reply = client_post(fixture->harness->port, "/v1/chat/completions", body);
    g_autoptr(JsonObject) object = reply_get_object(reply);
    JsonObject *choice =
        json_array_get_object_element(json_object_get_array_member(object, "choices"), 0);
    g_assert_cmpstr(json_object_get_string_member(choice, "finish_reason"), ==, "length");
    g_assert_cmpstr(
        json_object_get_string_member(json_object_get_object_member(choice, "message"), "content"),
        ==, "He");
}

/* H27, H28: histories as real clients send them. */
static void
test_messages(Fixture *fixture, gconstpointer data)
{
    const char *const good[] = {
        "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[]}",
        "{\"role\":\"assistant\"}",
        "{\"role\":\"assistant\",\"content\":\"\"}",
        "{\"role\":\"assistant\",\"content\":[]}",
        "{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"a\"}]}",
        "{\"role\":\"system\",\"content\":\"Be\"}",
    };
    for (size_t i = 0; i < G_N_ELEMENTS(good); i++) {
        g_autofree char *body =
            g_strdup_printf("{\"messages\":[%s,{\"role\":\"user\",\"content\":\"Hi\"}]}", good[i]);
        g_autoptr(Reply) reply = client_post(fixture->harness->port, "/apply-template", body);
        if (reply->status != 200)
            g_test_message("%s -> %s", body, reply->body);
        g_assert_cmpuint(reply->status, ==, 200);
    }
    g_autoptr(Reply) developer =
        client_post(fixture->harness->port, "/apply-template",
                    "{\"messages\":[{\"role\":\"developer\",\"content\":\"Be\"},"
                    "{\"role\":\"user\",\"content\":\"Hi\"}]}");
    g_autoptr(JsonObject) object = reply_get_object(developer);
    g_assert_cmpstr(json_object_get_string_member(object, "prompt"), ==,
                    "<|im_start|>system\nBe<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n"
                    "<|im_start|>assistant\n");
}

/* H9, H10: nothing is ever cut; both counts are told. */
static void
test_context(Fixture *fixture, gconstpointer data)
{
    g_autofree char *long_text = g_strnfill(200, 'x');
    const char *const streams[] = {"", "\"stream\":true"};
    for (size_t i = 0; i < G_N_ELEMENTS(streams); i++) {
        g_autofree char *body = harness_dup_chat(long_text, streams[i]);
        g_autoptr(Reply) reply = client_post(fixture->harness->port, "/v1/chat/completions", body);
        JsonObject *error = NULL;
        g_assert_cmpuint(reply->status, ==, 400);
        g_assert_cmpstr(reply_get_error(reply, &error), ==, "context_length_exceeded");
        const char *message = json_object_get_string_member(error, "message");
        g_test_message("%s", message);
        g_assert_nonnull(strstr(message, "64 tokens"));
        g_assert_nonnull(strstr(message, "has 2"));
        json_object_unref(error);
    }
    g_autofree char *prompt = g_strdup_printf("{\"prompt\":\"%s\"}", long_text);
    assert_error(client_post(fixture->harness->port, "/v1/completions", prompt), 400,
                 "context_length_exceeded", "prompt");
    g_assert_cmpuint(harness_count_in_log("tiny", "\"submit\""), ==, 0);
}

static void
test_completions(Fixture *fixture, gconstpointer data)
{
    uint16_t port = fixture->harness->port;
    const char *const prompts[] = {"\"ab\"", "[97,98]", "[\"ab\"]", "[[97,98]]"};
    for (size_t i = 0; i < G_N_ELEMENTS(prompts); i++) {
        g_autofree char *body = g_strdup_printf("{\"prompt\":%s,\"stop\":\"lo\"}", prompts[i]);
        g_autoptr(Reply) reply = client_post(port, "/v1/completions", body);
        g_autoptr(JsonObject) object = reply_get_object(reply);
        g_assert_cmpstr(json_object_get_string_member(object, "object"), ==, "text_completion");
        JsonObject *choice =
            json_array_get_object_element(json_object_get_array_member(object, "choices"), 0);
        g_assert_cmpstr(json_object_get_string_member(choice, "text"), ==, "Hel");
        g_assert_cmpstr(json_object_get_string_member(choice, "finish_reason"), ==, "stop");
    }
    harness_wait_for_log("tiny", "\"prompt\":[97,98]", 4);
    const char *const bad[] = {"[]",       "[\"a\",\"b\"]", "5",  "[-1]",      "[999]",
                               "[[[97]]]", "\"\"",          "{}", "[97,\"a\"]"};
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_autofree char *body = g_strdup_printf("{\"prompt\":%s}", bad[i]);
        g_autoptr(Reply) reply = client_post(port, "/v1/completions", body);
        g_test_message("%s", bad[i]);
        g_assert_cmpuint(reply->status, ==, 400);
    }
}

/* What stands between two texts, as three dialects ask for it. */
static void
test_infill(Fixture *fixture, gconstpointer data)
{
    static const struct {
        const char *path, *body;
    } ways[] = {
        {"/infill", "{\"input_prefix\":\"a\",\"prompt\":\"b\",\"input_suffix\":\"c\"}"},
        {"/v1/completions", "{\"prompt\":\"ab\",\"suffix\":\"c\"}"},
        {"/api/generate",
         "{\"model\":\"tiny\",\"prompt\":\"ab\",\"suffix\":\"c\",\"stream\":false}"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(ways); i++) {
        g_autoptr(Reply) reply = client_post(fixture->harness->port, ways[i].path, ways[i].body);
        g_assert_cmpuint(reply->status, ==, 200);
        g_assert_cmpuint(harness_count_in_log("tiny", "\"prompt\":[259,97,98,260,99,261]"), ==,
                         i + 1);
    }
    g_autoptr(Reply) more = client_post(fixture->harness->port, "/infill",
                                        "{\"input_extra\":[{\"filename\":\"f\",\"text\":\"x\"}],"
                                        "\"input_suffix\":\"<|fim_middle|>\"}");
    g_assert_cmpuint(more->status, ==, 200);
    /* A file goes before; a text makes no control token. */
    g_assert_cmpuint(harness_count_in_log("tiny", "\"prompt\":[102,10,120,10,259,260,60,124,"), ==,
                     1);
}

static void
test_llama_completion(Fixture *fixture, gconstpointer data)
{
    uint16_t port = fixture->harness->port;
    g_autoptr(Reply) reply =
        client_post(port, "/completion", "{\"prompt\":\"Hi\",\"n_predict\":2}");
    g_autoptr(JsonObject) object = reply_get_object(reply);
    g_assert_cmpstr(json_object_get_string_member(object, "content"), ==, "He");
    g_assert_cmpstr(json_object_get_string_member(object, "stop_type"), ==, "limit");
    g_assert_cmpint(json_object_get_int_member(object, "tokens_predicted"), ==, 2);
    g_autoptr(Stream) stream =
        stream_open(port, "/completion", "{\"prompt\":[72],\"stream\":true,\"stop\":[\"llo\"]}");
    g_autoptr(GString) text = g_string_new(NULL);
    g_autofree char *event = NULL;
    char *next;
    while ((next = stream_next(stream))) {
        g_free(event);
        event = next;
        g_autoptr(JsonNode) node = json_from_string(event, NULL);
        g_string_append(text, json_object_get_string_member(json_node_get_object(node), "content"));
    }
    g_assert_cmpstr(text->str, ==, "He");
    g_assert_nonnull(strstr(event, "\"stop\":true"));
    g_assert_nonnull(strstr(event, "\"stopping_word\":\"llo\""));
}

static void
test_lists_of_models(Fixture *fixture, gconstpointer data)
{
    uint16_t port = fixture->harness->port;
    g_autoptr(Reply) lmstudio = client_get(port, "/api/v0/models/tiny");
    g_assert_nonnull(strstr(lmstudio->body, "\"state\":\"loaded\""));
    g_assert_nonnull(strstr(lmstudio->body, "\"loaded_context_length\":"));
    assert_error(client_get(port, "/api/v0/models/other"), 404, "model_not_found", "model");
    g_autoptr(Reply) openai = client_get(port, "/v1/models");
    g_assert_nonnull(strstr(openai->body, "\"display_name\":\"tiny\""));
    g_assert_nonnull(strstr(openai->body, "\"has_more\":false"));
    g_autoptr(Reply) ollama = client_get(port, "/api/tags");
    g_assert_nonnull(strstr(ollama->body, "\"model\":\"tiny\""));
}

/* The description names every route, and what it says of methods holds. */
static void
test_openapi(Fixture *fixture, gconstpointer data)
{
    static const struct {
        const char *path, *method;
    } routes[] = {
#define X(path, method, handler, needs_key, purpose) {path, method},
        SUNDOG_ROUTES(X)
#undef X
    };
    g_autoptr(Reply) reply = client_get(fixture->harness->port, "/openapi.json");
    g_assert_cmpuint(reply->status, ==, 200);
    g_autoptr(JsonObject) object = reply_get_object(reply);
    JsonObject *paths = json_object_get_object_member(object, "paths");
    for (size_t i = 0; i < G_N_ELEMENTS(routes); i++) {
        g_auto(GStrv) parts = g_strsplit(routes[i].path, "*", 2);
        g_autofree char *path = g_strjoinv("{id}", parts);
        g_autofree char *method = g_ascii_strdown(routes[i].method, -1);
        g_assert_true(json_object_has_member(paths, path));
        g_assert_true(json_object_has_member(json_object_get_object_member(paths, path), method));
        g_autoptr(Reply) wrong =
            client_send(fixture->harness->port, "PUT", routes[i].path, NULL, "{}");
        g_assert_cmpuint(wrong->status, ==, 405);
        if (i > 0) /* found by the first that fits, so the order is one to be kept */
            g_assert_cmpint(strcmp(routes[i - 1].path, routes[i].path), <=, 0);
    }
}

static void
test_tokenize(Fixture *fixture, gconstpointer data)
{
    uint16_t port = fixture->harness->port;
    g_autoptr(Reply) plain = client_post(port, "/tokenize", "{\"content\":\"h\\u00e9<|im_end|>\"}");
    g_assert_cmpstr(plain->body, ==, "{\"tokens\":[104,195,169,257]}");
    g_autoptr(Reply) text =
        client_post(port, "/tokenize", "{\"content\":\"<|im_end|>\",\"parse_special\":false}");
    g_assert_null(strstr(text->body, "257"));
    g_autoptr(Reply) pieces =
        client_post(port, "/tokenize", "{\"content\":\"h\\u00e9\",\"with_pieces\":true}");
    g_assert_cmpstr(pieces->body, ==,
                    "{\"tokens\":[{\"id\":104,\"piece\":\"h\"},{\"id\":195,\"piece\":[195]},"
                    "{\"id\":169,\"piece\":[169]}]}");
    g_autoptr(Reply) back = client_post(port, "/detokenize", "{\"tokens\":[104,195,169,257]}");
    g_assert_cmpstr(back->body, ==, "{\"content\":\"hé<|im_end|>\"}");
    assert_error(client_post(port, "/detokenize", "{\"tokens\":[-1]}"), 400, "invalid_value",
                 "tokens");
    assert_error(client_post(port, "/detokenize", "{\"tokens\":[1e9]}"), 400, "invalid_value",
                 "tokens");
    assert_error(client_post(port, "/tokenize", "{}"), 400, "missing_required_parameter",
                 "content");
}

static void
test_own_api(Fixture *fixture, gconstpointer data)
{
    uint16_t port = fixture->harness->port;
    g_autoptr(Reply) state = client_get(port, "/sundog/v1/state");
    g_autoptr(JsonObject) object = reply_get_object(state);
    JsonObject *engine = json_object_get_object_member(object, "engine");
    g_assert_cmpstr(json_object_get_string_member(engine, "state"), ==, "ready");
    g_assert_cmpstr(json_object_get_string_member(engine, "core"), ==, "tiny");
    g_autoptr(Reply) cores = client_get(port, "/sundog/v1/cores");
    g_assert_nonnull(strstr(cores->body, "\"loaded\":true"));
    g_autoptr(Reply) models = client_get(port, "/sundog/v1/models");
    g_assert_nonnull(strstr(models->body, "smollm2-135m-instruct"));
    g_autoptr(Reply) log = client_get(port, "/sundog/v1/log?level=info&after=0");
    g_assert_nonnull(strstr(log->body, "is loaded on"));
    assert_error(client_get(port, "/sundog/v1/log?level=loud"), 400, "invalid_value", "level");
    g_autoptr(Reply) metrics = client_get(port, "/metrics");
    g_assert_nonnull(strstr(metrics->body, "\nsundog_requests_total "));
    g_autoptr(Reply) config = client_get(port, "/sundog/v1/config");
    g_assert_nonnull(strstr(config->body, "server.port"));
    assert_error(client_send(port, "PATCH", "/sundog/v1/config", NULL, "{\"server.port\":99999}"),
                 400, "invalid_value", "server.port");
    assert_error(client_send(port, "PATCH", "/sundog/v1/config", NULL, "{\"no.such\":1}"), 400,
                 "invalid_value", "no.such");
    assert_error(client_send(port, "DELETE", "/sundog/v1/requests/none", NULL, NULL), 404,
                 "not_found", NULL);
    assert_error(client_send(port, "DELETE", "/sundog/v1/cores/none", NULL, NULL), 404, "not_found",
                 NULL);
    assert_error(client_post(port, "/sundog/v1/jobs", "{\"kind\":\"dance\"}"), 400, "invalid_value",
                 "kind");
    assert_error(
        client_post(port, "/sundog/v1/jobs", "{\"kind\":\"prepare\",\"model\":\"--help\"}"), 400,
        "invalid_value", "model");
}

static void
test_other_models(void)
{
    harness_make_core("tiny", script);
    harness_make_core("other", script);
    g_autoptr(Harness) harness = harness_start(NULL);
    assert_error(client_post(harness->port, "/tokenize", "{\"content\":\"a\"}"), 503, "no_core",
                 "model");
    assert_error(client_post(harness->port, "/tokenize", "{\"content\":\"a\",\"model\":\"third\"}"),
                 404, "model_not_found", "model");
    assert_error(
        client_post(harness->port, "/tokenize", "{\"content\":\"a\",\"model\":\"../../tiny\"}"),
        404, "model_not_found", "model");
    /* A request for another core changes the engine. */
    const char *const names[] = {"tiny", "other", "tiny"};
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autofree char *body = g_strdup_printf(
            "{\"model\":\"%s\",\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}]}", names[i]);
        g_autoptr(Reply) reply = client_post(harness->port, "/v1/chat/completions", body);
        g_assert_cmpuint(reply->status, ==, 200);
        g_autofree char *named = g_strdup_printf("\"model\":\"%s\"", names[i]);
        g_assert_nonnull(strstr(reply->body, named));
    }
    /* G1: what is loaded is unloaded before it is deleted. */
    g_autoptr(Reply) deleted =
        client_send(harness->port, "DELETE", "/sundog/v1/cores/tiny", NULL, NULL);
    g_assert_cmpuint(deleted->status, ==, 200);
    g_assert_nonnull(strstr(deleted->body, "bytes_freed"));
    g_assert_cmpint(kill(harness_get_engine_pid("tiny"), 0), !=, 0);
    g_autoptr(Reply) list = client_get(harness->port, "/v1/models");
    g_assert_null(strstr(list->body, "tiny"));
    g_assert_nonnull(strstr(list->body, "other"));
}

int
main(int argc, char **argv)
{
    harness_init(&argc, &argv);
#define ADD(path, function) g_test_add("/http/" path, Fixture, NULL, set_up, function, tear_down)
    ADD("paths", test_paths);
    ADD("host", test_host);
    ADD("origin", test_origin);
    ADD("allowed-origin", test_allowed_origin);
    ADD("content-type", test_content_type);
    ADD("bad-json", test_bad_json);
    ADD("long-bodies", test_long_bodies);
    ADD("long-prompt", test_long_prompt);
    ADD("long-prompt-left", test_long_prompt_left);
    ADD("odd-requests", test_odd_requests);
    ADD("kept-connection", test_kept_connection);
    ADD("plain-chat", test_plain_chat);
    ADD("fields", test_fields);
    ADD("ranges", test_ranges);
    ADD("max-tokens", test_max_tokens);
    ADD("messages", test_messages);
    ADD("context", test_context);
    ADD("completions", test_completions);
    ADD("infill", test_infill);
    ADD("lists-of-models", test_lists_of_models);
    ADD("llama-completion", test_llama_completion);
    ADD("openapi", test_openapi);
    ADD("tokenize", test_tokenize);
    ADD("own-api", test_own_api);
#undef ADD
    g_test_add_func("/http/key", test_key);
    g_test_add_func("/http/idle-connections", test_idle_connections);
    g_test_add_func("/http/other-models", test_other_models);
    return g_test_run();
}
