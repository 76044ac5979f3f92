/* sundog rm NAME: removes a model or a core. */

#include "engine/command/command.h"
#include "engine/command/library-words.h"
#include "engine/command/terminal.h"
#include <string.h>

static gboolean yes = FALSE;
static gboolean only_core = FALSE;
static gboolean only_model = FALSE;

static const GOptionEntry options[] = {
    {"yes", 0, 0, G_OPTION_ARG_NONE, &yes, "do not ask", NULL},
    {"core", 0, 0, G_OPTION_ARG_NONE, &only_core, "the core, not the model of the same name", NULL},
    {"model", 0, 0, G_OPTION_ARG_NONE, &only_model, "the model, not the core of the same name",
     NULL},
    {NULL},
};

/* What the name means, or NULL with an error where it means nothing or two things. */
static SundogLibraryEntry *
find_entry(SundogLibrary *library, const char *name, bool *is_core, GError **error)
{
    g_autoptr(GError) core_error = NULL;
    g_autoptr(SundogLibraryEntry) core =
        only_model ? NULL : sundog_library_find_core(library, name, &core_error);
    g_autoptr(SundogLibraryEntry) model =
        only_core ? NULL : sundog_library_find_model(library, name, core_error ? NULL : error);
    if (core != NULL && model != NULL) {
        g_set_error(error, SUNDOG_LIBRARY_ERROR, SUNDOG_LIBRARY_ERROR_INVALID,
                    "%s is a model and a core: say --model or --core", name);
        return NULL;
    }
    *is_core = core != NULL;
    if (core != NULL || model != NULL) {
        g_clear_error(error);
        return core != NULL ? g_steal_pointer(&core) : g_steal_pointer(&model);
    }
    if (core_error != NULL)
        g_propagate_error(error, g_steal_pointer(&core_error));
    return NULL;
}

static bool
agreed(const SundogLibraryEntry *entry, bool is_core)
{
    g_autofree char *size = sundog_terminal_dup_size(entry->n_bytes);
    return yes || sundog_terminal_confirm(
                      "Remove the %s %s, %s? %s", is_core ? "core" : "model", entry->name, size,
                      is_core ? "Its model stays." : "Cores made of it stay and go on working.");
}

static int
run(char **words, unsigned n_words)
{
    g_autoptr(GError) error = NULL;
    bool is_core = false;
    g_autoptr(SundogLibrary) library = sundog_library_open(&error);
    g_autoptr(SundogLibraryEntry) entry =
        library != NULL ? find_entry(library, words[0], &is_core, &error) : NULL;
    if (entry == NULL)
        return sundog_terminal_fail(error);
    if (!agreed(entry, is_core)) {
        sundog_terminal_error("Nothing was removed. --yes removes without asking.");
        return SUNDOG_EXIT_FAILED;
    }
    uint64_t n_bytes = 0;
    if (!sundog_library_remove(library, entry, &n_bytes, &error))
        return sundog_terminal_fail(error);
    if (sundog_command_json) {
        JsonObject *object = json_object_new();
        json_object_set_string_member(object, "name", entry->name);
        json_object_set_int_member(object, "bytes_freed", (gint64)n_bytes);
        sundog_terminal_print_json(object);
    } else {
        g_autofree char *size = sundog_terminal_dup_size(n_bytes);
        sundog_terminal_note("Removed %s; %s are free again.", entry->name, size);
    }
    return SUNDOG_EXIT_OK;
}

const SundogCommand sundog_command_rm = {
    .name = "rm",
    .summary = "remove a model or a core",
    .parameters = "NAME",
    .help =
        "Removes a model or a core from the library, after saying what goes and how many bytes\n"
        "come back.",
    .options = options,
    .has_json = true,
    .min_words = 1,
    .max_words = 1,
    .run = run,
};
