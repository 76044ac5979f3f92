/* A server's beginning and end: one a runtime folder, ports in use, the published file, stopping, its
 * parent's death; and that it does not grow (reports D3, G3, G9, G12). */

#include "tests/server/harness.h"

#include "engine/library/library.h"
#include "engine/library/server-file.h"
#include "tests/anonymous-memory.h"
#include "tests/library/small-disk.h"
#include <glib/gstdio.h>
#include <malloc.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHAT "/v1/chat/completions"
#define N_TIMES 4000

static const char *const script =
    "{\"ready\":{\"n_vocabulary\":259},\"requests\":[{\"tokens\":[72,105]}]}";

static void
test_published(void)
{
    harness_make_core("tiny", script);
    Harness *harness = harness_start("tiny");
    const char *path = sundog_paths_get_server_file();
    struct stat status;
    g_assert_cmpint(stat(path, &status), ==, 0);
    g_assert_cmpint(status.st_mode & 0777, ==, 0600);
    g_autoptr(JsonObject) object = sundog_server_file_read();
    g_assert_nonnull(object);
    g_assert_cmpint(json_object_get_int_member(object, "port"), ==, harness->port);
    g_assert_cmpint(json_object_get_int_member(object, "pid"), ==, getpid());
    g_autofree char *stamp = sundog_server_file_dup_stamp();
    g_assert_cmpstr(json_object_get_string_member(object, "stamp"), ==, stamp);
    /* A change of the settings makes the stamp another one. */
    g_autoptr(Reply) set =
        client_send(harness->port, "PATCH", "/sundog/v1/config", NULL, "{\"engine.threads\":3}");
    g_autofree char *other = sundog_server_file_dup_stamp();
    g_assert_cmpstr(stamp, !=, other);
    g_autoptr(Reply) reset =
        client_send(harness->port, "PATCH", "/sundog/v1/config", NULL, "{\"engine.threads\":null}");
    harness_stop(harness);
    g_assert_cmpint(stat(path, &status), !=, 0);
    g_assert_null(sundog_server_file_read());
}

static void
test_two_servers(void)
{
    harness_make_core("tiny", script);
    g_autoptr(Harness) first = harness_start("tiny");
    g_autoptr(Harness) second =
        harness_start_with(&(SundogServerOptions){.core = "tiny", .port = 0});
    g_assert_error(second->error, G_IO_ERROR, G_IO_ERROR_EXISTS);
    g_test_message("%s", second->error->message);
    g_autofree char *port = g_strdup_printf("port %u", first->port);
    g_assert_nonnull(strstr(second->error->message, port));
    g_autoptr(Reply) reply = client_get(first->port, "/v1/models");
    g_assert_cmpuint(reply->status, ==, 200); /* the first one is not hurt */
    g_assert_cmpint(access(sundog_paths_get_server_file(), F_OK), ==, 0);
}

/* G12 */
static void
test_port_in_use(void)
{
    harness_make_core("tiny", script);
    g_autoptr(GSocketListener) other = g_socket_listener_new();
    uint16_t port = g_socket_listener_add_any_inet_port(other, NULL, NULL);
    g_autoptr(Harness) harness =
        harness_start_with(&(SundogServerOptions){.core = "tiny", .port = port, .key = ""});
    g_assert_nonnull(harness->error);
    g_test_message("%s", harness->error->message);
    g_assert_nonnull(strstr(harness->error->message, "another program uses it"));
    const char *advice = strstr(harness->error->message, "for example ");
    g_assert_nonnull(advice);
    uint16_t alternative = (uint16_t)g_ascii_strtoull(advice + strlen("for example "), NULL, 10);
    g_autoptr(Harness) moved =
        harness_start_with(&(SundogServerOptions){.core = "tiny", .port = alternative, .key = ""});
    g_assert_no_error(moved->error);
    g_assert_cmpuint(moved->port, ==, alternative);
}

static void
test_bad_addresses(void)
{
    const char *const bad[] = {"0.0.0.0", "::", "203.0.113.7", "localhost", "nonsense", ""};
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_autoptr(Harness) harness =
            harness_start_with(&(SundogServerOptions){.address = bad[i], .port = 0, .key = ""});
        g_assert_nonnull(harness->error);
        g_test_message("%s", harness->error->message);
    }
    /* With a key, others may come. */
    g_autoptr(Harness) open =
        harness_start_with(&(SundogServerOptions){.address = "0.0.0.0", .port = 0, .key = "k"});
    g_assert_no_error(open->error);
    g_autoptr(Reply) reply = client_send(open->port, "GET", "/v1/models",
                                         "Host: box.example\r\nAuthorization: Bearer k\r\n", NULL);
    g_assert_cmpuint(reply->status, ==, 200);
}

static void
test_missing_core(void)
{
    g_autoptr(Harness) harness =
        harness_start_with(&(SundogServerOptions){.core = "no-such", .port = 0, .key = ""});
    g_assert_error(harness->error, SUNDOG_LIBRARY_ERROR, SUNDOG_LIBRARY_ERROR_NOT_FOUND);
    g_assert_cmpint(access(sundog_paths_get_server_file(), F_OK), !=, 0);
}

/* Stopped over HTTP: what runs ends well, new requests are told, then all is gone. */
static void
test_stop(void)
{
    harness_make_core("tiny", "{\"ready\":{\"n_vocabulary\":128},\"requests\":[{\"token_ms\":5}]}");
    Harness *harness = harness_start("tiny");
    harness_wait_ready(harness);
    g_autofree char *body = harness_dup_chat("Hi", "\"stream\":true,\"max_tokens\":60");
    g_autoptr(Stream) stream = stream_open(harness->port, CHAT, body);
    harness_wait_for_log("tiny", "\"event\":\"submit\"", 1);
    int pid = harness_get_engine_pid("tiny");
    g_autoptr(Reply) reply = client_post(harness->port, "/sundog/v1/stop", "");
    g_assert_cmpuint(reply->status, ==, 200);
    g_autoptr(Chat) answer = chat_read(stream);
    g_assert_cmpstr(answer->finish_reason, ==, "length");
    g_assert_cmpuint(g_utf8_strlen(answer->text->str, -1), ==, 60);
    int64_t deadline = g_get_monotonic_time() + HARNESS_WAIT_US;
    while (!g_atomic_int_get(&harness->is_stopped) && g_get_monotonic_time() < deadline)
        g_usleep(10000);
    g_assert_true(g_atomic_int_get(&harness->is_stopped));
    g_assert_cmpint(kill(pid, 0), !=, 0);
    harness_stop(harness);
}

/* G3: the engine does not outlive a server that is killed, nor the server its parent; each hears of it
 * from the kernel, so that the two seconds they are given hold wherever they get to run. Both in a
 * process that is this test again. The orphaned engine is this process's to reap: not every machine has a
 * first process that does. */
static void
wait_for_end(int pid)
{
    int64_t deadline = g_get_monotonic_time() + HARNESS_WAIT_US;
    while (waitpid(pid, NULL, WNOHANG) == 0 && g_get_monotonic_time() < deadline)
        g_usleep(10000);
    g_assert_cmpint(kill(pid, 0), !=, 0);
}

static const char *program;

static GSubprocess *
start_child(const char *parent)
{
    g_autoptr(GError) error = NULL;
    GSubprocess *child = g_subprocess_new(G_SUBPROCESS_FLAGS_STDOUT_SILENCE, &error, program,
                                          harness_get_engine(), "--serve", parent, NULL);
    g_assert_no_error(error);
    harness_wait_for_log("tiny", "\"event\":\"start\"", 1);
    while (access(sundog_paths_get_server_file(), F_OK) != 0)
        g_usleep(5000);
    return child;
}

static void
test_killed_server(void)
{
    harness_make_core("tiny", script);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    g_autoptr(GSubprocess) child = start_child("0");
    int engine = harness_get_engine_pid("tiny");
    g_assert_cmpint(kill(engine, 0), ==, 0);
    g_subprocess_send_signal(child, SIGKILL);
    g_subprocess_wait(child, NULL, NULL);
    wait_for_end(engine);
    /* What it left behind does not keep the next one from starting. */
    g_assert_cmpint(access(sundog_paths_get_server_file(), F_OK), ==, 0);
    g_assert_null(sundog_server_file_read());
    g_autoptr(Harness) next = harness_start("tiny");
    harness_wait_ready(next);
}

static void
test_killed_parent(void)
{
    harness_make_core("tiny", script);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    g_autoptr(GSubprocess) parent =
        g_subprocess_new(G_SUBPROCESS_FLAGS_NONE, NULL, "sleep", "100", NULL);
    g_autoptr(GSubprocess) child = start_child(g_subprocess_get_identifier(parent));
    int engine = harness_get_engine_pid("tiny");
    g_subprocess_force_exit(parent);
    g_subprocess_wait(parent, NULL, NULL);
    g_subprocess_wait(child, NULL, NULL);
    wait_for_end(engine);
}

static int
serve(pid_t parent)
{
    g_autoptr(Harness) harness = harness_start_with(
        &(SundogServerOptions){.core = "tiny", .port = 0, .key = "", .parent = parent});
    g_assert_no_error(harness->error);
    while (!g_atomic_int_get(&harness->is_stopped))
        g_usleep(10000);
    return 0;
}

/* D3: a full disk of models and cores; settings and jobs lie elsewhere. */
static void
test_full_disk(void)
{
    harness_make_core("tiny", script);
    if (!small_disk_mount(sundog_paths_get_models(), 1 << 20))
        return;
    small_disk_fill(sundog_paths_get_models());
    g_autoptr(Harness) harness = harness_start("tiny");
    harness_wait_ready(harness);
    g_autofree char *body = harness_dup_chat("Hi", NULL);
    g_autoptr(Reply) served = client_post(harness->port, CHAT, body);
    g_assert_cmpuint(served->status, ==, 200);
    g_autoptr(Reply) models = client_get(harness->port, "/sundog/v1/models");
    g_assert_cmpuint(models->status, ==, 200);
    small_disk_unmount(sundog_paths_get_models());
}

/* G9: many requests and many polls leave nothing behind; of all lengths, streamed and not, of two
 * dialects, and wrong ones. */
static void
send_many(const Harness *harness, int n)
{
    static const char *const members[] = {NULL, "\"stream\":true", "\"stop\":[\"x\"]",
                                          "\"temperature\":-9"};
    g_autofree char *text = g_strnfill(500, 'a');
    for (int i = 0; i < n; i++) {
        guint kind = (guint)i % G_N_ELEMENTS(members);
        g_autofree char *body = harness_dup_chat(text + i % 500, members[kind]);
        g_autoptr(Reply) reply = client_post(harness->port, i % 3 ? CHAT : "/api/chat", body);
        g_assert_cmpuint(reply->status, ==, kind == 3 && i % 3 ? 400 : 200);
        g_autoptr(Reply) state = client_get(harness->port, "/sundog/v1/state");
        g_assert_cmpuint(state->status, ==, 200);
    }
}

/* How much more memory is in use after so many requests and polls. */
static int64_t
measure_growth(const Harness *harness, int n)
{
    malloc_trim(0);
    int64_t before = anonymous_memory_get(getpid());
    send_many(harness, n);
    malloc_trim(0);
    int64_t growth = anonymous_memory_get(getpid()) - before;
    g_test_message("%" G_GINT64_FORMAT " KB, %" G_GINT64_FORMAT " more after %d requests and polls",
                   before >> 10, growth >> 10, n);
    return growth;
}

static void
test_memory(void)
{
#ifdef __SANITIZE_ADDRESS__
    g_test_skip("the sanitizer keeps freed memory back, so that its size says nothing");
    return;
#endif
    harness_make_core("tiny", script);
    g_autoptr(Harness) harness = harness_start("tiny");
    harness_wait_ready(harness);
    send_many(harness, N_TIMES / 10);
    /* Some 100 bytes a request, and the allocator's own noise, would still be no leak of requests. A leak
     * is there every time; what else the process once takes is not. */
    const int64_t most = 2 << 20;
    int64_t growth = G_MAXINT64;
    for (int i = 0; i < 3 && growth >= most; i++)
        growth = measure_growth(harness, N_TIMES);
    g_assert_cmpint(growth, <, most);
}

int
main(int argc, char **argv)
{
    program = argv[0];
    small_disk_init();
    /* The word is taken before GLib's own arguments are read. */
    const char *parent = argc == 4 && strcmp(argv[2], "--serve") == 0 ? argv[3] : NULL;
    if (parent)
        argc = 2;
    harness_init(&argc, &argv);
    if (parent)
        return serve((pid_t)g_ascii_strtoll(parent, NULL, 10));
    g_test_add_func("/server-life/published", test_published);
    g_test_add_func("/server-life/two-servers", test_two_servers);
    g_test_add_func("/server-life/port-in-use", test_port_in_use);
    g_test_add_func("/server-life/bad-addresses", test_bad_addresses);
    g_test_add_func("/server-life/missing-core", test_missing_core);
    g_test_add_func("/server-life/stop", test_stop);
    g_test_add_func("/server-life/killed-server", test_killed_server);
    g_test_add_func("/server-life/killed-parent", test_killed_parent);
    g_test_add_func("/server-life/full-disk", test_full_disk);
    g_test_add_func("/server-life/memory", test_memory);
    return g_test_run();
}
