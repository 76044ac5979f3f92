/* One server a test. */

#include "tests/server/fixture.h"

const char fixture_script[] = "{\"ready\":{\"n_vocabulary\":259,\"context_length\":64},"
                              " \"requests\":[{\"tokens\":[72,101,108,108,111]}]}";

static void
set_up(Fixture *fixture, gconstpointer data)
{
    harness_make_core("tiny", fixture_script);
    fixture->harness = harness_start("tiny");
    harness_wait_ready(fixture->harness);
}

static void
tear_down(Fixture *fixture, gconstpointer data)
{
    harness_stop(fixture->harness);
}

void
fixture_add(const char *path, void (*test)(Fixture *fixture, const void *data))
{
    g_test_add(path, Fixture, NULL, set_up, test, tear_down);
}
