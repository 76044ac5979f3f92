/* Endpoints that take text or tokens as they are: completions, infill, tokenizing. */

#include "tests/server/fixture.h"

#include <string.h>

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
    const char *const bad[] = {"[]", "5", "[-1]", "[999]", "[[[97]]]", "\"\"", "{}", "[97,\"a\"]"};
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
    reply_assert_error(client_post(port, "/detokenize", "{\"tokens\":[-1]}"), 400, "invalid_value",
                       "tokens");
    reply_assert_error(client_post(port, "/detokenize", "{\"tokens\":[1e9]}"), 400, "invalid_value",
                       "tokens");
    reply_assert_error(client_post(port, "/tokenize", "{}"), 400, "missing_required_parameter",
                       "content");
}

int
main(int argc, char **argv)
{
    harness_init(&argc, &argv);
    fixture_add("/text-endpoints/completions", test_completions);
    fixture_add("/text-endpoints/infill", test_infill);
    fixture_add("/text-endpoints/llama-completion", test_llama_completion);
    fixture_add("/text-endpoints/tokenize", test_tokenize);
    return g_test_run();
}
