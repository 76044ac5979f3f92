#pragma once

/*
 * The command line: one command a file, found through one alphabetical table. A command's words are
 * parsed for it; it does its work on the main thread and returns the exit status, and only main()
 * exits.
 */

#include <glib.h>
#include <stdbool.h>

/* Exit statuses, the same for every command. */
enum {
    SUNDOG_EXIT_OK = 0,
    SUNDOG_EXIT_FAILED = 1, /* The work could not be done; standard error says what to do next. */
    SUNDOG_EXIT_USAGE = 2,  /* The words were wrong; standard error says which. */
};

/* X(name), in alphabetical order: `sundog NAME` is sundog_command_NAME in NAME.c. */
#define SUNDOG_COMMANDS(X) \
    X(bench)               \
    X(chat)                \
    X(config)              \
    X(doctor)              \
    X(fit)                 \
    X(help)                \
    X(inspect)             \
    X(key)                 \
    X(list)                \
    X(prepare)             \
    X(pull)                \
    X(rm)                  \
    X(run)                 \
    X(serve)               \
    X(show)                \
    X(status)              \
    X(stop)                \
    X(tokenize)            \
    X(verify)

typedef struct {
    const char *name;
    const char *summary;         /* one line for the list of commands */
    const char *parameters;      /* what follows the name: "MODEL" */
    const char *help;            /* what a person wants to know, with an example */
    const GOptionEntry *options; /* beside --json and --help; may be NULL */
    bool has_json;               /* takes --json, which sets sundog_command_json */
    unsigned min_words;
    unsigned max_words;
    /* words: [n_words] what is no option, NULL-terminated. */
    int (*run)(char **words, unsigned n_words);
} SundogCommand;

#define X(name) extern const SundogCommand sundog_command_##name;
SUNDOG_COMMANDS(X)
#undef X

/* Whether the person, or a program, asked for JSON on standard output. */
extern gboolean sundog_command_json;

/* All commands in order, NULL-terminated. */
const SundogCommand *const *sundog_commands(void);
/* NULL where there is none of that name. */
const SundogCommand *sundog_command_find(const char *name);
/* The help of one command, or of all where command is NULL; owned by the caller. */
char *sundog_command_dup_help(const SundogCommand *command);
/* Finds and runs the command that the arguments name. */
int sundog_command_main(int argc, char **argv);
