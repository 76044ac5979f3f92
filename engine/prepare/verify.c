/* Verifying a core: both parts, then the verdict. */

#include "engine/prepare/verify.h"

#include "engine/core/step.h"
#include "engine/format/error.h"
#include "engine/prepare/verify-parts.h"
#include "engine/replay/replay.h"

#include <string.h>

/* Fused float programs differ from the reference in nothing. Quantized activations were measured at
 * 0.003 nats in the mean on a model of 135 million parameters, among the most sensitive there are; ten
 * times that is a core that a person would notice. */
#define MAX_MEAN_DIVERGENCE 0.03
#define MAX_P99_DIVERGENCE 0.3
/* Of a vector's length, or a score: a cosine of 0.995, far from what tells texts apart. */
#define MAX_RESULT_ERROR 0.1
/* Keys and values in 8 bits, which a person asked for, cost twice that again on Gemma 3 270M. */
#define NARROW_CACHE_FACTOR 3

static void
judge_operations(const SundogVerifyReport *report, GString *problems)
{
    for (int kind = 0; kind < SUNDOG_N_OPERATIONS; kind++) {
        const SundogVerifyOperation *result = &report->operations[kind];
        if (result->n_different > 0)
            g_string_append_printf(problems,
                                   "%s: %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT
                                   " bytes differ between the %s and the plain kernel, relative "
                                   "error %.2e\n",
                                   sundog_operations[kind].name, result->n_different,
                                   result->n_bytes, report->kernels, result->largest_error);
    }
}

/* A GPU adds up in an order that depends on a step's rows unless all are alike, and rounds activations to bf16. */
static void
judge_steps(const SundogVerifyReport *report, const SundogCore *core, bool is_alike,
            GString *problems)
{
    bool is_host = sundog_core_is_for_host(core);
    bool is_float = is_host && strcmp(sundog_core_get_info(core)->activations,
                                      SUNDOG_CORE_ACTIVATIONS_F32) == 0;
    if ((is_host || is_alike) && report->n_unequal > 0)
        g_string_append_printf(problems, "%u of %u positions differ between one step and several\n",
                               report->n_unequal, report->n_positions);
    if (report->n_not_finite > 0)
        g_string_append_printf(problems, "%u of %u positions have logits that are no numbers\n",
                               report->n_not_finite, report->n_positions);
    if (is_float && report->largest_error > 0)
        g_string_append_printf(problems,
                               "fused and unfused logits differ by %.2e, expected equal bits\n",
                               report->largest_error);
    if (!report->has_distributions && report->largest_error > MAX_RESULT_ERROR)
        g_string_append_printf(problems,
                               "results differ from the reference's by %.2e, expected at most "
                               "%.1e\n",
                               report->largest_error, MAX_RESULT_ERROR);
    bool is_narrow = sundog_core_get_cache(core)->dtype == SUNDOG_DTYPE_Q8;
    double factor = is_narrow ? NARROW_CACHE_FACTOR : 1;
    if (report->mean_divergence > factor * MAX_MEAN_DIVERGENCE ||
        report->p99_divergence > factor * MAX_P99_DIVERGENCE)
        g_string_append_printf(problems,
                               "distributions diverge by %.3f nats in the mean and %.3f at p99, "
                               "expected at most %.2f and %.1f\n",
                               report->mean_divergence, report->p99_divergence,
                               factor * MAX_MEAN_DIVERGENCE, factor * MAX_P99_DIVERGENCE);
}

static void
judge(const SundogCore *core, bool is_alike, SundogVerifyReport *report)
{
    GString *problems = g_string_new(NULL);
    judge_operations(report, problems);
    judge_steps(report, core, is_alike, problems);
    report->problems = g_string_free(problems, problems->len == 0);
}

bool
sundog_verify(SundogCore *core, const SundogVerifyOptions *options, SundogVerifyReport *report,
              GError **error)
{
    uint64_t device_bytes;
    *report = (SundogVerifyReport){0};
    /* A GPU that is not there is found out before the host has worked for long. */
    if (!sundog_replay_find_device_bytes(core, &device_bytes, error))
        return false;
    if (sundog_core_get_program(core, SUNDOG_PROGRAM_REFERENCE) == NULL) {
        g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                    "the core carries no program \"%s\" to compare with: prepare it again",
                    SUNDOG_PROGRAM_REFERENCE);
        return false;
    }
    report->has_distributions = sundog_core_get_info(core)->purpose == SUNDOG_CORE_GENERATES;
    g_autoptr(GPtrArray) prompts = sundog_verify_dup_prompts(core, error);
    if (prompts == NULL ||
        (sundog_core_is_for_host(core) && report->has_distributions &&
         !sundog_verify_operations(core, prompts, options, report, error)) ||
        !sundog_verify_steps(core, prompts, options, report, error))
        return false;
    judge(core, options->is_alike, report);
    return true;
}

void
sundog_verify_report_clear(SundogVerifyReport *report)
{
    g_clear_pointer(&report->problems, g_free);
}
