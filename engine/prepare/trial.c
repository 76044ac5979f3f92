#include "engine/prepare/trial.h"

#include "engine/core/step.h"
#include "kernels/contract/paged-cache.h"

/* How long what is timed runs at least, and the most steps of it. */
#define LEAST_US 20000
#define MAX_STEPS 200
/* Of what a device can give: the most that pools take. */
#define POOL_SHARE 4

static int64_t
count_pages(const SundogTrial *trial)
{
    return (trial->n_context + trial->n_rows + SUNDOG_PAGE_TOKENS - 1) / SUNDOG_PAGE_TOKENS;
}

/* As many pieces as are wanted, within the room; one beside the null one at least. */
static int64_t
limit_pieces(int64_t n_wanted, uint64_t piece_bytes, uint64_t room_bytes, int64_t n_least)
{
    int64_t n = piece_bytes > 0 ? (int64_t)MIN(room_bytes / piece_bytes, INT32_MAX) : n_wanted;
    return 1 + MAX(MIN(n, n_wanted), n_least);
}

bool
sundog_trial_size(const SundogCore *core, const SundogTrial *most, SundogReplayOptions *options,
                  GError **error)
{
    const SundogCoreCache *cache = sundog_core_get_cache(core);
    const SundogShape *bounds =
        sundog_program_get_bounds(sundog_core_get_program(core, SUNDOG_PROGRAM_FORWARD));
    int64_t n_pages = count_pages(most);
    uint64_t free_bytes = 0;
    if (!sundog_replay_find_device_bytes(core, &free_bytes, error))
        return false;
    uint64_t weight_bytes = sundog_core_get_info(core)->weight_bytes;
    uint64_t room = (free_bytes > weight_bytes ? free_bytes - weight_bytes : 0) / POOL_SHARE;
    options->sequence_pages = n_pages;
    options->pool_pages =
        MIN(limit_pieces(n_pages * most->n_sequences, cache->page_bytes, room, n_pages),
            bounds->values[SUNDOG_VARIABLE_POOL_PAGES]);
    options->window_pages =
        cache->window_bytes > 0
            ? limit_pieces(n_pages * most->n_sequences, cache->window_bytes, room, n_pages)
            : 0;
    options->pool_states =
        cache->state_bytes > 0 ? limit_pieces(most->n_sequences, cache->state_bytes, room, 1) : 0;
    options->max_sequences = most->n_sequences;
    options->history = 1;
    return true;
}

static int32_t *
input(SundogReplay *replay, const char *name)
{
    return sundog_replay_get_buffer(replay, name);
}

/* Pages of sequence s, one after the other in the pool, and from its beginning again where that ends. */
static void
fill_pages(int32_t *table, int32_t s, int64_t n_pages, int64_t pool_pages)
{
    for (int64_t i = 0; table != NULL && i < n_pages; i++)
        table[s * n_pages + i] = (int32_t)(1 + (s * n_pages + i) % (pool_pages - 1));
}

static void
fill_rows(SundogReplay *replay, const SundogTrial *trial, int32_t s)
{
    input(replay, "first_row")[s] = s * trial->n_rows;
    input(replay, "start_position")[s] = trial->n_context;
    input(replay, "logit_rows")[s] = (s + 1) * trial->n_rows - 1;
    for (int32_t i = 0; i < trial->n_rows; i++) {
        int32_t row = s * trial->n_rows + i;
        input(replay, "tokens")[row] = 0;
        input(replay, "token_sequence")[row] = s;
        input(replay, "positions")[row] = trial->n_context + i;
    }
}

SundogShape
sundog_trial_fill(SundogReplay *replay, const SundogTrial *trial)
{
    SundogShape shape = *sundog_replay_get_bounds(replay);
    const int64_t *bounds = shape.values;
    int64_t n_pages = count_pages(trial);
    int32_t *slots = input(replay, "state_slot");
    for (int32_t s = 0; s < trial->n_sequences; s++) {
        fill_rows(replay, trial, s);
        fill_pages(input(replay, "page_table"), s, n_pages, bounds[SUNDOG_VARIABLE_POOL_PAGES]);
        fill_pages(input(replay, "window_table"), s, n_pages, bounds[SUNDOG_VARIABLE_WINDOW_PAGES]);
        if (slots != NULL)
            slots[s] = (int32_t)(1 + s % (bounds[SUNDOG_VARIABLE_POOL_STATES] - 1));
    }
    input(replay, "first_row")[trial->n_sequences] = trial->n_sequences * trial->n_rows;
    shape.values[SUNDOG_VARIABLE_TOKENS] = (int64_t)trial->n_sequences * trial->n_rows;
    shape.values[SUNDOG_VARIABLE_SEQUENCES] = trial->n_sequences;
    shape.values[SUNDOG_VARIABLE_LOGIT_ROWS] = trial->n_sequences;
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
bool
sundog_trial_time(SundogReplay *replay, const SundogShape *shape, double *us, GError **error)
{
    return run_steps(replay, shape, 3, us, error) &&
           run_steps(replay, shape, CLAMP((int)(LEAST_US / MAX(*us, 1)), 3, MAX_STEPS), us, error);
}
