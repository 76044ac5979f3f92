/* sundog bench CORE: how fast a core reads and writes on this machine. */

#include "engine/command/ablation.h"
#include "engine/command/benchmark-log.h"
#include "engine/command/command.h"
#include "engine/command/interrupt.h"
#include "engine/command/library-words.h"
#include "engine/command/machine.h"
#include "engine/command/share.h"
#include "engine/command/terminal.h"
#include <stdio.h>

static gint n_threads = 0;
static gint n_prefill = 512;
static gint n_decode = 128;
static gint n_repeat = 5;
static gboolean ablate = FALSE;
static gboolean record = FALSE;
static gboolean report = FALSE;
static char *log_file = NULL;

static const GOptionEntry options[] = {
    {"threads", 0, 0, G_OPTION_ARG_INT, &n_threads, "processor threads; 0: as configured", "N"},
    {"prefill", 0, 0, G_OPTION_ARG_INT, &n_prefill, "tokens of the prompt that is read (512)", "N"},
    {"decode", 0, 0, G_OPTION_ARG_INT, &n_decode, "tokens that are written (128)", "N"},
    {"repeat", 0, 0, G_OPTION_ARG_INT, &n_repeat, "times each is measured (5)", "N"},
    {"ablate", 0, 0, G_OPTION_ARG_NONE, &ablate,
     "on a GPU: what each kind of operation costs, by leaving it out", NULL},
    {"record", 0, 0, G_OPTION_ARG_NONE, &record, "append the result to the log", NULL},
    {"report", 0, 0, G_OPTION_ARG_NONE, &report, "name what the log shows to have become slower",
     NULL},
    {"log", 0, 0, G_OPTION_ARG_FILENAME, &log_file, "the log (" SUNDOG_BENCHMARK_LOG ")", "FILE"},
    {NULL},
};

static SundogBenchmarkRow *
measure_core(const char *word, GError **error)
{
    g_autoptr(SundogLibrary) library = sundog_library_open(error);
    g_autoptr(SundogLibraryEntry) core =
        library != NULL ? sundog_words_find_core(library, word, error) : NULL;
    if (core == NULL)
        return NULL;
    SundogEngineSessionOptions session_options = {
        .n_threads = n_threads, .cancellable = sundog_interrupt_get_cancellable()};
    g_autoptr(SundogEngineSession) session =
        sundog_engine_session_open(library, core, &session_options, error);
    SundogSpeedOptions speed = {.n_prefill = n_prefill, .n_decode = n_decode, .n_repeat = n_repeat};
    SundogSpeed prefill;
    SundogSpeed decode;
    if (session == NULL || !sundog_speed_measure(session, &speed, &prefill, &decode, error))
        return NULL;
    const SundogReady *ready = sundog_engine_session_get_ready(session);
    g_autofree char *processor = sundog_machine_dup_processor();
    g_autoptr(GDateTime) now = g_date_time_new_now_utc();
    SundogBenchmarkRow *row = g_new0(SundogBenchmarkRow, 1);
    *row = (SundogBenchmarkRow){
        .time = g_date_time_format(now, "%Y-%m-%dT%H:%M:%SZ"),
        .machine = g_strdup_printf("%s (%s)", processor, ready->device),
        .version = g_strdup(SUNDOG_VERSION),
        .core = g_strdup(core->name),
        .n_threads = ready->n_threads,
        .n_prefill = (unsigned)n_prefill,
        .n_decode = (unsigned)n_decode,
        .n_repeat = (unsigned)n_repeat,
        .prefill = prefill,
        .decode = decode,
    };
    return row;
}

/* Of a core for a GPU, which no engine holds any more; `share` is empty for others. */
static bool
find_share(const char *word, const SundogBenchmarkRow *row, SundogShare *share, GError **error)
{
    *share = (SundogShare){0};
    g_autoptr(SundogLibrary) library = sundog_library_open(error);
    g_autoptr(SundogLibraryEntry) entry = NULL;
    g_autoptr(SundogCore) core =
        library != NULL ? sundog_words_open_core(library, word, &entry, error) : NULL;
    return core != NULL &&
           (sundog_core_is_for_host(core) ||
            sundog_share_find(core, row->n_decode, row->decode.median, share, error));
}

static void
add_share(JsonObject *object, const SundogShare *share)
{
    if (share->n_launches == 0)
        return;
    json_object_set_double_member(object, "read_bytes_per_second",
                                  share->ceilings.read_bytes_per_second);
    json_object_set_double_member(object, "node_us", share->ceilings.node_us);
    json_object_set_double_member(object, "launch_us", share->ceilings.launch_us);
    json_object_set_int_member(object, "decode_kernels", share->n_launches);
    json_object_set_int_member(object, "decode_bytes", (gint64)share->decode_bytes);
    json_object_set_double_member(object, "decode_share", share->decode_share);
}

static void
print_share(const SundogShare *share)
{
    if (share->n_launches == 0)
        return;
    printf("  a written token reads %.3f GB: %.1f %% of what this card's memory gives, %.2f TB/s "
           "now\n",
           (double)share->decode_bytes / 1e9, 100 * share->decode_share,
           share->ceilings.read_bytes_per_second / 1e12);
    printf(
        "  its %u kernels cost at least %.1f us, %.2f each, and %.1f to be launched and heard of\n",
        share->n_launches, share->n_launches * share->ceilings.node_us, share->ceilings.node_us,
        share->ceilings.launch_us);
}

static void
print_row(const SundogBenchmarkRow *row, const SundogShare *share)
{
    if (sundog_command_json) {
        JsonObject *object = json_object_new();
        json_object_set_string_member(object, "core", row->core);
        json_object_set_string_member(object, "machine", row->machine);
        json_object_set_int_member(object, "threads", row->n_threads);
        json_object_set_int_member(object, "prefill_tokens", row->n_prefill);
        json_object_set_int_member(object, "decode_tokens", row->n_decode);
        json_object_set_double_member(object, "prefill_tokens_per_second", row->prefill.median);
        json_object_set_double_member(object, "decode_tokens_per_second", row->decode.median);
        add_share(object, share);
        sundog_terminal_print_json(object);
        return;
    }
    printf("%s on %s\n", row->core, row->machine);
    printf("  prefill %5u  %10.1f tokens/s  (%.1f to %.1f)\n", row->n_prefill, row->prefill.median,
           row->prefill.lowest, row->prefill.highest);
    printf("  decode  %5u  %10.1f tokens/s  (%.1f to %.1f)\n", row->n_decode, row->decode.median,
           row->decode.lowest, row->decode.highest);
    print_share(share);
}

static void
print_ablation(const char *name, const SundogAblation *ablation)
{
    printf("%s: a token behind %u others takes %.1f us, each kernel launched by itself %.1f\n",
           name, ablation->n_context, ablation->whole_us, ablation->direct_us);
    printf("  %-24s %8s %14s\n", "without", "calls", "us less");
    for (int kind = 0; kind < SUNDOG_N_OPERATIONS; kind++)
        if (ablation->n_calls[kind] > 0)
            printf("  %-24s %8u %14.1f\n", sundog_operations[kind].name, ablation->n_calls[kind],
                   ablation->cost_us[kind]);
}

static void
print_ablation_json(const char *name, const SundogAblation *ablation)
{
    JsonObject *costs = json_object_new();
    for (int kind = 0; kind < SUNDOG_N_OPERATIONS; kind++)
        if (ablation->n_calls[kind] > 0)
            json_object_set_double_member(costs, sundog_operations[kind].name,
                                          ablation->cost_us[kind]);
    JsonObject *object = json_object_new();
    json_object_set_string_member(object, "core", name);
    json_object_set_int_member(object, "context_tokens", ablation->n_context);
    json_object_set_double_member(object, "step_us", ablation->whole_us);
    json_object_set_double_member(object, "direct_us", ablation->direct_us);
    json_object_set_object_member(object, "cost_us", costs);
    sundog_terminal_print_json(object);
}

static int
tell_ablation(const char *word)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(SundogLibrary) library = sundog_library_open(&error);
    g_autoptr(SundogLibraryEntry) entry = NULL;
    g_autoptr(SundogCore) core =
        library != NULL ? sundog_words_open_core(library, word, &entry, &error) : NULL;
    SundogAblation ablation;
    if (core == NULL || !sundog_ablation_measure(core, &ablation, &error))
        return sundog_terminal_fail(error);
    (sundog_command_json ? print_ablation_json : print_ablation)(entry->name, &ablation);
    return SUNDOG_EXIT_OK;
}

static int
tell_regressions(const char *path)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) rows = sundog_benchmark_log_read(path, &error);
    if (rows == NULL)
        return sundog_terminal_fail(error);
    g_autoptr(GPtrArray) found = sundog_benchmark_log_find_regressions(rows);
    for (guint i = 0; i < found->len; i++)
        puts(found->pdata[i]);
    if (found->len == 0)
        printf("%u runs, none slower than the earlier ones of its machine and setting.\n",
               rows->len);
    return found->len > 0 ? SUNDOG_EXIT_FAILED : SUNDOG_EXIT_OK;
}

static bool
in_range(void)
{
    return n_threads >= 0 && n_threads <= 1024 && n_prefill >= 1 && n_prefill <= 1 << 20 &&
           n_decode >= 1 && n_decode <= 1 << 20 && n_repeat >= 1 && n_repeat <= 1000;
}

static int
run(char **words, unsigned n_words)
{
    const char *path = log_file != NULL ? log_file : SUNDOG_BENCHMARK_LOG;
    if (!in_range() || (n_words == 0) != (report && !record)) {
        sundog_terminal_error("%s", in_range() ? "Name a CORE to measure, or say --report alone."
                                               : "A number is out of its range.");
        return SUNDOG_EXIT_USAGE;
    }
    if (n_words == 0)
        return tell_regressions(path);
    if (ablate)
        return tell_ablation(words[0]);
    g_autoptr(GError) error = NULL;
    SundogBenchmarkRow *row = measure_core(words[0], &error);
    if (row == NULL)
        return sundog_terminal_fail(error);
    SundogShare share;
    if (!find_share(words[0], row, &share, &error)) {
        sundog_benchmark_row_free(row);
        return sundog_terminal_fail(error);
    }
    print_row(row, &share);
    bool recorded = !record || sundog_benchmark_log_append(path, row, &error);
    sundog_benchmark_row_free(row);
    if (!recorded)
        return sundog_terminal_fail(error);
    return report ? tell_regressions(path) : SUNDOG_EXIT_OK;
}

const SundogCommand sundog_command_bench = {
    .name = "bench",
    .summary = "measure a core on this machine",
    .parameters = "CORE | --report",
    .help =
        "Measures how fast a core reads a prompt and writes an answer here: the median of several\n"
        "runs, with the lowest and highest; on a GPU beside what its memory gives in the same run. "
        "--record keeps the result in the source tree's log, "
        "and\n"
        "--report names what has become slower there beyond the noise. --ablate tells instead "
        "what\n"
        "each kind of operation of a core for a GPU costs in a step that writes one token.\n\n"
        "  sundog bench smollm2-135m-instruct\n"
        "  sundog bench smollm2-135m-instruct --threads 1 --prefill 2048 --json",
    .options = options,
    .has_json = true,
    .max_words = 1,
    .run = run,
};
