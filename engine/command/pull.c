/* sundog pull NAME|URL: fetches a model into the library. */

#include "engine/library/pull.h"

#include "engine/command/command.h"
#include "engine/command/interrupt.h"
#include "engine/command/terminal.h"
#include "engine/library/config.h"

static char *from = NULL;
static char *name = NULL;
static gint tries = 0;

static const GOptionEntry options[] = {
    {"from", 0, 0, G_OPTION_ARG_FILENAME, &from,
     "take the bytes from this file; size and hash are checked", "FILE"},
    {"name", 0, 0, G_OPTION_ARG_STRING, &name, "name in the library", "NAME"},
    {"tries", 0, 0, G_OPTION_ARG_INT, &tries, "give up after so many tries without a byte (8)",
     "N"},
    {NULL},
};

typedef struct {
    GMainLoop *loop;
    char *name;
    GError *error;
} Pull;

static void
on_progress(const SundogPullProgress *progress, void *data)
{
    double fraction = progress->n_bytes_total > 0
                          ? (double)progress->n_bytes_done / (double)progress->n_bytes_total
                          : 0;
    g_autofree char *done = sundog_terminal_dup_size(progress->n_bytes_done);
    g_autofree char *rate = sundog_terminal_dup_size((uint64_t)progress->bytes_per_second);
    g_autofree char *what = NULL;
    switch (progress->phase) {
    case SUNDOG_PULL_CONNECTING:
        what = g_strdup("Connecting");
        break;
    case SUNDOG_PULL_WAITING:
        sundog_terminal_note("%s", progress->detail ? progress->detail : "waiting for the network");
        return;
    case SUNDOG_PULL_CHECKING:
        what = g_strdup("Checking");
        break;
    default:
        what = g_strdup_printf("%s, %s/s,", done, rate);
        break;
    }
    sundog_terminal_progress(progress->phase == SUNDOG_PULL_CHECKING ? "checking" : "transfer",
                             what, fraction);
}

static void
on_pulled(GObject *source, GAsyncResult *result, gpointer data)
{
    Pull *pull = data;
    pull->name = sundog_pull_finish(NULL, result, &pull->error);
    g_main_loop_quit(pull->loop);
}

static void
tell_done(const char *pulled)
{
    if (!sundog_command_json) {
        sundog_terminal_note("%s is on this computer. Next: sundog prepare %s", pulled, pulled);
        return;
    }
    JsonObject *object = json_object_new();
    json_object_set_boolean_member(object, "done", TRUE);
    json_object_set_string_member(object, "name", pulled);
    sundog_terminal_print_json(object);
}

static int
run(char **words, unsigned n_words)
{
    if (tries < 0) {
        sundog_terminal_error("--tries is at least 1");
        return SUNDOG_EXIT_USAGE;
    }
    g_autoptr(GError) error = NULL;
    g_autoptr(SundogLibrary) library = sundog_library_open(&error);
    g_autoptr(SundogCatalogue) catalogue = library ? sundog_catalogue_open(NULL, &error) : NULL;
    g_autoptr(SundogConfig) config = catalogue ? sundog_config_open(&error) : NULL;
    if (config == NULL)
        return sundog_terminal_fail(error);
    const char *token = sundog_config_get_text(config, "library.token");
    SundogPullOptions pull_options = {
        .source = words[0],
        .from = from,
        .name = name,
        .token = *token != '\0' ? token : NULL,
        .max_tries = (unsigned)tries,
        .progress = on_progress,
    };
    Pull pull = {.loop = g_main_loop_new(NULL, FALSE)};
    sundog_pull_async(library, catalogue, &pull_options, sundog_interrupt_get_cancellable(),
                      on_pulled, &pull);
    g_main_loop_run(pull.loop);
    g_main_loop_unref(pull.loop);
    sundog_terminal_progress_end();
    g_autofree char *pulled = pull.name;
    error = pull.error;
    if (pulled == NULL)
        return sundog_terminal_fail(error);
    tell_done(pulled);
    return SUNDOG_EXIT_OK;
}

const SundogCommand sundog_command_pull = {
    .name = "pull",
    .summary = "fetch a model into the library",
    .parameters = "NAME|URL [--from FILE]",
    .help =
        "Fetches a model of the catalogue (`sundog list --available`) or from an URL: that of a\n"
        "GGUF file, or of a repository of safetensors (https://HOST/OWNER/NAME). What was\n"
        "fetched stays when it is stopped; run again, it goes on from there. Size and hash are\n"
        "checked. With --from, the bytes come from a file that is already here.\n\n"
        "  sundog pull smollm2-135m-instruct",
    .options = options,
    .has_json = true,
    .min_words = 1,
    .max_words = 1,
    .run = run,
};
