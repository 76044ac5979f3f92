/* The table of commands, and the way from arguments to one of them. */

#include "engine/command/command.h"

#include "engine/command/terminal.h"
#include <stdio.h>
#include <string.h>

gboolean sundog_command_json = FALSE;

const SundogCommand *const *
sundog_commands(void)
{
    static const SundogCommand *const commands[] = {
#define X(name) &sundog_command_##name,
        SUNDOG_COMMANDS(X)
#undef X
            NULL};
    return commands;
}

const SundogCommand *
sundog_command_find(const char *name)
{
    for (const SundogCommand *const *command = sundog_commands(); *command != NULL; command++)
        if (strcmp((*command)->name, name) == 0)
            return *command;
    return NULL;
}

static char *
dup_help_of_all(void)
{
    GString *text = g_string_new("Sundog runs language models on this machine.\n\n"
                                 "  sundog COMMAND [WORDS] [OPTIONS]\n\nCommands:\n");
    for (const SundogCommand *const *command = sundog_commands(); *command != NULL; command++)
        g_string_append_printf(text, "  %-11s %s\n", (*command)->name, (*command)->summary);
    g_string_append(text, "\nThe first steps:\n"
                          "  sundog pull smollm2-135m-instruct\n"
                          "  sundog prepare smollm2-135m-instruct\n"
                          "  sundog run smollm2-135m-instruct -p \"What is a sundog?\"\n\n"
                          "`sundog COMMAND --help` tells more of one command.\n");
    return g_string_free(text, FALSE);
}

static GOptionContext *
new_context(const SundogCommand *command)
{
    const GOptionEntry json[] = {
        {"json", 0, 0, G_OPTION_ARG_NONE, &sundog_command_json, "print JSON, for programs", NULL},
        {NULL}};
    GOptionContext *context = g_option_context_new(NULL);
    g_option_context_set_help_enabled(context, FALSE);
    if (command->options != NULL)
        g_option_context_add_main_entries(context, command->options, NULL);
    if (command->has_json)
        g_option_context_add_main_entries(context, json, NULL);
    return context;
}

/* The options as GLib lists them, without the line of usage that it puts first. */
static void
append_options(GString *text, const SundogCommand *command)
{
    GOptionContext *context = new_context(command);
    g_autofree char *listed = g_option_context_get_help(context, TRUE, NULL);
    g_option_context_free(context);
    const char *options = strstr(listed, "\n  -");
    if (options != NULL)
        g_string_append_printf(text, "\nOptions:%s", options);
}

char *
sundog_command_dup_help(const SundogCommand *command)
{
    if (command == NULL)
        return dup_help_of_all();
    GString *text = g_string_new(NULL);
    g_string_printf(text, "sundog %s %s\n\n%s\n", command->name, command->parameters,
                    command->help);
    append_options(text, command);
    while (g_str_has_suffix(text->str, "\n\n"))
        g_string_truncate(text, text->len - 1);
    return g_string_free(text, FALSE);
}

static int
usage(const SundogCommand *command, const char *why)
{
    sundog_terminal_error("%s\nIt is: sundog %s %s (more: sundog %s --help)", why, command->name,
                          command->parameters, command->name);
    return SUNDOG_EXIT_USAGE;
}

/* argv[0] is the command's name. */
static int
run_command(const SundogCommand *command, int argc, char **argv)
{
    GOptionContext *context = new_context(command);
    g_autoptr(GError) error = NULL;
    bool parsed = g_option_context_parse(context, &argc, &argv, &error);
    g_option_context_free(context);
    if (!parsed)
        return usage(command, error->message);
    if (argc > 1 && strcmp(argv[1], "--") == 0) {
        argv++;
        argc--;
    }
    unsigned n_words = (unsigned)argc - 1;
    if (n_words < command->min_words || n_words > command->max_words)
        return usage(command, n_words < command->min_words ? "A word is missing."
                                                           : "There is a word too many.");
    return command->run(argv + 1, n_words);
}

static bool
wants_help(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
    return false;
}

static void
print_help(const SundogCommand *command)
{
    g_autofree char *text = sundog_command_dup_help(command);
    fputs(text, stdout);
}

int
sundog_command_main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "--help";
    if (strcmp(name, "--version") == 0) {
        puts("sundog " SUNDOG_VERSION);
        return SUNDOG_EXIT_OK;
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        print_help(NULL);
        return argc > 1 ? SUNDOG_EXIT_OK : SUNDOG_EXIT_USAGE;
    }
    const SundogCommand *command = sundog_command_find(name);
    if (command == NULL) {
        sundog_terminal_error("There is no command \"%s\". `sundog --help` lists them.", name);
        return SUNDOG_EXIT_USAGE;
    }
    if (wants_help(argc - 1, argv + 1)) {
        print_help(command);
        return SUNDOG_EXIT_OK;
    }
    return run_command(command, argc - 1, argv + 1);
}
