/* The program `schemathesis` against /openapi.json of a server with a scripted engine: whatever it makes up,
 * right or wrong, no answer is a 5xx, and each has the status, the type and the members that the
 * description tells. It does the same each time, and its examples are few. */

#include "tests/server/fixture.h"

#include <string.h>

/* Routes that end the server or its engine, delete the core, stream for ever, start programs, or say 501
 * whatever they are asked. */
static const char *const left_out[] = {"POST /sundog/v1/unload", "POST /sundog/v1/stop",
                                       "GET /sundog/v1/events",  "POST /sundog/v1/jobs",
                                       "POST /api/pull",         "POST /api/create",
                                       "POST /api/push"};

static void
test_all(Fixture *fixture, gconstpointer data)
{
    g_autofree char *program = g_find_program_in_path("schemathesis");
    if (!program) {
        g_test_skip("the program schemathesis is not installed");
        return;
    }
    g_autofree char *url = g_strdup_printf("http://127.0.0.1:%u", fixture->harness->port);
    g_autofree char *description = g_strconcat(url, "/openapi.json", NULL);
    const char *const options[] = {
        program,
        "run",
        description,
        "--url",
        url,
        "--phases",
        "coverage,fuzzing",
        "--max-examples",
        "20",
        "--generation-deterministic",
        "--no-color",
        "--no-shrink",
        "--request-timeout",
        "60",
        "--warnings",
        "off",
        "--checks",
        "not_a_server_error,content_type_conformance,response_schema_conformance,"
        "status_code_conformance"};
    g_autoptr(GPtrArray) words = g_ptr_array_new();
    for (size_t i = 0; i < G_N_ELEMENTS(options); i++)
        g_ptr_array_add(words, (char *)options[i]);
    for (size_t i = 0; i < G_N_ELEMENTS(left_out); i++) {
        g_ptr_array_add(words, (char *)"--exclude-name");
        g_ptr_array_add(words, (char *)left_out[i]);
    }
    g_ptr_array_add(words, NULL);
    /* It leaves files where it runs. */
    g_autoptr(GSubprocessLauncher) launcher =
        g_subprocess_launcher_new(G_SUBPROCESS_FLAGS_STDOUT_PIPE | G_SUBPROCESS_FLAGS_STDERR_MERGE);
    g_subprocess_launcher_set_cwd(launcher, g_get_home_dir());
    g_autoptr(GSubprocess) process =
        g_subprocess_launcher_spawnv(launcher, (const char *const *)words->pdata, NULL);
    g_assert_nonnull(process);
    g_autofree char *output = NULL;
    g_subprocess_communicate_utf8(process, NULL, NULL, &output, NULL, NULL);
    g_auto(GStrv) lines = g_strsplit(output ? output : "", "\n", -1);
    for (char **line = lines; *line; line++)
        g_test_message("%s", *line);
    g_assert_true(g_subprocess_get_successful(process));
    g_autofree char *body = harness_dup_chat("Hi", NULL);
    g_autoptr(Reply) after = client_post(fixture->harness->port, "/v1/chat/completions", body);
    g_assert_cmpuint(after->status, ==, 200);
}

int
main(int argc, char **argv)
{
    harness_init(&argc, &argv);
    fixture_add("/schemathesis/all", test_all);
    return g_test_run();
}
