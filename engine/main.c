/*
 * sundog-engine CORE --keys FOLDER [--threads N] [--context N] [--cache-bytes N]
 *                    [--records FOLDER --record-bytes N] [--gap-ms N]
 *
 * The child process that owns one core: frames on standard input and output, words for a person on
 * standard error. Says HELLO, loads, says READY or why not, answers requests, and ends when its input
 * does, in bounded time whatever a step takes. SIGTERM lets running requests end first.
 */

#include "engine/core/step.h"
#include "engine/format/segment-hash.h"
#include "engine/schedule/engine-loop.h"
#include "engine/schedule/memory-plan.h"
#include "engine/schedule/replay-runner.h"
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
} Arguments;

/* Everything between opening a core and running its steps, in the order in which it is made. */
typedef struct {
    int fd; /* of the frames */
    double told;
    SundogKeyring *keyring;
    SundogCore *core;
    SundogMemoryPlan plan;
    SundogReplay *replay;
    SundogReplayRunner *runner;
    SundogPageRecorder *recorder; /* or NULL */
    GByteArray *outbox;
    SundogScheduler *scheduler;
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
        {G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &words, NULL, "CORE"},
        {NULL},
    };
    g_autoptr(GOptionContext) context = g_option_context_new(NULL);
    g_option_context_add_main_entries(context, entries, NULL);
    if (!g_option_context_parse(context, argc, argv, error) ||
        !check_arguments(arguments, words, error))
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

static void
say_progress(Engine *engine, const char *phase, double fraction)
{
    say(engine, SUNDOG_MESSAGE_PROGRESS, g_variant_new("(sd)", phase, CLAMP(fraction, 0, 1)));
}

static void
on_weights(double fraction, void *data)
{
    Engine *engine = data;
    if (fraction >= engine->told + PROGRESS_STEP) {
        engine->told = fraction;
        say_progress(engine, "weights", fraction);
    }
}

static void
say_ready(const Engine *engine)
{
    const SundogStepRunner *runner = sundog_replay_runner_get(engine->runner);
    const SundogCoreInfo *info = sundog_core_get_info(engine->core);
    unsigned n_threads = sundog_replay_get_n_threads(engine->replay);
    const SundogCoreCache *cache = sundog_core_get_cache(engine->core);
    const SundogShape *bounds = sundog_replay_get_bounds(engine->replay);
    uint64_t state_bytes =
        (uint64_t)bounds->values[SUNDOG_VARIABLE_POOL_STATES] * cache->state_bytes;
    SundogReady ready = {
        .context_length = sundog_scheduler_get_context_length(engine->scheduler),
        .n_vocabulary = runner->n_vocabulary,
        .max_sequences = runner->max.n_sequences,
        .max_step_tokens = runner->max.n_tokens,
        .page_tokens = runner->page_tokens,
        .pool_pages = (uint64_t)runner->pool_pages,
        .memory_bytes = info->weight_bytes + sundog_core_measure_arena(engine->core, n_threads) +
                        (uint64_t)runner->pool_pages * cache->page_bytes + state_bytes,
        .n_threads = n_threads,
    };
    const char *set = sundog_replay_get_set_name(engine->replay);
    if (strcmp(info->target, SUNDOG_CORE_TARGET_HOST) == 0) {
        g_snprintf(ready.device, sizeof ready.device, "host: %s, %u thread%s", set, n_threads,
                   n_threads == 1 ? "" : "s");
    } else {
        g_snprintf(ready.device, sizeof ready.device, "%s: %s", info->target, set);
    }
    say(engine, SUNDOG_MESSAGE_READY, sundog_ready_pack(&ready));
}

/* Loading */

static bool
open_core(Engine *engine, const Arguments *arguments, GError **error)
{
    say_progress(engine, "verify", 0);
    if (!g_file_test(arguments->keys, G_FILE_TEST_IS_DIR)) { /* opening it would make it */
        g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_NOENT, "there is no folder of keys %s",
                    arguments->keys);
        return false;
    }
    engine->keyring = sundog_keyring_open(arguments->keys, error);
    if (!engine->keyring)
        return false;
    engine->core = sundog_core_open(arguments->core, engine->keyring, error);
    say_progress(engine, "verify", 1);
    return engine->core != NULL;
}

static bool
plan_memory(Engine *engine, const Arguments *arguments, GError **error)
{
    const SundogCoreInfo *info = sundog_core_get_info(engine->core);
    const SundogCoreCache *cache = sundog_core_get_cache(engine->core);
    const SundogProgram *forward = sundog_core_get_program(engine->core, SUNDOG_PROGRAM_FORWARD);
    if (!forward) {
        g_set_error_literal(error, SUNDOG_REPLAY_ERROR, SUNDOG_REPLAY_ERROR_PROGRAM,
                            "the core has no program for a forward pass: prepare it again");
        return false;
    }
    const SundogShape *bounds = sundog_program_get_bounds(forward);
    uint64_t longest =
        (uint64_t)bounds->values[SUNDOG_VARIABLE_SEQUENCE_PAGES] * cache->page_tokens;
    uint64_t wanted =
        arguments->context_length > 0 ? (uint64_t)arguments->context_length : info->context_length;
    uint64_t device_bytes;
    if (!sundog_replay_find_device_bytes(engine->core, &device_bytes, error))
        return false;
    uint64_t free_bytes = sundog_memory_get_available();
    if (arguments->memory_bytes > 0)
        free_bytes = MIN(free_bytes, (uint64_t)arguments->memory_bytes);
    SundogMemoryNeeds needs = {
        .available_bytes = device_bytes > 0 ? device_bytes : free_bytes,
        .fixed_bytes = info->weight_bytes +
                       sundog_core_measure_arena(engine->core, (unsigned)arguments->n_threads),
        .page_bytes = cache->page_bytes,
        .state_bytes = cache->state_bytes,
        .page_tokens = cache->page_tokens,
        .context_length = (uint32_t)MIN(wanted, MIN(longest, info->context_length)),
        .max_sequences = (uint32_t)bounds->values[SUNDOG_VARIABLE_SEQUENCES],
        .max_pages = (uint64_t)bounds->values[SUNDOG_VARIABLE_POOL_PAGES],
        .cache_bytes = (uint64_t)arguments->cache_bytes,
    };
    return sundog_memory_plan_make(&engine->plan, &needs, error);
}

static bool
check_threads(const Engine *engine, const Arguments *arguments, GError **error)
{
    const SundogProgram *forward = sundog_core_get_program(engine->core, SUNDOG_PROGRAM_FORWARD);
    int64_t most = sundog_program_get_bounds(forward)->values[SUNDOG_VARIABLE_UNITS];
    if (arguments->n_threads <= most)
        return true;
    g_set_error(error, SUNDOG_REPLAY_ERROR, SUNDOG_REPLAY_ERROR_BOUNDS,
                "%" G_GINT64_FORMAT
                " threads were asked for, the core runs on at most %" G_GINT64_FORMAT,
                arguments->n_threads, most);
    return false;
}

static bool
open_replay(Engine *engine, const Arguments *arguments, GError **error)
{
    uint32_t page_tokens = sundog_core_get_cache(engine->core)->page_tokens;
    say_progress(engine, "weights", 0);
    SundogReplayOptions options = {
        .n_threads = (unsigned)arguments->n_threads,
        .pool_pages = engine->plan.pool_pages,
        .pool_states = engine->plan.pool_states,
        .sequence_pages = (engine->plan.context_length + page_tokens - 1) / page_tokens,
        .host_set = -1,
        .progress = on_weights,
        .data = engine,
    };
    engine->replay = sundog_replay_open(engine->core, &options, error);
    return engine->replay != NULL;
}

/* All that decides what a page holds beside its tokens. On the host neither threads nor instruction sets
 * do; a GPU's pages stay where they are. */
static void
make_record_key(const Engine *engine, uint8_t key[SUNDOG_RECORD_HASH_BYTES])
{
    g_autoptr(JsonNode) manifest = json_node_alloc();
    json_node_init_object(manifest,
                          sundog_package_get_manifest(sundog_core_get_package(engine->core)));
    g_autofree char *text = json_to_string(manifest, FALSE);
    SundogSegmentHash hash;
    sundog_segment_hash_init(&hash, UINT64_MAX);
    sundog_segment_hash_append(&hash, SUNDOG_VERSION, sizeof SUNDOG_VERSION);
    sundog_segment_hash_append(&hash, text, strlen(text));
    sundog_segment_hash_finish(&hash);
    memcpy(key, hash.hashes->data, SUNDOG_RECORD_HASH_BYTES);
    sundog_segment_hash_clear(&hash);
}

/* An engine without records answers as well: only the next start is slower. */
static void
open_records(Engine *engine, const Arguments *arguments)
{
    const SundogStepRunner *runner = sundog_replay_runner_get(engine->runner);
    if (!arguments->records || arguments->record_bytes == 0 || runner->page_bytes == 0)
        return;
    g_autoptr(GError) error = NULL;
    SundogPageRecorderOptions options = {
        .store =
            sundog_record_store_open(arguments->records, (uint64_t)arguments->record_bytes, &error),
        .n_pages = runner->pool_pages,
        .page_tokens = runner->page_tokens,
        .page_bytes = runner->page_bytes,
        .read_page = runner->read_page,
        .write_page = runner->write_page,
        .n_states = runner->pool_states,
        .state_bytes = runner->state_bytes,
        .read_state = runner->read_state,
        .write_state = runner->write_state,
        .data = runner->data,
    };
    make_record_key(engine, options.key);
    if (options.store)
        engine->recorder = sundog_page_recorder_new(&options);
    else
        complain(error->message);
}

static bool
make_scheduler(Engine *engine, const Arguments *arguments, GError **error)
{
    engine->runner = sundog_replay_runner_new(engine->replay, engine->core, error);
    if (!engine->runner)
        return false;
    say_progress(engine, "warm", 0);
    if (!sundog_replay_runner_warm(engine->runner, error))
        return false;
    open_records(engine, arguments);
    engine->outbox = g_byte_array_new();
    engine->scheduler = sundog_scheduler_new(
        &(SundogSchedulerOptions){.context_length = engine->plan.context_length,
                                  .max_kept_pages = -1,
                                  .gap_us = (uint32_t)arguments->gap_ms * 1000,
                                  .recorder = engine->recorder},
        sundog_replay_runner_get(engine->runner), engine->outbox);
    return true;
}

static bool
load(Engine *engine, const Arguments *arguments, GError **error)
{
    g_autofree char *name = g_path_get_basename(arguments->core);
    g_autofree char *valid = g_utf8_make_valid(name, -1);
    say(engine, SUNDOG_MESSAGE_HELLO,
        g_variant_new("(uss)", SUNDOG_WIRE_VERSION, SUNDOG_VERSION, valid));
    return open_core(engine, arguments, error) && plan_memory(engine, arguments, error) &&
           check_threads(engine, arguments, error) && open_replay(engine, arguments, error) &&
           make_scheduler(engine, arguments, error);
}

static void
unload(Engine *engine)
{
    sundog_scheduler_free(engine->scheduler);
    g_clear_pointer(&engine->outbox, g_byte_array_unref);
    sundog_page_recorder_free(engine->recorder);
    sundog_replay_runner_free(engine->runner);
    sundog_replay_close(engine->replay);
    sundog_core_free(engine->core);
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
    if (!sundog_engine_loop(engine->scheduler, inbox, engine->outbox, engine->fd, &error)) {
        complain(error->message);
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}

int
main(int argc, char **argv)
{
    Arguments arguments = {0};
    g_autoptr(GError) error = NULL;
    if (!parse_arguments(&arguments, &argc, &argv, &error)) {
        complain(error->message);
        return 2;
    }
    Engine engine = {.fd = take_output()};
    Reader reader = {.inbox = sundog_inbox_new(), .stop_fd = take_signal()};
    g_thread_unref(g_thread_new("reader", read_input, &reader));
    int status = serve(&engine, &arguments, reader.inbox);
    unload(&engine);
    g_free(arguments.core);
    g_free(arguments.keys);
    g_free(arguments.records);
    /* The reader still waits for its input, with nothing left to hand over, and ends with the process. */
    return status;
}
