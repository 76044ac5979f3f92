/*
 * Log probabilities in every dialect: those of a stream, joined, are those of the plain answer, and no
 * token is told before its text, nor one that a stop string took away (report H32).
 */

#include "tests/server/harness.h"

#include <math.h>
#include <string.h>

#define CHAT "/v1/chat/completions"
#define COMPLETIONS "/v1/completions"

/* What the engine answers to prompts with the letter, a byte a token; to others "Hello". */
static const struct {
    const char *prompt, *answer, *members;
    const char *text,
        *told; /* of a chat: what comes, and the bytes of its tokens; NULL: the same */
} cases[] = {
    {"A", "Hello", "\"logprobs\":true", "Hello", NULL},
    {"B", "Hello", "\"logprobs\":true,\"top_logprobs\":2", "Hello", NULL},
    {"C", "北京, ď", "\"logprobs\":true,\"top_logprobs\":0", "北京, ď", NULL},
    /* Cut in a character: its first bytes were answered, and are no text. */
    {"D", "a北", "\"logprobs\":true,\"max_tokens\":2", "a", "a\xE5"},
    {"E", "abcSTOPd", "\"logprobs\":true,\"stop\":[\"STOP\"]", "abc", NULL},
    {"F", "abcSTOSTOPd", "\"logprobs\":true,\"stop\":[\"STOP\"]", "abcSTO", NULL},
    {"G", "abcSTO", "\"logprobs\":true,\"stop\":[\"STOP\"]", "abcSTO", NULL},
    {"H", "STOP", "\"logprobs\":true,\"stop\":[\"STOP\"]", "", NULL},
    {"I", "a京b", "\"logprobs\":true,\"stop\":[\"京\"]", "a", NULL},
    {"X", "dé", NULL, NULL, NULL},
    {"Z", NULL, NULL, NULL, NULL}, /* the engine's core is for a target that cannot */
};

/* One server for all that goes well. */
static Harness *harness;

static void
start(void)
{
    g_autofree char *hello = harness_dup_tokens("Hello");
    g_autoptr(GString) script = g_string_new("{\"ready\":{\"n_vocabulary\":262},\"requests\":[");
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *tokens = cases[i].answer ? harness_dup_tokens(cases[i].answer) : NULL;
        g_string_append_printf(script, "{\"prompt_has\":%d,\"%s\":%s},", cases[i].prompt[0],
                               tokens ? "tokens" : "fault", tokens ? tokens : "\"unsupported\"");
    }
    g_string_append_printf(script, "{\"tokens\":%s}]}", hello);
    harness_make_core("tiny", script->str);
    harness = harness_start("tiny");
    harness_wait_ready(harness);
}

/* What is told of tokens: the bytes, and the log probability and the number of rivals of each. */
typedef struct {
    GByteArray *bytes;
    GString *summary;
} Told;

static Told *
told_new(void)
{
    Told *told = g_new0(Told, 1);
    told->bytes = g_byte_array_new();
    told->summary = g_string_new(NULL);
    return told;
}

static void
told_free(Told *told)
{
    g_byte_array_unref(told->bytes);
    g_string_free(told->summary, true);
    g_free(told);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Told, told_free)

static uint8_t
get_byte(JsonObject *score)
{
    JsonArray *bytes = json_object_get_array_member(score, "bytes");
    g_assert_cmpuint(json_array_get_length(bytes), ==, 1);
    return (uint8_t)json_array_get_int_element(bytes, 0);
}

/* The scripted engine's numbers. */
static void
check_score(JsonObject *score)
{
    uint8_t byte = get_byte(score);
    const char *token = json_object_get_string_member(score, "token");
    g_autofree char *expected =
        byte < 128 ? g_strdup_printf("%c", byte) : g_strdup_printf("\\x%02x", byte);
    g_assert_cmpstr(token, ==, expected);
    g_assert_cmpfloat(json_object_get_double_member(score, "logprob"), ==, -(byte % 64) / 8.0);
}

static void
add(Told *told, JsonArray *scores)
{
    for (guint i = 0; i < json_array_get_length(scores); i++) {
        JsonObject *score = json_array_get_object_element(scores, i);
        JsonArray *rivals = json_object_get_array_member(score, "top_logprobs");
        uint8_t byte = get_byte(score);
        check_score(score);
        for (guint k = 0; k < json_array_get_length(rivals); k++)
            check_score(json_array_get_object_element(rivals, k));
        g_byte_array_append(told->bytes, &byte, 1);
        g_string_append_printf(told->summary, "%02x:%u ", byte, json_array_get_length(rivals));
    }
}

static JsonObject *
get_choice(JsonObject *object)
{
    return json_array_get_object_element(json_object_get_array_member(object, "choices"), 0);
}

static void
add_choice(Told *told, JsonObject *choice)
{
    if (json_object_get_null_member(choice, "logprobs"))
        return;
    JsonObject *scores = json_object_get_object_member(choice, "logprobs");
    add(told, json_object_get_array_member(scores, "content"));
}

/* The bytes of the tokens that were told are a beginning of the text that was. */
static void
check_order(const Told *told, const GString *text)
{
    g_assert_cmpuint(told->bytes->len, <=, text->len);
    g_assert_cmpmem(told->bytes->data, told->bytes->len, text->str, told->bytes->len);
}

static Told *
read_stream(const Harness *server, const char *prompt, const char *members, GString *text)
{
    g_autofree char *all = g_strdup_printf("\"stream\":true,%s", members);
    g_autofree char *body = harness_dup_chat(prompt, all);
    g_autoptr(Stream) stream = stream_open(server->port, CHAT, body);
    Told *told = told_new();
    char *event;
    g_assert_cmpuint(stream->status, ==, 200);
    while ((event = stream_next(stream))) {
        if (event[0] == '{') {
            g_autoptr(JsonNode) node = json_from_string(event, NULL);
            JsonObject *choice = get_choice(json_node_get_object(node));
            JsonObject *delta = json_object_get_object_member(choice, "delta");
            g_string_append(text, json_object_get_string_member_with_default(delta, "content", ""));
            add_choice(told, choice);
            if (json_object_get_null_member(choice, "finish_reason"))
                check_order(told, text);
        }
        g_free(event);
    }
    return told;
}

static void
test_streams_equal_plain(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(cases) && cases[i].members; i++) {
        g_autofree char *body = harness_dup_chat(cases[i].prompt, cases[i].members);
        g_autoptr(JsonObject) object = client_post_for_object(harness->port, CHAT, body);
        g_autoptr(Told) plain = told_new();
        g_autoptr(GString) text = g_string_new(NULL);
        add_choice(plain, get_choice(object));
        g_autoptr(Told) streamed = read_stream(harness, cases[i].prompt, cases[i].members, text);
        const char *expected = cases[i].told ? cases[i].told : cases[i].text;
        g_assert_cmpstr(text->str, ==, cases[i].text);
        g_assert_cmpmem(plain->bytes->data, plain->bytes->len, expected, strlen(expected));
        g_assert_cmpstr(streamed->summary->str, ==, plain->summary->str);
        g_assert_true(strstr(cases[i].members, "\"top_logprobs\":2") == NULL ||
                      strstr(plain->summary->str, ":2 "));
    }
}

static void
test_not_asked_for(void)
{
    static const char *const members[] = {"\"stream\":false", "\"logprobs\":false",
                                          "\"logprobs\":null,\"top_logprobs\":null"};
    for (size_t i = 0; i < G_N_ELEMENTS(members); i++) {
        g_autofree char *body = harness_dup_chat("hi", members[i]);
        g_autoptr(JsonObject) object = client_post_for_object(harness->port, CHAT, body);
        g_assert_true(json_object_get_null_member(get_choice(object), "logprobs"));
    }
}

/* With a server of its own. After the engine's death it goes on where it was: no token is told twice, and none is lost. */
static void
test_engine_dies(void)
{
    g_autofree char *tokens = harness_dup_tokens("Hello");
    g_autofree char *script = g_strdup_printf(
        "{\"ready\":{\"n_vocabulary\":262},\"requests\":[{\"tokens\":%s}],"
        "\"starts\":[{\"requests\":[{\"tokens\":%s,\"at\":3,\"die\":\"kill\"}]},{}]}",
        tokens, tokens);
    g_clear_pointer(&harness, harness_stop);
    harness_make_core("mortal", script);
    g_autoptr(Harness) other = harness_start("mortal");
    harness_wait_ready(other);
    g_autoptr(GString) text = g_string_new(NULL);
    g_autoptr(Told) told = read_stream(other, "hi", "\"logprobs\":true", text);
    g_assert_cmpmem(told->bytes->data, told->bytes->len, "Hello", 5);
    g_assert_cmpuint(harness_count_in_log("mortal", "\"event\":\"start\""), ==, 2);
}

static void
assert_json(JsonNode *node, const char *expected)
{
    g_autofree char *text = json_to_string(node, false);
    g_assert_cmpstr(text, ==, expected);
}

static void
test_completions(void)
{
    g_autoptr(JsonObject) object = client_post_for_object(
        harness->port, COMPLETIONS,
        "{\"prompt\":\"aXc\",\"max_tokens\":8,\"logprobs\":1,\"echo\":true}");
    JsonObject *choice = get_choice(object);
    JsonObject *lists = json_object_get_object_member(choice, "logprobs");
    g_assert_cmpstr(json_object_get_string_member(choice, "text"), ==, "aXcdé");
    assert_json(json_object_get_member(lists, "tokens"),
                "[\"a\",\"X\",\"c\",\"d\",\"\\\\xc3\",\"\\\\xa9\"]");
    assert_json(json_object_get_member(lists, "token_logprobs"),
                "[null,-3,-4.375,-4.5,-0.375,-5.125]");
    assert_json(json_object_get_member(lists, "text_offset"), "[0,1,2,3,4,5]");
    JsonArray *top = json_object_get_array_member(lists, "top_logprobs");
    g_assert_true(json_array_get_null_element(top, 0));
    assert_json(json_array_get_element(top, 1), "{\"Y\":-3.125,\"X\":-3}");

    /* Without the prompt offsets begin anew. */
    g_autoptr(JsonObject) other = client_post_for_object(
        harness->port, COMPLETIONS, "{\"prompt\":\"aXc\",\"max_tokens\":8,\"logprobs\":0}");
    lists = json_object_get_object_member(get_choice(other), "logprobs");
    assert_json(json_object_get_member(lists, "text_offset"), "[0,1,2]");
    top = json_object_get_array_member(lists, "top_logprobs");
    assert_json(json_array_get_element(top, 0), "{\"d\":-4.5}");

    /* The prompt alone, as a list of tokens. */
    g_autoptr(JsonObject) alone = client_post_for_object(
        harness->port, COMPLETIONS,
        "{\"prompt\":[[97,98]],\"max_tokens\":0,\"logprobs\":2,\"echo\":true,\"temperature\":0}");
    choice = get_choice(alone);
    lists = json_object_get_object_member(choice, "logprobs");
    g_assert_cmpstr(json_object_get_string_member(choice, "text"), ==, "ab");
    g_assert_cmpstr(json_object_get_string_member(choice, "finish_reason"), ==, "length");
    assert_json(json_object_get_member(lists, "token_logprobs"), "[null,-4.25]");

    /* And told without its scores. */
    g_autoptr(JsonObject) bare = client_post_for_object(
        harness->port, COMPLETIONS, "{\"prompt\":\"aXc\",\"max_tokens\":0,\"echo\":true}");
    g_assert_cmpstr(json_object_get_string_member(get_choice(bare), "text"), ==, "aXc");
    g_assert_true(json_object_get_null_member(get_choice(bare), "logprobs"));
}

/* The prompt is the first chunk, with its tokens and no others. */
static void
test_echo_streams(void)
{
    g_autoptr(Stream) stream =
        stream_open(harness->port, COMPLETIONS,
                    "{\"prompt\":\"aXc\",\"logprobs\":0,\"echo\":true,\"stream\":true}");
    static const struct {
        const char *text, *offsets;
    } expected[] = {{"aXc", "[0,1,2]"}, {"d", "[3]"}, {"é", "[4,5]"}, {"", NULL}};
    for (size_t i = 0; i < G_N_ELEMENTS(expected); i++) {
        g_autofree char *event = stream_next(stream);
        g_autoptr(JsonNode) node = json_from_string(event, NULL);
        JsonObject *choice = get_choice(json_node_get_object(node));
        g_assert_cmpstr(json_object_get_string_member(choice, "text"), ==, expected[i].text);
        if (expected[i].offsets) {
            JsonObject *lists = json_object_get_object_member(choice, "logprobs");
            assert_json(json_object_get_member(lists, "text_offset"), expected[i].offsets);
        } else {
            g_assert_true(json_object_get_null_member(choice, "logprobs"));
        }
    }
}

/* Ollama's and llama-server's, plain and as streams; and those of the Responses API. */
static void
test_other_dialects(void)
{
    static const struct {
        const char *path, *key, *body;
        bool is_plain;
    } dialects[] = {
        {"/api/generate", "logprobs",
         "{\"model\":\"tiny\",\"prompt\":\"hi\",\"logprobs\":true,\"top_logprobs\":1,"
         "\"stream\":false}",
         true},
        {"/api/generate", "logprobs",
         "{\"model\":\"tiny\",\"prompt\":\"hi\",\"logprobs\":true,\"top_logprobs\":1}", false},
        {"/api/chat", "logprobs",
         "{\"model\":\"tiny\",\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}],"
         "\"logprobs\":true,\"top_logprobs\":1}",
         false},
        {"/completion", "completion_probabilities", "{\"prompt\":\"hi\",\"n_probs\":1}", true},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(dialects); i++) {
        g_autoptr(Told) told = told_new();
        g_autoptr(Reply) reply = client_post(harness->port, dialects[i].path, dialects[i].body);
        g_auto(GStrv) lines = g_strsplit(reply->body, "\n", -1);
        for (int k = 0; lines[k]; k++) {
            g_autoptr(JsonNode) node = *lines[k] ? json_from_string(lines[k], NULL) : NULL;
            JsonObject *object = node ? json_node_get_object(node) : NULL;
            if (object && json_object_has_member(object, dialects[i].key))
                add(told, json_object_get_array_member(object, dialects[i].key));
        }
        g_assert_cmpstr(told->summary->str, ==, "48:1 65:1 6c:1 6c:1 6f:1 ");
        g_assert_true(!dialects[i].is_plain || g_strv_length(lines) <= 2);
    }
}

static void
test_responses(void)
{
    g_autoptr(JsonObject) plain =
        client_post_for_object(harness->port, "/v1/responses",
                               "{\"input\":\"hi\",\"include\":[\"message.output_text.logprobs\"]}");
    JsonArray *output = json_object_get_array_member(plain, "output");
    JsonObject *item = json_array_get_object_element(output, 0);
    JsonArray *content = json_object_get_array_member(item, "content");
    JsonObject *part = json_array_get_object_element(content, 0);
    g_autoptr(Told) told = told_new();
    add(told, json_object_get_array_member(part, "logprobs"));
    g_assert_cmpstr(told->summary->str, ==, "48:0 65:0 6c:0 6c:0 6f:0 ");

    g_autoptr(Told) streamed = told_new(), done = told_new();
    g_autoptr(Stream) stream =
        stream_open(harness->port, "/v1/responses",
                    "{\"input\":\"hi\",\"include\":[\"message.output_text.logprobs\"],"
                    "\"top_logprobs\":1,\"stream\":true}");
    char *event;
    while ((event = stream_next(stream))) {
        g_autoptr(JsonNode) node = json_from_string(event, NULL);
        JsonObject *object = json_node_get_object(node);
        const char *type = json_object_get_string_member(object, "type");
        bool is_done = g_str_equal(type, "response.output_text.done");
        if (is_done || g_str_equal(type, "response.output_text.delta"))
            add(is_done ? done : streamed, json_object_get_array_member(object, "logprobs"));
        g_free(event);
    }
    g_assert_cmpstr(streamed->summary->str, ==, "48:1 65:1 6c:1 6c:1 6f:1 ");
    g_assert_cmpstr(done->summary->str, ==, streamed->summary->str);
}

static void
test_refused(void)
{
    static const struct {
        const char *path, *members, *code, *param;
    } refused[] = {
        {CHAT, "\"top_logprobs\":3", "invalid_value", "top_logprobs"},
        {CHAT, "\"logprobs\":true,\"top_logprobs\":21", "invalid_value", "top_logprobs"},
        {CHAT, "\"logprobs\":3", "invalid_type", "logprobs"},
        {CHAT, "\"echo\":true", "unsupported_parameter", "echo"},
        {COMPLETIONS, "\"logprobs\":21", "invalid_value", "logprobs"},
        {COMPLETIONS, "\"logprobs\":true", "invalid_type", "logprobs"},
        {COMPLETIONS, "\"max_tokens\":0", "invalid_value", "max_tokens"},
        {COMPLETIONS, "\"max_tokens\":0,\"echo\":true,\"n\":2", "invalid_value", "n"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(refused); i++) {
        g_autofree char *body =
            g_strdup_printf("{\"prompt\":\"hi\",\"messages\":[{\"role\":\"user\",\"content\":"
                            "\"hi\"}],%s}",
                            refused[i].members);
        reply_assert_error(client_post(harness->port, refused[i].path, body), 400, refused[i].code,
                           refused[i].param);
    }
    static const char *const fields[] = {"typical_p", "top_n_sigma", "xtc_probability"};
    for (size_t i = 0; i <= G_N_ELEMENTS(fields); i++) {
        const char *field = i < G_N_ELEMENTS(fields) ? fields[i] : "logprobs";
        g_autofree char *body = g_strdup_printf("{\"prompt\":\"Z\",\"%s\":%s}", field,
                                                i < G_N_ELEMENTS(fields) ? "0.5" : "1");
        reply_assert_error(client_post(harness->port, COMPLETIONS, body), 400, "invalid_value",
                           field);
    }
}

int
main(int argc, char **argv)
{
    harness_init(&argc, &argv);
    start();
    g_test_add_func("/logprobs/streams-equal-plain", test_streams_equal_plain);
    g_test_add_func("/logprobs/not-asked-for", test_not_asked_for);
    g_test_add_func("/logprobs/completions", test_completions);
    g_test_add_func("/logprobs/echo-streams", test_echo_streams);
    g_test_add_func("/logprobs/other-dialects", test_other_dialects);
    g_test_add_func("/logprobs/responses", test_responses);
    g_test_add_func("/logprobs/refused", test_refused);
    g_test_add_func("/logprobs/engine-dies", test_engine_dies);
    int status = g_test_run();
    harness_stop(harness);
    return status;
}
