/* A client with a main loop of its own. */

#include "tests/schedule/engine-client.h"
#include "engine/prepare/prepare.h"

#define PATIENCE_SECONDS 60

static const char *
home_folder(const char *name)
{
    g_autofree char *path = g_build_filename(g_get_home_dir(), name, NULL);
    return g_intern_string(path);
}

const char *
engine_client_get_keys(void)
{
    return home_folder("keys");
}

const char *
engine_client_get_core(const char *gguf)
{
    g_autofree char *name = g_path_get_basename(gguf);
    g_autofree char *core_name = g_strconcat(name, ".core", NULL);
    const char *folder = home_folder(core_name);
    if (g_file_test(folder, G_FILE_TEST_EXISTS))
        return folder;
    g_autoptr(GError) error = NULL;
    g_autoptr(SundogKeyring) keyring = sundog_keyring_open(engine_client_get_keys(), &error);
    g_assert_no_error(error);
    g_autoptr(SundogModel) model = sundog_model_open(gguf, &error);
    g_assert_no_error(error);
    SundogPrepareOptions options = {
        .name = "test", .target = "host", .activations = SUNDOG_ACTIVATIONS_INT8};
    sundog_prepare(model, folder, keyring, &options, &error);
    g_assert_no_error(error);
    return folder;
}

static void
on_frame(SundogEngineProcess *process, uint32_t type, GVariant *payload, void *data)
{
    EngineClient *client = data;
    answers_take(client->answers, type, payload);
    g_main_loop_quit(client->loop);
}

static void
on_ended(SundogEngineProcess *process, const SundogEngineEnd *end, void *data)
{
    EngineClient *client = data;
    g_assert_no_error(end->error);
    client->ended = true;
    client->exit_status = end->exit_status;
    client->signal = end->signal;
    g_main_loop_quit(client->loop);
}

static gboolean
give_up(gpointer data)
{
    g_error("the engine has said nothing for %d seconds", PATIENCE_SECONDS);
    return G_SOURCE_REMOVE;
}

/* Until a frame or the end. */
static void
run_once(EngineClient *client)
{
    guint timer = g_timeout_add_seconds(PATIENCE_SECONDS, give_up, NULL);
    g_main_loop_run(client->loop);
    g_source_remove(timer);
}

void
engine_client_wait(EngineClient *client, bool (*holds)(const void *data), const void *data)
{
    while (!holds(data)) {
        g_assert_false(client->ended);
        run_once(client);
    }
}

void
engine_client_start(EngineClient *client, const char *program, const char *core, ...)
{
    g_autoptr(GPtrArray) words = g_ptr_array_new();
    g_ptr_array_add(words, (gpointer)core);
    g_ptr_array_add(words, "--keys");
    g_ptr_array_add(words, (gpointer)engine_client_get_keys());
    va_list arguments;
    va_start(arguments, core);
    const char *word;
    while ((word = va_arg(arguments, const char *)))
        g_ptr_array_add(words, (gpointer)word);
    va_end(arguments);
    g_ptr_array_add(words, NULL);

    *client = (EngineClient){.answers = answers_new(), .loop = g_main_loop_new(NULL, FALSE)};
    SundogEngineProcessOptions options = {.program = program,
                                          .arguments = (const char *const *)words->pdata,
                                          .stop_ms = PATIENCE_SECONDS * 1000,
                                          .frame = on_frame,
                                          .ended = on_ended,
                                          .data = client};
    g_autoptr(GError) error = NULL;
    client->process = sundog_engine_process_start(&options, &error);
    g_assert_no_error(error);
    while (!client->ended && !client->answers->ready_seen)
        run_once(client);
}

void
engine_client_clear(EngineClient *client)
{
    sundog_engine_process_free(client->process);
    g_main_loop_unref(client->loop);
    answers_free(client->answers);
}

Answer *
engine_client_submit(EngineClient *client, const SundogSubmit *submit)
{
    SundogSubmit numbered = *submit;
    numbered.id = ++client->last_id;
    Answer *answer = answers_expect(client->answers, numbered.id, numbered.n_produced);
    g_assert_true(sundog_engine_process_send(client->process, SUNDOG_MESSAGE_SUBMIT,
                                             sundog_submit_pack(&numbered), NULL));
    return answer;
}

void
engine_client_cancel(EngineClient *client, const Answer *answer)
{
    g_assert_true(sundog_engine_process_send(client->process, SUNDOG_MESSAGE_CANCEL,
                                             g_variant_new("(t)", answer->id), NULL));
}

static bool
has_ended(const void *data)
{
    return ((const Answer *)data)->ended;
}

void
engine_client_wait_ended(EngineClient *client, const Answer *answer)
{
    engine_client_wait(client, has_ended, answer);
}

void
engine_client_wait_tokens(EngineClient *client, const Answer *answer, uint32_t n_tokens)
{
    while (answer->tokens->len < n_tokens && !answer->ended) {
        g_assert_false(client->ended);
        run_once(client);
    }
}

void
engine_client_wait_exit(EngineClient *client)
{
    while (!client->ended)
        run_once(client);
}
