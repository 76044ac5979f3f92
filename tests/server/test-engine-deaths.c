/* The engine dies, in every phase and way: streams go on where they were, a poison request is found and
 * named, and what cannot be loaded is told (reports G4, G5, G16, and the faults). */

#include "engine/server/memory-kills.h"
#include "tests/server/harness.h"

#include <signal.h>
#include <string.h>

#define CHAT "/v1/chat/completions"

static Harness *
start(const char *script)
{
    harness_make_core("tiny", script);
    return harness_start("tiny");
}

static Chat *
chat(const Harness *harness, const char *members)
{
    g_autofree char *all = g_strdup_printf("\"stream\":true,%s", members);
    g_autofree char *body = harness_dup_chat("Hi", all);
    g_autoptr(Stream) stream = stream_open(harness->port, CHAT, body);
    return chat_read(stream);
}

/* What the scripted engine makes up for a seed, undisturbed. */
static char *
dup_undisturbed(const char *members)
{
    g_autoptr(Harness) harness = start("{\"ready\":{\"n_vocabulary\":128}}");
    harness_wait_ready(harness);
    g_autoptr(Chat) answer = chat(harness, members);
    g_assert_cmpstr(answer->finish_reason, ==, "length");
    return g_strdup(answer->text->str);
}

static void
assert_goes_on(const char *script, guint n_starts)
{
    const char *members = "\"seed\":7,\"max_tokens\":50";
    g_autofree char *undisturbed = dup_undisturbed(members);
    g_autoptr(Harness) harness = start(script);
    g_autoptr(Chat) answer = chat(harness, members);
    g_assert_null(answer->error);
    g_assert_cmpstr(answer->text->str, ==, undisturbed);
    g_assert_cmpstr(answer->finish_reason, ==, "length");
    g_assert_true(answer->is_done);
    g_assert_cmpuint(harness_count_in_log("tiny", "\"event\":\"start\""), ==, n_starts);
    g_autoptr(Reply) state = client_get(harness->port, "/sundog/v1/state");
    g_autofree char *restarts = g_strdup_printf("\"restarts\":%u", n_starts - 1);
    g_assert_nonnull(strstr(state->body, restarts));
}

static void
test_in_load(void)
{
    assert_goes_on("{\"ready\":{\"n_vocabulary\":128},\"starts\":["
                   "{\"load\":{\"ms\":50,\"die\":\"kill\"}},{\"load\":{\"ms\":20}}]}",
                   2);
}

static void
test_in_prefill(void)
{
    assert_goes_on("{\"ready\":{\"n_vocabulary\":128},\"starts\":["
                   "{\"requests\":[{\"prefill_ms\":20,\"die\":\"abort\",\"at\":0}]},"
                   "{\"requests\":[{}]}]}",
                   2);
}

static void
test_in_decode(void)
{
    const char *const ways[] = {"kill", "abort", "exit", "garbage", "close"};
    for (size_t i = 0; i < G_N_ELEMENTS(ways); i++) {
        g_autofree char *script =
            g_strdup_printf("{\"ready\":{\"n_vocabulary\":128},\"starts\":["
                            "{\"requests\":[{\"token_ms\":1,\"die\":\"%s\",\"at\":17}]},"
                            "{\"requests\":[{}]}]}",
                            ways[i]);
        g_test_message("%s", ways[i]);
        assert_goes_on(script, 2);
    }
    /* What was produced went along: the second engine began with it. */
    g_assert_cmpuint(harness_count_in_log("tiny", "\"produced\":[]"), ==, 1);
}

/* Twice, at different places. */
static void
test_twice(void)
{
    assert_goes_on("{\"ready\":{\"n_vocabulary\":128},\"starts\":["
                   "{\"requests\":[{\"die\":\"kill\",\"at\":5}]},"
                   "{\"requests\":[{\"die\":\"kill\",\"at\":31}]},{\"requests\":[{}]}]}",
                   3);
}

static void
test_killed_from_outside(void)
{
    const char *members = "\"seed\":7,\"max_tokens\":200";
    g_autofree char *undisturbed = dup_undisturbed(members);
    g_autoptr(Harness) harness =
        start("{\"ready\":{\"n_vocabulary\":128},\"requests\":[{\"gate_at\":20}]}");
    harness_wait_ready(harness);
    g_autofree char *all = g_strdup_printf("\"stream\":true,%s", members);
    g_autofree char *body = harness_dup_chat("Hi", all);
    g_autoptr(Stream) stream = stream_open(harness->port, CHAT, body);
    harness_wait_for_log("tiny", "\"event\":\"held\"", 1);
    kill(harness_get_engine_pid("tiny"), SIGKILL);
    harness_open_gate("tiny");
    g_autoptr(Chat) answer = chat_read(stream);
    g_assert_cmpstr(answer->text->str, ==, undisturbed);
    g_assert_cmpuint(harness_count_in_log("tiny", "\"event\":\"start\""), ==, 2);
}

/* After the last token, and before the engine said that it was the last. */
static void
test_after_last(void)
{
    const char *members = "\"seed\":7,\"max_tokens\":20";
    g_autofree char *undisturbed = dup_undisturbed(members);
    g_autoptr(Harness) harness =
        start("{\"ready\":{\"n_vocabulary\":128},\"starts\":["
              "{\"requests\":[{\"token_ms\":1,\"die\":\"kill\",\"at\":20}]},"
              "{\"requests\":[{}]}]}");
    g_autoptr(Chat) answer = chat(harness, members);
    g_assert_null(answer->error);
    g_assert_cmpstr(answer->text->str, ==, undisturbed);
    g_assert_cmpstr(answer->finish_reason, ==, "length");
}

/* Killed at random moments while many ask, mostly before it has loaded, and more often in a row than a core
 * that ends by itself may: each stream goes on with the very tokens it would have had. */
#define N_CLIENTS 8
#define N_KILLS 20
#define LONGEST_US 20000

typedef struct {
    const Harness *harness;
    char *members;
    char *undisturbed;
    int *is_over;  /* atomic */
    int n_answers; /* atomic */
    bool is_right;
} Client;

static void *
ask_until_over(void *data)
{
    Client *client = data;
    client->is_right = true;
    while (!g_atomic_int_get(client->is_over)) {
        g_autoptr(Chat) answer = chat(client->harness, client->members);
        if (answer->error)
            g_test_message("%s", answer->error);
        client->is_right = client->is_right && !answer->error && answer->is_done &&
                           strcmp(answer->text->str, client->undisturbed) == 0;
        g_atomic_int_inc(&client->n_answers);
    }
    return NULL;
}

static void
wait_for_an_answer_each(Client *clients)
{
    int64_t deadline = g_get_monotonic_time() + HARNESS_WAIT_US;
    int before[N_CLIENTS];
    for (int i = 0; i < N_CLIENTS; i++)
        before[i] = g_atomic_int_get(&clients[i].n_answers);
    for (int i = 0; i < N_CLIENTS; i++)
        while (g_atomic_int_get(&clients[i].n_answers) == before[i]) {
            g_assert_cmpint(g_get_monotonic_time(), <, deadline);
            g_usleep(1000);
        }
}

static void
test_killed_at_random(void)
{
    Client clients[N_CLIENTS];
    GThread *threads[N_CLIENTS];
    int is_over = false;
    for (int i = 0; i < N_CLIENTS; i++) {
        g_autofree char *members = g_strdup_printf("\"seed\":%d,\"max_tokens\":40", i);
        clients[i] = (Client){.members = g_strdup(members), .is_over = &is_over};
        clients[i].undisturbed = dup_undisturbed(members);
    }
    g_autoptr(Harness) harness = start(
        "{\"load\":{\"ms\":15},\"ready\":{\"n_vocabulary\":128},\"requests\":[{\"token_ms\":1}]}");
    for (int i = 0; i < N_CLIENTS; i++) {
        clients[i].harness = harness;
        threads[i] = g_thread_new("client", ask_until_over, &clients[i]);
    }
    for (guint i = 0; i < N_KILLS; i++) {
        harness_wait_for_log("tiny", "\"event\":\"start\"", i + 1);
        g_usleep((gulong)g_test_rand_int_range(0, LONGEST_US));
        kill(harness_get_engine_pid("tiny"), SIGKILL);
    }
    harness_wait_for_log("tiny", "\"event\":\"start\"", N_KILLS + 1);
    wait_for_an_answer_each(clients);
    g_atomic_int_set(&is_over, true);
    for (int i = 0; i < N_CLIENTS; i++) {
        g_thread_join(threads[i]);
        g_assert_true(clients[i].is_right);
        g_free(clients[i].members);
        g_free(clients[i].undisturbed);
    }
    g_assert_cmpuint(harness_count_in_log("tiny", "\"event\":\"start\""), ==, N_KILLS + 1);
}

/* Killed so often in a row without a token in between, in load and before the first token: a core or a
 * request that did this by itself would be given up. */
static void
test_killed_in_row(void)
{
    GString *script = g_string_new("{\"ready\":{\"n_vocabulary\":128},\"starts\":[");
    for (int i = 0; i < 12; i++)
        g_string_append(script, i % 2 ? "{\"load\":{},\"requests\":[{\"die\":\"kill\",\"at\":0}]},"
                                      : "{\"load\":{\"die\":\"kill\"}},");
    g_string_append(script, "{\"load\":{},\"requests\":[{}]}]}");
    assert_goes_on(script->str, 13);
    g_string_free(script, true);
}

/* What the kernel counts of those that it killed itself. */
static void
test_memory_kills(void)
{
    g_autofree char *file = g_build_filename(g_get_user_cache_dir(), "vmstat", NULL);
    g_mkdir_with_parents(g_get_user_cache_dir(), 0700);
    g_assert_true(g_file_set_contents(file, "oom 1\npgfault 7\noom_kill 12\nother 3\n", -1, NULL));
    g_assert_cmpuint(sundog_memory_kills_count(file), ==, 12);
    g_assert_true(g_file_set_contents(file, "pgfault 7\nmemcg_oom_kill 5\n", -1, NULL));
    g_assert_cmpuint(sundog_memory_kills_count(file), ==, 0);
    g_assert_cmpuint(sundog_memory_kills_count("/nonexistent/vmstat"), ==, 0);
}

/* A plain answer too. */
static void
test_plain(void)
{
    g_autoptr(Harness) harness =
        start("{\"ready\":{\"n_vocabulary\":259},\"starts\":["
              "{\"requests\":[{\"tokens\":[72,101,108],\"die\":\"kill\",\"at\":2}]},"
              "{\"requests\":[{\"tokens\":[72,101,108]}]}]}");
    g_autofree char *body = harness_dup_chat("Hi", NULL);
    g_autoptr(Reply) reply = client_post(harness->port, CHAT, body);
    g_assert_cmpuint(reply->status, ==, 200);
    g_assert_nonnull(strstr(reply->body, "\"content\":\"Hel\""));
    g_assert_nonnull(strstr(reply->body, "\"completion_tokens\":3"));
}

/* A request that ends every engine is tried alone once more, then named; its companions are served. */
typedef struct {
    const Harness *harness;
    const char *text;
    Chat *answer;
} Reader;

static void *
read_one(void *data)
{
    Reader *reader = data;
    g_autofree char *body =
        harness_dup_chat(reader->text, "\"stream\":true,\"seed\":3,\"max_tokens\":30");
    g_autoptr(Stream) stream = stream_open(reader->harness->port, CHAT, body);
    reader->answer = chat_read(stream);
    return NULL;
}

static void
test_poison(void)
{
    /* Token 90 is “Z”: only the poison has it. */
    g_autoptr(Harness) harness =
        start("{\"ready\":{\"n_vocabulary\":128},\"requests\":["
              "{\"prompt_has\":90,\"die\":\"abort\",\"at\":2,\"token_ms\":5},{\"token_ms\":5}]}");
    harness_wait_ready(harness);
    Reader readers[4] = {
        {harness, "a", NULL}, {harness, "Z", NULL}, {harness, "b", NULL}, {harness, "c", NULL}};
    GThread *threads[4];
    for (int i = 0; i < 4; i++)
        threads[i] = g_thread_new("reader", read_one, &readers[i]);
    for (int i = 0; i < 4; i++)
        g_thread_join(threads[i]);
    for (int i = 0; i < 4; i++) {
        Chat *answer = readers[i].answer;
        if (i == 1) {
            g_assert_nonnull(answer->error);
            g_test_message("%s", answer->error);
            g_assert_nonnull(strstr(answer->error, "\"code\":\"engine_died\""));
            g_assert_nonnull(strstr(answer->error, "chatcmpl-"));
        } else {
            g_assert_null(answer->error);
            g_assert_cmpstr(answer->finish_reason, ==, "length");
            g_assert_cmpuint(g_utf8_strlen(answer->text->str, -1), ==, 30);
        }
        chat_free(answer);
    }
    harness_wait_ready(harness);
    g_assert_cmpuint(harness_count_in_log("tiny", "\"event\":\"start\""), ==, 4);
}

static void
assert_load_fails(const char *script, const char *words, guint n_starts)
{
    g_autoptr(Harness) harness = start(script);
    g_autofree char *body = harness_dup_chat("Hi", NULL);
    g_autoptr(Reply) reply = client_post(harness->port, CHAT, body);
    g_test_message("%s", reply->body);
    g_assert_cmpuint(reply->status, ==, 503);
    g_assert_nonnull(strstr(reply->body, "\"code\":\"engine_failed\""));
    g_assert_nonnull(strstr(reply->body, words));
    g_autoptr(Reply) health = client_get(harness->port, "/health");
    g_assert_nonnull(strstr(health->body, "\"failed\""));
    g_assert_nonnull(strstr(health->body, words));
    /* The next request is told at once, without another load. */
    g_autoptr(Reply) again = client_post(harness->port, CHAT, body);
    g_assert_cmpuint(again->status, ==, 503);
    g_assert_cmpuint(harness_count_in_log("tiny", "\"event\":\"start\""), ==, n_starts);
    /* Asked for by name, it is tried anew. */
    harness_set_script("tiny",
                       "{\"ready\":{\"n_vocabulary\":259},\"requests\":[{\"tokens\":[72]}]}");
    g_autoptr(Reply) load = client_post(harness->port, "/sundog/v1/load", "{\"core\":\"tiny\"}");
    g_assert_cmpuint(load->status, ==, 202);
    harness_wait_ready(harness);
    g_autoptr(Reply) served = client_post(harness->port, CHAT, body);
    g_assert_cmpuint(served->status, ==, 200);
}

static void
test_load_fails(void)
{
    assert_load_fails("{\"load\":{\"fault\":\"no room for 9 GB\"}}", "no room for 9 GB", 1);
    assert_load_fails("{\"load\":{\"die\":\"exit\",\"status\":3,\"last_words\":\"odd words\"}}",
                      "odd words", 3); /* G16 */
}

static void
test_missing_engine(void)
{
    harness_make_core("tiny", NULL);
    g_autoptr(Harness) harness = harness_start_with(&(SundogServerOptions){
        .core = "tiny", .port = 0, .key = "", .engine = "/nonexistent/engine"});
    g_assert_no_error(harness->error);
    g_autofree char *body = harness_dup_chat("Hi", NULL);
    g_autoptr(Reply) reply = client_post(harness->port, CHAT, body);
    g_assert_cmpuint(reply->status, ==, 503);
    g_assert_nonnull(strstr(reply->body, "/nonexistent/engine"));
}

/* G4: one that ignores every wish is killed, in bounded time, and the answer is no less right. */
static void
test_stubborn(void)
{
    g_autoptr(Harness) harness = start("{\"ignore_shutdown\":true,\"ready\":{\"n_vocabulary\":259},"
                                       "\"requests\":[{\"tokens\":[72]}]}");
    harness_wait_ready(harness);
    int pid = harness_get_engine_pid("tiny");
    g_autoptr(Reply) reply = client_post(harness->port, "/sundog/v1/unload", "{}");
    g_assert_cmpuint(reply->status, ==, 200);
    g_assert_cmpint(kill(pid, 0), !=, 0);
    g_autoptr(Reply) health = client_get(harness->port, "/health");
    g_assert_nonnull(strstr(health->body, "no core"));
    g_autofree char *body = harness_dup_chat("Hi", NULL);
    g_autoptr(Reply) served = client_post(harness->port, CHAT, body);
    g_assert_cmpuint(served->status, ==, 200);
}

/* Unloading while requests run: they are told, and nothing hangs. */
static void
test_unload_in_decode(void)
{
    g_autoptr(Harness) harness =
        start("{\"ready\":{\"n_vocabulary\":128},\"requests\":[{\"gate_at\":5}]}");
    harness_wait_ready(harness);
    g_autofree char *body = harness_dup_chat("Hi", "\"stream\":true,\"max_tokens\":1000");
    g_autoptr(Stream) stream = stream_open(harness->port, CHAT, body);
    harness_wait_for_log("tiny", "\"event\":\"held\"", 1);
    g_autoptr(Reply) reply = client_post(harness->port, "/sundog/v1/unload", "{}");
    g_assert_cmpuint(reply->status, ==, 200);
    g_autoptr(Chat) answer = chat_read(stream);
    g_assert_nonnull(strstr(answer->error, "unloaded"));
}

/* Until the server has read what the engine told of its loading. */
static void
wait_for_progress(const Harness *harness)
{
    for (bool is_shown = false; !is_shown; g_usleep(5000)) {
        g_autoptr(Reply) health = client_get(harness->port, "/health");
        is_shown = strstr(health->body, "\"progress\":0.") != NULL;
    }
}

static void
test_loading_is_shown(void)
{
    g_autoptr(Harness) harness =
        start("{\"load\":{\"gate\":true,\"steps\":8},\"ready\":{\"n_vocabulary\":259},"
              "\"requests\":[{\"tokens\":[72],\"prefill_steps\":4}]}");
    harness_wait_for_log("tiny", "\"event\":\"held\"", 1);
    wait_for_progress(harness);
    g_autoptr(Reply) health = client_get(harness->port, "/health");
    g_assert_cmpuint(health->status, ==, 503);
    g_test_message("%s", health->body);
    g_assert_nonnull(strstr(health->body, "\"loading\""));
    g_assert_nonnull(strstr(health->body, "\"progress\":0."));
    g_autofree char *body =
        harness_dup_chat("Hi", "\"stream\":true,\"sundog\":{\"progress\":true}");
    g_autoptr(Stream) stream = stream_open(harness->port, CHAT, body);
    harness_open_gate("tiny");
    g_autoptr(Chat) answer = chat_read(stream);
    g_assert_cmpuint(answer->n_comments, >=, 2);
    g_assert_cmpstr(answer->text->str, ==, "H");
}

int
main(int argc, char **argv)
{
    harness_init(&argc, &argv);
    g_test_add_func("/engine-deaths/in-load", test_in_load);
    g_test_add_func("/engine-deaths/in-prefill", test_in_prefill);
    g_test_add_func("/engine-deaths/in-decode", test_in_decode);
    g_test_add_func("/engine-deaths/twice", test_twice);
    g_test_add_func("/engine-deaths/killed-from-outside", test_killed_from_outside);
    g_test_add_func("/engine-deaths/after-last", test_after_last);
    g_test_add_func("/engine-deaths/killed-at-random", test_killed_at_random);
    g_test_add_func("/engine-deaths/killed-in-row", test_killed_in_row);
    g_test_add_func("/engine-deaths/memory-kills", test_memory_kills);
    g_test_add_func("/engine-deaths/plain", test_plain);
    g_test_add_func("/engine-deaths/poison", test_poison);
    g_test_add_func("/engine-deaths/load-fails", test_load_fails);
    g_test_add_func("/engine-deaths/missing-engine", test_missing_engine);
    g_test_add_func("/engine-deaths/stubborn", test_stubborn);
    g_test_add_func("/engine-deaths/unload-in-decode", test_unload_in_decode);
    g_test_add_func("/engine-deaths/loading-is-shown", test_loading_is_shown);
    return g_test_run();
}
