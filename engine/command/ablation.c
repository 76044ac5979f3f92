/* Steps with and without each kind of operation. */

#include "engine/command/ablation.h"

#include "engine/core/step.h"
#include "engine/prepare/trial.h"
#include "kernels/contract/paged-cache.h"

#define CONTEXT 1024

static void
count_calls(const SundogProgram *program, SundogAblation *ablation)
{
    for (uint32_t i = 0; i < sundog_program_get_n_operations(program); i++)
        ablation->n_calls[sundog_program_get_operation(program, i)->kind]++;
}

static bool
measure_kinds(SundogReplay *replay, SundogAblation *ablation, GError **error)
{
    const SundogTrial trial = {1, 1, (int32_t)ablation->n_context};
    SundogShape shape = sundog_trial_fill(replay, &trial);
    /* Leaving out what no program has launches all the rest directly. */
    sundog_replay_leave_out(replay, 0);
    if (!sundog_trial_time(replay, &shape, &ablation->whole_us, error))
        return false;
    sundog_replay_leave_out(replay, (uint64_t)1 << SUNDOG_N_OPERATIONS);
    if (!sundog_trial_time(replay, &shape, &ablation->direct_us, error))
        return false;
    for (int kind = 0; kind < SUNDOG_N_OPERATIONS; kind++) {
        double without;
        if (ablation->n_calls[kind] == 0)
            continue;
        sundog_replay_leave_out(replay, (uint64_t)1 << kind);
        if (!sundog_trial_time(replay, &shape, &without, error))
            return false;
        ablation->cost_us[kind] = ablation->direct_us - without;
    }
    return true;
}

bool
sundog_ablation_measure(SundogCore *core, SundogAblation *ablation, GError **error)
{
    G_STATIC_ASSERT(SUNDOG_N_OPERATIONS < 64);
    *ablation = (SundogAblation){.n_context = CONTEXT};
    if (sundog_core_is_for_host(core) ||
        sundog_core_get_info(core)->purpose != SUNDOG_CORE_GENERATES) {
        g_set_error_literal(error, SUNDOG_REPLAY_ERROR, SUNDOG_REPLAY_ERROR_DEVICE,
                            "only the operations of a core for text on a GPU are left out in turn");
        return false;
    }
    const SundogProgram *forward = sundog_core_get_program(core, SUNDOG_PROGRAM_FORWARD);
    int64_t n_pages = sundog_program_get_bounds(forward)->values[SUNDOG_VARIABLE_SEQUENCE_PAGES];
    n_pages = MIN(n_pages, CONTEXT / SUNDOG_PAGE_TOKENS + 1);
    ablation->n_context = (uint32_t)(n_pages - 1) * SUNDOG_PAGE_TOKENS;
    const SundogTrial trial = {1, 1, (int32_t)ablation->n_context};
    SundogReplayOptions options = {.host_set = -1};
    if (!sundog_trial_size(core, &trial, &options, error))
        return false;
    g_autoptr(SundogReplay) replay = sundog_replay_open(core, &options, error);
    if (replay == NULL)
        return false;
    count_calls(forward, ablation);
    return measure_kinds(replay, ablation, error);
}
