/* Tool calls and reasoning of a scripted engine: what clients see of them, in streams and plain (reports
 * H22 to H24, H33 to H35, H37, T7; and H29). */

#include "tests/server/harness.h"

#include "engine/format/json.h"
#include <string.h>

#define CHAT "/v1/chat/completions"
#define TOOLS                                                                                     \
    "\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"look\",\"parameters\":{\"type\":" \
    "\"object\",\"properties\":{\"at\":{\"type\":\"string\"}}}}},{\"type\":\"function\","         \
    "\"function\":{\"name\":\"bare\"}},{\"type\":\"custom\",\"name\":\"odd\"},{\"type\":"         \
    "\"web_search\"}]"
#define CALL "<tool_call>\\n{\"name\": \"look\", \"arguments\": {\"at\": \"北 ď\"}}\\n</tool_call>"

static Harness *
start(const char *text, const char *members)
{
    g_autoptr(GString) tokens = g_string_new(NULL);
    for (const char *byte = text; *byte; byte++)
        g_string_append_printf(tokens, "%s%u", byte > text ? "," : "", (unsigned char)*byte);
    g_autofree char *script =
        g_strdup_printf("{\"ready\":{\"n_vocabulary\":259},\"requests\":[{\"tokens\":[%s]%s%s}]}",
                        tokens->str, members ? "," : "", members ? members : "");
    harness_make_core("tiny", script);
    Harness *harness = harness_start("tiny");
    harness_wait_ready(harness);
    return harness;
}

/* A message as text: content, reasoning and calls; owned by the caller. */
static char *
print_message(const char *content, const char *reasoning, const GPtrArray *calls,
              const char *reason)
{
    GString *text = g_string_new(NULL);
    g_string_printf(text, "%s|%s|%s", content, reasoning, reason);
    for (guint i = 0; i < calls->len; i++)
        g_string_append_printf(text, "|%s", (const char *)calls->pdata[i]);
    return g_string_free(text, false);
}

static const char *
get_text(JsonObject *object, const char *key)
{
    JsonNode *node = object ? json_object_get_member(object, key) : NULL;
    return node && json_node_get_value_type(node) == G_TYPE_STRING ? json_node_get_string(node)
                                                                   : "";
}

static char *
ask_plain(const Harness *harness, const char *members)
{
    g_autofree char *body = harness_dup_chat("Hi", members);
    g_autoptr(Reply) reply = client_post(harness->port, CHAT, body);
    g_assert_cmpuint(reply->status, ==, 200);
    g_autoptr(JsonObject) answer = reply_get_object(reply);
    JsonArray *choices = json_object_get_array_member(answer, "choices");
    JsonObject *choice = json_array_get_object_element(choices, 0);
    JsonObject *message = json_object_get_object_member(choice, "message");
    g_autoptr(GPtrArray) calls = g_ptr_array_new_with_free_func(g_free);
    JsonArray *list = json_object_has_member(message, "tool_calls")
                          ? json_object_get_array_member(message, "tool_calls")
                          : NULL;
    for (guint i = 0; list && i < json_array_get_length(list); i++) {
        JsonObject *call = json_array_get_object_element(list, i);
        JsonObject *function = json_object_get_object_member(call, "function");
        g_assert_cmpuint(strlen(get_text(call, "id")), ==, 9);
        g_assert_cmpstr(get_text(call, "type"), ==, "function");
        g_ptr_array_add(calls, g_strconcat(get_text(function, "name"), " ",
                                           get_text(function, "arguments"), NULL));
    }
    if (list && !*get_text(message, "content"))
        g_assert_true(json_object_get_null_member(message, "content"));
    return print_message(get_text(message, "content"), get_text(message, "reasoning_content"),
                         calls, get_text(choice, "finish_reason"));
}

/* Takes a delta's calls as clients join them: by index, id and name once. */
static void
join_calls(JsonObject *delta, GPtrArray *calls)
{
    JsonArray *list = json_object_has_member(delta, "tool_calls")
                          ? json_object_get_array_member(delta, "tool_calls")
                          : NULL;
    for (guint i = 0; list && i < json_array_get_length(list); i++) {
        JsonObject *call = json_array_get_object_element(list, i);
        JsonObject *function = json_object_get_object_member(call, "function");
        guint index = (guint)json_object_get_int_member(call, "index");
        bool is_new = index == calls->len;
        g_assert_true(is_new || index + 1 == calls->len);
        g_assert_cmpint(is_new, ==, *get_text(call, "id") != '\0');
        g_assert_cmpint(is_new, ==, *get_text(function, "name") != '\0');
        if (is_new)
            g_ptr_array_add(calls, g_strconcat(get_text(function, "name"), " ", NULL));
        char *joined = g_strconcat(calls->pdata[index], get_text(function, "arguments"), NULL);
        g_free(calls->pdata[index]);
        calls->pdata[index] = joined;
    }
}

static char *
ask_stream(const Harness *harness, const char *members)
{
    g_autofree char *all = g_strconcat("\"stream\":true,", members, NULL);
    g_autofree char *body = harness_dup_chat("Hi", all);
    g_autoptr(Stream) stream = stream_open(harness->port, CHAT, body);
    g_autoptr(GString) content = g_string_new(NULL);
    g_autoptr(GString) reasoning = g_string_new(NULL);
    g_autoptr(GPtrArray) calls = g_ptr_array_new_with_free_func(g_free);
    g_autofree char *reason = g_strdup("");
    char *json;
    for (; (json = stream_next(stream)); g_free(json)) {
        if (*json != '{')
            continue;
        g_autoptr(JsonNode) node = sundog_json_parse(json, strlen(json), NULL);
        JsonArray *choices = json_object_get_array_member(json_node_get_object(node), "choices");
        JsonObject *choice = json_array_get_object_element(choices, 0);
        JsonObject *delta = json_object_get_object_member(choice, "delta");
        g_assert_cmpstr(reason, ==, "");
        g_string_append(content, get_text(delta, "content"));
        g_string_append(reasoning, get_text(delta, "reasoning_content"));
        join_calls(delta, calls);
        g_free(reason);
        reason = g_strdup(get_text(choice, "finish_reason"));
    }
    return print_message(content->str, reasoning->str, calls, reason);
}

static void
test_answers(void)
{
    static const struct {
        const char *text, *members, *heard;
    } cases[] = {
        {"I look.\n" CALL, TOOLS, "I look.||tool_calls|look {\"at\": \"北 ď\"}"},
        {CALL "\n<tool_call>{\"name\":\"bare\",\"arguments\":{}}</tool_call>", TOOLS,
         "||tool_calls|look {\"at\": \"北 ď\"}|bare {}"},
        {CALL "\n" CALL, TOOLS ",\"parallel_tool_calls\":false",
         "||tool_calls|look {\"at\": \"北 ď\"}"},
        /* H34: without tools, or where none is to be called, a mark is a word like others. */
        {"Say <tool_call> now", "\"temperature\":0", "Say <tool_call> now||stop"},
        {"Say <tool_call> now", TOOLS ",\"tool_choice\":\"none\"", "Say <tool_call> now||stop"},
        {"Say <tool_call> now", TOOLS, "Say <tool_call> now||stop"},
        {"<think>\nHm, 北.\n</think>\n\nYes.", "\"temperature\":0", "Yes.|Hm, 北.|stop"},
        {"<think>Hm</think>" CALL, TOOLS, "|Hm|tool_calls|look {\"at\": \"北 ď\"}"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *text = g_strcompress(cases[i].text);
        Harness *harness = start(text, NULL);
        g_autofree char *plain = ask_plain(harness, cases[i].members);
        g_autofree char *stream = ask_stream(harness, cases[i].members);
        g_assert_cmpstr(plain, ==, cases[i].heard);
        g_assert_cmpstr(stream, ==, cases[i].heard);
        harness_stop(harness);
    }
}

/* Cut by its length, a call shows no mark of its syntax, and what has come of its arguments. */
static void
test_cut_calls(void)
{
    static const struct {
        const char *members, *heard;
    } cases[] = {
        {TOOLS ",\"max_tokens\":20", "||length"},
        {TOOLS ",\"max_tokens\":50", "||tool_calls|look {\"at\""},
    };
    g_autofree char *text = g_strcompress(CALL);
    Harness *harness = start(text, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *stream = ask_stream(harness, cases[i].members);
        g_autofree char *plain = ask_plain(harness, cases[i].members);
        g_assert_cmpstr(plain, ==, stream);
        g_assert_true(g_str_has_prefix(stream, cases[i].heard));
    }
    harness_stop(harness);
}

static void
test_refused(void)
{
    static const struct {
        const char *members, *param, *word;
    } cases[] = {
        {"\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{\"name\":\"a\",\"strict\":"
         "true,\"schema\":{\"type\":\"string\",\"pattern\":\"(\"}}}",
         "response_format", "pattern"},
        {"\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{\"name\":\"a\"}}",
         "response_format", "schema"},
        {"\"response_format\":{\"type\":\"xml\"}", "response_format", "json_object"},
        {"\"grammar\":\"root = 1\"", "grammar", "::="},
        {"\"guided_regex\":\"[b-a]\"", "guided_regex", "backwards"},
        {"\"guided_choice\":[]", "guided_choice", "finite"},
        {"\"logit_bias\":{\"99999\":1}", "logit_bias", "no token"},
        {"\"logit_bias\":{\"x\":1}", "logit_bias", "no token"},
        {"\"tool_choice\":\"required\"", "tool_choice", "no tools"},
        {TOOLS ",\"tool_choice\":\"sometimes\"", "tool_choice", "required"},
        {TOOLS ",\"tool_choice\":{\"type\":\"function\",\"function\":{\"name\":\"gone\"}}", "tools",
         "gone"},
    };
    Harness *harness = start("x", NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *body = harness_dup_chat("Hi", cases[i].members);
        g_test_message("%s", cases[i].members);
        g_autoptr(Reply) reply = client_post(harness->port, CHAT, body);
        g_assert_cmpuint(reply->status, ==, 400);
        g_autoptr(JsonObject) answer = reply_get_object(reply);
        JsonObject *error = json_object_get_object_member(answer, "error");
        g_assert_cmpstr(get_text(error, "param"), ==, cases[i].param);
        g_assert_nonnull(strstr(get_text(error, "message"), cases[i].word));
    }
    harness_stop(harness);
}

int
main(int argc, char **argv)
{
    harness_init(&argc, &argv);
    g_test_add_func("/calls/answers", test_answers);
    g_test_add_func("/calls/cut", test_cut_calls);
    g_test_add_func("/calls/refused", test_refused);
    return g_test_run();
}
