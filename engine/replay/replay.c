/*
 * Replays a core's programs on the host. Buffers that programs name alike are one: each name has a
 * place, sized for the largest program at this replay's bounds.
 */

#include "engine/replay/replay.h"

#include "engine/core/step.h"
#include "engine/replay/call-list.h"
#include "engine/replay/cores.h"
#include "engine/replay/memory.h"
#include "engine/replay/thread-pool.h"
#include "engine/replay/weight-store.h"

#include "kernels/contract/paged-cache.h"
#include <string.h>

#define POISON 0xff /* NaN in every type of float */

static const char *const program_names[] = {SUNDOG_PROGRAM_FORWARD, SUNDOG_PROGRAM_SAMPLE,
                                            SUNDOG_PROGRAM_REFERENCE};

/* An input, output or state buffer. */
typedef struct {
    SundogMemory memory;
    SundogBufferRole role;
    uint64_t n_bytes;
} Place;

struct SundogReplay {
    SundogCore *core;
    SundogShape bounds;
    SundogHostSet set;
    bool poison;
    SundogThreadPool *pool;
    SundogMemory weights;
    SundogMemory arena;
    GHashTable *places; /* name, the program's, to Place, owned */
    SundogCallList *lists[G_N_ELEMENTS(program_names)];
};

GQuark
sundog_replay_error_quark(void)
{
    return g_quark_from_static_string("sundog-replay-error-quark");
}

static void
free_place(void *data)
{
    Place *place = data;
    sundog_memory_clear(&place->memory);
    g_free(place);
}

static const SundogProgram *
get_program(const SundogReplay *replay, size_t index)
{
    return sundog_core_get_program(replay->core, program_names[index]);
}

/* Takes a wanted value, or the bound where it is 0; never more than the bound. */
static bool
set_bound(SundogReplay *replay, SundogVariable variable, int64_t wanted, GError **error)
{
    int64_t *bound = &replay->bounds.values[variable];
    if (wanted <= *bound) {
        *bound = wanted > 0 ? wanted : *bound;
        return true;
    }
    g_set_error(error, SUNDOG_REPLAY_ERROR, SUNDOG_REPLAY_ERROR_BOUNDS,
                "%" G_GINT64_FORMAT " %s were asked for, the core allows %" G_GINT64_FORMAT, wanted,
                sundog_variable_name(variable), *bound);
    return false;
}

static bool
set_bounds(SundogReplay *replay, const SundogReplayOptions *options, GError **error)
{
    const SundogProgram *forward = get_program(replay, 0);
    if (forward == NULL) {
        g_set_error(error, SUNDOG_REPLAY_ERROR, SUNDOG_REPLAY_ERROR_PROGRAM,
                    "the core has no program \"%s\"", SUNDOG_PROGRAM_FORWARD);
        return false;
    }
    replay->bounds = *sundog_program_get_bounds(forward);
    for (size_t i = 1; i < G_N_ELEMENTS(program_names); i++)
        for (int v = 0; get_program(replay, i) != NULL && v < SUNDOG_N_VARIABLES; v++)
            replay->bounds.values[v] =
                MAX(replay->bounds.values[v],
                    sundog_program_get_bounds(get_program(replay, i))->values[v]);
    int64_t units = options->n_threads;
    if (units == 0)
        units = MIN(sundog_count_cores(), replay->bounds.values[SUNDOG_VARIABLE_UNITS]);
    int64_t sequences = options->max_sequences;
    if (!set_bound(replay, SUNDOG_VARIABLE_UNITS, units, error) ||
        !set_bound(replay, SUNDOG_VARIABLE_TOKENS, options->max_tokens, error) ||
        !set_bound(replay, SUNDOG_VARIABLE_SEQUENCES, sequences, error) ||
        !set_bound(replay, SUNDOG_VARIABLE_POOL_PAGES, options->pool_pages, error) ||
        !set_bound(replay, SUNDOG_VARIABLE_SEQUENCE_PAGES, options->sequence_pages, error) ||
        !set_bound(replay, SUNDOG_VARIABLE_HISTORY, options->history, error))
        return false;
    return true;
}

static bool
choose_set(SundogReplay *replay, int wanted, GError **error)
{
    SundogHostSet best = sundog_host_detect();
    replay->set = wanted < 0 ? best : (SundogHostSet)wanted;
    if (replay->set <= best)
        return true;
    g_set_error(error, SUNDOG_REPLAY_ERROR, SUNDOG_REPLAY_ERROR_BOUNDS,
                "kernels for %s were asked for, this processor runs %s",
                wanted < SUNDOG_N_HOST_SETS ? sundog_host_set_name(replay->set) : "unknown",
                sundog_host_set_name(best));
    return false;
}

static bool
has_place(const SundogBuffer *buffer)
{
    return buffer->role == SUNDOG_BUFFER_INPUT || buffer->role == SUNDOG_BUFFER_OUTPUT ||
           buffer->role == SUNDOG_BUFFER_STATE;
}

/* The names and the largest sizes of what lives outside the arena. */
static void
collect_places(SundogReplay *replay, const SundogProgram *program)
{
    uint32_t n = sundog_program_get_n_buffers(program);
    for (SundogBufferId id = 0; id < n; id++) {
        const SundogBuffer *buffer = sundog_program_get_buffer(program, id);
        if (!has_place(buffer))
            continue;
        uint64_t n_bytes = sundog_program_buffer_bytes(program, id, &replay->bounds);
        Place *place = g_hash_table_lookup(replay->places, buffer->name);
        if (place == NULL) {
            place = g_new0(Place, 1);
            place->role = buffer->role;
            g_hash_table_insert(replay->places, (gpointer)buffer->name, place);
        }
        place->n_bytes = MAX(place->n_bytes, n_bytes);
    }
}

static bool
map_places(SundogReplay *replay, GError **error)
{
    GHashTableIter iter;
    const char *name;
    Place *place;
    for (size_t i = 0; i < G_N_ELEMENTS(program_names); i++)
        if (get_program(replay, i) != NULL)
            collect_places(replay, get_program(replay, i));
    g_hash_table_iter_init(&iter, replay->places);
    while (g_hash_table_iter_next(&iter, (gpointer *)&name, (gpointer *)&place)) {
        if (!sundog_memory_map(&place->memory, place->n_bytes, SUNDOG_MEMORY_SMALL_PAGES, name,
                               error))
            return false;
        if (replay->poison && place->role != SUNDOG_BUFFER_INPUT)
            memset(place->memory.data, POISON, place->memory.n_bytes);
    }
    return true;
}

static bool
map_arena(SundogReplay *replay, GError **error)
{
    uint64_t n_bytes = 0;
    for (size_t i = 0; i < G_N_ELEMENTS(program_names); i++)
        if (get_program(replay, i) != NULL)
            n_bytes =
                MAX(n_bytes, sundog_program_measure_arena(get_program(replay, i), &replay->bounds));
    return sundog_memory_map(&replay->arena, n_bytes, SUNDOG_MEMORY_HUGE_PAGES, "the arena", error);
}

static void *
find_data(const SundogReplay *replay, const SundogBuffer *buffer)
{
    if (buffer->role == SUNDOG_BUFFER_TEMPORARY)
        return replay->arena.data + buffer->offset;
    if (buffer->role == SUNDOG_BUFFER_WEIGHT)
        return replay->weights.data + sundog_core_find_weight(replay->core, buffer->name)->offset;
    return ((Place *)g_hash_table_lookup(replay->places, buffer->name))->memory.data;
}

static void
resolve_programs(SundogReplay *replay)
{
    for (size_t i = 0; i < G_N_ELEMENTS(program_names); i++) {
        const SundogProgram *program = get_program(replay, i);
        if (program == NULL)
            continue;
        uint32_t n = sundog_program_get_n_buffers(program);
        g_autofree void **data = g_new0(void *, n);
        for (SundogBufferId id = 0; id < n; id++)
            data[id] = find_data(replay, sundog_program_get_buffer(program, id));
        replay->lists[i] = sundog_call_list_new(program, replay->set, data);
    }
}

SundogReplay *
sundog_replay_open(SundogCore *core, const SundogReplayOptions *options, GError **error)
{
    g_autoptr(SundogReplay) replay = g_new0(SundogReplay, 1);
    replay->core = core;
    replay->poison = options->poison;
    replay->places = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, free_place);
    if (!set_bounds(replay, options, error) || !choose_set(replay, options->host_set, error))
        return NULL;
    replay->pool = sundog_thread_pool_new(sundog_replay_get_n_threads(replay), error);
    if (replay->pool == NULL || !map_places(replay, error) || !map_arena(replay, error) ||
        !sundog_weight_store_read(&replay->weights, core, replay->pool, options->progress,
                                  options->data, error))
        return NULL;
    resolve_programs(replay);
    return g_steal_pointer(&replay);
}

void
sundog_replay_close(SundogReplay *replay)
{
    if (replay == NULL)
        return;
    sundog_thread_pool_free(replay->pool);
    for (size_t i = 0; i < G_N_ELEMENTS(program_names); i++)
        sundog_call_list_free(replay->lists[i]);
    g_hash_table_unref(replay->places);
    sundog_memory_clear(&replay->weights);
    sundog_memory_clear(&replay->arena);
    g_free(replay);
}

unsigned
sundog_replay_get_n_threads(const SundogReplay *replay)
{
    return (unsigned)replay->bounds.values[SUNDOG_VARIABLE_UNITS];
}

const char *
sundog_replay_get_set_name(const SundogReplay *replay)
{
    return sundog_host_set_name(replay->set);
}

const SundogShape *
sundog_replay_get_bounds(const SundogReplay *replay)
{
    return &replay->bounds;
}

void *
sundog_replay_get_buffer(SundogReplay *replay, const char *name)
{
    Place *place = g_hash_table_lookup(replay->places, name);
    return place != NULL ? place->memory.data : NULL;
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

bool
sundog_replay_run(SundogReplay *replay, const char *program, const SundogShape *shape,
                  GError **error)
{
    size_t index = 0;
    while (index < G_N_ELEMENTS(program_names) && strcmp(program_names[index], program) != 0)
        index++;
    if (index == G_N_ELEMENTS(program_names) || replay->lists[index] == NULL) {
        g_set_error(error, SUNDOG_REPLAY_ERROR, SUNDOG_REPLAY_ERROR_PROGRAM,
                    "the core has no program \"%s\"", program);
        return false;
    }
    SundogShape actual = *shape;
    actual.values[SUNDOG_VARIABLE_UNITS] = replay->bounds.values[SUNDOG_VARIABLE_UNITS];
    actual.values[SUNDOG_VARIABLE_POOL_PAGES] = replay->bounds.values[SUNDOG_VARIABLE_POOL_PAGES];
    if (!check_shape(replay, &actual, error))
        return false;
    if (replay->poison)
        memset(replay->arena.data, POISON, replay->arena.n_bytes);
    sundog_call_list_set_shape(replay->lists[index], &actual);
    sundog_call_list_run(replay->lists[index], replay->pool);
    return true;
}

void
sundog_replay_set_times(SundogReplay *replay, int64_t *times_ns)
{
    for (size_t i = 0; i < G_N_ELEMENTS(program_names); i++)
        if (replay->lists[i] != NULL)
            sundog_call_list_set_times(replay->lists[i], times_ns);
}

void
sundog_replay_copy_page(SundogReplay *replay, int32_t from, int32_t to)
{
    int64_t n_pages = replay->bounds.values[SUNDOG_VARIABLE_POOL_PAGES];
    g_return_if_fail(from > SUNDOG_NULL_PAGE && from < n_pages);
    g_return_if_fail(to > SUNDOG_NULL_PAGE && to < n_pages);
    GHashTableIter iter;
    Place *place;
    g_hash_table_iter_init(&iter, replay->places);
    while (g_hash_table_iter_next(&iter, NULL, (gpointer *)&place)) {
        if (place->role != SUNDOG_BUFFER_STATE)
            continue;
        size_t page_bytes = place->n_bytes / (uint64_t)n_pages;
        memcpy(place->memory.data + (size_t)to * page_bytes,
               place->memory.data + (size_t)from * page_bytes, page_bytes);
    }
}
