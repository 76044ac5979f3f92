/*
 * Replays a core's programs on the host. Buffers that programs name alike are one: each name has a
 * place, sized for the largest program at this replay's bounds.
 */

#include "engine/replay/backend.h"

#include "engine/core/step.h"
#include "engine/replay/call-list.h"
#include "engine/replay/cores.h"
#include "engine/replay/memory.h"
#include "engine/replay/thread-pool.h"
#include "engine/replay/weight-store.h"

#include "kernels/contract/paged-cache.h"
#include <stdlib.h>
#include <string.h>

#define POISON 0xff /* NaN in every type of float */

static const char *const program_names[] = {SUNDOG_PROGRAM_FORWARD, SUNDOG_PROGRAM_SAMPLE,
                                            SUNDOG_PROGRAM_DRAFT, SUNDOG_PROGRAM_REFERENCE};

/* An input, output or state buffer. */
typedef struct {
    SundogMemory memory;
    SundogBufferRole role;
    SundogStateKind kind; /* of state */
    uint64_t n_bytes;
} Place;

typedef struct {
    SundogReplay base;
    SundogHostSet set;
    bool poison;
    SundogThreadPool *pool;
    SundogMemory weights;
    SundogMemory arena;
    GHashTable *places;                      /* name, the program's, to Place, owned */
    GPtrArray *states[SUNDOG_N_STATE_KINDS]; /* of Place, by name */
    SundogCallList *lists[G_N_ELEMENTS(program_names)];
} HostReplay;

static void
free_place(void *data)
{
    Place *place = data;
    sundog_memory_clear(&place->memory);
    g_free(place);
}

static const SundogProgram *
get_program(const HostReplay *replay, size_t index)
{
    return sundog_core_get_program(replay->base.core, program_names[index]);
}

static bool
choose_set(HostReplay *replay, int wanted, GError **error)
{
    SundogHostSet best = sundog_host_detect();
    replay->set = wanted < 0 ? best : (SundogHostSet)wanted;
    if (wanted < 0 || sundog_host_supports(wanted))
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
collect_places(HostReplay *replay, const SundogProgram *program)
{
    uint32_t n = sundog_program_get_n_buffers(program);
    for (SundogBufferId id = 0; id < n; id++) {
        const SundogBuffer *buffer = sundog_program_get_buffer(program, id);
        if (!has_place(buffer))
            continue;
        uint64_t n_bytes = sundog_program_buffer_bytes(program, id, &replay->base.bounds);
        Place *place = g_hash_table_lookup(replay->places, buffer->name);
        if (place == NULL) {
            place = g_new0(Place, 1);
            place->role = buffer->role;
            place->kind = sundog_program_get_state_kind(program, id);
            g_hash_table_insert(replay->places, (gpointer)buffer->name, place);
        }
        place->n_bytes = MAX(place->n_bytes, n_bytes);
    }
}

static int
compare_names(gconstpointer a, gconstpointer b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void
collect_pools(HostReplay *replay)
{
    g_autofree const char **names =
        (const char **)g_hash_table_get_keys_as_array(replay->places, NULL);
    guint n = g_hash_table_size(replay->places);
    qsort(names, n, sizeof *names, compare_names);
    for (guint i = 0; i < n; i++) {
        Place *place = g_hash_table_lookup(replay->places, names[i]);
        if (place->role == SUNDOG_BUFFER_STATE)
            g_ptr_array_add(replay->states[place->kind], place);
    }
}

static bool
map_places(HostReplay *replay, GError **error)
{
    GHashTableIter iter;
    const char *name;
    Place *place;
    for (size_t i = 0; i < G_N_ELEMENTS(program_names); i++)
        if (get_program(replay, i) != NULL)
            collect_places(replay, get_program(replay, i));
    collect_pools(replay);
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
map_arena(HostReplay *replay, GError **error)
{
    uint64_t n_bytes = 0;
    for (size_t i = 0; i < G_N_ELEMENTS(program_names); i++)
        if (get_program(replay, i) != NULL)
            n_bytes = MAX(n_bytes, sundog_program_measure_arena(get_program(replay, i),
                                                                &replay->base.bounds));
    return sundog_memory_map(&replay->arena, n_bytes, SUNDOG_MEMORY_HUGE_PAGES, "the arena", error);
}

static void *
find_data(const HostReplay *replay, const SundogBuffer *buffer)
{
    if (buffer->role == SUNDOG_BUFFER_TEMPORARY)
        return replay->arena.data + buffer->offset;
    if (buffer->role == SUNDOG_BUFFER_WEIGHT)
        return replay->weights.data +
               sundog_core_find_weight(replay->base.core, buffer->name)->offset;
    return ((Place *)g_hash_table_lookup(replay->places, buffer->name))->memory.data;
}

static void
resolve_programs(HostReplay *replay)
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

static void
close_replay(SundogReplay *base)
{
    HostReplay *replay = (HostReplay *)base;
    sundog_thread_pool_free(replay->pool);
    for (size_t i = 0; i < G_N_ELEMENTS(program_names); i++)
        sundog_call_list_free(replay->lists[i]);
    for (int kind = 0; kind < SUNDOG_N_STATE_KINDS; kind++)
        g_ptr_array_unref(replay->states[kind]);
    g_hash_table_unref(replay->places);
    sundog_memory_clear(&replay->weights);
    sundog_memory_clear(&replay->arena);
    g_free(replay);
}

static const char *
get_set_name(const SundogReplay *base)
{
    return sundog_host_set_name(((const HostReplay *)base)->set);
}

static void *
get_buffer(SundogReplay *base, const char *name)
{
    Place *place = g_hash_table_lookup(((HostReplay *)base)->places, name);
    return place != NULL ? place->memory.data : NULL;
}

static bool
run(SundogReplay *base, const char *program, const SundogShape *shape, GError **error)
{
    HostReplay *replay = (HostReplay *)base;
    size_t index = 0;
    while (index < G_N_ELEMENTS(program_names) && strcmp(program_names[index], program) != 0)
        index++;
    if (index == G_N_ELEMENTS(program_names) || replay->lists[index] == NULL) {
        g_set_error(error, SUNDOG_REPLAY_ERROR, SUNDOG_REPLAY_ERROR_PROGRAM,
                    "the core has no program \"%s\"", program);
        return false;
    }
    if (replay->poison)
        memset(replay->arena.data, POISON, replay->arena.n_bytes);
    sundog_call_list_set_shape(replay->lists[index], shape);
    sundog_call_list_run(replay->lists[index], replay->pool);
    return true;
}

static bool
read_buffer(SundogReplay *base, const char *name, void *to, size_t n_bytes, GError **error)
{
    Place *place = g_hash_table_lookup(((HostReplay *)base)->places, name);
    if (place == NULL || n_bytes > place->n_bytes)
        return sundog_replay_refuse_read(name, n_bytes, place != NULL ? place->n_bytes : 0, error);
    memcpy(to, place->memory.data, n_bytes);
    return true;
}

static void
set_times(SundogReplay *base, int64_t *times_ns)
{
    HostReplay *replay = (HostReplay *)base;
    for (size_t i = 0; i < G_N_ELEMENTS(program_names); i++)
        if (replay->lists[i] != NULL)
            sundog_call_list_set_times(replay->lists[i], times_ns);
}

/* State that is cut into equal pieces, one a page or a slot: a place for each layer's. */
typedef struct {
    const GPtrArray *places;
    int64_t n_pieces;
} Pieces;

static Pieces
get_pieces(const SundogReplay *base, SundogStateKind kind)
{
    return (Pieces){((const HostReplay *)base)->states[kind],
                    base->bounds.values[sundog_state_kind_get_variable(kind)]};
}

/* A piece within the place of number i. */
static uint8_t *
find_piece(Pieces pieces, guint i, int32_t piece, size_t *n_bytes)
{
    const Place *place = pieces.places->pdata[i];
    *n_bytes = place->n_bytes / (uint64_t)pieces.n_pieces;
    return place->memory.data + (size_t)piece * *n_bytes;
}

static void
copy_state(SundogReplay *base, SundogStateKind kind, int32_t from, int32_t to)
{
    Pieces pieces = get_pieces(base, kind);
    for (guint i = 0; i < pieces.places->len; i++) {
        size_t n_bytes;
        const uint8_t *source = find_piece(pieces, i, from, &n_bytes);
        memcpy(find_piece(pieces, i, to, &n_bytes), source, n_bytes);
    }
}

static size_t
get_state_bytes(const SundogReplay *base, SundogStateKind kind)
{
    Pieces pieces = get_pieces(base, kind);
    size_t n_all = 0, n_bytes;
    for (guint i = 0; i < pieces.places->len; i++) {
        find_piece(pieces, i, 0, &n_bytes);
        n_all += n_bytes;
    }
    return n_all;
}

static bool
read_state(SundogReplay *base, SundogStateKind kind, int32_t piece, void *bytes)
{
    Pieces pieces = get_pieces(base, kind);
    uint8_t *to = bytes;
    for (guint i = 0; i < pieces.places->len; i++) {
        size_t n_bytes;
        const uint8_t *source = find_piece(pieces, i, piece, &n_bytes);
        memcpy(to, source, n_bytes);
        to += n_bytes;
    }
    return true;
}

static bool
write_state(SundogReplay *base, SundogStateKind kind, int32_t piece, const void *bytes)
{
    Pieces pieces = get_pieces(base, kind);
    const uint8_t *from = bytes;
    for (guint i = 0; i < pieces.places->len; i++) {
        size_t n_bytes;
        uint8_t *to = find_piece(pieces, i, piece, &n_bytes);
        memcpy(to, from, n_bytes);
        from += n_bytes;
    }
    return true;
}

static const SundogReplayBackend backend = {
    .close = close_replay,
    .get_set_name = get_set_name,
    .get_buffer = get_buffer,
    .run = run,
    .read = read_buffer,
    .set_times = set_times,
    .copy_state = copy_state,
    .get_state_bytes = get_state_bytes,
    .read_state = read_state,
    .write_state = write_state,
};

SundogReplay *
sundog_host_replay_open(SundogCore *core, const SundogReplayOptions *options,
                        const SundogShape *bounds, GError **error)
{
    HostReplay *replay = g_new0(HostReplay, 1);
    replay->base = (SundogReplay){.backend = &backend, .core = core, .bounds = *bounds};
    replay->poison = options->poison;
    replay->places = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, free_place);
    for (int kind = 0; kind < SUNDOG_N_STATE_KINDS; kind++)
        replay->states[kind] = g_ptr_array_new();
    bool ok = choose_set(replay, options->host_set, error);
    if (ok)
        replay->pool =
            sundog_thread_pool_new((unsigned)bounds->values[SUNDOG_VARIABLE_UNITS], error);
    if (ok && replay->pool != NULL && map_places(replay, error) && map_arena(replay, error) &&
        sundog_weight_store_read(&replay->weights, core, replay->pool, options->progress,
                                 options->data, error)) {
        resolve_programs(replay);
        return &replay->base;
    }
    close_replay(&replay->base);
    return NULL;
}
