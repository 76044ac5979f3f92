/* Several cores beside each other: loaded when they are asked for, kept, ended for others' sake or their
 * time, and told of truly (reports G1, G2, G11). */

#include "tests/server/harness.h"

#include <signal.h>
#include <string.h>

#define CHAT "/v1/chat/completions"

/* Of the harness's cores, as planned and as their engines say. */
#define CORE_BYTES 3000

static const char hello[] = "{\"ready\":{\"n_vocabulary\":259,\"memory_bytes\":3000},"
                            "\"requests\":[{\"tokens\":[72,105]}]}";
static const char gated[] = "{\"ready\":{\"n_vocabulary\":259,\"memory_bytes\":3000},"
                            "\"requests\":[{\"tokens\":[72,105],\"gate_at\":1},"
                            "{\"tokens\":[72,105]}]}";

/* Room for so many of the harness's cores. */
static Harness *
start_with_room(unsigned n_cores)
{
    g_autofree char *budget = n_cores ? g_strdup_printf("%u", n_cores * CORE_BYTES + 100) : NULL;
    harness_set("engine.memory_budget", budget);
    return harness_start(NULL);
}

static char *
dup_chat(const char *core, const char *members)
{
    return g_strdup_printf(
        "{\"model\":\"%s\",\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}]%s%s}", core,
        members ? "," : "", members ? members : "");
}

static void
assert_answers(const Harness *harness, const char *core)
{
    g_autofree char *body = dup_chat(core, NULL);
    g_autoptr(Reply) reply = client_post(harness->port, CHAT, body);
    g_test_message("%s", reply->body);
    g_assert_cmpuint(reply->status, ==, 200);
    g_autofree char *named = g_strdup_printf("\"model\":\"%s\"", core);
    g_assert_nonnull(strstr(reply->body, named));
    g_assert_nonnull(strstr(reply->body, "\"content\":\"Hi\""));
}

static guint
count_starts(const char *core)
{
    return harness_count_in_log(core, "\"event\":\"start\"");
}

/* How many cores Ollama's clients are told of. */
static guint
count_loaded(const Harness *harness)
{
    g_autoptr(Reply) reply = client_get(harness->port, "/api/ps");
    g_autoptr(JsonObject) object = reply_get_object(reply);
    return json_array_get_length(json_object_get_array_member(object, "models"));
}

static void
wait_for_loaded(const Harness *harness, guint n_cores)
{
    int64_t deadline = g_get_monotonic_time() + HARNESS_WAIT_US;
    while (count_loaded(harness) != n_cores) {
        g_assert_cmpint(g_get_monotonic_time(), <, deadline);
        g_usleep(5000);
    }
}

static void
assert_shown(const Harness *harness, const char *path, const char *text)
{
    g_autoptr(Reply) reply = client_get(harness->port, path);
    g_test_message("%s", reply->body);
    g_assert_nonnull(strstr(reply->body, text));
}

static void
test_beside(void)
{
    harness_make_core("first", hello);
    harness_make_core("second", hello);
    g_autoptr(Harness) harness = start_with_room(0);
    for (int i = 0; i < 3; i++) {
        assert_answers(harness, "first");
        assert_answers(harness, "second");
    }
    g_assert_cmpuint(count_starts("first") + count_starts("second"), ==, 2);
    g_assert_cmpuint(count_loaded(harness), ==, 2);
    assert_shown(harness, "/api/v0/models/first", "\"state\":\"loaded\"");
    assert_shown(harness, "/api/v0/models/second", "\"state\":\"loaded\"");
    assert_shown(harness, "/health", "\"cores_ready\":2");
    assert_shown(harness, "/metrics", "\nsundog_requests_finished_total{model=\"first\"} 3\n");
    assert_shown(harness, "/metrics", "\nsundog_core_memory_bytes{model=\"second\"} 3000\n");
    assert_shown(harness, "/sundog/v1/state",
                 "\"engine\":{\"state\":\"ready\",\"core\":\"second\"");
    int pid = harness_get_engine_pid("first");
    g_autoptr(Reply) reply =
        client_post(harness->port, "/sundog/v1/unload", "{\"core\":\"first\"}");
    g_assert_cmpuint(reply->status, ==, 200);
    g_assert_cmpint(kill(pid, 0), !=, 0);
    assert_shown(harness, "/api/v0/models/first", "\"state\":\"not-loaded\"");
    assert_shown(harness, "/metrics", "\nsundog_core_loaded{model=\"first\"} 0\n");
    g_assert_cmpuint(count_loaded(harness), ==, 1);
    /* Deleting one leaves the other. */
    g_autoptr(Reply) deleted =
        client_send(harness->port, "DELETE", "/sundog/v1/cores/first", NULL, NULL);
    g_assert_cmpuint(deleted->status, ==, 200);
    assert_answers(harness, "second");
    g_assert_cmpuint(count_starts("second"), ==, 1);
    g_autoptr(Reply) all = client_post(harness->port, "/sundog/v1/unload", "{}");
    g_assert_cmpuint(all->status, ==, 200);
    g_assert_cmpuint(count_loaded(harness), ==, 0);
}

/* What is loaded answers while another loads. */
static void
test_load_beside(void)
{
    harness_make_core("first", hello);
    harness_make_core("slow", "{\"load\":{\"gate\":true},\"ready\":{\"n_vocabulary\":259},"
                              "\"requests\":[{\"tokens\":[72,105]}]}");
    g_autoptr(Harness) harness = start_with_room(0);
    assert_answers(harness, "first");
    g_autofree char *body = dup_chat("slow", "\"stream\":true");
    g_autoptr(Stream) stream = stream_open(harness->port, CHAT, body);
    harness_wait_for_log("slow", "\"event\":\"held\"", 1);
    assert_answers(harness, "first");
    assert_shown(harness, "/health", "\"status\":\"ok\"");
    assert_shown(harness, "/api/v0/models/slow", "\"state\":\"not-loaded\"");
    harness_open_gate("slow");
    g_autoptr(Chat) answer = chat_read(stream);
    g_assert_cmpstr(answer->text->str, ==, "Hi");
}

/* The one that was used longest ago makes room; one with an end before those that are to stay. */
static void
test_eviction(void)
{
    harness_make_core("first", hello);
    harness_make_core("second", hello);
    harness_make_core("third", hello);
    g_autoptr(Harness) harness = start_with_room(2);
    assert_answers(harness, "first");
    assert_answers(harness, "second");
    assert_answers(harness, "first");
    assert_answers(harness, "third");
    assert_shown(harness, "/api/v0/models/first", "\"state\":\"loaded\"");
    assert_shown(harness, "/api/v0/models/second", "\"state\":\"not-loaded\"");
    g_autofree char *body = dup_chat("third", "\"stream\":false,\"keep_alive\":\"1h\"");
    g_autoptr(Reply) reply = client_post(harness->port, "/api/chat", body);
    g_assert_cmpuint(reply->status, ==, 200);
    assert_answers(harness, "second");
    assert_shown(harness, "/api/v0/models/first", "\"state\":\"loaded\"");
    assert_shown(harness, "/api/v0/models/third", "\"state\":\"not-loaded\"");
}

/* Room for one: what runs ends well, then the other has its turn, then what came later. */
static void
test_turns(void)
{
    harness_make_core("first", gated);
    harness_make_core("second", hello);
    g_autoptr(Harness) harness = start_with_room(1);
    g_autofree char *first_body = dup_chat("first", "\"stream\":true");
    g_autofree char *second_body = dup_chat("second", "\"stream\":true");
    g_autoptr(Stream) running = stream_open(harness->port, CHAT, first_body);
    harness_wait_for_log("first", "\"event\":\"held\"", 1);
    g_autoptr(Stream) other = stream_open(harness->port, CHAT, second_body);
    g_autoptr(Stream) later = stream_open(harness->port, CHAT, first_body);
    assert_shown(harness, "/sundog/v1/state", "\"core\":\"second\"");
    g_assert_cmpuint(harness_count_in_log("first", "\"event\":\"submit\""), ==, 1);
    harness_open_gate("first");
    g_autoptr(Chat) first_answer = chat_read(running);
    g_autoptr(Chat) second_answer = chat_read(other);
    g_autoptr(Chat) later_answer = chat_read(later);
    g_assert_cmpstr(first_answer->text->str, ==, "Hi");
    g_assert_cmpstr(second_answer->text->str, ==, "Hi");
    g_assert_cmpstr(later_answer->text->str, ==, "Hi");
    g_assert_cmpuint(count_starts("first"), ==, 2);
    g_assert_cmpuint(count_starts("second"), ==, 1);
}

/* Whom it made way for has left: it goes on. */
static void
test_left(void)
{
    harness_make_core("first", gated);
    harness_make_core("second", hello);
    g_autoptr(Harness) harness = start_with_room(1);
    g_autofree char *first_body = dup_chat("first", "\"stream\":true");
    g_autofree char *second_body = dup_chat("second", "\"stream\":true");
    g_autoptr(Stream) running = stream_open(harness->port, CHAT, first_body);
    harness_wait_for_log("first", "\"event\":\"held\"", 1);
    Stream *other = stream_open(harness->port, CHAT, second_body);
    g_autoptr(Stream) later = stream_open(harness->port, CHAT, first_body);
    g_assert_cmpuint(harness_count_in_log("first", "\"event\":\"submit\""), ==, 1);
    stream_close(other);
    harness_wait_for_log("first", "\"event\":\"submit\"", 2);
    g_autoptr(Chat) later_answer = chat_read(later);
    harness_open_gate("first");
    g_autoptr(Chat) first_answer = chat_read(running);
    g_assert_cmpstr(later_answer->text->str, ==, "Hi");
    g_assert_cmpstr(first_answer->text->str, ==, "Hi");
    g_assert_cmpuint(count_starts("first"), ==, 1);
    g_assert_cmpuint(count_starts("second"), ==, 0);
}

/* What can never fit is refused with both numbers, however it is asked for. */
static void
test_too_large(void)
{
    harness_make_core("first", hello);
    harness_set("engine.memory_budget", "2000");
    g_autoptr(Harness) harness = harness_start(NULL);
    g_autofree char *body = dup_chat("first", NULL);
    reply_assert_error(client_post(harness->port, CHAT, body), 422, "insufficient_memory", "model");
    reply_assert_error(client_post(harness->port, "/sundog/v1/load", "{\"core\":\"first\"}"), 422,
                       "insufficient_memory", "model");
    g_autoptr(Reply) reply =
        client_post(harness->port, "/api/generate", "{\"model\":\"first\",\"prompt\":\"\"}");
    g_assert_cmpuint(reply->status, ==, 422);
    g_test_message("%s", reply->body);
    g_assert_nonnull(strstr(reply->body, "3.0"));
    g_assert_nonnull(strstr(reply->body, "2.0"));
    g_assert_cmpuint(count_starts("first"), ==, 0);
}

/* G11: it does not load, others on its target make room, it loads. */
static void
test_room_after_failure(void)
{
    harness_make_core("first", hello);
    harness_make_core("second", "{\"ready\":{\"n_vocabulary\":259},\"starts\":["
                                "{\"load\":{\"fault\":\"no room\"}},"
                                "{\"requests\":[{\"tokens\":[72,105]}]}]}");
    g_autoptr(Harness) harness = start_with_room(0);
    assert_answers(harness, "first");
    assert_answers(harness, "second");
    g_assert_cmpuint(count_starts("second"), ==, 2);
    g_assert_cmpuint(count_loaded(harness), ==, 1);
    assert_answers(harness, "first");
    g_assert_cmpuint(count_loaded(harness), ==, 2);
}

static void
test_keep_alive(void)
{
    harness_make_core("first", hello);
    harness_make_core("second", hello);
    harness_set("engine.keep_alive", "0");
    g_autoptr(Harness) harness = start_with_room(0);
    g_autofree char *kept = dup_chat("first", "\"stream\":false,\"keep_alive\":-1");
    g_autofree char *unsaid = dup_chat("second", "\"stream\":false");
    g_autofree char *unkept = dup_chat("first", "\"stream\":false,\"keep_alive\":0");
    g_autoptr(Reply) first = client_post(harness->port, "/api/chat", kept);
    g_assert_cmpuint(first->status, ==, 200);
    g_assert_cmpuint(count_loaded(harness), ==, 1);
    assert_shown(harness, "/api/ps", "2318-");
    g_autoptr(Reply) second = client_post(harness->port, "/api/chat", unsaid);
    g_assert_cmpuint(second->status, ==, 200);
    wait_for_loaded(harness, 1);
    g_autoptr(Reply) third = client_post(harness->port, "/api/chat", unkept);
    g_assert_cmpuint(third->status, ==, 200);
    wait_for_loaded(harness, 0);
    g_assert_cmpuint(count_starts("first"), ==, 1);
    harness_set("engine.keep_alive", NULL);
}

/* Each of those who ask gets an answer when the process is gone. */
static void *
unload(void *data)
{
    const Harness *harness = data;
    g_autoptr(Reply) reply = client_post(harness->port, "/sundog/v1/unload", "{}");
    return GUINT_TO_POINTER(reply->status);
}

static void
test_unloads(void)
{
    GThread *threads[4];
    harness_make_core("first", hello);
    g_autoptr(Harness) harness = start_with_room(0);
    assert_answers(harness, "first");
    int pid = harness_get_engine_pid("first");
    for (size_t i = 0; i < G_N_ELEMENTS(threads); i++)
        threads[i] = g_thread_new("unload", unload, harness);
    for (size_t i = 0; i < G_N_ELEMENTS(threads); i++)
        g_assert_cmpuint(GPOINTER_TO_UINT(g_thread_join(threads[i])), ==, 200);
    g_assert_cmpint(kill(pid, 0), !=, 0);
    assert_answers(harness, "first");
}

/* The configured small core is given to the engines that it is for, and not to its own. */
static void
test_draft(void)
{
    harness_make_core("large", hello);
    harness_make_core("small", hello);
    harness_set("engine.draft", "small");
    g_autoptr(Harness) harness = start_with_room(0);
    assert_answers(harness, "large");
    assert_shown(harness, "/sundog/v1/state", "\"core\":\"large\",\"draft\":\"small\"");
    assert_answers(harness, "small");
    assert_shown(harness, "/sundog/v1/state", "\"core\":\"small\",\"draft\":null");
    g_assert_cmpuint(harness_count_in_log("large", "\"event\":\"draft\",\"core\":\"small"), ==, 1);
    g_assert_cmpuint(harness_count_in_log("small", "\"event\":\"draft\""), ==, 0);
    harness_set("engine.draft", NULL);
}

int
main(int argc, char **argv)
{
    harness_init(&argc, &argv);
    g_test_add_func("/cores/beside", test_beside);
    g_test_add_func("/cores/load-beside", test_load_beside);
    g_test_add_func("/cores/eviction", test_eviction);
    g_test_add_func("/cores/turns", test_turns);
    g_test_add_func("/cores/left", test_left);
    g_test_add_func("/cores/too-large", test_too_large);
    g_test_add_func("/cores/room-after-failure", test_room_after_failure);
    g_test_add_func("/cores/keep-alive", test_keep_alive);
    g_test_add_func("/cores/unloads", test_unloads);
    g_test_add_func("/cores/draft", test_draft);
    return g_test_run();
}
