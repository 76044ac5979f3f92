/* One interface over the replayers: bounds and shapes are checked here, the rest is the target's. */

#include "engine/replay/backend.h"

#include "engine/core/step.h"
#include "engine/replay/cores.h"
#include "engine/replay/cuda-device.h"
#include "kernels/contract/paged-cache.h"

#include <string.h>

GQuark
sundog_replay_error_quark(void)
{
    return g_quark_from_static_string("sundog-replay-error-quark");
}

/* Takes a wanted value, or the bound where it is 0; never more than the bound. */
static bool
set_bound(SundogShape *bounds, SundogVariable variable, int64_t wanted, GError **error)
{
    int64_t *bound = &bounds->values[variable];
    if (wanted <= *bound) {
        *bound = wanted > 0 ? wanted : *bound;
        return true;
    }
    g_set_error(error, SUNDOG_REPLAY_ERROR, SUNDOG_REPLAY_ERROR_BOUNDS,
                "%" G_GINT64_FORMAT " %s were asked for, the core allows %" G_GINT64_FORMAT, wanted,
                sundog_variable_name(variable), *bound);
    return false;
}

/* A bound of 1 says that no layer's window has pages of its own. */
static bool
set_windows(SundogShape *bounds, const SundogReplayOptions *options, GError **error)
{
    int64_t wanted = options->window_pages > 0 ? options->window_pages : options->pool_pages;
    return bounds->values[SUNDOG_VARIABLE_WINDOW_PAGES] == 1 ||
           set_bound(bounds, SUNDOG_VARIABLE_WINDOW_PAGES, wanted, error);
}

static bool
set_bounds(SundogShape *bounds, const SundogCore *core, const SundogReplayOptions *options,
           GError **error)
{
    static const char *const names[] = {SUNDOG_PROGRAM_SAMPLE, SUNDOG_PROGRAM_DRAFT,
                                        SUNDOG_PROGRAM_REFERENCE};
    const SundogProgram *forward = sundog_core_get_program(core, SUNDOG_PROGRAM_FORWARD);
    if (forward == NULL) {
        g_set_error(error, SUNDOG_REPLAY_ERROR, SUNDOG_REPLAY_ERROR_PROGRAM,
                    "the core has no program \"%s\"", SUNDOG_PROGRAM_FORWARD);
        return false;
    }
    *bounds = *sundog_program_get_bounds(forward);
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        const SundogProgram *program = sundog_core_get_program(core, names[i]);
        for (int v = 0; program != NULL && v < SUNDOG_N_VARIABLES; v++)
            bounds->values[v] =
                MAX(bounds->values[v], sundog_program_get_bounds(program)->values[v]);
    }
    int64_t units = options->n_threads;
    if (units == 0)
        units = MIN(sundog_count_cores(), bounds->values[SUNDOG_VARIABLE_UNITS]);
    return set_bound(bounds, SUNDOG_VARIABLE_UNITS, units, error) &&
           set_bound(bounds, SUNDOG_VARIABLE_TOKENS, options->max_tokens, error) &&
           set_bound(bounds, SUNDOG_VARIABLE_SEQUENCES, options->max_sequences, error) &&
           set_bound(bounds, SUNDOG_VARIABLE_POOL_PAGES, options->pool_pages, error) &&
           set_windows(bounds, options, error) &&
           set_bound(bounds, SUNDOG_VARIABLE_POOL_STATES, options->pool_states, error) &&
           set_bound(bounds, SUNDOG_VARIABLE_SEQUENCE_PAGES, options->sequence_pages, error) &&
           set_bound(bounds, SUNDOG_VARIABLE_HISTORY, options->history, error);
}

SundogReplay *
sundog_replay_open(SundogCore *core, const SundogReplayOptions *options, GError **error)
{
    SundogShape bounds;
    if (!set_bounds(&bounds, core, options, error))
        return NULL;
    return sundog_core_is_for_host(core) ? sundog_host_replay_open(core, options, &bounds, error)
                                         : sundog_cuda_replay_open(core, options, &bounds, error);
}

void
sundog_replay_close(SundogReplay *replay)
{
    if (replay != NULL)
        replay->backend->close(replay);
}

bool
sundog_replay_find_device_bytes(const SundogCore *core, uint64_t *n_bytes, GError **error)
{
    SundogCudaCard card = {0};
    bool ok = sundog_core_is_for_host(core) || sundog_cuda_card_find(&card, error);
    *n_bytes = card.free_bytes;
    return ok;
}

unsigned
sundog_replay_get_n_threads(const SundogReplay *replay)
{
    return (unsigned)replay->bounds.values[SUNDOG_VARIABLE_UNITS];
}

const char *
sundog_replay_get_set_name(const SundogReplay *replay)
{
    return replay->backend->get_set_name(replay);
}

const SundogShape *
sundog_replay_get_bounds(const SundogReplay *replay)
{
    return &replay->bounds;
}

void *
sundog_replay_get_buffer(SundogReplay *replay, const char *name)
{
    return replay->backend->get_buffer(replay, name);
}

static bool
check_shape(const SundogReplay *replay, const SundogShape *shape, GError **error)
{
    for (int v = 0; v < SUNDOG_N_VARIABLES; v++) {
        int64_t least = v == SUNDOG_VARIABLE_LOGIT_ROWS ? 0 : 1;
        if (shape->values[v] >= least && shape->values[v] <= replay->bounds.values[v])
            continue;
        g_set_error(error, SUNDOG_REPLAY_ERROR, SUNDOG_REPLAY_ERROR_BOUNDS,
                    "a step with %" G_GINT64_FORMAT " %s; from %" G_GINT64_FORMAT
                    " to %" G_GINT64_FORMAT " can run",
                    shape->values[v], sundog_variable_name(v), least, replay->bounds.values[v]);
        return false;
    }
    return true;
}

static bool
begin(SundogReplay *replay, const char *program, const SundogShape *shape, GError **error)
{
    static const SundogVariable own[] = {SUNDOG_VARIABLE_UNITS, SUNDOG_VARIABLE_MULTIPROCESSORS,
                                         SUNDOG_VARIABLE_POOL_PAGES, SUNDOG_VARIABLE_WINDOW_PAGES,
                                         SUNDOG_VARIABLE_POOL_STATES};
    SundogShape actual = *shape;
    for (size_t i = 0; i < G_N_ELEMENTS(own); i++)
        actual.values[own[i]] = replay->bounds.values[own[i]];
    return check_shape(replay, &actual, error) &&
           replay->backend->run(replay, program, &actual, error);
}

bool
sundog_replay_can_begin(const SundogReplay *replay)
{
    return replay->backend->finish != NULL;
}

bool
sundog_replay_begin_sample(SundogReplay *replay, const SundogShape *shape, GError **error)
{
    return begin(replay, SUNDOG_PROGRAM_SAMPLE, shape, error);
}

bool
sundog_replay_end_sample(SundogReplay *replay, GError **error)
{
    return replay->backend->finish == NULL || replay->backend->finish(replay, error);
}

bool
sundog_replay_run(SundogReplay *replay, const char *program, const SundogShape *shape,
                  GError **error)
{
    return begin(replay, program, shape, error) &&
           (strcmp(program, SUNDOG_PROGRAM_SAMPLE) != 0 || sundog_replay_end_sample(replay, error));
}

bool
sundog_replay_refuse_read(const char *name, size_t n_bytes, size_t n_there, GError **error)
{
    g_set_error(error, SUNDOG_REPLAY_ERROR, SUNDOG_REPLAY_ERROR_BOUNDS,
                "%zu bytes of the buffer \"%s\" were asked for, it has %zu", n_bytes, name,
                n_there);
    return false;
}

bool
sundog_replay_read(SundogReplay *replay, const char *name, void *to, size_t n_bytes, GError **error)
{
    return replay->backend->read(replay, name, to, n_bytes, error);
}

void
sundog_replay_set_times(SundogReplay *replay, int64_t *times_ns)
{
    replay->backend->set_times(replay, times_ns);
}

bool
sundog_replay_leave_out(SundogReplay *replay, uint64_t operations)
{
    if (replay->backend->leave_out != NULL)
        replay->backend->leave_out(replay, operations);
    return replay->backend->leave_out != NULL;
}

static bool
is_piece(const SundogReplay *replay, SundogStateKind kind, int32_t piece)
{
    return piece > 0 && piece < replay->bounds.values[sundog_state_kind_get_variable(kind)];
}

void
sundog_replay_copy_state(SundogReplay *replay, SundogStateKind kind, int32_t from, int32_t to)
{
    g_return_if_fail(is_piece(replay, kind, from) && is_piece(replay, kind, to));
    replay->backend->copy_state(replay, kind, from, to);
}

size_t
sundog_replay_get_state_bytes(const SundogReplay *replay, SundogStateKind kind)
{
    return replay->backend->get_state_bytes != NULL ? replay->backend->get_state_bytes(replay, kind)
                                                    : 0;
}

bool
sundog_replay_read_state(SundogReplay *replay, SundogStateKind kind, int32_t piece, void *bytes)
{
    g_return_val_if_fail(is_piece(replay, kind, piece), false);
    return replay->backend->read_state(replay, kind, piece, bytes);
}

bool
sundog_replay_write_state(SundogReplay *replay, SundogStateKind kind, int32_t piece,
                          const void *bytes)
{
    g_return_val_if_fail(is_piece(replay, kind, piece), false);
    return replay->backend->write_state(replay, kind, piece, bytes);
}
