/* What a chat request may say, and what is said of its mistakes (reports H9, H10, H27, H28, K1, S1). */

#include "tests/server/fixture.h"

#include <string.h>

static void
assert_chat_error(Fixture *fixture, const char *members, const char *code, const char *param)
{
    g_autofree char *body = harness_dup_chat("Hi", members);
    reply_assert_error(client_post(fixture->harness->port, "/v1/chat/completions", body), 400, code,
                       param);
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

/* Fields that come later are refused by name; the same where they ask for nothing are not. */
static void
test_fields(Fixture *fixture, gconstpointer data)
{
    const struct {
        const char *param, *refused, *taken;
    } later[] = {
        {"best_of", "2", "1"},
        {"echo", "true", "false"},
        {"mirostat", "2", "0"},
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
        {"\"n\":\"1\"", "invalid_type", "n"},
        {"\"n\":0", "invalid_value", "n"},
        {"\"n\":17", "invalid_value", "n"},
        {"\"typical_p\":2", "invalid_value", "typical_p"},
        {"\"xtc_probability\":-1", "invalid_value", "xtc_probability"},
        {"\"dry_multiplier\":-1", "invalid_value", "dry_multiplier"},
        {"\"dry_multiplier\":1,\"dry_sequence_breakers\":\"x\"", "invalid_type",
         "dry_sequence_breakers"},
        {"\"dry_multiplier\":1,\"dry_sequence_breakers\":[\"\"]", "invalid_value",
         "dry_sequence_breakers"},
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

/* K1: what is no text is refused, since no model here sees it; so no cache can take it for another. */
static void
test_other_parts(Fixture *fixture, gconstpointer data)
{
    static const struct {
        const char *path, *parts, *type;
    } cases[] = {
        {"/v1/chat/completions",
         "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"image_url\",\"image_url\":"
         "{\"url\":\"data:image/png;base64,AA==\"}}]}]}",
         "image_url"},
        {"/v1/chat/completions",
         "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"input_audio\",\"input_audio\":"
         "{\"data\":\"\"}}]}]}",
         "input_audio"},
        {"/v1/messages",
         "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"image\",\"source\":{\"type\":"
         "\"base64\",\"media_type\":\"image/png\",\"data\":\"\"}}]}]}",
         "image"},
        {"/v1/responses",
         "{\"input\":[{\"role\":\"user\",\"content\":[{\"type\":\"input_image\",\"image_url\":"
         "\"x\"}]}]}",
         "input_image"},
        {"/api/chat",
         "{\"model\":\"tiny\",\"messages\":[{\"role\":\"user\",\"content\":\"Hi\",\"images\":"
         "[\"AA==\"]}]}",
         "images"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(Reply) reply = client_post(fixture->harness->port, cases[i].path, cases[i].parts);
        if (reply->status != 400 || !strstr(reply->body, cases[i].type))
            g_test_message("%s: %s", cases[i].path, reply->body);
        g_assert_cmpuint(reply->status, ==, 400);
        g_assert_nonnull(strstr(reply->body, cases[i].type));
    }
}

/* Breakers become tokens, those that are cut by tokens too; asked for again, they are remembered. */
static void
test_breakers(Fixture *fixture, gconstpointer data)
{
    static const char *const members[] = {
        "\"dry_multiplier\":1,\"dry_sequence_breakers\":[\":\",\"ab\"],\"stream\":true",
        "\"dry_multiplier\":1,\"dry_sequence_breakers\":[\":\",\"ab\"]",
        "\"dry_multiplier\":0,\"dry_sequence_breakers\":[\":\",\"ab\"]",
        "\"dry_multiplier\":1,\"dry_sequence_breakers\":[]"};
    for (size_t i = 0; i < G_N_ELEMENTS(members); i++) {
        g_autofree char *body = harness_dup_chat("Hi", members[i]);
        g_autoptr(Reply) reply = client_post(fixture->harness->port, "/v1/chat/completions", body);
        g_assert_cmpuint(reply->status, ==, 200);
    }
    g_assert_cmpuint(harness_count_in_log("tiny", "\"breakers\":[1,58,0,1,97,1,98]"), ==, 2);
    g_assert_cmpuint(harness_count_in_log("tiny", "\"breakers\":[]"), ==, 2);
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
        g_assert_nonnull(strstr(message, "prompt is too long: 2"));
        g_assert_nonnull(strstr(message, " tokens > 64;"));
        json_object_unref(error);
    }
    static const struct {
        const char *path, *form;
    } others[] = {
        {"/v1/responses", "{\"input\":\"%s\"%s}"},
        {"/v1/messages",
         "{\"max_tokens\":9,\"messages\":[{\"role\":\"user\",\"content\":\"%s\"}]%s}"},
        {"/api/chat",
         "{\"model\":\"tiny\",\"messages\":[{\"role\":\"user\",\"content\":\"%s\"}]%s}"},
        {"/api/generate", "{\"model\":\"tiny\",\"prompt\":\"%s\"%s}"},
        {"/completion", "{\"prompt\":\"%s\"%s}"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(others) * G_N_ELEMENTS(streams); i++) {
        size_t other = i / G_N_ELEMENTS(streams), stream = i % G_N_ELEMENTS(streams);
        g_auto(GStrv) halves = g_strsplit(others[other].form, "%s", 3);
        g_autofree char *body =
            g_strconcat(halves[0], long_text, halves[1], *streams[stream] ? "," : "",
                        streams[stream], halves[2], NULL);
        g_autoptr(Reply) reply = client_post(fixture->harness->port, others[other].path, body);
        g_assert_cmpuint(reply->status, ==, 400);
        g_assert_nonnull(strstr(reply->body, " tokens > 64;"));
    }
    g_autofree char *prompt = g_strdup_printf("{\"prompt\":\"%s\"}", long_text);
    reply_assert_error(client_post(fixture->harness->port, "/v1/completions", prompt), 400,
                       "context_length_exceeded", "prompt");
    g_assert_cmpuint(harness_count_in_log("tiny", "\"submit\""), ==, 0);
}

int
main(int argc, char **argv)
{
    harness_init(&argc, &argv);
    fixture_add("/chat-fields/plain-chat", test_plain_chat);
    fixture_add("/chat-fields/fields", test_fields);
    fixture_add("/chat-fields/ranges", test_ranges);
    fixture_add("/chat-fields/breakers", test_breakers);
    fixture_add("/chat-fields/max-tokens", test_max_tokens);
    fixture_add("/chat-fields/messages", test_messages);
    fixture_add("/chat-fields/context", test_context);
    fixture_add("/chat-fields/other-parts", test_other_parts);
    return g_test_run();
}
