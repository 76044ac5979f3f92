/* Whole steps through replay: the fused program against itself and against the reference, which the host
 * computes also where a GPU replays. */

#include "engine/core/step.h"
#include "engine/prepare/interpreter.h"
#include "engine/prepare/verify-parts.h"
#include "engine/replay/replay.h"

#include <math.h>
#include <string.h>

#define CHUNK 7 /* of the second run: it meets neither tiles of 6 nor tiles of 16 */

typedef struct {
    SundogReplay *replay;
    SundogInterpreter *interpreter; /* of the reference; NULL where the replay runs it */
    const char *output;             /* "logits" of each row, or "result" of the text */
    uint32_t n_values;              /* of a row's logits, or of the result */
    SundogVerifyReport *report;
    GArray *divergences; /* of double, a position each */
    double sum_regret;
    uint32_t n_alike;
} Comparison;

static void *
get_buffer(void *of, const char *name)
{
    return sundog_replay_get_buffer(of, name);
}

static void *
get_interpreters_buffer(void *of, const char *name)
{
    return sundog_interpreter_get_buffer(of, name);
}

/* What is compared of so many tokens. */
static guint
count_positions(const Comparison *comparison, guint n_tokens)
{
    return comparison->report->has_distributions ? n_tokens : 1;
}

/* A step of one sequence; values [positions, n_values]. */
static bool
run_part(const Comparison *comparison, const char *program, const SundogVerifyPart *part,
         float *values, GError **error)
{
    SundogShape shape = *sundog_replay_get_bounds(comparison->replay);
    size_t n_bytes = (size_t)count_positions(comparison, (guint)part->n_tokens) *
                     comparison->n_values * sizeof *values;
    if (comparison->interpreter != NULL && strcmp(program, SUNDOG_PROGRAM_REFERENCE) == 0) {
        sundog_verify_fill(get_interpreters_buffer, comparison->interpreter, part, 1, &shape);
        sundog_interpreter_run(comparison->interpreter, &shape, sundog_host_detect());
        memcpy(values, sundog_interpreter_get_buffer(comparison->interpreter, comparison->output),
               n_bytes);
        return true;
    }
    sundog_verify_fill(get_buffer, comparison->replay, part, 1, &shape);
    return sundog_replay_run(comparison->replay, program, &shape, error) &&
           sundog_replay_read(comparison->replay, comparison->output, values, n_bytes, error);
}

/* Values of every position of a prompt, in steps of so many tokens; NULL and an error. */
static float *
run_prompt(const Comparison *comparison, const char *program, const GArray *prompt, int32_t chunk,
           GError **error)
{
    size_t n = comparison->n_values;
    g_autofree float *values = g_new(float, count_positions(comparison, prompt->len) * n);
    for (int32_t done = 0; done < (int32_t)prompt->len; done += chunk) {
        const SundogVerifyPart part = {.start = done,
                                       .n_tokens = MIN(chunk, (int32_t)prompt->len - done),
                                       .tokens = &g_array_index(prompt, int32_t, done)};
        if (!run_part(comparison, program, &part, values + (size_t)done * n, error))
            return NULL;
    }
    return g_steal_pointer(&values);
}

/* One position's distribution, ready to be asked for log-probabilities. */
typedef struct {
    const float *logits;
    uint32_t best;
    double log_sum;
} Distribution;

static Distribution
distribution_of(const float *logits, uint32_t n)
{
    Distribution distribution = {.logits = logits};
    double sum = 0;
    for (uint32_t i = 1; i < n; i++)
        if (logits[i] > logits[distribution.best])
            distribution.best = i;
    for (uint32_t i = 0; i < n; i++)
        sum += exp((double)logits[i] - logits[distribution.best]);
    distribution.log_sum = logits[distribution.best] + log(sum);
    return distribution;
}

static double
log_probability(const Distribution *distribution, uint32_t token)
{
    return distribution->logits[token] - distribution->log_sum;
}

static double
divergence(const Distribution *of, const Distribution *from, uint32_t n)
{
    double sum = 0;
    for (uint32_t i = 0; i < n; i++)
        sum += exp(log_probability(from, i)) * (log_probability(from, i) - log_probability(of, i));
    return sum;
}

static double
relative_error(const float *found, const float *expected, uint32_t n)
{
    double difference = 0;
    double length = 0;
    for (uint32_t i = 0; i < n; i++) {
        difference += ((double)found[i] - expected[i]) * ((double)found[i] - expected[i]);
        length += (double)expected[i] * expected[i];
    }
    return difference == 0 ? 0 : sqrt(difference / length);
}

static bool
all_finite(const float *logits, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (!isfinite(logits[i]))
            return false;
    return true;
}

/* Scores below 1 are as good as they are near. */
static double
result_error(const float *found, const float *expected, uint32_t n)
{
    double error = relative_error(found, expected, n),
           difference = fabs((double)found[0] - expected[0]);
    return n == 1 ? MIN(error, difference) : error;
}

static void
compare_result(const Comparison *comparison, const float *fused, const float *reference)
{
    SundogVerifyReport *report = comparison->report;
    report->largest_error =
        MAX(report->largest_error, result_error(fused, reference, comparison->n_values));
}

static void
compare_position(Comparison *comparison, const float *fused, const float *again,
                 const float *reference)
{
    uint32_t n = comparison->n_values;
    SundogVerifyReport *report = comparison->report;
    report->n_positions++;
    report->n_unequal += memcmp(fused, again, n * sizeof(float)) != 0;
    if (!all_finite(fused, n) || !all_finite(reference, n)) {
        report->n_not_finite++;
        return;
    }
    if (!report->has_distributions) {
        compare_result(comparison, fused, reference);
        return;
    }
    Distribution found = distribution_of(fused, n);
    Distribution expected = distribution_of(reference, n);
    double value = divergence(&found, &expected, n);
    g_array_append_val(comparison->divergences, value);
    comparison->n_alike += found.best == expected.best;
    comparison->sum_regret +=
        log_probability(&expected, expected.best) - log_probability(&expected, found.best);
    report->largest_error = MAX(report->largest_error, relative_error(fused, reference, n));
}

/* The reference runs last over the same pages, which it writes anew from their begin. Texts that are taken whole
 * are so in each run. */
static bool
compare_prompt(Comparison *comparison, const GArray *prompt, GError **error)
{
    int32_t whole = (int32_t)prompt->len;
    int32_t chunk = comparison->report->has_distributions ? CHUNK : whole;
    size_t n = comparison->n_values;
    g_autofree float *fused = run_prompt(comparison, SUNDOG_PROGRAM_FORWARD, prompt, whole, error);
    g_autofree float *again =
        fused != NULL ? run_prompt(comparison, SUNDOG_PROGRAM_FORWARD, prompt, chunk, error) : NULL;
    g_autofree float *reference =
        again != NULL ? run_prompt(comparison, SUNDOG_PROGRAM_REFERENCE, prompt, whole, error)
                      : NULL;
    if (reference == NULL)
        return false;
    for (guint i = 0; i < count_positions(comparison, prompt->len); i++)
        compare_position(comparison, fused + i * n, again + i * n, reference + i * n);
    return true;
}

static int
compare_doubles(const void *a, const void *b)
{
    double left = *(const double *)a;
    double right = *(const double *)b;
    return (left > right) - (left < right);
}

static void
summarize(Comparison *comparison)
{
    GArray *values = comparison->divergences;
    SundogVerifyReport *report = comparison->report;
    if (values->len == 0)
        return;
    g_array_sort(values, compare_doubles);
    for (guint i = 0; i < values->len; i++)
        report->mean_divergence += g_array_index(values, double, i) / values->len;
    report->p99_divergence = g_array_index(values, double, (values->len - 1) * 99 / 100);
    report->mean_regret = comparison->sum_regret / values->len;
    report->alike = (double)comparison->n_alike / values->len;
}

static bool
compare_prompts(Comparison *comparison, const GPtrArray *prompts,
                const SundogVerifyOptions *options, GError **error)
{
    for (guint i = 0; i < prompts->len; i++) {
        if (g_cancellable_set_error_if_cancelled(options->cancellable, error) ||
            !compare_prompt(comparison, prompts->pdata[i], error))
            return false;
        if (options->progress != NULL)
            options->progress("steps",
                              SUNDOG_VERIFY_STEPS_FRACTION +
                                  (1 - SUNDOG_VERIFY_STEPS_FRACTION) * (i + 1) / prompts->len,
                              options->data);
    }
    summarize(comparison);
    return true;
}

/* Sets the interpreter of the reference, where the replay is a GPU's. */
static bool
open_reference(Comparison *comparison, SundogCore *core, GError **error)
{
    SundogShape bounds = *sundog_replay_get_bounds(comparison->replay);
    if (sundog_core_is_for_host(core))
        return true;
    bounds.values[SUNDOG_VARIABLE_TOKENS] = SUNDOG_VERIFY_MAX_TOKENS;
    bounds.values[SUNDOG_VARIABLE_LOGIT_ROWS] = SUNDOG_VERIFY_MAX_TOKENS;
    comparison->interpreter =
        sundog_interpreter_new(core, SUNDOG_PROGRAM_REFERENCE, &bounds, error);
    return comparison->interpreter != NULL;
}

bool
sundog_verify_steps(SundogCore *core, const GPtrArray *prompts, const SundogVerifyOptions *options,
                    SundogVerifyReport *report, GError **error)
{
    const SundogReplayOptions replay_options = {.n_threads = options->n_threads,
                                                .pool_pages = 1 + SUNDOG_VERIFY_PAGES,
                                                .pool_states = 2,
                                                .sequence_pages = SUNDOG_VERIFY_PAGES,
                                                .max_sequences = 1,
                                                .history = 1,
                                                .host_set = -1,
                                                .poison = true,
                                                .is_alike = options->is_alike};
    g_autoptr(SundogReplay) replay = sundog_replay_open(core, &replay_options, error);
    if (replay == NULL)
        return false;
    const SundogCoreInfo *info = sundog_core_get_info(core);
    Comparison comparison = {.replay = replay,
                             .output = report->has_distributions ? "logits" : "result",
                             .n_values =
                                 report->has_distributions ? info->n_vocabulary : info->n_outputs,
                             .report = report,
                             .divergences = g_array_new(FALSE, FALSE, sizeof(double))};
    bool ok = open_reference(&comparison, core, error) &&
              compare_prompts(&comparison, prompts, options, error);
    sundog_interpreter_free(comparison.interpreter);
    g_array_unref(comparison.divergences);
    return ok;
}
