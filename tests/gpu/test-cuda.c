/*
 * A real model on the GPU against the host. Both begin with the same weights, bit for bit; on the GPU
 * activations are rounded to bf16 before every product and in the cache, and so are quantized weights where
 * tensor cores multiply them. Each such rounding is at most 2^-9 relative and, over a vector, about
 * 2^-9 / sqrt(3) = 1.1e-3 of its length. A layer has eight of activations: two norms, queries, keys, values,
 * weights of attention, what it gives, and the hidden layer; and seven of weights, a matrix each. Their errors
 * add up as squares through the residual stream: over 30 layers sqrt(15 * 30) * 1.1e-3 = 2.4e-2. The
 * worst of a hundred positions is allowed twice that.
 */

#include "engine/core/step.h"
#include "kernels/contract/sample.h"
#include "tests/gpu/gpu-core.h"

#include "engine/replay/cuda-driver.h"
#include "kernels/host/kernels.h"

#include <math.h>
#include <string.h>

#define BOUND 4.7e-2
/* Between two of the GPU's own ways through the same step: sums in another order tip roundings to bf16,
 * and once some have tipped, all that follow are independent; so two ways differ by up to as much as
 * each from the host, times the root of two. */
#define OWN_BOUND (1.42 * BOUND)
#define N_TOKENS 250
#define N_GREEDY 256

static GpuCore gpu, host;
static int32_t tokens[N_TOKENS];
static float *expected; /* [N_TOKENS, n_vocabulary] of the GPU's one step */

static double
relative_error(const float *a, const float *b, size_t n)
{
    double difference = 0, length = 0;
    for (size_t i = 0; i < n; i++) {
        difference += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
        length += (double)b[i] * b[i];
    }
    return isfinite(difference) ? sqrt(difference / length) : INFINITY;
}

static double
largest_error(const float *a, const float *b, int n_rows)
{
    double largest = 0;
    for (int i = 0; i < n_rows; i++)
        largest = MAX(largest, relative_error(a + (size_t)i * gpu.n_vocabulary,
                                              b + (size_t)i * gpu.n_vocabulary, gpu.n_vocabulary));
    return largest;
}

/* All rows of a stretch of sequence 0 with their logits, in steps of `chunk` rows. */
static float *
prefill(GpuCore *core, int32_t first_page, int32_t chunk)
{
    float *logits = g_new(float, (size_t)N_TOKENS * core->n_vocabulary);
    int32_t rows[N_TOKENS];
    for (int32_t i = 0; i < N_TOKENS; i++)
        rows[i] = i;
    for (int32_t done = 0; done < N_TOKENS; done += chunk) {
        int32_t n = MIN(chunk, N_TOKENS - done);
        const GpuPart part = {first_page, done, n, tokens + done};
        g_autofree float *here = gpu_core_step(core, &part, 1, rows, n);
        memcpy(logits + (size_t)done * core->n_vocabulary, here,
               (size_t)n * core->n_vocabulary * sizeof(float));
    }
    return logits;
}

static void
test_host(void)
{
    g_autofree float *logits = prefill(&host, 1, 48);
    double error = largest_error(expected, logits, N_TOKENS);
    g_print("# against the host in float32: %.2e (bound %.2e)\n", error, BOUND);
    g_assert_cmpfloat(error, <, BOUND);
}

/* Every kind of launch: one row, a few, tiles of 8, 32 and 64, ragged. */
static void
test_chunks(void)
{
    static const int32_t chunks[] = {1,  2,  3,  4,  5,  7,  8,  9,   16,
                                     31, 32, 33, 63, 64, 65, 95, 129, 200};
    for (size_t i = 0; i < G_N_ELEMENTS(chunks); i++) {
        g_autofree float *logits = prefill(&gpu, 8, chunks[i]);
        double error = largest_error(logits, expected, N_TOKENS);
        g_print("# chunks of %2d: %.2e\n", chunks[i], error);
        g_assert_cmpfloat(error, <, OWN_BOUND);
    }
}

/* Many sequences in one step, each at another position, against each alone. */
static void
test_company(void)
{
    static const int sizes[] = {1, 2, 3, 4, 5, 8, 9, 17, 33, 64};
    enum { MOST = 64 };
    GpuPart parts[MOST];
    int32_t rows[MOST];
    for (int i = 0; i < MOST; i++) {
        const GpuPart before = {100 + 2 * i, 0, 10 + i, tokens};
        int32_t last = 9 + i;
        g_autofree float *logits = gpu_core_step(&gpu, &before, 1, &last, 1);
        parts[i] = (GpuPart){100 + 2 * i, 10 + i, 1, tokens + 10 + i};
        rows[i] = i;
    }
    for (size_t s = 0; s < G_N_ELEMENTS(sizes); s++) {
        double largest = 0;
        g_autofree float *logits = gpu_core_step(&gpu, parts, sizes[s], rows, sizes[s]);
        for (int i = 0; i < MIN(sizes[s], N_TOKENS - 11); i++)
            largest = MAX(largest, relative_error(logits + (size_t)i * gpu.n_vocabulary,
                                                  expected + (size_t)(10 + i) * gpu.n_vocabulary,
                                                  gpu.n_vocabulary));
        g_print("# %2d sequences: %.2e\n", sizes[s], largest);
        g_assert_cmpfloat(largest, <, OWN_BOUND);
    }
}

static int32_t
find_best(const float *logits, float *gap)
{
    int32_t best = 0;
    float second = -INFINITY;
    for (uint32_t i = 1; i < gpu.n_vocabulary; i++)
        if (logits[i] > logits[best])
            best = (int32_t)i;
    for (uint32_t i = 0; i < gpu.n_vocabulary; i++)
        if ((int32_t)i != best)
            second = MAX(second, logits[i]);
    *gap = logits[best] - second;
    return best;
}

/* Greedy tokens by the device's own sampling; the host follows with the same tokens. */
static void
test_greedy(void)
{
    g_autoptr(GError) error = NULL;
    int32_t row = 7, n_different = 0;
    float gap;
    const GpuPart prompt = {1, 0, 8, tokens};
    g_autofree float *first = gpu_core_step(&gpu, &prompt, 1, &row, 1);
    g_autofree float *same = gpu_core_step(&host, &prompt, 1, &row, 1);
    int32_t token = find_best(first, &gap);
    SundogSampling *sampling = sundog_replay_get_buffer(gpu.replay, "sampling");
    sampling[0] = (SundogSampling){.top_p = 1, .repetition_penalty = 1};
    ((int32_t *)sundog_replay_get_buffer(gpu.replay, "history"))[0] = -1;
    row = 0;
    for (int i = 0; i < N_GREEDY; i++) {
        const GpuPart part = {1, 8 + i, 1, &token};
        SundogShape shape = gpu_core_fill(&gpu, &part, 1, &row, 1);
        sundog_replay_run(gpu.replay, SUNDOG_PROGRAM_FORWARD, &shape, &error);
        g_assert_no_error(error);
        sundog_replay_run(gpu.replay, SUNDOG_PROGRAM_SAMPLE, &shape, &error);
        g_assert_no_error(error);
        g_autofree float *logits = gpu_core_step(&host, &part, 1, &row, 1);
        int32_t hosts = find_best(logits, &gap);
        int32_t next = *(int32_t *)sundog_replay_get_buffer(gpu.replay, "token");
        if (next != hosts) {
            n_different++;
            g_print("# token %d: %d on the GPU, %d on the host, whose two best are %.3f apart\n", i,
                    next, hosts, gap);
            g_assert_cmpfloat(gap, <, 0.25);
        }
        token = next;
    }
    g_print("# %d of %d greedy tokens differ from the host's\n", n_different, N_GREEDY);
    g_assert_cmpint(n_different, <=, N_GREEDY / 50);
}

/* Random sampling of the same logits by the host's kernel: the same tokens. */
static void
test_sampling(void)
{
    g_autoptr(GError) error = NULL;
    static const float temperatures[] = {0, 0.2f, 0.7f, 1, 2};
    SundogSampling *sampling = sundog_replay_get_buffer(gpu.replay, "sampling");
    int32_t *history = sundog_replay_get_buffer(gpu.replay, "history");
    int32_t *mask = sundog_replay_get_buffer(gpu.replay, "mask");
    SundogBias *biases = sundog_replay_get_buffer(gpu.replay, "bias");
    int64_t n_mask = SUNDOG_SAMPLE_MASK_WORDS(gpu.n_vocabulary);
    g_autofree uint8_t *workspace = g_malloc(sundog_sample_workspace_bytes(gpu.n_vocabulary));
    int32_t row = 7;
    for (int i = 0; i < 200; i++) {
        const GpuPart part = {1, 0, 8, tokens + i % 40};
        g_autofree float *logits = gpu_core_step(&gpu, &part, 1, &row, 1);
        sampling[0] = (SundogSampling){.seed = (uint64_t)i * 77,
                                       .position = (uint64_t)i,
                                       .temperature = temperatures[i % 5],
                                       .top_k = i % 3 == 0   ? 40
                                                : i % 3 == 1 ? 1
                                                             : 0,
                                       .top_p = i % 2 == 0 ? 0.9f : 1,
                                       .min_p = i % 4 == 3 ? 0.05f : 0,
                                       .repetition_penalty = i % 7 == 0 ? 1.3f : 1,
                                       .presence_penalty = i % 11 == 0 ? 0.5f : 0,
                                       .n_history = 8,
                                       .n_answered = (uint32_t)i % 9,
                                       .n_bias = (uint32_t)i % 3,
                                       .masked = i % 5 < 2};
        for (int64_t k = 0; k < n_mask; k++)
            mask[k] = (int32_t)((uint32_t)(i + 1) * 2654435761u * (uint32_t)(k + 1));
        biases[0] = (SundogBias){i % gpu.n_vocabulary, 3};
        biases[1] = (SundogBias){(i + 1) % gpu.n_vocabulary, -0.25f};
        memcpy(history, tokens, 8 * sizeof(int32_t));
        SundogShape shape = *sundog_replay_get_bounds(gpu.replay);
        shape.values[SUNDOG_VARIABLE_LOGIT_ROWS] = 1;
        shape.values[SUNDOG_VARIABLE_TOKENS] = 1;
        shape.values[SUNDOG_VARIABLE_SEQUENCES] = 1;
        shape.values[SUNDOG_VARIABLE_HISTORY] = 8;
        shape.values[SUNDOG_VARIABLE_BIAS] = 2 * SUNDOG_BIAS_WORDS;
        sundog_replay_run(gpu.replay, SUNDOG_PROGRAM_SAMPLE, &shape, &error);
        g_assert_no_error(error);
        int32_t token;
        SundogArgument arguments[SUNDOG_MAX_ARGUMENTS] = {
            {.data = logits, .shape = {1, gpu.n_vocabulary, 1, 1}},
            {.data = sampling, .shape = {1, sizeof *sampling, 1, 1}},
            {.data = history, .shape = {1, 8, 1, 1}},
            {.data = mask, .shape = {1, n_mask, 1, 1}},
            {.data = biases, .shape = {1, 2 * SUNDOG_BIAS_WORDS, 1, 1}},
            {.data = &token, .shape = {1, 1, 1, 1}},
            {.data = workspace, .shape = {1, 1, 1, 1}}};
        const SundogCall call = {.arguments = arguments, .n_threads = 1};
        sundog_host_kernel(SUNDOG_OP_SAMPLE, SUNDOG_HOST_PLAIN)(&call);
        g_assert_cmpint(*(int32_t *)sundog_replay_get_buffer(gpu.replay, "token"), ==, token);
    }
}

static bool
open_cores(void)
{
    const char *cache = g_getenv("SUNDOG_TEST_CACHE");
    g_autofree char *path = g_build_filename(cache != NULL ? cache : ".", "smollm2.gguf", NULL);
    const SundogReplayOptions options = {
        .pool_pages = 400, .sequence_pages = 8, .host_set = -1, .poison = true};
    g_autoptr(GError) error = NULL;
    if (sundog_cuda_driver_get(&error) == NULL || !g_file_test(path, G_FILE_TEST_EXISTS)) {
        g_print("1..0 # SKIP %s\n",
                error != NULL ? error->message : "smollm2.gguf is not in the cache of test files");
        return false;
    }
    gpu_core_open(&gpu, path, GPU_TARGET, SUNDOG_ACTIVATIONS_F32, &options);
    gpu_core_open(&host, path, SUNDOG_CORE_TARGET_HOST, SUNDOG_ACTIVATIONS_F32, &options);
    for (int32_t i = 0; i < N_TOKENS; i++)
        tokens[i] = (i * 7919 + 13) % (int32_t)gpu.n_vocabulary;
    expected = prefill(&gpu, 1, N_TOKENS);
    return true;
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    if (!open_cores())
        return 0;
    g_test_add_func("/cuda/host", test_host);
    g_test_add_func("/cuda/chunks", test_chunks);
    g_test_add_func("/cuda/company", test_company);
    g_test_add_func("/cuda/greedy", test_greedy);
    g_test_add_func("/cuda/sampling", test_sampling);
    int status = g_test_run();
    gpu_core_close(&gpu);
    gpu_core_close(&host);
    g_free(expected);
    return status;
}
