/* Streams: their shape, their ends, clients that leave, and what a token costs (reports H1 to H4, H7,
 * H11, H13, H14, H17 to H19, H21, H45). */

#include "tests/server/harness.h"

#include <string.h>

#define CHAT "/v1/chat/completions"
#define N_MANY 64

/* The engine plays `requests`; the server runs on it. */
static Harness *
start(const char *requests)
{
    g_autofree char *script =
        g_strdup_printf("{\"ready\":{\"n_vocabulary\":259,\"max_sequences\":%d},\"requests\":[%s]}",
                        N_MANY, requests);
    harness_make_core("tiny", script);
    Harness *harness = harness_start("tiny");
    harness_wait_ready(harness);
    return harness;
}

static char *
entry_of(const char *text, const char *members)
{
    g_autofree char *tokens = harness_dup_tokens(text);
    return g_strdup_printf("{\"tokens\":%s%s%s}", tokens, members ? "," : "",
                           members ? members : "");
}

static Chat *
chat(const Harness *harness, const char *text, const char *members)
{
    g_autofree char *all =
        g_strdup_printf("\"stream\":true%s%s", members ? "," : "", members ? members : "");
    g_autofree char *body = harness_dup_chat(text, all);
    g_autoptr(Stream) stream = stream_open(harness->port, CHAT, body);
    return chat_read(stream);
}

static void
assert_chat(const Harness *harness, const char *members, const char *text, const char *reason)
{
    g_autoptr(Chat) answer = chat(harness, "Hi", members);
    g_assert_cmpstr(answer->text->str, ==, text);
    g_assert_cmpstr(answer->finish_reason, ==, reason);
    g_assert_null(answer->error);
    g_assert_true(answer->is_done);
}

/* H11, H18, H19, H21 */
static void
test_shape(void)
{
    g_autofree char *entry = entry_of("Hello", "\"n_cached\":3");
    g_autoptr(Harness) harness = start(entry);
    g_autoptr(Chat) plain = chat(harness, "Hi", NULL);
    g_assert_cmpstr(plain->text->str, ==, "Hello");
    g_assert_cmpstr(plain->finish_reason, ==, "stop");
    g_assert_null(plain->usage);
    g_assert_true(plain->is_done);
    g_autoptr(Chat) counted = chat(harness, "Hi", "\"stream_options\":{\"include_usage\":true}");
    g_assert_nonnull(counted->usage);
    g_assert_cmpint(json_object_get_int_member(counted->usage, "completion_tokens"), ==, 5);
    JsonObject *details = json_object_get_object_member(counted->usage, "prompt_tokens_details");
    g_assert_cmpint(json_object_get_int_member(details, "cached_tokens"), ==, 3);
    g_autoptr(Chat) not_counted =
        chat(harness, "Hi", "\"stream_options\":{\"include_usage\":false}");
    g_assert_null(not_counted->usage);
    assert_chat(harness, "\"max_tokens\":2", "He", "length");
    assert_chat(harness, "\"stop\":[\"lo\"]", "Hel", "stop");
}

/* H13: the limit falls inside a character. H14: characters of up to many tokens. */
static void
test_characters(void)
{
    g_autofree char *cut = entry_of("a\xe4\xbd\xa0", NULL);
    g_autofree char *entry = g_strdup_printf("%s", cut);
    g_autoptr(Harness) harness = start(entry);
    assert_chat(harness, "\"max_tokens\":3", "a", "length");
    assert_chat(harness, NULL, "a\xe4\xbd\xa0", "stop");
    g_clear_pointer(&harness, harness_stop);
    const char *text =
        "北京 ď \xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa7 "
        "é\"\\\n\x01\x7f";
    g_autofree char *whole = entry_of(text, NULL);
    harness = start(whole);
    assert_chat(harness, NULL, text, "stop");
    g_autofree char *body = harness_dup_chat("Hi", NULL);
    g_autoptr(Reply) reply = client_post(harness->port, CHAT, body);
    g_autoptr(JsonObject) object = reply_get_object(reply);
    JsonObject *choice =
        json_array_get_object_element(json_object_get_array_member(object, "choices"), 0);
    g_assert_cmpstr(
        json_object_get_string_member(json_object_get_object_member(choice, "message"), "content"),
        ==, text);
}

/* H17, and a near miss; the engine hears of the end at once. */
static void
test_stop_strings(void)
{
    g_autofree char *entry = entry_of("ABCDEFGHIKDEFGHIJKLMN", "\"gate_at\":17");
    g_autoptr(Harness) harness = start(entry);
    assert_chat(harness, "\"stop\":\"DEFGHIJ\"", "ABCDEFGHIK", "stop");
    harness_wait_for_log("tiny", "\"event\":\"cancel\"", 1);
    harness_open_gate("tiny");
    assert_chat(harness, "\"stop\":\"DEFGHIJX\"", "ABCDEFGHIKDEFGHIJKLMN", "stop");
    assert_chat(harness, "\"stop\":[\"N\",\"ZZ\"]", "ABCDEFGHIKDEFGHIJKLM", "stop");
    assert_chat(harness, "\"stop\":[\"A\"]", "", "stop");
}

/* H7: headers at once, and a comment after some silence while a prompt is read. */
static void
test_ping(void)
{
    harness_make_core("tiny", "{\"requests\":[{\"tokens\":[72,105],\"gate_at\":0}]}");
    g_autoptr(Harness) harness = harness_start_with(
        &(SundogServerOptions){.core = "tiny", .port = 0, .key = "", .ping_seconds = 2});
    g_assert_no_error(harness->error);
    harness_wait_ready(harness);
    g_autofree char *body = harness_dup_chat("Hi", "\"stream\":true");
    g_autoptr(Stream) stream = stream_open(harness->port, CHAT, body);
    g_assert_cmpuint(stream->status, ==, 200);
    for (int i = 0; i < 2; i++) {
        g_autofree char *event = stream_next(stream);
        g_assert_cmpstr(event, ==, ": ping");
    }
    /* From before it was asked: a reader that is late shortens nothing. */
    g_assert_cmpint(g_get_monotonic_time() - stream->opened_us, >=, 4 * G_USEC_PER_SEC);
    harness_open_gate("tiny");
    g_autoptr(Chat) rest = chat_read(stream);
    g_assert_cmpstr(rest->text->str, ==, "Hi");
}

/* In Ollama's dialect a line without text. */
static void
test_ping_of_lines(void)
{
    const char *const bodies[][3] = {
        {"/api/chat", "\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}]", "\"content\":\"\"}"},
        {"/api/generate", "\"prompt\":\"Hi\"", "\"response\":\"\""}};
    for (size_t i = 0; i < G_N_ELEMENTS(bodies); i++) {
        harness_make_core("tiny", "{\"requests\":[{\"tokens\":[72,105],\"gate_at\":0}]}");
        g_autoptr(Harness) harness = harness_start_with(
            &(SundogServerOptions){.core = "tiny", .port = 0, .key = "", .ping_seconds = 1});
        harness_wait_ready(harness);
        g_autofree char *body = g_strdup_printf("{\"model\":\"tiny\",%s}", bodies[i][1]);
        g_autoptr(Stream) stream = stream_open(harness->port, bodies[i][0], body);
        g_autofree char *line = stream_next_line(stream);
        g_assert_nonnull(strstr(line, bodies[i][2]));
        g_assert_nonnull(strstr(line, "\"created_at\":"));
        g_assert_true(g_str_has_suffix(line, "\"done\":false}"));
        harness_open_gate("tiny");
    }
}

static void
test_progress(void)
{
    g_autofree char *entry = entry_of("Hi", "\"prefill_ms\":60,\"prefill_steps\":4");
    g_autoptr(Harness) harness = start(entry);
    g_autoptr(Chat) answer = chat(harness, "Hi", "\"sundog\":{\"progress\":true}");
    g_assert_cmpuint(answer->n_comments, >=, 4);
    g_autoptr(Chat) quiet = chat(harness, "Hi", NULL);
    g_assert_cmpuint(quiet->n_comments, ==, 0);
}

/* "after_cancel" of the engine's log: tokens after a cancel was read. */
static void
wait_for_cancels(guint n)
{
    harness_wait_for_log("tiny", "\"reason\":\"cancelled\"", n);
    g_assert_cmpuint(harness_count_in_log("tiny", "\"after_cancel\":0"), ==, n);
}

/* H1: in mid-stream, with nothing being sent; and a plain answer, of which nothing has been sent yet. */
static void
test_client_leaves(void)
{
    g_autofree char *entry = entry_of("x", "\"repeat\":true,\"gate_at\":4");
    g_autoptr(Harness) harness = start(entry);
    g_autofree char *body = harness_dup_chat("Hi", "\"stream\":true,\"max_tokens\":1000");
    Stream *stream = stream_open(harness->port, CHAT, body);
    for (int i = 0; i < 4; i++)
        g_free(stream_next(stream));
    harness_wait_for_log("tiny", "\"event\":\"held\"", 1);
    stream_close(stream);
    wait_for_cancels(1);
    g_assert_cmpuint(harness_count_in_log("tiny", "\"sent\":4"), ==, 2);
    g_autofree char *plain = harness_dup_chat("Hi", "\"max_tokens\":1000");
    g_autoptr(GString) request = g_string_new(NULL);
    g_string_printf(request,
                    "POST " CHAT " HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
                    "application/json\r\nContent-Length: %zu\r\n\r\n%s",
                    strlen(plain), plain);
    g_autoptr(GSocketClient) client = g_socket_client_new();
    g_autoptr(GSocketConnection) connection =
        g_socket_client_connect_to_host(client, "127.0.0.1", harness->port, NULL, NULL);
    g_output_stream_write_all(g_io_stream_get_output_stream(G_IO_STREAM(connection)), request->str,
                              request->len, NULL, NULL, NULL);
    harness_wait_for_log("tiny", "\"event\":\"held\"", 2);
    g_io_stream_close(G_IO_STREAM(connection), NULL, NULL);
    wait_for_cancels(2);
}

/* H4: while the prompt is read. */
static void
test_client_leaves_in_prefill(void)
{
    g_autoptr(Harness) harness = start("{\"stall_prefill\":true}");
    g_autofree char *body = harness_dup_chat("Hi", "\"stream\":true");
    Stream *stream = stream_open(harness->port, CHAT, body);
    harness_wait_for_log("tiny", "\"event\":\"submit\"", 1);
    stream_close(stream);
    wait_for_cancels(1);
}

/* H2, H3: of queued requests, those whose client has left never reach the engine, and no other is hurt. */
static void
test_queued_leave(void)
{
    harness_make_core("tiny", "{\"load\":{\"gate\":true},\"ready\":{\"n_vocabulary\":259},"
                              "\"requests\":[{\"tokens\":[72,105]}]}");
    g_autoptr(Harness) harness = harness_start("tiny");
    g_autofree char *body = harness_dup_chat("Hi", "\"stream\":true");
    Stream *streams[3];
    for (int i = 0; i < 3; i++)
        streams[i] = stream_open(harness->port, CHAT, body);
    stream_close(streams[0]);
    stream_close(streams[1]);
    harness_wait_for_ended(harness, "cancelled", 2);
    harness_open_gate("tiny");
    g_autoptr(Chat) last = chat_read(streams[2]);
    stream_close(streams[2]);
    g_assert_cmpstr(last->text->str, ==, "Hi");
    g_assert_cmpuint(harness_count_in_log("tiny", "\"event\":\"submit\""), ==, 1);
}

static void
test_closing_a_queued_one(void)
{
    harness_make_core("tiny", "{\"ready\":{\"n_vocabulary\":259,\"max_sequences\":1},"
                              "\"requests\":[{\"tokens\":[97],\"repeat\":true,\"gate_at\":9}]}");
    g_autoptr(Harness) harness = harness_start("tiny");
    harness_wait_ready(harness);
    g_autofree char *body = harness_dup_chat("Hi", "\"stream\":true,\"max_tokens\":60");
    g_autoptr(Stream) active = stream_open(harness->port, CHAT, body);
    harness_wait_for_log("tiny", "\"event\":\"held\"", 1);
    Stream *queued = stream_open(harness->port, CHAT, body);
    stream_close(queued);
    harness_wait_for_ended(harness, "cancelled", 1);
    harness_open_gate("tiny");
    g_autoptr(Chat) answer = chat_read(active);
    g_assert_cmpuint(answer->text->len, ==, 60);
    g_assert_cmpstr(answer->finish_reason, ==, "length");
}

/* Stopped from the server page: the client's stream ends as any other. */
static void
test_stopped(void)
{
    g_autofree char *entry = entry_of("x", "\"repeat\":true,\"gate_at\":9");
    g_autoptr(Harness) harness = start(entry);
    g_autofree char *body = harness_dup_chat("Hi", "\"stream\":true,\"max_tokens\":1000");
    g_autoptr(Stream) stream = stream_open(harness->port, CHAT, body);
    g_autofree char *first = stream_next(stream);
    g_autoptr(JsonNode) node = json_from_string(first, NULL);
    g_autofree char *path = g_strdup_printf(
        "/sundog/v1/requests/%s", json_object_get_string_member(json_node_get_object(node), "id"));
    g_autoptr(Reply) list = client_get(harness->port, "/sundog/v1/requests");
    g_assert_nonnull(strstr(list->body, "\"state\":\"decode\""));
    g_autoptr(Reply) stopped = client_send(harness->port, "DELETE", path, NULL, NULL);
    g_assert_cmpuint(stopped->status, ==, 200);
    char *event, *last = NULL;
    bool has_reason = false;
    while ((event = stream_next(stream))) {
        has_reason = has_reason || strstr(event, "\"finish_reason\":\"stop\"");
        g_free(last);
        last = event;
    }
    g_assert_true(has_reason);
    g_assert_cmpstr(last, ==, "[DONE]");
    g_free(last);
    g_autoptr(Reply) after = client_get(harness->port, "/sundog/v1/requests");
    g_assert_nonnull(strstr(after->body, "\"state\":\"cancelled\""));
}

/* A fault in mid-stream is an error object that every client raises. */
static void
test_fault(void)
{
    g_autofree char *entry = entry_of("Hello", "\"fault\":\"not_finite\",\"fault_at\":3");
    g_autoptr(Harness) harness = start(entry);
    g_autoptr(Chat) answer = chat(harness, "Hi", NULL);
    g_assert_cmpstr(answer->text->str, ==, "Hel");
    g_assert_nonnull(strstr(answer->error, "\"code\":\"not_finite\""));
    g_assert_null(answer->finish_reason);
    g_autofree char *body = harness_dup_chat("Hi", NULL);
    g_autoptr(Reply) reply = client_post(harness->port, CHAT, body);
    g_assert_cmpuint(reply->status, ==, 500);
}

/* H39: whatever the dialect, a stream that cannot go on says so in its own last event. */
static void
test_fault_by_dialect(void)
{
    static const struct {
        const char *path, *body, *last;
    } streams[] = {
        {"/v1/responses", "{\"input\":\"Hi\",\"stream\":true}", "event: response.failed\n"},
        {"/v1/messages", "{\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}],\"stream\":true}",
         "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\""},
        {"/api/chat", "{\"model\":\"tiny\",\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}]}",
         "\n{\"error\":\""},
        {"/v1/completions", "{\"prompt\":\"Hi\",\"stream\":true}",
         "data: {\"error\":{\"message\":"},
    };
    g_autofree char *entry = entry_of("Hello", "\"fault\":\"not_finite\",\"fault_at\":3");
    g_autoptr(Harness) harness = start(entry);
    for (size_t i = 0; i < G_N_ELEMENTS(streams); i++) {
        g_autoptr(Reply) reply = client_post(harness->port, streams[i].path, streams[i].body);
        g_assert_cmpuint(reply->status, ==, 200);
        const char *last = strstr(reply->body, streams[i].last);
        g_assert_nonnull(last);
        g_assert_nonnull(strstr(last, "left their range"));
    }
}

/* Many at once, each with text of its own (H45): in order, none mixed, all end. */
typedef struct {
    const Harness *harness;
    int number;
    bool is_right;
} Reader;

static void *
read_one(void *data)
{
    Reader *reader = data;
    g_autofree char *seed = g_strdup_printf("\"seed\":%d,\"max_tokens\":40", reader->number);
    g_autoptr(Chat) answer = chat(reader->harness, "Tell", seed);
    /* Its own text, as the scripted engine gives it for this seed, is asked for again alone. */
    g_autoptr(Chat) again = chat(reader->harness, "Tell", seed);
    reader->is_right = answer->is_done && again->is_done && answer->text->len >= 1 &&
                       strcmp(answer->text->str, again->text->str) == 0 &&
                       strcmp(answer->finish_reason, "length") == 0;
    return NULL;
}

static void
test_many(void)
{
    g_autoptr(Harness) harness = start("{\"token_ms\":1}");
    GThread *threads[N_MANY];
    Reader readers[N_MANY];
    for (int i = 0; i < N_MANY; i++) {
        readers[i] = (Reader){harness, i, false};
        threads[i] = g_thread_new("reader", read_one, &readers[i]);
    }
    for (int i = 0; i < N_MANY; i++) {
        g_thread_join(threads[i]);
        g_assert_true(readers[i].is_right);
    }
}

/* The queue is bounded: beyond it 429, with the time to come again; those taken all end. */
static void
test_queue_bound(void)
{
    harness_make_core("tiny", "{\"ready\":{\"n_vocabulary\":259,\"max_sequences\":1},"
                              "\"requests\":[{\"stall_prefill\":true}]}");
    g_autoptr(Harness) harness = harness_start("tiny");
    harness_wait_ready(harness);
    g_autofree char *body = harness_dup_chat("Hi", "\"stream\":true");
    g_autoptr(GPtrArray) streams = g_ptr_array_new_with_free_func((GDestroyNotify)stream_close);
    unsigned status = 200;
    while (status == 200 && streams->len < 400) {
        Stream *stream = stream_open(harness->port, CHAT, body);
        status = stream->status;
        if (status != 200)
            g_assert_nonnull(strstr(stream->head, "Retry-After: 1"));
        g_ptr_array_add(streams, stream);
    }
    g_assert_cmpuint(status, ==, 429);
    g_assert_cmpuint(streams->len, ==, 258);
}

/* A client that does not read is cut off at a bound, and holds nobody back. */
static void
test_slow_reader(void)
{
    g_autofree char *entry = entry_of("0123456789", "\"repeat\":true");
    g_autofree char *script = g_strdup_printf(
        "{\"ready\":{\"n_vocabulary\":259,\"context_length\":200000},\"requests\":[%s]}", entry);
    harness_make_core("tiny", script);
    g_autoptr(Harness) harness = harness_start("tiny");
    harness_wait_ready(harness);
    /* Much text a token, so that the bound is met soon. */
    g_autofree char *body =
        harness_dup_chat("Hi", "\"stream\":true,\"logprobs\":true,\"top_logprobs\":20");
    g_autoptr(Stream) stream = stream_open(harness->port, CHAT, body);
    harness_wait_for_log("tiny", "\"event\":\"submit\"", 1);
    g_autoptr(Chat) other = chat(harness, "Hi", "\"max_tokens\":100");
    g_assert_cmpuint(other->text->len, ==, 100);
    harness_wait_for_log("tiny", "\"event\":\"cancel\"", 1);
    g_autoptr(Reply) health = client_get(harness->port, "/health");
    g_assert_cmpuint(health->status, ==, 200);
}

/* What the server adds to the engine's own time; its client's is in it. */
static void
test_cost(void)
{
    g_autofree char *entry = entry_of("x", "\"repeat\":true");
    g_autoptr(Harness) harness = start(entry);
    double best_first = 1e9, best_token = 1e9;
    for (int i = 0; i < 20; i++) {
        double begin = harness_get_processor_us(CLOCK_PROCESS_CPUTIME_ID);
        g_autoptr(Chat) one = chat(harness, "Hi", "\"max_tokens\":1");
        double one_us = harness_get_processor_us(CLOCK_PROCESS_CPUTIME_ID) - begin;
        begin = harness_get_processor_us(CLOCK_PROCESS_CPUTIME_ID);
        g_autoptr(Chat) answer = chat(harness, "Hi", "\"max_tokens\":400");
        g_assert_cmpuint(answer->text->len, ==, 400);
        best_first = MIN(best_first, one_us);
        double all_us = harness_get_processor_us(CLOCK_PROCESS_CPUTIME_ID) - begin;
        best_token = MIN(best_token, (all_us - one_us) / 399);
    }
    g_test_message("an answer of one token %.0f us, each further one %.1f us, of processor",
                   best_first, best_token);
#ifdef __SANITIZE_ADDRESS__
    g_test_skip("the sanitizer's own time is no measure");
#else
    g_assert_cmpfloat(best_first, <, 2000);
    g_assert_cmpfloat(best_token, <, 100);
#endif
}

int
main(int argc, char **argv)
{
    harness_init(&argc, &argv);
    g_test_add_func("/streams/shape", test_shape);
    g_test_add_func("/streams/characters", test_characters);
    g_test_add_func("/streams/stop-strings", test_stop_strings);
    g_test_add_func("/streams/progress", test_progress);
    g_test_add_func("/streams/client-leaves", test_client_leaves);
    g_test_add_func("/streams/client-leaves-in-prefill", test_client_leaves_in_prefill);
    g_test_add_func("/streams/queued-leave", test_queued_leave);
    g_test_add_func("/streams/closing-a-queued-one", test_closing_a_queued_one);
    g_test_add_func("/streams/stopped", test_stopped);
    g_test_add_func("/streams/fault", test_fault);
    g_test_add_func("/streams/fault-by-dialect", test_fault_by_dialect);
    g_test_add_func("/streams/many", test_many);
    g_test_add_func("/streams/queue-bound", test_queue_bound);
    g_test_add_func("/streams/slow-reader", test_slow_reader);
    g_test_add_func("/streams/cost", test_cost);
    g_test_add_func("/streams/ping", test_ping);
    g_test_add_func("/streams/ping-of-lines", test_ping_of_lines);
    return g_test_run();
}
