/* The supervisor beside a scripted server: starting, starting again, attaching, replacing a stale one,
 * and giving up with the server's own words. */

#include "app/server/server-address.h"
#include "app/server/supervisor.h"
#include "engine/library/server-file.h"
#include <glib/gstdio.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TIMEOUT_S 60

typedef struct {
    SundogClient *client;
    SundogSupervisor *supervisor;
} Fixture;

static char *
dup_fake_server(void)
{
    return g_build_filename(g_getenv("SUNDOG_SOURCE"), "tests", "app", "fake-server.py", NULL);
}

static void
set_up_program(Fixture *fixture, const char *program)
{
    fixture->client = sundog_client_new();
    fixture->supervisor = sundog_supervisor_new(fixture->client, program);
}

static void
set_up(Fixture *fixture)
{
    g_autofree char *program = dup_fake_server();
    set_up_program(fixture, program);
}

static int
get_server_pid(void)
{
    g_autoptr(SundogServerAddress) address = sundog_server_address_read();
    return address ? address->pid : 0;
}

static void
wait_for_end(int pid)
{
    for (int i = 0; i < TIMEOUT_S * 100 && pid > 0 && kill(pid, 0) == 0; i++) {
        g_main_context_iteration(NULL, FALSE);
        g_usleep(10000);
    }
}

static gboolean
on_timeout(gpointer user_data)
{
    *(bool *)user_data = true;
    return G_SOURCE_REMOVE;
}

static void
wait_for_state(Fixture *fixture, SundogSupervisorState state)
{
    bool timed_out = false;
    unsigned timer = g_timeout_add_seconds(TIMEOUT_S, on_timeout, &timed_out);
    while (sundog_supervisor_get_state(fixture->supervisor) != state && !timed_out)
        g_main_context_iteration(NULL, TRUE);
    g_assert_cmpint(sundog_supervisor_get_state(fixture->supervisor), ==, state);
    g_source_remove(timer);
}

static void
tear_down(Fixture *fixture)
{
    int pid = sundog_supervisor_owns_server(fixture->supervisor) ? get_server_pid() : 0;
    sundog_supervisor_stop(fixture->supervisor);
    wait_for_end(pid);
    wait_for_state(fixture, SUNDOG_SUPERVISOR_STOPPED);
    g_clear_object(&fixture->supervisor);
    g_clear_object(&fixture->client);
}

static void
on_answer(GObject *source, GAsyncResult *result, gpointer user_data)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(JsonNode) answer = sundog_client_call_finish(SUNDOG_CLIENT(source), result, &error);
    g_assert_no_error(error);
    *(bool *)user_data = answer != NULL;
}

static void
assert_reachable(Fixture *fixture)
{
    bool answered = false;
    sundog_client_call_async(fixture->client, "GET", "/health", NULL, NULL, on_answer, &answered);
    while (!answered)
        g_main_context_iteration(NULL, TRUE);
}

static void
test_start_and_restart(void)
{
    Fixture fixture;
    set_up(&fixture);
    sundog_supervisor_start(fixture.supervisor);
    wait_for_state(&fixture, SUNDOG_SUPERVISOR_READY);
    g_assert_true(sundog_supervisor_owns_server(fixture.supervisor));
    assert_reachable(&fixture);
    int first = get_server_pid();
    kill(first, SIGKILL);
    wait_for_state(&fixture, SUNDOG_SUPERVISOR_WAITING);
    g_assert_null(sundog_client_get_address(fixture.client));
    wait_for_state(&fixture, SUNDOG_SUPERVISOR_READY);
    g_assert_cmpint(get_server_pid(), !=, first);
    assert_reachable(&fixture);
    tear_down(&fixture);
}

/* Starts a server as another program would. */
static GSubprocess *
start_other(const char *stamp)
{
    g_autofree char *program = dup_fake_server();
    g_autofree char *options = g_build_filename(g_get_user_config_dir(), "fake-server.json", NULL);
    g_autofree char *text = g_strdup_printf("{\"stamp\": \"%s\"}", stamp);
    g_mkdir_with_parents(g_get_user_config_dir(), 0700);
    g_assert_true(g_file_set_contents(options, text, -1, NULL));
    GSubprocess *other = g_subprocess_new(G_SUBPROCESS_FLAGS_NONE, NULL, program, "serve", NULL);
    g_assert_nonnull(other);
    int pid = atoi(g_subprocess_get_identifier(other));
    for (int i = 0; i < TIMEOUT_S * 100 && get_server_pid() != pid; i++)
        g_usleep(10000);
    g_assert_cmpint(get_server_pid(), ==, pid);
    g_unlink(options);
    return other;
}

static void
test_attach(void)
{
    Fixture fixture;
    g_autofree char *stamp = sundog_server_file_dup_stamp();
    g_autoptr(GSubprocess) other = start_other(stamp);
    int pid = get_server_pid();
    set_up(&fixture);
    sundog_supervisor_start(fixture.supervisor);
    wait_for_state(&fixture, SUNDOG_SUPERVISOR_READY);
    g_assert_false(sundog_supervisor_owns_server(fixture.supervisor));
    assert_reachable(&fixture);
    tear_down(&fixture);
    g_assert_cmpint(kill(pid, 0), ==, 0);
    g_subprocess_force_exit(other);
    g_subprocess_wait(other, NULL, NULL);
}

static void
test_stale(void)
{
    Fixture fixture;
    g_autoptr(GSubprocess) other = start_other("of another time");
    set_up(&fixture);
    sundog_supervisor_start(fixture.supervisor);
    wait_for_state(&fixture, SUNDOG_SUPERVISOR_READY);
    g_assert_true(sundog_supervisor_owns_server(fixture.supervisor));
    g_assert_true(g_subprocess_wait(other, NULL, NULL));
    assert_reachable(&fixture);
    tear_down(&fixture);
}

static char *
make_script(const char *text)
{
    g_autofree char *folder = g_dir_make_tmp("sundog-script-XXXXXX", NULL);
    char *path = g_build_filename(folder, "sundog", NULL);
    g_assert_true(g_file_set_contents(path, text, -1, NULL));
    g_chmod(path, 0700);
    return path;
}

/* A port in use is told only in words, so the second attempt asks for any port at all. */
static void
test_port_in_use(void)
{
    Fixture fixture;
    g_autofree char *server = dup_fake_server();
    g_autofree char *text = g_strdup_printf("#!/bin/sh\n"
                                            "case \"$*\" in *'--port 0'*) exec '%s' \"$@\";; esac\n"
                                            "echo 'port 7410 is in use' >&2; exit 1\n",
                                            server);
    g_autofree char *program = make_script(text);
    set_up_program(&fixture, program);
    sundog_supervisor_start(fixture.supervisor);
    wait_for_state(&fixture, SUNDOG_SUPERVISOR_READY);
    assert_reachable(&fixture);
    tear_down(&fixture);
}

static void
test_failure(void)
{
    Fixture fixture;
    g_autofree char *program = make_script("#!/bin/sh\necho no such luck >&2\nexit 1\n");
    set_up_program(&fixture, program);
    sundog_supervisor_start(fixture.supervisor);
    wait_for_state(&fixture, SUNDOG_SUPERVISOR_FAILED);
    g_assert_cmpstr(sundog_supervisor_get_problem(fixture.supervisor), ==, "no such luck");
    tear_down(&fixture);

    set_up_program(&fixture, "/nonexistent/sundog");
    sundog_supervisor_start(fixture.supervisor);
    wait_for_state(&fixture, SUNDOG_SUPERVISOR_FAILED);
    g_assert_nonnull(strstr(sundog_supervisor_get_problem(fixture.supervisor), "nonexistent"));
    tear_down(&fixture);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/supervisor/start-and-restart", test_start_and_restart);
    g_test_add_func("/supervisor/attach", test_attach);
    g_test_add_func("/supervisor/stale", test_stale);
    g_test_add_func("/supervisor/port-in-use", test_port_in_use);
    g_test_add_func("/supervisor/failure", test_failure);
    return g_test_run();
}
