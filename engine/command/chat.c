/* sundog chat CORE: a conversation on the terminal. */

#include "engine/command/command.h"
#include "engine/command/interrupt.h"
#include "engine/command/library-words.h"
#include "engine/command/line-editor.h"
#include "engine/command/terminal.h"
#include "engine/command/turn.h"
#include "engine/library/paths.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char *system_text = NULL;
static gboolean timing = FALSE;
static gint64 n_threads = 0;
static SundogTurnSampling sampling = SUNDOG_TURN_SAMPLING_DEFAULTS;

static const GOptionEntry options[] = {
    {"system", 0, 0, G_OPTION_ARG_STRING, &system_text, "a system message", "TEXT"},
    {"timing", 0, 0, G_OPTION_ARG_NONE, &timing, "tell tokens and tokens per second", NULL},
    {"threads", 0, 0, G_OPTION_ARG_INT64, &n_threads, "processor threads; 0: as configured", "N"},
    SUNDOG_TURN_SAMPLING_OPTIONS(sampling),
    {NULL},
};

typedef struct {
    SundogEngineSession *session;
    SundogLineEditor *editor;
    JsonArray *messages;
    bool failed; /* the engine is gone */
} Conversation;

typedef enum {
    GO_ON,
    ANSWER,
    END,
} Next;

static void
add_message(Conversation *conversation, const char *role, const char *content)
{
    JsonObject *message = json_object_new();
    json_object_set_string_member(message, "role", role);
    json_object_set_string_member(message, "content", content);
    json_array_add_object_element(conversation->messages, message);
}

static void
begin(Conversation *conversation)
{
    g_clear_pointer(&conversation->messages, json_array_unref);
    conversation->messages = json_array_new();
    if (system_text != NULL && *system_text != '\0')
        add_message(conversation, "system", system_text);
}

static bool
last_is(const Conversation *conversation, const char *role)
{
    unsigned n = json_array_get_length(conversation->messages);
    if (n == 0)
        return false;
    JsonObject *last = json_array_get_object_element(conversation->messages, n - 1);
    return strcmp(json_object_get_string_member(last, "role"), role) == 0;
}

static void
remove_last(Conversation *conversation)
{
    unsigned n = json_array_get_length(conversation->messages);
    json_array_remove_element(conversation->messages, n - 1);
}

static Next
do_again(Conversation *conversation, const char *text)
{
    if (last_is(conversation, "assistant"))
        remove_last(conversation);
    if (last_is(conversation, "user"))
        return ANSWER;
    sundog_terminal_note("There is no question to answer again.");
    return GO_ON;
}

static Next
do_exit(Conversation *conversation, const char *text)
{
    return END;
}

static Next
do_new(Conversation *conversation, const char *text)
{
    begin(conversation);
    sundog_terminal_note("A new conversation.");
    return GO_ON;
}

static Next
do_system(Conversation *conversation, const char *text)
{
    g_free(system_text);
    system_text = g_strdup(text);
    begin(conversation);
    sundog_terminal_note(*text != '\0' ? "A new conversation with this system message."
                                       : "A new conversation without a system message.");
    return GO_ON;
}

static Next do_help(Conversation *conversation, const char *text);

static const struct {
    const char *name;
    const char *meaning;
    Next (*run)(Conversation *conversation, const char *text);
} commands[] = {
    {"/again", "answer the last question once more", do_again},
    {"/exit", "end; Ctrl+D too", do_exit},
    {"/help", "this list", do_help},
    {"/new", "forget the conversation", do_new},
    {"/system", "TEXT: begin anew with this system message", do_system},
};

static Next
do_help(Conversation *conversation, const char *text)
{
    for (size_t i = 0; i < G_N_ELEMENTS(commands); i++)
        sundog_terminal_note("  %-8s %s", commands[i].name, commands[i].meaning);
    sundog_terminal_note("Ctrl+C stops an answer. What begins with // is sent with one / less.");
    return GO_ON;
}

static Next
take_command(Conversation *conversation, const char *line)
{
    size_t n = strcspn(line, " ");
    for (size_t i = 0; i < G_N_ELEMENTS(commands); i++) {
        if (strlen(commands[i].name) != n || strncmp(commands[i].name, line, n) != 0)
            continue;
        g_autofree char *text = g_strstrip(g_strdup(line + n));
        return commands[i].run(conversation, text);
    }
    sundog_terminal_note("There is no command %.*s; /help lists them.", (int)n, line);
    return GO_ON;
}

static Next
take_line(Conversation *conversation, const char *line)
{
    if (line[0] == '/' && line[1] != '/')
        return take_command(conversation, line);
    g_autofree char *text = g_strstrip(g_strdup(line + (line[0] == '/')));
    if (*text == '\0')
        return GO_ON;
    add_message(conversation, "user", text);
    return ANSWER;
}

/* An answer that was stopped stays, since the next question may speak of it. A failed one takes its
 * question with it; whether the engine lives shows at the next. */
static void
answer(Conversation *conversation)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *text = NULL;
    SundogFinish finish;
    g_autoptr(GArray) prompt =
        sundog_turn_encode(conversation->session, conversation->messages, &error);
    if (prompt == NULL ||
        !sundog_turn_answer(conversation->session, prompt, &sampling, &text, &finish, &error)) {
        remove_last(conversation);
        sundog_terminal_error("%s", error->message);
        conversation->failed |= sundog_engine_session_has_ended(conversation->session);
        return;
    }
    putchar('\n');
    fflush(stdout);
    if (finish.reason == SUNDOG_FINISH_CANCELLED)
        sundog_terminal_note("(stopped)");
    else if (finish.reason == SUNDOG_FINISH_LENGTH)
        sundog_terminal_note("(the answer ends here by its length)");
    if (timing)
        sundog_turn_tell_timing(&finish);
    add_message(conversation, "assistant", text);
}

static int
converse(Conversation *conversation)
{
    GCancellable *cancellable = sundog_interrupt_get_cancellable();
    begin(conversation);
    if (isatty(STDIN_FILENO))
        sundog_terminal_note("Ask something. /help tells more, Ctrl+D ends.");
    Next next = GO_ON;
    while (next != END && !conversation->failed) {
        g_autofree char *line = sundog_line_editor_read(conversation->editor, "> ", cancellable);
        if (line == NULL)
            break;
        next = take_line(conversation, line);
        if (next == ANSWER)
            answer(conversation);
        if (sundog_interrupt_was_termination())
            break;
        sundog_interrupt_reset();
    }
    return conversation->failed ? SUNDOG_EXIT_FAILED : SUNDOG_EXIT_OK;
}

static int
chat(const char *word, GError **error)
{
    g_autoptr(SundogLibrary) library = sundog_library_open(error);
    g_autoptr(SundogLibraryEntry) core =
        library != NULL ? sundog_words_find_core(library, word, error) : NULL;
    SundogEngineSessionOptions session_options = {
        .n_threads = n_threads, .cancellable = sundog_interrupt_get_cancellable()};
    g_autoptr(SundogEngineSession) session =
        core != NULL ? sundog_engine_session_open(library, core, &session_options, error) : NULL;
    if (session == NULL)
        return SUNDOG_EXIT_FAILED;
    if (sundog_engine_session_get_text(session)->chat_template == NULL) {
        g_set_error(error, G_IO_ERROR, G_IO_ERROR_NOT_SUPPORTED,
                    "%s has no chat template: `sundog run %s --raw -p TEXT` completes text with it",
                    core->name, core->name);
        return SUNDOG_EXIT_FAILED;
    }
    g_autofree char *history = g_build_filename(sundog_paths_get_state(), "chat-history", NULL);
    g_autoptr(SundogLineEditor) editor = sundog_line_editor_new(history);
    Conversation conversation = {.session = session, .editor = editor};
    int status = converse(&conversation);
    json_array_unref(conversation.messages);
    return status;
}

static int
run(char **words, unsigned n_words)
{
    g_autoptr(GError) error = NULL;
    if (n_threads < 0 || n_threads > 1024 || !sundog_turn_sampling_check(&sampling, &error)) {
        sundog_terminal_error("%s", error != NULL ? error->message : "--threads is 0 to 1024");
        return SUNDOG_EXIT_USAGE;
    }
    int status = chat(words[0], &error);
    return error != NULL ? sundog_terminal_fail(error) : status;
}

const SundogCommand sundog_command_chat = {
    .name = "chat",
    .summary = "talk with a core on the terminal",
    .parameters = "CORE",
    .help =
        "A conversation on the terminal: answers as they come, the turns before kept. Arrow keys "
        "edit\n"
        "and recall what was typed, also from earlier days. Ctrl+C stops an answer; /help lists "
        "what\n"
        "else can be said. Lines from a pipe are taken as questions.\n\n"
        "  sundog chat smollm2-135m-instruct --system \"Answer in one sentence.\"",
    .options = options,
    .min_words = 1,
    .max_words = 1,
    .run = run,
};
