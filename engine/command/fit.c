/* sundog fit CORE: measures a core on this machine and keeps what was found. */

#include "engine/command/command.h"
#include "engine/command/interrupt.h"
#include "engine/command/library-words.h"
#include "engine/command/speed.h"
#include "engine/command/terminal.h"
#include "engine/library/fit-file.h"
#include <stdio.h>

#define N_PREFILL 512
#define N_DECODE 64
#define N_REPEAT 3

static gint n_threads = 0;

static const GOptionEntry options[] = {
    {"threads", 0, 0, G_OPTION_ARG_INT, &n_threads, "processor threads; 0: as configured", "N"},
    {NULL},
};

static void
on_progress(const char *phase, double fraction)
{
    sundog_terminal_progress(phase, "Measuring", fraction);
}

static void
tell(const SundogFitFile *fit)
{
    sundog_terminal_progress_end();
    if (!sundog_command_json) {
        printf("%s on %s\n", fit->core, fit->device);
        printf("  reads   %10.1f tokens/s\n", fit->prefill_tokens_per_second);
        printf("  writes  %10.1f tokens/s\n", fit->decode_tokens_per_second);
        return;
    }
    JsonObject *object = json_object_new();
    json_object_set_boolean_member(object, "done", TRUE);
    json_object_set_string_member(object, "name", fit->core);
    json_object_set_double_member(object, "prefill_tokens_per_second",
                                  fit->prefill_tokens_per_second);
    json_object_set_double_member(object, "decode_tokens_per_second",
                                  fit->decode_tokens_per_second);
    sundog_terminal_print_json(object);
}

static bool
keep(const SundogLibraryEntry *entry, const SundogReady *ready, const SundogSpeed *prefill,
     const SundogSpeed *decode, GError **error)
{
    SundogFitFile fit = {
        .core = entry->name,
        .created = json_object_get_string_member_with_default(entry->info, "created", NULL),
        .device = ready->device,
        .n_threads = ready->n_threads,
        .prefill_tokens_per_second = prefill->median,
        .decode_tokens_per_second = decode->median,
    };
    if (!sundog_fit_file_write(&fit, error))
        return false;
    tell(&fit);
    return true;
}

static bool
fit_core(const char *word, GError **error)
{
    g_autoptr(SundogLibrary) library = sundog_library_open(error);
    g_autoptr(SundogLibraryEntry) entry =
        library != NULL ? sundog_words_find_core(library, word, error) : NULL;
    SundogEngineSessionOptions session_options = {
        .n_threads = n_threads, .cancellable = sundog_interrupt_get_cancellable()};
    g_autoptr(SundogEngineSession) session =
        entry != NULL ? sundog_engine_session_open(library, entry, &session_options, error) : NULL;
    if (session == NULL)
        return false;
    const SundogReady *ready = sundog_engine_session_get_ready(session);
    int longest = (int)MIN(ready->context_length / 2, (uint32_t)N_PREFILL);
    SundogSpeedOptions speed = {.n_prefill = MAX(longest, 1),
                                .n_decode = MIN(N_DECODE, MAX(longest, 1)),
                                .n_repeat = N_REPEAT,
                                .progress = on_progress};
    SundogSpeed prefill;
    SundogSpeed decode;
    return sundog_speed_measure(session, &speed, &prefill, &decode, error) &&
           keep(entry, ready, &prefill, &decode, error);
}

static int
run(char **words, unsigned n_words)
{
    g_autoptr(GError) error = NULL;
    if (n_threads < 0 || n_threads > 1024) {
        sundog_terminal_error("--threads is 0 to 1024, not %d", n_threads);
        return SUNDOG_EXIT_USAGE;
    }
    return fit_core(words[0], &error) ? SUNDOG_EXIT_OK : sundog_terminal_fail(error);
}

const SundogCommand sundog_command_fit = {
    .name = "fit",
    .summary = "measure a core here and keep the result",
    .parameters = "CORE",
    .help =
        "Measures how fast a core reads and writes on this machine and keeps it in the cache,\n"
        "where the server and the app find it. Done again at any time, in seconds; what is kept\n"
        "may be deleted. On the host every fit gives the same answers.\n\n"
        "  sundog fit smollm2-135m-instruct",
    .options = options,
    .has_json = true,
    .min_words = 1,
    .max_words = 1,
    .run = run,
};
