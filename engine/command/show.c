/* sundog show NAME: what is known of a model or a core. */

#include "engine/command/command.h"
#include "engine/command/terminal.h"
#include "engine/format/json.h"
#include "engine/library/library.h"
#include "engine/model/model.h"
#include <stdio.h>

static void
print_row(const char *what, const char *value)
{
    if (value != NULL)
        printf("  %-18s %s\n", what, value);
}

static void
print_number(const char *what, uint64_t value)
{
    printf("  %-18s %" G_GUINT64_FORMAT "\n", what, value);
}

static void
print_size(const char *what, uint64_t n_bytes)
{
    g_autofree char *size = sundog_terminal_dup_size(n_bytes);
    print_row(what, size);
}

static int
show_core(SundogLibrary *library, const SundogLibraryEntry *entry)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(SundogCore) core =
        sundog_core_open(entry->path, sundog_library_get_keyring(library), &error);
    if (core == NULL)
        return sundog_terminal_fail(error);
    if (sundog_command_json) {
        JsonObject *object = json_object_new();
        json_object_set_string_member(object, "kind", "core");
        json_object_set_string_member(object, "path", entry->path);
        json_object_set_int_member(object, "bytes", (gint64)entry->n_bytes);
        json_object_set_object_member(object, "manifest", json_object_ref(entry->info));
        sundog_terminal_print_json(object);
        return SUNDOG_EXIT_OK;
    }
    const SundogCoreInfo *info = sundog_core_get_info(core);
    printf("%s, a core\n", entry->name);
    print_row("path", entry->path);
    print_size("on disk", entry->n_bytes);
    print_row("model", info->model_name);
    print_row("architecture", info->architecture);
    print_row("licence", info->licence);
    print_number("parameters", info->n_parameters);
    print_row("target", info->target);
    print_row("activations", info->activations);
    print_number("context", info->context_length);
    print_size("weights in memory", info->weight_bytes);
    print_size("working memory", sundog_core_measure_arena(core, 0));
    return SUNDOG_EXIT_OK;
}

static int
show_model(const SundogLibraryEntry *entry)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(SundogModel) model = sundog_model_open(entry->path, &error);
    if (model == NULL)
        return sundog_terminal_fail(error);
    const SundogModelDimensions *dimensions = sundog_model_get_dimensions(model);
    if (sundog_command_json) {
        JsonObject *object = json_object_new();
        json_object_set_string_member(object, "kind", "model");
        json_object_set_string_member(object, "path", entry->path);
        json_object_set_int_member(object, "bytes", (gint64)entry->n_bytes);
        json_object_set_string_member(object, "title", dimensions->name);
        json_object_set_string_member(object, "architecture", dimensions->architecture);
        json_object_set_int_member(object, "n_parameters", (gint64)dimensions->n_parameters);
        json_object_set_int_member(object, "context_length", dimensions->context_length);
        sundog_terminal_print_json(object);
        return SUNDOG_EXIT_OK;
    }
    printf("%s, a model\n", entry->name);
    print_row("path", entry->path);
    print_size("on disk", entry->n_bytes);
    print_row("title", dimensions->name);
    print_row("architecture", dimensions->architecture);
    print_row("licence", dimensions->licence);
    print_number("parameters", dimensions->n_parameters);
    print_number("layers", dimensions->n_layers);
    print_number("hidden size", dimensions->hidden_size);
    print_number("heads", dimensions->n_heads);
    print_number("heads of keys", dimensions->n_kv_heads);
    print_number("vocabulary", dimensions->n_vocabulary);
    print_number("context", dimensions->context_length);
    print_row("chat template", sundog_model_get_chat_template(model) != NULL ? "yes" : "none");
    return SUNDOG_EXIT_OK;
}

static int
run(char **words, unsigned n_words)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(SundogLibrary) library = sundog_library_open(&error);
    if (library == NULL)
        return sundog_terminal_fail(error);
    g_autoptr(SundogLibraryEntry) core = sundog_library_find_core(library, words[0], NULL);
    g_autoptr(SundogLibraryEntry) model =
        sundog_library_find_model(library, words[0], core != NULL ? NULL : &error);
    if (core == NULL && model == NULL)
        return sundog_terminal_fail(error);
    int status = SUNDOG_EXIT_OK;
    if (core != NULL)
        status = show_core(library, core);
    if (model != NULL && status == SUNDOG_EXIT_OK && !(core != NULL && sundog_command_json))
        status = show_model(model);
    return status;
}

const SundogCommand sundog_command_show = {
    .name = "show",
    .summary = "show a model or a core",
    .parameters = "NAME",
    .help = "Shows what is known of a model, a core, or both where they share the name: sizes, "
            "licence,\n"
            "context. `sundog inspect` shows a core's programs and memory plan.",
    .has_json = true,
    .min_words = 1,
    .max_words = 1,
    .run = run,
};
