/* sundog fit CORE: measures a core on this machine and keeps what was found. */

#include "engine/prepare/fit.h"
#include "engine/command/command.h"
#include "engine/command/interrupt.h"
#include "engine/command/library-words.h"
#include "engine/command/speed.h"
#include "engine/command/terminal.h"
#include "engine/format/json-members.h"
#include "engine/library/fit-file.h"
#include <stdio.h>

#define N_PREFILL 512
#define N_DECODE 64
#define N_REPEAT 3

static gint n_threads = 0;
static gboolean deterministic = FALSE;
static gboolean usual = FALSE;

static const GOptionEntry options[] = {
    {"threads", 0, 0, G_OPTION_ARG_INT, &n_threads, "processor threads; 0: as configured", "N"},
    {"deterministic", 0, 0, G_OPTION_ARG_NONE, &deterministic,
     "on a GPU: the same answer to the same request in any company, at some cost", NULL},
    {"usual", 0, 0, G_OPTION_ARG_NONE, &usual, "as fast as can be again, after --deterministic",
     NULL},
    {NULL},
};

static void
on_progress(const char *phase, double fraction)
{
    sundog_terminal_progress(phase, "Measuring", fraction);
}

static void
on_fit_progress(double fraction, void *data)
{
    sundog_terminal_progress("steps", "Timing steps", fraction);
}

typedef struct {
    const SundogLibraryEntry *entry;
    SundogFit fit; /* n_rungs 0: of a core for which nothing is chosen */
} Fitting;

static void
tell_choice(const SundogFit *fit)
{
    int32_t ladder[SUNDOG_REPLAY_MAX_RUNGS];
    uint32_t n_kept = sundog_fit_get_ladder(fit, ladder);
    const SundogFitRung *first = &fit->rungs[0], *last = &fit->rungs[fit->n_rungs - 1];
    sundog_terminal_progress_end();
    if (sundog_command_json)
        return;
    printf("%u of %u sizes of decoding steps have a graph:", n_kept, fit->n_rungs);
    for (uint32_t i = 0; i < n_kept; i++)
        printf(" %d", ladder[i]);
    printf("\n  a step of 1 takes %.0f us, of %d %.0f, of a prompt of %d tokens %.0f\n", first->us,
           last->n_sequences, last->us, fit->prompt_tokens, fit->prompt_us);
    if (fit->is_alike)
        printf("  being deterministic takes %.2f times as long for a token, %.2f for a prompt\n",
               first->us / fit->usual_decode_us, fit->prompt_us / fit->usual_prompt_us);
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

/* Writes the file with what was chosen, if anything was. */
static bool
write_file(const Fitting *fitting, SundogFitFile *file, GError **error)
{
    const SundogFit *fit = &fitting->fit;
    SundogFitFileRung rungs[SUNDOG_REPLAY_MAX_RUNGS];
    for (uint32_t i = 0; i < fit->n_rungs; i++)
        rungs[i] =
            (SundogFitFileRung){fit->rungs[i].n_sequences, fit->rungs[i].us, fit->rungs[i].is_kept};
    const SundogFitFileGpu gpu = {.is_alike = fit->is_alike,
                                  .n_context = fit->n_context,
                                  .rungs = rungs,
                                  .n_rungs = fit->n_rungs,
                                  .prompt_tokens = fit->prompt_tokens,
                                  .prompt_us = fit->prompt_us,
                                  .usual_decode_us = fit->usual_decode_us,
                                  .usual_prompt_us = fit->usual_prompt_us};
    file->core = fitting->entry->name;
    file->created = sundog_json_get_string(fitting->entry->info, "created", NULL);
    file->gpu = fit->n_rungs > 0 ? &gpu : NULL;
    return sundog_fit_file_write(file, error);
}

/* What a person has asked for once holds for later fits too, which a server may begin. */
static bool
was_alike(const SundogLibraryEntry *entry)
{
    g_auto(GStrv) words = sundog_fit_file_dup_arguments(
        entry->name, sundog_json_get_string(entry->info, "created", NULL));
    return g_strv_contains((const char *const *)words, SUNDOG_FIT_FILE_ALIKE);
}

/* Of a core for a GPU; kept at once, so that the engine that is measured next runs with it. */
static bool
choose(SundogLibrary *library, Fitting *fitting, GError **error)
{
    const SundogFitOptions fit_options = {.is_alike = deterministic ||
                                                      (!usual && was_alike(fitting->entry)),
                                          .progress = on_fit_progress,
                                          .cancellable = sundog_interrupt_get_cancellable()};
    g_autoptr(SundogCore) core =
        sundog_core_open(fitting->entry->path, sundog_library_get_keyring(library), error);
    if (core == NULL)
        return false;
    if (sundog_core_is_for_host(core) ||
        sundog_core_get_info(core)->purpose != SUNDOG_CORE_GENERATES)
        return true;
    SundogFitFile file = {.device = sundog_core_get_info(core)->target};
    if (!sundog_fit_measure(core, &fit_options, &fitting->fit, error))
        return false;
    tell_choice(&fitting->fit);
    return write_file(fitting, &file, error);
}

static bool
measure(SundogLibrary *library, const Fitting *fitting, GError **error)
{
    SundogEngineSessionOptions session_options = {
        .n_threads = n_threads, .cancellable = sundog_interrupt_get_cancellable()};
    g_autoptr(SundogEngineSession) session =
        sundog_engine_session_open(library, fitting->entry, &session_options, error);
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
    if (!sundog_speed_measure(session, &speed, &prefill, &decode, error))
        return false;
    SundogFitFile file = {.device = ready->device,
                          .n_threads = ready->n_threads,
                          .prefill_tokens_per_second = prefill.median,
                          .decode_tokens_per_second = decode.median};
    if (!write_file(fitting, &file, error))
        return false;
    tell(&file);
    return true;
}

static bool
fit_core(const char *word, GError **error)
{
    g_autoptr(SundogLibrary) library = sundog_library_open(error);
    g_autoptr(SundogLibraryEntry) entry =
        library != NULL ? sundog_words_find_core(library, word, error) : NULL;
    Fitting fitting = {.entry = entry};
    return entry != NULL && choose(library, &fitting, error) && measure(library, &fitting, error);
}

static int
run(char **words, unsigned n_words)
{
    g_autoptr(GError) error = NULL;
    if (n_threads < 0 || n_threads > 1024) {
        sundog_terminal_error("--threads is 0 to 1024, not %d", n_threads);
        return SUNDOG_EXIT_USAGE;
    }
    if (deterministic && usual) {
        sundog_terminal_error("%s", "Say --deterministic or --usual, not both.");
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
        "may be deleted. Of a core for a GPU it first chooses which sizes of steps are worth a\n"
        "graph; with --deterministic a request has the same answer in any company there too, as\n"
        "on a processor it always has. Later fits keep that, until one has --usual.\n\n"
        "  sundog fit smollm2-135m-instruct\n"
        "  sundog fit llama-3.1-8b@sm_90a --deterministic",
    .options = options,
    .has_json = true,
    .min_words = 1,
    .max_words = 1,
    .run = run,
};
