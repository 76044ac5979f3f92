/*
 * Speed of whole steps of a model through replay: decoding tokens one by one, of one sequence or of several
 * at once, behind any depth of context, and a prompt, with the share of each operation and of the memory's
 * read bandwidth.
 *
 *   forward MODEL.gguf [--threads N] [--set N] [--rounds N] [--f32] [--q8] [--prompt N] [--decode N] [--depth N]
 *           [--sequences N] [--json]
 *
 * The core is prepared into a temporary folder. Figures are the best and the median of the rounds.
 */

#include "engine/core/step.h"
#include "engine/prepare/prepare.h"
#include "engine/replay/replay.h"
#include "kernels/contract/paged-cache.h"
#include "tests/temporary-folder.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Rows of one step, as plan.c bounds them. */
#define STEP 512

static int n_threads = 2;
static int host_set = -1;
static int n_rounds = 7;
static int n_prompt = 512;
static int n_decode = 128;
static int depth = 0;
static int n_sequences = 1;
static gboolean use_f32;
static gboolean use_q8;
static gboolean json;

static SundogCore *
prepare_core(const char *folder, const char *path, GError **error)
{
    g_autofree char *keys = g_build_filename(folder, "keys", NULL);
    g_autofree char *core = g_build_filename(folder, "core", NULL);
    const SundogPrepareOptions options = {.name = "benchmark",
                                          .target = "host",
                                          .activations = use_f32 ? SUNDOG_ACTIVATIONS_F32
                                                                 : SUNDOG_ACTIVATIONS_INT8,
                                          .cache = use_q8 ? SUNDOG_CACHE_Q8 : SUNDOG_CACHE_FLOATS};
    g_autoptr(SundogModel) model = sundog_model_open(path, error);
    g_autoptr(SundogKeyring) keyring = model != NULL ? sundog_keyring_open(keys, error) : NULL;
    if (keyring == NULL || !sundog_prepare(model, core, keyring, &options, error))
        return NULL;
    return sundog_core_open(core, keyring, error);
}

/* Bytes of the weights that steps read whole: all but the tables of which they take rows. Experts count as if
 * all were chosen, which a step of few tokens does not do. */
static uint64_t
count_weight_bytes(const SundogCore *core)
{
    enum { EMBED_TABLE = 1 };
    const SundogProgram *program = sundog_core_get_program(core, SUNDOG_PROGRAM_FORWARD);
    g_autoptr(GHashTable) whole = g_hash_table_new(g_str_hash, g_str_equal);
    uint64_t n_bytes = 0;
    for (uint32_t i = 0; i < sundog_program_get_n_operations(program); i++) {
        const SundogOperation *operation = sundog_program_get_operation(program, i);
        for (uint32_t a = 0; a < sundog_operation_n_arguments(operation->kind); a++) {
            SundogBufferId id = operation->arguments[a];
            if (id != SUNDOG_BUFFER_NONE &&
                !(operation->kind == SUNDOG_OP_EMBED && a == EMBED_TABLE))
                g_hash_table_add(whole, (gpointer)sundog_program_get_buffer(program, id)->name);
        }
    }
    for (uint32_t i = 0; i < sundog_core_get_n_weights(core); i++) {
        const SundogCoreWeight *weight = sundog_core_get_weight(core, i);
        n_bytes += g_hash_table_contains(whole, weight->name) ? weight->n_bytes : 0;
    }
    return n_bytes;
}

static int32_t
count_pages(void)
{
    return (MAX(depth + n_decode, n_prompt) + SUNDOG_PAGE_TOKENS - 1) / SUNDOG_PAGE_TOKENS;
}

/* The next n tokens of each of some sequences, their last one's logits wanted. */
static void
run_step(SundogReplay *replay, int32_t n_parts, int32_t start, int32_t n)
{
    g_autoptr(GError) error = NULL;
    SundogShape shape = *sundog_replay_get_bounds(replay);
    int32_t *first_row = sundog_replay_get_buffer(replay, "first_row");
    int32_t *start_position = sundog_replay_get_buffer(replay, "start_position");
    int32_t *logit_rows = sundog_replay_get_buffer(replay, "logit_rows");
    int32_t *table = sundog_replay_get_buffer(replay, "page_table");
    int32_t *windows = sundog_replay_get_buffer(replay, "window_table");
    int32_t *tokens = sundog_replay_get_buffer(replay, "tokens");
    int32_t *positions = sundog_replay_get_buffer(replay, "positions");
    int32_t *sequence = sundog_replay_get_buffer(replay, "token_sequence");
    int32_t n_pages = count_pages();
    shape.values[SUNDOG_VARIABLE_TOKENS] = n * n_parts;
    shape.values[SUNDOG_VARIABLE_SEQUENCES] = shape.values[SUNDOG_VARIABLE_LOGIT_ROWS] = n_parts;
    shape.values[SUNDOG_VARIABLE_SEQUENCE_PAGES] = n_pages;
    for (int32_t i = 0; windows != NULL && i < n_parts * n_pages; i++)
        windows[i] = i + 1;
    for (int32_t s = 0; s < n_parts; s++) {
        first_row[s] = s * n;
        start_position[s] = start;
        logit_rows[s] = (s + 1) * n - 1;
        for (int32_t i = 0; i < n_pages; i++)
            table[s * n_pages + i] = s * n_pages + i + 1;
        for (int32_t i = 0; i < n; i++) {
            tokens[s * n + i] = 100 + (start + i + 7 * s) * 37 % 4000;
            positions[s * n + i] = start + i;
            sequence[s * n + i] = s;
        }
    }
    first_row[n_parts] = n_parts * n;
    if (!sundog_replay_run(replay, SUNDOG_PROGRAM_FORWARD, &shape, &error))
        g_error("%s", error->message);
}

/* Positions [0, n) of sequence 0, a step at a time. */
static void
run_prompt(SundogReplay *replay, int32_t n)
{
    for (int32_t done = 0; done < n; done += STEP)
        run_step(replay, 1, done, MIN(STEP, n - done));
}

static void
run_decode(SundogReplay *replay, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        run_step(replay, n_sequences, depth + i, 1);
}

/* What decoding finds before it, in every sequence's own pages. */
static void
fill_cache(SundogReplay *replay)
{
    int32_t each = STEP / n_sequences;
    for (int32_t done = 0; done < depth; done += each)
        run_step(replay, n_sequences, done, MIN(each, depth - done));
}

static int
compare_times(const void *left, const void *right)
{
    const double *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

/* Tokens a second of one kind of work. */
typedef struct {
    double best;
    double median;
} Rates;

static Rates
measure(SundogReplay *replay, void (*work)(SundogReplay *, int32_t), int n, int n_tokens)
{
    double rounds[1000];
    int n_measured = CLAMP(n_rounds, 1, 1000);
    for (int r = 0; r < n_measured; r++) {
        gint64 start = g_get_monotonic_time();
        work(replay, n);
        rounds[r] = (double)(g_get_monotonic_time() - start) * 1e-6;
    }
    qsort(rounds, (size_t)n_measured, sizeof *rounds, compare_times);
    return (Rates){n_tokens / rounds[0], n_tokens / rounds[n_measured / 2]};
}

/* How long each operation takes, in one more round of the work. */
static void
print_operations(SundogReplay *replay, void (*work)(SundogReplay *, int32_t), int n)
{
    int64_t times_ns[SUNDOG_N_OPERATIONS] = {0};
    sundog_replay_set_times(replay, times_ns);
    work(replay, n);
    sundog_replay_set_times(replay, NULL);
    printf("  us in all:");
    for (int kind = 0; kind < SUNDOG_N_OPERATIONS; kind++)
        if (times_ns[kind] > 0)
            printf(" %s %.1f", sundog_operations[kind].name, (double)times_ns[kind] * 1e-3);
    printf("\n");
    fflush(stdout);
}

static void
measure_and_print(SundogReplay *replay, double weight_bytes)
{
    if (n_decode > 0) {
        fill_cache(replay);
        Rates rates = measure(replay, run_decode, n_decode, n_decode * n_sequences);
        printf("decode %d of %d at %d: best %.1f tokens/s, median %.1f; weights at %.1f GB/s\n",
               n_decode, n_sequences, depth, rates.best, rates.median,
               weight_bytes * rates.best / n_sequences * 1e-9);
        print_operations(replay, run_decode, n_decode);
    }
    if (n_prompt > 0) {
        Rates rates = measure(replay, run_prompt, n_prompt, n_prompt);
        printf("prefill %d: best %.1f tokens/s, median %.1f\n", n_prompt, rates.best, rates.median);
        print_operations(replay, run_prompt, n_prompt);
    }
}

/* One round of each, for scripts that take turns with a peer. */
static void
print_json(SundogReplay *replay)
{
    Rates decode = {0}, prefill = {0};
    if (n_decode > 0) {
        fill_cache(replay);
        run_decode(replay, 2);
        decode = measure(replay, run_decode, n_decode, n_decode * n_sequences);
    }
    if (n_prompt > 0) {
        run_prompt(replay, MIN(n_prompt, STEP));
        prefill = measure(replay, run_prompt, n_prompt, n_prompt);
    }
    printf("{\"set\": \"%s\", \"decode\": %.2f, \"prefill\": %.2f}\n",
           sundog_replay_get_set_name(replay), decode.median, prefill.median);
}

/* Memory and the step's bounds hold for all this. */
static gboolean
in_range(void)
{
    return n_prompt >= 0 && n_prompt <= 1 << 20 && n_decode >= 0 && n_decode <= 1 << 20 &&
           depth >= 0 && depth <= 1 << 20 && n_sequences >= 1 && n_sequences <= 64;
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
        {"q8", 0, 0, G_OPTION_ARG_NONE, &use_q8, "Keys and values in 8 bits", NULL},
        {"prompt", 0, 0, G_OPTION_ARG_INT, &n_prompt, "Tokens of the prompt, 0 for none", "N"},
        {"decode", 0, 0, G_OPTION_ARG_INT, &n_decode, "Steps of decoding, 0 for none", "N"},
        {"depth", 0, 0, G_OPTION_ARG_INT, &depth, "Tokens before those that are decoded", "N"},
        {"sequences", 0, 0, G_OPTION_ARG_INT, &n_sequences, "Sequences decoded at once", "N"},
        {"json", 0, 0, G_OPTION_ARG_NONE, &json, "Print medians alone, as JSON", NULL},
        {NULL}};
    g_autoptr(GOptionContext) context = g_option_context_new("MODEL.gguf - speed of whole steps");
    g_autoptr(GError) error = NULL;
    g_option_context_add_main_entries(context, entries, NULL);
    if (!g_option_context_parse(context, &argc, &argv, &error) || argc != 2 || !in_range()) {
        fprintf(stderr, "%s\n",
                error != NULL ? error->message : "expected one model, and numbers in range");
        return 2;
    }
    g_autofree char *folder = g_dir_make_tmp("sundog-forward.XXXXXX", &error);
    g_autoptr(SundogCore) core = folder != NULL ? prepare_core(folder, argv[1], &error) : NULL;
    const SundogReplayOptions options = {.n_threads = (unsigned)n_threads,
                                         .pool_pages = (uint32_t)(n_sequences * count_pages()) + 1,
                                         .host_set = host_set};
    g_autoptr(SundogReplay) replay =
        core != NULL ? sundog_replay_open(core, &options, &error) : NULL;
    if (folder != NULL)
        temporary_folder_remove(folder);
    if (replay == NULL) {
        fprintf(stderr, "%s\n", error->message);
        return 1;
    }
    if (json) {
        print_json(replay);
        return 0;
    }
    double n_bytes = (double)count_weight_bytes(core);
    printf("%s, %d threads, %.1f MB of weights a step\n", sundog_replay_get_set_name(replay),
           n_threads, n_bytes * 1e-6);
    measure_and_print(replay, n_bytes);
    return 0;
}
