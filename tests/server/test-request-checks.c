/* What is looked at before a request is carried out: path and method, host, origin, key, type and form of the
 * body (reports H8, H44, H47). */

#include "tests/server/fixture.h"

#include <string.h>

/* H8 */
static void
test_paths(Fixture *fixture, gconstpointer data)
{
    uint16_t port = fixture->harness->port;
    reply_assert_error(client_get(port, "/nope"), 404, "not_found", NULL);
    g_autoptr(Reply) root = client_send(port, "HEAD", "/", NULL, NULL);
    g_assert_cmpuint(root->status, ==, 200); /* Ollama's clients look there first */
    reply_assert_error(client_get(port, "/v1/modelsx"), 404, "not_found", NULL);
    reply_assert_error(client_get(port, "/v1/models/"), 404, "not_found", NULL);
    reply_assert_error(client_get(port, "/v1/models/other"), 404, "model_not_found", "model");
    reply_assert_error(client_get(port, "//v1//models"), 404, "not_found", NULL);
    reply_assert_error(client_get(port, "/%2e%2e/etc/passwd"), 404, "not_found", NULL);
    reply_assert_error(client_post(port, "/v1/models", "{}"), 405, "method_not_allowed", NULL);
    g_autoptr(Reply) put = client_send(port, "PUT", "/v1/chat/completions", NULL, "{}");
    g_assert_nonnull(strstr(put->head, "Allow: POST"));
    g_assert_cmpuint(put->status, ==, 405);
    reply_assert_error(client_get(port, "/v1/chat/completions"), 405, "method_not_allowed", NULL);
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
        reply_assert_error(client_send(port, "GET", "/v1/models", headers, NULL), 403,
                           "host_not_allowed", NULL);
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
        reply_assert_error(client_send(port, "GET", "/v1/models", headers, NULL), 403,
                           "origin_not_allowed", NULL);
        reply_assert_error(client_send(port, "POST", "/sundog/v1/stop", headers, NULL), 403,
                           "origin_not_allowed", NULL);
    }
    reply_assert_error(
        client_send(port, "GET", "/v1/models", "Sec-Fetch-Site: cross-site\r\n", NULL), 403,
        "origin_not_allowed", NULL);
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
    reply_assert_error(
        client_send(port, "OPTIONS", "/v1/chat/completions", "Origin: http://c.example\r\n", NULL),
        403, "origin_not_allowed", NULL);
    g_autoptr(Reply) reset =
        client_send(port, "PATCH", "/sundog/v1/config", NULL, "{\"server.origins\":null}");
    g_assert_cmpuint(reset->status, ==, 200);
}

static void
test_key(void)
{
    harness_make_core("tiny", fixture_script);
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
        reply_assert_error(client_send(harness->port, "GET", "/v1/models", bad[i], NULL), 401,
                           "invalid_api_key", NULL);
    reply_assert_error(client_get(harness->port, "/nope"), 401, "invalid_api_key", NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(good); i++) {
        g_autoptr(Reply) reply = client_send(harness->port, "GET", "/v1/models", good[i], NULL);
        g_assert_cmpuint(reply->status, ==, 200);
    }
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
        reply_assert_error(client_send(port, "POST", "/v1/chat/completions", headers, body), 415,
                           "unsupported_media_type", NULL);
    }
    g_autoptr(Reply) reply = client_send(port, "POST", "/v1/chat/completions",
                                         "Content-Type: application/json; charset=utf-8\r\n", body);
    g_assert_cmpuint(reply->status, ==, 200);
}

/* What litellm and curl send to Ollama's endpoints, neither of which a page can send without its origin. */
static void
test_no_content_type(Fixture *fixture, gconstpointer data)
{
    uint16_t port = fixture->harness->port;
    const char *body = "{\"model\":\"tiny\",\"prompt\":\"Hi\",\"stream\":false}";
    const char *const paths[] = {"/api/generate", "/v1/completions"};
    const char *const page = "Origin: vscode-webview://a\r\n";
    for (size_t i = 0; i < G_N_ELEMENTS(paths); i++) {
        const char *const types[] = {"", "Content-Type: application/x-www-form-urlencoded\r\n"};
        for (size_t k = 0; k < G_N_ELEMENTS(types); k++) {
            for (int from_page = 0; from_page < 2; from_page++) {
                g_autofree char *request = g_strdup_printf(
                    "POST %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%s%s"
                    "Content-Length: %zu\r\n\r\n%s",
                    paths[i], types[k], from_page ? page : "", strlen(body), body);
                g_autoptr(Reply) reply = client_send_raw(port, request, strlen(request));
                bool is_taken = !from_page && (k == 0 || i == 0);
                g_assert_cmpuint(reply->status, ==, is_taken ? 200 : 415);
            }
        }
    }
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
    reply_assert_error(client_post(port, "/v1/chat/completions", deep->str), 400, "invalid_json",
                       NULL);
    reply_assert_error(client_post(port, "/v1/chat/completions", "[]"), 400, "invalid_type", NULL);
    reply_assert_error(client_post(port, "/v1/chat/completions", "\xff\xfe"), 400, "invalid_json",
                       NULL);
    reply_assert_error(client_post(port, "/v1/chat/completions", "{\"messages\":NaN}"), 400,
                       "invalid_json", NULL);
    reply_assert_error(client_post(port, "/v1/chat/completions", "{}{}"), 400, "invalid_json",
                       NULL);
}

static void
test_long_bodies(Fixture *fixture, gconstpointer data)
{
    uint16_t port = fixture->harness->port;
    const char *head = "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n"
                       "Content-Type: application/json\r\nContent-Length: 2147483648\r\n\r\n{";
    /* At once: the two gigabytes never come. */
    reply_assert_error(client_send_raw(port, head, strlen(head)), 413, "request_too_large", NULL);
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

int
main(int argc, char **argv)
{
    harness_init(&argc, &argv);
    fixture_add("/request-checks/paths", test_paths);
    fixture_add("/request-checks/host", test_host);
    fixture_add("/request-checks/origin", test_origin);
    fixture_add("/request-checks/allowed-origin", test_allowed_origin);
    g_test_add_func("/request-checks/key", test_key);
    fixture_add("/request-checks/content-type", test_content_type);
    fixture_add("/request-checks/no-content-type", test_no_content_type);
    fixture_add("/request-checks/bad-json", test_bad_json);
    fixture_add("/request-checks/long-bodies", test_long_bodies);
    return g_test_run();
}
