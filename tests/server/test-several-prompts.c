/* Several prompts in one completion: each is answered as if alone, and told by its index. */

#include "tests/server/harness.h"

#include <string.h>

#define COMPLETIONS "/v1/completions"
/* “a” is answered with “x”, “b” with “yy”, all else with “z”. */
#define SCRIPT                                                                       \
    "{\"ready\":{\"n_vocabulary\":262,\"max_sequences\":8},\"requests\":["           \
    "{\"prompt_has\":97,\"tokens\":[120]},{\"prompt_has\":98,\"tokens\":[121,121]}," \
    "{\"tokens\":[122]}]}"

static Harness *
start(void)
{
    harness_make_core("tiny", SCRIPT);
    Harness *harness = harness_start("tiny");
    harness_wait_ready(harness);
    return harness;
}

static JsonArray *
dup_choices(const Harness *harness, const char *members)
{
    g_autofree char *body = g_strdup_printf("{%s}", members);
    g_autoptr(JsonObject) object = client_post_for_object(harness->port, COMPLETIONS, body);
    return json_array_ref(json_object_get_array_member(object, "choices"));
}

static void
check_choices(JsonArray *choices, const char *const *texts)
{
    g_assert_cmpuint(json_array_get_length(choices), ==, g_strv_length((char **)texts));
    for (guint i = 0; texts[i]; i++) {
        JsonObject *choice = json_array_get_object_element(choices, i);
        g_assert_cmpint(json_object_get_int_member(choice, "index"), ==, i);
        g_assert_cmpstr(json_object_get_string_member(choice, "text"), ==, texts[i]);
        g_assert_cmpstr(json_object_get_string_member(choice, "finish_reason"), ==, "stop");
    }
}

static void
test_plain(void)
{
    static const char *const lists[] = {"[\"a\",\"b\",\"c\"]", "[[97],[98],[99]]",
                                        "[\"a\",[98],\"c\"]"};
    static const char *const texts[] = {"x", "yy", "z", NULL};
    g_autoptr(Harness) harness = start();
    for (size_t i = 0; i < G_N_ELEMENTS(lists); i++) {
        g_autofree char *members = g_strdup_printf("\"prompt\":%s", lists[i]);
        g_autoptr(JsonArray) choices = dup_choices(harness, members);
        check_choices(choices, texts);
    }
}

/* No other request's seed, which is drawn, may be in the log. */
static void
test_seeds(void)
{
    static const char *const pairs[] = {"x", "x", "yy", "yy", NULL};
    g_autoptr(Harness) harness = start();
    g_autoptr(JsonArray) choices =
        dup_choices(harness, "\"prompt\":[\"a\",\"b\"],\"n\":2,\"seed\":40");
    check_choices(choices, pairs);
    /* Each prompt has the seeds that it would have alone. */
    g_assert_cmpuint(harness_count_in_log("tiny", "\"seed\":40"), ==, 2);
    g_assert_cmpuint(harness_count_in_log("tiny", "\"seed\":41"), ==, 2);
}

static void
test_usage(void)
{
    g_autoptr(Harness) harness = start();
    g_autoptr(JsonObject) object = client_post_for_object(
        harness->port, COMPLETIONS, "{\"prompt\":[\"a\",\"bcd\"],\"n\":3,\"best_of\":3}");
    JsonObject *usage = json_object_get_object_member(object, "usage");
    g_assert_cmpint(json_object_get_int_member(usage, "prompt_tokens"), ==, 1 + 3);
    g_assert_cmpint(json_object_get_int_member(usage, "completion_tokens"), ==, 3 * (1 + 2));
}

/* Of each prompt the likeliest: not the likeliest of all. */
static void
test_best_of(void)
{
    static const char *const texts[] = {"x", "yy", NULL};
    g_autoptr(Harness) harness = start();
    g_autoptr(JsonArray) choices = dup_choices(harness, "\"prompt\":[\"a\",\"b\"],\"best_of\":2");
    check_choices(choices, texts);
}

/* Text, scores and offsets are those of a choice's own prompt. */
static void
test_echo(void)
{
    static const char *const texts[] = {"ax", "bbyy", NULL};
    static const guint n_tokens[] = {2, 4};
    g_autoptr(Harness) harness = start();
    g_autoptr(JsonArray) choices =
        dup_choices(harness, "\"prompt\":[\"a\",\"bb\"],\"echo\":true,\"logprobs\":0");
    check_choices(choices, texts);
    for (guint i = 0; i < 2; i++) {
        JsonObject *choice = json_array_get_object_element(choices, i);
        JsonObject *scores = json_object_get_object_member(choice, "logprobs");
        JsonArray *values = json_object_get_array_member(scores, "token_logprobs");
        JsonArray *offsets = json_object_get_array_member(scores, "text_offset");
        g_assert_cmpuint(json_array_get_length(values), ==, n_tokens[i]);
        g_assert_true(json_array_get_null_element(values, 0));
        for (guint k = 0; k < n_tokens[i]; k++)
            g_assert_cmpint(json_array_get_int_element(offsets, k), ==, k);
    }
}

static void
test_stream(void)
{
    g_autoptr(Harness) harness = start();
    g_autoptr(Stream) stream =
        stream_open(harness->port, COMPLETIONS,
                    "{\"prompt\":[\"a\",\"b\"],\"n\":2,\"stream\":true,\"echo\":true}");
    GString *texts[4] = {g_string_new(NULL), g_string_new(NULL), g_string_new(NULL),
                         g_string_new(NULL)};
    guint n_ends[4] = {0};
    char *event;
    g_assert_cmpuint(stream->status, ==, 200);
    while ((event = stream_next(stream))) {
        g_autoptr(JsonNode) node = event[0] == '{' ? json_from_string(event, NULL) : NULL;
        JsonObject *object = node ? json_node_get_object(node) : NULL;
        JsonObject *choice =
            object
                ? json_array_get_object_element(json_object_get_array_member(object, "choices"), 0)
                : NULL;
        gint64 index = choice ? json_object_get_int_member(choice, "index") : 0;
        g_assert_true(index >= 0 && index < 4);
        if (choice) {
            g_string_append(texts[index], json_object_get_string_member(choice, "text"));
            n_ends[index] += !json_object_get_null_member(choice, "finish_reason");
        }
        g_free(event);
    }
    for (int i = 0; i < 4; i++) {
        g_assert_cmpstr(texts[i]->str, ==, i < 2 ? "ax" : "byy");
        g_assert_cmpuint(n_ends[i], ==, 1);
        g_string_free(texts[i], true);
    }
}

/* One that cannot be read refuses all, before anything is computed. */
static void
test_refused(void)
{
    static const char *const bad[] = {"[\"a\",5]",   "[\"a\",[\"b\"]]", "[\"a\",\"\"]", "[[97],[]]",
                                      "[[97],[-1]]", "[\"a\",null]",    "[\"a\",{}]"};
    g_autoptr(Harness) harness = start();
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_autofree char *body = g_strdup_printf("{\"prompt\":%s,\"stream\":true}", bad[i]);
        g_test_message("%s", bad[i]);
        g_autoptr(Reply) reply = client_post(harness->port, COMPLETIONS, body);
        g_assert_cmpuint(reply->status, ==, 400);
        g_assert_nonnull(strstr(reply->body, "\"param\":\"prompt\""));
    }
    GString *many = g_string_new("{\"n\":16,\"prompt\":[\"a\"");
    for (int i = 1; i < 9; i++)
        g_string_append(many, ",\"a\"");
    g_string_append(many, "]}");
    reply_assert_error(client_post(harness->port, COMPLETIONS, many->str), 400, "invalid_value",
                       "prompt");
    g_string_free(many, true);
    reply_assert_error(client_post(harness->port, "/completion", "{\"prompt\":[\"a\",\"b\"]}"), 400,
                       "invalid_value", "prompt");
    reply_assert_error(
        client_post(harness->port, COMPLETIONS, "{\"prompt\":[\"a\",[98]],\"suffix\":\"c\"}"), 400,
        "invalid_value", "suffix");
    g_assert_cmpuint(harness_count_in_log("tiny", "\"event\":\"submit\""), ==, 0);
}

static void
test_suffix(void)
{
    g_autoptr(Harness) harness = start();
    g_autoptr(JsonArray) choices =
        dup_choices(harness, "\"prompt\":[\"ab\",\"f\"],\"suffix\":\"c\"");
    g_assert_cmpuint(json_array_get_length(choices), ==, 2);
    g_assert_cmpuint(harness_count_in_log("tiny", "\"prompt\":[259,97,98,260,99,261]"), ==, 1);
    g_assert_cmpuint(harness_count_in_log("tiny", "\"prompt\":[259,102,260,99,261]"), ==, 1);
}

int
main(int argc, char **argv)
{
    harness_init(&argc, &argv);
    g_test_add_func("/several-prompts/plain", test_plain);
    g_test_add_func("/several-prompts/seeds", test_seeds);
    g_test_add_func("/several-prompts/usage", test_usage);
    g_test_add_func("/several-prompts/best-of", test_best_of);
    g_test_add_func("/several-prompts/echo", test_echo);
    g_test_add_func("/several-prompts/stream", test_stream);
    g_test_add_func("/several-prompts/refused", test_refused);
    g_test_add_func("/several-prompts/suffix", test_suffix);
    return g_test_run();
}
