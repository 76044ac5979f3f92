/* The server in the test's process. */

#include "tests/server/harness.h"

#include "engine/format/package.h"
#include "engine/format/vocabulary.h"
#include "engine/library/config.h"
#include "engine/library/library.h"
#include "engine/server/json-text.h"
#include <glib/gstdio.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>

static const char *engine;

static const char chat_template[] =
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}"
    "<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";

void
harness_init(int *argc, char ***argv)
{
    signal(SIGPIPE, SIG_IGN);
    g_test_init(argc, argv, NULL);
    g_assert_cmpint(*argc, >=, 2);
    engine = (*argv)[1];
}

const char *
harness_get_engine(void)
{
    return engine;
}

/* The core */

/* GPT-2's letters: bytes that print stand for themselves, the others are numbered from 256 on. */
static void
append_letter(GString *text, unsigned byte)
{
    static const struct {
        unsigned first, last;
    } printing[] = {{33, 126}, {161, 172}, {174, 255}};
    unsigned n_before = 0;
    for (unsigned other = 0; other <= byte; other++) {
        bool prints = false;
        for (size_t i = 0; i < G_N_ELEMENTS(printing); i++)
            prints = prints || (other >= printing[i].first && other <= printing[i].last);
        if (other == byte) {
            g_string_append_unichar(text, prints ? byte : 256 + n_before);
            return;
        }
        n_before += !prints;
    }
}

static void
set_token(SundogVocabulary *vocabulary, uint32_t id, const char *text, SundogTokenKind kind)
{
    vocabulary->tokens[id] = (SundogToken){.text = g_string_chunk_insert(vocabulary->strings, text),
                                           .length = (uint32_t)strlen(text),
                                           .kind = kind};
}

static SundogVocabulary *
make_vocabulary(void)
{
    SundogVocabulary *vocabulary = sundog_vocabulary_new();
    vocabulary->kind = SUNDOG_TOKENIZER_BPE;
    vocabulary->pre_tokenizer = g_strdup("gpt-2");
    if (!vocabulary->strings)
        vocabulary->strings = g_string_chunk_new(4096);
    vocabulary->n_tokens = 262;
    vocabulary->tokens = g_new0(SundogToken, vocabulary->n_tokens);
    for (uint32_t byte = 0; byte < 256; byte++) {
        g_autoptr(GString) letter = g_string_new(NULL);
        append_letter(letter, byte);
        set_token(vocabulary, byte, letter->str, SUNDOG_TOKEN_NORMAL);
    }
    set_token(vocabulary, TINY_IM_START, "<|im_start|>", SUNDOG_TOKEN_CONTROL);
    set_token(vocabulary, TINY_IM_END, "<|im_end|>", SUNDOG_TOKEN_CONTROL);
    set_token(vocabulary, TINY_END_OF_TEXT, "<|endoftext|>", SUNDOG_TOKEN_CONTROL);
    set_token(vocabulary, TINY_FIM_PREFIX, "<|fim_prefix|>", SUNDOG_TOKEN_CONTROL);
    set_token(vocabulary, TINY_FIM_SUFFIX, "<|fim_suffix|>", SUNDOG_TOKEN_CONTROL);
    set_token(vocabulary, TINY_FIM_MIDDLE, "<|fim_middle|>", SUNDOG_TOKEN_CONTROL);
    vocabulary->bos = vocabulary->unknown = vocabulary->padding = SUNDOG_TOKEN_NONE;
    vocabulary->eos = TINY_IM_END;
    vocabulary->n_ends = 1;
    vocabulary->ends = g_new(uint32_t, 1);
    vocabulary->ends[0] = TINY_IM_END;
    return vocabulary;
}

static void
add_member(SundogPackageWriter *writer, const char *path, const void *data, size_t n_bytes)
{
    g_assert_true(sundog_package_writer_begin(writer, path, NULL));
    g_assert_true(sundog_package_writer_append(writer, data, n_bytes, NULL));
    g_assert_true(sundog_package_writer_end(writer, NULL));
}

static JsonObject *
make_manifest(const char *name)
{
    g_autofree char *text = g_strdup_printf(
        "{\"features\":[\"host-2\"],\"name\":\"%s\",\"target\":\"host\",\"activations\":\"int8\","
        "\"model\":{\"name\":\"%s\",\"architecture\":\"llama\",\"licence\":\"MIT\","
        "\"n_parameters\":1000,\"context_length\":2048,\"n_vocabulary\":259},"
        "\"plan\":{\"arena_bytes\":1000,\"weight_bytes\":2000},"
        "\"text\":{\"vocabulary\":\"text/vocabulary\",\"template\":\"text/template\",\"syntax\":{"
        "\"calls\":\"object\",\"by_prompt\":true,\"section_open\":\"\",\"section_close\":\"\","
        "\"call_open\":\"<tool_call>\",\"call_close\":\"</tool_call>\",\"name_key\":\"name\","
        "\"arguments_key\":\"arguments\",\"reasoning_open\":\"<think>\",\"reasoning_close\":"
        "\"</think>\"}}}",
        name, name);
    g_autoptr(JsonNode) node = json_from_string(text, NULL);
    return json_node_dup_object(node);
}

static char *
dup_script_path(const char *name)
{
    return g_strdup_printf("%s/%s.json", sundog_paths_get_cores(), name);
}

void
harness_set_script(const char *name, const char *script)
{
    g_autofree char *path = dup_script_path(name);
    g_autofree char *log = g_strconcat(path, ".log", NULL);
    g_autofree char *gate = g_strconcat(path, ".gate", NULL);
    g_unlink(log);
    g_unlink(gate);
    if (script)
        g_assert_true(g_file_set_contents(path, script, -1, NULL));
}

void
harness_open_gate(const char *name)
{
    g_autofree char *path = dup_script_path(name);
    g_autofree char *gate = g_strconcat(path, ".gate", NULL);
    g_assert_true(g_file_set_contents(gate, "", 0, NULL));
}

void
harness_make_core(const char *name, const char *script)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(SundogKeyring) keyring = sundog_keyring_open(sundog_paths_get_keys(), &error);
    g_assert_no_error(error);
    g_autofree char *folder = g_build_filename(sundog_paths_get_cores(), name, NULL);
    g_autoptr(SundogPackageWriter) writer = sundog_package_writer_new(folder, &error);
    g_assert_no_error(error);
    g_autoptr(SundogVocabulary) vocabulary = make_vocabulary();
    SundogWriter bytes;
    sundog_writer_init(&bytes);
    sundog_vocabulary_write(vocabulary, &bytes);
    add_member(writer, "text/vocabulary", bytes.bytes->data, bytes.bytes->len);
    sundog_writer_clear(&bytes);
    add_member(writer, "text/template", chat_template, strlen(chat_template));
    g_autoptr(JsonObject) manifest = make_manifest(name);
    sundog_package_writer_finish(writer, manifest, keyring, &error);
    g_assert_no_error(error);
    harness_set_script(name, script);
}

void
harness_set(const char *key, const char *value)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(SundogConfig) config = sundog_config_open(&error);
    g_assert_no_error(error);
    sundog_config_set(config, key, value, &error);
    g_assert_no_error(error);
}

char *
harness_dup_engine_log(const char *name)
{
    g_autofree char *path = dup_script_path(name);
    g_autofree char *log = g_strconcat(path, ".log", NULL);
    char *text = NULL;
    return g_file_get_contents(log, &text, NULL, NULL) ? text : g_strdup("");
}

guint
harness_count_in_log(const char *name, const char *text)
{
    g_autofree char *log = harness_dup_engine_log(name);
    guint n = 0;
    for (const char *at = log; (at = strstr(at, text)); at += strlen(text))
        n++;
    return n;
}

void
harness_wait_for_log(const char *name, const char *text, guint times)
{
    int64_t deadline = g_get_monotonic_time() + HARNESS_WAIT_US;
    while (harness_count_in_log(name, text) < times) {
        if (g_get_monotonic_time() > deadline) {
            g_autofree char *log = harness_dup_engine_log(name);
            g_test_message("“%s” is not %u times in\n%s", text, times, log);
            g_assert_not_reached();
        }
        g_usleep(5000);
    }
}

int
harness_get_engine_pid(const char *name)
{
    g_autofree char *log = harness_dup_engine_log(name);
    const char *last = NULL;
    for (const char *at = log; (at = strstr(at, "\"pid\":")); at++)
        last = at + strlen("\"pid\":");
    g_assert_nonnull(last);
    return (int)g_ascii_strtoll(last, NULL, 10);
}

/* The server's thread */

static void
on_stopped(void *data)
{
    Harness *harness = data;
    g_atomic_int_set(&harness->is_stopped, true);
    g_main_loop_quit(harness->loop);
}

static void *
run_server(void *data)
{
    Harness *harness = data;
    g_main_context_push_thread_default(harness->context);
    harness->options.stopped = on_stopped;
    harness->options.data = harness;
    g_mutex_lock(&harness->mutex);
    g_assert_cmpint(pthread_getcpuclockid(pthread_self(), &harness->clock), ==, 0);
    harness->server = sundog_server_start(&harness->options, &harness->error);
    if (harness->server)
        harness->port = (uint16_t)sundog_server_get_port(harness->server);
    g_cond_signal(&harness->started);
    g_mutex_unlock(&harness->mutex);
    if (harness->server)
        g_main_loop_run(harness->loop);
    sundog_server_free(harness->server);
    /* What libsoup has put off until the next turn. */
    while (g_main_context_iteration(harness->context, false)) {
    }
    g_main_context_pop_thread_default(harness->context);
    return NULL;
}

Harness *
harness_start_with(const SundogServerOptions *options)
{
    Harness *harness = g_new0(Harness, 1);
    g_mutex_init(&harness->mutex);
    g_cond_init(&harness->started);
    harness->options = *options;
    if (!harness->options.engine)
        harness->options.engine = engine;
    harness->context = g_main_context_new();
    harness->loop = g_main_loop_new(harness->context, false);
    g_mutex_lock(&harness->mutex);
    harness->thread = g_thread_new("server", run_server, harness);
    while (!harness->server && !harness->error)
        g_cond_wait(&harness->started, &harness->mutex);
    g_mutex_unlock(&harness->mutex);
    return harness;
}

Harness *
harness_start(const char *core)
{
    Harness *harness =
        harness_start_with(&(SundogServerOptions){.core = core, .port = 0, .key = ""});
    g_assert_no_error(harness->error);
    return harness;
}

static gboolean
quit(void *data)
{
    g_main_loop_quit(data);
    return G_SOURCE_REMOVE;
}

void
harness_stop(Harness *harness)
{
    if (!harness)
        return;
    g_autoptr(GSource) source = g_idle_source_new();
    g_source_set_callback(source, quit, harness->loop, NULL);
    g_source_attach(source, harness->context);
    g_thread_join(harness->thread);
    g_main_loop_unref(harness->loop);
    g_main_context_unref(harness->context);
    g_clear_error(&harness->error);
    g_mutex_clear(&harness->mutex);
    g_cond_clear(&harness->started);
    g_free(harness);
}

double
harness_get_processor_us(clockid_t clock)
{
    struct timespec time;
    g_assert_cmpint(clock_gettime(clock, &time), ==, 0);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

void
harness_wait_ready(const Harness *harness)
{
    int64_t deadline = g_get_monotonic_time() + HARNESS_WAIT_US;
    for (;;) {
        g_autoptr(Reply) reply = client_get(harness->port, "/health");
        if (reply->status == 200)
            return;
        if (g_get_monotonic_time() > deadline)
            g_test_message("%s", reply->body);
        g_assert_cmpint(g_get_monotonic_time(), <, deadline);
        g_usleep(5000);
    }
}

static guint
count_in_requests(const Harness *harness, const char *state)
{
    g_autoptr(Reply) reply = client_get(harness->port, "/sundog/v1/requests");
    g_autofree char *wanted = g_strdup_printf("\"state\":\"%s\"", state);
    guint n = 0;
    for (const char *at = reply->body; (at = strstr(at, wanted)); at++)
        n++;
    return n;
}

void
harness_wait_for_ended(const Harness *harness, const char *state, guint times)
{
    int64_t deadline = g_get_monotonic_time() + HARNESS_WAIT_US;
    while (count_in_requests(harness, state) < times) {
        g_assert_cmpint(g_get_monotonic_time(), <, deadline);
        g_usleep(5000);
    }
}

char *
harness_dup_tokens(const char *text)
{
    GString *tokens = g_string_new("[");
    for (const char *byte = text; *byte; byte++)
        g_string_append_printf(tokens, "%s%u", byte > text ? "," : "", (unsigned char)*byte);
    g_string_append_c(tokens, ']');
    return g_string_free(tokens, false);
}

char *
harness_dup_chat(const char *text, const char *members)
{
    g_autoptr(GString) quoted = g_string_new(NULL);
    sundog_json_text_append(quoted, text);
    return g_strdup_printf("{\"model\":\"tiny\",\"messages\":[{\"role\":\"user\",\"content\":%s}]"
                           "%s%s}",
                           quoted->str, members && *members ? "," : "", members ? members : "");
}
