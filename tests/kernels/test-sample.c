/* Sampling: against a sorted reference in plain sight, its random numbers, and hostile rows. */

#include "kernels/contract/math.h"
#include "kernels/contract/philox.h"
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
#define SCORES_ARGUMENT 7
#define MAX_THREADS 7

static const SundogSampling neutral = {.top_p = 1, .repetition_penalty = 1};

typedef struct {
    int64_t id;
    float logit;
    float x; /* the logit's distance from the best, over the temperature */
    float distance;
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

/* The logits as sampling leaves them. */
static void
change_logits(float *logits, int64_t n, const SundogSampling *o, const int32_t *history,
              const int32_t *mask, const SundogBias *biases)
{
    g_autofree int *counts = g_new0(int, n), *answered = g_new0(int, n);
    for (uint32_t i = 0; i < o->n_bias; i++)
        if (biases[i].token >= 0 && biases[i].token < n)
            logits[biases[i].token] += biases[i].amount;
    for (uint32_t i = 0; i < o->n_history; i++)
        if (history[i] >= 0 && history[i] < n)
            counts[history[i]]++;
    for (uint32_t i = o->n_history - MIN(o->n_answered, o->n_history); i < o->n_history; i++)
        if (history[i] >= 0 && history[i] < n)
            answered[history[i]]++;
    for (int64_t i = 0; i < n; i++) {
        if (counts[i] > 0) {
            logits[i] = logits[i] > 0 ? logits[i] / o->repetition_penalty
                                      : logits[i] * o->repetition_penalty;
            if (answered[i] > 0)
                logits[i] -= fmaf((float)answered[i], o->frequency_penalty, o->presence_penalty);
        }
        if (o->masked && !((uint32_t)mask[i / 32] >> i % 32 & 1))
            logits[i] = -INFINITY;
    }
}

/* All tokens, best first, with their weights for a temperature. */
static Candidate *
sort_tokens(const float *logits, int64_t n, float temperature)
{
    Candidate *all = g_new0(Candidate, n);
    float best = -INFINITY;
    for (int64_t i = 0; i < n; i++)
        best = fmaxf(best, logits[i]);
    for (int64_t i = 0; i < n; i++) {
        all[i] = (Candidate){.id = i, .logit = logits[i]};
        if (temperature > 0) {
            all[i].x = (logits[i] - best) / temperature;
            all[i].weight = (int64_t)(sundog_exp(all[i].x) * 0x1p40f);
        }
    }
    qsort(all, (size_t)n, sizeof *all, compare_candidates);
    return all;
}

static int64_t
sum_weights(const Candidate *all, int64_t n)
{
    int64_t sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += all[i].weight;
    return sum;
}

/* Takes the weights past the shortest run that reaches a share of the sum. */
static void
keep_share(Candidate *all, int64_t n, double share)
{
    int64_t reached = 0, sum = sum_weights(all, n);
    for (int64_t i = 0; i < n; i++) {
        bool kept = reached == 0 || (double)reached < share * (double)sum;
        reached += kept ? all[i].weight : 0;
        all[i].weight = kept ? all[i].weight : 0;
    }
}

static int
compare_ids(const void *left, const void *right)
{
    const Candidate *a = left, *b = right;
    return a->id < b->id ? -1 : 1;
}

static int
compare_distances(const void *left, const void *right)
{
    const Candidate *a = left, *b = right;
    return a->distance != b->distance ? (a->distance < b->distance ? -1 : 1) : compare_ids(a, b);
}

static void
keep_within_sigma(Candidate *all, int64_t n, double n_sigma)
{
    double sum = 0, squares = 0, best = all[0].logit;
    int64_t n_finite = 0;
    qsort(all, (size_t)n, sizeof *all, compare_ids);
    for (int64_t i = 0; i < n; i++)
        if (isfinite(all[i].logit)) {
            sum += (double)all[i].logit;
            n_finite++;
        }
    for (int64_t i = 0; i < n; i++)
        if (isfinite(all[i].logit))
            squares += pow((double)all[i].logit - sum / (double)n_finite, 2);
    for (int64_t i = 0; i < n; i++)
        if ((double)all[i].logit < best - n_sigma * sqrt(squares / (double)n_finite))
            all[i].weight = 0;
    qsort(all, (size_t)n, sizeof *all, compare_candidates);
}

static void
keep_typical(Candidate *all, int64_t n, double share)
{
    double mean = 0;
    qsort(all, (size_t)n, sizeof *all, compare_ids);
    for (int64_t i = 0; i < n; i++)
        if (all[i].weight > 0)
            mean += (double)all[i].weight * (double)all[i].x;
    mean /= (double)sum_weights(all, n);
    for (int64_t i = 0; i < n; i++)
        all[i].distance = (float)fabs((double)all[i].x - mean);
    qsort(all, (size_t)n, sizeof *all, compare_distances);
    keep_share(all, n, share);
    qsort(all, (size_t)n, sizeof *all, compare_candidates);
}

static void
leave_top_out(Candidate *all, int64_t n, double threshold)
{
    double least = threshold * (double)sum_weights(all, n);
    int64_t last = -1;
    for (int64_t i = 0; i < n; i++)
        if (all[i].weight > 0 && (double)all[i].weight >= least)
            last = i;
    for (int64_t i = 0; i < last; i++)
        all[i].weight = (double)all[i].weight >= least ? 0 : all[i].weight;
}

/* The contract read literally: sort, cut, cut, cut, draw. */
static int32_t
sample_by_sorting(float *logits, int64_t n, const SundogSampling *o)
{
    g_autofree Candidate *all = sort_tokens(logits, n, o->temperature);
    if (!(o->temperature > 0))
        return (int32_t)all[0].id;
    if (o->top_n_sigma > 0)
        keep_within_sigma(all, n, (double)o->top_n_sigma);
    for (int64_t i = o->top_k > 0 ? MIN(o->top_k, n) : n; i < n; i++)
        all[i].weight = 0;
    if (o->typical_p > 0 && o->typical_p < 1)
        keep_typical(all, n, (double)o->typical_p);
    if (o->top_p < 1)
        keep_share(all, n, (double)o->top_p);
    int64_t greatest = 0;
    for (int64_t i = 0; i < n; i++)
        greatest = MAX(greatest, all[i].weight);
    for (int64_t i = 0; i < n; i++)
        if ((double)all[i].weight < (double)o->min_p * (double)greatest)
            all[i].weight = 0;
    if (o->xtc_threshold <= 0.5f &&
        sundog_sample_uniform(o->seed, o->position + (1ull << 63)) < (double)o->xtc_probability)
        leave_top_out(all, n, (double)o->xtc_threshold);
    qsort(all, (size_t)n, sizeof *all, compare_ids);
    double uniform = sundog_sample_uniform(o->seed, o->position);
    int64_t left = (int64_t)(uniform * (double)sum_weights(all, n)), id = 0;
    while (left >= all[id].weight)
        left -= all[id++].weight;
    return (int32_t)id;
}

/* raw: the logits as they came. */
static void
check_scores(const float *raw, int64_t n, const SundogSampling *o, int32_t token,
             const SundogScore *scores)
{
    if (o->n_scores == 0)
        return;
    g_autofree Candidate *all = sort_tokens(raw, n, 1);
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += exp((double)raw[i] - (double)all[0].logit);
    for (uint32_t i = 0; i < SUNDOG_MAX_SCORES; i++) {
        bool is_there = i < o->n_scores && i <= n;
        int64_t id = !is_there ? -1 : i == 0 ? token : all[i - 1].id;
        g_assert_cmpint(scores[i].token, ==, id);
        if (id < 0)
            continue;
        double expected = (double)raw[id] - (double)all[0].logit - log(sum);
        /* Of a float's rounding, and of what weights below 2^-40 would add. */
        if (isfinite(expected))
            g_assert_cmpfloat(fabs((double)scores[i].log_probability - expected), <,
                              1e-6 * (1 - expected));
        else
            g_assert_cmpfloat((double)scores[i].log_probability, ==, expected);
    }
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
    test_call_add(call, SUNDOG_DTYPE_I32, rows, SUNDOG_MAX_SCORES * SUNDOG_SCORE_WORDS);
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
    o.n_answered = (uint32_t)test_random_int(random, 0, WINDOW);
    o.repetition_penalty = test_random_int(random, 0, 1) ? 1.0f : 1.3f;
    o.presence_penalty = test_random_int(random, 0, 1) ? 0.0f : 0.5f;
    o.frequency_penalty = test_random_int(random, 0, 1) ? 0.0f : 0.25f;
    o.n_bias = (uint32_t)test_random_int(random, 0, BIASES);
    o.masked = (uint32_t)test_random_int(random, 0, 1);
    o.top_n_sigma = test_random_int(random, 0, 2) ? 0.0f : 1.5f;
    o.typical_p = (float)test_random_int(random, 0, 4) * 0.25f;
    o.xtc_probability = (float)test_random_int(random, 0, 2) * 0.5f;
    o.xtc_threshold = (float)test_random_int(random, 0, 3) * 0.15f;
    o.n_scores = (uint32_t)MAX(test_random_int(random, -10, SUNDOG_MAX_SCORES), 0);
    return o;
}

static void
test_equals_sorting(void)
{
    TestRandom random = {17};
    for (int i = 0; i < 300; i++) {
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
            float *row = (float *)call.initial[0] + r * n;
            g_autofree float *raw = g_memdup2(row, (size_t)n * sizeof *row);
            change_logits(
                row, n, &options[r], (int32_t *)call.arguments[HISTORY_ARGUMENT].data + r * WINDOW,
                (int32_t *)call.arguments[MASK_ARGUMENT].data + r * SUNDOG_SAMPLE_MASK_WORDS(n),
                (SundogBias *)call.arguments[BIAS_ARGUMENT].data + r * BIASES);
            int32_t token = ((int32_t *)call.arguments[TOKEN_ARGUMENT].data)[r];
            g_assert_cmpint(token, ==, sample_by_sorting(row, n, &options[r]));
            check_scores(raw, n, &options[r], token,
                         (SundogScore *)call.arguments[SCORES_ARGUMENT].data +
                             r * SUNDOG_MAX_SCORES);
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

/* A token that is given is scored and nothing else: neither what it is nor its row changes. */
static void
test_given(void)
{
    TestRandom random = {19};
    TestCall call;
    init_sample(&call, 1, 500, &random);
    SundogSampling options = random_options(&random, 500);
    options.given = 78;
    options.n_scores = 6;
    *(SundogSampling *)call.arguments[1].data = options;
    g_assert_cmpint(sample_one(&call), ==, 77);
    g_assert_cmpmem(call.arguments[0].data, 500 * sizeof(float), call.initial[0],
                    500 * sizeof(float));
    check_scores(call.initial[0], 500, &options, 77, call.arguments[SCORES_ARGUMENT].data);
    test_call_clear(&call);

    init_sample(&call, 1, 500, &random);
    *(SundogSampling *)call.arguments[1].data = options;
    ((float *)call.arguments[0].data)[3] = NAN;
    g_assert_cmpint(sample_one(&call), ==, -1);
    test_call_clear(&call);
}

/* S4: with every filter that leaves tokens out moved, the tokens that can be drawn change as it says; what
 * moves logits is held to the definition above, in equals-sorting. */
static void
test_filters_move(void)
{
    static const struct {
        SundogSampling options;
        int32_t first, last; /* of the tokens that are left */
    } cases[] = {
        {{.temperature = 1, .top_p = 1, .repetition_penalty = 1}, 0, 7},
        {{.temperature = 1, .top_p = 1, .repetition_penalty = 1, .top_n_sigma = 1}, 0, 2},
        {{.temperature = 1, .top_p = 1, .repetition_penalty = 1, .top_k = 3}, 0, 2},
        {{.temperature = 1, .top_p = 0.5f, .repetition_penalty = 1}, 0, 0},
        {{.temperature = 1, .top_p = 1, .repetition_penalty = 1, .min_p = 0.3f}, 0, 1},
        /* Probabilities fall by half: the mean is one halving, so the second is the most typical. */
        {{.temperature = 1, .top_p = 1, .repetition_penalty = 1, .typical_p = 0.2f}, 1, 1},
        {{.temperature = 1,
          .top_p = 1,
          .repetition_penalty = 1,
          .xtc_probability = 1,
          .xtc_threshold = 0.1f},
         2,
         7},
    };
    TestRandom random = {20};
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        int32_t first = INT32_MAX, last = -1;
        for (uint64_t seed = 0; seed < 2000; seed++) {
            TestCall call;
            init_sample(&call, 1, 8, &random);
            SundogSampling *options = call.arguments[1].data;
            *options = cases[i].options;
            options->seed = seed;
            for (int k = 0; k < 8; k++)
                ((float *)call.arguments[0].data)[k] = -(float)k * 0.6931472f;
            int32_t token = sample_one(&call);
            first = MIN(first, token);
            last = MAX(last, token);
            test_call_clear(&call);
        }
        g_assert_cmpint(first, ==, cases[i].first);
        g_assert_cmpint(last, ==, cases[i].last);
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
    g_test_add_func("/kernels/sample/given", test_given);
    g_test_add_func("/kernels/sample/filters-move", test_filters_move);
    return g_test_run();
}
