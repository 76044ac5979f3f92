/* sundog serve: the server, in the foreground. */

#include "engine/server/core-text.h"
#include "engine/server/server.h"

#include "engine/command/command.h"
#include "engine/command/library-words.h"
#include "engine/command/terminal.h"
#include <glib-unix.h>
#include <string.h>

#define DRAIN_MS 10000

static char *core = NULL;
static char *draft = NULL;
static char *address = NULL;
static char *key_file = NULL;
static gint port = -1;
static gint parent = 0;

static const GOptionEntry options[] = {
    {"core", 0, 0, G_OPTION_ARG_STRING, &core, "load this core, and answer for every model with it",
     "CORE"},
    {"draft", 0, 0, G_OPTION_ARG_STRING, &draft,
     "let this small core of the same vocabulary guess tokens ahead", "CORE"},
    {"port", 0, 0, G_OPTION_ARG_INT, &port, "port; 0 for any free one (7410)", "N"},
    {"address", 0, 0, G_OPTION_ARG_STRING, &address,
     "address to listen on; any but loopback needs a key (127.0.0.1)", "ADDRESS"},
    {"key-file", 0, 0, G_OPTION_ARG_FILENAME, &key_file,
     "file with the API key that clients must send", "FILE"},
    {"parent", 0, 0, G_OPTION_ARG_INT, &parent, "end when this process has ended", "PID"},
    {NULL},
};

typedef struct {
    GMainLoop *loop;
    SundogServer *server;
    bool stopping;
} Serving;

static void
on_stopped(void *data)
{
    Serving *serving = data;
    g_main_loop_quit(serving->loop);
}

/* The first signal lets running answers end; the second does not wait for them. */
static gboolean
on_signal(gpointer data)
{
    Serving *serving = data;
    if (!serving->stopping)
        sundog_terminal_note("Stopping; once more stops at once.");
    sundog_server_stop(serving->server, serving->stopping ? 0 : DRAIN_MS);
    serving->stopping = true;
    return G_SOURCE_CONTINUE;
}

static char *
read_key(GError **error)
{
    char *key = NULL;
    if (key_file == NULL || !g_file_get_contents(key_file, &key, NULL, error))
        return NULL;
    return g_strstrip(key);
}

static SundogCoreText *
open_text(SundogLibrary *library, const char *name, GError **error)
{
    g_autoptr(SundogLibraryEntry) entry = sundog_words_find_core(library, name, error);
    return entry != NULL ? sundog_core_text_open(entry, sundog_library_get_keyring(library), error)
                         : NULL;
}

/* Names are looked up first, so that a wrong one is told before anything listens, and a small core that
 * cannot draft for the large one. */
static bool
check_cores(GError **error)
{
    if (core == NULL && draft == NULL)
        return true;
    g_autoptr(SundogLibrary) library = sundog_library_open(error);
    if (library == NULL)
        return false;
    g_autoptr(SundogCoreText) large = core != NULL ? open_text(library, core, error) : NULL;
    if (core != NULL && large == NULL)
        return false;
    g_autoptr(SundogCoreText) small = draft != NULL ? open_text(library, draft, error) : NULL;
    if (draft != NULL && small == NULL)
        return false;
    return large == NULL || small == NULL || sundog_core_text_set_draft(large, small, error);
}

static bool
serve(const char *key, GError **error)
{
    Serving serving = {.loop = g_main_loop_new(NULL, FALSE)};
    SundogServerOptions server_options = {.core = core,
                                          .draft = draft,
                                          .port = port,
                                          .address = address,
                                          .key = key,
                                          .parent = parent,
                                          .stopped = on_stopped,
                                          .data = &serving};
    serving.server = sundog_server_start(&server_options, error);
    if (serving.server != NULL) {
        g_unix_signal_add(SIGINT, on_signal, &serving);
        g_unix_signal_add(SIGTERM, on_signal, &serving);
        sundog_terminal_note("Serving on http://%s:%u/v1",
                             sundog_server_get_address(serving.server),
                             sundog_server_get_port(serving.server));
        g_main_loop_run(serving.loop);
    }
    bool good = serving.server != NULL;
    sundog_server_free(serving.server);
    g_main_loop_unref(serving.loop);
    return good;
}

static int
run(char **words, unsigned n_words)
{
    if (port < -1 || port > 65535 || parent < 0) {
        sundog_terminal_error("--port is 0 to 65535 and --parent a process");
        return SUNDOG_EXIT_USAGE;
    }
    g_autoptr(GError) error = NULL;
    g_autofree char *key = read_key(&error);
    if (error != NULL || !check_cores(&error) || !serve(key, &error))
        return sundog_terminal_fail(error);
    return SUNDOG_EXIT_OK;
}

const SundogCommand sundog_command_serve = {
    .name = "serve",
    .summary = "answer other programs over HTTP",
    .parameters = "[--core CORE] [--draft CORE] [--port N]",
    .help =
        "Runs the server until Ctrl+C: OpenAI's chat and completion API for every program on this\n"
        "machine, at http://127.0.0.1:7410/v1 unless configured otherwise.\n\n"
        "  sundog serve --core smollm2-135m-instruct\n"
        "  curl http://127.0.0.1:7410/v1/models",
    .options = options,
    .run = run,
};
