/* Steps with and without each kind of operation. */

#include "engine/command/ablation.h"

#include "engine/core/step.h"
#include "engine/replay/replay.h"
#include "kernels/contract/paged-cache.h"

#define CONTEXT 1024
/* How long what is timed runs at least, and the most steps of it. */
#define LEAST_US 30000
#define MAX_STEPS 200

static int32_t *
input(SundogReplay *replay, const char *name)
{
    return sundog_replay_get_buffer(replay, name);
}

/* One row of one sequence behind so many tokens, whose values do not matter here. */
static SundogShape
fill_step(SundogReplay *replay, uint32_t n_context)
{
    SundogShape shape = *sundog_replay_get_bounds(replay);
    int32_t n_pages = (int32_t)(n_context / SUNDOG_PAGE_TOKENS) + 1;
    input(replay, "tokens")[0] = input(replay, "token_sequence")[0] = 0;
    input(replay, "positions")[0] = input(replay, "start_position")[0] = (int32_t)n_context;
    input(replay, "first_row")[0] = input(replay, "logit_rows")[0] = 0;
    input(replay, "first_row")[1] = 1;
    for (int32_t i = 0; i < n_pages; i++)
        input(replay, "page_table")[i] = 1 + i;
    shape.values[SUNDOG_VARIABLE_TOKENS] = shape.values[SUNDOG_VARIABLE_SEQUENCES] = 1;
    shape.values[SUNDOG_VARIABLE_LOGIT_ROWS] = 1;
    shape.values[SUNDOG_VARIABLE_SEQUENCE_PAGES] = n_pages;
    return shape;
}

static bool
run_steps(SundogReplay *replay, const SundogShape *shape, int n, double *us, GError **error)
{
    float logit;
    int64_t start_us = g_get_monotonic_time();
    for (int i = 0; i < n; i++)
        if (!sundog_replay_run(replay, SUNDOG_PROGRAM_FORWARD, shape, error))
            return false;
    if (!sundog_replay_read(replay, "logits", &logit, sizeof logit, error))
        return false;
    *us = (double)(g_get_monotonic_time() - start_us) / n;
    return true;
}

/* The first steps tell how many take long enough. */
static bool
time_steps(SundogReplay *replay, const SundogShape *shape, double *us, GError **error)
{
    return run_steps(replay, shape, 3, us, error) &&
           run_steps(replay, shape, CLAMP((int)(LEAST_US / MAX(*us, 1)), 3, MAX_STEPS), us, error);
}

static void
count_calls(const SundogProgram *program, SundogAblation *ablation)
{
    for (uint32_t i = 0; i < sundog_program_get_n_operations(program); i++)
        ablation->n_calls[sundog_program_get_operation(program, i)->kind]++;
}

static bool
measure_kinds(SundogReplay *replay, SundogAblation *ablation, GError **error)
{
    SundogShape shape = fill_step(replay, ablation->n_context);
    /* Leaving out what no program has launches all the rest directly. */
    sundog_replay_leave_out(replay, 0);
    if (!time_steps(replay, &shape, &ablation->whole_us, error))
        return false;
    sundog_replay_leave_out(replay, (uint64_t)1 << SUNDOG_N_OPERATIONS);
    if (!time_steps(replay, &shape, &ablation->direct_us, error))
        return false;
    for (int kind = 0; kind < SUNDOG_N_OPERATIONS; kind++) {
        double without;
        if (ablation->n_calls[kind] == 0)
            continue;
        sundog_replay_leave_out(replay, (uint64_t)1 << kind);
        if (!time_steps(replay, &shape, &without, error))
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
    const SundogReplayOptions options = {.pool_pages = n_pages + 1,
                                         .pool_states = 2,
                                         .sequence_pages = n_pages,
                                         .max_sequences = 1,
                                         .history = 1,
                                         .host_set = -1};
    g_autoptr(SundogReplay) replay = sundog_replay_open(core, &options, error);
    if (replay == NULL)
        return false;
    count_calls(forward, ablation);
    return measure_kinds(replay, ablation, error);
}
