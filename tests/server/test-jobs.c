/* Jobs over HTTP: downloads that outlive the server, pause and full disks (reports D1, D2, D4), and
 * work in child processes, here a shell script in place of `sundog`. */

#include "tests/server/harness.h"

#include "engine/library/library.h"
#include "tests/library/file-server.h"
#include "tests/library/small-disk.h"
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>

#define JOBS "/sundog/v1/jobs"
#define MIB (1u << 20)

static char *
dup_state(const Harness *harness, const char *id)
{
    g_autofree char *path = g_strdup_printf(JOBS "/%s", id);
    g_autoptr(Reply) reply = client_get(harness->port, path);
    g_assert_cmpuint(reply->status, ==, 200);
    g_autoptr(JsonObject) job = reply_get_object(reply);
    return g_strdup(json_object_get_string_member(job, "state"));
}

/* What is still in the line's buffers has been sent, and is not here yet. */
static void
wait_for_bytes(const Harness *harness, const char *id, int64_t n_bytes)
{
    int64_t deadline = g_get_monotonic_time() + HARNESS_WAIT_US;
    g_autofree char *path = g_strdup_printf(JOBS "/%s", id);
    for (int64_t n_done = 0; n_done < n_bytes;) {
        g_autoptr(Reply) reply = client_get(harness->port, path);
        g_autoptr(JsonObject) job = reply_get_object(reply);
        n_done = json_object_get_int_member(job, "bytes_done");
        g_assert_cmpint(g_get_monotonic_time(), <, deadline);
        g_usleep(5000);
    }
}

static void
wait_for_state(const Harness *harness, const char *id, const char *wanted)
{
    int64_t deadline = g_get_monotonic_time() + HARNESS_WAIT_US;
    for (;;) {
        g_autofree char *state = dup_state(harness, id);
        if (strcmp(state, wanted) == 0)
            return;
        if (g_get_monotonic_time() > deadline) {
            g_autoptr(Reply) reply = client_get(harness->port, JOBS);
            g_test_message("%s", reply->body);
        }
        g_assert_cmpint(g_get_monotonic_time(), <, deadline);
        g_usleep(10000);
    }
}

static void
add_pull(const Harness *harness, const FileServer *files, const char *members)
{
    g_autofree char *url = file_server_dup_url(files, "Tiny.gguf");
    g_autofree char *body =
        g_strdup_printf("{\"kind\":\"pull\",\"source\":\"%s\"%s}", url, members);
    g_autoptr(Reply) reply = client_post(harness->port, JOBS, body);
    g_assert_cmpuint(reply->status, ==, 201);
}

static void
forget_model(const Harness *harness)
{
    g_autoptr(Reply) reply =
        client_send(harness->port, "DELETE", "/sundog/v1/models/tiny", NULL, NULL);
    g_assert_cmpuint(reply->status, ==, 200);
    g_autoptr(Reply) again =
        client_send(harness->port, "DELETE", "/sundog/v1/models/tiny", NULL, NULL);
    g_assert_cmpuint(again->status, ==, 404);
}

static void
change(const Harness *harness, const char *id, const char *verb)
{
    g_autofree char *path = g_strdup_printf(JOBS "/%s/%s", id, verb);
    g_autoptr(Reply) reply = client_post(harness->port, path, "{}");
    g_assert_cmpuint(reply->status, ==, 200);
}

static void
test_pause(void)
{
    FileServer *files = file_server_new(MIB);
    files->stall_times = 1;
    files->stall_bytes = MIB / 2;
    g_autoptr(Harness) harness = harness_start(NULL);
    add_pull(harness, files, "");
    add_pull(harness, files, ""); /* asked for twice is meant once */
    wait_for_bytes(harness, "j1", MIB / 2);
    g_autoptr(Reply) busy =
        client_send(harness->port, "DELETE", "/sundog/v1/models/tiny", NULL, NULL);
    g_assert_cmpuint(busy->status, ==, 409);
    change(harness, "j1", "pause");
    wait_for_state(harness, "j1", "paused");
    change(harness, "j1", "resume");
    wait_for_state(harness, "j1", "done");
    g_assert_cmpuint(file_server_get_n_requests(files), ==, 2);
    g_assert_cmpuint(file_server_get_n_bytes_sent(files), <, MIB * 11 / 10);
    forget_model(harness);
    file_server_free(files);
}

/* D1, D4: the server ends in mid-transfer, the next one goes on by itself. */
static void
test_restart(void)
{
    FileServer *files = file_server_new(MIB);
    files->stall_times = 1;
    files->stall_bytes = MIB / 2;
    Harness *harness = harness_start(NULL);
    add_pull(harness, files, "");
    wait_for_bytes(harness, "j1", MIB / 2);
    harness_stop(harness);
    g_autoptr(Harness) next = harness_start(NULL);
    wait_for_state(next, "j1", "done");
    FileRequest request = file_server_get_request(files, 1);
    g_assert_cmpuint(request.first, ==, MIB / 2);
    g_assert_cmpuint(file_server_get_n_bytes_sent(files), <, MIB * 11 / 10);
    forget_model(next);
    file_server_free(files);
}

/* D2: with room made, it goes on. */
static void
test_full_disk(void)
{
    FileServer *files = file_server_new(5 * MIB);
    g_autoptr(Harness) harness = harness_start(NULL);
    if (small_disk_mount(sundog_paths_get_models(), 2 * MIB)) {
        add_pull(harness, files, "");
        wait_for_state(harness, "j1", "paused");
        g_autoptr(Reply) reply = client_get(harness->port, JOBS "/j1");
        g_assert_nonnull(strstr(reply->body, "make room"));
        small_disk_resize(sundog_paths_get_models(), 16 * MIB);
        change(harness, "j1", "resume");
        wait_for_state(harness, "j1", "done");
        small_disk_unmount(sundog_paths_get_models());
    }
    file_server_free(files);
}

static void
test_failed(void)
{
    FileServer *files = file_server_new(MIB);
    files->status = 404;
    files->status_times = 1;
    g_autoptr(Harness) harness = harness_start(NULL);
    add_pull(harness, files, "");
    wait_for_state(harness, "j1", "failed");
    g_autoptr(Reply) reply = client_get(harness->port, JOBS "/j1");
    g_assert_nonnull(strstr(reply->body, "not there"));
    change(harness, "j1", "resume");
    wait_for_state(harness, "j1", "done");
    forget_model(harness);
    g_autoptr(Reply) forgotten = client_send(harness->port, "DELETE", JOBS "/j1", NULL, NULL);
    g_assert_cmpuint(forgotten->status, ==, 200);
    g_autoptr(Reply) gone = client_get(harness->port, JOBS "/j1");
    g_assert_cmpuint(gone->status, ==, 404);
    file_server_free(files);
}

/* Children */

static char *
make_program(const char *body)
{
    char *path = g_build_filename(g_get_home_dir(), "fake-sundog", NULL);
    g_autofree char *text = g_strdup_printf("#!/bin/sh\n%s\n", body);
    g_assert_true(g_file_set_contents_full(path, text, -1, G_FILE_SET_CONTENTS_NONE, 0700, NULL));
    return path;
}

static Harness *
start_with_program(const char *program)
{
    Harness *harness =
        harness_start_with(&(SundogServerOptions){.port = 0, .key = "", .sundog = program});
    g_assert_no_error(harness->error);
    return harness;
}

static void
add_prepare(const Harness *harness)
{
    g_autoptr(Reply) reply = client_post(harness->port, JOBS,
                                         "{\"kind\":\"prepare\",\"model\":\"tiny\",\"activations\":"
                                         "\"f32\",\"weights\":\"q4\",\"cache\":\"q8\"}");
    g_assert_cmpuint(reply->status, ==, 201);
}

static void
test_child(void)
{
    g_autofree char *program =
        make_program("echo \"$@\" >&2\n"
                     "echo '{\"phase\":\"weights\",\"fraction\":0.5}'\necho nonsense\n"
                     "until [ -e ~/go-on ]; do sleep 0.01; done\n"
                     "echo '{\"done\":true,\"name\":\"tiny@host\"}'");
    g_autoptr(Harness) harness = start_with_program(program);
    add_prepare(harness);
    for (bool is_half = false; !is_half; g_usleep(5000)) {
        g_autoptr(Reply) half = client_get(harness->port, JOBS "/j1");
        is_half =
            strstr(half->body, "\"fraction\":0.5") && strstr(half->body, "\"phase\":\"weights\"");
    }
    g_autofree char *go_on = g_build_filename(g_get_home_dir(), "go-on", NULL);
    g_assert_true(g_file_set_contents(go_on, "", 0, NULL));
    wait_for_state(harness, "j1", "done");
    g_autoptr(Reply) done = client_get(harness->port, JOBS "/j1");
    g_assert_nonnull(strstr(done->body, "\"result\":\"tiny@host\""));
    g_autoptr(Reply) log = client_get(harness->port, "/sundog/v1/log");
    g_assert_nonnull(
        strstr(log->body, "prepare tiny --json --activations f32 --weights q4 --cache q8"));
}

static void
test_child_fails(void)
{
    const struct {
        const char *program, *words;
    } ways[] = {{"echo '{\"error\":{\"message\":\"no such thing\"}}'; exit 1", "no such thing"},
                {"echo last words >&2; exit 3", "last words"},
                {"kill -9 $$", "without a word"}};
    for (size_t i = 0; i < G_N_ELEMENTS(ways); i++) {
        g_autofree char *program = make_program(ways[i].program);
        g_autoptr(Harness) harness = start_with_program(program);
        add_prepare(harness);
        wait_for_state(harness, "j1", "failed");
        g_autoptr(Reply) reply = client_get(harness->port, JOBS "/j1");
        g_assert_nonnull(strstr(reply->body, ways[i].words));
    }
}

static void
test_child_cancelled(void)
{
    g_autofree char *program = make_program("exec sleep 100");
    g_autoptr(Harness) harness = start_with_program(program);
    add_prepare(harness);
    g_autoptr(Reply) fit = client_post(harness->port, JOBS, "{\"kind\":\"fit\",\"core\":\"tiny\"}");
    wait_for_state(harness, "j1", "running");
    wait_for_state(harness, "j2", "queued"); /* one after the other */
    g_autoptr(Reply) cancelled = client_send(harness->port, "DELETE", JOBS "/j1", NULL, NULL);
    g_assert_cmpuint(cancelled->status, ==, 200);
    wait_for_state(harness, "j1", "cancelled");
    wait_for_state(harness, "j2", "running");
}

/* A pull that is to prepare goes on to it. */
static void
test_then_prepare(void)
{
    FileServer *files = file_server_new(MIB);
    g_autofree char *program = make_program("echo '{\"done\":true}'");
    g_autoptr(Harness) harness = start_with_program(program);
    add_pull(harness, files, ",\"then_prepare\":true");
    wait_for_state(harness, "j1", "done");
    wait_for_state(harness, "j2", "done");
    g_autoptr(Reply) reply = client_get(harness->port, JOBS "/j2");
    g_assert_nonnull(strstr(reply->body, "\"model\":\"tiny\""));
    forget_model(harness);
    file_server_free(files);
}

/* Ollama's pull is the same two jobs, told as lines. */
static void
test_ollama_pull(void)
{
    FileServer *files = file_server_new(MIB);
    g_autofree char *program = make_program("echo '{\"done\":true}'");
    g_autoptr(Harness) harness = start_with_program(program);
    g_autofree char *url = file_server_dup_url(files, "Tiny.gguf");
    g_autofree char *body = g_strdup_printf("{\"model\":\"%s\"}", url);
    g_autoptr(Reply) reply = client_post(harness->port, "/api/pull", body);
    g_assert_cmpuint(reply->status, ==, 200);
    g_assert_nonnull(strstr(reply->head, "application/x-ndjson"));
    g_assert_true(g_str_has_prefix(reply->body, "{\"status\":\"pulling manifest\"}\n"));
    g_assert_true(g_str_has_suffix(reply->body, "{\"status\":\"success\"}\n"));
    wait_for_state(harness, "j2", "done");
    /* What is there already is a success at once. */
    g_autofree char *plain = g_strdup_printf("{\"model\":\"%s\",\"stream\":false}", url);
    g_autoptr(Reply) again = client_post(harness->port, "/api/pull", plain);
    g_assert_cmpstr(again->body, ==, "{\"status\":\"success\"}\n");
    forget_model(harness);
    file_server_free(files);
}

/* Listeners hear of the job, and of the library's change. */
static void
test_events(void)
{
    FileServer *files = file_server_new(MIB);
    g_autoptr(Harness) harness = harness_start(NULL);
    g_autoptr(Stream) stream = stream_open(harness->port, "/sundog/v1/events", NULL);
    g_autofree char *first = stream_next(stream);
    g_assert_nonnull(strstr(first, "\"engine\""));
    add_pull(harness, files, "");
    bool is_done = false;
    while (!is_done) {
        g_autofree char *event = stream_next(stream);
        g_assert_nonnull(event);
        is_done = strstr(event, "\"state\":\"done\"") != NULL;
    }
    forget_model(harness);
    file_server_free(files);
}

int
main(int argc, char **argv)
{
    small_disk_init();
    harness_init(&argc, &argv);
    g_test_add_func("/jobs/pause", test_pause);
    g_test_add_func("/jobs/restart", test_restart);
    g_test_add_func("/jobs/full-disk", test_full_disk);
    g_test_add_func("/jobs/failed", test_failed);
    g_test_add_func("/jobs/child", test_child);
    g_test_add_func("/jobs/ollama-pull", test_ollama_pull);
    g_test_add_func("/jobs/child-fails", test_child_fails);
    g_test_add_func("/jobs/child-cancelled", test_child_cancelled);
    g_test_add_func("/jobs/then-prepare", test_then_prepare);
    g_test_add_func("/jobs/events", test_events);
    return g_test_run();
}
