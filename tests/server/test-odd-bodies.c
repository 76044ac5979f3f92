/*
 * Bodies that are right but for one value, for every endpoint that takes one: each value of each body in
 * turn is replaced by odd ones. Whatever comes, the answer is no 5xx, which clients would send again, but
 * for 501 and 503, and the server is there afterwards.
 */

#include "tests/server/harness.h"

#include <string.h>

static const struct {
    const char *path, *body;
} bodies[] = {
    {"/api/chat",
     "{\"model\":\"tiny\",\"messages\":[{\"role\":\"user\",\"content\":\"Hi\",\"images\":[]},"
     "{\"role\":\"assistant\",\"content\":\"\",\"thinking\":\"Hm\",\"tool_calls\":[{\"function\":"
     "{\"name\":\"f\",\"arguments\":{\"a\":1}}}]},{\"role\":\"tool\",\"content\":\"x\","
     "\"tool_name\":\"f\"}],\"tools\":[],\"format\":\"\",\"think\":false,\"keep_alive\":\"5m\","
     "\"stream\":false,\"options\":{\"num_predict\":2,\"stop\":[\"x\"],\"repeat_last_n\":-1}}"},
    {"/api/copy", "{\"source\":\"none\",\"destination\":\"tiny\"}"},
    {"/api/generate",
     "{\"model\":\"tiny:latest\",\"prompt\":\"Hi\",\"system\":\"Be\",\"raw\":false,\"suffix\":\"\","
     "\"context\":[],\"images\":[],\"stream\":true,\"options\":{\"num_predict\":2}}"},
    {"/api/show", "{\"model\":\"tiny\"}"},
    {"/apply-template", "{\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}],"
                        "\"chat_template_kwargs\":{\"a\":1},\"add_generation_prompt\":true}"},
    {"/completion", "{\"prompt\":[72,73],\"n_predict\":2,\"stream\":true}"},
    {"/detokenize", "{\"tokens\":[72,105]}"},
    {"/infill", "{\"input_prefix\":\"a\",\"input_suffix\":\"b\",\"prompt\":\"c\",\"n_predict\":2,"
                "\"input_extra\":[{\"filename\":\"f\",\"text\":\"x\"}]}"},
    {"/sundog/v1/load", "{\"core\":\"tiny\"}"},
    {"/tokenize", "{\"content\":\"Hi\",\"add_special\":true,\"with_pieces\":true}"},
    {"/v1/chat/completions",
     "{\"model\":\"tiny\",\"messages\":[{\"role\":\"system\",\"content\":\"Be\"},{\"role\":"
     "\"user\","
     "\"content\":[{\"type\":\"text\",\"text\":\"Hi\"}]},{\"role\":\"assistant\",\"content\":null,"
     "\"reasoning_content\":\"x\",\"tool_calls\":[{\"id\":\"c\",\"type\":\"function\",\"function\":"
     "{\"name\":\"f\",\"arguments\":\"{}\"}}]},{\"role\":\"tool\",\"tool_call_id\":\"c\","
     "\"content\":\"x\"}],\"max_tokens\":2,\"seed\":1,\"stop\":[\"x\"],\"stream\":true,"
     "\"stream_options\":{\"include_usage\":true},\"tools\":[],\"tool_choice\":\"auto\","
     "\"response_format\":{\"type\":\"text\"},\"temperature\":1,\"sundog\":{\"progress\":true}}"},
    {"/v1/completions", "{\"prompt\":\"Hi\",\"max_tokens\":2,\"stop\":\"x\",\"suffix\":\"\"}"},
    {"/v1/messages",
     "{\"model\":\"tiny\",\"max_tokens\":2,\"system\":[{\"type\":\"text\",\"text\":\"Be\"}],"
     "\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"},{\"role\":\"assistant\",\"content\":"
     "[{\"type\":\"thinking\",\"thinking\":\"x\"},{\"type\":\"tool_use\",\"id\":\"t\",\"name\":"
     "\"f\","
     "\"input\":{\"a\":1}}]},{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\","
     "\"tool_use_id\":\"t\",\"content\":[{\"type\":\"text\",\"text\":\"x\"}]}]}],"
     "\"tools\":[{\"type\":\"web_search\",\"name\":\"w\"}],\"tool_choice\":{\"type\":\"auto\"},"
     "\"thinking\":{\"type\":\"disabled\"},\"stop_sequences\":[\"x\"],\"stream\":true,"
     "\"output_config\":{\"effort\":\"low\"}}"},
    {"/v1/messages/count_tokens", "{\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}]}"},
    {"/v1/responses",
     "{\"model\":\"tiny\",\"instructions\":\"Be\",\"max_output_tokens\":2,\"stream\":true,"
     "\"input\":[{\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"Hi\"}]},"
     "{\"type\":\"reasoning\",\"summary\":[],\"content\":[{\"type\":\"reasoning_text\",\"text\":"
     "\"x\"}]},"
     "{\"type\":\"function_call\",\"call_id\":\"c\",\"name\":\"f\",\"arguments\":\"{}\"},"
     "{\"type\":\"function_call_output\",\"call_id\":\"c\",\"output\":\"x\"}],\"store\":true,"
     "\"tools\":[{\"type\":\"web_search\"}],\"tool_choice\":\"auto\",\"reasoning\":{\"effort\":"
     "\"low\"},"
     "\"text\":{\"format\":{\"type\":\"text\"}},\"metadata\":{\"a\":\"b\"},\"truncation\":"
     "\"auto\"}"},
};

static const char *const odd_values[] = {
    "null", "true",   "-1", "1e308",           "\"\"", "\"\\u0000\\ud83d\\ude00\"",
    "[]",   "[null]", "{}", "[[{\"type\":5}]]"};

/* The n-th value of the tree in its order, counted from 1 (the root is 0), is replaced. Returns how many
 * were passed. */
static guint
replace(JsonNode *node, guint n, JsonNode *value)
{
    guint n_passed = 0;
    if (JSON_NODE_HOLDS_ARRAY(node)) {
        JsonArray *array = json_node_get_array(node);
        g_autoptr(JsonArray) copy = json_array_new();
        for (guint i = 0; i < json_array_get_length(array); i++) {
            JsonNode *element = json_array_get_element(array, i);
            bool is_it = ++n_passed == n;
            n_passed += replace(element, n > n_passed ? n - n_passed : 0, value);
            json_array_add_element(copy, json_node_copy(is_it ? value : element));
        }
        json_node_set_array(node, copy);
    } else if (JSON_NODE_HOLDS_OBJECT(node)) {
        JsonObject *object = json_node_get_object(node);
        GList *names = json_object_get_members(object);
        for (GList *link = names; link; link = link->next) {
            bool is_it = ++n_passed == n;
            n_passed += replace(json_object_get_member(object, link->data),
                                n > n_passed ? n - n_passed : 0, value);
            if (is_it)
                json_object_set_member(object, link->data, json_node_copy(value));
        }
        g_list_free(names);
    }
    return n_passed;
}

static guint
try_body(const Harness *harness, const char *path, const char *body, guint n, const char *odd)
{
    g_autoptr(JsonNode) node = json_from_string(body, NULL);
    g_autoptr(JsonNode) value = json_from_string(odd, NULL);
    guint n_values = replace(node, n, value);
    g_autofree char *text = json_to_string(node, false);
    g_autoptr(Reply) reply = client_post(harness->port, path, text);
    bool is_right = reply->status >= 200 && (reply->status < 500 || reply->status == 501);
    if (!is_right)
        g_test_message("%u: %s %s\n%s", reply->status, path, text, reply->body);
    g_assert_true(is_right);
    return n_values;
}

/* So long that it is read on another thread. */
static Reply *
post_long(const Harness *harness, const char *path, const char *body)
{
    g_autofree char *padded = g_strdup_printf("%s%*s", body, 100000, "");
    return client_post(harness->port, path, padded);
}

static void
test_long(const Harness *harness, guint index, guint status)
{
    const char *path = bodies[index].path;
    g_autoptr(Reply) right = post_long(harness, path, bodies[index].body);
    /* What is there by now is a conflict. */
    if (strcmp(path, "/api/copy") != 0)
        g_assert_cmpuint(right->status, ==, status);
    g_autoptr(Reply) array = post_long(harness, path, "[]");
    g_assert_cmpuint(array->status, ==, 400);
    g_autoptr(Reply) cut = post_long(harness, path, "{\"model\":");
    g_assert_cmpuint(cut->status, ==, 400);
}

static void
test_body(gconstpointer data)
{
    guint index = GPOINTER_TO_UINT(data);
    harness_make_core("tiny", "{\"requests\":[{\"tokens\":[72,105]}]}");
    g_autoptr(Harness) harness = harness_start("tiny");
    harness_wait_ready(harness);
    g_autoptr(Reply) right = client_post(harness->port, bodies[index].path, bodies[index].body);
    if (strcmp(bodies[index].path, "/api/copy") != 0)
        g_assert_cmpuint(right->status / 100, ==, 2);
    test_long(harness, index, right->status);
    guint n_values = 1;
    for (guint n = 1; n <= n_values; n++)
        for (size_t i = 0; i < G_N_ELEMENTS(odd_values); i++)
            n_values = try_body(harness, bodies[index].path, bodies[index].body, n, odd_values[i]);
    g_test_message("%u values", n_values);
    g_autoptr(Reply) after = client_get(harness->port, "/health");
    g_assert_cmpuint(after->status, ==, 200);
}

int
main(int argc, char **argv)
{
    harness_init(&argc, &argv);
    for (guint i = 0; i < G_N_ELEMENTS(bodies); i++) {
        g_autofree char *path = g_strconcat("/odd-bodies", bodies[i].path, NULL);
        g_test_add_data_func(path, GUINT_TO_POINTER(i), test_body);
    }
    return g_test_run();
}
