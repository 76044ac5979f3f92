/* An engine driven from the command line. */

#include "engine/command/engine-session.h"

#include "engine/command/command.h"
#include "engine/command/library-words.h"
#include "engine/command/terminal.h"
#include "engine/format/json-members.h"
#include "engine/library/config.h"
#include "engine/library/fit-file.h"
#include <string.h>

struct SundogEngineSession {
    SundogEngineProcess *process;
    SundogReady ready;
    bool is_ready;
    bool ended;
    GError *error; /* what ended the engine or the request */
    SundogCoreText *text;
    GCancellable *cancellable;
    /* The request under way. */
    uint64_t id;
    bool finished;
    bool stopping;
    SundogFinish finish;
    SundogEngineToken on_token;
    void *data;
};

static void
stop_request(SundogEngineSession *session)
{
    if (!session->stopping)
        sundog_engine_process_send(session->process, SUNDOG_MESSAGE_CANCEL,
                                   g_variant_new("(t)", session->id), NULL);
    session->stopping = true;
}

static void
take_tokens(SundogEngineSession *session, GVariant *payload)
{
    g_autoptr(GVariantIter) rows = NULL;
    uint64_t step;
    uint64_t id;
    uint32_t index;
    uint32_t token;
    g_variant_get(payload, "(ta(tuu))", &step, &rows);
    while (g_variant_iter_next(rows, "(tuu)", &id, &index, &token))
        if (id == session->id && !session->stopping && !session->on_token(token, session->data))
            stop_request(session);
}

static void
take_fault(SundogEngineSession *session, GVariant *payload)
{
    uint64_t id;
    const char *code;
    const char *text;
    g_variant_get(payload, "(t&s&s)", &id, &code, &text);
    if (session->error == NULL)
        session->error = g_error_new_literal(G_IO_ERROR, G_IO_ERROR_FAILED, text);
    session->finished = true;
}

static void
on_frame(SundogEngineProcess *process, uint32_t type, GVariant *payload, void *data)
{
    SundogEngineSession *session = data;
    const char *phase;
    double fraction;
    switch (type) {
    case SUNDOG_MESSAGE_PROGRESS:
        g_variant_get(payload, "(&sd)", &phase, &fraction);
        if (!sundog_command_json)
            sundog_terminal_progress(phase, "Loading", fraction);
        break;
    case SUNDOG_MESSAGE_READY:
        session->is_ready = sundog_ready_unpack(payload, &session->ready, &session->error);
        break;
    case SUNDOG_MESSAGE_TOKENS:
        take_tokens(session, payload);
        break;
    case SUNDOG_MESSAGE_FINISH:
        session->finished = true;
        sundog_finish_unpack(payload, &session->finish, session->error ? NULL : &session->error);
        break;
    case SUNDOG_MESSAGE_FAULT:
        take_fault(session, payload);
        break;
    }
}

static void
on_ended(SundogEngineProcess *process, const SundogEngineEnd *end, void *data)
{
    SundogEngineSession *session = data;
    session->ended = true;
    if (session->error == NULL)
        session->error = g_error_new_literal(G_IO_ERROR, G_IO_ERROR_FAILED, end->text);
}

/* The folder of the small core that drafts, "" where there is none; NULL with an error. A setting for all
 * cores counts where a server can try it: here a core is wanted at once. */
static char *
dup_draft(SundogLibrary *library, const SundogLibraryEntry *entry, const char *asked,
          const SundogConfig *config, GError **error)
{
    bool is_own = asked != NULL;
    g_autofree char *name =
        asked != NULL ? g_strdup(asked)
                      : sundog_config_dup_draft(sundog_config_get_text(config, "engine.draft"),
                                                entry->name, &is_own);
    if (name == NULL || !is_own)
        return g_strdup("");
    g_autoptr(SundogLibraryEntry) draft = sundog_words_find_core(library, name, error);
    return draft != NULL ? g_strdup(draft->path) : NULL;
}

static bool
start(SundogEngineSession *session, SundogLibrary *library, const SundogLibraryEntry *entry,
      const SundogEngineSessionOptions *options, GError **error)
{
    g_autoptr(SundogConfig) config = sundog_config_open(error);
    g_autofree char *program = sundog_paths_dup_program("sundog-engine");
    if (config == NULL)
        return false;
    g_autofree char *draft = dup_draft(library, entry, options->draft, config, error);
    if (draft == NULL)
        return false;
    if (program == NULL) {
        g_set_error_literal(error, G_IO_ERROR, G_IO_ERROR_NOT_FOUND,
                            "sundog-engine is not beside this program: install Sundog again");
        return false;
    }
    int64_t n_threads = options->n_threads > 0
                            ? options->n_threads
                            : sundog_config_get_integer(config, "engine.threads");
    int64_t context = options->context_length > 0
                          ? options->context_length
                          : sundog_config_get_integer(config, "engine.context");
    g_autofree char *threads_text = g_strdup_printf("%" G_GINT64_FORMAT, n_threads);
    g_autofree char *context_text = g_strdup_printf("%" G_GINT64_FORMAT, context);
    g_autofree char *cache_text = g_strdup_printf(
        "%" G_GINT64_FORMAT, sundog_config_get_integer(config, "engine.cache_bytes"));
    g_autoptr(GPtrArray) arguments = g_ptr_array_new();
    const char *const own[] = {entry->path,  "--keys",        sundog_paths_get_keys(),
                               "--threads",  threads_text,    "--context",
                               context_text, "--cache-bytes", cache_text};
    for (size_t i = 0; i < G_N_ELEMENTS(own); i++)
        g_ptr_array_add(arguments, (char *)own[i]);
    if (*draft) {
        g_ptr_array_add(arguments, "--draft");
        g_ptr_array_add(arguments, draft);
    }
    g_auto(GStrv) fitted = sundog_fit_file_dup_arguments(
        entry->name, sundog_json_get_string(entry->info, "created", NULL));
    for (char **word = fitted; *word != NULL; word++)
        g_ptr_array_add(arguments, *word);
    g_ptr_array_add(arguments, NULL);
    SundogEngineProcessOptions process = {.program = program,
                                          .arguments = (const char *const *)arguments->pdata,
                                          .frame = on_frame,
                                          .ended = on_ended,
                                          .data = session};
    session->process = sundog_engine_process_start(&process, error);
    return session->process != NULL;
}

/* Runs the loop until the flag or the engine's end; hands over what went wrong. */
static bool
wait_for(SundogEngineSession *session, const bool *flag, GError **error)
{
    while (!*flag && !session->ended && session->error == NULL) {
        g_main_context_iteration(NULL, TRUE);
        if (g_cancellable_is_cancelled(session->cancellable) && session->id != 0)
            stop_request(session);
        else if (g_cancellable_is_cancelled(session->cancellable))
            break;
    }
    if (session->error != NULL)
        g_propagate_error(error, g_steal_pointer(&session->error));
    else if (*flag)
        return true;
    else if (!g_cancellable_set_error_if_cancelled(session->cancellable, error))
        g_set_error_literal(error, G_IO_ERROR, G_IO_ERROR_FAILED, "the engine has ended");
    return false;
}

static gboolean
on_cancelled(GCancellable *cancellable, gpointer data)
{
    return G_SOURCE_CONTINUE;
}

SundogEngineSession *
sundog_engine_session_open(SundogLibrary *library, const SundogLibraryEntry *entry,
                           const SundogEngineSessionOptions *options, GError **error)
{
    g_autoptr(SundogEngineSession) session = g_new0(SundogEngineSession, 1);
    if (options->cancellable != NULL) {
        /* So that the loop wakes where the cancelling thread does. */
        g_autoptr(GSource) source = g_cancellable_source_new(options->cancellable);
        g_source_set_callback(source, G_SOURCE_FUNC(on_cancelled), NULL, NULL);
        g_source_attach(source, NULL);
        session->cancellable = g_object_ref(options->cancellable);
    }
    if (!start(session, library, entry, options, error))
        return NULL;
    session->text = sundog_core_text_open(entry, sundog_library_get_keyring(library), error);
    if (session->text == NULL || !wait_for(session, &session->is_ready, error))
        return NULL;
    sundog_terminal_progress_end();
    return g_steal_pointer(&session);
}

void
sundog_engine_session_free(SundogEngineSession *session)
{
    if (session == NULL)
        return;
    sundog_engine_process_free(session->process);
    sundog_core_text_unref(session->text);
    g_clear_object(&session->cancellable);
    g_clear_error(&session->error);
    g_free(session);
}

const SundogReady *
sundog_engine_session_get_ready(const SundogEngineSession *session)
{
    return &session->ready;
}

bool
sundog_engine_session_has_ended(const SundogEngineSession *session)
{
    return session->ended;
}

pid_t
sundog_engine_session_get_pid(const SundogEngineSession *session)
{
    return sundog_engine_process_get_pid(session->process);
}

const SundogCoreText *
sundog_engine_session_get_text(const SundogEngineSession *session)
{
    return session->text;
}

bool
sundog_engine_session_ask(SundogEngineSession *session, SundogSubmit *submit,
                          SundogEngineToken on_token, void *data, SundogFinish *finish,
                          GError **error)
{
    submit->id = ++session->id;
    session->finished = false;
    session->stopping = false;
    session->on_token = on_token;
    session->data = data;
    if (!sundog_engine_process_send(session->process, SUNDOG_MESSAGE_SUBMIT,
                                    sundog_submit_pack(submit), error) ||
        !wait_for(session, &session->finished, error))
        return false;
    *finish = session->finish;
    return true;
}
