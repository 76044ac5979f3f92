/*
 * sundog-engine CORE --keys FOLDER [--threads N] [--context N] [--cache-bytes N]
 *                    [--records FOLDER --record-bytes N] [--gap-ms N] [--draft CORE]
 *                    [--ladder N,…] [--alike]
 *
 * The child process that owns one core: frames on standard input and output, words for a person on
 * standard error. Says HELLO, loads, says READY or why not, answers requests, and ends when its input
 * does, in bounded time whatever a step takes. SIGTERM lets running requests end first.
 */

#include "engine/format/segment-hash.h"
#include "engine/format/vocabulary.h"
#include "engine/schedule/engine-loop.h"
#include "engine/schedule/loaded-core.h"
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* With its parent gone nobody waits for a step: after this the process ends in the middle of one. */
#define END_MS 1000
#define PROGRESS_STEP 0.01
#define MAX_GAP_MS 10000
/* What a small core keeps is made again soon. */
#define DRAFT_CONTEXTS 2

typedef struct {
    char *core;
    char *keys;
    int64_t n_threads;
    int64_t context_length;
    int64_t cache_bytes;
    int64_t memory_bytes;
    char *records;
    int64_t record_bytes;
    int64_t gap_ms;
    char *draft;
    char *ladder_text;
    int32_t ladder[SUNDOG_REPLAY_MAX_RUNGS];
    uint32_t n_rungs;
    gboolean is_alike;
} Arguments;

/* Everything between opening a core and running its steps, in the order in which it is made. */
typedef struct {
    int fd; /* of the frames */
    double told;
    SundogKeyring *keyring;
    SundogLoadedCore draft; /* a small core, where one drafts */
    SundogLoadedCore main;
    SundogPageRecorder *recorder;       /* of the main core's pages, or NULL */
    SundogPageRecorder *draft_recorder; /* of the small one's, or NULL */
    GByteArray *outbox;
    SundogScheduler *scheduler; /* of a core for text, else NULL */
    SundogEmbedder *embedder;   /* of a core for vectors or scores, else NULL */
} Engine;

typedef struct {
    SundogInbox *inbox;
    int stop_fd;
} Reader;

/* Arguments */

/* Not g_printerr(), which loses what the locale's encoding lacks: the reader wants UTF-8. */
static void
complain(const char *text)
{
    fprintf(stderr, "sundog-engine: %s\n", text);
}

/* Numbers that rise, with commas between them. */
static bool
parse_ladder(Arguments *arguments, GError **error)
{
    g_auto(GStrv) words = g_strsplit(arguments->ladder_text ? arguments->ladder_text : "", ",", -1);
    for (char **word = words; *word; word++) {
        guint64 n;
        int32_t least = arguments->n_rungs > 0 ? arguments->ladder[arguments->n_rungs - 1] + 1 : 1;
        if (arguments->n_rungs == SUNDOG_REPLAY_MAX_RUNGS) {
            g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                        "--ladder has more than %d sizes", SUNDOG_REPLAY_MAX_RUNGS);
            return false;
        }
        if (!g_ascii_string_to_unsigned(*word, 10, (guint64)least, UINT16_MAX, &n, error))
            return false;
        arguments->ladder[arguments->n_rungs++] = (int32_t)n;
    }
    return true;
}

static bool
check_arguments(const Arguments *arguments, char **words, GError **error)
{
    if (!words || !words[0] || words[1] || !arguments->keys) {
        g_set_error_literal(error, G_OPTION_ERROR, G_OPTION_ERROR_FAILED,
                            "one CORE and --keys FOLDER are needed");
        return false;
    }
    if (arguments->n_threads < 0 || arguments->n_threads > 1024 || arguments->context_length < 0 ||
        arguments->context_length > UINT32_MAX || arguments->cache_bytes < 0 ||
        arguments->memory_bytes < 0 || arguments->record_bytes < 0 || arguments->gap_ms < 0 ||
        arguments->gap_ms > MAX_GAP_MS) {
        g_set_error_literal(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                            "a number is out of range");
        return false;
    }
    return true;
}

static bool
parse_arguments(Arguments *arguments, int *argc, char ***argv, GError **error)
{
    g_auto(GStrv) words = NULL;
    const GOptionEntry entries[] = {
        {"keys", 0, 0, G_OPTION_ARG_FILENAME, &arguments->keys, "folder of trusted keys", "FOLDER"},
        {"threads", 0, 0, G_OPTION_ARG_INT64, &arguments->n_threads, "0: all processors", "N"},
        {"context", 0, 0, G_OPTION_ARG_INT64, &arguments->context_length,
         "tokens a sequence may have, 0: as the core allows", "N"},
        {"cache-bytes", 0, 0, G_OPTION_ARG_INT64, &arguments->cache_bytes,
         "memory of the cache, 0: eight contexts, in a quarter of what is free", "N"},
        {"memory-bytes", 0, 0, G_OPTION_ARG_INT64, &arguments->memory_bytes,
         "of this computer's that all of it may take, 0: what is free", "N"},
        {"records", 0, 0, G_OPTION_ARG_FILENAME, &arguments->records, "folder of prefix records",
         "FOLDER"},
        {"record-bytes", 0, 0, G_OPTION_ARG_INT64, &arguments->record_bytes,
         "most bytes in it, 0: no records", "N"},
        {"gap-ms", 0, 0, G_OPTION_ARG_INT64, &arguments->gap_ms,
         "between tokens while prompts are read beside, 0: the scheduler's own", "N"},
        {"draft", 0, 0, G_OPTION_ARG_FILENAME, &arguments->draft,
         "a small core of the same vocabulary, to guess tokens ahead", "CORE"},
        {"ladder", 0, 0, G_OPTION_ARG_STRING, &arguments->ladder_text,
         "on a GPU: sizes of decoding steps that have a graph, rising", "N,…"},
        {"alike", 0, 0, G_OPTION_ARG_NONE, &arguments->is_alike,
         "on a GPU: the same bits for a token in any company", NULL},
        {G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &words, NULL, "CORE"},
        {NULL},
    };
    g_autoptr(GOptionContext) context = g_option_context_new(NULL);
    g_option_context_add_main_entries(context, entries, NULL);
    if (!g_option_context_parse(context, argc, argv, error) ||
        !check_arguments(arguments, words, error) || !parse_ladder(arguments, error))
        return false;
    arguments->core = g_strdup(words[0]);
    return true;
}

/* Frames before READY */

static void
say(const Engine *engine, SundogMessage type, GVariant *payload)
{
    /* Where nobody reads any more, the reader's end of input ends the process. */
    sundog_frame_write(engine->fd, type, payload, NULL);
}

/* Of weights, no more often than a person can see. */
static void
say_progress(const char *phase, double fraction, void *data)
{
    Engine *engine = data;
    bool is_weights = strcmp(phase, "weights") == 0 && fraction > 0;
    if (is_weights && fraction < engine->told + PROGRESS_STEP)
        return;
    engine->told = is_weights ? fraction : 0;
    say(engine, SUNDOG_MESSAGE_PROGRESS, g_variant_new("(sd)", phase, CLAMP(fraction, 0, 1)));
}

static void
say_ready(const Engine *engine)
{
    const SundogStepRunner *runner = sundog_replay_runner_get(engine->main.runner);
    const SundogCoreInfo *info = sundog_core_get_info(engine->main.core);
    unsigned n_threads = sundog_replay_get_n_threads(engine->main.replay);
    SundogReady ready = {
        .context_length = engine->embedder ? sundog_embedder_get_context_length(engine->embedder)
                                           : sundog_scheduler_get_context_length(engine->scheduler),
        .n_vocabulary = runner->n_vocabulary,
        .max_sequences = runner->max.n_sequences,
        .max_step_tokens = runner->max.n_tokens,
        .page_tokens = runner->page_tokens,
        .pool_pages = (uint64_t)runner->pool_pages,
        .memory_bytes = sundog_loaded_core_get_bytes(&engine->main) +
                        (engine->draft.core ? sundog_loaded_core_get_bytes(&engine->draft) : 0),
        .n_threads = n_threads,
    };
    const char *set = sundog_replay_get_set_name(engine->main.replay);
    if (sundog_core_is_for_host(engine->main.core)) {
        g_snprintf(ready.device, sizeof ready.device, "host: %s, %u thread%s", set, n_threads,
                   n_threads == 1 ? "" : "s");
    } else {
        g_snprintf(ready.device, sizeof ready.device, "%s: %s", info->target, set);
    }
    say(engine, SUNDOG_MESSAGE_READY, sundog_ready_pack(&ready));
}

/* Loading */

static bool
open_keys(Engine *engine, const Arguments *arguments, GError **error)
{
    if (!g_file_test(arguments->keys, G_FILE_TEST_IS_DIR)) { /* opening it would make it */
        g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_NOENT, "there is no folder of keys %s",
                    arguments->keys);
        return false;
    }
    engine->keyring = sundog_keyring_open(arguments->keys, error);
    return engine->keyring != NULL;
}

static SundogVocabulary *
read_vocabulary(const SundogLoadedCore *loaded, GError **error)
{
    g_autoptr(GBytes) bytes = sundog_package_dup_member(sundog_core_get_package(loaded->core),
                                                        SUNDOG_CORE_VOCABULARY, error);
    if (!bytes)
        return NULL;
    SundogReader reader;
    sundog_reader_init(&reader, g_bytes_get_data(bytes, NULL), g_bytes_get_size(bytes),
                       SUNDOG_CORE_VOCABULARY);
    g_autoptr(SundogVocabulary) vocabulary = sundog_vocabulary_read(&reader);
    return sundog_reader_finish(&reader, error) ? g_steal_pointer(&vocabulary) : NULL;
}

static bool
check_vocabularies(const Engine *engine, GError **error)
{
    g_autoptr(SundogVocabulary) small = read_vocabulary(&engine->draft, error);
    g_autoptr(SundogVocabulary) large = small ? read_vocabulary(&engine->main, error) : NULL;
    if (large && sundog_vocabulary_check_same(small, large, error))
        return true;
    g_prefix_error(error,
                   "the core %s cannot draft: ", sundog_core_get_info(engine->draft.core)->name);
    return false;
}

/* The small core comes first: what it takes, the large one plans around. */
static bool
open_cores(Engine *engine, const Arguments *arguments, GError **error)
{
    SundogLoadedCoreOptions options = {
        .n_threads = arguments->n_threads,
        .context_length = arguments->context_length,
        .memory_bytes = (uint64_t)arguments->memory_bytes,
        .progress = say_progress,
        .data = engine,
    };
    if (arguments->draft) {
        options.n_contexts = DRAFT_CONTEXTS;
        if (!sundog_loaded_core_open(&engine->draft, arguments->draft, engine->keyring, &options,
                                     error))
            return false;
        options.taken_bytes = sundog_loaded_core_get_bytes(&engine->draft);
    }
    options.n_contexts = 0;
    options.ladder = arguments->n_rungs > 0 ? arguments->ladder : NULL;
    options.n_rungs = arguments->n_rungs;
    options.is_alike = arguments->is_alike;
    options.cache_bytes = (uint64_t)arguments->cache_bytes;
    return sundog_loaded_core_open(&engine->main, arguments->core, engine->keyring, &options,
                                   error) &&
           (!arguments->draft || check_vocabularies(engine, error));
}

/* All that decides what a page holds beside its tokens. On the host neither threads nor instruction sets
 * do; a GPU's pages stay where they are. */
static void
make_record_key(const SundogLoadedCore *core, uint8_t key[SUNDOG_RECORD_HASH_BYTES])
{
    g_autoptr(JsonNode) manifest = json_node_alloc();
    json_node_init_object(manifest,
                          sundog_package_get_manifest(sundog_core_get_package(core->core)));
    g_autofree char *text = json_to_string(manifest, FALSE);
    SundogSegmentHash hash;
    sundog_segment_hash_init(&hash, UINT64_MAX);
    sundog_segment_hash_append(&hash, SUNDOG_VERSION, sizeof SUNDOG_VERSION);
    sundog_segment_hash_append(&hash, text, strlen(text));
    sundog_segment_hash_finish(&hash);
    memcpy(key, hash.hashes->data, SUNDOG_RECORD_HASH_BYTES);
    sundog_segment_hash_clear(&hash);
}

/* Of a core's pages, in the folder that all cores share, or NULL. An engine without records answers as well:
 * only the next start is slower. */
static SundogPageRecorder *
open_records(const SundogLoadedCore *core, const Arguments *arguments)
{
    const SundogStepRunner *runner = core->runner ? sundog_replay_runner_get(core->runner) : NULL;
    if (!runner || !arguments->records || arguments->record_bytes == 0 ||
        runner->state.n_bytes[SUNDOG_STATE_PAGES] == 0)
        return NULL;
    g_autoptr(GError) error = NULL;
    SundogPageRecorderOptions options = {
        .store =
            sundog_record_store_open(arguments->records, (uint64_t)arguments->record_bytes, &error),
        .n_pages = runner->pool_pages,
        .page_tokens = runner->page_tokens,
        .n_states = runner->pool_states,
        .state = runner->state,
    };
    make_record_key(core, options.key);
    if (!options.store)
        complain(error->message);
    return options.store ? sundog_page_recorder_new(&options) : NULL;
}

/* Of a core that keeps nothing from step to step. */
static void
make_embedder(Engine *engine)
{
    engine->outbox = g_byte_array_new();
    engine->embedder = sundog_embedder_new(sundog_replay_runner_get(engine->main.runner),
                                           engine->main.plan.context_length, engine->outbox);
}

static void
make_scheduler(Engine *engine, const Arguments *arguments)
{
    engine->recorder = open_records(&engine->main, arguments);
    engine->draft_recorder = open_records(&engine->draft, arguments);
    engine->outbox = g_byte_array_new();
    engine->scheduler = sundog_scheduler_new(
        &(SundogSchedulerOptions){
            .context_length = engine->main.plan.context_length,
            .max_kept_pages = -1,
            .gap_us = (uint32_t)arguments->gap_ms * 1000,
            .draft_runner =
                engine->draft.runner ? sundog_replay_runner_get(engine->draft.runner) : NULL,
            .draft_recorder = engine->draft_recorder,
            .recorder = engine->recorder},
        sundog_replay_runner_get(engine->main.runner), engine->outbox);
}

static bool
load(Engine *engine, const Arguments *arguments, GError **error)
{
    g_autofree char *name = g_path_get_basename(arguments->core);
    g_autofree char *valid = g_utf8_make_valid(name, -1);
    say(engine, SUNDOG_MESSAGE_HELLO,
        g_variant_new("(uss)", SUNDOG_WIRE_VERSION, SUNDOG_VERSION, valid));
    if (!open_keys(engine, arguments, error) || !open_cores(engine, arguments, error))
        return false;
    if (sundog_core_get_info(engine->main.core)->purpose == SUNDOG_CORE_GENERATES)
        make_scheduler(engine, arguments);
    else
        make_embedder(engine);
    return true;
}

static void
unload(Engine *engine)
{
    sundog_scheduler_free(engine->scheduler);
    sundog_embedder_free(engine->embedder);
    g_clear_pointer(&engine->outbox, g_byte_array_unref);
    sundog_page_recorder_free(engine->recorder);
    sundog_page_recorder_free(engine->draft_recorder);
    sundog_loaded_core_close(&engine->main);
    sundog_loaded_core_close(&engine->draft);
    sundog_keyring_free(engine->keyring);
}

/* Threads, signals and descriptors */

/* Reads until the input ends. The main thread may be in a long step, or still loading, so a moment
 * later the process is ended from here. */
static gpointer
read_input(gpointer data)
{
    Reader *reader = data;
    sundog_inbox_read(reader->inbox, STDIN_FILENO, reader->stop_fd);
    g_usleep(END_MS * 1000);
    _exit(EXIT_SUCCESS);
}

/* Frames keep standard output for themselves: what anything else prints goes to standard error. */
static int
take_output(void)
{
    int fd = dup(STDOUT_FILENO);
    if (fd < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        return -1;
    return fd;
}

/* SIGTERM becomes readable for the reader; blocked before there is any other thread. */
static int
take_signal(void)
{
    sigset_t signals;
    signal(SIGPIPE, SIG_IGN);
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    return signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

static int
serve(Engine *engine, const Arguments *arguments, SundogInbox *inbox)
{
    g_autoptr(GError) error = NULL;
    if (!load(engine, arguments, &error)) {
        g_autofree char *text = g_utf8_make_valid(error->message, -1);
        SundogFault fault = {0, SUNDOG_FAULT_LOAD_FAILED, text};
        say(engine, SUNDOG_MESSAGE_FAULT, sundog_fault_pack(&fault));
        complain(error->message);
        return EXIT_FAILURE;
    }
    say_ready(engine);
    if (!sundog_engine_loop(engine->scheduler, engine->embedder, inbox, engine->outbox, engine->fd,
                            &error)) {
        complain(error->message);
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}

static void
arguments_clear(Arguments *arguments)
{
    g_free(arguments->core);
    g_free(arguments->keys);
    g_free(arguments->records);
    g_free(arguments->draft);
    g_free(arguments->ladder_text);
}

int
main(int argc, char **argv)
{
    Arguments arguments = {0};
    g_autoptr(GError) error = NULL;
    if (!parse_arguments(&arguments, &argc, &argv, &error)) {
        complain(error->message);
        arguments_clear(&arguments);
        return 2;
    }
    Engine engine = {.fd = take_output()};
    Reader reader = {.inbox = sundog_inbox_new(), .stop_fd = take_signal()};
    g_thread_unref(g_thread_new("reader", read_input, &reader));
    int status = serve(&engine, &arguments, reader.inbox);
    unload(&engine);
    arguments_clear(&arguments);
    /* The reader still waits for its input, with nothing left to hand over, and ends with the process. */
    return status;
}
