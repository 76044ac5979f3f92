/*
 * Speed of single kernels: what each moved or multiplied, how long it took, and which share that is of
 * the ceiling measured in the same run, on the same threads. Shapes are those of SmolLM2-135M.
 *
 *   kernels [--threads N] [--set N] [--seconds S] [--only TEXT]
 *
 * Times are the best of many: other programs only ever make a kernel slower.
 */

#include "engine/replay/memory.h"
#include "engine/replay/thread-pool.h"
#include "kernels/contract/attention.h"
#include "kernels/contract/linear.h"
#include "kernels/contract/sample.h"
#include "tests/kernels/call.h"
#include <glib.h>
#include <math.h>
#include <stdio.h>

#define HIDDEN 576
#define INNER 1536
#define VOCABULARY 49152
#define HEADS 9
#define KV_HEADS 3
#define HEAD_DIM 64
#define QKV ((HEADS + 2 * KV_HEADS) * HEAD_DIM)
#define READ_BYTES ((size_t)256 << 20)
#define MAX_CALLS 512

static int n_threads = 2;
static int host_set = -1;
static double seconds = 0.3;
static char *only = ""; /* a part of the names of the lines that are wanted */
static SundogThreadPool *pool;
static double read_ceiling;    /* bytes a second */
static double product_ceiling; /* integer operations a second, 0 where unknown */

/* Calls that run one after the other, with a barrier after each, as a program does. */
typedef struct {
    TestCall *calls[MAX_CALLS];
    int n_calls;
} Sequence;

static void
run_sequence(void *data, unsigned thread, unsigned n)
{
    Sequence *sequence = data;
    for (int i = 0; i < sequence->n_calls; i++) {
        TestCall *call = sequence->calls[i];
        SundogCall one = {.arguments = call->arguments,
                          .parameters = call->parameters,
                          .thread = thread,
                          .n_threads = n};
        sundog_host_kernel(call->kind, (SundogHostSet)host_set)(&one);
        sundog_thread_pool_barrier(pool, thread);
    }
}

static double
best_time(SundogThreadWork work, void *data)
{
    double best = INFINITY, end = 0;
    for (int i = 0; i < 3 || end < seconds; i++) {
        gint64 start = g_get_monotonic_time();
        sundog_thread_pool_run(pool, work, data);
        double took = (double)(g_get_monotonic_time() - start) * 1e-6;
        best = MIN(best, took);
        end += took;
    }
    return best;
}

/* A line at a time, asked for far enough ahead, as the kernels do. */
static void
read_all(void *data, unsigned thread, unsigned n)
{
    size_t share = READ_BYTES / n / 64 * 8;
    const uint64_t *from = (const uint64_t *)data + share * thread;
    uint64_t sums[8] = {0};
    for (size_t i = 0; i < share; i += 8) {
        __builtin_prefetch(from + i + 512);
        for (int j = 0; j < 8; j++)
            sums[j] |= from[i + (size_t)j];
    }
    if ((sums[0] | sums[1] | sums[2] | sums[3] | sums[4] | sums[5] | sums[6] | sums[7]) == 42)
        puts("");
}

static double
measure_read(void)
{
    SundogMemory memory;
    g_assert_true(sundog_memory_map(&memory, READ_BYTES, SUNDOG_MEMORY_HUGE_PAGES, "a test", NULL));
    memset(memory.data, 1, READ_BYTES);
    double ceiling = (double)READ_BYTES / best_time(read_all, memory.data);
    sundog_memory_clear(&memory);
    return ceiling;
}

#define PRODUCT_STEPS 2000000

#ifdef __x86_64__
/* Independent chains enough to hide the latency; 4 products and 4 sums a lane of 16. */
static void __attribute__((target("avx512f,avx512vnni")))
multiply_only(void *data, unsigned thread, unsigned n)
{
    for (int i = 0; i < PRODUCT_STEPS; i++)
        __asm__ volatile("vpdpbusd %%zmm0, %%zmm1, %%zmm2\n vpdpbusd %%zmm0, %%zmm1, %%zmm3\n"
                         "vpdpbusd %%zmm0, %%zmm1, %%zmm4\n vpdpbusd %%zmm0, %%zmm1, %%zmm5\n"
                         "vpdpbusd %%zmm0, %%zmm1, %%zmm6\n vpdpbusd %%zmm0, %%zmm1, %%zmm7\n"
                         "vpdpbusd %%zmm0, %%zmm1, %%zmm8\n vpdpbusd %%zmm0, %%zmm1, %%zmm9\n"
                         "vpdpbusd %%zmm0, %%zmm1, %%zmm10\n vpdpbusd %%zmm0, %%zmm1, %%zmm11\n"
                         "vpdpbusd %%zmm0, %%zmm1, %%zmm12\n vpdpbusd %%zmm0, %%zmm1, %%zmm13\n"
                         :
                         :
                         : "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",
                           "xmm11", "xmm12", "xmm13");
}

static double
measure_products(void)
{
    if (!sundog_host_supports(SUNDOG_HOST_AVX512_VNNI))
        return 0;
    return 12.0 * 128 * PRODUCT_STEPS * n_threads / best_time(multiply_only, NULL);
}
#else
static double
measure_products(void)
{
    return 0;
}
#endif

static void
report_bytes(const char *name, Sequence *sequence, double n_bytes)
{
    if (strstr(name, only) == NULL)
        return;
    double time = best_time(run_sequence, sequence);
    printf("%-44s %9.2f MB %9.1f us %8.1f GB/s  %5.1f %% of reading\n", name, n_bytes * 1e-6,
           time * 1e6, n_bytes / time * 1e-9, 100 * n_bytes / time / read_ceiling);
    fflush(stdout);
}

static void
report_products(const char *name, Sequence *sequence, double n_operations)
{
    if (strstr(name, only) == NULL)
        return;
    double time = best_time(run_sequence, sequence);
    printf("%-44s %9.2f GO %9.1f us %8.1f GO/s", name, n_operations * 1e-9, time * 1e6,
           n_operations / time * 1e-9);
    if (product_ceiling > 0)
        printf("  %5.1f %% of vpdpbusd", 100 * n_operations / time / product_ceiling);
    printf("\n");
    fflush(stdout);
}

static void
sequence_clear(Sequence *sequence)
{
    for (int i = 0; i < sequence->n_calls; i++) {
        test_call_clear(sequence->calls[i]);
        g_free(sequence->calls[i]);
    }
}

static TestCall *
append(Sequence *sequence, SundogOperationKind kind)
{
    TestCall *call = g_new(TestCall, 1);
    test_call_init(call, kind);
    sequence->calls[sequence->n_calls++] = call;
    return call;
}

static void
add_units(TestCall *call, size_t n_bytes)
{
    test_call_add(call, SUNDOG_DTYPE_U8, n_threads, (int64_t)n_bytes);
}

static void
add_linear(Sequence *sequence, SundogLayout layout, bool a8, int64_t n_tokens, int64_t n, int64_t k,
           TestRandom *random)
{
    TestCall *call = append(sequence, SUNDOG_OP_LINEAR);
    if (a8)
        test_call_add_a8(call, n_tokens, k, random);
    else
        test_call_add_floats(call, n_tokens, k, random);
    test_call_add_weight(call, layout, n, k, random);
    test_call_add_absent(call);
    test_call_add_absent(call);
    test_call_add(call, SUNDOG_DTYPE_F32, n_tokens, n);
    add_units(call, sundog_linear_workspace_bytes(k));
}

static void
add_gated(Sequence *sequence, int64_t n_tokens, TestRandom *random)
{
    TestCall *call = append(sequence, SUNDOG_OP_LINEAR_GATED);
    test_call_add_a8(call, n_tokens, HIDDEN, random);
    test_call_add_weight(call, SUNDOG_LAYOUT_PANEL16_Q4_1, INNER, HIDDEN, random);
    test_call_add_weight(call, SUNDOG_LAYOUT_PANEL16_Q4_1, INNER, HIDDEN, random);
    test_call_add(call, SUNDOG_DTYPE_A8, (n_tokens + 5) / 6, INNER);
    add_units(call, sundog_linear_workspace_bytes(HIDDEN));
}

static double
weight_bytes(const Sequence *sequence)
{
    double sum = 0;
    for (int i = 0; i < sequence->n_calls; i++)
        for (uint32_t a = 0; a < sequence->calls[i]->n_arguments; a++)
            if (sequence->calls[i]->arguments[a].dtype == SUNDOG_DTYPE_WEIGHT)
                sum += (double)sequence->calls[i]->n_bytes[a];
    return sum;
}

/* Weights of 100 MB and more in turn, so that they come from memory; then few, from the cache. */
static void
bench_decode(TestRandom *random)
{
    for (int n_tokens = 1; n_tokens <= 5; n_tokens += 4) {
        for (int cached = 0; cached < 2; cached++) {
            Sequence q4 = {0}, q8 = {0}, gated = {0};
            g_autofree char *suffix =
                g_strdup_printf("%d token%s, %s", n_tokens, n_tokens > 1 ? "s" : "",
                                cached ? "cached" : "from memory");
            for (int i = 0; i < (cached ? 1 : 200); i++)
                add_linear(&q4, SUNDOG_LAYOUT_PANEL16_Q4_1, true, n_tokens, HIDDEN, INNER, random);
            for (int i = 0; i < (cached ? 1 : 100); i++)
                add_gated(&gated, n_tokens, random);
            for (int i = 0; i < (cached ? 1 : 4); i++)
                add_linear(&q8, SUNDOG_LAYOUT_PANEL16_Q8_0, true, n_tokens,
                           cached ? INNER : VOCABULARY, HIDDEN, random);
            g_autofree char *q4_name = g_strdup_printf("linear q4_1 576 x 1536, %s", suffix);
            g_autofree char *gated_name = g_strdup_printf("linear_gated q4_1, %s", suffix);
            g_autofree char *q8_name = g_strdup_printf("linear q8_0 x 576, %s", suffix);
            report_bytes(q4_name, &q4, weight_bytes(&q4));
            report_bytes(gated_name, &gated, weight_bytes(&gated));
            report_bytes(q8_name, &q8, weight_bytes(&q8));
            sequence_clear(&q4);
            sequence_clear(&gated);
            sequence_clear(&q8);
        }
    }
}

static void
bench_prefill(TestRandom *random)
{
    static const struct {
        const char *name;
        SundogLayout layout;
        bool a8;
        int64_t n, k, n_tokens;
    } cases[] = {
        {"linear q4_1 576 x 1536, 512 tokens", SUNDOG_LAYOUT_PANEL16_Q4_1, true, HIDDEN, INNER,
         512},
        {"linear q4_1 1536 x 576, 512 tokens", SUNDOG_LAYOUT_PANEL16_Q4_1, true, INNER, HIDDEN,
         512},
        {"linear q4_1 1536 x 576, 8 tokens", SUNDOG_LAYOUT_PANEL16_Q4_1, true, INNER, HIDDEN, 8},
        {"linear q4_1 1536 x 576, 12 tokens", SUNDOG_LAYOUT_PANEL16_Q4_1, true, INNER, HIDDEN, 12},
        {"linear q4_1 1536 x 576, 18 tokens", SUNDOG_LAYOUT_PANEL16_Q4_1, true, INNER, HIDDEN, 18},
        {"linear q4_1 1536 x 576, 64 tokens", SUNDOG_LAYOUT_PANEL16_Q4_1, true, INNER, HIDDEN, 64},
        {"linear q8_0 1536 x 576, 512 tokens", SUNDOG_LAYOUT_PANEL16_Q8_0, true, INNER, HIDDEN,
         512},
        {"linear q4_1 1536 x 576, f32, 512 tokens", SUNDOG_LAYOUT_PANEL16_Q4_1, false, INNER,
         HIDDEN, 512},
        {"linear f16 1536 x 576, f32, 512 tokens", SUNDOG_LAYOUT_PANEL16_F16, false, INNER, HIDDEN,
         512},
        {"linear q4_1 1536 x 576, f32, 1 token", SUNDOG_LAYOUT_PANEL16_Q4_1, false, INNER, HIDDEN,
         1},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        Sequence sequence = {0};
        add_linear(&sequence, cases[i].layout, cases[i].a8, cases[i].n_tokens, cases[i].n,
                   cases[i].k, random);
        report_products(cases[i].name, &sequence,
                        2.0 * (double)(cases[i].n_tokens * cases[i].n * cases[i].k));
        sequence_clear(&sequence);
    }
    Sequence gated = {0};
    add_gated(&gated, 512, random);
    report_products("linear_gated q4_1 to a8, 512 tokens", &gated, 4.0 * 512 * INNER * HIDDEN);
    sequence_clear(&gated);
}

/* Every quantized layout at one shape: a token and four from the cache, and a long prompt. */
static void
bench_layouts(TestRandom *random)
{
    static const SundogLayout layouts[] = {
        SUNDOG_LAYOUT_PANEL16_Q4_0,  SUNDOG_LAYOUT_PANEL16_Q4_1,   SUNDOG_LAYOUT_PANEL16_Q5_0,
        SUNDOG_LAYOUT_PANEL16_Q5_1,  SUNDOG_LAYOUT_PANEL16_Q8_0,   SUNDOG_LAYOUT_PANEL16_Q2_K,
        SUNDOG_LAYOUT_PANEL16_Q3_K,  SUNDOG_LAYOUT_PANEL16_Q4_K,   SUNDOG_LAYOUT_PANEL16_Q5_K,
        SUNDOG_LAYOUT_PANEL16_Q6_K,  SUNDOG_LAYOUT_PANEL16_IQ4_NL, SUNDOG_LAYOUT_PANEL16_IQ4_XS,
        SUNDOG_LAYOUT_PANEL16_MXFP4,
    };
    static const int64_t tokens[] = {1, 4, 512};
    const int64_t n = 512, k = 1024;
    for (size_t i = 0; i < G_N_ELEMENTS(layouts); i++)
        for (size_t j = 0; j < G_N_ELEMENTS(tokens); j++) {
            Sequence sequence = {0};
            g_autofree char *name = g_strdup_printf("layout %s, %d tokens",
                                                    sundog_layout_name(layouts[i]), (int)tokens[j]);
            add_linear(&sequence, layouts[i], true, tokens[j], n, k, random);
            report_products(name, &sequence, 2.0 * (double)(tokens[j] * n * k));
            sequence_clear(&sequence);
        }
}

/* One sequence whose last n_tokens rows are the step's. */
static void
add_attention(Sequence *sequence, int64_t n_tokens, int64_t context, TestRandom *random)
{
    int64_t n_pages = (context + 63) / 64, max_tiles = sundog_attention_max_tiles(n_tokens, 1);
    TestCall plan;
    test_call_init(&plan, SUNDOG_OP_PLAN_ATTENTION);
    ((int32_t *)test_call_add(&plan, SUNDOG_DTYPE_I32, 2, 1))[1] = (int32_t)n_tokens;
    *(int32_t *)test_call_add(&plan, SUNDOG_DTYPE_I32, 1, 1) = (int32_t)(context - n_tokens);
    test_call_add(&plan, SUNDOG_DTYPE_I32, max_tiles, 4);
    test_call_run(&plan, SUNDOG_HOST_PLAIN, 1, false);
    TestCall *call = append(sequence, SUNDOG_OP_ATTENTION);
    test_call_add_floats(call, n_tokens, QKV, random);
    test_call_add(call, SUNDOG_DTYPE_I32, n_tokens, 1);
    int32_t *table = test_call_add(call, SUNDOG_DTYPE_I32, 1, n_pages);
    for (int64_t i = 0; i < n_pages; i++)
        table[i] = (int32_t)i + 1;
    memcpy(test_call_add(call, SUNDOG_DTYPE_I32, max_tiles, 4), plan.arguments[2].data,
           plan.n_bytes[2]);
    test_call_add_4d(call, SUNDOG_DTYPE_F16, (int64_t[4]){n_pages + 1, KV_HEADS, HEAD_DIM, 64});
    test_call_add_4d(call, SUNDOG_DTYPE_F16, (int64_t[4]){n_pages + 1, KV_HEADS, 64, HEAD_DIM});
    test_call_add(call, SUNDOG_DTYPE_A8, (n_tokens + 5) / 6, HEADS * HEAD_DIM);
    add_units(call, sundog_attention_workspace_bytes(HEAD_DIM));
    call->parameters[0].i = HEADS;
    call->parameters[1].i = KV_HEADS;
    call->parameters[2].i = HEAD_DIM;
    call->parameters[3].f = 0.125;
    test_call_clear(&plan);
}

static void
add_rope_cache(Sequence *sequence, int64_t n_tokens, TestRandom *random)
{
    int64_t n_pages = (n_tokens + 63) / 64;
    TestCall *call = append(sequence, SUNDOG_OP_ROPE_CACHE);
    test_call_add_floats(call, n_tokens, QKV, random);
    int32_t *positions = test_call_add(call, SUNDOG_DTYPE_I32, n_tokens, 1);
    for (int32_t i = 0; i < n_tokens; i++)
        positions[i] = i;
    test_call_add(call, SUNDOG_DTYPE_I32, n_tokens, 1);
    int32_t *table = test_call_add(call, SUNDOG_DTYPE_I32, 1, n_pages);
    for (int64_t i = 0; i < n_pages; i++)
        table[i] = (int32_t)i + 1;
    test_call_add_floats(call, 1, HEAD_DIM / 2, random);
    test_call_add_4d(call, SUNDOG_DTYPE_F16, (int64_t[4]){n_pages + 1, KV_HEADS, HEAD_DIM, 64});
    test_call_add_4d(call, SUNDOG_DTYPE_F16, (int64_t[4]){n_pages + 1, KV_HEADS, 64, HEAD_DIM});
    call->parameters[0].i = HEADS;
    call->parameters[1].i = KV_HEADS;
    call->parameters[2].i = call->parameters[3].i = HEAD_DIM;
    call->parameters[5].f = 1;
}

static void
add_norm_quantize(Sequence *sequence, int64_t n_tokens, TestRandom *random)
{
    TestCall *call = append(sequence, SUNDOG_OP_NORM_QUANTIZE);
    test_call_add_floats(call, n_tokens, HIDDEN, random);
    test_call_add_floats(call, 1, HIDDEN, random);
    test_call_add(call, SUNDOG_DTYPE_A8, (n_tokens + 5) / 6, HIDDEN);
    call->parameters[0].f = 1e-5;
}

static void
add_sample(Sequence *sequence, const SundogSampling *options, TestRandom *random)
{
    TestCall *call = append(sequence, SUNDOG_OP_SAMPLE);
    test_call_add_floats(call, 1, VOCABULARY, random);
    memcpy(test_call_add(call, SUNDOG_DTYPE_U8, 1, sizeof *options), options, sizeof *options);
    test_call_add(call, SUNDOG_DTYPE_I32, 1, 64);
    test_call_add(call, SUNDOG_DTYPE_I32, 1, SUNDOG_SAMPLE_MASK_WORDS(VOCABULARY));
    test_call_add(call, SUNDOG_DTYPE_I32, 1, SUNDOG_BIAS_WORDS);
    test_call_add(call, SUNDOG_DTYPE_I32, 1, 1);
    add_units(call, sundog_sample_workspace_bytes(VOCABULARY));
    test_call_add(call, SUNDOG_DTYPE_I32, 1, SUNDOG_MAX_SCORES * SUNDOG_SCORE_WORDS);
    for (int i = 0; i < VOCABULARY; i++)
        ((float *)call->arguments[0].data)[i] *= i % 97 == 0 ? 20 : 8;
}

static void
bench_attention(TestRandom *random)
{
    Sequence prefill = {0}, decode = {0}, deep = {0};
    add_attention(&prefill, 512, 512, random);
    report_products("attention, 512 tokens", &prefill, 2.0 * HEADS * HEAD_DIM * 512 * 513);
    for (int i = 0; i < 30; i++)
        add_attention(&decode, 1, 256, random);
    report_bytes("attention, 1 token of 256, 30 layers", &decode, 30.0 * 256 * KV_HEADS * 256);
    for (int i = 0; i < 30; i++)
        add_attention(&deep, 1, 4096, random);
    report_bytes("attention, 1 token of 4,096, 30 layers", &deep, 30.0 * 4096 * KV_HEADS * 256);
    sequence_clear(&prefill);
    sequence_clear(&decode);
    sequence_clear(&deep);
}

static void
bench_rows(TestRandom *random)
{
    static const int64_t tokens[] = {1, 512};
    for (int i = 0; i < 2; i++) {
        Sequence norm = {0}, rope = {0};
        g_autofree char *norm_name = g_strdup_printf("norm_quantize, %d tokens", (int)tokens[i]);
        g_autofree char *rope_name = g_strdup_printf("rope_cache, %d tokens", (int)tokens[i]);
        for (int repeat = 0; repeat < (i == 0 ? 100 : 1); repeat++) {
            add_norm_quantize(&norm, tokens[i], random);
            add_rope_cache(&rope, tokens[i], random);
        }
        report_bytes(norm_name, &norm, (double)(norm.n_calls * tokens[i]) * HIDDEN * 5);
        report_bytes(rope_name, &rope, (double)(rope.n_calls * tokens[i]) * QKV * 8);
        sequence_clear(&norm);
        sequence_clear(&rope);
    }
    static const struct {
        const char *name;
        SundogSampling options;
    } samples[] = {
        {"sample, greedy", {.repetition_penalty = 1}},
        {"sample, temperature", {.temperature = 1, .top_p = 1, .repetition_penalty = 1}},
        {"sample, top-p", {.temperature = 1, .top_p = 0.9f, .repetition_penalty = 1}},
        {"sample, top-k", {.temperature = 1, .top_p = 1, .top_k = 40, .repetition_penalty = 1}},
        {"sample, greedy with 20 scores", {.n_scores = 21, .repetition_penalty = 1}},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(samples); i++) {
        Sequence sample = {0};
        add_sample(&sample, &samples[i].options, random);
        report_bytes(samples[i].name, &sample, VOCABULARY * 4.0);
        sequence_clear(&sample);
    }
}

int
main(int argc, char *argv[])
{
    const GOptionEntry entries[] = {
        {"threads", 't', 0, G_OPTION_ARG_INT, &n_threads, "Threads", "N"},
        {"set", 's', 0, G_OPTION_ARG_INT, &host_set, "0 plain, 1 AVX2, 2 AVX-VNNI, 3 AVX-512 VNNI",
         "N"},
        {"seconds", 0, 0, G_OPTION_ARG_DOUBLE, &seconds, "Time for each line", "S"},
        {"only", 'o', 0, G_OPTION_ARG_STRING, &only, "Only lines with this in their names", "TEXT"},
        {NULL}};
    g_autoptr(GOptionContext) context = g_option_context_new("- speed of single kernels");
    g_autoptr(GError) error = NULL;
    TestRandom random = {1};
    g_option_context_add_main_entries(context, entries, NULL);
    if (!g_option_context_parse(context, &argc, &argv, &error)) {
        fprintf(stderr, "%s\n", error->message);
        return 2;
    }
    host_set = host_set < 0 ? (int)sundog_host_detect() : host_set;
    pool = sundog_thread_pool_new((unsigned)n_threads, &error);
    read_ceiling = measure_read();
    product_ceiling = measure_products();
    printf("%s, %d threads; reading %.1f GB/s, vpdpbusd %.0f GO/s\n",
           sundog_host_set_name((SundogHostSet)host_set), n_threads, read_ceiling * 1e-9,
           product_ceiling * 1e-9);
    bench_decode(&random);
    bench_prefill(&random);
    bench_layouts(&random);
    bench_attention(&random);
    bench_rows(&random);
    sundog_thread_pool_free(pool);
    return 0;
}
