/* sundog status: whether a server runs and what it does. */

#include "engine/command/command.h"
#include "engine/command/server-client.h"
#include "engine/command/terminal.h"
#include <stdio.h>

static void
print_engine(JsonObject *engine)
{
    int64_t n_bytes = json_object_get_int_member_with_default(engine, "memory_bytes", 0);
    g_autofree char *size = n_bytes > 0 ? sundog_terminal_dup_size((uint64_t)n_bytes) : NULL;
    printf("Core: %s, %s%s%s\n",
           json_object_get_string_member_with_default(engine, "core", "unknown"),
           json_object_get_string_member_with_default(engine, "state", "unknown"),
           size != NULL ? ", " : "", size != NULL ? size : "");
    const char *device = json_object_get_string_member_with_default(engine, "device", NULL);
    if (device != NULL)
        printf("  runs on %s\n", device);
    const char *draft = json_object_get_string_member_with_default(engine, "draft", NULL);
    if (draft != NULL)
        printf("  %s guesses tokens ahead\n", draft);
}

static void
print_state(JsonObject *state)
{
    printf("Serving on http://%s:%d/v1 (process %d)\n",
           json_object_get_string_member_with_default(state, "address", "127.0.0.1"),
           (int)json_object_get_int_member_with_default(state, "port", 0),
           (int)json_object_get_int_member_with_default(state, "pid", 0));
    JsonArray *engines = json_object_has_member(state, "engines")
                             ? json_object_get_array_member(state, "engines")
                             : NULL;
    for (unsigned i = 0; engines != NULL && i < json_array_get_length(engines); i++)
        print_engine(json_array_get_object_element(engines, i));
    if (engines == NULL || json_array_get_length(engines) == 0)
        puts("Core: none loaded");
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
    .help = "Tells the server's address, its cores and what they run on. The exit status is 1 "
            "where no\n"
            "server runs.",
    .has_json = true,
    .run = run,
};
