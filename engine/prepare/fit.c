/* Timing a core's steps and choosing by the times. */

#include "engine/prepare/fit.h"

#include "engine/core/step.h"
#include "engine/prepare/trial.h"
#include "kernels/contract/paged-cache.h"

#define CONTEXT 1024
#define PROMPT 1024
#define SEED 1
/* A graph takes memory and time to make: it has to gain more than two measurements of the same differ by. */
#define LEAST_GAIN 1.02
/* Times of a size, of which the least counts: what disturbs makes them longer. */
#define N_ROUNDS 2

/* From each size on the next is so much larger. */
static const struct {
    int32_t first, step;
} strides[] = {{1, 1}, {8, 2}, {16, 4}, {32, 8}, {64, 16}, {128, 32}};

static int64_t
bound(const SundogCore *core, SundogVariable variable)
{
    return sundog_program_get_bounds(sundog_core_get_program(core, SUNDOG_PROGRAM_FORWARD))
        ->values[variable];
}

static void
list_sizes(SundogFit *fit, int64_t most)
{
    int32_t n = 1;
    for (size_t i = 0; n <= most && fit->n_rungs < SUNDOG_REPLAY_MAX_RUNGS;) {
        fit->rungs[fit->n_rungs++] = (SundogFitRung){.n_sequences = n};
        while (i + 1 < G_N_ELEMENTS(strides) && n >= strides[i + 1].first)
            i++;
        n += strides[i].step;
    }
}

static SundogReplay *
open_replay(SundogCore *core, const SundogFit *fit, bool is_alike, GError **error)
{
    int32_t ladder[SUNDOG_REPLAY_MAX_RUNGS];
    const SundogTrial most = {fit->rungs[fit->n_rungs - 1].n_sequences, 1, (int32_t)fit->n_context};
    SundogReplayOptions options = {.host_set = -1,
                                   .weights_seed = SEED,
                                   .is_alike = is_alike,
                                   .ladder = ladder,
                                   .n_rungs = fit->n_rungs};
    for (uint32_t i = 0; i < fit->n_rungs; i++)
        ladder[i] = fit->rungs[i].n_sequences;
    return sundog_trial_size(core, &most, &options, error)
               ? sundog_replay_open(core, &options, error)
               : NULL;
}

static bool
time_trial(SundogReplay *replay, const SundogTrial *trial, double *us, GError **error)
{
    SundogShape shape = sundog_trial_fill(replay, trial);
    double once;
    if (!sundog_trial_time(replay, &shape, &once, error))
        return false;
    *us = *us > 0 ? MIN(*us, once) : once;
    return true;
}

static bool
time_rungs(SundogReplay *replay, const SundogFitOptions *options, SundogFit *fit, GError **error)
{
    for (uint32_t i = 0; i < fit->n_rungs * N_ROUNDS; i++) {
        SundogFitRung *rung = &fit->rungs[i % fit->n_rungs];
        const SundogTrial trial = {rung->n_sequences, 1, (int32_t)fit->n_context};
        if (options->progress != NULL)
            options->progress((double)i / (fit->n_rungs * N_ROUNDS), options->data);
        if (g_cancellable_set_error_if_cancelled(options->cancellable, error) ||
            !time_trial(replay, &trial, &rung->us, error))
            return false;
    }
    return true;
}

static bool
time_prompt(SundogReplay *replay, const SundogFit *fit, double *us, GError **error)
{
    const SundogTrial prompt = {1, fit->prompt_tokens, 0};
    return time_trial(replay, &prompt, us, error);
}

/* What being alike costs. */
static bool
time_usual(SundogCore *core, SundogFit *fit, GError **error)
{
    const SundogTrial one = {1, 1, (int32_t)fit->n_context};
    g_autoptr(SundogReplay) replay = open_replay(core, fit, false, error);
    return replay != NULL && time_trial(replay, &one, &fit->usual_decode_us, error) &&
           time_prompt(replay, fit, &fit->usual_prompt_us, error);
}

void
sundog_fit_choose(SundogFit *fit)
{
    const SundogFitRung *larger = NULL;
    for (uint32_t i = fit->n_rungs; i-- > 0;) {
        SundogFitRung *rung = &fit->rungs[i];
        rung->is_kept = larger == NULL || rung->us * LEAST_GAIN < larger->us;
        if (rung->is_kept)
            larger = rung;
    }
}

uint32_t
sundog_fit_get_ladder(const SundogFit *fit, int32_t *ladder)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < fit->n_rungs; i++)
        if (fit->rungs[i].is_kept)
            ladder[n++] = fit->rungs[i].n_sequences;
    return n;
}

/* The replay is closed when this returns, so that another finds the memory that it had. */
static bool
time_steps(SundogCore *core, const SundogFitOptions *options, SundogFit *fit, GError **error)
{
    g_autoptr(SundogReplay) replay = open_replay(core, fit, options->is_alike, error);
    return replay != NULL && time_rungs(replay, options, fit, error) &&
           time_prompt(replay, fit, &fit->prompt_us, error);
}

bool
sundog_fit_measure(SundogCore *core, const SundogFitOptions *options, SundogFit *fit,
                   GError **error)
{
    int64_t n_tokens = bound(core, SUNDOG_VARIABLE_TOKENS);
    int64_t context = bound(core, SUNDOG_VARIABLE_SEQUENCE_PAGES) * SUNDOG_PAGE_TOKENS;
    *fit = (SundogFit){.is_alike = options->is_alike};
    fit->n_context = (uint32_t)MIN(CONTEXT, context - 1);
    fit->prompt_tokens = (int32_t)MIN(MIN(PROMPT, n_tokens), fit->n_context + 1);
    list_sizes(
        fit, MIN(bound(core, SUNDOG_VARIABLE_SEQUENCES), bound(core, SUNDOG_VARIABLE_LOGIT_ROWS)));
    if (!time_steps(core, options, fit, error) ||
        (options->is_alike && !time_usual(core, fit, error)))
        return false;
    sundog_fit_choose(fit);
    return true;
}
