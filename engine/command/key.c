/* sundog key add|list|rm: keys of clients, each with a name and limits. */

#include "engine/library/api-keys.h"

#include "engine/command/command.h"
#include "engine/command/terminal.h"
#include "engine/library/config.h"
#include <stdio.h>
#include <string.h>

static gboolean yes = FALSE;
static int64_t n_requests = 0;
static int64_t n_tokens = 0;
static int64_t n_concurrent = 0;
static char *models = NULL;

static const GOptionEntry options[] = {
    {"requests", 0, 0, G_OPTION_ARG_INT64, &n_requests, "of add: requests a minute", "N"},
    {"tokens", 0, 0, G_OPTION_ARG_INT64, &n_tokens,
     "of add: tokens a minute, of prompts and answers", "N"},
    {"concurrent", 0, 0, G_OPTION_ARG_INT64, &n_concurrent, "of add: requests at a time", "N"},
    {"models", 0, 0, G_OPTION_ARG_STRING, &models, "of add: cores it may use, by comma", "NAMES"},
    {"yes", 0, 0, G_OPTION_ARG_NONE, &yes, "of rm: do not ask", NULL},
    {NULL},
};

/* Where clients have keys, whoever has none is kept out: the app and this command need the owner's. */
static bool
need_owner_key(bool *is_made, GError **error)
{
    g_autoptr(SundogConfig) config = sundog_config_open(error);
    if (config == NULL)
        return false;
    if (*sundog_config_get_text(config, "server.key"))
        return true;
    g_autofree char *key = sundog_api_keys_dup_random(error);
    *is_made = key != NULL && sundog_config_set(config, "server.key", key, error);
    return *is_made;
}

static int
add(const char *name)
{
    g_autoptr(GError) error = NULL;
    bool is_made = false;
    if (n_requests < 0 || n_tokens < 0 || n_concurrent < 0) {
        sundog_terminal_error("A limit is a number from 1 on; leave it out for none.");
        return SUNDOG_EXIT_USAGE;
    }
    g_auto(GStrv) allowed = models != NULL ? g_strsplit(models, ",", -1) : NULL;
    SundogApiKey limits = {.name = (char *)name,
                           .requests_per_minute = n_requests,
                           .tokens_per_minute = n_tokens,
                           .concurrent_requests = n_concurrent,
                           .models = allowed};
    if (!need_owner_key(&is_made, &error))
        return sundog_terminal_fail(error);
    g_autofree char *secret = sundog_api_keys_add(&limits, &error);
    if (secret == NULL)
        return sundog_terminal_fail(error);
    if (sundog_command_json) {
        JsonObject *object = json_object_new();
        json_object_set_string_member(object, "name", name);
        json_object_set_string_member(object, "key", secret);
        sundog_terminal_print_json(object);
        return SUNDOG_EXIT_OK;
    }
    puts(secret);
    sundog_terminal_note("This is the key of %s. It is not shown again.", name);
    if (is_made)
        sundog_terminal_note("From now on every client needs a key; this computer's own programs "
                             "use server.key, which was made for them.");
    return SUNDOG_EXIT_OK;
}

static void
append_limit(GString *text, int64_t limit, const char *unit)
{
    if (limit > 0)
        g_string_append_printf(text, "%s%" G_GINT64_FORMAT " %s", text->len > 0 ? ", " : "", limit,
                               unit);
}

static void
print_key(const SundogApiKey *key)
{
    g_autofree char *allowed = g_strjoinv(", ", key->models);
    g_autoptr(GString) limits = g_string_new(NULL);
    append_limit(limits, key->requests_per_minute, "requests a minute");
    append_limit(limits, key->tokens_per_minute, "tokens a minute");
    append_limit(limits, key->concurrent_requests, "requests at a time");
    printf("%-20s %.10s  %s; %s\n", key->name, key->created, *allowed ? allowed : "all models",
           limits->len > 0 ? limits->str : "no limits");
}

static int
list(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(SundogApiKeys) keys = sundog_api_keys_open(&error);
    if (keys == NULL)
        return sundog_terminal_fail(error);
    const GPtrArray *all = sundog_api_keys_get_all(keys);
    if (sundog_command_json) {
        JsonArray *array = json_array_new();
        for (unsigned i = 0; i < all->len; i++)
            json_array_add_object_element(array, sundog_api_key_describe(all->pdata[i]));
        JsonObject *object = json_object_new();
        json_object_set_array_member(object, "keys", array);
        sundog_terminal_print_json(object);
        return SUNDOG_EXIT_OK;
    }
    for (unsigned i = 0; i < all->len; i++)
        print_key(all->pdata[i]);
    if (all->len == 0)
        sundog_terminal_note("There are no keys of clients. `sundog key add NAME` makes one.");
    return SUNDOG_EXIT_OK;
}

static int
remove_key(const char *name)
{
    g_autoptr(GError) error = NULL;
    if (!yes &&
        !sundog_terminal_confirm("Remove the key %s? Who uses it is refused from then on.", name)) {
        sundog_terminal_error("Nothing was removed. --yes removes without asking.");
        return SUNDOG_EXIT_FAILED;
    }
    if (!sundog_api_keys_remove(name, &error))
        return sundog_terminal_fail(error);
    if (sundog_command_json) {
        JsonObject *object = json_object_new();
        json_object_set_string_member(object, "name", name);
        sundog_terminal_print_json(object);
    } else {
        sundog_terminal_note("Removed the key %s.", name);
    }
    return SUNDOG_EXIT_OK;
}

static int
run(char **words, unsigned n_words)
{
    const char *what = words[0];
    if (strcmp(what, "list") == 0 && n_words == 1)
        return list();
    if (strcmp(what, "add") == 0 && n_words == 2)
        return add(words[1]);
    if (strcmp(what, "rm") == 0 && n_words == 2)
        return remove_key(words[1]);
    sundog_terminal_error("It is: sundog key add NAME, sundog key list, or sundog key rm NAME.");
    return SUNDOG_EXIT_USAGE;
}

const SundogCommand sundog_command_key = {
    .name = "key",
    .summary = "give clients keys with limits",
    .parameters = "add|list|rm [NAME]",
    .help =
        "Makes, lists and removes keys that clients of the server send. Each has a name, which\n"
        "stands beside its requests, and may have limits. A running server knows of it at once.\n"
        "Such a key asks for answers; settings, models and cores stay the owner's.\n\n"
        "  sundog key add editor --requests 60 --tokens 100000 --concurrent 2\n"
        "  sundog key add guest --models smollm2-135m-instruct\n"
        "  sundog key rm guest",
    .options = options,
    .has_json = true,
    .min_words = 1,
    .max_words = 2,
    .run = run,
};
