/*
 * Speed of whole steps of a model through replay: decoding tokens one by one, and a prompt of 512 in
 * one step, with the share of each operation and of the memory's read bandwidth.
 *
 *   forward MODEL.gguf [--threads N] [--set N] [--rounds N] [--f32]
 *
 * The core is prepared into a temporary folder. Figures are the best and the median of the rounds.
 */

#include "engine/core/step.h"
#include "engine/prepare/prepare.h"
#include "engine/replay/replay.h"
#include "tests/temporary-folder.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DECODE 128
#define PROMPT 512
#define PAGES 16

static int n_threads = 2;
static int host_set = -1;
static int n_rounds = 7;
static gboolean use_f32;

static SundogCore *
prepare_core(const char *folder, const char *path, GError **error)
{
    g_autofree char *keys = g_build_filename(folder, "keys", NULL);
    g_autofree char *core = g_build_filename(folder, "core", NULL);
    const SundogPrepareOptions options = {.name = "benchmark",
                                          .target = "host",
                                          .activations = use_f32 ? SUNDOG_ACTIVATIONS_F32
                                                                 : SUNDOG_ACTIVATIONS_INT8};
    g_autoptr(SundogModel) model = sundog_model_open(path, error);
    g_autoptr(SundogKeyring) keyring = model != NULL ? sundog_keyring_open(keys, error) : NULL;
    if (keyring == NULL || !sundog_prepare(model, core, keyring, &options, error))
        return NULL;
    return sundog_core_open(core, keyring, error);
}

/* One sequence's next n tokens, the last one's logits wanted. */
static void
run_step(SundogReplay *replay, int32_t start, int32_t n)
{
    g_autoptr(GError) error = NULL;
    SundogShape shape = *sundog_replay_get_bounds(replay);
    int32_t *first_row = sundog_replay_get_buffer(replay, "first_row");
    int32_t *table = sundog_replay_get_buffer(replay, "page_table");
    int32_t *tokens = sundog_replay_get_buffer(replay, "tokens");
    int32_t *positions = sundog_replay_get_buffer(replay, "positions");
    int32_t *sequence = sundog_replay_get_buffer(replay, "token_sequence");
    shape.values[SUNDOG_VARIABLE_TOKENS] = n;
    shape.values[SUNDOG_VARIABLE_SEQUENCES] = shape.values[SUNDOG_VARIABLE_LOGIT_ROWS] = 1;
    shape.values[SUNDOG_VARIABLE_SEQUENCE_PAGES] = PAGES;
    first_row[0] = 0;
    first_row[1] = n;
    *(int32_t *)sundog_replay_get_buffer(replay, "start_position") = start;
    *(int32_t *)sundog_replay_get_buffer(replay, "logit_rows") = n - 1;
    for (int32_t i = 0; i < PAGES; i++)
        table[i] = i + 1;
    for (int32_t i = 0; i < n; i++) {
        tokens[i] = 100 + (start + i) * 37 % 4000;
        positions[i] = start + i;
        sequence[i] = 0;
    }
    if (!sundog_replay_run(replay, SUNDOG_PROGRAM_FORWARD, &shape, &error))
        g_error("%s", error->message);
}

static int
compare_times(const void *left, const void *right)
{
    const double *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

/* Runs and prints one kind of work: n_steps of n_tokens each. */
static void
measure(SundogReplay *replay, const char *name, int n_steps, int32_t n_tokens, double step_bytes)
{
    double rounds[1000];
    int64_t times_ns[SUNDOG_N_OPERATIONS] = {0};
    int n = CLAMP(n_rounds, 1, 1000);
    for (int r = 0; r < n; r++) {
        gint64 start = g_get_monotonic_time();
        for (int i = 0; i < n_steps; i++)
            run_step(replay, i, n_tokens);
        rounds[r] = (double)(g_get_monotonic_time() - start) * 1e-6;
    }
    qsort(rounds, (size_t)n, sizeof *rounds, compare_times);
    double n_all = (double)n_steps * n_tokens;
    printf("%s: best %.1f tokens/s, median %.1f", name, n_all / rounds[0], n_all / rounds[n / 2]);
    if (n_tokens == 1)
        printf("; weights at %.1f GB/s", step_bytes * n_steps / rounds[0] * 1e-9);
    sundog_replay_set_times(replay, times_ns);
    for (int i = 0; i < n_steps; i++)
        run_step(replay, i, n_tokens);
    sundog_replay_set_times(replay, NULL);
    printf("\n  us a step:");
    for (int kind = 0; kind < SUNDOG_N_OPERATIONS; kind++)
        if (times_ns[kind] > 0)
            printf(" %s %.1f", sundog_operations[kind].name,
                   (double)times_ns[kind] / n_steps * 1e-3);
    printf("\n");
    fflush(stdout);
}

int
main(int argc, char *argv[])
{
    const GOptionEntry entries[] = {
        {"threads", 't', 0, G_OPTION_ARG_INT, &n_threads, "Threads", "N"},
        {"set", 's', 0, G_OPTION_ARG_INT, &host_set,
         "0 plain, 1 AVX2, 2 AVX-VNNI, 3 AVX-512 VNNI, 4 AVX-512 BF16", "N"},
        {"rounds", 'r', 0, G_OPTION_ARG_INT, &n_rounds, "Rounds", "N"},
        {"f32", 0, 0, G_OPTION_ARG_NONE, &use_f32, "Activations in float32", NULL},
        {NULL}};
    g_autoptr(GOptionContext) context = g_option_context_new("MODEL.gguf - speed of whole steps");
    g_autoptr(GError) error = NULL;
    g_option_context_add_main_entries(context, entries, NULL);
    if (!g_option_context_parse(context, &argc, &argv, &error) || argc != 2) {
        fprintf(stderr, "%s\n", error != NULL ? error->message : "expected one model");
        return 2;
    }
    g_autofree char *folder = g_dir_make_tmp("sundog-forward.XXXXXX", &error);
    g_autoptr(SundogCore) core = folder != NULL ? prepare_core(folder, argv[1], &error) : NULL;
    const SundogReplayOptions options = {
        .n_threads = (unsigned)n_threads, .pool_pages = PAGES + 1, .host_set = host_set};
    g_autoptr(SundogReplay) replay =
        core != NULL ? sundog_replay_open(core, &options, &error) : NULL;
    if (folder != NULL)
        temporary_folder_remove(folder);
    if (replay == NULL) {
        fprintf(stderr, "%s\n", error->message);
        return 1;
    }
    double n_bytes = (double)sundog_core_get_info(core)->weight_bytes;
    printf("%s, %d threads, %.1f MB of weights\n", sundog_replay_get_set_name(replay), n_threads,
           n_bytes * 1e-6);
    measure(replay, "decode 128", DECODE, 1, n_bytes);
    measure(replay, "prefill 512", 1, PROMPT, n_bytes);
    return 0;
}
