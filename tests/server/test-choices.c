/* Several answers to one request: dense indices, a seed each, one end; and what ends them all together. */

#include "tests/server/harness.h"

#include <string.h>

#define CHAT "/v1/chat/completions"
#define COMPLETIONS "/v1/completions"

static Harness *
start(const char *script)
{
    harness_make_core("tiny", script);
    Harness *harness = harness_start("tiny");
    harness_wait_ready(harness);
    return harness;
}

/* The n-th request is answered with the n-th letter, some times over. */
#define LETTERS                                                           \
    "\"ready\":{\"n_vocabulary\":262,\"max_sequences\":8},\"requests\":[" \
    "{\"tokens\":[97,97,97]},{\"tokens\":[98,98]},{\"tokens\":[99,99,99,99]}]"

static void
test_plain(void)
{
    static const char *const texts[] = {"aaa", "bb", "cccc"};
    g_autoptr(Harness) harness = start("{" LETTERS "}");
    g_autofree char *body = harness_dup_chat("Hi", "\"n\":3,\"seed\":5");
    g_autoptr(JsonObject) object = client_post_for_object(harness->port, CHAT, body);
    JsonArray *choices = json_object_get_array_member(object, "choices");
    g_assert_cmpuint(json_array_get_length(choices), ==, 3);
    for (guint i = 0; i < 3; i++) {
        JsonObject *choice = json_array_get_object_element(choices, i);
        JsonObject *message = json_object_get_object_member(choice, "message");
        g_assert_cmpint(json_object_get_int_member(choice, "index"), ==, i);
        g_assert_cmpstr(json_object_get_string_member(message, "content"), ==, texts[i]);
        g_assert_cmpstr(json_object_get_string_member(choice, "finish_reason"), ==, "stop");
        g_autofree char *seed = g_strdup_printf("\"seed\":%u", 5 + i);
        g_assert_cmpuint(harness_count_in_log("tiny", seed), ==, 1);
    }
    JsonObject *usage = json_object_get_object_member(object, "usage");
    g_assert_cmpint(json_object_get_int_member(usage, "completion_tokens"), ==, 9);
    g_assert_cmpint(json_object_get_int_member(usage, "total_tokens"), ==,
                    9 + json_object_get_int_member(usage, "prompt_tokens"));
}

typedef struct {
    GString *texts[3];
    guint n_roles[3], n_ends[3], n_done, n_errors;
    bool has_usage;
} Told;

static void
read_chunk(Told *told, JsonObject *object)
{
    JsonArray *choices = json_object_get_array_member(object, "choices");
    told->has_usage |= json_object_has_member(object, "usage");
    for (guint i = 0; i < json_array_get_length(choices); i++) {
        JsonObject *choice = json_array_get_object_element(choices, i);
        JsonObject *delta = json_object_get_object_member(choice, "delta");
        gint64 index = json_object_get_int_member(choice, "index");
        g_assert_true(index >= 0 && index < 3);
        g_assert_cmpuint(told->n_ends[index], ==, 0);
        told->n_roles[index] += json_object_has_member(delta, "role");
        g_assert_cmpuint(told->n_roles[index], ==, 1);
        g_string_append(told->texts[index],
                        json_object_get_string_member_with_default(delta, "content", ""));
        told->n_ends[index] += !json_object_get_null_member(choice, "finish_reason");
    }
}

static void
read_stream(Told *told, const Harness *harness, const char *members)
{
    g_autofree char *all = g_strdup_printf("\"n\":3,\"stream\":true%s", members);
    g_autofree char *body = harness_dup_chat("Hi", all);
    g_autoptr(Stream) stream = stream_open(harness->port, CHAT, body);
    char *event;
    *told = (Told){{g_string_new(NULL), g_string_new(NULL), g_string_new(NULL)}};
    g_assert_cmpuint(stream->status, ==, 200);
    while ((event = stream_next(stream))) {
        g_autoptr(JsonNode) node = event[0] == '{' ? json_from_string(event, NULL) : NULL;
        JsonObject *object = node ? json_node_get_object(node) : NULL;
        g_assert_cmpuint(told->n_done, ==, 0);
        told->n_done += g_str_equal(event, "[DONE]");
        told->n_errors += object && json_object_has_member(object, "error");
        if (object && json_object_has_member(object, "choices"))
            read_chunk(told, object);
        g_free(event);
    }
}

static void
told_clear(Told *told)
{
    for (int i = 0; i < 3; i++)
        g_string_free(told->texts[i], true);
}

static void
check_whole(const Told *told, const char *const texts[3])
{
    for (int i = 0; i < 3; i++) {
        g_assert_cmpstr(told->texts[i]->str, ==, texts[i]);
        g_assert_cmpuint(told->n_ends[i], ==, 1);
    }
    g_assert_cmpuint(told->n_done, ==, 1);
    g_assert_cmpuint(told->n_errors, ==, 0);
}

static void
test_stream(void)
{
    static const char *const texts[] = {"aaa", "bb", "cccc"};
    g_autoptr(Harness) harness = start("{" LETTERS "}");
    Told told;
    read_stream(&told, harness, ",\"stream_options\":{\"include_usage\":true}");
    check_whole(&told, texts);
    g_assert_true(told.has_usage);
    told_clear(&told);
}

static void
test_engine_dies(void)
{
    static const char *const texts[] = {"aaa", "aaa", "aaa"};
    g_autoptr(Harness) harness =
        start("{\"ready\":{\"n_vocabulary\":262,\"max_sequences\":8},"
              "\"requests\":[{\"tokens\":[97,97,97]}],\"starts\":["
              "{\"requests\":[{\"tokens\":[97,97,97],\"at\":2,\"die\":\"kill\"}]},{}]}");
    Told told;
    read_stream(&told, harness, "");
    check_whole(&told, texts);
    g_assert_cmpuint(harness_count_in_log("tiny", "\"event\":\"start\""), ==, 2);
    told_clear(&told);
}

/* One that fails takes the others along: a client could not be told of it beside them. */
static void
test_one_fails(void)
{
    g_autoptr(Harness) harness =
        start("{\"ready\":{\"n_vocabulary\":262,\"max_sequences\":8},\"requests\":["
              "{\"tokens\":[97],\"repeat\":true,\"token_ms\":5},"
              "{\"tokens\":[98],\"fault\":\"not_finite\"},"
              "{\"tokens\":[99],\"repeat\":true,\"token_ms\":5}]}");
    Told told;
    read_stream(&told, harness, "");
    g_assert_cmpuint(told.n_errors, ==, 1);
    told_clear(&told);
    harness_wait_for_log("tiny", "\"reason\":\"cancelled\"", 2);
}

#define ENDLESS                                                            \
    "{\"ready\":{\"n_vocabulary\":262,\"max_sequences\":8},\"requests\":[" \
    "{\"tokens\":[97],\"repeat\":true,\"token_ms\":2}]}"

static void
test_client_leaves(void)
{
    g_autoptr(Harness) harness = start(ENDLESS);
    g_autofree char *body = harness_dup_chat("Hi", "\"n\":3,\"stream\":true");
    g_autoptr(Stream) stream = stream_open(harness->port, CHAT, body);
    g_autofree char *event = stream_next(stream);
    g_assert_nonnull(event);
    stream_close(g_steal_pointer(&stream));
    harness_wait_for_log("tiny", "\"reason\":\"cancelled\"", 3);
    harness_wait_for_ended(harness, "cancelled", 3);
}

/* Cancelled by the name that the client knows it by, all of it ends, and well. */
static void
test_cancelled_by_name(void)
{
    g_autoptr(Harness) harness = start(ENDLESS);
    g_autofree char *body = harness_dup_chat("Hi", "\"n\":3,\"stream\":true");
    g_autoptr(Stream) stream = stream_open(harness->port, CHAT, body);
    g_autofree char *event = stream_next(stream);
    g_autoptr(JsonNode) node = json_from_string(event, NULL);
    g_autofree char *path = g_strdup_printf(
        "/sundog/v1/requests/%s", json_object_get_string_member(json_node_get_object(node), "id"));
    g_autoptr(Reply) reply = client_send(harness->port, "DELETE", path, NULL, NULL);
    g_assert_cmpuint(reply->status, <, 300);
    guint n_ends = 0, n_done = 0;
    char *next;
    while ((next = stream_next(stream))) {
        n_ends += strstr(next, "\"finish_reason\":\"stop\"") != NULL;
        n_done += g_str_equal(next, "[DONE]");
        g_free(next);
    }
    g_assert_cmpuint(n_ends, ==, 3);
    g_assert_cmpuint(n_done, ==, 1);
    harness_wait_for_log("tiny", "\"reason\":\"cancelled\"", 3);
}

/* The scripted engine's log probabilities fall with the letter: the first is the likeliest. */
static void
test_best_of(void)
{
    g_autoptr(Harness) harness =
        start("{\"ready\":{\"n_vocabulary\":262,\"max_sequences\":8},\"requests\":["
              "{\"tokens\":[99,99]},{\"tokens\":[98]},{\"tokens\":[97,97,97]}]}");
    g_autoptr(JsonObject) object = client_post_for_object(
        harness->port, COMPLETIONS, "{\"prompt\":\"Hi\",\"n\":2,\"best_of\":3,\"max_tokens\":9}");
    JsonArray *choices = json_object_get_array_member(object, "choices");
    g_assert_cmpuint(json_array_get_length(choices), ==, 2);
    for (guint i = 0; i < 2; i++) {
        JsonObject *choice = json_array_get_object_element(choices, i);
        g_assert_cmpint(json_object_get_int_member(choice, "index"), ==, i);
        g_assert_cmpstr(json_object_get_string_member(choice, "text"), ==, i == 0 ? "aaa" : "b");
        g_assert_true(json_object_get_null_member(choice, "logprobs"));
    }
    JsonObject *usage = json_object_get_object_member(object, "usage");
    g_assert_cmpint(json_object_get_int_member(usage, "completion_tokens"), ==, 6);
    static const char *const bad[] = {"\"n\":3,\"best_of\":2", "\"best_of\":2,\"stream\":true",
                                      "\"best_of\":17"};
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_autofree char *body = g_strdup_printf("{\"prompt\":\"Hi\",%s}", bad[i]);
        reply_assert_error(client_post(harness->port, COMPLETIONS, body), 400, "invalid_value",
                           "best_of");
    }
}

int
main(int argc, char **argv)
{
    harness_init(&argc, &argv);
    g_test_add_func("/choices/plain", test_plain);
    g_test_add_func("/choices/stream", test_stream);
    g_test_add_func("/choices/engine-dies", test_engine_dies);
    g_test_add_func("/choices/one-fails", test_one_fails);
    g_test_add_func("/choices/client-leaves", test_client_leaves);
    g_test_add_func("/choices/cancelled-by-name", test_cancelled_by_name);
    g_test_add_func("/choices/best-of", test_best_of);
    return g_test_run();
}
