/* sundog help [COMMAND] */

#include "engine/command/command.h"
#include "engine/command/terminal.h"
#include <stdio.h>

static int
run(char **words, unsigned n_words)
{
    const SundogCommand *command = n_words > 0 ? sundog_command_find(words[0]) : NULL;
    if (n_words > 0 && command == NULL) {
        sundog_terminal_error("There is no command \"%s\". `sundog help` lists them.", words[0]);
        return SUNDOG_EXIT_USAGE;
    }
    g_autofree char *text = sundog_command_dup_help(command);
    fputs(text, stdout);
    return SUNDOG_EXIT_OK;
}

const SundogCommand sundog_command_help = {
    .name = "help",
    .summary = "tell what a command does",
    .parameters = "[COMMAND]",
    .help = "Lists the commands, or tells more of one.",
    .max_words = 1,
    .run = run,
};
