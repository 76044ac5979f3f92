/* Verifying cores: good ones pass with equal bits, one with a weight that is no number does
 * not. */

#include "tests/prepare/core-runner.h"
#include "tests/prepare/fixture.h"

#include "engine/prepare/verify.h"

#include <stdio.h>
#include <string.h>

static double last_fraction;

static void
note_progress(const char *phase, double fraction, void *data)
{
    g_assert_true(strcmp(phase, "operations") == 0 || strcmp(phase, "steps") == 0);
    g_assert_cmpfloat(fraction, >=, last_fraction);
    last_fraction = fraction;
}

static void
verify_tiny(const char *name, SundogActivations activations, SundogVerifyReport *report)
{
    CoreRunner runner;
    g_autoptr(GError) error = NULL;
    g_autofree char *gguf = g_strdup_printf("tiny/%s.gguf", name);
    g_autofree char *path = fixture_dup_path(gguf);
    const SundogVerifyOptions options = {.n_threads = 2, .progress = note_progress};
    core_runner_open(&runner, path, activations, 1);
    last_fraction = 0;
    sundog_verify(runner.core, &options, report, &error);
    g_assert_no_error(error);
    g_assert_cmpfloat(last_fraction, ==, 1);
    core_runner_close(&runner);
}

/* Of families that fuse what the first ones do not. */
static void
test_families(void)
{
    static const char *const names[] = {
        "deepseek3", "falcon-h1",      "gemma3n", "gemma4-moe", "glm4moe",  "gpt-oss",  "lfm2moe",
        "llama4",    "nemotron_h_moe", "olmo2",   "phi2",       "qwen2moe", "qwen3next"};
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        g_auto(SundogVerifyReport) report = {0};
        verify_tiny(names[i], SUNDOG_ACTIVATIONS_F32, &report);
        g_test_message("%s: %.2e", names[i], report.largest_error);
        g_assert_cmpstr(report.problems, ==, NULL);
    }
}

static void
test_float(void)
{
    static const char *const names[] = {"f16-gqa-llama3", "q4_1-gqa-yarn", "bf16-bias-linear"};
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        g_auto(SundogVerifyReport) report = {0};
        verify_tiny(names[i], SUNDOG_ACTIVATIONS_F32, &report);
        g_assert_cmpstr(report.problems, ==, NULL);
        g_assert_cmpuint(report.n_positions, >, 50);
        g_assert_cmpfloat(report.largest_error, ==, 0);
        g_assert_cmpfloat(report.alike, ==, 1);
        g_assert_cmpuint(report.operations[SUNDOG_OP_LINEAR_QKV].n_calls, ==, 6);
        g_assert_cmpuint(report.operations[SUNDOG_OP_RMS_NORM].n_bytes, >, 0);
        g_assert_cmpuint(report.operations[SUNDOG_OP_QUANTIZE].n_calls, ==, 0);
    }
}

/* Random weights diverge more than a trained model does, so only what must be equal is held. */
static void
test_quantized(void)
{
    g_auto(SundogVerifyReport) report = {0};
    verify_tiny("q4_1-gqa-yarn", SUNDOG_ACTIVATIONS_INT8, &report);
    for (int kind = 0; kind < SUNDOG_N_OPERATIONS; kind++)
        g_assert_cmpuint(report.operations[kind].n_different, ==, 0);
    g_assert_cmpuint(report.operations[SUNDOG_OP_NORM_QUANTIZE].n_calls, >, 0);
    g_assert_cmpuint(report.n_unequal, ==, 0);
    g_assert_cmpuint(report.n_not_finite, ==, 0);
    g_assert_cmpfloat(report.mean_divergence, >, 0);
    g_assert_cmpfloat(report.p99_divergence, >=, report.mean_divergence);
    g_assert_cmpfloat(report.mean_regret, >=, 0);
}

/* The output norm is the last weight but the head; NaN there reaches every logit of both programs. */
static void
spoil_weights(const CoreRunner *runner)
{
    const uint32_t nan_bits = 0x7fc00000;
    const SundogCoreWeight *weight = sundog_core_find_weight(runner->core, "output_norm.weight");
    g_autofree char *path = g_build_filename(runner->folder, "core", SUNDOG_CORE_WEIGHTS, NULL);
    FILE *file = fopen(path, "r+b");
    g_assert_nonnull(file);
    g_assert_cmpint(fseek(file, (long)weight->offset, SEEK_SET), ==, 0);
    g_assert_cmpuint(fwrite(&nan_bits, sizeof(nan_bits), 1, file), ==, 1);
    g_assert_cmpint(fclose(file), ==, 0);
}

static void
test_spoilt(void)
{
    CoreRunner runner;
    g_auto(SundogVerifyReport) report = {0};
    g_autoptr(GError) error = NULL;
    g_autofree char *gguf = fixture_dup_path("tiny/f32-mha.gguf");
    const SundogVerifyOptions options = {.n_threads = 1};
    core_runner_open(&runner, gguf, SUNDOG_ACTIVATIONS_F32, 1);
    spoil_weights(&runner);
    sundog_verify(runner.core, &options, &report, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(report.n_not_finite, ==, report.n_positions);
    g_assert_nonnull(strstr(report.problems, "logits that are no numbers"));
    core_runner_close(&runner);
}

static void
test_cancel(void)
{
    CoreRunner runner;
    g_auto(SundogVerifyReport) report = {0};
    g_autoptr(GError) error = NULL;
    g_autoptr(GCancellable) cancellable = g_cancellable_new();
    g_autofree char *path = fixture_dup_path("tiny/f32-mha.gguf");
    const SundogVerifyOptions options = {.n_threads = 1, .cancellable = cancellable};
    core_runner_open(&runner, path, SUNDOG_ACTIVATIONS_F32, 1);
    g_cancellable_cancel(cancellable);
    g_assert_false(sundog_verify(runner.core, &options, &report, &error));
    g_assert_error(error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
    core_runner_close(&runner);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/verify/float", test_float);
    g_test_add_func("/verify/families", test_families);
    g_test_add_func("/verify/quantized", test_quantized);
    g_test_add_func("/verify/spoilt", test_spoilt);
    g_test_add_func("/verify/cancel", test_cancel);
    return g_test_run();
}
