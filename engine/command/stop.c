/* sundog stop: ends the running server and waits until it has ended. */

#include "engine/command/command.h"
#include "engine/command/server-client.h"
#include "engine/command/terminal.h"
#include "engine/library/server-file.h"

/* The server lets answers end for ten seconds; this is that and some more. */
#define WAIT_MS 20000
#define LOOK_MS 20

static bool
wait_for_end(GError **error)
{
    for (int waited = 0; waited < WAIT_MS; waited += LOOK_MS) {
        g_autoptr(JsonObject) server = sundog_server_file_read();
        if (server == NULL)
            return true;
        g_usleep(LOOK_MS * 1000);
    }
    g_set_error(error, G_IO_ERROR, G_IO_ERROR_TIMED_OUT,
                "the server has not ended within %d s: look at `sundog status`", WAIT_MS / 1000);
    return false;
}

static int
run(char **words, unsigned n_words)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(JsonObject) server = sundog_server_client_find(&error);
    if (server == NULL)
        return sundog_terminal_fail(error);
    g_autoptr(JsonObject) body = json_object_new();
    g_autoptr(JsonObject) answer =
        sundog_server_client_ask(server, "POST", "/sundog/v1/stop", body, &error);
    if (answer == NULL || !wait_for_end(&error))
        return sundog_terminal_fail(error);
    sundog_terminal_note("The server has ended.");
    return SUNDOG_EXIT_OK;
}

const SundogCommand sundog_command_stop = {
    .name = "stop",
    .summary = "end the running server",
    .parameters = "",
    .help = "Ends the running server: no new requests, running answers have ten seconds, then the "
            "engine\n"
            "gives back its memory.",
    .has_json = true,
    .run = run,
};
