/*
 * What a GPU's schedule may not change. Small models of random weights in each layout run the same steps, of every
 * kind of launch and just past each one's edge, again and again: with each launch held back for 100 us after
 * its dependents have begun, with every edge ordinary, with other work that takes multiprocessors away in the middle
 * of steps, with memory full of NaN before each step: the same bits. Where all steps are alike, the same bits too
 * for a row in any company and however its sequence is cut. Then 10,000 decoding steps, in which a
 * loaded core asks the driver for nothing but launches.
 */

#include "engine/core/step.h"
#include "engine/format/gguf.h"
#include "engine/replay/cuda-device.h"
#include "kernels/contract/cubins.h"
#include "kernels/contract/sample.h"
#include "tests/gpu/gpu-core.h"
#include "tests/gpu/watch-cuda.h"

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

/* As in test-shapes.c. */
#define BOUND 1.1e-2
#define ROUNDED_BOUND 3e-2
#define N_SEQUENCES 256
#define N_SHORT 20 /* tokens of each sequence before it decodes */
#define N_AT_ONCE 16
#define N_LONG 700
#define LONG_PAGE (1 + N_SEQUENCES)
#define N_PAGES (LONG_PAGE + (N_LONG + 63) / 64)
#define DELAY_NS 100000
#define DISTURBING_NS 50000
#define N_STEPS 10000

static const struct {
    const char *name;
    GpuShape shape;
    SundogActivations activations;
} models[] = {
    {"bf16", {2, 1024, 1408, 8, 2, 128, 1000, SUNDOG_GGUF_BF16}, SUNDOG_ACTIVATIONS_F32},
    {"q8_0", {2, 1024, 1408, 8, 2, 128, 1000, SUNDOG_GGUF_Q8_0}, SUNDOG_ACTIVATIONS_INT8},
    {"wide-heads", {2, 1024, 1408, 4, 2, 256, 1000, SUNDOG_GGUF_BF16}, SUNDOG_ACTIVATIONS_F32},
    {"q4_1", {2, 1024, 1408, 16, 4, 64, 1000, SUNDOG_GGUF_Q4_1}, SUNDOG_ACTIVATIONS_INT8},
};

static SundogReplayOptions options = {.pool_pages = N_PAGES, .sequence_pages = 16, .host_set = -1};

/* The same steps each time. */
typedef struct {
    GpuCore *gpu;
    unsigned disturbing_blocks;
    int32_t lengths[N_SEQUENCES];
    GByteArray *logits;
    GArray *places; /* of each row: a Place */
} Trace;

typedef struct {
    int32_t sequence, position;
} Place;

static int32_t
find_token(int32_t sequence, int32_t position)
{
    return (sequence * 104729 + position * 7919 + 13) % 1000;
}

static void
run(Trace *trace, const GpuPart *parts, int n_parts, const int32_t *rows, int n_rows)
{
    if (trace->disturbing_blocks > 0)
        watch_cuda_disturb(trace->disturbing_blocks, DISTURBING_NS);
    g_autofree float *logits = gpu_core_step(trace->gpu, parts, n_parts, rows, n_rows);
    g_byte_array_append(trace->logits, (uint8_t *)logits,
                        (guint)((size_t)n_rows * trace->gpu->n_vocabulary * sizeof(float)));
    for (int r = 0; r < n_rows; r++) {
        int32_t p = 0, first = 0;
        while (rows[r] >= first + parts[p].n_tokens)
            first += parts[p++].n_tokens;
        g_array_append_val(trace->places,
                           ((Place){parts[p].first_page - 1, parts[p].start + rows[r] - first}));
    }
}

/* `n` sequences from the first on, each with so many tokens more, in as few steps as the replay allows. */
static void
go_on(Trace *trace, int first, int n, int n_tokens)
{
    GpuPart parts[N_SEQUENCES];
    int32_t rows[N_SEQUENCES], tokens[N_AT_ONCE * N_SHORT];
    int most = (int)sundog_replay_get_bounds(trace->gpu->replay)->values[SUNDOG_VARIABLE_SEQUENCES];
    for (int i = 0; i < MIN(n, most); i++) {
        int32_t *own = tokens + i * n_tokens, start = trace->lengths[first + i];
        for (int t = 0; t < n_tokens; t++)
            own[t] = find_token(first + i, start + t);
        parts[i] = (GpuPart){1 + first + i, start, n_tokens, own};
        rows[i] = (i + 1) * n_tokens - 1;
        trace->lengths[first + i] += n_tokens;
    }
    run(trace, parts, MIN(n, most), rows, MIN(n, most));
    if (n > most)
        go_on(trace, first + most, n - most, n_tokens);
}

static void
decode(Trace *trace)
{
    static const int sizes[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  12, 13,  16,  17,
                                24, 25, 32, 33, 48, 49, 64, 65, 96, 97, 128, 129, 256};
    for (int i = 0; i < N_SEQUENCES; i += N_AT_ONCE)
        go_on(trace, i, N_AT_ONCE, N_SHORT);
    for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++)
        go_on(trace, 0, sizes[i], 1);
}

/* A long prompt in pieces, every other one of them beside sequences that decode. */
static void
read_prompt(Trace *trace)
{
    static const int32_t chunks[] = {1, 2, 3, 4, 5, 8, 9, 16, 17, 32, 33, 64, 65, 128, 129, 184};
    int32_t tokens[N_LONG], company[4], start = 0;
    for (int32_t i = 0; i < N_LONG; i++)
        tokens[i] = find_token(N_SEQUENCES, i);
    for (size_t c = 0; start < N_LONG; c++) {
        int32_t n = MIN(chunks[c], N_LONG - start), rows[1 + G_N_ELEMENTS(company)] = {n - 1};
        GpuPart parts[1 + G_N_ELEMENTS(company)] = {{LONG_PAGE, start, n, tokens + start}};
        int n_parts = 1;
        for (int i = 0; i < (int)G_N_ELEMENTS(company) && c % 2 == 1; i++, n_parts++) {
            int s = 200 + i;
            company[i] = find_token(s, trace->lengths[s]);
            parts[n_parts] = (GpuPart){1 + s, trace->lengths[s]++, 1, &company[i]};
            rows[n_parts] = n + i;
        }
        run(trace, parts, n_parts, rows, n_parts);
        start += n;
    }
}

static void
trace_init(Trace *trace, GpuCore *gpu)
{
    *trace = (Trace){.gpu = gpu,
                     .logits = g_byte_array_new(),
                     .places = g_array_new(FALSE, FALSE, sizeof(Place))};
}

static void
trace_clear(Trace *trace)
{
    g_byte_array_unref(trace->logits);
    g_array_unref(trace->places);
}

static GByteArray *
run_trace(GpuCore *gpu, unsigned disturbing_blocks)
{
    Trace trace;
    trace_init(&trace, gpu);
    trace.disturbing_blocks = disturbing_blocks;
    decode(&trace);
    read_prompt(&trace);
    g_array_unref(trace.places);
    return trace.logits;
}

static void
reopen(GpuCore *gpu, const WatchCudaOptions *watch)
{
    g_autoptr(GError) error = NULL;
    watch_cuda_begin(watch);
    gpu->replay = sundog_replay_open(gpu->core, &options, &error);
    g_assert_no_error(error);
}

static void
close_again(GpuCore *gpu)
{
    g_clear_pointer(&gpu->replay, sundog_replay_close);
    watch_cuda_end();
}

static void
check_same(const char *name, const char *way, const GByteArray *found, const GByteArray *expected)
{
    size_t n = expected->len / sizeof(float), n_different = 0;
    g_assert_cmpuint(found->len, ==, expected->len);
    for (size_t i = 0; i < n; i++)
        n_different +=
            ((uint32_t *)(void *)found->data)[i] != ((uint32_t *)(void *)expected->data)[i];
    g_print("# %s, %s: %zu of %zu logits differ\n", name, way, n_different, n);
    g_assert_cmpuint(n_different, ==, 0);
}

static void
check_host(const char *name, const GByteArray *found, const GByteArray *expected, double bound)
{
    const float *a = (const float *)(const void *)found->data;
    const float *b = (const float *)(const void *)expected->data;
    double largest = 0;
    g_assert_cmpuint(found->len, ==, expected->len);
    for (size_t row = 0; row < expected->len / sizeof(float) / 1000; row++) {
        double difference = 0, length = 0;
        for (size_t i = row * 1000; i < (row + 1) * 1000; i++) {
            difference += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
            length += (double)b[i] * b[i];
        }
        double error = sqrt(difference / length);
        largest = isfinite(error) ? MAX(largest, error) : INFINITY;
    }
    g_print("# %s against the host: %.2e (bound %.1e)\n", name, largest, bound);
    g_assert_cmpfloat(largest, <, bound);
}

static void
check_ways(GpuCore *gpu, const char *name, const GByteArray *expected)
{
    static const struct {
        const char *name;
        WatchCudaOptions watch;
        bool poison;
        unsigned disturbing_blocks;
    } ways[] = {
        {"again", {0}, false, 0},
        {"memory full of NaN", {0}, true, 0},
        {"every edge ordinary", {.is_ordinary = true}, false, 0},
        {"each launch 100 us late", {.delay_ns = DELAY_NS}, false, 0},
        {"40 multiprocessors taken away", {0}, false, 40},
        {"all multiprocessors taken away", {0}, false, 300},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(ways); i++) {
        options.poison = ways[i].poison;
        reopen(gpu, &ways[i].watch);
        g_autoptr(GByteArray) found = run_trace(gpu, ways[i].disturbing_blocks);
        close_again(gpu);
        options.poison = false;
        check_same(name, ways[i].name, found, expected);
    }
}

/* A model of the table, written and opened. */
static char *
open_model(int m, GpuCore *gpu, const char *target, SundogActivations activations)
{
    g_autofree char *folder = g_dir_make_tmp("sundog-proofs.XXXXXX", NULL);
    char *path = gpu_shape_write_random(&models[m].shape, folder);
    gpu_core_open(gpu, path, target, activations, &options);
    return path;
}

static void
close_model(GpuCore *gpu, char *path)
{
    g_autofree char *folder = g_path_get_dirname(path);
    gpu_core_close(gpu);
    g_unlink(path);
    g_rmdir(folder);
    g_free(path);
}

/* compute-sanitizer is run on these, in which each kind of step comes once. */
static void
test_host(gconstpointer data)
{
    int m = GPOINTER_TO_INT(data);
    bool is_rounded = models[m].activations == SUNDOG_ACTIVATIONS_INT8;
    GpuCore host, gpu;
    char *hosts = open_model(m, &host, SUNDOG_CORE_TARGET_HOST, SUNDOG_ACTIVATIONS_F32);
    char *path = open_model(m, &gpu, GPU_TARGET, models[m].activations);
    g_autoptr(GByteArray) reference = run_trace(&host, 0);
    g_autoptr(GByteArray) found = run_trace(&gpu, 0);
    check_host(models[m].name, found, reference, is_rounded ? ROUNDED_BOUND : BOUND);
    close_model(&gpu, path);
    close_model(&host, hosts);
}

static void
test_schedule(gconstpointer data)
{
    int m = GPOINTER_TO_INT(data);
    GpuCore gpu;
    char *path = open_model(m, &gpu, GPU_TARGET, models[m].activations);
    g_autoptr(GByteArray) expected = run_trace(&gpu, 0);
    g_clear_pointer(&gpu.replay, sundog_replay_close);
    check_ways(&gpu, models[m].name, expected);
    close_model(&gpu, path);
}

/* All rows of all sequences in pieces of so many tokens, one sequence a step. */
static void
read_sequences(Trace *trace, const int32_t *lengths, int32_t piece)
{
    int32_t tokens[N_LONG], rows[N_LONG];
    for (int s = 0; s <= N_SEQUENCES; s++) {
        int32_t n_all = s < N_SEQUENCES ? lengths[s] : N_LONG;
        for (int32_t start = 0; start < n_all; start += piece) {
            int32_t n = MIN(piece, n_all - start);
            for (int32_t i = 0; i < n; i++) {
                tokens[i] = find_token(s, start + i);
                rows[i] = i;
            }
            const GpuPart part = {1 + s, start, n, tokens};
            run(trace, &part, 1, rows, n);
        }
    }
}

/* Of rows of both, how many have other logits. */
static size_t
count_different(const Trace *a, const Trace *b, size_t row_bytes, size_t *n_compared)
{
    size_t n_different = 0;
    g_autofree int32_t *known = g_new0(int32_t, (N_SEQUENCES + 1) * N_LONG);
    *n_compared = 0;
    for (guint i = 0; i < a->places->len; i++) {
        const Place *place = &g_array_index(a->places, Place, i);
        known[place->sequence * N_LONG + place->position] = 1 + (int32_t)i;
    }
    for (guint i = 0; i < b->places->len; i++) {
        const Place *place = &g_array_index(b->places, Place, i);
        int32_t row = known[place->sequence * N_LONG + place->position] - 1;
        if (row < 0)
            continue;
        ++*n_compared;
        n_different += memcmp(a->logits->data + (size_t)row * row_bytes,
                              b->logits->data + (size_t)i * row_bytes, row_bytes) != 0;
    }
    return n_different;
}

/* Rows of decoding and of prompts in pieces, in company and alone, against each sequence alone. */
static void
check_alike(GpuCore *gpu, const char *name)
{
    static const int32_t pieces[] = {250, 100, 37};
    size_t row_bytes = gpu->n_vocabulary * sizeof(float);
    Trace mixed;
    trace_init(&mixed, gpu);
    decode(&mixed);
    read_prompt(&mixed);
    for (size_t i = 0; i < G_N_ELEMENTS(pieces); i++) {
        size_t n_compared;
        Trace alone;
        trace_init(&alone, gpu);
        read_sequences(&alone, mixed.lengths, pieces[i]);
        size_t n_different = count_different(&mixed, &alone, row_bytes, &n_compared);
        g_print("# %s in pieces of %d: %zu of %zu rows differ\n", name, pieces[i], n_different,
                n_compared);
        g_assert_cmpuint(n_compared, ==, mixed.places->len);
        g_assert_cmpuint(n_different, ==, 0);
        trace_clear(&alone);
    }
    trace_clear(&mixed);
}

static void
test_alike(gconstpointer data)
{
    int m = GPOINTER_TO_INT(data);
    GpuCore gpu;
    options.is_alike = true;
    char *path = open_model(m, &gpu, GPU_TARGET, models[m].activations);
    check_alike(&gpu, models[m].name);
    close_model(&gpu, path);
    options.is_alike = false;
}

static void
check(bool ok, GError *error)
{
    g_assert_no_error(error);
    g_assert_true(ok);
}

/* Steps of changing sizes, each begun while the tokens of the one before are drawn. */
static void
decode_ahead(GpuCore *gpu, int n_steps)
{
    static const int sizes[] = {1, 2, 3, 5, 8, 13, 21, 64};
    g_autoptr(GError) error = NULL;
    int32_t tokens[64], rows[64];
    GpuPart parts[64];
    SundogSampling *sampling = sundog_replay_get_buffer(gpu->replay, "sampling");
    SundogShape shape = {0};
    for (int i = 0; i < 64; i++)
        sampling[i] = (SundogSampling){.top_p = 1, .repetition_penalty = 1};
    for (int step = 0; step < n_steps; step++) {
        /* A size's first step has tokens of its own: those drawn before are of other rows. */
        int n = sizes[step / 100 % G_N_ELEMENTS(sizes)], before = step > 0 && step % 100 != 0;
        if (before)
            check(sundog_replay_begin_sample(gpu->replay, &shape, &error), error);
        for (int i = 0; i < n; i++) {
            tokens[i] = before ? -1 - i : 1 + i;
            rows[i] = i;
            parts[i] = (GpuPart){1 + i, step % 64, 1, &tokens[i]};
        }
        shape = gpu_core_fill(gpu, parts, n, rows, n);
        check(sundog_replay_run(gpu->replay, SUNDOG_PROGRAM_FORWARD, &shape, &error), error);
        if (before)
            check(sundog_replay_end_sample(gpu->replay, &error), error);
    }
    check(sundog_replay_begin_sample(gpu->replay, &shape, &error), error);
    check(sundog_replay_end_sample(gpu->replay, &error), error);
}

static uint64_t
find_free_bytes(void)
{
    SundogCudaCard card;
    g_autoptr(GError) error = NULL;
    check(sundog_cuda_card_find(&card, &error), error);
    return card.free_bytes;
}

static void
test_steady(void)
{
    static const WatchCudaOptions nothing = {0};
    unsigned before[WATCH_CUDA_N];
    GpuCore gpu;
    char *path = open_model(1, &gpu, GPU_TARGET, models[1].activations);
    g_clear_pointer(&gpu.replay, sundog_replay_close);
    reopen(&gpu, &nothing);
    decode_ahead(&gpu, 1000);
    uint64_t n_free = find_free_bytes();
    for (int f = 0; f < WATCH_CUDA_N; f++)
        before[f] = watch_cuda_get_count(f);
    decode_ahead(&gpu, N_STEPS);
    for (int f = 0; f < WATCH_CUDA_N; f++) {
        unsigned n = watch_cuda_get_count(f) - before[f];
        if (f == WATCH_CUDA_graph_launch)
            g_print("# %s: %u in %d steps\n", watch_cuda_names[f], n, N_STEPS);
        else if (n > 0)
            g_error("%s was called %u times in %d steps", watch_cuda_names[f], n, N_STEPS);
    }
    g_print("# device memory taken meanwhile: %" G_GINT64_FORMAT " bytes\n",
            (gint64)(n_free - find_free_bytes()));
    g_assert_cmpuint(find_free_bytes(), ==, n_free);
    close_again(&gpu);
    close_model(&gpu, path);
}

int
main(int argc, char **argv)
{
    g_autoptr(GError) error = NULL;
    g_test_init(&argc, &argv, NULL);
    if (sundog_cuda_driver_get(&error) == NULL ||
        sundog_cubin_find(GPU_TARGET, "measure") == NULL) {
        g_print("1..0 # SKIP %s\n",
                error != NULL ? error->message : "built without kernels for " GPU_TARGET);
        return 0;
    }
    for (size_t i = 0; i < G_N_ELEMENTS(models); i++) {
        g_autofree char *host = g_strconcat("/proofs/host/", models[i].name, NULL);
        g_autofree char *schedule = g_strconcat("/proofs/schedule/", models[i].name, NULL);
        g_test_add_data_func(host, GINT_TO_POINTER((int)i), test_host);
        g_autofree char *alike = g_strconcat("/proofs/alike/", models[i].name, NULL);
        g_test_add_data_func(alike, GINT_TO_POINTER((int)i), test_alike);
        g_test_add_data_func(schedule, GINT_TO_POINTER((int)i), test_schedule);
    }
    g_test_add_func("/proofs/steady", test_steady);
    return g_test_run();
}
