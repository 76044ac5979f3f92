/* The pass that places temporaries in the arena. */

#include "engine/prepare/passes.h"

typedef struct {
    SundogBufferId id;
    SundogLifetime lifetime;
    uint64_t n_bytes;
    uint64_t offset;
    bool by_unit; /* grows with the number of threads */
} Place;

/* Workspaces last: they lie at the end of the arena, and so are neither mapped nor counted for threads
 * that a machine does not have. Of the rest the largest first; among equals the order of the program, so that plans do not vary. */
static int
compare_size(const void *left, const void *right)
{
    const Place *a = left;
    const Place *b = right;
    if (a->by_unit != b->by_unit)
        return a->by_unit ? 1 : -1;
    if (a->n_bytes != b->n_bytes)
        return a->n_bytes < b->n_bytes ? 1 : -1;
    return (a->id > b->id) - (a->id < b->id);
}

static int
compare_offset(const void *left, const void *right)
{
    const Place *a = *(Place *const *)left;
    const Place *b = *(Place *const *)right;
    return (a->offset > b->offset) - (a->offset < b->offset);
}

static Place
make_place(const SundogProgram *program, SundogBufferId id, SundogLifetime lifetime)
{
    const SundogShape *bounds = sundog_program_get_bounds(program);
    SundogShape one_unit = *bounds;
    one_unit.values[SUNDOG_VARIABLE_UNITS] = 1;
    uint64_t n_bytes = sundog_program_buffer_bytes(program, id, bounds);
    uint64_t n_blocks = (n_bytes + SUNDOG_BUFFER_ALIGNMENT - 1) / SUNDOG_BUFFER_ALIGNMENT;
    return (Place){.id = id,
                   .lifetime = lifetime,
                   .n_bytes = n_blocks * SUNDOG_BUFFER_ALIGNMENT,
                   .by_unit = sundog_program_buffer_bytes(program, id, &one_unit) < n_bytes};
}

/* As long as an operation needs the buffer, and as long as a launch does that stands for several. */
static SundogLifetime *
dup_lifetimes(const SundogProgram *program, const SundogLaunchList *launches)
{
    SundogLifetime *lifetimes = sundog_program_dup_lifetimes(program);
    if (launches == NULL)
        return lifetimes;
    g_autofree SundogLifetime *longer = sundog_launch_list_dup_lifetimes(launches, program);
    for (SundogBufferId id = 0; id < sundog_program_get_n_buffers(program); id++) {
        if (!longer[id].is_used)
            continue;
        lifetimes[id].first = MIN(lifetimes[id].first, longer[id].first);
        lifetimes[id].last = MAX(lifetimes[id].last, longer[id].last);
    }
    return lifetimes;
}

static GArray *
collect_places(const SundogProgram *program, const SundogLaunchList *launches)
{
    GArray *places = g_array_new(FALSE, FALSE, sizeof(Place));
    g_autofree SundogLifetime *lifetimes = dup_lifetimes(program, launches);
    for (SundogBufferId id = 0; id < sundog_program_get_n_buffers(program); id++) {
        if (sundog_program_get_buffer(program, id)->role != SUNDOG_BUFFER_TEMPORARY ||
            !lifetimes[id].is_used)
            continue;
        Place place = make_place(program, id, lifetimes[id]);
        g_array_append_val(places, place);
    }
    g_array_sort(places, compare_size);
    return places;
}

static bool
live_together(const Place *a, const Place *b)
{
    return a->lifetime.first <= b->lifetime.last && b->lifetime.first <= a->lifetime.last;
}

/* The lowest gap that is large enough between those placed before that live at the same time. */
static uint64_t
find_offset(GArray *places, uint32_t index)
{
    const Place *place = &g_array_index(places, Place, index);
    g_autoptr(GPtrArray) neighbours = g_ptr_array_new();
    for (uint32_t i = 0; i < index; i++)
        if (live_together(&g_array_index(places, Place, i), place))
            g_ptr_array_add(neighbours, &g_array_index(places, Place, i));
    g_ptr_array_sort(neighbours, compare_offset);
    uint64_t offset = 0;
    for (uint32_t i = 0; i < neighbours->len; i++) {
        const Place *neighbour = neighbours->pdata[i];
        if (neighbour->offset >= offset && neighbour->offset - offset >= place->n_bytes)
            break;
        offset = MAX(offset, neighbour->offset + neighbour->n_bytes);
    }
    return offset;
}

void
sundog_pass_plan_memory(SundogProgram *program, const SundogLaunchList *launches)
{
    uint64_t arena_bytes = 0;
    g_autoptr(GArray) places = collect_places(program, launches);
    for (uint32_t i = 0; i < places->len; i++) {
        Place *place = &g_array_index(places, Place, i);
        place->offset = find_offset(places, i);
        sundog_program_set_buffer_offset(program, place->id, place->offset);
        arena_bytes = MAX(arena_bytes, place->offset + place->n_bytes);
    }
    sundog_program_set_arena_bytes(program, arena_bytes);
}
