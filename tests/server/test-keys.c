/* Keys of clients: what they open, what they may, and what is kept of them. */

#include "tests/server/harness.h"

#include "engine/library/api-keys.h"
#include "engine/library/paths.h"
#include "engine/server/key-limits.h"
#include <glib/gstdio.h>
#include <string.h>

#define CHAT "/v1/chat/completions"
#define SECOND G_USEC_PER_SEC

static const char script[] = "{\"ready\":{\"n_vocabulary\":259},\"requests\":["
                             "{\"prompt_has\":90,\"tokens\":[72,105],\"gate_at\":1},"
                             "{\"tokens\":[72,105]}]}";

static char *
add(const SundogApiKey *limits)
{
    g_autoptr(GError) error = NULL;
    char *secret = sundog_api_keys_add(limits, &error);
    g_assert_no_error(error);
    return secret;
}

static void
remove_all(void)
{
    g_unlink(sundog_paths_get_api_keys_file());
}

static Harness *
start(void)
{
    harness_make_core("tiny", script);
    Harness *harness =
        harness_start_with(&(SundogServerOptions){.core = "tiny", .port = 0, .key = "owner"});
    g_assert_no_error(harness->error);
    harness_wait_ready(harness);
    return harness;
}

static Reply *
ask(const Harness *harness, const char *secret, const char *method, const char *path,
    const char *body)
{
    g_autofree char *header = g_strdup_printf("Authorization: Bearer %s\r\n", secret);
    return client_send(harness->port, method, path, header, body);
}

static void
test_file(void)
{
    g_autofree char *text = NULL;
    GStatBuf status;
    char *models[] = {(char *)"tiny", NULL};
    g_autofree char *secret =
        add(&(SundogApiKey){.name = (char *)"editor", .requests_per_minute = 5, .models = models});
    g_autofree char *other = add(&(SundogApiKey){.name = (char *)"other"});
    g_assert_cmpstr(secret, !=, other);
    g_assert_cmpint(g_stat(sundog_paths_get_api_keys_file(), &status), ==, 0);
    g_assert_cmpuint(status.st_mode & 0777, ==, 0600);
    g_assert_true(g_file_get_contents(sundog_paths_get_api_keys_file(), &text, NULL, NULL));
    g_assert_null(strstr(text, secret));
    g_autoptr(SundogApiKeys) keys = sundog_api_keys_open(NULL);
    const SundogApiKey *found = sundog_api_keys_find(keys, secret);
    g_assert_nonnull(found);
    g_assert_cmpstr(found->name, ==, "editor");
    g_assert_cmpint(found->requests_per_minute, ==, 5);
    g_assert_true(sundog_api_key_allows_model(found, "tiny"));
    g_assert_false(sundog_api_key_allows_model(found, "large"));
    g_assert_null(sundog_api_keys_find(keys, "sundog-guess"));
    g_assert_false(sundog_api_keys_is_stale(keys));
    /* Names are one key's, and names. */
    g_autoptr(GError) error = NULL;
    g_assert_null(sundog_api_keys_add(&(SundogApiKey){.name = (char *)"other"}, &error));
    g_assert_nonnull(error);
    g_assert_null(sundog_api_keys_add(&(SundogApiKey){.name = (char *)"../x"}, NULL));
    g_assert_true(sundog_api_keys_remove("other", NULL));
    g_assert_false(sundog_api_keys_remove("other", NULL));
    g_assert_true(sundog_api_keys_is_stale(keys));
    remove_all();
}

/* One that is damaged is told of, and kept as it is. */
static void
test_damaged(void)
{
    static const char *const texts[] = {
        "",
        "{",
        "[]",
        "{\"version\":2,\"keys\":[]}",
        "{\"version\":1,\"keys\":[5]}",
        "{\"version\":1,\"keys\":[{\"name\":\"a\",\"hash\":\"short\"}]}"};
    const char *path = sundog_paths_get_api_keys_file();
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
        g_autoptr(GError) error = NULL;
        g_autofree char *kept = NULL;
        g_assert_true(g_file_set_contents(path, texts[i], -1, NULL));
        g_assert_null(sundog_api_keys_open(&error));
        g_assert_nonnull(strstr(error->message, path));
        g_assert_null(sundog_api_keys_add(&(SundogApiKey){.name = (char *)"a"}, NULL));
        g_assert_true(g_file_get_contents(path, &kept, NULL, NULL));
        g_assert_cmpstr(kept, ==, texts[i]);
    }
    remove_all();
}

/* By a clock of the test's own. */
static void
test_windows(void)
{
    g_autoptr(SundogKeyLimits) limits = sundog_key_limits_new();
    SundogApiKey key = {.name = (char *)"a", .requests_per_minute = 2};
    int64_t now = 1000 * SECOND;
    for (int i = 0; i < 2; i++) {
        g_assert_null(sundog_key_limits_check(limits, &key, now));
        sundog_key_limits_begin(limits, &key, 10, now);
        now += 10 * SECOND;
    }
    g_autoptr(SundogApiError) error = sundog_key_limits_check(limits, &key, now);
    g_assert_nonnull(error);
    g_assert_cmpuint(sundog_api_error_get_status(error), ==, 429);
    g_assert_cmpuint(error->retry_after_s, ==, 40);
    now += 40 * SECOND;
    g_assert_null(sundog_key_limits_check(limits, &key, now));
    /* Tokens count where they are spent: those of the answer at its end. */
    key.requests_per_minute = 0;
    key.tokens_per_minute = 100;
    g_assert_null(sundog_key_limits_check(limits, &key, now));
    sundog_key_limits_end(limits, &key, 90, now);
    g_autoptr(SundogApiError) spent = sundog_key_limits_check(limits, &key, now);
    g_assert_nonnull(spent);
    g_assert_null(sundog_key_limits_check(limits, &key, now + 60 * SECOND));
    /* Two began, one has ended. */
    key.concurrent_requests = 1;
    key.tokens_per_minute = 0;
    g_autoptr(SundogApiError) busy = sundog_key_limits_check(limits, &key, now);
    g_assert_nonnull(busy);
    sundog_key_limits_end(limits, &key, 0, now);
    g_assert_null(sundog_key_limits_check(limits, &key, now));
}

/* Answers for the client, all else for the owner; removed, it opens nothing, at once. */
static void
test_access(void)
{
    g_autoptr(Harness) harness = start();
    g_autofree char *secret = add(&(SundogApiKey){.name = (char *)"editor"});
    g_autofree char *body = harness_dup_chat("Hi", NULL);
    g_autoptr(Reply) answered = ask(harness, secret, "POST", CHAT, body);
    g_assert_cmpuint(answered->status, ==, 200);
    g_autoptr(Reply) models = ask(harness, secret, "GET", "/v1/models", NULL);
    g_assert_cmpuint(models->status, ==, 200);
    reply_assert_error(ask(harness, secret, "GET", "/sundog/v1/config", NULL), 403, "not_allowed",
                       NULL);
    reply_assert_error(ask(harness, secret, "POST", "/sundog/v1/stop", "{}"), 403, "not_allowed",
                       NULL);
    reply_assert_error(ask(harness, "guess", "POST", CHAT, body), 401, "invalid_api_key", NULL);
    g_autoptr(Reply) owner = ask(harness, "owner", "GET", "/sundog/v1/requests", NULL);
    g_assert_cmpuint(owner->status, ==, 200);
    g_assert_nonnull(strstr(owner->body, "\"key\":\"editor\""));
    g_assert_true(sundog_api_keys_remove("editor", NULL));
    reply_assert_error(ask(harness, secret, "POST", CHAT, body), 401, "invalid_api_key", NULL);
    remove_all();
}

static void
test_limits(void)
{
    char *models[] = {(char *)"another", NULL};
    g_autoptr(Harness) harness = start();
    g_autofree char *one = add(&(SundogApiKey){.name = (char *)"one", .concurrent_requests = 1});
    g_autofree char *few = add(&(SundogApiKey){.name = (char *)"few", .tokens_per_minute = 1});
    g_autofree char *bound = add(&(SundogApiKey){.name = (char *)"bound", .models = models});
    g_autofree char *body = harness_dup_chat("Hi", NULL);
    g_autofree char *held = harness_dup_chat("Z", "\"stream\":true");
    reply_assert_error(ask(harness, bound, "POST", CHAT, body), 403, "model_not_allowed", "model");
    /* What it has spent, of which the first request has more than a minute's. */
    g_autoptr(Reply) first = ask(harness, few, "POST", CHAT, body);
    g_assert_cmpuint(first->status, ==, 200);
    g_autoptr(Reply) second = ask(harness, few, "POST", CHAT, body);
    g_assert_cmpuint(second->status, ==, 429);
    g_assert_nonnull(strstr(second->head, "Retry-After: "));
    g_assert_nonnull(strstr(second->body, "rate_limit_exceeded"));
    g_autoptr(Reply) dialect = ask(harness, few, "POST", "/v1/messages",
                                   "{\"model\":\"tiny\",\"max_tokens\":5,\"messages\":["
                                   "{\"role\":\"user\",\"content\":\"Hi\"}]}");
    g_assert_cmpuint(dialect->status, ==, 429);
    g_assert_nonnull(strstr(dialect->body, "\"type\":\"rate_limit_error\""));
    /* One at a time: a second is refused while the first is held, and not after it. */
    g_autofree char *header = g_strdup_printf("Authorization: Bearer %s\r\n", one);
    g_autoptr(Stream) stream = stream_open_with(harness->port, CHAT, header, held);
    harness_wait_for_log("tiny", "\"event\":\"held\"", 1);
    g_autoptr(Reply) busy = ask(harness, one, "POST", CHAT, body);
    g_assert_cmpuint(busy->status, ==, 429);
    harness_open_gate("tiny");
    g_autoptr(Chat) answer = chat_read(stream);
    g_assert_cmpstr(answer->text->str, ==, "Hi");
    g_autoptr(Reply) free_again = ask(harness, one, "POST", CHAT, body);
    g_assert_cmpuint(free_again->status, ==, 200);
    remove_all();
}

static void
assert_lists(const Harness *harness, const char *secret, const char *path, bool has_other)
{
    g_autoptr(Reply) reply = ask(harness, secret, "GET", path, NULL);
    g_test_message("%s", path);
    g_assert_cmpuint(reply->status, ==, 200);
    g_assert_nonnull(strstr(reply->body, "\"tiny\""));
    g_assert_true((strstr(reply->body, "\"other\"") != NULL) == has_other);
}

/* A key that is for some models sees no other, by no API, and can ask nothing of another. */
static void
test_models(void)
{
    static const char *const lists[] = {"/v1/models", "/api/v0/models", "/api/tags", "/api/ps",
                                        "/metrics"};
    static const char *const questions[][2] = {
        {CHAT, "\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}]"},
        {"/v1/completions", "\"prompt\":\"Hi\""},
        {"/v1/embeddings", "\"input\":\"Hi\""},
        {"/v1/rerank", "\"query\":\"Hi\",\"documents\":[\"a\"]"},
        {"/tokenize", "\"content\":\"Hi\""},
        {"/detokenize", "\"tokens\":[72]"},
        {"/api/embed", "\"input\":\"Hi\""},
        {"/api/generate", "\"prompt\":\"\""},
        {"/api/show", "\"verbose\":false"}};
    char *models[] = {(char *)"tiny", NULL};
    harness_make_core("tiny", script);
    harness_make_core("other", script);
    g_autoptr(Harness) harness =
        harness_start_with(&(SundogServerOptions){.port = 0, .key = "owner"});
    g_assert_no_error(harness->error);
    g_autofree char *secret = add(&(SundogApiKey){.name = (char *)"bound", .models = models});
    for (int i = 0; i < 2; i++) {
        g_autofree char *body = g_strdup_printf(
            "{\"model\":\"%s\",\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}]}",
            i ? "other" : "tiny");
        g_autoptr(Reply) loaded = ask(harness, "owner", "POST", CHAT, body);
        g_assert_cmpuint(loaded->status, ==, 200);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(lists); i++) {
        assert_lists(harness, "owner", lists[i], true);
        assert_lists(harness, secret, lists[i], false);
    }
    reply_assert_error(ask(harness, secret, "GET", "/v1/models/other", NULL), 404,
                       "model_not_found", "model");
    reply_assert_error(ask(harness, secret, "GET", "/api/v0/models/other", NULL), 404,
                       "model_not_found", "model");
    for (size_t i = 0; i < G_N_ELEMENTS(questions); i++) {
        g_autofree char *body = g_strdup_printf("{\"model\":\"other\",%s}", questions[i][1]);
        g_autoptr(Reply) reply = ask(harness, secret, "POST", questions[i][0], body);
        g_test_message("%s: %s", questions[i][0], reply->body);
        g_assert_cmpuint(reply->status, ==, 403);
    }
    remove_all();
}

int
main(int argc, char **argv)
{
    harness_init(&argc, &argv);
    g_test_add_func("/keys/file", test_file);
    g_test_add_func("/keys/damaged", test_damaged);
    g_test_add_func("/keys/windows", test_windows);
    g_test_add_func("/keys/access", test_access);
    g_test_add_func("/keys/limits", test_limits);
    g_test_add_func("/keys/models", test_models);
    return g_test_run();
}
