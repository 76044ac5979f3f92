/* The own API and the lists of models (report G1). */

#include "tests/server/fixture.h"

#include "engine/library/paths.h"
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>

static void
test_lists_of_models(Fixture *fixture, gconstpointer data)
{
    uint16_t port = fixture->harness->port;
    g_autoptr(Reply) lmstudio = client_get(port, "/api/v0/models/tiny");
    g_assert_nonnull(strstr(lmstudio->body, "\"state\":\"loaded\""));
    g_assert_nonnull(strstr(lmstudio->body, "\"loaded_context_length\":"));
    reply_assert_error(client_get(port, "/api/v0/models/other"), 404, "model_not_found", "model");
    g_autoptr(Reply) openai = client_get(port, "/v1/models");
    g_assert_nonnull(strstr(openai->body, "\"display_name\":\"tiny\""));
    g_assert_nonnull(strstr(openai->body, "\"has_more\":false"));
    g_autoptr(Reply) ollama = client_get(port, "/api/tags");
    g_assert_nonnull(strstr(ollama->body, "\"model\":\"tiny\""));
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
    reply_assert_error(client_get(port, "/sundog/v1/log?level=loud"), 400, "invalid_value",
                       "level");
    g_autoptr(Reply) metrics = client_get(port, "/metrics");
    g_assert_nonnull(strstr(metrics->body, "\nsundog_requests_total{model=\"tiny\"} "));
    g_autoptr(Reply) config = client_get(port, "/sundog/v1/config");
    g_assert_nonnull(strstr(config->body, "server.port"));
    reply_assert_error(
        client_send(port, "PATCH", "/sundog/v1/config", NULL, "{\"server.port\":99999}"), 400,
        "invalid_value", "server.port");
    reply_assert_error(client_send(port, "PATCH", "/sundog/v1/config", NULL, "{\"no.such\":1}"),
                       400, "invalid_value", "no.such");
    reply_assert_error(client_send(port, "DELETE", "/sundog/v1/requests/none", NULL, NULL), 404,
                       "not_found", NULL);
    reply_assert_error(client_send(port, "DELETE", "/sundog/v1/cores/none", NULL, NULL), 404,
                       "not_found", NULL);
    reply_assert_error(client_post(port, "/sundog/v1/jobs", "{\"kind\":\"dance\"}"), 400,
                       "invalid_value", "kind");
    reply_assert_error(
        client_post(port, "/sundog/v1/jobs", "{\"kind\":\"prepare\",\"model\":\"--help\"}"), 400,
        "invalid_value", "model");
}

static void
test_other_models(void)
{
    harness_make_core("tiny", fixture_script);
    harness_make_core("other", fixture_script);
    g_autoptr(Harness) harness = harness_start(NULL);
    reply_assert_error(client_post(harness->port, "/tokenize", "{\"content\":\"a\"}"), 503,
                       "no_core", "model");
    reply_assert_error(
        client_post(harness->port, "/tokenize", "{\"content\":\"a\",\"model\":\"third\"}"), 404,
        "model_not_found", "model");
    reply_assert_error(
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

/* What the setting asks for: nothing, lines without texts, lines with them. */
static void
test_request_log(void)
{
    const char *path = sundog_paths_get_request_log();
    g_autofree char *body = harness_dup_chat("Sesame", NULL);
    for (int i = 0; i < 3; i++) {
        g_autofree char *text = NULL;
        harness_set("server.request_log", i > 0 ? "true" : NULL);
        harness_set("server.log_texts", i > 1 ? "true" : NULL);
        harness_make_core("tiny", fixture_script);
        Harness *harness = harness_start("tiny");
        g_autoptr(Reply) reply = client_post(harness->port, "/v1/chat/completions", body);
        g_assert_cmpuint(reply->status, ==, 200);
        harness_stop(harness);
        bool is_there = g_file_get_contents(path, &text, NULL, NULL);
        g_assert_true(is_there == (i > 0));
        if (!is_there)
            continue;
        GStatBuf status;
        g_assert_cmpint(g_stat(path, &status), ==, 0);
        g_assert_cmpuint(status.st_mode & 0777, ==, 0600);
        g_assert_nonnull(strstr(text, "\"state\":\"stop\""));
        g_assert_true((strstr(text, "Sesame") != NULL) == (i > 1));
        g_assert_true((strstr(text, "\"answer\":\"Hello\"") != NULL) == (i > 1));
    }
    harness_set("server.request_log", NULL);
    harness_set("server.log_texts", NULL);
}

int
main(int argc, char **argv)
{
    harness_init(&argc, &argv);
    fixture_add("/own-api/lists-of-models", test_lists_of_models);
    fixture_add("/own-api/own-api", test_own_api);
    g_test_add_func("/own-api/other-models", test_other_models);
    g_test_add_func("/own-api/request-log", test_request_log);
    return g_test_run();
}
