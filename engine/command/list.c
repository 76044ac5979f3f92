/* sundog list: models and cores on this computer, or what can be fetched. */

#include "engine/command/command.h"
#include "engine/command/terminal.h"
#include "engine/library/catalogue.h"
#include "engine/library/library.h"
#include <stdio.h>

static gboolean available = FALSE;

static const GOptionEntry options[] = {
    {"available", 0, 0, G_OPTION_ARG_NONE, &available, "what can be fetched", NULL},
    {NULL},
};

static JsonObject *
entry_to_json(const SundogLibraryEntry *entry)
{
    JsonObject *object = json_object_new();
    json_object_set_string_member(object, "name", entry->name);
    json_object_set_string_member(object, "path", entry->path);
    json_object_set_int_member(object, "bytes", (gint64)entry->n_bytes);
    json_object_set_boolean_member(object, "damaged", entry->damaged);
    if (entry->problem != NULL)
        json_object_set_string_member(object, "problem", entry->problem);
    return object;
}

static JsonArray *
entries_to_json(GPtrArray *entries)
{
    JsonArray *array = json_array_new();
    for (guint i = 0; i < entries->len; i++)
        json_array_add_object_element(array, entry_to_json(entries->pdata[i]));
    return array;
}

static void
print_entries(const char *title, GPtrArray *entries, const char *none)
{
    printf("%s\n", title);
    if (entries->len == 0)
        printf("  %s\n", none);
    for (guint i = 0; i < entries->len; i++) {
        const SundogLibraryEntry *entry = entries->pdata[i];
        g_autofree char *size = sundog_terminal_dup_size(entry->n_bytes);
        printf("  %-40s %10s%s%s\n", entry->name, size, entry->damaged ? "  damaged: " : "",
               entry->problem != NULL ? entry->problem : "");
    }
}

static int
list_library(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(SundogLibrary) library = sundog_library_open(&error);
    if (library == NULL)
        return sundog_terminal_fail(error);
    g_autofree char *problem = sundog_library_dup_problem(library);
    if (problem != NULL)
        sundog_terminal_note("%s", problem);
    g_autoptr(GPtrArray) models = sundog_library_list_models(library);
    g_autoptr(GPtrArray) cores = sundog_library_list_cores(library);
    if (sundog_command_json) {
        JsonObject *object = json_object_new();
        json_object_set_array_member(object, "models", entries_to_json(models));
        json_object_set_array_member(object, "cores", entries_to_json(cores));
        sundog_terminal_print_json(object);
    } else {
        print_entries("Models", models, "none yet: sundog pull smollm2-135m-instruct");
        print_entries("Cores", cores, "none yet: sundog prepare MODEL");
    }
    return SUNDOG_EXIT_OK;
}

/* "4.9 GB", "about 4.9 GB" where the catalogue does not know the files' sizes, or nothing. */
static char *
dup_size(const SundogCatalogueEntry *entry)
{
    bool is_exact;
    uint64_t n_bytes = sundog_catalogue_entry_get_bytes(entry, &is_exact);
    g_autofree char *size = sundog_terminal_dup_size(n_bytes);
    return n_bytes == 0 ? g_strdup("") : g_strconcat(is_exact ? "" : "about ", size, NULL);
}

static int
list_catalogue(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(SundogCatalogue) catalogue = sundog_catalogue_open(NULL, &error);
    if (catalogue == NULL)
        return sundog_terminal_fail(error);
    JsonArray *array = json_array_new();
    for (uint32_t i = 0; i < sundog_catalogue_get_n_entries(catalogue); i++) {
        const SundogCatalogueEntry *entry = sundog_catalogue_get_entry(catalogue, i);
        json_array_add_object_element(array, json_object_ref(entry->json));
        if (sundog_command_json)
            continue;
        g_autofree char *size = dup_size(entry);
        printf("  %-32s %16s  %s, %s%s%s\n", entry->name, size, entry->title, entry->licence,
               entry->needs != NULL ? "; needs " : "", entry->needs != NULL ? entry->needs : "");
    }
    JsonObject *object = json_object_new();
    json_object_set_array_member(object, "available", array);
    if (sundog_command_json)
        sundog_terminal_print_json(object);
    else
        json_object_unref(object);
    return SUNDOG_EXIT_OK;
}

static int
run(char **words, unsigned n_words)
{
    return available ? list_catalogue() : list_library();
}

const SundogCommand sundog_command_list = {
    .name = "list",
    .summary = "list models and cores",
    .parameters = "[--available]",
    .help = "Lists the models and cores on this computer, or with --available the models of the\n"
            "catalogue that `sundog pull` fetches.",
    .options = options,
    .has_json = true,
    .run = run,
};
