/* sundog config [KEY [VALUE]]: settings of server and engine. */

#include "engine/library/config.h"

#include "engine/command/command.h"
#include "engine/command/terminal.h"
#include "engine/library/paths.h"
#include <stdio.h>
#include <string.h>

static gboolean unset = FALSE;

static const GOptionEntry options[] = {
    {"unset", 0, 0, G_OPTION_ARG_NONE, &unset, "put KEY back to its default", NULL},
    {NULL},
};

/* What a person is shown of a setting's value; a secret is only said to be there. */
static char *
dup_shown(JsonObject *setting)
{
    JsonNode *value = json_object_get_member(setting, "value");
    if (!JSON_NODE_HOLDS_NULL(value))
        return json_node_get_value_type(value) == G_TYPE_STRING
                   ? g_strdup_printf("\"%s\"", json_node_get_string(value))
                   : json_to_string(value, FALSE);
    bool is_set = json_object_get_boolean_member_with_default(setting, "is_set", FALSE);
    return g_strdup(is_set ? "(set, not shown)" : "(not set)");
}

static void
print_all(JsonArray *settings)
{
    printf("%s, version %d\n\n", sundog_paths_get_config_file(), SUNDOG_CONFIG_VERSION);
    for (unsigned i = 0; i < json_array_get_length(settings); i++) {
        JsonObject *setting = json_array_get_object_element(settings, i);
        g_autofree char *shown = dup_shown(setting);
        printf("  %-20s %-18s %s\n", json_object_get_string_member(setting, "key"), shown,
               json_object_get_string_member(setting, "meaning"));
    }
    printf("\nChange one with `sundog config KEY VALUE`. A running server takes it when it is "
           "started again.\n");
}

static JsonObject *
find_setting(JsonArray *settings, const char *key)
{
    for (unsigned i = 0; i < json_array_get_length(settings); i++) {
        JsonObject *setting = json_array_get_object_element(settings, i);
        if (strcmp(json_object_get_string_member(setting, "key"), key) == 0)
            return setting;
    }
    return NULL;
}

static int
print_one(JsonArray *settings, const char *key)
{
    JsonObject *setting = find_setting(settings, key);
    if (setting == NULL) {
        sundog_terminal_error("There is no setting \"%s\". `sundog config` lists them.", key);
        return SUNDOG_EXIT_FAILED;
    }
    if (sundog_command_json) {
        sundog_terminal_print_json(json_object_ref(setting));
        return SUNDOG_EXIT_OK;
    }
    JsonNode *value = json_object_get_member(setting, "value");
    g_autofree char *shown = dup_shown(setting);
    puts(json_node_get_value_type(value) == G_TYPE_STRING ? json_node_get_string(value) : shown);
    return SUNDOG_EXIT_OK;
}

static int
print_settings(const SundogConfig *config, const char *key)
{
    g_autoptr(JsonNode) node = sundog_config_describe(config);
    JsonArray *settings = json_node_get_array(node);
    if (key != NULL)
        return print_one(settings, key);
    if (!sundog_command_json) {
        print_all(settings);
        return SUNDOG_EXIT_OK;
    }
    JsonObject *object = json_object_new();
    json_object_set_int_member(object, "version", SUNDOG_CONFIG_VERSION);
    json_object_set_string_member(object, "path", sundog_paths_get_config_file());
    json_object_set_array_member(object, "settings", json_array_ref(settings));
    sundog_terminal_print_json(object);
    return SUNDOG_EXIT_OK;
}

static int
run(char **words, unsigned n_words)
{
    g_autoptr(GError) error = NULL;
    if (unset && n_words != 1) {
        sundog_terminal_error("--unset takes one KEY and no value: sundog config --unset KEY");
        return SUNDOG_EXIT_USAGE;
    }
    g_autoptr(SundogConfig) config = sundog_config_open(&error);
    if (config == NULL)
        return sundog_terminal_fail(error);
    if (n_words < 2 && !unset)
        return print_settings(config, words[0]);
    if (!sundog_config_set(config, words[0], unset ? NULL : words[1], &error))
        return sundog_terminal_fail(error);
    return print_settings(config, words[0]);
}

const SundogCommand sundog_command_config = {
    .name = "config",
    .summary = "show and change settings",
    .parameters = "[KEY [VALUE]]",
    .help = "Shows all settings, one, or changes one. Values are checked before they are kept.\n\n"
            "  sundog config\n"
            "  sundog config engine.threads 4\n"
            "  sundog config --unset engine.threads",
    .options = options,
    .has_json = true,
    .max_words = 2,
    .run = run,
};
