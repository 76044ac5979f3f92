/* sundog status: whether a server runs and what it does. */

#include "engine/command/command.h"
#include "engine/command/server-client.h"
#include "engine/command/terminal.h"
#include <stdio.h>

static void
print_state(JsonObject *state)
{
    printf("Serving on http://%s:%d/v1 (process %d)\n",
           json_object_get_string_member_with_default(state, "address", "127.0.0.1"),
           (int)json_object_get_int_member_with_default(state, "port", 0),
           (int)json_object_get_int_member_with_default(state, "pid", 0));
    JsonObject *engine = json_object_has_member(state, "engine")
                             ? json_object_get_object_member(state, "engine")
                             : NULL;
    if (engine == NULL)
        return;
    const char *name = json_object_get_string_member_with_default(engine, "core", NULL);
    printf("Core: %s, %s\n", name != NULL ? name : "none loaded",
           json_object_get_string_member_with_default(engine, "state", "unknown"));
    const char *device = json_object_get_string_member_with_default(state, "device", NULL);
    if (device != NULL)
        printf("Runs on %s\n", device);
}

static int
run(char **words, unsigned n_words)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(JsonObject) server = sundog_server_client_find(&error);
    g_autoptr(JsonObject) state =
        server != NULL ? sundog_server_client_ask(server, "GET", "/sundog/v1/state", NULL, &error)
                       : NULL;
    if (state == NULL)
        return sundog_terminal_fail(error);
    if (sundog_command_json)
        sundog_terminal_print_json(json_object_ref(state));
    else
        print_state(state);
    return SUNDOG_EXIT_OK;
}

const SundogCommand sundog_command_status = {
    .name = "status",
    .summary = "tell whether a server runs",
    .parameters = "",
    .help = "Tells the server's address, its core and what that runs on. The exit status is 1 "
            "where no\n"
            "server runs.",
    .has_json = true,
    .run = run,
};
