/* From a package to steps. */

#include "engine/schedule/loaded-core.h"
#include "engine/core/step.h"

static void
tell(const SundogLoadedCoreOptions *options, const char *phase, double fraction)
{
    if (options->progress)
        options->progress(phase, fraction, options->data);
}

static void
on_weights(double fraction, void *data)
{
    tell(data, "weights", fraction);
}

static bool
plan_memory(SundogLoadedCore *loaded, const SundogLoadedCoreOptions *options, GError **error)
{
    const SundogCoreInfo *info = sundog_core_get_info(loaded->core);
    const SundogCoreCache *cache = sundog_core_get_cache(loaded->core);
    const SundogProgram *forward = sundog_core_get_program(loaded->core, SUNDOG_PROGRAM_FORWARD);
    if (!forward) {
        g_set_error_literal(error, SUNDOG_REPLAY_ERROR, SUNDOG_REPLAY_ERROR_PROGRAM,
                            "the core has no program for a forward pass: prepare it again");
        return false;
    }
    const SundogShape *bounds = sundog_program_get_bounds(forward);
    uint64_t longest =
        (uint64_t)bounds->values[SUNDOG_VARIABLE_SEQUENCE_PAGES] * cache->page_tokens;
    uint64_t wanted =
        options->context_length > 0 ? (uint64_t)options->context_length : info->context_length;
    uint64_t device_bytes;
    if (!sundog_replay_find_device_bytes(loaded->core, &device_bytes, error))
        return false;
    uint64_t free_bytes = sundog_memory_get_available();
    if (options->memory_bytes > 0)
        free_bytes = MIN(free_bytes, options->memory_bytes);
    free_bytes -= MIN(free_bytes, options->taken_bytes);
    SundogMemoryNeeds needs = {
        .available_bytes = device_bytes > 0 ? device_bytes : free_bytes,
        .fixed_bytes = info->weight_bytes +
                       sundog_core_measure_arena(loaded->core, (unsigned)options->n_threads),
        .page_bytes = cache->page_bytes,
        .window_bytes = cache->window_bytes,
        .window_tokens = cache->window_tokens,
        .step_tokens = (uint32_t)bounds->values[SUNDOG_VARIABLE_TOKENS],
        .state_bytes = cache->state_bytes,
        .page_tokens = cache->page_tokens,
        .context_length = (uint32_t)MIN(wanted, MIN(longest, info->context_length)),
        .max_sequences = (uint32_t)bounds->values[SUNDOG_VARIABLE_SEQUENCES],
        .max_pages = (uint64_t)bounds->values[SUNDOG_VARIABLE_POOL_PAGES],
        .n_contexts = options->n_contexts,
        .cache_bytes = options->cache_bytes,
    };
    if (info->purpose != SUNDOG_CORE_GENERATES)
        return sundog_memory_plan_make_whole(&loaded->plan, &needs, error);
    return sundog_memory_plan_make(&loaded->plan, &needs, error);
}

static bool
check_threads(const SundogLoadedCore *loaded, const SundogLoadedCoreOptions *options,
              GError **error)
{
    const SundogProgram *forward = sundog_core_get_program(loaded->core, SUNDOG_PROGRAM_FORWARD);
    int64_t most = sundog_program_get_bounds(forward)->values[SUNDOG_VARIABLE_UNITS];
    if (options->n_threads <= most)
        return true;
    g_set_error(error, SUNDOG_REPLAY_ERROR, SUNDOG_REPLAY_ERROR_BOUNDS,
                "%" G_GINT64_FORMAT
                " threads were asked for, the core runs on at most %" G_GINT64_FORMAT,
                options->n_threads, most);
    return false;
}

static bool
open_replay(SundogLoadedCore *loaded, const SundogLoadedCoreOptions *options, GError **error)
{
    uint32_t page_tokens = sundog_core_get_cache(loaded->core)->page_tokens;
    tell(options, "weights", 0);
    SundogReplayOptions replay_options = {
        .n_threads = (unsigned)options->n_threads,
        .pool_pages = loaded->plan.pool_pages,
        .window_pages = loaded->plan.window_pages,
        .pool_states = loaded->plan.pool_states,
        .sequence_pages = (loaded->plan.context_length + page_tokens - 1) / page_tokens,
        .host_set = -1,
        .is_alike = options->is_alike,
        .ladder = options->ladder,
        .n_rungs = options->n_rungs,
        .progress = on_weights,
        .data = (void *)options,
    };
    loaded->replay = sundog_replay_open(loaded->core, &replay_options, error);
    return loaded->replay != NULL;
}

static bool
warm(SundogLoadedCore *loaded, const SundogLoadedCoreOptions *options, GError **error)
{
    loaded->runner = sundog_replay_runner_new(loaded->replay, loaded->core, error);
    if (!loaded->runner)
        return false;
    tell(options, "warm", 0);
    return sundog_replay_runner_warm(loaded->runner, error);
}

bool
sundog_loaded_core_open(SundogLoadedCore *loaded, const char *folder, const SundogKeyring *keyring,
                        const SundogLoadedCoreOptions *options, GError **error)
{
    *loaded = (SundogLoadedCore){0};
    tell(options, "verify", 0);
    loaded->core = sundog_core_open(folder, keyring, error);
    tell(options, "verify", 1);
    if (loaded->core && plan_memory(loaded, options, error) &&
        check_threads(loaded, options, error) && open_replay(loaded, options, error) &&
        warm(loaded, options, error))
        return true;
    sundog_loaded_core_close(loaded);
    return false;
}

void
sundog_loaded_core_close(SundogLoadedCore *loaded)
{
    g_clear_pointer(&loaded->runner, sundog_replay_runner_free);
    g_clear_pointer(&loaded->replay, sundog_replay_close);
    g_clear_pointer(&loaded->core, sundog_core_free);
}

uint64_t
sundog_loaded_core_get_bytes(const SundogLoadedCore *loaded)
{
    const SundogCoreCache *cache = sundog_core_get_cache(loaded->core);
    const SundogShape *bounds = sundog_replay_get_bounds(loaded->replay);
    return sundog_core_get_info(loaded->core)->weight_bytes +
           sundog_core_measure_arena(loaded->core, sundog_replay_get_n_threads(loaded->replay)) +
           (uint64_t)bounds->values[SUNDOG_VARIABLE_POOL_PAGES] * cache->page_bytes +
           (uint64_t)bounds->values[SUNDOG_VARIABLE_WINDOW_PAGES] * cache->window_bytes +
           (uint64_t)bounds->values[SUNDOG_VARIABLE_POOL_STATES] * cache->state_bytes;
}
