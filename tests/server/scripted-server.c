/*
 * The server with a scripted engine, as a process of its own for drivers in other languages:
 *
 *     tests/isolate scripted-server ENGINE [SCRIPT]
 *
 * makes the core "tiny" with this script (JSON, see tests/wire/scripted-engine.c), prints a line "port N" once it
 * is ready, and serves until its standard input ends.
 */

#include "tests/server/harness.h"

#include <stdio.h>

int
main(int argc, char **argv)
{
    const char *script = argc > 2 ? argv[2] : "{\"ready\":{\"n_vocabulary\":128}}";
    argc = MIN(argc, 2);
    harness_init(&argc, &argv);
    harness_make_core("tiny", script);
    g_autoptr(Harness) harness = harness_start("tiny");
    harness_wait_ready(harness);
    printf("port %d\n", harness->port);
    fflush(stdout);
    while (getchar() != EOF) {
    }
    return 0;
}
