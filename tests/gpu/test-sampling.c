/*
 * Sampling on a GPU against the host's kernel: the same logits, options, histories, masks and biases, the
 * same tokens, and scores within a unit of their last place. Rows are random, small vocabularies and real
 * ones, half of them as peaked as a model's, some of a few values so that many tokens are equal.
 */

#include "kernels/contract/cubins.h"
#include "kernels/contract/sample.h"
#include "kernels/host/kernels.h"
#include "tests/gpu/product-runner.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROWS 64
#define ROUNDS 4
#define HISTORY 96
#define BIASES 5
#define N_TIMED 50

static const int32_t vocabularies[] = {3, 259, 1025, 49152, 151936, 262144};
static ProductRunner runner;

/* One step's rows, the host's; the device's copies stand behind each other in `data`. */
typedef struct {
    int32_t n;
    int64_t n_mask;
    float *logits; /* [ROWS, n] */
    SundogSampling sampling[ROWS];
    int32_t history[ROWS * HISTORY];
    int32_t *mask; /* [ROWS, n_mask] */
    SundogBias biases[ROWS * BIASES];
    int32_t tokens[ROWS];
    SundogScore scores[ROWS * SUNDOG_MAX_SCORES];
} Rows;

static float
pick(GRand *random, float off, float low, float high)
{
    return g_rand_boolean(random) ? off : (float)g_rand_double_range(random, low, high);
}

static SundogSampling
make_sampling(GRand *random, int32_t n, int row)
{
    SundogSampling s = {.seed = ((uint64_t)g_rand_int(random) << 32) | g_rand_int(random),
                        .position = g_rand_int(random),
                        .temperature = row % 8 == 7 ? 0 : pick(random, 1, 0.1f, 2.5f),
                        .top_n_sigma = row % 4 == 1 ? pick(random, 0, 0.1f, 3) : 0,
                        .typical_p = row % 4 == 2 ? pick(random, 0.9f, 0.05f, 1) : 0,
                        .top_p = pick(random, 1, 0.01f, 1),
                        .min_p = pick(random, 0, 0, 0.3f),
                        .xtc_probability = row % 4 == 3 ? 0.7f : 0,
                        .xtc_threshold = pick(random, 0.1f, 0, 0.6f),
                        .repetition_penalty = pick(random, 1, 0.7f, 1.6f),
                        .presence_penalty = pick(random, 0, -1, 1),
                        .frequency_penalty = pick(random, 0, -0.3f, 0.5f),
                        .top_k = g_rand_boolean(random) ? 0 : g_rand_int_range(random, 1, 100),
                        .n_history = (uint32_t)g_rand_int_range(random, 0, HISTORY + 1),
                        .n_bias = (uint32_t)g_rand_int_range(random, 0, BIASES + 1),
                        .masked = g_rand_int_range(random, 0, 3) == 0,
                        .n_scores = row % 3 == 0 ? (uint32_t)g_rand_int_range(random, 1, 22) : 0};
    s.n_answered = (uint32_t)g_rand_int_range(random, 0, (int)s.n_history + 1);
    s.given = row % 16 == 9 ? (uint32_t)g_rand_int_range(random, 1, n + 1) : 0;
    return s;
}

/* As a model's are: most far below the best; or flat; or of few values. */
static void
fill_logits(GRand *random, float *logits, int32_t n, int row)
{
    for (int32_t i = 0; i < n; i++) {
        double u = g_rand_double(random);
        logits[i] = (float)(row % 4 == 0   ? u * 2
                            : row % 4 == 1 ? floor(u * 6) - 3
                                           : 12 * u * u * u - 9 * g_rand_double(random));
    }
    if (row % 16 == 14)
        logits[g_rand_int_range(random, 0, n)] = -INFINITY;
    if (row == 13)
        logits[n / 2] = NAN;
    if (row == 29)
        logits[n - 1] = INFINITY;
}

static void
fill(Rows *rows, GRand *random)
{
    for (int r = 0; r < ROWS; r++) {
        float *logits = rows->logits + (size_t)r * rows->n;
        fill_logits(random, logits, rows->n, r);
        rows->sampling[r] = make_sampling(random, rows->n, r);
        for (int i = 0; i < HISTORY; i++)
            rows->history[r * HISTORY + i] = g_rand_int_range(random, -1, MIN(rows->n, 40));
        for (int i = 0; i < BIASES; i++)
            rows->biases[r * BIASES + i] =
                (SundogBias){g_rand_int_range(random, -1, MIN(rows->n + 1, 50)),
                             (float)g_rand_double_range(random, -4, 4)};
        for (int64_t i = 0; i < rows->n_mask; i++)
            rows->mask[r * rows->n_mask + i] = (int32_t)(g_rand_int(random) | g_rand_int(random));
    }
}

static void
sample_on_host(Rows *rows)
{
    g_autofree uint8_t *workspace = g_malloc(sundog_sample_workspace_bytes(rows->n));
    SundogArgument arguments[SUNDOG_MAX_ARGUMENTS] = {
        {.data = rows->logits, .shape = {ROWS, rows->n, 1, 1}},
        {.data = rows->sampling, .shape = {ROWS, sizeof *rows->sampling, 1, 1}},
        {.data = rows->history, .shape = {ROWS, HISTORY, 1, 1}},
        {.data = rows->mask, .shape = {ROWS, rows->n_mask, 1, 1}},
        {.data = rows->biases, .shape = {ROWS, BIASES * SUNDOG_BIAS_WORDS, 1, 1}},
        {.data = rows->tokens, .shape = {ROWS, 1, 1, 1}},
        {.data = workspace, .shape = {1, 1, 1, 1}},
        {.data = rows->scores, .shape = {ROWS, SUNDOG_MAX_SCORES * SUNDOG_SCORE_WORDS, 1, 1}}};
    const SundogCall call = {.arguments = arguments, .n_threads = 1};
    sundog_host_kernel(SUNDOG_OP_SAMPLE, SUNDOG_HOST_PLAIN)(&call);
}

static void *
upload(const void *from, size_t n_bytes)
{
    CUdeviceptr to = product_runner_allocate(&runner, n_bytes);
    product_runner_write(&runner, to, from, n_bytes);
    return (void *)(uintptr_t)to;
}

static void
download(void *to, const void *from, size_t n_bytes)
{
    product_runner_read(&runner, to, (CUdeviceptr)(uintptr_t)from, n_bytes);
}

static SundogCudaSample
send_rows(const Rows *rows)
{
    return (SundogCudaSample){.logits = upload(rows->logits, (size_t)ROWS * rows->n * 4),
                              .sampling = upload(rows->sampling, sizeof rows->sampling),
                              .history = upload(rows->history, sizeof rows->history),
                              .mask = upload(rows->mask, (size_t)(ROWS * rows->n_mask) * 4),
                              .bias = upload(rows->biases, sizeof rows->biases),
                              .token = upload(rows->tokens, sizeof rows->tokens),
                              .scores = upload(rows->scores, sizeof rows->scores),
                              .n_rows = ROWS,
                              .n_vocabulary = rows->n,
                              .history_stride = HISTORY,
                              .mask_stride = (int32_t)rows->n_mask,
                              .bias_stride = BIASES * SUNDOG_BIAS_WORDS};
}

static void
free_rows(const SundogCudaSample *p)
{
    const void *pieces[] = {p->logits, p->sampling, p->history, p->mask,
                            p->bias,   p->token,    p->scores};
    for (size_t i = 0; i < G_N_ELEMENTS(pieces); i++)
        product_runner_free(&runner, (CUdeviceptr)(uintptr_t)pieces[i]);
}

/* Leaves what the device makes of the rows in `tokens`, `scores` and, of the logits, in `logits`. */
/* The kernels that sample. */
static const struct {
    const char *module, *entry;
    unsigned n_blocks, n_threads;
} kernels[] = {
    {"sample", "sundog_sample", 1, SUNDOG_CUDA_SAMPLE_THREADS},
    {"cluster", "sundog_sample_cluster", SUNDOG_CUDA_CLUSTER_BLOCKS, SUNDOG_CUDA_CLUSTER_THREADS},
};

static void
call(size_t kernel, unsigned n_rows, SundogCudaSample *p)
{
    product_runner_call(&runner, kernels[kernel].module, kernels[kernel].entry,
                        n_rows * kernels[kernel].n_blocks, kernels[kernel].n_threads,
                        SUNDOG_CUDA_SAMPLE_SHARED_BYTES(p->history_stride, p->bias_stride), p);
}

static void
sample_on_device(const Rows *rows, size_t kernel, int32_t *tokens, SundogScore *scores,
                 float *logits)
{
    SundogCudaSample p = send_rows(rows);
    product_runner_poison(&runner, (CUdeviceptr)(uintptr_t)p.token, sizeof rows->tokens);
    call(kernel, ROWS, &p);
    download(logits, p.logits, (size_t)ROWS * rows->n * 4);
    download(tokens, p.token, sizeof rows->tokens);
    download(scores, p.scores, sizeof rows->scores);
    free_rows(&p);
}

static void
compare_scores(const Rows *rows, const SundogScore *scores)
{
    for (int r = 0; r < ROWS; r++)
        for (uint32_t i = 0; rows->sampling[r].n_scores > 0 && i < SUNDOG_MAX_SCORES; i++) {
            const SundogScore *a = &scores[r * SUNDOG_MAX_SCORES + (int)i];
            const SundogScore *b = &rows->scores[r * SUNDOG_MAX_SCORES + (int)i];
            g_assert_cmpint(a->token, ==, b->token);
            if (a->log_probability != b->log_probability)
                g_assert_cmpfloat(fabsf(a->log_probability - b->log_probability), <=,
                                  nextafterf(fabsf(b->log_probability), INFINITY) -
                                      fabsf(b->log_probability));
        }
}

/* What biases, penalties and masks have made of them; which NaN is each side's own. */
static void
compare_logits(const Rows *rows, const float *logits)
{
    for (size_t i = 0; i < (size_t)ROWS * (size_t)rows->n; i++)
        if (!isnan(logits[i]) || !isnan(rows->logits[i]))
            g_assert_cmpfloat(logits[i], ==, rows->logits[i]);
}

static void
test_vocabulary(gconstpointer data)
{
    const int32_t *n = data;
    Rows *rows = g_new0(Rows, 1);
    int32_t tokens[ROWS];
    g_autofree SundogScore *scores = g_new0(SundogScore, ROWS * SUNDOG_MAX_SCORES);
    g_autofree float *logits = g_new(float, (size_t)ROWS **n);
    GRand *random = g_rand_new_with_seed((guint32)*n);
    rows->n = *n;
    rows->n_mask = SUNDOG_SAMPLE_MASK_WORDS(*n);
    rows->logits = g_new(float, (size_t)ROWS **n);
    rows->mask = g_new(int32_t, ROWS * rows->n_mask);
    for (int round = 0; round < ROUNDS; round++) {
        fill(rows, random);
        g_autofree float *given = g_memdup2(rows->logits, (gsize)ROWS * (gsize)*n * sizeof(float));
        sample_on_host(rows);
        for (size_t k = 0; k < G_N_ELEMENTS(kernels); k++) {
            g_autofree float *changed = rows->logits;
            rows->logits = given;
            sample_on_device(rows, k, tokens, scores, logits);
            rows->logits = g_steal_pointer(&changed);
            for (int r = 0; r < ROWS; r++)
                if (tokens[r] != rows->tokens[r])
                    g_error("row %d of %d tokens: %d by %s, %d on the host", r, *n, tokens[r],
                            kernels[k].entry, rows->tokens[r]);
            compare_scores(rows, scores);
            compare_logits(rows, logits);
        }
    }
    g_rand_free(random);
    g_free(rows->logits);
    g_free(rows->mask);
    g_free(rows);
}

/* Of one row, and of as many as there are, of a model's logits: microseconds a call. */
static double
time_rows(SundogCudaSample *p, size_t kernel, int n_rows)
{
    gint64 start_us = 0;
    for (int i = -1; i < N_TIMED; i++) {
        if (i == 0) {
            product_runner_wait(&runner);
            start_us = g_get_monotonic_time();
        }
        call(kernel, (unsigned)n_rows, p);
    }
    product_runner_wait(&runner);
    return (double)(g_get_monotonic_time() - start_us) / N_TIMED;
}

static void
print_times(void)
{
    static const struct {
        const char *name;
        SundogSampling sampling;
    } ways[] = {
        {"greedy", {.top_p = 1, .repetition_penalty = 1}},
        {"greedy with 6 scores", {.top_p = 1, .repetition_penalty = 1, .n_scores = 6}},
        {"temperature", {.temperature = 0.8f, .top_p = 1, .repetition_penalty = 1}},
        {"top-p", {.temperature = 0.8f, .top_p = 0.95f, .repetition_penalty = 1}},
        {"top-k and top-p",
         {.temperature = 0.8f, .top_k = 40, .top_p = 0.95f, .repetition_penalty = 1}},
        {"min-p", {.temperature = 0.8f, .top_p = 1, .min_p = 0.05f, .repetition_penalty = 1}},
        {"typical", {.temperature = 0.8f, .top_p = 1, .typical_p = 0.9f, .repetition_penalty = 1}},
        {"penalties of 64",
         {.top_p = 1, .repetition_penalty = 1.1f, .n_history = 64, .n_answered = 32}},
    };
    const int32_t n = 151936;
    Rows *rows = g_new0(Rows, 1);
    GRand *random = g_rand_new_with_seed(1);
    rows->n = n;
    rows->n_mask = SUNDOG_SAMPLE_MASK_WORDS(n);
    rows->logits = g_new(float, (size_t)ROWS *n);
    rows->mask = g_new0(int32_t, ROWS * rows->n_mask);
    fill(rows, random);
    for (int r = 0; r < ROWS; r++)
        fill_logits(random, rows->logits + (size_t)r * n, n, 3);
    for (size_t w = 0; w < G_N_ELEMENTS(ways); w++) {
        for (int r = 0; r < ROWS; r++)
            rows->sampling[r] = ways[w].sampling;
        SundogCudaSample p = send_rows(rows);
        g_print("# %-22s", ways[w].name);
        for (size_t k = 0; k < G_N_ELEMENTS(kernels); k++)
            g_print(" %s: %6.1f us a row, %6.1f 16, %6.1f %d;", kernels[k].module,
                    time_rows(&p, k, 1), time_rows(&p, k, 16), time_rows(&p, k, ROWS), ROWS);
        g_print("\n");
        free_rows(&p);
    }
    g_rand_free(random);
    g_free(rows->logits);
    g_free(rows->mask);
    g_free(rows);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    if (!product_runner_init(&runner))
        return 0;
    for (size_t i = 0; i < G_N_ELEMENTS(vocabularies); i++) {
        g_autofree char *path = g_strdup_printf("/sampling/%d", vocabularies[i]);
        g_test_add_data_func(path, &vocabularies[i], test_vocabulary);
    }
    int status = g_test_run();
    if (g_test_perf())
        print_times();
    product_runner_clear(&runner);
    return status;
}
