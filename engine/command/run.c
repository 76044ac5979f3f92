/* sundog run CORE -p TEXT: one turn, the answer alone on standard output. */

#include "engine/command/command.h"
#include "engine/command/interrupt.h"
#include "engine/command/library-words.h"
#include "engine/command/terminal.h"
#include "engine/command/turn.h"
#include <stdio.h>
#include <string.h>

static char *prompt_text = NULL;
static char *system_text = NULL;
static gboolean raw = FALSE;
static gboolean timing = FALSE;
static char *draft = NULL;
static gint64 n_threads = 0;
static SundogTurnSampling sampling = SUNDOG_TURN_SAMPLING_DEFAULTS;

static const GOptionEntry options[] = {
    {"prompt", 'p', 0, G_OPTION_ARG_STRING, &prompt_text, "what to ask; - reads standard input",
     "TEXT"},
    {"system", 0, 0, G_OPTION_ARG_STRING, &system_text, "a system message", "TEXT"},
    {"raw", 0, 0, G_OPTION_ARG_NONE, &raw, "complete the text as it is, without the chat template",
     NULL},
    {"timing", 0, 0, G_OPTION_ARG_NONE, &timing, "tell tokens and tokens per second", NULL},
    {"threads", 0, 0, G_OPTION_ARG_INT64, &n_threads, "processor threads; 0: as configured", "N"},
    {"draft", 0, 0, G_OPTION_ARG_STRING, &draft,
     "let this small core of the same vocabulary guess tokens ahead", "CORE"},
    SUNDOG_TURN_SAMPLING_OPTIONS(sampling),
    {NULL},
};

static char *
read_prompt(GError **error)
{
    if (g_strcmp0(prompt_text, "-") != 0)
        return g_strdup(prompt_text);
    g_autoptr(GIOChannel) input = g_io_channel_unix_new(0);
    char *text = NULL;
    if (g_io_channel_read_to_end(input, &text, NULL, error) != G_IO_STATUS_NORMAL && text == NULL)
        return NULL;
    return text;
}

static void
add_message(JsonArray *messages, const char *role, const char *content)
{
    JsonObject *message = json_object_new();
    json_object_set_string_member(message, "role", role);
    json_object_set_string_member(message, "content", content);
    json_array_add_object_element(messages, message);
}

static GArray *
encode(const SundogEngineSession *session, const char *text, GError **error)
{
    if (raw) {
        GArray *tokens = g_array_new(FALSE, FALSE, sizeof(uint32_t));
        sundog_tokenizer_encode(sundog_engine_session_get_text(session)->tokenizer, text,
                                strlen(text), SUNDOG_TOKENIZE_ADD, tokens);
        return tokens;
    }
    g_autoptr(JsonArray) messages = json_array_new();
    if (system_text != NULL)
        add_message(messages, "system", system_text);
    add_message(messages, "user", text);
    return sundog_turn_encode(session, messages, error);
}

static bool
answer(const char *word, GError **error)
{
    g_autofree char *text = read_prompt(error);
    g_autoptr(SundogLibrary) library = text != NULL ? sundog_library_open(error) : NULL;
    g_autoptr(SundogLibraryEntry) core =
        library != NULL ? sundog_words_find_core(library, word, error) : NULL;
    if (core == NULL)
        return false;
    SundogEngineSessionOptions session_options = {
        .n_threads = n_threads, .draft = draft, .cancellable = sundog_interrupt_get_cancellable()};
    g_autoptr(SundogEngineSession) session =
        sundog_engine_session_open(library, core, &session_options, error);
    g_autoptr(GArray) prompt = session != NULL ? encode(session, text, error) : NULL;
    SundogFinish finish;
    if (prompt == NULL || !sundog_turn_answer(session, prompt, &sampling, NULL, &finish, error))
        return false;
    putchar('\n');
    if (timing)
        sundog_turn_tell_timing(&finish);
    return true;
}

static int
run(char **words, unsigned n_words)
{
    g_autoptr(GError) error = NULL;
    if (prompt_text == NULL) {
        sundog_terminal_error("-p TEXT is missing: what should be asked?");
        return SUNDOG_EXIT_USAGE;
    }
    if (n_threads < 0 || n_threads > 1024 || !sundog_turn_sampling_check(&sampling, &error)) {
        sundog_terminal_error("%s", error != NULL ? error->message : "--threads is 0 to 1024");
        return SUNDOG_EXIT_USAGE;
    }
    if (!answer(words[0], &error))
        return sundog_terminal_fail(error);
    return SUNDOG_EXIT_OK;
}

const SundogCommand sundog_command_run = {
    .name = "run",
    .summary = "ask one question",
    .parameters = "CORE -p TEXT",
    .help =
        "Asks one question and prints the answer alone on standard output. With --raw the text is\n"
        "completed as it is.\n\n"
        "  sundog run smollm2-135m-instruct -p \"What is a sundog?\"\n"
        "  sundog run smollm2-135m-instruct -p - --temperature 0 < question.txt",
    .options = options,
    .min_words = 1,
    .max_words = 1,
    .run = run,
};
