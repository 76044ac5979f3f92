/* Sampling: against a sorted reference in plain sight, its random numbers, and hostile rows. */

#include "kernels/contract/math.h"
#include "kernels/contract/sample.h"
#include "tests/kernels/call.h"
#include <glib.h>
#include <string.h>

#define WINDOW 24
#define BIASES 5
#define HISTORY_ARGUMENT 2
#define MASK_ARGUMENT 3
#define BIAS_ARGUMENT 4
#define TOKEN_ARGUMENT 5
#define MAX_THREADS 7

static const SundogSampling neutral = {.top_p = 1, .repetition_penalty = 1};

typedef struct {
    int64_t id;
    float logit;
    int64_t weight;
} Candidate;

static int
compare_candidates(const void *left, const void *right)
{
    const Candidate *a = left, *b = right;
    if (a->logit != b->logit)
        return a->logit > b->logit ? -1 : 1;
    return a->id < b->id ? -1 : 1;
}

/* The contract read literally: sort, cut, cut, cut, draw. */
static int32_t
sample_by_sorting(float *logits, int64_t n, const SundogSampling *o, const int32_t *history,
                  const int32_t *mask, const SundogBias *biases)
{
    for (uint32_t i = 0; i < o->n_bias; i++)
        if (biases[i].token >= 0 && biases[i].token < n)
            logits[biases[i].token] += biases[i].amount;
    g_autofree int *counts = g_new0(int, n);
    for (uint32_t i = 0; i < o->n_history; i++)
        if (history[i] >= 0 && history[i] < n)
            counts[history[i]]++;
    float best = -INFINITY;
    for (int64_t i = 0; i < n; i++) {
        if (counts[i] > 0) {
            logits[i] = logits[i] > 0 ? logits[i] / o->repetition_penalty
                                      : logits[i] * o->repetition_penalty;
            logits[i] -= fmaf((float)counts[i], o->frequency_penalty, o->presence_penalty);
        }
        if (o->masked && !((uint32_t)mask[i / 32] >> i % 32 & 1))
            logits[i] = -INFINITY;
        best = fmaxf(best, logits[i]);
    }
    g_autofree Candidate *all = g_new(Candidate, n);
    for (int64_t i = 0; i < n; i++) {
        all[i] = (Candidate){.id = i, .logit = logits[i]};
        if (o->temperature > 0)
            all[i].weight = (int64_t)(sundog_exp((logits[i] - best) / o->temperature) * 0x1p40f);
    }
    qsort(all, (size_t)n, sizeof *all, compare_candidates);
    if (!(o->temperature > 0))
        return (int32_t)all[0].id;
    int64_t kept = o->top_k > 0 ? MIN(o->top_k, n) : n, sum = 0, reached = 0, end = 0;
    for (int64_t i = 0; i < kept; i++)
        sum += all[i].weight;
    for (; end < kept && (end == 0 || (double)reached < o->top_p * (double)sum); end++)
        reached += all[end].weight;
    g_autofree int64_t *by_id = g_new0(int64_t, n);
    sum = 0;
    for (int64_t i = 0; i < end; i++)
        if ((double)all[i].weight >= (double)o->min_p * 0x1p40)
            sum += by_id[all[i].id] = all[i].weight;
    int64_t left = (int64_t)(sundog_sample_uniform(o->seed, o->position) * (double)sum);
    int64_t id = 0;
    while (left >= by_id[id])
        left -= by_id[id++];
    return (int32_t)id;
}

static void
init_sample(TestCall *call, int64_t rows, int64_t n, TestRandom *random)
{
    test_call_init(call, SUNDOG_OP_SAMPLE);
    test_call_add_floats(call, rows, n, random);
    SundogSampling *options =
        test_call_add(call, SUNDOG_DTYPE_U8, rows, (int64_t)sizeof(SundogSampling));
    int32_t *history = test_call_add(call, SUNDOG_DTYPE_I32, rows, WINDOW);
    for (int64_t i = 0; i < rows * WINDOW; i++)
        history[i] = (int32_t)test_random_int(random, -1, n);
    for (int64_t r = 0; r < rows; r++)
        options[r] = neutral;
    int32_t *mask = test_call_add(call, SUNDOG_DTYPE_I32, rows, SUNDOG_SAMPLE_MASK_WORDS(n));
    for (int64_t i = 0; i < rows * SUNDOG_SAMPLE_MASK_WORDS(n); i++)
        mask[i] = (int32_t)(test_random_u32(random) | 1);
    SundogBias *biases = test_call_add(call, SUNDOG_DTYPE_I32, rows, BIASES * SUNDOG_BIAS_WORDS);
    for (int64_t i = 0; i < rows * BIASES; i++)
        biases[i] = (SundogBias){(int32_t)test_random_int(random, -1, n),
                                 (float)test_random_int(random, -8, 8)};
    test_call_add(call, SUNDOG_DTYPE_I32, rows, 1);
    test_call_add(call, SUNDOG_DTYPE_U8, MAX_THREADS, (int64_t)sundog_sample_workspace_bytes(n));
}

static SundogSampling
random_options(TestRandom *random, int64_t n)
{
    SundogSampling o = neutral;
    o.seed = (uint64_t)test_random_u32(random) << 32 | test_random_u32(random);
    o.position = test_random_u32(random);
    o.temperature = (float)test_random_int(random, 0, 4) * 0.4f;
    o.top_k = test_random_int(random, 0, 1) ? (int32_t)test_random_int(random, 1, n + 2) : 0;
    if (o.top_k > 0 && test_random_int(random, 0, 1))
        o.top_k = 1 + o.top_k % 20;
    o.top_p = (float)test_random_int(random, 0, 4) * 0.25f;
    o.min_p = test_random_int(random, 0, 1) ? 0 : 0.1f;
    o.n_history = (uint32_t)test_random_int(random, 0, WINDOW);
    o.repetition_penalty = test_random_int(random, 0, 1) ? 1.0f : 1.3f;
    o.presence_penalty = test_random_int(random, 0, 1) ? 0.0f : 0.5f;
    o.frequency_penalty = test_random_int(random, 0, 1) ? 0.0f : 0.25f;
    o.n_bias = (uint32_t)test_random_int(random, 0, BIASES);
    o.masked = (uint32_t)test_random_int(random, 0, 1);
    return o;
}

static void
test_equals_sorting(void)
{
    TestRandom random = {17};
    for (int i = 0; i < 150; i++) {
        TestCall call;
        int64_t rows = test_random_int(&random, 1, 4);
        int64_t n = i % 3 == 0 ? test_random_int(&random, 1, 9) : test_random_int(&random, 1, 3000);
        init_sample(&call, rows, n, &random);
        float *logits = call.arguments[0].data;
        SundogSampling *options = call.arguments[1].data;
        for (int64_t k = 0; k < rows * n; k++) /* Steps, so that many are equal. */
            logits[k] = i % 2 ? logits[k] * 9 : roundf(logits[k] * 20) * 0.5f;
        for (int64_t r = 0; r < rows; r++) {
            options[r] = random_options(&random, n);
            if (n > 2 && i % 4 == 0)
                logits[r * n + 1] = -INFINITY;
        }
        test_call_check_all_sets(&call);
        for (int64_t r = 0; r < rows; r++) {
            int32_t expected = sample_by_sorting(
                (float *)call.initial[0] + r * n, n, &options[r],
                (int32_t *)call.arguments[HISTORY_ARGUMENT].data + r * WINDOW,
                (int32_t *)call.arguments[MASK_ARGUMENT].data + r * SUNDOG_SAMPLE_MASK_WORDS(n),
                (SundogBias *)call.arguments[BIAS_ARGUMENT].data + r * BIASES);
            g_assert_cmpint(((int32_t *)call.arguments[TOKEN_ARGUMENT].data)[r], ==, expected);
        }
        test_call_clear(&call);
    }
}

static int32_t
sample_one(TestCall *call)
{
    test_call_run(call, sundog_host_detect(), 1, false);
    return *(int32_t *)call->arguments[TOKEN_ARGUMENT].data;
}

static void
test_hostile_rows(void)
{
    static const float bad[] = {NAN, INFINITY, -NAN};
    TestRandom random = {18};
    for (int i = 0; i < 3; i++)
        for (int temperature = 0; temperature < 2; temperature++) {
            TestCall call;
            init_sample(&call, 1, 100, &random);
            ((SundogSampling *)call.arguments[1].data)->temperature = (float)temperature;
            ((float *)call.arguments[0].data)[61] = bad[i];
            g_assert_cmpint(sample_one(&call), ==, -1);
            test_call_clear(&call);
        }
    TestCall call;
    init_sample(&call, 1, 100, &random);
    for (int k = 0; k < 100; k++)
        ((float *)call.arguments[0].data)[k] = -INFINITY;
    g_assert_cmpint(sample_one(&call), ==, -1);
    test_call_clear(&call);

    /* One token left by a mask is taken, whatever the options; without any there is none. */
    for (int i = 0; i < 3; i++) {
        init_sample(&call, 1, 100, &random);
        int32_t *mask = call.arguments[MASK_ARGUMENT].data;
        memset(mask, 0, SUNDOG_SAMPLE_MASK_WORDS(100) * sizeof *mask);
        mask[1] = i > 0 ? 1 << 10 : 0;
        *(SundogSampling *)call.arguments[1].data =
            (SundogSampling){.temperature = i == 1 ? 2 : 1e-30f,
                             .top_p = 0,
                             .min_p = 1,
                             .top_k = 3,
                             .repetition_penalty = 1,
                             .masked = 1};
        g_assert_cmpint(sample_one(&call), ==, i > 0 ? 42 : -1);
        test_call_clear(&call);
    }
}

static void
test_uniform(void)
{
    /* Philox4x32-10 of counter 0 and key 0 begins 6627e8d5 e169c58d. */
    uint64_t first = 0xe169c58d6627e8d5u;
    g_assert_cmpfloat(sundog_sample_uniform(0, 0), ==, (double)(first >> 11) * 0x1p-53);
    double mean = 0;
    for (uint64_t i = 0; i < 10000; i++) {
        double u = sundog_sample_uniform(i % 7, i);
        g_assert_true(u >= 0 && u < 1);
        mean += u / 10000;
    }
    g_assert_cmpfloat(fabs(mean - 0.5), <, 0.015);
    g_assert_cmpfloat(sundog_sample_uniform(1, 5), !=, sundog_sample_uniform(1ull << 32, 5));
    g_assert_cmpfloat(sundog_sample_uniform(1, 5), !=, sundog_sample_uniform(1, 5 | 1ull << 32));
}

int
main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/kernels/sample/uniform", test_uniform);
    g_test_add_func("/kernels/sample/equals-sorting", test_equals_sorting);
    g_test_add_func("/kernels/sample/hostile-rows", test_hostile_rows);
    return g_test_run();
}
