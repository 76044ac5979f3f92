/* sundog verify CORE: proves a core on this machine. */

#include "engine/prepare/verify.h"

#include "engine/command/command.h"
#include "engine/command/interrupt.h"
#include "engine/command/library-words.h"
#include "engine/command/terminal.h"
#include "engine/format/json-members.h"
#include "engine/library/fit-file.h"
#include <stdio.h>

static gboolean hashes_only = FALSE;
static gint n_threads = 0;

static const GOptionEntry options[] = {
    {"hashes-only", 0, 0, G_OPTION_ARG_NONE, &hashes_only,
     "compare signature and hashes alone, and compute nothing", NULL},
    {"threads", 0, 0, G_OPTION_ARG_INT, &n_threads, "processor threads; 0: all", "N"},
    {NULL},
};

static void
on_hash_progress(double fraction, void *data)
{
    sundog_terminal_progress("hashes", "Comparing hashes", fraction);
}

static void
on_verify_progress(const char *phase, double fraction, void *data)
{
    sundog_terminal_progress(phase, "Recomputing", fraction);
}

static void
print_operations(const SundogVerifyReport *report)
{
    printf("\nOperations, %s against plain %14s %16s %16s %12s\n", report->kernels, "calls",
           "bytes compared", "different", "error");
    for (int kind = 0; kind < SUNDOG_N_OPERATIONS; kind++) {
        const SundogVerifyOperation *operation = &report->operations[kind];
        if (operation->n_calls > 0)
            printf("  %-36s %10u %16" G_GUINT64_FORMAT " %16" G_GUINT64_FORMAT " %12.2e\n",
                   sundog_operations[kind].name, operation->n_calls, operation->n_bytes,
                   operation->n_different, operation->largest_error);
    }
}

static void
print_steps(const SundogVerifyReport *report)
{
    printf("\nWhole steps against the unfused program in float32\n");
    printf("  %-36s %u\n", report->has_distributions ? "positions" : "texts", report->n_positions);
    printf("  %-36s %u\n", "differ between two runs", report->n_unequal);
    printf("  %-36s %u\n", "with a value that is no number", report->n_not_finite);
    printf("  %-36s %.3e\n",
           report->has_distributions ? "largest error of a position" : "largest error",
           report->largest_error);
    if (!report->has_distributions)
        return;
    printf("  %-36s %.3e mean, %.3e p99 (nats)\n", "divergence", report->mean_divergence,
           report->p99_divergence);
    printf("  %-36s %.3e (nats)\n", "regret", report->mean_regret);
    printf("  %-36s %.2f %%\n", "same best token", 100 * report->alike);
}

static JsonObject *
operations_to_json(const SundogVerifyReport *report)
{
    JsonObject *object = json_object_new();
    for (int kind = 0; kind < SUNDOG_N_OPERATIONS; kind++) {
        const SundogVerifyOperation *operation = &report->operations[kind];
        if (operation->n_calls == 0)
            continue;
        JsonObject *row = json_object_new();
        json_object_set_int_member(row, "calls", operation->n_calls);
        json_object_set_int_member(row, "bytes", (gint64)operation->n_bytes);
        json_object_set_int_member(row, "different_bytes", (gint64)operation->n_different);
        json_object_set_double_member(row, "largest_error", operation->largest_error);
        json_object_set_object_member(object, sundog_operations[kind].name, row);
    }
    return object;
}

static void
add_report(JsonObject *object, const SundogVerifyReport *report)
{
    if (report->kernels != NULL) {
        json_object_set_string_member(object, "kernels", report->kernels);
        json_object_set_object_member(object, "operations", operations_to_json(report));
    }
    json_object_set_int_member(object, "positions", report->n_positions);
    json_object_set_int_member(object, "unequal_positions", report->n_unequal);
    json_object_set_int_member(object, "not_finite_positions", report->n_not_finite);
    json_object_set_double_member(object, "largest_error", report->largest_error);
    if (!report->has_distributions)
        return;
    json_object_set_double_member(object, "mean_divergence", report->mean_divergence);
    json_object_set_double_member(object, "p99_divergence", report->p99_divergence);
    json_object_set_double_member(object, "mean_regret", report->mean_regret);
    json_object_set_double_member(object, "alike", report->alike);
}

/* What was looked at. report NULL: nothing was computed. */
static const char *
describe(const SundogVerifyReport *report)
{
    if (report == NULL)
        return "signature and hashes";
    return report->kernels != NULL ? "signature, hashes, operations and whole steps"
                                   : "signature, hashes and whole steps";
}

static int
tell(const char *name, const SundogVerifyReport *report)
{
    sundog_terminal_progress_end();
    if (report != NULL && !sundog_command_json) {
        if (report->kernels != NULL)
            print_operations(report);
        print_steps(report);
    }
    if (report != NULL && report->problems != NULL) {
        sundog_terminal_error("%s does not compute what it should:\n%s\nPrepare it again; if that "
                              "does not help, this %s or its memory is at fault.",
                              name, report->problems,
                              report->kernels != NULL ? "processor" : "graphics card");
        return SUNDOG_EXIT_FAILED;
    }
    if (sundog_command_json) {
        JsonObject *object = json_object_new();
        json_object_set_boolean_member(object, "done", TRUE);
        json_object_set_string_member(object, "name", name);
        if (report != NULL)
            add_report(object, report);
        sundog_terminal_print_json(object);
    } else {
        printf("\n%s is good: %s.\n", name, describe(report));
    }
    return SUNDOG_EXIT_OK;
}

static SundogCore *
open_and_hash(SundogLibrary *library, const SundogLibraryEntry *entry, GError **error)
{
    g_autoptr(SundogCore) core =
        sundog_core_open(entry->path, sundog_library_get_keyring(library), error);
    unsigned n = n_threads > 0 ? (unsigned)n_threads : g_get_num_processors();
    if (core == NULL || !sundog_package_verify(sundog_core_get_package(core), n, on_hash_progress,
                                               NULL, sundog_interrupt_get_cancellable(), error))
        return NULL;
    return g_steal_pointer(&core);
}

static int
run(char **words, unsigned n_words)
{
    g_autoptr(GError) error = NULL;
    if (n_threads < 0 || n_threads > 1024) {
        sundog_terminal_error("--threads is 0 to 1024, not %d", n_threads);
        return SUNDOG_EXIT_USAGE;
    }
    g_autoptr(SundogLibrary) library = sundog_library_open(&error);
    g_autoptr(SundogLibraryEntry) entry =
        library != NULL ? sundog_words_find_core(library, words[0], &error) : NULL;
    g_autoptr(SundogCore) core = entry != NULL ? open_and_hash(library, entry, &error) : NULL;
    if (core == NULL)
        return sundog_terminal_fail(error);
    if (hashes_only)
        return tell(entry->name, NULL);
    g_auto(GStrv) fitted = sundog_fit_file_dup_arguments(
        entry->name, sundog_json_get_string(entry->info, "created", NULL));
    SundogVerifyOptions verify = {
        .n_threads = (unsigned)n_threads,
        .is_alike = g_strv_contains((const char *const *)fitted, SUNDOG_FIT_FILE_ALIKE),
        .progress = on_verify_progress,
        .cancellable = sundog_interrupt_get_cancellable(),
    };
    g_auto(SundogVerifyReport) report = {0};
    if (!sundog_verify(core, &verify, &report, &error))
        return sundog_terminal_fail(error);
    return tell(entry->name, &report);
}

const SundogCommand sundog_command_verify = {
    .name = "verify",
    .summary = "prove that a core is whole and computes what it should",
    .parameters = "CORE",
    .help =
        "Compares a core's signature and all hashes. Then recomputes operations of sampled steps\n"
        "with the plain kernels that define them, and whole steps with the model's own program\n"
        "in float32, and tells how far apart they are; of a core for a GPU whole steps alone. The\n"
        "exit status is 1 where anything is wrong.\n\n"
        "  sundog verify smollm2-135m-instruct",
    .options = options,
    .has_json = true,
    .min_words = 1,
    .max_words = 1,
    .run = run,
};
